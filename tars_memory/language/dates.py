"""Relative dates in a sentence made absolute, counted from the day on which it was said. Pure.

The plain words only, as each language's TOML has them. What is ambiguous stays as it was said.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from typing import Any

from tars_memory.language.tables import LANGUAGES, language

_STEPS = {"last": -1, "this": 0, "next": 1}
_UNIT_DAYS = (1, 7, 30, 365)

_NO_DATE_AFTER = r"(?!,? (?:\w{1,3}\.? )?\d)"
"""A weekday before a day of a month says which one: ``mardi 24 novembre``, ``el martes, el 24``."""
_NAMED = re.compile(r"\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?\b(?!\d)")


def absolute(text: str, day: date, code: str = "en") -> str:
    """The sentence with its relative dates made absolute.

    Args:
        text: what was said.
        day: when it was said.
        code: two letters of the language; in one that is not known the text is left as it is.
    """
    if code not in LANGUAGES:
        return text
    plain = text.replace("’", "'")
    made: list[tuple[int, int, str]] = []
    for found in _pattern(code).finditer(plain):
        said = _said(found, plain, day, code)
        if said is not None:
            made.append((found.start(), found.end(), said))
    for start, end, said in reversed(made):
        text = text[:start] + said + text[end:]
    return text


def names_relative(text: str, code: str = "en") -> bool:
    """Whether the sentence names a day relative to the one on which it is said."""
    return code in LANGUAGES and _pattern(code).search(text.replace("’", "'")) is not None


def names_day(text: str, code: str) -> bool:
    """Whether the sentence names a day or a month by itself: ``2026-11-21``, ``12.11.``, ``the 3rd of May``."""
    return _NAMED.search(text) is not None or _month_day(code).search(text) is not None


def _dates(code: str) -> dict[str, Any]:
    return dict(language(code).table["dates"])


@cache
def _weekdays(code: str) -> dict[str, int]:
    lists = _dates(code)["weekdays"]
    return {name: number for names in lists for number, name in enumerate(names.split())}


@cache
def _numbers(code: str) -> dict[str, int]:
    table = _dates(code)
    found = {word: number for number, word in enumerate(table["numbers"].split(), 1)}
    return (
        found
        | dict.fromkeys(table["one"].split("|"), 1)
        | dict.fromkeys(filter(None, table.get("two", "").split("|")), 2)
    )


@cache
def _units(code: str) -> dict[str, int]:
    units = _dates(code)["units"]
    return {word: days for words, days in zip(units, _UNIT_DAYS, strict=True) for word in words.split()}


@cache
def _stretches(code: str) -> dict[str, tuple[int, str]]:
    return {
        word: (_STEPS[step], unit)
        for unit, steps in _dates(code)["stretches"].items()
        for step, words in steps.items()
        for word in words.split("|")
    }


@cache
def _month_day(code: str) -> re.Pattern[str]:
    months = _dates(code)["months"]
    return re.compile(
        rf"\b\d{{1,2}}(?:st|nd|rd|th|\.|º|er|o)?(?: of| de| di)? (?:{months})\b|\b(?:{months})\.? \d{{1,2}}\b",
        re.IGNORECASE,
    )


def _any(words: dict[str, Any]) -> str:
    return "|".join(sorted(map(re.escape, filter(None, words)), key=len, reverse=True))


@cache
def _pattern(code: str) -> re.Pattern[str]:
    table = _dates(code)
    numbers, units, weekdays = rf"\d{{1,3}}|{_any(_numbers(code))}", _any(_units(code)), _any(_weekdays(code))
    ago = table["ago"].replace("N", f"(?P<n>{numbers}) (?P<u>{units})")
    ahead = table["ahead"].replace("N", f"(?P<n2>{numbers}) (?P<u2>{units})")
    past, coming, on = table["past"], table["coming"], table["on"]
    if table["weekday_first"]:
        named = rf"(?:(?:le|el|il|na|no) )?(?P<weekday>{weekdays})(?: (?:(?P<past>{past})|(?P<coming>{coming})))"
    else:
        named = rf"(?:(?P<past>{past})|(?P<coming>{coming})|{on}) (?P<weekday>{weekdays})\.?{_NO_DATE_AFTER}"
    bare = rf"{table['bare']}(?P<bare>{weekdays})"
    return re.compile(
        rf"(?<![\w-])(?:(?P<stretch>(?:{table['before']})?(?:{_any(_stretches(code))}))|(?P<day>{_any(table['days'])})"
        rf"|{ago}|{ahead}|{named}|{bare}{_NO_DATE_AFTER})(?![\w-])",
        re.IGNORECASE,
    )


def _said(found: re.Match[str], text: str, day: date, code: str) -> str | None:
    """What stands there instead; None if it is not a date here."""
    before = text[: found.start()]
    try:
        if found["day"]:
            return _day(found, before, text, day, code)
        if found["stretch"]:
            return _stretch(found["stretch"].lower(), day, code, before)
        if found["weekday"] or found["bare"]:
            return _weekday(found, text, day, code)
        number = (found["n"] or found["n2"]).lower()
        unit = (found["u"] or found["u2"]).lower()
        return _away(number, unit, -1 if found["n"] else 1, day, code)
    except (OverflowError, ValueError):
        return None


def _day(found: re.Match[str], before: str, text: str, day: date, code: str) -> str | None:
    table = _dates(code)
    if re.search(table["no_day"], f"{before}<{found['day']}", re.IGNORECASE):
        return None
    when = (day + timedelta(table["days"][found["day"].lower()])).isoformat()
    if text[found.end() :].startswith("'s"):
        return when
    return _led(when, before, table["on"], code)


def _stretch(word: str, day: date, code: str, before: str) -> str | None:
    table, stretches = _dates(code), _stretches(code)
    if word not in stretches:
        word = re.sub(rf"^(?:{table['before']})", "", word)
    step, unit = stretches[word]
    monday = day - timedelta(day.weekday()) + timedelta(7 * step)
    if unit == "week":
        return _led(monday.isoformat(), before, table["week_of"], code)
    if unit == "weekend":
        saturday = monday + timedelta(5)
        return _led(f"{saturday.isoformat()}/{(saturday + timedelta(1)).day:02}", before, table["on"], code)
    if unit == "month":
        year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
        return _led(f"{year:04}-{month + 1:02}", before, table["in"], code)
    return _led(f"{day.year + step:04}", before, table["in"], code)


def _weekday(found: re.Match[str], text: str, day: date, code: str) -> str | None:
    """``last`` and ``next`` say which one; a bare ``on Monday`` is the coming one unless the sentence is past."""
    table = _dates(code)
    named = found["weekday"] or found["bare"]
    ahead = (_weekdays(code)[named.lower()] - day.weekday()) % 7
    past = bool(found["past"]) or (not found["coming"] and re.search(table["told"], text, re.IGNORECASE) is not None)
    when = day + timedelta((ahead - 7) if past else (ahead or 7))
    if found["past"] or found["coming"]:
        return f"{table['on']} {named} {when.isoformat()}"
    return f"{found[0].rstrip('.')} {when.isoformat()}"


def _away(number: str, unit: str, way: int, day: date, code: str) -> str | None:
    table = _dates(code)
    count = int(number) if number.isdigit() else _numbers(code)[number]
    days = _units(code)[unit]
    if days >= 30:
        months = day.year * 12 + day.month - 1 + way * count * (12 if days == 365 else 1)
        year, month = divmod(months, 12)
        if not 1 <= year <= 9999:
            return None
        return f"{table['in']} {year:04}" if days == 365 else f"{table['in']} {year:04}-{month + 1:02}".strip()
    return f"{table['on']} {(day + timedelta(way * count * days)).isoformat()}"


def _led(when: str, before: str, preposition: str, code: str) -> str:
    """The date, led by a preposition unless one stands there."""
    governs = _dates(code)["governs"]
    if not preposition or re.search(rf"(?:^|\s)(?:{governs})\s+$", before, re.IGNORECASE):
        return when
    return f"{preposition} {when}"
