"""What a hook leaves to the background: examine one conversation. ``python -m tars_memory.cli.background`` runs it.

Whoever began it does not wait and does not look: what happens is told by the log.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from tars_memory.cli.output import masked
from tars_memory.errors import BusyError
from tars_memory.hooks import Desk, holds
from tars_memory.options import HookOptions
from tars_memory.settings import Places, Settings
from tars_memory.vault.writing.lock import alone

if TYPE_CHECKING:
    from collections.abc import Iterator

NICENESS = 10

ASIDE = 0.5
"""Seconds between two looks whether the run before this one has ended."""

MOST_WORDS = 600
"""Characters of what the command said that are put into the log."""

EXAMINED = 0


class LastWords(io.StringIO):
    """A stream that keeps the beginning of what is written to it, and takes the rest."""

    def write(self, text: str) -> int:
        """Take all of the text, keep what there is room for."""
        super().write(text[: max(0, MOST_WORDS - self.tell())])
        return len(text)


def main(folder: str, vault: str, transcript: str) -> int:
    """Examine a conversation, after the run that may be at it; if one waits already, it will see all that is there.

    Args:
        folder: where hooks write down what they do.
        vault: its real path.
        transcript: the conversation's log.

    Returns:
        The exit code: of ``extract``; 0 if another run does the work.
    """
    desk = Desk(folder)
    settings = Settings(os.environ, Places.of(os.environ))
    options = settings.options("hook", HookOptions)
    _go_aside(options.longest)
    with contextlib.ExitStack() as turn:
        try:
            _take_turn(desk, transcript, turn)
        except BusyError:
            return EXAMINED
        _go_aside(options.longest)
        desk.prune()
        return _examine(desk, vault, transcript, options)


def _take_turn(desk: Desk, transcript: str, turn: contextlib.ExitStack) -> None:
    """Wait for the run that is at it; not if another one waits.

    Raises:
        BusyError: another one waits, and will look at the conversation after this moment.
    """
    with alone(desk.lock(transcript, "next"), "hook", "another run waits", ""):
        while True:
            try:
                turn.enter_context(alone(desk.lock(transcript, "run"), "hook", "a run is at it", ""))
            except BusyError:
                time.sleep(ASIDE)
            else:
                return


def _examine(desk: Desk, vault: str, transcript: str, options: HookOptions) -> int:
    from tars_memory.cli.app import run

    there = os.path.isfile(transcript)
    copies = desk.kept(transcript)
    held = [copy for copy in copies if there and holds(transcript, copy)]
    sources = [*(copy for copy in copies if copy not in held), *([transcript] if there else [])]
    if not sources:
        return EXAMINED
    model = ["--model", options.model] if options.model else []
    begun = time.monotonic()
    with _talk() as said:
        code = run(["--vault", vault, "extract", "--auto", *model, "--", *sources])
    if code == EXAMINED:
        desk.drop(transcript, copies)
    told = masked(said.getvalue().strip().replace("tars-memory: ", ""))
    desk.log(f"background: {transcript}: exit {code} after {time.monotonic() - begun:.1f} s: {told or 'nothing new'}")
    return code


@contextlib.contextmanager
def _talk() -> Iterator[LastWords]:
    """What is said on stderr meanwhile; what is printed are the person's words, and goes nowhere."""
    said = LastWords()
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(said),
    ):
        yield said


def _go_aside(longest: int) -> None:
    """Let everybody else go first, and end by force after so many seconds: then the kernel frees the locks."""
    if hasattr(signal, "alarm"):
        signal.alarm(longest)
    if hasattr(os, "nice") and os.nice(0) < NICENESS:
        os.nice(NICENESS)
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # it leads a session of its own already
            os.setsid()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
