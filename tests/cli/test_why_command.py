"""``why`` as text and as JSON: every kind of step has a name, and no note's text steers a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tars_memory.curation.why import Trace, Trail
from tars_memory.doors.cli.commands.entries import TITLES

Run = Callable[..., Any]

CHAIN = (
    Trace(
        "approved", "approved by person (review)", "Memory.md", 7, "2026-11-21T14:30:05+01:00", actor="person", txn="t9"
    ),
    Trace("candidate", "likes tea", "2026-11-20.md", 5, "2026-11-20"),
    Trace("replaced", "likes coffee", "2026-11-20.md", 6, "2026-10-01"),
    Trace("said", "likes tea", "sessions/a.md", 9, "2026-11-20", "Anna", "I like\x1b[31m tea", 31),
    Trace("end", "no more is known"),
)


def test_the_steps_as_text(tm: Run, memory: Any) -> None:
    memory.answers["why"] = Trail("abcd2345", "likes tea", "Memory.md", 7, "", CHAIN)
    answer = tm("why", "likes", "tea")
    assert answer.code == 0
    assert memory.asked[-1][1] == ("likes tea",)
    assert answer.out.split("\n") == [
        "Memory.md:7  likes tea  [abcd2345]",
        "  approved   2026-11-21 14:30  approved by person (review)  [t9]",
        "  noted      2026-11-20  2026-11-20.md:5  likes tea",
        "  replaces   2026-10-01  2026-11-20.md:6  likes coffee",
        "  said       2026-11-20  sessions/a.md:9  likes tea",
        "             “I like tea” (Anna, turn 31)",
        "  end        no more is known",
        "",
    ]


def test_json_and_usage(tm: Run, memory: Any) -> None:
    memory.answers["why"] = Trail("abcd2345", "likes tea", "Memory.md", 7, "", CHAIN)
    told = tm("why", "abcd2345", "--json").json
    assert [step["kind"] for step in told["chain"]] == [step.kind for step in CHAIN]
    assert told["chain"][3]["quote"] == "I like\x1b[31m tea"
    assert tm("why").code == 1, "no search yet whose hit it could explain"


def test_every_kind_has_a_title() -> None:
    documented = Trace.__doc__ or ""
    assert all(f"``{kind}``" in documented for kind in TITLES)
