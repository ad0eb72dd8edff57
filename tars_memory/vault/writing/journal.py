"""The journal: what was written, when, by whom, and the bytes before and after; append-only JSON lines.

It lives in the state folder, one file per month (``0007-2026-11.jsonl``: the number keeps the order when a clock goes
back), so that retention mostly removes whole files. Each write of a note is a ``begin`` record, durable before the
vault is touched, and an ``end`` record. Only the holder of the vault's lock writes, so only the very last record can be
an unfinished ``begin``: recovery reads the tail alone. A torn last line counts as never written.

Text is stored as UTF-8 with surrogate escapes: any bytes come back as they were.

A month is removed as a whole once it ended longer ago than the limit. Only the records that say who gave or approved a
rule, and what review promoted, are kept: ``context`` and ``why`` ask for them years later.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tars_memory import disk
from tars_memory.errors import ConflictError, UnwritableError
from tars_memory.vault.folder import close, sync, write_all
from tars_memory.vault.markdown import document, edits

Record = dict[str, Any]
"""One line of the journal.

``begin``: t, txn, n (position in the transaction), time, command, actor, file, op (append, edit, create, remove),
spans, base (the text that ``create`` began with or that ``remove`` removed), old and new (SHA-256 of the whole note,
None if there was or is none), size (old and new length in bytes), temp (name of our file beside the note), dress (mode
and time of modification of a removed note), folders (number of folders made for the note), direct (``create`` wrote
under the note's own name), undoes (transaction), settles (spool item), night (the night's work that it is part of),
tick (it carries out ticks of a note), twins (how often the note still holds what each span removed), whole (name of the
atomic transaction; its own name, or that of the one being taken back after a kill).
``end``: t, txn, n, ok, line, whole, recovered (the next writer settled it), left (it could not be settled).
``mark``: t, txn, whole, and undoes (an undo that found nothing left to do) or done (the end of an atomic transaction).
A ``mark`` with an op (withhold, release) is a write that changes no note: n, time, command, actor, file (of a log),
line, project, undoes, purged.
``kept``: the record outlasts the rest of its month. ``purged``: its text was forgotten.
"""

OPPOSITE = {"withhold": "release", "release": "withhold"}
"""What takes back a write that changes no note: it withholds a turn of a log, which is its ``file``, or no longer."""

TXN_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: sorts like the numbers, and no two digits look alike."""

TXN_LENGTH = 9
"""Number of digits of a transaction's name: enough for milliseconds since 1970 until the year 3084."""

NO_FILE = "{} has the name of a journal file, but is not a regular file"

_NAME = re.compile(r"\d{4,}-\d{4}-(?:0[1-9]|1[0-2])\.jsonl")

BLOCK_BYTES = 1 << 18
"""Number of bytes read at once when reading a file backwards."""


class Journal:
    """The journal of one vault.

    Args:
        folder: holds the journal's files; made at the first write.

    Attributes:
        unsettled: the ``begin`` record of the unfinished write: another process's after :meth:`open`, or one of this
            process that failed; else None.
        cut_bytes: length of the torn last line that :meth:`open` cut off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fd: int | None = None
        self._size = 0
        self._name = ""
        self._torn = False
        self.unsettled: Record | None = None
        self.cut_bytes = 0

    def files(self) -> list[Path]:
        """The journal's files, oldest first.

        Raises:
            UnwritableError: the folder can't be read, or something with a journal file's name is not a regular file.
        """
        paths = self._journal_files()
        for path, is_file in paths.items():
            if not is_file:
                hint = "put the file back, or let tars-memory doctor --fix move away what is there"
                raise UnwritableError(NO_FILE.format(path), hint)
        return sorted(paths)

    def _journal_files(self) -> dict[Path, bool]:
        """Return all paths with the name of a journal file, and whether each is a regular file."""
        try:
            with os.scandir(self.folder) as found:
                return {
                    self.folder / entry.name: entry.is_file(follow_symlinks=False)
                    for entry in found
                    if _NAME.fullmatch(entry.name)
                }
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(self.folder, error) from error

    def strangers(self) -> list[Path]:
        """Folders, pipes and links that have a journal file's name, for doctor."""
        return [path for path, is_file in sorted(self._journal_files().items()) if not is_file]

    def emptied(self) -> list[Path]:
        """Files without a single whole line. No writer leaves such a file, as it is created with its first record.

        Raises:
            UnwritableError: as for :meth:`files`, or a file can't be read.
        """
        return [path for path in self.files() if _is_emptied(path)]

    def gaps(self) -> list[str]:
        """Messages about :meth:`emptied` files, for output that lacks their writes."""
        return [f"{path} was emptied: the writes that it recorded are missing" for path in self.emptied()]

    def damaged(self) -> dict[Path, int]:
        """The files with damaged lines and their number, for doctor; a torn last line does not count."""
        return {path: count for path in self.files() if (count := len(self._damaged_lines(path)))}

    def set_aside(self, path: Path) -> Path:
        """Move the lines of a file that are not a record to a file beside it, which nobody reads. Only under the lock.

        Returns:
            The path of that file.

        Raises:
            OSError: the file could not be rewritten; no line is lost.
        """
        self.close()
        lines = self._damaged_lines(path)
        aside = path.with_suffix(".damaged")
        before = aside.read_bytes() if aside.is_file() else b""
        replace_file(aside, before + b"".join(line + b"\n" for line in lines))
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        good = [line for line in whole.split(b"\n") if parse(line) is not None]
        if good:
            replace_file(path, b"".join(line + b"\n" for line in good))
        else:
            path.unlink()
        return aside

    @staticmethod
    def _damaged_lines(path: Path) -> list[bytes]:
        """Return the lines of a file that are not a record, in order; a torn last line is left out."""
        fd = os.open(path, os.O_RDONLY | _BINARY)
        try:
            _, *lines = _lines_backwards(fd, os.fstat(fd).st_size)
        finally:
            close(fd)
        return [line for line in reversed(lines) if line and parse(line) is None]

    def check_undamaged(self, txn: str) -> None:
        """Check that no record of a transaction is damaged: a part of it must not be undone as if it were all.

        Raises:
            ConflictError: a damaged line names the transaction.
        """
        name = f'"{txn}"'.encode()
        for line in self.backwards():
            record = parse(line)
            if record is None and name in line:
                raise ConflictError(
                    f"a record of {txn} in the journal {self.folder} is damaged, so it can't be undone as a whole",
                    "make the change by hand; tars-memory history shows the rest of it",
                )
            if record is not None and record["txn"] < txn and record["t"] == "begin":
                return

    # -- writing: only under the vault's lock

    def open(self, now: datetime) -> Record | None:
        """Open for writing, cut off a torn last line, and return the last record; None if there is none.

        Raises:
            OSError: the state folder can't be read or written.
        """
        files = self.files()
        nonempty = [path for path in files if not _is_emptied(path)]
        month = f"{now:%Y-%m}"
        self.cut_bytes = 0
        if nonempty and nonempty[-1] == files[-1] and nonempty[-1].stem[-7:] == month:
            last = self._open_file(nonempty[-1])
        else:
            # A crash in the old month is recovered before the new month's file is begun. An emptied file stays: it is
            # the only trace of the missing records.
            last = self._open_file(nonempty[-1]) if nonempty else None
            number = int(files[-1].name[:4]) + 1 if files and files[-1].name[:4].isdigit() else 1
            if not _unfinished(last):
                self.close()
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._name = str(self.folder / f"{number:04}-{month}.jsonl")
        self.unsettled = last if _unfinished(last) else None
        return last

    def _open_file(self, path: Path) -> Record | None:
        """Open a file for writing, cut off a torn last line, and return its last record; None if there is none."""
        self._name = str(path)
        self._fd = os.open(path, _FLAGS)
        self._size = os.fstat(self._fd).st_size
        lines = _lines_backwards(self._fd, self._size)
        self.cut_bytes = len(next(lines))
        if self.cut_bytes:
            self._size -= self.cut_bytes
            os.ftruncate(self._fd, self._size)
        return next(filter(None, map(parse, lines)), None)

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        """Write records in one piece: all of them or none.

        Args:
            records: in order.
            durable: return only once they would survive a power cut.

        Raises:
            OSError: nothing was written.
        """
        data = b"".join(map(encode_record, records))
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
        """Whether the next record begins a new file."""
        return self._fd is None

    def close(self) -> None:
        """Close the open file; harmless if done before."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            close(fd)

    # -- reading: with or without the lock

    def backwards(self) -> Iterator[bytes]:
        """Yield all lines, newest first, read lazily and not parsed; a torn last line is left out.

        Raises:
            UnwritableError: the journal can't be read.
        """
        for path in reversed(self.files()):
            try:
                with contextlib.suppress(FileNotFoundError):  # another process may have pruned it meanwhile
                    fd = os.open(path, os.O_RDONLY | _BINARY)
                    try:
                        yield from islice(_lines_backwards(fd, os.fstat(fd).st_size), 1, None)
                    finally:
                        close(fd)
            except OSError as error:
                raise _unreadable(path, error) from error

    def records(self, wanted: Callable[[bytes], bool] | None = None) -> Iterator[Record]:
        """Yield the records, newest first; only those whose raw line passes ``wanted``, which spares parsing."""
        for line in self.backwards():
            if wanted is None or wanted(line):
                record = parse(line)
                if record is not None:
                    yield record

    def unfinished(self) -> Record | None:
        """Return the write that a killed process left unfinished, for readers to report; None if there is none."""
        for record in self.records():
            return record if _unfinished(record) else None
        return None

    @staticmethod
    def interrupted_transaction(last: Record | None) -> str | None:
        """Return the atomic transaction that a kill cut off, given the journal's last record; None if there is none."""
        return str(last["whole"]) if last is not None and "whole" in last and "done" not in last else None


def _unreadable(path: Path, error: OSError) -> UnwritableError:
    message = f"the journal can't be read: {path}: {error.strerror or error}"
    return UnwritableError(message, "check the owner and the permissions of the state folder, and its disk")


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
        raise _unreadable(path, error) from error


_BINARY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_FLAGS = os.O_RDWR | os.O_APPEND | _BINARY


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file of the state folder atomically and durably; only its owner can read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with disk.replacing(path, temporary):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        try:
            write_all(fd, data)
            sync(fd)
        finally:
            close(fd)
        os.replace(temporary, path)
    _sync_folder(path.parent)


def pack(spans: Sequence[edits.Span]) -> list[list[Any]]:
    """Return spans in the form that a record stores."""
    return [[start, *(text if text is None else text_of(text) for text in texts)] for start, *texts in spans]


def unpack(record: Record) -> list[edits.Span]:
    """Return the spans of a record."""
    return [edits.Span(start, *map(_optional_bytes, texts)) for start, *texts in record["spans"]]  # type: ignore[arg-type]


def base_of(record: Record) -> bytes:
    """Return the text that a new note began with, or that was removed."""
    return _optional_bytes(record.get("base")) or b""


def result_of(record: Record, before: bytes | None = None) -> bytes:
    """Return the text that a write makes of ``before``; without it, of the text that a new note began with."""
    return document.apply(base_of(record) if before is None else before, edits.splices_of(unpack(record)))


def text_of(data: bytes) -> str:
    """Return bytes as text, in the form that a record stores."""
    return data.decode("utf-8", "surrogateescape")


def _optional_bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _unfinished(record: Record | None) -> bool:
    """Whether the journal's last record is of an unfinished write."""
    return record is not None and record["t"] == "begin"


def parse(line: bytes) -> Record | None:
    """Return the record of a line, with members of the right types; None if the line is damaged."""
    try:
        record = json.loads(line)
        return record if isinstance(record, dict) and _is_record(record) else None
    except (ValueError, RecursionError, MemoryError):  # a torn line, or what a power cut left of it
        return None


def _is_record(record: Record) -> bool:
    """Whether the record has the members that its readers rely on, with the right types."""
    for name, value in record.items():
        types = _TYPES.get(name)
        if types is not None and not (type(value) in types and (type(value) is not str or is_text(value))):
            return False
    txn = record.get("txn")
    if txn is None or len(txn) > TXN_LENGTH or not txn.isalnum() or record.get("t") not in ("begin", "end", "mark"):
        return False
    if record["t"] == "mark":
        return "op" not in record or {"time", "command", "actor", "file", "spans", "line"} <= record.keys()
    if "n" not in record or not 0 <= record["n"] < _NUMBER_LIMIT:
        return False
    if record["t"] == "end":
        return "ok" in record and 0 <= record.get("line", -1) < _NUMBER_LIMIT
    return _is_begin(record)


def _is_begin(record: Record) -> bool:
    """Whether a ``begin`` record has valid members; their types are known to be right."""
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
    if not all(
        len(pair) == 2 and all(type(size) is int and 0 <= size < _SIZE_LIMIT for size in pair) for pair in pairs
    ):
        return False
    counts = all(type(count) is int for count in record.get("twins", ()))
    return counts and all(_is_span(span) for span in record["spans"]) and _is_in_order(record)


def _is_span(span: Any) -> bool:
    if not isinstance(span, list) or len(span) != 5 or type(span[0]) is not int or span[0] < 0:
        return False
    texts = all(isinstance(text, str) and is_text(text) for text in span[1:3])
    return texts and all(text is None or (isinstance(text, str) and is_text(text)) for text in span[3:])


def _is_in_order(record: Record) -> bool:
    """Whether the spans do not overlap, and those of a new note lie within the text that it began with."""
    end = 0
    for start, before, *_ in record["spans"]:
        if start < end:
            return False
        end = start + len(_optional_bytes(before) or b"")
    return record["op"] != "create" or end <= len(base_of(record))


def is_text(text: str) -> bool:
    """Whether a text can be encoded as UTF-8 with surrogate escapes, so that it can be written."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


_NONE_TYPE = type(None)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("t", "txn", "time", "command", "actor", "file", "op", "temp", "base"), (str,)),
    **dict.fromkeys(("undoes", "settles", "night", "whole", "project"), (str,)),
    **dict.fromkeys(("old", "new"), (str, _NONE_TYPE)),
    **dict.fromkeys(("spans", "size", "dress", "twins"), (list,)),
    "tick": (dict,),
    **dict.fromkeys(("n", "line", "folders"), (int,)),
    **dict.fromkeys(("ok", "direct", "done", "kept", "purged", "recovered", "left"), (bool,)),
}
_NUMBER_LIMIT, _SIZE_LIMIT = 1 << 31, 1 << 63


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
    """Yield what follows the last line break in the first ``size`` bytes of a file, then the lines, last line first."""
    parts: list[bytes] = []  # of the line that begins in an earlier block, last part first
    while size > 0:
        start = max(0, size - BLOCK_BYTES)
        first, *lines = _read_at(fd, start, size - start).split(b"\n")
        size = start
        for line in reversed(lines):
            yield b"".join((line, *reversed(parts)))
            parts.clear()
        parts.append(first)
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
    """Return the name of a transaction that begins now; it sorts after the last one, whatever the clock says.

    Args:
        now: an aware time.
        last: the name of the newest transaction in the journal; None if there is none.
    """
    number = int(now.timestamp() * 1000)
    if last:
        number = max(number, _txn_number(last) + 1)
    digits = ""
    for _ in range(TXN_LENGTH):
        number, digit = divmod(number, 32)
        digits = TXN_DIGITS[digit] + digits
    return digits


def time_of(txn: str) -> datetime:
    """Return when a transaction began, or a later time if the clock had gone back."""
    return datetime.fromtimestamp(_txn_number(txn) / 1000, UTC)


def _txn_number(txn: str) -> int:
    """Return the milliseconds since 1970 that a transaction's name stands for; unknown characters count as 0."""
    number = 0
    for digit in txn:
        number = number * 32 + max(TXN_DIGITS.find(digit), 0)
    return number


# -- retention


LASTING_COMMANDS = ("review", "learn")
"""Commands whose writes are kept for ever: they are decisions of the person.

Later writes to a playbook that one of them wrote are kept too: they say how its steps came to be as they are.
"""

_RULES_NOTE = re.compile(r"(?:[^/]+/[^/]+/)?Procedural\.md")


def prune(journal: Journal, now: datetime, days: int) -> list[str]:
    """Remove the records of months that ended more than ``days`` days ago, except those that are kept for ever.

    The newest file stays as it is. Call it under the lock, without an unfinished write.

    Returns:
        The names of the files that were removed or became shorter.
    """
    pruned: list[str] = []
    kept: set[str] = set()
    files = journal.files()
    for path, age in zip(files[:-1], _ages(files, now.date()), strict=False):
        if age <= days:
            break
        lines = path.read_bytes().split(b"\n")[:-1]
        lasting = [encode_record(record | {"kept": True}) for record in _lasting_records(lines, kept)]
        if len(lasting) == len(lines):
            continue
        if lasting:
            replace_file(path, b"".join(lasting))
        else:
            try:
                path.unlink()
            except OSError:  # tried again next time; an old file that can't be removed must not stop any write
                continue
        pruned.append(path.name)
    return pruned


LONGEST_PAUSE = 31
"""Maximum number of days that count between the ends of two months in which something was written. A longer time may be
a clock that was years ahead, which must not cost the history, and of which nobody knows how long it was."""


def _ages(files: Sequence[Path], today: date) -> list[int]:
    """Return how many days ago the month of each file ended: see :data:`LONGEST_PAUSE`."""
    ages: list[int] = []
    later, age = today, 0
    for path in reversed(files):
        year, month = int(path.stem[-7:-3]), int(path.stem[-2:])
        ended = date(year + month // 12, month % 12 + 1, 1)
        age += min(max((later - ended).days, 0), LONGEST_PAUSE)
        ages.insert(0, age)
        later = min(later, ended)  # of a month that is after a later file's, the clock was wrong
    return ages


def _lasting_records(lines: list[bytes], kept: set[str]) -> Iterator[Record]:
    """Yield the records that are kept for ever: of rules, of decisions, and of undos of either.

    Args:
        lines: of one file, in order.
        kept: the transactions of such writes so far, and the playbooks among their notes; extended here.
    """
    ends: set[tuple[str, int]] = set()
    for line in lines:
        record = parse(line)
        if record is None:
            continue
        name = (str(record["txn"]), int(record.get("n", -1)))
        if record["t"] == "begin":
            rule = _RULES_NOTE.fullmatch(str(record["file"])) is not None
            file = str(record["file"])
            if rule or record["command"] in LASTING_COMMANDS or file in kept or record.get("undoes") in kept:
                kept.add(name[0])
                kept.update([file] if _decides_on_whole_note(record) else [])
                ends.add(name)
                yield record
        elif name in ends or (record["t"] == "mark" and (record.get("undoes") in kept or name[0] in kept)):
            yield record


def _decides_on_whole_note(record: Record) -> bool:
    """Whether a decision is about a whole note: a playbook that was made, or approved as it is."""
    spans = unpack(record)
    if record["op"] == "create":
        return any(span.after.startswith(b"---\ncreated: ") for span in spans)  # how the playbooks that we make begin
    return bool(spans) and all(span.before == span.after for span in spans)


def encode_record(record: Record) -> bytes:
    """Return a record as a line of the journal."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
