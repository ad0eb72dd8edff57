"""Read access to the index for recall: matches, neighbours, chunks, as raw numbers; recall computes the ranking.

A search returns only what its filter ``within`` allows: outside a project, nothing from ``projects/``.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tars_memory.index import database, fulltext, naming
from tars_memory.index.fulltext import Filter, conditions_of
from tars_memory.language.words import apart, fold, joints, stem
from tars_memory.vault.model import Line
from tars_memory.vault.vault import key_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from tars_memory.index.chunking import LinkTable
    from tars_memory.index.tables import TableCopy
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.vault import Vault


__all__ = ["ChunkRow", "Filter", "IndexReader", "NoteRow"]

Listed = TypeVar("Listed")
Asked = TypeVar("Asked")

CANDIDATES = 5_000
"""Maximum number of chunks whose text is searched for a verbatim string."""
HYPHENS_READ = 100
"""Maximum number of chunks that are read to see whether two words are written with a hyphen anywhere."""
SAME_STEM = 200_000
"""Maximum number of chunks whose text is searched for a word that shares its stem with a function word."""

_CHUNK = frozenset(
    (int, int, int, int, int, int, str, str, str, block_id, str, str, str, int, int, int, str, int)
    for block_id in (str, type(None))
)
_NOTE = frozenset({(int, str, str, int, int, int, str, str, str, str, int)})
_LINE = frozenset({(int, int, *(str,) * 7)})
"""The types of the rows of chunks, notes and lines, in the order of their columns."""
HAS_VECTOR = "c.embedded IN (1, 2)"
"""SQL condition for the chunks that have a vector."""
NAMESAKES = 3
"""Maximum number of notes that a name may have; a name that more notes share identifies none of them."""


class ChunkRow:
    """A chunk of the index. ``text`` is verbatim: its i-th line is line ``start_line + i`` of the note, parsed in
    ``lines[i]``.

    ``date`` is ISO or None; ``date_is_weak`` means that it comes from the file's time of modification alone;
    ``partial`` means that the text is a piece of one oversized line, ``front`` that its lines are properties of the
    front matter.
    """

    id: int
    note_id: int
    position: int
    path: str
    title: str
    aliases: tuple[str, ...]
    names: list[str]
    tier: str
    scope: str
    date: str | None
    date_is_weak: bool
    headings: tuple[str, ...]
    head: str
    start_line: int
    end_line: int
    text: str
    lines: list[Line]
    partial: bool
    front: bool
    block_id: str | None


class NoteRow:
    """A note of the index; ``date`` and ``date_is_weak`` as in :class:`ChunkRow`."""

    id: int
    path: str
    title: str
    tier: str
    scope: str
    date: str | None
    date_is_weak: bool
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    links: tuple[str, ...]
    lines: int


class NamedNotes(NamedTuple):
    """The notes that a text names.

    Attributes:
        whole: ids of the notes of which the text is a name.
        inside: ids of the notes of which the text contains a name, with those of ``whole``.
        blank: paths of the notes of ``whole`` that are empty.
    """

    whole: frozenset[int] = frozenset()
    inside: frozenset[int] = frozenset()
    blank: tuple[str, ...] = ()


def headed_by(text: str, rows: Mapping[int, ChunkRow]) -> set[int]:
    """Return the ids of the chunks below a heading that a text is, unless more than :data:`NAMESAKES` notes have it.

    A text of a single word heads nothing: it more often asks for what the vault says of it.
    """
    asked = naming.key(text) if len(naming.name_parts(text)) > 1 else ""
    below = [row for row in rows.values() if asked and asked in map(naming.key, row.headings)]
    return {row.id for row in below} if len({row.note_id for row in below}) <= NAMESAKES else set()


class IndexReader:
    """Reads one index file.

    Args:
        connection: of the index.
        cache: path of the embedding cache.

    Attributes:
        connection: of the index.
        matching: returns the SQL for the rows that match a full-text expression (:func:`fulltext.matching`).
        fingerprint: of the model whose vectors the index holds, None if it holds none. Never pass vectors of another
            model.
        dimension: of these vectors, 0 if there are none.
        meta: what else is known of the index as a whole.
    """

    def __init__(self, connection: sqlite3.Connection, cache: Path) -> None:
        self.connection = connection
        self._cache = cache
        self._attached = False
        self._ended_on: tuple[str | None, frozenset[int]] = None, frozenset()  # a day, and the scopes with ended chunks
        self._chunk_count: int | None = None
        self._scopes = {str(name): int(key) for key, name in connection.execute("SELECT id, name FROM scopes")}
        self._scope_names = {key: name for name, key in self._scopes.items()}
        self.meta = database.meta(connection)
        self.fingerprint: str | None = self.meta.get("model")
        self.dimension = int(self.meta.get("dimension", 0))

    # --- words

    def match_chunks(self, expression: str, within: Filter, k: int) -> list[tuple[int, float]]:
        """Return the k best chunks for a query of :func:`fulltext.expression` as (chunk, BM25); higher is better."""
        return self._ranked("chunk_words", expression, within, k) if expression else []

    def with_text(
        self, find: Callable[[Asked, Filter, int], Iterable[tuple[int, float]]], asked: Asked, within: Filter, k: int
    ) -> dict[int, float]:
        """Return the k chunks that are found, each with its number, and as many of text alone if properties are among
        them: those of thousands of notes say the same in few words, and would leave no text.
        """
        found = dict(find(asked, within, k))
        if len(found) >= k and self.properties(found):
            found |= dict(find(asked, within._replace(front=False), k))
        return found

    def match_notes(self, expression: str, within: Filter, k: int) -> list[tuple[int, float]]:
        """Return the k best notes, matched as a whole, as (note, BM25)."""
        return self._ranked("note_words", expression, within, k) if expression else []

    def match_signs(self, strings: Sequence[str], within: Filter, k: int) -> list[tuple[int, float]]:
        """Return the k best chunks for any of these strings in scripts without blanks, as (chunk, BM25)."""
        expression = " OR ".join(f"({part})" for part in map(fulltext.sign_expression, strings) if part)
        return self._ranked("chunk_signs", expression, within, k) if expression else []

    def sign_frequencies(self, strings: Iterable[str]) -> dict[str, int]:
        """Return string → number of chunks that contain it, for strings in scripts without blanks."""
        found = {}
        for string in strings:
            found[string] = 0
            if expression := fulltext.sign_expression(string):
                matching, values = self.matching("chunk_signs", expression)
                row = self.connection.execute(f"SELECT count(*) FROM ({matching}) w", values).fetchone()
                found[string] = int(row[0])
        return found

    def match_text(self, strings: Sequence[str], within: Filter, k: int) -> list[tuple[int, int]]:
        """Return the chunks that contain any of the strings as written (except for case and diacritics).

        A string in a script without blanks, an emoji or ``C++`` is found at any length and any position; words from the
        start of a word on. For a string of punctuation alone, every chunk is searched.

        Returns:
            (chunk, number of strings it contains), the most first.
        """
        counts: dict[int, int] = {}
        for string in dict.fromkeys(strings):
            folded = fulltext.fold_signs(fulltext.clean(string)).strip()
            for chunk, text in self._texts(string, within, CANDIDATES) if folded else ():
                if folded in fulltext.fold_signs(text):
                    counts[chunk] = counts.get(chunk, 0) + 1
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:k]

    def match_written(self, word: str, within: Filter, k: int) -> list[int]:
        """Return the newest chunks with a folded word, of which the index knows the stem alone.

        Texts with the stem are read until there are enough with the word: if a function word shares its stem, it may be
        in none of the newest.
        """
        whole = re.compile(rf"{word}(?<![^\W_]{word})(?![^\W_])")  # begins with the word: that is found fast
        texts = self._texts(word, within, SAME_STEM)
        return list(islice((chunk for chunk, text in texts if whole.search(fold(text))), k))

    def hyphenated(self, parts: tuple[str, str], within: Filter) -> int:
        """Return in how many chunks, of all scopes, two folded words stand side by side; 0 if none of the newest that
        may answer writes them with a hyphen, or as one number.
        """
        matching, values = self.matching("chunk_words", fulltext.quoted(" ".join(parts)))
        count = int(self.connection.execute(f"SELECT count(*) FROM ({matching}) w", values).fetchone()[0])
        if not count:
            return 0
        written, root = re.compile(rf"(?<![^\W_]){parts[0]}[{joints(parts[0])}]([^\W_]+)"), stem(parts[1])
        texts = (fold(apart(text)) for _, text in self._texts(" ".join(parts), within, HYPHENS_READ))
        return count if any(stem(end) == root for text in texts for end in written.findall(text)) else 0

    def notes_named(
        self, names: Iterable[str], within: Filter, typed: str = ""
    ) -> dict[str, list[tuple[int, str, bool]]]:
        """Return name → notes with this name (:func:`tars_memory.index.naming.key`), as (note, path, blank); of these
        only those whose name is spelt as typed, if there are any: ``Papá`` is not ``Papa`` where both are there.

        A blank note has no chunk, so nothing that could be cited.
        """
        found: dict[str, list[tuple[int, str, bool]]] = {}
        spelt: dict[str, list[tuple[int, str, bool]]] = {}
        conditions, values = self._conditions(within, notes=True)
        sql = (
            "SELECT m.name, m.written, c.id, c.path, NOT EXISTS (SELECT 1 FROM chunks d WHERE d.note = c.id)"
            " FROM json_each(?) j JOIN names m ON m.name = j.value"
            f" JOIN notes c ON c.id = m.note{''.join(f' AND {condition}' for condition in conditions)} ORDER BY c.path"
        )
        rows = list(self.listed(sql, names, *values))
        spelling = key_of(typed.strip()) if len(rows) > 1 else ""
        for name, written, note, path, blank in rows:
            for notes in (found, spelt) if key_of(written) == spelling else (found,):
                notes.setdefault(name, []).append((int(note), path, bool(blank)))
        return found | spelt

    def named_in(self, text: str, within: Filter, *, unfinished: bool = False) -> NamedNotes:
        """Return the notes, among those that may answer, that a text names; a text that is still being typed also names
        the notes whose names begin with it.
        """
        whole: list[tuple[int, str, bool]] = []
        inside: set[int] = set()
        keys = naming.keys_within(text)
        for name, notes in self.notes_named(keys, within, text).items():
            if len(notes) <= NAMESAKES:
                inside.update(note for note, _, _ in notes)
                if name == keys[0]:
                    whole = notes
        if unfinished and not whole:
            begun = map(naming.key, self.names(within.scope).beginning(text))
            whole = [note for notes in self.notes_named(begun, within).values() for note in notes[:NAMESAKES]]
            inside.update(note for note, _, _ in whole)
        blank = tuple(path for _, path, is_blank in whole if is_blank)
        return NamedNotes(frozenset(note for note, _, _ in whole), frozenset(inside), blank)

    def shared_names(self, names: Iterable[str], most: int) -> frozenset[str]:
        """Return those of the names that more than ``most`` notes have."""
        sql = "SELECT j.value FROM json_each(?) j WHERE (SELECT count(*) FROM names m WHERE m.name = j.value) > ?"
        return frozenset(name for (name,) in self.listed(sql, names, most))

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """Return stem → number of chunks that contain it; a stem is a word as the tokenizer stores it."""
        found = dict.fromkeys(stems, 0)
        sql = "SELECT v.term, v.doc FROM json_each(?) j CROSS JOIN chunk_vocabulary v ON v.term = j.value"
        found.update(self.listed(sql, found))
        return found

    def held(self, by_stem: Mapping[str, str], within: Filter) -> dict[str, int]:
        """Return stem → number of chunks, in all scopes, that contain it; 0 if no chunk does in the scopes that the
        filter allows. ``by_stem`` gives for each stem a word that has it.
        """
        found = self.frequencies(by_stem)
        visible = self.visible({root: by_stem[root] for root, count in found.items() if count}, within)
        return {root: count if root in visible else 0 for root, count in found.items()}

    def visible(self, words: Mapping[str, str], within: Filter) -> set[str]:
        """Return those stems that a chunk contains in the scopes that the filter allows.

        Args:
            words: stems that some chunk contains, each with a word that has it.
            within: only its scopes count.
        """
        allowed = fulltext.scope_condition(within, self._scopes)
        return self._held_where(allowed, words) if words and allowed else set(words)

    def words_with(self, beginning: str) -> dict[str, int]:
        """Return the stems with a beginning, each with the number of chunks, in all scopes, that contain it."""
        sql = "SELECT v.term, v.doc FROM chunk_vocabulary v WHERE v.term >= ? AND v.term < ?"
        return dict(self.connection.execute(sql, (beginning, f"{beginning}\U0010ffff")))

    def chunk_count(self) -> int:
        """Return the number of chunks, in all scopes, when this was first asked: SQLite counts row by row."""
        if self._chunk_count is None:
            self._chunk_count = int(self.connection.execute("SELECT count(*) FROM chunks").fetchone()[0])
        return self._chunk_count

    def note_count(self) -> int:
        """Return the number of notes that were read, in all scopes, including those that aren't indexed."""
        return int(self.connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def newest(self, within: Filter, k: int) -> list[int]:
        """Return the k chunks with the latest dates, for a query that only filters; those of a note in order."""
        conditions, values = self._conditions(within)
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        sql = f"SELECT c.id FROM chunks c {where}ORDER BY c.day DESC, c.note DESC, c.position LIMIT ?"
        return [int(chunk) for (chunk,) in self.connection.execute(sql, (*values, k))]

    # --- vectors

    def nearest(self, vector: bytes, within: Filter, k: int) -> list[tuple[int, float]]:
        """Return the k chunks nearest to a query vector (float32, little-endian) as (chunk, cosine), best first."""
        from tars_memory.index import vectors

        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return []
        conditions, values = self._conditions(within)
        if vectors.load(self.connection):
            many = self.chunk_count() >= vectors.MANY
            found = vectors.neighbours(self.connection, vector, conditions, values, k, many=many)
            exact = self.cosines(vector, [chunk for chunk, _ in found])
            return vectors.nearest(((chunk, exact.get(chunk, cosine)) for chunk, cosine in found), k)
        if not self._attach():
            return []
        rows = self.connection.execute(
            "SELECT c.id, v.vector FROM chunks c"
            " JOIN cache.vectors v ON c.embedded = 1 AND v.hash = c.hash AND v.model = ?"
            f" WHERE {' AND '.join(['length(v.vector) = ?', *conditions])}",
            (self._model, 4 * self.dimension, *values),
        )
        return vectors.compare(vector, rows, k)

    def embedded(self, chunks: Iterable[int]) -> set[int]:
        """Return those of the chunks that have a vector."""
        sql = f"SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value AND {HAS_VECTOR}"
        return {int(chunk) for (chunk,) in self.listed(sql, chunks)}

    def cosines(self, vector: bytes, chunks: Iterable[int]) -> dict[int, float]:
        """Return chunk → cosine with a query vector, for those of the chunks that have a vector."""
        from tars_memory.index import vectors

        if not self.dimension or not vectors.is_usable(vector, self.dimension) or not self._attach():
            return {}
        if not vectors.load(self.connection):
            cached = self._cached("v.vector", chunks)
            return dict(vectors.compare(vector, cached, len(cached)))
        rows = self.connection.execute(
            "SELECT c.id, 1.0 - vec_distance_cosine(v.vector, ?) FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            f" AND {HAS_VECTOR} JOIN cache.vectors v ON v.hash = c.hash AND v.model = ? AND length(v.vector) = ?",
            (vector, json.dumps(list(chunks)), self._model, len(vector)),
        )
        return {int(chunk): float(cosine) for chunk, cosine in rows}

    def vectors(self, chunks: Iterable[int]) -> dict[int, bytes]:
        """Return chunk → vector (float32, little-endian), for those of the chunks that have one."""
        return dict(self._cached("v.vector", chunks)) if self.dimension and self._attach() else {}

    def sample(self, count: int) -> list[int]:
        """Return up to ``count`` chunks that have a vector, spread evenly over the ids of all chunks."""
        first, last = self.connection.execute("SELECT min(id), max(id) FROM chunks").fetchone()
        if first is None:
            return []
        starts = [first + number * (last - first + 1) // count for number in range(count)]
        sql = f"(SELECT c.id FROM chunks c WHERE c.id >= j.value AND {HAS_VECTOR} ORDER BY c.id LIMIT 1)"
        rows = dict.fromkeys(self.listed(f"SELECT {sql} FROM json_each(?) j", starts))
        return [chunk for (chunk,) in rows if chunk is not None]

    def word_bits(self, chunks: Iterable[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return chunk → (number of words with a vector in each line, one byte per line; the words' bits).

        The bits take ``dimension / 8`` bytes per word, in the words' order. No entry for a chunk without a vector.
        """
        if not self.dimension or not self._attach():
            return {}
        found = {}
        for chunk, words in self._cached("v.words", chunks):
            body = 2 + int.from_bytes(words[:2], "little")
            found[chunk] = (words[2:body], words[body:])
        return found

    # --- rows

    def chunks(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return id → chunk; ids of chunks that are gone are left out."""
        found: dict[int, ChunkRow] = {}
        ids = list(dict.fromkeys(ids))
        rows = self.listed(
            "SELECT c.id, c.note, c.position, c.start_line, c.end_line, c.partial, t.text, t.head, t.headings,"
            " t.block_id, n.path, n.title, n.aliases, n.tier, n.scope, n.day, n.day_source, c.front"
            " FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN chunk_texts t ON t.id = c.id JOIN notes n ON n.id = c.note",
            ids,
        )
        for row in rows:
            _check(row, _CHUNK)
            chunk = ChunkRow()
            chunk.id, chunk.note_id, chunk.position, chunk.start_line, chunk.end_line = row[:5]
            chunk.partial, chunk.text, chunk.head = bool(row[5]), row[6], row[7]
            chunk.headings, chunk.block_id, chunk.path, chunk.title = _list(row[8]), row[9], row[10], row[11]
            chunk.aliases, chunk.tier, chunk.scope = _list(row[12]), database.TIERS[row[13]], self._scope_names[row[14]]
            chunk.names = naming.names_of(chunk.path, chunk.title, chunk.aliases)
            chunk.date, chunk.date_is_weak = database.iso(row[15]) or None, row[16] == "mtime"
            chunk.front = bool(row[17])
            chunk.lines = []
            found[chunk.id] = chunk
        lines = self.listed(
            "SELECT l.chunk, l.indent, l.kind, l.state, l.block_id, l.speaker, l.source, l.since, l.until"
            " FROM json_each(?) j JOIN lines l ON l.chunk = j.value ORDER BY l.chunk, l.place",
            ids,
        )
        for row in lines:
            _check(row, _LINE)
            if row[0] in found:
                found[row[0]].lines.append(Line._make(row[1:]))
        if any(len(chunk.lines) != chunk.text.count("\n") + 1 for chunk in found.values()):
            raise database.IndexDamagedError("a line is not as it was written")
        return found

    def openings(self, notes: Sequence[int], within: Filter) -> dict[int, ChunkRow]:
        """Return the first chunk of each note that passes the filter, by id."""
        return self.chunks(ids[0] for ids in self.note_chunks(notes, within).values()) if notes else {}

    def note_chunks(self, notes: Iterable[int], within: Filter) -> dict[int, list[int]]:
        """Return note → its chunks that pass the filter, in order."""
        conditions, values = self._conditions(within)
        sql = (
            "SELECT c.note, c.id FROM json_each(?) j JOIN chunks c ON c.note = j.value"
            f"{''.join(f' AND {condition}' for condition in conditions)} ORDER BY c.note, c.position"
        )
        return _grouped((note, int(chunk)) for note, chunk in self.listed(sql, notes, *values))

    def properties(self, ids: Iterable[int]) -> set[int]:
        """Return those of the chunks that hold properties of the front matter."""
        sql = "SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value AND c.front = 1"
        return {int(chunk) for (chunk,) in self.listed(sql, ids)}

    def places(self, ids: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return chunk → (note, position), all that smoothing over neighbouring chunks needs."""
        sql = "SELECT c.id, c.note, c.position FROM json_each(?) j JOIN chunks c ON c.id = j.value"
        return {int(chunk): (int(note), int(position)) for chunk, note, position in self.listed(sql, ids)}

    def subjects(self, chunks: Iterable[int]) -> dict[int, str]:
        """Return chunk → subject of its first fact, for those of the chunks that contain facts."""
        sql = (
            "SELECT c.id, f.subject FROM json_each(?) j JOIN chunks c ON c.id = j.value JOIN facts f ON f.note = c.note"
            " WHERE f.line BETWEEN c.start_line AND c.end_line ORDER BY f.line DESC"
        )
        return {int(chunk): subject for chunk, subject in self.listed(sql, chunks)}

    def notes(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """Return id → note; ids of notes that are gone are left out."""
        found: dict[int, NoteRow] = {}
        sql = (
            "SELECT n.id, n.path, n.title, n.tier, n.scope, n.day, n.day_source, n.aliases, n.tags, n.links, n.lines"
            " FROM json_each(?) j JOIN notes n ON n.id = j.value"
        )
        for row in self.listed(sql, ids):
            _check(row, _NOTE)
            note = NoteRow()
            note.id, note.path, note.title, note.lines = row[0], row[1], row[2], row[10]
            note.tier, note.scope = database.TIERS[row[3]], self._scope_names[row[4]]
            note.date, note.date_is_weak = database.iso(row[5]) or None, row[6] == "mtime"
            note.aliases, note.tags, note.links = _list(row[7]), _list(row[8]), _list(row[9])
            found[note.id] = note
        return found

    def has_rejected(self) -> bool:
        """Whether any line, in any scope, was rejected."""
        sql = "SELECT 1 FROM lines INDEXED BY lines_rejected WHERE state = 'rejected' LIMIT 1"
        return self.connection.execute(sql).fetchone() is not None

    def states_of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return block id → state, for those of the daily lines, in any scope, that are rejected or have expired."""
        sql = (
            "SELECT l.block_id, l.state FROM json_each(?) j JOIN lines l ON l.block_id = j.value"
            " JOIN chunks c ON c.id = l.chunk WHERE l.block_id <> '' AND l.state IN ('rejected', 'expired')"
            " AND c.tier = ? ORDER BY l.chunk, l.place"
        )
        return dict(self.listed(sql, ids, database.TIERS.index("daily")))

    def sourced_lines(self) -> list[tuple[str, str, str]]:
        """Return (kind, source, until) of the approved and the replaced lines, in any scope, that name a source."""
        rows = self.connection.execute(
            "SELECT l.kind, l.source, l.until FROM notes n"
            " JOIN chunks c ON c.note = n.id JOIN lines l ON l.chunk = c.id WHERE n.tier = ? AND l.source <> ''"
            " UNION ALL SELECT l.kind, l.source, l.until FROM lines l INDEXED BY lines_replaced"
            " JOIN chunks c ON c.id = l.chunk WHERE l.kind = 'replaced' AND c.tier = ?",
            (database.TIERS.index("semantic"), database.TIERS.index("daily")),
        )
        return rows.fetchall()

    def replaced(self) -> frozenset[str]:
        """Return the block ids of the daily lines, in any scope, whose approved wording another line replaced."""
        rows = self.connection.execute(
            "SELECT source FROM lines INDEXED BY lines_replaced WHERE kind = 'replaced' AND source <> ''"
        )
        return frozenset(source.partition("#^")[2] for (source,) in rows)

    def rejected_texts(self, phrases: Iterable[str]) -> list[str]:
        """Return the texts of daily notes' chunks, in any scope, that have a rejected line and one of these phrases."""
        words: list[str] = []
        signs: list[str] = []
        for phrase in dict.fromkeys(phrases):
            if expression := fulltext.sign_expression(phrase):
                signs.append(f"({expression})")
            elif fulltext.has_words(phrase):
                words.append(fulltext.quoted(phrase))
        found: dict[int, str] = {}
        for table, terms in (("chunk_words", words), ("chunk_signs", signs)):
            for start in range(0, len(terms), fulltext.MAX_TERMS):
                matching, values = self.matching(table, " OR ".join(terms[start : start + fulltext.MAX_TERMS]))
                rows = self.connection.execute(
                    f"SELECT c.id, t.text FROM ({matching}) w CROSS JOIN chunks c ON c.id = w.rowid"
                    " JOIN chunk_texts t ON t.id = c.id WHERE c.tier = ?"
                    " AND EXISTS (SELECT 1 FROM lines l WHERE l.chunk = c.id AND l.state = 'rejected') LIMIT ?",
                    (*values, database.TIERS.index("daily"), CANDIDATES),
                )
                found.update(rows.fetchall())
        return list(found.values())

    def text_of(self, path: str) -> bytes:
        """Return a note's indexed lines, each at its line number, other lines empty; empty if there is no such note."""
        rows = self.connection.execute(
            "SELECT n.lines, c.start_line, t.text FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN chunk_texts t ON t.id = c.id WHERE n.path = ? ORDER BY c.position",
            (path,),
        ).fetchall()
        lines = [""] * (rows[0][0] if rows else 0)
        for _, start, text in rows:
            for at, line in enumerate(text.split("\n"), start - 1):
                lines[at] = f"{lines[at]} {line}" if lines[at] else line  # pieces of one oversized line
        return "\n".join(lines).encode()

    def texts_before(self, note: int, position: int, count: int) -> list[tuple[int, str]]:
        """Return (first line, text) of the ``count`` chunks before a position in a note, in order."""
        return self.connection.execute(
            "SELECT c.start_line, t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id"
            " WHERE c.note = ? AND c.position >= ? AND c.position < ? ORDER BY c.position",
            (note, position - count, position),
        ).fetchall()

    def source_above(self, note: int, position: int) -> str:
        """Return the block id of the source of the last unindented item before a chunk of a note; '' for none."""
        row = self.connection.execute(
            "SELECT l.source FROM chunks c JOIN lines l ON l.chunk = c.id"
            " WHERE c.note = ? AND c.position < ? AND l.kind IN ('item', 'empty') AND l.indent = 0"
            " ORDER BY c.position DESC, l.place DESC LIMIT 1",
            (note, position),
        ).fetchone()
        return str(row[0]).partition("#^")[2] if row else ""

    def texts_from(self, statements: Iterable[str]) -> list[str]:
        """Return the texts of session notes' chunks, in any scope, that were drawn from lines with these block ids."""
        wanted = set(statements)
        rows = self.connection.execute(
            "SELECT DISTINCT t.text, l.source FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN lines l ON l.chunk = c.id JOIN chunk_texts t ON t.id = c.id WHERE n.tier = ? AND l.source <> ''",
            (database.TIERS.index("episodic"),),
        )
        return [str(text) for text, source in rows if source.partition("#^")[2] in wanted]

    def linking_texts(self, notes: Iterable[int]) -> dict[int, list[str]]:
        """Return note → the texts of its chunks that contain a link to a block, in order."""
        sql = (
            "SELECT c.note, t.text FROM json_each(?) j JOIN chunks c ON c.note = j.value"
            " JOIN chunk_texts t ON t.id = c.id WHERE instr(t.text, '#^') > 0 ORDER BY c.note, c.position"
        )
        return _grouped((note, str(text)) for note, text in self.listed(sql, notes))

    def facts(self, scope: str = "", *, on: date | None = None) -> list[Fact]:
        """Return the facts over time: see :func:`tars_memory.index.chunking.facts`."""
        from tars_memory.index import chunking

        return chunking.facts(self.connection, scope, on=on)

    def links(self, scope: str = "", attachments: tuple[str, ...] = ()) -> LinkTable:
        """Return the links between notes: see :class:`tars_memory.index.chunking.LinkTable`."""
        from tars_memory.index.chunking import LinkTable

        return LinkTable(self.connection, scope, attachments)

    def tables(self, vault: Vault, scope: str, today: date) -> TableCopy:
        """Return the notes of a scope as tables for anybody's SQL: see :class:`tars_memory.index.tables.TableCopy`."""
        from tars_memory.index.tables import TableCopy

        return TableCopy(self.connection, vault, scope, today)

    def names(self, scope: str = "") -> naming.NameTable:
        """Return which chunks are about which names: see :class:`tars_memory.index.naming.NameTable`."""
        return naming.NameTable(self, scope)

    def notes_where(self, conditions: Sequence[str]) -> set[int]:
        """Return the notes that fulfil all conditions: see :func:`tars_memory.index.chunking.notes_where`."""
        from tars_memory.index import chunking

        return chunking.notes_where(self.connection, conditions)

    def has_ended(self, on: str, scope: str = "") -> bool:
        """Whether any chunk outside projects, or of this project, has ended by a day."""
        return not self._ended(on).isdisjoint({0, self._scopes.get(scope, 0)})

    # --- inside

    def listed(self, sql: str, keys: Iterable[object], *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of SQL whose first value is a JSON list of keys."""
        return self.connection.execute(sql, (json.dumps(list(keys)), *values)).fetchall()

    def _conditions(self, within: Filter, *, notes: bool = False) -> tuple[list[str], list[Any]]:
        return conditions_of(within, self._scopes, notes=notes, ending=bool(self._ended(within.on)))

    def _ended(self, on: str | None) -> frozenset[int]:
        """Return the ids of the scopes with chunks that no longer count on a day; queried once per day.

        Usually there are none, which a partial index tells at once. With ``on`` None, nothing has ended.
        """
        if self._ended_on[0] != on:
            sql = f"SELECT DISTINCT scope FROM chunks WHERE until < {database.ALWAYS} AND until <= ?"
            rows = self.connection.execute(sql, (fulltext.number_of(on),)) if on else ()
            self._ended_on = on, frozenset(int(scope) for (scope,) in rows)
        return self._ended_on[1]

    def _cached(self, column: str, ids: Iterable[int]) -> list[tuple[int, bytes]]:
        """Return (chunk, column) of the cached vectors of these chunks."""
        sql = (
            f"SELECT c.id, {column} FROM json_each(?) j JOIN chunks c ON c.id = j.value AND {HAS_VECTOR}"
            " JOIN cache.vectors v ON v.hash = c.hash AND v.model = ?"
        )
        return self.listed(sql, ids, self._model)

    def _attach(self) -> bool:
        """Attach the embedding cache; return False if it is missing, can't be read, or doesn't know the model."""
        if not self._attached:
            if not self._cache.exists():
                return False
            try:
                self.connection.execute("ATTACH ? AS cache", (f"{self._cache.absolute().as_uri()}?mode=ro",))
            except database.driver().module.OperationalError as error:
                if database.refused(error):
                    return False
                if "already in use" not in str(error):
                    raise
            self._attached = True
        row = self.connection.execute(
            "SELECT id FROM cache.models WHERE fingerprint = ?", (self.fingerprint,)
        ).fetchone()
        self._model = int(row[0]) if row else 0
        return row is not None

    def _held_where(self, condition: str, words: Mapping[str, str]) -> set[str]:
        """Return those stems that a chunk contains for which a condition on ``chunks c`` holds; FTS5, which stems what
        it is asked for, is asked for their words.
        """
        rows = self.connection.execute(
            "SELECT j.key FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM chunk_words w"
            f" CROSS JOIN chunks c ON c.id = w.rowid WHERE w.chunk_words MATCH j.value AND {condition})",
            (json.dumps({root: fulltext.quoted(word) for root, word in words.items()}),),
        )
        return {root for (root,) in rows}

    matching = staticmethod(fulltext.matching)

    def _ranked(self, table: str, expression: str, within: Filter, k: int) -> list[tuple[int, float]]:
        """Return the k best rows of a full-text table as (row, BM25); chunks or notes are joined only for a filter.

        The function is used, not the column ``rank``: to sort by that, FTS5 first collects all matches with their
        positions, which takes half as long again.
        """
        rows = "notes" if table == "note_words" else "chunks"
        conditions, values = self._conditions(within, notes=rows == "notes")
        joined = f"CROSS JOIN {rows} c ON c.id = w.rowid" if conditions else ""
        where = " AND ".join([f"w.{table} MATCH ?", *conditions])
        found = self.connection.execute(
            f"SELECT w.rowid, bm25({table}) score FROM {table} w {joined} WHERE {where}"
            " ORDER BY score, w.rowid LIMIT ?",
            (expression, *values, k),
        ).fetchall()
        return [(int(row), -float(score)) for row, score in found]

    def _texts(self, string: str, within: Filter, k: int) -> Iterator[tuple[int, str]]:
        """Yield the newest chunks that the index takes to contain a string, each with its text."""
        filters, filter_values = self._conditions(within)
        signs, words = fulltext.sign_expression(string), fulltext.word_part(string)
        conditions = []
        values: list[Any] = []
        for table, expression in (("chunk_signs", signs), ("chunk_words", fulltext.quoted(words) if words else "")):
            if expression:
                matching, terms = self.matching(table, expression)
                conditions.append(f"c.id IN ({matching})")
                values += terms
        if not conditions:  # punctuation alone
            conditions, values = ["instr(t.text, ?) > 0"], [fulltext.clean(string).strip()]
        where = " AND ".join([*conditions, *filters])
        rows = self.connection.execute(
            "SELECT c.id, t.head || char(10) || t.text || CASE WHEN c.position = 0 THEN char(10) || n.about ELSE '' END"
            f" FROM chunks c JOIN chunk_texts t ON t.id = c.id JOIN notes n ON n.id = c.note WHERE {where}"
            " ORDER BY c.day DESC, c.id LIMIT ?",
            (*values, *filter_values, k),
        )
        return ((int(chunk), text) for chunk, text in rows)


def _grouped(pairs: Iterable[tuple[int, Listed]]) -> dict[int, list[Listed]]:
    """Return key → its values, in order."""
    found: dict[int, list[Listed]] = {}
    for key, value in pairs:
        found.setdefault(int(key), []).append(value)
    return found


def _check(row: tuple[Any, ...], shapes: frozenset[tuple[type, ...]]) -> None:
    """Check that the types of a row's values are among the expected ones.

    SQLite stores the type of each value, so a flipped bit can turn text into bytes.

    Raises:
        IndexDamagedError: the row is not one that we wrote.
    """
    if tuple(map(type, row)) not in shapes:
        raise database.IndexDamagedError("a row is not as it was written")


def _list(text: str) -> tuple[str, ...]:
    """Return the items of a column that holds a list."""
    return tuple(text.split(database.BETWEEN)) if text else ()
