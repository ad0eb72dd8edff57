"""What a line is worth beside its words: its tier, its age, whether it still holds. Pure.

Sizes of a tie-break: of two equal lines the better one comes first, and no answer gives way to a worse one for being
older. The questions of the measured sets ask about years long past and have one tier each, so these can't be fitted;
they are kept below what one word of a query makes.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.recall.ranking.dates import NamedDate
    from tars_memory.vault.model import Line as LineRow

TIER_WORTH = {"semantic": 0.02, "procedural": 0.02}
"""What the person approved stands before the day on which it was said. Other tiers: nothing."""
RECENCY_WORTH = 0.015
"""Of a daily or episodic note of today; less than a tier."""
HALF_LIFE = {"daily": 30.0, "episodic": 180.0}
"""Days in which that halves. The permanent tiers and other notes don't age."""
OVER = -0.10
"""Of a candidate that nobody took up in time, and of a fact that has ended: below its like, still found."""
BOILERPLATE = -0.15
"""Of a line that many notes share word for word: below what one of them says itself."""
REFUSED = -10.0
"""Of a candidate that was rejected: below everything else."""


def tier_worth(tier: str) -> float:
    """Of a note's tier."""
    return TIER_WORTH.get(tier, 0.0)


def recency(tier: str, day: str | None, today: date | None) -> float:
    """Of the day of a note in a tier that ages; nothing if it has none, or if today is unknown."""
    half_life = HALF_LIFE.get(tier)
    if half_life is None or day is None or today is None:
        return 0.0
    try:
        age = (today - date.fromisoformat(day)).days
    except ValueError:
        return 0.0
    return float(RECENCY_WORTH * 0.5 ** (max(age, 0) / half_life))


def validity(line: LineRow, today: date | None, named: Iterable[NamedDate] = ()) -> float:
    """Of a line that was rejected, has expired, or states a fact that has ended; else nothing.

    A fact that held on a day which the question names is as good as any.
    """
    if line.state in ("rejected", "expired"):
        return REFUSED if line.state == "rejected" else OVER
    if not line.until or today is None or line.until > today.isoformat():
        return 0.0
    return 0.0 if any(stretch.start.isoformat() < line.until for stretch in named) else OVER
