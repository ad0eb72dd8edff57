"""The only door for writes into the vault: lock, recovery, plan, protocol, journal, undo; and words that must wait.

Whoever writes opens a :class:`WriteSession` and gives it changes, or for what only programs write a :data:`Plan`, a
pure function from the note's bytes to splices. The note is read, planned on, written by the protocol that fits (a line
at the end is appended, anything else is an edit, a missing note is created), and planned on again if it changed
meanwhile. Nothing else in this program opens a note for writing.

Typed text that can't be written now (lock held, read-only, disk full) waits in the :class:`Spool`, in the state folder:
one JSON file an item, readable by its owner alone, durable before anybody is told that it is kept. The next writing
command places what waits; :meth:`Spool.placing` sees to it that one process does so, and each item once.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tars_memory import disk
from tars_memory.errors import (
    AmbiguousError,
    BusyError,
    ConflictError,
    NotFoundError,
    SettingsError,
    TarsError,
    UnwritableError,
)
from tars_memory.settings import StoreOptions
from tars_memory.vault.change import Change, Outcome, Planned, apply, landing, named
from tars_memory.vault.folder import TEMP_SUFFIX, Folder, digest
from tars_memory.vault.layout import shipped
from tars_memory.vault.note import Note
from tars_memory.vault.writing import protocol, system as exchanges
from tars_memory.vault.writing.journal import Journal, is_text, replace_file
from tars_memory.vault.writing.system import Exchange, VaultLock
from tars_memory.vault.writing.transaction import Plan, Transaction, Written, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.history import JournalEntry, LostLine


__all__ = ["Landed", "Plan", "Store", "WriteSession", "Written"]

Held = TypeVar("Held", bound=Transaction)

LOOK_AGAIN = "look again: tars-memory list"


class Landed(NamedTuple):
    """Where a change landed.

    Attributes:
        outcome: what became of it.
        written: the write of its note.
        line: 1-based line of the entry that says now what it said, whether or not this wrote it; after a removal the
            first line that changed.
        ref: the entry's name; empty for none.
    """

    outcome: Outcome
    written: Written
    line: int
    ref: str


class WriteSession(Transaction):
    """A transaction that carries out changes of a vault's notes.

    Args:
        store: whose it is.
        root: the vault's folder, open.
        command: what history shows.
        vault: whose notes they are.
        settles: as for :meth:`Store.session`, as is ``atomic``.
    """

    def __init__(
        self, store: Store, root: Folder, command: str, vault: Vault, *, settles: str | None, atomic: bool
    ) -> None:
        super().__init__(store, root, command, settles, atomic=atomic)
        self._vault = vault
        self._applied: dict[str, tuple[bytes, Sequence[Change], Planned]] = {}

    @property
    def txn(self) -> str | None:
        """The name that ``undo`` takes; None as long as nothing is written."""
        return next((written.txn for written in self.written if written.txn), None)

    def note(self, path: str, data: bytes | None = None) -> Note:
        """The note as it is, under the lock, or with another text; one that isn't there has none."""
        return Note.of(self._vault.layout, path, self.read(path) if data is None else data)

    def naming(self, entry: Entry, change: Change) -> Change:
        """The change with the name of the entry that it is about, as that stands there now."""
        replaces, occurrence = named(self.note(entry.path), entry)
        return change._replace(replaces=replaces, occurrence=occurrence)

    def change(
        self, changes: Sequence[Change], *, create: bytes | None = None, hint: str = LOOK_AGAIN, partly: bool = False
    ) -> list[Landed]:
        """Carry out changes of one note, in one write.

        Args:
            changes: with the same target.
            create: the text that a new note begins with; None for that of the vault template.
            hint: what to do if one of them is refused.
            partly: pass over what is refused.

        Returns:
            Where each of them landed.

        Raises:
            ConflictError: one of them is refused, and nothing was written; or the note changed again and again.
            UnwritableError: the note can't be written; it is as it was.
        """
        path = changes[0].target
        planned: Planned | None = None

        def plan(data: bytes | None) -> Sequence[Splice]:
            nonlocal planned
            planned = self._planned_changes(path, changes, data or b"", "" if partly else hint)
            return planned.splices

        written = self.write(path, plan, create=self._new(path) if create is None else create)
        assert planned is not None
        note = self.note(path, written.text)
        return [Landed(each, written, *landing(note, each, written.line)) for each in planned.outcomes]

    def plan(self, changes: Sequence[Change], *, hint: str = LOOK_AGAIN) -> None:
        """See whether :meth:`change` would carry changes out, before any other note is written.

        Raises:
            ConflictError: one of them is refused.
        """
        path = changes[0].target
        data = self.read(path)
        if data is None and any(change.op == "mark" for change in changes):
            raise ConflictError(f"{path} is gone", hint)
        self._planned_changes(path, changes, self._new(path) if data is None else data, hint)

    def _new(self, path: str) -> bytes:
        """What a note begins with that isn't there."""
        return shipped(self._vault.layout.inner(path)) if self._vault.look(path) is None else b""

    def _planned_changes(self, path: str, changes: Sequence[Change], data: bytes, hint: str) -> Planned:
        """What changes come to; that of the last text that a note was planned on is remembered."""
        known = self._applied.get(path)
        if known is None or known[:2] != (data, changes):
            known = data, changes, apply(self.note(path, data), changes)
            self._applied[path] = known
        planned = known[2]
        if hint and (reason := next((each.reason for each in planned.outcomes if each.status == "rejected"), "")):
            raise ConflictError(reason, hint)
        return planned

    def move(self, path: str, to: str) -> bool:
        """Make the note under its new path with the same bytes, mode and time of modification, then remove the old one.

        Two writes, which an undo takes back together. A kill in between leaves both notes; the same move again then
        removes the old one.

        Args:
            path: where it is.
            to: where it shall be, in the vault too.

        Returns:
            False, and both paths are as they were: the note is gone or has changed, or another text is at ``to``.

        Raises:
            UnwritableError: it can't be made there, or not be removed here; both paths are as they were.
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
        except TarsError:
            # Another process may have taken the note away after all; then the copy is the only one.
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
        now: the clock, giving aware times.
        actor: who writes (:data:`tars_memory.vault.model.Actor`).
        options: how long another writer is waited for, how long undo is kept.
        dry_run: plan and answer, but lock, journal and write nothing.
        exchange: what the system offers; tests take something away.

    Attributes:
        notices: what the person should know.
        night: the name of the night's work that is done, kept with each write; empty for anything else.
        tick: kept with each write that carries out ticks of a note: ``recorded`` says since when it is known that an
            agent's process found them; None for anything else.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        *,
        now: Callable[[], datetime],
        actor: str,
        options: StoreOptions | None = None,
        dry_run: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self.root = root
        self.state = state
        self.now = now
        self.actor = actor
        self.options = options or StoreOptions()
        self.dry_run = dry_run
        self.exchange = exchange or exchanges.of_this_system()
        self.journal = Journal(state / "journal")
        self.notices: list[str] = []
        self.night = ""
        self.tick: dict[str, str] | None = None

    def session(
        self, command: str, vault: Vault, *, settles: str | None = None, atomic: bool = False
    ) -> AbstractContextManager[WriteSession]:
        """Lock the vault, settle what a killed process left, and write.

        Args:
            command: what history shows (``remember``).
            vault: whose notes are changed.
            settles: the spool item that is being placed, so that it is placed once only.
            atomic: all of its writes or none: if it fails, or is killed, what it has written is taken back (after a
                kill by the next writer).

        Raises:
            BusyError: another process held the lock all the time.
            UnwritableError: the vault or the state folder can't be used.
        """
        return self._held(
            command, lambda root: WriteSession(self, root, command, vault, settles=settles, atomic=atomic)
        )

    def transaction(
        self, command: str, *, settles: str | None = None, atomic: bool = False
    ) -> AbstractContextManager[Transaction]:
        """A :meth:`session` for what changes no note by :class:`Change`."""
        return self._held(command, lambda root: Transaction(self, root, command, settles, atomic=atomic))

    @contextlib.contextmanager
    def _held(self, command: str, made: Callable[[Folder], Held]) -> Iterator[Held]:
        with contextlib.ExitStack() as stack:
            if not self.dry_run:
                lock = VaultLock(self.state / "lock", timeout=self.options.lock_timeout, command=command)
                stack.enter_context(lock.held())
            with writing(os.fspath(self.root)):
                root = Folder.open(self.root, handles=self.exchange.folder_handles)
            transaction = made(root)
            stack.callback(transaction.close)
            if not self.dry_run:
                transaction.begin()
            # What the caller looks at under the lock may fail as well.
            with writing(os.fspath(self.root)), transaction.rolled_back_on_failure():
                yield transaction

    def undo(self, txn: str | Sequence[str] | None = None, *, last: int = 1) -> list[Written]:
        """Take writes back: transactions by name, or the last ones still in force (undos are not counted).

        A note that is as the write left it gets its exact bytes back. In one that has moved on, the changed lines
        are looked for by their text and must be found exactly once. An undo can be undone by its name.

        Raises:
            NotFoundError: there is no such transaction, or nothing left to undo.
            ConflictError: a note has moved on too far; the message shows the change that can't be taken back.
        """
        from tars_memory.vault.writing.history import find_transactions

        with self.transaction("undo") as transaction:
            chosen = find_transactions(self.journal, txn, last)
            if sum(len(group) for _, group in chosen) > 1:
                transaction.make_atomic()
            for name, _ in chosen:
                self.journal.check_undamaged(name)
            for name, group in chosen:
                before = len(transaction.written)
                for entry in reversed(group):
                    transaction.undo_write(entry)
                if len(transaction.written) == before:
                    transaction.mark(name)
            return list(transaction.written)

    def history(self, limit: int | None = None, path: str | None = None) -> Iterator[JournalEntry]:
        """The writes that were made, newest first; read only, from the tail as far as they are asked for."""
        from tars_memory.vault.writing.history import entries

        return entries(self.journal, limit, path)

    def lost_lines(self) -> list[LostLine]:
        """Lines we wrote, and did not take back, that are no longer there; read only."""
        from tars_memory.vault.writing.history import lost_lines

        return lost_lines(self.journal, self.root)

    def recover(self) -> list[str]:
        """Settle what a killed process left, for doctor; returns what there was to tell."""
        known = len(self.notices)
        with self.transaction("recover"):
            return self.notices[known:]

    def pending(self) -> list[str]:
        """What the next writer has to settle; read only, no lock. (A write going on right now looks the same.)"""
        record = self.journal.unfinished()
        if record is not None:
            return [f"{record['command']} {record['txn']} on {record['file']} was not finished"]
        cut = self.journal.cut_off(next(self.journal.records(), None))
        return [f"{cut} was not finished and will be taken back"] if cut else []

    def leftovers(self) -> list[str]:
        """Files of ours beside notes, relative to the vault, that no write going on accounts for.

        A power cut can bring one back after its removal, and another machine's may have been synced here. Compare it
        with its note, then remove it. Read only; walks the whole vault, for doctor.
        """
        record = self.journal.unfinished() or {}
        current = {record.get("temp"), protocol.aside_of(str(record.get("temp")))}
        found: list[str] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", ".obsidian", ".trash")]
            found += (
                os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")
                for name in names
                if name.startswith(".") and name.endswith((TEMP_SUFFIX, protocol.ASIDE_SUFFIX)) and name not in current
            )
        return sorted(found)

    def is_ours(self, name: str) -> bool:
        """Whether a left-over, relative to the vault, holds what the journal says that we put there: safe to remove."""
        folder, _, base = name.rpartition("/")
        try:
            held = digest(disk.read(self.root / name, self.root, most=disk.LARGEST_OWN) or b"")
        except SettingsError:  # a pipe or a link bears a name of ours
            return False
        return any(
            record.get("file", "").rpartition("/")[0] == folder
            and base in (record.get("temp"), protocol.aside_of(str(record.get("temp"))))
            and held in (record.get("old"), record.get("new"))
            for record in self.journal.records(lambda line: b'"temp":' in line)
        )

    def limbo(self) -> list[str]:
        """Files in ``.tars/limbo/``: saves that could neither be placed nor destroyed, for a person to look at."""
        try:
            return sorted(os.listdir(self.root.joinpath(*protocol.LIMBO)))
        except OSError:
            return []

    def set_aside(self, path: Path) -> Path:
        """Take the lines of a journal's file that are not a record out of it, into a file beside it; returns which."""
        with self.transaction("doctor"), writing(os.fspath(self.journal.folder)):
            return self.journal.set_aside(path)

    def purge(self, texts: Sequence[str]) -> int:
        """Take texts out of the journal for good (``forget --everywhere``); writes that held them can't be undone.

        Returns:
            how many records held one.
        """
        from tars_memory.vault.writing.withheld import purge

        with self.transaction("purge"), writing(os.fspath(self.journal.folder)):
            return 0 if self.dry_run else purge(self.journal, texts)


# --- what can't be written now waits

REMOVALS = ("forget", "facts end", "facts remove")
"""Commands whose ``text`` only names what is to go."""

LARGEST = 1 << 30
"""Bytes of an item; what is larger was never typed."""

ELSEWHERE = "for another project, or for none"
"""All that is told of an item whose project is not chosen."""


def new_item() -> str:
    """The name of something that may have to wait; sorts by time. A write that bears it (``settles``) is it, placed."""
    return f"{time.time_ns():020}-{os.urandom(4).hex()}"


def keep_aside(folder: Path, name: str, text: str) -> Path:
    """Keep words that no command can place by itself, as a plain text that only their owner can read.

    Args:
        folder: made if it is missing.
        name: of the file, without its ending.
        text: the words.

    Returns:
        Where they are.

    Raises:
        UnwritableError: they can't be kept; the message repeats them.
    """
    path = folder / f"{name}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8", "surrogateescape") + b"\n")
    except OSError as error:
        raise UnwritableError.of_lost(text, f"{folder}: {error}") from error
    return path


class SpooledItem(NamedTuple):
    """One thing that waits.

    Attributes:
        id: its name; sorts by time.
        command: what was called.
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
        refused: item to reason, of what was tried and can't be placed as it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.refused: dict[str, str] = {}

    def put(self, command: str, arguments: dict[str, Any], item: str | None = None) -> str:
        """Keep something until it can be written.

        Args:
            command: what was called.
            arguments: whatever it takes to call it again; JSON. ``text`` is what was typed.
            item: the name that it was given before; see :func:`new_item`.

        Returns:
            the item's id.

        Raises:
            UnwritableError: it can't even be kept; the message repeats the text.
        """
        item = item or new_item()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            data = json.dumps({"command": command, "arguments": arguments}).encode("ascii")
            replace_file(self.folder / f"{item}.json", data)
        except OSError as error:
            text = arguments.get("text") or json.dumps(arguments, ensure_ascii=False)
            raise UnwritableError.of_lost(text, f"{self.folder}: {error.strerror or error}") from error
        return item

    def pending(self) -> list[SpooledItem]:
        """What waits, oldest first; a damaged file is left out (see :meth:`damaged`)."""
        return [item for item in map(self._load, self._names()) if item is not None]

    def damaged(self) -> list[Path]:
        """Files that hold no item, for doctor."""
        return [self.folder / name for name in self._names() if self._load(name) is None]

    def remove(self, item: str) -> None:
        """Forget an item, placed or given up; harmless if it is gone."""
        (self.folder / f"{item}.json").unlink(missing_ok=True)

    def drop(self, item: SpooledItem, folder: Path) -> Path | None:
        """Give an item up: its words become a file of their own; None if it has none (a removal).

        Raises:
            UnwritableError: they can't be kept; the item stays.
        """
        text = item.arguments.get("text")
        path = None
        if text and item.command not in REMOVALS:
            path = keep_aside(folder, f"{item.id}-{item.command.replace(' ', '-')}", text)
        self.remove(item.id)
        return path

    def set_aside(self, damaged: Path) -> Path:
        """Give a damaged file a name that nobody reads; what is left of its words stays there.

        Raises:
            OSError: it can't be renamed.
        """
        target = damaged.with_name(f"{damaged.name}.damaged")
        damaged.rename(target)
        return target

    def purge(self, says: Callable[[dict[str, Any]], bool]) -> int:
        """Remove the items whose arguments say what is to be forgotten; returns how many."""
        found = [item for item in self.pending() if says(item.arguments)]
        for item in found:
            self.remove(item.id)
        return len(found)

    @contextlib.contextmanager
    def placing(self, journal: Journal, recover: Callable[[], object] = lambda: None) -> Iterator[list[SpooledItem]]:
        """What waits, for this process alone; empty if another process is placing it just now.

        Place each item in a transaction with ``settles=item.id``, then :meth:`remove` it. What a killed process had
        placed, but not yet removed, is removed here.

        Args:
            journal: says what is placed.
            recover: settles what a killed process left unfinished; called before the journal is asked, for it may turn
                out that an item had been placed.
        """
        if not self._names():
            yield []
            return
        from tars_memory.vault.writing.history import placed_items

        with contextlib.ExitStack() as stack:
            try:
                lock = VaultLock(self.folder / "lock", timeout=0, command="spool")
                stack.enter_context(lock.held())
            except (BusyError, UnwritableError):
                yield []
                return
            recover()
            items = []
            pending = self.pending()
            placed = placed_items(journal, {item.id for item in pending})
            for item in pending:
                if item.id in placed:
                    with contextlib.suppress(OSError):  # the journal knows it
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
        """Call again what waits. What fails stays where it is, and holds up nothing else.

        An edit or a removal whose entry is gone by now is given up, and a notice says where its words are kept. What is
        for another project is placed as well, but nothing is told of it, and given up only there.

        Args:
            store: of the vault; knows what is placed. Whoever ``call`` makes its actor is the actor no longer then.
            scope: the project that is chosen; empty for none.
            call: places an item, in a transaction with ``settles=item.id``; returns what to say of it.
            notices: takes what there is to say of them and of the others.
            kept: the folder of words that are given up; None keeps them nowhere.

        Returns:
            How many items were placed.

        Raises:
            BusyError: another process holds the lock; all that is left stays in the spool.
            UnwritableError: the spool can't be read.
        """
        count = elsewhere = 0
        stuck: dict[str, int] = {}
        ours = store.actor
        with self.placing(store.journal, store.recover) as items:
            for item in items:
                foreign = str(item.arguments.get("project", "")) != scope
                try:
                    told = call(item)
                except BusyError:
                    raise
                except UnwritableError as error:
                    why = ELSEWHERE if foreign else error.message
                    stuck[why] = stuck.get(why, 0) + 1
                except Exception as error:  # one that brings out a bug must neither be lost nor hold up all others
                    may_go = not foreign and not (store.night and scope)
                    said = self._refused(item, error, kept, may_go=may_go)
                    notices += [] if foreign else [said]
                else:
                    count += 1
                    elsewhere += foreign
                    notices += [] if foreign else told
                    with contextlib.suppress(OSError):  # what is placed is known to the journal, and not placed again
                        self.remove(item.id)
                finally:
                    store.actor = ours
        notices += [f"placed from the spool {ELSEWHERE}: {elsewhere}"] if elsewhere else []
        notices += [f"{number} in the spool can't be placed yet: {why}" for why, number in stuck.items()]
        return count

    def _refused(self, item: SpooledItem, error: Exception, kept: Path | None, *, may_go: bool) -> str:
        """Give up what failed if what it is about is gone, else keep it until it is dropped; returns what to say."""
        why = error.message if isinstance(error, TarsError) else f"{type(error).__name__}: {error}"
        gone = isinstance(error, NotFoundError | AmbiguousError | ConflictError)
        if gone and may_go and item.command in ("edit", *REMOVALS):
            path = self.drop(item, kept) if kept else None
            if path is None:
                self.remove(item.id)
            words = f"{item.arguments.get('text', '')!r}" + (f" (kept in {path})" if path else "")
            return f"given up, typed {item.arguments['now'][:16]}: {item.command} {words}: {why}"
        self.refused[item.id] = why
        return f"kept in the spool as {item.id}: {why}; tars-memory doctor --drop {item.id} makes a file of it"

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            hint = "check its owner and rights, and what stands there: tars-memory doctor"
            raise UnwritableError(f"can't read the spool {self.folder}: {error.strerror}", hint) from error
        return sorted(name for name in names if name.endswith(".json") and not name.startswith("."))

    def _load(self, name: str) -> SpooledItem | None:
        try:
            record = disk.json_of(disk.read(self.folder / name, most=LARGEST) or b"", name, text=False)
            command, arguments = record["command"], record["arguments"]
        except (SettingsError, KeyError, TypeError):
            return None
        if not isinstance(command, str) or not isinstance(arguments, dict):
            return None
        return SpooledItem(name.removesuffix(".json"), command, arguments) if _are_sound(arguments) else None


def _are_sound(arguments: dict[str, Any]) -> bool:
    """Whether each argument has the type of its name, and each text comes from bytes."""
    for name, value in arguments.items():
        if name in _FLAGS:
            fits = isinstance(value, bool)
        elif name == "tags":
            fits = isinstance(value, list) and all(isinstance(each, str) and is_text(each) for each in value)
        else:
            fits = (value is None and name in _OPTIONAL) or (isinstance(value, str) and is_text(value))
        if not fits:
            return False
    return True


_FLAGS = ("good", "interactive", "bare")
_OPTIONAL = ("section", "question", "answer", "since", "until", "on", "asked_vault", "asked_project")
