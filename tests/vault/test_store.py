"""Appends, edits, new notes: what is written, and every other byte as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from storekit import Place, add, after, swap

from tars_memory.errors import BusyError, ConflictError, NotFoundError, UnwritableError, UsageError
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.transaction import Plan


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestAppend:
    def test_the_file_stays_the_same_file(self, place: Place) -> None:
        note = place.put("a.md", b"- one\n")
        before = note.stat()
        written = place.write("a.md", add(b"- two\n"))
        assert note.read_bytes() == b"- one\n- two\n"
        assert note.stat().st_ino == before.st_ino
        assert (written.line, written.before, written.after, written.changed) == (2, b"", b"- two\n", True)
        assert written.text == b"- one\n- two\n"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"- one", b"- one\n- two\n"),
            (b"- zero\r\n- one", b"- zero\r\n- one\r\n- two\n"),
            (b"- zero\r- one", b"- zero\r- one\r- two\n"),
            (b"", b"- two\n"),
            (b"\xef\xbb\xbf", b"\xef\xbb\xbf- two\n"),
            (b"\xff\x00\xfe", b"\xff\x00\xfe\n- two\n"),
        ],
    )
    def test_a_missing_last_newline_is_put_first_in_the_notes_own_style(
        self, place: Place, old: bytes, new: bytes
    ) -> None:
        place.put("a.md", old)
        written = place.write("a.md", add(b"- two\n"))
        assert place.get("a.md") == new == written.text
        place.store().undo()
        assert place.get("a.md") == old

    def test_text_without_a_newline_continues_the_last_line(self, place: Place) -> None:
        place.put("a.md", b"- one")
        assert place.write("a.md", add(b" ^id")).before == b"- one"
        assert place.get("a.md") == b"- one ^id"

    def test_a_short_write_is_taken_back(self, place: Place) -> None:
        old = b"x" * 99_999 + b"\n"
        place.put("a.md", old)
        script = (
            "import resource, sys; sys.path.insert(0, sys.argv[2]); from storekit import *; from pathlib import Path\n"
            "place = Place(Path(sys.argv[1]))\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100_003, 100_003))\n"
            "place.write('a.md', add(b'- a line too long for the disk\\n'))\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", script, place.root.parent, Path(__file__).parent],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "UnwritableError" in run.stderr
        assert place.get("a.md") == old
        assert place.is_settled()
        assert list(place.store().history()) == []


class TestEdit:
    def test_mode_and_attributes_are_kept(self, place: Place) -> None:
        note = place.put("a.md", b"- one\n- two\n")
        note.chmod(0o640)
        os.setxattr(note, "user.colour", b"red")
        written = place.write("a.md", swap(b"one", b"ONE"))
        assert note.read_bytes() == b"- ONE\n- two\n"
        assert stat.S_IMODE(note.stat().st_mode) == 0o640
        assert os.getxattr(note, "user.colour") == b"red"
        assert (written.line, written.before, written.after) == (1, b"- one\n", b"- ONE\n")
        assert place.files() == ["a.md"]

    def test_several_splices_in_one_edit(self, place: Place) -> None:
        place.put("a.md", b"a\r\nb\r\nc")

        def plan(data: bytes | None) -> list[Splice]:
            return [Splice(0, 1, b"A"), Splice(3, 6, b""), Splice(6, 7, b"C\r\nD")]

        place.write("a.md", plan)
        assert place.get("a.md") == b"A\r\nC\r\nD"
        place.store().undo()
        assert place.get("a.md") == b"a\r\nb\r\nc"

    def test_the_lines_of_a_hard_linked_copy_stay(self, place: Place) -> None:
        note = place.put("a.md", b"- one\n")
        os.link(note, place.root / "copy.md")
        place.write("a.md", swap(b"one", b"ONE"))
        assert place.get("copy.md") == b"- one\n"

    def test_a_long_name(self, place: Place) -> None:
        name = "ü" * 125 + ".md"
        place.put(name, b"- one\n")
        place.write(name, swap(b"one", b"ONE"))
        assert place.get(name) == b"- ONE\n"
        assert place.files() == [name]

    def test_nothing_to_do_writes_nothing(self, place: Place) -> None:
        note = place.put("a.md", b"- one\n")
        before = note.stat()
        for plan in (lambda _: (), swap(b"one", b"one")):
            written = place.write("a.md", plan)
            assert (written.txn, written.changed) == ("", False)
        assert note.stat().st_mtime_ns == before.st_mtime_ns
        assert list(place.store().history()) == []

    def test_a_plans_refusal_changes_nothing(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        with pytest.raises(NotFoundError):
            place.write("a.md", swap(b"two", b"TWO"))
        assert place.get("a.md") == b"- one\n"


class TestCreate:
    def test_with_its_folders_and_template(self, place: Place) -> None:
        written = place.write("days/2026/21.md", after(b"## Log\n", b"- 10:15 tea\n"), create=b"# Day\n\n## Log\n")
        assert place.get("days/2026/21.md") == b"# Day\n\n## Log\n- 10:15 tea\n"
        assert (written.line, written.created, written.after) == (4, True, b"- 10:15 tea\n")
        assert place.files() == ["days/2026/21.md"]

    def test_the_usual_mode(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        place.put("b.md", b"- one\n")
        assert (place.root / "a.md").stat().st_mode == (place.root / "b.md").stat().st_mode

    def test_nothing_to_do_makes_no_note_and_no_folder(self, place: Place) -> None:
        assert not place.write("days/a.md", lambda _: (), create=b"# Template\n").changed
        assert not (place.root / "days").exists()

    def test_somebody_made_it_first(self, place: Place) -> None:
        def plan(data: bytes | None) -> list[Splice]:
            if data is None:
                place.put("a.md", b"theirs\n")
            return [Splice(len(data or b""), len(data or b""), b"- ours\n")]

        assert not place.write("a.md", plan).created
        assert place.get("a.md") == b"theirs\n- ours\n"
        assert place.files() == ["a.md"]


class TestPaths:
    @pytest.mark.parametrize("path", ["../a.md", "/etc/a.md", "a/../b.md", "", "a//b.md", "./a.md", "a\0.md", "a/"])
    def test_that_leave_the_vault_are_bad_input(self, place: Place, path: str) -> None:
        with pytest.raises(UsageError, match="not a path inside the vault"):
            place.write(path, add(b"- one\n"))
        assert place.files() == []

    def test_a_linked_note(self, place: Place, tmp_path: Path) -> None:
        outside = tmp_path / "outside.md"
        outside.write_bytes(b"- theirs\n")
        (place.root / "a.md").symlink_to(outside)
        with pytest.raises(UnwritableError, match=r"a\.md is a link"):
            place.write("a.md", add(b"- one\n"))
        assert outside.read_bytes() == b"- theirs\n"

    def test_a_dangling_link(self, place: Place, tmp_path: Path) -> None:
        (place.root / "a.md").symlink_to(tmp_path / "nowhere.md")
        with pytest.raises(UnwritableError, match=r"a\.md is a link"):
            place.write("a.md", add(b"- one\n"))
        assert not (tmp_path / "nowhere.md").exists()

    def test_a_linked_folder(self, place: Place, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (place.root / "days").symlink_to(tmp_path / "outside")
        with pytest.raises(UnwritableError, match="days is a link or not a folder"):
            place.write("days/a.md", add(b"- one\n"))
        assert list((tmp_path / "outside").iterdir()) == []

    @pytest.mark.parametrize("kind", ["fifo", "folder", "socket"])
    def test_what_is_no_file(self, place: Place, kind: str) -> None:
        path = place.root / "a.md"
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            os.mknod(path, stat.S_IFSOCK | 0o600)
        with pytest.raises(UnwritableError):
            place.write("a.md", add(b"- one\n"))

    def test_a_file_where_a_folder_should_be(self, place: Place) -> None:
        place.put("days", b"text")
        with pytest.raises(UnwritableError, match="not a folder"):
            place.write("days/a.md", add(b"- one\n"))


class TestLock:
    def test_busy_names_the_holder(self, place: Place) -> None:
        with (
            VaultLock(place.state / "lock", timeout=0, command="tidy").held(),
            pytest.raises(BusyError, match=rf"process {os.getpid()} \(tidy\)"),
            place.store(lock_timeout=0.05).transaction("remember"),
        ):
            pytest.fail("two at once")

    def test_a_killed_holder_frees_it(self, place: Place) -> None:
        script = (
            "import sys, time; from pathlib import Path; from tars_memory.vault.writing.system import VaultLock\n"
            "with VaultLock(Path(sys.argv[1]), timeout=1, command='hang').held():\n"
            "    print('held', flush=True); time.sleep(60)\n"
        )
        with subprocess.Popen([sys.executable, "-c", script, place.state / "lock"], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            with pytest.raises(BusyError, match=rf"process {holder.pid} \(hang\)"):
                place.store(lock_timeout=0).recover()
            holder.kill()
            holder.wait()
            place.write("a.md", add(b"- one\n"))
        assert place.get("a.md") == b"- one\n"

    def test_a_replaced_lock_file_guards_nothing(self, place: Place) -> None:
        lock = VaultLock(place.state / "lock", timeout=0.2, command="one")
        with lock.held():
            (place.state / "lock").unlink()
            with VaultLock(place.state / "lock", timeout=0, command="two").held():
                assert lock.holder() == f"process {os.getpid()} (two)"

    def test_windows_range_locks(self, place: Place) -> None:
        class Ranges:
            LK_NBLCK, LK_UNLCK = 1, 0
            held = False

            def locking(self, fd: int, mode: int, size: int, /) -> None:
                assert os.lseek(fd, 0, os.SEEK_CUR) > 1_000_000
                if mode and self.held:
                    raise PermissionError(13, "locked")
                self.held = bool(mode)

        ranges = Ranges()

        def lock(command: str) -> VaultLock:
            return VaultLock(place.state / "lock", timeout=0.01, command=command, ranges=ranges)

        with lock("one").held(), pytest.raises(BusyError, match="one"), lock("two").held():
            pytest.fail("two at once")
        with lock("three").held():
            assert ranges.held


class TestDryRun:
    def test_plans_and_writes_nothing(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        store = place.store(dry_run=True)
        with store.transaction("remember") as transaction:
            first = transaction.write("a.md", add(b"- two\n"))
            second = transaction.write("a.md", swap(b"two", b"TWO"))
            new = transaction.write("b/new.md", add(b"- x\n"))
        assert (first.txn, first.changed, first.line) == ("", True, 2)
        assert second.text == b"- one\n- TWO\n"
        assert new.created
        assert place.files() == ["a.md"]
        assert not place.state.exists()

    def test_undo_of_several_on_one_note(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.write("a.md", swap(b"one", b"two"))
        place.write("a.md", swap(b"two", b"three"))
        written = place.store(dry_run=True).undo(last=2)
        assert written[-1].text == b"- one\n"
        assert place.get("a.md") == b"- three\n"


def test_several_notes_in_one_transaction(place: Place) -> None:
    place.put("a.md", b"- one\n")
    with place.store().transaction("move") as transaction:
        transaction.write("a.md", swap(b"- one\n", b""))
        transaction.write("b.md", add(b"- one\n"))
        assert transaction.read("b.md") == b"- one\n"
        assert transaction.read("c.md") is None
        assert [written.path for written in transaction.written] == ["a.md", "b.md"]
    assert {entry.txn for entry in place.store().history()} == {transaction.id}
    place.store().undo()
    assert place.get("a.md") == b"- one\n"
    assert place.files() == ["a.md"]


def test_what_a_power_cut_brought_back_is_told(place: Place) -> None:
    place.put("x/.a.md.1m7ysm950.tars-tmp", b"old")
    place.put(".tars/limbo/a.md.1m7ysm950", b"somebody's")
    place.write("x/a.md", add(b"- one\n"))
    assert place.store().leftovers() == ["x/.a.md.1m7ysm950.tars-tmp"]
    assert place.store().limbo() == ["a.md.1m7ysm950"]


def test_what_a_caller_fails_to_read_under_the_lock(place: Place) -> None:
    with pytest.raises(UnwritableError, match="Is a directory"), place.store().transaction("log"):
        place.root.read_bytes()


def test_a_note_that_never_rests_is_a_conflict(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.vault.writing.transaction.ATTEMPTS", 3)
    place.put("a.md", b"0\n")
    count = [0]

    def plan(data: bytes | None) -> list[Splice]:
        count[0] += 1
        os.replace(place.put("b.md", b"%d\n" % count[0]), place.root / "a.md")
        return [Splice(0, 1, b"ours")]

    with pytest.raises(ConflictError, match="changes faster"):
        place.write("a.md", plan)
    assert place.get("a.md") == b"3\n"
    assert place.is_settled()


def test_notes_that_never_rest_share_one_time_to_try(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    clock = SimpleNamespace(monotonic=lambda: seconds[0], sleep=lambda _: None)
    monkeypatch.setattr("tars_memory.vault.writing.transaction.time", clock)
    monkeypatch.setattr("tars_memory.vault.writing.transaction.TIME_BUDGET", 0.3)
    saves = dict.fromkeys(("a.md", "b.md", "c.md"), 0)
    for name in saves:
        place.put(name, b"0\n")

    def plan_while_saved(name: str, times: int) -> Plan:
        def plan(data: bytes | None) -> list[Splice]:
            if saves[name] < times:
                seconds[0] += 0.06
                saves[name] += 1
                os.replace(place.put("new.md", b"%d\n" % saves[name]), place.root / name)
            return [Splice(0, 0, b"ours ")]

        return plan

    def write_all() -> None:
        with place.store().transaction("x", atomic=True) as transaction:
            for name, times in (("a.md", 2), ("b.md", 2), ("c.md", 1000)):
                transaction.write(name, plan_while_saved(name, times))

    with pytest.raises(ConflictError, match=r"c\.md changes faster"):
        write_all()
    assert sum(saves.values()) == 5
    assert [place.get("a.md"), place.get("b.md"), place.get("c.md")] == [b"2\n", b"2\n", b"%d\n" % saves["c.md"]]
    assert place.is_settled()
