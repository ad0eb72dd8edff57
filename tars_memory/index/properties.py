"""The properties of notes as rows: front matter, and Dataview's inline fields (``status:: done``, ``[due:: …]``).

A condition is ``key``, ``key=value``, ``key!=value``, or one of ``< <= > >=``; numbers are compared as numbers,
anything else (ISO dates) as text. Keys and values count in any case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UsageError
from tars_memory.index.fulltext import clean

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

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
    from itertools import islice

    pairs = ((_folded(key), _folded(value)) for key, value in (*_front(properties), *_inline(lines)))
    return tuple(islice(dict.fromkeys(pair for pair in pairs if pair[0]), MOST))


def notes_where(connection: sqlite3.Connection, conditions: Sequence[str]) -> set[int]:
    """The notes that fulfil all conditions.

    Raises:
        UsageError: one of them is no condition.
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
        raise UsageError(f"--where {text!r} is no condition", "write it like status=done, priority>=2, due<2026-12-01")
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
