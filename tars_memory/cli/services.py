"""Units that start the watcher or a night's work by themselves: for systemd, launchd, or a line for cron."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KINDS = ("systemd", "launchd", "cron")

PLACES = ("TARS_MEMORY_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Variables that say where state and settings are; a service starts without those of a shell."""

HOUR, MINUTE = 3, 30
"""When a night's work begins."""

WATCHER = """\
# Save as ~/.config/systemd/user/tars-memory.service, then: systemctl --user enable --now tars-memory
[Unit]
Description=tars-memory keeps the index of {vault} in step

[Service]
{environment}ExecStart={command}
Restart=on-failure
RestartSec=30
# 2: a setting is wrong; 5: another watcher runs
RestartPreventExitStatus=2 5
Nice=10

[Install]
WantedBy=default.target
"""

NIGHT = """\
# Save as ~/.config/systemd/user/tars-memory-sleep.service
[Unit]
Description=tars-memory does a night's work on {vault}

[Service]
Type=oneshot
{environment}ExecStart={command}
Nice=15

# Save as ~/.config/systemd/user/tars-memory-sleep.timer, then: systemctl --user enable --now tars-memory-sleep.timer
[Timer]
OnCalendar=*-*-* {hour:02}:{minute:02}
Persistent=true

[Install]
WantedBy=timers.target
"""


def unit(kind: str, vault: Path, env: Mapping[str, str], *, night: bool = False, more: Sequence[str] = ()) -> str:
    """The text of a unit, without the last newline.

    Args:
        kind: one of :data:`KINDS`.
        vault: its real path.
        env: of the caller; the variables of :data:`PLACES` are kept.
        night: for ``sleep``, once a night; else for ``watch``, always.
        more: words behind the command's name.

    Raises:
        UsageError: another kind.
    """
    places = {name: env[name] for name in PLACES if env.get(name)}
    words = [*program(), "--vault", str(vault), "sleep" if night else "watch", *more]
    if kind == "systemd":
        return _systemd(vault, words, places, night=night)
    if kind == "launchd":
        return _launchd(words, places, night=night)
    if kind == "cron":
        when = f"{MINUTE} {HOUR} * * *" if night else "*/5 * * * *"
        said = [f"{name}={shlex.quote(value)}" for name, value in places.items()]
        once = [] if night else ["--once", "--quiet"]
        return f"{when} " + " ".join([*said, *map(shlex.quote, [*words, *once])]).replace("%", r"\%")
    raise UsageError(f"{kind!r} is no kind of unit", f"it is one of {', '.join(KINDS)}")


def program() -> list[str]:
    """The words by which a service calls the program: with its whole path, or by way of this Python."""
    called = sys.argv[0] if sys.argv else ""
    installed = [called] if os.path.isabs(called) and not called.endswith(".py") else []
    installed += [shutil.which(os.path.basename(called)) or "", shutil.which("tars-memory") or ""]
    installed.append(os.path.join(os.path.dirname(sys.executable), "tars-memory"))
    found = next((path for path in installed if os.path.isfile(path) and os.access(path, os.X_OK)), "")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "tars_memory"]


def _systemd(vault: Path, words: list[str], places: dict[str, str], *, night: bool) -> str:
    environment = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in places.items())
    said = {
        "vault": str(vault).replace("%", "%%").replace("\n", " "),
        "environment": environment,
        "command": " ".join(map(_unit_word, words)),
        "hour": HOUR,
        "minute": MINUTE,
    }
    return (NIGHT if night else WATCHER).format(**said).rstrip("\n")


def _unit_word(word: str) -> str:
    """One word of a unit's line: quoted, and nothing in it expanded."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _launchd(words: list[str], places: dict[str, str], *, night: bool) -> str:
    import plistlib

    label = f"net.tars-memory.{'sleep' if night else 'watch'}"
    said: dict[str, object] = {"Label": label, "ProgramArguments": words, "EnvironmentVariables": places}
    if night:
        said["StartCalendarInterval"] = {"Hour": HOUR, "Minute": MINUTE}
    else:
        said |= {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}}
    said["ProcessType"] = "Background"
    note = f"<!-- Save as ~/Library/LaunchAgents/{label}.plist, then: launchctl load -w that file -->"
    head, _, rest = plistlib.dumps(said, sort_keys=False).decode("utf-8").partition("\n")
    return f"{head}\n{note}\n{rest}".rstrip("\n")
