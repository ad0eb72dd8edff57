"""Links and properties: what leads where, what links back, and searches narrowed by both."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_documents import within

from tars_memory.errors import NotFoundError, UsageError
from tars_memory.index.chunking import note_properties, parse_condition
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

NOTES = {
    "Home.md": "---\nrelated: '[[Tea]]'\n---\nSee [[Tea|the leaf]], [[Boats#Harbour]], ![[photo.png]], [[Nobody]].\n",
    "notes/Tea.md": "---\nstatus: Done\npriority: 3\ntags: [drink]\naliases: [Leaf]\n---\n# Tea\n\nOolong at dawn.\n",
    "notes/Boats.md": "# Boats\n\n## Harbour\n- [ ] paint the hull [due:: 2026-12-01] oolong\nstatus:: open\n",
    "notes/Cups.md": "Porcelain for oolong: [the tea](Tea.md), [web](https://x.org/Tea.md), [far](../Home.md#top).\n",
    "a/Tea.md": "Another tea, oolong too. [[Home]]\n",
    "projects/boat/Plan.md": "oolong [[Home]] [[Tea]] canary\n",
    "photo.png": "",
}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    root = make_vault(tmp_path / "vault", NOTES)
    return Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")})


def test_out_and_back(memory: Memory) -> None:
    home = memory.links("Home")
    assert dict(home.out) == {
        "Tea": "a/Tea.md",
        "Boats": "notes/Boats.md",
        "photo.png": "photo.png",
        "Nobody": None,
    }
    assert home.back == ["a/Tea.md", "notes/Cups.md"]
    assert memory.links("notes/Tea").back == ["notes/Cups.md"]
    assert memory.links("notes/Tea.md").path == "notes/Tea.md"
    assert memory.links("a/Tea").back == ["Home.md"]


def test_a_project_is_not_seen_without_its_name(memory: Memory) -> None:
    assert "projects/boat/Plan.md" in memory.links("Home", project="boat").back
    with pytest.raises(NotFoundError):
        memory.links("Plan")
    assert memory.links("Plan", project="boat").path == "projects/boat/Plan.md"


@pytest.mark.parametrize("name", ["Nobody", "", "photo.png", "../Nobody", "/etc/passwd", "x\0y", "💥" * 500])
def test_a_note_that_is_none(memory: Memory, name: str) -> None:
    with pytest.raises(NotFoundError):
        memory.links(name)


def test_a_name_means_the_note_that_open_finds(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"🐝 Bees.md": "# 🐝 Bees\n\nhoney\n", "Garden.md": "the [[🐝 Bees]]\n"})
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        assert memory.links("Bees") == memory.links("🐝 Bees")
        assert found(memory, "garden bees", links_to=["Bees"]) == {"Garden.md"}
        with pytest.raises(NotFoundError) as raised:
            memory.links("Gardens")
        assert memory.links("../Garden").path == "Garden.md"
    assert raised.value.hint == "did you mean Garden?"


def found(memory: Memory, text: str = "oolong", **options: object) -> set[str]:
    return {hit.path for hit in memory.search(text, mode="lexical", **options).hits}  # type: ignore[arg-type]


def test_a_search_narrowed_by_links(memory: Memory) -> None:
    assert found(memory, links_to=["Home"]) == {"a/Tea.md", "notes/Cups.md"}
    assert found(memory, linked_to=["Home"]) == {"a/Tea.md", "notes/Boats.md"}
    assert found(memory, links_to=["Home"], linked_to=["Home"]) == {"a/Tea.md"}
    assert found(memory, links_to=["Home"], project="boat") >= {"projects/boat/Plan.md"}
    with pytest.raises(NotFoundError):
        found(memory, links_to=["Nobody"])


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["status=done"], {"notes/Tea.md"}),
        (["STATUS = Done"], {"notes/Tea.md"}),
        (["status"], {"notes/Tea.md", "notes/Boats.md"}),
        (["status!=done"], {"notes/Boats.md", "notes/Cups.md", "a/Tea.md"}),
        (["priority>2"], {"notes/Tea.md"}),
        (["priority>=10"], set()),
        (["due<2027"], {"notes/Boats.md"}),
        (["due<2026-12-01"], set()),
        (["status=open", "due<=2026-12-01"], {"notes/Boats.md"}),
        (["nothing=here"], set()),
        (["tags=drink"], {"notes/Tea.md"}),
    ],
)
def test_a_search_narrowed_by_properties(memory: Memory, conditions: list[str], expected: set[str]) -> None:
    assert found(memory, where=conditions) == expected
    hybrid = {hit.path for hit in memory.search("oolong", where=conditions).hits}
    assert hybrid <= expected


def test_filters_alone_list_what_they_leave(memory: Memory) -> None:
    assert found(memory, "", where=["status"]) == {"notes/Tea.md", "notes/Boats.md"}


@pytest.mark.parametrize("text", ["", "=", "=x", "status=", "  ", "!=y", "<"])
def test_what_is_no_condition(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError):
        found(memory, where=[text])


def test_a_changed_note_has_its_new_links_and_properties(memory: Memory) -> None:
    assert found(memory, where=["status=done"])
    (memory.workspace.root / "notes" / "Tea.md").write_text("---\nstatus: brewing\n---\noolong [[Cups]]\n")
    assert found(memory, where=["status=done"]) == set()
    assert found(memory, where=["status=brewing"]) == {"notes/Tea.md"}
    assert "notes/Tea.md" in memory.links("Cups").back
    assert memory.verify() == []
    (memory.workspace.root / "notes" / "Tea.md").unlink()
    assert found(memory, where=["status=brewing"]) == set()
    assert memory.verify() == []


def test_the_properties_of_a_note() -> None:
    lines = ["- [x] done:: yes", "text [a:: 1] (b:: two words) and http://x::y", "c++::x", "> quoted:: here", "x::y"]
    said = note_properties({"Tags": ["A", "B"], "nested": {"x": "y"}, "empty": ""}, lines)
    assert said == (
        ("tags", "a"),
        ("tags", "b"),
        ("empty", ""),
        ("done", "yes"),
        ("a", "1"),
        ("b", "two words"),
        ("quoted", "here"),
    )
    assert len(note_properties({str(n): "v" for n in range(5000)}, [])) == 200
    assert parse_condition("due <= 2026-12-01") == ("due", "<=", "2026-12-01")


@pytest.mark.timed
def test_a_line_of_a_megabyte_is_read_in_time() -> None:
    with within(5):
        note_properties({}, ["a" * 500_000 + "::", "[" * 200_000, "a:: " * 50_000, "[a::" * 20_000])
