"""Rows of the index as recall sees them."""

from __future__ import annotations

import re

_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")


class ChunkRow:
    """A chunk as it stands in the index; ``text`` is verbatim, its i-th line is line ``start_line + i`` of the note.

    ``date`` is ISO or None, ``date_is_weak`` says that only the file's time of modification told it; ``partial`` that
    the text is a piece of one oversized line.
    """

    __slots__ = (
        "aliases",
        "block_id",
        "date",
        "date_is_weak",
        "end_line",
        "head",
        "headings",
        "id",
        "note_id",
        "partial",
        "path",
        "position",
        "scope",
        "start_line",
        "text",
        "tier",
        "title",
    )

    id: int
    note_id: int
    position: int
    path: str
    title: str
    aliases: tuple[str, ...]
    tier: str
    scope: str
    date: str | None
    date_is_weak: bool
    headings: tuple[str, ...]
    head: str
    start_line: int
    end_line: int
    text: str
    partial: bool
    block_id: str | None

    @property
    def block_ids(self) -> dict[int, str]:
        """Block ids by the line that they stand on."""
        if "^" not in self.text:
            return {}
        lines = enumerate(self.text.split("\n"), self.start_line)
        return {number: match[1] for number, line in lines if (match := _BLOCK_ID.search(line))}


class NoteRow:
    """A note as it stands in the index."""

    __slots__ = ("aliases", "date", "date_is_weak", "id", "lines", "links", "path", "scope", "tags", "tier", "title")

    id: int
    path: str
    title: str
    tier: str
    scope: str
    date: str | None
    date_is_weak: bool
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    links: tuple[str, ...]
    lines: int


def iso(day: int) -> str | None:
    """A stored day as an ISO date, None for none."""
    return f"{day // 10_000:04d}-{day // 100 % 100:02d}-{day % 100:02d}" if day else None
