"""One statement once: an approved line stands for its candidate, its quote, its turn and the conversation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tars_memory.memory import Memory
from tars_memory.testing import make_vault

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=UTC)
SAID = "Remember that my sister Mara teaches the cello in Porto."
LONG = "I am allergic to walnuts. And which hotel in Porto has a garden?"
DAY = (
    "## Log\n- 10:00 [promoted] My sister Mara teaches the cello in Porto ^d-aaaaaaa\n"
    "- 10:01 [extracted] I am allergic to walnuts ^d-bbbbbbb\n"
)
SESSION = f"""---
date: 2026-11-10
title: "Family"
turns: 3
tags: [session]
---

## Facts

- My sister Mara teaches the cello in Porto ([[2026-11-10#^d-aaaaaaa|2026-11-10]])
  - quote:: "{SAID}"
  - said by:: user, turn 1
- I am allergic to walnuts ([[2026-11-10#^d-bbbbbbb|2026-11-10]])
  - quote:: "I am allergic to walnuts."
  - said by:: user, turn 3

## Turns

> [1] 10:00 **user:** {SAID}

> [3] 10:01 **user:** {LONG}
"""
APPROVED = "- My sister Mara teaches the cello in Porto ([[2026-11-10#^d-aaaaaaa|2026-11-10]])\n"
NOTES = {
    "Memory.md": f"## People\n{APPROVED}",
    "2026-11-10.md": DAY,
    "sessions/2026-11-10 1000 Family.md": SESSION,
}


class House:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = make_vault(base / "vault", NOTES)
        self.env = {"TARS_MEMORY_HOME": str(base / "home"), "TARS_MEMORY_BACKGROUND": "0"}

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text, "utf-8")

    def memory(self) -> Memory:
        return Memory(self.root, env=self.env, actor="person", interactive=True, now=NOW)

    def log(self, *turns: str) -> None:
        """A conversation on the same day that is searched, too."""
        told = [
            {
                "type": "user",
                "sessionId": "s1",
                "uuid": f"u{at}",
                "timestamp": f"2026-11-10T10:{at:02}:00Z",
                "message": {"role": "user", "content": text},
            }
            for at, text in enumerate(turns)
        ]
        (self.base / "logs").mkdir()
        text = "".join(json.dumps(each) + "\n" for each in told)
        (self.base / "logs" / "s1.jsonl").write_text(text, "utf-8")
        with self.memory() as memory:
            memory.add_source(str(self.base / "logs"))

    def found(self, text: str, mode: str = "lexical", **asked: object) -> list[tuple[str, str]]:
        """The notes and the best lines of the hits that hold a word of the query."""
        with self.memory() as memory:
            hits = memory.search(text, mode=mode, **asked).hits
        words = [word for word in text.split() if ":" not in word]
        told = [(hit.path.rpartition("/")[2], hit.best_line[1]) for hit in hits]
        return [(path, line) for path, line in told if any(word in line for word in words)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def notes(found: list[tuple[str, str]]) -> list[str]:
    return [path for path, _ in found]


def test_an_approved_line_stands_for_candidate_fact_quote_and_turn(house: House) -> None:
    assert notes(house.found("cello")) == ["Memory.md"]
    assert house.found("cello")[0][1].startswith("- My sister Mara")


def test_what_was_answered_to_it_is_no_hit_by_itself(house: House) -> None:
    turns = f"## Turns\n\n> [1] 10:00 **user:** {SAID}\n\n> [2] 10:00 **assistant:** Nice.\n"
    house.write("sessions/2026-11-10 1000 Family.md", SESSION.partition("## Turns")[0] + turns)
    with house.memory() as memory:
        hits = memory.search("cello", mode="lexical").hits
    assert not [hit for hit in hits if "Nice" in hit.best_line[1]]


def test_a_candidate_stands_for_fact_and_quote_but_not_for_a_turn_that_says_more(house: House) -> None:
    assert notes(house.found("walnuts")) == ["2026-11-10.md"]
    assert next(line for _, line in house.found("walnuts garden")).endswith("has a garden?")
    assert notes(house.found("garden")) == ["2026-11-10 1000 Family.md"]


def test_what_is_asked_for_by_its_tier_is_found_there(house: House) -> None:
    assert notes(house.found("cello tier:daily")) == ["2026-11-10.md"]
    assert notes(house.found("cello tier:episodic")) == ["2026-11-10 1000 Family.md"]


def test_a_candidate_whose_approved_line_is_gone_stands_for_itself(house: House) -> None:
    house.write("Memory.md", "## People\n- Mara is my sister\n")
    assert notes(house.found("cello")) == ["2026-11-10.md"]


def test_lines_of_one_kind_never_stand_for_each_other(house: House) -> None:
    """A person who splits an approved line keeps its link on both; two quotations of one paragraph are two lines."""
    link = "([[2026-11-10#^d-aaaaaaa|2026-11-10]])"
    house.write("Memory.md", f"## People\n- Mara teaches the cello {link}\n- the cello stays in Porto {link}\n")
    house.write("Book.md", "A cello hums. ^p12\n")
    house.write("Reading.md", "- a cello, first ([[Book#^p12]])\n- a cello, then ([[Book#^p12]])\n")
    found = house.found("cello", limit=20)
    assert notes(found).count("Memory.md") + notes(found).count("Reading.md") >= 2
    with house.memory() as memory:
        text = "\n".join(hit.text for hit in memory.search("cello", mode="lexical").hits)
    for line in (
        "Mara teaches the cello",
        "the cello stays in Porto",
        "A cello hums",
        "a cello, first",
        "a cello, then",
    ):
        assert line in text
    assert "[promoted]" not in text


def test_a_line_that_reads_alike_is_a_hit_of_its_own(house: House) -> None:
    house.write("Diary.md", "My sister Mara teaches the cello in Porto\n")
    assert sorted(notes(house.found("cello"))) == ["Diary.md", "Memory.md"]


def test_a_quote_is_known_though_its_fact_stands_in_the_chunk_before(house: House) -> None:
    """A long list is cut anywhere: the quote of the last fact of a chunk may begin the next one."""
    filler = "".join(
        f"- Thing {n} has been seen in the shed behind the house ([[2026-11-10#^d-c{n:06}|2026-11-10]])\n"
        f'  - quote:: "Well, thing {n} has been seen in the shed behind the house, as I said before."\n'
        for n in range(12)
    )
    daily = "".join(f"- 11:00 [promoted] Thing {n} has been seen ^d-c{n:06}\n" for n in range(12))
    approved = "".join(f"- Thing {n} is in the shed ([[2026-11-10#^d-c{n:06}|2026-11-10]])\n" for n in range(12))
    house.write("2026-11-10.md", DAY + daily)
    house.write("Memory.md", f"## People\n{APPROVED}## Things\n{approved}")
    house.write("sessions/2026-11-10 1000 Family.md", SESSION.replace("## Facts\n\n", f"## Facts\n\n{filler}"))
    assert set(notes(house.found("shed", limit=50))) == {"Memory.md"}


def test_the_conversation_it_came_from_is_no_second_hit(house: House) -> None:
    house.log(SAID, "I know nothing about that", LONG)
    assert notes(house.found("cello")) == ["Memory.md"]
    assert notes(house.found("garden")) == ["2026-11-10 1000 Family.md"], "the turn is kept in the session note"
    assert notes(house.found("cello tier:talk")) == ["s1.jsonl"]


def test_what_a_conversation_says_beyond_the_quote_is_found(house: House) -> None:
    house.log(f"{SAID} Her bow broke in the harbour.")
    assert notes(house.found("cello")) == ["Memory.md"]
    assert "s1.jsonl" in notes(house.found("cello harbour"))


def test_the_statement_keeps_the_best_place_of_those_it_stands_for(house: House) -> None:
    house.write("Memory.md", "## People\n- She plays in Porto ([[2026-11-10#^d-aaaaaaa|2026-11-10]])\n")
    house.write("Other.md", "A sister of somebody lives in Porto, too\n")
    assert house.found("sister Mara cello Porto")[0] == (
        "Memory.md",
        "- She plays in Porto ([[2026-11-10#^d-aaaaaaa|2026-11-10]])",
    )


def test_a_line_stands_for_no_conversation_that_holds_a_word_of_the_question_that_it_lacks(house: House) -> None:
    house.write("Memory.md", "## People\n- My sister Mara lives in Porto ([[2026-11-10#^d-aaaaaaa|2026-11-10]])\n")
    house.write("sessions/2026-11-10 1000 Family.md", SESSION.partition("## Turns")[0].replace("My sister Mara", "She"))
    house.write("2026-11-10.md", "## Log\n- 10:00 [promoted] She lives in Porto ^d-aaaaaaa\n")
    house.log(SAID)
    assert ("s1.jsonl", SAID) in house.found("what does my sister Mara do with a cello")


def test_two_statements_with_one_quote_of_which_one_is_found(tmp_path: Path) -> None:
    house = House(tmp_path)
    said = "She lives there."
    facts = "".join(f"- The harbour number {n} has a crane and a long quay\n" for n in range(120))
    session = SESSION.replace(SAID, said).replace("I am allergic to walnuts.", said).replace(LONG, f"Porto? {said}")
    house.write("sessions/2026-11-10 1000 Family.md", session.replace("- I am allergic", f"{facts}- I am allergic"))
    house.write("2026-11-10.md", "".join(DAY.splitlines(keepends=True)[:2]))
    with house.memory() as memory:
        assert "Memory.md" in [hit.path for hit in memory.search("Porto", mode="lexical").hits]
