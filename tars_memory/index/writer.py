"""Read notes and conversations, and write their rows into all tables of the index.

Rows are collected for a batch of notes and written in one short transaction, in as few statements as possible. A chunk
that is still in a changed note keeps its row, its id and its vector; only its position and lines are updated. The turns
of a conversation are written as the chunks of a note, and copies of a turn only once.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from datetime import date
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk, errors, vault
from tars_memory.index import chunking, naming
from tars_memory.index.database import AUTOMATED, BETWEEN, PART, STAMP, TIERS, iso, log_of
from tars_memory.index.fulltext import TABLES, clean, signs, worded
from tars_memory.language.words import is_latin
from tars_memory.settings import CUT, Cut
from tars_memory.vault.model import Line, Tier

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.index.talks import OwnTurn, Talk

    Rows = dict[str, list[tuple[Any, ...]]]


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

_FILE = (
    "INSERT INTO files VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE"
    " SET stamp = excluded.stamp, hash = excluded.hash, note = excluded.note"
)

_FULLTEXT = {name: ", ".join(("rowid", *table.columns)) for name, table in TABLES.items()}
"""Full-text table → its columns."""
WORDED = ("chunk_words", "note_words")
"""The tables of words; their texts are :func:`worded`."""


class ReadNote(NamedTuple):
    """A note that was read and is ready to be written: its row of ``files``, its content and its rows of facts."""

    path: str
    stamp: bytes
    hash: bytes
    tier: str
    scope: str
    parsed: chunking.Parsed
    facts: list[tuple[Any, ...]]


def read(
    notes: vault.vault.Vault, path: str, stamp: bytes, kept: bytes, known: bytes | None, max_bytes: int, cut: Cut = CUT
) -> ReadNote | bytes | str | None:
    """Read and parse one note.

    Args:
        notes: the vault.
        path: of the note.
        stamp: as the sweep saw it.
        kept: the stamp to store.
        known: hash of the indexed bytes, if they may be the same.
        max_bytes: maximum size of a note that is read.
        cut: size and overlap of the chunks.

    Returns:
        The note; :data:`SAME`; the reason why it is not indexed; None if the note is gone.
    """
    size, modified, _, _ = STAMP.unpack(stamp)
    layout, weak = notes.layout, _day(modified)
    if layout.is_template(path):
        return TEMPLATE
    if layout.is_excluded(path):
        return EXCLUDED
    if size > max_bytes:
        return TOO_BIG
    try:
        data = notes.read(path)
    except errors.NotFoundError:
        return None
    except vault.vault.WrongEncodingError:
        return ENCODED
    except (OSError, errors.TarsError):
        return UNREADABLE
    if len(data) > max_bytes:
        return TOO_BIG
    if layout.is_review(path) and vault.layout.is_made_by_us(data):
        return PROPOSALS
    if vault.vault.has_markers(data):
        return UNRESOLVED
    digest = disk.blake2b(data, digest_size=16).digest()
    day = layout.day_of(path)
    if known is not None and digest == known[:16] and known[16:] in (b"", _weak_day(weak)):
        return SAME
    tier, scope = layout.tier_of(path), layout.scope_of(path)
    ours = tier in OURS or layout.timed(path)
    skeleton = {layout.notes_section, layout.log_heading, FEEDBACK} if ours else None
    # Credentials never get into the index; the lines keep their numbers, so that hits can be cited.
    shown = vault.secrets.veiled(data)
    facts_note, session = layout.is_facts(path), tier == Tier.EPISODIC
    outline = vault.markdown.lines.outline(shown, facts=facts_note, session=session)
    links = list(vault.links.targets(outline.lines))
    parsed = chunking.parse(path, outline, links, day=day, modified=weak, skeleton=skeleton, session=session, cut=cut)
    if parsed.day_source == "mtime":
        digest += _weak_day(weak)
    facts = chunking.fact_rows(path, shown) if facts_note else []
    return ReadNote(path, kept, digest, str(tier), clean(scope), parsed, facts)


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
        self._gone: Rows = defaultdict(list)
        """Rows to delete from full-text tables."""
        last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        self._next = {table: count(int(last.get(table, 0)) + 1) for table in ("notes", "chunks")}

    def write(self, notes: list[ReadNote]) -> None:
        """Insert or replace notes by path."""
        files: list[tuple[Any, ...]] = []
        moved: list[tuple[int, int, int, int, int]] = []
        rows: Rows = defaultdict(list)
        for note in notes:
            parsed, tier, scope = note.parsed, TIERS.index(note.tier), self._scope(note.scope)
            place = (tier, scope, parsed.day)
            key, stored = self._make_room(note)
            files.append((note.path, note.stamp, note.hash, key))
            lists = (_joined(parsed.aliases), _joined(parsed.tags), _joined(parsed.links))
            columns = (parsed.day_source, parsed.title, parsed.about, *lists, parsed.lines, parsed.until)
            rows["notes"].append((key, note.path, *place, *columns))
            for position, chunk in enumerate(parsed.chunks):
                marks = _signs(chunk.head, chunk.text, "" if position else parsed.about)
                same = stored.get(
                    (*place, int(chunk.partial), int(chunk.front), chunk.hash, *_texts(chunk), marks, chunk.tags)
                )
                if same:
                    moved.append((position, chunk.start_line, chunk.end_line, chunk.until, same.pop()))
                else:
                    self._add_chunk(rows, (key, position, *place), chunk, marks)
            self._delete_chunks([number for numbers in stored.values() for number in numbers])
            self._connection.execute("DELETE FROM notes WHERE id = ?", (key,))  # last: deleting chunks reads its row
            rows["names"] += ((name, key, written) for name, written in _names(note).items())
            rows["properties"] += ((name, value, key) for name, value in parsed.properties)
            rows["facts"] += ((key, *row) for row in note.facts)
            if parsed.chunks:  # a blank note is found by its name; among whole notes it would make the others look long
                texts = [chunk.text for chunk in parsed.chunks]
                rows["note_words"].append(
                    (key, *_words(texts, parsed.title, parsed.day, parsed.day_source, parsed.about))
                )
        self._connection.executemany(_FILE, files)
        sql = "UPDATE chunks SET position = ?, start_line = ?, end_line = ?, until = ? WHERE id = ?"
        self._connection.executemany(sql, moved)
        self._insert(rows)

    def grow(self, key: int, more: chunking.Parsed) -> None:
        """Append chunks to a note, given its id; its other chunks stay as they are."""
        about, day, tier, scope, held = self._connection.execute(
            "SELECT n.about, n.day, n.tier, n.scope, (SELECT count(*) FROM chunks c WHERE c.note = n.id)"
            " FROM notes n WHERE n.id = ?",
            (key,),
        ).fetchone()
        self._forget_words(key)
        rows: Rows = defaultdict(list)
        for position, chunk in enumerate(more.chunks, held):
            marks = _signs(chunk.head, chunk.text, "" if position else about)
            self._add_chunk(rows, (key, position, tier, scope, day), chunk, marks)
        self._insert(rows)
        self._connection.execute("UPDATE notes SET lines = ? WHERE id = ?", (more.lines, key))
        self._insert({"note_words": self._stored_words(key)})

    def _add_chunk(self, rows: Rows, place: tuple[int, int, int, int, int], chunk: chunking.Chunk, marks: str) -> None:
        """Add the rows of a new chunk to those of its tables.

        Args:
            rows: table → rows.
            place: note, position, tier, scope, day.
            chunk: the chunk.
            marks: its signs.
        """
        number = next(self._next["chunks"])
        columns = (chunk.start_line, chunk.end_line, int(chunk.partial), chunk.hash, 0, chunk.until, int(chunk.front))
        rows["chunks"].append((number, *place, *columns))
        rows["chunk_texts"].append((number, *_texts(chunk)))
        rows["chunk_words"].append((number, chunk.head, chunk.text))
        rows["chunk_signs"] += [(number, marks)] if marks else ()
        rows["chunk_tags"] += ((tag, number) for tag in chunk.tags)
        numbered = enumerate(zip(chunk.numbers, chunk.lines, strict=True))
        rows["lines"] += ((number, position, line_number, *line) for position, (line_number, line) in numbered)
        rows["answers"] += ((number, *answer) for answer in chunk.answers)

    def _insert(self, rows: Rows) -> None:
        """Insert rows into their tables, after deleting those that are gone from full-text tables; what depends on the
        words of their texts is found for all of them at once.
        """
        gone, self._gone = self._gone, defaultdict(list)
        tables = [(kind, table) for kind in (gone, rows) for table in WORDED if kind.get(table)]
        words = iter(worded(text for kind, table in tables for row in kind[table] for text in row[1:]))
        if "chunks" in rows:
            latin = [is_latin(text) for _, _, text in rows["chunk_words"]]
            rows["chunks"] = [(*row, one) for row, one in zip(rows["chunks"], latin, strict=True)]
        for kind, table in tables:
            kind[table] = [(row[0], *islice(words, len(row) - 1)) for row in kind[table]]
        for table, values in gone.items():  # a full-text table needs what was inserted to delete it
            if values:
                marks = ", ".join("?" * len(values[0]))
                sql = f"INSERT INTO {table} ({table}, {_FULLTEXT[table]}) VALUES ('delete', {marks})"
                self._connection.executemany(sql, values)
        for table, values in rows.items():
            if values:
                columns = f" ({_FULLTEXT[table]})" if table in _FULLTEXT else ""
                marks = ", ".join("?" * len(values[0]))
                self._connection.executemany(f"INSERT INTO {table}{columns} VALUES ({marks})", values)

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
        self._insert({})

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
            return next(self._next["notes"]), {}
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
            "SELECT c.id, iif(c.position, '', n.about), c.tier, c.scope, c.day, c.partial, c.front, c.hash,"
            " t.head, t.text, t.headings, t.block_id FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN chunk_texts t ON t.id = c.id WHERE n.id = ? ORDER BY c.position DESC",
            (key,),
        ):
            marks = _signs(content[6], content[7], about)
            stored.setdefault((*content, marks, tuple(tags.get(number, ()))), []).append(number)
        return key, stored

    def _forget_properties(self, key: int) -> None:
        """Delete a note's names, properties and facts."""
        for table in ("names", "properties", "facts"):
            self._connection.execute(f"DELETE FROM {table} WHERE note = ?", (key,))

    def _forget_words(self, key: int) -> None:
        """Delete a note from ``note_words``."""
        self._gone["note_words"] += self._stored_words(key)

    def _stored_words(self, key: int) -> list[tuple[Any, ...]]:
        """Return the row of a stored note in ``note_words``; none if the note is blank or not stored."""
        sql = "SELECT t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id WHERE c.note = ? ORDER BY c.position"
        texts = [text for (text,) in self._connection.execute(sql, (key,))]
        sql = "SELECT title, day, day_source, about FROM notes WHERE id = ?"
        return [(key, *_words(texts, *note)) for note in self._connection.execute(sql, (key,)) if texts]

    def _delete_chunks(self, numbers: list[int]) -> None:
        """Delete all rows of these chunks."""
        rows = [(number,) for number in numbers]
        execute = self._connection.executemany
        for number in numbers:
            found = self._connection.execute(
                "SELECT t.head, t.text, iif(c.position, '', n.about) FROM chunks c JOIN chunk_texts t ON t.id = c.id"
                " JOIN notes n ON n.id = c.note WHERE c.id = ?",
                (number,),
            ).fetchone()
            if found:
                self._gone["chunk_words"].append((number, *found[:2]))
                if marks := _signs(*found):
                    self._gone["chunk_signs"].append((number, marks))
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


def note_head(title: str, day: int, source: str) -> str:
    """Return the head of a whole note: its title and its date, unless that is only the file's time of modification."""
    return f"{title} {iso(day)}" if source in ("name", "property") else title


def _words(texts: list[str], title: str, day: int, source: str, about: str) -> Iterable[str]:
    """Return the columns of a note in ``note_words``, given the texts of its chunks."""
    return note_head(title, day, source), about, "\n".join(texts)


def _texts(chunk: chunking.Chunk) -> tuple[str, str, str, str | None]:
    """Return head, text, headings and block id of a chunk as they are stored."""
    return chunk.head, chunk.text, _joined(chunk.headings), chunk.block_id


def _signs(head: str, text: str, about: str) -> str:
    """Return the signs by which a chunk is found; ``about`` is its note's for the first chunk, else empty."""
    return signs(f"{head}\n{text}\n{about}")


def _joined(values: tuple[str, ...]) -> str:
    """Return a list as it is stored in one column."""
    return BETWEEN.join(value.replace(BETWEEN, " ") for value in values)


def write_talk(connection: sqlite3.Connection, talk: Talk, *, grown: bool) -> None:
    """Write a conversation, without the turns that are indexed from a copy of it: the one that was written first.

    Args:
        connection: of the index, inside a transaction.
        talk: the conversation.
        grown: ``talk`` holds only turns that are new since the log was read; they are appended.
    """
    execute = connection.execute
    row = execute("SELECT id, lines FROM notes WHERE path = ?", (talk.path,)).fetchone()
    known, lines = (int(row[0]), int(row[1])) if row else (0, 0)
    identities = json.dumps([turn.identity.hex() for turn in talk.said])
    said_in = "FROM json_each(?1) j JOIN said s ON s.identity = j.value"
    if known:  # it counts from now on for what is new in it, where a later one had that
        new = "s.identity NOT IN (SELECT identity FROM said WHERE note = ?2)"
        later = f"SELECT DISTINCT n.path {said_in} JOIN notes n ON n.id = s.note WHERE s.note > ?2 AND {new}"
        _read_whole(connection, execute(later, (identities, known)).fetchall())
    if known and not grown:
        _release(connection, known, identities)
        execute("DELETE FROM said WHERE note = ?", (known,))
    elsewhere = execute(f"SELECT s.identity {said_in} WHERE ?2 = 0 OR s.note < ?2", (identities, known))
    copies = {identity for (identity,) in elsewhere}
    fresh = [turn for turn in talk.said if turn.identity.hex() not in copies]
    after = lines if grown else 0
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
    _read_whole(connection, copies)


def _read_whole(connection: sqlite3.Connection, conversations: Iterable[tuple[str]]) -> None:
    """Mark the logs of conversations to be read again from their beginning."""
    for (path,) in conversations:
        connection.execute("UPDATE logs SET stamp = x'', before = x'' WHERE path = ?", (log_of(path),))


def _parsed(talk: Talk, turns: Iterable[OwnTurn], after: int) -> chunking.Parsed:
    """Return the turns of a conversation as a note; its lines are numbered from ``after`` + 1."""
    note = chunking.Parsed()
    note.title = talk.title
    note.day, note.day_source = (int(talk.day.replace("-", "")), "name") if talk.day else (0, "")
    note.links = (talk.folder,) if talk.folder else ()
    note.chunks = list(_chunks(talk, turns, after))
    note.lines = note.chunks[-1].end_line if note.chunks else after
    return note


def _chunks(talk: Talk, turns: Iterable[OwnTurn], after: int) -> Iterator[chunking.Chunk]:
    """Pack consecutive turns of one day into chunks."""
    rows: list[tuple[OwnTurn, str, str]] = []  # turn, line of it, answer to it (with its last line)
    size = 0
    for turn in turns:
        texts = [text[start:stop] for text in turn.texts[:MAX_LINES] for start, stop in chunking.pieces(text)]
        for place, text in enumerate(texts):
            if rows and (size + len(text) + 1 > CUT.size or rows[-1][0].day != turn.day):
                yield _chunk(talk, rows, after)
                after += len(rows)
                rows, size = [], 0
            rows.append((turn, text, turn.answer if place == len(texts) - 1 else ""))
            size += len(text) + 1
    if rows:
        yield _chunk(talk, rows, after)


def _chunk(talk: Talk, rows: Sequence[tuple[OwnTurn, str, str]], after: int) -> chunking.Chunk:
    """Build a chunk of (turn, line, answer) rows; its lines are numbered from ``after`` + 1."""
    chunk = chunking.Chunk()
    chunk.start_line, chunk.end_line = after + 1, after + len(rows)
    chunk.text = "\n".join(text for _, text, _ in rows)
    chunk.tags = (AUTOMATED,) if talk.automated else ()
    day = rows[0][0].day
    chunk.head = f"{talk.title} › {day}" if day else talk.title
    chunk.lines = [Line(0, "text", "", "", turn.speaker, "", turn.day, "") for turn, _, _ in rows]
    chunk.numbers = [turn.line for turn, _, _ in rows]
    chunk.answers = [(place, answer) for place, (_, _, answer) in enumerate(rows) if answer]
    plain = vault.markdown.lines.plain(chunk.text)
    chunk.hash = disk.blake2b(chunking.embedded_text(chunk.head, plain).encode(), digest_size=16).digest()
    return chunk


MAX_LINES = 400
"""Maximum number of lines of one turn that are indexed; more is a pasted document."""
