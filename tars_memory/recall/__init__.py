"""Recall: search and context. Reads, never writes a note, never asks a model."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.recall import evaluation, facts, links, searcher

__all__ = ["evaluation", "facts", "links", "searcher"]
__getattr__ = opener(__name__, __all__)
