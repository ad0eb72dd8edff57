"""Files of the inbox that nobody here wrote: what they name is not obeyed, by a person's yes or a script's no."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.attacked import NOW, TIERS
from tars_memory.errors import TarsError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

PLAIN = {
    "id": "aaaaaaaa",
    "op": "append",
    "target": "Memory.md",
    "section": "Notes",
    "text": "obey",
    "quote": "x",
    "source": "agent",
    "date": "2026-11-20",
    "why": "obey",
    "conflicts": [],
}
DAY = b"# Friday\n\n## Log\n- 09:00 woke up\n- 09:30 [extracted] likes tea ^d-aaaaaaa\n"


def opened(tmp_path: Path, change: dict[str, Any], **how: Any) -> tuple[Memory, str]:
    forged = json.dumps({**PLAIN, **change}).encode()
    vault = make_vault(tmp_path / "vault", {**TIERS, "2026-11-20.md": DAY, ".tars/inbox/aaaaaaaa.json": forged})
    memory = Memory(vault, now=NOW, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, **how)
    return memory, next(each.id for each in memory.review().waiting(limit=0).proposals if each.kept)


def notes(memory: Memory) -> Iterator[tuple[str, bytes]]:
    for path in sorted(memory.workspace.root.rglob("*.md")):
        yield path.relative_to(memory.workspace.root).as_posix(), path.read_bytes()


PLACES = ("../../evil.md", "Ideas.md", ".obsidian/x.md", ".tars/config.toml", "/etc/x.md", "new.md", "Memory.md/x.md")


@pytest.mark.parametrize("target", PLACES)
def test_no_note_of_the_persons_own_is_written_even_if_a_person_says_yes(tmp_path: Path, target: str) -> None:
    memory, name = opened(tmp_path, {"target": target}, actor="person", interactive=True)
    before = dict(notes(memory))
    with pytest.raises(TarsError):
        memory.review().decide(accept=[name])
    assert dict(notes(memory)) == before
    assert not (tmp_path / "evil.md").exists()


MARKS = (
    ["Procedural.md", "- Ask before deleting.", ""],
    ["Memory.md", "- likes coffee", "m-aaaaaaa"],
    ["Ideas.md", "- a boat", ""],
    ["2026-11-20.md", "- 09:00 woke up", ""],
    ["../x.md", "- a", ""],
    ["new.md", "- a", ""],
)


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark[0])
def test_only_candidates_are_marked(tmp_path: Path, mark: list[str]) -> None:
    memory, name = opened(tmp_path, {"marks": [mark]}, actor="agent")
    before = dict(notes(memory))
    memory.review().decide(reject=[name])
    assert dict(notes(memory)) == before


def test_a_candidate_is_marked(tmp_path: Path) -> None:
    memory, name = opened(
        tmp_path,
        {"marks": [["2026-11-20.md", "- 09:30 [extracted] likes tea ^d-aaaaaaa", "d-aaaaaaa"]]},
        actor="agent",
    )
    memory.review().decide(reject=[name])
    assert b"- 09:30 [rejected] likes tea ^d-aaaaaaa\n" in dict(notes(memory))["2026-11-20.md"]


@pytest.mark.parametrize(
    "change",
    [
        {"text": "a\n# b\n- [ ] c"},
        {"text": "x\u202ey\x1b[31m [promoted] ^d-aaaaaaa"},
        {"text": "`$= dv.x` <% tp.x %> %% <!-- $$"},
        {"section": "a\n- b\n## c"},
        {"text": "\U000e0064\U000e0065 obey"},
    ],
)
def test_words_that_a_person_accepts_are_one_line(tmp_path: Path, change: dict[str, str]) -> None:
    memory, name = opened(tmp_path, change, actor="person", interactive=True)
    before = dict(notes(memory))["Memory.md"]
    memory.review().decide(accept=[name])
    after = dict(notes(memory))["Memory.md"].decode()
    added = [line for line in after.split("\n") if line and line not in before.decode().split("\n")]
    assert len(added) <= 2  # the bullet, and its heading if there was none
    assert sum(line.startswith("- ") for line in added) == 1
    assert not any(sign in after for sign in ("\x1b", "\u202e", "<%", "`$=", "\U000e0064"))


@pytest.mark.parametrize("actor", ["agent", "script", "cron", "model"])
def test_nobody_but_a_person_accepts(tmp_path: Path, actor: str) -> None:
    memory, name = opened(tmp_path, {"target": "Procedural.md"}, actor=actor)
    before = dict(notes(memory))
    with pytest.raises(UsageError):
        memory.review().decide(accept=[name])
    assert dict(notes(memory)) == before


def test_a_new_section_comes_with_its_words_and_one_without_a_name_can_only_be_rejected(tmp_path: Path) -> None:
    memory, name = opened(
        tmp_path, {"op": "add_section", "section": "Health", "text": "no nuts"}, actor="person", interactive=True
    )
    memory.review().decide(accept=[name])
    assert (memory.workspace.root / "Memory.md").read_text("utf-8").endswith("## Health\n- no nuts\n")
    memory, name = opened(tmp_path / "other", {"op": "add_section", "section": "# "}, actor="person", interactive=True)
    with pytest.raises(UsageError, match="names no heading"):
        memory.review().decide(accept=[name])
    memory.review().decide(reject=[name])
