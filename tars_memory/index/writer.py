"""The small writer of rows: all tables of a note, on the driver alone, in as few statements as possible.

Rows are collected for a batch of notes and written in one short transaction. A chunk that a changed note keeps keeps
its row, its number and its vector; only its place is updated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.index import facts
from tars_memory.index.fulltext import signs, worded
from tars_memory.index.naming import keys_of
from tars_memory.index.schema import BETWEEN, TIERS
from tars_memory.index.words import is_latin

if TYPE_CHECKING:
    import sqlite3

    from tars_memory.index.chunking import Chunk, Parsed

TOO_BIG = b"too big"
UNREADABLE = b"unreadable"
TEMPLATE = b"template"
UNRESOLVED = b"unresolved conflict"
EXCLUDED = b"excluded in Obsidian"
PROPOSALS = b"proposals to review"
"""What stands for the hash of a note that is not indexed."""

_CHUNK = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)"
_LINE = "INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ANSWER = "INSERT INTO answers VALUES (?, ?, ?)"
_TEXT = "INSERT INTO chunk_texts VALUES (?, ?, ?, ?, ?)"
_WORDS = "INSERT INTO chunk_words (rowid, head, text) VALUES (?, ?, ?)"
_SIGNS = "INSERT INTO chunk_signs (rowid, signs) VALUES (?, ?)"
_NO_WORDS = "INSERT INTO chunk_words (chunk_words, rowid, head, text) VALUES ('delete', ?, ?, ?)"
_NO_SIGNS = "INSERT INTO chunk_signs (chunk_signs, rowid, signs) VALUES ('delete', ?, ?)"
_FILE = "INSERT INTO files VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET stamp = ?2, hash = ?3, note = ?4"


class NoteRow:
    """A note that was read and is to be written: where it stands, what it says."""

    __slots__ = ("facts", "hash", "parsed", "path", "scope", "stamp", "tier")

    def __init__(
        self,
        path: str,
        stamp: bytes,
        digest: bytes,
        tier: str,
        scope: str,
        parsed: Parsed,
        facts: list[tuple[Any, ...]],
    ) -> None:
        self.path = path
        self.stamp = stamp
        self.hash = digest
        self.tier = TIERS.index(tier)
        self.scope = scope
        self.parsed = parsed
        self.facts = facts


class Writer:
    """Writes notes to an open index; every method belongs inside a transaction.

    Args:
        connection: of the index.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._scopes = {str(name): int(key) for key, name in connection.execute("SELECT id, name FROM scopes")}
        self._next = {
            table: int(
                connection.execute(
                    "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?", (table,)
                ).fetchone()[0]
            )
            + 1
            for table in ("notes", "chunks")
        }

    def write(self, notes: list[NoteRow]) -> None:
        """Insert or replace notes by path."""
        files: list[tuple[Any, ...]] = []
        note_rows: list[tuple[Any, ...]] = []
        words: list[tuple[Any, ...]] = []
        chunk_rows: list[tuple[Any, ...]] = []
        text_rows: list[tuple[Any, ...]] = []
        sign_rows: list[tuple[int, str]] = []
        tag_rows: list[tuple[Any, ...]] = []
        line_rows: list[tuple[Any, ...]] = []
        answer_rows: list[tuple[Any, ...]] = []
        moved: list[tuple[int, int, int, int, int]] = []
        fact_rows: list[tuple[Any, ...]] = []
        property_rows: list[tuple[Any, ...]] = []
        name_rows: list[tuple[str, int, str]] = []
        for note in notes:
            parsed, scope = note.parsed, self._scope(note.scope)
            key, kept = self._make_room(note)
            files.append((note.path, note.stamp, note.hash, key))
            lists = (_joined(parsed.aliases), _joined(parsed.tags), _joined(parsed.links))
            said = (parsed.day, parsed.day_source, parsed.title, parsed.about, *lists, parsed.lines, parsed.until)
            note_rows.append((key, note.path, note.tier, scope, *said))
            body = []
            for position, chunk in enumerate(parsed.chunks):
                texts = _texts(chunk)
                marks = _signs(chunk.head, chunk.text, parsed.about if position == 0 else "")
                body.append(chunk.text)
                row = (note.tier, scope, parsed.day, int(chunk.partial), chunk.hash, *texts, marks, chunk.tags)
                known = kept.get(row)
                if known:
                    moved.append((position, chunk.start_line, chunk.end_line, chunk.until, known.pop()))
                    continue
                number = self._take("chunks")
                place = (
                    chunk.start_line,
                    chunk.end_line,
                    int(chunk.partial),
                    chunk.hash,
                    chunk.until,
                    is_latin(chunk.text),
                )
                chunk_rows.append((number, key, position, note.tier, scope, parsed.day, *place))
                text_rows.append((number, *texts))
                sign_rows += [(number, marks)] if marks else ()
                tag_rows += ((tag, number) for tag in chunk.tags)
                line_rows += _lines(number, chunk)
                answer_rows += ((number, *answer) for answer in chunk.answers)
            self._delete_chunks([number for numbers in kept.values() for number in numbers])
            self._connection.execute("DELETE FROM notes WHERE id = ?", (key,))  # last: its signs were asked of it
            name_rows += ((name, key, written) for name, written in _names(note).items())
            property_rows += ((name, value, key) for name, value in parsed.properties)
            fact_rows += ((key, *row) for row in note.facts)
            head = note_head(parsed.title, parsed.day, parsed.day_source)
            if body:  # a blank note is found by its name; among whole notes it would make the others look long
                words.append((key, *map(worded, (head, parsed.about, "\n".join(body)))))
        execute = self._connection.executemany
        execute(_FILE, files)
        execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", note_rows)
        execute("UPDATE chunks SET position = ?, start_line = ?, end_line = ?, until = ? WHERE id = ?", moved)
        execute(_CHUNK, chunk_rows)
        execute(_TEXT, text_rows)
        execute(_LINE, line_rows)
        execute(_ANSWER, answer_rows)
        execute(_WORDS, [(number, worded(head), worded(text)) for number, head, text, *_ in text_rows])
        execute(_SIGNS, sign_rows)
        execute("INSERT INTO chunk_tags VALUES (?, ?)", tag_rows)
        execute("INSERT INTO note_words (rowid, head, about, body) VALUES (?, ?, ?, ?)", words)
        execute("INSERT INTO names VALUES (?, ?, ?)", name_rows)
        execute("INSERT INTO properties VALUES (?, ?, ?)", property_rows)
        facts.write(self._connection, fact_rows)

    def grow(self, key: int, more: Parsed) -> None:
        """Add chunks to the end of a note, by its number; what is there stays as it is."""
        one, execute = self._connection.execute, self._connection.executemany
        title, about, day, source, tier, scope, at = one(
            "SELECT n.title, n.about, n.day, n.day_source, n.tier, n.scope,"
            " (SELECT count(*) FROM chunks c WHERE c.note = n.id) FROM notes n WHERE n.id = ?",
            (key,),
        ).fetchone()
        self._forget_words(key)
        for position, chunk in enumerate(more.chunks, at):
            number = self._take("chunks")
            place = (
                chunk.start_line,
                chunk.end_line,
                int(chunk.partial),
                chunk.hash,
                chunk.until,
                is_latin(chunk.text),
            )
            one(_CHUNK, (number, key, position, tier, scope, day, *place))
            one(_TEXT, (number, *_texts(chunk)))
            one(_WORDS, (number, worded(chunk.head), worded(chunk.text)))
            marks = _signs(chunk.head, chunk.text, "" if position else about)
            execute(_SIGNS, [(number, marks)] if marks else [])
            execute(_LINE, _lines(number, chunk))
            execute(_ANSWER, [(number, *answer) for answer in chunk.answers])
        one("UPDATE notes SET lines = ? WHERE id = ?", (more.lines, key))
        rows = one(
            "SELECT t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id WHERE c.note = ? ORDER BY c.position", (key,)
        )
        body = "\n".join(text for (text,) in rows)
        words = map(worded, (note_head(title, day, source), about, body))
        one("INSERT INTO note_words (rowid, head, about, body) VALUES (?, ?, ?, ?)", (key, *words))

    def move(self, folder: str, scope: str) -> None:
        """Give the conversations of a folder another scope; their vectors, which say it too, are to be placed anew."""
        number = self._scope(scope)
        execute = self._connection.execute
        held = "note IN (SELECT id FROM notes WHERE links = ?)"
        execute(f"INSERT OR IGNORE INTO vector_garbage SELECT id FROM chunks WHERE embedded = 1 AND {held}", (folder,))
        execute(f"UPDATE chunks SET scope = ?, embedded = 0 WHERE {held}", (number, folder))
        execute("UPDATE notes SET scope = ? WHERE links = ?", (number, folder))

    def skip(self, path: str, stamp: bytes, reason: bytes) -> None:
        """Remember a note that is not indexed, and drop what was known of it."""
        self.drop(path)
        self._connection.execute(_FILE, (path, stamp, reason, None))

    def touch(self, stamps: list[tuple[str, bytes]]) -> None:
        """Take in new stamps of notes whose bytes are the same."""
        self._connection.executemany("UPDATE files SET stamp = ?2 WHERE path = ?1", stamps)

    def drop(self, path: str) -> None:
        """Forget a note."""
        row = self._connection.execute("SELECT note FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return
        if row[0] is not None:
            self._forget_words(row[0])
            self._forget_properties(row[0])
            numbers = self._connection.execute("SELECT id FROM chunks WHERE note = ?", (row[0],)).fetchall()
            self._delete_chunks([number for (number,) in numbers])
            self._connection.execute("DELETE FROM notes WHERE id = ?", (row[0],))
        self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def _take(self, table: str) -> int:
        number = self._next[table]
        self._next[table] = number + 1
        return number

    def _scope(self, name: str) -> int:
        if name not in self._scopes:
            cursor = self._connection.execute("INSERT INTO scopes (name) VALUES (?)", (name,))
            self._scopes[name] = int(cursor.lastrowid or 0)
        return self._scopes[name]

    def _make_room(self, note: NoteRow) -> tuple[int, dict[tuple[Any, ...], list[int]]]:
        """The note's number, and its chunks by content; its words are removed."""
        execute = self._connection.execute
        row = execute("SELECT id FROM notes WHERE path = ?", (note.path,)).fetchone()
        if row is None:
            return self._take("notes"), {}
        key = int(row[0])
        self._forget_words(key)
        self._forget_properties(key)
        tags: dict[int, list[str]] = {}
        for number, tag in execute(
            "SELECT chunk, tag FROM chunk_tags WHERE chunk IN (SELECT id FROM chunks WHERE note = ?) ORDER BY tag",
            (key,),
        ):
            tags.setdefault(number, []).append(tag)
        kept: dict[tuple[Any, ...], list[int]] = {}
        for number, about, *content in execute(
            "SELECT c.id, iif(c.position, '', n.about), c.tier, c.scope, c.day, c.partial, c.hash,"
            " t.head, t.text, t.headings, t.block_id FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN chunk_texts t ON t.id = c.id WHERE n.id = ? ORDER BY c.position DESC",
            (key,),
        ):
            marks = _signs(content[5], content[6], about)
            kept.setdefault((*content, marks, tuple(tags.get(number, ()))), []).append(number)
        return key, kept

    def _forget_properties(self, key: int) -> None:
        self._connection.execute("DELETE FROM names WHERE note = ?", (key,))
        self._connection.execute("DELETE FROM properties WHERE note = ?", (key,))
        facts.forget(self._connection, key)

    def _forget_words(self, key: int) -> None:
        """Take a note out of the whole-note words, which want the text back that they were given."""
        execute = self._connection.execute
        found = execute("SELECT title, day, day_source, about FROM notes WHERE id = ?", (key,)).fetchone()
        if found is None:
            return
        title, day, source, about = found
        rows = execute(
            "SELECT t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id WHERE c.note = ? ORDER BY c.position", (key,)
        ).fetchall()
        if not rows:
            return
        execute(
            "INSERT INTO note_words (note_words, rowid, head, about, body) VALUES ('delete', ?, ?, ?, ?)",
            (key, *map(worded, (note_head(title, day, source), about, "\n".join(text for (text,) in rows)))),
        )

    def _delete_chunks(self, numbers: list[int]) -> None:
        rows = [(number,) for number in numbers]
        execute = self._connection.executemany
        execute("INSERT INTO vector_garbage SELECT id FROM chunks WHERE id = ? AND embedded = 1", rows)
        execute("DELETE FROM chunk_tags WHERE chunk = ?", rows)
        for number in numbers:  # words and signs want the text back that they were given
            found = self._connection.execute(
                "SELECT t.head, t.text, iif(c.position, '', n.about) FROM chunks c JOIN chunk_texts t ON t.id = c.id"
                " JOIN notes n ON n.id = c.note WHERE c.id = ?",
                (number,),
            ).fetchone()
            if found:
                self._connection.execute(_NO_WORDS, (number, *map(worded, found[:2])))
                marks = _signs(*found)
                execute(_NO_SIGNS, [(number, marks)] if marks else [])
        execute("DELETE FROM lines WHERE chunk = ?", rows)
        execute("DELETE FROM answers WHERE chunk = ?", rows)
        execute("DELETE FROM chunk_texts WHERE id = ?", rows)
        execute("DELETE FROM chunks WHERE id = ?", rows)


def _names(note: NoteRow) -> dict[str, str]:
    """What a note is called, by the key of each name; a date alone is asked for as a date."""
    parsed = note.parsed
    if TIERS[note.tier] == "talk":
        return {}
    names = keys_of(note.path, parsed.title, parsed.aliases)
    dated = parsed.day_source == "name"
    return {name: written for name, written in names.items() if not (dated and name.replace(" ", "").isdecimal())}


def _lines(number: int, chunk: Chunk) -> list[tuple[Any, ...]]:
    """The rows of a chunk's lines."""
    both = zip(chunk.numbers, chunk.lines, strict=True)
    return [(number, place, own, *line) for place, (own, line) in enumerate(both)]


def note_head(title: str, day: int, source: str) -> str:
    """The head of a whole note: its title and, if the note itself says one, its date."""
    strong = f" {day // 10_000:04d}-{day // 100 % 100:02d}-{day % 100:02d}" if source in ("name", "property") else ""
    return title + strong


def _texts(chunk: Chunk) -> tuple[str, str, str, str | None]:
    """head, text, headings, block id as they are stored."""
    return chunk.head, chunk.text, _joined(chunk.headings), chunk.block_id


def _signs(head: str, text: str, about: str) -> str:
    """The signs that a chunk is found by; ``about`` is its note's if it is the first one."""
    return signs(f"{head}\n{text}\n{about}")


def _joined(values: tuple[str, ...]) -> str:
    return BETWEEN.join(value.replace(BETWEEN, " ") for value in values)
