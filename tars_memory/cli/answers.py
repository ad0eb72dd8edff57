"""A model's answer that another program gave: ``--reply FILE``, or ``-`` for stdin."""

from __future__ import annotations

from pathlib import Path

from tars_memory.cli.call import read_stdin
from tars_memory.errors import UsageError


def answer_in(source: str) -> str:
    """The text of a file, or of stdin; bytes that are no UTF-8 are replaced.

    Raises:
        UsageError: it can't be read.
    """
    if source == "-":
        return read_stdin()
    try:
        return Path(source).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{source} can't be read: {error.strerror}", "name the file that holds the answer") from error
