"""One write of one note, step by step: append, edit, create, remove, and giving back what somebody saved meanwhile.

Every protocol reads the note, makes its intent durable in the journal, does the work beside the note, and looks once
more before and after the one call that changes the vault. Where that look finds that somebody else was faster, what
he wrote is put back or left in place, and the caller plans again on the newer text. An append is one ``O_APPEND`` write
and the note keeps its file; else a file of ours and the note change places, and nothing goes that was not looked at
again.

A protocol answers True (done) or False (the note has changed, nothing of ours is in it). An ``OSError`` leaves
nothing of ours in the note, or an unfinished journal record that the next writer settles.

After a kill or a power cut :func:`settle` ends the one write that was left unfinished; readers ask it, too, to say so.
The journal says what was meant; the note and our file beside it say how far it came. The note ends as it was before or
as it was meant to be; what another program saved is never destroyed.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UnwritableError
from tars_memory.vault.folder import (
    FREE,
    TAKEN,
    TEMP_SUFFIX,
    Folder,
    OpenNote,
    close,
    digest,
    drop_lease,
    read_all,
    read_note,
    same_file,
    same_state,
    sync,
    take_lease,
    write_all,
)
from tars_memory.vault.markdown.edits import Span, lines_of, present, still_there
from tars_memory.vault.writing.journal import Journal, Record, pack, result_of, text_of, unpack
from tars_memory.vault.writing.system import Exchange, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence


LIMBO = (".tars", "limbo")
"""Where files go that we can neither place nor destroy."""

NAME_BYTES = 200
"""A temporary name repeats at most so much of the note's name: file systems allow 255 bytes in all."""

ASIDE_SUFFIX = ".tars-old"

LATE_WAIT = 1.0
"""Seconds to wait for a program that was caught writing into the old file after it had been replaced."""

LEASE_TRIES = 10
"""So many milliseconds an append waits for readers to close the note before it goes on without a lease."""


class Job:
    """One write of one note, and how it is told to the journal.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: the note's name in it.
        exchange: what the system offers.
        journal: open for writing.
        record: the fields of the ``begin`` record that do not depend on the protocol.
        notices: takes what a person must be told.

    ``temp`` is the name of our file beside the note, once begun; ``made`` says that it exists.
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
        self.notices = notices
        self.temp = ""
        self.made = False

    def begin(self, op: str, spans: Sequence[Span], old: bytes | None, new: bytes | None, **more: Any) -> None:
        """Make the intent durable, before anything in the vault is touched."""
        if op != "append":
            more["temp"] = self.temp = self._free_name()
        if op == "edit" and new is not None:
            more["twins"] = still_there(new, spans)
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

    def end(self, ok: bool, line: int = 1) -> bool:
        """Say how it ended, and answer just that; if it can't be said, the next writer finds out by itself."""
        with contextlib.suppress(OSError):
            self.journal.append([ending(self.record, ok, line)], durable=False)
            self.journal.left = None
        return ok

    def _free_name(self) -> str:
        """A name beside the note for our file. Another machine's left-over, synced here, may bear the same number."""
        txn = str(self.record["txn"])
        for number in range(1, 1000):
            name = temp_name(self.name, txn)
            if self.folder.look(name) is None and self.folder.look(aside_of(name)) is None:
                break
            txn = f"{self.record['txn']}-{number}"
        return name

    def discard(self, own: os.stat_result | None) -> bool:
        """Remove our file beside the note, if it is ours; the record ends only if that worked. Always False."""
        with contextlib.suppress(OSError):
            if self.made:
                found = self.folder.look(self.temp)
                if found is not None and own is not None and not same_file(found, own):
                    return False  # an exchange that failed, and yet was made: for recovery to settle
                if found is not None:
                    self.folder.remove(self.temp)
            self.end(False)
        return False

    def put_back(self, displaced: str, own: os.stat_result) -> None:
        """Undo an exchange: what was displaced stands under the note's name again, and ours goes."""
        ours = self.journal.left["new"] if self.journal.left else None
        kept = put_back(self.folder, self.name, displaced, self.temp, own, self.exchange, ours)
        if kept is not None:
            self.keep(kept)

    def keep(self, name: str) -> None:
        """Keep somebody's file that can't be placed, and say so."""
        where = keep_in_limbo(self.root, self.folder, name)
        self.notices.append(
            f"{self.record['file']}: a save of another program is kept as {where}: compare and remove it"
        )


def ending(record: Record, ok: bool, line: int = 1) -> Record:
    """The ``end`` record that belongs to a ``begin`` record."""
    whole = {"whole": record["whole"]} if "whole" in record else {}
    return {"t": "end", "txn": record["txn"], "n": record["n"], "ok": ok, "line": line, **whole}


def temp_name(name: str, txn: str) -> str:
    """The name of our file beside a note: hidden, and known to nobody else."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.{txn}{TEMP_SUFFIX}"


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


# -- giving a note back to whoever saved it while we were about to change it


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


def written_late(note: OpenNote) -> bytes | None:
    """What somebody wrote into a removed file after the last look, by an open file; None if nobody did."""
    if note.fd is None:
        return None
    if not note.undisturbed():
        drop_lease(note.fd)
        note.leased = False
        deadline = time.monotonic() + LATE_WAIT
        while take_lease(note.fd) == TAKEN and time.monotonic() < deadline:
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


# -- append: whole lines at the end of a note


def append(job: Job, note: OpenNote, payload: bytes, spans: Sequence[Span], line: int) -> bool:
    """Append ``payload``, which is what ``spans`` say; False if the note changed in the meantime."""
    note.close()
    job.begin("append", spans, note.data, note.data + payload)
    try:
        fd = job.folder.file(job.name, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:  # deleted or renamed just now
        return job.end(False)
    except OSError:
        job.end(False)
        raise
    try:
        done = _append(job, fd, note, payload)
    finally:
        close(fd)
    if done is None:
        newer = read_note(job.folder, job.name, leases=job.exchange.leases, keep=False)
        done = newer is not None and present(newer.data, spans)
    return job.end(done, line)


def _append(job: Job, fd: int, note: OpenNote, payload: bytes) -> bool | None:
    """The write itself; None if the note was saved since, and must be looked at when our own file is closed."""
    leased = job.exchange.leases and _lease_alone(fd)
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
            drop_lease(fd)
        sync(fd)
        found = job.folder.look(job.name)
    except OSError:
        if _take_back(fd, before.st_size, payload[:written]):
            job.end(False)
            raise
        if written < len(payload):  # the next writer sees to it
            raise
        return True  # others have written behind it: it stands, and may not be durable
    if found is None or not same_file(found, landed):
        # Renamed or replaced under our hands: the line must not stay in the file that was renamed.
        _take_back(fd, before.st_size, payload)
        return False
    return True if whole and same_state(found, landed) else None


def _lease_alone(fd: int) -> bool:
    """A lease that keeps everybody else out for a moment; readers are waited for a little, then put up with."""
    for _ in range(LEASE_TRIES):
        answer = take_lease(fd, write=True)
        if answer != TAKEN:
            return answer == FREE
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


# -- edit, create, remove


def edit(job: Job, note: OpenNote, new: bytes, spans: Sequence[Span], line: int) -> bool:
    """Exchange the note for one with the new text; the old one goes when it is known to be what was read."""
    job.begin("edit", spans, note.data, new)
    own = None
    try:
        own = _prepare(job, new, note)
        if not _unchanged(job, note):
            return job.discard(own)
        _let_go(job, note)
        displaced = job.exchange.swap(job.folder, job.name, job.temp, aside_of(job.temp))
    except FileNotFoundError:  # deleted or renamed just now
        return job.discard(own)
    except OSError:
        job.discard(own)
        raise
    try:
        as_read = _as_read(job, displaced, note)
        if as_read:
            job.folder.sync()
            as_read = _as_read(job, displaced, note)
    except OSError:
        job.put_back(displaced, own)
        job.end(False)
        raise
    if not as_read:
        job.put_back(displaced, own)
        return job.end(False)
    return _finish(job, note, displaced, own, spans, line)


def create(
    job: Job, base: bytes, new: bytes, spans: Sequence[Span], line: int, attributes: tuple[int, int] | None = None
) -> bool:
    """Make a note that appears with its whole text, unless somebody made it first.

    Args:
        job: the write.
        base: the text that it begins with.
        new: its text.
        spans: from the one to the other.
        line: of the first change.
        attributes: mode and time of modification (ns) of the note that it stands for; None for those of a new one.
    """
    job.begin("create", spans, None, new, base=text_of(base))
    own = None
    try:
        own = _prepare(job, new, None, attributes)
        clean = job.exchange.place(job.folder, job.temp, job.name)
        job.folder.sync()
    except FileExistsError:
        return job.discard(own)
    except UnsupportedError:
        job.discard(own)
        return _create_directly(job, base, new, spans, line)
    except OSError:
        _unmake(job, own, new)
        raise
    if clean:
        job.end(True, line)
    return True


def _create_directly(job: Job, base: bytes, new: bytes, spans: Sequence[Span], line: int) -> bool:
    """Where a file can't be given its name at the end: begin with the name; what a kill cuts off is settled later."""
    job.begin("create", spans, None, new, base=text_of(base), direct=True)
    try:
        fd = job.folder.file(job.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return job.end(False)
    try:
        write_all(fd, new)
        sync(fd)
        job.folder.sync()
    except OSError:
        job.folder.remove(job.name)
        job.end(False)
        raise
    finally:
        close(fd)
    return job.end(True, line)


def remove(job: Job, note: OpenNote) -> bool:
    """Remove the note if it still is exactly what was read."""
    attributes = [note.stat.st_mode & 0o7777, note.stat.st_mtime_ns]
    job.begin("remove", (), note.data, None, base=text_of(note.data), dress=attributes)
    try:
        if not _unchanged(job, note):
            return job.end(False)
        _let_go(job, note)
        job.folder.rename(job.name, job.temp)
    except FileNotFoundError:
        return job.end(False)
    except OSError:
        if job.folder.look(job.temp) is None:
            job.end(False)
        raise
    try:
        as_read = _as_read(job, job.temp, note)
        if as_read:
            job.folder.sync()
            as_read = _as_read(job, job.temp, note)
    except OSError:
        _put_name_back(job)
        job.end(False)
        raise
    if not as_read:
        _put_name_back(job)
        return job.end(False)
    with contextlib.suppress(OSError):  # the next writer removes it
        job.folder.remove(job.temp)
        job.end(True)
    return True


def _prepare(job: Job, new: bytes, note: OpenNote | None, attributes: tuple[int, int] | None = None) -> os.stat_result:
    """Write the new text beside the note, durable and dressed like it (or as told); answers what it is."""
    fd = job.folder.file(job.temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if note else 0o666)
    job.made = True
    try:
        write_all(fd, new)
        if note is not None and note.fd is not None:
            job.exchange.copy_attributes(note.fd, fd, note.stat)
        if attributes is not None:
            _set_attributes(fd, *attributes)
        sync(fd)
        return os.fstat(fd)
    finally:
        close(fd)


def _set_attributes(fd: int, mode: int, modified: int) -> None:
    """Give a file a mode and a time of modification (ns), where the system can."""
    if os.chmod in os.supports_fd:
        os.fchmod(fd, mode)
    if os.utime in os.supports_fd:
        os.utime(fd, ns=(modified, modified))


def _let_go(job: Job, note: OpenNote) -> None:
    """Close the note where an open file can't be replaced."""
    if not job.exchange.keeps_open:
        note.close()


def _unchanged(job: Job, note: OpenNote) -> bool:
    """The last look before the change: the note is the file that was read, with the same bytes."""
    if not note.undisturbed() or not note.is_at(job.folder, job.name):
        return False
    return note.leased or _holds(job, job.name, note)


def _as_read(job: Job, displaced: str, note: OpenNote) -> bool:
    """The look after the change: what we moved away is the file that was read, and nobody is writing it."""
    return note.undisturbed() and note.is_at(job.folder, displaced) and _holds(job, displaced, note)


def _holds(job: Job, name: str, note: OpenNote) -> bool:
    fd = job.folder.file(name, os.O_RDONLY)
    try:
        return read_all(fd, len(note.data)) == note.data
    finally:
        close(fd)


def _finish(job: Job, note: OpenNote, displaced: str, own: os.stat_result, spans: Sequence[Span], line: int) -> bool:
    """Remove the old note, and make sure that the new one is what stands there."""
    try:
        job.folder.remove(displaced)
        late = written_late(note)
        found = job.folder.look(job.name)
    except OSError:
        return True  # the edit is made; the record stays unfinished and the next writer removes what is left
    if late is not None:
        save_late(job.folder, job.temp, late, own.st_mode)
        job.put_back(job.temp, own)
        return job.end(False)
    done = True
    if found is not None and not same_file(found, own):
        # Somebody saved over the new note. If he had read it, the edit is in his text; else it goes in again.
        newer = read_note(job.folder, job.name, leases=job.exchange.leases, keep=False)
        done = newer is None or present(newer.data, spans)
    return job.end(done, line)


def _put_name_back(job: Job) -> None:
    """Give a removed note its name back; somebody else's new note under that name stands."""
    try:
        job.exchange.place(job.folder, job.temp, job.name)
    except FileExistsError:
        job.keep(job.temp)


def _unmake(job: Job, own: os.stat_result | None, new: bytes) -> None:
    """Take a note back that was made, but not durably; what somebody wrote into it meanwhile stands."""
    found = job.folder.look(job.name)
    if own is None or found is None or not same_file(found, own):
        job.discard(own)
        return
    job.folder.remove(job.temp)  # the second name, if that is where it failed
    job.folder.rename(job.name, job.temp)
    note = read_note(job.folder, job.temp, leases=False, keep=False, trusted=digest(new))
    if note is not None and note.data == new:
        job.discard(own)
    else:
        _put_name_back(job)


# -- after a kill or a power cut


class Settled:
    """How an unfinished write was settled: whether it stands, and what to tell (empty if nothing is worth it)."""

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
    elif found == record["old"] and result_of(record, note.data).startswith(kept.data):
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
    new = result_of(record)
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
