"""Random notes through the real store: what capture writes, undo takes back to the byte."""

from __future__ import annotations

from random import Random

import pytest
from random_documents import document, scale, seeded

from tars_memory.capture.amend import edit, entries
from tars_memory.capture.remember import log, remember
from tars_memory.jobs.forgetting import forget


def write(bench, random: Random, words: str):
    found = entries(bench.ctx(), "semantic")
    what = random.choice(["remember", "log", "edit", "forget"] if found else ["remember", "log"])
    if what == "remember":
        return remember(bench.ctx(), words, section=random.choice(["Log", "Notes", "New"]))
    if what == "log":
        return log(bench.ctx(), words)
    one = random.choice(found)
    return edit(bench.ctx(), one.ref, words) if what == "edit" else forget(bench.ctx(), one.ref)


def there_and_back(bench, seed: int, count: int) -> None:
    random = seeded(seed)
    for number in range(count):
        before = document(random)
        bench.put("Memory.md", before)
        bench.put("2026-11-21.md", before)
        receipt = write(bench, random, f"words {number}")
        assert receipt.written
        assert (bench.root / receipt.path).read_bytes() != before
        bench.ctx().store.undo(receipt.txn)
        assert (bench.root / receipt.path).read_bytes() == before


def test_undo_gives_the_exact_bytes_back(bench):
    there_and_back(bench, 1, 60)


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(200, 204))
def test_undo_gives_the_exact_bytes_back_in_20_000_documents(bench, seed):
    there_and_back(bench, seed, scale(5_000))
