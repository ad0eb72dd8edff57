"""``--about``, ``--topic``, ``--ended`` and ``--as-of`` on the command line, and through the installed program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import forked
import pytest

from tars_memory.testing import make_vault

Run = Callable[..., Any]


def test_they_reach_the_memory(tm: Run, memory: Any) -> None:
    line = ["--about", "Anna", "--about", "Ben", "--topic", "work", "--as-of", "2026-03", "tea"]
    tm("search", *line)
    tm("context", *line)
    for call in memory.asked:
        told = {name: call[2][name] for name in ("about", "topics", "as_of")}
        assert told == {"about": ("Anna", "Ben"), "topics": ("work",), "as_of": date(2026, 3, 31)}
    assert tm("search", "--about", "Anna").code == 0  # a filter alone is a question


@pytest.mark.parametrize("command", ["search", "context"])
@pytest.mark.parametrize("line", ["tea --as-of 2026-13-01", "tea --as-of soon", "tea --as-of 2026 --ended"])
def test_a_day_that_is_none(tm: Run, memory: Any, command: str, line: str) -> None:
    answer = tm(command, *line.split())
    assert answer.code == 2
    assert "--as-of" in answer.err
    assert memory.asked == []


NOTES = {
    "Memory.md": "## Notes\n- Parking permit [until:: 2026-12-01] #car\n- Anna drinks tea #food/tea\n- Ben drinks tea",
    "Facts.md": "## Anna\n- lives in:: Dublin [until:: 2026-11-14] #home\n- lives in:: Cork\n",
}


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """The program in a bare environment, as cron has it."""
    vault = make_vault(tmp_path / "vault", NOTES)
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}

    def run(*argv: str, now: str = "2026-11-21T12:00", **extra: str) -> tuple[int, str, str]:
        said = {**env, "TARS_MEMORY_DIR": str(vault), "TARS_NOW": now, **extra}
        done = forked.run(forked.program(*argv), env=said, text=True, timeout=120, cwd=vault)
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_end_comes_with_the_users_own_day(program: Callable[..., tuple[int, str, str]]) -> None:
    search = ("search", "--mode", "lexical", "parking", "permit")
    line = "Memory.md:2:- Parking permit [until:: 2026-12-01] #car\n"
    assert program(*search, now="2026-11-30T23:59") == (0, line, "")
    code, out, err = program(*search, now="2026-12-01T00:00")
    assert (code, out) == (1, "")
    assert "--ended" in err
    for option in ("--ended", "--expired"):  # the second is its old name
        assert program(*search, option, now="2026-12-01T00:00") == (0, line, "")
    assert program(*search, "--as-of", "2026-11-30", now="2027-01-01") == (0, line, "")
    # one instant, two days: it is the first of December in Kiritimati when it is still November in London
    instant = "2026-11-30T12:00:00Z"
    assert program(*search, now=instant, TZ="Pacific/Kiritimati")[0] == 1
    assert program(*search, now=instant, TZ="Europe/London")[0] == 0


def test_the_lines_around_a_hit(program: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (tmp_path / "vault/boat.md").write_text(
        f"- a sail\n\n# Hull\n- a mast\n- a keel\n- token {secret}\n\n# Crew\n- Ben\n"
    )
    search = ("search", "--mode", "lexical", "keel", "--context")
    shown = ["-3-# Hull", "-4-- a mast", ":5:- a keel", "-6-- token (masked github token)", "-7-"]
    assert program(*search, "2")[1].splitlines() == [f"boat.md{text}" for text in shown]
    for count, first, last in (("0", 4, 5), ("1", 3, 6), ("9", 1, 9)):
        (hit,) = json.loads(program(*search, count, "--json")[1])["hits"]
        assert (hit["start_line"], hit["end_line"]) == (first, last)
        assert secret not in hit["text"]


def test_a_zone_a_day_off_is_refused_with_a_sentence(program: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = program("log", "tea", TZ="XYZ-25")
    assert (code, out) == (2, "") and "TZ='XYZ-25' is not a time zone" in err


def test_narrowed_in_a_pipe(program: Callable[..., tuple[int, str, str]]) -> None:
    tea = ("search", "--mode", "lexical", "tea")
    assert program(*tea, "--about", "anna")[1] == "Memory.md:3:- Anna drinks tea #food/tea\n"
    assert program(*tea, "--topic", "#food")[1] == "Memory.md:3:- Anna drinks tea #food/tea\n"
    assert program(*tea, "--about", "Nobody")[:2] == (1, "")
    assert program("list", "--about", "ben")[1].endswith("\tMemory.md:4\tBen drinks tea\n")
    assert program("facts", "--topic", "home") == (1, "", "tars-memory: no such fact\n")
    assert "Dublin" in program("facts", "--topic", "home", "--all")[1]
    told = json.loads(program("context", "--about", "Anna", "--found-only", "--json")[1])
    assert [block["text"] for block in told["blocks"]] == ["## Anna", "- lives in:: Cork"]
    assert program("search", "tea", "--about", " ")[0] == 2
