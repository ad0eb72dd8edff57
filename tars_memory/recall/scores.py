"""Score every candidate line, part by part, and make passages around the best of them. Pure.

The score of a note comes from the whole note and from its best chunk and line; the score of a line is below that of its
note by as much as the line is worse than the best line there. So notes come in the right order, and the lines of good
notes before those of others.

Of the lines that make one statement only the best kind is found: an approved line links to the line of the day on which
it was a candidate, and so does the fact of its session note; the quote of the fact is nested below it, and the turn
contains the quote. Links decide which lines make one statement, never their words: of two lines that merely read alike
both are found.
"""

from __future__ import annotations

from functools import cache, partial
from heapq import nlargest
from itertools import groupby
from typing import TYPE_CHECKING

from tars_memory import vault
from tars_memory.index.reader import NAMESAKES, ChunkRow, IndexReader
from tars_memory.language.words import fold, tokens, unspaced_runs
from tars_memory.recall import weights
from tars_memory.recall.query import Fading, Hit, Query
from tars_memory.recall.weights import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

    from tars_memory.recall.candidates import Candidate, CandidateLine, Pool


PARTS = (
    "note: words", "note: date", "note: best line", "note: nearest words of a chunk", "note: nearest words",
    "note: nearest words of a line", "note: farthest word", "note: held as written", "note: its name's meaning",
    "note: name", "note: tier", "note: recency",
    "line: words", "line: chunk's words", "line: chunk's meaning",
    "line: nearest words", "line: speaker", "line: held as written", "line: chunks beside", "line: best of the note",
    "line: validity", "line: its note is named", "line: meaning, as far as known", "line: newest of its words",
)  # fmt: skip
"""Names of the parts of a score, as ``--explain`` prints them; their sum is the score."""

WORDS_PART = PARTS.index("line: words")
HEADING, PROPERTY, REPEATED = "heading", "property", "repeated"
AFTER_QUESTION = " 0123456789[]()*_\"'”’»"
"""What may stand behind a question: quotes, emphasis, the number of a turn."""
TIE_BREAK = 1e-9
"""Difference that is made between the scores of lines that say the same, so that the newer one comes first."""
DAY_MET = 0.9
"""How well a day has to fit a named date for the words of that date to count as contained."""
NEVER_FADES = "9999-12-31"
"""The day of lines that count as the newest, whenever they were written."""


class _Note:
    """Numbers of one note that are collected while its lines are scored.

    Attributes:
        best: weighted score of its best line and chunk.
        exact: largest share of the query that was written to be matched as it stands and that one line contains.
        top: score of its best line.
        nearest: for each word of the query the nearness of the nearest word of the note.
        chunk_nearest: mean nearness of the words of its best chunk.
        line_nearest: the same of its best line, with the line before it.
    """

    best = exact = top = chunk_nearest = line_nearest = 0.0
    nearest: Sequence[float] = ()


def rank(pool: Pool, query: Query) -> None:
    """Set the score of every line of the pool, and its weighted parts, of which the score is the sum."""
    lines = pool.lines
    speaker_share = cache(partial(_speaker_share, query.tokens))
    for line in lines:
        line.speaker = speaker_share(line.known.speaker) if line.known.speaker else 0.0
        line.validity = weights.validity(line.known, query.today, query.dates)
        if line.index in line.chunk.decided:
            line.validity = weights.PENALTY  # rejected lines are not in the pool
    for line in _boilerplate(pool.chunks):
        line.validity = weights.PENALTY
    compared = [chunk for chunk in pool.chunks if chunk.meaning is not None]
    if not compared or pool.coverage >= 1:
        _score(pool.chunks, pool, query, by_meaning=bool(compared))
    else:
        _score_partly_by_meaning(pool, compared, query)
    telling, others = _divided(pool.chunks, query)
    _put_fullest_first(lines)
    _put_typed_first(lines, query)
    told = [line for chunk in telling for line in chunk.lines]
    _put_newest_first(told, pool, query)
    _put_own_first(told, pool, query)
    if others:
        best = max(line.score for line in told if line.chunk.counts or line.chunk.date >= DAY_MET)
        _put_below([line for chunk in others for line in chunk.lines], best)
    for line in best_lines_of_named_notes(pool):
        line.parts = (*line.parts[:-3], weights.LINE_NAMED, *line.parts[-2:])
        line.score += weights.LINE_NAMED


def _divided(chunks: list[Candidate], query: Query) -> tuple[list[Candidate], list[Candidate]]:
    """Return the chunks that tell, and those that answer nothing. If no chunk that tells has a word, all of them do.

    A session note with words of the query in questions alone answers nothing: the same question, asked before, is
    nearer than any answer. In other notes a question is a person's own, to be found: a task, what is open. Nor does a
    part of a named day (``October``) answer, if there are notes of that day.
    """
    telling: list[Candidate] = []
    others: list[Candidate] = []
    named = frozenset[str | None]()
    if not query.runs and any(chunk.date >= DAY_MET for chunk in chunks):  # a pair of signs tells no part of a day
        named = frozenset(map(query.stems.get, query.date_words))
    for chunk in chunks:
        held = [line for line in chunk.lines if line.counts] if chunk.row.tier == "episodic" else []
        in_part = chunk.date < DAY_MET and chunk.counts.keys() < named
        is_named = chunk.name_is_query or not chunk.counts
        (telling if is_named or not (in_part or (held and all(map(_asks, held)))) else others).append(chunk)
    is_told = any(chunk.lines and (chunk.counts or chunk.date >= DAY_MET) for chunk in telling)
    return (telling, others) if is_told else (chunks, [])


def _asks(line: CandidateLine) -> bool:
    """Whether a line is nothing but questions, and no turn, which the next turn answers."""
    words = line.text.rstrip(AFTER_QUESTION)
    is_turn = words[:1] == ">" or (line.known.speaker and line.known.kind != REPEATED)
    return not is_turn and words.endswith(("?", "？", "؟")) and not any(end in words for end in (". ", "! ", "。"))


def _score_partly_by_meaning(pool: Pool, known: list[Candidate], query: Query) -> None:
    """Score by words, and add what meaning changes, weighted by the share of chunks that have a vector.

    Lines of chunks without a vector get the mean of the changes.

    Args:
        pool: with the candidates.
        known: the chunks that have a vector.
        query: parsed.
    """

    def scores(chunks: list[Candidate], *, by_meaning: bool) -> dict[CandidateLine, tuple[float, tuple[float, ...]]]:
        _score(chunks, pool, query, by_meaning=by_meaning)
        return {line: (line.score, line.parts) for chunk in chunks for line in chunk.lines}

    by_words = scores(pool.chunks, by_meaning=False)
    before = scores(known, by_meaning=False)
    gains = {line: score - before[line][0] for line, (score, _) in scores(known, by_meaning=True).items()}
    usual = mean(list(gains.values()))
    for line, (score, parts) in by_words.items():
        gain = pool.coverage * gains.get(line, usual)
        line.score, line.parts = score + gain, (*parts[:-2], gain, 0.0)


def _score(chunks: list[Candidate], pool: Pool, query: Query, *, by_meaning: bool) -> None:
    """Set the scores and parts of the lines of these chunks, by words and meaning or by words only."""
    lines = [line for chunk in chunks for line in chunk.lines]
    notes: dict[int, _Note] = {chunk.row.note_id: _Note() for chunk in chunks}
    nearest_of = _collect_nearest(chunks, notes) if by_meaning else [0.0] * len(chunks)
    before = [line.before.words - line.before.shared if line.before else 0.0 for line in lines]
    words = [line.words + weights.BEFORE * inherited for line, inherited in zip(lines, before, strict=True)]
    by_words = weights.scale(words)
    nearest = [mean(line.nearest) for line in lines] if by_meaning else [0.0] * len(lines)
    floor = pool.scale.lines_above
    by_nearest = _scale_above(nearest, floor)
    own_words = weights.scale(line.words for line in lines)
    chunk_words = weights.scale(chunk.words for chunk in chunks)
    chunk_meaning = weights.scale((chunk.meaning or 0.0 for chunk in chunks), weights.LEAST_MEANING)
    as_written = _as_written(pool, query)
    neighbours = _neighbour_strengths(chunks, nearest_of, chunk_words)
    i = 0
    for chunk, neighbour in zip(chunks, neighbours, strict=True):
        note = notes[chunk.row.note_id]
        in_chunk = chunk.words * chunk_words
        meaning = max(chunk.meaning or 0.0, 0.0) * chunk_meaning if by_meaning else in_chunk
        best = weights.BEST_CHUNK_WORDS * in_chunk + pool.scale.best_meaning * meaning
        for line in chunk.lines:
            in_line = words[i] * by_words
            close = _above(nearest[i], floor) * by_nearest if by_nearest else line.words * own_words
            held = sum(share for term, share in as_written.items() if chunk.heading_is_query or term in line.counts)
            line.parts = (
                weights.SPREAD * weights.LINE_WORDS * in_line,
                weights.SPREAD * weights.LINE_CHUNK_WORDS * in_chunk,
                weights.SPREAD * weights.LINE_CHUNK_MEANING * meaning,
                weights.SPREAD * pool.scale.line_nearest * close,
                weights.SPREAD * weights.LINE_SPEAKER * line.speaker,
                weights.SPREAD * weights.LINE_EXACT * held,
                weights.SPREAD * weights.LINE_BESIDE * neighbour,
            )
            line.score = sum(line.parts)
            if line.validity > weights.PENALTY:  # other lines are not evidence for their note
                note.best = max(note.best, best + weights.BEST_WORDS * in_line + weights.BEST_SPEAKER * line.speaker)
                note.exact = max(note.exact, held)
            note.top = max(note.top, line.score)
            i += 1
    _add_notes(chunks, pool, query, notes, by_meaning=by_meaning)


def _boilerplate(chunks: Iterable[Candidate]) -> Iterator[CandidateLine]:
    """Yield the lines that more than :data:`NAMESAKES` notes contain word for word, and the properties of which more
    notes than that have the key and the same words of the query: neither tells one note from another. Also what is
    nested below a property and has no word of the query, while another line of the properties does.
    """
    alike: dict[object, list[CandidateLine]] = {}
    for chunk in chunks:
        held = frozenset(chunk.counts)
        for line in chunk.lines:
            same = (line.text.partition(":")[0], held) if chunk.row.front else line.text
            alike.setdefault(same, []).append(line)
            if chunk.row.front and held and not line.counts:
                yield line
    for lines in alike.values():
        if len(lines) > NAMESAKES and len({line.chunk.row.note_id for line in lines}) > NAMESAKES:
            yield from lines


def _add_notes(chunks: list[Candidate], pool: Pool, query: Query, notes: dict[int, _Note], *, by_meaning: bool) -> None:
    """Add the parts that belong to the note to the parts and score of each of its lines."""
    by_best = weights.NOTE_BEST if by_meaning else weights.NOTE_BEST_BY_WORDS
    note_words = weights.scale(chunk.note_words for chunk in chunks)
    by_chunk = _scale_above(note.chunk_nearest for note in notes.values())
    by_note = _scale_above(mean(note.nearest) for note in notes.values())
    by_line = _scale_above(note.line_nearest for note in notes.values())
    names = (chunk.name_meaning for chunk in chunks)
    by_name = pool.scale.name(query.meaning) * weights.scale(names, weights.LEAST_MEANING) if by_meaning else 0.0
    for chunk in chunks:
        note = notes[chunk.row.note_id]
        parts = (
            weights.NOTE_WORDS * chunk.note_words * note_words,
            weights.NOTE_DATE * chunk.date_worth,
            by_best * note.best,
            weights.NOTE_CHUNK_NEAREST * _above(note.chunk_nearest) * by_chunk,
            weights.NOTE_NEAREST * _above(mean(note.nearest)) * by_note,
            weights.NOTE_LINE_NEAREST * _above(note.line_nearest) * by_line,
            weights.NOTE_FARTHEST * min(note.nearest, default=0.0),
            weights.NOTE_EXACT * note.exact,
            by_name * chunk.name_meaning,
            weights.NOTE_NAME * chunk.name_share,
            weights.TIER_WORTH.get(chunk.row.tier, 0.0),
            weights.RECENCY_WORTH * fading_of(chunk.row, query).factor,
        )
        base = sum(parts) - note.top
        for line in chunk.lines:
            line.parts = (*parts, *line.parts, -note.top, line.validity, 0.0, 0.0, 0.0)
            line.score += base + line.validity


def fading_of(row: ChunkRow, query: Query) -> Fading:
    """Return how much a chunk has faded by the day of its note."""
    return weights.fading(row.tier, "" if row.date_is_weak else row.date or "", query.today, query.half_lives)


def _put_fullest_first(lines: Sequence[CandidateLine]) -> None:
    """Exchange the scores of the best line of a note and of its best one that contains all terms of the query that any
    note does: BM25 puts a short line with one of them before a long one with all. A line that many notes share stands
    back behind a line of its note with some of them, but not behind one with none.
    """
    asked = {term for line in lines for term in line.chunk.counts}
    best: dict[int, CandidateLine] = {}
    full: dict[int, CandidateLine] = {}
    for line in sorted(lines, key=lambda line: line.score):
        best[line.chunk.row.note_id] = line
        if line.counts.keys() >= asked:
            full[line.chunk.row.note_id] = line
    for note, line in full.items():
        if line.validity >= best[note].validity or (line.validity == weights.PENALTY and not best[note].counts):
            gain = best[note].score - line.score
            _change(best[note], -gain)
            _change(line, gain)


def _put_typed_first(lines: Sequence[CandidateLine], query: Query) -> None:
    """Lower the scores of the lines without the one word of a query below those of the lines with it, of which those
    with a word that begins so, as words with endings do, come before the others: neighbours in meaning are a guess.

    What is in the names of a note or in headings alone is in all lines below. Lines with the word and a penalty may
    come behind. A day is met by notes without its name.
    """
    typed = query.meaning.strip("#*")
    if not typed or any(map(str.isspace, typed)) or query.dates:
        return
    typed = fold(typed)
    tiers: tuple[list[CandidateLine], ...] = ([], [], [])
    is_long = len(typed) >= weights.LETTERS_SHARED and typed.isalpha()

    def holds(counts: Container[str]) -> bool:
        """Whether something with these terms has the word; a run of signs is all of it, for it may be a sentence."""
        return typed in counts if query.runs else bool(counts)

    for line in lines:
        in_text = any(holds(other.counts) for other in line.chunk.lines)
        if holds(line.counts if in_text else line.chunk.counts):
            tiers[0].append(line)
        else:
            begins = is_long and any(word.startswith(typed) for word in tokens(line.text))
            tiers[1 if begins else 2].append(line)
    least = min((line.score for line in tiers[0] if line.validity >= 0), default=None)
    for tier in filter(None, tiers[1:]):
        if least is not None:
            _put_below(tier, least)
            least = min(line.score for line in tier)


def _put_own_first(lines: Sequence[CandidateLine], pool: Pool, query: Query) -> None:
    """Give the best score of the lines with all that is asked to a fact about the user among them: "Where do I live?"
    asks about nobody else. A query that is not a question is compared with facts only.
    """
    small = query.grammar | query.small_words | query.date_words
    asked = {query.stems[word] for word in query.words if word not in small} & pool.idfs.keys()
    is_question = query.is_sentence or query.grammar
    full = [line for line in lines if line.counts.keys() >= asked and (is_question or line.chunk.subject)]
    full = sorted((line for line in full if not line.chunk.name_in_query), key=lambda line: -line.score)
    own = [line for line in full if line.chunk.subject.casefold() in query.me and line.validity >= 0][: bool(asked)]
    best = [line.score for line in full]
    for line, score in zip((*own, *(line for line in full if line not in own)), best, strict=True):
        _change(line, score - line.score)


def _put_below(lines: Sequence[CandidateLine], most: float) -> None:
    """Lower the scores of lines together until all are below ``most``."""
    change = min(0.0, most - TIE_BREAK - max(line.score for line in lines))
    for line in lines:
        _change(line, change)


def _change(line: CandidateLine, change: float) -> None:
    """Add to the score of a line, as a part of its words."""
    line.parts = (*line.parts[:WORDS_PART], line.parts[WORDS_PART] + change, *line.parts[WORDS_PART + 1 :])
    line.score += change


# --- of lines that say the same in notes of different days the newest comes first


def _put_newest_first(lines: Sequence[CandidateLine], pool: Pool, query: Query) -> None:
    """Exchange the scores of lines that say the same, so that the newest line gets the best score.

    Only words decide what is the same (:func:`_is_alike`): titles, neighbours and lengths of notes make any difference
    between the scores of equal lines. Lines that never fade count as the newest.
    """
    days = {line: day for line in lines if line.known.kind != HEADING and (day := _comparable_day(line, query))}
    exchanged: set[CandidateLine] = set()
    total = sum(pool.idfs.values())
    for best in nlargest(weights.LINES_COMPARED, days, key=lambda line: line.score):
        if days[best] == NEVER_FADES or best in exchanged:
            continue
        asked = sum(pool.idfs.get(term, 0.0) for term in best.counts)
        least = weights.SAME_WORDS if asked < weights.MUCH_ASKED * total or not total else weights.SAME_WORDS_ASKED
        newer = [
            other
            for other, day in days.items()
            if day > days[best] and other.score <= best.score and other not in exchanged
            if _is_alike(best, other, least)
        ]
        group: list[CandidateLine] = []
        for candidate in sorted(newer, key=lambda line: (days[line], line.score), reverse=True):
            if all(_is_alike(candidate, other, least) for other in group):
                group.append(candidate)
        if group:
            group.append(best)
            exchanged.update(group)
            scores = sorted((member.score for member in group), reverse=True)
            for n, (member, score) in enumerate(zip(group, scores, strict=True)):
                score -= n * TIE_BREAK
                member.parts = (*member.parts[:-1], score - member.score)
                member.score = score


def _comparable_day(line: CandidateLine, query: Query) -> str:
    """Return the ISO day of a line for comparison; :data:`NEVER_FADES` if its tier doesn't fade, '' without a day."""
    row = line.chunk.row
    fades = row.tier == "talk" or query.half_lives.get(row.tier)
    return day_of(row, line.index) if fades else NEVER_FADES


def _is_alike(older: CandidateLine, newer: CandidateLine, least: float) -> bool:
    """Whether a newer line of another note says the same as an older one.

    It does if it contains all words of the query that the older line contains, fits a named day or speaker as well, is
    no less valid, and enough of the words of both lines together are in both.

    Args:
        older: a line.
        newer: a line of a later day.
        least: the least share of common words, 0 to 1.
    """
    if not older.counts.keys() <= newer.counts.keys() or newer.chunk.row.note_id == older.chunk.row.note_id:
        return False
    if newer.validity < older.validity or newer.chunk.date < older.chunk.date or newer.speaker < older.speaker:
        return False
    lengths = (older.content_length, newer.content_length)
    if min(lengths) < least * least * max(lengths):
        return False
    old, new = older.content_words, newer.content_words
    both = len(old & new)
    return both > 0 and both >= least * (len(old) + len(new) - both)


def best_lines_of_named_notes(pool: Pool) -> list[CandidateLine]:
    """Return of each note of which the query is a name the best line with a word of it, or else the first of text."""
    best: dict[int, tuple[tuple[bool, bool, float], CandidateLine]] = {}
    for chunk in filter(lambda chunk: chunk.name_is_query, pool.chunks):
        for line in chunk.lines:
            is_text = line.known.kind not in (HEADING, PROPERTY) and any(map(str.isalnum, line.shown))
            worth = line.validity >= 0, is_text, line.score if line.counts else -1.0
            if chunk.row.note_id not in best or worth > best[chunk.row.note_id][0]:
                best[chunk.row.note_id] = worth, line
    return [line for _, line in best.values()]


def _collect_nearest(chunks: list[Candidate], notes: dict[int, _Note]) -> list[float]:
    """Return how near the words of each chunk are to those of the query, and set the same of notes and their lines."""
    found = [mean(chunk.nearest) for chunk in chunks]
    for chunk, near in zip(chunks, found, strict=True):
        note = notes[chunk.row.note_id]
        note.chunk_nearest = max(note.chunk_nearest, near)
        note.nearest = [max(each) for each in zip(*filter(None, (note.nearest, chunk.nearest)), strict=True)]
        for line in chunk.lines:
            if line.nearest:
                before = (line.before.nearest if line.before else None) or line.nearest
                both = mean(list(map(max, line.nearest, before)))
                note.line_nearest = max(note.line_nearest, both + weights.NEAREST_SPEAKER * line.speaker)
    return found


def _neighbour_strengths(chunks: list[Candidate], nearest: list[float], by_words: float) -> list[float]:
    """Return for each chunk how well its neighbours in the note match, 0 to 1; those that aren't candidates count 0."""
    by_nearest = _scale_above(nearest)
    strength: dict[tuple[int, int], float] = {}
    for chunk, near in zip(chunks, nearest, strict=True):
        words = chunk.words * by_words
        nearness = _above(near) * by_nearest if by_nearest else words
        strength[chunk.row.note_id, chunk.row.position] = (words + nearness) / 2
    return [
        (strength.get((row.note_id, row.position - 1), 0.0) + strength.get((row.note_id, row.position + 1), 0.0)) / 2
        for row in (chunk.row for chunk in chunks)
    ]


def _above(nearest: float, floor: float = weights.NEAREST_FLOOR) -> float:
    """Return how far a nearness is above what chance reaches."""
    return max(nearest - floor, 0.0)


def _scale_above(values: Iterable[float], floor: float = weights.NEAREST_FLOOR) -> float:
    """Return the factor that brings the nearest value to 1; 0 if none is nearer than by chance."""
    return weights.scale((_above(value, floor) for value in values), weights.LEAST_NEAREST)


def _as_written(pool: Pool, query: Query) -> dict[str, float]:
    """Return the terms that were written to be matched exactly, each with its share of the query's idf."""
    total = sum(pool.idfs.values())
    words = set(query.words)
    phrases = [*query.quoted, *(phrase for phrase in query.phrases if not words.issuperset(phrase))]
    terms = {*map(query.phrase_key, phrases), *query.literals, *(f"{one}*" for one in query.prefixes)}
    signs = pool.scale.signs_as_written
    return {
        term: idf / total * (signs if unspaced_runs(term) else 1.0)
        for term, idf in pool.idfs.items()
        if total and term in terms
    }


def _speaker_share(words: Container[str], name: str) -> float:
    """Return the share of the words of a speaker's name that a question contains, which is given by its folded words; 0
    if these are only single letters.
    """
    parts = tokens(name)
    named = [part for part in parts if part in words]
    return len(named) / len(parts) if any(len(part) > 1 for part in named) else 0.0


# --- passages: the line that answers, with the lines around it


DATED = frozenset({"daily", "episodic", "talk"})
"""The tiers whose lines are about the day of their note."""
ENOUGH = 180
"""Characters that make a passage long enough: until then its anchor line is extended by the better neighbour.

So "Yes, I did!" is shown with the question that it answers; 100 to 300 differ by less than a point of coverage.
"""


def passages(lines: Sequence[CandidateLine], query: Query) -> Iterator[Hit]:
    """Yield disjoint passages, the one with the best anchor line first."""
    taken: set[tuple[int, int]] = set()
    for anchor in sorted(lines, key=lambda line: -line.score):
        row = anchor.chunk.row
        if (row.note_id, anchor.number) in taken:
            continue
        first, last = _widened(anchor, taken)
        taken.update((row.note_id, row.start_line + i) for i in range(first.index, last.index + 1))
        texts = anchor.chunk.texts[first.index : last.index + 1]
        hit = _hit(row, first.number, last.number, "\n".join(texts))
        hit.best = anchor.index - first.index
        hit.score, hit.holds = anchor.score, bool(anchor.chunk.counts)
        hit.day = day_of(row, anchor.index)
        hit.statement = statement_of(row, anchor.index)
        hit.explain = dict(zip(PARTS, anchor.parts, strict=True))
        hit.fading = fading_of(row, query)
        yield hit


def _widened(anchor: CandidateLine, taken: set[tuple[int, int]]) -> tuple[CandidateLine, CandidateLine]:
    """Return the first and the last line of the passage around a line."""
    lines, texts, note = anchor.chunk.lines, anchor.chunk.texts, anchor.chunk.row.note_id
    first = last = lines.index(anchor)
    size = anchor.length

    def free(inner: int, outer: int) -> bool:
        """Whether the passage may be extended by a neighbour: not shown yet, no hit of its own, no text between."""
        if not 0 <= outer < len(lines) or (note, lines[outer].number) in taken:
            return False
        later = lines[max(inner, outer)].known
        entries = anchor.chunk.counts and anchor.chunk.row.tier in KINDS
        if later.kind == ITEM and not later.indent and (entries or lines[outer].counts):
            return False  # if words answer, entries, and other bullets with one of them, are hits of their own
        between = sorted((lines[inner].index, lines[outer].index))
        return not any(text.strip() for text in texts[between[0] + 1 : between[1]])

    while size < ENOUGH:
        around = [at for inner, at in ((first, first - 1), (last, last + 1)) if free(inner, at)]
        if not around:
            break
        wider = max(around, key=lambda at: lines[at].score)
        size += lines[wider].length + 1
        first, last = min(first, wider), max(last, wider)
    return lines[first], lines[last]


def chunk_hits(row: ChunkRow, left_out: Collection[int]) -> Iterator[Hit]:
    """Yield a whole chunk as one hit; or its parts, if lines of it, given by their indexes, are left out."""
    if not left_out:
        yield _hit(row, row.start_line, row.end_line, row.text)
        return
    texts = row.text.split("\n")
    kept = [index for index in range(len(texts)) if index not in left_out and texts[index].strip()]
    starts = [index for index in kept if index - 1 not in kept]
    for start in starts:
        end = next(index for index in range(start, len(texts)) if index + 1 not in kept)
        yield _hit(row, row.start_line + start, row.start_line + end, "\n".join(texts[start : end + 1]))


def day_of(row: ChunkRow, index: int) -> str:
    """Return the ISO day on which a line of a chunk was said or began to hold, from the line or its note; or ''."""
    line = row.lines[index]
    day = line.since or line.source.rpartition("/")[2][:10]
    is_day = day[:4].isdigit() and day[4:5] == "-" == day[7:8]
    return day if is_day else (row.date or "" if row.tier in DATED and not row.date_is_weak else "")


def _hit(row: ChunkRow, start_line: int, end_line: int, text: str) -> Hit:
    """Make a hit of lines of a chunk."""
    hit = Hit(row.path, start_line, end_line, text, title=row.title, partial=row.partial)
    hit.tier = row.tier
    hit.date, hit.date_is_weak = row.date, row.date_is_weak
    hit.headings = row.headings
    hit.block_id = _block_id(row, start_line, end_line)
    return hit


def _block_id(row: ChunkRow, start_line: int, end_line: int) -> str | None:
    """Return the block id that Obsidian can jump to: of a line of the passage, else of the whole chunk."""
    lines = row.lines[start_line - row.start_line : end_line - row.start_line + 1]
    return next((line.block_id for line in lines if line.block_id), row.block_id)


# --- one statement is found once: the approved line represents the lines that it came from


ITEM, EMPTY, MACHINERY = "item", "empty", "machinery"
"""Kinds of lines of the index; copied here, because importing their grammar would compile its regexes at every start.
"""
APPROVED, CANDIDATE, FACT, QUOTE = range(4)
"""What a line is of its statement. A line represents lines of later kinds, never another line of its own kind."""

KINDS = {"semantic": APPROVED, "procedural": APPROVED, "daily": CANDIDATE}
"""What lines are of their statements in each tier but that of session notes."""
QUOTED_SHARE = 0.5
"""Share of a turn's characters that are in quotes, from which on a turn without a word of the question adds nothing."""

StatementPart = tuple[str, int]
"""The statement that a line belongs to, by the block id of the daily line that was the candidate, and what it is of it:
:data:`APPROVED`, :data:`CANDIDATE`, :data:`FACT` or :data:`QUOTE`.
"""


def without_repeats(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[CandidateLine]:
    """Return the lines, of each statement only those of the best kind.

    These take over the best score of the lines that are removed. The latter are removed from their chunks too, so that
    no passage shows them next to another line. Another line of such a chunk ("Ok.") is removed as well if it contains
    no word of the question and is no nearer to it than the removed lines.
    """
    chunks = (list(of_chunk) for _, of_chunk in groupby(lines, key=lambda line: line.chunk))
    parts = dict(part for chunk in chunks for part in _statement_parts(reader, chunk))
    if not parts:
        return [*lines]
    kinds: dict[str, int] = {}
    for statement, kind in parts.values():
        kinds[statement] = min(kind, kinds.get(statement, kind))
    best: dict[str, list[CandidateLine]] = {statement: [] for statement in kinds}
    for line, (statement, kind) in parts.items():
        if kind == kinds[statement]:
            best[statement].append(line)
    removed: set[CandidateLine] = set()
    for line, (statement, kind) in parts.items():
        if kind > kinds[statement]:
            _raise_scores(best[statement], line)
            removed.add(line)
    _remove_turns(reader, lines, parts, best, removed)
    irrelevant: set[CandidateLine] = set()
    for chunk in {line.chunk for line in lines if line in removed}:
        near = max((mean(line.nearest) for line in chunk.lines if line in removed), default=0.0)
        chunk.lines = [line for line in chunk.lines if line not in removed]
        irrelevant |= {line for line in chunk.lines if not line.counts and mean(line.nearest) <= near}
    return [line for line in lines if line not in removed and line not in irrelevant]


def statement_of(row: ChunkRow, index: int) -> str:
    """Return the block id of the candidate that a line of a chunk is, was, or was extracted from; '' without one."""
    line = row.lines[index]
    if row.tier == "daily":
        return line.block_id if line.state else ""
    return line.source.partition("#^")[2] if line.kind == ITEM else ""


def quotes(texts: Iterable[str]) -> dict[str, str]:
    """Return the quotes below the facts of session notes, by statement.

    Args:
        texts: runs of lines of session notes.
    """
    found: dict[str, str] = {}
    for text in texts:
        statement = ""
        for item in vault.markdown.lines.items(text.split("\n")):
            if not item.indent:
                statement = item.source
            elif statement and (words := item.words).startswith(vault.markdown.lines.QUOTE):
                found.setdefault(statement, vault.markdown.lines.quote_in(words))
    return {statement: quote for statement, quote in found.items() if quote}


def adds_nothing(text: str, words: Collection[str], quotes: Mapping[str, Collection[str]]) -> bool:
    """Whether a turn adds nothing to the quotes that it contains: no further word of the question, and if it contains
    none, little else.

    Args:
        text: of the turn.
        words: the question's words that it contains.
        quotes: by quote of a statement that was found the question's words in the quote or in lines of the statement.
    """
    inside = [quote for quote in quotes if quote in text]
    if not inside:
        return False
    if words:
        return set(words) <= {word for quote in inside for word in quotes[quote]}
    return sum(map(len, inside)) >= QUOTED_SHARE * len(text.strip())


def not_in_vault(
    reader: IndexReader, ours: Sequence[Hit], said: Sequence[Hit], words: Callable[[str], Collection[str]]
) -> list[Hit]:
    """Return the hits of conversations that no hit of the vault represents, neither a line extracted from the turn nor
    the turn itself in a session note.

    Args:
        reader: of the vault's index.
        ours: hits of the vault.
        said: hits of conversations.
        words: returns the question's words that a text contains.
    """
    if not said:
        return []
    words_of: dict[str, set[str]] = {}
    for hit in ours:
        if hit.statement:
            words_of.setdefault(hit.statement, set()).update(words(hit.text))
    known = quotes(reader.texts_from(words_of)) if words_of else {}
    found = {quote: words_of[statement] for statement, quote in known.items() if statement in words_of}
    kept = [(hit.day, hit.text) for hit in ours if hit.tier == "episodic"]
    return [
        hit
        for hit in said
        if not adds_nothing(hit.best_line[1], words(hit.text), found)
        and not any(day == hit.day and hit.best_line[1] in text for day, text in kept)
    ]


def _statement_parts(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[tuple[CandidateLine, StatementPart]]:
    """Return those lines of one chunk that belong to a statement, each with its part in it."""
    row = lines[0].chunk.row
    if row.tier in KINDS:
        named = ((line, statement_of(row, line.index)) for line in lines)
        return [(line, (statement, KINDS[row.tier])) for line, statement in named if statement]
    if row.tier != "episodic":
        return []
    statement = ""
    is_known = not any(line.indent for line in row.lines[:1])
    statements = []
    for line in row.lines:
        if line.kind not in (ITEM, EMPTY, MACHINERY):
            statement = "" if not line.indent else statement
        elif not line.indent:
            statement, is_known = line.source.partition("#^")[2], True
        elif not is_known:  # the chunk begins inside the item
            statement, is_known = reader.source_above(row.note_id, row.position), True
        statements.append(statement)
    return [
        (line, (statements[line.index], QUOTE if line.known.indent else FACT))
        for line in lines
        if statements[line.index]
    ]


def _raise_scores(better: Sequence[CandidateLine], removed: CandidateLine) -> None:
    """Raise the scores of lines to at least that of a removed one."""
    for line in better:
        line.score = max(line.score, removed.score)


def _remove_turns(
    reader: IndexReader,
    lines: Sequence[CandidateLine],
    parts: Mapping[CandidateLine, StatementPart],
    best: Mapping[str, Sequence[CandidateLine]],
    removed: set[CandidateLine],
) -> None:
    """Add to ``removed`` the turns of session notes that add nothing to the quotes of the statements found."""
    sessions = [line for line in lines if line.chunk.row.tier == "episodic" and line not in parts]
    turns = [line for line in sessions if "".join(line.chunk.row.headings[-1:]).casefold() == "turns"]
    if not turns:
        return
    texts = reader.linking_texts({line.chunk.row.note_id for line in turns})
    known = quotes(text for texts_of_note in texts.values() for text in texts_of_note)
    words_of: dict[str, set[str]] = {}
    for line in lines:
        if part := parts.get(line):  # a quote that contains a word of the question is a line too
            words_of.setdefault(part[0], set()).update(line.counts)
    found = {quote: words_of[statement] for statement, quote in known.items() if statement in words_of}
    statement_by_quote = {quote: statement for statement, quote in known.items() if statement in words_of}
    for line in turns:
        text = line.text
        if adds_nothing(text, line.counts, found):
            removed.add(line)
            for quote in found:
                if quote in text:
                    _raise_scores(best[statement_by_quote[quote]], line)
