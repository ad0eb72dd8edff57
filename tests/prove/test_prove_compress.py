"""Two thousand old sessions are summed up in linear time: every byte kept, every canary found, undone exactly.

Sizes are those of the promise, times ``TARS_PROVE_SCALE``.
"""

from __future__ import annotations

import os
import time
from datetime import date, timedelta
from pathlib import Path

import pytest
from curation.oldsessions import Past, lead_nowhere, stamps, statements, summaries

from tars_memory.memory import Memory

pytestmark = pytest.mark.prove

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
SESSIONS = max(80, int(2_000 * SCALE))


def fill(past: Past, count: int) -> None:
    """Sessions of several years: line endings of each kind, bytes that are not UTF-8, candidates in their days."""
    for number in range(count):
        day = (date(2019, 1, 1) + timedelta(days=number * 2_500 // count)).isoformat()
        link = f"([[{day}#^d-{number:07}|{day}]])"
        path = past.old(
            day,
            f"talk {number}",
            Decisions=[f"canary{number}d is decided", "the same each time"],
            Facts=[f"canary{number}f is a fact {link}", f"thing {number % 50} costs {number} euro"],
            Topics=f"topic {number % 20}",
        )
        if number % 3:
            data = past.files()[path] if count < 100 else (past.root / path).read_bytes()
            past.put(path, data.replace(b"\n", (b"\r\n", b"\r")[number % 2]) + b"\xff")
        state = ("promoted", "expired", "rejected")[number % 3]
        line = f"- 10:00 [{state}] canary{number}f is a fact ^d-{number:07}\n"
        note = past.root / f"{day}.md"
        past.put(note.name, (note.read_text() if note.exists() else "## Log\n") + line)


def test_many_sessions_keep_every_byte(tmp_path: Path) -> None:
    past = Past(tmp_path)
    fill(past, SESSIONS)
    before, stamped = past.files(), stamps(past.root)
    done = past.compress(by="year", apply=True, lines=2_000)
    after = past.files()
    new = summaries(after)
    assert len(done.moved) == SESSIONS and len(new) == len({path[9:13] for path in done.moved})
    moved = {step.path: step.to for step in done.plan}
    kept = {path: data for path, data in after.items() if path not in new}
    assert kept == {moved.get(path, path): data for path, data in before.items()}
    for path, data in new.items():
        assert lead_nowhere(after, data, path) == []
        assert statements(data)["Decisions"].count("the same each time") == 1
    assert past.compress(by="year", apply=True, lines=2_000).txn is None
    with Memory(past.root, now=past.now, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        for number in range(0, SESSIONS, max(1, SESSIONS // 200)):
            hits = memory.search(f"canary{number}d", mode="lexical").hits
            assert any(hit.path.startswith("archive/") and f"canary{number}d" in hit.text for hit in hits), number
    past.store().undo(done.txn)
    assert {path: data for path, data in past.files().items() if path[-3:] == ".md"} == before
    assert stamps(past.root) == stamped


def test_time_grows_with_the_number_of_sessions(tmp_path: Path) -> None:
    took = []
    for count in (SESSIONS // 4, SESSIONS):
        past = Past(tmp_path / str(count))
        fill(past, count)
        begun = time.process_time()
        past.compress(by="year", apply=True)
        took.append(time.process_time() - begun)
    assert took[1] < 8 * took[0] + 0.5, took
