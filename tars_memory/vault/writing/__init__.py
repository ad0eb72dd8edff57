"""The one door for writes: protocol, journal, recovery, spool, undo."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.vault.writing import history, store, withheld

__all__ = ["history", "store", "withheld"]
__getattr__ = opener(__name__, __all__)
