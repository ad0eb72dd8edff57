"""Conversations under fire: kills at any moment of indexing, several processes at once, lines without end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tars_memory.memory import Memory
from tars_memory.testing import make_vault
from tests.random_documents import scale, seeded

pytestmark = pytest.mark.prove
CALL = [sys.executable, "-m", "tars_memory"]


class Place:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = make_vault(base / "vault", {"Memory.md": "## Notes\n- the gate is painted blue\n"})
        self.logs = base / "logs"
        self.logs.mkdir()
        self.env = {**os.environ, "TARS_MEMORY_HOME": str(base / "home"), "TARS_MEMORY_BACKGROUND": "0"}

    def said(self, name: str, first: int, last: int, *, session: str = "s") -> None:
        """Add turns to a log; the same turn of a session is the same in each of its copies."""
        with (self.logs / name).open("a", encoding="utf-8") as log:
            for number in range(first, last):
                stamp = f"2026-11-02T{10 + number // 60:02}:{number % 60:02}:00Z"
                text = f"barge {session} carries load number {number} of walnut"
                record = {"type": "user", "sessionId": session, "timestamp": stamp}
                log.write(json.dumps({**record, "message": {"role": "user", "content": text}}) + "\n")

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*CALL, "--vault", str(self.root), *words], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def lines(self) -> list[str]:
        """What is indexed, once the index is up to date; and each line is found."""
        with Memory(self.root, env=self.env) as memory:
            memory.reindex()
            talks = memory.workspace.talks()
            assert talks is not None
            held: list[str] = talks.index.read(
                lambda reader: [
                    line
                    for (path,) in reader.connection.execute("SELECT path FROM notes ORDER BY path")
                    for line in reader.text(path)
                    if line
                ]
            )
            assert memory.search("walnut", mode="lexical", tiers=("talk",)).hits
            return sorted(held)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_kill_at_any_moment_of_indexing_costs_and_doubles_nothing(place: Place) -> None:
    chance = seeded(11)
    for log in range(40):
        place.said(f"{log}.jsonl", 0, 20, session=str(log))
    wanted = [f"barge {log} carries load number {n} of walnut" for log in range(40) for n in range(20)]
    begun = time.monotonic()
    place.begin("sources", "add", str(place.logs)).wait()
    whole = time.monotonic() - begun
    for round_ in range(scale(30)):
        grown = chance.randrange(40)
        place.said(f"{grown}.jsonl", 100 + round_, 101 + round_, session=str(grown))
        wanted.append(f"barge {grown} carries load number {100 + round_} of walnut")
        process = place.begin("reindex", "--full") if chance.random() < 0.7 else place.begin("search", "walnut")
        time.sleep(chance.uniform(0.0, whole))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert place.lines() == sorted(wanted)


def test_several_processes_that_index_while_logs_grow_count_each_turn_once(place: Place) -> None:
    chance = seeded(11)
    for log in range(10):
        place.said(f"{log}.jsonl", 0, 10, session=str(log))
        place.said(f"copy of {log}.jsonl", 0, 10, session=str(log))  # a fork: it counts once
    place.begin("sources", "add", str(place.logs)).wait()
    count = dict.fromkeys(range(10), 10)
    for _ in range(scale(15)):
        processes = [place.begin("reindex"), place.begin("search", "walnut"), place.begin("reindex")]
        for _ in range(20):
            log = chance.randrange(10)
            place.said(f"{log}.jsonl", count[log], count[log] + 1, session=str(log))
            count[log] += 1
            time.sleep(0.01)
        for process in processes:
            _, said = process.communicate()
            assert b"bug" not in said, said
    wanted = [f"barge {log} carries load number {n} of walnut" for log, most in count.items() for n in range(most)]
    assert place.lines() == sorted(wanted)


def test_a_line_of_a_hundred_megabytes_costs_no_other_log(place: Place) -> None:
    place.said("a.jsonl", 0, 10)
    with (place.logs / "b.jsonl").open("w") as log:
        log.write('{"type": "user", "message": {"role": "user", "content": "')
        for _ in range(100):
            log.write("walnut " * 150_000)
        log.write('"}}\n')
    place.said("b.jsonl", 0, 3, session="after")
    process = place.begin("sources", "add", str(place.logs))
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    wanted = [f"barge s carries load number {n} of walnut" for n in range(10)]
    assert [line for line in place.lines() if " s " in line] == wanted
