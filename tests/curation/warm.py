"""The process that asks a model, forked from one that has imported litellm already: an import takes seconds.

What it does is the real thing, from the first line that it is sent; that it can be started as it is started in
earnest is shown by the tests in ``test_llm.py`` that take no ``warm``.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest

from tars_memory.curation.models import llm, provider

KEEPS = """
import importlib.util, json, os, socket, sys
spec = importlib.util.spec_from_file_location("provider", sys.argv[1])
provider = importlib.util.module_from_spec(spec)
spec.loader.exec_module(provider)
os.environ.update(provider.ENVIRONMENT)
import litellm
try:  # what it imports and makes with its first call; nobody listens there
    litellm.completion(
        model="openai/x", messages=[{"role": "user", "content": "x"}], api_key="x",
        api_base="http://127.0.0.1:9/v1", timeout=1, max_retries=0,
    )
except Exception:
    pass
orders = socket.socket(fileno=0)
while True:
    words, ends, _, _ = socket.recv_fds(orders, 1_000_000, 2)
    if not words:
        os._exit(0)
    try:  # those that have ended, so that what they took is counted
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    child = os.fork()
    if child:
        for end in ends:
            os.close(end)
        orders.sendall(b"%d\\n" % child)
        continue
    os.environ.clear()
    os.environ.update(json.loads(words))
    os.dup2(ends[0], 0)
    os.dup2(ends[1], 1)
    for end in (*ends, orders.fileno()):
        end > 2 and os.close(end)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    provider.main()
"""


class Forked:
    """As much of a ``Popen`` as :class:`tars_memory.curation.models.llm._Process` needs."""

    def __init__(self, pid: int, stdin: IO[str], stdout: IO[str]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def poll(self) -> int | None:
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return 0
        return 0 if state in "ZX" else None

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 60) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        return self.poll() or 0


class Kept:
    """The process that is forked from, started when it is first needed."""

    def __init__(self) -> None:
        self._orders: socket.socket | None = None

    def popen(self, _: object, *, env: dict[str, str], **__: Any) -> Forked:
        if self._orders is None:
            self._orders, theirs = socket.socketpair()
            command = [sys.executable, "-P", "-c", KEEPS, provider.__file__]
            self._process = subprocess.Popen(
                command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            theirs.close()
            atexit.register(self.end)
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        socket.send_fds(self._orders, [json.dumps(env).encode()], [read, write])
        os.close(read)
        os.close(write)
        pid = int(self._orders.recv(20))
        return Forked(pid, os.fdopen(stdin, "w", encoding="utf-8"), os.fdopen(stdout, encoding="utf-8"))

    def end(self) -> None:
        if self._orders is not None:
            self._orders.close()
            self._process.wait()


class Subprocess:
    """The module as ``remote`` sees it."""

    PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL

    def __init__(self, kept: Kept) -> None:
        self.Popen = kept.popen


KEPT = Kept()


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, in this process, asking processes are forked."""
    monkeypatch.setattr(llm, "subprocess", Subprocess(KEPT))
