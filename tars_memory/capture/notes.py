"""Whole notes: the note of a day, made if it is missing, and a new note under a title. No note is ever overwritten."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError
from tars_memory.vault.layout import OBSIDIAN_APP
from tars_memory.vault.links import key_of
from tars_memory.vault.markdown.visible import visible
from tars_memory.vault.model import Splice
from tars_memory.vault.template import new_note
from tars_memory.vault.vault import is_conflict_copy

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.capture.caller import Caller, Receipt

LONGEST = 200
"""Bytes of a name, so that ``.md`` and a number that a sync program adds still fit into the 255 of a file system."""

_UNNAMEABLE = re.compile(r'[\\:*?"<>|#^\[\]]+')
"""What Obsidian allows in no name on some system, or in no link."""


def daily(ctx: Caller, day: date) -> Receipt:
    """The note of a day; one that is missing is made from the vault's own daily template.

    Raises:
        UsageError: the vault's daily note format can't be used.
        UnwritableError: it can't be made.
    """
    path = ctx.vault.daily_path(day)
    if ctx.vault.look(path) is not None:
        return ctx.receipt(path, 1, "", "")
    when = datetime.combine(day, ctx.now.timetz())
    with ctx.writing("daily", None) as session:
        written = session.write(path, lambda _: (), create=ctx.new_day(path, when), restore=True)
    return ctx.receipt(path, 1, "", "", written)


def new(ctx: Caller, title: str, text: str = "", *, beside: str = "") -> Receipt:
    """Make a note: where Obsidian puts new ones, from the template that is set, with a text below it.

    Args:
        ctx: the command's view of the vault.
        title: its name. Words before a slash are folders of the vault, or of the project that is chosen.
        text: stands in it as it is, without invisible characters.
        beside: the folder that counts as the current one, relative to the vault.

    Raises:
        UsageError: the title is no name, there is such a note, or the place belongs to somebody else.
        UnwritableError: title and text are in the spool.
    """
    title, text = ctx.masked(title), ctx.masked(text)
    path = _place(ctx, title, beside)
    arguments = {"title": title, "text": text, "beside": beside}
    with ctx.writing("new", arguments) as session:
        there = next((each for each in ctx.vault.paths() if key_of(each) == key_of(path)), None)
        if there is None:
            create = new_note(ctx.vault, path, ctx.now, ctx.notices)
            body = "\r".join(map(visible, text.split("\r"))).encode("utf-8", "surrogateescape")
            if body:
                body = b"\n" * (create[-1:] not in (b"", b"\n")) + body + b"\n" * (body[-1:] != b"\n")
            # The text is a change of what the note begins with, so that undo finds it when the note has moved on.
            below = [Splice(len(create), len(create), body)]
            written = session.write(
                path, lambda data: below if body and (data or b"") == create else (), create=create, restore=True
            )
            there = None if written.created or written.changed else path
    if there is not None:
        raise UsageError(f"there is a note {there}", "nothing was written; tars-memory open opens it")
    return ctx.receipt(path, 1, "", text, written)


def _place(ctx: Caller, title: str, beside: str) -> str:
    """The path of a new note.

    Raises:
        UsageError: it can't have one.
    """
    layout = ctx.layout
    *folders, name = title.strip().removesuffix(".md").split("/")
    names = [file_name(each) for each in (*folders, name)]
    if not all(names):
        raise UsageError(f"{title!r} is no name for a note", "give it a name with letters or digits")
    if names != [*folders, name]:
        ctx.notices.append(f"the note is called {'/'.join(names)!r}: file names and links can't hold the rest")
    folder = "" if folders else (beside if layout.new_beside else layout.new_folder)
    if any(part in (".", "..") or part.startswith(".") for part in folder.split("/")):
        raise UsageError(
            f"{folder!r} ({OBSIDIAN_APP}) is no folder for notes", "set it anew in Obsidian: Files and links"
        )
    path = "/".join([*([folder] if folder else []), *names]) + ".md"
    if not layout.is_ours(path):
        if layout.project_of(path):
            raise UsageError(
                f"{path} is the place of a project", "choose that one with --project, and leave it out here"
            )
        path = layout.within(layout.scope, path)
    if layout.is_kept(path) or layout.is_playbook(path):
        raise UsageError(f"{path} is a place of the memory's own notes", "remember, log and daily write there")
    if is_conflict_copy(names[-1] + ".md"):
        raise UsageError(f"{names[-1]!r} is what a sync program calls a conflict copy", "choose another name")
    return path


def file_name(text: str) -> str:
    """A title, or a part of one, as a file may be called, without ``.md``; empty if nothing is left."""
    words = " ".join(_UNNAMEABLE.sub(" ", visible(text)).split())
    words = "".join(sign for sign in words if sign.isprintable())
    while len(words.encode("utf-8", "replace")) > LONGEST:
        words = words[:-1]
    return words.strip(" .")
