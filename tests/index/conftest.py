from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tars_memory.index.indexer import Index
from tars_memory.settings import LimitsOptions
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.vault import Vault

MakeIndex = Callable[..., Index]


@pytest.fixture
def make_index(tmp_path: Path) -> Iterator[MakeIndex]:
    """Makes a vault of the notes and its index; both stand below the test's own folder. Called again: opened anew."""
    made: list[Index] = []

    def make(notes: Mapping[str, str | bytes] | None = None, *, max_note_bytes: int = 10_000_000) -> Index:
        root = tmp_path / "vault"
        if notes is not None:
            make_vault(root, notes)
        vault = Vault.open(root)
        limits = LimitsOptions(max_note_bytes=max_note_bytes)
        index = Index(vault, tmp_path / "state", tmp_path / "cache", limits, HashEmbedder)
        made.append(index)
        return index

    yield make
    for index in made:
        index.close()
