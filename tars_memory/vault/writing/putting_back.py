"""Giving a note back to whoever saved it while we were about to change it, and what he may still write meanwhile."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tars_memory.errors import UnwritableError
from tars_memory.vault import lease
from tars_memory.vault.folder import close, digest, read_all, read_note, same_file, same_state, sync, write_all

if TYPE_CHECKING:
    from tars_memory.vault.folder import Folder, Note
    from tars_memory.vault.writing.exchange import Exchange

TEMP_SUFFIX = ".tars-tmp"
ASIDE_SUFFIX = ".tars-old"

LATE_WAIT = 1.0
"""Seconds to wait for a program that was caught writing into the old file after it had been replaced."""


def aside_of(temp: str) -> str:
    """Where Windows keeps what was replaced."""
    return temp.removesuffix(TEMP_SUFFIX) + ASIDE_SUFFIX


def put_back(
    folder: Folder, name: str, displaced: str, temp: str, own: os.stat_result, exchange: Exchange, ours: str | None
) -> str | None:
    """Exchange again, so that somebody's save stands under the note's name; ours goes.

    If he saved once more over ours in between, by a file of his own or into ours, that newer save stands, and the older
    one that it replaced goes.

    Args:
        folder: holds all of them.
        name: of the note.
        displaced: somebody's save.
        temp: the name of our file beside the note.
        own: what our file was when it was put in the note's place.
        exchange: how files change places here.
        ours: SHA-256 of our file's text; None if it isn't known.

    Returns:
        None, or the name of a file that could neither be placed nor may be destroyed.
    """
    for _ in range(20):
        held = folder.look(displaced)
        if held is None:
            return None
        try:
            aside = aside_of(temp) if displaced == temp else temp
            after = exchange.swap(folder, name, displaced, aside)
        except FileNotFoundError:
            try:
                exchange.place(folder, displaced, name)
            except FileExistsError:
                continue
            return None
        found = folder.look(after)
        if found is None:
            return None
        if same_file(found, own):
            try:
                gone = _remove_unwritten(folder, after, own, exchange, ours)
            except UnwritableError:  # he has opened it and doesn't end: what he still writes must not be lost
                return after
            if gone:
                folder.sync()
                return None
        displaced, own, ours = after, held, None
    return displaced


def _remove_unwritten(folder: Folder, name: str, known: os.stat_result, exchange: Exchange, text: str | None) -> bool:
    """Remove a file that bore the note's name for a moment, unless somebody opened it then and wrote into it.

    Returns:
        False if there is a text of his under the name now.

    Raises:
        UnwritableError: he still has it open for writing.
    """
    note = read_note(folder, name, leases=exchange.leases, trusted=text)
    if note is None:
        return True
    try:
        if not same_state(note.stat, known) or text not in (None, digest(note.data)) or not note.undisturbed():
            return False
        if not exchange.keeps_open:
            note.close()
        removed = True
        try:
            folder.remove(name)
        except OSError:  # it stays, for doctor to see
            removed = False
        late = written_late(note)
        if late is None:
            return True
        if removed:
            save_late(folder, name, late, known.st_mode)
        return False
    finally:
        note.close()


def written_late(note: Note) -> bytes | None:
    """What somebody wrote into a removed file after the last look, by an open file; None if nobody did."""
    if note.fd is None:
        return None
    if not note.undisturbed():
        lease.drop(note.fd)
        note.leased = False
        deadline = time.monotonic() + LATE_WAIT
        while lease.take(note.fd) == lease.TAKEN and time.monotonic() < deadline:
            time.sleep(0.001)
    os.lseek(note.fd, 0, os.SEEK_SET)
    data = read_all(note.fd, len(note.data))
    return None if data == note.data else data


def save_late(folder: Folder, name: str, late: bytes, mode: int) -> None:
    """Give a text that was caught in a removed file a file again."""
    fd = folder.file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o7777)
    try:
        write_all(fd, late)
        sync(fd)
    finally:
        close(fd)
