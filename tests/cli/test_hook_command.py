"""hook: real processes, as an agent calls them; whatever happens, the agent sees an answer or nothing, and exit 0."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conversations as logs
import forked
import pytest
from forked import script
from terminal import environment, on_a_terminal, program, started

from tars_memory.doors.cli import background
from tars_memory.jobs import hooks
from tars_memory.jobs.hooks import HookFolder
from tars_memory.testing import make_vault
from tars_memory.vault.writing.system import VaultLock

WAIT = 120.0
SESSION = "84a7e050-4ff6-4264-865b-baf9d561bba3"


class Agent:
    """A coding agent with one conversation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.vault = make_vault(folder / "vault", {"Memory.md": "# Memory\n\n## Notes\n\n- Anna likes oolong tea\n"})
        self.env = environment(folder / "home", TARS_MEMORY_DIR=str(self.vault), TARS_MEMORY_RECALL_MODE="lexical")
        self.log = folder / "talk.jsonl"
        self.log.write_bytes(logs.claude_code([*logs.talk(8)], SESSION))

    def says(self, text: str) -> None:
        said = {"role": "user", "content": text}
        line = {
            "type": "user",
            "uuid": text,
            "sessionId": SESSION,
            "timestamp": "2026-11-21T10:00:00Z",
            "message": said,
        }
        with self.log.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def hook(self, name: str, *options: str, env: dict[str, str] | None = None, **more: object) -> Any:
        event = {"session_id": "s", "transcript_path": str(self.log), "cwd": str(self.folder), "hook_event_name": name}
        return self.raw(json.dumps({**event, **more}).encode(), *options, env=env)

    def raw(self, data: bytes, *options: str, env: dict[str, str] | None = None) -> Any:
        return forked.run(
            program("hook", *options),
            input=data,
            env={**self.env, **(env or {})},
            cwd=self.folder,
            timeout=WAIT,
        )

    @property
    def desk(self) -> Path:
        (found,) = (self.folder / "home" / "state" / "vaults").glob("*/hooks")
        return found

    @property
    def told(self) -> str:
        return (self.desk / "hook.log").read_text()

    @property
    def notes(self) -> str:
        return "".join(path.read_text() for path in sorted(self.vault.rglob("*.md")))

    def waits_for(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < end, self.told
            time.sleep(0.05)

    def busy_vault(self) -> VaultLock:
        """The lock of the vault's writers; while it is held every run in the background hangs."""
        answered(self.hook("SessionStart"))
        return VaultLock(self.desk.parent / "lock", timeout=5, command="test")

    def runs(self) -> int:
        return self.told.count("background:")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def answered(done: Any) -> str:
    assert done.returncode == 0, done.stderr
    return str(done.stdout.decode())


def test_a_session_is_told_what_is_known_and_a_prompt_what_it_finds(agent: Agent) -> None:
    assert "- Anna likes oolong tea" in answered(agent.hook("SessionStart", source="startup"))
    assert "- Anna likes oolong tea" in answered(agent.hook("UserPromptSubmit", prompt="does Anna like tea?"))
    assert answered(agent.hook("UserPromptSubmit", prompt="zzyzx")) == ""
    assert answered(agent.hook("UserPromptSubmit", prompt="   ")) == ""
    told = json.loads(answered(agent.hook("UserPromptSubmit", "--json", prompt="does Anna like tea?")))
    assert told["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "- Anna likes oolong tea" in told["hookSpecificOutput"]["additionalContext"]
    assert "tea" not in agent.told, "no text of prompts and notes"


def test_a_vault_named_by_a_relative_path_is_that_of_the_call_and_not_of_the_agents_folder(agent: Agent) -> None:
    repository = agent.folder / "repository"
    make_vault(repository / "vault", {"Memory.md": "# Memory\n\n- oolong tea is bad\n"})
    for options, env in ((["--vault", "vault"], {}), ([], {"TARS_MEMORY_DIR": "vault"})):
        told = answered(agent.hook("SessionStart", *options, env=env, cwd=str(repository)))
        assert "likes oolong" in told
        assert "is bad" not in told


def test_the_conversation_is_examined_at_its_end_although_its_log_is_removed(agent: Agent) -> None:
    agent.says("Please remember that the spare key is under the blue pot.")
    assert answered(agent.hook("SessionEnd", reason="other")) == ""
    agent.log.unlink()
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes and agent.runs() == 1)
    agent.waits_for(lambda: not [*agent.desk.glob("kept/*")])


def test_what_stood_before_compacting_is_examined_although_the_log_is_cut(agent: Agent) -> None:
    agent.says("Please remember that the spare key is under the blue pot.")
    with agent.busy_vault().held():
        assert answered(agent.hook("PreCompact", trigger="auto")) == ""
        agent.log.write_bytes(logs.claude_code([*logs.talk(2)]))
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes)


def test_every_few_messages_it_is_examined(agent: Agent) -> None:
    few = {"TARS_MEMORY_HOOK_REVIEW_EVERY": "3"}
    agent.says("Please remember that the spare key is under the blue pot.")
    for _ in range(7):
        answered(agent.hook("UserPromptSubmit", prompt="zzyzx", env=few))
    assert agent.told.count("begun: ") == 2
    agent.waits_for(lambda: "[extracted] " in agent.notes)
    assert re.findall(r"message (\d)", agent.told) == ["1", "2", "4", "5", "7"]


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_a_session_that_was_killed_is_examined_when_another_one_appears(agent: Agent, name: str) -> None:
    agent.says("Please remember that the spare key is under the blue pot.")
    answered(agent.hook("UserPromptSubmit", prompt="zzyzx"))
    other = agent.folder / "other.jsonl"
    other.write_bytes(logs.claude_code([*logs.talk(1)], "5c1b0d3c-0000-4264-865b-baf9d561bba3"))
    answered(agent.hook(name, prompt="zzyzx", transcript_path=str(other)))
    assert "begun again: 1" in agent.told
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes and agent.runs() == 1)
    waits = [] if name == "SessionStart" else [str(other)]
    agent.waits_for(lambda: HookFolder(agent.desk).left() == waits)
    answered(agent.hook("SessionStart", transcript_path=str(other)))
    assert agent.told.count("begun again") == 1, "its own session has not been left behind"


def test_a_prompt_that_is_not_in_the_log_yet_keeps_its_session_marked(agent: Agent) -> None:
    answered(agent.hook("UserPromptSubmit", prompt="zzyzx", env={"TARS_MEMORY_HOOK_REVIEW_EVERY": "1"}))
    agent.waits_for(lambda: agent.runs() == 1 and not running(agent))
    agent.says("Please remember that the spare key is under the blue pot.")  # then the terminal is killed
    answered(agent.hook("SessionStart", transcript_path=""))
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes and HookFolder(agent.desk).left() == [])


def test_what_was_kept_before_a_long_absence_is_examined_at_the_next_start(agent: Agent) -> None:
    agent.says("Please remember that the spare key is under the blue pot.")
    answered(agent.hook("SessionStart"))
    HookFolder(agent.desk).keep(str(agent.log))
    agent.log.unlink()
    for path in [*agent.desk.glob("kept/*/*")]:
        os.utime(path, (1, 1))
    answered(agent.hook("SessionStart", transcript_path=""))
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes and not [*agent.desk.glob("kept/*")])


@pytest.mark.parametrize("env", [{"TARS_AUTO_EXTRACT": "0"}, {"TARS_AUTO_EXTRACT": "off"}])
def test_it_examines_nothing_if_that_is_forbidden(agent: Agent, env: dict[str, str]) -> None:
    for name in ("PreCompact", "SessionEnd", "SessionStart"):
        answered(agent.hook(name, env=env))
    answered(agent.hook("UserPromptSubmit", prompt="zzyzx", env={**env, "TARS_MEMORY_HOOK_REVIEW_EVERY": "1"}))
    assert "begun" not in agent.told.replace("nothing begun", "") and not [*agent.desk.glob("kept/*")]


def test_zero_examines_at_the_end_only(agent: Agent) -> None:
    answered(agent.hook("UserPromptSubmit", prompt="zzyzx", env={"TARS_MEMORY_HOOK_REVIEW_EVERY": "0"}))
    assert "begun: " not in agent.told


HOPELESS: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"hook_event_name": 3}',
    b"[" * 100_000,
    b'{"hook_event_name": "SessionEnd", "transcript_path": "/dev/zero"}',
    b'{"hook_event_name": "SessionEnd", "transcript_path": "a\\u0000b"}',
    b'{"hook_event_name": "SessionEnd", "transcript_path": ["x"], "cwd": 4}',
    b'{"hook_event_name": "Stop", "stop_hook_active": false}',
    b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}',
    b'{"hook_event_name": "UserPromptSubmit", "prompt": "\\ud800 \\u0000 \\ud83d"}',
    b'{"hook_event_name": "UserPromptSubmit", "prompt": {"text": "x"}}',
]


@pytest.mark.parametrize("data", HOPELESS, ids=range(len(HOPELESS)))
def test_nothing_hopeless_gets_into_the_way(agent: Agent, data: bytes) -> None:
    assert answered(agent.raw(data)) == ""


@pytest.mark.parametrize(
    "env",
    [
        {"TARS_MEMORY_DIR": "/nowhere"},
        {"TARS_NOW": "yesterday-ish"},
        {"TARS_MEMORY_ACTOR": "pope"},
        {"TARS_MEMORY_HOOK_BUDGET": "much"},
        {"TARS_MEMORY_HOME": "/dev/null/x"},
        {"TARS_MEMORY_HOOK_TIMEOUT": "-1"},
    ],
    ids=lambda env: next(iter(env)),
)
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_no_failure_gets_into_the_way(agent: Agent, env: dict[str, str], name: str) -> None:
    done = agent.hook(name, prompt="does Anna like tea?", env=env)
    assert (done.returncode, done.stdout) == (0, b"")
    if "TARS_MEMORY_HOME" not in env:
        found = [path.read_text() for path in (agent.folder / "home").rglob("hook.log")]
        assert "failed: " in "".join(found)


def test_an_answer_that_cannot_be_written_does_not_refuse_the_prompt(agent: Agent) -> None:
    event = json.dumps({"hook_event_name": "SessionStart", "transcript_path": "\ud800", "cwd": str(agent.folder)})
    with open(os.devnull, "rb") as shut:
        done = subprocess.run(program("hook"), input=event.encode(), env=agent.env, stdout=shut, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"") and "failed: " in agent.told


def test_a_wrong_option_is_said_and_does_not_refuse_the_prompt(agent: Agent) -> None:
    done = agent.raw(b"{}", "--nonsense")
    assert (done.returncode, done.stdout) == (0, b"") and b"--nonsense" in done.stderr
    assert b"Options of every command" in agent.raw(b"", "--help").stdout


def test_an_agent_that_never_closes_the_pipe_is_not_kept_waiting(agent: Agent) -> None:
    quick = agent.folder / "quick.py"
    quick.write_text(
        "from tars_memory.settings import HookOptions\n"
        "from tars_memory.__main__ import main\n"
        "HookOptions.timeout = 0.5  # of five seconds: no setting is read before the event\n"
        "main()\n"
    )
    words = script(str(quick), "hook")
    waiting = subprocess.Popen(words, env=agent.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert waiting.wait(WAIT) == 0
    assert waiting.stdout is not None and waiting.stdout.read() == b""
    assert waiting.stdin is not None
    waiting.stdin.close()
    waiting.stdout.close()


def test_at_a_terminal_it_says_what_it_is_for(agent: Agent) -> None:
    code, screen = on_a_terminal(program("hook"), agent.env, agent.folder)
    assert code == 0 and b"for coding agents" in screen


def test_a_hung_run_changes_nothing_and_a_killed_one_loses_nothing(agent: Agent) -> None:
    agent.says("Please remember that the spare key is under the blue pot.")
    start, prompt = "SessionStart", {"prompt": "does Anna like tea?"}
    with agent.busy_vault().held():
        before = len(answered(agent.hook(start))), len(answered(agent.hook("UserPromptSubmit", **prompt)))
        for _ in range(4):
            answered(agent.hook("SessionEnd"))
        agent.waits_for(lambda: len(running(agent)) == 2)  # one is at it, one waits, the others have left
        after = len(answered(agent.hook(start))), len(answered(agent.hook("UserPromptSubmit", **prompt)))
        assert after == before
        agent.waits_for(
            lambda: all(os.getpriority(os.PRIO_PROCESS, each) >= background.NICENESS for each in running(agent))
        )
        for process in running(agent):
            assert os.getsid(process) != os.getsid(0)
            os.kill(process, signal.SIGKILL)
        agent.waits_for(lambda: not running(agent))
    assert "spare key" not in agent.notes
    assert len([*agent.desk.glob("kept/*/*/talk.jsonl")]) == 4
    answered(agent.hook(start))
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes and not [*agent.desk.glob("kept/*")])
    assert agent.notes.count("[extracted] ") == 1


def running(agent: Agent) -> list[int]:
    """The background runs of this agent's vault."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if b"tars_memory.doors.cli.background" in words and os.fsencode(agent.vault) in words and state != "Z":
            found.append(int(process.name))
    return found


def test_the_folder_of_the_agent_lends_no_modules(agent: Agent) -> None:
    (agent.folder / "json.py").write_text("raise SystemExit('not mine')\n")
    (agent.folder / "tars_memory").mkdir()
    agent.says("Please remember that the spare key is under the blue pot.")
    event = json.dumps({"hook_event_name": "end", "transcript_path": "talk.jsonl", "cwd": str(agent.folder)})
    called = [str(Path(sys.executable).parent / "tars-memory"), "hook"]
    done = subprocess.run(called, input=event.encode(), env=agent.env, cwd=agent.folder, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    agent.waits_for(lambda: "spare key is under the blue pot" in agent.notes)


@pytest.mark.prove
@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd"])
def test_what_only_begins_work_returns_at_once(agent: Agent, name: str) -> None:
    """In pairs, so that whatever else the machine does slows both."""
    ratios = []
    for _ in range(7):
        times = []
        for argv, data in ((started("--help"), b""), (started("hook"), event(agent, name))):
            begun = time.perf_counter()
            subprocess.run(argv, input=data, env=agent.env, capture_output=True, check=True)
            times.append(time.perf_counter() - begun)
        ratios.append(times[1] / times[0])
    assert statistics.median(ratios) < 1.5, ratios


def event(agent: Agent, name: str) -> bytes:
    return json.dumps({"hook_event_name": name, "transcript_path": str(agent.log)}).encode()


def test_what_only_begins_work_imports_no_room(agent: Agent) -> None:
    code = (
        "import io, sys; sys.argv = ['tars-memory', 'hook']\n"
        "from tars_memory.doors.cli.app import run\n"
        "assert run(['hook']) == 0\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=event(agent, "SessionEnd"), env=agent.env, capture_output=True
    )
    loaded = set(re.findall(r"'([\w.]+)'", done.stderr.decode()))
    assert "tars_memory.jobs.hooks" in loaded
    rooms = tuple(f"tars_memory.{room}." for room in ("vault", "index", "recall", "capture", "curation"))
    assert [name for name in loaded if name.startswith(rooms)] == []  # a room's name alone loads none of its modules
    assert loaded & {"tars_memory.memory", "tars_memory.workspace", "sqlite3", "pysqlite3", "numpy", "rich"} == set()


def test_the_log_is_bounded(tmp_path: Path) -> None:
    desk = HookFolder(tmp_path / "desk")
    for number in range(1000):
        desk.log(f"{number} " + "x\ny" * 2000)
    sizes = [path.stat().st_size for path in (tmp_path / "desk").iterdir()]
    assert len(sizes) == 2 and max(sizes) <= hooks.LONGEST_LOG + hooks.LONGEST_LINE + 100
    last = (tmp_path / "desk" / "hook.log").read_text() or (tmp_path / "desk" / "hook.log.1").read_text()
    assert " 999 x | y" in last


def test_what_a_command_says_is_bounded() -> None:
    said = background.FirstWords()
    for _ in range(1000):
        assert said.write("warning\n") == 8
    assert len(said.getvalue()) == background.LOGGED


def test_what_is_old_is_removed(tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_bytes(b"{}\n")
    desk = HookFolder(tmp_path / "desk")
    assert [desk.count(str(talk)) for _ in range(3)] == [1, 2, 3]
    desk.keep(str(talk))
    (copy,) = desk.kept(str(talk))
    assert Path(copy).read_bytes() == b"{}\n" and desk.left() == [str(talk)]
    desk.prune()
    assert desk.kept(str(talk)) == [copy] and desk.count(str(talk)) == 4
    for begun in (False, True):
        desk.begin(str(talk)) if begun else None
        for path in [*(tmp_path / "desk").rglob("*")]:
            os.utime(path, (1, 1))
        desk.prune()
        assert desk.left() == ([] if begun else [str(talk)]), "what was never tried waits, however old it is"
    assert [path for path in (tmp_path / "desk").rglob("*") if path.is_file()] == [] and desk.left() == []


def test_what_waits_is_known_until_it_was_examined(tmp_path: Path) -> None:
    desk = HookFolder(tmp_path / "desk")
    assert desk.left() == []
    for name, age in (("/a", 50), ("/a", 50), ("/b", 90), ("/c", 10), ("/d", 70)):
        desk.watch(name)
        os.utime(tmp_path / "desk" / "kept" / hooks.key(name) / "transcript", (1e9 - age, 1e9 - age))
    assert desk.left() == ["/c", "/a", "/d"] and desk.left(None, but="/a") == ["/c", "/d", "/b"]
    desk.drop("/c", [], 1e9 - 20)  # something was said since it was looked at
    desk.drop("/d", [], 1e9 - 20)
    assert desk.left(None) == ["/c", "/a", "/b"]
    for name in ("/a", "/b", "/c"):
        desk.begin(name)
        os.utime(tmp_path / "desk" / "kept" / hooks.key(name) / "begun", (1e9, 1e9))
    desk.prune()
    assert desk.left(None) == [] and [*(tmp_path / "desk" / "kept").iterdir()] == []


def test_a_conversation_that_went_on_needs_no_copy(tmp_path: Path) -> None:
    talk, copy = tmp_path / "talk.jsonl", tmp_path / "copy.jsonl"
    talk.write_bytes(b"one\ntwo\n")
    copy.write_bytes(b"one\n")
    assert hooks.holds(str(talk), str(copy))
    for other in (b"one", b"uno\ntwo\n", b""):
        talk.write_bytes(other)
        assert not hooks.holds(str(talk), str(copy))
    talk.unlink()
    assert not hooks.holds(str(talk), str(copy))
