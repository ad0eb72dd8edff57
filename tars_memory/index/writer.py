"""Read notes and conversations, and write their rows into all tables of the index.

Rows are collected for a batch of notes and written in one short transaction, in as few statements as possible. A chunk
that is still in a changed note keeps its row, its id and its vector; only its position and lines are updated. The turns
of a conversation are written as the chunks of a note, and copies of a turn only once.
"""

from __future__ import annotations

import json
import time
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.disk import blake2b
from tars_memory.errors import NotFoundError, TarsError
from tars_memory.index import chunking, naming
from tars_memory.index.chunking import Chunk, Parsed, embedded_text, pieces
from tars_memory.index.database import ALWAYS, AUTOMATED, BETWEEN, PART, STAMP, TIERS, iso, log_of
from tars_memory.index.fulltext import clean, signs, worded
from tars_memory.language.words import is_latin
from tars_memory.settings import CUT, Cut
from tars_memory.vault.layout import is_made_by_us
from tars_memory.vault.model import Line, Tier
from tars_memory.vault.secrets import veiled
from tars_memory.vault.vault import Vault, WrongEncodingError, has_markers

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.index.talks import OwnTurn, Talk


TOO_BIG = b"too big"
UNREADABLE = b"unreadable"
ENCODED = b"not UTF-8"
TEMPLATE = b"template"
UNRESOLVED = b"unresolved conflict"
EXCLUDED = b"excluded in Obsidian"
PROPOSALS = b"proposals to review"
"""Reasons why a note is not indexed, stored in place of its hash."""

SAME = "same"
"""Result of :func:`read`: the note's bytes are the indexed ones."""
OURS = frozenset({Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY})
"""The tiers whose notes start with headings that are filled over time."""
FEEDBACK = "Feedback"
"""The heading of the feedback in the notes that hold it."""

_CHUNK = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)"
_LINE = "INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ANSWER = "INSERT INTO answers VALUES (?, ?, ?)"
_TEXT = "INSERT INTO chunk_texts VALUES (?, ?, ?, ?, ?)"
_WORDS = "INSERT INTO chunk_words (rowid, head, text) VALUES (?, ?, ?)"
_SIGNS = "INSERT INTO chunk_signs (rowid, signs) VALUES (?, ?)"
_NO_WORDS = "INSERT INTO chunk_words (chunk_words, rowid, head, text) VALUES ('delete', ?, ?, ?)"
_NO_SIGNS = "INSERT INTO chunk_signs (chunk_signs, rowid, signs) VALUES ('delete', ?, ?)"
_FILE = (
    "INSERT INTO files VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE"
    " SET stamp = excluded.stamp, hash = excluded.hash, note = excluded.note"
)


class ReadNote(NamedTuple):
    """A note that was read and is ready to be written: its row of ``files``, its content and its rows of facts."""

    path: str
    stamp: bytes
    hash: bytes
    tier: str
    scope: str
    parsed: Parsed
    facts: list[tuple[Any, ...]]


def read(
    vault: Vault, path: str, stamp: bytes, kept: bytes, known: bytes | None, max_bytes: int, cut: Cut = CUT
) -> ReadNote | bytes | str | None:
    """Read and parse one note.

    Args:
        vault: that holds it.
        path: of the note.
        stamp: as the sweep saw it.
        kept: the stamp to store.
        known: hash of the indexed bytes, if they may be the same.
        max_bytes: maximum size of a note that is read.
        cut: size and overlap of the chunks.

    Returns:
        The note; :data:`SAME`; the reason why it is not indexed; None if the note is gone.
    """
    layout = vault.layout
    if layout.is_template(path):
        return TEMPLATE
    if layout.is_excluded(path):
        return EXCLUDED
    size, modified, _, _ = STAMP.unpack(stamp)
    if size > max_bytes:
        return TOO_BIG
    try:
        data = vault.read(path)
    except NotFoundError:
        return None
    except WrongEncodingError:
        return ENCODED
    except (OSError, TarsError):
        return UNREADABLE
    if len(data) > max_bytes:
        return TOO_BIG
    if layout.is_review(path) and is_made_by_us(data):
        return PROPOSALS
    if has_markers(data):
        return UNRESOLVED
    digest = blake2b(data, digest_size=16).digest()
    day = layout.day_of(path)
    weak = _day(modified)
    if known is not None and digest == known[:16] and known[16:] in (b"", _weak_day(weak)):
        return SAME
    tier, scope = layout.tier_of(path), clean(layout.scope_of(path))
    ours = tier in OURS or layout.timed(path)
    skeleton = {layout.notes_section, layout.log_heading, FEEDBACK} if ours else None
    # Credentials never get into the index; the lines keep their numbers, so that hits can be cited.
    shown = veiled(data)
    facts_note, session = layout.is_facts(path), tier == Tier.EPISODIC
    parsed = chunking.parse(
        path, shown, day=day, modified=weak, skeleton=skeleton, facts=facts_note, session=session, cut=cut
    )
    if parsed.day_source == "mtime":
        digest += _weak_day(weak)
    return ReadNote(path, kept, digest, str(tier), scope, parsed, chunking.fact_rows(layout, path, shown))


def _day(nanoseconds: int) -> date | None:
    """Return the local day of a time stamp; None if it is not a date (some file systems invent time stamps)."""
    try:
        return date(*time.localtime(nanoseconds / 1e9)[:3])
    except (OverflowError, OSError, ValueError):
        return None


def _weak_day(day: date | None) -> bytes:
    """Return what is appended to the hash of a note whose only date is its file's: another day means other rows."""
    return b"" if day is None else day.isoformat().encode("ascii")


class Writer:
    """Writes notes to an open index; call every method inside a transaction.

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

    def write(self, notes: list[ReadNote]) -> None:
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
            parsed, tier, scope = note.parsed, TIERS.index(note.tier), self._scope(note.scope)
            key, stored = self._make_room(note)
            files.append((note.path, note.stamp, note.hash, key))
            lists = (_joined(parsed.aliases), _joined(parsed.tags), _joined(parsed.links))
            columns = (parsed.day, parsed.day_source, parsed.title, parsed.about, *lists, parsed.lines, parsed.until)
            note_rows.append((key, note.path, tier, scope, *columns))
            body = []
            for position, chunk in enumerate(parsed.chunks):
                texts = _texts(chunk)
                marks = _signs(chunk.head, chunk.text, parsed.about if position == 0 else "")
                body.append(chunk.text)
                content = (tier, scope, parsed.day, int(chunk.partial), chunk.hash, *texts, marks, chunk.tags)
                same = stored.get(content)
                if same:
                    moved.append((position, chunk.start_line, chunk.end_line, chunk.until, same.pop()))
                    continue
                number = self._next_id("chunks")
                chunk_rows.append((number, key, position, tier, scope, parsed.day, *_chunk_columns(chunk)))
                text_rows.append((number, *texts))
                sign_rows += [(number, marks)] if marks else ()
                tag_rows += ((tag, number) for tag in chunk.tags)
                line_rows += _lines(number, chunk)
                answer_rows += ((number, *answer) for answer in chunk.answers)
            self._delete_chunks([number for numbers in stored.values() for number in numbers])
            self._connection.execute("DELETE FROM notes WHERE id = ?", (key,))  # last: deleting chunks reads its row
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
        execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", fact_rows)

    def grow(self, key: int, more: Parsed) -> None:
        """Append chunks to a note, given its id; its other chunks stay as they are."""
        execute, executemany = self._connection.execute, self._connection.executemany
        title, about, day, source, tier, scope, count = execute(
            "SELECT n.title, n.about, n.day, n.day_source, n.tier, n.scope,"
            " (SELECT count(*) FROM chunks c WHERE c.note = n.id) FROM notes n WHERE n.id = ?",
            (key,),
        ).fetchone()
        self._forget_words(key)
        for position, chunk in enumerate(more.chunks, count):
            number = self._next_id("chunks")
            execute(_CHUNK, (number, key, position, tier, scope, day, *_chunk_columns(chunk)))
            execute(_TEXT, (number, *_texts(chunk)))
            execute(_WORDS, (number, worded(chunk.head), worded(chunk.text)))
            marks = _signs(chunk.head, chunk.text, "" if position else about)
            executemany(_SIGNS, [(number, marks)] if marks else [])
            executemany(_LINE, _lines(number, chunk))
            executemany(_ANSWER, [(number, *answer) for answer in chunk.answers])
        execute("UPDATE notes SET lines = ? WHERE id = ?", (more.lines, key))
        words = map(worded, (note_head(title, day, source), about, "\n".join(self._note_texts(key))))
        execute("INSERT INTO note_words (rowid, head, about, body) VALUES (?, ?, ?, ?)", (key, *words))

    def move(self, folder: str, scope: str) -> None:
        """Move the conversations of a folder to another scope."""
        execute, values = self._connection.execute, (self._scope(scope), folder)
        execute("UPDATE chunks SET scope = ? WHERE note IN (SELECT id FROM notes WHERE links = ?)", values)
        execute("UPDATE notes SET scope = ? WHERE links = ?", values)

    def skip(self, path: str, stamp: bytes, reason: bytes) -> None:
        """Store why a note is not indexed, and delete its rows."""
        self.drop(path)
        self._connection.execute(_FILE, (path, stamp, reason, None))

    def touch(self, stamps: list[tuple[str, bytes]]) -> None:
        """Store the new stamps of notes whose bytes are the same, as (path, stamp)."""
        self._connection.executemany(
            "UPDATE files SET stamp = ? WHERE path = ?", [(stamp, path) for path, stamp in stamps]
        )

    def drop(self, path: str) -> None:
        """Delete all rows of a note."""
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

    def _next_id(self, table: str) -> int:
        """Return a new id for a row of ``notes`` or ``chunks``."""
        number = self._next[table]
        self._next[table] = number + 1
        return number

    def _scope(self, name: str) -> int:
        """Return the id of a scope; a new scope gets one."""
        if name not in self._scopes:
            cursor = self._connection.execute("INSERT INTO scopes (name) VALUES (?)", (name,))
            self._scopes[name] = int(cursor.lastrowid or 0)
        return self._scopes[name]

    def _make_room(self, note: ReadNote) -> tuple[int, dict[tuple[Any, ...], list[int]]]:
        """Delete the words and properties of a stored note; return its id, and content → ids of its chunks."""
        execute = self._connection.execute
        row = execute("SELECT id FROM notes WHERE path = ?", (note.path,)).fetchone()
        if row is None:
            return self._next_id("notes"), {}
        key = int(row[0])
        self._forget_words(key)
        self._forget_properties(key)
        tags: dict[int, list[str]] = {}
        for number, tag in execute(
            "SELECT chunk, tag FROM chunk_tags WHERE chunk IN (SELECT id FROM chunks WHERE note = ?) ORDER BY tag",
            (key,),
        ):
            tags.setdefault(number, []).append(tag)
        stored: dict[tuple[Any, ...], list[int]] = {}
        for number, about, *content in execute(
            "SELECT c.id, iif(c.position, '', n.about), c.tier, c.scope, c.day, c.partial, c.hash,"
            " t.head, t.text, t.headings, t.block_id FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN chunk_texts t ON t.id = c.id WHERE n.id = ? ORDER BY c.position DESC",
            (key,),
        ):
            marks = _signs(content[5], content[6], about)
            stored.setdefault((*content, marks, tuple(tags.get(number, ()))), []).append(number)
        return key, stored

    def _note_texts(self, key: int) -> list[str]:
        """Return the texts of a note's chunks, in order."""
        sql = "SELECT t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id WHERE c.note = ? ORDER BY c.position"
        return [text for (text,) in self._connection.execute(sql, (key,))]

    def _forget_properties(self, key: int) -> None:
        """Delete a note's names, properties and facts."""
        for table in ("names", "properties", "facts"):
            self._connection.execute(f"DELETE FROM {table} WHERE note = ?", (key,))

    def _forget_words(self, key: int) -> None:
        """Delete a note from ``note_words``, which needs the text that was inserted to delete it."""
        execute = self._connection.execute
        found = execute("SELECT title, day, day_source, about FROM notes WHERE id = ?", (key,)).fetchone()
        if found is None:
            return
        title, day, source, about = found
        texts = self._note_texts(key)
        if not texts:
            return
        execute(
            "INSERT INTO note_words (note_words, rowid, head, about, body) VALUES ('delete', ?, ?, ?, ?)",
            (key, *map(worded, (note_head(title, day, source), about, "\n".join(texts)))),
        )

    def _delete_chunks(self, numbers: list[int]) -> None:
        """Delete all rows of these chunks."""
        rows = [(number,) for number in numbers]
        execute = self._connection.executemany
        for number in numbers:  # to delete words and signs, FTS5 needs the text that was inserted
            found = self._connection.execute(
                "SELECT t.head, t.text, iif(c.position, '', n.about) FROM chunks c JOIN chunk_texts t ON t.id = c.id"
                " JOIN notes n ON n.id = c.note WHERE c.id = ?",
                (number,),
            ).fetchone()
            if found:
                self._connection.execute(_NO_WORDS, (number, *map(worded, found[:2])))
                marks = _signs(*found)
                execute(_NO_SIGNS, [(number, marks)] if marks else [])
        for table in ("lines", "answers", "chunk_tags", "chunk_vectors", "chunk_bits"):
            execute(f"DELETE FROM {table} WHERE chunk = ?", rows)
        execute("DELETE FROM chunk_texts WHERE id = ?", rows)
        execute("DELETE FROM chunks WHERE id = ?", rows)


def _names(note: ReadNote) -> dict[str, str]:
    """Return key → name as written of a note's names; a date alone is not a name, for searches find it as a date."""
    parsed = note.parsed
    if note.tier == "talk":
        return {}
    names = naming.keys_of(note.path, parsed.title, parsed.aliases)
    dated = parsed.day_source == "name"
    return {name: written for name, written in names.items() if not (dated and name.replace(" ", "").isdecimal())}


def _chunk_columns(chunk: Chunk) -> tuple[Any, ...]:
    """Return the columns of a chunk's row that don't depend on its note."""
    return chunk.start_line, chunk.end_line, int(chunk.partial), chunk.hash, chunk.until, is_latin(chunk.text)


def _lines(number: int, chunk: Chunk) -> list[tuple[Any, ...]]:
    """Return the rows of a chunk's lines; ``number`` is the chunk's id."""
    numbered = zip(chunk.numbers, chunk.lines, strict=True)
    return [(number, place, line_number, *line) for place, (line_number, line) in enumerate(numbered)]


def note_head(title: str, day: int, source: str) -> str:
    """Return the head of a whole note: its title and its date, unless that is only the file's time of modification."""
    return f"{title} {iso(day)}" if source in ("name", "property") else title


def _texts(chunk: Chunk) -> tuple[str, str, str, str | None]:
    """Return head, text, headings and block id of a chunk as they are stored."""
    return chunk.head, chunk.text, _joined(chunk.headings), chunk.block_id


def _signs(head: str, text: str, about: str) -> str:
    """Return the signs by which a chunk is found; ``about`` is its note's for the first chunk, else empty."""
    return signs(f"{head}\n{text}\n{about}")


def _joined(values: tuple[str, ...]) -> str:
    """Return a list as it is stored in one column."""
    return BETWEEN.join(value.replace(BETWEEN, " ") for value in values)


def write_talk(connection: sqlite3.Connection, talk: Talk, *, grown: bool) -> None:
    """Write a conversation, without the turns that are indexed from another copy of it.

    Args:
        connection: of the index, inside a transaction.
        talk: the conversation.
        grown: ``talk`` holds only turns that are new since the log was read; they are appended.
    """
    execute = connection.execute
    row = execute("SELECT id, lines FROM notes WHERE path = ?", (talk.path,)).fetchone()
    known, count = (int(row[0]), int(row[1])) if row else (0, 0)
    identities = json.dumps([turn.identity.hex() for turn in talk.said])
    if known and not grown:
        _release(connection, known, identities)
        execute("DELETE FROM said WHERE note = ?", (known,))
    elsewhere = execute(
        "SELECT s.identity FROM json_each(?) j JOIN said s ON s.identity = j.value WHERE s.note <> ?",
        (identities, known),
    )
    copies = {identity for (identity,) in elsewhere}
    fresh = [turn for turn in talk.said if turn.identity.hex() not in copies]
    after = count if grown else 0
    parsed = _parsed(talk, fresh, after)
    if grown and known:
        Writer(connection).grow(known, parsed)
    else:
        Writer(connection).write([ReadNote(talk.path, b"", b"", "talk", talk.scope, parsed, [])])
    (note,) = execute("SELECT id FROM notes WHERE path = ?", (talk.path,)).fetchone()
    rows = [(turn.identity.hex(), int(note)) for turn in talk.said]
    connection.executemany("INSERT OR IGNORE INTO said VALUES (?, ?)", rows)


def drop_log(connection: sqlite3.Connection, log: str, keep: Iterable[str] = ()) -> None:
    """Delete a log's conversations except those in ``keep``; other logs with copies of their turns are read again."""
    execute = connection.execute
    writer = Writer(connection)
    kept = set(keep)
    rows = execute(
        "SELECT id, path FROM notes WHERE path = ? OR substr(path, 1, ?) = ?", (log, len(log) + 1, log + PART)
    )
    for note, path in rows.fetchall():
        if path not in kept:
            _release(connection, note, "[]")
            execute("DELETE FROM said WHERE note = ?", (note,))
            writer.drop(path)
    if not kept:
        execute("DELETE FROM logs WHERE path = ?", (log,))


def _release(connection: sqlite3.Connection, note: int, kept: str) -> None:
    """Mark logs to be read again if they contain copies of a conversation's turns other than the ``kept`` identities.

    ``kept`` is a JSON list.
    """
    copies = connection.execute(
        "SELECT DISTINCT n.path FROM said s JOIN said o ON o.identity = s.identity AND o.note <> s.note"
        " JOIN notes n ON n.id = o.note WHERE s.note = ? AND s.identity NOT IN (SELECT value FROM json_each(?))",
        (note, kept),
    ).fetchall()
    for (copy,) in copies:
        connection.execute("UPDATE logs SET stamp = x'', before = x'' WHERE path = ?", (log_of(copy),))


def _parsed(talk: Talk, turns: Iterable[OwnTurn], after: int) -> Parsed:
    """Return the turns of a conversation as a note; its lines are numbered from ``after`` + 1."""
    note = Parsed()
    note.title, note.about = talk.title, ""
    note.day, note.day_source = (int(talk.day.replace("-", "")), "name") if talk.day else (0, "")
    note.aliases = note.tags = ()
    note.links = (talk.folder,) if talk.folder else ()
    note.properties = ()
    note.until = ALWAYS
    note.chunks = list(_chunks(talk, turns, after))
    note.lines = note.chunks[-1].end_line if note.chunks else after
    return note


def _chunks(talk: Talk, turns: Iterable[OwnTurn], after: int) -> Iterator[Chunk]:
    """Pack consecutive turns of one day into chunks."""
    rows: list[tuple[OwnTurn, str, str]] = []  # turn, line of it, answer to it (with its last line)
    size = 0
    for turn in turns:
        texts = [part for text in turn.texts[:MAX_LINES] for part in _fitting(text)]
        for place, text in enumerate(texts):
            if rows and (size + len(text) + 1 > CUT.size or rows[-1][0].day != turn.day):
                yield _chunk(talk, rows, after)
                after += len(rows)
                rows, size = [], 0
            rows.append((turn, text, turn.answer if place == len(texts) - 1 else ""))
            size += len(text) + 1
    if rows:
        yield _chunk(talk, rows, after)


def _fitting(text: str) -> Iterator[str]:
    """Yield a line, in pieces if it is longer than a chunk."""
    if len(text) <= CUT.size:
        yield text
    else:
        yield from (text[start:stop] for start, stop in pieces(text))


def _chunk(talk: Talk, rows: Sequence[tuple[OwnTurn, str, str]], after: int) -> Chunk:
    """Build a chunk of (turn, line, answer) rows; its lines are numbered from ``after`` + 1."""
    chunk = Chunk()
    chunk.start_line, chunk.end_line = after + 1, after + len(rows)
    chunk.text = "\n".join(text for _, text, _ in rows)
    chunk.partial, chunk.headings, chunk.block_id, chunk.until = False, (), None, ALWAYS
    chunk.tags = (AUTOMATED,) if talk.automated else ()
    day = rows[0][0].day
    chunk.head = f"{talk.title} › {day}" if day else talk.title
    chunk.lines = [Line(0, "text", "", "", turn.speaker, "", turn.day, "") for turn, _, _ in rows]
    chunk.numbers = [turn.line for turn, _, _ in rows]
    chunk.answers = [(place, answer) for place, (_, _, answer) in enumerate(rows) if answer]
    chunk.hash = blake2b(embedded_text(chunk.head, chunk.text).encode(), digest_size=16).digest()
    return chunk


MAX_LINES = 400
"""Maximum number of lines of one turn that are indexed; more is a pasted document."""
