"""Decisions that go together: a line is replaced once, and one that is to stay is not replaced at all. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.curation.model import Decision, Proposal


def kept_beside(proposal: Proposal) -> Proposal:
    """The proposal as a line of its own, that it would replace staying as it is."""
    return proposal._replace(op="append", replaces="") if proposal.op == "replace" else proposal


def one_each(chosen: Sequence[Decision]) -> list[Decision]:
    """The decisions such that each line is replaced once: what else was to replace it stands beside."""
    replaced: set[tuple[str, str]] = set()
    ready = []
    for decision in chosen:
        proposal = decision.proposal
        if decision.accept and proposal.op == "replace":
            line = (proposal.target, proposal.replaces)
            if line in replaced:
                decision = decision._replace(proposal=kept_beside(proposal))
            replaced.add(line)
        ready.append(decision)
    return ready
