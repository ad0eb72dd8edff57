"""Units that start the watcher by itself: for systemd, launchd, or a line for cron."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KINDS = ("systemd", "launchd", "cron")

PLACES = ("TARS_MEMORY_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Variables that say where state and settings are; a service starts without those of a shell."""

SYSTEMD = """\
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


def unit(kind: str, vault: Path, env: Mapping[str, str]) -> str:
    """The text of a unit that watches a vault, without the last newline.

    Args:
        kind: one of :data:`KINDS`.
        vault: its real path.
        env: of the caller; the variables of :data:`PLACES` are kept.

    Raises:
        UsageError: another kind.
    """
    places = {name: env[name] for name in PLACES if env.get(name)}
    if kind == "systemd":
        return _systemd(vault, places).rstrip("\n")
    if kind == "launchd":
        return _launchd(vault, places).rstrip("\n")
    if kind == "cron":
        return _cron(vault, places)
    raise UsageError(f"--print-service {kind!r} is unknown", f"it is one of {', '.join(KINDS)}")


def program() -> str:
    """The program as a service can call it: with its whole path."""
    called = sys.argv[0] if sys.argv else ""
    found = shutil.which(os.path.basename(called)) or shutil.which("tars-memory")
    return os.path.abspath(called if os.path.isabs(called) and os.access(called, os.X_OK) else found or called)


def _systemd(vault: Path, places: dict[str, str]) -> str:
    words = (program(), "--vault", str(vault), "watch")
    environment = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in places.items())
    shown = str(vault).replace("%", "%%").replace("\n", " ")
    return SYSTEMD.format(vault=shown, environment=environment, command=" ".join(map(_unit_word, words)))


def _unit_word(word: str) -> str:
    """One word of a unit's line: quoted, and nothing in it expanded."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _launchd(vault: Path, places: dict[str, str]) -> str:
    import plistlib

    said = {
        "Label": "net.tars-memory.watch",
        "ProgramArguments": [program(), "--vault", str(vault), "watch"],
        "EnvironmentVariables": places,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    note = "<!-- Save as ~/Library/LaunchAgents/net.tars-memory.watch.plist, then: launchctl load -w that file -->"
    head, _, rest = plistlib.dumps(said, sort_keys=False).decode("utf-8").partition("\n")
    return f"{head}\n{note}\n{rest}"


def _cron(vault: Path, places: dict[str, str]) -> str:
    said = [f"{name}={shlex.quote(value)}" for name, value in places.items()]
    words = [*said, *map(shlex.quote, (program(), "--vault", str(vault), "watch", "--once", "--quiet"))]
    return "*/5 * * * * " + " ".join(words).replace("%", r"\%")
