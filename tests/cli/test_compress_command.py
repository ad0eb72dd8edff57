"""``tidy --compress`` as a process: through a pipe, by cron, on a terminal, with another program for a model."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curation.loopback import Loopback, good, made
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
    undone = on_a_terminal(program("--vault", str(place.vault), "undo"), place.env, place.base)
    assert undone[0] == 0 and place.files() == before


def test_cron_may_if_the_person_s_own_file_says_so(place: Place) -> None:
    place.permit()
    code, told = place.told("--apply", "--by", "year", TARS_MEMORY_ACTOR="cron")
    assert (code, len(told["moved"]), [each["path"] for each in told["summaries"]]) == (
        0, 2, ["sessions/2024 summary.md", "sessions/2025 summary.md"],
    )  # fmt: skip
    assert told["txn"] and all(each["by"] == "rules" for each in told["summaries"])
    assert place.told("--apply")[1]["summaries"] == []


def test_a_night_only_tells_unless_it_may(place: Place) -> None:
    night = program("--vault", str(place.vault), "sleep")
    run = subprocess.run(night, capture_output=True, text=True, env=place.env, check=False)
    assert "compress: 2 old sessions can be summed up: tars-memory tidy --compress" in run.stdout
    assert not (place.vault / "archive").exists()
    place.permit()
    run = subprocess.run(night, capture_output=True, text=True, env=place.env, check=False)
    assert "compress: 2 old sessions summed up" in run.stdout and (place.vault / "archive/sessions").is_dir()
    before = place.files()
    run = subprocess.run([*night, "--undo"], capture_output=True, text=True, env=place.env, check=False)
    assert run.returncode == 0 and len(place.files()) == 3 < len(before)


def test_another_program_is_the_model(place: Place) -> None:
    place.permit()
    prompts = place.run("--print-prompt").stdout.split("\f")
    assert len(prompts) == 2
    answers = []
    for prompt in prompts:
        code = re.search(r'"for": "([0-9a-f]{6})"', prompt)
        first = re.search(r"(?m)^L1\| \S+ \w+: (.*)$", prompt)
        assert code and first
        ops = [
            {"op": "decision", "lines": [1], "text": first[1]},
            {"op": "fact", "lines": [1], "text": "Bob owns 7 cats"},
        ]
        answers.append(json.dumps({"for": code[1], "ops": ops}))
    before = place.files()
    shown = place.run("--reply", "-", said="\f".join(answers))
    assert shown.returncode == 1 and "1 sentence of another program dropped" in shown.stdout
    assert place.files() == before
    assert place.run("--reply", "-", "--apply", said=answers[0]).returncode == 7
    assert place.run("--reply", "-", "--apply", said="\f".join(answers[::-1])).returncode == 7
    assert place.files() == before
    assert place.run("--reply", "-", "--apply", said="\f".join(answers)).returncode == 0
    made = place.files()["sessions/2025-03 summary.md"]
    assert b"- The van comes on Friday\n" in made and b"cats" not in made and b'by: "another program"' in made


def test_over_http_with_a_model(place: Place) -> None:
    """Real requests by litellm: shown without being sent, asked once, written as shown, nothing after a bad answer."""
    place.permit()
    place.session("2025-03-05", "## Facts\n\n- the password is hunter2hunter2\n- ghp_" + "a1B2" * 9 + "\n")
    before = place.files()

    def words(body: dict[str, Any]) -> str:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        first = re.search(r"(?m)^L1\| \S+ \w+: (.*)$", text)
        assert first
        ops = [{"op": "decision", "lines": [1], "text": first[1], "why": ""}]
        return json.dumps({"for": text.split('{"for": "')[1][:6], "ops": ops})

    with Loopback(made(words)) as server:
        env = {**server.env(), "OPENAI_API_KEY": "sk-x"}
        dry = place.run("--model", "openai/scripted", "--dry-run", **env)
        assert (dry.returncode, server.requests) == (0, []) and "The van comes on Friday" in dry.stdout
        assert f"openai/scripted at {server.url} would be asked this: 2 prompts" in dry.stderr
        shown = place.run("--model", "openai/scripted", **env)
        assert shown.returncode == 1 and len(server.requests) == 2 and place.files() == before, shown.stderr
        assert not any(b"ghp_" in request.data for request in server.requests)
        done = place.run("--model", "openai/scripted", "--apply", **env)
        assert done.returncode == 0 and len(server.requests) == 2, done.stderr  # what was shown is written
    made_of = place.files()["sessions/2025-03 summary.md"]
    assert b"- The van comes on Friday\n" in made_of and b'by: "openai/scripted"' in made_of
    undone = subprocess.run(
        program("--vault", str(place.vault), "undo"), capture_output=True, text=True, env=place.env, check=False
    )
    assert undone.returncode == 0 and place.files() == before
    with Loopback(good("I am sorry")) as server:
        env = {**server.env(), "OPENAI_API_KEY": "sk-x"}
        failed = place.run("--model", "openai/scripted", "--apply", **env)
        assert failed.returncode == 7 and "Traceback" not in failed.stderr and place.files() == before


@pytest.mark.parametrize(
    "argv",
    [("--by", "week"), ("--before", "soon"), ("--archive",), ("--ignore",), ("abcdefgh",),
     ("--print-prompt", "--apply"), ("--print-prompt", "--reply", "-")],
)  # fmt: skip
def test_what_does_not_go_together(place: Place, argv: tuple[str, ...]) -> None:
    run = place.run(*argv)
    assert run.returncode == 2 and run.stdout == "" and "Traceback" not in run.stderr
