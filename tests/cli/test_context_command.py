"""``context``: what it asks of the memory, and how it answers."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fake_memory import packed

from tars_memory.recall.packing import Dropped

Run = Callable[..., Any]


def test_text_is_the_prompt_and_nothing_else(tm: Run, memory: Any) -> None:
    answer = tm("context", "who", "likes", "-tea")
    assert (answer.code, answer.out) == (0, "<memory-x>\nMemory.md:7\n- likes tea\n</memory-x>\n")
    assert answer.err == "tars-memory: left out: 3 lines: over the budget (--json lists them)\n"
    assert memory.asked == [("context", ("who likes -tea",), {})]


@pytest.mark.parametrize("arguments", [("--format", "json"), ("--json",)])
def test_json_lists_what_was_left_out(tm: Run, arguments: tuple[str, ...]) -> None:
    told = tm("context", *arguments)
    assert list(told.json) == ["budget", "used", "text", "blocks", "dropped", "playbooks", "notices"]
    assert told.json["dropped"] == [{"path": "Memory.md", "start_line": 1, "end_line": 3, "why": "over the budget"}]
    assert told.err == ""


def test_the_options_are_handed_on(tm: Run, memory: Any) -> None:
    tm("context", "--budget", "300", "--days", "3", "--file-cap", "100", "--project", "garden", "--found-only", "tea")
    given = {"budget": 300, "days": 3, "file_cap": 100, "loaded": False}
    assert memory.asked == [("context", ("tea",), given)]
    tm("context", "--budget", "0", "--days", "0")
    assert memory.asked[1] == ("context", ("",), {"budget": 0, "days": 0})


def test_the_question_from_stdin(tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO("what of\n東京?".encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert tm("context", "--stdin").code == 0
    assert memory.asked == [("context", ("what of\n東京?",), {})]
    assert tm("context", "--stdin", "tea").code == 2


def test_an_agents_folder_may_be_called_as_any_folder(tm: Run, memory: Any) -> None:
    name = "claude #1 [red]" + "x" * 100
    assert tm("context", "--agent", name, "tea").code == 0
    assert memory.asked == [("context", ("tea",), {"agent": name})]
    for other in ("../claude", "..", "a/b"):
        assert tm("context", "--agent", other, "tea").code == 2


def test_an_unknown_format_is_said(tm: Run) -> None:
    answer = tm("context", "--format", "xml")
    assert (answer.code, answer.out) == (2, "")
    assert "--format 'xml' is unknown" in answer.err


def test_nothing_to_say_is_no_failure(tm: Run, memory: Any) -> None:
    memory.answers["context"] = packed(budget=0, blocks=[], dropped=[Dropped("Memory.md", 1, 3, "a comment")])._replace(
        text=""
    )
    answer = tm("context")
    assert (answer.code, answer.out, answer.err) == (0, "", "tars-memory: there is nothing to say\n")
