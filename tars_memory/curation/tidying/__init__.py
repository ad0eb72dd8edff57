"""What is twice, empty, dead or past; and the archive of old days."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.tidying import archive, compression, curate, tidy

__all__ = ["archive", "compression", "curate", "tidy"]
__getattr__ = opener(__name__, __all__)
