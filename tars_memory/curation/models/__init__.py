"""Language models: asks them within limits, and reads from their answers only what refers to what they were shown."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.models import grounding, llm

__all__ = ["grounding", "llm"]
__getattr__, *_ = attach(__name__, __all__)
