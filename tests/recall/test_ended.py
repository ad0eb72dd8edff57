"""What has ended is no hit and is told to no model, exactly from its day on, as a naive reading of the notes says."""

from __future__ import annotations

import os
import re
import tempfile
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

FIRST = date(2026, 11, 20)
SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))
SESSION = "sessions/2026-10-01 1000 trip.md"


def at(day: date, hour: int = 12) -> datetime:
    return datetime(day.year, day.month, day.day, hour).astimezone()


def opened(base: Path, day: date = FIRST, hour: int = 12) -> Memory:
    return Memory(
        base / "vault", embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(base / "home")}, now=at(day, hour)
    )


def lines(memory: Memory, text: str, **options: object) -> set[str]:
    """Every line of every hit, trimmed."""
    hits = memory.search(text, limit=200, **options).hits  # type: ignore[arg-type]
    return {line.strip() for hit in hits for line in hit.text.split("\n") if line.strip()}


ENDS = st.none() | st.integers(-3, 3)
ITEMS = st.lists(st.tuples(st.integers(0, 2), ENDS), min_size=1, max_size=7)
NOTES = st.lists(st.tuples(st.sampled_from(["Memory.md", "2026-11-20.md", SESSION, "n.md"]), ENDS, ITEMS), max_size=4)


def written(
    notes: list[tuple[str, int | None, list[tuple[int, int | None]]]],
) -> tuple[dict[str, str], dict[str, date]]:
    """Notes of nested bullets, and of each line the day on which it ends: computed from the nesting alone."""
    texts: dict[str, str] = {}
    ends: dict[str, date] = {}
    for name, whole, items in notes:
        if name in texts:
            continue
        said = [] if whole is None else ["---", f"expires: {FIRST + timedelta(whole)}", "---"]
        above: list[tuple[int, date]] = []
        for number, (wished, end) in enumerate(items):
            depth = min(wished, above[-1][0] + 1 if above else 0)
            del above[depth:]
            own = date.max if end is None else FIRST + timedelta(end)
            until = min([own, *(day for _, day in above), date.max if whole is None else FIRST + timedelta(whole)])
            above.append((depth, own))
            line = f"- kettle {len(texts)}x{number}" + ("" if end is None else f" [until:: {own}]")
            ends[line] = until
            said.append("  " * depth + line)
        texts[name] = "\n".join(said) + "\n"
    return texts, ends


@settings(max_examples=examples(8))
@given(notes=NOTES, again=NOTES, hour=st.sampled_from([0, 23]))
def test_search_as_a_naive_reading(notes, again, hour):
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for round_, (texts, ends) in enumerate((written(notes), written(again))):
            if round_:  # by hand, underneath
                for path in (base / "vault").rglob("*.md"):
                    path.unlink()
            make_vault(base / "vault", {**texts, "other.md": "a boat\n"})
            for offset in (-2, -1, 0, 1, 3):
                day = FIRST + timedelta(offset)
                with opened(base, day, hour) as memory:
                    for mode in ("lexical", "hybrid"):
                        found = {line for line in lines(memory, "kettle", mode=mode) if "kettle" in line}
                        assert found == {line for line, until in ends.items() if day < until}
                        assert {s for s in lines(memory, "kettle", mode=mode, expired=True) if "kettle" in s} == set(
                            ends
                        )
                    with opened(base, FIRST - timedelta(900)) as other:
                        assert {s for s in lines(other, "kettle", as_of=day) if "kettle" in s} == found
            with opened(base) as memory:
                assert memory.verify() == []


END = "[until:: 2026-12-01]"
VAULT = {
    "Memory.md": f"## Notes\n- Parking permit for the blue car {END}\n  - space 14\n- Meters take coins\n",
    "Procedural.md": f"- Deploy to staging {END}\n- Answer briefly\n  - in English {END}\n",
    "2026-12-01.md": f"## Log\n- 09:00 painters are here {END}\n- 10:00 paid the rent\n",
    "User.md": "---\nexpires: 2026-12-01\n---\nOn crutches.\n",
    "Facts.md": f"## me\n- lives in:: Dublin {END}\n- lives in:: Cork [since:: 2026-12-01]\n- no fact {END}\n",
    SESSION: "---\nuntil: 2026-12-01\ntitle: trip\n---\n## Summary\n\nThe night train to Vienna.\n",
    "Elsewhere.md": "---\nuntil: 2026-12-01\n---\nThe job at the shipyard.\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    make_vault(tmp_path / "vault", VAULT)
    return tmp_path


def test_what_has_ended_is_only_mentioned_to_whom_it_would_answer(base: Path) -> None:
    with opened(base, date(2026, 12, 1)) as memory:
        notices = {text: memory.search(text, mode="lexical").notices for text in ("Vienna", "qqxyzzy")}
    assert notices == {"Vienna": ["what has ended by 2026-12-01 was not searched: --ended does"], "qqxyzzy": []}


def test_context_leaves_out_what_has_ended_and_says_so(base: Path) -> None:
    before, after = date(2026, 11, 30), date(2026, 12, 1)
    ended = ["Parking permit", "space 14", "staging", "crutches", "Dublin", "Vienna"]
    with opened(base, before) as memory:
        text = memory.context("night train to Vienna", budget=9000).text
        assert [word for word in ended if word not in text] == []
        assert "Cork" not in text
    with opened(base, after) as memory:
        packed = memory.context("night train to Vienna", budget=9000)
        assert [word for word in [*ended, "painters", "no fact"] if word in packed.text] == []
        assert all(word in packed.text for word in ("Meters", "rent", "Cork", "Answer briefly", "in English"))
        told = {(gone.path, gone.start_line) for gone in packed.dropped if gone.why.startswith("no longer true")}
        assert told >= {("Memory.md", 2), ("Procedural.md", 1), ("2026-12-01.md", 2), ("User.md", 4), ("Facts.md", 2)}
        everything = memory.context("night train to Vienna", budget=9000, expired=True).text
        assert [word for word in [*ended, "painters"] if word not in everything] == []
        assert memory.context("train Vienna", budget=9000, as_of=before).text.count("Vienna") == 1
    with opened(base, date(2026, 1, 1)) as memory:
        assert "Dublin" in memory.context(as_of=before).text
        assert "Cork" in memory.context(as_of=after).text


def test_what_stands_beside_a_hit_is_left_out_too(tmp_path: Path) -> None:
    """In long notes lines around an answer are packed: none that has ended."""
    body = [f"- entry {n} of the ledger" for n in range(300)]
    body[150] = "- the oboe is at the repair shop"
    body[151] = "- canary [until:: 2026-11-20]"
    make_vault(tmp_path / "vault", {"Ledger.md": "\n".join(body) + "\n"})
    with opened(tmp_path) as memory:
        text = memory.context("where is the oboe", budget=2000).text
        assert "repair shop" in text
        assert "entry 152" in text
        assert "canary" not in text


def test_facts_that_began_later_are_left_out_of_another_days_answer_alone(base: Path) -> None:
    with opened(base, date(2026, 11, 1)) as memory:
        assert any("Cork" in line for line in lines(memory, "lives in"))  # plans can be looked up
        assert not any("Cork" in line for line in lines(memory, "lives in", as_of=date(2026, 11, 30)))
        assert not any("Dublin" in line for line in lines(memory, "lives in", as_of=date(2026, 12, 1)))


def test_the_word_until_in_the_properties_of_another_note_ends_nothing(base: Path) -> None:
    with opened(base, date(2027, 1, 1)) as memory:
        assert lines(memory, "shipyard") == {"The job at the shipyard."}
        assert lines(memory, "night train Vienna") == set()


def test_if_nothing_is_found_it_is_said_that_something_was_left_out(base: Path) -> None:
    with opened(base, date(2027, 1, 1)) as memory:
        found = memory.search("parking permit", mode="lexical")
        assert found.hits == []
        assert any("--ended" in notice for notice in found.notices)
    with opened(base, date(2026, 1, 1)) as memory:
        assert memory.search("zebra", mode="lexical").notices == []


def test_an_end_that_is_taken_away_counts_at_once_and_no_vector_is_made_again(base: Path) -> None:
    with opened(base, date(2027, 1, 1)) as memory:
        memory.reindex()
        assert lines(memory, "night train Vienna") == set()
        note = base / "vault" / SESSION
        note.write_text(note.read_text("utf-8").replace("until: 2026-12-01\n", "other: 2026-12-01\n"), "utf-8")
        assert "The night train to Vienna." in lines(memory, "night train Vienna")
        assert memory.workspace.index().pending() == 0
        assert memory.verify() == []


def test_many_that_have_ended_leave_the_nearest_that_have_not(tmp_path: Path) -> None:
    notes = {f"n{n}.md": f"---\nexpires: 2026-11-01\n---\nthe kettle on the shelf {n}\n" for n in range(260)}
    make_vault(tmp_path / "vault", {**notes, "live.md": "the kettle on the shelf at home\n"})
    with opened(tmp_path) as memory:
        memory.reindex()
        for mode in ("semantic", "hybrid", "lexical"):
            assert [hit.path for hit in memory.search("the kettle on the shelf", mode=mode).hits] == ["live.md"]


def test_a_vault_without_ends_asks_for_none(tmp_path: Path) -> None:
    from tars_memory.index.fulltext import Filter, conditions_of

    conditions, _ = conditions_of(Filter(on="2026-11-20"), {"": 0})
    assert conditions == []
    make_vault(tmp_path / "vault", {"a.md": "- tea\n\n- coffee\n"})
    with opened(tmp_path) as memory:
        memory.reindex()
        plan = memory.workspace.index().read(
            lambda reader: reader.connection.execute(
                "EXPLAIN QUERY PLAN SELECT id, scope FROM chunks WHERE until < 99999999 AND until <= 20261120"
            ).fetchall()
        )
        assert re.search(r"SEARCH chunks USING (COVERING )?INDEX chunks_ending", str(plan[0]))


def test_a_question_about_a_past_day_finds_the_fact_of_then_and_no_other_ended_line(tmp_path: Path) -> None:
    facts = (
        "## me\n- doctor:: Lowe [since:: 2016-10-01] [until:: 2022-05-01]\n- doctor:: Patel [since:: 2022-05-01]\n"
        "- doctor:: Ames [until:: 2016-10-01]\n"
    )
    others = {f"{n}.md": f"kettle number {n} boils\n" for n in range(9)}
    notes = others | {"Facts.md": facts, "n.md": "- doctor on call in 2020 [until:: 2022-01-01]\n"}
    make_vault(tmp_path / "vault", notes)

    def found(memory: Memory, question: str, **options: object) -> list[str]:
        hits = [
            line for hit in memory.search(question, mode="lexical", **options).hits for line in hit.text.split("\n")
        ]
        return re.findall("Lowe|Patel|Ames|call", " ".join(hits))

    with opened(tmp_path) as memory:
        assert found(memory, "doctor in 2020") == ["Lowe", "Patel"]
        assert found(memory, "who was my doctor on 2021-03-04") == ["Lowe", "Patel"]
        assert found(memory, "doctor in 2015") == ["Ames", "Patel"]  # Lowe began later, and has ended
        assert found(memory, "doctor in 2024") == found(memory, "doctor in May") == found(memory, "doctor") == ["Patel"]
        assert found(memory, "doctor in 2020", as_of=date(2024, 1, 1)) == ["Patel"]
        told = memory.context("who was my doctor in 2020", loaded=False, mode="lexical").text
        assert "Lowe" in told and "Ames" not in told and "on call" not in told
        assert "Lowe" not in memory.context("who is my doctor").text
