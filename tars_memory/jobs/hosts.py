"""Coding agents that call the hook: where each keeps its settings, which hooks we install there, what it soon deletes.

The files belong to the person and lie outside the vault. For each file that is changed, the state folder keeps the
bytes from before, so that ``uninstall`` restores exactly these. Links are followed to the file that they lead to, as
people who keep their settings in a repository need it.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import ConflictError, SettingsError, UnwritableError, UsageError, counted
from tars_memory.jobs import hooks, hostfile
from tars_memory.jobs.hostfile import Insertion
from tars_memory.vault.writing import journal, system

PROGRAMS = frozenset({"tars-memory", "tm", "tars-memory.exe", "tm.exe"})
"""The names of our program."""

SERVER = "tars-memory"
"""Our name among a host's MCP servers."""

SECONDS = 10
"""Seconds that a host waits for the hook; the hook gives up by itself before that (``[hook] timeout``)."""

LOCK_WAIT = 10.0
"""Seconds to wait for another installation."""


class Host(NamedTuple):
    """A program that runs hooks.

    Attributes:
        title: its name for people.
        folder: of its settings, below the home folder.
        variable: the environment variable that names another settings folder, or, with ``below``, a parent of it.
        file: the file with its hooks, below the folder.
        events: the events that it calls us for, as it names them.
        below: the settings folder below the one that the variable names.
        servers: the file with its MCP servers, for a host whose hooks can't answer a prompt; else empty.
        reads: extensions of JSON that it accepts in its file; it ignores a file with any other. Measured, see
            docs/agents.md; except for Cursor, where this was not possible.
        notes: what the person should know after an installation.
        lines: the events that it calls us for if a daily line is wanted, by the names of ``[hook] lines``.
    """

    title: str
    folder: str
    variable: str
    file: str
    events: tuple[str, ...]
    below: str = ""
    servers: str = ""
    reads: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lines: Mapping[str, str] = MappingProxyType({})

    def events_for(self, lines: Collection[str]) -> tuple[str, ...]:
        """Return all events that it calls us for if these daily lines are wanted."""
        more = (event for name, event in self.lines.items() if name in lines)
        return tuple(dict.fromkeys((*self.events, *more)))


_LINES = MappingProxyType({"tools": "PostToolUse", "compaction": "PreCompact"})

HOSTS = {
    "claude": Host(
        "Claude Code",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        "settings.json",
        ("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"),
        reads=(hostfile.MARK,),
        lines=_LINES,
    ),
    "codex": Host(
        "Codex",
        ".codex",
        "CODEX_HOME",
        "hooks.json",
        ("SessionStart", "UserPromptSubmit", "PreCompact"),
        notes=("Codex runs a new hook only once you trust it: type /hooks in Codex",),
        lines=_LINES,
    ),
    "gemini": Host(
        "Gemini CLI", ".gemini", "GEMINI_CLI_HOME", "settings.json", ("SessionStart", "BeforeAgent"), below=".gemini",
        reads=(hostfile.COMMENTS,),
        lines=MappingProxyType({"tools": "AfterTool", "compaction": "PreCompress"}),
    ),
    "cursor": Host(
        "Cursor", ".cursor", "", "hooks.json", ("sessionStart",), servers="mcp.json",
        reads=(hostfile.MARK, hostfile.COMMENTS, hostfile.COMMA),
        notes=("Cursor takes context from hooks at the start of a session only, not at each prompt",),
        lines=MappingProxyType({"tools": "postToolUse", "compaction": "preCompact"}),
    ),
    "copilot": Host(
        "Copilot CLI", ".copilot", "COPILOT_HOME", "hooks/tars-memory.json", ("SessionStart", "UserPromptSubmit"),
        lines=_LINES,
    ),
}  # fmt: skip
"""All hosts, by the name that ``hook install`` takes; docs/agents.md says where each fact was found, and when."""

assert tuple(HOSTS) == hooks.AGENTS


class Edit(NamedTuple):
    """A planned change of one file.

    Attributes:
        host: the host that the file belongs to.
        path: as the host names it.
        target: the file itself, with all links resolved.
        before, after: its bytes; None if there is no file.
        base: its bytes without our entries.
        notes: what the person should know about it.
    """

    host: str
    path: Path
    target: Path
    before: bytes | None
    after: bytes | None
    base: bytes | None
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the bytes change."""
        return self.before != self.after


class HostStatus(NamedTuple):
    """The state of our entries in the settings of a host. ``hook status --json`` shows these fields.

    Attributes:
        agent: the host's name.
        there: whether its folder exists.
        files: the files that hold entries of ours.
        events: the events that it calls us for.
        servers: whether it starts our MCP server.
        problem: known reasons why that does not work; empty if there are none.
    """

    agent: str
    there: bool
    files: list[str]
    events: list[str]
    servers: bool
    problem: str


class Hosts:
    """The hosts of one person.

    Args:
        env: the environment variables, which say where the folders are.
        state: our state folder.
        lines: the daily lines that are wanted, by the names of ``[hook] lines``.

    Raises:
        UsageError: there is no home folder.
    """

    def __init__(self, env: Mapping[str, str], state: Path, lines: Collection[str] = ()) -> None:
        home = env.get("USERPROFILE" if os.name == "nt" else "HOME")
        if not home:
            raise UsageError("HOME is not set, so the settings can't be found", "set it, and try again")
        self.env, self.home, self.records, self.lines = env, Path(home), state / "hosts", lines

    def folder(self, name: str) -> Path:
        """Return the folder where a host keeps its settings."""
        host = HOSTS[name]
        named = self.env.get(host.variable) if host.variable else None
        return Path(named, host.below) if named else self.home / host.folder

    def installed(self) -> list[str]:
        """Return the hosts whose folders exist."""
        return [name for name in HOSTS if os.path.isdir(self.folder(name))]  # none if the home folder can't be read

    def install(self, name: str, program: Sequence[str], vault: str, *, server: bool) -> list[Edit]:
        """Plan the changes that make a host call us; an edit of a file that is up to date changes nothing.

        Args:
            name: of the host.
            program: the words that start us.
            vault: for the command, where nothing else names it; may be empty.
            server: start the MCP server in hosts whose hooks can't answer a prompt.

        Raises:
            SettingsError: a file of the host can't be read, or can't be changed without harm.
        """
        more = ["--vault", vault] if vault else []
        words = [*program, "hook", "--agent", name, *more]
        command = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
        try:
            command.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{command!r} can't be written as text", "give the folders names in UTF-8") from None
        path = self._places(name)[0]
        entries = [Insertion(("hooks", event), handler(name, command)) for event in HOSTS[name].events_for(self.lines)]
        if name in ("cursor", "copilot"):
            entries.insert(0, Insertion(("version",), 1, listed=False))
        edits = [self._plan(name, path, entries)]
        if server and HOSTS[name].servers:
            value: dict[str, Any] = {"command": program[0], "args": [*program[1:], "mcp", *more]}
            entry = Insertion(("mcpServers", SERVER), value, listed=False)
            edits.append(self._plan(name, self.folder(name) / HOSTS[name].servers, [entry]))
        return edits

    def uninstall(self, name: str) -> list[Edit]:
        """Plan the changes that remove our entries from a host's files.

        Raises:
            SettingsError: a file of the host can't be read, or our entries can't be cut out without harm.
        """
        # the first file last: the folder that was made for it is empty only then
        return [self._plan(name, path, None) for path in reversed(self._places(name))]

    def carry_out(self, edit: Edit) -> bool:
        """Make a planned change; return whether the file was changed.

        Raises:
            ConflictError: the file was changed by somebody else since the change was planned; nothing was done.
            BusyError: another installation is running.
            UnwritableError: the file can't be written.
        """
        key = self._record(edit.target)
        with system.VaultLock(self.records / "lock", timeout=LOCK_WAIT, command="hook install").held():
            if not edit.changes:
                if edit.base == edit.before:  # the file has no entries of ours: a record of it would be outdated
                    _forget(key)
                return False
            now = _read(edit.target)
            if now == edit.after:
                return False
            _check_unchanged(edit)
            effective = os.access in os.supports_effective_ids
            if now is not None and not os.access(edit.target, os.W_OK, effective_ids=effective):
                raise UnwritableError(
                    f"{edit.path} is read-only", "it is unchanged; make it writable, or change it there"
                )
            missing = takewhile(lambda folder: not folder.exists(), edit.target.parents)
            made = disk.state_object(key).get("made") or [os.fspath(folder) for folder in missing]
            try:
                if edit.after != edit.base:
                    _keep(key.with_suffix(".before"), edit.base)
                    record = {
                        "host": edit.host,
                        "path": os.fspath(edit.path),
                        "missing": edit.base is None,
                        "after": _digest(edit.after),
                        "made": made,
                    }
                    _keep(key, json.dumps(record).encode())
                edit.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _replace(edit)
                if edit.after == edit.base:
                    _forget(key)
                    for folder in made if edit.after is None else ():
                        os.rmdir(folder)
            except OSError as error:
                if edit.after == edit.base and _read(edit.target) == edit.after:
                    return True  # only a folder with other files in it could not be removed
                raise UnwritableError(
                    f"{edit.path} can't be written: {error.strerror or error}", "it is unchanged; make it writable"
                ) from error
        return True

    def status(self, name: str) -> HostStatus:
        """Read the state of our entries from the settings of a host."""
        files, events, servers, problems = [], [], False, []
        for path in (*self._places(name), *([self._config()] if name == "codex" else [])):
            try:
                value = _values(path, _read(path))
            except SettingsError as error:
                problems.append(error.message)
                continue
            found = [*hostfile.entries_of(value, _ours(name))]
            by_hand = [keys for keys, _ in hostfile.entries_of(value, _by_hand(name)) if len(keys) > 1]
            as_written = [keys for keys, _ in found]
            files += [os.fspath(path)] if as_written or by_hand else []
            events += [keys[1] for keys in (*as_written, *by_hand) if keys[:1] == ("hooks",)]
            servers = servers or any(keys[:1] != ("hooks",) for keys in as_written)
            servers = servers or any(keys[0] == "mcpServers" for keys in by_hand)
            problems += [problem for _, entry in found for problem in _missing(_words(entry))]
            off = _switched_off(name, value)
            problems += [f"all hooks are switched off in {path} ({off})"] if off else []
            problems += filter(None, [_form_problem(name, path, _read(path))])
            plugin = _enabled_plugin(value)
            problems += [f"the plugin {plugin} also calls it: tars-memory hook uninstall {name}"] if plugin else []
        if name == "codex":
            problems += self._codex_problems(files, events)
        wanted = HOSTS[name].events_for(self.lines)
        missing = [event for event in wanted if event not in events]
        events = [*(event for event in wanted if event in events), *(event for event in events if event not in wanted)]
        if events and missing and not problems:
            problems.append(f"its hooks lack {', '.join(missing)}: tars-memory hook install {name}")
        known = dict.fromkeys(problems) if files or events else ()
        return HostStatus(name, self.folder(name).is_dir(), files, events, servers, "; ".join(known))

    def _codex_problems(self, files: list[str], events: list[str]) -> list[str]:
        """Return why Codex would not run our hooks: it runs only those that its own settings record as trusted."""
        path = self._config()
        try:
            value = _values(path, _read(path))
        except SettingsError as error:
            return [error.message]
        off = _switched_off("codex", value)
        state = value["hooks"].get("state") if isinstance(value.get("hooks"), dict) else None
        trusted = [
            key for key, how in (state.items() if isinstance(state, dict) else ()) if "trusted_hash" in (how or {})
        ]
        snakes = {event: re.sub("(?<!^)(?=[A-Z])", "_", event).lower() for event in events}  # session_start
        untrusted = [
            event
            for event in events
            if not any(key.startswith(f"{file}:{snakes[event]}:") for file in files for key in trusted)
        ]
        problems = [f"all hooks are switched off in {path} ({off})"] if off else []
        if untrusted:
            problems.append(f"it waits until you trust {', '.join(untrusted)}: type /hooks in Codex")
        return problems

    def _config(self) -> Path:
        """Return the path of Codex's other file, which may have hooks as well; we only read it."""
        return self.folder("codex") / "config.toml"

    def _places(self, name: str) -> list[Path]:
        """Return the files that may hold entries of ours."""
        host = HOSTS[name]
        return [self.folder(name) / file for file in (host.file, host.servers) if file]

    def _record(self, target: Path) -> Path:
        """Return the path of our record about a file of a host."""
        return self.records / f"{disk.sha256(os.fsencode(target)).hexdigest()[:16]}.json"

    def _plan(self, name: str, path: Path, entries: list[Insertion] | None) -> Edit:
        """Plan the change of one file: put these entries in, or, if None, remove ours."""
        target = Path(os.path.realpath(path))
        current = _read(target)
        ours = _ours(name)
        notes: list[str] = []
        try:
            value = _values(path, current)
            if not isinstance(value, dict):
                raise hostfile.UnfitError("it is not a JSON object")
            base = self._without_ours(target, current, ours)
            by_hand = {keys[:2]: path for keys, _ in hostfile.entries_of(value, _by_hand(name)) if len(keys) > 1}
            if name == "codex":
                config = self._config()
                found = hostfile.entries_of(_values(config, _read(config)), _calls)
                by_hand |= {keys[:2]: config for keys, _ in found if keys[:1] == ("hooks",)}
            if entries is None:
                notes += [f"{by_hand[keys]}: {keys[1]} still calls tars-memory: remove it" for keys in sorted(by_hand)]
                return Edit(name, path, target, current, base, base, tuple(notes))
            served = any(keys[0] == "mcpServers" for keys in by_hand)
            notes += filter(None, [_form_problem(name, path, current)])
            notes += [f"{by_hand[keys]}: {keys[1]} already calls tars-memory" for keys in sorted(by_hand)]
            rest = [entry for entry in entries if entry.keys not in by_hand and not (served and not entry.listed)]
            asked = (hostfile.entries_of(entry.value, ours, entry.keys, entry.key) for entry in rest)
            wanted = sorted((keys, _as_json(entry)) for found in asked for keys, entry in found)
            present = sorted((keys, _as_json(entry)) for keys, entry in hostfile.entries_of(value, ours))
            if wanted == present:
                return Edit(name, path, target, current, current, base, tuple(notes))
            text = _text(base)
            known = hostfile.values(text)
            rest = [
                entry for entry in rest if entry.listed or ours(entry.value, entry.key) or entry.keys[0] not in known
            ]
            after = hostfile.insert(text, rest, ours).encode("utf-8", "surrogateescape")
        except ValueError as error:
            raise SettingsError(f"{path} was not changed: {error}", "fix it, then run this again") from error
        return Edit(name, path, target, current, after, base, tuple(notes))

    def _without_ours(self, target: Path, current: bytes | None, ours: Callable[[Any, str], bool]) -> bytes | None:
        """Return the file without our entries: the bytes from before, if nobody has changed it since we did."""
        key = self._record(target)
        record = disk.state_object(key)
        before = None if record.get("missing") else _read(key.with_suffix(".before"))
        if record and record.get("after") == _digest(current):
            return before
        if current is None:
            return None
        previous: Any = None
        with contextlib.suppress(ValueError):
            previous = hostfile.values(_text(before)) if record else None
        return hostfile.remove(_text(current), ours, previous).encode("utf-8", "surrogateescape")


# --- contents of the files


def handler(name: str, command: str) -> dict[str, Any]:
    """Return the entry of a host's settings that makes it run a command."""
    if name == "cursor":
        return {"command": command}
    if name == "copilot":
        return {"type": "command", "powershell" if os.name == "nt" else "bash": command, "timeoutSec": SECONDS}
    if name == "gemini":  # milliseconds
        return {"hooks": [{"name": SERVER, "type": "command", "command": command, "timeout": 1000 * SECONDS}]}
    return {"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]}


def _words(value: Any) -> list[str]:
    """Return the words of the command that an entry calls; an empty list if the value is not such an entry."""
    if not isinstance(value, dict):
        return []
    command = next((value[key] for key in ("command", "bash", "powershell") if isinstance(value.get(key), str)), "")
    arguments = value.get("args")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError:
        return []
    return [word.strip('"') for word in words] if os.name == "nt" else words


def _our_arguments(words: list[str]) -> list[str]:
    """Return the arguments of a call of our program; an empty list if the words call something else."""
    if words and words[0].replace("\\", "/").rpartition("/")[2] in PROGRAMS:
        return words[1:]
    return words[3:] if words[1:3] == ["-m", "tars_memory"] else []


def _ours(name: str) -> Callable[[Any, str], bool]:
    """Return a test: whether a value is an entry as we write it for a host."""

    def ours(value: Any, key: str) -> bool:
        called = _our_arguments(_words(value))
        if len(called) > 2 and called[-2] == "--vault":
            called = called[:-2]
        return called == ["hook", "--agent", name] or (called == ["mcp"] and key == SERVER)

    return ours


def _by_hand(name: str) -> Callable[[Any, str], bool]:
    """Return a test: whether a value is an entry that calls us, but not as we write it."""
    ours = _ours(name)
    return lambda value, key: _calls(value, key) and not ours(value, key)


def _calls(value: Any, _: str) -> bool:
    """Whether a value is an entry that calls us, in any form."""
    words = _words(value)
    return any(_our_arguments(words[at:])[:1] in (["hook"], ["mcp"]) for at in range(len(words)))


def _as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys, for comparison."""
    return json.dumps(value, sort_keys=True)


def _missing(words: list[str]) -> list[str]:
    """Return a problem if the program of a call does not exist, and one if its vault does not."""
    program, problems = words[0], []
    if os.path.isabs(program):
        is_there = os.path.isfile(program) and os.access(program, os.X_OK)
    else:
        is_there = shutil.which(program) is not None
    if not is_there:
        problems.append(f"it calls {program}, which no longer exists: tars-memory hook install")
    if words[-2] == "--vault" and not os.path.isdir(words[-1]):
        problems.append(f"it names the vault {words[-1]}, which does not exist: mount it, or tars-memory hook install")
    return problems


def _switched_off(name: str, value: Any) -> str:
    """Return the name of the setting by which a host's hooks are switched off; empty if they aren't."""
    switches = {
        "claude": ("disableAllHooks", True),
        "copilot": ("disableAllHooks", True),
        "codex": ("features.hooks", False),
        "gemini": ("hooksConfig.enabled", False),
    }
    key, off = switches.get(name, ("", None))
    for part in key.split(".") if key else ():
        value = value.get(part) if isinstance(value, dict) else None
    return key if key and value is off else ""


def _form_problem(name: str, path: Path, data: bytes | None) -> str:
    """Return a problem if the host ignores a file for extensions of JSON that it does not accept; else ''."""
    text = "" if path.suffix == ".toml" else _text(data)
    found = [form for form in hostfile.extensions(text) if form not in HOSTS[name].reads]
    return f"{HOSTS[name].title} ignores {path}: it has {' and '.join(found)}" if found else ""


def _enabled_plugin(value: Any) -> str:
    """Return the name of our own plugin if the settings enable it; else empty."""
    for table in ("enabledPlugins", "plugins"):
        plugins = value.get(table) if isinstance(value, dict) else None
        for plugin, state in plugins.items() if isinstance(plugins, dict) else ():
            if plugin.partition("@")[0] == SERVER and (state is True or state == {"enabled": True}):
                return str(plugin)
    return ""


# --- files


def _read(path: Path) -> bytes | None:
    """Read a file, also behind a link; return None if there is none."""
    return disk.read(path, links=True)


def _digest(data: bytes | None) -> str:
    return "" if data is None else disk.sha256(data).hexdigest()


def _text(data: bytes | None) -> str:
    """Decode a file; bytes that are not UTF-8 are lone surrogates."""
    return (data or b"").decode("utf-8", "surrogateescape")


def _values(path: Path, data: bytes | None) -> Any:
    """Parse a settings file, by its ending as TOML or as JSON.

    Raises:
        SettingsError: it is not valid.
    """
    is_toml = path.suffix == ".toml"
    try:
        return tomllib.loads(_text(data).replace("\r\n", "\n")) if is_toml else hostfile.values(_text(data))
    except ValueError as error:
        kind = "TOML" if is_toml else "JSON"
        raise SettingsError(f"{path} is not valid {kind}: {error}", "fix it first; it was not changed") from error


def _keep(path: Path, data: bytes | None) -> None:
    """Write a file of our own atomically; None removes it."""
    path.unlink(missing_ok=True) if data is None else journal.replace_file(path, data)


def _forget(key: Path) -> None:
    """Remove our record of a file, and the bytes from before."""
    _keep(key, None)
    _keep(key.with_suffix(".before"), None)


def _replace(edit: Edit) -> None:
    """Replace or remove a file; its mode, owner and attributes stay.

    Raises:
        ConflictError: it was changed since the change was planned; it is as it was.
        OSError: the file can't be written; it is as it was.
    """
    target = edit.target
    if edit.after is None:
        _check_unchanged(edit)
        target.unlink()
        return
    temporary = target.with_name(f".{target.name}.tars-tmp")  # that of a process that was killed here is written over
    with disk.replacing(target, temporary):
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(edit.after)
            if edit.before is not None:
                with target.open("rb") as old:
                    system.of_this_system().copy_attributes(old.fileno(), file.fileno(), os.fstat(old.fileno()))
            file.flush()
            os.fsync(file.fileno())
        _check_unchanged(edit)  # the agent may have saved while the disk was busy
        temporary.replace(target)


def _check_unchanged(edit: Edit) -> None:
    if _read(edit.target) != edit.before:
        raise ConflictError(f"{edit.path} was changed in the meantime", "nothing was written; run it again")


# --- what a host leaves out or soon deletes


MEMORY_LINES, MEMORY_BYTES = 200, 25_000
"""How much Claude Code loads of a ``MEMORY.md`` of its own: https://code.claude.com/docs/en/memory."""


SOON = 5
"""Number of days before Claude Code deletes a conversation in which we warn."""


def warnings(env: Mapping[str, str], now: float, *, kept: bool, lines: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return problems of installed hooks, and what Claude Code leaves out or is about to delete.

    Args:
        env: the environment variables, which say where the folders are.
        now: seconds since the epoch.
        kept: nightly runs keep the conversations, so that their deletion needs no warning.
        lines: the daily lines that are wanted.

    Returns:
        (problem, remedy) pairs.
    """
    try:
        hosts = Hosts(env, Path(), lines)
    except UsageError:
        return []
    folder = hosts.folder("claude")
    found = [
        (f"{HOSTS[status.agent].title}: {status.problem}", "tars-memory hook status")
        for status in map(hosts.status, hosts.installed())
        if status.problem
    ]
    days: Any = hooks.CLEANUP_DAYS
    with contextlib.suppress(SettingsError, AttributeError):
        days = _values(folder / "settings.json", _read(folder / "settings.json")).get("cleanupPeriodDays", days)
    for memory in sorted((folder / "projects").glob("*/memory/MEMORY.md")):
        with contextlib.suppress(SettingsError):
            data = disk.read(memory, links=True, most=disk.LARGEST_OWN) or b""
            rows = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            if rows > MEMORY_LINES or len(data) > MEMORY_BYTES:
                size = f"{counted(rows, 'line')}, {counted(len(data), 'byte')}"
                most = f"{MEMORY_LINES} lines or {MEMORY_BYTES:,} bytes"
                problem = f"{memory} is longer than the part that Claude Code loads ({size}; it loads {most})"
                found.append((problem, "shorten it, or let tars-memory remember its contents"))
    soon, limit = 0, now - 86_400 * ((days if isinstance(days, int) else hooks.CLEANUP_DAYS) - SOON)
    for log in () if kept else (folder / "projects").glob("*/*.jsonl"):
        with contextlib.suppress(OSError):
            soon += log.stat().st_mtime < limit
    if soon:
        problem = f"Claude Code deletes {counted(soon, 'conversation')} within {SOON} days (cleanupPeriodDays: {days})"
        found.append((problem, f"to keep your words: tars-memory sleep {shlex.quote(str(folder / 'projects'))}"))
    return found
