"""What was rejected is not said again by the session note that it came from: not by its fact, quote or decision."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tars_memory.memory import Memory
from tars_memory.recall import decided
from tars_memory.testing import make_vault

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=UTC)
DAILY = "2026-11-20.md"
SESSION = "sessions/2026-11-20 1000 talk.md"
NOTES = {
    "Memory.md": "## Notes\n- the gate is painted blue\n",
    DAILY: (
        "## Log\n- 10:00 [extracted] I prefer walnut cupboards ^d-aaaaaaa\n"
        "- 10:01 [extracted] we decided to plant a quince hedge ^d-bbbbbbb\n"
        "- 10:02 [extracted] my ferry leaves at seven ^d-ccccccc\n"
    ),
    SESSION: (
        "---\ndate: 2026-11-20\nsource_hash: " + "a" * 64 + "\n---\n\n## Topics\n\n- cupboards\n\n"
        "## Decisions\n\n- We decided to plant a quince hedge\n- keep the old shed\n\n## Facts\n\n"
        "- I prefer walnut cupboards ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n"
        '  - quote:: "honestly, walnut cupboards are what I like"\n  - said by:: Anna, turn 1\n'
        "- We decided to plant a quince hedge ([[2026-11-20#^d-bbbbbbb|2026-11-20]])\n"
        '  - quote:: "so a quince hedge it is"\n  - said by:: Anna, turn 3\n'
        "- my ferry leaves at seven ([[2026-11-20#^d-ccccccc|2026-11-20]])\n"
        '  - quote:: "my ferry leaves at seven"\n  - said by:: Anna, turn 5\n'
    ),
}


class Asked:
    """One vault; each question is a command of its own."""

    def __init__(self, base: Path, notes: dict[str, str] = NOTES) -> None:
        self.base = base
        self.root = make_vault(base / "vault", notes)

    def memory(self) -> Memory:
        env = {"TARS_MEMORY_HOME": str(self.base / "home")}
        return Memory(self.root, env=env, actor="person", interactive=True, now=NOW)

    def state(self, name: str, state: str, path: str = DAILY) -> None:
        """Say by hand what became of a candidate."""
        note = self.root / path
        lines = note.read_text("utf-8").split("\n")
        at = next(number for number, line in enumerate(lines) if f"^{name}" in line)
        while "[" not in lines[at][:12]:
            at -= 1
        head, _, rest = lines[at].partition("[")
        lines[at] = f"{head}[{state}]{rest.partition(']')[2]}"
        note.write_text("\n".join(lines), "utf-8")

    def found(self, text: str) -> dict[str, str]:
        """By path the text of the hits."""
        with self.memory() as memory:
            hits = memory.search(text, mode="lexical").hits
        return {hit.path: "\n".join(each.text for each in hits if each.path == hit.path) for hit in hits}

    def told(self, text: str) -> str:
        with self.memory() as memory:
            return memory.context(text, mode="lexical", loaded=False).text


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


def test_an_open_candidate_is_found_in_its_session(asked: Asked) -> None:
    assert "walnut" in asked.found("walnut cupboards")[SESSION]
    assert "walnut" in asked.told("walnut cupboards")


@pytest.mark.parametrize("name", ["d-aaaaaaa", "d-bbbbbbb"])
def test_what_was_rejected_is_not_said_by_its_session(asked: Asked, name: str) -> None:
    asked.state(name, "rejected")
    words = {"d-aaaaaaa": "walnut cupboards", "d-bbbbbbb": "quince hedge"}[name]
    assert words not in asked.found(words).get(SESSION, "")
    assert words in asked.found(words)[DAILY]  # where its state can be seen, and last of all
    assert words not in asked.told(words)
    for other in ("ferry leaves seven", "old shed"):
        assert other.split()[0] in asked.found(other)[SESSION]
        assert words not in asked.found(other)[SESSION]
        assert words not in asked.told(other)
    asked.state(name, "extracted")
    assert words in asked.found(words)[SESSION]
    assert words in asked.told(words)


def test_a_list_of_the_session_leaves_it_out(asked: Asked) -> None:
    assert "walnut" in asked.found("tier:episodic")[SESSION]
    asked.state("d-aaaaaaa", "rejected")
    listed = asked.found("tier:episodic")[SESSION]
    assert "walnut" not in listed
    assert "ferry" in listed


def test_a_review_does_it_and_undo_takes_it_back(asked: Asked) -> None:
    before = {path: (asked.root / path).read_bytes() for path in NOTES}
    with asked.memory() as memory:
        review = memory.review()
        (one,) = [each for each in review.waiting().proposals if "walnut" in each.text]
        done = review.decide(reject=[one.id])
    assert "walnut" not in asked.found("walnut cupboards").get(SESSION, "")
    assert (asked.root / SESSION).read_bytes() == before[SESSION]  # the quote stays where it is
    with asked.memory() as memory:
        memory.undo(done.txn)
    assert {path: (asked.root / path).read_bytes() for path in NOTES} == before
    assert "walnut" in asked.found("walnut cupboards")[SESSION]


def test_an_archived_day_counts_as_it_did(asked: Asked) -> None:
    asked.state("d-aaaaaaa", "rejected")
    (asked.root / "archive").mkdir()
    (asked.root / DAILY).rename(asked.root / "archive" / DAILY)
    assert "walnut" not in asked.found("walnut cupboards").get(SESSION, "")
    assert "walnut" not in asked.told("walnut cupboards")


def test_a_line_wrapped_and_renamed_by_hand(asked: Asked) -> None:
    day = asked.root / DAILY
    day.write_text(day.read_text("utf-8").replace(" cupboards ^d-aaaaaaa", "\n  cupboards ^walnut-wish"), "utf-8")
    note = asked.root / SESSION
    text = note.read_text("utf-8").replace("- I prefer walnut cupboards (", "* I prefer\n  walnut cupboards (")
    note.write_text(text.replace("#^d-aaaaaaa", "#^walnut-wish"), "utf-8")
    assert "walnut" in asked.found("walnut cupboards")[SESSION]
    asked.state("walnut-wish", "rejected")
    assert "walnut" not in asked.found("walnut cupboards").get(SESSION, "")
    assert "walnut" not in asked.told("walnut cupboards")


def test_a_long_quote_in_chunks_of_its_own(tmp_path: Path) -> None:
    long = " ".join(f"walnut{number} is a fine wood" for number in range(90))
    note = NOTES[SESSION].replace("honestly, walnut cupboards are what I like", long)
    asked = Asked(tmp_path, {**NOTES, SESSION: note})
    assert "walnut88" in asked.found("walnut88 fine wood")[SESSION]
    asked.state("d-aaaaaaa", "rejected")
    assert "walnut" not in asked.found("walnut88 fine wood").get(SESSION, "")
    assert "walnut" not in asked.told("walnut88 fine wood")
    assert "walnut" not in asked.found("tier:episodic")[SESSION]


def test_an_expired_one_is_found_below_its_like(asked: Asked) -> None:
    other = asked.root / "sessions" / "2026-11-20 1000 other.md"
    other.write_text("## Facts\n\n- I prefer walnut cupboards ([[2026-11-20#^d-ddddddd|2026-11-20]])\n", "utf-8")
    day = asked.root / DAILY
    day.write_text(day.read_text("utf-8") + "- 10:05 [extracted] they like teak ^d-ddddddd\n", "utf-8")
    asked.state("d-ddddddd", "expired")
    with asked.memory() as memory:
        hits = memory.search("walnut cupboards tier:episodic", mode="lexical", explain=True).hits
    worth = {hit.path: hit.explain["line: validity"] for hit in hits}
    assert worth == {SESSION: 0.0, "sessions/2026-11-20 1000 other.md": pytest.approx(-0.1)}
    assert "walnut" in asked.told("walnut cupboards")


def test_notes_without_a_decision_cost_no_question() -> None:
    assert decided.standing(["- tea ([[2026-11-20#^d-a|x]])"], {}) == {}
    assert decided.ids(["- tea ([[2026-11-20#^d-a|x]])", "- milk", "", "see ([[2026-11-20#^d-b]])"]) == ["d-a"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["- 10:00 [rejected] tea ^d-a"], {"d-a": "rejected"}),
        (["- [expired] tea", "  with milk ^d-a"], {"d-a": "expired"}),
        (["- 10:00 [rejected] tea", "  - and milk ^d-a"], {}),
        (["- 10:00 [promoted] tea ^d-a", "- 10:00 [extracted] tea ^d-b"], {}),
        (["he said [rejected] ^d-a"], {}),
    ],
)
def test_the_state_stands_on_the_line_itself(lines: list[str], said: dict[str, str]) -> None:
    assert dict(decided.states(lines)) == said
