"""``sleep`` (a night's work) and ``watch``, and the units that start them by systemd, launchd or cron."""

import os
import plistlib
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tars_memory import index
from tars_memory.doors.cli.app import program
from tars_memory.doors.cli.call import Call, command, flag, option, word
from tars_memory.doors.cli.output import PROGRAM, counted, line
from tars_memory.errors import UsageError
from tars_memory.jobs import sleep as nights
from tars_memory.settings import ACTOR

PARTLY = 3


@command(
    writes=True,
    examples="""
tm sleep ~/.claude/projects
tm sleep --print-schedule cron ~/.claude/projects
tm sleep --undo
""",
    exits="3 some steps failed, 5 another night is running",
    answers="""
steps[].name told counts error project: each step
txns: what it wrote, for `undo`
took: seconds
[--undo]
undone: the writes that were taken back
""",
)
def sleep(
    call: Call,
    sources: list[str] | None = word("[SOURCES…]", "Chat logs or folders of them, instead of the configured ones."),
    undo: bool = flag("--undo", "Undo what the last night wrote."),
    print_schedule: str | None = option(
        "--print-schedule", "KIND", "Print a schedule for systemd, launchd or cron, and exit."
    ),
) -> int:
    """Do a night's work: extract from new conversations, expire old candidates, archive old daily notes, index.

    Prints what was done and what waits for you. If a step fails, the others still run (exit 3). Daily notes go to
    archive/ after 90 days, unless more than 31 would go at once.
    """
    memory = call.memory()
    if print_schedule is not None:
        more = ["--project", memory.workspace.project] if memory.workspace.project else []
        more += ["--", *(os.path.abspath(os.path.expanduser(source)) for source in sources)] if sources else []
        call.out.data(unit(print_schedule, memory.workspace.root, call.env, night=True, more=more), of_notes=False)
        settings = memory.workspace.settings
        if not (sources or settings.sleep.sources or settings.sources.logs):
            call.out.say("no conversations to examine: name SOURCES, or set [sleep] sources")
        return 0

    if undo:
        txns = nights.undo(memory)
        if not call.answered({"undone": txns}):
            call.out.data(f"{counted(len(txns), 'write')} of the last night undone")
        return 0
    (call.out.progress() or call.out.announce)("doing a night's work", 0, 0)
    night = nights.sleep(memory, sources or ())
    if not call.answered(night, night.notices):
        for step in night.steps:
            name = f"{step.name} ({line(step.project)})" if step.project else step.name
            if step.told:
                call.out.data(f"{name}: {line(step.told)}")
            if step.error:
                call.out.say_always(f"{PROGRAM}: {name} failed: {line(step.error)}")
        if not any(step.told or step.error for step in night.steps):
            call.out.say("nothing to do")
    return PARTLY if night.failed else 0


LEAST_POLL = 0.5
"""Minimum seconds between two checks: a check of a large vault takes as long."""


@command(
    examples="""
tm watch
tm watch --once                     # for cron
tm watch --print-service systemd
""",
    exits="5 another watcher is running",
    answers="""
time: one object per batch, on one line
changed removed: notes
embedded pending: passages
took: seconds
""",
)
def watch(
    call: Call,
    once: bool = flag("--once", "Check once and exit: for cron."),
    poll: float | None = option("--poll", "SECONDS", "Check this often instead of waiting for events."),
    print_service: str | None = option(
        "--print-service", "KIND", "Print a unit for systemd, launchd or cron, and exit."
    ),
) -> int:
    """Keep the index up to date until stopped, and print a line for each batch of changes.

    While it runs, the model stays loaded for searches. A vault has at most one watcher; searches work without one.
    """
    if poll is not None and not poll >= LEAST_POLL:
        raise UsageError(f"--poll {poll:g} is too short", f"give {LEAST_POLL:g} seconds or more")
    if print_service is not None:
        call.out.data(unit(print_service, call.workspace.root, call.env), of_notes=False)
        return 0

    watcher = index.watcher.Watcher(call.workspace.root, poll=poll)
    watching = nights.IndexKeeper(call.fresh_memory, watcher)
    call.listen(lambda *_: watcher.stop())
    if once:
        _print_batch(call, watching.once())
        return 0
    for number, batch in enumerate(watching.batches()):
        if batch.has_changes:
            _print_batch(call, batch)
        if not number and call.out.stderr.isatty():
            call.out.say(f"watching {call.workspace.root}; Ctrl-C ends it")
    return 0


def _print_batch(call: Call, batch: Any) -> None:
    """Print a batch on one line, and flush it at once: it is read while the watcher runs."""
    now = call.now or datetime.now().astimezone()
    if call.out.json:
        call.out.record({"time": now, **batch._asdict()}, lines=True)
    else:
        for notice in batch.notices:
            call.out.say(notice)
        parts = [f"{counted(batch.changed, 'note')} read"] if batch.changed else []
        parts += [f"{batch.removed} gone"] if batch.removed else []
        parts += [f"{counted(batch.embedded, 'passage')} embedded"] if batch.embedded else []
        parts += [f"{batch.pending} to go"] if batch.pending else []
        if parts:
            call.out.data(f"{now:%Y-%m-%d %H:%M:%S} {', '.join(parts)} in {batch.took:.2f} s")
    call.out.flush()


KINDS = ("systemd", "launchd", "cron")

PLACES = ("TARS_MEMORY_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Variables that set where state and settings are; a service doesn't inherit those of a shell."""

HOUR, MINUTE = 3, 30
"""Time at which a night's work begins."""

WATCHER = """\
# Save as ~/.config/systemd/user/tars-memory.service, then: systemctl --user enable --now tars-memory
[Unit]
Description=tars-memory keeps the index of {vault} up to date

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
    """Return the text of a unit, without the last newline.

    Args:
        kind: one of :data:`KINDS`.
        vault: its real path.
        env: the caller's environment; the unit sets the variables of :data:`PLACES` to the same values.
        night: make a unit that runs ``sleep`` once a night; else one that keeps ``watch`` running.
        more: words after the command's name.

    Raises:
        UsageError: the kind is unknown, or units of this kind can't hold a name.
    """
    places = {name: env[name] for name in PLACES if env.get(name)}
    words = [*program(), "--vault", str(vault), "sleep" if night else "watch", *more]
    if kind == "systemd":
        return _systemd(vault, words, places, night=night)
    if kind == "launchd":
        return _launchd(words, places, night=night)
    if kind == "cron":
        times = f"{MINUTE} {HOUR} * * *" if night else "*/5 * * * *"
        variables = [f"{name}={_cron_word(value)}" for name, value in (places | {ACTOR: "cron"}).items()]
        once = [] if night else ["--once", "--quiet"]
        return f"{times} " + " ".join([*variables, *map(_cron_word, [*words, *once])])
    raise UsageError(f"unknown kind of unit: {kind!r}", f"give one of {', '.join(KINDS)}")


def _cron_word(word: str) -> str:
    """Quote a word of cron's command, for its ``/bin/sh``.

    cron ends the command at ``%`` and its line at a newline, and crons don't agree on what a backslash before other
    characters means. So the shell prints these, from octal codes: before a digit every cron keeps a backslash.

    Raises:
        UsageError: the word ends in a newline, which a shell cuts off.
    """
    if word.isprintable() and not set("%\\") & set(word):
        return shlex.quote(word)
    if word.endswith("\n"):
        raise UsageError(f"a crontab can't contain {word!r}", "give the folder a name that doesn't end in a line break")
    octal = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"%\\'" else f"\\{byte:03o}" for byte in os.fsencode(word)
    )
    return f"\"$(printf '{octal}')\""


def _systemd(vault: Path, words: list[str], places: dict[str, str], *, night: bool) -> str:
    """Return a unit of systemd."""
    if not _is_unicode("".join([*words, *places.values()])):
        raise UsageError("systemd takes names in UTF-8 only", "rename what has another name, or use cron")
    if set(words[0]) & set("\"'\\") or not words[0].isprintable():
        words = ["/bin/sh", "-c", 'exec "$0" "$@"', *words]  # systemd starts no program of such a name
    program, *rest = words
    environment = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in places.items())
    values = {
        "vault": "".join(sign if sign.isprintable() else " " for sign in str(vault)).replace("%", "%%"),
        "environment": environment,
        "command": " ".join([_unit_word(program), *(_unit_word(word).replace("$", "$$") for word in rest)]),
        "hour": HOUR,
        "minute": MINUTE,
    }
    return (NIGHT if night else WATCHER).format(**values).rstrip("\n")


def _unit_word(word: str) -> str:
    """Quote a word of a unit's line, so that no specifier in it is expanded; ``$`` is special in arguments only."""
    signs = (f"\\x{ord(sign):02x}" if sign < " " or sign in '\x7f"\\' else sign for sign in word)
    return '"' + "".join(signs).replace("%", "%%") + '"'


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _launchd(words: list[str], places: dict[str, str], *, night: bool) -> str:
    """Return a property list of launchd."""
    signs = "".join([*words, *places.values()])
    if not _is_unicode(signs) or any(sign < " " and sign not in "\t\n" for sign in signs):
        raise UsageError("launchd takes names without control characters only", "rename what has one, or use cron")
    label = f"net.tars-memory.{'sleep' if night else 'watch'}"
    service: dict[str, object] = {"Label": label, "ProgramArguments": words, "EnvironmentVariables": places}
    if night:
        service["StartCalendarInterval"] = {"Hour": HOUR, "Minute": MINUTE}
    else:
        service |= {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}}
    service["ProcessType"] = "Background"
    note = f"<!-- Save as ~/Library/LaunchAgents/{label}.plist, then: launchctl load -w that file -->"
    head, _, rest = plistlib.dumps(service, sort_keys=False).decode("utf-8").partition("\n")
    return f"{head}\n{note}\n{rest}".rstrip("\n")
