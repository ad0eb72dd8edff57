"""The score of every candidate line, part by part, and the passages around the best of them. Pure.

Notes are ranked by what they hold as wholes and by their best chunk and line; a line then stands below its note's
score by as much as it is worse than the best line there. So notes come in the right order, and the lines of the good
notes before those of others.

One statement is found once: an approved line links to the day's line that it was a candidate on, and so does the fact
of its session note; the fact's quote is nested below it, and the turn holds the quote. So links say which lines are one
statement, never their words: of two lines that merely read alike both are found.
"""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.language.words import tokens, unspaced_runs
from tars_memory.recall import weights
from tars_memory.recall.candidates import NAMESAKES, Candidate, CandidateLine, Pool
from tars_memory.recall.query import Fading, Hit, Query
from tars_memory.recall.weights import REFUSED, mean, phrase_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tars_memory.index.reader import ChunkRow, IndexReader


PARTS = (
    "note: words", "note: date", "note: best line", "note: nearest words of a chunk", "note: nearest words",
    "note: nearest words of a line", "note: farthest word", "note: held as written", "note: its name's meaning",
    "note: name", "note: tier", "note: recency",
    "line: words", "line: chunk's words", "line: chunk's meaning",
    "line: nearest words", "line: speaker", "line: held as written", "line: chunks beside", "line: best of the note",
    "line: validity", "line: its note is named", "line: meaning, as far as known", "line: newest of its words",
)  # fmt: skip
"""What ``--explain`` calls the parts of a score; their sum is the score."""


HEADING = "heading"
MARKED = 7
"""Characters that stand around a state, an id or a source, at most, with the time before them: ``- 14:30 [``."""
PARTED = 1e-9
"""What parts two lines that say the same in notes that have long faded, and have the same score."""
NEVER_FADES = "9999-12-31"
"""The day of what is as new as can be, whenever it was written."""


class _Note:
    """What is known of one note while its lines are scored."""

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
        line.speaker = named.share(line.known.speaker)
        line.validity = weights.validity(line.known, query.today, query.dates)
        if line.index in line.chunk.decided:
            line.validity = min(line.validity, weights.OVER)  # what was rejected is not among the lines at all
    alike = _alike(pool.chunks)
    for line in lines if alike else ():
        if line.text in alike:
            line.validity = min(line.validity, weights.BOILERPLATE)
    compared = [chunk for chunk in pool.chunks if chunk.meaning is not None]
    if not compared or pool.coverage >= 1:
        _score(pool.chunks, pool, query, by_meaning=bool(compared))
    else:
        _score_in_part(pool, compared, query)
    _newest_first(lines, pool, query)
    for line in first_lines(pool):
        line.parts = (*line.parts[:-3], weights.LINE_NAMED, *line.parts[-2:])
        line.score += weights.LINE_NAMED


def _score_in_part(pool: Pool, known: list[Candidate], query: Query) -> None:
    """By words, and as far as the vectors are made by what they change: ``known`` are the chunks that have one."""

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
    """Give the lines of these chunks their scores and parts, by words and meaning or by words alone."""
    lines = [line for chunk in chunks for line in chunk.lines]
    notes: dict[int, _Note] = {chunk.row.note_id: _Note() for chunk in chunks}
    nearest_of = _collect_nearest(chunks, notes) if by_meaning else [0.0] * len(chunks)
    words = [_with_before(line) for line in lines]
    by_words = weights.scale(words)
    nearest = [mean(line.nearest) for line in lines] if by_meaning else [0.0] * len(lines)
    floor = pool.scale.lines_above
    by_nearest = _scale_above(nearest, floor)
    own_words = weights.scale(line.words for line in lines)
    chunk_words = weights.scale(chunk.words for chunk in chunks)
    chunk_meaning = weights.scale((chunk.meaning or 0.0 for chunk in chunks), weights.LEAST_MEANING)
    as_written = _as_written(pool, query)
    beside = _beside(chunks, nearest_of, chunk_words)
    i = 0
    for chunk, near in zip(chunks, beside, strict=True):
        note = notes[chunk.row.note_id]
        around = chunk.words * chunk_words
        meant = max(chunk.meaning or 0.0, 0.0) * chunk_meaning if by_meaning else around
        best = weights.BEST_CHUNK_WORDS * around + pool.scale.best_meaning * meant
        for line in chunk.lines:
            said = words[i] * by_words
            close = _above(nearest[i], floor) * by_nearest if by_nearest else line.words * own_words
            held = sum(share for term, share in as_written.items() if term in line.counts) if as_written else 0.0
            line.parts = (
                weights.SPREAD * weights.LINE_WORDS * said,
                weights.SPREAD * weights.LINE_CHUNK_WORDS * around,
                weights.SPREAD * weights.LINE_CHUNK_MEANING * meant,
                weights.SPREAD * pool.scale.line_nearest * close,
                weights.SPREAD * weights.LINE_SPEAKER * line.speaker,
                weights.SPREAD * weights.LINE_EXACT * held,
                weights.SPREAD * weights.LINE_BESIDE * near,
            )
            line.score = sum(line.parts)
            if line.validity > weights.BOILERPLATE:  # the others say nothing for their note
                note.best = max(note.best, best + weights.BEST_WORDS * said + weights.BEST_SPEAKER * line.speaker)
                note.exact = max(note.exact, held)
            if line.validity > weights.REFUSED:
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
            text = line.text
            if seen.get(text) != note:
                seen[text] = note
                holding[text] = holding.get(text, 0) + 1
    return {text for text, count in holding.items() if count > NAMESAKES}


def _add_notes(chunks: list[Candidate], pool: Pool, query: Query, notes: dict[int, _Note], *, by_meaning: bool) -> None:
    """Add the parts of the note to those of each line."""
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
            weights.NOTE_DATE * chunk.date,
            by_best * note.best,
            weights.NOTE_CHUNK_NEAREST * _above(note.chunk_nearest) * by_chunk,
            weights.NOTE_NEAREST * _above(mean(note.nearest)) * by_note,
            weights.NOTE_LINE_NEAREST * _above(note.line_nearest) * by_line,
            weights.NOTE_FARTHEST * min(note.nearest, default=0.0),
            weights.NOTE_EXACT * note.exact,
            by_name * chunk.name_meaning,
            weights.NOTE_NAME * chunk.name,
            weights.TIER_WORTH.get(chunk.row.tier, 0.0),
            weights.RECENCY_WORTH * fading_of(chunk.row, query).factor,
        )
        top = max(note.top, 0.0)  # below that if all that was read of it was refused
        base = sum(parts) - top
        for line in chunk.lines:
            line.parts = (*parts, *line.parts, -top, line.validity, 0.0, 0.0, 0.0)
            line.score += base + line.validity


def fading_of(row: ChunkRow, query: Query) -> Fading:
    """How much what a chunk says has faded, by the day of its note."""
    return weights.fading(row.tier, "" if row.date_is_weak else row.date or "", query.today, query.half_lives)


# --- of lines that say the same in notes of different days the newest comes first


def _newest_first(lines: Sequence[CandidateLine], pool: Pool, query: Query) -> None:
    """Let lines that say the same exchange their scores, so that the newest of them has the best.

    What is the same is decided by the words alone (:func:`_is_alike`), for titles, neighbours and lengths of notes part
    the scores of equal lines by any amount. What never fades counts as the newest.
    """
    bits: dict[str, int] = {}
    able = [
        _Dated(
            line,
            day,
            line.chunk.row.note_id,
            sum(bits.setdefault(term, 1 << len(bits)) for term in line.counts),
            _told_length(line),
        )
        for line in lines
        if line.known.kind != HEADING and line.validity > REFUSED and (day := _newness(line, query))
    ]
    words: dict[int, frozenset[str]] = {}
    gone: set[int] = set()
    total = sum(pool.idfs.values())
    for best in nlargest(weights.LINES_COMPARED, able, key=lambda one: one.line.score):
        if best.day == NEVER_FADES or id(best.line) in gone:
            continue
        asked = sum(pool.idfs.get(term, 0.0) for term in best.line.counts)
        least = weights.SAME_WORDS if asked < weights.MUCH_ASKED * total or not total else weights.SAME_WORDS_ASKED
        newer = [
            one
            for one in able
            if one.day > best.day
            and not best.terms & ~one.terms
            and one.line.score <= best.line.score
            and id(one.line) not in gone
            and _is_alike(best, one, least, words)
        ]
        newest: list[_Dated] = []
        for one in sorted(newer, key=lambda one: (one.day, one.line.score), reverse=True):
            if all(_is_alike(one, other, least, words) for other in newest):
                newest.append(one)
        if newest:
            newest.append(best)
            gone.update(id(one.line) for one in newest)
            scores = sorted((one.line.score for one in newest), reverse=True)
            for n, (one, score) in enumerate(zip(newest, scores, strict=True)):
                score -= n * PARTED
                one.line.parts = (*one.line.parts[:-1], score - one.line.score)
                one.line.score = score


class _Dated(NamedTuple):
    """A line that can be compared with others by its day.

    Attributes:
        line: the line.
        day: ISO, or :data:`NEVER_FADES`.
        note: its note.
        terms: a bit for each word of the query that it holds.
        length: as :func:`_told_length` says.
    """

    line: CandidateLine
    day: str
    note: int
    terms: int
    length: int


def _newness(line: CandidateLine, query: Query) -> str:
    """What lines are compared by: the ISO day on which one was said, or :data:`NEVER_FADES`; '' if nothing tells."""
    row = line.chunk.row
    fades = row.tier == "talk" or query.half_lives.get(row.tier)
    return told_day(row, line.index) if fades else NEVER_FADES


def _is_alike(older: _Dated, newer: _Dated, least: float, words: dict[int, frozenset[str]]) -> bool:
    """Whether a newer line of another note says the same: all that was asked for and the older holds, as much of a day
    or speaker that was named, and of the words of both together the share that is the ``least``.

    Args:
        older: a line.
        newer: another one.
        least: 0 to 1.
        words: of the lines that were asked about before; filled.
    """
    if newer.note == older.note or older.terms & ~newer.terms:
        return False
    if min(older.length, newer.length) < least * least * max(older.length, newer.length):
        return False  # spares most of them the reading
    one, other = older.line, newer.line
    if other.validity < one.validity or other.chunk.date < one.chunk.date or other.speaker < one.speaker:
        return False
    for line in (one, other):
        if id(line) not in words:
            words[id(line)] = _words_of(line)
    ours, theirs = words[id(one)], words[id(other)]
    return bool(ours) and len(ours & theirs) >= least * len(ours | theirs)


def _told_length(line: CandidateLine) -> int:
    """About how many characters a line has without where it came from and what became of it."""
    parts = (line.known.state, line.known.block_id, line.known.source)
    return max(1, line.length - sum(len(part) + MARKED for part in parts if part))


def _words_of(line: CandidateLine) -> frozenset[str]:
    """The words of a line; of what is written without blanks the signs. A time, a state and where it came from are no
    words: they are known from the index, so that a search loads no grammar for them.
    """
    known, said = line.known, set[str]()
    for word in tokens(line.text):
        if len(word) <= 2 and word.isdigit():
            continue
        if word.isascii() or not unspaced_runs(word):
            said.add(word)
        else:
            said.update(word)
    return frozenset(said.difference([known.state], tokens(known.block_id), tokens(known.source)))


def first_lines(pool: Pool) -> list[CandidateLine]:
    """Of each note whose name the query is the best line."""
    best: dict[int, CandidateLine] = {}
    for chunk in pool.chunks:
        for line in chunk.lines if chunk.is_named else ():
            known = best.get(chunk.row.note_id)
            if line.validity > weights.REFUSED and (known is None or line.score > known.score):
                best[chunk.row.note_id] = line
    return list(best.values())


def _collect_nearest(chunks: list[Candidate], notes: dict[int, _Note]) -> list[float]:
    """How near the words of each chunk and note are to those of the query: in one line, one chunk, the whole note."""
    found: list[float] = []
    for chunk in chunks:
        note = notes[chunk.row.note_id]
        best: list[float] = []
        for line in chunk.lines:
            if not line.nearest or line.validity <= weights.REFUSED:
                continue
            best = list(map(max, best, line.nearest)) if best else line.nearest
            both = line.nearest
            if line.before is not None and line.before.nearest:
                both = list(map(max, both, line.before.nearest))
            note.line_nearest = max(note.line_nearest, mean(both) + weights.NEAREST_SPEAKER * line.speaker)
        found.append(mean(best))
        note.chunk_nearest = max(note.chunk_nearest, found[-1])
        note.nearest = list(map(max, note.nearest, best)) if note.nearest and best else best or note.nearest
    return found


def _beside(chunks: list[Candidate], nearest: list[float], by_words: float) -> list[float]:
    """For each chunk how strong its neighbours in the note are, 0 to 1: those that aren't candidates count 0."""
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


def _above(nearest: float, floor: float = weights.NEAREST_FLOOR) -> float:
    """How much nearer than by chance."""
    return max(nearest - floor, 0.0)


def _scale_above(values: Iterable[float], floor: float = weights.NEAREST_FLOOR) -> float:
    """What brings the nearest of all to 1; 0 if none is nearer than by chance."""
    return weights.scale((_above(value, floor) for value in values), weights.LEAST_NEAREST)


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


def _with_before(line: CandidateLine) -> float:
    """BM25 of a line with what it inherits of the line before."""
    return line.words + weights.BEFORE * line.before.words if line.before is not None else line.words


# --- whether the question names who says a line


class Speakers:
    """The people that a question names."""

    def __init__(self, question: str) -> None:
        self._words = frozenset(tokens(question))
        self._shares: dict[str, float] = {"": 0.0}

    def share(self, name: str) -> float:
        """Which share of the name's words the question holds; a single letter alone names nobody."""
        share = self._shares.get(name)
        if share is None:
            parts = tokens(name)
            named = [part for part in parts if part in self._words]
            share = len(named) / len(parts) if any(len(part) > 1 for part in named) else 0.0
            self._shares[name] = share
        return share


# --- passages: the few whole lines around the line that answers


DATED = frozenset({"daily", "episodic", "talk"})
"""The tiers whose lines tell what was so on a day."""
ENOUGH = 180
"""Characters of a passage worth reading: the anchor line is widened towards its better neighbour until it has as many.

A lone "Yes, I did!" gets the question that it answers; 100 to 300 differ by less than a point of coverage.
"""


def passages(lines: Sequence[CandidateLine], query: Query) -> Iterator[Hit]:
    """Disjoint passages, the one with the best anchor first; made only as far as they are asked for."""
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
        hit.score = anchor.score
        hit.day = told_day(row, anchor.index)
        hit.statement = statement_of(row, anchor.index)
        hit.explain = dict(zip(PARTS, anchor.parts, strict=True))
        hit.fading = fading_of(row, query)
        yield hit


def _widened(anchor: CandidateLine, taken: set[tuple[int, int]]) -> tuple[CandidateLine, CandidateLine]:
    """The first and the last line of the passage around a line."""
    lines, texts, note = anchor.chunk.lines, anchor.chunk.texts, anchor.chunk.row.note_id
    first = last = lines.index(anchor)
    size = anchor.length

    def free(inner: int, outer: int) -> bool:
        """Whether the passage may go on over this neighbour: not shown yet, not rejected, nothing left out between."""
        if not 0 <= outer < len(lines) or (note, lines[outer].number) in taken:
            return False
        if lines[outer].validity <= REFUSED < anchor.validity:
            return False
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


def whole(row: ChunkRow, left_out: Collection[int]) -> Iterator[Hit]:
    """A chunk as it is; in parts where lines of it, by their index, are left out."""
    if not left_out:
        yield _hit(row, row.start_line, row.end_line, row.text)
        return
    texts = row.text.split("\n")
    kept = [index for index in range(len(texts)) if index not in left_out and texts[index].strip()]
    starts = [index for index in kept if index - 1 not in kept]
    for start in starts:
        end = next(index for index in range(start, len(texts)) if index + 1 not in kept)
        yield _hit(row, row.start_line + start, row.start_line + end, "\n".join(texts[start : end + 1]))


def told_day(row: ChunkRow, index: int) -> str:
    """The ISO day on which a line of a chunk was said or began to hold, as far as it or its note tells; else ''."""
    day = row.lines[index].day
    return day or (row.date or "" if row.tier in DATED and not row.date_is_weak else "")


def _hit(row: ChunkRow, start_line: int, end_line: int, text: str) -> Hit:
    hit = Hit(row.path, start_line, end_line, text, title=row.title, partial=row.partial)
    hit.tier = row.tier
    hit.date = row.date
    hit.headings = row.headings
    hit.block_id = _block_id(row, start_line, end_line)
    return hit


def _block_id(row: ChunkRow, start_line: int, end_line: int) -> str | None:
    """The id that Obsidian can jump to: of a line of the passage, else of the whole chunk."""
    ids = row.block_ids
    return next((ids[number] for number in range(start_line, end_line + 1) if number in ids), row.block_id)


# --- one statement once: what a person approved stands for all that it came from


ITEM, MACHINERY = "item", "machinery"
"""Kinds of lines of the index; their grammar, which costs a start its regexes, is only read where a session answers."""
APPROVED, CANDIDATE, FACT, QUOTE = range(4)
"""What a line is of its statement. One of a kind stands for those behind it, never for another of its own kind."""

APPROVED_IN = frozenset({"semantic", "procedural"})
TOLD_AGAIN = 0.5
"""The share of a turn's letters in quotes; with less of them a turn that shares no word with the question says more."""


class Part(NamedTuple):
    """Which statement a line belongs to, and as what.

    Attributes:
        statement: the block id of the day's line that was the candidate.
        kind: what the line is of it.
    """

    statement: str
    kind: int


def once(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[CandidateLine]:
    """The lines without those for which a better one of the same statement is among them.

    That one takes over the best score of those that it stands for. Those are taken out of their chunks as well, so that
    no passage shows them beside another line. What is left of such a chunk answers for itself: a line that holds no
    word of the question and is no nearer to it than the line that went ("Ok.") is left out.
    """
    parts = {id(line): part for chunk in _by_chunk(lines) for line, part in _parts(reader, chunk)}
    if not parts:
        return [*lines]
    best: dict[str, list[CandidateLine]] = {}
    for line in lines:
        if part := parts.get(id(line)):
            standing = best.setdefault(part.statement, [line])
            kind = parts[id(standing[0])].kind
            if part.kind < kind:
                best[part.statement] = [line]
            elif part.kind == kind and standing[0] is not line:
                standing.append(line)
    gone: set[int] = set()
    for line in lines:
        part = parts.get(id(line))
        if part and part.kind > parts[id(best[part.statement][0])].kind:
            _stands_for(best[part.statement], line)
            gone.add(id(line))
    _drop_turns(reader, lines, parts, best, gone)
    left: set[int] = set()
    for chunk in {id(line.chunk): line.chunk for line in lines if id(line) in gone}.values():
        near = max((mean(line.nearest) for line in chunk.lines if id(line) in gone), default=0.0)
        chunk.lines = [line for line in chunk.lines if id(line) not in gone]
        left |= {id(line) for line in chunk.lines if not line.counts and mean(line.nearest) <= near}
    return [line for line in lines if id(line) not in gone and id(line) not in left]


def statement_of(row: ChunkRow, index: int) -> str:
    """The block id of the candidate that a line of a chunk is, was, or was drawn from; '' if none is named."""
    line = row.lines[index]
    if row.tier == "daily":
        return line.block_id if line.state else ""
    return line.source.partition("#^")[2] if line.kind == ITEM else ""


def quotes(texts: Iterable[str]) -> dict[str, str]:
    """By statement the quote that stands below it, in lines of session notes."""
    found: dict[str, str] = {}
    for text in texts:
        statement = ""
        for item in vault.markdown.lines.items(text.split("\n")):
            if not item.indent:
                statement = item.source
            elif statement and (words := item.words).startswith(vault.markdown.lines.QUOTE):
                found.setdefault(statement, vault.markdown.lines.quote_in(words))
    return {statement: quote for statement, quote in found.items() if quote}


def told_again(text: str, words: Collection[str], said: Mapping[str, Collection[str]]) -> bool:
    """Whether a text, one that was said, says nothing that was asked for beyond these quotes.

    Args:
        text: of a turn.
        words: the question's words that it holds.
        said: the quotes of statements that are found already, each with the question's words that quote and line hold.
    """
    inside = [quote for quote in said if quote in text]
    if not inside:
        return False
    if words:
        return set(words) <= {word for quote in inside for word in said[quote]}
    return sum(map(len, inside)) >= TOLD_AGAIN * len(text.strip())


def untold(
    reader: IndexReader, ours: Sequence[Hit], said: Sequence[Hit], words: Callable[[str], Collection[str]]
) -> list[Hit]:
    """What was said in conversations and no hit of the vault stands for, be it a line drawn from it or the kept turn.

    Args:
        reader: the vault's.
        ours: hits of the vault.
        said: hits of conversations.
        words: the question's words that a text holds.
    """
    if not said:
        return []
    held: dict[str, set[str]] = {}
    for hit in ours:
        if hit.statement:
            held.setdefault(hit.statement, set()).update(words(hit.text))
    known = quotes(reader.texts_from(held)) if held else {}
    told = {quote: held[name] for name, quote in known.items() if name in held}
    kept = [(hit.day, hit.text) for hit in ours if hit.tier == "episodic"]
    return [
        hit
        for hit in said
        if not told_again(hit.best_line[1], words(hit.text), told)
        and not any(day == hit.day and hit.best_line[1] in text for day, text in kept)
    ]


def _by_chunk(lines: Sequence[CandidateLine]) -> list[list[CandidateLine]]:
    """The lines of each chunk that may belong to a statement."""
    found: dict[int, list[CandidateLine]] = {}
    for line in lines:
        if line.chunk.row.tier in APPROVED_IN or line.chunk.row.tier in ("daily", "episodic"):
            found.setdefault(line.chunk.row.id, []).append(line)
    return [*found.values()]


def _parts(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[tuple[CandidateLine, Part]]:
    """What the lines of one chunk are, as far as they belong to a statement."""
    row = lines[0].chunk.row
    if row.tier != "episodic":
        kind = CANDIDATE if row.tier == "daily" else APPROVED
        named = ((line, statement_of(row, line.index)) for line in lines)
        return [(line, Part(statement, kind)) for line, statement in named if statement]
    above = ""
    begun = not any(line.indent for line in row.lines[:1])
    owners = []
    for line in row.lines:
        if line.kind not in (ITEM, MACHINERY):
            above = "" if not line.indent else above
        elif not line.indent:
            above, begun = line.source.partition("#^")[2], True
        elif not begun:
            above, begun = reader.source_above(row.note_id, row.position), True
        owners.append(above)
    return [
        (line, Part(owners[line.index], QUOTE if line.known.indent else FACT)) for line in lines if owners[line.index]
    ]


def _stands_for(standing: Sequence[CandidateLine], line: CandidateLine) -> None:
    for better in standing:
        better.score = max(better.score, line.score)


def _drop_turns(
    reader: IndexReader,
    lines: Sequence[CandidateLine],
    parts: Mapping[int, Part],
    best: Mapping[str, Sequence[CandidateLine]],
    gone: set[int],
) -> None:
    """Add the turns to what is gone that say nothing beyond the quotes of statements found."""
    turns = [line for line in lines if line.chunk.row.tier == "episodic" and id(line) not in parts]
    turns = [
        line for line in turns if line.chunk.row.headings[-1:] and line.chunk.row.headings[-1].casefold() == "turns"
    ]
    if not turns or not best:
        return
    texts = reader.linking_texts({line.chunk.row.note_id for line in turns})
    known = quotes(text for each in texts.values() for text in each)
    held: dict[str, set[str]] = {}
    for line in lines:
        if part := parts.get(id(line)):
            held.setdefault(part.statement, set()).update(
                line.counts
            )  # its quote, if that shares a word, is a line too
    said = {quote: held[name] for name, quote in known.items() if name in held}
    owner = {quote: name for name, quote in known.items()}
    for line in turns:
        text = line.text
        if told_again(text, line.counts, said):
            gone.add(id(line))
            for quote in said:
                if quote in text:
                    _stands_for(best[owner[quote]], line)
