"""Coding agents that call the hook: where each keeps its settings, what it is asked to call, and what it soon forgets.

The files are the person's own and lie outside the vault. Of each that is changed the state folder keeps the bytes from
before, so that ``uninstall`` brings back exactly these. A link is followed to the file that it leads to, as those who
keep their settings in a repository need it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tars_memory import disk
from tars_memory.disk import sha256
from tars_memory.errors import ConflictError, SettingsError, UnwritableError, UsageError, counted
from tars_memory.jobs import hostfile
from tars_memory.jobs.hooks import AGENTS, CLEANUP_DAYS
from tars_memory.jobs.hostfile import Insertion
from tars_memory.vault.folder import Folder
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.system import UnsupportedError, VaultLock, of_this_system

PROGRAMS = frozenset({"tars-memory", "tm", "tars-memory.exe", "tm.exe"})
"""The names under which we are called."""

SERVER = "tars-memory"
"""Our name among a host's MCP servers."""

SECONDS = 10
"""How long a host waits; the hook gives up by itself before that (``[hook] timeout``)."""

LOCK_WAIT = 10.0
"""Seconds to wait for another installation."""


class Host(NamedTuple):
    """A program that runs hooks.

    Attributes:
        title: its name for people.
        folder: of its settings, below the home folder.
        variable: names another folder; with ``below`` one around it.
        below: the folder below that of the variable.
        file: that holds hooks, below the folder.
        events: that it is asked to tell, as it names them.
        lines: those that it is asked to tell besides, by the names of ``[hook] lines``.
        servers: the file that holds its MCP servers, for a host whose hooks can't answer a prompt; else empty.
        reads: what it takes in its file though JSON does not know it; of all else it ignores the whole file. Measured,
            see docs/agents.md; Cursor could not be.
        notes: what the person should know after an installation.
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

    def told(self, lines: Collection[str]) -> tuple[str, ...]:
        """All events that it is asked to tell if these daily lines are wanted."""
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
        notes=("Codex runs a new hook after you trusted it: type /hooks in Codex",),
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
"""By the name that ``hook install`` takes; docs/agents.md says where each fact was found, and when."""

assert tuple(HOSTS) == AGENTS


class Edit(NamedTuple):
    """A change of one file that was planned.

    Attributes:
        host: whose file it is.
        path: as the host names it.
        target: the file itself, behind all links.
        before, after: its bytes; None: there is no file.
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
        """Whether there is anything to do."""
        return self.before != self.after


class Standing(NamedTuple):
    """How a host stands.

    Attributes:
        agent: its name.
        there: its folder exists.
        files: those of its files that hold entries of ours.
        events: that it tells us.
        servers: it starts our MCP server.
        problem: what keeps that from working; empty if nothing is known.
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
        env: the variables that say where their folders are.
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
        """Where a host keeps its settings."""
        host = HOSTS[name]
        named = self.env.get(host.variable) if host.variable else None
        return Path(named, host.below) if named else self.home / host.folder

    def here(self) -> list[str]:
        """The hosts whose folders are there."""
        return [name for name in HOSTS if os.path.isdir(self.folder(name))]  # of a home that is closed to us: none

    def install(self, name: str, program: Sequence[str], vault: str, *, server: bool) -> list[Edit]:
        """The changes that make a host call us; those that are made already come without a change.

        Args:
            name: of the host.
            program: the words that start us.
            vault: for the command, where nothing else names it; may be empty.
            server: start the MCP server in hosts whose hooks can't answer a prompt.

        Raises:
            SettingsError: a file of the host can't be read, or can't be changed without harm.
        """
        more = ["--vault", vault] if vault else []
        command = _joined([*program, "hook", "--agent", name, *more])
        try:
            command.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{command!r} can't be written as text", "give the folders names in UTF-8") from None
        path, is_toml = self._codex() if name == "codex" else self._places(name)[0]
        entries = [Insertion(("hooks", event), handler(name, command)) for event in HOSTS[name].told(self.lines)]
        if name in ("cursor", "copilot"):
            entries.insert(0, Insertion(("version",), 1, listed=False))
        edits = [self._planned(name, path, is_toml, entries)]
        if server and HOSTS[name].servers:
            value: dict[str, Any] = {"command": program[0], "args": [*program[1:], "mcp", *more]}
            entry = Insertion(("mcpServers", SERVER), value, listed=False)
            edits.append(self._planned(name, self.folder(name) / HOSTS[name].servers, False, [entry]))
        return edits

    def uninstall(self, name: str) -> list[Edit]:
        """The changes that take our entries out of a host's files.

        Raises:
            SettingsError: a file of the host can't be read, or our entries can't be cut out without harm.
        """
        # the last file first: the folder that was made for the first one is empty at the end
        return [self._planned(name, path, is_toml, None) for path, is_toml in reversed(self._places(name))]

    def carry_out(self, edit: Edit) -> bool:
        """Make a planned change; whether the file was changed.

        Raises:
            ConflictError: the file was changed by somebody else since it was planned; nothing was done.
            BusyError: another installation is at work.
            UnwritableError: the file can't be written.
        """
        key = self._record(edit.target)
        with VaultLock(self.records / "lock", timeout=LOCK_WAIT, command="hook install").held():
            if not edit.changes:
                if edit.base == edit.before:  # nothing of ours is there: a record would be of an earlier time
                    _keep(key, None)
                    _keep(key.with_suffix(".before"), None)
                return False
            now = _read(edit.target)
            if now == edit.after:
                return False
            if now != edit.before:
                raise ConflictError(f"{edit.path} was changed in the meantime", "nothing was written; run it again")
            effective = os.access in os.supports_effective_ids
            if now is not None and not os.access(edit.target, os.W_OK, effective_ids=effective):
                raise UnwritableError(
                    f"{edit.path} is read-only", "it is as it was; make it writable, or change it there"
                )
            made = disk.own_object(key).get("made") or _missing_folders(edit.target.parent)
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
                _keep(key.with_suffix(".replaced"), now)
                edit.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _replace(edit, key.with_suffix(".leftover"))
                _keep(key.with_suffix(".replaced"), None)  # settings hold credentials: no copy stays that nobody needs
                if edit.after == edit.base:
                    _keep(key, None)
                    _keep(key.with_suffix(".before"), None)
                    for folder in made if edit.after is None else ():
                        os.rmdir(folder)
            except OSError as error:
                if edit.after == edit.base and _read(edit.target) == edit.after:
                    return True  # only a folder that holds something else stays
                raise UnwritableError(
                    f"{edit.path} can't be written: {error.strerror or error}", "it is as it was; make it writable"
                ) from error
        return True

    def standing(self, name: str) -> Standing:
        """How a host stands, read from its files."""
        files, events, servers, problems = [], [], False, []
        for path, is_toml in self._places(name):
            try:
                value = _values(path, _read(path), toml=is_toml)
            except SettingsError as error:
                problems.append(error.message)
                continue
            found = [*hostfile.entries_of(value, _ours(name))]
            if found:
                files.append(os.fspath(path))
            for keys, entry in found:
                if keys[:1] == ("hooks",):
                    events.append(keys[1])
                else:
                    servers = True
                problems += _gone(_words(entry))
            by_hand = [keys for keys, _ in hostfile.entries_of(value, _by_hand(name)) if len(keys) > 1]
            events += [keys[1] for keys in by_hand if keys[0] == "hooks"]
            servers = servers or any(keys[0] == "mcpServers" for keys in by_hand)
            files += [os.fspath(path)] if by_hand and not found else []
            off = _switched_off(name, value)
            problems += [f"all hooks are switched off in {path} ({off})"] if off else []
            problems += filter(None, [_unread(name, path, _read(path), is_toml=is_toml)])
            plugin = _plugin(value)
            problems += [f"the plugin {plugin} calls it, too: tars-memory hook uninstall {name}"] if plugin else []
        if name == "codex":
            problems += self._codex_says(files, events)
        asked = HOSTS[name].told(self.lines)
        missing = [event for event in asked if event not in events]
        events = [*(event for event in asked if event in events), *(event for event in events if event not in asked)]
        if events and missing and not problems:
            problems.append(f"its hooks lack {', '.join(missing)}: tars-memory hook install {name}")
        seen = dict.fromkeys(problems) if files or events else ()
        return Standing(name, self.folder(name).is_dir(), files, events, servers, "; ".join(seen))

    def _codex_says(self, files: list[str], events: list[str]) -> list[str]:
        """What Codex's own settings say against our hooks: it runs none but those whose trust it wrote down there."""
        path = self.folder("codex") / "config.toml"
        try:
            value = _values(path, _read(path), toml=True)
        except SettingsError as error:
            return [error.message]
        off = _switched_off("codex", value)
        state = value["hooks"].get("state") if isinstance(value.get("hooks"), dict) else None
        trusted = [
            key for key, how in (state.items() if isinstance(state, dict) else ()) if "trusted_hash" in (how or {})
        ]
        doubtful = [
            event
            for event in events
            if not any(key.startswith(f"{file}:{_snake(event)}:") for file in files for key in trusted)
        ]
        told = [f"all hooks are switched off in {path} ({off})"] if off else []
        return told + ([f"Codex waits until you trust {', '.join(doubtful)}: type /hooks in it"] if doubtful else [])

    def _codex(self) -> tuple[Path, bool]:
        """The file of Codex's two that holds hooks already: it warns of hooks in both."""
        (path, _), (table, _) = self._places("codex")
        try:
            if not _values(path, _read(path)).get("hooks"):
                hooks = _values(table, _read(table), toml=True).get("hooks")
                if isinstance(hooks, dict) and any(isinstance(each, list) for each in hooks.values()):
                    return table, True
        except (SettingsError, AttributeError):
            pass  # the planned change says what is wrong with the file
        return path, False

    def _places(self, name: str) -> list[tuple[Path, bool]]:
        """The files that may hold entries of ours, and which are TOML."""
        host, folder = HOSTS[name], self.folder(name)
        found = [(folder / host.file, False)]
        found += [(folder / "config.toml", True)] if name == "codex" else []
        return found + ([(folder / host.servers, False)] if host.servers else [])

    def _record(self, target: Path) -> Path:
        return self.records / f"{sha256(os.fsencode(target)).hexdigest()[:16]}.json"

    def _planned(self, name: str, path: Path, is_toml: bool, entries: list[Insertion] | None) -> Edit:
        """The change of one file: with these entries, or with None of ours."""
        target = Path(os.path.realpath(path))
        current = _read(target)
        ours = _ours(name)
        notes: list[str] = []
        try:
            value = _values(path, current, toml=is_toml)
            if not isinstance(value, dict):
                raise hostfile.UnfitError("it holds no object")
            base = self._base(target, current, ours, is_toml=is_toml)
            if entries is None:
                return Edit(name, path, target, current, base, base)
            by_hand = {keys[:2] for keys, _ in hostfile.entries_of(value, _by_hand(name))}
            served = any(keys[0] == "mcpServers" for keys in by_hand)
            notes += filter(None, [_unread(name, path, current, is_toml=is_toml)])
            notes += [f"{path}: {keys[1]} calls tars-memory already, as you wrote it" for keys in sorted(by_hand)]
            rest = [entry for entry in entries if entry.keys not in by_hand and not (served and not entry.listed)]
            asked = (hostfile.entries_of(each.value, ours, each.keys, each.key) for each in rest)
            wanted = sorted((keys, _flat(entry)) for found in asked for keys, entry in found)
            held = sorted((keys, _flat(entry)) for keys, entry in hostfile.entries_of(value, ours))
            if wanted == held:
                return Edit(name, path, target, current, current, base, tuple(notes))
            text = _text(base)
            known = hostfile.values(text, toml=is_toml)
            rest = [
                entry for entry in rest if entry.listed or ours(entry.value, entry.key) or entry.keys[0] not in known
            ]
            after = _bytes(hostfile.put(text, rest, ours, toml=is_toml))
        except ValueError as error:
            raise SettingsError(f"{path} is left as it is: {error}", "mend it, then run this again") from error
        return Edit(name, path, target, current, after, base, tuple(notes))

    def _base(
        self, target: Path, current: bytes | None, ours: Callable[[Any, str], bool], *, is_toml: bool
    ) -> bytes | None:
        """The file without our entries: exactly as it was, if it is as we left it."""
        key = self._record(target)
        record = disk.own_object(key)
        before = None if record.get("missing") else _read(key.with_suffix(".before"))
        if record and record.get("after") == _digest(current):
            return before
        if current is None:
            return None
        held: Any = None
        with contextlib.suppress(ValueError):
            held = hostfile.values(_text(before), toml=is_toml) if record else None
        return _bytes(hostfile.taken(_text(current), ours, held, toml=is_toml))


# --- what is in the files


def handler(name: str, command: str) -> dict[str, Any]:
    """How a host's settings say that it runs a command."""
    if name == "cursor":
        return {"command": command}
    if name == "copilot":
        return {"type": "command", "powershell" if os.name == "nt" else "bash": command, "timeoutSec": SECONDS}
    if name == "gemini":  # milliseconds
        return {"hooks": [{"name": SERVER, "type": "command", "command": command, "timeout": 1000 * SECONDS}]}
    return {"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]}


def _joined(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _words(value: Any) -> list[str]:
    """The words of the command that an entry calls; none if it is not an entry."""
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


def _called(words: list[str]) -> list[str]:
    """The words behind our own name; none if it is not us that they call."""
    if words and words[0].replace("\\", "/").rpartition("/")[2] in PROGRAMS:
        return words[1:]
    return words[3:] if words[1:3] == ["-m", "tars_memory"] else []


def _ours(name: str) -> Callable[[Any, str], bool]:
    """Whether a value is an entry as we write it for a host."""

    def ours(value: Any, key: str) -> bool:
        called = _called(_words(value))
        if len(called) > 2 and called[-2] == "--vault":
            called = called[:-2]
        return called == ["hook", "--agent", name] or (called == ["mcp"] and key == SERVER)

    return ours


def _by_hand(name: str) -> Callable[[Any, str], bool]:
    """Whether a value is an entry that calls us, but not as we write it."""
    ours = _ours(name)

    def by_hand(value: Any, key: str) -> bool:
        words = _words(value)
        calls = any(_called(words[at:])[:1] in (["hook"], ["mcp"]) for at in range(len(words)))
        return calls and not ours(value, key)

    return by_hand


def _flat(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _gone(words: list[str]) -> list[str]:
    """What a call names that is not there: the program, the vault."""
    program, gone = words[0], []
    if os.path.isabs(program):
        is_there = os.path.isfile(program) and os.access(program, os.X_OK)
    else:
        is_there = shutil.which(program) is not None
    if not is_there:
        gone.append(f"it calls {program}, which is not there any more: tars-memory hook install")
    if words[-2] == "--vault" and not os.path.isdir(words[-1]):
        gone.append(f"it names the vault {words[-1]}, which is not there: mount it, or tars-memory hook install")
    return gone


def _snake(event: str) -> str:
    """``SessionStart`` as Codex writes it in names: ``session_start``."""
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in event).lstrip("_")


def _switched_off(name: str, value: Any) -> str:
    """The setting of a host that keeps all hooks from running; empty if there is none."""
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


def _unread(name: str, path: Path, data: bytes | None, *, is_toml: bool) -> str:
    """What of a file's form keeps its host from reading it; empty if nothing does."""
    found = [] if is_toml else [each for each in hostfile.liberties(_text(data)) if each not in HOSTS[name].reads]
    return f"{HOSTS[name].title} ignores {path}: it has {' and '.join(found)}" if found else ""


def _plugin(value: Any) -> str:
    """Our own plugin, if a file of settings says that it is used."""
    for table in ("enabledPlugins", "plugins"):
        used = value.get(table) if isinstance(value, dict) else None
        for plugin, how in used.items() if isinstance(used, dict) else ():
            if plugin.partition("@")[0] == SERVER and (how is True or how == {"enabled": True}):
                return str(plugin)
    return ""


# --- files


def _read(path: Path) -> bytes | None:
    return disk.read(path, links=True)


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _values(path: Path, data: bytes | None, *, toml: bool = False) -> Any:
    """What a file says.

    Raises:
        SettingsError: it is not valid.
    """
    try:
        return hostfile.values(_text(data), toml=toml)
    except ValueError as error:
        kind = "TOML" if toml else "JSON"
        raise SettingsError(f"{path} is not valid {kind}: {error}", "mend it first; it is left as it is") from error


def _missing_folders(folder: Path) -> list[str]:
    """The folders that have to be made for one, the innermost first."""
    missing = []
    while not folder.exists():
        missing.append(os.fspath(folder))
        folder = folder.parent
    return missing


def _keep(path: Path, data: bytes | None) -> None:
    """Write a file of our own, whole or not at all; None removes it."""
    path.unlink(missing_ok=True) if data is None else replace_file(path, data)


def _replace(edit: Edit, leftover: Path) -> None:
    """Put the new bytes in the file's place, if it still holds the old ones; its mode and owner stay.

    Raises:
        OSError: it can't be written; it is as it was.
        ConflictError: it holds something else; it is as it was.
    """
    name = edit.target.name
    temp, aside = f".{name}.tars-tmp", f".{name}.tars-old"
    folder = Folder.open(edit.target.parent)
    try:
        for old in (temp, aside):  # of a process that was killed here
            data = _read(edit.target.with_name(old))
            if data is not None:
                _keep(leftover, data)
                folder.remove(old)
        if edit.after is None:
            os.replace(edit.target, edit.target.with_name(aside))
            _settle(folder, edit, aside, name)
            return
        _write(folder, temp, edit)
        system = of_this_system()
        try:
            if edit.before is None:
                try:
                    system.place(folder, temp, name)
                except FileExistsError:
                    raise _changed(edit) from None
                return
            displaced = system.swap(folder, name, temp, aside)
        except UnsupportedError:
            if _read(edit.target) != edit.before:
                raise _changed(edit) from None
            os.replace(edit.target.with_name(temp), edit.target)
            return
        _settle(folder, edit, displaced, name)
    finally:
        with contextlib.suppress(OSError):
            if edit.after is not None and folder.look(temp) is not None:
                folder.remove(temp)
        folder.close()


def _settle(folder: Folder, edit: Edit, displaced: str, name: str) -> None:
    """Remove the displaced file if it is the one that was read; else put it back."""
    path = edit.target.with_name(displaced)
    if _read(path) == edit.before:
        folder.remove(displaced)
        return
    os.replace(path, edit.target.with_name(name))
    raise _changed(edit)


def _changed(edit: Edit) -> ConflictError:
    return ConflictError(f"{edit.path} was changed in the meantime", "nothing was written; run it again")


def _write(folder: Folder, temp: str, edit: Edit) -> None:
    """The new file beside the old one, with its mode, owner and attributes."""
    descriptor = folder.file(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(edit.after or b"")
        if edit.before is not None:
            old = folder.file(edit.target.name, os.O_RDONLY)
            try:
                of_this_system().copy_attributes(old, descriptor, os.fstat(old))
            finally:
                os.close(old)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- what a host soon forgets


MEMORY_LINES, MEMORY_BYTES = 200, 25_000
"""What Claude Code loads of a ``MEMORY.md`` of its own: https://code.claude.com/docs/en/memory."""


SOON = 5
"""Days before that in which a warning is of use."""


def warnings(env: Mapping[str, str], now: float, *, kept: bool, lines: Collection[str] = ()) -> list[tuple[str, str]]:
    """What is wrong with hooks, and what Claude Code is about to leave out or to delete, each with what to do.

    Args:
        env: the variables that say where its folder is.
        now: seconds since the epoch.
        kept: what is said in conversations is kept by a night's work.
        lines: the daily lines that are wanted.
    """
    try:
        hosts = Hosts(env, Path(), lines)
    except UsageError:
        return []
    folder = hosts.folder("claude")
    standing = [hosts.standing(name) for name in hosts.here()]
    found = [
        (f"{HOSTS[each.agent].title}: {each.problem}", "tars-memory hook status") for each in standing if each.problem
    ]
    days: Any = CLEANUP_DAYS
    with contextlib.suppress(SettingsError, AttributeError):
        days = _values(folder / "settings.json", _read(folder / "settings.json")).get("cleanupPeriodDays", days)
    soon = 0
    limit = now - 86_400 * ((days if isinstance(days, int) else CLEANUP_DAYS) - SOON)
    for project in _folders(folder / "projects"):
        memory = os.path.join(project, "memory", "MEMORY.md")
        with contextlib.suppress(SettingsError):
            data = disk.read(Path(memory), links=True, most=disk.LARGEST_OWN) or b""
            rows = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            if rows > MEMORY_LINES or len(data) > MEMORY_BYTES:
                size = f"{counted(rows, 'line')}, {counted(len(data), 'byte')}"
                most = f"{MEMORY_LINES} lines or {MEMORY_BYTES:,} bytes"
                said = f"{memory} is longer than what Claude Code loads of it ({size}; it loads {most})"
                found.append((said, "shorten it, or let tars-memory remember what is in it"))
        soon += 0 if kept else sum(1 for time in _logs(project) if time < limit)
    if soon:
        said = f"Claude Code deletes {counted(soon, 'conversation')} within {SOON} days (cleanupPeriodDays: {days})"
        found.append((said, f"to keep your words: tars-memory sleep {shlex.quote(str(folder / 'projects'))}"))
    return found


def _folders(path: Path) -> list[str]:
    try:
        with os.scandir(path) as found:
            return sorted(each.path for each in found if each.is_dir())
    except OSError:
        return []


def _logs(project: str) -> Iterator[float]:
    """When each conversation of a project was last written."""
    with contextlib.suppress(OSError), os.scandir(project) as found:
        for each in found:
            if each.name.endswith(".jsonl"):
                with contextlib.suppress(OSError):
                    yield each.stat().st_mtime
