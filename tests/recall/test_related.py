"""Tags with their notes, and notes near a note: each with its reason, or none."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path

import pytest

from tars_memory.errors import NotFoundError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
TOPICS = {
    "bread": "flour water salt yeast dough oven crust sourdough starter proofing loaf baking",
    "boats": "mast sail rudder keel harbour anchor tide mooring hull varnish deck oars",
    "tea": "leaf oolong kettle steep cup pot brewing sencha matcha gaiwan infusion aroma",
    "code": "parser token compiler stack register branch pointer linker symbol macro buffer heap",
    "birds": "heron robin wing feather nest migration beak plumage finch owl swallow song",
}


def opened(root: Path, project: str = "none") -> Memory:
    env = {"TARS_MEMORY_HOME": str(root.parent / "home"), "TARS_MEMORY_BACKGROUND": "0"}
    return Memory(root, env=env, now=NOW, project=project, embedder=HashEmbedder())


def topics(chance: random.Random) -> dict[str, str]:
    return {
        f"{topic} {number}.md": " ".join(chance.choices(words.split(), k=25)) + f"\n\nremark {number}\n"
        for topic, words in TOPICS.items()
        for number in range(12)
    }


def reasons(memory: Memory, name: str, limit: int = 50) -> dict[str, set[tuple[str, str]]]:
    return {
        each.path: {(why.kind, why.what) for why in each.reasons if why.kind != "meaning"}
        for each in memory.related(name, limit=limit)[1]
    }


def test_what_means_the_same_is_near_and_gibberish_is_near_nothing(tmp_path: Path) -> None:
    chance = random.Random(11)
    notes = topics(chance)
    notes["odd.md"] = " ".join("".join(chance.choices("bcdfgjkmnpqrstvwxz", k=7)) for _ in range(25))
    notes["other.md"] = "an unrelated remark about taxes, the weather in March and a dentist\n"
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        assert memory.related("bread 3")[1] == [], "there are no vectors yet"
        memory.reindex()
        for topic in TOPICS:
            path, found = memory.related(f"{topic} 3", limit=5)
            assert path == f"{topic} 3.md" and found
            assert {each.path.split()[0] for each in found} == {topic}
            assert all(why.kind == "meaning" and why.what == "1" for each in found for why in each.reasons)
        assert memory.related("odd")[1] == [] and memory.related("other")[1] == []


def test_links_count_in_both_directions_and_those_of_a_hub_count_less(tmp_path: Path) -> None:
    notes = {f"n{i}.md": "x\n" for i in range(40)}
    notes |= {
        "Rye.md": "[[n1]] and [[n2]]\n", "Oat.md": "see [[rye]]\n", "Hub.md": " ".join(f"[[n{i}]]" for i in range(40)),
        "Map.md": "[[Rye]] " + " ".join(f"[[n{i}]]" for i in range(20)), "Self.md": "[[Self]]\n",
    }  # fmt: skip
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        found = reasons(memory, "Rye")
        assert found["n1.md"] == found["n2.md"] == {("linked_from", "")}
        assert found["Oat.md"] == {("links_to", "")}
        order = [each.path for each in memory.related("Rye", limit=50)[1]]
        assert order.index("Oat.md") < order.index("n1.md")
        assert {("target", "n1"), ("target", "n2")} <= found["Map.md"] and ("links_to", "") in found["Map.md"]
        assert reasons(memory, "Self") == {}


def test_a_link_comes_before_a_tag(tmp_path: Path) -> None:
    notes = {f"n{i}.md": "x\n" for i in range(40)}
    notes |= {
        "a.md": "#rare " + " ".join(f"[[n{i}]]" for i in range(5)), "b.md": "#rare\n", "n4.md": "#rare #rarer\n",
        "c.md": "#rarer [[a]]" + " ".join(f"[[n{i}]]" for i in range(9, 29)),
    }  # fmt: skip
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        found = memory.related("a")[1]
        assert [near.path for near in found] == ["n4.md", "n0.md", "n1.md", "n2.md", "n3.md", "c.md", "b.md"]
        assert [why.kind for why in found[0].reasons] == ["linked_from", "tag"] and found[-1].score > found[1].score


def test_a_number_names_the_only_note_that_begins_with_it(tmp_path: Path) -> None:
    notes = {
        "z/202401011200 Coffee.md": "beans\n", "202401011201 Tea.md": "leaves\n", "202401011201 Mate.md": "leaves\n",
        "2024-11-20 met Anna.md": "beans\n", "Coffee shops.md": "[[202401011200]]\n",
    }  # fmt: skip
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        for typed in ("202401011200", "202401011200.md", "Coffee"):
            assert memory.place(typed).path == "z/202401011200 Coffee.md"
        for other in ("202401011201", "2024", "20240101120"):
            with pytest.raises(NotFoundError):
                memory.place(other)


def test_tags_and_targets_count_that_few_notes_have(tmp_path: Path) -> None:
    notes = {f"n{i}.md": "x #common [[Everyone]]\n" for i in range(100)}
    notes |= {
        "a.md": "#rare #common [[Nobody yet]]\n",
        "b.md": "---\ntags: Rare\n---\n",
        "c.md": "[[nobody yet|she]]\n",
    }
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        assert reasons(memory, "a") == {"b.md": {("tag", "rare")}, "c.md": {("target", "Nobody yet")}}
        assert reasons(memory, "n1") == {}


def test_a_project_sees_its_own_and_what_is_outside_and_nobody_else_s(tmp_path: Path) -> None:
    notes = {
        "a.md": "#rare [[Nobody]]\n", "projects/boat/b.md": "#rare #inboat [[a]]\n",
        "projects/house/c.md": "#rare #inhouse [[a]] [[Nobody]]\n", **{f"n{i}.md": "x\n" for i in range(20)},
    }  # fmt: skip
    root = make_vault(tmp_path / "vault", notes)
    with opened(root) as memory:
        assert reasons(memory, "a") == {} and [each.tag for each in memory.tags()] == ["rare"]
        with pytest.raises(NotFoundError):
            memory.tagged("inboat")
        with pytest.raises(NotFoundError):
            memory.related("projects/boat/b")
    with opened(root, "boat") as memory:
        assert reasons(memory, "a") == {"projects/boat/b.md": {("tag", "rare"), ("links_to", "")}}
        assert {each.tag: each.notes for each in memory.tags()} == {"rare": 2, "inboat": 1}
        assert [each.path for each in memory.tagged("rare")] == ["a.md", "projects/boat/b.md"]


def test_a_tag_above_others_counts_each_note_once(tmp_path: Path) -> None:
    notes = {
        "a.md": "#food/tea #food/tea/green #Food\n", "b.md": "- one #food/bread\n- two\n", "c.md": "`#food` x#food\n",
        "d.md": "---\ntags: [food]\n---\n", "e.md": "#日本/茶 #größe\n", "f.md": "#foodie\n",
    }  # fmt: skip
    with opened(make_vault(tmp_path / "vault", notes)) as memory:
        assert {each.tag: each.notes for each in memory.tags()} == {
            "food": 3, "food/bread": 1, "food/tea": 1, "food/tea/green": 1, "foodie": 1, "größe": 1,
            "日本": 1, "日本/茶": 1,
        }  # fmt: skip
        assert [(each.path, each.whole, each.lines) for each in memory.tagged("#Food/")] == [
            ("a.md", False, [(1, "#food/tea #food/tea/green #Food")]),
            ("b.md", False, [(1, "- one #food/bread")]),
            ("d.md", True, []),
        ]
        assert [each.path for each in memory.tagged("日本")] == ["e.md"]
        with pytest.raises(UsageError):
            memory.tagged(" # ")
