"""Days and times of day as people write them before a name."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from tars_memory.capture.transcripts.fields import YEARS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from tars_memory.capture.transcripts.text import Label


def month_first(labels: Sequence[Label]) -> bool:
    """Whether days are written month first: some day is no month, else the clock says a.m. and p.m."""
    days = [re.split(r"[./]", label.day) for label in labels if label.day and "/" in label.day]
    if any(int(parts[0]) > 12 for parts in days):
        return False
    if any(int(parts[1]) > 12 for parts in days):
        return True
    return any(label.clock and "m" in label.clock.rstrip("GMTUZC ").lower() for label in labels)


def day_of(text: str, *, american: bool) -> date | None:
    """A day in ISO form or with points or slashes; ``american``: slashed days begin with the month."""
    try:
        if "-" in text:
            found = date.fromisoformat(text)
        else:
            one, two, year = (int(part) for part in re.split(r"[./]", text))
            year += 2000 if year < 100 else 0
            found = date(year, one, two) if american and "/" in text else date(year, two, one)
    except ValueError:
        return None
    return found if found.year in YEARS else None


def day_in(text: str) -> date | None:
    """The first day in ISO form within a text."""
    match = re.search(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", text[:300])
    return day_of(match[0], american=False) if match else None


def time_of_day(text: str) -> time | None:
    """The time of day; a.m. and p.m. are understood, what is shorter than a second is not."""
    hour, minute, second = (*(int(part) for part in re.findall(r"\d+", re.split(r"[.,]\d", text)[0])), 0)[:3]
    if half := re.search(r"(?i)([ap])\.?m", text):
        hour = hour % 12 + (12 if half[1] in "pP" else 0)
    try:
        return time(hour, minute, second)
    except ValueError:
        return None


def local(day: date, clock: time, zone: tzinfo | None = None) -> datetime | None:
    """The instant in the local zone; None beyond the calendar's ends."""
    try:
        return datetime.combine(day, clock, zone).astimezone()
    except (OverflowError, OSError, ValueError):
        return None
