"""Patching a note: each op on its own, no other byte, never an error, over documents made at random."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest
from random_documents import document, scale, seeded

from tars_memory.vault.change import OPS, Change, apply as applied, locate, reference_to
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import insert_bullet, splices_between
from tars_memory.vault.note import Note

NOTE = (
    b"# Memory\n\n## Notes\n- one ([[2026-10-01#^d-1|2026-10-01]])\n- two ^keep\n  - child\n- [ ] task\n\n"
    b"## Old\n- gone\n\ntext\n"
)


def run(*ops: Change, note: bytes = NOTE, timed: bool = False) -> tuple[str, list[str]]:
    patched = applied(Note("Memory.md", note, timed=timed), ops)
    return patched.note.data.decode("utf-8", "surrogateescape"), [outcome.status for outcome in patched.outcomes]


class TestOps:
    def test_append(self) -> None:
        op = Change("append", "Notes", "new #tag", provenance="2026-11-21#^d-2", label="2026-11-21")
        text, (status,) = run(op)
        assert status == "applied"
        line = "- new #tag ([[2026-11-21#^d-2|2026-11-21]])\n"
        assert text == NOTE.decode().replace("- [ ] task\n", "- [ ] task\n" + line)
        assert run(op, note=text.encode()) == (text, ["no-op"])

    def test_the_label_of_a_link_is_the_name_of_its_note(self) -> None:
        text, _ = run(Change("append", "Notes", "new", provenance="journal/2026-11-21#^d-2"))
        assert "- new ([[journal/2026-11-21#^d-2|2026-11-21]])\n" in text

    @pytest.mark.parametrize("bad", ["no block", "a]]b#^c", "a|b#^c", "a#^c\nd", "x#^" + "y" * 101, "[[#^x"])
    def test_what_is_no_place_is_not_linked_to(self, bad: str) -> None:
        assert run(Change("append", "Notes", "new", provenance=bad)) == (NOTE.decode(), ["rejected"])

    def test_a_section_that_is_not_there_is_made(self) -> None:
        text, (status,) = run(Change("append", "Fresh", "new"))
        assert (status, text) == ("applied", NOTE.decode() + "\n## Fresh\n- new\n")

    def test_replace_keeps_what_is_not_its_business(self) -> None:
        text, _ = run(Change("replace", text="zwei", replaces="- two ^keep"))
        assert text == NOTE.decode().replace("- two ^keep\n  - child", "- zwei ^keep\n  - child")
        text, _ = run(Change("replace", text="done", replaces="- [ ] task"))
        assert "- [ ] done\n" in text
        text, _ = run(Change("replace", text="[x] done", replaces="- [ ] task"))
        assert "- [x] done\n" in text

    def test_replace_brings_its_own_provenance_or_keeps_the_old(self) -> None:
        line = "- one ([[2026-10-01#^d-1|2026-10-01]])"
        text, _ = run(Change("replace", text="eins", replaces=line))
        assert "- eins ([[2026-10-01#^d-1|2026-10-01]])\n" in text
        text, _ = run(Change("replace", text="eins", replaces=line, provenance="2026-11-21#^d-2"))
        assert "- eins ([[2026-11-21#^d-2|2026-11-21]])\n" in text
        assert run(Change("replace", text="one", replaces=line)) == (NOTE.decode(), ["no-op"])

    def test_remove_takes_children_along(self) -> None:
        text, _ = run(Change("remove", replaces="- two ^keep"))
        assert text == NOTE.decode().replace("- two ^keep\n  - child\n", "")
        text, _ = run(Change("remove", replaces="  - child"))
        assert text == NOTE.decode().replace("  - child\n", "")

    def test_a_section_that_comes_with_words_holds_them(self) -> None:
        text, told = run(Change("add_section", "Fresh", "new"), Change("add_section", "old", "newer"))
        assert told == ["applied", "applied"]
        assert text == NOTE.decode().replace("- gone\n", "- gone\n- newer\n") + "\n## Fresh\n- new\n"

    def test_sections_come_and_go(self) -> None:
        assert run(Change("add_section", "Fresh")) == (NOTE.decode() + "\n## Fresh\n", ["applied"])
        assert run(Change("add_section", "old")) == (NOTE.decode(), ["no-op"])
        text, _ = run(Change("remove_section", "Old", replaces="## Old\n- gone\n\ntext"))
        assert text == NOTE.decode().split("\n## Old")[0]
        for target in ("## Old\n- gone", "## Old\n- gone\n\nother text", ""):
            assert run(Change("remove_section", "Old", replaces=target)) == (NOTE.decode(), ["rejected"])
        assert run(Change("remove_section", "Never", replaces="x")) == (NOTE.decode(), ["rejected"])

    def test_one_bad_op_holds_up_no_other(self) -> None:
        text, statuses = run(
            Change("append", "Notes", "first"),
            Change("replace", text="x", replaces="- never there"),
            Change("paint", text="x"),  # type: ignore[arg-type]
            Change("append", "Notes", " \n "),
            Change("append", "###", "no heading"),
            Change("append", "Notes", "last"),
        )
        assert statuses == ["applied", "rejected", "rejected", "rejected", "rejected", "applied"]
        assert "- first\n- last\n" in text

    def test_an_op_sees_what_the_ones_before_it_left(self) -> None:
        first = Change("replace", text="zwei", replaces="- two ^keep")
        text, statuses = run(first, Change("remove", replaces="- two ^keep"))
        assert statuses == ["applied", "rejected"]
        text, statuses = run(first, Change("remove", replaces="- zwei ^keep"))
        assert (statuses, "zwei" in text) == (["applied", "applied"], False)

    def test_a_fact_that_is_none_is_rejected_and_raises_nothing(self) -> None:
        for fact in (
            Change("fact", " ", "lives in:: Cork", single=True, ends=()),
            Change("fact", "Anna", "x", ends=()),
        ):
            assert run(fact) == (NOTE.decode(), ["rejected"])

    def test_a_fact_that_would_end_something_else_than_was_shown_is_rejected(self) -> None:
        note = b"# Facts\n\n## Anna\n- lives in:: Bonn\n"
        fact = Change("fact", "Anna", "lives in:: Cork [since:: 2026-01-01]", single=True, ends=())
        assert run(fact, note=note) == (note.decode(), ["rejected"])
        assert run(fact._replace(ends=("- lives in:: Bonn",)), note=note)[1] == ["applied"]

    def test_forged_words_stay_words(self) -> None:
        words = "x\n## Forged\n- [promoted] y ([[a#^b]]) ^id\n%%\n```"
        text, (status,) = run(Change("append", "Notes", words))
        document = Document(text.encode())
        assert status == "applied"
        assert [section.title for section in document.sections] == ["Memory", "Notes", "Old"]
        assert len(grammar.read("", document)) == len(grammar.read("", Document(NOTE))) + 1


class TestTargets:
    def test_a_line_is_found_by_its_words_when_its_mark_changed(self) -> None:
        for line in ("* two ^keep", "- two ^other", "- two", "-   two"):
            note = NOTE.replace(b"- two ^keep", line.encode())
            text, (status,) = run(Change("remove", replaces="- two ^keep"), note=note)
            assert (status, "two" in text) == ("applied", False), line

    def test_a_line_that_says_something_else_now_is_not_taken(self) -> None:
        note = NOTE.replace(b"- two ^keep", b"- two and a half ^keep")
        patched = applied(Note("Memory.md", note), [Change("remove", replaces="- two ^keep")])
        assert patched.note.data == note
        assert "two and a half" in patched.outcomes[0].reason

    def test_of_several_none_is_taken_unless_it_is_said_which(self) -> None:
        note = b"- a\n- a\n- b\n- a\n"
        assert run(Change("remove", replaces="- a"), note=note)[1] == ["rejected"]
        assert run(Change("remove", replaces="- a", occurrence=1), note=note) == ("- a\n- b\n- a\n", ["applied"])
        assert run(Change("remove", replaces="- a", occurrence=2), note=note) == ("- a\n- a\n- b\n", ["applied"])
        assert run(Change("remove", replaces="- a", occurrence=3), note=note)[1] == ["rejected"]

    def test_a_target_is_found_again_where_it_moved(self) -> None:
        gone = Change("remove", replaces="- b ^m-1")
        assert run(gone, note=b"# H\n\n- x\n  - b ^m-1\n") == ("# H\n\n- x\n", ["applied"])

    def test_an_entry_is_named_by_its_lines_and_which_of_them_it_is(self) -> None:
        note = Note("Memory.md", b"- b\n- b\n- c\n")
        assert [reference_to(note, entry) for entry in note.entries] == [("- b", 0), ("- b", 1), ("- c", None)]

    @pytest.mark.parametrize("now", [b"- a\n", b"", b"- other words ^m-1\n", b"```\n- b ^m-1\n```\n", b"- b\n- b\n"])
    @pytest.mark.parametrize("op", ["remove", "replace", "mark"])
    def test_a_target_that_is_gone_or_changed_is_refused_with_its_text(self, op: Any, now: bytes) -> None:
        change = Change(op, text="x", replaces="- b ^m-1", state="promoted")
        (told,) = applied(Note("Memory.md", now), [change]).outcomes
        assert (told.status, "b ^m-1" in told.reason) == ("rejected", True)

    def test_timed_entries(self) -> None:
        note = b"## Log\n- 09:00 a\n- 10:00 b\n"
        gone = Change("remove", replaces="- 09:00 a")
        assert run(gone, note=note, timed=True) == (
            "## Log\n- 10:00 b\n",
            ["applied"],
        )
        found = locate(Note("2026-11-21.md", note, timed=True), "- 9:00 a")
        assert not isinstance(found, str)
        assert found.line == 2

    @pytest.mark.parametrize("target", ["", " ", "text", "# Memory", "- ", "-", "\x00", "\udcff", "- x\r- y"])
    def test_what_is_no_entry_is_a_sentence(self, target: str) -> None:
        assert isinstance(locate(Note("Memory.md", NOTE), target), str)


WORDS = ["new words", "a", "x # y", "- z", "1. one", "%% a", "```", "[x] y", "w ^id", "é 😀", "> q", "[[a|b]]"]
WORDS += ["| c |", "\ud800", "---"]
STATED = [f"lives in:: {place} [since:: 202{year}-01-01]" for place in ("Cork", "Bonn", "`Y`") for year in range(5)]


DONE = tuple(op for op in OPS if op not in ("mark", "create"))
"""Marks, and notes that are made whole, have tests of their own."""


def any_op(chance: random.Random, data: bytes) -> Change:
    """Any op, mostly about something that is there."""
    document = Document(data)
    kind = chance.choice(DONE)
    found = grammar.read("a.md", document)
    titles = [section.title for section in document.sections]
    section = chance.choice([*titles, "Notes", "New", "Log", "*x*", ""])
    target = chance.choice(found).raw if found and chance.random() < 0.9 else chance.choice(["- never", "", "- a"])
    headed = [section for section in document.sections if section.level]
    if kind == "remove_section" and headed and chance.random() < 0.8:
        each = chance.choice(headed)
        section, target = each.title, document.text(each.start_line, max(each.start_line, each.end_line))
    occurrence = chance.choice([None, None, 0, 1])
    provenance = chance.choice(["", "", "2026-11-21#^d-1", "bad"])
    words = chance.choice(STATED if kind == "fact" and chance.random() < 0.9 else WORDS)
    return Change(kind, section, words, target, provenance, occurrence=occurrence, single=chance.random() < 0.5)


def check(chance: random.Random) -> Counter[str]:
    """Ops on one document: nothing raises, and what was applied did that and nothing else."""
    data = document(chance)
    ops = [any_op(chance, data) for _ in range(chance.randint(1, 4))]
    patched = applied(Note("a.md", data), ops)
    assert [outcome.change for outcome in patched.outcomes] == ops
    told: Counter[str] = Counter()
    now = data
    for op, outcome in zip(ops, patched.outcomes, strict=True):
        told[f"{op.op} {outcome.status}"] += 1
        assert bool(outcome.reason) == (outcome.status != "applied")
        alone = applied(Note("a.md", now), [op])
        assert alone.outcomes == (outcome,)
        if outcome.status != "applied":
            assert alone.note.data == now
            continue
        check_one(now, alone.note.data, op)
        now = alone.note.data
    assert now == patched.note.data
    assert apply(data, splices_between(data, now)) == now
    return told


def check_one(before: bytes, after: bytes, op: Change) -> None:
    """One applied op: the lines that are not its own are the very bytes they were, in their order."""
    assert before != after
    old, new = lines(before), lines(after)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    said = Counter(entry.text for entry in grammar.read("a.md", Document(after)))
    if op.op in ("append", "replace"):
        words = grammar.neutralise(op.text[len(grammar.task(op.text)) :])
        assert any(text == words or text.endswith(words) for text in said), (op, after)
    if op.op in ("append", "add_section"):
        assert sum((gone - Counter(unended(gone))).values()) == 0, (op, gone)
        assert sum(1 for line in come if line.strip()) <= 3
    if op.op in ("remove", "remove_section"):
        assert sum(1 for line in come if line.strip(b" \t\r\n")) <= 1, (op, come)  # a line that ended the note
    if op.op == "replace":
        assert sum(come.values()) <= 1
    if op.op == "fact":
        assert sum(text.startswith(op.text) for text in said) > 0, (op, after)
        ended = [line for line in come if b"[until:: " in line]
        assert len(gone - Counter(unended(gone))) <= (len(ended) if op.single else 0), (op, gone, come)


def lines(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", data.removeprefix(b"\xef\xbb\xbf"))


def unended(gone: Counter[bytes]) -> list[bytes]:
    """The last line of a note gets an ending when something follows it; a CR before an LF becomes one with it."""
    return [line for line in gone if not line.endswith(b"\n")]


def check_many(count: int, seed: int) -> Counter[str]:
    chance = seeded(seed)
    told: Counter[str] = Counter()
    for _ in range(count):
        told += check(chance)
    return told


def test_a_numbered_item_after_a_list_that_goes_does_not_become_part_of_a_paragraph() -> None:
    note = b"## A\n<b>in</b>\n- s\n2. two\n"
    ops = [Change("remove", replaces="- s"), Change("append", section="A", text="new")]
    one = applied(Note("a.md", note), ops[:1]).note.data
    assert applied(Note("a.md", note), ops).note.data == applied(Note("a.md", one), ops[1:]).note.data


def test_a_new_line_ends_as_the_line_before_it_does_when_it_comes() -> None:
    note = b"| a |\r- a\n- b"
    ops = [Change("remove", replaces="- a"), Change("append", section="New", text="z")]
    one = applied(Note("a.md", note), ops[:1]).note.data
    assert applied(Note("a.md", one), ops[1:]).note.data == b"| a |\r- b\r\r## New\r- z\r"
    assert applied(Note("a.md", note), ops).note.data == b"| a |\r- b\r\r## New\r- z\r"


def test_a_place_above_the_first_block_of_a_note_is_looked_at_with_it() -> None:
    note = b"  \rtags: [a]\r\xff\xfe\r  ```\r<script>\r- \xc3( bad\rTwo\r===\r- x\xe2\x80\xa8y\r\tcode\r2. two\ra %% b"
    for section, made in (("", [b"- a"]), ("Two", [b"## Two", b"   - a"])):
        data = apply(note, insert_bullet(note, "- a", section=section))
        assert sorted(line for line in data.split(b"\r") if line) == sorted([*note.split(b"\r"), *made])


def test_documents_at_random() -> None:
    told = check_many(400, 20261121)
    for kind in DONE:
        assert told[f"{kind} applied"] > 5, told
        assert told[f"{kind} rejected"] > 0 or kind == "add_section", told


@pytest.mark.prove
def test_very_many_documents_at_random() -> None:
    assert sum(check_many(scale(20_000), 7).values()) >= scale(20_000)


def test_the_splices_between_two_texts_are_few() -> None:
    before = b"".join(b"- line %d\n" % number for number in range(2_000))
    after = before.replace(b"- line 7\n", b"- other\n").replace(b"- line 1500\n", b"")
    splices = splices_between(before, after)
    assert [(splice.end - splice.start, splice.data) for splice in splices] == [(9, b"- other\n"), (12, b"")]
    assert splices_between(before, before) == []
    assert apply(b"", splices_between(b"", before)) == before
    long = b"".join(b"%d\n" % number for number in range(6_000))
    assert len(splices_between(long, long[::-1])) == 1
