"""Append: whole lines at the end of a note by one ``O_APPEND`` write; the note keeps its file."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from tars_memory.vault import lease
from tars_memory.vault.folder import close, read_all, read_note, same_file, same_state, sync
from tars_memory.vault.markdown.spans import present

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.folder import Note
    from tars_memory.vault.markdown.spans import Span
    from tars_memory.vault.writing.protocol import Job

LEASE_TRIES = 10
"""So many milliseconds an append waits for readers to close the note before it goes on without a lease."""


def append(job: Job, note: Note, payload: bytes, spans: Sequence[Span], line: int) -> bool:
    """Append ``payload``, which is what ``spans`` say; False if the note changed meanwhile."""
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


def _append(job: Job, fd: int, note: Note, payload: bytes) -> bool | None:
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
            lease.drop(fd)
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
