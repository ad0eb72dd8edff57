"""Files, folders, archives and streams: what there is to read, and which reader its content asks for."""

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
from typing import TYPE_CHECKING, BinaryIO

from tars_memory.capture.transcripts import records, text
from tars_memory.capture.transcripts.turns import DamagedError, Transcript, Unknown
from tars_memory.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 65_536
"""Bytes that are looked at to tell the shape."""
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
    """A file of a folder; a pipe or a device that lies there is none, and is not waited for."""
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
        yield from text.read(io.BufferedReader(peeked), name)


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
    return any(isinstance(value, dict) for value in records.values(line))


def _by_lines(peeked: Peeked, bare: bytes) -> bool:
    """Whether JSON stands line by line: a line without indent is an object of its own."""
    first, *rows = peeked.first_lines().lstrip(b" \t\r\n\0\xef\xbb\xbf\x1e").split(b"\n", 20)
    objects = [row for row in rows[:20] if _is_object(row) and not row.rstrip().endswith(b",")]
    if bare.startswith(b"["):  # a list, unless its first line is only the wreck of one
        return first.strip() != b"[" and bool(objects) and None in records.values(first)
    return _is_object(first) or bool(objects)


def _json(peeked: Peeked, bare: bytes, name: str) -> Iterator[Transcript | Unknown]:
    reader = records.Sorter(name)
    why = ""
    try:
        if _by_lines(peeked, bare) or not bare.startswith((b"{", b"[")):
            yield from records.read_lines(io.BufferedReader(peeked, records.CHUNK), reader)
        else:
            yield from records.read_document(io.BufferedReader(peeked, records.CHUNK), bare, reader)
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


def _why(reader: records.Sorter) -> str:
    if reader.strange:
        keys = f" with {', '.join(map(json.dumps, reader.keys))}" if reader.keys else ""
        return f"its JSON{keys} has no known shape of a conversation"
    return "nobody says anything in it"


def _archive(peeked: Peeked, name: str) -> Iterator[Transcript | Unknown]:
    """The conversations of an archive's files; what else an export holds is only named if there are none."""
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(io.BufferedReader(peeked, records.CHUNK), copy, records.CHUNK)
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
