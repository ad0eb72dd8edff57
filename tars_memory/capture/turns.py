"""The nouns of a foreign log: a turn of a conversation, and the conversation."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks: the person, the model, the program's instructions, or a tool's output."""


class Turn(NamedTuple):
    r"""What one side said at once.

    Attributes:
        number: its place among all turns of the conversation, from 1.
        role: see :data:`Role`.
        speaker: the name in the transcript; the role if it names nobody.
        text: as said, line breaks as ``\n``; never empty.
        time: aware, or None if the transcript does not say.
        tools: names of the tools called in this turn.
    """

    number: int
    role: Role
    speaker: str
    text: str
    time: datetime | None = None
    tools: tuple[str, ...] = ()


class Transcript(NamedTuple):
    """One conversation of a foreign log.

    Attributes:
        source: the file's name as given, ``-`` for stdin.
        format: the name of the shape it was read as (``claude-code``).
        id: the log's own name of the conversation; empty if it has none.
        title: the log's own title; empty if it has none.
        start: when it began, aware; None if the log does not say.
        turns: in order.
        damaged: places of the log that couldn't be read and were passed over.
        folder: where the agent worked, as the log says it; empty if it does not.
        doubt: why it isn't sure who said what, one sentence without a full stop; empty if it is.
    """

    source: str
    format: str
    id: str
    title: str
    start: datetime | None
    turns: tuple[Turn, ...]
    damaged: int = 0
    folder: str = ""
    doubt: str = ""

    @property
    def user_turns(self) -> int:
        """How many turns are the person's."""
        return sum(turn.role == "user" for turn in self.turns)

    def digests(self) -> list[str]:
        """For each turn, a SHA-256 of all turns up to it: who spoke and what, without times.

        A grown conversation begins with the digests it had before, whatever its file is called.
        """
        running = sha256()
        found = []
        for turn in self.turns:
            for part in (turn.role, turn.speaker, turn.text):
                data = part.encode("utf-8", "replace")
                running.update(b"%d:" % len(data) + data)
            found.append(running.hexdigest())
        return found
