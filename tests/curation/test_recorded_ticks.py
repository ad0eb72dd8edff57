"""Ticks that a process which an agent runs finds: recorded, not done, until somebody else does them, once."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from curation.reviewing import NOW, Vault
from curation.test_review_note import tick
from tars_memory.curation import review
from tars_memory.memory import Memory
from tars_memory.settings import AGENT_MARKS, agent_mark

AGENT: dict[str, Any] = {"actor": "agent", "interactive": False}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = Vault(tmp_path)
    vault.review().write_note()
    tick(vault, "prefers tea", "x")
    tick(vault, "prefers no tea", "-")
    tick(vault, "Ask before deleting files", "x")
    return vault


def found(memory: Memory) -> list[str]:
    return sorted(each.decision for each in memory.review(writes=False).waiting(limit=1).recorded)


def test_an_agents_process_records_and_does_nothing(vault: Vault) -> None:
    before = vault.files()
    journal = len(list(vault.memory().history()))
    told = vault.memory(**AGENT).review().from_note()
    assert told.decided == [] and told.txn is None
    assert sorted(each.decision for each in told.recorded) == ["accepted", "accepted", "rejected"]
    assert "run tars-memory review yourself" in told.notices[-1]
    assert vault.files() == before
    assert len(list(vault.memory().history())) == journal
    again = vault.memory(**AGENT).review().from_note()
    assert [each.time for each in again.recorded] == [each.time for each in told.recorded]
    assert vault.files() == before


@pytest.mark.parametrize("does", ["log", "remember", "feedback", "extract", "tidy", "sleep", "watch"])
def test_no_command_of_an_agent_applies_ticks(vault: Vault, does: str) -> None:
    memory = vault.memory(**AGENT, env={"TARS_MEMORY_EMBEDDING_MODEL": "none"})
    before = vault["Memory.md"], vault["Procedural.md"], vault["Review.md"]
    if does == "sleep":
        from tars_memory.jobs.sleep import sleep

        log = vault.base / "log.jsonl"
        log.write_bytes(b'{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "ho"}\n')
        sleep(memory, [str(log)])
    elif does == "watch":
        memory.workspace.apply_pending_ticks()  # as each look of the watcher does
    elif does == "tidy":
        memory.tidy(apply=True)
    elif does == "extract":
        memory.extract([])
    elif does == "remember":
        memory.remember("Anna likes oolong")
    elif does == "log":
        memory.log("met Anna")
    else:
        memory.feedback(True, "well done")
    after = vault["Memory.md"].replace("- Anna likes oolong\n", ""), vault["Procedural.md"], vault["Review.md"]
    assert after == before
    assert "promoted] prefers tea" not in vault["2026-11-19.md"]
    assert found(vault.memory()) == ["accepted", "accepted", "rejected"]


def test_it_is_said_once_and_not_at_every_command(vault: Vault) -> None:
    def told() -> list[str]:
        memory = vault.memory(**AGENT)
        memory.log("x")
        return [each for each in memory.workspace.notices if "recorded" in each]

    assert len(told()) == 1
    assert told() == []


def test_the_next_process_of_anybody_else_does_them_once(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    vault.script().log("met Anna")
    assert "[promoted] prefers tea" in vault["2026-11-19.md"]
    assert vault["Procedural.md"].count("Ask before deleting files") == 1
    assert found(vault.memory()) == []
    after = vault.files()
    assert vault.script().review().from_note().decided == []
    assert vault.memory(**AGENT).review().from_note().recorded == ()
    assert vault.files() == after


def test_the_walk_decides_them_like_any_other(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    listed = vault.review().waiting()
    assert len(listed.recorded) == 3
    assert "an agent may have set them" in listed.notices[-1]
    ids = {each.text: each.id for each in listed.proposals}
    vault.review().decide(reject=[ids["prefers tea"]])
    assert found(vault.memory()) == ["accepted", "rejected"]
    assert "prefers tea" not in vault["Memory.md"].replace("prefers no tea", "")


def test_a_tick_that_is_taken_back_is_recorded_no_more(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    vault["Review.md"] = vault["Review.md"].replace("[x]", "[ ]")
    assert found(vault.memory()) == ["rejected"]
    assert [each.decision for each in vault.memory(**AGENT).review().from_note().recorded] == ["rejected"]
    done = vault.script().review().from_note()
    assert [each.decision for each in done.decided] == ["rejected"]


def test_other_words_behind_a_tick_are_another_tick(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    vault["Review.md"] = vault["Review.md"].replace("[x] prefers tea", "[x] prefers green tea")
    assert found(vault.memory()) == ["accepted", "rejected"]
    later = vault.memory(**{**AGENT, "now": NOW + timedelta(hours=1)}).review().from_note()
    assert sum(each.is_new for each in later.recorded) == 1


def test_a_note_that_is_gone_or_written_anew_holds_no_recorded_tick(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    (vault.root / "Review.md").unlink()
    assert found(vault.memory()) == []
    vault.review().write_note()
    assert found(vault.memory()) == []
    assert vault.script().review().from_note().decided == []


def test_undo_after_somebody_did_them_leaves_them_to_be_said_anew(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    ticked = vault.files()
    vault.script().review().from_note()
    for _ in range(5):
        if vault.files() == ticked:
            break
        vault.memory().undo()
    assert vault.files() == ticked
    vault.memory(**AGENT).log("x")
    assert "promoted] prefers tea" not in vault["2026-11-19.md"]
    assert len(vault.script().review().from_note().decided) == 3


def test_why_and_history_say_who_it_was(vault: Vault) -> None:
    tick(vault, "dentist on 16 Oct", "+")
    data = vault["Review.md"]
    vault["Review.md"] = data.replace("[+]", "[ ]")
    vault.memory(**AGENT).review().from_note()
    vault["Review.md"] = data
    vault.script().review().from_note()

    def approved(words: str) -> str:
        (step,) = [each for each in vault.memory().why(words).chain if each.kind == "approved"]
        return step.text

    assert approved("Ask before deleting files") == (
        "approved by person (review), by a tick in a note that an agent's process found first (2026-11-21 15:00)"
    )
    assert approved("dentist on 16 Oct") == "approved by person (review), by a tick in a note"
    assert {each.actor for each in vault.memory().history() if each.file == "Memory.md"} == {"person"}


def test_whoever_is_allowed_to_accept_does_them_in_his_own_name(vault: Vault) -> None:
    config = vault.base / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[permissions]\nunattended_review = true\n")
    done = vault.memory(**AGENT).review().from_note()
    assert {each.proposal.target for each in done.decided if each.decision == "accepted"} == {"Memory.md"}
    assert "Ask before deleting files" not in vault["Procedural.md"]
    assert {each.actor for each in vault.memory().history() if each.file == "Memory.md"} == {"agent"}


def test_each_project_has_its_own(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    inside = vault.memory(**AGENT, project="website")
    (vault.root / "projects" / "website").mkdir(parents=True)
    assert inside.review().from_note().recorded == ()
    assert len(found(vault.memory())) == 3


@pytest.mark.parametrize(
    "data", [b"", b"[", b"[" * 100_000, b"[]", b'{"Review.md": 7}', b'{"Review.md": {"x": 1, "y": [1, 2]}}', b"\xff"]
)
def test_a_damaged_record_costs_itself_alone(vault: Vault, data: bytes) -> None:
    memory = vault.memory(**AGENT)
    memory.review().from_note()
    path = memory.workspace.ensure_state() / review.RECORD
    assert b"tea" not in path.read_bytes(), "no words stand there"
    path.write_bytes(data)
    assert found(vault.memory()) == []
    assert len(vault.memory(**AGENT).review().from_note().recorded) == 3
    assert len(json.loads(path.read_bytes())["Review.md"]) == 3


def test_a_dry_run_records_nothing(vault: Vault) -> None:
    memory = vault.memory(**AGENT, dry_run=True)
    assert len(memory.review().from_note().recorded) == 3
    assert found(vault.memory()) == []


def test_status_counts_them(vault: Vault) -> None:
    assert vault.memory().status()["waiting"]["ticks"] == 0
    vault.memory(**AGENT).review().from_note()
    assert vault.memory().status()["waiting"]["ticks"] == 3


@pytest.mark.parametrize("mark", AGENT_MARKS)
def test_a_mark_makes_an_agent_of_every_caller(vault: Vault, mark: str) -> None:
    assert agent_mark({mark: "1"}) == mark and agent_mark({mark: ""}) == ""
    memory = vault.memory(env={mark: "1"})
    assert memory.workspace.actor == "agent"
    assert not memory.workspace.capture(writes=False).attended
    assert memory.review().from_note().decided == []


@pytest.mark.parametrize(
    "variable",
    ["CURSOR_TRACE_ID", "TERM_PROGRAM", "CODEX_HOME", "CLAUDE_CODE_SSE_PORT", "GOOSE_PROVIDER", "COPILOT_MODEL",
     "REPL_ID", "VSCODE_PID", "SSH_AGENT_PID", "TARS_MEMORY_ACTOR"],
)  # fmt: skip
def test_what_peoples_own_terminals_carry_is_no_mark(variable: str) -> None:
    assert agent_mark({variable: "cursor"}) == ""


def test_a_record_of_ticks_that_is_a_pipe_is_not_waited_for(vault: Vault) -> None:
    vault.memory(**AGENT).review().from_note()
    path = vault.memory().workspace.state / review.RECORD
    path.unlink()
    os.mkfifo(path)
    assert found(vault.memory()) == []
