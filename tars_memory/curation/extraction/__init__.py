"""From a conversation to candidates: what was said, by whom, with the words that it stands on."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.curation.extraction import extract, keeping, rules

__all__ = ["extract", "keeping", "rules"]
__getattr__ = opener(__name__, __all__)
