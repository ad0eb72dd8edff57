"""Which note is the daily note of a day: the one in its place, else the archived one, else the one to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.vault.vault import Vault


def daily_of(vault: Vault, day: date, *, scope: str | None = None) -> str:
    """The path of the daily note of a day, relative to the vault.

    A day has one note: what is written into a day that was archived goes into the archived note, so that a link to the
    day leads to all of it.

    Args:
        vault: to look into.
        day: in the local zone.
        scope: the project; empty for none, None for the one that the vault is opened for.

    Returns:
        The one in its place if there is none, or if it can't be told: whoever reads or writes it will say so.

    Raises:
        UsageError: the vault's daily note format can't be used.
    """
    path = vault.layout.daily_path(day, scope=scope)
    archived = vault.layout.archived(path)
    try:
        if vault.look(path) is None and vault.layout.day_of(archived) == day and vault.look(archived) is not None:
            return archived
    except OSError:
        return path
    return path
