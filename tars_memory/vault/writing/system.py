"""The two services of the operating system that writing needs: a lock, and replacing one file with another.

The lock is the kernel's (``flock``; on Windows a byte range), held on a file in the state folder: when its holder is
killed, the kernel frees it. The file's text only names the holder for the message; it is never trusted as the lock
itself.

:class:`Exchange` holds all differences between platforms on the path of a write. ``swap`` leaves the displaced file
under a name of ours, so that it can be compared with what was read before it is removed. On a file system that can't do
that, notes are not edited at all.
"""

# ruff: noqa: ARG002, D102 - one interface, documented in its first class; a platform uses what it needs of it

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from tars_memory.errors import BusyError, UnwritableError
from tars_memory.vault.folder import FOLDER_HANDLES, Folder, same_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    class RangeLock:
        """The part of ``msvcrt`` that is used; tests pass their own."""

        LK_NBLCK: int
        LK_UNLCK: int

        def locking(self, fd: int, mode: int, size: int, /) -> None:
            """Lock or unlock ``size`` bytes from the file's current position."""


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HOLDER_BYTES = 200
"""Length to which the holder's line is padded, so that one write replaces an older, longer line."""

RANGE_OFFSET = 1 << 30
"""Position of the byte that is locked on Windows: far behind the text, so that others can read the holder's name."""

FIRST_WAIT, LONGEST_WAIT = 0.0005, 0.004
"""Seconds between two tries: doubled up to the longest, each shortened at random so that not all waiters try at
once."""


class VaultLock:
    """The lock of one vault.

    Args:
        path: the lock file; its folder is made if missing.
        timeout: seconds to wait for another holder.
        command: the holder's command, for the message that others see.
        ranges: None for the system's own; tests pass a substitute for ``msvcrt``.
    """

    def __init__(self, path: Path, *, timeout: float, command: str, ranges: RangeLock | None = None) -> None:
        self.path = path
        self.timeout = timeout
        self.command = command
        self.ranges = ranges if ranges is not None else _platform_ranges()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a ``with`` block.

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
        """Take the lock and return the descriptor of its file."""
        deadline = time.monotonic() + self.timeout
        while True:
            fd = self._open()
            locked = current = False
            try:
                locked = self._wait(fd, deadline)
                current = locked and self._is_current(fd)
                if current:
                    self._write_holder(fd)
                    return fd
            except OSError as error:
                current = False
                raise UnwritableError(
                    f"can't lock {self.path}: {error.strerror or error}",
                    "the state folder must be on a file system with file locks",
                ) from error
            except BaseException:  # Ctrl-C must not leave the file locked in a process that lives on
                current = False
                raise
            finally:
                if not current:  # locked, yet not current: the state folder was replaced while we waited
                    self._release(fd, locked)
            if not locked:
                raise BusyError(
                    f"the vault is busy: {self.holder() or 'another process'} holds the lock",
                    f"waited {self.timeout:g} s; try again when it has finished",
                )

    def _wait(self, fd: int, deadline: float) -> bool:
        """Take the lock by the deadline; return False if another process held it all the time."""
        wait = FIRST_WAIT
        while not self._try_lock(fd):
            if time.monotonic() >= deadline:
                return False
            chance = os.getpid() * time.monotonic_ns() % 997 / 997  # spreads waiters without importing random
            time.sleep(wait * (0.5 + chance / 2))
            wait = min(wait * 2, LONGEST_WAIT)
        return True

    def holder(self) -> str:
        """Return who holds the lock, or held it last: ``process 4711 (remember)``; empty if unknown."""
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

    def _try_lock(self, fd: int) -> bool:
        """Take the lock without waiting; return False if another process holds it."""
        try:
            if self.ranges is not None:
                os.lseek(fd, RANGE_OFFSET, os.SEEK_SET)
                self.ranges.locking(fd, self.ranges.LK_NBLCK, 1)
            else:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the second is Windows' error
            return False
        return True

    def _is_current(self, fd: int) -> bool:
        """Whether the open file is still the one at the lock's path."""
        try:
            return same_file(os.stat(self.path), os.fstat(fd))
        except FileNotFoundError:
            return False

    def _write_holder(self, fd: int) -> None:
        """Write this process's id and command into the lock file."""
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
    """Hold a lock file for a ``with`` block, without waiting for it, so that one process at a time does something.

    Args:
        path: the lock file.
        command: what the holder does, for the message that others see.
        busy: error message if another process holds the lock; the holder's name is added.
        hint: hint of that error.

    Raises:
        BusyError: another process holds the lock.
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
    """Return Windows' byte range locks; None where ``flock`` is used."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt
    return None


# --- replacing one file with another

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
"""Flags of ``renameat2(2)``."""

RENAME_SWAP, RENAME_EXCL = 2, 4
"""Flags of ``renameatx_np(2)``."""

COPYFILE_ACL, COPYFILE_XATTR = 1, 4
"""Flags of ``copyfile(3)``."""

RENAMEAT2_NUMBERS = {"x86_64": 316, "aarch64": 276, "armv7l": 382, "i686": 353, "riscv64": 276, "ppc64le": 357}
"""Numbers of the system call by machine, for C libraries without a wrapper."""

_UNABLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})


class UnsupportedError(OSError):
    """The file system lacks the call."""


class Exchange:
    """The calls that replace files, on a system that has none of its own; other systems derive from it.

    Attributes:
        name: the name of the call that exchanges files.
        leases: whether the kernel can tell if another process has a file open.
        keeps_open: whether files may be open while they are replaced.
        folder_handles: whether names can be opened inside an open folder.
    """

    name = "none"
    leases = False
    keeps_open = True
    folder_handles = FOLDER_HANDLES

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        """Put ``temp`` in the place of ``name``.

        Args:
            folder: holds all three files.
            name: the note's name.
            temp: the name of the new file; afterwards it is free or the name of the displaced file.
            aside: a free name.

        Returns:
            The name of the displaced file, ``temp`` or ``aside``.

        Raises:
            UnsupportedError: nothing was done; the file system can't do it.
        """
        raise UnsupportedError(errno.EOPNOTSUPP, "no exchange of files here", name)

    def place(self, folder: Folder, temp: str, name: str) -> bool:
        """Rename ``temp`` to ``name`` unless that is taken.

        Returns:
            False if the file has its new name, but its old one could not be removed.

        Raises:
            FileExistsError: ``name`` is taken; nothing was done.
            UnsupportedError: the file system has neither links nor such a call.
        """
        try:
            folder.link(temp, name)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOENT, errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT):
                raise
            self.rename_new(folder, temp, name)
            return True
        try:
            folder.remove(temp)
        except OSError:
            return False
        return True

    def rename_new(self, folder: Folder, temp: str, name: str) -> None:
        """Rename unless the name is taken, for file systems without links."""
        raise UnsupportedError(errno.EOPNOTSUPP, "no rename without replacing here", name)

    def copy_attributes(self, source: int, target: int, old_stat: os.stat_result) -> None:
        """Give the new file the mode, owner and attributes of the file that it replaces.

        Args:
            source: descriptor of the old file.
            target: descriptor of the new file.
            old_stat: the ``stat`` of the old file.

        Raises:
            PermissionError: owner or group can't be kept, and somebody would lose access to the note.
        """
        new_stat = os.fstat(target)
        if (new_stat.st_uid, new_stat.st_gid) != (old_stat.st_uid, old_stat.st_gid):
            _keep_owner(target, old_stat)
        os.fchmod(target, old_stat.st_mode & 0o7777)


class LinuxExchange(Exchange):
    """``renameat2`` with ``RENAME_EXCHANGE``, leases, extended attributes."""

    name = "renameat2"
    leases = True

    def __init__(self) -> None:
        self._call: Any = None

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        self._rename(folder, temp, name, RENAME_EXCHANGE)
        return temp

    def rename_new(self, folder: Folder, temp: str, name: str) -> None:
        self._rename(folder, temp, name, RENAME_NOREPLACE)

    def copy_attributes(self, source: int, target: int, old_stat: os.stat_result) -> None:
        super().copy_attributes(source, target, old_stat)
        if sys.platform == "linux":
            try:
                names = os.listxattr(source)
            except OSError:
                return
            for name in names:
                try:
                    os.setxattr(target, name, os.getxattr(source, name))
                except OSError as error:
                    # The system sets its own labels by itself; the person's own attributes must not be lost.
                    if name.startswith("user."):
                        raise
                    if name.startswith("system.posix_acl") and error.errno != errno.EOPNOTSUPP:
                        raise

    def _rename(self, folder: Folder, old: str, new: str, flags: int) -> None:
        if self._call is None:
            self._call = _renameat2(_c_library())
        fd = -100 if folder.fd is None else folder.fd  # AT_FDCWD
        names = [os.fsencode(folder.at(name) if folder.fd is None else name) for name in (old, new)]
        _raise_unless_ok(self._call(fd, names[0], fd, names[1], flags), new)


class MacExchange(Exchange):
    """``renameatx_np`` with ``RENAME_SWAP`` (APFS); attributes by ``fcopyfile``."""

    name = "renameatx_np"

    def __init__(self, library: Any = None) -> None:
        self._library = library

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        self._rename(folder, temp, name, RENAME_SWAP)
        return temp

    def rename_new(self, folder: Folder, temp: str, name: str) -> None:
        self._rename(folder, temp, name, RENAME_EXCL)

    def copy_attributes(self, source: int, target: int, old_stat: os.stat_result) -> None:
        library = self._library or _c_library()
        _raise_unless_ok(library.fcopyfile(source, target, None, COPYFILE_ACL | COPYFILE_XATTR), "attributes")
        super().copy_attributes(source, target, old_stat)

    def _rename(self, folder: Folder, old: str, new: str, flags: int) -> None:
        fd = -2 if folder.fd is None else folder.fd  # AT_FDCWD
        call = (self._library or _c_library()).renameatx_np
        _raise_unless_ok(call(fd, os.fsencode(old), fd, os.fsencode(new), flags), new)


class WindowsExchange(Exchange):
    """``ReplaceFileW``, which keeps the replaced file under a name of ours, and its rights and time of creation."""

    name = "ReplaceFileW"
    keeps_open = False

    def __init__(self, library: Any = None) -> None:
        self._library = library

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        library = self._library or _kernel32()
        if not library.ReplaceFileW(folder.at(name), folder.at(temp), folder.at(aside), 0, None, None):
            raise _windows_error(library, name)
        return aside

    def place(self, folder: Folder, temp: str, name: str) -> bool:
        os.rename(folder.at(temp), folder.at(name))  # refuses a taken name by itself on Windows
        return True

    def copy_attributes(self, source: int, target: int, old_stat: os.stat_result) -> None:
        """Do nothing: ReplaceFileW copies the attributes."""


def of_this_system(system: str = sys.platform) -> Exchange:
    """Return the calls that a system offers; only the first swap shows whether the file system supports them."""
    kinds: dict[str, type[Exchange]] = {"linux": LinuxExchange, "darwin": MacExchange, "win32": WindowsExchange}
    return kinds.get(system, Exchange)()


@cache
def _c_library() -> Any:
    import ctypes  # imported here, as an append need not pay its 3 ms

    return ctypes.CDLL(None, use_errno=True)


def _renameat2(library: Any) -> Any:
    """Return the C library's wrapper, or a function that makes the bare system call."""
    try:
        return library.renameat2
    except AttributeError:
        number = RENAMEAT2_NUMBERS.get(platform.machine())
        if number is None:
            raise UnsupportedError(errno.ENOSYS, "no renameat2 here") from None

        def call(*arguments: Any) -> Any:
            return library.syscall(number, *arguments)

        return call


def _raise_unless_ok(result: int, name: str) -> None:
    """Raise the error of a C library call unless its result is 0."""
    if result == 0:
        return
    import ctypes

    number = ctypes.get_errno()
    if number in _UNABLE:
        raise UnsupportedError(number, os.strerror(number), name)
    raise OSError(number, os.strerror(number), name)


def _keep_owner(target: int, old_stat: os.stat_result) -> None:
    """Give a file the owner and group of another.

    A person who may not give files away becomes the owner, as with any editor that saves by rename, unless somebody
    would lose rights by it.

    Raises:
        PermissionError: somebody would lose rights.
    """
    try:
        os.fchown(target, old_stat.st_uid, old_stat.st_gid)
    except PermissionError:
        owner, group, other = (old_stat.st_mode >> shift & 7 for shift in (6, 3, 0))
        if os.fstat(target).st_uid == old_stat.st_uid:
            owner = 0  # only the group can't be given, so that no owner loses anything
        try:
            os.fchown(target, -1, old_stat.st_gid)
            lost = owner & ~group
        except PermissionError:
            lost = (owner | group) & ~other
        if lost:
            raise


@cache
def _kernel32() -> Any:
    if sys.platform == "win32":
        import ctypes

        library = ctypes.WinDLL("kernel32")
        library.ReplaceFileW.argtypes = [ctypes.c_wchar_p] * 3 + [ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
        return library
    raise UnsupportedError(errno.ENOSYS, "no ReplaceFileW here")


def _windows_error(library: Any, name: str) -> OSError:
    """Return the last error of a Windows call as an ``OSError``."""
    code = library.GetLastError()
    if code in (1, 50, 120):  # ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED, ERROR_CALL_NOT_IMPLEMENTED
        return UnsupportedError(errno.EOPNOTSUPP, "no ReplaceFileW on this file system", name)
    number = {2: errno.ENOENT, 3: errno.ENOENT, 5: errno.EACCES, 32: errno.EACCES, 112: errno.ENOSPC}.get(
        code, errno.EIO
    )
    return OSError(number, os.strerror(number), name)
