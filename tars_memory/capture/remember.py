"""``remember``, ``log`` and ``feedback``: one bullet more in a note of ours; and what today's note says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.errors import NotFoundError, UnwritableError, UsageError
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Entry, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from tars_memory.capture.caller import Caller, Receipt
    from tars_memory.vault.writing.store import WriteSession

SECTION = "Feedback"


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
    usual = ctx.layout.notes_section
    title = entries.heading(usual if section is None else section) if usual or section is not None else ""
    path = ctx.layout.procedural if tier == Tier.PROCEDURAL else ctx.layout.memory
    moment = entries.instant(words) if entries.is_decision(path, title) else ""
    if entries.is_decision(path, title):
        words = words[len(moment) :].strip(" \t") or words
        moment = moment or f"{ctx.now:%Y-%m-%d %H:%M}"
    change = Change("append", title, words, time=moment, author=ctx.author, target=path, typed=True)
    arguments = {"text": text, "tier": str(tier), "section": section, "tags": list(tags)}
    propose = ctx.must_propose(path)
    with ctx.writing("remember", arguments) as session:
        if propose:
            there = session.note(path).texts.get(words)
            if there:
                return ctx.receipt(path, there[0].line, there[0].ref, words)
            return ctx.proposed(session, change, "gave this rule")
        (landed,) = session.change([change])
        if landed.outcome.reason and tier == Tier.PROCEDURAL and ctx.attended:
            _stand_by(ctx, session, session.note(path).texts[words][0])
    return ctx.landed(landed, words)


def _stand_by(ctx: Caller, session: WriteSession, entry: Entry) -> None:
    """A rule that stands there, though nobody approved it here, is approved by whoever types it again."""
    lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
    if not lines <= vault.writing.history.typed_lines(ctx.store.journal, entry.path):
        session.vouch(entry.path, lines)
        ctx.notices.append(f"{entry.path}:{entry.line} stood there and nobody had approved it here: now you have")


def doubts(words: str, day: date) -> list[str]:
    """What is wrong with an end that a person typed in an entry: not a date, passed by a day, or too early."""
    if "::" not in words:
        return []
    lines = vault.markdown.lines
    end, begun, typed = lines.end_in(words), lines.begins_in(words), lines.typed_end(words)
    if end is not None and begun is not None and end <= begun:
        return [f"it ends on {end}, before it begins on {begun}: it never counts"]
    if end is not None and end <= day:
        return [f"it has ended already, on {end}: search and context leave it out without --expired"]
    if end is None and typed:
        return [f"{typed} is not a date, so the line has no end: write it like [until:: 2026-12-31]"]
    return []


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
    title = ctx.layout.log_heading and entries.heading(ctx.layout.log_heading)
    with ctx.writing("log", {"text": text}) as session:
        if ctx.layout.problem:  # with Obsidian's setting; the words can wait until it is mended
            raise UnwritableError(ctx.layout.problem.message, ctx.layout.problem.hint)
        path = ctx.vault.daily_path(ctx.now.date())
        change = Change("append", title, words, time=f"{ctx.now:%H:%M}", author=ctx.author, target=path)
        create = ctx.new_day(path, ctx.now)
        (landed,) = session.change([change._replace(again=True, typed=True)], create=create)
    return ctx.landed(landed, words)


def feedback(ctx: Caller, good: bool, note: str, question: str | None = None, answer: str | None = None) -> Receipt:
    """Add ``- YYYY-MM-DD HH:MM note`` to rewards.md or corrections.md, question and answer nested under it.

    Raises:
        UsageError: no note.
        UnwritableError: the text is in the spool.
    """
    note, question, answer = ctx.masked(note), question and ctx.masked(question), answer and ctx.masked(answer)
    words = entries.neutralise(note)
    path = ctx.layout.rewards if good else ctx.layout.corrections
    change = Change("append", SECTION, words, time=f"{ctx.now:%Y-%m-%d %H:%M}", author=ctx.author, target=path)
    below = [entries.QUESTION + entries.neutralise(question)] if question and question.strip() else []
    below += [entries.ANSWER + entries.neutralise(answer)] if answer and answer.strip() else []
    change = change._replace(children=tuple(below), again=True, typed=True)
    arguments = {"text": note, "good": good, "question": question, "answer": answer}
    with ctx.writing("feedback", arguments) as session:
        (landed,) = session.change([change])
    return ctx.landed(landed, words)


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
