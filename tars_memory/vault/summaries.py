"""The summary of old sessions: their statements by kind, with links to the sessions. Pure.

``sessions/2025-03 summary.md`` replaces the sessions of that month, which are in the archive. Its front matter has the
``period``. Every statement is a bullet with its sources nested under it. The note is the person's like any other: once
written, it is never changed; sessions that are summed up later get another one.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from tars_memory.vault.markdown import entries
from tars_memory.vault.sessions import DAY, ENDS, front_of, front_value

KINDS = {"decision": "Decisions", "fact": "Facts", "open end": "Open ends", "topic": "Topics"}
"""Section title by kind of statement, in the order of the note."""

SOURCES = "Sessions"
"""The section that links to the sessions."""

TAG = "session-summary"
FROM = "from:: "
"""Beginning of the bullet under a statement that links to its sessions."""


class SummaryLine(NamedTuple):
    """One statement of a summary.

    Attributes:
        kind: one of :data:`KINDS`.
        text: the words of one bullet, neutralised.
        source: target of the provenance link, ``2025-03-04#^d-abc``; empty for none.
        label: label of the provenance link; the day.
        origins: links to the sessions that have the statement, as they are written: ``[[2025-03-04 1015 Moving]]``.
        author: author of the words; empty if unknown.
    """

    kind: str
    text: str
    source: str = ""
    label: str = ""
    origins: tuple[str, ...] = ()
    author: str = ""


class SummarySource(NamedTuple):
    """A summarised session: its day, the link to it, and the number of its examined turns (0 if unknown)."""

    day: str
    link: str
    turns: int = 0


class Summary(NamedTuple):
    """The content of a summary.

    Attributes:
        period: ``2025-03`` or ``2025``.
        day: the last day of the sessions.
        by: who made the summary: ``rules``, or the name of a model.
        lines: the statements.
        sources: the sessions.
        left_out: number of statements of the sessions for which there was no room.
    """

    period: str
    day: str
    by: str
    lines: tuple[SummaryLine, ...]
    sources: tuple[SummarySource, ...]
    left_out: int = 0


def period_of(data: bytes) -> str:
    """Return the period of a summary, from its front matter, without parsing the note; empty for any other note."""
    head = front_of(data)
    if b"source_hash" in head or TAG.encode() not in head:
        return ""
    return front_value(data, "period", rf"\d{{4}}(?:-\d\d)?{ENDS}")


def date_in(data: bytes) -> str:
    """Return the day in a note's front matter (``date: YYYY-MM-DD``), without parsing the note; empty for none."""
    return front_value(data, "date", DAY)


def path_for(folder: str, period: str, number: int = 1) -> str:
    """Return the path for the summary of a period; a number above 1 is added to the name."""
    return f"{folder}/{period} summary{f' {number}' if number > 1 else ''}.md"


def is_named(path: str) -> bool:
    """Whether the name of a note is that of a summary."""
    return re.fullmatch(r"\d{4}(?:-\d\d)? summary(?: \d+)?\.md", path.rpartition("/")[2]) is not None


def render(summary: Summary) -> bytes:
    """Return the bytes of a summary."""
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


def _blocks(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each section with its bullets and their children."""
    for kind, title in KINDS.items():
        yield title, [_statement(line) for line in summary.lines if line.kind == kind]
    yield SOURCES, [_source(source) for source in summary.sources]


def _statement(line: SummaryLine) -> str:
    """Return the bullet of a statement, with the links to its sessions nested under it."""
    label = line.label or None if line.source else None
    parts = entries.Parts(line.text, provenance=line.source or None, label=label, author=line.author or None)
    bullet = entries.render(parts)
    return "\n".join([bullet, *([f"  - {FROM}{', '.join(line.origins)}"] if line.origins else [])])


def _source(source: SummarySource) -> str:
    """Return the bullet of a session, with its number of turns."""
    turns = f" ({source.turns} turn{'' if source.turns == 1 else 's'})" if source.turns else ""
    return f"- {source.day} {source.link}{turns}"
