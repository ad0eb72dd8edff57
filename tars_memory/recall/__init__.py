"""Recall: search and context. Reads, never writes a note, never asks a model."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.recall import decided, evaluation, facts, links, packing, search, searcher, talks

__all__ = ["decided", "evaluation", "facts", "links", "packing", "search", "searcher", "talks"]
__getattr__ = opener(__name__, __all__)
