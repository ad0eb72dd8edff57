"""What to light up in a hit on a terminal: the words that matched, by their stems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.ranking.words import Terms

if TYPE_CHECKING:
    from tars_memory.recall.query import Query


def spans(query: Query, text: str) -> list[tuple[int, int]]:
    """Where what the query looks for stands in the text: ``(start, end)`` pairs, in order, disjoint."""
    return Terms(query).spans(text)
