"""Hints that the vault may have changed, from the system's events; what changed is found by the sweep alone.

An event is never believed: it may be late, doubled, of a file that is gone, or one of many that the queue had no room
for. So all of them say the same ("look"), bursts become one hint, and where there are no events (network folders,
limits of the system) the time says it.

Whoever watches also holds the model open: :class:`WarmServer` answers queries of the same user
(:mod:`tars_memory.index.models`).
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

LONGEST = 5.0
"""Seconds after which a burst that doesn't end is looked at all the same."""

POLL = 5.0
"""Seconds between two looks where there are no events."""

SWEEP = 600.0
"""Seconds after which a look is due even without an event: queues overflow silently on some systems."""

CHECK = 10.0
"""Seconds between two looks at the watch itself: is the vault's folder still the one that is watched?"""

CONFIGURATION = (".obsidian", ".tars")
"""Hidden folders in which a changed file may change where things are."""


class Watcher:
    """Waits for hints of one vault.

    Args:
        root: the vault's real path.
        poll: seconds between two looks, instead of events; None takes events where they can be had.

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
        self._losses = _Losses(self._hint)

    def start(self) -> None:
        """Begin to listen; where that can't be, :attr:`polling` says why."""
        self._identity = self._seen()
        self.polling = self._listen()

    def stop(self) -> None:
        """Ask a running :meth:`wait` to end; may be called by a signal handler."""
        self._stopped.set()
        self._hint.set()

    def close(self) -> None:
        """Give the system's watches back."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.unschedule_all()
            observer.stop()
            observer.join(5.0)
        self._losses.detach()

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def forget(self) -> None:
        """Take the hints that came so far as answered, but never a :meth:`stop`; call it before the look."""
        self._hint.clear()
        if self._stopped.is_set():
            self._hint.set()

    def hinted(self) -> bool:
        """Whether something may have changed since :meth:`forget`."""
        return self._hint.is_set()

    def wait(self) -> bool:
        """Wait until a look is due and its burst is over; False if the watcher was stopped.

        A watch that was lost, or lost events, is taken up again before.
        """
        due = time.monotonic() + (self._poll if self.polling else SWEEP)
        while True:
            if not self._stopped.is_set() and not self._is_whole():
                self._again()
                break
            left = due - time.monotonic()
            if self._hint.is_set() or left <= 0:
                break
            self._hint.wait(min(CHECK, left))
        if self._hint.is_set():
            self._settle()
        return not self._stopped.is_set()

    def _settle(self) -> None:
        """Wait for the end of a burst."""
        ends = time.monotonic() + LONGEST
        while not self._stopped.is_set() and time.monotonic() < ends:
            self._hint.clear()
            if not self._hint.wait(DEBOUNCE):
                break
        self._hint.set()

    def _listen(self) -> str:
        """Ask the system for events; why there are none, or an empty text."""
        if self._asked_to_poll:
            return f"looking every {self._poll:g} s, as asked"
        if not database.is_local(self.root):
            return f"{self.root} is on a network or shared file system, which reports no changes"
        wanted: list[type[events.FileSystemEvent]] = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
        ]
        if sys.platform == "linux":  # a save is over when the file is closed; until then each write is an event
            wanted[1] = events.FileClosedEvent
        handler = events.FileSystemEventHandler()
        handler.on_any_event = self._on_event  # type: ignore[method-assign]
        self._losses.attach()
        # After lost events watchdog takes up folders again and warns of each that it watched already.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        try:
            observer = Observer()
            observer.schedule(handler, str(self.root), recursive=True, event_filter=wanted)
            observer.start()
        except OSError as error:
            self._losses.detach()
            return f"the system gives no events for {self.root} ({error.strerror or error})"
        self._observer = observer
        if self._has_gaps():
            self.close()
            return (
                f"the system can't watch all folders of {self.root} (fs.inotify.max_user_watches is reached): "
                f"looking every {self._poll:g} s"
            )
        return ""

    def _has_gaps(self) -> bool:
        """Whether folders of the vault have no watch: at the system's limit watchdog passes them over in silence."""
        if sys.platform != "linux" or self._observer is None:
            return False
        from watchdog.observers import inotify_c

        probe = inotify_c.inotify_init()
        if probe < 0:
            return False  # nothing is known then
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

    def _matters(self, path: str) -> bool:
        """Whether a change at this path may change what is found."""
        steps = os.path.relpath(path, self.root).split(os.sep)
        if steps[0] in CONFIGURATION:
            return steps[-1].endswith((".json", ".toml"))
        return not any(step.startswith(".") and step != "." for step in steps)

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.root)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _is_whole(self) -> bool:
        """Whether the folder is the one that is watched, and the watch lives and lost nothing."""
        observer = self._observer
        alive = observer is None or (observer.is_alive() and all(e.is_alive() for e in observer.emitters))
        return alive and not self._losses.lost and self._seen() == self._identity and not self._has_gaps()

    def _again(self) -> None:
        """Take up a watch that was lost: the folder was unmounted, moved, or made again."""
        self.close()
        self._identity = self._seen()
        self.polling = self._listen() if self._identity else f"{self.root} is not there"


class _Losses(logging.Handler):
    """watchdog tells of lost events by its log only; a record of it is a hint, and is not printed.

    watchdog then takes up all folders again on the queue that overflowed. Each watch that it gives back is an event
    there, so a vault of more folders than the queue has places would overflow it for ever: :attr:`lost` asks for a
    watch with a queue of its own instead.
    """

    def __init__(self, hint: threading.Event) -> None:
        super().__init__(logging.WARNING)
        self.lost = False
        self._hint = hint
        self._logger = logging.getLogger("watchdog")

    def attach(self) -> None:
        self.lost = False
        self._logger.addHandler(self)
        self._logger.propagate = False

    def detach(self) -> None:
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        self.lost = True
        self._hint.set()


CLIENT_PATIENCE = 1.0
"""Seconds for a client to say its question."""

MOST_CLIENTS = 32
"""Questions answered at once; more are turned away, and those searches do their own work."""


class WarmServer:
    """Answers on a socket until it is closed.

    Args:
        path: of the socket; a stale one there is replaced (the caller holds the watcher's lock).
        identity: the model's.
        answer: from text to vectors; called from several threads.

    Raises:
        OSError: no socket can be made there.
    """

    def __init__(self, path: Path, identity: str, answer: Callable[[str], models.QueryVector]) -> None:
        self.path = path
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with models.reachable(path) as address:
            self._server = _Server(address, identity, answer)
        os.chmod(path, 0o600)
        self._made = os.lstat(path).st_ino
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.5,), name="warm", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering, and remove the socket unless another one stands there by now."""
        self._server.shutdown()
        self._server.server_close()
        with contextlib.suppress(OSError):
            if os.lstat(self.path).st_ino == self._made:
                self.path.unlink()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: str, identity: str, answer: Callable[[str], models.QueryVector]) -> None:
        self.identity = identity
        self.answer = answer
        self.room = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(address, _Question)

    def verify_request(self, request: socket, client_address: object) -> bool:  # type: ignore[override]  # noqa: ARG002
        """Only so many at once; the folder and the file's mode keep other users out."""
        return self.room.acquire(blocking=False)

    def finish_request(self, request: socket, client_address: object) -> None:  # type: ignore[override]
        try:
            super().finish_request(request, client_address)
        finally:
            self.room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves or stalls is ignored: it does its own work."""


class _Question(socketserver.StreamRequestHandler):
    server: _Server
    timeout = CLIENT_PATIENCE

    def handle(self) -> None:
        head = self.rfile.readline(256)
        expected = models.GREETING + self.server.identity.encode("ascii") + b" "
        length = head.removeprefix(expected).strip()
        if not head.startswith(expected) or not length.isdigit() or int(length) > models.MAX_QUERY:
            return
        data = self.rfile.read(int(length))
        if len(data) == int(length):
            with contextlib.suppress(TarsError):  # the search says it itself when it opens the model
                self.wfile.write(models.pack(self.server.answer(data.decode("utf-8", "surrogatepass"))))
