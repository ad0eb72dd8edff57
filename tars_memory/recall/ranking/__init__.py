"""From candidates to scored lines and passages: pure arithmetic over what the index gave."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.recall.ranking import relevance, scores, words

__all__ = ["relevance", "scores", "words"]
__getattr__ = opener(__name__, __all__)
