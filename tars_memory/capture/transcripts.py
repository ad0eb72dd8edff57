"""Reading foreign logs: the conversations of a file, a folder, a zip archive or a stream, whatever their shape.

The content shows the shape, never a file's name. What is not a conversation is skipped, and reported with the reason.
A file is read as a stream: memory holds one conversation at a time, and of a tool's output only its beginning.
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
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

import ijson

from tars_memory.capture import json_logs, text_logs
from tars_memory.capture.turns import DamagedError, Transcript, Unknown, name
from tars_memory.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator


HEAD = 65_536
"""Bytes that are looked at to find the shape."""
FIRST_LINE = 32_000_000
"""So long may the first line be while it is looked at whole."""
MAX_UNPACKED = 4_000_000_000
"""Bytes read of one file, or of all files of an archive; what is more is a trap, or no export."""
TRAP = 100
"""So many times its size an archive's file unpacks to if it is a trap: text comes to 20."""
NO_TRAP = 50_000_000
"""Bytes that any file of an archive may unpack to."""
MEMBERS = (".json", ".jsonl", ".ndjson", ".md", ".txt")
"""Ends of the names of an archive's files that are looked at; an export holds pictures and sounds beside them."""


CANT, NO_JSON, BREAKS_OFF = "it can't be read: ", "it is not a whole JSON: ", "it is damaged after "
BROKEN = (CANT, NO_JSON, BREAKS_OFF)
"""How it begins to be said that a file may be a conversation, but not all of it could be read."""


def read(source: str | os.PathLike[str] | BinaryIO, name: str | None = None) -> Iterator[Transcript | Unknown]:
    """The conversations of a file, of all files of a folder (sorted, those of its folders too), or of a stream.

    Args:
        source: a path, or a binary stream.
        name: what to call it in answers; by default the path, and ``-`` for a stream.

    Yields:
        One transcript a conversation, in the order of the log; and what could not be read, with the reason. Nothing is
        raised for what a file holds.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield from _guarded(Peeked(source), name or "-")
        return
    path = os.fspath(source)
    name = name or path
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            yield from _folder(path, name)
            return
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode) and not stat.S_ISCHR(found.st_mode):
            yield Unknown(name, "it is not a regular file")
            return
        with open(path, "rb") as stream:
            yield from _guarded(Peeked(stream), name)
    except (OSError, ValueError) as error:
        yield _unreadable(name, error)


def _folder(path: str, name: str) -> Iterator[Transcript | Unknown]:
    """All files below a folder but hidden ones; links to folders are not followed."""
    found = False
    closed: list[OSError] = []
    for folder, folders, files in os.walk(path, onerror=closed.append):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            if not file.startswith("."):
                found = True
                inner = os.path.join(folder, file)
                yield from _file(inner, os.path.join(name, os.path.relpath(inner, path)))
    for error in closed:
        yield _unreadable(os.path.join(name, os.path.relpath(os.fspath(error.filename), path)), error)
    if not found and not closed:
        yield Unknown(name, "the folder holds no files")


def _file(path: str, name: str) -> Iterator[Transcript | Unknown]:
    """A regular file of a folder; nobody waits for a pipe or a device."""
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
        if regular:
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
                regular = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
                if regular:
                    yield from _guarded(Peeked(stream), name)
    except OSError as error:
        yield _unreadable(name, error)
        return
    if not regular:
        yield Unknown(name, "it is not a regular file")


def _guarded(peeked: Peeked, name: str, *, inside: bool = False) -> Iterator[Transcript | Unknown]:
    """What a stream holds; whatever is wrong with it costs no other one."""
    try:
        yield from _stream(peeked, name, inside=inside)
    except Exception as error:  # the parsers of archives alone raise a dozen kinds, and each is the file's fault
        yield _unreadable(name, error)


def _unreadable(name: str, error: Exception) -> Unknown:
    return Unknown(name, CANT + _told(error))


def _told(error: Exception) -> str:
    """What went wrong, in a few words."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return re.split(r"[\r\n]", str(said))[0].strip(" .")[:200]


class Peeked(io.RawIOBase):
    """A stream whose beginning can be looked at before it is read, though it can't be rewound."""

    def __init__(self, stream: BinaryIO, limit: int = MAX_UNPACKED) -> None:
        super().__init__()
        self._stream = stream
        self._head = b""
        self._at = 0
        self._limit = self._left = limit

    def peek(self, size: int) -> bytes:
        """The first bytes, of which none was read yet: ``size``, or fewer if there are no more."""
        while len(self._head) < size and (data := self._stream.read(max(HEAD, size - len(self._head)))):
            self._head += data
        return self._head[:size]

    def first_lines(self) -> bytes:
        """The beginning with the whole first line, unless that is longer than :data:`FIRST_LINE`."""
        size = HEAD
        while b"\n" not in self._head and size < FIRST_LINE:
            if len(self.peek(size)) < size:
                break
            size *= 4
        return self._head

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what comes next.

        Raises:
            OSError: there is more than was allowed.
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
    else:
        yield from text_logs.read(io.BufferedReader(peeked), name)


def _is_binary(head: bytes) -> bool:
    """Whether it is not text: NUL bytes, or much that no text has."""
    if head.count(b"\0") > len(head) // 100 or head.startswith((b"%PDF", b"\x89PNG", b"\xff\xd8")):
        return True
    read = head.decode("utf-8", "replace")
    return read.count("\ufffd") > len(read) // 4


def _is_utf_16(head: bytes) -> bool:
    """Whether the byte order mark is meant: every line ending has a NUL beside it then."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) and (
        b"\n\0" in head or b"\0\n" in head or head.count(b"\0") * 20 > len(head)
    )


def _utf8(stream: Peeked) -> BinaryIO:
    """UTF-16, as some shells write it, as UTF-8."""
    decoded = codecs.getreader("utf-16")(io.BufferedReader(stream), "replace")

    class Encoded(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return decoded.read(size if size < 0 else max(1, size // 2)).encode("utf-8", "replace")

    return Encoded()  # type: ignore[return-value]


def _mostly_json(head: bytes) -> bool:
    """Whether a log that begins otherwise (half a line, a banner) is one of JSON lines all the same."""
    whole = head.split(b"\n")[: 50 if len(head) < HEAD else -1]
    rows = [row for row in whole if row.strip(b" \t\r\0")]
    return sum(_is_object(row) for row in rows) * 2 > len(rows)


def _is_object(line: bytes) -> bool:
    if not line.startswith((b"{", b"\xef\xbb\xbf{")):
        return False
    return any(isinstance(value, dict) for value in values(line))


def _by_lines(peeked: Peeked, bare: bytes) -> bool:
    """Whether JSON comes line by line: a line without indent is an object of its own."""
    first, *rows = peeked.first_lines().lstrip(b" \t\r\n\0\xef\xbb\xbf\x1e").split(b"\n", 20)
    objects = [row for row in rows[:20] if _is_object(row) and not row.rstrip().endswith(b",")]
    if bare.startswith(b"["):  # a list, unless its first line is only the wreck of one
        return first.strip() != b"[" and bool(objects) and None in values(first)
    return _is_object(first) or bool(objects)


def _json(peeked: Peeked, bare: bytes, name: str) -> Iterator[Transcript | Unknown]:
    reader = Sorter(name)
    why = ""
    try:
        if _by_lines(peeked, bare) or not bare.startswith((b"{", b"[")):
            yield from read_lines(io.BufferedReader(peeked, CHUNK), reader)
        else:
            yield from read_document(io.BufferedReader(peeked, CHUNK), bare, reader)
    except Exception as error:  # what came before the damage is read all the same
        why = f"{'' if isinstance(error, DamagedError) else CANT}{_told(error)}"
        reader.damaged += 1
    yield from reader.finish()
    if why and not reader.found:
        yield Unknown(name, why if why.startswith(CANT) else NO_JSON + why)
    elif not reader.found:
        yield Unknown(name, _why(reader))
    elif why:
        yield Unknown(name, f"{BREAKS_OFF}{counted(reader.found, 'conversation')}: {why}")


def _why(reader: Sorter) -> str:
    if reader.strange:
        keys = f" with {', '.join(map(json.dumps, reader.keys))}" if reader.keys else ""
        return f"its JSON{keys} has no known shape of a conversation"
    return "nobody says anything in it"


def _archive(peeked: Peeked, name: str) -> Iterator[Transcript | Unknown]:
    """The conversations of an archive's files; what else an export holds is only named if there are none."""
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(io.BufferedReader(peeked, CHUNK), copy, CHUNK)
        unknown: list[Unknown] = []
        found = 0
        left = MAX_UNPACKED
        with zipfile.ZipFile(copy) as archive:
            for member in sorted(archive.infolist(), key=lambda info: info.filename):
                if member.is_dir() or not member.filename.lower().endswith(MEMBERS):
                    continue
                for one in _member(archive, member, f"{name}/{member.filename}", left):
                    if isinstance(one, Unknown):
                        unknown.append(one)
                    else:
                        found += 1
                        yield one
                left -= min(left, member.file_size)
    if not found:
        yield from unknown or [Unknown(name, "the archive holds no text")]
    else:
        yield from (one for one in unknown if one.why.startswith(BROKEN))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, left: int) -> Iterator[Transcript | Unknown]:
    """The conversations of one file of an archive; one that is broken, or a trap, costs no other.

    Args:
        archive: opened.
        member: of it.
        name: to call it by.
        left: bytes that may still be unpacked.
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
    except Exception as error:  # an unknown method, a header that says otherwise
        yield _unreadable(name, error)
        return
    with stream:
        yield from _guarded(Peeked(stream, left), name, inside=True)  # type: ignore[arg-type]


# -- JSON, a document or a value a line


MAX_LINE = 64_000_000
"""Bytes of one line; a longer one is passed over and counted as damaged."""

MAX_PASSED = 2 * MAX_LINE
"""Bytes of a longer line that are passed over; one that still goes on then ends the file."""

HELD_TURNS = 200_000
"""So many turns of unfinished conversations are held at once; then the one that is silent longest is given out. Only a
log in which conversations take turns comes near to it."""


GIVE_UP = 100_000
"""After so many values without a conversation the rest is not read."""

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
        self._open: dict[tuple[type[json_logs.Chat], str], json_logs.Chat] = {}

    def take(self, value: object) -> Iterator[Transcript]:
        """Take in one value; a conversation that it completes is given out."""
        if isinstance(value, dict):
            for kind in json_logs.RECORDS:
                if (key := kind.of(value)) is not None:
                    self._conversation(kind, key).add(value)
                    yield from self._full()
                    return
            if json_logs.TELLING.isdisjoint(value):
                self._stranger(value)
                return
        known = False
        for one in json_logs.several(value):
            transcript = json_logs.transcript(one, self.source)
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

    def _conversation(self, kind: type[json_logs.Chat], key: str) -> json_logs.Chat:
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
    """The JSON values of one line, usually one; None for what can't be read. A blank line has none."""
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
"""Bytes parsed at once: the parser reads a text that spans chunks again with each of them."""

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
    """How deep a document is nested, chunk by chunk; brackets within strings don't count.

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
    for key in json_logs.LISTS:
        within = {name for prefix, kind, name in events if kind == "map_key" and prefix == f"{key}.item"}
        if within & {*(export.field for export in json_logs.EXPORTS), *json_logs.HOLDERS}:
            return f"{key}.item"
    return ""
