"""Conversations beside a vault: logs of 200 kB, nine tenths of it output of tools; the first index, looks, searches."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench import vault
from bench.measure import Case, interleaved, run, table, verdict
from bench.place import PYTHON, REPOSITORY, Place, RandomEmbedder, program

SIZE = 200_000
"""Bytes of a log."""
TOOLS = 0.9
"""Of them output of tools."""
TURNS = 12
"""Of the person, in each."""
FIRST_LIMIT = 0.030
"""CPU seconds a log of the first index by words: five minutes for 10,000."""
LOOK_LIMIT = 1.0
"""CPU seconds of a look that finds a log grown."""
SEARCH_LIMIT = 1.5
"""A search of notes and conversations, as a multiple of one of notes alone."""
HOOK_LIMIT = 1.1
"""A hook at a prompt with sources, as a multiple of one without: what the timer can tell apart."""
END = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def make(folder: Path, count: int) -> None:
    """Write so many logs as Claude Code does, an hour apart, in fifty folders, the newest last."""
    writer = vault.Writer(11)
    filler = "\n".join(writer.sentence() for _ in range(40_000))
    for number in range(count):
        begun = END - timedelta(hours=count - number)
        session = f"{number:08x}-4ff6-4264-865b-baf9d561bba3"
        place = folder / f"-home-anna-p{number % 50}"
        place.mkdir(parents=True, exist_ok=True)
        lines = [*_records(writer, filler, number, session, begun)]
        path = place / f"{session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        stamp = (begun + timedelta(minutes=30)).timestamp()
        os.utime(path, (stamp, stamp))


def _records(writer: vault.Writer, filler: str, number: int, session: str, begun: datetime) -> Any:
    share = int(SIZE * TOOLS / TURNS)
    answer = int(SIZE * (1 - TOOLS) / TURNS) - 1_200  # what is said, and what stands around it, is the rest
    for turn in range(TURNS):
        more = {"sessionId": session, "cwd": f"/home/anna/p{number % 50}", "version": "2.1.12", "isSidechain": False}
        more |= {"userType": "external", "timestamp": (begun + timedelta(minutes=2 * turn)).isoformat()}
        said = " ".join(writer.sentence() for _ in range(1 + turn % 4))
        yield {**more, "uuid": f"u{turn}", "type": "user", "message": {"role": "user", "content": said}}
        at = writer.dice.randrange(len(filler) - share)
        told = {"type": "text", "text": filler[at : at + answer]}
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": "make"}}
        message = {"id": f"m{turn}", "role": "assistant", "model": "claude", "content": [told, call]}
        yield {**more, "uuid": f"a{turn}", "type": "assistant", "message": message}
        output = filler[at : at + share]
        part = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": [{"type": "text", "text": output}]}
        result = {"role": "user", "content": [part]}
        yield {**more, "uuid": f"r{turn}", "type": "user", "message": result, "toolUseResult": {"stdout": ""}}


def build(home: Path, notes: int, logs: Path, count: int) -> None:
    """A vault with vectors, and the logs; run apart, so that whoever measures stays small."""
    Place(home).build(notes)
    if not logs.exists():
        make(logs, count)


def embed(home: Path) -> None:
    """Give the conversations vectors."""
    from tars_memory.memory import Memory

    place = Place(home)
    with Memory(place.root, env=place.env, embedder=RandomEmbedder(place.fingerprint)) as memory:
        memory.reindex()


def report(folder: Path, notes: int, count: int, rounds: int, logs: Path | None = None) -> str:
    """Measure and tell.

    Args:
        folder: to work in.
        notes: of the vault.
        count: logs.
        rounds: of the searches.
        logs: where these logs are already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    where = logs or folder / "logs"
    alone, beside = Place(folder / "alone"), Place(folder / "beside")
    for place in (alone, beside):
        _apart("build", place.folder, notes, where, count)
    command = program()
    begun = time.monotonic()
    first = run([*command, "sources", "add", str(where)], beside.env).cpu
    took = time.monotonic() - begun
    rows = [
        _row("first index by words, CPU s", first, FIRST_LIMIT * count),
        ("the same, wall s", f"{took:.1f}", "", ""),
    ]
    _apart("embed", beside.folder)
    looks = ("search", "--mode", "lexical", "zzqx")
    run([*command, *looks], beside.env)
    still = run([*command, *looks], beside.env).cpu
    rows.append(_row("a search where nothing is new, CPU s", still, LOOK_LIMIT))
    path = max(where.rglob("*.jsonl"), key=lambda each: each.stat().st_mtime)
    with path.open("a", encoding="utf-8") as log:
        said = {"role": "user", "content": "one more line"}
        log.write(json.dumps({"type": "user", "sessionId": "x", "timestamp": END.isoformat(), "message": said}) + "\n")
    rows.append(_row("a search after a log has grown, CPU s", run([*command, *looks], beside.env).cpu, LOOK_LIMIT))
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "what did Anna say about tarenlo"}
    asked = folder / "event.json"
    asked.write_text(json.dumps(event), "utf-8")
    hook = ["/bin/sh", "-c", f'"$0" hook < "{asked}"', command[0]]
    words = [*command, "search", "--mode", "lexical", "Anna tarenlo"]
    both = [*command, "search", "Anna tarenlo"]
    found = (0, 1)
    cases = {
        "lexical": (words, SEARCH_LIMIT, "a keyword search, as a multiple of one of notes alone"),
        "hybrid": (both, SEARCH_LIMIT, "a hybrid search, vector remembered"),
        "hook": (hook, HOOK_LIMIT, "a hook at a prompt, as a multiple of one without sources"),
    }
    runs = {}
    for name, (argv, *_) in cases.items():
        runs[name] = Case(lambda _, argv=argv: argv, alone.env, found)
        runs[f"{name}, beside"] = Case(lambda _, argv=argv: argv, beside.env, found)
    costs = interleaved(runs, rounds)
    for name, (_, limit, told) in cases.items():
        less, more = costs[name].cpu, costs[f"{name}, beside"].cpu
        rows.append(_row(f"{told} ({less * 1000:.0f} → {more * 1000:.0f} ms)", more / less, limit))
    title = f"{count} logs of {SIZE // 1000} kB beside {notes} notes, median of {rounds} rounds"
    return table(title, ("", "measured", "limit", ""), rows)


def _row(name: str, value: float, limit: float) -> tuple[str, str, str, str]:
    return name, f"{value:.2f}", f"{limit:.2f}", verdict(value, limit)


def _apart(*arguments: object) -> None:
    subprocess.run([PYTHON, "-m", "bench.talks", *map(str, arguments)], check=True, cwd=REPOSITORY)


if __name__ == "__main__":
    import sys

    if sys.argv[1] == "embed":
        embed(Path(sys.argv[2]))
    elif sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        build(Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5]))
