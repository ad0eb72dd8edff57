"""The index's files in a vault's state folder: their names, the swap of a rebuilt one, and the lock of the writers.

A file is named ``index-VERSION.NUMBER.db``; the one with the highest number is current. A rebuild is written under a
name that nobody reads and then renamed to the next number: a name is never used twice, so the journal of an old file
can't be taken for that of a new one, and a reader of the old file keeps it until it looks again.

:class:`OpenIndex` is the connection to the current file, which it creates if there is none, and opens again when
another process has swapped it. A file that can't be written is opened for reading; :meth:`IndexFiles.explained` turns
all other errors of the disk into messages.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

from tars_memory.errors import UnwritableError
from tars_memory.index import database
from tars_memory.vault.folder import try_lock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


_NAME = re.compile(rf"index-{database.VERSION}\.(\d+)\.db")
_OURS = re.compile(r"index-(\d+)\.(\d+)\.db(\.new)?(-journal|-wal|-shm)?")
POLL_SECONDS = 0.005
"""Seconds between two attempts to take a lock."""
BACKGROUND = "background.lock"
"""Lock that the background process, which finishes the index, holds for as long as it lives."""


ROOM = 1 << 20
"""Number of bytes that a write of the index may need at once: a disk with less is full."""


class IndexFiles:
    """The files of one vault's index.

    Args:
        folder: the vault's state folder; created with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> Path | None:
        """Return the current file, None if there is none of this version."""
        for _, name in self._numbered():
            path = self.folder / name
            if path.is_file():  # not a pipe or a folder; opening a pipe would block
                return path
        return None

    def _numbered(self) -> list[tuple[int, str]]:
        """Return (number, name) of everything that is named like a file of this version, the highest number first."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name))), reverse=True)

    @contextmanager
    def explained(self, problem: str, hint: str = "") -> Iterator[None]:
        """Turn errors of the disk and of SQLite into a message for the person, except those that mean damage.

        Args:
            problem: what can't be done.
            hint: what to do about it; by default about what the folder's disk lacks.

        Raises:
            UnwritableError: ``problem``, and the reason.
        """
        try:
            yield
        except Exception as error:
            if database.damaged(error) or not isinstance(error, OSError | database.driver().module.Error):
                raise
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise UnwritableError(f"{problem}: {reason}", hint or self._remedy()) from error

    def _remedy(self) -> str:
        """Return what to do where the folder can't be written, by what its disk says: SQLite calls a disk without room
        for another file a read-only database.
        """
        with suppress(OSError, AttributeError):  # Windows has no statvfs
            disk = os.statvfs(self.folder)
            lacks = "takes no further file: remove some" if disk.f_files and not disk.f_favail else ""
            lacks = "is full: make room" if disk.f_bavail * disk.f_frsize < ROOM else lacks
            if lacks:
                return f"the disk of {self.folder} {lacks} there, or set TARS_MEMORY_HOME to a folder of another one"
        return f"is its disk read-only, or {self.folder} not yours?"

    def building(self) -> Path:
        """Return the path for a rebuild, and remove the leftovers of a killed one. The caller holds the lock."""
        number = next((number for number, _ in self._numbered()), 0)
        path = self.folder / f"index-{database.VERSION}.{number + 1:04d}.db.new"
        self.remove(path)
        return path

    def install(self, built: Path) -> Path:
        """Make a finished, closed file the current one and remove the older ones. The caller holds the lock."""
        with open(built, "rb") as file:
            os.fsync(file.fileno())
        path = built.with_suffix("")
        built.rename(path)
        for name in os.listdir(self.folder):
            if _OURS.fullmatch(name) and not name.startswith(path.name):
                with suppress(OSError):  # on Windows, open in another process; the next rebuild removes it
                    os.unlink(self.folder / name)
        return path

    @staticmethod
    def remove(path: Path) -> None:
        """Remove a database file and its journals, if they exist."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")

    def is_held(self, name: str) -> bool:
        """Whether a process holds one of the index's locks; never creates the lock's file."""
        if not (self.folder / name).exists():
            return False
        try:
            with self.lock(0.0, name) as free:
                return not free
        except OSError:
            return False

    @contextmanager
    def lock(self, wait: float, name: str = "index.lock") -> Iterator[bool]:
        """Hold one of the index's locks; yield whether it could be taken within ``wait`` seconds.

        The kernel frees the lock when its holder dies.
        """
        path = self.folder / name
        database.create(path)
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        deadline = time.monotonic() + wait
        try:
            while not (held := try_lock(handle)) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            yield held
        finally:
            os.close(handle)


class OpenIndex:
    """The connection of one process to the index of one vault.

    Args:
        files: the index's files.

    Attributes:
        path: the file that is open, or that could not be opened; None before the first attempt.
    """

    def __init__(self, files: IndexFiles) -> None:
        self.files = files
        self.path: Path | None = None
        self._connection: sqlite3.Connection | None = None
        self._held = 0

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection, which inside the block stays the same even if a newer file is installed."""
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
        """Return a connection to the current file, which can be read and possibly be written.

        Raises:
            IndexDamagedError: the file is not an index of this version.
            UnwritableError: there is no index and none can be created, or it can't even be read.
        """
        with self.files.explained(f"the index in {self.files.folder} can't be opened"):
            if self._connection is not None and (self._held or self.path == self.files.current()):
                return self._connection
            self.close()
            for _ in range(3):
                self.path = self.files.current() or self._make()
                try:
                    self._connection = _opened(self.path)
                except FileNotFoundError:
                    continue  # replaced before it was opened
                return self._connection
        raise UnwritableError(f"the index in {self.files.folder} can't be opened", "try again")

    def model(self) -> tuple[str, int] | None:
        """Return fingerprint and dimension of the model in the current file; None if there is none or it is damaged."""
        path = self.files.current()
        if path is None:
            return None
        try:
            with closing(_opened(path)) as connection:
                meta = database.meta(connection)
            return str(meta["model"]), int(meta["dimension"])
        except Exception as error:
            if not isinstance(error, LookupError | ValueError | TypeError | OSError) and not database.damaged(error):
                raise
            return None

    def _make(self) -> Path:
        """Install an empty index, which is then filled batch by batch and answers from the first one on."""
        hint = "make it writable, with room to spare, or set TARS_MEMORY_HOME to a folder that is"
        problem = f"the index can't be made in {self.files.folder}"
        with self.files.explained(problem, hint), self.files.lock(WRITER_WAIT) as held:
            current = self.files.current()
            if current is not None:
                return current
            if not held:
                raise UnwritableError("the index is busy in another process", "try again when it is done")
            path = self.files.building()
            create_index(path).close()
            return self.files.install(path)


def create_index(path: Path) -> sqlite3.Connection:
    """Create an empty index and return a connection to it.

    It is written without waiting for the disk, as nobody reads it before it is installed.
    """
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
    """Open a file for reading and writing if possible, else for reading in the first way that works.

    A write-ahead log needs a file of shared memory next to the database even for reading. On a full disk, where it
    can't be created, an exclusive connection does without it. If nothing may be written, the database is opened as
    immutable, unless it has a log with newer content: then both are copied, and the copy is read.
    """
    try:
        return _checked(database.connect(path), path)
    except database.driver().module.OperationalError as error:
        if not database.refused(error):
            raise
        refusal = error
    for open_readable in (_open_exclusive, _open_immutable, _open_copy):
        try:
            return open_readable(path)
        except (OSError, database.driver().module.OperationalError) as error:
            if database.damaged(error):
                raise
    raise refusal


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return the connection if its file is an index of this version, else close it.

    Raises:
        IndexDamagedError: the file is of another version.
    """
    try:
        if not database.wal_is_fixed(database.driver().version):
            database.set_journal_mode(connection, path)  # another Python may have created it in WAL mode
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except BaseException:
        connection.close()
        raise
    if version != database.VERSION:
        connection.close()
        raise database.IndexDamagedError(f"{path.name} is of version {version}")
    return connection


def _open_exclusive(path: Path) -> sqlite3.Connection:
    return _checked(database.connect(path, exclusive=True), path)


def _open_immutable(path: Path) -> sqlite3.Connection:
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise OSError(f"{log.name} holds what {path.name} lacks")
    return _checked(database.connect(path, "mode=ro&immutable=1"), path)


def _open_copy(path: Path) -> sqlite3.Connection:
    """Open a temporary copy, whose files can be deleted as soon as they are open."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="tars-memory-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        for suffix in ("", "-wal"):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _checked(database.connect(copy), copy)  # has read from both files by now


WRITER_WAIT = 30.0
"""Seconds that a writer waits for another process to finish with the index."""
