"""The watcher: hints become batches, whatever the events were; queries find the model open or do without."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tars_memory.errors import BusyError
from tars_memory.index import models
from tars_memory.index.models import QueryVector
from tars_memory.index.watcher import WarmServer, Watcher
from tars_memory.jobs.sleep import PORTION, Batch, IndexKeeper
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.workspace import Workspace

DIMENSION = 384
VECTOR = QueryVector(b"\1" * 4 * DIMENSION, (b"\2" * 48, b"\3" * 48))
WAIT = 120.0


class Running:
    """A watcher in a thread, and the batches that it has given."""

    def __init__(self, open_memory: Callable[[], Memory], root: Path, **options: float) -> None:
        self.watcher = Watcher(root, **options)
        self.batches: list[Batch] = []
        self.error: BaseException | None = None
        self._watching = IndexKeeper(open_memory, self.watcher)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            for batch in self._watching.batches():
                self.batches.append(batch)
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Running:
        self._thread.start()
        self.until(lambda: bool(self.batches) or self.error is not None)
        return self

    def __exit__(self, *_: object) -> None:
        self.watcher.stop()
        self._thread.join(WAIT)
        assert not self._thread.is_alive()

    def until(self, holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < ends, self.batches
            time.sleep(0.02)

    def changed(self) -> int:
        return sum(batch.changed for batch in self.batches)

    def rest(self) -> None:
        """Wait until nothing has happened for a while."""
        known = -1
        while known != len(self.batches):
            known = len(self.batches)
            time.sleep(0.8)


@pytest.fixture
def opener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Memory]:
    root = make_vault(tmp_path / "vault", {"Tea.md": "# Tea\n\n- likes oolong\n"})
    monkeypatch.setattr(Workspace, "open_embedder", lambda self: self.embedder or HashEmbedder())
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    return lambda: Memory(root, env=env)


def root_of(opener: Callable[[], Memory]) -> Path:
    with opener() as memory:
        return memory.workspace.root


def put(path: Path, text: str) -> None:
    """A note that comes whole: a watcher on a busy machine would see one that is being written twice, empty first."""
    aside = path.with_name(f".{path.name}.aside")
    aside.write_text(text)
    os.rename(aside, path)


def in_step(opener: Callable[[], Memory]) -> None:
    with opener() as memory:
        index = memory.workspace.index()
        assert index.verify() == []
        assert index.refresh().changed == 0


def test_saves_renames_and_removals_are_followed(opener: Callable[[], Memory]) -> None:
    root = root_of(opener)
    with Running(opener, root) as running:
        assert running.batches[0].changed == 1 and not running.watcher.polling
        put(root / "new.md", "- a heron\n")
        running.until(lambda: running.changed() == 2)
        temporary = root / "4913~"  # how vim saves: a new file takes the place of the old one
        temporary.write_text("- two herons\n")
        os.replace(temporary, root / "new.md")
        running.until(lambda: running.changed() == 3)
        (root / "Garden").mkdir()
        put(root / "Garden" / "bed.md", "- beans\n")
        running.until(lambda: running.changed() == 4)
        os.rename(root / "Garden", root / "Field")
        running.until(lambda: running.changed() == 5)
        (root / "Tea.md").unlink()
        running.until(lambda: sum(batch.removed for batch in running.batches) >= 2)
        running.rest()
        in_step(opener)


def test_a_burst_is_one_batch(opener: Callable[[], Memory], tmp_path: Path) -> None:
    """All of them come at once, so that no slow machine makes two bursts of them."""
    root = root_of(opener)
    make_vault(
        tmp_path / "aside", {f"note {number}.md": f"- number {number}\n" for number in range(300)}, vault_id=None
    )
    with Running(opener, root) as running:
        os.rename(tmp_path / "aside", root / "many")
        running.until(lambda: running.changed() == 301)
        assert len([batch for batch in running.batches if batch.changed]) == 2
    in_step(opener)


@pytest.mark.prove
def test_what_does_not_matter_is_no_batch(opener: Callable[[], Memory]) -> None:
    root = root_of(opener)
    with Running(opener, root) as running:
        running.rest()
        looks = len(running.batches)
        (root / ".git").mkdir()
        (root / ".git" / "index").write_text("x")
        (root / "Tea.md").read_bytes()
        running.rest()
        assert len(running.batches) == looks
    in_step(opener)


@pytest.mark.prove
def test_nothing_is_done_while_nothing_happens(opener: Callable[[], Memory]) -> None:
    with Running(opener, root_of(opener)) as running:
        running.rest()
        looks, used = len(running.batches), time.process_time()
        time.sleep(3)
        assert len(running.batches) == looks
        assert time.process_time() - used < 0.1


@pytest.mark.prove
def test_the_write_of_a_command_is_one_batch(opener: Callable[[], Memory]) -> None:
    with Running(opener, root_of(opener)) as running:
        running.rest()
        looks = len(running.batches)
        with opener() as memory:
            memory.remember("the heron stands in the harbour")
        running.until(lambda: running.changed() == 2)
        running.rest()
        assert len(running.batches) == looks + 1


def test_a_stop_that_comes_during_a_look_is_not_forgotten(opener: Callable[[], Memory]) -> None:
    watcher = Watcher(root_of(opener))
    watcher.start()
    watcher.stop()
    watcher.forget()
    begun = time.monotonic()
    assert not watcher.wait()
    assert time.monotonic() - begun < WAIT  # else ten minutes
    watcher.close()


def test_polling_sees_the_same(opener: Callable[[], Memory]) -> None:
    root = root_of(opener)
    with Running(opener, root, poll=0.2) as running:
        assert "as asked" in running.watcher.polling
        assert any("as asked" in notice for notice in running.batches[0].notices)
        put(root / "new.md", "- a heron\n")
        running.until(lambda: running.changed() == 2)
        assert sum("as asked" in notice for batch in running.batches for notice in batch.notices) == 1


@pytest.mark.parametrize("step", ["__init__", "start"])
def test_where_the_system_gives_no_events_it_looks_by_the_clock(
    opener: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from watchdog.observers.api import BaseObserver

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "inotify limit reached")

    monkeypatch.setattr(BaseObserver, step, full)
    watcher = Watcher(root_of(opener))
    watcher.start()
    assert "inotify limit reached" in watcher.polling
    watcher.close()
    monkeypatch.setattr("tars_memory.index.watcher.database.is_local", lambda path: False)
    watcher.start()
    assert "network" in watcher.polling


def test_lost_events_are_a_hint(opener: Callable[[], Memory]) -> None:
    import logging

    watcher = Watcher(root_of(opener))
    watcher.start()
    watcher.forget()
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; events were lost")
    assert watcher.hinted()
    before = watcher._observer
    assert watcher.wait()
    assert watcher._observer is not before  # its queue is empty, whatever was left on the other
    watcher.close()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limit")
def test_folders_that_the_system_watches_no_more_are_looked_at_by_the_clock(
    opener: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    from watchdog.observers import inotify_c

    root = root_of(opener)
    for number in range(9):
        (root / f"d{number}").mkdir()
    watch, left = inotify_c.inotify_add_watch, 6

    def limited(descriptor: int, path: bytes, mask: int) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            ctypes.set_errno(errno.ENOSPC)
            return -1
        return watch(descriptor, path, mask)

    monkeypatch.setattr(inotify_c, "inotify_add_watch", limited)
    watcher = Watcher(root)
    watcher.start()
    assert "max_user_watches" in watcher.polling
    watcher.close()
    left = 100
    watcher = Watcher(root)
    watcher.start()
    left = 0
    watcher.stop()
    watcher.wait()
    assert not watcher.polling  # another program took the rest: all folders of the vault are watched all the same
    watcher.close()
    left = 100
    watcher = Watcher(root)
    watcher.start()
    left = 0
    (root / "last").mkdir()
    assert watcher.wait()
    assert "limit reached" in watcher.polling
    watcher.close()


def test_a_vault_that_vanishes_and_comes_back(opener: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.index.watcher.CHECK", 0.2)
    monkeypatch.setattr("tars_memory.index.watcher.POLL", 0.2)
    root = root_of(opener)
    aside = root.with_name("aside")
    with Running(opener, root) as running:
        running.rest()
        os.rename(root, aside)
        running.until(lambda: any("does not exist" in n for batch in running.batches for n in batch.notices))
        os.rename(aside, root)
        running.until(lambda: not running.watcher.polling)
        put(root / "new.md", "- a heron\n")
        running.until(lambda: running.changed() == 2)
        assert len([batch for batch in running.batches if batch.notices]) < 6
    in_step(opener)


def test_one_watcher_a_vault(opener: Callable[[], Memory]) -> None:
    root = root_of(opener)
    with Running(opener, root), Running(opener, root) as second:
        assert isinstance(second.error, BusyError) and "already being watched" in second.error.message
        assert IndexKeeper(opener, Watcher(root)).once().changed == 0  # a look of its own is not a second watcher


def test_one_look_after_a_change_of_the_model_makes_all_vectors_or_leaves_them_to_who_makes_them(
    opener: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(opener)
    for number in range(3 * PORTION):
        put(root / f"{number}.md", f"# {number}\n\n- oolong {number}\n")
    texts = IndexKeeper(opener, Watcher(root)).once().embedded
    other = HashEmbedder("another model")
    monkeypatch.setattr(Workspace, "open_embedder", lambda self: self.embedder or other)
    with opener() as memory, memory.workspace.index().files.lock(0.0, "embed.lock") as held:
        assert held
        assert IndexKeeper(opener, Watcher(root)).once().embedded == 0
    batch = IndexKeeper(opener, Watcher(root)).once()
    assert (batch.embedded, batch.pending) == (texts, 0) and len(other.texts) == texts > 3 * PORTION


def test_a_changed_setting_counts_from_the_next_look(opener: Callable[[], Memory]) -> None:
    root = root_of(opener)
    with Running(opener, root) as running:
        (root / ".tars").mkdir(exist_ok=True)
        (root / "Tea.md").write_text("- " + "tea " * 500 + "\n")
        running.until(lambda: running.changed() == 2)
        (root / ".tars" / "config.toml").write_text("[limits]\nmax_note_bytes = 1000\n")
        running.until(lambda: len(running.batches) >= 3)
    with opener() as memory:
        assert memory.workspace.index().refresh().changed == 0
        assert not memory.search("tea").hits


# --- the socket


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the socket is; whoever asks there is patient, so that a busy machine answers, too."""
    monkeypatch.setattr(models, "PATIENCE", WAIT)
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder / models.SOCKET


def _at(bind_or_connect: Callable[[str], None], place: Path) -> None:
    """The test's own end of a socket: its folder's path may be too long for one, as a user's may."""
    with models.reachable(place) as address:
        bind_or_connect(address)


def test_an_answer_over_the_socket(place: Path) -> None:
    asked: list[str] = []

    def answer(text: str) -> QueryVector:
        asked.append(text)
        return VECTOR

    server = WarmServer(place, "model-1", answer)
    try:
        assert models.ask(place, "model-1", DIMENSION, "héron\n 🐦") == VECTOR
        assert asked == ["héron\n 🐦"]
        assert models.ask(place, "model-2", DIMENSION, "heron") is None
        assert models.ask(place, "model-1", DIMENSION, "x" * 70_000) is None
        assert place.stat().st_mode & 0o777 == 0o600
    finally:
        server.close()
    assert not place.exists()
    assert models.ask(place, "model-1", DIMENSION, "heron") is None


def test_a_path_too_long_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "PATIENCE", WAIT)
    folder = tmp_path / ("deep" * 30)
    folder.mkdir(mode=0o700)
    server = WarmServer(folder / models.SOCKET, "model-1", lambda text: VECTOR)
    try:
        assert models.ask(folder / models.SOCKET, "model-1", DIMENSION, "heron") == VECTOR
    finally:
        server.close()


@pytest.mark.parametrize("behaviour", ["silent", "drips", "garbage", "endless", "leaves"])
def test_whoever_listens_there_costs_no_more_than_the_patience(
    place: Path, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer at all shows it: a drip, a flood and a silence would last for ever."""
    monkeypatch.setattr(models, "PATIENCE", 0.25)
    with socket.socket(socket.AF_UNIX) as listener:
        _at(listener.bind, place)
        os.chmod(place, 0o600)
        listener.listen()
        over = threading.Event()

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                if behaviour == "garbage":
                    client.sendall(b"no vectors at all")
                elif behaviour == "endless":
                    try:
                        while True:
                            client.sendall(b"x" * 65_536)
                    except OSError:
                        return
                elif behaviour == "drips":
                    try:
                        while not over.is_set():
                            client.sendall(b"x")
                            time.sleep(0.05)
                    except OSError:
                        return
                elif behaviour == "silent":
                    over.wait(WAIT)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert models.ask(place, "model-1", DIMENSION, "heron") is None
        over.set()


def test_what_is_not_ours_is_not_asked(place: Path, tmp_path: Path) -> None:
    assert not models.is_ours(place)
    place.write_text("a file")
    assert not models.is_ours(place)
    place.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        _at(listener.bind, place)
        os.chmod(place, 0o666)
        assert not models.is_ours(place)
        os.chmod(place, 0o600)
        assert models.is_ours(place)
        (tmp_path / "link").symlink_to(place)
        assert not models.is_ours(tmp_path / "link")
    assert models.ask(place, "model-1", DIMENSION, "heron") is None  # nobody listens any more: stale


def test_a_stale_socket_gives_way(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        _at(listener.bind, place)
    server = WarmServer(place, "model-1", lambda text: VECTOR)
    try:
        assert models.ask(place, "model-1", DIMENSION, "heron") == VECTOR
    finally:
        server.close()


def test_bad_clients_do_not_stop_it(place: Path) -> None:
    server = WarmServer(place, "model-1", lambda text: VECTOR)
    model = b"tars-memory 1 model-1 "
    try:
        for data in (
            b"",
            b"\n",
            b"x" * 1000,
            b"tars-memory 1 model-1 -5\n",
            b"tars-memory 1 model-1 99999999\n",
            b"\xff\n",
        ):
            with socket.socket(socket.AF_UNIX) as client:
                _at(client.connect, place)
                client.sendall(data)
        hanging = socket.socket(socket.AF_UNIX)
        _at(hanging.connect, place)
        hanging.sendall(model + b"10\nabc")
        assert models.ask(place, "model-1", DIMENSION, "heron") == VECTOR
        hanging.close()
    finally:
        server.close()
