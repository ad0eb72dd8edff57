"""The candidates of one query: a few hundred chunks of the index, opened into lines with the parts of their scores."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from tars_memory.recall.lexical import Exclusion, Terms, bm25, idf
from tars_memory.recall.words import WORD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tars_memory.index.filters import Filter
    from tars_memory.index.reader import IndexReader
    from tars_memory.index.rows import ChunkRow
    from tars_memory.recall.query import Query

CHUNKS_BY_WORDS = 150
CHUNKS_BY_MEANING = 150
NOTES_BY_WORDS = 100
CHUNKS_BY_PREFIX = 500
"""How many candidates each way contributes."""
LOST_BY_STEMMING = 5
"""Letters that the stem of a word may be shorter than a beginning of it: ``runni*`` has to find ``run``."""
NOTES_OPENED = 10
"""Of that many best notes at least the first chunk is a candidate: an alias or a property may be all that matched."""


class Line:
    """One line of a candidate chunk with the raw parts of its score."""

    __slots__ = (
        "after",
        "before",
        "chunk",
        "counts",
        "index",
        "length",
        "meaning",
        "number",
        "parts",
        "score",
        "words",
    )

    def __init__(self, chunk: Candidate, index: int, number: int) -> None:
        self.chunk = chunk
        self.index = index
        self.number = number
        self.counts: dict[str, int] = {}
        self.length = 0
        self.words = 0.0
        self.meaning = 0.0
        self.before: Line | None = None
        self.after: Line | None = None
        self.score = 0.0
        self.parts: dict[str, float] = {}


class Candidate:
    """One chunk with the raw parts of its score.

    Attributes:
        row: from the index.
        texts: its lines.
        lines: those of them that say something.
        words: BM25 of the chunk.
        note_words: BM25 of its whole note.
        meaning: cosine with the query; None without a vector.
        counts: how often each term stands in it.
    """

    __slots__ = ("counts", "lines", "meaning", "note_words", "row", "texts", "words")

    def __init__(self, row: ChunkRow) -> None:
        self.row = row
        self.texts = row.text.split("\n")
        self.lines: list[Line] = []
        self.words = 0.0
        self.note_words = 0.0
        self.meaning: float | None = None
        self.counts: dict[str, int] = {}


class Pool:
    """All candidates of one query, in the order of the vault."""

    def __init__(self, chunks: list[Candidate], idfs: dict[str, float], rows: int) -> None:
        self.chunks = chunks
        self.idfs = idfs
        self.rows = rows

    @property
    def lines(self) -> list[Line]:
        """Every line of every candidate."""
        return [line for chunk in self.chunks for line in chunk.lines]


def gather(
    reader: IndexReader, query: Query, terms: Terms, narrowed: Filter, vector: bytes | None, *, by_words: bool
) -> Pool:
    """Ask the index and open what it names.

    Args:
        reader: the index.
        query: parsed.
        terms: of the same query.
        narrowed: where to look.
        vector: of the query; None to go by words alone.
        by_words: False to go by meaning alone.
    """
    words: dict[int, float] = {}
    notes: dict[int, float] = {}
    if by_words:
        words, notes = _matches(reader, query, narrowed)
    near = dict(reader.nearest(vector, narrowed, CHUNKS_BY_MEANING)) if vector is not None else {}
    rows = reader.chunks(list(dict.fromkeys((*words, *near))))
    rows.update(_openings(reader, notes, rows))
    if vector is not None:
        missing = [i for i in rows if i not in near]
        near.update(reader.cosines(vector, missing))
        by_line = reader.line_cosines(vector, list(rows))
    else:
        by_line = {}
    excluded = Exclusion(query.negations)
    chunks: list[Candidate] = []
    for row in sorted(rows.values(), key=lambda r: (r.path, r.position)):
        chunk = Candidate(row)
        chunk.words = words.get(row.id, 0.0)
        chunk.note_words = notes.get(row.note_id, 0.0)
        chunk.meaning = near.get(row.id)
        _open(chunk, terms if by_words else None, by_line.get(row.id), excluded)
        chunks.append(chunk)
    total = reader.chunk_count()
    idfs = _idfs(reader, terms, chunks, total) if by_words else {}
    _weigh_lines(chunks, idfs)
    return Pool(chunks, idfs, total)


def _matches(reader: IndexReader, query: Query, narrowed: Filter) -> tuple[dict[int, float], dict[int, float]]:
    """BM25 by chunk and by note for what FTS5 can look up; chunks found by literals have 0 so far."""
    from tars_memory.index.fulltext import expression

    texts = [*query.words, *(" ".join(phrase) for phrase in query.phrases)]
    words: dict[int, float] = {}
    notes: dict[int, float] = {}
    match = expression(texts)
    if match:
        words = dict(reader.match_chunks(match, narrowed, CHUNKS_BY_WORDS))
        notes = dict(reader.match_notes(match, narrowed, NOTES_BY_WORDS))
    if query.prefixes:
        match = expression((), prefixes=[prefix[: max(3, len(prefix) - LOST_BY_STEMMING)] for prefix in query.prefixes])
        for chunk, _ in reader.match_chunks(match, narrowed, CHUNKS_BY_PREFIX):
            words.setdefault(chunk, 0.0)
    if query.literals:
        for chunk, _ in reader.match_text(query.literals, narrowed, CHUNKS_BY_WORDS):
            words.setdefault(chunk, 0.0)
    return words, notes


def _openings(reader: IndexReader, notes: Mapping[int, float], rows: Mapping[int, ChunkRow]) -> dict[int, ChunkRow]:
    """The first chunks of the best notes that no chunk stands for yet."""
    present = {row.note_id for row in rows.values()}
    absent = [note for note in list(notes)[:NOTES_OPENED] if note not in present]
    if not absent:
        return {}
    opened: dict[int, ChunkRow] = reader.chunks([ids[0] for ids in reader.note_chunks(absent).values() if ids])
    return opened


def _open(chunk: Candidate, terms: Terms | None, cosines: Sequence[float] | None, excluded: Exclusion) -> None:
    """The chunk's lines with their counts and cosines; blocks that hold something excluded are left out."""
    banned = _banned(chunk.texts, excluded) if excluded else frozenset()
    if terms is not None:
        head = " ".join((chunk.row.title, *chunk.row.headings))
        chunk.counts = terms.count("\n".join((head, chunk.row.text)))
    previous: Line | None = None
    for i, text in enumerate(chunk.texts):
        if i in banned or not text or text.isspace():
            continue
        line = Line(chunk, i, chunk.row.start_line + i if not chunk.row.partial else chunk.row.start_line)
        line.length = text.count(" ") + 1
        if terms is not None:
            line.counts = terms.count(text) if chunk.counts else {}
        if cosines is not None and i < len(cosines):
            line.meaning = cosines[i]
        elif chunk.meaning is not None:
            line.meaning = chunk.meaning
        line.before = previous
        if previous is not None:
            previous.after = line
        previous = line
        chunk.lines.append(line)


def _idfs(reader: IndexReader, terms: Terms, chunks: Sequence[Candidate], total: int) -> dict[str, float]:
    """The idf of every term: of words from the vocabulary, of the others from how many candidates hold them."""
    held = dict(reader.frequencies(terms.stems)) if terms.stems else {}
    for key in terms.keys[len(terms.stems) :]:
        held[key] = sum(key in chunk.counts for chunk in chunks)
    return {term: idf(max(total, 1), min(held.get(term, 0), total)) for term in terms.keys}


def _weigh_lines(chunks: Sequence[Candidate], idfs: Mapping[str, float]) -> None:
    """BM25 of every line among the candidates' lines, and of chunks for the terms that FTS5 doesn't know."""
    lengths = [line.length for chunk in chunks for line in chunk.lines]
    if not lengths or not idfs:
        return
    average = sum(lengths) / len(lengths)
    chunk_average = sum(lengths) / len(chunks)
    for chunk in chunks:
        extra = {term: n for term, n in chunk.counts.items() if term in idfs and not _in_fulltext(term)}
        if extra:
            chunk.words += bm25(extra, idfs, sum(line.length for line in chunk.lines), chunk_average)
        for line in chunk.lines:
            if line.counts:
                line.words = bm25(line.counts, idfs, line.length, average)


def _in_fulltext(term: str) -> bool:
    """Whether the chunk's BM25 has counted the term: words and phrases are, literals and prefixes are not."""
    return term.startswith('"') or (WORD.fullmatch(term) is not None and term.isascii())


def _banned(texts: Sequence[str], excluded: Exclusion) -> frozenset[int]:
    """Line indexes of the blocks (paragraph, list item) that hold something excluded."""
    banned: set[int] = set()
    block: list[int] = []
    for i, text in enumerate([*texts, ""]):
        if (not text.strip() or _starts_item(text)) and block:
            if excluded.holds("\n".join(texts[j] for j in block)):
                banned.update(block)
            block = []
        if i < len(texts) and text.strip():
            block.append(i)
    return frozenset(banned)


def _starts_item(text: str) -> bool:
    """Whether the line begins a list item."""
    head, _, rest = text.lstrip().partition(" ")
    return bool(rest) and (head in ("-", "*", "+") or (head[-1:] in (".", ")") and head[:-1].isdigit()))


def day_of(row: ChunkRow) -> date | None:
    """The chunk's day; None when it has none or it is only a file's time."""
    if row.date is None or row.date_is_weak:
        return None
    try:
        return date.fromisoformat(row.date)
    except ValueError:
        return None
