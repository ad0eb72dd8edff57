"""Names of transactions: nine signs that sort by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: sorts like the numbers, and no two digits look alike."""

LENGTH = 9
"""Milliseconds since 1970 in so many digits last until the year 3084."""


def next_txn(now: datetime, last: str | None) -> str:
    """The name of a transaction that begins now: always after the last one, whatever the clock says.

    Args:
        now: an aware time.
        last: the name of the newest transaction in the journal.
    """
    number = int(now.timestamp() * 1000)
    if last:
        number = max(number, _number(last) + 1)
    digits = ""
    for _ in range(LENGTH):
        number, digit = divmod(number, 32)
        digits = DIGITS[digit] + digits
    return digits


def time_of(txn: str) -> datetime:
    """When a transaction began, or a little later if the clock had gone back."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(_number(txn) / 1000, UTC)


def _number(txn: str) -> int:
    number = 0
    for digit in txn:
        number = number * 32 + max(DIGITS.find(digit), 0)
    return number
