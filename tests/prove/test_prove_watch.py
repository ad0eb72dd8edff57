"""A vault that is watched while everything happens to it: nothing lost, nothing wrong, the index as a rebuild's."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tars_memory.index.watcher import DEBOUNCE
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
PROGRAM = "import sys; sys.argv[0] = 'tars-memory'; from tars_memory.__main__ import main; main()"

pytestmark = pytest.mark.prove

WRITER = """
import sys
from tars_memory.memory import Memory
name, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    with Memory() as memory:
        memory.log(f"writer {name} says {number}")
"""


class Watched:
    """A vault with the real watcher over it."""

    def __init__(self, place: Path, notes: dict[str, str]) -> None:
        self.root = make_vault(place / "vault", notes)
        self.env = {
            "PATH": os.environ["PATH"],
            "TARS_MEMORY_HOME": str(place / "home"),
            "TARS_MEMORY_DIR": str(self.root),
        }
        self.batches: list[tuple[float, dict[str, object]]] = []
        self.error = ""

    def start(self) -> None:
        """Start it, and wait until it has nothing to do."""
        self.launch()
        self.until(lambda: (self.state() / "watch.sock").exists(), 60)
        self.rest()

    def launch(self) -> None:
        command = [sys.executable, "-c", PROGRAM, "watch", "--json"]
        self.process = subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.batches.append((time.monotonic(), json.loads(line)))

    def _errors(self) -> None:
        assert self.process.stderr is not None
        self.error += self.process.stderr.read()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0
        for reader in self._readers:
            reader.join(10)
        # A slow machine says how far the first reading is.
        assert not [line for line in self.error.splitlines() if ": reading notes: " not in line], self.error

    def state(self) -> Path:
        found = list(Path(self.env["TARS_MEMORY_HOME"]).glob("state/vaults/*"))
        return found[0] if found else Path(os.devnull) / "none"

    def memory(self) -> Memory:
        return Memory(self.root, env=self.env)

    def until(self, holds, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < ends, (self.batches[-3:], self.error)
            time.sleep(0.02)

    def rest(self, quiet: float = 1.5) -> None:
        """Wait until no batch has come for a while and no vector is missing."""
        known = -1
        while known != len(self.batches) or self.pending():
            known = len(self.batches)
            time.sleep(quiet)

    def pending(self) -> int:
        with self.memory() as memory:
            return memory.workspace.index().pending()

    def program(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *words], env=self.env, capture_output=True, text=True, timeout=120
        )

    def assert_in_step(self) -> None:
        with self.memory() as memory:
            assert memory.workspace.index().verify() == []
            assert memory.workspace.index().pending() == 0


def note(number: int, words: str = "") -> str:
    return f"# Note {number}\n\nThe heron number {number} stands in harbour {number % 97}. {words}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def test_soak(place: Path) -> None:
    seconds = max(8.0, 60 * SCALE)
    watched = Watched(place, {f"n/{number}.md": note(number) for number in range(200)})
    watched.start()
    over = threading.Event()
    problems: list[str] = []
    took: list[float] = []

    def edit() -> None:
        number = 0
        while not over.is_set():
            number += 1
            path = watched.root / "n" / f"{number % 200}.md"
            new = note(number % 200, f"edited {number} times")
            if number % 3:
                temporary = path.with_name(f".{path.name}.swp")
                temporary.write_text(new)
                os.replace(temporary, path)
            else:
                path.write_text(new)
            time.sleep(0.02)

    def search() -> None:
        number = 0
        while not over.is_set():
            number += 1
            begun = time.monotonic()
            done = watched.program("search", "--json", f"heron number {number % 200}")
            took.append(time.monotonic() - begun)
            if done.returncode != 0 or "Traceback" in done.stderr:
                problems.append(f"{number} {done.returncode} {done.stdout} {done.stderr}")
                continue
            for hit in json.loads(done.stdout)["hits"]:
                if not re.search(r"heron|harbour|Note|writer", hit["text"]):
                    problems.append(str(hit))

    def rebuild() -> None:
        done = watched.program("reindex", "--full")
        if done.returncode not in (0, 5):
            problems.append(done.stderr)

    threads = [threading.Thread(target=work) for work in (edit, search, search, rebuild)]
    count = max(20, int(200 * SCALE))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(count)], env=watched.env, stderr=subprocess.PIPE)
        for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    told = [writer.communicate()[1] for writer in writers]
    over.set()
    for thread in threads:
        thread.join()
    assert told == [b""] * 4
    assert problems == [], "\n".join(problems)
    text = "".join(path.read_text() for path in watched.root.glob("20*.md"))
    for name in "abcd":
        said = re.findall(rf"writer {name} says (\d+)$", text, re.MULTILINE)
        assert sorted(map(int, said)) == list(range(count))
    watched.rest()
    watched.assert_in_step()
    watched.stop()
    took.sort()
    print(f"searches: {len(took)}, p95 {took[int(len(took) * 0.95)]:.2f} s while everything happens")


def test_a_storm_that_the_queue_has_no_room_for(place: Path) -> None:
    """More folders than the queue has places. Without a model: who makes vectors beside may read a note first."""
    before = QUEUE.read_text()
    narrowed = os.access(QUEUE, os.W_OK)
    if narrowed:
        QUEUE.write_text("64")
    try:
        watched = Watched(place, {"one.md": note(0)})
        watched.env["TARS_MEMORY_EMBEDDING_MODEL"] = "nonexistent/model"
        watched.launch()
        watched.until(lambda: bool(watched.batches), 60)
        count = max(300, int(5000 * SCALE))
        for number in range(count):
            folder = watched.root / f"d{number % 17}" / f"e{number % 5}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.md").write_text(note(number))
        watched.until(lambda: sum(int(str(b["changed"])) for _, b in watched.batches) >= count + 1, 120)
        with watched.memory() as memory:
            assert memory.workspace.index().verify() == []
        (watched.root / "d16" / "e4" / "late.md").write_text(note(1))  # its folder is watched after all
        watched.until(lambda: sum(int(str(b["changed"])) for _, b in watched.batches) >= count + 2, 60)
        used = cpu(watched.process.pid)
        time.sleep(2)
        assert cpu(watched.process.pid) - used < 0.5  # it doesn't take up its folders again and again
        watched.stop()
        print(f"queue of {QUEUE.read_text().strip()}: {count} files, none missed")
    finally:
        if narrowed:
            QUEUE.write_text(before)


def test_a_checkout_is_one_batch(place: Path) -> None:
    """Without a model: a look that only goes on with vectors may fall into the midst of a checkout."""
    count = max(200, int(2000 * SCALE))
    watched = Watched(place, {f"n/{number}.md": note(number) for number in range(count)})

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=watched.root, check=True, capture_output=True)

    git("init", "-q", "-b", "one")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "two")
    for number in range(count):
        (watched.root / "n" / f"{number}.md").write_text(note(number, "on the other branch"))
    git("commit", "-qam", "two")
    with watched.memory() as memory:
        memory.reindex(embed=False)
    watched.env["TARS_MEMORY_EMBEDDING_MODEL"] = "nonexistent/model"
    watched.launch()
    watched.until(lambda: bool(watched.batches), 60)
    for branch in ("one", "two"):
        before = len(watched.batches)
        git("checkout", "-q", branch)
        watched.until(lambda before=before: any(b["changed"] for _, b in watched.batches[before:]), 60)  # type: ignore[misc]
        changed = [b for _, b in watched.batches[before:] if b["changed"]]
        time.sleep(2)
        assert [batch["changed"] for batch in changed] == [count]
        assert sum(bool(b["changed"]) for _, b in watched.batches[before:]) == 1
    with watched.memory() as memory:
        assert memory.workspace.index().verify() == []
    watched.stop()


def test_idle(place: Path) -> None:
    watched = Watched(place, {f"n/{number}.md": note(number) for number in range(300)})
    watched.start()
    seconds = max(10.0, 60 * SCALE)
    before, used = len(watched.batches), cpu(watched.process.pid)
    time.sleep(seconds)
    share = (cpu(watched.process.pid) - used) / seconds
    assert len(watched.batches) == before
    watched.stop()
    print(f"idle for {seconds:.0f} s: {share:.2%} of a processor")
    assert share < 0.005


def test_from_save_to_findable(place: Path) -> None:
    count = max(1000, int(10_000 * SCALE))
    watched = Watched(place, {f"n{number % 50}/{number}.md": note(number) for number in range(count)})
    with watched.memory() as memory:
        memory.reindex(embed=False)
    watched.env["TARS_MEMORY_EMBEDDING_MODEL"] = "nonexistent/model"  # the keyword rows are what is measured
    watched.launch()
    watched.until(lambda: bool(watched.batches), 60)
    time.sleep(3)
    limit = DEBOUNCE + (0.2 if SCALE >= 1 else 1.0)
    found: list[float] = []
    for attempt in range(3):  # others may need the processors just then
        took = saves(watched, attempt)
        found.append(took[int(len(took) * 0.95)])
        print(f"{count} notes: from save to findable p50 {took[len(took) // 2]:.3f} s, p95 {found[-1]:.3f} s")
        if found[-1] <= limit:
            break
    watched.process.send_signal(signal.SIGTERM)
    assert watched.process.wait(30) == 0
    assert min(found) <= limit, found


def saves(watched: Watched, attempt: int) -> list[float]:
    """Seconds from each of many saves to the line that tells of it, sorted."""
    took = []
    for number in range(max(10, int(60 * SCALE))):
        before = len(watched.batches)
        saved = time.monotonic()
        (watched.root / f"n{number % 50}" / f"{number}.md").write_text(note(number, f"saved {number} {attempt}"))
        watched.until(lambda before=before: len(watched.batches) > before, 30)  # type: ignore[misc]
        took.append(watched.batches[-1][0] - saved)
        time.sleep(0.05)
    return sorted(took)


def cpu(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
