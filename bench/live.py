"""The live search on a terminal: from a key to the last sign that the screen shows for it, in real time.

Names of notes are typed letter by letter. A key is answered when the terminal has been silent for a while: so what is
measured holds the drawing of the letter, the search, and the drawing of hits and preview. Questions are asked by words
alone, as each key asks them; what a pause adds is no matter of keys. On a busy machine the CPU time of a key says more.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import termios
import time
from pathlib import Path

from bench.measure import table, verdict
from bench.place import Place, program

MEDIAN_LIMIT, P95_LIMIT = 0.050, 0.150
"""Seconds."""
SILENT = 0.3
"""Seconds without a sign after which a key is answered: twice what the slowest may take."""
SIZE = (24, 80)
CLEAR = b"\x15"


def report(place: Place, vault: Path | None, keys: int) -> str:
    """Measure and tell.

    Args:
        place: with a vault, indexed.
        vault: one to be copied, and measured instead.
        keys: how many to press.
    """
    root, env = place.root, place.env
    if vault is not None:
        root = place.folder / "copied"
        shutil.copytree(vault, root)
        env = env | {"TARS_MEMORY_HOME": str(place.folder / "copied home"), "TARS_MEMORY_DIR": str(root)}
    names = sorted(path.stem for path in root.rglob("*.md"))
    env = env | {"TERM": "xterm-256color", "TARS_MEMORY_RECALL_MODE": "lexical"}
    pid, terminal = pty.fork()
    if not pid:
        os.execve(program()[0], program(), env)
    try:
        termios.tcsetwinsize(terminal, SIZE)
        begun = time.monotonic()
        _silent(terminal, 60.0, 3.0)
        ready = time.monotonic() - begun - 3.0
        before = _cpu(pid)
        first: list[float] = []
        last: list[float] = []
        for name in names[:: max(1, len(names) * 12 // keys)]:
            for letter in name:
                os.write(terminal, letter.encode())
                echo, answer = _answered(terminal)
                first.append(echo)
                last.append(answer)
            if len(last) >= keys:
                break
            os.write(terminal, CLEAR)
            _silent(terminal, 5.0, SILENT)
        spent = _cpu(pid) - before
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
    rows = [
        (what, f"{_at(found, 0.5) * 1000:.0f}", f"{_at(found, 0.95) * 1000:.0f}", f"{max(found) * 1000:.0f}")
        for what, found in (("the letter", first), ("the hits", last))
    ]
    median, p95 = _at(last, 0.5), _at(last, 0.95)
    said = f"median {MEDIAN_LIMIT * 1000:.0f} {verdict(median, MEDIAN_LIMIT)}"
    said += f", p95 {P95_LIMIT * 1000:.0f} {verdict(p95, P95_LIMIT)}; {spent / len(last) * 1000:.0f} ms of CPU a key"
    title = f"Live search, {len(names)} notes, {len(last)} keys, first screen after {ready:.1f} s"
    return table(title, ("from the key to", "median ms", "p95 ms", "max ms"), rows) + f"limits: {said}\n"


def _answered(terminal: int) -> tuple[float, float]:
    """Seconds to the first and to the last of what the terminal is told until it is silent."""
    begun = time.monotonic()
    first = last = 0.0
    while select.select([terminal], [], [], SILENT)[0]:
        os.read(terminal, 1 << 16)
        last = time.monotonic() - begun
        first = first or last
    return first, last


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has taken; 0 where the system doesn't say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _silent(terminal: int, most: float, seconds: float) -> None:
    """Wait until the terminal is told nothing for so long."""
    ends = time.monotonic() + most
    while time.monotonic() < ends and select.select([terminal], [], [], seconds)[0]:
        os.read(terminal, 1 << 16)


def _at(found: list[float], share: float) -> float:
    return sorted(found)[min(len(found) - 1, int(len(found) * share))]
