"""The index file that answers now: opened, made if there is none, opened anew when another process has swapped it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import UnwritableError
from tars_memory.index import database, intake, schema
from tars_memory.index.report import WRITER_WAIT

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from tars_memory.index.files import IndexFiles


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

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def connection(self) -> sqlite3.Connection:
        """The open file, the newest one.

        Raises:
            IndexDamagedError: it is no index of this version.
            UnwritableError: there is none and none can be made.
        """
        if self._connection is not None and self.path == self.files.current():
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
            connection = database.connect(path)
            try:
                meta = intake.meta(connection)
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
        try:
            with self.files.lock(WRITER_WAIT) as held:
                current = self.files.current()
                if current is not None:
                    return current
                if not held:
                    raise UnwritableError("the index is busy in another process", "try again when it is done")
                path = self.files.building()
                create(path).close()
                return self.files.install(path)
        except OSError as error:
            raise UnwritableError(
                f"the index can't be made in {self.files.folder}: {error}", "set TARS_MEMORY_HOME to a writable folder"
            ) from error


def create(path: Path) -> sqlite3.Connection:
    """A new, empty index, open; written without waiting for the disk, as nobody reads it before it is installed."""
    database.create(path)
    connection = database.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    schema.create(connection)
    database.set_journal_mode(connection, path)
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    connection = database.connect(path)
    try:
        if not database.wal_is_fixed(database.driver().version):
            database.set_journal_mode(connection, path)  # another Python may have made it with a log
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except BaseException:
        connection.close()
        raise
    if version != schema.VERSION:
        connection.close()
        raise database.IndexDamagedError(f"{path.name} is of version {version}")
    return connection
