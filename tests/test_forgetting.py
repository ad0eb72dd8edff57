"""``forget --everywhere``: no copy of ours keeps the words."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from tars_memory.errors import (
    AmbiguousError,
    BusyError,
    ConflictError,
    NotFoundError,
    PartialError,
    SettingsError,
    UsageError,
)
from tars_memory.index.database import CACHE_FILE
from tars_memory.index.vectors import VectorCache
from tars_memory.jobs import forgetting
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder
from tars_memory.vault import inbox
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.withheld import Withheld, mentions, wordings

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)

    def make(**more: str) -> Memory:
        env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), **more}
        return Memory(tmp_path / "vault", env=env, embedder=HashEmbedder())

    return make


def holding(base: Path, words: str) -> list[Path]:
    return [path for path in base.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_no_copy_of_ours_keeps_the_words(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        memory.remember("another line")
        memory.reindex()
        memory.edit("zebra-41", "the gate opens with zebra-42")
        memory.search("zebra-42")
        receipt = memory.forget("zebra-42", everywhere=True)
        assert receipt.written
        assert not [notice for notice in receipt.notices if "remains" in notice]
        assert memory.search("another").hits
    assert holding(tmp_path, "zebra") == []


def test_where_the_index_is_damaged_no_vector_of_the_words_stays(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        memory.reindex()
        cache = memory.workspace.index().cache / CACHE_FILE
        with closing(VectorCache(cache.parent)) as vectors:
            assert vectors.hashes()
        path = memory.workspace.index().published_from()
    path.write_bytes(path.read_bytes()[:4096] + b"\0" * 8192)
    journal = cache.with_name(f"{cache.name}-journal")
    journal.write_bytes(b"zebra")
    with opened() as memory:
        memory.forget("zebra-41", everywhere=True)
    assert not journal.exists()
    with closing(VectorCache(cache.parent)) as vectors:
        assert not vectors.hashes(), "which vectors are those of the words only the index knew"
    assert holding(tmp_path, "zebra") == []


def test_the_copies_of_a_sync_and_in_the_trash_of_obsidian_are_named(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        copy = tmp_path / "vault/Memory (conflict).md"
        other = tmp_path / "vault/projects/secret/Memory (conflicted copy).md"
        trash = tmp_path / "vault/.trash/Old/Memory 1.md"  # as of a folder that was removed
        gone = tmp_path / "vault/.trash/projects/secret/Memory.md"
        for path in (copy, other, trash, gone):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((tmp_path / "vault/Memory.md").read_bytes())
        notices = memory.forget("zebra-41", everywhere=True).notices
    assert {"the same words are in Memory (conflict).md", "the same words are in .trash/Old/Memory 1.md"} <= {*notices}
    assert not any("secret" in notice for notice in notices), "nothing of a project is told outside of it"
    assert {*holding(tmp_path, "zebra")} == {copy, other, trash, gone}


def test_what_was_forgotten_before_can_still_be_purged(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        ref = memory.remember("the gate opens with zebra-41").ref
        memory.log("zebra talk at noon")
        memory.forget(ref)
        memory.forget("zebra talk at noon")
        assert holding(tmp_path / "home", "zebra-41")
        receipt = memory.forget(ref, everywhere=True)
        assert (receipt.written, receipt.path) == (False, "Memory.md")
        memory.forget("Zebra talk  at noon", everywhere=True)
        with pytest.raises(NotFoundError):
            memory.forget("never there", everywhere=True)
    assert holding(tmp_path, "zebra") == []


def test_a_part_of_the_words_names_what_was_forgotten_if_nothing_else_has_it(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        for text in ("the gate opens with zebra-41", "the gate is green", "the okapi is green"):
            memory.remember(text)
            memory.forget(text)
        with pytest.raises(NotFoundError):
            memory.forget("green", everywhere=True)
        assert memory.forget("zebra-41", everywhere=True).text == "the gate opens with zebra-41"
    assert holding(tmp_path, "zebra") == []
    assert holding(tmp_path, "okapi")


def test_it_is_not_put_off_for_it_could_not_be_purged_then(opened: Open, tmp_path: Path) -> None:
    with opened(TARS_MEMORY_STORE_LOCK_TIMEOUT="0.05") as memory:
        ref = memory.remember("zebra").ref
        held = VaultLock(memory.workspace.state / "lock", timeout=1, command="another").held()
        with held, pytest.raises(BusyError) as caught:
            memory.forget(ref, everywhere=True)
        assert caught.value.spooled is None
        assert memory.show(ref).text == "zebra"


@pytest.mark.parametrize("words", ['the "zebra" said C:\\döner', "zebra rules", "zebra 🦓 ⟨x⟩"])
def test_a_proposal_that_says_the_same_goes_too_and_out_of_the_journal(
    opened: Open, tmp_path: Path, words: str
) -> None:
    with opened() as memory:
        memory.remember(words, tier="procedural")
        memory.remember("zebras are another matter", tier="procedural")
        memory.remember(words)
        assert len(list((memory.workspace.root / ".tars/inbox").iterdir())) == 2
        receipt = memory.forget(words, everywhere=True)
        assert [
            path.read_text("utf-8").count("another matter")
            for path in (memory.workspace.root / ".tars/inbox").iterdir()
        ] == [1]
    assert not [notice for notice in receipt.notices if "remains" in notice]
    assert [notice for notice in receipt.notices if notice == "purged from proposals and decisions about them: 1"]
    assert [text for text in _texts(tmp_path / "home") if text == "zebras are another matter"]
    assert not [text for text in _texts(tmp_path) if words in text]


def test_a_decision_stays_without_the_words(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        with memory.workspace.store().transaction("review") as transaction:
            inbox.decide(
                transaction, [("12345678", "- zebra-9"), ("87654321", "zebra-99")], "rejected", date(2026, 1, 1)
            )
        memory.remember("zebra-9")
        memory.forget("zebra-9", everywhere=True)
        assert set(inbox.decided(memory.workspace.vault)) == {"12345678", "87654321"}
    assert [text for text in _texts(tmp_path) if "zebra-99" in text]
    assert not [text for text in _texts(tmp_path) if "zebra-9" in text.replace("zebra-99", "")]


def _texts(base: Path) -> list[str]:
    """Every text that the notes and our JSON files hold, JSON within JSON read as well."""
    found: list[str] = []
    for path in base.rglob("*"):
        if path.suffix in (".md", ".json", ".jsonl"):
            text = path.read_text("utf-8", "surrogateescape")
            found += (
                [text] if path.suffix == ".md" else [each for line in (text, *text.split("\n")) for each in _said(line)]
            )
    return found


def _said(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return [text] if text.count("\n") < 2 else [text, *(each for line in text.split("\n") for each in _said(line))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in parts for each in (_said(part) if isinstance(part, str) else _said(json.dumps(part)))]


def test_earlier_wordings_of_an_archived_line_are_purged_too(tmp_path: Path) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}

    def at(day: str) -> Memory:
        now = datetime.fromisoformat(f"{day}T10:00:00+00:00")
        return Memory(tmp_path / "vault", env=env, now=now, embedder=HashEmbedder())

    with at("2026-01-02") as memory:
        memory.log("the gate opens with zebra-41")
        memory.log("another line")
        memory.edit("the gate opens with zebra-41", "the gate opens with zebra-42")
    with at("2026-11-21") as memory:
        assert memory.archive(apply=True).moved == ["2026-01-02.md"]
        receipt = memory.forget("zebra-42", everywhere=True)
        assert (receipt.path, receipt.written) == ("archive/2026-01-02.md", True)
    assert holding(tmp_path, "zebra") == []


FULL = OSError(28, "No space left on device")
STEPS = {
    "the journal": "tars_memory.vault.writing.withheld.purge",
    "the index": "tars_memory.index.indexer.Index.rebuild",
    "the spool": "tars_memory.vault.writing.store.Spool.purge",
    "proposals": "tars_memory.vault.inbox.forget_words",
    "the hashes": "tars_memory.vault.writing.withheld.Withheld._write",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("again", ["REF", "zebra-42", "the gate opens with zebra-42"])
def test_what_can_not_be_purged_is_said_and_a_second_run_finishes(
    step: str, again: str, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the notes and what waits go in one write, which succeeds
    waiting = [inbox.forget_words] if step == "proposals" else []

    def full(*args: Any, **_more: object) -> object:
        if waiting:
            return waiting.pop()(*args)
        raise FULL

    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        memory.edit("zebra-41", "the gate opens with zebra-42")
        ref = memory.list()[0].ref
        memory.search("zebra-42")
        with monkeypatch.context() as patch:
            patch.setattr(STEPS[step], full)
            with pytest.raises(PartialError, match="gone from its note") as caught:
                memory.forget("zebra-42", everywhere=True)
        assert "No space left" in caught.value.message
        assert "zebra" not in (tmp_path / "vault/Memory.md").read_text()
        left = holding(tmp_path / "home", "zebra-42")
        assert all(str(path) in caught.value.message for path in left)
        assert left
    with opened() as memory:
        memory.forget(ref if again == "REF" else again, everywhere=True)
    assert holding(tmp_path, "zebra") == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ConflictError])
def test_it_is_withheld_before_it_is_removed_and_no_longer_if_that_fails(
    stop: type[BaseException], opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    removes = forgetting._remove

    def killed(*args: Any) -> None:
        if stop is KeyboardInterrupt:
            removes(*args)
        raise stop("now")

    with opened() as memory:
        memory.remember("the gate opens with zebra-41")
        monkeypatch.setattr(forgetting, "_remove", killed)
        with pytest.raises(stop):
            memory.forget("zebra-41")
        assert bool(memory.list()) is (stop is ConflictError)
        withheld = Withheld(memory.workspace.state)
        assert withheld.holds("ok, the gate opens with zebra-41", None) is (stop is KeyboardInterrupt)


# --- one command for everything that tells it

SAID = "I grew up on a hazelnut farm in Moos"
TURNS = (
    ("user", f"hi, please remember that {SAID}"),
    ("assistant", "Noted."),
    ("user", "thanks, I prefer thin books"),
    ("assistant", "Sure."),
)


def at(tmp_path: Path, moment: str, **more: object) -> Memory:
    (tmp_path / "vault/.obsidian").mkdir(parents=True, exist_ok=True)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    now = datetime.fromisoformat(f"{moment}+00:00")
    return Memory(tmp_path / "vault", env=env, now=now, embedder=HashEmbedder(), **more)


def chat(tmp_path: Path, *turns: tuple[str, str], day: str = "2026-11-27", **more: str) -> Path:
    path = tmp_path / "chat.jsonl"
    stamps = [{"timestamp": f"{day}T10:{number:02}:00Z"} if day else {} for number in range(len(turns))]
    lines = [
        json.dumps({"role": role, "content": text, **stamp, **more})
        for (role, text), stamp in zip(turns, stamps, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def approved(tmp_path: Path) -> Path:
    """A vault in which the statement was drawn from a log, approved, and is told by session, day and Memory.md."""
    path = chat(tmp_path, *TURNS)
    with at(tmp_path, "2026-11-28T09:00", actor="person", interactive=True) as memory:
        memory.extract([path], model="none", keep="full", force=True)
        review = memory.review()
        (wanted,) = [each.id for each in review.waiting().proposals if "hazelnut" in each.text]
        review.decide(accept=[wanted])
        memory.reindex()
        assert memory.search("hazelnut farm").hits
    assert "hazelnut" in (tmp_path / "vault/Memory.md").read_text()
    return path


def left(tmp_path: Path, words: str = "hazelnut") -> list[str]:
    """What still tells it, but the person's own log."""
    found = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "chat.jsonl"]
    return [str(path) for path in found if words.encode() in path.read_bytes() or words in path.name]


def test_one_command_leaves_no_place_and_it_does_not_come_back(tmp_path: Path) -> None:
    path = approved(tmp_path)
    kept = tmp_path / "home/state/vaults"
    (hooks,) = [each / "hooks/kept/a/b" for each in kept.iterdir() if each.is_dir()]
    hooks.mkdir(parents=True)
    (hooks / "1.jsonl").write_bytes(path.read_bytes())
    with at(tmp_path, "2026-11-28T10:00") as memory:
        receipt = memory.forget("hazelnut farm", everywhere=True)
        assert receipt.written and {each.path for each in receipt.touched} >= {"2026-11-27.md"}
    assert left(tmp_path) == []
    assert "thin books" in (hooks / "1.jsonl").read_text()
    session = next((tmp_path / "vault/sessions").glob("*.md")).read_text()
    assert "thin books" in session and "Noted" in session
    chat(tmp_path, *TURNS, ("user", "one more question about soil"), ("assistant", "Ask."))
    with at(tmp_path, "2026-11-29T09:00") as memory:
        memory.extract([path], model="none", keep="full", force=True)
        (tmp_path / "vault/sessions").rename(tmp_path / "vault/old")  # as if the session had never been examined
        memory.extract([path], model="none", keep="full", force=True)
        memory.reindex(full=True)
        assert not memory.search("hazelnut farm").hits
        assert not [each for each in memory.review().waiting().proposals if "hazelnut" in each.text]
        assert "hazelnut" not in str(memory.extract_prompts([path], force=True))
    assert left(tmp_path) == []


def test_a_plain_forget_can_be_made_one_for_good(tmp_path: Path) -> None:
    approved(tmp_path)
    with at(tmp_path, "2026-11-28T10:00") as memory:
        memory.forget("hazelnut farm")
        assert left(tmp_path / "home")
        assert "it was forgotten before" in memory.forget(SAID, everywhere=True).notices
    assert left(tmp_path) == []


def test_an_undo_brings_all_of_it_back_and_then_it_counts_again(tmp_path: Path) -> None:
    path = approved(tmp_path)
    before = {each: each.read_bytes() for each in (tmp_path / "vault").rglob("*.md")}
    with at(tmp_path, "2026-11-28T10:00") as memory:
        receipt = memory.forget("hazelnut farm")
        assert left(tmp_path / "vault") == []
        assert Withheld(memory.workspace.state).holds(
            f"well, {SAID}.", datetime.fromisoformat("2026-11-27T10:00:00+00:00")
        )
        memory.undo(receipt.txn)
        assert not Withheld(memory.workspace.state)
    assert {each: each.read_bytes() for each in (tmp_path / "vault").rglob("*.md")} == before
    assert path.exists()


def test_said_anew_later_it_may_come_back(tmp_path: Path) -> None:
    approved(tmp_path)
    with at(tmp_path, "2026-11-28T10:00") as memory:
        memory.forget("hazelnut farm", everywhere=True)
    path = chat(tmp_path, ("user", f"remember that {SAID}"), ("assistant", "Again?"), day="2026-12-01")
    with at(tmp_path, "2026-12-02T10:00") as memory:
        memory.extract([path], model="none", force=True)
    assert SAID in (tmp_path / "vault/2026-12-01.md").read_text()


def test_what_would_go_is_told_and_nothing_is_touched(tmp_path: Path) -> None:
    approved(tmp_path)
    note = tmp_path / "vault/2026-11-20.md"
    note.write_text(
        f"## Log\n- 10:00 told Bob that {SAID}, he laughed\n- 11:00 sold the hazelnut farm\n- 12:00 a farm\n"
    )
    before = {each: each.read_bytes() for each in (tmp_path / "vault").rglob("*.md")}
    with at(tmp_path, "2026-11-28T10:00", dry_run=True) as memory:
        receipt = memory.forget(SAID, everywhere=True)
        told = {each.path for each in receipt.touched} | {receipt.path}
        assert {"Memory.md", "2026-11-27.md"} < told and any(path.startswith("sessions/") for path in told)
        assert [each for each in receipt.notices if "the same words are in 2026-11-20.md:2" in each]
        assert [each for each in receipt.notices if "words of it are in 2026-11-20.md:3" in each]
        assert not [each for each in receipt.notices if "2026-11-20.md:4" in each]
        assert [each for each in receipt.notices if each.startswith("said in chat.jsonl")]
    assert {each: each.read_bytes() for each in (tmp_path / "vault").rglob("*.md")} == before


def test_other_lines_share_words_and_not_fields_however_their_letters_are_typed(tmp_path: Path) -> None:
    approved(tmp_path)
    note = tmp_path / "vault/2026-11-20.md"
    note.write_text(
        "## Log\n- 10:00 Béla öffnet [until:: 2027-01-01]\n- 11:00 Jan skis [until:: 2027-01-01]\n"
        "- 12:00 bela offnet at noon\n- 13:00 Bela öffnet\n"
    )
    with at(tmp_path, "2026-11-28T10:00", dry_run=True) as memory:
        receipt = memory.forget("Béla öffnet [until:: 2027-01-01]")
    told = [each.partition(", which")[0] for each in receipt.notices if "2026-11-20.md:" in each]
    assert told == ["the same words are in 2026-11-20.md:5", "words of it are in 2026-11-20.md:4"]


def test_copies_in_notes_that_only_the_person_changes_are_told(opened: Open, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "projects/x").mkdir(parents=True)
    (vault / "pens.md").write_text("# Pens\n\n- Fountain pens are fun.\n- fountain pens\n\nfountain pens are fun\n")
    (vault / "projects/x/pens.md").write_text("fountain pens are fun\n")
    (vault / "Procedural.md").write_text("- fountain pens are fun\n")
    told = "the same words stay in Procedural.md:1, pens.md:3, pens.md:6: open one"
    for everywhere in (False, True):
        with opened() as memory:
            memory.remember("fountain pens are fun")
            receipt = memory.forget("fountain pens are fun", everywhere=everywhere)
        places = [(copy.path, copy.line) for copy in receipt.staying]
        assert places == [("Procedural.md", 1), ("pens.md", 3), ("pens.md", 6)] and not receipt.touched
        assert [each for each in receipt.notices if "same words" in each] == [f"{told} and remove it, if you want"]


def test_a_title_and_a_file_name_that_tell_it_go(tmp_path: Path) -> None:
    (tmp_path / "vault/sessions").mkdir(parents=True)
    session = tmp_path / "vault/sessions/2026-11-27 1000 grew up on a hazelnut farm in Moos.md"
    session.write_text(
        '---\ndate: 2026-11-27\ntitle: >\n  I grew up on a hazelnut farm in Moos\nsource: "chat.jsonl"\n'
        f"source_hash: 00\nturns: 4\n---\n\n## Summary\n\nThey say: {SAID}.\n\nAnd more.\n\n"
        "## Topics\n\n- grew up on a hazelnut farm in Moos\n- books\n\n## Facts\n\n"
        f'- {SAID} ([[2026-11-27#^d-aaaaaaa|2026-11-27]])\n  - quote:: "remember that {SAID}"\n\n## Turns\n\n'
        f"> [1] **user:** hi, {SAID}\n> and more\n\n> [2] **assistant:** fine\n\n"
        "> [3] **assistant:** Do farms in MOOS grow nuts?\n\n> [4] **user:** a farm?\n\n> [5] **assistant:** a farm!\n"
    )
    (tmp_path / "vault/2026-11-27.md").write_text(f"## Log\n- 10:00 [extracted] {SAID} ^d-aaaaaaa\n")
    with at(tmp_path, "2026-11-28T10:00") as memory:
        ref = memory.list("episodic")[-1].ref
        assert memory.show(ref).path.startswith("sessions/")
        rows = session.read_text().split("\n")
        (told,) = (found for path, found in memory.copies(SAID).places().items() if path.startswith("sessions/"))
        listed = [(rows[copy.line - 1].lstrip("- ")[:20], copy.text) for copy in told if copy.line > 1]
        assert len(listed) > 4 and all(row and row in text for row, text in listed)
        memory.forget(SAID)
    (now,) = (tmp_path / "vault/sessions").glob("*.md")
    text = now.read_text()
    assert now.name == "2026-11-27 1000 conversation.md" and "hazelnut farm in Moos" not in text
    assert "MOOS" not in text and all(words in text for words in ("[2] **assistant:** fine", "a farm?", "a farm!"))
    assert "And more." in text and "- books" in text and 'title: ""' in text


@pytest.mark.parametrize(
    ("said", "stays", "goes"),
    [
        ("this locker was his", "This has time: does he know what was said?", "So his is the locker."),
        ("我的储物柜号码是四四七一", "好的，我记住了。这是一个问题。", "你的储物柜在哪里？"),
    ],
)
def test_an_answer_that_shares_function_words_with_the_forgotten_stays(
    tmp_path: Path, said: str, stays: str, goes: str
) -> None:
    head = "---\ndate: 2026-11-27\nsource: chat.jsonl\nsource_hash: 00\nturns: 2\n---\n\n## Turns\n\n"
    told = f"> [1] **user:** {said}\n\n> [2] **assistant:** {goes}\n\n"
    (tmp_path / "vault/sessions").mkdir(parents=True)
    note = tmp_path / "vault/sessions/2026-11-27 1000 talk.md"
    note.write_text(f"{head}{told}> [3] **assistant:** {stays}\n")
    with at(tmp_path, "2026-11-28T10:00") as memory:
        memory.remember(said)
        memory.forget(said)
    text = note.read_text()
    assert stays in text and goes not in text and said not in text


def test_a_fact_goes_with_its_candidate_and_no_other_subjects_fact(tmp_path: Path) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    (tmp_path / "vault/Facts.md").write_text(
        "## Anna\n\n- lives in:: Cork\n\n## Me\n\n"
        "- lives in:: Cork [since:: 2026-11-20] ([[2026-11-20#^d-aaaaaaa|x]])\n"
    )
    note = tmp_path / "vault/2026-11-20.md"
    note.write_text("## Log\n- 10:00 [promoted] I moved to Cork with Bo ^d-aaaaaaa\n- tea\n")
    with at(tmp_path, "2026-11-28T10:00") as memory:
        ref = next(fact.ref for fact in memory.facts() if fact.subject == "Me")
        memory.forget(ref)
        assert [fact.subject for fact in memory.facts()] == ["Anna"]
        assert Withheld(memory.workspace.state).holds(
            "So I moved to Cork, with Bo!", datetime(2026, 11, 20).astimezone()
        )
    assert note.read_text() == "## Log\n- tea\n"


@pytest.mark.parametrize(
    ("sentence", "text", "held"),
    [
        (SAID, "Well — i GREW up on a “hazelnut farm” in Moos, you know.", True),
        (SAID, "I grew up on a farm in Moos", False),
        ("I prefer tea #drinks (2026-11-20)", "look, I prefer tea", True),
        ("the boss there [Deltacore] is Petra Kuhn", "The boss there is Petra Kuhn.", True),
        ("likes tea", "she likes tea a lot", False),
        ("likes tea", "Hm. Likes tea!", True),
        ("我对花生过敏,不能吃", "你好我对花生过敏，不能吃。谢谢", True),
        ("ฉันแพ้ถั่วลิสง", "สวัสดีฉันแพ้ถั่วลิสงค่ะ", True),
        ("ピーナッツアレルギーがあります", "私はピーナッツアレルギーがあります。", True),
        ("我对花生过敏,不能吃", "我对花生不过敏", False),
    ],
)
def test_how_a_sentence_is_found_in_a_turn(tmp_path: Path, sentence: str, text: str, held: bool) -> None:
    now = datetime.fromisoformat("2026-11-28T10:00:00+00:00")
    Withheld(tmp_path).remember(wordings(sentence), now, logs=["/a/chat.jsonl"])
    withheld = Withheld(tmp_path)
    assert mentions(text, wordings(sentence)) is held
    assert withheld.holds(text, datetime.fromisoformat("2026-11-28T09:00:00+00:00")) is held
    assert not withheld.holds(text, datetime.fromisoformat("2026-11-28T11:00:00+00:00"))
    assert withheld.holds(text, None, "/b/chat.jsonl") is held and not withheld.holds(text, None, "other.jsonl")
    assert sentence.split()[0] not in (tmp_path / "forgotten.jsonl").read_text()


def test_two_statements_are_not_one(tmp_path: Path) -> None:
    with at(tmp_path, "2026-11-28T10:00") as memory:
        memory.remember("a hazelnut farm is for sale")
        memory.remember("hazelnut farms need sun")
        with pytest.raises(AmbiguousError):
            memory.forget("hazelnut farm")
        memory.log("a hazelnut farm is for sale")
        receipt = memory.forget("a hazelnut farm is for sale")
        assert len(receipt.touched) == 1
        assert [entry.text for entry in memory.list()] == ["hazelnut farms need sun"]


def test_what_two_commands_forget_at_the_same_time_is_withheld(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20, 12).astimezone()
    first, second, third = (Withheld(tmp_path) for _ in range(3))  # each has read the file before another one writes
    first.remember(wordings("Anna keeps forty bees"), now, txn="one")
    second.remember(wordings("Lena sold her cello"), now, txn="two")
    third.remember(wordings("Mara moved to Porto"), now, txn="three")
    first.drop(["one"])
    told = Withheld(tmp_path)
    said = ("Anna keeps forty bees", "Lena sold her cello", "Mara moved to Porto")
    assert [told.holds(text, datetime(2026, 11, 19).astimezone()) for text in said] == [False, True, True]


def test_a_damaged_record_of_what_was_forgotten_costs_itself_alone(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20).astimezone()
    Withheld(tmp_path).remember(wordings("Anna keeps forty bees"), now)
    path = tmp_path / "forgotten.jsonl"
    salt, *rest = path.read_text().splitlines(keepends=True)
    odd = [
        '{"at": "0001-01-01T00:00:00+23:00", "txn": "a", "logs": [], "said": []}\n',
        '{"at": "2026-01-01", "txn": "a", "logs": [], "said": [[1e999, 2, "x"]]}\n',
        "null\n",
        "[" * 100_000 + "\n",
    ]
    path.write_text("".join([salt, *odd, *rest]))
    assert Withheld(tmp_path).holds("Anna keeps forty bees", datetime(2026, 11, 19).astimezone())
    path.write_text("".join([json.dumps({"salt": "00" * 100}) + "\n", *rest]))
    assert not Withheld(tmp_path).holds("Anna keeps forty bees", datetime(2026, 11, 19).astimezone())
    path.write_text("".join([salt, *odd[2:], *rest]))
    Withheld(tmp_path).remember(wordings("Anna keeps forty hens"), now)
    assert set(odd[2:]) < set(path.read_text().splitlines(keepends=True))
    assert Withheld(tmp_path).holds("Anna keeps forty bees", datetime(2026, 11, 19).astimezone())


@pytest.mark.parametrize("damage", ["no salt", "odd salt", "a folder"])
def test_a_record_without_its_salt_is_refused_and_kept(opened: Open, tmp_path: Path, damage: str) -> None:
    memory = opened()
    memory.remember("Anna keeps forty bees")
    memory.forget("Anna keeps forty bees")
    memory.remember("Anna keeps forty hens")
    path = memory.workspace.state / "forgotten.jsonl"
    rest = path.read_text().splitlines(keepends=True)[1:]
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    else:
        path.write_text("".join(['{"salt": "?"}\n'] * (damage == "odd salt") + rest))
    before = path.read_text() if path.is_file() else ""
    log = tmp_path / "chat.jsonl"
    log.write_text(json.dumps({"role": "user", "content": "I live in Cork now."}) + "\n")
    for refused in (lambda: memory.forget("Anna keeps forty hens"), lambda: memory.extract([log])):
        with pytest.raises(SettingsError) as told:
            refused()
        assert "forgotten.jsonl" in told.value.message and told.value.exit_code == 5
    assert "Anna keeps forty hens" in (memory.workspace.root / "Memory.md").read_text()
    assert (path.read_text() if path.is_file() else "") == before
    assert "forgotten" in {finding["kind"] for finding in memory.doctor()["findings"]}


LADDER = "1. bring the hazelnut ladder\n2. close the window"


def person(tmp_path: Path) -> Memory:
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    return Memory(tmp_path / "vault", env=env, embedder=HashEmbedder(), actor="person", interactive=True)


@pytest.mark.parametrize("words", ["how I open the marzipan safe", "the hazelnut ladder", "ID"])
@pytest.mark.parametrize("refuse", [False, True])
def test_a_playbook_that_was_proposed_goes_by_its_words(
    opened: Open, tmp_path: Path, words: str, *, refuse: bool
) -> None:
    """One that waits, and one that was refused; what the journal keeps of either goes as well."""
    with opened() as memory:
        proposal = memory.learn("how I open the marzipan safe", LADDER, when="the key is lost").ref
        memory.learn("how I bake bread", "1. knead\n2. bake")
    words = proposal if words == "ID" else words
    with person(tmp_path) as memory:
        if refuse:
            memory.review().decide(reject=[proposal])
        assert memory.forget(words).written
        assert not holding(tmp_path / "vault", "marzipan") and holding(tmp_path / "home", "hazelnut")
        memory.undo()
        assert holding(tmp_path / "vault", "marzipan")
        memory.forget(words)
        memory.forget("how I open the marzipan safe", everywhere=True)
        assert [each.text.split("\n")[0] for each in memory.review().waiting().proposals] == ["# how I bake bread"]
        with pytest.raises(NotFoundError):
            memory.forget(words)
        memory.reindex()
    assert not holding(tmp_path, "marzipan") and not holding(tmp_path, "hazelnut")


@pytest.mark.parametrize("named", ["how I open the marzipan safe", "playbooks/how i open the marzipan safe.md"])
def test_a_playbook_goes_as_a_whole_by_its_title(opened: Open, tmp_path: Path, named: str) -> None:
    note = tmp_path / "vault/playbooks/how I open the marzipan safe.md"
    with person(tmp_path) as memory:
        memory.learn("how I open the marzipan safe", LADDER, when="the key is lost")
        memory.edit("close the window", "close the hazelnut window")
        memory.playbook("how I open the marzipan safe")
        memory.remember("the safe is green")
        before = note.read_bytes()
        receipt = memory.forget(named)
        assert receipt.written and not note.exists()
        assert {each.path for each in receipt.touched} == {"playbooks/how I open the marzipan safe.md"}
        memory.undo()
        assert note.read_bytes() == before
        memory.forget(named, everywhere=True)
    with opened() as memory, pytest.raises(NotFoundError):
        memory.forget(named)
    assert not holding(tmp_path, "marzipan") and not holding(tmp_path, "hazelnut")
    assert holding(tmp_path / "vault", "safe is green")


def test_prose_of_a_playbook_goes_by_its_words_and_the_rest_stays(opened: Open, tmp_path: Path) -> None:
    note = tmp_path / "vault/playbooks/Safe.md"
    note.parent.mkdir(parents=True)
    text = "# Safe\n\nWhen to use: the marzipan key is lost\n\n1. call Ida\n\n## Hazelnut tricks\n\n- none\n"
    note.write_bytes(text.replace("\n", "\r\n").encode())
    with opened() as memory, pytest.raises(UsageError, match="person at a terminal"):
        memory.forget("the marzipan key is lost")
    with person(tmp_path) as memory:
        assert memory.forget("the marzipan key is lost").line == 3
        memory.forget("Hazelnut tricks", everywhere=True)
        assert note.read_bytes() == b"# Safe\r\n\r\n\r\n1. call Ida\r\n\r\n\r\n- none\r\n"
        memory.forget("the marzipan key is lost", everywhere=True)
    assert not holding(tmp_path, "marzipan") and not holding(tmp_path, "Hazelnut")


@pytest.mark.parametrize("others", [("I use C++", "I use C", "I use C#"), ("score is +3", "score is -3", "score is 3")])
def test_what_differs_in_a_sign_alone_stays(opened: Open, others: tuple[str, ...]) -> None:
    with opened() as memory:
        for text in others:
            memory.remember(text)
        memory.log(others[0])
        memory.forget(others[0])
        assert {entry.text for entry in memory.list()} == set(others[1:])
