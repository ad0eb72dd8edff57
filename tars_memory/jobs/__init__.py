"""What the program does as a whole: a night's work, watcher, hooks, doctor, forgetting, merging, status and models."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.jobs import doctor, forgetting, hosts, merge, status

__all__ = ["doctor", "forgetting", "hosts", "merge", "status"]
__getattr__ = opener(__name__, __all__)
