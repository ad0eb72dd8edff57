"""What recall asks of the index: matches, neighbours, chunks. Raw numbers; the arithmetic of ranking is recall's.

Every answer keeps to the scope of its within: outside a project nothing of ``projects/`` comes back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tars_memory.index import database, fulltext
from tars_memory.index.filters import Filter, ended
from tars_memory.index.rows import ChunkRow, NoteRow, iso
from tars_memory.index.schema import BETWEEN, TIERS
from tars_memory.index.vectorreader import VectorReader
from tars_memory.vault.model import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from tars_memory.index.links import LinkTable
    from tars_memory.index.naming import NameTable
    from tars_memory.vault.markdown.facts import Fact

__all__ = ["ChunkRow", "Filter", "IndexReader", "NoteRow"]

CANDIDATES = 5_000
"""Chunks whose text is looked at for a verbatim string."""

_CHUNK = frozenset(
    (int, int, int, int, int, int, str, str, str, block_id, str, str, str, int, int, int, str)
    for block_id in (str, type(None))
)
_NOTE = frozenset({(int, str, str, int, int, int, str, str, str, str, int)})
_LINE = frozenset({(int, int, *(str,) * 7)})
"""The types of the rows of chunks, notes and lines, in the order of their columns."""


class IndexReader(VectorReader):
    """Reads one index file; see :class:`tars_memory.index.vectorreader.VectorReader`."""

    # --- words

    def match_chunks(
        self, expression: str, within: Filter, k: int, *, weights: tuple[float, float] = (1.0, 1.0)
    ) -> list[tuple[int, float]]:
        """The k best chunks for a query of :func:`fulltext.expression` as (chunk, BM25), higher is better.

        ``weights`` are those of the head (title › headings › date) and of the text.
        """
        if not expression:
            return []
        return self._ranked("chunk_words", weights, expression, within, k)

    def match_notes(
        self, expression: str, within: Filter, k: int, *, weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ) -> list[tuple[int, float]]:
        """The k best notes as wholes, as (note, BM25).

        ``weights`` are those of the head (title, date), of names, tags and properties, and of the body.
        """
        if not expression:
            return []
        return self._ranked("note_words", weights, expression, within, k)

    def match_signs(self, strings: Sequence[str], within: Filter, k: int) -> list[tuple[int, float]]:
        """The k best chunks for strings in scripts without blanks, any of them, as (chunk, BM25)."""
        expression = " OR ".join(f"({one})" for one in map(fulltext.sign_expression, strings) if one)
        if not expression:
            return []
        return self._ranked("chunk_signs", (), expression, within, k)

    def sign_frequencies(self, strings: Iterable[str]) -> dict[str, int]:
        """In how many chunks each string in a script without blanks stands."""
        sql = "SELECT count(*) FROM chunk_signs WHERE chunk_signs MATCH ?"
        found = {}
        for string in strings:
            expression = fulltext.sign_expression(string)
            found[string] = int(self._connection.execute(sql, (expression,)).fetchone()[0]) if expression else 0
        return found

    def match_text(self, strings: Sequence[str], within: Filter, k: int) -> list[tuple[int, int]]:
        """Chunks that hold any of the strings as written (case and diacritics aside), as (chunk, how many of them).

        A string in a script without blanks, an emoji, ``C++``: at any length and any position. Words: from the start
        of a word on. Nothing but punctuation: by looking at every chunk.
        """
        held: dict[int, int] = {}
        for string in dict.fromkeys(strings):
            wanted = fulltext.fold(fulltext.clean(string)).strip()
            if wanted:
                for chunk in self._holding(string, wanted, within):
                    held[chunk] = held.get(chunk, 0) + 1
        return sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))[:k]

    def called(self, names: Iterable[str], within: Filter) -> dict[str, list[tuple[int, str, bool]]]:
        """The notes that have these names (:func:`tars_memory.index.naming.key`), by name, as (note, path, blank).

        A blank note holds nothing that could be cited.
        """
        found: dict[str, list[tuple[int, str, bool]]] = {}
        conditions, values = self._conditions(within, notes=True)
        rows = self._connection.execute(
            "SELECT m.name, c.id, c.path, NOT EXISTS (SELECT 1 FROM chunks d WHERE d.note = c.id)"
            " FROM json_each(?) j JOIN names m ON m.name = j.value"
            f" JOIN notes c ON c.id = m.note{''.join(f' AND {condition}' for condition in conditions)} ORDER BY c.path",
            (json.dumps(list(names)), *values),
        )
        for name, note, path, blank in rows:
            found.setdefault(name, []).append((int(note), path, bool(blank)))
        return found

    def shared_names(self, names: Iterable[str], most: int) -> frozenset[str]:
        """Those of the names that more notes have than so many."""
        rows = self._connection.execute(
            "SELECT j.value FROM json_each(?) j WHERE (SELECT count(*) FROM names m WHERE m.name = j.value) > ?",
            (json.dumps(list(names)), most),
        )
        return frozenset(name for (name,) in rows)

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """In how many chunks each stem occurs; a stem is what the tokenizer makes of a word."""
        found = dict.fromkeys(stems, 0)
        sql = "SELECT v.term, v.doc FROM json_each(?) j CROSS JOIN chunk_vocabulary v ON v.term = j.value"
        found.update(self._connection.execute(sql, (json.dumps(list(found)),)))
        return found

    def chunk_count(self) -> int:
        """How many chunks there are, in all scopes."""
        return self._totals()[0]

    def average_length(self) -> float:
        """Words of an average chunk, head included."""
        count, words = self._totals()
        return words / count if count else 0.0

    def newest(self, within: Filter, k: int) -> list[int]:
        """The k chunks of the latest dates, for a query that only filters; in a note, in order."""
        conditions, values = self._conditions(within)
        where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        sql = f"SELECT c.id FROM chunks c {where}ORDER BY c.day DESC, c.note DESC, c.position LIMIT ?"
        return [int(chunk) for (chunk,) in self._connection.execute(sql, (*values, k))]

    # --- rows

    def chunks(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """These chunks by number; those that are gone are left out."""
        found: dict[int, ChunkRow] = {}
        wanted = json.dumps(list(dict.fromkeys(ids)))
        rows = self._connection.execute(
            "SELECT c.id, c.note, c.position, c.start_line, c.end_line, c.partial, t.text, t.head, t.headings,"
            " t.block_id, n.path, n.title, n.aliases, n.tier, n.scope, n.day, n.day_source"
            " FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN chunk_texts t ON t.id = c.id JOIN notes n ON n.id = c.note",
            (wanted,),
        )
        for row in rows:
            _check(row, _CHUNK)
            chunk = ChunkRow()
            chunk.id, chunk.note_id, chunk.position, chunk.start_line, chunk.end_line = row[:5]
            chunk.partial, chunk.text, chunk.head = bool(row[5]), row[6], row[7]
            chunk.headings, chunk.block_id, chunk.path, chunk.title = _list(row[8]), row[9], row[10], row[11]
            chunk.aliases, chunk.tier, chunk.scope = _list(row[12]), TIERS[row[13]], self._scope_names[row[14]]
            chunk.date, chunk.date_is_weak = iso(row[15]), row[16] == "mtime"
            chunk.lines = []
            found[chunk.id] = chunk
        lines = self._connection.execute(
            "SELECT l.chunk, l.indent, l.kind, l.state, l.block_id, l.speaker, l.source, l.since, l.until"
            " FROM json_each(?) j JOIN lines l ON l.chunk = j.value ORDER BY l.chunk, l.place",
            (wanted,),
        )
        for row in lines:
            _check(row, _LINE)
            if row[0] in found:
                found[row[0]].lines.append(Line._make(row[1:]))
        if any(len(chunk.lines) != chunk.text.count("\n") + 1 for chunk in found.values()):
            raise database.IndexDamagedError("a line is not as it was written")
        return found

    def note_chunks(self, notes: Iterable[int], within: Filter) -> dict[int, list[int]]:
        """The chunks of these notes that a filter leaves, in order."""
        found: dict[int, list[int]] = {}
        conditions, values = self._conditions(within)
        rows = self._connection.execute(
            "SELECT c.note, c.id FROM json_each(?) j JOIN chunks c ON c.note = j.value"
            f"{''.join(f' AND {condition}' for condition in conditions)} ORDER BY c.note, c.position",
            (json.dumps(list(notes)), *values),
        )
        for note, chunk in rows:
            found.setdefault(int(note), []).append(int(chunk))
        return found

    def places(self, ids: Iterable[int]) -> dict[int, tuple[int, int]]:
        """(note, position) of these chunks: all that smoothing over neighbours needs."""
        sql = "SELECT c.id, c.note, c.position FROM json_each(?) j JOIN chunks c ON c.id = j.value"
        rows = self._connection.execute(sql, (json.dumps(list(ids)),))
        return {int(chunk): (int(note), int(position)) for chunk, note, position in rows}

    def notes(self, ids: Iterable[int]) -> dict[int, NoteRow]:
        """These notes by number."""
        found: dict[int, NoteRow] = {}
        rows = self._connection.execute(
            "SELECT n.id, n.path, n.title, n.tier, n.scope, n.day, n.day_source, n.aliases, n.tags, n.links, n.lines"
            " FROM json_each(?) j JOIN notes n ON n.id = j.value",
            (json.dumps(list(ids)),),
        )
        for row in rows:
            _check(row, _NOTE)
            note = NoteRow()
            note.id, note.path, note.title, note.lines = row[0], row[1], row[2], row[10]
            note.tier, note.scope = TIERS[row[3]], self._scope_names[row[4]]
            note.date, note.date_is_weak = iso(row[5]), row[6] == "mtime"
            note.aliases, note.tags, note.links = _list(row[7]), _list(row[8]), _list(row[9])
            found[note.id] = note
        return found

    def rejects(self) -> bool:
        """Whether any line, in any scope, was rejected."""
        sql = "SELECT 1 FROM lines INDEXED BY lines_rejected WHERE state = 'rejected' LIMIT 1"
        return self._connection.execute(sql).fetchone() is not None

    def states_of(self, ids: Iterable[str]) -> dict[str, str]:
        """By block id the state of the daily lines, in any scope, that were rejected or have expired."""
        rows = self._connection.execute(
            "SELECT l.block_id, l.state FROM json_each(?) j JOIN lines l ON l.block_id = j.value"
            " JOIN chunks c ON c.id = l.chunk WHERE l.block_id <> '' AND l.state IN ('rejected', 'expired')"
            " AND c.tier = ? ORDER BY l.chunk, l.place",
            (json.dumps(list(ids)), TIERS.index("daily")),
        )
        return dict(rows.fetchall())

    def drawn_on(self) -> list[tuple[str, str, str]]:
        """Kind, source and end of approved and of replaced lines, in any scope, that say where they are from."""
        rows = self._connection.execute(
            "SELECT l.kind, l.source, l.until FROM notes n"
            " JOIN chunks c ON c.note = n.id JOIN lines l ON l.chunk = c.id WHERE n.tier = ? AND l.source <> ''"
            " UNION ALL SELECT l.kind, l.source, l.until FROM lines l INDEXED BY lines_replaced"
            " JOIN chunks c ON c.id = l.chunk WHERE l.kind = 'replaced' AND c.tier = ?",
            (TIERS.index("semantic"), TIERS.index("daily")),
        )
        return rows.fetchall()

    def replaced(self) -> frozenset[str]:
        """The block ids of the daily lines, in any scope, whose approved words another line replaced."""
        rows = self._connection.execute(
            "SELECT source FROM lines INDEXED BY lines_replaced WHERE kind = 'replaced' AND source <> ''"
        )
        return frozenset(source.partition("#^")[2] for (source,) in rows)

    def rejected_texts(self, phrases: Iterable[str]) -> list[str]:
        """The texts of the chunks of daily notes, in any scope, that hold a rejected line and one of these phrases."""
        words: list[str] = []
        signs: list[str] = []
        for each in dict.fromkeys(phrases):
            if marks := fulltext.sign_expression(each):
                signs.append(f"({marks})")
            elif fulltext.has_words(each):
                words.append(fulltext.quoted(each))
        found: dict[int, str] = {}
        for table, wanted in (("chunk_words", words), ("chunk_signs", signs)):
            for start in range(0, len(wanted), fulltext.MAX_TERMS):
                rows = self._connection.execute(
                    f"SELECT c.id, t.text FROM {table} w CROSS JOIN chunks c ON c.id = w.rowid"
                    f" JOIN chunk_texts t ON t.id = c.id WHERE w.{table} MATCH ? AND c.tier = ?"
                    " AND EXISTS (SELECT 1 FROM lines l WHERE l.chunk = c.id AND l.state = 'rejected') LIMIT ?",
                    (" OR ".join(wanted[start : start + fulltext.MAX_TERMS]), TIERS.index("daily"), CANDIDATES),
                )
                found.update(rows.fetchall())
        return list(found.values())

    def texts_before(self, note: int, position: int, count: int) -> list[tuple[int, str]]:
        """First line and text of so many chunks of a note before the one at a position, in order."""
        return self._connection.execute(
            "SELECT c.start_line, t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id"
            " WHERE c.note = ? AND c.position >= ? AND c.position < ? ORDER BY c.position",
            (note, position - count, position),
        ).fetchall()

    def source_above(self, note: int, position: int) -> str:
        """The block id that the last unindented item before a chunk of a note says it is from; '' for none."""
        row = self._connection.execute(
            "SELECT l.source FROM chunks c JOIN lines l ON l.chunk = c.id"
            " WHERE c.note = ? AND c.position < ? AND l.kind = 'item' AND l.indent = 0"
            " ORDER BY c.position DESC, l.place DESC LIMIT 1",
            (note, position),
        ).fetchone()
        return str(row[0]).partition("#^")[2] if row else ""

    def texts_from(self, statements: Iterable[str]) -> list[str]:
        """The texts of the session notes' chunks, in any scope, that were drawn from the lines with these block ids."""
        wanted = set(statements)
        rows = self._connection.execute(
            "SELECT DISTINCT t.text, l.source FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN lines l ON l.chunk = c.id JOIN chunk_texts t ON t.id = c.id WHERE n.tier = ? AND l.source <> ''",
            (TIERS.index("episodic"),),
        )
        return [str(text) for text, source in rows if source.partition("#^")[2] in wanted]

    def linking_texts(self, notes: Iterable[int]) -> dict[int, list[str]]:
        """The texts of these notes' chunks that link to a block, in order."""
        found: dict[int, list[str]] = {}
        rows = self._connection.execute(
            "SELECT c.note, t.text FROM json_each(?) j JOIN chunks c ON c.note = j.value"
            " JOIN chunk_texts t ON t.id = c.id WHERE instr(t.text, '#^') ORDER BY c.note, c.position",
            (json.dumps(list(notes)),),
        )
        for note, text in rows:
            found.setdefault(int(note), []).append(str(text))
        return found

    def facts(self, scope: str = "", *, on: date | None = None, subject: str | None = None) -> list[Fact]:
        """What is or was true: see :func:`tars_memory.index.facts.facts`."""
        from tars_memory.index import facts

        return facts.facts(self._connection, scope, on=on, subject=subject)

    def links(self, scope: str = "", attachments: tuple[str, ...] = ()) -> LinkTable:
        """Who links to whom: see :class:`tars_memory.index.links.LinkTable`."""
        from tars_memory.index.links import LinkTable

        return LinkTable(self._connection, scope, attachments)

    def names(self, scope: str = "") -> NameTable:
        """What tells of whom, and of what: see :class:`tars_memory.index.naming.NameTable`."""
        from tars_memory.index.naming import NameTable

        return NameTable(self._connection, scope)

    def notes_where(self, conditions: Sequence[str]) -> set[int]:
        """The notes whose properties fulfil all conditions: see :func:`tars_memory.index.properties.notes_where`."""
        from tars_memory.index import properties

        return properties.notes_where(self._connection, conditions)

    def hides(self, on: str, scope: str = "") -> bool:
        """Whether anything outside projects, or of this one, has ended by a day."""
        return bool(ended(self._connection, on, {0, self._scopes.get(scope, 0)}))

    # --- inside

    def _ranked(
        self, table: str, weights: tuple[float, ...], expression: str, within: Filter, k: int
    ) -> list[tuple[int, float]]:
        """The k best rows of a full-text table; the table of what is filtered is only joined if something is.

        The function is asked, not the column ``rank``: sorted by that, FTS5 first keeps all that match with where they
        do, which takes half as long again.
        """
        rows = "notes" if table == "note_words" else "chunks"
        conditions, values = self._conditions(within, notes=rows == "notes")
        joined = f"CROSS JOIN {rows} c ON c.id = w.rowid" if conditions else ""
        where = " AND ".join([f"w.{table} MATCH ?", *conditions])
        found = self._connection.execute(
            f"SELECT w.rowid, bm25({', '.join([table, *map(str, weights)])}) score FROM {table} w {joined}"
            f" WHERE {where} ORDER BY score, w.rowid LIMIT ?",
            (expression, *values, k),
        ).fetchall()
        return [(int(row), -float(score)) for row, score in found]

    def _holding(self, string: str, wanted: str, within: Filter) -> list[int]:
        """The chunks that hold one string."""
        conditions, values = self._conditions(within)
        signs, words = fulltext.sign_expression(string), fulltext.word_part(string)
        tables = []
        asked: list[Any] = []
        for table, expression in (("chunk_signs", signs), ("chunk_words", fulltext.quoted(words) if words else "")):
            if expression:
                tables.append(f"c.id IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)")
                asked.append(expression)
        if not tables:  # nothing but punctuation
            tables, asked = ["instr(t.text, ?) > 0"], [fulltext.clean(string).strip()]
        where = " AND ".join([*tables, *conditions])
        rows = self._connection.execute(
            "SELECT c.id, t.head || char(10) || t.text || iif(c.position, '', char(10) || n.about)"
            f" FROM chunks c JOIN chunk_texts t ON t.id = c.id JOIN notes n ON n.id = c.note WHERE {where}"
            " ORDER BY c.day DESC, c.id LIMIT ?",
            (*asked, *values, CANDIDATES),
        )
        return [int(chunk) for chunk, text in rows if wanted in fulltext.fold(text)]

    def _totals(self) -> tuple[int, int]:
        """Chunks and words of the full-text table, from its own record of averages: varints, rows first."""
        row = self._connection.execute("SELECT block FROM chunk_words_data WHERE id = 1").fetchone()
        numbers = _varints(bytes(row[0])) if row else []
        return (numbers[0], sum(numbers[1:])) if numbers else (0, 0)


def _check(row: tuple[Any, ...], shapes: frozenset[tuple[type, ...]]) -> None:
    """SQLite keeps the type of a value beside it: a flipped bit makes bytes of a text.

    Raises:
        IndexDamagedError: the row is not one that we wrote.
    """
    if tuple(map(type, row)) not in shapes:
        raise database.IndexDamagedError("a row is not as it was written")


def _varints(data: bytes) -> list[int]:
    """SQLite's variable-length integers (7 bits a byte, high bit: more to come) of a blob of small numbers."""
    numbers, value = [], 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(BETWEEN)) if text else ()
