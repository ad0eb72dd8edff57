"""``why``: traces a line back to the day that noted it, the sentence that was said, who approved it, and what it
replaced.

All of that is in the notes (the link of a promoted line, the quote under a session's fact, the words that were
replaced) or in the journal, which keeps decisions forever. Where the trail ends, the answer says so; it never guesses.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture import amend
from tars_memory.errors import AmbiguousError, TarsError
from tars_memory.vault import inbox, links, sessions
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.writing import history, journal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tars_memory.capture.remember import Caller

APPROVES = ("review", "tidy")
"""Commands whose writes a person has approved."""


class Trace(NamedTuple):
    """One step of the trail.

    Attributes:
        kind: ``approved`` or ``written`` (who wrote the line), ``reworded`` (by hand, since), ``unknown`` (not in the
            journal), ``proposed`` (the accepted proposal), ``candidate`` (the daily line that it came from),
            ``replaced`` (what was there before), ``said`` (in a session), ``promoted`` (the line that a daily line
            became), ``end`` (why the trail ends here).
        text: the words of the line; for ``approved``, ``written`` and ``end`` a sentence.
        path, line: where; empty and 0 for a step that only the journal has.
        date: day or time, as far as it is known; empty if it isn't.
        speaker: who said it.
        quote: verbatim.
        turn: number of the turn in the conversation; 0 if it isn't known.
        actor: who wrote or approved the line.
        txn: the transaction, as ``history`` and ``undo`` name it.
        author: of the line's words, if the line names one.
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
    """The origin of a line.

    Attributes:
        ref, text, path, line: of the entry.
        author: of the entry, if it names one; else empty.
        chain: the steps, from the line back to what was said.
    """

    ref: str
    text: str
    path: str
    line: int
    author: str
    chain: tuple[Trace, ...]


def why(ctx: Caller, target: str, has_log: Callable[[str], bool] = lambda _: True) -> Trail:
    """Return where an entry came from.

    Args:
        ctx: the command's view of the vault; nothing is written.
        target: a REF, or words that fit only one entry; a line of a tier note is preferred to the daily line that it
            came from.
        has_log: whether a log with this file name is on this machine, or may be.

    Raises:
        NotFoundError: no such entry.
        AmbiguousError: several entries fit; they are listed.
        UnwritableError: the journal can't be read.
    """
    entry = _find(ctx, target)
    steps = _Tracer(ctx, has_log).steps(entry)
    return Trail(entry.ref, entry.text, entry.path, entry.line, entry.author or "", tuple(steps))


def _find(ctx: Caller, target: str) -> Entry:
    """Return the entry that is meant: see :func:`why`."""
    try:
        return amend.find(ctx, target, anywhere=True)
    except AmbiguousError as error:
        words = " ".join(target.casefold().split())
        refs = {line.partition(" ")[0] for line in error.candidates}
        of_tiers = [*amend.entries(ctx, Tier.SEMANTIC), *amend.entries(ctx, Tier.PROCEDURAL)]
        found = [entry for entry in of_tiers if entry.ref in refs]
        same = [entry for entry in found if " ".join(entry.text.casefold().split()) == words]
        if len(same) == 1:
            return same[0]
        if len(found) != 1 or not refs <= {found[0].ref, *_Tracer(ctx).origins(found[0])}:
            raise
        return found[0]


class _Tracer:
    """Traces lines back to what was said."""

    def __init__(self, ctx: Caller, has_log: Callable[[str], bool] = lambda _: True) -> None:
        self.ctx = ctx
        self.layout = ctx.layout
        self.has_log = has_log

    def steps(self, entry: Entry) -> Iterator[Trace]:
        """Yield the steps from the line back to what was said, or to where the trail ends."""
        known = yield from self._approvals(entry)
        if entry.provenance:
            yield from self._candidate(entry.provenance)
        elif entry.block_id and self.layout.tier_of(entry.path) is not Tier.SEMANTIC:
            yield from self._replaced(entry)
            yield from self._promoted(entry)
            yield from self._quote(entry)
        elif not known:
            yield _end(
                f"{entry.path} has no link to a day there, and this machine's journal doesn't record the line: it "
                "was written by hand, by another program or machine, or too long ago"
            )

    def origins(self, entry: Entry) -> Iterator[str]:
        """Yield the REFs of the line that an entry came from, and of the bullets below that line."""
        found = self._follow(entry.provenance or "")
        if not isinstance(found, str):
            yield from (found.ref, *(child.ref for child in self._children(found)))

    def _approvals(self, entry: Entry) -> Generator[Trace, None, bool]:
        """Yield who wrote the line and who approved it, and whether it was reworded by hand since.

        Returns:
            Whether the journal knows the line.
        """
        found = list(self._writes(entry))
        exact = [write for write, same in found if same]
        if found and not exact:
            yield Trace(
                "reworded", "the words have been changed since, by hand or by another program", entry.path, entry.line
            )
        if not found and entry.provenance:
            yield Trace("unknown", "this machine's journal doesn't record who approved it")
        first = [write for write, _ in found[-1:]]
        shown = [*exact[:1], *(write for write, _ in found if write.command in APPROVES), *first]
        for write in {write.txn: write for write in shown}.values():
            yield _step(write)
            if write.command in APPROVES:
                yield from self._proposed(write, entry)
        return bool(found)

    def _writes(self, entry: Entry) -> Iterator[tuple[history.JournalEntry, bool]]:
        """Yield the writes, not undone since, that wrote this line or an earlier version of it, newest first.

        Yields:
            A write, and whether it wrote the line exactly as it is now.
        """
        lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
        texts = [f"([[{entry.provenance}"] if entry.provenance else []
        texts += [f"^{entry.block_id}"] if entry.block_id else []
        texts += [entry.text] if self.layout.timed(entry.path) else []  # it may have got its id and state since
        marks = [text.encode("utf-8", "surrogateescape") for text in texts]
        for path in dict.fromkeys((entry.path, self._unarchived(entry.path))):
            for write in history.entries(self.ctx.store.journal, path=path):
                if write.undone or write.undoes or write.purged:
                    continue
                spans = journal.unpack(write.record)
                added = [line for span in spans for line in edits.changed_texts(span)[1]]
                same = any(line in lines for line in added)
                if same or any(mark in line for line in added for mark in marks):
                    yield write, same

    def _unarchived(self, path: str) -> str:
        """Return the path that an archived note had before; any other path as it is."""
        return path.replace(f"{self.layout.archive}/", "", 1) if self.layout.is_archived(path) else path

    def _proposed(self, approval: history.JournalEntry, entry: Entry) -> Iterator[Trace]:
        """Yield the proposal of the inbox that was accepted, if the line came from one."""
        for write in history.entries(self.ctx.store.journal):
            if write.txn < approval.txn:
                return
            if write.txn != approval.txn or write.op != "remove" or not write.file.startswith(f"{inbox.INBOX}/"):
                continue
            try:
                stored = json.loads(journal.base_of(write.record).decode("utf-8", "surrogateescape"))
                if stored["target"] == entry.path and stored["text"] == entry.text:
                    yield Trace("proposed", str(stored["why"]), date=str(stored["date"]), actor=str(stored["source"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def _candidate(self, provenance: str) -> Iterator[Trace]:
        """Yield the line that a promoted one links to, and the steps back from there."""
        found = self._follow(provenance)
        if isinstance(found, str):
            yield _end(found)
            return
        day = self.layout.day_of(found.path)
        date = day.isoformat() if day else (found.time or "")[:10]
        evidence, author = self._evidence(found), found.author or ""
        yield Trace("candidate", found.text, found.path, found.line, date, quote=evidence, author=author)
        yield from self._replaced(found)
        writes = [write for write, _ in self._writes(found) if write.command not in APPROVES]
        if writes:
            yield _step(writes[-1])
        yield from self._quote(found)

    def _follow(self, provenance: str) -> Entry | str:
        """Return the entry that a provenance link leads to, or a sentence why there is none."""
        name, _, block = provenance.partition("#^")
        path = links.links_of(self.ctx.vault).resolve(name)
        if path is None:
            return f"the note {name} that it came from is gone"
        if not self.layout.is_ours(path):
            return f"{name} that it came from belongs to another project, or to none"
        found = [
            entry for entry in self._note(path).entries if entry.block_id and entry.block_id.lower() == block.lower()
        ]
        return found[0] if found else f"{path} no longer has a line ^{block}"

    def _replaced(self, entry: Entry) -> Iterator[Trace]:
        """Yield what the line replaced when it was promoted."""
        for child in self._children(entry):
            if child.text.startswith(grammar.REPLACED):
                label = grammar.label_of(child)
                yield Trace("replaced", child.text.removeprefix(grammar.REPLACED), child.path, child.line, label)

    def _evidence(self, entry: Entry) -> str:
        """Return the question and answer nested under feedback; empty for any other line."""
        if entry.path not in (self.layout.corrections, self.layout.rewards):
            return ""
        return " / ".join(child.text for child in self._children(entry) if not child.text.startswith(grammar.REPLACED))

    def _promoted(self, entry: Entry) -> Iterator[Trace]:
        """Yield the lines of the tier notes that a daily line became."""
        for path in (self.layout.memory, self.layout.procedural, self.layout.facts):
            for other in self._note(path).entries:
                if other.provenance and other.provenance.lower().endswith(f"#^{entry.block_id}".lower()):
                    yield Trace("promoted", other.text, other.path, other.line)

    def _quote(self, entry: Entry) -> Iterator[Trace]:
        """Yield the session's fact that links to this line, with its quote; else why the trail ends."""
        if entry.path in (self.layout.corrections, self.layout.rewards):
            yield _end("it was given as feedback; there is nothing but the note above")
            return
        anchor = f"#^{entry.block_id}".lower()
        for path in self._sessions(entry):
            if anchor.encode() not in self._note(path).data.lower():
                continue
            for bullet, fact in sessions.facts_of(self._note(path).entries, None):
                if fact.source.lower().endswith(anchor):
                    yield self._said(bullet, fact)
                    log = self._note(path).properties.get("source")
                    if isinstance(log, str) and not self.has_log(log):
                        yield _end(f"the log of that conversation, {log}, is in none of your sources on this machine")
                    return
        yield _end("no session note quotes it: it was noted in another way, or the session note was edited or removed")

    def _said(self, bullet: Entry, fact: sessions.SessionFact) -> Trace:
        in_name = re.match(r"\d{4}-\d\d-\d\d", bullet.path.rpartition("/")[2])
        date = str(self._note(bullet.path).properties.get("date") or (in_name[0] if in_name else ""))
        return Trace("said", bullet.text, bullet.path, bullet.line, date, fact.speaker, fact.quote, fact.turn)

    def _sessions(self, entry: Entry) -> list[str]:
        """Return the paths of the session notes of our scope, those of the line's own day first."""
        day = self.layout.day_of(entry.path)
        paths = self.ctx.vault.tier_paths(Tier.EPISODIC)
        return sorted(paths, key=lambda path: (day is None or day.isoformat() not in path, path))

    def _children(self, entry: Entry) -> list[Entry]:
        """Return the bullets directly below an entry."""
        below = range(entry.line + 1, entry.end_line + 1)
        entries = self._note(entry.path).entries
        return [other for other in entries if other.line in below and other.depth == entry.depth + 1]

    def _note(self, path: str) -> Note:
        """Return a note; an empty one if it can't be read, so that the trail ends there."""
        try:
            return self.ctx.vault.note(path)
        except TarsError:
            return Note.of(self.layout, path, None)


def _step(write: history.JournalEntry) -> Trace:
    """Return the step that says who wrote or approved a line."""
    approved = write.command in APPROVES
    text = f"{'approved' if approved else 'written'} by {write.actor} ({write.command}){_ticked(write)}"
    kind = "approved" if approved else "written"
    return Trace(kind, text, write.file, write.line, write.time, actor=write.actor, txn=write.txn)


def _ticked(write: history.JournalEntry) -> str:
    """Return words for a write that applied a tick, and whether an agent's process found it first; else nothing."""
    tick = write.record.get("tick")
    if not isinstance(tick, dict):
        return ""
    found = str(tick.get("recorded") or "")[:16].replace("T", " ")
    return ", by a tick in a note" + (f" that an agent's process found first ({found})" if found else "")


def _end(text: str) -> Trace:
    return Trace("end", text)
