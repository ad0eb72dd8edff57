"""Who may have which decision carried out, and on which notes; asked before anything is looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.curation.model import OP_KINDS
from tars_memory.errors import UsageError
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.model import Decision, Mark, Proposal
    from tars_memory.vault.layout import Layout


def check(ctx: Caller, decisions: Sequence[Decision], *, by_tick: bool) -> None:
    """Whether all this may be done by whoever asks.

    Raises:
        UsageError: it may not; nothing was done.
    """
    by_tick = by_tick and ctx.may_tick
    ids = [decision.proposal.id for decision in decisions]
    if len(set(ids)) < len(ids):
        raise UsageError("two decisions about one proposal", "name each once")
    for decision in decisions:
        if decision.accept:
            paths = {decision.proposal.target, *(line.path for line in decision.replaces)}
            _check_accepted(ctx, decision.proposal, paths, by_tick=by_tick)


def refused(layout: Layout, proposal: Proposal) -> str:
    """Why a proposal can't be accepted by anybody; empty if it can."""
    tier = layout.tier_of(proposal.target)
    if proposal.op not in OP_KINDS or (proposal.op == "fact") != (proposal.fact is not None):
        return f"nothing is known that is called {proposal.op[:40]!r}"
    if proposal.op == "add_section":
        try:
            heading(proposal.section)
        except UsageError:
            return "it names no heading"
    ours = tier is not Tier.NOTE or proposal.target in (layout.corrections, layout.rewards)
    return "" if ours and proposal.target[-3:] == ".md" else f"it would change {proposal.target}, which is yours alone"


def _check_accepted(ctx: Caller, proposal: Proposal, paths: Collection[str], *, by_tick: bool) -> None:
    why = refused(ctx.layout, proposal)
    if why:
        raise UsageError(f"{proposal.id} can't be accepted: {why}", "reject it, or edit the note")
    rule = any(ctx.layout.tier_of(path) is Tier.PROCEDURAL for path in paths)
    missing = [] if by_tick or ctx.may_accept else ["unattended_review"]
    if rule and not (by_tick or ctx.may_write_rules):
        missing.append("unattended_rules")
    if missing:
        what = f"{proposal.id} is a rule: accepting it" if rule else f"accepting {proposal.id}"
        allow = "allows" if len(missing) == 1 else "together allow"
        raise UsageError(
            f"{what} takes a person at a terminal, or a tick in Review.md",
            f"run tars-memory review at a terminal; {' and '.join(missing)} under [permissions] {allow} it to scripts",
        )


def is_candidate(ctx: Caller, mark: Mark) -> bool:
    """Whether it is in a note that candidates stand in; a proposal of the inbox may name any, and is not obeyed.

    Args:
        ctx: the command's view of the vault.
        mark: of a proposal.
    """
    layout = ctx.layout
    ours = layout.tier_of(mark.path) is Tier.DAILY or mark.path in (layout.corrections, layout.rewards)
    return ours and ".." not in mark.path and re.fullmatch(r"[A-Za-z0-9-]{0,100}", mark.block_id) is not None
