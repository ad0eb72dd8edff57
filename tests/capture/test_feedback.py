"""feedback: what is written, what is refused, what is kept."""

from __future__ import annotations

import pytest

from tars_memory.capture.remember import feedback
from tars_memory.errors import UsageError
from tars_memory.vault.layout import shipped
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document


def test_bad_feedback_goes_to_the_corrections(bench):
    receipt = feedback(bench.ctx(), False, "wrong\nunit", "how far?", "12 km\n- no")
    added = "- 2026-11-21 14:30 wrong unit\n  - question:: how far?\n  - answer:: 12 km - no\n"
    assert bench.get("corrections.md") == shipped("corrections.md").decode() + added
    first, question, answer = entries.read("corrections.md", Document(bench.get("corrections.md").encode()), timed=True)
    assert (first.ref, first.line, first.text) == (receipt.ref, receipt.line, "wrong unit")
    assert first.time == "2026-11-21 14:30"
    assert (question.depth, answer.depth, first.end_line) == (1, 1, answer.line)


def test_good_feedback_goes_to_the_rewards_every_time(bench):
    for _ in range(2):
        assert feedback(bench.ctx("agent", interactive=False), True, "well done", question=" ").written
    assert bench.get("rewards.md").count("- 2026-11-21 14:30 well done\n") == 2
    assert "question" not in bench.get("rewards.md")


def test_a_note_is_needed(bench):
    with pytest.raises(UsageError):
        feedback(bench.ctx(), True, " ", question="q")
