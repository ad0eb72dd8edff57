"""Tab, in the real shells: what is offered, what is inserted, and that no note's name is ever run."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import forked
import pytest
from dialogue import Dialogue
from terminal import environment, program

from tars_memory.doors.cli.app import COMMANDS, EVERY_DAY, HIDDEN, build, load
from tars_memory.doors.cli.completion import FIXED, SHELLS, SOURCES, script
from tars_memory.testing import make_vault

HOSTILE = "Plan $(touch pwned) `touch pwned` 'a' ; touch pwned"
NOTES = {
    "Memory.md": "# Memory\n\n## Notes\n\n- Anna likes tea #food/hot\n- the spare key is at the bakery #home\n",
    "Green Tea.md": "# Green Tea\n\n[[Memory]]\n",
    "Grün Ü.md": "# Grün Ü\n",
    "Facts.md": "## Anna\n\n- lives in:: Cork\n",
    f"{HOSTILE}.md": "text\n",
    "Green \x9b31m.md": "steers a terminal\n",
    "projects/boat/Boat.md": "# Boat\n\n#boattag\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    make_vault(folder / "vault", NOTES)
    env = environment(folder / "home", TARS_MEMORY_DIR=str(folder / "vault"))
    forked.run(program("reindex", "--no-embed"), env=env, check=True)
    bin_ = folder / "bin"
    bin_.mkdir()
    real = shlex.join(program())
    for name in ("tm", "tars-memory"):
        # it completes as the program does; run, it shows which words reached it
        (bin_ / name).write_text(
            f'#!/bin/sh\n[ -n "$_TARS_MEMORY_COMPLETE" ] && exec {real} "$@"\nprintf "<%s>" "$@"; printf "!%s" done\n'
        )
        (bin_ / name).chmod(stat.S_IRWXU)
    for shell in SHELLS:
        (folder / f"script.{shell}").write_text(script(shell), "utf-8")
    (folder / "here").mkdir()
    (folder / "here" / "talk.json").write_text("[]")
    return folder


def environ(folder: Path) -> dict[str, str]:
    env = environment(folder / "home", TARS_MEMORY_DIR=str(folder / "vault"), HOME=str(folder), TERM="xterm")
    return {**env, "PATH": f"{folder / 'bin'}{os.pathsep}{env['PATH']}", "LC_ALL": "C.UTF-8"}


def offered(folder: Path, *words: str, shell: str = "zsh", **more: str) -> list[str]:
    """What the program answers to the words before the cursor."""
    env = {**environ(folder), "_TARS_MEMORY_COMPLETE": shell, **more}
    done = forked.run(program(*words), env=env, cwd=folder / "here", text=True)
    assert done.stderr == ""
    assert done.returncode in (0, 3, 4, 5)
    if done.returncode == 3:
        assert done.stdout == ""
        return ["(files)"]
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def test_the_sources_to_remove_are_those_not_yet_named(folder: Path) -> None:
    config = folder / "home" / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('[sources]\npaths = ["/a/one", "/a/two"]\n')
    try:
        assert offered(folder, "sources", "remove", "") == ["/a/one", "/a/two"]
        assert offered(folder, "sources", "remove", "/a/one", "/a/") == ["/a/two"]
    finally:
        config.unlink()


def test_projects_are_those_of_the_layout(folder: Path) -> None:
    make_vault(folder / "rooms", {"Channels/kitchen/memory.md": "- tea\n", "projects/boat/Boat.md": "# Boat\n"})
    layout = {"TARS_MEMORY_DIR": str(folder / "rooms"), "TARS_MEMORY_LAYOUT_LIKE": "istota"}
    assert offered(folder, "search", "--project", "", **layout) == ["kitchen", "none"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sea"], ["search"]),
        (["rem"], ["remember"]),
        (["ver"], []),
        (["help", "un"], ["undo"]),
        (["--js"], ["--json"]),
        (["search", "--mo"], ["--mode"]),
        (["search", "--mode", ""], ["hybrid", "lexical", "semantic"]),
        (["search", "--mode=l"], ["--mode=lexical"]),
        (["search", "tea", "--tier", "t"], ["talk"]),
        (["search", "tea", "tier:t"], ["tier:talk"]),
        (["log", "tag:ho"], []),
        (["remember", "--tier", ""], ["semantic", "procedural"]),
        (["remember", "x", "--tag", "fo"], ["food/hot"]),
        (["search", "--tag", ""], ["food/hot", "home"]),
        (["--project", "boat", "search", "--tag", ""], ["boattag", "food/hot", "home"]),
        (["search", "--project", "b"], ["boat"]),
        (["search", "--", "--mo"], []),
        (["open", "gre"], ["Green Tea"]),
        (["open", "Green", "T"], ["Tea"]),
        (["links", "Grü"], ["Grün Ü"]),
        (["search", "--links-to", "Mem"], ["Memory"]),
        (["facts", "An"], ["Anna"]),
        (["facts", ""], ["add", "end", "remove", "Anna", "Facts", "Green Tea", "Grün Ü", "Memory", HOSTILE]),
        (["remember", "--section", ""], ["Notes"]),
        (["sql", "sel"], []),
        (["export", ""], ["(files)"]),
        (["extract", "ta"], ["(files)"]),
        (["--vault", ""], ["(files)"]),
        (["sources", ""], ["list", "add", "remove"]),
        (["sources", "add", ""], ["(files)"]),
        (["models", "use", "mul"], ["multilingual"]),
        (["completion", "f"], ["fish"]),
        (["feedback", "g"], ["good"]),
        (["hook", "inst"], ["install"]),
        (["hook", "install", "claude", "g"], ["gemini"]),
        (["log", "x"], []),
        (["nonsense", "x"], []),
        (["search", "--nonsense", ""], []),
        ([""], [name for names in COMMANDS.values() for name in names if name not in HIDDEN]),
    ],
)
def test_what_is_offered(folder: Path, words: list[str], expected: list[str]) -> None:
    assert sorted(offered(folder, *words)) == sorted(expected)


def test_refs_are_offered_with_their_words(folder: Path) -> None:
    env = {**environ(folder), "_TARS_MEMORY_COMPLETE": "fish"}
    done = forked.run(program("show", ""), env=env, text=True)
    told = dict(line.split("\t") for line in done.stdout.splitlines())
    listed = forked.run(program("list"), env=environ(folder), text=True, check=True)
    assert told == {line.split("\t")[0]: line.split("\t")[2] for line in listed.stdout.splitlines()}
    assert {*offered(folder, "why", "")} == {*offered(folder, "edit", "")} == {*told}


def test_nothing_is_said_and_nothing_is_made_where_it_fails(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "here").mkdir()
    damaged = {"TARS_MEMORY_DIR": str(tmp_path / "gone")}
    for words in (["show", ""], ["open", "x"], ["search", "--tag", ""], ["--project", ""], ["undo", ""]):
        assert offered(folder, *words, **damaged) == []
        assert offered(folder, *words, TARS_MEMORY_DIR="", TARS_MEMORY_ACTOR="nobody") == []
    assert offered(folder, "search --mode 'unclosed", " =:", shell="bash") == []
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Note.md").write_text("text #tag\n")
    before = sorted(tmp_path.rglob("*"))
    assert offered(folder, "search", "--tag", "", TARS_MEMORY_DIR=str(tmp_path / "vault")) == [], "no index yet"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tm search --mode=l", ["lexical"]),
        ("tm search --mode l", ["lexical"]),
        ("tm search tea tag:f", ["food/hot"]),
        ("tm open Green\\ T", ["Green Tea"]),
        ('tm open "Green T', ["Green Tea"]),
        ("tm open Green T", ["Tea"]),
        ("tm search ", []),
        ("tm  search   --mo", ["--mode"]),
    ],
)
def test_a_line_of_bash_is_parted_as_bash_does_it(folder: Path, line: str, expected: list[str]) -> None:
    assert offered(folder, line, " \t\n\"'><=;|&(:", shell="bash") == expected


TYPED = [
    ("tm sear", "<search>"),
    ("tm search --mode le", "<search><--mode><lexical>"),
    ("tm search tea --tag foo", "<search><tea><--tag><food/hot>"),
    ("tars-memory remember --tier proc", "<remember><--tier><procedural>"),
    ("tm open Gree", "<open><Green Tea>"),
    ("tm links Grü", "<links><Grün Ü>"),
    ("tm open Plan", f"<open><{HOSTILE}>"),
    ('tm open "Plan', f"<open><{HOSTILE}>"),
    ("tm open 'Gree", "<open><Green Tea>"),
    ("tm extract tal", "<extract><talk.json>"),
    ("tm nonsense zzz", "<nonsense><zzz>"),
    ("tm search --mode=le", "<search><--mode=lexical>"),
    ("tm search tag:foo", "<search><tag:food/hot>"),
]
START = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}
LOAD = {
    "bash": "source '{0}'; PS1='ready> '; bind 'set bell-style none' 'set enable-bracketed-paste off'",
    "zsh": "PS1='ready> '; autoload -Uz compinit; compinit -u -D; source '{0}'; unset zle_bracketed_paste",
    "fish": "source '{0}'; function fish_prompt; echo 'ready> '; end",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_in_a_real_shell(shell: str, folder: Path) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    talk = Dialogue([path, *START[shell]], environ(folder), folder / "here", columns=200)
    try:
        talk.type(LOAD[shell].format(folder / f"script.{shell}") + "\n")
        talk.type("printf '%s%s\\n' loa ded\n")
        talk.wait_for("loaded")
        for line, expected in TYPED:
            talk.type(line + "\t")
            talk.type("\n")
            shown = talk.wait_for("!done", 30)
            assert expected in shown.replace("\r", "").replace("\n", ""), f"{line!r}: {shown}"
    finally:
        talk.kill()
    assert not [*folder.rglob("pwned")]


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_installed_twice_and_works_from_a_fresh_start(shell: str, folder: Path, tmp_path: Path) -> None:
    env = {**environ(folder), "HOME": str(tmp_path)}
    (tmp_path / ".bashrc").write_text("alias x=y")
    (tmp_path / ".zshrc").write_text("PS1='ready> '\n")
    dry = forked.run(program("completion", "--install", shell, "--dry-run"), env=env, text=True, check=True)
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".fish", ".bash") or "_tars" in path.name]
    assert (tmp_path / ".bashrc").read_text() == "alias x=y"
    first = forked.run(program("completion", "--install", shell), env=env, text=True, check=True)
    assert first.stdout == dry.stdout
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = forked.run(program("completion", shell, "--install"), env=env, text=True, check=True)
    assert first.stdout == again.stdout
    assert first.stderr.endswith(f"{shell} completes tm and tars-memory\n")  # a name before a word is a command's
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert all(Path(line).is_file() for line in first.stdout.splitlines())
    assert (tmp_path / ".bashrc").read_text().startswith("alias x=y")
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    talk = Dialogue([path, "-i"], {**env, "PS1": "$ "}, folder / "here", columns=200)
    try:
        talk.type("printf '%s%s\\n' loa ded\n")
        talk.wait_for("loaded")
        talk.type("tm sear\t\n")
        assert "<search>" in talk.wait_for("!done")
    finally:
        talk.kill()


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", "source share/bash-completion/completions/tars-memory; complete -p tars-memory"),
        ("fish", "source share/fish/vendor_completions.d/tars-memory.fish; complete -C 'tars-memory searc'"),
    ],
)
def test_a_package_completes_by_either_name(shell: str, asked: str, folder: Path, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    project = tomllib.loads((forked.ROOT / "pyproject.toml").read_text("utf-8"))
    for source, place in project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"].items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(forked.ROOT / source, tmp_path / place)
    done = subprocess.run(
        [shell, "-c", asked],
        env=environ(folder) | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ("-F _tars_memory tars-memory" if shell == "bash" else "search\t") in done.stdout, done.stderr


def test_the_fixed_values_are_those_that_are_taken(folder: Path) -> None:
    from tars_memory.doors.cli.commands.context import FORMATS
    from tars_memory.doors.cli.commands.search import PLACES
    from tars_memory.index.database import TIERS
    from tars_memory.jobs.hooks import AGENTS

    assert FIXED["PLACE"] == PLACES and FIXED["FORMAT"] == FORMATS
    assert FIXED["AGENT"] == AGENTS
    assert {*FIXED["search tier"]} == {*TIERS}
    env = environ(folder)
    for tier in FIXED["TIER"]:
        assert forked.run(program("list", "--tier", tier), env=env).returncode in (0, 1)
    for day in FIXED["DATE"]:
        done = forked.run(program("search", "tea", "--mode", "lexical", "--since", day), env=env)
        assert done.returncode in (0, 1), day
    for kind in FIXED["KIND"]:
        assert forked.run(program("sleep", "--print-schedule", kind), env=env).returncode == 0


def test_every_place_in_the_tables_is_one_of_a_command() -> None:
    commands: dict[str, Any] = {name: load(name) for names in COMMANDS.values() for name in names}
    params = {f"{name} {param.name}" for name, made in commands.items() for param in made.params}
    metavars = {(param.metavar or "").strip("[]…").rstrip("…") for made in commands.values() for param in made.params}
    options = {f"--{param.name}" for made in (build(), *commands.values()) for param in made.params}
    assert [each for each in (*FIXED, *SOURCES) if each not in params | metavars | options] == []


def test_the_help_begins_with_a_dozen_commands_whose_examples_are_their_own() -> None:
    assert len(EVERY_DAY) == 12
    for name, example in EVERY_DAY.items():
        assert example in [line.partition("  #")[0].rstrip() for line in load(name).examples.splitlines()], example
    assert all(name in [each for names in COMMANDS.values() for each in names] for name in HIDDEN)
