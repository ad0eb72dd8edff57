"""``undo``: take writes back; those to a rule only for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import UsageError
from tars_memory.vault.model import Tier
from tars_memory.vault.writing.history import find_transactions, of_scope

if TYPE_CHECKING:
    from tars_memory.capture.context import Context
    from tars_memory.vault.writing.store import Written


def undo(ctx: Context, txn: str | None = None, *, last: int = 1) -> list[Written]:
    """Take back the last transactions, or the one named.

    What waits in the spool is left there: the last thing done must stay the last.

    Raises:
        UsageError: it would change a rule, and no person sits at a terminal; or it was written for another project.
        NotFoundError: there is nothing to undo.
        ConflictError: a note has moved on too far.
    """
    for name, group in find_transactions(ctx.store.journal, txn, last):
        if len([*of_scope(iter(group), ctx.layout)]) < len(group):
            raise UsageError(
                f"{name} was written for another project, or for none",
                "choose that one with --project, or none; tars-memory history lists what was written here",
            )
    if not ctx.may_write_rules:
        for name, group in find_transactions(ctx.store.journal, txn, last):
            rules = [entry.file for entry in group if ctx.layout.tier_of(entry.file) is Tier.PROCEDURAL]
            if rules:
                raise UsageError(
                    f"undoing {name} would change {rules[0]}, which only a person at a terminal may",
                    f"run it at a terminal: tars-memory undo {name}",
                )
    return ctx.store.undo(txn, last=last)
