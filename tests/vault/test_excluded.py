"""What Obsidian is set to leave out of its searches is left out here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from random_documents import within

from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.layout import Excluded


@pytest.mark.parametrize(
    ("filters", "path", "expected"),
    [
        (["Old/"], "Old/tea.md", True),
        (["old/"], "Old/tea.md", True),
        (["/Old"], "Old.md", True),
        (["Old/"], "New/Old/tea.md", False),
        (["/\\.excalidraw\\.md$/"], "a/b.excalidraw.md", True),
        (["/^a/"], "b/a.md", False),
        (["", 5, None, "/(/"], "tea.md", False),
        ([], "tea.md", False),
    ],
)
def test_filters(filters: list[object], path: str, expected: bool) -> None:
    assert (path in Excluded(filters)) is expected


@pytest.mark.timed
@pytest.mark.parametrize("text", ["/(a+)+$/", "/(/", "/[a-z]{9999999999}/", "/" + "a" * 500 + "/", "/a**b/"])
def test_what_can_not_be_used_is_left_alone(text: str) -> None:
    excluded = Excluded([text])
    assert excluded.not_understood == [text]
    with within(1):
        assert "a" * 200 + "!.md" not in excluded


@pytest.mark.parametrize("text", ["(a|a)" * 22 + "b", "(?:a|a)?" * 14 + "b", "a?" * 24 + "a" * 24 + "b"])
def test_a_filter_that_doubles_its_ways_with_each_choice_is_left_alone(text: str) -> None:
    assert Excluded([f"/{text}/"]).not_understood == [f"/{text}/"]


def test_a_filter_may_name_many_folders() -> None:
    names = ["Archive", "Old", "Trash", "Temp", "Drafts", "Private", "Work", "Journal", "Later", "Lists"]
    excluded = Excluded([f"/^({'|'.join(names)})\\/.*\\.(md|canvas)?$/"])
    assert excluded.not_understood == []
    assert "Lists/a.md" in excluded
    assert "Else/a.md" not in excluded


def test_excluded_notes_are_not_found_until_the_setting_changes(tmp_path: Path) -> None:
    root = make_vault(
        tmp_path / "vault",
        {
            "Old/tea.md": "oolong of old\n",
            "tea.md": "oolong of today\n",
            "Memory.md": "## Notes\n- oolong is remembered\n",
            ".obsidian/app.json": json.dumps({"userIgnoreFilters": ["Old/", "Mem"]}),
        },
    )
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}

    def found() -> set[str]:
        with Memory(root, embedder=HashEmbedder(), env=env) as memory:
            assert memory.verify() == []
            return {hit.path for hit in memory.search("oolong", mode="lexical").hits}

    assert found() == {"tea.md", "Memory.md"}
    with Memory(root, embedder=HashEmbedder(), env=env) as memory:
        assert memory.status()["vault"]["skipped"]["excluded in Obsidian"] == 1
    (root / ".obsidian" / "app.json").write_text("{}")
    assert found() == {"tea.md", "Memory.md", "Old/tea.md"}
    (root / ".obsidian" / "app.json").write_text("not json")
    assert found() == {"tea.md", "Memory.md", "Old/tea.md"}
