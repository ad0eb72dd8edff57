"""The vector of a query, by the cheapest way that gives it: remembered from an earlier search, else the model.

A remembered vector costs one small file read and imports nothing heavy. The memory is best effort: what can't be
read, has the wrong length or no direction is made again, what can't be written is not written. A file a query needs no
lock, no driver, and can't damage its neighbours.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models

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

    def __init__(self, options: EmbeddingOptions, cache: Path) -> None:
        """For the model named in the options; ``cache`` is the program's cache folder.

        Raises:
            ModelUnavailableError: another model than the embedded one is set and was never fetched.
        """
        self._model = options.model
        self._cache = cache
        self._embed: Callable[[str], bytes] | None = None
        self._asked = False
        manifest = models.manifest_of(options.model, cache)
        self.identity = manifest.identity
        self.dimension = manifest.dimension

    def vector(self, text: str) -> bytes:
        """The query's vector: float32 little-endian, L2-normalised.

        Raises:
            ModelUnavailableError: it isn't remembered and the model can't be used; never waits for a network.
        """
        path = self._path(text)
        known = _read(path, self.dimension)
        if known is not None:
            return known
        embed = self._embed or _open(self._model, self._cache)
        vector = embed(text)
        if self._asked:
            self._embed = embed
        self._asked = True
        _write(path, vector)
        return vector

    def remembered(self, text: str) -> bool:
        """Whether the vector is at hand without the model."""
        return _read(self._path(text), self.dimension) is not None

    def _path(self, text: str) -> Path:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._cache / FOLDER / self.identity / digest[:32]


def query_vector(text: str, options: EmbeddingOptions, cache: Path) -> bytes:
    """The vector of one query, for a process that asks once; see :class:`QueryVectors`.

    Raises:
        ModelUnavailableError: it isn't remembered and the model can't be used; never waits for a network.
    """
    return QueryVectors(options, cache).vector(text)


def _open(model: str, cache: Path) -> Callable[[str], bytes]:
    manifest, folder = models.ready(model, cache)
    if manifest.runner == "onnxruntime":
        from tars_memory.index.session import Session

        return Session(manifest, folder).query
    from tars_memory.index.embedding import open_fastembed

    return open_fastembed(manifest, folder).query


def _read(path: Path, dimension: int) -> bytes | None:
    """The remembered vector, if it is one: the right length, and of length 1."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data if is_vector(data, dimension) else None


def is_vector(data: bytes, dimension: int) -> bool:
    """Whether these bytes are a float32 little-endian vector of that dimension and of length 1."""
    from math import hypot
    from struct import unpack

    return len(data) == 4 * dimension and abs(hypot(*unpack(f"<{dimension}f", data)) - 1.0) < 1e-3


def _write(path: Path, vector: bytes) -> None:
    """Remember a vector, under a name of its own first so that no reader meets half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(vector)
        temporary.replace(path)
        if vector[0] < 8:  # one time in 32, for a listing costs as much as a search
            _prune(path.parent)
    except OSError:
        pass


def _prune(folder: Path) -> None:
    entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder))
    for _, path in entries[: max(0, len(entries) - KEPT)]:
        os.unlink(path)


__all__ = ["ModelUnavailableError", "QueryVectors", "is_vector", "query_vector"]
