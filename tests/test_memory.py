"""What becomes of a call when the world around it is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tars_memory.errors import UnwritableError, UsageError, VaultError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.remember("spoken words"),
        lambda memory: memory.log("spoken words"),
        lambda memory: memory.feedback(True, "spoken words"),
        lambda memory: memory.edit("old", "spoken words"),
    ],
)
def test_without_a_state_folder_the_message_repeats_the_text(tmp_path: Path, write: Callable[[Memory], object]) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "home").write_text("no folder", "utf-8")
    memory = Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    with pytest.raises(UnwritableError, match="spoken words"):
        write(memory)


def test_an_unset_variable_is_no_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".tars").mkdir()
    monkeypatch.chdir(tmp_path)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    assert Memory(env=env).root == tmp_path
    with pytest.raises(UsageError, match="--vault is empty"):
        Memory("", env=env)


def test_a_missing_vault_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(VaultError) as caught:
        Memory(tmp_path / "nowhere", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert "Errno" not in caught.value.message
    assert "No such file" in caught.value.message


def test_a_tier_note_that_is_a_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("- a fact\n", "utf-8")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/Memory.md").symlink_to(tmp_path / "real.md")
    memory = Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert memory.list() == []
    assert any("Memory.md is a link" in notice for notice in memory.notices)


def test_trying_an_init_makes_not_even_the_folder(tmp_path: Path) -> None:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    tried = Memory.init(tmp_path / "new/deep", dry_run=True, env=env)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(VaultError, match="no folder"):
        Memory.init(tmp_path / "file/deep", dry_run=True, env=env)
    made = Memory.init(tmp_path / "new/deep", env=env)
    assert (made.root, {*made.created, ".tars/vault-id"}) == (tried.root, set(tried.created))


def test_the_search_that_makes_the_vectors_answers_as_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    for number, text in enumerate(("fountain pens and ink", "the cellar holds a server")):
        with Memory(tmp_path / "vault", env=env, embedder=HashEmbedder()) as memory:
            memory.log(text)
            first, second = (memory.search("pens ink", explain=True).hits for _ in range(2))
        assert first, number
        assert [(hit.path, hit.score, hit.explain) for hit in first] == [
            (hit.path, hit.score, hit.explain) for hit in second
        ]
