"""``forget --everywhere``: no copy of ours keeps the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tars_memory.errors import BusyError, NotFoundError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder
from tars_memory.vault.lock import VaultLock

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    (tmp_path / "vault").mkdir()

    def make(**more: str) -> Memory:
        env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), **more}
        return Memory(tmp_path / "vault", env=env, embedder=HashEmbedder())

    return make


def holding(base: Path, words: str) -> list[Path]:
    return [path for path in base.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_no_copy_of_ours_keeps_the_words(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        memory.remember("another line")
        memory.reindex()
        memory.edit("zebra-41", "the gate opens with zebra-42")
        memory.search("zebra-42")
        receipt = memory.forget("zebra-42", everywhere=True)
        assert receipt.written
        assert not [notice for notice in receipt.notices if "remains" in notice]
        assert memory.search("another").hits
    assert holding(tmp_path, "zebra") == []


def test_what_was_forgotten_before_can_still_be_purged(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        ref = memory.remember("the gate opens with zebra-41").ref
        memory.log("zebra talk at noon")
        memory.forget(ref)
        memory.forget("zebra talk at noon")
        assert holding(tmp_path / "home", "zebra-41")
        receipt = memory.forget(ref, everywhere=True)
        assert (receipt.written, receipt.path) == (False, "Memory.md")
        memory.forget("Zebra talk  at noon", everywhere=True)
        with pytest.raises(NotFoundError):
            memory.forget("never there", everywhere=True)
    assert holding(tmp_path, "zebra") == []


def test_it_is_not_put_off_for_it_could_not_be_purged_then(opened: Open, tmp_path: Path) -> None:
    with opened(TARS_MEMORY_STORE_LOCK_TIMEOUT="0.05") as memory:
        ref = memory.remember("zebra").ref
        held = VaultLock(memory.state / "lock", timeout=1, command="another").held()
        with held, pytest.raises(BusyError) as caught:
            memory.forget(ref, everywhere=True)
        assert caught.value.spooled is None
        assert memory.show(ref).text == "zebra"


def test_a_proposal_that_says_the_same_is_named(opened: Open) -> None:
    with opened() as memory:
        memory.remember("zebra rules", tier="procedural")
        memory.remember("zebra rules")
        receipt = memory.forget("zebra rules", everywhere=True)
    assert [notice for notice in receipt.notices if "remains" in notice and "inbox" in notice]
