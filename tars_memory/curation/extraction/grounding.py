"""Whether a fact stands on what was said: its quote is in the transcript, in the person's own words, and says as much.

What a model drew from a conversation is believed only as far as this goes. A quote must stand verbatim (white space
aside) in a turn of the person that is examined, outside of what he
pasted or quoted. The fact may reword its quote, but must speak of something in it, and
not add a number, a date or a name that nobody said, nor turn a no into a yes, hate into love, or an end into a
beginning. What fails is dropped and counted; nothing is repaired but a turn's number.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.extraction import meant, statements
from tars_memory.curation.extraction.carried import carried
from tars_memory.language.dates import names_relative
from tars_memory.language.sentences import own_words
from tars_memory.language.tables import LANGUAGES
from tars_memory.recall.packing.fence import visible
from tars_memory.vault.secrets.masking import mask

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.turns import Turn
    from tars_memory.curation.extraction.statements import Statement
    from tars_memory.curation.model import Fact

NO_QUOTE = "no quote"
NOT_SAID = "quote not found"
NOT_OWN = "not the person's own words"
NOT_SUPPORTED = "says more than its quote"
REASONS = (NO_QUOTE, NOT_SAID, NOT_OWN, NOT_SUPPORTED)
"""Why a fact is dropped."""

LEAST_QUOTE = 2
"""Words that a quote must have, unless it is all that was said: a lone word stands in any turn."""

LONGEST = 600
"""Characters of a fact; more is no single statement."""

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d)(?:/\d\d)?)?\b")
_NAME = re.compile(r"(?<=[\w,;:'’] )[A-ZÀ-Þ][\w'’-]*[\w]")
_DATE_WORD = re.compile(
    r"\b(?:jan|feb|m[aä]r|mär|apr|ma[iyg]|ju[nil]|gen|giu|lug|ag[o]?|août|aug|s[ei]t|sep|o[ckut]+t|out|nov|de[cz]|dic|fév|févr|avr|juin|juil|"
    r"mon|tue|wed|thu|fri|sat|sun|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lun|mar|mer|mié|jue|jeu|vie|ven|sam|sáb|dom|dim|"
    r"maan|dins|woens|donder|vrij|zater|zon|seg|ter|qua|qui|sex)\w*|\d",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?–—]+|\b(?:but|and|aber|und|mais|et|pero|y|ma|e|maar|en|mas)\b", re.IGNORECASE)
_TURNED = re.compile(
    r"\b(?:avoid|dislik|hat(?:e|es|ed|ing)\b|stop|quit|without|no longer|allerg|refus|against|lack|free\b|intoleran|"
    r"can't stand|cancel|forbid|gave up|given up|left|lost|fail|unable|mind\b|instead|rather|only|until|except|unless|"
    r"vermeid|hass|ohne|évit|déteste|sans|arrêt|evit|odi|sin\b|senza|haat|vermijd|zonder|sem\b|deix|smett)",
    re.IGNORECASE,
)
"""Words that deny without a "not"; with one of them a difference in negations proves nothing."""
_ENDED = re.compile(
    r"\b(?:avoid|dislik|hat(?:e|es|ed|ing)\b|stopp?(?:s|ed|ing)?\b|quit|no longer|allerg|refus|cancel|"
    r"can['’]t stand|gave up|given up|forbid|vermeid|hass|déteste|odi[aoe]|haat|aufgehört|arrêté de|dejé de|ho smesso|"
    r"gestopt|deixei de)",
    re.IGNORECASE,
)
"""Words by which a quote tells what is not, or no more."""
_OVER = re.compile(
    r"\b(?:end(?:s|ed)|ceas|former|previous|used to|anymore|any more|non[- ]|ex-|gone|früher|mehr|plus|antes|più|meer|"
    r"mais|abstain|abstem|averse|aversion|annoy|loath|despis|detest)",
    re.IGNORECASE,
)
"""Further words by which a fact may say so."""
_ASKED = re.compile(
    r"\b(?:don['’]t forget|do not forget|vergiss (?:bitte )?nicht|n['’]oublie pas|no olvides|non dimenticare|"
    r"vergeet niet|não (?:te )?esqueças|não (?:se )?esqueça)\b",
    re.IGNORECASE,
)
"""A "not" that denies nothing."""
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|für|von)\b")
"""German writes every noun with a capital, so that a capital tells no name there."""

_PEOPLE = "user users nutzer nutzerin utilisateur utilisatrice usuario usuaria utente gebruiker"
_PERSON = frozenset(_PEOPLE.split())
"""What a model calls the person."""

NEAR = 3
"""Turns before a quoted one that "she" or "there" in it may mean."""

CONTEXT = 40
"""Turns before a quoted one whose words may explain it."""


class Grounded(NamedTuple):
    """What held and what did not.

    Attributes:
        facts: each with its quote as it stands in the transcript (white space folded, credentials masked) and the
            number of the turn where it was found.
        dropped: reason to count.
    """

    facts: tuple[Fact, ...]
    dropped: dict[str, int]


def ground(
    facts: Sequence[Fact], turns: Sequence[Turn], examined: Collection[int], days: Mapping[int, date] | None = None
) -> Grounded:
    """Keep the facts that stand on what was said.

    Args:
        facts: drawn from the turns.
        turns: of the window in order, those for context included; of any role.
        examined: numbers of the turns that facts may come from.
        days: on which each turn was said, for facts that a model worded: each word and each date of theirs must be
            carried by what was said. None for those in the person's own words.
    """
    if not facts:
        return Grounded((), {})
    said = _Said(turns, examined, days)
    kept: list[Fact] = []
    dropped: dict[str, int] = {}
    for fact in facts:
        found = said.checked(fact)
        if isinstance(found, str):
            dropped[found] = dropped.get(found, 0) + 1
        else:
            kept.append(found)
    return Grounded(tuple(kept), dropped)


def folded(text: str) -> str:
    """A text as quotes are compared: as it was shown to the model, white space folded."""
    lines = (re.sub(r"^\| ", "", line) for line in re.split(r"\r\n|\r|\n", mask(text)))
    return " ".join(" ".join(visible(line).split()) for line in lines).strip()


class _Said:
    """The turns that can be quoted."""

    def __init__(self, turns: Sequence[Turn], examined: Collection[int], days: Mapping[int, date] | None) -> None:
        self._days = days
        spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
        self._turns = {turn.number: turn for turn in spoken}
        self._folded = {turn.number: folded(turn.text) for turn in spoken}
        self._order = [*self._folded]
        self._at = {number: at for at, number in enumerate(self._order)}
        self._mine = {turn.number for turn in spoken if turn.role == "user" and turn.number in examined}
        self._names = " ".join(dict.fromkeys(turn.speaker for turn in spoken))
        self._before: dict[int, str] = {}
        self._own: dict[int, list[str]] = {}

    def before(self, number: int) -> str:
        """What was said up to a turn, its own words included, and who speaks."""
        if number not in self._before:
            at = self._at[number]
            near = (self._folded[other] for other in self._order[max(0, at - CONTEXT) : at + 1])
            self._before[number] = " ".join([self._names, *near])
        return self._before[number]

    def own(self, number: int, quote: str) -> bool:
        """Whether the quote stands in the turn's own talk, beside what is pasted, fenced or quoted there."""
        turn = self._turns[number]
        if number not in self._own:
            spans = own_words(turn.text, pasted=True)
            self._own[number] = [folded(turn.text[start:end]) for start, end in spans]
        return any(quote in talk for talk in self._own[number])

    def _day(self, number: int) -> date | None:
        return self._days.get(number) if self._days else None

    def _near(self, number: int) -> list[int]:
        """The numbers of a turn and of those right before it, which it may point at."""
        at = self._at[number]
        return self._order[max(0, at - NEAR) : at + 1]

    def _carried(self, text: str, quote: str, number: int) -> bool:
        """Whether each word of content was said, see :mod:`tars_memory.curation.extraction.carried`."""
        near = self._near(number)
        before = " ".join(self._folded[each] for each in near[:-1])
        asked = len(near) > 1 and self._folded[near[-2]].rstrip().endswith(("?", "？"))
        names = _WORD.findall(self._names)
        return carried(text, quote, self._folded[number], before, names=names, answers=asked)

    def _meant(self, text: str, number: int) -> bool:
        """Whether each date is one that the turn, or one right before it, can mean."""
        days = self._days or {}
        near = [(self._folded[each], days[each]) for each in reversed(self._near(number)) if each in days]
        return all(any(meant.agrees(found[0], said, day) for said, day in near) for found in meant.ISO.finditer(text))

    def checked(self, fact: Fact) -> Fact | str:
        """The fact as it may be kept, or why it may not."""
        quote = folded(fact.quote).strip("\"“”„«»' …")
        if not quote:
            return NO_QUOTE
        there = fact.turn in self._mine and quote in self._folded[fact.turn] and self.own(fact.turn, quote)
        if there and len(_WORD.findall(quote)) >= LEAST_QUOTE:
            places = [fact.turn]  # where it is said to stand; the other turns need not be looked through
        else:
            places = [number for number, text in self._folded.items() if quote in text]
        if not places:
            return NOT_SAID
        if len(_WORD.findall(quote)) < LEAST_QUOTE and all(
            quote != self._folded[number].strip(" .!") for number in places
        ):
            return NO_QUOTE
        own = [number for number in places if number in self._mine and self.own(number, quote)]
        if not own:
            return NOT_OWN
        number = fact.turn if fact.turn in own else own[0]
        text = mask(fact.text)
        if not 0 < len(text) <= LONGEST or not supported(text, quote, self.before(number), self._day(number)):
            return NOT_SUPPORTED
        if self._days is not None and not (self._carried(text, quote, number) and self._meant(text, number)):
            return NOT_SUPPORTED
        return fact._replace(quote=quote, turn=number)


def supported(text: str, quote: str, said: str, day: date | None = None) -> bool:
    """Whether a fact's words claim no more than was said.

    Args:
        text: the fact.
        quote: what it stands on.
        said: everything up to the quoted turn, its words included, and who spoke.
        day: on which it was said: what "next year" means is no number that nobody said.
    """
    if _bare(text) == _bare(quote):
        return True
    if _turned(text, quote) or _reversed(text, quote):
        return False
    return _of_what_was_said(text, quote, said, meant.years(quote, day) if day else frozenset())


def _bare(text: str) -> str:
    """A text without what only ends it, case aside: a fact that is its own quote claims no more."""
    return text.rstrip(" \t.!;,…:").casefold()


def mentioned(lines: Sequence[str], turns: Sequence[Turn]) -> tuple[str, ...]:
    """Those of a model's lines without quotes (decisions, open ends) that are made of what was said.

    Args:
        lines: of a conversation.
        turns: of any role; only what a person or the assistant said counts.
    """
    said = " ".join(folded(turn.text) for turn in turns if turn.role in ("user", "assistant"))
    return tuple(line for line in lines if _of_what_was_said(mask(line), said, said))


def _of_what_was_said(text: str, quote: str, said: str, meant_years: Collection[str] = ()) -> bool:
    """Whether numbers, dates and names were said, most words too, and something of it stands in the quote."""
    said_low = said.casefold()
    dated = _names_days(said)
    numbers = {*_NUMBER.findall(said), *meant_years}
    bare = text
    for found in _ISO.finditer(text):
        if found[0] in said or dated:
            bare = bare.replace(found[0], " ")
    years = {found[1] for found in _ISO.finditer(text)}
    if any(number not in numbers and number not in years for number in _NUMBER.findall(bare)):
        return False
    if not _GERMAN.search(text):
        names = {name.casefold().removesuffix("'s").removesuffix("’s") for name in _NAME.findall(bare)} - _PERSON
        if any(name not in said_low for name in names):
            return False
    if bare == text or not _names_days(quote):
        return _anchored(bare, quote) and _about_the_same(bare, said_low)
    return _about_the_same(bare, said_low)


def _anchored(text: str, quote: str) -> bool:
    """Whether something that the fact speaks of is spoken of in its quote: a word (by its beginning) or a number."""
    claimed, quoted = statements.read(text), statements.read(quote)
    mine, theirs = (set(each.content or each.words) for each in (claimed, quoted))
    begin = {word[:4] for word in theirs | set(quoted.words) if len(word) > 3}
    numbers = set(_NUMBER.findall(quote))
    return bool(
        mine & theirs
        or any(len(word) > 3 and word[:4] in begin for word in mine)
        or numbers & set(_NUMBER.findall(text))
    )


@lru_cache(maxsize=8)
def _names_days(said: str) -> bool:
    """Whether a date is said, or a day is named; asked again for every fact of a turn."""
    return bool(_DATE_WORD.search(said)) or any(names_relative(said, code) for code in LANGUAGES)


def _about_the_same(text: str, said_low: str) -> bool:
    """Whether the fact's words of content are mostly words that were said (by their beginnings)."""
    words = [word for word in statements.read(text).content if len(word) > 3 and word not in _PERSON]
    if len(words) < 2:
        return True
    there = sum(word[:4].casefold() in said_low for word in words)
    return there * 3 >= len(words)


def _turned(text: str, quote: str) -> bool:
    """Whether one of the two denies what the other says, clause by clause."""
    if _TURNED.search(text) or _TURNED.search(quote):
        return False
    told = _ASKED.sub("", quote)
    said = [statements.read(clause) for clause in _CLAUSE.split(told) if clause.strip()]
    return any(_denies(statements.read(clause), said) for clause in _CLAUSE.split(text) if clause.strip())


def _denies(claim: Statement, said: Sequence[Statement]) -> bool:
    """Whether what was said about the same is denied, and the claim is not; or the other way round."""
    content = set(claim.content)
    if not content or not said:
        return False
    most = max(len(content & set(clause.content)) for clause in said)
    near = [clause for clause in said if len(content & set(clause.content)) == most]
    return all(bool(clause.denied) != bool(claim.denied) for clause in near)


def _reversed(text: str, quote: str) -> bool:
    """Whether the fact says the opposite in other words ("hates": "loves"), or that what ended goes on."""
    said = [statements.read(clause) for clause in _CLAUSE.split(quote) if clause.strip()]
    claims = [statements.read(clause) for clause in _CLAUSE.split(text) if clause.strip()]
    if any(statements.opposed(claim, clause) and claim.denied == clause.denied for claim in claims for clause in said):
        return True
    if _ENDED.search(text) or _OVER.search(text) or _TURNED.search(text) or any(claim.denied for claim in claims):
        return False
    clauses = [clause for clause in _CLAUSE.split(quote) if clause.strip()]
    for claim in claims:
        shared = [len(_stems(claim) & _stems(statements.read(clause))) for clause in clauses]
        most = max(shared, default=0)
        near = [clause for clause, count in zip(clauses, shared, strict=True) if count == most]
        if most and all(_ENDED.search(clause) for clause in near):
            return True
    return False


def _stems(statement: Statement) -> set[str]:
    return {word[:4] for word in statement.content}
