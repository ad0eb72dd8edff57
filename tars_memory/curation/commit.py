"""The only place where proposals become text: what the person decided, in one transaction, all of it or nothing.

Gates first: who may have which decision carried out, and on which notes, is asked before anything is looked at. Then
everything is looked for in the notes as they are now, under the lock; then the notes are changed, each by one write:
first those that the proposals are about, then the candidates' marks (many of one note from few parses of it, byte for
byte as one after the other), last the inbox. A note that changed meanwhile, an error or a kill takes everything back
(:meth:`tars_memory.vault.writing.store.Store.transaction`).
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory.curation.model import OP_KINDS, Decision, Op, Proposal, Related
from tars_memory.curation.patch import Sheet, ended, locate, patch, splices_between
from tars_memory.errors import ConflictError, UsageError
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import keeps_the_rest, mark_bullet, nested, stated
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.markdown.facts import NEW_FACTS, Predicates
from tars_memory.vault.model import Tier
from tars_memory.vault.note import Note
from tars_memory.vault.template import shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.model import Decision, Mark, Proposal
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.writing.store import Transaction


SOURCE = r"[^\[\]|\r\n]{1,400}#\^[A-Za-z0-9-]{1,100}"
"""A source that a line can link to; anything else says who proposes."""

OPEN = (None, "extracted", "expired")
"""The states of a candidate that nobody has decided about."""

_BLOCK_IDS = re.compile(rb"(?<=[ \t])\^([A-Za-z0-9-]+)(?=[ \t]*(?:[\r\n]|\Z))")

AGAIN = "look again: tars-memory review --list"


class Decided(NamedTuple):
    """What became of one decision.

    Attributes:
        proposal: that was decided about.
        decision: what the person said.
        outcome: ``applied``; or ``no-op``: the note said so already.
        reason: for ``no-op``, why; else empty.
        path, line, ref: of the entry that stands now; empty and 0 if the note was not to be changed.
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
    command: str = "review",
    by_tick: bool = False,
    ticked: str = "",
    also: Callable[[Transaction], None] | None = None,
) -> Committed:
    """Carry out what was decided: all of it, or nothing.

    Args:
        ctx: the command's view of the vault.
        decisions: at most one about each proposal.
        command: as history shows it.
        by_tick: it was ticked in a note; unless an agent runs this, that counts as the person at a terminal.
        ticked: for ``by_tick``, since when it is known that an agent's process found the tick; empty if none did.
        also: what else belongs to the same transaction; done last.

    Raises:
        UsageError: it would take a person at a terminal, a target that is not ours to change, or text without words.
        ConflictError: a note changed since the proposal was made, or it was decided meanwhile.
        UnwritableError: the vault can't be written.
    """
    check(ctx, decisions, by_tick=by_tick)
    if not decisions:
        return Committed(None, (), ctx.notices)
    tick = {"recorded": ticked} if by_tick else None
    with _acting(ctx, tick), ctx.writing(command, None, atomic=True) as transaction:
        batch = _Batch(ctx, transaction, decisions)
        batch.look()
        batch.write()
        if also is not None:
            also(transaction)
    txn = next((written.txn for written in transaction.written if written.txn), None)
    return Committed(txn, tuple(batch.outcomes()), ctx.notices)


def op_of(decision: Decision, notes_section: str = "Notes") -> Op:
    """The op that an accepted proposal comes to, with the person's words if there are any.

    Args:
        decision: an accepted one.
        notes_section: where an entry goes that names no section.

    Raises:
        UsageError: there are no words, or those of a fact state none.
    """
    proposal = decision.proposal
    text = proposal.text if decision.text is None else decision.text
    worded = proposal.op in ("append", "replace") or (proposal.op == "add_section" and bool(proposal.text.strip()))
    source = proposal.source if re.fullmatch(SOURCE, proposal.source) else ""
    author = _author(proposal)
    if proposal.op == "fact":
        ends = None if proposal.fact is None or decision.text is not None else tuple(e.raw for e in proposal.fact.ends)
        return Op(
            "fact", proposal.section, _fact(text), provenance=source, label=proposal.date, ends=ends, author=author
        )
    section = proposal.section or (notes_section if proposal.op == "append" else "")
    return Op(
        proposal.op,  # type: ignore[arg-type]  # checked by the gates
        section=section,
        text=_words(text, proposal) if worded else "",
        target=proposal.replaces,
        provenance=source if worded else "",
        label=proposal.date if worded else "",
        author=author if worded else "",
        occurrence=proposal.occurrence,
    )


def _author(proposal: Proposal) -> str:
    """Whose words a proposal's are: the authors of the lines that it came from."""
    found: dict[str, None] = {}
    for mark in proposal.marks:
        if "[by::" in mark.raw:
            line = " ".join(part.strip() for part in mark.raw.split("\n"))
            found |= dict.fromkeys(filter(None, [grammar.parse(re.sub(r"^[-*+][ \t]+", "", line), timed=True).author]))
    return ", ".join(found)[: grammar.MAX_AUTHOR]


class _Work:
    """What is to be done to one note."""

    def __init__(self, path: str, *, timed: bool, daily: bool = False) -> None:
        self.path = path
        self.timed = timed
        self.daily = daily
        self.ops: list[tuple[int, Op]] = []
        self.marks: list[Marked] = []
        self.done: dict[int, str] = {}
        """By the number of a decision, why there is nothing to do; empty if the op was applied."""
        self._applied: tuple[bytes, bytes] | None = None

    def plan(self, data: bytes | None) -> Sequence[Splice]:
        """See :data:`tars_memory.vault.writing.store.Plan`."""
        before = data or b""
        return splices_between(before, self.apply(before))

    def apply(self, data: bytes) -> bytes:
        """The note after all ops and marks; that of the last bytes it was asked for is remembered.

        Raises:
            ConflictError: one of them can't be done.
        """
        if self._applied is None or self._applied[0] != data:
            self._applied = data, self._after(data)
        return self._applied[1]

    def _after(self, data: bytes) -> bytes:
        self.done = {}
        note = Note(self.path, data, timed=self.timed)
        for _, op in self.ops:
            if op.ends is not None and set(op.ends) != set(ended(note, op)):
                raise ConflictError(f"{self.path} changed: the fact would end something else than was shown", AGAIN)
        patched = patch(note, [op for _, op in self.ops], once=True)
        for (number, _), outcome in zip(self.ops, patched.outcomes, strict=True):
            if outcome.status == "rejected":
                raise ConflictError(outcome.reason, AGAIN)
            self.done[number] = outcome.reason
        after = marked(note.saying(patched.data), self.marks, self._is_open)[0]
        given = Counter(_BLOCK_IDS.findall(after))
        twice = [name for name in given - Counter(_BLOCK_IDS.findall(data)) if given[name] > 1]
        if twice:
            raise ConflictError(f"{self.path}: another line has the block id ^{twice[0].decode()} already", AGAIN)
        return after

    def _is_open(self, entry: Entry | str, one: Marked) -> bool:
        """Whether a candidate is to be marked; not if it was decided so already, or is no candidate: a person's log.

        Raises:
            ConflictError: it is not there, not once, or was decided otherwise.
        """
        if isinstance(entry, str):
            raise ConflictError(entry, AGAIN)
        if entry.state not in (*OPEN, one.state):
            raise ConflictError(f"{entry.path} line {entry.line} is {entry.state} already: {entry.text[:200]}", AGAIN)
        return entry.state != one.state and not (entry.state is None and self.daily)


class _Batch:
    """The decisions of one transaction."""

    def __init__(self, ctx: Caller, transaction: Transaction, decisions: Sequence[Decision]) -> None:
        self.ctx = ctx
        self.transaction = transaction
        self.decisions = decisions
        self.notes: dict[str, _Work] = {}
        self.kept: list[dict[str, Any]] = []
        self.texts: dict[str, bytes] = {}
        self.standing: dict[str, tuple[dict[str, Entry], dict[str, Entry]]] = {}
        self.sheets: dict[str, Sheet] = {}
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
                    raise ConflictError(f"{proposal.id} was decided meanwhile", AGAIN)
                if proposal.kept:
                    self.kept.append(waiting[proposal.id])
            if decision.accept:
                for path, op in self._ops(decision):
                    self._note(path).ops.append((number, op))
        for decision in self.decisions:
            replaced = self._replaced(decision)
            for mark in (each for each in decision.marks if is_candidate(self.ctx, each)):
                state = "promoted" if decision.accept else "rejected"
                self._note(mark.path).marks.append(Marked(mark, state, replaced))
                replaced = ()
        for note in self.notes.values():
            data = self.transaction.read(note.path)
            if data is None and note.marks:
                raise ConflictError(f"{note.path} is gone", AGAIN)
            note.apply(self._fresh(note.path) if data is None else data)

    def write(self) -> None:
        """Change the notes, those that proposals are about before those that are only marked; then the inbox."""
        for note in sorted(self.notes.values(), key=lambda note: not note.ops):
            written = self.transaction.write(note.path, note.plan, create=self._fresh(note.path))
            self.texts[note.path] = written.text
        for proposal in self.kept:
            inbox.drop(self.transaction, proposal)
        for word in ("accepted", "rejected", "ignored"):
            said = [decision.proposal for decision in self.decisions if _word(decision) == word]
            said += [each for decision in self.decisions for each in decision.instead if word == "ignored"]
            what = [(proposal.id, proposal.text or proposal.quote) for proposal in said]
            inbox.decide(self.transaction, what, word, self.ctx.now.date(), project=self.ctx.layout.scope)

    def outcomes(self) -> Iterator[Decided]:
        """What became of each decision."""
        for number, decision in enumerate(self.decisions):
            proposal = decision.proposal
            if not decision.accept:
                yield Decided(proposal, "rejected", "applied")
                continue
            if proposal.op == "choose":
                told = ("applied", "") if decision.replaces else ("no-op", "all of these lines stand")
                yield Decided(proposal, "accepted", *told, proposal.target)  # type: ignore[arg-type]
                continue
            note = self.notes[proposal.target]
            reason = note.done[number]
            line, ref = self._placed(note, op_of(decision))
            yield Decided(proposal, "accepted", "no-op" if reason else "applied", reason, note.path, line, ref)

    def _fresh(self, path: str) -> bytes:
        """What a note that isn't there yet begins with."""
        return NEW_FACTS if path == self.ctx.layout.facts else shipped(path)

    def _ops(self, decision: Decision) -> Iterator[tuple[str, Op]]:
        """By note, what an accepted proposal does: first what becomes of the lines that it replaces.

        The new words take the place of the first one in their own note; each line is replaced once.
        """
        proposal, own = decision.proposal, None
        if proposal.op != "choose":
            own = op_of(decision, self.ctx.layout.notes_section)
            said = facts.said(own.text) if own.kind == "fact" else None
            if said:
                own = own._replace(single=Predicates.of(self.ctx.facts_options).replaces(said.predicate))
            elif own.kind == "replace" and not self._takes(proposal.target, own.target, own.occurrence):
                own = own._replace(kind="append", target="", occurrence=None)
        for line in decision.replaces:
            if not self._takes(line.path, line.raw, line.occurrence):
                continue
            if own and own.kind == "append" and line.path == proposal.target:
                tags = grammar.tags_of(line.text)
                own = own._replace(kind="replace", target=line.raw, occurrence=line.occurrence)
                own = own._replace(text=grammar.tagged(own.text, tags))
            else:
                yield line.path, self._over(line, proposal)
        if own:
            yield proposal.target, own

    def _takes(self, path: str, raw: str, occurrence: int | None) -> bool:
        """Whether a line is still to be had; it is replaced once."""
        line = path, raw, occurrence
        free = line not in self.taken
        self.taken.add(line)
        return free

    def _over(self, line: Related, proposal: Proposal) -> Op:
        """What becomes of a line that is replaced elsewhere: a fact ends, if it held at all; any other line goes."""
        entry = next(iter(grammar.read(line.path, Document(line.raw.encode("utf-8", "surrogateescape")))), None)
        said = facts.said(entry.text) if entry and self.ctx.layout.is_facts(line.path) else None
        day = date.fromisoformat((proposal.fact and proposal.fact.since) or proposal.date) if said else date.min
        if said is None or (said.since and said.since >= day):
            return Op("remove", target=line.raw, occurrence=line.occurrence)
        text = facts.words(said.predicate, said.object, said.since, day)
        return Op("replace", text=text, target=line.raw, occurrence=line.occurrence)

    def _note(self, path: str) -> _Work:
        if path not in self.notes:
            layout = self.ctx.layout
            self.notes[path] = _Work(path, timed=layout.timed(path), daily=layout.tier_of(path) is Tier.DAILY)
        return self.notes[path]

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
            if path not in self.sheets:
                self.sheets[path] = Sheet(Note.of(self.ctx.layout, path, self.transaction.read(path)))
            sheet = self.sheets[path]
            entry = sheet.named(raw, occurrence) or locate(sheet.note, raw)
            if not isinstance(entry, str):
                label = entry.provenance.partition("#")[0].rpartition("/")[2] if entry.provenance else None
                parts = grammar.Parts(grammar.REPLACED + entry.text, provenance=entry.provenance, label=label)
                found.append(grammar.render(parts).removeprefix("- "))
        for each in decision.instead:
            source = each.source if re.fullmatch(SOURCE, each.source) else None
            parts = grammar.Parts(grammar.REPLACED + each.said, provenance=source, label=source and each.date)
            found.append(grammar.render(parts).removeprefix("- "))
        return tuple(dict.fromkeys(found))

    def _placed(self, note: _Work, op: Op) -> tuple[int, str]:
        if note.path not in self.standing:
            self.standing[note.path] = _found(Sheet(Note(note.path, self.texts[note.path], timed=note.timed)))
        said, came = self.standing[note.path]
        entry = said.get(op.text) or came.get(op.provenance)
        return (entry.line, entry.ref) if entry and op.text else (0, "")


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


def _found(sheet: Sheet) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The first entry with these words (of a task, without its box, too), and with this provenance."""
    said: dict[str, Entry] = {}
    for entry in sheet.entries:
        said.setdefault(entry.text, entry)
        said.setdefault(entry.text[len(grammar.task(entry.text)) :], entry)
    return said, {name: entries[0] for name, entries in sheet.sources.items()}


def _word(decision: Decision) -> str:
    """How a decision is remembered; who lets all lines of a question stand is not asked again."""
    if decision.proposal.op == "choose" and not decision.replaces:
        return "ignored"
    return "accepted" if decision.accept else "rejected"


def _since(decision: Decision) -> str:
    """The first day of a fact; empty for all that is none."""
    return (decision.proposal.fact and decision.proposal.fact.since) or ""


def _fact(text: str) -> str:
    """The words of a fact as they can be written.

    Raises:
        UsageError: they state none.
    """
    said = facts.said(grammar.neutralise(text))
    if said is None or (said.since and said.until and said.until <= said.since):
        raise UsageError(f"{text[:200]!r} is no fact", 'write it so: "lives in:: Cork [since:: 2026-11-14]"')
    typed = facts.said(text) or said  # neutralised, a field is none any more
    if field := facts.stray(f"{typed.predicate} {typed.object}"):
        raise UsageError(f"{field} in {text[:200]!r} is no date of a fact", facts.HOW)
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
    if proposal.op not in OP_KINDS or (proposal.op == "fact") != (proposal.fact is not None):
        return f"nothing is known that is called {proposal.op[:40]!r}"
    if proposal.op == "add_section":
        try:
            heading(proposal.section)
        except UsageError:
            return "it names no heading"
    ours = tier is not Tier.NOTE or proposal.target in (layout.corrections, layout.rewards)
    return "" if ours and proposal.target[-3:] == ".md" else f"it would change {proposal.target}, which is yours alone"


def _check_accepted(ctx: Caller, proposal: Proposal, paths: Collection[str], *, by_tick: bool) -> None:
    why = refused(ctx.layout, proposal)
    if why:
        raise UsageError(f"{proposal.id} can't be accepted: {why}", "reject it, or edit the note")
    rule = any(ctx.layout.tier_of(path) is Tier.PROCEDURAL for path in paths)
    missing = [] if by_tick or ctx.may_accept else ["unattended_review"]
    if rule and not (by_tick or ctx.may_write_rules):
        missing.append("unattended_rules")
    if missing:
        what = f"{proposal.id} is a rule: accepting it" if rule else f"accepting {proposal.id}"
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


LEAST = 2
"""Marks that are worth a parse together."""


class Marked(NamedTuple):
    """What a candidate becomes.

    Attributes:
        mark: its line.
        state: its new state.
        children: words of bullets to nest under it.
        named: whether it gets its block id.
    """

    mark: Mark
    state: str
    children: tuple[str, ...] = ()
    named: bool = True


def marked(note: Note, wanted: Sequence[Marked], chosen: Callable[[Entry | str, Marked], bool]) -> tuple[bytes, int]:
    """A note with other states for some of its lines, and how many of them were marked.

    Of lines that are alike in every byte the first one is taken: it says something else from then on, and a second mark
    finds the next one.

    Args:
        note: as it is.
        wanted: in order.
        chosen: whether the entry that was found (or else why it can't be told) is to be marked; what it raises is
            raised. It may be asked twice.
    """
    at, most, done = 0, len(wanted), 0
    while at < len(wanted):
        bundle = _Bundle(Sheet(note)) if most >= LEAST else None
        count = bundle.take(wanted[at : at + most], chosen) if bundle else 0
        after = bundle.after() if bundle and count >= LEAST else None
        if bundle is not None and after is not None:
            note, at, most, done = note.saying(after), at + count, len(wanted), done + bundle.count
        elif count >= LEAST:
            most = count // 2
        else:
            one = wanted[at]
            entry = locate(note, one.mark.raw, occurrence=0)
            if chosen(entry, one) and not isinstance(entry, str):
                name = one.mark.block_id if one.named else ""
                splices = mark_bullet(note, entry, one.state, block_id=name, children=one.children)
                note, done = note.saying(apply(note.data, splices)), done + 1
            at, most = at + 1, len(wanted)
    return note.data, done


class _Bundle:
    """Marks on lines that have nothing to do with each other; ``count`` of them are planned."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._splices: list[Splice] = []
        self._children: list[Splice] = []
        self._come: list[tuple[int, int]] = []
        """Of each nested bullet, behind which line it comes, how deep."""
        self.count = 0
        self._touched: set[int] = set()
        self._changed: set[str] = set()

    def take(self, wanted: Sequence[Marked], chosen: Callable[[Entry | str, Marked], bool]) -> int:
        """Plan the first marks; how many of them were."""
        for count, one in enumerate(wanted):
            raw = re.sub(r"\r\n|\r", "\n", one.mark.raw)
            entry = None if raw in self._changed else self.sheet.named(raw, 0)
            if entry is None or entry.line in self._touched or not self._free(entry, one):
                return count
            if chosen(entry, one):
                self._mark(entry, one)
                self.count += 1
        return len(wanted)

    def after(self) -> bytes | None:
        """The note with all of it done; None if a nested line would change what stands around it."""
        data = self.sheet.data
        bare = apply(data, sorted(self._splices, key=_place))
        if not self._children:
            return bare
        whole = apply(data, sorted([*self._splices, *self._children], key=_place))
        come = {line + number: depth for number, (line, depth) in enumerate(sorted(self._come), 1)}
        return whole if keeps_the_rest(bare, whole, come) else None

    def _free(self, entry: Entry, one: Marked) -> bool:
        """Whether nothing else is nested where its own line would be."""
        return not one.children or all(line != entry.end_line for line, _ in self._come)

    def _mark(self, entry: Entry, one: Marked) -> None:
        sheet = self.sheet
        bullet = sheet.bullets[entry.line]
        name = one.mark.block_id if one.named else ""
        splices = stated(sheet.note, bullet, entry, one.state, block_id=name)
        self._splices += splices
        if one.children:
            self._children.append(nested(sheet.document, bullet, one.children))
            self._come += [(bullet.end_line, bullet.depth + 1)] * len(one.children)
        first, last = sheet.document.lines[bullet.line - 1], sheet.document.lines[bullet.own_end_line - 1]
        own = [splice._replace(start=splice.start - first.start, end=splice.end - first.start) for splice in splices]
        new = apply(sheet.data[first.start : last.end], own).decode("utf-8", "surrogateescape")
        self._changed |= {entry.raw, re.sub(r"\r\n|\r", "\n", new)}
        self._touched.add(entry.line)


def _place(splice: Splice) -> tuple[int, int]:
    return splice.start, splice.end
