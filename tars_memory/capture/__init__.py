"""Capture: what the person or a program says, written down without judgement."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.capture import amend, facts, learn, memories, notes, remember, topics, transcripts

__all__ = ["amend", "facts", "learn", "memories", "notes", "remember", "topics", "transcripts"]
__getattr__ = opener(__name__, __all__)
