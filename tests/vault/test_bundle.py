"""Many ops and marks at once leave the very bytes, and tell the very words, of one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from random_documents import document, scale, seeded

from tars_memory.vault import change as bundling
from tars_memory.vault.change import Change, Outcome, apply
from tars_memory.vault.markdown import edits, entries as grammar
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
def parses(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a bundle is planned, and how many changes were done together."""
    counted: Counter[str] = Counter()
    make: Callable[..., None] = bundling._Plan.__init__

    def counting(self: bundling._Plan, note: Note) -> None:
        counted["parses"] += 1
        make(self, note)

    monkeypatch.setattr(bundling._Plan, "__init__", counting)
    together = bundling._bundle

    def watching(*args: object) -> object:
        found = together(*args)  # type: ignore[arg-type]
        counted["together"] += len(found[1]) if found else 0
        return found

    monkeypatch.setattr(bundling, "_bundle", watching)
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


def test_ops_at_random_leave_what_they_leave_one_by_one(parses: Counter[str]) -> None:
    check_ops(100, 20261122)
    assert parses["together"] > 80, parses  # it is the bundles that are tested here


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(4))
def test_very_many_ops_at_random(seed: int) -> None:
    check_ops(scale(400), seed)


def test_many_ops_take_few_parses(parses: Counter[str]) -> None:
    old = [f"old line {number}" for number in range(90)]
    data = ("## Notes\n" + "".join(f"- {text}\n" for text in old) + "\n## Work\n- w\n").encode()
    ops = [Change("append", "Work" if number % 3 else "Notes", f"new {number}") for number in range(50)]
    ops += [Change("replace", text=f"other {number}", replaces=f"- old line {number}") for number in range(40)]
    ops += [Change("remove", replaces=f"- old line {number}") for number in range(40, 70)]
    ops += [Change("append", "Work", f"new {number}") for number in range(12)]
    random.Random(7).shuffle(ops)
    patched = apply(Note(PATH, data), ops)
    assert [outcome.status for outcome in patched.outcomes].count("applied") == 120
    assert parses["parses"] < 20, parses
    assert (patched.note.data, list(patched.outcomes)) == one_by_one(data, ops)


def test_new_sections_are_made_together(parses: Counter[str]) -> None:
    data = b"# Memory\n\n## Notes\n- old\n"
    titles = ("Tea", "Boats", "Notes", "Tea", "Trains")
    ops = [Change("append", title, f"{number} of {title}") for number, title in enumerate(titles)]
    patched = apply(Note(PATH, data), ops)
    assert (parses["parses"], parses["together"]) == (1, 5)
    assert (patched.note.data, list(patched.outcomes)) == one_by_one(data, ops)


ADDED = [
    "- words",
    "- Anna's ([[a|b]])",
    "- é `x",
    "- a | b",
    "- z:",
    "## New",
    "## Two words",
    "",
    "- 1. one",
    "- <b>",
    "text",
]


def check_ends(count: int, seed: int) -> int:
    """What is put at an end without a parse is what the parser says of it, and all else stays; how often that was."""
    chance = seeded(seed)
    taken = 0
    for number in range(count):
        data = note_at_random(chance)
        more = "".join(f"{line}\n" for line in chance.choices(ADDED[: chance.choice([8, 11])], k=chance.randint(1, 4)))
        note = Note(PATH, data)
        if not edits.parses_at_end(note.document, more.encode()):
            continue
        taken += 1
        after, section = note.with_data(data + more.encode()), note.document.sections[-1].title
        wanted = [(entry.text, entry.depth, entry.section, entry.raw) for entry in note.entries]
        titles = [(each.title, each.level) for each in note.document.sections]
        for line in more.split("\n"):
            if line.startswith("## "):
                section = line[3:]
                titles.append((section, 2))
            elif line:
                wanted.append((grammar.parse(line[2:]).text, 0, section, line))
        case = (seed, number, data, more)
        assert [(entry.text, entry.depth, entry.section, entry.raw) for entry in after.entries] == wanted, case
        assert [(each.title, each.level) for each in after.document.sections] == titles, case
        kinds = [block.kind for block in note.document.blocks]
        assert [block.kind for block in after.document.blocks][: len(kinds)] == kinds, case
    return taken


def test_lines_that_need_no_parse_are_what_the_parser_says() -> None:
    assert check_ends(600, 20261123) > 60


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(4))
def test_very_many_lines_that_need_no_parse(seed: int) -> None:
    assert check_ends(scale(10_000), seed) > scale(1_000)


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


def test_five_hundred_marks_take_one_parse(parses: Counter[str]) -> None:
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
    assert (marked.changed, parses["parses"]) == (500, 1)
    assert marked.note.data.decode() == "## Log\n" + "".join(
        f"- 10:00 [promoted] thing {number} ^d-{number}\n  - replaced:: old {number}\n" for number in range(500)
    )
