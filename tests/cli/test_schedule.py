"""What ``sleep --print-schedule`` prints does the same night's work as the command that printed it."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import conversations as logs
import forked
import pytest
from terminal import environment, program

from tars_memory.doors.cli.commands import unattended
from tars_memory.errors import UsageError
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
    done = forked.run(command, cwd=place, env=env, text=True, check=True)
    assert ("no conversations to examine" in done.stderr) is (not words)
    return done.stdout


def test_sources_that_are_set_are_conversations_to_examine(place: Path) -> None:
    (place / "h/config").mkdir(parents=True)
    (place / "h/config/config.toml").write_text(f'[sources]\npaths = "{place / "my logs"}"\n', "utf-8")
    command = program("--vault", str(place / ODD), "sleep", "--print-schedule", "cron")
    env = environment(place / "home", TARS_MEMORY_HOME=str(place / "h"))
    assert not forked.run(command, cwd=place, env=env, text=True, check=True).stderr


def test_crons_line_does_the_work_in_crons_environment(place: Path) -> None:
    *when, line = schedule(place, "cron", "my logs").rstrip("\n").split(" ", 5)
    assert when == ["30", "3", "*", "*", "*"]
    subprocess.run(["sh", "-c", line.replace("\\%", "%")], cwd="/", env=BARE, stdin=subprocess.DEVNULL, check=True)
    assert (place / ODD / "2026-11-21.md").read_text().count("[extracted]") == 4
    done = forked.run(
        program("--vault", str(place / ODD), "history"), env={**BARE, "TARS_MEMORY_HOME": str(place / "h")}
    )
    assert b"cron" in done.stdout


def test_launchd_and_systemd_are_told_the_same_words(place: Path) -> None:
    words = [str(place / ODD), "sleep", "--", str(place / "my logs")]
    told = plistlib.loads(schedule(place, "launchd", "my logs").encode())
    assert told["ProgramArguments"][-4:] == words
    (line,) = [line for line in schedule(place, "systemd", "my logs").splitlines() if line.startswith("ExecStart=")]
    assert unit_words(line)[-4:] == words


def test_it_says_if_there_is_nothing_to_examine(place: Path) -> None:
    assert schedule(place, "cron").rstrip().endswith(" sleep")


NAMES = [
    "plain", "two words", "50 % off", "%%d", "a$HOME $(id) `id`", "it's \"quoted\"", "back\\slash", "end\\", "\\%",
    "%\\", "new\nline", "tab\there", "ünïcode 日本 ❤️", "#!;&|<>*?[~]{}()", "-dash", "a=b", "@x:y", "bell\x07", "\\n",
    "$$", "password: hunter22",
]  # fmt: skip


def cron(line: str, *, doubled: bool) -> tuple[str, str]:
    """What a cron hands to the shell, and to it as stdin: the older ones take two backslashes for one, too."""
    command, escaped, rest = "", False, iter(line)
    for sign in rest:
        if escaped:
            command = command[:-1] + sign if sign == "%" or (doubled and sign == "\\") else command + sign
            escaped = False
        elif sign == "%":
            break
        else:
            command += sign
            escaped = sign == "\\"
    return command, "".join(rest)


def unit_words(line: str) -> list[str]:
    """The words of a line of a systemd unit: quotes, escapes of C, ``%%``; ``$$`` of all but the first one."""
    words = []
    for quoted in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
        said = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), quoted)
        assert re.search(r"(?<!%)%(?:%%)*(?!%)", quoted) is None, "a specifier"
        words.append(said.replace("%%", "%"))
    return [*words[:1], *(word.replace("$$", "$") for word in words[1:])]


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
@pytest.mark.parametrize("doubled", [False, True])
def test_cron_and_its_shell_hand_on_any_path_as_it_is(
    shell: str, doubled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    seen = tmp_path / "seen"
    seen.write_text('#!/bin/sh\nprintf \'%s\\0\' "$TARS_MEMORY_HOME" "$@"\n')
    seen.chmod(0o755)
    monkeypatch.setattr(unattended, "program", lambda: [str(seen)])
    for name in [*NAMES, os.fsdecode(b"latin \xe4 %")]:
        path = f"/mnt/{name}"
        line = unattended.unit("cron", Path(path), {"TARS_MEMORY_HOME": path}, night=True, more=["--", path])
        assert "\n" not in line
        command, stdin = cron(line.split(" ", 5)[5], doubled=doubled)
        assert stdin == ""
        done = subprocess.run([shell, "-c", os.fsencode(command)], capture_output=True, check=True, env=BARE)
        assert os.fsdecode(done.stdout).split("\0")[:-1] == [path, "--vault", path, "sleep", "--", path], name
    with pytest.raises(UsageError, match="a crontab can't contain"):
        unattended.unit("cron", Path("/mnt/end\n"), {})


def test_systemd_reads_any_path_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files: list[Path] = []
    for name in NAMES:
        path = f"/mnt/{name}"
        for night in (False, True):
            unit = unattended.unit("systemd", Path(path), {"TARS_MEMORY_HOME": path}, night=night, more=[path])
            lines = unit.splitlines()
            (command,) = [line for line in lines if line.startswith("ExecStart=")]
            assert unit_words(command)[-4:] == ["--vault", path, "sleep" if night else "watch", path]
            (environment,) = [line for line in lines if line.startswith("Environment=")]
            assert unit_words(environment) == [f"TARS_MEMORY_HOME={path}"], "no variable is expanded there"
            assert not [line for line in lines if line.endswith("\\")], "the line would go on"
            monkeypatch.setattr(unattended, "program", lambda: ["/bin/true"])
            file = tmp_path / f"tars-memory-{len(files)}.service"
            file.write_text(
                unattended.unit("systemd", Path(path), {"TARS_MEMORY_HOME": path}, night=night, more=[path]).partition(
                    "# Save as ~/.config/systemd/user/tars-memory-sleep.timer"
                )[0]
            )
            files.append(file)
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", *files],
            capture_output=True,
            text=True,
            check=False,
            env={**BARE, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        )
        assert "tars-memory" not in done.stderr, done.stderr
    monkeypatch.setattr(unattended, "program", lambda: ["/opt/it's/tm"])
    said = unattended.unit("systemd", Path("/v"), {})
    (command,) = [line for line in said.splitlines() if line.startswith("ExecStart=")]
    assert unit_words(command) == ["/bin/sh", "-c", 'exec "$0" "$@"', "/opt/it's/tm", "--vault", "/v", "watch"]
    with pytest.raises(UsageError, match="UTF-8"):
        unattended.unit("systemd", Path("/mnt/\udce4"), {})


def test_launchd_reads_any_path_as_it_is() -> None:
    for name in NAMES:
        path = f"/mnt/{name}"
        if "\x07" in name:
            with pytest.raises(UsageError, match="launchd"):
                unattended.unit("launchd", Path(path), {})
            continue
        told = plistlib.loads(unattended.unit("launchd", Path(path), {"TARS_MEMORY_HOME": path}).encode())
        assert told["ProgramArguments"][-2:] == [path, "watch"]
        assert told["EnvironmentVariables"] == {"TARS_MEMORY_HOME": path}


def test_a_unit_is_printed_as_it_is(place: Path) -> None:
    vault = make_vault(place / "password: hunter22 %", {"Memory.md": ""})
    env = environment(place / "home", TARS_MEMORY_HOME=str(place / "h"))
    for command in (["watch", "--print-service", "cron"], ["sleep", "--print-schedule", "cron"]):
        done = forked.run(program("--vault", str(vault), *command), env=env, text=True, check=True)
        assert "password: hunter22 \\045" in done.stdout
