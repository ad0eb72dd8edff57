"""One line on a terminal's stderr that says what is under way, redrawn in its place until something else is said.

A clock of its own redraws it, so that it goes on while the work is in one long call. Anywhere but on a terminal
nothing is drawn.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, TextIO

from tars_memory.errors import duration

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = 0.3
"""Seconds before the line is drawn: what is done by then need not be told."""
AGAIN = 0.2
"""Seconds between two drawings."""
BELIEVED = 1.0
"""Seconds of a phase before its speed says how much time is left."""


class Progress:
    """What is under way; called with a phase, how much of it is done, and how much there is (0: not known).

    Args:
        stream: a terminal.
        clock: seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._phase = ""
        self._done = self._total = self._before = 0
        self._begun = self._quiet = 0.0
        self._shown = 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Take in how far the work is; the line goes when all of a phase is done."""
        with self._lock:
            now = self._clock()
            if phase != self._phase:
                self._begun, self._before = now, done
                if not self._phase:
                    self._quiet = now
            self._phase, self._done, self._total = phase, done, total
            if total and done >= total:
                self._end()
        if phase and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Take the line away: something else is going to be written, or read."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Take the line away for good."""
        self.clear()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """What is under way, in words; empty for nothing."""
        if not self._phase:
            return ""
        took = self._clock() - self._begun
        if not self._total:
            return f"{self._phase}, {took:.0f} s" if took >= BELIEVED else self._phase
        text = f"{self._phase}: {self._done:,} of {self._total:,}"
        done = self._done - self._before
        if done > 0 and took >= BELIEVED:
            text += f", {duration(took / done * (self._total - self._done))} left"
        return text

    def draw(self) -> None:
        """Draw the line as it is now, if it is time."""
        with self._lock:
            if self._phase and self._clock() - self._quiet >= FIRST:
                self._write(self.line())

    def _end(self) -> None:
        self._phase = ""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        """Put a text in the place of the one before it: blanks over its rest, the cursor back at the start."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            columns = 80
        text = text[: columns - 1]
        blanks = " " * max(0, min(self._shown, columns - 1) - len(text))
        try:
            self._stream.write(f"\r{text}{blanks}" + ("" if text else "\r"))
            self._stream.flush()
        except (OSError, ValueError):
            pass  # nobody looks
        self._shown = len(text)

    def _run(self) -> None:
        while not self._wake.wait(AGAIN):
            self.draw()
