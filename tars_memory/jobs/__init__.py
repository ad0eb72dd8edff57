"""Jobs that use the whole program: nightly run, watcher, hooks, doctor, forgetting, merging, status and models."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.jobs import doctor, forgetting, hooks, hosts, merge, status

__all__ = ["doctor", "forgetting", "hooks", "hosts", "merge", "status"]
__getattr__, *_ = attach(__name__, __all__)
