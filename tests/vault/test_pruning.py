"""What stays in the journal for ever: who gave a rule, and what was decided."""

from __future__ import annotations

from pathlib import Path

import pytest
from storekit import Place, add, swap

from tars_memory.vault.writing.history import typed_lines


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def later(place: Place, months: int = 7) -> None:
    """Something else is written each month, as many as that; the journal is pruned."""
    for _ in range(months):
        place.clock.move(days=31)
        place.write("later.md", add(b"- later\n"))


def names(place: Place) -> list[tuple[str, str, bool]]:
    return [(entry.command, entry.file, entry.undone) for entry in place.store().history()]


def test_rules_and_decisions_stay_and_nothing_else(place: Place) -> None:
    place.write("a.md", add(b"- typed\n"), command="remember")
    place.write("Procedural.md", add(b"- a rule\n"), command="remember")
    place.write("projects/boat/Procedural.md", add(b"- another\n"), command="edit")
    place.write("projects/boat/deep/Procedural.md", add(b"- no rule\n"), command="edit")
    place.write("Memory.md", add(b"- promoted\n"), command="review")
    place.write("Memory.md", add(b"- typed\n"), command="remember")
    later(place)
    assert [name for name in names(place) if name[0] != "test"] == [
        ("review", "Memory.md", False),
        ("edit", "projects/boat/Procedural.md", False),
        ("remember", "Procedural.md", False),
    ]
    assert typed_lines(place.store().journal, "Procedural.md") == {b"- a rule"}


def test_a_clock_that_was_years_ahead_costs_a_month_at_most_and_keeps_nothing_for_years(place: Place) -> None:
    place.write("a.md", add(b"- old\n"))
    for note in ("b.md", "c.md"):
        place.clock.move(days=31)
        place.write(note, add(b"- new\n"))
    place.clock.move(days=3_650)
    later(place, 2)
    place.clock.move(days=-3_712)
    later(place, 1)
    assert {"b.md", "c.md"} <= {file for _, file, _ in names(place)}
    later(place, 7)
    assert {file for _, file, _ in names(place)} == {"later.md"}
    assert len(place.store().journal.files()) < 7


def test_what_was_taken_back_stays_taken_back(place: Place) -> None:
    place.write("Procedural.md", add(b"- a rule\n"), command="remember")
    place.write("Memory.md", add(b"- promoted\n"), command="review")
    place.clock.move(days=40)
    place.store().undo(last=2)
    assert typed_lines(place.store().journal, "Procedural.md") == set()
    later(place)
    assert ("review", "Memory.md", True) in names(place)
    assert ("remember", "Procedural.md", True) in names(place)
    assert typed_lines(place.store().journal, "Procedural.md") == set()


def test_a_decision_can_be_taken_back_a_year_later(place: Place) -> None:
    place.put("Memory.md", b"- one\n")
    place.write("Memory.md", add(b"- promoted\n"), command="review")
    txn = next(iter(place.store().history())).txn
    later(place, 14)
    place.store().undo(txn)
    assert place.get("Memory.md") == b"- one\n"


def test_a_line_that_was_reworded_since_is_not_called_lost(place: Place) -> None:
    place.write("Memory.md", add(b"- promoted\n"), command="review")
    place.write("Memory.md", swap(b"promoted", b"reworded"), command="edit")
    assert place.store().lost_lines() == []
    later(place)
    assert place.store().lost_lines() == []


def test_pruning_again_changes_nothing(place: Place) -> None:
    place.write("Procedural.md", add(b"- a rule\n"), command="remember")
    later(place)
    first = place.store().journal.files()[0]
    before = first.read_bytes()
    later(place)
    assert place.store().journal.files()[0] == first
    assert first.read_bytes() == before


def test_what_is_kept_for_ever_can_be_forgotten(place: Place) -> None:
    place.write("Procedural.md", add(b"- a secret rule\n"), command="remember")
    later(place)
    assert place.store().purge(["a secret rule"]) == 1
    assert not any(b"secret" in path.read_bytes() for path in place.store().journal.files())
