"""What was rejected is not said again by the session note that it came from: not by its fact, quote or decision."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tars_memory.index.chunking import embedded_text
from tars_memory.memory import Memory
from tars_memory.recall import decided, weights
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.markdown import lines as grammar

pytestmark = pytest.mark.usefixtures("proved_engine")

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
        """By path the text of the hits; of session notes also what a line elsewhere says better."""
        with self.memory() as memory:
            hits = memory.search(text, mode="lexical").hits
            hits += memory.search(text, mode="lexical", tiers=("episodic",)).hits
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
    assert words not in asked.found(words).get(DAILY, "")
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
    assert worth == {SESSION: 0.0, "sessions/2026-11-20 1000 other.md": pytest.approx(weights.PENALTY)}
    assert "walnut" in asked.told("walnut cupboards")


def test_notes_without_a_decision_cost_no_question() -> None:
    assert decided.line_states(["- tea ([[2026-11-20#^d-a|x]])"], {}) == {}
    assert decided.linked_ids(["- tea ([[2026-11-20#^d-a|x]])", "- milk", "", "see ([[2026-11-20#^d-b]])"]) == ["d-a"]


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
    decided_about = [line for line in grammar.read(lines) if line.state in ("rejected", "expired")]
    assert {line.block_id: line.state for line in decided_about if line.block_id} == said


@pytest.mark.parametrize("below", ["##", "# Tea", "| tea |", "", "- tea", "10:00 [extracted] tea"])
def test_the_link_of_a_line_ends_it_whatever_follows(below: str) -> None:
    first = next(iter(grammar.items(["- tea ([[2026-11-20#^d-a|2026-11-20]])", below])))
    assert first.source == "d-a"


def test_front_matter_is_no_answer(tmp_path: Path) -> None:
    session = f'---\ndate: 2026-11-20\ntitle: "walnut cupboards"\nsource_hash: {"a" * 64}\n---\n'
    notes = {
        SESSION: session,
        "Desk.md": "---\ntitle: Walnut desk\nwood: walnut\n---\n",
        "Bed.md": "---\ntitle: Walnut bed\n---\n",
    }
    asked = Asked(tmp_path, notes)
    for text in ("walnut", "walnut cupboards", "tier:episodic", "path:Desk"):
        with asked.memory() as memory:
            lines = {line for hit in memory.search(text, mode="lexical").hits for line in hit.text.split("\n")}
        assert lines <= {"wood: walnut", "title: Walnut bed"}, text
    assert set(asked.found("walnut")) == {"Desk.md", "Bed.md"}


def test_words_that_a_line_replaced_are_no_hits_whatever_finds_them(tmp_path: Path) -> None:
    daily = (
        "## Log\n- 10:00 [promoted] Anna lives in Cork ^d-aaaaaaa\n"
        "  - replaced:: Anna lives in Berlin, by the canal\n- 10:01 saw a heron\n"
    )
    feedback = (
        "## Feedback\n- 2026-11-19 10:00 [promoted] use miles ^f-aaaaaaa\n  - replaced:: use furlongs by the canal\n"
    )
    own = "## Kitchen\n- tap\n  - replaced:: washer, by the canal shop\n"
    asked = Asked(tmp_path, {DAILY: daily, "corrections.md": feedback, "House.md": own})
    with Memory(
        asked.root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, actor="person", now=NOW, embedder=HashEmbedder()
    ) as memory:
        memory.reindex(full=True)
        for mode in ("lexical", "semantic", "hybrid"):
            for text in ("Berlin canal", "lives in Berlin, by the canal", "furlongs by the canal"):
                hits = memory.search(text, mode=mode).hits
                assert not [hit for hit in hits if "Berlin" in hit.text or "furlongs" in hit.text], (mode, text)
        assert "Berlin" not in "".join(hit.text for hit in memory.search("tier:daily").hits)
        assert "Berlin" not in memory.context("Berlin canal").text
        assert [hit.path for hit in memory.search("washer", mode="lexical").hits] == ["House.md"]
    near = {line for line in embedded_text("2026-11-20", grammar.plain(daily)).split("\n") if "Berlin" in line}
    assert not near


def test_what_gave_way_is_found_after_what_took_its_place(tmp_path: Path) -> None:
    """On the day it was said, and in the fact of its session, which stands for the turn; a search still finds it."""
    said = "La boulangerie ouvre tôt le samedi, à six heures"
    notes = {
        "Memory.md": "## Notes\n- La boulangerie ouvre tôt, à huit heures ([[2026-11-21#^d-bbbbbbb|2026-11-21]])\n",
        DAILY: f"## Log\n- 10:00 [promoted] {said} ^d-aaaaaaa\n",
        SESSION: (
            "---\ndate: 2026-11-20\nsource_hash: " + "a" * 64 + "\n---\n\n## Summary\n\n"
            f"By rules, in the words of the conversation:\n\nOpening: “dis, {said}! On y va le samedi ?” [1]\n\n"
            f"## Facts\n\n- {said} ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n"
            f'  - quote:: "{said}"\n  - said by:: user, turn 1\n\n'
            f"## Turns\n\n> [1] 10:00 **user:** dis, {said}!\n"
        ),
    }
    asked = Asked(tmp_path, notes)
    query = "boulangerie ouvre samedi"

    def scores() -> dict[str, float]:
        with asked.memory() as memory:
            hits = memory.search(query, mode="lexical", limit=20, explain=True, tiers=("daily",)).hits
            hits += memory.search(query, mode="lexical", limit=20, explain=True, tiers=("episodic",)).hits
        return {
            f"{hit.path}:{hit.start_line}": hit.explain["line: validity"] for hit in hits if "six heures" in hit.text
        }

    before = scores()
    assert sorted(before.values()) == [weights.REPEATED, 0.0, 0.0]
    later = asked.root / "2026-11-21.md"
    line = "- 09:00 [promoted] La boulangerie ouvre tôt, à huit heures ^d-bbbbbbb\n"
    later.write_text(f"## Log\n{line}  - replaced:: {said} ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n", "utf-8")
    after = scores()
    assert set(after) == set(before) and set(after.values()) == {weights.PENALTY}
    (asked.root / "Memory.md").write_text(f"- {said} ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n", "utf-8")
    assert {at: score for at, score in scores().items() if at in before} == before  # taken up again: it counts


def test_why_still_tells_what_a_line_replaced(asked: Asked) -> None:
    note = asked.root / DAILY
    line = "- 10:00 [promoted] I prefer walnut cupboards ^d-aaaaaaa\n  - replaced:: I prefer oak cupboards\n"
    note.write_text("## Log\n" + line, "utf-8")
    with asked.memory() as memory:
        chain = memory.why("I prefer walnut cupboards").chain
    assert "I prefer oak cupboards" in [step.text for step in chain]


def session(title: str, body: str) -> str:
    return f'---\ndate: 2026-11-20\ntitle: "{title}"\naliases: ["{title}"]\nsource_hash: {"a" * 64}\n---\n\n{body}'


REFUSED = {
    "I own a purple boat": "I own a purple boat",
    "Remember that I own a purple boat!": "I own a purple boat",
    "我有一条紫色的船": "我有一条紫色的船",
    "ich hasse türkise Tapeten und alle Leute, die sie seit": (
        "Ich hasse türkise Tapeten und alle Leute, die sie seit Jahren so sehr lieben"
    ),
    "Я не люблю зелёный цвет": "я не люблю зелёный цвет",
}


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("title", "said", "linked"),
    [(*each, True) for each in REFUSED.items()]
    # where it was known from another session, a title that says more than the statement isn't taken for it
    + [(*each, False) for each in REFUSED.items() if not each[0].startswith("Remember")],
)
def test_what_was_rejected_is_no_name_of_its_session(
    tmp_path: Path, title: str, said: str, linked: bool, mode: str
) -> None:
    path = f"sessions/2026-11-20 1000 {title.replace(',', '')}.md"
    fact = f"- {said} ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n" if linked else ""
    body = f"## Decisions\n\n- {said}\n- keep the oars\n\n## Facts\n\n{fact}- oars are kept\n\n## {said}\n\nropes\n"
    notes = {
        DAILY: f"## Log\n- 10:00 [rejected] {said} ^d-aaaaaaa\n- 10:01 [promoted] oars are kept ^d-bbbbbbb\n",
        path: session(title, body),
        "sessions/2026 summary.md": "---\nperiod: 2026\n---\n\n## Sessions\n\n- [[" + path[9:-3] + "]] (2 turns)\n",
    }
    root = make_vault(tmp_path / "vault", notes)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, embedder=HashEmbedder(), env=env, actor="person", now=NOW) as memory:
        memory.reindex(full=True)
        for asked in (title, said, "oars", "ropes", "tier:episodic"):
            for hit in memory.search(asked, mode=mode).hits:
                if hit.tier == "episodic":
                    shown = f"{hit.title} {' '.join(hit.headings)} {hit.text}".casefold()
                    assert said.casefold() not in shown and title.casefold() not in shown, (asked, hit.text)
        assert not [hit for hit in memory.search(said, mode="lexical").hits if hit.tier == "episodic"]
        assert [hit.path for hit in memory.search("ropes", mode="lexical").hits] == [path]
        told = memory.context(f"oars ropes {said}", mode=mode).text
        assert not linked or said.casefold() not in told.casefold()
        assert "ropes" in memory.context("oars ropes", mode=mode).text


def test_a_rejected_line_stands_beside_no_other_hit(asked: Asked) -> None:
    asked.state("d-aaaaaaa", "rejected")
    assert "walnut" not in asked.found("ferry")[DAILY].split("\n")[0]
    with asked.memory() as memory:
        hits = memory.search("ferry leaves at seven", mode="lexical").hits
    assert "walnut" not in hits[0].text


def test_the_word_rejected_alone_hides_no_title(tmp_path: Path) -> None:
    notes = {
        DAILY: "## Log\n- 10:00 [rejected] boats ^d-aaaaaaa\n- 10:01 they rejected the plan for the harbour\n",
        "sessions/2026-11-20 1000 Boats and harbours.md": session("Boats and harbours", "## Summary\n\nropes\n"),
        "sessions/2026-11-20 1100 the plan for the harbour.md": session(
            "the plan for the harbour", "## Facts\n\n- x\n"
        ),
    }
    found = Asked(tmp_path, notes).found("boats and harbours")
    assert "sessions/2026-11-20 1000 Boats and harbours.md" in found
    with Asked(tmp_path / "again", notes).memory() as memory:
        titles = {hit.title for hit in memory.search("tier:episodic").hits}
    assert titles == {"Boats and harbours", "the plan for the harbour"}


@pytest.mark.parametrize("kept", ["Memory.md", "Facts.md"])
def test_what_gave_way_is_told_by_no_other_note(asked: Asked, kept: str) -> None:
    words = "I prefer walnut cupboards ([[2026-11-20#^d-aaaaaaa|2026-11-20]])"
    assert "walnut" in asked.told("walnut cupboards")
    if kept == "Facts.md":
        fact = "## Me\n\n- prefers:: walnut cupboards {}([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n"
        over = fact.format("[until:: 2026-11-20] ")
        (asked.root / kept).write_text(fact.format(""), "utf-8")
        assert "honestly, walnut" in asked.told("walnut cupboards")
        (asked.root / kept).write_text(over, "utf-8")
        with asked.memory() as memory:
            assert "honestly, walnut" in memory.context("walnut cupboards", mode="lexical", expired=True).text
    else:
        later = asked.root / "2026-11-21.md"
        later.write_text(f"- 10:00 [promoted] I prefer oak ^d-ccccccc\n  - replaced:: {words}\n", "utf-8")
    assert "walnut" not in asked.told("walnut cupboards")
    (asked.root / "Memory.md").write_text(f"- {words}\n", "utf-8")  # taken up again: it counts
    assert "walnut" in asked.told("walnut cupboards")


def test_an_expired_candidate_is_not_told(asked: Asked) -> None:
    asked.state("d-aaaaaaa", "expired")
    assert "walnut" not in asked.told("walnut cupboards")
    with asked.memory() as memory:
        assert "walnut" in memory.context("walnut cupboards", mode="lexical", loaded=False, expired=True).text
