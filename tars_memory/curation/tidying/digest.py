"""What old sessions say, statement by statement: read, repeats merged, the weightiest kept. Pure.

Without a model that is their summary: each statement verbatim, decisions and what the person promoted first, as many as
the summary may hold. What found no room is counted; it stands in the originals.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import UsageError
from tars_memory.language import statements as grammar
from tars_memory.vault import summaries as notes
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.suspicion import suspicious

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tars_memory.vault.summaries import SummaryLine

BY = ("month", "year")
"""What sessions are grouped by."""

LONGEST = 500
"""Characters of a statement, as for what a model says; longer ones are texts, and stay in the original alone."""

PASSED_OVER = frozenset({"summary", "tools", "turns", notes.SOURCES.casefold()})
"""Sections of a session note that hold no statements; bullets elsewhere count as facts."""

MOST_ORIGINS = 8
"""So many links stand under a statement that was made again and again; the first ones."""

_DONE = re.compile(r"\[[xX-]\]")
_NAME_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


class SessionStatement(NamedTuple):
    """One thing that a session says.

    Attributes:
        kind: a key of :data:`tars_memory.vault.summaries.KINDS`.
        text: its words, neutralised.
        day: of the session, ``YYYY-MM-DD``.
        path: of the session, before it is moved.
        source: target of the link to the day's line; empty for none.
        turn: in which it was said; 0 if that is not known.
        promoted: whether the person took it into memory.
        author: whose words they are, where the line says so.
    """

    kind: str
    text: str
    day: str
    path: str
    source: str = ""
    turn: int = 0
    promoted: bool = False
    author: str = ""


class SessionDigest(NamedTuple):
    """What one session says.

    Attributes:
        statements: in the order of the note.
        waiting: block ids of its candidates that are still undecided.
        left_out: how many bullets were rejected, done, too long, or held a credential.
    """

    statements: list[SessionStatement]
    waiting: list[str]
    left_out: int


class Merged(NamedTuple):
    """A statement as often as it was made; the first one says it."""

    first: SessionStatement
    all: tuple[SessionStatement, ...]

    @property
    def promoted(self) -> bool:
        """Whether the person took it into memory, one time or another."""
        return any(each.promoted for each in self.all)


def day_of(path: str, data: bytes) -> date | None:
    """The day of a session: its name's, else its front matter's; None if neither says one."""
    named = _NAME_DAY.match(path.rpartition("/")[2])
    for said in (named[0] if named else "", notes.date_in(data)):
        try:
            return date.fromisoformat(said)
        except ValueError:
            continue
    return None


def period(day: date, by: str) -> str:
    """The month or year of a day: ``2025-03``, ``2025``."""
    return day.isoformat()[: 7 if by == "month" else 4]


def last_day(day: date, by: str) -> date:
    """The last day of the month or year of a day."""
    if by == "year":
        return date(day.year, 12, 31)
    first = day.replace(day=1)
    return date(day.year, 12, 31) if day.month == 12 else first.replace(month=day.month + 1) - timedelta(days=1)


def told(path: str, data: bytes, day: date, states: Mapping[str, str]) -> SessionDigest:
    """What one session says.

    Args:
        path: of its note.
        data: the note.
        day: of the session.
        states: what became of candidates, by the block id of their line, in lower case.
    """
    found = entries.read(path, Document(data))
    statements: list[SessionStatement] = []
    waiting: list[str] = []
    left_out = 0
    titles = {title.casefold(): kind for kind, title in notes.KINDS.items()}
    for index, entry in enumerate(found):
        section = entry.section.casefold()
        if entry.depth or section in PASSED_OVER:
            continue
        name = (entry.provenance or "").partition("#^")[2].lower()
        state = states.get(name, entry.state or "")
        if state == "extracted" and name:
            waiting.append(name)
        kind = titles.get(section, "fact")
        text = _words(entry.text, kind) if state != "rejected" else ""
        if not text:
            left_out += 1
            continue
        source = entry.provenance or (f"{_name(path)}#^{entry.block_id}" if entry.block_id else "")
        below = [child.text for child in found[index + 1 : index + 6] if entry.line < child.line <= entry.end_line]
        statements.append(
            SessionStatement(
                kind, text, day.isoformat(), path, source, _turn(below), state == "promoted", entry.author or ""
            )
        )
    return SessionDigest(statements, waiting, left_out)


def merged(found: Iterable[SessionStatement]) -> list[Merged]:
    """Each statement once, by kind, author and words, in the order of the days."""
    groups: dict[tuple[str, str, object], list[SessionStatement]] = {}
    for each in sorted(found, key=lambda one: (one.day, one.path)):
        said = grammar.read(each.text)
        words = (said.words, said.tags) if said.words else each.text
        groups.setdefault((each.kind, each.author, words), []).append(each)
    return [Merged(group[0], tuple(group)) for group in groups.values()]


def weightiest(found: Sequence[Merged], limit: int) -> tuple[list[Merged], int]:
    """As many as there is room for, in their order, and how many are left out.

    Decisions and promoted facts come first, then other facts, open ends, topics; of each the ones that were made most
    often, then the newest.
    """
    kinds = list(notes.KINDS)

    def worth(each: Merged) -> tuple[int, int, int]:
        rank = 0 if each.first.kind == "decision" or each.promoted else kinds.index(each.first.kind)
        return rank, -len(each.all), -date.fromisoformat(each.all[-1].day).toordinal()

    kept = {id(each) for each in sorted(found, key=worth)[: max(limit, 0)]}
    return [each for each in found if id(each) in kept], len(found) - len(kept)


def line(
    said: Sequence[SessionStatement], link: Callable[[str], str], *, text: str = "", kind: str = ""
) -> SummaryLine:
    """Statements as one line of a summary: linked to the first day's line there is, and to every session.

    Args:
        said: what it rests on, at least one.
        link: from a session's path to the link that is to stand there.
        text: other words for all of them.
        kind: other than that of the first.
    """
    first = next((each for each in said if each.source), said[0])
    origins = dict.fromkeys(link(each.path) for each in said)
    blocks = dict.fromkeys(f"[[{s.source}|{s.day}]]" for s in said if s.source and s.source != first.source)
    shown = [*origins, *blocks]
    more = [f"and {len(shown) - MOST_ORIGINS} more"] if len(shown) > MOST_ORIGINS else []
    return notes.SummaryLine(
        kind or first.kind, text or said[0].text, first.source, first.day, (*shown[:MOST_ORIGINS], *more)
    )


def _words(text: str, kind: str) -> str:
    """A bullet's words as they may stand in a summary; empty if they may not, or what they ask for is done."""
    box = entries.task(text)
    if box and kind == "open end" and _DONE.match(box):
        return ""
    text = text.removeprefix(box)
    if len(text) > LONGEST:
        return ""
    if suspicious(text):
        from tars_memory.vault.secrets import find

        if find(text):
            return ""
    try:
        return entries.neutralise(text)
    except UsageError:
        return ""


def _turn(below: Sequence[str]) -> int:
    for text in below:
        if found := re.match(r"said by::.*\bturn\s+(\d{1,9})$", text):
            return int(found[1])
    return 0


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
