"""What each system offers, one capability taken away at a time; and who may not write."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from kills import DRIVER
from storekit import Place, add, interfering, swap

from tars_memory.errors import TarsError, UnwritableError
from tars_memory.vault.folder import Folder
from tars_memory.vault.writing import system as exchanges
from tars_memory.vault.writing.system import Exchange, LinuxExchange, MacExchange, UnsupportedError, WindowsExchange

LIBRARY = ctypes.CDLL(None, use_errno=True)


class MacLibrary:
    """The two calls of macOS, made of Linux's."""

    def renameatx_np(self, old_fd: int, old: bytes, new_fd: int, new: bytes, flags: int) -> int:
        return int(LIBRARY.renameat2(old_fd, old, new_fd, new, {2: 2, 4: 1}[flags]))

    def fcopyfile(self, source: int, target: int, state: None, flags: int) -> int:
        assert flags == 5
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))
        return 0


class WindowsLibrary:
    """``ReplaceFileW``, made of two renames; it never keeps the new file's own mode."""

    def __init__(self) -> None:
        self.code = 0

    def ReplaceFileW(self, name: str, new: str, aside: str, flags: int, one: None, two: None) -> int:
        if not (os.path.exists(name) and os.path.exists(new)) or os.path.exists(aside):
            self.code = 2
            return 0
        os.chmod(new, stat.S_IMODE(os.stat(name).st_mode))
        os.rename(name, aside)
        os.rename(new, name)
        return 1

    def GetLastError(self) -> int:
        return self.code


class WindowsLike(WindowsExchange):
    folder_handles = False

    def place(self, folder: Folder, temp: str, name: str) -> bool:
        if os.path.lexists(folder.at(name)):  # Windows' rename sees to that itself
            raise FileExistsError(errno.EEXIST, "exists", name)
        return super().place(folder, temp, name)


class NoLinks(Exchange):
    """A file system with neither links nor a rename that replaces nothing."""

    def place(self, folder: Folder, temp: str, name: str) -> bool:
        raise UnsupportedError(errno.EOPNOTSUPP, "no", name)


class NoLease(LinuxExchange):
    leases = False


class BareCall(LinuxExchange):
    """A C library without a wrapper for renameat2: the system call by its number."""

    def __init__(self) -> None:
        super().__init__()

        class Library:
            syscall = LIBRARY.syscall

        self._call = exchanges._renameat2(Library())


EDITING = {
    "linux": LinuxExchange,
    "no leases": NoLease,
    "no wrapper": BareCall,
    "mac": lambda: MacExchange(MacLibrary()),
    "windows": lambda: WindowsLike(WindowsLibrary()),
}
APPENDING = {"no exchange": Exchange, "no links": NoLinks}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.vault.folder.SETTLE", 0.002)
    monkeypatch.setattr("tars_memory.vault.folder.EMPTY_WAIT", 0.005)


@pytest.fixture(params=sorted(EDITING))
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, EDITING[request.param]())


@pytest.fixture(params=sorted(APPENDING))
def poor_place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, APPENDING[request.param]())


class TestEditing:
    def test_all_there_is(self, place: Place) -> None:
        place.write("x/a.md", add(b"- one\n"))
        (place.root / "x/a.md").chmod(0o640)
        place.write("x/a.md", add(b"- two\n"))
        place.write("x/a.md", swap(b"one", b"ONE"))
        assert place.get("x/a.md") == b"- ONE\n- two\n"
        assert stat.S_IMODE((place.root / "x/a.md").stat().st_mode) == 0o640
        place.store().undo(last=2)
        assert place.get("x/a.md") == b"- one\n"
        place.store().undo()
        assert place.files() == []
        assert place.is_settled()

    def test_somebody_saves_between_look_and_exchange(self, place: Place) -> None:
        place.put("a.md", b"- one\n- two\n")

        def save() -> None:
            place.put("editor~", b"- one\n- two\n- theirs\n").replace(place.root / "a.md")

        plan = swap(b"one", b"ONE")
        place.write("a.md", interfering(plan, save, save))
        assert place.get("a.md") == b"- ONE\n- two\n- theirs\n"
        assert place.is_settled()

    def test_somebody_saves_in_the_moment_of_the_exchange(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        place.put("a.md", b"- one\n")
        assert place.exchange is not None
        kind = type(place.exchange)
        real, left = kind.swap, [b"- one\n- theirs\n", b"- one\n- theirs\n- more\n"]

        def save_first(self: Exchange, folder: Folder, name: str, temp: str, aside: str) -> str:
            if left:
                place.put("editor~", left.pop(0)).replace(place.root / "a.md")
            return real(self, folder, name, temp, aside)

        monkeypatch.setattr(kind, "swap", save_first)
        place.write("a.md", swap(b"one", b"ONE"))
        assert place.get("a.md") == b"- ONE\n- theirs\n- more\n"
        assert place.is_settled()

    @pytest.mark.parametrize("left", [b"- ONE\n", b"- one\n", b"- one\n- theirs\n", b"- O"])
    def test_killed_around_the_exchange(self, place: Place, left: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever stands beside the note afterwards: our text, the old one, somebody's, a part of ours."""
        place.put("a.md", b"- one\n")
        assert place.exchange is not None

        def die(*_: object) -> str:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(place.exchange), "swap", die)
            with pytest.raises(KeyboardInterrupt):
                place.write("a.md", swap(b"one", b"ONE"))
        (temp,) = [name for name in place.files() if name != "a.md"]
        exchanged = left in (b"- one\n", b"- one\n- theirs\n")
        if isinstance(place.exchange, WindowsExchange) and exchanged:
            place.put(temp.replace(".tars-tmp", ".tars-old"), left)
            (place.root / temp).unlink()
        else:
            place.put(temp, left)
        if exchanged:
            place.put("a.md", b"- ONE\n")
        assert len(place.store().pending()) == 1
        said = place.store().recover()
        assert place.get("a.md") == {b"- one\n": b"- ONE\n", b"- one\n- theirs\n": left}.get(left, b"- one\n")
        assert place.is_settled()
        assert ("has been restored" in "".join(said)) == (b"theirs" in left)


class TestAppendingOnly:
    def test_appends_and_new_notes_work_and_edits_are_refused(self, poor_place: Place) -> None:
        poor_place.write("a.md", add(b"- one\n"))
        poor_place.write("a.md", add(b"- two\n"))
        with pytest.raises(UnwritableError, match="can't exchange two files"):
            poor_place.write("a.md", swap(b"one", b"ONE"))
        assert poor_place.get("a.md") == b"- one\n- two\n"
        assert poor_place.is_settled()
        assert poor_place.files() == ["a.md"]

    def test_a_new_note_goes_again(self, poor_place: Place) -> None:
        poor_place.write("a.md", add(b"- one\n"))
        poor_place.store().undo()
        assert poor_place.files() == []

    def test_a_new_note_is_not_written_over(self, poor_place: Place) -> None:
        def make() -> None:
            poor_place.put("a.md", b"theirs\n")

        poor_place.write("a.md", interfering(add(b"- one\n"), make))
        assert poor_place.get("a.md") == b"theirs\n- one\n"

    def test_a_new_note_that_was_cut_off_is_finished(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = Place(tmp_path, NoLinks())

        def die(fd: int, data: bytes) -> None:
            os.write(fd, data[:4])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            real = exchanges.Exchange.place
            assert real
            patch.setattr("tars_memory.vault.writing.protocol.write_all", die)
            patch.setattr("tars_memory.vault.writing.protocol._write_temp", lambda *_: None)
            with pytest.raises(KeyboardInterrupt):
                place.write("a.md", add(b"- one\n"), create=b"# T\n")
        assert place.get("a.md") == b"# T\n"
        place.store().recover()
        assert place.get("a.md") == b"# T\n- one\n"
        assert [entry.op for entry in place.store().history()] == ["create"]


class TestLinux:
    def test_a_file_system_that_cannot(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The call is there, and the file system answers EINVAL."""
        place = Place(tmp_path, LinuxExchange())
        place.put("a.md", b"- one\n")

        def unable(*_: object) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

        assert isinstance(place.exchange, LinuxExchange)
        place.exchange._call = unable
        with pytest.raises(UnwritableError, match="can't exchange two files"):
            place.write("a.md", swap(b"one", b"ONE"))
        assert place.is_settled()

    def test_new_notes_where_links_are_forbidden(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(*_: object, **__: object) -> None:
            raise PermissionError(errno.EPERM, "no links")

        monkeypatch.setattr(os, "link", forbidden)
        place = Place(tmp_path, LinuxExchange())
        place.write("a.md", add(b"- one\n"))
        place.write("a.md", interfering(add(b"- two\n")))
        assert place.get("a.md") == b"- one\n- two\n"

    def test_unknown_processor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Library:
            syscall = LIBRARY.syscall

        monkeypatch.setattr("platform.machine", lambda: "z80")
        with pytest.raises(UnsupportedError):
            exchanges._renameat2(Library())

    def test_each_system_has_its_own(self) -> None:
        names = {system: exchanges.of_this_system(system).name for system in ("linux", "darwin", "win32", "other")}
        assert names == {"linux": "renameat2", "darwin": "renameatx_np", "win32": "ReplaceFileW", "other": "none"}

    @pytest.mark.parametrize("code", [1, 50, 5, 32, 1175])
    def test_windows_refusals(self, tmp_path: Path, code: int) -> None:
        library = WindowsLibrary()
        library.ReplaceFileW = lambda *_: 0  # type: ignore[method-assign]
        library.code = code
        place = Place(tmp_path, WindowsLike(library))
        place.put("a.md", b"- one\n")
        with pytest.raises(UnwritableError, match="can't exchange" if code in (1, 50) else "can't be written"):
            place.write("a.md", swap(b"one", b"ONE"))
        assert place.get("a.md") == b"- one\n"
        assert place.is_settled()


SOMEBODY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"] if os.geteuid() == 0 else []
"""What a command is run with as a user whom modes hold back: root is not."""


@cache
def somebody_can_run() -> bool:
    """Whether that user may read the interpreter; one below root's own folder may be out of reach."""
    return subprocess.run([*SOMEBODY, sys.executable, "-c", ""], check=False, capture_output=True).returncode == 0


@pytest.fixture
def open_place() -> Iterator[Place]:
    """A place that another user can reach."""
    if not somebody_can_run():
        pytest.skip(f"another user can't run {sys.executable}")
    base = Path(tempfile.mkdtemp(prefix="tars-memory-"))
    base.chmod(0o755)
    yield Place(base)
    for folder, _, _ in os.walk(base):
        os.chmod(folder, 0o700)
    shutil.rmtree(base)


def as_somebody(place: Place, *arguments: str, own_state: bool = True) -> tuple[int, str]:
    """Run the driver as a user whom modes hold back; answers exit code and stderr."""
    command = [
        part.format(vault=place.root, state=place.state) for part in (sys.executable, "-sP", *DRIVER, *arguments)
    ]
    if os.geteuid() == 0:
        place.state.mkdir(exist_ok=True)
        for path in (place.root, *place.root.rglob("*"), *([place.state] if own_state else [])):
            os.chown(path, 1000, 1000)
    run = subprocess.run([*SOMEBODY, *command], check=False, capture_output=True, text=True)
    return run.returncode, run.stderr


class TestRights:
    @pytest.mark.parametrize("write", [("append", "a.md", "- two"), ("edit", "a.md", "one", "two")])
    @pytest.mark.parametrize("what", ["note", "folder", "unreadable"])
    def test_a_read_only_vault(self, open_place: Place, what: str, write: tuple[str, ...]) -> None:
        note = open_place.put("a.md", b"- one\n")
        note.chmod({"note": 0o444, "folder": 0o644, "unreadable": 0o000}[what])
        open_place.root.chmod(0o555 if what == "folder" else 0o755)
        code, said = as_somebody(open_place, *write)
        if what == "folder" and write[0] == "append":  # the note itself is writable
            assert (code, note.read_bytes()) == (0, b"- one\n- two\n")
            return
        assert code == 5, said
        assert "a.md can't be written: Permission denied" in said
        assert note.stat().st_size == 6
        (spooled,) = (open_place.state / "spool").glob("*.json")
        assert "two" in spooled.read_text()
        open_place.root.chmod(0o755)
        assert open_place.is_settled()

    def test_a_new_note_in_a_read_only_vault(self, open_place: Place) -> None:
        open_place.root.chmod(0o555)
        code, said = as_somebody(open_place, "append", "days/a.md", "- two")
        assert (code, open_place.files()) == (5, [])
        assert "Permission denied" in said

    def test_a_read_only_state_folder_gives_the_text_back(self, open_place: Place) -> None:
        note = open_place.put("a.md", b"- one\n")
        open_place.state.mkdir()
        open_place.state.chmod(0o555)
        code, said = as_somebody(open_place, "append", "a.md", "- two", own_state=False)
        assert (code, note.read_bytes()) == (5, b"- one\n")
        assert "could NOT be kept, copy it from here: a.md - two" in said

    @pytest.mark.parametrize(
        ("owner", "group", "mode", "works"),
        [
            (0, 1000, 0o664, True),
            (0, 0, 0o666, True),
            (0, 1000, 0o764, False),
            (0, 0, 0o646, True),
            (1000, 0, 0o644, True),
            (1000, 0, 0o664, False),
        ],
    )
    def test_a_note_of_another_owner_or_group(
        self, open_place: Place, owner: int, group: int, mode: int, works: bool
    ) -> None:
        """Both change with an edit, unless that takes somebody's rights away. There are no leases here either."""
        note = open_place.put("a.md", b"- one\n")
        assert as_somebody(open_place, "append", "a.md", "- two") == (0, "")
        root = os.geteuid() == 0
        if root:
            os.chown(note, owner, group)
        note.chmod(mode)
        command = [
            part.format(vault=open_place.root, state=open_place.state) for part in (sys.executable, "-sP", *DRIVER)
        ]
        for write, fine in ((("append", "a.md", "- three"), True), (("edit", "a.md", "one", "ONE"), works)):
            run = subprocess.run([*SOMEBODY, *command, *write], check=False, capture_output=True, text=True)
            assert (run.returncode == 0) == (fine or not root), run.stderr
        assert stat.S_IMODE(note.stat().st_mode) == mode


def test_an_error_names_path_and_remedy(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.put("a.md", b"- one\n")

    class Full(LinuxExchange):
        def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place.exchange = Full()
    with pytest.raises(TarsError) as caught:
        place.write("a.md", swap(b"one", b"ONE"))
    assert caught.value.message == "a.md can't be written: No space left on device"
    assert caught.value.hint == "make room on the disk (df -h; for files, df -i), then try again"
    assert caught.value.exit_code == 5
