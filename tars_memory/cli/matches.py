"""Which line of a hit to print in a pipe: the one that answers best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.index.words import fold
from tars_memory.recall.lexical import Terms

if TYPE_CHECKING:
    from tars_memory.recall.model import Hit, SearchResult


class BestLine:
    """Chooses the line of each hit of one answer."""

    def __init__(self, result: SearchResult) -> None:
        self._terms = Terms(result.parsed)

    def of(self, hit: Hit) -> tuple[int, str]:
        """The line with most of the query's terms, the first such; else the first line with text.

        Returns:
            Its 1-based number in the note and its text, trimmed.
        """
        lines = [(hit.start_line + i, line.strip()) for i, line in enumerate(hit.text.split("\n"))]
        lines = [each for each in lines if each[1]] or lines[:1]
        return max(lines, key=lambda each: len(self._terms.count(fold(each[1])))) if len(lines) > 1 else lines[0]
