"""A team's index in PostgreSQL: its address, the connection, queries and publishing, and the error messages.

One process on the vault's machine publishes the rows of its own index, and many read them
(:mod:`tars_memory.index.postgres_reader`). The address is a personal setting and holds no password.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import threading
import time
from array import array
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tars_memory.errors import SettingsError, TarsError, TeamIndexError, installing
from tars_memory.index import database, fulltext, postgres_reader, reader, vectors
from tars_memory.index.fulltext import TABLES
from tars_memory.index.postgres_reader import BLOCK, GRAPH, MAX_COUNTS, PACKED, spelled, tokens
from tars_memory.index.writer import note_head

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import psycopg

    Row = tuple[Any, ...]


Answer = TypeVar("Answer")

LAYOUT = 1
"""Version of the tables; raise it when they or their content change."""
FORMAT = f"{database.VERSION}.{LAYOUT}"
"""Version of the rows; rows of another version are never read."""
MIN_SERVER = 150_000
"""Oldest supported server version, PostgreSQL 15, as the server numbers itself: it can count matches of regular
expressions, and not every role may create tables in its schema ``public``."""
PATIENCE = 1.0
"""Seconds to wait for a connection, unless the address sets ``connect_timeout``."""
READ_FACTOR = 10.0
"""Time limit for all statements of one search, as a multiple of the time for connecting: the server may have stopped,
or the network may be cut."""
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""Options with which libpq notices within a minute that the server is gone, unless the address sets them."""
REGISTRY = "tars_memory"
"""Schema with the table of published indexes; each index has a schema of its own."""
TRIES = 3
"""Number of attempts at a search, if the index is replaced meanwhile or the connection was closed."""
RESPITE = 10.0
"""Seconds for which an unreachable server is not tried again: while typing a query, one would wait at each key."""

GRANTS = (
    "ask its administrator: the publisher needs CONNECT, CREATE and TEMPORARY on the database, readers CONNECT, and "
    "USAGE and SELECT on what the publisher makes"
)
HOW_PASSWORDS = "put it into ~/.pgpass (readable by you alone) or PGPASSWORD"
_TLS = ("require", "verify-ca", "verify-full")
_SETTING = "[index] database"
_WAIT_LONGER = f"is the server up? connect_timeout=5 at the end of {_SETTING} waits longer"


class Address(NamedTuple):
    """Address of a team's index.

    Attributes:
        url: as libpq takes it.
        shown: server and database alone, for messages.
        options: further options for libpq.
        patience: seconds to wait for a connection.
    """

    url: str
    shown: str
    options: dict[str, Any]
    patience: float


def address(url: str) -> Address:
    """Parse and check an address from the settings; a connection to another machine has to be encrypted.

    Raises:
        SettingsError: it is not an address, it contains a password, or it allows an unencrypted connection.
    """
    hint = f"write {_SETTING} like postgresql://me@db.example.org/memory"
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        hosts = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise SettingsError(f"{_SETTING} is not a PostgreSQL address", hint) from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise SettingsError(f"{_SETTING} is not a PostgreSQL address", hint)
    if parts.password or query.keys() & {"password", "sslpassword"}:
        raise SettingsError(f"{_SETTING} contains a password", f"remove it; {HOW_PASSWORDS}")
    if "service" in query:
        raise SettingsError(f"{_SETTING}: a service file may name any server", "write host and database into it")
    if "PGSERVICE" in os.environ:
        raise SettingsError(f"PGSERVICE is set: a service file may change what {_SETTING} says", "unset PGSERVICE")
    shown = f"{unquote(hosts) or query.get('host') or 'localhost'}{parts.path}"
    options: dict[str, Any] = {name: value for name, value in KEEPALIVES.items() if name not in query}
    options["application_name"] = f"tars-memory on {platform.node()}"
    lists = [query.get("hostaddr") or os.environ.get("PGHOSTADDR", "")]
    lists += [query.get("host", ""), hosts] if query.get("host") or hosts else [os.environ.get("PGHOST", "")]
    if not all(_is_local(host) for hosts in lists for host in hosts.split(",")):
        mode = query.get("sslmode") or os.environ.get("PGSSLMODE", "require")
        if mode not in _TLS:
            raise SettingsError(
                f"{_SETTING}: sslmode={mode} allows a connection to {shown} that anybody could read",
                "set sslmode=verify-full (or require), or leave it out",
            )
        options["sslmode"] = mode
    try:
        patience = float(query.get("connect_timeout", PATIENCE))
    except ValueError as error:
        raise SettingsError(f"{_SETTING}: connect_timeout is not a number of seconds", hint) from error
    return Address(url, shown, options, patience)


def _is_local(host: str) -> bool:
    """Whether a host, with or without a port, is this machine or a socket on it."""
    if host.startswith(("/", "@", "%2F", "%2f", "[::1]")) or host in ("", "::1"):
        return True
    name = host.partition(":")[0]
    return name in ("", "localhost") or (name.startswith("127.") and name.replace(".", "").isdigit())


class TeamIndex:
    """A team's index of one vault.

    Args:
        url: from the settings.
        vault: id of the vault, by which the index is found.

    Raises:
        SettingsError: see :func:`address`.
    """

    def __init__(self, url: str, vault: str | None) -> None:
        self.address = address(url)
        self.vault = vault or ""
        self._connection: psycopg.Connection[Row] | None = None
        self._failed: TeamIndexError | None = None
        self._retry_at = 0.0
        self._lock = threading.RLock()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def read(self, question: Callable[[postgres_reader.PostgresReader], Answer]) -> Answer:
        """Call ``question`` with a reader, in one transaction that sees the index as it was published last.

        Raises:
            TeamIndexError: the index can't be reached or doesn't exist, the role may not read it, or its rows are of
                another version.
        """
        for left in reversed(range(TRIES)):
            with self._lock, explained(self.address):
                connection = self._open()
                from psycopg import errors

                try:
                    with self._timed(connection), connection.transaction():
                        self._enter(connection)
                        return question(postgres_reader.PostgresReader(connection))
                except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InternalError_):
                    if not left:  # usually, the index was replaced between two statements and the old one dropped
                        raise
                except errors.OperationalError:
                    if not left or not connection.broken:  # the server may have closed an idle connection
                        raise
        raise AssertionError

    def _open(self) -> psycopg.Connection[Row]:
        """Return the open connection, a new one if necessary.

        Raises:
            TeamIndexError: the server can't be reached, or could not be less than :data:`RESPITE` ago.
        """
        if self._connection is None or self._connection.closed:
            if self._failed is not None and time.monotonic() < self._retry_at:
                raise self._failed
            try:
                self._connection = connect(self.address)
            except TeamIndexError as error:
                self._failed, self._retry_at = error, time.monotonic() + RESPITE
                raise
            from psycopg import IsolationLevel

            self._connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            self._connection.set_read_only(True)
        return self._connection

    @contextmanager
    def _timed(self, connection: psycopg.Connection[Row]) -> Iterator[None]:
        """Shut the connection down if the block takes too long; nothing else ends the wait for a server that stopped.

        Raises:
            TeamIndexError: the time was up.
        """
        seconds = READ_FACTOR * self.address.patience
        late = threading.Event()

        def cut() -> None:
            late.set()
            with suppress(OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
                line.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if not late.is_set():
                raise
            self._failed = TeamIndexError(f"{self.address.shown} did not answer within {seconds:g} s", _WAIT_LONGER)
            self._retry_at = time.monotonic() + RESPITE
            raise self._failed from error
        finally:
            timer.cancel()

    def _enter(self, connection: psycopg.Connection[Row]) -> None:
        """Direct the rest of the transaction to the tables of this vault.

        Raises:
            TeamIndexError: there is no index, its rows are of another version, or the role may not read it.
        """
        found = published(connection, self._key())
        if found is None:
            raise TeamIndexError(
                f"{self.address.shown} has no index of this vault",
                "publish it with tars-memory reindex on the vault's machine, with a role that may write",
            )
        schema, form = found
        if form != FORMAT:
            raise TeamIndexError(
                f"the index in {self.address.shown} has version {form}, but this program reads {FORMAT}",
                "install the version of tars-memory that publishes it, or ask for a reindex by this one",
            )
        enter(connection, schema)

    def publish(
        self, source: Path, cache: Path, progress: database.Progress | None, *, takes_over: bool, wait: float
    ) -> Published | None:
        """Bring the team's index in step with the index file of this machine.

        Args:
            source: the file of this machine's index.
            cache: the program's cache folder, with the vectors.
            progress: told how many notes and vectors are copied.
            takes_over: publish even if another machine, or a newer version, published the index.
            wait: seconds to wait for another process that publishes.

        Returns:
            What was written; None if the role may only read.

        Raises:
            TeamIndexError: the index can't be reached or written, is busy, or is published by another machine or a
                newer version.
        """
        where, vault = self.address, self._key()
        with explained(where), closing(connect(where)) as connection:
            if not _may_write(connection, where):
                return None
            _lock(connection, where, vault, wait)
            with _local(source, cache / database.CACHE_FILE) as local, connection.transaction():
                writer = _Publisher(connection, local, vault, source, progress)
                if not takes_over:
                    writer.check_right(where)
                done = writer.publish()
            writer.drop_old()
        return done

    def _key(self) -> str:
        """Return the vault's id.

        Raises:
            TeamIndexError: the vault has none.
        """
        if not self.vault:
            raise TeamIndexError(
                "a team's index is found by the id of its vault, and this one has none",
                "tars-memory init makes one; every copy of the vault has to include .tars",
            )
        return self.vault

    def describe(self) -> dict[str, Any]:
        """Return when and by whom the index was published, and its numbers of notes, passages, vectors and bytes.

        Raises:
            TeamIndexError: see :meth:`read`.
        """

        def describe(reader: postgres_reader.PostgresReader) -> dict[str, Any]:
            return {
                "server": self.address.shown,
                "published": reader.meta.get("published"),
                "by": reader.meta.get("machine", "").partition(":")[0],
                "notes": reader.count("notes"),
                "chunks": reader.count("chunks"),
                "vectors": reader.count("chunks WHERE embedded = 1"),
                "bytes": reader.size(),
            }

        return self.read(describe)


def published(connection: psycopg.Connection[Row], vault: str) -> tuple[str, str] | None:
    """Return the schema of a vault's index and the version of its rows; None if there is no index."""
    from psycopg import errors

    try:
        with connection.transaction():
            sql = f"SELECT place, version FROM {REGISTRY}.indexes WHERE vault = %s"
            row = connection.execute(sql, (vault,)).fetchone()
            return None if row is None else (str(row[0]), str(row[1]))
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None


def enter(connection: psycopg.Connection[Row], schema: str) -> None:
    """Set the search path of a transaction to a schema and to the extension for vectors.

    Raises:
        TeamIndexError: the extension is missing, or the role may not read the tables.
    """
    sql = (
        "SELECT has_schema_privilege(%s, 'USAGE'), (SELECT n.nspname FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector')"
    )
    may, extension = connection.execute(sql, (schema,)).fetchone() or (False, None)
    if not may:
        raise TeamIndexError(f"the role {connection.info.user} may not read the index of this vault", GRANTS)
    if extension is None:
        raise TeamIndexError(
            f"the database {connection.info.dbname} lacks the extension pgvector",
            "its owner has to run this once: CREATE EXTENSION vector",
        )
    path = f'"{schema}", "{extension}"'
    # Compiling a statement takes longer than running it.
    connection.execute("SELECT set_config('search_path', %s, true), set_config('jit', 'off', true)", (path,))


def connect(where: Address) -> psycopg.Connection[Row]:
    """Connect to the server within the address's patience.

    Raises:
        TeamIndexError: the library is missing, the server can't be reached in time or refuses, it is too old, or the
            connection to another machine is not encrypted.
    """
    try:
        import psycopg  # it may be installed without libpq
    except ImportError as error:
        raise TeamIndexError(f"an index in PostgreSQL needs psycopg: {error}", installing("postgres")) from error
    answers: SimpleQueue[psycopg.Connection[Row] | Exception] = SimpleQueue()

    def reach() -> None:
        try:
            answers.put(psycopg.connect(where.url, autocommit=True, **where.options))
        except Exception as error:
            answers.put(error)

    # libpq waits at least two seconds, and for names as long as the system does; so a thread of ours keeps the time.
    threading.Thread(target=reach, daemon=True).start()
    try:
        connection = answers.get(timeout=where.patience)
    except Empty:
        raise TeamIndexError(f"{where.shown} did not answer within {where.patience:g} s", _WAIT_LONGER) from None
    if isinstance(connection, Exception):
        with explained(where):
            raise connection
    if connection.info.server_version < MIN_SERVER:
        connection.close()
        raise TeamIndexError(
            f"{where.shown} runs PostgreSQL {connection.info.server_version // 10_000}", "15 or newer is needed"
        )
    if "sslmode" in where.options and not connection.pgconn.ssl_in_use:
        connection.close()
        raise TeamIndexError(f"the connection to {where.shown} is not encrypted", "switch TLS on in the server")
    return connection


@contextmanager
def explained(where: Address) -> Iterator[None]:
    """Turn errors of the server or the network into messages for the person.

    Raises:
        TeamIndexError: what happened, and what to do.
    """
    try:
        yield
    except TarsError:
        raise
    except Exception as error:
        import psycopg

        if not isinstance(error, psycopg.Error):
            raise
        text = " ".join((error.diag.message_primary or str(error)).split())
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            message, hint = f"{where.shown} refuses: {text}", GRANTS
        elif isinstance(error, psycopg.OperationalError) and "no password supplied" in text:
            message, hint = f"{where.shown} wants a password", HOW_PASSWORDS
        elif isinstance(error, psycopg.OperationalError):
            reason = re.split(" (?:Is the server running|This probably means|DETAIL:)", text)[0]
            reason = reason.rpartition("failed: ")[2].removeprefix("FATAL: ")
            message, hint = f"{where.shown} can't be reached: {reason}", "is the server up, and the address right?"
            hint = HOW_PASSWORDS if "password authentication" in reason else hint
            hint = GRANTS if "permission denied" in reason else hint
        else:
            message, hint = f"{where.shown} can't answer: {text}", "run tars-memory doctor"
        raise TeamIndexError(message, hint) from error


# --- publishes the index of this machine: copies its rows into PostgreSQL for a team to read
#
# The rows are those of the file that this machine searches, with the same ids, so that both give the same answers. Only
# the notes that changed since are written again, in one transaction; for another version of the rows, another file or
# another model, everything is written, into a new schema that replaces the old one when it is complete. A process that
# dies meanwhile leaves what was published before, for its transaction is rolled back.
#
# One process publishes at a time (an advisory lock, which the server frees when its holder is gone).


PUBLISHING = "publishing"
"""Name of this phase for progress reports."""
GRAPH_FROM = [0, 8]
"""First version of pgvector that follows a graph until enough neighbours pass a filter (``hnsw.iterative_scan``)."""
GRAPH_BYTES = 600
"""Bytes of memory per passage while the graph is built; with less, it is built on the disk, slowly."""
MAX_GRAPH_MEMORY = 2 << 30
"""Maximum number of bytes of the server's memory to ask for: enough for 3,500,000 passages."""
NOTES = 200
"""Number of notes that are copied at once."""
MAX_PENDING = 400_000
"""Number of occurrences of words that are held in memory before they are written: 30 MB."""
VECTORS = 5_000
"""Number of vectors that are copied at once."""
LOCK = 0x7461_7273
"""Key space of our advisory locks: ``tars``."""
POLL = 0.1
"""Seconds between two attempts to take a lock."""
DROP_TRIES = 20
"""Number of attempts to drop a replaced schema, which somebody may still read."""
HALF = 2
"""If more than one note in two changed, all are written again."""

_BY_NOTE = {"notes": "id", "chunks": "note", "names": "note", "properties": "note", "facts": "note"}
_BY_CHUNK = {"chunk_texts": "id", "lines": "chunk", "chunk_tags": "chunk"}
"""Table → column with the id of the note, or of the chunk, that its rows belong to."""

_TYPES = {"INTEGER": "int", "TEXT": 'text COLLATE "C"', "BLOB": "bytea"}
"""Type in SQLite → type in PostgreSQL."""
_NOT_COPIED = frozenset({"hash"})
"""Columns that are not copied: vectors are stored by chunk here, not by hash."""
_ADDED = {"notes": {"hash": "BLOB", "words": "INTEGER"}, "chunks": {"words": "INTEGER", "signs": "INTEGER"}}
"""Columns that exist only here: numbers of words and signs, and the digest of a note."""
_TEXT = f"{_TYPES['TEXT']} NOT NULL"
_FULLTEXT = "".join(
    f"""
CREATE TABLE {name} (id int PRIMARY KEY, {", ".join(f"{column} {_TEXT}" for column in table.columns)});
CREATE TABLE {name}_at (term {_TEXT}, block int NOT NULL, held int NOT NULL, packed bigint[] NOT NULL,
  PRIMARY KEY (term, block));
"""
    for name, table in TABLES.items()
)
SCRIPT = f"""
CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE scopes (id int PRIMARY KEY, name {_TEXT});
CREATE TABLE totals (name text PRIMARY KEY, held bigint NOT NULL, length bigint NOT NULL);
CREATE TABLE vectors (chunk int PRIMARY KEY, vector vector NOT NULL, words bytea NOT NULL);
ALTER TABLE vectors ALTER vector SET STORAGE PLAIN, ALTER words SET STORAGE EXTERNAL;
{_FULLTEXT}"""
"""Tables that exist only here; the other tables have the columns of the file's tables (:func:`_described`)."""
INDEXES = f"""
CREATE UNIQUE INDEX ON notes (path);
CREATE INDEX ON chunks (note, position);
CREATE INDEX ON chunks (id) WHERE embedded = 0;
CREATE INDEX ON chunks (until) WHERE until < {database.ALWAYS};
CREATE INDEX ON lines (block_id) WHERE block_id <> '';
CREATE INDEX ON lines (chunk) WHERE state = 'rejected';
CREATE INDEX ON lines (source) WHERE kind = 'replaced';
CREATE INDEX ON chunk_tags (chunk);
CREATE INDEX ON names (note);
CREATE INDEX ON properties (note);
"""


EMBEDDED = "SELECT count(*) FROM chunks WHERE embedded = 1"
"""SQL for the number of passages with a vector: counting the vectors themselves would read all of them."""


class Published(NamedTuple):
    """The result of publishing.

    Attributes:
        whole: whether everything was written again.
        changed: number of notes that were written.
        removed: number of notes that were deleted.
        vectors: number of passages that got their vector.
    """

    whole: bool
    changed: int
    removed: int
    vectors: int


def _may_write(connection: psycopg.Connection[Row], where: Address) -> bool:
    """Whether our role may publish; False if it may only read.

    Raises:
        TeamIndexError: nothing was ever published there, and the role may not create anything.
    """
    row = connection.execute(
        "SELECT has_table_privilege(c.oid, 'INSERT') AND current_setting('transaction_read_only') = 'off'"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = 'indexes'",
        (REGISTRY,),
    ).fetchone()
    if row is None:
        row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
        if row is None or not row[0]:
            raise TeamIndexError(f"the role {connection.info.user} may not create anything in {where.shown}", GRANTS)
    return bool(row[0])


def _lock(connection: psycopg.Connection[Row], where: Address, vault: str, wait: float) -> None:
    """Take the lock for publishing, which is held until the connection ends.

    Raises:
        TeamIndexError: another process holds it for longer than ``wait`` seconds.
    """
    deadline = time.monotonic() + wait
    sql = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
    while not connection.execute(sql, (LOCK, vault)).fetchone()[0]:  # type: ignore[index]
        if time.monotonic() >= deadline:
            holder = connection.execute(
                "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
                " WHERE l.locktype = 'advisory' AND l.granted AND l.classid::bigint = %s"
                " AND l.objid::bigint = hashtext(%s)::bigint & 4294967295",
                (LOCK, vault),
            ).fetchone()
            who = f" ({holder[0]})" if holder and holder[0] else ""
            raise TeamIndexError(
                f"another process{who} is publishing to {where.shown}", "try again when it has finished"
            )
        time.sleep(POLL)


@contextmanager
def _local(source: Path, cache: Path) -> Iterator[sqlite3.Connection]:
    """Open the index file and the vector cache in one read transaction."""
    with closing(database.connect(source)) as connection:
        if cache.exists():
            connection.execute("ATTACH ? AS cache", (f"{cache.absolute().as_uri()}?mode=ro",))
        connection.execute("BEGIN")
        yield connection


def _described(local: sqlite3.Connection, name: str) -> tuple[str, str]:
    """Return the columns of a table of the file that are copied, and SQL that creates the table in PostgreSQL."""
    sql = 'SELECT name, type, "notnull" OR pk, pk FROM pragma_table_info(?)'
    rows = [row for row in local.execute(sql, (name,)) if row[0] not in _NOT_COPIED]
    added = ((column, kind, 1, 0) for column, kind in _ADDED.get(name, {}).items())
    definitions = [
        f"{column} {_TYPES[kind]}{' NOT NULL' if needed else ''}" for column, kind, needed, _ in (*rows, *added)
    ]
    keys = ", ".join(column for column, _, _, key in sorted(rows, key=lambda row: row[3]) if key)
    columns = ", ".join(column for column, *_ in rows)
    return columns, f"CREATE TABLE {name} ({', '.join(definitions)}, PRIMARY KEY ({keys}));"


class _Publisher:
    """One run of :func:`publish`, inside a transaction."""

    def __init__(
        self,
        connection: psycopg.Connection[Row],
        local: sqlite3.Connection,
        vault: str,
        source: Path,
        progress: database.Progress | None,
    ) -> None:
        self._connection = connection
        self._local = local
        described = {name: _described(local, name) for name in (*_BY_NOTE, *_BY_CHUNK)}
        self._columns = {name: columns for name, (columns, _) in described.items()}
        self._tables = "".join(script for _, script in described.values())
        self._vault = vault
        self._meta = database.meta(local)
        model = self._local.execute("SELECT 1 FROM pragma_database_list WHERE name = 'cache'").fetchone()
        self._model = str(self._meta["model"]) if model and "model" in self._meta else ""
        self._machine = f"{platform.node()}:{source.parent}"
        self._source = f"{self._meta.get('recipe')} {self._model}"
        self._progress = progress
        self._prefix = f"tars_{''.join(character for character in vault.lower() if character.isalnum())[:24]}_"
        self._current = published(connection, vault)
        self._schema = self._current[0] if self._current else ""
        self._digest_of: dict[int, bytes] = {}
        self._pending: dict[str, dict[tuple[str, int], list[int]]] = {}  # table → (word, block) → occurrences

    def check_right(self, where: Address) -> None:
        """Check that the current index, if any, is this machine's and of no newer version.

        Raises:
            TeamIndexError: it isn't.
        """
        if self._current is None:
            return
        schema, version = self._current
        sql = f"SELECT value FROM \"{schema}\".meta WHERE key = 'machine'"  # meta is the same in all versions
        row = self._connection.execute(sql).fetchone()
        if row and row[0] != self._machine:
            raise TeamIndexError(
                f"the index in {where.shown} is published by {str(row[0]).partition(':')[0]}",
                "one machine publishes; tars-memory reindex --full here takes it over",
            )
        if _numbers(version) > _numbers(FORMAT):
            raise TeamIndexError(
                f"the index in {where.shown} was published by a newer version of tars-memory",
                "update this one; tars-memory reindex --full puts an older index in its place",
            )

    def publish(self) -> Published:
        """Write what differs, or everything."""
        if self._current is not None and self._current[1] == FORMAT:
            enter(self._connection, self._schema)
            if (done := self._step()) is not None:
                return done
        return self._whole()

    def _step(self) -> Published | None:
        """Write the notes that changed; return None, before writing anything, if everything has to be written."""
        meta: dict[str, str] = dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        if (meta.get("source"), meta.get("machine")) != (self._source, self._machine):
            return None
        ours = self._digests()
        theirs = {int(key): bytes(digest) for key, digest in self._connection.execute("SELECT id, hash FROM notes")}
        changed = [note for note, digest in ours.items() if theirs.get(note) != digest]
        if len(changed) * HALF > len(ours) > NOTES:
            return None
        gone = [note for note in theirs if note not in ours]
        if GRAPH in meta and self._model:
            (embedded,) = self._local.execute(f"SELECT count(*) FROM chunks c WHERE {reader.HAS_VECTOR}").fetchone()
            (copied,) = self._connection.execute(EMBEDDED).fetchone() or (0,)
            if (embedded - copied) * HALF > embedded:  # inserting them one by one into the graph would take longer
                return None
        self._scopes()
        self._remove([*gone, *(note for note in changed if note in theirs)])
        self._add(changed)
        return self._finish(Published(False, len(changed), len(gone), 0))

    def _whole(self) -> Published:
        """Write everything into a new schema, and register it as the current one."""
        execute = self._connection.execute
        execute(f"CREATE SCHEMA IF NOT EXISTS {REGISTRY}")
        execute(
            f"CREATE TABLE IF NOT EXISTS {REGISTRY}.indexes"
            " (vault text PRIMARY KEY, place text NOT NULL, version text NOT NULL)"
        )
        number = int(self._schema.rpartition("_")[2]) if self._schema.startswith(self._prefix) else 0
        self._schema = f"{self._prefix}{number + 1}"
        execute(f'DROP SCHEMA IF EXISTS "{self._schema}" CASCADE')
        execute(f'CREATE SCHEMA "{self._schema}"')
        enter(self._connection, self._schema)
        execute(self._tables + SCRIPT)
        self._scopes()
        notes = sorted(self._digests())
        self._add(notes)
        execute(INDEXES)
        done = self._finish(Published(True, len(notes), 0, 0))
        execute("ANALYZE " + ", ".join((*self._columns, "vectors", *TABLES, *(f"{name}_at" for name in TABLES))))
        execute(
            f"INSERT INTO {REGISTRY}.indexes VALUES (%s, %s, %s)"
            " ON CONFLICT (vault) DO UPDATE SET place = excluded.place, version = excluded.version",
            (self._vault, self._schema, FORMAT),
        )
        return done

    def _finish(self, done: Published) -> Published:
        """Copy the vectors, and write the totals and the metadata."""
        copied = self._vectors()
        execute = self._connection.execute
        graph = self._graph()
        execute("DELETE FROM totals")
        for name, table in TABLES.items():
            counts = f"SELECT %s, count(*), coalesce(sum({table.length}), 0) FROM {table.rows}"
            where = "" if name == "chunk_words" else f" WHERE {table.length} > 0"
            execute(f"INSERT INTO totals {counts}{where}", (name,))
        meta = {
            "source": self._source,
            "machine": self._machine,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        if self._model:
            meta |= {"model": self._model, "dimension": str(self._meta["dimension"])}
        if graph:
            meta[GRAPH] = "hnsw"
        execute("DELETE FROM meta")
        self._copy("meta", "key, value", meta.items())
        return done._replace(vectors=copied)

    def _graph(self) -> bool:
        """Build the graph of neighbours once there are many vectors; return whether there is one.

        From then on the server maintains it. It is built on the signs of the vectors' numbers, a bit each: a third of
        the size of half precision, built as quickly. Parallel workers of the server are switched off: they need shared
        memory, which containers rarely have.
        """
        execute = self._connection.execute
        sql = "SELECT to_regclass(quote_ident(current_schema()) || '.' || %s) IS NOT NULL"
        if execute(sql, (GRAPH,)).fetchone() == (True,):
            return True
        sql = f"SELECT ({EMBEDDED}), extversion FROM pg_extension WHERE extname = 'vector'"
        count, version = execute(sql).fetchone() or (0, "0")
        if count < vectors.MANY or _numbers(version) < GRAPH_FROM:
            return False
        if self._progress is not None:
            self._progress(f"{PUBLISHING} neighbours", 0, 1)
        memory = min(max(count * GRAPH_BYTES, 64 << 20), MAX_GRAPH_MEMORY) >> 10
        execute(
            "SELECT set_config('maintenance_work_mem', %s, true),"
            " set_config('max_parallel_maintenance_workers', '0', true)",
            (f"{memory}kB",),
        )
        bits = f"bit({self._meta['dimension']})"
        execute(f"CREATE INDEX {GRAPH} ON vectors USING hnsw ((binary_quantize(vector)::{bits}) bit_hamming_ops)")
        return True

    def drop_old(self) -> None:
        """Drop replaced schemas; one that is read all the time is left for the next publishing.

        All tables are locked at once or not at all: waiting for one while holding another could make a reader fail.
        """
        from psycopg import errors

        execute = self._connection.execute
        sql = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) AND nspname <> %s"
        for (name,) in execute(sql, (self._prefix, self._schema)).fetchall():
            rows = execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
            tables = ", ".join(f'"{name}"."{table}"' for (table,) in rows)
            for _ in range(DROP_TRIES):
                try:
                    with self._connection.transaction():
                        if tables:
                            execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT")
                        execute(f'DROP SCHEMA "{name}" CASCADE')
                    break
                except errors.LockNotAvailable:
                    time.sleep(POLL)
                except errors.InsufficientPrivilege:  # it belongs to another role that published before
                    break

    # --- notes

    def _scopes(self) -> None:
        """Copy the scopes."""
        self._connection.execute("DELETE FROM scopes")
        self._copy("scopes", "id, name", self._local.execute("SELECT id, name FROM scopes"))

    def _remove(self, notes: list[int]) -> None:
        """Delete notes and all their rows."""
        if not notes:
            return
        execute = self._connection.execute
        rows = execute("SELECT id FROM chunks WHERE note = ANY(%s)", (notes,)).fetchall()
        chunks = [chunk for (chunk,) in rows]
        for name, table in TABLES.items():
            self._remove_words(name, notes if table.rows == "notes" else chunks)
        for name, key in (*_BY_CHUNK.items(), ("vectors", "chunk")):
            execute(f"DELETE FROM {name} WHERE {key} = ANY(%s)", (chunks,))
        for name, key in _BY_NOTE.items():
            execute(f"DELETE FROM {name} WHERE {key} = ANY(%s)", (notes,))

    def _remove_words(self, name: str, ids: list[int]) -> None:
        """Delete rows from a full-text table, with the occurrences of their words."""
        columns = " || ' ' || ".join(TABLES[name].columns)
        words = (
            f"SELECT DISTINCT t.term, w.id / {BLOCK} block FROM {name} w,"
            f" regexp_split_to_table({columns}, ' +') t(term) WHERE w.id = ANY(%(ids)s)"
        )
        kept = f"ARRAY(SELECT x FROM unnest(p.packed) x WHERE (x >> {PACKED[0]})::int <> ALL(%(ids)s))"
        execute, values = self._connection.execute, {"ids": ids}
        execute(
            f"UPDATE {name}_at p SET packed = k.packed, held = cardinality(k.packed) FROM"
            f" (SELECT p.term, p.block, {kept} packed FROM ({words}) h"
            f" JOIN {name}_at p ON p.term = h.term AND p.block = h.block) k"
            " WHERE k.term = p.term AND k.block = p.block",
            values,
        )
        execute(
            f"DELETE FROM {name}_at p USING ({words}) h WHERE p.term = h.term AND p.block = h.block AND p.held = 0",
            values,
        )
        execute(f"DELETE FROM {name} WHERE id = ANY(%(ids)s)", values)

    def _digests(self) -> dict[int, bytes]:
        """Return note → digest, which changes whenever its rows do: hash of its bytes, ids of its chunks, its path."""
        rows = self._local.execute(
            "SELECT f.note, f.hash, f.path, min(c.id), max(c.id), count(c.id) FROM files f"
            " LEFT JOIN chunks c ON c.note = f.note WHERE f.note IS NOT NULL GROUP BY f.note"
        )
        self._digest_of = {
            int(note): bytes(digest) + f" {first} {last} {count} {path}".encode("utf-8", "replace")
            for note, digest, path, first, last, count in rows
        }
        return self._digest_of

    def _add(self, notes: list[int]) -> None:
        """Copy notes and all their rows."""
        for start in range(0, len(notes), NOTES):
            if self._progress is not None and len(notes) > NOTES:
                self._progress(PUBLISHING, start, len(notes))
            self._add_batch(notes[start : start + NOTES])
        for name in TABLES:
            self._flush(name)

    def _add_batch(self, notes: list[int]) -> None:
        """Copy some notes and all their rows; occurrences of words may stay pending."""
        marks = ",".join("?" * len(notes))
        chunk_ids = f"SELECT id FROM chunks WHERE note IN ({marks})"
        select, columns = self._local.execute, self._columns
        rows = {
            name: select(f"SELECT {columns[name]} FROM {name} WHERE {key} IN ({marks})", notes).fetchall()
            for name, key in _BY_NOTE.items()
        } | {
            name: select(f"SELECT {columns[name]} FROM {name} WHERE {key} IN ({chunk_ids})", notes).fetchall()
            for name, key in _BY_CHUNK.items()
        }
        note_of = {chunk: note for chunk, note, position, *_ in rows["chunks"] if position == 0}
        about = {row[0]: row[7] for row in rows["notes"]}
        chunk_words, signs = {}, {}
        for chunk, head, text, *_ in rows["chunk_texts"]:
            chunk_words[chunk] = tuple(fulltext.worded((head, text)))
            if marks := fulltext.signs(f"{head}\n{text}\n{about[note_of[chunk]] if chunk in note_of else ''}"):
                signs[chunk] = (marks,)
        chunk_tokens = _tokens("chunk_words", chunk_words)
        bodies: dict[int, list[str]] = {}  # a blank note has none: it is found by its name
        for chunk, note, *_ in sorted(rows["chunks"], key=lambda row: (row[1], row[2])):
            bodies.setdefault(note, []).extend(chunk_tokens[chunk][1])
        heads = {
            row[0]: tuple(fulltext.worded((note_head(row[6], row[4], row[5]), row[7])))
            for row in rows["notes"]
            if row[0] in bodies
        }
        words = {
            "chunk_words": chunk_tokens,
            "chunk_signs": _tokens("chunk_signs", signs),
            "note_words": {note: [*found, bodies[note]] for note, found in _tokens("note_words", heads).items()},
        }

        def count(name: str, key: int) -> int:
            return sum(map(len, words[name].get(key, ())))

        self._copy(
            "notes",
            f"{columns['notes']}, hash, words",
            ((*_without_nul(row), self._digest_of[row[0]], count("note_words", row[0])) for row in rows["notes"]),
        )
        without_vector = ((*row[:9], 3 if row[9] == 3 else 0, *row[10:]) for row in rows["chunks"])
        self._copy(
            "chunks",
            f"{columns['chunks']}, words, signs",
            ((*row, count("chunk_words", row[0]), count("chunk_signs", row[0])) for row in without_vector),
        )
        for name in ("chunk_texts", "lines", "chunk_tags", "names", "properties", "facts"):
            self._copy(name, columns[name], map(_without_nul, rows[name]))
        for name, found in words.items():
            self._add_words(name, found)

    def _add_words(self, name: str, rows: dict[int, list[list[str]]]) -> None:
        """Add rows to a full-text table; the occurrences of their words stay pending until there are enough.

        Args:
            name: of the table.
            rows: id → the tokens of each column.
        """
        table = TABLES[name]
        texts: list[Row] = []
        pending = self._pending.setdefault(name, {})
        for key, columns in rows.items():
            texts.append((key, *map(spelled, columns)))
            occurrences: dict[str, int] = {}
            for place, words in zip(table.columns.values(), columns, strict=True):
                one, limit = 1 << PACKED[1 + place], MAX_COUNTS[place]
                for word in words:
                    packed = occurrences.get(word, key << PACKED[0])
                    if packed >> PACKED[1 + place] & limit < limit:
                        packed += one
                    occurrences[word] = packed
            for word, packed in occurrences.items():
                pending.setdefault((word, key // BLOCK), []).append(packed)
        self._copy(name, f"id, {', '.join(table.columns)}", texts)
        if sum(map(len, pending.values())) > MAX_PENDING:
            self._flush(name)

    def _flush(self, name: str) -> None:
        """Write the pending occurrences of words; collected from many rows, so that few blocks are written twice."""
        pending = self._pending.pop(name, {})
        self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS fresh (term text, block int, packed bigint[])")
        self._copy("fresh", "term, block, packed", ((word, block, packed) for (word, block), packed in pending.items()))
        self._connection.execute(
            f"INSERT INTO {name}_at AS p (term, block, held, packed) SELECT term, block, cardinality(packed), packed"
            " FROM fresh ON CONFLICT (term, block) DO UPDATE"
            " SET packed = p.packed || excluded.packed, held = p.held + excluded.held"
        )
        self._connection.execute("TRUNCATE fresh")

    # --- vectors

    def _vectors(self) -> int:
        """Copy the vectors of passages that had none here and have one in the cache; return how many."""
        from psycopg.types.numeric import Int4

        if not self._model:
            return 0
        missing = [chunk for (chunk,) in self._connection.execute("SELECT id FROM chunks WHERE embedded = 0")]
        copied = 0
        for start in range(0, len(missing), VECTORS):
            batch = missing[start : start + VECTORS]
            if self._progress is not None and len(missing) > VECTORS:
                self._progress(f"{PUBLISHING} vectors", start, len(missing))
            rows = self._local.execute(
                "SELECT c.id, v.vector, v.words FROM json_each(?) j"
                f" JOIN chunks c ON c.id = j.value AND {reader.HAS_VECTOR}"
                " JOIN cache.models m ON m.fingerprint = ? JOIN cache.vectors v ON v.hash = c.hash AND v.model = m.id",
                (f"[{','.join(map(str, batch))}]", self._model),
            ).fetchall()
            with self._connection.cursor().copy("COPY vectors FROM STDIN (FORMAT BINARY)") as copy:
                for chunk, vector, words in rows:
                    copy.write_row((Int4(chunk), _binary(vector), words))
            self._connection.execute(
                "UPDATE chunks SET embedded = 1 WHERE id = ANY(%s)", ([chunk for chunk, *_ in rows],)
            )
            copied += len(rows)
        return copied

    def _copy(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        """Insert rows into columns of a table with COPY."""
        with self._connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def _numbers(version: str) -> list[int]:
    """Return a version as numbers that compare by age."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def _tokens(name: str, rows: Mapping[int, tuple[str, ...]]) -> dict[int, list[list[str]]]:
    """Return id → the tokens of each column, for rows of a full-text table given by the texts of their columns."""
    found = iter(tokens([text for texts in rows.values() for text in texts], TABLES[name].tokenizer))
    return {key: [next(found) for _ in texts] for key, texts in rows.items()}


def _without_nul(row: Row) -> Row:
    """Replace NUL characters, which PostgreSQL can't store; only names may contain one, and their keys leave it out."""
    return tuple(value.replace("\0", " ") if isinstance(value, str) and "\0" in value else value for value in row)


def _binary(vector: bytes) -> bytes:
    """Return a vector in pgvector's binary format: dimension, 0, float4 …, all big-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "little":
        numbers.byteswap()
    return pack(">hh", len(numbers), 0) + numbers.tobytes()
