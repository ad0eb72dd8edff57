"""Carries out decisions in one transaction, all of them or none. Only here do proposals become text.

Permissions come first: whether the caller may carry out each decision, on these notes, is checked before any note is
read. Then, under the lock, every line to change is looked up in the notes as they are now. Then each note is changed by
one write: first those that the proposals are about, then those whose candidates are marked (many marks of one note take
few parses, with the same bytes as one after the other), last the inbox. If a note changed in the meantime, or an error
or a kill comes, everything is undone (:meth:`tars_memory.vault.writing.store.Store.transaction`).
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory import capture
from tars_memory.curation.proposals import KINDS, Decision, Mark, Proposal, Related, question_about
from tars_memory.errors import ConflictError, UsageError
from tars_memory.vault import inbox, model, playbooks, vault
from tars_memory.vault.change import Change, locate, reference_to
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED, unbulleted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.note import Note
    from tars_memory.vault.writing.store import Landed, WriteSession


SOURCE = r"[^\[\]|\r\n]{1,400}#\^[A-Za-z0-9-]{1,100}"
"""Pattern of a proposal's source that a line can link to; any other source says who proposes."""

AGAIN = "look again: tars-memory review --list"
"""The hint of a conflict."""


class Decided(NamedTuple):
    """The result of one decision.

    Attributes:
        proposal: that was decided.
        decision: of the person.
        outcome: ``applied``, or ``no-op`` if nothing had to change.
        reason: why it is a ``no-op``; else empty.
        path, line, ref: of the entry as it is now; empty and 0 if no note was to be changed.
    """

    proposal: Proposal
    decision: Literal["accepted", "rejected"]
    outcome: Literal["applied", "no-op"]
    reason: str = ""
    path: str = ""
    line: int = 0
    ref: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("decision", "outcome", "reason", "path", "line", "ref")
        return {"id": self.proposal.id, **{name: getattr(self, name) for name in names}}


class RecordedTick(NamedTuple):
    """A tick that an agent's process found and that has not been applied since.

    Attributes:
        id: of the proposal.
        decision: ``accepted`` or ``rejected``: what applying the tick will do.
        path, line: where the tick is.
        time: when it was first found, ISO 8601.
        is_new: whether this call found it for the first time.
    """

    id: str
    decision: str
    path: str
    line: int
    time: str
    is_new: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {name: getattr(self, name) for name in ("id", "decision", "path", "line", "time")}


class Reviewed(NamedTuple):
    """The results of some decisions.

    Attributes:
        txn: the transaction, for ``undo``; None if nothing was written.
        decided: one result for each decision, in their order.
        notices: sentences for the person.
        left: how many ticks in Review.md could not be applied; the notices name each.
        recorded: ticks that were only recorded, because an agent runs this.
    """

    txn: str | None
    decided: list[Decided]
    notices: list[str]
    left: int = 0
    recorded: tuple[RecordedTick, ...] = ()


def commit(
    ctx: Caller,
    decisions: Sequence[Decision],
    *,
    by_tick: bool = False,
    ticked: str = "",
    also: Callable[[WriteSession], None] | None = None,
) -> Reviewed:
    """Carry out decisions: all of them, or none.

    Args:
        ctx: the command's view of the vault.
        decisions: at most one about each proposal.
        by_tick: they were ticked in a note; unless an agent runs this, a tick counts as the person at a terminal.
        ticked: for ``by_tick``, when an agent's process recorded the first of the ticks; empty if none did.
        also: called last, to write more in the same transaction.

    Raises:
        UsageError: a decision takes a person at a terminal, its target is not ours to change, or its text is empty.
        ConflictError: a note changed since a proposal was made, or the proposal was decided in the meantime.
        UnwritableError: the vault can't be written.
    """
    check(ctx, decisions, by_tick=by_tick)
    if not decisions:
        return Reviewed(None, [], [*ctx.notices])
    tick = {"recorded": ticked} if by_tick else None
    with _as_ticked(ctx, tick), ctx.writing("review", None, atomic=True) as session:
        batch = _Batch(ctx, session, decisions)
        batch.plan()
        batch.write()
        if also is not None:
            also(session)
    return Reviewed(session.txn, [*batch.outcomes()], [*ctx.notices])


def _change_of(decision: Decision, notes_section: str, today: str) -> Change:
    """Return the change that an accepted proposal makes, with the person's words if there are any.

    Args:
        decision: to accept a proposal.
        notes_section: heading for an entry that names no section.
        today: date for a new note.

    Raises:
        UsageError: the words are empty, or don't state a fact where they should.
    """
    proposal = decision.proposal
    text = proposal.text if decision.text is None else decision.text
    source = proposal.source if re.fullmatch(SOURCE, proposal.source) else ""
    author = _author(proposal)
    if proposal.op == "fact":
        ends = None if proposal.fact is None or decision.text is not None else tuple(e.raw for e in proposal.fact.ends)
        change = Change("fact", proposal.section, _fact_words(text), ends=ends, target=proposal.target)
        return change._replace(provenance=source, label=proposal.date, author=author)
    change = Change(
        proposal.op,  # type: ignore[arg-type]  # checked by the gates
        proposal.section or (notes_section if proposal.op == "append" else ""),
        replaces=proposal.replaces,
        occurrence=proposal.occurrence,
        target=proposal.target,
    )
    if proposal.op == "create":
        if decision.text is not None and "\n" not in text.strip():
            # Review.md shows only the title, so the person's words there are a new title.
            text = playbooks.retitled(proposal.text, grammar.heading(text))
        return change._replace(section="", text=text, time=today)
    if not proposal.takes_words:
        return change
    return change._replace(text=_line_words(text, proposal), provenance=source, label=proposal.date, author=author)


def _author(proposal: Proposal) -> str:
    """Return the authors of the candidates that a proposal came from, separated by commas; empty if none is named."""
    found: dict[str, None] = {}
    for mark in proposal.marks:
        if "[by::" in mark.raw:
            line = " ".join(part.strip() for part in mark.raw.split("\n"))
            found |= dict.fromkeys(filter(None, [grammar.parse(unbulleted(line), timed=True).author]))
    return ", ".join(found)[: grammar.MAX_AUTHOR]


class _Work(NamedTuple):
    """The changes of one note: those of decisions, each with the decision's number, then the candidates' marks."""

    changes: list[tuple[int, Change]]
    marks: list[Change]

    @property
    def every(self) -> list[Change]:
        """All changes, in order."""
        return [*(change for _, change in self.changes), *self.marks]


class _Batch:
    """The decisions of one transaction."""

    def __init__(self, ctx: Caller, session: WriteSession, decisions: Sequence[Decision]) -> None:
        self.ctx = ctx
        self.session = session
        self.decisions = decisions
        self.notes: defaultdict[str, _Work] = defaultdict(lambda: _Work([], []))
        self.kept: list[dict[str, Any]] = []
        """Proposals to remove from the inbox."""
        self.read_notes: dict[str, Note] = {}
        self.landed: dict[tuple[str, int], Landed] = {}
        """By note and number of a decision."""
        self.claimed: set[tuple[str, str, int | None]] = set()
        """Lines that a decision replaces."""

    def plan(self) -> None:
        """Collect the changes of each note, and look up every line to change in the notes as they are now.

        Raises:
            ConflictError: a line or a proposal is not there any more.
        """
        waiting = {stored["id"]: stored for stored in inbox.pending(self.ctx.vault)}
        # The latest fact first, so that a fact which holds again later is not taken for a continuation of the earlier.
        for number, decision in sorted(enumerate(self.decisions), key=lambda pair: _since(pair[1]), reverse=True):
            for proposal in (decision.proposal, *decision.instead):
                if proposal.kept and proposal.id not in waiting:
                    raise ConflictError(f"{proposal.id} was decided in the meantime", AGAIN)
                if proposal.kept:
                    self.kept.append(waiting[proposal.id])
            if decision.accept or decision.proposal.op == "choose":
                for change in self._changes(decision) if decision.accept else self._unasked(decision):
                    self.notes[change.target].changes.append((number, change))
        for decision in self.decisions:
            replaced = self._replaced(decision)
            for mark in (mark for mark in decision.marks if is_candidate(self.ctx, mark)):
                state = "promoted" if decision.accept else "rejected"
                self.notes[mark.path].marks.append(mark.change(state, replaced))
                replaced = ()
        for work in self.notes.values():
            self.session.plan(work.every, hint=AGAIN)

    def write(self) -> None:
        """Change the notes, those that proposals are about before those that are only marked; then the inbox."""
        for path, work in sorted(self.notes.items(), key=lambda pair: not pair[1].changes):
            changed = self.session.change(work.every, hint=AGAIN)
            self.landed |= {(path, number): landed for (number, _), landed in zip(work.changes, changed, strict=False)}
        for stored in self.kept:
            inbox.drop(self.session, stored)
        for word in ("accepted", "rejected", "ignored"):
            proposals = [decision.proposal for decision in self.decisions if _word(decision) == word]
            if word == "ignored":
                proposals += [proposal for decision in self.decisions for proposal in decision.instead]
            decided = [(proposal.id, proposal.text or proposal.quote) for proposal in proposals]
            decided += self._answered() if word == "ignored" else []
            inbox.decide(self.session, decided, word, self.ctx.now.date(), project=self.ctx.layout.scope)

    def _answered(self) -> list[tuple[str, str]]:
        """Return id and words of the questions that need no answer: about facts that the person chose to keep both."""
        layout, found = self.ctx.layout, []
        added = {
            (facts.folded(decision.proposal.section), facts.folded(fact.predicate))
            for decision in self.decisions
            if decision.accept and decision.proposal.op == "append" and layout.is_facts(decision.proposal.target)
            if (fact := facts.parse(decision.text or decision.proposal.text))
        }
        known = self.session.note(layout.facts).facts if added else ()
        predicates = facts.Predicates.of(self.ctx.settings.facts)
        for group in facts.rivals((fact for _, fact in known), predicates, self.ctx.now.date()):
            if (facts.folded(group[0].subject), facts.folded(group[0].predicate)) in added:
                lines = tuple(map(Related.stating, group))
                asked = question_about(layout.facts, group[-1].subject, lines, "", "")
                found.append((asked.id, asked.text))
        return found

    def outcomes(self) -> Iterator[Decided]:
        """Yield the result of each decision."""
        for number, decision in enumerate(self.decisions):
            proposal = decision.proposal
            if not decision.accept:
                yield Decided(proposal, "rejected", "applied")
                continue
            if proposal.op == "choose":
                result = ("applied", "") if decision.replaces else ("no-op", "all of these lines stay")
                yield Decided(proposal, "accepted", *result, proposal.target)  # type: ignore[arg-type]
                continue
            landed = self.landed[proposal.target, number]
            result = landed.outcome.status, landed.outcome.reason
            yield Decided(proposal, "accepted", *result, proposal.target, landed.line, landed.ref)  # type: ignore[arg-type]

    def _changes(self, decision: Decision) -> Iterator[Change]:
        """Yield the changes that an accepted proposal makes: first to the lines that it replaces, then its own.

        If one of those lines is in the note that the new words go to, they take the place of the first. A line that
        another decision replaces already is not replaced again.
        """
        proposal, change = decision.proposal, None
        if proposal.op != "choose":
            change = _change_of(self._masked(decision), self.ctx.layout.notes_section, self.ctx.now.date().isoformat())
            fact = facts.parse(change.text) if change.op == "fact" else None
            if fact:
                predicates = facts.Predicates.of(self.ctx.settings.facts)
                gone = predicates.ended_by(fact.predicate)
                change = change._replace(single=predicates.replaces(fact.predicate), gone=gone)
            elif change.op == "replace" and not self._claim(proposal.target, change.replaces, change.occurrence):
                change = change._replace(op="append", replaces="", occurrence=None)
        else:
            yield from self._unasked(decision)
        for line in decision.replaces:
            if not self._claim(line.path, line.raw, line.occurrence):
                continue
            if change and change.op == "append" and line.path == proposal.target:
                text = grammar.with_tags(change.text, grammar.tags_of(line.text))
                change = change._replace(op="replace", replaces=line.raw, occurrence=line.occurrence, text=text)
            else:
                yield self._removal(line, proposal)
        if change:
            # Reworded lines keep their author, unless the new words have a source.
            yield change._replace(author="") if change.op == "replace" and not change.provenance else change

    def _masked(self, decision: Decision) -> Decision:
        """Return an accepted decision without credentials, unless a person typed them at a terminal, which asks, or
        the line that it rewords may have them already.
        """
        proposal, text = decision.proposal, decision.text
        beside = capture.remember.around(proposal.section, ())
        own = proposal.text
        if text is None and not proposal.replaces:
            own = self.ctx.without_credentials(own, *beside)
        words = text if text is None else self.ctx.masked(text, *beside)
        return decision._replace(proposal=proposal._replace(text=own), text=words)

    def _unasked(self, decision: Decision) -> Iterator[Change]:
        """Yield the changes that remove a merge's question from the lines that stay: all of them after a rejection."""
        gone = {(line.path, line.line) for line in decision.replaces}
        staying = (line for line in decision.proposal.conflicts if (line.path, line.line) not in gone)
        # Lines of equal text are told apart by number. From the last one back, a removal shifts no other's number.
        yield from reversed([removal for line in staying for removal in self._question_below(line)])

    def _question_below(self, line: Related) -> Iterator[Change]:
        """Yield the changes that remove a merge's question from below a line."""
        note = self.session.note(line.path)
        found = locate(note, line.raw, occurrence=line.occurrence)
        if isinstance(found, str):
            return
        for entry in note.entries:
            asks = entry.text.startswith((ALSO_CHANGED, ALSO_REMOVED)) and entry.depth == found.depth + 1
            if asks and found.line < entry.line <= found.end_line:
                raw, occurrence = reference_to(note, entry)
                yield Change("remove", replaces=raw, occurrence=occurrence, target=line.path)

    def _claim(self, path: str, raw: str, occurrence: int | None) -> bool:
        """Claim a line for replacement; False if a decision has claimed it before."""
        line = path, raw, occurrence
        free = line not in self.claimed
        self.claimed.add(line)
        return free

    def _removal(self, line: Related, proposal: Proposal) -> Change:
        """Return the change to a line that new words elsewhere replace: a fact ends, any other line is removed.

        A fact is removed too if it would end before it began, or if it is one of two versions that a merge left: the
        other version says from when to when it held.
        """
        entry = next(iter(grammar.read(line.path, Document(line.raw.encode("utf-8", "surrogateescape")))), None)
        fact = facts.parse(entry.text) if entry and self.ctx.layout.is_facts(line.path) else None
        day = date.fromisoformat((proposal.fact and proposal.fact.since) or proposal.date) if fact else date.min
        if fact is None or (fact.since and fact.since >= day) or any(self._question_below(line)):
            return Change("remove", replaces=line.raw, occurrence=line.occurrence, target=line.path)
        text = facts.words(fact.predicate, fact.object, fact.since, day)
        return Change("replace", text=text, replaces=line.raw, occurrence=line.occurrence, target=line.path)

    def _replaced(self, decision: Decision) -> tuple[str, ...]:
        """Return the words of the lines that an accepted proposal replaces, as bullets to keep below its candidate."""
        proposal = decision.proposal
        if not (decision.accept and proposal.marks):
            return ()
        lines = [(line.path, line.raw, line.occurrence) for line in decision.replaces]
        if proposal.op in ("replace", "remove"):
            lines.append((proposal.target, proposal.replaces, proposal.occurrence))
        found = []
        for path, raw, occurrence in lines:
            if path not in self.read_notes:
                self.read_notes[path] = self.session.note(path)
            entry = locate(self.read_notes[path], raw, occurrence=occurrence)
            entry = locate(self.read_notes[path], raw) if isinstance(entry, str) else entry
            if not isinstance(entry, str):
                label = grammar.label_of(entry) or (entry.provenance or "").partition("#")[0].rpartition("/")[2] or None
                parts = grammar.Parts(grammar.REPLACED + entry.text, provenance=entry.provenance, label=label)
                found.append(grammar.render(parts).removeprefix("- "))
        for proposal in decision.instead:
            source = proposal.source if re.fullmatch(SOURCE, proposal.source) else None
            parts = grammar.Parts(
                grammar.REPLACED + proposal.line_text, provenance=source, label=source and proposal.date
            )
            found.append(grammar.render(parts).removeprefix("- "))
        return tuple(dict.fromkeys(found))


@contextlib.contextmanager
def _as_ticked(ctx: Caller, tick: dict[str, str] | None) -> Iterator[None]:
    """Record a tick as the person's write, whichever command applies it, unless an agent runs the command."""
    actor = ctx.store.actor
    if tick is not None:
        ctx.store.tick = tick
        ctx.store.actor = "person" if ctx.may_tick else actor
    try:
        yield
    finally:
        ctx.store.actor, ctx.store.tick = actor, None


def _word(decision: Decision) -> str:
    """Return how a decision is recorded; a question whose lines all stay is ``ignored``, and not asked again."""
    if decision.proposal.op == "choose" and not decision.replaces:
        return "ignored"
    return "accepted" if decision.accept else "rejected"


def _since(decision: Decision) -> str:
    """Return the first day of a proposed fact; empty for any other proposal."""
    return (decision.proposal.fact and decision.proposal.fact.since) or ""


def _fact_words(text: str) -> str:
    """Return the words of a fact as they are written into a note.

    Raises:
        UsageError: the text states no fact.
    """
    fact = facts.parse(grammar.neutralise(text))
    if fact is None or (fact.since and fact.until and fact.until <= fact.since):
        raise UsageError(f"{text[:200]!r} is not a fact", 'write it like this: "lives in:: Cork [since:: 2026-11-14]"')
    typed = facts.parse(text) or fact  # neutralised, a field is only words
    if field := facts.stray_field(f"{typed.predicate} {typed.object}"):
        raise UsageError(f"{field} in {text[:200]!r} is not a date that a fact can have", facts.DATE_HINT)
    return facts.words(fact.predicate, fact.object, fact.since, fact.until)


def _line_words(text: str, proposal: Proposal) -> str:
    """Return the words of a line as they are written into a note; a replaced line may keep a task's box."""
    box = grammar.task(text.lstrip()) if proposal.op == "replace" else ""
    return box + grammar.neutralise(text.lstrip()[len(box) :])


def check(ctx: Caller, decisions: Sequence[Decision], *, by_tick: bool) -> None:
    """Check that the caller may carry out the decisions.

    Raises:
        UsageError: one of them needs more rights, or a proposal is decided twice; nothing was done.
    """
    by_tick = by_tick and ctx.may_tick
    ids = [decision.proposal.id for decision in decisions]
    if len(set(ids)) < len(ids):
        raise UsageError("there are two decisions about one proposal", "name each proposal once")
    for decision in decisions:
        if decision.accept:
            paths = {decision.proposal.target, *(line.path for line in decision.replaces)}
            _check_accepted(ctx, decision.proposal, paths, by_tick=by_tick)


def refused(layout: Layout, proposal: Proposal) -> str:
    """Return why nobody can accept a proposal; empty if it can be accepted."""
    tier = layout.tier_of(proposal.target)
    if proposal.op not in KINDS:
        return f"{proposal.op[:40]!r} is an unknown kind of proposal"
    if (proposal.op == "fact") != (proposal.fact is not None):
        return "a proposal in the inbox can't add a fact"
    if proposal.op == "add_section":
        try:
            grammar.heading(proposal.section)
        except UsageError:
            return "it names no heading"
    if proposal.op == "create":
        name = proposal.target.removeprefix(f"{layout.playbooks}/")
        fits = layout.is_playbook(proposal.target) and "/" not in name and name == f"{vault.file_name(name[:-3])}.md"
        return (
            ""
            if fits and proposal.text.strip()
            else f"it would make {proposal.target}, which is not a place for a playbook"
        )
    ours = tier is not model.Tier.NOTE or proposal.target in (layout.corrections, layout.rewards)
    ours = ours or (proposal.op == "choose" and layout.agent_of(proposal.target) != "")  # a merge asks
    return (
        ""
        if ours and proposal.target[-3:] == ".md"
        else f"it would change {proposal.target}, which only you may change"
    )


def _check_accepted(ctx: Caller, proposal: Proposal, paths: Collection[str], *, by_tick: bool) -> None:
    """Check that the caller may accept a proposal.

    Args:
        ctx: the command's view of the vault.
        proposal: to accept.
        paths: of the notes that it changes; rules need more rights.
        by_tick: it was ticked, and no agent runs this: that counts as the person at a terminal.

    Raises:
        UsageError: the caller may not, or nobody can.
    """
    why = refused(ctx.layout, proposal)
    if why:
        raise UsageError(f"{proposal.id} can't be accepted: {why}", "reject it, or edit the note")
    rule = any(map(ctx.layout.is_rules, paths))
    missing = [] if by_tick or ctx.may_accept else ["unattended_review"]
    if rule and not (by_tick or ctx.may_write_rules):
        missing.append("unattended_rules")
    if missing:
        kind = "playbook" if proposal.op == "create" else "rule"
        what = f"{proposal.id} is a {kind}: accepting it" if rule else f"accepting {proposal.id}"
        allow = "allows" if len(missing) == 1 else "together allow"
        raise UsageError(
            f"{what} needs a person at a terminal, or a tick in Review.md",
            f"run tars-memory review at a terminal; {' and '.join(missing)} under [permissions] {allow} it to scripts",
        )


def is_candidate(ctx: Caller, mark: Mark) -> bool:
    """Whether a mark names a line of a note that can have candidates: a proposal of the inbox may name any note.

    Args:
        ctx: the command's view of the vault.
        mark: of a proposal.
    """
    layout = ctx.layout
    ours = layout.tier_of(mark.path) is model.Tier.DAILY or mark.path in (layout.corrections, layout.rewards)
    return ours and ".." not in mark.path and re.fullmatch(r"[A-Za-z0-9-]{0,100}", mark.block_id) is not None
