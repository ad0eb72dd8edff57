"""Gather the candidates of a query: chunks that the index finds by words, meaning, date and the names of notes, the
best of them divided into lines. Sets the raw parts of scores; weights are applied later.

Two steps keep a query at a few milliseconds however large the vault is: the index returns numbers for a few hundred
chunks, and a rough sum of these numbers picks the chunks that are read line by line.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import date
from functools import cached_property, lru_cache, partial
from operator import mul
from typing import TYPE_CHECKING

from tars_memory import index, vault
from tars_memory.index.fulltext import Filter, expression
from tars_memory.index.naming import key, keys_within, name_parts, names_of
from tars_memory.index.reader import NAMESAKES, ChunkRow, IndexReader, NamedNotes, NoteRow, headed_by
from tars_memory.language.words import is_run, stem, tokens, unspaced_runs
from tars_memory.recall import weights
from tars_memory.recall.weights import Exclusion, Terms, bm25, heads_of, idf

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from tars_memory.index.models import QueryVector
    from tars_memory.language.dates import NamedDate
    from tars_memory.recall.query import Query


_ITEMS = frozenset({"item", "empty", "machinery", "replaced"})
"""The kinds of lines that begin a list item."""

MARK_CHARACTERS = 7
"""Maximum number of characters around a state, a block id or a source, with the time before it: ``- 14:30 [``."""
USUAL_SAMPLE = 16
"""Number of chunks, spread over the vault, from which the usual nearness to a query is estimated."""
CHUNKS_BEFORE = 50
"""Maximum number of earlier chunks that are read to find the start of a list: 40,000 characters."""


class CandidateLine:
    """One line of a candidate chunk with the raw parts of its score.

    Attributes:
        chunk: that contains it.
        index: in the texts of the chunk.
        number: in the note, 1-based.
        text: verbatim; a piece of the line if it is oversized.
        length: of ``text`` in characters.
        shown: the text that Obsidian shows; set when terms are counted.
        known: the line as the index describes it.
        counts: by term the number of occurrences.
        words: BM25 among the lines that are read.
        shared: the part of it that all lines of the chunk have for the names that the query contains.
        nearest: for each word of the query the nearness of the nearest word of the line; empty without word vectors.
        speaker: share of the words of its speaker's name that the query contains.
        validity: penalty for lines that don't count any more, or not yet (:mod:`tars_memory.recall.weights`).
        before: the line before it, if that is a candidate too.
        parts: weighted parts of the score, in the order of :data:`tars_memory.recall.scores.PARTS`.
        score: their sum.
    """

    words = shared = speaker = validity = score = 0.0
    parts: tuple[float, ...] = ()
    before: CandidateLine | None = None

    def __init__(self, chunk: Candidate, index: int, number: int) -> None:
        self.chunk = chunk
        self.index = index
        self.number = number
        self.text = self.shown = chunk.texts[index]
        self.length = len(self.text)
        self.known = chunk.row.lines[index]
        self.counts: dict[str, int] = {}
        self.nearest: list[float] = []

    @cached_property
    def content_length(self) -> int:
        """About how many characters it has without its state, block id and source."""
        parts = (self.known.state, self.known.block_id, self.known.source)
        return max(1, self.length - sum(len(part) + MARK_CHARACTERS for part in parts if part))

    @cached_property
    def content_words(self) -> frozenset[str]:
        """Its words; in text written without blanks, the single characters.

        Times, states, block ids and sources don't count as words: the index knows them, so that a search needs no
        grammar to find them.
        """
        known = self.known
        words = {word for word in tokens(self.text) if len(word) > 2 or not word.isdigit()}
        for word in () if self.text.isascii() else [*filter(unspaced_runs, words)]:
            words.remove(word)
            words.update(word)
        return frozenset(words.difference([known.state], tokens(known.block_id + " " + known.source)))


class Candidate:
    """One chunk that is read line by line.

    Attributes:
        row: from the index.
        texts: its lines.
        lines: those of them that may answer.
        words: BM25 of the chunk.
        note_words: BM25 of its whole note.
        meaning: cosine with the query, on the scale of its model; None without a vector.
        name_meaning: cosine of the query with the name of its note, on that scale; 0 without a vector of the name.
        date: how well its day fits the dates that the query names, 0 to 1.
        date_worth: what that counts for, 0 to 1: days without a year count more in the latest year that has one of
            them, and a long stretch less.
        name_share: how much of the query names it, 0 to 1, not counting words that no note contains.
        query_share: the same, counting all words of the query.
        name_is_query: whether the query is a name of its note, or the day of its daily note.
        name_in_query: whether the query contains a name of its note, or the subject of its facts.
        heading_is_query: whether the query is a heading above it.
        subject: of its first fact; '' without facts.
        counts: by term the number of occurrences in it, its headings and the names of its note.
        headed: whether its headings or the names of its note hold a term.
        named: the terms of its headings and of the names of its note, if the query contains such a name: they don't
            tell its lines apart.
        decided: by index of a line the state of the candidate that it repeats (:mod:`tars_memory.recall.decided`).
    """

    words = note_words = name_meaning = date = date_worth = name_share = query_share = 0.0
    name_in_query = name_is_query = heading_is_query = headed = False
    subject = ""
    named = frozenset[str]()
    meaning: float | None = None

    def __init__(self, row: ChunkRow) -> None:
        self.row = row
        self.texts = row.text.split("\n")
        self.lines: list[CandidateLine] = []
        self.counts: dict[str, int] = {}
        self.decided: Mapping[int, str] = {}

    @cached_property
    def nearest(self) -> list[float]:
        """For each word of the query the nearness of the nearest word of the chunk; empty without word vectors."""
        return [max(each) for each in zip(*(line.nearest for line in self.lines if line.nearest), strict=True)]


class Pool:
    """The candidates of a query, and what is known about the query.

    Attributes:
        chunks: the candidates, in the order of the vault.
        idfs: of the query's terms.
        rows: number of chunks in the index.
        nearest: the best cosine of all, on the scale of its model.
        read: number of chunks that were read; ``chunks`` are those of them that have a line to show.
        known: whether any note contains a word of the query; always True if the search is by words.
        scale: of the model that compares meaning.
        strange: how unlike any language the query is, according to that model.
        coverage: share of the best chunks by words that have a vector; 0 if nothing was compared by meaning.
        blank: paths of the empty notes of which the query is a name.
        related: the terms that no note contains, but another form of their word.
        doubtful: those of them whose forms may well be other words.
        usual: returns how near the chunks of the vault usually are to the query, not counting the chunk with that id.
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
        self.related: Collection[str] = ()
        self.doubtful: Collection[str] = ()
        self.usual: Callable[[int], float] = lambda _: 0.0

    @property
    def lines(self) -> list[CandidateLine]:
        """The lines of all chunks."""
        return [line for chunk in self.chunks for line in chunk.lines]


def gather(
    reader: IndexReader,
    query: Query,
    terms: Terms,
    narrowed: Filter,
    vector: QueryVector | None,
    held: Mapping[str, int],
    *,
    by_words: bool,
    limit: int,
) -> Pool:
    """Shortlist chunks by the index, and read the best of them line by line.

    Args:
        reader: the index.
        query: parsed.
        terms: of the same query.
        narrowed: where to look.
        vector: of the query; None to search by words only.
        held: by stem of the query the number of chunks that contain it or, if none does, a form of its word.
        by_words: False to search by meaning only.
        limit: number of hits that are wanted.
    """
    shortlist = Shortlist()
    scale = weights.scale_of(vector.model if vector is not None else "")
    asked = weights.numbers(vector.words) if vector is not None else []
    coverage = float(vector is not None)
    if by_words:
        coverage *= shortlist_by_words(reader, query, narrowed, shortlist, limit, compares=vector is not None)
    vector, asked = (vector, asked) if coverage else (None, [])
    if vector is not None and coverage >= weights.NEARBY_FROM:
        shortlist.near = reader.with_text(reader.nearest, vector.vector, narrowed, CHUNKS_BY_MEANING)
    if query.dates:
        shortlist_by_date(reader, query, narrowed, shortlist)
    ids = list(dict.fromkeys((*shortlist.words, *shortlist.literal, *shortlist.near, *shortlist.dated)))
    most = max(CHUNKS_READ, limit + limit // 2)
    rows = reader.chunks(ids if len(ids) <= most else best(reader, query, shortlist, ids, most, scale))
    named = NamedNotes()
    if query.meaning and query.selection is None:
        named = reader.named_in(query.meaning, narrowed, unfinished=query.unfinished)
    present = {row.note_id for row in rows.values()}
    opened = dict.fromkeys((*named.inside, *list(shortlist.notes)[:NOTES_OPENED]))
    rows.update(reader.openings([note for note in opened if note not in present or note in named.whole], narrowed))
    if vector is not None:  # further cosines are worth their cost only for chunks that are read
        shortlist.near |= reader.cosines(vector.vector, [i for i in rows if i not in shortlist.near])
    bits = reader.word_bits(list(rows)) if asked or scale.names else {}
    total, subjects = reader.chunk_count(), reader.subjects(rows)
    headed = headed_by(query.meaning, rows)
    shortlist.near = {chunk: scale.meaning(cosine) for chunk, cosine in shortlist.near.items()}
    nearest = max(shortlist.near.values(), default=0.0)
    excluded = Exclusion(query.negations)
    found, hidden = _candidates(reader, query, rows.values(), shortlist, named, excluded)
    if by_words:
        _count(found, terms, subjects)
    _leave_out_common([chunk for chunk in found if chunk.row.front], held, COMMON_PROPERTY * total)
    roots = [query.stems.get(word, "") for word in query.content]
    for chunk in found:
        if chunk.row.id in bits:
            _compare_words(chunk, asked, *bits[chunk.row.id], scale.chance_of_words)
            _level(chunk, roots if len(roots) == len(asked) else ())
    chunks = _without_wordless(_answering(found, hidden, excluded))
    if vector is not None and scale.names:
        _compare_names(chunks, vector, bits)
    idfs = _idfs(reader, terms, held, chunks, total) if by_words else {}
    _add_bm25(chunks, terms, idfs)
    visible = (chunk.row for chunk in chunks if chunk.row.note_id not in hidden)
    by_name = name_shares(reader, visible, subjects, terms, idfs, total)
    for chunk in chunks:
        chunk.name_share, chunk.query_share, subject = by_name.get(chunk.row.id, (0.0, 0.0, ""))
        chunk.name_in_query |= bool(subject) and key(subject) in keys_within(query.meaning)
        chunk.subject = subjects.get(chunk.row.id, "")
        if chunk.row.id in headed:
            chunk.heading_is_query, chunk.name_share, chunk.query_share = True, 1.0, 1.0
    known = by_words or any(held.values())
    strange = vector.strange if vector is not None else 0.0
    pool = Pool(chunks, idfs, total, len(rows), scale)
    pool.nearest, pool.known, pool.strange = nearest, known, strange
    pool.blank = [path for path in named.blank if not any(map(excluded.holds, names_of(path, "", ())))]
    pool.coverage, pool.related = coverage, query.relatives.keys()
    pool.doubtful = [root for root, forms in query.relatives.items() if weights.is_doubtful(root, forms)]
    pool.usual = lru_cache(1)(partial(_usual_nearness, reader, vector, asked, scale))
    return pool


def _candidates(
    reader: IndexReader,
    query: Query,
    rows: Collection[ChunkRow],
    shortlist: Shortlist,
    named: NamedNotes,
    excluded: Exclusion,
) -> tuple[list[Candidate], set[int]]:
    """Make candidates of rows, in the order of the vault, with their lines and their numbers from the index.

    Returns:
        The candidates, and the ids of notes whose names must not be shown, because they repeat a rejected candidate.
    """
    states, hidden = candidate_states(reader, rows)
    day, latest = _day_asked(query, rows), _latest_dates(query, rows)
    found: list[Candidate] = []
    for row in sorted(rows, key=lambda row: (row.note_id, row.position)):
        is_hidden = row.note_id in hidden
        chunk = Candidate(row)
        chunk.words = shortlist.words.get(row.id, 0.0)
        chunk.note_words = 0.0 if is_hidden else shortlist.notes.get(row.note_id, 0.0)
        chunk.meaning = shortlist.near.get(row.id)
        chunk.date = date_fit(query, row)
        chunk.date_worth = _date_worth(query, latest, row)
        chunk.decided = states.get(row.id, {})
        chunk.name_in_query = row.note_id in named.inside and not is_hidden
        chunk.name_is_query = (row.note_id in named.whole and not is_hidden) or (row.date == day and _is_daily(row))
        _add_lines(chunk, unanswering(reader, query, row, chunk.decided, excluded))
        found.append(chunk)
    return found, hidden


def _leave_out_common(chunks: Sequence[Candidate], held: Mapping[str, int], common: float) -> None:
    """Remove the properties, but keys of lists, that more than :data:`NAMESAKES` notes share word for word and that
    hold common words of the query alone, as ``status: draft``: they sort notes, and answer nothing about one of them.

    Chunks without a line that holds a word of the query then hold none: the title is the text's.

    Args:
        chunks: of properties.
        held: by stem of the query the number of chunks that contain it.
        common: number of chunks that a word is in if it is common.
    """
    holding = Counter(text for chunk in chunks for text in {line.text for line in chunk.lines})
    for chunk in chunks:
        kept: list[CandidateLine] = []
        for line in chunk.lines:
            is_shared = holding[line.text] > NAMESAKES and line.text[-1:] != ":"
            if is_shared and all(held.get(term, 0) > common for term in line.counts):
                for term, n in line.counts.items():
                    chunk.counts[term] -= n
            else:
                kept.append(line)
        chunk.lines = kept
        words = any(line.counts for line in kept)
        chunk.words = chunk.words if words else 0.0
        chunk.counts = {term: n for term, n in chunk.counts.items() if n and words}


def _usual_nearness(
    reader: IndexReader, vector: QueryVector | None, asked: Sequence[int], scale: weights.Scale, best: int
) -> float:
    """Return the median nearness to the query of :data:`USUAL_SAMPLE` chunks, without the best one; 0 without a vector.

    Args:
        reader: the index.
        vector: of the query.
        asked: the words of the query, as integers of their bits.
        scale: of the model.
        best: id of the chunk that is nearest to the query.
    """
    if vector is None:
        return 0.0
    ids = [chunk for chunk in reader.sample(USUAL_SAMPLE) if chunk != best]
    bits = reader.word_bits(ids) if asked else {}
    dimension = len(vector.vector) // 4
    found: list[float] = []
    for chunk, cosine in reader.cosines(vector.vector, ids).items():
        lines = weights.by_line(*bits.get(chunk, (b"", b"")), dimension // 8)
        words = [word for line in (lines[:-1] if scale.names else lines) for word in line]
        near = weights.mean(weights.nearest(asked, words, dimension, scale.chance_of_words))
        found.append(scale.meaning(cosine) + near)
    return sorted(found)[len(found) // 2] if found else 0.0


def candidate_states(reader: IndexReader, rows: Collection[ChunkRow]) -> tuple[dict[int, dict[int, str]], set[int]]:
    """Find the states of candidates that their own lines don't show, and remove rejected names from the rows.

    Lines of session notes repeat candidates without their state, and the line of a candidate doesn't show that another
    line replaced what was approved of it. The index is asked only if there are such lines.

    Returns:
        By chunk and index of a line the state; and the ids of notes whose names repeat a rejected candidate.
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
    from tars_memory.recall.decided import remove_rejected_names, replaced_states, states_in_chunks

    found = states_in_chunks(reader, sessions)
    gone = replaced_states(reader, {name for named in approved.values() for name in named.values()}) if approved else {}
    for chunk, named in approved.items() if gone else ():
        found[chunk] = {i: gone[name] for i, name in named.items() if name in gone}
    notes, lines = remove_rejected_names(reader, sessions)
    for chunk, refused in lines.items():
        found.setdefault(chunk, {}).update(dict.fromkeys(refused, vault.markdown.lines.REJECTED))
    return found, notes


def _list_lines_before(reader: IndexReader, row: ChunkRow) -> list[str]:
    """Return the lines before a chunk that begins inside a list, from where the list may begin; else none."""
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


def unselected(reader: IndexReader, query: Query, row: ChunkRow, texts: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of a chunk that are not about the selected names and topics, that began to hold
    after the day that the query asks about, or that have ended and began after the days that it names.
    """
    left_out: set[int] = set()
    if query.selection is not None:
        left_out.update(range(len(texts)))
        left_out -= query.selection.of(row.path, row.headings, texts, _list_lines_before(reader, row))
    if query.started_by is not None:
        day = query.started_by.isoformat()
        left_out.update(i for i, line in enumerate(row.lines) if line.since > day)
    if query.facts_on is not None:
        last, on = max(named.end for named in query.dates if not named.yearless).isoformat(), str(query.on)
        left_out.update(i for i, line in enumerate(row.lines) if line.since > last and "" < line.until <= on)
    return frozenset(left_out)


def unanswering(
    reader: IndexReader, query: Query, row: ChunkRow, states: Mapping[int, str], excluded: Exclusion
) -> set[int]:
    """Return the indexes of the lines of a chunk that may not answer: not selected, excluded, rejected, or silent.

    Args:
        reader: the index.
        query: parsed.
        row: the chunk.
        states: by index of a line the state of the candidate that it repeats.
        excluded: of the same query.
    """
    texts = row.text.split("\n")
    found = silent(row, texts) | unselected(reader, query, row, texts)
    if excluded:
        found |= _banned(row, texts, excluded)
    return found | {index for index, state in states.items() if state == "rejected"}


def _add_lines(chunk: Candidate, left_out: set[int]) -> None:
    """Give a chunk its candidate lines: not blank, not left out, not machinery."""
    row = chunk.row
    banned = left_out | {i for i, line in enumerate(row.lines) if line.kind == "machinery"}
    before: CandidateLine | None = None
    for i, text in enumerate(chunk.texts):
        if i in banned or not text.strip():
            continue
        line = CandidateLine(chunk, i, row.start_line if row.partial else row.start_line + i)
        line.before = before
        before = line
        chunk.lines.append(line)


def _count(chunks: Sequence[Candidate], terms: Terms, facts: Container[int]) -> None:
    """Count the terms in lines and chunks; in all of them at once, because most contain none.

    The title of ``Memory.md`` and its like is not counted, but that of ``facts``, by the id of their chunks: a memory
    leak has nothing to do with each entry, and "facts about me" asks for them.
    """
    texts: list[str] = []
    lined = [chunk for chunk in chunks if chunk.lines]
    for chunk in lined:
        row = chunk.row
        above = [row.title, *row.headings]
        if row.tier in ("semantic", "procedural") and row.id not in facts:
            above = [name for name in above if name != row.title]
        texts.append(" ".join((*above, *row.aliases, row.date or "")))
        texts += (line.text for line in chunk.lines)
    counts = iter(terms.count_lines(texts))
    for chunk, shown in zip(lined, [vault.suspicion.shown(chunk.texts) for chunk in lined], strict=True):
        named = next(counts)
        chunk.counts, chunk.headed = {**named}, bool(named)
        chunk.named = frozenset(named) if chunk.name_in_query else chunk.named
        for line in chunk.lines:
            line.counts, line.shown = next(counts), shown[line.index]
            for term, n in line.counts.items():
                chunk.counts[term] = chunk.counts.get(term, 0) + n
        if terms.phrases:
            terms.add_phrases("\n".join(line.text for line in chunk.lines), chunk.counts)
        _count_shown(chunk, terms, named)


def _count_shown(chunk: Candidate, terms: Terms, named: Container[str]) -> None:
    """Count a term in the text that Obsidian shows; in link targets, pictures, HTML tags, comments and queries of
    plugins only if no line of the chunk shows it, and its headings and names don't have it (``named``): the address of
    a badge is found, but is not an answer next to a sentence, nor is ``![[Giulia.png]]`` in Giulia's note.

    Lines that show nothing and contain no term are removed from the chunk.
    """
    partly = [line for line in chunk.lines if line.shown != line.text]
    if not partly:
        return
    counts = dict(zip(partly, terms.count_lines([line.shown for line in partly]), strict=True))
    seen = {term for line in chunk.lines for term in counts.get(line, line.counts)}
    for line, found in counts.items():
        line.counts = found | {term: n for term, n in line.counts.items() if term not in seen and term not in named}
    answers = [line for line in chunk.lines if line.counts or line.shown.strip()]
    if answers:
        for line, before in zip(answers[1:], answers, strict=False):
            line.before = before
        answers[0].before = None
        chunk.lines = answers


def _answering(chunks: Iterable[Candidate], hidden: Container[int], excluded: Exclusion) -> list[Candidate]:
    """Return the chunks with a line that was found by something, and not only by a name that must not be shown."""
    found = []
    for chunk in chunks:
        by_note = chunk.name_is_query or (chunk.note_words and not excluded)
        by_itself = chunk.counts or by_note or chunk.meaning is not None or chunk.date
        if chunk.lines and by_itself and (chunk.counts or chunk.row.note_id not in hidden):
            found.append(chunk)
    return found


def _without_wordless(chunks: Sequence[Candidate]) -> list[Candidate]:
    """Leave out chunks with nothing but bullets without words, or lines that show nothing and contain no term, of notes
    that have others: a template's empty tasks, the pictures below a heading.
    """

    def is_bare(line: CandidateLine) -> bool:
        return line.known.kind == "empty" or not (line.shown.strip() or line.counts)

    bare = {chunk.row.id for chunk in chunks if all(map(is_bare, chunk.lines))}
    worded = {chunk.row.note_id for chunk in chunks if chunk.row.id not in bare}
    return [chunk for chunk in chunks if chunk.row.id not in bare or chunk.row.note_id not in worded]


def silent(row: ChunkRow, texts: Sequence[str]) -> set[int]:
    """Return the indexes of a chunk's lines that never answer: bullets without words beside other lines, rejected
    candidates, and former texts of replaced lines.
    """
    found: set[int] = set()
    if row.tier == "daily":
        found |= {i for i, line in enumerate(row.lines) if line.state == "rejected"}
    empty = {i for i, line in enumerate(row.lines) if line.kind == "empty"}
    if any(text.strip() and i not in empty for i, text in enumerate(texts)):
        found |= empty
    for i, line in enumerate(row.lines):
        if line.kind == "replaced":  # the old text of the line above it: ``why`` shows it
            others = zip(reversed(row.lines[:i]), reversed(texts[:i]), strict=True)
            above = next((other for other, text in others if text.strip() and other.indent < line.indent), None)
            if row.tier == "daily" if above is None else above.state == "promoted":
                found.add(i)
    return found


def _compare_words(chunk: Candidate, asked: Sequence[int], counts: bytes, bits: bytes, chance: float) -> None:
    """Set, for each line of a chunk, how near its words are to those of the query.

    Args:
        chunk: whose lines are compared.
        asked: the words of the query, as integers of their bits.
        counts: number of words of each line.
        bits: of all words of the chunk.
        chance: nearness that counts as 0.
    """
    width = len(bits) // (sum(counts) or 1)
    words = weights.by_line(counts, bits, width)
    for line in chunk.lines:
        found = words[line.index] if line.index < len(words) else ()
        line.nearest = weights.nearest(asked, found, 8 * width, chance)


def _level(chunk: Candidate, roots: Sequence[str]) -> None:
    """Let all lines of a chunk be as near as the nearest of them to the words of the query that name its note.

    Args:
        chunk: whose lines were compared.
        roots: stems of the words of the query that have a vector, in order.
    """
    lines = [line for line in chunk.lines if line.nearest]
    for at, root in enumerate(roots):
        if root in chunk.named and lines:
            nearest = max(line.nearest[at] for line in lines)
            for line in lines:
                line.nearest[at] = nearest


def _compare_names(chunks: Sequence[Candidate], vector: QueryVector, bits: Mapping[int, tuple[bytes, bytes]]) -> None:
    """Set, for each chunk, how near the name of its note is to the query, where the index keeps vectors of names."""
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


def _idfs(
    reader: IndexReader, terms: Terms, stems_held: Mapping[str, int], chunks: Sequence[Candidate], total: int
) -> dict[str, float]:
    """Return the idf of every term: words and runs of signs are counted in the index, other terms in the candidates.
    So are words that the index takes for function words.
    """
    held = {root: count for root, count in stems_held.items() if root not in terms.mistaken}
    if runs := [literal for literal in terms.literals if is_run(literal)]:
        held.update(reader.sign_frequencies(runs))
    for other in (*terms.mistaken, *terms.keys[len(terms.stems) :]):
        if other not in held:
            held[other] = sum(other in chunk.counts for chunk in chunks)
    return {term: idf(max(total, 1), min(held.get(term, 0), total)) for term in terms.keys}


def _add_bm25(chunks: Sequence[Candidate], terms: Terms, idfs: Mapping[str, float]) -> None:
    """Set the BM25 of every line, and add to that of chunks the terms that the index has not counted.

    Also links the first line of a chunk to the last line of the chunk before it.
    """
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
            chunk.lines[0].before = last.lines[-1] if chunk.row.start_line >= last.row.end_line else None
        last = chunk
        extra = {term: n for term, n in chunk.counts.items() if term in uncounted}
        if extra:
            chunk.words += bm25(extra, idfs, sum(line.length for line in chunk.lines), chunk_average)
        _add_bm25_of_lines(chunk, idfs, average)


def _add_bm25_of_lines(chunk: Candidate, idfs: Mapping[str, float], average: float) -> None:
    """Set the BM25 of the lines of a chunk. Names of its note in the query count for all lines what they count for in
    the line that has most of them, unless the lines have no other word of the query.
    """
    held = [line for line in chunk.lines if line.counts]
    named = chunk.named
    shared = named if named and any(line.counts.keys() - named for line in held) else frozenset()
    most = 0.0
    for line in held:
        own = {term: n for term, n in line.counts.items() if term not in shared} if shared else line.counts
        line.words = bm25(own, idfs, line.length, average)
        if len(own) < len(line.counts):
            names = {term: n for term, n in line.counts.items() if term in shared}
            most = max(most, bm25(names, idfs, line.length, average))
    for line in chunk.lines if most else ():
        line.words, line.shared = line.words + most, most


def _banned(row: ChunkRow, texts: Sequence[str], excluded: Exclusion) -> frozenset[int]:
    """Return the line indexes of the blocks (paragraph, list item) that contain something excluded; all of a chunk if a
    name of its note or a heading above it does.
    """
    if any(map(excluded.holds, (*row.names, *row.headings))):
        return frozenset(range(len(texts)))
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


# --- the chunks that the index finds, and which of them are worth reading


CHUNKS_BY_WORDS = 300
NOTES_BY_WORDS = 200
CHUNKS_BY_MEANING = 100
CHUNKS_BY_DATE = 100
CHUNKS_BY_PREFIX = 500
"""Maximum number of candidates by each method. The cost of sqlite-vec's selection is rows times neighbours: at 150,000
rows 100 neighbours cost a tenth more than 10, and 300 cost half as much again."""
CHUNKS_READ = 50
"""Number of candidates that are read line by line: 40 to 200 score alike on three sets (docs/development/ranking.md).
"""
COMPARED = 80
"""Number of the best chunks by words of which the share with a vector is computed."""
PROPERTIES_READ = 5
"""One in this many of the chunks that are read, at most, is of properties while there are others: they are short, and
those of many notes say the same."""
COMMON_PROPERTY = 0.1
"""Share of all chunks from which on a word is common: a property that many notes share is not a hit for it."""
DATED_READ = 20
"""Minimum number of chunks read of the days that the query names: by a word that hundreds of days contain (``gym
yesterday``) the chunk of the day is found no sooner than the others."""
CHUNKS_OF_NOTE = 3
"""Number of chunks whose BM25 counts for a note in a script without blanks; whole notes are indexed by words only."""
NOTES_OPENED = 10
"""Number of the best notes of which at least the first chunk is read: an alias or a property may be all that matched.
"""
LOST_BY_STEMMING = 5
"""Maximum number of letters by which the stem of a word is shorter than a prefix: ``runni*`` has to find ``run``."""


class Shortlist:
    """The chunks and notes that the index finds, by id.

    Attributes:
        words: BM25 of chunks.
        notes: BM25 of notes.
        literal: share of the query's literals that chunks contain; 1 if they contain a prefix.
        near: cosine of chunks with the query; once they are read, on the scale of its model.
        dated: chunks of the days that the query names.
    """

    def __init__(self) -> None:
        self.words: dict[int, float] = {}
        self.notes: dict[int, float] = {}
        self.literal: dict[int, float] = {}
        self.near: dict[int, float] = {}
        self.dated: list[int] = []


def shortlist_by_words(
    reader: IndexReader, query: Query, narrowed: Filter, shortlist: Shortlist, limit: int, *, compares: bool
) -> float:
    """Add chunks and notes with their BM25, and chunks that contain a literal or a prefix of the query.

    Of a word that FTS5 takes for a function word, the BM25 is that of one occurrence in a text of average length.

    At least as many as the hits that are wanted, if there are.

    Returns:
        If chunks are compared by meaning, the share of the best ones that have a vector; 1 if no chunk was found, for
        then neighbours displace none.
    """
    most, mistaken = max(CHUNKS_BY_WORDS, limit), query.mistaken
    match = _expression(query)
    if match:
        shortlist.words = reader.with_text(reader.match_chunks, match, narrowed, most)
        shortlist.notes = dict(reader.match_notes(match, narrowed, NOTES_BY_WORDS))
    runs = [literal for literal in query.literals if is_run(literal)]
    if runs:
        _add_runs(reader, runs, narrowed, shortlist, most)
    others = [literal for literal in query.literals if literal not in runs]
    for chunk, held in reader.match_text(others, narrowed, most) if others else ():
        shortlist.literal[chunk] = held / len(others)
    for word in mistaken:
        chunks = reader.match_written(word, narrowed, most)
        for chunk in chunks:
            shortlist.words[chunk] = shortlist.words.get(chunk, 0.0) + idf(reader.chunk_count(), len(chunks))
    if query.prefixes:
        match = expression((), prefixes=[prefix[: max(3, len(prefix) - LOST_BY_STEMMING)] for prefix in query.prefixes])
        for chunk in reader.with_text(reader.match_chunks, match, narrowed, CHUNKS_BY_PREFIX):
            shortlist.literal.setdefault(chunk, 1.0)
    order = sorted(shortlist.words, key=lambda chunk: -shortlist.words[chunk]) or list(shortlist.literal)
    first = order[:COMPARED]
    return len(reader.embedded(first)) / len(first) if compares and first else 1.0


def _add_runs(reader: IndexReader, runs: Sequence[str], narrowed: Filter, shortlist: Shortlist, most: int) -> None:
    """Add the BM25 of text written without blanks to that of chunks, and to that of notes by their best chunks."""
    scored = reader.with_text(reader.match_signs, runs, narrowed, most)
    of_note: dict[int, list[float]] = {}
    for chunk, (note, _) in reader.places(scored).items():
        shortlist.words[chunk] = shortlist.words.get(chunk, 0.0) + scored[chunk]
        of_note.setdefault(note, []).append(scored[chunk])
    for note, found in of_note.items():
        shortlist.notes[note] = shortlist.notes.get(note, 0.0) + sum(sorted(found)[-CHUNKS_OF_NOTE:])
    shortlist.notes = dict(sorted(shortlist.notes.items(), key=lambda pair: -pair[1])[:NOTES_BY_WORDS])


def _expression(query: Query) -> str:
    """Return the FTS5 expression for any of the query's phrases, of its words but those that FTS5 takes for function
    words, of other forms of words that no note contains, and of other spellings of compounds.
    """
    words = (word for word in query.words if word not in query.mistaken)
    forms = (weights.worded(other) for others in query.relatives.values() for other in others)
    compounds = (word if parts in query.phrases else " ".join(parts) for parts, word in query.compounds.items())
    return expression([*words, *(" ".join(phrase) for phrase in query.phrases), *forms, *compounds])


def shortlist_by_date(reader: IndexReader, query: Query, narrowed: Filter, shortlist: Shortlist) -> None:
    """Add chunks of the days that the query names: they may answer without containing one of its words.

    If the maximum number of chunks was found by words, chunks of the day may be missing among them; they get BM25 too.
    """
    match = _expression(query) if len(shortlist.words) >= CHUNKS_BY_WORDS else ""
    for stretch in query.dates:
        if (stretch.end - stretch.start).days < weights.LONGEST_DATE:
            inside = _inside(narrowed, stretch)
            if match:
                by_words = dict(reader.match_chunks(match, inside, CHUNKS_BY_DATE))
                shortlist.words.update(by_words)
                shortlist.dated += by_words
            shortlist.dated += reader.newest(inside, CHUNKS_BY_DATE)
    shortlist.dated = list(dict.fromkeys(shortlist.dated))


def _inside(narrowed: Filter, stretch: NamedDate) -> Filter:
    """Narrow a filter further, to the days of a stretch; without a year, to those of any year."""
    first, last = stretch.start, stretch.end
    if stretch.yearless:
        return narrowed._replace(each_year=(first.month * 100 + first.day, last.month * 100 + last.day))
    start, end = first.isoformat(), last.isoformat()
    return narrowed._replace(since=max(start, narrowed.since or start), until=min(end, narrowed.until or end))


def best(
    reader: IndexReader, query: Query, shortlist: Shortlist, ids: Sequence[int], most: int, scale: weights.Scale
) -> list[int]:
    """Return the ids of the chunks that are worth reading, by a rough sum of their numbers from the index.

    Args:
        reader: the index.
        query: parsed.
        shortlist: with the numbers.
        ids: of the chunks to choose from.
        most: maximum number of chunks.
        scale: of the model.
    """
    notes = {chunk: note for chunk, (note, _) in reader.places(ids).items()}
    dates: dict[int, float] = {}
    if query.dates:
        dates = {row.id: date_fit(query, row) for row in reader.notes(set(notes.values())).values()}
    words = weights.shares_of(shortlist.words)
    note_words = weights.shares_of(shortlist.notes)
    near = weights.shares_of({chunk: scale.meaning(cosine) for chunk, cosine in shortlist.near.items()})
    beyond = min(near.values(), default=0.0)  # chunks that the KNN did not return are at most as near as its last one
    rough = {
        chunk: weights.ROUGH_WORDS * max(words.get(chunk, 0.0), shortlist.literal.get(chunk, 0.0))
        + weights.ROUGH_MEANING * near.get(chunk, beyond)
        + weights.ROUGH_NOTE * note_words.get(note, 0.0)
        + weights.ROUGH_DATE * dates.get(note, 0.0)
        for chunk, note in notes.items()
    }
    order = sorted(rough, key=lambda chunk: (-rough[chunk], chunk))
    front = reader.properties(order)
    surplus = dict.fromkeys([chunk for chunk in order if chunk in front][most // PROPERTIES_READ :])
    order = [*(chunk for chunk in order if chunk not in surplus), *surplus]
    dated = set(shortlist.dated)
    of_day = [chunk for chunk in order[most:] if chunk in dated][: max(0, DATED_READ - len(dated & set(order[:most])))]
    certain = {*of_day, *list(shortlist.near)[: scale.near_read]} - surplus.keys()
    others = [chunk for chunk in order if chunk not in certain][: most - len(certain)]
    return [*others, *(chunk for chunk in order if chunk in certain)]


def _is_daily(row: ChunkRow) -> bool:
    """Whether a chunk is from the note of a day that its name says: a daily note, or one that is called by the figures
    of its day alone, as the daily notes of an old format are; those of a Zettelkasten have more of them.
    """
    if row.date_is_weak or row.date is None:
        return False
    year, month, day = row.date.split("-")
    figures = "".join(filter(str.isalnum, row.title))
    return row.tier == "daily" or figures in (year + month + day, day + month + year, day)


def _day_asked(query: Query, rows: Iterable[ChunkRow]) -> str:
    """Return the ISO day, of those with a daily note among the rows, that a query consisting of a day asks for; for a
    day without a year the latest one that is not in the future, or else the latest one. '' if there is none.
    """
    if not query.is_day:
        return ""
    today = (query.today or date.max).isoformat()
    days = {row.date for row in rows if row.date and _is_daily(row) and date_fit(query, row) == 1}
    return max(days, key=lambda day: (day <= today, day), default="")


def _latest_dates(query: Query, rows: Iterable[ChunkRow]) -> list[NamedDate]:
    """Return the dates that the query names, those without a year in the latest year with a note among the rows, if
    there is one that is not to come.
    """
    if not any(named.yearless for named in query.dates):
        return query.dates
    today = query.today or date.max
    days = sorted(filter(None, map(_day, rows)), key=lambda day: (day <= today, day), reverse=True)
    found = ((named, next((day for day in days if not named.distance(day)), None)) for named in query.dates)
    return [named.of_year(day) if day is not None else named for named, day in found]


def _day(row: ChunkRow | NoteRow) -> date | None:
    """Return the day of a chunk or a note; None if it is unknown, or only that of the last write."""
    return None if row.date is None or row.date_is_weak else vault.markdown.lines.calendar_day(row.date)


def date_fit(query: Query, row: ChunkRow | NoteRow) -> float:
    """Return how well the day of a chunk or a note fits the dates that the query names, 0 to 1."""
    return 0.0 if row.date is None or row.date_is_weak else day_fit(query, row.date)


def day_fit(query: Query, day: str) -> float:
    """Return how well an ISO day fits the dates that the query names, 0 to 1; 0 if it is none."""
    of = vault.markdown.lines.calendar_day(day) if query.dates else None
    return 0.0 if of is None else max(weights.date_fit(named.distance(of)) for named in query.dates)


def _date_worth(query: Query, latest: Sequence[NamedDate], row: ChunkRow) -> float:
    """Return what it is worth that the day of a chunk fits the dates that the query names, 0 to 1.

    Args:
        query: parsed.
        latest: :func:`_latest_dates` of the query.
        row: the chunk.
    """
    day = _day(row) if query.dates else None
    if day is None:
        return 0.0
    return max(
        weights.date_worth(named.distance(day), last.distance(day), (named.end - named.start).days + 1)
        for named, last in zip(query.dates, latest, strict=True)
    )


# --- notes that a query names: people who type the name of a note want that note, whatever other notes contain the word


@lru_cache(maxsize=8192)
def stems_of(name: str) -> frozenset[str]:
    """Return the stems of the words of a name."""
    return frozenset(map(stem, name_parts(name)))


def name_shares(
    reader: IndexReader,
    rows: Iterable[ChunkRow],
    subjects: Mapping[int, str],
    terms: Terms,
    idfs: Mapping[str, float],
    total: int,
) -> dict[int, tuple[float, float, str]]:
    """Return how much of the query names each chunk, by a name of its note or the subject of its facts.

    That is the share of the query's idf that the name covers, times the share of the name's idf that the query covers.
    Of several names the best counts. Another form of a word that no note contains counts as that word.

    Args:
        reader: the index.
        rows: of the chunks in question.
        subjects: by chunk the subject of its facts.
        terms: of the query.
        idfs: of these.
        total: number of chunks in the index.

    Returns:
        By chunk the share of those words of the query that some note contains (the others don't tell notes apart), the
        share of all its words, and the subject of its facts or ''.
    """
    pairs = (literal for literal in terms.literals if len(literal) < 3 or not is_run(literal))
    asked = {term: idfs[term] for term in (*terms.stems, *pairs) if len(term) > 1 and term in idfs}
    if not asked:
        return {}
    forms = {other: root for other, root in terms.roots.items() if other != root}
    heads = {head[:3] for head in heads_of((*asked, *forms))}
    chunks: dict[int, list[int]] = {}
    names: dict[int, list[str]] = {}
    for row in rows:
        chunks.setdefault(row.note_id, []).append(row.id)
        if row.note_id not in names:
            names[row.note_id] = row.names
    chunks_by_name = [(name, chunks[note]) for note, those in names.items() for name in those]
    chunks_by_name += [
        (subject, [chunk]) for those in chunks.values() for chunk in those if (subject := subjects.get(chunk))
    ]
    named: dict[str, set[int]] = {}
    parts_of: dict[str, frozenset[str]] = {}
    for name, ids in chunks_by_name:
        if name.isascii() and not any(map(name.lower().__contains__, heads)):
            continue
        parts = frozenset(forms.get(part, part) for part in stems_of(name)) if forms else stems_of(name)
        if not parts.isdisjoint(asked) and (name_key := key(name)):
            parts_of.setdefault(name_key, parts)
            named.setdefault(name_key, set()).update(ids)
    if not named:
        return {}
    shared = reader.shared_names(named, NAMESAKES)
    rest = {part for name_key in named if name_key not in shared for part in parts_of[name_key]} - asked.keys()
    held = reader.frequencies(rest)
    unheld, covering = idf(max(total, 1), 0), frozenset().union(*(parts_of[name_key] for name_key in named))
    known = sum(value for term, value in asked.items() if value < unheld or term in covering)
    found: dict[int, tuple[float, float, str]] = {}
    for name_key, named_chunks in named.items():
        if name_key in shared:
            continue
        parts = parts_of[name_key]
        # Sets have no order, and a plain sum would differ by it in its last digits.
        covered = math.fsum(asked[part] for part in parts if part in asked)
        whole = covered + math.fsum(idf(max(total, 1), min(held[part], total)) for part in parts if part in held)
        of_name = covered / whole if whole else 0.0
        share = min(1.0, covered / known) * of_name, covered / sum(asked.values()) * of_name
        for chunk in named_chunks:
            found[chunk] = max(found.get(chunk, (0.0, 0.0, "")), (*share, subjects.get(chunk, "")))
    return found
