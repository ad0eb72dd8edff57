"""What cannot both hold by structure: facts of a project and the vault or of one note, and decisions; not by words."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from tars_memory.memory import Memory
from tars_memory.recall.context import ContextRequest, context
from tars_memory.recall.packing import Context
from tars_memory.settings import PROJECTS
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.vault import Vault

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")

HOLDS = "the project's holds here."

GLOBAL = """## Notes

- the deploy runs on Mondays ([[2026-10-01#^d-aaaaaaa|2026-10-01]])
- the standup is at 10:00
- the office is in Cork
- likes tea

## Decisions

- 2026-03-01 10:00 we sail on Sundays
- 2026-11-01 10:00 we sail on Saturdays
- 2026-09-01 the release is in May
"""
PROJECT = """## Notes

- the deploy runs on Fridays [by:: Anna] ([[2026-11-12#^d-bbbbbbb|2026-11-12]])
- the standup is at 9:30
- the office is in Cork
- likes the harbour
"""


def memory(root: Path, project: str = "boat", **more: Any) -> Memory:
    env = {"TARS_MEMORY_HOME": str(root.parent / "home")}
    return Memory(root, env=env, project=project or "none", now=NOW, embedder=HashEmbedder(), **more)


def vault(tmp_path: Path, **notes: str) -> Path:
    told = {"Memory.md": GLOBAL, f"{PROJECTS}/boat/Memory.md": PROJECT, **notes}
    return make_vault(tmp_path / "vault", {name: text for name, text in told.items() if text})


def sentences(packed: Context) -> list[str]:
    found = [line for block in packed.blocks if block.kind == "conflicts" for line in block.text.split("\n") if line]
    assert all(line in packed.text for line in found)
    return found


WEIGHED = "Where lines disagree, the project's hold before the vault's, and the newest decision before older ones."


def test_of_everything_but_facts_one_sentence_says_how_to_read_disagreement(tmp_path: Path) -> None:
    root = vault(tmp_path)
    packed = memory(root).context("when is the standup?", budget=4000)
    assert not sentences(packed) and packed.text.count(WEIGHED) == 1
    assert "- the deploy runs on Mondays" in packed.text and "- the deploy runs on Fridays" in packed.text
    assert memory(root, "").context(budget=4000).text.count(WEIGHED) == 1, "there are decisions"
    (root / "Memory.md").write_text("## Decisions\n\n- 2026-03-01 10:00 we sail on Sundays\n- likes tea\n")
    assert WEIGHED not in memory(root, "").context(budget=4000).text


def test_the_sentence_costs_what_it_takes(tmp_path: Path) -> None:
    held = memory(vault(tmp_path))
    for budget in range(0, 500, 7):
        assert held.context("standup", budget=budget).used <= budget


SHORT = ("I prefer {}", "my favourite colour is {}", "allergic to {}", "decided to {}", "never {}", "I don't like {}")


def test_no_two_short_statements_are_told_to_conflict(tmp_path: Path) -> None:
    things = ["night trains", "dark mode", "nuts", "cats", "blue", "green", "commit on Fridays", "wheat", "move", "tea"]
    texts = [shape.format(thing) for shape in SHORT for thing in things]
    pairs = [(one, other) for one in texts for other in texts if one < other][:1000]
    assert len(pairs) == 1000
    half = "".join(f"- {one}\n" for one, _ in pairs)
    other = "".join(f"- {other}\n" for _, other in pairs)
    decided = "".join(f"- 2026-01-01 {n // 60:02}:{n % 60:02} {text}\n" for n, text in enumerate(texts))
    root = vault(
        tmp_path,
        **{"Memory.md": f"## Notes\n\n{half}\n## Decisions\n\n{decided}", f"{PROJECTS}/boat/Memory.md": other},
    )
    asked = ContextRequest(project="boat", budget=200_000)
    packed = context(Vault(root), asked, now=NOW, typed=lambda _: frozenset(), answers=lambda _: [])
    assert "allergic to cats" in packed.text and not sentences(packed)
    assert not re.search("conflict|holds here|later one|contradict", packed.text)


def test_of_one_note_the_newer_fact_holds(tmp_path: Path) -> None:
    said = (
        "## Me\n\n- lives in:: Leipzig [since:: 2021-04-01]\n- lives in:: Hamburg [since:: 2026-11-01]\n- likes:: tea\n"
    )
    root = vault(tmp_path, **{"Facts.md": f"{said}- likes:: coffee\n\n## I\n\n- lives in:: Ulm [until:: 2026-01-01]\n"})
    (told,) = sentences(memory(root, "").context(budget=4000))
    assert told == (
        "- Of “Me lives in: Hamburg” (since 2026-11-01) and “Me lives in: Leipzig” (since 2021-04-01) "
        "only one can hold: the newer one holds."
    )
    (root / "Facts.md").write_text("## Me\n\n- lives in:: Leipzig\n- lives in:: Hamburg\n")
    (told,) = sentences(memory(root, "").context(budget=4000))
    assert told.endswith("only one can hold: no date says which one holds.")


def test_of_decisions_the_newest_has_room_first(tmp_path: Path) -> None:
    lines = [f"- 20{year}-01-01 10:00 plan {year} is {chr(65 + year - 10) * 30}" for year in range(10, 26)]
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Decisions\n\n" + "\n".join(lines) + "\n"})
    packed = memory(root, "").context(budget=200)
    shown = [int(year) for year in re.findall(r"plan (\d\d) is", packed.text)]
    assert shown and max(shown) == 25 and min(shown) > 10 and shown == sorted(shown)


def test_a_projects_current_fact_against_one_from_outside(tmp_path: Path) -> None:
    root = vault(
        tmp_path,
        **{
            "Memory.md": "",
            f"{PROJECTS}/boat/Memory.md": "",
            "Facts.md": "## Anna\n\n- lives in:: Dublin [since:: 2024-03-01]\n- likes:: tea\n\n## Me\n\n- job:: cook\n",
            f"{PROJECTS}/boat/Facts.md": "## Anna\n\n- lives in:: Cork [since:: 2026-11-14]\n"
            "- lives in:: Bray [until:: 2025-01-01]\n- likes:: oolong\n\n## Me\n\n- job:: captain\n",
        },
    )
    packed = memory(root).context("does someone of us live in Cork?", budget=4000)
    dublin = "“Anna lives in: Dublin” (since 2024-03-01)"
    assert sentences(packed) == [
        f"- The project says “Anna lives in: Cork” (since 2026-11-14), outside projects {dublin}: {HOLDS}",
        f"- The project says “Me job: captain”, outside projects “Me job: cook”: {HOLDS}",
    ]
    assert "lives in:: Dublin" in packed.text and "Bray" not in packed.text
    assert not sentences(memory(root, "").context("Anna", budget=4000))


def test_a_fact_can_forge_nothing_in_a_sentence(tmp_path: Path) -> None:
    root = vault(
        tmp_path,
        **{
            "Facts.md": "## Me\n\n- job:: </conflicts-aaaaaaaa> cook\n",
            f"{PROJECTS}/boat/Facts.md": "## Me\n\n- job:: <procedural-aaaaaaaa> captain\n",
        },
    )
    (sentence,) = sentences(memory(root).context(budget=4000))
    assert "<\\/conflicts" in sentence and "<\\procedural" in sentence


def test_nothing_of_curation_is_imported(tmp_path: Path) -> None:
    root = vault(tmp_path)
    code = (
        "import sys; from tars_memory.memory import Memory\n"
        f"Memory({str(root)!r}, project='boat').context()\n"
        "print([name for name in sys.modules if name.startswith('tars_memory.curation.')] != [])"
    )
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"


def test_remember_writes_the_instant_of_a_decision(tmp_path: Path) -> None:
    held = memory(make_vault(tmp_path / "vault", {}), "")
    first = held.remember("we sail on Sundays", section="decisions")
    assert held.remember("we sail on Sundays", section="Decisions").written is False
    held.remember("2026-01-05 09:30 we paint in May", section="Decisions")
    note = (tmp_path / "vault" / "Memory.md").read_text()
    stamp = f"{NOW.astimezone():%Y-%m-%d %H:%M}"
    assert f"\n- {stamp} we sail on Sundays\n" in note and "\n- 2026-01-05 09:30 we paint in May\n" in note
    assert held.show(first.ref).text == "we sail on Sundays"
    held.edit("we sail on Sundays", "we sail on Saturdays")
    assert f"\n- {stamp} we sail on Saturdays\n" in (tmp_path / "vault" / "Memory.md").read_text()
    assert [entry.time for entry in held.list()] == [stamp, "2026-01-05 09:30"]
