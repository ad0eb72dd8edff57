"""What the person said to a proposal, as the decision that is carried out. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation.model import Decision
from tars_memory.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tars_memory.curation.model import Proposal, Related


def accepted(
    proposal: Proposal,
    lines: Mapping[str, Related],
    *,
    text: str | None = None,
    both: bool = False,
    as_line: bool = False,
    replaces: Iterable[str] = (),
) -> Decision:
    """The decision to accept a proposal.

    Args:
        proposal: as it was shown.
        lines: the entries of the tier notes by their names.
        text: other words; None for its own.
        both: the line that it would replace, or the fact that it would end, stays.
        as_line: it becomes a line of ``Memory.md`` and no fact.
        replaces: the names of lines to be replaced.

    Raises:
        UsageError: it is no fact, nothing that replaces lines, or a question that takes no words.
        ConflictError: a line is not there (any more).
    """
    chosen = tuple(dict.fromkeys(replaces))
    gone = [name for name in chosen if name not in lines]
    if gone:
        raise ConflictError(
            f"no line {', '.join(gone)} stands in the tier notes (any more)", "tars-memory review --list"
        )
    if chosen and (both or not proposal.adds):
        why = "keeping both replaces no line" if both else f"{proposal.id} names its line itself"
        raise UsageError(why, "leave out which lines it replaces")
    if text is not None and proposal.op == "choose":
        raise UsageError(f"{proposal.id} asks which line holds, and takes no other words", "choose the line that goes")
    if as_line:
        if proposal.fact is None:
            raise UsageError(f"{proposal.id} is no fact", "only a fact can be kept as a line instead: --accept")
        target, section, words = proposal.fact.instead
        proposal = proposal._replace(op="append", target=target, section=section, text=words, fact=None)
    elif both:
        proposal = beside(proposal)
    return Decision(proposal, accept=True, text=text, replaces=tuple(lines[name] for name in chosen))


def beside(proposal: Proposal) -> Proposal:
    """The proposal as a line of its own, that it would replace or end staying as it is."""
    if proposal.op == "fact":
        return proposal._replace(op="append", fact=None)
    return proposal._replace(op="append", replaces="") if proposal.op == "replace" else proposal
