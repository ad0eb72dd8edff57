"""The process that asks a model, forked from one that has imported litellm already: an import takes seconds.

What it does is the real thing, from the first line that it is sent; that it can be started as it is started in
earnest is shown by the tests in ``test_llm.py`` that take no ``warm``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Any

import forked
import pytest

from tars_memory.curation.models import llm, provider


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


SERVER = forked.Server(provider=provider.__file__)


def popen(_: object, *, env: dict[str, str], **__: Any) -> Forked:
    """A fork instead of what should be started."""
    (read, stdin), (stdout, write) = os.pipe(), os.pipe()
    nothing, folder = os.open(os.devnull, os.O_WRONLY), os.open("/", os.O_RDONLY)
    files = [read, write, nothing, folder]
    told = forked.handed(SERVER.address(), ["-"], env, files, first="tell")
    for each in files:
        os.close(each)
    with told:
        pid = int.from_bytes(told.recv(8), "little")
    return Forked(pid, os.fdopen(stdin, "w", encoding="utf-8"), os.fdopen(stdout, encoding="utf-8"))


class Subprocess:
    """The module as ``remote`` sees it."""

    PIPE, DEVNULL, Popen = subprocess.PIPE, subprocess.DEVNULL, staticmethod(popen)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, in this process, asking processes are forked."""
    monkeypatch.setattr(llm, "subprocess", Subprocess())
