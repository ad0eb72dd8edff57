"""One JSON document, of any size: read as a stream, one conversation at a time."""

from __future__ import annotations

import codecs
import io
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import conversations
from tars_memory.capture.transcripts.fields import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from tars_memory.capture.transcripts.lines import Reader
    from tars_memory.capture.turns import Transcript

DEEPEST = 1_000
"""Levels of nesting; real logs have ten. The parser keeps the path to each one: memory grows by the square."""

CHUNK = 1_000_000
"""Bytes parsed at once: the parser reads a text that spans chunks anew with each of them."""

MAX_TEXT = 16_000_000
"""Bytes of one text or name; the time that the parser takes for one grows by the square."""

_ENDS = re.compile(rb"[\s,:\[\]{}\"]")
"""What ends a number or a word."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(\\?\Z|")', re.DOTALL)
"""A JSON string up to its end, or to the end of what is there."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

_SURROGATE = re.compile(
    r"\\(?:\\|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""An escaped backslash, a pair of surrogates, or (group 1) one alone."""

_CUT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z|\\(?:u[0-9a-fA-F]{0,3})?\Z")
"""An escape that may go on after the end, or half a pair."""

_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


class Clean:
    """A stream of UTF-8 without what no JSON parser takes: byte order mark, invalid bytes, raw control characters."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._depth = Depth()
        self._held = ""

    def read(self, size: int = -1) -> bytes:
        """At most about ``size`` bytes; none at the end.

        Raises:
            DamagedError: it is nested deeper than :data:`DEEPEST`.
        """
        text = ""
        while size and not text:  # the end of a chunk may cut a character
            data = self._stream.read(CHUNK if size < 0 else size)
            text = self._whole_escapes(self._decoder.decode(data, final=not data), final=not data)
            if not data:
                break
        if not text.isprintable():
            text = text.translate(_CONTROLS)
        if "\\ud" in text or "\\uD" in text:
            text = _SURROGATE.sub(_paired, text)
        made = text.encode("utf-8")
        if self._depth.deepest(made) > DEEPEST:
            raise DamagedError(f"it is nested too deeply (more than {DEEPEST:,} levels)")
        if self._depth.longest > MAX_TEXT:
            raise DamagedError(f"a text in it is longer than {MAX_TEXT // 1_000_000} MB")
        if self._depth.is_endless:
            raise DamagedError(f"a number in it is longer than {CHUNK // 1_000_000} MB")
        return made

    def _whole_escapes(self, text: str, *, final: bool) -> str:
        """What can be given out without cutting an escape, or a pair of them; the rest waits for the next chunk."""
        text = self._held + text
        self._held = ""
        cut = None if final else _CUT.search(text, max(0, len(text) - 12))
        if cut is not None:
            at = cut.start()
            while at and text[at - 1] == "\\":
                at -= 1
            text, self._held = text[:at], text[at:]
        return text


def _paired(found: re.Match[str]) -> str:
    """An escape as it is, or U+FFFD for half a character, which the parser would stumble over."""
    return "\\ufffd" if found[1] else found[0]


class Depth:
    """How deep a document is nested, chunk by chunk; brackets within strings are none.

    Attributes:
        longest: bytes, about, of the text that the last chunk ended within.
        is_endless: whether a number or a word filled the last chunk.
    """

    def __init__(self) -> None:
        self.longest = 0
        self.is_endless = False
        self._open = 0
        self._string = b""  # what to put before the next chunk if this one ended within a string

    def deepest(self, chunk: bytes) -> int:
        """The deepest level of the next chunk."""
        text = self._string + chunk
        bare, strings = _STRING.subn(rb"\1", text)
        goes_on = bool(self._string) and strings == 1
        self.is_endless = not self._string and len(chunk) >= CHUNK and _ENDS.search(chunk) is None
        self._string = b""
        if bare.count(b'"') < strings:  # the last one goes on
            self._string = b'"\\' if bare.endswith(b"\\") else b'"'
        self.longest = (len(chunk) if self._string else 0) + (self.longest if goes_on else 0)
        before = self._open
        brackets = bare.translate(None, _NO_BRACKETS)
        opened = brackets.count(b"[") + brackets.count(b"{")
        self._open += 2 * opened - len(brackets)
        if before + opened <= DEEPEST:
            return before + opened
        return max(accumulate((_LEVELS[bracket] for bracket in brackets), initial=before))


def read(stream: BinaryIO, head: bytes, reader: Reader) -> Iterator[Transcript]:
    """The conversations of a JSON document (or of several, one after the other).

    Args:
        stream: from its first byte.
        head: its beginning, to see whether conversations stand in a list within an object.
        reader: sorts them.

    Raises:
        DamagedError: the document can't be read further; what was complete before has been given out, except for what
            :meth:`Reader.finish` still holds.
    """
    import ijson

    try:
        for value in ijson.items(Clean(stream), _prefix(head), use_float=True, multiple_values=True, buf_size=CHUNK):
            yield from reader.take(value)
    except (ijson.JSONError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedError(re.split(r"[\r\n]", str(error))[0].strip(" .")[:120] or type(error).__name__) from error


def _prefix(head: bytes) -> str:
    """What to take out of the document at once: items of a list, items of a list within an object, or all of it."""
    import ijson

    text = head.lstrip(b" \t\r\n\0\xef\xbb\xbf")
    if text.startswith(b"["):
        return "item"
    events: list[tuple[str, str, Any]] = []
    try:
        for event in ijson.parse(Clean(io.BytesIO(text)), use_float=True):
            events.append(event)
            if len(events) > 20_000:
                break
    except (ijson.JSONError, DamagedError, ValueError, OverflowError, RecursionError):
        pass  # it is only the beginning
    for key in conversations.LISTS:
        within = {name for prefix, kind, name in events if kind == "map_key" and prefix == f"{key}.item"}
        if within & {"mapping", "chat_messages", *conversations.HOLDERS}:
            return f"{key}.item"
    return ""
