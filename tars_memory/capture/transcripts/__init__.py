"""Reading foreign logs: the conversations of a file, a folder, a zip archive or a stream, whatever their shape.

The shape is told by the content, never by a file's name. What is no conversation is named, with the reason, and passed
over. A file is read as a stream: memory holds one conversation at a time, and of a tool's output only its beginning.
"""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.capture.transcripts import opening, turns

__all__ = ["opening", "turns"]
__getattr__ = opener(__name__, __all__)
