"""``review``: what waits is shown, and what the person decides about it is done, once.

Nothing is offered that was decided, and a decision counts only for the proposal as it was shown: its id is made of the
change, so a line that changed in the meantime gives another proposal with another id.

Beside it: rules that are in the vault though nobody typed or approved them here (brought along, synced, edited
elsewhere), of which approving changes no byte, for the journal of this machine says then that the person stands by
these very lines; and what a second look left out, offered after all if the person wants it.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import recall
from tars_memory.curation import extraction, ticks
from tars_memory.curation.commit import Decided, commit
from tars_memory.curation.gather import Gathered, gather
from tars_memory.curation.proposals import Decision, DrawnFact, Proposal
from tars_memory.curation.ticks import Recorded, accepted, resolved
from tars_memory.errors import AmbiguousError, BusyError, ConflictError, NotFoundError, TarsError, UsageError, counted
from tars_memory.vault import playbooks, sessions
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.edits import Changes
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.sessions import LEFT_OUT, SessionFact
from tars_memory.vault.writing import history, system

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.extraction.keeping import KeptFact
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import WriteSession


ID = re.compile(r"[0-9a-z]{8}")


class Listed(NamedTuple):
    """What waits.

    Attributes:
        proposals: the first of them, those that were said most often first.
        total: how many there are in all.
        notices: what could not be read, and what a command that was cut off has left undone.
        unsettled: whether one has: then the notes show half of what it did, and its proposals are not among these.
        recorded: ticks in Review.md that agents' processes found, and that nobody has done.
        asked: how many more seem to say again what was refused; listed with the expired ones.
    """

    proposals: list[Proposal]
    total: int
    notices: list[str]
    unsettled: bool = False
    recorded: tuple[Recorded, ...] = ()
    asked: int = 0


class Reviewed(NamedTuple):
    """What became of some decisions.

    Attributes:
        txn: what ``undo`` takes; None if nothing was written.
        decided: in the order of the decisions.
        notices: what the person should know.
        left: how many decisions of Review.md could not be done, each named in the notices.
        recorded: those that were only recorded, because an agent runs this.
    """

    txn: str | None
    decided: list[Decided]
    notices: list[str]
    left: int = 0
    recorded: tuple[Recorded, ...] = ()


class Review:
    """One vault's review.

    Args:
        ctx: the command's view of the vault.
    """

    def __init__(self, ctx: Caller) -> None:
        self.ctx = ctx

    def waiting(self, *, limit: int | None = None, expired: bool = False) -> Listed:
        """What waits, with what was said; nothing is written.

        Args:
            limit: most of them; None for the setting, 0 for all.
            expired: candidates that aged, too, and what seems to say again what was refused.
        """
        most = self.ctx.settings.review.limit if limit is None else limit
        found = self.gather(expired=expired, related_for=most or None)
        every = [*found.proposals, *(found.refused_before if expired else ())]
        shown = every[:most] if most else every
        left = self.ctx.store.pending()
        told = [f"{each}; until the next command that writes, what it decided is not listed" for each in left]
        recorded = tuple(ticks.recorded(self.ctx))
        told += [*ticks.waiting(self.ctx, recorded), *ticks.left(self.ctx.vault)]
        asked = 0 if expired else len(found.refused_before)
        if asked:
            told.append(f"you refused {asked} more in other words; --expired lists them")
        return Listed(shown, len(every), [*found.notices, *told], bool(left), recorded, asked)

    def line_of(self, name: str) -> str:
        """The REF of the line that a proposal waits to decide; empty if no proposal of that id waits.

        Raises:
            AmbiguousError: it is about several lines.
            NotFoundError: it is not in any note yet.
        """
        found = self.gather(expired=True)
        if (proposal := found.offered.get(name)) is None:
            return ""
        ids = {each.id for each in proposal.each}
        refs = [ref for ref, each in found.waiting.items() if each.id in ids]
        refs += [
            ref
            for ref, each in found.lines.items()
            if (each.path, each.raw) == (proposal.target, proposal.replaces)
            or (proposal.op == "choose" and ref in {line.ref for line in proposal.conflicts})
        ]
        if not refs:
            drop = f"tars-memory review --reject {name} drops it"
            raise NotFoundError(f"proposal {name} is not in any note yet", drop)
        if len(refs) > 1:
            told = [found.waiting[ref].said if ref in found.waiting else str(found.lines[ref]) for ref in refs]
            lines = [f"{ref}  {text}" for ref, text in zip(refs, told, strict=True)]
            raise AmbiguousError(f"proposal {name} is about {counted(len(refs), 'line')}", lines, "name one by its REF")
        return refs[0]

    def settle(self) -> None:
        """Finish or take back what a killed command has left: until then the notes show half of it.

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
            both: those of the accepted that leave the line standing which they would replace.
            lines: those of the accepted that become a line of Memory.md and no fact.
            texts: other words, by id, for accepted ones.
            sections: another heading, by id, for accepted ones.
            replace: by id, the names (REF) of the lines that an accepted one replaces, also of those that wait; all
                others stay.

        Raises:
            UsageError: what is given is not an id, or one is both accepted and rejected; or who asks may not accept.
            ConflictError: a proposal is not there (any more), or a line that it names has changed; nothing was written.
            BusyError: another review is going on.
        """
        _check(accept, reject)
        texts, sections, replace = texts or {}, sections or {}, replace or {}
        if self.ctx.may_accept or not accept:
            self.settle()
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
                proposal = proposal._replace(section=sections[name])
            chosen += [
                accepted(
                    each,
                    found,
                    text=texts.get(name),
                    both=name in both,
                    as_line=name in lines,
                    replaces=replace.get(name, ()),
                )
                for each in proposal.each
            ]
        chosen += [Decision(each, accept=False) for name in dict.fromkeys(reject) for each in offered[name].each]
        return self.commit(resolved(chosen), found)

    def commit(self, chosen: Sequence[Decision], found: Gathered) -> Reviewed:
        """Do what was decided; what has aged is marked first, in a transaction of its own."""
        if self.ctx.may_accept or not any(each.accept for each in chosen):
            ticks.settle(self, found, but={mark for each in chosen for mark in each.marks})

        def also(session: WriteSession) -> None:
            ids = {one.id for each in chosen for one in (each.proposal, *each.instead)}
            ticks.clear(session, self.ctx.vault, ids)

        done = commit(self.ctx, chosen, also=also)
        return Reviewed(done.txn, list(done.outcomes), list(done.notices))

    def from_note(self) -> Reviewed:
        """Do what was decided in Review.md and its conflict copies; what can't be done stays there, and is named.

        If an agent runs this, and nobody has allowed it to accept, it is only recorded.

        Raises:
            BusyError: another process writes.
            UnwritableError: the vault can't be written.
        """
        self.settle()
        done, notices, recorded = ticks.take(self)
        results = [each for bundle in done for each in bundle.outcomes]
        txns = [bundle.txn for bundle in done if bundle.txn]
        told = [*self.ctx.notices, *notices, *ticks.waiting(self.ctx, recorded)]
        return Reviewed(txns[-1] if txns else None, results, told, len(notices), tuple(recorded))

    def write_note(self, *, limit: int | None = None, expired: bool = False) -> tuple[str, int]:
        """Write what waits into Review.md; what was ticked there already stays.

        Returns:
            Its path, and how many proposals it holds now.
        """
        self.settle()
        ticks.settle(self, self.gather())
        return ticks.write_note(self, self.waiting(limit=limit, expired=expired).proposals)

    def gather(self, *, expired: bool = False, related_for: int | None = 0) -> Gathered:
        """Return everything that waits for review; see :func:`tars_memory.curation.gather.gather`."""
        return gather(self.ctx, expired=expired, related_for=related_for)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Only one review decides at a time.

        Raises:
            BusyError: another one is going on.
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
    for name in (*accept, *reject):
        if not ID.fullmatch(name):
            raise UsageError(f"{name!r} is not a proposal's id", "tars-memory review --list shows them")
    twice = set(accept) & set(reject)
    if twice:
        raise UsageError(f"{', '.join(sorted(twice))}: both accepted and rejected", "say one of them")


class UnapprovedRule(NamedTuple):
    """A rule, or a playbook as a whole, that nobody approved here.

    Attributes:
        path, line: where it is.
        ref: the name of its entry; empty for a playbook.
        section: the heading above it; empty for none. Of a playbook its title.
        text: its words, with those of the bullets below it, a line each.
        raw: its lines and those of its headings, as bytes, without endings; of a shared vault the rule alone, as it
            would stand here.
        vault: the name of the shared vault that has it; its path is whole then. Empty for the person's own.
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
        said = {name: getattr(self, name) for name in ("path", "line", "ref", "section", "text")}
        return said | ({"vault": self.vault} if self.vault else {})


def unapproved(ctx: Caller) -> list[UnapprovedRule]:
    """The rules of the vault, and of its projects, that are bullets, and then the playbooks, that nobody typed or
    approved here.
    """
    paths = sorted(path for path in ctx.vault.paths() if ctx.layout.tier_of(path) is Tier.PROCEDURAL)
    found = [rule for note in ctx.notes(paths) for rule in _of_note(ctx, note.path, note.data)]
    scopes = dict.fromkeys(("", *map(ctx.layout.scope_of, ctx.vault.paths())))
    return [*found, *_playbooks(ctx, playbooks.paths(ctx.vault, scopes))]


def unapproved_beside(ctx: Caller, name: str, other: Vault) -> list[UnapprovedRule]:
    """The rules of a shared vault, and of its project of the name that is chosen, that are not approved here.

    Args:
        ctx: the command's view of the person's own vault.
        name: of the shared one.
        other: to read from; what of it can't be read has none.
    """
    known: set[str] = set()
    for note in ctx.notes(dict.fromkeys(ctx.layout.procedural_of(scope) for scope in ("", ctx.layout.scope))):
        own = recall.loaded.Loaded(note.path, note.data, whole_items=True)
        for unit in recall.loaded.by_approval(own, history.typed_lines(ctx.store.journal, note.path))[0]:
            known |= unit.says
    found: list[UnapprovedRule] = []
    for path in dict.fromkeys(other.layout.procedural_of(scope) for scope in ("", ctx.layout.scope)):
        try:
            there = recall.loaded.Loaded(path, other.read(path), whole_items=True)
        except NotFoundError:
            continue
        except TarsError as error:
            ctx.notices.append(f"{name}: {error.message}")
            continue
        entries = {entry.line: entry for entry in grammar.read(path, there.document)}
        for unit in there.units:
            entry, raw = entries.get(unit.start_line), there.rules.get(unit.start_line)
            if entry is None or not raw or not known.isdisjoint(unit.says):
                continue
            below = raw[1 + entry.raw.count("\n") :]
            text = "\n".join([entry.text, *(line.decode("utf-8", "replace").strip() for line in below)])
            title = next((s.title for s in there.document.sections if s.title == entry.section and s.level > 1), "")
            raw = [f"- {entry.text}".encode("utf-8", "surrogateescape"), *below]
            whole = os.path.join(other.root, path)
            found.append(UnapprovedRule(whole, entry.line, entry.ref, title, text, tuple(raw), name))
    return found


def _playbooks(ctx: Caller, paths: Sequence[str]) -> Iterator[UnapprovedRule]:
    """The playbooks that nobody typed or approved here, each as a whole."""
    for note in ctx.notes(paths):
        first = note.document.body_line
        rows = [note.data[line.start : line.end] for line in note.document.lines[first - 1 :]]
        raw = [row for row in rows if row.strip()]
        if not history.stands_approved(ctx.store.journal, note.path, note.data):
            text = "\n".join(row.decode("utf-8", "replace") for row in raw)
            yield UnapprovedRule(note.path, first, "", playbooks.read(note).title, text, tuple(raw))


def approve(ctx: Caller, rules: Sequence[UnapprovedRule]) -> str | None:
    """Say in the journal that the person approves these rules as they are; those of shared vaults are added to
    Procedural.md, for nothing that others may change is trusted. The transaction that ``undo`` takes.

    Raises:
        UsageError: no person at a terminal does it.
        ConflictError: one of them is not there any more; nothing was approved.
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
    note = recall.loaded.Loaded(path, data, whole_items=True)
    known = history.typed_lines(ctx.store.journal, path)
    entries = {entry.line: entry for entry in grammar.read(path, note.document)}
    for unit in recall.loaded.by_approval(note, known)[1]:
        entry, raw = entries.get(unit.start_line), note.rules.get(unit.start_line)
        if entry is not None and raw:
            below = [line.strip() for line in unit.texts[1 + entry.raw.count("\n") :] if line.strip()]
            headings = [line for above in unit.headings for line in note.raw(above) if line not in known]
            text = "\n".join([entry.text, *below])
            yield UnapprovedRule(path, entry.line, entry.ref, entry.section, text, (*headings, *raw))


ANYWAY = "It was left out as: {kind}"

_TITLE = LEFT_OUT.encode("ascii")


class LeftOut(NamedTuple):
    """One statement that nobody was asked about.

    Attributes:
        entry: its bullet in the session note.
        said: what the note says of it.
        date: of the conversation, ``YYYY-MM-DD``.
    """

    entry: Entry
    said: SessionFact
    date: str

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        stands = {"path": self.entry.path, "line": self.entry.line, "date": self.date}
        said = {"text": self.said.text, "quote": self.said.quote, "said_by": self.said.speaker, "turn": self.said.turn}
        looked = {"fact": self.said.claim or None, "warnings": list(self.said.warnings)}
        return {"id": self.entry.ref, "kind": self.said.kind, **said, **stands, **looked}


def left_out(ctx: Caller) -> list[LeftOut]:
    """All that is left out in the session notes of our scope, the newest conversation first."""
    found: list[LeftOut] = []
    for note in ctx.notes(sorted(ctx.vault.ours(Tier.EPISODIC), reverse=True)):
        if _TITLE in note.data:
            day = str(note.properties.get("date", ""))
            found += (LeftOut(*one, day) for one in sessions.facts_of(note.entries, LEFT_OUT))
    return found


def offer(ctx: Caller, ids: Sequence[str]) -> list[KeptFact]:
    """Make candidates of some of them, in one transaction: lines of their days, which the session notes link to.

    Args:
        ctx: the command's view of the vault.
        ids: of :func:`listed`.

    Returns:
        The candidates with their lines.

    Raises:
        ConflictError: one of them is not there (any more).
        UnwritableError: the vault can't be written.
    """
    there = {one.entry.ref: one for one in left_out(ctx)}
    unknown = [name for name in ids if name not in there]
    if unknown:
        raise ConflictError(
            f"nothing with the id {', '.join(unknown)} is left out; nothing was written",
            "tars-memory review --left-out lists what is",
        )
    chosen = [there[name] for name in dict.fromkeys(ids)]
    today = ctx.now.date().isoformat()
    with ctx.writing("extract", None, atomic=True) as session:
        daily = extraction.keeping.Dailies(ctx, session)
        kept = daily.write([daily.add(_fact(one.said), _moment(one, ctx.now), one.said.speaker) for one in chosen])
        for one, line in zip(chosen, kept, strict=True):
            linked = daily.linked(line)

            def moved(data: bytes | None, one: LeftOut = one, linked: SessionFact = linked) -> list[Splice]:
                changes = Changes(data or b"")
                note = sessions.read(one.entry.path, changes.data)
                if note is not None:
                    changes.make(
                        sessions.grow(
                            changes.data, note._replace(facts=(linked,), left_out=(), kept=(), extracted=today)
                        )
                    )
                left = Note(one.entry.path, changes.data)
                same = (each for each, _ in sessions.facts_of(left.entries, LEFT_OUT) if each.text == one.entry.text)
                if (entry := next(same, None)) is None:
                    raise ConflictError(f"{one.entry.path} changed in the meantime", "try again")
                changes.make(edits.remove_bullet(left, entry))
                return changes.splices()

            session.write(one.entry.path, moved)
    return kept


def _fact(said: SessionFact) -> DrawnFact:
    warnings = (*said.warnings, ANYWAY.format(kind=said.kind)) if said.kind else said.warnings
    return DrawnFact(said.text, said.quote, said.turn, seen="stated", warnings=warnings)


def _moment(one: LeftOut, now: datetime) -> datetime:
    """When the conversation began, as its note's name and front matter say; the exact turn is not known any more."""
    clock = re.search(r"\d{4}-\d\d-\d\d (\d\d)(\d\d) ", one.entry.path.rpartition("/")[2])
    try:
        day = datetime.fromisoformat(one.date)
        return day.replace(hour=int(clock[1]), minute=int(clock[2])) if clock else day
    except ValueError:
        return now
