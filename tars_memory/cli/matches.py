"""Where a query's words stand in a text: which line of a hit to print, what to light up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.query import parse
from tars_memory.recall.stemming import stem
from tars_memory.recall.words import WORD, fold

if TYPE_CHECKING:
    from datetime import date

SHORTEST_PREFIX = 2
"""Characters that the beginning of a word (``te*``) needs to be lit up by itself."""


class Matcher:
    """What a query looks for, ready to be found in texts."""

    def __init__(self, query: str, today: date) -> None:
        parsed = parse(query, today)
        said = {*parsed.words, *(word for phrase in parsed.phrases for word in phrase)}
        self.stems = {stem(word) for word in said}
        self.prefixes = tuple(p for p in parsed.prefixes if len(p) >= SHORTEST_PREFIX)
        self.literals = tuple(parsed.literals)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each match in the text, in order, not overlapping."""
        found = []
        for match in WORD.finditer(text):
            word = fold(match[0])
            if stem(word) in self.stems or (self.prefixes and word.startswith(self.prefixes)):
                found.append(match.span())
        if self.literals:
            lowered = text.lower()
            if len(lowered) == len(text):  # else positions don't agree, and nothing is better than something wrong
                found += _literal_spans(lowered, self.literals)
        return _joined(sorted(found))

    def weight(self, text: str) -> int:
        """How many different things of the query the text holds."""
        lowered = fold(text)
        words = {stem(word) for word in WORD.findall(lowered)}
        begun = sum(any(word.startswith(prefix) for word in words) for prefix in self.prefixes)
        return len(words & self.stems) + begun + sum(literal in lowered for literal in self.literals)


def best_line(text: str, start_line: int, matcher: Matcher) -> tuple[int, str]:
    """The line of a hit that answers best: most of the query's words, the first such; else the first with text.

    Args:
        text: of the hit, lines parted by newlines.
        start_line: 1-based line of its first line.
        matcher: of the query.

    Returns:
        Line number and its text, trimmed.
    """
    lines = [(start_line + i, line.strip()) for i, line in enumerate(text.split("\n"))]
    lines = [each for each in lines if each[1]] or lines[:1]
    return max(lines, key=lambda each: matcher.weight(each[1]))


def _literal_spans(lowered: str, literals: tuple[str, ...]) -> list[tuple[int, int]]:
    found = []
    for literal in literals:
        at = lowered.find(literal)
        while at >= 0:
            found.append((at, at + len(literal)))
            at = lowered.find(literal, at + len(literal))
    return found


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
