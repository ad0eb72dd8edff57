"""What a conversation is about, without a model: its topics, from the person's own words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tars_memory.curation.extraction.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.turns import Turn

MOST_TOPICS = 5

_NAME = re.compile(r"(?<=[\w,;'’] )[A-ZÀ-Þ][\w'’&-]{2,}(?: (?:of |de |van |von |der |del |da )?[A-ZÀ-Þ][\w'’&-]+)*")
_WORD = re.compile(r"[^\W\d_]{5,}")
_COMMON_WORDS = """
about after again always another around because before being between could doesn every everything first going great
thank thanks there these thing things think those thought today tomorrow using wants wanted where which while would
yesterday should really right still something someone maybe never other people please pretty since sounds their aber
alles auch dann dass dein deine diese dieser doch eine einem einen einer etwas ganz haben heute hier immer jetzt kann
kannst könnte mehr meine meinen mich muss nicht noch oder schon sehr sind sollte über unser werden wenn wird wurde
würde aussi avec avons bien cette comme dans elle encore être faire fait jamais merci moins mais même nous parce pour
pourquoi quand quel quelle sont toujours tout très votre ahora algo alguien antes aquí como cuando desde donde
entonces esta estaba estoy gracias hacer hasta mejor mucho nada nunca otro para pero porque puede puedo quiero siempre
sobre también tengo tiene todo anche ancora bene come cosa così dopo grazie molto perché però prima puoi quando quello
questa questo sempre sono tutto vorrei alleen altijd bedankt deze dit door eens goed graag heeft iets kunnen maar meer
moet naar niet omdat onze ook toch veel voor waar wanneer want wordt agora ainda assim depois então isso mais melhor
muito nada obrigado onde porque posso quando quero sempre também tenho tudo você
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that are everywhere and so say nothing of what a conversation is about."""


def topics_of(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The names and words that the person used in more than one turn, most used first."""
    counted: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for turn in turns:
        found: dict[str, str] = {}
        for sentence in sentences(turn.text):
            names = _NAME.findall(sentence.text, 1)
            found |= {word.casefold(): word for word in [*_WORD.findall(sentence.text), *names]}
        for word in found.keys() & _COMMON:
            del found[word]
        counted.update(found.keys())
        for key, word in found.items():
            shown.setdefault(key, word)
    often = [key for key, count in counted.most_common() if count >= 2]
    kept = [key for key in often if not any(key != other and key in other.split() for other in often)]
    return tuple(shown[key] for key in kept[:MOST_TOPICS])
