"""Review.md: exactly what was decided there, once, whatever a phone, a sync or a second device makes of the note."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import document, examples, scale

from curation.reviewing import NOTES, Vault
from tars_memory.curation import review_note
from tars_memory.curation.gather import Gathered
from tars_memory.curation.proposals import Proposal, Related, change_of_line
from tars_memory.curation.review import accepted
from tars_memory.errors import NotFoundError, UsageError
from tars_memory.vault import inbox

TEXTS = (
    "likes tea",
    "prefers [x] boxes",
    "Use `tabs`",
    "[[Anna]] is 40 #people",
    "costs 5 $$ or %% 5",
    "^r-00000000 no",
)


def proposal(number: int, **values: str) -> Proposal:
    told = {
        "id": f"{number:08x}", "op": "append", "target": "Memory.md", "section": "Notes", "date": "2026-11-20",
        "text": f"{TEXTS[number % len(TEXTS)]} {number}", "quote": "I said\nso - [x] y ^r-00000001",
        "why": "Said 2 times", "source": f"2026-11-20#^d-{number}",
    }  # fmt: skip
    return Proposal(**{**told, **values})


PROPOSALS = [proposal(number) for number in range(8)]
WRITTEN = review_note.with_new(None, PROPOSALS)


def taken(data: bytes) -> dict[str, review_note.Ticked]:
    return review_note.decisions([review_note.read(data)])[0]


def test_the_note_holds_each_proposal_as_a_task_undecided() -> None:
    items = review_note.read(WRITTEN)
    assert [item.id for item in items] == [each.id for each in PROPOSALS]
    assert [item.words for item in items] == [review_note.words_of(each) for each in PROPOSALS]
    assert not any(item.decided or item.doubt for item in items)
    assert not review_note.ticked(WRITTEN)
    assert taken(WRITTEN) == {}


def test_a_line_with_two_marks_is_left_with_a_notice() -> None:
    first, second = (f" ^r-{each.id}" for each in PROPOSALS[:2])
    for own in (f"likes tea and ^r-aaaaaaaa 0{first}", f"likes tea{second} 0{first}"):
        data = WRITTEN.replace(b"- [ ] likes tea 0" + first.encode(), f"- [x] {own}".encode(), 1)
        said, notices = review_note.decisions([review_note.read(data)])
        assert said == {}
        assert any("more than one mark" in notice for notice in notices)
        kept = review_note.without_proposals(data, [each.id for each in PROPOSALS])
        assert own.encode() in kept, "nothing that was typed is taken away undecided"


@pytest.mark.parametrize("boxes", ["[x] [-]", "[-] [x]", "[x] [ ]"])
def test_a_line_with_two_boxes_is_left_with_a_notice(boxes: str) -> None:
    data = WRITTEN.replace(b"- [ ] likes tea 0", f"- {boxes} likes tea 0".encode(), 1)
    said, notices = review_note.decisions([review_note.read(data)])
    assert said == {}
    assert any("more than one box" in notice for notice in notices)


WORDS = {each.id: review_note.words_of(each) for each in PROPOSALS}
FIRST = b"- [ ] likes tea 0 ^r-00000000"


def unread(data: bytes) -> list[str]:
    """What is said of a note besides its decisions, without the place."""
    notices = [*review_note.decisions([review_note.read(data)])[1], *review_note.unread("Review.md", data)]
    return [notice.partition("left for later: ")[2] for notice in notices]


def mixed(data: bytes, rejected: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    found = review_note.mixed([review_note.read(data)], WORDS, {}, rejected)
    return [(item.id, why) for item, why in found]


@pytest.mark.parametrize("between", [" ", "", " - ", " and ", " – "])
@pytest.mark.parametrize("own", ["prefers [x] boxes 1", "prefers boxes", "Prefers [x] boxes, 1!"])
def test_a_line_joined_with_another_whose_mark_is_gone_is_found(between: str, own: str) -> None:
    _, blocks = items_of(WRITTEN)
    second, made = b"- [ ] prefers [x] boxes 1", f"- [x] likes tea 0{between}{own}".encode()
    data = WRITTEN.replace(b"\n".join(blocks[0]) + b"\n", b"").replace(second, made, 1)
    assert mixed(data) == [("00000001", review_note.JOINED.format("proposal 00000000"))]
    assert mixed(data, ("00000000",)) == [], "words of a proposal that is rejected may go into another"
    again = review_note.with_new(data, PROPOSALS)
    whole = own != "prefers boxes"  # an edit may begin as another proposal does that has a line of its own
    assert mixed(again) == ([("00000001", review_note.JOINED.format("proposal 00000000"))] if whole else [])


@pytest.mark.parametrize("box", ["- [ ] ", "-[x] ", "[ ] ", "* [-] ", "[x] ", "- [>] ", "\n-[ ] "])
def test_a_box_within_the_words_is_that_of_a_joined_line(box: str) -> None:
    made = f"- [x] quite other words {box}prefers [x] boxes 1 ^r-00000001".encode()
    data = WRITTEN.replace(b"- [ ] prefers [x] boxes 1 ^r-00000001", made, 1)
    assert mixed(data) == [("00000001", review_note.BOXES)]


@pytest.mark.parametrize(
    "words",
    [
        "other words",
        "likes tea 0, and more",
        "prefers [x] boxes - big ones",
        "see [1] and [y]",
        "I say: likes tea 0 much",
    ],
)
def test_an_edit_of_the_words_is_no_joined_line(words: str) -> None:
    data = WRITTEN.replace(b"- [ ] prefers [x] boxes 1", f"- [x] {words}".encode(), 1)
    assert mixed(data) == []


@pytest.mark.parametrize("boxes", ["xx", "x ", " x", "--"])
def test_words_that_were_broken_in_two_are_left(boxes: str) -> None:
    second = b"- [ ] prefers [x] boxes 1 ^r-00000001"
    halves = f"- [{boxes[0]}] prefers [x]\n- [{boxes[1]}] boxes 1 ^r-00000001".encode()
    assert mixed(WRITTEN.replace(second, halves)) == [("00000001", review_note.SPLIT)]
    for edited in (halves.replace(b" boxes 1", b" big boxes 1"), halves.replace(b"prefers", b"mine")):
        assert mixed(WRITTEN.replace(second, edited)) == []


def test_a_line_without_its_list_mark_is_not_ticked_by_the_persons_own_box_above_it() -> None:
    first = b"- [ ] likes tea 0 ^r-00000000"
    data = WRITTEN.replace(first, b"- [x] buy milk\nlikes tea 0 ^r-00000000")
    assert mixed(data) == [("00000000", review_note.BOX_ABOVE)]
    assert b"- [x] buy milk\n" in review_note.without_proposals(data, ["00000000"], PROPOSALS[:1])
    wrapped = WRITTEN.replace(first, b"- [x] likes\n  tea 0 ^r-00000000")
    assert mixed(wrapped) == []
    assert b"tea 0" not in review_note.without_proposals(wrapped, ["00000000"], PROPOSALS[:1])


def test_a_box_for_all_lines_that_was_joined_with_the_first_one_is_left() -> None:
    head, line = f"{review_note.KEEP_ALL} (2026-11-20)", "likes tea 0 ^r-00000000"
    data = TOGETHER.replace(HEAD + b"\n  - [ ] " + line.encode(), f"- [x] {head} {line}".encode())
    assert mixed(data) == [("00000000", review_note.JOINED.format(f"“{review_note.KEEP_ALL}”"))]


def test_of_two_joined_lines_to_replace_neither_is_replaced(vault: Vault) -> None:
    vault["Memory.md"] = vault["Memory.md"].replace("- dentist on 15 Oct\n", "- dentist on 15 Oct\n- dentist is far\n")
    vault.review().write_note()
    lines = vault["Review.md"].split("\n")
    (own,) = [row for row, line in enumerate(lines) if line.startswith("- [ ] dentist on 16")]
    first, second = lines[own + 1], lines[own + 2]
    assert first.startswith("  - [ ] replace: dentist") and second.startswith("  - [ ] replace: dentist")
    words = first.rpartition(" ^r-")[0].replace("[ ]", "[x]")
    lines[own : own + 3] = [lines[own], f"{words} {second.removeprefix('  - [ ] replace: ')}"]
    vault["Review.md"] = "\n".join(lines)
    before = vault.files()
    done = vault.review().from_note()
    assert done.decided == [] and review_note.JOINED_BELOW in done.notices[0]
    assert vault.files() == before


def test_of_two_lines_of_a_proposal_the_waiting_one_may_hold_the_words_that_count() -> None:
    other = b"- [ ] likes green tea ^r-00000000"
    assert mixed(WRITTEN.replace(FIRST, mark(FIRST, b"x") + b"\n" + other)) == [("00000000", review_note.VARIANTS)]
    assert mixed(WRITTEN.replace(FIRST, mark(other, b"x") + b"\n" + FIRST)) == []


@pytest.mark.parametrize(
    "begin", ["- [x-]", "- [xx]", "- ( x )", "- x", "- []", "- ［x］", "-", "- ☑", "- {x}", "- [x", "- x]"]
)
def test_a_marked_line_without_a_box_that_is_understood_is_told(begin: str) -> None:
    data = WRITTEN.replace(b"- [ ] likes tea 0", f"{begin} likes tea 0".encode())
    assert (taken(data), unread(data)) == ({}, [review_note.BOXLESS])
    decided = review_note.without_proposals(data, {"00000001"})
    assert f"{begin} likes tea 0 ^r-00000000".encode() in decided


@pytest.mark.parametrize(
    "begin", ["-[x]", "— [x]", "– [x]", "• [x]", "1. [x]", "2) [x]", "> - [x]", "-\u00a0[x]", "- - [x]", "", "## - [x]"]
)
@pytest.mark.parametrize("number", [0, 1])
def test_a_marked_line_that_is_no_bullet_is_told_and_stays_when_the_ones_around_it_go(begin: str, number: int) -> None:
    line = f"- [ ] {WORDS[PROPOSALS[number].id]}"
    made = line.replace("- [ ]", begin).lstrip()
    data = WRITTEN.replace(line.encode(), made.encode())
    assert (taken(data), unread(data)) == ({}, [review_note.UNLISTED])
    rest = {each.id for each in PROPOSALS if each is not PROPOSALS[number]}
    decided = review_note.without_proposals(data, rest)
    assert f"{made} ^r-{PROPOSALS[number].id}".encode() in decided
    assert not any(WORDS[name].encode() in decided for name in rest), "what is decided is gone as a whole"
    gone = review_note.without_proposals(data, {PROPOSALS[number].id})
    assert f"{made}\n".encode() in gone, "of what can't be read, decided elsewhere, only the mark goes"


@pytest.mark.parametrize("begin", ["-[ ]", "— [ ]", "> - [ ]", "1. [ ]", "- [\u00a0]"])
def test_a_line_with_an_empty_box_plainly_waits(begin: str) -> None:
    data = WRITTEN.replace(b"- [ ] likes tea 0", f"{begin} likes tea 0".encode())
    assert (taken(data), unread(data)) == ({}, [])


def test_a_line_that_was_indented_below_a_decided_one_stays() -> None:
    second = b"- [ ] prefers [x] boxes 1 ^r-00000001"
    data = WRITTEN.replace(second, b"  - [ ] prefers big boxes ^r-00000001")
    left = review_note.without_proposals(data, {"00000000"})
    assert b"\n- [ ] prefers big boxes ^r-00000001\n  - to::" in left and b"likes tea 0" not in left


def test_a_line_without_a_list_mark_below_an_indented_one_stays_where_it_is() -> None:
    second = f"  - [ ] {WORDS['00000001']} ^r-00000001"
    assert second.encode() in TOGETHER
    data = TOGETHER.replace(second.encode(), f"-[x] {WORDS['00000001']} ^r-00000001".encode())
    left = review_note.without_proposals(data, {"00000000"})
    assert f"\n-[x] {WORDS['00000001']} ^r-00000001\n".encode() in left and b"likes tea" not in left


def test_a_line_below_a_decided_one_does_not_come_below_the_box_for_all_lines() -> None:
    fourth = f"- [ ] {review_note.words_of(PROPOSALS[3])} ^r-{PROPOSALS[3].id}".encode()
    fifth = "\n".join(f"  {line}" for line in review_note.bullet(PROPOSALS[4]).split("\n")).encode()
    data = TOGETHER.replace(HEAD, mark(HEAD, b"x")).replace(fourth, mark(fourth, b"x")).rstrip(b"\n") + b"\n" + fifth
    assert PROPOSALS[4].id not in taken(data)
    left = review_note.without_proposals(data, {each.id for each in PROPOSALS[1:4]})
    assert [item.id for item in review_note.read(left)] == [PROPOSALS[0].id, PROPOSALS[4].id]
    assert PROPOSALS[4].id not in taken(left)
    assert review_note.bullet(PROPOSALS[4]).encode() in left


def test_a_line_that_was_joined_with_its_own_related_line_is_left() -> None:
    line = Related("Memory.md", 3, "abcdefgh", "dentist on 15 Oct", "2026-10-02", "- dentist on 15 Oct")
    data = review_note.with_new(None, [proposal(0)._replace(conflicts=(line,)), proposal(1)])
    for between in (b" ", b" - [ ] "):
        joined = data.replace(b"- [ ] likes tea 0 ^r-00000000\n  - [ ] ", b"- [x] likes tea 0 ^r-00000000" + between)
        assert (taken(joined), unread(joined)) == ({}, [review_note.MISPLACED])


@pytest.mark.parametrize(
    ("words", "place"),
    [("the Gmail password is Rabbit2024!", "Notes"), ("Rabbit2024!", "Passwords"), ("\\1", "password: Rabbit2024!")],
)
def test_a_credential_that_is_typed_into_the_note_waits_where_it_is(vault: Vault, words: str, place: str) -> None:
    vault.review().write_note()
    before = vault["Memory.md"]
    typed = rf"- [x] {words}\2to:: Memory.md › {place}"
    vault["Review.md"] = re.sub(r"- \[ \] ([Pp]refers no tea)( \^r-(?:.*\n)+?  - )to:: .*", typed, vault["Review.md"])
    written = vault["Review.md"]
    done = vault.review().from_note()
    assert (done.left, vault["Memory.md"], vault["Review.md"]) == (1, before, written)
    assert "looks like a credential (password)" in done.notices[-1]


def test_a_credential_in_a_line_is_masked_in_the_note_and_where_it_is_accepted(vault: Vault) -> None:
    vault["2026-11-20.md"] += "- 10:07 [extracted] my Gmail password is Rabbit2024! ^d-daaaaaa\n"
    vault.review().write_note()
    vault["Review.md"] = vault["Review.md"].replace("- [ ] My Gmail", "- [x] My Gmail")
    assert "- [x] My Gmail password is (masked password) ^r-" in vault["Review.md"]
    assert "masked before it was written: password" in vault.review().from_note().notices
    assert "- My Gmail password is (masked password) ([[2026-11-20#^d-daaaaaa" in vault["Memory.md"]


@pytest.mark.parametrize("reworded", [True, False])
def test_a_credential_of_a_line_that_is_reworded_stays_in_it(vault: Vault, reworded: bool) -> None:
    vault["Memory.md"] += "- my Gmail password is Rabbit2024!\n"
    ctx = vault.script().workspace.capture()
    entry = vault.memory().show("Rabbit2024!")
    made = change_of_line("replace", entry, "My Gmail password is Rabbit2024!", "2026-11-21", "spelling")
    with ctx.writing("tidy", None) as session:
        inbox.keep(session, made.stored())
    vault.review().write_note()
    masked = "My Gmail password is (masked password)"
    assert f"- [ ] {masked} ^r-" in vault["Review.md"]
    vault["Review.md"] = vault["Review.md"].replace(f"- [ ] {masked}", f"- [x] {masked}{' now' * reworded}")
    done = vault.review().from_note()
    assert done.left == reworded
    assert ("My Gmail password is Rabbit2024!" in vault["Memory.md"]) is not reworded
    assert "masked" not in vault["Memory.md"]


def test_a_code_of_a_list_is_not_copied_beside_a_proposal(vault: Vault) -> None:
    codes = "- 7c1m9-k4r2x\n- 5h6j3-p8w1z\n- 2v9n4-t7b5y\n"
    vault["Memory.md"] += f"\n## Recovery codes\n\n- 8f3k2-l9d7q prefers tea\n{codes}"
    vault.review().write_note()
    assert "replace: (masked recovery code) prefers tea" in vault["Review.md"] and "l9d7q" not in vault["Review.md"]


def test_a_line_that_stands_beside_a_proposal_is_masked_and_its_box_counts() -> None:
    text = "the router's password is Sunflower47"
    line = Related("Memory.md", 3, "abcdefgh", text, "2026-10-02", f"- {text}")
    for op in ("append", "replace", "remove"):
        each = proposal(0, op=op, replaces=f"- {text}")._replace(conflicts=(line,))
        data = review_note.with_new(None, [each, proposal(1)])
        assert b"Sunflower47" not in data and b"(masked password)" in data
        assert review_note.read(data)[0].words == review_note.words_of(each)
    data = review_note.with_new(None, [proposal(0)._replace(conflicts=(line,)), proposal(1)])
    chosen = taken(data.replace(b"- [ ] replace: ", b"- [x] replace: "))[proposal(0).id]
    assert chosen.replaces == ("abcdefgh",)


@pytest.mark.parametrize("key", ["**to::** ", "To:: ", "to::", "to::\t"])
def test_the_place_is_read_however_its_key_is_typed(key: str) -> None:
    data = WRITTEN.replace(b"- to:: Memory.md", f"- {key}Jobs.md".encode(), 1)
    assert next(iter(review_note.read(data))).place.split(" ")[0] == "Jobs.md"


def test_writing_it_again_adds_only_what_is_new() -> None:
    ticked = WRITTEN.replace(b"- [ ] likes", b"- [x] likes", 1)
    assert review_note.with_new(ticked, PROPOSALS) == ticked
    grown = review_note.with_new(ticked, [*PROPOSALS, proposal(9)])
    assert [item.id for item in review_note.read(grown)][-1] == "00000009"
    assert grown.startswith(ticked)


# --- what a person does to one item


def mark(line: bytes, box: bytes, words: bytes | None = None) -> bytes:
    if words is not None:
        line = b"- [ ] " + words + line[line.rindex(b" ^r-") :]
    return line.replace(b"- [ ]", b"- [" + box + b"]", 1)


ACTIONS = ("leave", "accept", "ACCEPT", "reject", "both", "edit", "edit only", "delete", "strange", "move mark", "bare")


def items_of(data: bytes) -> tuple[bytes, list[list[bytes]]]:
    """What stands before the first item, and the lines of each."""
    head, *blocks = data.split(b"\n- [ ] ")
    return head + b"\n", [
        [b"- [ ] " + lines[0], *lines[1:]] for lines in (b.rstrip(b"\n").split(b"\n") for b in blocks)
    ]


def act(block: list[bytes], action: str) -> tuple[list[bytes], tuple[bool, bool, str] | None]:
    """The lines of one item after an action, and what it says: accept, both, and the words (None: nothing)."""
    line, below = block[0], block[1:]
    words = line[len(b"- [ ] ") : line.rindex(b" ^r-")].decode()
    plain = {"accept": b"x", "ACCEPT": b"X", "reject": b"-", "both": b"+"}
    if action in plain:
        said = (action != "reject", action == "both", words if action != "reject" else "")
        return [mark(line, plain[action]), *below], said
    if action == "edit":
        return [mark(line, b"x", b"other words"), *below], (True, False, "other words")
    if action == "edit only":
        return [mark(line, b" ", b"other words"), *below], None
    if action == "strange":
        return [mark(line, b">"), *below], None
    if action == "move mark":
        start = line.rindex(b" ^r-")
        return [mark(line[:start], b"x")[:5] + line[start:] + b" " + line[6:start], *below], None
    if action == "bare":
        return [b"- [x]" + line[line.rindex(b" ^r-") :], *below], None
    return ([], None) if action == "delete" else (block, None)


@st.composite
def decided_notes(draw: st.DrawFn) -> tuple[bytes, dict[str, tuple[bool, bool, str]]]:
    """A note as a person leaves it, and what it says."""
    head, blocks = items_of(WRITTEN)
    expected: dict[str, tuple[bool, bool, str]] = {}
    made: list[list[bytes]] = []
    for each, block in zip(PROPOSALS, blocks, strict=True):
        lines, said = act(block, draw(st.sampled_from(ACTIONS)))
        if draw(st.booleans()):
            lines = lines[:1] + lines[1 : 1 + draw(st.integers(0, 3))]  # nested lines deleted
        if said:
            expected[each.id] = said
        if lines:
            made.append(lines)
            if draw(st.integers(0, 5)) == 0:
                made.append(lines)  # the same line twice
    made = draw(st.permutations(made))
    ending = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    lines = [line for block in made for line in block]
    data = (head + b"\n".join(lines) + b"\n\nsomething of mine\n").replace(b"\n", ending)
    return data, expected


def plain(said: dict[str, review_note.Ticked]) -> dict[str, tuple[bool, bool, str]]:
    return {name: (each.accept, each.both, each.words) for name, each in said.items()}


@settings(max_examples=examples(100))
@given(decided_notes())
def test_exactly_what_was_decided_is_read(case: tuple[bytes, dict[str, tuple[bool, bool, str]]]) -> None:
    data, expected = case
    assert plain(taken(data)) == expected


@settings(max_examples=examples(40))
@given(decided_notes(), st.data())
def test_of_a_half_saved_note_only_whole_decisions_are_read(
    case: tuple[bytes, dict[str, tuple[bool, bool, str]]], data: st.DataObject
) -> None:
    """Any prefix says a part of what the whole says, and nothing else."""
    whole, expected = case
    for _ in range(12):
        cut = data.draw(st.integers(0, len(whole)))
        said = plain(taken(whole[:cut]))
        assert said.items() <= expected.items()


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.prove), 3])
def test_every_single_prefix(step: int) -> None:
    head, blocks = items_of(WRITTEN)
    actions = ["edit", "reject", "accept", "both", "move mark", "edit", "bare", "ACCEPT"]
    done = [act(block, action) for block, action in zip(blocks, actions, strict=True)]
    whole = head + b"\n".join(line for lines, _ in done for line in lines) + b"\nend\n"
    expected = {each.id: said for each, (_, said) in zip(PROPOSALS, done, strict=True) if said}
    seen = 0
    for cut in (*range(0, len(whole), step), len(whole)):
        said = plain(taken(whole[:cut]))
        assert said.items() <= expected.items(), whole[:cut][-80:]
        assert len(said) >= seen  # and no decision is lost by more text
        seen = len(said)
    assert said == expected


@settings(max_examples=examples(60))
@given(decided_notes(), st.sets(st.sampled_from([each.id for each in PROPOSALS])))
def test_taking_items_out_leaves_every_other_item_and_line(
    case: tuple[bytes, dict[str, tuple[bool, bool, str]]], ids: set[str]
) -> None:
    data, _ = case
    before = [(item.id, item.box, item.words) for item in review_note.read(data)]
    after = review_note.without_proposals(data, ids)
    assert [(item.id, item.box, item.words) for item in review_note.read(after)] == [
        i for i in before if i[0] not in ids
    ]
    assert b"something of mine" in after
    assert review_note.without_proposals(after, ids) == after


def test_what_the_person_wrote_under_an_item_stays() -> None:
    line = b"- [ ] likes tea 0 ^r-00000000\n"
    data = WRITTEN.replace(line, line.replace(b"[ ]", b"[x]") + b"  - ask Anna about it\n")
    after = review_note.without_proposals(data, {"00000000"})
    assert b"- [x] likes tea 0\n  - ask Anna about it\n" in after
    assert "00000000" not in {item.id for item in review_note.read(after)}


@pytest.mark.parametrize("by_tick", [True, False])
def test_what_the_person_wrote_at_the_end_of_a_detail_stays(vault: Vault, by_tick: bool) -> None:
    vault.review().write_note()
    (row,) = [row for row in vault["Review.md"].split("\n") if "  - said:: ([[2026-11-20#^d-baaaaac" in row]
    vault["Review.md"] = vault["Review.md"].replace(row, f"{row} no, she said May")
    if by_tick:
        tick(vault, "Anna moves to Cork in March 2027", "x")
        vault.review().from_note()
    else:
        vault.review().decide([vault.ids()["Anna moves to Cork in March 2027"]])
    assert "- Anna moves to Cork in March 2027 ([[" in vault["Memory.md"]
    assert f"\n{row.strip()} no, she said May\n" in vault["Review.md"]
    assert "- [x] Anna" not in vault["Review.md"] and "- [ ] Anna" not in vault["Review.md"]
    assert vault.review().from_note().notices == []


def test_in_any_note_at_all() -> None:
    """Items among anything that has ever confused an editor: the rest stays byte by byte."""
    rng = random.Random(7)
    for _ in range(scale(150)):
        own = document(rng)
        grown = review_note.with_new(own, PROPOSALS[:2])
        assert len(review_note.read(grown)) == 2 or b"%%" in own or b"<" in own or b"`" in own or b"~" in own
        back = review_note.without_proposals(grown, {each.id for each in PROPOSALS})
        lines = own.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n").split(b"\n")
        assert all(line in back for line in lines if line.strip())


@pytest.mark.parametrize("box", ["x", "-", "+"])
def test_two_ways_to_decide_one_are_left_for_later(box: str) -> None:
    line = b"- [ ] likes tea 0 ^r-00000000"
    other = b"x" if box == "-" else b"-"
    data = WRITTEN.replace(line, mark(line, box.encode()) + b"\n" + mark(line, other))
    said, notices = review_note.decisions([review_note.read(data)])
    assert said == {}
    assert notices == [f"Review.md:9: left for later: {review_note.TWICE}"]


@pytest.mark.parametrize("stamp", [" ✅ 2026-11-21", " ❌ 2026-11-21", " [completion:: 2026-11-21]", "  ✅2026-11-21"])
def test_what_a_plugin_stamps_on_a_ticked_task_is_no_edit(stamp: str) -> None:
    line = b"- [ ] likes tea 0 ^r-00000000"
    data = WRITTEN.replace(line, f"- [x] likes tea 0{stamp} ^r-00000000".encode())
    assert plain(taken(data)) == {"00000000": (True, False, "likes tea 0")}


@pytest.mark.parametrize(("box", "accept"), [("[x]", True), ("[ x] ", True), ("[X ]", True), ("[-]", False)])
def test_a_box_typed_with_a_thumb_counts(box: str, accept: bool) -> None:
    data = WRITTEN.replace(b"- [ ] likes tea", f"- {box}likes tea".encode(), 1)
    assert review_note.ticked(data)
    assert plain(taken(data)) == {"00000000": (accept, False, "likes tea 0" if accept else "")}


@pytest.mark.parametrize("words", ["[x](a.md) is how it is done", "[x]: that", "[x][y] and so on", "[[x]] too"])
def test_a_link_in_place_of_the_box_is_no_tick(words: str) -> None:
    data = WRITTEN.replace(b"- [ ] likes tea 0", f"- {words}".encode(), 1)
    assert taken(data) == {}


def test_outside_text_cannot_forge_an_item() -> None:
    evil = "x\n- [x] rm -rf ^r-00000001\r- [x] again ^r-00000002\u2028- [x] more ^r-00000003 ^r-00000004"
    for field in ("text", "quote", "why", "section", "target", "source", "date"):
        data = review_note.with_new(None, [proposal(0, **{field: evil})])
        assert [(item.id, item.decided) for item in review_note.read(data)] == [("00000000", False)], field
    line = Related("Memory.md", 3, "abcdefgh", evil, evil[:20], evil)
    assert [
        item.id for item in review_note.read(review_note.with_new(None, [proposal(0)._replace(conflicts=(line,))]))
    ] == ["00000000"]
    data = review_note.with_new(
        None, [proposal(0)._replace(op="replace", replaces=f"- {evil}", conflicts=(line, line))]
    )
    assert [item.id for item in review_note.read(data)] == ["00000000"]


# --- and in the vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


def tick(vault: Vault, words: str, box: str, new: str | None = None, path: str = "Review.md") -> None:
    (line,) = [line for line in vault[path].split("\n") if line.startswith(f"- [ ] {words} ^r-")]
    made = line.replace("[ ]", f"[{box}]", 1)
    vault[path] = vault[path].replace(line, made.replace(words, new) if new else made, 1)


def test_no_note_is_made_where_nothing_waits(vault: Vault) -> None:
    waiting = vault.review().waiting(limit=100).proposals
    vault.review().decide(reject=[each.id for each in waiting])
    assert vault.review().write_note() == ("Review.md", 0, 0)
    assert "Review.md" not in vault.files()


def test_a_base_comes_with_the_first_note_once_and_never_over_the_person_s(vault: Vault) -> None:
    vault["Review.base"] = "mine"
    vault.review().write_note()
    assert vault["Review.base"] == "mine"
    vault.memory().undo()
    (vault.root / "Review.base").unlink()
    vault.review().write_note()
    assert vault["Review.base"].startswith("# Created once") and "Review.md" in vault
    vault.memory().undo()
    assert "Review.base" not in vault and "Review.md" not in vault
    vault.review().write_note()
    assert "Review.base" not in vault, "it was made once, and taken away"


def test_ticks_are_done_once_and_the_rest_waits(vault: Vault) -> None:
    vault.review().write_note()
    before = vault.files()
    tick(vault, "prefers tea", "x", "prefers green tea")
    tick(vault, "prefers no tea", "-")
    tick(vault, "dentist on 16 Oct", "+")
    tick(vault, "Ask before deleting files", "x")
    ticked = vault.files()
    done = vault.script().review().from_note()
    assert [(each.proposal.text, each.decision) for each in done.decided] == [
        ("prefers tea", "accepted"),
        ("Ask before deleting files", "accepted"),
        ("prefers no tea", "rejected"),
        ("dentist on 16 Oct", "accepted"),
    ] or len(done.decided) == 4
    assert "- prefers green tea ([[2026-11-19#^d-aaaaaaa|2026-11-19]])" in vault["Memory.md"]
    assert "- prefers coffee\n" in vault["Memory.md"]
    assert "- dentist on 15 Oct\n" in vault["Memory.md"] and "- dentist on 16 Oct ([[" in vault["Memory.md"]
    assert "- Ask before deleting files ([[corrections#^f-" in vault["Procedural.md"]
    assert "[promoted] prefers tea" in vault["2026-11-19.md"]
    assert "[promoted] I prefer tea." in vault["2026-11-20.md"]
    assert "[rejected] prefers no tea" in vault["2026-11-20.md"]
    assert [item.decided for item in review_note.read(vault["Review.md"].encode())] == [False] * 4
    assert next(iter(vault.memory().history())).actor == "person"
    again = vault.files()
    assert vault.script().review().from_note().decided == []
    assert vault.files() == again
    vault.memory().undo()
    assert vault.files() == ticked != before


def test_the_next_command_that_writes_does_it(vault: Vault) -> None:
    vault.review().write_note()
    tick(vault, "Anna moves to Cork in March 2027", "x")
    memory = vault.script()
    receipt = memory.log("hello")
    assert receipt.written
    assert "decided in Review.md: 1 accepted, 0 rejected" in memory.workspace.notices
    assert "- Anna moves to Cork in March 2027 ([[" in vault["Memory.md"]
    assert next(iter(vault.memory().history())).command == "log"


@pytest.mark.parametrize(
    "command", ["remember", "log", "feedback", "edit", "forget", "add_fact", "end_fact", "remove_fact", "pin"]
)
def test_each_writing_command_takes_the_ticks(vault: Vault, command: str) -> None:
    vault.memory().add_fact("me", "works at", "Deltacore")
    (vault.root / "playbooks").mkdir()
    vault["playbooks/release.md"] = "# release\n\n1. tag\n2. push\n"
    vault.review().write_note()
    tick(vault, "Anna moves to Cork in March 2027", "-")
    memory = vault.script()
    {
        "remember": lambda: memory.remember("likes pears"),
        "log": lambda: memory.log("hello"),
        "feedback": lambda: memory.feedback(True, "well done"),
        "edit": lambda: memory.edit("Anna's birthday is 3 May #people", "Anna's birthday is 4 May"),
        "forget": lambda: memory.forget("Anna's birthday is 3 May #people"),
        "add_fact": lambda: memory.add_fact("me", "lives in", "Cork"),
        "end_fact": lambda: memory.end_fact("Deltacore"),
        "remove_fact": lambda: memory.remove_fact("Deltacore"),
        "pin": lambda: vault.memory().pin("release"),
    }[command]()
    assert "[rejected] Anna moves" in vault["2026-11-20.md"]


def test_what_undo_brought_back_is_not_done_again_by_itself(vault: Vault) -> None:
    vault.review().write_note()
    tick(vault, "Anna moves to Cork in March 2027", "x")
    ticked = vault.files()
    vault.memory().log("one")
    vault.memory().undo(last=2)
    assert vault.files() == ticked
    vault.memory().log("two")
    assert "Anna moves" not in vault["Memory.md"]
    tick(vault, "prefers no tea", "-")
    vault.memory().log("three")
    assert "Anna moves" in vault["Memory.md"]


def test_when_all_is_decided_the_note_goes(vault: Vault) -> None:
    vault.review().write_note()
    vault["Review.md"] = vault["Review.md"].replace("- [ ]", "- [-]")
    vault["Review.md"] = vault["Review.md"] + "\nmine\n"
    vault.review().from_note()
    assert vault["Review.md"].endswith("\nmine\n")
    vault.memory().undo()
    vault["Review.md"] = vault["Review.md"].replace("\nmine\n", "\n")
    vault["Review.md"] = vault["Review.md"].replace("## To decide", "## To decide\n\n.")
    vault.review().from_note()
    vault.memory().undo()
    vault["Review.md"] = vault["Review.md"].replace("## To decide\n\n.", "## To decide")
    (last,) = review_note.read(vault["Review.md"].encode())[-1:]
    assert last.decided
    vault.review().from_note()
    assert "Review.md" not in vault
    vault.memory().undo()
    assert "Review.md" in vault


def test_nothing_is_lost_when_the_note_vanishes(vault: Vault) -> None:
    before = vault.ids()
    vault.review().write_note()
    (vault.root / "Review.md").unlink()
    vault.memory().log("hello")
    assert vault.ids() == before


def test_a_half_saved_note_and_then_the_whole_of_it(vault: Vault) -> None:
    """The first half is done, the sync then brings the whole: the rest is done, nothing twice."""
    vault.review().write_note()
    vault["Review.md"] = vault["Review.md"].replace("\n- [ ]", "\n- [x]")
    whole = vault["Review.md"].encode()
    marks = [item.line for item in review_note.read(whole)]
    assert len(marks) == 8
    half = whole[: whole.index(b"dentist on 16")]
    vault["Review.md"] = half
    first = vault.review().from_note()
    assert 0 < len(first.decided) < 8
    vault["Review.md"] = whole
    second = vault.review().from_note()
    assert len(first.decided) + len(second.decided) == 8
    assert not {each.proposal.id for each in first.decided} & {each.proposal.id for each in second.decided}
    corrected = "Correction: the distance was in miles"
    for text in ("prefers tea", "dentist on 16 Oct", "Ask before deleting files", corrected):
        assert (vault["Memory.md"] + vault["Procedural.md"]).count(f"- {text} ([[") == 1
    assert "Review.md" not in vault or not review_note.read(vault["Review.md"].encode())


def test_a_second_device(vault: Vault) -> None:
    """Both decided, the sync made a conflict copy: both count, what they disagree on waits, and the copy goes."""
    vault.review().write_note()
    copy = "Review.sync-conflict-20261121-101500-ABCDEFG.md"
    vault[copy] = vault["Review.md"]
    tick(vault, "prefers tea", "x")
    tick(vault, "dentist on 16 Oct", "x")
    tick(vault, "prefers no tea", "-")
    tick(vault, "Anna moves to Cork in March 2027", "x", path=copy)
    tick(vault, "dentist on 16 Oct", "-", path=copy)
    tick(vault, "prefers no tea", "-", path=copy)
    done = vault.review().from_note()
    assert {(each.proposal.text, each.decision) for each in done.decided} == {
        ("prefers tea", "accepted"),
        ("Anna moves to Cork in March 2027", "accepted"),
        ("prefers no tea", "rejected"),
    }
    assert any(review_note.TWICE in notice for notice in done.notices)
    assert [item.id for item in review_note.read(vault[copy].encode())] == [vault.ids()["dentist on 16 Oct"]]
    vault["Review.md"] = vault["Review.md"].replace("- [x] dentist", "- [-] dentist")
    vault.review().from_note()
    assert copy not in vault
    assert "[rejected] dentist on 16 Oct" in vault["2026-11-20.md"]


def test_a_stale_note_from_another_device_is_cleared_without_a_word(vault: Vault) -> None:
    vault.review().write_note()
    tick(vault, "prefers tea", "x")
    stale = vault["Review.md"]
    vault.review().from_note()
    before = vault["Memory.md"]
    vault["Review.md"] = stale
    done = vault.review().from_note()
    assert (done.decided, done.notices) == ([], [])
    assert vault["Memory.md"] == before
    assert "prefers tea" not in [item.words for item in review_note.read(vault["Review.md"].encode())]


def choose(vault: Vault, words: str, path: str = "Review.md") -> None:
    """Tick the box of a related line."""
    (line,) = [line for line in vault[path].split("\n") if line.startswith(f"  - [ ] replace: {words} (")]
    vault[path] = vault[path].replace(line, line.replace("[ ]", "[x]", 1), 1)


@pytest.mark.parametrize("own", [True, False])
def test_a_related_line_is_replaced_if_its_own_box_is_ticked(vault: Vault, own: bool) -> None:
    vault.review().decide(reject=[vault.ids()["prefers no tea"]])
    vault.review().write_note()
    name = vault.ids()["dentist on 16 Oct"]
    assert re.search(
        rf"\n  - \[ \] replace: dentist on 15 Oct \(undated\) \^r-{name}-[0-9a-z]{{8}}\n", vault["Review.md"]
    )
    choose(vault, "dentist on 15 Oct")
    if own:
        tick(vault, "dentist on 16 Oct", "x")
    before = vault.files()
    assert [each.proposal.id for each in vault.script().review().from_note().decided] == [name]
    assert "- dentist on 16 Oct ([[" in vault["Memory.md"] and "15 Oct" not in vault["Memory.md"]
    assert "  - replaced:: dentist on 15 Oct" in vault["2026-11-20.md"]
    assert name not in vault["Review.md"]
    vault.memory().undo()
    assert vault.files() == before


@pytest.mark.parametrize("box", ["-", "+"])
def test_a_box_that_says_something_else_than_the_one_below_it_waits(vault: Vault, box: str) -> None:
    vault.review().write_note()
    choose(vault, "dentist on 15 Oct")
    tick(vault, "dentist on 16 Oct", box)
    before = vault["Memory.md"]
    done = vault.review().from_note()
    assert (done.decided, vault["Memory.md"]) == ([], before)
    assert any(review_note.TWICE in notice for notice in done.notices)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda line: line.replace("[ ]", "[✓]"), "[✓] has no meaning at a line below it"),
        (lambda line: line.replace("[ ]", "[x]").rpartition(" ^r-")[0], "has lost its mark"),
        (lambda line: line.replace("[ ]", "( x )"), "a line below it has no valid box"),
        (lambda line: line.replace("[ ] ", ""), "a line below it has no valid box"),
        (lambda line: f"{line.replace('[ ]', '[x]')}\n{line.replace('[ ]', '[-]')}", "has more than one decision"),
    ],
)
def test_a_box_below_that_cannot_be_understood_leaves_the_whole_for_later(
    vault: Vault, change: Callable[[str], str], why: str
) -> None:
    vault.review().write_note()
    (line,) = [line for line in vault["Review.md"].split("\n") if line.startswith("  - [ ] replace: dentist")]
    vault["Review.md"] = vault["Review.md"].replace(line, change(line))
    tick(vault, "dentist on 16 Oct", "x")
    before = vault["Memory.md"]
    told = vault.review().from_note()
    assert not told.decided
    assert any(why in notice for notice in told.notices)
    assert vault["Memory.md"] == before
    if "more than one decision" not in why:
        tick_back = vault["Review.md"].replace("- [x] dentist on 16", "- [ ] dentist on 16")
        vault["Review.md"] = tick_back
        assert any(why in notice for notice in vault.review().from_note().notices), "also where its own box waits"


def test_a_note_that_is_cut_off_anywhere_says_nothing_that_the_whole_does_not_say() -> None:
    line = Related("Memory.md", 3, "abcdefgh", "dentist on 15 Oct", "2026-10-02", "- dentist on 15 Oct")
    related = (line, line._replace(ref="bcdefghi"))
    data = review_note.with_new(None, [proposal(n)._replace(conflicts=related) for n in range(3)])
    data = data.replace(b"- [ ]", b"- [x]") + b"\nmine\n"
    whole = taken(data)
    assert [said.replaces for said in whole.values()] == [("abcdefgh", "bcdefghi")] * 3
    for end in range(len(data)):
        for name, said in taken(data[:end]).items():
            assert said == whole[name], data[:end][-80:]


def test_a_related_line_that_changed_waits_and_is_told_and_the_others_are_done(vault: Vault) -> None:
    vault.review().write_note()
    choose(vault, "dentist on 15 Oct")
    tick(vault, "dentist on 16 Oct", "x")
    tick(vault, "Anna moves to Cork in March 2027", "x")
    vault["Memory.md"] = vault["Memory.md"].replace("dentist on 15 Oct", "dentist on 14 Oct at noon")
    done = vault.review().from_note()
    assert [each.proposal.text for each in done.decided] == ["Anna moves to Cork in March 2027"]
    assert any("in the tier notes" in notice for notice in done.notices)
    assert "dentist on 14 Oct at noon" in vault["Memory.md"]
    assert "[x] dentist on 16 Oct" in vault["Review.md"]


def test_an_unclear_copy_that_says_the_opposite_leaves_the_proposal_for_later(vault: Vault) -> None:
    vault.review().write_note()
    tick(vault, "Anna moves to Cork in March 2027", "x")
    (line,) = [line for line in vault["Review.md"].split("\n") if line.startswith("- [x] Anna moves")]
    vault["Review.md"] += f"\n{line.replace('[x]', '[-]')}\n"  # the last line of all may be cut off
    done = vault.review().from_note()
    assert not done.decided
    assert any(review_note.TWICE in notice for notice in done.notices)
    vault["Review.md"] = vault["Review.md"].replace("- [-] Anna", "- [x] Anna")
    assert [each.decision for each in vault.review().from_note().decided] == ["accepted"]


def test_what_was_ticked_and_could_not_be_done_does_not_age(vault: Vault) -> None:
    vault.review().write_note(limit=100, expired=True)
    old = vault["2026-10-20.md"]
    vault["2026-10-20.md"] = old.replace("[expired]", "[extracted]")
    tick(vault, "An old thing", "x")
    (line,) = [line for line in vault["Review.md"].split("\n") if "An old thing" in line]
    vault["Review.md"] = vault["Review.md"].replace(line, f"{line}\n{line.replace('[x]', '[-]')}")
    tick(vault, "Anna moves to Cork in March 2027", "x")
    done = vault.review().from_note()
    assert [each.proposal.text for each in done.decided] == ["Anna moves to Cork in March 2027"]
    assert any(review_note.TWICE in notice for notice in done.notices)
    assert "[extracted] an old thing" in vault["2026-10-20.md"]


def test_two_that_replace_each_other_wait_and_hold_up_no_other_tick(vault: Vault) -> None:
    vault["2026-11-20.md"] = (
        "## Log\n- 10:00 [extracted] I prefer aisle seats ^d-eaaaaaa\n"
        "- 10:01 [extracted] I prefer window seats ^d-eaaaaab\n"
        "- 10:02 [extracted] dentist on 16 Oct ^d-eaaaaac\n- 10:03 [extracted] the dentist is Dr. Weiss ^d-eaaaaad\n"
    )
    vault.review().write_note()
    choose(vault, "I prefer aisle seats")
    choose(vault, "I prefer window seats")
    choose(vault, "dentist on 16 Oct")
    done = vault.review().from_note()
    assert [each.proposal.text for each in done.decided] == ["The dentist is Dr. Weiss"]
    assert any("replace each other" in notice for notice in done.notices)
    assert vault["Review.md"].count("- [x] replace: I prefer") == 2 and "seats" not in vault["Memory.md"]


def test_two_that_replace_one_line_both_stand(vault: Vault) -> None:
    vault["2026-11-20.md"] = vault["2026-11-20.md"] + "- 20:00 [extracted] dentist on 17 Oct ^d-zzzzzzz\n"
    lines = waiting(vault)["dentist on 16 Oct"].choices
    ids, (ref,) = vault.ids(), {line.ref for line in lines if not line.waits}
    both = [ids["dentist on 16 Oct"], ids["dentist on 17 Oct"]]
    vault.review().decide(both, replace={name: [ref] for name in both})
    assert "15 Oct" not in vault["Memory.md"]
    assert (
        vault["Memory.md"].count("- dentist on 16 Oct ([[") == vault["Memory.md"].count("- dentist on 17 Oct ([[") == 1
    )


def waiting(vault: Vault) -> dict[str, Proposal]:
    return {each.text: each for each in vault.review().waiting(limit=0).proposals}


def test_two_joined_lines_stay_and_are_told_wherever_ticks_are_read(vault: Vault) -> None:
    vault.review().write_note()
    lines = vault["Review.md"].split("\n")
    first = next(row for row, line in enumerate(lines) if line.startswith("- [ ] Anna moves"))
    while not lines[first + 1].startswith("- [ ]"):
        del lines[first + 1]
    words = lines[first].partition(" ^r-")[0].replace("[ ]", "[x]")
    lines[first : first + 2] = [f"{words} {lines[first + 1].removeprefix('- [ ] ')}"]
    vault["Review.md"] = "\n".join(lines)
    before = vault.files()
    done = vault.script().review().from_note()
    assert (done.decided, done.left) == ([], 1)
    assert "also has the words of proposal" in done.notices[0]
    assert done.notices[0] in vault.review().waiting().notices
    assert vault.memory().log("hello").written
    assert {path: data for path, data in vault.files().items() if path in before} == before


def test_the_note_of_a_person_is_only_added_to(vault: Vault) -> None:
    own = b"\xef\xbb\xbf# Review\r\n\r\nmy own review of the year\r\n- [x] done ^mine\r\n"
    vault["Review.md"] = own
    vault.review().write_note()
    assert (vault.root / "Review.md").read_bytes().startswith(own)
    vault["Review.md"] = (vault.root / "Review.md").read_bytes().replace(b"- [ ]", b"- [-]") + b"\r\nmore of mine"
    vault.review().from_note()
    assert (vault.root / "Review.md").read_bytes().startswith(own)
    assert b"more of mine" in (vault.root / "Review.md").read_bytes()


def test_what_waits_in_the_note_is_found_once_in_its_own_note(vault: Vault) -> None:
    vault["Review.md"] = "my review of the year: Cork was fine\n"
    assert "Review.md" in [hit.path for hit in vault.memory().search("Cork", mode="lexical").hits]
    (vault.root / "Review.md").unlink()
    vault.review().write_note()
    memory = vault.memory()
    paths = [hit.path for hit in memory.search("Cork March", mode="lexical").hits]
    assert "2026-11-20.md" in paths
    assert "Review.md" not in paths
    assert memory.verify() == []


def test_a_note_that_is_a_link_is_neither_read_nor_written(vault: Vault) -> None:
    from tars_memory.errors import TarsError

    outside = vault.base / "outside.md"
    outside.write_bytes(review_note.with_new(None, []).replace(b"[ ]", b"[x]") + b"- [x] x ^r-00000000\n.\n")
    before = outside.read_bytes()
    (vault.root / "Review.md").symlink_to(outside)
    assert vault.memory().log("hello").written
    with pytest.raises(TarsError):
        vault.review().write_note()
    assert outside.read_bytes() == before


def test_a_note_that_is_no_file_costs_nothing(vault: Vault) -> None:
    (vault.root / "Review.md").mkdir()
    memory = vault.memory()
    assert memory.log("hello").written
    assert memory.review().from_note().decided == []


def test_what_goes_wrong_in_the_note_never_costs_what_is_typed(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.curation import review

    vault.review().write_note()
    tick(vault, "prefers tea", "x")
    for error in (NotFoundError("gone"), RuntimeError("a bug")):
        monkeypatch.setattr(review, "apply_ticks", lambda review, error=error: (_ for _ in ()).throw(error))
        memory = vault.memory()
        assert memory.log("hello").written
        assert any(notice.startswith("Review.md waits: ") for notice in memory.workspace.notices)


def test_without_the_note_a_writer_imports_nothing_of_it(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from tars_memory.memory import Memory\n"
        "Memory(sys.argv[1], env={'TARS_MEMORY_HOME': sys.argv[2]}).log('x')\n"
        "print([name for name in sys.modules if 'curation.' in name])"
    )
    (tmp_path / "v/.obsidian").mkdir(parents=True)
    out = subprocess.run([sys.executable, "-c", code, tmp_path / "v", tmp_path / "h"], capture_output=True, check=True)
    assert out.stdout.strip() == b"[]"


@settings(max_examples=examples(15))
@given(st.data())
def test_any_decisions_cut_anywhere_then_whole(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In the vault: a half-saved note, another half, then the whole, sometimes gone in between: each decision once."""
    # One candidate for each line that stands: of two that change the same one, the second waits once the first is done.
    notes = {**NOTES, "2026-11-20.md": NOTES["2026-11-20.md"].replace("[extracted] prefers no tea", "likes no tea")}
    vault = Vault(tmp_path_factory.mktemp("v"), notes)
    offered = vault.review().waiting(limit=0).proposals
    vault.review().write_note()
    head, blocks = items_of((vault.root / "Review.md").read_bytes())
    expected: dict[str, tuple[bool, bool, str]] = {}
    lines: list[bytes] = []
    for block in blocks:
        made, said = act(block, data.draw(st.sampled_from(["leave", "accept", "reject", "both", "edit", "delete"])))
        if said:
            expected[block[0][-8:].decode()] = said
        lines += made
    whole = head + b"\n".join(lines) + b"\n\nend\n"
    results: dict[str, str] = {}
    for step in range(4):
        cut = data.draw(st.integers(0, len(whole))) if step < 3 else len(whole)
        vault["Review.md"] = whole[:cut]
        if data.draw(st.integers(0, 4)) == 0 and step < 3:
            (vault.root / "Review.md").unlink()
        for each in vault.script().review().from_note().decided:
            assert each.proposal.id not in results
            results[each.proposal.id] = each.decision
    assert results == {name: "accepted" if said[0] else "rejected" for name, said in expected.items()}
    waiting = vault.ids()
    for each in offered:
        text = expected.get(each.id, (False, False, ""))[2] or each.text
        standing = (vault["Memory.md"] + vault["Procedural.md"]).count(f"- {text} ([[")
        if each.id not in expected:
            assert waiting[each.text] == each.id
        elif text != "other words":
            assert standing == expected[each.id][0], each


def test_a_decided_line_that_comes_back_cut_off_is_cleared(vault: Vault) -> None:
    """A sync or an editor saves the note of before again, not to its end."""
    vault.review().write_note()
    head, blocks = items_of((vault.root / "Review.md").read_bytes())
    ticked = next(block for block in blocks if len(block) > 3 and b"replace: " in block[1])
    ticked = [ticked[0].replace(b"[ ]", b"[x]"), *ticked[1:]]
    other = next(block for block in blocks if block[0][-8:] != ticked[0][-8:])
    other = [other[0].replace(b"[ ]", b"[x]"), *other[1:]]
    vault["Review.md"] = head + b"\n".join([*other, *ticked]) + b"\n"
    assert len(vault.script().review().from_note().decided) == 2
    vault["Review.md"] = head + b"\n".join([*other, ticked[0], b"  - ["])
    again = vault.script().review().from_note()
    assert again.decided == []


def test_words_typed_over_a_question_are_not_dropped() -> None:
    question = proposal(1, op="choose", text="Which of these holds: “tea” or “no tea”?")
    nothing = Gathered([], [], [], [], [], {}, {})
    assert accepted(question, nothing).accept
    with pytest.raises(UsageError):
        accepted(question, nothing, text="prefers mate")


TALK = Proposal(**{**proposal(9)._asdict(), "op": "together", "parts": tuple(PROPOSALS[:3]), "talk": "sessions/a.md"})
TOGETHER = review_note.with_new(None, [TALK, PROPOSALS[3]])
HEAD = f"- [ ] Keep all lines of one conversation (2026-11-20) ^r-{TALK.id}-all".encode()


def test_lines_of_one_conversation_stand_below_one_box() -> None:
    assert review_note.count(TOGETHER) == (2, 4)
    assert [(item.id, item.inside) for item in review_note.read(TOGETHER)] == [
        *((each.id, True) for each in PROPOSALS[:3]), (PROPOSALS[3].id, False),
    ]  # fmt: skip
    assert TOGETHER.count(HEAD) == 1
    assert taken(TOGETHER) == {}
    assert review_note.with_new(TOGETHER, [TALK, *PROPOSALS[:4]]) == TOGETHER


@pytest.mark.parametrize("all_", [" ", "x", "-"])
@pytest.mark.parametrize("own", [" ", "x", "-"])
def test_the_box_above_decides_what_has_no_mark_of_its_own(all_: str, own: str) -> None:
    first = f"  - [ ] {review_note.words_of(PROPOSALS[0])} ^r-".encode()
    assert TOGETHER.count(first) == 1
    data = TOGETHER.replace(HEAD, mark(HEAD, all_.encode())).replace(first, first.replace(b"[ ]", f"[{own}]".encode()))
    expected = dict.fromkeys((each.id for each in PROPOSALS[1:3]), all_) | {PROPOSALS[0].id: own.strip() or all_}
    assert {name: "x" if said.accept else "-" for name, said in taken(data).items()} == {
        name: box for name, box in expected.items() if box.strip()
    }
    whole = taken(data)
    for end in range(0, len(data), 1 if all_ == own == "x" else 7):
        assert taken(data[:end]).items() <= whole.items()


def test_the_box_goes_with_the_last_of_its_lines() -> None:
    data = TOGETHER
    for each in PROPOSALS[:2]:
        data = review_note.without_proposals(data, {each.id})
        assert HEAD in data
    data = review_note.without_proposals(data, {PROPOSALS[2].id})
    assert [item.id for item in review_note.read(data)] == [PROPOSALS[3].id]
    assert HEAD not in data
    mine = TOGETHER.replace(b"\n  - [ ] ", b"\n  - of mine\n  - [ ] ", 1)
    assert b"  - of mine\n" in review_note.without_proposals(mine, {each.id for each in PROPOSALS[:3]})
    assert review_note.is_bare(review_note.without_proposals(TOGETHER, {each.id for each in PROPOSALS[:4]}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"^r-00000001\n", b"^r-00000001 - of mine\n"),
        (b"^r-00000001\n", b"^r-00000001\nof mine\n"),
        (b"] Keep all", b"] - of mine: Keep all"),
    ],
)
def test_what_is_typed_behind_a_mark_below_it_or_on_the_box_above_stays(old: bytes, new: bytes) -> None:
    assert TOGETHER.count(old) == 1
    known = TOGETHER.decode().split("\n")
    left = review_note.without_proposals(
        TOGETHER.replace(old, new), {each.id for each in PROPOSALS[:4]}, (), lambda: known
    )
    assert b"of mine" in left
    assert not review_note.read(left)


@pytest.mark.parametrize("box", [b"x", b" "])
def test_a_reworded_line_goes_if_the_box_above_took_its_words(box: bytes) -> None:
    data = TOGETHER.replace(HEAD, mark(HEAD, box)).replace(b" ^r-00000001\n", b" of mine ^r-00000001\n")
    left = review_note.without_proposals(
        data, {each.id for each in PROPOSALS[:4]}, (), lambda: TOGETHER.decode().split("\n")
    )
    assert (b"of mine" in left) == (box == b" ")  # decided elsewhere, in other words
    assert box == b" " or review_note.is_bare(left)


@pytest.mark.parametrize(
    ("box", "why"), [("- [>]", f"[>] {review_note.ODD}"), ("- (x)", review_note.BOXLESS), ("-", review_note.BOXLESS)]
)
def test_a_box_above_that_cannot_be_understood_is_told_once(box: str, why: str) -> None:
    assert unread(TOGETHER.replace(HEAD, HEAD.replace(b"- [ ]", box.encode()))) == [why]
    assert unread(TOGETHER.replace(HEAD, mark(HEAD, b"x"))) == []


@pytest.mark.parametrize("empty", ["- [ ] ", "- ", "* [ ]"])
def test_an_empty_task_that_enter_made_goes_with_the_proposal_whose_details_it_took(empty: str) -> None:
    data = WRITTEN.replace(FIRST, mark(FIRST, b"x") + b"\n" + empty.encode())
    assert review_note.without_proposals(data, {"00000000"}) == review_note.without_proposals(WRITTEN, {"00000000"})
    mine = data.replace(empty.encode() + b"\n", b"- [ ] mine\n", 1)
    assert b"- [ ] mine\n  - to:: " in review_note.without_proposals(mine, {"00000000"})


def test_a_box_above_that_cannot_be_understood_decides_nothing() -> None:
    for odd in (mark(HEAD, b">"), mark(HEAD, b"x").replace(b" ^r-", b" r-"), mark(HEAD, b"x") + b"?"):
        assert not taken(TOGETHER.replace(HEAD, odd))
