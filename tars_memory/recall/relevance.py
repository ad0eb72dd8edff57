"""Whether anything found is an answer at all: an absolute floor, so that nonsense gets nothing, not neighbours.

Measured with questions and claims of one set put to the notes of another, and 100 everyday questions put to all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.lexical import idf
from tars_memory.recall.stemming import stem

if TYPE_CHECKING:
    from tars_memory.recall.candidates import Candidate, Pool
    from tars_memory.recall.lexical import Terms
    from tars_memory.recall.query import Query

HELD_WORTH = 0.5
FLOOR = 0.5
"""Cosine of a chunk plus this much of the share of the query's idf that it holds has to reach the floor.

On locomo-dev 99.5 % of the answerable questions do, of everyday questions 2 %, of questions about meetings 3 %."""
MEANING_FLOOR = 0.35
"""The same when there is nothing but the cosine."""
WORDS_FLOOR = 0.36
"""The same when there are nothing but words, for the share that one note holds."""
RARE = 0.01
FEW = 3
"""A word is rare that no more than this share of all chunks, or this many, hold. Who types it by itself means it."""
DAY_MET = 0.9
"""How well a day has to fit a named date for the words of that date to count as held."""


def answers(query: Query, terms: Terms, pool: Pool, mode: str) -> bool:
    """Whether the pool holds anything near enough in meaning, or enough of what was asked."""
    if mode == "semantic":
        return pool.nearest >= MEANING_FLOOR
    weights = {term: pool.idfs[term] for term in terms.keys}
    total = sum(weights.values())
    if not total:
        return False
    date_stems = {stem(word) for word in query.date_words}
    notes: dict[int, set[str]] = {}
    for chunk in pool.chunks:
        held = _held(chunk, weights, date_stems)
        notes.setdefault(chunk.row.note_id, set()).update(held)
        share = sum(weights[term] for term in held) / total
        if chunk.meaning is not None and max(chunk.meaning, 0.0) + HELD_WORTH * share >= FLOOR:
            return True
    if not query.is_sentence and _holds_rare(pool, set().union(*notes.values())):
        return True
    if mode == "hybrid":
        return False
    return any(sum(weights[term] for term in held) >= WORDS_FLOOR * total for held in notes.values())


def _held(chunk: Candidate, weights: dict[str, float], date_stems: set[str]) -> set[str]:
    """The terms that a chunk holds; on a day that was named also the words of that date."""
    held = {term for term in chunk.counts if term in weights}
    if chunk.date >= DAY_MET:
        held |= date_stems & weights.keys()
    return held


def _holds_rare(pool: Pool, held: set[str]) -> bool:
    """Whether one of the held terms is rare."""
    rare = idf(pool.rows, max(FEW, int(pool.rows * RARE)))
    return any(pool.idfs[term] >= rare for term in held)
