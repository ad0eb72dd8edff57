"""What ``sleep --print-schedule`` prints does the same night's work as the command that printed it."""

from __future__ import annotations

import plistlib
import shlex
import subprocess
from pathlib import Path

import conversations as logs
import pytest
from terminal import environment, program

from tars_memory.testing import make_vault

ODD = "my v%d $x 'q\""
BARE = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_vault(tmp_path / ODD, {"Memory.md": "# Memory\n"})
    (tmp_path / "my logs").mkdir()
    said = [logs.Said("user", f"Please remember that box {number} is red.", logs.START) for number in range(4)]
    (tmp_path / "my logs" / "talk.jsonl").write_bytes(logs.claude_code(said))
    return tmp_path


def schedule(place: Path, kind: str, *words: str) -> str:
    command = program("--vault", str(place / ODD), "sleep", "--print-schedule", kind, *words)
    env = environment(place / "home", TARS_MEMORY_HOME=str(place / "h"))
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=True)
    assert ("no conversations will be examined" in done.stderr) is (not words)
    return done.stdout


def test_crons_line_does_the_work_in_crons_environment(place: Path) -> None:
    *when, line = schedule(place, "cron", "my logs").rstrip("\n").split(" ", 5)
    assert when == ["30", "3", "*", "*", "*"]
    subprocess.run(["sh", "-c", line.replace("\\%", "%")], cwd="/", env=BARE, stdin=subprocess.DEVNULL, check=True)
    assert (place / ODD / "2026-11-21.md").read_text().count("[extracted]") == 4


def test_launchd_and_systemd_are_told_the_same_words(place: Path) -> None:
    words = [str(place / ODD), "sleep", "--", str(place / "my logs")]
    told = plistlib.loads(schedule(place, "launchd", "my logs").encode())
    assert told["ProgramArguments"][-4:] == words
    (line,) = [line for line in schedule(place, "systemd", "my logs").splitlines() if line.startswith("ExecStart=")]
    said = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    assert said[-4:] == words


def test_it_says_if_there_is_nothing_to_examine(place: Path) -> None:
    assert schedule(place, "cron").rstrip().endswith(" sleep")
