"""What makes up a line's score: the words of a query that it holds (stems, counts, BM25), how near its words are to the
query's, what its standing is worth; and every constant with its source, the scale of each model. Pure.

FTS5 ranks chunks and notes; the line that answers is found here with the same words, stems and idf. It takes over how
its note and its chunk match and adds how itself does.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import fold_signs
from tars_memory.language.words import WORD, fold, is_run, stem, symbols
from tars_memory.recall.query import Fading, Query
from tars_memory.settings import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tars_memory.language.dates import NamedDate
    from tars_memory.vault.model import Line


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


# --- which chunks are read line by line
ROUGH_WORDS = 0.5
ROUGH_MEANING = 0.5
ROUGH_NOTE = 0.3
ROUGH_DATE = 0.3
"""The sum of normalised scores that beat reciprocal ranks on five public sets (65.3 against 56.1); .4–.6 is flat."""

NEARBY_FROM = 0.9
"""Where fewer of the best chunks by words have a vector (:attr:`tars_memory.recall.candidates.Pool.coverage`),
what only the neighbours name is not looked at: a chunk is not better than others for having a vector already."""

# --- which notes come first
NOTE_WORDS = 0.14
NOTE_DATE = 0.30
NOTE_BEST = 0.25
NOTE_CHUNK_NEAREST = 0.15
NOTE_NEAREST = 0.05
NOTE_LINE_NEAREST = 0.10
NOTE_FARTHEST = 0.05
NOTE_EXACT = 0.50
"""Weights of the whole note's BM25, of its day, of the best line in it (next group), and of how near its words are to
the query's: those of its best chunk, of all that is read of it together, of its best line with the line before, and of
what it has for the one word of the query that it is farthest from: a note that knows all of a claim but one word
speaks of something else. And of the share of the query that was written to be matched as it stands (a quote,
``10.0.0.1``, ``C++``, 東京, ``auto*``) and is."""
NOTE_BEST_BY_WORDS = 0.40
"""Without a model: the best line has to speak for its chunk's nearest words too."""
BEST_WORDS = 0.25
BEST_CHUNK_WORDS = 0.10
BEST_CHUNK_MEANING = 0.70
BEST_SPEAKER = 0.30
"""What makes a line the best of its note, as far as the order of notes goes."""

NOTE_NAME = 0.30
"""What a name of the note inside the query is worth, if it is all of both."""
LINE_NAMED = 3.0
"""Of the best line of a note whose name the query is: more than the other parts come to together."""

# --- which lines of a note come first
LINE_WORDS = 0.10
LINE_CHUNK_WORDS = 0.20
LINE_CHUNK_MEANING = 0.10
LINE_NEAREST = 0.25
LINE_SPEAKER = 0.16
LINE_EXACT = 0.50
LINE_BESIDE = 0.20
"""The last: how well the chunks before and after match. An answer in a long note spreads over several."""
BEFORE = 0.6
"""A line inherits this much of the words of the line before it: a question is answered in the next line."""
SPREAD = 0.45
"""How far the lines of one note lie apart, in the scale of the notes' scores."""
NEAREST_FLOOR = 0.20
"""What unrelated words reach by chance; only what is above it counts."""
NEAREST_SPEAKER = 0.07
"""What the named speaker adds to how near a line's words are."""
LENGTH_OF_A_NAME = 40
"""Bytes of UTF-8: a Chinese name of as many signs says what an English one of three times the letters does. 95 % of
the names of 341 pages in two languages have 35 at most, 95 % of their descriptions 54 and more."""
LEAST_NEAREST = 0.20
LEAST_MEANING = 0.40
"""The best of the candidates counts as at least this far above the floor, as at least this near: where nothing is near
in meaning the differences are noise, and are not blown up. On the sets measured nearly every question has better."""


class Scale(Options):
    """How the likenesses that a model gives are read, so that one set of weights serves every model."""

    chance: float = 0.0
    """Cosine that counts as 0; equal texts still count as 1."""
    chance_of_words: float = 0.0
    """The same for how near two words are."""
    best_meaning: float = BEST_CHUNK_MEANING
    """What the cosine of the best line's chunk weighs in the order of notes."""
    names: float = 0.0
    """What the cosine with the note's name alone weighs in the order of notes; 0: no vectors of names are kept."""
    names_of_short: float = 0.0
    """The same for a query that is short enough to be a name (:data:`LENGTH_OF_A_NAME`)."""
    line_nearest: float = LINE_NEAREST
    """What a line's nearest words weigh among the lines of its note."""
    lines_above: float = NEAREST_FLOOR
    """``NEAREST_FLOOR`` within a note, where lines are told from each other: there no topic is foreign."""
    near_read: int = 0
    """So many of the nearest chunks are read whatever their words: of squeezed cosines the hundredth best is large."""
    signs_as_written: float = 1.0
    """What a run of signs in a script without blanks, and each part of it, counts as held as written: all of it if
    the model can't read the script."""
    floor: float = 0.62
    """Cosine of a chunk and how near its words are to the query's, together, have to reach this in the best chunk."""
    clear: float = 0.75
    """From here on one chunk is enough; below it, others have to come near, too."""
    floor_common: float = 0.65
    """What the best chunk and those further down the list have to reach together
    (:data:`tars_memory.recall.search.COMMON`)."""
    above_usual: float = 0.30
    """How far the best chunk has to stand above what is usual in the vault
    (:attr:`tars_memory.recall.candidates.Pool.usual`), together with the share of the query's idf that a chunk
    holds: all texts of a language that the model doesn't know are near to each other."""
    floor_unknown: float = 0.62
    """``floor`` for a query of which no note holds a word."""
    strangeness: float = 2.0
    """What is added to that for each 1 that such a query is stranger than a language is at most: pieces of unknown
    words may be near to anything. 240 strings of nonsense come to 0.91 at most, in a vault of 38 chunks."""
    floor_of_hit: float = 0.50
    """The same for a hit that holds none of the query's words: lower, for others have shown that there is an answer."""
    floor_of_name: float = 9.0
    """From here on the cosine with a note's name is enough by itself; a stranger query has to reach more, as above."""
    same_unspaced: float = 0.0
    """What is added to the three floors where query and answer are in scripts without blanks."""
    other_script: float = 0.0
    """The same where one of them is and the other isn't."""
    own_language: float = 0.15
    """The same where the vault holds half of a query's words, or more, and they are no English sentence: whoever asks
    in the language of the notes finds its function words in all of them, and near in meaning to each other. No
    question of a vault in German is lost by it up to .20."""
    few_words: int = 4
    """Words of a query up to which a rare one that is held is an answer by itself: in a sentence of a language that
    the vault is not written in, every particle is rare."""
    floor_of_rare: float = 0.31
    """What the BM25 of a chunk has to reach besides, as a share of the query's summed idf, for a rare word of a longer
    query: 48 German descriptions of pages have .36 and more, 95 % of French and Spanish questions .28 at most."""
    floor_of_rare_signs: float = 0.15
    """The same for a query in a script without blanks: its pairs of signs are many, and few are held. 94 % of Chinese
    descriptions have more, 70 % of everyday questions less."""

    def name(self, query: str) -> float:
        """What the cosine of that query with a note's name weighs."""
        return self.names_of_short if len(query.encode("utf-8", "replace")) <= LENGTH_OF_A_NAME else self.names

    def meaning(self, cosine: float) -> float:
        """A cosine as the weights and floors take it."""
        return (cosine - self.chance) / (1 - self.chance)


_E5 = Scale(
    chance=0.78,
    chance_of_words=0.25,
    best_meaning=1.25,
    names=0.03,
    names_of_short=0.20,
    line_nearest=0.50,
    lines_above=0.10,
    near_read=24,
    signs_as_written=0.1,
    floor=0.34,
    clear=0.52,
    floor_common=0.32,
    above_usual=0.48,
    floor_unknown=0.34,
    strangeness=1.2,
    floor_of_hit=0.27,
    floor_of_name=0.36,
    same_unspaced=0.22,
    other_script=-0.08,
    few_words=3,
    floor_of_rare=9.0,
    floor_of_rare_signs=9.0,
)
"""multilingual-e5: its cosines are squeezed (unrelated texts .76 to .84, answers .84 to .96). Measured in
docs/development/ranking.md: chance .75 to .80 and the weight from .9 to 2 are flat."""
STRANGE = 0.65
"""How strange (:attr:`tars_memory.index.models.QueryVector.strange`) questions are at most, as a rule:
from .45 to .75 in seven languages; nonsense from .66 on."""
UNTOLD = 0.81
"""How strange a query counts as whose model doesn't tell."""
_SCALES = {"multilingual": _E5}
"""By the model's name. The others are read as the one that comes with ``[embedded]``."""


DEFAULT = Scale()


def scale_of(model: str) -> Scale:
    """How the likenesses of that model are read."""
    return _SCALES.get(model, DEFAULT)


DAYS_AFTER = 7.0
DAYS_BEFORE = 3.0
"""How fast the worth of a named date fades: people write about a day on it or in the week after it."""


def shares_of(values: Mapping[int, float]) -> dict[int, float]:
    """Each value as a share of the largest; nothing if none is positive."""
    most = max(values.values(), default=0.0)
    return {key: max(value, 0.0) / most for key, value in values.items()} if most > 0 else {}


def scale(values: Iterable[float], least: float = 0.0) -> float:
    """What brings the largest of the values, or the least that it counts as, to 1; 0 if none is positive."""
    most = max(values, default=0.0)
    return 1 / max(most, least) if most > 0 else 0.0


def date_worth(days: int) -> float:
    """What a note's day is worth that lies so many days after (positive) or before a named date: 1 inside it."""
    return math.exp(-days / DAYS_AFTER) if days >= 0 else math.exp(days / DAYS_BEFORE)


# --- late interaction: every word of the query looks for the nearest word of a line, as seen in its sentence
#
# Khattab and Zaharia, "ColBERT", 2020 (MaxSim); here on the word vectors of the embedding model that is loaded anyway,
# one bit a dimension: the sign. The share of equal signs of two vectors estimates the angle between them, and a bit a
# dimension ranks like the floats (measured: note R@5 87.2 against 87.4), without numpy.


def numbers(words: Sequence[bytes]) -> list[int]:
    """The bits of each word as one integer."""
    return [int.from_bytes(word, "little") for word in words]


def by_line(counts: bytes, bits: bytes, width: int) -> list[list[int]]:
    """A chunk's packed words as integers, line by line.

    Args:
        counts: for each line how many words it has, one byte each.
        bits: of all words, in order.
        width: bytes of one word; 0 if there is none.
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
    """For each word of the query, how near the nearest of the words is: 1 equal, 0 at right angles; 0 without words.

    With a ``chance`` 0 is where one of that nearness was.
    """
    if not words:
        return [0.0] * len(asked)
    half = (1 - chance) * dimension / 2
    return [1.0 - min(map(int.bit_count, map(word.__xor__, words))) / half for word in asked]


def mean(values: Sequence[float]) -> float:
    """The mean of what every word of the query found; 0 without words."""
    return sum(values) / len(values) if values else 0.0


# --- what a line is worth beside its words: its tier, its age, whether it still holds
#
# Sizes of a tie-break: of two lines that answer equally well the better one comes first, and no answer gives way to a
# worse one for being older. Of lines that say the same in the same words the newest comes first whatever else parts
# them (:func:`tars_memory.recall.scores.rank`).


TIER_WORTH = {"semantic": 0.02, "procedural": 0.02}
"""What the person approved stands before the day on which it was said. Other tiers: nothing."""
RECENCY_WORTH = 0.02
"""Of what is said today, and of all that never fades. Measured on conversations as if it were the day after the last
of them: .015 to .03 change no figure by more than .4, .05 costs .4 and .08 costs .9 (docs/development/ranking.md)."""
LINES_COMPARED = 20
"""Of so many of the best lines it is looked whether a newer one says the same."""
SAME_WORDS = 0.6
"""The share of the words of two lines together that both hold, from which on they say the same."""
SAME_WORDS_ASKED, MUCH_ASKED = 0.3, 0.5
"""The same for a line that holds so much of the question's idf: what else differs is what has changed since. On
conversations no figure changes by more than .2, by words and hybrid; .2 of the words costs an MRR of .4."""
OVER = -0.10
"""Of a candidate that nobody took up in time, and of a fact that has ended: below its like, still found."""
BOILERPLATE = -0.15
"""Of a line that many notes share word for word: below what one of them says itself."""
REFUSED = -10.0
"""Of a candidate that was rejected: below everything else."""


def fading(tier: str, day: str, today: date | None, half_lives: Mapping[str, float]) -> Fading:
    """How much of its worth a line of that tier has left.

    Args:
        tier: of its note.
        day: ISO, on which it was said; '' if nothing tells: then a tier that fades has faded.
        today: None if it is unknown; then nothing has faded.
        half_lives: in days, by tier; 0 or none for a tier that doesn't fade.
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
    """Of a line that was rejected, has expired, states a fact that has ended or says again what was said; else nothing.

    A fact that held on a day which the question names is as good as any.
    """
    if line.state in ("rejected", "expired"):
        return REFUSED if line.state == "rejected" else OVER
    if line.kind == "repeated":
        return OVER
    if not line.until or today is None or line.until > today.isoformat():
        return 0.0
    return 0.0 if any(stretch.start.isoformat() < line.until for stretch in named) else OVER
