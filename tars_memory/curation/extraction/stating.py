"""Which statements are facts over time: subject, predicate, object, and since when. Pure.

The languages' tables hold how that is said; a statement counts only if one of the patterns fits
all of it. Of each, ``object`` is the value, ``subject`` whom it is about (the person, if there is no such group),
``who`` (in the plural) that it is about those around, ``since`` or ``before`` its first day. Predicates are the English
ones that the settings know, so that a new value ends the old one whatever the language.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.language.tables import LANGUAGES, filled, joined, language, shared
from tars_memory.vault.markdown.facts import ME, WE, claim_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tars_memory.capture.transcripts.turns import Turn
    from tars_memory.curation.model import Fact
from tars_memory.vault.markdown.facts import Claim

_SINGULAR = frozenset({"i", "ich", "ik"})


class Phrase(NamedTuple):
    """One way to state a fact: of what predicate, and the pattern over the whole statement."""

    predicate: str
    pattern: str


def claimed(facts: Sequence[Fact], turns: Sequence[Turn], days: Mapping[int, date]) -> tuple[Fact, ...]:
    """The facts of a conversation, each with what it states over time, as far as that is beyond doubt.

    Args:
        facts: grounded.
        turns: that they may come from.
        days: the day of each turn, by its number.
    """
    spoken = {turn.number: turn.speaker for turn in turns}
    several = len({turn.speaker for turn in turns if turn.role == "user"}) > 1
    found = []
    for fact in facts:
        speaker = spoken.get(fact.turn, "") if several else ""
        claim = stated(fact.text.removeprefix(f"{speaker}: "), days[fact.turn])
        if claim is not None and claim.subject == ME and speaker:
            claim = claim_of(speaker, *claim[1:])
        found.append(fact._replace(claim=claim))
    return tuple(found)


def stated(text: str, day: date, codes: Sequence[str] = LANGUAGES) -> Claim | None:
    """The fact that a statement is; None if it is none, or says since when in a way that can't be understood.

    Args:
        text: a statement, in the first person or about a name, relative dates made absolute.
        day: on which it was said; what begins later is no fact yet.
        codes: the languages to look at.
    """
    plain = " ".join(text.replace("’", "'").split()).rstrip(" .!;")
    first = plain.partition(" ")[0].casefold()
    for code in codes:
        if not _any(code).fullmatch(plain):
            continue
        for phrase in _phrases(code):
            match = _compiled(phrase.pattern).fullmatch(plain)
            if match is None:
                continue
            groups = match.groupdict()
            began = groups.get("since") or groups.get("before")
            since = _day(began, code, day) if began else None
            if began and since is None:
                return None
            subject = groups.get("subject") or (WE if _plural(groups.get("who"), first) else ME)
            return claim_of(subject, phrase.predicate, groups["object"].strip(" ,"), since)
    return None


def _plural(who: str | None, first: str) -> bool:
    return who is not None and who.casefold() not in _SINGULAR and first not in _SINGULAR


def _day(text: str, code: str, said: date) -> date | None:
    """The first day of what a text names: a day, a month, a year; None if it is none or still to come.

    A month without a year is the last one of that name.
    """
    iso = re.search(r"(\d{4})-(\d\d)(?:-(\d\d))?", text)
    if iso:
        return _past(int(iso[1]), int(iso[2]), int(iso[3] or 1), said)
    year = re.search(r"(?<!\d)((?:19|20)\d\d)(?!\d)", text)
    name = _months(code).search(text)
    if name is None:
        return _past(int(year[1]), 1, 1, said) if year else None
    month = name.lastindex or 1
    number = re.search(r"(?<!\d)(\d{1,2})(?!\d)", text)
    days = int(number[1]) if number else 1
    if year:
        return _past(int(year[1]), month, days, said)
    return _past(said.year, month, days, said) or _past(said.year - 1, month, days, said)


def _past(year: int, month: int, day: int, said: date) -> date | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found if found <= said else None


@cache
def _names(code: str) -> dict[str, str]:
    names = {**shared()["names"], **language(code).table["fact_names"]}
    return {name: joined(text) for name, text in names.items()}


@cache
def _phrases(code: str) -> tuple[Phrase, ...]:
    names = _names(code)
    facts = language(code).table["facts"]
    return tuple(Phrase(each["predicate"], filled(each["pattern"], names)) for each in facts)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


@cache
def _any(code: str) -> re.Pattern[str]:
    """A pattern for all phrases of a language at once: most statements fit none, and one look says so."""
    return _compiled("|".join(f"(?:{re.sub('[?]P<[a-z]+>', '?:', each.pattern)})" for each in _phrases(code)))


@cache
def _months(code: str) -> re.Pattern[str]:
    """One group for each month."""
    months = _split(_names(code)["months"])
    return re.compile(r"(?<!\w)(?:" + "|".join(f"({month})" for month in months) + r")(?!\w)", re.IGNORECASE)


def _split(alternatives: str) -> list[str]:
    """The twelve months of ``jan(?:uary)?|feb…``; March may have two spellings."""
    parts: list[str] = []
    for part in alternatives.split("|"):
        if part == "mrt":
            parts[-1] += "|" + part
        else:
            parts.append(part)
    return parts
