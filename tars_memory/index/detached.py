"""The process that finishes an index by itself: whether it may begin, whether it runs, what it says of itself.

It holds a lock for as long as it lives, which the kernel frees however it ends: so there is never a second one, and a
dead one is not taken for it. What it does stands in a small file beside the index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.disk import own_object, replace, spawn
from tars_memory.index.files import BACKGROUND, IndexFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


NOTE = "background.json"
LAST_WORDS = "background.out"
"""What it wrote on stderr: empty unless it met a bug."""
PAUSE = 600.0
"""Seconds after a run that ended with an error, or before it did anything, in which no search begins another one."""
BATTERY = "the machine runs on its battery"
"""Why a run ended that goes on when the machine is plugged in."""
LEAST = 2.0
"""Seconds of work before its speed is believed."""


class Work(NamedTuple):
    """What the process is at, or was at when it ended.

    Attributes:
        phase: as :data:`tars_memory.index.intake.READING` or ``vectors``.
        done, total: notes or passages of that phase.
        speed: passages that are given vectors in a second; 0: not known yet.
        at: when this was written, in seconds since 1970.
        ended: why it ended before all was done; empty while it runs and when all is done.
    """

    phase: str = ""
    done: int = 0
    total: int = 0
    speed: float = 0.0
    at: float = 0.0
    ended: str = ""


def told(state: Path) -> Work:
    """What the process of this vault last said of itself; of a damaged note, or none, nothing is known."""
    said = own_object(state / NOTE)
    known: list[Any] = [said.get(name, default) for name, default in Work._field_defaults.items()]
    alike = {str: (str,), int: (int,), float: (int, float)}
    right = zip(known, Work._field_defaults.values(), strict=True)
    return Work(*known) if all(type(value) in alike[type(default)] for value, default in right) else Work()


def tell(state: Path, work: Work) -> None:
    """Write down what the process is at; that must not stop it, so a full disk only costs the news."""
    with suppress(OSError):
        replace(state / NOTE, json.dumps(work._asdict()).encode())


def is_running(state: Path) -> bool:
    """Whether the process of this vault lives."""
    return IndexFiles(state).is_held(BACKGROUND)


def is_due(state: Path) -> bool:
    """Whether one may begin: none runs, and the last one did not just fail."""
    if is_running(state):
        return False
    last = told(state)
    if last.ended == BATTERY:
        return not on_battery()
    failed = bool(last.ended) or (last.total > 0 and not last.done)
    return not (failed and 0 <= time.time() - last.at < PAUSE)


def begin(state: Path, root: Path, env: Mapping[str, str]) -> bool:
    """Start the process for the vault at ``root``; False if it can't be started."""
    # -P: the folder that the person works in must not lend us its modules
    argv = [sys.executable, "-P", "-m", "tars_memory.doors.cli.background", "index", str(root)]
    try:
        spawn(argv, env, os.fspath(state / LAST_WORDS))
    except OSError:
        return False
    return True


# --- power

SUPPLIES = "/sys/class/power_supply"


def on_battery(supplies: str = SUPPLIES) -> bool:
    """Whether the machine runs on its battery, as far as the system tells: Linux and macOS are asked, Windows too.

    Args:
        supplies: Linux's folder of power supplies.
    """
    try:
        if sys.platform == "darwin":
            return _mac_says()
        if sys.platform == "win32":
            return _windows_says()
        return _linux_says(supplies)
    except (OSError, ValueError):
        return False


def _linux_says(supplies: str) -> bool:
    """A battery of the machine itself is being used up, and no mains is plugged in."""
    discharging = False
    for name in os.listdir(supplies):

        def said(what: str, name: str = name) -> str:
            try:
                with open(os.path.join(supplies, name, what), encoding="ascii", errors="replace") as file:
                    return file.read(100).strip()
            except OSError:
                return ""

        kind = said("type")
        if kind in ("Mains", "USB") and said("online") == "1":
            return False
        if kind == "Battery" and said("scope") != "Device":  # that of a mouse is none of ours
            discharging = discharging or said("status") == "Discharging"
    return discharging


def _mac_says() -> bool:
    asked = subprocess.run(["/usr/bin/pmset", "-g", "batt"], capture_output=True, text=True, timeout=5, check=False)
    return "'Battery Power'" in asked.stdout


def _windows_says() -> bool:
    import ctypes

    power = (ctypes.c_ubyte * 12)()
    windows = getattr(ctypes, "windll").kernel32  # noqa: B009 - it is there on Windows alone
    return bool(windows.GetSystemPowerStatus(power)) and power[0] == 0
