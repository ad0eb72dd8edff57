"""From scored lines and always-loaded notes to one prompt text under a budget."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.recall.packing import context, loaded

__all__ = ["context", "loaded"]
__getattr__ = opener(__name__, __all__)
