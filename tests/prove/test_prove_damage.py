"""A damaged index and a vault that is not there: no wrong answer, notes untouched, the right exit code and sentence."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tars_memory.errors import UnwritableError
from tars_memory.index import database
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
PROGRAM = "import sys; sys.argv[0] = 'tars-memory'; from tars_memory.__main__ import main; main()"
BIRDS = ("heron", "teal", "stork", "crane", "snipe", "ruff", "knot", "dunlin", "plover", "curlew")
NOTES = {
    f"n/{n}.md": f"# Note {n}\n\nThe {BIRDS[n % 10]} called word{n} stands in harbour {n % 7}.\n\n- one of {n}\n"
    for n in range(60)
}
WRITER = """
import sys, time
from pathlib import Path
from tars_memory.memory import Memory
root = Path(sys.argv[1])
number = 0
while True:
    number += 1
    (root / "n" / f"new{number % 50}.md").write_text(f"# New {number}\\n\\nA new line {number} of wordnew.\\n")
    with Memory(root) as memory:
        memory.search("wordnew", mode="lexical")
"""

pytestmark = pytest.mark.prove


class House:
    """A vault that is indexed with vectors, and what it was."""

    def __init__(self, place: Path) -> None:
        self.root = make_vault(place / "vault", NOTES, vault_id=None)
        (self.root / ".obsidian").mkdir()
        self.home = place / "home"
        self.env = {"PATH": os.environ["PATH"], "TARS_MEMORY_HOME": str(self.home), "TARS_MEMORY_DIR": str(self.root)}
        with self.memory() as memory:
            memory.log("the first line")
            memory.reindex()
            index = memory.workspace.index()
            index.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.database = index.files.current()
            self.cache = index.cache / database.CACHE_FILE
        self.before = self.notes()
        self.kept = place / "kept"
        shutil.copytree(self.home, self.kept)

    def memory(self) -> Memory:
        return Memory(self.root, embedder=HashEmbedder(), env=self.env)

    def notes(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.root)): p.read_bytes() for p in sorted(self.root.rglob("*")) if p.is_file()}

    def restore(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.kept, self.home)

    def program(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=60, check=False)

    def ask(self, number: int, mode: str = "lexical") -> bool:
        """Search for a note; every hit must stand in its note, word for word. Whether the note was found."""
        with self.memory() as memory:
            result = memory.search(f"word{number}", mode=mode)
        for hit in result.hits:
            lines = (self.root / hit.path).read_text().split("\n")
            assert hit.text.rstrip("\n") == "\n".join(lines[hit.start_line - 1 : hit.end_line]), hit.path
        return any(hit.path == f"n/{number}.md" for hit in result.hits)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_flipped_bits(house: House) -> None:
    count = max(100, int(3000 * SCALE))
    chance = random.Random(11)
    whole = {path: path.read_bytes() for path in (house.database, house.cache)}
    missed = 0
    for number in range(count):
        house.restore() if number % 50 == 0 else None
        path = house.cache if number % 6 == 5 else house.database
        for other, data in whole.items():
            for suffix in ("-wal", "-shm", "-journal"):
                other.with_name(other.name + suffix).unlink(missing_ok=True)
            other.write_bytes(data)
        for newer in house.database.parent.glob("index-*.db*"):
            if newer != house.database:
                newer.unlink()
        flipped = bytearray(whole[path])
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(flipped))
        missed += not house.ask(chance.randrange(60), "hybrid" if number % 4 == 0 else "lexical")
        if number % 100 == 99:  # and a rebuild mends whatever it was
            with house.memory() as memory:
                memory.reindex(full=True)
                assert memory.workspace.index().verify() == []
            assert house.ask(7)
    assert house.notes() == house.before
    print(f"{count} flips of a bit: no wrong answer, no crash, {missed} times the note was not found")
    assert missed <= count * 0.01


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


DAMAGES: list[tuple[str, Callable[[bytes], bytes | None]]] = [
    ("deleted", lambda data: None),
    ("empty", lambda data: b""),
    ("cut in half", _half),
    ("cut by a byte", lambda data: data[:-1]),
    ("a page of zeros", lambda data: data[:8192] + bytes(4096) + data[12288:]),
    ("no database", lambda data: b"something else " * 4000),
    ("of a newer program", lambda data: data[:60] + (database.VERSION + 1).to_bytes(4, "big") + data[64:]),
    ("of a newer SQLite", lambda data: data[:18] + b"\x07\x07" + data[20:]),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES, ids=[name for name, _ in DAMAGES])
@pytest.mark.parametrize("which", ["database", "cache"])
def test_damaged_whole(house: House, which: str, name: str, damage: Callable[[bytes], bytes | None]) -> None:
    path: Path = getattr(house, which)
    data = damage(path.read_bytes())
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    for number in (3, 41):
        assert house.ask(number) and house.ask(number, "hybrid")
    with house.memory() as memory:
        memory.reindex()
        assert memory.workspace.index().verify() == [] and memory.workspace.index().pending() == 0
    assert house.notes() == house.before


def test_copied_live(house: House) -> None:
    """Copies of the state folder, file by file, while another process writes the index; each is then the index."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(house.root)], env=house.env)
    copies = []
    try:
        for number in range(max(10, int(60 * SCALE))):
            copy = house.root.parent / f"copy{number}"
            shutil.copytree(house.home, copy, ignore_dangling_symlinks=True, copy_function=_copied)
            copies.append(copy)
    finally:
        writer.kill()
        writer.wait()
    for copy in copies:
        shutil.rmtree(house.home)
        copy.rename(house.home)
        assert house.ask(3) and house.ask(41, "hybrid")
    with house.memory() as memory:
        memory.reindex()
        assert memory.workspace.index().verify() == []
    after = house.notes()
    assert {name: after[name] for name in house.before} == house.before
    print(f"{len(copies)} live copies: no wrong answer")


def _copied(source: str, target: str) -> object:
    try:
        return shutil.copyfile(source, target)
    except FileNotFoundError:  # it was a temporary file
        return target


def _unmounted(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def _emptied(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    root.mkdir()


def _vanished(root: Path) -> None:
    for number in range(3, 60):
        (root / f"n/{number}.md").unlink()


SAID = "unmounted or emptied"
VAULTS = [
    (_unmounted, {"search": (4, "is it mounted?"), "log": (4, "is it mounted?"), "reindex": (4, "is it mounted?")}),
    (_emptied, {"search": (4, "looks empty"), "log": (4, SAID), "reindex": (4, "looks empty")}),
    (_vanished, {"search": (4, SAID), "log": (0, ""), "reindex": (4, SAID)}),
]


@pytest.mark.parametrize(("harm", "expected"), VAULTS, ids=[harm.__name__ for harm, _ in VAULTS])
def test_a_vault_that_is_not_there(
    house: House, harm: Callable[[Path], None], expected: dict[str, tuple[int, str]]
) -> None:
    harm(house.root)
    left = house.notes() if house.root.exists() else {}
    calls = {"search": ("search", "--mode", "lexical", "word41"), "reindex": ("reindex", "--no-embed")}
    for name, (code, sentence) in expected.items():
        done = house.program(*calls.get(name, ("log", "a line")))
        assert (done.returncode, sentence in done.stderr) == (code, True), (name, done.stdout, done.stderr)
        assert "word41" not in done.stdout
    if harm is _vanished:
        assert "word1 " in house.program("search", "--mode", "lexical", "word1").stdout
        left |= {name: data for name, data in house.notes().items() if name.startswith("20")}
    assert (house.notes() if house.root.exists() else {}) == left
    if harm is not _vanished:  # the disk is there again: all is as it was, its journal too
        if house.root.exists():
            house.root.rmdir()
        house.root.with_name("elsewhere").rename(house.root)
        assert house.notes() == house.before
        assert house.ask(41)
        assert "the first line" in house.program("history").stdout
        assert house.program("reindex", "--no-embed").returncode == 0
    else:
        assert house.program("reindex", "--full", "--no-embed").returncode == 0
        assert house.program("search", "--mode", "lexical", "word41").returncode == 1


@pytest.fixture
def read_only(house: House) -> Iterator[House]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "index"))
    from unprivileged import unwritable

    with unwritable(house.root):
        yield house


def test_a_read_only_vault(read_only: House) -> None:
    house = read_only
    assert house.ask(3) and house.ask(41, "hybrid")
    with house.memory() as memory:
        memory.reindex(embed=False)
        with pytest.raises(UnwritableError) as told:
            memory.log("a line for later")
    assert told.value.exit_code == 5 and told.value.spooled
    with house.memory() as memory:
        found = {each["kind"] for each in memory.doctor()["findings"]}
    assert "spool" in found
    assert house.notes() == house.before


def test_what_waited_is_written_when_it_may_be(house: House) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "index"))
    from unprivileged import unwritable

    with unwritable(house.root), house.memory() as memory, pytest.raises(UnwritableError):
        memory.log("a line for later")
    assert house.program("log", "another line").returncode == 0
    assert "a line for later" in "".join(map(str, house.notes().values()))
