"""Watch the vault for changes with the system's file events; the sweep alone finds out what changed.

The content of an event is never used: it may be late, doubled, about a file that is gone, or others may have been lost
because the queue was full. So every event only means "look again", a burst becomes one hint, and without events
(network folders, limits of the system) the watcher looks at regular intervals.

The process that watches also holds the model open: :class:`WarmServer` embeds queries for the same user's other
processes (:mod:`tars_memory.index.models`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import socketserver
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING

from watchdog import events
from watchdog.observers import Observer

from tars_memory.errors import TarsError
from tars_memory.index import database, models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socket import socket

    from watchdog.observers.api import BaseObserver


DEBOUNCE = 0.3
"""Seconds without an event that end a burst: editors save within a tenth, a checkout writes without a pause."""

MAX_BURST = 5.0
"""Seconds after which a look is due although the burst isn't over."""

POLL = 5.0
"""Seconds between two looks if there are no events."""

SWEEP = 600.0
"""Seconds after which a look is due even without an event: queues overflow silently on some systems."""

CHECK = 10.0
"""Seconds between two checks that the watched folder is still the vault's and no event was lost."""

LOG = logging.getLogger("watchdog")
"""watchdog reports lost events nowhere else. While it watches, its records are hints and not printed."""

CONFIGURATION = (".obsidian", ".tars")
"""Hidden folders whose files may change where notes are found."""


class Watcher:
    """Waits for changes of one vault.

    Args:
        root: the vault's real path.
        poll: seconds between two looks, instead of events; None: use events if the system has them.

    Attributes:
        polling: why there are no events, one sentence; empty while there are.
    """

    def __init__(self, root: Path, *, poll: float | None = None) -> None:
        self.root = root
        self.polling = ""
        self._asked_to_poll = poll is not None
        self._poll = poll or POLL
        self._hint = threading.Event()
        self._stopped = threading.Event()
        self._observer: BaseObserver | None = None
        self._identity: tuple[int, int] | None = None
        self._lost = False
        self._losses = logging.Handler(logging.WARNING)
        self._losses.emit = self._on_loss  # type: ignore[method-assign]

    def start(self) -> None:
        """Start to listen for events; if that fails, :attr:`polling` says why."""
        self._identity = self._root_identity()
        self.polling = self._listen()

    def stop(self) -> None:
        """Make a running :meth:`wait` return; may be called from a signal handler."""
        self._stopped.set()
        self._hint.set()

    def close(self) -> None:
        """Release the system's watches."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.unschedule_all()
            observer.stop()
            observer.join(5.0)
        LOG.removeHandler(self._losses)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def forget(self) -> None:
        """Clear the hints that came so far, but never a :meth:`stop`; call it before looking at the vault."""
        self._hint.clear()
        if self._stopped.is_set():
            self._hint.set()

    def hinted(self) -> bool:
        """Whether something may have changed since :meth:`forget`."""
        return self._hint.is_set()

    def wait(self) -> bool:
        """Wait until a look is due and the burst of events is over; return False if the watcher was stopped.

        If the watch or an event was lost, a new watch is started first.
        """
        due = time.monotonic() + (self._poll if self.polling else SWEEP)
        while True:
            if not self._stopped.is_set() and not self._is_intact():
                self._restart()
                break
            left = due - time.monotonic()
            if self._hint.is_set() or left <= 0:
                break
            self._hint.wait(min(CHECK, left))
        if self._hint.is_set():
            self._wait_for_end_of_burst()
        return not self._stopped.is_set()

    def _wait_for_end_of_burst(self) -> None:
        deadline = time.monotonic() + MAX_BURST
        while not self._stopped.is_set() and time.monotonic() < deadline:
            self._hint.clear()
            if not self._hint.wait(DEBOUNCE):
                break
        self._hint.set()

    def _listen(self) -> str:
        """Start to listen for the system's events; return why there are none, '' on success."""
        if self._asked_to_poll:
            return f"checking every {self._poll:g} s, as asked"
        if not database.is_local(self.root):
            return f"{self.root} is on a network or shared file system, which reports no changes"
        wanted: list[type[events.FileSystemEvent]] = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
        ]
        if sys.platform == "linux":  # each write to a file is an event; only closing it means that it is saved
            wanted[1] = events.FileClosedEvent
        handler = events.FileSystemEventHandler()
        handler.on_any_event = self._on_event  # type: ignore[method-assign]
        self._lost = False
        LOG.addHandler(self._losses)
        LOG.propagate = False
        # After lost events, watchdog adds all folders again and warns about each that it watches already.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        try:
            observer = Observer()
            observer.schedule(handler, str(self.root), recursive=True, event_filter=wanted)
            observer.start()
        except OSError as error:
            LOG.removeHandler(self._losses)
            return f"the system reports no events for {self.root} ({error.strerror or error})"
        self._observer = observer
        if self._has_gaps():
            self.close()
            return (
                f"the system can't watch all folders of {self.root} (fs.inotify.max_user_watches is reached): "
                f"checking every {self._poll:g} s"
            )
        return ""

    def _has_gaps(self) -> bool:
        """Whether folders of the vault have no watch: at the system's limit, watchdog silently skips them."""
        if sys.platform != "linux" or self._observer is None:
            return False
        from watchdog.observers import inotify_c

        probe = inotify_c.inotify_init()
        if probe < 0:
            return False  # unknown
        try:
            if inotify_c.inotify_add_watch(probe, os.fsencode(self.root), inotify_c.InotifyConstants.IN_CREATE) >= 0:
                return False
        finally:
            os.close(probe)
        watches = 0
        for number in os.listdir("/proc/self/fdinfo"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/self/fdinfo/{number}") as info:
                watches += sum(line.startswith("inotify ") for line in info)
        return watches < sum(1 for _ in os.walk(self.root))

    def _on_event(self, event: events.FileSystemEvent) -> None:
        if any(path and self._matters(os.fsdecode(path)) for path in (event.src_path, event.dest_path)):
            self._hint.set()

    def _on_loss(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        """Request a new watch, as :mod:`watchdog` logged that events were lost.

        By itself it adds all folders again on the queue that overflowed. Each watch that it removes is an event there,
        so with more folders than the queue has places it would overflow for ever. A new watch has a queue of its own.
        """
        self._lost = True
        self._hint.set()

    def _matters(self, path: str) -> bool:
        """Whether a change at this path may change the index."""
        parts = os.path.relpath(path, self.root).split(os.sep)
        if parts[0] in CONFIGURATION:
            return parts[-1].endswith((".json", ".toml"))
        return not any(part.startswith(".") and part != "." for part in parts)

    def _root_identity(self) -> tuple[int, int] | None:
        """Return device and inode of the vault's folder, None if there is no such folder."""
        try:
            found = os.stat(self.root)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _is_intact(self) -> bool:
        """Whether the watched folder is still the vault's, and the watch is alive and lost nothing."""
        observer = self._observer
        alive = observer is None or (observer.is_alive() and all(e.is_alive() for e in observer.emitters))
        return alive and not self._lost and self._root_identity() == self._identity and not self._has_gaps()

    def _restart(self) -> None:
        """Start a new watch after one was lost: the folder was unmounted, moved, or created again."""
        self.close()
        self._identity = self._root_identity()
        self.polling = self._listen() if self._identity else f"{self.root} does not exist"


CLIENT_PATIENCE = 1.0
"""Seconds in which a client has to send its query."""

MAX_CLIENTS = 32
"""Maximum number of queries answered at once; more are rejected, and those searches open the model themselves."""


class WarmServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Embeds queries of other processes, over a socket, until it is closed.

    Args:
        path: of the socket; a stale one is replaced (the caller holds the watcher's lock).
        identity: of the model.
        answer: returns the vectors of a text; called from several threads.

    Raises:
        OSError: the socket can't be created.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, path: Path, identity: str, answer: Callable[[str], models.QueryVector]) -> None:
        self.path = path
        self.identity = identity
        self.answer = answer
        self._slots = threading.BoundedSemaphore(MAX_CLIENTS)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with models.reachable(path) as address:
            super().__init__(address, _QueryHandler)
        os.chmod(path, 0o600)
        self._inode = os.lstat(path).st_ino
        threading.Thread(target=self.serve_forever, args=(0.5,), name="warm", daemon=True).start()

    def close(self) -> None:
        """Stop answering, and remove the socket unless another process has replaced it."""
        self.shutdown()
        self.server_close()
        with contextlib.suppress(OSError):
            if os.lstat(self.path).st_ino == self._inode:
                self.path.unlink()

    def verify_request(self, request: socket, client_address: object) -> bool:  # type: ignore[override]  # noqa: ARG002
        """Accept a client while fewer than :data:`MAX_CLIENTS` are served; file modes keep other users out."""
        return self._slots.acquire(blocking=False)

    def finish_request(self, request: socket, client_address: object) -> None:  # type: ignore[override]
        """Answer a client, and let the next one in."""
        try:
            super().finish_request(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that leaves or stalls: it opens the model itself."""


class _QueryHandler(socketserver.StreamRequestHandler):
    server: WarmServer
    timeout = CLIENT_PATIENCE

    def handle(self) -> None:
        head = self.rfile.readline(256)
        expected = models.GREETING + self.server.identity.encode("ascii") + b" "
        length = head.removeprefix(expected).strip()
        if not head.startswith(expected) or not length.isdigit() or int(length) > models.MAX_QUERY:
            return
        data = self.rfile.read(int(length))
        if len(data) == int(length):
            with contextlib.suppress(TarsError):  # the search reports the error itself when it opens the model
                self.wfile.write(models.pack(self.server.answer(data.decode("utf-8", "surrogatepass"))))
