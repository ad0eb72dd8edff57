"""Rows of the index as recall sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tars_memory.vault.model import Line


class ChunkRow:
    """A chunk as it stands in the index; ``text`` is verbatim, its i-th line is line ``start_line + i`` of the note
    and ``lines[i]`` says what it is.

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
        "lines",
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
    lines: list[Line]
    partial: bool
    block_id: str | None

    @property
    def block_ids(self) -> dict[int, str]:
        """Block ids by the line that they stand on."""
        return {number: line.block_id for number, line in enumerate(self.lines, self.start_line) if line.block_id}


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
