"""The nouns of the vault: actor, role, tier, splice, line, entry.

Tuples with names: every start of the command line imports this module, and a frozen dataclass costs 0.8 ms to make.
Annotations are not put off here: such a tuple compiles each that is a string.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

Actor = Literal["person", "script", "cron", "agent", "model"]
"""Who causes a write: a person at a terminal, a script, a cron job, an agent, or a model's words."""

ACTORS: tuple[Actor, ...] = ("person", "script", "cron", "agent", "model")

Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks: the person, the model, the program's instructions, or a tool's output."""

_ROLES: dict[Role, str] = {
    "user": "user human customer",
    "assistant": "assistant ai bot model gpt chatgpt claude agent",
    "system": "system developer",
    "tool": "tool function toolresult observation",
}
ROLES = {word: role for role, words in _ROLES.items() for word in words.split()}
"""What the logs' own words for who speaks mean here."""


def role(value: object) -> Role | None:
    """Who speaks, by a log's own word; None for a word that is none."""
    return ROLES.get(value.strip().lower()) if isinstance(value, str) else None


class Tier(StrEnum):
    """What kind of memory a note is; decided by its path alone (:mod:`tars_memory.vault.layout`)."""

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
    """What one line of a note is (:mod:`tars_memory.vault.markdown.lines` reads it).

    Attributes:
        indent: columns before its mark or its words.
        kind: item, heading, text, machinery (says who or which session said the line above), replaced (keeps words
            that the line above it had) or repeated (in a session's summary by rules: what a turn says).
        state: of the candidate that it belongs to: extracted, promoted, rejected, expired, or ''.
        block_id: that stands on it, or ''.
        speaker: whose words it is, by the name that it begins with, or ''.
        source: where it came from, as in the link to it (``2026-11-14#^d-abc``), or ''.
        since: the ISO day from which it holds, or ''.
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

    @property
    def day(self) -> str:
        """The ISO day on which it was said or began to hold, as far as the line tells; else ''."""
        day = self.since or self.source.rpartition("/")[2][:10]
        return day if day[:4].isdigit() and day[4:5] == "-" == day[7:8] else ""


class Entry(NamedTuple):
    """One bullet of a note, read by the grammar of :mod:`tars_memory.vault.markdown.entries`.

    Attributes:
        path: of the note, relative to the vault, with ``/``.
        line: 1-based line of the bullet.
        end_line: last line of the bullet with its nested children, inclusive.
        text: the words, without list mark, time, state tag, provenance and block id.
        raw: the bullet's own lines as they stand in the note, joined by one newline, without nested bullets.
        section: plain text of the nearest heading above; empty before the first.
        tags: ``#tag`` words of the text, without the mark, in order, each once.
        time: ``HH:MM`` as written, with the date where that is written; or None.
        state: ``extracted``, ``promoted``, ``rejected``, ``expired``, or None.
        block_id: without the caret, or None.
        provenance: the target of the provenance link (``2026-11-21#^d-abc``), or None.
        author: who wrote it, where that is said, or None.
        ref: the name that every listing shows: 8 characters.
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
