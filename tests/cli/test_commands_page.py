"""docs/commands.md is made from the commands, and what they declare of themselves is what they do."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import commands_page as reference
import pytest
from terminal import environment

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call, Command

ROOT = Path(__file__).parents[2]
PAGE = reference.PAGE.read_text("utf-8")


def test_the_page_is_what_make_docs_makes() -> None:
    assert reference.page() == PAGE, "make docs"


@pytest.mark.parametrize("name", reference.NAMES)
def test_a_command_has_examples_that_it_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = reference.command(name)
    assert made.help
    found = calls(made.examples)
    assert all(any(words[:1] == [name] for words in line) for line in found)
    takes([words for line in found for words in line], monkeypatch)


PAGES = sorted([ROOT / "README.md", ROOT / "scripts" / "SKILL.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_that_a_page_shows_are_taken(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text("utf-8")
    for block in re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        json.loads(block)
    shown = re.findall(r"^```(?:sh|cron)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    shown += re.findall(r"`((?:tm|tars-memory) [^`]*)`", text)
    takes([words for block in shown for line in calls(block) for words in line], monkeypatch)


BIN = "/home/me/.local/bin/"


def calls(script: str) -> list[list[list[str]]]:
    """The words behind ``tm`` and ``tars-memory``, call by call, for each line of a script."""
    found: list[list[list[str]]] = []
    for line in re.sub(r"\\\n", " ", script.strip()).split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        try:
            words = [*lexer]
        except ValueError:
            continue  # a line of a quoted text of several lines
        found.append([])
        for plain, group in groupby(words, lambda word: not re.fullmatch(r"[|&;()<>]+", word)):
            part = [*group]
            at = (
                [n for n, word in enumerate(part) if word.removeprefix("/home/me/.local/bin/") in ("tm", "tars-memory")]
                if plain
                else []
            )
            if at:
                found[-1].append(part[at[0] + 1 :])
    return found


def takes(shown: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these calls has a command's name, options and arguments that it knows; none is run."""
    monkeypatch.setattr(Command, "invoke", lambda *_: 0)
    monkeypatch.setattr(type(reference.command("hook")), "invoke", lambda *_: 0)
    for words in shown:
        if "[OPTIONS]" in words or "help" in words[:1]:
            continue
        assert run([word for word in words if word != "…"], Call({})) == 0, words


def test_exit_codes_are_those_of_the_table() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    from tars_memory import errors

    raised = {
        value.exit_code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.TarsError)
    }
    assert raised <= codes
    assert {0, 2, 70, 130} <= codes
    for name in reference.NAMES:
        said = [int(code) for code in re.findall(r"(?:^|, )(\d) ", reference.command(name).exits)]
        assert said == sorted(said)
        assert set(said) <= codes


CHAT = [
    ("user", "Please remember that the spare key is with Petra Kuhn. I moved to Cork on 3 November 2026."),
    ("assistant", "Noted."),
    ("user", "I prefer night trains. I am allergic to nuts."),
    ("assistant", "Noted."),
    ("user", "From now on answer in metric units."),
]
OLD = "---\ndate: 2025-03-01\ntags: [session]\n---\n\n## Facts\n\n- The boat is blue\n"
FILES = {
    "vault/playbooks/Brew.md": "# What tea I drink\n\n1. boil\n2. pour\n",
    "steps.md": "boil\npour\n",
    "vault/Tea.md": "[[Memory]] [[Gone]]\n",
    "vault/2026-01-02.md": "## Log\n- 09:00 an old day\n",
    "vault/sessions/2025-03-01 0900 Boat.md": OLD,
    "chat.json": json.dumps([{"role": r, "content": c, "timestamp": "2026-11-20T10:00:00Z"} for r, c in CHAT]),
    "other.json": json.dumps([{"role": r, "content": c + " Truly."} for r, c in CHAT]),
    "CLAUDE.md": "- Never commit to main\n",
    "questions.jsonl": '{"query": "tea", "gold": [{"path": "Memory.md"}], "category": "drinks"}\n',
}
CALLS = """
init .
remember Anna prefers tea --tag food
remember Anna prefers tea --section Other
remember I like night trains
remember Anna collects pens
edit "collects pens" Anna prefers tea --tag food
log met Anna
log                                     [without TEXT]
daily yesterday
new Rye bread
feedback bad wrong units
learn how I make tea --file ../steps.md
playbooks
playbooks Brew                          [with PLAYBOOK]
playbooks Brew --unpin                  [--pin, --unpin]
topic build --agent claude make test needs three minutes
topic build --agent claude              [with TOPIC alone]
topic --agent claude                    [without TOPIC]
facts add Anna "lives in" Dublin        [add, end, remove]
facts add me "lives in" Dublin --since 2024-03-01  [add, end, remove]
facts
facts Anna --mermaid                    [--mermaid]
timeline Anna
list
show "met Anna"
edit "met Anna" met Anna in Cork
headings Memory
headings Memory --add Travel            [with --add or --remove]
links Tea
related Tea
tags
tags food                               [with TAG]
sql SELECT * FROM facts
sql                                     [without QUERY]
export ../memory.db
search tea --explain
search Memorry
open 1
context what tea does Anna drink
extract ../chat.json --model none
extract ../chat.json ../questions.jsonl --model none
import ../CLAUDE.md ../questions.jsonl
extract ../other.json ../questions.jsonl --print-prompt    [--print-prompt, --dry-run with a model]
review --list
review --note                           [--note]
review --from-note                      [decisions]
review --left-out                       [--left-out]
review --rules                          [--rules]
tidy
tidy --apply
tidy --archive                          [--archive]
tidy --compress                         [--compress]
why "spare key"
history
undo
forget "spare key"
status
doctor
doctor --index                          [--index]
reindex
sources add ..
sleep
sleep --undo                            [--undo]
watch --once
verify
models
completion bash
eval ../questions.jsonl --against lexical
hook
hook install claude --yes               [install]
hook status                             [status]
hook uninstall claude --yes             [uninstall]
init . --git                            [--git]
merge ../base ../ours ../theirs
"""
EVENT = '{"hook_event_name": "SessionStart", "session_id": "x"}'
APART = {
    "tidy --model, --curate": "what a model proposes is shown by test_contradictions",
    "review --offer": "test_extract_command offers one",
    "models use": "it downloads",
    "models check": "it asks a model",
    "doctor --adopt": "test_doctor adopts a vault",
}
"""Objects that are shown elsewhere."""

EMPTY = {"review --left-out": "left_out[].", "review --rules": "rules[]."}
"""Lists that are empty here: a model's second look left nothing out, and nobody else wrote a rule."""


def told(folder: Path, inside: Callable[..., Any]) -> dict[tuple[str, str], list[Any]]:
    """What the calls answer, one after another in one vault."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    env = environment(
        folder / "home",
        HOME=str(folder / "home"),
        TARS_NOW="2026-11-21T14:30",
        TARS_MEMORY_PERMISSIONS_UNATTENDED_REVIEW="true",
    )
    found: dict[tuple[str, str], list[Any]] = {}
    for call in CALLS.strip().splitlines():
        words, _, option = call.partition("  ")
        argv = shlex.split(words)
        if argv[:2] == ["review", "--from-note"]:
            note = folder / "vault" / "Review.md"
            note.write_text(note.read_text("utf-8").replace("[ ] I prefer", "[x] I prefer"), "utf-8")
        said = EVENT if argv == ["hook"] else ""
        done = inside([*argv, "--json"], env, folder / "vault", said)
        assert done.stdout, f"{call}: {done.returncode}\n{done.stderr}"
        found.setdefault((argv[0], option.strip().strip("[]")), []).append(json.loads(done.stdout))
    return found


def seen(value: Any, declared: set[str], at: str = "") -> set[str]:
    """The members of an object as paths, as deep as the declared ones go."""
    if isinstance(value, list):
        return {path for each in value for path in seen(each, declared, at)}
    if not isinstance(value, dict):
        return set()
    found = set()
    for name, inner in value.items():
        path, inside = at + name, at + name + ("[]." if isinstance(inner, list) else ".")
        deeper = seen(inner, declared, inside) if any(each.startswith(inside) for each in declared) else set()
        found |= deeper or {path}
    return found


def test_the_json_objects(tmp_path: Path, inside: Callable[..., Any]) -> None:
    """One test, so that the calls are made once however many processes test."""
    answers = told(tmp_path, inside)
    for name in reference.NAMES:
        objects = reference.answers(name)
        optional = reference.members(name, "as it applies") if "as it applies" in objects else set()
        for option in objects:
            if f"{name} {option}" in APART or option == "as it applies":
                continue
            declared = reference.members(name, option)
            known = declared | optional
            real = set[str]()
            assert (name, option) in answers, f"CALLS holds no call of {name} {option}"
            for each in answers[name, option]:
                assert (name, option) == ("hook", "") or isinstance(each.pop("notices"), list), (name, option)
                real |= seen(each, known)
            empty = {path for path in real if any(each.startswith((f"{path}[].", f"{path}.")) for each in known)}
            assert real - optional - empty <= declared, (name, option)
            left_out = EMPTY.get(f"{name} {option}", "-")
            assert {path for path in declared - real if not path.startswith(left_out)} == set(), (name, option)


OF_THE_SYSTEM = {"DISPLAY", "WAYLAND_DISPLAY", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"}


def test_every_variable_that_the_command_line_reads_is_listed() -> None:
    from tars_memory.settings import AGENT_MARKS

    package = Path(sys.modules["tars_memory"].__file__ or "").parent
    source = "\n".join(path.read_text("utf-8") for path in (package / "doors").rglob("*.py"))
    for variable in {*re.findall(r'env\.get\("([A-Z_]+)"\)', source), *AGENT_MARKS} - OF_THE_SYSTEM:
        assert f"`{variable}`" in PAGE or f"`{variable}=" in PAGE, variable
