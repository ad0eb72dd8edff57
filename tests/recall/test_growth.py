"""What is always loaded is measured, its growth is told, and nothing of it is left out in silence."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tars_memory.jobs.sleep import sleep
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")


class Place:
    def __init__(self, base: Path, notes: dict[str, str]) -> None:
        self.root = make_vault(base / "vault", notes)
        self.env = {"TARS_MEMORY_HOME": str(base / "home")}

    def memory(self, now: datetime = NOW, **more: Any) -> Memory:
        return Memory(
            self.root,
            now=now,
            env=self.env,
            **{"actor": "person", "interactive": True, "embedder": HashEmbedder(), **more},
        )

    def loaded(self, now: datetime = NOW, **more: Any) -> dict[str, Any]:
        with self.memory(now, **more) as memory:
            loaded: dict[str, Any] = memory.status()["loaded"]
            return loaded


def bullets(count: int, word: str = "fact") -> str:
    return "".join(f"- {word} number {n} of the many that there are\n" for n in range(count))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    notes = {
        "Memory.md": f"# Memory\n\n## People\n\n{bullets(5)}\n## Notes\n\n{bullets(20, 'note')}",
        "Procedural.md": "## Rules\n- be brief\n",
    }
    return Place(tmp_path, notes)


def test_tokens_and_the_largest_sections(place: Place) -> None:
    told = place.loaded()
    assert list(told["notes"]) == ["Memory.md", "Procedural.md"]
    memory = told["notes"]["Memory.md"]
    assert memory["tokens"] == -(-len((place.root / "Memory.md").read_text()) // 4)
    assert list(memory["sections"]) == ["Notes", "People", "Memory"]
    assert memory["sections"]["Notes"] > 3 * memory["sections"]["People"] > 0
    assert (told["left_out"], told["grown"], told["days"]) == (0, 0, 30)
    assert told["tokens"] == sum(note["tokens"] for note in told["notes"].values())


def test_what_was_written_in_the_last_days_counts_as_growth(place: Place) -> None:
    with place.memory(NOW - timedelta(days=40)) as memory:
        memory.remember("long ago " * 10)
    with place.memory(NOW - timedelta(days=2)) as memory:
        memory.remember("x" * 398)
        memory.remember("y" * 100)
        memory.undo()
    told = place.loaded()
    assert told["grown"] == told["notes"]["Memory.md"]["grown"] == -(-401 // 4)
    assert place.loaded(NOW + timedelta(days=40))["grown"] == 0
    with place.memory() as memory:
        memory.forget("x" * 398)
    assert place.loaded()["grown"] == 0


@pytest.mark.parametrize("count", [1, 100, 400, 1000])
def test_every_line_is_shown_or_listed_as_left_out(tmp_path: Path, count: int) -> None:
    place = Place(tmp_path, {"Memory.md": f"## Notes\n\n{bullets(count)}", "Procedural.md": bullets(count, "rule")})
    with place.memory() as memory:
        packed = memory.context()
    gone = {(d.path, n) for d in packed.dropped for n in range(d.start_line, d.end_line + 1)}
    shown = {(b.path, n) for b in packed.blocks for n in range(b.start_line, b.end_line + 1)}
    for path in ("Memory.md", "Procedural.md"):
        lines = (place.root / path).read_text().splitlines()
        there = {(path, number) for number, line in enumerate(lines, 1) if line.strip()}
        assert there <= gone | shown and not there & gone & shown
    told = place.loaded()
    assert told["left_out"] == sum(path in ("Memory.md", "Procedural.md") for path, _ in gone if told["left_out"])
    assert (told["left_out"] > 0) is (count >= 100)


def test_doctor_and_sleep_tell_of_it(tmp_path: Path) -> None:
    place = Place(tmp_path, {"Memory.md": f"## Notes\n\n{bullets(400)}"})
    with place.memory() as memory:
        memory.remember("one more thing to keep")
        (found,) = [each for each in memory.doctor()["findings"] if each["kind"] == "size"]
        assert found["path"] == "Memory.md" and "largest: Notes" in found["message"]
        assert "context leaves out" in found["message"] and "+7 in 30 days" in found["message"]
        step = next(step for step in sleep(memory).steps if step.name == "size")
    assert "context leaves out" in step.told and step.counts["left_out"] > 100
    assert step.counts["tokens"] == place.loaded()["tokens"]


def test_a_small_memory_is_told_by_its_numbers_alone(place: Place) -> None:
    with place.memory() as memory:
        assert not [each for each in memory.doctor()["findings"] if each["kind"] == "size"]
        step = next(step for step in sleep(memory).steps if step.name == "size")
    assert step.told == "" and step.counts["tokens"] > 0


def test_a_project_is_measured_before_the_vault(place: Place) -> None:
    (place.root / "projects/boat").mkdir(parents=True)
    (place.root / "projects/boat/Memory.md").write_text("## Notes\n- the hull is blue\n")
    told = place.loaded(project="boat")
    assert list(told["notes"]) == ["projects/boat/Memory.md", "Memory.md", "Procedural.md"]
    assert "projects/boat/Memory.md" not in place.loaded()["notes"]
