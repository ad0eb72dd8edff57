"""What notes say beside their text, as rows: properties, facts over time, links.

Properties are front matter and Dataview's inline fields (``status:: done``, ``[due:: …]``). A condition on them is
``key``, ``key=value``, ``key!=value``, or one of ``< <= > >=``; numbers are compared as numbers, anything else (ISO
dates) as text. Keys and values count in any case. The truth of facts is ``Facts.md``; their rows answer what was true
when. Links are resolved as Obsidian does, by the names that there are.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UsageError
from tars_memory.index.database import ALWAYS, BETWEEN
from tars_memory.index.fulltext import clean
from tars_memory.vault.links import Links, key_of, named_in
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.facts import Fact, folded, read

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.vault.layout import Layout


MOST = 200
"""Properties of one note; more is data."""
LONGEST = 300
"""Characters of a value that are kept."""

_FIELD = re.compile(
    r"^[ \t>]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?(?P<bare>[^\W\d_][\w /-]{0,60}?)::[ \t]+(?P<said>\S[^\n]*)$"
    r"|[\[(](?P<key>[^\W\d_][\w /-]{0,60}?)::(?P<value>[^\])\n]{1,300}+)[\])]"
)
_CONDITION = re.compile(r"(?P<key>[^=<>!]+?)\s*(?:(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*))?", re.DOTALL)
_NOT = "!="


def of_note(properties: dict[str, Any], lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(key, value) of a note, folded, each once, at most :data:`MOST`; a list has a pair for each of its items.

    Args:
        properties: of the front matter.
        lines: of the whole note.
    """
    pairs = ((_folded(key), _folded(value)) for key, value in (*_front(properties), *_inline(lines)))
    return tuple(islice(dict.fromkeys(pair for pair in pairs if pair[0]), MOST))


def notes_where(connection: sqlite3.Connection, conditions: Sequence[str]) -> set[int]:
    """The notes that fulfil all conditions.

    Raises:
        UsageError: one of them is not a condition.
    """
    found: set[int] | None = None
    for text in conditions:
        key, sign, value = parsed(text)
        rows = connection.execute("SELECT note, value FROM properties WHERE key = ?", (key,)).fetchall()
        fits = {int(note) for note, held in rows if _fits(held, "=" if sign == _NOT else sign, value)}
        if sign == _NOT:
            fits = {int(note) for (note,) in connection.execute("SELECT id FROM notes")} - fits
        found = fits if found is None else found & fits
    return found or set()


def parsed(text: str) -> tuple[str, str, str]:
    """Key, sign and value of a condition; the sign is empty if the key alone is asked for.

    Raises:
        UsageError: it is none.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None or not match["key"].strip() or (match["sign"] and not match["value"].strip()):
        raise UsageError(
            f"--where {text!r} is not a condition", "write it like status=done, priority>=2, due<2026-12-01"
        )
    return _folded(match["key"]), match["sign"] or "", _folded(match["value"] or "")


def _fits(held: str, sign: str, value: str) -> bool:
    if not sign:
        return True
    if sign == "=":
        return held == value or held.strip("[]") == value.strip("[]")
    try:
        order = float(held) - float(value)
    except ValueError:
        order = (held > value) - (held < value)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


def _front(properties: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in properties.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield key, item


def _inline(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if "::" in line:
            for found in _FIELD.finditer(line):
                yield found["bare"] or found["key"], found["said"] or found["value"]


def _folded(text: str) -> str:
    return clean(" ".join(text.split())[:LONGEST]).casefold()


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
        for _, fact in read(path, Document(data))
    ]


def write_facts(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Store rows, each with its note's number first."""
    connection.executemany(_INSERT, rows)


def forget_facts(connection: sqlite3.Connection, note: int) -> None:
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


class LinkTable:
    """The links between the indexed notes of some scopes.

    Args:
        connection: of the index.
        scope: a project whose notes count beside those outside projects.
        attachments: paths of files that are not notes, which links lead to as well.
    """

    def __init__(self, connection: sqlite3.Connection, scope: str = "", attachments: tuple[str, ...] = ()) -> None:
        sql = (
            "SELECT n.id, n.path, n.links FROM notes n JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"
            " ORDER BY n.path"
        )
        rows = connection.execute(sql, (scope,)).fetchall()
        self.ids = {str(path): int(key) for key, path, _ in rows}
        self._targets = {str(path): tuple(filter(None, links.split(BETWEEN))) for _, path, links in rows}
        self._links = Links((*self.ids, *attachments))

    def find(self, name: str) -> str | None:
        """The note that a name or a path means; None if there is none."""
        found = name if name in self.ids else self._links.resolve(name)
        return found if found in self.ids else None

    def out(self, path: str) -> list[tuple[str, str | None]]:
        """The targets of a note's links as written, in order, each with the path it leads to, or None."""
        return [(target, self._links.resolve(target, path)) for target in self._targets.get(path, ())]

    def back(self, path: str) -> list[str]:
        """The notes that link to a note, in order; itself is none of them."""
        name = key_of(path.rpartition("/")[2].removesuffix(".md"))
        return [
            other
            for other, targets in self._targets.items()
            if other != path
            and any(name in key_of(target) and self._links.resolve(target, other) == path for target in targets)
        ]

    def degree(self, path: str) -> int:
        """How many targets a note links to."""
        return len(set(self._targets.get(path, ())))

    def sharing(self, path: str) -> dict[str, list[str]]:
        """The targets of a note that others link to as well, by one of their names, with these others.

        What leads nowhere counts, too: the name of a note that nobody has written yet.
        """
        mine: dict[str, str] = {}
        for target, to in self.out(path):
            mine.setdefault(to or key_of(named_in(target)), named_in(target))
        names = {key_of(target.rpartition("/")[2].removesuffix(".md")) for target in mine.values()}
        found: dict[str, list[str]] = {}
        for other, targets in self._targets.items():
            if other == path:
                continue
            for target in dict.fromkeys(map(named_in, targets)):
                if key_of(target.rpartition("/")[2].removesuffix(".md")) in names:
                    to = self._links.resolve(target, other) or key_of(target)
                    if to in mine and to not in (path, other) and other not in found.setdefault(mine[to], []):
                        found[mine[to]].append(other)
        return found
