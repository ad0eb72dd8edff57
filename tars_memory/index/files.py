"""The index's files in a vault's state folder: their names, the swap of a rebuilt one, and the lock of the writers.

A file is named ``index-VERSION.NUMBER.db``; the one with the highest number counts. A rebuild is written beside it
under a name that nobody reads and then renamed to the next number: a name is never used twice, so the journal of an
old file can't be taken for that of a new one, and a reader of the old file keeps it until it looks again.

:class:`OpenIndex` is the file that answers now: made if there is none, opened again when another process has swapped
it. What can't be written is opened for reading all the same; :func:`explained` makes a sentence of what a disk says
against everything else.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from tars_memory.errors import UnwritableError
from tars_memory.index import database
from tars_memory.index.database import VERSION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


_NAME = re.compile(rf"index-{VERSION}\.(\d+)\.db")
_OURS = re.compile(r"index-(\d+)\.(\d+)\.db(\.new)?(-journal|-wal|-shm)?")
POLL_SECONDS = 0.005
BACKGROUND = "background.lock"
"""The lock of the process that finishes the index by itself, for as long as it lives."""


class IndexFiles:
    """The files of one vault's index.

    Args:
        folder: the vault's state folder; made when the first file is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> Path | None:
        """The file that answers now, None if there is none of this version."""
        for _, name in self._named():
            path = self.folder / name
            if path.is_file():  # a pipe or a folder of that name answers nothing, and would be waited for
                return path
        return None

    def _named(self) -> list[tuple[int, str]]:
        """What is named like one of this version, with its number, the highest first."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name))), reverse=True)

    def building(self) -> Path:
        """The name that a rebuild is written under; leftovers of a killed one are removed. Call it under the lock."""
        number = next((number for number, _ in self._named()), 0)
        path = self.folder / f"index-{VERSION}.{number + 1:04d}.db.new"
        self.remove(path)
        return path

    def install(self, built: Path) -> Path:
        """Let a finished, closed file answer from now on and remove the ones before it. Call it under the lock."""
        with open(built, "rb") as file:
            os.fsync(file.fileno())
        path = built.with_suffix("")
        built.rename(path)
        for name in os.listdir(self.folder):
            if _OURS.fullmatch(name) and not name.startswith(path.name):
                try:
                    os.unlink(self.folder / name)
                except OSError:  # open in another process, on Windows; the next rebuild takes it along
                    continue
        return path

    @staticmethod
    def remove(path: Path) -> None:
        """Remove a database file with its journals, if it is there."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            try:
                os.unlink(f"{path}{suffix}")
            except FileNotFoundError:
                continue

    def is_held(self, name: str) -> bool:
        """Whether a process holds one of the index's locks; a lock that nobody ever held is not made for that."""
        if not (self.folder / name).exists():
            return False
        try:
            with self.lock(0.0, name) as free:
                return not free
        except OSError:
            return False

    @contextmanager
    def lock(self, wait: float, name: str = "index.lock") -> Iterator[bool]:
        """Hold one of the index's locks; yields whether we got it within ``wait`` seconds.

        The kernel frees it when its holder dies.
        """
        path = self.folder / name
        database.create(path)
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            yield _acquire(handle, wait)
        finally:
            os.close(handle)


def _acquire(handle: int, wait: float) -> bool:
    deadline = time.monotonic() + wait
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class OpenIndex:
    """The connection of one process to the index of one vault.

    Args:
        files: the index's files.

    Attributes:
        path: the file that is open, or that could not be opened; None before the first try.
    """

    def __init__(self, files: IndexFiles) -> None:
        self.files = files
        self.path: Path | None = None
        self._connection: sqlite3.Connection | None = None
        self._held = 0

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        """The open file, which stays the one that is asked, even if a newer one is installed meanwhile."""
        connection = self.connection()
        self._held += 1
        try:
            yield connection
        finally:
            self._held -= 1

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def connection(self) -> sqlite3.Connection:
        """The open file, the newest one.

        It can be read; whether it can be written shows when somebody tries.

        Raises:
            IndexDamagedError: it is not an index of this version.
            UnwritableError: there is none and none can be made, or it may not even be read.
        """
        with explained(f"the index in {self.files.folder} can't be opened"):
            if self._connection is not None and (self._held or self.path == self.files.current()):
                return self._connection
            self.close()
            for _ in range(3):
                self.path = self.files.current() or self._make()
                try:
                    self._connection = _opened(self.path)
                except FileNotFoundError:
                    continue  # swapped between looking and opening
                return self._connection
        raise UnwritableError(f"the index in {self.files.folder} can't be opened", "try again")

    def model(self) -> tuple[str, int] | None:
        """Fingerprint and dimension of the model in the file, if it can still say."""
        path = self.files.current()
        if path is None:
            return None
        try:
            connection = _opened(path)
            try:
                meta = database.meta(connection)
            finally:
                connection.close()
            return str(meta["model"]), int(meta["dimension"])
        except (LookupError, ValueError, TypeError, OSError):
            return None
        except Exception as error:
            if not database.damaged(error):
                raise
            return None

    def _make(self) -> Path:
        """An empty index, so that it can be filled batch by batch and answers from the first one on."""
        hint = "make it writable, with room to spare, or set TARS_MEMORY_HOME to a folder that is"
        with explained(f"the index can't be made in {self.files.folder}", hint), self.files.lock(WRITER_WAIT) as held:
            current = self.files.current()
            if current is not None:
                return current
            if not held:
                raise UnwritableError("the index is busy in another process", "try again when it is done")
            path = self.files.building()
            create(path).close()
            return self.files.install(path)


@contextmanager
def explained(what: str, hint: str = "is the disk full or read-only, or that folder not yours?") -> Iterator[None]:
    """Say what the disk or SQLite refuse inside as a sentence for the person; damage stays what it is.

    Raises:
        UnwritableError: ``what``, and why.
    """
    try:
        yield
    except Exception as error:
        if database.damaged(error) or not isinstance(error, OSError | database.driver().module.Error):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UnwritableError(f"{what}: {reason}", hint) from error


def create(path: Path) -> sqlite3.Connection:
    """A new, empty index, open; written without waiting for the disk, as nobody reads it before it is installed."""
    database.create(path)
    connection = database.connect(path)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        database.make_tables(connection)
        database.set_journal_mode(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    """The file, open: for reading and writing if it can be, else for reading by the first way that works.

    A write-ahead log wants a file of shared memory beside the database even for reading. On a full disk, where it
    can't be made, being alone with the database does without. Where nothing may be written the database is read as
    it stands, unless a log holds what it lacks: then both are read from a copy.
    """
    try:
        return _checked(database.connect(path), path)
    except database.driver().module.OperationalError as error:
        if not database.refused(error):
            raise
        refusal = error
    for way in (_alone, _as_it_stands, _copied):
        try:
            return way(path)
        except (OSError, database.driver().module.OperationalError) as error:
            if database.damaged(error):
                raise
    raise refusal


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection, if it leads to an index of this version."""
    try:
        if not database.wal_is_fixed(database.driver().version):
            database.set_journal_mode(connection, path)  # another Python may have made it with a log
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except BaseException:
        connection.close()
        raise
    if version != database.VERSION:
        connection.close()
        raise database.IndexDamagedError(f"{path.name} is of version {version}")
    return connection


def _alone(path: Path) -> sqlite3.Connection:
    return _checked(database.connect(path, exclusive=True), path)


def _as_it_stands(path: Path) -> sqlite3.Connection:
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise OSError(f"{log.name} holds what {path.name} lacks")
    return _checked(database.connect(path, "mode=ro&immutable=1"), path)


def _copied(path: Path) -> sqlite3.Connection:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="tars-memory-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        for suffix in ("", "-wal"):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _checked(database.connect(copy), copy)  # has read from both by now: their names can go


WRITER_WAIT = 30.0
