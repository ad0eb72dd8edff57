"""A team's index in PostgreSQL: its address, the connection, queries and publishing, and the error messages.

One process on the vault's machine publishes the rows of its own index (:mod:`tars_memory.index.postgres_writer`), and
many read them (:mod:`tars_memory.index.postgres_reader`). The address is a personal setting and holds no password.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tars_memory.errors import SettingsError, TarsError, TeamIndexError, installing
from tars_memory.index import database, postgres_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import psycopg

    from tars_memory.index.postgres_writer import Published

    Row = tuple[Any, ...]

Answer = TypeVar("Answer")

LAYOUT = 1
"""Version of the tables in :mod:`tars_memory.index.postgres_writer`; raise it when they or their content change."""
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
        raise SettingsError(f"{_SETTING} is not an address of PostgreSQL", hint) from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise SettingsError(f"{_SETTING} is not an address of PostgreSQL", hint)
    if parts.password or query.keys() & {"password", "sslpassword"}:
        raise SettingsError(f"{_SETTING} holds a password", f"take it out; {HOW_PASSWORDS}")
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
                f"{_SETTING}: sslmode={mode} allows a connection to {shown} that anybody can read",
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
                f"no index of this vault is in {self.address.shown}",
                "publish it with tars-memory reindex on the vault's machine, with a role that may write",
            )
        schema, form = found
        if form != FORMAT:
            raise TeamIndexError(
                f"the index in {self.address.shown} is of version {form}, this program reads {FORMAT}",
                "install the version of tars-memory that publishes it, or ask for a reindex by this one",
            )
        enter(connection, schema)

    def publish(
        self, source: Path, cache: Path, progress: database.Progress | None, *, takes_over: bool, wait: float
    ) -> Published | None:
        """Publish an index file: see :func:`tars_memory.index.postgres_writer.publish`.

        Args:
            source: the file of this machine's index.
            cache: the program's cache folder, with the vectors.
            progress: told how much is copied.
            takes_over: publish even if another machine published the index.
            wait: seconds to wait for another process that publishes.

        Returns:
            What was written; None if the role may only read.

        Raises:
            TeamIndexError: the server can't be reached, or the index can't be written now.
        """
        from tars_memory.index.postgres_writer import publish

        return publish(
            self.address, self._key(), source, cache / database.CACHE_FILE, progress, takes_over=takes_over, wait=wait
        )

    def _key(self) -> str:
        """Return the vault's id.

        Raises:
            TeamIndexError: the vault has none.
        """
        if not self.vault:
            raise TeamIndexError(
                "a team's index is found by the id of its vault, and this one has none",
                "tars-memory init makes one; every copy of the vault takes .tars along",
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
