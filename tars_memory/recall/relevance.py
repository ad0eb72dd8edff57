"""Whether anything found is an answer at all: an absolute floor, so that nonsense gets nothing, not neighbours.

Measured with questions and claims of one set put to the notes of another, and 100 everyday questions put to all.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from tars_memory.recall.interaction import mean
from tars_memory.recall.lexical import idf
from tars_memory.recall.stemming import stem

if TYPE_CHECKING:
    from tars_memory.recall.candidates import Candidate, Pool
    from tars_memory.recall.query import Query

FLOOR = 0.66
"""Cosine of a chunk and how near its words are to the query's, together, have to reach this.

99.9 % of the answerable questions on locomo-dev do and 98 % of those on scifact-dev; of 100 everyday questions 5 %, of
the questions of one set put to the notes of another 5 to 20 %."""
NOISE, NOISE_GROWTH = 0.25, 0.062
"""How near the nearest of n unrelated chunks is, as NOISE + NOISE_GROWTH * ln(n): the best of many draws grows with
their logarithm. Measured as the 95th percentile over 100 everyday questions and random choices of 1 to 700 chunks of
locomo-dev (0.24 for one, 0.39 for 10, 0.53 for 100); :data:`FLOOR` is what it comes to at 700. In a small vault less
is noise, so less is enough: the floors of an answer shrink in proportion."""
FLOOR_UNKNOWN = 0.85
"""The same for a query of which no note holds a word: pieces of unknown words may be near to anything."""
FLOOR_OF_HIT = 0.50
"""The same for a hit that holds none of the query's words: lower, for others have shown that there is an answer."""
FLOOR_WITHOUT_WORDS = 0.50
HELD_WORTH = 0.50
"""With a model that gives no word vectors: cosine plus this much of the share of the query's idf that a chunk holds."""
FLOOR_OF_WORDS = 0.28
"""Without a model: BM25 of a chunk over the sum of the query's idf. 99 % of the answerable questions reach it, and 35
to 68 of 100 everyday questions: words alone know less of what was meant."""
RARE = 0.005
FEW = 2
"""A word is rare that no more than this share of all chunks, or this many, hold."""
RARE_SHARE = 0.4
"""A rare word that says this much of the query (by idf) always passes; typed by itself, any word does."""
DAY_MET = 0.9
"""How well a day has to fit a named date for the words of that date to count as held."""


def answers(query: Query, pool: Pool, mode: str) -> bool:
    """Whether the pool holds anything near enough in meaning, or enough of what was asked."""
    small = min(1.0, noise(pool.rows) / FLOOR)
    if mode == "semantic":
        return any(near(chunk, FLOOR * small) for chunk in pool.chunks)
    total = sum(pool.idfs.values())
    if not total:
        return False
    date_stems = {stem(word) for word in query.date_words}
    held = {id(chunk): _held(chunk, pool.idfs, date_stems) for chunk in pool.chunks}
    if _holds_rare(query, pool, set().union(*held.values()), total):
        return True
    shares = {chunk: sum(pool.idfs[term] for term in terms) / total for chunk, terms in held.items()}
    if max(shares.values(), default=0.0) == 1.0 and (query.dates or not query.is_sentence):
        return True
    if mode == "hybrid":
        floor = FLOOR if any(shares.values()) else FLOOR_UNKNOWN
        return any(near(chunk, floor * small, shares[id(chunk)]) for chunk in pool.chunks)
    return any(chunk.words >= FLOOR_OF_WORDS * total for chunk in pool.chunks)


def noise(chunks: int) -> float:
    """How near an unrelated chunk may be, in an index of so many chunks."""
    return NOISE + NOISE_GROWTH * log(max(1, chunks))


def near(chunk: Candidate, floor: float, share: float = 0.0) -> bool:
    """Whether a chunk is near enough in meaning.

    Args:
        chunk: of the pool.
        floor: for cosine and words together.
        share: of the query's idf that the chunk holds; counts where the model gives no word vectors.
    """
    if chunk.meaning is None:
        return False
    best: list[float] = []
    for line in chunk.lines:
        best = list(map(max, best, line.nearest)) if best and line.nearest else best or line.nearest
    if best:
        return chunk.meaning + mean(best) >= floor
    return max(chunk.meaning, 0.0) + HELD_WORTH * share >= FLOOR_WITHOUT_WORDS * floor / FLOOR


def shows(chunk: Candidate, chunks: int) -> bool:
    """Whether lines of the chunk may be hits: it holds a word of the query, is of the day named, or is near enough.

    ``chunks`` is the size of the index.
    """
    return bool(chunk.counts) or chunk.date >= DAY_MET or near(chunk, min(FLOOR_OF_HIT, noise(chunks)))


def _held(chunk: Candidate, idfs: dict[str, float], date_stems: set[str]) -> set[str]:
    """The terms that a chunk holds; on a day that was named also the words of that date."""
    held = {term for term in chunk.counts if term in idfs}
    if chunk.date >= DAY_MET:
        held |= date_stems & idfs.keys()
    return held


def _holds_rare(query: Query, pool: Pool, held: set[str], total: float) -> bool:
    """Whether one of the held terms is rare and says much of the query."""
    rare = idf(pool.rows, max(FEW, int(pool.rows * RARE)))
    return any(
        pool.idfs[term] >= rare and (not query.is_sentence or pool.idfs[term] >= RARE_SHARE * total or is_code(term))
        for term in held
    )


def is_code(term: str) -> bool:
    """Whether the term is a name that nobody types by chance: letters with digits, such as ``x200`` or ``b12f``."""
    return len(term) > 3 and any(map(str.isdigit, term)) and any(map(str.isalpha, term))
