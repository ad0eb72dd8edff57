"""The summary of old sessions: what they said, kind by kind, with links back; rendered, read and added to. Pure.

``sessions/2025-03 summary.md`` stands for the sessions of that month that went to the archive. Its front matter says
``period``; each statement is a bullet with where it came from nested under it. It is the person's note like any other:
what is added later is spliced in, every other byte stays.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Splice
from tars_memory.vault.sessions import DAY, front_of, front_value, insert_ordered, renewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


KINDS = {"decision": "Decisions", "fact": "Facts", "open end": "Open ends", "topic": "Topics"}
"""The section of each kind of statement, in the order of the note."""

SOURCES = "Sessions"
"""The section that links to the sessions."""

SECTIONS = (*KINDS.values(), SOURCES)
TAG = "session-summary"
LONGEST = 2_000
"""Characters of a bullet that is read as a session's; file names have 255 bytes at most."""
FROM = "from:: "
"""How the bullet under a statement begins that links to the sessions that say it."""

_ENDS = r"(?=[\"']?[ \t]*(?:[\r\n]|$))"
_SOURCE = re.compile(r"(\[\[([^\[\]|#]+)(?:[#|][^\[\]]*)?\]\][^\r\n]*\()(\d{1,9})( turns?\))")


class SummaryLine(NamedTuple):
    """One statement.

    Attributes:
        kind: one of :data:`KINDS`.
        text: the words of one bullet, neutralised.
        source: the target of the link at its end, ``2025-03-04#^d-abc``; empty for none.
        label: how that link is shown; the day.
        origins: links to where it was said, as they are to stand there: ``[[2025-03-04 1015 Moving]]``.
        author: whose words they are; empty if that is not said.
    """

    kind: str
    text: str
    source: str = ""
    label: str = ""
    origins: tuple[str, ...] = ()
    author: str = ""


class SummarySource(NamedTuple):
    """A session that is summed up: its day, the link to it, and how many turns of it had been examined (0: unknown)."""

    day: str
    link: str
    turns: int = 0


class Summary(NamedTuple):
    """What a note is to say, or what is to be added to it.

    Attributes:
        period: ``2025-03`` or ``2025``.
        day: the last day of its sessions.
        by: who summed up: ``rules``, or a model's name.
        lines: statements.
        sources: the sessions.
        left_out: statements of the sessions that found no room.
    """

    period: str
    day: str
    by: str
    lines: tuple[SummaryLine, ...]
    sources: tuple[SummarySource, ...]
    left_out: int = 0


class HeldSummary(NamedTuple):
    """What a summary says now.

    Attributes:
        texts: the words of its statements, of the sections of :data:`KINDS`.
        turns: by a link's target how many turns of the session had been examined.
        left_out: as its front matter says.
    """

    texts: frozenset[str]
    turns: dict[str, int]
    left_out: int


def period_of(data: bytes) -> str:
    """The period that a note is the summary of, read from its front matter alone; empty for any other note."""
    head = front_of(data)
    if b"source_hash" in head or TAG.encode() not in head:
        return ""
    return front_value(data, "period", rf"\d{{4}}(?:-\d\d)?{_ENDS}")


def number_in(data: bytes, key: str) -> int:
    """A number that a note's front matter says, without parsing the note; 0 if it says none."""
    return int(front_value(data, key, rf"\d{{1,9}}{_ENDS}") or 0)


def date_in(data: bytes) -> str:
    """The day that a note's front matter says (``date: YYYY-MM-DD``), without parsing the note; empty for none."""
    return front_value(data, "date", DAY)


def path_for(folder: str, period: str, number: int = 1) -> str:
    """Where the summary of a period goes; a number beyond 1 is added to its name."""
    return f"{folder}/{period} summary{f' {number}' if number > 1 else ''}.md"


def is_named(path: str) -> bool:
    """Whether a note is called as summaries are."""
    return re.fullmatch(r"\d{4}(?:-\d\d)? summary(?: \d+)?\.md", path.rpartition("/")[2]) is not None


def read(data: bytes) -> HeldSummary:
    """What a summary says now, after whatever a person changed."""
    titles = {title.casefold() for title in KINDS.values()}
    found = entries.read("", Document(data))
    texts = frozenset(entry.text for entry in found if not entry.depth and entry.section.casefold() in titles)
    turns: dict[str, int] = {}
    for entry in found:
        listed = entry.section.casefold() == SOURCES.casefold() and len(entry.raw) <= LONGEST
        said = _SOURCE.search(entry.raw) if listed else None
        if said:
            turns[said[2].strip()] = int(said[3])
    return HeldSummary(texts, turns, number_in(data, "left_out"))


def render(summary: Summary) -> bytes:
    """A new note."""
    lines = [
        "---",
        f"date: {summary.day}",
        f"title: {json.dumps(f'Sessions of {summary.period}')}",
        f"period: {summary.period}",
        f"by: {json.dumps(summary.by, ensure_ascii=False)}",
        f"left_out: {summary.left_out}",
        f"tags: [{TAG}]",
        "---",
    ]
    for title, blocks in _blocks(summary):
        if blocks:
            lines += ["", f"## {title}", "", *blocks]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def add(data: bytes, new: Summary) -> list[Splice]:
    """Add statements and sessions to a summary; those that stand in it are not added again.

    Args:
        data: the note.
        new: what to add; ``left_out`` is added to what the note says, a session's ``turns`` replace what it says.

    Raises:
        ConflictError: no place takes a new bullet without changing the lines around it.
    """
    held = read(data)
    changes = edits.Changes(data)
    if new.left_out:
        changes.make(renewed(changes.data, "left_out", str(held.left_out + new.left_out)))
    changes.make(_counts(changes.data, new.sources))
    text = changes.data.decode("utf-8", "surrogateescape")
    lines = tuple(line for line in new.lines if line.text not in held.texts)
    sources = tuple(source for source in new.sources if source.link not in text)
    for title, blocks in _blocks(new._replace(lines=lines, sources=sources)):
        if blocks:
            changes.make(insert_ordered(changes.data, title, blocks, SECTIONS))
    return changes.splices()


def _blocks(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    """Section by section its bullets, each with what is nested under it."""
    for kind, title in KINDS.items():
        yield title, [_statement(line) for line in summary.lines if line.kind == kind]
    yield SOURCES, [_source(source) for source in summary.sources]


def _statement(line: SummaryLine) -> str:
    label = line.label or None if line.source else None
    parts = entries.Parts(line.text, provenance=line.source or None, label=label, author=line.author or None)
    bullet = entries.render(parts)
    return "\n".join([bullet, *([f"  - {FROM}{', '.join(line.origins)}"] if line.origins else [])])


def _source(source: SummarySource) -> str:
    counted = f" ({source.turns} turn{'' if source.turns == 1 else 's'})" if source.turns else ""
    return f"- {source.day} {source.link}{counted}"


def _counts(data: bytes, sources: Sequence[SummarySource]) -> list[Splice]:
    """Renew the number of turns of sessions that stand there already."""
    turns = {source.link: source.turns for source in sources if source.turns}
    document = Document(data)
    splices: list[Splice] = []
    for bullet in document.bullets:
        if document.section_at(bullet.line).title.casefold() != SOURCES.casefold():
            continue
        raw = data[bullet.start : bullet.end].decode("utf-8", "surrogateescape")
        said = _SOURCE.search(raw) if len(raw) <= LONGEST else None
        link = next((link for link in turns if link in raw), None) if said else None
        if said and link and int(said[3]) != turns[link]:
            start = bullet.start + len(raw[: said.start(3)].encode("utf-8", "surrogateescape"))
            splices.append(Splice(start, start + len(said[3]), str(turns[link]).encode("ascii")))
    return splices
