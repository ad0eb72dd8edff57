"""Leases: Linux tells us whether somebody else has a note open for writing, and holds him up while we work.

A read lease is only granted while nobody has the file open for writing; from then on a program that opens it for
writing waits in ``open`` until we let go (the kernel breaks the lease after 45 s), and we can see that it waits. So a
save in progress is seen as such, and a save that begins in the middle of ours is never written into a file that we
are about to remove. Other systems, network file systems and files of another owner have no leases: there the bytes
are compared instead, which leaves a window of microseconds.
"""

from __future__ import annotations

import contextlib
import errno
import signal
import sys

if sys.platform == "linux":
    import fcntl

FREE, TAKEN, UNKNOWN = "free", "taken", "unknown"
"""Answers of :func:`take`: we have the lease; somebody has the file open; this file can't be leased."""


def take(fd: int, *, write: bool = False) -> str:
    """Ask for a lease on an open file; it ends with :func:`drop` or when the file is closed.

    Args:
        fd: open for reading only; with ``write`` it may be open for writing.
        write: nobody else may have the file open at all, else nobody may have it open for writing.
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


def kept(fd: int) -> bool:
    """Whether a read lease is still whole: nobody waits to write."""
    if sys.platform != "linux":
        return False
    try:
        return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    except OSError:
        return False


def drop(fd: int) -> None:
    """Let those who wait go on."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
