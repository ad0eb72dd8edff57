"""The lines that answer, best first: what packing takes, where search makes passages of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall import ranking, relevance
from tars_memory.recall.candidates import gather
from tars_memory.recall.lexical import Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.index.queryvector import QueryVector
    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.query import Query

POOL = 50
"""Hits that the candidates are gathered for: on locomo-dev the lines of 75 chunks hold 97 % of the gold ones."""


class Answer:
    """One line of the index that answers.

    Attributes:
        path: of its note.
        number: 1-based.
        text: verbatim; of an oversized line a piece.
        partial: it is a piece.
    """

    __slots__ = ("number", "partial", "path", "text")

    def __init__(self, path: str, number: int, text: str, partial: bool = False) -> None:
        self.path = path
        self.number = number
        self.text = text
        self.partial = partial


def ranked(
    reader: IndexReader, query: Query, *, vector: QueryVector | None = None, mode: str = "hybrid", scope: str = ""
) -> list[Answer]:
    """The lines that answer a query, best first; none if nothing is relevant. Parameters as for search."""
    from tars_memory.index.filters import Filter

    if mode == "lexical" or vector is None:
        vector, mode = None, "lexical"
    if not query.searches:
        return []
    pool = gather(reader, query, Terms(query), Filter(scope=scope), vector, by_words=mode != "semantic", limit=POOL)
    if not relevance.answers(query, pool, mode):
        return []
    ranking.rank(pool, query)
    lines = [line for chunk in pool.chunks if relevance.shows(chunk, pool.rows) for line in chunk.lines]
    found: list[Answer] = []
    for line in sorted(lines, key=lambda line: -line.score):
        row = line.chunk.row
        found.append(Answer(row.path, line.number, line.chunk.texts[line.index], row.partial))
    return found


def settled(found: Sequence[Answer], notes: dict[str, list[str]]) -> list[tuple[str, int]]:
    """Where the lines stand in the notes now, in the same order, each once; those that are gone are left out.

    Args:
        found: best first.
        notes: the lines of their notes, as far as these can be read.
    """
    places: dict[tuple[str, int], None] = {}
    where: dict[str, dict[str, list[int]]] = {}
    for line in found:
        lines = notes.get(line.path)
        if lines is None:
            continue
        number = line.number
        here = lines[number - 1] if 0 < number <= len(lines) else None
        if here is None or (here != line.text and not (line.partial and line.text in here)):
            if line.partial:
                candidates = [i for i, text in enumerate(lines, 1) if line.text in text]
            else:
                if line.path not in where:
                    where[line.path] = {}
                    for i, text in enumerate(lines, 1):
                        where[line.path].setdefault(text, []).append(i)
                candidates = where[line.path].get(line.text, [])
            if not candidates:
                continue
            number = min(candidates, key=lambda i: abs(i - line.number))
        places[line.path, number] = None
    return list(places)
