"""Processes run in turn (A B C, A B C, …), each told its CPU time and peak memory by the kernel."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

NOTHING = os.devnull


class Cost(NamedTuple):
    """What one process took."""

    cpu: float
    """Seconds, user and system."""
    memory: float
    """Peak resident set, MB."""
    exit_code: int


class Case(NamedTuple):
    """One thing to measure: how to make the command line of its next run, and which exit codes are right."""

    argv: Callable[[int], Sequence[str]]
    env: Mapping[str, str]
    expected: tuple[int, ...] = (0,)


class Median(NamedTuple):
    """The middle of many runs."""

    cpu: float
    memory: float


def run(argv: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Run a process to its end, output thrown away, and ask the kernel what it took."""
    actions = [(os.POSIX_SPAWN_OPEN, fd, NOTHING, os.O_RDWR, 0) for fd in (0, 1, 2)]
    pid = os.posix_spawn(argv[0], argv, dict(env), file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    scale = 1 << 20 if os.uname().sysname == "Darwin" else 1 << 10
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, os.waitstatus_to_exitcode(status))


def interleaved(cases: Mapping[str, Case], rounds: int) -> dict[str, Median]:
    """Run every case in turn, once unmeasured and then so many rounds; the medians.

    Raises:
        RuntimeError: a command left with an exit code that isn't right for it.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in cases}
    for number in range(-1, rounds):
        for name, case in cases.items():
            argv = case.argv(number)
            cost = run(argv, case.env)
            if cost.exit_code not in case.expected:
                raise RuntimeError(f"{name}: exit code {cost.exit_code} of {' '.join(argv)}")
            if number >= 0:
                costs[name].append(cost)
    return {
        name: Median(statistics.median(cost.cpu for cost in some), statistics.median(cost.memory for cost in some))
        for name, some in costs.items()
    }


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text in columns, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join((title, "-" * len(title), *lines, ""))


def verdict(value: float, limit: float, *, least: bool = False) -> str:
    """Whether a limit is kept."""
    return "ok" if (value >= limit if least else value <= limit) else "OVER" if not least else "UNDER"
