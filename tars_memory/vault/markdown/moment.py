"""Moment.js formats, which Obsidian uses for names of daily notes and in templates: format an instant, read a day.

Full names of months and weekdays (``MMMM``, ``dddd``) are known in the languages of :data:`DIARY_NAMES`. Everything
else that depends on a language, including short names and week numbers, is English, as in Moment.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import lru_cache
from unicodedata import normalize

from tars_memory.language.calendar import DIARY_NAMES, GENITIVES, MONTHS, WEEKDAYS

_NUMBERS = {
    name: number
    for months in (*(months for months, _ in DIARY_NAMES.values()), *GENITIVES.values())
    for number, name in enumerate(months, 1)
}
_WEEKDAYS = {name for _, weekdays in DIARY_NAMES.values() for name in weekdays}


def _any(names: Iterable[str]) -> str:
    """Return a pattern that matches any of the names, the longest first."""
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_TOKENS = (
    r"\[([^\[\]]*)\]|"
    r"(YYYY|YY|Y|MMMM|MMM|MM|Mo|M|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d|E|e|ww|wo|w|WW|Wo|W|gggg|gg|GGGG|GG|Qo|Q|"
    r"HH|H|hh|h|kk|k|mm|m|ss|s|SSS|A|a|X|x|ZZ|Z|LTS|LT|L+|l+|N+|y+)"
)
_DAY = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short>\d\d)",
    "MMMM": f"(?P<month>{_any(_NUMBERS)})",
    "MMM": "(?P<month>" + "|".join(name[:3] for name in MONTHS) + ")",
    "MM": r"(?P<month>\d\d)",
    "Mo": r"(?P<month>\d\d?)(?:st|nd|rd|th)",
    "M": r"(?P<month>\d\d?)",
    "DDDD": r"(?P<ordinal>\d{3})",
    "DDD": r"(?P<ordinal>\d{1,3})",
    "DD": r"(?P<day>\d\d)",
    "Do": r"(?P<day>\d\d?)(?:st|nd|rd|th)",
    "D": r"(?P<day>\d\d?)",
}
"""Patterns of the tokens that a day is read from. Other tokens repeat the day; their text is compared as a whole."""

_PATTERNS = {"dddd": f"(?:{_any(_WEEKDAYS)})", "MMMM": f"(?:{_any(_NUMBERS)})"}
"""Patterns of tokens whose text may have characters other than letters."""

_WIDTHS = {
    **dict.fromkeys(("M", "D", "w", "W"), (1, 2)),
    **dict.fromkeys(("Mo", "Do", "wo", "Wo"), (3, 4)),
    "DDD": (1, 3),
    "DDDo": (3, 5),
    "Y": (1, 4),
    "MMMM": (min(map(len, _NUMBERS)), max(map(len, _NUMBERS))),
    "dddd": (min(map(len, _WEEKDAYS)), max(map(len, _WEEKDAYS))),
}
"""Minimum and maximum length of the tokens whose text varies in length."""

_MAX_FORMAT_LENGTH = 255
"""Maximum length of a format, in characters."""

_MAX_SPLITS = 10_000
"""Maximum number of ways to split a name between such tokens: the format comes from the vault, and every name is
matched against it."""

_NAMES_OF_DAYS = (
    "YYYY-MM-DD", "YYYY_MM_DD", "YYYY.MM.DD", "YYYYMMDD", "DD-MM-YYYY", "DD.MM.YYYY", "MM-DD-YYYY", "DD",
    "YYYY-M-D", "YYYY_M_D", "YYYY.M.D", "D-M-YYYY", "D.M.YYYY", "M-D-YYYY",
    "YYYY-MM-DD dddd", "YYYY-MM-DD-dddd", "YYYY-MM-DD ddd", "dddd D MMMM YYYY", "D MMMM YYYY",
    "dddd, MMMM Do, YYYY", "MMMM Do, YYYY", "MMM Do, YYYY", "[daily.journal.]YYYY.MM.DD",
)  # fmt: skip
"""How people and their programs (Logseq, Roam, Dendron, templates for Obsidian) name the note of a day."""

_FOLDERS_OF_DAYS = ("", "YYYY/", "YYYY-MM/", "YYYY/MM/", "YYYY/YYYY-MM/", "YYYY/MM-MMMM/", "YYYY/MM-MMM/")
"""How they sort these notes into folders."""

_AFTER_DAY = r"D[oD]?\.?(?:\[[^\[\]]*\]|\s)+$"
"""What stands before a month in a format if a day's number does, as in Moment's locales."""

_CLOCK = frozenset(["HH", "H", "hh", "h", "kk", "k", "mm", "m", "ss", "s", "SSS", "A", "a", "X", "x", "ZZ", "Z"])


def render(form: str, when: date | datetime, language: str = "en") -> str:
    """Format an instant; text that is not a token is copied.

    Args:
        form: the Moment format.
        when: the instant.
        language: a language of :data:`DIARY_NAMES`, for full names.

    Raises:
        ValueError: the format has a token that depends on Obsidian's language, or a time although ``when`` has none.
    """

    def text(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        if found[2] == "MMMM" and language in GENITIVES and re.search(_AFTER_DAY, form[: found.start()]):
            return GENITIVES[language][when.month - 1]
        return _format_token(found[2], when, language)

    return re.sub(_TOKENS, text, form)


def language_of(form: str, names: Iterable[str]) -> str:
    """Return the language in which most of the names fit the format; English if none does."""
    matcher, counts = pattern(form), Counter[str]()
    for name in (normalize("NFC", name) for name in names):
        if when := day(form, matcher, name):
            counts.update(each for each in _named_as(when, name) if render(form, when, each) == name)
    return max(DIARY_NAMES, key=lambda each: counts[each])


@lru_cache(maxsize=256)  # more than the forms of `likely`
def pattern(form: str) -> re.Pattern[str]:
    """Return a pattern that matches names in a format; :func:`day` reads its match.

    Raises:
        ValueError: a day can't be read back from the format, or the format has a time of day.
    """
    if len(form) > _MAX_FORMAT_LENGTH:
        raise ValueError("it is too long")
    if any(part.strip() in ("", ".", "..") for part in form.split("/")):
        raise ValueError("a folder in it has no name")
    parts: list[str] = []
    named: set[str] = set()
    at, splits = 0, 1
    for found in re.finditer(_TOKENS, form):
        parts.append(re.escape(form[at : found.start()]))
        at = found.end()
        token = found[2]
        if token is None:
            parts.append(re.escape(found[1]))
            continue
        if token in _CLOCK:
            raise ValueError(f"{token} is a time of day, so that each note would have its own name")
        length = len(_format_token(token, date(2026, 1, 1)))  # raises ValueError if the token can't be formatted
        least, most = _WIDTHS.get(token, (length, length))
        splits *= most - least + 1
        group = re.search(r"\?P<(\w+)>", _DAY.get(token, ""))
        if group and group[1] not in named:
            named.add(group[1])
            parts.append(_DAY[token])
        else:
            parts.append(_PATTERNS.get(token) or rf"\w{{{least},{most}}}")
    parts.append(re.escape(form[at:]))
    if not named & {"year", "short"} or not ({"month", "day"} <= named or "ordinal" in named):
        raise ValueError("it does not name year, month and day")
    if splits > _MAX_SPLITS:
        raise ValueError("too many parts of it have no fixed length")
    return re.compile("".join(parts))


def day(form: str, matcher: re.Pattern[str], name: str) -> date | None:
    """Return the day of a name in a format, however its letters are composed; None if the name doesn't fit it."""
    name = name if name.isascii() else normalize("NFC", name)
    return _read(form, matcher, name) if matcher.fullmatch(name) else None


def likely(paths: Iterable[str]) -> tuple[str, str, int]:
    """Find the folder and the format in which most of these notes are named by their day.

    Args:
        paths: of notes, relative to the vault.

    Returns:
        The folder ('' for the root), the format, and how many notes it names. ``("", "", 0)`` if it names none. Of
        formats that name as many notes, the one with more folders counts, then the earlier one of the tables.
    """
    split = [path.removesuffix(".md").split("/") for path in paths]
    numbered = [parts for parts in split if any(sign.isdigit() for sign in parts[-1])]
    if not numbered:  # a new vault's: it need not wait for the patterns of all formats, a fifth of a second
        return "", "", 0
    forms = [folder + name for folder in _FOLDERS_OF_DAYS for name in _NAMES_OF_DAYS if folder or name != "DD"]
    readable = []
    for form in forms:
        try:
            readable.append((form, pattern(form), form.count("/") + 1))
        except ValueError:  # "YYYY/DD" names no month
            continue
    counts: Counter[tuple[str, str]] = Counter()
    for parts in numbered:
        for form, matcher, depth in readable:
            if len(parts) >= depth and day(form, matcher, "/".join(parts[-depth:])):
                counts["/".join(parts[:-depth]), form] += 1
    if not counts:
        return "", "", 0
    order = {form: place for place, (form, _, _) in enumerate(readable)}
    (folder, form), count = max(counts.items(), key=lambda item: (item[1], item[0][1].count("/"), -order[item[0][1]]))
    return folder, form, count


@lru_cache(maxsize=32_768)
def _read(form: str, matcher: re.Pattern[str], name: str) -> date | None:
    """Read the day of a name that matches (:func:`day`).

    Cached, because one command asks for the day of every daily note several times, and comparing a name with every
    language is slow.
    """
    found = matcher.fullmatch(name)
    assert found is not None
    groups = found.groupdict()
    year = int(groups["year"]) if groups.get("year") else _century(int(groups["short"]))
    try:
        if "month" in groups and "day" in groups:
            month = groups["month"]
            number = int(month) if month.isdigit() else _NUMBERS.get(month) or [m[:3] for m in MONTHS].index(month) + 1
            result = date(year, number, int(groups["day"]))
        else:
            result = date(year, 1, 1) + timedelta(int(groups["ordinal"]) - 1)
    except (ValueError, OverflowError):
        return None
    languages = (_named_as(result, name) if "MMMM" in form or "dddd" in form else []) or ["en"]
    return result if any(render(form, result, language) == name for language in languages) else None


def _named_as(when: date, text: str) -> list[str]:
    """Return the languages in which a text has the name of the month or of the weekday of a date."""
    found = []
    for language, (months, weekdays) in DIARY_NAMES.items():
        names = months[when.month - 1], GENITIVES.get(language, months)[when.month - 1], weekdays[when.weekday()]
        if any(name in text for name in names):
            found.append(language)
    return found


def _century(short: int) -> int:
    """Return the year of two digits: up to 68 they are 20xx, from 69 on 19xx, as in Moment."""
    return short + (2000 if short <= 68 else 1900)


def _format_token(token: str, when: date | datetime, language: str = "en") -> str:
    """Format one token.

    Raises:
        ValueError: the token depends on Obsidian's language, or is a time although ``when`` has none.
    """
    months, weekdays = DIARY_NAMES[language]
    year, week, weekday = when.isocalendar()
    us_year, us_week = _us_week(when) if token[0] in "wg" else (0, 0)
    texts = {
        "YYYY": f"{when.year:04}",
        "YY": f"{when.year % 100:02}",
        "Y": str(when.year),
        "GGGG": f"{year:04}",
        "GG": f"{year % 100:02}",
        "gggg": f"{us_year:04}",
        "gg": f"{us_year % 100:02}",
        "MMMM": months[when.month - 1],
        "MMM": MONTHS[when.month - 1][:3],
        "dddd": weekdays[weekday - 1],
        "ddd": WEEKDAYS[weekday - 1][:3],
        "dd": WEEKDAYS[weekday - 1][:2],
    }
    numbers = {"M": when.month, "D": when.day, "DDD": when.timetuple().tm_yday, "Q": (when.month + 2) // 3}
    numbers |= {"d": weekday % 7, "e": weekday % 7, "E": weekday, "W": week, "w": us_week}
    if token in _CLOCK:
        if not isinstance(when, datetime):
            raise ValueError(f"{token} needs a time of day")
        texts |= _time_texts(when)
        numbers |= {"H": when.hour, "h": when.hour % 12 or 12, "k": when.hour or 24, "m": when.minute, "s": when.second}
    if token in texts:
        return texts[token]
    name = token.removesuffix("o")
    number = numbers.get("DDD" if name.startswith("DDD") else name[0])
    if number is None:
        raise ValueError(f"{token} depends on Obsidian's language and is not known here")
    width = 1 if name == "DDD" else min(len(name), 3)
    return f"{number:0{width}}" if name == token else _ordinal(number)


def _time_texts(when: datetime) -> dict[str, str]:
    """Return the texts of the tokens of the time of day that are more than one number."""
    half = "AM" if when.hour < 12 else "PM"
    offset = when.strftime("%z")[:5] or "+0000"
    return {
        "SSS": f"{when.microsecond // 1000:03}",
        "A": half,
        "a": half.lower(),
        "X": str(int(when.timestamp())),
        "x": str(int(when.timestamp() * 1000)),
        "ZZ": offset,
        "Z": f"{offset[:3]}:{offset[3:]}",
    }


def _ordinal(number: int) -> str:
    """Return an English ordinal: 1st, 2nd, 3rd, 4th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _us_week(when: date) -> tuple[int, int]:
    """Return the year and number of a week that starts on Sunday; week 1 contains 1 January."""
    sunday = date(when.year, when.month, when.day) - timedelta(when.isoweekday() % 7)
    saturday = sunday + timedelta(6)
    first = date(saturday.year, 1, 1)
    start = first - timedelta(first.isoweekday() % 7)
    return saturday.year, (sunday - start).days // 7 + 1
