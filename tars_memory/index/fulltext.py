"""Words and signs: turn any text into a safe FTS5 query, and index what FTS5 itself can't tokenize; and turn a filter
into SQL conditions.

FTS5's ``unicode61`` makes one token of a whole run of Chinese or Japanese, and none of an emoji; ``C++`` and ``C``
are the same token. So each chunk has, in addition to its words, a line of *signs*: every character of a script that is
written without spaces, every emoji or other symbol, and words like ``C#``, all separated by blanks. FTS5 then finds a
phrase of signs at any length and any position; in the table of words, such a run would only be stored twice.

Everything that a person types ends up inside quotes: FTS5's operators are never reachable from outside.

FTS5 removes diacritics from Latin letters alone. People leave out others, too (``елка`` for ``ёлка``, ``ΨΩΜΙ`` for
``ψωμί``, ``Strasse`` for ``Straße``), so every text is made :func:`plainer` before FTS5 gets it, in the index and in
queries. One definition of a word decides both which words get a vector and which words of a query are searched.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tars_memory import vault
from tars_memory.language.words import UNSPACED, is_unspaced, plainer

TIERS = ("note", "semantic", "procedural", "daily", "episodic", "talk")
"""A code in a ``tier`` column is a position in this tuple."""
WORDS = "porter unicode61 remove_diacritics 2"
"""Tokenizer for words."""
SIGNS = "unicode61 remove_diacritics 2 categories 'L* N* Co M* S* Po'"
"""Tokenizer for signs: everything between two blanks is one token."""


# -- signs

GAP = "\ue000"
"""Token in place of text that is indexed in the other table; no query can contain it."""
MAX_TERMS = 64
"""Maximum number of terms in a query; FTS5 would compare every chunk with each of them."""
MAX_TERM = 200
"""Maximum number of characters of a term; the rest is ignored."""

_SYMBOLS = "\u00a2-\u00a9\u00ac\u00ae-\u00b1\u20a0-\u20cf\u2100-\u2bff\u3200-\u33ff\ufffc\ufffd\U0001f000-\U0001faff"
"""Currency, letter-like, arrows, mathematics, dingbats and emoji: what ``unicode61`` drops."""
_GAP = re.compile(r"\S")
_MARKS = dict.fromkeys((*range(0x300, 0x370), 0xFE0F, 0x200D))
"""Combining accents, and characters that join emoji: a table, for a pattern takes half a millisecond to compile."""
_SUFFIXES = re.compile(r"([+#])")
_JOINED = re.compile(r"[+#](?<=[^\W_].)")
"""The only signs that a text in ASCII can contain: ``+`` or ``#`` after a letter or digit, as in ``C++``."""
_TOKEN = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W_]+[+#]*")
_SIGN = UNSPACED + _SYMBOLS
_RUN = f"[{UNSPACED}]+"
_WORD_OR_RUN = rf"{_RUN}|[^\W_{UNSPACED}]+[+#]*"
_SIGN_OR_JOINED = rf"[{_SIGN}]|(?:(?<![^\W_])|(?<=[{_SIGN}]))[^\W_{UNSPACED}]++[+#]+(?![^\W_{UNSPACED}])"
_CANDIDATE = rf"[{_SIGN}+#](?:(?<![+#])|(?<=[^\W_].))"
"""Every text with signs matches it before it is normalised; it starts with a character class, so that the search skips
all other characters at once, five times as fast. Like the three above it takes some milliseconds to compile, so that is
left to :mod:`re`, on first use: a query in plain words needs none of them."""


def _sign_pattern(text: str) -> str:
    """Return a pattern for one sign of a text: a character class alone, five times as fast, if there is no ``C++``."""
    return _SIGN_OR_JOINED if _JOINED.search(text) else f"[{_SIGN}]"


def words_and_runs(text: str) -> list[str]:
    """Return the words with the signs that belong to them (``c++``), and the runs of scripts without blanks."""
    return re.findall(_WORD_OR_RUN, text) if any(map(is_unspaced, text)) else _WORD.findall(text)


def _has_no_signs(text: str) -> bool:
    """Whether a quick check shows that a text contains no sign."""
    return text.isascii() and "+" not in text and "#" not in text


def clean(text: str) -> str:
    """Replace what SQLite can't store in a string: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def quoted(text: str) -> str:
    """Return the text as one FTS5 string; it is a phrase if the tokenizer splits it."""
    return _string(*worded((clean(text[:MAX_TERM]),), " "))


def _string(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def worded(texts: Iterable[str], gap: str = f" {GAP} ") -> list[str]:
    """Prepare texts for the tokenizer of words.

    They are made :func:`plainer`, and every run of a script without blanks is replaced by ``gap``: in the index by one
    and the same token, so that the text keeps its length in tokens; in a query by blanks.
    """
    plain = [text if text.isascii() else plainer(text) for text in texts]
    return [text if text.isascii() else re.sub(_RUN, gap, text) for text in plain]


def has_words(text: str) -> bool:
    """Whether the tokenizer of words finds anything in the text."""
    return any(map(_TOKEN.search, worded((text,), " ")))


def signs(text: str) -> str:
    """Return the signs of a text, separated by blanks, with :data:`GAP` between those that don't touch; often empty."""
    if _has_no_signs(text) or not (_JOINED.search(text) if text.isascii() else re.search(_CANDIDATE, text)):
        return ""
    found: list[str] = []
    end = -1
    text = unicodedata.normalize("NFKC", text)
    for match in re.finditer(_sign_pattern(text), text):
        if found and match.start() != end and _GAP.search(text, end, match.start()):
            found.append(GAP)
        found.append(_SUFFIXES.sub(r" \1", match[0]) if match[0][-1] in "+#" else match[0])
        end = match.end()
    return " ".join(found)


def expression(texts: Sequence[str], *, prefixes: Iterable[str] = ()) -> str:
    """Return the FTS5 query for any of the texts or prefixes.

    Args:
        texts: words or phrases; one that the tokenizer splits (``a-b``, ``10.0.0.1``) is a phrase.
        prefixes: beginnings of words.

    Returns:
        The query, "" if no text contains a word.
    """
    terms = dict.fromkeys(quoted(text) for text in texts if has_words(text))
    terms |= dict.fromkeys(f"{quoted(prefix)} *" for prefix in prefixes if has_words(prefix))
    return " OR ".join(list(terms)[:MAX_TERMS])


def sign_expression(text: str) -> str:
    """Return the FTS5 query for the signs of a string; "" if it has none."""
    found = [part.strip() for part in signs(text[:MAX_TERM]).split(GAP)]
    return " AND ".join(_string(clean(part)) for part in found if part)


def word_part(text: str) -> str:
    """Return a string without its signs, for the tokenizer of words; "" if no word is left."""
    rest = text[:MAX_TERM]
    if not _has_no_signs(rest):
        rest = unicodedata.normalize("NFKC", rest)
        rest = re.sub(_sign_pattern(rest), " ", rest)
    return " ".join(rest.split()) if has_words(rest) else ""


def fold_signs(text: str) -> str:
    """Return a text for comparison as FTS5 compares: without case and diacritics."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", folded.translate(_MARKS))


class Table(NamedTuple):
    """A full-text table.

    Attributes:
        rows: the table whose rows it finds.
        length: the column of ``rows`` with the number of words, in PostgreSQL.
        columns: column → its position among the three counts of an occurrence, in PostgreSQL.
        tokenizer: of FTS5.
    """

    rows: str
    length: str
    columns: dict[str, int]
    tokenizer: str


TABLES = {
    "chunk_words": Table("chunks", "words", {"head": 0, "text": 2}, WORDS),
    "note_words": Table("notes", "words", {"head": 0, "about": 1, "body": 2}, WORDS),
    "chunk_signs": Table("chunks", "signs", {"signs": 2}, SIGNS),
}


def matching(table: str, expression: str) -> tuple[str, list[str]]:
    """Return SQL for the ids of the rows of a full-text table that match an expression, and its values."""
    return f"SELECT rowid FROM {table} WHERE {table} MATCH ?", [expression]


# -- filters


class Filter(NamedTuple):
    """Conditions that chunks have to fulfil. All fields are optional; those given must all hold.

    Attributes:
        tiers, not_tiers: names of tiers: any of them, none of them.
        tags, not_tags: without ``#``, in any case; ``work`` also means ``work/x``: all of them, none of them.
        paths, not_paths: beginnings of paths, or patterns with ``*``, ``?``, ``[…]``, in any case: any of them, none.
        notes: ids of notes; None: any.
        since, until: ISO dates, inclusive; chunks without a date are then left out.
        front: whether chunks of properties of the front matter count.
        each_year: the first and the last day in any year, as numbers of month and day (1103: 3 November).
        chunks: ids of chunks; None: any.
        on: ISO date on which the chunks must not have ended; None: ended ones are included.
        facts_on: an earlier one for facts; None: the same.
        scopes: names of scopes, instead of ``scope``.
        not_notes: paths of notes that are excluded.
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
    facts_on: str | None = None
    scopes: tuple[str, ...] | None = None
    not_notes: tuple[str, ...] = ()
    each_year: tuple[int, int] | None = None
    front: bool = True


def conditions_of(
    within: Filter, scopes: Mapping[str, int], *, notes: bool = False, ending: bool = False
) -> tuple[list[str], list[Any]]:
    """Return a filter as SQL conditions on ``chunks c``, with the values of their question marks.

    Args:
        within: the filter.
        scopes: name → id of all scopes.
        notes: return conditions on ``notes c`` instead.
        ending: whether any row has ended by the day of the filter; if not, none is checked.
    """
    pairs = list(_conditions(within, scopes, notes=notes, ending=ending))
    pairs += [] if within.front or notes else [("c.front = 0", ())]
    return [condition for condition, _ in pairs], [value for _, values in pairs for value in values]


def _conditions(
    within: Filter, scopes: Mapping[str, int], *, notes: bool, ending: bool
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield each condition of :func:`conditions_of` with its values."""
    if scope := scope_condition(within, scopes):
        yield scope, ()
    if within.tiers:
        yield _any("c.tier", {TIERS.index(str(tier)) for tier in within.tiers}), ()
    for tier in within.not_tiers:
        yield f"c.tier <> {TIERS.index(str(tier))}", ()
    if within.since or within.until:
        yield "c.day >= ?", (number_of(within.since) if within.since else 1,)
        yield "c.day <= ?", (number_of(within.until) if within.until else 99991231,)
    yield from _tag_conditions(within, notes=notes)
    yield from _note_conditions(within, "c.id" if notes else "c.note")
    if within.chunks is not None:
        inside = "SELECT d.note FROM chunks d WHERE d.id IN (SELECT value FROM json_each(?))"
        yield f"c.id IN ({inside if notes else 'SELECT value FROM json_each(?)'})", (json.dumps(list(within.chunks)),)
    if within.each_year is not None:
        yield "c.day > 0 AND c.day - c.day / 10000 * 10000 BETWEEN ? AND ?", within.each_year
    if ending and within.on:
        facts = " OR (c.until > ? AND c.note IN (SELECT f.note FROM facts f))" if within.facts_on and not notes else ""
        yield f"(c.until > ?{facts})", [number_of(day) for day in (within.on, facts and within.facts_on) if day]


def _note_conditions(within: Filter, note: str) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the conditions of a filter on notes, each with its values, given the column with a note's id."""
    for paths, keyword in ((within.paths, "IN"), (within.not_paths, "NOT IN")):
        if paths:
            forms = [pattern for path in paths for pattern in _patterns(path)]
            patterns = " OR ".join(["lower(n.path) GLOB ?"] * len(forms))
            yield f"{note} {keyword} (SELECT n.id FROM notes n WHERE {patterns})", forms
    if within.notes is not None:
        yield f"{note} IN (SELECT value FROM json_each(?))", (json.dumps(within.notes),)
    if within.not_notes:
        listed = "SELECT n.id FROM json_each(?) j JOIN notes n ON n.path = j.value"
        yield f"{note} NOT IN ({listed})", (json.dumps(within.not_notes),)


def _tag_conditions(within: Filter, *, notes: bool) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the conditions of a filter on tags, each with its values."""
    source = "chunk FROM chunk_tags g"
    if notes:
        source = "d.note FROM chunk_tags g JOIN chunks d ON d.id = g.chunk"
    for tags, keyword in ((within.tags, "IN"), (within.not_tags, "NOT IN")):
        for tag in tags:
            name = vault.markdown.lines.tag_key(clean(tag).lstrip("#"))
            condition = f"c.id {keyword} (SELECT {source} WHERE g.tag = ? OR g.tag >= ? AND g.tag < ?)"
            yield condition, (name, f"{name}/", f"{name}0")


def scope_condition(within: Filter, scopes: Mapping[str, int]) -> str:
    """Return the condition of a filter on the column ``scope``; "" if it allows all: in full-text search, a condition
    costs a look at each row.
    """
    if within.scopes is not None:
        allowed = {scopes[name] for name in within.scopes if name in scopes}
        return _any("c.scope", allowed or {-1}) if len(allowed) < len(scopes) else ""
    return _any("c.scope", {0, scopes.get(within.scope, 0)}) if len(scopes) > 1 else ""


def _any(column: str, codes: set[int]) -> str:
    """Return the condition that a column has one of the codes."""
    return f"{column} IN ({', '.join(map(str, sorted(codes)))})"


def _patterns(path: str) -> list[str]:
    """Return a path filter as GLOB patterns, of which any may match; unless it is a pattern, it is a prefix.

    Names match in any case, with accented letters composed or decomposed, as a Mac stores them; and a bracket may be
    part of a name.
    """
    path = clean(path).removeprefix("./")
    forms = [path] if path.isascii() else [unicodedata.normalize(form, path) for form in ("NFC", "NFD")]
    found = []
    for form in dict.fromkeys(forms):
        found.append(_caseless(form) + ("" if any(wildcard in form for wildcard in "*?[") else "*"))
        if "[" in form:
            found.append(_caseless(form.replace("[", "\0")).replace("\0", "[[]") + "*")
    return found


def _caseless(pattern: str) -> str:
    """Return a pattern in lower case; letters that SQLite's ``lower`` doesn't change match in both cases."""
    if pattern.isascii():
        return pattern.lower()
    parts = []
    in_brackets = False
    for character in pattern:
        in_brackets = character == "[" or (in_brackets and character != "]")
        both = character.lower() + character.upper()
        if character.isascii():
            parts.append(character.lower())
        elif len(both) != 2 or both[0] == both[1]:
            parts.append(character)
        else:
            parts.append(both if in_brackets else f"[{both}]")
    return "".join(parts)


def number_of(day: str) -> int:
    """Return an ISO date as yyyymmdd."""
    return int(day.replace("-", "")[:8])
