"""A terminal in tmux: real keys in, what the screen shows out."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE = 60.0
"""Seconds until what is waited for has to be seen, on the busiest machine."""


class Tmux:
    """One window with a shell script in it, until :meth:`close`.

    Args:
        folder: for its socket.
        script: for ``sh``.
        env: all of its environment.
        cwd: where it runs.
        size: columns and lines.
    """

    def __init__(
        self, folder: Path, script: str, env: Mapping[str, str], cwd: Path, size: tuple[int, int] = (80, 24)
    ) -> None:
        self._socket = folder / "tmux"
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), "sh", "-c", script]
        (folder / "tmux.conf").write_text("set -g status off\nset -g default-terminal screen-256color\n")
        self._config = folder / "tmux.conf"
        self.do("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", str(cwd), shlex.join(words))

    def do(self, *words: str) -> str:
        """A command of tmux; what it prints."""
        argv = ["tmux", "-u", "-S", str(self._socket), "-f", str(self._config), *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, env=None).stdout

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: ``Enter``, ``Down``, ``C-u``."""
        self.do("send-keys", *keys)

    def type(self, text: str) -> None:
        """Signs as they are."""
        self.do("send-keys", "-l", text)

    def screen(self, *, colours: bool = False) -> str:
        """What is to be seen, without blanks at the ends of lines."""
        shown = self.do("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(row.rstrip() for row in shown.rstrip("\n").split("\n"))

    def wait_for(self, *texts: str) -> str:
        """The screen as soon as it shows all of these."""
        return self.wait_until(lambda screen: all(text in screen for text in texts), " and ".join(map(repr, texts)))

    def wait_until(self, shown: Callable[[str], object], what: str) -> str:
        """The screen as soon as it shows what is waited for."""
        ends = time.monotonic() + PATIENCE
        while not shown(screen := self.screen()):
            assert time.monotonic() < ends, f"{what} never came; the screen:\n{screen}"
            time.sleep(0.02)
        return screen

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        self.do("resize-window", "-x", str(columns), "-y", str(lines))

    def child(self, program: Sequence[str]) -> int:
        """The process of a program that the script has started."""
        shell = self.do("display-message", "-p", "#{pane_pid}").strip()
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            for each in Path(f"/proc/{shell}/task/{shell}/children").read_text().split():
                if program[-1].encode() in Path(f"/proc/{each}/cmdline").read_bytes():
                    return int(each)
            time.sleep(0.02)
        raise AssertionError("it was not started")

    def close(self) -> None:
        """End it with all that runs in it."""
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)
