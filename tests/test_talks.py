"""Conversations are memory: what the person said in them is found, where it belongs, and nothing else of them."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tars_memory.doors.cli.output import Output
from tars_memory.doors.cli.screen import show_hits
from tars_memory.errors import AmbiguousError, BusyError, NotFoundError, UnwritableError, UsageError
from tars_memory.index.database import AUTOMATED
from tars_memory.index.fulltext import Filter
from tars_memory.jobs import forgetting
from tars_memory.memory import Memory
from tars_memory.recall.query import SearchResult
from tars_memory.settings import StoreOptions
from tars_memory.sources import Talks
from tars_memory.testing import make_vault
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.transaction import Transaction
from tars_memory.vault.writing.withheld import Withheld
from tars_memory.workspace import Workspace

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=UTC)


def turn(role: str, text: str, at: str, **more: Any) -> dict[str, Any]:
    """A record of Claude Code."""
    record = {"type": role, "sessionId": "s1", "uuid": f"{role}-{at}-{text[:9]}", "timestamp": f"{at}:00Z"}
    return {**record, "message": {"role": role, "content": text}, **more}


class World:
    """A vault, a folder of logs, and a home of the program's own."""

    def __init__(self, base: Path, notes: dict[str, str] | None = None) -> None:
        self.base = base
        self.root = make_vault(base / "vault", notes or {"Memory.md": "## Notes\n- the gate is painted blue\n"})
        self.logs = base / "logs"
        self.logs.mkdir()

    def write(self, name: str, *records: dict[str, Any], folder: str = "") -> Path:
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        more = {"cwd": folder} if folder else {}
        path.write_text(
            "".join(json.dumps({**record, **more}, ensure_ascii=False) + "\n" for record in records), "utf-8"
        )
        return path

    def memory(self, **more: Any) -> Memory:
        env = {"TARS_MEMORY_HOME": str(self.base / "home")}
        return Memory(self.root, env=env, actor="person", interactive=True, now=NOW, **more)

    def add(self) -> dict[str, Any]:
        with self.memory() as memory:
            return memory.add_source(str(self.logs))

    def search(self, text: str, **asked: Any) -> SearchResult:
        with self.memory() as memory:
            return memory.search(text, mode="lexical", **asked)

    def found(self, text: str, **asked: Any) -> list[str]:
        return [hit.text for hit in self.search(text, **asked).hits]

    def told(self, text: str, **asked: Any) -> str:
        with self.memory() as memory:
            return memory.context(text, mode="lexical", **asked).text


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


HARBOUR = (
    turn("user", "hello there", "2026-11-02T10:00"),
    turn("assistant", "Hello! Ask me about pelicans.", "2026-11-02T10:01"),
    turn("user", "we moved into the harbour flat\nthe lease says walnut floors", "2026-11-02T10:02"),
    turn("assistant", "Congratulations on the flat by the marina.", "2026-11-02T10:03"),
)


def test_what_was_said_is_found_at_its_line_with_day_speaker_and_answer(world: World) -> None:
    path = world.write("a.jsonl", *HARBOUR)
    told = world.add()
    assert (told["logs"], told["conversations"]) == (1, 1)
    (hit,) = world.search("walnut floors").hits
    assert (hit.tier, hit.date, hit.speaker, hit.path) == ("talk", "2026-11-02", "user", str(path))
    assert "walnut floors" in hit.text
    assert hit.best_line[0] == hit.end_line == 3  # of the log: what open opens
    assert "marina" in hit.answer
    assert hit.as_dict()["speaker"] == "user"
    assert "- 2026-11-02 user said: the lease says walnut floors" in world.told("walnut floors")


@pytest.mark.parametrize("said", ["red hat", "marina", "\x1bthe green \x07hat\x1b", "hello there"])
def test_a_turn_has_its_own_line_though_earlier_lines_have_its_words_or_it_has_controls(
    world: World, said: str
) -> None:
    first = turn("user", "a red hat and a red hat rack", "2026-11-02T09:00")
    path = world.write("a.jsonl", first, *HARBOUR, turn("user", said, "2026-11-02T10:05"))
    text = f"User: a red hat\n\nAI: a {said} and a red hat\n\nUser:\n\n{said}\nwith a zip\n\nAI: ok\n"
    (world.logs / "b.md").write_text(text)
    world.add()
    with world.memory() as memory:
        lines = {(line.log, line.line): line.turn for line in forgetting.talk_lines(memory.workspace, lambda *_: True)}
    shown = said.replace("\x1b", "").replace("\x07", "")
    assert lines[str(path), 1] == "a red hat and a red hat rack" and lines[str(path), 6] == shown
    assert lines[str(world.logs / "b.md"), 7] == f"{shown}\nwith a zip"


def test_a_folder_of_logs_in_the_vault_may_have_a_note_but_a_folder_of_notes_is_refused(world: World) -> None:
    logs = world.root / "logs"
    logs.mkdir()
    (logs / "README.md").write_text("you: walnut in a note\n")
    with world.memory() as memory, pytest.raises(UsageError, match="is in the vault"):
        memory.add_source(str(logs))
    world.write("a.jsonl", *HARBOUR).rename(logs / "a.jsonl")
    with world.memory() as memory:
        assert memory.add_source(str(logs))["logs"] == 1


def test_only_the_persons_own_words_find_anything(world: World) -> None:
    world.write(
        "a.jsonl",
        *HARBOUR,
        turn("user", "tool says ocelot", "2026-11-02T10:04", toolUseResult={"stdout": "ocelot"}),
        turn("user", "subagent says heron", "2026-11-02T10:05", isSidechain=True),
        turn("user", "summary says gannet", "2026-11-02T10:06", isCompactSummary=True),
        turn("user", "<system-reminder>inject says plover</system-reminder>", "2026-11-02T10:07"),
    )
    world.add()
    for word in ("pelicans", "marina", "ocelot", "heron", "gannet", "plover"):
        assert world.found(word) == []
        assert word not in world.told(f"what about {word}")


def test_a_project_sees_its_own_conversations_and_nobody_else_does(world: World) -> None:
    (world.root / "projects" / "atlas").mkdir(parents=True)
    work, home = world.base / "work", world.base / "home-folder"
    for folder in (work, home):
        folder.mkdir()
    (work / ".tars-project").write_text("atlas\n")
    world.write("a.jsonl", turn("user", "the canary is quokka", "2026-11-02T10:00"), folder=str(work))
    world.write("b.jsonl", turn("user", "the canary is wombat", "2026-11-03T10:00"), folder=str(home))
    world.write("c.jsonl", {"role": "user", "content": "the canary is numbat", "timestamp": "2026-11-04T10:00:00Z"})
    world.add()
    found = {name: " ".join(world.found("canary", project=name)) for name in ("", "atlas", "other")}
    assert "quokka" in found["atlas"] and "quokka" not in found[""] + found["other"]
    assert "wombat" in found[""] and "numbat" in found[""]
    assert "wombat" not in found["atlas"] and "numbat" not in found["atlas"]
    for name in ("", "other"):
        assert "quokka" not in world.told("which canary", project=name)
    (work / ".tars-project").write_text("other\n")  # a folder that becomes another project's takes its talks along
    assert "quokka" in " ".join(world.found("canary", project="other"))
    assert "quokka" not in " ".join(world.found("canary", project="atlas"))
    for file in (world.root, *(world.base / "home").rglob("index-*.db")):
        held = b"".join(each.read_bytes() for each in ([file] if file.is_file() else file.rglob("*.md")))
        assert b"quokka" not in held or "talks" in file.parts  # neither the vault nor its index holds it


def test_a_folder_deeper_than_any_system_has_one_stops_no_search(world: World) -> None:
    world.write("a.jsonl", turn("user", "the canary is quokka", "2026-11-02T10:00"), folder="/a" * 2_000)
    world.write("b.jsonl", turn("user", "the canary is wombat", "2026-11-03T10:00"), folder="/a" * 40_000)
    world.add()
    assert len(world.found("canary")) == 2


def test_a_resumed_copy_counts_once_and_stands_in_when_the_first_goes(world: World) -> None:
    first = world.write("a.jsonl", *HARBOUR)
    more = turn("user", "and the bicycle shed has walnut doors", "2026-11-03T10:00")
    world.write("b.jsonl", *HARBOUR, more)
    world.add()
    assert sum("walnut floors" in text for text in world.found("walnut")) == 1
    first.unlink()
    world.search("walnut")  # sees that it is gone; the copy is read anew
    assert sum("walnut floors" in text for text in world.found("walnut")) == 1


def test_a_growing_log_is_read_from_where_it_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.write("a.jsonl", *HARBOUR)
    world.add()
    from tars_memory import sources

    taken: list[bytes] = []
    read = sources.Talks._talks

    def noted(self: Any, name: str, data: bytes, *rest: Any) -> Any:
        taken.append(data)
        return read(self, name, data, *rest)

    monkeypatch.setattr(sources.Talks, "_talks", noted)
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(turn("user", "now the cellar smells of cedar", "2026-11-05T10:00")) + "\n")
        log.write('{"half a line')
    (hit,) = world.search("cedar").hits
    assert hit.best_line[0] == 5
    assert [b"walnut" in data for data in taken] == [False]
    assert world.found("walnut floors")
    path.write_text(json.dumps(turn("user", "all new: maple", "2026-11-06T10:00")) * 40 + "\n", "utf-8")
    assert world.found("cedar") == world.found("walnut") == []  # another file by now
    assert world.found("maple")


def test_a_hook_never_answers_from_its_own_session_and_reads_no_log(world: World) -> None:
    path = world.write("a.jsonl", *HARBOUR)
    world.add()
    other = world.write("b.jsonl", turn("user", "walnut shelves as well", "2026-11-04T10:00"))
    assert "walnut floors" in world.told("walnut", session="")
    assert "walnut" not in world.told("walnut", session=str(path))
    assert "shelves" in world.told("walnut")  # a command reads what is new
    assert "shelves" in world.told("walnut", session=str(path))
    assert "shelves" not in world.told("walnut", session=str(other))


def test_credentials_are_masked(world: World) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    world.write("a.jsonl", turn("user", f"the token of the walnut server is {secret}", "2026-11-02T10:00"))
    world.add()
    (text,) = world.found("walnut token")
    assert secret not in text and "masked" in text
    files = (world.base / "home").rglob("*")
    assert not any(secret.encode() in file.read_bytes() for file in files if file.is_file())


def test_a_search_before_anything_was_written_makes_a_private_state_folder(world: World) -> None:
    os.umask(0o022)
    world.write("a.jsonl", *HARBOUR)
    world.add()
    shutil.rmtree(world.base / "home" / "state", ignore_errors=True)
    assert world.found("walnut floors")
    folders = {path.parent for path in (world.base / "home").rglob("index*")}
    assert folders and {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_an_answer_repeats_no_credential_that_the_person_told(world: World) -> None:
    told = ("the walnut password is Quark&Honig3", "my PIN is 4417 and my recovery codes:\n8f3a-91bc\n77dd-02fe")
    answers = ("Quark&Honig3 is set, and 4417 walnuts", "77dd-02fe, then 8f3a-91bc")
    said = [
        turn(role, text, "2026-11-02T10:00")
        for pair in zip(told, answers, strict=True)
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    world.write("a.jsonl", *said)
    world.add()
    (one,) = world.search("walnut password").hits
    assert one.answer == "(masked password) is set, and 4417 walnuts"
    files = [file.read_bytes() for file in (world.base / "home").rglob("*") if file.is_file()]
    assert not any(code in data for data in files for code in (b"Quark&", b"91bc", b"77dd"))


def test_the_vault_comes_first_and_of_two_talks_the_newer(tmp_path: Path) -> None:
    world = World(tmp_path, {"Memory.md": "## Notes\n- my favourite tree is the walnut tree\n"})
    world.write("a.jsonl", turn("user", "my favourite tree is the birch tree", "2026-11-02T10:00"))
    world.write("b.jsonl", turn("user", "my favourite tree is the cedar tree", "2026-11-09T10:00"))
    world.add()
    found = " ".join(world.found("what is my favourite tree"))
    assert found.index("walnut") < found.index("cedar") < found.index("birch")
    assert all(hit.tier == "talk" for hit in world.search("favourite tree", tiers=["talk"]).hits)
    assert world.search("favourite tree", tiers=["semantic"]).hits[-1].tier == "semantic"
    told = world.told("what is my favourite tree", loaded=False)
    assert told.index("walnut") < told.index("cedar") < told.index("birch")


@pytest.mark.parametrize("question", ["le 9 novembre", "renard le 9 novembre"])
def test_a_question_about_a_day_finds_that_day_before_newer_talks(tmp_path: Path, question: str) -> None:
    world = World(tmp_path, {"2026-11-09.md": "- 10:00 un renard a pris Edith\n"})
    world.write(
        "a.jsonl",
        turn("user", "le voisin est celui qui est le maire", "2026-11-11T10:00"),
        turn("user", "mon voisin est venu pour le renard", "2026-11-12T10:00"),
    )
    world.add()
    assert "Edith" in world.found(question)[0]


@pytest.mark.parametrize("question", ["Goff le dimanche", "quelle est la ferme de ma tante ?"])
def test_a_passage_is_before_talks_by_its_title_and_without_function_words(tmp_path: Path, question: str) -> None:
    world = World(tmp_path, {"Marie Le Goff.md": "ferme, Brest\n"})
    world.write("a.jsonl", turn("user", "quelle est la rue de ma tante, le dimanche ?", "2026-11-11T10:00"))
    world.add()
    found = world.found(question)
    assert "ferme" in found[0] and len(found) > 1


def test_sources_stand_in_the_persons_own_settings_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.jsonl", *HARBOUR)
    (world.root / ".tars").mkdir(exist_ok=True)
    (world.root / ".tars" / "config.toml").write_text(f'[sources]\npaths = "{world.logs}"\n')
    assert world.found("walnut") == []
    told = world.add()
    assert told["sources"] == [{"path": str(world.logs), "there": True}]
    assert any("30 days" in notice for notice in told["notices"])
    assert world.found("walnut")
    with world.memory() as memory:
        assert memory.remove_source(str(world.logs))["sources"] == []
    assert world.found("walnut") == []
    with world.memory() as memory, pytest.raises(UsageError):
        memory.remove_source(str(world.logs))


def test_a_source_that_another_command_has_just_added_stays(world: World) -> None:
    for name in ("a", "b"):
        world.write(f"{name}/log.jsonl", *HARBOUR)
    with world.memory() as one, world.memory() as other:
        assert one.sources()["sources"] == other.sources()["sources"] == []
        one.add_source(str(world.logs / "a"))
        assert len(other.add_source(str(world.logs / "b"))["sources"]) == 2
        assert len(one.remove_source(str(world.logs / "a"))["sources"]) == 1
    with world.memory() as memory:
        assert [each["path"] for each in memory.sources()["sources"]] == [str(world.logs / "b")]


def test_what_is_withheld_is_neither_indexed_nor_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    assert world.found("walnut")
    monkeypatch.setattr(Workspace, "withheld", lambda self, text, said, *logs: "walnut" in text and said < "2026-11-20")
    monkeypatch.setattr(Workspace, "forgets", True)
    assert world.found("walnut") == [] and "walnut" not in world.told("walnut")
    with world.memory() as memory:
        memory.reindex(full=True)
    monkeypatch.undo()
    assert world.found("walnut") == [] and world.found("harbour flat") == []  # the whole turn is withheld
    assert world.found("hello there")


def test_a_reader_says_what_it_has_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add()
    world.write("a.jsonl", *HARBOUR)
    from tars_memory import sources

    monkeypatch.setattr(sources, "AT_A_GLANCE", 10)
    result = world.search("walnut floors")
    assert result.stale == 1 and any("reindex" in notice for notice in result.notices)
    with world.memory() as memory:
        memory.reindex()
    assert world.search("walnut floors").stale == 0 and world.found("walnut floors")


def test_exports_hold_several_conversations(world: World) -> None:
    chats = [
        {"id": f"c{n}", "title": f"Chat {n}", "messages": [{"role": "user", "content": f"walnut number {n}"}]}
        for n in range(3)
    ]
    (world.logs / "export.json").write_text(json.dumps(chats, indent=1), "utf-8")
    assert world.add()["conversations"] == 3
    hits = world.search("walnut number 2").hits
    assert {os.path.basename(hit.path) for hit in hits} == {"export.json"}
    assert hits[0].title == "Chat 2"


def test_conversations_take_half_of_what_is_recalled_and_the_newest_comes_along(tmp_path: Path) -> None:
    world = World(tmp_path, {"Tree.md": "\n".join(f"the walnut tree in row {n} is old" for n in range(40))})
    turns = [
        turn("user", f"walnut tree number {n:02}, {'very ' * (n % 3 * 6)}old", f"2026-10-{n:02}T10:00")
        for n in range(1, 29)
    ]
    world.write("a.jsonl", *turns)
    world.add()
    for budget in (150, 300, 600, 1200):
        text = world.told("how old is the walnut tree", budget=budget, loaded=False)
        said = [line for line in text.split("\n") if "user said" in line]
        assert sum(map(len, said)) <= 2 * budget
        assert not said or any("2026-10-28" in line for line in said)


def test_a_night_keeps_what_was_said_in_a_log_that_is_about_to_go(world: World) -> None:
    old = world.write("old.jsonl", *HARBOUR)
    world.write("new.jsonl", turn("user", "the maple is young", "2026-11-20T10:00"))
    before = (NOW.timestamp() - 26 * 86_400,) * 2
    os.utime(old, before)
    world.add()
    from tars_memory.jobs.sleep import sleep

    with world.memory() as memory:
        night = sleep(memory)
    step = next(each for each in night.steps if each.name == "keep")
    assert (step.error, step.counts["logs"]) == ("", 1)
    old.unlink()
    hits = world.search("walnut floors").hits
    assert {hit.tier for hit in hits} == {"episodic"}
    notes = "".join(note.read_text("utf-8") for note in (world.root / "sessions").iterdir())
    assert "maple" not in notes
    with world.memory() as memory:
        assert next(each for each in sleep(memory).steps if each.name == "keep").counts == {}


def test_turns_that_a_night_kept_are_taken_back_with_it_and_kept_by_the_next(world: World) -> None:
    from tars_memory.jobs import sleep as nights

    old = world.write("old.jsonl", *HARBOUR)
    os.utime(old, (NOW.timestamp() - 26 * 86_400,) * 2)
    world.add()

    def kept() -> str:
        return "".join(note.read_text("utf-8") for note in (world.root / "sessions").glob("*.md"))

    with world.memory() as memory:
        memory.extract([str(old)], force=True, keep="facts")
        for _ in range(2):
            assert "walnut floors" not in kept()
            nights.sleep(memory)
            assert "walnut floors" in kept()
            assert len(nights.undo(memory)) == 1
            assert "walnut floors" not in kept()


def test_what_was_forgotten_is_no_hit_in_a_conversation(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    assert world.found("walnut")
    with world.memory() as memory:
        line = memory.remember("The lease says walnut floors")
        memory.forget(line.ref or "", everywhere=True)
    assert world.found("walnut") == [] and "walnut" not in world.told("walnut")


def test_a_link_to_itself_hides_no_other_log(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    (world.logs / "loop.jsonl").symlink_to("loop.jsonl")
    (world.logs / "self").symlink_to(".")
    world.write("kept.jsonl/b.jsonl", turn("user", "the barge is called Odile", "2026-11-03T10:00"))
    assert world.add()["conversations"] == 2
    assert world.found("Odile")


def test_half_characters_of_a_log_end_no_search(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    record = {**turn("user", "the ferry is yellow", "2026-11-03T10:00"), "cwd": "/tmp/\ud800", "sessionId": "\ud800"}
    (world.logs / "b.jsonl").write_text(json.dumps(record) + "\n")
    assert world.add()["conversations"] == 2
    assert world.found("yellow ferry")
    assert world.found("walnut")


def test_an_archive_holds_the_logs_that_a_folder_does() -> None:
    from tars_memory import sources
    from tars_memory.capture.transcripts import MEMBERS

    assert {*sources.ENDINGS} == {*MEMBERS, ".zip"} and {*sources.GROWING} < {*MEMBERS}


def test_a_note_of_the_vault_is_no_log(world: World) -> None:
    chat = "**User:** my code name is heron\n\n**Assistant:** fine\n\n**User:** I keep bees\n\n**Assistant:** nice\n"
    (world.root / "projects" / "boat").mkdir(parents=True)
    (world.root / "projects" / "boat" / "chat.md").write_text(chat)
    (world.logs / "link.md").symlink_to(world.root / "projects" / "boat" / "chat.md")
    with world.memory() as memory:
        assert memory.add_source(str(world.base))["conversations"] == 0
    assert world.found("heron") == []


@pytest.mark.parametrize("name", ["", "/dev/zero", "nowhere", "a,b", " blank ", "bad\udcff", "two\nlines"])
def test_what_can_be_no_source_is_refused(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(world.base)
    if name not in ("", "/dev/zero", "nowhere"):
        (world.base / name).mkdir()
    with world.memory() as memory, pytest.raises(UsageError):
        memory.add_source(name)
    with world.memory() as memory:
        assert memory.sources()["sources"] == []


def test_a_vault_is_searched_though_conversations_can_be_indexed_nowhere(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        folder = memory.workspace.state / "talks"
    shutil.rmtree(folder)
    folder.write_text("in its place")
    result = world.search("gate painted")
    assert [hit.path for hit in result.hits] == ["Memory.md"]
    assert any("conversations are not searched" in notice for notice in result.notices)
    assert "painted blue" in world.told("gate painted")
    with world.memory() as memory:
        assert memory.sources()["conversations"] == 0


@pytest.mark.parametrize("shape", ["garbage", "empty", "folder", "pipe", "endless"])
def test_a_damaged_index_is_begun_anew_and_answers(world: World, shape: str) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        path = memory.workspace.talks().index.files.current()  # type: ignore[union-attr]
        memory.close()
        assert path is not None
    path.unlink()
    if shape == "folder":
        (path / "x").mkdir(parents=True)
    elif shape == "pipe":
        os.mkfifo(path)
    elif shape == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(b"no database at all" * 500 if shape == "garbage" else b"")
    with world.memory() as memory:
        memory.sources()
    assert world.found("walnut")
    with world.memory() as memory:
        assert memory.sources()["conversations"] == 1


def test_conversations_of_a_source_that_is_away_are_searched_as_they_were_read(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    path = world.write("b.jsonl", turn("user", "the barge is called Odile", "2026-11-03T10:00"))
    world.add()
    path.unlink()
    assert world.found("Odile") == []
    world.logs.rename(world.base / "unplugged")
    result = world.search("walnut")
    assert result.hits
    assert any("as they were last read" in notice for notice in result.notices)


def test_folders_deeper_than_python_recurses_end_no_search(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    folders = [f"{world.logs}{'/d' * depth}" for depth in range(1, 1_100)]
    for folder in folders:
        os.mkdir(folder)
    try:
        assert world.add()["conversations"] == 1
        assert world.found("walnut")
    finally:  # pytest's own cleaning recurses
        for folder in reversed(folders):
            os.rmdir(folder)


@pytest.mark.parametrize("budget", [60, 80, 100])
def test_the_smallest_budgets_hold_the_persons_words_that_answer(tmp_path: Path, budget: int) -> None:
    notes = {"Memory.md": "## Notes\n" + "".join(f"- the gate of house {n} is blue\n" for n in range(30))}
    world = World(tmp_path, notes)
    world.write("a.jsonl", *HARBOUR)
    world.add()
    for loaded in (True, False):
        told = world.told("what does the lease say about floors", budget=budget, loaded=loaded)
        assert "walnut floors" in told and len(told) <= 4 * budget
        assert "marina" not in told


def test_an_answer_that_repeats_what_was_forgotten_is_not_shown(world: World) -> None:
    world.write(
        "a.jsonl",
        turn("user", "which flat was it again", "2026-11-02T10:02"),
        turn("assistant", "You wrote: the lease says walnut floors.", "2026-11-02T10:03"),
    )
    world.add()
    assert "walnut" in world.search("which flat").hits[0].answer
    with world.memory() as memory:
        line = memory.remember("The lease says walnut floors")
        memory.forget(line.ref or "")
    assert world.search("which flat").hits[0].answer == ""  # before it is indexed anew
    with world.memory() as memory:
        memory.reindex(full=True)
    assert world.search("which flat").hits[0].answer == ""
    files = (world.base / "home").rglob("talks/*.db*")
    assert not any(b"walnut floors" in file.read_bytes() for file in files)


def test_what_a_log_says_of_a_day_to_come_is_forgotten_though_our_clock_is_behind(world: World) -> None:
    world.write("a.jsonl", turn("user", "The lease says walnut floors", "2026-11-23T10:02"))
    (world.root / "2026-11-23.md").write_text("## Log\n- 10:02 [extracted] The lease says walnut floors ^d-aaaaaaa\n")
    world.add()
    assert world.found("walnut floors")
    with world.memory() as memory:
        memory.forget("walnut floors")
    assert world.found("walnut floors") == []


def test_a_terminal_shows_who_said_it_and_how_it_was_answered(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    screen = io.StringIO()
    show_hits(Output({"NO_COLOR": "1"}, screen, screen), world.search("walnut floors"), full=False, wanted=False)
    shown = screen.getvalue().split("\n")
    assert any("2026-11-02  user" in line for line in shown)
    assert any(line.strip() == "assistant: Congratulations on the flat by the marina." for line in shown)


def test_a_folder_that_never_held_a_log_waits_for_one_without_a_word(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    (world.base / "later").mkdir()
    with world.memory() as memory:
        memory.add_source(str(world.base / "later"))
        assert memory.reindex(embed=False).notices == []
    result = world.search("walnut floors")
    assert result.hits and result.notices == []


def test_an_empty_folder_on_which_no_disk_is_mounted_forgets_nothing(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    other = world.base / "other"
    other.mkdir()
    (other / "b.jsonl").write_text(json.dumps(turn("user", "the barge is called Odile", "2026-11-03T10:00")) + "\n")
    with world.memory() as memory:
        memory.add_source(str(other))
    world.logs.rename(world.base / "unplugged")
    world.logs.mkdir()
    result = world.search("walnut floors")
    assert result.hits and any("has no logs" in notice for notice in result.notices)
    assert "walnut" in world.told("walnut floors", session="")
    assert world.found("Odile")
    world.logs.rmdir()
    (world.base / "unplugged").rename(world.logs)
    assert world.search("walnut floors").notices == []
    with world.memory() as memory:
        assert memory.sources()["conversations"] == 2


def test_what_a_log_no_longer_says_is_found_in_its_copy(world: World) -> None:
    first = world.write("a.jsonl", *HARBOUR, turn("user", "and a second cellar", "2026-11-02T10:05"))
    copy = world.write("b.jsonl", *HARBOUR)
    os.utime(copy, (1_790_000_000, 1_790_000_000))  # the older one: its turns count as the copies
    world.add()
    world.write(first.name, turn("user", "all new: maple", "2026-11-06T10:00"))
    world.search("walnut")  # sees that the turns are gone; the copy is read anew
    assert sum("walnut floors" in text for text in world.found("walnut")) == 1
    assert world.found("second cellar") == [] and world.found("maple")


def test_a_log_and_its_copy_show_each_turn_once_however_they_are_read_again(world: World) -> None:
    shared, more = HARBOUR, turn("user", "the ferry is yellow", "2026-11-02T11:00")
    logs = [
        world.write(name, *shared, turn("user", f"{name[0]} is maple", "2026-11-02T10:59"))
        for name in ("a.jsonl", "b.jsonl")
    ]
    world.add()

    def shown() -> list[int]:
        world.search("walnut")  # sees what changed
        return [sum(word in text for text in world.found(word)) for word in ("walnut", "ferry")]

    assert shown() == [1, 0]
    for log in (*logs, *logs):  # the one that counts, and the other one
        log.write_text(log.read_text().replace("maple", "maple wood"))
        assert shown() == [1, 0]
    for log in logs:  # one of them has the turn first, and both then
        log.write_text(json.dumps(more) + "\n" + log.read_text())
        assert shown() == [1, 1]
    with world.memory() as memory:
        for name in "abab":
            memory.forget(f"{name} is maple wood wood")
            assert shown() == [1, 1]
            memory.undo()
            assert shown() == [1, 1]


def test_an_undo_reads_the_logs_of_what_it_undoes_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [world.write(f"{name}.jsonl", turn("user", f"the {name} is maple", "2026-11-02T10:00")) for name in "ab"]
    world.add()
    read: list[Any] = []
    monkeypatch.setattr(Talks, "read_again", lambda _, paths, since=None: read.append({*paths}) or True)
    with world.memory() as memory:
        for name in "ab":
            memory.forget(f"the {name} is maple")
            memory.undo()
    assert read == [{str(log)} for log in logs for _ in ("forget", "undo")]


def test_what_an_undo_shows_again_is_in_logs_that_changed_since_too(world: World) -> None:
    (world.root / "Memory.md").write_text("## Notes\n- The lease says walnut floors\n")
    log = world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        memory.forget("walnut floors")
    world.write("a.jsonl", turn("user", "a pelican", "2026-11-02T09:00"), *HARBOUR)
    os.utime(log, (NOW.timestamp() + 1,) * 2)
    assert world.found("pelican") and world.found("walnut") == []
    with world.memory() as memory:
        memory.undo()
    assert {hit.tier for hit in world.search("walnut").hits} == {"semantic", "talk"}


def test_a_hook_knows_its_own_session_by_any_path(world: World) -> None:
    path = world.write("a.jsonl", *HARBOUR)
    link = world.base / "link"
    link.symlink_to(world.logs)
    with world.memory() as memory:
        memory.add_source(str(link))
    assert "walnut" in world.told("walnut")
    assert "walnut" not in world.told("walnut", session=str(path))
    assert "walnut" not in world.told("walnut", session=str(link / "a.jsonl"))


def test_a_hook_sees_nothing_of_a_folder_that_has_become_another_projects(world: World) -> None:
    (world.root / "projects" / "atlas").mkdir(parents=True)
    work = world.base / "work"
    work.mkdir()
    world.write("a.jsonl", turn("user", "the canary is quokka", "2026-11-02T10:00"), folder=str(work))
    world.add()
    assert "quokka" in world.told("which canary", session="")
    (work / ".tars-project").write_text("atlas\n")
    assert "quokka" not in world.told("which canary", session="")  # a hook moves nothing, and tells nothing either


def test_what_is_no_text_in_a_folder_of_logs_costs_nothing_else(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    (world.logs / "picture.json").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400)
    (world.logs / "packed.jsonl").write_bytes(b"\x1f\x8b\x08" + os.urandom(4_000))
    (world.logs / "nulls.jsonl").write_bytes(bytes(100_000))
    os.mkfifo(world.logs / "pipe.jsonl")
    (world.logs / "device.jsonl").symlink_to("/dev/zero")
    assert world.add()["conversations"] == 1
    assert world.found("walnut")


def test_a_log_in_which_it_is_not_sure_who_speaks_is_named(world: World) -> None:
    for number in range(5):
        (world.logs / f"{number}.txt").write_text("User: I ride a tandem.\nAssistant: Fine.\nUser: It is blue.\n")
    told = world.add()
    assert told["conversations"] == 0 and world.found("tandem") == []
    named = [notice for notice in told["notices"] if "is not searched: no blank lines part its turns" in notice]
    assert [notice.split(" is ")[0] for notice in named] == [str(world.logs / f"{number}.txt") for number in range(3)]
    assert "2 other logs are not searched either: it is unclear who speaks" in told["notices"]


def test_turns_of_the_same_thing_are_shown_and_withheld_if_they_are_named(world: World) -> None:
    world.write("a.jsonl", *HARBOUR, turn("user", "is walnut a good floor for the flat", "2026-11-02T10:05"))
    world.write("b.jsonl", turn("user", "the ferry is yellow", "2026-11-03T10:00"))
    world.add()
    with world.memory() as memory:
        line = memory.remember("The lease says walnut floors")
        near = memory.near(line.ref or "")
        asked = [each for each in near if "good floor" in each.text]
        assert [(each.day, each.line) for each in asked] == [("2026-11-02", 5)]
        assert not any("lease says" in each.text or "ferry" in each.text for each in near)
        memory.forget(line.ref or "", also=asked)
    assert world.found("walnut floor") == [] and "walnut" not in world.told("walnut floor")
    with world.memory() as memory:
        memory.undo()
    assert len(world.found("walnut floor")) == 2
    with world.memory() as memory:
        memory.forget("The lease says walnut floors", everywhere=True, also=asked)
    assert world.found("walnut floor") == [] and world.found("ferry")
    held = [file for file in (world.base / "home").rglob("*") if file.is_file() and b"good floor" in file.read_bytes()]
    assert held == []


def test_a_look_at_folders_at_rest_opens_none_and_sees_what_comes_and_goes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_memory import sources

    world.write("p/a.jsonl", *HARBOUR)
    world.add()
    monkeypatch.setattr(sources, "RACY", -1.0)  # all folders count as at rest
    world.write("p/b.jsonl", turn("user", "the ferry is yellow", "2026-11-03T10:00"))
    assert world.found("ferry")
    looked: list[str] = []
    entries = sources._entries
    monkeypatch.setattr(sources, "_entries", lambda folder, *rest: looked.append(folder) or entries(folder, *rest))
    assert world.found("walnut") and world.found("ferry") and looked == []
    (world.logs / "p" / "a.jsonl").unlink()
    assert world.found("walnut") == [] and str(world.logs) in looked
    world.write("q/c.jsonl", turn("user", "the barge is called Odile", "2026-11-04T10:00"))
    assert world.found("Odile")
    with (world.logs / "p" / "b.jsonl").open("a") as log:
        log.write(json.dumps(turn("user", "and slow", "2026-11-05T10:00")) + "\n")
    assert world.found("slow")


def of_a_job(role: str, text: str, at: str) -> dict[str, Any]:
    return turn(role, text, at, entrypoint="sdk-cli")


def test_what_a_job_says_later_is_a_jobs_too(world: World) -> None:
    first, later = (
        [
            of_a_job("user", f"the job checked the {what}", f"2026-11-0{day}T10:00"),
            of_a_job("assistant", "all is well", f"2026-11-0{day}T10:01"),
        ]
        for what, day in (("pump", 4), ("boiler", 5))
    )
    log = world.write("a.jsonl", *first)
    world.add()
    assert world.found("pump")
    with log.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in later)
    assert world.found("boiler")
    with world.memory() as memory:
        talks = memory.workspace.talks()
        assert talks is not None
        automated = Filter(
            tags=[AUTOMATED], tiers=["talk"], scopes=talks.index.read(lambda reader: reader.visible_scopes(""))
        )
        assert talks.index.read(lambda reader: len(reader.newest(automated, 9))) == 2


def shares(told: str) -> tuple[int, int]:
    """Characters of what somebody typed, and of what a job asked."""
    rows = [row for row in told.split("\n") if " said: " in row]
    return sum(len(row) for row in rows if "typed" in row), sum(len(row) for row in rows if "job" in row)


def test_jobs_take_a_fifth_of_what_a_prompt_is_told_of_conversations(world: World) -> None:
    def log(name: str, count: int, how: Any, said: str, day: int) -> None:
        asked = (
            how("user", f"{said} number {n}: the lantern on the pier is {n} metres high", f"2026-11-{day:02}T10:{n:02}")
            for n in range(count)
        )
        world.write(name, *asked, how("assistant", "Noted.", f"2026-11-{day:02}T11:00"))

    log("job.jsonl", 50, of_a_job, "job", 9)
    log("silent.jsonl", 0, of_a_job, "job", 9)
    world.write("nobody.jsonl", of_a_job("user", "job that nobody answered: the lantern", "2026-11-09T12:00"))
    world.add()
    question, how = "how high is the lantern on the pier", {"loaded": False, "budget": 1000}
    alone = shares(world.told(question, **how))
    log("typed.jsonl", 50, turn, "typed", 2)
    typed, asked = shares(world.told(question, **how))
    assert alone[0] == 0 and 0 < alone[1] <= 1000, "a fifth of half of the room, and of what that leaves"
    assert 0.1 < asked / (typed + asked) <= 0.25 and typed > 1_000
    assert "no model answered" not in world.told("job that nobody answered", **how)
    (world.logs / "job.jsonl").unlink()
    with world.memory() as memory:
        memory.reindex()
    assert shares(world.told(question, **how))[0] > typed, "what jobs don't need is free"


def test_a_prompt_has_the_same_words_once_whether_quote_turn_or_conversation(tmp_path: Path) -> None:
    """Said in two conversations, kept as a turn of a session and quoted below a fact: one line, and a loaded note's."""
    said = "remember that the staging database listens on port 5433"
    session = f'## Facts\n\n- Staging has port 5433\n  - quote:: "{said}"\n\n## Turns\n\n> [3] 10:01 **user:** {said}\n'
    world = World(tmp_path, {"sessions/2026-11-12 1000 Work.md": session, "Memory.md": "## Notes\n"})
    for day in ("2026-11-13", "2026-11-14"):
        record = turn("user", said, f"{day}T10:00", sessionId=day)
        world.write(f"{day}.jsonl", record, turn("user", f"hello on {day}", f"{day}T10:01", sessionId=day))
    world.add()
    assert world.told("which port has the staging database").count("listens on port 5433") == 1
    (world.root / "Memory.md").write_text(f"## Notes\n- {said}\n", "utf-8")
    told = world.told("which port has the staging database")
    assert told.count("listens on port 5433") == 1
    assert f"## Notes\n- {said}" in told


@pytest.mark.parametrize("said", ["the lease ends on 2026-11-02", "the pelicans are back"])
def test_conversations_leave_the_note_that_the_question_names_before_all_others(tmp_path: Path, said: str) -> None:
    tasks = "".join(f"- [ ] paint fence {n} 📅 2026-11-02\n" for n in range(3))
    world = World(tmp_path, {"2026-11-02.md": "## Log\n- 10:00 met Anna\n", "Tasks.md": tasks})
    before = [hit.path for hit in world.search("2026-11-02").hits]
    world.write("a.jsonl", turn("user", said, "2026-11-01T10:00"), turn("user", "hello there", "2026-11-01T10:01"))
    world.add()
    found = [hit.path for hit in world.search("2026-11-02").hits]
    assert before[0] == found[0] == "2026-11-02.md"
    assert before == [path for path in found if path.endswith(".md")]


# --- forgetting what was only said


def journal_of(world: World, **asked: Any) -> list[tuple[str, str, str, bool]]:
    with world.memory(**asked) as memory:
        found = memory.history()
    return [(each.command, each.op, os.path.basename(each.file), each.undone) for each in found]


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("Well. The lease says walnut floors! Anything else?", "walnut floors"),
        ("ja, der Vertrag nennt Nussböden in Überlingen.", "NUSSBODEN in uberlingen"),
        ("ところで鍵は青い植木鉢の下にあります。覚えておいて", "青い植木鉢"),
        ("see Dr. Smith.", "Dr. Smith"),
        ("the wifi password is hunter22secret", "wifi password is hunter22secret"),
        ("first\nthe lease says walnut floors\nlast", "walnut floors"),
        ("so " + "we talked on and on about that. " * 60 + "The lease says walnut floors.", "walnut floors"),
    ],
)
def test_what_was_only_said_is_forgotten_across_a_rebuild_and_an_undo(world: World, said: str, typed: str) -> None:
    log = world.write("a.jsonl", turn("user", said, "2026-11-02T10:02"), turn("user", "a pelican", "2026-11-02T10:03"))
    before = log.read_bytes()
    world.add()
    place = {(str(log), 1)}
    with world.memory() as memory:
        receipt = memory.forget(typed)
        assert receipt.written and {(each.path, each.line) for each in receipt.withheld} == place
        assert (receipt.path, receipt.touched) == (str(log), [])
        assert any("not touched" in each for each in receipt.notices)
    home = [file for file in (world.base / "home").rglob("*") if file.is_file() and "talks" not in file.parts]
    assert not any(typed.encode() in file.read_bytes() for file in home)  # no copy is made of what is forgotten

    def shown() -> bool:
        with world.memory() as memory:
            prompts = str(memory.extract_prompts([log], force=True))
        found = [any(typed.split()[-1] in text for text in world.found(typed)), typed.split()[-1] in world.told(typed)]
        assert len({*found}) == 1 and world.found("pelican") and "pelican" in prompts
        return found[0] or said.split("\n")[0] in prompts

    for full in (False, True):
        with world.memory() as memory:
            memory.reindex(full=full)
            with pytest.raises(NotFoundError):
                memory.forget(typed)
        assert not shown()
    assert journal_of(world) == [("forget", "withhold", "a.jsonl", False)]
    with world.memory() as memory:
        (undone,) = memory.undo()
        assert (undone.op, undone.path) == ("release", str(log))
    assert log.read_bytes() == before
    assert world.found(typed) or typed.startswith("wifi")
    with world.memory() as memory:
        (again,) = memory.undo(undone.txn)
        assert again.op == "withhold"
    assert not shown()
    assert journal_of(world)[2] == ("forget", "withhold", "a.jsonl", False)


def test_several_sentences_are_listed_and_one_in_several_conversations_is_one(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.write("b.jsonl", turn("user", "Oh, the lease says walnut floors.", "2026-11-03T10:00"))
    world.write("c.jsonl", turn("user", "The lease says walnut floors! And now?", "2026-11-04T10:00", sessionId="s2"))
    shutil.copy(world.logs / "a.jsonl", world.logs / "resumed.jsonl")
    world.add()
    with world.memory() as memory:
        with pytest.raises(AmbiguousError) as caught:
            memory.forget("walnut floors")
        assert [line.split("  ")[1] for line in caught.value.candidates] == [
            "The lease says walnut floors!", "Oh, the lease says walnut floors."
        ]  # fmt: skip
        with pytest.raises(AmbiguousError, match="2 sentences fit 'lease says walnut'"):
            memory.forget("lease says walnut", parts=False)
        receipt = memory.forget("the lease says walnut floors", parts=False)
        told = {os.path.basename(each.path) for each in receipt.withheld}
        assert told in ({"a.jsonl", "b.jsonl", "c.jsonl"}, {"resumed.jsonl", "b.jsonl", "c.jsonl"})
    assert world.found("walnut") == []
    (world.logs / min(told - {"b.jsonl", "c.jsonl"})).unlink()  # its copy counts now
    with world.memory() as memory:
        memory.reindex()
    assert world.found("walnut") == [] and world.found("hello there")


def test_a_short_sentence_of_several_turns_goes_in_a_pipe_only_if_all_are_meant(world: World) -> None:
    said = ["ok", "OK. We moved into the harbour flat.", "The ferry is yellow. Ok!"]
    log = world.write("a.jsonl", *(turn("user", text, f"2026-11-02T10:0{n}") for n, text in enumerate(said)))
    world.add()
    with world.memory() as memory:
        with pytest.raises(AmbiguousError, match="3 sentences fit 'Ok'") as caught:
            memory.forget("Ok", parts=False)
        rest = " (with the rest of its turn)"
        assert caught.value.candidates == [f"{log}:1  ok", f"{log}:2  ok{rest}", f"{log}:3  ok{rest}"]
        assert len(memory.forget("Ok").withheld) == 3


def test_a_place_in_a_log_names_its_turn_and_the_text_behind_it_a_line(world: World) -> None:
    log = world.write("a.jsonl", *HARBOUR)
    export = world.logs / "export.json"
    export.write_text(json.dumps([{"role": "user", "content": f"walnut number {n}"} for n in range(3)]), "utf-8")
    world.add()
    with world.memory() as memory:
        with pytest.raises(AmbiguousError):  # all its turns are on one line
            memory.forget(f"{export}:1")
        memory.forget(f"{export}:1:walnut number 2")
        assert memory.forget(f"{log}:3").text == "we moved into the harbour flat\nthe lease says walnut floors"
        with pytest.raises(NotFoundError):
            memory.forget(f"{log}:2")
    assert "\n".join(world.found("walnut")) == "walnut number 0\nwalnut number 1"
    assert world.found("harbour flat") == []


def test_a_sentence_of_a_note_and_of_a_conversation_goes_from_both_by_either_name(world: World) -> None:
    log = world.write("a.jsonl", turn("user", "the lease says walnut floors", "2026-11-02T10:02"))
    (world.root / "Memory.md").write_text("## Notes\n- The lease says walnut floors\n")
    world.add()
    with world.memory() as memory:
        receipt = memory.forget(f"{log}:1")
        assert [each.path for each in receipt.touched] == ["Memory.md"]
    assert world.found("walnut") == []
    with world.memory() as memory:
        assert len(memory.undo()) == 2
    assert {hit.tier for hit in world.search("walnut").hits} == {"semantic", "talk"}
    with world.memory() as memory:
        assert memory.forget("walnut floors").withheld == []
    assert world.found("walnut") == []


def test_only_the_project_of_a_conversation_can_name_and_take_back_what_was_said_in_it(world: World) -> None:
    (world.root / "projects" / "atlas").mkdir(parents=True)
    work = world.base / "work"
    work.mkdir()
    (work / ".tars-project").write_text("atlas\n")
    log = world.write("a.jsonl", turn("user", "the canary is a quokka", "2026-11-02T10:00"), folder=str(work))
    other = world.write("b.jsonl", turn("user", "the canary is a wombat", "2026-11-02T10:00"))
    world.add()
    for name, others, place in ((None, "quokka", log), ("atlas", "wombat", other)):
        with world.memory(project=name) as memory:
            for target in (others, f"the canary is a {others}", f"{place}:1"):
                with pytest.raises(NotFoundError):
                    memory.forget(target)
    with world.memory(project="atlas") as memory:
        receipt = memory.forget("canary")
    assert world.found("canary", project="atlas") == [] and world.found("canary")
    assert journal_of(world) == [] and len(journal_of(world, project="atlas")) == 1
    with world.memory() as memory:
        with pytest.raises(NotFoundError):
            memory.undo()
        with pytest.raises(UsageError):
            memory.undo(receipt.txn)


def test_everywhere_leaves_no_copy_and_takes_nothing_back(world: World) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as reader, world.memory() as memory:  # as an MCP server that has the index open
        assert reader.search("walnut floors").hits
        memory.forget("walnut floors")
        assert not reader.search("walnut floors").hits
        assert "it was forgotten before" in memory.forget("The lease says walnut floors", everywhere=True).notices
        assert not reader.search("walnut floors").hits and reader.search("hello there").hits
        with pytest.raises(Exception, match="forgotten for good"):
            memory.undo()
    state = [file for file in (world.base / "home/state").rglob("*") if file.is_file()]
    assert [file for file in state if b"walnut" in file.read_bytes()] == [] and world.found("walnut") == []


def test_said_anew_later_it_may_come_back_from_a_conversation_too(world: World) -> None:
    log = world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        memory.forget("walnut floors")
    world.write("b.jsonl", turn("user", "the lease says walnut floors", "2026-11-22T10:00"))
    assert [hit.path for hit in world.search("walnut").hits] == [str(log.with_name("b.jsonl"))]


@pytest.mark.parametrize("moment", ["remember", "mark", "__init__"])
def test_a_kill_leaves_it_forgotten_or_the_next_writer_takes_it_back(
    world: World, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    places: dict[str, type] = {"remember": Withheld, "mark": Transaction, "__init__": forgetting.Forgotten}
    pid = os.fork()
    if not pid:
        monkeypatch.setattr(places[moment], moment, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        with world.memory() as memory:
            memory.forget("walnut floors")
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert bool(world.found("walnut")) is (moment == "remember")
    with world.memory() as memory:
        memory.log("another line")
    assert bool(world.found("walnut")) is (moment != "__init__")
    with world.memory() as memory:
        assert memory.forget("walnut floors").written if moment != "__init__" else memory.undo(last=2)
    assert bool(world.found("walnut")) is (moment == "__init__")


@pytest.mark.parametrize("by_doctor", [True, False])
@pytest.mark.parametrize(("owner", "moment"), [(Talks, "read_again"), (Withheld, "settle")])
def test_what_a_killed_undo_left_is_found_again_after_the_next(
    world: World, owner: type, moment: str, by_doctor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        memory.forget("walnut floors")
    pid = os.fork()
    if not pid:
        monkeypatch.setattr(owner, moment, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        with world.memory() as memory:
            memory.undo()
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert journal_of(world)[-1] == ("forget", "withhold", "a.jsonl", True) and world.found("walnut") == []
    with world.memory() as memory:
        memory.log("another line")
        if by_doctor:
            memory.doctor()
        else:
            memory.undo()
    assert world.found("walnut")


def test_an_undo_that_can_not_be_recorded_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    with world.memory() as memory:
        memory.forget("walnut floors")
        monkeypatch.setattr(Withheld, "settle", lambda *_: raised(OSError(30, "Read-only file system")))
        assert memory.undo() and "doctor repeats it" in "".join(memory.workspace.notices)


def test_where_nothing_can_be_recorded_nothing_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.jsonl", *HARBOUR)
    world.add()
    monkeypatch.setattr(Withheld, "remember", lambda *_, **__: raised(OSError(30, "Read-only file system")))
    with world.memory() as memory, pytest.raises(UnwritableError, match="Read-only"):
        memory.forget("walnut floors")
    monkeypatch.undo()
    assert world.found("walnut") and all(undone for *_, undone in journal_of(world))
    with world.memory() as memory:
        lock = VaultLock(memory.workspace.ensure_state() / "lock", timeout=0, command="other")
        memory.workspace.settings.store = StoreOptions(lock_timeout=0)
        with lock.held(), pytest.raises(BusyError):
            memory.forget("walnut floors")
        assert memory.workspace.store(writes=False).spool.pending() == []
    assert world.found("walnut")


def raised(error: BaseException) -> None:
    raise error


def test_turns_that_a_night_kept_go_with_what_was_said(world: World) -> None:
    from tars_memory.jobs.sleep import sleep

    old = world.write("old.jsonl", *HARBOUR)
    os.utime(old, (NOW.timestamp() - 26 * 86_400,) * 2)
    world.add()
    with world.memory() as memory:
        sleep(memory)
        assert "walnut" in next((world.root / "sessions").iterdir()).read_text("utf-8")
        receipt = memory.forget("walnut floors", everywhere=True)
        assert [each.path.split("/")[0] for each in receipt.touched] == ["sessions"]
    assert "walnut" not in next((world.root / "sessions").iterdir()).read_text("utf-8")
    assert world.found("walnut") == []


@pytest.mark.parametrize("by_place", [True, False])
def test_a_turn_that_a_session_keeps_can_be_forgotten_when_its_log_is_gone(world: World, by_place: bool) -> None:
    path = "sessions/2026-11-12 1000 Work.md"
    kept = "## Turns\n\n> [3] 10:01 **user:** we moved\n> the lease says walnut floors\n\n> [4] **assistant:** Oh.\n"
    note = world.root / path
    note.parent.mkdir()
    note.write_text(f"---\ndate: 2026-11-12\n---\n\n{kept}\n> [5] **user:** hello there\n")
    before = note.read_bytes()
    with world.memory() as memory:
        receipt = memory.forget(f"{path}:8" if by_place else "walnut floors")
        assert (receipt.path, receipt.written, receipt.withheld) == (path, True, [])
    assert "walnut" not in note.read_text() and "hello there" in note.read_text()
    world.write("a.jsonl", *HARBOUR[2:])
    world.add()
    assert bool(world.found("walnut")) is by_place  # another turn than the whole one that was named
    with world.memory() as memory:
        memory.undo()
    assert note.read_bytes() == before


def test_lines_around_a_turn_are_those_of_its_conversation_up_to_one_that_was_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ["the ferry is yellow", "the lease says walnut floors", *(f"pelican number {n}" for n in range(58))]
    world.write("a.jsonl", *(turn("user", text, f"2026-11-02T10:{n:02}") for n, text in enumerate(said)))
    world.add()
    (hit,) = world.search("ferry", around=2).hits
    assert hit.beside == ((1, said[0]), (2, said[1]), (3, said[2])) and hit.text.startswith("\n".join(said[:3]))
    monkeypatch.setattr(Talks, "read_again", lambda *_: None)  # as if the index had been busy
    with world.memory() as memory:
        memory.forget("pelican number 55")
    (hit,) = world.search("ferry", around=100).hits
    assert hit.text.split("\n") == said[: said.index("pelican number 55")] and len(hit.places) == 57


def test_why_says_that_the_log_of_a_conversation_is_not_on_this_machine(tmp_path: Path) -> None:
    session = (
        '---\ndate: 2026-11-02\nsource: "a.jsonl"\n---\n\n## Facts\n\n'
        "- the lease says walnut floors ([[2026-11-02#^d-aaaaaaa|2026-11-02]])\n"
        '  - quote:: "the lease says walnut floors"\n  - said by:: user, turn 1\n'
    )
    day = "## Log\n- 10:00 [extracted] the lease says walnut floors ^d-aaaaaaa\n"
    world = World(tmp_path, {"sessions/2026-11-02 1000 Flat.md": session, "2026-11-02.md": day})
    log = world.write("a.jsonl", *HARBOUR)

    def ends() -> list[str]:
        with world.memory() as memory:
            return [step.text for step in memory.why("walnut floors").chain if step.kind == "end"]

    assert ends() == []  # without sources, nobody knows
    world.add()
    assert ends() == []
    log.unlink()
    assert ends() == ["the log of that conversation, a.jsonl, is in none of your sources on this machine"]
