"""The score of every candidate line, part by part. Pure.

Chunks and notes are ranked by their best line; a line then stands below its note's score by as much as it is worse
than the best line there. So notes come in the right order, and the lines of the good notes before those of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall import fusion
from tars_memory.recall.speakers import Speakers

if TYPE_CHECKING:
    from tars_memory.recall.candidates import Line, Pool
    from tars_memory.recall.query import Query

PARTS = (
    "note: words", "note: date", "note: best line", "line: words", "line: chunk's words", "line: chunk's meaning",
    "line: meaning", "line: speaker", "line: best of the note",
)  # fmt: skip
"""What ``--explain`` calls the parts of a score; their sum is the score."""


def rank(pool: Pool, query: Query) -> None:
    """Give every line of the pool its score and the weighted parts that it is the sum of."""
    lines = pool.lines
    named = Speakers(query.meaning)
    for line in lines:
        line.speaker = named.share_in(line.chunk.texts[line.index])
    words = [_with_before(line) for line in lines]
    by_words = fusion.scale(words)
    by_meaning = fusion.scale(line.meaning for line in lines)
    chunk_words = fusion.scale(chunk.words for chunk in pool.chunks)
    chunk_meaning = fusion.scale(chunk.meaning or 0.0 for chunk in pool.chunks)
    note_words = fusion.scale(chunk.note_words for chunk in pool.chunks)
    best: dict[int, float] = {}
    top: dict[int, float] = {}
    for line, line_words in zip(lines, words, strict=True):
        chunk = line.chunk
        note = chunk.row.note_id
        w, m = line_words * by_words, max(line.meaning, 0.0) * by_meaning
        cw, cm = chunk.words * chunk_words, max(chunk.meaning or 0.0, 0.0) * chunk_meaning
        joint = (
            fusion.BEST_WORDS * w
            + fusion.BEST_CHUNK_WORDS * cw
            + fusion.BEST_CHUNK_MEANING * cm
            + fusion.BEST_MEANING * m
            + fusion.BEST_SPEAKER * line.speaker
        )
        if joint > best.get(note, -1.0):
            best[note] = joint
        line.parts = (
            fusion.SPREAD * fusion.LINE_WORDS * w,
            fusion.SPREAD * fusion.LINE_CHUNK_WORDS * cw,
            fusion.SPREAD * fusion.LINE_CHUNK_MEANING * cm,
            fusion.SPREAD * fusion.LINE_MEANING * m,
            fusion.SPREAD * fusion.LINE_SPEAKER * line.speaker,
        )
        line.score = sum(line.parts)
        if line.score > top.get(note, -1.0):
            top[note] = line.score
    for line in lines:
        chunk = line.chunk
        note = chunk.row.note_id
        line.parts = (
            fusion.NOTE_WORDS * chunk.note_words * note_words,
            fusion.NOTE_DATE * chunk.date,
            fusion.NOTE_BEST * best[note],
            *line.parts,
            -top[note],
        )
        line.score = sum(line.parts)


def _with_before(line: Line) -> float:
    """BM25 of a line with what it inherits of the line before."""
    return line.words + fusion.BEFORE * line.before.words if line.before is not None else line.words
