"""Whether anything found is an answer at all: an absolute floor, so that nonsense gets nothing, not neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.lexical import idf

if TYPE_CHECKING:
    from tars_memory.recall.candidates import Pool
    from tars_memory.recall.lexical import Terms

STRONG_COSINE = 0.35
"""A cosine above which a chunk is about the question whatever its words."""
COVERED = 0.5
"""Share of the query's idf that one chunk has to hold when its cosine says little."""
RARE = 0.01
"""Share of all chunks below which a word is rare: whoever types it means it."""


def answers(terms: Terms, pool: Pool) -> bool:
    """Whether the pool has a chunk near enough in meaning, or one that holds enough of what was asked."""
    if not pool.chunks:
        return False
    best = max((chunk.meaning for chunk in pool.chunks if chunk.meaning is not None), default=0.0)
    if best >= STRONG_COSINE:
        return True
    unknown = idf(max(pool.rows, 1), 0)
    weights = {term: pool.idfs.get(term, unknown) for term in terms.keys}
    total = sum(weights.values())
    if total <= 0:
        return any(chunk.counts for chunk in pool.chunks)
    rare = idf(max(pool.rows, 1), int(pool.rows * RARE))
    for chunk in pool.chunks:
        held = [weights[term] for term in chunk.counts if term in weights]
        if held and (sum(held) >= COVERED * total or max(held) >= rare):
            return True
    return False
