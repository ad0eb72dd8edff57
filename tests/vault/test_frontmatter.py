"""What properties say of a note's day, whichever program wrote them."""

from __future__ import annotations

from datetime import date

import pytest

from tars_memory.vault.markdown.document import front_day, read_front

DAY = date(2026, 3, 1)


def day(text: str) -> date | None:
    return front_day(read_front(text))


@pytest.mark.parametrize(
    "key",
    [
        *("date", "Date", "created", "date created", "Date Created", "date-created", "date_created", "dateCreated"),
        *("creation date", "creation-date", "creation_date", "created_at", "createdAt", "created at", "Created On"),
        *("published", "publishDate", "date published", "updated", "last_updated", "modified", "date modified"),
        *("lastmod", "last-modified", "mtime", "timestamp", "datum", "erstellt", "创建时间", "créé"),
    ],
)
def test_the_keys_of_plugins_and_programs_are_known(key: str) -> None:
    assert day(f"title: Tea\n{key}: 2026-03-01") == DAY


@pytest.mark.parametrize(
    "value",
    [
        *("2026-03-01", '"2026-03-01"', "2026-03-01T10:00", "2026-03-01T23:30:00-08:00", "2026-03-01T10:00:00.000Z"),
        *("2026-03-01 10:00:00", "2026/03/01", "2026.3.1", "20260301", "20260301T101500", "202603011015"),
        *(
            "Sunday, March 1st 2026, 10:00:00 am",
            "Sunday, March 1st 2026, 12:59:59 pm",
            "March 1, 2026",
            "Mar 1st, 2026",
        ),
        *("1 March 2026", "Sun, 01 Mar 2026 10:00:00 +0100", "1st of March 2026", "01.03.2026", "1. 3. 2026"),
        *('"[[2026-03-01]]"', '"[[2026-03-01|today]]"', "[[2026-03-01]]", '"[[daily/2026-03-01#Log]]"'),
        *(
            "[2026-03-01, 2026-04-01]",
            "\n  - 2026-03-01\n  - 2026-04-01",
            "[soon, 2026-03-01]",
            "'2026-02-30, 2026-03-01'",
        ),
    ],
)
def test_dates_are_read_as_they_are_written(value: str) -> None:
    assert day(f"date created: {value}") == DAY


@pytest.mark.parametrize(
    "text",
    [
        *(
            "date: soon",
            "date: 03/01/2026",
            "date: 2026",
            "date: 2026-13-45",
            "date: 12026-03-011",
            "date:",
            "date: {a: b}",
        ),
        *(
            "due: 2026-03-01",
            "birthday: 2026-03-01",
            "date of birth: 2026-03-01",
            "updates: 2026-03-01",
            "date: 1772359200",
        ),
        *(f"date: {'x' * 300} 2026-03-01", "date: Market 1 of 2026"),
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert day(text) is None


def test_made_comes_before_changed_and_a_date_before_words() -> None:
    assert day("modified: 2026-05-01\nupdated: 2026-04-01\ncreated_at: 2026-03-01") == DAY
    assert day("created: long ago\nupdated: 2026-03-01") == DAY
    assert day("date created: 2026-03-02\ndate: 2026-03-01") == DAY
    assert day("created: 2026-03-01\nCreated: 2026-03-02") == DAY, "the first of two"
