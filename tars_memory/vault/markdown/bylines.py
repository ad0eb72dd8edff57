"""Blocks told line by line, for a note that would keep the block parser busy: one pass, no recursion, no look-back.

Each line is judged by how it begins and by what is open above it. That is CommonMark for what people write (headings,
lists by their indent, fences, comments, quotes, tables, paragraphs that go on lazily); what stands in an item is not
taken apart further, and link definitions are text.
"""

from __future__ import annotations

import re
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
"""What stands behind the ``<`` of whatever opens an HTML block."""

LOOKED_AT = 1_000
"""Characters in which a tag that stands alone on its line has to end."""

CODE = 4
"""Columns of indent from which a line outside lists is code."""


class _Item:
    """A list item that is open: where its words begin, its token, and that of its paragraph while it goes on."""

    __slots__ = ("column", "token", "words")

    def __init__(self, column: int, token: Token) -> None:
        self.column = column
        self.token = token
        self.words: Token | None = None


class _Token(Token):
    """With those fields alone that are read of a note's tokens, of which a long note has a hundred thousand."""

    __slots__ = ()

    def __init__(self, kind: str, level: int, lines: list[int] | None) -> None:
        self.type = kind
        self.tag = self.markup = self.content = ""
        self.level = level
        self.map = lines


class Tokens(list[Token]):
    """Block tokens, to be read as the parser's own."""


class ByLines:
    """A text as block tokens.

    Args:
        text: without front matter.
    """

    def __init__(self, text: str) -> None:
        self._lines = re.split(r"\r\n|\r|\n", text)
        self._last_formula = max((n for n, line in enumerate(self._lines) if "$$" in line), default=-1)
        self._last_comment = max((n for n, line in enumerate(self._lines) if "%%" in line), default=-1)
        self.tokens = Tokens()
        self._items: list[_Item] = []
        self._block: Token | None = None  # what a line may go on with: paragraph, quote, table or code
        self._blank = False
        self._lazy = True  # whether a quote goes on with a line that isn't marked
        number = 0
        while number < len(self._lines):
            number = self._read(number)
        self._close(0)

    def _read(self, number: int) -> int:
        """Take in a line, or what it opens; the number of the next one."""
        line = self._lines[number]
        words = line.lstrip(" \t")
        if not words:
            self._end_words()
            if self._block is not None and self._block.type != "code_block":
                self._block = None
            self._blank = True
            return number + 1
        indent = len(line) - len(words)
        column = len(line[:indent].expandtabs(CODE)) if indent else 0
        after, self._blank = self._blank, False
        inside = self._within(column)
        base = self._items[inside - 1].column if inside else 0
        if column - base < CODE:
            mark = words[0]
            if mark in "`~" and (fence := _FENCE.match(words)):
                return self._fence(number, inside, fence[1] or fence[2])
            if mark in "-*_=" and self._is_line_of_signs(number, words, inside):
                return number + 1
            if mark in "-*+0123456789" and (item := _ITEM.match(words)) and self._opens(item, words, inside):
                return self._item(number, column, item, words)
            if not inside and (ended := self._top(number, line, words)):
                return ended
            if mark == "#" and _HEADING.match(words):
                self._end_words()  # a heading within an item
        return self._text(number, column, inside, after=after)

    def _within(self, column: int) -> int:
        """How many of the open items a line of this column stands in."""
        count = len(self._items)
        while count and column < self._items[count - 1].column:
            count -= 1
        return count

    def _opens(self, item: re.Match[str], words: str, inside: int) -> bool:
        """Whether a mark begins an item here: a paragraph is interrupted by words alone, and by no other number."""
        going_on = self._items[-1].words is not None if self._items else self._block is not None
        if not going_on or len(self._items) > inside or (self._block and self._block.type != "paragraph_open"):
            return True
        return item.end() < len(words) and (item[1] in "-*+" or item[1][:-1] == "1")

    def _item(self, number: int, column: int, item: re.Match[str], words: str) -> int:
        inside = self._within(column)
        self._close(inside)
        gap = len(item[2].expandtabs(CODE))
        bare = item.end() == len(words)
        kind = "bullet_list" if item[1] in "-*+" else "ordered_list"
        self._put(f"{kind}_open", 2 * inside, [number, number])
        token = self._put("list_item_open", 2 * inside + 1, [number, number + 1])
        token.markup = item[1][-1]
        opened = _Item(column + len(item[1]) + (gap if 0 < gap <= CODE else 1), token)
        self._items.append(opened)
        if bare:
            self._put("hr", 2 * inside + 2, [number, number + 1])  # no words
            return number + 1
        rest = words[item.end() :]
        structure = _HEADING.match(rest) or _FENCE.match(rest) or _ITEM.match(rest) or rest[0] == ">" or gap > CODE
        structure = structure or (rest[0] == "<" and _closer(rest, interrupts=False) is not None)
        opened.words = self._put("hr" if structure else "paragraph_open", 2 * inside + 2, [number, number + 1])
        if structure:
            opened.words = None
            if fence := _FENCE.match(rest):
                return self._fence(number, inside + 1, fence[1] or fence[2])
        return number + 1

    def _is_line_of_signs(self, number: int, words: str, inside: int) -> bool:
        """Whether a line is a rule, or underlines the paragraph above as a heading."""
        paragraph = not self._items and self._block is not None and self._block.type == "paragraph_open"
        if paragraph and _UNDERLINE.match(words):
            self._underlined(number, 1 if words[0] == "=" else 2)
            return True
        if words[0] == "=" or not _RULE.match(words):
            return False
        if inside:
            self._end_words()
        else:
            self._close(0)
            self._put("hr", 0, [number, number + 1])
        return True

    def _underlined(self, number: int, level: int) -> None:
        block = self.tokens.pop()
        first = block.map[0] if block.map else number
        self._block = None
        said = "\n".join(line.strip(" \t") for line in self._lines[first:number])
        self._heading(first, number + 1, level, said)

    def _heading(self, first: int, after: int, level: int, said: str) -> None:
        token = self._put("heading_open", 0, [first, after])
        token.tag = f"h{level}"
        self._put("inline", 1, [first, after]).content = said

    def _top(self, number: int, line: str, words: str) -> int:
        """What only the start of a line outside lists can open; the number of the line behind it, 0 for nothing."""
        mark = words[0]
        if mark == "#" and (heading := _HEADING.match(words)):
            self._close(0)
            said = (heading[2] or "").rstrip(" \t")
            bare = said.rstrip("#")
            said = bare.rstrip(" \t") if not bare or bare[-1] in " \t" else said
            self._heading(number, number + 1, len(heading[1]), said)
            return number + 1
        if mark == "<":
            return self._html(number, words)
        if mark in "%$" and words[:2] in ("%%", "$$"):
            return self._hidden(number, words)
        if mark == ">":
            if self._block is None or self._block.type != "blockquote_open" or self._items:
                self._close(0)
                self._block = self._put("blockquote_open", 0, [number, number + 1])
                self._put("blockquote_close", 0, None)
            self._going_on(self._block, number)
            self._lazy = bool(words[1:].strip(" \t"))
            return number + 1
        if "|" in line and self._is_table(number):
            self._close(0)
            self._block = self._put("table_open", 0, [number, number + 2])
            return number + 2
        return 0

    def _is_table(self, number: int) -> bool:
        if number + 1 >= len(self._lines) or (self._block is not None and self._block.type == "table_open"):
            return False
        below = self._lines[number + 1].strip(" \t")
        return "|" in below and "-" in below and _DELIMITERS.match(below) is not None

    def _html(self, number: int, words: str) -> int:
        going_on = self._block is not None and self._block.type == "paragraph_open"
        closer = _closer(words, interrupts=going_on)
        if closer is None:
            return 0
        self._close(0)
        end = number
        while end < len(self._lines) and not closer.search(self._lines[end]):
            end += 1
        if end < len(self._lines) and self._lines[end].strip(" \t"):
            end += 1  # what closes it stands in it
        self._put("html_block", 0, [number, end]).content = "\n".join(self._lines[number:end])
        return end

    def _hidden(self, number: int, words: str) -> int:
        """A comment or a formula that goes on over lines."""
        mark = words[:2]
        if words.count(mark) % 2 == 0:
            return 0
        known = self._last_comment if mark == "%%" else self._last_formula
        closed = known > number
        if not closed and mark == "$$":
            return 0
        end = number + 1
        while closed and mark not in self._lines[end]:
            end += 1
        end = end + 1 if closed else len(self._lines)
        self._close(0)
        token = self._put("comment" if mark == "%%" else "math", 0, [number, end])
        token.meta = {"open": not closed}
        return end

    def _fence(self, number: int, inside: int, mark: str) -> int:
        """A fence up to what closes it; one in an item belongs to that."""
        if not inside:
            self._close(0)
        self._end_words()
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
            self._reach(end)
        return end

    def _text(self, number: int, column: int, inside: int, *, after: bool) -> int:
        """Words: of the item or block that is open, or a paragraph of their own."""
        if self._items and (inside or (not after and self._items[-1].words is not None)):
            if inside < len(self._items) and after:
                self._close(inside)
            words = self._items[-1].words
            if words is not None:
                self._going_on(words, number)
            self._reach(number + 1)
            return number + 1
        kind = self._block.type if self._block is not None else ""
        goes_on = column >= CODE if kind == "code_block" else self._lazy or kind != "blockquote_open"
        if self._block is not None and goes_on:
            self._going_on(self._block, number)
            return number + 1
        self._close(0)
        self._block = self._put("code_block" if column >= CODE else "paragraph_open", 0, [number, number + 1])
        return number + 1

    def _going_on(self, token: Token, number: int) -> None:
        if token.map:
            token.map[1] = number + 1

    def _reach(self, number: int) -> None:
        for item in self._items[-1:]:
            self._going_on(item.token, number - 1)

    def _end_words(self) -> None:
        if self._items:
            self._items[-1].words = None

    def _close(self, inside: int) -> None:
        """Only so many items stay open; each ends where what stands in it does."""
        self._block = None
        while len(self._items) > inside:
            item = self._items.pop()
            self._put("bullet_list_close", 2 * len(self._items), None)
            if self._items and item.token.map:
                self._going_on(self._items[-1].token, item.token.map[1] - 1)
        self._end_words()

    def _put(self, kind: str, level: int, lines: list[int] | None) -> Token:
        token = _Token(kind, level, lines)
        self.tokens.append(token)
        return token


def _closer(words: str, *, interrupts: bool) -> re.Pattern[str] | None:
    """What closes the HTML block that some words open; None if they open none."""
    if words[1:2] not in _TAGGED:
        return None
    for opener, closer, can_interrupt in HTML_SEQUENCES:
        if opener.search(words[:LOOKED_AT]):
            return closer if can_interrupt or not interrupts else None
    return None
