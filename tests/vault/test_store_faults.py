"""The system fails, or the process stops, at every single step of a write: all of it is done, or nothing.

The same with real signals and real processes, at every system call, is in :mod:`test_store_kills`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from steps import SteppedExchange, Steps
from storekit import Place, add, swap

from tars_memory.errors import TarsError, UnwritableError

OLD = b"# A\n- one\n- two"


class Write:
    """A write, the notes before and after it, and how to bring the first about."""

    def __init__(
        self, prepare: Callable[[Place], None], act: Callable[[Place], object], old: bytes | None, new: bytes | None
    ) -> None:
        self.prepare = prepare
        self.act = act
        self.old = old
        self.new = new


def with_edit(place: Place) -> None:
    place.put("a.md", OLD)
    place.write("a.md", swap(b"one", b"ours"))


def with_append(place: Place) -> None:
    place.put("a.md", OLD)
    place.write("a.md", add(b"- ours\n"))


EDITED, APPENDED = b"# A\n- ours\n- two", OLD + b"\n- ours\n"
WRITES = {
    "append": Write(lambda p: p.put("a.md", OLD) and None, lambda p: p.write("a.md", add(b"- ours\n")), OLD, APPENDED),
    "edit": Write(lambda p: p.put("a.md", OLD) and None, lambda p: p.write("a.md", swap(b"one", b"ours")), OLD, EDITED),
    "create": Write(lambda p: None, lambda p: p.write("a.md", add(b"- ours\n")), None, b"- ours\n"),
    "undo an edit": Write(with_edit, lambda p: p.store().undo(), EDITED, OLD),
    "undo an append": Write(with_append, lambda p: p.store().undo(), APPENDED, OLD),
    "undo a new note": Write(
        lambda p: p.write("a.md", add(b"- ours\n")) and None, lambda p: p.store().undo(), b"- ours\n", None
    ),
}


class Stopped(BaseException):
    """The process ends here, as far as the store can tell."""


def every_step(
    tmp_path: Path, write: Write, action: Callable[[], None]
) -> Iterator[tuple[Place, BaseException | None]]:
    """The place after the write in which ``action`` was done at the next step, and what came out of the store."""
    with pytest.MonkeyPatch.context() as patch:
        steps = Steps(patch)
        at = 0
        while at == 0 or steps.count >= at:
            at += 1
            base = tmp_path / str(at)
            base.mkdir()
            place = Place(base, SteppedExchange(steps))
            write.prepare(place)
            before = len(list(place.store().history()))
            steps.begin(at, action)
            raised: BaseException | None = None
            try:
                write.act(place)
            except (TarsError, Stopped) as error:
                raised = error
            finally:
                steps.on = False
            assert place.get("a.md") in (write.old, write.new), at
            yield place, raised
            assert place.is_settled(), (at, place.files(), place.store().pending())
            done = place.get("a.md") == write.new
            assert place.get("a.md") in (write.old, write.new)
            # The journal tells what happened.
            assert len(list(place.store().history())) - before == done, at
            if done:
                place.store().undo(next(place.store().history()).txn)
                assert place.get("a.md") == write.old
    assert at > 20


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, errno.EACCES) for name in sorted(WRITES)),
        *((name, errno.EIO) for name in sorted(WRITES)),
        ("append", errno.ENOSPC),
        ("edit", errno.EROFS),
    ],
)
def test_a_call_fails(tmp_path: Path, name: str, number: int) -> None:
    def fail() -> None:
        raise OSError(number, os.strerror(number))

    write = WRITES[name]
    refused = 0
    for place, raised in every_step(tmp_path, write, fail):
        if raised is not None:
            assert isinstance(raised, UnwritableError)
            assert raised.message
            assert raised.hint
            assert place.get("a.md") == write.old
            refused += 1
        else:
            assert place.get("a.md") == write.new
        place.store().recover()
    assert refused > 10


@contextmanager
def no_unlink(number: int) -> Iterator[None]:
    """No file can be removed."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "unlink", fail)
        os.supports_dir_fd.add(fail)
        yield


def check_left(place: Place, *, whole: bool = True) -> None:
    """Each file of ours is seen by doctor, and may go if it was written whole."""
    left = [name for name in place.files() if ".tars-" in name]
    store = place.store()
    assert store.pending() == []
    assert store.leftovers() == left
    assert [name for name in left if whole and not store.is_own_leftover(name)] == []


@pytest.mark.parametrize("number", [errno.EIO, errno.EINTR, errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("name", sorted(WRITES))
def test_no_file_can_be_removed_for_good(tmp_path: Path, name: str, number: int) -> None:
    write, place = WRITES[name], Place(tmp_path)
    write.prepare(place)
    before = len(list(place.store().history()))
    with no_unlink(number):
        write.act(place)
        assert place.get("a.md") == write.new
        assert len(list(place.store().history())) == before + 1
        check_left(place)
        place.write("b.md", add(b"- another\n"))
        check_left(place)
        for entry in list(place.store().history())[:2]:
            place.store().undo(entry.txn)
        assert (place.get("a.md"), place.get("b.md")) == (write.old, None)
        check_left(place)


def extract(place: Place) -> None:
    with place.store().transaction("extract", atomic=True) as transaction:
        transaction.write("session.md", add(b"- session\n"))
        transaction.write("a.md", swap(b"one", b"ours"))
        transaction.write("a.md", add(b"- ours\n"))
        raise OSError(errno.EIO, "something else")


@pytest.mark.parametrize("number", [errno.EIO, errno.EINTR, errno.EACCES])
def test_what_fails_as_a_whole_is_taken_back_even_if_no_file_can_be_removed(tmp_path: Path, number: int) -> None:
    place = Place(tmp_path)
    place.put("a.md", OLD)
    with no_unlink(number):
        with pytest.raises(UnwritableError):
            extract(place)
        assert (place.get("a.md"), place.get("session.md")) == (OLD, None)
        check_left(place)
        place.write("c.md", add(b"- later\n"))
        assert [entry.file for entry in place.store().history() if not entry.undone and not entry.undoes] == ["c.md"]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize("name", sorted(WRITES))
def test_a_call_fails_and_no_file_can_be_removed_from_then_on(tmp_path: Path, name: str, number: int) -> None:
    write = WRITES[name]
    with pytest.MonkeyPatch.context() as patch:
        steps = Steps(patch)
        at = 0
        while at == 0 or steps.count >= at:
            at += 1
            (tmp_path / str(at)).mkdir()
            place = Place(tmp_path / str(at), SteppedExchange(steps))
            write.prepare(place)
            before = len(list(place.store().history()))
            broken = no_unlink(number)

            def fail(broken: AbstractContextManager[None] = broken) -> None:
                broken.__enter__()
                raise OSError(number, os.strerror(number))

            steps.begin(at, fail)
            try:
                write.act(place)
            except TarsError:
                pass
            finally:
                steps.on = False
            if steps.acted:
                place.write("b.md", add(b"- another\n"))
                broken.__exit__(None, None, None)
            check_left(place, whole=False)
            assert place.get("a.md") in (write.old, write.new), at
            done = place.get("a.md") == write.new
            assert len([entry for entry in place.store().history() if entry.file == "a.md"]) - before == done, at
    assert at > 20


@pytest.mark.parametrize("name", sorted(WRITES))
def test_the_process_stops(tmp_path: Path, name: str) -> None:
    def stop() -> None:
        raise Stopped

    stopped = 0
    for place, raised in every_step(tmp_path, WRITES[name], stop):
        stopped += raised is not None
        place.store().recover()
    assert stopped > 15


@pytest.mark.parametrize("name", ["append", "edit"])
def test_the_process_stops_and_somebody_saves_before_it_is_settled(tmp_path: Path, name: str) -> None:
    for place, raised in every_step(tmp_path, WRITES[name], lambda: (_ for _ in ()).throw(Stopped)):
        if raised is None:
            continue
        text = (place.get("a.md") or b"") + b"- theirs\n"
        place.put("editor~", text).replace(place.root / "a.md")
        place.store().recover()
        assert place.get("a.md") == text
        assert place.is_settled()
        place.put("a.md", text[: -len(b"- theirs\n")])
