"""Doctor: each thing that can go wrong is a finding with what to do, and only what is safe is mended."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tars_memory.errors import ModelUnavailableError, NotFoundError, UnwritableError, VaultError
from tars_memory.index.database import BACKGROUND, IndexFiles
from tars_memory.index.indexer import Index
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import has_markers, is_conflict_copy, original_of

MARKED = b"# Day\n\n<<<<<<< HEAD\n- ours\n=======\n- theirs\n>>>>>>> branch\n"


@pytest.fixture
def open_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Memory]:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n- likes oolong\n", "Tea.md": "# Tea\n\ngreen\n"})
    monkeypatch.setattr("tars_memory.jobs.doctor.current_model", lambda memory: {"usable": True})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(root, embedder=HashEmbedder(), env=env)
    memory.reindex()
    memory.close()
    return lambda: Memory(root, embedder=HashEmbedder(), env=env)


def findings(open_memory: Callable[[], Memory], kind: str = "", *, fix: bool = False) -> list[dict[str, Any]]:
    with open_memory() as memory:
        found = memory.doctor(fix=fix)["findings"]
    return [each for each in found if not kind or each["kind"] == kind]


def root(open_memory: Callable[[], Memory]) -> Path:
    with open_memory() as memory:
        return memory.workspace.root


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("a/Tea.sync-conflict-20261121-143000-ABCDEF7.md", "a/Tea.md"),
        ("Tea (Anna's conflicted copy 2026-11-21).md", "Tea.md"),
        ("Tea (Conflicted copy phone 202611211430).md", "Tea.md"),
        ("Tea (conflict).md", "Tea.md"),
        ("Tea (SFConflict anna@example.org 2026-11-21-14-30-00).md", "Tea.md"),
        ("Tea.Conflict1.md", "Tea.md"),
        ("Green_Tea_Anna-PC_Nov-21-1430-2026_CaseConflict_1.md", "Green_Tea.md"),
        ("Tea_conflict-20261121-143000.md", "Tea.md"),
        ("Tea (Annas in Konflikt stehende Kopie 2026-11-21).md", "Tea.md"),
        ("Tea (Copie en conflit de Anna 2026-11-21).md", "Tea.md"),
        ("Tea (Copia en conflicto de Anna 2026-11-21).md", "Tea.md"),
        ("Tea (Copia in conflitto di Anna 2026-11-21).md", "Tea.md"),
        ("Tea (конфликтующая копия с компьютера Anna 2026-11-21).md", "Tea.md"),
        ("Tea (Anna の競合コピー 2026-11-21).md", "Tea.md"),
    ],
)
def test_a_conflict_copy_names_its_note(name: str, original: str) -> None:
    assert is_conflict_copy(name) and original_of(name) == original


@pytest.mark.parametrize(
    "name",
    [
        "Tea.md",
        "On conflict.md",
        "Tea (copy).md",
        "conflict.md",
        "Tea (Konflikte).md",
        "Krieg (Konflikt Korea) 1950.md",
    ],
)
def test_other_names_are_no_copies(name: str) -> None:
    assert not is_conflict_copy(name)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MARKED, True),
        (MARKED.replace(b"\n", b"\r\n"), True),
        (b"<<<<<<< HEAD\n- only one\n", False),
        (b"a line\n=======\nunder a heading\n", False),
        (b"> <<<<<<< quoted\n> =======\n> >>>>>>> quoted\n", False),
    ],
)
def test_markers(data: bytes, expected: bool) -> None:
    assert has_markers(data) is expected


def test_all_is_well(open_memory: Callable[[], Memory]) -> None:
    assert findings(open_memory) == []


def test_a_note_with_markers_is_neither_found_nor_written(open_memory: Callable[[], Memory]) -> None:
    path = root(open_memory) / "Memory.md"
    path.write_bytes(MARKED)
    with open_memory() as memory:
        assert not memory.search("theirs", mode="lexical").hits
        with pytest.raises(UnwritableError, match="conflict markers"):
            memory.remember("the heron")
        assert path.read_bytes() == MARKED
    found = findings(open_memory, "conflict")
    assert [each["path"] for each in found] == ["Memory.md"] and not found[0]["fixable"]
    assert findings(open_memory, "spool"), "what was typed waits"
    path.write_bytes(b"## Notes\n- theirs\n")
    assert {each["kind"] for each in findings(open_memory, fix=True)} <= {"index"}
    assert findings(open_memory) == []
    assert b"the heron" in path.read_bytes()


def test_a_conflict_copy_is_shown_with_what_only_it_says(open_memory: Callable[[], Memory]) -> None:
    copy = root(open_memory) / "Tea.sync-conflict-20261121-143000-ABCDEF7.md"
    copy.write_text("# Tea\n\ngreen\n\nand white\n")
    (found,) = findings(open_memory, "conflict copy", fix=True)
    assert "and white" in found["message"] and "1 line that Tea.md lacks" in found["message"] and not found["fixed"]
    copy.write_text("# Tea\n")
    assert "says nothing that Tea.md doesn't" in findings(open_memory, "conflict copy")[0]["message"]
    with open_memory() as memory:
        assert {hit.path for hit in memory.search("tea", mode="lexical").hits} == {"Tea.md"}
    assert copy.exists()


@pytest.mark.parametrize("name", ["Pot 2.md", "Pot (1).md", "Pot-LAPTOP-AB12CD34.md"])
def test_a_numbered_note_that_says_nearly_the_same_may_be_a_copy(name: str, open_memory: Callable[[], Memory]) -> None:
    folder = root(open_memory)
    text = "# Pot\n\none\ntwo\nthree\nfour\n"
    (folder / "Pot.md").write_text(text)
    (folder / name).write_text(text + "- five\n")
    (folder / "Pot 3.md").write_text("# Pot\n\nsomething else\nand more\nof it\n")
    (folder / "Lone 2.md").write_text(text)
    (found,) = findings(open_memory, "conflict copy", fix=True)
    assert (found["path"], found["fixed"]) == (name, False)
    assert "Pot.md" in found["message"]


def test_what_is_not_searched_is_named_with_what_to_do(open_memory: Callable[[], Memory]) -> None:
    top = root(open_memory)
    with open(os.fsencode(top) + b"/n\xffame.md", "wb") as file:
        file.write(b"oolong\n")
    (top / "long.md").write_text("tea " * 3_000_000)
    told = {each["message"]: (each["hint"], each["path"]) for each in findings(open_memory, "skipped")}
    assert told == {
        "not searched, not named in UTF-8: $'n\\377ame.md'": ("rename it with mv; convmv renames many", ""),
        "not searched, too big: long.md": ("raise [limits] max_note_bytes, or split the note", "long.md"),
    }


def test_a_note_in_an_encoding_of_one_byte_a_letter_names_no_language(open_memory: Callable[[], Memory]) -> None:
    (root(open_memory) / "Stare.md").write_bytes("Zażółć gęślą jaźń\n".encode("cp1250"))
    (found,) = findings(open_memory, "encoding")
    assert found["hint"] == (
        "in the vault's folder, with the encoding it has (latin1, cp1251, shift_jis, gb18030, …): "
        "iconv -f latin1 -t utf-8 Stare.md > Stare.md.new && mv Stare.md.new Stare.md"
    )


def test_a_note_that_is_called_so_is_no_copy(open_memory: Callable[[], Memory]) -> None:
    folder = root(open_memory)
    theme = "---\ntags: theme\n---\n# {}\n\nDeveloped by somebody\n\n## Screenshots\n\nnone\n\nin the settings\n"
    for name in ("Things", "Things 2", "Things 3", "Minimal", "Blue", "Sea"):
        (folder / f"{name}.md").write_text(theme.format(name))
    unnamed = theme.replace("# {}\n", "")
    for name in ("Shore", "Shore 2"):
        (folder / f"{name}.md").write_text(unnamed)  # nothing but its template
    (folder / "Chapter.md").write_text("# Chapter\n\nto do\nto read\nto write\nto end\n")
    (folder / "Chapter 2.md").write_text("# Chapter 2\n\nto do\nto read\nto write\nto end\n")
    for hidden in (".obsidian/themes/Things 3", ".obsidian/plugins/Tasks 2", ".trash"):
        (folder / hidden).mkdir(parents=True)
        for name in ("README.md", "README 2.md"):
            (folder / hidden / name).write_text(theme)
    assert findings(open_memory, "conflict copy") == []
    (folder / "Chapter 3.md").write_text("# Chapter\n\nto do\nto read\nto write\nto the end\n")
    assert [each["path"] for each in findings(open_memory, "conflict copy")] == ["Chapter 3.md"]


def test_what_can_not_be_written_can_be_made_writable_as_told(
    open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = root(open_memory) / "Memory.md"
    note.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: bool(os.stat(path).st_mode & 0o200))  # as for anyone but root
    (found,) = findings(open_memory, "permissions")
    subprocess.run(["sh", "-c", found["hint"]], check=True, cwd="/")
    assert findings(open_memory, "permissions") == []


def test_a_note_that_is_not_downloaded(open_memory: Callable[[], Memory]) -> None:
    (root(open_memory) / ".Boats.md.icloud").write_text("")
    (root(open_memory) / "Plans").mkdir()
    (root(open_memory) / "Plans/.Sails.md.icloud").write_text("")
    assert [each["path"] for each in findings(open_memory, "not downloaded")] == ["Boats.md", "Plans/Sails.md"]


def test_a_lost_line_is_listed_and_can_be_had_again(open_memory: Callable[[], Memory]) -> None:
    path = root(open_memory) / "Memory.md"
    before = path.read_bytes()
    with open_memory() as memory:
        txn = memory.remember("the heron stands in the harbour").txn
    path.write_bytes(before)  # a sync brings the older text back
    (found,) = findings(open_memory, "lost line", fix=True)
    assert f"--restore {txn}" in found["hint"] and not found["fixable"]
    with open_memory() as memory:
        assert txn is not None
        memory.restore(txn)
    assert path.read_bytes() == before + b"- the heron stands in the harbour\n"
    assert findings(open_memory, "lost line") == []
    with open_memory() as memory, pytest.raises(NotFoundError):
        memory.restore(str(txn))
    with open_memory() as memory:
        memory.undo()
    assert path.read_bytes() == before


def test_a_leftover_is_removed_only_if_its_note_says_all_of_it(open_memory: Callable[[], Memory]) -> None:
    place = root(open_memory)
    safe, unsafe = place / ".Tea.md.0abc.tars-tmp", place / ".Memory.md.0abd.tars-tmp"
    safe.write_text("# Tea\n")
    unsafe.write_text("- something else\n")
    with open_memory() as memory:
        if {"Tea", "Memory"} - {name.split(".")[1] for name in memory.workspace.store(writes=False).leftovers()}:
            pytest.fail("the names of temporary files are others by now")
    told = {each["path"]: each["fixed"] for each in findings(open_memory, "left over", fix=True)}
    assert told == {safe.name: True, unsafe.name: False}
    assert not safe.exists() and unsafe.exists()


def test_the_index_is_compared_and_made_anew(open_memory: Callable[[], Memory]) -> None:
    with open_memory() as memory:
        connection = memory.workspace.index().connection()
        connection.execute("UPDATE chunk_texts SET text = 'nothing of the kind'")
        connection.commit()
    assert findings(open_memory, "index")[0]["fixable"]
    assert findings(open_memory, "index", fix=True)[0]["fixed"]
    assert findings(open_memory) == []


def test_a_folder_that_others_may_look_into(open_memory: Callable[[], Memory]) -> None:
    with open_memory() as memory:
        state = memory.workspace.state
    os.chmod(state, 0o755)
    assert findings(open_memory, "permissions", fix=True)[0]["fixed"]
    assert state.stat().st_mode & 0o777 == 0o700
    assert findings(open_memory) == []


def test_tiers_that_fill_every_prompt(open_memory: Callable[[], Memory]) -> None:
    path = root(open_memory) / "Memory.md"
    path.write_text("## Notes\n" + "".join(f"- fact number {n} about something long enough\n" for n in range(200)))
    assert findings(open_memory, "size")[0]["path"] == "Memory.md"


def test_a_model_that_does_not_work(open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.errors import ModelUnavailableError

    def broken(self: HashEmbedder, text: str) -> None:
        raise ModelUnavailableError("the model gives nothing", "remove its folder")

    monkeypatch.setattr(HashEmbedder, "embed_query", broken)
    assert findings(open_memory, "model")[0]["message"] == "the model gives nothing"


def test_a_model_that_breaks_while_the_index_is_looked_at_is_told_once_and_the_rest_is_looked_at(
    open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: HashEmbedder, texts: object) -> None:
        raise ModelUnavailableError("the model gives nothing", "remove its folder")

    monkeypatch.setattr(HashEmbedder, "embed_passages", broken)
    monkeypatch.setattr(HashEmbedder, "embed_query", broken)
    (root(open_memory) / "new.md").write_text("a note without a vector\n")
    assert [each["message"] for each in findings(open_memory)] == ["the model gives nothing"]


def test_what_a_probe_may_not_read_is_a_finding_and_the_rest_is_looked_at(
    open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise UnwritableError("the journal can't be read: Permission denied", "check its owner")

    monkeypatch.setattr("tars_memory.vault.writing.journal.Journal.damaged", refused)
    (root(open_memory) / "Memory.md").write_text("## Notes\n" + "- a fact that is about something long enough\n" * 200)
    told = findings(open_memory)
    assert [each["kind"] for each in told][:2] == ["not checked", "size"]
    assert told[0]["hint"] == "check its owner"


def test_a_dry_run_mends_nothing(open_memory: Callable[[], Memory]) -> None:
    with open_memory() as memory:
        state = memory.workspace.state
    os.chmod(state, 0o755)
    with open_memory() as memory:
        memory.workspace.dry_run = True
        (found,) = memory.doctor(fix=True)["findings"]
    assert found["fixable"] and not found["fixed"] and state.stat().st_mode & 0o777 == 0o755


def overwritten(open_memory: Callable[[], Memory], path: str, data: bytes) -> list[str]:
    """What doctor calls lost after something else saved a note."""
    (root(open_memory) / path).write_bytes(data)
    return [each["message"].split("'")[1] for each in findings(open_memory, "lost line")]


def test_all_that_is_lost_comes_back_where_it_stood(open_memory: Callable[[], Memory]) -> None:
    path = root(open_memory) / "Memory.md"
    with open_memory() as memory:
        memory.remember("the heron", section="Birds")
        memory.remember("the teal", section="Birds")
        memory.remember("the oolong")
        day = memory.workspace.root / memory.log("a walk").path
        memory.log("a talk")
    log = day.read_bytes()
    lost = overwritten(open_memory, "Memory.md", b"## Notes\n- likes oolong\n\n## Birds\n\n## Cats\n- Tom\n")
    assert lost == ["- the heron", "- the teal", "- the oolong"]
    assert len(overwritten(open_memory, day.name, log[: log.index(b"- ")])) == 5
    with open_memory() as memory:
        assert len(memory.restore("all")) == 5
    assert day.read_bytes() == log
    assert path.read_bytes() == (
        b"## Notes\n- likes oolong\n- the oolong\n\n## Birds\n- the heron\n- the teal\n\n## Cats\n- Tom\n"
    )
    assert findings(open_memory, "lost line") == []
    with open_memory() as memory, pytest.raises(NotFoundError, match="no line is lost"):
        memory.restore("all")


def test_a_line_that_several_headings_hold_comes_back_where_it_is_missing(open_memory: Callable[[], Memory]) -> None:
    names = ("Anna", "Ben", "Cleo")
    with open_memory() as memory:
        for name in names:
            memory.add_fact(name, "likes", "tea")
    whole = (root(open_memory) / "Facts.md").read_bytes()
    for name in names:
        overwritten(open_memory, "Facts.md", f"# Facts\n\n## {name}\n- likes:: tea\n".encode())
        with open_memory() as memory:
            memory.restore("all")
            assert {fact.subject for fact in memory.facts()} == set(names)
        assert sorted((root(open_memory) / "Facts.md").read_bytes().split()) == sorted(whole.split())


def test_what_came_back_meanwhile_is_not_written_twice(
    open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root(open_memory) / "Memory.md"
    before = path.read_bytes()
    with open_memory() as memory:
        memory.remember("the heron")
        memory.remember("the teal")
    path.write_bytes(before)
    with open_memory() as memory:
        lost = memory.workspace.store(writes=False).lost_lines()
        monkeypatch.setattr("tars_memory.vault.writing.history.lost_lines", lambda journal, root: lost)
        path.write_bytes(before + b"- the teal\n")  # the other device's copy arrives after the look
        memory.restore("all")
    assert path.read_bytes() == before + b"- the teal\n- the heron\n"


def test_a_candidate_that_another_device_decided_is_not_lost(open_memory: Callable[[], Memory]) -> None:
    with open_memory() as memory, memory.workspace.capture().writing("extract", None) as transaction:
        text = b"## Log\n- 10:00 [extracted] likes tea ^d-7f3ak2c\n- 10:01 a talk\n"
        transaction.write("2026-11-21.md", lambda data: [Splice(0, 0, text)])
    assert overwritten(open_memory, "2026-11-21.md", text.replace(b"[extracted]", b"[promoted]")) == []
    assert overwritten(open_memory, "2026-11-21.md", b"# another head\n- 10:01 a talk\n") == [
        "- 10:00 [extracted] likes tea ^d-7f3ak2c"
    ]


def test_what_is_taken_out_of_the_list_to_decide_is_not_lost(open_memory: Callable[[], Memory]) -> None:
    day = root(open_memory) / "2026-11-21.md"
    day.write_text("## Log\n- 10:00 [extracted] likes tea ^d-7f3ak2c\n")
    with open_memory() as memory:
        place = memory.workspace.root / memory.review().write_note()[0]
    listed = place.read_text()
    assert "- [ ] likes tea" in listed
    place.write_text(listed[: listed.index("- [ ]")])
    assert findings(open_memory, "lost line") == []


def test_a_note_of_ours_that_is_gone_is_made_again_and_one_that_moved_is_not_lost(
    open_memory: Callable[[], Memory],
) -> None:
    with open_memory() as memory:
        day = memory.workspace.root / memory.log("a walk").path
        memory.log("a talk")
    made = day.read_bytes()
    archive = day.parent / "archive" / day.name
    archive.parent.mkdir()
    day.rename(archive)
    assert findings(open_memory, "lost line") == []
    archive.unlink()
    assert findings(open_memory, "lost line")
    with open_memory() as memory:
        memory.restore("all")
    assert day.read_bytes() == made
    assert findings(open_memory, "lost line") == []


def test_children_come_back_below_their_line(open_memory: Callable[[], Memory]) -> None:
    data = b"## Notes\n- likes oolong\n- the heron\n  - replaced:: the stork\n"
    with open_memory() as memory, memory.workspace.capture().writing("review", None) as transaction:
        transaction.write("Memory.md", lambda found: [Splice(len(found or b""), len(found or b""), data[24:])])
    assert len(overwritten(open_memory, "Memory.md", data[:24])) == 2
    with open_memory() as memory:
        memory.restore("all")
    assert (root(open_memory) / "Memory.md").read_bytes() == data


def test_the_journal_outlives_the_id_that_another_device_gave_the_vault(open_memory: Callable[[], Memory]) -> None:
    place = root(open_memory)
    before = (place / "Memory.md").read_bytes()
    (place / ".tars/vault-id").unlink()
    with open_memory() as memory:
        memory.remember("the heron")
        state = memory.workspace.state
    (place / ".tars/vault-id").write_text("567361ca-ac5e-9a13-3f7a-179fe8260bb4\n")
    (place / "Memory.md").write_bytes(before)
    with open_memory() as memory:
        assert memory.workspace.state == state
        memory.log("a walk")
        assert memory.workspace.state == state
    assert findings(open_memory, "lost line")
    place.rename(place.with_name("old"))
    make_vault(place, {"Memory.md": "## Notes\n"})
    (place / ".tars/vault-id").write_text("a2f7a5e0-1111-2222-3333-444455556666\n")
    with open_memory() as memory:
        memory.log("another vault's walk")
        assert [entry.after.strip()[-4:] for entry in memory.history()] == ["walk"]
    assert findings(open_memory, "lost line") == []


def test_an_empty_folder_where_a_vault_was_is_no_vault_to_write_to(
    open_memory: Callable[[], Memory], tmp_path: Path
) -> None:
    place = root(open_memory)
    (place / ".tars/vault-id").unlink()
    with open_memory() as memory:
        memory.log("a walk")
    place.rename(tmp_path / "elsewhere")
    place.mkdir()
    for _ in range(2):
        with open_memory() as memory:
            assert memory.search("oolong", mode="lexical").unmounted
            with pytest.raises(VaultError, match="looks unmounted or emptied"):
                memory.log("a talk")
    assert list(place.iterdir()) == []
    place.rmdir()
    (tmp_path / "elsewhere").rename(place)
    with open_memory() as memory:
        assert [entry.after.strip()[-4:] for entry in memory.history()] == ["walk"]
        memory.log("a talk")
    place.rename(tmp_path / "elsewhere")
    place.mkdir()
    with open_memory() as memory:
        env = {"TARS_MEMORY_HOME": str(memory.workspace.settings.places.state.parent)}
    assert "Memory.md" in Memory.init(place, env=env).created
    with open_memory() as memory:
        memory.log("of another vault")
        assert {entry.command for entry in memory.history()} == {"log", "init"}
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    place.rmdir()
    (tmp_path / "elsewhere").rename(place)
    with open_memory() as memory:  # the first one is there again, and its journal with it
        memory.log("a rest")
        assert [entry.after.strip()[-4:] for entry in memory.history()] == ["rest", "talk", "walk"]


def test_conversations_that_cannot_be_indexed_are_told(open_memory: Callable[[], Memory], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with open_memory() as memory:
        memory.add_source(str(tmp_path / "logs"))
        state = memory.workspace.state
    assert findings(open_memory, "sources") == []
    shutil.rmtree(state / "talks", ignore_errors=True)
    (state / "talks").write_text("in the way")
    (found,) = findings(open_memory, "sources")
    assert "can't be made" in found["message"]


def test_a_model_that_knows_the_language_is_named_unless_one_was_chosen(open_memory: Callable[[], Memory]) -> None:
    for name in ("Garten", "Keller"):
        (root(open_memory) / f"{name}.md").write_text("Die Tomaten und die Gurken sind reif, und wir haben zu viel.\n")
    with open_memory() as memory:
        assert "most of these in German; the model multilingual can search these by meaning: tars-memory models" in str(
            memory.doctor()["notices"]
        )
        memory.workspace.settings.write("embedding", "model", "embedded")
    with open_memory() as memory:
        assert "German" not in str(memory.doctor()["notices"])


def test_what_is_made_unasked_is_no_finding(open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    (root(open_memory) / "Many.md").write_text("".join(f"# Part {n}\n\nwords of part {n}\n\n" for n in range(20)))
    with open_memory() as memory:
        memory.reindex(embed=False)
    (found,) = findings(open_memory)
    assert found["kind"] == "index" and "semantic search covers 9 %" in found["message"], "nothing may go on by itself"
    begun: list[Path] = []
    monkeypatch.setattr("tars_memory.index.detached.start", lambda state, *_: not begun.append(state))
    with open_memory() as memory:
        memory.workspace.may_finish_in_background = True
        monkeypatch.setattr("tars_memory.settings.allows", lambda *_: True)
        told = memory.doctor()
    assert told["findings"] == [] and begun
    assert any("without a vector yet: made in the background" in notice for notice in told["notices"])


def test_an_index_in_the_making_is_not_compared(
    open_memory: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory() as memory:
        memory.reindex()
        with IndexFiles(memory.workspace.state).lock(0, BACKGROUND):
            monkeypatch.setattr(Index, "verify", lambda _: ["a difference"])
            told = memory.doctor()
            assert told["findings"] == [] and "tars-memory doctor --index" in told["notices"][-1]
        assert [found["kind"] for found in memory.doctor()["findings"]] == ["index"]


def test_the_few_that_a_search_would_make_are_made(open_memory: Callable[[], Memory]) -> None:
    with open_memory() as memory:
        memory.reindex()
        (memory.workspace.root / "One.md").write_text("one passage more\n")
        memory.workspace.dry_run = True
        told = memory.doctor()
        assert told["findings"] == [] and memory.workspace.index().pending() == 1
        assert told["notices"] == ["1 passage without a vector yet: the next search makes them"]
    with open_memory() as memory:
        told = memory.doctor()
        assert (told["findings"], told["notices"]) == ([], [])
        assert memory.workspace.index().pending() == 0
