"""Under which heading of a tier note a new line belongs, and what line comes of feedback. Pure, without a model.

The order: a tag that one section is named for or holds alone; the one section whose lines begin with the same name; the
section of the lines that share its rarest words; a heading that is named for its kind (decisions, health, preferences,
people, about me, work); in a note without headings of its own such a heading is made, unless the layout has none for
notes either; else the section for notes. From feedback comes a rule in the person's own words, in the form of something
to do.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.language.tables import every, every_word
from tars_memory.language.words import STOP_WORDS, stem, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.model import Entry


ENOUGH = 0.3
"""Share of a line's rare words that the lines of a section must hold for it to go there: about one of three."""

NEAREST = 3
"""Lines of a section that count: the best few, or a long section would win by its length."""

_KINDS = {
    "Decisions": "decided",
    "Health": "health",
    "Preferences": "preferred",
    "People": "people",
    "About me": "me",
    "Work": "work",
}
"""Headings to make, each with the name that the tables of the languages have for what belongs there."""


@cache
def _kinds() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Heading to make, how lines of that kind speak, and how such headings are called."""
    found = []
    for title, name in _KINDS.items():
        speaks = every("kinds", name)
        if name == "people":
            speaks = f"(?:{every('kinds', 'mine')}) (?:{speaks})|{every('kinds', 'birthday')}"
        heading = every("kinds", f"{name}_heading")
        found.append((title, re.compile(rf"\b(?:{speaks})\b"), re.compile(rf"\b(?:{heading})")))
    return found


class Sections:
    """The sections of a note by what stands in them.

    Args:
        entries: of the note, in order.
        titles: of its sections of level 2 and deeper, empty ones too.
        notes: the section for whatever has no other place.
    """

    def __init__(self, entries: Sequence[Entry], titles: Sequence[str], notes: str) -> None:
        self.notes = next((title for title in titles if title.casefold() == notes.casefold()), notes)
        self.titles = list(dict.fromkeys(title for title in titles if title))
        self._lines = [
            (entry.section, frozenset(_stems(entry.text)), _name(entry.text)) for entry in entries if entry.section
        ]
        self._tags: dict[str, set[str]] = {}
        for entry in entries:
            for tag in entry.tags:
                self._tags.setdefault(tag.casefold(), set()).add(entry.section)
        counts: dict[str, int] = {}
        for _, stems, _ in self._lines:
            for each in stems:
                counts[each] = counts.get(each, 0) + 1
        self._counts = counts

    def best(self, text: str, tags: Sequence[str] = ()) -> str:
        """The heading that a line of these words belongs under; it may not exist yet."""
        return self._tagged(tags) or self._about(text) or self._like(text) or self._of_kind(text) or self.notes

    def _tagged(self, tags: Sequence[str]) -> str:
        for tag in tags:
            name = tag.rpartition("/")[2].casefold()
            for title in self.titles:
                if title.casefold() in (tag.casefold(), name):
                    return title
            held = self._tags.get(tag.casefold(), set())
            if len(held) == 1:
                return next(iter(held))
        return ""

    def _about(self, text: str) -> str:
        """The only section with lines that begin with the same name (``Anna's birthday``, ``Anna moves``), if any."""
        name = _name(text)
        held = {section for section, _, named in self._lines if named == name and section != self.notes}
        return next(iter(held)) if name and len(held) == 1 else ""

    def _like(self, text: str) -> str:
        """The section whose lines share the most of its words, rare ones counting more; empty if none shares enough."""
        stems = set(_stems(text))
        weights = {each: self._weight(each) for each in stems}
        whole = sum(weights.values())
        if not whole:
            return ""
        shared: dict[str, list[float]] = {}
        for section, line, _ in self._lines:
            if section != self.notes:
                shared.setdefault(section, []).append(sum(weights[each] for each in stems & line) / whole)
        for title in self.titles:
            if title != self.notes:
                named = sum(weights[each] for each in stems & set(_stems(title))) / whole
                shared.setdefault(title, []).append(named)
        best, score = "", 0.0
        for section, values in shared.items():
            top = sorted(values, reverse=True)[:NEAREST]
            value = top[0] + 0.25 * sum(top[1:])
            if value > score:
                best, score = section, value
        return best if score >= ENOUGH else ""

    def _weight(self, word: str) -> float:
        """Rare words count most; one that the note does not know says nothing of where it belongs, so half of that."""
        count = self._counts.get(word, 0)
        rarity = math.log(1 + (len(self._lines) + 1) / (count + 1))
        return rarity if count else rarity / 2

    def _of_kind(self, text: str) -> str:
        said = text.casefold()
        own = [title for title in self.titles if title != self.notes and title not in _KINDS]
        for title, speaks, named in _kinds():
            if not speaks.search(said):
                continue
            there = next((each for each in self.titles if named.search(each.casefold())), "")
            if there or (self.notes and not own):
                return there or title
        return ""


def _name(text: str) -> str:
    """The word with a capital that a text begins with, as a stem; empty if it is none or says nothing."""
    first = re.match(r"[^\W\d_]+", text)
    if not first or not first[0][0].isupper() or first[0].casefold() in STOP_WORDS:
        return ""
    return stem(first[0].casefold())


def _stems(text: str) -> list[str]:
    return [stem(word) for word in tokens(text) if word not in STOP_WORDS]


@cache
def _said(name: str, form: str = "{}") -> re.Pattern[str]:
    """An expression with what the languages say for it in the place of the braces."""
    return re.compile(form.replace("{}", f"(?:{every('feedback', name)})"), re.IGNORECASE)


@cache
def _listed(name: str) -> frozenset[str]:
    """Words that the languages list: how orders begin, or small words that a sentence begins with."""
    return every_word("feedback", name)


_POLITE = "polite", r"^(?:{}[,:]?\s+)+"
_FACTUAL = "denies", r"^{}[,:;.!]+\s+(?:(?:actually|it's actually),?\s+)?"
_LEADING, _TRAILING = ("leading_asides", r"^{},?\s+(?=\w)"), ("trailing_asides", r",?\s+{}(?=[.!]?$)")
_NOT = re.compile(r"^(?:you )?(?:shouldn't|should not|mustn't|must not)\s+", re.IGNORECASE)
_KEPT = re.compile(r"^(?:i (?:really )?(?:liked?|loved?) (?:that|how|it when) |good:|great:|nice:)\s*", re.IGNORECASE)
_LET_US = re.compile(
    r"^let['’]?s (?=(?:go|use|take|keep|stick|do|move|start|call|make|stay|try|meet|have)\b)", re.IGNORECASE
)


class FeedbackRule(NamedTuple):
    """What a piece of feedback asks for.

    Attributes:
        text: the line to keep.
        factual: it says how something is rather than what to do; then it belongs with the facts.
    """

    text: str
    factual: bool = False


def fact(said: str) -> FeedbackRule:
    """A statement as a line of its own: a capital where a sentence begins so, no asides, no full stop at its end.

    Words that may be names of things (``npm``, ``prefers`` in a list of such) keep their small letter. What tells how
    to answer, or what is always or never to be done, is a rule.
    """
    words = _trimmed(_said(*_TRAILING).sub("", _said(*_LEADING).sub("", said)))
    words = _LET_US.sub("We ", words)
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0] in _listed("starters"):
        words = _begun(words)
    plain = _said(*_POLITE).sub("", words)
    told = _said("always", r"{}\s+").match(plain)
    asks = told is not None and _imperative(plain[told.end() :])
    return FeedbackRule(_begun(words) if asks else words, factual=not (asks or _said("answers", r"{}\s").match(plain)))


def rule(said: str, *, good: bool) -> FeedbackRule:
    """The rule that a correction or a praise comes to.

    Words that tell what to do stand as they were said. Of others it is said what they are:
    ``Correction: the distance was in miles``, ``Keep doing this: short answers``.

    Args:
        said: what the person wrote.
        good: it is praise.
    """
    words = _trimmed(said)
    plain = _said(*_POLITE).sub("", words) or words
    forbids = _NOT.match(plain)
    if forbids:
        return FeedbackRule(_begun("Do not " + plain[forbids.end() :]))
    told = _said(*_FACTUAL).sub("", plain)
    if told != plain and not good and not _imperative(told):
        return FeedbackRule(_begun(told), factual=True)
    plain = told
    if _imperative(plain) or (not good and _said("ought", r"\b{}\b").search(plain)):
        return FeedbackRule(_begun(plain))
    if re.match(r"(?:much |far |way )?too\s", plain, re.IGNORECASE) and not good:
        return FeedbackRule("Not " + plain[:1].lower() + plain[1:])
    if good:
        return FeedbackRule(f"Keep doing this: {_KEPT.sub('', plain) or plain}")
    return FeedbackRule(f"Correction: {plain}")  # in a language without a list nobody knows whether it forbids


def evidence(said: str, question: str, answer: str) -> str:
    """What a rule stands on, for the person who decides: the feedback and what it was about."""
    parts = [said]
    if question:
        parts.append(f"asked: {question}")
    if answer:
        parts.append(f"answered: {answer}")
    return parts[0] + (f" ({'; '.join(parts[1:])})" if len(parts) > 1 else "")


def _imperative(words: str) -> bool:
    first = re.match(r"[^\W\d_]+(?:['’][^\W\d_]+)?", words)
    if not first or "?" in words:
        return False
    return first[0].casefold().replace("’", "'") in _listed("orders")


def _begun(words: str) -> str:
    """With a capital where the first word is all small, and without a lone full stop at the end."""
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0].islower():
        words = words[:1].upper() + words[1:]
    return words


def _trimmed(said: str) -> str:
    words = " ".join(said.split())
    if re.search(r"[^.!?…][.!]$", words) and not re.search(r"[.!?]\s", words):
        words = words[:-1]  # one sentence needs no full stop as a bullet
    return words
