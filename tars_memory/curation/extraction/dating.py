"""Relative dates in a sentence made absolute, counted from the day on which it was said. Pure.

Six languages, the plain words only. What is ambiguous stays as it was said.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache

_WEEKDAYS = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "mon tue wed thu fri sat sun",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    )
    for number, name in enumerate(names.split())
}
_NUMBERS = {
    word: number
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "un deux trois quatre cinq six sept huit neuf dix onze douze",
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "um dois três quatro cinco seis sete oito nove dez onze doze",
    )
    for number, word in enumerate(words.split(), 1)
} | {"a": 1, "an": 1, "einem": 1, "einer": 1, "une": 1, "una": 1, "uma": 1, "een": 1, "couple of": 2, "a couple of": 2}
_UNITS = {
    unit: days
    for words, days in (
        ("day days tag tage tagen jour jours día días giorno giorni dag dagen dia dias", 1),
        ("week weeks woche wochen semaine semaines semana semanas settimana settimane weken", 7),
        ("month months monat monate monaten mois mes meses mese mesi maand maanden mês", 30),
        ("year years jahr jahre jahren an ans année années año años anno anni jaar jaren ano anos", 365),
    )
    for unit in words.split()
}
_PREPOSITION = {"en": "on", "de": "am", "fr": "le", "es": "el", "it": "il", "nl": "op", "pt": "em"}
_WEEK = {
    "en": "in the week of", "de": "in der Woche ab", "fr": "la semaine du", "es": "la semana del",
    "it": "la settimana del", "nl": "in de week van", "pt": "na semana de",
}  # fmt: skip
_IN = {"en": "in", "de": "", "fr": "en", "es": "en", "it": "nel", "nl": "in", "pt": "em"}

_DAYS: dict[str, dict[str, int]] = {
    "en": {"the day before yesterday": -2, "yesterday": -1, "today": 0, "the day after tomorrow": 2, "tomorrow": 1,
           "last night": -1, "tonight": 0},
    "de": {"vorgestern": -2, "gestern": -1, "heute": 0, "übermorgen": 2, "morgen": 1},
    "fr": {"avant-hier": -2, "hier": -1, "aujourd'hui": 0, "après-demain": 2, "demain": 1},
    "es": {"anteayer": -2, "ayer": -1, "hoy": 0, "pasado mañana": 2, "mañana": 1},
    "it": {"l'altro ieri": -2, "ieri": -1, "oggi": 0, "dopodomani": 2, "domani": 1},
    "nl": {"eergisteren": -2, "gisteren": -1, "vandaag": 0, "overmorgen": 2, "morgen": 1},
    "pt": {"anteontem": -2, "ontem": -1, "hoje": 0, "depois de amanhã": 2, "amanhã": 1},
}  # fmt: skip
_STRETCHES: dict[str, dict[str, tuple[int, str]]] = {
    "en": {f"{word} {unit}": (step, unit)
           for word, step in (("last", -1), ("this past", -1), ("this", 0), ("next", 1), ("the previous", -1),
                              ("the coming", 1))
           for unit in ("week", "weekend", "month", "year")},
    "de": {f"{begin} {word}": (step, unit)
           for stem, step in (("letzte", -1), ("vorige", -1), ("vergangene", -1), ("diese", 0), ("nächste", 1),
                              ("kommende", 1))
           for begin in (stem, stem + "n", stem + "r", stem + "s")
           for word, unit in (("woche", "week"), ("wochenende", "weekend"), ("monat", "month"), ("jahr", "year"))},
    "fr": {"la semaine dernière": (-1, "week"), "la semaine prochaine": (1, "week"), "cette semaine": (0, "week"),
           "le mois dernier": (-1, "month"), "le mois prochain": (1, "month"), "ce mois-ci": (0, "month"),
           "l'année dernière": (-1, "year"), "l'an dernier": (-1, "year"), "l'année prochaine": (1, "year"),
           "cette année": (0, "year")},
    "es": {"la semana pasada": (-1, "week"), "la próxima semana": (1, "week"), "la semana que viene": (1, "week"),
           "esta semana": (0, "week"), "el mes pasado": (-1, "month"), "el próximo mes": (1, "month"),
           "el mes que viene": (1, "month"), "el año pasado": (-1, "year"), "el próximo año": (1, "year"),
           "el año que viene": (1, "year"), "este año": (0, "year")},
    "it": {"la settimana scorsa": (-1, "week"), "la scorsa settimana": (-1, "week"),
           "la settimana prossima": (1, "week"), "la prossima settimana": (1, "week"),
           "questa settimana": (0, "week"), "il mese scorso": (-1, "month"), "il mese prossimo": (1, "month"),
           "il prossimo mese": (1, "month"), "l'anno scorso": (-1, "year"), "l'anno prossimo": (1, "year"),
           "quest'anno": (0, "year")},
    "nl": {"vorige week": (-1, "week"), "afgelopen week": (-1, "week"), "volgende week": (1, "week"),
           "komende week": (1, "week"), "deze week": (0, "week"), "vorige maand": (-1, "month"),
           "volgende maand": (1, "month"), "vorig jaar": (-1, "year"), "volgend jaar": (1, "year"),
           "dit jaar": (0, "year"), "afgelopen weekend": (-1, "weekend"), "volgend weekend": (1, "weekend")},
    "pt": {"semana passada": (-1, "week"), "na semana passada": (-1, "week"), "próxima semana": (1, "week"),
           "semana que vem": (1, "week"), "na próxima semana": (1, "week"), "esta semana": (0, "week"),
           "mês passado": (-1, "month"), "no mês passado": (-1, "month"), "próximo mês": (1, "month"),
           "mês que vem": (1, "month"), "ano passado": (-1, "year"), "no ano passado": (-1, "year"),
           "próximo ano": (1, "year"), "ano que vem": (1, "year"), "este ano": (0, "year")},
}  # fmt: skip
_AGO = {
    "en": r"(?P<n>{n}) (?P<u>{u}) ago", "de": r"vor (?P<n>{n}) (?P<u>{u})", "fr": r"il y a (?P<n>{n}) (?P<u>{u})",
    "es": r"hace (?P<n>{n}) (?P<u>{u})", "it": r"(?P<n>{n}) (?P<u>{u}) fa", "nl": r"(?P<n>{n}) (?P<u>{u}) geleden",
    "pt": r"há (?P<n>{n}) (?P<u>{u})",
}  # fmt: skip
_AHEAD = {
    "en": r"in (?P<n>{n}) (?P<u>{u})(?:' time)?", "de": r"in (?P<n>{n}) (?P<u>{u})",
    "fr": r"dans (?P<n>{n}) (?P<u>{u})",
    "es": r"(?:en|dentro de) (?P<n>{n}) (?P<u>{u})", "it": r"(?:tra|fra) (?P<n>{n}) (?P<u>{u})",
    "nl": r"over (?P<n>{n}) (?P<u>{u})", "pt": r"(?:em|daqui a) (?P<n>{n}) (?P<u>{u})",
}  # fmt: skip
_NEAREST = {  # (past, coming): a weekday with a word that says which one is meant
    "en": ("last|this past", "next|this coming|this"), "de": ("letzten|vorigen", "nächsten|kommenden|diesen"),
    "nl": ("vorige|afgelopen", "volgende|komende|aanstaande"),
}  # fmt: skip
_AFTER = {  # the word follows the weekday
    "fr": ("dernier", "prochain"), "es": ("pasado", "que viene|próximo"), "it": ("scorso|scorsa", "prossimo|prossima"),
    "pt": ("passado|passada", "que vem"),
}  # fmt: skip
_GOVERNS = (
    "by|until|till|before|after|since|from|for|on|bis|seit|ab|nach|vor|am|jusqu'à|avant|après|depuis|dès|le|hasta|desde|"
    "antes de|el|entro|fino a|dal|il|tot|sinds|vanaf|voor|op|até|desde|em|no|na"
)
"""Words after which a bare date reads well."""

_NOT_TOMORROW = re.compile(
    r"(?:guten|jeden|heute|gestern|am|goede|elke|de|la|esta|cada|por|buena|vroeg in de|'s)\s+$", re.IGNORECASE
)
"""Before ``morgen`` and ``mañana`` these make it the morning."""

_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|met|saw|came|left|made|took|bought|ran|lost|won|gave|told|became|began|\w+ed|"
    r"war|hatte|habe|haben|bin|wurde|ging|kam|suis|était|avait|fui|fue|estuve|ho|sono stato|ben|was|heb|had|estive)\b",
    re.IGNORECASE,
)


def absolute(text: str, day: date, language: str = "en") -> str:
    """The sentence with its relative dates made absolute.

    Args:
        text: what was said.
        day: when it was said.
        language: two letters; one that is not known is left as it stands.
    """
    if language not in _DAYS:
        return text
    plain = text.replace("’", "'")
    made: list[tuple[int, int, str]] = []
    for found in _pattern(language).finditer(plain):
        said = _said(found, plain, day, language)
        if said is not None:
            made.append((found.start(), found.end(), said))
    for start, end, said in reversed(made):
        text = text[:start] + said + text[end:]
    return text


def names_relative(text: str, language: str = "en") -> bool:
    """Whether the sentence names a day relative to the one on which it is said."""
    return language in _DAYS and _pattern(language).search(text.replace("’", "'")) is not None


@cache
def _pattern(language: str) -> re.Pattern[str]:
    numbers = "|".join([r"\d{1,3}", *sorted(map(re.escape, _NUMBERS), key=len, reverse=True)])
    units = "|".join(sorted(_UNITS, key=len, reverse=True))
    days = "|".join(sorted(map(re.escape, _DAYS[language]), key=len, reverse=True))
    stretches = "|".join(sorted(map(re.escape, _STRETCHES[language]), key=len, reverse=True))
    weekdays = "|".join(_WEEKDAYS)
    ago = _AGO[language].format(n=numbers, u=units)
    ahead = _AHEAD[language].format(n=numbers, u=units).replace("?P<n>", "?P<n2>").replace("?P<u>", "?P<u2>")
    if language in _NEAREST:
        past, coming = _NEAREST[language]
        named = rf"(?:(?P<past>{past})|(?P<coming>{coming})|on|am|op) (?P<weekday>{weekdays})\.?"
    else:
        past, coming = _AFTER[language]
        named = rf"(?:(?:le|el|il|na|no) )?(?P<weekday>{weekdays})(?: (?:(?P<past>{past})|(?P<coming>{coming})))"
    return re.compile(
        rf"(?<![\w-])(?:(?P<stretch>(?:in |in the |im |in der |am |over )?(?:{stretches}))|(?P<day>{days})"
        rf"|{ago}|{ahead}|{named})(?![\w-])",
        re.IGNORECASE,
    )


def _said(found: re.Match[str], text: str, day: date, language: str) -> str | None:
    """What stands there instead; None if it is no date here."""
    before = text[: found.start()]
    try:
        if found["day"]:
            return _day(found, before, text, day, language)
        if found["stretch"]:
            return _stretch(found["stretch"].lower(), day, language, before)
        if found["weekday"]:
            return _weekday(found, text, day, language)
        number = (found["n"] or found["n2"]).lower()
        unit = (found["u"] or found["u2"]).lower()
        return _away(number, unit, -1 if found["n"] else 1, day, language)
    except (OverflowError, ValueError):
        return None


def _day(found: re.Match[str], before: str, text: str, day: date, language: str) -> str | None:
    word = found["day"].lower()
    if word in ("morgen", "mañana") and _NOT_TOMORROW.search(before):
        return None
    if word == "hier" and language == "fr" and re.search(r"\b(?:d'|l')$", before):
        return None
    when = (day + timedelta(_DAYS[language][word])).isoformat()
    if text[found.end() :].startswith("'s"):
        return when
    return _led(when, before, _PREPOSITION[language])


def _stretch(word: str, day: date, language: str, before: str) -> str | None:
    for lead in ("in the ", "in der ", "in ", "im ", "am ", "over "):
        if word.startswith(lead) and word not in _STRETCHES[language]:
            word = word.removeprefix(lead)
    step, unit = _STRETCHES[language][word]
    monday = day - timedelta(day.weekday()) + timedelta(7 * step)
    if unit == "week":
        return _led(monday.isoformat(), before, _WEEK[language])
    if unit == "weekend":
        saturday = monday + timedelta(5)
        return _led(f"{saturday.isoformat()}/{(saturday + timedelta(1)).day:02}", before, _PREPOSITION[language])
    if unit == "month":
        year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
        return _led(f"{year:04}-{month + 1:02}", before, _IN[language])
    return _led(f"{day.year + step:04}", before, _IN[language])


def _weekday(found: re.Match[str], text: str, day: date, language: str) -> str | None:
    """``last`` and ``next`` say which one; a bare ``on Monday`` is the coming one unless the sentence is past."""
    ahead = (_WEEKDAYS[found["weekday"].lower()] - day.weekday()) % 7
    past = bool(found["past"]) or (not found["coming"] and _PAST.search(text) is not None)
    when = day + timedelta((ahead - 7) if past else (ahead or 7))
    return f"{_PREPOSITION[language]} {found['weekday']} {when.isoformat()}"


def _away(number: str, unit: str, way: int, day: date, language: str) -> str | None:
    count = int(number) if number.isdigit() else _NUMBERS[number]
    days = _UNITS[unit]
    if days >= 30:
        months = day.year * 12 + day.month - 1 + way * count * (12 if days == 365 else 1)
        year, month = divmod(months, 12)
        if not 1 <= year <= 9999:
            return None
        return f"{_IN[language]} {year:04}" if days == 365 else f"{_IN[language]} {year:04}-{month + 1:02}".strip()
    when = (day + timedelta(way * count * days)).isoformat()
    return f"{_PREPOSITION[language]} {when}"


def _led(when: str, before: str, preposition: str) -> str:
    """The date, led by a preposition unless one stands there."""
    if not preposition or re.search(rf"(?:^|\s)(?:{_GOVERNS})\s+$", before, re.IGNORECASE):
        return when
    return f"{preposition} {when}"
