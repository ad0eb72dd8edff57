"""From a note's bytes to what is searched: title, date, tags, and chunks with exact lines; and what it says beside its
text, as rows: properties, facts over time, links.

A chunk is the smallest unit worth citing (an entry, a paragraph, a table, a fence), packed with its neighbours under
the same heading up to 800 characters (settings). Its text is the note's lines from the first to the last, verbatim, so
that line *i* of the text is line ``start_line + i`` of the note. Only a single line that is too long is cut inside.

A heading with nothing under it goes with the text beside it: alone it would be near to any question. An HTML comment
belongs to no chunk: nobody sees it in Obsidian.

The blocks that chunks are made of are read line by line, at a fifth of the block parser's time: blocks and headings are
those of the parser in 2,750 real notes of three languages, dialogues and papers, to the last line. What stands inside a
block is not looked at.

Properties are front matter and Dataview's inline fields (``status:: done``, ``[due:: …]``). A condition on them is
``key``, ``key=value``, ``key!=value``, or one of ``< <= > >=``; numbers are compared as numbers, anything else (ISO
dates) as text. Keys and values count in any case. The truth of facts is ``Facts.md``; their rows answer what was true
when. Links are resolved as Obsidian does, by the names that there are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.disk import blake2b
from tars_memory.errors import UsageError
from tars_memory.index.database import ALWAYS, BETWEEN, day_number, iso
from tars_memory.index.fulltext import clean
from tars_memory.settings import CUT, Cut
from tars_memory.vault import markdown
from tars_memory.vault.links import Links, named_in, targets
from tars_memory.vault.markdown import lines as grammar
from tars_memory.vault.markdown.document import MAX_CHARACTERS, Document, front_aliases, front_day, front_tags
from tars_memory.vault.markdown.lines import FENCE, TITLE, may_end, note_end, windows_of
from tars_memory.vault.vault import key_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Line


MAX_ABOUT = 8_000
"""Characters of properties that are searchable."""
MAX_TITLE = 300

SEPARATOR = " › "

_SENTENCE = re.compile(r"(?<=[.!?。！？…])[\"'”’)\]]*\s+|(?<=[。！？])")
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")


class Chunk:
    """One chunk of a note; the fields are those of the tables ``chunks``, ``chunk_texts`` and ``lines``."""

    start_line: int
    end_line: int
    text: str
    partial: bool
    lines: list[Line]
    numbers: Sequence[int]
    answers: Sequence[tuple[int, str]]
    headings: tuple[str, ...]
    head: str
    block_id: str | None
    tags: tuple[str, ...]
    hash: bytes
    until: int


class Parsed:
    """What a note says about itself, and its chunks in order."""

    title: str
    day: int
    day_source: str
    about: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    links: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    lines: int
    until: int
    chunks: list[Chunk]


def parse(
    path: str,
    data: bytes,
    *,
    day: date | None = None,
    modified: date | None = None,
    skeleton: Collection[str] | None = None,
    facts: bool = False,
    session: bool = False,
    cut: Cut = CUT,
) -> Parsed:
    """Read one note.

    Args:
        path: relative to the vault, with ``/``.
        data: its bytes; what is not UTF-8 is read as replacement characters.
        day: the day that the note's path stands for (a daily note), if any.
        modified: the day of the last write; a weak date, used where nothing else says one.
        skeleton: headings of a note that is begun from a template and filled by and by: they are left out while nothing
            stands under them, and so are all headings of a note that holds nothing else. None: another note.
        facts: the note holds facts over time.
        session: it is a session note.
        cut: into passages of which size.
    """
    stem = path.rpartition("/")[2].removesuffix(".md")
    lines, units, properties, body_line, until = read(data, facts=facts, session=session)
    note = Parsed()
    note.until = until
    title = properties.get("title")
    note.title = " ".join(clean(title if isinstance(title, str) and title.strip() else stem).split())[:MAX_TITLE]
    note.aliases, note.tags = _names_and_tags(properties)
    note.day, note.day_source = _day(stem, properties, day, modified)
    note.about = _about(path, stem, note, properties)
    note.lines = len(lines)
    note.links = tuple(dict.fromkeys(clean(target) for target in targets(lines)))
    note.properties = of_note(properties, lines)
    if skeleton is not None:
        units = list(filled(units, skeleton))
    elif body_line > 1 and all(unit.kind == "hidden" for unit in units):  # the properties are what can be cited
        units = [Unit("properties", 1, min(body_line - 1, len(lines)), ())]
    shown = iso(note.day) if note.day_source in ("name", "property") else ""
    note.chunks = [_finish(chunk, note, shown, session=session) for chunk in _chunks(lines, units, cut)]
    return note


def embedded_text(head: str, text: str) -> str:
    """What the model sees: the head on a line of its own, then the chunk's lines without machinery and bold marks."""
    return head + "\n" + grammar.plain(text)


def _names_and_tags(properties: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not properties:
        return (), ()

    tags = dict.fromkeys(clean(tag).strip("/").lower() for tag in front_tags(properties))
    return tuple(clean(alias) for alias in front_aliases(properties)), tuple(tag for tag in tags if tag)


def _day(stem: str, properties: dict[str, Any], day: date | None, modified: date | None) -> tuple[int, str]:
    """The note's day as yyyymmdd and who says so."""
    if day is not None:
        return day_number(day), "name"
    said = _first_date(stem)
    if said:
        return said, "name"
    if properties and (stated := front_day(properties)) is not None:
        return day_number(stated), "property"
    return (day_number(modified), "mtime") if modified is not None else (0, "")


def _first_date(text: str) -> int:
    """The first real date in a text as yyyymmdd, 0 if there is none."""
    for year, month, day in _DATE.findall(text):
        try:
            return day_number(date(int(year), int(month), int(day)))
        except ValueError:
            continue
    return 0


def _about(path: str, stem: str, note: Parsed, properties: dict[str, Any]) -> str:
    """Names, tags and properties as one searchable text."""
    parts = [stem] if stem != note.title else []
    parts += path.split("/")[:-1]
    parts += note.aliases
    parts += (f"#{tag}" for tag in note.tags)
    for key, value in properties.items():
        if key not in ("title", "aliases", "alias", "tags", "tag"):
            parts.append(f"{key}: {', '.join(_texts(value))}")
    return clean("\n".join(parts)[:MAX_ABOUT])


def _texts(value: object) -> Iterator[str]:
    """The texts of a property, however nested (its depth is capped by the reader)."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{key}: {', '.join(_texts(item))}"


def _chunks(lines: list[str], units: Sequence[Unit], cut: Cut) -> Iterator[tuple[list[Unit], list[str], bool]]:
    """Pack units under one heading up to the size; cut what is larger. Yields (units, lines of text, partial)."""
    pack: list[Unit] = []  # what of one heading goes together, with bare headings before and behind it
    used = 0
    path: tuple[str, ...] | None = None  # of the text in the pack; None: there is none yet
    for unit, bare in zip(units, bare_headings(units), strict=True):
        if unit.kind == "heading" and not bare:
            continue
        size = sum(len(line) + 1 for line in lines[unit.start - 1 : unit.end])
        other = not bare and path not in (None, unit.path)
        other = other or bool(pack and pack[-1].until != unit.until)
        if pack and (other or used + size > cut.size or unit.kind == "hidden"):
            yield pack, lines[pack[0].start - 1 : pack[-1].end], False
            pack, used, path = [], 0, None
        if unit.kind == "hidden":
            continue
        if size > cut.size:
            for start, end, text in _cut(lines, unit, size, cut):
                yield [Unit(unit.kind, start, end, unit.path, unit.until)], text or lines[start - 1 : end], bool(text)
            continue
        pack.append(unit)
        used += size
        if not bare:
            path = unit.path
    if pack:
        yield pack, lines[pack[0].start - 1 : pack[-1].end], False


def _cut(lines: list[str], unit: Unit, size: int, cut: Cut) -> Iterator[tuple[int, int, list[str]]]:
    """An oversized block in parts of about equal length, on lines; a line that is too long, on sentences."""
    parts = -(-size // cut.size)
    target = size / parts
    first, used = unit.start, 0
    for number in range(unit.start, unit.end + 1):
        line = lines[number - 1]
        length = len(line) + 1
        if used and (used + length > cut.size or used >= target - 60):
            yield first, number - 1, []
            first, used = number, 0
        if length > cut.size + 1:
            for start, stop in pieces(line, cut):
                yield number, number, [line[start:stop]]
            first, used = number + 1, 0
        else:
            used += length
    if used:
        yield first, unit.end, []


def pieces(line: str, cut: Cut = CUT) -> Iterator[tuple[int, int]]:
    """Where to cut a long line into overlapping pieces of a passage's size at most: after sentences, if any."""
    ends = [match.end() for match in _SENTENCE.finditer(line)]
    ends.append(len(line))
    start = 0
    at = 0
    while True:
        while at < len(ends) and ends[at] <= start + cut.overlap:
            at += 1
        stop = 0
        while at < len(ends) and ends[at] <= start + cut.size:
            stop = ends[at]
            at += 1
        if not stop:
            stop = min(len(line), start + cut.size)
            blank = line.rfind(" ", start + cut.size // 2, stop) + 1
            stop = blank if blank and stop < len(line) else stop
        yield start, stop
        if stop >= len(line):
            return
        start = _overlap_start(ends, start, stop, line, cut.overlap)


def _overlap_start(ends: Sequence[int], start: int, stop: int, line: str, overlap: int) -> int:
    """Where the next piece begins: at a sentence at most an overlap before the cut, else at a word there."""
    index = bisect_left(ends, max(start + 1, stop - overlap))
    if index < len(ends) and ends[index] < stop:
        return ends[index]
    blank = line.find(" ", stop - overlap, stop) + 1
    return blank or stop - overlap


def _finish(made: tuple[list[Unit], list[str], bool], note: Parsed, shown_date: str, *, session: bool) -> Chunk:
    units, text, partial = made
    chunk = Chunk()
    chunk.start_line, chunk.end_line = units[0].start, units[-1].end
    chunk.text = "\n".join(text)
    chunk.partial = partial
    chunk.until = min(note.until, units[0].until)
    within = next((unit for unit in units if unit.kind != "heading"), units[0])
    chunk.headings = tuple(clean(name[:MAX_TITLE]) for name in within.path)  # each chunk bears them
    heads = [note.title, *(name for name in chunk.headings if name and name != note.title)]
    chunk.head = SEPARATOR.join([*heads, shown_date] if shown_date else heads)
    chunk.lines = grammar.read(text)
    if session:  # what rules made of quotes comes after the words themselves
        chunk.lines = [
            line._replace(kind=grammar.REPEATED) if grammar.is_summed(said) else line
            for line, said in zip(chunk.lines, text, strict=True)
        ]
    chunk.numbers, chunk.answers = range(len(text)), ()
    chunk.block_id = (chunk.lines[-1].block_id or None) if len(units) == 1 and not partial else None
    inline = [name for name in chunk.headings if "#" in name]
    first = units[0].start
    for unit in units:
        if unit.kind not in ("fence", "code", "html", "math", "properties"):
            inline += (line for line in text[unit.start - first : unit.end - first + 1] if "#" in line)
    found = (tag.strip("/").lower() for line in inline for tag in grammar.TAG.findall(grammar.CODE.sub("", line)))
    chunk.tags = tuple(sorted({*note.tags, *found} - {""}))
    chunk.hash = blake2b(embedded_text(chunk.head, chunk.text).encode(), digest_size=16).digest()
    return chunk


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
    return found._replace(until=day_number(note_end(said, session=session)))


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
        units = _parted(lines, units, Document(data, by_lines=True), facts=facts)
    return Structure(lines, units, {}, 1, ALWAYS)


def _front_matter(data: bytes) -> dict[str, Any]:
    """The front matter of a huge note, without parsing what is behind it."""
    return Document(data[:MAX_CHARACTERS]).front_matter if data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") else {}


def _parted(lines: Sequence[str], units: list[Unit], document: Document, *, facts: bool) -> list[Unit]:
    """The units, cut where the lines of a bullet have an end: what counts until another day stands by itself."""
    ends: dict[int, int] = {}
    for window in windows_of(document, facts=facts):
        until = day_number(window.until)
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


# -- what a note says beside its text

MOST = 200
"""Properties of one note; more is data."""
LONGEST = 300
"""Characters of a value that are kept."""

_FIELD = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?(?P<bare>[^\W\d_][\w /-]{0,60}?)::[ \t]+(?P<said>\S[^\n]*)$"
    r"|[\[(](?P<key>[^\W\d_][\w /-]{0,60}?)::(?P<value>[^\])\n]{1,300}+)[\])]"
)
_CONDITION = re.compile(r"(?P<key>[^=<>!]+?)\s*(?:(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*))?", re.DOTALL)
_NOT = "!="


def of_note(properties: dict[str, Any], lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(key, value) of a note, folded, each once, at most :data:`MOST`; a list has a pair for each of its items.

    Args:
        properties: of the front matter.
        lines: of the whole note.
    """
    pairs = ((_folded(key), _folded(value)) for key, value in (*_front(properties), *_inline(lines)))
    return tuple(islice(dict.fromkeys(pair for pair in pairs if pair[0]), MOST))


def notes_where(connection: sqlite3.Connection, conditions: Sequence[str]) -> set[int]:
    """The notes that fulfil all conditions.

    Raises:
        UsageError: one of them is not a condition.
    """
    found: set[int] | None = None
    for text in conditions:
        key, sign, value = parsed(text)
        rows = connection.execute("SELECT note, value FROM properties WHERE key = ?", (key,)).fetchall()
        fits = {int(note) for note, held in rows if _fits(held, "=" if sign == _NOT else sign, value)}
        if sign == _NOT:
            fits = {int(note) for (note,) in connection.execute("SELECT id FROM notes")} - fits
        found = fits if found is None else found & fits
    return found or set()


def parsed(text: str) -> tuple[str, str, str]:
    """Key, sign and value of a condition; the sign is empty if the key alone is asked for.

    Raises:
        UsageError: it is none.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None or not match["key"].strip() or (match["sign"] and not match["value"].strip()):
        raise UsageError(
            f"--where {text!r} is not a condition", "write it like status=done, priority>=2, due<2026-12-01"
        )
    return _folded(match["key"]), match["sign"] or "", _folded(match["value"] or "")


def _fits(held: str, sign: str, value: str) -> bool:
    if not sign:
        return True
    if sign == "=":
        return held == value or held.strip("[]") == value.strip("[]")
    try:
        order = float(held) - float(value)
    except ValueError:
        order = (held > value) - (held < value)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


def _front(properties: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in properties.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield key, item


def _inline(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if "::" in line:
            for found in _FIELD.finditer(line):
                yield found["bare"] or found["key"], found["said"] or found["value"]


def _folded(text: str) -> str:
    return clean(" ".join(text.split())[:LONGEST]).casefold()


NEVER = 0
"""Stands for a missing first day."""

_SELECT = (
    "SELECT f.ref, f.subject, f.predicate, f.object, f.since, f.until, f.source, n.path, f.line"
    " FROM facts f JOIN notes n ON n.id = f.note JOIN scopes s ON s.id = n.scope"
)


def rows_of(layout: Layout, path: str, data: bytes) -> list[tuple[Any, ...]]:
    """What a note's facts are stored as, without the note's number; none but of the notes that hold facts."""
    if not layout.is_facts(path):
        return []
    return [
        (
            fact.line,
            fact.ref,
            fact.subject,
            markdown.facts.folded(fact.subject),
            fact.predicate,
            fact.object,
            day_number(fact.since, NEVER),
            day_number(fact.until),
            fact.source,
        )
        for _, fact in markdown.facts.read(path, Document(data))
    ]


def facts(
    connection: sqlite3.Connection, scope: str = "", *, on: date | None = None, subject: str | None = None
) -> list[Fact]:
    """The facts outside projects and, if a scope is named, of that project; in the order of their notes and lines.

    Args:
        connection: of the index.
        scope: name of a project.
        on: only those that hold on this day; None: all.
        subject: only those about it, in any case.
    """
    conditions, values = ["s.name IN ('', ?)"], [scope]
    if on is not None:
        conditions.append("f.since <= ? AND ? < f.until")
        values += [str(day_number(on))] * 2
    if subject is not None:
        conditions.append("f.about = ?")
        values.append(markdown.facts.folded(subject))
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY n.path, f.line"
    return [
        markdown.facts.Fact(ref, about, predicate, said, _date_of(since), _date_of(until), source, path, line)
        for ref, about, predicate, said, since, until, source, path, line in connection.execute(sql, values)
    ]


def _date_of(number: int) -> date | None:
    if number in (NEVER, ALWAYS):
        return None
    return date(number // 10_000, number // 100 % 100, number % 100)


class LinkTable:
    """The links between the indexed notes of some scopes.

    Args:
        connection: of the index.
        scope: a project whose notes count beside those outside projects.
        attachments: paths of files that are not notes, which links lead to as well.
    """

    def __init__(self, connection: sqlite3.Connection, scope: str = "", attachments: tuple[str, ...] = ()) -> None:
        sql = (
            "SELECT n.id, n.path, n.links FROM notes n JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"
            " ORDER BY n.path"
        )
        rows = connection.execute(sql, (scope,)).fetchall()
        self.ids = {str(path): int(key) for key, path, _ in rows}
        self._targets = {str(path): tuple(filter(None, links.split(BETWEEN))) for _, path, links in rows}
        self._links = Links((*self.ids, *attachments))

    def find(self, name: str) -> str | None:
        """The note that a name or a path means; None if there is none."""
        found = name if name in self.ids else self._links.resolve(name)
        return found if found in self.ids else None

    def out(self, path: str) -> list[tuple[str, str | None]]:
        """The targets of a note's links as written, in order, each with the path it leads to, or None."""
        return [(target, self._links.resolve(target, path)) for target in self._targets.get(path, ())]

    def back(self, path: str) -> list[str]:
        """The notes that link to a note, in order; itself is none of them."""
        name = key_of(path.rpartition("/")[2].removesuffix(".md"))
        return [
            other
            for other, targets in self._targets.items()
            if other != path
            and any(name in key_of(target) and self._links.resolve(target, other) == path for target in targets)
        ]

    def degree(self, path: str) -> int:
        """How many targets a note links to."""
        return len(set(self._targets.get(path, ())))

    def sharing(self, path: str) -> dict[str, list[str]]:
        """The targets of a note that others link to as well, by one of their names, with these others.

        What leads nowhere counts, too: the name of a note that nobody has written yet.
        """
        mine: dict[str, str] = {}
        for target, to in self.out(path):
            mine.setdefault(to or key_of(named_in(target)), named_in(target))
        names = {key_of(target.rpartition("/")[2].removesuffix(".md")) for target in mine.values()}
        found: dict[str, list[str]] = {}
        for other, theirs in self._targets.items():
            if other == path:
                continue
            for target in dict.fromkeys(map(named_in, theirs)):
                if key_of(target.rpartition("/")[2].removesuffix(".md")) in names:
                    to = self._links.resolve(target, other) or key_of(target)
                    if to in mine and to not in (path, other) and other not in found.setdefault(mine[to], []):
                        found[mine[to]].append(other)
        return found
