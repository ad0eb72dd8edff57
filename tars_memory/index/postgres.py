"""A team's index in PostgreSQL: how it is reached, asked and published, and what is said when it can't be.

One process beside the vault publishes the rows of its own index (:mod:`tars_memory.index.postgres_writer`), many read
them (:mod:`tars_memory.index.postgres_reader`). Where it lies is the person's own setting, and holds no password.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tars_memory.errors import SettingsError, TarsError, TeamIndexError, installing
from tars_memory.index.database import CACHE_FILE, VERSION, Progress
from tars_memory.index.postgres_reader import PostgresReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import psycopg

    from tars_memory.index.postgres_writer import Published

    Row = tuple[Any, ...]

Answer = TypeVar("Answer")

LAYOUT = 1
"""Raise it with every change of the tables in :mod:`tars_memory.index.postgres_writer`, or of what stands in them."""
FORMAT = f"{VERSION}.{LAYOUT}"
"""Of the rows; another one is never read."""
LEAST = 150_000
"""PostgreSQL 15, as the server numbers itself: it counts by regular expressions, and its ``public`` is nobody's."""
PATIENCE = 1.0
"""Seconds in which the server has to let us in, where the address doesn't say ``connect_timeout``."""
ANSWERED = 10.0
"""So many times as long it has for all that one search asks; it may have stopped, or the way to it may be cut."""
ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""By what libpq finds out within a minute that the other machine is gone, where the address doesn't say it."""
REGISTRY = "tars_memory"
"""The schema with the table of what is published; each index has a schema of its own beside it."""
TRIES = 3
"""An index that is replaced while it is asked, or a connection that was ended, is asked again so often."""
RESPITE = 10.0
"""Seconds for which a server that can't be reached is not tried again: whoever types a query would wait at each key."""

_GRANTS = "docs/team-index.md shows what each role is granted"
HOW_PASSWORDS = "put it into ~/.pgpass (readable by you alone) or PGPASSWORD"
_TLS = ("require", "verify-ca", "verify-full")
_SETTING = "[index] database"
_WAIT_LONGER = f"is the server up? connect_timeout=5 at the end of {_SETTING} waits longer"


class Address(NamedTuple):
    """Where a team's index lies.

    Attributes:
        url: as libpq takes it.
        shown: the same for people: server and database alone.
        options: what is said to libpq besides.
        patience: seconds.
    """

    url: str
    shown: str
    options: dict[str, Any]
    patience: float


def address(url: str) -> Address:
    """An address from the settings, made safe: off this machine the connection has to be encrypted.

    Raises:
        SettingsError: it is none, it holds a password, or it allows a connection in clear text.
    """
    hint = f"write {_SETTING} like postgresql://me@db.example.org/memory"
    try:
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        hosts = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise SettingsError(f"{_SETTING} is not an address of PostgreSQL", hint) from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise SettingsError(f"{_SETTING} is not an address of PostgreSQL", hint)
    if parts.password or asked.keys() & {"password", "sslpassword"}:
        raise SettingsError(f"{_SETTING} holds a password", f"take it out; {HOW_PASSWORDS}")
    if "service" in asked:
        raise SettingsError(f"{_SETTING}: a service file may name any server", "write host and database into it")
    if "PGSERVICE" in os.environ:
        raise SettingsError(f"PGSERVICE is set: a service file may change what {_SETTING} says", "unset PGSERVICE")
    shown = f"{unquote(hosts) or asked.get('host') or 'localhost'}{parts.path}"
    options: dict[str, Any] = {name: value for name, value in ALIVE.items() if name not in asked}
    options["application_name"] = f"tars-memory on {platform.node()}"
    named = [asked.get("hostaddr") or os.environ.get("PGHOSTADDR", "")]
    named += [asked.get("host", ""), hosts] if asked.get("host") or hosts else [os.environ.get("PGHOST", "")]
    if not all(_is_here(one) for each in named for one in each.split(",")):
        mode = asked.get("sslmode") or os.environ.get("PGSSLMODE", "require")
        if mode not in _TLS:
            raise SettingsError(
                f"{_SETTING}: sslmode={mode} allows a connection to {shown} that anybody can read",
                "set sslmode=verify-full (or require), or leave it out",
            )
        options["sslmode"] = mode
    try:
        patience = float(asked.get("connect_timeout", PATIENCE))
    except ValueError as error:
        raise SettingsError(f"{_SETTING}: connect_timeout is not a number of seconds", hint) from error
    return Address(url, shown, options, patience)


def _is_here(host: str) -> bool:
    """Whether a host, with its port or without, is this machine or a socket on it."""
    if host.startswith(("/", "@", "%2F", "%2f", "[::1]")) or host in ("", "::1"):
        return True
    name = host.partition(":")[0]
    return name in ("", "localhost") or (name.startswith("127.") and name.replace(".", "").isdigit())


class TeamIndex:
    """A team's index of one vault.

    Args:
        url: as set.
        vault: the vault's id, by which the index is found.

    Raises:
        SettingsError: as :func:`address`.
    """

    def __init__(self, url: str, vault: str | None) -> None:
        self.address = address(url)
        self.vault = vault or ""
        self._connection: psycopg.Connection[Row] | None = None
        self._failed: TeamIndexError | None = None
        self._until = 0.0
        self._one = threading.RLock()

    def close(self) -> None:
        """Let go of the server."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def read(self, question: Callable[[PostgresReader], Answer]) -> Answer:
        """Ask the index, in one transaction that sees it whole, as it was published last.

        Raises:
            TeamIndexError: it can't be reached, there is none, it may not be read, or its rows are of another version.
        """
        _need_driver()
        from psycopg import errors

        for left in reversed(range(TRIES)):
            with self._one, explained(self.address):
                connection = self._open()
                try:
                    with self._timed(connection), connection.transaction():
                        self._enter(connection)
                        return question(PostgresReader(connection))
                except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InternalError_):
                    if not left:  # as a rule it was replaced between two questions, and the old one dropped
                        raise
                except errors.OperationalError:
                    if not left or not connection.broken:  # the server may have ended what was idle for long
                        raise
        raise AssertionError

    def _open(self) -> psycopg.Connection[Row]:
        from psycopg import IsolationLevel

        if self._connection is None or self._connection.closed:
            if self._failed is not None and time.monotonic() < self._until:
                raise self._failed
            try:
                self._connection = connect(self.address)
            except TeamIndexError as error:
                self._failed, self._until = error, time.monotonic() + RESPITE
                raise
            self._connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            self._connection.set_read_only(True)
        return self._connection

    @contextmanager
    def _timed(self, connection: psycopg.Connection[Row]) -> Iterator[None]:
        """Cut the connection if all that is asked takes too long; no other way ends the wait for a server that stopped.

        Raises:
            TeamIndexError: it was cut.
        """
        seconds = ANSWERED * self.address.patience
        late = threading.Event()

        def cut() -> None:
            late.set()
            with suppress(OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
                line.shutdown(socket.SHUT_RDWR)

        clock = threading.Timer(seconds, cut)
        clock.daemon = True
        clock.start()
        try:
            yield
        except Exception as error:
            if not late.is_set():
                raise
            self._failed = TeamIndexError(f"{self.address.shown} did not answer within {seconds:g} s", _WAIT_LONGER)
            self._until = time.monotonic() + RESPITE
            raise self._failed from error
        finally:
            clock.cancel()

    def _enter(self, connection: psycopg.Connection[Row]) -> None:
        """Lead the transaction's questions to the vault's tables."""
        found = published(connection, self._key())
        if found is None:
            raise TeamIndexError(
                f"no index of this vault is in {self.address.shown}",
                "tars-memory reindex, beside the vault and by a role that may write, publishes it",
            )
        schema, form = found
        if form != FORMAT:
            raise TeamIndexError(
                f"the index in {self.address.shown} is of version {form}, this program reads {FORMAT}",
                "install the version of tars-memory that publishes it, or ask for a reindex by this one",
            )
        enter(connection, schema)

    def publish(
        self, source: Path, cache: Path, progress: Progress | None, *, takes_over: bool, wait: float
    ) -> Published | None:
        """Bring the index in step with a file: see :func:`tars_memory.index.postgres_writer.publish`.

        Args:
            source: the file of this machine's index.
            cache: the program's cache folder, with the vectors.
            progress: is told how much is copied.
            takes_over: although another machine published it.
            wait: seconds for another process that publishes.

        Returns:
            What was written; None if the role may only read.

        Raises:
            TeamIndexError: it can't be reached, or not be written now.
        """
        from tars_memory.index.postgres_writer import publish

        return publish(
            self.address, self._key(), source, cache / CACHE_FILE, progress, takes_over=takes_over, wait=wait
        )

    def _key(self) -> str:
        """The vault's id.

        Raises:
            TeamIndexError: it has none.
        """
        if not self.vault:
            raise TeamIndexError(
                "a team's index is found by the id of its vault, and this one has none",
                "tars-memory init makes one; every copy of the vault takes .tars along",
            )
        return self.vault

    def told(self) -> dict[str, Any]:
        """What the index says of itself: when it was published, by whom, notes, passages, vectors, bytes.

        Raises:
            TeamIndexError: as :meth:`read`.
        """

        def ask(reader: PostgresReader) -> dict[str, Any]:
            return {
                "server": self.address.shown,
                "published": reader.meta.get("published"),
                "by": reader.meta.get("machine", "").partition(":")[0],
                "notes": reader.counted("notes"),
                "chunks": reader.counted("chunks"),
                "vectors": reader.counted("chunks WHERE embedded = 1"),
                "bytes": reader.weight(),
            }

        return self.read(ask)


def published(connection: psycopg.Connection[Row], vault: str) -> tuple[str, str] | None:
    """The schema of a vault's index, and the version of its rows; None if there is none."""
    from psycopg import errors

    try:
        with connection.transaction():
            sql = f"SELECT place, version FROM {REGISTRY}.indexes WHERE vault = %s"
            row = connection.execute(sql, (vault,)).fetchone()
            return None if row is None else (str(row[0]), str(row[1]))
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None


def enter(connection: psycopg.Connection[Row], schema: str) -> None:
    """Let the rest of a transaction find the tables of a schema, and the extension that knows vectors.

    Raises:
        TeamIndexError: the extension is missing, or the role may not read the tables.
    """
    sql = (
        "SELECT has_schema_privilege(%s, 'USAGE'), (SELECT n.nspname FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector')"
    )
    may, extension = connection.execute(sql, (schema,)).fetchone() or (False, None)
    if not may:
        raise TeamIndexError(f"the role {connection.info.user} may not read the index of this vault", _GRANTS)
    if extension is None:
        raise TeamIndexError(
            f"the database {connection.info.dbname} lacks the extension pgvector",
            "its owner makes it known, once: CREATE EXTENSION vector",
        )
    path = f'"{schema}", "{extension}"'
    # Compiling a question takes longer than answering it.
    connection.execute("SELECT set_config('search_path', %s, true), set_config('jit', 'off', true)", (path,))


def _need_driver() -> None:
    """See to it that psycopg can be imported.

    Raises:
        TeamIndexError: it can't.
    """
    try:
        import psycopg  # noqa: F401 - it may be there without libpq
    except ImportError as error:
        raise TeamIndexError(f"an index in PostgreSQL needs psycopg: {error}", installing("postgres")) from error


def connect(where: Address) -> psycopg.Connection[Row]:
    """A connection to the server, in time or not at all.

    Raises:
        TeamIndexError: the library is missing, the server can't be reached in time or refuses, it is too old, or the
            connection is not encrypted though it leaves the machine.
    """
    _need_driver()
    import psycopg

    opened: list[psycopg.Connection[Row]] = []
    failed: list[Exception] = []
    late = threading.Event()

    def reach() -> None:
        try:
            connection = psycopg.connect(where.url, autocommit=True, **where.options)
        except Exception as error:
            failed.append(error)
            return
        opened.append(connection)
        if late.is_set():
            connection.close()

    # libpq waits two seconds at least, and for names as long as the system does: so the clock is kept beside it.
    thread = threading.Thread(target=reach, daemon=True)
    thread.start()
    thread.join(where.patience)
    late.set()
    if not opened and not failed:
        raise TeamIndexError(
            f"{where.shown} did not answer within {where.patience:g} s",
            _WAIT_LONGER,
        )
    if failed:
        with explained(where):
            raise failed[0]
    connection = opened[0]
    if connection.info.server_version < LEAST:
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
    """Say what the server or the way to it refuse as a sentence for the person.

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
        said = " ".join((error.diag.message_primary or str(error)).split())
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            message, hint = f"{where.shown} refuses: {said}", _GRANTS
        elif isinstance(error, psycopg.OperationalError) and "no password supplied" in said:
            message, hint = f"{where.shown} wants a password", HOW_PASSWORDS
        elif isinstance(error, psycopg.OperationalError):
            reason = re.split(" (?:Is the server running|This probably means|DETAIL:)", said)[0]
            reason = reason.rpartition("failed: ")[2].removeprefix("FATAL: ")
            message, hint = f"{where.shown} can't be reached: {reason}", "is the server up, and the address right?"
            hint = HOW_PASSWORDS if "password authentication" in reason else hint
            hint = _GRANTS if "permission denied" in reason else hint
        else:
            message, hint = f"{where.shown} can't answer: {said}", "tars-memory doctor looks closer"
        raise TeamIndexError(message, hint) from error
