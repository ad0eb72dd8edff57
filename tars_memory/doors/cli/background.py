"""What is left to the background, by ``python -m tars_memory.doors.cli.background``.

A hook leaves a conversation to be examined: it does not wait and does not look, and the log says what happens. A
search leaves the rest of an index to be made (``index VAULT``): a file that ``status`` reads says how far that is.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.output import masked
from tars_memory.errors import BusyError, TarsError, reason
from tars_memory.index import detached
from tars_memory.index.files import BACKGROUND, WRITER_WAIT, IndexFiles
from tars_memory.index.intake import RefreshBudget
from tars_memory.jobs.hooks import Desk, holds
from tars_memory.memory import Memory
from tars_memory.settings import HookOptions, Settings
from tars_memory.vault.writing.system import alone

NICENESS = 10

ASIDE = 0.5
"""Seconds between two looks whether the run before this one has ended."""

MOST_WORDS = 600
"""Characters of what the command said that are put into the log."""

EXAMINED = FINISHED = 0
UNREADABLE = 3
"""The exit code of ``extract`` for a log that it can't read: to look again at the same bytes is of no use."""

PORTION = 512
"""Passages between two looks at power, vault and settings: about 10 s of work."""

NEWS = 1.0
"""Seconds between two notes of how far the work is."""


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
    settings = Settings(os.environ)
    options = settings.hook
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
    there = os.path.isfile(transcript)
    copies = desk.kept(transcript)
    held = [copy for copy in copies if there and holds(transcript, copy)]
    sources = [*(copy for copy in copies if copy not in held), *([transcript] if there else [])]
    if not sources:
        desk.drop(transcript, [], time.time())
        return EXAMINED
    model = ["--model", options.model] if options.model else []
    begun, moment = time.monotonic(), time.time()
    with _talk() as said:
        code = run(["--vault", vault, "extract", "--auto", *model, "--", *sources])
    if code == EXAMINED:
        desk.drop(transcript, copies, moment)
    elif code == UNREADABLE:
        desk.drop(transcript, [], moment)
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


def finish(vault: str) -> int:
    """Read the notes that are not in the index yet, the newest first, and make the vectors that are missing.

    One such process at a time; it ends when all is done, on battery, when the vault is gone, and at the first error,
    and says which in its note. Whatever is done by then stays done.

    Args:
        vault: its path.

    Returns:
        The exit code, always 0: nobody waits for it.
    """
    _go_aside(0)
    try:
        with Memory(vault) as memory, IndexFiles(memory.workspace.made_state()).lock(0.0, BACKGROUND) as mine:
            if mine:
                _Finishing(memory).run()
    except TarsError:
        pass  # no vault, or no folder to say anything in
    return FINISHED


class _Finishing:
    """One run over one vault; the caller holds the lock."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._begun = self._told = 0.0
        self._work = detached.Work(speed=detached.told(memory.workspace.state).speed)

    def run(self) -> None:
        """Do what there is to do, and say how it ended."""
        ended = ""
        try:
            self._read()
            ended = self._embed()
        except TarsError as error:
            ended = reason(error)
        self._tell(self._work._replace(ended=ended), now=True)

    def _read(self) -> None:
        budget = RefreshBudget(None, WRITER_WAIT, strict=True, wanted="")
        self.memory.workspace.index().refresh(budget, self._far)

    def _far(self, phase: str, done: int, total: int) -> None:
        self._tell(self._work._replace(phase=phase, done=done, total=total))

    def _embed(self) -> str:
        """Make the vectors, portion by portion; why not all of them, or nothing."""
        index = self.memory.workspace.index()
        pending = total = index.pending()
        if pending:
            self.memory.workspace.embedder = self.memory.workspace.open_embedder()  # once for all portions
        self._begun = time.monotonic()
        while pending:
            if detached.on_battery():
                return detached.BATTERY
            left = index.embed_pending(PORTION, partial(self._made, total - pending, total))
            if left >= pending:
                return ""  # another process is at it, or what is left can't be given a vector
            self._read()
            pending = left if self._answered_by_another() else index.pending()
            total = max(total, pending)
        return self._embed_talks()

    def _embed_talks(self) -> str:
        """The same for the conversations that are searched beside the vault."""
        talks = self.memory.workspace.talks()
        if talks is not None and talks.index.exists and talks.index.pending():
            if detached.on_battery():
                return detached.BATTERY
            talks.index.embed_pending(
                self.memory.workspace.open_embedder, partial(self._made, 0, talks.index.pending())
            )
        return ""

    def _answered_by_another(self) -> bool:
        """Whether the vectors of another model answer until the new ones are made: these are counted apart."""
        embedder = self.memory.workspace.embedder
        held = self.memory.workspace.index().reader().fingerprint
        return embedder is not None and held not in (None, embedder.fingerprint)

    def _made(self, before: int, total: int, _phase: str, some: int, _of: int) -> None:
        done = before + some
        took = time.monotonic() - self._begun
        speed = done / took if took >= detached.LEAST else self._work.speed
        self._work = self._work._replace(speed=round(speed, 2))
        self._far("vectors", done, total)

    def _tell(self, work: detached.Work, *, now: bool = False) -> None:
        self._work = work
        if now or time.monotonic() - self._told >= NEWS:
            self._told = time.monotonic()
            detached.tell(self.memory.workspace.state, work._replace(at=time.time()))


def _go_aside(longest: int) -> None:
    """Let everybody else go first, and end by force after these seconds (0: never); then the kernel frees locks."""
    if hasattr(signal, "alarm"):
        signal.alarm(longest)
    if hasattr(os, "nice") and os.nice(0) < NICENESS:
        os.nice(NICENESS)
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # it leads a session of its own already
            os.setsid()


if __name__ == "__main__":
    sys.exit(finish(*sys.argv[2:]) if sys.argv[1:2] == ["index"] else main(*sys.argv[1:]))
