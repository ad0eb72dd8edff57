"""A conversation while it is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.capture.transcripts import fields
from tars_memory.capture.transcripts.fields import TOOL_CHARACTERS, clean, own_words
from tars_memory.capture.turns import Transcript, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tars_memory.capture.turns import Role

MAX_TOOLS = 1_000
"""Names of tools kept of one conversation; a log with more of them is a broken one."""


class Draft:
    """Collects the turns of one conversation in the order in which they are said.

    What was added is never changed by what comes later, but for the names of tools: a conversation that goes on keeps
    the digests of its turns.

    Attributes:
        turns: so far.
        id, title, start: as of :class:`Transcript`.
        damaged: places of the log that couldn't be read.
        folder: where the agent worked, the first that is named.
        calls: name of each tool call by its id, to name the speaker of the tool's output.
    """

    def __init__(self, name: str = "", title: str = "", start: datetime | None = None) -> None:
        self.turns: list[Turn] = []
        self.id = name
        self.title = title
        self.start = start
        self.damaged = 0
        self.folder = ""
        self.calls: dict[str, str] = {}
        self._waiting: list[str] = []
        self._answers = -1

    def say(self, role: Role, text: str | Sequence[str], *, speaker: str = "", time: datetime | None = None) -> None:
        """Add a turn; a text without words adds none.

        Args:
            role: of the person only :func:`own_words` are added.
            text: all of it, or its parts as the log has them: a program puts its own into parts of their own.
            speaker: by default the role.
            time: aware, or None.
        """
        parts = [text] if isinstance(text, str) else text
        if role == "user":
            parts = [own_words(part) for part in parts]
        text = "\n\n".join(part for part in parts if part.strip())
        cut = role == "tool" and len(text) > TOOL_CHARACTERS
        text = clean(text[:TOOL_CHARACTERS]) + " …" if cut else clean(text)
        if not text:
            return
        self.turns.append(Turn(len(self.turns) + 1, role, speaker or role, text, time))
        if role == "assistant":
            self._answers = len(self.turns) - 1
            waiting, self._waiting = self._waiting, []
            for tool in waiting:
                self.call(tool)
        elif role == "user":
            self._answers = -1

    def call(self, tool: object, call: object = None) -> None:
        """A tool was called: by the last answer since the person spoke, else by the next one."""
        called = fields.name(tool)
        if not called or len(self.calls) > MAX_TOOLS:
            return
        if isinstance(call, str):
            self.calls[call] = called
        if self._answers < 0:
            self._waiting.append(called)
            return
        turn = self.turns[self._answers]
        if called not in turn.tools:
            self.turns[self._answers] = turn._replace(tools=(*turn.tools, called))

    def called(self, call: object) -> str:
        """The name of the tool that was called under this id; empty if it isn't known."""
        return self.calls.get(call, "") if isinstance(call, str) else ""

    def done(self, source: str, shape: str) -> Transcript | None:
        """The conversation; None if neither the person nor the model says anything in it."""
        if not any(turn.role in ("user", "assistant") for turn in self.turns):
            return None
        if self._waiting:
            last = self.turns[-1]
            self.turns[-1] = last._replace(tools=tuple(dict.fromkeys((*last.tools, *self._waiting))))
        start = self.start or next((turn.time for turn in self.turns if turn.time), None)
        folder = clean(self.folder)
        return Transcript(source, shape, self.id, self.title, start, tuple(self.turns), self.damaged, folder)
