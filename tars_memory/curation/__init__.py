"""Curation: what may be forgotten, merged or promoted; proposed by rules or a model, decided by the person."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation import extraction, models, reviewing, tidying, why

__all__ = ["extraction", "models", "reviewing", "tidying", "why"]
__getattr__ = opener(__name__, __all__)
