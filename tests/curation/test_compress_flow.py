"""Old sessions through the whole loop: extracted, summed up, found, asked about and grown."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conversations import chat_jsonl

from curation.extracting import House, dialogue
from curation.oldsessions import Past
from tars_memory.disk import Places
from tars_memory.errors import UsageError
from tars_memory.memory import Memory

START = datetime.fromisoformat("2025-03-04T10:00:00+00:00")
LATER = datetime.fromisoformat("2026-11-25T10:00:00+00:00")
TALK = ("I live in Cork.", "Ah.", "I prefer night trains.", "Oh.", "We decided that the van comes on Friday.", "Nice.")
MORE = (*TALK, "My sister moves to Ghent.", "Ah.", "I prefer green tea.", "Oh.")
PERSON: dict[str, Any] = {"actor": "person", "interactive": True}


def said(house: House, *texts: str) -> Path:
    return house.log(chat_jsonl(dialogue(*texts, start=START)))


def notes(house: House) -> dict[str, bytes]:
    return {
        path.relative_to(house.root).as_posix(): path.read_bytes()
        for path in house.root.rglob("*.md")
        if ".tars" not in path.parts
    }


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A vault in which an old conversation was examined a month ago, one candidate promoted, and the rest aged."""
    house = House(tmp_path)
    house.extract(said(house, *TALK), now=LATER - timedelta(days=30))
    with house.memory(now=LATER - timedelta(days=29), **PERSON) as memory:
        review = memory.review()
        wanted = next(each.id for each in review.waiting(limit=9).proposals if "Cork" in each.text)
        review.decide(accept=[wanted])
    with house.memory() as memory:
        memory.review().waiting()
    return house


def compress(house: House, **more: Any) -> Any:
    with house.memory(**PERSON) as memory:
        return memory.compress(apply=True, **more)


def test_what_was_summed_up_is_known_found_and_explained_as_before(house: House) -> None:
    before = notes(house)
    path = next(path for path in before if path.startswith("sessions/"))
    with house.memory() as memory:
        cork = next(entry for entry in memory.list("semantic") if "Cork" in entry.text)
        why = [(step.kind, step.text, step.quote) for step in memory.why(cork.ref).chain]
    done = compress(house)
    assert done.moved == [path]
    again = house.extract(said(house, *TALK))
    known = f"nothing new since archive/{path} (--force examines it again)"
    assert [one.why for one in again.skipped] == [known] and not again.sessions
    with house.memory() as memory:
        assert [(step.kind, step.text, step.quote) for step in memory.why(cork.ref).chain] == why
        assert {step.path for step in memory.why(cork.ref).chain if step.kind == "said"} == {f"archive/{path}"}
        # Without the tier the approved line stands for them.
        hits = memory.search("night trains tier:episodic", mode="lexical").hits
        assert {f"archive/{path}", "sessions/2025-03 summary.md"} <= {hit.path for hit in hits}
        assert not [each for each in memory.doctor()["findings"] if each["kind"] in ("lost line", "left over")]
        assert memory.verify() == []
        assert memory.tidy().findings == []
    with house.memory(**PERSON) as memory:
        memory.undo()
    assert notes(house) == before


def test_a_conversation_that_goes_on_grows_in_the_archive(house: House) -> None:
    compress(house)
    path = next(path for path in notes(house) if path.startswith("archive/sessions/"))
    frozen = notes(house)[path]
    done = house.extract(said(house, *MORE))
    assert [session.path for session in done.sessions] == [path] and done.sessions[0].facts
    texts = {fact.text for fact in done.sessions[0].facts}
    assert not any("Cork" in text or "trains" in text for text in texts)
    grown = notes(house)
    assert not [each for each in grown if each.startswith("sessions/") and "summary" not in each]
    assert all(
        line in grown[path].split(b"\n")
        for line in frozen.split(b"\n")
        if not line.startswith((b"source_", b"turns", b"extracted"))
    )
    with house.memory(now=LATER + timedelta(days=20), **PERSON) as memory:
        assert memory.compress(apply=True).txn is None, "the summary says what it said"
    assert not house.extract(said(house, *MORE)).sessions


def test_two_hundred_canaries_are_found_and_come_back(tmp_path: Path) -> None:
    past = Past(tmp_path)
    (past.root / ".obsidian").mkdir()
    for number in range(40):
        day = (date(2024, 1, 3) + timedelta(days=17 * number)).isoformat()
        facts = [f"canary{5 * number + index}x sings about thing {index}" for index in range(5)]
        past.old(day, f"talk {number}", Facts=facts[:2], Decisions=facts[2:3], Summary=facts[3], Turns=facts[4])
    before = past.files()
    now = past.now
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(past.root, now=now, env=env, **PERSON) as memory:
        memory.compress(apply=True)
        for number in range(200):
            found = memory.search(f"canary{number}x", mode="lexical").hits
            places = [hit.path for hit in found if f"canary{number}x" in hit.text]
            assert any(path.startswith("archive/sessions/") for path in places), number
        memory.undo()
    assert past.files().items() >= before.items() and len([p for p in past.files() if p.endswith(".md")]) == 40


def test_who_may_apply_it(tmp_path: Path) -> None:
    past = Past(tmp_path)
    (past.root / ".obsidian").mkdir()
    past.old("2025-03-04", Decisions="x y z")
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_PERMISSIONS_UNATTENDED_COMPRESS": "1"}
    before = past.files()
    for who in ({"actor": "cron"}, {"actor": "agent", "interactive": True}, {"actor": "script"}, {"actor": "person"}):
        with Memory(past.root, now=past.now, env=env, **who) as memory:
            assert len(memory.compress().summaries) == 1
            with pytest.raises(UsageError):
                memory.compress(apply=True)
    assert past.files() == before
    places = Places.of(env)
    places.config.mkdir(parents=True)
    (places.config / "config.toml").write_text("[permissions]\nunattended_compress = true\n")
    with Memory(past.root, now=past.now, env=env, actor="cron") as memory:
        assert memory.compress(apply=True).moved
