"""``review`` as scripts and pipes meet it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import pytest
from curation.loopback import Loopback, good, made
from terminal import environment, program

from tars_memory.testing import make_vault

NOTES = {
    "Memory.md": "## Notes\n- dentist on 15 Oct\n",
    "2026-11-20.md": "## Log\n- 10:00 [extracted] dentist on 16 Oct ^d-a\n"
    "- 10:01 [extracted] owns a boat\tand #x ^d-b\n",
    "corrections.md": "## Feedback\n- 2026-11-20 10:00 you should ask first\n",
}


class Shell:
    def __init__(self, base: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        self.base, self.inside = base, inside
        self.root = make_vault(base / "v", NOTES)

    def __call__(self, *argv: str, text: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        command = ["--vault", str(self.root), "review", *argv]
        return self.inside(command, environment(self.base / "home", **env), self.root, text or "")

    def note(self, path: str) -> str:
        return (self.root / path).read_text("utf-8")

    def ids(self) -> dict[str, str]:
        return {each["text"]: each["id"] for each in json.loads(self("--json").stdout)["proposals"]}


@pytest.fixture
def shell(tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> Shell:
    """The command in this process, as a pipe meets it; what a process adds is shown by ``test_process.py``."""
    return Shell(tmp_path, inside)


def test_in_a_pipe_it_lists_a_line_each(shell: Shell) -> None:
    plain = shell()
    assert (plain.returncode, plain.stderr) == (0, "")
    assert sorted(line.split("\t")[1:] for line in plain.stdout.splitlines()) == [
        ["Memory.md › Notes", "append", "dentist on 16 Oct"],
        ["Memory.md › Notes", "append", "owns a boat and #x"],
        ["Procedural.md › Notes", "append", "Ask first"],
    ]
    assert shell("--list").stdout == plain.stdout
    few = shell("--limit", "1")
    assert len(few.stdout.splitlines()) == 1
    assert "2 more proposals after these: --limit N" in few.stderr


def test_the_json_is_the_documented_one(shell: Shell) -> None:
    told = json.loads(shell("--list", "--json").stdout)
    assert list(told) == ["proposals", "total", "lines", "asked_before", "notices"]
    (change,) = [each for each in told["proposals"] if each["conflicts"]]
    assert list(change) == [
        "id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts", "replaces", "fact",
        "kind", "checked", "warnings", "asked_before", "speaker",
    ]  # fmt: skip
    (line,) = change["conflicts"]
    known = {"path": "Memory.md", "line": 2, "text": "dentist on 15 Oct", "date": ""}
    assert line == {**known, "ref": line["ref"]} and list(line) == ["path", "line", "ref", "text", "date"]
    assert (change["source"], change["date"]) == ("2026-11-20#^d-a", "2026-11-20")


def test_accepting_without_a_terminal_is_refused_and_changes_no_byte(shell: Shell) -> None:
    ids = shell.ids()
    for name in ids.values():
        for option in ("--accept", "--both"):
            refused = shell(option, name, TARS_MEMORY_ACTOR="person")
            assert refused.returncode == 2
            assert "person at a terminal" in refused.stderr
    allowed = shell("--accept", ids["Ask first"], TARS_MEMORY_PERMISSIONS_UNATTENDED_REVIEW="1")
    assert allowed.returncode == 2
    assert not (shell.root / "Procedural.md").exists()
    assert {path: shell.note(path) for path in NOTES} == NOTES


def test_a_line_is_replaced_by_its_name(shell: Shell) -> None:
    config = shell.base / "home" / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text("[permissions]\nunattended_review = true\n")
    (change,) = [each for each in json.loads(shell("--json").stdout)["proposals"] if each["conflicts"]]
    name, ref = change["id"], change["conflicts"][0]["ref"]
    for bad in (f"{name}:", name, f"{name}:x", f"{name} {ref}"):
        refused = shell("--accept", name, "--replace", bad)
        assert (refused.returncode, "is not an ID:REF" in refused.stderr) == (2, True)
    assert shell("--accept", name, "--replace", f"{name}:zzzzzzzz").returncode == 6
    assert shell.note("Memory.md") == NOTES["Memory.md"]
    done = shell("--accept", name, "--replace", f"{name}:{ref}")
    assert done.returncode == 0
    assert shell.note("Memory.md") == "## Notes\n- dentist on 16 Oct ([[2026-11-20#^d-a|2026-11-20]])\n"


def test_rejecting_takes_ids_in_any_form(shell: Shell) -> None:
    ids = shell.ids()
    names = list(ids.values())
    done = shell("--reject", f"{names[0]}, ^r-{names[1]}", "--reject", names[2], "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert list(told) == ["txn", "decided", "notices"]
    assert [(each["id"], each["decision"]) for each in told["decided"]] == [(name, "rejected") for name in names]
    assert list(told["decided"][0]) == ["id", "decision", "outcome", "reason", "path", "line", "ref"]
    empty = shell()
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "nothing waits for a decision" in empty.stderr


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--reject", "nope"), 2),
        (("--reject", ","), 2),
        (("--reject", "00000000"), 6),
        (("--reject", "00000000", "--note"), 2),
        (("--list", "--from-note"), 2),
        (("--note", "--from-note"), 2),
        (("--print-prompt", "--reply", "-"), 2),
        (("--reply", "/nowhere"), 2),
        (("--limit", "0"), 2),
        (("--model", ""), 7),
        (("--from-note",), 0),
    ],
)
def test_what_cannot_be_done_is_a_sentence(shell: Shell, argv: tuple[str, ...], code: int) -> None:
    told = shell(*argv, text="")
    assert told.returncode == code, told.stderr
    assert "Traceback" not in told.stderr
    assert {path: shell.note(path) for path in NOTES} == NOTES


def test_the_note_and_back(shell: Shell) -> None:
    made = shell("--note", "--json")
    told = ["also made Review.base: tables of days, sessions and memory for Obsidian; it won't be changed again"]
    assert json.loads(made.stdout) == {"path": "Review.md", "proposals": 3, "lines": 3, "notices": told}
    text = shell.note("Review.md").replace("- [ ] dentist", "- [x] dentist").replace("- [ ] Ask", "- [x] Ask")
    text = text.replace("  - [ ] replace: dentist", "  - [x] replace: dentist")
    (shell.root / "Review.md").write_text(text, "utf-8")
    done = shell("--from-note", TARS_MEMORY_ACTOR="cron")
    assert done.returncode == 0
    assert "\taccepted\tMemory.md:2" in done.stdout
    assert shell.note("Procedural.md").count("- Ask first ([[corrections#^") == 1
    assert "dentist on 15 Oct" not in shell.note("Memory.md")
    assert "[extracted] owns a boat" in shell.note("2026-11-20.md")


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CURSOR_AGENT", "CODEX_THREAD_ID", "GEMINI_CLI", "AI_AGENT"])
def test_an_agent_ticks_and_nothing_comes_of_it_until_somebody_else_is_there(shell: Shell, mark: str) -> None:
    shell("--note")
    path = shell.root / "Review.md"
    path.write_text(shell.note("Review.md").replace("- [ ] Ask", "- [x] Ask"), "utf-8")
    before = {name: shell.note(name) for name in (*NOTES, "Review.md")}
    for env in ({mark: "1"}, {mark: "1", "TARS_MEMORY_ACTOR": "cron"}, {mark: "1", "TARS_MEMORY_ACTOR": "person"}):
        told = shell("--from-note", **env)
        assert told.returncode == 3
        assert "\trecorded\tReview.md:" in told.stdout
        assert "run tars-memory review yourself" in told.stderr
        assert {name: shell.note(name) for name in before} == before
    listed = json.loads(shell("--list", "--json").stdout)
    assert [(each["decision"], each["path"]) for each in listed["recorded"]] == [("accepted", "Review.md")]
    assert json.loads(shell("--from-note", "--json", **{mark: "1"}).stdout)["recorded"] == listed["recorded"]
    done = shell("--from-note")
    assert done.returncode == 0 and "\taccepted\tProcedural.md:" in done.stdout
    assert shell.note("Procedural.md").count("Ask first") == 1
    assert shell("--from-note").stdout == ""


def test_what_the_note_says_and_cannot_be_done_is_in_the_exit_code(shell: Shell) -> None:
    shell("--note")
    text = shell.note("Review.md").replace("- [ ] dentist", "- [x] dentist").replace("[ ] replace:", "[x] replace:")
    (shell.root / "Review.md").write_text(text, "utf-8")
    (shell.root / "Memory.md").write_text("## Notes\n- dentist on 17 Oct\n", "utf-8")
    told = shell("--from-note")
    assert told.returncode == 6
    assert "Review.md:" in told.stderr
    assert shell.note("Memory.md") == "## Notes\n- dentist on 17 Oct\n"
    assert shell.note("Review.md") == text
    (shell.root / "Review.md").write_text(text.replace("- [ ] owns", "- [-] owns"), "utf-8")
    told = shell("--from-note")
    assert told.returncode == 3
    assert "[rejected] owns a boat" in shell.note("2026-11-20.md")


def test_any_program_may_be_the_model(shell: Shell) -> None:
    prompt = shell("--print-prompt")
    assert prompt.returncode == 0
    assert "C1| " in prompt.stdout
    code = prompt.stdout.split('{"for": "')[1][:6]
    boat = next(line for line in prompt.stdout.splitlines() if "owns a boat" in line).split("|")[0][1:]
    op = {"op": "append", "candidates": [int(boat)], "lines": [], "section": 1, "text": "Owns a boat", "why": "new"}
    reply = "Sure!\n```json\n" + json.dumps({"for": code, "ops": [op]}) + "\n```"
    before = {path: shell.note(path) for path in NOTES}
    done = shell("--reply", "-", text=reply)
    assert done.returncode == 0, done.stderr
    assert "\tOwns a boat" in done.stdout
    assert "owns a boat" not in done.stdout
    assert {path: shell.note(path) for path in NOTES} == before
    assert len(list((shell.root / ".tars" / "inbox").iterdir())) == 1
    stale = shell("--reply", "-", text=json.dumps({"for": "000000", "ops": [op]}))
    assert stale.returncode == 7


def test_over_http_with_a_model(shell: Shell) -> None:
    """A real request by litellm; then an answer that is none."""
    before = {path: shell.note(path) for path in NOTES}

    def words(body: dict[str, Any]) -> str:
        text = "\n".join(str(message["content"]) for message in body["messages"])
        code = text.split('{"for": "')[1][:6]
        number = int(text.split("owns a boat")[0].rpartition("C")[2].split("|")[0])
        op = {"op": "append", "candidates": [number], "lines": [], "section": 0, "text": "Owns a boat", "why": "new"}
        return json.dumps({"for": code, "ops": [op]})

    with Loopback(made(words)) as server:
        dry = shell("--model", "openai/scripted", "--dry-run", **server.env())
        assert (dry.returncode, server.requests) == (0, [])
        assert "owns a boat" in dry.stdout
        assert f"would be sent to openai/scripted at {server.url}" in dry.stderr
        done = shell("--model", "openai/scripted", OPENAI_API_KEY="sk-x", **server.env())
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 1
    assert "\tOwns a boat" in done.stdout
    kept = list((shell.root / ".tars" / "inbox").iterdir())
    assert len(kept) == 1
    with Loopback(good("I am sorry")) as server:
        failed = shell("--model", "openai/scripted", OPENAI_API_KEY="sk-x", **server.env())
        assert (failed.returncode, len(server.requests)) == (7, 2)  # it is asked once more
    assert "Traceback" not in failed.stderr
    assert list((shell.root / ".tars" / "inbox").iterdir()) == kept
    assert {path: shell.note(path) for path in NOTES} == before


def test_many_commands_at_once_do_the_ticks_once(shell: Shell) -> None:
    shell("--note")
    text = shell.note("Review.md").replace("- [ ]", "- [x]") + "\nmine\n"
    (shell.root / "Review.md").write_text(text, "utf-8")
    env = environment(shell.base / "home")
    calls = [
        subprocess.Popen(
            program("--vault", str(shell.root), "log", f"line {number}"),
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    said = [call.communicate(timeout=120)[1] for call in calls]
    assert [call.returncode for call in calls] == [0] * 6
    assert sum("decided in Review.md: 3 accepted, 0 rejected" in each for each in said) == 1
    assert all(shell.note("2026-11-21.md").count(f"line {number}\n") == 1 for number in range(6))
    assert shell.note("Memory.md").count("- dentist on 16 Oct") == 1
    assert shell.note("Memory.md").count("owns a boat") == 1
    assert shell.note("Procedural.md").count("- Ask first") == 1
    assert "^r-" not in shell.note("Review.md")


def test_what_undo_and_tidy_tell_after_it_is_for_a_person(shell: Shell) -> None:
    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return forked.run(
            program("--vault", str(shell.root), *argv),
            env=environment(shell.base / "home"), cwd=shell.base, text=True,
        )  # fmt: skip

    before = shell.note("2026-11-20.md")
    assert shell("--reject", shell.ids()["dentist on 16 Oct"]).returncode == 0
    undone = run("undo")
    assert shell.note("2026-11-20.md") == before
    assert ".tars/decided.jsonl" in undone.stdout
    assert '{"id"' not in undone.stderr
    assert "[rejected]" in undone.stderr
    (shell.root / "Procedural.md").write_text("## Notes\n- be kind\n-\n", encoding="utf-8")
    assert "tars-memory tidy --apply fixes" in run("tidy").stderr
    left = run("tidy", "--apply")
    assert (left.returncode, left.stdout.split()[0]) == (1, "left")
    assert "mends" not in left.stderr
