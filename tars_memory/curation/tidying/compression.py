"""``tidy --compress``: old sessions go to ``archive/``, and a summary of each month or year stands in their place.

First a proposal: which sessions, and every word of each summary, which is theirs. What a person then applies is one
transaction that stands whole: the sessions moved, not a byte of them changed, and the summaries written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tars_memory.curation.tidying.aged import (
    BY,
    Aged,
    Merged,
    SessionMove,
    Survey,
    merged,
    summary_line,
    survey,
    weightiest,
)
from tars_memory.errors import ConflictError, UsageError
from tars_memory.settings import ReviewOptions, Settings, TidyOptions
from tars_memory.vault import summaries as notes
from tars_memory.vault.links import Links
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.entries import visible
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from tars_memory.capture.caller import Caller
    from tars_memory.vault.writing.store import Plan, WriteSession


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


class CompressionTerms(NamedTuple):
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
    def of(cls, settings: Settings, by: str | None, before: date | None) -> CompressionTerms:
        """What is said, else what is set."""
        options = settings.tidy
        window_days = settings.review.window_days
        return cls(by or options.session_period, before, options.session_days, window_days, options.summary_lines)


def compress(ctx: Caller, terms: CompressionTerms, *, apply: bool = False, allowed: bool = False) -> Compressed:
    """Plan which sessions go to the archive, and what is to stand in their place; with ``apply`` do it.

    Args:
        ctx: the command's view of the vault.
        terms: which sessions.
        apply: write, in one transaction that stands whole.
        allowed: whether whoever asks may apply it.

    Raises:
        UsageError: it may not be applied, there is no such period, or the vault's daily note format can't be used.
        ConflictError: a note changed meanwhile; nothing was written.
        UnwritableError: a note can't be written; nothing was.
    """
    if terms.by not in BY:
        raise UsageError(f"sessions can't be grouped by {terms.by!r}", f"it is one of {', '.join(BY)}")
    if apply and not allowed:
        raise UsageError(NOT_ALLOWED, ALLOW)
    if ctx.layout.problem:
        raise ctx.layout.problem
    if apply and not ctx.store.dry_run and ctx.store.pending():
        ctx.store.recover()  # what a killed run left must not be taken for the vault
    seen = survey(ctx, terms)
    summaries = propose(ctx, seen, terms.lines)
    if not apply or not (summaries or ctx.store.pending()):
        return Compressed(seen.steps, summaries, None, [], ctx.notices)
    with ctx.writing("tidy", None, atomic=True) as session:
        now = survey(ctx, terms, last=seen)
        if now != seen and all(step.action == "keep" for step in now.steps):
            return Compressed(now.steps, [], None, [], ctx.notices)  # another process did it meanwhile
        if now != seen:
            raise ConflictError("sessions changed while they were summed up", "run it again; nothing was written")
        moved = _moved(session, seen)
        for each in summaries:
            session.write(each.path, _plan(each))
        txn = session.txn
    return Compressed(seen.steps, summaries, txn, moved if txn else [], ctx.notices)


def _moved(session: WriteSession, seen: Survey) -> list[str]:
    """Move what is to move; one note that is no longer what was summed up stops it all."""
    moved = []
    for step in seen.steps:
        if step.action != "move":
            continue
        if session.read(step.path) != seen.notes[step.path].data or not session.move(step.path, step.to):
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


RULES = "rules"
"""Who sums up, as the note says it; older ones may name a model."""


class Proposed(NamedTuple):
    """The summary of one period, new or added to.

    Attributes:
        period: ``2025-03`` or ``2025``.
        path: of the note.
        sessions: how many go into it.
        statements: how many it is given.
        left_out: statements that found no room; they stand in the originals.
        passed_over: bullets that were rejected in review, are done, too long, or hold a credential.
        base: the note as it is; empty for a new one.
        splices: what to change in it.
    """

    period: str
    path: str
    sessions: int
    statements: int
    left_out: int
    passed_over: int
    base: bytes
    splices: tuple[Splice, ...]

    @property
    def text(self) -> str:
        """The words that the note is to hold, or that are added to it."""
        if not self.base:
            return apply(b"", list(self.splices)).decode("utf-8", "replace")
        return "".join(splice.data.decode("utf-8", "replace") for splice in self.splices)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "period": self.period,
            "path": self.path,
            "action": "add" if self.base else "make",
            "sessions": self.sessions,
            "statements": self.statements,
            "left_out": self.left_out,
            "passed_over": self.passed_over,
            "text": self.text,
        }


class _Group(NamedTuple):
    """The sessions of one summary, and what they say that it does not hold yet."""

    period: str
    path: str
    sessions: list[Aged]
    said: list[Merged]
    passed_over: int
    held: notes.HeldSummary | None
    base: bytes


def propose(ctx: Caller, seen: Survey, lines: int) -> list[Proposed]:
    """The summaries of what was found, oldest period first.

    Args:
        ctx: the command's view of the vault.
        seen: the sessions.
        lines: statements that a summary holds at most.

    Raises:
        ConflictError: a summary that is there takes nothing more.
    """
    groups = _groups(ctx, seen)
    link = _linker(seen) if groups else None
    return [_proposed(group, lines, link) for group in groups if link is not None]


def _groups(ctx: Caller, seen: Survey) -> list[_Group]:
    by_path: dict[str, list[Aged]] = {}
    for step in seen.steps:
        if step.action != "keep":
            each = seen.notes[step.path]
            by_path.setdefault(each.summary, []).append(each)
    groups = []
    for path, sessions in by_path.items():
        base = ctx.vault.read(path) if path in seen.files else b""
        held = notes.read(base) if base else None
        told = [
            one
            for each in sessions
            for one in each.told.statements
            if not each.since or not one.turn or one.turn > each.since
        ]
        said = [each for each in merged(told) if held is None or each.first.text not in held.texts]
        passed_over = sum(each.told.left_out for each in sessions)
        groups.append(_Group(sessions[0].period, path, sessions, said, passed_over, held, base))
    return sorted(groups, key=lambda group: (group.period, group.path))


def _proposed(group: _Group, limit: int, link: Callable[[str], str]) -> Proposed:
    chosen, left_out = weightiest(group.said, max(0, limit - (len(group.held.texts) if group.held else 0)))
    sources = tuple(
        notes.SummarySource(each.day.isoformat(), link(each.path), notes.number_in(each.data, "turns"))
        for each in group.sessions
    )
    day = max(each.day for each in group.sessions).isoformat()
    lines = tuple(summary_line(each.all, link) for each in chosen)
    summary = notes.Summary(group.period, day, RULES, lines, sources, left_out)
    try:
        splices = notes.add(group.base, summary) if group.base else [Splice(0, 0, notes.render(summary))]
    except ConflictError as error:
        raise ConflictError(f"{group.path} takes nothing more: {error.message}", error.hint) from error
    return Proposed(
        group.period,
        group.path,
        len(group.sessions),
        len(lines),
        left_out,
        group.passed_over,
        group.base,
        tuple(splices),
    )


def _linker(seen: Survey) -> Callable[[str], str]:
    """From a session's path to the link that leads to it in the archive."""
    to = {step.path: step.to for step in seen.steps if step.action != "keep"}
    links = Links({to.get(path, path) for path in seen.files})

    def link(path: str) -> str:
        place = to[path]
        name = links.name_of(place)
        if any(sign in name for sign in "#^[]|") or name.strip() != name or not name.isprintable():
            label = visible(name.rpartition("/")[2].translate(_NO_BRACKETS))
            return f"[{label}]({quote(place, errors='surrogateescape')})"
        return f"[[{name}]]"

    return link


_NO_BRACKETS = {ord("["): "(", ord("]"): ")"}
