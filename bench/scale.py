"""Scale: whole processes over ever more notes, and how each grows from one size to the next."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.measure import Cost, run, table
from bench.place import PYTHON, REPOSITORY, Place, program

SIZES = (1_000, 10_000, 100_000)
TIMES = 3
"""Runs of each search; the middle one counts."""


def report(sizes: list[int], folder: Path) -> str:
    """Measure and tell."""
    rows: list[tuple[str, ...]] = []
    before: dict[str, Cost] = {}
    for size in sizes:
        costs = _costs(size, folder)
        for name, cost in costs.items():
            known = before.get(name)
            growth = f"{cost.cpu / known.cpu:.1f}" if known else ""
            rows.append((f"{size:,}", name, f"{cost.cpu:.2f}", f"{cost.memory:.0f}", growth))
        before = costs
    return table("Scale: CPU seconds and peak MB of whole processes", ("notes", "process", "CPU s", "MB", "x"), rows)


def _costs(size: int, folder: Path) -> dict[str, Cost]:
    home = Path(tempfile.mkdtemp(dir=folder))
    try:
        place = Place(home)
        # Made in a process of its own: the kernel counts a process's peak memory from its parent's on.
        subprocess.run([PYTHON, "-m", "bench.scale", str(home), str(size)], check=True, cwd=REPOSITORY)
        command, env = program(), place.env
        done = {"reindex --no-embed, from nothing": run([*command, "reindex", "--no-embed"], env)}
        done["reindex --no-embed, nothing new"] = _middle([*command, "reindex", "--no-embed"], env)
        done["search, lexical"] = _middle([*command, "search", "--mode", "lexical", "Anna tarenlo"], env)
        subprocess.run([PYTHON, "-m", "bench.scale", str(home), "vectors"], check=True, cwd=REPOSITORY)
        run([*command, "search", "Anna tarenlo"], env)
        done["search, hybrid, vector remembered"] = _middle([*command, "search", "Anna tarenlo"], env)
        done["log"] = _middle([*command, "log", "a line"], env)
        return done
    finally:
        shutil.rmtree(home)


def _middle(argv: list[str], env: dict[str, str]) -> Cost:
    return sorted((run(argv, env) for _ in range(TIMES)), key=lambda cost: cost.cpu)[TIMES // 2]


def _make(home: str, what: str) -> None:
    from bench import vault
    from tars_memory.index import models, prepare

    place = Place(Path(home))
    if what == "vectors":
        place.reindex()
        return
    vault.make(place.root, int(what))
    prepare.ready(models.EMBEDDED, place.places.cache)


if __name__ == "__main__":
    import sys

    _make(*sys.argv[1:])
