"""A note gets another path: the same bytes, mode and time, never nowhere, and back again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from storekit import Place

from tars_memory.errors import UnwritableError
from tars_memory.vault.vault import Vault

BODIES = [b"- 10:00 tea\n", b"", b"\xef\xbb\xbf- a\r\n- \xff\x00\rno end", b"---\nx: 1\n---\n"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def moved(place: Place, path: str = "a.md", to: str = "archive/x/a.md") -> bool:
    with place.store().session("tidy", Vault(place.root)) as session:
        return session.move(path, to)


@pytest.mark.parametrize("data", BODIES)
def test_bytes_mode_and_time_go_along_and_come_back(place: Place, data: bytes) -> None:
    file = place.put("a.md", data)
    os.chmod(file, 0o600)
    os.utime(file, ns=(10**18, 10**18))
    assert moved(place)
    new = place.root / "archive/x/a.md"
    assert (place.get("a.md"), new.read_bytes()) == (None, data)
    assert (new.stat().st_mode & 0o777, new.stat().st_mtime_ns) == (0o600, 10**18)
    place.store().undo()
    assert (file.read_bytes(), place.get("archive/x/a.md")) == (data, None)
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime_ns) == (0o600, 10**18)
    place.store().undo(next(iter(place.store().history(1))).txn)
    assert (place.get("a.md"), new.read_bytes()) == (None, data)


def test_another_text_in_its_new_place_stops_it(place: Place) -> None:
    place.put("a.md", b"one\n")
    place.put("archive/x/a.md", b"two\n")
    assert not moved(place)
    assert (place.get("a.md"), place.get("archive/x/a.md")) == (b"one\n", b"two\n")
    assert list(place.store().history()) == []


def test_the_same_text_there_is_a_move_that_was_cut_off(place: Place) -> None:
    place.put("a.md", b"one\n")
    place.put("archive/x/a.md", b"one\n")
    assert moved(place)
    assert (place.get("a.md"), place.get("archive/x/a.md")) == (None, b"one\n")


def test_what_is_not_there_is_not_moved(place: Place) -> None:
    assert not moved(place)
    assert place.get("archive/x/a.md") is None


def test_a_link_in_the_way_is_refused_and_nothing_changes(place: Place, tmp_path: Path) -> None:
    place.put("a.md", b"one\n")
    (tmp_path / "outside").mkdir()
    (place.root / "archive").symlink_to(tmp_path / "outside")
    with pytest.raises(UnwritableError):
        moved(place)
    assert place.get("a.md") == b"one\n"
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_dry_run_moves_nothing(place: Place) -> None:
    place.put("a.md", b"one\n")
    with place.store(dry_run=True).session("tidy", Vault(place.root)) as session:
        assert session.move("a.md", "archive/a.md")
    assert (place.get("a.md"), place.get("archive/a.md")) == (b"one\n", None)
