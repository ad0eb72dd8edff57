"""From the parts of a line's score to one score. Pure; every constant is named, with its source.

Chunks rank notes, lines answer: a line takes over how its note and its chunk match and adds how itself does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTE_WORDS = 0.13
CHUNK_WORDS = 0.09
LINE_WORDS = 0.11
LINE_WORDS_BEFORE = 0.07
LINE_MEANING = 0.18
SPEAKER = 0.15
DATE = 0.20
"""Weights of the parts: docs/development/ranking.md, fitted on three public sets together, flat around these values."""

DAYS_AFTER = 7.0
DAYS_BEFORE = 3.0
"""How fast the worth of a named date fades: people write about a day on it or in the week after it."""


def shares(values: Sequence[float]) -> list[float]:
    """Each value as a share of the largest; all zero if none is positive."""
    most = max(values, default=0.0)
    return [value / most if most > 0 else 0.0 for value in values]


def spread(values: Sequence[float]) -> list[float]:
    """Each value by its place between the smallest and the largest; all zero if they are equal."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [(value - least) / (most - least) for value in values] if most > least else [0.0] * len(values)


def date_worth(days: int) -> float:
    """What a note's day is worth that lies so many days after (positive) or before a named date: 1 inside it."""
    return math.exp(-days / DAYS_AFTER) if days >= 0 else math.exp(days / DAYS_BEFORE)


def combined(parts: dict[str, float]) -> float:
    """The score: the sum of the weighted parts."""
    return sum(parts.values())
