"""The vault: markdown, the only truth. Reading, parsing, and the one door for writes."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.vault import (
        inbox,
        layout,
        links,
        markdown,
        playbooks,
        secrets,
        suspicion,
        template,
        vault,
        writing,
    )

__all__ = ["inbox", "layout", "links", "markdown", "playbooks", "secrets", "suspicion", "template", "vault", "writing"]
__getattr__, *_ = attach(__name__, __all__)
