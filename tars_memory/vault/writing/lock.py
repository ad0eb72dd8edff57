"""The vault's writer lock: one process writes at a time, and a killed holder frees it.

The lock is the kernel's (``flock``; on Windows a byte range), held on a file in the state folder. The file's text only
names the holder for the message; it is never trusted as the lock itself.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from tars_memory.errors import BusyError, UnwritableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    class RangeLock:
        """The part of ``msvcrt`` that is used, for tests that bring their own."""

        LK_NBLCK: int
        LK_UNLCK: int

        def locking(self, fd: int, mode: int, size: int, /) -> None:
            """Lock or unlock ``size`` bytes from where the file stands."""


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HOLDER_BYTES = 200
"""The holder's line is padded to this length, so that one write replaces an older, longer one."""

RANGE_OFFSET = 1 << 30
"""Windows locks a byte far behind the text, so that the holder's name stays readable for others."""

FIRST_WAIT, LONGEST_WAIT = 0.0005, 0.004
"""Seconds between two tries: doubled up to the longest, each shortened by chance, or waiters would march in step."""


class VaultLock:
    """The lock of one vault.

    Args:
        path: the lock file; its folder is made if missing.
        timeout: seconds to wait for another holder.
        command: what the holder is doing, for the message that others see.
        ranges: ``msvcrt`` on Windows; tests pass one of their own.
    """

    def __init__(self, path: Path, *, timeout: float, command: str, ranges: RangeLock | None = None) -> None:
        self.path = path
        self.timeout = timeout
        self.command = command
        self.ranges = ranges if ranges is not None else _platform_ranges()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the length of a ``with`` block.

        Raises:
            BusyError: another process held it all the time; the message names it.
            UnwritableError: the lock file can't be made.
        """
        fd = self._acquire()
        try:
            yield
        finally:
            self._release(fd)

    def _acquire(self) -> int:
        deadline = time.monotonic() + self.timeout
        while True:
            fd = self._open()
            locked = current = False
            try:
                locked = self._wait(fd, deadline)
                current = locked and self._is_current(fd)
                if current:
                    self._sign(fd)
                    return fd
            except OSError as error:
                current = False
                raise UnwritableError(
                    f"can't lock {self.path}: {error.strerror or error}",
                    "the state folder must be on a file system with file locks",
                ) from error
            except BaseException:  # Ctrl-C must not leave it locked in a process that lives on
                current = False
                raise
            finally:
                if not current:  # locked, yet not current: the state folder was replaced while we waited
                    self._release(fd, locked)
            if not locked:
                raise BusyError(
                    f"the vault is busy: {self.holder() or 'another process'} holds the lock",
                    f"waited {self.timeout:g} s; try again when it has ended",
                )

    def _wait(self, fd: int, deadline: float) -> bool:
        """Take the lock by the deadline; False if another held it all the time."""
        wait = FIRST_WAIT
        while not self._try(fd):
            if time.monotonic() >= deadline:
                return False
            chance = os.getpid() * time.monotonic_ns() % 997 / 997  # enough to spread waiters; random costs an import
            time.sleep(wait * (0.5 + chance / 2))
            wait = min(wait * 2, LONGEST_WAIT)
        return True

    def holder(self) -> str:
        """Who holds the lock, or held it last: ``process 4711 (remember)``; empty if unknown."""
        try:
            with self.path.open("rb") as file:
                pid, _, command = file.read(HOLDER_BYTES).decode("utf-8", "replace").strip().partition(" ")
        except OSError:
            return ""
        return f"process {pid} ({command})" if pid.isdigit() else ""

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
        try:
            try:
                return os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return os.open(self.path, flags, 0o600)
        except OSError as error:
            raise UnwritableError(
                f"can't open the lock {self.path}: {error.strerror or error}",
                "the state folder must be writable; TARS_MEMORY_HOME can name another one",
            ) from error

    def _try(self, fd: int) -> bool:
        """Take the lock without waiting; False if another holds it."""
        try:
            if self.ranges is not None:
                os.lseek(fd, RANGE_OFFSET, os.SEEK_SET)
                self.ranges.locking(fd, self.ranges.LK_NBLCK, 1)
            else:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the second is what Windows says
            return False
        return True

    def _is_current(self, fd: int) -> bool:
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            return False
        held = os.fstat(fd)
        return (named.st_ino, named.st_dev) == (held.st_ino, held.st_dev)

    def _sign(self, fd: int) -> None:
        line = f"{os.getpid()} {self.command}".encode("utf-8", "replace")[: HOLDER_BYTES - 1]
        with contextlib.suppress(OSError):  # a full disk only costs the holder's name
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, line.ljust(HOLDER_BYTES - 1) + b"\n")

    def _release(self, fd: int, locked: bool = True) -> None:
        if locked and self.ranges is not None:
            with contextlib.suppress(OSError):
                os.lseek(fd, RANGE_OFFSET, os.SEEK_SET)
                self.ranges.locking(fd, self.ranges.LK_UNLCK, 1)
        with contextlib.suppress(OSError):
            os.close(fd)


@contextlib.contextmanager
def alone(path: Path, command: str, busy: str, hint: str) -> Iterator[None]:
    """Be the only process that does something for as long as it takes.

    Args:
        path: of the lock file.
        command: what it does, for the message that others see.
        busy: what to say if another process does it; who it is follows.
        hint: what to do then.

    Raises:
        BusyError: another process does it.
        UnwritableError: the lock file can't be made.
    """
    lock = VaultLock(path, timeout=0, command=command)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock.held())
        except BusyError as error:
            raise BusyError(f"{busy}: {lock.holder() or 'another process'}", hint) from error
        yield


def _platform_ranges() -> RangeLock | None:
    """Windows' byte range locks; None where ``flock`` does the work."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt
    return None
