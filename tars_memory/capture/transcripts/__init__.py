"""Reading foreign logs: the conversations of a file, a folder, a zip archive or a stream, whatever their shape.

The content tells the shape, never a file's name. What is not a conversation is skipped, and reported with the reason.
A file is read as a stream: memory holds one conversation at a time, and of a tool's output only its beginning.
"""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.capture.transcripts import opening, turns

__all__ = ["opening", "turns"]
__getattr__ = opener(__name__, __all__)
