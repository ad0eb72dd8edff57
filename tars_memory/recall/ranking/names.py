"""Notes that a query names: who types a note's name wants that note, whatever else holds the word."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.index.naming import key, keys_within, name_parts, names_of
from tars_memory.recall.ranking.lexical import heads_of, idf
from tars_memory.recall.ranking.stemming import stem
from tars_memory.recall.ranking.words import is_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tars_memory.index.filters import Filter
    from tars_memory.index.reader import ChunkRow, IndexReader
    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.lexical import Terms

NAMESAKES = 3
"""A name that more notes share names none of them."""


class Called(NamedTuple):
    """The notes that a query names.

    Attributes:
        whole: those whose name it is.
        inside: those whose name stands in it, the former too.
        blank: the paths of the former that hold nothing.
    """

    whole: frozenset[int]
    inside: frozenset[int]
    blank: tuple[str, ...]


def called(reader: IndexReader, query: Query, within: Filter) -> Called:
    """The notes that the query names, of those that may answer."""
    whole: list[tuple[int, str, bool]] = []
    inside: set[int] = set()
    if query.meaning and query.selection is None:
        asked = key(query.meaning)
        for name, notes in reader.called(keys_within(query.meaning), within).items():
            if len(notes) <= NAMESAKES:
                inside.update(note for note, _, _ in notes)
                if name == asked:
                    whole = notes
    blank = tuple(path for _, path, is_blank in whole if is_blank)
    return Called(frozenset(note for note, _, _ in whole), frozenset(inside), blank)


@lru_cache(maxsize=8192)
def stems_of(name: str) -> frozenset[str]:
    """The words of a name as they are compared with a query's."""
    return frozenset(map(stem, name_parts(name)))


def shares(
    reader: IndexReader, rows: Iterable[ChunkRow], terms: Terms, idfs: Mapping[str, float], total: int
) -> dict[int, float]:
    """How much of the query names each note: the share of its idf that a name covers, times the share of the name's idf
    that is covered. Of several names the best counts.

    Args:
        reader: the index.
        rows: of the notes in question.
        terms: of the query.
        idfs: of these.
        total: chunks in the index.
    """
    pairs = (literal for literal in terms.literals if len(literal) < 3 or not is_run(literal))
    asked = {term: idfs[term] for term in (*terms.stems, *pairs) if len(term) > 1 and term in idfs}
    known = sum(asked.values())
    if not known:
        return {}
    heads = {head[:3] for head in heads_of(tuple(asked))}
    notes = {row.note_id: row for row in rows}
    named: dict[str, list[int]] = {}
    parts_of: dict[str, frozenset[str]] = {}
    for note, row in notes.items():
        for name in names_of(row.path, row.title, row.aliases):
            if name.isascii() and not any(map(name.lower().__contains__, heads)):
                continue
            parts = stems_of(name)
            if not parts.isdisjoint(asked) and (one := key(name)):
                parts_of.setdefault(one, parts)
                if note not in (others := named.setdefault(one, [])):
                    others.append(note)
    shared = reader.shared_names(named, NAMESAKES)
    rest = {part for one in named if one not in shared for part in parts_of[one]} - asked.keys()
    held = reader.frequencies(rest)
    found: dict[int, float] = {}
    for one, those in named.items():
        if one in shared:
            continue
        covered = sum(asked[part] for part in parts_of[one] if part in asked)
        whole = covered + sum(idf(max(total, 1), min(held[part], total)) for part in parts_of[one] if part in held)
        share = min(1.0, covered / known) * (covered / whole if whole else 0.0)
        for note in those:
            found[note] = max(found.get(note, 0.0), share)
    return found
