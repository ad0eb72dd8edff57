"""The write path in full size: crowds, an editor, a kill and an error at every system call, 20,000 documents.

Sizes are those of the promise, times ``TARS_PROVE_SCALE``.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vault"))

import test_store_kills
import test_store_races
from crowds import check_appends, check_editor
from kills import PROGRAM, Case, left_over
from noise import document, splices
from storekit import Place, add

pytestmark = pytest.mark.prove

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))


def scaled(size: int, least: int = 1) -> int:
    return max(least, round(size * SCALE))


def sample(calls: list[tuple[str, int]], offset: int = 0) -> list[tuple[str, int]]:
    """All calls at full size; a part of them, evenly, below."""
    step = max(1, round(1 / SCALE)) if SCALE < 1 else 1
    return calls[offset % step :: step]


@pytest.fixture
def fast_base() -> Iterator[Path]:
    """A folder in memory, if there is such a place: for proofs that need many files, not a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as base:
        yield Path(base)


def test_eight_processes_append(tmp_path: Path) -> None:
    check_appends(Place(tmp_path), processes=8, count=scaled(200, 20))


@pytest.mark.parametrize("turn", range(3))
def test_an_editor_saves_beside_three_processes_that_edit(tmp_path: Path, turn: int) -> None:
    stand, _ = check_editor(Place(tmp_path), saves=scaled(200, 20), processes=3, count=scaled(60, 6))
    assert stand > 0


@pytest.mark.parametrize("name", sorted(test_store_kills.CASES))
def test_killed_at_every_system_call(tmp_path: Path, name: str) -> None:
    case = test_store_kills.case(tmp_path, name)
    calls = sample(case.calls)
    assert len(case.calls) > 25
    case.every(lambda call, number, slot: test_store_kills.check_kill(case, call, number, slot), calls)


@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EROFS"])
@pytest.mark.parametrize("name", sorted(test_store_kills.CASES))
def test_every_system_call_fails(tmp_path: Path, name: str, error: str) -> None:
    case = test_store_kills.case(tmp_path, name)
    text = "" if name.startswith("undo") else "ours"  # an undo types nothing
    calls = sample(case.calls, len(name))
    case.every(test_store_kills.check_failing(case, error, text), calls)


@pytest.mark.parametrize("name", ["append", "create", "edit", "undo an edit"])
def test_the_disk_is_full_at_every_byte(tmp_path: Path, name: str) -> None:
    case = test_store_kills.case(tmp_path, name)
    for size in range(0, 1400, round(9 / min(SCALE, 1))):
        text = "" if name.startswith("undo") else "ours"
        test_store_kills.check_error(case, case.limit(size), text, size)


def test_documents(fast_base: Path) -> None:
    """An edit changes exactly its own span, and undo gives the exact bytes back, over any bytes."""
    place, chance = Place(fast_base), random.Random(20261121)
    changed = 0
    for _ in range(scaled(20_000)):
        data = document(chance)
        chosen = splices(chance, data)
        note = place.put("a.md", data)
        written = place.write("a.md", lambda _, chosen=chosen: chosen)  # type: ignore[misc]
        now = note.read_bytes()
        assert now == written.text
        if len(chosen) == 1:
            ((start, end, _),) = chosen
            kept = len(data) - end
            assert now[:start] == data[:start]
            assert now[len(now) - kept :] == data[end:]
        if written.changed:
            changed += 1
            place.store().undo()
        assert note.read_bytes() == data
    assert changed > scaled(20_000) / 2
    assert place.files() == ["a.md"]


@pytest.mark.parametrize("leases", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("save", test_store_races.SAVES)
@pytest.mark.parametrize("kind", sorted(test_store_races.WRITES))
def test_an_editor_saves_at_every_step(
    fast_base: Path, monkeypatch: pytest.MonkeyPatch, kind: str, leases: bool, save: test_store_races.Act
) -> None:
    monkeypatch.setattr(test_store_races, "STRIDE", max(1, min(9, round(0.5 / SCALE))))
    test_store_races.check_editor(fast_base, kind, leases, save)


def test_a_journal_of_many_months_does_not_slow_the_last_undo(fast_base: Path) -> None:
    """The tail is read, not the history: what undo reads does not grow with it."""
    place = Place(fast_base)
    place.write("a.md", add(b"- one\n"))
    (file,) = place.store().journal.files()
    line = file.read_bytes()
    for number in range(3):
        file.with_name(f"{number:04}-2026-1{number}.jsonl").write_bytes(line * scaled(50_000))
    place.write("a.md", add(b"- two\n"))
    read = [0]
    real = os.read

    def counting(fd: int, size: int) -> bytes:
        data = real(fd, size)
        read[0] += len(data)
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "read", counting)
        place.store().undo()
    assert place.get("a.md") == b"- one\n"
    assert read[0] < 2_000_000


PROGRAM_CASES: dict[str, tuple[list[str], list[list[str]], str]] = {
    "remember": (["remember", "likes", "oolong"], [], "Memory.md"),
    "log": (["log", "drank", "oolong"], [], "2026-11-21.md"),
    "edit": (["edit", "likes green tea", "likes", "oolong"], [["remember", "likes green tea"]], "Memory.md"),
    "forget": (["forget", "likes green tea"], [["remember", "likes green tea"]], "Memory.md"),
    "undo": (["undo"], [["remember", "likes oolong"]], "Memory.md"),
}


@pytest.mark.parametrize("name", sorted(PROGRAM_CASES))
def test_the_program_itself(tmp_path: Path, name: str) -> None:
    """The real command line: killed at, or refused, each call that touches the vault or its state."""
    arguments, before, note = PROGRAM_CASES[name]
    prepared = [["init", "{vault}"], *before]
    case = Case(tmp_path, (*PROGRAM, *arguments), note, None, [(*PROGRAM, *each) for each in prepared])
    assert case.old != case.new
    typed = "oolong" if "oolong" in arguments else ""
    write = case.from_the_lock_on()
    assert len(write) > 25

    def check(call: str, number: int, slot: str) -> None:
        killed = case.kill(call, number, slot)
        where = (call, number, killed.said)
        assert killed.code == -9, where
        assert killed.note in (case.old, case.new), where
        after = case.again(slot, (*PROGRAM, "remember", "recovered"))
        assert after.returncode == 0, (*where, after.stderr)
        assert left_over(killed.sandbox) == [], where
        lines = b"".join(file.read_bytes() for file in (killed.sandbox / "vault").glob("*.md"))
        assert lines.count(b"- recovered") == 1, where
        assert lines.count(b"oolong") <= 1, where

        errors = ("EIO", "ENOSPC", "EROFS")
        for error in errors if SCALE >= 1 else (errors[number % 3],):
            failed = case.fail(call, number, error, slot)
            where = (call, number, error, failed.code, failed.said)
            assert "Traceback" not in failed.said, where
            assert failed.code != 70, where
            if failed.note != case.new:
                assert failed.note == case.old, where
                assert failed.code != 0, where
                kept = typed.encode() in failed.spooled or typed in failed.said
                assert kept or not typed or (call, number) not in write, where
            assert left_over(failed.sandbox) == [] or case.again(slot, (*PROGRAM, "doctor")).returncode in (0, 1)
            assert left_over(failed.sandbox) == [], where

    case.every(check, sample(case.calls, len(name)))
