"""Who may have which decision carried out, and on which notes; asked before anything is looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.curation.model import OP_KINDS
from tars_memory.errors import UsageError
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.context import Context
    from tars_memory.curation.model import Decision, Mark


def check(ctx: Context, decisions: Sequence[Decision], *, by_tick: bool) -> None:
    """Whether all this may be done by whoever asks.

    Raises:
        UsageError: it may not; nothing was done.
    """
    layout = ctx.layout
    ids = [decision.proposal.id for decision in decisions]
    if len(set(ids)) < len(ids):
        raise UsageError("two decisions about one proposal", "name each once")
    for decision in decisions:
        proposal = decision.proposal
        if not decision.accept:
            continue
        tier = layout.tier_of(proposal.target)
        ours = tier is not Tier.NOTE or proposal.target in (layout.corrections, layout.rewards)
        odd = proposal.op not in OP_KINDS or (proposal.op == "fact") != (proposal.fact is not None)
        if not ours or odd or proposal.target[-3:] != ".md":
            raise UsageError(
                f"{proposal.id} would change {proposal.target}, which is yours alone", "reject it, or edit the note"
            )
        if tier is Tier.PROCEDURAL and not (by_tick or ctx.may_write_rules):
            raise UsageError(
                f"{proposal.id} is a rule: only a person at a terminal, or a tick in Review.md, accepts it",
                "run tars-memory review at a terminal",
            )
        if not (by_tick or ctx.may_accept):
            raise UsageError(
                f"accepting {proposal.id} takes a person at a terminal, or a tick in Review.md",
                "run tars-memory review at a terminal; unattended_review under [permissions] allows it to scripts",
            )


def is_candidate(ctx: Context, mark: Mark) -> bool:
    """Whether it is in a note that candidates stand in; a proposal of the inbox may name any, and is not obeyed.

    Args:
        ctx: the command's view of the vault.
        mark: of a proposal.
    """
    layout = ctx.layout
    ours = layout.tier_of(mark.path) is Tier.DAILY or mark.path in (layout.corrections, layout.rewards)
    return ours and ".." not in mark.path and re.fullmatch(r"[A-Za-z0-9-]{0,100}", mark.block_id) is not None
