"""The index's files in a vault's state folder: their names, the swap of a rebuilt one, and the lock of the writers.

A file is named ``index-VERSION.NUMBER.db``; the one with the highest number counts. A rebuild is written beside it
under a name that nobody reads and then renamed to the next number: a name is never used twice, so the journal of an
old file can't be taken for that of a new one, and a reader of the old file keeps it until it looks again.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tars_memory.index import database
from tars_memory.index.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

    def _try_lock(handle: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try_lock(handle: int) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
