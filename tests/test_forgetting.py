"""``forget --everywhere``: no copy of ours keeps the words."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pytest

from tars_memory.errors import BusyError, NotFoundError, PartialError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder
from tars_memory.vault import inbox
from tars_memory.vault.writing.lock import VaultLock

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)

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


@pytest.mark.parametrize("words", ['the "zebra" said C:\\döner', "zebra rules", "zebra 🦓 ⟨x⟩"])
def test_a_proposal_that_says_the_same_goes_too_and_out_of_the_journal(
    opened: Open, tmp_path: Path, words: str
) -> None:
    with opened() as memory:
        memory.remember(words, tier="procedural")
        memory.remember("zebras are another matter", tier="procedural")
        memory.remember(words)
        assert len(list((memory.root / ".tars/inbox").iterdir())) == 2
        receipt = memory.forget(words, everywhere=True)
        assert [
            path.read_text("utf-8").count("another matter") for path in (memory.root / ".tars/inbox").iterdir()
        ] == [1]
    assert not [notice for notice in receipt.notices if "remains" in notice]
    assert [notice for notice in receipt.notices if notice == "purged from proposals and decisions about them: 1"]
    assert [text for text in _texts(tmp_path / "home") if text == "zebras are another matter"]
    assert not [text for text in _texts(tmp_path) if words in text]


def test_a_decision_stays_without_the_words(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        with memory.store().transaction("review") as transaction:
            inbox.decide(
                transaction, [("12345678", "- zebra-9"), ("87654321", "zebra-99")], "rejected", date(2026, 1, 1)
            )
        memory.remember("zebra-9")
        memory.forget("zebra-9", everywhere=True)
        assert set(inbox.decided(memory.vault)) == {"12345678", "87654321"}
    assert [text for text in _texts(tmp_path) if "zebra-99" in text]
    assert not [text for text in _texts(tmp_path) if "zebra-9" in text.replace("zebra-99", "")]


def _texts(base: Path) -> list[str]:
    """Every text that the notes and our JSON files hold, JSON within JSON read as well."""
    found: list[str] = []
    for path in base.rglob("*"):
        if path.suffix in (".md", ".json", ".jsonl"):
            text = path.read_text("utf-8", "surrogateescape")
            found += (
                [text] if path.suffix == ".md" else [each for line in (text, *text.split("\n")) for each in _said(line)]
            )
    return found


def _said(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return [text] if text.count("\n") < 2 else [text, *(each for line in text.split("\n") for each in _said(line))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in parts for each in (_said(part) if isinstance(part, str) else _said(json.dumps(part)))]


def test_earlier_wordings_of_an_archived_line_are_purged_too(tmp_path: Path) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}

    def at(day: str) -> Memory:
        now = datetime.fromisoformat(f"{day}T10:00:00+00:00")
        return Memory(tmp_path / "vault", env=env, now=now, embedder=HashEmbedder())

    with at("2026-01-02") as memory:
        memory.log("the gate opens with zebra-41")
        memory.log("another line")
        memory.edit("the gate opens with zebra-41", "the gate opens with zebra-42")
    with at("2026-11-21") as memory:
        assert memory.archive(apply=True).moved == ["2026-01-02.md"]
        receipt = memory.forget("zebra-42", everywhere=True)
        assert (receipt.path, receipt.written) == ("archive/2026-01-02.md", True)
    assert holding(tmp_path, "zebra") == []


FULL = OSError(28, "No space left on device")
STEPS = {
    "the journal": "tars_memory.vault.writing.pruning.replace_file",
    "the index": "tars_memory.index.indexer.Index.rebuild",
    "the spool": "tars_memory.vault.writing.spool.Spool.purge",
    "proposals": "tars_memory.vault.inbox.purge",
    "answers": "tars_memory.curation.tidying.proposed.forget_answers",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("again", ["zebra-42", "the gate opens with zebra-42"])
def test_what_can_not_be_purged_is_said_and_a_second_run_finishes(
    step: str, again: str, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise FULL

    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        memory.edit("zebra-41", "the gate opens with zebra-42")
        ref = memory.list()[0].ref
        memory.search("zebra-42")
        with monkeypatch.context() as patch:
            patch.setattr(STEPS[step], full)
            with pytest.raises(PartialError, match="gone from its note") as caught:
                memory.forget("zebra-42", everywhere=True)
        assert "No space left" in caught.value.message
        assert "zebra" not in (tmp_path / "vault/Memory.md").read_text()
        left = holding(tmp_path / "home", "zebra-42")
        assert all(str(path) in caught.value.message for path in left)
        assert left
    with opened() as memory:
        memory.forget(ref if again == "zebra-42" else again, everywhere=True)
    assert holding(tmp_path, "zebra") == []
