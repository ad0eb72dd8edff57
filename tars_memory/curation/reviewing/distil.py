"""From feedback to a rule, without a model: the person's own words, in the form of something to do. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

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


class Rule(NamedTuple):
    """What a piece of feedback asks for.

    Attributes:
        text: the line to keep.
        factual: it says how something is rather than what to do; then it belongs with the facts.
    """

    text: str
    factual: bool = False


def fact(said: str) -> Rule:
    """A statement as a line of its own: a capital where a sentence begins so, no asides, no full stop at its end.

    Words that may be names of things (``npm``, ``prefers`` in a list of such) keep their small letter. What tells how
    to answer, or what is always or never to be done, is a rule.
    """
    words = _trimmed(_ASIDE.sub("", said))
    words = _LET_US.sub("We ", words)
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0] in _STARTERS:
        words = _begun(words)
    told = _ALWAYS.match(words)
    asks = told is not None and _imperative(words[told.end() :])
    return Rule(_begun(words) if asks else words, factual=not (asks or _ANSWERS.match(words)))


def rule(said: str, *, good: bool) -> Rule:
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
        return Rule(_begun("Do not " + plain[forbids.end() :]))
    told = _FACTUAL.sub("", plain)
    if told != plain and not good and not _imperative(told):
        return Rule(_begun(told), factual=True)
    plain = told
    if _imperative(plain) or (not good and _OUGHT.search(plain)):
        return Rule(_begun(plain))
    if re.match(r"(?:much |far |way )?too\s", plain, re.IGNORECASE) and not good:
        return Rule("Not " + plain[:1].lower() + plain[1:])
    if good:
        return Rule(f"Keep doing this: {_KEPT.sub('', plain) or plain}")
    return Rule(f"Avoid: {plain}")


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
