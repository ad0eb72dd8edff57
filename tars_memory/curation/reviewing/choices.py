"""Decisions that go together: a line is replaced once, and one that is to stay is not replaced at all. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.curation.model import Decision, Proposal


def kept_beside(proposal: Proposal) -> Proposal:
    """The proposal as a line of its own, that it would replace or end staying as it is."""
    if proposal.op == "fact":
        return proposal._replace(op="append", fact=None)
    return proposal._replace(op="append", replaces="") if proposal.op == "replace" else proposal


def as_line(proposal: Proposal) -> Proposal:
    """A fact as a line of ``Memory.md``.

    Raises:
        UsageError: it is no fact.
    """
    if proposal.fact is None:
        raise UsageError(f"{proposal.id} is no fact", "only a fact can be kept as a line instead: --accept")
    target, section, text = proposal.fact.instead
    return proposal._replace(op="append", target=target, section=section, text=text, fact=None)


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
