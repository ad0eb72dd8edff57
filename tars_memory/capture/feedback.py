"""``feedback``: what went well or badly, for review to distil into rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.capture.model import Receipt
from tars_memory.capture.placing import insert, placed
from tars_memory.vault.markdown import entries
from tars_memory.vault.template import shipped

if TYPE_CHECKING:
    from tars_memory.capture.context import Context

SECTION = "Feedback"
QUESTION, ANSWER = "question:: ", "answer:: "
"""How the bullets under an entry begin; the double colon is Obsidian's inline-field convention."""


def feedback(ctx: Context, good: bool, note: str, question: str | None = None, answer: str | None = None) -> Receipt:
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
    block = "\n".join(lines)
    arguments = {"text": note, "good": good, "question": question, "answer": answer}
    with ctx.writing("feedback", arguments) as transaction:
        written = transaction.write(path, lambda data: insert(data, block, SECTION), create=shipped(path))
    number, ref = placed(written, words, timed=True)
    return Receipt(written.txn or None, path, number, ref, words, written=not ctx.store.dry_run, notices=ctx.notices)
