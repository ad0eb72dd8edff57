"""Folders and notes beneath the vault, reached without ever following a link; and leases on open notes.

Every step of a path is opened in the folder before it (``O_NOFOLLOW``), so that a folder replaced by a link between
two steps leads nowhere. On systems without such calls (Windows) paths are joined, and every step is checked first.

With a lease, Linux tells us whether another program has a note open for writing, and makes it wait while we work. A
read lease is only granted while nobody has the file open for writing; from then on a program that opens it for writing
waits in ``open`` until we release the lease (the kernel breaks it after 45 s), and we can see that it waits. So we
notice a save in progress, and a save that begins during ours is never written into a file that we are about to remove.
Other systems, network file systems and files of another owner have no leases: there the bytes are compared instead,
which leaves a window of microseconds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import sys
import time
from typing import TYPE_CHECKING

from tars_memory.disk import sha256
from tars_memory.errors import UnwritableError, UsageError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


FREE, TAKEN, UNKNOWN = "free", "taken", "unknown"
"""Results of :func:`take_lease`: we have the lease; another program has the file open; this file can't be leased."""

FOLDER_HANDLES = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
"""Whether this system can open names inside an open folder."""

SAVE_WAIT = 2.0
"""Seconds to wait for another program that is saving a note."""

SETTLE = 0.02
"""Seconds that a note must have been unchanged before it is read, where there are no leases."""

REMOVE_TRIES = 20
"""Maximum number of tries of a removal that is interrupted."""

EMPTY_WAIT = 0.3
"""Seconds that a note must have been empty before it is read as empty, where there are no leases."""

PLACEHOLDER_SUFFIX = ".icloud"
"""Ending of the hidden file that iCloud leaves in place of one that is not on this device."""

TEMP_SUFFIX = ".tars-tmp"
"""End of the names of our temporary files."""

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_SAFE |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_AS_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _SAFE


class NotPlainError(UnwritableError):
    """A step of the path is a link, or the note is not a regular file."""


class Folder:
    """An open folder.

    Args:
        path: its full path, for messages and for systems without folder handles.
        fd: its descriptor; None on systems without folder handles.
    """

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, root: Path, *, handles: bool = FOLDER_HANDLES) -> Folder:
        """Open the vault's root, given by its real path."""
        path = os.fspath(root)
        return cls(path, os.open(path, _AS_FOLDER) if handles else None)

    def child(self, name: str) -> Folder:
        """Open a folder in this one.

        Raises:
            FileNotFoundError: there is none.
            UnwritableError: it is a link, or not a folder.
        """
        path = os.path.join(self.path, name)
        if self.fd is None:
            found = os.stat(path, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode) or getattr(found, "st_reparse_tag", False):  # a junction
                raise _not_plain(path, "is a link or not a folder")
            return Folder(path, None)
        try:
            return Folder(path, os.open(name, _AS_FOLDER, dir_fd=self.fd))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
                raise _not_plain(path, "is a link or not a folder") from error
            raise

    @contextlib.contextmanager
    def below(self, parents: Iterable[str]) -> Iterator[Folder]:
        """Open a folder below this one for a ``with`` block, step by step; raises the errors of :meth:`child`."""
        with contextlib.ExitStack() as stack:
            folder = self
            for name in parents:
                folder = folder.child(name)
                stack.callback(folder.close)
            yield folder

    def close(self) -> None:
        """Close the descriptor; harmless if done before."""
        if self.fd is not None:
            fd, self.fd = self.fd, None
            close(fd)

    def file(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file in this folder, never through a link; returns its descriptor."""
        if self.fd is None and os.path.islink(self._argument(name)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        deadline = time.monotonic() + SAVE_WAIT
        while True:
            try:
                return os.open(self._argument(name), flags | _SAFE, mode, dir_fd=self.fd)
            except BlockingIOError:  # another process holds a lease, as we do during a write
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.001)

    def look(self, name: str) -> os.stat_result | None:
        """Return the ``stat`` of a name (of a link itself, not its target); None if there is no such name."""
        try:
            return os.stat(self._argument(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def lacks_download(self, name: str) -> bool:
        """Whether iCloud has taken a file off this device: a hidden placeholder bears its name."""
        return self.look(f".{name}{PLACEHOLDER_SUFFIX}") is not None

    def may_write(self, name: str) -> bool:
        """Whether the file's mode lets this process write it."""
        if os.access in os.supports_effective_ids:
            return os.access(self._argument(name), os.W_OK, dir_fd=self.fd, effective_ids=True)
        return os.access(self._argument(name), os.W_OK, dir_fd=self.fd)

    def is_read_only(self) -> bool:
        """Whether the file system is mounted read-only; False where the system doesn't say."""
        try:
            return self.fd is not None and bool(os.fstatvfs(self.fd).f_flag & os.ST_RDONLY)
        except (AttributeError, OSError):
            return False

    def make(self, name: str) -> None:
        """Make a folder unless it exists."""
        try:
            os.mkdir(self._argument(name), dir_fd=self.fd)
        except FileExistsError:
            return
        self.sync()

    def remove(self, name: str) -> bool:
        """Remove a file; return False if there is none.

        Interrupted calls are repeated for a while, as network file systems need it.

        Raises:
            OSError: it can't be removed.
        """
        for attempt in range(REMOVE_TRIES):
            try:
                os.unlink(self._argument(name), dir_fd=self.fd)
            except FileNotFoundError:
                return False
            except InterruptedError:
                if attempt == REMOVE_TRIES - 1:
                    raise
            else:
                return True
        return True

    def remove_empty(self, name: str) -> None:
        """Remove a folder if it is empty and can be removed."""
        with contextlib.suppress(OSError):
            os.rmdir(self._argument(name), dir_fd=self.fd)

    def rename(self, name: str, new: str) -> None:
        """Rename a file within this folder; ``new`` is a name that only we use."""
        os.rename(self._argument(name), self._argument(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def move(self, name: str, target: Folder, new: str) -> None:
        """Move a file into another folder of the vault under the name ``new``."""
        os.rename(self._argument(name), target._argument(new), src_dir_fd=self.fd, dst_dir_fd=target.fd)

    def link(self, name: str, new: str) -> None:
        """Give a file a second name.

        Raises:
            FileExistsError: the name is taken.
        """
        follow = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
        os.link(self._argument(name), self._argument(new), src_dir_fd=self.fd, dst_dir_fd=self.fd, **follow)

    def at(self, name: str) -> str:
        """Return the full path of a name in this folder."""
        return os.path.join(self.path, name)

    def sync(self) -> None:
        """Make the folder's names durable, where the system can."""
        if self.fd is not None:
            os.fsync(self.fd)

    def _argument(self, name: str) -> str:
        """Return a name as system calls take it: itself beside the folder's descriptor, else its full path."""
        return name if self.fd is not None else os.path.join(self.path, name)


class OpenNote:
    """A note as it was read.

    Attributes:
        data: its bytes.
        stat: its ``fstat``.
        fd: descriptor of the open file, which holds the lease; None once it is closed.
        leased: whether there is a lease on it.
    """

    def __init__(self, data: bytes, status: os.stat_result, fd: int | None, leased: bool) -> None:
        self.data = data
        self.stat = status
        self.fd = fd
        self.leased = leased

    def close(self) -> None:
        """Close the file and release the lease; harmless if done before."""
        if self.fd is not None:
            fd, self.fd = self.fd, None
            close(fd)

    def undisturbed(self) -> bool:
        """Whether no program waits to write the file that was read; also True where there are no leases."""
        return not self.leased or (self.fd is not None and keeps_lease(self.fd))

    def is_at(self, folder: Folder, name: str) -> bool:
        """Whether the name is that of the file that was read, unchanged as far as ``stat`` shows."""
        found = folder.look(name)
        return found is not None and same_state(found, self.stat)


def same_file(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether two ``stat`` results are of the same file."""
    return (before.st_ino, before.st_dev) == (after.st_ino, after.st_dev)


def same_state(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether two ``stat`` results are of the same file with the same length and time of modification."""
    return same_file(before, after) and (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)


def steps(path: str) -> list[str]:
    """Return the steps of a path relative to the vault.

    Raises:
        UsageError: the path could leave the vault, or is not a valid path.
    """
    parts = path.split("/")
    invalid = not path or "\0" in path or any(part in ("", ".", "..") for part in parts)
    if invalid or (sys.platform == "win32" and any(character in path for character in '\\:<>"|?*')):
        raise UsageError(
            f"{path!r} is not a path inside the vault", "give the note's path in the vault: folder/note.md"
        )
    return parts


def read_note(
    folder: Folder, name: str, *, leases: bool = True, keep: bool = True, trusted: str | None = None
) -> OpenNote | None:
    """Read a whole note, never half of a save; return None if there is no such file.

    Args:
        folder: the note's folder.
        name: the note's name in it.
        leases: ask the kernel whether another program is writing.
        keep: leave the file open, and the lease with it.
        trusted: SHA-256 of a text that we wrote ourselves, which is read without waiting for :data:`SETTLE`.

    Raises:
        UnwritableError: it is not a regular file, or another program did not end saving it within :data:`SAVE_WAIT`.
        OSError: reading failed.
    """
    deadline = time.monotonic() + SAVE_WAIT
    wait, had_text = 0.001, False
    while True:
        note = _try_read(folder, name, leases, trusted)
        if note is None:
            return None
        if isinstance(note, OpenNote):
            if note.data or not had_text:
                if not keep:
                    note.close()
                return note
            note.close()
        had_text = had_text or note == "cut"
        if time.monotonic() >= deadline:
            raise UnwritableError(
                f"{folder.at(name)} is being saved, or held open for writing, by another program",
                "let it finish, or close the note there, then try again",
            )
        time.sleep(wait)
        wait = min(wait * 2, 0.02)


def _try_read(folder: Folder, name: str, leases: bool, trusted: str | None) -> OpenNote | str | None:
    """Read a note once.

    Returns:
        The note; None if there is none; or why it can't be trusted yet: ``open`` for writing by another program,
        ``cut`` (it just lost its text), ``moving`` (it changed while it was read) or ``fresh`` (it just changed).
    """
    try:
        fd = folder.file(name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise _not_plain(folder.at(name), "is a link") from error
        raise
    keep_open = False
    try:
        first = os.fstat(fd)
        if not stat.S_ISREG(first.st_mode):
            raise _not_plain(folder.at(name), "is not a regular file")
        answer = take_lease(fd) if leases else UNKNOWN
        if answer == TAKEN:
            return "open"
        data = read_all(fd, first.st_size)
        last = os.fstat(fd)
        if len(data) != last.st_size or not same_state(first, last):
            return "cut" if first.st_size and not data else "moving"
        if answer == UNKNOWN:
            age = time.time() - last.st_mtime
            if 0 <= age < (SETTLE if data else EMPTY_WAIT) and digest(data) != trusted:
                return "fresh"
        keep_open = True
        return OpenNote(data, last, fd, answer == FREE)
    finally:
        if not keep_open:
            close(fd)


def digest(data: bytes) -> str:
    """Return the SHA-256, in hexadecimal, by which journal and notes are compared."""
    return sha256(data).hexdigest()


def read_all(fd: int, size: int) -> bytes:
    """Read a file from its position to its end; ``size`` is the expected number of bytes."""
    parts: list[bytes] = []
    while True:
        part = os.read(fd, max(size + 1 - sum(map(len, parts)), 65536))
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in as many calls as the system needs."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync(fd: int) -> None:
    """Make a file durable; on macOS also flush the drive's own cache."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError:  # a file system without it
            os.fsync(fd)
    else:
        os.fsync(fd)


def close(fd: int) -> None:
    """Close a file; errors are ignored, as its data is durable already or about to be given up."""
    try:
        os.close(fd)
    except OSError:
        return


def _not_plain(path: str, problem: str) -> NotPlainError:
    return NotPlainError(
        f"{path} {problem}: neither read nor written",
        "put the note itself there; links out of the vault are never followed",
    )


# -- leases


def take_lease(fd: int, *, write: bool = False) -> str:
    """Ask for a lease on an open file; it ends with :func:`drop_lease` or when the file is closed.

    Args:
        fd: open for reading only; with ``write`` it may be open for writing.
        write: only if no other program has the file open at all; otherwise, only if none has it open for writing.

    Returns:
        :data:`FREE`, :data:`TAKEN` or :data:`UNKNOWN`.
    """
    if sys.platform != "linux":
        return UNKNOWN
    try:
        # The default signal of a broken lease, SIGIO, would end the process; SIGURG is ignored unless handled.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK if write else fcntl.F_RDLCK)
    except OSError as error:
        return TAKEN if error.errno == errno.EAGAIN else UNKNOWN
    return FREE


def keeps_lease(fd: int) -> bool:
    """Whether we still have a read lease, so that no program waits to write."""
    if sys.platform != "linux":
        return False
    try:
        return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    except OSError:
        return False


def drop_lease(fd: int) -> None:
    """Release a lease, so that programs that wait can go on."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
