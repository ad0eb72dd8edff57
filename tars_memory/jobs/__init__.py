"""What the program does as a whole: a night's work, the watcher, hooks, doctor, forgetting, status and models."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.jobs import doctor, forgetting, status

__all__ = ["doctor", "forgetting", "status"]
__getattr__ = opener(__name__, __all__)
