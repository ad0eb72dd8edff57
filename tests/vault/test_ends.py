"""Until when lines and notes count: what a bullet and the front matter say."""

from __future__ import annotations

from datetime import date

import pytest

from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import end_in, ended_lines, may_have_any_end, note_end, start_in, windows_of

DAY = date(2026, 12, 1)


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("permit [until:: 2026-12-01]", DAY),
        ("permit (until:: 2026-12-01) for the car", DAY),
        ("[ until :: 2026-12-01 ] permit", DAY),
        ("permit [Until:: 2026-12-01]", DAY),
        ("permit [until:: [[2026-12-01]]]", DAY),
        ("permit [until:: 2026-12-01T18:00]", DAY),
        ("permit [until:: [[2026-12-01|the first]]]", DAY),
        ("permit [until:: 2027-01-01] [until:: 2026-12-01]", DAY),
        ("permit [until:: 2026-12-01] [until:: 2026-02-30]", DAY),
        ("permit [until:: 2026-12-01] ([[2026-11-14#^d-3fa7|2026-11-14]]) ^d-3fa7", DAY),
        ("permit `[until:: 2026-12-01]`", None),
        (r"permit \[until:: 2026-12-01]", None),
        ("permit [until:: 2026-13-01]", None),
        ("permit [until:: soon]", None),
        ("permit until:: 2026-12-01", None),
        ("permit [since:: 2026-12-01]", None),
        ("permit until 2026-12-01", None),
        ("", None),
    ],
)
def test_the_end_that_words_say(words: str, until: date | None) -> None:
    assert end_in(words) == until


def test_the_begin_that_words_say() -> None:
    assert start_in("in Cork [since:: [[2026-12-01]]] [until:: 2027-01-01]") == DAY
    assert start_in("in Cork [until:: 2026-12-01]") is None
    assert start_in("in Cork `[since:: 2026-12-01]`") is None


@pytest.mark.parametrize(
    ("values", "session", "until"),
    [
        ({"expires": "2026-12-01"}, False, DAY),
        ({"Expires": " 2026-12-01T10:00:00"}, False, DAY),
        ({"expires": "[[2026-12-01]]"}, False, DAY),
        ({"expires": [["2026-12-01"]]}, False, DAY),
        ({"valid_until": "2026-12-01"}, False, DAY),
        ({"valid until": "2026-12-01", "expires": "never"}, False, DAY),
        ({"expires": "2026-12-01", "valid_until": "2026-01-01"}, False, DAY),
        ({"until": "2026-12-01"}, False, None),
        ({"until": "2026-12-01"}, True, DAY),
        ({"expires": "2026-02-30"}, True, None),
        ({"expires": "12026-12-01"}, True, None),
        ({"expires": ""}, True, None),
        ({}, True, None),
    ],
)
def test_the_end_that_properties_say(values: dict, session: bool, until: date | None) -> None:
    assert note_end(values, session=session) == until


NOTE = b"""\
---
tags: [x]
---
- stays
- ends [until:: 2026-12-01]
  goes on here
  - nested
    - deeper [until:: 2026-11-01]
- stays too

```
- code [until:: 2026-12-01]
```
> - quoted [until:: 2026-12-01]

1. numbered [until:: 2026-12-01]
   - inside [until:: 2026-12-02]
"""


def test_a_bullet_takes_what_is_nested_along_and_code_says_nothing() -> None:
    found = windows_of(Document(NOTE))
    assert [(w.first, w.last, w.until) for w in found] == [
        (5, 8, DAY),
        (8, 8, date(2026, 11, 1)),
        (17, 17, date(2026, 12, 2)),
    ]
    assert ended_lines(Document(NOTE), date(2026, 11, 30)) == [(8, 8)]
    assert ended_lines(Document(NOTE), DAY) == [(5, 8), (8, 8)]
    assert windows_of(Document(NOTE.replace(b"\n", b"\r\n"))) == found


def test_a_fact_ends_as_it_is_read() -> None:
    said = ["tea `[until:: 2026-12-01]`", "Cork [until:: 2026-12-01] ^x", "oolong", "x [until:: [[2026-12-01|then]]]"]
    note = "## Anna\n" + "".join(f"- is:: {words}\n" for words in said) + "- no fact [until:: 2026-12-01]\n"
    stated = [(fact.line, fact.until) for _, fact in facts.read("Facts.md", Document(note.encode())) if fact.until]
    found = windows_of(Document(note.encode()), facts=True)
    assert [(window.first, window.until) for window in found] == [*stated, (6, DAY)]
    assert {line for line, _ in stated} >= {3}


@pytest.mark.parametrize(
    "data", [b"- x [until:: 2026-12-01]", b"---\nexpires: 2026-12-01\n---\n", b"---\nvalid-until: x\n---\n"]
)
def test_what_may_end_is_seen_at_a_glance(data: bytes) -> None:
    assert may_have_any_end(data)
    assert not may_have_any_end(b"- until then: it expires\n")


def test_a_whole_note_ends_by_its_properties() -> None:
    document = Document(b"---\nexpires: 2026-12-01\n---\n- a\n- b [until:: 2026-01-01]\n")
    assert ended_lines(document, date(2026, 11, 30)) == [(5, 5)]
    assert ended_lines(document, DAY) == [(1, 5)]


def test_blanks_after_a_time_are_read_in_linear_time() -> None:
    assert end_in("permit [until:: 2026-12-01 1" + " " * 200_000) is None
