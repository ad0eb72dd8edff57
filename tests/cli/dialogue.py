"""A program on a terminal of its own (a pty) that is talked to: wait for what it shows, type, look at the screen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path


class Dialogue:
    """One program.

    Args:
        argv: of the program.
        env: its environment.
        cwd: where it runs.
        columns: the terminal's width.
    """

    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path, *, columns: int = 100) -> None:
        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *argv],  # Ctrl-C and hang-ups come from the terminal
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=env,
            cwd=cwd,
        )
        os.close(follower)
        self.screen = b""
        self._read = 0

    def wait_for(self, text: str, timeout: float = 120.0) -> str:
        """Everything shown since the last wait, up to and with this text."""
        deadline = time.monotonic() + timeout
        wanted = text.encode()
        while wanted not in self.screen[self._read :]:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} never came; the screen: {self.screen.decode('utf-8', 'replace')}")
        end = self.screen.index(wanted, self._read) + len(wanted)
        shown = self.screen[self._read : end]
        self._read = end
        return shown.decode("utf-8", "replace")

    def wait_until(self, shown: Callable[[bytes], bool], timeout: float = 120.0) -> bool:
        """Read on until the screen shows what is waited for; False if the program ends before."""
        deadline = time.monotonic() + timeout
        while not shown(self.screen):
            if not self._more(deadline):
                return shown(self.screen)
        return True

    def type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def end(self, timeout: float = 120.0) -> int:
        """Wait until it ends; its exit code."""
        deadline = time.monotonic() + timeout
        while self._more(deadline):
            pass
        code = self.process.wait(max(0.1, deadline - time.monotonic()))
        with contextlib.suppress(OSError):
            os.close(self.leader)
        return code

    def interrupt(self) -> int:
        """Press Ctrl-C and wait until it ends; its exit code. Python misses a signal that comes in the instant between
        its last look and the read that it then waits in, so a key that does nothing for long is pressed again.
        """
        for _ in range(3):
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                return self.end(20.0)
        return self.end()

    def hang_up(self) -> None:
        """Close the terminal's window."""
        os.close(self.leader)
        self.process.wait(120)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(120)
        with contextlib.suppress(OSError):
            os.close(self.leader)

    def _more(self, deadline: float) -> bool:
        """Take in what comes within a moment; False if nothing will come any more."""
        if time.monotonic() > deadline:
            raise AssertionError(f"too slow; the screen: {self.screen.decode('utf-8', 'replace')}")
        ready, _, _ = select.select([self.leader], [], [], 0.1)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self.leader, 65536)
        except OSError:
            return False
        self.screen += data
        return bool(data)
