"""The background process that finishes an index: whether to start it, whether it runs, and its progress.

It holds a lock for as long as it lives, which the kernel frees however it ends: so there is never a second one, and a
dead one never counts as running. Its progress is in a small file next to the index.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tars_memory.disk import replace, spawn, state_object
from tars_memory.index.database import BACKGROUND, IndexFiles

NOTE = "background.json"
"""Name of the file with the progress."""
LAST_WORDS = "background.out"
"""Name of the file with the process's stderr, which is empty unless it met a bug."""
PAUSE = 600.0
"""Seconds before a search starts the process again after it ended with an error or without having done anything."""
BATTERY = "the machine runs on its battery"
"""Reason for the end of a run that continues when the machine is plugged in."""
LEAST = 2.0
"""Seconds of work after which the measured speed is reported."""


class Work(NamedTuple):
    """Progress of the process, or its last progress if it has ended.

    Attributes:
        phase: :data:`tars_memory.index.intake.READING` or ``vectors``.
        done, total: notes or passages of that phase.
        speed: passages embedded per second; 0: not known yet.
        at: when this was written, in seconds since 1970.
        ended: why it ended before all was done; empty while it runs and when all is done.
    """

    phase: str = ""
    done: int = 0
    total: int = 0
    speed: float = 0.0
    at: float = 0.0
    ended: str = ""


def read_progress(state: Path) -> Work:
    """Read the last progress of this vault's process; an empty one if the file is missing or damaged."""
    fields = state_object(state / NOTE)
    values: list[Any] = [fields.get(name, default) for name, default in Work._field_defaults.items()]
    allowed = {str: (str,), int: (int,), float: (int, float)}
    pairs = zip(values, Work._field_defaults.values(), strict=True)
    return Work(*values) if all(type(value) in allowed[type(default)] for value, default in pairs) else Work()


def write_progress(state: Path, work: Work) -> None:
    """Write the progress of the process; a full disk must not stop it, so errors are ignored."""
    with suppress(OSError):
        replace(state / NOTE, json.dumps(work._asdict()).encode())


def is_running(state: Path) -> bool:
    """Whether the process of this vault is running."""
    return IndexFiles(state).is_held(BACKGROUND)


def is_due(state: Path) -> bool:
    """Whether a process may be started: none is running, and the last one did not just fail."""
    if is_running(state):
        return False
    last = read_progress(state)
    if last.ended == BATTERY:
        return not on_battery()
    failed = bool(last.ended) or (last.total > 0 and not last.done)
    return not (failed and 0 <= time.time() - last.at < PAUSE)


def start(state: Path, root: Path, env: Mapping[str, str]) -> bool:
    """Start the process for the vault at ``root``; False if it can't be started."""
    # -P: don't import modules from the folder that the person works in
    argv = [sys.executable, "-P", "-m", "tars_memory.doors.cli.background", "index", str(root)]
    try:
        spawn(argv, env, os.fspath(state / LAST_WORDS))
    except OSError:
        return False
    return True


# --- power

SUPPLIES = "/sys/class/power_supply"
"""Linux's folder of power supplies."""


def on_battery(supplies: str = SUPPLIES) -> bool:
    """Whether the machine runs on its battery, as far as the system tells: on Linux, macOS and Windows.

    Args:
        supplies: Linux's folder of power supplies.
    """
    try:
        if sys.platform == "darwin":
            return _mac_on_battery()
        if sys.platform == "win32":
            return _windows_on_battery()
        return _linux_on_battery(supplies)
    except (OSError, ValueError):
        return False


def _linux_on_battery(supplies: str) -> bool:
    """Whether a battery of the machine itself is discharging and no mains is plugged in."""
    discharging = False
    for name in os.listdir(supplies):

        def attribute(file_name: str, name: str = name) -> str:
            try:
                with open(os.path.join(supplies, name, file_name), encoding="ascii", errors="replace") as file:
                    return file.read(100).strip()
            except OSError:
                return ""

        kind = attribute("type")
        if kind in ("Mains", "USB") and attribute("online") == "1":
            return False
        if kind == "Battery" and attribute("scope") != "Device":  # not the battery of a mouse
            discharging = discharging or attribute("status") == "Discharging"
    return discharging


def _mac_on_battery() -> bool:
    done = subprocess.run(["/usr/bin/pmset", "-g", "batt"], capture_output=True, text=True, timeout=5, check=False)
    return "'Battery Power'" in done.stdout


def _windows_on_battery() -> bool:
    import ctypes

    power = (ctypes.c_ubyte * 12)()
    windows = getattr(ctypes, "windll").kernel32  # noqa: B009 - it is there on Windows alone
    return bool(windows.GetSystemPowerStatus(power)) and power[0] == 0
