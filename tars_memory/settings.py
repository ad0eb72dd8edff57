"""Settings: flag > environment > configuration file > default, as frozen options, one class per room.

Two files are read: the person's own ``config.toml`` (any key), and the vault's ``.tars/config.toml``, which may only
hold what travels with a vault (``[layout]`` and ``[limits]``): a synced vault must not reconfigure the tool.

The environment name of ``[section] key`` is ``TARS_MEMORY_SECTION_KEY``.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tars_memory import bounded
from tars_memory.errors import SettingsError, UnwritableError, UsageError, VaultError
from tars_memory.hashing import sha256
from tars_memory.options import ALLOWED, SECTIONS, Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

APP = "tars-memory"
VAULT_FOLDER = ".tars"
OBSIDIAN_FOLDER = ".obsidian"
"""What Obsidian's own vaults hold, and ours before the first write."""
ID_FILE = "vault-id"
_LONGEST_ID = 64

VAULT_SECTIONS = frozenset({"layout", "limits"})
"""The sections that a vault's own ``.tars/config.toml`` may set."""
NEVER_BY_ENVIRONMENT = frozenset({"permissions", "sources"})
"""The sections that only the person's own file may set: whoever calls could set a variable, and so permit himself."""

OURS = "TARS_MEMORY_"
VARIABLES = frozenset(
    {
        *(f"{OURS}{name}" for name in ("DIR", "HOME", "ACTOR", "DEBUG", "SQLITE", "BACKGROUND")),
        *("TARS_NOW", "TARS_AUTHOR", "TARS_PROJECT", "TARS_AUTO_EXTRACT"),
    }
)
"""The variables that stand for no key of a section."""

AUTO = "TARS_AUTO_EXTRACT"
"""The variable that keeps whatever runs by itself (hooks, cron, sleep) from extracting."""

BACKGROUND = f"{OURS}BACKGROUND"
"""The variable that keeps a call from starting a process that finishes the index by itself."""

OFF = frozenset({"0", "false", "no", "off"})


def may_run_by_itself(env: Mapping[str, str]) -> bool:
    """Whether what runs by itself may extract: :data:`AUTO` does not forbid it."""
    return env.get(AUTO, "").strip().lower() not in OFF


def may_go_on_apart(env: Mapping[str, str]) -> bool:
    """Whether a call may start a process that outlives it: :data:`BACKGROUND` does not forbid it."""
    return env.get(BACKGROUND, "").strip().lower() not in OFF


AnyOptions = TypeVar("AnyOptions", bound=Options)


class Settings:
    """All options, and where the vault is said to be.

    ``given`` maps ``section.key`` to the place that set it (``config``, ``vault config``, or the variable's name).
    ``vault_problem`` is what can't be used in the vault's own file, or None: it came with a sync, perhaps half of it,
    and must not end a command. ``passed_over`` is a vault here or above that :func:`find_vault` did not take, because
    the person never used it there, or None.
    """

    def __init__(self, env: Mapping[str, str], places: Places) -> None:
        self.env = env
        self.places = places
        self.given: dict[str, str] = {}
        self.vault_problem: UsageError | None = None
        self.passed_over: Path | None = None
        self._user = bounded.toml_table(places.config / "config.toml")
        self._vault: dict[str, Any] = {}
        self._vault_said: dict[str, Any] = {}

    def read_vault(self, root: Path) -> None:
        """Take in the vault's own configuration; keys outside :data:`VAULT_SECTIONS` are ignored."""
        try:
            table = bounded.toml_table(root / VAULT_FOLDER / "config.toml", root)
        except SettingsError as error:
            self.vault_problem = error
            table = {}
        self._vault_said = table
        self._vault = {name: value for name, value in table.items() if name in VAULT_SECTIONS}

    def unknown_variables(self) -> list[str]:
        """A sentence for each variable that looks like one of ours and is none, so that it sets nothing."""
        sections = [name for name in SECTIONS if name not in NEVER_BY_ENVIRONMENT]
        known = {f"{OURS}{section}_{key}".upper() for section in sections for key in SECTIONS[section].__annotations__}
        known |= VARIABLES
        found = []
        for name in self.env:
            if name.startswith("TARS_") and name not in known:
                ours = name.startswith(OURS)
                near = _nearest(name, known if ours else VARIABLES, OURS if ours else "TARS_")
                if near or ours:  # other programs may have variables of that beginning, too
                    found.append(f"the variable {name} is unknown and sets nothing{near}")
        return sorted(found)

    def unknown_keys(self) -> list[str]:
        """A sentence for each key of the configuration files that is unknown, so that it sets nothing."""
        found = []
        own = self.places.config / "config.toml"
        for where, table, sections in (
            (own, self._user, SECTIONS.keys()),
            (f"{VAULT_FOLDER}/config.toml", self._vault_said, VAULT_SECTIONS),
        ):
            for name, part in table.items():
                if name == "vault" and where is own:
                    continue
                if name in SECTIONS and name not in sections:
                    found.append(f"{where}: [{name}] is ignored: a vault sets [layout] and [limits] alone")
                elif name not in SECTIONS or not isinstance(part, dict):
                    shown = f"[{name}]" if isinstance(part, dict) else name
                    found.append(f"{where}: {shown} is unknown and sets nothing{_nearest(name, {*sections, 'vault'})}")
                else:
                    keys = SECTIONS[name].__annotations__
                    found += [
                        f"{where}: {key} in [{name}] is unknown and sets nothing{_nearest(key, keys)}"
                        for key in part
                        if key not in keys
                    ]
        return found

    def vault_path(self) -> str | None:
        """The vault named in the person's own configuration (``vault = "~/Notes"``), if any."""
        value = self._user.get("vault")
        if value is not None and not isinstance(value, str):
            raise SettingsError(f"vault in {self.places.config / 'config.toml'} must be a path in quotes")
        return os.path.expanduser(value) if value else None

    def write(self, section: str, key: str, value: str) -> Path:
        """Set one key in the person's own configuration, every other line as it is; returns the file.

        Raises:
            UnwritableError: it can't be written.
        """
        import json

        path = self.places.config / "config.toml"
        try:
            text = path.read_text("utf-8") if path.exists() else ""
            changed = _with(text, section, f"{key} = {json.dumps(value, ensure_ascii=False)}", key)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".config.toml.{os.getpid()}")
            temporary.write_text(changed, "utf-8")
            temporary.replace(path)
        except OSError as error:
            hint = f"set {key} in [{section}] there"
            raise UnwritableError(f"{path} can't be written: {error.strerror}", hint) from error
        self._user = bounded.toml_table(path)
        return path

    def options(self, section: str, kind: type[AnyOptions]) -> AnyOptions:
        """The options of one room, from all places, the nearest winning.

        Raises:
            SettingsError: a value does not have the type of its key.
        """
        values: dict[str, Any] = {}
        tables = (("config", self._user), ("vault config", self._vault))
        for key in kind.__annotations__:
            variable = f"TARS_MEMORY_{section}_{key}".upper()
            said: list[tuple[str, object]] = []
            if variable in self.env and section not in NEVER_BY_ENVIRONMENT:
                said.append((variable, self.env[variable]))
            for place, table in tables:
                part = table.get(section)
                if isinstance(part, dict) and key in part:
                    said.append((place, part[key]))
            for place, value in said:
                try:
                    typed = _typed(value, getattr(kind, key), f"{section}.{key} ({place})")
                    values[key] = _allowed(typed, f"{section}.{key}", place)
                except SettingsError as error:
                    if place != "vault config":
                        raise
                    self.vault_problem = self.vault_problem or error
                    continue
                self.given[f"{section}.{key}"] = place
                break
        return kind(**values)


def _with(text: str, section: str, line: str, key: str) -> str:
    """A configuration with one line of a section set: in place, else below the section's name, else at the end."""
    import re

    lines = text.split("\n")
    head = next((at for at, each in enumerate(lines) if re.match(rf"\s*\[{section}\]\s*(#.*)?$", each)), None)
    if head is None:
        return f"{text.rstrip()}\n\n[{section}]\n{line}\n".lstrip()
    for at in range(head + 1, len(lines)):
        if lines[at].lstrip().startswith("["):
            break
        if re.match(rf"\s*{key}\s*=", lines[at]):
            return "\n".join([*lines[:at], line, *lines[at + 1 :]])
    return "\n".join([*lines[: head + 1], line, *lines[head + 1 :]])


class Places:
    """The folders outside the vault: ``state`` (journal, index, spool), ``cache`` (models, vectors), ``config``."""

    def __init__(self, state: Path, cache: Path, config: Path) -> None:
        self.state = state
        self.cache = cache
        self.config = config

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Places:
        """The platform's folders for this program, by platformdirs (XDG variables are honoured).

        ``TARS_MEMORY_HOME`` puts all three below one folder.
        """
        home = env.get("TARS_MEMORY_HOME")
        if home:
            base = Path(home)
            return cls(base / "state", base / "cache", base / "config")
        from platformdirs import PlatformDirs

        dirs = PlatformDirs(APP, appauthor=False)
        return cls(Path(dirs.user_state_dir), Path(dirs.user_cache_dir), Path(dirs.user_config_dir))

    def vault_state(self, root: Path, vault_id: str | None, *, create: bool, used: bool = False) -> Path:
        """The state folder of the vault at this place: state belongs to a vault where it is, and never follows it.

        A copy (same id, another path) has a state of its own, and so has another vault at the path of an earlier one.
        It is the same vault if only its id is another one while the folder is the same: two devices wrote to it before
        they were first synced, and one id won. What a vault left at the path that it was moved from is taken over by
        ``doctor --adopt`` alone: an unmounted disk looks just like a moved vault.

        Args:
            root: the vault's real path.
            vault_id: from ``.tars/vault-id``; None before the first write.
            create: make the folder (0700) and its ``vault.json`` if missing; else only say where it would be.
            used: the person uses this vault at this place, see :meth:`has_used`; remembered with ``create``.
        """
        folder, held, same = self._held(root, vault_id)
        known = {**held, "used": held.get("used", bool(held))}
        if known.get("id") and not same and not vault_id:
            return folder  # a vault is missing here, as when its disk is: its record must not become this folder's
        used = used or (same and known["used"])
        record = {"id": vault_id or known.get("id"), "path": str(root), "place": _place(root), "used": used}
        if create and held != record:
            import json

            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = folder / f".vault.json.{os.getpid()}"
            temporary.write_text(json.dumps(record), "utf-8")
            temporary.replace(folder / "vault.json")
        return folder

    def _held(self, root: Path, vault_id: str | None) -> tuple[Path, dict[str, Any], bool]:
        """The state folder for the vault at a path, what its ``vault.json`` says, and whether it is of this vault."""
        place = _place(root)
        first = self.state / "vaults" / sha256(os.fsencode(root)).hexdigest()[:16]
        held = vault_json(first)
        if not vault_id or held.get("id") in (None, vault_id):
            same = bool(vault_id) and held.get("id") == vault_id
            return first, held, same or _same_place(held.get("place"), place)
        others = sorted(first.parent.glob(f"{first.name}-*"))
        found = [(first, held), *((other, vault_json(other)) for other in others)]
        for folder, held in found:
            if held.get("id") == vault_id:
                return folder, held, True
        for folder, held in found:
            if _same_place(held.get("place"), place):
                return folder, held, True
        return first.with_name(f"{first.name}-{vault_id}"), {}, False

    def has_used(self, root: Path) -> bool:
        """Whether the person has used this very vault at this place: by ``init``, by a write, or by saying so."""
        _, held, same = self._held(root, read_id(root))
        return same and bool(held.get("used", True))

    def held_vault(self, root: Path) -> bool:
        """Whether a vault that we wrote to was here and the folder is empty now, as when a disk is not there."""
        with contextlib.suppress(OSError), os.scandir(root) as found:
            if next(found, None) is None:
                return self._held(root, None)[1].get("id") is not None
        return False

    def lost_id(self, root: Path) -> str | None:
        """The id of the vault in this very folder, as far as the state folder knows; for one that lost its own."""
        _, held, same = self._held(root, None)
        return held.get("id") if same else None

    def absent(self, root: Path, vault_id: str | None) -> list[tuple[Path, str]]:
        """State that waits for vaults of the same id which are not where they were: its folders, and their paths."""
        found = []
        base = self.state / "vaults"
        for folder in sorted(base.iterdir()) if vault_id and base.is_dir() else ():
            held = vault_json(folder)
            path = str(held.get("path"))
            away = held.get("id") == vault_id and path != str(root) and read_id(Path(path)) != vault_id
            if away and ((folder / "journal").is_dir() or (folder / "spool").is_dir()):
                found.append((folder, path))
        return found


AUTHOR = "TARS_AUTHOR"
"""Whoever sets it names himself as the author of what is written: an agent in a vault that several feed."""

PROJECT = "TARS_PROJECT"
PROJECT_FILE = ".tars-project"
"""Its first line names the project of the folder that it stands in, and of all below."""

NO_PROJECT = "none"
"""What says that no project is meant, whatever a variable or a file says."""

PROJECTS = "projects"
"""The vault's folder of projects, a folder each."""

_LONGEST_NAME = 200
"""Bytes of a project's name: file systems take 255 of a folder's."""


def chosen_project(
    flag: str | None, env: Mapping[str, str], cwd: Path, places: Places | None = None, notices: list[str] | None = None
) -> str:
    """The project that is meant: ``--project``, else ``TARS_PROJECT``, else a ``.tars-project`` file here or above.

    Args:
        flag: as it was said, or None.
        env: the variables.
        cwd: where to look for the file.
        places: with them a file inside a vault that the person never used there is passed over as that vault is.
        notices: takes a sentence for a file that can't be used, which is passed over then; None raises the error.

    Returns:
        Its name as it was said; empty for none.

    Raises:
        UsageError: what was said can't be a folder's name.
    """
    if flag == "":
        raise UsageError("--project is empty", f"name a folder below {PROJECTS}/, or {NO_PROJECT}, or leave it out")
    if flag is not None:
        return project_name(flag, "--project")
    if env.get(PROJECT):
        return project_name(env[PROJECT], PROJECT)
    strangers = [root for root, strange in vaults_above(places, cwd) if strange] if places is not None else []
    for folder in (cwd, *cwd.parents):
        if any(folder.is_relative_to(root) for root in strangers):
            continue
        path = folder / PROJECT_FILE
        try:
            said = bounded.read(path)
            if said is not None:
                first = said.split(b"\n", 1)[0][: 4 * _LONGEST_NAME]
                return project_name(first.decode("utf-8-sig", "replace").strip(), str(path))
        except UsageError as error:
            if notices is None:
                raise
            notices.append(f"ignored: {error.message}")
    return ""


def project_name(text: str, where: str) -> str:
    """The name of a project as it was said somewhere; empty for :data:`NO_PROJECT`.

    Raises:
        UsageError: no folder of a vault can have this name: it would lead elsewhere, be hidden, or break links.
    """
    name = text.strip()
    if name == NO_PROJECT:
        return ""
    odd = not name or name[0] == "." or name[-1] in ". " or len(name.encode("utf-8", "replace")) > _LONGEST_NAME
    if odd or not name.isprintable() or any(sign in name for sign in '/\\:*?"<>|#^[]%'):
        raise UsageError(f"{_shown(name)} ({where}) is no project", f"name a folder below {PROJECTS}/, or {NO_PROJECT}")
    return name


def find_project(root: Path, name: str) -> str:
    """The name of a project as its folder has it: case and composition of letters don't matter.

    A project that has no folder yet keeps the name that was said, its letters composed.
    """
    if not name or (root / PROJECTS / name).is_dir():
        return name
    from unicodedata import normalize

    wanted = normalize("NFC", name).casefold()
    try:
        found = sorted(each.name for each in (root / PROJECTS).iterdir() if each.is_dir())
    except OSError:
        found = []
    return next((each for each in found if normalize("NFC", each).casefold() == wanted), normalize("NFC", name))


_KINDS: dict[type, str] = {str: "text in quotes", int: "whole number", float: "number", bool: "true or false"}
_LONGEST_SHOWN = 80
_SETTINGS_HINT = "mend it there; docs/settings.md lists all settings"


def here() -> Path:
    """The current folder; the root if it was removed, as happens to jobs: then nothing is found from there upward."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.sep)


class StrangeVaultError(VaultError):
    """A vault stands here that the person never used, and nothing else is named; ``root`` is its real path."""

    def __init__(self, root: Path) -> None:
        import shlex

        super().__init__(
            f"{root} is a vault that you have never used here",
            f"if it is yours, run once: tars-memory init {shlex.quote(str(root))}; else name yours with --vault",
        )
        self.root = root


def vaults_above(places: Places, cwd: Path, mark: str = VAULT_FOLDER) -> Iterator[tuple[Path, bool]]:
    """The vaults here and above, nearest first: real path, and whether the person has never used it there.

    A folder that came from elsewhere (a clone, an archive) may hold a vault, too: its notes are a stranger's words.
    """
    for folder in (cwd, *cwd.parents):
        if (folder / mark).is_dir():
            root = folder.resolve()
            yield root, not places.has_used(root)


def find_vault(flag: str | None, settings: Settings, cwd: Path) -> Path:
    """The vault's real path: ``--vault``, ``TARS_MEMORY_DIR``, one here or above that the person has used there before,
    the configuration; where none of them is, one that only Obsidian knows.

    One that he never used is passed over, and named in :attr:`Settings.passed_over`.

    Raises:
        UsageError: the flag is empty, as an unset variable makes it.
        StrangeVaultError: there is only one here that he never used.
        VaultError: none is named or found, or the named one is no folder.
    """
    if flag == "":
        raise UsageError("--vault is empty", "name the vault's folder, or leave --vault out")
    named = flag or settings.env.get("TARS_MEMORY_DIR")
    strangers: list[Path] = []
    if not named:
        for found, strange in vaults_above(settings.places, cwd):
            if not strange:
                settings.passed_over = next(iter(strangers), None)
                return found
            strangers.append(found)
        named = settings.vault_path()
    if strangers and not named:
        raise StrangeVaultError(strangers[0])
    for found, strange in () if named else vaults_above(settings.places, cwd, OBSIDIAN_FOLDER):
        if strange:
            raise StrangeVaultError(found)
        return found
    if not named:
        raise VaultError(
            "no vault here",
            "name one with --vault or TARS_MEMORY_DIR, or make one: tars-memory init PATH",
        )
    root = Path(os.path.expanduser(named))
    try:
        real = root.resolve(strict=True)
        if not real.is_dir():
            raise VaultError(f"{root} is no folder", "name the vault's folder with --vault")
    except (OSError, RuntimeError, ValueError) as error:
        raise VaultError(
            f"no vault at {named!r}: {getattr(error, 'strerror', None) or error}",
            "is it mounted? tars-memory init makes a new one",
        ) from error
    settings.passed_over = next((each for each in strangers if each != real), None)
    return real


def read_id(root: Path) -> str | None:
    """The id of the vault in a folder; None for none, also for a damaged one."""
    try:
        held = bounded.read(root / VAULT_FOLDER / ID_FILE, root, most=_LONGEST_ID + 8)
        return checked_id((held or b"").decode("ascii").strip())
    except (SettingsError, ValueError):
        return None


def checked_id(name: object) -> str | None:
    """A vault's id, if it has the form of one: it is part of a folder's name; None for anything else."""
    is_one = isinstance(name, str) and 8 <= len(name) <= _LONGEST_ID and name.isascii()
    return str(name) if is_one and str(name)[0] != "-" and str(name).replace("-", "").isalnum() else None


def _place(root: Path) -> list[int] | None:
    """Device and inode of a vault's folder, and the inode of its ``.tars``; None for a mount point, where another
    disk's may be the same. A folder made anew may get the inode of a removed one, hardly both of them.
    """
    try:
        found = os.stat(root)
        if os.path.ismount(root):
            return None
        with contextlib.suppress(OSError):
            return [found.st_dev, found.st_ino, os.stat(root / VAULT_FOLDER).st_ino]
    except OSError:
        return None
    return [found.st_dev, found.st_ino]


def _same_place(held: list[int] | None, place: list[int] | None) -> bool:
    """Whether two looks at a vault's folder saw the same one, as far as both could tell."""
    return bool(held and place) and all(one == other for one, other in zip(held or (), place or (), strict=False))


def vault_json(folder: Path) -> dict[str, Any]:
    """What a state folder says of its vault: ``id``, ``path``, ``place``, ``used``; empty if missing or damaged."""
    record = bounded.own_object(folder / "vault.json")
    if not isinstance(record.get("path"), str):
        return {}
    place = record.get("place")
    numbers = isinstance(place, list) and len(place) in (2, 3) and all(isinstance(each, int) for each in place)
    named = record.get("id") is None or checked_id(record["id"]) is not None
    return record if named and (numbers or place is None) else {}


def _allowed(value: Any, name: str, place: str) -> Any:
    """The value, if it is one of :data:`ALLOWED`.

    Raises:
        SettingsError: it is none.
    """
    known = ALLOWED.get(name, ())
    if isinstance(value, str):
        if known and value not in known:
            raise SettingsError(
                f"{name} ({place}): {_shown(value)} is unknown", f"it is one of {', '.join(map(str, known))}"
            )
    elif known:
        least, greatest = known[:2]
        if not least <= value <= greatest:
            raise SettingsError(
                f"{name} ({place}): {_shown(value)} is not between {least} and {greatest}", _SETTINGS_HINT
            )
    return value


def _typed(value: object, default: object, where: str) -> object:
    """The value as its default's type; text (from the environment) is converted, a wrong TOML type is refused."""
    kind: type = str if default is None else type(default)
    if kind is bool and isinstance(value, str):
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in ("0", "false", "no", "off", ""):
            return False
        raise SettingsError(f"{where}: {_shown(value)} is neither true nor false", _SETTINGS_HINT)
    if isinstance(value, str) or (kind is float and isinstance(value, int) and not isinstance(value, bool)):
        try:
            return kind(value)
        except (ValueError, OverflowError) as error:
            raise SettingsError(f"{where}: {_shown(value)} is no {_KINDS[kind]}", _SETTINGS_HINT) from error
    if type(value) is not kind:
        raise SettingsError(f"{where} must be a {_KINDS[kind]}, not {_shown(value)}", _SETTINGS_HINT)
    return value


def _nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """What was meant, as the end of a sentence; empty if nothing is near."""
    from difflib import get_close_matches  # only who mistypes pays for it

    same = [each.removeprefix(prefix) for each in known if each.startswith(prefix)]
    near = get_close_matches(name.removeprefix(prefix), same, n=1, cutoff=0.65)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def _shown(value: object) -> str:
    """A value as a message shows it; of a huge number, which Python prints slowly or not at all, the beginning."""
    try:
        shown = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
