"""Giving a note another path, so that no moment and no kill leaves the vault without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import TarsError
from tars_memory.vault.folder import digest

if TYPE_CHECKING:
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.transaction import Transaction


def move(transaction: Transaction, vault: Vault, path: str, to: str) -> bool:
    """Make the note under its new path, with the same bytes, mode and time of modification; then remove the old one.

    Two writes of one transaction, which an undo takes back together. A kill in between leaves both notes; the same
    move again then removes the old one.

    Args:
        transaction: in which to do it.
        vault: that holds the note.
        path: where it is.
        to: where it shall be, in the vault too.

    Returns:
        False, and both paths are as they were: the note is gone or changed meanwhile, or another text stands at ``to``.

    Raises:
        UnwritableError: it can't be made there, or not be removed here; both paths are as they were.
    """
    found, data = vault.look(path), transaction.read(path)
    if found is None or data is None:
        return False
    dress = (found.st_mode & 0o7777, found.st_mtime_ns)
    written = transaction.write(to, lambda _: (), create=data, restore=True, dress=dress)
    if written.text != data:
        return False
    moved = False
    try:
        moved = transaction.remove(path, digest(data)) is not None
    except TarsError:
        # Another process may have taken the note away after all; then the copy is the only one.
        if written.created and vault.look(path) is not None:
            transaction.remove(to, digest(data))
        raise
    if not moved and written.created:
        transaction.remove(to, digest(data))
    return moved
