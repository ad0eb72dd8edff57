"""How people correct themselves, beside the phrases of their language: what they meant, what it is, what is over.

Narrow on purpose: both sides of a contrast are a few words, the new one is a name or a value, and what is over is one
of a few verbs that tell of a person for a while. Pure.
"""

from __future__ import annotations

import re
from functools import cache

_FEW = r"(?:[^,;:.!?()\"“”]|(?<=\d)[:.,](?=\d)){2,40}"
_VAGUE = (
    r"(?!(?:it|that|this|you|to|what|how|for|well|as|if|when|was|das|es|dass|que|ça|cela|eso|quello|che|dat|isso)\b)"
)
_MEANT = {
    "en": ("i meant(?: to say)?", "not|instead of|rather than"),
    "de": ("ich meinte|ich meine", "nicht|statt"),
    "fr": ("je voulais dire", "pas|et non|au lieu de"),
    "es": ("quise decir|quería decir|me refería a", "no|y no|en vez de"),
    "it": ("intendevo|volevo dire", "non|e non|invece di"),
    "nl": ("ik bedoelde|ik bedoel", "niet|in plaats van"),
    "pt": ("quis dizer|queria dizer", "não|e não|em vez de"),
}
_IS = {
    "en": (r"(?:it|that|this)(?:'s| is| was)", "not"),
    "de": (r"(?:es|das) (?:ist|war)", "nicht"),
    "fr": (r"c'(?:est|était)", "pas|et non"),
    "es": (r"(?:es|era|son)", "no|y no"),
    "it": (r"(?:è|era|sono)", "non|e non"),
    "nl": (r"(?:het|dat) (?:is|was)", "niet"),
    "pt": (r"(?:é|era|são)", "não|e não"),
}
_NO_MORE = {
    "en": (
        (
            r"(?:i|we)(?: really)? no longer {verb}\b{rest}|(?:i|we) (?:don't|do not|can't|cannot) {verb}\b{rest} any "
            r"?more|(?:i|we)(?:'ve| have)? (?:stopped|quit|given up|gave up) {doing}\b{rest}"
        ),
        (
            r"eat|drink|smoke|work|live|use|drive|own|have|like|take|play|teach|study|speak|rent|wear|watch|attend|go "
            r"to|need"
        ),
        (
            r"eating|drinking|smoking|using|working (?:at|for|as|in)|playing|taking|going "
            r"to|teaching|driving|wearing|meat|sugar|alcohol|coffee|caffeine|dairy|gluten|dairy products"
        ),
    ),
    "de": (
        r"(?:ich|wir) {verb}\b (?:[\w-]+ ){{0,3}}(?:kein|keine|keinen|nicht|nie)\b{rest} mehr(?: {tail})?",
        (
            r"esse|essen|trinke|trinken|rauche|rauchen|arbeite|arbeiten|wohne|wohnen|lebe|leben|benutze|nutze|nutzen|f"
            r"ahre|habe|haben|spiele|trage|mag|brauche"
        ),
        r"[^ ]+",
    ),
    "fr": (
        r"(?:je|nous|on) (?:ne |n')?{verb}\b plus\b(?! ou moins| que| tard| tôt| vite){rest}",
        (
            r"mange|mangeons|bois|buvons|fume|travaille|travaillons|habite|habitons|vis|utilise|utilisons|conduis|ai|a"
            r"vons|joue|prends|aime|porte"
        ),
        r"",
    ),
    "es": (
        r"(?:yo )?ya no {verb}\b{rest}",
        (
            r"como|comemos|bebo|fumo|trabajo|trabajamos|vivo|vivimos|uso|usamos|conduzco|tengo|tenemos|juego|tomo|llev"
            r"o|me gusta"
        ),
        r"",
    ),
    "it": (
        r"(?:io )?non {verb}\b più\b(?! di| che| tardi){rest}",
        (
            r"mangio|mangiamo|bevo|fumo|lavoro|lavoriamo|vivo|viviamo|abito|uso|usiamo|guido|ho|abbiamo|gioco|prendo|p"
            r"orto"
        ),
        r"",
    ),
    "nl": (
        r"(?:ik|we|wij) {verb}\b (?:[\w-]+ ){{0,3}}(?:geen|niet)\b{rest} meer(?: {tail})?",
        (
            r"eet|eten|drink|drinken|rook|roken|werk|werken|woon|wonen|leef|gebruik|gebruiken|rijd|heb|hebben|speel|dr"
            r"aag|neem"
        ),
        r"[^ ]+",
    ),
    "pt": (
        r"(?:eu )?(?:já não {verb}\b{rest}|não {verb}\b mais\b(?! que| de| tarde){rest})",
        (
            r"como|comemos|bebo|fumo|trabalho|trabalhamos|moro|moramos|vivo|vivemos|uso|usamos|dirijo|tenho|temos|jogo"
            r"|tomo|gosto"
        ),
        r"",
    ),
}
_REST = r"(?:(?! (?:it|that|this|them|you|your|to (?:know|see|think|care)|a clue|an idea|words|time|patience)\b)[^;:?])"


@cache
def meant(code: str) -> re.Pattern[str]:
    """``I meant Lisbon, not Porto``."""
    says, instead = _MEANT[code]
    return re.compile(rf"(?:{says}):? {_VAGUE}{_FEW}?,? (?:{instead}) {_VAGUE}{_FEW}", re.IGNORECASE)


@cache
def instead(code: str) -> re.Pattern[str]:
    """``It's Lisbon, not Porto``: the new side holds a capital or a digit. Only where a correction is marked as one."""
    says, other = _IS[code]
    value = rf"(?=[^,]{{0,40}}(?-i:[A-ZÀ-Þ0-9])){_VAGUE}{_FEW}?"
    return re.compile(rf"(?:{says}) {value},? (?:{other}) {_VAGUE}{_FEW}", re.IGNORECASE)


@cache
def over(code: str) -> re.Pattern[str]:
    """``I no longer eat meat``."""
    pattern, verbs, others = _NO_MORE[code]
    filled = pattern.format(verb=f"(?:{verbs})", doing=f"(?:{others})", tail=others or "[^ ]+", rest=f"{_REST}*")
    return re.compile(filled, re.IGNORECASE)
