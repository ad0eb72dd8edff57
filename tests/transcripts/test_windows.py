"""Windows: every turn of the person and of the model is examined exactly once, its tail included."""

from __future__ import annotations

import itertools

import pytest
from conversations import talk
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.capture.turns import Turn
from tars_memory.curation.models.grounding import LABEL, LEAST, TurnWindow, windows
from tars_memory.recall.packing import characters
from tars_memory.vault.model import Role

ROLES: list[Role] = ["user", "assistant", "tool", "system"]

texts = st.one_of(
    st.text(min_size=1, max_size=300),
    st.text(alphabet="ab. \n。!?é", min_size=1, max_size=3_000),
    st.integers(1, 5_000).map(lambda size: "x" * size),
)
conversations = st.lists(st.tuples(st.sampled_from(ROLES), texts), max_size=40).map(
    lambda said: [Turn(number, role, role, text) for number, (role, text) in enumerate(said, 1)]
)


def spoken(count: int) -> list[Turn]:
    return [Turn(number, one.role, one.role, one.text) for number, one in enumerate(talk(count), 1)]  # type: ignore[arg-type]


def size_of(window: TurnWindow) -> int:
    return sum(len(turn.text) + LABEL for turn in window.turns)


def context_of(window: TurnWindow) -> list[int]:
    return [turn.number for turn in window.turns if turn.number not in window.examined]


@settings(max_examples=examples(300))
@given(conversations, st.integers(0, 2_000), st.integers(0, 45), st.integers(0, 4))
def test_every_turn_is_examined_exactly_once(turns: list[Turn], size: int, after: int, overlap: int) -> None:
    made = list(windows(turns, size, range(after + 1, 99), overlap=overlap))
    wanted = {turn.number: turn for turn in turns if turn.role in ("user", "assistant") and turn.number > after}
    parts: dict[int, str] = {}
    for window in made:
        assert size_of(window) <= characters(max(size, LEAST))
        numbers = [turn.number for turn in window.turns]
        assert numbers == sorted(numbers)
        shown = context_of(window)
        assert numbers[: len(shown)] == shown
        assert len(shown) <= overlap
        for turn in window.turns:
            if turn.number in shown:
                assert turns[turn.number - 1].text.endswith(turn.text)
            else:
                assert turn.text
                parts[turn.number] = parts.get(turn.number, "") + turn.text
    assert parts == {number: turn.text for number, turn in wanted.items()}
    assert list(dict.fromkeys(number for window in made for number in window.examined)) == [*wanted]


def test_the_last_two_of_thirty_two_turns_are_examined() -> None:
    made = list(windows(spoken(32), 200, range(99)))
    assert len(made) > 2
    assert made[-1].examined[-2:] == (31, 32)
    assert sum(len(window.examined) for window in made) == 32


def test_each_window_shows_the_turns_before_it_as_context() -> None:
    made = list(windows(spoken(32), 200, range(99)))
    assert not context_of(made[0])
    for before, window in itertools.pairwise(made):
        assert context_of(window) == list(before.examined[-2:])


def test_a_grown_conversation_examines_only_what_is_new() -> None:
    made = list(windows(spoken(36), 5_000, range(33, 99)))
    assert [window.examined for window in made] == [(33, 34, 35, 36)]
    assert context_of(made[0]) == [31, 32]
    assert list(windows(spoken(32), 5_000, range(33, 99))) == []


def test_a_turn_that_is_too_large_is_cut_at_lines_then_sentences() -> None:
    lines = "".join(f"line {number} of many words\n" for number in range(200))
    made = list(windows([Turn(1, "user", "user", lines)], 300, {1}))
    assert len(made) > 3
    assert all(window.turns[-1].text.endswith("\n") for window in made)
    sentences = "".join(f"Sentence {number} says this. " for number in range(200))
    made = list(windows([Turn(1, "user", "user", sentences)], 300, {1}))
    assert all(window.turns[-1].text.rstrip().endswith(".") for window in made)


def test_tool_output_and_instructions_are_in_no_window() -> None:
    turns = [Turn(1, "system", "system", "poison"), Turn(2, "user", "Anna", "hi"), Turn(3, "tool", "grep", "poison")]
    assert [[turn.text for turn in window.turns] for window in windows(turns, 500, {2, 3})] == [["hi"]]


@pytest.mark.parametrize("text", ["x" * 2_000_000, "a. " * 700_000, "\n" * 500_000 + "x", "é" * 1_000_000])
def test_one_vast_turn_is_cut_in_a_moment(text: str) -> None:
    made = list(windows([Turn(1, "user", "user", text)], 4_000, {1}))
    assert "".join(turn.text for window in made for turn in window.turns) == text
