"""The only door for writes into the vault: lock, recovery, plan, protocol, journal, undo.

A caller gives a :data:`Plan`, a pure function from the note's bytes to splices. The store reads the note, plans,
picks the protocol (a line at the end is appended, anything else is an edit, a missing note is created) and plans
again if the note changed meanwhile. Nothing else in this program opens a note for writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tars_memory.errors import ConflictError, NotFoundError, TarsError, UnwritableError
from tars_memory.vault import exchange as exchanges
from tars_memory.vault.document import apply
from tars_memory.vault.folder import Folder, NotPlainError, digest, read_note, steps
from tars_memory.vault.journal import Journal, Record, next_txn
from tars_memory.vault.lock import VaultLock
from tars_memory.vault.model import Splice
from tars_memory.vault.recovery import settle
from tars_memory.vault.spans import Span, appended, first_changed_line, spans_of
from tars_memory.vault.write import Job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from tars_memory.vault.exchange import Exchange
    from tars_memory.vault.folder import Note
    from tars_memory.vault.history import JournalEntry, LostLine

Plan = Callable[[bytes | None], Sequence[Splice]]
"""From the note's bytes to what shall change. Pure: called again on newer bytes if the note changed meanwhile.

It is given None if there is no note and none of its text was given either; it answers () for nothing to do, and
raises ConflictError or NotFoundError if its target isn't there.
"""

ATTEMPTS = 40
"""How often a write is planned again because somebody else saved the note in between."""

GONE_WAIT = 0.05
"""Seconds to look again for a note that isn't there: some editors rename it away before they write it anew."""


class Written:
    """What became of one write.

    Attributes:
        txn: the transaction; empty if nothing was written.
        path: of the note, relative to the vault.
        line: 1-based line, in the new text, of the first changed line that isn't blank.
        before: the changed lines as they were.
        after: the changed lines as they are.
        text: the whole note as it is now.
        changed: whether anything was written (in a dry run: would be).
        created: whether the note is new.
    """

    __slots__ = ("after", "before", "changed", "created", "line", "path", "text", "txn")

    def __init__(
        self, txn: str, path: str, text: bytes, spans: Sequence[Span] = (), *, line: int = 1, created: bool = False
    ) -> None:
        self.txn = txn
        self.path = path
        self.line = line
        self.before = b"".join(span.before for span in spans)
        self.after = b"".join(span.after for span in spans)
        self.text = text
        self.changed = bool(spans) or created
        self.created = created


class Store:
    """Writes into one vault.

    Args:
        root: the vault's real path.
        state: its state folder; made at the first write.
        now: the clock, giving aware times.
        actor: who writes (:data:`tars_memory.vault.model.Actor`).
        lock_timeout: seconds to wait for another writer.
        journal_days: how long undo is kept.
        dry_run: plan and answer, but lock, journal and write nothing.
        exchange: what the system offers; tests take something away.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        now: Callable[[], datetime],
        actor: str,
        lock_timeout: float = 30.0,
        journal_days: int = 90,
        dry_run: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self.root = root
        self.state = state
        self.now = now
        self.actor = actor
        self.lock_timeout = lock_timeout
        self.journal_days = journal_days
        self.dry_run = dry_run
        self.exchange = exchange or exchanges.of_this_system()
        self.journal = Journal(state / "journal")
        self.notices: list[str] = []

    @contextlib.contextmanager
    def transaction(self, command: str, *, settles: str | None = None) -> Iterator[Transaction]:
        """Lock the vault, settle what a killed process left, and write.

        Args:
            command: what history shows (``remember``).
            settles: the spool item that is being placed, so that it is placed once only.

        Raises:
            BusyError: another process held the lock all the time.
            UnwritableError: the vault or the state folder can't be used.
        """
        with contextlib.ExitStack() as stack:
            if not self.dry_run:
                lock = VaultLock(self.state / "lock", timeout=self.lock_timeout, command=command)
                stack.enter_context(lock.held())
            with writing(os.fspath(self.root)):
                root = Folder.open(self.root, handles=self.exchange.folder_handles)
            transaction = Transaction(self, root, command, settles)
            stack.callback(transaction.close)
            if not self.dry_run:
                transaction.begin()
            yield transaction

    def undo(self, txn: str | None = None, *, last: int = 1) -> list[Written]:
        """Take writes back: one transaction by name, or the last ones still in force (undos are not counted).

        A note that is as the write left it gets its exact bytes back. In one that has moved on, the changed lines
        are looked for by their text and must be found exactly once. An undo can be undone by its name.

        Raises:
            NotFoundError: there is no such transaction, or nothing left to undo.
            ConflictError: a note has moved on too far; the message shows the change that can't be taken back.
        """
        from tars_memory.vault.undo import undo

        return undo(self, txn, last)

    def history(self, limit: int | None = None, path: str | None = None) -> Iterator[JournalEntry]:
        """The writes that were made, newest first; read only, from the tail as far as they are asked for."""
        from tars_memory.vault.history import entries

        return entries(self.journal, limit, path)

    def lost_lines(self) -> list[LostLine]:
        """Lines we wrote, and did not take back, that are no longer there; read only."""
        from tars_memory.vault.history import lost_lines

        return lost_lines(self.journal, self.root)

    def recover(self) -> list[str]:
        """Settle what a killed process left, for doctor; returns what there was to tell."""
        with self.transaction("recover"):
            return list(self.notices)

    def pending(self) -> list[str]:
        """What the next writer has to settle; read only, no lock. (A write going on right now looks the same.)"""
        record = self.journal.unfinished()
        if record is None:
            return []
        return [f"{record['command']} {record['txn']} on {record['file']} was not finished"]

    def purge(self, text: str) -> int:
        """Take a text out of the journal for good (``forget --everywhere``); writes that held it can't be undone.

        Returns:
            how many records held it.
        """
        with self.transaction("purge"), writing(os.fspath(self.journal.folder)):
            return 0 if self.dry_run else self.journal.purge(text)


class Transaction:
    """Writes under one lock and one name. Made by :meth:`Store.transaction`.

    Attributes:
        id: its name; sorts by time.
        command: as given.
        written: what was done so far.
    """

    def __init__(self, store: Store, root: Folder, command: str, settles: str | None) -> None:
        self.id = ""
        self.command = command
        self.written: list[Written] = []
        self._store = store
        self._root = root
        self._settles = settles
        self._count = 0
        self._folders: dict[tuple[str, ...], Folder] = {(): root}
        self._trusted: str | None = None

    def begin(self) -> None:
        """Open the journal and settle an unfinished write. The store calls this."""
        store, journal = self._store, self._store.journal
        with writing(os.fspath(journal.folder)):
            last = journal.open(store.now())
            self._settle()
            if journal.begins_file:
                journal.prune(store.now(), store.journal_days)
        self.id = next_txn(store.now(), str(last["txn"]) if last else None)

    def close(self) -> None:
        """Give all handles back. The store calls this."""
        for folder in self._folders.values():
            folder.close()
        self._store.journal.close()

    def read(self, path: str) -> bytes | None:
        """The note as it is, under the lock; None if there is none."""
        with writing(path):
            note = self._read(path, keep=False)
        return None if note is None else note.data

    def write(
        self, path: str, plan: Plan, *, create: bytes = b"", undoes: str | None = None, restore: bool = False
    ) -> Written:
        """Change one note, or make it.

        Args:
            path: relative to the vault, with ``/``.
            plan: what to change; also called for a note that isn't there.
            create: the text that a new note begins with; the plan is called on it.
            undoes: the transaction that this write takes back.
            restore: make the note even if the plan leaves ``create`` as it is.

        Raises:
            ConflictError: the plan's target changed, or the note changed again and again.
            UnwritableError: the note can't be written; it is as it was.
        """
        with writing(path):
            self._settle()
            for attempt in range(ATTEMPTS):
                if attempt:
                    time.sleep(min(0.002 * attempt, 0.05))
                written = self._attempt(path, plan, create, undoes, restore)
                if written is not None:
                    if written.changed:
                        self.written.append(written)
                    return written
        raise ConflictError(f"{path} changes faster than it can be written", "try again when the other program rests")

    def remove(self, path: str, expected: str, *, undoes: str | None = None) -> Written | None:
        """Remove a note if it still has this SHA-256; None if it hasn't."""
        with writing(path):
            self._settle()
            note = self._read(path)
            if note is None:
                return None
            try:
                if digest(note.data) != expected:
                    return None
                span = Span(0, note.data, b"", None, None)
                written = Written(self.id, path, b"", [span])
                if not self._store.dry_run and not self._job(path, undoes).remove(note):
                    return None
            finally:
                note.close()
        self.written.append(written)
        return written

    def mark(self, undoes: str) -> None:
        """Say that a transaction is taken back though nothing was left to write."""
        if not self._store.dry_run:
            with writing(os.fspath(self._store.journal.folder)):
                self._store.journal.append([{"t": "mark", "txn": self.id, "undoes": undoes}], durable=True)

    def _attempt(self, path: str, plan: Plan, create: bytes, undoes: str | None, restore: bool) -> Written | None:
        note = self._read(path)
        try:
            base = note.data if note else create
            try:
                splices = list(plan(base if note or create else None))
            except (NotFoundError, ConflictError):
                if note is not None or not self._appears(path):
                    raise
                return None
            payload = appended(base, splices)
            if payload is not None:
                splices = [Splice(len(base), len(base), payload)]
            new = apply(base, splices)
            if new == base and not (restore and note is None):
                return Written("", path, base)
            spans = spans_of(base, splices)
            line = first_changed_line(base, spans)
            if self._store.dry_run:
                return Written("", path, new, spans, line=line, created=note is None)
            job = self._job(path, undoes, make=note is None)
            if note is None:
                done = job.create(base, new, spans, line)
            elif payload is not None:
                done = job.append(note, payload, spans, line)
            else:
                done = job.edit(note, new, spans, line)
            if not done:
                return None
            self._trusted = digest(new)
            return Written(self.id, path, new, spans, line=line, created=note is None)
        finally:
            if note is not None:
                note.close()

    def _job(self, path: str, undoes: str | None, *, make: bool = False) -> Job:
        folder, name = self._folder(path, make=make)
        assert folder is not None
        if not make and not folder.may_write(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        record: Record = {
            "txn": self.id,
            "n": self._count,
            "time": self._store.now().isoformat(),
            "command": self.command,
            "actor": self._store.actor,
            "file": path,
        }
        if undoes:
            record["undoes"] = undoes
        if self._settles:
            record["settles"] = self._settles
        self._count += 1
        return Job(self._root, folder, name, self._store.exchange, self._store.journal, record, self._store.notices)

    def _folder(self, path: str, *, make: bool = False) -> tuple[Folder | None, str]:
        """The folder that a note is in, opened beneath the vault; None if it isn't there."""
        *parents, name = steps(path)
        folder = self._root
        for count in range(1, len(parents) + 1):
            key = tuple(parents[:count])
            if key not in self._folders:
                try:
                    found = folder.child(key[-1])
                except FileNotFoundError:
                    if not make:
                        return None, name
                    folder.make(key[-1])
                    found = folder.child(key[-1])
                self._folders[key] = found
            folder = self._folders[key]
        return folder, name

    def _read(self, path: str, *, keep: bool = True) -> Note | None:
        folder, name = self._folder(path)
        if folder is None:
            return None
        return read_note(folder, name, leases=self._store.exchange.leases, keep=keep, trusted=self._trusted)

    def _appears(self, path: str) -> bool:
        """Whether a note that wasn't there is there a moment later."""
        time.sleep(GONE_WAIT)
        note = self._read(path, keep=False)
        return note is not None

    def _settle(self) -> None:
        """Settle the last write of the journal if it is unfinished: another process's, or one of ours that failed."""
        journal = self._store.journal
        record = journal.left
        if record is None:
            return
        ok, left, notices = False, False, []
        try:
            folder, name = self._folder(str(record["file"]))
            if folder is not None:
                settled = settle(self._root, folder, name, record, self._store.exchange)
                ok, notices = settled.ok, settled.notices
        except (NotPlainError, PermissionError) as error:
            # One note that can't be reached must not keep all others from being written.
            left, notices = True, [f"{record['file']}: {record['command']} was cut off and can't be settled: {error}"]
        end = {"t": "end", "txn": record["txn"], "n": record["n"], "ok": ok, "line": 1, "recovered": True}
        if left:
            end["left"] = True
        journal.append([end], durable=True)
        journal.left = None
        self._store.notices += notices


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn what the system says into what a person can act on.

    Raises:
        UnwritableError: for any ``OSError`` inside; names the path.
    """
    try:
        yield
    except TarsError:
        raise
    except exchanges.UnsupportedError as error:
        raise UnwritableError(
            f"{path}: the file system can't exchange two files, so an edit could lose what you save meanwhile",
            "adding lines works here; edit this note by hand, or keep the vault on another file system",
        ) from error
    except OSError as error:
        said = error.strerror or str(error)
        raise UnwritableError(f"{path} can't be written: {said}", _hint(error.errno)) from error


def _hint(number: int | None) -> str:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk, then try again"
    if number in (errno.EACCES, errno.EPERM):
        return "check the owner and the rights of the note and its folder"
    if number == errno.EROFS:
        return "the file system is mounted read-only"
    if number == errno.EIO:
        return "the disk reported an error: check it, and your backup"
    return "try again; tars-memory doctor looks for the cause"
