r"""A note as bytes and as structure: lines, front matter, sections, blocks, bullets.

Nothing is ever serialised from this structure: it only says where things stand, so that an edit can splice the bytes
of exactly the lines it names. Structure comes from markdown-it's block tokens (CommonMark and tables), overlaid with
what Obsidian adds: front matter, ``%%`` comments and ``$$`` formulas.

Lines end at ``\r\n``, ``\r`` or ``\n`` only and are counted from 1, as editors do; a final line ending is followed
by one more, empty line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import date
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.language.calendar import MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    from tars_memory.vault.model import Splice


BOM = b"\xef\xbb\xbf"


class Extent(NamedTuple):
    """Byte offsets of one line: ``[start:end)`` is its text, ``[end:next)`` its line ending."""

    start: int
    end: int
    next: int


class Section(NamedTuple):
    """A heading and what stands directly under it, up to the next heading of any level.

    The text before the first heading is a section of level 0 with an empty path.
    """

    path: tuple[str, ...]
    level: int
    start_line: int
    end_line: int
    body_line: int

    @property
    def title(self) -> str:
        """Plain text of the heading; empty before the first one."""
        return self.path[-1] if self.path else ""


class Block(NamedTuple):
    """A top-level block, the items of a top-level list each being one.

    ``kind`` is heading, paragraph, item, table, fence, code, html, quote, rule, comment or math. Trailing blank lines
    are not part of it.
    """

    kind: str
    start_line: int
    end_line: int


class Bullet(NamedTuple):
    """A list item that starts its line with ``-``, ``*`` or ``+`` outside quotes.

    ``end_line`` includes nested children, ``own_end_line`` only the bullet's own words. ``start`` and ``end`` are the
    byte offsets of these words. ``worded`` is False if the item begins with something other than text (a fence, a
    heading) or is empty. ``depth`` counts the lists around it.
    """

    line: int
    own_end_line: int
    end_line: int
    start: int
    end: int
    depth: int
    worded: bool


class _Shape(NamedTuple):
    """What the parser says of a note; see :class:`Document`."""

    blocks: tuple[Block, ...]
    bullets: tuple[Bullet, ...]
    sections: tuple[Section, ...]
    open_line: int | None
    by_lines: bool


class Document:
    """The structure of one note's bytes. Any bytes are a document.

    It never changes. The lines and the front matter are there at once; the parser is asked when the rest is, and what
    it said of the last few texts is remembered.

    Attributes:
        data: the bytes, as given.
        lines: one :class:`Extent` each; line 1 starts after a byte order mark.
        front_matter_lines: first and last line of the YAML block with its fences, or None.
        body_line: the first line after the front matter.
        sections: in order, each line after the front matter in exactly one.
        blocks: top-level blocks in order; link definitions and blank lines belong to none.
        open_line: the line of a fence or comment that is never closed, or None; all after it is inside it.
        by_lines: whether the note is so long, or nested so deep, that it was read line by line, or was to be.

    Args:
        data: the bytes.
        by_lines: read it line by line, for who needs no more than blocks, sections and bullets: a fifth of the time.
    """

    def __init__(self, data: bytes, *, by_lines: bool = False) -> None:
        self.data = data
        self.lines: Sequence[Extent] = _lines(data)
        self.front_matter_lines = self._front_matter_lines()
        self.body_line = self.front_matter_lines[1] + 1 if self.front_matter_lines else 1
        self._quick = by_lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and (self.data, self._quick) == (other.data, other._quick)

    def __hash__(self) -> int:
        return hash(self.data)

    @cached_property
    def _shape(self) -> _Shape:
        return self._told() if self._quick or len(self.data) > REMEMBERED else _remembered(self)

    @property
    def blocks(self) -> tuple[Block, ...]:  # noqa: D102 - see the class
        return self._shape.blocks

    @cached_property
    def bullets(self) -> tuple[Bullet, ...]:
        """List items in order of their lines."""
        return tuple(self._bullets(self._tokens)) if self._quick else self._shape.bullets

    @cached_property
    def items(self) -> tuple[Bullet, ...]:
        """The list items and the numbered ones, in order of their lines."""
        return tuple(self._bullets(Document(self.data)._tokens, numbered=True))

    @property
    def sections(self) -> tuple[Section, ...]:  # noqa: D102
        return self._shape.sections

    @property
    def open_line(self) -> int | None:  # noqa: D102
        return self._shape.open_line

    @property
    def by_lines(self) -> bool:  # noqa: D102
        return self._shape.by_lines

    @property
    def front_matter(self) -> dict[str, Any]:
        """The YAML block's values, scalars as text; empty if there is none or it can't be read."""
        if not self.front_matter_lines or self.front_matter_lines[1] < 3:
            return {}

        return read_front(self.text(2, self.front_matter_lines[1] - 1))

    def line_at(self, offset: int) -> int:
        """The 1-based line that holds the byte at ``offset``; a line ending belongs to the line that it ends."""
        return max(1, bisect_right(self.lines, offset, key=lambda line: line.start))

    def text(self, first: int, last: int | None = None) -> str:
        """Lines ``first`` to ``last`` (inclusive; one line if omitted) as text, without the final line ending.

        Bytes that are not UTF-8 become lone surrogates, so that encoding with ``surrogateescape`` gives them back.
        """
        start, end = self.lines[first - 1].start, self.lines[(last or first) - 1].end
        return self.data[start:end].decode("utf-8", "surrogateescape")

    def is_blank(self, line: int) -> bool:
        """Whether the line holds nothing but spaces and tabs."""
        start, end, _ = self.lines[line - 1]
        return not self.data[start:end].strip(b" \t")

    @property
    def last_line(self) -> int:
        """The last line of the note, not counting the empty one after a final line ending."""
        last = self.lines[-1]
        return len(self.lines) - (1 if len(self.lines) > 1 and last.start == last.end else 0)

    def section_at(self, line: int) -> Section:
        """The section that a line belongs to (the first one for the front matter)."""
        index = bisect_right(self.sections, line, key=lambda section: section.start_line)
        return self.sections[max(0, index - 1)]

    def find_section(self, title: str) -> Section | None:
        """The first section with this plain title: level 2 before other levels, exact case before any case."""
        wanted = plain_heading(title)
        for same in (wanted.__eq__, lambda found: found.casefold() == wanted.casefold()):
            fits = [section for section in self.sections if section.level and same(section.title)]
            if fits:
                return next((section for section in fits if section.level == 2), fits[0])
        return None

    @property
    def top(self) -> Section:
        """What stands under no heading, or, if no bullet does, under the title that the note begins with."""
        first, *others = self.sections
        if first.level > 1:
            return Section((), 0, self.body_line - 1, self.body_line - 1, self.body_line)
        titled = bool(others) and others[0].level == 1 and not any(b.line <= first.end_line for b in self.bullets)
        return others[0] if titled and not first.level else first

    def place(self, title: str) -> Section | None:
        """Where a line under this heading goes: :meth:`find_section`, or :attr:`top` for an empty one."""
        return self.find_section(title) if title else self.top

    def ending(self, line: int) -> bytes:
        r"""The line ending to give to a line put next to ``line``: its own, else a neighbour's, else ``\n``."""
        for number in (*range(line, max(0, line - 3), -1), *range(line + 1, min(line + 3, len(self.lines)) + 1)):
            _, end, after = self.lines[number - 1]
            if after > end:
                return self.data[end:after]
        return b"\n"

    def _front_matter_lines(self) -> tuple[int, int] | None:
        first = self.lines[0]
        if len(self.lines) < 2 or self.data[first.start : first.end].rstrip(b" \t") != b"---":
            return None
        if not self.data.startswith(b"---", first.start):
            return None
        for number in range(2, len(self.lines) + 1):
            start, end, _ = self.lines[number - 1]
            if self.data.startswith(b"---", start) and self.data[start:end].rstrip(b" \t") == b"---":
                return 1, number
        return None

    @cached_property
    def _tokens(self) -> Sequence[Token]:
        first = self.body_line
        start = self.lines[first - 1].start if first <= len(self.lines) else len(self.data)
        text = self.data[start:].decode("utf-8", "surrogateescape")
        return _by_lines(text) if self._quick else _tokens(text)

    def _told(self) -> _Shape:
        tokens = self._tokens
        blocks, open_line = [], None
        for block, is_left_open in self._blocks(tokens):
            blocks.append(block)
            open_line = block.start_line if is_left_open else open_line
        bullets = () if self._quick else tuple(self._bullets(tokens))  # few of those who are in a hurry ask for them
        by_lines = type(tokens) is not list  # the parser's own are a plain one
        if not self._quick:
            del self._tokens  # they take five times as much memory as all the rest
        return _Shape(tuple(blocks), bullets, tuple(self._sections(tokens)), open_line, by_lines)

    def _end(self, line_map: list[int], first: int) -> int:
        """Last line of a token without the blank lines that trail it."""
        start, last = line_map[0] + first, min(line_map[1] + first - 1, len(self.lines))
        while last > start and self.is_blank(last):
            last -= 1
        return last

    def _blocks(self, tokens: Sequence[Token]) -> Iterator[tuple[Block, bool]]:
        """The blocks, and of each whether it is never closed."""
        first = self.body_line
        for token in tokens:
            level = 1 if token.type == "list_item_open" else 0
            if token.level != level or not token.map or token.type not in _KINDS:
                continue
            start = token.map[0] + first
            block = Block(_KINDS[token.type], start, self._end(token.map, first))
            yield block, _is_open(token, self.text(token.map[1] + first - 1))

    def _bullets(self, tokens: Sequence[Token], *, numbered: bool = False) -> Iterator[Bullet]:
        marks, begins = ("-*+.)", _ITEM) if numbered else ("-*+", _BULLET)
        first = self.body_line
        quotes = lists = last = 0
        for index, token in enumerate(tokens):
            kind = token.type
            if kind == "blockquote_open":
                quotes += 1
            elif kind == "blockquote_close":
                quotes -= 1
            elif kind in ("bullet_list_open", "ordered_list_open"):
                lists += 1
            elif kind in ("bullet_list_close", "ordered_list_close"):
                lists -= 1
            elif kind == "list_item_open" and token.markup in marks and not quotes and token.map:
                line = token.map[0] + first
                start, end, _ = self.lines[line - 1]
                mark = begins.match(self.data[start:end])
                if line == last or not mark:
                    continue  # a bullet inside another item's first line has no line of its own
                last = line
                child = tokens[index + 1]
                own = line
                worded = child.type == "paragraph_open" and child.map is not None and child.map[0] + first == line
                if worded and child.map:
                    own = child.map[1] + first - 1
                    end = self.lines[own - 1].end
                yield Bullet(
                    line, own, max(own, self._end(token.map, first)), start + mark.end(), end, lists - 1, worded
                )

    def _sections(self, tokens: Sequence[Token]) -> Iterator[Section]:
        first = self.body_line
        headings = [
            (int(token.tag[1]), token.map[0] + first, token.map[1] + first, plain_heading(tokens[index + 1].content))
            for index, token in enumerate(tokens)
            if token.type == "heading_open" and token.level == 0 and token.map
        ]
        last = self.last_line
        path: list[tuple[int, str]] = []
        if not headings or headings[0][1] > first:
            yield Section((), 0, first, max(first - 1, headings[0][1] - 1 if headings else last), first)
        for index, (level, start, body, title) in enumerate(headings):
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, title))
            end = headings[index + 1][1] - 1 if index + 1 < len(headings) else last
            yield Section(tuple(name for _, name in path), level, start, end, body)


_BULLET = re.compile(rb"[ \t]*[-*+]([ \t]+|$)")
_ITEM = re.compile(rb"[ \t]*(?:[-*+]|\d{1,9}[.)])([ \t]+|$)")

_KINDS = {
    "paragraph_open": "paragraph",
    "list_item_open": "item",
    "blockquote_open": "quote",
    "table_open": "table",
    "heading_open": "heading",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "comment": "comment",
    "math": "math",
}


def newline_of(data: bytes) -> bytes:
    """The note's own line ending: the last one in it; a new note gets LF."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r"))
    if end < 0:
        return b"\n"
    if data[end : end + 1] == b"\r":
        return b"\r"
    return b"\r\n" if data[end - 1 : end] == b"\r" else b"\n"


def apply(data: bytes, splices: Iterable[Splice]) -> bytes:
    """The note with all splices made; they must be in order and must not overlap. Every other byte stays."""
    parts: list[bytes] = []
    at = 0
    for start, end, new in splices:
        if not at <= start <= end <= len(data):
            raise ValueError(f"splice {start}:{end} overlaps another one or leaves the note")
        parts += (data[at:start], new)
        at = end
    return b"".join((*parts, data[at:]))


def line_of(data: bytes, offset: int) -> int:
    """The 1-based line that holds the byte at ``offset``, without parsing the note."""
    return len(re.findall(rb"\r\n|\r|\n", data[:offset])) + 1


_WIKI_LINK = re.compile(r"!?\[\[([^\]]*)(\]\]?)?")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)(?:\](?:\([^)]*(\))?)?)?")
"""Links, and whatever began like one and is none: taken whole, for no link begins within it."""
_UNDERSCORES = re.compile(
    r"(?<![\w\\])_+(?=[^\s_])|(?<![\w\\])__+|(?<=[^\s\\_])_+(?!\w)|(?<=\\_)_+(?!\w)"  # each begins at its run's first
)


_MARKED = re.compile(r"[\[*~=`_\\]")
"""One of these is in every heading that holds more than words."""


def wiki_words(text: str) -> str:
    """The text with the words of its wiki links in their place."""

    def words(found: re.Match[str]) -> str:
        if found[2] != "]]":
            return found[0]
        target, bar, label = found[1].partition("|")
        return label if bar else target

    return _WIKI_LINK.sub(words, text) if "[[" in text else text


def plain_heading(text: str) -> str:
    """The words of a heading without link, emphasis, code and escape marks, spaces collapsed."""
    if not _MARKED.search(text):
        return " ".join(text.split())
    text = _MARKDOWN_LINK.sub(lambda found: found[1] if found[2] else found[0], wiki_words(text))
    text = re.sub(r"(?<!\\)(\*+|~~|==|`+)", "", text)
    text = _UNDERSCORES.sub("", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(text.split())


def _lines(data: bytes) -> list[Extent]:
    start = len(BOM) if data.startswith(BOM) else 0
    lines: list[Extent] = []
    if b"\r" not in data:  # half the time of the pattern
        for line in data[start:].split(b"\n"):
            end = start + len(line)
            lines.append(Extent(start, end, end + 1))
            start = end + 1
        lines[-1] = lines[-1]._replace(next=len(data))
        return lines
    for match in re.finditer(rb"\r\n|\r|\n", data):
        end, after = match.span()
        lines.append(Extent(start, end, after))
        start = after
    lines.append(Extent(start, len(data), len(data)))
    return lines


# -- the block parser: markdown-it's CommonMark with tables, plus what only Obsidian hides. Inline marks are never
# parsed: bullets, sections and blocks need lines alone, at a third of the cost.


MAX_NESTING = 100
"""Containers deeper than this are read by lines: markdown-it would leave all that follows unparsed, whatever it is. Its
own limit of 20 hides bullets that people do write."""

MOST_LINES = 5_000
"""Lines up to which the parser is asked, at about 60 µs a line; a longer text is read by lines, at about 6 µs each."""

_DEEP = re.compile(r"^(?:[ \t]{100}|\t{50})[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
"""A bullet so far to the right that the parser need not be asked: it would take each of its blanks by itself."""

_HTML_CLOSERS = (
    (r"<(?:script|pre|style|textarea)(?=\s|>|$)", r"</(?:script|pre|style|textarea)>"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<![A-Za-z]", r">"),
)
"""CommonMark's HTML blocks 1 to 5: how each opens, and what alone closes it."""


REMEMBERED = 200_000
"""Bytes up to which what a note's shape is is remembered; it takes some ten times as much memory."""

_remembered = lru_cache(maxsize=24)(Document._told)
"""By a note's bytes its shape. A command looks at each state of a note several times, in several rooms."""

_BARE = re.compile(r"(?:#{1,6} [^\r\n\0]*\n|<!--(?!-?>)(?:[^\r\0-]|-(?!->))*-->[ \t]*\n|\n)*")
"""A text of headings, comments and blank lines, as a new note is: there is nothing for the parser to find out."""


def _tokens(text: str) -> Sequence[Token]:
    """Block tokens of a note's text (front matter and byte order mark already taken off)."""
    extended = "%%" in text or "$$" in text
    if not extended and _BARE.fullmatch(text):
        return list(_by_lines(text))
    if text.count("\n") + text.count("\r") <= MOST_LINES and not _DEEP.search(text):
        tokens = _parser(extended).parse(text)
        if not any(token.level >= MAX_NESTING - 1 for token in tokens):
            return tokens
    return _by_lines(text)


def _by_lines(text: str) -> Sequence[Token]:
    """The same, each line judged by how it begins and by what is open above it."""
    from tars_memory.vault.markdown.bylines import ByLines

    return ByLines(text).tokens if text else []


def _is_open(token: Token, last_line: str) -> bool:
    """Whether a top-level block swallows whatever is appended to the note, however many blank lines come between.

    Args:
        token: the block; only a fence, a comment or an HTML block that ends at a closing tag can be open.
        last_line: text of the last line that the token spans.
    """
    if token.type == "fence":
        mark = re.escape(token.markup[0]) + "{" + str(len(token.markup)) + ",}"
        spans = token.map is not None and token.map[1] - token.map[0] > 1
        return not (spans and re.fullmatch(r"[ ]{0,3}" + mark + r"[ \t]*", last_line))
    if token.type == "html_block":
        for opener, closer in _HTML_CLOSERS:
            if re.match(r"[ ]{0,3}" + opener, token.content, re.IGNORECASE):
                return not re.search(closer, token.content, re.IGNORECASE)
    return token.type == "comment" and bool(token.meta["open"])


@cache
def _parser(extended: bool) -> MarkdownIt:
    """The block parser; ``extended`` adds Obsidian's comments and formulas, which plain notes need not pay for."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline", True)
    if extended:
        ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
        parser.block.ruler.before("table", "obsidian", _obsidian, ends)
    return parser


def _obsidian(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Block rule for what only Obsidian hides: ``%%`` comments over several lines, and ``$$`` formulas.

    A ``%%`` at the start of a line opens a comment up to the next ``%%``, at top level up to the end of the note if
    there is none. A lone ``%%`` within a line opens one only if it is closed before the next blank line; else it is
    text, as is ``$$`` that is never closed.
    """
    start = state.bMarks[first] + state.tShift[first]
    line = state.src[start : state.eMarks[first]]
    mark = "$$" if line.startswith("$$") else "%%"
    if mark not in line or state.is_code_block(first) or line.startswith(("```", "~~~", "<")):
        return False
    if len(re.findall(r"(?<!\\)" + re.escape(mark), re.sub(r"`[^`]*`", "", line))) % 2 == 0:
        return False
    leading = line.startswith(mark)
    outside = state.sCount[first] < state.blkIndent  # of the list item whose text it would otherwise continue
    indent = 0 if outside else state.blkIndent
    number, closed = first + 1, False
    while number < end and not closed:
        if not state.isEmpty(number) and state.sCount[number] < indent:
            break
        if state.isEmpty(number) and not leading:
            break
        closed = mark in state.src[state.bMarks[number] : state.eMarks[number]]
        number += 1
    inside = not outside and (state.level or state.blkIndent)
    if not closed and (mark == "$$" or not leading or inside):
        return False
    if not silent:
        token = state.push("comment" if mark == "%%" else "math", "", 0)
        token.map = [first, number]
        token.meta = {"open": not closed}
        state.line = number
    return True


# --- front matter: the YAML block at the start of a note, read for search and never written back
#
# It is outside text, so it is read from parser events alone: nothing recurses, no type is guessed (a date stays the
# text that the person wrote, ``no`` stays ``no``), no object is made, and its size and depth are capped.


MAX_CHARACTERS = 64_000
"""More than this is data, not properties."""

MAX_DEPTH = 8
"""Obsidian's own properties are two levels deep."""


DATES = (
    *("date", "created", "datecreated", "createddate", "creationdate", "createdat", "createdon", "createdtime"),
    *("creationtime", "timecreated", "dateadded", "ctime", "timestamp", "day"),
    *("published", "datepublished", "publisheddate", "publishdate", "publishedat", "publishedon", "pubdate"),
    *("datum", "erstellt", "fecha", "creado", "criado", "creato", "créé", "日期", "创建日期", "创建时间", "作成日"),
    *("updated", "dateupdated", "updateddate", "updatedat", "updatedon", "lastupdated", "lastupdate"),
    *("modified", "datemodified", "modifieddate", "modificationdate", "modifiedat", "lastmodified", "lastmod"),
    *("dateedited", "lastedited", "mtime"),
)
"""The properties that say of what day a note is, in this order: what Obsidian's plugins (Linter, Templater, Update time
on edit) and other programs write, made before changed. Case, blanks, hyphens and underscores in a key don't count."""

_MONTHS = [name[:3].lower() for name in MONTHS]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,7}}"
_DAYS = (
    r"(?<!\d)(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)",
    r"^(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?:T?\d{4,6})?$",
    rf"(?i)\b{_MONTH}\.?[ ]{{1,4}}(?P<day>\d\d?)(?:st|nd|rd|th)?,?[ ]{{1,4}}(?P<year>\d{{4}})(?!\d)",
    rf"(?i)(?<!\d)(?P<day>\d\d?)(?:st|nd|rd|th|\.)?[ ]{{1,4}}(?:of )?{_MONTH}\.?,?[ ]{{1,4}}(?P<year>\d{{4}})(?!\d)",
    r"(?<!\d)(?P<day>\d\d?)\.[ ]?(?P<month>\d\d?)\.[ ]?(?P<year>\d{4})(?!\d)",
)
"""``2026-03-01``, with a time or in a link, ``20260301``, ``Sunday, March 1st 2026``, ``1 March 2026``, ``1.3.2026``.
What could be two days (``03/01/2026``) is none."""
_LONGEST_DATE = 200
"""Characters of a property in which a date is looked for."""


def front_day(values: dict[str, Any]) -> date | None:
    """The day that the properties say the note is of, as it is written: the first of :data:`DATES` with a date."""
    blank = str.maketrans("_-", "  ")
    said = {"".join(key.translate(blank).split()).casefold(): value for key, value in reversed(values.items())}
    for name in DATES:
        for text in _texts(said.get(name)):
            if (found := _day_in(text[:_LONGEST_DATE])) is not None:
                return found
    return None


def _texts(value: object) -> Iterator[str]:
    """A property's texts; ``[[2026-03-01]]`` without quotes is a list in a list to YAML."""
    if isinstance(value, str):
        yield value.strip()
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)


def _day_in(text: str) -> date | None:
    for pattern in _DAYS:
        for found in re.finditer(pattern, text):
            month = found["month"].lower()
            number = int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
            try:
                return date(int(found["year"]), number, int(found["day"]))
            except ValueError:
                continue  # no calendar has it
    return None


def read_front(text: str) -> dict[str, Any]:
    """The mapping in a YAML text: scalars as ``str``, lists as ``list``, mappings as ``dict``.

    Returns:
        An empty dict for anything that is not one plain mapping: broken YAML, aliases, too long, too deep.
    """
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return {}
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        value = _build(yaml.parse(text.encode("utf-8", "replace").decode("utf-8"), Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def front_strings(value: object) -> tuple[str, ...]:
    """A property as a tuple of texts: a list's texts, or one text alone; blank ones left out."""
    values = value if isinstance(value, list) else [value]
    return tuple(item.strip() for item in values if isinstance(item, str) and item.strip())


def front_tags(values: dict[str, Any]) -> tuple[str, ...]:
    """The note's tags, without ``#``, each once: from ``tags`` or ``tag``, as a list or parted by commas or blanks."""
    found = (
        part for key in ("tags", "tag") for item in front_strings(values.get(key)) for part in re.split(r"[,\s]+", item)
    )
    return tuple(dict.fromkeys(part.lstrip("#") for part in found if part.lstrip("#")))


def front_aliases(values: dict[str, Any]) -> tuple[str, ...]:
    """Other names of the note: from ``aliases`` or ``alias``, as a list or parted by commas."""
    found: list[str] = []
    for key in ("aliases", "alias"):
        value = values.get(key)
        found += front_strings(value.split(",") if isinstance(value, str) else value)
    return tuple(dict.fromkeys(found))


def _build(events: Iterable[Any]) -> object:
    """The first document's value from parser events.

    Raises:
        ValueError: it holds an alias or is deeper than :data:`MAX_DEPTH`.
    """
    root: list[Any] = []
    stack: list[tuple[Any, list[Any]]] = [(root, root)]
    for event in events:
        name = type(event).__name__
        if name == "AliasEvent":
            raise ValueError("aliases are not followed")
        if name in ("MappingEndEvent", "SequenceEndEvent"):
            container, items = stack.pop()
            if name == "MappingEndEvent":
                container.update((key, value) for key, value in zip(items[::2], items[1::2], strict=False) if _key(key))
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            if len(stack) > MAX_DEPTH:
                raise ValueError("too deep")
            items = []
            container = {} if name == "MappingStartEvent" else items
            stack[-1][1].append(container)
            stack.append((container, items))
        elif name == "ScalarEvent":
            stack[-1][1].append(event.value)
        elif name == "DocumentEndEvent":
            break
    return root[0] if root else None


def _key(key: object) -> bool:
    return isinstance(key, str)
