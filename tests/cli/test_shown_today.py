"""A notice about which nothing can be done is told a person once a day; all others, and errors, each time."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from cli.fake_memory import hit, result

from tars_memory.doors.cli.output import SHOWN, shown_today
from tars_memory.errors import TransientNotice

DAY = date(2026, 11, 21)
MAKING, MISSING = "semantic search covers {} %, about {} min left", "answered by keywords only: no model"


@pytest.fixture
def at_a_terminal(memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr(memory, "state", tmp_path / "state")
    monkeypatch.setattr("tars_memory.doors.cli.call.Call.actor", property(lambda _: "person"))
    return memory


def search(tm: Any, memory: Any, *notices: str, day: str = "2026-11-21", words: tuple[str, ...] = ()) -> Any:
    memory.answers["search"] = result(hit(), notices=list(notices))
    return tm("search", "green", "tea", *words, TARS_NOW=f"{day}T10:00")


def test_it_is_told_once_a_day_whatever_its_numbers(tm: Any, at_a_terminal: Any) -> None:
    assert "covers 12 %" in search(tm, at_a_terminal, TransientNotice(MAKING.format(12, 9)), MISSING).err
    again = search(tm, at_a_terminal, TransientNotice(MAKING.format(40, 6)), MISSING)
    assert "covers" not in again.err and MISSING in again.err
    assert "covers 50 %" in search(tm, at_a_terminal, TransientNotice(MAKING.format(50, 5)), day="2026-11-22").err
    assert "other" in search(tm, at_a_terminal, TransientNotice("something other"), day="2026-11-22").err


def test_json_and_scripts_are_told_each_time(tm: Any, at_a_terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        told = search(tm, at_a_terminal, TransientNotice(MAKING.format(12, 9)), words=("--json",))
        assert told.json["notices"] == [MAKING.format(12, 9)]
    monkeypatch.setattr("tars_memory.doors.cli.call.Call.actor", property(lambda _: "script"))
    for _ in range(2):
        assert "covers" in search(tm, at_a_terminal, TransientNotice(MAKING.format(12, 9))).err


@pytest.mark.parametrize("damage", [b"", b"\xff\n\0", b"2026-11-21", b"x" * 100_000])
def test_what_is_kept_may_be_damaged(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / SHOWN).write_bytes(damage)
    assert not shown_today(tmp_path, "a notice", DAY)
    assert shown_today(tmp_path, "a notice", DAY)


def test_where_nothing_can_be_kept_it_is_told_again(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file stands where the folder should", "utf-8")
    for _ in range(2):
        assert not shown_today(tmp_path / "state", "a notice", DAY)
