"""``why``: where a line came from: the day that noted it, the sentence that was said, who approved it, what it
replaced.

All that it says is in the notes (the link of a promoted line, the quote under a session's fact, the words that were
replaced) or in the journal, which keeps decisions for ever. Where the trail ends is said, never guessed.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture import amend
from tars_memory.errors import AmbiguousError, TarsError
from tars_memory.vault import sessions
from tars_memory.vault.inbox import INBOX
from tars_memory.vault.links import links_of
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.writing import history, journal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tars_memory.capture.remember import Caller

APPROVES = ("review", "tidy")
"""Commands whose writes a person has decided about."""


class Trace(NamedTuple):
    """One step of the trail.

    Attributes:
        kind: ``approved`` or ``written`` (who put the line there), ``reworded`` (by hand, since), ``unknown`` (the
            journal does not know), ``proposed``,
            ``candidate`` (the day's line it came from), ``replaced`` (what was there before), ``said`` (in a
            session), ``promoted`` (where a day's line was taken to), ``end`` (why the trail ends here).
        text: the words of the line; for ``approved``, ``written`` and ``end`` a sentence.
        path, line: where; empty and 0 for what is in the journal alone.
        date: day or instant, as it is known; empty if it isn't.
        speaker: who said it.
        quote: verbatim.
        turn: number of the turn in the conversation; 0 if it isn't known.
        actor: who wrote or approved.
        txn: the session, as ``history`` and ``undo`` name it.
        author: whose words the line bears, where it says so.
    """

    kind: str
    text: str
    path: str = ""
    line: int = 0
    date: str = ""
    speaker: str = ""
    quote: str = ""
    turn: int = 0
    actor: str = ""
    txn: str = ""
    author: str = ""


class Trail(NamedTuple):
    """Where a line came from.

    Attributes:
        ref, text, path, line: of the entry.
        author: of the entry, where it says so.
        chain: step by step, from the line back to what was said.
    """

    ref: str
    text: str
    path: str
    line: int
    author: str
    chain: tuple[Trace, ...]


def why(ctx: Caller, target: str) -> Trail:
    """Where an entry came from.

    Args:
        ctx: the command's view of the vault; nothing is written.
        target: a REF, or words that fit one entry only; one of the tiers comes before the day's line it came from.

    Raises:
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
        UnwritableError: the journal can't be read.
    """
    entry = _named(ctx, target)
    return Trail(entry.ref, entry.text, entry.path, entry.line, entry.author or "", tuple(_Walk(ctx).steps(entry)))


def _named(ctx: Caller, target: str) -> Entry:
    try:
        return amend.find(ctx, target)
    except AmbiguousError as error:
        said = " ".join(target.casefold().split())
        refs = {line.partition(" ")[0] for line in error.candidates}
        kept = [*amend.entries(ctx, Tier.SEMANTIC), *amend.entries(ctx, Tier.PROCEDURAL)]
        found = [entry for entry in kept if entry.ref in refs]
        same = [entry for entry in found if " ".join(entry.text.casefold().split()) == said]
        if len(same) == 1:
            return same[0]
        if len(found) != 1 or not refs <= {found[0].ref, *_Walk(ctx).trail(found[0])}:
            raise
        return found[0]


class _Walk:
    """The way back from one line."""

    def __init__(self, ctx: Caller) -> None:
        self.ctx = ctx
        self.layout = ctx.layout

    def steps(self, entry: Entry) -> Iterator[Trace]:
        """From the line to what was said, and where it can't be followed further."""
        known = yield from self._written(entry)
        if entry.provenance:
            yield from self._candidate(entry.provenance)
        elif entry.block_id and self.layout.tier_of(entry.path) is not Tier.SEMANTIC:
            yield from self._below(entry)
            yield from self._promoted(entry)
            yield from self._said(entry)
        elif not known:
            yield _end(
                f"{entry.path} has no link to a day there, and the journal of this machine does not know the line: it "
                "was written by hand, by another program or machine, or too long ago"
            )

    def trail(self, entry: Entry) -> Iterator[str]:
        """The REFs of the lines that an entry came from."""
        found = self._follow(entry.provenance or "")
        if not isinstance(found, str):
            yield from (found.ref, *(child.ref for child in self._children(found)))

    def _written(self, entry: Entry) -> Generator[Trace, None, bool]:
        """Who put the line there, who approved it, whether it was reworded by hand since; answers if that is known."""
        found = list(self._writes(entry))
        exact = [write for write, same in found if same]
        if found and not exact:
            yield Trace(
                "reworded", "the words were changed since, by hand or by another program", entry.path, entry.line
            )
        if not found and entry.provenance:
            yield Trace("unknown", "the journal of this machine does not know who approved it")
        told = [*exact[:1], *(write for write, _ in found if write.command in APPROVES), *(w for w, _ in found[-1:])]
        for write in {write.txn: write for write in told}.values():
            yield _step(write)
            if write.command in APPROVES:
                yield from self._proposed(write, entry)
        return bool(found)

    def _writes(self, entry: Entry) -> Iterator[tuple[history.JournalEntry, bool]]:
        """Writes not undone that brought this line or what it was before, newest first; and whether these words."""
        lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
        signs = [f"([[{entry.provenance}"] if entry.provenance else []
        signs += [f"^{entry.block_id}"] if entry.block_id else []
        signs += [entry.text] if self.layout.timed(entry.path) else []  # it may have got its id and state since
        marks = [sign.encode("utf-8", "surrogateescape") for sign in signs]
        for path in dict.fromkeys((entry.path, self._place(entry.path))):
            for write in history.entries(self.ctx.store.journal, path=path):
                if write.undone or write.undoes or write.purged:
                    continue
                added = [edits.bare(line) for span in journal.unpack(write.record) for line in edits.changed(span)[1]]
                same = any(line in lines for line in added)
                if same or any(mark in line for line in added for mark in marks):
                    yield write, same

    def _place(self, path: str) -> str:
        """Where an archived note was before."""
        return path.replace(f"{self.layout.archive}/", "", 1) if self.layout.is_archived(path) else path

    def _proposed(self, approval: history.JournalEntry, entry: Entry) -> Iterator[Trace]:
        """The proposal of the inbox that was accepted, if the line came from one."""
        for write in history.entries(self.ctx.store.journal):
            if write.txn < approval.txn:
                return
            if write.txn != approval.txn or write.op != "remove" or not write.file.startswith(f"{INBOX}/"):
                continue
            try:
                said = json.loads(journal.base_of(write.record).decode("utf-8", "surrogateescape"))
                fits = said["target"] == entry.path and said["text"] == entry.text
                if fits:
                    yield Trace("proposed", str(said["why"]), date=str(said["date"]), actor=str(said["source"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def _candidate(self, provenance: str) -> Iterator[Trace]:
        """The line that a promoted one links to, and further back from there."""
        found = self._follow(provenance)
        if isinstance(found, str):
            yield _end(found)
            return
        day = self.layout.day_of(found.path)
        date = day.isoformat() if day else (found.time or "")[:10]
        evidence, author = self._evidence(found), found.author or ""
        yield Trace("candidate", found.text, found.path, found.line, date, quote=evidence, author=author)
        yield from self._below(found)
        writers = [write for write, _ in self._writes(found) if write.command not in APPROVES]
        if writers:
            yield _step(writers[-1])
        yield from self._said(found)

    def _follow(self, provenance: str) -> Entry | str:
        """The entry that a provenance link leads to, or why there is none."""
        name, _, block = provenance.partition("#^")
        path = links_of(self.ctx.vault).resolve(name)
        if path is None:
            return f"the note {name} that it came from is gone"
        if not self.layout.is_ours(path):
            return f"{name} that it came from is of another project, or of none"
        found = [
            entry for entry in self._note(path).entries if entry.block_id and entry.block_id.lower() == block.lower()
        ]
        return found[0] if found else f"{path} holds no line ^{block} any more"

    def _below(self, entry: Entry) -> Iterator[Trace]:
        """What the line replaced when it was promoted."""
        for child in self._children(entry):
            if child.text.startswith(grammar.REPLACED):
                label = grammar.label_of(child)
                yield Trace("replaced", child.text.removeprefix(grammar.REPLACED), child.path, child.line, label)

    def _evidence(self, entry: Entry) -> str:
        """What is nested under a correction: question and answer."""
        if entry.path not in (self.layout.corrections, self.layout.rewards):
            return ""
        return " / ".join(child.text for child in self._children(entry) if not child.text.startswith(grammar.REPLACED))

    def _promoted(self, entry: Entry) -> Iterator[Trace]:
        """Where a day's line was taken to."""
        for path in (self.layout.memory, self.layout.procedural, self.layout.facts):
            for other in self._note(path).entries:
                if other.provenance and other.provenance.lower().endswith(f"#^{entry.block_id}".lower()):
                    yield Trace("promoted", other.text, other.path, other.line)

    def _said(self, entry: Entry) -> Iterator[Trace]:
        """The fact of a session that has this line, with its quote."""
        if entry.path in (self.layout.corrections, self.layout.rewards):
            yield _end("it was given as feedback; the note above is all there is of it")
            return
        sign = f"#^{entry.block_id}".lower()
        for path in self._sessions(entry):
            if sign.encode() not in self._note(path).data.lower():
                continue
            for fact, said in sessions.facts_of(self._note(path).entries, None):
                if said.source.lower().endswith(sign):
                    yield self._quoted(fact, said)
                    return
        yield _end("no session note quotes it: it was noted otherwise, or the session note was edited or removed")

    def _quoted(self, fact: Entry, said: sessions.SessionFact) -> Trace:
        date = re.match(r"\d{4}-\d\d-\d\d", fact.path.rpartition("/")[2])
        when = str(self._note(fact.path).properties.get("date") or (date[0] if date else ""))
        return Trace("said", fact.text, fact.path, fact.line, when, said.speaker, said.quote, said.turn)

    def _sessions(self, entry: Entry) -> list[str]:
        """The session notes of our scope, those of the line's own day first."""
        day = self.layout.day_of(entry.path)
        return sorted(
            self.ctx.vault.ours(Tier.EPISODIC), key=lambda path: (day is None or day.isoformat() not in path, path)
        )

    def _children(self, entry: Entry) -> list[Entry]:
        below = range(entry.line + 1, entry.end_line + 1)
        every = self._note(entry.path).entries
        return [other for other in every if other.line in below and other.depth == entry.depth + 1]

    def _note(self, path: str) -> Note:
        """The note; empty if it can't be read, so that the trail ends there."""
        try:
            return self.ctx.vault.note(path)
        except TarsError:
            return Note.of(self.layout, path, None)


def _step(write: history.JournalEntry) -> Trace:
    approved = write.command in APPROVES
    text = f"{'approved' if approved else 'written'} by {write.actor} ({write.command}){_ticked(write)}"
    kind = "approved" if approved else "written"
    return Trace(kind, text, write.file, write.line, write.time, actor=write.actor, txn=write.txn)


def _ticked(write: history.JournalEntry) -> str:
    """That nobody was there but a tick, and whether an agent's process knew it first."""
    tick = write.record.get("tick")
    if not isinstance(tick, dict):
        return ""
    found = str(tick.get("recorded") or "")[:16].replace("T", " ")
    return ", by a tick in a note" + (f" that an agent's process found first ({found})" if found else "")


def _end(text: str) -> Trace:
    return Trace("end", text)
