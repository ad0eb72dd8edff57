"""Files, folders, archives and streams: what there is to read, and which reader its content asks for."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture.transcripts import documents, lines, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from tars_memory.capture.turns import Transcript

HEAD = 65_536
"""Bytes that are looked at to tell the shape."""
FIRST_LINE = 32_000_000
"""So long may the first line be while it is looked at whole."""
MAX_UNPACKED = 4_000_000_000
"""Bytes read of one file of an archive; an archive that unpacks to more is a trap, or no export."""
MEMBERS = (".json", ".jsonl", ".ndjson", ".md", ".txt")
"""Ends of the names of an archive's files that are looked at; an export holds pictures and sounds beside them."""


class Unknown(NamedTuple):
    """What is no conversation, or could not be read.

    Attributes:
        name: of the file (in an archive ``archive.zip/member``).
        why: one sentence without a full stop.
    """

    name: str
    why: str


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
        yield from _guarded(source, name or "-")
        return
    path = os.fspath(source)
    name = name or path
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            yield from _folder(path, name)
            return
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode) and not stat.S_ISCHR(found.st_mode):
            yield Unknown(name, "it is no regular file")
            return
        with open(path, "rb") as stream:
            yield from _guarded(stream, name)
    except (OSError, ValueError) as error:
        yield Unknown(name, f"it can't be read: {getattr(error, 'strerror', None) or error}")


def _folder(path: str, name: str) -> Iterator[Transcript | Unknown]:
    """All files below a folder but hidden ones; links to folders are not followed."""
    any_file = False
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            inner = os.path.join(folder, file)
            if file.startswith(".") or not os.path.isfile(inner):
                continue
            any_file = True
            yield from read(inner, os.path.join(name, os.path.relpath(inner, path)))
    if not any_file:
        yield Unknown(name, "the folder holds no files")


def _guarded(stream: BinaryIO, name: str) -> Iterator[Transcript | Unknown]:
    try:
        yield from _stream(Peeked(stream), name)
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        yield Unknown(name, f"it can't be read: {getattr(error, 'strerror', None) or error}")


class Peeked(io.RawIOBase):
    """A stream whose beginning can be looked at before it is read, though it can't be rewound."""

    def __init__(self, stream: BinaryIO, limit: int = MAX_UNPACKED) -> None:
        super().__init__()
        self._stream = stream
        self._head = b""
        self._at = 0
        self._left = limit

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
            raise OSError("it is too large")
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
        yield Unknown(name, "it is no text")
    else:
        yield from text.read(io.BufferedReader(peeked), name)


def _is_binary(head: bytes) -> bool:
    """Whether it is no text: NUL bytes, or much that no text has."""
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
    import codecs

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
    return any(isinstance(value, dict) for value in lines.values(line))


def _by_lines(peeked: Peeked, bare: bytes) -> bool:
    """Whether JSON stands line by line: a line without indent is an object of its own."""
    first, *rows = peeked.first_lines().lstrip(b" \t\r\n\0\xef\xbb\xbf\x1e").split(b"\n", 20)
    objects = [row for row in rows[:20] if _is_object(row) and not row.rstrip().endswith(b",")]
    if bare.startswith(b"["):  # a list, unless its first line is only the wreck of one
        return first.strip() != b"[" and bool(objects) and None in lines.values(first)
    return _is_object(first) or bool(objects)


def _json(peeked: Peeked, bare: bytes, name: str) -> Iterator[Transcript | Unknown]:
    reader = lines.Reader(name)
    why = ""
    if _by_lines(peeked, bare) or not bare.startswith((b"{", b"[")):
        yield from lines.read(io.BufferedReader(peeked), reader)
    else:
        try:
            yield from documents.read(io.BufferedReader(peeked), bare, reader)
        except documents.DamagedError as error:
            why = str(error)
            reader.damaged += 1
        yield from reader.finish()
    if not reader.found:
        yield Unknown(name, _why(reader, why))
    elif why:
        yield Unknown(name, f"it is damaged after {reader.found} conversations: {why}")


def _why(reader: lines.Reader, why: str) -> str:
    if why:
        return f"it is no whole JSON: {why}"
    if reader.strange:
        keys = f" with {', '.join(map(json.dumps, reader.keys))}" if reader.keys else ""
        return f"its JSON{keys} has no known shape of a conversation"
    return "nobody says anything in it"


def _archive(peeked: Peeked, name: str) -> Iterator[Transcript | Unknown]:
    """The conversations of an archive's files; what else an export holds is only named if there are none."""
    import shutil
    import tempfile

    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(io.BufferedReader(peeked), copy)
        unknown: list[Unknown] = []
        found = 0
        with zipfile.ZipFile(copy) as archive:
            for member in sorted(archive.infolist(), key=lambda info: info.filename):
                if member.is_dir() or not member.filename.lower().endswith(MEMBERS):
                    continue
                inner = f"{name}/{member.filename}"
                with archive.open(member) as stream:
                    for one in _stream(Peeked(stream), inner, inside=True):  # type: ignore[arg-type]
                        if isinstance(one, Unknown):
                            unknown.append(one)
                        else:
                            found += 1
                            yield one
    if not found:
        yield from unknown or [Unknown(name, "the archive holds no text")]
    else:
        yield from (one for one in unknown if "damaged" in one.why)
