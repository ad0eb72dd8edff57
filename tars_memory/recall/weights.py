"""What makes up the score of a line: the words of the query in it (stems, counts, BM25), the nearness of its words to
those of the query, and what its tier, age and state are worth; every constant with its source, and the scale of each
model. Pure.

FTS5 ranks chunks and notes; the line that answers is found here with the same words, stems and idf. Its score adds its
own match to those of its note and chunk.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from datetime import date
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import fold_signs
from tars_memory.language.words import (
    STOP_WORDS,
    WORD,
    apart,
    fold,
    is_run,
    joints,
    stem,
    stems,
    symbols,
    unspaced_runs,
)
from tars_memory.recall.query import Fading, Query

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from tars_memory.language.dates import NamedDate
    from tars_memory.vault.model import Line


# --- words in lines: FTS5 counts them in chunks; here they are counted in the few hundred lines of the candidate chunks


K1 = 1.2
B = 0.75
"""Parameters of BM25, as fixed in FTS5 (``fts5_aux.c``); lines and chunks use the same."""
_REST = re.compile(r"[^\W_]*")
_EMPHASIS = dict.fromkeys(map(ord, "*_[]~=`"))
"""Marks that may occur inside a word in a script without blanks: ``**水道**メーター``."""


def idf(rows: int, holding: int) -> float:
    """Return the idf of a word that ``holding`` of ``rows`` rows contain, in Lucene's form: positive however common the
    word is.
    """
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))


class Terms:
    """The terms of a query, ready to be counted in texts.

    Attributes:
        stems: of the words, without repeats; ``mistaken``: those of them that are the stems of function words, too.
            Another form of a word that no note contains is counted as that word.
        phrases: as tuples of stems; ``phrase_keys`` are their keys.
        literals, prefixes: as in the query.

    A function word of a text counts only if the query has it: "in" has the stem of "Ines" and does not answer it.
    """

    def __init__(self, query: Query) -> None:
        self.stems = tuple(query.by_stem)
        self.mistaken = tuple(dict.fromkeys(query.stems[word] for word in query.mistaken))
        self.phrases = tuple(tuple(query.stems[word] for word in phrase) for phrase in query.phrases)
        as_written = {*self.mistaken, *chain.from_iterable(self.phrases)}
        others = STOP_WORDS.difference(query.words, *query.phrases) if as_written else ()
        self._ignored = frozenset(word for word in others if stem(word) in as_written)
        self.phrase_keys = tuple(map(query.phrase_key, query.phrases))
        self.literals = tuple(dict.fromkeys(fold_signs(literal) for literal in query.literals))
        self.prefixes = query.prefixes
        self.roots = {root: root for root in self.stems}
        for root in self.stems:
            self.roots |= dict.fromkeys(query.relatives.get(root, ()), root)
        self._compounds: set[tuple[str, str]] = set()  # the first part, and the stem of the whole word
        self._hyphens: re.Pattern[str] | None = None
        for parts, word in query.compounds.items():
            if parts in query.phrases:
                self.roots.setdefault(stem(word), query.phrase_key(parts))
            else:
                self._compounds.add((parts[0], stem(word)))
        if self._compounds:
            pairs = (pair for pair in query.compounds if pair not in query.phrases)
            ends = ((head, heads_of((stem(tail),))[0]) for head, tail in pairs)
            self._hyphens = re.compile(
                "|".join(rf"(?<=(?<![^\W_]){head})[{joints(head)} ](?={tail})" for head, tail in ends)
            )
        self._heads = heads_of(tuple(self.roots))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the terms: stems, phrases in quotes, literals, prefixes with a star."""
        return (
            *self.stems,
            *self.phrase_keys,
            *self.literals,
            *(f"{prefix}*" for prefix in self.prefixes),
        )

    def count_lines(self, lines: Sequence[str]) -> list[dict[str, int]]:
        """Count the terms in each line; returns the terms that occur in it, by key."""
        folded, counts = self._count_stems(lines)
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

    def _count_stems(self, lines: Sequence[str]) -> tuple[list[str], list[dict[str, int]]]:
        """Return the lines, folded, and for each of them the number of words with each of the stems.

        The interpreter's string search finds words by the beginnings of their stems: most lines contain none, and
        splitting every line into words would cost several times as much.
        """
        text = fold(apart("\n".join(lines)))  # a fifth of the time that folding each of them takes
        folded = read = text.split("\n")
        if len(folded) != len(lines):
            folded = read = [fold(apart(line)) for line in lines]
            text = "\n".join(folded)
        if self._hyphens is not None:
            read = [self._hyphens.sub("", line) for line in folded]
            text = "\n".join(read)
        found: list[tuple[int, str]] = []
        for head in self._heads:
            at = text.find(head)
            while at >= 0:
                end = _REST.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string too
                if not (at and text[at - 1].isalnum()) and text[at:end] not in self._ignored:
                    found.append((at, text[at:end]))
                at = text.find(head, end)
        stem_of = stems({word for _, word in found})
        counts: list[dict[str, int]] = [{} for _ in lines]
        ends = list(accumulate(len(line) + 1 for line in read)) if found else []
        for at, word in found:
            root = self.roots.get(stem_of[word])
            if root is not None:
                count = counts[bisect_right(ends, at)]
                count[root] = count.get(root, 0) + 1
        return folded, counts

    def add_phrases(self, text: str, counts: dict[str, int]) -> None:
        """Count the phrases in a whole text, across its line breaks; replaces their former counts."""
        joined = _stems_of(text, self._ignored)
        for key in self.phrase_keys:
            n = joined.count(f" {key[1:-1]} ")
            if n:
                counts[key] = n

    def _add_prefixes(self, folded: str, counts: dict[str, int]) -> None:
        """Add the number of words of a folded line that begin with each prefix."""
        words = WORD.findall(folded)
        for prefix in self.prefixes:
            n = sum(word.startswith(prefix) for word in words)
            if n:
                counts[f"{prefix}*"] = n

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the ``(start, end)`` of the terms in a text, in order and disjoint."""
        found: list[tuple[int, int]] = []
        words = [(m.start(), m.end(), fold(m[0])) for m in WORD.finditer(apart(text))]
        stems = ["" if word in self._ignored else stem(word) for _, _, word in words]
        for i, (start, end, word) in enumerate(words):
            if stems[i] in self.roots or any(word.startswith(prefix) for prefix in self.prefixes):
                found.append((start, end))
            if self._compounds and i + 1 < len(words) and (word, stem(word + words[i + 1][2])) in self._compounds:
                found.append((start, words[i + 1][1]))
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


_HYPHENS = re.compile(r"(?<=[^\W_])[-‐‑](?=[^\W_])")


class Exclusion:
    """Words and literals that a hit must not contain; a compound counts with its hyphen and without it."""

    def __init__(self, negations: Sequence[str]) -> None:
        self.phrases: list[str] = []
        self.literals: list[str] = []
        negations = (*negations, *(_HYPHENS.sub("", negation) for negation in negations if "-" in negation))
        found = [WORD.findall(negation) for negation in negations]
        self._ignored = STOP_WORDS.difference(*found)
        for negation, words in zip(negations, found, strict=True):
            if not words or unspaced_runs(negation):
                self.literals.append(negation)
                continue
            self.phrases.append(f" {' '.join(map(stem, words))} ")
            self.literals += symbols(negation)

    def __bool__(self) -> bool:
        return bool(self.phrases or self.literals)

    @property
    def stems(self) -> frozenset[str]:
        """The stems of the words that are excluded by themselves, not within a phrase."""
        return frozenset(phrase.strip() for phrase in self.phrases if phrase.count(" ") == 2)

    def holds(self, text: str) -> bool:
        """Whether the text contains something that is excluded."""
        if self.literals and any(literal in fold_signs(text) for literal in self.literals):
            return True
        texts = {text, _HYPHENS.sub("", text)}
        joined = [_stems_of(one, self._ignored) for one in texts] if self.phrases else ()
        return any(phrase in one for phrase in self.phrases for one in joined)


def _stems_of(text: str, ignored: Container[str]) -> str:
    """Return the stems of a text's words, each between blanks; '' in the place of a word that is ignored."""
    return f" {' '.join('' if word in ignored else stem(word) for word in WORD.findall(fold(apart(text))))} "


def bm25(counts: Mapping[str, int], idfs: Mapping[str, float], length: float, average: float) -> float:
    """Return the BM25 of one text.

    Args:
        counts: occurrences by term.
        idfs: idf by term.
        length: of the text, in any unit.
        average: length of all such texts, in the same unit.
    """
    penalty = K1 * (1 - B + B * length / average) if average else K1
    return sum(idfs.get(term, 0.0) * n * (K1 + 1) / (n + penalty) for term, n in counts.items())


def heads_of(stems: Sequence[str]) -> tuple[str, ...]:
    """Return beginnings, one of which every word with one of the stems has: Porter changes only the last letters."""
    heads: set[str] = set()
    for root in stems:
        changed = root.endswith(("i", "e", "bl")) and len(root) > 1
        heads.add(root[:-1] if changed else root)
    return tuple(sorted(head for head in heads if not any(head != other and head.startswith(other) for other in heads)))


# --- other forms of a word that no note contains: "pompa" finds "pompası", "talo" finds "talossa"


LETTERS_SHARED = 4
BOTH_END = 5
SHARE_SHARED = 0.55
"""A word is taken for a form of another one if they share at least this many letters at their beginnings (the second
number if neither of them is the beginning of the other, as ``bridle`` and ``bridge``), and this share of the letters of
the longer one. Measured in nine languages (docs/development/ranking.md)."""
SHARE_NEARBY = 0.40
"""``SHARE_SHARED`` for a word of the passage that is nearest in meaning to a lone word of the query."""
SHARE_ALONE = 0.65
"""``SHARE_SHARED`` from which on a form counts for a question of which a chunk contains no other word: ``wakacje`` for
``wakacjach``, not ``chain`` for ``chainsaw``."""
LETTERS_OF_A_PART, LETTERS_BEFORE = 5, 3
"""Least letters of a word, and of what is before it in another one, for the other one to be a compound with it. Of
6,000 English words that another set of texts lacks 49 are in one of its words, half of which have to do with them."""
SHARE_OF_A_COMPOUND = 0.47
"""``SHARE_SHARED`` for a word of ``LETTERS_OF_A_PART`` letters with which a word of the query begins: ``Haftpflicht``
for ``Haftpflichtversicherung``. With a word of the query others may go on as long as they like."""
RELATIVES = 8
"""Maximum number of forms of a word that are searched, those that share the largest part first."""
_VOWELS = "aeiouy"
_UNSTEMMED = ("", "e", "s", "ing")
"""Endings that make a word of a stem that the stemmer would shorten further."""


def beginning_of_relatives(root: str) -> str:
    """Return the beginning that all forms of a word have at least, to read no more of the vocabulary."""
    return root[: max(LETTERS_SHARED - 1, int(SHARE_OF_A_COMPOUND * len(root)))]


def relatives_of(root: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of the vocabulary that are probably forms of the same word, the most similar first."""
    weak = _weak(root)
    pairs = ((other, {(root, other), (weak, other), (root, _weak(other))}) for other in vocabulary)
    found = (other for other, forms in pairs if any(_is_form(*pair) for pair in forms) and worded(other))
    return tuple(sorted(found, key=lambda other: (-_shared(root, other)[1], other)))


def _is_form(root: str, other: str) -> bool:
    """Whether two stems share enough letters at their beginnings to be of forms of a word, or of a compound with it."""
    shared, part = _shared(root, other)
    if shared < min(len(root), len(other)):
        vowel = shared + 1 == len(root) == len(other) and root[-1] in _VOWELS and other[-1] in _VOWELS  # libro, libri
        return shared >= (LETTERS_SHARED if vowel else BOTH_END) and part >= SHARE_SHARED
    if shared < LETTERS_OF_A_PART:
        return shared >= LETTERS_SHARED and part >= SHARE_SHARED
    return other.startswith(root) or part >= SHARE_OF_A_COMPOUND


def may_be_form(root: str, other: str) -> bool:
    """Whether two stems share so much of their beginnings that they may be of forms of a word, if something else says
    so, too.
    """
    shared, part = _shared(root, other)
    is_vowel = shared + 1 == len(root) == len(other) and root[-1] in _VOWELS and other[-1] in _VOWELS  # zupa, zupi
    return shared >= LETTERS_SHARED - is_vowel and part >= SHARE_NEARBY


def compounds_of(word: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the stems of the vocabulary that contain a word, but not at their beginning, the shortest first: "nyckel"
    is in ``reservnyckeln``. Of one at its end the stemmer leaves less than of the word alone.
    """
    end = stem("xo" * LETTERS_BEFORE + word)[2 * LETTERS_BEFORE :]
    end = end if len(end) >= min(LETTERS_OF_A_PART, len(word) - 1) else word
    found = (
        other
        for other in vocabulary
        if other.find(word) >= LETTERS_BEFORE or (other.endswith(end) and len(other) >= len(end) + LETTERS_BEFORE)
    )
    return tuple(sorted(filter(worded, found), key=lambda other: (len(other), other)))


def is_doubtful(root: str, forms: Iterable[str]) -> bool:
    """Whether forms that notes contain instead of a word may well be another word."""
    return all(_shared(root, other)[1] < SHARE_ALONE and root not in other[LETTERS_BEFORE:] for other in forms)


def _weak(root: str) -> str:
    """Return what inflected forms of a word with a double consonant before its last vowel begin with: ``moki`` of
    ``mokki``, which is ``mokilla`` in other cases, as ``tytto`` is ``tyton``.
    """
    doubled = len(root) > LETTERS_SHARED and root[-3] == root[-2] and root[-1] in _VOWELS and root[-2] not in _VOWELS
    return root[:-2] + root[-1] if doubled else root


def _shared(root: str, other: str) -> tuple[int, float]:
    """Return the number of letters that two words share at their beginnings, and that as a share of the longer one."""
    letters = zip(root, other, strict=False)
    shared = next((i for i, (a, b) in enumerate(letters) if a != b), min(len(root), len(other)))
    return shared, shared / max(len(root), len(other))


def worded(root: str) -> str:
    """Return a word with this stem, to ask FTS5 for it; "" if none is known."""
    return next((root + ending for ending in _UNSTEMMED if stem(root + ending) == root), "")


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


# --- which chunks are read line by line
ROUGH_WORDS = 0.5
ROUGH_MEANING = 0.5
ROUGH_NOTE = 0.3
ROUGH_DATE = 0.3
"""Weights of normalized scores in the rough sum, which beats reciprocal ranks on five public sets (65.3 against 56.1);
results are flat for .4 to .6."""

NEARBY_FROM = 0.9
"""Least coverage (:attr:`tars_memory.recall.candidates.Pool.coverage`) for chunks that are found only as neighbours of
the query's vector: a chunk is not better than others for having a vector already."""

# --- which notes come first
NOTE_WORDS = 0.14
NOTE_DATE = 0.30
NOTE_BEST = 0.25
NOTE_CHUNK_NEAREST = 0.15
NOTE_NEAREST = 0.05
NOTE_LINE_NEAREST = 0.10
NOTE_FARTHEST = 0.05
NOTE_EXACT = 0.50
"""Weights of the parts of a note: BM25 of the whole note; its day; its best line (next group); the nearness of words to
those of the query, in its best chunk, in all lines that are read of it, and in its best line with the line before; the
nearness to the query's word that is farthest from the note, for a note that contains all but one word of a claim is
about something else; and the share of the query that was written to be matched exactly (a quote, ``10.0.0.1``, ``C++``,
東京, ``auto*``) and is."""
NOTE_BEST_BY_WORDS = 0.40
"""``NOTE_BEST`` without a model: the best line has to make up for the nearness of words in its chunk."""
BEST_WORDS = 0.25
BEST_CHUNK_WORDS = 0.10
BEST_CHUNK_MEANING = 0.70
BEST_SPEAKER = 0.30
"""Weights that decide which line is the best of its note when notes are ordered."""

NOTE_NAME = 0.30
"""Weight of a name of the note in the query; it counts in full if the query is that name."""
LINE_NAMED = 3.0
"""Added to the best line of a note of which the query is a name: more than the sum of all other parts."""

# --- which lines of a note come first
LINE_WORDS = 0.10
LINE_CHUNK_WORDS = 0.20
LINE_CHUNK_MEANING = 0.10
LINE_NEAREST = 0.25
LINE_SPEAKER = 0.16
LINE_EXACT = 0.50
LINE_BESIDE = 0.20
"""Weights of the parts of a line. ``LINE_BESIDE``: how well the chunks before and after match, for an answer in a long
note spreads over several."""
BEFORE = 0.6
"""Share of the BM25 of the line before that a line inherits: a question is answered in the next line."""
SPREAD = 0.45
"""Factor of the parts of a line: how far the scores of the lines of one note are apart, relative to those of notes."""
NEAREST_FLOOR = 0.20
"""Nearness that unrelated words reach by chance; only what is above it counts."""
NEAREST_SPEAKER = 0.07
"""Added to the nearness of a line's words if the query names its speaker."""
LENGTH_OF_A_NAME = 40
"""Maximum length of a name in bytes of UTF-8: a Chinese name says in one sign what an English one says in three
letters. 95 % of the names of 341 pages in two languages have at most 35, 95 % of their descriptions 54 or more."""
LEAST_NEAREST = 0.20
LEAST_MEANING = 0.40
"""Least values that the best candidate counts as, of nearness above the floor and of meaning, when values are scaled to
1: where nothing is near in meaning, differences are noise and must not be magnified. On the sets measured nearly every
question has a better candidate."""


class Scale:
    """How the similarities of a model are read, so that one set of weights serves every model."""

    chance: float = 0.0
    """Cosine that counts as 0; equal texts still count as 1."""
    chance_of_words: float = 0.0
    """Nearness of two words that counts as 0."""
    best_meaning: float = BEST_CHUNK_MEANING
    """Weight of the cosine of the best line's chunk in the order of notes."""
    names: float = 0.0
    """Weight of the cosine with the note's name alone in the order of notes; 0: no vectors of names are kept."""
    names_of_short: float = 0.0
    """The same for a query that is short enough to be a name (:data:`LENGTH_OF_A_NAME`)."""
    line_nearest: float = LINE_NEAREST
    """Weight of the nearness of a line's words among the lines of its note."""
    lines_above: float = NEAREST_FLOOR
    """``NEAREST_FLOOR`` within a note, where lines are compared with each other: they share the topic."""
    near_read: int = 0
    """Number of the nearest chunks that are read whatever their words: the hundredth best of squeezed cosines is large.
    """
    signs_as_written: float = 1.0
    """How much a run of signs in a script without blanks, and each part of it, counts as matched exactly: in full if
    the model can't read the script."""
    floor: float = 0.62
    """Least sum of the cosine of the best chunk and the nearness of its words, for an answer."""
    clear: float = 0.75
    """The same for the best chunk to be enough by itself; below it, others have to be near too."""
    floor_common: float = 0.65
    """Least nearness of the best chunk together with those further down the list
    (:data:`tars_memory.recall.search.COMMON`)."""
    above_usual: float = 0.44
    """Least distance of a chunk from what is usual in the vault (:attr:`tars_memory.recall.candidates.Pool.usual`),
    with the share of the query's idf that it contains added: all texts of a language that the model doesn't know are
    near to each other. In a small vault less is enough, as of the floors."""
    strangeness: float = 2.0
    """Factor of what is added to ``floor`` if no note contains a word of the query, and it is stranger than any
    language: pieces of unknown words may be near to anything. 240 strings of nonsense come to 0.91 at most, in a vault
    of 38 chunks."""
    floor_of_hit: float = 0.50
    """``floor`` for a hit that contains none of the query's words: lower, for other hits have shown that there is an
    answer."""
    floor_of_name: float = 9.0
    """Cosine with a note's name that is enough for an answer; a strange query has to reach more, as above."""
    same_unspaced: float = 0.0
    """Added to the three floors where query and answer are in scripts without blanks."""
    other_script: float = 0.0
    """Added to the floors where one of them is in a script without blanks and the other isn't."""
    own_language: float = 0.07
    """Added to the floors where the vault contains at least half of a query's words, and they are not an English
    sentence: a query in the language of the notes has function words that are in all of them and near in meaning."""
    few_words: int = 4
    """Maximum number of words of a query in which a rare word that a note contains is an answer by itself: in a
    sentence in another language than that of the vault, every particle is rare."""
    floor_of_rare: float = 0.31
    """Least BM25 of a chunk, as a share of the query's summed idf, for a rare word of a longer query: 48 German
    descriptions of pages have .36 or more, 95 % of French and Spanish questions at most .28."""
    floor_of_rare_signs: float = 0.15
    """The same for a query in a script without blanks: it has many pairs of signs, of which notes contain few. 94 % of
    Chinese descriptions have more, 70 % of everyday questions less."""

    def name(self, query: str) -> float:
        """Return the weight of the cosine of a query with a note's name."""
        return self.names_of_short if len(query.encode("utf-8", "replace")) <= LENGTH_OF_A_NAME else self.names

    def meaning(self, cosine: float) -> float:
        """Convert a cosine to the scale of the weights and floors."""
        return (cosine - self.chance) / (1 - self.chance)


class _E5(Scale):
    """Scale of multilingual-e5: its cosines are squeezed (unrelated texts .76 to .84, answers .84 to .96). Measured in
    docs/development/ranking.md: results are flat for a chance of .75 to .80 and a weight of .9 to 2.
    """

    chance = 0.78
    chance_of_words = 0.25
    best_meaning = 1.25
    names = 0.03
    names_of_short = 0.20
    line_nearest = 0.50
    lines_above = 0.10
    near_read = 24
    signs_as_written = 0.1
    floor = 0.34
    clear = 0.52
    floor_common = 0.32
    above_usual = 0.60
    strangeness = 1.2
    floor_of_hit = 0.27
    floor_of_name = 0.36
    same_unspaced = 0.22
    other_script = -0.08
    few_words = 3
    floor_of_rare = 9.0
    floor_of_rare_signs = 9.0


STRANGE = 0.65
"""Strangeness (:attr:`tars_memory.index.models.QueryVector.strange`) up to which a query counts as language: questions
in seven languages have .45 to .75, nonsense .66 or more."""
UNMEASURED = 0.81
"""Strangeness of a query whose model doesn't measure it."""
_SCALES = {"multilingual": _E5()}
"""Scales by name of the model. Other models have the scale of the model that comes with ``[embedded]``."""

DEFAULT = Scale()


def scale_of(model: str) -> Scale:
    """Return the scale of a model, by its name."""
    return _SCALES.get(model, DEFAULT)


DAYS_AFTER = 7.0
DAYS_BEFORE = 3.0
"""Days in which the worth of a named date falls to 1/e: people write about a day on it or in the week after it."""
SHARE_OF_LATEST = 1 / 3
"""Share of the worth of a date without a year that only days of the latest year have."""
LONGEST_DATE = 40
"""Length in days above which a stretch of time (a year) adds no candidates; it only raises those found by words or
meaning, the less the longer it is: too many notes are of that year."""


def shares_of(values: Mapping[int, float]) -> dict[int, float]:
    """Divide every value by the largest; returns nothing if none is positive."""
    most = max(values.values(), default=0.0)
    return {key: max(value, 0.0) / most for key, value in values.items()} if most > 0 else {}


def scale(values: Iterable[float], least: float = 0.0) -> float:
    """Return the factor that brings the largest value to 1, or below if it is less than ``least``; 0 if none is
    positive.
    """
    most = max(values, default=0.0)
    return 1 / max(most, least) if most > 0 else 0.0


def date_fit(days: int) -> float:
    """Return how well a day fits that is ``days`` days after (if negative, before) a named date; 1 inside it."""
    return math.exp(-days / DAYS_AFTER) if days >= 0 else math.exp(days / DAYS_BEFORE)


def date_worth(days: int, from_latest: int, length: int) -> float:
    """Return what it is worth that a day fits a named date.

    Args:
        days: from the date, as in :func:`date_fit`.
        from_latest: the same from the date in the latest year, if it has no year.
        length: of the date in days.
    """
    fit = (1 - SHARE_OF_LATEST) * date_fit(days) + SHARE_OF_LATEST * date_fit(from_latest)
    return fit * min(1.0, LONGEST_DATE / length)


# --- late interaction: for every word of the query, the nearest word of a line, each in its context
#
# Khattab and Zaharia, "ColBERT", 2020 (MaxSim); here on the word vectors of the embedding model that is loaded anyway,
# one bit a dimension: the sign. The share of equal signs of two vectors estimates the angle between them, and a bit a
# dimension ranks like the floats (measured: note R@5 87.2 against 87.4), without numpy.


def numbers(words: Sequence[bytes]) -> list[int]:
    """Convert the bits of each word to one integer."""
    return [int.from_bytes(word, "little") for word in words]


def by_line(counts: bytes, bits: bytes, width: int) -> list[list[int]]:
    """Unpack the words of a chunk as integers, line by line.

    Args:
        counts: the number of words of each line, one byte each.
        bits: of all words, in order.
        width: bytes of one word; 0 if there are no words.
    """
    if not width:
        return [[] for _ in counts]
    lines: list[list[int]] = []
    at = 0
    for count in counts:
        end = at + count * width
        lines.append([int.from_bytes(bits[i : i + width], "little") for i in range(at, end, width)])
        at = end
    return lines


def nearest(asked: Sequence[int], words: Sequence[int], dimension: int, chance: float = 0.0) -> list[float]:
    """Return for each word of the query the nearness of the nearest word: 1 if equal, 0 if orthogonal or without words.

    Args:
        asked: words of the query.
        words: to search.
        dimension: number of bits of a word.
        chance: nearness that is moved to 0.
    """
    if not words:
        return [0.0] * len(asked)
    half = (1 - chance) * dimension / 2
    return [1.0 - min(map(int.bit_count, map(word.__xor__, words))) / half for word in asked]


def mean(values: Sequence[float]) -> float:
    """Return the mean nearness of the words of a query; 0 without words."""
    return sum(values) / len(values) if values else 0.0


# --- worth of a line apart from its words: its tier, its age, whether it still holds
#
# Small enough for a tie-break: of two lines that answer equally well the one worth more comes first, and no line falls
# behind a worse answer for being older. Of lines that say the same in the same words the newest comes first in any case
# (:func:`tars_memory.recall.scores.rank`).


TIER_WORTH = {"semantic": 0.02, "procedural": 0.02}
"""Added by tier: approved lines come before the daily lines that they came from."""
RECENCY_WORTH = 0.02
"""Added to lines of today and of tiers that never fade. Measured on conversations as if it were the day after the last
of them: .015 to .03 change no figure by more than .4, .05 costs .4 and .08 costs .9 (docs/development/ranking.md)."""
LINES_COMPARED = 20
"""Number of the best lines for which newer lines that say the same are searched."""
SAME_WORDS = 0.6
"""Share of the words of two lines together that are in both, from which on the lines say the same."""
SAME_WORDS_ASKED, MUCH_ASKED = 0.3, 0.5
"""``SAME_WORDS`` for a line that contains at least ``MUCH_ASKED`` of the question's idf: other differences are what has
changed since. On conversations no figure changes by more than .2, by words and hybrid; .2 of the words costs an MRR of
.4."""
REPEATED = -0.10
"""Penalty of a line of a session note that repeats a turn: below the turn, and what was drawn of it."""
PENALTY = -0.15
"""Penalty of a line that is marked as expired or, outside daily notes, as rejected, of one that was replaced, or holds
no more or not yet, and of one that many notes share word for word: such a line is found below similar lines, and is no
evidence for its note. At -.10 the line of a plan that was replaced since stood before the one that is in force."""


def fading(tier: str, day: str, today: date | None, half_lives: Mapping[str, float]) -> Fading:
    """Return how much of its worth a line has left.

    Args:
        tier: of its note.
        day: ISO, on which it was said; '' if it is unknown: then a tier that fades has faded.
        today: None if it is unknown: then nothing has faded.
        half_lives: in days, by tier; 0 or missing for a tier that doesn't fade.
    """
    half_life = half_lives.get(tier, 0)
    if not half_life or today is None:
        return Fading(None, 0, 1.0)
    try:
        age = max((today - date.fromisoformat(day)).days, 0)
    except ValueError:
        return Fading(None, half_life, 0.0)
    return Fading(age, half_life, float(0.5 ** (age / half_life)))


def validity(line: Line, today: date | None, named: Iterable[NamedDate] = ()) -> float:
    """Return the penalty of a line that is rejected or expired, doesn't hold today or repeats another line; else 0.

    If a question names days, a line has to hold on one of them instead of today; days of any year excuse all lines.
    """
    if line.state in ("rejected", "expired"):
        return PENALTY
    if line.kind == "repeated":
        return REPEATED
    asked = [(stretch.start, stretch.end, stretch.yearless) for stretch in named]
    if today is not None:
        asked = asked or [(today, today, False)]
    held = not asked or any(yearless or _holds(line, first, last) for first, last, yearless in asked)
    return 0.0 if held else PENALTY


def _holds(line: Line, first: date, last: date) -> bool:
    """Whether a line holds on any of these days."""
    return line.since <= last.isoformat() and (not line.until or first.isoformat() < line.until)
