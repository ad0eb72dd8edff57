"""Properties of the front matter as answers: found by their words, cited by their lines, no noise before text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recalled import Recalled

from tars_memory.memory import Memory
from tars_memory.testing import make_vault

pytestmark = pytest.mark.usefixtures("proved_engine")

PEOPLE: dict[str, str | bytes] = {
    "people/Anna.md": (
        "---\nbirthday: 30 October\nlikes:\n  - chess\n  - oolong\nwifi password: hunter2-Xk93pq\n---\n"
        "# Anna\n\nFrom Cork.\n"
    ),
    "people/Bob.md": "---\nemployer: ACME\nbirthday: 1 May\n---\n# Bob\n\nPlays chess.\n",
    "Tea.md": "# Tea\n\nGreen tea at 70 degrees, a birthday gift.\n",
}


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Recalled]:
    recalled = Recalled(tmp_path, PEOPLE)
    yield recalled
    recalled.close()


def first(recalled: Recalled, text: str, mode: str) -> tuple[str, int, str]:
    hit = recalled.search(text, mode).hits[0]
    return (hit.path, *hit.best_line)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_property_is_found_by_its_words_and_cited_by_its_line(people: Recalled, mode: str) -> None:
    assert first(people, "Anna birthday", mode) == ("people/Anna.md", 2, "birthday: 30 October")
    assert first(people, "when is Bob's birthday?", mode) == ("people/Bob.md", 3, "birthday: 1 May")
    assert first(people, "ACME", mode) == ("people/Bob.md", 2, "employer: ACME")
    assert first(people, "30 October", mode) == ("people/Anna.md", 2, "birthday: 30 October")
    assert {hit.best_line for hit in people.search("Bob", "lexical").hits} == {(7, "Plays chess.")}


def test_a_list_is_shown_below_its_key_and_other_properties_are_not(people: Recalled) -> None:
    assert people.found("what Anna likes")[0].endswith("likes:\n  - chess\n  - oolong")
    assert [hit.best_line for hit in people.search("birthday", "lexical").hits if hit.path == "people/Bob.md"] == [
        (3, "birthday: 1 May")
    ]


def test_a_credential_in_a_property_is_masked(people: Recalled) -> None:
    assert people.found("wifi password of Anna")[0].count("hunter2") == 0
    assert not people.search("hunter2", "lexical").hits


def test_a_prompt_is_given_properties(tmp_path: Path) -> None:
    with Memory(make_vault(tmp_path / "vault", PEOPLE)) as memory:
        text = memory.context("when is Anna's birthday?").text
    assert "people/Anna.md:2\nbirthday: 30 October" in text


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_property_that_many_notes_share_is_no_answer(tmp_path: Path, mode: str) -> None:
    front = "---\nstatus: draft\nauthor: Kim"
    notes = {f"n{n}.md": f"{front} {n}\n---\nThe river is {n} miles long.\n" for n in range(400)}
    recalled = Recalled(tmp_path, {**notes, "Novel.md": "The draft is due, says the author of the atlas.\n"})
    for text in ("draft", "author", "draft by the author"):
        assert recalled.search(text, mode).hits[0].path == "Novel.md", text
    assert not recalled.search("status", "lexical").hits
    assert first(recalled, "author Kim 399", mode) == ("n399.md", 3, "author: Kim 399")
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_property_that_a_few_of_many_notes_share_is_found_in_each(tmp_path: Path, mode: str) -> None:
    employers = ["ACME", *(f"Firm {n}" for n in range(11))]
    front = "---\ntype: person\nemployer: {}\nlikes:\n  - {}\n---\nMet at fair {}.\n"
    games = ["chess", "poker", "darts", "golf", "judo", "polo", "rugby", "squash", "snooker", "bowls", "go", "fencing"]
    notes = {f"n{n}.md": front.format(employers[n % 12], games[n % 12], n) for n in range(60)}
    recalled = Recalled(tmp_path, notes)
    for text, line in (("employer ACME", "employer: ACME"), ("who likes chess", "- chess")):
        hits = recalled.search(text, mode).hits
        assert {hit.path for hit in hits[:5]} == {f"n{n}.md" for n in range(0, 60, 12)}
        assert {hit.best_line[1] for hit in hits[:5]} == {line}
    assert not recalled.search("person", "lexical").hits
    recalled.close()


def test_text_that_becomes_a_property_is_no_longer_shown_as_text(tmp_path: Path) -> None:
    """Its row stays, for its words do; what the line is is part of the row."""
    recalled = Recalled(tmp_path, {"Anna.md": "likes: tea\n\n---\n"})
    (recalled.root / "Anna.md").write_text("---\nlikes: tea\n---\n")
    recalled.index.refresh()
    assert recalled.index.verify() == []
    recalled.close()
