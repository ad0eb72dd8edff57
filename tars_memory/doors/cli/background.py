"""Background work: ``python -m tars_memory.doors.cli.background``.

A hook starts it to examine a conversation, without waiting for the result, which goes into the log. A search starts it
to finish an index (``index VAULT``); a file that ``status`` reads shows the progress.
"""

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
from tars_memory.index import detached, intake
from tars_memory.index.database import BACKGROUND, WRITER_WAIT, IndexFiles
from tars_memory.jobs.hooks import HookFolder
from tars_memory.memory import Memory
from tars_memory.settings import HookOptions, Settings
from tars_memory.vault.writing.system import alone

NICENESS = 10

POLL = 0.5
"""Seconds between two checks whether the run before this one has ended."""

LOGGED = 600
"""Maximum number of characters of the command's messages that go into the log."""

EXAMINED = FINISHED = 0
UNREADABLE = 3
"""The exit code of ``extract`` for a log that it can't read: reading the same bytes again would be useless."""

PORTION = 512
"""Passages to embed between two checks of power, vault and settings: about 10 s of work."""

NEWS = 1.0
"""Seconds between two reports of progress."""


class FirstWords(io.StringIO):
    """A stream that keeps the beginning of the text written to it, and drops the rest."""

    def write(self, text: str) -> int:
        """Keep as much of the text as there is room for; return its full length."""
        super().write(text[: max(0, LOGGED - self.tell())])
        return len(text)


def main(folder: str, vault: str, transcript: str, goes_on: str = "") -> int:
    """Examine a conversation; first wait for a run that is examining it. If another run is already waiting, it will
    read the whole conversation, so this one ends.

    Args:
        folder: the folder of the hooks' log and copies.
        vault: its real path.
        transcript: the conversation's log.
        goes_on: not empty if the mark stays (:func:`tars_memory.jobs.hooks.start_background`).

    Returns:
        The exit code of ``extract``; 0 if another run does the work.
    """
    desk = HookFolder(folder)
    options = Settings(os.environ).hook
    _detach(options.longest)
    with contextlib.ExitStack() as turn:
        try:
            _take_turn(desk, transcript, turn)
        except BusyError:
            return EXAMINED
        _detach(options.longest)
        desk.prune()
        return _examine(desk, vault, transcript, options, goes_on=bool(goes_on))


def _take_turn(desk: HookFolder, transcript: str, turn: contextlib.ExitStack) -> None:
    """Wait until no other run examines the conversation, and hold its lock until ``turn`` closes.

    Raises:
        BusyError: another run waits already, and will read the conversation later than now.
    """
    with alone(desk.lock(transcript, "next"), "hook", "another run waits", ""):
        while True:
            try:
                turn.enter_context(alone(desk.lock(transcript, "run"), "hook", "a run is at work", ""))
            except BusyError:
                time.sleep(POLL)
            else:
                return


def _examine(desk: HookFolder, vault: str, transcript: str, options: HookOptions, *, goes_on: bool) -> int:
    """Run ``extract`` on the transcript and on those of its copies that have more; log and return its exit code."""
    begun, moment = time.monotonic(), 0.0 if goes_on else time.time()
    copies, sources = desk.kept(transcript), desk.sources(transcript)
    if not sources:
        desk.drop(transcript, [], moment)
        return EXAMINED
    desk.begin(transcript)
    model = ["--model", options.model] if options.model else []
    with _captured_messages() as messages:
        code = run(["--vault", vault, "extract", "--auto", *model, "--", *sources])
    if code == EXAMINED:
        desk.drop(transcript, copies, moment)
    elif code == UNREADABLE:
        desk.drop(transcript, [], moment)
    text = masked(messages.getvalue().strip().replace("tars-memory: ", ""))
    desk.log(f"background: {transcript}: exit {code} after {time.monotonic() - begun:.1f} s: {text or 'nothing new'}")
    return code


@contextlib.contextmanager
def _captured_messages() -> Iterator[FirstWords]:
    """Capture stderr during the block; drop stdout, which holds the person's own words."""
    messages = FirstWords()
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(messages),
    ):
        yield messages


def finish(vault: str) -> int:
    """Read the notes that are not in the index yet, the newest first, and make the missing vectors.

    Only one such process runs at a time. It ends when all is done, on battery, when the vault is gone, and at the first
    error, and records which in its progress file. Work that is done by then is not lost.

    Args:
        vault: its path.

    Returns:
        The exit code, always 0: nobody waits for it.
    """
    _detach(0)
    try:
        with Memory(vault) as memory, IndexFiles(memory.workspace.ensure_state()).lock(0.0, BACKGROUND) as mine:
            if mine:
                _Finishing(memory).run()
    except TarsError:
        pass  # no vault, or no folder for the progress file
    return FINISHED


class _Finishing:
    """One run over one vault; the caller holds the lock."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._reported = 0.0
        self._first: tuple[float, int] | None = None  # when the first of a portion were made, and how many were then
        self._work = detached.Work(speed=detached.read_progress(memory.workspace.state).speed)

    def run(self) -> None:
        """Do the work, and record how it ended."""
        ended = ""
        try:
            self._read()
            ended = self._embed()
        except TarsError as error:
            ended = reason(error)
        self._report(self._work._replace(ended=ended), now=True)

    def _read(self) -> None:
        budget = intake.RefreshBudget(None, WRITER_WAIT, strict=True, wanted="")
        self.memory.workspace.index().refresh(budget, self._report_progress)

    def _report_progress(self, phase: str, done: int, total: int) -> None:
        self._report(self._work._replace(phase=phase, done=done, total=total))

    def _embed(self) -> str:
        """Make the vectors, portion by portion; return why it stopped early, or an empty text."""
        index = self.memory.workspace.index()
        pending = total = index.pending()
        former = self.memory.workspace.makes_vectors and index.reader().fingerprint  # may be another model's
        if (pending or former) and not detached.on_battery():
            self.memory.workspace.embedder = self.memory.workspace.open_embedder()  # once for all portions
            pending = total = index.embed_pending(0)  # after a change of the model: those of all texts
        while pending:
            if detached.on_battery():
                return detached.BATTERY
            self._first = None
            left = index.embed_pending(PORTION, partial(self._report_vectors, total - pending, total))
            if left >= pending:
                return ""  # another process is doing it, or the rest can't get vectors
            self._read()
            embedder, held = self.memory.workspace.embedder, index.reader().fingerprint
            apart = embedder is not None and held not in (None, embedder.fingerprint)
            pending = left if apart else index.pending()  # another model's vectors are still used: counted separately
            total = max(total, pending)
        return self._embed_talks()

    def _embed_talks(self) -> str:
        """Make the vectors of the conversations that are searched beside the vault; return as :meth:`_embed` does."""
        talks = self.memory.workspace.talks()
        if talks is not None and talks.index.exists and talks.index.pending():
            if detached.on_battery():
                return detached.BATTERY
            self._first = None
            talks.index.embed_pending(
                self.memory.workspace.open_embedder, partial(self._report_vectors, 0, talks.index.pending())
            )
        return ""

    def _report_vectors(self, before: int, total: int, _phase: str, done_now: int, _of: int) -> None:
        done, now = before + done_now, time.monotonic()
        self._first = self._first or (now, done)  # opening the model and reading notes take time, too
        took = now - self._first[0]
        speed = (done - self._first[1]) / took if took >= detached.LEAST else self._work.speed
        self._work = self._work._replace(speed=round(speed, 2))
        self._report_progress("vectors", done, total)

    def _report(self, work: detached.Work, *, now: bool = False) -> None:
        """Write the progress file, if ``now`` or if the last report is long enough ago."""
        self._work = work
        if now or time.monotonic() - self._reported >= NEWS:
            self._reported = time.monotonic()
            detached.write_progress(self.memory.workspace.state, work._replace(at=time.time()))


def _detach(longest: int) -> None:
    """Run at low priority in a separate session, killed after ``longest`` seconds (0: never); then the kernel frees
    its locks.
    """
    if hasattr(signal, "alarm"):
        signal.alarm(longest)
    if hasattr(os, "nice") and os.nice(0) < NICENESS:
        os.nice(NICENESS)
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # it already leads its own session
            os.setsid()


if __name__ == "__main__":
    sys.exit(finish(*sys.argv[2:]) if sys.argv[1:2] == ["index"] else main(*sys.argv[1:]))
