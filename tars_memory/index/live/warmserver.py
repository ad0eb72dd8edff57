"""The watcher's side of :mod:`tars_memory.index.live.warm`: the model, held open, answers queries of the same user."""

from __future__ import annotations

import contextlib
import os
import socketserver
import threading
from typing import TYPE_CHECKING

from tars_memory.errors import TarsError
from tars_memory.index.embedding.queryvector import pack
from tars_memory.index.live.warm import GREETING, LONGEST_QUERY, reachable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socket import socket

    from tars_memory.index.embedding.queryvector import QueryVector

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

    def __init__(self, path: Path, identity: str, answer: Callable[[str], QueryVector]) -> None:
        self.path = path
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with reachable(path) as address:
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

    def __init__(self, address: str, identity: str, answer: Callable[[str], QueryVector]) -> None:
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
        """A client that leaves or stalls is no matter of ours: it does its own work."""


class _Question(socketserver.StreamRequestHandler):
    server: _Server
    timeout = CLIENT_PATIENCE

    def handle(self) -> None:
        head = self.rfile.readline(256)
        expected = GREETING + self.server.identity.encode("ascii") + b" "
        length = head.removeprefix(expected).strip()
        if not head.startswith(expected) or not length.isdigit() or int(length) > LONGEST_QUERY:
            return
        data = self.rfile.read(int(length))
        if len(data) == int(length):
            with contextlib.suppress(TarsError):  # the search says it itself when it opens the model
                self.wfile.write(pack(self.server.answer(data.decode("utf-8", "surrogatepass"))))
