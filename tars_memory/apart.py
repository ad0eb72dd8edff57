"""Starting ourselves anew: how a service calls the program, and a process that lives on when its starter ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def program() -> list[str]:
    """The words by which a service calls the program: with its whole path, or by way of this Python."""
    called = sys.argv[0] if sys.argv else ""
    installed = [called] if os.path.isabs(called) and not called.endswith(".py") else []
    installed += [shutil.which(os.path.basename(called)) or "", shutil.which("tars-memory") or ""]
    installed.append(os.path.join(os.path.dirname(sys.executable), "tars-memory"))
    found = next((path for path in installed if os.path.isfile(path) and os.access(path, os.X_OK)), "")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "tars_memory"]


def spawn(argv: list[str], env: Mapping[str, str], last_words: str) -> None:
    """Start a process that shares nothing with ours, not even a terminal; what it says goes into a file.

    Raises:
        OSError: it can't be started.
    """
    if not hasattr(os, "posix_spawn"):
        _spawn_elsewhere(argv, env, last_words)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, last_words, flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        os.posix_spawn(argv[0], argv, env, file_actions=streams, setsid=True)
    except NotImplementedError:  # an older system: the process leaves the terminal by itself
        os.posix_spawn(argv[0], argv, env, file_actions=streams)


def _spawn_elsewhere(argv: list[str], env: Mapping[str, str], last_words: str) -> None:
    """The same on Windows."""
    apart = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    with open(last_words, "wb") as said:
        subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, creationflags=apart)
