"""Under which heading of a tier note a new line belongs: where its like stands already, else by what kind it is. Pure.

The order: a tag that one section is named for or holds alone; the one section whose lines begin with the same name; the
section of the lines that share its rarest words; a heading that is named for its kind (decisions, health, preferences,
people, about me, work); in a note without headings of its own such a heading is made; else the section for notes.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tars_memory.index.words import STOP_WORDS, tokens
from tars_memory.recall.ranking.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.model import Entry

ENOUGH = 0.3
"""Share of a line's rare words that the lines of a section must hold for it to go there: about one of three."""

NEAREST = 3
"""Lines of a section that count: the best few, or a long section would win by its length."""

_DECIDED = (
    r"\b(?:decided|decision|agreed|(?:we(?:'ll| will)?|let'?s) (?:go|going|went|stick) with|settled on|chose|chosen|"
    r"entschieden|beschlossen|einigten?|décidé|convenu|decidido|acordado|deciso|besloten|afgesproken)\b"
)
_PREFERRED = (
    r"\b(?:prefer\w*|likes?|loves?|hates?|dislikes?|enjoys?|favou?rite\w*|rather|can'?t stand|"
    r"bevorzug\w*|mag|liebt?|hasst?|lieber|préfère\w*|aime\w*|déteste\w*|prefiero|prefiere|gusta\w*|"
    r"odio|odia|preferisc\w*|piac\w*|adora|geef de voorkeur|houdt? van)\b"
)
_OF_PEOPLE = (
    r"\b(?:my|our|his|her|meine?|unsere?|mon|ma|mi|mio|mia|mijn) (?:wife|husband|partner|girlfriend|boyfriend|son|"
    r"daughter|child|kids?|mother|mum|mom|father|dad|parents?|brother|sister|aunt|uncle|cousin|grand\w+|friend|"
    r"boss|colleague|neighbou?r|frau|mann|sohn|tochter|mutter|vater|bruder|schwester|freund\w*|chef\w*|femme|mari|"
    r"fils|fille|mère|père|frère|sœur|soeur|ami\w*|esposa|marido|hij[oa]|madre|padre|herman[oa]|amig[oa]|moglie|"
    r"marito|figli[oa]|fratello|sorella|vrouw|man|zoon|dochter|moeder|vader|broer|zus|vriend\w*)\b|"
    r"\b(?:birthday|geburtstag|anniversaire|cumpleaños|compleanno|verjaardag)\b"
)
_AT_WORK = (
    r"\b(?:works? (?:at|for|as|in|on)|working (?:at|for|as)|job|employer|salary|my team|our team|"
    r"arbeite[t]? (?:bei|als|für)|travaille\w* (?:chez|pour|comme)|trabaj\w* (?:en|para|como)|"
    r"lavor\w* (?:per|come|in)|werk(?:t|en)? (?:bij|als|voor))\b"
)
_OF_ME = (
    r"\b(?:i live|i'?m from|i am from|i was born|my name is|call me|i moved|i grew up|i speak|my (?:address|phone|"
    r"birthday|mother tongue)|ich wohne|ich heiße|ich komme aus|j'habite|je m'appelle|je viens de|vivo en|me llamo|"
    r"abito|vivo a|mi chiamo|ik woon|ik heet)\b"
)
_OF_HEALTH = (
    r"\b(?:allerg\w*|vegan\w*|vegetari\w*|gluten\w*|lactose|laktose\w*|diabet\w*|asthma\w*|blood type|medication|"
    r"blutgruppe|medikament\w*|végétarien\w*|celiac|coeliac)\b"
)
_KINDS = (
    ("Decisions", _DECIDED, r"\b(?:decision|decided|agree|entscheid|beschl|décision|decisi|besluit)"),
    ("Health", _OF_HEALTH, r"\b(?:health|medical|diet|gesundheit|santé|salud|salute|gezondheid)"),
    ("Preferences", _PREFERRED, r"\b(?:prefer|like|taste|favou?rit|vorlieb|préfér|goût|gust|voorkeur)"),
    ("People", _OF_PEOPLE, r"\b(?:people|person|famil|friend|contact|leute|mensch|freund|gens|gente|mensen|vriend)"),
    ("About me", _OF_ME, r"\b(?:about me|me|myself|personal|profile|über mich|moi|sobre mí|di me|over mij)\b"),
    ("Work", _AT_WORK, r"\b(?:work|job|career|arbeit|beruf|travail|trabajo|lavoro|werk)"),
)
"""Heading to make, how lines of that kind speak, and how such headings are called."""

_TITLES = frozenset(title for title, _, _ in _KINDS)


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
        own = [title for title in self.titles if title != self.notes and title not in _TITLES]
        for title, speaks, named in _KINDS:
            if not re.search(speaks, said):
                continue
            there = next((each for each in self.titles if re.search(named, each.casefold())), "")
            if there or not own:
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
