"""JSON, a document or a value a line: read as a stream, one conversation at a time."""

from __future__ import annotations

import codecs
import io
import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

import ijson

from tars_memory.capture.transcripts import formats
from tars_memory.capture.transcripts.turns import DamagedError, Transcript, name

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE = 64_000_000
"""Bytes of one line; a longer one is passed over and counted as damaged."""

MAX_PASSED = 2 * MAX_LINE
"""Bytes of a longer line that are passed over; one that still goes on then ends the file."""

HELD_TURNS = 200_000
"""So many turns of unfinished conversations are held at once; then the one that is silent longest is given out. Only a
log in which conversations take turns comes near to it."""


GIVE_UP = 100_000
"""After so many values without a conversation a log is none."""

_DECODER = json.JSONDecoder(strict=False)


class Sorter:
    """Sorts the values of a log into formats.

    Attributes:
        damaged: what couldn't be read, of no conversation yet.
        strange: values that are of no known shape; ``keys`` names those of the first one.
        found: conversations so far.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.damaged = 0
        self.strange = 0
        self.keys: tuple[str, ...] = ()
        self.found = 0
        self._open: dict[tuple[type[formats.Chat], str], formats.Chat] = {}

    def take(self, value: object) -> Iterator[Transcript]:
        """Take in one value; a conversation that it completes is given out."""
        if isinstance(value, dict):
            for kind in formats.RECORDS:
                if (key := kind.of(value)) is not None:
                    self._conversation(kind, key).add(value)
                    yield from self._full()
                    return
            if formats.TELLING.isdisjoint(value):
                self._stranger(value)
                return
        known = False
        for one in formats.several(value):
            transcript = formats.transcript(one, self.source)
            if transcript is not None:
                known = True
                self.found += 1
                yield transcript
        if not known:
            self._stranger(value)

    def _stranger(self, value: object) -> None:
        self.strange += 1
        if isinstance(value, dict) and not self.keys:
            self.keys = tuple(name(key) for key in list(value)[:6])

    def finish(self) -> Iterator[Transcript]:
        """Give out what is left, in the order in which it began."""
        sessions = list(self._open.values())
        self._open = {}
        for session in sessions:
            transcript = session.done(self.source)
            if transcript is not None:
                self.found += 1
                damaged, self.damaged = self.damaged, 0
                yield transcript._replace(damaged=transcript.damaged + damaged)

    @property
    def is_hopeless(self) -> bool:
        """Whether so much was read without a sign of a conversation that the rest is not worth it."""
        return self.strange + self.damaged > GIVE_UP and not self.found and not self._open

    def _conversation(self, kind: type[formats.Chat], key: str) -> formats.Chat:
        """The one that a record belongs to; one without a name goes on with the last one of its kind."""
        if not key:
            key = next((known for of, known in reversed(self._open) if of is kind), "")
        elif (kind, "") in self._open and (kind, key) not in self._open:
            self._open[kind, key] = self._open.pop((kind, ""))  # records before the first one that has a name
        found = self._open.pop((kind, key), None) or kind(key)
        self._open[kind, key] = found  # the last one is the one that spoke last
        return found

    def _full(self) -> Iterator[Transcript]:
        if len(self._open) > 1 and sum(len(session.draft.turns) for session in self._open.values()) > HELD_TURNS:
            session = self._open.pop(next(iter(self._open)))
            transcript = session.done(self.source)
            if transcript is not None:
                self.found += 1
                yield transcript


def read_lines(stream: BinaryIO, reader: Sorter) -> Iterator[Transcript]:
    """The conversations of a file of JSON lines. A line that can't be read is counted; the rest is read all the same.

    A last line without its line ending that can't be read is half a line of a session that goes on: no damage.

    Raises:
        DamagedError: a line has no end. What came before waits in :meth:`Sorter.finish`, as for a stream that breaks.
    """
    while line := stream.readline(MAX_LINE):
        whole = line.endswith(b"\n")
        if not whole and len(line) >= MAX_LINE:
            passed = len(line)
            while (rest := stream.readline(MAX_LINE // 64)) and not rest.endswith(b"\n"):
                passed += len(rest)
                if passed > MAX_PASSED:
                    raise DamagedError(f"a line is longer than {MAX_PASSED // 1_000_000} MB")
            reader.damaged += 1
            continue
        for value in values(line):
            if value is None:
                reader.damaged += whole
            else:
                yield from reader.take(value)
        if reader.is_hopeless:
            break


def values(line: bytes) -> Iterator[Any]:
    """The JSON values of one line, usually one; None for what is none. A blank line has none."""
    text = line.decode("utf-8", "replace").strip(" \t\r\n\0\ufeff\x1e")
    if not text:
        return
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield value if value is not None else {}
        while at < len(text) and text[at] in " \t\r,\0\x1e":
            at += 1


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


def read_document(stream: BinaryIO, head: bytes, reader: Sorter) -> Iterator[Transcript]:
    """The conversations of a JSON document (or of several, one after the other).

    Args:
        stream: from its first byte.
        head: its beginning, to see whether conversations stand in a list within an object.
        reader: sorts them.

    Raises:
        DamagedError: the document can't be read further; what was complete before has been given out, except for what
            :meth:`Sorter.finish` still holds.
    """
    try:
        for value in ijson.items(Clean(stream), _prefix(head), use_float=True, multiple_values=True, buf_size=CHUNK):
            yield from reader.take(value)
    except (ijson.JSONError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedError(re.split(r"[\r\n]", str(error))[0].strip(" .")[:120] or type(error).__name__) from error


def _prefix(head: bytes) -> str:
    """What to take out of the document at once: items of a list, items of a list within an object, or all of it."""
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
    for key in formats.LISTS:
        within = {name for prefix, kind, name in events if kind == "map_key" and prefix == f"{key}.item"}
        if within & {*(export.field for export in formats.EXPORTS), *formats.HOLDERS}:
            return f"{key}.item"
    return ""
