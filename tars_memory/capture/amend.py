"""``edit`` and ``forget``: other words for an entry, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.capture.listing import ambiguous, find, fitting
from tars_memory.capture.model import Receipt
from tars_memory.capture.placing import doubts
from tars_memory.vault.inbox import INBOX, kept_for_review, propose, purge
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.context import Context
    from tars_memory.capture.copies import Copies
    from tars_memory.capture.model import Turn
    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.writing.store import Transaction


def edit(ctx: Context, target: str, text: str, *, tags: Sequence[str] = (), bare: bool = False) -> Receipt:
    """Give an entry other words. Its time, state, provenance, block id and nested bullets stay, and a task stays one.

    Its tags stay unless the text brings some, each of its fields (``[until:: DATE]``) unless the text brings the same;
    a notice says so.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one entry only.
        text: the new words; those of a task may begin with a box, to tick it.
        tags: added to them as ``#tag``.
        bare: keep neither tags nor fields.

    Raises:
        UsageError: no text.
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
        ConflictError: the entry changed meanwhile.
        UnwritableError: the change is in the spool.
    """
    text, tags = ctx.masked(text), [grammar.tag(ctx.masked(tag)) for tag in tags]
    grammar.neutralise(text)
    entry = find(ctx, target)
    words = _reworded(entry, text)
    kept = [] if bare else grammar.carried(entry.text, words)
    words = grammar.tagged(" ".join([words, *kept]), tags)
    if kept and words != entry.text:
        ctx.notices.append(f"kept of the old text: {' '.join(kept)} (--bare leaves it out)")
    ctx.notices += doubts(words, ctx.now.date())
    timed = ctx.layout.timed(entry.path)
    with ctx.writing("edit", {"target": entry.ref, "text": text, "tags": tags, "bare": bare}) as transaction:
        if _is_rule(ctx, entry):
            return _proposed(ctx, transaction, entry, "replace", words)
        written = transaction.write(
            entry.path,
            lambda data: edits.replace_bullet(data or b"", entry, words, timed=timed, author=ctx.author or None),
        )
    done = written.changed and not ctx.store.dry_run
    ref, line = entry.ref, entry.line
    if written.changed:
        line = written.line
        same = [
            other
            for other in grammar.read(entry.path, Document(written.text), timed=timed)
            if other.text == words and other.line == line
        ]
        ref = same[0].ref if same else grammar.ref(entry.path, words)
    return Receipt(written.txn or None, entry.path, line, ref, words, written=done, notices=ctx.notices)


def copies_of(ctx: Context, target: str) -> Copies:
    """The copies of the only statement that a REF names or that these words fit.

    Raises:
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
    """
    from tars_memory.capture.copies import Copies

    found = fitting(ctx, target)
    copies = Copies(ctx, found[0])
    if not all(map(copies.holds, found)):
        raise ambiguous(target, found)
    return copies


def forget(ctx: Context, target: str, *, later: bool = True, also: Sequence[Turn] = ()) -> Receipt:
    """Take a statement out of the notes, with the bullets nested under it: the entry and all its copies.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one statement only; several copies of it count as one.
        later: if it can't be done now, the next command that writes does it.
        also: what was said in conversations, to be withheld with it.

    Returns:
        A receipt with the entry's words and the line where it stood, and the other places that told it.

    Raises:
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
        ConflictError: the entry changed meanwhile.
        UnwritableError: the removal is in the spool, if ``later``.
        SettingsError: what was forgotten before can't be read; nothing was written.
    """
    from tars_memory.vault.secrets import mask
    from tars_memory.vault.writing.transaction import move
    from tars_memory.vault.writing.withheld import Withheld

    copies, withheld = copies_of(ctx, target), Withheld(ctx.store.state)
    entry, places = copies.first, copies.places()
    timed = ctx.layout.timed(entry.path)
    arguments = {"target": entry.ref, "text": mask(entry.text)} if later else None
    with ctx.writing("forget", arguments, whole=len(places) > 1) as transaction:
        if _is_rule(ctx, entry):
            return _proposed(ctx, transaction, entry, "remove", "")

        def first(data: bytes | None) -> Sequence[Splice]:
            edits.find(Document(data or b""), entry, timed=timed)
            return copies.without(entry.path, data or b"")

        written = transaction.write(entry.path, first)
        for path in places:
            if path != entry.path:
                transaction.write(path, lambda data, path=path: copies.without(path, data or b""))  # type: ignore[misc]
            if to := copies.renamed(path):
                move(transaction, ctx.vault, path, to)
        waiting = sum(purge(transaction, ctx.vault, text) for text in (*copies.texts, *copies.quotes))
    if waiting:
        ctx.notices.append(f"purged from proposals and decisions about them: {waiting}")
    ctx.notices += copies.kept()
    done = written.changed and not ctx.store.dry_run
    if done:
        try:
            said, logs = copies.sentences([turn.text for turn in also]), [*copies.logs, *(turn.log for turn in also)]
            withheld.remember(said, ctx.now, txn=written.txn, logs=logs)
        except OSError as error:
            ctx.notices.append(f"an old conversation may bring it back: {ctx.store.state} can't be written: {error}")
    receipt = Receipt(written.txn or None, entry.path, entry.line, entry.ref, entry.text, written=done)
    receipt.notices, receipt.gone, receipt.copies = ctx.notices, written.before, copies
    receipt.touched = [
        each for path in places for each in places[path] if (each.path, each.line) != (entry.path, entry.line)
    ]
    return receipt


def _reworded(entry: Entry, text: str) -> str:
    """The new words; a task keeps its box unless the text brings another one."""
    box = grammar.task(entry.text)
    if not box:
        return grammar.neutralise(text)
    new = grammar.task(text.lstrip())
    return (new or box) + grammar.neutralise(text.lstrip()[len(new) :])


def _is_rule(ctx: Context, entry: Entry) -> bool:
    """Whether the entry is a rule that only a person at a terminal may touch."""
    return entry.path == ctx.layout.procedural and not ctx.may_write_rules


def _proposed(ctx: Context, transaction: Transaction, entry: Entry, op: str, words: str) -> Receipt:
    why = f"{ctx.actor} asked for this without a person at a terminal"
    kept = propose(
        transaction,
        op=op,
        target=entry.path,
        section=entry.section,
        text=words,
        source=str(ctx.actor),
        when=ctx.now,
        why=why,
        quote=entry.raw,
    )
    ctx.notices.append(kept_for_review(kept))
    return Receipt(
        None, f"{INBOX}/{kept['id']}.json", 1, kept["id"], words or entry.text, written=False, notices=ctx.notices
    )
