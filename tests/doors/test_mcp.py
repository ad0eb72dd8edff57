"""``tm mcp`` on the wire: clients of both eras, frames that are none, and a thousand calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from doors import sessions
from forked import program, started

if find_spec("mcp") is None:  # imported by the servers alone: a second for each process of the tests
    pytest.skip("the extra [mcp] is not installed", allow_module_level=True)

VERSION, CAPABILITIES, INFO = (
    f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientCapabilities", "clientInfo")
)
MODERN = {VERSION: "2026-07-28", CAPABILITIES: {}, INFO: {"name": "test", "version": "1"}}
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENT = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Server:
    """The server as a process, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.number = 0

    def say(self, line: bytes | dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        found = json.loads(self.process.stdout.readline())
        assert isinstance(found, dict) and found["jsonrpc"] == "2.0"
        return found

    def ask(self, method: str, meta: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        self.number += 1
        more = {"_meta": meta} if meta is not None else {}
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, **more}})
        answer = self.hear()
        assert answer["id"] == self.number
        return answer

    def call(self, name: str, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
        return self.ask("tools/call", meta, name=name, arguments=arguments)["result"]

    def greet(self, version: str = HANDSHAKE[-1]) -> dict[str, Any]:
        answer = self.ask("initialize", protocolVersion=version, **CLIENT)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


@contextmanager
def serving(folder: Path, *options: str, start: Any = program) -> Iterator[Server]:
    env = sessions.surroundings(folder)
    process = subprocess.Popen(
        start("mcp", *options), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=folder if start is program else None,
    )  # fmt: skip
    with process:
        yield Server(process)
        assert process.stdin and process.stdout and process.stderr
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0 and process.stderr.read() == b""


def holds(told: Any, wanted: Any) -> bool:
    """Whether an answer has all members of a recorded one; it may have more."""
    if isinstance(wanted, dict) and isinstance(told, dict):
        return all(name in told and holds(told[name], each) for name, each in wanted.items())
    if isinstance(wanted, list) and isinstance(told, list):
        return len(told) == len(wanted) and all(map(holds, told, wanted))
    return bool(told == wanted)


@pytest.mark.parametrize("mode", sessions.MODES)
def test_a_recorded_session_is_answered_as_it_was(tmp_path: Path, mode: str) -> None:
    said = sessions.frames(mode)
    versions = {frame.get("params", {}).get("_meta", {}).get(VERSION) for who, frame in said if who == "client"}
    assert versions == ({"2026-07-28"} if mode == "2" else {None})
    with serving(tmp_path) as server:
        for who, frame in said:
            if who == "client":
                server.say(frame)
            else:
                told = sessions.plain(server.hear())
                assert holds(told, frame), (told, frame)


@pytest.mark.parametrize("mode", sessions.MODES)
def test_the_sdks_own_client_calls_every_tool(tmp_path: Path, mode: str) -> None:
    if not os.path.exists(sessions.python(mode)):
        pytest.skip("the SDK's 1.x is not here: make sessions")
    env = sessions.surroundings(tmp_path)
    words = [sessions.python(mode), str(sessions.CLIENT), mode, *program("mcp")]
    done = subprocess.run(words, env=env, capture_output=True, check=True, cwd=tmp_path)
    told = json.loads(done.stdout)
    assert told["version"] == ("2026-07-28" if mode == "2" else "2025-11-25")
    assert len(told["tools"]) == 7
    *answers, wrong = told["called"]
    assert wrong["isError"] and "takes no 'vault'" in wrong["content"][0]["text"]
    for answer in answers:
        assert not answer["isError"]
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    name = "mcp" if mode != "1" else ""  # what the SDK calls a client that gives no name
    assert answers[5]["structuredContent"]["author"].startswith(name)


@pytest.mark.parametrize("version", HANDSHAKE)
def test_every_version_with_a_handshake(tmp_path: Path, version: str) -> None:
    with serving(tmp_path) as server:
        assert server.greet(version)["result"]["protocolVersion"] == version
        listed = server.ask("tools/list")["result"]["tools"]
        assert all(tool["inputSchema"]["type"] == "object" for tool in listed)
        told = server.call("memory_search", query="walnuts", mode="lexical")
        assert "allergic" in told["content"][0]["text"]
        modern = server.ask("tools/list", MODERN)
        assert modern["error"]["code"] == -32600


def test_a_version_of_another_century_is_offered_the_newest(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.greet("1999-01-01")["result"]["protocolVersion"] == HANDSHAKE[-1]


def test_without_a_handshake_each_request_bears_its_version(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        found = server.ask("server/discover", MODERN)["result"]
        assert found["supportedVersions"] == ["2026-07-28"] and "tools" in found["capabilities"]
        assert server.call("memory_facts", MODERN)["structuredContent"]["facts"][0]["object"] == "Cork"
        old = server.ask("tools/list", {**MODERN, VERSION: "2027-01-01"})["error"]
        assert (old["code"], old["data"]["supported"]) == (-32022, ["2026-07-28"])
        refused = server.ask("initialize", protocolVersion="2025-11-25", **CLIENT)["error"]
        assert (refused["code"], refused["data"]["supported"]) == (-32022, ["2026-07-28"])
        for meta in (None, {}, {VERSION: "2026-07-28"}, {**MODERN, VERSION: 7}):
            assert server.ask("tools/list", meta)["error"]["code"] == -32602, meta
        nameless = {name: value for name, value in MODERN.items() if name != INFO}
        kept = server.call("memory_add", nameless, text="nobody said this", tier="semantic")["structuredContent"]
        assert kept["written"]
    text = (tmp_path / "vault" / "Memory.md").read_text()
    assert text.endswith("- nobody said this [by:: agent]\n")


def test_each_tool_lists_what_it_may_do(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        listed = server.ask("tools/list", MODERN)["result"]["tools"]
    writers = {tool["name"] for tool in listed if not tool["annotations"]["readOnlyHint"]}
    assert writers == {"memory_add", "memory_propose"}
    assert not any(tool["annotations"]["destructiveHint"] or tool["annotations"]["openWorldHint"] for tool in listed)
    assert all(tool["outputSchema"]["required"] for tool in listed)


LONG = b'{"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"x": "' + b"y" * 10_000_000 + b'"}}'
DEEP = b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}"


@pytest.mark.parametrize("met", [True, False], ids=["met", "first"])
def test_what_is_no_message_is_said_and_passed_over(tmp_path: Path, met: bool) -> None:
    with serving(tmp_path) as server:
        if met:
            server.greet()
        for line, code in (
            (b"{bad json", -32700),
            (b"\xff\xfe", -32700),
            (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', -32700),
            (DEEP, -32700),
            (LONG, -32600),
            (b"y" * 10_000_000, -32600),
            (b"7", -32600),
            (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
            (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
            (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
            (b'{"jsonrpc": "2.0", "id": {"a": []}, "method": "ping"}', -32600),
        ):
            server.say(line)
            answer = server.hear()
            assert (answer["id"], answer["error"]["code"]) == (None, code), line[:80]
            assert answer["error"]["message"]
        for line, name in (
            (b'{"id": 3, "method": "ping"}', 3),
            (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', "a"),
        ):
            server.say(line)
            answer = server.hear()
            assert (answer["id"], answer["error"]["code"]) == (name, -32600)
        for line in (
            b"",
            b"   ",
            b'{"jsonrpc": "2.0", "method": "notifications/none"}',
            b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
            b'{"jsonrpc": "2.0", "id": 9, "error": {"code": -32601, "message": "no"}}',
        ):
            server.say(line)  # nothing to answer
        if not met:
            server.greet()
        assert server.ask("nobody/knows")["error"]["code"] == -32601
        for params in ({"name": 3}, {"name": "memory_facts", "arguments": []}, {}):
            assert server.ask("tools/call", **params)["error"]["code"] == -32602
        unknown = server.ask("tools/call", name="memory_erase", arguments={})["error"]
        assert unknown["code"] == -32602 and "memory_search" in unknown["message"]
        server.say({"jsonrpc": "2.0", "id": 2**80, "method": "ping"})
        assert server.hear() == {"jsonrpc": "2.0", "id": 2**80, "result": {}}
        assert len(server.ask("tools/list")["result"]["tools"]) == 7


def test_a_text_cut_within_a_character_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.greet()
        server.say(
            b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "memory_add", "arguments": '
            b'{"text": "Anna brings the cake \\ud83c"}}}'
        )
        answer = server.hear()
        assert answer["id"] == 7 and answer["result"]["isError"]
        assert "half a character (U+D83C) in line 1, at offset 21" in answer["result"]["content"][0]["text"]
        for number, (name, member) in enumerate(ASKED.items(), 8):
            text = f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {{"name": "{name}", '
            server.say(f'{text}"arguments": {{"{member}": "the cake \\ud83c"}}}}}}'.encode())
            answer = server.hear()
            assert answer["id"] == number and "bug" not in str(answer), answer
    assert "cake" not in "".join(path.read_text() for path in tmp_path.rglob("*.md"))


ASKED = {
    "memory_search": "query",
    "memory_get": "target",
    "memory_context": "question",
    "memory_facts": "about",
    "memory_why": "target",
    "memory_propose": "text",
}


def test_a_failure_is_a_sentence_for_the_model(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.greet()
        told = server.call("memory_get", target="no such note")
        assert told["isError"] and "structuredContent" not in told
        assert told["content"][0]["text"].startswith("no entry 'no such note'\n")


def test_what_was_asked_is_answered_before_the_end(tmp_path: Path) -> None:
    asked = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", **CLIENT}}]
    for number in range(1, 20):
        call = {"name": "memory_search", "arguments": {"query": "walnuts", "mode": "lexical"}}
        asked.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        asked.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [number]}})
    lines = "\n".join(map(json.dumps, asked)).encode()  # the last one without an end
    env = sessions.surroundings(tmp_path)
    done = subprocess.run(program("mcp"), env=env, input=lines, capture_output=True, check=True, cwd=tmp_path)
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == list(range(20))


def test_a_client_that_goes_without_a_word_ends_the_server(tmp_path: Path) -> None:
    env = sessions.surroundings(tmp_path)
    process = subprocess.Popen(program("mcp"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    with process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.close()
        assert process.wait() == 0


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    import signal

    env = sessions.surroundings(tmp_path) | {"PYTHONPATH": str(Path(sessions.HERE).parents[1])}
    process = subprocess.Popen(started("mcp"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    with process:
        server = Server(process)
        server.greet()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130  # though nobody has closed its stdin


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, "--dry-run") as server:
        server.greet()
        kept = server.call("memory_add", text="tea", tier="semantic")["structuredContent"]
        assert not kept["written"]
    assert (tmp_path / "vault" / "Memory.md").read_text() == sessions.NOTES["Memory.md"]


def test_without_a_vault_it_says_so_at_once(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TARS_MEMORY_HOME": str(tmp_path / "home")}
    done = subprocess.run(program("mcp"), env=env, input=b"", capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 4 and done.stdout == b"" and b"init" in done.stderr


def test_without_the_sdk_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    monkeypatch.delitem(sys.modules, "tars_memory.doors.mcp", raising=False)
    monkeypatch.delattr("tars_memory.doors.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    assert run(["mcp"], Call(sessions.surroundings(tmp_path))) == 2
    told = capsys.readouterr()
    assert told.out == "" and "tars-memory[mcp]" in told.err


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "what is Mira allergic to", "mode": "lexical"}),
    ("memory_context", {"question": "ferry", "budget": 300}),
    ("memory_get", {"target": "Memory.md"}),
    ("memory_add", {"text": "one line", "tier": "semantic"}),
    ("memory_facts", {}),
    ("memory_erase", {}),
    ("memory_why", {"target": "one line"}),
    ("memory_search", {"limit": 0}),
]


def grown(folder: Path, first: int, calls: int) -> tuple[int, int]:
    """By how many kilobytes and how many open files a server is larger after so many calls, the first ones aside."""
    env = sessions.surroundings(folder) | {"PYTHONPATH": str(Path(sessions.HERE).parents[1])}
    process = subprocess.Popen(started("mcp"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
    with process:
        server, proc = Server(process), Path("/proc") / str(process.pid)
        sizes = []
        server.greet()
        for most in (first, calls):
            for number in range(most):
                name, arguments = CALLS[number % len(CALLS)]
                server.ask("tools/call", name=name, arguments=arguments)
            pages = int((proc / "statm").read_text().split()[1])
            sizes.append((pages * os.sysconf("SC_PAGE_SIZE") // 1024, len(os.listdir(proc / "fd"))))
        assert process.stdin
        process.stdin.close()
        process.wait()
    return sizes[1][0] - sizes[0][0], sizes[1][1] - sizes[0][1]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_calls_leave_no_file_open(tmp_path: Path) -> None:
    kilobytes, files = grown(tmp_path, len(CALLS), 2 * len(CALLS))
    assert files == 0 and kilobytes < 8_000


@pytest.mark.prove
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_thousand_calls_leave_nothing_behind(tmp_path: Path) -> None:
    kilobytes, files = grown(tmp_path, 96, 1_000)
    assert files == 0 and kilobytes < 8_000


@pytest.mark.timed
def test_the_first_answer_costs_less_than_two_seconds(tmp_path: Path) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}}) + "\n"
    env = sessions.surroundings(tmp_path) | {"PYTHONPATH": str(Path(sessions.HERE).parents[1])}
    process = subprocess.Popen(started("mcp"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    assert process.stdin and process.stdout
    process.stdin.write(line.encode())
    process.stdin.close()
    assert json.loads(process.stdout.read())["result"]
    process.stdout.close()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    assert used.ru_utime + used.ru_stime < 2
