"""The vector of a query, by the cheapest way that gives it: remembered from an earlier search, else the model.

A remembered vector costs one small file read and imports nothing heavy. The memory is best effort: what can't be
read or was damaged is made again, what can't be written is not written. A file a query needs no
lock, no driver, and can't damage its neighbours.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tars_memory.disk import sha256
from tars_memory.index.embedding import models
from tars_memory.index.live import warm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tars_memory.settings import EmbeddingOptions

FOLDER = "queries"
KEPT = 2_000
"""Query vectors kept; 3 MB of content. The oldest go first."""


_STRANGE = Struct("<d")


class QueryVector(NamedTuple):
    """What the model makes of a query."""

    vector: bytes
    """Of the whole: float32 little-endian, L2-normalised."""
    words: tuple[bytes, ...]
    """Of each word that is no stop word, in order: the signs of its vector, one bit a dimension."""
    strange: float = 0.0
    """How unlike any language the query is, as far as the model's word pieces tell: 1 and more is no words at all."""
    model: str = ""
    """The model that made it, as the setting names it."""


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
            answered = warm.ask(self._warm, self.identity, self.dimension, text)
            if answered is not None:
                _write(path, answered)
                return answered
        embed = self._embed or _open(self._model, self._cache)
        made = embed(text)
        if self._asked:
            self._embed = embed
        self._asked = True
        _write(path, made)
        return made

    def remembered(self, text: str) -> bool:
        """Whether the vectors are at hand without the model."""
        return _read(self._path(text), self.dimension) is not None

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


def _open(model: str, cache: Path) -> Callable[[str], QueryVector]:
    manifest, folder = models.ready(model, cache)
    if manifest.is_direct:
        from tars_memory.index.embedding.session import Session

        return Session(manifest, folder).query
    from tars_memory.index.embedding.passages import open_fastembed

    return open_fastembed(manifest, folder).query


def _read(path: Path, dimension: int) -> QueryVector | None:
    """What is remembered, if it is whole."""
    try:
        return unpack(path.read_bytes(), dimension)
    except OSError:
        return None


def unpack(data: bytes, dimension: int) -> QueryVector | None:
    """What :func:`pack` made, if it is whole."""
    content, sum_ = data[:-4], data[-4:]
    end, size = 4 * dimension, dimension // 8
    start = end + _STRANGE.size
    if len(content) < start or (len(content) - start) % size or crc32(content).to_bytes(4, "little") != sum_:
        return None
    words = tuple(content[at : at + size] for at in range(start, len(content), size))
    return QueryVector(content[:end], words, *_STRANGE.unpack(content[end:start]))


def pack(made: QueryVector) -> bytes:
    """Vector, how strange it is, words, checksum of all."""
    content = made.vector + _STRANGE.pack(made.strange) + b"".join(made.words)
    return content + crc32(content).to_bytes(4, "little")


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
