"""What lives beside the index while a watcher runs: hints of changes, and the model held open for queries."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.index.live import detached

__all__ = ["detached"]
__getattr__ = opener(__name__, __all__)
