"""Where the bench works: a vault, its state and its cache below one temporary folder, indexed without the real model.

Vectors are random, under the real model's fingerprint: what a search costs doesn't depend on what they mean, and the
bench is ready in seconds. Where neighbours are not compared one by one they are of :mod:`bench.clusters`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory.disk import Places
from tars_memory.index import models, prepare
from tars_memory.settings import LayoutOptions, LimitsOptions

if TYPE_CHECKING:
    from tars_memory.index.indexer import Index
    from tars_memory.index.models import QueryVector
    from tars_memory.index.passages import Embedded, Embedder

PYTHON = sys.executable
REPOSITORY = Path(__file__).parents[1]
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class RandomEmbedder:
    """Unit vectors out of a hat."""

    dimension = 384
    scripts = ""

    def __init__(self, fingerprint: str) -> None:
        from tars_memory.index import prepare

        self.fingerprint = fingerprint
        np = prepare.load_numpy()
        dice = np.random.default_rng(7)
        hat = dice.standard_normal((4096, self.dimension)).astype("<f4")
        hat /= np.linalg.norm(hat, axis=1, keepdims=True)
        self._dice = dice
        self._hat = hat
        self._np = np

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """Two vectors of the hat, added; bits of as many words as a line has, stop words aside."""
        from tars_memory.index.passages import Embedded

        for text in texts:
            lines = [min(255, len(line.split())) for line in text.split("\n")[1:]]
            yield Embedded(self._vector(), bytes(lines), self._dice.bytes(sum(lines) * self.dimension // 8))

    def embed_query(self, text: str) -> QueryVector:
        """As of a passage of one line."""
        from tars_memory.index.models import QueryVector

        size = self.dimension // 8
        return QueryVector(self._vector(), tuple(self._dice.bytes(size) for _ in text.split()))

    def _vector(self) -> bytes:
        one, other = self._dice.integers(0, len(self._hat), 2)
        vector = self._hat[one] + self._hat[other]
        data: bytes = (vector / self._np.linalg.norm(vector)).astype("<f4").tobytes()
        return data


class Place:
    """One vault, indexed.

    Attributes:
        home: state, cache and configuration of the program.
        root: the vault.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.root = (folder / "vault").resolve()
        self.places = Places.of({"TARS_MEMORY_HOME": str(self.home)})
        self.model = models.folder_of(models.EMBEDDED_MANIFEST, self.places.cache)

    @property
    def fingerprint(self) -> str:
        """What the program will take the vectors' model to be."""
        return models.EMBEDDED_MANIFEST.fingerprint

    def build(self, notes: int, *, chinese: bool = False) -> None:
        """Make the vault, prepare the model, index all."""
        from bench import vault

        vault.make(self.root, notes, of=vault.chinese if chinese else vault.notes)
        prepare.ready(models.EMBEDDED, self.places.cache)
        self.reindex()

    def build_apart(self, notes: int) -> None:
        """The same in a process of its own.

        The kernel counts a process's peak memory from its parent's on, so whoever starts what is measured stays small.
        """
        command = [PYTHON, "-m", "bench.place", str(self.folder), str(notes)]
        subprocess.run(command, check=True, cwd=REPOSITORY)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the commands that are measured: nothing of the caller's but what is needed."""
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return env | {
            "TARS_MEMORY_HOME": str(self.home),
            "TARS_MEMORY_DIR": str(self.root),
            "HOME": str(self.home),
            "PYTHONPATH": str(REPOSITORY),
            "TARS_NOW": "2026-11-21T10:15:00+00:00",
            "TARS_MEMORY_BACKGROUND": "0",  # what is measured shares its processors with nothing of ours
        }

    def index(self, embedder: Callable[[str], Embedder] = RandomEmbedder) -> Index:
        """The vault's index, with an embedder of random vectors or another one, given the fingerprint of the model."""
        from tars_memory.index.indexer import Index
        from tars_memory.vault.vault import Vault

        vault = Vault.open(self.root, LayoutOptions(), LimitsOptions())
        state = self.places.vault_state(self.root, vault.id, create=True)
        return Index(vault, state, self.places.cache, LimitsOptions(), lambda: embedder(self.fingerprint))

    def reindex(self) -> Any:
        """Bring the index up to date, vectors included; what it reports."""
        index = self.index()
        try:
            return index.reindex()
        finally:
            index.close()


def program() -> list[str]:
    """The command as it is installed, else as a module."""
    script = Path(PYTHON).parent / "tars-memory"
    return [str(script)] if script.exists() else [PYTHON, "-m", "tars_memory"]


if __name__ == "__main__":
    Place(Path(sys.argv[1])).build(int(sys.argv[2]))
