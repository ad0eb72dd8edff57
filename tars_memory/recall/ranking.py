"""The score of every candidate line, part by part. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall import fusion
from tars_memory.recall.candidates import day_of
from tars_memory.recall.speakers import Speakers

if TYPE_CHECKING:
    from tars_memory.recall.candidates import Candidate, Pool
    from tars_memory.recall.query import Query


def rank(pool: Pool, query: Query) -> None:
    """Give every line of the pool its score and the weighted parts that it is the sum of."""
    lines = pool.lines
    note_words = _by_chunk(pool, fusion.shares([chunk.note_words for chunk in pool.chunks]))
    chunk_words = _by_chunk(pool, fusion.shares([chunk.words for chunk in pool.chunks]))
    line_words = fusion.shares([line.words for line in lines])
    meaning = fusion.spread([line.meaning for line in lines])
    named = Speakers(query.meaning)
    speakers = named.shares(line.chunk.texts[line.index] for line in lines)
    days = {id(chunk): _date(chunk, query) for chunk in pool.chunks} if query.dates else {}
    place = {id(line): i for i, line in enumerate(lines)}
    for i, line in enumerate(lines):
        chunk = id(line.chunk)
        before = line_words[place[id(line.before)]] if line.before is not None else 0.0
        line.parts = {
            "note words": fusion.NOTE_WORDS * note_words[chunk],
            "chunk words": fusion.CHUNK_WORDS * chunk_words[chunk],
            "line words": fusion.LINE_WORDS * line_words[i],
            "words of the line before": fusion.LINE_WORDS_BEFORE * before,
            "meaning": fusion.LINE_MEANING * meaning[i],
            "speaker": fusion.SPEAKER * speakers[i],
            "date": fusion.DATE * days.get(chunk, 0.0),
        }
        line.score = sum(line.parts.values())


def _by_chunk(pool: Pool, values: list[float]) -> dict[int, float]:
    return {id(chunk): value for chunk, value in zip(pool.chunks, values, strict=True)}


def _date(chunk: Candidate, query: Query) -> float:
    """How well the chunk's day fits the dates that the query names."""
    day = day_of(chunk.row)
    return max((fusion.date_worth(named.distance(day)) for named in query.dates), default=0.0) if day else 0.0
