"""Where a project says otherwise than the vault outside it, and where a decision was followed by another one. Pure.

Nothing is left out for it: both lines are told, and beside them a sentence that says which one holds. How two
statements stand to each other is asked only where lines of both share a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.index.words import tokens
from tars_memory.recall.packing import fence
from tars_memory.recall.packing.packing import Unit
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tars_memory.recall.packing.loaded import Loaded
    from tars_memory.vault.markdown.facts import Fact, Predicates

QUOTED = 160
"""Characters of a line that a sentence repeats; the line itself stands in the prompt."""
COMPARED = 200
"""Lines of a note that are compared, the first ones. If all of them are alike, 200 cost a second, and 400 four."""
DECIDED = 60
"""Decisions of a note that are compared with each other, the newest."""

_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


class Line(NamedTuple):
    """What one unit says.

    Attributes:
        words: without machinery.
        day: of its decision or of the line that it came from; empty if it isn't known.
        author: who said so; empty if it isn't known.
        decided: when, if it is a decision; empty else.
        unit: it.
    """

    words: str
    day: str
    author: str
    decided: str
    unit: Unit


def line_of(note: Loaded, unit: Unit) -> Line:
    """What a unit of a note says, and since when."""
    text = " ".join(each.strip() for each in note.lines[unit.start_line - 1 : unit.end_line])
    mark = _MARK.match(text)
    parts = entries.parse(text[mark.end() :] if mark else text, timed=True)
    decision = under_decisions(unit)
    days = _DAY.findall(" ".join((parts.time or "", parts.label or "", parts.provenance or "")))
    if decision and not days:
        days = [found[0] for found in [_DAY.match(parts.text)] if found]
    day = days[0] if days else ""
    return Line(parts.text, day, parts.author or "", (parts.time or day) if decision else "", unit)


class Conflicts:
    """What the project said so far, and how the rest stands to it.

    Args:
        at_odds: by statements held and statements said the numbers of each one said, and of the one held that denies
            or changes it; asked only if there is something to compare.
        scope: the project; empty for none.
    """

    def __init__(self, at_odds: Callable[[Sequence[str], Sequence[str]], list[tuple[int, int]]], scope: str) -> None:
        self._at_odds = at_odds
        self._scope = scope
        self._ours: dict[str, list[Line]] = {}
        self._facts: dict[tuple[str, str], Fact] = {}
        self._told: set[tuple[str, str]] = set()

    def ordered(self, note: Loaded, units: Sequence[Unit]) -> list[Unit]:
        """The units in the order in which room is given to them: of decisions the newest first."""
        if not any(under_decisions(unit) for unit in units):
            return [*units]
        places = [at for at, unit in enumerate(units) if under_decisions(unit)]
        newest = sorted((units[at] for at in places), key=lambda unit: line_of(note, unit).decided, reverse=True)
        found = [*units]
        for at, unit in zip(places, newest, strict=True):
            found[at] = unit
        return found

    def follows(self, note: Loaded, units: Sequence[Unit]) -> list[Unit]:
        """A sentence for each decision that a later one of the same note changes."""
        decided = [unit for unit in units if unit.says and under_decisions(unit)]
        if len(decided) < 2:
            return []
        lines = sorted((line_of(note, unit) for unit in decided), key=lambda line: line.decided)[-DECIDED:]
        found: list[Unit] = []
        for at, old in enumerate(lines):
            later = [line for line in lines[at + 1 :] if line.decided > old.decided > ""]
            for _, new in self._pairs(later[::-1], [old]):
                text = f"- Decided: {_said(new)}, after {_said(old)}: the later one holds."
                found.append(Unit(old.unit.path, old.unit.start_line, [text]))
        return found

    def otherwise(self, kind: str, note: Loaded, units: Sequence[Unit], *, ours: bool) -> dict[int, Unit]:
        """By its first line each unit that the project denies or changes, and the sentence that says so.

        Args:
            kind: of the block; rules are compared with rules.
            note: that the units are from.
            units: of one block.
            ours: whether they are the project's own: then they are what the others are held against.
        """
        if not self._scope or not (ours or self._ours.get(kind)):
            return {}
        lines = [line_of(note, unit) for unit in units if unit.says][:COMPARED]
        if ours:
            self._ours[kind] = lines
            return {}
        found: dict[int, Unit] = {}
        for theirs, mine in self._pairs(self._ours[kind], lines):
            text = f"- The project says {_said(mine)}, outside projects {_said(theirs)}: the project's holds here."
            found[theirs.unit.start_line] = Unit(theirs.unit.path, theirs.unit.start_line, [text])
        return found

    def facts(
        self, known: Iterable[Fact], picked: list[Fact], predicates: Predicates, *, ours: bool
    ) -> tuple[list[Fact], dict[int, Unit]]:
        """The facts to be told, and by its line each that the project's own fact stands against, with the sentence.

        Args:
            known: those of one note that hold.
            picked: those of them that belong into the prompt.
            predicates: a subject has one value of some at a time; only these can stand against each other.
            ours: whether the note is the project's.
        """
        if not self._scope:
            return picked, {}
        single = [(fact, _about(fact)) for fact in known if predicates.replaces(fact.predicate)]
        if ours:
            self._facts = {about: fact for fact, about in single}
            self._told = {_about(fact) for fact in picked}
            return picked, {}
        against = [(fact, self._facts[about]) for fact, about in single if about in self._facts]
        against = [(fact, mine) for fact, mine in against if folded(fact.object) != folded(mine.object)]
        more = [fact for fact, _ in against if fact not in picked and _about(fact) in self._told]
        found = {
            fact.line: Unit(
                fact.path,
                fact.line,
                [f"- The project says {_fact(mine)}, outside projects {_fact(fact)}: the project's holds here."],
            )
            for fact, mine in against
        }
        return [*picked, *more], found

    def _pairs(self, held: Sequence[Line], said: Sequence[Line]) -> list[tuple[Line, Line]]:
        """Each line that is denied or changed by one that is held, and that one."""
        words = [frozenset(tokens(line.words)) for line in held]
        every = frozenset().union(*words)
        asked = [line for line in said if not every.isdisjoint(tokens(line.words))]
        if not asked:
            return []
        found = self._at_odds([line.words for line in held], [line.words for line in asked])
        return [(asked[new], held[old]) for new, old in found]


def under_decisions(unit: Unit) -> bool:
    """Whether a unit stands under the heading of decisions."""
    heading = unit.headings[-1].texts if unit.headings else []
    wanted = entries.DECISIONS.casefold()
    if not heading or wanted not in heading[0].casefold():
        return False  # spares the reading of most headings
    return plain_heading(heading[0].lstrip("# ")).casefold() == wanted


def _said(line: Line) -> str:
    """The words of a line, with the day and the author that are known."""
    known = ", ".join(filter(None, (line.day, line.author)))
    return f"“{_cut(line.words)}”{f' ({fence.shown(known)})' if known else ''}"


def _fact(fact: Fact) -> str:
    return (
        f"“{_cut(f'{fact.subject} {fact.predicate}: {fact.object}')}”{f' (since {fact.since})' if fact.since else ''}"
    )


def _cut(text: str) -> str:
    text = fence.shown(text).strip().lstrip("\\")
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"


def _about(fact: Fact) -> tuple[str, str]:
    return folded(fact.subject), folded(fact.predicate)
