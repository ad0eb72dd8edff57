"""A block parser that reads line by line, for notes that are too expensive for markdown-it: one pass, no recursion, no
look-back.

Each line is judged by its beginning and by the blocks open above it. For what people write this gives the blocks of
CommonMark: headings, lists by their indent, fences, comments, quotes, tables, lazily continued paragraphs. The content
of list items is not parsed further, and link definitions count as text.
"""

import re
from functools import lru_cache
from string import ascii_letters

from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])([ \t]+|$)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*(?::?-+:?[ \t]*)?)*$")

_TAGGED = frozenset(f"!?/{ascii_letters}")
"""Characters after the ``<`` that opens an HTML block."""

MAX_TAG_LENGTH = 1_000
"""Number of characters within which a tag alone on its line must end."""

CODE = 4
"""Minimum indent in columns of a code line outside lists."""


class _Item:
    """An open list item.

    Attributes:
        column: column at which its words begin.
        token: its block token.
        paragraph: the token of its paragraph, while lines can continue it; else None.
    """

    __slots__ = ("column", "paragraph", "token")

    def __init__(self, column: int, token: Token) -> None:
        self.column = column
        self.token = token
        self.paragraph: Token | None = None


class _Token:
    """A token with only the fields that are read; a long note has a hundred thousand tokens."""

    __slots__ = ("content", "level", "map", "markup", "meta", "tag", "type")

    def __init__(self, kind: str, level: int, lines: list[int] | None) -> None:
        self.type = kind
        self.tag = self.markup = self.content = ""
        self.level = level
        self.map = lines


class Tokens(list[Token]):
    """Block tokens, to be read like those of markdown-it."""


@lru_cache(maxsize=64)
def _without_lines(kind: str, level: int) -> _Token:
    """Return the token that opens or closes a list: two of four in a note of bullets, and all alike."""
    return _Token(kind, level, None)


class ByLines:
    """Parse a text into block tokens.

    Args:
        text: the text, without front matter.

    Attributes:
        tokens: the block tokens, in order.
    """

    def __init__(self, text: str) -> None:
        self._lines = re.split(r"\r\n|\r|\n", text)
        self._last_formula = max((n for n, line in enumerate(self._lines) if "$$" in line), default=-1)
        self._last_comment = max((n for n, line in enumerate(self._lines) if "%%" in line), default=-1)
        self.tokens = Tokens()
        self._items: list[_Item] = []
        self._block: Token | None = None  # the block that a line may continue: paragraph, quote, table or code
        self._after_blank = False
        self._lazy = True  # whether an unmarked line continues a quote
        number = 0
        while number < len(self._lines):
            number = self._take_line(number)
        self._close_items(0)

    def _take_line(self, number: int) -> int:
        """Read a line, or the whole block that it opens; return the number of the next line."""
        line = self._lines[number]
        text = line.lstrip(" \t")
        if not text:
            self._end_paragraph()
            if self._block is not None and self._block.type != "code_block":
                self._block = None
            self._after_blank = True
            return number + 1
        indent = len(line) - len(text)
        column = len(line[:indent].expandtabs(CODE)) if indent else 0
        after_blank, self._after_blank = self._after_blank, False
        inside = self._containing_items(column)
        base = self._items[inside - 1].column if inside else 0
        if column - base < CODE:
            mark = text[0]
            if mark in "`~" and (fence := _FENCE.match(text)):
                return self._take_fence(number, inside, fence[1] or fence[2])
            if mark in "-*_=" and self._take_rule_or_underline(number, text, inside):
                return number + 1
            if mark in "-*+0123456789" and (item := _ITEM.match(text)) and self._opens_item(item, text, inside):
                return self._open_item(number, column, item, text)
            if not inside and (ended := self._take_block(number, line, text)):
                return ended
            if mark == "#" and _HEADING.match(text):
                self._end_paragraph()  # a heading within an item
        return self._take_text(number, column, inside, after_blank=after_blank)

    def _containing_items(self, column: int) -> int:
        """Return how many of the open items contain a line that begins at this column."""
        count = len(self._items)
        while count and column < self._items[count - 1].column:
            count -= 1
        return count

    def _opens_item(self, item: re.Match[str], text: str, inside: int) -> bool:
        """Whether a list mark opens an item; within a paragraph it needs words after it, and a number must be 1."""
        in_paragraph = self._items[-1].paragraph is not None if self._items else self._block is not None
        if not in_paragraph or len(self._items) > inside or (self._block and self._block.type != "paragraph_open"):
            return True
        return item.end() < len(text) and (item[1] in "-*+" or item[1][:-1] == "1")

    def _open_item(self, number: int, column: int, item: re.Match[str], text: str) -> int:
        """Open a list item; return the number of the next line."""
        inside = self._containing_items(column)
        self._close_items(inside)
        start = column + len(item[1])
        gap = len((" " * start + item[2]).expandtabs(CODE)) - start
        bare = item.end() == len(text)
        kind = "bullet_list" if item[1] in "-*+" else "ordered_list"
        self._put(f"{kind}_open", 2 * inside, None)
        token = self._put("list_item_open", 2 * inside + 1, [number, number + 1])
        token.markup = item[1][-1]
        opened = _Item(start + (gap if 0 < gap <= CODE else 1), token)
        self._items.append(opened)
        if bare:
            self._put("hr", 2 * inside + 2, [number, number + 1])  # no words
            return number + 1
        rest = text[item.end() :]
        structure = _HEADING.match(rest) or _FENCE.match(rest) or _ITEM.match(rest) or rest[0] == ">" or gap > CODE
        structure = structure or (rest[0] == "<" and _html_closer(rest, interrupts=False) is not None)
        opened.paragraph = self._put("hr" if structure else "paragraph_open", 2 * inside + 2, [number, number + 1])
        if structure:
            opened.paragraph = None
            if fence := _FENCE.match(rest):
                return self._take_fence(number, inside + 1, fence[1] or fence[2])
        return number + 1

    def _take_rule_or_underline(self, number: int, text: str, inside: int) -> bool:
        """Read a line that is a rule, or underlines the paragraph above as a heading; return whether it is one."""
        paragraph = not self._items and self._block is not None and self._block.type == "paragraph_open"
        if paragraph and _UNDERLINE.match(text):
            self._turn_into_heading(number, 1 if text[0] == "=" else 2)
            return True
        if text[0] == "=" or not _RULE.match(text):
            return False
        if inside:
            self._end_paragraph()
        else:
            self._close_items(0)
            self._put("hr", 0, [number, number + 1])
        return True

    def _turn_into_heading(self, number: int, level: int) -> None:
        """Replace the open paragraph, underlined in line ``number``, by a heading."""
        block = self.tokens.pop()
        first = block.map[0] if block.map else number
        self._block = None
        title = "\n".join(line.strip(" \t") for line in self._lines[first:number])
        self._put_heading(first, number + 1, level, title)

    def _put_heading(self, first: int, after: int, level: int, title: str) -> None:
        """Add a heading from line ``first`` up to before line ``after``."""
        token = self._put("heading_open", 0, [first, after])
        token.tag = f"h{level}"
        self._put("inline", 1, [first, after]).content = title

    def _take_block(self, number: int, line: str, text: str) -> int:
        """Read a block that only a line outside lists can open; return the number of the next line, or 0."""
        mark = text[0]
        if mark == "#" and (heading := _HEADING.match(text)):
            self._close_items(0)
            title = (heading[2] or "").rstrip(" \t")
            bare = title.rstrip("#")
            title = bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title
            self._put_heading(number, number + 1, len(heading[1]), title)
            return number + 1
        if mark == "<":
            return self._take_html(number, text)
        if mark in "%$" and text[:2] in ("%%", "$$"):
            return self._take_hidden(number, text)
        if mark == ">":
            if self._block is None or self._block.type != "blockquote_open" or self._items:
                self._close_items(0)
                self._block = self._put("blockquote_open", 0, [number, number + 1])
                self._put("blockquote_close", 0, None)
            self._extend(self._block, number)
            self._lazy = bool(text[1:].strip(" \t"))
            return number + 1
        if "|" in line and self._is_table(number):
            self._close_items(0)
            self._block = self._put("table_open", 0, [number, number + 2])
            return number + 2
        return 0

    def _is_table(self, number: int) -> bool:
        """Whether a line is the head of a table: the next line is its delimiter row."""
        if number + 1 >= len(self._lines) or (self._block is not None and self._block.type == "table_open"):
            return False
        below = self._lines[number + 1].strip(" \t")
        return "|" in below and "-" in below and _DELIMITERS.match(below) is not None

    def _take_html(self, number: int, text: str) -> int:
        """Read an HTML block; return the number of the next line, or 0 if the line opens none."""
        in_paragraph = self._block is not None and self._block.type == "paragraph_open"
        closer = _html_closer(text, interrupts=in_paragraph)
        if closer is None:
            return 0
        self._close_items(0)
        end = number
        while end < len(self._lines) and not closer.search(self._lines[end]):
            end += 1
        if end < len(self._lines) and self._lines[end].strip(" \t"):
            end += 1  # the line with the closing mark is part of the block
        self._put("html_block", 0, [number, end]).content = "\n".join(self._lines[number:end])
        return end

    def _take_hidden(self, number: int, text: str) -> int:
        """Read a comment or formula over several lines; return the number of the next line, 0 if there is none."""
        mark = text[:2]
        if text.count(mark) % 2 == 0:
            return 0
        closed = (self._last_comment if mark == "%%" else self._last_formula) > number
        if not closed and mark == "$$":
            return 0
        end = number + 1
        while closed and mark not in self._lines[end]:
            end += 1
        end = end + 1 if closed else len(self._lines)
        self._close_items(0)
        token = self._put("comment" if mark == "%%" else "math", 0, [number, end])
        token.meta = {"open": not closed}
        return end

    def _take_fence(self, number: int, inside: int, mark: str) -> int:
        """Read a fence up to its closing mark; a fence in an item belongs to the item."""
        if not inside:
            self._close_items(0)
        self._end_paragraph()
        closing = re.compile(r"[ ]{0,3}" + re.escape(mark[0]) + "{" + str(min(len(mark), 65_000)) + r",}[ \t]*$")
        base = self._items[inside - 1].column if inside else 0
        end = number + 1
        while end < len(self._lines):
            line = self._lines[end]
            if base and line.strip(" \t") and len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(CODE)) < base:
                break
            end += 1
            if closing.match(line.lstrip(" \t") if base else line):
                break
        if not inside:
            self._put("fence", 0, [number, end]).markup = mark
        else:
            self._extend_item(end)
        return end

    def _take_text(self, number: int, column: int, inside: int, *, after_blank: bool) -> int:
        """Add a line to the open item or block, or begin a paragraph."""
        if self._items and (inside or (not after_blank and self._items[-1].paragraph is not None)):
            if inside < len(self._items) and after_blank:
                self._close_items(inside)
            paragraph = self._items[-1].paragraph
            if paragraph is not None:
                self._extend(paragraph, number)
            self._extend_item(number + 1)
            return number + 1
        kind = self._block.type if self._block is not None else ""
        goes_on = column >= CODE if kind == "code_block" else self._lazy or kind != "blockquote_open"
        if self._block is not None and goes_on:
            self._extend(self._block, number)
            return number + 1
        self._close_items(0)
        self._block = self._put("code_block" if column >= CODE else "paragraph_open", 0, [number, number + 1])
        return number + 1

    def _extend(self, token: Token, number: int) -> None:
        """Let a block end with this line."""
        if token.map:
            token.map[1] = number + 1

    def _extend_item(self, number: int) -> None:
        """Let the innermost open item end before this line."""
        if self._items:
            self._extend(self._items[-1].token, number - 1)

    def _end_paragraph(self) -> None:
        """Let the next line begin a new paragraph in the innermost open item."""
        if self._items:
            self._items[-1].paragraph = None

    def _close_items(self, inside: int) -> None:
        """Close the open block, and all but ``inside`` open items; an item ends with the last item in it."""
        self._block = None
        while len(self._items) > inside:
            item = self._items.pop()
            self._put("bullet_list_close", 2 * len(self._items), None)
            if self._items and item.token.map:
                self._extend(self._items[-1].token, item.token.map[1] - 1)
        self._end_paragraph()

    def _put(self, kind: str, level: int, lines: list[int] | None) -> Token:
        """Add a token; ``lines`` are its first line and the one after its last. One without lines is never changed."""
        made = _without_lines(kind, level) if lines is None else _Token(kind, level, lines)
        token: Token = made  # type: ignore[assignment]  # it has every field that is read
        self.tokens.append(token)
        return token


def _html_closer(text: str, *, interrupts: bool) -> re.Pattern[str] | None:
    """Return the pattern that closes the HTML block that a line opens; None if it opens none.

    Args:
        text: the line, from ``<`` on.
        interrupts: whether the block would interrupt a paragraph; some kinds can't.
    """
    if text[1:2] not in _TAGGED:
        return None
    for opener, closer, can_interrupt in HTML_SEQUENCES:
        if opener.search(text[:MAX_TAG_LENGTH]):
            return closer if can_interrupt or not interrupts else None
    return None
