"""Words and signs: from any text of a person to a safe FTS5 query, and what FTS5 itself can't tokenise; and which
chunks may answer at all, as SQL.

FTS5's ``unicode61`` makes one token of a whole run of Chinese or Japanese, and none of an emoji; ``C++`` and ``C``
are the same token. So each chunk has, beside its words, a line of *signs*: every character of a script that is
written without spaces, every emoji or other symbol, and words like ``C#``, all parted by blanks. A phrase of signs is
then found at any length and any position by the same engine; among the words, a run of them would only be kept twice.

Whatever a person types ends up inside quotes: FTS5's operators are never reachable from outside.

FTS5 takes marks from Latin letters alone. People leave out others, too (``елка`` for ``ёлка``, ``ΨΩΜΙ`` for ``ψωμί``,
``Strasse`` for ``Straße``), so what FTS5 is given is made :func:`plainer` first, in the index and in queries. The one
definition of a word serves both sides: which ones get a vector of their own, and which ones of a query are looked for.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.index.database import ALWAYS, TIERS
from tars_memory.language.words import plainer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence


# -- signs

GAP = "\ue000"
"""The token that stands for what another table holds; nobody can ask for it."""
MAX_TERMS = 64
"""More words than this are not a question; FTS5 would compare every chunk with each of them."""
MAX_TERM = 200
"""Characters of one term that are looked at."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul: parted by blanks, but a particle hangs on to every word
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts that are written without blanks between words."""
_SYMBOLS = "\u00a2-\u00a9\u00ac\u00ae-\u00b1\u20a0-\u20cf\u2100-\u2bff\u3200-\u33ff\ufffc\ufffd\U0001f000-\U0001faff"
"""Currency, letter-like, arrows, mathematics, dingbats and emoji: what ``unicode61`` drops."""
_GAP = re.compile(r"\S")
_MARKS = dict.fromkeys((*range(0x300, 0x370), 0xFE0F, 0x200D))
"""Accents by themselves, and what joins emoji: a table, for a pattern takes half a millisecond to compile."""
_ENDS = re.compile(r"([+#])")
_JOINED = re.compile(r"[+#](?<=[^\W_].)")
"""All the signs that a text in ASCII can hold: what stands behind a letter or digit, as in ``C++``."""
_TOKEN = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W_]+[+#]*")
_STRETCHES = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))


def _sign(text: str) -> re.Pattern[str]:
    """One sign of a text: a set, at a fifth of the time, if it holds no ``C++``."""
    return _signs(joined=_JOINED.search(text) is not None)


@cache
def _signs(*, joined: bool) -> re.Pattern[str]:
    """Compiled on first use, for it takes 3 ms and a question in plain words needs none."""
    several = rf"|(?:(?<![^\W_])|(?<=[{_UNSPACED}{_SYMBOLS}]))[^\W_]++[+#]+(?![^\W_])"
    return re.compile(rf"[{_UNSPACED}{_SYMBOLS}]{several if joined else ''}")


@cache
def _candidate() -> re.Pattern[str]:
    """What a text with signs holds before it is normalised: a set of signs first, so that a look passes over all others
    at once, at a fifth of the time.
    """
    return re.compile(rf"[{_UNSPACED}{_SYMBOLS}+#](?:(?<![+#])|(?<=[^\W_].))")


@cache
def _word_or_run() -> re.Pattern[str]:
    """Compiled on first use, for it takes 6 ms."""
    return re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+[+#]*")


def words_and_runs(text: str) -> list[str]:
    """Words with the signs that belong to them (``c++``), and runs of scripts that are written without blanks."""
    return (_word_or_run() if any(map(is_unspaced, text)) else _WORD).findall(text)


def is_unspaced(sign: str) -> bool:
    """Whether a sign is of a script that is written without blanks."""
    return sign >= _UNSPACED[0] and any(low <= sign <= high for low, high in _STRETCHES)


@cache
def _runs() -> re.Pattern[str]:
    """A run of a script that is written without blanks."""
    return re.compile(f"[{_UNSPACED}]+")


def _is_plain(text: str) -> bool:
    """Whether a text can hold no sign, at a glance."""
    return text.isascii() and "+" not in text and "#" not in text


def clean(text: str) -> str:
    """The text without what SQLite can't hold in a string: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def quoted(text: str) -> str:
    """The text as one FTS5 string; a phrase if the tokenizer splits it."""
    return _string(worded(clean(text[:MAX_TERM]), " "))


def _string(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def worded(text: str, gap: str = f" {GAP} ") -> str:
    """What the tokenizer of words is given of a text: :func:`plainer`, and every run of a script without blanks as one
    and the same token, so that the text stays as long as it is; a query has blanks for a ``gap``.
    """
    return text if text.isascii() else _runs().sub(gap, plainer(text))


def has_words(text: str) -> bool:
    """Whether the tokenizer of words finds anything in the text."""
    return _TOKEN.search(worded(text, " ")) is not None


def signs(text: str) -> str:
    """The signs of a text, parted by blanks, those that don't touch parted by a token of their own; mostly empty."""
    if _is_plain(text) or not (_JOINED.search(text) if text.isascii() else _candidate().search(text)):
        return ""
    found: list[str] = []
    end = -1
    text = unicodedata.normalize("NFKC", text)
    for match in _sign(text).finditer(text):
        if found and match.start() != end and _GAP.search(text, end, match.start()):
            found.append(GAP)
        found.append(_ENDS.sub(r" \1", match[0]) if match[0][-1] in "+#" else match[0])
        end = match.end()
    return " ".join(found)


def expression(texts: Sequence[str], *, prefixes: Iterable[str] = ()) -> str:
    """The FTS5 query that finds any of the texts or prefixes.

    Args:
        texts: words or phrases; one that the tokenizer splits (``a-b``, ``10.0.0.1``) is a phrase.
        prefixes: the beginnings of words.

    Returns:
        The query, "" if nothing is left to look for.
    """
    terms = dict.fromkeys(quoted(text) for text in texts if has_words(text))
    terms |= dict.fromkeys(f"{quoted(prefix)} *" for prefix in prefixes if has_words(prefix))
    return " OR ".join(list(terms)[:MAX_TERMS])


def sign_expression(text: str) -> str:
    """The FTS5 query over signs for one string; "" if it has none."""
    found = [part.strip() for part in signs(text[:MAX_TERM]).split(GAP)]
    return " AND ".join(_string(clean(part)) for part in found if part)


def word_part(text: str) -> str:
    """What of a string is left for the words' tokenizer once its signs are taken out."""
    rest = text[:MAX_TERM]
    if not _is_plain(rest):
        rest = unicodedata.normalize("NFKC", rest)
        rest = _sign(rest).sub(" ", rest)
    return " ".join(rest.split()) if has_words(rest) else ""


def fold_signs(text: str) -> str:
    """The text for comparing as FTS5 does: no case, no diacritics."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", folded.translate(_MARKS))


def matching(table: str, expression: str) -> tuple[str, list[str]]:
    """SQL for the numbers of the rows that an expression finds in a full-text table, and its question marks' values."""
    return f"SELECT rowid FROM {table} WHERE {table} MATCH ?", [expression]


# -- which chunks may answer


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
    within: Filter, scopes: Mapping[str, int], *, notes: bool = False, ending: bool = False
) -> tuple[list[str], list[Any]]:
    """A filter as SQL on ``chunks c`` (or ``notes c``), with the values of its question marks.

    ``ending`` says that there are rows that have ended by the day of the filter (:func:`ended`): else it need not be
    asked of each.
    """
    conditions, values = _narrow(within, scopes, "c.")
    note = "c.id" if notes else "c.note"
    if within.tags or within.not_tags:
        source = "SELECT chunk FROM chunk_tags g WHERE"
        if notes:
            source = "SELECT d.note FROM chunk_tags g JOIN chunks d ON d.id = g.chunk WHERE"
        for tags, keyword in ((within.tags, "IN"), (within.not_tags, "NOT IN")):
            for tag in tags:
                name = clean(tag).lstrip("#").strip("/").lower()
                conditions.append(f"c.id {keyword} ({source} g.tag = ? OR g.tag >= ? AND g.tag < ?)")
                values += [name, f"{name}/", f"{name}0"]
    for paths, keyword in ((within.paths, "IN"), (within.not_paths, "NOT IN")):
        if paths:
            forms = [pattern for path in paths for pattern in _patterns(path)]
            patterns = " OR ".join(["lower(n.path) GLOB ?"] * len(forms))
            conditions.append(f"{note} {keyword} (SELECT n.id FROM notes n WHERE {patterns})")
            values += forms
    if within.notes is not None:
        conditions.append(f"{note} IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(within.notes))
    if within.not_notes:
        conditions.append(f"{note} NOT IN (SELECT n.id FROM json_each(?) j JOIN notes n ON n.path = j.value)")
        values.append(json.dumps(within.not_notes))
    if within.chunks is not None:
        source = "SELECT value FROM json_each(?)"
        if notes:
            source = f"SELECT d.note FROM chunks d WHERE d.id IN ({source})"
        conditions.append(f"c.id IN ({source})")
        values.append(json.dumps(list(within.chunks)))
    if ending and within.on:
        conditions.append("c.until > ?")
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
        inside, more = conditions_of(wide, scopes, ending=ending)
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
