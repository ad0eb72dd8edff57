"""What structure alone says of lines that can't both hold: facts of one subject and single-valued predicate, and dated
decisions of one note. Pure.

Nothing is concluded from the words of two lines, and nothing is left out: of facts both are told, and beside them a
sentence that says which one holds; how to read all other disagreement one fixed sentence says (:func:`fence.preface`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.recall.packing import fence
from tars_memory.recall.packing.packing import Unit
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.recall.packing.loaded import Loaded
    from tars_memory.vault.markdown.facts import Fact, Predicates

QUOTED = 160
"""Characters of a fact that a sentence repeats; the fact itself stands in the prompt."""

_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


def newest_first(note: Loaded) -> list[Unit]:
    """The units of a note in the order in which room is given to them: of its decisions the newest first."""
    days = {at: _decided(note, unit) for at, unit in enumerate(note.units) if _under_decisions(unit)}
    found = [*note.units]
    for at, newest in zip(days, sorted(days, key=lambda at: days[at], reverse=True), strict=True):
        found[at] = note.units[newest]
    return found


def weighs(note: Loaded) -> bool:
    """Whether the note holds decisions of several days, of which the newest holds."""
    days = (_decided(note, unit) for unit in note.units if _under_decisions(unit))
    return len({day for day in days if day}) > 1


class Facts:
    """The facts of the notes so far, of which one value holds at a time, and how the next note's stand to them.

    Args:
        predicates: a subject has one value of some at a time; only these can stand against each other.
        me: the subjects that mean the user.
    """

    def __init__(self, predicates: Predicates, me: Iterable[str]) -> None:
        self._predicates = predicates
        self._me = {folded(name) for name in me}
        self._held: dict[tuple[str, str], Fact] = {}
        self._picked: set[tuple[str, str]] = set()

    def told(self, holding: Sequence[Fact], picked: list[Fact]) -> tuple[list[Fact], dict[tuple[str, int], Unit]]:
        """The facts of one note to be told, and by its place each that gives way, with the sentence that says so.

        Args:
            holding: those of the note that hold, of the project's note first.
            picked: those of the note that belong into the prompt.
        """
        sentences: dict[tuple[str, int], Unit] = {}
        newest: dict[tuple[str, str], Fact] = {}
        single = [fact for fact in holding if self._predicates.replaces(fact.predicate)]
        for fact in sorted(single, key=lambda fact: (str(fact.since or ""), fact.line), reverse=True):
            about = self._about(fact)
            mine = self._held.get(about)
            other = mine or newest.setdefault(about, fact)
            if folded(other.object) == folded(fact.object):
                continue
            if mine is not None:
                text = f"The project says {_said(mine)}, outside projects {_said(fact)}: the project's holds here."
            else:
                holds = "the newer one does" if other.since != fact.since else "no date says which one does"
                text = f"Of {_said(other)} and {_said(fact)} only one can hold: {holds}."
            sentences[fact.path, fact.line] = Unit(fact.path, fact.line, [f"- {text}"])
        told = {self._about(fact) for fact in picked} | self._picked
        known = {fact.line for fact in picked}
        more = [fact for fact in single if (fact.path, fact.line) in sentences and fact.line not in known]
        more = [fact for fact in more if self._about(fact) in told]
        self._held |= newest
        self._picked = told
        return [*picked, *more], sentences

    def _about(self, fact: Fact) -> tuple[str, str]:
        subject = folded(fact.subject)
        return "" if subject in self._me else subject, folded(fact.predicate)


def _under_decisions(unit: Unit) -> bool:
    heading = unit.headings[-1].texts if unit.headings else []
    wanted = entries.DECISIONS.casefold()
    if not heading or wanted not in heading[0].casefold():
        return False  # spares the reading of most headings
    return plain_heading(heading[0].lstrip("# ")).casefold() == wanted


def _decided(note: Loaded, unit: Unit) -> str:
    """When a decision was made: its instant, the day that it begins with, or that of the line it came from."""
    text = " ".join(each.strip() for each in note.lines[unit.start_line - 1 : unit.end_line])
    mark = _MARK.match(text)
    parts = entries.parse(text[mark.end() :] if mark else text, timed=True)
    day = _DAY.match(parts.text) or _DAY.search(f"{parts.label or ''} {parts.provenance or ''}")
    return entries.instant(parts.time or "") or (day[0] if day else "")


def _said(fact: Fact) -> str:
    text = fence.shown(f"{fact.subject} {fact.predicate}: {fact.object}").strip().lstrip("\\")
    text = text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"
    return f"“{text}”{f' (since {fact.since})' if fact.since else ''}"
