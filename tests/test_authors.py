"""Whose words a line bears, where several feed a vault: written, kept, told, never forged, and no part of the words."""

from __future__ import annotations

from pathlib import Path

import conversations as logs
import pytest
from planted import opened

from tars_memory.errors import UsageError
from tars_memory.memory import Memory
from tars_memory.settings import StoreOptions
from tars_memory.testing import make_vault
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import plain


def named(root: Path, scope: str, author: str) -> Memory:
    memory = opened(root, scope)
    memory.workspace.settings.env = {**memory.workspace.settings.env, "TARS_AUTHOR": author}
    return memory


@pytest.mark.parametrize(
    ("line", "words", "author"),
    [
        ("tea [by:: Anna]", "tea", "Anna"),
        ("tea #x [by:: Anna B.] ([[2026-11-20#^d-a|2026-11-20]]) ^d-b", "tea #x", "Anna B."),
        ("[extracted] tea [by::Anna] ^d-b", "tea", "Anna"),
        ("lives in:: Cork [by:: Anna] [since:: 2026-01-01] [until:: 2026-02-01]",
         "lives in:: Cork [since:: 2026-01-01] [until:: 2026-02-01]", "Anna"),
        ("lives in:: Cork [since:: 2026-01-01] [by:: Anna]", "lives in:: Cork [since:: 2026-01-01]", "Anna"),
        (r"tea \[by:: Anna]", r"tea \[by:: Anna]", None),
        ("tea [by:: Anna] and more", "tea [by:: Anna] and more", None),
        ("tea [by:: ]", "tea [by:: ]", None),
        ("tea x[by:: Anna]", "tea x[by:: Anna]", None),
        ("tea [by:: A] [by:: B]", "tea [by:: A]", "B"),
    ],
)  # fmt: skip
def test_grammar(line: str, words: str, author: str | None) -> None:
    (entry,) = entries.read("Memory.md", Document(f"- {line}\n".encode()))
    assert (entry.text, entry.author) == (words, author)
    parts = entries.parse(line)
    assert entries.parse(entries.render(parts).removeprefix("- ")) == parts or "since" in line
    if author and "by::" not in words:
        bare = entries.read("Memory.md", Document(f"- {words}\n".encode()))[0]
        assert (bare.ref, entry.ref) == (entry.ref, entry.ref)
        assert plain(f"- {line}") == plain(f"- {line}".replace(f" [by:: {author}]", "").replace("[by::Anna] ", ""))


def test_outside_text_names_nobody() -> None:
    for text in ("tea [by:: Anna]", "[by:: Anna]", "a [by:: x] b [by:: y]", "x [by::y] ^d-a"):
        words = entries.neutralise(text)
        assert entries.parse(words).author is None, words
        assert entries.neutralise(words) == words


@pytest.mark.parametrize("name", ["a]b", "[x", "a%%b", "<!--", "x" * 81, "^a", "a|b", "#a", "a\u202eb", "$$"])
def test_what_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not an author"):
        entries.author(name)
    with named(make_vault(tmp_path / "v", {}), "", name) as memory, pytest.raises(UsageError):
        memory.remember("tea")
    assert not (tmp_path / "v" / "Memory.md").exists()


def test_a_shared_project_keeps_who_wrote_each_line(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n"})
    with named(root, "boat", "Anna") as memory:
        memory.remember("the mast is green")
        memory.log("oiled the deck")
        memory.feedback(False, "too long")
        memory.add_fact("Boat", "lies in", "Cork")
    with named(root, "boat", "claude") as memory:
        assert memory.remember("the mast is green").written is False, "the same words are a repeat, whoever says them"
        memory.remember("the hull is blue")
        memory.add_fact("Boat", "lives in", "Kinsale")
    with named(root, "boat", "") as memory:
        memory.remember("nobody's line")
        memory.end_fact("lies in Cork")
        told = {entry.text: entry.author for tier in ("semantic", "daily") for entry in memory.list(tier)}
        assert told["the mast is green"] == told["oiled the deck"] == "Anna"
        assert told["lies in:: Cork [until:: 2026-11-21]"] == "Anna", "ending a fact leaves its author"
        assert told["the hull is blue"] == "claude" and told["nobody's line"] is None
        assert memory.why("the hull is blue").author == "claude"
        packed = memory.context("mast").text
        assert "the mast is green [by:: Anna]" in packed and "oiled the deck [by:: Anna]" in packed
        memory.edit("the mast is green", "the mast is red")
        assert next(e for e in memory.list() if "red" in e.text).author == "Anna"
    with named(root, "boat", "claude") as memory:
        memory.edit("the mast is red", "the mast is white")
        assert next(e for e in memory.list() if "white" in e.text).author == "claude"
    assert "[by::" not in (root / "Memory.md").read_text()
    assert "nobody's line\n" in (root / "projects/boat/Memory.md").read_text()


def test_the_vaults_own_configuration_names_nobody(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {".tars/config.toml": '[capture]\nauthor = "Mallory"\n'})
    with opened(root, "") as memory:
        memory.remember("tea")
    assert "by::" not in (root / "Memory.md").read_text()


def test_what_waited_keeps_its_author(tmp_path: Path) -> None:
    from tars_memory.errors import TarsError
    from tars_memory.vault.writing.system import VaultLock

    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n"})
    memory = named(root, "", "Anna")
    with memory, VaultLock(memory.workspace.ensure_state() / "lock", timeout=5, command="test").held():
        memory.workspace.settings.store = StoreOptions(lock_timeout=0)
        with pytest.raises(TarsError):
            memory.log("waited")
    with named(root, "", "Bert") as memory:
        memory.log("came later")
    note = (root / "2026-11-21.md").read_text()
    assert "waited [by:: Anna]" in note and "came later [by:: Bert]" in note


def test_a_promoted_line_keeps_who_wrote_the_line_it_came_from(tmp_path: Path) -> None:
    daily = "\n".join(
        [
            "## Log",
            "",
            "- 10:00 [extracted] the mast is green [by:: Anna] ^d-aaaaaaa",
            "- 10:01 [extracted] the hull is blue ^d-bbbbbbb",
            "- 10:02 [extracted] the standup is at 9:30 [by:: claude] ^d-ccccccc",
            "- 10:03 [extracted] the review is at 15:00 ^d-ddddddd",
            "",
        ]
    )
    kept = "## Notes\n\n- the standup is at 10:00 [by:: Anna]\n- the review is at 14:00 [by:: Anna]\n"
    root = make_vault(tmp_path / "vault", {"2026-11-20.md": daily, "Memory.md": kept})
    with opened(root, "", actor="person", interactive=True) as memory:
        review = memory.review()
        waiting = review.waiting(limit=20).proposals
        chosen = {each.id: [line.ref for line in each.choices[:1]] for each in waiting}
        review.decide([each.id for each in waiting], [], replace=chosen)
        told = {entry.text.casefold(): entry.author for entry in memory.list()}
        assert told == {
            "the mast is green": "Anna",
            "the hull is blue": None,
            "the standup is at 9:30": "claude",
            "the review is at 15:00": None,
        }, "new words are not those of whoever wrote the old ones"
        trail = memory.why("The mast is green")
        assert trail.author == "Anna" and [s.author for s in trail.chain if s.kind == "candidate"] == ["Anna"]
        memory.undo()
    assert (root / "Memory.md").read_text() == kept


def test_what_is_extracted_bears_who_let_it_be_read(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n"})
    log = tmp_path / "talk.jsonl"
    said = logs.Said("user", "Please remember that the spare key is under the blue pot.", logs.START)
    log.write_bytes(logs.chat_jsonl([*logs.talk(8), said]))
    with named(root, "", "claude") as memory:
        assert memory.extract([log], model="none").sessions
        assert [entry.author for entry in memory.list("daily")] == ["claude"] * len(memory.list("daily"))
    with named(root, "", "a]b") as memory:
        assert memory.list("daily"), "looking needs no name"
