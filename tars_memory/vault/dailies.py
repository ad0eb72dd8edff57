"""Which note is the daily note of a day: the one in its place, else the archived one, else the one to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.vault.vault import Vault


def daily_of(vault: Vault, day: date, *, scope: str = "") -> str:
    """The path of the daily note of a day, relative to the vault.

    A day has one note: what is written into a day that was archived goes into the archived note, so that a link to the
    day leads to all of it.

    Args:
        vault: to look into.
        day: in the local zone.
        scope: the project; empty for none.

    Raises:
        UsageError: the vault's daily note format can't be used.
        OSError: it can't be told whether the note is there.
    """
    path = vault.layout.daily_path(day, scope=scope)
    if vault.look(path) is None:
        archived = vault.layout.archived(path)
        if vault.layout.day_of(archived) == day and vault.look(archived) is not None:
            return archived
    return path
