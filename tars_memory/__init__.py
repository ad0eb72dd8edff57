"""tars-memory: long-term memory in plain markdown.

``from tars_memory import Memory`` gives the same use cases that the command line calls; it is imported on first use, so
that ``import tars_memory`` costs nothing at start.
"""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.memory import Memory

__all__ = ["Memory", "__version__"]
__version__ = "0.1.0"
__getattr__, *_ = attach(__name__, submod_attrs={"memory": ["Memory"]})
