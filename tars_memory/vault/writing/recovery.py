"""After a kill or a power cut: settle the one write that was left unfinished. Also used by readers to say so.

The journal says what was meant; the note and our file beside it say how far it came. The note ends as it was before
or as it was meant to be; what another program saved is never destroyed.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from tars_memory.vault.folder import Folder, OpenNote, close, digest, read_note, same_file, sync, write_all
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.spans import lines_of, present
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.journal import Record, base_of, unpack
from tars_memory.vault.writing.protocol import aside_of, keep_in_limbo, put_back

if TYPE_CHECKING:
    from tars_memory.vault.writing.system import Exchange


class Settled:
    """How an unfinished write was settled: whether it stands, and what to tell (empty if nothing is worth it)."""

    __slots__ = ("notices", "ok")

    def __init__(self, ok: bool, *notices: str) -> None:
        self.ok = ok
        self.notices = list(notices)


def settle(root: Folder, folder: Folder, name: str, record: Record, exchange: Exchange) -> Settled:
    """Settle one unfinished write, under the lock.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: of the note.
        record: the ``begin`` record.
        exchange: what the system offers.

    Raises:
        OSError, UnwritableError: it can't be settled now; nothing got worse.
    """
    if record["op"] == "append":
        return _settle_append(folder, name, record, exchange)
    temp = str(record["temp"])
    left = next((each for each in (temp, aside_of(temp)) if folder.look(each) is not None), None)
    note = read_note(folder, name, leases=exchange.leases, keep=False)
    if record.get("direct") and note is not None:
        _finish_new(folder, name, record, note)
        note = read_note(folder, name, leases=exchange.leases, keep=False)
    if left is None:
        return Settled(_stands(note, record))
    if record["op"] == "create":  # our file never holds anybody else's text
        return Settled(_stands(note, record), *_removed(folder, left))
    settled = _settle_left(root, folder, name, record, exchange, note, left)
    for each in (temp, aside_of(temp)):
        if each != left:
            settled.notices += _removed(folder, each)
    folder.sync()
    return settled


def _settle_left(
    root: Folder, folder: Folder, name: str, record: Record, exchange: Exchange, note: OpenNote | None, left: str
) -> Settled:
    """Settle an edit or a removal whose file is still there: our new text, the old text, or somebody's save."""
    kept = read_note(folder, left, leases=exchange.leases, keep=False)
    assert kept is not None
    found = None if note is None else digest(note.data)
    held = digest(kept.data)
    if record["op"] == "edit" and held == record["new"]:
        return Settled(found == record["new"], *_removed(folder, left))
    if held == record["old"] and (note is not None or record["op"] == "remove"):
        return Settled(_stands(note, record), *_removed(folder, left))
    if note is None:
        with contextlib.suppress(FileExistsError):
            exchange.place(folder, left, name)
        return Settled(False)
    if found == record["new"]:
        # Somebody saved just before the exchange, and we were killed before we saw it: his text stands.
        last = put_back(folder, name, left, str(record["temp"]), note.stat, exchange, record["new"])
        if last is None:
            return Settled(False, f"{record['file']}: a save that a killed process had displaced is back")
        left = last
    elif found == record["old"] and _result(note.data, record).startswith(kept.data):
        return Settled(False, *_removed(folder, left))  # our own text, half written
    where = keep_in_limbo(root, folder, left)
    return Settled(
        _stands(note, record),
        f"{record['file']}: a text that a killed process left behind is kept as {where}: compare and remove it",
    )


def _removed(folder: Folder, name: str) -> list[str]:
    """Remove a file of ours, or say that it stays; how the write ended does not depend on that."""
    try:
        folder.remove(name)
    except OSError as error:
        why = error.strerror or error
        return [f"{folder.at(name)}, a file of ours, can't be removed ({why}): tars-memory doctor --fix tries again"]
    return []


def _finish_new(folder: Folder, name: str, record: Record, note: OpenNote) -> None:
    """A new note that could only be written under its own name, and was cut off: write the rest."""
    new = _result(base_of(record), record)
    if len(note.data) < len(new) and new.startswith(note.data):
        fd = folder.file(name, os.O_WRONLY | os.O_APPEND)
        try:
            write_all(fd, new[len(note.data) :])
            sync(fd)
        finally:
            close(fd)


def _settle_append(folder: Folder, name: str, record: Record, exchange: Exchange) -> Settled:
    """A line at the end of a note: it is there, it is not, or a part of it is and is cut off."""
    note = read_note(folder, name, leases=exchange.leases, keep=False)
    size = int(record["size"][0])
    if note is None or _stands(note, record) or digest(note.data[:size]) != record["old"]:
        return Settled(_stands(note, record))
    tail = note.data[size:]
    if tail and _payload(record, note.data[:size]).startswith(tail):
        fd = folder.file(name, os.O_RDWR)
        try:
            now = os.fstat(fd)
            if now.st_size == len(note.data) and same_file(now, note.stat):
                os.ftruncate(fd, size)
                sync(fd)
        finally:
            close(fd)
    return Settled(False)


def _result(before: bytes, record: Record) -> bytes:
    """The text that an edit was to bring about."""
    return apply(before, [Splice(s.start, s.start + len(s.before), s.after) for s in unpack(record)])


def _payload(record: Record, before: bytes) -> bytes:
    """The bytes that an append was to add."""
    span = unpack(record)[0]
    return span.after[len(before) - span.start :]


def _stands(note: OpenNote | None, record: Record) -> bool:
    """Whether the note holds what the write was to bring about."""
    if record["op"] == "remove":
        return note is None
    if note is None:
        return False
    if digest(note.data) == record["new"]:
        return True
    spans = unpack(record)
    return digest(note.data) != record["old"] and bool(spans and lines_of(spans[0].after)) and present(note.data, spans)
