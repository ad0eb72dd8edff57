"""What words of a query the lines of candidate chunks hold: stems, counts, BM25. Pure.

FTS5 ranks chunks and notes; the line that answers is found here with the same words, stems and idf.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import fold_signs
from tars_memory.language.words import WORD, fold, is_run, stem, symbols

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tars_memory.recall.query import Query


# --- words in lines: what FTS5 can't tell, for the few hundred lines of the candidate chunks.


K1 = 1.2
B = 0.75
"""BM25 as FTS5 has it fixed (``fts5_aux.c``); lines and chunks are weighed by the same rule."""
_REST = re.compile(r"[^\W_]*")
_EMPHASIS = dict.fromkeys(map(ord, "*_[]~=`"))
"""What may part a word in a script without blanks for the eye only: ``**水道**メーター``."""


def idf(rows: int, holding: int) -> float:
    """How much a word says that ``holding`` of ``rows`` rows hold: positive however common it is (Lucene's form)."""
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))


def phrase_key(phrase: Sequence[str]) -> str:
    """What a phrase is called among the terms: its stems in quotes."""
    return f'"{" ".join(map(stem, phrase))}"'


class Terms:
    """What a query looks for, ready to be counted in texts.

    Attributes:
        stems: of the words, each once.
        phrases: as stems in a row; ``phrase_keys`` are their keys.
        literals, prefixes: as in the query.
    """

    def __init__(self, query: Query) -> None:
        self.stems = tuple(dict.fromkeys(stem(word) for word in query.words))
        self.phrases = tuple(tuple(stem(word) for word in phrase) for phrase in query.phrases)
        self.phrase_keys = tuple(map(phrase_key, query.phrases))
        self.literals = tuple(dict.fromkeys(fold_signs(literal) for literal in query.literals))
        self.prefixes = query.prefixes
        self._wanted = frozenset(self.stems)
        self._heads = heads_of(self.stems)

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each term: the stem, the phrase in quotes, the literal, the prefix with its star."""
        return (
            *self.stems,
            *self.phrase_keys,
            *self.literals,
            *(f"{prefix}*" for prefix in self.prefixes),
        )

    def count(self, text: str) -> dict[str, int]:
        """How often each term that occurs stands in a text, by its key."""
        return self.count_lines((text,))[0]

    def count_lines(self, lines: Sequence[str]) -> list[dict[str, int]]:
        """How often each term that occurs stands in each of the lines, by its key."""
        counts: list[dict[str, int]] = [{} for _ in lines]
        folded = fold("\n".join(lines)).split("\n")  # a fifth of the time that folding each of them takes
        if len(folded) != len(lines):
            folded = [fold(line) for line in lines]
        for i, root in self._stems_in(folded):
            counts[i][root] = counts[i].get(root, 0) + 1
        for i, line in enumerate(folded):
            if self.phrases:
                self.add_phrases(line, counts[i])
            if self.prefixes:
                self._add_prefixes(line, counts[i])
        if self.literals:
            written = list(map(fold_signs, lines))
            read = [line.translate(_EMPHASIS) for line in written]
            for literal in self.literals:
                for i, line in enumerate(read if is_run(literal) else written):
                    if n := line.count(literal):
                        counts[i][literal] = n
        return counts

    def _stems_in(self, folded: Sequence[str]) -> Iterator[tuple[int, str]]:
        """(line, stem) for every word of the folded lines that has one of the stems.

        Words are found by how their stem begins, with the string search of the interpreter: most lines hold none, and
        cutting every line into words would cost several times as much.
        """
        text = "\n".join(folded)
        ends: list[int] = []
        for head in self._heads:
            at = text.find(head)
            while at >= 0:
                end = _REST.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string too
                if not (at and text[at - 1].isalnum()):
                    root = stem(text[at:end])
                    if root in self._wanted:
                        if not ends:
                            ends = list(accumulate(len(line) + 1 for line in folded))
                        yield bisect_right(ends, at), root
                at = text.find(head, end)

    def add_phrases(self, text: str, counts: dict[str, int]) -> None:
        """Count the phrases of a whole text, over the ends of its lines; counts that are there are replaced."""
        joined = f" {' '.join(map(stem, WORD.findall(fold(text))))} "
        for key in self.phrase_keys:
            n = joined.count(f" {key[1:-1]} ")
            if n:
                counts[key] = n

    def _add_prefixes(self, folded: str, counts: dict[str, int]) -> None:
        words = WORD.findall(folded)
        for prefix in self.prefixes:
            n = sum(word.startswith(prefix) for word in words)
            if n:
                counts[f"{prefix}*"] = n

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the terms stand in a text: ``(start, end)`` pairs, in order, disjoint."""
        found: list[tuple[int, int]] = []
        words = [(m.start(), m.end(), fold(m[0])) for m in WORD.finditer(text)]
        stems = [stem(word) for _, _, word in words]
        for i, (start, end, word) in enumerate(words):
            if stems[i] in self._wanted or any(word.startswith(prefix) for prefix in self.prefixes):
                found.append((start, end))
            found += (
                (start, words[i + len(phrase) - 1][1])
                for phrase in self.phrases
                if tuple(stems[i : i + len(phrase)]) == phrase
            )
        lowered = text.lower()
        if len(lowered) == len(text):
            for literal in self.literals:
                at = lowered.find(literal)
                while at >= 0:
                    found.append((at, at + len(literal)))
                    at = lowered.find(literal, at + len(literal))
        return _merged(found)


class Exclusion:
    """What a hit must not hold."""

    def __init__(self, negations: Sequence[str]) -> None:
        self.phrases: list[str] = []
        self.literals: list[str] = []
        for negation in negations:
            words = WORD.findall(negation)
            if words:
                self.phrases.append(f" {' '.join(map(stem, words))} ")
            self.literals += symbols(negation) if words else [negation]

    def __bool__(self) -> bool:
        return bool(self.phrases or self.literals)

    def holds(self, text: str) -> bool:
        """Whether the text holds something that was excluded."""
        folded = fold(text)
        if self.literals and any(literal in fold_signs(text) for literal in self.literals):
            return True
        joined = f" {' '.join(map(stem, WORD.findall(folded)))} "
        return any(phrase in joined for phrase in self.phrases)


def bm25(counts: Mapping[str, int], idfs: Mapping[str, float], length: float, average: float) -> float:
    """BM25 of one text.

    Args:
        counts: occurrences by term.
        idfs: idf by term.
        length: of the text, in any unit.
        average: of all such texts, in the same unit.
    """
    penalty = K1 * (1 - B + B * length / average) if average else K1
    return sum(idfs.get(term, 0.0) * n * (K1 + 1) / (n + penalty) for term, n in counts.items())


def heads_of(stems: Sequence[str]) -> tuple[str, ...]:
    """Beginnings that every word with one of the stems has: Porter rewrites no more than an ending's last letters."""
    heads: set[str] = set()
    for root in stems:
        changed = root.endswith(("i", "e", "bl")) and len(root) > 1
        heads.add(root[:-1] if changed else root)
    return tuple(sorted(head for head in heads if not any(head != other and head.startswith(other) for other in heads)))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
