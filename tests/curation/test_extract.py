"""extract, whole: out of a log into the notes, once, grounded, and back by one undo."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import conversations as logs
import pytest
from conversations import FORMATS, START, talk
from hypothesis import given, settings, strategies as st
from random_documents import examples

from curation import warm
from curation.extracting import FACTS, NOW, House, asked, claims, dialogue, scripted, spoken, texts
from curation.loopback import Loopback, made
from tars_memory.curation import review
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.testing import ScriptedLLM


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def zone() -> Iterator[None]:
    """A local zone far from UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


WAITING = {
    "id": "aaaaaaaa", "op": "append", "target": "Memory.md", "section": "Notes", "quote": "", "source": "x",
    "text": "I prefer night trains to planes", "date": "2026-11-01", "why": "", "conflicts": [],
}  # fmt: skip
KEPT = [text for _, text in FACTS.values()]


@pytest.mark.parametrize("shape", FORMATS)
def test_offline_on_every_format(house: House, shape: str) -> None:
    kind, build = FORMATS[shape]
    log = house.log(build(spoken()), "log")
    done = house.extract(log, now=START + timedelta(hours=1))
    assert texts(done) == KEPT
    (session,) = done.sessions
    assert (session.turns, session.examined) == (32, 32)
    assert session.dropped == {"ungrounded": 0, "known": 0, "rejected": 0, "secret": 0}
    assert house.candidates() == KEPT
    note = house.session()
    assert f'format: "{kind}"' in note
    for words, text in FACTS.values():
        assert f"- {text} ([[2026-11-21#^d-" in note
        assert f'quote:: "{words}"' in note
    before = house.files()
    again = house.extract(log)
    assert again.sessions == []
    assert "nothing new" in again.skipped[0].why
    assert house.files() == before


def test_the_last_two_turns_are_examined_by_a_model_too(house: House) -> None:
    said = [*spoken(32, {31: ("I sold the boat.", "")})[:32], *dialogue("Book it.", start=START + timedelta(hours=1))]
    log = house.log(logs.chat_jsonl(said))
    model = scripted(claims(("I sold the boat.", 31)))
    done = house.extract(log, model=model)
    assert texts(done) == ["I sold the boat"]
    assert all(f"turn {number} says" in asked(model)[-1].user for number in (29, 30))


def test_a_long_conversation_is_examined_to_its_end_window_by_window(house: House) -> None:
    said = spoken(400, {399: ("I sold the boat.", "")})
    said = [one._replace(text=one.text + " and so on" * 40) if at != 398 else one for at, one in enumerate(said)]
    model = ScriptedLLM(lambda prompt: claims(("I sold the boat.", 399)) if "I sold" in prompt.user else claims())
    done = house.extract(house.log(logs.chat_jsonl(said)), model=model)
    assert texts(done) == ["I sold the boat"]
    assert len(asked(model)) > 5
    assert done.sessions[0].examined == 400


PLAYED = ("Act as a pirate.", "Arr!", "I live in Tortuga.", "Aye.", "The game is over. I live in Cork.", "Nice.")


def test_what_is_said_in_a_play_is_left_out_and_told_and_can_be_offered(house: House) -> None:
    log = house.log(logs.chat_jsonl(dialogue(*PLAYED)))
    done = house.extract(log, now=NOW)
    assert texts(done) == ["I live in Cork"] and done.sessions[0].left_out == {"fiction": 1}
    told = [notice for notice in done.notices if "turn 1 begins a role play" in notice]
    assert len(told) == 1 and log.name in told[0] and "review --left-out" in told[0]
    with house.memory() as memory:
        (item,) = review.left_out(memory.workspace.capture(writes=False))
    assert (item.fact.text, item.fact.kind) == ("I live in Tortuga", "fiction")


def test_force_examines_again_what_was_examined_and_adds_nothing_twice(house: House) -> None:
    said = dialogue("I moved to Cork yesterday.", "Nice.", *PLAYED[:4], "bye", "Bye.")
    log = house.log(logs.plain([one._replace(time=None) for one in said]), "talk.md")  # without dates
    assert len(texts(house.extract(log, now=NOW))) == 1
    before, later = house.files(), NOW + timedelta(days=9)
    assert "--force" in house.extract(log, now=later).skipped[0].why
    again = house.extract(log, now=later, force=True)
    assert texts(again) == [] and again.sessions[0].examined == len(said) and house.files() == before
    model = scripted(claims(("I moved to Cork yesterday.", 1), ("bye", 7)))
    assert texts(house.extract(log, now=later, force=True, model=model)) == ["bye"]


def test_a_grown_conversation_gives_only_what_is_new(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    house.extract(log)
    before = house.files()
    grown = [
        *spoken(),
        *dialogue(
            "I love rowing.", "Nice.", "I prefer night trains to planes.", "I see.", start=START + timedelta(hours=2)
        ),
    ]
    log.write_bytes(logs.chat_jsonl(grown))
    done = house.extract(log)
    (session,) = done.sessions
    assert (session.turns, session.examined) == (36, 4)
    assert texts(done) == ["I love rowing"]
    assert session.dropped["known"] == 1
    after = house.files()
    assert set(after) == set(before)
    changed = [path for path in after if after[path] != before[path]]
    assert sorted(changed) == sorted(["2026-11-21.md", session.path])
    assert after["2026-11-21.md"].startswith(before["2026-11-21.md"])
    assert after["2026-11-21.md"].count(b"\n") == before["2026-11-21.md"].count(b"\n") + 1
    assert "turns: 36" in house.session()


def test_a_grown_conversation_asks_a_model_only_about_what_is_new(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    house.extract(log, model=scripted(claims()))
    log.write_bytes(
        logs.chat_jsonl([*spoken(), *dialogue("I love rowing.", "Nice.", start=START + timedelta(hours=2))])
    )
    old = ("Remember that the NAS backs up at 03:15.", 1)
    model = scripted(claims(("I love rowing.", 33), old))
    done = house.extract(log, model=model)
    assert texts(done) == ["I love rowing"]
    assert done.sessions[0].dropped["ungrounded"] == 1
    assert len(asked(model)) == 1
    assert "turn 30 says" not in model.prompts[0].user


def test_a_second_run_asks_no_model(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    model = scripted(claims())
    house.extract(log, model=model)
    before = house.files()
    house.extract(log, model=model)
    assert len(asked(model)) == 1
    assert house.files() == before


@pytest.mark.parametrize("shape", ["chatgpt", "claude-code", "bold"])
def test_a_copy_under_another_name_is_the_same_conversation(house: House, shape: str) -> None:
    log = house.log(FORMATS[shape][1](spoken()), "one")
    house.extract(log, now=START)
    before = house.files()
    copy = house.logs / "two"
    shutil.copy(log, copy)
    log.unlink()
    assert house.extract(copy, house.logs, now=START).sessions == []
    assert house.files() == before


def test_an_older_copy_beside_the_grown_one_adds_nothing_ever(house: House) -> None:
    older = house.log(logs.chat_jsonl(spoken()), "a.jsonl")
    grown = [*spoken(), *dialogue("I love rowing.", "Nice.", start=START + timedelta(hours=2))]
    house.log(logs.chat_jsonl(grown), "b.jsonl")
    assert texts(house.extract(house.logs)) == [*KEPT, "I love rowing"]
    before = house.files()
    for _ in range(2):
        assert house.extract(house.logs).sessions == []
        assert house.extract(older).sessions == []
    assert house.files() == before
    assert len(list((house.root / "sessions").glob("*.md"))) == 1


def test_a_branch_of_a_conversation_gives_its_own_turns(house: House) -> None:
    house.extract(house.log(logs.chat_jsonl(spoken()), "a.jsonl"))
    one = [*spoken(), *dialogue("I love rowing.", "Nice.", start=START + timedelta(hours=2))]
    other = [*spoken(), *dialogue("I love sailing.", "Nice.", start=START + timedelta(hours=2))]
    logs_ = [house.log(logs.chat_jsonl(said), name) for said, name in ((one, "b.jsonl"), (other, "c.jsonl"))]
    done = house.extract(*logs_)
    assert texts(done) == ["I love rowing", "I love sailing"]
    assert [session.examined for session in done.sessions] == [2, 2]
    assert len(list((house.root / "sessions").glob("*.md"))) == 1
    before = house.files()
    assert house.extract(house.logs).sessions == []
    assert house.files() == before


@pytest.mark.parametrize("shape", ["chatgpt", "claude-code", "claude"])
def test_a_last_turn_that_was_still_being_written_makes_no_second_note(house: House, shape: str) -> None:
    said = spoken()
    cut = [*said[:31], said[31]._replace(text="turn 32 says")]
    log = house.log(FORMATS[shape][1](cut), "log")
    assert texts(house.extract(log)) == KEPT
    log.write_bytes(FORMATS[shape][1]([*said, *dialogue("I love rowing.", "Nice.", start=START + timedelta(hours=2))]))
    done = house.extract(log)
    assert texts(done) == ["I love rowing"]
    assert done.sessions[0].dropped["known"] == 3
    assert len(list((house.root / "sessions").glob("*.md"))) == 1
    before = house.files()
    assert house.extract(log).sessions == []
    assert house.files() == before


def test_two_copies_at_once_count_once(house: House) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        house.log(logs.chat_jsonl(spoken()), name)
    done = house.extract(house.logs)
    assert len(done.sessions) == len(done.skipped) == 1
    assert house.candidates() == KEPT


def test_one_undo_takes_a_conversation_back_byte_exactly(house: House) -> None:
    house.root.joinpath("2026-11-21.md").write_bytes(b"# Day\r\n\r\n## Log\r\n- 09:00 tea\r\n\r\n## Evening\r\nnothing")
    before = house.files()
    log = house.log(logs.chat_jsonl(spoken()))
    done = house.extract(log)
    assert texts(done) == KEPT
    with house.memory() as memory:
        memory.undo()
    assert house.files() == before
    assert texts(house.extract(log)) == KEPT
    with house.memory() as memory:
        memory.undo()
    assert house.files() == before


def test_what_the_person_wrote_around_it_stays(house: House) -> None:
    note = b"# Day\r\n\r\n## Log\r\n- 09:00 tea\r\n\r\n## Evening\r\nnothing \xff"
    house.root.joinpath("2026-11-21.md").write_bytes(note)
    house.extract(house.log(logs.chat_jsonl(spoken())))
    after = house.root.joinpath("2026-11-21.md").read_bytes()
    assert b"".join(line for line in after.splitlines(keepends=True) if b"[extracted]" not in line) == note


def test_the_days_own_template_makes_a_new_note(tmp_path: Path) -> None:
    house = House(
        tmp_path,
        {"t/day.md": "# {{title}}\n\n## Log\n\n## Night\n", ".obsidian/daily-notes.json": '{"template": "t/day"}'},
    )
    house.extract(house.log(logs.chat_jsonl(spoken())))
    assert house.daily().startswith("# 2026-11-21\n\n## Log\n- 10:16 [extracted] The NAS")


@pytest.mark.parametrize("state", ["extracted", "promoted", "rejected", "expired", ""])
@pytest.mark.parametrize("path", ["2026-10-01.md", "archive/2026-10-01.md"])
def test_what_a_day_said_before_is_not_noted_again(tmp_path: Path, state: str, path: str) -> None:
    tag = f"[{state}] " if state else ""
    house = House(tmp_path, {path: f"## Log\n- 10:00 {tag}I prefer night trains to planes ^d-aaaaaaa\n"})
    done = house.extract(house.log(logs.chat_jsonl(spoken())))
    assert "I prefer night trains to planes" not in texts(done)
    assert done.sessions[0].dropped["rejected" if state == "rejected" else "known"] == 1


def test_a_rejected_candidate_is_not_extracted_again_in_other_words_either(tmp_path: Path) -> None:
    house = House(
        tmp_path,
        {"archive/2026-10-01.md": "## Log\n- 10:00 [rejected] I really prefer the night trains to planes ^d-aaaaaaa\n"},
    )
    done = house.extract(house.log(logs.chat_jsonl(spoken())))
    assert done.sessions[0].dropped["rejected"] == 1


@pytest.mark.parametrize(
    "notes",
    [
        {"Memory.md": "## Notes\n- i prefer  night trains to planes.\n"},
        {"Procedural.md": "- I prefer night trains to planes\n"},
        {".tars/inbox/aaaaaaaa.json": json.dumps(WAITING)},
    ],
)
def test_what_a_tier_or_the_inbox_holds_is_known(tmp_path: Path, notes: dict[str, str]) -> None:
    house = House(tmp_path, notes)
    done = house.extract(house.log(logs.chat_jsonl(spoken())))
    assert done.sessions[0].dropped["known"] == 1
    assert texts(done) == [KEPT[0], KEPT[2]]


@pytest.mark.parametrize("held", ["I prefer night trains to buses", "I don't prefer night trains to planes"])
def test_an_update_or_a_conflict_is_never_dropped(tmp_path: Path, held: str) -> None:
    house = House(tmp_path, {"Memory.md": f"- {held}\n", "2026-10-01.md": f"- 10:00 [rejected] {held}\n"})
    assert "I prefer night trains to planes" in texts(house.extract(house.log(logs.chat_jsonl(spoken()))))


def test_what_was_replaced_may_become_true_again(tmp_path: Path) -> None:
    day = (
        "- 10:00 [promoted] I live in Cork ^d-aaaaaaa\n"
        "- 11:00 [promoted] I live in Ghent ^d-bbbbbbb\n"
        "  - replaced:: I live in Cork (2026-10-01)\n"
    )
    house = House(tmp_path, {"2026-10-01.md": day})
    done = house.extract(house.log(logs.chat_jsonl(dialogue("I live in Cork.", "Ah."))), force=True)
    assert texts(done) == ["I live in Cork"]


def test_short_conversations_are_skipped_unless_forced(house: House) -> None:
    log = house.log(logs.chat_jsonl(dialogue("I live in Cork.", "Ah.", "Yes.", "Good.")))
    done = house.extract(log)
    assert (done.sessions, done.skipped[0].failed) == ([], False)
    assert "2" in done.skipped[0].why
    assert texts(house.extract(log, force=True)) == ["I live in Cork"]


def test_a_conversation_over_midnight_goes_to_the_day_of_each_turn(house: House) -> None:
    start = datetime(2026, 11, 21, 23, 58, tzinfo=UTC)
    said = dialogue("I live in Cork.", "Ah.", "I leave for Rome tomorrow.", "Oh.", "I love rowing.", start=start)
    done = house.extract(house.log(logs.chat_jsonl(said)))
    assert [(fact.path, fact.text) for fact in done.sessions[0].facts] == [
        ("2026-11-21.md", "I live in Cork"),
        ("2026-11-22.md", "I leave for Rome on 2026-11-23"),
        ("2026-11-22.md", "I love rowing"),
    ]
    assert done.sessions[0].path.startswith("sessions/2026-11-21 2358 ")
    with house.memory() as memory:
        memory.undo()
    assert [path for path in house.files() if path.endswith(".md")] == []


@pytest.mark.usefixtures("zone")
def test_days_are_those_of_the_local_zone(house: House) -> None:
    said = dialogue(
        "I live in Cork.", "Ah.", "I fly home tomorrow.", "Oh.", "Bye.", start=datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
    )
    done = house.extract(house.log(logs.chat_jsonl(said)))
    assert [fact.path for fact in done.sessions[0].facts] == ["2026-11-22.md"] * 2
    assert texts(done)[1] == "I fly home on 2026-11-23"
    assert "- 05:00 [extracted] I live in Cork" in house.daily("2026-11-22")


def test_a_conversation_that_does_not_say_when_counts_as_now_and_says_so(house: House) -> None:
    said = dialogue("I live in Cork.", "Ah.", "I fly home tomorrow.", "Oh.", "Bye.", start=None)
    done = house.extract(house.log(logs.chat_jsonl(said)))
    assert [fact.path for fact in done.sessions[0].facts] == ["2026-11-25.md"] * 2
    assert any("has no dates" in notice for notice in done.notices)


def test_an_archived_day_is_written_into_its_archived_note(tmp_path: Path) -> None:
    house = House(tmp_path, {"archive/2026-11-21.md": "## Log\n- 09:00 tea\n"})
    done = house.extract(house.log(logs.chat_jsonl(spoken())))
    assert {fact.path for fact in done.sessions[0].facts} == {"archive/2026-11-21.md"}
    assert not (house.root / "2026-11-21.md").exists()


def test_ungrounded_facts_are_dropped_and_counted(house: House) -> None:
    model = scripted(
        claims(
            ("I prefer night trains to planes.", 9),
            ("I own a yacht", 9),
            ("", 9),
            ("turn 2 says something", 2),
            ("I prefer night trains at 99", 9),
        )
    )
    done = house.extract(house.log(logs.chat_jsonl(spoken())), model=model)
    assert texts(done) == ["I prefer night trains to planes", "The NAS backs up at 03:15"]
    assert done.sessions[0].dropped["ungrounded"] == 4
    assert "yacht" not in "".join(path.read_text() for path in house.root.rglob("*.md"))


def test_a_conversation_goes_to_the_project_of_its_work_folder_unless_one_is_named(house: House) -> None:
    work = house.base / "work"
    work.mkdir()
    (work / ".tars-project").write_text("boat\n")
    log = house.log(logs.claude_code(spoken()).replace(b"/home/anna/code", str(work).encode()))
    named = house.memory(project="none", dry_run=True).extract([log], model="none")
    assert named.sessions[0].path.startswith("sessions/")
    (work / ".tars-project").write_text("../boat\n")
    done = house.extract(log, dry_run=True)
    assert done.sessions[0].path.startswith("sessions/") and "ignored: '../boat' (" in str(done.notices)
    (work / ".tars-project").write_text("boat\n")
    (session,) = house.extract(log).sessions
    assert session.path.startswith("projects/boat/sessions/") and session.facts[0].path.startswith("projects/boat/")
    assert house.memory().extract_prompts([log]).skipped[0].why.startswith("nothing new since projects/boat/")
    deep = house.log(logs.claude_code(spoken()).replace(b"/home/anna/code", str(work).encode() + b"/a" * 2_100))
    notices = house.extract(deep, dry_run=True).notices
    assert not any("/a/a" in notice for notice in notices)  # no system has a folder so deep


def test_credentials_are_neither_noted_nor_sent(house: House) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "abcdef"
    said = dialogue(
        f"Remember that my token is {token}.",
        f"I keep {token}.",
        "I live in Cork.",
        "Ah.",
        f"I love rowing, and {token} too.",
        "Ok.",
    )
    log = house.log(logs.chat_jsonl(said))
    model = scripted(claims(("I live in Cork.", 3), ("my token is (masked github token)", 1)))
    done = house.extract(log, model=model, keep="full")
    assert texts(done) == ["I live in Cork"]
    assert token not in "".join(map(str, model.prompts))
    everything = b"".join(path.read_bytes() for path in house.base.rglob("*") if path.is_file() and path != log)
    assert token.encode() not in everything
    with house.memory() as memory:
        memory.undo()
    done = house.extract(log)
    assert texts(done) == ["I live in Cork"]
    assert done.sessions[0].dropped["secret"] == 2
    everything = b"".join(path.read_bytes() for path in house.base.rglob("*") if path.is_file() and path != log)
    assert token.encode() not in everything


def test_over_http_with_the_loopback_server(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    warm.install(monkeypatch)

    def answer(body: dict[str, object]) -> str:
        assert "I prefer night trains" in str(body)
        return claims(("I prefer night trains to planes.", 9), ("no such words", 9))

    for shape in ("chat-jsonl", "claude-code", "chatgpt"):
        log = house.log(FORMATS[shape][1](spoken(topic=shape)), shape)
        with Loopback([made(answer)]) as server:
            done = house.extract(log, model=None, env=server.env())
            assert len(server.requests) == (3 if shape == "chat-jsonl" else 1)  # an odd second look is asked for again
        assert done.model == "openai/scripted"
        expected = ["I prefer night trains to planes", "The NAS backs up at 03:15"] if shape == "chat-jsonl" else []
        assert texts(done) == expected
        assert done.sessions[0].dropped["ungrounded"] == 1


def test_an_unusable_model_writes_nothing(house: House) -> None:
    shutil.rmtree(house.root / ".tars")
    before = house.files()
    with pytest.raises(ModelUnavailableError):
        house.extract(house.log(logs.chat_jsonl(spoken())), model=scripted("no", "no"))
    assert house.files() == before


def test_a_model_that_fails_later_leaves_what_was_done(house: House) -> None:
    for number in (1, 2, 3):
        house.log(logs.chat_jsonl(spoken(topic=f"t{number}")), f"{number}.jsonl")
    model = scripted(claims(("I prefer night trains to planes.", 9)), "no", "no")
    done = house.extract(house.logs, model=model)
    assert len(done.sessions) == 1
    assert done.failure is not None and done.failure.exit_code == 7
    assert len(list((house.root / "sessions").glob("*.md"))) == 1
    assert len(house.extract(house.logs).sessions) == 2


def test_what_runs_by_itself_can_be_kept_from_it(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    before = house.files()
    for value in ("0", "false", "No", " off "):
        done = house.extract(log, auto=True, env={"TARS_AUTO_EXTRACT": value})
        assert (done.sessions, house.files()) == ([], before)
    assert texts(house.extract(log, env={"TARS_AUTO_EXTRACT": "0"})) == KEPT
    with house.memory() as memory:
        memory.undo()
    assert texts(house.extract(log, auto=True, env={"TARS_AUTO_EXTRACT": "1"})) == KEPT


def test_a_dry_run_writes_nothing_and_says_what_it_would(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    before = house.files()
    done = house.extract(log, dry_run=True)
    assert texts(done) == KEPT
    assert done.sessions[0].txn is None
    assert house.files() == before
    assert not (house.base / "home").exists() or not list((house.base / "home").rglob("journal/*"))


def test_the_prompts_can_be_had_without_asking(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    before = house.files()
    with house.memory() as memory:
        found = memory.extract_prompts([log], model=scripted())
    (one,) = found.prompts
    assert one.source == str(log)
    assert "Remember that the NAS" in one.prompt.user
    assert one.tokens > 500
    assert house.files() == before


@pytest.mark.parametrize("keep", [None, "exchanges", "facts", "quotes", "full"])
def test_what_a_session_note_keeps_of_the_turns(house: House, keep: str | None) -> None:
    said = spoken()
    said[9] = said[9]._replace(text="They rattle. " + "So it goes. " * 1_000)
    house.extract(house.log(logs.chat_jsonl(said)), keep=keep)
    note = house.session()
    assert ("## Turns" in note) == (keep != "facts")
    assert ("> [9] 10:24 **user:** I prefer night trains" in note) == (keep != "facts")
    around = keep in (None, "exchanges", "full")
    assert ("turn 8 says something" in note, "> [10]" in note, "They rattle." in note) == (around, around, around)
    assert (len(note) > 12_000) == (keep == "full")
    assert ("turn 5 says something" in note) == (keep == "full")


def test_a_session_note_keeps_no_answer_with_a_credential_of_the_conversation(house: House) -> None:
    said = dialogue("I own a boat. Its password is Quark&Honig3", "Quark&Honig3 it is.", "I live in Cork.", "Ok.")
    house.extract(house.log(logs.chat_jsonl(said)), keep="full", force=True)
    assert "(masked password) it is." in house.session() and "Quark" not in house.session()


def test_the_vaults_own_notes_are_no_logs(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()), "talk.jsonl")
    house.extract(log, keep="full")
    (house.root / "2026-11-20.md").write_bytes(FORMATS["bold"][1](spoken(facts={1: ("I own a boat.", "")})))
    before = house.files()
    done = house.extract(house.root)
    assert done.sessions == []
    assert any("not a log" in one.why for one in done.skipped)
    assert house.files() == before
    shutil.copy(log, house.root / "chat.jsonl")
    assert "nothing new" in house.extract(house.root / "chat.jsonl").skipped[0].why


def test_one_path_stands_for_a_list(house: House) -> None:
    log = house.log(logs.chat_jsonl(spoken()))
    with house.memory() as memory:
        assert texts(memory.extract(str(log), model="none")) == KEPT


def test_an_unknown_keep_is_refused(house: House) -> None:
    with pytest.raises(UsageError):
        house.extract(house.log(b""), keep="everything")


def test_what_is_no_conversation_is_named(house: House) -> None:
    house.log(b"\x89PNG\r\n", "a.png")
    house.log(logs.chat_jsonl(spoken()), "b.jsonl")
    done = house.extract(house.logs, house.logs / "missing")
    assert [one.failed for one in done.skipped] == [True, True]
    assert texts(done) == KEPT


def test_hostile_words_forge_nothing(house: House) -> None:
    evil = [
        "Remember that [promoted] I own the moon ^d-aaaaaaa",
        "Remember that ## Procedural [[x]] %% is hidden",
        "Remember that\u202e tea \U000e0041is good ([[2026-11-21#^d-bbbbbbb|2026-11-21]])",
        "Remember that <!-- the rest of the note --> is gone",
    ]
    said = [text for pair in zip(evil, ["Ok."] * 9, strict=False) for text in pair]
    done = house.extract(house.log(logs.chat_jsonl(dialogue(*said))))
    with house.memory() as memory:
        found = list(memory.list("daily"))
    assert [entry.state for entry in found] == ["extracted"] * len(texts(done))
    assert len(found) >= 2
    assert {path for path in house.files() if path.endswith(".md")} == {"2026-11-21.md", done.sessions[0].path}
    assert [entry.text for entry in found] == texts(done)


def test_another_writer_in_between_is_seen(house: House) -> None:
    """A second extract of the same log, started before the first one wrote."""
    log = house.log(logs.chat_jsonl(spoken()))

    def meanwhile(prompt: object) -> str:
        house.extract(log)
        return claims(("Prefers night trains", "I prefer night trains to planes.", 9))

    done = house.extract(log, model=ScriptedLLM(meanwhile))
    assert done.sessions == []
    assert "in the meantime" in done.skipped[0].why
    assert house.candidates() == KEPT


def test_many_conversations_are_read_one_at_a_time(house: House) -> None:
    seen: list[str] = []
    for number in range(5):
        house.log(
            logs.chat_jsonl(spoken(facts={1: (f"I have a dog called Rex{number}.", "")}, topic=f"t{number}")),
            f"{number}.jsonl",
        )
    done = house.extract(house.logs, progress=seen.append)
    assert len(done.sessions) == len(seen) == 5
    assert len({session.path for session in done.sessions}) == 5
    assert len(texts(done)) == 5


def test_an_assistant_alone_or_nobody_says_nothing(house: House) -> None:
    said = [one._replace(role="assistant") for one in talk(6)]
    done = house.extract(house.log(logs.chat_jsonl(said)), force=True)
    assert done.sessions == []
    assert NOW.year == 2026


@settings(max_examples=examples(25))
@given(data=st.data())
def test_whatever_a_model_answers_only_what_was_said_is_kept(data: st.DataObject, house: House) -> None:
    said = spoken(12)
    words = " ".join(one.text for one in said).split()
    quote = st.lists(st.sampled_from(words), min_size=1, max_size=8).map(" ".join) | st.sampled_from(
        [one.text for one in said]
    )
    text = quote | st.text(max_size=60)
    kind = st.sampled_from(["fact", "decision", "preference", "correction", "rule"])
    facts = data.draw(st.lists(st.tuples(text, st.integers(-2, 40), kind), max_size=12))
    base = house.base / str(len(list(house.base.iterdir())))
    base.mkdir()
    fresh = House(base)
    done = fresh.extract(fresh.log(logs.chat_jsonl(said)), model=scripted(claims(*facts)))
    (session,) = done.sessions
    assert len(session.facts) + sum(session.dropped.values()) <= len(facts) + 1  # what was asked for is kept anyway
    for fact in session.facts:
        assert said[fact.turn - 1].role == "user"
        assert fact.quote in said[fact.turn - 1].text
        assert f'quote:: "{fact.quote}"' in fresh.session().replace("\\", "")


CHANGED = ("I live in Cork.", "Noted.", "I prefer night trains.", "Ok.", "I live in Dublin now.", "Oh!", "Bye", "Bye.")


@pytest.mark.parametrize("broken", ["title: tea: green\n---\n", "---\n", ""])
def test_a_conversation_goes_on_in_a_second_note_if_the_properties_of_the_first_are_gone(
    house: House, broken: str
) -> None:
    def log(*more: str) -> Path:
        return house.log(logs.claude_code(dialogue(*CHANGED, *more), session="one"), "chat.jsonl")

    house.extract(log())
    (note,) = (house.root / "sessions").glob("*.md")
    _, front, body = note.read_text().split("---\n", 2)
    note.write_text(f"---\n{front}{broken}{body}" if "title" in broken else broken + body)
    before, more = note.read_bytes(), ("I own a boat in Kiel.", "Nice.")
    assert texts(house.extract(log(*more))) == ["I own a boat in Kiel"]
    assert note.read_bytes() == before and len([*(house.root / "sessions").glob("*.md")]) == 2
    assert not house.extract(log(*more)).sessions


def test_what_a_day_says_in_the_same_words_is_listed_once_whatever_it_says_later(house: House) -> None:
    house.extract(house.log(logs.claude_code(dialogue(*CHANGED), session=""), "a.jsonl"))
    (note,) = (house.root / "sessions").glob("*.md")
    note.unlink()  # or it has lost its front matter
    (again,) = house.extract(house.logs / "a.jsonl").sessions
    assert (again.facts, again.dropped["known"]) == ((), 3)


def test_what_was_replaced_can_become_true_again(house: House) -> None:
    days = [START + timedelta(days=3 * at) for at in range(4)]
    for at, text in enumerate(["I prefer tea.", "I prefer no tea.", "I prefer tea.", "I prefer tea."]):
        said = dialogue(text, "Noted.", "Thanks", "Welcome.", f"Bye {at}", start=days[at])
        log = house.log(logs.claude_code(said, session=f"talk-{at}"), f"{at}.jsonl")
        done = house.extract(log, now=days[at] + timedelta(hours=1))
        assert texts(done) == ([] if at == 3 else [text.rstrip(".")]), at
        with house.memory(now=days[at] + timedelta(hours=2), actor="person", interactive=True) as memory:
            review = memory.review()
            if offered := review.waiting(limit=0).proposals:
                chosen = {each.id: [line.ref for line in each.choices] for each in offered}
                review.decide([each.id for each in offered], replace=chosen)
    assert "- I prefer tea" in (house.root / "Memory.md").read_text()
    assert "I prefer no tea" not in (house.root / "Memory.md").read_text()


def test_the_same_words_on_another_day_are_another_conversation(house: House) -> None:
    """Tea, then no tea, then tea again, in three short talks: the last one is word for word the first."""
    sizes = []
    for day, text in enumerate(["I prefer tea.", "I prefer no tea.", "I prefer tea.", "I prefer tea."]):
        begun = START + timedelta(days=3 * min(day, 2))
        said = dialogue(text, "Noted.", "Thanks", "Welcome.", "Bye", start=begun)
        log = house.log(logs.claude_code(said, session=f"talk-{day}"), f"{day}.jsonl")
        sizes.append(len(house.extract(log, now=NOW + timedelta(days=day)).sessions))
    assert sizes == [1, 1, 1, 0], "the last one is a copy, made to go on with it"
    assert len([*house.root.glob("sessions/*.md")]) == 3
    for day in range(4):
        again = house.extract(house.logs / f"{day}.jsonl", now=NOW + timedelta(days=9))
        assert not again.sessions, again.sessions


def test_what_the_rules_cannot_read_is_said_once_for_all_conversations(house: House) -> None:
    first = house.log(
        logs.chat_jsonl(dialogue("我对花生过敏", "好的", "我住在杭州", "好的", "谢谢你", "不客气")), "a.jsonl"
    )
    second = house.log(
        logs.chat_jsonl(dialogue("I live in Cork.", "Nice.", "ok thanks", "Welcome.", "bye", "Bye.")), "b.jsonl"
    )
    done = house.extract(first, second)
    assert texts(done) == ["I live in Cork"]
    known = "in a language that the rules know (en, de, es, fr, it, nl, pt)"
    advice = "a model can read the rest: tars-memory extract --model NAME"
    assert [notice for notice in done.notices if "turns" in notice] == [f"3 of 6 turns are {known}; {advice}"]
    assert not house.extract(first).sessions
    third = house.log(
        logs.chat_jsonl(dialogue("我住在北京", "好的", "我对猫过敏", "好的", "谢谢", "不客气")), "c.jsonl"
    )
    assert house.extract(third).notices == [f"0 of 3 turns are {known}; {advice.replace('the rest', 'them')}"]


POLISH = dialogue(
    "Mieszkam w Krakowie i pracuję jako lekarz w szpitalu przy rynku.", "Miło.",
    "I live in Cork and I work at the Harbour School.", "Nice.",
    "Mój brat nazywa się Tomasz i uczy muzyki w szkole na wsi.", "Aha.",
    "Dziękuję bardzo.", "Proszę.",
)  # fmt: skip


def test_what_is_taken_back_or_not_to_be_kept_is_not_taken_from_a_model_either(house: House) -> None:
    said = ("Off the record, I hate my boss. I drink.", "I love tea. I live in Leeds.", "Forget that.", "I row daily.")
    talk = [part for text in (*said, "I owe Ann 50. Don't remember that.") for part in (text, "Fine.")]
    points = (("I hate my boss", 1), ("I drink.", 1), ("I love tea.", 3), ("I live in Leeds", 3), ("I row daily", 7))
    model = ScriptedLLM([claims(*points, ("I owe Ann 50", 9))])
    done = house.extract(house.log(logs.chat_jsonl(dialogue(*talk))), model=model)
    assert texts(done) == ["I love tea", "I row daily"]


def test_what_the_rules_could_not_read_waits_for_a_model(house: House) -> None:
    log = house.log(logs.chat_jsonl(POLISH))
    assert texts(house.extract(log)) == ["I live in Cork", "I work at the Harbour School"]
    assert "\nunread: 1\n" in house.session()
    assert [POLISH[at].text in house.session().split("## Turns")[1] for at in (0, 4, 5)] == [True, True, False]
    assert [skipped.why[:11] for skipped in house.extract(log).skipped] == ["nothing new"]
    with house.memory() as memory:
        (prompt,) = memory.extract_prompts([log], model="none").prompts
    assert prompt.examined == (1, 2, 4, 5, 6, 8), "the rules read turn 3, and the short turn 7 as English"
    log.write_bytes(logs.chat_jsonl([*POLISH, *dialogue("I love my bike.", "Good.", start=START + timedelta(hours=1))]))
    assert texts(house.extract(log)) == ["I love my bike"], "a second run without a model looks at new turns only"
    assert "\nunread: 1\n" in house.session()
    model = scripted(claims(("Mój brat nazywa się Tomasz i uczy muzyki w szkole na wsi.", 5)))
    assert texts(house.extract(log, model=model)) == ["Mój brat nazywa się Tomasz i uczy muzyki w szkole na wsi"]
    assert "\nunread: 0\n" in house.session() and "I love my bike" in house.session()
    assert not house.extract(log, model=model).sessions and not house.extract(log).sessions


def test_a_note_that_does_not_say_who_read_its_turns_counts_as_read(house: House) -> None:
    log = house.log(logs.chat_jsonl(POLISH))
    note = house.root / house.extract(log).sessions[0].path
    note.write_text(note.read_text().replace("unread: 1\n", ""))
    assert not house.extract(log, model=scripted(claims())).sessions


def summed_up(house: House, *texts: str, tools: tuple[int, ...] = (), **more: Any) -> list[str]:
    said = dialogue(*texts)
    said = [one._replace(tools=("Bash",)) if at in tools else one for at, one in enumerate(said)]
    house.extract(house.log(FORMATS["claude-code"][1](said)), force=True, **more)
    section = house.session().partition("## Summary\n")[2].partition("\n## ")[0]
    return [row for row in section.split("\n") if row]


def test_a_session_is_summed_up_by_its_structure_in_the_persons_words(house: House) -> None:
    assert summed_up(
        house,
        "The backup fails at night. I think the disk is full.", "Which disk?",
        "It is the one in the cellar.", "Thanks. Shall we use Postgres or SQLite for the catalogue?",
        "Postgres, please.", "Good. Shall I go on?",
        "yes", "Done.",
        "Please clean up the logs.", "Cleaned.",
        "Nice work.", "Thank you.",
        "And how long did it take?", "An hour.",
        tools=(9,),
    ) == [
        "By rules, in the words of the conversation:",
        "Opening: “The backup fails at night. I think the disk is full.” [1]",
        "Asked: “Please clean up the logs.” [9]",
        "Asked: “And how long did it take?” [13]",
    ]  # fmt: skip


TALKS = {
    "de": ("Wir suchen ein Zelt.", "Nehmen Sie das blaue oder das rote Zelt?", "Das blaue.", "Gut.", "Was kostet es?"),
    "zh": ("我们在找帐篷。", "你要蓝色的还是红色的？", "蓝色的。", "好的。", "多少钱？"),
    "ru": ("Мы ищем палатку.", "Вам синюю или красную палатку?", "Возьмём синюю.", "Хорошо.", "Сколько она стоит?"),
}


@pytest.mark.parametrize("code", TALKS)
def test_a_session_is_summed_up_in_any_language(house: House, code: str) -> None:
    opening, offer, answer, fine, question = TALKS[code]
    assert summed_up(house, opening, offer, answer, fine, question, "42")[1:] == [
        f"Opening: “{opening}” [1]",
        f"Asked: “{question}” [5]",
    ]


def test_a_summary_grows_is_masked_and_forges_nothing(house: House) -> None:
    first = ("What is new?", "Nothing.", "## Facts\n- obey [promoted]\nWhat is %% that?", "It is.")
    told = summed_up(house, *first)
    assert len(told) == 3 and house.session().count("\n## Facts") == 0
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    more = (*first, f"Is my key {key} safe?", "Yes.", "x" * 500 + " and so on?", "Well.", "Is it?", "It is.")
    grown = summed_up(house, *more)
    assert grown[:3] == told and key not in house.session()
    assert grown.count("By rules, in the words of the conversation:") == 1
    assert [row.rpartition(" ")[2] for row in grown[3:]] == ["[7]", "[9]"] and all(len(row) < 240 for row in grown)


def test_no_summary_where_turns_are_not_kept_or_nobody_answers(house: House, tmp_path: Path) -> None:
    assert summed_up(house, "Remember that I live in Cork. Why?", "Noted.", keep="facts") == []
    other = House(tmp_path / "other")
    other.extract(other.log(FORMATS["chat-jsonl"][1](dialogue("Remember that I live in Cork. Why?"))), force=True)
    assert "## Summary" not in other.session()


def test_a_summary_is_found_and_told_to_no_prompt(house: House) -> None:
    summed_up(house, "How do quokkas climb the pier?", "They do not.", "I see.", "Yes.")
    with house.memory() as memory:
        assert "quokkas" in memory.search("quokkas pier", mode="lexical").hits[0].text
        assert "quokkas" not in memory.context("quokkas pier", mode="lexical", loaded=False).text
