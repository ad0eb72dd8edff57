"""The chunks that the index names for a query, by words, meaning and date, and which of them are worth reading."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import expression
from tars_memory.recall.ranking import fusion
from tars_memory.recall.ranking.words import is_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tars_memory.index.filters import Filter
    from tars_memory.index.reader import ChunkRow, IndexReader, NoteRow
    from tars_memory.recall.query import Query

CHUNKS_BY_WORDS = 300
NOTES_BY_WORDS = 200
CHUNKS_BY_MEANING = 100
CHUNKS_BY_DATE = 100
CHUNKS_BY_PREFIX = 500
"""How many candidates each way names at most. sqlite-vec's selection costs rows times neighbours: 100 at 150,000 rows
cost a tenth more than 10, 300 cost half as much again."""
CHUNKS_READ = 50
"""How many of them are read line by line: 40 to 200 score alike on three sets (docs/development/ranking.md)."""
COMPARED = 80
"""Of so many of the best by words it is asked how many have a vector."""
DATED_READ = 20
"""Of the days that the query names at least that many of the best are read: a word that hundreds of days hold (``gym
yesterday``) names the day's own chunk no sooner than the others."""
CHUNKS_OF_NOTE = 3
"""So many of its chunks speak for a note in a script without blanks; whole notes are indexed by words alone."""
NOTES_OPENED = 10
"""Of that many best notes at least the first chunk is read: an alias or a property may be all that matched."""
LONGEST_DATE = 40
"""Days: a longer stretch (a year) names no candidates by itself, it only lifts those that words or meaning name."""
LOST_BY_STEMMING = 5
"""Letters that the stem of a word may be shorter than a beginning of it: ``runni*`` has to find ``run``."""


class Shortlist:
    """What the index says of the chunks that it names."""

    def __init__(self) -> None:
        self.words: dict[int, float] = {}
        self.notes: dict[int, float] = {}
        self.literal: dict[int, float] = {}
        self.near: dict[int, float] = {}
        self.dated: list[int] = []


def name_by_words(reader: IndexReader, query: Query, narrowed: Filter, named: Shortlist, limit: int) -> None:
    """BM25 by chunk and by note; chunks that hold a literal or a beginning of a word, with the share of those held.

    Never fewer than the hits that are wanted.
    """
    most = max(CHUNKS_BY_WORDS, limit)
    match = _expression(query)
    if match:
        named.words = dict(reader.match_chunks(match, narrowed, most))
        named.notes = dict(reader.match_notes(match, narrowed, NOTES_BY_WORDS))
    runs = [literal for literal in query.literals if is_run(literal)]
    if runs:
        _add_signs(reader, runs, narrowed, named, most)
    others = [literal for literal in query.literals if literal not in runs]
    for chunk, held in reader.match_text(others, narrowed, most) if others else ():
        named.literal[chunk] = held / len(others)
    if query.prefixes:
        match = expression((), prefixes=[prefix[: max(3, len(prefix) - LOST_BY_STEMMING)] for prefix in query.prefixes])
        for chunk, _ in reader.match_chunks(match, narrowed, CHUNKS_BY_PREFIX):
            named.literal.setdefault(chunk, 1.0)


def _add_signs(reader: IndexReader, runs: Sequence[str], narrowed: Filter, named: Shortlist, most: int) -> None:
    """BM25 of what is written without blanks; of whole notes that of their best chunks."""
    scored = dict(reader.match_signs(runs, narrowed, most))
    of_note: dict[int, list[float]] = {}
    for chunk, (note, _) in reader.places(scored).items():
        named.words[chunk] = named.words.get(chunk, 0.0) + scored[chunk]
        of_note.setdefault(note, []).append(scored[chunk])
    for note, found in of_note.items():
        named.notes[note] = named.notes.get(note, 0.0) + sum(sorted(found)[-CHUNKS_OF_NOTE:])
    named.notes = dict(sorted(named.notes.items(), key=lambda pair: -pair[1])[:NOTES_BY_WORDS])


def _expression(query: Query) -> str:
    """The FTS5 query for its words and phrases, any of them."""
    return expression([*query.words, *(" ".join(phrase) for phrase in query.phrases)])


def name_by_date(reader: IndexReader, query: Query, narrowed: Filter, named: Shortlist) -> None:
    """Chunks of the days that the query names: they may answer without holding one of its words.

    Where words have named as many chunks as they may, those of the day can be missing among them: they are weighed too.
    """
    match = _expression(query) if len(named.words) >= CHUNKS_BY_WORDS else ""
    for stretch in query.dates:
        if (stretch.end - stretch.start).days <= LONGEST_DATE and not stretch.yearless:
            inside = _between(narrowed, stretch.start.isoformat(), stretch.end.isoformat())
            if match:
                by_words = dict(reader.match_chunks(match, inside, CHUNKS_BY_DATE))
                named.words.update(by_words)
                named.dated += by_words
            named.dated += reader.newest(inside, CHUNKS_BY_DATE)
    named.dated = list(dict.fromkeys(named.dated))


def _between(narrowed: Filter, start: str, end: str) -> Filter:
    """The same filter, for these days at most."""
    return narrowed._replace(since=max(start, narrowed.since or start), until=min(end, narrowed.until or end))


def best(
    reader: IndexReader, query: Query, named: Shortlist, ids: Sequence[int], most: int, near_read: int = 0
) -> list[int]:
    """The chunks worth reading, by the sum of what the index says of them; the ``near_read`` nearest in any case."""
    if len(ids) <= most:
        return list(ids)
    notes = {chunk: note for chunk, (note, _) in reader.places(ids).items()}
    dates: dict[int, float] = {}
    if query.dates:
        dates = {row.id: date_fit(query, row) for row in reader.notes(set(notes.values())).values()}
    words = fusion.shares_of(named.words)
    note_words = fusion.shares_of(named.notes)
    near = fusion.shares_of(named.near)
    beyond = min(near.values(), default=0.0)  # what the KNN did not name is no nearer than the last that it did
    rough = {
        chunk: fusion.ROUGH_WORDS * max(words.get(chunk, 0.0), named.literal.get(chunk, 0.0))
        + fusion.ROUGH_MEANING * near.get(chunk, beyond)
        + fusion.ROUGH_NOTE * note_words.get(note, 0.0)
        + fusion.ROUGH_DATE * dates.get(note, 0.0)
        for chunk, note in notes.items()
    }
    order = sorted(rough, key=lambda chunk: (-rough[chunk], chunk))
    dated = set(named.dated)
    of_day = [chunk for chunk in order[most:] if chunk in dated][: max(0, DATED_READ - len(dated & set(order[:most])))]
    certain = {*of_day, *list(named.near)[:near_read]}
    others = [chunk for chunk in order if chunk not in certain][: most - len(certain)]
    return [*others, *(chunk for chunk in order if chunk in certain)]


def openings(
    reader: IndexReader, notes: Iterable[int], rows: Mapping[int, ChunkRow], narrowed: Filter
) -> dict[int, ChunkRow]:
    """The first chunks of those of the notes that no chunk stands for yet."""
    present = {row.note_id for row in rows.values()}
    absent = list(dict.fromkeys(note for note in notes if note not in present))
    if not absent:
        return {}
    return reader.chunks([ids[0] for ids in reader.note_chunks(absent, narrowed).values() if ids])


def date_fit(query: Query, row: ChunkRow | NoteRow) -> float:
    """How well a chunk's or a note's own day fits the dates that the query names, 0 to 1."""
    if not query.dates or row.date is None or row.date_is_weak:
        return 0.0
    try:
        day = date.fromisoformat(row.date)
    except ValueError:
        return 0.0
    return max(fusion.date_worth(named.distance(day)) for named in query.dates)
