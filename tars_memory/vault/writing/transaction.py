"""One transaction: writes of notes under one lock and one name, each by the protocol that fits.

Made by :meth:`tars_memory.vault.writing.store.Store.transaction`. :func:`writing` turns errors of the operating system
into errors that a person can act on.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from tars_memory.errors import ConflictError, NotFoundError, TarsError, UnwritableError, UsageError, counted
from tars_memory.vault.folder import Folder, NotPlainError, OpenNote, digest, read_note, steps
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import Span
from tars_memory.vault.model import Splice
from tars_memory.vault.suspicion import wide_encoding
from tars_memory.vault.vault import CONVERTED, DOWNLOAD, NOT_DOWNLOADED, WRONG_ENCODING, has_markers, is_other_encoding
from tars_memory.vault.writing import protocol
from tars_memory.vault.writing.journal import OPPOSITE, Record, base_of, next_txn, prune, time_of
from tars_memory.vault.writing.protocol import Job
from tars_memory.vault.writing.system import UnsupportedError

if TYPE_CHECKING:
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.store import Store


__all__ = ["Plan", "Transaction", "Written", "writing"]

Plan = Callable[[bytes | None], Sequence[Splice]]
"""A function from the note's bytes to splices. Pure: called again on newer bytes if the note changed in the meantime.

For a missing note it gets the text that the new note begins with, or None if that is empty. It returns () if there is
nothing to do, and raises ConflictError or NotFoundError if its target is missing.
"""

ATTEMPTS = 40
"""Maximum number of attempts at one write, each planned again because another program saved the note meanwhile."""

TIME_BUDGET = 10.0
"""Seconds that a transaction may spend on attempts, over all its notes, and once more on rolling itself back.

Twice this is still less than the 30 s that another writer waits for the lock (``[store] lock_timeout``).
"""

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Errors of a whole disk, not of one note: they are temporary, and half a transaction must not stay."""

GONE_WAIT = 0.05
"""Seconds before looking again for a missing note: some editors rename a note away before they write it again."""


class Written:
    """The result of one write.

    Attributes:
        txn: name of the transaction; empty if nothing was written.
        path: the note's path relative to the vault.
        line: 1-based number, in the new text, of the first changed line that isn't blank.
        before: the changed lines before the write.
        after: the changed lines after it.
        text: the whole note after it.
        changed: whether anything was written (in a dry run: would be).
        created: whether the note is new.
        op: of :data:`~tars_memory.vault.writing.journal.OPPOSITE`, if no note was changed; else empty.
    """

    op = ""

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


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn an error of the operating system into one that a person can act on.

    Args:
        path: the file to name if the error names none itself.

    Raises:
        UnwritableError: for any ``OSError`` inside; names the path.
    """
    try:
        yield
    except UnsupportedError as error:
        raise UnwritableError(
            f"{path}: the file system can't exchange two files, so an edit could lose what you save meanwhile",
            "adding lines works here; edit this note by hand, or keep the vault on another file system",
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        hint = _HINTS.get(error.errno or 0, "try again; tars-memory doctor looks for the cause")
        named = error.filename if isinstance(error.filename, str) and os.path.isabs(error.filename) else path
        raise UnwritableError(f"{named} can't be written: {reason}", hint) from error


_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room on the disk (df -h; for files, df -i), then try again"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "check the owner and the permissions of that file and its folder"),
    errno.EROFS: "the file system is mounted read-only",
    errno.EFBIG: "this process may not write a file of that size: ulimit -f",
    errno.EIO: "the disk reported an error: check it, and your backup",
}
"""What to do about an error of the operating system, by its ``errno``."""


class Transaction:
    """Writes under one lock and one name. Made by :meth:`Store.transaction`.

    Args:
        store: of the vault.
        root: the vault's folder, open.
        command: the command that history shows.
        settles: the spool item that is being placed; None for none.
        atomic: roll all writes back if the transaction fails.

    Attributes:
        id: the transaction's name; sorts by time.
        command: the command that history shows.
        written: the writes so far.
    """

    def __init__(self, store: Store, root: Folder, command: str, settles: str | None, *, atomic: bool = False) -> None:
        self.id = ""
        self.command = command
        self.written: list[Written] = []
        self._store = store
        self._root = root
        self._settles = settles
        self._atomic = atomic
        self._rolling_back: str | None = None
        self._marked = False
        self._count = 0
        self._folders: dict[tuple[str, ...], Folder] = {(): root}
        self._made_folders: set[tuple[str, ...]] = set()
        self._trusted: str | None = None
        self._seen: set[str] = set()
        self._planned: dict[str, bytes | None] = {}
        self._time_left = TIME_BUDGET

    @property
    def _whole(self) -> str:
        """The atomic transaction that a write or mark is part of; empty for none."""
        return self._rolling_back or (self.id if self._atomic else "")

    def begin(self) -> None:
        """Open the journal and settle an unfinished write. The store calls this."""
        store, journal = self._store, self._store.journal
        with writing(os.fspath(journal.folder)):
            now = store.now
            last = journal.open(now)
            if journal.cut_bytes:
                notice = f"the journal {journal.folder} ended within a line, as a crash leaves it: the last"
                notice += f" {counted(journal.cut_bytes, 'byte')} are removed, and a write may be missing from history"
                store.notices.append(notice)
            self._settle()
            cut = journal.interrupted_transaction(last)
            if cut:
                self.id = next_txn(now, str(last["txn"]) if last else None)
                self._roll_back_interrupted(cut)
                last = {"txn": self.id}
            if last is not None and journal.begins_file:
                # A clock that jumps ahead must not cost the history: "now" is at most a month after the last write.
                prune(journal, min(now, time_of(str(last["txn"])) + timedelta(days=31)), store.options.journal_days)
        self.id = next_txn(now, str(last["txn"]) if last else None)

    @contextlib.contextmanager
    def rolled_back_on_failure(self) -> Iterator[None]:
        """Roll back an atomic transaction if the ``with`` block fails; else mark it as done in the journal."""
        try:
            yield
        except BaseException as error:
            if self._atomic and self._count and not self._store.dry_run:
                self._roll_back(self.id)
            if isinstance(error, Exception):
                self._try_to_settle()
            raise
        if self._atomic and (self._count or self._marked):
            self._settle()  # an unfinished write (a file of ours that can't be removed) must not lie behind the mark
            self.mark(done=True)
        self._try_to_settle()

    def _try_to_settle(self) -> None:
        """Settle the last write if a file of ours could not be removed, so that undo knows it at once."""
        with contextlib.suppress(OSError, TarsError):  # then the next writer settles it
            self._settle()

    def make_atomic(self) -> None:
        """Make the transaction atomic from the next write on; see :meth:`Store.transaction`."""
        self._atomic = True

    def _roll_back_interrupted(self, name: str) -> None:
        """Roll back an atomic transaction that a kill cut off; being killed in here does no harm."""
        command, self.command, self._rolling_back = self.command, "recover", name
        try:
            self._roll_back(name)
        finally:
            self.command, self._rolling_back = command, None
            self._count = 0
            self.written.clear()
        self._store.notices.append(f"{name} was interrupted and is undone: do it again")

    def _roll_back(self, name: str) -> None:
        """Undo the writes of a transaction; if the disk has no room for that, the next writer does it.

        Repeating it after a kill changes nothing more. A note that has changed too much keeps what was written, and a
        notice says so.

        Raises:
            UnwritableError: the transaction is not this one, and its writes can't be undone now.
        """
        from tars_memory.vault.writing.history import transactions
        from tars_memory.vault.writing.withheld import Withheld

        self._time_left = TIME_BUDGET
        journal, notices, failures = self._store.journal, self._store.notices, []
        newest, group = next(((txn, entries) for txn, entries in transactions(journal) if txn <= name), ("", []))
        try:
            for entry in reversed([entry for entry in group if newest == name and entry.undoes != name]):
                try:
                    self.undo_write(entry, name)
                except (TarsError, OSError) as error:
                    is_ours_blocked = isinstance(error, UnwritableError) and name == self.id
                    if is_ours_blocked or getattr(error.__cause__, "errno", None) in DISK_ERRORS:
                        raise
                    failures.append(f"{entry.file} keeps what {name} wrote, which could not be undone: {error}")
            notices += failures
            self._settle()
            self.mark(name, done=True)
            with contextlib.suppress(OSError, TarsError):  # else too much is withheld
                Withheld(self._store.state).drop({name})
        except UnwritableError as error:
            if self._rolling_back:
                raise
            if self.written:
                notices.append(f"the next write undoes what {name} wrote: {error.message}")

    def undo_write(self, entry: JournalEntry, undoes: str | None = None) -> None:
        """Undo one write.

        Args:
            entry: the write.
            undoes: the transaction that is recorded as undone; None for the write's own.

        Raises:
            ConflictError: the note has changed too much, or the text was forgotten for good.
            UnwritableError: the note can't be written.
        """
        record, undoes = entry.record, undoes or entry.txn
        if entry.op in OPPOSITE and not entry.purged:
            self.record(OPPOSITE[entry.op], entry.file, entry.line, undoes=undoes, project=record.get("project", ""))
            return
        if entry.purged:
            message = f"the text of {entry.txn} was forgotten for good: it can't be undone"
            raise ConflictError(message, "tars-memory history lists others, and tars-memory undo TXN undoes one")
        if entry.op == "remove":
            attributes = (int(record["dress"][0]), int(record["dress"][1])) if "dress" in record else None
            self.write(
                entry.file,
                entry.undo_splices,
                create=base_of(record),
                undoes=undoes,
                restore=True,
                attributes=attributes,
            )
        elif entry.op != "create" or not self.remove(entry.file, record["new"], undoes=undoes):
            if not self._remove_emptied(entry, undoes):
                self.write(entry.file, entry.undo_splices, undoes=undoes)
        elif not self._store.dry_run:
            self._remove_made_folders(entry.file, record.get("folders", 0))

    def _remove_emptied(self, entry: JournalEntry, undoes: str) -> Written | None:
        """Undo a write by removing its note if nothing else is left of it, and its creation was undone before.

        Returns:
            The removal; None if the note must stay.
        """
        from tars_memory.vault.writing.history import entries

        data = self.read(entry.file)
        if not data or entry.record["old"] == digest(b"") or apply(data, entry.undo_splices(data)):
            return None
        made = (each for each in entries(self._store.journal, path=entry.file) if each.op in ("create", "remove"))
        newest = next(made, None)
        if newest is None or newest.op == "remove" or not newest.undone:
            return None
        return self.remove(entry.file, digest(data), undoes=undoes)

    def _remove_made_folders(self, path: str, count: int) -> None:
        """Remove the innermost ``count`` folders of a note, which were made for it, if they are empty."""
        parents = tuple(path.split("/")[:-1])
        with contextlib.suppress(OSError, TarsError):
            for depth in range(len(parents), len(parents) - count, -1):
                self._close_folders(parents[:depth])
                folder, name = self._folder("/".join(parents[:depth]))
                if folder is not None:
                    folder.remove_empty(name)

    def close(self) -> None:
        """Close all folders and the journal. The store calls this."""
        for folder in self._folders.values():
            folder.close()
        self._store.journal.close()

    def read(self, path: str) -> bytes | None:
        """Return the note's bytes, read under the lock; None if there is no such note."""
        with writing(path):
            note = self._read(path, keep=False)
        return None if note is None else note.data

    def write(
        self,
        path: str,
        plan: Plan,
        *,
        create: bytes = b"",
        undoes: str | None = None,
        restore: bool = False,
        attributes: tuple[int, int] | None = None,
    ) -> Written:
        """Change a note, or create it if it is missing.

        Args:
            path: relative to the vault, with ``/``.
            plan: what to change; also called for a missing note.
            create: the text that a new note begins with; the plan is called on it.
            undoes: the transaction that this write undoes.
            restore: create the note even if the plan leaves ``create`` unchanged.
            attributes: mode and time of modification (ns) that a new note takes from the note that it replaces.

        Raises:
            ConflictError: the plan's target changed, or the note changed again and again.
            UnwritableError: the note can't be written; it is as it was.
        """
        with writing(path):
            failed: list[tuple[bytes, Sequence[Span]]] = []
            for _ in self._attempts():
                written = self._attempt(path, plan, create, undoes, restore, attributes, failed)
                if written is not None:
                    break
            else:
                last = self.read(path)
                written = None if last is None else self._recorded_late(path, last, failed, undoes)
            if written is not None:
                if written.changed:
                    self.written.append(written)
                return written
        raise ConflictError(
            f"{path} changes faster than it can be written", "try again when the other program has stopped saving it"
        )

    def vouch(self, path: str, lines: Collection[bytes]) -> Written:
        """Record in the journal that the writer vouches for lines as they are; no byte of the note changes.

        Args:
            path: relative to the vault.
            lines: without their endings; every occurrence below the properties counts.

        Raises:
            ConflictError: a line is not in the note (any more).
            UnwritableError: the note can't be read, or the journal can't be written.
        """
        data = self.read(path) or b""
        document = Document(data)
        body = ((line.start, line.next) for line in document.lines[document.body_line - 1 :])
        texts = (Splice(start, end, data[start:end]) for start, end in body)
        splices = [splice for splice in texts if edits.without_ending(splice.data) in lines]
        if not set(lines) <= {edits.without_ending(splice.data) for splice in splices}:
            raise ConflictError(f"{path} changed: a line is gone", "look again")
        spans = edits.spans_of(data, splices)
        if not self._store.dry_run and spans:
            with writing(path):
                job = self._job(path, None)
                job.begin("edit", spans, data, data)
                job.end(True, edits.first_changed_line(data, spans))
            self.written.append(Written(self.id, path, data, spans, line=edits.first_changed_line(data, spans)))
        return Written("" if self._store.dry_run else self.id, path, data, spans)

    def remove(self, path: str, expected: str, *, undoes: str | None = None) -> Written | None:
        """Remove a note if its bytes still have the SHA-256 ``expected``; return None if they don't."""
        with writing(path):
            for _ in self._attempts():
                note = self._read(path)
                if note is None:
                    return None
                try:
                    if digest(note.data) != expected:
                        return None
                    if self._store.dry_run:
                        self._planned[path] = None
                    elif not protocol.remove(self._job(path, undoes), note):
                        continue
                finally:
                    note.close()
                written = Written(self.id, path, b"", [Span(0, note.data, b"", None, None)])
                self.written.append(written)
                return written
        raise ConflictError(
            f"{path} changes faster than it can be removed", "try again when the other program has stopped saving it"
        )

    def remove_empty(self, path: str) -> None:
        """Remove a folder and those in it, as far as they hold no files. Call it last in a transaction.

        It changes no note, so the journal does not record it; an undo makes the folders again.
        """
        if self._store.dry_run:
            return
        with contextlib.suppress(OSError, TarsError):
            folder, name = self._folder(path)
            inner = folder.child(name) if folder else None
            if folder is None or inner is None:
                return
            try:
                for child in os.listdir(inner.fd if inner.fd is not None else inner.path):
                    if (found := inner.look(child)) is not None and stat.S_ISDIR(found.st_mode):
                        self.remove_empty(f"{path}/{child}")
            finally:
                inner.close()
            self._close_folders(tuple(path.split("/")))
            folder.remove_empty(name)

    def _close_folders(self, path: tuple[str, ...]) -> None:
        """Close a folder and those below it, so that they can be removed."""
        for key in [key for key in self._folders if key[: len(path)] == path]:
            self._folders.pop(key).close()

    def record(self, op: str, file: str, line: int, *, undoes: str | None = None, project: str = "") -> Written:
        """Journal a write that changes no note, for ``history`` and ``undo``, in one record: a kill leaves none half.

        Args:
            op: of :data:`~tars_memory.vault.writing.journal.OPPOSITE`.
            file: the log of a conversation, absolute.
            line: of the log.
            undoes: the transaction that this write undoes.
            project: in which it is written; empty for none.
        """
        record = {"t": "mark", **self._record(file, undoes), "op": op, "spans": [], "line": line}
        record |= {"project": project} if project else {}
        if not self._store.dry_run:
            with writing(os.fspath(self._store.journal.folder)):
                self._store.journal.append([record], durable=True)
        written = Written("" if self._store.dry_run else self.id, file, b"", line=line)
        written.op, written.changed = op, True
        self.written.append(written)
        return written

    def mark(self, undoes: str | None = None, *, done: bool = False) -> None:
        """Append a ``mark`` record to the journal.

        Args:
            undoes: a transaction that counts as undone, though perhaps nothing was left to write for it.
            done: this atomic transaction is complete.
        """
        if self._store.dry_run:
            return
        record: Record = {"t": "mark", "txn": self.id}
        if undoes:
            record["undoes"] = undoes
        if self._whole:
            record["whole"] = self._whole
        if done:
            record["done"] = True
        self._marked = True
        with writing(os.fspath(self._store.journal.folder)):
            self._store.journal.append([record], durable=True)

    def _attempts(self) -> Iterator[None]:
        """Yield once per attempt; failed attempts count against the transaction's time budget."""
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            if attempt:  # give the program that saves the note time to finish
                time.sleep(min(0.002 * attempt, 0.05))
            self._settle()  # the previous attempt may have left a write unfinished
            yield
            self._time_left -= time.monotonic() - began
            if self._time_left <= 0:
                return

    def _attempt(
        self,
        path: str,
        plan: Plan,
        create: bytes,
        undoes: str | None,
        restore: bool,
        attributes: tuple[int, int] | None,
        failed: list[tuple[bytes, Sequence[Span]]],
    ) -> Written | None:
        """Try to write a note once.

        The arguments are those of :meth:`write`; ``failed`` has text and spans of the attempts that another program
        overtook, and this one is added if that happens again.

        Returns:
            The write; None if another program saved the note meanwhile.
        """
        note = self._read(path)
        if note is not None:
            self._seen.add(path)
        elif path in self._seen and self._appears_soon(path):
            return None
        try:
            base = note.data if note else create
            _refuse_unwritable_text(path, base)
            _refuse_long(path, new=note is None and undoes is None)
            recorded = None if note is None else self._recorded_late(path, base, failed, undoes)
            splices = () if recorded else self._planned_splices(path, plan, base if note or create else None, note)
            if recorded is not None or splices is None:
                return recorded
            payload = edits.append_bytes(base, splices)
            if payload is not None:
                splices = [Splice(len(base), len(base), payload)]
            if undoes is None:
                _refuse_mixed_encoding(path, base, splices)
            new = apply(base, splices)
            if new == base and not (restore and note is None):
                return Written("", path, base)
            spans = edits.spans_of(base, splices)
            line = edits.first_changed_line(base, spans)
            if self._store.dry_run:
                self._planned[path] = new
                return Written("", path, new, spans, line=line, created=note is None)
            job = self._job(path, undoes, make=note is None)
            if note is None:
                done = protocol.create(job, base, new, spans, line, attributes)
            elif payload is not None:
                done = protocol.append(job, note, payload, spans, line)
            else:
                done = protocol.edit(job, note, new, spans, line)
            if not done:
                failed.append((base, spans))
                return None
            self._trusted = digest(new)
            return Written(self.id, path, new, spans, line=line, created=note is None)
        finally:
            if note is not None:
                note.close()

    def _planned_splices(
        self, path: str, plan: Plan, base: bytes | None, note: OpenNote | None
    ) -> Sequence[Splice] | None:
        """Return the plan's splices; None if it finds no target because another program is just creating the note."""
        try:
            return list(plan(base))
        except (NotFoundError, ConflictError):
            if note is not None or not self._appears_soon(path):
                raise
            return None

    def _recorded_late(
        self, path: str, text: bytes, failed: Sequence[tuple[bytes, Sequence[Span]]], undoes: str | None
    ) -> Written | None:
        """Record a failed attempt that is in the note after all: another program had read our text and then saved it.

        It is journalled as our write: else it could be neither undone nor explained.

        Args:
            path: relative to the vault.
            text: the note as it is now.
            failed: as for :meth:`_attempt`.
            undoes: as for :meth:`write`.

        Returns:
            The write; None if no attempt is in the text.
        """
        spans = next((spans for before, spans in failed if edits.holds_more_than(text, before, spans)), None)
        if spans is None:
            return None
        old = text
        with contextlib.suppress(ConflictError):  # the lines are there several times: keep the spans as planned
            back = edits.spans_of(text, edits.reversed_by_text(text, spans))
            old = apply(text, edits.splices_of(back))
            spans = edits.spans_of(old, edits.reversed_exactly(back))
        line = edits.first_changed_line(old, spans)
        job = self._job(path, undoes)
        job.begin("edit", spans, old, text)
        job.end(True, line)
        self._trusted = digest(text)
        return Written(self.id, path, text, spans, line=line)

    def _job(self, path: str, undoes: str | None, *, make: bool = False) -> Job:
        """Return the job for the next write of a note; with ``make`` its missing folders are made.

        Raises:
            OSError: the note is read-only.
        """
        folder, name = self._folder(path, make=make)
        assert folder is not None
        if not make and not folder.may_write(name) and folder.look(name) is not None:
            number = errno.EROFS if folder.is_read_only() else errno.EACCES
            raise OSError(number, os.strerror(number), path)
        record = self._record(path, undoes)
        return Job(self._root, folder, name, self._store.exchange, self._store.journal, record, self._store.notices)

    def _record(self, path: str, undoes: str | None) -> Record:
        """Return what each record of this transaction's next write says."""
        record: Record = {
            "txn": self.id,
            "n": self._count,
            "time": self._store.now.isoformat(),
            "command": self.command,
            "actor": self._store.actor,
            "file": path,
        }
        parents = path.split("/")[:-1]
        more = {
            "folders": sum(tuple(parents[:depth]) in self._made_folders for depth in range(1, len(parents) + 1)),
            "undoes": undoes,
            "whole": self._whole,
            "settles": self._settles,
            "night": self._store.night,
            "tick": self._store.tick,
        }
        self._count += 1
        return record | {name: value for name, value in more.items() if value not in (None, "", 0)}

    def _folder(self, path: str, *, make: bool = False) -> tuple[Folder | None, str]:
        """Return the note's folder, opened beneath the vault (None if it is missing), and the note's name in it."""
        *parents, name = steps(path)
        folder = self._root
        for count in range(1, len(parents) + 1):
            key = tuple(parents[:count])
            if key not in self._folders:
                try:
                    child = folder.child(key[-1])
                except FileNotFoundError:
                    if not make:
                        return None, name
                    folder.make(key[-1])
                    self._made_folders.add(key)
                    child = folder.child(key[-1])
                self._folders[key] = child
            folder = self._folders[key]
        return folder, name

    def _read(self, path: str, *, keep: bool = True) -> OpenNote | None:
        """Read a note, in a dry run as it is planned so far; see :func:`read_note`.

        Raises:
            UnwritableError: it is not on this device.
        """
        if path in self._planned:  # only in a dry run
            planned = self._planned[path]
            return None if planned is None else OpenNote(planned, os.stat(self._store.root), None, False)
        folder, name = self._folder(path)
        if folder is None:
            return None
        note = read_note(folder, name, leases=self._store.exchange.leases, keep=keep, trusted=self._trusted)
        if note is None and folder.lacks_download(name):  # made again, it would be a second one for iCloud
            raise UnwritableError(NOT_DOWNLOADED.format(path), DOWNLOAD)
        return note

    def _appears_soon(self, path: str) -> bool:
        """Whether a missing note is there after :data:`GONE_WAIT`."""
        time.sleep(GONE_WAIT)
        return self._read(path, keep=False) is not None

    def _settle(self) -> None:
        """Settle the last write of the journal if it is unfinished: another process's, or one of ours that failed."""
        journal = self._store.journal
        record = journal.unsettled
        if record is None:
            return
        ok, unreachable = False, False
        notices: list[str] = []
        try:
            folder, name = self._folder(str(record["file"]))
            if folder is not None:
                ok, notices = protocol.settle(self._root, folder, name, record, self._store.exchange)
        except (NotPlainError, PermissionError) as error:
            # One note that can't be reached must not keep all others from being written.
            unreachable = True
            notices = [f"{record['file']}: {record['command']} was interrupted and can't be completed: {error}"]
        end = {**protocol.end_record(record, ok), "recovered": True}
        if unreachable:
            end["left"] = True
        journal.append([end], durable=True)
        journal.unsettled = None
        self._store.notices += notices


MAX_PATH_BYTES = 600
"""Maximum bytes of a new note's path in the vault: with the vault's own it must fit into the 1,024 of macOS."""


def _refuse_long(path: str, *, new: bool) -> None:
    """Refuse the path of a note if it is new and could be made, step by step, but not opened by its path.

    Raises:
        UsageError: the path has more than :data:`MAX_PATH_BYTES`.
    """
    if new and (size := len(path.encode("utf-8", "surrogateescape"))) > MAX_PATH_BYTES:
        raise UsageError(
            f"{path[:40]}… is too long for a note's path: {counted(size, 'byte')}, at most {MAX_PATH_BYTES}",
            "use fewer folders, or shorter names",
        )


def _refuse_unwritable_text(path: str, data: bytes) -> None:
    """Refuse to write into a note that holds conflict markers, or is UTF-16 or UTF-32.

    Raises:
        UnwritableError: it does, or is.
    """
    if wide := wide_encoding(data):
        raise UnwritableError(WRONG_ENCODING.format(path, wide), CONVERTED)
    if has_markers(data):
        hint = "choose between the two versions there first"
        raise UnwritableError(f"{path} has unresolved conflict markers (<<<<<<<)", hint)


def _refuse_mixed_encoding(path: str, data: bytes, splices: Sequence[Splice]) -> None:
    """Refuse to write non-ASCII text into a note that is not UTF-8: it would mix two encodings.

    Raises:
        UnwritableError: the splices hold such text for such a note.
    """
    if all(splice.data.isascii() for splice in splices) or not is_other_encoding(data):
        return
    message = (
        f"{path} is not UTF-8, so non-ASCII text can't be written into it: editors could then read only half of it"
    )
    raise UnwritableError(message, CONVERTED)
