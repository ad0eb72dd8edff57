"""The only door for writes into the vault: lock, recovery, plan, protocol, journal, undo; and the spool.

A writer opens a :class:`WriteSession` and gives it changes or, for what only programs write, a :data:`Plan`: a pure
function from the note's bytes to splices. The note is read, planned on, written by the protocol that fits (a line at
the end is appended, anything else is an edit, a missing note is created), and planned on again if it changed
meanwhile. Nothing else in this program opens a note for writing.

Typed text that can't be written now (lock held, read-only, disk full) waits in the :class:`Spool`, in the state folder:
one JSON file per item, readable by its owner alone, durable before the command reports that it is kept. The next
command that writes places the items; :meth:`Spool.placing` makes sure that only one process does so, and each item
once.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tars_memory import disk, errors
from tars_memory.settings import StoreOptions
from tars_memory.vault.change import Change, Outcome, Planned, apply, reference_to, resulting_entry
from tars_memory.vault.folder import TEMP_SUFFIX, Folder, digest
from tars_memory.vault.layout import shipped
from tars_memory.vault.note import Note
from tars_memory.vault.suspicion import conversion
from tars_memory.vault.writing import protocol, system
from tars_memory.vault.writing.journal import OPPOSITE, Journal, is_text, replace_file
from tars_memory.vault.writing.transaction import Plan, Transaction, Written, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.history import JournalEntry, LostLine


__all__ = ["Landed", "Plan", "Store", "WriteSession", "Written"]

AnyTransaction = TypeVar("AnyTransaction", bound=Transaction)

LOOK_AGAIN = "look again: tars-memory list"


class Landed(NamedTuple):
    """The result of a change: where it landed.

    Attributes:
        outcome: whether it was applied, and why not.
        written: the write of its note.
        line: 1-based line of the entry that has the change's text now, whether or not this change wrote it; after a
            removal the first line that changed.
        ref: the entry's ref; empty if there is no entry.
    """

    outcome: Outcome
    written: Written
    line: int
    ref: str


class WriteSession(Transaction):
    """A transaction that applies changes to a vault's notes.

    Args:
        store: the store that opened it.
        root: the vault's folder, open.
        command: the command that history shows.
        vault: the vault whose notes are changed.
        settles: as for :meth:`Store.session`, as is ``atomic``.
    """

    def __init__(
        self, store: Store, root: Folder, command: str, vault: Vault, *, settles: str | None, atomic: bool
    ) -> None:
        super().__init__(store, root, command, settles, atomic=atomic)
        self._vault = vault
        self._last_plans: dict[str, tuple[bytes, Sequence[Change], Planned]] = {}

    @property
    def txn(self) -> str | None:
        """Name of the transaction, which ``undo`` takes; None until something is written."""
        return next((written.txn for written in self.written if written.txn), None)

    def note(self, path: str, data: bytes | None = None) -> Note:
        """Return a note as read under the lock, or with the text ``data`` instead; a missing note has no text."""
        return Note.of(self._vault.layout, path, self.read(path) if data is None else data)

    def retarget(self, entry: Entry, change: Change) -> Change:
        """Return the change with its entry identified in the present note: by its lines, numbered if repeated."""
        replaces, occurrence = reference_to(self.note(entry.path), entry)
        return change._replace(replaces=replaces, occurrence=occurrence)

    def change(
        self, changes: Sequence[Change], *, create: bytes | None = None, hint: str = LOOK_AGAIN, partly: bool = False
    ) -> list[Landed]:
        """Apply changes to one note, in one write.

        Args:
            changes: all with the same target.
            create: the text that a new note begins with; None for that of the vault template.
            hint: what to do if a change is rejected, for the error.
            partly: skip rejected changes instead of raising.

        Returns:
            Where each change landed, in order.

        Raises:
            ConflictError: a change is rejected, and nothing was written; or the note changed again and again.
            UnwritableError: the note can't be written; it is as it was.
        """
        path = changes[0].target
        planned: Planned | None = None

        def plan(data: bytes | None) -> Sequence[Splice]:
            nonlocal planned
            planned = self._planned_changes(path, changes, data or b"", "" if partly else hint)
            return planned.splices

        written = self.write(path, plan, create=self._initial_text(path) if create is None else create)
        assert planned is not None
        note = self.note(path, written.text)
        return [Landed(outcome, written, *resulting_entry(note, outcome, written.line)) for outcome in planned.outcomes]

    def plan(self, changes: Sequence[Change], *, hint: str = LOOK_AGAIN) -> None:
        """Check that :meth:`change` would apply the changes, before any other note is written.

        Raises:
            ConflictError: a change is rejected.
        """
        path = changes[0].target
        data = self.read(path)
        if data is None and any(change.op == "mark" for change in changes):
            raise errors.ConflictError(f"{path} is gone", hint)
        self._planned_changes(path, changes, self._initial_text(path) if data is None else data, hint)

    def _initial_text(self, path: str) -> bytes:
        """Return the vault template's text for a missing note; empty if the note exists."""
        return shipped(self._vault.layout.inner(path)) if self._vault.look(path) is None else b""

    def _planned_changes(self, path: str, changes: Sequence[Change], data: bytes, hint: str) -> Planned:
        """Plan changes of a note's text; the last plan of each note is cached.

        Raises:
            ConflictError: a change is rejected, and there is a ``hint``.
        """
        cached = self._last_plans.get(path)
        if cached is None or cached[:2] != (data, changes):
            cached = data, changes, apply(self.note(path, data), changes)
            self._last_plans[path] = cached
        planned = cached[2]
        rejected = (outcome.reason for outcome in planned.outcomes if outcome.status == "rejected")
        if hint and (reason := next(rejected, "")):
            raise errors.ConflictError(reason, hint)
        return planned

    def move(self, path: str, to: str) -> bool:
        """Move a note: create it at its new path with the same bytes, mode and time of modification, then remove it.

        These are two writes, which an undo takes back together. A kill in between leaves both notes, until the next
        writer takes an atomic session back; else repeating the move removes the old one.

        Args:
            path: the note, relative to the vault.
            to: its new path, relative to the vault.

        Returns:
            Whether it was moved. If not, both paths are as they were: the note is gone or has changed, or there is
            another text at ``to``.

        Raises:
            UnwritableError: the new note can't be created, or the old one can't be removed; both paths are as they
                were.
        """
        found, data = self._vault.look(path), self.read(path)
        if found is None or data is None:
            return False
        attributes = (found.st_mode & 0o7777, found.st_mtime_ns)
        written = self.write(to, lambda _: (), create=data, restore=True, attributes=attributes)
        if written.text != data:
            return False
        moved = False
        try:
            moved = self.remove(path, digest(data)) is not None
        except errors.TarsError:
            # Another process may have removed the old note after all; then the copy is the only one.
            if written.created and self._vault.look(path) is not None:
                self.remove(to, digest(data))
            raise
        if not moved and written.created:
            self.remove(to, digest(data))
        return moved


class Store:
    """Writes into one vault.

    Args:
        root: the vault's real path.
        state: its state folder; made at the first write.
        now: the instant of the command, aware, which its writes record.
        actor: who writes (:data:`tars_memory.vault.model.Actor`).
        options: how long to wait for another writer, how long to keep the journal.
        dry_run: plan and return results, but lock, journal and write nothing.
        exchange: the system's calls that replace files; tests pass one that lacks some.

    Attributes:
        journal: what was written.
        spool: what could not be written yet.
        notices: messages for the person.
        night: the name of the night's work, stored with each of its writes; empty outside it.
        tick: stored with each write that applies ticks of a note: ``recorded`` says since when it is known that an
            agent's process found them; None for other writes.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        now: datetime,
        actor: str,
        options: StoreOptions | None = None,
        dry_run: bool = False,
        exchange: system.Exchange | None = None,
    ) -> None:
        self.root = root
        self.state = state
        self.now = now
        self.actor = actor
        self.options = options or StoreOptions()
        self.dry_run = dry_run
        self.exchange = exchange or system.of_this_system()
        self.journal = Journal(state / "journal")
        self.spool = Spool(state / "spool")
        self.notices: list[str] = []
        self.night = ""
        self.tick: dict[str, str] | None = None

    def session(
        self, command: str, vault: Vault, *, settles: str | None = None, atomic: bool = False
    ) -> AbstractContextManager[WriteSession]:
        """Return a context manager that locks the vault, settles a killed process's write, and opens a session.

        Args:
            command: the command that history shows (``remember``).
            vault: the vault whose notes are changed.
            settles: the spool item that is being placed, so that it is placed only once.
            atomic: all of its writes or none: if the session fails or is killed, its writes are undone (after a kill
                by the next writer).

        Raises:
            BusyError: another process held the lock all the time.
            UnwritableError: the vault or the state folder can't be used.
        """
        return self._open(
            command, lambda root: WriteSession(self, root, command, vault, settles=settles, atomic=atomic)
        )

    def transaction(
        self, command: str, *, settles: str | None = None, atomic: bool = False
    ) -> AbstractContextManager[Transaction]:
        """Return a context manager like :meth:`session` for a writer that applies no :class:`Change`."""
        return self._open(command, lambda root: Transaction(self, root, command, settles, atomic=atomic))

    @contextlib.contextmanager
    def _open(self, command: str, make: Callable[[Folder], AnyTransaction]) -> Iterator[AnyTransaction]:
        """Lock the vault, begin the transaction that ``make`` returns for its open root, and close it at the end."""
        with contextlib.ExitStack() as stack:
            if not self.dry_run:
                lock = system.VaultLock(self.state / "lock", timeout=self.options.lock_timeout, command=command)
                stack.enter_context(lock.held())
            with writing(os.fspath(self.root)):
                root = Folder.open(self.root, handles=self.exchange.folder_handles)
            transaction = make(root)
            stack.callback(transaction.close)
            if not self.dry_run:
                transaction.begin()
            # Reads of the caller under the lock may fail as well.
            with writing(os.fspath(self.root)), transaction.rolled_back_on_failure():
                yield transaction

    def undo(self, txn: str | Sequence[str] | None = None, *, last: int = 1) -> list[Written]:
        """Undo transactions: those named, or the last ones still in force (undos do not count).

        All or none are undone. A note that is as the write left it gets its exact bytes back. In a note that changed
        since, the changed lines are looked for by their text and must be found exactly once. An undo can be undone by
        its name.

        Args:
            txn: one name or several; None for the last ones.
            last: number of transactions, if none is named.

        Raises:
            NotFoundError: there is no such transaction, or nothing left to undo.
            ConflictError: a note has changed too much; the message shows the change that can't be undone.
        """
        from tars_memory.vault.writing.history import find_transactions, none_undone, refuse_ambiguous

        with self.transaction("undo") as transaction:
            chosen = find_transactions(self.journal, txn, last)
            if sum(len(group) for _, group in chosen) > 1:
                transaction.make_atomic()
            for name, _ in chosen:
                self.journal.check_undamaged(name)
            names = [name for name, _ in chosen]
            for name, group in chosen:
                before = len(transaction.written)
                try:
                    for entry in reversed(group):
                        if entry.op not in OPPOSITE:
                            refuse_ambiguous(self.journal, entry, transaction.read(entry.file), names)
                        transaction.undo_write(entry)
                except errors.ConflictError as error:
                    raise none_undone(error, name, [other for other in names if other != name]) from error
                if len(transaction.written) == before:
                    transaction.mark(name)
            return list(transaction.written)

    def history(self, limit: int | None = None, path: str | None = None) -> Iterator[JournalEntry]:
        """Yield the writes that succeeded, newest first, read lazily from the journal's end; needs no lock."""
        from tars_memory.vault.writing.history import entries

        return entries(self.journal, limit, path)

    def lost_lines(self) -> list[LostLine]:
        """Return the lines that we wrote, did not remove, and that are no longer there; needs no lock."""
        from tars_memory.vault.writing.history import lost_lines

        return lost_lines(self.journal, self.root)

    def recover(self) -> list[str]:
        """Settle what a killed process left unfinished; returns notices about it."""
        before = len(self.notices)
        with self.transaction("recover"):
            return self.notices[before:]

    def pending(self) -> list[str]:
        """Messages about what the next writer has to settle; needs no lock. A write in progress looks the same."""
        record = self.journal.unfinished()
        if record is not None:
            return [f"{record['command']} {record['txn']} on {record['file']} was not finished"]
        cut = self.journal.interrupted_transaction(next(self.journal.records(), None))
        return [f"{cut} was not finished and will be undone"] if cut else []

    def leftovers(self) -> list[str]:
        """Paths of our files beside notes, relative to the vault, that belong to no write in progress.

        A power cut can bring such a file back after its removal, and one of another machine may have been synced here.
        Compare it with its note, then remove it. Needs no lock; walks the whole vault, for doctor.
        """
        record = self.journal.unfinished() or {}
        current = {record.get("temp"), protocol.aside_of(str(record.get("temp")))}
        paths: list[str] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", ".obsidian", ".trash")]
            paths += (
                os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")
                for name in names
                if name.startswith(".") and name.endswith((TEMP_SUFFIX, protocol.ASIDE_SUFFIX)) and name not in current
            )
        return sorted(paths)

    def is_own_leftover(self, name: str) -> bool:
        """Whether the journal says that we wrote what the left-over ``name`` holds, so that it is safe to remove."""
        folder, _, base = name.rpartition("/")
        try:
            found = digest(disk.read(self.root / name, self.root, most=disk.LARGEST_OWN) or b"")
        except errors.SettingsError:  # a pipe or a link with a name of ours
            return False
        return any(
            record.get("file", "").rpartition("/")[0] == folder
            and base in (record.get("temp"), protocol.aside_of(str(record.get("temp"))))
            and found in (record.get("old"), record.get("new"))
            for record in self.journal.records(lambda line: b'"temp":' in line)
        )

    def limbo(self) -> list[str]:
        """Names of files in ``.tars/limbo/``: saves that could be neither placed nor destroyed; a person must look."""
        try:
            return sorted(os.listdir(self.root.joinpath(*protocol.LIMBO)))
        except OSError:
            return []

    def set_aside(self, path: Path) -> Path:
        """Move the damaged lines of a journal file to a file beside it, under the lock; returns that file's path."""
        with self.transaction("doctor"), writing(os.fspath(self.journal.folder)):
            return self.journal.set_aside(path)

    def purge(self, texts: Sequence[str], txns: Collection[str] = ()) -> int:
        """Remove texts from the journal for good (``forget --everywhere``); writes that held them, or ``txns`` that
        withheld them, can't be undone.

        Returns:
            The number of records that held such a text.
        """
        from tars_memory.vault.writing.withheld import purge

        with self.transaction("purge"), writing(os.fspath(self.journal.folder)):
            return 0 if self.dry_run else purge(self.journal, texts, txns)


# --- the spool

REMOVALS = ("forget", "facts end", "facts remove")
"""Commands whose ``text`` only names the entry to remove."""

MAX_ITEM_BYTES = 1 << 30
"""Maximum size of an item's file in bytes; nobody typed a larger one."""

ELSEWHERE = "for another project, or for none"
"""All that messages say about an item that is not for the chosen project."""


def new_item() -> str:
    """Return a name for a spool item; names sort by time. A write with this name as ``settles`` has placed the item."""
    return f"{time.time_ns():020}-{os.urandom(4).hex()}"


def keep_aside(folder: Path, name: str, text: str) -> Path:
    """Keep words that no command can place by itself in a text file that only its owner can read.

    A newline ends them, but what is not UTF-8 stays as it came, to the byte: half a character more can't be converted.

    Args:
        folder: made if it is missing.
        name: the file's name without ``.txt``.
        text: the words.

    Returns:
        The file's path.

    Raises:
        UnwritableError: the words can't be kept; the message repeats them.
    """
    path = folder / f"{name}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = text.encode("utf-8", "surrogateescape")
        replace_file(path, data if conversion(data) else data + b"\n")
    except OSError as error:
        raise errors.UnwritableError.of_lost(text, f"{folder}: {error}") from error
    return path


class SpooledItem(NamedTuple):
    """One item of the spool.

    Attributes:
        id: the item's name; sorts by time.
        command: the command that was called.
        arguments: as given to :meth:`Spool.put`.
    """

    id: str
    command: str
    arguments: dict[str, Any]


class Spool:
    """The spool of one vault.

    Args:
        folder: in the state folder; made when something must wait.

    Attributes:
        refused: reasons why items could not be placed, by item.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.refused: dict[str, str] = {}

    def put(self, command: str, arguments: dict[str, Any], item: str | None = None) -> str:
        """Keep a call until its text can be written.

        Args:
            command: the command that was called.
            arguments: JSON with all that is needed to call it again. ``text`` is what was typed.
            item: the item's name; None for a new one (:func:`new_item`).

        Returns:
            The item's id.

        Raises:
            UnwritableError: the item can't be kept either; the message repeats the text.
        """
        item = item or new_item()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            data = json.dumps({"command": command, "arguments": arguments}).encode("ascii")
            replace_file(self.folder / f"{item}.json", data)
        except OSError as error:
            why = f"{self.folder}: {error.strerror or error}; fix that, then try again"
            if command in REMOVALS:
                raise errors.UnwritableError(f"{command} was not done, and can't be kept for later", why) from error
            typed = " ".join(str(arguments[name]) for name in ("title", "text") if arguments.get(name))
            raise errors.UnwritableError.of_lost(typed or json.dumps(arguments, ensure_ascii=False), why) from error
        return item

    def pending(self) -> list[SpooledItem]:
        """Items that wait, oldest first, without damaged files (see :meth:`damaged`)."""
        return [item for item in map(self._load, self._names()) if item is not None]

    def damaged(self) -> list[Path]:
        """Files that hold no valid item, for doctor."""
        return [self.folder / name for name in self._names() if self._load(name) is None]

    def remove(self, item: str) -> None:
        """Remove an item, placed or given up; harmless if it is gone."""
        (self.folder / f"{item}.json").unlink(missing_ok=True)

    def drop(self, item: SpooledItem, folder: Path) -> Path | None:
        """Give up an item and keep its words in a file in ``folder``.

        Returns:
            The file's path; None for an item without words to keep (a removal).

        Raises:
            UnwritableError: the words can't be kept; the item stays.
        """
        text = item.arguments.get("text")
        path = None
        if text and item.command not in REMOVALS:
            path = keep_aside(folder, f"{item.id}-{item.command.replace(' ', '-')}", text)
        self.remove(item.id)
        return path

    def set_aside(self, damaged: Path) -> Path:
        """Rename a damaged file so that the spool ignores it; what is left of its words stays in it.

        Raises:
            OSError: the file can't be renamed.
        """
        target = damaged.with_name(f"{damaged.name}.damaged")
        damaged.rename(target)
        return target

    def purge(self, holds: Callable[[dict[str, Any]], bool]) -> int:
        """Remove the items whose arguments hold forgotten words; returns their number.

        Args:
            holds: whether arguments, as given to :meth:`put`, hold such words.
        """
        found = [item for item in self.pending() if holds(item.arguments)]
        for item in found:
            self.remove(item.id)
        return len(found)

    @contextlib.contextmanager
    def placing(self, journal: Journal, recover: Callable[[], object] = lambda: None) -> Iterator[list[SpooledItem]]:
        """Yield the waiting items to this process alone; an empty list if another process is placing them.

        Place each item in a transaction with ``settles=item.id``, then :meth:`remove` it. Items that a killed process
        had placed, but not yet removed, are removed here.

        Args:
            journal: knows which items are placed.
            recover: settles what a killed process left unfinished; called before the journal is read, for it may turn
                out that an item had been placed.
        """
        if not self._names():
            yield []
            return
        from tars_memory.vault.writing.history import placed_items

        with contextlib.ExitStack() as stack:
            try:
                lock = system.VaultLock(self.folder / "lock", timeout=0, command="spool")
                stack.enter_context(lock.held())
            except (errors.BusyError, errors.UnwritableError):
                yield []
                return
            recover()
            items = []
            pending = self.pending()
            placed = placed_items(journal, {item.id for item in pending})
            for item in pending:
                if item.id in placed:
                    with contextlib.suppress(OSError):  # the journal still knows that it is placed
                        self.remove(item.id)
                else:
                    items.append(item)
            yield items

    def place(
        self,
        store: Store,
        scope: str,
        call: Callable[[SpooledItem], list[str]],
        notices: list[str],
        kept: Path | None = None,
    ) -> int:
        """Place the waiting items. An item that fails stays in the spool and does not hold up the others.

        An edit or a removal whose entry is gone by now is given up, and a notice says where its words are kept. An item
        of another project is placed as well, but without its own messages, and it is given up only in its project.

        Args:
            store: of the vault; its journal knows what is placed. Its actor is restored after each item.
            scope: the chosen project; empty for none.
            call: places an item, in a transaction with ``settles=item.id``; returns messages about it.
            notices: receives the messages.
            kept: folder for words that are given up; None keeps them nowhere.

        Returns:
            The number of items that were placed.

        Raises:
            BusyError: another process holds the lock; the remaining items stay in the spool.
            UnwritableError: the spool can't be read.
        """
        count = elsewhere = 0
        stuck: dict[str, int] = {}
        actor = store.actor
        with self.placing(store.journal, store.recover) as items:
            for item in items:
                foreign = str(item.arguments.get("project", "")) != scope
                try:
                    messages = call(item)
                except errors.BusyError:
                    raise
                except errors.UnwritableError as error:
                    why = ELSEWHERE if foreign else error.message
                    stuck[why] = stuck.get(why, 0) + 1
                except Exception as error:  # an item that triggers a bug must neither be lost nor hold up the others
                    may_give_up = not foreign and not (store.night and scope)
                    message = self._refuse(item, error, kept, may_give_up=may_give_up)
                    notices += [] if foreign else [message]
                else:
                    count += 1
                    elsewhere += foreign
                    notices += [] if foreign else messages
                    with contextlib.suppress(OSError):  # the journal knows that it is placed, so it isn't placed again
                        self.remove(item.id)
                finally:
                    store.actor = actor
        notices += [f"placed from the spool {ELSEWHERE}: {elsewhere}"] if elsewhere else []
        notices += [f"{number} in the spool can't be placed yet: {why}" for why, number in stuck.items()]
        return count

    def _refuse(self, item: SpooledItem, error: Exception, kept: Path | None, *, may_give_up: bool) -> str:
        """Give up a failed item if its entry is gone, else keep it until it is dropped; returns a message."""
        why = error.message if isinstance(error, errors.TarsError) else f"{type(error).__name__}: {error}"
        gone = isinstance(error, errors.NotFoundError | errors.AmbiguousError | errors.ConflictError)
        if gone and may_give_up and item.command in ("edit", *REMOVALS):
            path = self.drop(item, kept) if kept else None
            if path is None:
                self.remove(item.id)
            words = f"{item.arguments.get('text', '')!r}" + (f" (kept in {path})" if path else "")
            return f"given up, typed {item.arguments['now'][:16]}: {item.command} {words}: {why}"
        self.refused[item.id] = why
        return f"kept in the spool as {item.id}: {why}; tars-memory doctor --drop {item.id} makes a file of it"

    def _names(self) -> list[str]:
        """Return the file names of the items, oldest first."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            hint = "check its owner and permissions; tars-memory doctor looks for the cause"
            raise errors.UnwritableError(f"can't read the spool {self.folder}: {error.strerror}", hint) from error
        return sorted(name for name in names if name.endswith(".json") and not name.startswith("."))

    def _load(self, name: str) -> SpooledItem | None:
        """Return the item in a file; None if the file is gone or damaged."""
        try:
            record = disk.json_of(disk.read(self.folder / name, most=MAX_ITEM_BYTES) or b"", name, text=False)
            command, arguments = record["command"], record["arguments"]
        except (errors.SettingsError, KeyError, TypeError):
            return None
        if not isinstance(command, str) or not isinstance(arguments, dict):
            return None
        return SpooledItem(name.removesuffix(".json"), command, arguments) if _have_valid_types(arguments) else None


def _have_valid_types(arguments: dict[str, Any]) -> bool:
    """Whether each argument has the type that its name demands, and each text can be written as bytes."""
    for name, value in arguments.items():
        if name in _FLAGS:
            fits = isinstance(value, bool)
        elif name == "tags":
            fits = isinstance(value, list) and all(isinstance(tag, str) and is_text(tag) for tag in value)
        else:
            fits = (value is None and name in _OPTIONAL) or (isinstance(value, str) and is_text(value))
        if not fits:
            return False
    return True


_FLAGS = ("good", "interactive", "bare")
_OPTIONAL = ("section", "question", "answer", "since", "until", "on", "asked_vault", "asked_project")
