"""Obsidian's excluded files (``userIgnoreFilters``): what the person does not want to see in searches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 200
"""Characters of a filter; it comes with the vault, perhaps from elsewhere."""

_COSTLY = r"\)[*+{]|(?:[*+{].*){3}"
"""A repeated group, or three repetitions: such a pattern may take for ever on a path made for it."""

_CHOICES = 256
"""Ways through a pattern's choices, at most: groups that follow each other multiply theirs."""


class Excluded:
    """Which paths are excluded.

    Args:
        filters: as Obsidian keeps them: the beginning of a path, or a regular expression between slashes.

    Attributes:
        not_understood: filters that are left alone.
    """

    def __init__(self, filters: Iterable[Any] = ()) -> None:
        beginnings: list[str] = []
        self._patterns: list[re.Pattern[str]] = []
        self.not_understood: list[str] = []
        for text in filters:
            if not isinstance(text, str) or not text.strip():
                continue
            if len(text) > 2 and text.startswith("/") and text.endswith("/"):
                pattern = _compiled(text[1:-1])
                if pattern is None:
                    self.not_understood.append(text)
                else:
                    self._patterns.append(pattern)
            else:
                beginnings.append(text.lstrip("/").lower())
        self._beginnings = tuple(beginnings)

    def __contains__(self, path: str) -> bool:
        return path.lower().startswith(self._beginnings) or any(p.search(path) for p in self._patterns)

    def __str__(self) -> str:
        return f"{self._beginnings} {[pattern.pattern for pattern in self._patterns]}"


def _compiled(text: str) -> re.Pattern[str] | None:
    if len(text) > LONGEST or re.search(_COSTLY, text) or _choices(text) > _CHOICES:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError):
        return None


def _choices(text: str) -> int:
    """In how many ways its choices (``|`` of each group, ``?``) can be made together, counted too high if in doubt."""
    plain = re.sub(r"\\.|(?<=\()\?", "", text)
    ways: int = 2 ** plain.count("?")
    for group in re.split(r"[()]", plain):
        ways *= 1 + group.count("|")
    return ways
