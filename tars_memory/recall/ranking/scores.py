"""The score of every candidate line, part by part. Pure.

Notes are ranked by what they hold as wholes and by their best chunk and line; a line then stands below its note's
score by as much as it is worse than the best line there. So notes come in the right order, and the lines of the good
notes before those of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.ranking import fusion, standing
from tars_memory.recall.ranking.interaction import mean
from tars_memory.recall.ranking.lexical import phrase_key
from tars_memory.recall.ranking.names import NAMESAKES
from tars_memory.recall.ranking.speakers import Speakers
from tars_memory.recall.ranking.words import unspaced_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.candidates import Candidate, Line, Pool

PARTS = (
    "note: words", "note: date", "note: best line", "note: nearest words of a chunk", "note: nearest words",
    "note: nearest words of a line", "note: farthest word", "note: held as written", "note: its name's meaning",
    "note: name", "note: tier", "note: recency",
    "line: words", "line: chunk's words", "line: chunk's meaning",
    "line: nearest words", "line: speaker", "line: held as written", "line: chunks beside", "line: best of the note",
    "line: validity", "line: its note is named", "line: meaning, as far as known",
)  # fmt: skip
"""What ``--explain`` calls the parts of a score; their sum is the score."""


class _Note:
    """What is known of one note while its lines are scored."""

    __slots__ = ("best", "chunk_nearest", "exact", "line_nearest", "nearest", "top")

    def __init__(self) -> None:
        self.best = 0.0
        self.exact = 0.0
        self.top = float("-inf")
        self.nearest: list[float] = []
        self.chunk_nearest = 0.0
        self.line_nearest = 0.0


def rank(pool: Pool, query: Query) -> None:
    """Give every line of the pool its score and the weighted parts that it is the sum of."""
    lines = pool.lines
    named = Speakers(query.meaning)
    for line in lines:
        known = line.chunk.row.lines[line.index]
        line.speaker = named.share(known.speaker)
        line.validity = standing.validity(known, query.today, query.dates)
        if line.index in line.chunk.decided:
            line.validity = min(line.validity, standing.OVER)  # what was rejected is not among the lines at all
    alike = _alike(pool.chunks)
    for line in lines if alike else ():
        if line.chunk.texts[line.index] in alike:
            line.validity = min(line.validity, standing.BOILERPLATE)
    compared = [chunk for chunk in pool.chunks if chunk.meaning is not None]
    if not compared or pool.coverage >= 1:
        _score(pool.chunks, pool, query, by_meaning=bool(compared))
    else:
        _score_in_part(pool, compared, query)
    for line in first_lines(pool):
        line.parts = (*line.parts[:-2], fusion.LINE_NAMED, line.parts[-1])
        line.score += fusion.LINE_NAMED


def _score_in_part(pool: Pool, known: list[Candidate], query: Query) -> None:
    """By words, and as far as the vectors are made by what they change: ``known`` are the chunks that have one."""

    def scores(chunks: list[Candidate], *, by_meaning: bool) -> dict[Line, tuple[float, tuple[float, ...]]]:
        _score(chunks, pool, query, by_meaning=by_meaning)
        return {line: (line.score, line.parts) for chunk in chunks for line in chunk.lines}

    by_words = scores(pool.chunks, by_meaning=False)
    before = scores(known, by_meaning=False)
    gains = {line: score - before[line][0] for line, (score, _) in scores(known, by_meaning=True).items()}
    usual = mean(list(gains.values()))
    for line, (score, parts) in by_words.items():
        gain = pool.coverage * gains.get(line, usual)
        line.score, line.parts = score + gain, (*parts[:-1], gain)


def _score(chunks: list[Candidate], pool: Pool, query: Query, *, by_meaning: bool) -> None:
    """Give the lines of these chunks their scores and parts, by words and meaning or by words alone."""
    lines = [line for chunk in chunks for line in chunk.lines]
    notes: dict[int, _Note] = {chunk.row.note_id: _Note() for chunk in chunks}
    nearest_of = _collect_nearest(chunks, notes) if by_meaning else [0.0] * len(chunks)
    words = [_with_before(line) for line in lines]
    by_words = fusion.scale(words)
    nearest = [mean(line.nearest) for line in lines] if by_meaning else [0.0] * len(lines)
    floor = pool.scale.lines_above
    by_nearest = _scale_above(nearest, floor)
    own_words = fusion.scale(line.words for line in lines)
    chunk_words = fusion.scale(chunk.words for chunk in chunks)
    chunk_meaning = fusion.scale((chunk.meaning or 0.0 for chunk in chunks), fusion.LEAST_MEANING)
    as_written = _as_written(pool, query)
    beside = _beside(chunks, nearest_of, chunk_words)
    i = 0
    for chunk, near in zip(chunks, beside, strict=True):
        note = notes[chunk.row.note_id]
        around = chunk.words * chunk_words
        meant = max(chunk.meaning or 0.0, 0.0) * chunk_meaning if by_meaning else around
        best = fusion.BEST_CHUNK_WORDS * around + pool.scale.best_meaning * meant
        for line in chunk.lines:
            said = words[i] * by_words
            close = _above(nearest[i], floor) * by_nearest if by_nearest else line.words * own_words
            held = sum(share for term, share in as_written.items() if term in line.counts) if as_written else 0.0
            line.parts = (
                fusion.SPREAD * fusion.LINE_WORDS * said,
                fusion.SPREAD * fusion.LINE_CHUNK_WORDS * around,
                fusion.SPREAD * fusion.LINE_CHUNK_MEANING * meant,
                fusion.SPREAD * pool.scale.line_nearest * close,
                fusion.SPREAD * fusion.LINE_SPEAKER * line.speaker,
                fusion.SPREAD * fusion.LINE_EXACT * held,
                fusion.SPREAD * fusion.LINE_BESIDE * near,
            )
            line.score = sum(line.parts)
            if line.validity > standing.BOILERPLATE:  # the others say nothing for their note
                note.best = max(note.best, best + fusion.BEST_WORDS * said + fusion.BEST_SPEAKER * line.speaker)
                note.exact = max(note.exact, held)
            if line.validity > standing.REFUSED:
                note.top = max(note.top, line.score)
            i += 1
    _add_notes(chunks, pool, query, notes, by_meaning=by_meaning)


def _alike(chunks: Iterable[Candidate]) -> set[str]:
    """The lines that stand word for word in more notes than may share a name: no note is told by them."""
    seen: dict[str, int] = {}
    holding: dict[str, int] = {}
    for chunk in chunks:  # in the order of their notes
        note = chunk.row.note_id
        for line in chunk.lines:
            text = chunk.texts[line.index]
            if seen.get(text) != note:
                seen[text] = note
                holding[text] = holding.get(text, 0) + 1
    return {text for text, count in holding.items() if count > NAMESAKES}


def _add_notes(chunks: list[Candidate], pool: Pool, query: Query, notes: dict[int, _Note], *, by_meaning: bool) -> None:
    """Add the parts of the note to those of each line."""
    by_best = fusion.NOTE_BEST if by_meaning else fusion.NOTE_BEST_BY_WORDS
    note_words = fusion.scale(chunk.note_words for chunk in chunks)
    by_chunk = _scale_above(note.chunk_nearest for note in notes.values())
    by_note = _scale_above(mean(note.nearest) for note in notes.values())
    by_line = _scale_above(note.line_nearest for note in notes.values())
    names = (chunk.name_meaning for chunk in chunks)
    by_name = pool.scale.name(query.meaning) * fusion.scale(names, fusion.LEAST_MEANING) if by_meaning else 0.0
    for chunk in chunks:
        note = notes[chunk.row.note_id]
        parts = (
            fusion.NOTE_WORDS * chunk.note_words * note_words,
            fusion.NOTE_DATE * chunk.date,
            by_best * note.best,
            fusion.NOTE_CHUNK_NEAREST * _above(note.chunk_nearest) * by_chunk,
            fusion.NOTE_NEAREST * _above(mean(note.nearest)) * by_note,
            fusion.NOTE_LINE_NEAREST * _above(note.line_nearest) * by_line,
            fusion.NOTE_FARTHEST * min(note.nearest, default=0.0),
            fusion.NOTE_EXACT * note.exact,
            by_name * chunk.name_meaning,
            fusion.NOTE_NAME * chunk.name,
            standing.tier_worth(chunk.row.tier),
            0.0 if chunk.row.date_is_weak else standing.recency(chunk.row.tier, chunk.row.date, query.today),
        )
        top = max(note.top, 0.0)  # below that if all that was read of it was refused
        base = sum(parts) - top
        for line in chunk.lines:
            line.parts = (*parts, *line.parts, -top, line.validity, 0.0, 0.0)
            line.score += base + line.validity


def first_lines(pool: Pool) -> list[Line]:
    """Of each note whose name the query is the best line."""
    best: dict[int, Line] = {}
    for chunk in pool.chunks:
        for line in chunk.lines if chunk.is_named else ():
            known = best.get(chunk.row.note_id)
            if line.validity > standing.REFUSED and (known is None or line.score > known.score):
                best[chunk.row.note_id] = line
    return list(best.values())


def _collect_nearest(chunks: list[Candidate], notes: dict[int, _Note]) -> list[float]:
    """How near the words of each chunk and note are to those of the query: in one line, one chunk, the whole note."""
    found: list[float] = []
    for chunk in chunks:
        note = notes[chunk.row.note_id]
        best: list[float] = []
        for line in chunk.lines:
            if not line.nearest or line.validity <= standing.REFUSED:
                continue
            best = list(map(max, best, line.nearest)) if best else line.nearest
            both = line.nearest
            if line.before is not None and line.before.nearest:
                both = list(map(max, both, line.before.nearest))
            note.line_nearest = max(note.line_nearest, mean(both) + fusion.NEAREST_SPEAKER * line.speaker)
        found.append(mean(best))
        note.chunk_nearest = max(note.chunk_nearest, found[-1])
        note.nearest = list(map(max, note.nearest, best)) if note.nearest and best else best or note.nearest
    return found


def _beside(chunks: list[Candidate], nearest: list[float], by_words: float) -> list[float]:
    """For each chunk how strong its neighbours in the note are, 0 to 1: those that are no candidates are 0."""
    by_nearest = _scale_above(nearest)
    strength: dict[tuple[int, int], float] = {}
    for chunk, near in zip(chunks, nearest, strict=True):
        said = chunk.words * by_words
        meant = _above(near) * by_nearest if by_nearest else said
        strength[chunk.row.note_id, chunk.row.position] = (said + meant) / 2
    return [
        (strength.get((row.note_id, row.position - 1), 0.0) + strength.get((row.note_id, row.position + 1), 0.0)) / 2
        for row in (chunk.row for chunk in chunks)
    ]


def _above(nearest: float, floor: float = fusion.NEAREST_FLOOR) -> float:
    """How much nearer than by chance."""
    return max(nearest - floor, 0.0)


def _scale_above(values: Iterable[float], floor: float = fusion.NEAREST_FLOOR) -> float:
    """What brings the nearest of all to 1; 0 if none is nearer than by chance."""
    return fusion.scale((_above(value, floor) for value in values), fusion.LEAST_NEAREST)


def _as_written(pool: Pool, query: Query) -> dict[str, float]:
    """The terms that were written to be matched as they stand, each with its share of the query's idf."""
    total = sum(pool.idfs.values())
    words = set(query.words)
    phrases = [*query.quoted, *(phrase for phrase in query.phrases if not words.issuperset(phrase))]
    terms = {phrase_key(phrase) for phrase in phrases}.union(query.literals, (f"{one}*" for one in query.prefixes))
    signs = pool.scale.signs_as_written
    return {
        term: idf / total * (signs if unspaced_runs(term) else 1.0)
        for term, idf in pool.idfs.items()
        if total and term in terms
    }


def _with_before(line: Line) -> float:
    """BM25 of a line with what it inherits of the line before."""
    return line.words + fusion.BEFORE * line.before.words if line.before is not None else line.words
