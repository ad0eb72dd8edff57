"""What is twice, empty, dead or past; and the archive of old days."""

from __future__ import annotations

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.tidying import archive, compression, tidy

__all__ = ["archive", "compression", "tidy"]
__getattr__, *_ = attach(__name__, __all__)
