"""Hits of the vault and of conversations in one order. Pure.

Where a passage of the vault covers the same words of the question it comes first: somebody kept it. Of two things that
were said in conversations and cover the same, the newer one comes first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory.recall import ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.relevance import Answer

One = TypeVar("One")

ALIKE = 0.1
"""Two passages whose shares of the question's words differ by less cover the same."""


class Shares:
    """How much of a question's words a text covers, weighed by how rare they are."""

    def __init__(self, query: Query, readers: Iterable[IndexReader]) -> None:
        self._terms = ranking.words.Terms(query)
        rows, held = 0, dict.fromkeys(self._terms.stems, 0)
        for reader in readers:
            rows += reader.chunk_count()
            for stem, count in reader.frequencies(held).items():
                held[stem] += count
        self._idfs = {stem: ranking.words.idf(max(rows, 1), min(count, rows)) for stem, count in held.items()}
        self._total = sum(self._idfs.values())
        self._known: dict[str, dict[str, int]] = {}

    def read(self, texts: Iterable[str]) -> None:
        """Count the question's words in many texts that will be asked about: together in half of the time."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._terms.count_lines(new), strict=True))

    def _count(self, text: str) -> dict[str, int]:
        self.read((text,))
        return self._known[text]

    def of(self, text: str) -> float:
        """The share, 0 to 1; 0 where the question has no words to count."""
        if not self._total:
            return 0.0
        return sum(self._idfs.get(term, 0.0) for term in self._count(text)) / self._total

    def words(self, text: str) -> frozenset[str]:
        """The question's words that a text holds."""
        return frozenset(self._count(text))


class Conversations:
    """What a prompt may tell of conversations.

    Attributes:
        lines: by what a prompt calls a conversation, its lines by number; those that may not be told are empty.
        newer: by the place of a line that of the newest one that covers the same words, in a note or a conversation:
            the older never stands alone.
        automated: what a prompt calls those in which a program asked, and nobody typed.
        shared: by the whole path of a note of a shared vault the name of that, and the path in it.
    """

    def __init__(self) -> None:
        self.automated: set[str] = set()
        self.shared: dict[str, tuple[str, str]] = {}
        self.lines: dict[str, list[str]] = {}
        self.newer: dict[tuple[str, int], tuple[str, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.lines

    def pair(self, told: Iterable[Answer], said: Iterable[Answer], shares: Shares) -> None:
        """Find the newer ones of what was said among all lines that answer."""
        words = [(one, shares.words(one.text)) for one in told if one.day]
        for older in said:
            own = shares.words(older.text)
            newer = [one for one, held in words if one.day > older.day and held >= own] if older.day and own else []
            if newer:
                newest = max(newer, key=lambda one: one.day)
                self.newer[older.path, older.number] = (newest.path, newest.number)


class Told(NamedTuple):
    """What the order of a hit depends on.

    Attributes:
        share: of the question's words that it covers.
        day: the ISO day on which it was said or began to hold, or '' if nothing tells.
    """

    share: float
    day: str


def merged(ours: Sequence[One], said: Sequence[One], told: Callable[[One], Told]) -> list[One]:
    """What the vault holds and what was said in conversations, in one order.

    Of what tells its day (a day's lines, session notes, lines that came from one, facts) the newer comes first, as of
    conversations; on the same day what stands in the vault.

    Args:
        ours: of the vault, best first.
        said: in conversations, likewise.
        told: what the order of one depends on.
    """
    known = {id(one): told(one) for one in (*ours, *said)}
    dated = [one for one in ours if known[id(one)].day]
    kept = [one for one in ours if not known[id(one)].day]

    def share(one: One) -> float:
        return known[id(one)].share

    return _zipped(kept, _newer_first(_zipped(dated, said, share), known), share)


def _newer_first(found: Sequence[One], known: Mapping[int, Told]) -> list[One]:
    """Of what covers the same words, the newer before the older; the order is kept otherwise.

    What covers none was found by its meaning: that it is newer says nothing.
    """
    left = [(*known[id(one)], one) for one in found]
    ordered: list[One] = []
    while left:
        best, at = left[0][0], 0
        if best >= ALIKE:
            alike = (n for n, (share, _, _) in enumerate(left) if abs(share - best) < ALIKE)
            at = max(alike, key=lambda n: left[n][1])
        ordered.append(left.pop(at)[2])
    return ordered


def _zipped(first: Sequence[One], second: Sequence[One], share: Callable[[One], float]) -> list[One]:
    """Both, each in its own order; the first goes before where it covers as much."""
    ours, theirs = deque(first), deque(second)
    found: list[One] = []
    while ours or theirs:
        mine = ours and (not theirs or share(ours[0]) >= share(theirs[0]))
        found.append((ours if mine else theirs).popleft())
    return found
