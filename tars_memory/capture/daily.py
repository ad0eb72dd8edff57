"""``log``: a line in today's note, and what today's note says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.capture.model import Receipt, Today
from tars_memory.capture.placing import doubts, heading, insert, placed
from tars_memory.errors import NotFoundError
from tars_memory.vault.markdown import entries
from tars_memory.vault.template import daily_note

if TYPE_CHECKING:
    from tars_memory.capture.context import Context


def log(ctx: Context, text: str) -> Receipt:
    """Add ``- HH:MM text`` under the log heading of the day's note; note and time come from the same instant.

    A missing note is made from the vault's own daily template.

    Raises:
        UsageError: no text.
        UnwritableError: the text is in the spool, with its instant.
    """
    text = ctx.masked(text)
    words = entries.neutralise(text)
    ctx.notices += doubts(words, ctx.now.date())
    title = heading(ctx.layout.log_heading)
    line = entries.render(entries.Parts(words, time=f"{ctx.now:%H:%M}", author=ctx.author))
    with ctx.writing("log", {"text": text}) as transaction:
        path = ctx.vault.daily_path(ctx.now.date())
        is_new = ctx.vault.look(path) is None
        create = daily_note(ctx.vault, path, ctx.now, ctx.notices) if is_new else b""
        written = transaction.write(path, lambda data: insert(data, line, title), create=create)
    number, ref = placed(written, words, timed=True)
    return Receipt(written.txn or None, path, number, ref, words, written=not ctx.store.dry_run, notices=ctx.notices)


def today(ctx: Context) -> Today:
    """The note of the context's day.

    Raises:
        UsageError: the vault's daily note format can't be used.
    """
    from tars_memory.vault.markdown.document import Document

    day = ctx.now.date()
    path = ctx.vault.daily_path(day)
    try:
        data = ctx.vault.read(path)
    except NotFoundError:
        return Today(path, day, None, [])
    return Today(path, day, data.decode("utf-8", "replace"), entries.read(path, Document(data), timed=True))
