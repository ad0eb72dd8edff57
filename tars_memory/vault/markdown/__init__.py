"""The grammar of a vault's markdown: bytes to structure, and what to splice in. Pure."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.vault.markdown import document, entries, facts, lines, merging, moment

__all__ = ["document", "entries", "facts", "lines", "merging", "moment"]
__getattr__, *_ = attach(__name__, __all__)
