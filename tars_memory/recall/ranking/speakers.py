"""Whether the question names who says a line. Pure."""

from __future__ import annotations

from tars_memory.index.fulltext import tokens


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
