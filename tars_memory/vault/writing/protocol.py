"""Write one note step by step: append, edit, create and remove, without losing what another program saves meanwhile.

Every protocol reads the note, makes its intent durable in the journal, prepares the new text beside the note, and
checks the note once more before and after the one call that changes the vault. If a check finds that another program
saved first, that save is put back or left in place, and the caller plans again on the newer text. An append is one
``O_APPEND`` write and the note keeps its file. Every other write lets a file of ours and the note change places, and
removes no file that was not checked again.

A protocol returns True (done) or False (the note has changed, nothing of ours is in it). An ``OSError`` leaves
nothing of ours in the note, or an unfinished journal record that the next writer settles.

After a kill or a power cut :func:`settle` ends the one write that was left unfinished. The journal says what was
intended; the note and our file beside it show how far the write came. The note ends as it was before or as it was
meant to be; what another program saved is never destroyed.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Any

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
from tars_memory.vault.markdown.edits import Span, count_removed, is_written, lines_of
from tars_memory.vault.writing.journal import Journal, Record, pack, result_of, text_of, unpack
from tars_memory.vault.writing.system import Exchange, UnsupportedError

LIMBO = (".tars", "limbo")
"""Folder for files that we can neither put in place nor destroy."""

NAME_BYTES = 200
"""Maximum number of bytes of the note's name in a temporary name: file systems allow 255 bytes in all."""

ASIDE_SUFFIX = ".tars-old"
"""End of the name under which Windows keeps a replaced file."""

LATE_WAIT = 1.0
"""Seconds to wait for a program that is still writing into the old file after it was replaced."""

LEASE_TRIES = 10
"""Milliseconds that an append waits for readers to close the note before it goes on without a lease."""


class Job:
    """One write of one note: the open folders and the journal that it uses.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: the note's name in that folder.
        exchange: the system's calls that replace files.
        journal: open for writing.
        record: the fields of the ``begin`` record that do not depend on the protocol.
        notices: receives messages for the person.

    Attributes:
        temp: the name of our file beside the note; empty before :meth:`begin` and for an append.
        made: whether our file was created.
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
        """Write the ``begin`` record durably, before anything in the vault is touched.

        Args:
            op: ``append``, ``edit``, ``create`` or ``remove``.
            spans: the changes.
            old: the note's bytes before the write; None if there is no note.
            new: its bytes after the write; None if there is no note then.
            more: further fields of the record.
        """
        if op != "append":
            more["temp"] = self.temp = self._free_name()
        if op == "edit" and new is not None:
            more["twins"] = count_removed(new, spans)
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
        self.journal.unsettled = record

    def end(self, ok: bool, line: int = 1) -> bool:
        """Write the ``end`` record and return ``ok``. If that fails, the next writer settles the write."""
        with contextlib.suppress(OSError):
            self.journal.append([end_record(self.record, ok, line)], durable=False)
            self.journal.unsettled = None
        return ok

    def _free_name(self) -> str:
        """Return an unused name for our file. A left-over synced from another machine may have the same number."""
        txn = str(self.record["txn"])
        for number in range(1, 1000):
            name = temp_name(self.name, txn)
            if self.folder.look(name) is None and self.folder.look(aside_of(name)) is None:
                break
            txn = f"{self.record['txn']}-{number}"
        return name

    def discard(self, own_stat: os.stat_result | None) -> bool:
        """Remove the file beside the note if it is ours, and end the record if that worked. Always returns False."""
        with contextlib.suppress(OSError):
            if self.made:
                current = self.folder.look(self.temp)
                if current is not None and own_stat is not None and not same_file(current, own_stat):
                    return False  # the exchange reported an error but took place: recovery settles it
                if current is not None:
                    self.folder.remove(self.temp)
            self.end(False)
        return False

    def put_back(self, displaced: str, own_stat: os.stat_result) -> None:
        """Undo an exchange: give the displaced file the note's name again and remove ours."""
        own_digest = self.journal.unsettled["new"] if self.journal.unsettled else None
        unplaced = put_back(self.folder, self.name, displaced, self.temp, own_stat, self.exchange, own_digest)
        if unplaced is not None:
            self.keep_in_limbo(unplaced)

    def keep_in_limbo(self, name: str) -> None:
        """Keep another program's file that can't be put in place, and add a notice."""
        where = keep_in_limbo(self.root, self.folder, name)
        self.notices.append(
            f"{self.record['file']}: a version saved by another program is kept as {where}: compare, then remove it"
        )


def end_record(record: Record, ok: bool, line: int = 1) -> Record:
    """Return the ``end`` record that belongs to a ``begin`` record."""
    atomic = {"whole": record["whole"]} if "whole" in record else {}
    return {"t": "end", "txn": record["txn"], "n": record["n"], "ok": ok, "line": line, **atomic}


def temp_name(name: str, txn: str) -> str:
    """Return a hidden name for our file beside a note, which no other program uses."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.{txn}{TEMP_SUFFIX}"


def keep_in_limbo(root: Folder, folder: Folder, name: str) -> str:
    """Move a file that we must not destroy and can't put in place to ``.tars/limbo/``, where ``doctor`` reports it.

    Returns:
        Its new path relative to the vault, or its present path if it can't be moved.
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
        for inner in opened:
            inner.close()
    return "/".join((*LIMBO, new))


# -- put back what another program saved while we were about to change the note


def aside_of(temp: str) -> str:
    """Return the name under which Windows keeps the file that ``temp`` replaced."""
    return temp.removesuffix(TEMP_SUFFIX) + ASIDE_SUFFIX


def put_back(
    folder: Folder,
    name: str,
    displaced: str,
    temp: str,
    own_stat: os.stat_result,
    exchange: Exchange,
    own_digest: str | None,
) -> str | None:
    """Exchange again, so that another program's save has the note's name again, and remove our file.

    If that program saved once more over our file in between, by a new file or into ours, the newer save stays and the
    older one that it replaced is removed.

    Args:
        folder: holds all of these files.
        name: the note's name.
        displaced: the name of the other program's save.
        temp: the name of our file beside the note.
        own_stat: the ``stat`` of our file when it took the note's place.
        exchange: the system's calls that replace files.
        own_digest: SHA-256 of our file's text; None if it isn't known.

    Returns:
        None, or the name of a file that can't be put in place and must not be destroyed.
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
        if same_file(found, own_stat):
            try:
                gone = _remove_unwritten(folder, after, own_stat, exchange, own_digest)
            except UnwritableError:  # another program keeps it open: what it still writes must not be lost
                return after
            if gone:
                folder.sync()
                return None
        displaced, own_stat, own_digest = after, held, None
    return displaced


def _remove_unwritten(
    folder: Folder, name: str, known_stat: os.stat_result, exchange: Exchange, known_digest: str | None
) -> bool:
    """Remove a file that had the note's name for a moment, unless another program opened it then and wrote into it.

    Args:
        folder: holds the file.
        name: its present name.
        known_stat: its ``stat`` while it had the note's name.
        exchange: the system's calls that replace files.
        known_digest: SHA-256 of its text then; None if it isn't known.

    Returns:
        False if the name now holds a text that another program wrote.

    Raises:
        UnwritableError: another program still has it open for writing.
    """
    note = read_note(folder, name, leases=exchange.leases, trusted=known_digest)
    if note is None:
        return True
    try:
        unchanged = same_state(note.stat, known_stat) and known_digest in (None, digest(note.data))
        if not unchanged or not note.undisturbed():
            return False
        if not exchange.keeps_open:
            note.close()
        removed = True
        try:
            folder.remove(name)
        except OSError:  # it stays; doctor reports it
            removed = False
        late = late_write(note)
        if late is None:
            return True
        if removed:
            save_late_write(folder, name, late, known_stat.st_mode)
        return False
    finally:
        note.close()


def late_write(note: OpenNote) -> bytes | None:
    """Return the text of a removed file if a program that had it open wrote into it after the last check, else None."""
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


def save_late_write(folder: Folder, name: str, late: bytes, mode: int) -> None:
    """Write a text that :func:`late_write` found in a removed file to a new file."""
    fd = folder.file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & 0o7777)
    try:
        write_all(fd, late)
        sync(fd)
    finally:
        close(fd)


# -- append: whole lines at the end of a note


def append(job: Job, note: OpenNote, payload: bytes, spans: Sequence[Span], line: int) -> bool:
    """Append ``payload``, which ``spans`` describe; return False if the note changed in the meantime."""
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
        done = _write_at_end(job, fd, note, payload)
    finally:
        close(fd)
    if done is None:
        newer = read_note(job.folder, job.name, leases=job.exchange.leases, keep=False)
        done = newer is not None and is_written(newer.data, spans)
    return job.end(done, line)


def _write_at_end(job: Job, fd: int, note: OpenNote, payload: bytes) -> bool | None:
    """Write ``payload`` at the end of the open note.

    Returns:
        True if it is there, False if nothing of it is. None if another program saved the note meanwhile: read the
        note again once ``fd`` is closed.
    """
    leased = job.exchange.leases and _take_exclusive_lease(fd)
    before = os.fstat(fd)
    if not same_state(before, note.stat):
        return False
    written = 0
    try:
        while written < len(payload):
            written += os.write(fd, payload[written:])
        landed = os.fstat(fd)
        complete = landed.st_size == before.st_size + len(payload) and _ends_with(fd, payload, landed.st_size)
        if leased:
            drop_lease(fd)
        sync(fd)
        current = job.folder.look(job.name)
    except OSError:
        if _cut_own_tail(fd, before.st_size, payload[:written]):
            job.end(False)
            raise
        if written < len(payload):  # the next writer settles it
            raise
        return True  # others have written after it: it stays, and may not be durable
    if current is None or not same_file(current, landed):
        # Renamed or replaced while we wrote: the line must not stay in the file that was renamed.
        _cut_own_tail(fd, before.st_size, payload)
        return False
    return True if complete and same_state(current, landed) else None


def _take_exclusive_lease(fd: int) -> bool:
    """Return whether a lease keeps everybody else out of the file; wait briefly for readers to close it."""
    for _ in range(LEASE_TRIES):
        answer = take_lease(fd, write=True)
        if answer != TAKEN:
            return answer == FREE
        time.sleep(0.001)
    return False


def _ends_with(fd: int, payload: bytes, size: int) -> bool:
    os.lseek(fd, size - len(payload), os.SEEK_SET)
    return read_all(fd, len(payload)) == payload


def _cut_own_tail(fd: int, size: int, written: bytes) -> bool:
    """Truncate the file to ``size`` if it ends with the bytes that we wrote; else return False."""
    if written:
        if os.fstat(fd).st_size != size + len(written) or not _ends_with(fd, written, size + len(written)):
            return False
        os.ftruncate(fd, size)
        with contextlib.suppress(OSError):  # if the truncation is not durable, recovery repeats it
            sync(fd)
    return True


# -- edit, create, remove


def edit(job: Job, note: OpenNote, new: bytes, spans: Sequence[Span], line: int) -> bool:
    """Exchange the note for a file with the new text; remove the old file once it is known to be what was read."""
    job.begin("edit", spans, note.data, new)
    own_stat = None
    try:
        own_stat = _write_temp(job, new, note)
        if not _is_unchanged(job, note):
            return job.discard(own_stat)
        _close_before_replacing(job, note)
        displaced = job.exchange.swap(job.folder, job.name, job.temp, aside_of(job.temp))
    except FileNotFoundError:  # deleted or renamed just now
        return job.discard(own_stat)
    except OSError:
        job.discard(own_stat)
        raise
    try:
        as_read = _is_durably_as_read(job, displaced, note)
    except OSError:
        job.put_back(displaced, own_stat)
        job.end(False)
        raise
    if not as_read:
        job.put_back(displaced, own_stat)
        return job.end(False)
    return _finish_edit(job, note, displaced, own_stat, spans, line)


def create(
    job: Job, base: bytes, new: bytes, spans: Sequence[Span], line: int, attributes: tuple[int, int] | None = None
) -> bool:
    """Create a note that appears with its whole text at once; return False if another program created it first.

    Args:
        job: the write.
        base: the text that the note begins with.
        new: the note's text.
        spans: the changes from ``base`` to ``new``.
        line: number of the first changed line.
        attributes: mode and time of modification (ns) of the note that it replaces; None for those of a new note.
    """
    job.begin("create", spans, None, new, base=text_of(base))
    own_stat = None
    try:
        own_stat = _write_temp(job, new, None, attributes)
        clean = job.exchange.place(job.folder, job.temp, job.name)
        job.folder.sync()
    except FileExistsError:
        return job.discard(own_stat)
    except UnsupportedError:
        job.discard(own_stat)
        return _create_directly(job, base, new, spans, line)
    except OSError:
        _withdraw(job, own_stat, new)
        raise
    if clean:
        job.end(True, line)
    return True


def _create_directly(job: Job, base: bytes, new: bytes, spans: Sequence[Span], line: int) -> bool:
    """Create the note under its own name, where a finished file can't be given a name without replacing another.

    A note that a kill cuts off is completed by the next writer.
    """
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
    """Remove the note if it is still exactly what was read; return whether it was removed."""
    attributes = [note.stat.st_mode & 0o7777, note.stat.st_mtime_ns]
    job.begin("remove", (), note.data, None, base=text_of(note.data), dress=attributes)
    try:
        if not _is_unchanged(job, note):
            return job.end(False)
        _close_before_replacing(job, note)
        job.folder.rename(job.name, job.temp)
    except FileNotFoundError:
        return job.end(False)
    except OSError:
        if job.folder.look(job.temp) is None:
            job.end(False)
        raise
    try:
        as_read = _is_durably_as_read(job, job.temp, note)
    except OSError:
        _restore_name(job)
        job.end(False)
        raise
    if not as_read:
        _restore_name(job)
        return job.end(False)
    try:
        job.folder.remove(job.temp)
        late = late_write(note)
    except OSError:
        return True  # the next writer removes it
    if late is not None:
        save_late_write(job.folder, job.temp, late, note.stat.st_mode)
        _restore_name(job)
    return job.end(late is None)


def _write_temp(
    job: Job, new: bytes, note: OpenNote | None, attributes: tuple[int, int] | None = None
) -> os.stat_result:
    """Write the new text durably to our file beside the note, with the note's attributes or those given.

    Returns:
        The ``stat`` of our file.
    """
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
    """Set a file's mode and time of modification (ns), where the system can."""
    if os.chmod in os.supports_fd:
        os.fchmod(fd, mode)
    if os.utime in os.supports_fd:
        os.utime(fd, ns=(modified, modified))


def _close_before_replacing(job: Job, note: OpenNote) -> None:
    """Close the note if the system can't replace an open file."""
    if not job.exchange.keeps_open:
        note.close()


def _is_unchanged(job: Job, note: OpenNote) -> bool:
    """Whether the note, just before the change, is the file that was read, with the same bytes."""
    if not note.undisturbed() or not note.is_at(job.folder, job.name):
        return False
    return note.leased or _has_same_bytes(job, job.name, note)


def _is_durably_as_read(job: Job, displaced: str, note: OpenNote) -> bool:
    """Whether the file moved away is the one that was read, before and after the change is made durable."""
    if not _is_as_read(job, displaced, note):
        return False
    job.folder.sync()
    return _is_as_read(job, displaced, note)


def _is_as_read(job: Job, displaced: str, note: OpenNote) -> bool:
    """Whether the file moved away is the one that was read, and nobody is writing it."""
    return note.undisturbed() and note.is_at(job.folder, displaced) and _has_same_bytes(job, displaced, note)


def _has_same_bytes(job: Job, name: str, note: OpenNote) -> bool:
    fd = job.folder.file(name, os.O_RDONLY)
    try:
        return read_all(fd, len(note.data)) == note.data
    finally:
        close(fd)


def _finish_edit(
    job: Job, note: OpenNote, displaced: str, own_stat: os.stat_result, spans: Sequence[Span], line: int
) -> bool:
    """Remove the old note, and check that the note's name now holds our text; return whether the edit is in it."""
    try:
        job.folder.remove(displaced)
        late = late_write(note)
        current = job.folder.look(job.name)
    except OSError:
        return True  # the edit is made; the record stays unfinished and the next writer removes the old file
    if late is not None:
        save_late_write(job.folder, job.temp, late, own_stat.st_mode)
        job.put_back(job.temp, own_stat)
        return job.end(False)
    done = True
    if current is not None and not same_file(current, own_stat):
        # Another program saved over the new note. If it had read ours, the edit is in its text; else we write it again.
        newer = read_note(job.folder, job.name, leases=job.exchange.leases, keep=False)
        done = newer is None or is_written(newer.data, spans)
    return job.end(done, line)


def _restore_name(job: Job) -> None:
    """Give a removed note its name back; a new note that another program made under that name stays."""
    try:
        job.exchange.place(job.folder, job.temp, job.name)
    except FileExistsError:
        job.keep_in_limbo(job.temp)


def _withdraw(job: Job, own_stat: os.stat_result | None, new: bytes) -> None:
    """Remove a note that was made, but not durably, unless another program wrote into it meanwhile."""
    current = job.folder.look(job.name)
    if own_stat is None or current is None or not same_file(current, own_stat):
        job.discard(own_stat)
        return
    job.folder.remove(job.temp)  # the file's second name, if removing that is what failed
    job.folder.rename(job.name, job.temp)
    note = read_note(job.folder, job.temp, leases=False, keep=False, trusted=digest(new))
    if note is not None and note.data == new:
        job.discard(own_stat)
    else:
        _restore_name(job)


# -- after a kill or a power cut


Settled = tuple[bool, list[str]]
"""Result of settling an unfinished write: whether the note holds what it was to bring about, and messages."""


def settle(root: Folder, folder: Folder, name: str, record: Record, exchange: Exchange) -> Settled:
    """Settle one unfinished write, under the lock.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: the note's name.
        record: the ``begin`` record.
        exchange: the system's calls that replace files.

    Raises:
        OSError, UnwritableError: it can't be settled now; nothing is lost by trying.
    """
    if record["op"] == "append":
        return _settle_append(folder, name, record, exchange)
    temp = str(record["temp"])
    remnant = next((file for file in (temp, aside_of(temp)) if folder.look(file) is not None), None)
    note = read_note(folder, name, leases=exchange.leases, keep=False)
    if record.get("direct") and note is not None:
        _complete_new_note(folder, name, record, note)
        note = read_note(folder, name, leases=exchange.leases, keep=False)
    if remnant is None:
        return _is_applied(note, record), []
    if record["op"] == "create":  # our file never holds anybody else's text
        return _is_applied(note, record), _remove_temp(folder, remnant)
    ok, notices = _settle_remnant(root, folder, name, record, exchange, note, remnant)
    for file in (temp, aside_of(temp)):
        if file != remnant:
            notices += _remove_temp(folder, file)
    folder.sync()
    return ok, notices


def _settle_remnant(
    root: Folder, folder: Folder, name: str, record: Record, exchange: Exchange, note: OpenNote | None, remnant: str
) -> Settled:
    """Settle an edit or a removal that left a file beside the note; see :func:`settle` for the first five arguments.

    ``note`` is the note as it is now, None if it is gone. ``remnant`` is the name of that file, which holds our new
    text, the old text, or another program's save.
    """
    kept = read_note(folder, remnant, leases=exchange.leases, keep=False)
    assert kept is not None
    current = None if note is None else digest(note.data)
    left_behind = digest(kept.data)
    if record["op"] == "edit" and left_behind == record["new"]:
        return current == record["new"], _remove_temp(folder, remnant)
    if left_behind == record["old"] and (note is not None or record["op"] == "remove"):
        return _is_applied(note, record), _remove_temp(folder, remnant)
    if note is None:
        with contextlib.suppress(FileExistsError):
            exchange.place(folder, remnant, name)
        return False, []
    if current == record["new"]:
        # Another program saved just before the exchange, and we were killed before we saw it: its text stays.
        unplaced = put_back(folder, name, remnant, str(record["temp"]), note.stat, exchange, record["new"])
        if unplaced is None:
            return False, [f"{record['file']}: a version that a killed process had displaced has been restored"]
        remnant = unplaced
    elif current == record["old"] and result_of(record, note.data).startswith(kept.data):
        return False, _remove_temp(folder, remnant)  # our own text, half written
    where = keep_in_limbo(root, folder, remnant)
    notice = f"{record['file']}: a text that a killed process left behind is kept as {where}: compare, then remove it"
    return _is_applied(note, record), [notice]


def _remove_temp(folder: Folder, name: str) -> list[str]:
    """Remove a file of ours; return a notice if that fails, which does not change how the write ended."""
    try:
        folder.remove(name)
    except OSError as error:
        why = error.strerror or error
        return [f"{folder.at(name)}, a file of ours, can't be removed ({why}): tars-memory doctor --fix tries again"]
    return []


def _complete_new_note(folder: Folder, name: str, record: Record, note: OpenNote) -> None:
    """Write the missing rest of a new note that :func:`_create_directly` began and a kill cut off."""
    new = result_of(record)
    if len(note.data) < len(new) and new.startswith(note.data):
        fd = folder.file(name, os.O_WRONLY | os.O_APPEND)
        try:
            write_all(fd, new[len(note.data) :])
            sync(fd)
        finally:
            close(fd)


def _settle_append(folder: Folder, name: str, record: Record, exchange: Exchange) -> Settled:
    """Settle an append: all of it is in the note, none of it is, or a part of it is and is removed."""
    note = read_note(folder, name, leases=exchange.leases, keep=False)
    size = int(record["size"][0])
    if note is None or _is_applied(note, record) or digest(note.data[:size]) != record["old"]:
        return _is_applied(note, record), []
    tail = note.data[size:]
    if tail and _appended_bytes(record, note.data[:size]).startswith(tail):
        fd = folder.file(name, os.O_RDWR)
        try:
            now = os.fstat(fd)
            if now.st_size == len(note.data) and same_file(now, note.stat):
                os.ftruncate(fd, size)
                sync(fd)
        finally:
            close(fd)
    return False, []


def _appended_bytes(record: Record, before: bytes) -> bytes:
    """Return the bytes that an append was to add."""
    span = unpack(record)[0]
    return span.after[len(before) - span.start :]


def _is_applied(note: OpenNote | None, record: Record) -> bool:
    """Whether the note is as the write was to leave it."""
    if record["op"] == "remove":
        return note is None
    if note is None:
        return False
    if digest(note.data) == record["new"]:
        return True
    spans = unpack(record)
    has_lines = bool(spans and lines_of(spans[0].after))
    return digest(note.data) != record["old"] and has_lines and is_written(note.data, spans)
