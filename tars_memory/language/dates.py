"""Dates in text: make those of a sentence absolute, and find those that a question names. Pure.

Ambiguous dates are left as they are. In sentences, dates are found by the plain words in the language's TOML; in
questions, in English, in numbers, and in any known language as a month, or as words for a day or a week (``gestern``,
``la semaine dernière``). What is understood in a question is understood as a value of ``since:``.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple
from unicodedata import decimal

from tars_memory.language import calendar
from tars_memory.language.words import (
    LANGUAGES,
    STOP_WORDS,
    WORD,
    fold,
    foreign_language,
    is_unspaced,
    language,
    language_of,
)

_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1}
_SHOWN = {"month": 7, "year": 4}
"""Number of characters of an ISO date that show a unit; other units are shown as whole dates."""
_PREPOSITIONS = {"week": "week_of", "weekend": "on", "month": "in", "year": "in"}
"""Keys of the prepositions before units, in the table of dates of a language."""

_NO_DATE_AFTER = r"(?!,? (?:\w{1,3}\.? )?\d| week\b| after next\b)"
"""A weekday before a date is left as it is: ``mardi 24 novembre``, ``el martes, el 24``, ``until Friday week``."""
_BESIDE = re.compile(r" ?(?:(?:of|van|d\w{0,2}|la) ){0,2}")
"""What may stand between a weekday and the week that it is in: ``on Friday of next week``."""
_ON = ("", "el ", "na ", "no ")
"""What may stand before a bare weekday, in all languages, if it is no end or beginning: ``until Friday``."""
_IN_MONTH = "in|im|en|em|ad?|ab|from|starting|since|seit|dal?|(?<=partir )d[e']|desde|depuis|dès|vanaf|sinds"
"""Words before a month that is named alone, in all languages."""
_SINCE = re.compile(r"\b(?:since|seit|desde|depuis|sinds) (?:el |a )?$", re.IGNORECASE)
"""Matches, in all languages, a word before a weekday that is over, whatever the tense."""
_NAMED = r"\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?\b(?!\d)"


def with_absolute_dates(text: str, day: date, code: str = "en", *, habit: bool = False) -> str:
    """Return a sentence with its relative dates made absolute.

    Args:
        text: the sentence.
        day: on which it was said.
        code: of the language, two letters; in an unknown language the text is left as it is.
        habit: whether it says what the person does as a rule, so that a bare weekday is every one of that name.
    """
    if code not in LANGUAGES:
        return text
    plain = text.replace("’", "'")
    words = _words(code)
    all_found = list(words.relative.finditer(plain))
    for found in reversed(all_found):
        is_weekday = (found["bare"] or found["weekday"]) and not (found["past"] or found["coming"])
        beside = _beside(found, all_found, plain) if is_weekday else None
        if habit and is_weekday and not beside:
            continue
        replacement = _within(found, beside, day, words) if beside else _replacement(found, plain, day, words)
        if replacement is not None:
            text = text[: found.start()] + replacement + text[found.end() :]
    return text


def names_relative(text: str, code: str = "en") -> bool:
    """Whether a sentence names a day relative to the one on which it is said."""
    return code in LANGUAGES and _words(code).relative.search(text.replace("’", "'")) is not None


def tells_time(word: str) -> bool:
    """Whether a word of any language only says how often (``voortaan``), or is a unit of time, a day, a month or a
    number.
    """
    named = ({*table.units, *table.weekdays, *table.numbers} for table in map(_words, LANGUAGES))
    always = any(_words(code).always.fullmatch(word) for code in LANGUAGES)
    return always or word in _spelt_months() or any(word in names for names in named)


def names_day(text: str, code: str) -> bool:
    """Whether a sentence names an absolute day or month: ``2026-11-21``, ``12.11.``, ``the 3rd of May``."""
    return re.search(_NAMED, text) is not None or _words(code).month_day.search(text) is not None


class _Words:
    """The words for dates in one language.

    Args:
        code: of the language, two letters.

    Attributes:
        code: of the language.
        table: from its TOML.
        told: matches what a sentence in the past tense has.
        always: matches a word for what is always or never so, or again and again.
        weekdays: numbers of weekdays by name; Monday is 0.
        numbers: the numbers that words mean.
        units: the English names of units of time.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.table = table = language(code).table["dates"]
        self.told = re.compile(table["told"], re.IGNORECASE)
        always = f"{language(code).table['feedback']['always']}|{table['repeats']}"
        self.always = re.compile(rf"\b(?:{always})\b", re.IGNORECASE)
        self.weekdays = {name: number for names in table["weekdays"] for number, name in enumerate(names.split())}
        self.numbers = {word: number for number, word in enumerate(table["numbers"].split(), 1)}
        for number, words in ((1, table["one"]), (2, table.get("two", ""))):
            self.numbers |= dict.fromkeys(filter(None, words.split("|")), number)
        names = zip(("day", "week", "month", "year"), table["units"], strict=True)
        self.units = {word: unit for unit, words in names for word in words.split()}

    @cached_property
    def month_day(self) -> re.Pattern[str]:
        """Matches a day of a month, a month of a year, or the next one: ``3rd of May``, ``May 2027``, ``in May``."""
        months = self.table["months"]
        return re.compile(
            rf"(?<![\w-])(?:{_IN_MONTH})(?: |(?<='))(?:{months})\b|"
            rf"\b\d{{1,2}}(?:st|nd|rd|th|\.|º|er|o)?(?: of| de| di)? (?:{months})\b"
            rf"|\b(?:{months})\.?(?: de| di| the)? (?:\d{{1,2}}(?:st|nd|rd|th)?|(?:19|20)\d\d)\b",
            re.IGNORECASE,
        )

    @cached_property
    def relative(self) -> re.Pattern[str]:
        """Matches a date relative to the day on which the sentence is said."""
        table = self.table
        numbers = rf"\d{{1,3}}|{_alternatives(self.numbers)}"
        units, weekdays = _alternatives(self.units), _alternatives(self.weekdays)
        stretches, days = _alternatives(calendar.STRETCHES[self.code]), _alternatives(calendar.DAYS[self.code])
        ago = table["ago"].replace("N", f"(?P<n>{numbers}) (?P<u>{units})")
        ahead = table["ahead"].replace("N", f"(?P<n2>{numbers}) (?P<u2>{units})")
        past, coming, on = table["past"], table["coming"], table["on"]
        if table["weekday_first"]:
            named = (
                rf"(?:(?:le|el|il|na|no) )?(?=(?:(?:{coming}) )?(?P<weekday>{weekdays})\b)(?P<first>(?:{weekdays}) )?"
                rf"(?:(?P<past>{past})|(?P<coming>{coming}))(?(first)| (?:{weekdays}){_NO_DATE_AFTER})"
            )
        else:
            named = rf"(?:(?P<past>{past})|(?P<coming>{coming})|{on}) (?P<weekday>{weekdays})\.?{_NO_DATE_AFTER}"
        bare = rf"{table['bare']}(?P<bare>{weekdays})" + (
            rf"(?! (?:{past}|{coming})\b)" if table["weekday_first"] else ""
        )
        return re.compile(
            rf"(?<![\w-])(?:(?:{table['before']})?(?P<stretch>{stretches})|(?P<day>{days})"
            rf"|{ago}|{ahead}|{named}|{bare}{_NO_DATE_AFTER})(?![\w-])",
            re.IGNORECASE,
        )

    @cached_property
    def range_before(self) -> re.Pattern[str]:
        """Matches the beginning of a range of weekdays, which are those of every week: ``Monday until``."""
        return re.compile(
            rf"\b(?:{_alternatives(self.weekdays)}) (?:(?:{self.table['governs']}) ){{1,2}}$", re.IGNORECASE
        )

    @cached_property
    def range_after(self) -> re.Pattern[str]:
        """Matches the end of such a range: ``until Friday``."""
        return re.compile(
            rf" (?:(?:{self.table['governs']}) ){{1,2}}(?:{_alternatives(self.weekdays)})\b", re.IGNORECASE
        )

    def governed(self, before: str) -> bool:
        """Whether the text before a date ends with a preposition."""
        return re.search(rf"(?:^|\s)(?:{self.table['governs']})\s+$", before, re.IGNORECASE) is not None

    def with_preposition(self, when: str, before: str, preposition: str) -> str:
        """Return a date with a preposition; if the text before it ends with one, only with what else there is."""
        if self.governed(before):
            preposition = preposition.removeprefix("in ").removeprefix("na ") if " " in preposition else ""
        return f"{preposition} {when}".lstrip()


_words = cache(_Words)


def _alternatives(words: dict[str, Any]) -> str:
    """Return an expression for any of the words, longest first."""
    return "|".join(sorted(map(re.escape, filter(None, words)), key=len, reverse=True))


def _replacement(found: re.Match[str], text: str, day: date, words: _Words) -> str | None:
    """Return the text that replaces a match; None if it is not a date here."""
    before, table = text[: found.start()], words.table
    try:
        if found["day"]:
            return _day_word(found, text, day, words)
        if found["stretch"]:
            step, unit = calendar.STRETCHES[words.code][found["stretch"].lower()]
            named = _stretch(step, unit, day)
            end = f"/{named.end.day:02}" if unit == "weekend" else ""
            when = f"{named.start.isoformat()[: _SHOWN.get(unit)]}{end}"
            lead = text[found.start() : found.start("stretch")].strip().lower()
            if preposition := table.get("leads", {}).get(lead):
                return f"{preposition} {when}"
            return words.with_preposition(when, before, table[_PREPOSITIONS[unit]])
        if found["weekday"] or found["bare"]:
            return _weekday(found, text, day, words)
        if found["n"] and table["ago_if_told"] and not words.told.search(text):
            return None
        number = (found["n"] or found["n2"]).lower()
        unit = words.units[(found["u"] or found["u2"]).lower()]
        count = int(number) if number.isdigit() else words.numbers[number]
        ago = _ago(count if found["n"] else -count, unit, day)
        preposition = table["in" if unit in _SHOWN else "on"]
        return f"{preposition} {ago.isoformat()[: _SHOWN.get(unit)]}".strip() if ago else None
    except (OverflowError, ValueError):
        return None


def _day_word(found: re.Match[str], text: str, day: date, words: _Words) -> str | None:
    """Resolve ``yesterday``; None if it means something else here."""
    before = text[: found.start()]
    if re.search(words.table["no_day"], f"{before}<{found['day']}", re.IGNORECASE):
        return None
    when = (day + timedelta(calendar.DAYS[words.code][found["day"].lower()])).isoformat()
    if text[found.end() :].startswith("'s"):
        return when
    return words.with_preposition(when, before, words.table["on"])


def _weekday(found: re.Match[str], text: str, day: date, words: _Words) -> str | None:
    """Resolve ``last Monday``, ``next Monday``, or a bare ``on Monday``, which is the next one unless the sentence is
    in the past tense; None if the sentence says what is always or never so, or from now on, and means every Monday.
    """
    table = words.table
    named = found["weekday"] or found["bare"]
    if not (found["past"] or found["coming"]) and words.always.search(text):
        return None
    before, after = text[: found.start("weekday") if found["weekday"] else found.start("bare")], text[found.end() :]
    if after.startswith("'s") or words.range_before.search(before) or words.range_after.match(after):
        return None
    if words.month_day.match(after.lstrip(" ,")):
        return None  # the date is said: "on Tuesday, December 1"
    is_told, is_since = words.told.search(text) is not None, _SINCE.search(before) is not None
    ends = before[found.start() :].lower() not in _ON or words.governed(text[: found.start()])
    if is_told and not is_since and found["bare"] and ends:
        return None
    past = bool(found["past"]) or (not found["coming"] and (is_told or is_since))
    when = _weekday_from(day, words.weekdays[named.lower()], -1 if past else 1)
    if found["past"] or found["coming"]:
        dated, lead = f"{named} {when.isoformat()}", before[found.start() :] if table["weekday_first"] else ""
        return f"{lead}{dated}" if lead else words.with_preposition(dated, text[: found.start()], table["on"])
    return f"{found[0].rstrip('.')} {when.isoformat()}"


def _beside(found: re.Match[str], others: list[re.Match[str]], text: str) -> re.Match[str] | None:
    """Return what names the week of a weekday, right before or behind it: ``on Friday of next week``."""
    for other in others:
        gap = text[min(found.end(), other.end()) : max(found.start(), other.start())]
        if (other["stretch"] or other["n"] or other["n2"]) and _BESIDE.fullmatch(gap):
            return other
    return None


def _within(found: re.Match[str], beside: re.Match[str], day: date, words: _Words) -> str | None:
    """Resolve a weekday of a named week; None if something else is named: ``on Friday in two weeks``."""
    step, unit = calendar.STRETCHES[words.code].get((beside["stretch"] or "").lower(), (0, ""))
    if unit != "week":
        return None
    number = words.weekdays[(found["weekday"] or found["bare"]).lower()]
    return f"{found[0].rstrip('.')} {_stretch(step, unit, day).start + timedelta(number)}"


# --- dates in a question: scanned by hand, because compiling a handful of alternations would cost every start of the
# command line more than the whole ranking

_MONTHS = {form.lower(): number for number, name in enumerate(calendar.MONTHS, start=1) for form in (name, name[:3])}
_MONTHS["sept"] = 9
_PLAIN_MONTHS = frozenset({"january", "february", "july", "september", "october", "november", "december"})
"""Months that are never another word or a first name; others need a capital letter, a preposition or a number."""
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.WEEKDAYS)}
_SEASONS = {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
"""First month and length in months, on the northern hemisphere."""
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_UNITS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
_DURATIONS = {"d": "day", "w": "week", "m": "month", "y": "year"}
_BEFORE_MONTH = frozenset(
    {"in", "on", "of", "during", "since", "until", "till", "before", "after", "by", "from", "early", "late", "mid"}
    | {"last", "this", "next"}
)
_DAY_WORDS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
_MORNINGS = frozenset({"morgen", "mañana"})
"""Words for tomorrow that mean the morning too."""
_BEFORE_DAY = frozenset({"den", "dne", "dnia", "dia", "día", "ngày"})
"""Articles and words for "day" that stand before the number of a day: ``den 15. November``, ``ngày 15 tháng 11``."""
_ORDINALS = ("st", "nd", "rd", "th", "er", "e", "º", "ª", "η", "ή")
"""Endings of the number of a day."""
_LONGEST_ENDING = 3
"""Length of a case ending that a hyphen joins to the number of a day: ``15-го``, ``1-jén``."""
_LONGEST_PREPOSITION = 2
"""Length of words that may stand beside a date in a value: ``w październiku 2026``, ``2026 г.``. Longer ones are other
words, unless they are English function words or a day of the week."""
_LONG_MONTH = 6
"""Minimum length of a name of a month in another language that is hardly ever another word or a first name."""
_MARKS = "\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
"""Marks that belong to the letter before them: accents, vowel signs of Devanagari."""
_LEAP_YEAR = 2000
"""The year of dates that are named without one."""
_LONGEST = 2_000
"""Maximum number of characters that are scanned: nobody names a date in the middle of a pasted page."""

ACCEPTED = "2026-03-15, 2026-03, 2026, 3d, 2w, 6m, 1y, yesterday, 'last week'"
"""Examples of values of ``since:`` and ``until:``, for messages."""


class NamedDate(NamedTuple):
    """A stretch of days named in a text.

    Attributes:
        start: first day.
        end: last day, inclusive.
        yearless: whether it is named without a year (``in May``, ``on 3 June``): the same days of any year are meant.
    """

    start: date
    end: date
    yearless: bool = False

    def distance(self, day: date) -> int:
        """Return the days from this stretch to ``day``: 0 inside, positive after it, negative before it."""
        distances = (_distance(start, end, day) for start, end, _ in self._around(day))
        return min(distances, key=abs, default=366)

    def of_year(self, day: date) -> NamedDate:
        """Return these days of the one year in which ``day`` is one of them."""
        return next((named for named in self._around(day) if not named.distance(day)), self)

    def _around(self, day: date) -> list[NamedDate]:
        """Return these days of the years around ``day``; only themselves if they have a year."""
        if not self.yearless:
            return [self]
        years = (_safe(year, self.start.month, self.start.day) for year in range(day.year - 1, day.year + 2))
        return [NamedDate(start, start + (self.end - self.start)) for start in years if start is not None]


def dated(text: str, today: date) -> list[tuple[NamedDate, list[str]]]:
    """Return the dates that a text names, in order, each with the words that name it.

    Args:
        text: a question or note text.
        today: the day from which relative words (``yesterday``, ``last week``, ``3 days ago``) count.
    """
    scan = _Scan(text[:_LONGEST], today)
    return [(named, scan.raw[first:last]) for named, first, last in scan.run()]


def parse_day(value: str, today: date) -> NamedDate | None:
    """Return the days that a value of ``since:`` or ``until:`` means; None if it is not a date (:data:`ACCEPTED`).

    Of days without a year these are the latest that have begun.
    """
    value = _ascii_digits(value).strip().replace("_", " ")
    if value[:-1].isdecimal() and value[-1:].lower() in _DURATIONS and len(value) <= 6:
        day = _ago(int(value[:-1]), _DURATIONS[value[-1].lower()], today)
        return NamedDate(day, day) if day else None
    for form in (value, value.replace("-", " ")):
        scan = _Scan(form, today, alone=True)
        found = scan.run()
        if len(found) == 1 and all(map(scan.is_beside, (*scan.words[: found[0][1]], *scan.words[found[0][2] :]))):
            named = found[0][0]
            return _latest(named, today)._replace(yearless=True) if named.yearless else named
    return None


def refusal(value: str) -> str:
    """Return what is wrong with a value that :func:`parse_day` refuses, for a message after the value."""
    value = _ascii_digits(value).strip().replace("_", " ")
    if value[:-1].isdecimal() and value[-1:].lower() in _DURATIONS:
        return "reaches back before the year 1"
    scan = _Scan(value, date.max, alone=True)
    year = scan.year_of(scan.words[2]) if len(scan.words) == 3 else _LEAP_YEAR
    days = scan.readings(0, year) if year and len(scan.words) in (2, 3) else set()
    named = " or ".join(f"{day.day} {calendar.MONTHS[day.month - 1]}" for day in sorted(days))
    return f"is {named}" if days else "is not a date"


class _Names(NamedTuple):
    """Names in other languages.

    Attributes:
        weekdays: numbers of days of the week by name; Monday is 0.
        signed: matches a date in which every number has the sign of its unit.
    """

    weekdays: dict[str, int]
    signed: re.Pattern[str] | None


_NO_NAMES = _Names({}, None)


@cache
def _names() -> _Names:
    """Return the names in all languages; asked for only by texts with a digit, which most questions don't contain."""
    weekdays = {name.lower(): number for _, names in calendar.NAMES.values() for number, name in enumerate(names)}
    signed = r"(?:((?:19|20)\d\d)[年년])?(?:(1[0-2]|0?[1-9])[月월](?:(3[01]|[12]\d|0?[1-9])[日号號일])?)?"
    return _Names(weekdays, re.compile(signed))


@cache
def _month_names() -> dict[str, int]:
    """Return the numbers of months by folded name in all languages."""
    return {name: at % len(calendar.MONTHS) + 1 for at, name in enumerate(fold("\n".join(_spelt_months())).split("\n"))}


@cache
def _spelt_months() -> tuple[str, ...]:
    """Return the names of months in all languages, in lower case, of each form all twelve."""
    forms = (*(months for months, _ in calendar.NAMES.values()), *chain.from_iterable(calendar.MONTH_FORMS.values()))
    return tuple(name.lower() for name in chain.from_iterable(forms))


@cache
def _locatives() -> frozenset[str]:
    return frozenset(map(fold, calendar.LOCATIVES))


_NOT_WITHIN = "(?<!日(?=本))(?<!再(?=来))(?<!一(?=昨))(?<!上(?=上))(?<!下(?=下))(?<!先(?=先))"
"""There is no ``本周`` in ``日本周辺``, and ``上上周`` and ``再来週`` are a week farther off."""
_NOT_AROUND = "(?!(?<=[周週])[围圍边邊辺期])"
"""``这周围`` means around here."""
_NOT_BEGUN = r"(?!(?<=[주달])(?!(?:에\w*|[은는엔도의]|까지|부터)(?!\w))\w)"
"""Only a particle may follow ``이번 주``: ``이번 주문`` is an order."""
_COUNTED = r"(?:^|(?<!thứ) )(?:\d+|một|hai|ba|bốn|năm|sáu|bảy|tám|chín|mười|vài|mấy|nhiều)$|\b(?:thứ|tháng)$"
"""Before a unit in Vietnamese: ``hai tuần trước`` is two weeks ago, ``thứ năm tới`` Thursday, not the next year."""


@cache
def _pieces() -> re.Pattern[str]:
    """Matches a word; in scripts without blanks also a number with its sign (``3日``) or a word for a day or
    a week, in Korean only at the beginning of a word: ``제작년도`` holds no ``작년``.
    """
    days, weeks = (
        _alternatives({name: 0 for names in named for name in names if is_unspaced(name[:1])})
        for named in (calendar.DAYS.values(), (calendar.STRETCHES["ja"], calendar.STRETCHES["zh"]))
    )
    korean = rf"(?<!\w)(?:{_alternatives(calendar.STRETCHES['ko'])}){_NOT_BEGUN}"
    alone = rf"\d{{1,4}}[年月日号號년월일]|{days}|{_NOT_WITHIN}(?:{weeks}){_NOT_AROUND}|{korean}"
    return re.compile(rf"{alone}|(?:(?!{alone})[^\W_][{_MARKS}]*)+")


@cache
def _other_phrases(*, is_ascii: bool) -> dict[str, list[tuple[list[str], int | tuple[int, str], str]]]:
    """Return the phrases for days and stretches of days in other languages than English, by first word, longest first:
    all words of the phrase, what it means (the offset of a day from today, or a step and a unit), the language. With
    ``is_ascii`` only those that a text in ASCII may contain, as most questions are.
    """
    found: dict[str, list[tuple[list[str], int | tuple[int, str], str]]] = {}
    for code in calendar.DAYS.keys() - {"en"}:
        names: dict[str, int | tuple[int, str]] = {**calendar.DAYS[code], **calendar.STRETCHES.get(code, {})}
        for name, meaning in names.items():
            if is_ascii and not name.isascii():
                continue
            parts = [name] if is_unspaced(name[0]) else (WORD if name.isascii() else _pieces()).findall(name)
            found.setdefault(parts[0], []).append((parts, meaning, code))
            if len(parts) > 2 and not isinstance(meaning, int) and code in LANGUAGES:  # no article: semaine dernière
                found.setdefault(parts[1], []).append((parts[1:], meaning, code))
    for phrases in found.values():
        phrases.sort(key=lambda phrase: -len(phrase[0]))
    return found


@cache
def _other_weekdays() -> dict[str, int]:
    """Return the numbers of the days of the week by name in the languages of :data:`WEEKDAY_STEPS`; Monday is 0."""
    named = (days for code, (_, days) in calendar.NAMES.items() if code != "en")
    return {name.partition("-")[0].lower(): number for days in named for number, name in enumerate(days)}


class _Scan:
    """One pass over the words of a text; every rule returns a date and the number of words that it took."""

    def __init__(self, text: str, today: date, *, alone: bool = False) -> None:
        self.today = today
        self.text = text
        self.alone = alone
        """Whether the text is nothing but a date: then months need no capital letter or preposition."""
        self.names = _names() if alone or any(map(str.isdigit, text)) else _NO_NAMES
        spans = [m.span() for m in (WORD if text.isascii() else _pieces()).finditer(text)]
        self.raw = [text[a:b] for a, b in spans]
        text = _ascii_digits(text)
        self.words = [text[a:b].lower() for a, b in spans]
        self.gaps = [text[a:b].strip() for (_, a), (b, _) in pairwise([*spans, (len(text), 0)])]
        """What follows each word, without blanks."""

    def run(self) -> list[tuple[NamedDate, int, int]]:
        """Return the dates, each with the index of its first word and the index after its last word."""
        found: list[tuple[NamedDate, int, int]] = []
        rules = (
            self.iso, self.signed, self.day_month_year, self.numbers, self.day_month, self.month_day, self.relative,
            self.other_phrase, self.other_weekday, self.ago, self.season, self.year,
        )  # fmt: skip
        i = 0
        while i < len(self.words):
            for rule in rules:
                match = rule(i)
                if match is not None:
                    named, taken = match
                    found.append((named, self.first(i) if named.start == named.end else i, i + taken))
                    i += taken
                    break
            else:
                i += 1
        return found

    def first(self, i: int) -> int:
        """Return the index of the first word of a day at i: its weekday and article belong to it."""
        while i > 0 and self.gaps[i - 1] in ("", ",") and self.words[i - 1] in {*self.names.weekdays, *_BEFORE_DAY}:
            i -= 1
        return i

    def is_beside(self, word: str) -> bool:
        """Whether a word may stand beside a date in a value: a preposition, an article, a day of the week."""
        is_short = len(word) <= _LONGEST_PREPOSITION and word.isalpha()
        return is_short or word in STOP_WORDS or word in self.names.weekdays

    def word(self, i: int) -> str:
        """Return the word at i if it is the first or only a space, comma, full stop or degree sign (of an Italian
        ordinal) is before it, else ''.
        """
        if not 0 <= i < len(self.words) or (i and self.gaps[i - 1] not in ("", ",", ".", "°")):
            return ""
        return self.words[i]

    def year_of(self, word: str) -> int | None:
        """Return the year that a word names: 1900 to 2099, or any four digits if the text is nothing but a date."""
        if len(word) != 4 or not _digits(word) or not (self.alone or word[:2] in ("19", "20")):
            return None
        return int(word) or None

    def month(self, word: str) -> int | None:
        """Return the number of the month that a word names."""
        return _MONTHS.get(word) or _month_names().get(fold(word))

    def month_at(self, i: int) -> tuple[int, int] | None:
        """Return the number of the month named at i, and the index after it; some names are two words."""
        word, after = self.word(i), self.word(i + 1)
        if after and (two := _month_names().get(fold(f"{word} {after}"))):
            return two, i + 2
        month = self.month(word)
        return (month, i + 1) if month is not None else None

    def day_at(self, i: int) -> tuple[int, int] | None:
        """Return the number of the day at i, and the index after it and its ending: ``15``, ``15th``, ``15-го``."""
        day = _day(self.words[i]) if i < len(self.words) else None
        if day is None:
            return None
        ending = self.words[i + 1] if i + 1 < len(self.words) and self.gaps[i] in ("-", ":") else ""
        is_ending = ending.isalpha() and len(ending) <= _LONGEST_ENDING and self.month(ending) is None
        return day, i + 2 if is_ending else i + 1

    def joined(self, i: int) -> int:
        """Return the index after a word that joins the parts of a date: ``of``, in Spanish and Portuguese ``de``, in
        Vietnamese ``năm``.
        """
        return i + 1 if self.word(i) in ("of", "de", "del", "năm") else i

    def iso(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``2026-03-15``, ``2026/3/15``, ``2026-03``."""
        year = self.year_of(self.words[i])
        if year is None or self.gaps[i] not in ("-", "/", ".") or i + 1 >= len(self.words):
            return None
        month = _number(self.words[i + 1], 12)
        if month is None:
            return None
        if self.gaps[i + 1] == self.gaps[i] and i + 2 < len(self.words):
            day = _number(self.words[i + 2][:2], 31)  # 2026-03-15T10:00
            whole = day and _safe(year, month, day)
            return (NamedDate(whole, whole), 3) if whole else None
        return (_months(year, month), 2) if self.gaps[i] != "." else None

    def signed(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``2026年10月3日``, ``2026년 10월 3일``, ``10월``: every number has the sign of its unit."""
        found = self.names.signed.match("".join(self.words[i : i + 3])) if self.names.signed else None
        if found is None:
            return None
        taken, end = 1, len(self.words[i])
        while end < found.end():
            end += len(self.words[i + taken])
            taken += 1
        year, month, day = (int(part) if part else None for part in found.groups())
        start = _safe(year or 2000, month or 1, day or 1)
        if start is None or (year is None and month is None):
            return None
        if day is not None:
            return NamedDate(start, start, yearless=year is None), taken
        named = _months(start.year, start.month, 1 if month else 12)
        return named._replace(yearless=year is None), taken

    def day_month(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``3 May``, ``the 3rd of May, 2026``."""
        day = self.day_at(i)
        month = self.month_at(self.joined(day[1])) if day else None
        return self.with_year(month[0], day[0], i, month[1]) if day and month else None

    def day_month_year(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``3.10.2026``; with other signs only if there is one way to read it: ``23/11/2026``, ``11/23/2026``."""
        year, sign = self.year_of(self.words[i + 2]) if i + 2 < len(self.words) else None, self.gaps[i]
        if year is None or sign not in ("-", "/", ".") or self.gaps[i + 1] != sign:
            return None
        day = self.only_reading(i, year)
        return (NamedDate(day, day), 3) if day else None

    def numbers(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``15.11.`` after a short word or none; in a value also ``15.11`` and ``15/11``, if there is one way to
        read it.
        """
        further = self.words[i + 2] if i + 2 < len(self.words) else ""
        if i + 1 >= len(self.words) or self.gaps[i] not in ("-", "/", ".") or further[:1].isdigit():
            return None
        if not self.alone:
            dotted = self.gaps[i] == "." and self.gaps[i + 1].startswith(".")
            before = self.words[i - 1] if i and self.gaps[i - 1] == "" else ""
            if not dotted or not (i == 0 or (before.isalpha() and len(before) <= _LONGEST_ENDING)):
                return None
        day = self.only_reading(i, _LEAP_YEAR)
        return (NamedDate(day, day, yearless=True), 2) if day else None

    def only_reading(self, i: int, year: int) -> date | None:
        """Return the day that two numbers name; None if they name none, or there are two ways to read them."""
        days = self.readings(i, year)
        return days.pop() if len(days) == 1 else None

    def readings(self, i: int, year: int) -> set[date]:
        """Return the days that two numbers may name; before a full stop is the day."""
        first, second = _number(self.words[i], 31), _number(self.words[i + 1], 31)
        if first is None or second is None:
            return set()
        month_first = None if self.gaps[i] == "." else _safe(year, first, second)
        return {day for day in (_safe(year, second, first), month_first) if day is not None}

    def month_day(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``May 3``, ``May the 3rd, 2026``, ``May 2026``, ``last May``, ``in May``."""
        named_month = self.month_at(i)
        if named_month is None:
            return None
        month, end = named_month
        at = end + 1 if self.word(end) == "the" else end
        day = self.day_at(at) if self.word(at) else None
        if day is not None:
            return self.with_year(month, day[0], i, day[1])
        at = self.joined(end)
        year = self.year_of(self.word(at))
        if year is not None:
            return _months(year, month), at + 1 - i
        if not (self.month_alone(i) or self.other_month_alone(i, end)):
            return None
        step = _STEPS.get(self.words[i - 1]) if i else None
        named = _months(2000, month)._replace(yearless=True)
        if step is not None:
            named = _latest(named, self.today - timedelta(1)) if step < 0 else _months(self.today.year + step, month)
        return named, end - i

    def month_alone(self, i: int) -> bool:
        """Whether a bare month word means the month, not a modal verb, a walk or a first name."""
        word = self.words[i]
        if word in _PLAIN_MONTHS or self.alone:
            return True
        if word not in _MONTHS:
            return False
        before = self.words[i - 1] if i else ""
        capital = self.raw[i][0].isupper()
        if len(word) <= 4 and word not in ("may", "june") and not capital:
            return False
        return before in _BEFORE_MONTH or (capital and i > 0)

    def other_month_alone(self, i: int, end: int) -> bool:
        """Whether a bare name of a month in another language means the month: ``mars`` is a planet and ``mai`` a name,
        too, and Rio is ``de Janeiro``.

        It does if it is long and has its accents (``julius`` without them is a first name), says "in" by itself, is of
        two words, or has a case ending after an apostrophe. A short name does behind a short word, if that or the text
        is not English: ``en mayo``, ``vad gjorde jag i maj``.

        Args:
            i: of its first word.
            end: index after its last word.
        """
        name, before = fold(self.words[i]), self.word(i - 1)
        if end > i + 1:
            return True
        if name not in _month_names() or (before and self.joined(i - 1) == i):
            return False
        if name in _locatives() or (len(name) >= _LONG_MONTH and self.words[i] in _spelt_months()):
            return True
        ending = self.words[end] if self.gaps[end - 1] in ("'", "’") and end < len(self.words) else ""
        if 1 < len(ending) <= _LONGEST_ENDING:
            return True
        is_short = before.isalpha() and len(before) <= _LONGEST_PREPOSITION
        is_foreign = before not in STOP_WORDS or f"{before} {self.raw[i]}" in calendar.BEHIND_IN
        return is_short and (is_foreign or foreign_language(self.text) != "")

    def with_year(self, month: int, day: int, i: int, at: int) -> tuple[NamedDate, int] | None:
        """Return a day of a month, with the year if one follows at ``at``; ``i`` is the first word of the date."""
        year = self.year_of(self.word(self.joined(at)))
        named = _safe(year or 2000, month, day)
        if named is None:
            return None
        return NamedDate(named, named, yearless=year is None), (self.joined(at) + 1 if year is not None else at) - i

    def relative(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``yesterday``, ``last week``, ``this month``, ``on Monday``, ``past 3 days``."""
        word, after = self.words[i], self.word(i + 1)
        if word == "day" and after == "before" and self.word(i + 2) == "yesterday":
            return self.days(-2, 3)
        if word in _DAY_WORDS:
            return self.days(_DAY_WORDS[word], 1)
        if word == "this" and after in ("morning", "afternoon", "evening"):
            return self.days(0, 2)
        if word in ("on", "since") and after in _WEEKDAYS:
            return self.days(-((self.today.weekday() - _WEEKDAYS[after]) % 7), 2)
        if self.alone and word in self.names.weekdays and i + 1 == len(self.words):
            return self.days(-((self.today.weekday() - self.names.weekdays[word]) % 7), 1)
        if word not in _STEPS:
            return None
        number, unit = _count(after), _unit(self.word(i + 2))
        if number is not None and unit is not None and word in ("last", "past"):
            start = _ago(number, unit, self.today)
            return (NamedDate(start, self.today), 3) if start else None
        if after in _WEEKDAYS:
            day = _weekday_from(self.today, _WEEKDAYS[after], _STEPS[word])
            return NamedDate(day, day), 2
        return (_stretch(_STEPS[word], after, self.today), 2) if after in _PREPOSITIONS else None

    def other_phrase(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``gestern``, ``avant-hier``, ``昨日``, ``letzte Woche``; not words that mean the morning too, nor words
        that mean something else in the language of the rest of the text (``hier``).
        """
        for parts, meaning, code in _other_phrases(is_ascii=self.text.isascii()).get(self.words[i], ()):
            end = i + len(parts)
            if parts != self.words[i:end] or not all(gap in ("", "-", "'", "’") for gap in self.gaps[i : end - 1]):
                continue
            if len(parts) == 1 and not self.alone and not self.is_day_word(i, code):
                continue
            if code == "vi" and re.search(_COUNTED, " ".join(self.words[max(0, i - 2) : i])):
                continue
            if isinstance(meaning, int):
                return self.days(meaning, len(parts))
            return _stretch(*meaning, self.today), len(parts)
        return None

    def other_weekday(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``lundi dernier``, ``letzten Montag``, ``segunda-feira passada``."""
        leads = self.words[i] in calendar.WEEKDAY_STEPS
        at = i + leads
        number = _other_weekdays().get(self.word(at))
        if number is None:
            return None
        end = at + 2 if self.gaps[at] == "-" and self.words[at + 1 : at + 2] == ["feira"] else at + 1
        step = calendar.WEEKDAY_STEPS.get(self.words[i] if leads else self.word(end))
        if step is None:
            return None
        day = _weekday_from(self.today, number, step)
        return NamedDate(day, day), end + (not leads) - i

    def is_day_word(self, i: int, code: str) -> bool:
        """Whether the word at i means a day in its language, and nothing else in the language of the other words; with
        a capital letter within a sentence one of a language that is known by such words alone is a name (``Loni``).
        """
        is_name = i > 0 and code not in LANGUAGES and self.raw[i].istitle() and self.gaps[i - 1] in ("", ",")
        if is_name or self.words[i] in _MORNINGS:
            return False
        rest = language_of(" ".join((*self.words[:i], *self.words[i + 1 :])))
        return rest in ("", code) or self.words[i] not in language(rest).words("words")

    def ago(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``3 days ago``, ``a couple of weeks ago``: the day with half a unit before and after it, up to
        today; of months and years the whole month or year.
        """
        number = _count(self.words[i])
        at = i + 1
        if self.words[i] == "a" and self.word(at) in ("couple", "few"):
            number = _NUMBERS[self.word(at)]
            at += 1
        if self.word(at) == "of":
            at += 1
        unit = _unit(self.word(at))
        if number is None or unit is None or self.word(at + 1) != "ago":
            return None
        day = _ago(number, unit, self.today)
        if day is None:
            return None
        if unit == "month":
            return _months(day.year, day.month), at + 2 - i
        if unit == "year":
            return _months(day.year, 1, 12), at + 2 - i
        slack = timedelta(_UNITS[unit] // 2)
        return NamedDate(day - slack, min(day + slack, self.today)), at + 2 - i

    def season(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``summer 2025``, ``last winter``, ``Q3 2025``."""
        word = self.words[i]
        step = _STEPS.get(word)
        if step is not None and self.word(i + 1) in _SEASONS:
            first, length = _SEASONS[self.word(i + 1)]
            year = self.today.year + step
            if step < 0:  # the last one that is over
                year = self.today.year if _months(self.today.year, first, length).end < self.today else year
            return _months(year, first, length), 2
        if word in _SEASONS:
            at = i + 2 if self.word(i + 1) == "of" else i + 1
            named = self.year_of(self.word(at))
            return (_months(named, *_SEASONS[word]), at + 1 - i) if named is not None else None
        if len(word) == 2 and word[0] == "q" and word[1] in "1234":
            named = self.year_of(self.word(i + 1))
            return (_months(named, 3 * int(word[1]) - 2, 3), 2) if named is not None else None
        return None

    def year(self, i: int) -> tuple[NamedDate, int] | None:
        """Match ``2026`` by itself, or before a month as Hungarian has it: ``2026. október 3.``, ``2026. október``."""
        year = self.year_of(self.words[i])
        if year is None:
            return None
        month, day = self.month(self.word(i + 1)), self.day_at(i + 2) if self.word(i + 2) else None
        if month is not None and day is not None and (whole := _safe(year, month, day[0])):
            return NamedDate(whole, whole), day[1] - i
        if month is not None and self.word(i + 1) not in _MONTHS:
            return _months(year, month), 2
        return _months(year, 1, 12), 1

    def days(self, offset: int, taken: int) -> tuple[NamedDate, int]:
        """Return the day ``offset`` days from today, and ``taken``."""
        day = self.today + timedelta(offset)
        return NamedDate(day, day), taken


def _distance(start: date, end: date, day: date) -> int:
    """Return the days from a stretch to ``day``: 0 inside, positive after it, negative before it."""
    if day > end:
        return (day - end).days
    return (day - start).days if day < start else 0


def _latest(named: NamedDate, today: date) -> NamedDate:
    """Return the latest occurrence of a yearless stretch that has begun."""
    for year in range(today.year, today.year - 9, -1):  # 29 February comes every eighth year at worst
        start = _safe(year, named.start.month, named.start.day)
        if start is not None and start <= today:
            end = _months(year, start.month).end if named.end != named.start else start
            return NamedDate(start, end)
    return named


def _months(year: int, first: int, length: int = 1) -> NamedDate:
    """Return ``length`` whole months from the ``first`` one on."""
    years, month = divmod(first - 1 + length, 12)
    after = _safe(year + years, month + 1, 1)  # the calendar ends with the year 9999
    return NamedDate(date(year, first, 1), after - timedelta(1) if after else date.max)


def _stretch(step: int, unit: str, today: date) -> NamedDate:
    """Return the last (-1), this (0) or next (1) week, weekend, month or year."""
    if unit == "year":
        return _months(today.year + step, 1, 12)
    if unit == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + step, 12)
        return _months(year, month + 1)
    monday = today - timedelta(today.weekday()) + timedelta(7 * step)
    return NamedDate(monday + timedelta(5 if unit == "weekend" else 0), monday + timedelta(6))


def _weekday_from(today: date, weekday: int, step: int) -> date:
    """Return the last (-1) or next (1) day of the week with a number; for 0 today, or else the next one."""
    ahead = (weekday - today.weekday()) % 7
    return today + timedelta(ahead - 7 if step < 0 else ahead or 7 * step)


def _ago(number: int, unit: str, today: date) -> date | None:
    """Return the day ``number`` units before today; None if the calendar begins later."""
    try:
        if unit in ("month", "year"):
            months = today.year * 12 + today.month - 1 - number * (12 if unit == "year" else 1)
            year, month = divmod(months, 12)
            return date(year, month + 1, min(today.day, _months(year, month + 1).end.day))
        return today - timedelta(number * _UNITS[unit])
    except (ValueError, OverflowError):
        return None


def _safe(year: int, month: int, day: int) -> date | None:
    """Return a date; None if there is no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _number(word: str, most: int) -> int | None:
    """Return a number of one or two digits, from 1 to ``most``."""
    return int(word) if _digits(word) and len(word) <= 2 and 1 <= int(word) <= most else None


def _day(word: str) -> int | None:
    """Return the day of a month, also of an ordinal (``3rd``)."""
    ending = next((ending for ending in _ORDINALS if word.endswith(ending)), "")
    return _number(word.removesuffix(ending), 31)


def _count(word: str) -> int | None:
    """Return a number in digits or as an English word."""
    return int(word) if _digits(word) and len(word) <= 4 else _NUMBERS.get(word)


def _unit(word: str) -> str | None:
    """Return the singular of an English unit of time."""
    word = word.removesuffix("s")
    return word if word in _UNITS else None


def _ascii_digits(text: str) -> str:
    """Convert the digits of all scripts, and full-width characters, to ASCII; the length stays the same."""
    return text if text.isascii() else "".join(map(_ascii_digit, text))


@cache
def _ascii_digit(sign: str) -> str:
    if "！" <= sign <= "～":
        return chr(ord(sign) - 0xFEE0)
    return str(decimal(sign)) if sign.isdecimal() else sign


def _digits(word: str) -> bool:
    return word.isascii() and word.isdigit()
