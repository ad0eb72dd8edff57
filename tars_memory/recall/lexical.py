"""Words in lines: what FTS5 can't tell, for the few hundred lines of the candidate chunks. Pure.

FTS5 ranks chunks and notes; the line that answers is found here with the same words, stems and idf.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import fold as fold_signs
from tars_memory.recall.stemming import stem
from tars_memory.recall.words import WORD, fold, symbols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tars_memory.recall.query import Query

K1 = 1.2
B = 0.75
"""BM25 as FTS5 has it fixed (``fts5_aux.c``); lines and chunks are weighed by the same rule."""
LEAST_IDF = 1e-6
"""FTS5's floor for words that more than half of all rows hold."""


def idf(rows: int, holding: int) -> float:
    """How much a word says that ``holding`` of ``rows`` rows hold, as FTS5's ``bm25()`` reckons."""
    return max(LEAST_IDF, math.log((rows - holding + 0.5) / (holding + 0.5)))


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
        self.phrase_keys = tuple(f'"{" ".join(phrase)}"' for phrase in self.phrases)
        self.literals = tuple(dict.fromkeys(fold_signs(literal) for literal in query.literals))
        self.prefixes = query.prefixes
        self._wanted = frozenset(self.stems)
        self._finder = _word_finder(self.stems)

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
        counts: dict[str, int] = {}
        folded = fold(text)
        if self._finder is not None:
            for word in self._finder.findall(folded):
                root = stem(word)
                if root in self._wanted:
                    counts[root] = counts.get(root, 0) + 1
        if self.phrases or self.prefixes:
            self._count_sequences(folded, counts)
        if self.literals:
            signs = fold_signs(text)
            for literal in self.literals:
                if literal in signs:
                    counts[literal] = signs.count(literal)
        return counts

    def _count_sequences(self, folded: str, counts: dict[str, int]) -> None:
        words = WORD.findall(folded)
        for prefix in self.prefixes:
            n = sum(word.startswith(prefix) for word in words)
            if n:
                counts[f"{prefix}*"] = n
        if self.phrases:
            joined = f" {' '.join(map(stem, words))} "
            for key in self.phrase_keys:
                n = joined.count(f" {key[1:-1]} ")
                if n:
                    counts[key] = n

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


def _word_finder(stems: Sequence[str]) -> re.Pattern[str] | None:
    """A pattern for words that may have one of the stems: Porter changes no more than a word's end."""
    if not stems:
        return None
    heads = sorted({re.escape(root[: max(1, min(len(root) - 1, 5))]) for root in stems})
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(heads)})[^\W_]*")


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
