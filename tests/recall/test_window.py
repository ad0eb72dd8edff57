"""Shares of a model's window: never exceeded, and a project's memory goes before all."""

from __future__ import annotations

import os
import random
from datetime import datetime
from pathlib import Path

import pytest

from tars_memory.errors import UsageError
from tars_memory.memory import Memory
from tars_memory.recall.context import ContextRequest, context
from tars_memory.recall.packing import KINDS, LOADED, NO_ROOM
from tars_memory.recall.search import Answer
from tars_memory.testing import make_vault
from tars_memory.vault.vault import Vault

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
RECALLED = ("facts", "recalled")
THINGS = ["standup", "review", "lunch", "ferry"]


def filled(chance: random.Random, most: int, mark: str) -> str:
    """A note of bullets, each with words of its own, some signed, some decisions; some that others may contradict."""
    lines, decided = [], []
    for number in range(chance.randint(0, most)):
        words = " ".join(f"{mark}{number}w{chance.randint(0, 10**6)}" for _ in range(chance.randint(1, 12)))
        signed = chance.choice(["", "", " [by:: Anna]", " [by:: claude] ([[2026-11-20#^d-abc|2026-11-20]]) ^d-x"])
        if chance.random() < 0.2:
            words = f"the {chance.choice(THINGS)} is at {chance.randint(1, 23)}:00"
        if chance.random() < 0.1:
            decided.append(f"- 20{chance.randint(10, 26)}-0{chance.randint(1, 9)}-11 10:00 {words}{signed}")
        else:
            lines.append(f"- {words}{signed}")
    found = "## Notes\n\n" + "\n".join(lines) + "\n"
    return f"{found}\n## Decisions\n\n" + "\n".join(decided) + "\n" if decided else found


def stated(chance: random.Random) -> str:
    """Facts, some of which a project's may stand against."""
    lines = [f"- job:: {chance.choice(['cook', 'captain', 'clerk'])}{chance.randint(0, 99)} [by:: Anna]"]
    lines += [f"- likes:: {chance.randint(0, 10**9)}" for _ in range(chance.randint(0, 4))]
    return "## Me\n\n" + "\n".join(lines[chance.randint(0, 1) :]) + "\n"


def cases(folder: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    root = folder / "vault"
    (root / "projects" / "boat").mkdir(parents=True, exist_ok=True)
    cut = whole = against = signed = 0
    for _ in range(count):
        notes = {
            "Memory.md": filled(chance, 40, "g"),
            "Procedural.md": filled(chance, 10, "r"),
            "2026-11-21.md": filled(chance, 30, "d"),
            "User.md": filled(chance, 5, "u"),
            "Facts.md": stated(chance),
            "projects/boat/Facts.md": stated(chance),
            "projects/boat/Memory.md": filled(chance, 30, "p"),
            "projects/boat/Procedural.md": filled(chance, 8, "q"),
            "Long.md": filled(chance, 60, "l"),
        }
        for path, text in notes.items():
            (root / path).write_text(text)
        window = chance.choice([0, 40, 200, 1000, 4000, 16000]) + chance.randint(0, 99)
        memory, recall = window * 15 // 100, window * 35 // 100
        approved = frozenset(notes["Procedural.md"].encode().split(b"\n")) if chance.random() < 0.5 else frozenset()
        lines = list(enumerate(notes["Long.md"].split("\n"), 1))
        found = [
            Answer("Long.md", number, line, False) for number, line in chance.sample(lines, len(lines)) if line.strip()
        ]
        asked = ContextRequest(
            "what do I like",
            budget=memory + recall,
            recall=recall,
            project=chance.choice(["", "boat"]) or None,
        )
        packed = context(
            Vault(root),
            asked,
            now=NOW,
            typed=lambda path, approved=approved: approved if path == "Procedural.md" else frozenset(),
            answers=lambda _, found=found: found,
        )
        spent = {kind: sum(b.tokens for b in packed.blocks if b.kind == kind) for kind in KINDS}
        told = [block for block in packed.blocks if block.kind == "conflicts"]
        recalled = sum(spent[kind] for kind in RECALLED)
        recalled += sum(block.tokens for block in told if block.path.endswith("Facts.md"))
        loaded = sum(spent.values()) - recalled
        own = ("projects/boat/Memory.md", "projects/boat/Procedural.md")
        project = sum(b.tokens for b in packed.blocks if b.path in own)
        assert all(line.endswith("holds here.") for block in told for line in block.text.split("\n") if line)
        against += bool(told)
        signed += "[by:: Anna]" in packed.text
        assert packed.used <= memory + recall
        assert recalled <= recall
        assert loaded - project <= memory
        if not project:
            assert loaded <= memory
        gone = [d for d in packed.dropped if d.path in own and d.why != LOADED]
        gone = [d for d in gone if "loaded" not in d.why and "says the same" not in d.why and "nothing" not in d.why]
        if gone:
            cut += 1
            others = [block.path for block in packed.blocks if block.path not in own]
            memory_gone = [d for d in gone if d.path.endswith("Memory.md") and d.why == NO_ROOM]
            assert not memory_gone or not others, "all else goes before the project's memory"
        whole += bool(project and not gone)
    assert min(cut, whole, signed, 2 * against) > count / 20, "all of it happens"


def test_a_share_is_never_exceeded(tmp_path: Path) -> None:
    cases(tmp_path, 80, 1)


@pytest.mark.prove
def test_a_share_is_never_exceeded_in_ten_thousand_cases(tmp_path: Path) -> None:
    cases(tmp_path, max(300, int(10_000 * SCALE)), 2)


def test_the_shares_are_settings(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n\n" + "- tea and more of it\n" * 1})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, now=NOW, env=env, project="none") as memory:
        assert memory.context(window=16_000).budget == 2_400 + 5_600
        assert "tea" in memory.context(window=1_000).text and memory.context(window=100).text == ""
        with pytest.raises(UsageError, match="both"):
            memory.context(window=1_000, budget=10)
    more = {**env, "TARS_MEMORY_WINDOW_MEMORY": "60"}
    with Memory(root, now=NOW, env=more, project="none") as memory, pytest.raises(UsageError, match="more than 100"):
        memory.context(window=1_000)
