"""Conversations have vectors as notes do: found by meaning, in their scope, and gone with what was said."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tars_memory.index import database, vectors
from tars_memory.index.database import CACHE_FILE
from tars_memory.index.models import QueryVector
from tars_memory.index.passages import Embedded
from tars_memory.jobs.sleep import sleep
from tars_memory.memory import Memory
from tars_memory.recall.search import SortKey, merged
from tars_memory.testing import HashEmbedder
from tests.test_talks import HARBOUR, World, turn

ALIKE = {"settee": "couch", "davenport": "couch"}


class Synonyms(HashEmbedder):
    """Words that mean the same are the same to it."""

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        return super().embed_passages(map(_plain, texts))

    def embed_query(self, text: str) -> QueryVector:
        return super().embed_query(_plain(text))


def _plain(text: str) -> str:
    for word, same in ALIKE.items():
        text = text.replace(word, same)
    return text


class Meaning(World):
    """A world whose memory has a model."""

    def __init__(self, base: Path, notes: dict[str, str] | None = None) -> None:
        super().__init__(base, notes)
        self.embedder = Synonyms()

    def memory(self, **more: object) -> Memory:
        return super().memory(embedder=self.embedder, **more)

    def meant(self, text: str, **asked: object) -> list[str]:
        with self.memory() as memory:
            return [hit.text for hit in memory.search(text, **asked).hits if hit.tier == "talk"]

    def reindex(self, **more: bool) -> None:
        with self.memory() as memory:
            memory.reindex(**more)

    def held(self) -> tuple[int, int]:
        """Vectors in the index of conversations, and in its cache."""
        with self.memory() as memory:
            talks = memory.workspace.talks()
            assert talks is not None
            path = talks.index.files.current()
            assert path is not None
        with_vectors = _ask(path, "SELECT count(*) FROM chunks WHERE embedded <> 0")
        cache = path.parent / CACHE_FILE
        return with_vectors, _ask(cache, "SELECT count(*) FROM vectors") if cache.exists() else 0


def _ask(path: Path, sql: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute(sql).fetchone()[0])
    finally:
        connection.close()


@pytest.fixture(params=["here", "without sqlite-vec"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meaning:
    if request.param != "here":
        monkeypatch.setenv(database.VARIABLE, "sqlite3-noext")
    return Meaning(tmp_path)


def test_what_was_said_is_found_by_what_it_means(world: Meaning) -> None:
    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.write("b.jsonl", turn("user", "the pump in the cellar is loud", "2026-11-03T10:00"))
    world.add()
    assert world.meant("settee davenport") == []
    world.reindex()
    assert world.meant("settee davenport") == ["the green couch came from my aunt"]
    assert world.meant("settee davenport", mode="lexical") == []
    with world.memory() as memory:
        assert "green couch" in memory.context("settee davenport").text
        assert memory.sources()["pending_vectors"] == 0


def test_a_night_makes_the_vectors_and_a_hook_uses_them(world: Meaning) -> None:
    path = world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.add()
    with world.memory() as memory:
        sleep(memory)
    with world.memory() as memory:
        assert "green couch" in memory.context("settee davenport", session="").text
        assert "green couch" not in memory.context("settee davenport", session=str(path)).text


def test_the_newest_have_vectors_up_to_the_cap_and_the_others_are_found_by_words(world: Meaning) -> None:
    for day in range(1, 7):
        world.write(f"{day}.jsonl", turn("user", f"couch number {day} was sold", f"2026-11-{day:02}T10:00"))
    settings = world.base / "home" / "config" / "config.toml"
    world.add()
    settings.write_text(settings.read_text() + "vectors = 2\n")
    world.reindex()
    assert sorted(world.meant("settee", mode="semantic")) == [f"couch number {day} was sold" for day in (5, 6)]
    assert len(world.meant("couch")) == 6
    world.write("7.jsonl", turn("user", "couch number 7 was sold", "2026-11-07T10:00"))
    world.reindex()
    assert sorted(world.meant("settee", mode="semantic")) == [f"couch number {day} was sold" for day in (6, 7)]
    assert world.held() == (2, 2)
    settings.write_text(settings.read_text().replace("vectors = 2", "vectors = 0"))
    world.reindex()
    assert world.meant("settee", mode="semantic") == [] and world.held() == (0, 0)


def test_neighbours_are_looked_for_among_the_newest_and_words_find_the_others_with_their_vectors(
    world: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "NEIGHBOURS", 2)
    for day in range(1, 7):
        world.write(f"{day}.jsonl", turn("user", f"couch number {day} was sold", f"2026-11-{day:02}T10:00"))
    world.add()
    for newest in ((5, 6), (6, 7)):
        world.reindex()
        assert sorted(world.meant("settee", mode="semantic")) == [f"couch number {day} was sold" for day in newest]
        assert len(world.meant("couch")) == newest[1] and world.held() == (newest[1], newest[1])
        with world.memory() as memory:
            assert memory.sources()["pending_vectors"] == 0
        world.write("7.jsonl", turn("user", "couch number 7 was sold", "2026-11-07T10:00"))
    assert len(world.embedder.texts) == 7 + 1  # each passage once, and that of the vault


def test_passages_become_neighbours_when_newer_ones_go_and_fewer_vectors_are_wanted(
    world: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "NEIGHBOURS", 2)
    for day in range(1, 7):
        world.write(f"{day}.jsonl", turn("user", f"couch number {day} was sold", f"2026-11-{day:02}T10:00"))
    world.add()
    world.reindex()
    for day in (5, 6):
        (world.logs / f"{day}.jsonl").unlink()
    settings = world.base / "home" / "config" / "config.toml"
    settings.write_text(settings.read_text() + "vectors = 2\n")
    world.reindex()
    assert sorted(world.meant("settee", mode="semantic")) == [f"couch number {day} was sold" for day in (3, 4)]
    assert len(world.embedder.texts) == 6 + 1  # no passage a second time


def test_vectors_go_with_the_log_and_with_the_source(world: Meaning) -> None:
    path = world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.write("b.jsonl", *HARBOUR)
    world.add()
    world.reindex()
    assert world.held() == (2, 2)
    path.unlink()
    assert world.meant("settee", mode="semantic") == []
    assert world.held() == (1, 1)
    with world.memory() as memory:
        memory.remove_source(str(world.logs))
    (cache,) = (world.base / "home").rglob(f"talks/{CACHE_FILE}")
    assert _ask(cache, "SELECT count(*) FROM vectors") == 0


def test_what_is_forgotten_everywhere_leaves_no_vector_and_the_rest_keeps_theirs(world: Meaning) -> None:
    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.write("b.jsonl", *HARBOUR)
    world.add()
    world.reindex()
    embedded = len(world.embedder.texts)
    with world.memory() as memory:
        line = memory.remember("The green couch came from my aunt")
        memory.forget(line.ref or "", everywhere=True)
    assert world.meant("settee", mode="semantic") == [] and world.held() == (1, 1)
    world.reindex()
    assert world.meant("settee", mode="semantic") == [] and world.held() == (1, 1)
    assert not any("couch" in text for text in world.embedder.texts[embedded:])
    assert not any("harbour" in text for text in world.embedder.texts[embedded:])  # its vector came from the cache


def test_a_folder_that_becomes_a_projects_takes_its_vectors_along(world: Meaning) -> None:
    for name in ("atlas", "other"):
        (world.root / "projects" / name).mkdir(parents=True)
    work = world.base / "work"
    work.mkdir()
    (work / ".tars-project").write_text("atlas\n")
    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"), folder=str(work))
    world.add()
    world.reindex()
    seen = {name: bool(world.meant("settee", project=name)) for name in ("", "atlas", "other")}
    assert seen == {"": False, "atlas": True, "other": False}
    (work / ".tars-project").write_text("other\n")
    for _ in range(2):  # before its vector is placed anew, and after
        assert world.meant("settee", project="atlas") == world.meant("settee", project="") == []
        assert not world.meant("couch", project="atlas") and world.meant("couch", project="other")
        world.reindex()
    assert world.meant("settee", project="other")


def test_what_is_being_embedded_while_it_is_forgotten_leaves_no_vector(
    world: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.add()
    embed = Synonyms.embed_passages

    def meanwhile(self: Synonyms, texts: Iterable[str]) -> Iterator[Embedded]:
        made = [*embed(self, texts)]
        monkeypatch.setattr(Synonyms, "embed_passages", embed)
        with world.memory() as memory:
            line = memory.remember("The green couch came from my aunt")
            memory.forget(line.ref or "", everywhere=True)
        yield from made

    with world.memory() as memory:
        talks = memory.workspace.talks()
        assert talks is not None
        monkeypatch.setattr(Synonyms, "embed_passages", meanwhile)
        talks.index.embed_pending(memory.workspace.open_embedder)
    assert world.meant("settee", mode="semantic") == [] and world.held() == (0, 0)


def test_two_that_read_a_grown_log_at_once_count_it_once(world: Meaning) -> None:
    path = world.write("a.jsonl", *HARBOUR)
    world.add()
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(turn("user", "the ferry is yellow", "2026-11-05T10:00")) + "\n")
    with world.memory() as first, world.memory() as second:
        ours, theirs = first.workspace.talks(), second.workspace.talks()
        assert ours is not None and theirs is not None
        write = ours.index.write

        def late(*arguments: object) -> bool:
            theirs.refresh(None)
            return write(*arguments)  # type: ignore[arg-type]

        ours.index.write = late  # type: ignore[method-assign]
        ours.refresh(None)
    assert sum("ferry" in text for text in world.meant("yellow ferry")) == 1
    with world.memory() as memory:
        talks = memory.workspace.talks()
        assert talks is not None
        assert talks.index.counts()["lines"] == 4


def test_who_holds_the_index_open_answers_no_more_with_what_another_process_forgot(world: Meaning) -> None:
    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.add()
    world.reindex()
    with world.memory() as resident:
        assert resident.search("settee").hits
        with world.memory() as memory:
            line = memory.remember("The green couch came from my aunt")
            memory.forget(line.ref or "", everywhere=True)
        assert not resident.search("settee").hits and not resident.search("green couch").hits
        assert "couch" not in resident.context("green settee").text


def test_of_what_was_found_by_its_meaning_alone_the_newer_is_no_better() -> None:
    told = {
        "covers, older": SortKey(0.9, "2026-11-01"),
        "covers, newer": SortKey(0.9, "2026-11-02"),
        "near, older": SortKey(0.0, "2026-11-01"),
        "near, newer": SortKey(0.0, "2026-11-09"),
    }
    assert merged([], [*told], told.__getitem__) == ["covers, newer", "covers, older", "near, older", "near, newer"]


def test_a_hook_compares_no_endless_past_by_meaning(world: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.recall import searcher

    world.write("a.jsonl", turn("user", "the green couch came from my aunt", "2026-11-02T10:00"))
    world.add()
    world.reindex()
    monkeypatch.setattr(searcher, "HURRIED", 0)
    with world.memory() as memory:
        assert "green couch" not in memory.context("settee davenport", session="").text
        assert "green couch" in memory.context("davenport of my aunt", session="").text  # a word names it
        assert "green couch" in memory.context("settee davenport").text
