"""The program as a process: terminals, pipes that close, bare environments, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dialogue import Dialogue
from forked import started
from hostile import HOSTILE
from terminal import OURS, ROOT, environment, on_a_terminal, program, script

from tars_memory.testing import make_vault

HERE = Path(__file__).parent
WITH_FAKE = str(HERE / "with_fake.py")
STARTED = [sys.executable, WITH_FAKE]
"""A process of its own from the first, for what is shown of starts, streams and signals."""


def fake(call: str) -> list[str]:
    return script(WITH_FAKE, *call.split())


CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
STEERING = re.compile("[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\U000e0000-\U000e007f]")

SEARCHES = ["search hostile", "search hostile --explain", "search hostile --paths"]
OTHERS = ["show x", "list", "log", "remember x", "status --verbose", "doctor", "verify", "models", "history"]
HOSTILE_CALLS = [*SEARCHES, *OTHERS]


def run(argv: list[str], env: dict[str, str], **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, env=env, capture_output=True, timeout=120, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home", TERM="xterm-256color")


@pytest.mark.parametrize("call", HOSTILE_CALLS)
def test_a_hostile_note_cannot_reach_a_terminal(call: str, env: dict[str, str], tmp_path: Path) -> None:
    code, screen = on_a_terminal(fake(call), env, tmp_path)
    assert code in (0, 1), screen
    rest = OURS.sub(b"", screen).replace(b"\r\n", b"\n")
    assert CONTROL.findall(rest) == []
    assert STEERING.findall(rest.decode("utf-8")) == []
    assert b"[/bold]" in re.sub(rb"\s", b"", rest)
    assert b"Traceback" not in screen
    for link in re.findall(rb"\x1b\]8;[^;]*;([^\x1b\x07]*)", screen):
        assert link == b"" or link.startswith(b"obsidian://")


@pytest.mark.parametrize("call", [*HOSTILE_CALLS, "search hostile --json", "status --json", "search wrong", "nonsense"])
def test_a_hostile_note_cannot_reach_a_pipe(call: str, env: dict[str, str], tmp_path: Path) -> None:
    done = run(fake(call), env, cwd=tmp_path)
    for stream in (done.stdout, done.stderr):
        assert CONTROL.findall(stream.replace(b"\r", b"\x00")) == []
        assert STEERING.findall(stream.decode("utf-8")) == []
    if "search hostile --json" in call:
        assert "\x1b]52;c;c3RlYWw=\x07" in json.loads(done.stdout)["hits"][0]["text"], "verbatim"


def test_a_hostile_vault_reaches_neither(env: dict[str, str], tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    assert run(program("init", "--quiet"), env, cwd=vault).returncode == 0
    hostile = HOSTILE.encode("utf-8", "surrogateescape")
    (vault / "Memory.md").write_bytes(b"## Notes\n\n- " + hostile + b"\n")
    (vault / "2026-11-21.md").write_bytes(b"## " + hostile + b"\n\n- 14:30 " + hostile + b"\n")
    (vault / ("tea \x1b[31m\u202e" + "[bold].md")).write_bytes(b"# " + hostile + b"\n\n" + hostile + b"\n")
    calls = [
        "search tea --mode lexical",
        "search tea --mode lexical --explain",
        "list",
        "log",
        "show override",
        "status",
        "doctor",
    ]
    for call in calls:
        for done in (
            on_a_terminal(program(*call.split()), env, vault),
            (lambda d: (d.returncode, d.stdout + d.stderr))(run(program(*call.split()), env, cwd=vault)),
        ):
            code, screen = done
            assert code in (0, 1, 2) and b"Traceback" not in screen, (call, screen)
            rest = OURS.sub(b"", screen).replace(b"\r\n", b"\n")
            assert CONTROL.findall(rest) == [], call
            assert STEERING.findall(rest.decode("utf-8")) == [], call
    told = json.loads(run(program("search", "tea", "--mode", "lexical", "--json"), env, cwd=vault).stdout)
    assert any("\x1b]52;c;c3RlYWw=\x07" in found["text"] for found in told["hits"])


def test_on_a_terminal_hits_are_numbered_lit_and_linked(env: dict[str, str], tmp_path: Path) -> None:
    code, screen = on_a_terminal(fake("search green"), env, tmp_path)
    assert code == 0
    assert b"\x1b]8;" in screen and b"obsidian://open?vault=v&file=notes/tea" in screen
    assert re.search(rb"\x1b\[[0-9;]*1[0-9;]*m[^\x1b]*green", screen), "the match is lit"
    plain = OURS.sub(b"", screen).decode()
    assert plain.splitlines()[0] == "1  notes/tea.md:3  2026-03-15  Green"


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_plain_terminals_get_plain_text(more: dict[str, str], env: dict[str, str], tmp_path: Path) -> None:
    for call in ("search green", "list", "history"):
        _, screen = on_a_terminal(fake(call), {**env, **more}, tmp_path)
        assert b"\x1b" not in screen


def test_progress_is_shown_on_a_terminal_only(env: dict[str, str], tmp_path: Path) -> None:
    code, screen = on_a_terminal(fake("reindex"), env, tmp_path)
    assert code == 0 and b"\rreading notes: 0 of 5\r" in screen.replace(b" \r", b"\r") and b"\x1b" not in screen
    assert b"2 notes read, 0 gone" in screen
    done = run(fake("reindex"), env, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (b"2 notes read, 0 gone, skipped: 1 conflict copy\n", b"")


def test_only_a_person_at_a_terminal_writes_rules(env: dict[str, str], tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    run(program("init", "--quiet"), env, cwd=vault)
    rules = vault / "Procedural.md"
    before = rules.read_bytes()
    remember = program("remember", "--tier", "procedural", "ask", "before", "mailing")
    run(remember, {**env, "TARS_MEMORY_ACTOR": "person"}, cwd=vault)
    for mark in ({"TARS_MEMORY_ACTOR": "agent"}, {"CLAUDECODE": "1"}):
        code, screen = on_a_terminal(remember, {**env, **mark}, vault)
        assert code == 0 and b"proposal" in screen
    assert rules.read_bytes() == before
    code, screen = on_a_terminal(remember, env, vault)
    assert code == 0 and b"Procedural.md:" in screen
    assert rules.read_bytes() != before and b"- ask before mailing" in rules.read_bytes()


ODD = [
    "user's editor",
    "C++",
    '"unclosed',
    "AND",
    "a-b",
    "2026-03-15",
    "10.0.0.1",
    "東京",
    "Zürich",
    "🚲",
    "OR NOT",
    "(",
    "*",
]


def test_any_line_is_a_query(env: dict[str, str], tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    run(program("init", "--quiet"), env, cwd=vault)
    for i, query in enumerate(ODD):
        (vault / f"note {i}.md").write_text(f"Here stands {query} in a text.\n", "utf-8")
    lines = [*(query.encode() for query in ODD), b"a\x00b", b"\xff\xfe", b"x" * 100_000, b"qqqxyzzy", b"", b'"', b"-"]
    done = run(
        program("search", "--stdin", "--json", "--mode", "lexical"), env, cwd=vault, input=b"\n".join(lines) + b"\n"
    )
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(lines)
    for i, query in enumerate(ODD[:10]):
        assert f"note {i}.md" in {found["path"] for found in told[i]["hits"]}, query
    assert told[lines.index(b"qqqxyzzy")]["hits"] == []


def test_a_reader_that_stops_reading_is_met_with_silence(env: dict[str, str], tmp_path: Path) -> None:
    for arguments in ("search huge --limit 1000", "search huge --json", "--help"):
        words = " ".join(f"'{word}'" for word in [*STARTED, *arguments.split()])
        script = f"{words} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
        done = run(["bash", "-c", script], env, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b""), arguments


@pytest.mark.parametrize(
    ("call", "streams", "code", "message"),
    [
        ("search tea", ">/dev/full", 3, "No space left"),
        ("search tea", ">&-", 3, "stdout is closed"),
        ("search tea --json", ">&-", 3, "stdout is closed"),
        ("search tea", ">&- 2>&-", 3, ""),
        ("search tea", "2>&-", 0, ""),
        ("search tea", "<&-", 0, ""),
        ("search tea", "<&- >&-", 3, "stdout is closed"),
        ("search nothing", ">/dev/full", 1, "nothing relevant"),
        ("search nothing", ">&-", 1, "nothing relevant"),
        ("search nothing --json", ">/dev/full", 3, "No space left"),
        ("search --stdin", "<&-", 1, ""),
        ("--help", ">/dev/full", 3, "No space left"),
        ("--help", ">&-", 3, "stdout is closed"),
        ("help search", ">/dev/full", 3, "No space left"),
        ("--version", ">/dev/full", 3, "No space left"),
        ("--version", ">&-", 3, "stdout is closed"),
        ("nonsense", ">&-", 2, "there is no command"),
        ("nonsense", "2>/dev/full", 2, ""),
    ],
)
def test_an_answer_that_is_lost_is_told_and_one_of_no_words_is_not_lost(
    call: str, streams: str, code: int, message: str, env: dict[str, str], tmp_path: Path
) -> None:
    words = " ".join(f"'{word}'" for word in STARTED)
    done = run(["bash", "-c", f"{words} {call} </dev/null {streams}"], env, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr.decode() and b"Traceback" not in done.stderr + done.stdout
    assert ("could not be written" in done.stderr.decode()) == (code == 3 and bool(message))
    assert done.stderr.endswith(b'"exit_code": 3}\n') == ("--json" in call and code == 3)


@pytest.mark.parametrize("locale", [{}, {"LANG": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "latin-1"}])
def test_any_locale_prints_utf8(locale: dict[str, str], tmp_path: Path) -> None:
    env = {**environment(tmp_path), "PYTHONCOERCECLOCALE": "0", **locale}
    done = run([*STARTED, "search", "東京"], env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "notes/tea.md:3:東京 Zürich 東京\n"


def test_bytes_that_are_no_utf8_are_a_query(env: dict[str, str], tmp_path: Path) -> None:
    done = run([os.fsencode(word) for word in STARTED] + [b"search", b"caf\xe9"], env, cwd=tmp_path)  # type: ignore[arg-type]
    assert done.returncode == 0
    assert "caf\ufffd" in done.stdout.decode("utf-8")


def test_ctrl_c_is_130_without_a_word(env: dict[str, str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*STARTED, "search", "slow"], env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"started\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_each_query_of_a_stream_is_answered_at_once(env: dict[str, str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*STARTED, "search", "--stdin", "--json"], env=env, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    for query in ("tea", "-", "", "東京"):
        process.stdin.write(query.encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["query"] == query
    process.stdin.close()
    process.stdout.close()
    assert process.wait(120) == 0


def test_a_bug_leaves_a_sentence_and_a_file(env: dict[str, str], tmp_path: Path) -> None:
    done = run(fake("search wrong"), env, cwd=tmp_path)
    assert done.returncode == 70
    assert done.stderr.startswith(b"tars-memory: this is a bug: RuntimeError: tea red")
    (saved,) = (tmp_path / "home" / "state").glob("crash-*.txt")
    assert str(saved).encode() in done.stderr


def test_help_fits_a_narrow_terminal(env: dict[str, str], tmp_path: Path) -> None:
    talk = Dialogue(program("review", "--help"), env, tmp_path, columns=40)
    assert talk.end() == 0
    _, _, options = talk.screen.decode().partition("Options:")
    assert max(map(len, options.splitlines())) <= 40


def test_help_and_errors_leave_no_trace(env: dict[str, str], tmp_path: Path) -> None:
    for argv in (["--help"], ["search", "--help"], ["nonsense"], ["search"], ["--version"]):
        run(program(*argv), env, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_package_is_the_one_under_test() -> None:
    import tars_memory

    assert Path(tars_memory.__file__ or "").is_relative_to(ROOT)


@pytest.mark.parametrize("nohup", [False, True])
def test_a_watcher_ends_with_the_terminal_unless_it_was_told_to_outlive_it(tmp_path: Path, nohup: bool) -> None:
    root = make_vault(tmp_path / "vault", {"Tea.md": "# Tea\n\ngreen\n"})
    env = environment(tmp_path / "home", TARS_MEMORY_DIR=str(root), TARS_MEMORY_EMBEDDING_MODEL="none")
    words = shlex.join(started("watch", "--json"))
    shell = f"trap '' HUP; exec {words}" if nohup else f"exec {words}"
    process = subprocess.Popen(["sh", "-c", shell], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None and b'"changed"' in process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    if nohup:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
