"""``learn``: a playbook, which only a person at a terminal writes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory import vault
from tars_memory.errors import NotFoundError, UsageError, counted
from tars_memory.vault import playbooks
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.vault import file_name, is_conflict_copy, key_of

if TYPE_CHECKING:
    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.writing.store import WriteSession

MAX_CHARACTERS = 20_000
"""Of a playbook: what ``context`` loads of one note; more could never be told whole."""


def learn(ctx: Caller, title: str, steps: str, *, when: str = "") -> Receipt:
    """Make a playbook. What no person at a terminal gives becomes a proposal.

    Args:
        ctx: the command's view of the vault.
        title: what it is about; its heading, and as far as a file may be called so its name.
        steps: markdown, or a step a line, which are numbered then.
        when: to use it.

    Returns:
        The note and its first line; of a proposal its file. ``written`` is False if a note says exactly this.

    Raises:
        UsageError: no title, no steps, too many, or there is such a playbook, which says something else.
        UnwritableError: all of it is in the spool.
    """
    title, steps, when = (ctx.masked(text) for text in (title, steps, when))
    heading = grammar.heading(title)
    path = place(ctx.layout, title)
    text = playbooks.composed(heading, when, steps)
    if not steps.strip():
        raise UsageError("a playbook without steps", "give them with --stdin or --file, or write them with --edit")
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"{counted(len(text), 'character')}: too many for a playbook (at most {MAX_CHARACTERS:,})",
            "split it, or keep the details in a note that it links to",
        )
    change = Change("create", "", text, target=path, time=ctx.now.date().isoformat())
    with ctx.writing("learn", {"title": title, "text": steps, "when": when}) as session:
        path = _called(ctx, path) or path
        if data := session.note(path).data:
            _check_same(path, data, text)
            _stand_by(ctx, session, path, text)
            return ctx.receipt(path, 1, "", heading)
        if ctx.must_propose(path):
            return ctx.proposed(session, change, "proposed this playbook")
        (landed,) = session.change([change._replace(target=path)])
    return ctx.receipt(path, 1, "", heading, landed.written)


def place(layout: Layout, title: str) -> str:
    """The path of the playbook of a title.

    Raises:
        UsageError: no file can be called so.
    """
    name = file_name(title.strip().removesuffix(".md").replace("/", " ")).lstrip(".").strip()
    if not name or is_conflict_copy(f"{name}.md"):
        raise UsageError(f"{title[:200]!r} is not a name for a playbook", "give it a title with letters or digits")
    return f"{layout.playbooks}/{name}.md"


def _called(ctx: Caller, path: str) -> str | None:
    """The playbook that has the name of a path, however it is spelled; None if there is none."""
    return next((each for each in playbooks.paths(ctx.vault, [ctx.layout.scope]) if key_of(each) == key_of(path)), None)


def _check_same(path: str, data: bytes, text: str) -> None:
    """A playbook is made once.

    Raises:
        UsageError: the note says something else.
    """
    body = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if not body.strip().endswith(text.strip()):
        raise UsageError(
            f"there is a playbook {path}", f"nothing was written; change it there: tars-memory open {path}"
        )


def _stand_by(ctx: Caller, session: WriteSession, path: str, text: str) -> None:
    """A playbook that nobody approved here is approved by whoever types it again."""
    lines = {line.encode("utf-8", "surrogateescape") for line in text.split("\n") if line.strip()}
    if ctx.attended and not vault.writing.history.stands_approved(ctx.store.journal, path, session.note(path).data):
        session.vouch(path, lines)
        ctx.notices.append(f"{path} was there already, not approved here; now it is")


def pin(ctx: Caller, path: str, *, pinned: bool) -> Receipt:
    """Keep a playbook in prompts for good, or no longer.

    Raises:
        UsageError: no person at a terminal asks.
        NotFoundError: there is no such note (any more).
        ConflictError: its properties can't be changed by us.
        UnwritableError: the vault can't be written.
    """
    note = ctx.vault.note(path)
    if playbooks.read(note).pinned is pinned:
        return ctx.receipt(path, 1, "", "")
    if ctx.must_propose(path):
        raise UsageError("pinning a playbook takes a person at a terminal", f"set {playbooks.PINNED}: true in {path}")
    with ctx.writing("playbooks", None) as session:
        if session.read(path) is None:
            raise NotFoundError(f"{path} is gone", "tars-memory playbooks lists those that are there")
        value = "true" if pinned else ""
        written = session.write(path, lambda data: edits.set_property(data or b"", playbooks.PINNED, value))
    return ctx.receipt(path, 1, "", "", written)
