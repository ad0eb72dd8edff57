"""How bytes reach a note: append, edit, create, remove; each leaves the note as it was or as it shall be.

Every protocol reads the note, makes its intent durable in the journal, does the work beside the note, and looks once
more before and after the one call that changes the vault. Where that look finds that somebody else was faster, what
he wrote is put back or left in place, and the caller plans again on the newer text.

:class:`Job` is one such write. Its methods answer True (done) or False (the note changed meanwhile, nothing of ours
is in it); an ``OSError`` leaves nothing of ours in the note, or an unfinished journal record that the next writer
settles.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UnwritableError
from tars_memory.vault import lease
from tars_memory.vault.folder import (
    Folder,
    Note,
    close,
    digest,
    read_all,
    read_note,
    same_file,
    same_state,
    sync,
    write_all,
)
from tars_memory.vault.journal import pack, text_of
from tars_memory.vault.spans import present

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.exchange import Exchange
    from tars_memory.vault.journal import Journal, Record
    from tars_memory.vault.spans import Span

TEMP_SUFFIX = ".tars-tmp"
ASIDE_SUFFIX = ".tars-old"

LIMBO = (".tars", "limbo")
"""Where files go that we can neither place nor destroy."""

NAME_BYTES = 200
"""A temporary name repeats at most so much of the note's name: file systems allow 255 bytes in all."""

LEASE_TRIES = 10
"""An append waits so many milliseconds for readers to close the note before it goes on without a lease."""


def temp_name(name: str, txn: str) -> str:
    """The name of our file beside a note: hidden, and known to nobody else."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.{txn}{TEMP_SUFFIX}"


def aside_of(temp: str) -> str:
    """Where Windows keeps what was replaced."""
    return temp.removesuffix(TEMP_SUFFIX) + ASIDE_SUFFIX


class Job:
    """One write of one note.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: the note's name in it.
        exchange: what the system offers.
        journal: open for writing.
        record: the fields of the ``begin`` record that do not depend on the protocol.
        notices: takes what a person must be told.
    """

    def __init__(
        self,
        root: Folder,
        folder: Folder,
        name: str,
        exchange: Exchange,
        journal: Journal,
        record: Record,
        notices: list[str],
    ) -> None:
        self.root = root
        self.folder = folder
        self.name = name
        self.exchange = exchange
        self.journal = journal
        self.record = record
        self.temp = temp_name(name, record["txn"])
        self.notices = notices

    # -- the four protocols

    def append(self, note: Note, payload: bytes, spans: Sequence[Span], line: int) -> bool:
        """Add bytes at the end of the note by one ``O_APPEND`` write."""
        note.close()
        self._begin("append", spans, note.data, note.data + payload)
        try:
            fd = self.folder.file(self.name, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            self._end(False, line)
            if isinstance(error, FileNotFoundError):  # deleted or renamed just now
                return False
            raise
        try:
            done = self._append(fd, note, payload, spans)
        finally:
            close(fd)
        self._end(done, line)
        return done

    def edit(self, note: Note, new: bytes, spans: Sequence[Span], line: int) -> bool:
        """Exchange the note for one with the new text; the old one goes when it is known to be what was read."""
        self._begin("edit", spans, note.data, new, temp=self.temp)
        own = None
        try:
            own = self._prepare(new, note)
            if not self._unchanged(note):
                self._discard(own)
                return False
            self._release(note)
            displaced = self.exchange.swap(self.folder, self.name, self.temp, aside_of(self.temp))
        except OSError as error:
            self._discard(own)
            if isinstance(error, FileNotFoundError):  # deleted or renamed just now
                return False
            raise
        try:
            if not self._displaced_as_read(displaced, note):
                return self._give_back(displaced, own, line)
            self.folder.sync()
            if not self._displaced_as_read(displaced, note):
                return self._give_back(displaced, own, line)
        except OSError:
            self._give_back(displaced, own, line)
            raise
        return self._finish(note, displaced, own, spans, line)

    def create(self, base: bytes, new: bytes, spans: Sequence[Span], line: int) -> bool:
        """Make a note that appears with its whole text, unless somebody made it first."""
        self._begin("create", spans, None, new, temp=self.temp, base=text_of(base))
        own = None
        try:
            own = self._prepare(new, None)
            clean = self.exchange.place(self.folder, self.temp, self.name)
            self.folder.sync()
        except FileExistsError:
            self._discard(own)
            return False
        except OSError:
            self._unmake(own, new)
            raise
        if clean:
            self._end(True, line)
        return True

    def remove(self, note: Note) -> bool:
        """Remove the note if it still is exactly what was read."""
        self._begin("remove", (), note.data, None, temp=self.temp, base=text_of(note.data))
        try:
            if not self._unchanged(note):
                self._end(False, 1)
                return False
            self._release(note)
            self.folder.rename(self.name, self.temp)
        except OSError as error:
            if self.folder.look(self.temp) is None:
                self._end(False, 1)
            if isinstance(error, FileNotFoundError):
                return False
            raise
        try:
            as_read = self._displaced_as_read(self.temp, note)
            if as_read:
                self.folder.sync()
                as_read = self._displaced_as_read(self.temp, note)
        except OSError:
            self._put_back(self.temp)
            self._end(False, 1)
            raise
        if not as_read:
            self._put_back(self.temp)
            self._end(False, 1)
            return False
        with contextlib.suppress(OSError):  # the next writer removes it
            self.folder.remove(self.temp)
            self._end(True, 1)
        return True

    # -- append

    def _append(self, fd: int, note: Note, payload: bytes, spans: Sequence[Span]) -> bool:
        leased = self.exchange.leases and _lease_alone(fd)
        before = os.fstat(fd)
        if not same_state(before, note.stat):
            return False
        written = 0
        try:
            while written < len(payload):
                written += os.write(fd, payload[written:])
            landed = os.fstat(fd)
            whole = landed.st_size == before.st_size + len(payload) and _ends_with(fd, payload, landed.st_size)
            if leased:
                lease.drop(fd)
            sync(fd)
            found = self.folder.look(self.name)
        except OSError:
            if _take_back(fd, before.st_size, payload[:written]):
                self._end(False, 1)
                raise
            if written < len(payload):  # the next writer sees to it
                raise
            return True  # others have written behind it: it stands, and may not be durable
        if found is None or not same_file(found, landed):
            # Renamed or replaced under our hands: the line must not stay in the file that was renamed.
            _take_back(fd, before.st_size, payload)
            return False
        if whole and same_state(found, landed):
            return True
        close_look = read_note(self.folder, self.name, leases=False, keep=False)
        return close_look is not None and present(close_look.data, spans)

    # -- edit

    def _prepare(self, new: bytes, note: Note | None) -> os.stat_result:
        """Write the new text beside the note, durable and dressed like it; answers what it is."""
        fd = self.folder.file(self.temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if note else 0o666)
        try:
            write_all(fd, new)
            if note is not None and note.fd is not None:
                self.exchange.dress(note.fd, fd, note.stat)
            sync(fd)
            return os.fstat(fd)
        finally:
            close(fd)

    def _release(self, note: Note) -> None:
        """Close the note where an open file can't be replaced."""
        if not self.exchange.keeps_open:
            note.close()

    def _unchanged(self, note: Note) -> bool:
        """The last look before the change: the note is the file that was read, with the same bytes."""
        if not note.undisturbed() or not note.is_at(self.folder, self.name):
            return False
        return note.leased or self._holds(self.name, note)

    def _displaced_as_read(self, displaced: str, note: Note) -> bool:
        """The look after the change: what we moved away is the file that was read, and nobody is writing it."""
        return note.undisturbed() and note.is_at(self.folder, displaced) and self._holds(displaced, note)

    def _holds(self, name: str, note: Note) -> bool:
        fd = self.folder.file(name, os.O_RDONLY)
        try:
            return read_all(fd, len(note.data)) == note.data
        finally:
            close(fd)

    def _give_back(self, displaced: str, own: os.stat_result, line: int) -> bool:
        """Undo the exchange: what was displaced is newer than what we read. Always False: plan again."""
        self._swap_back(displaced, own)
        self._end(False, line)
        return False

    def _swap_back(self, displaced: str, own: os.stat_result) -> None:
        kept = put_back(self.folder, self.name, displaced, self.temp, own, self.exchange)
        if kept is not None:
            self._keep(kept)

    def _keep(self, name: str) -> None:
        where = keep_in_limbo(self.root, self.folder, name)
        self.notices.append(
            f"{self.record['file']}: a save of another program is kept as {where}: compare and remove it"
        )

    def _finish(self, note: Note, displaced: str, own: os.stat_result, spans: Sequence[Span], line: int) -> bool:
        """Remove the old note, and make sure that the new one is what stands there."""
        try:
            self.folder.remove(displaced)
            late = self._written_late(note)
            found = self.folder.look(self.name)
        except OSError:
            return True  # the edit is made; the record stays unfinished and the next writer removes what is left
        if late is not None:
            self._restore(late, own)
            self._end(False, line)
            return False
        done = True
        if found is not None and not same_file(found, own):
            # Somebody saved over the new note. If he had read it, the edit is in his text; else it goes in again.
            newer = read_note(self.folder, self.name, leases=self.exchange.leases, keep=False)
            done = newer is None or present(newer.data, spans)
        self._end(done, line)
        return done

    def _written_late(self, note: Note) -> bytes | None:
        """What somebody wrote into the old note after the last look, by an open file; None if nobody did."""
        if note.fd is None:
            return None
        if not note.undisturbed():
            lease.drop(note.fd)
            note.leased = False
            deadline = time.monotonic() + 1.0
            while lease.take(note.fd) == lease.TAKEN and time.monotonic() < deadline:
                time.sleep(0.001)
        os.lseek(note.fd, 0, os.SEEK_SET)
        data = read_all(note.fd, len(note.data))
        return None if data == note.data else data

    def _restore(self, late: bytes, own: os.stat_result) -> None:
        """Save somebody's text, caught in a file that is removed already, over our own."""
        fd = self.folder.file(self.temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, own.st_mode & 0o7777)
        try:
            write_all(fd, late)
            sync(fd)
        finally:
            close(fd)
        self._swap_back(self.temp, own)

    # -- shared

    def _put_back(self, temp: str) -> None:
        """Give a removed note its name back; somebody else's new note under that name stands."""
        try:
            self.exchange.place(self.folder, temp, self.name)
        except FileExistsError:
            self._keep(temp)

    def _unmake(self, own: os.stat_result | None, new: bytes) -> None:
        """Take a note back that was made, but not durably; what somebody wrote into it meanwhile stands."""
        found = self.folder.look(self.name)
        if own is None or found is None or not same_file(found, own):
            self._discard(own)
            return
        self.folder.remove(self.temp)  # the second name, if that is where it failed
        self.folder.rename(self.name, self.temp)
        note = read_note(self.folder, self.temp, leases=False, keep=False, trusted=digest(new))
        if note is not None and note.data == new:
            self._discard(own)
        else:
            self._put_back(self.temp)

    def _discard(self, own: os.stat_result | None) -> None:
        """Remove our own file, if it is ours; the record ends only if that worked."""
        with contextlib.suppress(OSError):
            found = self.folder.look(self.temp)
            if found is not None and own is not None and not same_file(found, own):
                return  # an exchange that failed, and yet was made: for recovery to settle
            if found is not None:
                self.folder.remove(self.temp)
            self._end(False, 1)

    def _begin(self, op: str, spans: Sequence[Span], old: bytes | None, new: bytes | None, **more: Any) -> None:
        record = self.record | {
            "t": "begin",
            "op": op,
            "spans": pack(spans),
            "old": None if old is None else digest(old),
            "new": None if new is None else digest(new),
            "size": [len(old or b""), len(new or b"")],
            **more,
        }
        self.journal.append([record], durable=True)
        self.journal.left = record

    def _end(self, ok: bool, line: int) -> None:
        """Say how it ended; if that can't be said, the next writer finds out by itself."""
        with contextlib.suppress(OSError):
            end = {"t": "end", "txn": self.record["txn"], "n": self.record["n"], "ok": ok, "line": line}
            self.journal.append([end], durable=False)
            self.journal.left = None


def put_back(
    folder: Folder, name: str, displaced: str, temp: str, own: os.stat_result, exchange: Exchange
) -> str | None:
    """Exchange again, so that somebody's save stands under the note's name; ours goes.

    If he saved once more over ours in between, that newer save stands, and the older one that it replaced goes.

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
            folder.remove(after)
            folder.sync()
            return None
        displaced, own = after, held
    return displaced


def keep_in_limbo(root: Folder, folder: Folder, name: str) -> str:
    """Move a file that we must not destroy and can't place to ``.tars/limbo/``, where it is found and reported.

    Returns:
        its new path relative to the vault, or where it stays if it can't be moved.
    """
    new = name.lstrip(".").removesuffix(TEMP_SUFFIX).removesuffix(ASIDE_SUFFIX)
    target = root
    opened = []
    try:
        for step in LIMBO:
            target.make(step)
            target = target.child(step)
            opened.append(target)
        folder.move(name, target, new)
    except (OSError, UnwritableError):
        return folder.at(name)
    finally:
        for each in opened:
            each.close()
    return "/".join((*LIMBO, new))


def _lease_alone(fd: int) -> bool:
    """A lease that keeps everybody else out for a moment; readers are waited for a little, then put up with."""
    for _ in range(LEASE_TRIES):
        answer = lease.take(fd, write=True)
        if answer != lease.TAKEN:
            return answer == lease.FREE
        time.sleep(0.001)
    return False


def _ends_with(fd: int, payload: bytes, size: int) -> bool:
    os.lseek(fd, size - len(payload), os.SEEK_SET)
    return read_all(fd, len(payload)) == payload


def _take_back(fd: int, size: int, written: bytes) -> bool:
    """Cut our own tail off again; False if it is no longer the tail."""
    if written:
        if os.fstat(fd).st_size != size + len(written) or not _ends_with(fd, written, size + len(written)):
            return False
        os.ftruncate(fd, size)
        with contextlib.suppress(OSError):  # what is not durable yet is settled by the journal
            sync(fd)
    return True
