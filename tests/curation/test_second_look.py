"""The second look: verdicts take rights away, and no others; what is left out can be had back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import conversations as logs
import pytest

from curation.extracting import House, claims, dialogue, scripted, texts, verdicts
from tars_memory.curation import review
from tars_memory.curation.models import grounding
from tars_memory.curation.proposals import Proposal
from tars_memory.doors.cli.output import masked_value
from tars_memory.errors import ConflictError, ModelUnavailableError
from tars_memory.testing import ScriptedLLM

TALK = (
    "I moved to Cork in May.",
    "Nice. I moved to Mars.",
    "If I bought a boat, would I need a berth?",
    "Yes.",
    "Always answer in German. She hates it.",
    "Gut.",
    "Remember that the NAS backs up at 03:15.",
    "Noted.",
)
HELD = "## me\n- lives in:: Cork [since:: 2020-01-01]\n- lives in:: Bray [until:: 2019-01-01]\n"
POINTS = (("I moved to Cork", 1), ("I bought a boat", 3), ("Always answer in German", 5), ("She hates it", 5))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def claim(object_: str, predicate: str = "lives in", **more: str) -> dict[str, str]:
    return {"subject": "me", "predicate": predicate, "object": object_, "since": "", **more}


def pointing(*points: tuple[str, int], fact: dict[str, str] | None = None) -> str:
    return json.dumps({"facts": [{"quote": q, "turn": n, "kind": "fact", "fact": fact or {}} for q, n in points]})


def listed(house: House) -> dict[str, Proposal]:
    """What waits, by its words."""
    with house.memory(actor="person", interactive=True) as memory:
        return {each.text: each for each in memory.review().waiting(limit=0).proposals}


def out(house: House) -> dict[str, review.LeftOut]:
    with house.memory() as memory:
        return {each.fact.text: each for each in review.left_out(memory.workspace.capture(writes=False))}


def talked(house: House, model: Any, *said: str, **more: Any) -> Any:
    return house.extract(house.log(logs.chat_jsonl(dialogue(*(said or TALK)))), model=model, force=True, **more)


def test_what_is_stated_planned_or_a_rule_is_offered_and_the_rest_is_kept_in_the_session_note(house: House) -> None:
    model = scripted(claims(*POINTS), kinds=("stated", "supposed", "rule", "other", "stated"))
    done = talked(house, model, keep="facts")
    assert texts(done) == ["I moved to Cork", "Always answer in German", "The NAS backs up at 03:15"]
    assert done.sessions[0].left_out == {"supposed": 1, "other": 1}
    found = listed(house)
    assert {text: (each.target, each.kind, each.checked) for text, each in found.items()} == {
        "I moved to Cork": ("Memory.md", "stated", True),
        "Always answer in German": ("Procedural.md", "rule", True),
        "The NAS backs up at 03:15": ("Memory.md", "stated", True),
    }
    assert {text: each.fact.kind for text, each in out(house).items()} == {
        "I bought a boat": "supposed",
        "She hates it": "other",
    }
    assert (
        '## Left out\n\n- I bought a boat\n  - quote:: "I bought a boat"\n  - said by:: user, turn 3\n'
        in house.session()
    )
    assert "boat" not in house.daily()
    with house.memory() as memory:
        assert [hit.text for hit in memory.search("boat").hits if "bought" in hit.text] == []
        assert "boat" not in str(memory.context("do I have a boat?"))


def test_a_prompt_for_it_shows_each_quote_with_its_brackets_and_what_stood_beside_it(house: House) -> None:
    point = {
        "quote": "She hates it",
        "turn": 5,
        "refers": [{"span": "it", "to": "a boat", "turn": 3}],
        "fact": claim("a boat", "hates"),
    }
    model = scripted(json.dumps({"facts": [point]}))
    talked(house, model)
    shown = [json.loads(row[2:]) for row in model.prompts[-1].user.splitlines() if re.match(r"\d \{", row)]
    assert shown[0] == {
        "said": "She hates it [a boat]",
        "around": "Always answer in German. … .",
        "fact": ["me", "hates", "a boat", ""],
    }
    assert shown[1]["said"] == "Remember that the NAS backs up at 03:15."


@pytest.mark.parametrize(
    "answer",
    ["", "{}", "I can't say.", '{"verdicts": []}', '{"verdicts": [{"n": 1, "kind": "fiction"}]}', "refused"],
)
def test_no_answer_or_an_odd_one_costs_nothing(house: House, answer: str) -> None:
    def answers(prompt: Any) -> str:
        if prompt.job != "look":
            return claims(*POINTS)
        if answer == "refused":
            raise ModelUnavailableError("no", "no")
        return answer

    done = talked(house, ScriptedLLM(answers))
    assert len(texts(done)) == 5
    assert done.sessions[0].left_out == {}
    assert {(each.checked, each.kind) for each in listed(house).values()} == {(False, "")}
    assert any("5 candidates without a second look" in notice for notice in done.notices)


def test_forty_five_quotes_are_judged_twenty_at_a_time(house: House) -> None:
    said = [one for number in range(45) for one in (f"I own boat number {number}.", "Ah.")]
    model = scripted(claims(*((f"I own boat number {number}", 2 * number + 1) for number in range(45))))
    assert len(texts(talked(house, model, *said))) == 45
    sizes = [len(re.findall(r"^\d+ \{", prompt.user, re.MULTILINE)) for prompt in model.prompts]
    assert sizes == [0, 20, 20, 5]


def test_what_the_person_asked_for_is_never_left_out(house: House) -> None:
    """Neither by a verdict, nor by not pointing at it."""
    for number, points in enumerate(((), (("the NAS backs up at 03:15", 7),), (("the NAS", 7),))):
        (house.base / str(number)).mkdir()
        done = talked(House(house.base / str(number)), scripted(claims(*points), kinds=["task"] * 9))
        assert "the nas backs up at 03:15" in map(str.casefold, texts(done))
        assert {each.warnings for each in done.sessions[0].facts} == {(grounding.ASKED_FOR.format(kind="task"),)}


def test_warnings_go_with_the_proposal_into_review_md(house: House) -> None:
    model = ScriptedLLM(
        lambda prompt: verdicts(prompt, alone=False) if prompt.job == "look" else claims(("would I need a berth?", 3))
    )
    talked(house, model, *TALK[:4])
    (found,) = listed(house).values()
    assert found.warnings == (grounding.ASKS, grounding.NOT_ALONE)
    assert masked_value(found)["warnings"] == [*found.warnings]
    with house.memory(actor="person", interactive=True) as memory:
        memory.review().write_note()
    assert f"  - mind:: {grounding.ASKS}; {grounding.NOT_ALONE}\n" in (house.root / "Review.md").read_text()


@pytest.mark.parametrize(
    ("kind", "since", "holds", "kept", "warned"),
    [
        ("stated", "", True, "lives in:: Cork [since:: 2026-11-21]", False),
        ("stated", "", False, "I moved to Cork in May", True),
        ("planned", "", True, "I moved to Cork in May", False),
        ("planned", "2027-05-01", True, "lives in:: Cork [since:: 2027-05-01]", False),
        ("rule", "", True, "I moved to Cork in May", False),
    ],
)
def test_a_fact_goes_where_the_verdict_denies_it_or_nothing_says_from_when(
    house: House, kind: str, since: str, holds: bool, kept: str, warned: bool
) -> None:
    points = pointing(("I moved to Cork in May", 1), fact=claim("Cork", since=since))
    model = ScriptedLLM(lambda prompt: verdicts(prompt, kind, fact=holds) if prompt.job == "look" else points)
    talked(house, model, *TALK[:2])
    ((text, found),) = listed(house).items()
    assert text == kept
    assert (grounding.DENIED in found.warnings) is warned


def test_what_is_over_ends_a_fact_only_with_a_persons_word(house: House) -> None:
    (house.root / "Facts.md").write_text(HELD)
    for place, ends in (("Cork", True), ("Bray", False), ("Ennis", False)):
        said = f"I used to live in {place}."
        model = scripted(pointing((f"I used to live in {place}", 1), fact=claim(place)), kinds=("past",))
        log = house.log(logs.chat_jsonl(dialogue(said, "Ah.", place)), place)
        assert len(texts(house.extract(log, model=model, force=True))) == ends
    assert "until:: 2026" not in (house.root / "Facts.md").read_text()
    assert {each.fact.kind for each in out(house).values()} == {"past"}
    (found,) = listed(house).values()
    assert (found.op, found.target, found.kind) == ("replace", "Facts.md", "past")
    assert found.text == "lives in:: Cork [since:: 2020-01-01] [until:: 2026-11-21]"
    with house.memory(actor="person", interactive=True) as memory:
        memory.review().decide(accept=[found.id])
    with house.memory() as memory:
        assert [fact.object for fact in memory.facts() if fact.holds(memory.workspace.now.date())] == []
    assert "lives in:: Cork [since:: 2020-01-01] [until:: 2026-11-21]" in (house.root / "Facts.md").read_text()


def test_one_that_was_left_out_can_be_proposed_after_all(house: House) -> None:
    talked(house, scripted(claims(*POINTS), kinds=("stated", "supposed", "rule", "other")))
    before = house.files()
    one = out(house)["I bought a boat"]
    with house.memory() as memory, pytest.raises(ConflictError):
        review.offer_left_out(memory.workspace.capture(), [one.entry.ref, "aaaaaaaa"])
    with house.memory() as memory:
        review.offer_left_out(memory.workspace.capture(), [one.entry.ref])
    assert "I bought a boat" not in out(house)
    found = listed(house)["I bought a boat"]
    assert (found.quote, found.kind, found.checked) == ("I bought a boat", "stated", True)
    assert found.warnings == ("It was left out as: supposed",)
    assert "- 10:15 [extracted] I bought a boat ^d-" in house.daily()
    with house.memory() as memory:
        memory.undo()
    assert house.files() == before


def test_what_was_left_out_once_is_news_when_it_is_said_again(house: House) -> None:
    talked(house, scripted(claims(("I bought a boat", 3)), kinds=("supposed",)), *TALK[:4])
    done = talked(house, scripted(claims(("I bought a boat", 1))), "I bought a boat.", "Nice.")
    assert texts(done) == ["I bought a boat"]


def test_the_model_is_shown_what_is_known(house: House) -> None:
    (house.root / "Facts.md").write_text(HELD)
    model = scripted(claims())
    talked(house, model)
    assert "| me: lives in: Cork\n" in model.prompts[0].user
    assert "Bray" not in model.prompts[0].user
    assert re.search("^Known predicates: lives in, .*works at", model.prompts[0].user, re.MULTILINE)


def test_instructions_are_short(house: House) -> None:
    model = scripted(claims(*POINTS))
    talked(house, model)
    for prompt in model.prompts:
        assert len(prompt.system) <= 4 * 500


class TestCheck:
    def known(self, prompt: Any, wrong: int = 0) -> str:
        """The right answers, but for the first few."""
        said = [json.loads(row.partition(" ")[2])["said"] for row in prompt.user.splitlines() if row[:1].isdigit()]
        right = {one["said"]: one for one in grounding.known_lines()}
        bad = {one["said"] for one in grounding.known_lines()[:wrong]}
        found = [
            {
                "n": n,
                "kind": "task" if each in bad else right[each]["kind"],
                "alone": True,
                "fact": right[each]["holds"],
            }
            for n, each in enumerate(said, 1)
        ]
        return json.dumps({"verdicts": found})

    @pytest.mark.parametrize(("wrong", "passed"), [(0, True), (4, True), (5, False), (24, False)])
    def test_below_four_of_five_its_verdicts_do_not_count(self, house: House, wrong: int, passed: bool) -> None:
        model = ScriptedLLM(lambda prompt: self.known(prompt, wrong))
        with house.memory() as memory:
            assert grounding.checked_before(memory.workspace.settings, model) is None
            done = grounding.check_judge(memory.workspace.settings, model)
            assert grounding.checked_before(memory.workspace.settings, model) == grounding.Checked(
                "scripted", done.right, 24
            )
        assert (done.passed, len(done.wrong)) == (passed, 24 - done.right)
        judge = scripted(claims(*POINTS), kinds=["fiction"] * 9)
        told = talked(house, judge)
        assert told.sessions[0].left_out == ({"fiction": 4} if passed else {})
        assert any("second look" in notice for notice in told.notices) is not passed

    def test_its_lines_are_of_each_kind_and_can_be_read(self) -> None:
        assert len(grounding.known_lines()) == 24
        assert {one["kind"] for one in grounding.known_lines()} == {
            *grounding.OFFERED,
            "asked",
            "supposed",
            "past",
            "other",
            "fiction",
            "task",
        }
