"""Which of many statements say something about the same as a new one, without comparing it with all of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation import similarity
from tars_memory.curation.extraction import statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.curation.extraction.statements import Statement

BESIDE = "beside"
"""How a line stands to a statement that says something else of the same thing, which may be true beside it."""

_CLOSER = ("same", "near", "conflict", "update")
"""Relations that make a line one about the same, the closest first."""
_ORDER = {"same": 0, "near": 1, "conflict": 2, "update": 2, BESIDE: 3}


class Index:
    """Statements by the words that they hold, so that one is compared only with those that share some.

    Args:
        texts: in order; their numbers are what is found.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._statements: list[Statement] = []
        self._by_word: dict[str, list[int]] = {}
        self._by_words: dict[tuple[str, ...], list[int]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more."""
        statement = statements.read(text)
        number = len(self._statements)
        self._statements.append(statement)
        for word in set(statement.content):
            self._by_word.setdefault(word, []).append(number)
        self._by_words.setdefault(statement.words, []).append(number)

    def about(self, text: str) -> list[tuple[int, str]]:
        """Those that say the same or something else about the same: same and near first, then the most alike.

        With each number the relation; :data:`BESIDE` for another statement of what the same thing is.
        """
        new = statements.read(text)
        shared: dict[int, int] = {}
        for word in set(new.content):
            for number in self._by_word.get(word, ()):
                shared[number] = shared.get(number, 0) + 1
        least = max(1, (len(set(new.content)) + 2) // 3)  # less in common says nothing about the same
        numbers = {number for number, count in shared.items() if count >= least}
        found = []
        for number in sorted(numbers | set(self._by_words.get(new.words, ()))):
            held = self._statements[number]
            kind: str = similarity.compare(held, new)
            if kind not in _CLOSER and _subject(new) and _subject(held) == _subject(new):
                kind = BESIDE
            if kind in _CLOSER or kind == BESIDE:
                found.append((number, kind, similarity.overlap(held, new)))
        found.sort(key=lambda each: (_ORDER[each[1]], -each[2]))
        return [(number, kind) for number, kind, _ in found]


def _subject(statement: Statement) -> tuple[str, ...]:
    """What a statement says something is (``my car is …``); empty if it says no such thing."""
    first = next((number for number, phrase in enumerate(statement.phrases) if phrase[0] == "="), 0)
    return tuple(word for phrase in statement.phrases[:first] for word in phrase)
