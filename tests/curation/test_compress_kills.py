"""Killed at, or refused, any system call, an applied compress stands whole or not at all after the next run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vault"))

from kills import PROGRAM, Case, Outcome, left_over

from curation.compressing import SESSIONS, content

FILL = (str(Path(__file__).with_name("compressing.py")), "{vault}")
INIT = (*PROGRAM, "init", "{vault}")
COMPRESS = (*PROGRAM, "tidy", "--compress", "--apply")
UNDO = (*PROGRAM, "undo")
CHANGING = {"write", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "unlink"}
SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))

Files = dict[str, bytes]


def files(sandbox: Path) -> Files:
    root = sandbox / "vault"
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".tars" not in path.parts
    }


def case(tmp_path: Path) -> tuple[Case, Files, Files]:
    """The run to kill, and the vault before and after it."""
    it = Case(tmp_path, COMPRESS, "sessions/2025-03 summary.md", None, [FILL, INIT])
    old, new = files(it.template), files(it.base / "one")  # as the undisturbed run of the case left it
    assert sorted(set(new) - set(old)) == [
        "archive/sessions/2024-12-31 2359 year.md",
        "archive/sessions/2025-03-04 1000 van.md",
        "archive/sessions/2025-03-09 1000 boat.md",
        "sessions/2024-12 summary.md",
        "sessions/2025-03 summary.md",
    ]
    return it, old, new


def check(it: Case, old: Files, new: Files, outcome: Outcome, slot: str, where: tuple[object, ...]) -> None:
    """Every session is somewhere, whole; the next run ends it; an undo brings all back."""
    assert "Traceback" not in outcome.said and outcome.code != 70, (*where, outcome.said)
    held = files(outcome.sandbox)
    for path, body in SESSIONS.items():
        assert content(path, body) in (held.get(path), held.get(f"archive/{path}")), (*where, path)
    again = it.again(slot, COMPRESS)
    assert again.returncode == 0, (*where, again.stderr)
    if outcome.code != -9 and left_over(outcome.sandbox):  # a temporary file that could not be removed
        assert it.again(slot, (*PROGRAM, "doctor", "--fix")).returncode in (0, 1), where
    assert left_over(outcome.sandbox) == [], where
    assert files(outcome.sandbox) == new, (*where, outcome.said, again.stderr)
    once_more = it.again(slot, COMPRESS)
    assert once_more.returncode == 0 and files(outcome.sandbox) == new, (*where, once_more.stderr)
    undone = it.again(slot, UNDO)
    assert undone.returncode == 0, (*where, undone.stderr)
    assert files(outcome.sandbox) == old, where
    for path in SESSIONS:
        assert (outcome.sandbox / "vault" / path).stat().st_mtime_ns == 10**18, (*where, path)


def test_killed_where_something_changes(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    calls = [each for each in it.calls if each[0] in CHANGING and each in it.from_the_lock_on()]
    assert len(calls) > 20

    def run(call: str, number: int, slot: str) -> None:
        check(it, old, new, it.kill(call, number, slot), slot, (call, number))

    it.every(run, calls[:: max(1, len(calls) // 4)])


def test_a_file_that_could_not_be_removed_hides_no_write(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    calls = [each for each in it.calls if each[0] in ("unlinkat", "unlink") and each in it.from_the_lock_on()]
    assert calls

    def run(call: str, number: int, slot: str) -> None:
        check(it, old, new, it.fail(call, number, "EROFS", slot), slot, (call, number))

    it.every(run, calls[-1:])


@pytest.mark.prove
def test_killed_at_every_call_and_refused_it(tmp_path: Path) -> None:
    it, old, new = case(tmp_path)
    step = max(1, round(1 / SCALE)) if SCALE < 1 else 1

    def run(call: str, number: int, slot: str) -> None:
        check(it, old, new, it.kill(call, number, slot), slot, (call, number))
        error = ("EIO", "ENOSPC", "EROFS")[number % 3]
        check(it, old, new, it.fail(call, number, error, slot), slot, (call, number, error))

    assert it.every(run, it.calls[::step]) > 5
