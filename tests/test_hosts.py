"""Settings of coding agents: what is put in comes out again, and nothing of the person's is touched on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import forked
import pytest
from forked import script
from hypothesis import example, given, settings, strategies as st
from index.unprivileged import unwritable
from random_documents import examples

from tars_memory.errors import ConflictError, SettingsError, UnwritableError, UsageError
from tars_memory.jobs import hostfile, hosts
from tars_memory.jobs.hostfile import Insertion
from tars_memory.jobs.hosts import HOSTS, Hosts

PROGRAM = ["/opt/tools/bin/tars-memory"]

CLAUDE = """\
{
    // what I set up in spring
    "model": "opus",
    "permissions": {"allow": ["Bash(npm run lint)", "Read(~/.zshrc)"], "deny": []},
    /* hooks of mine */
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [
                    { "type": "command", "command": "date" }, // keeps me honest
                ],
            },
        ],
    },
    "cleanupPeriodDays": 90,
}
"""

JSON_FILES: dict[str, bytes | None] = {
    "comments, commas at the end, own hooks": CLAUDE.encode(),
    "tabs": b'{\n\t"theme": "dark",\n\t"hooks": {}\n}\n',
    "three blanks, CRLF, no line end": b'{\r\n   "a": [1,\r\n   2],\r\n   "b": {"c": null}\r\n}',
    "one line": b'{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"b":"\\u00e9 {[//"}',
    "byte order mark": b'\xef\xbb\xbf{\n  "env": {"TOKEN": "\xc3\xa9\xe2\x82\xac"}\n}\n\n\n',
    "brackets alone": b"{ }",
    "comment in brackets": b"// mine\n{\n  // nothing yet\n}\n",
    "odd": b'  { "a"\n:\n1 , "b" : [ ] ,\n\n"c":{\n} // c\n\n }  \n// the end',
    "old line ends": b'{\r  "a": 1,\r  "b": 2\r}\r',
    "bytes that are not text": b'{\n  "a": "\xff\xfe"\n}\n',
    "empty": b"",
    "blank": b"\n\n",
    "missing": None,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def on(home: Path, **env: str) -> Hosts:
    return Hosts({"HOME": str(home), **env}, home / "state")


def install(held: Hosts, name: str, program: list[str] = PROGRAM, *, server: bool = True) -> list[bool]:
    return [held.carry_out(edit) for edit in held.install(name, program, "", server=server)]


def uninstall(held: Hosts, name: str) -> list[bool]:
    return [held.carry_out(edit) for edit in held.uninstall(name)]


def tree(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in home.rglob("*")
        if "state" not in path.relative_to(home).parts
    }


def settle(home: Path, name: str, data: bytes | None) -> list[Path]:
    """The files of a host with these bytes."""
    held = on(home)
    files = [HOSTS[name].file, *filter(None, [HOSTS[name].servers])]
    paths = [held.folder(name) / file for file in files]
    for path in paths if data is not None else ():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or b"")
        path.chmod(0o640)
    return paths


@pytest.mark.parametrize("kind", JSON_FILES)
@pytest.mark.parametrize("name", HOSTS)
def test_what_is_installed_is_gone_again_to_the_byte(home: Path, name: str, kind: str) -> None:
    paths = settle(home, name, JSON_FILES[kind])
    before, held = tree(home), on(home)
    assert install(held, name) == [True] * len(paths)
    for path in paths:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        value = hostfile.values(text)
        assert "tars-memory" in json.dumps(value)
        rest = iter(text)
        kept = (JSON_FILES[kind] or b"").decode("utf-8", "surrogateescape").rstrip().replace("{ }", "{}")
        assert all(sign in rest for sign in kept), "all that was there is there, in its order"
    standing = held.status(name)
    assert set(HOSTS[name].events) <= set(standing.events)
    assert standing.servers == bool(HOSTS[name].servers)
    assert install(held, name) == [False] * len(paths), "twice changes nothing"
    assert any(uninstall(held, name))
    assert tree(home) == before
    if JSON_FILES[kind] is not None:
        assert [path.stat().st_mode & 0o777 for path in paths] == [0o640] * len(paths)
    assert not any(uninstall(held, name))
    assert held.status(name).files == []
    assert [each.name for each in (home / "state" / "hosts").iterdir()] == ["lock"], "no copy of credentials stays"


def test_hooks_of_ones_own_in_the_other_file_of_codex_stay_and_call_us_once(home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    mine = 'model = "gpt-5.5"  # the big one\r\n[[hooks.SessionStart]]\r\n[[hooks.SessionStart.hooks]]\r\n'
    config.write_text(f"{mine}command = 'nice tars-memory hook'\r\n", newline="")
    before, held = tree(home), on(home)
    assert install(held, "codex") == [True]
    told = json.loads((home / ".codex" / "hooks.json").read_text())
    assert list(told["hooks"]) == ["UserPromptSubmit", "PreCompact"], "its other file calls us at the start already"
    assert held.status("codex").events == list(HOSTS["codex"].events)
    assert install(held, "codex") == [False]
    assert True in uninstall(held, "codex")
    assert tree(home) == before


def test_calls_of_ours_in_the_other_file_of_codex_are_not_doubled_and_are_named_when_ours_go(home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    server = '[mcp_servers.tars-memory]\ncommand = "tars-memory"\nargs = ["mcp"]\n'
    call = '[[hooks.PreCompact]]\n[[hooks.PreCompact.hooks]]\ncommand = "tars-memory hook --agent codex"\n'
    config.write_text(server + call)
    held = on(home)
    (planned,) = held.install("codex", ["tars-memory"], "", server=False)
    assert planned.notes == (f"{config}: PreCompact already calls tars-memory",)
    assert list(json.loads(planned.after or b"")["hooks"]) == ["SessionStart", "UserPromptSubmit"]
    held.carry_out(planned)
    (planned,) = held.uninstall("codex")
    assert planned.notes == (f"{config}: PreCompact still calls tars-memory: remove it",)
    held.carry_out(planned)
    assert config.read_text() == server + call


@pytest.mark.parametrize("kind", [kind for kind, data in JSON_FILES.items() if data and data.strip()])
@pytest.mark.parametrize("name", HOSTS)
def test_a_file_that_was_edited_meanwhile_loses_our_entries_alone(home: Path, name: str, kind: str) -> None:
    (path, *_) = settle(home, name, JSON_FILES[kind])
    held = on(home)
    install(held, name, server=False)

    def edited(data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        keys = ("hooks", HOSTS[name].events[0])
        theirs = Insertion(keys, {"hooks": [{"type": "command", "command": "later"}]})
        added = hostfile.insert(text, [theirs, Insertion(("new",), True, listed=False)], lambda *_: False)
        return added.encode("utf-8", "surrogateescape")

    path.write_bytes(edited(path.read_bytes()))
    assert True in uninstall(held, name)
    left = hostfile.values(path.read_bytes().decode("utf-8", "surrogateescape"))
    meant = hostfile.values(edited(JSON_FILES[kind] or b"").decode("utf-8", "surrogateescape"))
    left.pop("version", None)
    assert left == meant
    if name == "claude":
        install(held, name, server=False)
        uninstall(held, name)
        assert hostfile.values(path.read_bytes().decode("utf-8", "surrogateescape")) == meant


BLANKS = st.sampled_from(["", " ", "\n", "\t", "\r\n", " // c\n", "/* { */", "\n\n  "])


@st.composite
def texts(draw: st.DrawFn, depth: int = 0) -> str:
    """JSON as people write it."""

    def blank() -> str:
        return draw(BLANKS)

    kind = draw(st.sampled_from(["object", "list", "plain"] if depth else ["object"])) if depth < 4 else "plain"
    if kind == "plain":
        return draw(st.sampled_from(["1", "-2.5e3", "true", "null", '""', '"// x"', '"a\\"}"', '"\\ud83d"']))
    inner = []
    for number in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(["hooks", "Stop", f"a{number}", f"b{number}"]))
        key = "" if kind == "list" else f'"{name}"{blank()}:{blank()}'
        inner.append(f"{blank()}{key}{draw(texts(depth + 1))}{blank()}")
    end = draw(st.sampled_from(["", ",", ", // c\n"])) if inner else ""
    first, last = "{}" if kind == "object" else "[]"
    return f"{first}{','.join(inner) or blank()}{end}{last}"


@settings(max_examples=examples(300))
@given(text=texts(), places=st.lists(st.sampled_from(["SessionStart", "Stop", "x y"]), min_size=1, max_size=3))
@example(text='{"a0":1// c\n}', places=["Stop"])
def test_any_json_keeps_every_other_byte(text: str, places: list[str]) -> None:
    def ours(value: Any, _key: str) -> bool:
        return isinstance(value, dict) and value.get("command") == "ours"

    wanted = [Insertion(("hooks", place), {"hooks": [{"command": "ours"}]}) for place in places]
    try:
        after = hostfile.insert(text, wanted, ours)
    except hostfile.UnfitError:
        assert text.count('"hooks"') >= 1, "it stands twice, or holds something else"
        return
    assert len([*hostfile.entries_of(hostfile.values(after), ours)]) == len(places)
    rest = iter(after)
    assert all(sign in rest for sign in "".join(text.split())), "what was there is there, in its order"
    back = hostfile.remove(after, ours, hostfile.values(text))
    assert hostfile.values(back) == hostfile.values(text)
    assert "".join(back.split()) == "".join(text.split()), "at most blanks within empty brackets differ"


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } was expected"),
        (b'{"hooks": ', "a value was expected"),
        (b'{"hooks": {"SessionStart": {}}}', "hooks.SessionStart is not a list"),
        (b'{"hooks": null}', "hooks is not an object"),
        (b'{"hooks": {}, "hooks": {"Stop": []}}', "hooks occurs twice"),
        (b"[]", "it is not a JSON object"),
        (b'{"a": "x\ny"}', "a value was expected"),
        (b'{"a": "\\x"}', "it is not a value"),
        (b"{} {}", "the end of the file was expected"),
        (b"\xff\xfe{\x00}\x00", "a value was expected"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b"/* never closed", "a value was expected"),
    ],
)
def test_a_broken_file_is_left_as_it_is_and_said(home: Path, data: bytes, where: str) -> None:
    (path,) = settle(home, "claude", data)
    held = on(home)
    with pytest.raises(SettingsError) as caught:
        install(held, "claude")
    assert where in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert path.read_bytes() == data
    assert tree(home) == {".claude": b"", ".claude/settings.json": data}


def test_a_link_is_followed_to_the_file_behind_it(home: Path) -> None:
    (path,) = settle(home, "claude", b'{"a": 1}')
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    path.rename(real)
    path.symlink_to(os.path.relpath(real, path.parent))
    held = on(home)
    install(held, "claude")
    assert path.is_symlink()
    assert b"tars-memory" in real.read_bytes()
    uninstall(held, "claude")
    assert path.is_symlink()
    assert real.read_bytes() == b'{"a": 1}'


def test_a_link_to_a_file_that_is_not_there_yet(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / "dotfiles").mkdir()
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / "claude.json")
    held = on(home)
    install(held, "claude")
    assert (home / "dotfiles" / "claude.json").is_file()
    uninstall(held, "claude")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert not (home / "dotfiles" / "claude.json").exists()


def test_a_program_that_moved_is_told_and_mended(home: Path) -> None:
    (path,) = settle(home, "claude", CLAUDE.encode())
    held = on(home)
    install(held, "claude", [str(home / "old" / "tars-memory")])
    assert "old/tars-memory, which no longer exists" in held.status("claude").problem
    new = home / "new" / "tars-memory"
    new.parent.mkdir()
    new.write_text("#!/bin/sh\n")
    new.chmod(0o755)
    assert install(held, "claude", [str(new)]) == [True]
    assert b"old" not in path.read_bytes()
    assert "no longer" not in held.status("claude").problem
    uninstall(held, "claude")
    assert path.read_bytes() == CLAUDE.encode()


@pytest.mark.parametrize(
    "command", ["tars-memory hook", "TARS_AUTHOR=claude tars-memory hook --json", "cd /x && ~/bin/tm hook | tee log"]
)
def test_a_call_that_the_person_wrote_stays_and_is_not_doubled(home: Path, command: str) -> None:
    data = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}).encode()
    (path,) = settle(home, "claude", data)
    held = on(home)
    (edit,) = held.install("claude", PROGRAM, "", server=False)
    assert "SessionStart already calls tars-memory" in " ".join(edit.notes)
    held.carry_out(edit)
    value = json.loads(path.read_bytes())
    assert len(value["hooks"]["SessionStart"]) == 1
    assert len(value["hooks"]["UserPromptSubmit"]) == 1
    assert held.status("claude").problem.startswith("it calls /opt/tools/bin/tars-memory, which no longer exists")
    uninstall(held, "claude")
    assert path.read_bytes() == data


def test_a_server_that_the_person_named_stays_and_is_not_doubled(home: Path) -> None:
    held = on(home)
    path = held.folder("cursor") / "mcp.json"
    path.parent.mkdir()
    data = json.dumps({"mcpServers": {"memory": {"command": "tars-memory", "args": ["mcp", "--vault", "/v"]}}}).encode()
    path.write_bytes(data)
    assert install(held, "cursor") == [True, False]
    assert held.status("cursor").servers
    uninstall(held, "cursor")
    assert path.read_bytes() == data


LINES = {
    "claude": {"PostToolUse"},
    "codex": {"PostToolUse"},
    "gemini": {"AfterTool", "PreCompress"},
    "cursor": {"postToolUse", "preCompact"},
    "copilot": {"PostToolUse", "PreCompact"},
}


@pytest.mark.parametrize("name", LINES)
def test_daily_lines_ask_for_more_events_until_they_are_switched_off(home: Path, name: str) -> None:
    plain, more = on(home), Hosts({"HOME": str(home)}, home / "state", ("tools", "compaction"))
    called = [sys.executable, "-m", "tars_memory"]  # a program that is there, so that nothing else is the matter
    install(plain, name, called)
    before = plain.status(name).events
    assert "lack" in more.status(name).problem or name == "codex"
    install(more, name, called)
    assert set(more.status(name).events) == {*HOSTS[name].events, *LINES[name]}
    install(plain, name, called)
    assert plain.status(name).events == before
    uninstall(plain, name)
    assert plain.status(name).events == []


def test_a_file_that_changed_since_it_was_shown_is_not_written(home: Path) -> None:
    (path,) = settle(home, "claude", b"{}")
    held = on(home)
    (edit,) = held.install("claude", PROGRAM, "", server=False)
    path.write_bytes(b'{"model": "opus"}')
    with pytest.raises(ConflictError):
        held.carry_out(edit)
    assert path.read_bytes() == b'{"model": "opus"}'


def test_an_unwritable_file_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = settle(home, "claude", b"{}")
    held = on(home)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hosts, "_replace", full)
    with pytest.raises(UnwritableError) as caught:
        install(held, "claude")
    assert str(path) in caught.value.message
    assert "No space left" in caught.value.message
    assert path.read_bytes() == b"{}"


def test_a_save_while_the_new_file_is_written_is_not_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = settle(home, "claude", b"{}")
    held = on(home)
    (edit,) = held.install("claude", PROGRAM, "", server=False)
    saved, fsync = b'{"saved": "by the host"}', os.fsync

    def slow(descriptor: int) -> None:
        fsync(descriptor)
        path.write_bytes(saved)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(ConflictError):
        held.carry_out(edit)
    assert path.read_bytes() == saved
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_a_read_only_file_stays(home: Path) -> None:
    (path,) = settle(home, "claude", b"{}")
    held = on(home)
    with unwritable(home / ".claude"), pytest.raises(UnwritableError) as caught:
        install(held, "claude")
    assert caught.value.message == f"{path} is read-only"
    path.unlink()
    with unwritable(home / ".claude"), pytest.raises(UnwritableError) as caught:
        install(held, "claude")
    assert "Permission denied" in caught.value.message
    assert tree(home) == {".claude": b""}


def test_no_home_no_settings(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Hosts({}, tmp_path)
    assert hosts.warnings({}, 0, kept=False) == []


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("claude", '{\n  // mine\n  "a": "x // y,}"\n}', "comments"),
        ("claude", '{"a": [1, ], }', "a comma before a closing bracket"),
        ("claude", '\ufeff{"a": "// , }"}', ""),
        ("codex", '\ufeff{"description": "x"}', "a byte order mark"),
        ("gemini", '// mine\n{"a": 1}', ""),
        ("gemini", '{"a": 1, /* x */ }', "a comma before a closing bracket"),
        ("copilot", '{"version": 1, "hooks": { /* none */ }}', "comments"),
        ("cursor", '{"version": 1, // mine\n}', ""),
    ],
)
def test_a_form_that_the_agent_does_not_read_is_told(home: Path, name: str, text: str, what: str) -> None:
    (path, *_) = settle(home, name, text.encode())
    held = on(home)
    (edit,) = held.install(name, PROGRAM, "", server=False)
    said = f"{HOSTS[name].title} ignores {path}: it has {what}"
    assert [note for note in edit.notes if "ignores" in note] == ([said] if what else [])
    held.carry_out(edit)
    assert (said in held.status(name).problem) == bool(what)


def test_a_vault_that_moved_is_told_and_mended(home: Path) -> None:
    held = on(home)
    for edit in held.install("gemini", PROGRAM, str(home / "Notes"), server=False):
        held.carry_out(edit)
    assert f"it names the vault {home}/Notes, which does not exist" in held.status("gemini").problem
    (home / "Notes").mkdir()
    assert "vault" not in held.status("gemini").problem
    (home / "Notes").rename(home / "My notes")
    for edit in held.install("gemini", PROGRAM, str(home / "My notes"), server=False):
        held.carry_out(edit)
    assert "vault" not in held.status("gemini").problem
    assert len(json.loads((home / ".gemini" / "settings.json").read_text())["hooks"]["SessionStart"]) == 1
    uninstall(held, "gemini")
    assert not (home / ".gemini").exists()


def test_codex_is_asked_for_trust_until_it_wrote_it_down(home: Path) -> None:
    held = on(home)
    install(held, "codex", [sys.executable.replace("python", "tars-memory")])
    assert "it waits until you trust SessionStart, UserPromptSubmit, PreCompact" in held.status("codex").problem
    path = home / ".codex" / "hooks.json"
    state = "".join(
        f'[hooks.state."{path}:{event}:0:0"]\ntrusted_hash = "sha256:0"\n'
        for event in ("session_start", "user_prompt_submit")
    )
    config = home / ".codex" / "config.toml"
    config.write_text(state)
    assert "it waits until you trust PreCompact: type /hooks in Codex" in held.status("codex").problem
    config.write_text(state + state.replace("session_start", "pre_compact").partition("\n[")[0])
    assert "trust" not in held.status("codex").problem
    config.write_text("[features]\nhooks = false\n")
    assert f"all hooks are switched off in {config} (features.hooks)" in held.status("codex").problem
    config.write_text("[")
    assert f"{config} is not valid TOML" in held.status("codex").problem


def test_a_plugin_beside_the_hooks_is_told(home: Path) -> None:
    settle(home, "claude", b'{"enabledPlugins": {"tars-memory@tars-memory": true}}')
    held = on(home)
    assert held.status("claude").problem == ""
    install(held, "claude")
    assert "the plugin tars-memory@tars-memory also calls it" in held.status("claude").problem
    uninstall(held, "claude")
    assert held.status("claude").problem == ""


KILLED = """
import os, sys
from pathlib import Path
from tars_memory.jobs import hosts
held = hosts.Hosts({{"HOME": {home!r}}}, Path({home!r}, "state"))
steps = 0
def counted(kind):
    def call(*arguments, **more):
        global steps
        steps += 1
        if steps == {step}:
            os._exit(9)
        return kind(*arguments, **more)
    return call
for name in ("replace", "fsync", "open", "unlink", "rename", "mkdir"):
    setattr(os, name, counted(getattr(os, name)))
for edit in held.{action}:
    held.carry_out(edit)
"""


@pytest.mark.parametrize("data", [CLAUDE.encode(), None])
@pytest.mark.parametrize(
    "action", ["install('claude', ['/opt/tools/bin/tars-memory'], '', server=False)", "uninstall('claude')"]
)
def test_a_kill_at_any_step_loses_nothing(home: Path, tmp_path: Path, action: str, data: bytes | None) -> None:
    (path,) = settle(home, "claude", data)
    held = on(home)
    for step in range(1, 60):
        if action.startswith("un"):
            install(held, "claude")
        installed = path.read_bytes() if path.exists() else None
        code = tmp_path / "killed.py"
        code.write_text(KILLED.format(home=str(home), step=step, action=action))
        done = forked.run(script(str(code)), env={**os.environ, "HOME": str(home)})
        now = path.read_bytes() if path.exists() else None
        if action.startswith("un"):
            assert now in (installed, data)
        else:
            assert now == data or b"--agent claude" in (now or b"")
        uninstall(held, "claude")
        assert (path.read_bytes() if path.exists() else None) == data, step
        install(held, "claude")
        uninstall(held, "claude")
        assert (path.read_bytes() if path.exists() else None) == data, step
        assert not [*home.glob(".claude/.*")]
        if done.returncode == 0:
            assert step > 5
            return
    raise AssertionError("it never came to its end")


def test_two_installations_at_once_are_one(home: Path) -> None:
    (path,) = settle(home, "claude", CLAUDE.encode())
    code = (
        "import sys; from pathlib import Path; from tars_memory.jobs.hosts import Hosts;"
        f"held = Hosts({{'HOME': {str(home)!r}}}, Path({str(home)!r}, 'state'));"
        "edits = held.install('claude', ['/opt/tools/bin/tars-memory'], '', server=False);"
        "sys.stdin.read();"
        "[held.carry_out(edit) for edit in edits]"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) for _ in range(4)]
    for run in runs:
        assert run.stdin is not None
        run.stdin.close()
    assert [run.wait(60) for run in runs] == [0, 0, 0, 0]
    value = hostfile.values(path.read_text())
    assert len(value["hooks"]["PreCompact"]) == 1
    uninstall(on(home), "claude")
    assert path.read_bytes() == CLAUDE.encode()


def test_what_claude_code_leaves_out_or_deletes_is_told_in_a_line_each(home: Path) -> None:
    now = 1_800_000_000.0
    project = home / ".claude" / "projects" / "-home-me-work"
    (project / "memory").mkdir(parents=True)
    memory = project / "memory" / "MEMORY.md"
    memory.write_text("- a line\n" * 200)
    for days in (1, 24, 26, 29):
        log = project / f"{days}.jsonl"
        log.write_text("{}")
        os.utime(log, (now - days * 86_400,) * 2)
    env = {"HOME": str(home)}
    ((told, hint),) = hosts.warnings(env, now, kept=False)
    assert told == "Claude Code deletes 2 conversations within 5 days (cleanupPeriodDays: 30)"
    assert hint.endswith(f"tars-memory sleep {home}/.claude/projects")
    assert hosts.warnings(env, now, kept=True) == []
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 90, // long\n}')
    assert hosts.warnings(env, now, kept=False) == []
    memory.write_text("- a line\n" * 201)
    ((told, _),) = hosts.warnings(env, now, kept=False)
    assert "(201 lines, 1,809 bytes; it loads 200 lines or 25,000 bytes)" in told
    memory.write_text("x" * 25_001)
    assert len(hosts.warnings(env, now, kept=False)) == 1
    elsewhere = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    assert len(hosts.warnings(elsewhere, now, kept=False)) == 1
