"""Asking a running watcher for a query's vectors: it holds the model open, so that a new query need not open it.

One question, one answer, over a socket in the state folder that only its owner can reach. Whatever is wrong with it
(none, stale, foreign, of another version, busy, hung), the answer is None within :data:`PATIENCE`, and the search does
its own work.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tars_memory.index.embedding.queryvector import QueryVector

SOCKET = "watch.sock"
GREETING = b"tars-memory 1 "
"""Name and version of the protocol; then the model's identity, the length of the text in bytes, a newline, the text."""

LONGEST_QUERY = 65_536
"""Bytes of a query that a watcher answers."""

LONGEST_ANSWER = 4_000_000
PATIENCE = 0.25
"""Seconds that a search waits for an answer, about what opening the model would cost it."""

LONGEST_ADDRESS = 100
"""Bytes of a socket's path that every system takes."""


def ask(path: Path, identity: str, dimension: int, text: str) -> QueryVector | None:
    """The query's vectors from the watcher that listens at ``path``; None if there is none that answers.

    Args:
        path: of the socket.
        identity: of the model that must answer.
        dimension: of its vectors.
        text: the query.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LONGEST_QUERY or not is_ours(path):
        return None
    import _socket  # the module around it costs three times as much to import

    from tars_memory.index.embedding.queryvector import unpack

    deadline = time.monotonic() + PATIENCE
    try:
        with closing(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)) as connection:
            connection.settimeout(PATIENCE)
            with reachable(path) as address:
                connection.connect(address)
            connection.sendall(b"%s%s %d\n%s" % (GREETING, identity.encode("ascii"), len(data), data))
            answer = b""
            while len(answer) <= LONGEST_ANSWER:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                connection.settimeout(left)
                part = connection.recv(65_536)
                if not part:
                    return unpack(answer, dimension)
                answer += part
    except OSError:
        pass
    return None


def is_ours(path: Path) -> bool:
    """Whether there is a socket at the path that this user made and nobody else may write to."""
    if os.name != "posix":
        return False
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


class reachable:  # noqa: N801  # a context manager is named like the function it replaces
    """The address of a socket, by a shorter way if its path is too long for one.

    Raises:
        OSError: it is too long, and this system has no shorter way.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= LONGEST_ADDRESS:
            return str(self._path)
        if sys.platform != "linux":
            raise OSError(f"{self._path} is too long for a socket")
        self._folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
