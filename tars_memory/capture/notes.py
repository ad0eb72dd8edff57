"""Whole notes: the note of a day, made if it is missing, and a new note under a title. No note is ever overwritten.
And the headings of a note: which there are, one more, one less.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError
from tars_memory.vault.change import Change
from tars_memory.vault.layout import OBSIDIAN_APP
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.model import Splice
from tars_memory.vault.suspicion import visible
from tars_memory.vault.template import new_note
from tars_memory.vault.vault import file_name, is_conflict_copy, key_of

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.markdown.document import Section
    from tars_memory.vault.note import Note


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
        UsageError: the title is not a name, there is such a note, or the place belongs to somebody else.
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
        raise UsageError(f"{title!r} is not a name for a note", "give it a name with letters or digits")
    if names != [*folders, name]:
        ctx.notices.append(f"the note is called {'/'.join(names)!r}: file names and links can't hold the rest")
    folder = "" if folders else (beside if layout.new_beside else layout.new_folder)
    if any(part in (".", "..") or part.startswith(".") for part in folder.split("/")):
        raise UsageError(
            f"{folder!r} ({OBSIDIAN_APP}) is not a folder for notes", "set it again in Obsidian: Files and links"
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


# -- the headings of a note


class Heading(NamedTuple):
    """A heading of a note, with what stands directly under it.

    Attributes:
        line: where it stands, from 1.
        level: 1 to 6.
        title: its words without markup.
        entries: bullets under it.
        text: the lines of the section as they are, the heading's own among them.
        filled: whether anything else than the heading stands in the section.
    """

    line: int
    level: int
    title: str
    entries: int
    text: str
    filled: bool


def headings(ctx: Caller, path: str) -> list[Heading]:
    """The headings of a note, in order.

    Raises:
        NotFoundError: there is no such note.
    """
    note = ctx.vault.note(path)
    return [_heading(note, section) for section in note.document.sections if section.level]


def _heading(note: Note, section: Section) -> Heading:
    held = sum(section.body_line <= entry.line <= section.end_line for entry in note.entries)
    filled = any(not note.document.is_blank(line) for line in range(section.body_line, section.end_line + 1))
    text = note.document.text(section.start_line, section.end_line)
    return Heading(section.start_line, section.level, section.title, held, text, filled)


def add_heading(ctx: Caller, path: str, title: str) -> Receipt:
    """Put a heading of level 2 at the end of a note, unless it has it.

    Raises:
        UsageError: the title has no words, or the note is none that is written here.
        ConflictError: an open fence or comment takes in the end of the note.
    """
    _check_writable(ctx, path)
    words = entries.heading(ctx.masked(title))
    return _changed(ctx, Change("add_section", words, target=path), words)


def heading_named(ctx: Caller, path: str, title: str) -> Heading:
    """The heading of a note that :func:`remove_heading` would remove.

    Raises:
        NotFoundError: the note, or a heading of that name in it, is not there.
        UsageError: several are called so, others stand below it, or the note is none that is written here.
    """
    _check_writable(ctx, path)
    found = headings(ctx, path)
    wanted = plain_heading(title)
    same = [each for each in found if each.title == wanted] or [
        each for each in found if each.title.casefold() == wanted.casefold()
    ]
    if not same:
        there = ", ".join(each.title for each in found)
        raise NotFoundError(f"{path} has no heading {title!r}", f"it has: {there}" if there else "it has none")
    if len(same) > 1:
        candidates = [f"{path}:{each.line}  {each.title}" for each in same]
        raise AmbiguousError(f"{path} has several headings {title!r}", candidates, "rename one of them")
    below = found[found.index(same[0]) + 1 :]
    if below and below[0].level > same[0].level:
        raise UsageError(f"{path}: {below[0].title!r} is below {same[0].title!r}", "remove that one first")
    return same[0]


def remove_heading(ctx: Caller, path: str, title: str, *, filled: bool = False) -> Receipt:
    """Remove a heading, with ``filled`` also one that something stands under, with that.

    Raises:
        NotFoundError, UsageError: as for :func:`heading_named`; or something stands under it.
        ConflictError: the section changed in the meantime.
    """
    found = heading_named(ctx, path, title)
    if found.filled and not filled:
        raise UsageError(f"{path}: there is text under {found.title!r}", "--yes removes it, too; undo brings it back")
    return _changed(ctx, Change("remove_section", found.title, replaces=found.text, target=path), found.title)


def _changed(ctx: Caller, change: Change, words: str) -> Receipt:
    with ctx.writing("headings", None) as session:
        (landed,) = session.change([change])
    line = landed.written.line
    if change.op == "add_section":
        title = plain_heading(words).casefold()
        line = next((each.line for each in headings(ctx, change.target) if each.title.casefold() == title), line)
    return ctx.receipt(change.target, line, "", words, landed.written)


def _check_writable(ctx: Caller, path: str) -> None:
    layout = ctx.layout
    if layout.is_review(path) or not (layout.is_kept(path) or path in layout.loaded) or not layout.is_ours(path):
        raise UsageError(f"{path} is a note of your own, which no command changes", "tars-memory open opens it")
    if ctx.must_propose(path):
        raise UsageError(f"the headings of {path} take a person at a terminal", "unattended_rules allows it to scripts")
