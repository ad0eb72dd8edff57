"""Which chunks may answer, and the same as SQL."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.index.database import ALWAYS, TIERS
from tars_memory.index.fulltext import clean

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping


class Filter(NamedTuple):
    """Which chunks may answer. All fields are optional; those given must all hold.

    Attributes:
        tiers, not_tiers: names of tiers, any of them or none of them.
        tags, not_tags: without ``#``, any case; ``work`` also means ``work/x``. All of them, none of them.
        paths, not_paths: beginnings of paths, or patterns with ``*``, ``?``, ``[…]``; any case. Any of them, none.
        notes: numbers of notes; None: any.
        since, until: ISO dates, inclusive; what has no date is then left out.
        chunks: numbers of chunks; None: any.
        on: the ISO date on which they have to count still; None: also those that have ended.
        scopes: names of the scopes that may answer, instead of ``scope``.
        not_notes: paths of notes that must not answer.
        scope: "" for the vault outside projects; a project's name for that project and the vault outside projects.
    """

    tiers: Iterable[str] = ()
    tags: Iterable[str] = ()
    paths: Iterable[str] = ()
    not_tiers: Iterable[str] = ()
    not_tags: Iterable[str] = ()
    not_paths: Iterable[str] = ()
    since: str | None = None
    until: str | None = None
    scope: str = ""
    notes: tuple[int, ...] | None = None
    chunks: frozenset[int] | None = None
    on: str | None = None
    scopes: tuple[str, ...] | None = None
    not_notes: tuple[str, ...] = ()


def conditions_of(
    within: Filter, scopes: Mapping[str, int], alias: str, *, notes: bool = False, ending: bool = False
) -> tuple[list[str], list[Any]]:
    """A filter as SQL on ``chunks`` (or ``notes``) under an alias, with the values of its question marks.

    ``ending`` says that there are rows that have ended by the day of the filter (:func:`ended`): else it need not be
    asked of each.
    """
    conditions, values = _narrow(within, scopes, f"{alias}.")
    if within.tags or within.not_tags:
        column = f"{alias}.id"
        source = "SELECT chunk FROM chunk_tags g WHERE"
        if notes:
            source = "SELECT d.note FROM chunk_tags g JOIN chunks d ON d.id = g.chunk WHERE"
        for tags, keyword in ((within.tags, "IN"), (within.not_tags, "NOT IN")):
            for tag in tags:
                name = clean(tag).lstrip("#").strip("/").lower()
                conditions.append(f"{column} {keyword} ({source} g.tag = ? OR g.tag >= ? AND g.tag < ?)")
                values += [name, f"{name}/", f"{name}0"]
    for paths, keyword in ((within.paths, "IN"), (within.not_paths, "NOT IN")):
        if paths:
            forms = [pattern for path in paths for pattern in _patterns(path)]
            patterns = " OR ".join(["lower(n.path) GLOB ?"] * len(forms))
            column = f"{alias}.id" if notes else f"{alias}.note"
            conditions.append(f"{column} {keyword} (SELECT n.id FROM notes n WHERE {patterns})")
            values += forms
    if within.notes is not None:
        column = f"{alias}.id" if notes else f"{alias}.note"
        conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(within.notes))
    if within.not_notes:
        column = f"{alias}.id" if notes else f"{alias}.note"
        conditions.append(f"{column} NOT IN (SELECT n.id FROM json_each(?) j JOIN notes n ON n.path = j.value)")
        values.append(json.dumps(within.not_notes))
    if within.chunks is not None:
        source = "SELECT value FROM json_each(?)"
        if notes:
            source = f"SELECT d.note FROM chunks d WHERE d.id IN ({source})"
        conditions.append(f"{alias}.id IN ({source})")
        values.append(json.dumps(list(within.chunks)))
    if ending and within.on:
        conditions.append(f"{alias}.until > ?")
        values.append(_number(within.on))
    return conditions, values


def ended(connection: sqlite3.Connection, on: str | None, scopes: Iterable[int] | None = None) -> frozenset[int]:
    """The chunks that no longer count on a day; none as a rule, and then found at once (a partial index).

    Args:
        connection: of the index.
        on: ISO date; None: nothing has ended.
        scopes: numbers of the scopes that are looked at; None: all.
    """
    if on is None:
        return frozenset()
    sql = f"SELECT id, scope FROM chunks WHERE until < {ALWAYS} AND until <= ?"
    rows = connection.execute(sql, (_number(on),))
    allowed = None if scopes is None else set(scopes)
    return frozenset(int(chunk) for chunk, scope in rows if allowed is None or scope in allowed)


def _narrow(within: Filter, scopes: Mapping[str, int], prefix: str) -> tuple[list[str], list[Any]]:
    """What of a filter stands in integer columns."""
    conditions: list[str] = []
    values: list[Any] = []
    if within.scopes is not None:
        named = {scopes[name] for name in within.scopes if name in scopes}
        if len(named) < len(scopes):  # a filter of full-text search reads each row that it may leave out
            conditions.append(_any(f"{prefix}scope", named or {-1}))
    elif len(scopes) > 1:
        allowed = {0, scopes.get(within.scope, 0)}
        conditions.append(_any(f"{prefix}scope", allowed))
    if within.tiers:
        conditions.append(_any(f"{prefix}tier", {TIERS.index(str(tier)) for tier in within.tiers}))
    conditions += [f"{prefix}tier <> {TIERS.index(str(tier))}" for tier in within.not_tiers]
    if within.since or within.until:
        conditions += [f"{prefix}day >= ?", f"{prefix}day <= ?"]
        values += [_number(within.since) if within.since else 1, _number(within.until) if within.until else 99991231]
    return conditions, values


def _any(column: str, codes: set[int]) -> str:
    """A column that has one of some codes; sqlite-vec compares one with ``=`` faster than with ``IN``."""
    return f"{column} = {min(codes)}" if len(codes) == 1 else f"{column} IN ({', '.join(map(str, sorted(codes)))})"


def vector_conditions(
    within: Filter, scopes: Mapping[str, int], *, ending: bool = False
) -> tuple[list[str], list[Any]]:
    """A filter for the KNN: integers as metadata, tags and paths as the set of chunks that they allow.

    ``ending``: those that have ended are not in that set either.
    """
    conditions, values = _narrow(within, scopes, "")
    named = within.tags or within.not_tags or within.paths or within.not_paths
    if named or ending or within.notes is not None or within.chunks is not None:
        wide = within._replace(tiers=(), not_tiers=(), since=None, until=None)
        inside, more = conditions_of(wide, scopes, "c", ending=ending)
        where = f" WHERE {' AND '.join(inside)}" if inside else ""
        conditions.append(f"chunk IN (SELECT c.id FROM chunks c{where})")
        values += more
    return conditions, values


def _patterns(path: str) -> list[str]:
    """A path filter as GLOB patterns, any of which may fit: a pattern stays one, anything else is a beginning.

    Names are compared in any case, with their marked letters in one piece or taken apart, as a Mac stores them; and a
    bracket may belong to a name.
    """
    path = clean(path).removeprefix("./")
    forms = [path] if path.isascii() else [unicodedata.normalize(form, path) for form in ("NFC", "NFD")]
    found = []
    for form in dict.fromkeys(forms):
        found.append(_caseless(form) + ("" if any(mark in form for mark in "*?[") else "*"))
        if "[" in form:
            found.append(_caseless(form.replace("[", "\0")).replace("\0", "[[]") + "*")
    return found


def _caseless(pattern: str) -> str:
    """The pattern in lower case; letters that SQLite's ``lower`` leaves as they are, in both."""
    if pattern.isascii():
        return pattern.lower()
    parts = []
    inside = False
    for sign in pattern:
        inside = sign == "[" or (inside and sign != "]")
        both = sign.lower() + sign.upper()
        if sign.isascii():
            parts.append(sign.lower())
        elif len(both) != 2 or both[0] == both[1]:
            parts.append(sign)
        else:
            parts.append(both if inside else f"[{both}]")
    return "".join(parts)


def _number(day: str) -> int:
    return int(day.replace("-", "")[:8])
