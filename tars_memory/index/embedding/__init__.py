"""Embedding: models found and prepared, passages and queries turned into vectors, what was embedded kept."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.index.embedding import models, passages, queryvector

__all__ = ["models", "passages", "queryvector"]
__getattr__ = opener(__name__, __all__)
