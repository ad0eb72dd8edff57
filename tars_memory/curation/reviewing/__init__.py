"""From candidates to decisions: what waits, how it is shown, what the person says about it."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.reviewing import review, suggest, ticks

__all__ = ["review", "suggest", "ticks"]
__getattr__ = opener(__name__, __all__)
