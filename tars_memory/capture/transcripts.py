"""Read foreign logs: the conversations of a file, a folder, a zip archive or a stream, in any known format.

The format is detected by the content, never by a file's name. Anything that is not a conversation is skipped, and
reported with the reason. A file is read as a stream: memory holds one conversation at a time, and only the beginning of
a tool's output.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, BinaryIO

import ijson

from tars_memory import disk
from tars_memory.capture import json_logs, text_logs
from tars_memory.capture.turns import DamagedError, Transcript, Unknown, name
from tars_memory.errors import counted

HEAD = 65_536
"""Number of bytes that are read to detect the format."""
FIRST_LINE = 32_000_000
"""Length in bytes above which the first line is only read in part to detect the format."""
MAX_UNPACKED = 4_000_000_000
"""Maximum number of bytes read from one file, or from all files of an archive; more is a zip bomb, or not an export."""
TRAP = 100
"""Compression ratio above which a file of an archive counts as a zip bomb: text reaches 20."""
NO_TRAP = 50_000_000
"""Number of bytes that any file of an archive may unpack to, whatever its ratio."""
MEMBERS = (".json", ".jsonl", ".ndjson", ".md", ".txt")
"""File name extensions that are read in an archive; exports hold pictures and sounds as well. Files of a folder have
more of them (:data:`tars_memory.sources.ENDINGS`)."""


CANT, NO_JSON, BREAKS_OFF = "it can't be read: ", "it is not a whole JSON: ", "it is damaged after "
BROKEN = (CANT, NO_JSON, BREAKS_OFF)
"""Beginnings of the reasons for files that may be conversations but could not be read completely."""


def read(source: str | os.PathLike[str] | BinaryIO, name: str | None = None) -> Iterator[Transcript | Unknown]:
    """Read the conversations of a file, of all files below a folder (sorted), or of a stream.

    Args:
        source: a path, or a binary stream.
        name: the name of the source in results; by default the path, and ``-`` for a stream.

    Yields:
        One transcript per conversation, in the order of the log; and an Unknown for what could not be read. The content
        of a file never raises an error.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield from _guarded(Peeked(source), name or "-")
        return
    path = os.fspath(source)
    name = name or path
    yield from _folder(path, name) if os.path.isdir(path) else _file(path, name, named=True)


def _folder(path: str, name: str) -> Iterator[Transcript | Unknown]:
    """Read all files below a folder except hidden ones; links to folders are not followed."""
    found = False
    errors: list[OSError] = []
    for inner in disk.files_below(path, errors.append):
        found = True
        yield from _file(inner, os.path.join(name, os.path.relpath(inner, path)))
    for error in errors:
        yield _unreadable(os.path.join(name, os.path.relpath(os.fspath(error.filename), path)), error)
    if not found and not errors:
        yield Unknown(name, "the folder is empty")


def _file(path: str, name: str, *, named: bool = False) -> Iterator[Transcript | Unknown]:
    """Read a regular file without waiting for a pipe or a device; one that the person ``named`` may be a pipe or a
    terminal.
    """
    kinds = (stat.S_ISREG, stat.S_ISFIFO, stat.S_ISCHR) if named else (stat.S_ISREG,)
    try:
        if any(kind(os.stat(path).st_mode) for kind in kinds):
            with open(path, "rb", opener=None if named else _without_waiting) as stream:
                mode = os.fstat(stream.fileno()).st_mode
                if any(kind(mode) for kind in kinds) and not disk.is_device(stream):
                    yield from _guarded(Peeked(stream), name)
                    return
        yield Unknown(name, "it is not a regular file")
    except (OSError, ValueError) as error:
        yield _unreadable(name, error)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _guarded(peeked: Peeked, name: str, *, inside: bool = False) -> Iterator[Transcript | Unknown]:
    """Read a stream; any error becomes an Unknown, so that other streams are read all the same."""
    try:
        yield from _stream(peeked, name, inside=inside)
    except Exception as error:  # parsers of archives alone raise a dozen types, each of them due to the file's content
        yield _unreadable(name, error)


def _unreadable(name: str, error: Exception) -> Unknown:
    """Return an Unknown for a source that an error kept from being read."""
    return Unknown(name, CANT + _reason(error))


def _reason(error: Exception) -> str:
    """Return the first line of an error's message."""
    message = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return re.split(r"[\r\n]", str(message))[0].strip(" .")[:200]


class Peeked(io.RawIOBase):
    """A stream whose beginning can be examined before it is read, without rewinding.

    Args:
        stream: to read.
        limit: maximum number of bytes to read.
    """

    def __init__(self, stream: BinaryIO, limit: int = MAX_UNPACKED) -> None:
        super().__init__()
        self._stream = stream
        self._head = b""
        self._at = 0
        self._limit = self._left = limit

    def peek(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or fewer if there are no more; call it before the first read."""
        while len(self._head) < size and (data := self._stream.read(max(HEAD, size - len(self._head)))):
            self._head += data
        return self._head[:size]

    def first_lines(self) -> bytes:
        """Return the beginning with the whole first line, unless that is longer than about :data:`FIRST_LINE`."""
        size = HEAD
        while b"\n" not in self._head and size < FIRST_LINE:
            if len(self.peek(size)) < size:
                break
            size *= 4
        return self._head

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next bytes into the buffer.

        Raises:
            OSError: the stream is longer than the limit.
        """
        if self._at < len(self._head):
            data = self._head[self._at : self._at + len(buffer)]
            self._at += len(data)
        else:
            self._head = b""
            data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise OSError(f"it is larger than {self._limit // 1_000_000} MB")
        buffer[: len(data)] = data
        return len(data)


def _stream(peeked: Peeked, name: str, *, inside: bool = False) -> Iterator[Transcript | Unknown]:
    """Detect the format of a stream, and read it.

    Args:
        peeked: the stream.
        name: the name of the source in results.
        inside: the stream is a file of an archive.
    """
    head = peeked.peek(HEAD)
    if head.startswith(b"PK\x03\x04"):
        yield from [Unknown(name, "an archive within an archive is not opened")] if inside else _archive(peeked, name)
        return
    bare = head.lstrip(b" \t\r\n\0\xef\xbb\xbf\x1e")
    if not bare:
        yield Unknown(name, "it is empty")
    elif _is_utf_16(head):
        yield from _stream(Peeked(_utf8(peeked)), name, inside=inside)
    elif re.match(rb"\{\s*[\"}]|\[\s*[\[{]", bare) or _mostly_json(head):
        yield from _json(peeked, bare, name)
    elif head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        yield Unknown(name, "it is compressed: unpack it first")
    elif _is_binary(head):
        yield Unknown(name, "it is not text")
    elif name.lower().endswith((".yaml", ".yml")):
        yield Unknown(name, "it is YAML: its keys look like speakers, but nobody speaks")
    else:
        yield from text_logs.read(io.BufferedReader(peeked), name)


def _is_binary(head: bytes) -> bool:
    """Whether this is not text: it has many NUL or invalid bytes, or begins as a known binary format."""
    if head.count(b"\0") > len(head) // 100 or head.startswith((b"%PDF", b"\x89PNG", b"\xff\xd8")):
        return True
    text = head.decode("utf-8", "replace")
    return text.count("\ufffd") > len(text) // 4


def _is_utf_16(head: bytes) -> bool:
    """Whether a UTF-16 byte order mark is genuine: line endings then have a NUL next to them, or NULs are frequent."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) and (
        b"\n\0" in head or b"\0\n" in head or head.count(b"\0") * 20 > len(head)
    )


def _utf8(stream: Peeked) -> BinaryIO:
    """Return a UTF-16 stream, as some shells write it, as UTF-8."""
    decoded = codecs.getreader("utf-16")(io.BufferedReader(stream), "replace")

    class Encoded(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return decoded.read(size if size < 0 else max(1, size // 2)).encode("utf-8", "replace")

    return Encoded()  # type: ignore[return-value]


def _mostly_json(head: bytes) -> bool:
    """Whether a log is one of JSON lines although it begins with something else (half a line, a banner)."""
    complete = head.split(b"\n")[: 50 if len(head) < HEAD else -1]
    rows = [row for row in complete if row.strip(b" \t\r\0")]
    return sum(_is_object(row) for row in rows) * 2 > len(rows)


def _is_object(line: bytes) -> bool:
    """Whether a line is a JSON object, or begins with one."""
    if not line.startswith((b"{", b"\xef\xbb\xbf{")):
        return False
    return any(isinstance(value, dict) for value in values(line))


def _by_lines(peeked: Peeked, bare: bytes) -> bool:
    """Whether a log has one JSON value per line: a line that is not indented is a complete object."""
    first, *rows = peeked.first_lines().lstrip(b" \t\r\n\0\xef\xbb\xbf\x1e").split(b"\n", 20)
    objects = [row for row in rows[:20] if _is_object(row) and not row.rstrip().endswith(b",")]
    if bare.startswith(b"["):  # the file is one list, unless its first line is only a damaged value
        return first.strip() != b"[" and bool(objects) and None in values(first)
    return _is_object(first) or bool(objects)


def _json(peeked: Peeked, bare: bytes, name: str) -> Iterator[Transcript | Unknown]:
    """Read JSON: one document, or a value per line.

    Args:
        peeked: the stream.
        bare: its beginning, without blanks and marks.
        name: the name of the source in results.
    """
    reader = Sorter(name)
    why = ""
    try:
        if _by_lines(peeked, bare) or not bare.startswith((b"{", b"[")):
            yield from read_lines(io.BufferedReader(peeked, CHUNK), reader)
        else:
            yield from read_document(io.BufferedReader(peeked, CHUNK), bare, reader)
    except Exception as error:  # the conversations before the damage still count
        why = f"{'' if isinstance(error, DamagedError) else CANT}{_reason(error)}"
        reader.damaged += 1
    yield from reader.finish()
    if why and not reader.found:
        yield Unknown(name, why if why.startswith(CANT) else NO_JSON + why)
    elif not reader.found and reader.strange:
        keys = f" with {', '.join(map(json.dumps, reader.keys))}" if reader.keys else ""
        yield Unknown(name, f"its JSON{keys} has no known shape of a conversation")
    elif not reader.found:
        yield Unknown(name, "nobody says anything in it")
    elif why:
        yield Unknown(name, f"{BREAKS_OFF}{counted(reader.found, 'conversation')}: {why}")


def _archive(peeked: Peeked, name: str) -> Iterator[Transcript | Unknown]:
    """Read the conversations of an archive's files.

    Other files of an export are reported only if there are no conversations, or if they are :data:`BROKEN`.
    """
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(io.BufferedReader(peeked, CHUNK), copy, CHUNK)
        unknown: list[Unknown] = []
        found = False
        left = MAX_UNPACKED
        with zipfile.ZipFile(copy) as archive:
            for member in sorted(archive.infolist(), key=lambda info: info.filename):
                if member.is_dir() or not member.filename.lower().endswith(MEMBERS):
                    continue
                for result in _member(archive, member, f"{name}/{member.filename}", left):
                    if isinstance(result, Unknown):
                        unknown.append(result)
                    else:
                        found = True
                        yield result
                left -= min(left, member.file_size)
    if not found:
        yield from unknown or [Unknown(name, "the archive has no text files")]
    else:
        yield from (result for result in unknown if result.why.startswith(BROKEN))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, left: int) -> Iterator[Transcript | Unknown]:
    """Read the conversations of one file of an archive; a broken file or a zip bomb becomes an Unknown.

    Args:
        archive: opened.
        member: the file in it.
        name: the name of the file in results.
        left: number of bytes that may still be unpacked.
    """
    why = ""
    if member.flag_bits & 1:
        why = "it is encrypted"
    elif member.file_size > left:
        why = f"the archive unpacks to more than {MAX_UNPACKED // 1_000_000} MB"
    elif member.file_size > max(NO_TRAP, TRAP * member.compress_size):
        size = member.file_size // 1_000_000
        why = f"it would unpack to {size} MB, more than {TRAP} times its size: unpack it yourself if you trust it"
    if why:
        yield Unknown(name, CANT + why)
        return
    try:
        stream = archive.open(member)
    except Exception as error:  # an unknown compression method, a header that disagrees with the directory
        yield _unreadable(name, error)
        return
    with stream:
        yield from _guarded(Peeked(stream, left), name, inside=True)  # type: ignore[arg-type]


# -- JSON, a document or a value per line


MAX_LINE = 64_000_000
"""Maximum length of a line in bytes; a longer one is skipped and counted as damaged."""

MAX_PASSED = 2 * MAX_LINE
"""Maximum number of bytes of such a line that are skipped; if the line still goes on, the rest of the file is not
read."""

HELD_TURNS = 200_000
"""Number of turns of unfinished conversations that are held at once; above it, the conversation without a turn for the
longest time counts as finished. Only a log in which conversations alternate comes near it."""


GIVE_UP = 100_000
"""Number of values without a conversation after which the rest is not read."""

_DECODER = json.JSONDecoder(strict=False)


class Sorter:
    """Collects the values of a log into conversations.

    Args:
        source: the name of the log.

    Attributes:
        source: as given.
        damaged: number of values that couldn't be read and are not counted in a conversation yet.
        strange: number of values in no known format.
        keys: the keys of the first object among those.
        found: number of conversations so far.
        line: number of the line that is read; 0 if the values are not in lines.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.damaged = 0
        self.strange = 0
        self.keys: tuple[str, ...] = ()
        self.found = 0
        self.line = 0
        self._open: dict[tuple[type[json_logs.Chat], str], json_logs.Chat] = {}

    def take(self, value: object) -> Iterator[Transcript]:
        """Add one value; yield the conversations that it completes."""
        if isinstance(value, dict):
            for kind in json_logs.RECORDS:
                if (key := kind.of(value)) is not None:
                    chat = self._conversation(kind, key)
                    chat.draft.line = self.line
                    chat.add(value)
                    others = self._open.values() if len(self._open) > 1 else ()
                    if sum(len(session.draft.turns) for session in others) > HELD_TURNS:
                        yield from self._finish_first()
                    return
            if json_logs.CONVERSATION_KEYS.isdisjoint(value):
                self._add_strange(value)
                return
        known = False
        for conversation in json_logs.conversations_in(value):
            transcript = json_logs.transcript(conversation, self.source)
            if transcript is not None:
                known = True
                self.found += 1
                yield transcript
        if not known:
            self._add_strange(value)

    def _add_strange(self, value: object) -> None:
        """Count a value in no known format."""
        self.strange += 1
        if isinstance(value, dict) and not self.keys:
            self.keys = tuple(name(key) for key in list(value)[:6])

    def finish(self) -> Iterator[Transcript]:
        """Yield the unfinished conversations, the one with the latest record last."""
        while self._open:
            yield from self._finish_first()

    def _finish_first(self) -> Iterator[Transcript]:
        """Yield the conversation that has had no turn for the longest time."""
        transcript = self._open.pop(next(iter(self._open))).transcript(self.source)
        if transcript is not None:
            self.found += 1
            damaged, self.damaged = self.damaged, 0
            yield transcript._replace(damaged=damaged)

    @property
    def is_hopeless(self) -> bool:
        """Whether so many values were read without a sign of a conversation that the rest is not worth reading."""
        return self.strange + self.damaged > GIVE_UP and not self.found and not self._open

    def _conversation(self, kind: type[json_logs.Chat], key: str) -> json_logs.Chat:
        """Return the conversation that a record belongs to; without a key, the last one of its kind.

        Args:
            kind: the format of the record.
            key: the name of its conversation; empty if the record has none.
        """
        if not key:
            key = next((known for known_kind, known in reversed(self._open) if known_kind is kind), "")
        elif (kind, "") in self._open and (kind, key) not in self._open:
            self._open[kind, key] = self._open.pop((kind, ""))  # records before the first one that has a key
        found = self._open.pop((kind, key), None) or kind(key)
        self._open[kind, key] = found  # the one with the latest record comes last
        return found


def read_lines(stream: BinaryIO, reader: Sorter) -> Iterator[Transcript]:
    """Read the conversations of a file of JSON lines. A line that can't be read is counted, and the rest is still read.

    If the last line can't be read and has no line ending, it is an unfinished line of a session that goes on, and not
    counted as damage.

    Raises:
        DamagedError: a line is longer than :data:`MAX_PASSED`. The conversations before it come from
            :meth:`Sorter.finish`, as for a stream that breaks off.
    """
    while line := stream.readline(MAX_LINE):
        reader.line += 1
        complete = line.endswith(b"\n")
        if not complete and len(line) >= MAX_LINE:
            skipped = len(line)
            while (rest := stream.readline(MAX_LINE // 64)) and not rest.endswith(b"\n"):
                skipped += len(rest)
                if skipped > MAX_PASSED:
                    raise DamagedError(f"a line is longer than {MAX_PASSED // 1_000_000} MB")
            reader.damaged += 1
            continue
        for value in values(line):
            if value is None:
                reader.damaged += complete
            else:
                yield from reader.take(value)
        if reader.is_hopeless:
            break


def values(line: bytes) -> Iterator[Any]:
    """Yield the JSON values of one line, usually one; None for one that can't be read. A blank line has none."""
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
"""Maximum number of nested levels; real logs have ten. The parser keeps each one's path: memory grows quadratically."""

CHUNK = 1_000_000
"""Number of bytes parsed at once: the parser reads a text that spans chunks again with each of them."""

MAX_TEXT = 16_000_000
"""Maximum length in bytes of one text or name; the time to parse one grows quadratically."""

_ENDS = re.compile(rb"[\s,:\[\]{}\"]")
"""A character that ends a number or a word."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(\\?\Z|")', re.DOTALL)
"""A JSON string up to its end, or to the end of the chunk."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

_SURROGATE = re.compile(
    r"\\(?:\\|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""An escaped backslash, a surrogate pair, or (group 1) a lone surrogate, which the parser would reject."""

_CUT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z|\\(?:u[0-9a-fA-F]{0,3})?\Z")
"""An escape at the end that may continue in the next chunk, or half a surrogate pair."""

_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


class Clean:
    """A stream of UTF-8 that JSON parsers accept: without byte order mark, invalid bytes and control characters."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._depth = Depth()
        self._held = ""

    def read(self, size: int = -1) -> bytes:
        """Return at most about ``size`` bytes; none at the end.

        Raises:
            DamagedError: the document is nested deeper than :data:`DEEPEST`, or a text or a number in it is too long.
        """
        text = ""
        while size and not text:  # a chunk may end within a character
            data = self._stream.read(CHUNK if size < 0 else size)
            text = self._whole_escapes(self._decoder.decode(data, final=not data), final=not data)
            if not data:
                break
        if not text.isprintable():
            text = text.translate(_CONTROLS)
        if "\\ud" in text or "\\uD" in text:
            text = _SURROGATE.sub(lambda found: "\\ufffd" if found[1] else found[0], text)
        cleaned = text.encode("utf-8")
        if self._depth.deepest(cleaned) > DEEPEST:
            raise DamagedError(f"it is nested too deeply (more than {DEEPEST:,} levels)")
        if self._depth.longest > MAX_TEXT:
            raise DamagedError(f"a text in it is longer than {MAX_TEXT // 1_000_000} MB")
        if self._depth.is_endless:
            raise DamagedError(f"a number in it is longer than {CHUNK // 1_000_000} MB")
        return cleaned

    def _whole_escapes(self, text: str, *, final: bool) -> str:
        """Return the text without an incomplete escape or surrogate pair at its end, which waits for the next chunk."""
        text = self._held + text
        self._held = ""
        cut = None if final else _CUT.search(text, max(0, len(text) - 12))
        if cut is not None:
            at = cut.start()
            while at and text[at - 1] == "\\":
                at -= 1
            text, self._held = text[:at], text[at:]
        return text


class Depth:
    """Measures how deep a document is nested, chunk by chunk; brackets within strings don't count.

    Attributes:
        longest: length so far, in about bytes, of the string within which the last chunk ended; else 0.
        is_endless: whether a number or a word filled the whole last chunk.
    """

    def __init__(self) -> None:
        self.longest = 0
        self.is_endless = False
        self._open = 0
        self._string = b""  # what to put before the next chunk if this one ended within a string

    def deepest(self, chunk: bytes) -> int:
        """Take the next chunk, and return its deepest level (or an upper bound that is at most :data:`DEEPEST`)."""
        text = self._string + chunk
        bare, strings = _STRING.subn(rb"\1", text)
        goes_on = bool(self._string) and strings == 1
        self.is_endless = not self._string and len(chunk) >= CHUNK and _ENDS.search(chunk) is None
        self._string = b""
        if bare.count(b'"') < strings:  # the last string continues in the next chunk
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
    """Read the conversations of a JSON document (or of several, one after the other).

    Args:
        stream: from its first byte.
        head: its beginning, to detect whether the conversations are in a list within an object.
        reader: collects them.

    Raises:
        DamagedError: the document can't be read further; complete conversations before have been yielded, except for
            those that :meth:`Sorter.finish` still holds.
    """
    try:
        for value in ijson.items(Clean(stream), _prefix(head), use_float=True, multiple_values=True, buf_size=CHUNK):
            yield from reader.take(value)
    except (ijson.JSONError, ValueError, OverflowError, RecursionError) as error:
        raise DamagedError(re.split(r"[\r\n]", str(error))[0].strip(" .")[:120] or type(error).__name__) from error


def _prefix(head: bytes) -> str:
    """Return the ijson prefix of the values to read: items of a list or of a list in an object, or the document."""
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
    for key in json_logs.LISTS:
        within = {name for prefix, kind, name in events if kind == "map_key" and prefix == f"{key}.item"}
        if within & {*(export.field for export in json_logs.EXPORTS), *json_logs.HOLDERS}:
            return f"{key}.item"
    return ""
