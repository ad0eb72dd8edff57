"""A transaction that stands whole or not at all: failed, killed, killed while it was taken back."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest
from storekit import Place, add, swap

from tars_memory.errors import ConflictError, UnwritableError
from tars_memory.vault.writing.journal import Journal


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.put("a.md", b"- a\n")
    place.put("b.md", b"- b\n")
    place.put("gone.md", b"- gone\n")
    return place


class Stopped(Exception):
    pass


def write_all(place: Place, *, stop: bool = True) -> None:
    with place.store().transaction("batch", atomic=True) as transaction:
        transaction.write("a.md", add(b"- one\n"))
        transaction.write("b.md", swap(b"- b", b"- c"))
        transaction.write("new/c.md", add(b"- new\n"))
        transaction.remove("gone.md", digest(b"- gone\n"))
        transaction.write("a.md", add(b"- two\n"))
        if stop:
            raise Stopped


def digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def notes(place: Place) -> dict[str, bytes]:
    return {name: place.get(name) or b"" for name in place.files()}


def cut(place: Place, count: int) -> None:
    """As if the process had been killed after so many writes."""
    (file,) = place.store().journal.files()
    ended, kept = 0, []
    for line in file.read_bytes().split(b"\n")[:-1]:
        if ended == count:
            break
        kept.append(line)
        ended += line.startswith(b'{"t":"end"')
    file.write_bytes(b"\n".join(kept) + b"\n")


def test_what_fails_leaves_nothing(place: Place) -> None:
    before = notes(place)
    with pytest.raises(Stopped):
        write_all(place)
    assert notes(place) == before
    assert place.is_settled()
    assert all(entry.undone for entry in place.store().history() if not entry.undoes)


def test_what_ends_stands_and_is_one_undo(place: Place) -> None:
    before = notes(place)
    write_all(place, stop=False)
    assert place.get("a.md") == b"- a\n- one\n- two\n"
    place.write("later.md", add(b"- later\n"))
    assert place.get("a.md") == b"- a\n- one\n- two\n"
    place.store().undo(last=2)
    assert notes(place) == before


def killed(place: Place) -> dict[str, bytes]:
    """All five writes stand, and the journal does not say that this was all."""
    before = notes(place)
    write_all(place, stop=False)
    cut(place, 5)
    assert len(place.store().pending()) == 1
    return before


def test_what_was_killed_is_taken_back_by_the_next_writer(place: Place) -> None:
    before = killed(place)
    store = place.store()
    with store.transaction("remember") as transaction:
        transaction.write("later.md", add(b"- later\n"))
    assert notes(place) == {**before, "later.md": b"- later\n"}
    assert [notice for notice in store.notices if "interrupted" in notice]
    assert place.is_settled()
    place.store().undo()
    assert notes(place) == before, "the taking back is not a write of the command that came upon it"
    assert place.store().recover() == []


@pytest.mark.parametrize("again", range(1, 5))
def test_a_kill_while_it_is_taken_back(place: Place, again: int) -> None:
    before = killed(place)
    place.store().recover()
    cut(place, 5 + again)  # the note writes are done; the journal forgot the last ones
    place.store().recover()
    assert notes(place) == before
    assert place.is_settled()


def test_a_note_that_moved_on_keeps_the_others_from_nothing(place: Place) -> None:
    before = killed(place)
    place.put("a.md", b"- a\n- one and more\n- two\n- mine\n")
    store = place.store()
    store.recover()
    assert place.get("a.md") == b"- a\n- one and more\n- mine\n"
    assert {name: data for name, data in notes(place).items() if name != "a.md"} == {
        name: data for name, data in before.items() if name != "a.md"
    }
    assert [notice for notice in store.notices if "a.md keeps" in notice]
    assert place.is_settled()


def test_an_edit_beside_it_is_kept(place: Place) -> None:
    killed(place)
    place.put("a.md", b"# mine\n- a\n- one\n- two\n")
    place.store().recover()
    assert place.get("a.md") == b"# mine\n- a\n"


def test_an_undo_that_finds_nothing_left_to_do(place: Place) -> None:
    """Somebody else took every line back already: it counts as undone all the same."""
    before = notes(place)
    with place.store().transaction("batch", atomic=True) as transaction:
        transaction.write("a.md", add(b"- one\n"))
        transaction.write("b.md", swap(b"- b", b"- c"))
    for name, data in before.items():
        place.put(name, data)
    place.store().undo()
    assert notes(place) == before
    assert place.store().pending() == []
    assert place.store().recover() == []
    assert all(entry.undone for entry in place.store().history())


def test_an_undo_of_several_that_fails_leaves_all_of_them(place: Place) -> None:
    write_all(place, stop=False)
    place.put("b.md", b"- something else\n")
    before = notes(place)
    with pytest.raises(ConflictError):
        place.store().undo()
    assert notes(place) == before
    place.put("b.md", b"- c\n")
    place.store().undo()
    assert place.get("a.md") == b"- a\n"


def test_a_dry_run_has_nothing_to_take_back(place: Place) -> None:
    before = notes(place)
    with suppress(Stopped), place.store(dry_run=True).transaction("batch", atomic=True) as transaction:
        transaction.write("a.md", add(b"- one\n"))
        raise Stopped
    assert notes(place) == before
    assert place.store().journal.files() == []


def test_a_month_turns_between_the_kill_and_the_next_writer(place: Place) -> None:
    before = killed(place)
    place.clock.move(days=40)
    place.write("later.md", add(b"- later\n"))
    assert notes(place) == {**before, "later.md": b"- later\n"}
    assert len(place.store().journal.files()) == 2


def test_nothing_written_says_nothing(place: Place) -> None:
    with place.store().transaction("batch", atomic=True) as transaction:
        transaction.write("a.md", lambda data: [])
    assert list(Journal(place.state / "journal").records()) == []


def test_half_of_it_does_not_stay_because_the_disk_was_full(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """There was room for a line, not for taking it back: the first writer that has room does that."""
    before = notes(place)

    def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("tars_memory.vault.writing.transaction.protocol.edit", full)
        with pytest.raises(UnwritableError, match=r"b\.md.*No space left"):
            write_all(place)
        assert place.get("a.md") == b"- a\n- one\n"
        with pytest.raises(UnwritableError, match="No space left"):
            place.write("later.md", add(b"- later\n"))
    place.write("later.md", add(b"- later\n"))
    assert notes(place) == {**before, "later.md": b"- later\n"}
    assert place.is_settled()


def test_a_first_write_that_fails_is_no_cut_off_transaction(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("tars_memory.vault.writing.transaction.protocol.append", full)
        with pytest.raises(UnwritableError):
            write_all(place)
    store = place.store()
    assert store.recover() == [] and store.pending() == []


def test_a_vault_mounted_for_reading_is_called_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.vault.folder.Folder.may_write", lambda *_: False)
    with pytest.raises(UnwritableError) as refused:
        place.write("a.md", add(b"- one\n"))
    assert "permissions" in refused.value.hint
    monkeypatch.setattr("tars_memory.vault.folder.Folder.is_read_only", lambda _: True)
    with pytest.raises(UnwritableError, match="Read-only") as refused:
        place.write("a.md", add(b"- one\n"))
    assert "mounted read-only" in refused.value.hint
