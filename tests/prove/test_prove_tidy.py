"""tidy as the real program, killed at and refused any system call: no note and no line is lost, the next run ends it.

Sizes are those of the promise, times ``TARS_PROVE_SCALE``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vault"))

from kills import PROGRAM, Case, Outcome, left_over

pytestmark = pytest.mark.prove

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))

OLD = b"## Log\r\n- 10:00 the zeppelin ^d-1\r\n- \xff"
LATER = b"## Log\n- 11:00 the balloon\n"
LOG = (*PROGRAM, "log", "--now", "2026-01-03T11:00:00+00:00", "the balloon")
ARCHIVE = (*PROGRAM, "tidy", "--archive", "--apply")
INIT = (*PROGRAM, "init", "{vault}")
MEND = (*PROGRAM, "tidy", "--apply")
TWICE = b"## Notes\n- tea ^m-1\n- cake\n- tea\n\nend"
ONCE = b"## Notes\n- tea ^m-1\n- cake\n\nend"


def sample(calls: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """All calls at full size; a part of them, evenly, below."""
    return calls[:: max(1, round(1 / SCALE)) if SCALE < 1 else 1]


def disturbed(case: Case, call: str, number: int, slot: str) -> Iterator[Outcome]:
    """What a kill leaves behind, then, in the same place, what an error does."""
    yield case.kill(call, number, slot)
    yield case.fail(call, number, ("EIO", "ENOSPC", "EROFS")[number % 3], slot)


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def test_the_archive(tmp_path: Path) -> None:
    case = Case(tmp_path, ARCHIVE, "2026-01-02.md", OLD, [LOG])
    assert (case.old, case.new) == (OLD, None)

    def check(call: str, number: int, slot: str) -> None:
        for outcome in disturbed(case, call, number, slot):
            vault = outcome.sandbox / "vault"
            where = (call, number, outcome.code, outcome.said)
            assert "Traceback" not in outcome.said and outcome.code != 70, where
            for name, data in (("2026-01-02.md", OLD), ("2026-01-03.md", LATER)):
                places = (read(vault / name), read(vault / "archive" / name))
                assert places in ((data, None), (data, data), (None, data)), where
            again = case.again(slot, ARCHIVE)
            assert again.returncode == 0, (*where, again.stderr)
            assert (read(vault / "archive/2026-01-02.md"), read(vault / "archive/2026-01-03.md")) == (OLD, LATER), where
            assert not list(vault.glob("*.md")) and left_over(outcome.sandbox) == [], where
            assert case.again(slot, (*PROGRAM, "tidy", "--archive")).returncode == 0, where

    assert case.every(check, sample(case.calls)) > 10


def test_repeats(tmp_path: Path) -> None:
    case = Case(tmp_path, MEND, "Memory.md", TWICE, [INIT])
    assert (case.old, case.new) == (TWICE, ONCE)

    def check(call: str, number: int, slot: str) -> None:
        for outcome in disturbed(case, call, number, slot):
            vault = outcome.sandbox / "vault"
            where = (call, number, outcome.code, outcome.said)
            assert "Traceback" not in outcome.said and outcome.code != 70, where
            assert outcome.note in (TWICE, ONCE), where
            again = case.again(slot, MEND)
            assert again.returncode == 0, (*where, again.stderr)
            assert read(vault / "Memory.md") == ONCE, where
            assert left_over(outcome.sandbox) == [], where

    assert case.every(check, sample(case.calls)) > 10
