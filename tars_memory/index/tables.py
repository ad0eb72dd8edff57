"""Tables for anybody's SQL: a copy of the index with what one scope may see, and nothing else.

Each query gets a database of its own, in memory or in a file, filled with the rows of its scope alone. So no query can
reach another project, a conversation or a vector: the database doesn't contain them. Credentials are masked.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sqlite_utils import Database

from tars_memory.errors import PartialError, TarsError, UnwritableError, UsageError
from tars_memory.index import chunking, database
from tars_memory.index.database import ALWAYS, BETWEEN, TIERS, iso
from tars_memory.vault import secrets, suspicion
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from tars_memory.vault.vault import Vault

TABLES: dict[str, dict[str, str]] = {
    "notes": {
        "path": "in the vault",
        "title": "as search shows it",
        "tier": "semantic, procedural, daily, episodic or note",
        "project": "the one it belongs to; null outside projects",
        "date": "ISO day of its name, front matter or file",
        "aliases": "and the title that the text opens with, if it isn't the file's name; separated by line breaks",
        "lines": "how many it has",
    },
    "lines": {
        "path": "of the note",
        "line": "its number, from 1",
        "piece": "0, or which part of a very long line this is",
        "heading": "the headings above it, separated by ›",
        "kind": "item, heading, text, property, machinery, replaced or repeated",
        "indent": "columns before its mark or its words",
        "text": "as written in the note",
        "state": "extracted, promoted, rejected or expired",
        "block_id": "without the caret",
        "speaker": "whose words it is",
        "source": "where it came from, as in the link to it",
        "since": "ISO day from which it holds",
        "until": "the first ISO day on which it no longer holds",
    },
    "entries": {
        "ref": "its REF",
        "path": "of the note",
        "line": "its first line",
        "end_line": "its last line",
        "section": "its heading",
        "text": "its words",
        "tags": "separated by line breaks",
        "time": "as written",
        "state": "extracted, promoted, rejected or expired",
        "block_id": "without the caret",
        "source": "where it came from, as in the link to it",
        "author": "who wrote it, if the note says so",
        "depth": "0, or how deep it is nested",
    },
    "facts": {
        "ref": "its REF",
        "subject": "who or what it is about",
        "predicate": "which attribute of the subject",
        "object": "its value",
        "since": "ISO day from which it holds",
        "until": "the first ISO day on which it no longer holds",
        "current": "1 if it holds today, else 0",
        "source": "where it came from, as in the link to it",
        "path": "of the note",
        "line": "its number",
    },
    "links": {
        "path": "of the note that links",
        "target": "as written",
        "to_path": "the note that it leads to; null if to none",
    },
    "tags": {
        "path": "of the note",
        "tag": "lower case, without #",
    },
}
"""Table → column → description. A missing value is null, never empty."""

ALL = tuple(TABLES)
NUMBERS = frozenset({"lines", "line", "end_line", "piece", "indent", "depth", "current"})
"""The columns that hold integers; all others hold text."""
KEYS = {"notes": "path", "lines": ("path", "line", "piece")}
"""Table → its primary key."""
SEARCHED = {"lines": "text", "entries": "text"}
"""Columns of an export that get a full-text index, so that Datasette offers a search field."""

TICKS = 10_000
"""Number of instructions of SQLite's virtual machine between two looks at the clock: some tenths of a millisecond."""
MEMORY = 1 << 30
"""Maximum number of bytes that SQLite may use in this process, set with the first query; beyond it, a query fails."""

SELECT, READ, FUNCTION, RECURSIVE, ALLOW, DENY = 21, 20, 31, 33, 0, 1
"""Actions of an authorizer of SQLite, and its answers (sqlite.org/c3ref/c_alter_table.html)."""


class TableCopy:
    """The tables of one scope.

    Args:
        connection: of the index, up to date.
        vault: the notes.
        project: whose rows are visible in addition to those outside projects; empty for none.
        today: the day for which ``facts.current`` is computed.
    """

    def __init__(self, connection: sqlite3.Connection, vault: Vault, project: str, today: date) -> None:
        self._index = connection
        self._vault = vault
        self._project = project
        self._today = today
        self.counts: dict[str, int] = {}
        """Table → number of its rows that were read."""

    def make(self, connection: sqlite3.Connection, tables: Sequence[str] = ALL) -> None:
        """Create tables without rows in an empty database."""
        tools = Database(connection)
        for name in tables:
            kinds = {column: int if column in NUMBERS else str for column in TABLES[name]}
            links = [("path", "notes", "path")] if name != "notes" and "notes" in tables else []
            tools.table(name).create(kinds, pk=KEYS.get(name), foreign_keys=links)

    def fill(self, connection: sqlite3.Connection, tables: Sequence[str]) -> None:
        """Fill these tables with their rows."""
        with database.transaction(connection):
            for name in tables:
                places = ", ".join("?" * len(TABLES[name]))
                connection.executemany(f"INSERT INTO {name} VALUES ({places})", self._rows(name))

    def _rows(self, name: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table, with None for empty values."""
        self.counts[name] = 0
        table = {
            "notes": self._notes,
            "lines": self._lines,
            "entries": self._entries,
            "facts": self._facts,
            "links": self._links,
            "tags": self._tags,
        }[name]
        for row in table():
            self.counts[name] += 1
            yield tuple([None if value == "" else value for value in row])

    def _select(self, columns: str, joined: str, order: str) -> sqlite3.Cursor:
        """Select columns of the scope's notes, without conversations (which have an index of their own anyway)."""
        return self._index.execute(
            f"SELECT {columns} FROM notes n JOIN scopes s ON s.id = n.scope {joined}"
            f" WHERE s.name IN ('', ?) AND n.tier <> ? ORDER BY {order}",
            (self._project, TIERS.index("talk")),
        )

    def _notes(self) -> Iterator[tuple[Any, ...]]:
        for path, title, tier, scope, day, aliases, lines in self._select(
            "n.path, n.title, n.tier, s.name, n.day, n.aliases, n.lines", "", "n.path"
        ):
            yield path, title, TIERS[tier], scope, iso(day), aliases.replace(BETWEEN, "\n"), lines

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        """Yield each line once, though chunks of a long block overlap; a line longer than a chunk comes in pieces."""
        rows = self._select(
            "n.path, c.id, c.start_line, c.partial, t.headings, t.text, l.place, iif(l.kind = 'empty', 'item', l.kind),"
            " l.indent, l.state, l.block_id, l.speaker, l.source, l.since, l.until",
            "JOIN chunks c ON c.note = n.id JOIN chunk_texts t ON t.id = c.id JOIN lines l ON l.chunk = c.id",
            "n.path, c.start_line, c.position, l.place",
        )
        last: tuple[str, int] = ("", 0)
        piece, chunk, texts = 0, 0, [""]
        for path, number, start, partial, headings, text, place, kind, indent, *rest in rows:
            if number != chunk:
                chunk, texts = number, text.split("\n")
            at = (path, start + place)
            if partial and at == last:
                piece += 1
            elif at > last:
                last, piece = at, 0
            else:
                continue
            yield *at, piece, headings.replace(BETWEEN, " › "), kind, indent, texts[place], *rest

    def _entries(self) -> Iterator[tuple[Any, ...]]:
        """Yield the entries of notes in a tier, as commands list them; other notes' lines are in ``lines`` alone."""
        notes = self._select("n.path, n.tier", "", "n.path").fetchall()
        for path in [path for path, tier in notes if TIERS[tier] != "note"]:
            try:
                note = Note.of(self._vault.layout, path, self._vault.read(path))
            except TarsError:
                continue  # gone since it was indexed, or unreadable now: its lines are in ``lines`` all the same
            for entry in note.entries:  # from the file, so neither masked nor decodable yet, unlike the index
                texts = (entry.section, entry.text, "\n".join(entry.tags), entry.author or "", entry.provenance or "")
                section, text, tags, author, source = (_shown(self._vault.hide(path, part)) for part in texts)
                yield (
                    *(entry.ref, path, entry.line, entry.end_line, section, text, tags, entry.time),
                    *(entry.state, entry.block_id, source, author, entry.depth),
                )

    def _facts(self) -> Iterator[tuple[Any, ...]]:
        for fact in chunking.facts(self._index, self._project):
            ends = ALWAYS if fact.until is None else fact.until.toordinal()
            current = (0 if fact.since is None else fact.since.toordinal()) <= self._today.toordinal() < ends
            since, until = (None if day is None else day.isoformat() for day in (fact.since, fact.until))
            yield (
                *(fact.ref, fact.subject, fact.predicate, fact.object, since, until, int(current)),
                *(fact.source, fact.path, fact.line),
            )

    def _links(self) -> Iterator[tuple[Any, ...]]:
        table = chunking.LinkTable(self._index, self._project)
        for path in table.ids:
            for target, to_path in table.out(path):
                yield path, target, to_path

    def _tags(self) -> Iterator[tuple[Any, ...]]:
        joined = "JOIN chunks c ON c.note = n.id JOIN chunk_tags g ON g.chunk = c.id"
        yield from self._select("DISTINCT n.path, g.tag", joined, "n.path, g.tag")


class TableQuery:
    """The result of one query; its rows are computed as they are read.

    Args:
        copy: the tables that it may read.
        sql: one SELECT.
        seconds: how long it may run, without the time in which nobody reads a row.

    Attributes:
        columns: names of the columns, made unique.

    Raises:
        UsageError: the SQL is not a query, or would do more than read these tables.
        PartialError: the time is up.
    """

    def __init__(self, copy: TableCopy, sql: str, seconds: float) -> None:
        self._left = seconds
        self._seconds = seconds
        self._deadline = 0.0
        self._read: set[str] = set()
        self.columns: list[str] = []
        self._open = database.driver().module.connect(":memory:", isolation_level=None)
        try:
            copy.make(self._open)
            self._guard()
            explains = sql.lstrip()[:7].lower() == "explain"
            self._step(lambda: self._open.execute(sql if explains else f"EXPLAIN {sql}").fetchone())
            self._unguard()
            copy.fill(self._open, [name for name in TABLES if name in self._read])
            self._guard()
            self._cursor = self._step(lambda: self._open.execute(sql))
        except BaseException:
            self._open.close()
            raise
        for name, *_ in self._cursor.description or ():
            same = sum(column == name or column.startswith(f"{name}:") for column in self.columns)
            self.columns.append(f"{name}:{same + 1}" if same else str(name))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows.

        Raises:
            PartialError: the time is up before the last row.
        """
        with closing(self._open):
            while (row := self._step(self._cursor.fetchone)) is not None:
                yield row

    def _guard(self) -> None:
        """Restrict the connection to reading the tables, within its time and memory."""
        self._open.execute(f"PRAGMA hard_heap_limit = {MEMORY}").fetchone()
        self._open.execute("PRAGMA query_only = ON")
        self._open.set_authorizer(self._allowed)
        self._open.set_progress_handler(lambda: int(time.monotonic() > self._deadline), TICKS)

    def _unguard(self) -> None:
        """Lift the restrictions, to fill the tables: the time limit is for the query alone."""
        self._open.set_authorizer(None)
        self._open.set_progress_handler(None, TICKS)
        self._open.execute("PRAGMA query_only = OFF")

    def _allowed(self, action: int, first: str | None, second: str | None, *_: object) -> int:
        """Authorize an action of the query, and note the tables that it reads."""
        if action == READ:
            self._read.add(str(first))
            return DENY if str(first).startswith(("sqlite_", "pragma_")) else ALLOW
        if action == FUNCTION:
            return DENY if second == "load_extension" else ALLOW
        return ALLOW if action in (SELECT, RECURSIVE) else DENY

    def _step(self, work: Callable[[], Any]) -> Any:
        """Let SQLite work, within the time that is left.

        Raises:
            UsageError: the query is wrong or not allowed.
            PartialError: the time or the memory is used up.
        """
        module = database.driver().module
        started = time.monotonic()
        self._deadline = started + self._left
        try:
            return work()
        except MemoryError:
            raise PartialError("the query takes more than 1 GB of memory", "select less") from None
        except (module.Error, module.Warning, ValueError) as error:  # ValueError: characters that SQL must not contain
            message = str(error)
            if message == "interrupted":
                raise PartialError(
                    f"the query was stopped after {self._seconds:g} s", "ask for less, or allow more time: --timeout 60"
                ) from None
            if "not authorized" in message or "prohibited" in message:
                raise UsageError("a query may only read the tables", "tars-memory sql lists them") from None
            raise UsageError(f"the query can't be run: {message}", "tars-memory sql lists tables and columns") from None
        finally:
            self._left -= time.monotonic() - started


SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""Endings of the name of an exported file."""


def export(copy: TableCopy, path: Path, *, replace: bool = False) -> dict[str, int]:
    """Write all tables to a SQLite database with keys and full-text indexes, which only its owner can read.

    Args:
        copy: the tables to write.
        path: of the file.
        replace: overwrite an existing file.

    Returns:
        Table → number of rows written.

    Raises:
        UsageError: the suffix is unknown, or the file exists.
        UnwritableError: the file can't be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path} doesn't have the name of a database", f"name it *{', *'.join(SUFFIXES)}")
    if os.path.lexists(path) and not replace:
        raise UsageError(f"{path} already exists", "name another file, or overwrite it: --replace")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tars-tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))
        try:
            _write(copy, temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"{path} can't be written: {error.strerror}", "name another place") from error
    except database.driver().module.OperationalError as error:
        if not database.refused(error):
            raise
        raise UnwritableError(f"{path} can't be written: {error}", "is the disk full?") from error
    return copy.counts


def _write(copy: TableCopy, path: Path) -> None:
    """Write all tables to an empty file."""
    with closing(database.driver().module.connect(str(path), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        copy.make(connection)
        copy.fill(connection, ALL)
        tools = Database(connection)
        for name, column in SEARCHED.items():
            tools.table(name).enable_fts([column], tokenize="unicode61 remove_diacritics 2")
        tools.analyze()
        tools.vacuum()


def _shown(text: str) -> str:
    """Return a text of a note as the index has it: without credentials and bytes that are not UTF-8."""
    return chunking.readable(secrets.mask(text) if suspicion.suspicious(text) else text)
