"""The blocks of a note that chunks are made of, read line by line: a fifth of the block parser's time. Pure.

Blocks and headings are those of the parser in 2,750 real notes of three languages, dialogues and papers, to the last
line; what stands inside a block is not looked at here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.index.schema import ALWAYS
from tars_memory.vault.markdown.lines import FENCE, TITLE, may_end, note_end, windows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import date

    from tars_memory.vault.markdown.document import Document

SCAN_BYTES = 1_000_000
"""Notes above this are read by a plain line scanner: block structure of a megabyte is data, not prose."""


class Unit:
    """A block with its heading path; ``start`` and ``end`` are 1-based lines, inclusive.

    ``kind`` is that of :class:`tars_memory.vault.markdown.document.Block`, or ``hidden`` for HTML comments; ``until``
    the first day on which it no longer counts, as yyyymmdd.
    """

    __slots__ = ("end", "kind", "path", "start", "until")

    def __init__(self, kind: str, start: int, end: int, path: tuple[str, ...], until: int = ALWAYS) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.path = path
        self.until = until


class Structure(NamedTuple):
    """What a note is made of.

    Attributes:
        lines: without their endings.
        units: in order.
        properties: of the front matter.
        body_line: the first line behind them.
        until: the first day on which the note no longer counts, as yyyymmdd.
    """

    lines: list[str]
    units: list[Unit]
    properties: dict[str, Any]
    body_line: int
    until: int


def read(data: bytes, *, facts: bool = False, session: bool = False) -> Structure:
    """Take a note apart.

    Args:
        data: its bytes.
        facts: it holds facts over time.
        session: it is a session note.
    """
    if len(data) > SCAN_BYTES:
        found = _scan(data, facts=facts)
        said = _front_matter(data)
    else:
        found = _structure(data, facts=facts)
        said = found.properties
    return found._replace(until=yyyymmdd(note_end(said, session=session)))


def yyyymmdd(day: date | None) -> int:
    """A last day as yyyymmdd."""
    return ALWAYS if day is None else day.year * 10_000 + day.month * 100 + day.day


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


def _structure(data: bytes, *, facts: bool) -> Structure:
    """Lines, units, properties and first body line by the product's one parser."""
    from tars_memory.vault.markdown.document import Document

    document = Document(data, by_lines=True)
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
    parted = _parted(lines, units, document, facts=facts)
    return Structure(lines, parted, document.front_matter, document.body_line, ALWAYS)


def _uncovered(lines: Sequence[str], first: int, last: int, path: tuple[str, ...]) -> list[Unit]:
    """What the parser calls no block (link definitions) is still text of the person."""
    worded = [number for number in range(first, last + 1) if not lines[number - 1].isspace() and lines[number - 1]]
    return [Unit("paragraph", worded[0], worded[-1], path)] if worded else []


def _scan(data: bytes, *, facts: bool) -> Structure:
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
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else TITLE.match(line)
        if heading:
            while path and path[-1][0] >= len(heading[1]):
                path.pop()
            path.append((len(heading[1]), heading[2].rstrip(" \t").rstrip("#").rstrip(" \t")))
            units.append(Unit("heading", number, number, tuple(name for _, name in path)))
            unit = None
        elif not line.strip():
            unit = None
        elif unit is None:
            unit = Unit("fence" if fence else "paragraph", number, number, tuple(name for _, name in path))
            units.append(unit)
        else:
            unit.end = number
    if may_end(data):
        from tars_memory.vault.markdown.document import Document

        units = _parted(lines, units, Document(data, by_lines=True), facts=facts)
    return Structure(lines, units, {}, 1, ALWAYS)


def _front_matter(data: bytes) -> dict[str, Any]:
    """The front matter of a huge note, without parsing what is behind it."""
    from tars_memory.vault.markdown.document import Document
    from tars_memory.vault.markdown.frontmatter import MAX_CHARACTERS

    return Document(data[:MAX_CHARACTERS]).front_matter if data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") else {}


def _parted(lines: Sequence[str], units: list[Unit], document: Document, *, facts: bool) -> list[Unit]:
    """The units, cut where the lines of a bullet have an end: what counts until another day stands by itself."""
    ends: dict[int, int] = {}
    for window in windows_of(document, facts=facts):
        until = yyyymmdd(window.until)
        for line in range(window.first, window.last + 1):
            ends[line] = min(until, ends.get(line, until))
    if not ends:
        return units
    found: list[Unit] = []
    for unit in units:
        first = unit.start
        for line in range(unit.start, unit.end + 1):
            until = ends.get(line, ALWAYS)
            if line == unit.end or ends.get(line + 1, ALWAYS) != until:
                found += _trimmed(lines, Unit(unit.kind, first, line, unit.path, until))
                first = line + 1
    return found


def _trimmed(lines: Sequence[str], unit: Unit) -> list[Unit]:
    """A part of a unit without blank lines around it; nothing if it holds no others."""
    while unit.start <= unit.end and not lines[unit.start - 1].strip():
        unit.start += 1
    while unit.end >= unit.start and not lines[unit.end - 1].strip():
        unit.end -= 1
    return [unit] if unit.start <= unit.end else []


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
