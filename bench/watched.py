"""A search while a watcher lives: a new query, as a multiple of the lexical search."""

from __future__ import annotations

import os
import signal
import time

from bench.measure import Case, interleaved, table, verdict
from bench.place import Place, program
from bench.start import question
from tars_memory.index.models import SOCKET, is_ours

LIMIT = 1.5
"""Multiple of the lexical search."""
PATIENCE = 60.0


def report(place: Place, rounds: int) -> str:
    """Measure and tell."""
    command, env = program(), place.env
    watcher = os.posix_spawn(command[0], [*command, "watch", "--quiet"], env)
    try:
        state = place.places.vault_state(place.root, None, create=False)
        ends = time.monotonic() + PATIENCE
        while not any(is_ours(found) for found in (state.parent.glob(f"*/{SOCKET}"))):
            if time.monotonic() > ends:
                raise RuntimeError("the watcher opens no socket")
            time.sleep(0.1)
        time.sleep(1.0)
        search, found = [*command, "search"], (0, 1)
        cases = {
            "search, lexical": Case(lambda _: [*search, "--mode", "lexical", "Anna tarenlo"], env, found),
            "search, hybrid, new query, watched": Case(lambda n: [*search, question(1000 + n)], env, found),
        }
        costs = interleaved(cases, rounds)
    finally:
        os.kill(watcher, signal.SIGTERM)
        os.waitpid(watcher, 0)
    floor = costs["search, lexical"].cpu
    rows = [
        (name, f"{cost.cpu * 1000:.1f}", f"{cost.cpu / floor:.2f}", f"{cost.memory:.0f}")
        for name, cost in costs.items()
    ]
    said = verdict(costs["search, hybrid, new query, watched"].cpu / floor, LIMIT)
    return table("With a watcher", ("process", "CPU ms", "x lexical", "peak MB"), rows) + f"limit {LIMIT}: {said}\n"
