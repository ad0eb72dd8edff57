"""The candidates of one query: chunks that SQL names by words, meaning, date and the names of notes, the best of them
opened into lines. Raw parts, no weights yet.

Two steps, so that a query costs a few milliseconds however large the vault is: the index gives numbers for a few
hundred chunks, a rough sum of these picks those that are read line by line.
"""

from __future__ import annotations

import math
from datetime import date
from functools import lru_cache, partial
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import index, vault
from tars_memory.index.fulltext import Filter, expression
from tars_memory.index.naming import key, keys_within, name_parts, names_of
from tars_memory.language.words import is_run, stem
from tars_memory.recall import weights
from tars_memory.recall.weights import Exclusion, Terms, bm25, heads_of, idf

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tars_memory.index.models import QueryVector
    from tars_memory.index.reader import ChunkRow, IndexReader, NoteRow
    from tars_memory.recall.query import Query


_ITEMS = frozenset({"item", "machinery", "replaced"})
"""The kinds of lines that begin an item of a list."""

SPREAD_OVER = 16
"""Passages that tell how near any is to a query."""
CHUNKS_BEFORE = 50
"""Chunks that a list is followed back over, to what its lines are nested in: 40,000 characters."""


class CandidateLine:
    """One line of a candidate chunk with the raw parts of its score.

    Attributes:
        chunk: that it stands in.
        index: in the chunk's texts.
        number: in the note, 1-based.
        text: verbatim; of an oversized line a piece.
        length: characters of it.
        shown: what of it is seen in Obsidian, once its terms are counted.
        known: what the index says of it.
        counts: how often each term occurs.
        words: BM25 among the lines read.
        nearest: for each word of the query how near the nearest word of the line is; empty without word vectors.
        speaker: how much of its speaker's name the query holds.
        validity: what it loses for being refused or over (:mod:`tars_memory.recall.weights`).
        before: the line before it, if that is a candidate too.
        parts: of the score, weighted, by :data:`tars_memory.recall.scores.PARTS`.
        score: their sum.
    """

    def __init__(self, chunk: Candidate, index: int, number: int) -> None:
        self.chunk = chunk
        self.index = index
        self.number = number
        self.text = self.shown = chunk.texts[index]
        self.length = len(self.text)
        self.known = chunk.row.lines[index]
        self.counts: dict[str, int] = {}
        self.words = 0.0
        self.nearest: list[float] = []
        self.speaker = 0.0
        self.validity = 0.0
        self.before: CandidateLine | None = None
        self.parts: tuple[float, ...] = ()
        self.score = 0.0


class Candidate:
    """One chunk that is read.

    Attributes:
        row: from the index.
        texts: its lines.
        lines: those of them that may answer.
        words: BM25 of the chunk.
        note_words: BM25 of its whole note.
        meaning: cosine with the query, on the scale of its model; None without a vector.
        name_meaning: cosine of the query with its note's name alone, on that scale; 0 where the model doesn't tell.
        date: how well its day fits the dates that the query names, 0 to 1.
        name: how much of the query names it, 0 to 1, leaving out what no note holds.
        asked: the same of the whole query.
        is_named: the query is a name of its note, or the day of its daily note.
        is_called: a name of its note, or the subject of its facts, stands within the query.
        counts: how often each term occurs in it, its headings and its note's names included.
        decided: by index, what became of the candidates that its lines repeat (:mod:`tars_memory.recall.decided`).
    """

    def __init__(self, row: ChunkRow) -> None:
        self.row = row
        self.texts = row.text.split("\n")
        self.lines: list[CandidateLine] = []
        self.words = 0.0
        self.note_words = 0.0
        self.meaning: float | None = None
        self.name_meaning = 0.0
        self.date = 0.0
        self.name = 0.0
        self.asked = 0.0
        self.is_called = False
        self.is_named = False
        self.counts: dict[str, int] = {}
        self.decided: Mapping[int, str] = {}


class Pool:
    """What a query found.

    Attributes:
        chunks: those read, in the order of the vault.
        idfs: of the query's terms.
        rows: chunks in the index.
        nearest: the best cosine of all, on the scale of its model.
        read: chunks that were looked at; ``chunks`` are those of them that have a line to show.
        known: whether any note holds a word of the query; not asked where words count.
        scale: of the model that says what is near.
        strange: how unlike any language the query is, as that model tells.
        coverage: the share of the best chunks by words that have a vector; 0: nothing was compared by meaning.
        blank: the paths of notes whose name the query is and in which nothing stands.
        usual: tells how near the passages of the vault but that one are to the query, whatever they are about.
    """

    def __init__(
        self, chunks: list[Candidate], idfs: dict[str, float], rows: int, read: int, scale: weights.Scale
    ) -> None:
        self.chunks = chunks
        self.idfs = idfs
        self.rows = rows
        self.read = read
        self.scale = scale
        self.nearest = 0.0
        self.known = True
        self.strange = 0.0
        self.coverage = 1.0
        self.blank: Sequence[str] = ()
        self.usual: Callable[[int], float] = lambda _: 0.0

    @property
    def lines(self) -> list[CandidateLine]:
        """Every line of every chunk."""
        return [line for chunk in self.chunks for line in chunk.lines]


def gather(
    reader: IndexReader,
    query: Query,
    terms: Terms,
    narrowed: Filter,
    vector: QueryVector | None,
    *,
    by_words: bool,
    limit: int,
) -> Pool:
    """Ask the index and open the best of what it names.

    Args:
        reader: the index.
        query: parsed.
        terms: of the same query.
        narrowed: where to look.
        vector: of the query; None to go by words alone.
        by_words: False to go by meaning alone.
        limit: hits that are wanted.
    """
    named = Shortlist()
    scale = weights.scale_of(vector.model if vector is not None else "")
    if by_words:
        name_by_words(reader, query, narrowed, named, limit)
    coverage = _coverage(reader, named) if by_words and vector is not None else float(vector is not None)
    vector = vector if coverage else None
    if vector is not None and coverage >= weights.NEARBY_FROM:
        nearby = reader.nearest(vector.vector, narrowed, CHUNKS_BY_MEANING)
        named.near = {chunk: scale.meaning(cosine) for chunk, cosine in nearby}
    name_by_date(reader, query, narrowed, named)
    ids = list(dict.fromkeys((*named.words, *named.literal, *named.near, *named.dated)))
    chosen = best(reader, query, named, ids, max(CHUNKS_READ, limit + limit // 2), scale.near_read)
    rows = reader.chunks(chosen)
    names = called(reader, query, narrowed)
    opened = (*names.inside, *list(named.notes)[:NOTES_OPENED])
    rows.update(openings(reader, opened, rows, narrowed))
    if vector is not None:  # a cosine that the KNN did not give is only worth its price for what is read
        further = reader.cosines(vector.vector, [i for i in rows if i not in named.near])
        named.near.update((chunk, scale.meaning(cosine)) for chunk, cosine in further.items())
    nearest = max(named.near.values(), default=0.0)
    asked = weights.numbers(vector.words) if vector is not None else []
    bits = reader.word_bits(list(rows)) if asked or scale.names else {}
    excluded = Exclusion(query.negations)
    told, hidden = decided(reader, rows.values())
    found: list[Candidate] = []
    for row in sorted(rows.values(), key=lambda row: (row.note_id, row.position)):
        chunk = Candidate(row)
        chunk.words = named.words.get(row.id, 0.0)
        chunk.note_words = 0.0 if row.note_id in hidden else named.notes.get(row.note_id, 0.0)
        chunk.meaning = named.near.get(row.id)
        chunk.date = date_fit(query, row)
        chunk.decided = told.get(row.id, {})
        chunk.is_called = row.note_id in names.inside and row.note_id not in hidden
        chunk.is_named = (row.note_id in names.whole and row.note_id not in hidden) or _is_note_of(query.day, row)
        _open(chunk, excluded, unasked(reader, query, row, chunk.texts))
        found.append(chunk)
    if by_words:
        _count(found, terms)
    chunks: list[Candidate] = []
    for chunk in found:
        row = chunk.row
        if row.id in bits:
            _compare(chunk, asked, *bits[row.id], scale.chance_of_words)
        by_note = chunk.is_named or (chunk.note_words and not excluded)
        if row.note_id in hidden and not chunk.counts:  # nothing but what the note is called can have named it
            continue
        if chunk.lines and (chunk.counts or by_note or chunk.meaning is not None or chunk.date):
            chunks.append(chunk)
    if vector is not None and scale.names:
        _compare_names(chunks, vector, bits)
    total = reader.chunk_count()
    idfs = _idfs(reader, terms, chunks, total) if by_words else {}
    _weigh(chunks, terms, idfs)
    by_name = shares(reader, (chunk.row for chunk in chunks if chunk.row.note_id not in hidden), terms, idfs, total)
    for chunk in chunks:
        chunk.name, chunk.asked, subject = by_name.get(chunk.row.id, (0.0, 0.0, ""))
        chunk.is_called |= bool(subject) and key(subject) in keys_within(query.meaning)
    known = by_words or any(reader.frequencies(terms.stems).values())
    strange = vector.strange if vector is not None else 0.0
    pool = Pool(chunks, idfs, total, len(rows), scale)
    pool.nearest, pool.known, pool.strange = nearest, known, strange
    pool.coverage, pool.blank = coverage, names.blank
    pool.usual = partial(_usual, reader, vector, asked, scale)
    return pool


def _usual(
    reader: IndexReader, vector: QueryVector | None, asked: Sequence[int], scale: weights.Scale, best: int
) -> float:
    """How near the passages of the vault are to the query, whatever it is about: the middle of some but the best."""
    if vector is None:
        return 0.0
    ids = [chunk for chunk in reader.spread(SPREAD_OVER) if chunk != best]
    bits = reader.word_bits(ids) if asked else {}
    dimension = len(vector.vector) // 4
    found: list[float] = []
    for chunk, cosine in reader.cosines(vector.vector, ids).items():
        lines = weights.by_line(*bits.get(chunk, (b"", b"")), dimension // 8)
        words = [word for line in (lines[:-1] if scale.names else lines) for word in line]
        near = weights.mean(weights.nearest(asked, words, dimension, scale.chance_of_words))
        found.append(scale.meaning(cosine) + near)
    return sorted(found)[len(found) // 2] if found else 0.0


def _coverage(reader: IndexReader, named: Shortlist) -> float:
    """Which share of the best chunks by words has a vector; all where words name none: neighbours take no place."""
    order = sorted(named.words, key=lambda chunk: -named.words[chunk]) or list(named.literal)
    first = order[:COMPARED]
    return len(reader.embedded(first)) / len(first) if first else 1.0


def decided(reader: IndexReader, rows: Collection[ChunkRow]) -> tuple[dict[int, dict[int, str]], set[int]]:
    """What became of candidates whose line doesn't say it, by chunk and line, and the notes whose names repeat one that
    was rejected; the names are taken out of the rows. Nothing is asked without any.

    Session notes repeat candidates, and a candidate doesn't say that another line replaced what was approved of it.
    """
    sessions = [row for row in rows if row.tier == "episodic"]
    approved = {
        row.id: named
        for row in rows
        if row.tier == "daily"
        and (named := {i: line.block_id for i, line in enumerate(row.lines) if line.state == "promoted"})
    }
    if not sessions and not approved:
        return {}, set()
    from tars_memory.recall.decided import gave_way, in_chunks, unnamed

    found = in_chunks(reader, sessions)
    gone = gave_way(reader, {name for named in approved.values() for name in named.values()}) if approved else {}
    for chunk, named in approved.items() if gone else ():
        found[chunk] = {i: gone[name] for i, name in named.items() if name in gone}
    notes, lines = unnamed(reader, sessions)
    for chunk, refused in lines.items():
        found.setdefault(chunk, {}).update(dict.fromkeys(refused, vault.markdown.lines.REJECTED))
    return found, notes


def _begun(reader: IndexReader, row: ChunkRow) -> list[str]:
    """The lines before a chunk that begins within a list, back to where the list may begin; else none."""
    lines: list[str] = []
    first = row.start_line
    if row.text[:1] in (" ", "\t"):
        for start, text in reversed(reader.texts_before(row.note_id, row.position, CHUNKS_BEFORE)):
            texts = text.split("\n")
            if first - (start + len(texts)) > 1:  # more than a blank line is between
                break
            lines[:0] = texts
            first = start
            if text[:1] not in (" ", "\t"):
                break
    return lines


def unasked(reader: IndexReader, query: Query, row: ChunkRow, texts: Sequence[str]) -> frozenset[int]:
    """The lines of a chunk that were not asked for: by name or topic, or because they began later."""
    left_out: set[int] = set()
    if query.selection is not None:
        left_out.update(range(len(texts)))
        left_out -= query.selection.of(row.path, row.headings, texts, _begun(reader, row))
    if query.held is not None:
        day = query.held.isoformat()
        left_out.update(i for i, line in enumerate(row.lines) if line.since > day)
    return frozenset(left_out)


def _open(chunk: Candidate, excluded: Exclusion, left_out: frozenset[int]) -> None:
    """The chunk's lines; blocks that hold something excluded are left out, as are those not asked for."""
    row = chunk.row
    banned = left_out | _banned(row, chunk.texts, excluded) if excluded else left_out
    if chunk.decided:
        banned |= {index for index, state in chunk.decided.items() if state == "rejected"}
    banned |= silent(row, chunk.texts)
    banned |= {i for i, line in enumerate(row.lines) if line.kind == "machinery"}
    before: CandidateLine | None = None
    for i, text in enumerate(chunk.texts):
        if i in banned or not text.strip():
            continue
        line = CandidateLine(chunk, i, row.start_line if row.partial else row.start_line + i)
        line.before = before
        before = line
        chunk.lines.append(line)


def _count(chunks: Sequence[Candidate], terms: Terms) -> None:
    """How often each term stands in the lines and chunks; all at once, for most hold none."""
    texts: list[str] = []
    for chunk in chunks:
        if chunk.lines:
            row = chunk.row
            texts.append(" ".join((row.title, *row.aliases, *row.headings, row.date or "")))
            texts += (line.text for line in chunk.lines)
    counts = iter(terms.count_lines(texts))
    for line in (line for chunk in chunks for line in chunk.lines):
        line.shown = vault.suspicion.shown(line.text)
    for chunk in chunks:
        if not chunk.lines:
            continue
        chunk.counts = next(counts)
        for line in chunk.lines:
            line.counts = next(counts)
            for term, n in line.counts.items():
                chunk.counts[term] = chunk.counts.get(term, 0) + n
        if terms.phrases:
            terms.add_phrases("\n".join(line.text for line in chunk.lines), chunk.counts)
        _count_shown(chunk, terms)


def _count_shown(chunk: Candidate, terms: Terms) -> None:
    """A term counts in the lines that show it; where a link leads, in a picture, a tag of HTML or a comment only if no
    line of the chunk shows it: a badge's address is found, but doesn't answer beside a sentence. A line that shows
    nothing answers by its words alone.
    """
    partly = [line for line in chunk.lines if line.shown != line.text]
    if not partly:
        return
    counts = dict(zip(partly, terms.count_lines([line.shown for line in partly]), strict=True))
    seen = {term for line in chunk.lines for term in counts.get(line, line.counts)}
    for line, found in counts.items():
        line.counts = found | {term: n for term, n in line.counts.items() if term not in seen}
    answers = [line for line in chunk.lines if line.counts or line.shown.strip()]
    if answers:
        for line, before in zip(answers[1:], answers, strict=False):
            line.before = before
        answers[0].before = None
        chunk.lines = answers


def silent(row: ChunkRow, texts: Sequence[str]) -> set[int]:
    """The lines of a chunk that answer nothing, by index: front matter, and words that a line replaced."""
    found = _front(row, texts)
    for i, line in enumerate(row.lines):
        if line.kind == "replaced":  # the words that the line above it had: ``why`` tells them
            others = zip(reversed(row.lines[:i]), reversed(texts[:i]), strict=True)
            above = next((other for other, text in others if text.strip() and other.indent < line.indent), None)
            if row.tier == "daily" if above is None else above.state == "promoted":
                found.add(i)
    return found


def _front(row: ChunkRow, texts: Sequence[str]) -> set[int]:
    """The lines of a note's front matter that answer nothing, by index: its marks, and the title, which is shown
    anyway, if more is there; of a session note all of them, for they only say what the note is.
    """
    if row.position or row.start_line > 1 or not texts[0].startswith("---"):
        return set()
    end = next((i for i, text in enumerate(texts) if i and text.rstrip() in ("---", "...")), len(texts))
    marks = {0, end}
    inner = set(range(1, end))
    if row.tier == "episodic":
        return marks | inner
    titles = {i for i in inner if texts[i].startswith("title:")}
    return marks | titles if inner > titles else marks


def _compare(chunk: Candidate, asked: Sequence[int], counts: bytes, bits: bytes, chance: float) -> None:
    """How near the words of each line are to those of the query."""
    width = len(bits) // (sum(counts) or 1)
    words = weights.by_line(counts, bits, width)
    for line in chunk.lines:
        found = words[line.index] if line.index < len(words) else ()
        line.nearest = weights.nearest(asked, found, 8 * width, chance)


def _compare_names(chunks: Sequence[Candidate], vector: QueryVector, bits: Mapping[int, tuple[bytes, bytes]]) -> None:
    """How near the name of each chunk's note is to the query, where vectors of names are kept."""
    scale = weights.scale_of(vector.model)
    asked = index.vectors.floats(vector.vector)
    near: dict[int, float] = {}
    for chunk in chunks:
        counts, data = bits.get(chunk.row.id, (b"", b""))
        if len(counts) <= len(chunk.texts):
            continue
        note = chunk.row.note_id
        if note not in near:
            name = memoryview(data)[-len(asked) :].cast("b")
            length = math.sqrt(sum(map(mul, name, name)))
            near[note] = scale.meaning(sum(map(mul, name, asked)) / length) if length else 0.0
        chunk.name_meaning = max(0.0, near[note])


def _idfs(reader: IndexReader, terms: Terms, chunks: Sequence[Candidate], total: int) -> dict[str, float]:
    """The idf of every term: of words from the vocabulary, of the others from how many candidates hold them."""
    held = dict(reader.frequencies(terms.stems)) if terms.stems else {}
    runs = [literal for literal in terms.literals if is_run(literal)]
    held.update(reader.sign_frequencies(runs))
    for other in terms.keys[len(terms.stems) :]:
        if other not in held:
            held[other] = sum(other in chunk.counts for chunk in chunks)
    return {term: idf(max(total, 1), min(held.get(term, 0), total)) for term in terms.keys}


def _weigh(chunks: Sequence[Candidate], terms: Terms, idfs: Mapping[str, float]) -> None:
    """BM25 of every line, and of chunks for terms that the index has not counted; the line before, across chunks."""
    lines = [line for chunk in chunks for line in chunk.lines]
    if not lines or not idfs:
        return
    average = sum(line.length for line in lines) / len(lines)
    chunk_average = average * len(lines) / len(chunks)
    others = (literal for literal in terms.literals if not is_run(literal))
    uncounted = frozenset((*others, *(f"{prefix}*" for prefix in terms.prefixes)))
    last: Candidate | None = None
    for chunk in chunks:
        if last is not None and last.row.note_id == chunk.row.note_id and last.row.position == chunk.row.position - 1:
            chunk.lines[0].before = last.lines[-1]
        last = chunk
        extra = {term: n for term, n in chunk.counts.items() if term in uncounted}
        if extra:
            chunk.words += bm25(extra, idfs, sum(line.length for line in chunk.lines), chunk_average)
        for line in chunk.lines:
            if line.counts:
                line.words = bm25(line.counts, idfs, line.length, average)


def _banned(row: ChunkRow, texts: Sequence[str], excluded: Exclusion) -> frozenset[int]:
    """Line indexes of the blocks (paragraph, list item) that hold something excluded."""
    banned: set[int] = set()
    block: list[int] = []
    for i, text in enumerate([*texts, ""]):
        if block and (not text.strip() or row.lines[i].kind in _ITEMS):
            if excluded.holds("\n".join(texts[j] for j in block)):
                banned.update(block)
            block = []
        if i < len(texts) and text.strip():
            block.append(i)
    return frozenset(banned)


# --- what the index names, and which of it is worth reading


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
    words = weights.shares_of(named.words)
    note_words = weights.shares_of(named.notes)
    near = weights.shares_of(named.near)
    beyond = min(near.values(), default=0.0)  # what the KNN did not name is no nearer than the last that it did
    rough = {
        chunk: weights.ROUGH_WORDS * max(words.get(chunk, 0.0), named.literal.get(chunk, 0.0))
        + weights.ROUGH_MEANING * near.get(chunk, beyond)
        + weights.ROUGH_NOTE * note_words.get(note, 0.0)
        + weights.ROUGH_DATE * dates.get(note, 0.0)
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


def _is_note_of(day: str, row: ChunkRow) -> bool:
    return bool(day) and row.tier == "daily" and row.date == day and not row.date_is_weak


def date_fit(query: Query, row: ChunkRow | NoteRow) -> float:
    """How well a chunk's or a note's own day fits the dates that the query names, 0 to 1."""
    if not query.dates or row.date is None or row.date_is_weak:
        return 0.0
    try:
        day = date.fromisoformat(row.date)
    except ValueError:
        return 0.0
    return max(weights.date_worth(named.distance(day)) for named in query.dates)


# --- notes that a query names: who types a note's name wants that note, whatever else holds the word


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
    """The notes that the query names, of those that may answer; of one that is still typed, those that it begins."""
    whole: list[tuple[int, str, bool]] = []
    inside: set[int] = set()
    if query.meaning and query.selection is None:
        asked = key(query.meaning)
        for name, notes in reader.called(keys_within(query.meaning), within).items():
            if len(notes) <= NAMESAKES:
                inside.update(note for note, _, _ in notes)
                if name == asked:
                    whole = notes
        if query.unfinished and not whole:
            begun = map(key, reader.names(within.scope).beginning(query.meaning))
            whole = [note for notes in reader.called(begun, within).values() for note in notes[:NAMESAKES]]
            inside.update(note for note, _, _ in whole)
    blank = tuple(path for _, path, is_blank in whole if is_blank)
    return Called(frozenset(note for note, _, _ in whole), frozenset(inside), blank)


@lru_cache(maxsize=8192)
def stems_of(name: str) -> frozenset[str]:
    """The words of a name as they are compared with a query's."""
    return frozenset(map(stem, name_parts(name)))


def shares(
    reader: IndexReader, rows: Iterable[ChunkRow], terms: Terms, idfs: Mapping[str, float], total: int
) -> dict[int, tuple[float, float, str]]:
    """How much of the query names each chunk, by its note or as the subject of its facts: the share of its idf that a
    name covers, times the share of the name's idf that is covered. Of several names the best counts.

    Args:
        reader: the index.
        rows: of the chunks in question.
        terms: of the query.
        idfs: of these.
        total: chunks in the index.

    Returns:
        By chunk the share of what some note holds of the query (the rest tells none from another), the share of the
        whole query, and the subject of its facts or ''.
    """
    pairs = (literal for literal in terms.literals if len(literal) < 3 or not is_run(literal))
    asked = {term: idfs[term] for term in (*terms.stems, *pairs) if len(term) > 1 and term in idfs}
    if not asked:
        return {}
    heads = {head[:3] for head in heads_of(tuple(asked))}
    chunks: dict[int, list[int]] = {}
    names: dict[int, list[str]] = {}
    for row in rows:
        chunks.setdefault(row.note_id, []).append(row.id)
        if row.note_id not in names:
            names[row.note_id] = names_of(row.path, row.title, row.aliases)
    subjects = reader.subjects(chunk for those in chunks.values() for chunk in those)
    calling = [(name, chunks[note]) for note, those in names.items() for name in those]
    calling += [(subject, [chunk]) for chunk, subject in subjects.items()]
    named: dict[str, set[int]] = {}
    parts_of: dict[str, frozenset[str]] = {}
    for name, those in calling:
        if name.isascii() and not any(map(name.lower().__contains__, heads)):
            continue
        parts = stems_of(name)
        if not parts.isdisjoint(asked) and (one := key(name)):
            parts_of.setdefault(one, parts)
            named.setdefault(one, set()).update(those)
    shared = reader.shared_names(named, NAMESAKES)
    rest = {part for one in named if one not in shared for part in parts_of[one]} - asked.keys()
    held = reader.frequencies(rest)
    unheld, covering = idf(max(total, 1), 0), frozenset().union(*(parts_of[one] for one in named))
    known = sum(value for term, value in asked.items() if value < unheld or term in covering)
    found: dict[int, tuple[float, float, str]] = {}
    for one, called_so in named.items():
        if one in shared:
            continue
        covered = sum(asked[part] for part in parts_of[one] if part in asked)
        whole = covered + sum(idf(max(total, 1), min(held[part], total)) for part in parts_of[one] if part in held)
        of_name = covered / whole if whole else 0.0
        share = min(1.0, covered / known) * of_name, covered / sum(asked.values()) * of_name
        for chunk in called_so:
            found[chunk] = max(found.get(chunk, (0.0, 0.0, "")), (*share, subjects.get(chunk, "")))
    return found
