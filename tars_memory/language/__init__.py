"""Words, sentences and dates in the languages that the rules know, one TOML each. Pure: reads no data of the user."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.language import dates

__all__ = ["dates"]
__getattr__, *_ = attach(__name__, __all__)
