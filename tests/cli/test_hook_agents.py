"""hook as each agent calls it: its own events, answered in its own form; and the commands that make it call."""

from __future__ import annotations

import json
import os
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import forked
import pytest
from dialogue import Dialogue
from terminal import environment, program, started

from tars_memory.errors import SettingsError
from tars_memory.jobs import hooks
from tars_memory.settings import listed
from tars_memory.testing import make_vault
from tars_memory.vault import secrets

CONTEXT = "- Anna likes oolong tea"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path / "vault", {"Memory.md": f"# Memory\n\n## Notes\n\n{CONTEXT}\n"})


@pytest.fixture
def env(tmp_path: Path, vault: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return environment(tmp_path / "ours", TARS_MEMORY_DIR=str(vault), HOME=str(home), TARS_MEMORY_RECALL_MODE="lexical")


def run(env: dict[str, str], *words: str, event: dict[str, Any] | None = None) -> Any:
    return forked.run(
        program("hook", *words), env=env, cwd=env["HOME"], input=json.dumps(event) if event else "", text=True
    )  # fmt: skip


def told(env: dict[str, str], agent: str, event: dict[str, Any]) -> Any:
    done = run(env, "--agent", agent, event=event)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout) if done.stdout else None


def within(home: str, name: str) -> dict[str, Any]:
    """The members of each agent's events that its documents name; docs/agents.md says where."""
    common = {"session_id": "s", "cwd": home, "hook_event_name": name}
    return {
        "claude": {**common, "transcript_path": f"{home}/t.jsonl", "permission_mode": "default", "source": "startup"},
        "codex": {**common, "transcript_path": None, "model": "gpt", "permission_mode": "default", "turn_id": "1"},
        "gemini": {**common, "transcript_path": f"{home}/t.json", "timestamp": "2026-11-21T14:30:00Z"},
        "cursor": {
            "conversation_id": "c", "generation_id": "g", "model": "m", "hook_event_name": name,
            "cursor_version": "2.4.0", "workspace_roots": [home], "user_email": None, "transcript_path": None,
        },
        "copilot": {**common, "timestamp": "2026-11-21T14:30:00Z", "source": "new", "initial_prompt": "hello"},
    }  # fmt: skip


@pytest.mark.parametrize("agent", hooks.AGENTS)
def test_a_session_begins_with_what_is_known_in_the_agents_own_form(env: dict[str, str], agent: str) -> None:
    name = "sessionStart" if agent == "cursor" else "SessionStart"
    answer = told(env, agent, within(env["HOME"], name)[agent])
    members = {
        "claude": ["hookSpecificOutput"],
        "codex": ["hookSpecificOutput"],  # one more, and Codex refuses all
        "gemini": ["hookSpecificOutput"],
        "cursor": ["additional_context"],
        "copilot": ["additionalContext"],
    }
    assert sorted(answer) == members[agent]
    if "hookSpecificOutput" in answer:
        assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        assert sorted(answer["hookSpecificOutput"]) == ["additionalContext", "hookEventName"]
        assert CONTEXT in answer["hookSpecificOutput"]["additionalContext"]
    assert CONTEXT in answer.get("additional_context", CONTEXT)
    assert CONTEXT in answer.get("additionalContext", CONTEXT)


@pytest.mark.parametrize(
    ("agent", "name"), [(a, "UserPromptSubmit") for a in hooks.AGENTS] + [("gemini", "BeforeAgent")]
)
def test_a_prompt_is_answered_where_the_agent_reads_it(env: dict[str, str], agent: str, name: str) -> None:
    name = "beforeSubmitPrompt" if agent == "cursor" else name
    answer = told(env, agent, {**within(env["HOME"], name)[agent], "prompt": "does Anna like tea?"})
    if agent == "cursor":
        assert answer is None, "Cursor reads no context here"
    elif agent == "copilot":
        assert CONTEXT in answer["additionalContext"]
    else:
        assert answer["hookSpecificOutput"]["hookEventName"] == name
        assert CONTEXT in answer["hookSpecificOutput"]["additionalContext"]
    assert told(env, agent, {**within(env["HOME"], name)[agent], "prompt": "zzyzx"}) is None, (
        "silence, not an empty form"
    )


def test_cursor_that_runs_the_hooks_of_claude_code_is_told_once(env: dict[str, str]) -> None:
    event = {**within(env["HOME"], "SessionStart")["claude"], "cursor_version": "2.4.0"}
    assert told(env, "claude", event) is None
    assert CONTEXT in told(env, "cursor", event)["additional_context"]
    assert CONTEXT in json.loads(run(env, event=event).stdout)["additional_context"], "as a person wrote it there"


def test_an_agent_is_told_its_own_notes_and_no_other_is(env: dict[str, str], vault: Path) -> None:
    (vault / "agents" / "codex").mkdir(parents=True)
    (vault / "agents" / "codex" / "harbour.md").write_text("- the harbour closes at nine\n")
    event = within(env["HOME"], "UserPromptSubmit")["codex"]
    asked = {**event, "prompt": "when does the harbour close?"}
    assert "closes at nine" in json.dumps(told(env, "codex", asked))
    assert "closes at nine" not in json.dumps(told(env, "claude", asked))


def test_an_unknown_agent_gets_nothing_and_is_no_failure(env: dict[str, str]) -> None:
    done = run(env, "--agent", "zed", event={"hook_event_name": "SessionStart"})
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("place", [0, 1])
def test_a_long_prompt_is_searched_by_its_ends(env: dict[str, str], place: int) -> None:
    pasted = "\n".join(f"line {n} of a log about zzyzx and qwfpgj" for n in range(5_000))
    prompt = ["does Anna like tea?\n" + pasted, pasted + "\ndoes Anna like tea?"][place]
    assert len(prompt) > 50 * hooks.LONGEST_PROMPT
    answer = told(env, "claude", {**within(env["HOME"], "UserPromptSubmit")["claude"], "prompt": prompt})
    assert CONTEXT in answer["hookSpecificOutput"]["additionalContext"]


def test_a_question_is_never_longer_than_what_is_searched() -> None:
    most = hooks.LONGEST_PROMPT
    assert hooks.questions("x" * most) == ["x" * most]
    assert hooks.questions("a" + "x" * 100_000 + "z") == ["a" + "x" * (most - 1), "x" * (most - 1) + "z"]
    assert hooks.questions("\n" * 100_000) == []
    assert hooks.questions("first\n\n" + "x\n" * most + "last\n\n") == ["first", "last"]


def installed_command(home: Path) -> str:
    """What Claude Code would run at the start of a session."""
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    return str(settings["hooks"]["SessionStart"][-1]["hooks"][-1]["command"])


def record(role: str, *texts: str, **more: Any) -> str:
    """A record of a log of Claude Code."""
    return json.dumps(
        {"type": role, "message": {"role": role, "content": [{"type": "text", "text": t} for t in texts]}}
    )


STOP = "[Request interrupted by user for tool use]"
LOGS = {
    "stopped": ([record("user", "run it"), record("assistant", "running"), record("user", STOP)], True),
    "and it stands there": ([record("user", STOP), record("user", "no, with pnpm")], True),
    "went on": ([record("user", STOP), record("user", "go on"), record("assistant", "so be it")], False),
    "quoted": ([record("user", "run it"), record("assistant", STOP)], False),
    "codex": (
        [
            json.dumps({"type": "response_item", "payload": {"role": "user", "content": [{"text": "<turn_aborted>"}]}}),
            json.dumps({"type": "event_msg", "payload": {"type": "turn_aborted"}}),
        ],
        True,
    ),
    "damaged": (["{", "[]", record("user", STOP), '{"type": "user", "message": 3}'], True),
    "empty": ([], False),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_correction_is_what_is_typed_after_the_agent_was_stopped(tmp_path: Path, name: str) -> None:
    rows, stopped = LOGS[name]
    log = tmp_path / "t.jsonl"
    log.write_text("".join(f"{row}\n" for row in rows))
    assert hooks.was_stopped(str(log), "no, with pnpm") is stopped


def test_a_log_that_is_not_there_shows_no_correction(tmp_path: Path) -> None:
    assert not hooks.was_stopped(str(tmp_path / "none"), "x")


def line_of(event: dict[str, Any], wanted: str = "tools, corrections, compaction", agent: str = "claude") -> str:
    return hooks.daily_line(
        agent, hooks.event_of(json.dumps(event).encode()), hooks.lines_of(listed(wanted)).values(), secrets.mask
    )


def test_the_lines_of_a_day_are_those_of_tars() -> None:
    tool = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "npm  test\n-- --ci"}}
    assert line_of(tool) == "tool:Bash — npm test -- --ci"
    assert line_of(tool, "compaction") == "" and line_of(tool, "") == ""
    long = line_of({**tool, "tool_input": {"command": "x" * 200}})
    assert long.startswith("tool:Bash — xxx") and len(long) == len("tool:Bash — ") + 80
    secret = {"command": f"{'x ' * 35}OPENAI_API_KEY=sk-proj-{'a1B2' * 12}"}  # half of it would not be known again
    assert "sk-proj" not in line_of({**tool, "tool_input": secret})
    assert "hunter2" not in line_of({**tool, "tool_input": {"password": "hunter2hunter2"}})
    for given, words in (({"a": 3}, ' — {"a": 3}'), ("patch", " — patch"), ({}, ""), (None, ""), ([1], " — [1]")):
        assert line_of({**tool, "tool_input": given}) == f"tool:Bash{words}"
    compact = {"hook_event_name": "PreCompress", "trigger": "auto", "custom_instructions": ""}
    assert line_of(compact, agent="gemini") == "[gemini] session compacted — auto"
    more = {**compact, "trigger": "manual", "custom_instructions": "keep the plan"}
    assert line_of(more, agent="") == "[agent] session compacted — manual: keep the plan"
    assert line_of({"hook_event_name": "correction", "prompt": "use pnpm"}) == "correction: use pnpm"
    with pytest.raises(SettingsError, match="'tolls' is unknown"):
        hooks.lines_of(["tolls"])


def test_an_agents_day_is_noted_in_its_name_and_project_and_undone(env: dict[str, str], vault: Path) -> None:
    work = Path(env["HOME"], "work")
    work.mkdir()
    (work / ".tars-project").write_text("boat\n")
    (vault / "projects" / "boat").mkdir(parents=True)
    called = {"hook_event_name": "PostToolUse", "cwd": str(work), "tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert run(env, "--agent", "claude", event=called).stdout == ""
    assert [*vault.rglob("20*.md")] == [], "nothing unless it is set"
    env["TARS_MEMORY_HOOK_LINES"] = "tools"
    done = run(env, "--agent", "claude", event=called)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (note,) = vault.rglob("20*.md")
    assert note.parent == vault / "projects" / "boat"
    (line,) = [row for row in note.read_text().splitlines() if row.startswith("- ")]
    assert line.endswith("tool:Bash — ls [by:: claude]")
    listed = forked.run(program("history", "--json"), env=env, cwd=work, text=True)
    assert json.loads(listed.stdout)["entries"][0]["actor"] == "agent"
    forked.run(program("undo"), env=env, cwd=work, check=True)
    assert not note.exists() or "tool:" not in note.read_text()


def test_three_commands_to_the_first_remembered_line(tmp_path: Path) -> None:
    home = tmp_path / "fresh"
    home.mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for words in (["init", f"{home}/Notes"], ["--vault", f"{home}/Notes", "hook", "install", "claude", "--yes"]):
        forked.run(program(*words), env=env, cwd=home, check=True)
    said = ["--vault", f"{home}/Notes", "remember", "The NAS backs up at 03:15"]
    forked.run(program(*said), env=env, cwd=home, check=True)
    words = shlex.split(installed_command(home))
    assert words[-5:] == ["hook", "--agent", "claude", "--vault", f"{home}/Notes"]
    for event in (
        {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "cwd": "/", "prompt": "when does my NAS run its backup?"},  # by meaning
    ):
        done = forked.run(program(*words[-5:]), env=env, cwd="/", input=json.dumps(event), text=True)
        assert "- The NAS backs up at 03:15" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_without_a_terminal_nothing_is_written_unless_it_is_said(env: dict[str, str]) -> None:
    settings = Path(env["HOME"], ".claude", "settings.json")
    settings.parent.mkdir()
    settings.write_text('{"env": {"API_TOKEN": "sk-ant-REDACTED-0123456789abcdefABCDEF0123"}}\n')
    before = settings.read_bytes()
    done = run(env, "install", "claude")
    assert done.returncode == 2
    assert "--yes agrees to it" in done.stderr
    assert '+{"env"' in done.stdout
    assert "0123456789abcdefABCDEF" not in done.stdout, "a pipe gets credentials masked"
    assert run(env, "install", "claude", "--dry-run").returncode == 0
    assert settings.read_bytes() == before
    assert run(env, "install", "claude", "--yes").returncode == 0
    assert b"sk-ant-REDACTED-0123456789abcdefABCDEF0123" in settings.read_bytes()
    assert "nothing to do: installed already" in run(env, "install", "claude", "--yes").stderr
    assert run(env, "uninstall", "claude", "--yes").returncode == 0
    assert settings.read_bytes() == before


@pytest.mark.parametrize("answer", ["y", "n"])
def test_at_a_terminal_the_person_is_asked(env: dict[str, str], answer: str) -> None:
    settings = Path(env["HOME"], ".gemini", "settings.json")
    settings.parent.mkdir()
    settings.write_text("{}")
    person = Dialogue(started("hook", "install"), env, Path(env["HOME"]), columns=300)
    assert '+    "SessionStart": [' in person.wait_for(f"change {settings}? [y/N]")
    person.type(f"{answer}\n")
    assert person.end() == (0 if answer == "y" else 1)
    assert (settings.read_text() == "{}") == (answer == "n")


def test_cursor_gets_our_server_where_it_can_be_started(env: dict[str, str]) -> None:
    Path(env["HOME"], ".cursor").mkdir()
    assert run(env, "install", "--yes").returncode == 0
    path = Path(env["HOME"], ".cursor", "mcp.json")
    assert path.exists() == (find_spec("mcp") is not None)
    if path.exists():
        server = json.loads(path.read_text())["mcpServers"]["tars-memory"]
        assert os.access(server["command"], os.X_OK)
        assert server["args"][-3:-1] == ["mcp", "--vault"]
    assert run(env, "uninstall", "--yes").returncode == 0
    assert [*Path(env["HOME"], ".cursor").iterdir()] == []


def test_no_agent_here_is_said_and_so_is_an_unknown_one(env: dict[str, str]) -> None:
    done = run(env, "install")
    assert done.returncode == 2
    assert "no agent's settings were found" in done.stderr
    assert "claude (Claude Code)" in done.stderr
    done = run(env, "uninstall")
    assert (done.returncode, done.stderr) == (0, "tars-memory: nothing to do: not installed\n")
    assert run(env, "install", "zed").returncode == 2
    assert run(env, "instal").returncode in (0, 2)
    assert [each["there"] for each in json.loads(run(env, "status", "--json").stdout)["agents"]] == [False] * 5


def test_no_vault_no_installation(tmp_path: Path) -> None:
    env = environment(tmp_path / "ours", HOME=str(tmp_path))
    done = run(env, "install", "claude", "--yes")
    assert done.returncode == 4
    assert not (tmp_path / ".claude").exists()


def test_broken_settings_are_named_with_the_place(env: dict[str, str]) -> None:
    settings = Path(env["HOME"], ".cursor", "hooks.json")
    settings.parent.mkdir()
    settings.write_text('{"version": 1,\n "hooks": {\n')
    for words in (["install", "--yes"], ["uninstall", "--yes"]):
        done = run(env, *words)
        assert done.returncode == 2
        assert f"{settings} " in done.stderr
        assert "line 3, column 1" in done.stderr
        assert "Traceback" not in done.stderr
    assert settings.read_text() == '{"version": 1,\n "hooks": {\n'
    told = json.loads(run(env, "status", "cursor", "--json").stdout)
    assert told["agents"][0]["agent"] == "cursor"


def test_status_and_doctor_tell_what_claude_code_forgets(env: dict[str, str]) -> None:
    project = Path(env["HOME"], ".claude", "projects", "-x")
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "MEMORY.md").write_text("- line\n" * 300)
    log = project / "old.jsonl"
    log.write_text("{}\n")
    os.utime(log, (1_793_000_000,) * 2)  # the end of October, before TARS_NOW
    for command in ("status", "doctor"):
        done = forked.run(program(command, "--json"), env=env, cwd=env["HOME"], text=True)
        said = done.stdout
        assert "is longer than the part that Claude Code loads (300 lines, 2,100 bytes" in said, command
        assert "Claude Code deletes 1 conversation within 5 days (cleanupPeriodDays: 30)" in said, command


def test_logs_that_cannot_be_read_are_neither_kept_nor_examined(env: dict[str, str], tmp_path: Path) -> None:
    log = Path(env["HOME"], "t.json")
    log.write_text('{"messages": [{"type": "user", "content": "hello"}]}')
    for name in ("BeforeAgent", "PreCompress"):
        event = {
            **within(env["HOME"], name)["gemini"],
            "transcript_path": str(log),
            "prompt": "zzyzx",
            "trigger": "auto",
        }
        assert told({**env, "TARS_MEMORY_HOOK_REVIEW_EVERY": "1"}, "gemini", event) is None
    (desk,) = (tmp_path / "ours").rglob("hooks/hook.log")
    assert "begun:" not in desk.read_text() and [path.name for path in desk.parent.iterdir()] == ["hook.log"]
