"""The spool: typed text that can't be written now (lock held, read-only, disk full) waits in the state folder.

One JSON file an item, readable by its owner alone, durable before anybody is told that it is kept. The next writing
command places what waits; :meth:`Spool.placing` sees to it that one process does so, and each item once.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

from tars_memory.errors import BusyError, UnwritableError
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.lock import VaultLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tars_memory.vault.writing.journal import Journal

ELSEWHERE = "for another project, or for none"
"""All that is told of an item whose project is not chosen."""


class SpooledItem:
    """One thing that waits.

    Attributes:
        id: its name; sorts by time.
        command: what was called.
        arguments: as given to :meth:`Spool.put`.
    """

    __slots__ = ("arguments", "command", "id")

    def __init__(self, item: str, command: str, arguments: dict[str, Any]) -> None:
        self.id = item
        self.command = command
        self.arguments = arguments


class Spool:
    """The spool of one vault.

    Args:
        folder: in the state folder; made when something must wait.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, command: str, arguments: dict[str, Any]) -> str:
        """Keep something until it can be written.

        Args:
            command: what was called.
            arguments: whatever it takes to call it again; JSON. ``text`` is what was typed.

        Returns:
            the item's id.

        Raises:
            UnwritableError: it can't even be kept; the message repeats the text.
        """
        item = f"{time.time_ns():020}-{os.urandom(4).hex()}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            data = json.dumps({"command": command, "arguments": arguments}).encode("ascii")
            replace_file(self.folder / f"{item}.json", data)
        except OSError as error:
            text = arguments.get("text") or json.dumps(arguments, ensure_ascii=False)
            raise UnwritableError(
                f"your text could NOT be kept, copy it from here: {text}",
                f"{self.folder}: {error.strerror or error}",
            ) from error
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

    def purge(self, words: str) -> int:
        """Remove the items that would become an entry of these words (``forget --everywhere``); returns how many."""
        found = [item for item in self.pending() if _would_say(item.arguments, words)]
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
            from tars_memory.vault.writing.history import placed_items

            recover()
            items = []
            placed = placed_items(journal)
            for item in self.pending():
                if item.id in placed:
                    self.remove(item.id)
                else:
                    items.append(item)
            yield items

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
            record = json.loads((self.folder / name).read_bytes())
            return SpooledItem(name.removesuffix(".json"), str(record["command"]), dict(record["arguments"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _would_say(arguments: dict[str, Any], words: str) -> bool:
    """Whether the item, once placed, would be an entry of exactly these words (with its tags or without)."""
    from tars_memory.vault.markdown.entries import neutralise
    from tars_memory.vault.secrets.masking import mask

    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        return False
    said = neutralise(text)
    tags = arguments.get("tags")
    # of a removal that waits, the spool holds the words without their credentials
    return any(one in (said, said + "".join(f" #{tag}" for tag in tags or ())) for one in (words, mask(words)))
