"""The blocks of a note that chunks are made of: by the product's one parser, or by lines where a note is huge. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

SCAN_BYTES = 1_000_000
"""Notes above this are read by a plain line scanner: block structure of a megabyte is data, not prose."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Unit:
    """A block with its heading path; ``start`` and ``end`` are 1-based lines, inclusive.

    ``kind`` is that of :class:`tars_memory.vault.markdown.document.Block`, or ``hidden`` for HTML comments.
    """

    __slots__ = ("end", "kind", "path", "start")

    def __init__(self, kind: str, start: int, end: int, path: tuple[str, ...]) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.path = path


def read(data: bytes) -> tuple[list[str], list[Unit], dict[str, Any], int]:
    """A note's lines, its units, its properties, and the first line behind these."""
    return _scan(data) if len(data) > SCAN_BYTES else _structure(data)


def filled(units: Sequence[Unit], skeleton: Collection[str]) -> Iterator[Unit]:
    """The units without bare headings of the skeleton; none at all if there is nothing but headings."""
    if all(unit.kind in ("heading", "hidden") for unit in units):
        return
    for unit, bare in zip(units, bare_headings(units), strict=True):
        if not (bare and unit.path and unit.path[-1] in skeleton):
            yield unit


def bare_headings(units: Sequence[Unit]) -> list[bool]:
    """Whether each unit is a heading under which nothing stands, not even another heading."""
    below: tuple[str, ...] = ()
    found = []
    for unit in reversed(units):
        found.append(unit.kind == "heading" and below[: len(unit.path)] != unit.path)
        if unit.kind != "hidden":
            below = unit.path
    return found[::-1]


def _structure(data: bytes) -> tuple[list[str], list[Unit], dict[str, Any], int]:
    """Lines, units, properties and first body line by the product's one parser."""
    from tars_memory.vault.markdown.document import Document

    document = Document(data)
    lines = [data[start:end].decode("utf-8", "replace") for start, end, _ in document.lines[: document.last_line]]
    units: list[Unit] = []
    sections = iter(document.sections)
    section = next(sections)
    following = next(sections, None)
    last = document.body_line - 1
    for kind, start, end in document.blocks:
        units += _uncovered(lines, last + 1, start - 1, section.path)
        while following is not None and start >= following.start_line:
            section, following = following, next(sections, None)
        last = max(last, end)
        if kind != "rule":
            hidden = kind == "html" and _is_hidden("\n".join(lines[start - 1 : end]))
            units.append(Unit("hidden" if hidden else kind, start, end, section.path))
    units += _uncovered(lines, last + 1, len(lines), section.path)
    return lines, units, document.front_matter, document.body_line


def _uncovered(lines: Sequence[str], first: int, last: int, path: tuple[str, ...]) -> list[Unit]:
    """What the parser calls no block (link definitions) is still text of the person."""
    worded = [number for number in range(first, last + 1) if not lines[number - 1].isspace() and lines[number - 1]]
    return [Unit("paragraph", worded[0], worded[-1], path)] if worded else []


def _scan(data: bytes) -> tuple[list[str], list[Unit], dict[str, Any], int]:
    """The same for a huge note: headings, fences and blank lines only."""
    text = data.decode("utf-8-sig", "replace")
    lines = re.split(r"\r\n|\r|\n", text)
    if lines and not lines[-1]:
        lines.pop()
    units: list[Unit] = []
    path: list[tuple[int, str]] = []
    fence = ""
    unit: Unit | None = None
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _HEADING.match(line)
        if heading:
            while path and path[-1][0] >= len(heading[1]):
                path.pop()
            path.append((len(heading[1]), heading[2]))
            units.append(Unit("heading", number, number, tuple(name for _, name in path)))
            unit = None
        elif not line.strip():
            unit = None
        elif unit is None:
            unit = Unit("fence" if fence else "paragraph", number, number, tuple(name for _, name in path))
            units.append(unit)
        else:
            unit.end = number
    return lines, units, {}, 1


def _is_hidden(block: str) -> bool:
    """Whether a block of HTML is nothing but comments that are closed."""
    at, rest = 0, block.lstrip()
    while rest.startswith("<!--", at):
        end = rest.find("-->", at + 4)
        if end < 0:
            return False
        at = end + 3
        at += len(rest[at:]) - len(rest[at:].lstrip()) if rest[at : at + 1].isspace() else 0
    return 0 < at == len(rest)
