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
Description=A night's work on {vault} by tars-memory

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
        UsageError: another kind; or a name that units of this kind can't hold.
    """
    places = {name: env[name] for name in PLACES if env.get(name)}
    words = [*program(), "--vault", str(vault), "sleep" if night else "watch", *more]
    if kind == "systemd":
        return _systemd(vault, words, places, night=night)
    if kind == "launchd":
        return _launchd(words, places, night=night)
    if kind == "cron":
        when = f"{MINUTE} {HOUR} * * *" if night else "*/5 * * * *"
        said = [f"{name}={_cron_word(value)}" for name, value in places.items()]
        once = [] if night else ["--once", "--quiet"]
        return f"{when} " + " ".join([*said, *map(_cron_word, [*words, *once])])
    raise UsageError(f"{kind!r} is no kind of unit", f"it is one of {', '.join(KINDS)}")


def program() -> list[str]:
    """The words by which a service calls the program: with its whole path, or by way of this Python."""
    called = sys.argv[0] if sys.argv else ""
    installed = [called] if os.path.isabs(called) and not called.endswith(".py") else []
    installed += [shutil.which(os.path.basename(called)) or "", shutil.which("tars-memory") or ""]
    installed.append(os.path.join(os.path.dirname(sys.executable), "tars-memory"))
    found = next((path for path in installed if os.path.isfile(path) and os.access(path, os.X_OK)), "")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "tars_memory"]


def _cron_word(word: str) -> str:
    """One word of cron's command, for its ``/bin/sh``.

    cron ends the command at ``%`` and its line at a newline, and crons don't agree on what a backslash before another
    sign is. So these are printed by the shell, in octal; a backslash before a digit is one to every cron.

    Raises:
        UsageError: it ends in a newline, which a shell cuts off.
    """
    if word.isprintable() and not set("%\\") & set(word):
        return shlex.quote(word)
    if word.endswith("\n"):
        raise UsageError(f"cron can't be told of {word!r}", "give the folder a name that doesn't end in a line break")
    octal = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"%\\'" else f"\\{byte:03o}" for byte in os.fsencode(word)
    )
    return f"\"$(printf '{octal}')\""


def _systemd(vault: Path, words: list[str], places: dict[str, str], *, night: bool) -> str:
    if not all(map(_is_unicode, [*words, *places.values()])):
        raise UsageError("systemd takes names in UTF-8 only", "rename what has another name, or use cron")
    if set(words[0]) & set("\"'\\") or not words[0].isprintable():
        words = ["/bin/sh", "-c", 'exec "$0" "$@"', *words]  # systemd starts no program of such a name
    program, *rest = words
    environment = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in places.items())
    said = {
        "vault": "".join(sign if sign.isprintable() else " " for sign in str(vault)).replace("%", "%%"),
        "environment": environment,
        "command": " ".join([_unit_word(program), *(_unit_word(word).replace("$", "$$") for word in rest)]),
        "hour": HOUR,
        "minute": MINUTE,
    }
    return (NIGHT if night else WATCHER).format(**said).rstrip("\n")


def _unit_word(word: str) -> str:
    """One word of a unit's line: quoted, and no specifier in it expanded; ``$`` is of meaning to arguments alone."""
    signs = (f"\\x{ord(sign):02x}" if sign < " " or sign in '\x7f"\\' else sign for sign in word)
    return '"' + "".join(signs).replace("%", "%%") + '"'


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _is_control(sign: str) -> bool:
    return sign < " " and sign not in "\t\n"


def _launchd(words: list[str], places: dict[str, str], *, night: bool) -> str:
    import plistlib

    if not all(map(_is_unicode, [*words, *places.values()])) or any(
        map(_is_control, "".join([*words, *places.values()]))
    ):
        raise UsageError("launchd takes names without control characters only", "rename what has one, or use cron")
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
