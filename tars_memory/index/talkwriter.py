"""What is written into the index of conversations: a talk's turns as the chunks of a note, copies of them once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tars_memory.disk import blake2b
from tars_memory.index.chunking import SIZE, Chunk, Parsed, embedded_text, pieces
from tars_memory.index.schema import ALWAYS
from tars_memory.index.talks import MOST_LINES, PART, log_of
from tars_memory.index.writer import NoteRow, Writer
from tars_memory.vault.model import Line

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.index.talks import Said, Talk


def take(connection: sqlite3.Connection, talk: Talk, *, grown: bool) -> None:
    """Write a conversation, without turns that another copy of it has brought already."""
    execute = connection.execute
    row = execute("SELECT id, lines FROM notes WHERE path = ?", (talk.path,)).fetchone()
    known, count = (int(row[0]), int(row[1])) if row else (0, 0)
    identities = json.dumps([one.identity.hex() for one in talk.said])
    if known and not grown:
        _release(connection, known, identities)
        execute("DELETE FROM said WHERE note = ?", (known,))
    elsewhere = execute(
        "SELECT s.identity FROM json_each(?) j JOIN said s ON s.identity = j.value WHERE s.note <> ?",
        (identities, known),
    )
    copies = {identity for (identity,) in elsewhere}
    fresh = [one for one in talk.said if one.identity.hex() not in copies]
    after = count if grown else 0
    parsed = _parsed(talk, fresh, after)
    if grown and known:
        Writer(connection).grow(known, parsed)
    else:
        Writer(connection).write([NoteRow(talk.path, b"", b"", "talk", talk.scope, parsed, [])])
    (note,) = execute("SELECT id FROM notes WHERE path = ?", (talk.path,)).fetchone()
    rows = [(one.identity.hex(), int(note)) for one in talk.said]
    connection.executemany("INSERT OR IGNORE INTO said VALUES (?, ?)", rows)


def drop(connection: sqlite3.Connection, log: str, keep: Iterable[str] = ()) -> None:
    """Forget a log's conversations but some; other logs that hold a copy of their turns are read anew."""
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
    """Have logs read anew that hold copies of turns which a conversation no longer has, but for ``kept`` ones."""
    copies = connection.execute(
        "SELECT DISTINCT n.path FROM said s JOIN said o ON o.identity = s.identity AND o.note <> s.note"
        " JOIN notes n ON n.id = o.note WHERE s.note = ? AND s.identity NOT IN (SELECT value FROM json_each(?))",
        (note, kept),
    ).fetchall()
    for (copy,) in copies:
        connection.execute("UPDATE logs SET stamp = x'', before = x'' WHERE path = ?", (log_of(copy),))


def _parsed(talk: Talk, said: Iterable[Said], after: int) -> Parsed:
    """A conversation as a note: its chunks, whose lines go on after those that are there."""
    note = Parsed()
    note.title, note.about = talk.title, ""
    note.day, note.day_source = (int(talk.day.replace("-", "")), "name") if talk.day else (0, "")
    note.aliases = note.tags = ()
    note.links = (talk.folder,) if talk.folder else ()
    note.properties = ()
    note.until = ALWAYS
    note.chunks = list(_chunks(talk, said, after))
    note.lines = note.chunks[-1].end_line if note.chunks else after
    return note


def _chunks(talk: Talk, said: Iterable[Said], after: int) -> Iterator[Chunk]:
    """What was said in a row on one day, packed up to the size of a chunk."""
    rows: list[tuple[Said, str, str]] = []
    size = 0
    for one in said:
        texts = [part for text in one.texts[:MOST_LINES] for part in _fitting(text)]
        for place, text in enumerate(texts):
            if rows and (size + len(text) + 1 > SIZE or rows[-1][0].day != one.day):
                yield _chunk(talk, rows, after)
                after += len(rows)
                rows, size = [], 0
            rows.append((one, text, one.answer if place == len(texts) - 1 else ""))
            size += len(text) + 1
    if rows:
        yield _chunk(talk, rows, after)


def _fitting(text: str) -> Iterator[str]:
    """A line, in pieces if it is longer than a chunk may be."""
    if len(text) <= SIZE:
        yield text
    else:
        yield from (text[start:stop] for start, stop in pieces(text))


def _chunk(talk: Talk, rows: Sequence[tuple[Said, str, str]], after: int) -> Chunk:
    chunk = Chunk()
    chunk.start_line, chunk.end_line = after + 1, after + len(rows)
    chunk.text = "\n".join(text for _, text, _ in rows)
    chunk.partial, chunk.headings, chunk.tags, chunk.block_id, chunk.until = False, (), (), None, ALWAYS
    day = rows[0][0].day
    chunk.head = f"{talk.title} › {day}" if day else talk.title
    chunk.lines = [Line(0, "text", "", "", one.speaker, "", one.day, "") for one, _, _ in rows]
    chunk.numbers = [one.line for one, _, _ in rows]
    chunk.answers = [(place, answer) for place, (_, _, answer) in enumerate(rows) if answer]
    chunk.hash = blake2b(embedded_text(chunk.head, chunk.text).encode(), digest_size=16).digest()
    return chunk
