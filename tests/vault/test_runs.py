"""Many ops and marks at once leave the very bytes, and tell the very words, of one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from random_documents import document, scale, seeded

from tars_memory.vault import change as changing
from tars_memory.vault.change import Change, Outcome, apply
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.note import Note

PATH = "Memory.md"
WORDS = [*(f"words {number}" for number in range(12)), "a", "b", "- z", "# h", "%% c", "```", "[x] y", "w ^id", "> q"]
WORDS += ["| c |", "\ud800", "---", "1. one", "é 😀", " ", "$$ x", "[x]: http://a", "<div>", "tail  ", "[[a|b]]"]
SECTIONS = ["Notes", "Log", "New", "T", "sub", "two", "notes", "###"]
LISTS = [
    b"## Notes\n- a\n- b\n  - child\n- c\n\ntext\n\n## Log\n- 14:30 x\n- y\n",
    b"# T\n\n## Notes\n* s\n* t\n\n## Log\n\n```\ncode\n```\n\n## Two\n- z",
    b"## Notes\n1. one\n2. two\n   - under\n\n- own\n\n%% open\n",
    b"## Notes\n\n- a\n\n- loose\n\n  more of it\n\n- end\n\n## Log\ntext\n",
]


def note_at_random(chance: random.Random) -> bytes:
    return document(chance) if chance.random() < 0.6 else chance.choice(LISTS)


def ops_at_random(chance: random.Random, data: bytes, count: int) -> list[Change]:
    """Ops of all kinds; some on the same line, some on one that another op made."""
    raws = [entry.raw for entry in grammar.read(PATH, Document(data))] or ["- x"]
    raws += ["- words 1", "- words 2 ([[2026-11-20#^d-2|2026-11-20]])", "- gone"]
    ops = []
    for _ in range(count):
        kind = chance.choice(["append"] * 5 + ["replace", "replace", "remove", "remove", "add_section"])
        source = chance.choice(["", "", "2026-11-20#^d-1", "2026-11-20#^d-2", f"2026-11-20#^d-{chance.random()}"[:20]])
        target = chance.choice(raws) if kind in ("replace", "remove") else ""
        if target and chance.random() < 0.1:
            target = target.replace("- ", "* ", 1)
        ops.append(
            Change(
                kind,  # type: ignore[arg-type]
                chance.choice(SECTIONS[:4] if chance.random() < 0.8 else SECTIONS),
                chance.choice(WORDS),
                target,
                provenance=source if kind != "remove" else "",
                occurrence=chance.choice([None, None, None, 0, 1]) if target else None,
            )
        )
    return ops


def one_by_one(data: bytes, ops: list[Change], *, timed: bool = False) -> tuple[bytes, list[Outcome]]:
    told: list[Outcome] = []
    for op in ops:
        patched = apply(Note(PATH, data, timed=timed), [op])
        data = patched.note.data
        told += patched.outcomes
    return data, told


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many runs are planned, and how many changes together."""
    counted: Counter[str] = Counter()
    together = changing._apply_run

    def watching(note: Note, changes: Sequence[Change]) -> Any:
        found = together(note, changes)
        counted["runs"] += found is not None
        counted["together"] += len(found[1]) if found else 0
        return found

    monkeypatch.setattr(changing, "_apply_run", watching)
    return counted


def check_ops(count: int, seed: int) -> None:
    chance = seeded(seed)
    for number in range(count):
        data = note_at_random(chance)
        ops = ops_at_random(chance, data, chance.randint(2, 14))
        patched = apply(Note(PATH, data), ops)
        wanted, told = one_by_one(data, ops)
        assert patched.note.data == wanted, (seed, number, data, ops)
        assert list(patched.outcomes) == told, (seed, number, data, ops)


def test_ops_at_random_leave_what_they_leave_one_by_one(runs: Counter[str]) -> None:
    check_ops(100, 20261122)
    assert runs["together"] > 50, runs  # it is the runs that are tested here


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(4))
def test_very_many_ops_at_random(seed: int) -> None:
    check_ops(scale(400), seed)


def test_many_ops_take_few_runs(runs: Counter[str]) -> None:
    old = [f"old line {number}" for number in range(90)]
    data = ("## Notes\n" + "".join(f"- {text}\n" for text in old) + "\n## Work\n- w\n").encode()
    ops = [Change("append", "Work" if number % 3 else "Notes", f"new {number}") for number in range(50)]
    ops += [Change("replace", text=f"other {number}", replaces=f"- old line {number}") for number in range(40)]
    ops += [Change("remove", replaces=f"- old line {number}") for number in range(40, 70)]
    ops += [Change("append", "Work", f"new {number}") for number in range(12)]
    patched = apply(Note(PATH, data), ops)
    assert [outcome.status for outcome in patched.outcomes].count("applied") == 120
    assert runs["runs"] < 20, runs
    assert (patched.note.data, list(patched.outcomes)) == one_by_one(data, ops)


def test_new_sections_are_made_together(runs: Counter[str]) -> None:
    data = b"# Memory\n\n## Notes\n- old\n"
    titles = ("Tea", "Boats", "Notes", "Tea", "Trains")
    ops = [Change("append", title, f"{number} of {title}") for number, title in enumerate(titles)]
    patched = apply(Note(PATH, data), ops)
    assert (runs["runs"], runs["together"]) == (1, 5)
    assert (patched.note.data, list(patched.outcomes)) == one_by_one(data, ops)


STATES = ["promoted", "rejected", "expired"]


def marks_at_random(chance: random.Random, data: bytes) -> list[Change]:
    found = grammar.read(PATH, Document(data), timed=True)
    raws = [entry.raw for entry in found] + ["- 14:30 [promoted] w ^d-1", "- gone"]
    return [
        Change(
            "mark",
            replaces=chance.choice(raws),
            block_id=chance.choice(["", "", f"d-{number}"]),
            state=chance.choice(STATES),
            children=tuple(filter(None, [chance.choice(["", "replaced:: old", "replaced:: - x"])])),
        )
        for number in range(chance.randint(1, 8))
    ]


def check_marks(count: int, seed: int) -> int:
    chance = seeded(seed)
    total = 0
    for number in range(count):
        data = note_at_random(chance)
        wanted = marks_at_random(chance, data)
        alone, told = one_by_one(data, wanted, timed=True)
        marked = apply(Note(PATH, data, timed=True), wanted)
        assert (marked.note.data, list(marked.outcomes)) == (alone, told), (seed, number, data, wanted)
        total += marked.changed
    return total


def test_marks_at_random_leave_what_they_leave_one_by_one() -> None:
    assert check_marks(160, 20261122) > 80


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(4))
def test_very_many_marks_at_random(seed: int) -> None:
    assert check_marks(scale(1_000), seed) > scale(500)


def test_five_hundred_marks_take_one_run(runs: Counter[str]) -> None:
    data = ("## Log\n" + "".join(f"- 10:00 [extracted] thing {number} ^d-{number}\n" for number in range(500))).encode()
    entries = grammar.read("2026-11-20.md", Document(data), timed=True)
    wanted = [
        Change(
            "mark",
            replaces=entry.raw,
            block_id=entry.block_id or "",
            state="promoted",
            children=(f"replaced:: old {number}",),
        )
        for number, entry in enumerate(entries)
    ]
    marked = apply(Note("2026-11-20.md", data, timed=True), wanted)
    assert (marked.changed, runs["runs"]) == (500, 1)
    assert marked.note.data.decode() == "## Log\n" + "".join(
        f"- 10:00 [promoted] thing {number} ^d-{number}\n  - replaced:: old {number}\n" for number in range(500)
    )
