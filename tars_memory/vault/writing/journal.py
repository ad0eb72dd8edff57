"""The journal: what was written, when, by whom, and the bytes before and after; append-only JSON lines.

It lives in the state folder, a file a month (``0007-2026-11.jsonl``: the number keeps the order when a clock goes
back), so that its retention is mostly the removal of whole files. Each write of a note is a ``begin`` record, durable
before the vault is touched, and an ``end`` record. Only the holder of the vault's lock writes, so an unfinished
``begin`` can only be the last record of all: recovery looks at the tail alone. A torn last line is one that never was.

Text is kept as UTF-8 with surrogate escapes: any bytes come back as they were.

A month goes as a whole, once it ended longer ago than the limit, but for the records that tell who gave or approved a
rule, and what was promoted by review: ``context`` and ``why`` ask for them years later.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory import disk
from tars_memory.errors import ConflictError, UnwritableError
from tars_memory.vault.folder import close, sync, write_all
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


Record = dict[str, Any]
"""One line of the journal.

``begin``: t, txn, n (position in the transaction), time, command, actor, file, op (append, edit, create, remove),
spans, base (what ``create`` began with, what ``remove`` removed), old and new (SHA-256 of the whole note, None if there
was or is none), size (old and new length), temp (name of our file beside the note), undoes (transaction), settles
(spool item), night (whose work it is part of), tick (it carries out ticks of a note), twins (how often the note still
holds what each span removed), whole (the transaction that stands whole or not at all; its own name, or while it is
taken back after a kill the other one's).
``end``: t, txn, n, ok, line, whole. ``mark``: t, txn, and undoes: an undo that found nothing left to do, or ``done``:
the end of a transaction that stands whole. ``kept``: of a month that is gone but for what is kept for ever. ``purged``:
its text was forgotten.
"""

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: sorts like the numbers, and no two digits look alike."""

LENGTH = 9
"""Milliseconds since 1970 in so many digits last until the year 3084."""

TAIL_BYTES = 16384
"""How much of the newest file is read at first to find its last record."""

NO_FILE = "{} bears the name of a file of the journal, and is not a regular file"

_NAME = re.compile(r"\d{4,}-\d{4}-(?:0[1-9]|1[0-2])\.jsonl")

BLOCK_BYTES = 1 << 18
"""How much is read at once when going back."""


class Journal:
    """The journal of one vault, in ``folder`` (which need not exist yet).

    ``left`` is the unfinished write: another process's after :meth:`open`, or one of this process that failed. ``cut``
    is how many bytes of a torn last line :meth:`open` has cut off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fd: int | None = None
        self._size = 0
        self._name = ""
        self._torn = False
        self.left: Record | None = None
        self.cut = 0

    def files(self) -> list[Path]:
        """The journal's files, oldest first.

        Raises:
            UnwritableError: the folder can't be read, or what stands in a file's place is none.
        """
        found = self._named()
        for path, is_file in found.items():
            if not is_file:
                hint = "put the file back, or tars-memory doctor --fix moves what is there away"
                raise UnwritableError(NO_FILE.format(path), hint)
        return sorted(found)

    def _named(self) -> dict[Path, bool]:
        """What bears the name of a file of the journal, and whether it is one."""
        try:
            with os.scandir(self.folder) as found:
                return {
                    self.folder / each.name: each.is_file(follow_symlinks=False)
                    for each in found
                    if _NAME.fullmatch(each.name)
                }
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unread(self.folder, error) from error

    def strangers(self) -> list[Path]:
        """What stands in the place of a file and is none, for doctor: a folder, a pipe, a link."""
        return [path for path, is_file in sorted(self._named().items()) if not is_file]

    def emptied(self) -> list[Path]:
        """Files without one whole line. No writer leaves such a file: each begins with its first record.

        Raises:
            UnwritableError: as :meth:`files`, or one of them can't be read.
        """
        return [path for path in self.files() if _is_emptied(path)]

    def gaps(self) -> list[str]:
        """What is to be said of :meth:`emptied` files, where they are missed."""
        return [f"{path} was emptied: the writes that it recorded are missing here" for path in self.emptied()]

    def damaged(self) -> dict[Path, int]:
        """How many lines of each file are not a record, for doctor; a torn last line was never written."""
        return {path: count for path in self.files() if (count := sum(1 for _ in self._rubbish(path)))}

    def set_aside(self, path: Path) -> Path:
        """Move the lines of a file that are not a record to a file beside it, which nobody reads. Only under the lock.

        Returns:
            Where they are.

        Raises:
            OSError: nothing was moved.
        """
        self.close()
        lines = list(self._rubbish(path))
        aside = path.with_suffix(".damaged")
        before = aside.read_bytes() if aside.is_file() else b""
        replace_file(aside, before + b"".join(line + b"\n" for line in lines))
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        kept = [line for line in whole.split(b"\n") if parse(line) is not None]
        if kept:
            replace_file(path, b"".join(line + b"\n" for line in kept))
        else:
            path.unlink()
        return aside

    def _rubbish(self, path: Path) -> Iterator[bytes]:
        fd = os.open(path, os.O_RDONLY | _BINARY)
        try:
            lines = list(_lines_backwards(fd, os.fstat(fd).st_size))
        finally:
            close(fd)
        for line in reversed(lines):
            if line and parse(line) is None:
                yield line

    def check_whole(self, txn: str) -> None:
        """See that no record of a transaction is damaged: half of it must not be taken for all.

        Raises:
            ConflictError: one is.
        """
        name = f'"{txn}"'.encode()
        for line in self.backwards():
            record = parse(line)
            if record is None and name in line:
                raise ConflictError(
                    f"a record of {txn} in the journal {self.folder} is damaged, so it can't be taken back as a whole",
                    "make the change by hand; tars-memory history shows the rest of it",
                )
            if record is not None and record["txn"] < txn and record["t"] == "begin":
                return

    # -- writing: only under the vault's lock

    def open(self, now: datetime) -> Record | None:
        """Open for writing, cut a torn last line off, and return the last record there is.

        Raises:
            OSError: the state folder can't be read or written.
        """
        files = self.files()
        held = [path for path in files if not _is_emptied(path)]
        month = f"{now:%Y-%m}"
        self.cut = 0
        if held and held[-1] == files[-1] and held[-1].stem[-7:] == month:
            last = self._open_file(held[-1])
        else:
            # A crash in the old month is recovered before the new month's file is begun. An emptied file stays: it is
            # all that tells of what is missing.
            last = self._open_file(held[-1]) if held else None
            number = int(files[-1].name[:4]) + 1 if files and files[-1].name[:4].isdigit() else 1
            if not _unfinished(last):
                self.close()
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._name = str(self.folder / f"{number:04}-{month}.jsonl")
        self.left = last if _unfinished(last) else None
        return last

    def _open_file(self, path: Path) -> Record | None:
        self._name = str(path)
        self._fd = os.open(path, _FLAGS)
        self._size = os.fstat(self._fd).st_size
        whole, record = self._tail()
        if whole < self._size:
            self.cut = self._size - whole
            os.ftruncate(self._fd, whole)
            self._size = whole
        return record

    def _tail(self) -> tuple[int, Record | None]:
        """The length up to the last whole line, and the last record that can be read."""
        assert self._fd is not None
        reach = TAIL_BYTES
        while True:
            start = max(0, self._size - reach)
            block = _read_at(self._fd, start, self._size - start)
            whole = block.rfind(b"\n") + 1
            lines = block[:whole].split(b"\n")[:-1]
            for line in reversed(lines if start == 0 else lines[1:]):
                record = parse(line)
                if record is not None:
                    return start + whole, record
            if start == 0:
                return whole, None
            reach *= 4

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        """Write records as one piece: all of them or none.

        Args:
            records: in order.
            durable: return only when they will survive a power cut.

        Raises:
            OSError: nothing was written.
        """
        data = b"".join(map(as_line, records))
        try:
            self._append(data, durable=durable)
        except OSError as error:
            error.filename = self._name
            raise

    def _append(self, data: bytes, *, durable: bool) -> None:
        if self._fd is None and not os.path.lexists(self._name):
            replace_file(Path(self._name), data)  # never empty, not even for a moment
            data = b""
        if self._fd is None:
            self._fd = os.open(self._name, _FLAGS)
            self._size = os.fstat(self._fd).st_size
        try:
            if self._torn:
                os.ftruncate(self._fd, self._size)
            self._torn = True
            write_all(self._fd, data)
            if durable and data:
                sync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._size)
            self._torn = False
            raise
        self._torn = False
        self._size += len(data)

    @property
    def begins_file(self) -> bool:
        """Whether the next record opens a new month's file."""
        return self._fd is None

    def close(self) -> None:
        """Give the handle back; harmless if done before."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            close(fd)

    # -- reading: with or without the lock

    def backwards(self) -> Iterator[bytes]:
        """All lines, newest first, read as they are asked for; not parsed, a torn last line left out.

        Raises:
            UnwritableError: the journal can't be read.
        """
        for path in reversed(self.files()):
            try:
                with contextlib.suppress(FileNotFoundError):  # it may be pruned just now
                    fd = os.open(path, os.O_RDONLY | _BINARY)
                    try:
                        yield from _lines_backwards(fd, os.fstat(fd).st_size)
                    finally:
                        close(fd)
            except OSError as error:
                raise _unread(path, error) from error

    def records(self, wanted: Callable[[bytes], bool] | None = None) -> Iterator[Record]:
        """The records, newest first; ``wanted`` looks at the raw line, before it is parsed."""
        for line in self.backwards():
            if wanted is None or wanted(line):
                record = parse(line)
                if record is not None:
                    yield record

    def unfinished(self) -> Record | None:
        """The write that a killed process left behind, for readers to report; None if there is none."""
        for record in self.records():
            return record if _unfinished(record) else None
        return None

    @staticmethod
    def cut_off(last: Record | None) -> str | None:
        """The transaction that was to stand whole and was killed, if the journal's last record is of such a one."""
        return str(last["whole"]) if last is not None and "whole" in last and "done" not in last else None


def _unread(path: Path, error: OSError) -> UnwritableError:
    said = f"the journal can't be read: {path}: {error.strerror or error}"
    return UnwritableError(said, "check the owner and the rights of the state folder, and its disk")


def _is_emptied(path: Path) -> bool:
    """Whether a file of the journal holds no whole line.

    Raises:
        UnwritableError: it can't be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | _BINARY)
        try:
            return not any(b"\n" in block for block in iter(partial(os.read, fd, BLOCK_BYTES), b""))
        finally:
            close(fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unread(path, error) from error


_BINARY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_FLAGS = os.O_RDWR | os.O_APPEND | _BINARY


def replace_file(path: Path, data: bytes) -> None:
    """Write a file of the state folder whole, atomically and durably, readable by its owner alone."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with disk.whole(path, temporary):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        try:
            write_all(fd, data)
            sync(fd)
        finally:
            close(fd)
        os.replace(temporary, path)
    _sync_folder(path.parent)


def pack(spans: Sequence[edits.Span]) -> list[list[Any]]:
    """Spans as JSON takes them."""
    return [[s.start, _text(s.before), _text(s.after), _text(s.previous), _text(s.following)] for s in spans]


def unpack(record: Record) -> list[edits.Span]:
    """The spans of a record."""
    return [
        edits.Span(start, _bytes(before) or b"", _bytes(after) or b"", _bytes(previous), _bytes(following))
        for start, before, after, previous, following in record["spans"]
    ]


def base_of(record: Record) -> bytes:
    """What a new note began with, or what was removed."""
    return _bytes(record.get("base")) or b""


def result_of(record: Record, before: bytes | None = None) -> bytes:
    """The text that a write was to bring about: of another one, else of what it began with."""
    return apply(base_of(record) if before is None else before, edits.splices_of(unpack(record)))


def text_of(data: bytes) -> str:
    """Bytes as the journal keeps them."""
    return data.decode("utf-8", "surrogateescape")


def _text(data: bytes | None) -> str | None:
    return None if data is None else text_of(data)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _unfinished(record: Record | None) -> bool:
    return record is not None and record["t"] == "begin"


def parse(line: bytes) -> Record | None:
    """The record of a line, each member of the type that :data:`Record` says; None if it is none."""
    try:
        record = json.loads(line)
        return record if isinstance(record, dict) and _is_record(record) else None
    except (ValueError, RecursionError, MemoryError):  # a torn line, or what a power cut left of it
        return None


def _is_record(record: Record) -> bool:
    """Whether the members that its readers rely on are there, and of their types."""
    for name, value in record.items():
        kind = _KINDS.get(name)
        if kind is not None and not (type(value) in kind and (type(value) is not str or is_text(value))):
            return False
    txn = record.get("txn")
    if txn is None or len(txn) > LENGTH or not txn.isalnum() or record.get("t") not in ("begin", "end", "mark"):
        return False
    if record["t"] == "mark":
        return True
    if "n" not in record or not 0 <= record["n"] < _MANY:
        return False
    if record["t"] == "end":
        return "ok" in record and 0 <= record.get("line", -1) < _MANY
    return _is_begin(record)


def _is_begin(record: Record) -> bool:
    names = {"time", "command", "actor", "file", "op", "spans"} | (
        set() if "purged" in record else {"old", "new", "size"}
    )
    if not names <= record.keys() or record["op"] not in ("append", "edit", "create", "remove"):
        return False
    temp = record.get("temp", "")
    if (
        any(part in ("", ".", "..") for part in record["file"].split("/"))
        or "/" in temp
        or "\0" in record["file"] + temp
    ):
        return False
    if "purged" not in record and not (temp or record["op"] == "append"):
        return False
    if record["op"] == "append" and "purged" not in record and len(record["spans"]) != 1:
        return False
    pairs = (record.get("size", [0, 0]), record.get("dress", [0, 0]))
    if not all(len(pair) == 2 and all(type(each) is int and 0 <= each < _HUGE for each in pair) for pair in pairs):
        return False
    counted = all(type(each) is int for each in record.get("twins", ()))
    return counted and all(_is_span(span) for span in record["spans"]) and _is_in_order(record)


def _is_span(span: Any) -> bool:
    if not isinstance(span, list) or len(span) != 5 or type(span[0]) is not int or span[0] < 0:
        return False
    texts = all(isinstance(each, str) and is_text(each) for each in span[1:3])
    return texts and all(each is None or (isinstance(each, str) and is_text(each)) for each in span[3:])


def _is_in_order(record: Record) -> bool:
    """Whether the spans follow each other, and those of a new note lie in what it began with."""
    at = 0
    for start, before, *_ in record["spans"]:
        if start < at:
            return False
        at = start + len(_bytes(before) or b"")
    return record["op"] != "create" or at <= len(base_of(record))


def is_text(text: str) -> bool:
    """Whether a text comes from bytes, so that it can be written."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


_NONE = type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("t", "txn", "time", "command", "actor", "file", "op", "temp", "base"), (str,)),
    **dict.fromkeys(("undoes", "settles", "night", "whole"), (str,)),
    **dict.fromkeys(("old", "new"), (str, _NONE)),
    **dict.fromkeys(("spans", "size", "dress", "twins"), (list,)),
    "tick": (dict,),
    **dict.fromkeys(("n", "line", "folders"), (int,)),
    **dict.fromkeys(("ok", "direct", "done", "kept", "purged", "recovered", "left"), (bool,)),
}
_MANY, _HUGE = 1 << 31, 1 << 63


def _read_at(fd: int, start: int, length: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)
    parts = []
    while length > 0:
        part = os.read(fd, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _lines_backwards(fd: int, size: int) -> Iterator[bytes]:
    parts: list[bytes] = []  # of the line that begins further up, last part first
    torn = True
    while size > 0:
        start = max(0, size - BLOCK_BYTES)
        first, *lines = _read_at(fd, start, size - start).split(b"\n")
        size = start
        for line in reversed(lines):
            whole = b"".join((line, *reversed(parts)))
            parts.clear()
            if not torn:  # else it is what follows the last newline
                yield whole
            torn = False
        parts.append(first)
    if not torn:
        yield b"".join(reversed(parts))


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            close(fd)


# -- names of transactions


def next_txn(now: datetime, last: str | None) -> str:
    """The name of a transaction that begins now: always after the last one, whatever the clock says.

    Args:
        now: an aware time.
        last: the name of the newest transaction in the journal.
    """
    number = int(now.timestamp() * 1000)
    if last:
        number = max(number, _number(last) + 1)
    digits = ""
    for _ in range(LENGTH):
        number, digit = divmod(number, 32)
        digits = DIGITS[digit] + digits
    return digits


def time_of(txn: str) -> datetime:
    """When a transaction began, or a little later if the clock had gone back."""
    return datetime.fromtimestamp(_number(txn) / 1000, UTC)


def _number(txn: str) -> int:
    number = 0
    for digit in txn:
        number = number * 32 + max(DIGITS.find(digit), 0)
    return number


# -- what goes with time, and what stays for ever


FOREVER = ("review", "learn")
"""The commands whose writes are kept: they are decisions of the person. So is what is written later in a playbook that
one of them wrote: it says how the steps came to stand as they do."""

_RULES = re.compile(r"(?:[^/]+/[^/]+/)?Procedural\.md")


def prune(journal: Journal, now: datetime, days: int) -> list[str]:
    """Remove what ended more than ``days`` days ago, never of the newest file, and not what is kept for ever.

    Call it under the lock, without an unfinished write.

    Returns:
        the names of the files that went or became shorter.
    """
    less: list[str] = []
    kept: set[str] = set()
    for path in journal.files()[:-1]:
        year, month = int(path.stem[-7:-3]), int(path.stem[-2:])
        ended = date(year + month // 12, month % 12 + 1, 1)
        if (now.date() - ended).days <= days:
            break
        lines = path.read_bytes().split(b"\n")[:-1]
        stays = [as_line(record | {"kept": True}) for record in _forever(lines, kept)]
        if len(stays) == len(lines):
            continue
        if stays:
            replace_file(path, b"".join(stays))
        else:
            try:
                path.unlink()
            except OSError:  # it is tried again; that old file must not keep anything from being written
                continue
        less.append(path.name)
    return less


def _forever(lines: list[bytes], kept: set[str]) -> Iterator[Record]:
    """The records that stay: of rules, of decisions, and of what took either of them back.

    Args:
        lines: of one file, in order.
        kept: the transactions of such writes so far, and the playbooks among their notes; added to.
    """
    ends: set[tuple[str, int]] = set()
    for line in lines:
        record = parse(line)
        if record is None:
            continue
        name = (str(record["txn"]), int(record.get("n", -1)))
        if record["t"] == "begin":
            rule = _RULES.fullmatch(str(record["file"])) is not None
            file = str(record["file"])
            if rule or record["command"] in FOREVER or file in kept or record.get("undoes") in kept:
                kept.add(name[0])
                kept.update([file] if _is_whole(record) else [])
                ends.add(name)
                yield record
        elif name in ends or (record["t"] == "mark" and (record.get("undoes") in kept or name[0] in kept)):
            yield record


def _is_whole(record: Record) -> bool:
    """Whether a decision is about a note as a whole: a playbook that was made, or approved as it stands."""
    spans = unpack(record)
    if record["op"] == "create":
        return any(span.after.startswith(b"---\ncreated: ") for span in spans)  # as a playbook begins that we make
    return bool(spans) and all(span.before == span.after for span in spans)


def as_line(record: Record) -> bytes:
    """A record as it stands in the journal."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
