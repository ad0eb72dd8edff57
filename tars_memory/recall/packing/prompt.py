"""What packing hands out: a prompt text, and where each of its lines stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.recall.packing.budget import tokens

if TYPE_CHECKING:
    from tars_memory.recall.packing.fence import Run
    from tars_memory.recall.packing.packing import Dropped


class Block:
    """Consecutive lines of one note in the prompt.

    Attributes:
        kind: ``procedural``, ``memory``, ``unapproved``, ``user``, ``daily``, ``facts`` or ``recalled``.
        path: of the note.
        start_line: 1-based.
        end_line: inclusive.
        text: its lines as the prompt has them, one for each line of the note.
        tokens: that it takes up, tags and place around it included.
    """

    __slots__ = ("end_line", "kind", "path", "start_line", "text", "tokens")

    def __init__(self, run: Run, cost: int) -> None:
        self.kind = run.kind
        self.path = run.path
        self.start_line = run.start_line
        self.end_line = run.end_line
        self.text = "\n".join(run.texts)
        self.tokens = cost


class Context:
    """A packed prompt.

    Attributes:
        budget: tokens that were allowed.
        used: tokens of ``text``, everything counted.
        text: for the prompt; '' if there is nothing to say.
        blocks: what stands in it, in its order.
        dropped: what was considered and left out, with why.
        notices: sentences for the person.
    """

    __slots__ = ("blocks", "budget", "dropped", "notices", "text", "used")

    def __init__(self, budget: int, text: str, blocks: list[Block], dropped: list[Dropped], notices: list[str]) -> None:
        self.budget = budget
        self.text = text
        self.used = tokens(len(text))
        self.blocks = blocks
        self.dropped = dropped
        self.notices = notices

    def to_json(self) -> dict[str, Any]:
        """The documented object of ``context --format json``."""
        return {
            "budget": self.budget,
            "used": self.used,
            "text": self.text,
            "blocks": [{name: getattr(block, name) for name in _BLOCK} for block in self.blocks],
            "dropped": [{name: getattr(gone, name) for name in _DROPPED} for gone in self.dropped],
            "notices": self.notices,
        }


_BLOCK = ("kind", "path", "start_line", "end_line", "text", "tokens")
_DROPPED = ("path", "start_line", "end_line", "why")
