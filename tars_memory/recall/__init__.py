"""Recall: search and context. Reads, never writes a note, never asks a model."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.recall import context, decided, evaluation, loaded, names, scores, search

__all__ = ["context", "decided", "evaluation", "loaded", "names", "scores", "search"]
__getattr__, *_ = attach(__name__, __all__)
