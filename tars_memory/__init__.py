"""tars-memory: long-term memory in plain markdown.

``from tars_memory import Memory`` gives the same use cases that the command line calls.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, whose import the command line puts off until the collector waits

if TYPE_CHECKING:
    from tars_memory.memory import Memory

__all__ = ["Memory", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import :class:`Memory` on first use, so that ``import tars_memory`` costs nothing at start."""
    if name == "Memory":
        from tars_memory.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
