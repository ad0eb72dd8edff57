"""How people say what is worth keeping, in the languages of ``phrases/``.

A phrase is a pattern over one statement: a sentence without the words that lead it in. Its group ``text`` is what is
kept; without such a group it is the whole statement. The patterns are few and narrow on purpose: each line that they
give costs a person a decision.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
"""In the order in which they are tried."""


class Pattern:
    """A regular expression, case aside, that is compiled when it is first needed.

    There are some two hundred, and a conversation in one language needs few of them.

    Attributes:
        source: as written.
    """

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The expression itself."""
        if self._compiled is None:
            self._compiled = re.compile(self.source, re.IGNORECASE)
        return self._compiled

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """As of a regular expression."""
        return (self._compiled or self.compiled).match(text, start)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """As of a regular expression."""
        return (self._compiled or self.compiled).search(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As of a regular expression."""
        return (self._compiled or self.compiled).fullmatch(text)


class Phrase(NamedTuple):
    """One way to say something.

    Attributes:
        kind: of the fact: ``fact``, ``preference`` or ``decision``.
        pattern: over the whole statement.
        asked: the person asked for it to be kept, so that doubts about the wording don't count.
        dated: it counts only if the statement names a day.
    """

    kind: str
    pattern: Pattern
    asked: bool = False
    dated: bool = False


class Language(NamedTuple):
    """The phrases of one language; all patterns leave case aside.

    Attributes:
        code: two letters.
        triggers: a sentence without any of these words says nothing that is kept.
        phrases: the first that fits counts.
        leads: words that only lead a sentence in.
        unsure: what makes a statement a wish, a guess, a case or somebody else's words.
        questions: how a question begins that has no question mark.
        asks: what a statement may be followed by: a question or a request, to the end of the sentence.
        wrong: how a correction begins.
        vague: words that say nothing without what was said before.
        open_ends: how something that is yet to be done is said.
        unkept: a request not to keep something.
        taken_back: what takes back what was said just before.
        written: a request to write, translate or play something: what follows is no statement about the person.
        yes: how a proposal is agreed to.
    """

    code: str
    triggers: frozenset[str]
    phrases: tuple[Phrase, ...]
    leads: Pattern
    unsure: Pattern
    questions: Pattern
    asks: Pattern
    wrong: Pattern
    vague: Pattern
    open_ends: Pattern
    unkept: Pattern
    taken_back: Pattern
    written: Pattern
    yes: Pattern


@cache
def language(code: str) -> Language:
    """The phrases of one of :data:`LANGUAGES`, read once."""
    table = tomllib.loads(files(__package__).joinpath("phrases", f"{code}.toml").read_text("utf-8"))
    names = {name: joined(text) for name, text in table.get("names", {}).items()}
    patterns = {
        name: Pattern(filled(table[name], names))
        for name in Language._fields
        if name not in ("code", "triggers", "phrases")
    }
    phrases = tuple(_phrase(values, names) for values in table["phrases"])
    return Language(code=code, triggers=frozenset(table["triggers"].split()), phrases=phrases, **patterns)


@cache
def in_any(name: str) -> Pattern:
    """A pattern of all languages at once: of a long log most sentences have none of them."""
    return Pattern("|".join(f"(?:{getattr(language(code), name).source})" for code in LANGUAGES))


def agrees(text: str, lang: Language) -> bool:
    """Whether an answer begins by agreeing, without a "but" behind it."""
    plain = text.replace("’", "'")
    return bool(lang.yes.match(plain)) and not _BUT.search(plain)


_BUT = re.compile(
    r"\b(?:but|except|however|instead|aber|nur|mais|sauf|pero|excepto|ma|però|tranne|maar|mas|porém)\b", re.IGNORECASE
)


def _phrase(values: dict[str, Any], names: dict[str, str]) -> Phrase:
    pattern = Pattern(filled(values["pattern"], names))
    return Phrase(values["kind"], pattern, values.get("asked", False), values.get("dated", False))


def filled(text: str, names: dict[str, str]) -> str:
    """A pattern with the named parts in it, which may hold others."""
    text = joined(text)
    while "<<" in text:
        text = re.sub(r"<<(\w+)>>", lambda found: names[found[1]], text)
    return text


def joined(text: str) -> str:
    """A text of the phrases without its line breaks."""
    return "".join(text.strip("\n").split("\n"))
