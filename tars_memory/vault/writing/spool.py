"""The spool: typed text that can't be written now (lock held, read-only, disk full) waits in the state folder.

One JSON file an item, readable by its owner alone, durable before anybody is told that it is kept. The next writing
command places what waits; :meth:`Spool.placing` sees to it that one process does so, and each item once.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

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
from tars_memory.vault.writing.history import placed_items
from tars_memory.vault.writing.journal import Journal, is_text, replace_file
from tars_memory.vault.writing.system import VaultLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tars_memory.vault.writing.store import Store

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
        failed = UnwritableError(f"your text could NOT be kept, copy it from here: {text}", f"{folder}: {error}")
        failed.repeats = True
        raise failed from error
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
            failed = UnwritableError(
                f"your text could NOT be kept, copy it from here: {text}",
                f"{self.folder}: {error.strerror or error}",
            )
            failed.repeats = True
            raise failed from error
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
        return f"kept in the spool as {item.id}: {why}; tars-memory doctor --drop {item.id} gives it up"

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnwritableError(f"can't read the spool {self.folder}: {error.strerror}") from error
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
