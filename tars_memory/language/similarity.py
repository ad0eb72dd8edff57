"""How two statements stand to each other: the same, the same in other words, or neither; and which are about the same.

Pure, without a model, and careful: what says the same may be dropped by whoever asks, so a difference in a digit, a
negation or any word of content never counts as that. Which are about the same only sorts what a person is shown.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from tars_memory.language import statements
from tars_memory.language.words import STOP_WORDS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    # FUSED
    from tars_memory.language.statements import Statement


ENOUGH = 0.25
"""Share of the rare words of two lines, of the one that says less, that makes them lines about the same."""

RESTATED = 0.8
"""Share of the words of two statements that are the same if the one says again what the other said."""

_LIKING = (
    "prefer like love enjoy favourite favorite best rather fond always really want mag liebe lieber liebsten gern "
    "gerne bevorzuge am immer préfère aime adore toujours prefiero gusta encanta siempre preferisco piace adoro sempre "
    "gosto prefiro liever graag ich je yo io eu ik"
)
_LIGHT = frozenset(stem(word) for word in _LIKING.split())
"""Words of liking, and for "I", which two lines share without being about the same."""

_DATE = re.compile(r"\d{1,2}|(?:19|20)\d\d|(?:month|weekday)\d+")
"""A part of a date, as statements read it; a time of day or an amount is as telling as a word."""


def relation(old: str, new: str) -> Relation:
    """How a new statement stands to an old one.

    Args:
        old: words of an entry (:attr:`tars_memory.vault.model.Entry.text`).
        new: those of another one.

    Returns:
        ``same``: the same words, whatever their case, spacing and punctuation. ``near``: the same content in another
        order, or with other words that carry none. ``different``: anything else.
    """
    return compare(statements.read(old), statements.read(new))


def compare(old: Statement, new: Statement) -> Relation:
    """:func:`relation` of two statements that are read already."""
    if old.words == new.words and old.tags == new.tags:
        return "same"
    return "near" if old.content and new.content and statements.says_the_same(old, new) else "different"


def overlap(old: Statement, new: Statement) -> float:
    """How much of their content two statements share: 0 to 1 (Dice)."""
    mine, theirs = set(old.content), set(new.content)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text that may tell it from others, as stems, in order."""
    return tuple(stem(word) for word in statements.read(text).content if word not in STOP_WORDS)


def restates(old: str, new: str) -> bool:
    """Whether a statement seems to say again what another one said, in other words: "I like aisle seats best".

    It only sorts: what it takes for a repetition is shown further down.
    """
    told, again = _gist(old), _gist(new)
    if not told or not again:
        return False
    if statements.read(old).denied % 2 != statements.read(new).denied % 2:
        return False
    if any(word.isdigit() for word in told ^ again):
        return False
    return 2 * len(told & again) >= RESTATED * (len(told) + len(again))


def _gist(text: str) -> frozenset[str]:
    """What a statement is about, without the words that say whether one likes it."""
    return frozenset(word for word in stems(text) if word not in _LIGHT)


class SimilarTexts:
    """Texts by their words, so that those about the same as a new one are found without comparing it with all of them.

    Args:
        texts: in order; their numbers are what is found.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = [frozenset(stems(text)) for text in texts]
        self._holders: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                self._holders.setdefault(word, []).append(number)

    def about(self, text: str) -> list[int]:
        """The texts that share enough with this one to be shown beside it: the best first, of equal ones the last."""
        new = frozenset(stems(text))
        shared: dict[int, float] = {}
        for word in new:
            weight = self._weight(word)
            for number in self._holders.get(word, ()):
                shared[number] = shared.get(number, 0.0) + weight
        whole = sum(map(self._weight, new))
        found = []
        for number, weight in shared.items():
            share = weight / min(whole, sum(map(self._weight, self._words[number])))
            if share >= ENOUGH:
                found.append((-share, -weight, -number))
        return [-number for _, _, number in sorted(found)]

    def _weight(self, word: str) -> float:
        """Rare words count most; parts of dates, and words that only say what one likes, less."""
        rarity = math.log(1 + (len(self._words) + 1) / (len(self._holders.get(word, ())) + 1))
        return rarity / 4 if word in _LIGHT or _DATE.fullmatch(word) else rarity


Relation = Literal["same", "near", "different"]
"""How two statements stand to each other; see :mod:`tars_memory.language.similarity`."""
