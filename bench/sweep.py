"""A refresh that finds nothing to do, in process, against scandir and stat of the same tree."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from bench.measure import table, verdict
from bench.place import Place

LIMIT = 1.4


def look(folder: str) -> int:
    """What the file system alone costs: every entry below a folder, and its stat."""
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                count += look(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                count += 1
    return count


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def report(place: Place, rounds: int) -> str:
    """Measure and tell."""
    index = place.index()
    index.refresh()
    root = str(place.root)
    count = look(root)
    bare, refresh = [], []
    for _ in range(rounds):
        bare.append(spent(lambda: look(root)))
        refresh.append(spent(index.refresh))
    changed = index.refresh().changed
    index.close()
    ratio = statistics.median(refresh) / statistics.median(bare)
    rows = [
        ("scandir + stat", f"{statistics.median(bare) * 1000:.1f}", "1.00", "", ""),
        ("refresh", f"{statistics.median(refresh) * 1000:.1f}", f"{ratio:.2f}", f"{LIMIT}", verdict(ratio, LIMIT)),
    ]
    title = f"A refresh with nothing to do ({changed} changed), {count} files, median of {rounds} rounds"
    return table(title, ("in process", "CPU ms", "x", "limit", ""), rows)
