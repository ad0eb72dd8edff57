"""Parse a note's bytes into what is searched: title, date, tags, and chunks with exact lines; then its properties,
facts over time and links, as rows.

A chunk is the smallest unit worth citing (an entry, a paragraph, a table, a fence), packed with its neighbours under
the same heading up to 800 characters (settings). Its text is the note's lines from the first to the last, verbatim, so
that line *i* of the text is line ``start_line + i`` of the note. Only a single line that is too long is cut inside.

A heading with nothing under it goes with the text beside it: alone it would be near to any question. An HTML comment
belongs to no chunk: nobody sees it in Obsidian. Nor does a comment of Obsidian that ends with a fence, where plugins
keep their data: the text of a drawing would be hundreds of chunks. The properties of the front matter that say
something are a chunk of their own, after those of the text: what is read as a name, tag or date of the note, or has no
words, is not a passage.

The blocks that chunks are made of are read line by line, in a fifth of the block parser's time: in 2,750 real notes of
three languages, dialogues and papers, blocks and headings are those of the parser, to the last line. The inside of a
block is not parsed.

Properties are front matter and Dataview's inline fields (``status:: done``, ``[due:: …]``). A condition on them is
``key``, ``key=value``, ``key!=value``, or one of ``< <= > >=``; numbers are compared as numbers, anything else (ISO
dates) as text. Keys and values match in any case. The source of truth for facts is ``Facts.md``; their rows answer what
was true when. Links are resolved as Obsidian does, by the names of the existing notes and attachments.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import date
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from tars_memory import disk, errors, vault
from tars_memory.index.database import ALWAYS, BETWEEN, day_number, iso
from tars_memory.index.fulltext import clean
from tars_memory.settings import CUT, Cut
from tars_memory.vault import markdown
from tars_memory.vault.vault import key_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tars_memory.vault.markdown.lines import Outline, Span, Window
    from tars_memory.vault.model import Line


MAX_ABOUT = 8_000
"""Maximum number of characters of names, tags and properties that are searchable."""
MAX_TITLE = 300
"""Maximum number of characters of a title or a heading."""

SEPARATOR = " › "
"""Separates title, headings and date in the head of a chunk."""

_SENTENCE = re.compile(r"(?<=[.!?。！？…])[\"'”’)\]]*\s+|(?<=[。！？])")
_DATE = re.compile(
    r"(?<!\d)(?:(\d{4})([-_./])(\d\d)\2(\d\d)(?!\d)"
    r"|(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{4})(?!\d)"
    r"|((?:19|20)\d\d)((?:0[1-9]|1[0-2]))((?:0[1-9]|[12]\d|3[01]))(?:[T_-]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?(?!\d))"
)
"""A date in a note's name: ``2026-11-21``, ``2026_11_21`` (Logseq), ``2026.11.21``, ``20261121``, the identifier of a
Zettelkasten, ``202611211405``, ``21.11.2026``, and the ``2026/11/21`` of a note in folders of years and months."""


class Chunk:
    """One chunk of a note.

    Attributes:
        start_line, end_line: 1-based, inclusive.
        text: the lines, verbatim.
        partial: whether the text is a piece of one oversized line.
        front: whether the lines are properties of the front matter.
        lines: the parsed lines.
        numbers: the number of each line as stored in ``lines.number``.
        answers: (position of a line, answer to it), for conversations.
        headings: the headings above the text, from the outermost one.
        head: title, headings and date in one line.
        block_id: of the block, if the chunk is one block that has an id.
        tags: of the note, of the headings and in the text, sorted.
        hash: of the embedded text.
        until: the first day on which the chunk no longer counts, as yyyymmdd.
    """

    start_line: int
    end_line: int
    text: str
    partial: bool = False
    front: bool = False
    lines: list[Line]
    numbers: Sequence[int]
    answers: Sequence[tuple[int, str]] = ()
    headings: tuple[str, ...] = ()
    head: str
    block_id: str | None = None
    tags: tuple[str, ...]
    hash: bytes
    until: int = ALWAYS


class Parsed:
    """A parsed note.

    Attributes:
        title: from the front matter, else the file name.
        day: as yyyymmdd, 0 if none is known.
        day_source: ``name``, ``property``, ``mtime``, or '' without a day.
        about: names, folders, tags and properties as one searchable text.
        aliases: of the front matter, and the title that the text opens with, if it is another name than the file's.
        tags: of the front matter, in lower case.
        links: targets of links as written, each once.
        properties: (key, value) pairs, folded.
        lines: number of lines.
        until: the first day on which the note no longer counts, as yyyymmdd.
        chunks: in order.
    """

    title: str
    day: int
    day_source: str
    about: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[str, ...]
    properties: tuple[tuple[str, str], ...] = ()
    lines: int
    until: int = ALWAYS
    chunks: list[Chunk]


def parse(
    path: str,
    outline: Outline,
    links: Iterable[str] = (),
    *,
    day: date | None = None,
    modified: date | None = None,
    skeleton: Collection[str] | None = None,
    session: bool = False,
    cut: Cut = CUT,
) -> Parsed:
    """Parse one note.

    Args:
        path: relative to the vault, with ``/``.
        outline: what its bytes hold.
        links: the targets of its links, as written.
        day: the day that the note's path stands for (a daily note), if any.
        modified: the day of the last write; a weak date, used only if path, title and properties name none.
        skeleton: headings of a note that starts from a template and is filled over time: they are left out while
            there is nothing under them, and so are all headings of a note that holds nothing else. None: the note is
            not of this kind.
        session: the note is a session note.
        cut: size and overlap of the chunks.
    """
    stem, lines, properties = _stem(path), outline.lines, outline.properties
    note = Parsed()
    note.until = day_number(outline.until)
    title = properties.get("title")
    note.title = " ".join(clean(title if isinstance(title, str) and title.strip() else stem).split())[:MAX_TITLE]
    note.aliases, opening = tuple(map(clean, outline.aliases)), clean(outline.opening)
    if opening and key_of(opening) not in map(key_of, (*note.aliases, note.title, stem)):
        note.aliases += (opening,)
    note.tags = tuple(filter(None, dict.fromkeys(markdown.lines.tag_key(clean(tag)) for tag in outline.tags)))
    in_folders = "/".join(path.removesuffix(".md").split("/")[-3:]) if len(stem) == 2 and stem.isdecimal() else ""
    note.day, note.day_source = _day(in_folders or stem, outline.day, day, modified)
    note.about = _about(path, stem, note, properties)
    note.lines = len(lines)
    note.links = tuple(dict.fromkeys(map(clean, links)))
    note.properties = note_properties(properties, lines)
    units = _units(lines, outline.blocks, outline.windows)
    if skeleton is not None:
        units = list(without_skeleton(units, skeleton))
    shown = iso(note.day) if note.day_source in ("name", "property") else ""
    parts = list(_parts(lines, units, cut))
    grammar = markdown.lines
    read = [(grammar.read(text, session=session), grammar.plain("\n".join(text))) for _, text, _ in parts]
    least = grammar.SAYS
    if skeleton is None and not parts:  # only the properties can be cited
        least = max(outline.told.values(), default=least)
    told = [number for number, worth in outline.told.items() if worth >= least]
    # After the text, so that the first chunk of a note is of its text.
    front = list(_parts(lines, [Unit("properties", told[0], told[-1], ())], cut)) if told else []
    parts += front
    among = frozenset(told)  # a list is searched from its beginning for each line
    for (first, *_), text, _ in front:
        read.append((grammar.read_properties(text, first.start, among), grammar.plain("\n".join(text))))
    note.chunks = [_chunk(*part, *as_read, note, shown) for part, as_read in zip(parts, read, strict=True)]
    return note


def embedded_text(head: str, plain: str) -> str:
    """Return what the model sees: the head on a line of its own, then the chunk's :func:`grammar.plain` lines."""
    return f"{head}\n{plain}"


def _stem(path: str) -> str:
    """Return the file name of a note's path or of a link's target, without ``.md``."""
    return path.rpartition("/")[2].removesuffix(".md")


def _day(stem: str, in_front: date | None, day: date | None, modified: date | None) -> tuple[int, str]:
    """Return the note's day as yyyymmdd, 0 if none is known, and its source: ``name``, ``property`` or ``mtime``."""
    if day is not None:
        return day_number(day), "name"
    in_name = _first_date(stem)
    if in_name:
        return in_name, "name"
    if in_front is not None:
        return day_number(in_front), "property"
    return (day_number(modified), "mtime") if modified is not None else (0, "")


def _first_date(text: str) -> int:
    """Return the first valid date in a text as yyyymmdd, 0 if there is none."""
    for found in _DATE.finditer(text):
        parts = found.group("year", "month", "day"), found.group(1, 3, 4), found.group(8, 9, 10)
        year, month, day = next(part for part in parts if part[0])
        try:
            return day_number(date(int(year), int(month), int(day)))
        except ValueError:
            continue
    return 0


def _about(path: str, stem: str, note: Parsed, properties: dict[str, Any]) -> str:
    """Return the note's names, folders, tags and properties as one searchable text."""
    parts = [stem] if stem != note.title else []
    parts += path.split("/")[:-1]
    parts += note.aliases
    parts += (f"#{tag}" for tag in note.tags)
    for key, value in properties.items():
        if key not in ("title", "aliases", "alias", "tags", "tag"):
            parts.append(f"{key}: {', '.join(_strings(value))}")
    return clean("\n".join(parts)[:MAX_ABOUT])


def _strings(value: object) -> Iterator[str]:
    """Yield the strings in a property's value, however nested (the reader caps the depth)."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{key}: {', '.join(_strings(item))}"


def _parts(lines: list[str], units: Sequence[Unit], cut: Cut) -> Iterator[tuple[list[Unit], list[str], bool]]:
    """Pack units under one heading up to a chunk's size and cut larger units; yield (units, lines of text, partial)."""
    pack: list[Unit] = []  # units under one heading, with the bare headings before and after them
    used = 0
    path: tuple[str, ...] | None = None  # headings of the text in the pack; None: no text yet
    for unit, bare in zip(units, bare_headings(units), strict=True):
        if unit.kind == "heading" and not bare and len(unit.path[-1]) <= MAX_TITLE:
            continue  # chunks under it repeat it
        size = sum(len(line) + 1 for line in lines[unit.start - 1 : unit.end])
        is_elsewhere = not bare and path not in (None, unit.path)
        is_full = used + size > cut.size
        if pack and (is_elsewhere or is_full or unit.kind == "hidden" or pack[-1].until != unit.until):
            yield pack, lines[pack[0].start - 1 : pack[-1].end], False
            pack, used, path = [], 0, None
        if unit.kind == "hidden":
            continue
        if size > cut.size:
            yield from _cut(lines, unit, size, cut)
            continue
        pack.append(unit)
        used += size
        if not bare:
            path = unit.path
    if pack:
        yield pack, lines[pack[0].start - 1 : pack[-1].end], False


def _cut(lines: list[str], unit: Unit, size: int, cut: Cut) -> Iterator[tuple[list[Unit], list[str], bool]]:
    """Cut an oversized block between lines, into parts of about equal length; cut a line that is too long into pieces.

    Yields the same as :func:`_parts`.
    """

    def part(first: int, last: int) -> list[Unit]:
        return [Unit(unit.kind, first, last, unit.path, unit.until)]

    target = size / -(-size // cut.size)
    first, used = unit.start, 0
    for number in range(unit.start, unit.end + 1):
        line = lines[number - 1]
        length = len(line) + 1
        if used and (used + length > cut.size or used >= target - 60):
            yield part(first, number - 1), lines[first - 1 : number - 1], False
            first, used = number, 0
        if length > cut.size + 1:
            for start, stop in pieces(line, cut):
                yield part(number, number), [line[start:stop]], True
            first, used = number + 1, 0
        else:
            used += length
    if used:
        yield part(first, unit.end), lines[first - 1 : unit.end], False


def pieces(line: str, cut: Cut = CUT) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the overlapping pieces of a long line, cut after sentences if any.

    A piece has at most ``cut.size`` characters.
    """
    ends = [match.end() for match in _SENTENCE.finditer(line)]
    ends.append(len(line))
    start = 0
    index = 0
    while True:
        while index < len(ends) and ends[index] <= start + cut.overlap:
            index += 1
        stop = 0
        while index < len(ends) and ends[index] <= start + cut.size:
            stop = ends[index]
            index += 1
        if not stop:
            stop = min(len(line), start + cut.size)
            blank = line.rfind(" ", start + cut.size // 2, stop) + 1
            stop = blank if blank and stop < len(line) else stop
        yield start, stop
        if stop >= len(line):
            return
        start = _overlap_start(ends, start, stop, line, cut.overlap)


def _overlap_start(ends: Sequence[int], start: int, stop: int, line: str, overlap: int) -> int:
    """Return where the next piece starts: at a sentence at most ``overlap`` before the cut, else at a word there."""
    index = bisect_left(ends, max(start + 1, stop - overlap))
    if index < len(ends) and ends[index] < stop:
        return ends[index]
    blank = line.find(" ", stop - overlap, stop) + 1
    return blank or stop - overlap


def _chunk(
    units: list[Unit], text: list[str], partial: bool, lines: list[Line], plain: str, note: Parsed, shown_date: str
) -> Chunk:
    """Build a chunk of the units; ``text`` are its lines, ``lines`` what they are, ``plain`` what the model sees."""
    chunk = Chunk()
    chunk.start_line, chunk.end_line = units[0].start, units[-1].end
    chunk.text = "\n".join(text)
    chunk.partial = partial
    chunk.front = units[0].kind == "properties"
    chunk.until = min(note.until, units[0].until)
    body = next((unit for unit in units if unit.kind != "heading"), units[0])
    chunk.headings = tuple(clean(name[:MAX_TITLE]) for name in body.path)  # cut, for each chunk repeats them
    heads = [note.title, *(name for name in chunk.headings if name and name != note.title)]
    chunk.head = SEPARATOR.join([*heads, shown_date] if shown_date else heads)
    chunk.lines = lines
    chunk.numbers = range(len(text))
    chunk.block_id = (chunk.lines[-1].block_id or None) if len(units) == 1 and not partial else None
    with_hash = [name for name in chunk.headings if "#" in name]
    first = units[0].start
    for unit in units:
        if unit.kind not in ("fence", "code", "html", "math", "properties"):
            with_hash += (line for line in text[unit.start - first : unit.end - first + 1] if "#" in line)
    chunk.tags = tuple(sorted({*note.tags, *chain.from_iterable(map(markdown.lines.tags_in, with_hash))} - {""}))
    chunk.hash = disk.blake2b(embedded_text(chunk.head, plain).encode(), digest_size=16).digest()
    return chunk


class Unit:
    """A block with its heading path; ``start`` and ``end`` are 1-based lines, inclusive.

    ``kind`` is that of :class:`tars_memory.vault.markdown.document.Block`, or ``hidden`` for HTML comments; ``until``
    is the first day on which the block no longer counts, as yyyymmdd.
    """

    __slots__ = ("end", "kind", "path", "start", "until")

    def __init__(self, kind: str, start: int, end: int, path: tuple[str, ...], until: int = ALWAYS) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.path = path
        self.until = until


def without_skeleton(units: Sequence[Unit], skeleton: Collection[str]) -> Iterator[Unit]:
    """Yield the units without bare headings of the skeleton; none at all if there is nothing but headings."""
    if all(unit.kind in ("heading", "hidden") for unit in units):
        return
    for unit, bare in zip(units, bare_headings(units), strict=True):
        if not (bare and unit.path and unit.path[-1] in skeleton):
            yield unit


def bare_headings(units: Sequence[Unit]) -> list[bool]:
    """Return for each unit whether it is a heading with nothing under it, not even another heading."""
    below: tuple[str, ...] = ()
    found = []
    for unit in reversed(units):
        found.append(unit.kind == "heading" and below[: len(unit.path)] != unit.path)
        if unit.kind != "hidden":
            below = unit.path
    return found[::-1]


def _units(lines: Sequence[str], blocks: Iterable[Span], windows: Iterable[Window]) -> list[Unit]:
    """Return the blocks as units, split so that all lines of one count until the same day."""
    units: list[Unit] = []
    for kind, start, end, path in blocks:
        unit = Unit(kind or "paragraph", start, end, path)
        units += [unit] if kind else _trimmed(lines, unit)
    ends: dict[int, int] = {}
    for window in windows:
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
    """Remove the blank lines around a unit; return no unit if all its lines are blank."""
    while unit.start <= unit.end and not lines[unit.start - 1].strip():
        unit.start += 1
    while unit.end >= unit.start and not lines[unit.end - 1].strip():
        unit.end -= 1
    return [unit] if unit.start <= unit.end else []


# -- properties, facts and links of a note

MAX_PROPERTIES = 200
"""Maximum number of properties of one note; more is data."""
MAX_VALUE = 300
"""Maximum number of characters of a key or a value; the rest is cut off."""

_FIELD = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?(?P<line_key>[^\W\d_][\w /-]{0,60}?)::[ \t]+(?P<line_value>\S[^\n]*)$"
    r"|[\[(](?P<key>[^\W\d_][\w /-]{0,60}?)::(?P<value>[^\])\n]{1,300}+)[\])]"
)
_CONDITION = re.compile(r"(?P<key>[^=<>!]+?)\s*(?:(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*))?", re.DOTALL)
_NOT = "!="


def note_properties(properties: dict[str, Any], lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return a note's properties as (key, value) pairs, folded, each once, at most :data:`MAX_PROPERTIES`.

    A list has one pair for each of its items; values that are neither text nor a list of texts are skipped.

    Args:
        properties: of the front matter.
        lines: of the whole note.
    """
    front = (
        (key, item) for key, value in properties.items() for item in (value if isinstance(value, list) else [value])
    )
    fields = (field for line in lines if "::" in line for field in _FIELD.finditer(line))
    inline = ((one["line_key"] or one["key"], one["line_value"] or one["value"]) for one in fields)
    pairs = ((_folded(key), _folded(value)) for key, value in chain(front, inline) if isinstance(value, str))
    return tuple(islice(dict.fromkeys(pair for pair in pairs if pair[0]), MAX_PROPERTIES))


def notes_where(connection: sqlite3.Connection, conditions: Sequence[str]) -> set[int]:
    """Return the ids of the notes whose properties fulfil all conditions.

    Raises:
        UsageError: a condition can't be parsed.
    """
    found: set[int] | None = None
    for text in conditions:
        key, sign, value = parse_condition(text)
        rows = connection.execute("SELECT note, value FROM properties WHERE key = ?", (key,)).fetchall()
        fits = {int(note) for note, actual in rows if _fits(actual, "=" if sign == _NOT else sign, value)}
        if sign == _NOT:
            fits = {int(note) for (note,) in connection.execute("SELECT id FROM notes")} - fits
        found = fits if found is None else found & fits
    return found or set()


def parse_condition(text: str) -> tuple[str, str, str]:
    """Return key, sign and value of a condition; the sign is empty for a condition that is a key alone.

    Raises:
        UsageError: the text is not a condition.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None or not match["key"].strip() or (match["sign"] and not match["value"].strip()):
        raise errors.UsageError(
            f"--where {text!r} is not a condition", "write it like status=done, priority>=2, due<2026-12-01"
        )
    return _folded(match["key"]), match["sign"] or "", _folded(match["value"] or "")


def _fits(actual: str, sign: str, value: str) -> bool:
    """Whether the value of a property fulfils a condition."""
    if not sign:
        return True
    if sign == "=":
        return actual == value or actual.strip("[]") == value.strip("[]")
    try:
        order = float(actual) - float(value)
    except ValueError:
        order = (actual > value) - (actual < value)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


def _folded(text: str) -> str:
    return normalize("NFC", clean(" ".join(text.split())[:MAX_VALUE]).casefold())


NEVER = 0
"""The first day of a fact without one."""

_SELECT = (
    "SELECT f.ref, f.subject, f.predicate, f.object, f.since, f.until, f.source, n.path, f.line"
    " FROM facts f JOIN notes n ON n.id = f.note JOIN scopes s ON s.id = n.scope"
)


def fact_rows(path: str, data: bytes) -> list[tuple[Any, ...]]:
    """Return the facts of a facts note as rows of the table ``facts`` without the note's id."""
    return [
        (
            fact.line,
            readable(fact.ref),
            readable(fact.subject),
            readable(fact.predicate),
            readable(fact.object),
            day_number(fact.since, NEVER),
            day_number(fact.until),
            readable(fact.source),
        )
        for _, fact in markdown.facts.read(path, markdown.document.Document(data))
    ]


def readable(text: str) -> str:
    """Return a text whose bytes that are not UTF-8 are lone surrogates with U+FFFD for each, as passages show them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def facts(connection: sqlite3.Connection, scope: str = "", *, on: date | None = None) -> list[markdown.facts.Fact]:
    """Return the facts outside projects and of the project ``scope``, if given, in the order of their notes and lines.

    Args:
        connection: of the index.
        scope: name of a project.
        on: only facts that hold on this day; None: all.
    """
    conditions, values = ["s.name IN ('', ?)"], [scope]
    if on is not None:
        conditions.append("f.since <= ? AND ? < f.until")
        values += [str(day_number(on))] * 2
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY n.path, f.line"
    return [
        markdown.facts.Fact(ref, *_masked(about, predicate, object_), _date_of(since), _date_of(until), *place)
        for ref, about, predicate, object_, since, until, *place in connection.execute(sql, values)
    ]


def _masked(subject: str, predicate: str, object_: str) -> tuple[str, str, str]:
    """Mask the parts of a fact as they are masked in its sentence: a word for a password may be the subject."""
    sentence = f"{subject} {predicate}: {object_}"
    if not vault.suspicion.suspicious(sentence):
        return subject, predicate, object_
    middle, last = len(subject) + 1, len(sentence) - len(object_)
    spans = [(0, len(subject)), (middle, middle + len(predicate)), (last, len(sentence))]
    return tuple(vault.secrets.masked_parts(sentence, spans))  # type: ignore[return-value]  # it has three


def _date_of(number: int) -> date | None:
    """Return the date of a yyyymmdd number, None for an open end."""
    return None if number in (NEVER, ALWAYS) else date.fromisoformat(iso(number))


class LinkTable:
    """The links between the indexed notes of some scopes.

    Args:
        connection: of the index.
        scope: a project whose notes count in addition to those outside projects.
        attachments: paths of other files that links can lead to.
    """

    def __init__(self, connection: sqlite3.Connection, scope: str = "", attachments: tuple[str, ...] = ()) -> None:
        sql = (
            "SELECT n.id, n.path, n.links FROM notes n JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"
            " ORDER BY n.path"
        )
        rows = connection.execute(sql, (scope,)).fetchall()
        self.ids = {str(path): int(key) for key, path, _ in rows}
        self._targets = {str(path): tuple(filter(None, links.split(BETWEEN))) for _, path, links in rows}
        self._links = vault.links.Links((*self.ids, *attachments))

    def find(self, name: str) -> str | None:
        """Return the path of the note with that name or path; None if there is none."""
        found = name if name in self.ids else self._links.resolve(name)
        return found if found in self.ids else None

    def out(self, path: str) -> list[tuple[str, str | None]]:
        """Return the targets of a note's links as written, in order, each with the path it leads to or None."""
        return [(target, self._links.resolve(target, path)) for target in self._targets.get(path, ())]

    def back(self, path: str) -> list[str]:
        """Return the other notes that link to a note, in order."""
        name = key_of(_stem(path))
        return [
            other
            for other, targets in self._targets.items()
            if other != path
            and any(name in key_of(target) and self._links.resolve(target, other) == path for target in targets)
        ]

    def degree(self, path: str) -> int:
        """Return the number of targets that a note links to."""
        return len(set(self._targets.get(path, ())))

    def shared_targets(self, path: str) -> dict[str, list[str]]:
        """Return the targets of a note's links that other notes link to as well, each with those notes.

        Links that lead nowhere count, too: the name of a note that nobody has written yet.
        """
        shared: dict[str, str] = {}  # where a link of this note leads → its target as written
        for target, to in self.out(path):
            shared.setdefault(to or key_of(vault.links.file_part(target)), vault.links.file_part(target))
        names = {key_of(_stem(target)) for target in shared.values()}
        found: dict[str, list[str]] = {}
        for other, theirs in self._targets.items():
            if other == path:
                continue
            for target in dict.fromkeys(map(vault.links.file_part, theirs)):
                if key_of(_stem(target)) in names:
                    to = self._links.resolve(target, other) or key_of(target)
                    if to in shared and to not in (path, other) and other not in found.setdefault(shared[to], []):
                        found[shared[to]].append(other)
        return found
