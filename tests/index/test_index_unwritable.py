"""A state folder that is read-only or on a full disk: what is indexed still answers, the rest is said."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from unprivileged import unwritable

from tars_memory.errors import UnwritableError
from tars_memory.index import database, writer
from tars_memory.index.database import IndexFiles
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import Index, RefreshBudget
from tars_memory.index.reader import Filter, IndexReader
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, hashed, make_vault

NOTES = {"a.md": "tea\n", "b.md": "milk\n"}


def words(index: Index, word: str) -> list[str]:
    def ask(reader: IndexReader) -> list[str]:
        ids = [chunk for chunk, _ in reader.match_chunks(expression([word]), Filter(), 10)]
        return sorted(row.path for row in reader.chunks(ids).values())

    return index.read(ask)


def disk_error(code: int = errno.ENOSPC) -> sqlite3.OperationalError:
    """What the driver says of a full disk."""
    error = database.driver().module.OperationalError("database or disk is full")
    error.sqlite_errorcode = 13
    return error


def folder_of(tmp_path: Path, *, left_open: bool = False) -> Path:
    """The state folder, with a write-ahead log in it if another process was killed."""
    state = tmp_path / "state"
    if left_open:
        copy = tmp_path / "copy"
        shutil.copytree(state, copy, ignore=shutil.ignore_patterns("*-shm"))
        shutil.rmtree(state)
        copy.rename(state)
    return state


@pytest.mark.parametrize("killed", [False, True])
def test_a_read_only_index_answers_and_says_how_far_it_is_behind(make_index, tmp_path, killed: bool) -> None:
    index = make_index(NOTES)
    index.reindex()
    if killed:
        state = folder_of(tmp_path, left_open=True)  # while the index is open: its log is not empty
    index.close()
    state = folder_of(tmp_path)
    (index.vault.root / "c.md").write_text("tea again\n")
    (index.vault.root / "b.md").unlink()
    with unwritable(state, tmp_path / "cache"):
        index = make_index()
        report = index.refresh()
        assert report.stale == 2
        assert "can't be written" in report.notices[0]
        assert words(index, "tea") == ["a.md"]
        found = index.read(lambda reader: reader.nearest(hashed("milk"), Filter(), 1))
        assert len(found) == 1
        assert index.read(lambda reader: reader.cosines(hashed("milk"), [found[0][0]]))
        assert index.status()["notes"] == 2
        assert index.embed_pending(16) == 0
        for strict in (index.verify, index.reindex, index.rebuild):
            with pytest.raises(UnwritableError):
                strict()
        index.close()
    assert index.refresh().stale == 0
    assert words(index, "tea") == ["a.md", "c.md"]
    assert index.verify() == []


def test_without_changes_nothing_is_said_of_it(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    index.refresh()
    index.close()
    with unwritable(tmp_path / "state"):
        report = make_index().refresh()
        assert (report.stale, report.notices) == (0, [])


def test_no_index_and_no_room_for_one_is_a_sentence(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    folder = tmp_path / "state"
    folder.mkdir()
    with unwritable(folder):
        with pytest.raises(UnwritableError, match="can't be made"):
            index.refresh()
        status = index.status()
        assert (status["notes"], status["path"], status["complete"]) == (None, None, False)
        assert status["fts5"]


def test_a_folder_that_may_not_be_listed_is_a_sentence(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    index.refresh()
    index.close()
    with unwritable(tmp_path / "state"):
        os.chmod(tmp_path / "state", 0)
        with pytest.raises(UnwritableError, match="Permission denied"):
            index.refresh()


def test_a_disk_too_full_for_an_index(make_index, tmp_path, monkeypatch) -> None:
    index = make_index(NOTES)

    def full(connection: sqlite3.Connection) -> None:
        raise disk_error()

    monkeypatch.setattr(database, "create", full)
    with pytest.raises(UnwritableError, match="disk is full"):
        index.refresh()
    monkeypatch.undo()
    assert index.refresh().changed == 2


def test_a_disk_too_full_for_shared_memory(make_index, tmp_path, monkeypatch) -> None:
    index = make_index(NOTES)
    index.refresh()
    (index.vault.root / "c.md").write_text("tea again\n")
    index.refresh()
    state = folder_of(tmp_path, left_open=True)
    index.close()
    connect = database.connect
    asked = []

    def full(path: Path, parameters: str = "mode=rw", *, exclusive: bool = False) -> sqlite3.Connection:
        asked.append((parameters, exclusive))
        if not exclusive:
            raise disk_error()
        return connect(path, parameters, exclusive=exclusive)

    monkeypatch.setattr(database, "connect", full)
    index = make_index()
    assert words(index, "tea") == ["a.md", "c.md"]
    assert asked == [("mode=rw", False), ("mode=rw", True)]
    assert not [name for name in os.listdir(state) if name.endswith("-shm")]


def test_a_disk_that_fills_up_in_a_refresh(make_index, monkeypatch) -> None:
    index = make_index(NOTES)
    index.refresh()
    (index.vault.root / "c.md").write_text("tea again\n")

    def full(self: writer.Writer, notes: list[writer.ReadNote]) -> None:
        raise disk_error()

    monkeypatch.setattr(writer.Writer, "write", full)
    report = index.refresh()
    assert report.stale == 1
    assert "disk is full" in report.notices[0]
    assert words(index, "tea") == ["a.md"]
    with pytest.raises(UnwritableError, match="disk is full"):
        index.refresh(RefreshBudget(None, strict=True))
    with pytest.raises(UnwritableError, match="disk is full"):
        index.rebuild()
    assert not list(index.files.folder.glob("*.new"))
    monkeypatch.undo()
    assert index.refresh().changed == 1
    assert index.verify() == []


def test_a_busy_database_is_never_read_past_its_locks(make_index, monkeypatch) -> None:
    index = make_index(NOTES)
    index.refresh()
    index.close()
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = database.connect(index.files.current())
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    ways = []
    monkeypatch.setattr(database, "_open_immutable", ways.append)
    try:
        with pytest.raises(UnwritableError, match="locked"):
            index.refresh()
    finally:
        other.close()
    assert ways == []


def test_the_lock_file_of_another_user(make_index, monkeypatch) -> None:
    index = make_index(NOTES)
    index.refresh()
    (index.vault.root / "c.md").write_text("tea again\n")

    def forbidden(self: IndexFiles, wait: float, name: str = "index.lock") -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(IndexFiles, "lock", forbidden)
    report = index.refresh()
    assert (report.stale, words(index, "tea")) == (1, ["a.md"])


def test_status_and_doctor_answer_whatever_the_disk_does(tmp_path) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    home = tmp_path / "home"
    home.mkdir()
    with unwritable(home), Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(home)}) as memory:
        with pytest.raises(UnwritableError):
            memory.search("tea")
        status = memory.status()
        assert (status["vault"]["notes"], status["vault"]["stale"]) == (None, 2)
        assert any("can't be made" in notice for notice in status["notices"])
        assert {"index", "writing"} <= {finding["kind"] for finding in memory.doctor()["findings"]}


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "semantic"])
def test_search_in_a_read_only_state(tmp_path, mode: str) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    home = tmp_path / "home"
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(home)}) as memory:
        memory.reindex()
    (root / "c.md").write_text("tea again\n")
    with unwritable(home), Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(home)}) as memory:
        result = memory.search("tea", mode=mode)
        assert (result.hits[0].path, result.stale) == ("a.md", 1)
        assert any("can't be written" in notice for notice in result.notices)
        assert memory.status()["vault"]["stale"] == 1
        assert any(finding["kind"] == "index" for finding in memory.doctor()["findings"])
        with pytest.raises(UnwritableError):
            memory.verify()


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ({"f_favail": 0}, "can't take another file: remove some there, or set TARS_MEMORY_HOME"),
        ({"f_bavail": 7}, "is full: make room there, or set TARS_MEMORY_HOME"),
        ({"f_bavail": 7, "f_favail": 0}, "is full: make room there"),
        ({"f_files": 0, "f_favail": 0}, "is its disk read-only, or"),  # btrfs counts no files
        ({}, "is its disk read-only, or"),
    ],
)
def test_what_the_disk_lacks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: Any, said: str) -> None:
    room = {"f_bavail": 9_000, "f_frsize": 4_096, "f_files": 900, "f_favail": 90, **lacks}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**room))
    files = IndexFiles(tmp_path)
    with pytest.raises(UnwritableError) as told, files.explained("the index can't be written"):
        raise disk_error()
    assert told.value.message == "the index can't be written: database or disk is full"
    assert said in told.value.hint and str(tmp_path) in told.value.hint
