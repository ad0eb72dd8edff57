"""``tidy --compress``: old sessions go to ``archive/``, and a summary of each month or year stands in their place.

First a proposal: which sessions, and every word of each summary. What a person then applies is one transaction that
stands whole: the sessions moved, not a byte of them changed, and the summaries written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.tidying import digest, proposed
from tars_memory.curation.tidying.aged import SessionMove, Survey, survey
from tars_memory.errors import ConflictError, UsageError
from tars_memory.settings import ReviewOptions, TidyOptions
from tars_memory.vault.writing.transaction import move

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.models.llm import LanguageModel, Prompt
    from tars_memory.curation.tidying.proposed import Proposed
    from tars_memory.settings import Settings
    from tars_memory.vault.model import Splice
    from tars_memory.vault.writing.store import Plan, Transaction

NOT_ALLOWED = "moving sessions takes a person at a terminal"
ALLOW = "run it there, or set unattended_compress = true under [permissions] in your own configuration"


class Compressed(NamedTuple):
    """What ``tidy --compress`` proposes, or did.

    Attributes:
        plan: a step for each session that is old, oldest first; those that grew in the archive among them.
        summaries: one for each period.
        txn: the transaction that ``undo`` takes; None if nothing was written.
        moved: paths of the sessions that were moved.
        notices: what the person should know.
    """

    plan: list[SessionMove]
    summaries: list[Proposed]
    txn: str | None
    moved: list[str]
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "txn": self.txn,
            "plan": [step.as_dict() for step in self.plan],
            "summaries": [each.as_dict() for each in self.summaries],
            "moved": self.moved,
            "notices": self.notices,
        }


class Terms(NamedTuple):
    """On what terms sessions are compressed.

    Attributes:
        by: ``month`` or ``year``.
        before: sessions before this day; None for those whose period ended more than ``days`` ago.
        days: see ``before``.
        window_days: how long an undecided candidate is offered, and so keeps its session.
        lines: statements that a summary holds at most.
    """

    by: str = TidyOptions.session_period
    before: date | None = None
    days: int = TidyOptions.session_days
    window_days: int = ReviewOptions.window_days
    lines: int = TidyOptions.summary_lines

    @classmethod
    def of(cls, settings: Settings, by: str | None, before: date | None) -> Terms:
        """What is said, else what is set."""
        options = settings.options("tidy", TidyOptions)
        window_days = settings.options("review", ReviewOptions).window_days
        return cls(by or options.session_period, before, options.session_days, window_days, options.summary_lines)


def compress(
    ctx: Caller, terms: Terms, *, model: LanguageModel | None = None, apply: bool = False, allowed: bool = False
) -> Compressed:
    """Plan which sessions go to the archive, and what is to stand in their place; with ``apply`` do it.

    Args:
        ctx: the command's view of the vault.
        terms: which sessions.
        model: whom to ask for the summaries' words; None takes them from the sessions. Applied is what it said when
            it was last asked about the same statements, so that what is written is what was shown.
        apply: write, in one transaction that stands whole.
        allowed: whether whoever asks may apply it.

    Raises:
        UsageError: it may not be applied, there is no such period, or the vault's daily note format can't be used.
        ConflictError: a note changed meanwhile; nothing was written.
        ModelUnavailableError: the model does not answer, or unusably; nothing was written.
        UnwritableError: a note can't be written; nothing was.
    """
    if terms.by not in digest.BY:
        raise UsageError(f"sessions can't be grouped by {terms.by!r}", f"it is one of {', '.join(digest.BY)}")
    if apply and not allowed:
        raise UsageError(NOT_ALLOWED, ALLOW)
    if ctx.layout.problem:
        raise ctx.layout.problem
    if apply and not ctx.store.dry_run and ctx.store.pending():
        ctx.store.recover()  # what a killed run left must not be taken for the vault
    seen = survey(ctx, terms)
    summaries = proposed.propose(ctx, seen, terms.lines, model, reuse=apply)
    if not apply or not (summaries or ctx.store.pending()):
        return Compressed(seen.steps, summaries, None, [], ctx.notices)
    with ctx.writing("tidy", None, whole=True) as transaction:
        now = survey(ctx, terms, last=seen)
        if now != seen and all(step.action == "keep" for step in now.steps):
            return Compressed(now.steps, [], None, [], ctx.notices)  # another process did it meanwhile
        if now != seen:
            raise ConflictError("sessions changed while they were summed up", "run it again; nothing was written")
        moved = _moved(ctx, transaction, seen)
        for each in summaries:
            transaction.write(each.path, _plan(each))
        txn = transaction.id if transaction.written and not ctx.store.dry_run else None
    if txn:
        proposed.forget_answers(ctx.store.state)
    return Compressed(seen.steps, summaries, txn, moved if txn else [], ctx.notices)


def prompts(ctx: Caller, terms: Terms) -> list[Prompt]:
    """What a model would be asked, period by period; nothing is sent."""
    return proposed.prompts(ctx, survey(ctx, terms))


def _moved(ctx: Caller, transaction: Transaction, seen: Survey) -> list[str]:
    """Move what is to move; one note that is no longer what was summed up stops it all."""
    moved = []
    for step in seen.steps:
        if step.action != "move":
            continue
        if transaction.read(step.path) != seen.notes[step.path].data or not move(
            transaction, ctx.vault, step.path, step.to
        ):
            raise ConflictError(f"{step.path} changed while it was moved", "run it again; nothing was written")
        moved.append(step.path)
    return moved


def _plan(each: Proposed) -> Plan:
    """The write of a summary; an existing one must still be what the additions were made for."""

    def plan(data: bytes | None) -> Sequence[Splice]:
        if (data or b"") != each.base:
            raise ConflictError(f"{each.path} changed meanwhile", "run it again; nothing was written")
        return each.splices

    return plan
