"""Killed at any system call, an accepted batch stands whole or not at all after the next run, and can be done again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vault"))

from kills import Case, left_over

from curation.deciding import Desk

WRITER = (str(Path(__file__).with_name("committer.py")), "{vault}", "{state}")
CHANGING = {"write", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "unlink"}
SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))


def case(tmp_path: Path) -> tuple[Case, dict[str, bytes], dict[str, bytes]]:
    """The batch to kill, and the vault before and after it."""
    it = Case(tmp_path, (*WRITER, "commit"), "Memory.md", None, [(*WRITER, "fill")])
    old = Desk(it.template).all()
    new = Desk(it.base / "one").all()  # as the undisturbed run of the case left it
    assert old != new
    assert len(new) == len(old) + 1  # Procedural.md and what was decided came, the proposal went
    return it, old, new


def check(it: Case, old: dict[str, bytes], new: dict[str, bytes], call: str, number: int, slot: str) -> None:
    killed = it.kill(call, number, slot)
    assert killed.code == -9, (call, number, killed.said)
    desk = Desk(killed.sandbox)
    again = it.again(slot, (*WRITER, "recover"))
    where = (call, number, again.stderr)
    assert again.returncode == 0, where
    after = desk.all()
    assert after in (old, new), (*where, [path for path in after if after[path] not in (old.get(path), new.get(path))])
    assert left_over(killed.sandbox) == [], where
    assert desk.ctx().store.pending() == [], where
    if after == old:
        redone = it.again(slot, (*WRITER, "commit"))
        assert redone.returncode == 0, (*where, redone.stderr)
        assert desk.all() == new, where
    desk.ctx().store.undo()
    assert desk.all() == old, where


def check_failing(it: Case, old: dict[str, bytes], new: dict[str, bytes], call: str, number: int, slot: str) -> None:
    """One call fails: the batch is done, or it says that it is not; the next run takes back what still stands."""
    failed = it.fail(call, number, "ENOSPC" if number % 2 else "EIO", slot)
    desk = Desk(failed.sandbox)
    where = (call, number, failed.code, failed.said)
    assert failed.code == 0 or "Error" in failed.said, where
    assert it.again(slot, (*WRITER, "recover")).returncode == 0, where
    assert desk.all() == (new if failed.code == 0 else old), where
    assert left_over(failed.sandbox) == [], where
    assert desk.ctx().store.pending() == [], where


def test_a_call_fails(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    calls = [each for each in it.calls if each[0] in CHANGING | {"fsync", "openat"} and each in it.from_the_lock_on()]
    assert len(calls) > 30
    it.every(lambda call, number, slot: check_failing(it, old, new, call, number, slot), calls[::15])


def check_undo(it: Case, old: dict[str, bytes], new: dict[str, bytes], call: str, number: int, slot: str) -> None:
    """Killed while the batch is undone: it is undone whole or stands whole, and can then be undone."""
    killed = it.kill(call, number, slot)
    assert killed.code == -9, (call, number, killed.said)
    desk = Desk(killed.sandbox)
    assert it.again(slot, (*WRITER, "recover")).returncode == 0
    after = desk.all()
    assert after in (old, new), (call, number)
    assert left_over(killed.sandbox) == [], (call, number)
    if after == new:
        again = it.again(slot, (*WRITER, "undo"))
        assert again.returncode == 0, (call, number, again.stderr)
        assert desk.all() == old, (call, number)


def undoing(tmp_path: Path) -> tuple[Case, dict[str, bytes], dict[str, bytes]]:
    it = Case(tmp_path, (*WRITER, "undo"), "Memory.md", None, [(*WRITER, "fill"), (*WRITER, "commit")])
    return it, Desk(it.base / "one").all(), Desk(it.template).all()


def test_an_undo_that_is_killed(tmp_path: Path) -> None:
    it, old, new = undoing(tmp_path)
    calls = [each for each in it.calls if each[0] in CHANGING]
    assert len(calls) > 15
    it.every(lambda call, number, slot: check_undo(it, old, new, call, number, slot), calls[::7])


@pytest.mark.prove
def test_every_third_call_fails(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    calls = [each for each in it.calls if each in it.from_the_lock_on()]
    it.every(lambda call, number, slot: check_failing(it, old, new, call, number, slot), calls[::3])


@pytest.mark.prove
def test_an_undo_that_is_killed_at_every_call(tmp_path: Path) -> None:
    it, old, new = undoing(tmp_path)
    step = max(1, round(1 / SCALE)) if SCALE < 1 else 1
    assert it.every(lambda call, number, slot: check_undo(it, old, new, call, number, slot), it.calls[::step]) > 5


def test_killed_where_something_changes(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    calls = [each for each in it.calls if each[0] in CHANGING]
    assert len(calls) > 20
    it.every(lambda call, number, slot: check(it, old, new, call, number, slot), calls[::7])


@pytest.mark.prove
def test_killed_at_every_call(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    step = max(1, round(1 / SCALE)) if SCALE < 1 else 1
    assert it.every(lambda call, number, slot: check(it, old, new, call, number, slot), it.calls[::step]) > 5


def test_what_is_held_when_it_is_taken_back_is_tried_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from curation.committer import batch
    from tars_memory.curation.commit import commit
    from tars_memory.errors import UnwritableError
    from tars_memory.vault.folder import Folder

    desk = Desk(tmp_path / "one")
    desk.fill().fill_facts().kept()
    before, opened, plain = desk.all(), [], Folder.file

    def held(self: Folder, name: str, *more: object, **said: object) -> int:
        opened.extend([name] if name == "decided.jsonl" else [])
        if len(opened) > 1 and name == "decided.jsonl":  # it was made, and somebody opened it since
            raise BlockingIOError(11, "Resource temporarily unavailable", name)
        return plain(self, name, *more, **said)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "file", held)
    with pytest.raises(UnwritableError, match="decided"):
        commit(desk.ctx(), batch(desk))
    monkeypatch.undo()
    assert desk.all() != before
    desk.ctx().store.recover()
    assert desk.all() == before
    assert desk.ctx().store.pending() == []
