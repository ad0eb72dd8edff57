"""The only place where proposals become text: what the person decided, in one transaction, all of it or nothing.

Gates first: who may have which decision carried out, and on which notes, is asked before anything is looked at. Then
everything is looked for in the notes as they are now, under the lock; then the notes are changed, each by one write:
first those that the proposals are about, then the candidates' marks (many of one note from few parses of it, byte for
byte as one after the other), last the inbox. A note that changed in the meantime, an error or a kill undoes everything
(:meth:`tars_memory.vault.writing.store.Store.transaction`).
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory.curation.proposals import KINDS, Decision, Mark, Proposal, Related, question_about
from tars_memory.errors import ConflictError, UsageError
from tars_memory.vault import inbox, playbooks, vault
from tars_memory.vault.change import Change, locate, named
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED, unbulleted
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.note import Note
    from tars_memory.vault.writing.store import Landed, WriteSession


SOURCE = r"[^\[\]|\r\n]{1,400}#\^[A-Za-z0-9-]{1,100}"
"""A source that a line can link to; anything else says who proposes."""

AGAIN = "look again: tars-memory review --list"


class Decided(NamedTuple):
    """What became of one decision.

    Attributes:
        proposal: that was decided about.
        decision: what the person said.
        outcome: ``applied``; or ``no-op``: the note said so already.
        reason: for ``no-op``, why; else empty.
        path, line, ref: of the entry that is there now; empty and 0 if the note was not to be changed.
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


class Committed(NamedTuple):
    """What a commit did.

    Attributes:
        txn: the transaction that ``undo`` takes; None if nothing was written.
        outcomes: one for each decision, in their order.
        notices: what the person should know.
    """

    txn: str | None
    outcomes: tuple[Decided, ...]
    notices: list[str]


def commit(
    ctx: Caller,
    decisions: Sequence[Decision],
    *,
    by_tick: bool = False,
    ticked: str = "",
    also: Callable[[WriteSession], None] | None = None,
) -> Committed:
    """Carry out what was decided: all of it, or nothing.

    Args:
        ctx: the command's view of the vault.
        decisions: at most one about each proposal.
        by_tick: it was ticked in a note; unless an agent runs this, that counts as the person at a terminal.
        ticked: for ``by_tick``, since when it is known that an agent's process found the tick; empty if none did.
        also: what else belongs to the same transaction; done last.

    Raises:
        UsageError: it would take a person at a terminal, a target that is not ours to change, or text without words.
        ConflictError: a note changed since the proposal was made, or it was decided in the meantime.
        UnwritableError: the vault can't be written.
    """
    check(ctx, decisions, by_tick=by_tick)
    if not decisions:
        return Committed(None, (), ctx.notices)
    tick = {"recorded": ticked} if by_tick else None
    with _acting(ctx, tick), ctx.writing("review", None, atomic=True) as session:
        batch = _Batch(ctx, session, decisions)
        batch.look()
        batch.write()
        if also is not None:
            also(session)
    return Committed(session.txn, tuple(batch.outcomes()), ctx.notices)


def change_of(decision: Decision, notes_section: str = "Notes", made: str = "") -> Change:
    """The change that an accepted proposal comes to, with the person's words if there are any.

    Args:
        decision: an accepted one.
        notes_section: where an entry goes that names no section.
        made: the day on which a new note is made.

    Raises:
        UsageError: there are no words, or they don't state the fact that they should.
    """
    proposal = decision.proposal
    text = proposal.text if decision.text is None else decision.text
    worded = proposal.op in ("append", "replace") or (proposal.op == "add_section" and bool(proposal.text.strip()))
    source = proposal.source if re.fullmatch(SOURCE, proposal.source) else ""
    author = _author(proposal)
    if proposal.op == "fact":
        ends = None if proposal.fact is None or decision.text is not None else tuple(e.raw for e in proposal.fact.ends)
        own = Change("fact", proposal.section, _fact(text), ends=ends, target=proposal.target)
        return own._replace(provenance=source, label=proposal.date, author=author)
    own = Change(
        proposal.op,  # type: ignore[arg-type]  # checked by the gates
        proposal.section or (notes_section if proposal.op == "append" else ""),
        replaces=proposal.replaces,
        occurrence=proposal.occurrence,
        target=proposal.target,
    )
    if proposal.op == "create":
        if decision.text is not None and "\n" not in text.strip():
            # Review.md shows the title alone: other words there are another title.
            text = playbooks.retitled(proposal.text, grammar.heading(text))
        return own._replace(section="", text=text, time=made)
    if not worded:
        return own
    return own._replace(text=_words(text, proposal), provenance=source, label=proposal.date, author=author)


def _author(proposal: Proposal) -> str:
    """Whose words a proposal's are: the authors of the lines that it came from."""
    found: dict[str, None] = {}
    for mark in proposal.marks:
        if "[by::" in mark.raw:
            line = " ".join(part.strip() for part in mark.raw.split("\n"))
            found |= dict.fromkeys(filter(None, [grammar.parse(unbulleted(line), timed=True).author]))
    return ", ".join(found)[: grammar.MAX_AUTHOR]


class _Work(NamedTuple):
    """What is to be done to one note: the changes of each decision by its number, then the marks."""

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
        self.there: dict[str, Note] = {}
        self.landed: dict[tuple[str, int], Landed] = {}
        """By note and number of a decision."""
        self.taken: set[tuple[str, str, int | None]] = set()

    def look(self) -> None:
        """Find everything in the notes as they are.

        Raises:
            ConflictError: something is not there any more.
        """
        waiting = {each["id"]: each for each in inbox.pending(self.ctx.vault)}
        # The latest fact first: one that comes back to what was so before must not be taken for its going on.
        for number, decision in sorted(enumerate(self.decisions), key=lambda each: _since(each[1]), reverse=True):
            for proposal in (decision.proposal, *decision.instead):
                if proposal.kept and proposal.id not in waiting:
                    raise ConflictError(f"{proposal.id} was decided in the meantime", AGAIN)
                if proposal.kept:
                    self.kept.append(waiting[proposal.id])
            if decision.accept or decision.proposal.op == "choose":
                for change in self._changes(decision) if decision.accept else self._settled(decision):
                    self.notes[change.target].changes.append((number, change))
        for decision in self.decisions:
            replaced = self._replaced(decision)
            for mark in (each for each in decision.marks if is_candidate(self.ctx, each)):
                state = "promoted" if decision.accept else "rejected"
                self.notes[mark.path].marks.append(mark.change(state, replaced))
                replaced = ()
        for work in self.notes.values():
            self.session.plan(work.every, hint=AGAIN)

    def write(self) -> None:
        """Change the notes, those that proposals are about before those that are only marked; then the inbox."""
        for path, work in sorted(self.notes.items(), key=lambda each: not each[1].changes):
            landed = self.session.change(work.every, hint=AGAIN)
            self.landed |= {(path, number): told for (number, _), told in zip(work.changes, landed, strict=False)}
        for proposal in self.kept:
            inbox.drop(self.session, proposal)
        for word in ("accepted", "rejected", "ignored"):
            said = [decision.proposal for decision in self.decisions if _word(decision) == word]
            said += [each for decision in self.decisions for each in decision.instead if word == "ignored"]
            what = [(proposal.id, proposal.text or proposal.quote) for proposal in said]
            what += self._answered() if word == "ignored" else []
            inbox.decide(self.session, what, word, self.ctx.now.date(), project=self.ctx.layout.scope)

    def _answered(self) -> list[tuple[str, str]]:
        """The questions that need not be asked: about facts that the person has just kept beside each other."""
        layout, found = self.ctx.layout, []
        beside = {
            (facts.folded(decision.proposal.section), facts.folded(said.predicate))
            for decision in self.decisions
            if decision.accept and decision.proposal.op == "append" and layout.is_facts(decision.proposal.target)
            if (said := facts.said(decision.text or decision.proposal.text))
        }
        known = self.session.note(layout.facts).facts if beside else ()
        predicates = facts.Predicates.of(self.ctx.settings.facts)
        for group in facts.rivals((fact for _, fact in known), predicates, self.ctx.now.date()):
            if (facts.folded(group[0].subject), facts.folded(group[0].predicate)) in beside:
                lines = tuple(map(Related.stating, group))
                asked = question_about(layout.facts, group[-1].subject, lines, "", "")
                found.append((asked.id, asked.text))
        return found

    def outcomes(self) -> Iterator[Decided]:
        """What became of each decision."""
        for number, decision in enumerate(self.decisions):
            proposal = decision.proposal
            if not decision.accept:
                yield Decided(proposal, "rejected", "applied")
                continue
            if proposal.op == "choose":
                told = ("applied", "") if decision.replaces else ("no-op", "all of these lines stay")
                yield Decided(proposal, "accepted", *told, proposal.target)  # type: ignore[arg-type]
                continue
            landed = self.landed[proposal.target, number]
            told = landed.outcome.status, landed.outcome.reason
            yield Decided(proposal, "accepted", *told, proposal.target, landed.line, landed.ref)  # type: ignore[arg-type]

    def _changes(self, decision: Decision) -> Iterator[Change]:
        """What an accepted proposal does: first what becomes of the lines that it replaces.

        The new words take the place of the first one in their own note; each line is replaced once.
        """
        proposal, own = decision.proposal, None
        if proposal.op != "choose":
            own = change_of(decision, self.ctx.layout.notes_section, self.ctx.now.date().isoformat())
            said = facts.said(own.text) if own.op == "fact" else None
            if said:
                predicates = facts.Predicates.of(self.ctx.settings.facts)
                gone = predicates.given_up(said.predicate)
                own = own._replace(single=predicates.replaces(said.predicate), gone=gone)
            elif own.op == "replace" and not self._takes(proposal.target, own.replaces, own.occurrence):
                own = own._replace(op="append", replaces="", occurrence=None)
        if proposal.op == "choose":
            yield from self._settled(decision)
        for line in decision.replaces:
            if not self._takes(line.path, line.raw, line.occurrence):
                continue
            if own and own.op == "append" and line.path == proposal.target:
                tags = grammar.tags_of(line.text)
                own = own._replace(op="replace", replaces=line.raw, occurrence=line.occurrence)
                own = own._replace(text=grammar.tagged(own.text, tags))
            else:
                yield self._over(line, proposal)
        if own:
            # Other words keep their author, unless it is said where they come from.
            yield own._replace(author="") if own.op == "replace" and not own.provenance else own

    def _settled(self, decision: Decision) -> Iterator[Change]:
        """Take away what a merge has put under the lines that stay; all of them, if the question is rejected."""
        gone = {(line.path, line.line) for line in decision.replaces}
        staying = (line for line in decision.proposal.conflicts if (line.path, line.line) not in gone)
        # They say the same: whichever goes first, those below it would get other numbers.
        yield from reversed([mark for line in staying for mark in self._asked_below(line)])

    def _asked_below(self, line: Related) -> Iterator[Change]:
        """What removes a merge's question from below a line."""
        note = self.session.note(line.path)
        found = locate(note, line.raw, occurrence=line.occurrence)
        if isinstance(found, str):
            return
        for entry in note.entries:
            mark = entry.text.startswith((ALSO_CHANGED, ALSO_REMOVED)) and entry.depth == found.depth + 1
            if mark and found.line < entry.line <= found.end_line:
                raw, occurrence = named(note, entry)
                yield Change("remove", replaces=raw, occurrence=occurrence, target=line.path)

    def _takes(self, path: str, raw: str, occurrence: int | None) -> bool:
        """Whether a line is still to be had; it is replaced once."""
        line = path, raw, occurrence
        free = line not in self.taken
        self.taken.add(line)
        return free

    def _over(self, line: Related, proposal: Proposal) -> Change:
        """What becomes of a line that is replaced elsewhere: a fact ends, if it held at all; any other line goes.

        So does one of a merge's two versions of a fact: the other one says since and until when it held.
        """
        entry = next(iter(grammar.read(line.path, Document(line.raw.encode("utf-8", "surrogateescape")))), None)
        said = facts.said(entry.text) if entry and self.ctx.layout.is_facts(line.path) else None
        day = date.fromisoformat((proposal.fact and proposal.fact.since) or proposal.date) if said else date.min
        if said is None or (said.since and said.since >= day) or any(self._asked_below(line)):
            return Change("remove", replaces=line.raw, occurrence=line.occurrence, target=line.path)
        text = facts.words(said.predicate, said.object, said.since, day)
        return Change("replace", text=text, replaces=line.raw, occurrence=line.occurrence, target=line.path)

    def _replaced(self, decision: Decision) -> tuple[str, ...]:
        """The words of the lines that an accepted proposal takes away, as bullets to keep under its first candidate."""
        proposal = decision.proposal
        if not (decision.accept and proposal.marks):
            return ()
        lines = [(line.path, line.raw, line.occurrence) for line in decision.replaces]
        if proposal.op in ("replace", "remove"):
            lines.append((proposal.target, proposal.replaces, proposal.occurrence))
        found = []
        for path, raw, occurrence in lines:
            if path not in self.there:
                self.there[path] = self.session.note(path)
            entry = locate(self.there[path], raw, occurrence=occurrence)
            entry = locate(self.there[path], raw) if isinstance(entry, str) else entry
            if not isinstance(entry, str):
                label = grammar.label_of(entry) or (entry.provenance or "").partition("#")[0].rpartition("/")[2] or None
                parts = grammar.Parts(grammar.REPLACED + entry.text, provenance=entry.provenance, label=label)
                found.append(grammar.render(parts).removeprefix("- "))
        for each in decision.instead:
            source = each.source if re.fullmatch(SOURCE, each.source) else None
            parts = grammar.Parts(grammar.REPLACED + each.said, provenance=source, label=source and each.date)
            found.append(grammar.render(parts).removeprefix("- "))
        return tuple(dict.fromkeys(found))


@contextlib.contextmanager
def _acting(ctx: Caller, tick: dict[str, str] | None) -> Iterator[None]:
    """Carry a tick out as the person's, whichever command finds it: but an agent's stays the agent's."""
    ours = ctx.store.actor
    if tick is not None:
        ctx.store.tick = tick
        ctx.store.actor = "person" if ctx.may_tick else ours
    try:
        yield
    finally:
        ctx.store.actor, ctx.store.tick = ours, None


def _word(decision: Decision) -> str:
    """How a decision is remembered; who lets all lines of a question stand is not asked again."""
    if decision.proposal.op == "choose" and not decision.replaces:
        return "ignored"
    return "accepted" if decision.accept else "rejected"


def _since(decision: Decision) -> str:
    """The first day of a fact; empty for any other proposal."""
    return (decision.proposal.fact and decision.proposal.fact.since) or ""


def _fact(text: str) -> str:
    """The words of a fact as they can be written.

    Raises:
        UsageError: they state none.
    """
    said = facts.said(grammar.neutralise(text))
    if said is None or (said.since and said.until and said.until <= said.since):
        raise UsageError(f"{text[:200]!r} is not a fact", 'write it so: "lives in:: Cork [since:: 2026-11-14]"')
    typed = facts.said(text) or said  # neutralised, a field is only words
    if field := facts.stray(f"{typed.predicate} {typed.object}"):
        raise UsageError(f"{field} in {text[:200]!r} is not a date of a fact", facts.HOW)
    return facts.words(said.predicate, said.object, said.since, said.until)


def _words(text: str, proposal: Proposal) -> str:
    box = grammar.task(text.lstrip()) if proposal.op == "replace" else ""
    return box + grammar.neutralise(text.lstrip()[len(box) :])


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
    if proposal.op not in KINDS or (proposal.op == "fact") != (proposal.fact is not None):
        return f"nothing is known that is called {proposal.op[:40]!r}"
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
    ours = tier is not Tier.NOTE or proposal.target in (layout.corrections, layout.rewards)
    return "" if ours and proposal.target[-3:] == ".md" else f"it would change {proposal.target}, which is yours alone"


def _check_accepted(ctx: Caller, proposal: Proposal, paths: Collection[str], *, by_tick: bool) -> None:
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
