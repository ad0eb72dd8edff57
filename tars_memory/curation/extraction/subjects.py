"""What a conversation is about, without a model: its topics, from the person's own words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tars_memory.language.tables import common_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.language.sentences import Sentence

MOST_TOPICS = 5

_NAME = re.compile(r"(?<=[\w,;'’] )[A-ZÀ-Þ][\w'’&-]{2,}(?: (?:of |de |van |von |der |del |da )?[A-ZÀ-Þ][\w'’&-]+)*")
_WORD = re.compile(r"[^\W\d_]{5,}")


def topics_of(turns: Sequence[Sequence[Sentence]]) -> tuple[str, ...]:
    """The names and words that the person used in more than one turn, most used first."""
    counted: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for turn in turns:
        found: dict[str, str] = {}
        for sentence in turn:
            names = _NAME.findall(sentence.text, 1)
            found |= {word.casefold(): word for word in [*_WORD.findall(sentence.text), *names]}
        for word in found.keys() & common_words():
            del found[word]
        counted.update(found.keys())
        for key, word in found.items():
            shown.setdefault(key, word)
    often = [key for key, count in counted.most_common() if count >= 2]
    parts = {word for name in often if " " in name for word in name.split()}
    return tuple(shown[key] for key in [key for key in often if key not in parts][:MOST_TOPICS])
