"""One engine for the languages of this room, each a TOML file: ``en.toml`` says what every key is for.

A table holds what a language's words look like, never what follows from them: the rules that read it do that.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")

KNOWN_SHARE = 0.2
"""Of the words of a text that must be function words of one language before it counts as written in it. Measured on
prose of these seven: 35 to 60 %; of Swedish, Romanian, Catalan, Polish or Turkish at most half of them fit."""

TOLD_BY = 1_000
"""Characters of a text that tell its language."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ELIDED = re.compile(r"(?<=['’])")


class Language:
    """What one TOML holds, its patterns compiled when they are first needed: a run in one language needs few.

    Attributes:
        code: two letters.
        table: the file as it stands.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.table: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{code}.toml").read_text("utf-8"))
        self._names = {name: joined(text) for name, text in self.table.get("names", {}).items()}
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._forms: dict[str, list[tuple[re.Pattern[str], dict[str, Any]]]] = {}

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        if name not in self._words:
            self._words[name] = frozenset(self.table[name].split())
        return self._words[name]

    def pattern(self, name: str) -> re.Pattern[str]:
        """One of the expressions, case aside."""
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = self.expression(self.table[name])
        return found

    def expression(self, text: str) -> re.Pattern[str]:
        """An expression that may hold named parts."""
        return re.compile(filled(text, self._names), re.IGNORECASE)

    def forms(self, name: str) -> list[tuple[re.Pattern[str], dict[str, Any]]]:
        """The expressions of a list of forms, each with what else stands in its table."""
        if name not in self._forms:
            self._forms[name] = [(self.expression(each["form"]), each) for each in self.table[name]]
        return self._forms[name]


def every(part: str, name: str) -> str:
    """The alternatives that the languages have for an expression, as one; ``part`` is a table of their files."""
    tables = (shared(), *(language(code).table for code in LANGUAGES))
    return "|".join(joined(table[part][name]) for table in tables if name in table.get(part, ()))


def every_word(part: str, name: str) -> frozenset[str]:
    """The words that the languages list under a name, together."""
    tables = (language(code).table for code in LANGUAGES)
    return frozenset(word for table in tables for word in table[part].get(name, "").split())


@cache
def shared() -> dict[str, Any]:
    """What the languages share."""
    return tomllib.loads(files(__package__).joinpath("shared.toml").read_text("utf-8"))


@cache
def language(code: str) -> Language:
    """One of :data:`LANGUAGES`, read once."""
    return Language(code)


def spoken(text: str, usual: str = "") -> str:
    """The code of the language that a text is in, by its function words; empty if it is none that we know.

    Args:
        text: any.
        usual: the language that counts where several fit equally well.
    """
    words = [part for word in _WORD.findall(text[:TOLD_BY].casefold().replace("’", "'")) for part in _parts(word)]
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for code in _owners().get(word, ()):
            counts[code] += times
            different[code] += 1
    if not counts:
        return ""
    best = max(LANGUAGES, key=lambda code: (different[code], counts[code], code == usual))
    least = min(3, 1 if len(words) < 6 else (len(words) + 1) // 3)
    enough = counts[best] >= max(least, KNOWN_SHARE * len(words)) and different[best] >= min(2, least)
    return best if enough else ""


def _parts(word: str) -> list[str]:
    """A word, or the two of ``j'habite``; ``don't`` is one."""
    return [word] if word in _owners() or "'" not in word else _ELIDED.split(word)


@cache
def _owners() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code in LANGUAGES:
        for word in language(code).words("words") | language(code).words("me"):
            found[word] = (*found.get(word, ()), code)
    return found


@cache
def common_words() -> frozenset[str]:
    """The function words of all languages: they say nothing of what a text is about."""
    return frozenset(_owners())


def filled(text: str, names: dict[str, str]) -> str:
    """An expression with the named parts in it, which may hold others."""
    text = joined(text)
    while "<<" in text:
        text = re.sub(r"<<(\w+)>>", lambda found: names[found[1]], text)
    return text


def joined(text: str) -> str:
    """A text of the tables without its line breaks."""
    return "".join(text.strip("\n").split("\n"))
