"""``remember``, ``log`` and ``feedback``: one bullet more in a note of ours; and what today's note says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import NotFoundError, UnwritableError, UsageError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, line_of
from tars_memory.vault.markdown.lines import begins_in, end_in, typed_end
from tars_memory.vault.model import Tier
from tars_memory.vault.note import Note
from tars_memory.vault.template import daily_note, shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from tars_memory.capture.caller import Caller, Receipt
    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.writing.store import Transaction, Written

SECTION = "Feedback"
QUESTION, ANSWER = "question:: ", "answer:: "
"""How the bullets under an entry begin; the double colon is Obsidian's inline-field convention."""


def remember(
    ctx: Caller, text: str, *, tier: str = Tier.SEMANTIC, section: str | None = None, tags: Sequence[str] = ()
) -> Receipt:
    """Add a bullet to Memory.md or Procedural.md, unless the note already holds one with exactly these words.

    A decision (under ``## Decisions``) bears its instant: the one that its words begin with, else now.

    Args:
        ctx: the command's view of the vault.
        text: the words; several lines become one.
        tier: ``semantic`` or ``procedural``. A rule that no person at a terminal gives becomes a proposal.
        section: heading to put it under, made if absent; None means the configured one.
        tags: added to the words as ``#tag``, if they don't hold it yet.

    Raises:
        UsageError: no text, a bad tag, heading or tier.
        UnwritableError: the text is in the spool.
    """
    if tier not in (Tier.SEMANTIC, Tier.PROCEDURAL):
        raise UsageError(f"nothing is remembered in the tier {tier!r}", "use --tier semantic or --tier procedural")
    text, section, tags = ctx.masked(text), section and ctx.masked(section), [ctx.masked(tag) for tag in tags]
    words = entries.tagged(entries.neutralise(text), map(entries.tag, tags))
    ctx.notices += doubts(words, ctx.now.date())
    title = entries.heading(section if section is not None else ctx.layout.notes_section)
    path = ctx.layout.procedural if tier == Tier.PROCEDURAL else ctx.layout.memory
    moment = entries.instant(words) if entries.is_decision(path, title) else ""
    if entries.is_decision(path, title):
        words = words[len(moment) :].strip(" \t") or words
        moment = moment or f"{ctx.now:%Y-%m-%d %H:%M}"
    line = entries.render(entries.Parts(words, time=moment, author=ctx.author))
    arguments = {"text": text, "tier": str(tier), "section": section, "tags": list(tags)}
    with ctx.writing("remember", arguments) as transaction:
        if tier == Tier.PROCEDURAL and not ctx.may_write_rules:
            there = repeated(transaction.read(path) or b"", words, path)
            if there:
                return ctx.receipt(path, there.line, there.ref, words)
            return ctx.proposed(transaction, "append", path, title, words, "gave this rule")

        def add(data: bytes | None) -> Sequence[Splice]:
            return () if repeated(data or b"", words, path) else added(line, title)(data)

        written = transaction.write(path, add, create=shipped(path))
        entry = None if written.changed else repeated(written.text, words, path)
        if entry and tier == Tier.PROCEDURAL and ctx.attended:
            _stand_by(ctx, transaction, entry)
    if entry:
        return ctx.receipt(path, entry.line, entry.ref, words)
    return landed(ctx, written, words)


def _stand_by(ctx: Caller, transaction: Transaction, entry: Entry) -> None:
    """A rule that stands there, though nobody approved it here, is approved by whoever types it again."""
    from tars_memory.vault.writing.history import typed_lines

    lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
    if not lines <= typed_lines(ctx.store.journal, entry.path):
        transaction.vouch(entry.path, lines)
        ctx.notices.append(f"{entry.path}:{entry.line} stood there and nobody had approved it here: now you have")


def doubts(words: str, day: date) -> list[str]:
    """What a person should know of an end that he typed in an entry: it is no date, has passed by a day, or comes too
    early.
    """
    if "::" not in words:
        return []

    end, begun, typed = end_in(words), begins_in(words), typed_end(words)
    if end is not None and begun is not None and end <= begun:
        return [f"it ends on {end}, before it begins on {begun}: it never counts"]
    if end is not None and end <= day:
        return [f"it has ended already, on {end}: search and context leave it out without --expired"]
    if end is None and typed:
        return [f"{typed} is no date, so the line has no end: write it like [until:: 2026-12-31]"]
    return []


def repeated(data: bytes, words: str, path: str) -> Entry | None:
    """The entry of the note that already has exactly these words, or None."""
    if words.encode("utf-8", "surrogateescape") not in data:
        return None
    return next((entry for entry in entries.read(path, Document(data)) if entry.text == words), None)


def added(bullet: str, section: str) -> Callable[[bytes | None], Sequence[Splice]]:
    """The change that puts a bullet at the end of a section."""
    return lambda data: edits.insert_bullet(data or b"", bullet, section=section)


def landed(ctx: Caller, written: Written, words: str) -> Receipt:
    """The receipt of the bullet that was just written, which has these words.

    The note is parsed only if they stand in it more than once, which a long log need not pay for.
    """
    path, said = written.path, words.encode("utf-8", "surrogateescape")
    line, ref = written.line, entries.ref(path, words)
    if written.text.count(said) == 1:
        line = line_of(written.text, written.text.index(said))
    else:
        for entry in Note.of(ctx.layout, path, written.text).entries:
            if entry.text == words and entry.line >= written.line:
                line, ref = entry.line, entry.ref
                break
    return ctx.receipt(path, line, ref, words, written)


def log(ctx: Caller, text: str) -> Receipt:
    """Add ``- HH:MM text`` under the log heading of the day's note; note and time come from the same instant.

    A missing note is made from the vault's own daily template.

    Raises:
        UsageError: no text.
        UnwritableError: the text is in the spool, with its instant.
    """
    text = ctx.masked(text)
    words = entries.neutralise(text)
    ctx.notices += doubts(words, ctx.now.date())
    title = entries.heading(ctx.layout.log_heading)
    line = entries.render(entries.Parts(words, time=f"{ctx.now:%H:%M}", author=ctx.author))
    with ctx.writing("log", {"text": text}) as transaction:
        if ctx.layout.problem:  # with Obsidian's setting; the words can wait until it is mended
            raise UnwritableError(ctx.layout.problem.message, ctx.layout.problem.hint)
        path = ctx.vault.daily_path(ctx.now.date())
        is_new = ctx.vault.look(path) is None
        create = daily_note(ctx.vault, path, ctx.now, ctx.notices) if is_new else b""
        written = transaction.write(path, added(line, title), create=create)
    return landed(ctx, written, words)


def feedback(ctx: Caller, good: bool, note: str, question: str | None = None, answer: str | None = None) -> Receipt:
    """Add ``- YYYY-MM-DD HH:MM note`` to rewards.md or corrections.md, question and answer nested under it.

    Raises:
        UsageError: no note.
        UnwritableError: the text is in the spool.
    """
    note, question, answer = ctx.masked(note), question and ctx.masked(question), answer and ctx.masked(answer)
    words = entries.neutralise(note)
    lines = [entries.render(entries.Parts(words, time=f"{ctx.now:%Y-%m-%d %H:%M}", author=ctx.author))]
    lines += [f"  - {QUESTION}{entries.neutralise(question)}"] if question and question.strip() else []
    lines += [f"  - {ANSWER}{entries.neutralise(answer)}"] if answer and answer.strip() else []
    path = ctx.layout.rewards if good else ctx.layout.corrections
    arguments = {"text": note, "good": good, "question": question, "answer": answer}
    with ctx.writing("feedback", arguments) as transaction:
        written = transaction.write(path, added("\n".join(lines), SECTION), create=shipped(path))
    return landed(ctx, written, words)


class Today(NamedTuple):
    """The daily note of a day.

    Attributes:
        path: relative to the vault, whether or not it exists yet.
        date: the day.
        exists: whether there is such a note.
        text: all of it; empty if there is none.
        entries: its bullets with words.
    """

    path: str
    date: date
    exists: bool
    text: str
    entries: list[Entry]


def today(ctx: Caller) -> Today:
    """The note of the context's day.

    Raises:
        UsageError: the vault's daily note format can't be used.
    """
    day = ctx.now.date()
    path = ctx.vault.daily_path(day)
    try:
        data = ctx.vault.read(path)
    except NotFoundError:
        return Today(path, day, False, "", [])
    read = entries.read(path, Document(data), timed=True)
    return Today(path, day, True, data.decode("utf-8", "replace"), read)
