"""One transaction: the notes it changes, under one lock and one name, each by the protocol that fits.

Made by :meth:`tars_memory.vault.writing.store.Store.transaction`. What the system says when it refuses becomes what a
person can act on (:func:`writing`).
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

from tars_memory.errors import ConflictError, NotFoundError, TarsError, UnwritableError, counted
from tars_memory.vault.folder import Folder, NotPlainError, OpenNote, digest, read_note, steps
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import Span
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import CONVERTED, WRONG_ENCODING, has_markers, is_narrow, wide_encoding
from tars_memory.vault.writing import protocol
from tars_memory.vault.writing.journal import Record, base_of, next_txn, prune, time_of
from tars_memory.vault.writing.protocol import Job
from tars_memory.vault.writing.system import UnsupportedError

if TYPE_CHECKING:
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.store import Store


__all__ = ["Plan", "Transaction", "Written", "writing"]

Plan = Callable[[bytes | None], Sequence[Splice]]
"""From the note's bytes to what shall change. Pure: called again on newer bytes if the note changed in the meantime.

For a note that isn't there it is given what the new note begins with, or None if that is nothing. It answers () for
nothing to do, and raises ConflictError or NotFoundError if its target isn't there.
"""

ATTEMPTS = 40
"""How often a write is planned again because somebody else saved the note in between."""

PATIENCE = 10.0
"""Seconds that a transaction spends on planning again, all its notes together, and once more on taking itself back.

Twice this is still less than the 30 s that another writer waits for the lock (``[store] lock_timeout``).
"""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""What the system says of a whole disk, not of one note: it passes, and half a transaction must not stay."""
GONE_WAIT = 0.05
"""Seconds to look again for a note that isn't there: some editors rename it away before they write it again."""


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
    """Turn what the system says into what a person can act on.

    Raises:
        UnwritableError: for any ``OSError`` inside; names the path.
    """
    try:
        yield
    except TarsError:
        raise
    except UnsupportedError as error:
        raise UnwritableError(
            f"{path}: the file system can't exchange two files, so an edit could lose what you save meanwhile",
            "adding lines works here; edit this note by hand, or keep the vault on another file system",
        ) from error
    except OSError as error:
        said = error.strerror or str(error)
        other = error.filename if isinstance(error.filename, str) and os.path.isabs(error.filename) else path
        raise UnwritableError(f"{other} can't be written: {said}", _hint(error.errno)) from error


def _hint(number: int | None) -> str:
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk, then try again"
    if number in (errno.EACCES, errno.EPERM):
        return "check the owner and the rights of that file and its folder"
    if number == errno.EROFS:
        return "the file system is mounted read-only"
    if number == errno.EFBIG:
        return "this process may not write a file of that size: ulimit -f"
    if number == errno.EIO:
        return "the disk reported an error: check it, and your backup"
    return "try again; tars-memory doctor looks for the cause"


class Transaction:
    """Writes under one lock and one name. Made by :meth:`Store.transaction`.

    Attributes:
        id: its name; sorts by time.
        command: as given.
        written: what was done so far.
    """

    def __init__(self, store: Store, root: Folder, command: str, settles: str | None, *, atomic: bool = False) -> None:
        self.id = ""
        self.command = command
        self.written: list[Written] = []
        self._store = store
        self._root = root
        self._settles = settles
        self._whole = atomic
        self._taking_back: str | None = None
        self._marked = False
        self._count = 0
        self._folders: dict[tuple[str, ...], Folder] = {(): root}
        self._made: set[tuple[str, ...]] = set()
        self._trusted: str | None = None
        self._seen: set[str] = set()
        self._planned: dict[str, bytes | None] = {}
        self._patience = PATIENCE

    def begin(self) -> None:
        """Open the journal and settle an unfinished write. The store calls this."""
        store, journal = self._store, self._store.journal
        with writing(os.fspath(journal.folder)):
            now = store.now()
            last = journal.open(now)
            if journal.cut:
                said = f"the journal {journal.folder} ended within a line, as a crash leaves it: the last"
                said += f" {counted(journal.cut, 'byte')} are taken out, and a write may be missing from history"
                store.notices.append(said)
            self._settle()
            cut = journal.cut_off(last)
            if cut:
                self.id = next_txn(now, str(last["txn"]) if last else None)
                self._take_back_cut(cut)
                last = {"txn": self.id}
            if last is not None and journal.begins_file:
                # A clock that jumps ahead must not cost the history: a month after the last write at most is believed.
                prune(
                    journal,
                    min(now, time_of(str(last["txn"])) + timedelta(days=31)),
                    store.options.journal_days,
                )
        self.id = next_txn(now, str(last["txn"]) if last else None)

    @contextlib.contextmanager
    def whole_or_nothing(self) -> Iterator[None]:
        """If this transaction is to stand whole, take its writes back when what is done in it fails."""
        try:
            yield
        except BaseException as error:
            if self._whole and self._count and not self._store.dry_run:
                self._take_back(self.id)
            if isinstance(error, Exception):
                self._settle_last()
            raise
        if self._whole and (self._count or self._marked):
            self._settle()  # a file of ours that could not be removed must not hide its write behind the mark
            self.mark(done=True)
        self._settle_last()

    def _settle_last(self) -> None:
        """Settle the last write, if a file of ours could not be removed: undo must know it now, not after the next."""
        with contextlib.suppress(OSError, TarsError):  # the next writer does it
            self._settle()

    def stand_whole(self) -> None:
        """From the next write on: all of them or none, see :meth:`Store.transaction`."""
        self._whole = True

    def _take_back_cut(self, name: str) -> None:
        """Take back what a killed process wrote of a transaction that was to stand whole; a kill here does no harm."""
        command, self.command, self._taking_back = self.command, "recover", name
        try:
            self._take_back(name)
        finally:
            self.command, self._taking_back = command, None
            self._count = 0
            self.written.clear()
        self._store.notices.append(f"{name} was cut off and is taken back: do it again")

    def _take_back(self, name: str) -> None:
        """Take back what was written of a transaction; where there is no room for that, the next writer does it.

        Doing it again after a kill changes nothing more. A note that has moved on too far keeps what was written; a
        notice says so.

        Raises:
            UnwritableError: another one is taken back, and there is no room for it now.
        """
        from tars_memory.vault.writing.history import transactions

        self._patience = PATIENCE
        journal, notices, kept = self._store.journal, self._store.notices, []
        found, group = next(((txn, entries) for txn, entries in transactions(journal) if txn <= name), ("", []))
        try:
            for entry in reversed([entry for entry in group if found == name and entry.undoes != name]):
                try:
                    self.take_back(entry, name)
                except (TarsError, OSError) as error:
                    is_held = isinstance(error, UnwritableError) and name == self.id
                    if is_held or getattr(error.__cause__, "errno", None) in NO_ROOM:
                        raise
                    kept.append(f"{entry.file} keeps what {name} wrote, which could not be taken back: {error}")
            notices += kept
            self._settle()
            self.mark(name, done=True)
        except UnwritableError as error:
            if self._taking_back:
                raise
            if self.written:
                notices.append(f"what {name} wrote is taken back by the next write: {error.message}")

    def take_back(self, entry: JournalEntry, undoes: str | None = None) -> None:
        """Take one write back.

        Args:
            entry: the write.
            undoes: the transaction that is taken back by it; None for the write's own.

        Raises:
            ConflictError: the note has moved on too far, or the text was forgotten for good.
            UnwritableError: the note can't be written.
        """
        record, undoes = entry.record, undoes or entry.txn
        if entry.purged:
            raise ConflictError(f"the text of {entry.txn} was forgotten for good", "it can't be undone")
        if entry.op == "remove":
            attributes = (int(record["dress"][0]), int(record["dress"][1])) if "dress" in record else None
            self.write(
                entry.file, entry.back, create=base_of(record), undoes=undoes, restore=True, attributes=attributes
            )
        elif entry.op != "create" or not self.remove(entry.file, record["new"], undoes=undoes):
            self.write(entry.file, entry.back, undoes=undoes)
        elif not self._store.dry_run:
            self._unmake(entry.file, record.get("folders", 0))

    def _unmake(self, path: str, count: int) -> None:
        """Remove the innermost folders of a note, as many as were made for it, as far as nothing is in them."""
        parents = tuple(path.split("/")[:-1])
        with contextlib.suppress(OSError, TarsError):
            for depth in range(len(parents), len(parents) - count, -1):
                self._let_go(parents[:depth])
                folder, name = self._folder("/".join(parents[:depth]))
                if folder is not None:
                    folder.remove_empty(name)

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
        self,
        path: str,
        plan: Plan,
        *,
        create: bytes = b"",
        undoes: str | None = None,
        restore: bool = False,
        attributes: tuple[int, int] | None = None,
    ) -> Written:
        """Change one note, or make it.

        Args:
            path: relative to the vault, with ``/``.
            plan: what to change; also called for a note that isn't there.
            create: the text that a new note begins with; the plan is called on it.
            undoes: the transaction that this write takes back.
            restore: make the note even if the plan leaves ``create`` as it is.
            attributes: mode and time of modification (ns) that a new note takes from the one it stands for.

        Raises:
            ConflictError: the plan's target changed, or the note changed again and again.
            UnwritableError: the note can't be written; it is as it was.
        """
        with writing(path):
            tried: list[tuple[bytes, Sequence[Span]]] = []
            for _ in self._attempts():
                written = self._attempt(path, plan, create, undoes, restore, attributes, tried)
                if written is not None:
                    break
            else:
                last = self.read(path)
                written = None if last is None else self._known(path, last, tried, undoes)
            if written is not None:
                if written.changed:
                    self.written.append(written)
                return written
        raise ConflictError(f"{path} changes faster than it can be written", "try again when the other program rests")

    def vouch(self, path: str, lines: Collection[bytes]) -> Written:
        """Say in the journal who stands by lines as they are; no byte of the note changes.

        Args:
            path: relative to the vault.
            lines: without their endings; each counts wherever it stands below the properties.

        Raises:
            ConflictError: one of them does not stand there (any more).
            UnwritableError: the note can't be read, or the journal can't be written.
        """
        data = self.read(path) or b""
        document = Document(data)
        below = ((line.start, line.next) for line in document.lines[document.body_line - 1 :])
        found = [Splice(start, end, data[start:end]) for start, end in below if edits.bare(data[start:end]) in lines]
        if not set(lines) <= {edits.bare(splice.data) for splice in found}:
            raise ConflictError(f"{path} changed: a line is not there any more", "look again")
        spans = edits.spans_of(data, found)
        if not self._store.dry_run and spans:
            with writing(path):
                job = self._job(path, None)
                job.begin("edit", spans, data, data)
                job.end(True, edits.first_changed_line(data, spans))
            self.written.append(Written(self.id, path, data, spans, line=edits.first_changed_line(data, spans)))
        return Written("" if self._store.dry_run else self.id, path, data, spans)

    def remove(self, path: str, expected: str, *, undoes: str | None = None) -> Written | None:
        """Remove a note if it still has this SHA-256; None if it hasn't."""
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
        raise ConflictError(f"{path} changes faster than it can be removed", "try again when the other program rests")

    def remove_empty(self, path: str) -> None:
        """Remove a folder, and those in it, as far as nothing is in them; the last act of a transaction.

        No note changes by it, so the journal needn't know; an undo makes the folders again.
        """
        if self._store.dry_run:
            return
        with contextlib.suppress(OSError, TarsError):
            folder, name = self._folder(path)
            inner = folder.child(name) if folder else None
            if folder is None or inner is None:
                return
            try:
                for each in os.listdir(inner.fd if inner.fd is not None else inner.path):
                    if (found := inner.look(each)) is not None and stat.S_ISDIR(found.st_mode):
                        self.remove_empty(f"{path}/{each}")
            finally:
                inner.close()
            self._let_go(tuple(path.split("/")))
            folder.remove_empty(name)

    def _let_go(self, path: tuple[str, ...]) -> None:
        """Close a folder and those below it, which may be removed."""
        for key in [key for key in self._folders if key[: len(path)] == path]:
            self._folders.pop(key).close()

    def mark(self, undoes: str | None = None, *, done: bool = False) -> None:
        """Say something in the journal beside the writes.

        Args:
            undoes: a transaction that is taken back, though perhaps nothing was left to write for it.
            done: that this transaction, which is to stand whole, is complete.
        """
        if self._store.dry_run:
            return
        record: Record = {"t": "mark", "txn": self.id}
        if undoes:
            record["undoes"] = undoes
        if self._whole or self._taking_back:
            record["whole"] = self._taking_back or self.id
        if done:
            record["done"] = True
        self._marked = True
        with writing(os.fspath(self._store.journal.folder)):
            self._store.journal.append([record], durable=True)

    def _attempts(self) -> Iterator[None]:
        """Yield once per attempt; failed attempts count against the transaction's time budget."""
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            if attempt:  # give whoever saves the note time to end
                time.sleep(min(0.002 * attempt, 0.05))
            self._settle()  # what the attempt before may have left
            yield
            self._patience -= time.monotonic() - began
            if self._patience <= 0:
                return

    def _attempt(
        self,
        path: str,
        plan: Plan,
        create: bytes,
        undoes: str | None,
        restore: bool,
        attributes: tuple[int, int] | None,
        tried: list[tuple[bytes, Sequence[Span]]],
    ) -> Written | None:
        """One attempt; None if somebody else was faster: what it would have written is put into ``tried``."""
        note = self._read(path)
        if note is not None:
            self._seen.add(path)
        elif path in self._seen and self._appears(path):
            return None
        try:
            base = note.data if note else create
            _check_resolved(path, base)
            known = self._known(path, base, tried, undoes) if tried and note is not None else None
            splices = () if known else self._planned_splices(path, plan, base if note or create else None, note)
            if known is not None or splices is None:
                return known
            payload = edits.appended(base, splices)
            if payload is not None:
                splices = [Splice(len(base), len(base), payload)]
            if undoes is None:
                _check_mixed(path, base, splices)
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
                tried.append((base, spans))
                return None
            self._trusted = digest(new)
            return Written(self.id, path, new, spans, line=line, created=note is None)
        finally:
            if note is not None:
                note.close()

    def _planned_splices(
        self, path: str, plan: Plan, base: bytes | None, note: OpenNote | None
    ) -> Sequence[Splice] | None:
        """What the plan says of a note; None if it finds no target because the note is only coming into being."""
        try:
            return list(plan(base))
        except (NotFoundError, ConflictError):
            if note is not None or not self._appears(path):
                raise
            return None

    def _known(
        self, path: str, text: bytes, tried: Sequence[tuple[bytes, Sequence[Span]]], undoes: str | None
    ) -> Written | None:
        """A write of ours that was taken back, but which another program had read and has saved by now; None for none.

        It is journalled as what it is, ours: else it could be neither undone nor explained.
        """
        spans = next((spans for before, spans in tried if edits.arrived(text, before, spans)), None)
        if spans is None:
            return None
        old = text
        with contextlib.suppress(ConflictError):  # it is there several times: as it was meant to be written
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
        folder, name = self._folder(path, make=make)
        assert folder is not None
        if not make and not folder.may_write(name) and folder.look(name) is not None:
            number = errno.EROFS if folder.is_read_only() else errno.EACCES
            raise OSError(number, os.strerror(number), path)
        record: Record = {
            "txn": self.id,
            "n": self._count,
            "time": self._store.now().isoformat(),
            "command": self.command,
            "actor": self._store.actor,
            "file": path,
        }
        parents = path.split("/")[:-1]
        if folders := sum(tuple(parents[:depth]) in self._made for depth in range(1, len(parents) + 1)):
            record["folders"] = folders
        if undoes:
            record["undoes"] = undoes
        if self._whole or self._taking_back:
            record["whole"] = self._taking_back or self.id
        if self._settles:
            record["settles"] = self._settles
        if self._store.night:
            record["night"] = self._store.night
        if self._store.tick is not None:
            record["tick"] = self._store.tick
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
                    self._made.add(key)
                    found = folder.child(key[-1])
                self._folders[key] = found
            folder = self._folders[key]
        return folder, name

    def _read(self, path: str, *, keep: bool = True) -> OpenNote | None:
        if path in self._planned:  # only in a dry run
            planned = self._planned[path]
            return None if planned is None else OpenNote(planned, os.stat(self._store.root), None, False)
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
                settled = protocol.settle(self._root, folder, name, record, self._store.exchange)
                ok, notices = settled.ok, settled.notices
        except (NotPlainError, PermissionError) as error:
            # One note that can't be reached must not keep all others from being written.
            left, notices = True, [f"{record['file']}: {record['command']} was cut off and can't be settled: {error}"]
        end = {**protocol.ending(record, ok), "recovered": True}
        if left:
            end["left"] = True
        journal.append([end], durable=True)
        journal.left = None
        self._store.notices += notices


def _check_resolved(path: str, data: bytes) -> None:
    """Nothing is written into a note while two versions of it stand in there, or of UTF-16.

    Raises:
        UnwritableError: they do.
    """
    if wide := wide_encoding(data):
        raise UnwritableError(WRONG_ENCODING.format(path, wide), CONVERTED)
    if has_markers(data):
        hint = "choose between the two versions there first"
        raise UnwritableError(f"{path} holds unresolved conflict markers (<<<<<<<)", hint)


def _check_mixed(path: str, data: bytes, splices: Sequence[Splice]) -> None:
    """A note of another encoding takes nothing that would make a mixture of two encodings of it.

    Raises:
        UnwritableError: it would.
    """
    if all(splice.data.isascii() for splice in splices) or not is_narrow(data):
        return
    said = (
        f"{path} is not UTF-8, so what is not ASCII can't be written into it: editors could read only half of it then"
    )
    raise UnwritableError(said, CONVERTED)
