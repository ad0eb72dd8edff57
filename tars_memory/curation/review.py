"""``review``: lists the proposals that wait, and carries out what the person decides about them.

A decided proposal is not offered again, and a decision counts only for the proposal as it was shown: its id is made of
the change, so if a line changes in the meantime, its proposal has another id.

Also here: rules in the vault that nobody typed or approved on this machine (imported, synced, or edited with another
program), which the person can approve: that changes no byte of them, it only records in the journal of this machine
that the person approves exactly these lines. And statements that a second look left out, which can be offered after
all.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import recall
from tars_memory.curation import extraction, ticks
from tars_memory.curation.commit import RecordedTick, Reviewed, commit
from tars_memory.curation.gather import Gathered, gather
from tars_memory.curation.proposals import Decision, DrawnFact, Proposal
from tars_memory.curation.ticks import accepted, resolved
from tars_memory.errors import AmbiguousError, BusyError, ConflictError, NotFoundError, TarsError, UsageError, counted
from tars_memory.vault import playbooks, sessions
from tars_memory.vault.markdown import document, edits, entries as grammar
from tars_memory.vault.markdown.edits import Changes
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.sessions import LEFT_OUT, SessionFact
from tars_memory.vault.writing import history, system

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import WriteSession


ID = re.compile(r"[0-9a-z]{8}")
"""The id of a proposal."""


class Listed(NamedTuple):
    """The proposals that wait.

    Attributes:
        proposals: the first ones, up to the limit; those that were said most often come first.
        total: how many there are in all.
        lines: how many lines all of them have.
        notices: which notes could not be read, and which commands were cut off.
        unsettled: whether a command was cut off: then the notes show half of what it did, and the proposals that it
            decided are not listed.
        recorded: ticks in Review.md that agents' processes found, and that were not applied.
        asked: how many more seem to repeat what was refused; ``expired`` lists them.
    """

    proposals: list[Proposal]
    total: int
    lines: int
    notices: list[str]
    unsettled: bool = False
    recorded: tuple[RecordedTick, ...] = ()
    refused_before: int = 0

    @property
    def more(self) -> tuple[int, int]:
        """How many proposals, and how many lines of these, are beyond the limit."""
        shown = sum(len(proposal.leaves) for proposal in self.proposals)
        return self.total - len(self.proposals), self.lines - shown


class Review:
    """The review of one vault.

    Args:
        ctx: the command's view of the vault.
    """

    def __init__(self, ctx: Caller) -> None:
        self.ctx = ctx

    def waiting(self, *, limit: int | None = None, expired: bool = False) -> Listed:
        """Return the proposals that wait; nothing is written.

        Args:
            limit: maximum number of proposals; None for the setting, 0 for all.
            expired: also list candidates that aged, and proposals that seem to repeat what was refused.
        """
        limit = self.ctx.settings.review.limit if limit is None else limit
        found = self.gather(expired=expired, related_for=limit or None)
        every = [*found.proposals, *(found.refused_before if expired else ())]
        shown = every[:limit] if limit else every
        cut_off = self.ctx.store.pending()
        notices = [
            f"{command}; until the next command that writes, what it decided is not listed" for command in cut_off
        ]
        recorded = tuple(ticks.recorded_ticks(self.ctx))
        notices += [*ticks.recorded_notice(self.ctx, recorded), *ticks.unclear_ticks(self.ctx.vault, found)]
        asked = 0 if expired else len(found.refused_before)
        if asked:
            notices.append(f"you refused {asked} more in other words; --expired lists them")
        lines = sum(len(proposal.leaves) for proposal in every)
        return Listed(shown, len(every), lines, [*found.notices, *notices], bool(cut_off), recorded, asked)

    def line_of(self, name: str) -> str:
        """Return the REF of the line that a waiting proposal is about; empty if no proposal with that id waits.

        Raises:
            AmbiguousError: the proposal is about several lines.
            NotFoundError: what it proposes is not in any note yet.
        """
        found = self.gather(expired=True)
        if (proposal := found.offered.get(name)) is None:
            return ""
        ids = {part.id for part in proposal.leaves}
        refs = [ref for ref, waiting in found.waiting.items() if waiting.id in ids]
        refs += [
            ref
            for ref, line in found.lines.items()
            if (line.path, line.raw) == (proposal.target, proposal.replaces)
            or (proposal.op == "choose" and ref in {asked.ref for asked in proposal.conflicts})
        ]
        if not refs:
            drop = f"tars-memory review --reject {name} drops it"
            raise NotFoundError(f"proposal {name} is not in any note yet", drop)
        if len(refs) > 1:
            texts = [found.waiting[ref].line_text if ref in found.waiting else str(found.lines[ref]) for ref in refs]
            lines = [f"{ref}  {text}" for ref, text in zip(refs, texts, strict=True)]
            raise AmbiguousError(f"proposal {name} is about {counted(len(refs), 'line')}", lines, "name one by its REF")
        return refs[0]

    def recover(self) -> None:
        """Recover from killed commands: finish or undo what they left, because the notes show half of it until then.

        Raises:
            UnwritableError: the vault can't be written.
        """
        if not self.ctx.store.dry_run and self.ctx.store.pending():
            self.ctx.store.recover()

    def decide(
        self,
        accept: Sequence[str] = (),
        reject: Sequence[str] = (),
        *,
        both: Collection[str] = (),
        lines: Collection[str] = (),
        texts: Mapping[str, str] | None = None,
        sections: Mapping[str, str] | None = None,
        replace: Mapping[str, Collection[str]] | None = None,
    ) -> Reviewed:
        """Accept and reject proposals by their ids, all of them or none.

        Args:
            accept: ids.
            reject: ids.
            both: ids of accepted proposals that keep the line which they would replace.
            lines: ids of accepted facts that become a line of Memory.md instead.
            texts: by id of an accepted proposal, the words to write instead of its own.
            sections: by id of an accepted proposal, the heading to write it under instead of its own.
            replace: by id of an accepted proposal, the REFs of the lines or candidates that it replaces; all others
                stay.

        Raises:
            UsageError: an id is malformed or both accepted and rejected, or the caller may not accept.
            ConflictError: a proposal does not exist (any more), or a line that it names has changed; nothing was
                written.
            BusyError: another process is writing.
        """
        _check(accept, reject)
        texts, sections, replace = texts or {}, sections or {}, replace or {}
        if self.ctx.may_accept or not accept:
            self.recover()
        found = self.gather(expired=True)
        offered = found.offered
        unknown = [name for name in (*accept, *reject) if name not in offered]
        if unknown:
            raise ConflictError(
                f"no proposal {', '.join(unknown)} waits (any more); nothing was written",
                "it was decided in the meantime or its note changed: tars-memory review --list",
            )
        chosen: list[Decision] = []
        for name in dict.fromkeys(accept):
            proposal = offered[name]
            if proposal.parts and (name in sections or name in texts or name in lines or replace.get(name)):
                raise UsageError(
                    f"{name} is {counted(len(proposal.parts), 'line')}", "name the one that you mean by its own id"
                )
            if name in sections:
                proposal = proposal._replace(section=self.ctx.masked(sections[name]))
            chosen += [
                accepted(
                    part,
                    found,
                    text=texts.get(name),
                    both=name in both,
                    as_line=name in lines,
                    replaces=replace.get(name, ()),
                )
                for part in proposal.leaves
            ]
        chosen += [Decision(part, accept=False) for name in dict.fromkeys(reject) for part in offered[name].leaves]
        decisions = resolved(chosen)
        self.ctx.notices += ticks.replaced_notices(chosen, decisions)
        return self.commit(decisions, found)

    def commit(self, chosen: Sequence[Decision], found: Gathered) -> Reviewed:
        """Carry out decisions; aged and settled candidates are marked first, in a transaction of their own."""
        if self.ctx.may_accept or not any(decision.accept for decision in chosen):
            ticks.mark_settled(self, found, but={mark for decision in chosen for mark in decision.marks})

        def also(session: WriteSession) -> None:
            decided = ticks.as_offered(chosen, found.offered)
            ticks.clear(session, self.ctx, {proposal.id for proposal in decided}, decided=decided)

        return commit(self.ctx, chosen, also=also)

    def from_note(self) -> Reviewed:
        """Apply the ticks in Review.md and its conflict copies; those that can't be applied stay there, with a notice.

        If an agent runs this, and nobody has allowed it to accept, the ticks are only recorded.

        Raises:
            BusyError: another process writes.
            UnwritableError: the vault can't be written.
        """
        self.recover()
        done, left, recorded = ticks.apply_ticks(self)
        outcomes = [outcome for committed in done for outcome in committed.decided]
        txns = [committed.txn for committed in done if committed.txn]
        notices = [*self.ctx.notices, *left, *ticks.recorded_notice(self.ctx, recorded)]
        return Reviewed(txns[-1] if txns else None, outcomes, notices, len(left), tuple(recorded))

    def write_note(self, *, limit: int | None = None, expired: bool = False) -> tuple[str, int, int]:
        """Write the proposals that wait into Review.md; ticked ones that are there already stay.

        Returns:
            The note's path, and how many proposals and how many lines of them it holds now.
        """
        self.recover()
        ticks.mark_settled(self, self.gather())
        return ticks.write_note(self, self.waiting(limit=limit, expired=expired).proposals)

    def gather(self, *, expired: bool = False, related_for: int | None = 0) -> Gathered:
        """Return everything that waits for review; see :func:`tars_memory.curation.gather.gather`."""
        return gather(self.ctx, expired=expired, related_for=related_for)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock that allows one review at a time.

        Raises:
            BusyError: another review is running.
        """
        lock = system.VaultLock(self.ctx.store.state / "review-lock", timeout=0, command="review")
        try:
            with lock.held():
                yield
        except BusyError as error:
            if not error.message.startswith("the vault is busy"):
                raise
            raise BusyError(
                f"another review is going on: {lock.holder() or 'another process'}", "end it there, then try again"
            ) from error


def _check(accept: Sequence[str], reject: Sequence[str]) -> None:
    """Check that these are ids, and that none is both accepted and rejected.

    Raises:
        UsageError: they are not.
    """
    for name in (*accept, *reject):
        if not ID.fullmatch(name):
            raise UsageError(f"{name!r} is not a proposal's id", "tars-memory review --list shows them")
    twice = set(accept) & set(reject)
    if twice:
        raise UsageError(f"{', '.join(sorted(twice))}: both accepted and rejected", "say one of them")


class UnapprovedRule(NamedTuple):
    """A rule, or a whole playbook, that nobody approved on this machine.

    Attributes:
        path, line: where it is; ``path`` is absolute for a rule of a shared vault.
        ref: REF of its entry; empty for a playbook.
        section: the heading above it, empty for none; for a playbook its title.
        text: its words and those of the bullets below it, one line each.
        raw: its lines and those of its headings, as bytes without line endings; for a rule of a shared vault only the
            rule's lines, as they would be written here.
        vault: name of the shared vault that has the rule; empty for the person's own.
    """

    path: str
    line: int
    ref: str
    section: str
    text: str
    raw: tuple[bytes, ...]
    vault: str = ""

    def as_dict(self) -> dict[str, object]:
        """The documented JSON object."""
        fields = {name: getattr(self, name) for name in ("path", "line", "ref", "section", "text")}
        return fields | ({"vault": self.vault} if self.vault else {})


def unapproved(ctx: Caller) -> list[UnapprovedRule]:
    """Return the rules that nobody typed or approved on this machine: bullets of the vault and its projects, then
    playbooks.
    """
    paths = sorted(path for path in ctx.vault.paths() if ctx.layout.tier_of(path) is Tier.PROCEDURAL)
    found = [rule for note in ctx.notes(paths) for rule in _of_note(ctx, note.path, note.data)]
    scopes = dict.fromkeys(("", *map(ctx.layout.scope_of, ctx.vault.paths())))
    return [*found, *_playbooks(ctx, playbooks.paths(ctx.vault, scopes))]


def unapproved_here(ctx: Caller) -> list[UnapprovedRule]:
    """Return those of the chosen project, or outside projects if none is; a notice says that there are others."""
    found = unapproved(ctx)
    here = [rule for rule in found if ctx.layout.scope_of(rule.path) == ctx.layout.scope]
    if len(here) < len(found):
        ctx.notices.append("there are such rules elsewhere, too: tars-memory status --verbose names their notes")
    return here


def unapproved_beside(ctx: Caller, name: str, other: Vault) -> list[UnapprovedRule]:
    """Return the rules of a shared vault, and of its project with the chosen name, that are not approved here.

    Args:
        ctx: the command's view of the person's own vault.
        name: of the shared vault.
        other: the shared vault; a note of it that can't be read is skipped, with a notice.
    """
    approved: set[str] = set()
    for note in ctx.notes(dict.fromkeys(ctx.layout.procedural_of(scope) for scope in ("", ctx.layout.scope))):
        own = recall.loaded.Loaded(note.path, note.document, whole_items=True)
        for unit in recall.loaded.by_approval(own, history.typed_lines(ctx.store.journal, note.path))[0]:
            approved |= unit.wordings
    found: list[UnapprovedRule] = []
    for path in dict.fromkeys(other.layout.procedural_of(scope) for scope in ("", ctx.layout.scope)):
        try:
            shared = recall.loaded.Loaded(path, document.Document(other.read(path)), whole_items=True)
        except NotFoundError:
            continue
        except TarsError as error:
            ctx.notices.append(f"{name}: {error.message}")
            continue
        entries = {entry.line: entry for entry in grammar.read(path, shared.document)}
        for unit in shared.units:
            entry, raw = entries.get(unit.start_line), shared.rules.get(unit.start_line)
            if entry is None or not raw or not approved.isdisjoint(unit.wordings):
                continue
            below = raw[1 + entry.raw.count("\n") :]
            text = "\n".join([entry.text, *(line.decode("utf-8", "replace").strip() for line in below)])
            title = next((s.title for s in shared.document.sections if s.title == entry.section and s.level > 1), "")
            raw = [f"- {entry.text}".encode("utf-8", "surrogateescape"), *below]
            absolute = os.path.join(other.root, path)
            found.append(UnapprovedRule(absolute, entry.line, entry.ref, title, text, tuple(raw), name))
    return found


def _playbooks(ctx: Caller, paths: Sequence[str]) -> Iterator[UnapprovedRule]:
    """Yield the playbooks that nobody typed or approved on this machine, each as a whole."""
    for note in ctx.notes(paths):
        first = note.document.body_line
        rows = [note.data[line.start : line.end] for line in note.document.lines[first - 1 :]]
        raw = [row for row in rows if row.strip()]
        if not history.stands_approved(ctx.store.journal, note.path, note.data):
            text = "\n".join(row.decode("utf-8", "replace") for row in raw)
            yield UnapprovedRule(note.path, first, "", playbooks.read(note).title, text, tuple(raw))


def approve(ctx: Caller, rules: Sequence[UnapprovedRule]) -> str | None:
    """Record in the journal that the person approves these rules as they are.

    Rules of shared vaults are copied into Procedural.md, because a note that others may change is never trusted.

    Returns:
        The transaction, for ``undo``; None if nothing was written.

    Raises:
        UsageError: no person at a terminal runs this.
        ConflictError: a rule is gone or has changed; nothing was approved.
        UnwritableError: the vault can't be written.
    """
    if not ctx.attended:
        raise UsageError("approving a rule takes a person at a terminal", "run tars-memory review --rules there")
    with ctx.writing("review", None, atomic=True) as session:
        for path in dict.fromkeys(rule.path for rule in rules if not rule.vault):
            session.vouch(path, {line for rule in rules if rule.path == path for line in rule.raw})
        for rule in rules:
            if rule.vault:
                bullet = ctx.masked(b"\n".join(rule.raw).decode("utf-8", "surrogateescape"))
                section = rule.section or ctx.layout.notes_section
                session.write(
                    ctx.layout.procedural,
                    lambda data, bullet=bullet, section=section: edits.insert_bullet(
                        data or b"", bullet, section=section
                    ),  # type: ignore[misc]
                )
    return session.txn


def _of_note(ctx: Caller, path: str, data: bytes) -> Iterator[UnapprovedRule]:
    """Yield the bullets of a note of rules that nobody typed or approved on this machine."""
    note = recall.loaded.Loaded(path, document.Document(data), whole_items=True)
    approved = history.typed_lines(ctx.store.journal, path)
    entries = {entry.line: entry for entry in grammar.read(path, note.document)}
    for unit in recall.loaded.by_approval(note, approved)[1]:
        entry, raw = entries.get(unit.start_line), note.rules.get(unit.start_line)
        if entry is not None and raw:
            below = [line.strip() for line in unit.texts[1 + entry.raw.count("\n") :] if line.strip()]
            headings = [line for above in unit.headings for line in note.raw(above) if line not in approved]
            text = "\n".join([entry.text, *below])
            yield UnapprovedRule(path, entry.line, entry.ref, entry.section, text, (*headings, *raw))


ANYWAY = "It was left out as: {kind}"
"""The warning at a statement that was left out and is offered after all."""

_TITLE = LEFT_OUT.encode("ascii")


class LeftOut(NamedTuple):
    """A statement of a conversation that a second look left out, so that it was not proposed.

    Attributes:
        entry: its bullet in the session note.
        said: its fields: words, quote, speaker, turn, kind and warnings.
        date: of the conversation, ``YYYY-MM-DD``.
    """

    entry: Entry
    fact: SessionFact
    date: str

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "id": self.entry.ref,
            "kind": self.fact.kind,
            "text": self.fact.text,
            "quote": self.fact.quote,
            "said_by": self.fact.speaker,
            "turn": self.fact.turn,
            "path": self.entry.path,
            "line": self.entry.line,
            "date": self.date,
            "fact": self.fact.claim or None,
            "warnings": list(self.fact.warnings),
        }


def left_out(ctx: Caller) -> list[LeftOut]:
    """Return all left-out statements in the session notes of our scope, the newest conversation first."""
    found: list[LeftOut] = []
    for note in ctx.notes(sorted(ctx.vault.tier_paths(Tier.EPISODIC), reverse=True)):
        if _TITLE in note.data:
            day = str(note.properties.get("date", ""))
            found += (LeftOut(entry, fact, day) for entry, fact in sessions.facts_of(note.entries, LEFT_OUT))
    return found


def offer_left_out(ctx: Caller, ids: Sequence[str]) -> list[extraction.keeping.KeptFact]:
    """Make candidates of left-out statements, in one transaction: lines of their days that the session notes link to.

    Args:
        ctx: the command's view of the vault.
        ids: REFs of statements that :func:`left_out` returns.

    Returns:
        The candidates with their lines.

    Raises:
        ConflictError: a statement is not left out (any more).
        UnwritableError: the vault can't be written.
    """
    by_ref = {statement.entry.ref: statement for statement in left_out(ctx)}
    unknown = [name for name in ids if name not in by_ref]
    if unknown:
        raise ConflictError(
            f"nothing with the id {', '.join(unknown)} is left out; nothing was written",
            "tars-memory review --left-out lists what is",
        )
    chosen = [by_ref[name] for name in dict.fromkeys(ids)]
    today = ctx.now.date().isoformat()
    with ctx.writing("extract", None, atomic=True) as session:
        said = [(_fact(statement.fact), _time(statement, ctx.now), statement.fact.speaker) for statement in chosen]
        kept = extraction.keeping.write_candidates(ctx, session, said)
        for statement, (_, linked) in zip(chosen, kept, strict=True):

            def moved(data: bytes | None, entry: Entry = statement.entry, linked: SessionFact = linked) -> list[Splice]:
                changes = Changes(data or b"")
                note = sessions.read(entry.path, changes.data)
                if note is not None:
                    changes.make(
                        sessions.grow(
                            changes.data, note._replace(facts=(linked,), left_out=(), kept=(), extracted=today)
                        )
                    )
                left = Note(entry.path, changes.data)
                left_out = (bullet for bullet, _ in sessions.facts_of(left.entries, LEFT_OUT))
                if (bullet := next((bullet for bullet in left_out if bullet.text == entry.text), None)) is None:
                    raise ConflictError(f"{entry.path} changed in the meantime", "try again")
                changes.make(edits.remove_bullet(left, bullet))
                return changes.splices()

            session.write(statement.entry.path, moved)
    return [fact for fact, _ in kept]


def _fact(said: SessionFact) -> DrawnFact:
    """Return a left-out statement as a fact to offer, with a warning why it was left out."""
    warnings = (*said.warnings, ANYWAY.format(kind=said.kind)) if said.kind else said.warnings
    return DrawnFact(said.text, said.quote, said.turn, seen="stated", warnings=warnings)


def _time(statement: LeftOut, now: datetime) -> datetime:
    """Return when the conversation began, from its note's name and front matter; ``now`` if they don't say.

    The time of the statement's own turn is not known any more.
    """
    clock = re.search(r"\d{4}-\d\d-\d\d (\d\d)(\d\d) ", statement.entry.path.rpartition("/")[2])
    try:
        day = datetime.fromisoformat(statement.date)
        return day.replace(hour=int(clock[1]), minute=int(clock[2])) if clock else day
    except ValueError:
        return now
