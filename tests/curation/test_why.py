"""A line's way back to the sentence that was said, whatever has happened to the notes since."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from curation.deciding import DAILY, DAY, MEMORY, Desk, accept
from tars_memory.capture.amend import edit
from tars_memory.curation.commit import commit
from tars_memory.curation.why import Trace, Trail, why
from tars_memory.errors import AmbiguousError, NotFoundError
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.transaction import Plan

SESSION = """---
date: 2026-11-20
source: chat.jsonl
source_hash: abc
tags: [session]
---
# Moving

## Facts
- Anna lives in Cork ([[2026-11-20#^d-cork|2026-11-20]])
  - quote:: "we moved to Cork last week, by the way"
  - said by:: Anna, turn 31
- likes hiking ([[2026-11-20#^d-hike|2026-11-20]])
  - said by:: user
"""
SESSION_PATH = "sessions/2026-11-20 1430 Moving.md"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    with desk.ctx("cron", interactive=False).store.transaction("extract") as transaction:
        transaction.write(DAY, add(DAILY.encode()))
        transaction.write(SESSION_PATH, add(SESSION.encode()))
    desk.put("Memory.md", MEMORY)
    with desk.ctx().store.transaction("feedback") as transaction:
        transaction.write(
            "corrections.md", add(b"## Feedback\n- 2026-11-19 10:00 use miles, not km\n  - answer:: 12 km\n")
        )
    return desk


def add(text: bytes) -> Plan:
    return lambda data: [Splice(len(data or b""), len(data or b""), text)]


def kinds(trail: Trail) -> list[str]:
    return [step.kind for step in trail.chain]


def step(trail: Trail, kind: str) -> Trace:
    return next(step for step in trail.chain if step.kind == kind)


def promoted(desk: Desk) -> str:
    done = commit(desk.ctx(), accept(desk.promote("lives in Cork", replaces="lives in Berlin")))
    assert done.txn
    return done.txn


def test_the_whole_way(desk: Desk) -> None:
    txn = promoted(desk)
    trail = why(desk.ctx(), "Anna lives in Cork ")
    assert (trail.path, trail.line, trail.text) == ("Memory.md", 4, "Anna lives in Cork")
    assert kinds(trail) == ["approved", "candidate", "replaced", "written", "said"]
    approved = step(trail, "approved")
    assert (approved.actor, approved.txn, approved.date[:10]) == ("person", txn, "2026-11-21")
    candidate = step(trail, "candidate")
    assert (candidate.path, candidate.line, candidate.date) == (DAY, 5, "2026-11-20")
    replaced = step(trail, "replaced")
    assert (replaced.text, replaced.date, replaced.line) == ("Anna lives in Berlin", "2026-10-01", 6)
    assert (step(trail, "written").actor, step(trail, "written").text) == ("cron", "written by cron (extract)")
    said = step(trail, "said")
    assert said == Trace(
        "said",
        "Anna lives in Cork",
        SESSION_PATH,
        10,
        "2026-11-20",
        speaker="Anna",
        quote="we moved to Cork last week, by the way",
        turn=31,
    )
    told = trail._asdict()
    assert list(told) == ["ref", "text", "path", "line", "author", "chain"]
    known = {"kind", "path", "line", "text", "date", "speaker", "quote", "actor", "txn", "author"}
    assert known <= set(told["chain"][0]._fields)


def test_words_that_only_a_line_and_its_own_trail_hold(desk: Desk) -> None:
    promoted(desk)
    assert why(desk.ctx(), "lives in cork").path == "Memory.md"
    desk.put("2026-11-19.md", "- 10:00 Ben lives in Cork\n")
    with pytest.raises(AmbiguousError):
        why(desk.ctx(), "lives in cork")
    assert why(desk.ctx(), "anna  lives in Cork").path == "Memory.md"


def test_from_the_candidate_both_ways(desk: Desk) -> None:
    promoted(desk)
    (desk.root / SESSION_PATH).rename(desk.root / "sessions/renamed.md")
    trail = why(desk.ctx(), desk.entry(DAY, "Anna lives in Cork").ref)
    assert kinds(trail) == ["approved", "written", "replaced", "promoted", "said"]
    assert (step(trail, "promoted").path, step(trail, "promoted").line) == ("Memory.md", 4)
    assert step(trail, "said").path == "sessions/renamed.md"


def test_after_archiving(desk: Desk) -> None:
    promoted(desk)
    (desk.root / "archive").mkdir()
    (desk.root / DAY).rename(desk.root / "archive" / DAY)
    trail = why(desk.ctx(), desk.entry("Memory.md", "Cork").ref)
    assert kinds(trail) == ["approved", "candidate", "replaced", "written", "said"]
    assert step(trail, "candidate").path == f"archive/{DAY}"
    assert step(trail, "candidate").date == "2026-11-20"


def test_after_undo_the_old_line_says_where_it_is_from(desk: Desk) -> None:
    desk.ctx().store.undo(promoted(desk))
    trail = why(desk.ctx(), "Anna lives in Berlin")
    assert kinds(trail) == ["unknown", "end"]
    assert "2026-10-01" in step(trail, "end").text
    assert why(desk.ctx(), desk.entry(DAY, "Cork").ref).chain[0].actor == "cron"
    with pytest.raises(NotFoundError):
        why(desk.ctx(), "replaced:: Anna lives in Berlin")


def test_reworded_by_hand_and_by_the_program(desk: Desk) -> None:
    promoted(desk)
    desk.put("Memory.md", desk.get("Memory.md").replace("lives in Cork", "lives in Cork City"))
    trail = why(desk.ctx(), "Anna lives in Cork City")
    assert kinds(trail)[:3] == ["reworded", "approved", "candidate"]
    edit(desk.ctx(), "Anna lives in Cork City", "Anna lives in Cobh")
    trail = why(desk.ctx(), "Anna lives in Cobh")
    assert kinds(trail)[:3] == ["written", "approved", "candidate"]
    assert step(trail, "written").text == "written by person (edit)"


def test_a_rule_from_a_correction(desk: Desk) -> None:
    commit(desk.ctx(), accept(desk.rule()))
    trail = why(desk.ctx(), "Use miles, not km.")
    assert kinds(trail) == ["approved", "candidate", "written", "end"]
    assert step(trail, "candidate").quote == "answer:: 12 km"
    assert step(trail, "candidate").date == "2026-11-19"
    assert step(trail, "written").text == "written by person (feedback)"


def test_a_line_from_the_inbox(desk: Desk) -> None:
    commit(desk.ctx(), accept(desk.kept(why="agent gave this rule without a person at a terminal")))
    trail = why(desk.ctx(), "from the inbox")
    assert kinds(trail) == ["approved", "proposed"]
    proposed = step(trail, "proposed")
    assert (proposed.actor, proposed.date) == ("agent", "2026-11-20")
    assert "without a person" in proposed.text


def test_a_typed_line_and_one_that_nobody_knows(desk: Desk) -> None:
    with desk.ctx().store.transaction("remember") as transaction:
        transaction.write("Memory.md", add(b"- typed\n"))
    assert kinds(why(desk.ctx(), "typed")) == ["written"]
    trail = why(desk.ctx(), "prefers tea")
    assert kinds(trail) == ["end"]
    assert "by hand" in trail.chain[0].text


def test_where_the_trail_ends(desk: Desk) -> None:
    promoted(desk)
    ref = desk.entry("Memory.md", "Cork").ref
    (desk.root / SESSION_PATH).unlink()
    assert "session" in why(desk.ctx(), ref).chain[-1].text
    desk.put(DAY, desk.get(DAY).replace(" ^d-cork", ""))
    assert why(desk.ctx(), ref).chain[-1].text == f"{DAY} no longer has a line ^d-cork"
    (desk.root / DAY).unlink()
    assert why(desk.ctx(), ref).chain[-1].text == "the note 2026-11-20 that it came from is gone"


def test_years_later(desk: Desk) -> None:
    txn = promoted(desk)
    for month in range(9):
        desk.now += timedelta(days=31)
        with desk.ctx().store.transaction("log") as transaction:
            transaction.write(f"later {month}.md", add(b"- later\n"))
    trail = why(desk.ctx(), desk.entry("Memory.md", "Cork").ref)
    assert kinds(trail) == ["approved", "candidate", "replaced", "said"]
    assert step(trail, "approved").txn == txn
