"""``tidy --compress`` as a process: through a pipe, by cron, on a terminal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminal import environment, on_a_terminal, program

HEAD = "---\ndate: {day}\nsource_hash: {hash}\nturns: 12\n---\n\n"


class Place:
    def __init__(self, base: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        self.base, self.inside = base, inside
        self.vault = base / "vault"
        (self.vault / "sessions").mkdir(parents=True)
        (self.vault / ".obsidian").mkdir()
        self.env = environment(base / "home")
        self.session("2024-12-30", "## Decisions\n\n- Skip the fireworks\n")
        self.session("2025-03-04", "## Decisions\n\n- The van comes on Friday\n\n## Facts\n\n- Anna pays 300 euro\n")
        self.session("2026-11-01", "## Decisions\n\n- Stay\n")

    def session(self, day: str, body: str) -> None:
        head = HEAD.format(day=day, hash=day.replace("-", "") * 8)
        (self.vault / f"sessions/{day} 1000 talk.md").write_bytes((head + body).encode())

    def run(self, *argv: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        command = ["--vault", str(self.vault), "tidy", "--compress", *argv]
        return self.inside(command, {**self.env, **env}, self.vault, said)

    def told(self, *argv: str, **env: str) -> tuple[int, dict[str, Any]]:
        run = self.run("--json", *argv, **env)
        return run.returncode, json.loads(run.stdout)

    def permit(self) -> None:
        (self.base / "home/config").mkdir(parents=True)
        (self.base / "home/config/config.toml").write_text("[permissions]\nunattended_compress = true\n")

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.vault).as_posix(): path.read_bytes()
            for path in self.vault.rglob("*.md")
            if ".tars" not in path.parts
        }


@pytest.fixture
def place(tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> Place:
    return Place(tmp_path, inside)


def test_in_a_pipe_the_plan_is_shown_and_nothing_may_be_applied(place: Place) -> None:
    before = place.files()
    run = place.run()
    assert run.returncode == 1 and "tidy --compress --apply" in run.stderr
    assert run.stdout.splitlines()[0] == (
        "move  sessions/2024-12-30 1000 talk.md -> archive/sessions/2024-12-30 1000 talk.md  (691 days old)"
    )
    assert "  | - The van comes on Friday" in run.stdout.splitlines()
    for env in ({}, {"TARS_MEMORY_ACTOR": "cron"}, {"TARS_MEMORY_PERMISSIONS_UNATTENDED_COMPRESS": "true"}):
        refused = place.run("--apply", **env)
        assert refused.returncode == 2 and "unattended_compress" in refused.stderr
    assert place.files() == before and not (place.vault / ".tars").exists()


def test_a_person_at_a_terminal_applies_it_once(place: Place) -> None:
    before = place.files()
    argv = program("--vault", str(place.vault), "tidy", "--compress", "--apply")
    code, screen = on_a_terminal(argv, place.env, place.base)
    assert code == 0, screen
    assert sorted(set(place.files()) - set(before)) == [
        "archive/sessions/2024-12-30 1000 talk.md", "archive/sessions/2025-03-04 1000 talk.md",
        "sessions/2024-12 summary.md", "sessions/2025-03 summary.md",
    ]  # fmt: skip
    after = place.files()
    assert on_a_terminal(argv, place.env, place.base)[0] == 0 and place.files() == after
    undone = on_a_terminal(program("--vault", str(place.vault), "undo", "--yes"), place.env, place.base)
    assert undone[0] == 0 and place.files() == before


def test_cron_may_if_the_person_s_own_file_says_so(place: Place) -> None:
    place.permit()
    code, told = place.told("--apply", "--by", "year", TARS_MEMORY_ACTOR="cron")
    assert (code, len(told["moved"]), [each["path"] for each in told["summaries"]]) == (
        0, 2, ["sessions/2024 summary.md", "sessions/2025 summary.md"],
    )  # fmt: skip
    assert told["txn"]
    assert place.told("--apply")[1]["summaries"] == []


def test_a_night_only_tells_unless_it_may(place: Place) -> None:
    night = program("--vault", str(place.vault), "sleep")
    run = subprocess.run(night, capture_output=True, text=True, env=place.env, check=False)
    assert "compress: 2 old sessions can be summarised: tars-memory tidy --compress" in run.stdout
    assert not (place.vault / "archive").exists()
    place.permit()
    run = subprocess.run(night, capture_output=True, text=True, env=place.env, check=False)
    assert "compress: 2 old sessions summarised" in run.stdout and (place.vault / "archive/sessions").is_dir()
    before = place.files()
    run = subprocess.run([*night, "--undo"], capture_output=True, text=True, env=place.env, check=False)
    assert run.returncode == 0 and len(place.files()) == 3 < len(before)


@pytest.mark.parametrize(
    "argv",
    [("--by", "week"), ("--before", "soon"), ("--archive",), ("--ignore",), ("abcdefgh",),
     ("--print-prompt",), ("--reply", "-"), ("--model", "openai/scripted")],
)  # fmt: skip
def test_what_does_not_go_together(place: Place, argv: tuple[str, ...]) -> None:
    run = place.run(*argv)
    assert run.returncode == 2 and run.stdout == "" and "Traceback" not in run.stderr
