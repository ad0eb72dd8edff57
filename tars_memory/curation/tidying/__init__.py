"""Tidying: finds duplicates, empty bullets, dead links and expired lines, and archives old notes."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.tidying import archive, tidy

__all__ = ["archive", "tidy"]
__getattr__, *_ = attach(__name__, __all__)
