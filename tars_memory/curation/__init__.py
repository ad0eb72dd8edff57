"""Curation: proposes what to remember, merge or remove, by rules or with a model; the person decides."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation import extraction, models, review, suggestions, tidying, why

__all__ = ["extraction", "models", "review", "suggestions", "tidying", "why"]
__getattr__, *_ = attach(__name__, __all__)
