"""The command line: the only room that prints, asks and exits."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.doors.cli import approve, completion, failures, screen, spans

__all__ = ["approve", "completion", "failures", "screen", "spans"]
__getattr__ = opener(__name__, __all__)
