"""The line that says what is under way: what it says, when it is drawn, that nothing of it stays."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.output import Output, Progress
from tars_memory.testing import make_vault


class Terminal(io.StringIO):
    """A terminal of 80 columns that remembers what was written to it."""

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> str:
        """What stands on its last line."""
        line: list[str] = []
        at = 0
        for sign in self.getvalue().rpartition("\n")[2]:
            if sign == "\r":
                at = 0
                continue
            line[at : at + 1] = [sign]
            at += 1
        return "".join(line).rstrip()


class Clock:
    """Seconds that go on when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@pytest.fixture
def progress(terminal: Terminal, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Progress:
    monkeypatch.setattr(Progress, "_run", lambda _: None)  # the test draws
    return Progress(terminal, clock)


def test_it_says_how_much_is_done_and_how_long_the_rest_takes(
    progress: Progress, terminal: Terminal, clock: Clock
) -> None:
    progress("reading notes", 0, 6_600)
    clock.now = 0.2
    progress.draw()
    assert terminal.screen == ""  # what is done by now need not be told
    clock.now = 0.9
    progress("reading notes", 600, 6_600)
    progress.draw()
    assert terminal.screen == "reading notes: 600 of 6,600"
    clock.now = 2.0
    progress("reading notes", 1_320, 6_600)
    progress.draw()
    assert terminal.screen == "reading notes: 1,320 of 6,600, about 8 s left"
    progress("reading notes", 6_600, 6_600)
    assert terminal.screen == ""


def test_what_went_before_we_looked_does_not_count_for_its_speed(progress: Progress, clock: Clock) -> None:
    progress("vectors", 900, 1_000)
    clock.now = 10.0
    progress("vectors", 950, 1_000)
    assert progress.line() == "vectors: 950 of 1,000, about 10 s left"


def test_work_of_unknown_length_goes_on_being_told(progress: Progress, terminal: Terminal, clock: Clock) -> None:
    progress("checking the index", 0, 0)
    for second in (1, 2, 3):
        clock.now = float(second)
        progress.draw()
        assert terminal.screen == f"checking the index, {second} s"
    progress("comparing", 0, 0)
    progress.draw()
    assert terminal.screen == "comparing"


def test_whatever_else_is_written_takes_its_place(terminal: Terminal, clock: Clock) -> None:
    out = Output({}, stdout=Terminal(), stderr=terminal)
    progress = out.progress()
    assert progress is not None
    progress._clock = clock
    progress("searching", 0, 0)
    clock.now = 1.0
    progress.draw()
    assert terminal.screen.startswith("searching")
    out.say("found")
    assert terminal.getvalue().endswith("\rtars-memory: found\n")
    progress.draw()
    assert terminal.screen == ""
    out.close()


def test_a_narrow_terminal_is_not_broken(progress: Progress, terminal: Terminal, clock: Clock) -> None:
    progress("a phase with a very long name " * 9, 0, 0)
    clock.now = 1.0
    progress.draw()
    assert len(terminal.screen) == 79


@pytest.mark.parametrize("quiet", [False, True])
def test_in_a_pipe_there_is_none(quiet: bool) -> None:
    out = Output({}, stdout=io.StringIO(), stderr=Terminal() if quiet else io.StringIO())
    out.quiet = quiet
    assert out.progress() is None


def test_a_closed_terminal_stops_nothing(progress: Progress, terminal: Terminal, clock: Clock) -> None:
    terminal.close()
    progress("reading notes", 1, 9)
    clock.now = 1.0
    progress.draw()
    progress.close()


@pytest.mark.parametrize(
    ("argv", "phase"),
    [
        (["export", "x.db"], "writing"),
        (["sleep", "--dry-run"], "night"),
        (["forget", "tea"], "looking through"),
        (["tidy"], "looking through"),
    ],
)
def test_work_that_counts_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], phase: str
) -> None:
    named: list[str] = []
    monkeypatch.setattr(Output, "announce", lambda _, phase, *_counts: named.append(phase))
    monkeypatch.chdir(tmp_path)
    root = make_vault(tmp_path / "vault", {"Memory.md": "- tea\n"})
    assert run(argv, Call({"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_DIR": str(root)})) == 0
    assert any(phase in each for each in named)
