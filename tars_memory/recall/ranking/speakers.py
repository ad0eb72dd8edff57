"""Who says a line, and whether the question names them. Pure."""

from __future__ import annotations

import re

from tars_memory.index.words import tokens

_SPEAKER = (
    r"\s*(?:>\s*\[\d+\]\s+|[-*+]\s+)?(?:\d{4}-\d\d-\d\d\s+)?(?:\d\d?:\d\d\s+)?(?:\*\*|__)?"
    r"([A-Z][^\s:*_]*(?: [^\s:*_]+){0,4})(?::(?:\*\*|__)|(?:\*\*|__)?:)(?=\s|$)"
)
"""``**Anna:** …``, ``- Anna Berg: …``, ``14:30 Anna: …``, ``> [31] 14:30 **Anna:** …`` (a turn in a session note): up
to five words before a colon, the first capitalised. Compiled when a line may begin with a name that was asked for."""


def speaker(line: str) -> str:
    """The name that a line of a transcript begins with; '' if it is none."""
    match = re.match(_SPEAKER, line)
    return match[1] if match else ""


class Speakers:
    """The people that a question names."""

    def __init__(self, question: str) -> None:
        self._words = frozenset(tokens(question))
        self._shares: dict[str, float] = {"": 0.0}

    def share(self, name: str) -> float:
        """Which share of the name's words the question holds; a single letter alone names nobody."""
        share = self._shares.get(name)
        if share is None:
            parts = tokens(name)
            named = [part for part in parts if part in self._words]
            share = len(named) / len(parts) if any(len(part) > 1 for part in named) else 0.0
            self._shares[name] = share
        return share

    def share_in(self, line: str) -> float:
        """How much of the name of who speaks the line the question holds."""
        head, colon, _ = line.partition(":")
        while colon and line[len(head) + 1 : len(head) + 3].isdigit():  # a time stands before the name
            more, colon, _ = line[len(head) + 1 :].partition(":")
            head += ":" + more
        if not colon or self._words.isdisjoint(tokens(head)):
            return 0.0
        return self.share(speaker(line))
