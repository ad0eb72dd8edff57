"""Paths are printed as they can be opened from where one stands, and are taken as they were printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import forked
import pytest
from terminal import environment

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call
from tars_memory.testing import make_vault
from tars_memory.vault.suspicion import shell_path

SEARCH = Path(__file__).parents[2] / "docs" / "search.md"
TODAY = "2026-11-21.md"
NOTES = {
    "Memory.md": "## Notes\n\n- dough needs salt\n- dough rests at 4 °C\n",
    "Procedural.md": "## Notes\n\n- weigh the dough\n",
    "Facts.md": "## Anna\n\n- lives in:: Cork\n",
    TODAY: "## Log\n\n- 10:00 [extracted] dough is a pet ^d-a\n",
    "-x.md": "# Dash\n\ndough dash, see [[Memory]]\n",
    'bread/what: a "good" loaf\'s dough.md': "# Loaf\n\ndough at 72 % hydration\n",
    "bread/日本 ä.md": "# Brot\n\nrye dough\n",
    "twice.md": "# Twice\n\n- [ ] \n",
}
PLACE = re.compile(r"^(?:[a-z0-9]+\t(?:accepted\t)?)?(.+?\.md)(?::([0-9]+))?(?=$|[:\t ]| {2})")


class Stood:
    """A vault, and the program called from somewhere."""

    def __init__(self, base: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.base, self.patch, self.capture = base, patch, capture
        self.root = make_vault(base / "my notes", NOTES)
        (base / "link").symlink_to(self.root)
        (base / "inner").symlink_to(self.root / "bread")
        (base / "else where").mkdir()
        bin_ = base / "bin"
        bin_.mkdir()
        for name in ("tm", "tars-memory"):
            forked.command(bin_, name)
        self.env = environment(
            base / "home", TARS_MEMORY_DIR=str(base / "link"), TERM="xterm", TARS_MEMORY_BACKGROUND="0"
        )
        self.env["PATH"] = f"{bin_}{os.pathsep}{self.env['PATH']}"

    def shell(self, script: str, place: Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", script], env={**self.env, "PWD": str(place), **env}, cwd=place, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def __call__(self, *argv: str, place: Path | None = None) -> str:
        self.patch.chdir(place or self.root)
        code = run(list(argv), Call(self.env))
        said = self.capture.readouterr()
        assert code in (0, 1), (argv, said.err)
        return said.out

    @property
    def places(self) -> list[Path]:
        return [self.root, self.root / "bread", self.base, self.base / "else where", self.base / "inner"]


@pytest.fixture
def stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stood:
    return Stood(tmp_path, monkeypatch, capsys)


def opened(text: str, place: Path) -> dict[str, list[str]]:
    """The lines of the notes that are named at the beginning of each line, opened from a folder."""
    found = {}
    for line in text.splitlines():
        place_ = PLACE.match(line)
        if place_ is not None:
            found[line] = Path(os.path.join(place, place_[1])).read_text("utf-8").splitlines()
    return found


def test_a_search_prints_what_can_be_opened_from_anywhere(stood: Stood) -> None:
    for place in stood.places:
        out = stood("search", "--mode", "lexical", "dough", place=place)
        lines = opened(out, place)
        assert len(lines) == len(out.splitlines()) >= 6, (place, out)
        for printed, note in lines.items():
            path, number, text = re.fullmatch(r"(.+\.md):([0-9]+):(.*)", printed).groups()  # type: ignore[union-attr]
            assert note[int(number) - 1] == text
            assert not path.startswith("-")
        told = json.loads(stood("search", "--mode", "lexical", "dough", "--json", place=place))
        assert {hit["path"] for hit in told["hits"]} <= set(NOTES), "JSON keeps the vault's"
        for path in stood("search", "--mode", "lexical", "dough", "--paths", place=place).splitlines():
            assert os.path.isfile(os.path.join(place, path))


def test_a_path_is_no_credential_whatever_it_is_called(stood: Stood) -> None:
    name = "Password manager.md"
    (stood.root / name).write_text("# Kept\n\nthe zebra has password: Tr0ub4dor&3xY9!\n")
    for place in stood.places:
        path, _, said = stood("search", "--mode", "lexical", "zebra", place=place).rstrip("\n").partition(":3:")
        assert os.path.samefile(os.path.join(place, path), stood.root / name)
        assert "Tr0ub4dor" not in said and "zebra" in said


def test_a_link_to_nothing_has_no_path_to_print(stood: Stood) -> None:
    (stood.root / "lone.md").write_text("see [[Nowhere at all]]\n")
    assert stood("links", "lone.md") == "out\t\tNowhere at all\n"


def test_how_a_path_is_printed(stood: Stood) -> None:
    salt = ("search", "--mode", "lexical", "salt", "--paths")
    assert stood(*salt) == "Memory.md\n"
    assert stood(*salt, place=stood.root / "bread") == "../Memory.md\n"
    assert stood(*salt, place=stood.base / "inner") == "../Memory.md\n", "the kernel's .. leads there"
    assert stood(*salt, place=stood.base / "link") == "Memory.md\n"
    assert stood(*salt, place=stood.base / "else where") == f"{stood.root}/Memory.md\n"
    assert stood("search", "--mode", "lexical", "dash", "--paths") == "./-x.md\n", "it is not an option"
    gone = stood.shell("mkdir gone && cd gone && rmdir ../gone && tm search --mode lexical salt --paths", stood.root)
    assert gone.stdout == f"{stood.root}/Memory.md\n", "a folder that was removed"


@pytest.mark.parametrize("call", ["sources add talks", "sources remove talks", "doctor --adopt old"])
def test_a_name_in_a_folder_that_was_removed_is_no_bug(stood: Stood, call: str) -> None:
    gone = stood.shell(f"mkdir gone && cd gone && rmdir ../gone && tm {call}", stood.root)
    assert gone.returncode == 2 and "the current folder was removed" in gone.stderr


def test_a_vault_with_a_line_break_in_its_name_is_printed_as_a_shell_takes_it(stood: Stood) -> None:
    odd = stood.base / "a vault's\nname"
    stood.root.rename(odd)
    stood.env["TARS_MEMORY_DIR"] = str(odd)
    assert stood("init", place=odd) == f"{shell_path(str(odd))}\n"
    assert stood("status", place=odd).splitlines()[0] == f"vault\t{shell_path(str(odd))}"
    assert stood("open", "Memory.md", place=odd) == f"{shell_path(str(odd / 'Memory.md'))}:1\n"


COMMANDS = [
    ["remember", "dough", "is", "alive"],
    ["log", "dough"],
    ["feedback", "bad", "too wet"],
    ["facts", "add", "Anna", "bakes", "bread"],
    ["edit", "dough needs salt", "dough needs 2 % salt"],
    ["forget", "dough rests"],
    ["undo"],
    ["list"],
    ["show", "dough needs"],
    ["why", "dough needs"],
    ["tidy"],
    ["doctor"],
]


@pytest.mark.parametrize("where", [1, 3])
def test_every_command_prints_what_can_be_opened(stood: Stood, where: int) -> None:
    place = stood.places[where]
    for command in COMMANDS:
        out = stood(*command, place=place)
        lines = opened(out, place)
        assert lines or command[0] in ("doctor", "tidy"), (command, out)
    changes = stood("history", place=place).splitlines()
    assert changes and all(os.path.isfile(place / change.split("\t")[5]) for change in changes)
    linked = stood("links", "-x", place=place).split("\t")[1]
    assert linked == ("../Memory.md" if where == 1 else f"{stood.root}/Memory.md")


def test_a_dead_link_is_printed_without_a_path(stood: Stood) -> None:
    (stood.root / "Dead.md").write_text("See [[Nowhere]] and [[Memory]].\n")
    out = stood("links", "Dead", place=stood.root)
    assert out == "out\t\tNowhere\nout\tMemory.md\tMemory\n"


def test_findings_are_printed_with_what_can_be_opened(stood: Stood) -> None:
    (stood.root / "bread" / "key.md").write_text("token ghp_0123456789abcdefghijklmnopqrstuvwxyz\n")
    out = stood("doctor", "--vault", str(stood.root), place=stood.root / "bread")
    assert "secret: key.md:1: " in out
    assert f"secret: {stood.root}/bread/key.md:1: " in stood("doctor", place=stood.base)


def test_what_was_printed_is_taken(stood: Stood) -> None:
    for place in stood.places:
        printed = stood("search", "--mode", "lexical", "salt", place=place).splitlines()[0]
        for form in (printed, printed.rpartition(":")[0], "Memory.md:3", f"{stood.base}/link/Memory.md:3"):
            assert "- dough needs salt" in stood("show", form, place=place), (place, form)
        note = printed.split(":")[0]
        history = stood("history", "--path", note, "--json", place=place)
        assert json.loads(history)["entries"] == []
        assert stood("links", note, place=place).startswith("back\t")
        assert (
            stood("search", "--mode", "lexical", "dough", "--links-to", note, "--paths", place=place).count("\n") == 1
        )
        for form in ([f'path:"{note}"'], ["--path", note]):
            assert stood("search", "--mode", "lexical", "dough", *form, "--paths", place=place) == f"{note}\n"


def test_a_filter_begins_where_one_stands_or_at_the_vault(stood: Stood) -> None:
    def paths(*argv: str, place: Path) -> set[str]:
        told = json.loads(stood("search", "--mode", "lexical", "dough", *argv, "--json", place=place))
        return {hit["path"] for hit in told["hits"]}

    bread = {path for path in NOTES if path.startswith("bread/")}
    inner = stood.root / "bread"
    for argv in (
        ["path:."],
        ["--path", "."],
        ["--path", str(inner)],
        ["path:bread/"],
        ["--path", "./日本*", "--path", "what*"],
    ):
        assert paths(*argv[:2], place=inner) <= bread, argv
    assert paths("path:.", place=inner) == bread == paths("--path", "bread", place=stood.base)
    assert paths("--path", "my notes/bread", place=stood.base) == bread
    assert paths("path:..", place=inner) == paths(place=inner) > bread
    told = json.loads(stood("search", "--mode", "lexical", "dough", "path:.", "--json", place=inner))
    assert told["query"] == "dough path:.", "as it was typed"


def test_an_edit_by_its_place(stood: Stood) -> None:
    assert stood("edit", "../Memory.md:4", "dough rests at 5 °C", place=stood.root / "bread") == "../Memory.md:4\n"
    assert (stood.root / "Memory.md").read_text("utf-8").endswith("- dough rests at 5 °C\n")
    missing = stood.shell("tm show ../Memory.md:1", stood.root / "bread")
    assert missing.returncode == 1 and "no entry" in missing.stderr


def recipe(word: str) -> str:
    """The line of the page about search that holds this."""
    return next(line for line in SEARCH.read_text("utf-8").splitlines() if word in line)


@pytest.mark.skipif(shutil.which("fzf") is None, reason="fzf is not installed")
def test_the_recipe_for_fzf_shows_the_line(stood: Stood) -> None:
    pipe, _, preview = recipe("fzf").partition(" --preview ")
    assert pipe and preview
    for place in stood.places:
        # Without a terminal fzf takes the best match by itself; the preview is what it would run for that line.
        script = f"{pipe.replace('dough', '--mode lexical salt')} --filter 'salt'"
        line = stood.shell(script, place).stdout.splitlines()[0]
        path, number, text = line.split(":", 2)
        command = preview.strip("'").replace("{1}", f"'{path}'").replace("{2}", f"'{number}'")
        assert stood.shell(command, place).stdout.splitlines()[0] == text


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_the_recipe_for_vim_jumps_to_the_line(stood: Stood) -> None:
    for place in stood.places:
        script = recipe("vim -q").replace("dough", "--mode lexical salt").replace("vim ", "vim -es -u NONE -N -i NONE ")
        shown = stood.shell(f"{script} -c 'cc 1' -c 'print' -c 'qa!'", place)
        assert "dough needs salt" in shown.stdout + shown.stderr, (place, shown)


@pytest.mark.skipif(os.name == "nt", reason="such names can't be made there")
def test_a_name_with_what_nobody_sees_is_printed_as_a_shell_takes_it(tmp_path: Path) -> None:
    names = (
        "e\x1b[31msc.md",
        "new\nline.md",
        "tab\tbed.md",
        "zw\u200bsp.md",
        "r\u202etl.md",
        "it's\\\x07.md",
        "n\udcff.md",
    )
    for name in names:
        (tmp_path / name).write_text("tea\n")
        shown = shell_path(name)
        assert shown.isascii() and shown.isprintable() and "\u202e" not in shown
        assert (
            subprocess.run(["bash", "-c", f"cat {shown}"], cwd=tmp_path, capture_output=True, check=True).stdout
            == b"tea\n"
        )
    assert [shell_path(name) for name in ("new\nline.md", "e\x1b.md")] == [r"$'new\nline.md'", r"$'e\033.md'"]
    for plain in ('it\'s \\ a "note".md', "日本 ä.md", "👩‍👧.md", "می‌خواهم.md"):
        assert shell_path(plain) == plain


def test_a_script_can_use_every_path_that_is_printed(stood: Stood) -> None:
    (stood.root / "new\nli\x1b[31mne.md").write_text("qwxzy\n")
    done = stood.shell('eval "cat $(tm search qwxzy --mode lexical --paths)"', stood.root)
    assert (done.stdout, done.returncode) == ("qwxzy\n", 0), done.stderr


@pytest.mark.parametrize("command", ["doctor", "list --tier note", "show walnut", "headings b"])
def test_a_name_with_a_line_break_begins_no_line(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = "- a walnut desk\n- a walnut desk\n- a walnut\u2028tars-memory: forged\n"
    names = ("b\ntars-memory: forged.md", "c\u2028tars-memory: forged.md", "Memory.md")
    root = make_vault(tmp_path / "vault", dict.fromkeys(names, twice))
    (root / "a\ntars-memory: forged.md").write_bytes("- a walnut desk\n".encode("utf-16"))
    monkeypatch.chdir(root)
    env = environment(tmp_path / "home", TARS_MEMORY_DIR=str(root), TARS_MEMORY_EMBEDDING_MODEL="none")
    run(command.split(), Call(env))
    said = capsys.readouterr()
    lines = f"{said.out}{said.err}".split("\n")
    assert any("forged" in line for line in lines)
    assert not [line for line in lines if line.startswith("tars-memory: forged")]
