"""Under which heading of a tier note a new line belongs, and what line comes of feedback. Pure, without a model.

The order: a tag that one section is named for or holds alone; the one section whose lines begin with the same name; the
section of the lines that share its rarest words; a heading that is named for its kind (decisions, health, preferences,
people, about me, work); in a note without headings of its own such a heading is made; else the section for notes. From
feedback comes a rule in the person's own words, in the form of something to do.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.language.words import STOP_WORDS, stem, tokens

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


_BEGINNINGS = (
    "add answer ask assume avoid begin bring call check cite compare confirm convert count deliver describe do don't "
    "dont draw end explain finish fix follow format give go greet handle ignore include keep leave let link list look "
    "make mention name never no not offer only open prefer print propose provide put quote read refer remember remind "
    "remove repeat reply report respect respond return round run say search send show sign skip sort speak spell start "
    "stay stick stop suggest summarise summarize switch talk tell test translate treat try turn update use verify wait "
    "watch when whenever if always before after for in with write work "
    "push pull merge commit deploy release rebase delete create install log edit rename touch change move copy share "
    "post book order pay buy spend save back backup close lock clean comment document ping email mail invite "
    "antworte benutze bitte frag gib immer keine kein lass mach nenne nie niemals nimm nutze prüfe sag schreib sprich "
    "verwende vermeide wenn zeig évite toujours jamais utilise réponds dis ne donne quand écris siempre nunca usa "
    "evita responde di escribe cuando no sempre mai rispondi scrivi quando non altijd nooit gebruik schrijf geef als"
)
_IMPERATIVE = frozenset(_BEGINNINGS.split())
"""How things to be done begin; those in ``-ing`` and questions are none."""

_OUGHT = re.compile(
    r"\b(?:should|must|mustn't|shouldn't|needs? to|have to|has to|ought to|always|never|instead of|rather than|"
    r"soll(?:te|st|en)?|muss|nie|immer|doit|devrait|il faut|debe|debería|hay que|deve|dovrebbe|moet)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hey|ok|okay|well|also|and|but|so|next time|in (?:the )?future|from now on|remember(?: to)?|"
    r"you (?:should|must|need to|have to|ought to)|"
    r"bitte|s'il te plaît|por favor|per favore|alsjeblieft)[,:]?\s+)+",
    re.IGNORECASE,
)
_NOT = re.compile(r"^(?:you )?(?:shouldn't|should not|mustn't|must not)\s+", re.IGNORECASE)
_FACTUAL = re.compile(
    r"^(?:no|nope|wrong|actually|nein|non|falsch|falso)[,:;.!]+\s+(?:(?:actually|it's actually),?\s+)?", re.IGNORECASE
)
_KEPT = re.compile(r"^(?:i (?:really )?(?:liked?|loved?) (?:that|how|it when) |good:|great:|nice:)\s*", re.IGNORECASE)


_STARTED = (
    "i we my our the a an it its he she they his her their this that these those there you your "
    "ich wir mein meine unser unsere der die das ein eine er sie es sein seine je nous mon ma mes notre nos le la les "
    "un une il elle ils elles yo nosotros mi mis nuestro nuestra el los las una io noi mio mia il lo gli "
    "ik wij mijn onze de het een hij zij eu nós meu minha nosso nossa o a os as um uma"
)
_STARTERS = frozenset(_STARTED.split())
"""Small words that a sentence begins with: written small they were in its middle."""


_ASIDE = re.compile(
    r"^(?:by the way|btw|oh|also|and|so|well|übrigens|au fait|por cierto|tra l'altro),?\s+(?=\w)|"
    r",?\s+(?:by the way|btw|though|you know|haha|lol|thanks|thank you|please|übrigens|bitte|au fait|por cierto)"
    r"(?=[.!]?$)",
    re.IGNORECASE,
)
_LET_US = re.compile(
    r"^let['’]?s (?=(?:go|use|take|keep|stick|do|move|start|call|make|stay|try|meet|have)\b)", re.IGNORECASE
)
_ALWAYS = re.compile(
    r"(?:always|never|do not|don['’]t|immer|nie|niemals|toujours|jamais|siempre|nunca|sempre|mai|altijd|nooit)\s+",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"(?:answer|reply|respond|explain|summari[sz]e|cite|antworte|erkläre|réponds|explique|responde|rispondi|spiega|"
    r"antwoord)\s",
    re.IGNORECASE,
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
    words = _trimmed(_ASIDE.sub("", said))
    words = _LET_US.sub("We ", words)
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0] in _STARTERS:
        words = _begun(words)
    plain = _POLITE.sub("", words)
    told = _ALWAYS.match(plain)
    asks = told is not None and _imperative(plain[told.end() :])
    return FeedbackRule(_begun(words) if asks else words, factual=not (asks or _ANSWERS.match(words)))


def rule(said: str, *, good: bool) -> FeedbackRule:
    """The rule that a correction or a praise comes to.

    Words that tell what to do stand as they were said. Of others it is said whether to do it again:
    ``Avoid: the distance was in miles``, ``Keep doing this: short answers``.

    Args:
        said: what the person wrote.
        good: it is praise.
    """
    words = _trimmed(said)
    plain = _POLITE.sub("", words) or words
    forbids = _NOT.match(plain)
    if forbids:
        return FeedbackRule(_begun("Do not " + plain[forbids.end() :]))
    told = _FACTUAL.sub("", plain)
    if told != plain and not good and not _imperative(told):
        return FeedbackRule(_begun(told), factual=True)
    plain = told
    if _imperative(plain) or (not good and _OUGHT.search(plain)):
        return FeedbackRule(_begun(plain))
    if re.match(r"(?:much |far |way )?too\s", plain, re.IGNORECASE) and not good:
        return FeedbackRule("Not " + plain[:1].lower() + plain[1:])
    if good:
        return FeedbackRule(f"Keep doing this: {_KEPT.sub('', plain) or plain}")
    return FeedbackRule(f"Avoid: {plain}")


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
    return first[0].casefold().replace("’", "'") in _IMPERATIVE


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
