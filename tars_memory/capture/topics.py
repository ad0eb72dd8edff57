"""``topic``: what an agent notes for itself, a note a topic. Bounded in size, marked as the agent's, never a tier.

The notes are those of ``agents/NAME/`` (:mod:`tars_memory.doors.memorytool` keeps files there, too); in a vault of
starpod they are the notes beside MEMORY.md, as its one agent keeps them there.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import NotFoundError, TarsError, UsageError, counted
from tars_memory.vault.change import Change, apply
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.vault import file_name, is_conflict_copy, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.note import Note

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
    words = grammar.neutralise(text)
    path = _place(ctx, agent, name)
    author = ctx.author if ctx.attended else agent
    change = Change("append", ctx.layout.notes_section, words, author=author, target=path, typed=True)
    with ctx.writing("topic", {"agent": agent, "name": name, "text": text}) as session:
        there = {key_of(each): each for each in _paths(ctx, agent)}
        change = change._replace(target=there.get(key_of(path), path))
        note, create = session.note(change.target), b""
        if not note.data:
            _check_count(ctx, agent, len(there))
            title = grammar.heading(name.strip().removesuffix(".md"))
            made = f"---\nauthor: {agent}\ncreated: {ctx.now:%Y-%m-%d}\n---\n# {title}\n\n"
            create = made.encode("utf-8", "surrogateescape")
        _check_size(ctx, note.saying(note.data or create), change)
        (landed,) = session.change([change], create=create)
    return ctx.landed(landed, words)


def topics(ctx: Caller, agent: str) -> list[Topic]:
    """The topic notes of an agent, in the order of their names; what can't be read is told, and is none."""
    found = []
    for note in ctx.notes(_paths(ctx, agent_name(agent))):
        name = note.path.rpartition("/")[2] if ctx.layout.topics_of(agent) else note.path
        found.append(Topic(name[:-3], note.path, _characters(note.data)))
    return found


def read(ctx: Caller, agent: str, name: str) -> Note:
    """A topic note.

    Raises:
        NotFoundError: there is none of that name.
    """
    path = _place(ctx, agent_name(agent), name)
    there = next((each for each in _paths(ctx, agent) if key_of(each) == key_of(path)), None)
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
            return grammar.author(name)
    raise UsageError(f"{name[:LONGEST_NAME]!r} is not a name for an agent's folder", "give a plain one, such as claude")


def _place(ctx: Caller, agent: str, name: str) -> str:
    """The path of an agent's topic note.

    Raises:
        UsageError: it can't have one.
    """
    stem = file_name(name.strip().removesuffix(".md").replace("/", " ")).lstrip(".").strip()
    if not stem or is_conflict_copy(f"{stem}.md"):
        raise UsageError(f"{name[:200]!r} is not a name for a topic", "give it a name with letters or digits")
    folder = ctx.layout.topics_of(agent)
    path = f"{folder}/{stem}.md" if folder else f"{stem}.md"
    if not ctx.layout.is_topic(path, agent):
        raise UsageError(f"{path} is not a topic note: it has a meaning of its own", "choose another name")
    return path


def _paths(ctx: Caller, agent: str) -> list[str]:
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
