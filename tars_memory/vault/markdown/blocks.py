"""The block parser: markdown-it's CommonMark with tables, plus what only Obsidian hides.

Inline marks are never parsed: bullets, sections and blocks need lines alone, at a third of the cost.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

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
"""Characters up to which a text is remembered with its tokens, which take some fifty times as much memory."""


def parse(text: str) -> Sequence[Token]:
    """Block tokens of a note's text (front matter and byte order mark already taken off), to be read only.

    A batch looks at each state of a note several times before it changes it; the last few are remembered.
    """
    return _remembered(text) if len(text) <= REMEMBERED else _parsed(text)


def parsed_by_lines(text: str) -> Sequence[Token]:
    """The same, each line judged by how it begins and by what is open above it."""
    from tars_memory.vault.markdown.bylines import ByLines

    return ByLines(text).tokens if text else []


def _is_deep(tokens: Sequence[Token]) -> bool:
    return any(token.level >= MAX_NESTING - 1 for token in tokens)


def _parsed(text: str) -> Sequence[Token]:
    if not text:
        return []
    if text.count("\n") + text.count("\r") <= MOST_LINES and not _DEEP.search(text):
        tokens = _parser("%%" in text or "$$" in text).parse(text)
        if not _is_deep(tokens):
            return tokens
    return parsed_by_lines(text)


_remembered = lru_cache(maxsize=4)(_parsed)


def is_open(token: Token, last_line: str) -> bool:
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
