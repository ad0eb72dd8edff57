"""``watch``: the index follows the vault while it runs, and new queries find the model open."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import index
from tars_memory.errors import ModelUnavailableError, TarsError
from tars_memory.index.embedding import models
from tars_memory.index.embedding.queryvector import SOCKET
from tars_memory.index.files import WRITER_WAIT
from tars_memory.index.intake import RefreshBudget
from tars_memory.vault.writing.system import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.index.indexer import Index
    from tars_memory.index.watcher import WarmServer, Watcher
    from tars_memory.memory import Memory


PORTION = 64
"""Passages that are embedded before the watcher looks for new hints; about two seconds of work."""

RESPITE = 0.05
"""Seconds for the events of our own writes to arrive before they are taken as answered."""


class Batch(NamedTuple):
    """What one look did.

    Attributes:
        changed, removed: notes.
        embedded: passages that were given a vector.
        pending: passages that have none yet.
        took: seconds.
        notices: what the person should know; each is told when it begins to hold, not with every look.
    """

    changed: int
    removed: int
    embedded: int
    pending: int
    took: float
    notices: tuple[str, ...]

    @property
    def worth_telling(self) -> bool:
        """Whether anything happened."""
        return bool(self.changed or self.removed or self.embedded or self.notices)


class Watching:
    """One watcher over one vault.

    Args:
        open_memory: opens the vault anew, so that a changed setting counts from the next look on.
        watcher: tells when to look.
    """

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        watcher: Watcher,
    ) -> None:
        self._open_memory = open_memory
        self._watcher = watcher
        self._embedder: Embedder | None = None
        self._model = ""
        self._server: WarmServer | None = None
        self._serves = True
        self._told: frozenset[str] = frozenset()
        self._published: int | None = None

    def once(self) -> Batch:
        """One look, with all vectors that are missing; another watcher may live meanwhile.

        Raises:
            VaultError: there is no vault.
        """
        with self._open_memory():
            pass
        self._serves = False
        batch = self._look()
        while batch.pending and not self._watcher.stopped:
            more = self._look()
            if not more.embedded:
                break
            batch = batch._replace(
                embedded=batch.embedded + more.embedded,
                pending=more.pending,
                took=batch.took + more.took,
                notices=batch.notices + more.notices,
            )
        return batch

    def batches(self) -> Iterator[Batch]:
        """One batch for each look, until the watcher is stopped; the first one right away.

        Raises:
            BusyError: another watcher lives on this vault.
            VaultError: there is no vault at the beginning.
        """
        with contextlib.ExitStack() as stack:
            with self._open_memory() as memory:
                lock = memory.workspace.made_state() / "watch.lock"
            stack.enter_context(alone(lock, "watch", "the vault is watched already", "one watcher is enough"))
            stack.callback(self._watcher.close)
            stack.callback(self._close_server)
            self._watcher.start()
            while True:
                batch = self._look()
                yield batch
                while batch.pending and not self._watcher.hinted() and not self._watcher.stopped and batch.embedded:
                    batch = self._look()
                    yield batch
                if not self._watcher.wait():
                    return

    def _look(self) -> Batch:
        begun = time.monotonic()
        notices = [self._watcher.polling] if self._watcher.polling else []
        changed = removed = embedded = pending = 0
        try:
            with self._open_memory() as memory:
                if memory.workspace.take_ticks():
                    time.sleep(RESPITE)
                notices += memory.workspace.notices
                self._watcher.forget()
                report = memory.workspace.index().refresh(RefreshBudget(None, WRITER_WAIT))
                changed, removed = report.changed, report.removed
                notices += report.notices
                embedded, pending = self._embed(memory, notices)
                if changed or removed or pending != self._published:
                    self._published = None  # until it is
                    memory.workspace.publish()
                    self._published = pending
        except TarsError as error:  # the vault may be back, the disk may have room at the next look
            self._watcher.forget()
            notices.append(f"{error.message}; {error.hint}" if error.hint else error.message)
        took = time.monotonic() - begun
        return Batch(changed, removed, embedded, pending, took, self._news(notices))

    def _embed(self, memory: Memory, notices: list[str]) -> tuple[int, int]:
        """Give a portion of the pending passages their vectors; how many were given one, and how many wait."""
        try:
            self._hold_model(memory, notices)
            index: Index = memory.workspace.index()
            before = index.pending()
            if self._serves and before > PORTION and memory.workspace.goes_on():
                return 0, before
            assert self._embedder is not None
            if index.reader().fingerprint not in (None, self._embedder.fingerprint):  # another model's make way
                left = index.embed_pending(PORTION)
                return PORTION, left
            pending = index.embed_pending(PORTION) if before else 0
        except ModelUnavailableError as error:
            notices.append(f"keywords only: {error.message}; {error.hint}")
            return 0, 0
        return before - pending, pending

    def _hold_model(self, memory: Memory, notices: list[str]) -> None:
        """Keep the model open between looks, and answer queries with it; another one if another one is set."""
        name = memory.workspace.settings.embedding.model
        if self._embedder is None or name != self._model:
            self._close_server()
            self._model, self._embedder = name, memory.workspace.open_embedder()
            if self._serves:
                self._serve(memory, notices)
        memory.workspace.embedder = self._embedder

    def _serve(self, memory: Memory, notices: list[str]) -> None:
        assert self._embedder is not None
        identity = models.manifest_of(self._model, memory.workspace.settings.places.cache).identity
        try:
            place = memory.workspace.state / SOCKET
            self._server = index.watcher.WarmServer(place, identity, self._embedder.embed_query)
        except (OSError, AttributeError) as error:  # no room for its path, or a system without such sockets
            notices.append(f"searches open the model themselves: no socket in the state folder ({error})")

    def _close_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _news(self, notices: list[str]) -> tuple[str, ...]:
        """Those that did not hold at the last look."""
        news = tuple(notice for notice in dict.fromkeys(notices) if notice not in self._told)
        self._told = frozenset(notices)
        return news
