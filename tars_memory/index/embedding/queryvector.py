"""The vector of a query, by the cheapest way that gives it: remembered, of a process that holds the model, the model.

A remembered vector costs one small file read and imports nothing heavy. The memory is best effort: what can't be
read or was damaged is made again, what can't be written is not written. A file a query needs no
lock, no driver, and can't damage its neighbours.

A running watcher holds the model open: one question, one answer, over a socket in the state folder that only its owner
can reach. Whatever is wrong with it (none, stale, foreign, of another version, busy, hung), the answer is None within
:data:`PATIENCE`, and the search does its own work.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from tars_memory.disk import sha256
from tars_memory.index.embedding import models
from tars_memory.index.embedding.models import QueryVector, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tars_memory.settings import EmbeddingOptions


FOLDER = "queries"
KEPT = 2_000
"""Query vectors kept; 3 MB of content. The oldest go first."""


class QueryVectors:
    """Query vectors of one model.

    The model is opened by a query that isn't remembered. The first time it is closed again, so that a process which
    asks once doesn't hold 46 MB of weights while it searches; from the second on it stays open.
    """

    def __init__(
        self,
        options: EmbeddingOptions,
        cache: Path,
        warm: Path | None = None,
        embed: Callable[[str], QueryVector] | None = None,
    ) -> None:
        """For the model named in the options.

        Args:
            options: name the model.
            cache: the program's cache folder.
            warm: where a watcher's socket would be, to be asked before the model is opened.
            embed: of the model, where it is open.

        Raises:
            ModelUnavailableError: a model that pip doesn't install is set and was never fetched.
        """
        self._model = options.model
        self._cache = cache
        self._warm = warm
        self._embed = embed
        self._asked = False
        manifest = models.manifest_of(options.model, cache)
        self.identity = manifest.identity
        self.dimension = manifest.dimension

    def query(self, text: str) -> QueryVector:
        """The query's vectors.

        Raises:
            ModelUnavailableError: they aren't remembered and the model can't be used; never waits for a network.
        """
        return self._query(text)._replace(model=self._model)

    def _query(self, text: str) -> QueryVector:
        path = self._path(text)
        known = _read(path, self.dimension)
        if known is not None:
            return known
        if self._warm is not None and self._embed is None:
            answered = ask(self._warm, self.identity, self.dimension, text)
            if answered is not None:
                _write(path, answered)
                return answered
        embed = self._embed or self._open()
        made = embed(text)
        if self._asked:
            self._embed = embed
        self._asked = True
        _write(path, made)
        return made

    def remembered(self, text: str) -> bool:
        """Whether the vectors are at hand without the model."""
        return _read(self._path(text), self.dimension) is not None

    def _open(self) -> Callable[[str], QueryVector]:
        from tars_memory.index.embedding.passages import open_runner

        return open_runner(self._model, self._cache).query

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._cache / FOLDER / self.identity / digest[:32]


def forget(cache: Path) -> None:
    """Forget every query: which of them said a thing can't be told from their names.

    Raises:
        OSError: one can't be removed.
    """
    for path in (cache / FOLDER).glob("*/*"):
        path.unlink(missing_ok=True)


def _read(path: Path, dimension: int) -> QueryVector | None:
    """What is remembered, if it is whole."""
    try:
        return unpack(path.read_bytes(), dimension)
    except OSError:
        return None


def _write(path: Path, made: QueryVector) -> None:
    """Remember, under a name of its own first so that no reader meets half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(pack(made))
        temporary.replace(path)
        if made.vector[0] < 8:  # one time in 32, for a listing costs as much as a search
            _prune(path.parent)
    except OSError:
        pass


def _prune(folder: Path) -> None:
    entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder))
    for _, path in entries[: max(0, len(entries) - KEPT)]:
        os.unlink(path)


# --- the socket of whatever holds the model open


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
