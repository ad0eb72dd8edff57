"""Edit, create, remove: a file of ours and the note change places; nothing goes that was not looked at again."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from tars_memory.vault.folder import close, digest, read_all, read_note, same_file, sync, write_all
from tars_memory.vault.markdown.spans import present
from tars_memory.vault.writing.exchange import UnsupportedError
from tars_memory.vault.writing.journal import text_of
from tars_memory.vault.writing.putting_back import aside_of, save_late, written_late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.folder import Note
    from tars_memory.vault.markdown.spans import Span
    from tars_memory.vault.writing.protocol import Job


def edit(job: Job, note: Note, new: bytes, spans: Sequence[Span], line: int) -> bool:
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
    job: Job, base: bytes, new: bytes, spans: Sequence[Span], line: int, dress: tuple[int, int] | None = None
) -> bool:
    """Make a note that appears with its whole text, unless somebody made it first.

    Args:
        job: the write.
        base: the text that it begins with.
        new: its text.
        spans: from the one to the other.
        line: of the first change.
        dress: mode and time of modification (ns) of the note that it stands for; None for those of a new one.
    """
    job.begin("create", spans, None, new, base=text_of(base))
    own = None
    try:
        own = _prepare(job, new, None, dress)
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


def remove(job: Job, note: Note) -> bool:
    """Remove the note if it still is exactly what was read."""
    dress = [note.stat.st_mode & 0o7777, note.stat.st_mtime_ns]
    job.begin("remove", (), note.data, None, base=text_of(note.data), dress=dress)
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


def _prepare(job: Job, new: bytes, note: Note | None, dress: tuple[int, int] | None = None) -> os.stat_result:
    """Write the new text beside the note, durable and dressed like it (or as told); answers what it is."""
    fd = job.folder.file(job.temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if note else 0o666)
    job.made = True
    try:
        write_all(fd, new)
        if note is not None and note.fd is not None:
            job.exchange.dress(note.fd, fd, note.stat)
        if dress is not None:
            _dress(fd, *dress)
        sync(fd)
        return os.fstat(fd)
    finally:
        close(fd)


def _dress(fd: int, mode: int, modified: int) -> None:
    """Give a file a mode and a time of modification (ns), where the system can."""
    if os.chmod in os.supports_fd:
        os.fchmod(fd, mode)
    if os.utime in os.supports_fd:
        os.utime(fd, ns=(modified, modified))


def _let_go(job: Job, note: Note) -> None:
    """Close the note where an open file can't be replaced."""
    if not job.exchange.keeps_open:
        note.close()


def _unchanged(job: Job, note: Note) -> bool:
    """The last look before the change: the note is the file that was read, with the same bytes."""
    if not note.undisturbed() or not note.is_at(job.folder, job.name):
        return False
    return note.leased or _holds(job, job.name, note)


def _as_read(job: Job, displaced: str, note: Note) -> bool:
    """The look after the change: what we moved away is the file that was read, and nobody is writing it."""
    return note.undisturbed() and note.is_at(job.folder, displaced) and _holds(job, displaced, note)


def _holds(job: Job, name: str, note: Note) -> bool:
    fd = job.folder.file(name, os.O_RDONLY)
    try:
        return read_all(fd, len(note.data)) == note.data
    finally:
        close(fd)


def _finish(job: Job, note: Note, displaced: str, own: os.stat_result, spans: Sequence[Span], line: int) -> bool:
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
