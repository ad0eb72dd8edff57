"""The facts of the vault as rows, so that what was true when is one question to the index.

The truth is ``Facts.md``; the rows are made from it by the refresh like all others, and a test compares the two.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory.index.schema import ALWAYS
from tars_memory.vault.markdown.facts import Fact, folded, read

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from tars_memory.vault.layout import Layout

NEVER = 0
"""Stands for a missing first day."""

_INSERT = "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT = (
    "SELECT f.ref, f.subject, f.predicate, f.object, f.since, f.until, f.source, n.path, f.line"
    " FROM facts f JOIN notes n ON n.id = f.note JOIN scopes s ON s.id = n.scope"
)


def rows_of(layout: Layout, path: str, data: bytes) -> list[tuple[Any, ...]]:
    """What a note's facts are stored as, without the note's number; none but of the notes that hold facts."""
    if not layout.is_facts(path):
        return []
    return [
        (
            fact.line,
            fact.ref,
            fact.subject,
            folded(fact.subject),
            fact.predicate,
            fact.object,
            _number(fact.since, NEVER),
            _number(fact.until, ALWAYS),
            fact.source,
        )
        for _, fact in read(path, data)
    ]


def write(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Store rows, each with its note's number first."""
    connection.executemany(_INSERT, rows)


def forget(connection: sqlite3.Connection, note: int) -> None:
    """Drop the facts of a note."""
    connection.execute("DELETE FROM facts WHERE note = ?", (note,))


def facts(
    connection: sqlite3.Connection, scope: str = "", *, on: date | None = None, subject: str | None = None
) -> list[Fact]:
    """The facts outside projects and, if a scope is named, of that project; in the order of their notes and lines.

    Args:
        connection: of the index.
        scope: name of a project.
        on: only those that hold on this day; None: all.
        subject: only those about it, in any case.
    """
    conditions, values = ["s.name IN ('', ?)"], [scope]
    if on is not None:
        conditions.append("f.since <= ? AND ? < f.until")
        values += [str(_number(on, NEVER))] * 2
    if subject is not None:
        conditions.append("f.about = ?")
        values.append(folded(subject))
    sql = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY n.path, f.line"
    return [
        Fact(ref, about, predicate, said, _day(since), _day(until), source, path, line)
        for ref, about, predicate, said, since, until, source, path, line in connection.execute(sql, values)
    ]


def _number(day: date | None, missing: int) -> int:
    return missing if day is None else day.year * 10_000 + day.month * 100 + day.day


def _day(number: int) -> date | None:
    if number in (NEVER, ALWAYS):
        return None
    return date(number // 10_000, number // 100 % 100, number % 100)
