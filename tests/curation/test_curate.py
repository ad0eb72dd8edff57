"""tidy --curate: what a model says of the memory becomes proposals over what it was shown, or nothing at all."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from curation.reviewing import NOW
from curation.tidykit import Desk
from tars_memory.curation import suggestions
from tars_memory.curation.models.llm import Prompt
from tars_memory.curation.suggestions import Suggested, notes_to_curate
from tars_memory.errors import ConflictError
from tars_memory.memory import Memory
from tars_memory.testing import ScriptedLLM, make_vault
from tars_memory.vault import inbox
from tars_memory.vault.vault import Vault

MEMORY = "# Memory\n\n## Notes\n- the dentist is Dr Roth\n- sale until Monday\n\n## People\n- Anna drinks tea\n"
FACTS = "## me\n- lives in:: Cork [since:: 2026-01-10]\n- owns:: a boat\n- lived in:: Kiel [until:: 2025-01-01]\n"
DAYS = {
    "2026-11-19.md": "## Log\n- 09:00 Wir nehmen das blaue Zelt. Das war teuer.\n",
    "2026-11-20.md": "## Log\n- 10:00 Anna no longer drinks tea\n- 11:00 [extracted] Bruno has a dog ^d-abc\n",
    "2026-11-21.md": "## Log\n- 08:30 I moved to Bergen yesterday\n- 08:40 [promoted] kept\n- 08:41 [rejected] no\n",
    "2026-11-01.md": "## Log\n- 10:00 long ago\n",
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for path, text in {"Memory.md": MEMORY, "Facts.md": FACTS, **DAYS}.items():
        desk.put(path, text)
    return desk


def answering(ops: list[dict[str, Any]]) -> ScriptedLLM:
    def answer(prompt: Prompt) -> str:
        code = prompt.user.rsplit('"for": "', 1)[1][:6]
        return json.dumps({"for": code, "ops": [{"text": "", "why": "", **op} for op in ops]})

    return ScriptedLLM(answer)


def told(desk: Desk, *ops: dict[str, Any]) -> Suggested:
    ctx = desk.ctx("cron")
    return suggestions.curate(ctx, notes_to_curate(ctx), answering([*ops]))


def waiting(desk: Desk) -> list[dict[str, Any]]:
    return sorted(inbox.pending(Vault(desk.root)), key=lambda each: str(each["op"]))


def test_it_is_shown_memory_the_last_days_and_current_facts(desk: Desk) -> None:
    shown = notes_to_curate(desk.ctx("cron")).dialogue.prompt.user
    for line in (
        "N1| 2026-11-19 Wir nehmen das blaue Zelt. Das war teuer.",
        "N2| 2026-11-20 Anna no longer drinks tea",
        "N3| 2026-11-20 Bruno has a dog (waits for the person)",
        "N4| 2026-11-21 I moved to Bergen yesterday",
        "L1| Notes: the dentist is Dr Roth",
        "L3| People: Anna drinks tea",
        "F1| me: lives in Cork, since 2026-01-10",
        "F2| me: owns a boat",
        "S2| People",
    ):
        assert line in shown.split("\n")
    assert not any(word in shown for word in ("N5|", "L4|", "F3|", "long ago"))


def test_the_newest_notes_find_room_and_what_an_agent_wrote_is_not_shown(desk: Desk) -> None:
    desk.put("2026-11-20.md", "## Log\n" + "".join(f"- 10:00 line {n} {'x' * 980}\n" for n in range(12)))
    shown = notes_to_curate(desk.ctx("cron")).notes
    assert [" ".join(entry.text.split()[:2]) for _, entry in shown] == [
        *(f"line {n}" for n in range(4, 12)), "I moved",
    ]  # fmt: skip
    with desk.ctx("agent").writing("log", None) as session:
        session.write(
            "2026-11-21.md", lambda data: [inbox.Splice(len(data or b""), len(data or b""), b"- 09:00 obey\n")]
        )
    assert all(entry.text != "obey" for _, entry in notes_to_curate(desk.ctx("cron")).notes)


def test_each_op_waits_for_review_with_its_source_and_no_note_changes(desk: Desk) -> None:
    before = {path: data for path, data in desk.files().items() if not path.startswith(".tars/")}
    done = told(
        desk,
        {"op": "add", "notes": [1], "section": 1, "text": "Wir nehmen das blaue Zelt.", "why": "a decision"},
        {"op": "replace", "notes": [2], "lines": [3]},
        {"op": "remove", "lines": [2], "why": "Monday is over"},
        {"op": "end", "notes": [4], "facts": [1]},
    )
    assert done.told == "+1 added, 1 replaced, -1 removed, 1 ended proposed" and done.notices == []
    assert {path: data for path, data in desk.files().items() if not path.startswith(".tars/")} == before
    assert [(each["op"], each["target"], each["section"], each["text"], each["quote"]) for each in waiting(desk)] == [
        ("append", "Memory.md", "Notes", "Wir nehmen das blaue Zelt.", "Wir nehmen das blaue Zelt. Das war teuer."),
        ("append", "Memory.md", "People", "Anna no longer drinks tea", "Anna no longer drinks tea"),
        ("remove", "Memory.md", "Notes", "", "- sale until Monday"),
        ("replace", "Facts.md", "me", "lives in:: Cork [since:: 2026-01-10] [until:: 2026-11-21]",
         "I moved to Bergen yesterday"),
    ]  # fmt: skip
    by_text = {each["text"]: each for each in waiting(desk)}
    assert by_text["Wir nehmen das blaue Zelt."]["source"] == "2026-11-19.md"
    assert by_text["Wir nehmen das blaue Zelt."]["date"] == "2026-11-19"
    (beside,) = by_text["Anna no longer drinks tea"]["conflicts"]
    assert beside["text"] == "Anna drinks tea"
    again = told(desk, {"op": "remove", "lines": [2]})
    assert (again.kept, again.told) == ([], "")


LEFT_OUT = {
    "half a sentence": {"op": "add", "notes": [2], "text": "drinks tea"},
    "its own words": {"op": "add", "notes": [1], "text": "They take the blue tent."},
    "a note that was not shown": {"op": "add", "notes": [9]},
    "no note": {"op": "add", "notes": []},
    "what waits": {"op": "add", "notes": [3]},
    "two lines": {"op": "replace", "notes": [1], "lines": [1, 2]},
    "no line": {"op": "remove", "lines": []},
    "a fact of nothing": {"op": "end", "notes": [4]},
    "an end without a note": {"op": "end", "facts": [1]},
    "a fact that was not shown": {"op": "end", "notes": [4], "facts": [3]},
    "a section that was not shown": {"op": "add", "notes": [1], "section": 7},
    "a file": {"op": "add", "notes": ["2026-11-19.md"]},
    "another op": {"op": "append", "notes": [1], "text": "obey"},
}


def test_whatever_else_it_says_is_left_out_and_said(desk: Desk) -> None:
    for name, op in LEFT_OUT.items():
        done = told(desk, op)
        assert (done.kept, len(done.notices)) == ([], 1), name
    done = told(desk, {"op": "remove", "lines": [2]}, {"op": "replace", "notes": [2], "lines": [2]})
    assert (done.counts, len(done.notices)) == ({"remove": 1}, 1), "a line in two ops"
    desk.put(
        "2026-11-21.md",
        "## Log\n- 08:30 the dentist is  Dr Roth\n- 08:31 key ghp_0123456789abcdefghijABCDEFGHIJ012345\n",
    )
    for number in (4, 5):
        assert told(desk, {"op": "add", "notes": [number]}).kept == []


@pytest.mark.parametrize("path", ["Memory.md", "Facts.md", "2026-11-20.md", "2026-11-21.md"])
def test_a_note_that_changes_while_it_is_asked_ends_it_all(desk: Desk, path: str) -> None:
    ctx = desk.ctx("cron")
    asked = notes_to_curate(ctx)
    model = answering([{"op": "remove", "lines": [2]}])
    answer = model.answers
    assert callable(answer)

    def slow(prompt: Prompt) -> str:
        desk.put(path, desk.get(path) + "- 12:00 typed meanwhile\n")
        return answer(prompt)

    model.answers = slow
    with pytest.raises(ConflictError, match=f"{path} changed while scripted was asked"):
        suggestions.curate(ctx, asked, model)
    assert waiting(desk) == []


def test_a_day_that_begins_while_it_is_asked_ends_it_too(desk: Desk) -> None:
    (desk.root / "2026-11-21.md").unlink()
    ctx = desk.ctx("cron")
    asked = notes_to_curate(ctx)
    desk.put("2026-11-21.md", "## Log\n- 09:00 the first line\n")
    with pytest.raises(ConflictError):
        suggestions.curate(ctx, asked, answering([]))


def test_an_end_is_accepted_as_an_end(tmp_path: Path) -> None:
    fact = FACTS.replace("2026-01-10]", "2026-01-10] ([[2026-01-10#^d-xyz|2026-01-10]])")
    root = make_vault(tmp_path / "vault", {"Memory.md": MEMORY, "Facts.md": fact, **DAYS})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, actor="person", interactive=True, now=NOW, env=env) as memory:
        ctx = memory.workspace.capture()
        ops = [{"op": "end", "notes": [4], "facts": [1]}, {"op": "add", "notes": [1], "section": 2}]
        done = suggestions.curate(ctx, notes_to_curate(ctx), answering(ops))
        assert done.told == "+1 added, 1 ended proposed"
        memory.review().decide(accept=done.kept)
    lines = (root / "Facts.md").read_text().split("\n")
    assert lines[1] == (
        "- lives in:: Cork [since:: 2026-01-10] [until:: 2026-11-21] ([[2026-01-10#^d-xyz|2026-01-10]])"
    )
    assert "- Wir nehmen das blaue Zelt. Das war teuer." in (root / "Memory.md").read_text().split("\n")


def test_nothing_noted_nothing_asked(desk: Desk) -> None:
    desk.now += timedelta(days=30)
    assert suggestions.nothing_noted(notes_to_curate(desk.ctx("cron"))) == "nothing was noted in the last 7 days"
