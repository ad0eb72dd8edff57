"""Facts through the loop: what was said is offered as a fact, with what it would end; accepted, it is in Facts.md."""

from __future__ import annotations

import json
import random
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from conversations import Said, claude_code
from random_documents import seeded

from curation.extracting import House, claims, scripted
from tars_memory.curation.proposals import BESIDE, Proposal
from tars_memory.doors.cli.output import masked_value
from tars_memory.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
from tars_memory.memory import Memory
from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.document import Document

NOW = datetime.fromisoformat("2026-11-25T10:00:00+00:00")


class Desk(House):
    """A vault, what is said in it, and the review of it."""

    count = 0

    def say(self, *texts: str, day: str = "2026-11-21", **more: Any) -> Any:
        """A conversation of its own, extracted."""
        self.count += 1
        start = datetime.fromisoformat(f"{day}T10:00:00+00:00")
        said = [
            each
            for text in texts
            for each in (Said("user", text, start), Said("assistant", f"I see, {self.count}.", start))
        ]
        return self.extract(
            self.log(claude_code(said, f"talk-{self.count}"), f"{self.count}.jsonl"), force=True, **more
        )

    def person(self, **how: Any) -> Memory:
        return self.memory(now=NOW, **{"actor": "person", "interactive": True, **how})

    def offered(self, **how: Any) -> list[Proposal]:
        listed = self.person().review(**how).waiting(limit=0, expired=True).proposals
        return [one for each in listed for one in each.leaves]

    def the(self, words: str) -> Proposal:
        """The proposal with these words in it."""
        (found,) = [each for each in self.offered() if words in each.text]
        return found

    def decide(self, accept: str = "", **how: Any) -> Any:
        ids = [self.the(accept).id] if accept else []
        return self.person().review().decide(ids, **how)

    def facts(self) -> list[str]:
        return [line for line in self.note().split("\n") if line.startswith("- ")]

    def note(self, path: str = "Facts.md") -> str:
        try:
            return (self.root / path).read_bytes().decode()
        except FileNotFoundError:
            return ""

    def write(self, text: str, path: str = "Facts.md") -> None:
        (self.root / path).write_bytes(text.encode())

    def true(self, day: str) -> list[str]:
        """What is so on a day, told by the index, which a naive reading of the file must agree with."""
        when = date.fromisoformat(day)
        told = [f"{f.subject} {f.predicate} {f.object}" for f in self.person().facts(as_of=when)]
        read = [fact for _, fact in facts.read("Facts.md", Document(self.note().encode()))]
        assert sorted(told) == sorted(f"{f.subject} {f.predicate} {f.object}" for f in read if f.holds(when))
        return told


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


DUBLIN = "# Facts\n\n## me\n- lives in:: Dublin [since:: 2024-03-01]\n"


class TestOffered:
    def test_with_what_it_would_end(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        (found,) = desk.offered()
        assert (found.op, found.target, found.section) == ("fact", "Facts.md", "me")
        assert (found.text, found.quote) == ("lives in:: Cork [since:: 2026-11-21]", "I live in Cork now.")
        told = masked_value(found)["fact"]
        (end,) = told.pop("ends")
        assert told == {
            "subject": "me",
            "predicate": "lives in",
            "object": "Cork",
            "since": "2026-11-21",
            "until": None,
            "instead": {"target": "Memory.md", "section": "About me", "text": "I live in Cork now"},
        }
        assert (end["text"], end["since"]) == ("lives in:: Dublin [since:: 2024-03-01]", "2024-03-01")
        assert end["becomes"] == "lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]"
        assert (end["until"], end["path"], end["line"]) == ("2026-11-21", "Facts.md", 4)
        json.dumps(masked_value(found))

    def test_its_id_is_the_same_whichever_heading_the_person_has_by_now(self, desk: Desk) -> None:
        desk.say("I live in Cork now.")
        (before,) = desk.offered()
        desk.write("# Facts\n\n## I\n- likes:: tea\n")
        (after,) = desk.offered()
        assert (before.section, after.section) == ("me", "I")
        assert before.id == after.id

    def test_once_each_and_never_as_a_line_as_well(self, desk: Desk) -> None:
        desk.say("I live in Cork now.", "My manager is Dana since May.", "We use Postgres.", "I like hiking.")
        assert sorted((each.op, each.section, each.text) for each in desk.offered()) == [
            ("append", "Preferences", "I like hiking"),
            ("fact", "me", "lives in:: Cork [since:: 2026-11-21]"),
            ("fact", "me", "manager:: Dana [since:: 2026-05-01]"),
            ("fact", "we", "uses:: Postgres"),
        ]

    def test_the_same_in_other_words_and_from_other_days_is_one(self, desk: Desk) -> None:
        desk.say("I live in Cork.")
        desk.say("I'm living in Cork these days.", day="2026-11-23")
        (found,) = desk.offered()
        assert found.text == "lives in:: Cork [since:: 2026-11-21]"
        assert len(desk.candidates()) == 1

    def test_a_place_left_and_come_back_to(self, desk: Desk) -> None:
        for day, place in (("2026-11-19", "Cork"), ("2026-11-21", "Oslo"), ("2026-11-23", "Cork")):
            desk.say(f"I live in {place} now.", day=day)
        ids = [each.id for each in desk.offered()]
        assert len(ids) == 3
        desk.person().review().decide(ids)
        assert desk.true("2026-11-20") == ["me lives in Cork"]
        assert desk.true("2026-11-22") == ["me lives in Oslo"]
        assert desk.true("2026-11-24") == ["me lives in Cork"]

    def test_under_the_heading_that_means_the_person(self, desk: Desk) -> None:
        desk.write("## User\n- lives in:: Dublin\n")
        desk.say("I live in Cork now.")
        assert desk.the("Cork").section == "User"
        desk.decide("Cork")
        assert desk.facts()[0] == "- lives in:: Dublin [until:: 2026-11-21]"

    def test_known_facts_are_not_offered_again(self, desk: Desk) -> None:
        desk.write("## me\n- lives in:: Cork [since:: 2024-03-01]\n## we\n- uses:: Postgres\n")
        done = desk.say("I live in Cork now.", "We use Postgres.", "We use Redis.")
        assert done.sessions[0].dropped["known"] == 2
        assert [each.text for each in desk.offered()] == ["uses:: Redis"]

    def test_nor_what_was_rejected_in_whatever_words(self, desk: Desk) -> None:
        desk.say("I live in Cork now.")
        desk.person().review().decide(reject=[desk.the("Cork").id])
        assert "[rejected] I live in Cork now" in desk.daily()
        assert desk.say("I'm living in Cork.", day="2026-11-23").sessions[0].dropped["rejected"] == 1
        assert desk.offered() == []
        assert desk.note() == ""

    def test_near_repeats_are_offered_as_such(self, desk: Desk) -> None:
        desk.write(
            "## me\n- works as:: engineer [since:: 2024-03-01]\n- lives in:: Berlin [since:: 2024-03-01]\n"
            "- drinks:: tea\n"
        )
        model = scripted(
            claims(
                facts=[
                    answer("works as", "senior engineer", "I work as a senior engineer", 1),
                    answer("lives in", "Berlin Mitte", "I live in Berlin Mitte", 3),
                    answer("drinks", "no tea", "I drink no tea", 5),
                ],
            )
        )
        desk.say("I work as a senior engineer.", "I live in Berlin Mitte.", "I drink no tea.", model=model)
        why = {each.text.partition(" [")[0]: each.why for each in desk.offered()}
        assert why == {
            "works as:: senior engineer": "Ends “works as:: engineer” (since 2024-03-01) on 2026-11-21",
            "lives in:: Berlin Mitte": "Ends “lives in:: Berlin” (since 2024-03-01) on 2026-11-21",
            "drinks:: no tea": BESIDE,
        }
        assert [each.text for each in desk.the("no tea").conflicts] == ["drinks tea"]

    def test_a_line_of_memory_about_the_same_is_shown_beside_it(self, desk: Desk) -> None:
        desk.write("## About me\n- I work as an engineer\n", "Memory.md")
        desk.say("I work as a senior engineer.")
        (found,) = desk.offered()
        assert (found.op, found.target, found.replaces) == ("fact", "Facts.md", "")
        desk.write("## me\n- works as:: engineer\n")
        (found,) = desk.offered()
        assert (found.op, len(found.fact.ends if found.fact else ())) == ("fact", 1)
        (line,) = found.conflicts
        assert (line.path, line.text) == ("Memory.md", "I work as an engineer")
        desk.person().review().decide([found.id], replace={found.id: [line.ref]})
        assert "engineer" not in desk.note("Memory.md")
        assert "replaced:: I work as an engineer" in desk.daily()
        desk.person().undo()
        assert "- I work as an engineer\n" in desk.note("Memory.md")

    def test_a_fact_beside_a_line_says_whom_it_is_about(self, desk: Desk) -> None:
        desk.write("## Noémie\n- habite à:: Brest\n\n## me\n- habite à:: Nantes\n")
        desk.say("Retiens que j'habite à Quimper.")
        (found,) = desk.offered()
        assert {line.text for line in found.conflicts} == {"Noémie habite à Brest", "habite à Nantes"}

    def test_a_line_that_was_reworded_by_hand_is_read_anew(self, desk: Desk) -> None:
        desk.say("I live in Cork now.", "We use Postgres.")
        day = desk.daily().replace("I live in Cork now", "I live in Cobh now").replace("We use Postgres", "We love it")
        desk.write(day, "2026-11-21.md")
        assert sorted((each.op, each.text) for each in desk.offered()) == [
            ("append", "We love it"),
            ("fact", "lives in:: Cobh [since:: 2026-11-21]"),
        ]

    def test_what_begins_later_or_is_over_ends_nothing(self, desk: Desk) -> None:
        desk.write("## me\n- lives in:: Oslo [since:: 2026-06-01]\n")
        desk.say("I've lived in Cork since 2020.")
        found = desk.the("Cork")
        assert found.text == "lives in:: Cork [since:: 2020-01-01] [until:: 2026-06-01]"
        assert found.fact and not found.fact.ends
        assert "Back-dated" in found.why
        desk.decide("Cork")
        assert desk.true("2026-11-25") == ["me lives in Oslo"]


def answer(predicate: str, object_: str, quote: str, turn: int, since: str = "") -> dict[str, Any]:
    fact = {"subject": "me", "predicate": predicate, "object": object_, "since": since}
    return {"text": quote, "quote": quote, "turn": turn, "kind": "fact", "fact": fact}


class TestAccepted:
    def test_it_stands_with_its_link_and_the_old_one_has_an_end(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        before = desk.files()
        done = desk.decide("Cork")
        link = desk.daily().rpartition("^")[2].strip()
        assert desk.note() == (
            "# Facts\n\n## me\n- lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]\n"
            f"- lives in:: Cork [since:: 2026-11-21] ([[2026-11-21#^{link}|2026-11-21]])\n"
        )
        assert "[promoted] I live in Cork now" in desk.daily()
        (decided,) = done.decided
        assert (decided.outcome, decided.path, decided.line) == ("applied", "Facts.md", 5)
        assert desk.true("2026-11-20") == ["me lives in Dublin"]
        assert desk.true("2026-11-21") == ["me lives in Cork"]
        assert desk.offered() == []
        steps = [step.kind for step in desk.person().why(decided.ref).chain]
        assert steps == ["approved", "candidate", "written", "said"]
        assert desk.person().why(decided.ref).chain[-1].quote == "I live in Cork now."
        assert desk.person().why("lives in:: Cork").ref == decided.ref
        desk.person().undo(done.txn)
        assert {**desk.files(), ".tars/vault-id": b""} == {**before, ".tars/vault-id": b""}
        assert desk.the("Cork").text == "lives in:: Cork [since:: 2026-11-21]"

    def test_where_there_is_no_note_yet(self, desk: Desk) -> None:
        desk.say("We use Postgres.")
        desk.decide("Postgres")
        assert desk.note().startswith("# Facts\n\n## we\n- uses:: Postgres ([[2026-11-21#^d-")

    @pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
    def test_line_endings_stay(self, desk: Desk, ending: str) -> None:
        text = "\ufeff" + (DUBLIN + "\n## Ruth\n- is:: 34").replace("\n", ending)
        desk.write(text)
        desk.say("I live in Cork now.")
        desk.decide("Cork")
        lines = desk.note().split(ending)
        assert lines[3] == "- lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]"
        assert lines[4].startswith("- lives in:: Cork [since:: 2026-11-21] ([[")
        assert [*lines[:3], text.split(ending)[3], *lines[5:]] == text.split(ending)

    def test_both_stay(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.decide("Cork", both=[desk.the("Cork").id])
        assert desk.true("2026-11-25") == ["me lives in Dublin", "me lives in Cork"]

    def test_as_a_line_instead(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.decide("Cork", lines=[desk.the("Cork").id])
        assert desk.note() == DUBLIN
        assert "## About me\n- I live in Cork now ([[2026-11-21#^d-" in desk.note("Memory.md")
        assert desk.offered() == []

    def test_only_a_fact_becomes_a_line_instead(self, desk: Desk) -> None:
        desk.say("I like hiking.")
        with pytest.raises(UsageError, match="is not a fact"):
            desk.decide("hiking", lines=[desk.the("hiking").id])

    def test_with_other_words(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        found = desk.the("Cork").id
        desk.decide("Cork", texts={found: "lives in:: Cobh [since:: 2026-11-01]"})
        assert [line.partition(" ([[")[0] for line in desk.facts()] == [
            "- lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-01]",
            "- lives in:: Cobh [since:: 2026-11-01]",
        ]

    @pytest.mark.parametrize(
        "words", ["I live in Cobh", "lives in::", "a:: b [since:: 2026-02-02] [until:: 2026-01-01]"]
    )
    def test_words_that_are_no_fact_are_refused(self, desk: Desk, words: str) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        before = desk.files()
        with pytest.raises(UsageError, match="is not a fact"):
            desk.decide("Cork", texts={desk.the("Cork").id: words})
        assert desk.files() == before

    @pytest.mark.parametrize("field", ["[until:: soon]", "(since:: 2026-02-30)", "[by:: Bob]"])
    def test_a_field_that_is_no_date_is_refused(self, desk: Desk, field: str) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        before = desk.files()
        with pytest.raises(UsageError, match=r"not a date that a fact can have|not a fact"):
            desk.decide("Cork", texts={desk.the("Cork").id: f"lives in:: Cobh {field}"})
        assert desk.files() == before

    def test_words_that_are_over_already_end_nothing(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.decide("Cork", texts={desk.the("Cork").id: "lives in:: Cobh [until:: 2025-01-01]"})
        assert [line.partition(" ([[")[0] for line in desk.facts()] == [
            "- lives in:: Dublin [since:: 2024-03-01]",
            "- lives in:: Cobh [until:: 2025-01-01]",
        ]

    def test_a_note_that_was_edited_meanwhile_is_a_conflict(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        shown = desk.the("Cork").id
        desk.write(DUBLIN.replace("Dublin", "Galway"))
        before = desk.files()
        with pytest.raises(ConflictError):
            desk.person().review().decide([shown])
        assert desk.files() == before
        assert desk.the("Cork").id != shown

    def test_edited_between_the_look_and_the_write(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        review = desk.person().review()
        found = review.gather(expired=True)
        from tars_memory.curation.proposals import Decision

        desk.write(DUBLIN.replace("2024-03-01", "2025-03-01"))
        before = desk.files()
        with pytest.raises(ConflictError, match="would end something other"):
            review.commit([Decision(found.proposals[0], accept=True)], found)
        assert desk.files() == before

    def test_unattended_it_is_refused(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        before = desk.files()
        with pytest.raises(UsageError, match="needs a person"):
            desk.memory(now=NOW, actor="agent").review().decide([desk.the("Cork").id])
        assert desk.files() == before

    def test_in_a_project(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        with desk.memory(project="boat") as memory:
            start = datetime.fromisoformat("2026-11-21T10:00:00+00:00")
            memory.extract(
                [desk.log(claude_code([Said("user", "I live in Cork now.", start)]))], model="none", force=True
            )
        assert desk.offered() == []
        review = desk.person(project="boat").review()
        (found,) = review.waiting().proposals
        assert (found.target, found.fact and found.fact.ends) == ("projects/boat/Facts.md", ())
        review.decide([found.id])
        assert desk.note() == DUBLIN
        assert "- lives in:: Cork [since:: 2026-11-21] ([[projects/boat/" in desk.note("projects/boat/Facts.md")


class TestTicks:
    @pytest.mark.parametrize(
        ("box", "facts_", "line"),
        [
            ("x", ["Dublin [since:: 2024-03-01] [until:: 2026-11-21]", "Cork [since:: 2026-11-21]"], False),
            ("+", ["Dublin [since:: 2024-03-01]", "Cork [since:: 2026-11-21]"], False),
            ("m", ["Dublin [since:: 2024-03-01]"], True),
            ("-", ["Dublin [since:: 2024-03-01]"], False),
        ],
    )
    def test_a_box(self, desk: Desk, box: str, facts_: list[str], line: bool) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.person().review().write_note()
        note = desk.note("Review.md")
        assert "  - ends:: lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]\n" in note
        desk.write(note.replace("- [ ] lives in", f"- [{box}] lives in"), "Review.md")
        answered = desk.person().review().from_note()
        assert len(answered.decided) == 1
        assert [each.partition(" ([[")[0] for each in desk.facts()] == [f"- lives in:: {each}" for each in facts_]
        assert ("I live in Cork now" in desk.note("Memory.md")) == line
        assert not (desk.root / "Review.md").exists()
        assert desk.offered() == []

    @pytest.mark.parametrize("box", ["x", "+", "m", "-"])
    @pytest.mark.parametrize("key", ["to", "ends", "or"])
    def test_what_the_person_wrote_at_the_end_of_a_detail_stays(self, desk: Desk, box: str, key: str) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.person().review().write_note()
        note = re.sub(rf"(  - {key}:: .*)", r"\1 ask Anna first", desk.note("Review.md"))
        desk.write(note.replace("- [ ] lives in", f"- [{box}] lives in"), "Review.md")
        waits = key == "to" and box != "-"  # a fact can go to no other heading
        assert len(desk.person().review().from_note().decided) == (not waits)
        assert " ask Anna first\n" in desk.note("Review.md")
        assert ("lives in:: Cork" in desk.note("Review.md").partition("\n  - ")[0]) == waits

    def test_a_fact_that_the_person_sends_to_a_note_of_lines_becomes_one(self, desk: Desk) -> None:
        desk.say("I live in Cork now.")
        desk.person().review().write_note()
        note = re.sub(r"to:: Facts.md › me\b", "to:: Memory.md › Home", desk.note("Review.md"))
        desk.write(note.replace("- [ ] lives in", "- [x] lives in"), "Review.md")
        desk.person().review().from_note()
        assert "## Home\n- I live in Cork now ([[" in desk.note("Memory.md")

    def test_words_changed_in_place(self, desk: Desk) -> None:
        desk.write(DUBLIN)
        desk.say("I live in Cork now.")
        desk.person().review().write_note()
        note = desk.note("Review.md").replace("- [ ] lives in:: Cork [since:: 2026-11-21]", "- [x] lives in:: Cobh")
        desk.write(note, "Review.md")
        desk.person().review().from_note()
        assert desk.true("2026-11-25") == ["me lives in Cobh"]

    @pytest.mark.parametrize(
        ("typed", "line"),
        [
            ("lives in:: Galway [since:: 2026-11-21]", "I live in Galway now"),
            ("rents:: a flat [since:: 2026-11-01]", "rents a flat [since:: 2026-11-01]"),
            ("I live in Galway", "I live in Galway"),
        ],
    )
    def test_words_changed_in_place_become_a_line_without_the_form_of_a_fact(
        self, desk: Desk, typed: str, line: str
    ) -> None:
        desk.say("I live in Cork now.")
        desk.person().review().write_note()
        note = desk.note("Review.md").replace("- [ ] lives in:: Cork [since:: 2026-11-21]", f"- [m] {typed}")
        desk.write(note, "Review.md")
        desk.person().review().from_note()
        assert f"- {line} ([[2026-11-21" in desk.note("Memory.md")

    def test_what_is_no_fact_waits(self, desk: Desk) -> None:
        desk.say("I live in Cork now.", "I like hiking.")
        desk.person().review().write_note()
        note = desk.note("Review.md").replace("- [ ] I like", "- [m] I like")
        desk.write(note.replace("- [ ] lives in:: Cork", "- [x] Cork it is"), "Review.md")
        answered = desk.person().review().from_note()
        assert answered.decided == []
        assert len(answered.notices) == answered.left == 2
        rows = [row for row, line in enumerate(desk.note("Review.md").split("\n"), 1) if re.match(" *- \\[[mx]", line)]
        assert sorted(notice.split(":")[1] for notice in answered.notices) == sorted(map(str, rows))
        assert len(desk.offered()) == 2


def test_a_second_run_adds_nothing(desk: Desk) -> None:
    desk.say("I live in Cork now.", "We use Postgres.")
    before = desk.files()
    assert [session.facts for session in desk.extract(desk.logs / "1.jsonl", force=True).sessions] == [()]
    assert desk.files() == before
    desk.person().review().decide([each.id for each in desk.offered()])
    before = desk.files()
    assert [session.facts for session in desk.extract(desk.logs / "1.jsonl", force=True).sessions] == [()]
    assert desk.files() == before


def test_what_is_stated_answers_nothing_before_it_is_decided(desk: Desk) -> None:
    desk.say("I live in Cork now.", "I like hiking.")
    told = desk.person().context("where do I live, in Cork?", budget=4000)
    assert "I live in Cork now" in told.text
    assert "fact::" not in told.text
    assert "## me" not in told.text
    desk.decide("Cork")
    told = desk.person().context("where do I live, in Cork?", budget=4000)
    assert "- lives in:: Cork [since:: 2026-11-21]" in told.text
    assert "fact::" not in told.text


def test_two_that_wait_and_say_otherwise_are_shown_beside_each_other(desk: Desk) -> None:
    desk.say("I live in Cork now.")
    desk.say("I moved to Oslo on 23 November.", day="2026-11-24")
    (later,), (earlier,) = desk.the("Cork").conflicts, desk.the("Oslo").conflicts
    assert (later.text, later.date) == ("I moved to Oslo on 23 November", "2026-11-24")
    assert (earlier.text, earlier.date) == ("I live in Cork now", "2026-11-21")


def test_what_a_named_author_says_of_himself_is_about_him(desk: Desk) -> None:
    desk.write(DUBLIN)
    desk.say("I live in Cork now.", "We use Postgres.", env={"TARS_AUTHOR": "Ben"})
    assert sorted(each.section for each in desk.offered()) == ["Ben", "we"]
    found = desk.the("Cork").fact
    assert found is not None
    assert found.ends == ()
    desk.write(desk.daily().replace("I live in Cork now", "I live in Cobh now"), "2026-11-21.md")
    assert desk.the("Cobh").section == "Ben"


PLACES = ("Cork", "Oslo", "Ghent", "Porto")


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(8, 24))])
def test_whatever_is_accepted_in_whatever_order_the_last_that_was_said_holds(desk: Desk, seed: int) -> None:
    """Statements of many days, decided one by one or together, with hand-made facts in between: each day is told as by
    whoever reads them all in the order in which they were said.
    """
    chance = seeded(seed)
    days = sorted(chance.sample(range(1, 21), chance.randint(3, 7)))
    said = {day: chance.choice(PLACES) for day in days}
    order = list(said)
    if chance.random() < 0.5:
        chance.shuffle(order)  # old conversations may be examined after newer ones
    held: dict[int, str] = {}
    for day in order:
        desk.say(f"I live in {said[day]} now.", day=f"2026-11-{day:02}")
        if chance.random() < 0.5:
            held |= accept_some(desk, chance)
    for _ in range(len(days)):
        held |= accept_some(desk, chance)
    held |= accept_some(desk, chance, every=True)
    assert desk.offered() == []
    held = said if order == days else held  # what was said and known is no news, unless something older comes between
    for day in range(1, 25):
        last = [held[each] for each in sorted(held) if each <= day]
        assert desk.true(f"2026-11-{day:02}") == [f"me lives in {place}" for place in last[-1:]], (said, held, day)


def accept_some(desk: Desk, chance: random.Random, *, every: bool = False) -> dict[int, str]:
    """Accept some of what waits, reject none; the days and places that hold from now on."""
    waiting = desk.offered()
    chosen = waiting if every else chance.sample(waiting, min(len(waiting), chance.randint(0, 2)))
    if not chosen:
        return {}
    desk.person().review().decide([each.id for each in chosen])
    facts_ = [each.fact for each in chosen if each.fact]
    return {int(str(fact.since)[-2:]): fact.object for fact in facts_}


def test_a_session_note_can_claim_nothing_that_its_line_does_not_say(desk: Desk) -> None:
    desk.say("I live in Cork now.", "I like hiking.")
    (path,) = (desk.root / "sessions").glob("*.md")
    note = path.read_text("utf-8").replace("lives in:: Cork", "lives in:: Mars")
    path.write_text(note.replace("turn 3\n", "turn 3\n  - fact:: me › owns:: a bank\n"), "utf-8")
    assert sorted(each.text for each in desk.offered()) == ["I like hiking", "lives in:: Cork [since:: 2026-11-21]"]


def test_what_one_conversation_gave_is_one_decision_and_each_line_keeps_its_own(desk: Desk) -> None:
    desk.say("I like hiking.", "We use Postgres.", "My name is Ada Bell.")
    (one,) = desk.person().review().waiting().proposals
    assert (one.op, [each.op for each in one.parts]) == ("together", ["append", "fact", "fact"])
    assert [each["text"] for each in masked_value(one)["parts"]] == [each.text for each in one.parts]
    done = desk.person().review().decide([one.id])
    assert [each.proposal.id for each in done.decided] == [each.id for each in one.parts]
    assert "- I like hiking ([[" in desk.note("Memory.md")
    assert "- uses:: Postgres" in desk.note("Facts.md")
    desk.person().undo(done.txn)
    (again,) = desk.person().review().waiting().proposals
    assert again == one


def test_a_conversation_that_grew_is_another_decision(desk: Desk) -> None:
    """A yes holds for the lines that were shown."""
    desk.say("I like hiking.", "We use Postgres.")
    (one,) = desk.person().review().waiting().proposals
    desk.person().review().decide(reject=[one.parts[0].id])
    with pytest.raises(ConflictError, match=one.id):
        desk.person().review().decide([one.id])
    (left,) = desk.person().review().waiting().proposals
    assert left.id == one.parts[1].id


@pytest.mark.parametrize("said", ["text", "sections", "lines", "replace"])
def test_other_words_are_for_one_line_alone(desk: Desk, said: str) -> None:
    desk.say("I like hiking.", "We use Postgres.")
    (one,) = desk.person().review().waiting().proposals
    how: dict[str, Any] = {
        "text": {"texts": {one.id: "x"}}, "sections": {"sections": {one.id: "x"}}, "lines": {"lines": [one.id]},
        "replace": {"replace": {one.id: ["a" * 8]}},
    }[said]  # fmt: skip
    before = [desk.note(), desk.note("Memory.md"), desk.daily()]
    with pytest.raises(UsageError, match="2 lines"):
        desk.person().review().decide([one.id], **how)
    assert [desk.note(), desk.note("Memory.md"), desk.daily()] == before


def test_what_ends_a_fact_is_asked_by_itself(desk: Desk) -> None:
    desk.write(DUBLIN)
    desk.say("I like hiking.", "I live in Cork now.", "We use Postgres.")
    kinds = [(each.op, len(each.parts)) for each in desk.person().review().waiting().proposals]
    assert sorted(kinds) == [("fact", 0), ("together", 2)]


def test_one_that_waits_takes_the_place_of_another(desk: Desk) -> None:
    """As if the older one had been accepted first: its line is kept below the newer one, and it may come true again."""
    desk.say("I prefer aisle seats.", day="2026-11-20")
    desk.say("I prefer window seats.", day="2026-11-23")
    new, old = desk.the("window"), desk.the("aisle")
    (line,) = new.choices
    assert (line.waits, line.text) == (True, "I prefer aisle seats")
    notes = ("Memory.md", "2026-11-20.md", "2026-11-23.md")
    first = desk.person().review().decide([old.id])
    second = desk.the("window")
    stands = next(each.ref for each in second.choices if not each.waits)
    then = desk.person().review().decide([second.id], replace={second.id: [stands]})
    in_two_steps = [desk.note(path) for path in notes]
    desk.person().undo(then.txn)
    desk.person().undo(first.txn)
    done = desk.person().review().decide([new.id], replace={new.id: [line.ref]})
    assert [desk.note(path) for path in notes] == in_two_steps
    assert "aisle" not in desk.note("Memory.md")
    assert "window" in desk.note("Memory.md")
    assert desk.offered() == []
    assert "[promoted] I prefer aisle seats" in desk.note("2026-11-20.md")
    assert "replaced:: I prefer aisle seats" in desk.note("2026-11-23.md")
    desk.say("I prefer aisle seats.", day="2026-11-24")
    assert [each.text for each in desk.offered()] == ["I prefer aisle seats"]
    desk.person().undo(done.txn)
    assert {old.id, new.id} <= {each.id for each in desk.offered()}


@pytest.mark.parametrize("older", ["accept", "reject"])
def test_what_is_said_of_the_other_one_as_well_is_no_contradiction(desk: Desk, older: str) -> None:
    desk.write("## Notes\n- I like to sit at the aisle seats\n", "Memory.md")
    desk.say("I prefer aisle seats.", day="2026-11-20")
    desk.say("I prefer window seats.", day="2026-11-23")
    new, old = desk.the("window"), desk.the("aisle seats")
    stands = next(line.ref for line in old.choices if not line.waits)
    waits = next(line.ref for line in new.choices if line.waits)
    how: dict[str, Any] = {"replace": {new.id: [waits]}}
    if older == "accept":
        done = desk.person().review().decide([new.id, old.id], replace={new.id: [waits], old.id: [stands]})
        assert f"{old.id} is not written separately: {new.id} takes its place" in done.notices
        assert desk.note("Memory.md").count("- I") == 1
    else:
        desk.person().review().decide([new.id], [old.id], **how)
        assert "[rejected] I prefer aisle seats" in desk.note("2026-11-20.md")
    assert "window" in desk.note("Memory.md")
    assert desk.offered() == []


def test_two_that_replace_each_other_are_refused(desk: Desk) -> None:
    desk.say("I prefer aisle seats.", day="2026-11-20")
    desk.say("I prefer window seats.", day="2026-11-23")
    found = desk.offered()
    with pytest.raises(UsageError, match="replace each other"):
        desk.person().review().decide(
            [each.id for each in found], replace={each.id: [each.choices[0].ref] for each in found}
        )
    assert len(desk.offered()) == 2


def test_the_id_of_a_proposal_names_its_line(desk: Desk) -> None:
    desk.write(DUBLIN)
    desk.say("I live in Cork now.", "I like hiking.", "We use Postgres.")
    fact, hiking = desk.the("Cork"), desk.the("hiking")
    (together,) = [each for each in desk.person().review().waiting().proposals if each.parts]
    assert desk.person().show(fact.id).text == "I live in Cork now"
    assert desk.person().show(f"^r-{hiking.id}").text == "I like hiking"
    assert desk.person().why(hiking.id).text == "I like hiking"
    with pytest.raises(AmbiguousError) as told:
        desk.person().show(together.id)
    assert sorted(line.partition("  ")[2] for line in told.value.candidates) == ["I like hiking", "We use Postgres"]
    desk.person().edit(hiking.id, "I love hiking")
    assert [each.id for each in desk.offered() if "hiking" in each.text] != [hiking.id]
    desk.person().forget(desk.the("hiking").id)
    assert "hiking" not in desk.daily()
    assert [each.text for each in desk.offered() if "hiking" in each.text] == []


def test_the_id_of_a_proposal_that_no_note_holds_says_so(desk: Desk) -> None:
    desk.memory(actor="agent").remember("Always ask first", tier="procedural")
    (rule,) = desk.offered()
    for name in ("show", "why"):
        with pytest.raises(NotFoundError, match="is not in any note yet") as told:
            getattr(desk.person(), name)(rule.id)
        assert f"review --reject {rule.id}" in told.value.hint
    assert desk.person().forget(rule.id).text == "Always ask first"
    assert desk.offered() == []
