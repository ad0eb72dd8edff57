"""Language models: asked within limits, with prompts that are data, and answers read by their numbers alone."""

from __future__ import annotations

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.models import grounding, llm

__all__ = ["grounding", "llm"]
__getattr__, *_ = attach(__name__, __all__)
