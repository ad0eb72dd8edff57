"""Language models: asked within limits, with prompts that are data, and answers read by their numbers alone."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.models import check, grounding, llm

__all__ = ["check", "grounding", "llm"]
__getattr__ = opener(__name__, __all__)
