"""When candidates arrived: what was said years ago waits for a decision from the day on which it was extracted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.vault.writing import history
from tars_memory.vault.writing.txn import time_of

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.vault.writing.journal import Journal

COMMAND = "extract"
"""What writes candidates."""

_CANDIDATE = re.compile(r"\[extracted\][^\r\n]*\^(d-[0-9a-z]+)")


def arrived(journal: Journal, since: date) -> frozenset[str]:
    """The block ids of the candidates that were extracted on this machine on that day or later.

    Args:
        journal: of the vault; read back as far as the day.
        since: the first day that counts.

    Raises:
        UnwritableError: the journal can't be read.
    """
    found: set[str] = set()
    first = since.isoformat()
    for entry in history.entries(journal):
        said = max(entry.time[:10], time_of(entry.txn).date().isoformat())  # names go on when a clock is set back
        if said < first:
            break
        if entry.command == COMMAND and not entry.undone:
            found.update(_CANDIDATE.findall(entry.after))
    return frozenset(found)
