"""The one door for writes: protocol, journal, recovery, spool, undo."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.vault.writing import history, journal, store, withheld

__all__ = ["history", "journal", "store", "withheld"]
__getattr__, *_ = attach(__name__, __all__)
