"""Undo: exact bytes back; rules only for a person."""

from __future__ import annotations

import pytest

from tars_memory.capture.amend import undo
from tars_memory.capture.remember import remember
from tars_memory.errors import NotFoundError, UsageError
from tars_memory.jobs.forgetting import forget


def test_a_rule_is_not_undone_without_a_person(bench):
    bench.put("Procedural.md", "## Notes\n- be kind\n")
    before = bench.get("Procedural.md")
    first = remember(bench.ctx(), "be brief", tier="procedural")
    second = forget(bench.ctx(), "be kind")
    now = bench.get("Procedural.md")
    fact = remember(bench.ctx(), "fact")
    agent = lambda: bench.ctx("agent", interactive=False)  # noqa: E731
    for call in (
        lambda: undo(agent(), first.txn),
        lambda: undo(agent(), second.txn),
        lambda: undo(agent(), last=2),
        lambda: undo(agent(), last=3),
    ):
        with pytest.raises(UsageError, match=r"Procedural\.md"):
            call()
    assert bench.get("Procedural.md") == now
    assert undo(agent())[0].txn
    assert fact.path not in bench.files()
    undo(bench.ctx(), last=2)
    assert bench.get("Procedural.md") == before


def test_nothing_to_undo_is_said(bench):
    with pytest.raises(NotFoundError):
        undo(bench.ctx("agent"))


def test_what_was_shown_is_taken_back_whatever_was_written_since(bench):
    shown = [remember(bench.ctx(), words).txn for words in ("one", "two")]
    remember(bench.ctx(), "three")
    undo(bench.ctx(), shown)
    assert bench.get("Memory.md").endswith("## Notes\n- three\n")
    with pytest.raises(NotFoundError, match=f"{shown[1]} is already undone"):
        undo(bench.ctx(), shown)
    with pytest.raises(NotFoundError, match="there is no write 0"):
        undo(bench.ctx(), [remember(bench.ctx(), "four").txn, "0"])
    assert "- four\n" in bench.get("Memory.md")
