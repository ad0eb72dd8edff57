"""Whether a date that a model wrote is the one that was meant: by the day on which it was said, and how. Pure."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from tars_memory.curation.extraction.vocabulary import MONTHS
from tars_memory.language.dates import absolute
from tars_memory.language.tables import LANGUAGES

ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d)(?:/(\d\d))?)?\b")
"""A day, a month, or two days that follow one another."""

NEAR = 31
"""Days from the one on which it was said, for a date that names a day of the month alone: ``on the 15th``."""
WEEK = 7

_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)(?!\d)", re.IGNORECASE)
_NUMERIC = re.compile(r"\b(\d{1,2})\s?[./-]\s?(\d{1,2})(?:\s?[./-]\s?(\d{2,4}))?\b")
_WORD = re.compile(r"[^\W\d_]+")
_POINTING = re.compile(
    r"\b(?:last|next|this|coming|past|letzten|vorigen|nächsten|kommenden|diesen|dernier|prochain|pasado|"
    r"próximo|que viene|scorso|scorsa|prossimo|prossima|vorige|afgelopen|volgende|komende|aanstaande|passado|"
    r"passada|que vem)\b",
    re.IGNORECASE,
)


def agrees(iso: str, said: str, day: date) -> bool:
    """Whether some words, said on a day, can mean a date.

    Args:
        iso: ``2026-11-27``, ``2026-11`` or ``2026-11-28/29``.
        said: the words.
        day: on which they were said.
    """
    found = ISO.fullmatch(iso)
    if found is None:
        return False
    if iso in said or iso in _relative(said, day):
        return True
    year, month, number = int(found[1]), int(found[2]), int(found[3] or 0)
    if not 1 <= month <= 12:
        return False
    if number:
        try:
            when = date(year, month, number)
        except ValueError:
            return False
        return _names_month(said, day, year, month, number) or _names_day(said, day, when)
    return _names_month(said, day, year, month, 0)


def years(said: str, day: date) -> set[str]:
    """The years that relative words mean: ``next year``."""
    return {found for each in _relatives(said, day) for found in re.findall(r"\b\d{4}\b", each)}


def _relative(said: str, day: date) -> set[str]:
    """The dates that relative words mean; of two days that follow one another each, too."""
    dates: set[str] = set()
    for each in _relatives(said, day):
        for found in ISO.finditer(each):
            dates.add(found[0])
            if found[4]:
                dates |= {f"{found[1]}-{found[2]}-{found[3]}", f"{found[1]}-{found[2]}-{found[4]}"}
    return dates


@lru_cache(maxsize=32)
def _relatives(said: str, day: date) -> tuple[str, ...]:
    """The words with their relative dates made absolute, in each language; those with none are left out."""
    made = (absolute(said, day, code) for code in LANGUAGES)
    return tuple(each for each in made if each != said)


def _names_month(said: str, day: date, year: int, month: int, number: int) -> bool:
    """Whether the month is named, or a number beside the day's; with the day, and with the year if one is said."""
    stated = {int(found) for found in re.findall(r"\b(\d{4})\b", said)}
    if year not in stated if stated else abs(year - day.year) > 1:
        return False
    for found in _NUMERIC.finditer(said):
        if number and {int(found[1]), int(found[2])} == {number, month} and _year(found[3], year):
            return True
    named = {MONTHS.get(word.casefold()) for word in _WORD.findall(said)}
    numbers = {int(found) for found in re.findall(r"(?<!\d)\d{1,2}(?!\d)", said)}
    return f"month{month}" in named and (not number or number in numbers)


def _names_day(said: str, day: date, when: date) -> bool:
    """Whether the day of the month, or of the week, is named, and the date is near enough to be meant."""
    away = abs((when - day).days)
    months = any((MONTHS.get(word.casefold()) or "").startswith("month") for word in _WORD.findall(said))
    if not months and away <= NEAR and any(int(found) == when.day for found in _ORDINAL.findall(said)):
        return True
    if away > WEEK or when == day:
        return False
    weekday = f"weekday{when.weekday() + 1}"
    named = [found for found in _WORD.finditer(said) if MONTHS.get(found[0].casefold()) == weekday]
    # "Next Friday" is one day alone, which is among the relative ones; "Friday" is the one before or after.
    return any(not _POINTING.search(said[max(0, found.start() - 12) : found.end() + 12]) for found in named)


def _year(text: str | None, year: int) -> bool:
    return text is None or int(text) in (year, year % 100)
