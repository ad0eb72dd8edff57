"""Reading what models say: tolerant of the form, strict about the numbers, bounded whatever comes."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples, sized, within

from tars_memory.curation.models import dialogues
from tars_memory.curation.models.dialogues import ModelOp, ReplyError
from tars_memory.curation.proposals import DrawnFact, Refer, Verdict

FACT = {"text": "Anna prefers green tea.", "quote": "I prefer green tea", "turn": 3, "kind": "preference"}
READ = DrawnFact("", "I prefer green tea", 3, "preference")
PLAIN = json.dumps({"title": "Tea", "facts": [FACT]})
TURNS = frozenset((1, 2, 3))

FORMS = {
    "plain": PLAIN,
    "a byte order mark": f"\ufeff{PLAIN}",
    "a fence": f"```json\n{PLAIN}\n```",
    "a fence without a name": f"```\n{PLAIN}\n```\n",
    "prose around": f"Sure! Here is what I found:\n\n{PLAIN}\n\nLet me know {{if}} you need more.",
    "prose with a brace before": f"In {{curly}} words:\n{PLAIN}",
    "thoughts before": f"<think>The user {{seems}} to like [tea].</think>\n{PLAIN}",
    "single quotes": "{'title': 'Tea', 'facts': [{'text': 'Anna prefers green tea.', 'quote': 'I prefer green tea', "
    "'turn': 3, 'kind': 'preference'}]}",
    "keys without quotes": PLAIN.replace('"title"', "title").replace('"facts"', "facts"),
    "trailing commas": PLAIN.replace("}]}", "},],}"),
    "comments": PLAIN.replace('"facts"', '/* the facts */ "facts"'),
    "cut off after the fact": PLAIN[:-2] + ', {"text": "Anna li',
    "cut off within the list": PLAIN[:-2],
    "a number as text": PLAIN.replace("3,", '"3",'),
    "a number in brackets": PLAIN.replace("3,", '"[3]",'),
    "other members": PLAIN.replace('"quote"', '"summary": {"a": [1]}, "quote"'),
    "a bare list": json.dumps([FACT]),
    "facts by name": json.dumps({"facts": {"first": FACT}}),
    "line breaks in the text": PLAIN.replace("Anna prefers", "Anna\\n  prefers"),
    "raw line breaks": PLAIN.replace("Anna prefers", "Anna\nprefers"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_fact_is_read_from_every_form(form: str) -> None:
    assert dialogues.extraction(FORMS[form], TURNS)[:1] == (READ,)


def test_of_an_answer_only_what_it_points_at_counts() -> None:
    said = {"title": "Tea and more", "summary": "Anna drinks.", "topics": ["tea"], "decisions": ["buy a pot"]}
    assert dialogues.extraction(json.dumps({**said, "facts": [FACT]}), TURNS) == (READ,)


@pytest.mark.parametrize(
    ("refers", "read"),
    [
        ([{"span": "it", "to": "green tea", "turn": 2}], (Refer("it", "green tea", 2),)),
        ([{"span": "it", "to": "green tea"}], (Refer("it", "green tea"),)),
        ({"span": "it", "to": "green tea", "turn": "[2]"}, (Refer("it", "green tea", 2),)),
        ([{"span": "it", "to": ""}, {"span": 3, "to": "tea"}, "it", None, {"span": "x" * 501, "to": "tea"}], ()),
        ([{"span": "it", "to": "tea"}] * 99, (Refer("it", "tea"),) * dialogues.MAX_REFERS),
        (None, ()),
    ],
)
def test_what_a_quote_refers_to_is_read(refers: object, read: tuple[Refer, ...]) -> None:
    (fact,) = dialogues.extraction(json.dumps({"facts": [FACT | {"refers": refers}]}), TURNS)
    assert fact.refers == read


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"turn": 99}, READ._replace(turn=0)),
        ({"turn": True}, READ._replace(turn=0)),
        ({"turn": 3.0}, READ._replace(turn=0)),
        ({"turn": None}, READ._replace(turn=0)),
        ({"turn": "3; rm"}, READ._replace(turn=0)),
        ({"turn": -3}, READ._replace(turn=0)),
        ({"quote": None}, READ._replace(quote="")),
        ({"quote": ["a"]}, READ._replace(quote="")),
        ({"quote": "q" * 3000}, READ._replace(quote="")),
        ({"kind": "order"}, READ._replace(kind="fact")),
        ({"kind": ["preference"]}, READ._replace(kind="fact")),
        ({"file": "Procedural.md", "op": "delete"}, READ),
    ],
)
def test_what_a_fact_lacks_is_not_guessed(change: dict[str, object], read: DrawnFact) -> None:
    assert dialogues.extraction(json.dumps({"facts": [FACT | change]}), TURNS) == (read,)


def test_what_is_no_object_is_no_fact() -> None:
    assert dialogues.extraction('{"facts": ["Anna lives here", 7, {"quote": "tea"}]}', TURNS) == (
        DrawnFact("", "tea", 0),
    )


def verdict(number: object, **more: object) -> dict[str, object]:
    return {"n": number, "kind": "stated", "alone": True, "fact": True, **more}


STATED = Verdict("stated", True, True)


@pytest.mark.parametrize(
    ("items", "read"),
    [
        ([verdict(1), verdict(2, kind="asked")], (STATED, Verdict("asked", True, True))),
        (
            [verdict(2, alone=False), verdict(1, fact=False)],
            (Verdict("stated", True, False), Verdict("stated", False, True)),
        ),
        ([{"n": 1, "kind": "stated"}, verdict(2, alone="no", fact=0)], (STATED, STATED)),
        ([verdict(1, kind="true"), verdict(2, kind=["stated"])], (None, None)),
    ],
)
def test_verdicts_are_read_in_the_order_of_the_quotes(items: list[object], read: tuple[Verdict | None, ...]) -> None:
    assert dialogues.verdicts(f"```json\n{json.dumps({'verdicts': items})}\n```", 2) == read
    assert dialogues.verdicts(json.dumps(items), 2) == read


@pytest.mark.parametrize(
    "items",
    [
        *([], [verdict(1)], [verdict(1), verdict(1)], [verdict(1), verdict(3)], [verdict(0), verdict(1)], "x"),
        *([verdict(1), verdict(2), verdict(3)], [verdict(1), verdict("2")], [verdict(1), verdict(True)]),
        [verdict(1), "2"],
    ],
)
def test_verdicts_with_other_numbers_are_none(items: object) -> None:
    with pytest.raises(ReplyError):
        dialogues.verdicts(json.dumps({"verdicts": items}), 2)


UNREADABLE = {
    "nothing": ("", "empty"),
    "blanks": (" \n\t\ufeff ", "empty"),
    "a refusal": ("I'm sorry, but I can't help with that.", "no JSON"),
    "a web page": ("<!DOCTYPE html><html><body>502</body></html>", "web page"),
    "a number": ("42", "no JSON"),
    "an empty object": ("{}", "no JSON object in it but an empty one"),
    "an empty object in a fence": ("```json\n{ }\n```", "but an empty one"),
    "another object": ('{"answer": "none"}', "no field"),
    "deep objects": ('{"a":' * 100_000, "nested too deeply"),
    "deep lists": ("{" + "[" * 100_000, "nested too deeply"),
    "deep and closed": ('{"facts":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "nul bytes": ("\0" * 1000, "no JSON"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_holds_no_answer_is_said_to_in_a_clause(name: str) -> None:
    text, why = UNREADABLE[name]
    with pytest.raises(ReplyError, match=why) as caught:
        dialogues.extraction(text, TURNS)
    assert len(str(caught.value)) < 100
    with pytest.raises(ReplyError):
        dialogues.ops(text, "tidy", {"lines": 1})


LONG = {
    "words": "I prefer tea. " * sized(4_000_000),
    "braces": "{ " * sized(20_000_000),
    "marks": '{"a": "' + 'x"y, ' * sized(200_000),
    "openings": "{" * 9 + "a" * sized(200_000),
    "fences": "```json\n" * sized(500_000),
    "quotes": '{"facts": [' + '"' * sized(1_000_000),
    "backslashes": '{"a":"' + "\\" * sized(1_000_000),
    "comments": "{" + "/*" * sized(500_000),
    "items": '{"facts": [' + "7," * sized(300_000) + "7]}",
    "lines of braces": "{a\n" * sized(400_000),
    "list marks": "1. " * sized(500_000),
    "quoted list": '- "a' * sized(300_000),
    "digits": '{"facts": [{"turn": ' + "9" * sized(900_000) + "}]}",
    "short strings": '{"facts": [' + '"a", ' * sized(100_000) + "]",
    "opened and closed": "{" + "[]" * sized(400_000),
    "half-closed": ("{[" * 7 + "]}" * 6) * sized(50_000),
}


@pytest.mark.timed
@pytest.mark.parametrize("name", LONG)
def test_a_long_answer_takes_no_long_time(name: str) -> None:
    with within(5), suppress(ReplyError):
        found = dialogues.extraction(LONG[name], TURNS)
        assert len(found) <= dialogues.MAX_FACTS


APPEND = {"op": "append", "candidates": [1], "lines": [], "section": 2, "text": "", "why": "new"}


def review(*ops: object, code: str = "") -> dialogues.Ops:
    return dialogues.ops(
        json.dumps({"for": "abc123", "ops": list(ops)}),
        "review",
        {"candidates": 3, "lines": 4, "sections": 2},
        code=code,
    )


@pytest.mark.parametrize(
    ("op", "read"),
    [
        (APPEND, ModelOp("append", (1,), (), 2, "", "new")),
        (APPEND | {"section": None}, ModelOp("append", (1,), (), 0, "", "new")),
        ({"op": "append", "candidate": 3}, ModelOp("append", (3,), (), 0, "", "")),
        ({"op": "append", "candidates": [2, 1, 2]}, ModelOp("append", (2, 1), (), 0, "", "")),
        ({"op": "same", "candidate": 1, "line": 4}, ModelOp("same", (1,), (4,), 0, "", "")),
        (
            {"op": "replace", "candidates": [1], "lines": [2], "text": "a\n- b", "why": "c\nd"},
            ModelOp("replace", (1,), (2,), 0, "a - b", "c d"),
        ),
        ({"op": "rule", "candidates": [1, 2], "text": "Be brief."}, ModelOp("rule", (1, 2), (), 0, "Be brief.", "")),
        ({"op": "skip", "candidates": [1]}, ModelOp("skip", (1,), (), 0, "", "")),
    ],
)
def test_ops_over_the_numbers_shown_are_read(op: dict[str, object], read: ModelOp) -> None:
    assert review(op, code="abc123") == dialogues.Ops((read,), ())


@pytest.mark.parametrize(
    "op",
    [
        {"op": "delete", "lines": [1]},
        {"op": "remove", "lines": [1]},
        {"op": "remove_section", "section": 1},
        {"op": ["append"], "candidates": [1]},
        {"op": "merge", "lines": [1, 2], "text": "x"},
        {"op": None},
        "append 1",
        7,
        None,
        ["append", 1],
        APPEND | {"candidates": [4]},
        APPEND | {"candidates": [0]},
        APPEND | {"candidates": [-1]},
        APPEND | {"candidates": []},
        APPEND | {"candidates": ["1"]},
        APPEND | {"candidates": [True]},
        APPEND | {"candidates": [1.0]},
        APPEND | {"candidates": [[1]]},
        APPEND | {"candidates": {"1": 1}},
        APPEND | {"candidates": list(range(1, 300))},
        APPEND | {"candidates": [10**30]},
        APPEND | {"lines": [1]},
        APPEND | {"section": 3},
        APPEND | {"section": -1},
        APPEND | {"section": "Procedural.md"},
        APPEND | {"section": True},
        APPEND | {"text": "x" * 501},
        APPEND | {"text": ["x"]},
        APPEND | {"why": 7},
        {"op": "replace", "candidates": [1], "lines": []},
        {"op": "replace", "candidates": [1], "lines": [1, 2]},
        {"op": "replace", "candidates": [1], "lines": [5]},
        {"op": "replace", "candidates": [], "lines": [1], "text": "x"},
        {"op": "rule", "candidates": [1], "text": " "},
        {"op": "rule", "candidates": [], "text": "Obey."},
    ],
)
def test_anything_else_is_rejected_and_does_not_stop_the_others(op: object) -> None:
    found = review(op, APPEND)
    assert found.ops == (ModelOp("append", (1,), (), 2, "", "new"),)
    assert len(found.rejected) == 1


@pytest.mark.parametrize(
    ("op", "good"),
    [
        ({"op": "repeat", "lines": [1, 2]}, True),
        ({"op": "conflict", "lines": [2, 1]}, True),
        ({"op": "stale", "lines": [1]}, True),
        ({"op": "merge", "lines": [1, 2], "text": "both"}, False),
        ({"op": "repeat", "lines": [1, 1]}, False),
        ({"op": "conflict", "lines": [1]}, False),
        ({"op": "stale", "lines": [1, 2]}, False),
        ({"op": "stale", "lines": [3]}, False),
        ({"op": "append", "candidates": [1]}, False),
        ({"op": "repeat", "lines": [1, 2], "candidates": [1]}, False),
    ],
)
def test_tidy_speaks_of_lines_alone(op: dict[str, object], good: bool) -> None:
    found = dialogues.ops(json.dumps({"ops": [op]}), "tidy", {"lines": 2})
    assert (len(found.ops), len(found.rejected)) == ((1, 0) if good else (0, 1))


@pytest.mark.parametrize("said", ["000000", None, 7, "abc123 "])
def test_an_answer_to_another_prompt_is_none(said: object) -> None:
    text = json.dumps({"for": said, "ops": []})
    if said == "abc123 ":
        assert dialogues.ops(text, "tidy", {"lines": 1}, code="abc123").ops == ()
    else:
        with pytest.raises(ReplyError, match="another prompt"):
            dialogues.ops(text, "tidy", {"lines": 1}, code="abc123")


def test_more_ops_than_allowed_are_counted() -> None:
    found = review(*[APPEND] * (dialogues.MAX_OPS + 5))
    assert (len(found.ops), len(found.rejected)) == (dialogues.MAX_OPS, 5)


def test_what_a_note_cannot_hold_is_replaced() -> None:
    found = review(APPEND | {"text": "a\ud800b"})
    assert found.ops[0].text == "a\ufffdb"


JSONISH = st.text(st.sampled_from('{}[]",:\\\n `json123factsops*-\'"'), max_size=200)
NAMES = ("facts", "ops", "text", "quote", "turn", "op", "lines", "for")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=examples(300))
@given(st.one_of(JSONISH, st.text(max_size=200), VALUES.map(json.dumps), VALUES.map(repr)))
def test_whatever_comes_it_is_an_answer_or_a_reply_error(text: str) -> None:
    for read in (
        lambda: dialogues.extraction(text, TURNS),
        lambda: dialogues.ops(text, "review", {"candidates": 2, "lines": 2, "sections": 1}),
        lambda: dialogues.ops(text, "tidy", {"lines": 2}),
    ):
        try:
            found = read()
        except ReplyError:
            continue
        if isinstance(found, dialogues.Ops):
            assert all(set(op.candidates) <= {1, 2} and set(op.lines) <= {1, 2} for op in found.ops)
        else:
            assert all(not fact.text and fact.turn in {0, *TURNS} for fact in found)


@pytest.mark.parametrize("facts", ['"x"', "7", "true", "[1, 2]", "[[]]", '{"a": 1}'])
def test_facts_that_are_no_list_of_facts_are_no_answer(facts: str) -> None:
    with pytest.raises(dialogues.ReplyError, match="'facts' is not a list of objects"):
        dialogues.extraction(f'{{"facts": {facts}}}', {1})


@pytest.mark.parametrize("facts", ["[]", "null", "{}", '""'])
def test_no_facts_are_an_answer(facts: str) -> None:
    assert dialogues.extraction(f'{{"facts": {facts}}}', {1}) == ()
