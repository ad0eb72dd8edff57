"""The inbox: proposals that wait for a person, one JSON file each in ``.tars/inbox``, which Obsidian does not show."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from tars_memory.settings import VAULT_FOLDER
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tars_memory.vault.store import Transaction

INBOX = f"{VAULT_FOLDER}/inbox"

FIELDS = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts")
"""Of a proposal, in the order in which ``review --list --json`` shows them."""


def propose(
    transaction: Transaction,
    *,
    op: str,
    target: str,
    section: str,
    text: str,
    source: str,
    when: datetime,
    why: str,
    quote: str = "",
) -> dict[str, Any]:
    """Keep a change for a person to decide; the same one proposed again is kept once.

    Args:
        transaction: in which to write it.
        op: ``append``, ``replace`` or ``remove``.
        target: path of the note, relative to the vault.
        section: heading under which it belongs; for the others the one where the entry stands.
        text: the words of the new bullet; empty for a removal.
        source: who proposes it.
        when: the day that it is of.
        why: one sentence for the person who decides.
        quote: the entry to replace or remove, as it stands in the note.

    Returns:
        The proposal: :data:`FIELDS`.
    """
    digest = hashlib.sha256("\0".join((op, target, section, text, quote)).encode("utf-8", "surrogateescape"))
    values: list[Any] = [digest.hexdigest()[:8], op, target, section, text, quote, source, when.date().isoformat(), why]
    proposal = dict(zip(FIELDS, [*values, []], strict=True))
    data = (json.dumps(proposal, indent=2) + "\n").encode("ascii")

    def plan(found: bytes | None) -> Sequence[Splice]:
        return [] if found else [Splice(0, 0, data)]

    transaction.write(f"{INBOX}/{proposal['id']}.json", plan)
    return proposal


def kept_for_review(proposal: dict[str, Any]) -> str:
    """The notice that tells of a proposal."""
    return f"a rule needs a person: proposal {proposal['id']} waits in {INBOX}, {proposal['target']} is unchanged"
