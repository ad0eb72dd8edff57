"""Real signals and real errors at the system calls of a write (all of them: tests/prove); a naive writer fails this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kills import DRIVER, NAIVE, Case, Outcome, left_over
from storekit import Place

OLD = b"# A\n- one\n- two"

CASES: dict[str, tuple[list[str], bytes | None, list[list[str]]]] = {
    "append": (["append", "a.md", "- ours"], OLD, []),
    "edit": (["edit", "a.md", "one", "ours"], OLD, []),
    "create": (["append", "a.md", "- ours"], None, []),
    "undo an edit": (["undo"], OLD, [["edit", "a.md", "one", "ours"]]),
    "undo an append": (["undo"], OLD, [["append", "a.md", "- ours"]]),
    "undo a new note": (["undo"], None, [["append", "a.md", "- ours"]]),
}


def case(tmp_path: Path, name: str, writer: tuple[str, ...] = DRIVER) -> Case:
    arguments, old, before = CASES[name]
    return Case(tmp_path, (*writer, *arguments), "a.md", old, [(*writer, *each) for each in before])


def check_kill(case: Case, call: str, number: int, slot: str) -> None:
    outcome = case.kill(call, number, slot)
    assert outcome.code == -9, (call, number, outcome.code, outcome.said)
    assert outcome.note in (case.old, case.new), (call, number)
    place = Place(outcome.sandbox)
    history = len(list(Place(case.template).store().history()))
    place.store().recover()
    assert left_over(outcome.sandbox) == [], (call, number)
    assert place.get("a.md") == outcome.note or place.get("a.md") in (case.old, case.new)
    assert len(list(place.store().history())) - history == (place.get("a.md") == case.new), (call, number)


def check_error(case: Case, outcome: Outcome, text: str, *where: object) -> None:
    where = (*where, outcome.code, outcome.said)
    assert "Traceback" not in outcome.said, where
    if outcome.code == 0:
        assert outcome.note == case.new, where
    else:
        assert outcome.code == 5, where
        assert outcome.note == case.old, where
        assert text.encode() in outcome.spooled or text in outcome.said, where
    place = Place(outcome.sandbox)
    place.store().recover()
    assert place.get("a.md") == outcome.note, where
    assert left_over(outcome.sandbox) == [], where


def test_killed_at_any_call(tmp_path: Path) -> None:
    it = case(tmp_path, "append")
    assert len(it.calls) > 25
    it.every(lambda call, number, slot: check_kill(it, call, number, slot), it.calls[::3])


@pytest.mark.parametrize("name", ["create", "edit", "undo an edit", "undo a new note"])
def test_killed_at_the_calls_that_change_something(tmp_path: Path, name: str) -> None:
    it = case(tmp_path, name)
    changing = {"write", "fsync", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat"}
    calls = [each for each in it.calls if each[0] in changing]
    assert len(calls) > 6
    it.every(lambda call, number, slot: check_kill(it, call, number, slot), calls[::2])


def check_failing(case: Case, error: str, text: str = "ours") -> Callable[[str, int, str], None]:
    return lambda call, number, slot: check_error(case, case.fail(call, number, error, slot), text, call, number, error)


@pytest.mark.parametrize(("name", "error"), [("append", "ENOSPC"), ("edit", "EIO")])
def test_a_call_fails(tmp_path: Path, name: str, error: str) -> None:
    it = case(tmp_path, name)
    calls = it.calls[:: 9 if name == "edit" else 7]
    assert it.every(check_failing(it, error), calls) > 3


@pytest.mark.parametrize("name", ["append", "edit"])
def test_the_disk_is_full_at_any_byte(tmp_path: Path, name: str) -> None:
    it = case(tmp_path, name)
    codes = set()
    for size in (0, 10, len(OLD) + 3, 300, 600, 2000):
        outcome = it.limit(size)
        codes.add(outcome.code)
        check_error(it, outcome, "ours", size)
    assert codes == {0, 5}


def test_a_naive_writer_fails_here(tmp_path: Path) -> None:
    """The harness would see it: killed between open and write, the note is empty."""
    it = case(tmp_path, "edit", NAIVE)
    assert it.new == OLD.replace(b"one", b"ours")
    with pytest.raises(AssertionError):
        it.every(lambda call, number, slot: check_kill(it, call, number, slot))
    lost = [note for note in (it.kill(*each).note for each in it.calls) if note not in (it.old, it.new)]
    assert lost
    with pytest.raises(AssertionError):
        it.every(check_failing(it, "ENOSPC"))
