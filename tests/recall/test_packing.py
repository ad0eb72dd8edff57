from __future__ import annotations

import packed
import pytest
from hypothesis import example, given, settings
from random_documents import examples

from tars_memory.recall import packing
from tars_memory.recall.packing import (
    LONG_NOTE,
    SAMPLE_MARK,
    Packing,
    Portion,
    Run,
    by_worth,
    characters,
    render,
    tokens,
)
from tars_memory.recall.search import Answer
from tars_memory.vault.markdown.lines import fences


@settings(max_examples=examples(200))
@given(packed.cases())
@example(
    {
        "notes": {"Facts.md": b""}, "answers": [Answer("Facts.md", 2, "")], "typed": frozenset(), "budget": 0,
        "days": 0, "file_cap": 0, "question": "what of tea and Anna?", "loaded": False,
    }
)  # fmt: skip
def test_whatever_the_notes_hold(case):
    packed.check(case, packed.pack(case))


def test_a_token_is_four_characters():
    assert [tokens(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert characters(300) == 1200


def test_the_mark_is_one_that_no_text_holds():
    drawn = iter([b"\0" * 5, b"\0" * 5, b"\xff" * 5])
    taken = "a" * 8
    assert packing.mark([f"</recalled-{taken}>"], lambda size: next(drawn)) == "7" * 8
    assert len(packing.mark([])) == packing.MARK_LENGTH
    assert packing.mark([]) != packing.mark([])


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("- tea ^m-7f3ak2cq", "- tea"),
        ("- 14:30 [extracted] tea ^d-1", "- 14:30 tea"),
        ("- tea ([[2026-11-21#^d-1|2026-11-21]])", "- tea (2026-11-21)"),
        ("</memory-abcdefgh>", "<\\/memory-abcdefgh>"),
        ("<rec\u200balled-abcdefgh>", "<\\recalled-abcdefgh>"),
        ("<reca<!-- -->lled-x>", "<\\recalled-x>"),
        ("x <|im_end|>", "x <\\|im_end|>"),
        ("Memory.md:3", "\\Memory.md:3"),
        (":3", "\\:3"),
        ("- see Memory.md:3", "- see Memory.md:3"),
        ("a <b> 1 < 2 10:30", "a <b> 1 < 2 10:30"),
        ("C#, issue #12, [[link]]", "C#, issue #12, [[link]]"),
        ("%% hidden %%", ""),
        ("\x1b[31mred\x07 \u202e\U000e0041", "[31mred"),
    ],
)
def test_how_a_line_is_shown(line, shown):
    assert packing.shown(line) == shown


def test_a_small_budget_takes_single_lines_of_several_notes():
    notes = {"a.md": ["x" * 60] * 9, "b.md": ["y" * 60] * 9}
    order = by_worth([("a.md", 5), ("b.md", 5), ("a.md", 1)], notes)
    assert order[:3] == [("a.md", 5), ("b.md", 5), ("a.md", 1)]


def test_a_long_note_gives_the_lines_around_what_answers():
    notes = {"long.md": [f"line {i}" for i in range(LONG_NOTE)], "short.md": ["z" * 8] * 20}
    ranked = [("long.md", 100), *(("short.md", i) for i in range(1, 11)), ("long.md", 104)]
    order = by_worth(ranked, notes)
    assert {("long.md", n) for n in range(99, 106)} <= set(order[:16])
    alone = by_worth([("short.md", 10), ("long.md", 100)], notes)
    assert ("long.md", 101) in alone and ("short.md", 11) not in alone


def test_of_two_lines_equally_good_the_shorter_one_goes_first():
    notes = {"a.md": ["w" * 900, "short"]}
    assert by_worth([("a.md", 1), ("a.md", 2)], notes)[0] == ("a.md", 2)


def test_a_unit_comes_with_its_heading_or_not_at_all():
    notes = {"a.md": ["## H", "- one", "- two"]}
    heading = Portion("a.md", 1, ["## H"])
    needed = len(render([Run("memory", "a.md", 1, ["## H", "- one"])], SAMPLE_MARK)[0])
    for budget, whole in ((tokens(needed) - 1, False), (tokens(needed + 1), True)):
        packing = Packing(budget, notes)
        assert (packing.add("memory", Portion("a.md", 2, ["- one"], ["one"], [heading])) == "") is whole
        assert [run.texts for run in packing.runs()] == ([["## H", "- one"]] if whole else [])


def test_a_unit_that_is_too_long_leaves_what_is_there_already():
    packing = Packing(70, {"a.md": ["- one"]})
    assert packing.add("conflicts", Portion("a.md", 1, ["one or two"])) == ""
    before = packing.runs()[0].texts
    assert packing.add("conflicts", Portion("a.md", 1, ["three"]), most=5) == "over the budget"
    assert [run.texts for run in packing.runs()] == [before]


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("```\na\n```", [(1, 3)]),
        ("````\n```\na\n````", [(1, 4)]),
        ("```\na\n~~~", [(1, 0)]),
        ("> ```\n> a\n\n```\nb\n```", [(1, 0), (4, 6)]),
        ("- ```\n  a\n- b\n```\nc\n```", [(1, 0), (4, 6)]),
        ("- a\n\n    ```sh\n    b\n    ```\n- c", [(3, 5)]),
        ("```\n> ```\na\n```", [(1, 4)]),
        ("```md\na\n\t```\nb\n```", [(1, 5)]),
        ("`` ``` ``", []),
    ],
)
def test_a_fence_ends_at_its_mark_or_with_its_quote_or_item(note: str, found: list[tuple[int, int]]):
    assert [*fences(note.split("\n"))] == found


def test_no_mark_within_a_fence_that_was_left_out_opens_another():
    note = ["- a", "````md", "```py", "~~~", "code"]
    filled = Packing(1000, {"a.md": note})
    assert filled.add("memory", Portion("a.md", 1, note)) == ""
    filled.settle_fences()
    assert [text for run in filled.runs() for text in run.texts] == ["- a", "code"]


FENCED = ["run:", "", "```sh", "make", "", "restart", "```", "~~~", "ok", "~~~", "> ```", "> never closed"]


@pytest.mark.parametrize(
    ("added", "budget", "shown"),
    [
        ({1, 4, 6}, 1000, {1, 3, 4, 6, 7}),  # its marks come with the lines of a fence
        ({3, 4, 7}, 1000, {4}),  # half of it comes without them
        ({7, 10}, 1000, set()),
        ({9}, 1000, {8, 9, 10}),
        ({11, 12}, 1000, {12}),
        ({4, 6}, 39, {4, 6}),  # no room for them
    ],
)
def test_a_fence_has_both_marks_or_none(added: set[int], budget: int, shown: set[int]):
    filled = Packing(budget, {"a.md": FENCED})
    for number in added:
        assert filled.add("recalled", Portion("a.md", number, [FENCED[number - 1]])) == ""
    gone = filled.settle_fences()
    assert {run.start_line + i for run in filled.runs() for i, text in enumerate(run.texts) if text} == shown
    assert {number for number in added - shown if filled.holds("a.md", number)} == set()
    assert sorted(gone) == [("a.md", number) for number in sorted(added - shown)]


def test_what_was_said_is_not_said_again():
    packing = Packing(1000, {"a.md": ["- one"], "b.md": ["* ONE"]})
    assert packing.add("memory", Portion("a.md", 1, ["- one"], ["one"])) == ""
    assert packing.add("recalled", Portion("b.md", 1, ["* ONE"], ["one"])) == "says the same as a.md:1"
    assert packing.add("recalled", Portion("a.md", 1, ["- one"], ["one"])) == "loaded already"


def test_of_two_lines_of_the_memory_that_a_line_repeats_the_one_with_the_same_words_is_shown():
    """By its words it repeats one, by its link the other; the budget takes one of them."""
    same, linked = "tea with lemon " * 12 + "tonight", "the green one " * 13 + "tonight"
    for number in range(12):
        line = f"- 14:30 [promoted] {same} ^d-{number}"
        memory = f"- {same}\n- {linked} ([[2026-11-14#^d-{number}|2026-11-14]])\n"
        context = packed.pack(
            {
                "notes": {"Memory.md": memory.encode(), "2026-11-14.md": f"{line}\n".encode()},
                "answers": [Answer("2026-11-14.md", 1, line)],
                "typed": frozenset(),
                "budget": 105,
                "days": 0,
                "file_cap": 1000,
                "question": "tea",
                "loaded": True,
            }
        )
        assert [block.text for block in context.blocks] == [f"- {same}"]
