"""Sessions at a shell, as a person would have them: every file in ``transcripts/`` is run line by line.

A ``$`` line is run by ``sh`` in an empty folder that the transcript makes a vault. What it prints follows: lines of
stdout behind two blanks, lines of stderr behind ``2> ``; ``>>> N`` is its exit code, 0 if not said. ``{{ref}}``,
``{{txn}}``, ``{{n}}``, ``{{any}}`` (of a line) and ``{{some}}`` (lines) stand for what differs from run to run. ``#``
begins a comment.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from forked import command
from terminal import environment

HERE = Path(__file__).parent
FILES = sorted((HERE / "transcripts").glob("*.tesh"))

HOLES = {
    "ref": "[a-z2-7]{8}",
    "txn": "[0-9A-Za-z-]+",
    "any": ".*",
    "some": "(?s:.*)",
    "n": "[0-9]+",
    "vault": ".*/vault",
    "home": ".*/home",
}


class Step:
    """One command of a transcript and what it should do."""

    def __init__(self, number: int, command: str) -> None:
        self.number, self.command = number, command
        self.out: list[str] = []
        self.err: list[str] = []
        self.code = 0


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("$ "):
            found.append(Step(number, line[2:]))
        elif line.startswith("#"):
            continue
        elif found and line.startswith(">>> "):
            found[-1].code = int(line[4:])
        elif found and line.startswith("2> "):
            found[-1].err.append(line[3:])
        elif found and line.startswith("  "):
            found[-1].out.append(line[2:])
        elif found and line.strip():
            raise AssertionError(f"line {number}: neither command nor output: {line!r}")
    return found


def pattern(lines: list[str]) -> str:
    escaped = re.escape("\n".join(lines))
    return re.sub(r"\\\{\\\{(\w+)\\\}\\\}", lambda hole: HOLES[hole[1]], escaped)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two programs, for PATH."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("tars-memory", "tm"):
        command(folder, name)
    return folder


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, shell: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    env = environment(tmp_path / "home", TERM="xterm")
    env["PATH"] = f"{shell}{os.pathsep}{env['PATH']}"
    told = steps(path.read_text("utf-8"))
    assert told
    for step in told:
        done = subprocess.run(
            ["sh", "-c", step.command], env=env, cwd=vault, capture_output=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        out, err = done.stdout.decode().rstrip("\n"), done.stderr.decode().rstrip("\n")
        where = f"{path.name}:{step.number}: {step.command}\n--- stdout\n{out}\n--- stderr\n{err}"
        assert done.returncode == step.code, f"{where}\n--- exit {done.returncode}, not {step.code}"
        assert re.fullmatch(pattern(step.out), out), where
        assert re.fullmatch(pattern(step.err), err), where
