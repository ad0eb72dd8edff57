"""What a vault brings along, and what a person's own file holds: nothing in it ends, holds or swells a command."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import pytest
from forked import program

from tars_memory import disk
from tars_memory.errors import SettingsError
from tars_memory.settings import chosen_project
from tars_memory.testing import make_vault
from tars_memory.vault.writing.journal import replace_file

ROOT = Path(__file__).parents[1]

DEEP = b"[" * 5000
HOSTILE_TEXTS = {
    "brackets": b"a = " + DEEP,
    "braces": b"a = " + b"{a=" * 5000,
    "objects": b'{"a":' * 5000,
    "list": DEEP + b"]" * 5000,
    "less deep": b"a = " + b"[" * 60 + b"]" * 60,
    "a long key": b".".join([b"a"] * 30_000) + b" = 1",
    "a long key of blanks": b" . ".join([b'"a"'] * 15_000) + b" = 1",
    "a long header": b"[" + b".".join([b"a"] * 30_000) + b"]",
    "a huge number": b"[limits]\nmax_note_bytes = " + b"9" * 5000,
    "a huge hexadecimal number": b"[limits]\nmax_note_bytes = 0x" + b"f" * 5000,
    "a number of more than 64 bits": b"[limits]\nmax_note_bytes = 99999999999999999999",
    "a key twice": b"[limits]\na = 1\na = 2\n",
    "no number": b'{"format": NaN}',
    "UTF-16": '[layout]\nlog_heading = "x"\n'.encode("utf-16"),
    "no UTF-8": b"\xff\xfe\xfa",
    "NUL": b"\0" * 100,
    "too long": b"#" * (disk.LARGEST + 1),
    "half a character": b'{"format": "\\ud800"}',
    "wrong types": b"layout = 5\nlimits = [1]\n",
    "wrong values": b"[layout]\ndaily_folder = [[1]]\nlog_heading = {a = 1}\n",
}


def as_text(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None  # type: ignore[return-value]


PLACED: dict[str, Callable[[Path], object]] = {
    **{name: as_text(data) for name, data in HOSTILE_TEXTS.items()},
    "a pipe": lambda path: os.mkfifo(path),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to(path.parent / "nothing"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
}

BROUGHT = (
    ".tars/config.toml",
    ".tars/vault-id",
    ".tars/inbox/0123abcd.json",
    ".tars/decided.jsonl",
    ".obsidian/daily-notes.json",
    ".obsidian/app.json",
    ".obsidian/templates.json",
    ".obsidian/plugins/periodic-notes/data.json",
    ".obsidian/plugins/templater-obsidian/data.json",
    ".tars-project",
    ".Memory.md.x.tars-tmp",
    "Memory (conflicted copy).md",
)


class Place:
    def __init__(self, base: Path) -> None:
        self.root = make_vault(base / "vault", {"Memory.md": "## Notes\n\n- the key is under the blue pot\n"})
        self.home = base / "home"
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TARS_MEMORY_HOME": str(self.home),
            "TARS_MEMORY_DIR": str(self.root),
            "TARS_MEMORY_EMBEDDING_MODEL": "none",
        }

    def run(self, *argv: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        env = {**self.env, **(env or {})}
        done = forked.run(
            program(*argv),
            env=env,
            cwd=self.root,
            text=True,
            errors="replace",
            **more,
        )
        assert done.returncode != 70 and "Traceback" not in done.stderr, (argv, done.stderr)
        return done

    def written(self) -> str:
        """All that stands in the vault's notes, and in every file of the state folder."""
        files = [path for path in (*self.root.glob("*.md"), *self.home.rglob("*")) if not path.is_symlink()]
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files if path.is_file())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_that_is_too_long_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    monkeypatch.setattr(disk.os, "read", lambda fd, count: pytest.fail("read"))
    with pytest.raises(SettingsError, match="more than"):
        disk.read(path)


@pytest.mark.parametrize("damage", PLACED)
def test_no_file_that_is_read_for_settings_does_more_than_one_error(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    PLACED[damage](path)
    refused: list[str] = []
    for read in (disk.toml_table, disk.json_object):
        try:
            assert json.dumps(read(path, tmp_path))
        except SettingsError as error:
            refused.append(error.message)
    assert all(str(path) in message and len(message) < 1000 for message in refused)
    assert refused or damage in ("wrong types", "wrong values")


def called(place: Place, *argv: str) -> int:
    """One command in this process; it never ends as a bug."""
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    before = os.getcwd()
    os.chdir(place.root)
    try:
        code = run(list(argv), Call(place.env))
    finally:
        os.chdir(before)
    assert code in (0, 1, 2, 5), argv
    return code


@pytest.mark.parametrize("damage", ["brackets", "objects", "a huge number", "half a character", *list(PLACED)[-5:]])
def test_nothing_that_a_vault_brings_along_ends_a_command(damage: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number, name in enumerate(BROUGHT):
        path = place.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path):
            path.unlink()
        PLACED[damage](path)
        called(place, "remember", f"Anna likes oolong {number}")
        called(place, "log", f"tea with Anna {number}")
        said = place.written()
        assert f"oolong {number}" in said and f"with Anna {number}" in said, name
    for argv in (["doctor", "--fix"], ["status"], ["search", "oolong"], ["context"], ["review", "--list"], ["list"]):
        called(place, *argv)


def test_a_folder_of_settings_that_is_a_link_is_not_followed_and_said(place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "daily-notes.json").write_text('{"folder": "Journal"}')
    (place.root / ".obsidian").symlink_to(elsewhere)
    done = place.run("remember", "Anna likes oolong")
    assert done.returncode == 0
    done = place.run("log", "tea with Anna")
    assert done.returncode == 5 and "is a link" in done.stderr
    assert "daily_folder" in done.stderr and "tea with Anna" in place.written()
    (place.root / ".tars").mkdir(exist_ok=True)
    (place.root / ".tars/config.toml").write_text('[layout]\ndaily_folder = "Journal"\ndaily_format = "YYYY-MM-DD"\n')
    done = place.run("log", "tea with Bela")
    assert done.returncode == 0 and "Journal/" in done.stdout, "what is set here needs no word of Obsidian's"


def test_a_file_that_can_not_be_read_names_no_project_and_is_said(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / ".tars-project").write_text("boat\n")
    os.mkfifo(inner / ".tars-project")
    notices: list[str] = []
    assert chosen_project(None, {}, inner, notices=notices) == "boat"
    assert len(notices) == 1 and "not a regular file" in notices[0]


def test_a_file_of_somebody_else_is_not_to_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(disk, "_open", refused)
    with pytest.raises(SettingsError) as told:
        disk.read(tmp_path / "config.toml")
    assert told.value.hint == "check the owner and the permissions of that file and its folder"


def test_the_persons_own_file_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfile.toml").write_text("[recall]\nlimit = 3\n")
    (tmp_path / "config.toml").symlink_to(tmp_path / "dotfile.toml")
    assert disk.toml_table(tmp_path / "config.toml") == {"recall": {"limit": 3}}
    with pytest.raises(SettingsError, match="link"):
        disk.toml_table(tmp_path / "config.toml", tmp_path)


def test_what_can_not_take_the_place_of_another_file_is_named_as_that(tmp_path: Path) -> None:
    place = tmp_path / "vault.json"
    place.mkdir()
    for write in (disk.replace, replace_file):
        with pytest.raises(OSError, match="Is a directory") as refused:
            write(place, b"{}")
        assert refused.value.filename == str(place) and refused.value.filename2 is None
        with pytest.raises(FileNotFoundError) as missing:
            write(tmp_path / "no/folder.json", b"{}")
        assert missing.value.filename == str(tmp_path / "no/folder.json")
    assert [path.name for path in tmp_path.iterdir()] == ["vault.json"]


def test_a_file_that_the_person_names_may_be_a_pipe_and_no_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_bytes(b"steps")
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    assert [disk.read_named(path) for path in (tmp_path / "text", f"/dev/fd/{reading}")] == [b"steps", b"piped"]
    os.close(reading)
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(OSError, match="not a regular file"):
            disk.read_named(device)
    monkeypatch.setattr(disk, "LARGEST_NAMED", 4)
    with pytest.raises(OSError, match="more than"):
        disk.read_named(tmp_path / "text")


def test_a_pipe_is_not_waited_for_where_lines_are_added(tmp_path: Path) -> None:
    os.close(disk.append_to(tmp_path / "lines"))
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(OSError, match=r"pipe|regular"):
        disk.append_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="not a regular file"):
        disk.append_to(pipe)
    os.close(reader)


def test_an_interrupted_replacement_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "note.md").write_bytes(b"before")
    monkeypatch.setattr(Path, "chmod", interrupted)
    with pytest.raises(KeyboardInterrupt):
        disk.replace(tmp_path / "note.md", b"after", rights=0o600)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("note.md", b"before")]
