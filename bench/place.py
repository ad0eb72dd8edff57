"""Where the bench works: a vault, its state and its cache below one temporary folder, indexed without the real model.

Vectors are random, under the real model's fingerprint: what a search costs doesn't depend on what they mean, and the
bench is ready in seconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import vault as made_up
from tars_memory.index import models, runtime
from tars_memory.index.chunking import CHUNKER
from tars_memory.index.indexer import Index
from tars_memory.index.session import Embedded
from tars_memory.settings import LayoutOptions, LimitsOptions, Places
from tars_memory.vault.vault import Vault

PYTHON = sys.executable
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class RandomEmbedder:
    """Unit vectors out of a hat."""

    dimension = 384

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        np = runtime.load_numpy()
        dice = np.random.default_rng(7)
        hat = dice.standard_normal((4096, self.dimension)).astype("<f4")
        hat /= np.linalg.norm(hat, axis=1, keepdims=True)
        self._dice = dice
        self._hat = hat
        self._np = np

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """Two vectors of the hat, added; lines from the hat as they lie."""
        np = self._np
        for text in texts:
            one, other = self._dice.integers(0, len(self._hat), 2)
            vector = self._hat[one] + self._hat[other]
            lines = self._hat[self._dice.integers(0, len(self._hat), text.count("\n"))]
            small = np.clip(np.rint(lines * 508), -127, 127).astype(np.int8)
            yield Embedded((vector / np.linalg.norm(vector)).astype("<f4").tobytes(), small.tobytes())

    def embed_query(self, text: str) -> bytes:
        """The vector of a passage."""
        return next(self.embed_passages([text])).vector


class Place:
    """One vault, indexed.

    Attributes:
        home: state, cache and configuration of the program.
        root: the vault.
    """

    def __init__(self, folder: Path, notes: int) -> None:
        self.home = folder / "home"
        self.root = made_up.make(folder / "vault", notes).resolve()
        self.places = Places.of({"TARS_MEMORY_HOME": str(self.home)})
        self.manifest, self.model = models.ready(models.EMBEDDED, self.places.cache)
        self.fingerprint = self.manifest.fingerprint(str(CHUNKER))

    @property
    def env(self) -> dict[str, str]:
        """The environment of the commands that are measured: nothing of the caller's but what is needed."""
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        repository = str(Path(__file__).parents[1])
        return env | {
            "TARS_MEMORY_HOME": str(self.home),
            "TARS_MEMORY_DIR": str(self.root),
            "HOME": str(self.home),
            "PYTHONPATH": repository,
            "TARS_NOW": "2026-11-21T10:15:00+00:00",
        }

    def index(self) -> Index:
        """The vault's index, with an embedder of random vectors."""
        vault = Vault.open(self.root, LayoutOptions(), LimitsOptions())
        state = self.places.vault_state(self.root, vault.id, create=True)
        return Index(vault, state, self.places.cache, LimitsOptions(), lambda: RandomEmbedder(self.fingerprint))

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
