"""Statements as facts over time: right ones, and above all no wrong ones; said in seven languages, or by a model."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest
from conversations import Said, claude_code

from curation.extracting import House
from curation.stated import FRESH, TUNED, labelled
from tars_memory.capture.turns import Turn
from tars_memory.curation.extraction.rules import claimed, stated
from tars_memory.curation.proposals import DrawnFact
from tars_memory.vault.markdown.facts import Claim, claim_in, claim_line, claim_of

DAY = date(2026, 11, 21)
SAID = datetime.fromisoformat("2026-11-21T10:00:00+00:00")


def outcome(house: House, rows: list[tuple[str, str]]) -> dict[str, list[str]]:
    """What the whole way from a log to the session's note makes of sentences, each a turn of its own."""
    said = []
    for number, (sentence, _) in enumerate(rows):
        said += [Said("user", sentence, SAID), Said("assistant", f"All right, number {number}.", SAID)]
    done = house.extract(house.log(claude_code(said)), force=True)
    told = {fact.turn: fact.claim for session in done.sessions for fact in session.facts if fact.claim}
    found: dict[str, list[str]] = {"right": [], "wrong": [], "missed": [], "none": []}
    for number, (sentence, label) in enumerate(rows):
        claim = told.get(2 * number + 1, "")
        kind = "none" if not claim and not label else "missed" if not claim else "right" if claim == label else "wrong"
        found[kind].append(f"{sentence} -> {claim}")
    return found


@pytest.mark.parametrize(("name", "text"), [("tuned", TUNED), ("fresh", FRESH)])
def test_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    rows = labelled(text)
    found = outcome(House(tmp_path), rows)
    right, wrong, missed = (len(found[kind]) for kind in ("right", "wrong", "missed"))
    with capsys.disabled():
        print(f"\n{name}: {len(rows)} sentences: {right} right, {wrong} wrong, {missed} missed", found["wrong"])
        print("missed:", found["missed"])
    assert right + wrong + missed + len(found["none"]) == len(rows) >= 60
    assert wrong == 0
    assert right >= 0.9 * (right + missed)


def claim(subject: str, predicate: str, object_: str, since: str = "") -> Claim:
    found = claim_of(subject, predicate, object_, date.fromisoformat(since) if since else None)
    assert found is not None
    return found


def test_what_several_people_say_is_about_each_of_them() -> None:
    turns = [
        Turn(number=1, role="user", speaker="Ben", text="I live in Cork.", time=None),
        Turn(number=2, role="user", speaker="Ida", text="I live in Oslo.", time=None),
    ]
    facts = [
        DrawnFact("Ben: I live in Cork", "I live in Cork.", 1),
        DrawnFact("Ida: I live in Oslo", "I live in Oslo.", 2),
    ]
    found = claimed(facts, turns, {1: DAY, 2: DAY})
    assert [claim_line(each.claim) for each in found if each.claim] == [
        "Ben › lives in:: Cork",
        "Ida › lives in:: Oslo",
    ]


@pytest.mark.parametrize(
    ("said", "since"),
    [
        ("I've lived in Cork since May", "2026-05-01"),
        ("I've lived in Cork since December", "2025-12-01"),
        ("I've lived in Cork since 3 May 2024", "2024-05-03"),
        ("I've lived in Cork since 2024-05-03", "2024-05-03"),
        ("I moved to Cork on the 3rd of May", "2026-05-03"),
        ("I moved to Cork on 30 February", None),
        ("I moved to Cork in 2030", None),
    ],
)
def test_since_when(said: str, since: str | None) -> None:
    found = stated(said, DAY)
    assert (found.since.isoformat() if found and found.since else None) == since
    assert (found is None) == (since is None)


def test_a_claim_is_read_as_it_was_written_and_holds_nothing_else() -> None:
    whole = claim("me", "lives in", "Cork", "2026-11-14")
    assert claim_in(claim_line(whole)) == whole
    assert claim_of("me", "lives:: in", "Cork") is None
    assert claim_of("a › b", "lives in", "Cork") is None
    assert claim_of("me", "lives in", "") is None
    assert claim_of("me", "lives in", "Cork [until:: 2026-01-01]") is None
    for line in ("", "me", "me › Cork", " › lives in:: Cork", "me › lives in::"):
        assert claim_in(line) is None
