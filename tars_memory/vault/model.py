"""The vault's data types: actor, role, tier, splice, line, entry.

They are named tuples: every start of the command line imports this module, and a frozen dataclass costs 0.8 ms to
create. Annotations are not deferred here, as a named tuple compiles each annotation that is a string.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

Actor = Literal["person", "script", "cron", "agent", "model"]
"""Who caused a write: a person at a terminal, a script, a cron job, an agent, or a model."""

ACTORS: tuple[Actor, ...] = ("person", "script", "cron", "agent", "model")

Role = Literal["user", "assistant", "system", "tool"]
"""The speaker of a message: the person, the model, the program's instructions, or a tool's output."""

_ROLES: dict[Role, str] = {
    "user": "user human customer",
    "assistant": "assistant ai bot model gpt chatgpt claude gemini agent",
    "system": "system developer",
    "tool": "tool function toolresult observation",
}
ROLES = {word: role for role, words in _ROLES.items() for word in words.split()}
"""Roles by the words that logs use for speakers."""


def role(value: object) -> Role | None:
    """Return the role for a word that a log uses for a speaker; None for any other word."""
    return ROLES.get(value.strip().lower()) if isinstance(value, str) else None


class Tier(StrEnum):
    """The kind of memory that a note belongs to, decided by its path alone (:mod:`tars_memory.vault.layout`)."""

    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    DAILY = "daily"
    EPISODIC = "episodic"
    NOTE = "note"


class Splice(NamedTuple):
    """Replace the bytes ``[start:end)`` of a note by ``data``; an insertion has ``start == end``."""

    start: int
    end: int
    data: bytes


class Line(NamedTuple):
    """The properties of one line of a note (:mod:`tars_memory.vault.markdown.lines` reads it).

    Attributes:
        indent: number of columns before its list mark or its words.
        kind: item, empty (an item without words), heading, text, property (of the front matter, and says something),
            machinery (names the speaker or the session of the line above, or is another property), replaced (keeps
            earlier words of the line above) or repeated (in a session's summary by rules: repeats a turn).
        state: state of the candidate that it belongs to: extracted, promoted, rejected, expired, or ''.
        block_id: its block id, or ''.
        speaker: the speaker's name at its beginning, or ''.
        source: the line that it came from, as in the link to it (``2026-11-14#^d-abc``), or ''.
        since: the first ISO day on which it holds, or ''.
        until: the first ISO day on which it no longer holds, or ''.
    """

    indent: int
    kind: str
    state: str
    block_id: str
    speaker: str
    source: str
    since: str
    until: str


def is_empty_item(line: str) -> bool:
    """Whether the line of a list item has no words after its list mark, with or without a checkbox."""
    words = "".join(line.split(None, 1)[1:]).rstrip()
    return not words or (len(words) <= len("[x]") and words[0] + words[-1] == "[]")


class Entry(NamedTuple):
    """One bullet of a note, read by the grammar of :mod:`tars_memory.vault.markdown.entries`.

    Attributes:
        path: path of the note relative to the vault, with ``/``.
        line: 1-based number of the bullet's first line.
        end_line: number of the last line of the bullet with its nested children, inclusive.
        text: the words, without list mark, time, state tag, provenance and block id.
        raw: the bullet's own lines as they are in the note, joined by newlines, without nested bullets.
        section: plain text of the nearest heading above; empty before the first heading.
        tags: ``#tag`` words of the text, without the mark, in order and without repeats.
        time: ``HH:MM`` as written, with the date if that is written; or None.
        state: ``extracted``, ``promoted``, ``rejected``, ``expired``, or None.
        block_id: without the caret, or None.
        provenance: the target of the provenance link (``2026-11-21#^d-abc``), or None.
        author: who wrote it, if the entry says so, or None.
        ref: the ref that every listing shows: 8 characters.
        occurrence: 0 for the first entry with this text in the note, 1 for the next one, and so on.
        depth: 0 for a top-level bullet, 1 for one nested in it, and so on.
    """

    path: str
    line: int
    end_line: int
    text: str
    raw: str
    section: str
    tags: tuple[str, ...] = ()
    time: str | None = None
    state: str | None = None
    block_id: str | None = None
    provenance: str | None = None
    author: str | None = None
    ref: str = ""
    occurrence: int = 0
    depth: int = 0

    def __repr__(self) -> str:
        return f"Entry({self.ref} {self.path}:{self.line} {self.text!r})"
