"""``remember``: keep a fact, or a rule, as one bullet of a tier note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.capture.model import Receipt
from tars_memory.capture.placing import doubts, heading, insert, placed, repeated
from tars_memory.errors import UsageError
from tars_memory.vault.inbox import INBOX, kept_for_review, propose
from tars_memory.vault.markdown import entries
from tars_memory.vault.model import Tier
from tars_memory.vault.template import shipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.context import Context
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.store import Transaction


def remember(
    ctx: Context, text: str, *, tier: str = Tier.SEMANTIC, section: str | None = None, tags: Sequence[str] = ()
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
    words = _words(text, tags)
    ctx.notices += doubts(words, ctx.now.date())
    title = heading(section if section is not None else ctx.layout.notes_section)
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
                return Receipt(None, path, there.line, there.ref, words, written=False, notices=ctx.notices)
            why = f"{ctx.actor} gave this rule without a person at a terminal"
            source = str(ctx.actor)
            proposal = propose(
                transaction, op="append", target=path, section=title, text=words, source=source, when=ctx.now, why=why
            )
            ctx.notices.append(kept_for_review(proposal))
            where, name = f"{INBOX}/{proposal['id']}.json", proposal["id"]
            return Receipt(None, where, 1, name, words, written=False, notices=ctx.notices)
        written = transaction.write(
            path, lambda data: insert(data, line, title, once=words, path=path), create=shipped(path)
        )
        entry = None if written.changed else repeated(written.text, words, path)
        if entry and tier == Tier.PROCEDURAL and ctx.attended:
            _stand_by(ctx, transaction, entry)
    if not written.changed:
        number, ref = (entry.line, entry.ref) if entry else (1, entries.ref(path, words))
        return Receipt(None, path, number, ref, words, written=False, notices=ctx.notices)
    number, ref = placed(written, words, timed=False)
    return Receipt(written.txn or None, path, number, ref, words, written=not ctx.store.dry_run, notices=ctx.notices)


def _stand_by(ctx: Context, transaction: Transaction, entry: Entry) -> None:
    """A rule that stands there, though nobody approved it here, is approved by whoever types it again."""
    from tars_memory.vault.writing.history import typed_lines

    lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
    if not lines <= typed_lines(ctx.store.journal, entry.path):
        transaction.vouch(entry.path, lines)
        ctx.notices.append(f"{entry.path}:{entry.line} stood there and nobody had approved it here: now you have")


def _words(text: str, tags: Sequence[str]) -> str:
    return entries.tagged(entries.neutralise(text), map(entries.tag, tags))
