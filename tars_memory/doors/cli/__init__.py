"""The command line: the only room that prints, asks and exits."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.doors.cli import approve, completion, failures, screen

__all__ = ["approve", "completion", "failures", "screen"]
__getattr__, *_ = attach(__name__, __all__)
