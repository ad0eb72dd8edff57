"""Whole notes: a day's, a new one under a title, a playbook, what an agent keeps; and the headings of a note.

No note is ever overwritten.
"""

from __future__ import annotations

import contextlib
import os
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.errors import AmbiguousError, NotFoundError, TarsError, UsageError, counted
from tars_memory.vault import playbooks, suspicion, template
from tars_memory.vault.change import Change, apply
from tars_memory.vault.layout import OBSIDIAN_APP, Layout
from tars_memory.vault.markdown import document, edits, entries
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import file_name, is_conflict_copy, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.note import Note
    from tars_memory.vault.writing.store import WriteSession


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
        text: is put in as it is, without invisible characters.
        beside: the folder that counts as the current one, relative to the vault.

    Raises:
        UsageError: the title is not a name, there is such a note, or the place belongs to somebody else.
        UnwritableError: title and text are in the spool.
    """
    title, text = ctx.masked(title), ctx.masked(text)
    path = _note_place(ctx, title, beside)
    arguments = {"title": title, "text": text, "beside": beside}
    with ctx.writing("new", arguments) as session:
        there = next((each for each in ctx.vault.paths() if key_of(each) == key_of(path)), None)
        if there is None:
            create = template.new_note(ctx.vault, path, ctx.now, ctx.notices)
            body = "\r".join(map(suspicion.visible, text.split("\r"))).encode("utf-8", "surrogateescape")
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


def _note_place(ctx: Caller, title: str, beside: str) -> str:
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


# --- the headings of a note


class Heading(NamedTuple):
    """A heading of a note, with what is directly under it.

    Attributes:
        line: where it is, from 1.
        level: 1 to 6.
        title: its words without markup.
        entries: bullets under it.
        text: the lines of the section as they are, the heading's own among them.
        filled: whether the section holds anything else than the heading.
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


def _heading(note: Note, section: document.Section) -> Heading:
    held = sum(section.body_line <= entry.line <= section.end_line for entry in note.entries)
    filled = any(not note.document.is_blank(line) for line in range(section.body_line, section.end_line + 1))
    text = note.document.text(section.start_line, section.end_line)
    return Heading(section.start_line, section.level, section.title, held, text, filled)


def add_heading(ctx: Caller, path: str, title: str) -> Receipt:
    """Put a heading of level 2 at the end of a note, unless it has it.

    Raises:
        UsageError: the title has no words, or no command writes this note.
        ConflictError: an open fence or comment takes in the end of the note.
    """
    _check_writable(ctx, path)
    words = entries.heading(ctx.masked(title))
    return _changed(ctx, Change("add_section", words, target=path), words)


def heading_named(ctx: Caller, path: str, title: str) -> Heading:
    """The heading of a note that :func:`remove_heading` would remove.

    Raises:
        NotFoundError: the note, or a heading of that name in it, is not there.
        UsageError: several are called so, others are below it, or no command writes this note.
    """
    _check_writable(ctx, path)
    found = headings(ctx, path)
    wanted = document.plain_heading(title)
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
    """Remove a heading, with ``filled`` also one that has something under it, with that.

    Raises:
        NotFoundError, UsageError: as for :func:`heading_named`; or something is under it.
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
        title = document.plain_heading(words).casefold()
        line = next((each.line for each in headings(ctx, change.target) if each.title.casefold() == title), line)
    return ctx.receipt(change.target, line, "", words, landed.written)


def _check_writable(ctx: Caller, path: str) -> None:
    layout = ctx.layout
    if layout.is_review(path) or not (layout.is_kept(path) or path in layout.loaded) or not layout.is_ours(path):
        raise UsageError(f"{path} is a note of your own, which no command changes", "tars-memory open opens it")
    if ctx.must_propose(path):
        raise UsageError(f"the headings of {path} take a person at a terminal", "unattended_rules allows it to scripts")


# --- playbooks, which only a person at a terminal writes at once

LONGEST_PLAYBOOK = 20_000
"""Of a playbook: what ``context`` loads of one note; more could never be given whole."""


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
    heading = entries.heading(title)
    path = playbook_place(ctx.layout, title)
    text = playbooks.composed(heading, when, steps)
    if not steps.strip():
        raise UsageError("a playbook without steps", "give them with --stdin or --file, or write them with --edit")
    if len(text) > LONGEST_PLAYBOOK:
        raise UsageError(
            f"{counted(len(text), 'character')}: too many for a playbook (at most {LONGEST_PLAYBOOK:,})",
            "split it, or keep the details in a note that it links to",
        )
    change = Change("create", "", text, target=path, time=ctx.now.date().isoformat())
    with ctx.writing("learn", {"title": title, "text": steps, "when": when}) as session:
        path = _playbook_called(ctx, path) or path
        if data := session.note(path).data:
            _check_same_playbook(path, data, text)
            _stand_by(ctx, session, path, text)
            return ctx.receipt(path, 1, "", heading)
        if ctx.must_propose(path):
            return ctx.proposed(session, change, "proposed this playbook")
        (landed,) = session.change([change._replace(target=path)])
    return ctx.receipt(path, 1, "", heading, landed.written)


def _file_of(title: str, what: str, called: str) -> str:
    """The file name of a playbook or topic, which goes into one folder.

    Raises:
        UsageError: no file can be called so.
    """
    stem = file_name(title.strip().removesuffix(".md").replace("/", " ")).lstrip(".").strip()
    if not stem or is_conflict_copy(f"{stem}.md"):
        raise UsageError(f"{title[:200]!r} is not a name for a {what}", f"give it a {called} with letters or digits")
    return f"{stem}.md"


def playbook_place(layout: Layout, title: str) -> str:
    """The path of the playbook of a title.

    Raises:
        UsageError: no file can be called so.
    """
    return f"{layout.playbooks}/{_file_of(title, 'playbook', 'title')}"


def _playbook_called(ctx: Caller, path: str) -> str | None:
    """The playbook that has the name of a path, however it is spelled; None if there is none."""
    return next((each for each in playbooks.paths(ctx.vault, [ctx.layout.scope]) if key_of(each) == key_of(path)), None)


def _check_same_playbook(path: str, data: bytes, text: str) -> None:
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


# --- topics: what an agent notes for itself, a note a topic. Bounded in size, marked as the agent's, never a tier
#
# The notes are those of ``agents/NAME/`` (:mod:`tars_memory.doors.memorytool` keeps files there, too); in a vault of
# starpod they are the notes beside MEMORY.md, as its one agent keeps them there.

LONGEST_NAME = 80
"""Characters of an agent's name: what an author may have."""


class Topic(NamedTuple):
    """A topic note of an agent.

    Attributes:
        name: of the topic.
        path: of its note.
        characters: that it has.
    """

    name: str
    path: str
    characters: int


def topic(ctx: Caller, agent: str, name: str, text: str) -> Receipt:
    """Add a bullet to a topic note of an agent, which is made if it is missing, unless it holds these very words.

    Args:
        ctx: the command's view of the vault.
        agent: whose note it is.
        name: of the topic; its title, and as far as a file may be called so its name.
        text: the words; several lines become one.

    Raises:
        UsageError: no such name can be, no text, or the note or the notes would be more than the limits allow.
        UnwritableError: the text is in the spool.
    """
    text, name, agent = ctx.masked(text), ctx.masked(name), agent_name(agent)
    words = entries.neutralise(text)
    path = _topic_place(ctx, agent, name)
    author = ctx.author if ctx.attended else agent
    change = Change("append", ctx.layout.notes_section, words, author=author, target=path, typed=True)
    with ctx.writing("topic", {"agent": agent, "name": name, "text": text}) as session:
        there = {key_of(each): each for each in _topic_paths(ctx, agent)}
        change = change._replace(target=there.get(key_of(path), path))
        note, create = session.note(change.target), b""
        if not note.data:
            _check_count(ctx, agent, len(there))
            title = entries.heading(name.strip().removesuffix(".md"))
            made = f"---\nauthor: {agent}\ncreated: {ctx.now:%Y-%m-%d}\n---\n# {title}\n\n"
            create = made.encode("utf-8", "surrogateescape")
        _check_size(ctx, note.saying(note.data or create), change)
        (landed,) = session.change([change], create=create)
    return ctx.landed(landed, words)


def topics(ctx: Caller, agent: str) -> list[Topic]:
    """The topic notes of an agent, in the order of their names; a notice names what can't be read."""
    found = []
    for note in ctx.notes(_topic_paths(ctx, agent_name(agent))):
        name = note.path.rpartition("/")[2] if ctx.layout.topics_of(agent) else note.path
        found.append(Topic(name[:-3], note.path, _characters(note.data)))
    return found


def read_topic(ctx: Caller, agent: str, name: str) -> Note:
    """A topic note.

    Raises:
        NotFoundError: there is none of that name.
    """
    path = _topic_place(ctx, agent_name(agent), name)
    there = next((each for each in _topic_paths(ctx, agent) if key_of(each) == key_of(path)), None)
    if there is None:
        raise NotFoundError(f"{agent} keeps no topic {name!r}", f"tars-memory topic --agent {agent} lists them")
    return ctx.vault.note(there)


def agent_name(name: str) -> str:
    """An agent's name, if a folder may be called so.

    Raises:
        UsageError: it may not.
    """
    with contextlib.suppress(UsageError):
        if name and file_name(name) == name and "/" not in name and len(name) <= LONGEST_NAME:
            return entries.author(name)
    raise UsageError(f"{name[:LONGEST_NAME]!r} is not a name for an agent's folder", "give a plain one, such as claude")


def _topic_place(ctx: Caller, agent: str, name: str) -> str:
    """The path of an agent's topic note.

    Raises:
        UsageError: it can't have one.
    """
    folder, file = ctx.layout.topics_of(agent), _file_of(name, "topic", "name")
    path = f"{folder}/{file}" if folder else file
    if not ctx.layout.is_topic(path, agent):
        raise UsageError(f"{path} is not a topic note: it has a meaning of its own", "choose another name")
    return path


def _topic_paths(ctx: Caller, agent: str) -> list[str]:
    """The paths of an agent's topic notes, in order; no link is followed."""
    return sorted(path for path in _below(ctx, ctx.layout.topics_of(agent)) if ctx.layout.is_topic(path, agent))


def _below(ctx: Caller, folder: str) -> Iterator[str]:
    at = ctx.vault.root
    for step in filter(None, folder.split("/")):
        at = at / step
        if os.path.islink(at):
            return
    try:
        with os.scandir(at) as listed:
            names = [entry.name for entry in listed if entry.is_file(follow_symlinks=False)]
    except OSError:
        return
    yield from (f"{folder}/{name}" if folder else name for name in names if not is_conflict_copy(name))


def _check_count(ctx: Caller, agent: str, count: int) -> None:
    most = ctx.vault.limits.topics
    if count >= most:
        raise UsageError(
            f"{agent} keeps {counted(count, 'topic note')} already (at most {most})",
            "add to one of them, or remove one; topics of [limits] is the limit",
        )


def _check_size(ctx: Caller, note: Note, change: Change) -> None:
    """A topic note stays small enough to be read whole.

    Raises:
        UsageError: it would be longer than the limit.
    """
    most = ctx.vault.limits.topic_characters
    try:
        size = _characters(apply(note, [change]).note.data)
    except TarsError:
        return  # the write says so
    if size > most:
        raise UsageError(
            f"{note.path} would have {counted(size, 'character')} (at most {most:,})",
            "start another topic, or shorten it: tars-memory edit, tars-memory forget; "
            "topic_characters of [limits] is the limit",
        )


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "replace"))
