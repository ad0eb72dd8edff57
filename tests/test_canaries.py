"""No command tells, in any form, a word of another scope, whatever that holds and wherever it holds it."""

from __future__ import annotations

import os
import random
import re
import shlex
from collections.abc import Sequence

import planted
import pytest

from tars_memory.doors.cli.app import COMMANDS

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
ALL = [name for names in COMMANDS.values() for name in names]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> planted.Planted:
    return planted.plant(tmp_path_factory.mktemp("planted"), random.Random(7))


@pytest.fixture(autouse=True)
def quiet_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.jobs.hooks.start_background", lambda *_: None)


def leaks(told: str, line: str, scope: str, command: str) -> list[str]:
    """The words of other scopes in an answer; what was asked for may be told back."""
    asked: list[str] = [*shlex.split(line.partition("<")[0])]
    asked += [each.partition("#")[0] for each in asked]  # a note of a heading in it
    asked += [f"{planted.at(each)}Memory.md" for each in planted.SCOPES] if command == "eval" else []  # in its file
    asked += re.findall(r'"target": "([^"]+)"', line) if command == "mcp" else []
    for each in sorted(asked, key=len, reverse=True):
        if len(each) > 3:
            told = told.replace(each, "")
    ours = {planted.at(scope).strip("/").rpartition("/")[2]} - {""}
    for own in sorted(ours, key=len, reverse=True):
        told = re.sub(rf"{re.escape(own)}(?!\w)", "", told)
    return [each for each in planted.foreign(scope, command) if re.search(rf"(?<!\w){each}(?!\w)|{each}\w", told)]


def test_every_command_is_asked(vault: planted.Planted) -> None:
    assert sorted(planted.calls(vault, "")) == sorted(ALL)


SILENT = {
    "completion",
    "init",
    "merge",
    "reindex",
    "watch",
    "verify",
    "models",
    "eval",
    "sleep",
    "sources",
    "status",
} | {
    "remember",
    "daily",
    "new",
    "edit",
    "extract",
    "forget",
    "feedback",
    "learn",
    "undo",
}
"""Commands that tell no words of notes, or no words that stood there before."""


def asked(vault: planted.Planted, command: str, most: int) -> None:
    """Ask a command in every scope, as text and as JSON: at most so many questions, few of them in turn."""
    found = []
    own = [0] * len(planted.SCOPES)
    forms: Sequence[list[str]] = ([], ["--json"])
    for number, scope in enumerate(planted.SCOPES):
        lines = planted.calls(vault, scope)[command]
        few = lines if len(lines) <= most else [lines[0], *random.Random(1).sample(lines[1:], most - 1)]
        for turn, line in enumerate(few, start=number):
            for more in forms[:1] if command == "mcp" else forms if most > 2 else [forms[turn % 2]]:  # mcp says JSON
                told, code = planted.run(vault, scope, line, *more)
                assert code != 70, told
                own[number] += planted.word(scope) in told or planted.name(scope) in told
                for leak in leaks(told, line, scope, command):
                    at = told.find(leak)
                    found.append(f"{scope or 'outside'}: {line[:80]} {more}: …{told[max(0, at - 150) : at + 80]!r}")
    assert command in SILENT or (all(own) if most > 2 else any(own)), "and it does tell of its own"
    assert not found, f"{len(found)}:\n" + "\n".join(found[:12])


@pytest.mark.parametrize("command", ALL)
def test_no_command_tells_of_another_scope(vault: planted.Planted, command: str) -> None:
    asked(vault, command, 2)


@pytest.mark.prove
@pytest.mark.parametrize("command", ALL)
def test_no_command_tells_of_another_scope_whatever_is_asked(vault: planted.Planted, command: str) -> None:
    asked(vault, command, 1000)


@pytest.mark.prove
@pytest.mark.parametrize("scope", planted.SCOPES)
def test_a_thousand_questions(vault: planted.Planted, scope: str) -> None:
    chance = random.Random(scope)
    forms = [
        "{0}",
        "{0} {1}",
        '"{0} {1}"',
        "{0}*",
        "{0} -{1}",
        "path:projects/ {0}",
        "tier:daily {0}",
        "what {0} is {1}",
    ]
    questions = [
        chance.choice(forms).format(*chance.sample([*planted.TOPICS, "Anna", "bay", "key", "never"], 2))
        for _ in range(int(1000 * SCALE) // 3 + 1)
    ]
    line = "search --stdin --explain --limit 50 <" + "\n".join(questions)
    told, _ = planted.run(vault, scope, line, "--json")
    assert told.count('"query"') == len(questions) and planted.word(scope) in told
    assert not leaks(told, line, scope, "search")
    for question in questions[::4]:
        told, _ = planted.run(vault, scope, "context --stdin <" + question, "--json")
        assert not leaks(told, question, scope, "context")
