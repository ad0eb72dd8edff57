"""The program as a process: with pipes, or on a terminal of its own (a pty)."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from pathlib import Path

from forked import ROOT, program, script, started

__all__ = ["OURS", "ROOT", "environment", "on_a_terminal", "program", "rows", "script", "started"]

OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\]8;[^\x07\x1b]*\x1b\\")
"""What we print ourselves on a terminal: colours (SGR) and links (OSC 8)."""


def rows(seen: bytes) -> list[str]:
    """The rows of a screen, with their colours and links; of a row that was drawn over (progress), what came last."""
    text = seen.decode().replace("\r\n", "\n").rstrip("\n")
    return [row.rpartition("\r")[2] for row in text.split("\n")]


def environment(home: Path, **more: str) -> dict[str, str]:
    """A bare environment whose state lies below ``home``; the package is found without being installed."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "TARS_MEMORY_HOME": str(home),
        "TARS_NOW": "2026-11-21T14:30",
        "TZ": "UTC",
        "PAGER": "cat",  # nobody is there to leave one
        **more,
    }


def on_a_terminal(
    argv: list[str], env: dict[str, str], cwd: Path, *, timeout: float = 120.0, size: tuple[int, int] | None = None
) -> tuple[int, bytes]:
    """Run with stdin, stdout and stderr on one pty; exit code and everything that reached the screen.

    Args:
        size: columns and lines of the screen; None for a terminal that doesn't say.
    """
    import pty

    leader, follower = pty.openpty()
    if size is not None:
        import termios

        termios.tcsetwinsize(follower, size[::-1])
    process = subprocess.Popen(
        argv, stdin=follower, stdout=follower, stderr=follower, env=env, cwd=cwd, start_new_session=True
    )
    os.close(follower)
    screen = b""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ready, _, _ = select.select([leader], [], [], 0.2)
        if ready:
            try:
                data = os.read(leader, 65536)
            except OSError:  # the last one on the other side has left
                break
            if not data:
                break
            screen += data
        elif process.poll() is not None:
            break
    process.wait(max(0.1, deadline - time.monotonic()))
    os.close(leader)
    return process.returncode, screen
