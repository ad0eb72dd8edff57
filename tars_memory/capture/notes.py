"""Create whole notes (daily notes, notes with a title, playbooks, topics of agents), and change the headings of a note.

No note is ever overwritten.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.errors import AmbiguousError, NotFoundError, TarsError, UsageError, counted
from tars_memory.vault import model, playbooks, suspicion, template
from tars_memory.vault.change import Change, apply
from tars_memory.vault.layout import OBSIDIAN_APP, Layout
from tars_memory.vault.markdown import document, edits, entries, lines
from tars_memory.vault.vault import file_name, is_conflict_copy, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.note import Note


def daily(ctx: Caller, day: date) -> Receipt:
    """Return the note of a day; a missing note is created from the vault's own daily template.

    Raises:
        UsageError: the vault's daily note format can't be used.
        UnwritableError: the note can't be created.
    """
    path = ctx.vault.daily_path(day)
    if ctx.vault.look(path) is not None:
        return ctx.receipt(path, 1, "", "")
    when = datetime.combine(day, ctx.now.timetz())
    with ctx.writing("daily", None) as session:
        written = session.write(path, lambda _: (), create=ctx.new_day(path, when), restore=True)
    return ctx.receipt(path, 1, "", "", written)


def new(ctx: Caller, title: str, text: str = "", *, beside: str = "") -> Receipt:
    """Create a note where Obsidian puts new ones, from the configured template, with a text below it.

    Args:
        ctx: the command's view of the vault.
        title: the name of the note. Words before a slash are folders of the vault, or of the chosen project.
        text: the body, which is not changed except that invisible characters are left out.
        beside: the folder that counts as the current one, relative to the vault.

    Raises:
        UsageError: the title is not a name, there is such a note, or the path is reserved for other notes.
        UnwritableError: the vault can't be written; title and text are in the spool.
    """
    title, text = ctx.masked(title), ctx.masked(text)
    path = _note_place(ctx, title, beside)
    arguments = {"title": title, "text": text, "beside": beside}
    with ctx.writing("new", arguments) as session:
        existing = _same_path(ctx.vault.paths(), path)
        if existing is None:
            create = template.new_note(ctx.vault, path, ctx.now, ctx.notices)
            body = "\r".join(map(suspicion.visible, text.split("\r"))).encode("utf-8", "surrogateescape")
            if body:
                body = b"\n" * (create[-1:] not in (b"", b"\n")) + body + b"\n" * (body[-1:] != b"\n")
            # The text is an insertion into the template's text, so that undo still finds it when the note has changed.
            below = [model.Splice(len(create), len(create), body)]
            written = session.write(
                path, lambda data: below if body and (data or b"") == create else (), create=create, restore=True
            )
            existing = None if written.created or written.changed else path
    if existing is not None:
        raise UsageError(f"the note {existing} already exists", "nothing was written; tars-memory open opens it")
    return ctx.receipt(path, 1, "", text, written)


def _same_path(paths: Iterable[str], path: str) -> str | None:
    """Return a path that names the same note, if possible in the same spelling; None if there is none."""
    same = [other for other in paths if key_of(other) == key_of(path)]
    return path if path in same else next(iter(same), None)


def _note_place(ctx: Caller, title: str, beside: str) -> str:
    """Return the path of a new note.

    Raises:
        UsageError: the title is not a name, or the path is reserved for other notes.
    """
    layout = ctx.layout
    *folders, name = title.strip().removesuffix(".md").split("/")
    names = [file_name(part) for part in (*folders, name)]
    if not all(names):
        raise UsageError(f"{title!r} is not a name for a note", "give it a name with letters or digits")
    if names != [*folders, name]:
        ctx.notices.append(f"the note is called {'/'.join(names)!r}: file names and links can't contain the rest")
    folder = "" if folders else (beside if layout.new_beside else layout.new_folder)
    if any(part in (".", "..") or part.startswith(".") for part in folder.split("/")):
        raise UsageError(
            f"{folder!r} ({OBSIDIAN_APP}) is not a folder for notes", "set it again in Obsidian: Files and links"
        )
    path = "/".join([*([folder] if folder else []), *names]) + ".md"
    if not layout.is_ours(path):
        if layout.project_of(path):
            raise UsageError(f"{path} belongs to a project", "choose that one with --project, and leave it out here")
        path = layout.within(layout.scope, path)
    if layout.is_kept(path) or layout.is_playbook(path):
        raise UsageError(f"{path} is reserved for the memory's own notes", "remember, log and daily write there")
    if is_conflict_copy(names[-1] + ".md"):
        raise UsageError(f"{names[-1]!r} is what a sync program calls a conflict copy", "choose another name")
    return path


# --- the headings of a note


class Heading(NamedTuple):
    """A heading of a note, with the text directly under it.

    Attributes:
        line: of the heading, from 1.
        level: 1 to 6.
        title: its words without markup.
        entries: number of bullets under it.
        text: the lines of the section, including the heading.
        filled: whether the section has anything but the heading and blank lines.
    """

    line: int
    level: int
    title: str
    entries: int
    text: str
    filled: bool


def headings(ctx: Caller, path: str) -> list[Heading]:
    """Return the headings of a note, in order.

    Raises:
        NotFoundError: there is no such note.
    """
    note = ctx.vault.note(path)
    return [_heading(note, section) for section in note.document.sections if section.level]


def _heading(note: Note, section: document.Section) -> Heading:
    """Describe a heading and its section."""
    count = sum(section.body_line <= entry.line <= section.end_line for entry in note.entries)
    filled = any(not note.document.is_blank(line) for line in range(section.body_line, section.end_line + 1))
    text = note.document.text(section.start_line, section.end_line)
    return Heading(section.start_line, section.level, section.title, count, text, filled)


def add_heading(ctx: Caller, path: str, title: str) -> Receipt:
    """Add a heading of level 2 at the end of a note, unless the note has it.

    Raises:
        UsageError: the title has no words, or no command writes this note.
        ConflictError: the end of the note is within an open fence or comment.
    """
    _check_writable(ctx, path)
    words = entries.heading(ctx.masked(title))
    return _write(ctx, Change("add_section", words, target=path), words)


def heading_named(ctx: Caller, path: str, title: str) -> Heading:
    """Return the heading of a note that :func:`remove_heading` would remove.

    Raises:
        NotFoundError: there is no such note, or no heading with that title in it.
        UsageError: several headings have that title, others are below it, or no command writes this note.
    """
    _check_writable(ctx, path)
    found = headings(ctx, path)
    wanted = document.plain_heading(title)
    same = [heading for heading in found if heading.title == wanted] or [
        heading for heading in found if heading.title.casefold() == wanted.casefold()
    ]
    if not same:
        titles = ", ".join(heading.title for heading in found)
        raise NotFoundError(f"{path} has no heading {title!r}", f"it has: {titles}" if titles else "it has none")
    if len(same) > 1:
        candidates = [f"{path}:{heading.line}  {heading.title}" for heading in same]
        raise AmbiguousError(f"{path} has several headings {title!r}", candidates, "rename one of them")
    below = found[found.index(same[0]) + 1 :]
    if below and below[0].level > same[0].level:
        raise UsageError(f"{path}: {below[0].title!r} is below {same[0].title!r}", "remove that one first")
    return same[0]


def remove_heading(ctx: Caller, path: str, title: str, *, filled: bool = False) -> Receipt:
    """Remove a heading; with ``filled``, also one with text under it, together with the text.

    Raises:
        NotFoundError, UsageError: as for :func:`heading_named`; or there is text under it.
        ConflictError: the section changed in the meantime.
    """
    found = heading_named(ctx, path, title)
    if found.filled and not filled:
        raise UsageError(f"{path}: there is text under {found.title!r}", "--yes removes it, too; undo brings it back")
    return _write(ctx, Change("remove_section", found.title, replaces=found.text, target=path), found.title)


def _write(ctx: Caller, change: Change, words: str) -> Receipt:
    """Make a change of a heading; the receipt has the line of the heading."""
    with ctx.writing("headings", None) as session:
        (landed,) = session.change([change])
    line = landed.written.line
    if change.op == "add_section":
        title = document.plain_heading(words).casefold()
        found = headings(ctx, change.target)
        line = next((heading.line for heading in found if heading.title.casefold() == title), line)
    return ctx.receipt(change.target, line, "", words, landed.written)


def _check_writable(ctx: Caller, path: str) -> None:
    """Check that a command may change the headings of a note.

    Raises:
        UsageError: it may not.
    """
    layout = ctx.layout
    if layout.is_review(path) or not (layout.is_kept(path) or path in layout.loaded) or not layout.is_ours(path):
        raise UsageError(f"{path} is a note of your own, which no command changes", "tars-memory open opens it")
    if ctx.must_propose(path):
        raise UsageError(
            f"only a person at a terminal may change the headings of {path}", "unattended_rules allows scripts to do it"
        )


# --- playbooks, which only a person at a terminal can write directly

LONGEST_PLAYBOOK = 20_000
"""Maximum number of characters of a playbook: as many as ``context`` loads of one note."""


def learn(ctx: Caller, title: str, steps: str, *, when: str = "") -> Receipt:
    """Create a playbook. Unless a person at a terminal gives it, it becomes a proposal.

    Args:
        ctx: the command's view of the vault.
        title: the subject; it becomes the heading and, as far as file names allow, the note's name.
        steps: markdown, or one step per line, which are then numbered.
        when: when to use it.

    Returns:
        A receipt with the note and its first line, or with the file of a proposal. ``written`` is False if the playbook
        exists with exactly this text.

    Raises:
        UsageError: no title, no steps, too long, or there is a playbook with this title and another text.
        UnwritableError: the vault can't be written; everything is in the spool.
    """
    title, steps, when = (ctx.masked(text) for text in (title, steps, when))
    heading = entries.heading(title)
    path = playbook_path(ctx.layout, title)
    text = playbooks.compose(heading, when, steps)
    if not steps.strip():
        raise UsageError("the playbook has no steps", "give them with --stdin or --file, or write them with --edit")
    if len(text) > LONGEST_PLAYBOOK:
        raise UsageError(
            f"{counted(len(text), 'character')}: too many for a playbook (at most {LONGEST_PLAYBOOK:,})",
            "split it, or keep the details in a note that it links to",
        )
    change = Change("create", "", text, target=path, time=ctx.now.date().isoformat())
    with ctx.writing("learn", {"title": title, "text": steps, "when": when}) as session:
        path = _same_path(playbooks.paths(ctx.vault, [ctx.layout.scope]), path) or path
        if data := session.note(path).data:
            body = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
            if not body.strip().endswith(text.strip()):
                open_it = f"nothing was written; change it there: tars-memory open {suspicion.shell_word(path)}"
                raise UsageError(f"the playbook {path} already exists", open_it)
            _approve_playbook(ctx, session, path, text)
            return ctx.receipt(path, 1, "", heading)
        if ctx.must_propose(path):
            return ctx.proposed(session, change, "proposed this playbook")
        (landed,) = session.change([change._replace(target=path)])
    return ctx.receipt(path, 1, "", heading, landed.written)


def _file_of(title: str, kind: str, label: str) -> str:
    """Return the file name of a playbook or topic, all of which are in one folder.

    Args:
        title: of the note.
        kind: "playbook" or "topic", for the error.
        label: what such a note calls its title, for the error.

    Raises:
        UsageError: the title can't be a file name.
    """
    stem = file_name(title.strip().removesuffix(".md").replace("/", " ")).lstrip(".").strip()
    if not stem or is_conflict_copy(f"{stem}.md"):
        raise UsageError(f"{title[:200]!r} is not a name for a {kind}", f"give it a {label} with letters or digits")
    return f"{stem}.md"


def playbook_path(layout: Layout, title: str) -> str:
    """Return the path of a playbook with this title.

    Raises:
        UsageError: the title can't be a file name.
    """
    return f"{layout.playbooks}/{_file_of(title, 'playbook', 'title')}"


def _approve_playbook(ctx: Caller, session: vault.writing.store.WriteSession, path: str, text: str) -> None:
    """Approve an existing playbook that nobody approved here, because a person has typed it again."""
    lines = {line.encode("utf-8", "surrogateescape") for line in text.split("\n") if line.strip()}
    if ctx.attended and not vault.writing.history.stands_approved(ctx.store.journal, path, session.note(path).data):
        session.vouch(path, lines)
        ctx.notices.append(f"{path} already existed but was not approved here; now it is")


def pin(ctx: Caller, path: str, *, pinned: bool) -> Receipt:
    """Pin a playbook, so that prompts always have it, or unpin it.

    Raises:
        UsageError: it takes a person at a terminal; or the playbook is not the chosen project's, and writes stay there.
        NotFoundError: there is no such note (any more).
        ConflictError: we can't change its properties.
        UnwritableError: the vault can't be written.
    """
    note = ctx.vault.note(path)
    if playbooks.read(note).pinned is pinned:
        return ctx.receipt(path, 1, "", "")
    if ctx.must_propose(path):
        raise UsageError("only a person at a terminal may pin a playbook", f"set {playbooks.PINNED}: true in {path}")
    if not ctx.layout.is_ours(path):
        raise UsageError(
            f"{path} is outside of project {ctx.layout.scope}, where nothing is written from within it",
            f"tars-memory --project none playbooks {shlex.quote(path)} {'--pin' if pinned else '--unpin'}",
        )
    with ctx.writing("playbooks", None) as session:
        if session.read(path) is None:
            raise NotFoundError(f"{path} is gone", "tars-memory playbooks lists them")
        value = "true" if pinned else ""
        written = session.write(path, lambda data: edits.set_property(data or b"", playbooks.PINNED, value))
    return ctx.receipt(path, 1, "", "", written)


# --- topics: an agent's own notes, one per topic. Limited in size, marked as the agent's, never part of a tier
#
# The notes are in ``agents/NAME/`` (:mod:`tars_memory.doors.memorytool` keeps files there, too); in a vault of starpod
# they are the notes next to MEMORY.md, where its only agent keeps them.

LONGEST_NAME = 80
"""Maximum number of characters in an agent's name, as in an author's."""


class Topic(NamedTuple):
    """A topic note of an agent.

    Attributes:
        name: of the topic.
        path: of its note.
        characters: length of the note.
    """

    name: str
    path: str
    characters: int


def topic(ctx: Caller, agent: str, name: str, text: str) -> Receipt:
    """Add a bullet to an agent's topic note, unless it has a bullet with the same words; a missing note is created.

    Args:
        ctx: the command's view of the vault.
        agent: the agent whose note it is.
        name: of the topic; it becomes the title and, as far as file names allow, the note's name.
        text: the words; several lines become one.

    Raises:
        UsageError: an invalid name, no text, or the note or the number of notes would exceed the limits.
        UnwritableError: the vault can't be written; the text is in the spool.
    """
    text, name, agent = ctx.masked(text), ctx.masked(name), _agent(ctx, agent)
    words = lines.typed_words(text)
    path = _topic_place(ctx, agent, name)
    author = ctx.author if ctx.attended else agent
    change = Change("append", ctx.layout.notes_section, words, author=author, target=path, typed=True)
    with ctx.writing("topic", {"agent": agent, "name": name, "text": text}) as session:
        existing = _topic_paths(ctx, agent)
        change = change._replace(target=_same_path(existing, path) or path)
        note, create = session.note(change.target), b""
        if not note.data:
            _check_count(ctx, agent, len(existing))
            title = entries.heading(name.strip().removesuffix(".md"))
            text = f"---\nauthor: {agent}\ncreated: {ctx.now:%Y-%m-%d}\n---\n# {title}\n\n"
            create = text.encode("utf-8", "surrogateescape")
        _check_size(ctx, note.with_data(note.data or create), change)
        (landed,) = session.change([change], create=create)
    return ctx.landed(landed, words)


def topics(ctx: Caller, agent: str) -> list[Topic]:
    """Return the topic notes of an agent, sorted by path; a notice names those that can't be read."""
    found = []
    agent = _agent(ctx, agent)
    for note in ctx.notes(_topic_paths(ctx, agent)):
        name = note.path.rpartition("/")[2] if ctx.layout.topics_of(agent) else note.path
        found.append(Topic(name[:-3], note.path, _characters(note.data)))
    return found


def read_topic(ctx: Caller, agent: str, name: str) -> Note:
    """Return a topic note.

    Raises:
        NotFoundError: the agent has no topic of that name.
    """
    agent = _agent(ctx, agent)
    path = _topic_place(ctx, agent, name)
    existing = _same_path(_topic_paths(ctx, agent), path)
    if existing is None:
        raise NotFoundError(f"{agent} has no topic {name!r}", f"tars-memory topic --agent {agent} lists them")
    return ctx.vault.note(existing)


def _agent(ctx: Caller, name: str) -> str:
    """Return an agent's name, as its folder has it, if it can be the name of a folder.

    Raises:
        UsageError: it can't.
    """
    with contextlib.suppress(UsageError):
        if name and file_name(name) == name and "/" not in name and len(name) <= LONGEST_NAME:
            return ctx.vault.agent_named(entries.author(name))
    raise UsageError(f"{name[:LONGEST_NAME]!r} is not a name for an agent's folder", "give a plain one, such as claude")


def _topic_place(ctx: Caller, agent: str, name: str) -> str:
    """Return the path of an agent's topic note.

    Raises:
        UsageError: the name can't be a file name, or such a note has another meaning.
    """
    folder, file = ctx.layout.topics_of(agent), _file_of(name, "topic", "name")
    path = f"{folder}/{file}" if folder else file
    if not ctx.layout.is_topic(path, agent):
        raise UsageError(f"{path} is not a topic note: it has another meaning", "choose another name")
    return path


def _topic_paths(ctx: Caller, agent: str) -> list[str]:
    """Return the paths of an agent's topic notes, sorted; links are not followed."""
    return sorted(path for path in _files_in(ctx, ctx.layout.topics_of(agent)) if ctx.layout.is_topic(path, agent))


def _files_in(ctx: Caller, folder: str) -> Iterator[str]:
    """Yield the paths of the regular files in a folder, except conflict copies; links are not followed."""
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
    """Check that an agent may have one more topic note.

    Raises:
        UsageError: it has as many as the limit allows.
    """
    most = ctx.vault.limits.topics
    if count >= most:
        raise UsageError(
            f"{agent} already has {counted(count, 'topic note')} (at most {most})",
            "add to one of them, or remove one; topics of [limits] is the limit",
        )


def _check_size(ctx: Caller, note: Note, change: Change) -> None:
    """Check that a change keeps a topic note small enough to be read whole.

    Raises:
        UsageError: the note would be longer than the limit.
    """
    most = ctx.vault.limits.topic_characters
    try:
        size = _characters(apply(note, [change]).note.data)
    except TarsError:
        return  # the write raises the same error
    if size > most:
        raise UsageError(
            f"{note.path} would have {counted(size, 'character')} (at most {most:,})",
            "start another topic, or shorten it: tars-memory edit, tars-memory forget; "
            "topic_characters of [limits] is the limit",
        )


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "replace"))
