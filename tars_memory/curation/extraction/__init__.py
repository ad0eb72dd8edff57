"""Extraction: turns conversations into candidates, each with its quote and speaker."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.extraction import extract, keeping, rules

__all__ = ["extract", "keeping", "rules"]
__getattr__, *_ = attach(__name__, __all__)
