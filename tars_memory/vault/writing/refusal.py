"""What the system says when it refuses, as what a person can act on."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

from tars_memory.errors import TarsError, UnwritableError
from tars_memory.vault.writing.exchange import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn what the system says into what a person can act on.

    Raises:
        UnwritableError: for any ``OSError`` inside; names the path.
    """
    try:
        yield
    except TarsError:
        raise
    except UnsupportedError as error:
        raise UnwritableError(
            f"{path}: the file system can't exchange two files, so an edit could lose what you save meanwhile",
            "adding lines works here; edit this note by hand, or keep the vault on another file system",
        ) from error
    except OSError as error:
        said = error.strerror or str(error)
        raise UnwritableError(f"{path} can't be written: {said}", _hint(error.errno)) from error


def _hint(number: int | None) -> str:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk, then try again"
    if number in (errno.EACCES, errno.EPERM):
        return "check the owner and the rights of the note and its folder"
    if number == errno.EROFS:
        return "the file system is mounted read-only"
    if number == errno.EFBIG:
        return "this process may not write a file of that size: ulimit -f"
    if number == errno.EIO:
        return "the disk reported an error: check it, and your backup"
    return "try again; tars-memory doctor looks for the cause"
