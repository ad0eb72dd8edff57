r"""A note as bytes and as structure: lines, front matter, sections, blocks, bullets.

Nothing is ever serialised from this structure: it only locates things, so that an edit can splice the bytes of exactly
the lines it names. The structure comes from markdown-it's block tokens (CommonMark and tables), plus Obsidian's
additions: front matter, ``%%`` comments and ``$$`` formulas.

Lines end at ``\r\n``, ``\r`` or ``\n`` only and are counted from 1, as editors do; a final line ending is followed
by one more, empty line.
"""

from __future__ import annotations

import re
import unicodedata
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
    """A heading and the lines directly under it, up to the next heading of any level.

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
    """A top-level block; each item of a top-level list is a block of its own.

    ``kind`` is heading, paragraph, item, table, fence, code, html, quote, rule, comment or math. Trailing blank lines
    are not part of the block.
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
    """The parsed structure of a note; see :class:`Document`."""

    blocks: tuple[Block, ...]
    bullets: tuple[Bullet, ...]
    sections: tuple[Section, ...]
    open_line: int | None
    by_lines: bool


class Document:
    """The structure of one note's bytes. Any bytes are a document, and a document never changes.

    Lines and front matter are found at once; the rest is parsed on first use, and the structures of the last few texts
    are cached.

    Attributes:
        data: the bytes, as given.
        lines: the :class:`Extent` of every line; line 1 starts after a byte order mark.
        front_matter_lines: first and last line of the YAML block with its fences, or None.
        body_line: the first line after the front matter.
        sections: the sections, in order; each line after the front matter is in exactly one.
        blocks: the top-level blocks, in order; link definitions and blank lines belong to none.
        open_line: the line of a fence or comment that is never closed, or None; the rest of the note is inside it.
        by_lines: whether the note was read line by line: as asked, or because it is too long or nested too deep.

    Args:
        data: the bytes.
        by_lines: read the note line by line, in a fifth of the time, for callers that need only blocks, sections and
            bullets.
    """

    def __init__(self, data: bytes, *, by_lines: bool = False) -> None:
        self.data = data
        self.lines: Sequence[Extent] = _lines(data)
        self.front_matter_lines = self._front_matter_lines()
        self.body_line = self.front_matter_lines[1] + 1 if self.front_matter_lines else 1
        self._line_by_line = by_lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and (self.data, self._line_by_line) == (other.data, other._line_by_line)

    def __hash__(self) -> int:
        return hash(self.data)

    @cached_property
    def _shape(self) -> _Shape:
        """The parsed structure, from a cache."""
        if self._line_by_line:
            return self._parse()
        return _large_shape(self) if len(self.data) > MAX_CACHED_BYTES else _cached_shape(self)

    @property
    def blocks(self) -> tuple[Block, ...]:  # noqa: D102 - see the class
        return self._shape.blocks

    @cached_property
    def bullets(self) -> tuple[Bullet, ...]:
        """The bullets, in order of their lines."""
        return tuple(self._bullets(self._tokens)) if self._line_by_line else self._shape.bullets

    @cached_property
    def items(self) -> tuple[Bullet, ...]:
        """The bullets and the numbered list items, in order of their lines."""
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
        """The values of the YAML block, scalars as text; empty if there is no block or it can't be read."""
        if not self.front_matter_lines or self.front_matter_lines[1] < 3:
            return {}
        return read_front(self.text(2, self.front_matter_lines[1] - 1))

    def line_at(self, offset: int) -> int:
        """Return the line, from 1, that holds the byte at ``offset``; a line ending belongs to the line it ends."""
        return max(1, bisect_right(self.lines, offset, key=lambda line: line.start))

    def text(self, first: int, last: int | None = None) -> str:
        """Return lines ``first`` to ``last`` (inclusive; one line if omitted) as text, without the final line ending.

        Bytes that are not UTF-8 become lone surrogates, so that encoding with ``surrogateescape`` gives them back.
        """
        start, end = self.lines[first - 1].start, self.lines[(last or first) - 1].end
        return self.data[start:end].decode("utf-8", "surrogateescape")

    def is_blank(self, line: int) -> bool:
        """Whether the line has nothing but spaces and tabs."""
        start, end, _ = self.lines[line - 1]
        return not self.data[start:end].strip(b" \t")

    @property
    def last_line(self) -> int:
        """The last line of the note, not counting the empty one after a final line ending."""
        last = self.lines[-1]
        return len(self.lines) - (1 if len(self.lines) > 1 and last.start == last.end else 0)

    def section_at(self, line: int) -> Section:
        """Return the section that a line belongs to; the first one for the front matter."""
        index = bisect_right(self.sections, line, key=lambda section: section.start_line)
        return self.sections[max(0, index - 1)]

    def find_section(self, title: str) -> Section | None:
        """Return the first section with this plain title: exact case before any case, level 2 before other levels."""
        wanted = plain_heading(title)
        for matches in (wanted.__eq__, lambda found: caseless(found) == caseless(wanted)):
            sections = [section for section in self.sections if section.level and matches(section.title)]
            if sections:
                return next((section for section in sections if section.level == 2), sections[0])
        return None

    @property
    def top(self) -> Section:
        """The section before the first heading; if it has no bullet, the section under the note's title."""
        first, *others = self.sections
        if first.level > 1:
            return Section((), 0, self.body_line - 1, self.body_line - 1, self.body_line)
        titled = bool(others) and others[0].level == 1 and not any(b.line <= first.end_line for b in self.bullets)
        return others[0] if titled and not first.level else first

    def place(self, title: str) -> Section | None:
        """Return the section for a line under this heading: :meth:`find_section`, or :attr:`top` if it is empty."""
        return self.find_section(title) if title else self.top

    def ending(self, line: int) -> bytes:
        r"""Return the ending for a new line next to ``line``: that of ``line``, else of a near line, else ``\n``."""
        for number in (*range(line, max(0, line - 3), -1), *range(line + 1, min(line + 3, len(self.lines)) + 1)):
            _, end, after = self.lines[number - 1]
            if after > end:
                return self.data[end:after]
        return b"\n"

    def _front_matter_lines(self) -> tuple[int, int] | None:
        """Find the YAML block: between a first line ``---`` and the next line ``---``."""
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
        """The block tokens below the front matter; their lines count from 0 there."""
        first = self.body_line
        start = self.lines[first - 1].start if first <= len(self.lines) else len(self.data)
        text = self.data[start:].decode("utf-8", "surrogateescape")
        return _by_lines(text) if self._line_by_line else _tokens(text)

    def _parse(self) -> _Shape:
        """Parse the note, without the cache."""
        tokens = self._tokens
        blocks, open_line = [], None
        for block, is_left_open in self._blocks(tokens):
            blocks.append(block)
            open_line = block.start_line if is_left_open else open_line
        bullets = () if self._line_by_line else tuple(self._bullets(tokens))  # else found on first use: few callers ask
        by_lines = type(tokens) is not list  # the parser returns a plain list, ByLines another sequence
        if not self._line_by_line:
            del self._tokens  # they take five times as much memory as everything else
        return _Shape(tuple(blocks), bullets, tuple(self._sections(tokens)), open_line, by_lines)

    def _end_line(self, line_map: list[int], first: int) -> int:
        """Return the last line of a token, without trailing blank lines."""
        start, last = line_map[0] + first, min(line_map[1] + first - 1, len(self.lines))
        while last > start and self.is_blank(last):
            last -= 1
        return last

    def _blocks(self, tokens: Sequence[Token]) -> Iterator[tuple[Block, bool]]:
        """Yield the top-level blocks, each with whether it is never closed."""
        first = self.body_line
        for token in tokens:
            level = 1 if token.type == "list_item_open" else 0
            if token.level != level or not token.map or token.type not in _KINDS:
                continue
            start = token.map[0] + first
            block = Block(_KINDS[token.type], start, self._end_line(token.map, first))
            yield block, _is_open(token, self.text(token.map[1] + first - 1))

    def _bullets(self, tokens: Sequence[Token], *, numbered: bool = False) -> Iterator[Bullet]:
        """Yield the bullets outside quotes; with ``numbered`` the numbered items too."""
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
                    line, own, max(own, self._end_line(token.map, first)), start + mark.end(), end, lists - 1, worded
                )

    def _sections(self, tokens: Sequence[Token]) -> Iterator[Section]:
        """Yield the sections in order, the one before the first heading included unless it is empty."""
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
    """Return the line ending of a note: its last one; LF for a note without any."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r"))
    if end < 0:
        return b"\n"
    if data[end : end + 1] == b"\r":
        return b"\r"
    return b"\r\n" if data[end - 1 : end] == b"\r" else b"\n"


def apply(data: bytes, splices: Iterable[Splice]) -> bytes:
    """Apply splices to a note; every other byte stays.

    Raises:
        ValueError: the splices are out of order, overlap, or reach beyond the note.
    """
    parts: list[bytes] = []
    at = 0
    for start, end, new in splices:
        if not at <= start <= end <= len(data):
            raise ValueError(f"splice {start}:{end} overlaps another one or leaves the note")
        parts += (data[at:start], new)
        at = end
    return b"".join((*parts, data[at:]))


def line_of(data: bytes, offset: int) -> int:
    """Return the line, from 1, that holds the byte at ``offset``, without parsing the note."""
    return len(re.findall(rb"\r\n|\r|\n", data[:offset])) + 1


_WIKI_LINK = re.compile(r"!?\[\[([^\]]*)(\]\]?)?")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)(?:\](?:\([^)]*(\))?)?)?")
"""Links, and text that begins like a link but isn't one: matched whole, because no link begins within it."""
_UNDERSCORES = re.compile(
    r"(?<![\w\\])_+(?=[^\s_])|(?<![\w\\])__+|(?<=[^\s\\_])_+(?!\w)|(?<=\\_)_+(?!\w)"  # each begins at its run's first
)


_MARKED = re.compile(r"[\[*~=`_\\]")
"""Every heading with more than plain words has one of these characters."""


def wiki_words(text: str) -> str:
    """Replace every wiki link by its label, or by its target if it has none."""

    def words(found: re.Match[str]) -> str:
        if found[2] != "]]":
            return found[0]
        target, bar, label = found[1].partition("|")
        return label if bar else target

    return _WIKI_LINK.sub(words, text) if "[[" in text else text


def caseless(text: str) -> str:
    """Fold a text for comparison: no case, and composed letters (NFC), for a Mac may decompose them."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).casefold()


def plain_heading(text: str) -> str:
    """Return the words of a heading without link, emphasis, code and escape marks, with spaces collapsed."""
    if not _MARKED.search(text):
        return " ".join(text.split())
    text = _MARKDOWN_LINK.sub(lambda found: found[1] if found[2] else found[0], wiki_words(text))
    text = re.sub(r"(?<!\\)(\*+|~~|==|`+)", "", text)
    text = _UNDERSCORES.sub("", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(text.split())


def _lines(data: bytes) -> list[Extent]:
    """Return the extent of every line."""
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


# -- the block parser: markdown-it's CommonMark with tables, plus Obsidian's comments and formulas. Inline marks are
# never parsed: bullets, sections and blocks need only lines, at a third of the cost.


MAX_NESTING = 100
"""Maximum nesting of containers; deeper notes are read by lines, because markdown-it would leave everything below
unparsed. Its default limit of 20 hides bullets that people do write."""

MAX_PARSED_LINES = 5_000
"""Maximum number of lines for the parser, at about 60 µs per line; longer texts are read by lines, at about 6 µs."""

_DEEP = re.compile(r"^(?:[ \t]{100}|\t{50})[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
"""A bullet indented so far that the text is read by lines: the parser would go through its blanks one by one."""

_HTML_CLOSERS = (
    (r"<(?:script|pre|style|textarea)(?=\s|>|$)", r"</(?:script|pre|style|textarea)>"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<![A-Za-z]", r">"),
)
"""CommonMark's HTML blocks 1 to 5: the pattern that opens each, and the only one that closes it."""


MAX_CACHED_BYTES = 200_000
"""Maximum size in bytes of a note whose structure is one of two dozen in the cache; of larger ones, the last one is:
the structure takes about ten times as much memory."""

_cached_shape = lru_cache(maxsize=24)(Document._parse)
_large_shape = lru_cache(maxsize=1)(Document._parse)
"""The structure of a document, by its bytes. A command reads each state of a note several times, in several rooms."""

_BARE = re.compile(r"(?:#{1,6} [^\r\n\0]*\n|<!--(?!-?>)(?:[^\r\0-]|-(?!->))*-->[ \t]*\n|\n)*")
"""A text of headings, comments and blank lines, like a new note: it needs no parser."""


def _tokens(text: str) -> Sequence[Token]:
    """Return the block tokens of a note's text, without front matter and byte order mark."""
    extended = "%%" in text or "$$" in text
    if not extended and _BARE.fullmatch(text):
        return list(_by_lines(text))
    if text.count("\n") + text.count("\r") <= MAX_PARSED_LINES and not _DEEP.search(text):
        tokens = _parser(extended).parse(text)
        if not any(token.level >= MAX_NESTING - 1 for token in tokens):
            return tokens
    return _by_lines(text)


def _by_lines(text: str) -> Sequence[Token]:
    """Return block tokens like :func:`_tokens`, judging each line by its beginning and the blocks open above it."""
    from tars_memory.vault.markdown.bylines import ByLines

    return ByLines(text).tokens if text else []


def _is_open(token: Token, last_line: str) -> bool:
    """Whether a top-level block would contain anything appended to the note, even after blank lines.

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
    """Return the block parser; ``extended`` adds Obsidian's comments and formulas, at a cost that plain notes avoid."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table").disable("inline", True)
    if extended:
        ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
        parser.block.ruler.before("table", "obsidian", _obsidian, ends)
    return parser


def _obsidian(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Match Obsidian's ``%%`` comments over several lines and ``$$`` formulas (a block rule of markdown-it).

    A ``%%`` at the start of a line opens a comment up to the next ``%%``; at top level, if there is none, up to the end
    of the note. A lone ``%%`` within a line opens one only if it is closed before the next blank line. Otherwise it is
    text, as is a ``$$`` that is never closed.
    """
    start = state.bMarks[first] + state.tShift[first]
    line = state.src[start : state.eMarks[first]]
    mark = "$$" if line.startswith("$$") else "%%"
    if mark not in line or state.is_code_block(first) or line.startswith(("```", "~~~", "<")):
        return False
    if len(re.findall(r"(?<!\\)" + re.escape(mark), re.sub(r"`[^`]*`", "", line))) % 2 == 0:
        return False
    leading = line.startswith(mark)
    outside = state.sCount[first] < state.blkIndent  # of the list item that the line would otherwise continue
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
# It is untrusted text, so it is read from parser events only: nothing recurses, no type is guessed (a date stays the
# text that the person wrote, ``no`` stays ``no``), no object is constructed, and size and depth are capped.


MAX_CHARACTERS = 64_000
"""Maximum length of front matter in characters; anything longer is data, not properties."""

MAX_DEPTH = 8
"""Maximum nesting of front matter. Obsidian's own properties are two levels deep."""


DATES = (
    *("date", "created", "datecreated", "createddate", "creationdate", "createdat", "createdon", "createdtime"),
    *("creationtime", "timecreated", "dateadded", "ctime", "timestamp", "day"),
    *("published", "datepublished", "publisheddate", "publishdate", "publishedat", "publishedon", "pubdate"),
    *("datum", "erstellt", "fecha", "creado", "criado", "creato", "créé", "日期", "创建日期", "创建时间", "作成日"),
    *("updated", "dateupdated", "updateddate", "updatedat", "updatedon", "lastupdated", "lastupdate"),
    *("modified", "datemodified", "modifieddate", "modificationdate", "modifiedat", "lastmodified", "lastmod"),
    *("dateedited", "lastedited", "mtime"),
)
"""Properties that date a note, in order of precedence: those that Obsidian's plugins (Linter, Templater, Update time on
edit) and other programs write, creation before modification. Case, blanks, hyphens and underscores don't count."""

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
An ambiguous date (``03/01/2026``) doesn't match."""
_MAX_DATE_LENGTH = 200
"""Number of characters of a property that are searched for a date."""


def front_day(values: dict[str, Any]) -> date | None:
    """Return the date of a note by its properties, as it is written: the first of :data:`DATES` that has a date."""
    blank = str.maketrans("_-", "  ")
    by_name = {"".join(key.translate(blank).split()).casefold(): value for key, value in reversed(values.items())}
    for name in DATES:
        for text in _property_texts(by_name.get(name)):
            if (found := _date_in(text[:_MAX_DATE_LENGTH])) is not None:
                return found
    return None


def _property_texts(value: object) -> Iterator[str]:
    """Yield the texts of a property; ``[[2026-03-01]]`` without quotes is a list in a list to YAML."""
    if isinstance(value, str):
        yield value.strip()
    for item in value if isinstance(value, list) else ():
        yield from _property_texts(item)


def _date_in(text: str) -> date | None:
    """Return the first date in a text."""
    for pattern in _DAYS:
        for found in re.finditer(pattern, text):
            month = found["month"].lower()
            number = int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
            try:
                return date(int(found["year"]), number, int(found["day"]))
            except ValueError:
                continue  # no such day
    return None


def read_front(text: str) -> dict[str, Any]:
    """Read the mapping in a YAML text: scalars as ``str``, lists as ``list``, mappings as ``dict``.

    Returns:
        The mapping; empty for anything but one plain mapping: broken YAML, aliases, too long, too deep.
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
    """Return a property as texts: those of a list, or a single text; blank texts are left out."""
    values = value if isinstance(value, list) else [value]
    return tuple(item.strip() for item in values if isinstance(item, str) and item.strip())


def front_tags(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the tags of a note, without ``#`` and duplicates: a list, or separated by commas or blanks.

    The properties are ``tags`` and ``tag``.
    """
    found = (
        part for key in ("tags", "tag") for item in front_strings(values.get(key)) for part in re.split(r"[,\s]+", item)
    )
    return tuple(dict.fromkeys(part.lstrip("#") for part in found if part.lstrip("#")))


def read_elsewhere(key: str, value: object) -> bool:
    """Whether a property is read as a name, tag or date of its note."""
    values = {key: value}
    return key == "title" or bool(front_tags(values) or front_aliases(values) or front_day(values))


_PAGE_PROPERTY = re.compile(r"(tags?|alias(?:es)?)::[ \t]+(\S.*)")


def page_properties(lines: Sequence[str]) -> dict[str, str]:
    """Return tags and aliases of a page of Logseq: ``tags:: a, b`` among the properties at its beginning, where a tag
    may be a link, ``[[a]]``.
    """
    found = {}
    for line in lines:
        if "::" not in line:
            break
        if match := _PAGE_PROPERTY.match(line):
            found[match[1]] = match[2].replace("[[", "").replace("]]", "")
    return found


def front_aliases(values: dict[str, Any]) -> tuple[str, ...]:
    """Return other names of a note, from ``aliases`` and ``alias``: a list, or separated by commas."""
    found: list[str] = []
    for key in ("aliases", "alias"):
        value = values.get(key)
        found += front_strings(value.split(",") if isinstance(value, str) else value)
    return tuple(dict.fromkeys(found))


def _build(events: Iterable[Any]) -> object:
    """Build the value of the first document from parser events.

    Raises:
        ValueError: the document has an alias or is nested deeper than :data:`MAX_DEPTH`.
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
                pairs = zip(items[::2], items[1::2], strict=False)
                container.update((key, value) for key, value in pairs if isinstance(key, str))
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
