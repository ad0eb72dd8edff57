"""What a model points at is kept only as far as it was said: in the person's own words, and in no others."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.capture.turns import Turn
from tars_memory.curation.models import grounding
from tars_memory.curation.proposals import DrawnFact, Refer
from tars_memory.vault.markdown.facts import claim_line, claim_of

TALK = [
    Turn(1, "system", "system", "The user lives in Atlantis."),
    Turn(
        2,
        "user",
        "user",
        "I live in Cork, and I don't eat meat. A log:\n\n```\nI own a yacht\n```\n> I like gin",
    ),
    Turn(3, "tool", "tool", "The user owns 12 cars."),
    Turn(4, "assistant", "assistant", "You own a boat. Let's go with Postgres, then."),
    Turn(5, "user", "user", "Yes, good. My flight to Lisbon is on 15 October;\nseat 12A. My sister Ruth drives me."),
    Turn(6, "assistant", "assistant", "Shall we leave at 9? Let's take the train."),
    Turn(7, "user", "user", "No. Tea"),
    Turn(8, "user", "user", "She hates it there. Do you know why I dislike eels?"),
    Turn(9, "user", "user", 'My boss there said "I like gravel". The exam is tomorrow.'),
    Turn(10, "user", "user", "我对花生过敏，他住在上海。"),
]
DAYS = {turn.number: date(2026, 11, 20) for turn in TALK}
EXAMINED = {2, 4, 5, 6, 7, 8, 9, 10}


def pointed(quote: str, turn: int, *refers: Refer, kind: str = "fact", **more: object) -> DrawnFact | str:
    """What becomes of a quote, or why it is dropped."""
    fact = DrawnFact("whatever a model writes", quote, turn, kind, refers=refers)._replace(**more)  # type: ignore[arg-type]
    found, dropped = grounding.ground([fact], TALK, EXAMINED, DAYS)
    return found[0] if found else next(iter(dropped))


def text(quote: str, turn: int, *refers: Refer) -> str:
    found = pointed(quote, turn, *refers)
    return found if isinstance(found, str) else found.text


@pytest.mark.parametrize(
    ("quote", "turn", "kept"),
    [
        ("I live in Cork", 2, "I live in Cork"),
        ("15  October;\n| seat\t12A.", 2, "15 October; seat 12A"),
        ("eat meat", 2, "eat meat"),
        ("like eels", 8, "dislike eels"),
        ("t eat meat", 2, "don't eat meat"),
        ("The exam is tomorrow.", 9, "The exam is on 2026-11-21"),
        ("对花生过敏", 10, "对花生过敏"),
        ("他住在上海。", 10, "他住在上海"),
        ("I don’t eat meat", 2, "I don't eat meat"),
        ("My boss there said “I like gravel”", 9, 'My boss there said "I like gravel'),
    ],
)
def test_the_words_are_those_of_the_quote(quote: str, turn: int, kept: str) -> None:
    assert text(quote, turn) == kept


@pytest.mark.parametrize(
    ("quote", "turn", "why"),
    [
        ("", 2, grounding.NO_QUOTE),
        ("Cork", 2, grounding.NO_QUOTE),
        ("花", 10, grounding.NO_QUOTE),
        ("I live in cork", 2, grounding.NOT_SAID),
        ("The user lives in Atlantis.", 1, grounding.NOT_SAID),
        ("The user owns 12 cars.", 3, grounding.NOT_SAID),
        ("You own a boat.", 4, grounding.NOT_OWN),
        ("I own a yacht", 2, grounding.NOT_OWN),
        ("I like gin", 2, grounding.NOT_OWN),
    ],
)
def test_what_is_nobodys_own_word_is_dropped(quote: str, turn: int, why: str) -> None:
    assert pointed(quote, turn) == why


def test_what_the_model_proposed_is_not_the_persons_own_words() -> None:
    assert pointed("Let's go with Postgres", 4, kind="decision") == grounding.NOT_OWN


def test_turns_that_are_only_context_give_no_facts() -> None:
    _, dropped = grounding.ground([DrawnFact("", "I live in Cork", 2)], TALK, {5, 6, 7}, DAYS)
    assert dropped == {grounding.NOT_OWN: 1}


def test_all_that_was_said_may_be_a_single_word() -> None:
    talk = [Turn(1, "user", "user", "Tea!")]
    assert grounding.ground([DrawnFact("Tea", "Tea", 1)], talk, {1}, {1: DAYS[2]})[0]


@pytest.mark.parametrize(
    ("quote", "turn", "refers", "kept"),
    [
        ("She hates it there", 8, [("She", "Ruth"), ("there", "Lisbon")], "She [Ruth] hates it there [Lisbon]"),
        ("She hates it there", 8, [("She", "my sister Ruth")], "She [my sister Ruth] hates it there"),
        ("He hates it there", 8, [("She", "Ruth")], grounding.NOT_SAID),
        ("She hates it there", 8, [("She", "a boat")], "She hates it there"),
        ("She hates it there", 8, [("She", "Lis")], "She hates it there"),
        ("She hates it there", 8, [("She", "gin")], "She hates it there"),
        ("She hates it there", 8, [("he", "Ruth")], "She hates it there"),
        ("She hates it there", 8, [("She", "Ruth"), ("She", "Lisbon")], "She [Ruth] hates it there"),
        ("She hates it there", 8, [("She", "it")], "She hates it there"),
        ("她住在上海", 10, [("她", "花生")], grounding.NOT_SAID),
        ("他住在上海", 10, [("他", "花生")], "他 [花生]住在上海"),
        ("他住在上海", 10, [("他", "Ruth")], "他 [Ruth]住在上海"),
    ],
)
def test_brackets_hold_only_the_persons_words_nearby(
    quote: str, turn: int, refers: list[tuple[str, str]], kept: str
) -> None:
    assert text(quote, turn, *(Refer(*each) for each in refers)) == kept


def test_what_was_said_more_than_ten_turns_before_is_not_near() -> None:
    talk = [Turn(1, "user", "user", "Ruth is here."), *(Turn(n, "user", "user", "So it goes.") for n in range(2, 13))]
    for number, near in ((11, True), (12, False)):
        talk[number - 1] = Turn(number, "user", "user", "She likes tea.")
        fact = DrawnFact("", "She likes tea", number, refers=(Refer("She", "Ruth", 1),))
        (found,) = grounding.ground([fact], talk, {number}, dict.fromkeys(range(1, 14), DAYS[2]))[0]
        assert ("[Ruth]" in found.text) is near


@pytest.mark.parametrize(
    ("quote", "turn", "said", "kept"),
    [
        ("I live in Cork", 2, ("me", "lives in", "Cork"), "me › lives in:: Cork"),
        ("I live in Cork", 2, ("the user", "lives in", "cork"), "me › lives in:: Cork"),
        ("I live in Cork", 2, ("me", "lives in", "Galway"), ""),
        ("I live in Cork", 2, ("me", "lives in", "Cor"), ""),
        ("I live in Cork", 2, ("Eve", "lives in", "Cork"), ""),
        ("I live in Cork", 2, ("me", "is somebody who lives for now in", "Cork"), ""),
        ("My sister Ruth drives me", 5, ("me", "sister", "Ruth"), "me › sister:: Ruth"),
        ("My sister Ruth drives me", 5, ("Ruth", "drives", "me"), "Ruth › drives:: me"),
        ("My flight to Lisbon is on 15 October", 5, ("me", "flies to", "Lisbon", "2026-10-15"), "2026-10-15"),
        ("My flight to Lisbon is on 15 October", 5, ("me", "flies to", "Lisbon", "2026-10-16"), "Lisbon"),
        ("The exam is tomorrow", 9, ("me", "has", "The exam", "2026-11-21"), "2026-11-21"),
        ("他住在上海", 10, ("他", "lives in", "上海"), "他 › lives in:: 上海"),
    ],
)
def test_a_fact_counts_as_far_as_its_value_was_said(quote: str, turn: int, said: tuple[str, ...], kept: str) -> None:
    since = date.fromisoformat(said[3]) if len(said) > 3 else None
    found = pointed(quote, turn, claim=claim_of(said[0], said[1], said[2], since))
    assert isinstance(found, DrawnFact)
    claim = claim_line(found.claim) if found.claim else ""
    assert claim.rstrip("]").endswith(kept) if kept else not claim
    assert found.text.startswith(quote[:10])


def test_a_value_may_stand_in_the_brackets_alone() -> None:
    said = claim_of("me", "hates", "Lisbon")
    assert isinstance(alone := pointed("She hates it there", 8, claim=said), DrawnFact)
    assert alone.claim is None
    assert isinstance(named := pointed("She hates it there", 8, Refer("there", "Lisbon"), claim=said), DrawnFact)
    assert named.claim == said


@pytest.mark.parametrize(
    ("quote", "turn", "warnings"),
    [
        ("I live in Cork", 2, ()),
        ("I dislike eels", 8, (grounding.ASKS,)),
        ("Do you know why I dislike eels?", 8, (grounding.ASKS,)),
        ("I like gravel", 9, (grounding.QUOTES,)),
        ('My boss there said "I like', 9, (grounding.QUOTES,)),
    ],
)
def test_marks_of_questions_and_quotes_are_warned_of(quote: str, turn: int, warnings: tuple[str, ...]) -> None:
    found = pointed(quote, turn)
    assert isinstance(found, DrawnFact)
    assert found.warnings == warnings


def test_where_several_speak_each_is_named() -> None:
    talk = [Turn(1, "user", "Ben", "I live in Cork."), Turn(2, "user", "Ida", "I live in Oslo.")]
    said = claim_of("me", "lives in", "Oslo")
    fact = DrawnFact("", "I live in Oslo", 2, claim=said)
    (found,) = grounding.ground([fact], talk, {1, 2}, {1: DAYS[2], 2: DAYS[2]}, named=True)[0]
    assert found.text == "Ida: I live in Oslo"
    assert found.claim == claim_of("Ida", "lives in", "Oslo")


words = st.text(st.sampled_from("aeiou  .,'\"`>|\n12ICork[]花生"), max_size=40)


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.builds(
            DrawnFact,
            words,
            words,
            st.integers(-1, 9),
            st.sampled_from(["fact", "decision", "x"]),
            refers=st.lists(st.builds(Refer, words, words), max_size=2).map(tuple),
        )
    ),
    words,
)
def test_whatever_a_model_says_all_that_is_kept_was_said_by_the_person(facts: list[DrawnFact], said: str) -> None:
    talk = [Turn(1, "user", "user", said or "-"), Turn(2, "assistant", "a", "no"), Turn(3, "tool", "t", said or "-")]
    found, dropped = grounding.ground(facts, talk, {1}, DAYS | {1: DAYS[2]})
    assert len(facts) == len(found) + sum(dropped.values())
    for fact in found:
        assert fact.turn == 1
        assert fact.quote
        assert fact.quote in grounding.folded(said)
        assert not {*fact.text} - {*grounding.folded(said), *"[] "}
