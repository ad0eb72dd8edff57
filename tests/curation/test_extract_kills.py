"""Killed at any system call, a conversation's extraction stands whole after the next one, each line exactly once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vault"))

from kills import Case, left_over

WRITER = (str(Path(__file__).with_name("extractor.py")), "{vault}", "{state}")
CHANGING = {"write", "renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "unlink"}


def files(vault: Path) -> dict[str, bytes]:
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in sorted(vault.rglob("*"))
        if path.is_file() and not path.relative_to(vault).as_posix().startswith(".tars/vault-id")
    }


def case(tmp_path: Path) -> tuple[Case, dict[str, bytes]]:
    it = Case(tmp_path, (*WRITER, "extract"), "2026-11-21.md", None, [(*WRITER, "fill")])
    new = files(it.base / "one" / "vault")
    assert len([path for path in new if path.endswith(".md")]) == 3
    return it, new


def check(it: Case, new: dict[str, bytes], call: str, number: int, slot: str) -> None:
    killed = it.kill(call, number, slot)
    assert killed.code == -9, (call, number, killed.said)
    again = it.again(slot, (*WRITER, "extract"))
    assert again.returncode == 0, (call, number, again.stderr)
    assert files(killed.sandbox / "vault") == new, (call, number)
    assert left_over(killed.sandbox) == [], (call, number)
    once_more = it.again(slot, (*WRITER, "extract"))
    assert once_more.returncode == 0, (call, number, once_more.stderr)
    assert files(killed.sandbox / "vault") == new, (call, number)


def test_killed_where_something_changes(tmp_path: Path) -> None:
    it, new = case(tmp_path)
    calls = [each for each in it.calls if each[0] in CHANGING]
    assert len(calls) > 10
    it.every(lambda call, number, slot: check(it, new, call, number, slot), calls[:: max(1, len(calls) // 3)])


@pytest.mark.prove
def test_killed_at_every_change(tmp_path: Path) -> None:
    it, new = case(tmp_path)
    it.every(
        lambda call, number, slot: check(it, new, call, number, slot),
        [each for each in it.calls if each[0] in CHANGING],
    )
