"""Capture: write down what a person or a program enters, as it is; and read foreign logs."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.capture import amend, facts, memories, notes, remember, transcripts, turns

__all__ = ["amend", "facts", "memories", "notes", "remember", "transcripts", "turns"]
__getattr__, *_ = attach(__name__, __all__)
