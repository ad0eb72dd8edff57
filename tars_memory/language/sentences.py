"""The sentences that a person said in his own words: not what he pasted, quoted or fenced. Pure, linear in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_TURN = 6_000
"""Characters of a turn that are looked at as talk; a longer one is mostly pasted, and only its ends are looked at."""

END = 1_500
"""Characters at either end of a longer turn that are looked at."""

LONGEST_PARAGRAPH = 1_200
"""Characters of a paragraph that may still be talk."""

WRAPPED = 55
"""Characters of a line that was wrapped rather than ended: people type shorter ones one below the other."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_TAG = re.compile(r"[ \t]*<([A-Za-z][A-Za-z0-9_-]*)[^<>\n]*>")
_NO_TALK = re.compile(
    r"[ \t]*(?:>|\||\$ |# |%|//|/\*|#!|</?[A-Za-z]|\{|\}|\[\d|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"(?:at|File) [\w\"'./<]+[(,:]|(?:From|To|Subject|Date|Sent|Cc|Von|An|Betreff|De|Objet|Asunto|Oggetto): |"
    r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|Traceback|Exception)\b|"
    r"(?:import|def|class|const|let|var|function|return|SELECT|INSERT|UPDATE|CREATE) [\w({*])"
)
"""How lines begin that are quotes, tables, prompts, comments, logs, mail headers or code."""

_CLOSER = re.compile(r"</([A-Za-z][A-Za-z0-9_-]*)>")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTED = re.compile(r"[ \t]*>")
_MARK = re.compile(r"(?:[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?[ \t*_]*")
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"”’»)\]*_]*+(?=\s|$)|[。！？]|\n")
_SHORT_WORDS = """
dr mr mrs ms prof st vs etc approx ca no nr inc ltd e.g i.e z.b d.h u.a bzw usw evtl ggf sig sr sra dra m mme mlle p.ex
ex dott ing dhr mevr bijv d.w.z av pág págs jan feb mar apr jun jul aug sep sept oct okt nov dec dez
"""
_SHORT = frozenset(_SHORT_WORDS.split())
"""Abbreviations, without their full stop, after which a sentence goes on."""


class Sentence(NamedTuple):
    """A sentence of a text.

    Attributes:
        text: verbatim, without marks of lists and emphasis at its start and blanks at its ends.
        start: offset of its first character in the text.
        asks: whether it ends in a question mark.
    """

    text: str
    start: int
    asks: bool


def sentences(text: str) -> list[Sentence]:
    """The sentences of a turn that are its speaker's own talk, in order."""
    found: list[Sentence] = []
    for start, end in own_words(text):
        found += _cut(text, start, end)
    return found


def own_words(text: str, *, pasted: bool = False) -> list[tuple[int, int]]:
    """The stretches of a turn that are talk: no fences, tags, quotes, tables, code, logs or pasted pages.

    Args:
        text: of the turn.
        pasted: only fences, tags and quotes are not a talk: whether the rest is, somebody else has judged.
    """
    kept: list[tuple[int, int]] = []
    for start, end in _paragraphs(text, _QUOTED if pasted else _NO_TALK):
        if pasted:
            kept.append((start, end))
            continue
        ends = len(text) <= LONGEST_TURN or end <= END or start >= len(text) - END
        if ends and end - start <= LONGEST_PARAGRAPH:
            kept.append((start, end))
    return kept


def _paragraphs(text: str, no_talk: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines of talk: blank lines and lines of anything else stand between two of them."""
    fence = closing = ""
    closers = {found[1]: found.start() for found in _CLOSER.finditer(text)}
    first: int | None = None
    at = 0
    for line in _LINE.findall(text):
        opened = _FENCE.match(line)
        tag = None if fence or closing else _TAG.match(line)
        talk = not (fence or closing or opened or tag or no_talk.match(line) or not line.strip())
        if opened and not closing:
            fence = "" if fence and opened[1].startswith(fence) else fence or opened[1]
        if tag and closers.get(tag[1], -1) >= at:
            closing = f"</{tag[1]}>"
        if closing and closing in line:
            closing = ""
        if talk and first is None:
            first = at
        if not talk and first is not None:
            yield first, at
            first = None
        at += len(line)
    if first is not None:
        yield first, at


def _cut(text: str, start: int, end: int) -> Iterator[Sentence]:
    """The sentences of a paragraph."""
    at = start
    for stop in _STOP.finditer(text, start, end):
        if not _ends(text, at, stop, end):
            continue
        yield from _sentence(text, at, stop.end())
        at = stop.end()
    yield from _sentence(text, at, end)


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    mark = _MARK.match(text, start, end)
    begin = mark.end() if mark else start
    words = text[begin:end].strip()
    if words:
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        yield Sentence(words, begin, words.rstrip('"”’»)]*_ ').endswith(("?", "？")))


def _ends(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether a sentence ends here: not after an abbreviation or an ordinal, nor where a line was only wrapped."""
    after = text[stop.end() : stop.end() + 12].lstrip(" \t")
    if stop[0] == "\n":
        line = text[max(start, text.rfind("\n", start, stop.start()) + 1) : stop.start()]
        wrapped = after[:1].islower() and len(line) >= WRAPPED and line.rstrip()[-1:] not in ".!?:…"
        return not wrapped or stop.end() >= end
    if stop[0] != ".":
        return True
    word = re.split(r"[\s(\"]", text[max(start, stop.start() - 20) : stop.start()])[-1]
    if word.casefold() in _SHORT or (len(word) == 1 and word.isalpha() and word.isupper()):
        return not after
    if word.isdigit() and len(word) <= 2:
        return not re.match(r"[^\W\d_]", after) or (after[:1].isupper() and not _MONTH.match(after))
    return True


_MONTH = re.compile(r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])", re.IGNORECASE)
