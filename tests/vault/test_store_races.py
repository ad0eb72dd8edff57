"""Another program acts at every single step of a write: nothing it saved is destroyed, nothing of ours stays half done.

The steps are the calls into the system; a test first counts them, then lets the other program act before each one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from steps import SteppedExchange, Steps
from storekit import Place, add, after, swap

from tars_memory.errors import TarsError
from tars_memory.vault.folder import Folder, digest
from tars_memory.vault.writing.store import Plan

OLD = b"# A\n- one\n- two\n" + b"- filler\n" * 20
THEIRS = OLD + b"- theirs\n"

STRIDE = 3
"""Every third step here, every one in tests/prove."""

OVER = 5
"""Writes in a row that are over before the step at which somebody was to act: all steps were tried."""

Act = Callable[[Place], None]


@contextmanager
def short_waits() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tars_memory.vault.folder.SETTLE", 0.002)
        patch.setattr("tars_memory.vault.folder.EMPTY_WAIT", 0.01)
        patch.setattr("tars_memory.vault.writing.transaction.GONE_WAIT", 0.002)
        yield patch


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with short_waits() as patch:
        yield patch


WRITES: dict[str, tuple[Plan, bytes]] = {
    "append": (add(b"- ours\n"), b"- ours\n"),
    "edit": (swap(b"- one\n", b"- ours\n"), b"- ours\n"),
}


def every_step(
    tmp_path: Path,
    patch: pytest.MonkeyPatch,
    kind: str,
    leases: bool,
    act: Callable[[Place], None],
    *,
    old: bytes = OLD,
) -> Iterator[tuple[Place, str | None]]:
    """The place, after the write with somebody acting at the next step, and what the store said if it refused."""
    steps = Steps(patch)
    at, last = 0, 1
    while at < last:
        base = tmp_path / str(at)
        base.mkdir()
        place = Place(base, SteppedExchange(steps, leases=leases))
        place.put("a.md", old)
        steps.begin(at, lambda place=place: act(place))  # type: ignore[misc]
        said = None
        try:
            place.write("a.md", WRITES[kind][0], create=b"")
        except TarsError as error:
            said = error.message
        steps.on = False
        for thread in threading.enumerate():
            if thread.name == "editor":
                thread.join()
        if not at:
            last = steps.count + 1  # what a quiet write takes; a step that only a retry has is one of these as well
            at = 1 + STRIDE // 2 - STRIDE
        at += STRIDE
        place.store().recover()
        assert place.is_settled(), (at, place.files())
        if steps.acted:
            yield place, said
        else:  # the quiet run, or one that was over sooner than the quiet one
            assert place.get("a.md") == RESULTS[kind]
    assert last > 20


def save_by_rename(place: Place) -> None:
    temp = place.root / "editor~"
    temp.write_bytes(THEIRS)
    temp.replace(place.root / "a.md")


def begin(save: Callable[[], None], place: Place) -> None:
    """Save in a thread: until it is done, or until the kernel holds it up because the store has a lease on the note."""
    thread = threading.Thread(target=save, name="editor")
    thread.start()
    while thread.is_alive() and not (place.exchange.leases and opens(thread)):
        thread.join(0.001)


def opens(thread: threading.Thread) -> bool:
    """Whether a thread sleeps in the call that opens a file."""
    try:
        call = Path(f"/proc/self/task/{thread.native_id}/syscall").read_text().split()[0]
    except OSError:  # it has just ended, or the kernel doesn't tell
        thread.join(0.1)
        return True
    return call in ("56", "257")


def save_in_place(place: Place) -> None:
    """As Obsidian does; in another thread, because the kernel may hold the editor up while the store works."""

    def save() -> None:
        with (place.root / "a.md").open("wb") as file:
            file.write(THEIRS)

    begin(save, place)


def save_over_without_truncating(place: Place) -> None:
    def save() -> None:
        with (place.root / "a.md").open("r+b") as file:
            file.write(THEIRS)
            file.truncate()

    begin(save, place)


SAVES = [save_by_rename, save_in_place, save_over_without_truncating]

RESULTS = {"append": OLD + b"- ours\n", "edit": OLD.replace(b"- one\n", b"- ours\n")}


def once(plan: Plan) -> Plan:
    """As ``remember`` plans: nothing, if the note has our line already."""
    return lambda data: () if b"- ours\n" in (data or b"") else plan(data)


def in_place(note: Path, text: bytes) -> None:
    note.write_bytes(text)


def by_rename(note: Path, text: bytes) -> None:
    temporary = note.with_name("editor~")
    temporary.write_bytes(text)
    temporary.replace(note)


REREADS: dict[str, Plan] = {
    "remember": once(add(b"- ours\n")),
    "log": add(b"- ours\n"),
    "edit": swap(b"- one\n", b"- ours\n"),
    "insert": once(after(b"- one\n", b"- ours\n")),
}


@pytest.mark.parametrize("delay", [0, 1, 4])
@pytest.mark.parametrize("save", [in_place, by_rename])
@pytest.mark.parametrize("kind", REREADS)
def test_what_an_editor_read_of_our_write_and_saves_is_known_as_ours(
    tmp_path: Path, patch: pytest.MonkeyPatch, kind: str, save: Callable[[Path, bytes], None], delay: int
) -> None:
    """It reads the note at each step and saves it, with a line of its own, some steps later."""
    steps = Steps(patch)
    saved_with_ours = over = 0
    for at in range(1, 80, 5 if delay else 1):
        (tmp_path / str(at)).mkdir()
        place = Place(tmp_path / str(at), SteppedExchange(steps, leases=False))
        note = place.put("a.md", OLD)

        def read(note: Path = note) -> None:
            text = note.read_bytes() if note.exists() else OLD

            def write() -> None:
                nonlocal saved_with_ours
                saved_with_ours += b"- ours\n" in text
                save(note, b"- theirs\n" + text)

            if delay:
                steps.at, steps.action = steps.count + delay, write
            else:
                write()

        steps.begin(at, read)
        written = place.write("a.md", REREADS[kind])
        steps.on = False
        if not steps.acted:  # a busy machine makes one write shorter than the next
            over += 1
            if delay or over == OVER:
                break
            continue
        over = 0
        place.store().recover()
        text = note.read_bytes()
        assert written.changed, at
        assert text.count(b"- ours\n") <= 1, at
        assert [entry.txn for entry in place.store().history()] == [written.txn], at
        lost = [line.text for line in place.store().lost_lines()]
        assert lost == ([] if b"- ours\n" in text else ["- ours"]), at
        if b"- ours\n" in text:
            place.store().undo()
            assert note.read_bytes() in (OLD, b"- theirs\n" + OLD), at
    else:
        pytest.fail("the write has more steps than were tried")
    assert saved_with_ours or delay


@pytest.mark.parametrize("leases", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("kind", sorted(WRITES))
def test_an_editor_saves(tmp_path: Path, kind: str, leases: bool, save: Act) -> None:
    check_editor(tmp_path, kind, leases, save)


def check_editor(base: Path, kind: str, leases: bool, save: Act) -> None:
    """It read the note before our write; so it may overwrite ours, and then we know; its own text is never lost."""
    ours = WRITES[kind][1]
    both = 0
    with short_waits() as patch:
        for place, said in every_step(base, patch, kind, leases, save):
            assert said is None
            text = place.get("a.md") or b""
            assert text.count(b"- theirs\n") == 1
            assert text.count(ours) <= 1
            assert text.count(b"- filler\n") == 20
            if ours in text:
                both += 1
            else:
                assert text == THEIRS
                assert [line.text for line in place.store().lost_lines()] == ["- ours"]
    assert both  # how many of the steps are after our write is the stride's matter


LATER = THEIRS + b"- later\n"


def save_later_by_rename(place: Place) -> None:
    temp = place.root / "editor~"
    temp.write_bytes(LATER)
    temp.replace(place.root / "a.md")


def save_later_in_place(place: Place) -> None:
    """In two pieces where leases tell of an open file; elsewhere a save that pauses longer than we wait looks whole."""

    def save() -> None:
        with (place.root / "a.md").open("wb", buffering=0) as file:
            if place.exchange.leases:
                file.write(LATER[:100])
                time.sleep(0.02)
                file.seek(0)
            file.write(LATER)

    begin(save, place)


class OvertakenExchange(SteppedExchange):
    """An editor saves by rename just before the exchange; from there on every call is a step."""

    def __init__(self, steps: Steps, leases: bool) -> None:
        super().__init__(steps, leases=leases)
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] = lambda: None

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        if self.before is None:
            return super().swap(folder, name, temp, aside)
        before, self.before = self.before, None
        before()
        displaced = super().swap(folder, name, temp, aside)
        self.after()
        return displaced


@pytest.mark.parametrize("leases", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("save", [save_later_by_rename, save_later_in_place])
def test_an_editor_saves_into_what_is_about_to_be_taken_back(
    tmp_path: Path, patch: pytest.MonkeyPatch, leases: bool, save: Act
) -> None:
    """Our file bears the note's name for a moment; who opens it then and saves must find his save in the note."""
    steps = Steps(patch)
    at, last = 1, 1
    while at <= last:
        base = tmp_path / str(at)
        base.mkdir()
        exchange = OvertakenExchange(steps, leases)
        place = Place(base, exchange)
        place.put("a.md", OLD)
        exchange.before = partial(save_by_rename, place)
        exchange.after = partial(steps.begin, at, partial(save, place))
        place.write("a.md", WRITES["edit"][0])
        steps.on = False
        for thread in threading.enumerate():
            if thread.name == "editor":
                thread.join()
        last = max(last, steps.count if at == 1 else last)
        if steps.acted:
            text = place.get("a.md") or b""
            assert text.count(b"- later\n") == 1, at
            assert text.count(b"- theirs\n") == 1, at
            assert place.files() == ["a.md"], at
        at += 1
    assert last > 10


@pytest.mark.parametrize("leases", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("kind", sorted(WRITES))
def test_the_note_is_deleted(tmp_path: Path, patch: pytest.MonkeyPatch, kind: str, leases: bool) -> None:
    def delete(place: Place) -> None:
        (place.root / "a.md").unlink(missing_ok=True)

    for place, said in every_step(tmp_path, patch, kind, leases, delete):
        text = place.get("a.md")
        if said is not None:
            assert "not there" in said
        # Gone before our write: an append begins a new note, an edit finds no target. Gone after it: gone.
        assert text in (None, b"- ours\n" if kind == "append" else None, RESULTS[kind])


@pytest.mark.parametrize("kind", sorted(WRITES))
def test_the_note_is_renamed(tmp_path: Path, patch: pytest.MonkeyPatch, kind: str) -> None:
    def rename(place: Place) -> None:
        (place.root / "a.md").rename(place.root / "b.md")

    for place, _ in every_step(tmp_path, patch, kind, True, rename):
        texts = [place.get(name) for name in place.files()]
        assert sum((text or b"").count(b"- ours\n") for text in texts) <= 1, texts
        assert sum((text or b"").count(b"- filler\n") for text in texts) == 20, texts


@pytest.mark.parametrize("what", ["link", "fifo", "folder"])
@pytest.mark.parametrize("kind", sorted(WRITES))
def test_the_note_becomes_something_else(tmp_path: Path, patch: pytest.MonkeyPatch, kind: str, what: str) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(OLD)

    def replace(place: Place) -> None:
        note = place.root / "a.md"
        note.rename(place.root / "moved.md")
        if what == "link":
            note.symlink_to(outside)
        elif what == "fifo":
            os.mkfifo(note)
        else:
            note.mkdir()

    refused = 0
    for place, said in every_step(tmp_path, patch, kind, True, replace):
        refused += said is not None
        assert outside.read_bytes() == OLD
        if (place.root / "moved.md").exists():
            assert place.get("moved.md") in (OLD, RESULTS[kind])
            note = place.root / "a.md"
            assert note.is_symlink() or note.is_fifo() or note.is_dir()
    assert refused > 5


def test_somebody_makes_the_new_note_first(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    def make(place: Place) -> None:
        if not (place.root / "a.md").exists():
            place.put("a.md", b"theirs\n")

    steps = Steps(patch)
    for at in range(1, 80, STRIDE):
        base = tmp_path / str(at)
        base.mkdir()
        place = Place(base, SteppedExchange(steps))
        steps.begin(at, lambda place=place: make(place))  # type: ignore[misc]
        place.write("a.md", add(b"- ours\n"), create=b"# Template\n")
        steps.on = False
        assert place.get("a.md") in (b"theirs\n- ours\n", b"# Template\n- ours\n")
        assert place.is_settled()
        if steps.count < at:
            break
    else:
        pytest.fail("more steps than expected")


@pytest.mark.parametrize("leases", [True, False], ids=["leases", "no leases"])
def test_undo_of_a_new_note_while_somebody_writes_into_it(
    tmp_path: Path, patch: pytest.MonkeyPatch, leases: bool
) -> None:
    steps = Steps(patch)
    for at in range(1, 200, STRIDE):
        base = tmp_path / str(at)
        base.mkdir()
        place = Place(base, SteppedExchange(steps, leases=leases))
        place.write("a.md", add(b"- ours\n"))

        def extend(place: Place = place) -> None:
            if (place.root / "a.md").exists():
                temp = place.put("editor~", b"- ours\n- theirs\n")
                temp.replace(place.root / "a.md")
            else:
                place.put("a.md", b"- theirs\n")

        steps.begin(at, extend)
        place.store().undo()
        steps.on = False
        if steps.count < at:
            assert place.get("a.md") is None
            break
        assert b"- theirs\n" in (place.get("a.md") or b""), at
        assert place.is_settled()
    else:
        pytest.fail("more steps than expected")


def test_a_save_that_the_kernel_held_up_until_the_note_was_removed_brings_the_note_back(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, SteppedExchange(Steps(patch), leases=True))
    note = place.put("a.md", OLD)
    remove = Folder.remove

    def remove_while_an_editor_opens(folder: Folder, name: str) -> None:
        patch.setattr(Folder, "remove", remove)
        begin(lambda: in_place(note.with_name(name), THEIRS), place)  # it had found the file by its former name
        remove(folder, name)

    patch.setattr(Folder, "remove", remove_while_an_editor_opens)
    with place.store().transaction("test") as transaction:
        assert transaction.remove("a.md", digest(OLD)) is None
    assert place.get("a.md") == THEIRS
    assert place.is_settled()
