"""What the person said to proposals, as the decisions that are carried out. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation.model import Decision
from tars_memory.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tars_memory.curation.model import Proposal, Related


def accepted(
    proposal: Proposal,
    lines: Mapping[str, Related],
    waiting: Mapping[str, Proposal] | None = None,
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
        waiting: the proposals that wait by the names of their candidates' lines.
        text: other words; None for its own.
        both: the line that it would replace, or the fact that it would end, stays.
        as_line: it becomes a line of ``Memory.md`` and no fact.
        replaces: the names of lines to be replaced.

    Raises:
        UsageError: it is no fact, nothing that replaces lines, or a question that takes no words.
        ConflictError: a line is not there (any more).
    """
    waiting, chosen = waiting or {}, tuple(dict.fromkeys(replaces))
    gone = [name for name in chosen if name not in lines and name not in waiting]
    if gone:
        raise ConflictError(
            f"no line {', '.join(gone)} waits or stands in the tier notes (any more)", "tars-memory review --list"
        )
    instead = {waiting[name].id: waiting[name] for name in chosen if name not in lines}
    if proposal.id in instead:
        raise UsageError(f"{proposal.id} can't replace itself", "name another line")
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
    taken = tuple(lines[name] for name in chosen if name in lines)
    return Decision(proposal, accept=True, text=text, replaces=taken, instead=tuple(instead.values()))


def resolved(decisions: Sequence[Decision]) -> list[Decision]:
    """Decisions that can be carried out together: what one of them takes the place of is not decided by itself.

    It hands on what it was to replace. What is rejected by name stays rejected.

    Raises:
        UsageError: two are to replace each other.
    """
    found = list(decisions)
    rejected = {each.proposal.id for each in found if not each.accept}
    while over := next((x for x in found for y in found if x.accept and y.accept and x.proposal in y.instead), None):
        after = next(each for each in found if over.proposal in each.instead)
        if after.proposal in over.instead:
            raise UsageError(f"{over.proposal.id} and {after.proposal.id} replace each other", "choose one of them")
        replaces = tuple(dict.fromkeys((*after.replaces, *over.replaces)))
        instead = tuple(dict.fromkeys((*after.instead, *over.instead)))
        found[found.index(after)] = after._replace(replaces=replaces, instead=instead)
        found.remove(over)
    return [each._replace(instead=tuple(one for one in each.instead if one.id not in rejected)) for each in found]


def beside(proposal: Proposal) -> Proposal:
    """The proposal as a line of its own, that it would replace or end staying as it is."""
    if proposal.op == "fact":
        return proposal._replace(op="append", fact=None)
    return proposal._replace(op="append", replaces="") if proposal.op == "replace" else proposal
