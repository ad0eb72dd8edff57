"""Opening, walking and reading a vault: nothing outside it, nothing that hangs, everything counted."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tars_memory.errors import NotFoundError, PartialError, TarsError, UsageError, VaultError
from tars_memory.settings import LimitsOptions
from tars_memory.vault.suspicion import wide_encoding
from tars_memory.vault.vault import Vault, is_other_encoding


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("- a\n", "utf-8")


def walked(root: Path) -> tuple[set[str], dict[str, int]]:
    vault = Vault.open(root)
    return set(vault.paths()), vault.skipped


def test_opening_makes_nothing(tmp_path: Path) -> None:
    vault = Vault.open(tmp_path)
    assert vault.id is None
    assert list(tmp_path.iterdir()) == []
    for path in (tmp_path / "none", "a\0b"):
        with pytest.raises(VaultError):
            Vault.open(path)
    make(tmp_path, "file.md")
    with pytest.raises(VaultError, match="not a folder"):
        Vault.open(tmp_path / "file.md")


def test_first_writer_makes_one_id(tmp_path: Path) -> None:
    found: list[str | None] = []
    gate = threading.Barrier(8)

    def first() -> None:
        vault = Vault.open(tmp_path)
        gate.wait()
        found.append(vault.ensure_id())

    threads = [threading.Thread(target=first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert found[0] == Vault.open(tmp_path).id
    assert [path.name for path in (tmp_path / ".tars").iterdir()] == ["vault-id"]


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"a b c d e f", b"short", b"x" * 100])
def test_a_damaged_id_is_no_id(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".tars").mkdir()
    (tmp_path / ".tars/vault-id").write_bytes(text)
    assert Vault.open(tmp_path).id is None


def test_an_id_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / ".tars").write_text("a file where the folder should be", "utf-8")
    assert Vault.open(tmp_path).ensure_id() is None


def test_an_id_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    root = tmp_path / "vault"
    root.mkdir()
    (root / ".tars").symlink_to(tmp_path / "out")
    assert Vault.open(root).ensure_id() is None
    assert list((tmp_path / "out").iterdir()) == []


def test_the_walk_finds_notes_and_counts_the_rest(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    make(root, "a.md", "b/c.MD", "b/d e/ü.md", "image.png", "b/conflict of interest.md", "x.md/inner.md")
    make(root, ".obsidian/x.md", ".trash/y.md", ".git/z.md", ".tars/q.md", ".hidden.md", "..a.md.t1.tars-tmp")
    make(
        root,
        ".cloud.md.icloud",
        "n.sync-conflict-20261121-101500-ABCDEFG.md",
        "n (Anna's conflicted copy 2026-11-21).md",
    )
    make(root, "a (Conflict 2026).md", "n_conflict-20150101-101010.md", "b/Syria.Conflict.md", "b/Syria (conflict).md")
    make(tmp_path, "outside/o.md")
    (root / "dangling.md").symlink_to(tmp_path / "nothing")
    (root / "out.md").symlink_to(tmp_path / "outside/o.md")
    (root / "outfolder").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    (root / "in.md").symlink_to(root / "a.md")
    (root / "self.md").symlink_to(root / "self.md")
    os.mkfifo(root / "pipe.md")
    os.mkfifo(root / "pipe")
    os.mknod(root / "s.md", stat.S_IFSOCK | 0o600)  # bound by nobody: a socket's own path may not be long
    found, skipped = walked(root)
    assert found == {
        *("a.md", "b/c.MD", "b/d e/ü.md", "b/conflict of interest.md", "x.md/inner.md"),
        *("b/Syria.Conflict.md", "b/Syria (conflict).md"),  # without a day, and beside no original
    }
    assert skipped == {
        "hidden folder": 4,
        "hidden file": 1,
        "temporary file": 1,
        "not downloaded (iCloud)": 1,
        "conflict copy": 4,
        "dangling link": 2,
        "link out of the vault": 2,
        "link within the vault": 2,
        "not a regular file": 3,
    }


def test_the_sweep_gives_what_tells_a_change(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "x/b.md")
    for folder in Vault.open(tmp_path).sweep():
        found = (tmp_path / folder.prefix / folder.names[0]).stat()
        assert folder.numbers == [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def test_names_that_are_no_utf_8_are_passed_over_by_name(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "x/b.md", "x/c.md")
    for name in (b"/\xff\xfe.md", b"/x/n\xffame.md", b"/x/picture\xff.png"):
        with open(os.fsencode(tmp_path) + name, "wb") as file:
            file.write(b"x")
    os.mkdir(os.fsencode(tmp_path) + b"/f\xff")
    vault = Vault.open(tmp_path)
    assert sorted(vault.paths()) == ["a.md", "x/b.md", "x/c.md"]
    assert [sorted(map(os.fsencode, paths)) for paths in vault.skipped_paths.values()] == [
        [b"f\xff/", b"x/n\xffame.md", b"\xff\xfe.md"]
    ]
    assert vault.skipped == {"not named in UTF-8": 3}
    found = {folder.prefix: (folder.names, len(folder.numbers)) for folder in vault.sweep()}
    assert (len(found["x/"][0]), found["x/"][1]) == (2, 8)


class FailingDisk(contextlib.nullcontext[None]):
    """A listing that fails at its first entry."""

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("failing", [False, True])
def test_an_unreadable_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: bool) -> None:
    make(tmp_path, "a.md", "closed/b.md")
    real = os.scandir

    def scandir(path: str | int) -> object:  # by descriptor where a folder is removed
        if isinstance(path, str) and path.rstrip("/").endswith("closed"):
            if failing:
                return FailingDisk()
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("tars_memory.vault.vault._BY_DESCRIPTOR", False)
    monkeypatch.setattr(os, "scandir", scandir)
    assert walked(tmp_path) == ({"a.md"}, {"unreadable folder": 1})


def test_a_vault_that_went_away_is_said(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    vault = Vault.open(root)
    root.rmdir()
    with pytest.raises(VaultError, match="listed"):
        vault.paths()
    with pytest.raises(VaultError):
        vault.read("a.md")


def test_looking(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "d/b.md")
    vault = Vault.open(tmp_path)
    assert vault.look("d/b.md") is not None
    for path in ("none.md", "a.md/b.md", "d"):
        assert vault.look(path) is None


def test_reading_stays_in_the_vault_and_never_hangs(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    make(root, "a.md", "d/b.md")
    make(tmp_path, "outside/o.md")
    (root / "l.md").symlink_to(root / "a.md")
    (root / "f").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe.md")
    vault = Vault.open(root, limits=LimitsOptions(max_note_bytes=100))
    assert vault.read("d/b.md") == b"- a\n"
    for path in ("l.md", "f/o.md", "pipe.md", "d"):
        with pytest.raises(TarsError):
            vault.read(path)
    for path in ("none.md", "no/folder.md"):
        with pytest.raises(NotFoundError):
            vault.read(path)
    for path in ("../outside/o.md", "/etc/passwd", "", "d//b.md", "a\0.md"):
        with pytest.raises(UsageError):
            vault.read(path)
    (root / "big.md").write_bytes(b"x" * 101)
    with pytest.raises(PartialError, match="are not read"):
        vault.read("big.md")


def test_within_a_night_a_note_is_read_and_parsed_once_unless_it_changes(tmp_path: Path) -> None:
    (tmp_path / "Memory.md").write_bytes(b"- a\n")
    vault = Vault.open(tmp_path)
    assert vault.note("Memory.md") is not vault.note("Memory.md")
    with vault.read_once():
        first = vault.note("Memory.md")
        assert vault.note("Memory.md") is first
        (tmp_path / "new.md").write_bytes(b"- b\n")
        os.replace(tmp_path / "new.md", tmp_path / "Memory.md")
        assert [entry.text for entry in vault.note("Memory.md").entries] == ["b"]
        (tmp_path / "Memory.md").unlink()
        with pytest.raises(NotFoundError):
            vault.note("Memory.md")


WIDE = ["utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("text", ["# Tea\n\n- Käse, 東京 and tea\n", "x", "- 🫖 tea, and a line of ASCII\n"])
def test_notes_of_utf_16_and_utf_32_are_known(encoding: str, text: str) -> None:
    assert wide_encoding(text.encode(encoding)) == encoding[:6].upper()
    assert wide_encoding(b"\xfe\xff" + text.encode("utf-16-be")) == "UTF-16"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0" * 4096,
        b"a\0b",
        b"\xef\xbb\xbfx",
        b"caf\xe9",
        "東京".encode(),
        b"tea\0\0\0 and more\n",
        b"\xff",
    ],
)
def test_what_is_no_utf_16(data: bytes) -> None:
    assert wide_encoding(data) == ""


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b"", False),
        (b"tea", False),
        (b"caf\xe9", True),
        ("é".encode(), False),
        (b"caf\xe9 \xc3\xa9", False),
        (b"\xff\xfd", True),
        ("鍵は引き出しの中です。".encode("shift_jis"), True),  # five pairs of its bytes are UTF-8, by accident
        ("明天去北京开会，记得带护照".encode("gbk"), True),
        ("Завтра поедем в Москву, ключ у соседа".encode("cp866"), True),
        ("東京".encode() + b"caf\xe9", False),
    ],
)
def test_notes_in_other_encodings_are_known(data: bytes, is_one: bool) -> None:
    assert is_other_encoding(data) is is_one


def test_a_vault_that_may_not_be_entered_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.md", "b/c.md")
    vault, real = Vault.open(tmp_path), os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.X_OK and real(path, mode))
    with pytest.raises(VaultError, match="may not be entered") as refused:
        vault.sweep()
    assert refused.value.hint == "check its owner and permissions"
