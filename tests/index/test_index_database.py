"""The driver, and where its files may have a write-ahead log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tars_memory.index import database

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /home/a\\040b rw - nfs4 server:/x rw
31 22 0:26 / /mnt/usb rw shared:1 - fuse.sshfs host: rw
32 22 0:27 / /mnt/usb/inner rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/a b/state", "nfs4"),
        ("/home/a bc", "ext4"),
        ("/mnt/usb", "fuse.sshfs"),
        ("/mnt/usb/inner/y", "tmpfs"),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    assert database.file_system_of(path, MOUNTS) == kind


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((3, 51, 2), False),
        ((3, 50, 7), True),
        ((3, 50, 6), False),
        ((3, 44, 6), True),
        ((3, 44, 5), False),
        ((3, 45, 0), False),
        ((3, 40, 1), False),
    ],
)
def test_a_log_only_where_sqlite_is_mended_and_the_disk_is_local(monkeypatch, tmp_path, version, safe: bool) -> None:
    monkeypatch.setattr(database, "is_local", lambda path: True)
    assert database.wal_is_safe(version, tmp_path) is safe
    monkeypatch.setattr(database, "is_local", lambda path: False)
    assert database.wal_is_safe(version, tmp_path) is False


def test_an_index_on_a_network_disk_has_no_log(make_index, monkeypatch) -> None:
    monkeypatch.setattr(database, "is_local", lambda path: False)
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    assert index.status()["journal"] != "wal"
    assert not [name for name in os.listdir(index.files.folder) if name.endswith("-wal")]


def test_a_log_is_taken_back_by_an_sqlite_that_may_break_it(make_index, monkeypatch) -> None:
    monkeypatch.setattr(database, "wal_is_safe", lambda version, path: True)
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    assert index.status()["journal"] == "wal"
    monkeypatch.undo()
    monkeypatch.setattr(database, "wal_is_fixed", lambda version: False)
    other = make_index()
    assert other.status()["journal"] == "wal"  # in use elsewhere: left as it is
    other.close()
    index.close()
    index = make_index()
    assert index.status()["journal"] != "wal"
    assert index.verify() == []


def test_opening_never_makes_a_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        database.connect(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_what_is_damage_and_what_is_not() -> None:
    def error(message: str, code: int) -> Exception:
        made: Exception = database.driver().module.OperationalError(message)
        made.sqlite_errorcode = code  # type: ignore[attr-defined]
        return made

    assert database.damaged(error("no such table: chunks", 1))
    assert database.damaged(error("file is not a database", 26))
    assert database.damaged(error("database disk image is malformed", 11 | 1 << 8))
    assert database.damaged(database.driver().module.OperationalError("Could not decode to UTF-8 column 'x'"))
    assert not database.damaged(error("LIKE or GLOB pattern too complex", 1))
    assert not database.damaged(error("database is locked", 5))
    assert not database.damaged(error("database or disk is full", 13))
    assert not database.damaged(OSError("no"))


def test_capabilities_say_what_is_and_why() -> None:
    found = database.capabilities()
    assert found["fts5"]
    assert found["driver"] in database.RUNGS
    assert found["vec"] == (found["driver"] != "sqlite3-noext")
    assert found["reason"]


def test_a_transaction_that_fails_leaves_nothing(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    connection = index.connection()

    def fail() -> None:
        with database.transaction(connection):
            connection.execute("DELETE FROM notes")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    assert not connection.in_transaction


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vectors-1.db"
    path.mkdir()
    with pytest.raises(database.driver().module.OperationalError, match=r"vectors-1[.]db: unable to open") as raised:
        database.connect(path)
    assert database.refused(raised.value)
