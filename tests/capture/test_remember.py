"""remember: what is written, what is refused, what is kept."""

from __future__ import annotations

import json

import pytest

from tars_memory.capture.remember import remember
from tars_memory.errors import UsageError
from tars_memory.vault.layout import shipped
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document


def test_a_fact_becomes_one_bullet_with_a_name(bench):
    receipt = remember(bench.ctx(), "Anna likes\n C# \x01 a lot", tags=["people", "#work/x"])
    assert bench.get("Memory.md") == shipped("Memory.md").decode() + "- Anna likes C#  a lot #people #work/x\n"
    (entry,) = entries.read("Memory.md", Document(bench.get("Memory.md").encode()))
    assert (receipt.path, receipt.line, receipt.ref, receipt.text) == ("Memory.md", entry.line, entry.ref, entry.text)
    assert receipt.written
    assert receipt.txn
    assert set(receipt.as_dict()) == {"txn", "path", "line", "ref", "text", "written", "spooled", "notices"}


def test_an_exact_repeat_in_any_section_is_said_and_not_written(bench):
    bench.put("Memory.md", "# Me\n- tea over coffee ^m-1\n\n## Notes\n- x\n")
    before = bench.get("Memory.md")
    receipt = remember(bench.ctx(), " tea over  coffee".replace("  ", " "))
    assert (receipt.written, receipt.txn, receipt.line, receipt.spooled) == (False, None, 2, False)
    assert receipt.ref == entries.ref("Memory.md", "tea over coffee")
    assert bench.get("Memory.md") == before
    assert remember(bench.ctx(), "tea over Coffee").written  # another case is another text


@pytest.mark.parametrize("again", ["oolong, no milk", "Oolong, no milk", "oolong, no milk.", "Oolong, no milk."])
def test_a_capital_and_a_full_stop_make_no_other_line(bench, again):
    receipt = remember(bench.ctx(), "Oolong, no milk." if again[0] == "o" else "oolong, no milk")
    before = bench.get("Memory.md")
    repeated = remember(bench.ctx(), again)
    assert (repeated.written, repeated.ref, repeated.text) == (False, receipt.ref, receipt.text)
    assert bench.get("Memory.md") == before
    for other in ("Oolong, no Milk", "Oolong, no milk?", "an Oolong, no milk"):
        assert remember(bench.ctx(), other).written


def test_what_is_neutralised_repeats_too(bench):
    assert remember(bench.ctx(), "# tea %% ^x").written
    assert not remember(bench.ctx(), "# tea %% ^x").written


def test_a_repeat_in_a_fence_is_none(bench):
    bench.put("Memory.md", "## Notes\n```\n- tea\n```\n")
    assert remember(bench.ctx(), "tea").written


def test_a_section_is_made_if_absent(bench):
    bench.put("Memory.md", "## Notes\n- a\r\n## Work\n\n- b\n\n## End\n")
    remember(bench.ctx(), "c", section="Work")
    remember(bench.ctx(), "d", section="## People ##")
    remember(bench.ctx(), "e")
    after = "## Notes\n- a\r\n- e\r\n## Work\n\n- b\n- c\n\n## End\n\n## People\n- d\n"
    assert bench.get("Memory.md") == after


@pytest.mark.parametrize("section", ["", "  ", "#", "\n", "[[]]", "\x01"])
def test_a_section_without_words_is_refused(bench, section):
    with pytest.raises(UsageError, match="not a heading"):
        remember(bench.ctx(), "a", section=section)


@pytest.mark.parametrize(
    "section",
    [
        "C#",
        "a\nb",
        "%% x",
        "- list",
        "1. One",
        "```",
        "<!-- x",
        "Über 東京",
        "snake_case",
        "a * b",
        "x ^id",
        "[[Link|L]]",
    ],
)
def test_any_section_is_found_again(bench, section):
    for text in ("one", "two"):
        remember(bench.ctx(), text, section=section)
    note = Document(bench.get("Memory.md").encode())
    assert [s.level for s in note.sections].count(2) == 2
    assert len({entry.section for entry in entries.read("Memory.md", note)}) == 1


def test_a_tag_that_the_text_holds_is_not_added_again(bench):
    assert remember(bench.ctx(), "likes #Tea", tags=["tea", "tea", "cup"]).text == "likes #Tea #cup"


@pytest.mark.parametrize("text", ["", " \n ", "\x1b"])
def test_no_text_is_refused(bench, text):
    with pytest.raises(UsageError):
        remember(bench.ctx(), text)
    assert bench.files() == set()


def test_bad_tags_and_tiers_are_refused(bench):
    with pytest.raises(UsageError, match="not a tag"):
        remember(bench.ctx(), "a", tags=["two words"])
    with pytest.raises(UsageError, match="daily"):
        remember(bench.ctx(), "a", tier="daily")
    assert bench.files() == set()


def test_big_text_is_one_line_and_too_big_is_refused(bench, monkeypatch):
    receipt = remember(bench.ctx(), "word " * 20_000)
    assert bench.get("Memory.md").count("\n- ") == 1
    assert len(receipt.text) == 99_999
    monkeypatch.setattr("tars_memory.vault.secrets.find", None)  # what is too big is not searched for credentials
    with pytest.raises(UsageError, match="too many for one entry"):
        remember(bench.ctx(actor="cron", interactive=False), "password: x" * 1_000_000)


def test_a_person_at_a_terminal_writes_rules(bench):
    receipt = remember(bench.ctx(), "be brief", tier="procedural")
    assert receipt.written
    assert receipt.path == "Procedural.md"


@pytest.mark.parametrize(
    ("actor", "interactive"), [("person", False), ("script", False), ("cron", False), ("agent", True), ("model", True)]
)
def test_a_rule_without_a_person_is_a_proposal(bench, actor, interactive):
    bench.put("Procedural.md", "## Notes\n- be kind\n")
    ctx = bench.ctx(actor, interactive=interactive)
    receipt = remember(ctx, "never ask\n- twice", tier="procedural", section="Asking")
    assert not receipt.written
    assert not receipt.spooled
    assert any("needs a person" in notice for notice in receipt.notices)
    assert bench.get("Procedural.md") == "## Notes\n- be kind\n"
    proposal = json.loads(bench.get(receipt.path))
    assert list(proposal) == ["id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts"]
    assert (proposal["op"], proposal["target"], proposal["section"]) == ("append", "Procedural.md", "Asking")
    assert (proposal["text"], proposal["date"], proposal["source"]) == ("never ask - twice", "2026-11-21", actor)
    assert receipt.path == f".tars/inbox/{proposal['id']}.json"
    again = remember(
        bench.ctx(actor, interactive=interactive), "never ask\n- twice", tier="procedural", section="Asking"
    )
    assert again.path == receipt.path
    assert len(bench.files()) == 2


def test_the_persons_own_configuration_can_allow_it(bench):
    assert remember(bench.ctx("agent", interactive=False, unattended_rules=True), "x", tier="procedural").written


def test_a_rule_that_is_there_needs_no_proposal(bench):
    bench.put("Procedural.md", "- be kind\n")
    receipt = remember(bench.ctx("agent"), "be kind", tier="procedural")
    assert (receipt.path, receipt.line, receipt.written) == ("Procedural.md", 1, False)
    assert bench.files() == {"Procedural.md"}


def test_a_dry_run_writes_nothing(bench):
    receipt = remember(bench.ctx(dry_run=True), "a")
    assert (receipt.written, receipt.txn, receipt.path) == (False, None, "Memory.md")
    assert receipt.line > 1
    remember(bench.ctx("agent", dry_run=True), "a", tier="procedural")
    assert bench.files() == set()
