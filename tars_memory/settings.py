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

from tars_memory.errors import UsageError, VaultError
from tars_memory.hashing import sha256
from tars_memory.options import ALLOWED, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "tars-memory"
VAULT_FOLDER = ".tars"
VAULT_SECTIONS = frozenset({"layout", "limits"})
"""The sections that a vault's own ``.tars/config.toml`` may set."""
NEVER_BY_ENVIRONMENT = frozenset({"permissions"})
"""The sections that only the person's own file may set: whoever calls could set a variable, and so permit himself."""

AUTO = "TARS_AUTO_EXTRACT"
"""The variable that keeps whatever runs by itself (hooks, cron, sleep) from extracting."""

OFF = frozenset({"0", "false", "no", "off"})


def may_run_by_itself(env: Mapping[str, str]) -> bool:
    """Whether what runs by itself may extract: :data:`AUTO` does not forbid it."""
    return env.get(AUTO, "").strip().lower() not in OFF


AnyOptions = TypeVar("AnyOptions", bound=Options)


class Settings:
    """All options, and where the vault is said to be.

    ``given`` maps ``section.key`` to the place that set it (``config``, ``vault config``, or the variable's name).
    ``vault_problem`` is what can't be used in the vault's own file, or None: it came with a sync, perhaps half of it,
    and must not end a command.
    """

    def __init__(self, env: Mapping[str, str], places: Places) -> None:
        self.env = env
        self.places = places
        self.given: dict[str, str] = {}
        self.vault_problem: UsageError | None = None
        self._user = _read_toml(places.config / "config.toml")
        self._vault: dict[str, Any] = {}

    def read_vault(self, root: Path) -> None:
        """Take in the vault's own configuration; keys outside :data:`VAULT_SECTIONS` are ignored."""
        try:
            table = _read_toml(root / VAULT_FOLDER / "config.toml")
        except UsageError as error:
            self.vault_problem = error
            table = {}
        self._vault = {name: value for name, value in table.items() if name in VAULT_SECTIONS}

    def vault_path(self) -> str | None:
        """The vault named in the person's own configuration (``vault = "~/Notes"``), if any."""
        value = self._user.get("vault")
        if value is not None and not isinstance(value, str):
            raise UsageError(f"vault in {self.places.config / 'config.toml'} must be a path in quotes")
        return os.path.expanduser(value) if value else None

    def options(self, section: str, kind: type[AnyOptions]) -> AnyOptions:
        """The options of one room, from all places, the nearest winning.

        Raises:
            UsageError: a value does not have the type of its key.
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
                except UsageError as error:
                    if place != "vault config":
                        raise
                    self.vault_problem = self.vault_problem or error
                    continue
                self.given[f"{section}.{key}"] = place
                break
        return kind(**values)


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

    def vault_state(self, root: Path, vault_id: str | None, *, create: bool) -> Path:
        """The state folder of one vault: by real path, adopted by its id when the vault was moved.

        A copied vault (same id, the old path still holds it) starts fresh; so does another vault that now lives at
        the path of an old one, whose state is kept aside under its id. It is the same vault if only its id is
        another one while the folder is the same: two devices wrote to it before they were first synced, and one id won.

        Args:
            root: the vault's real path.
            vault_id: from ``.tars/vault-id``; None before the first write.
            create: make the folder (0700) and its ``vault.json`` if missing; else only say where it would be.
        """
        import json

        base = self.state / "vaults"
        folder = base / sha256(os.fsencode(root)).hexdigest()[:16]
        known = _vault_json(folder)
        place = _place(root)
        same = place is not None and known.get("place") == place
        if known and vault_id and not same and known.get("id") not in (None, vault_id):
            if create:
                folder.rename(base / f"{folder.name}-{known['id']}")
            else:
                folder = base / f"{folder.name}-new"
            known = {}
        if not known and vault_id and base.is_dir():
            for other in base.iterdir():
                record = _vault_json(other)
                here = record.get("path") == str(root)  # it was kept aside meanwhile
                if record.get("id") == vault_id and (here or not _still_there(record.get("path", ""), vault_id)):
                    if not create:
                        return other
                    if not folder.exists():
                        other.rename(folder)
                    break
        record = {"id": vault_id or known.get("id"), "path": str(root), "place": place}
        if create and known != record:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = folder / f".vault.json.{os.getpid()}"
            temporary.write_text(json.dumps(record), "utf-8")
            temporary.replace(folder / "vault.json")
        return folder

    def held_vault(self, root: Path) -> bool:
        """Whether a vault that we wrote to was here and the folder is empty now, as when a disk is not there."""
        with contextlib.suppress(OSError), os.scandir(root) as found:
            if next(found, None) is None:
                folder = self.state / "vaults" / sha256(os.fsencode(root)).hexdigest()[:16]
                return _vault_json(folder).get("id") is not None
        return False


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


def chosen_project(flag: str | None, env: Mapping[str, str], cwd: Path) -> str:
    """The project that is meant: ``--project``, else ``TARS_PROJECT``, else a ``.tars-project`` file here or above.

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
    for folder in (cwd, *cwd.parents):
        try:
            with open(folder / PROJECT_FILE, "rb") as file:
                first = file.readline(4 * _LONGEST_NAME)
        except OSError:
            continue
        return project_name(first.decode("utf-8-sig", "replace").strip(), str(folder / PROJECT_FILE))
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
        raise UsageError(f"{name!r} ({where}) is no project", f"name a folder below {PROJECTS}/, or {NO_PROJECT}")
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
_SETTINGS_HINT = "mend it there; docs/settings.md lists all settings"


def here() -> Path:
    """The current folder; the root if it was removed, as happens to jobs: then nothing is found from there upward."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.sep)


def find_vault(flag: str | None, settings: Settings, cwd: Path) -> Path:
    """The vault's real path: ``--vault``, ``TARS_MEMORY_DIR``, a ``.tars`` folder here or above, the configuration.

    Raises:
        UsageError: the flag is empty, as an unset variable makes it.
        VaultError: none is named or found, or the named one is no folder.
    """
    if flag == "":
        raise UsageError("--vault is empty", "name the vault's folder, or leave --vault out")
    named = flag or settings.env.get("TARS_MEMORY_DIR")
    if not named:
        for folder in (cwd, *cwd.parents):
            if (folder / VAULT_FOLDER).is_dir():
                return folder.resolve()
        named = settings.vault_path()
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
    return real


def _place(root: Path) -> list[int] | None:
    """Device and inode of a vault's folder; None for a mount point, where another disk's may be the same."""
    try:
        found = os.stat(root)
        return None if os.path.ismount(root) else [found.st_dev, found.st_ino]
    except OSError:
        return None


def _still_there(path: str, vault_id: str) -> bool:
    """Whether the vault of that id still lives at the path."""
    try:
        return (Path(path) / VAULT_FOLDER / "vault-id").read_text("ascii").strip() == vault_id
    except (OSError, ValueError):
        return False


def _vault_json(folder: Path) -> dict[str, Any]:
    import json

    try:
        record = json.loads((folder / "vault.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    import tomllib  # only a person with a configuration file pays for the parser

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no valid TOML: {error}", "mend it or move it away") from error


def _allowed(value: Any, name: str, place: str) -> Any:
    """The value, if it is one of :data:`ALLOWED`.

    Raises:
        UsageError: it is none.
    """
    known = ALLOWED.get(name, ())
    if isinstance(value, str):
        if known and value not in known:
            raise UsageError(f"{name} ({place}): {value!r} is unknown", f"it is one of {', '.join(map(str, known))}")
    elif known:
        least, greatest = known[:2]
        if not least <= value <= greatest:
            raise UsageError(f"{name} ({place}): {value} is not between {least} and {greatest}", _SETTINGS_HINT)
    return value


def _typed(value: object, default: object, where: str) -> object:
    """The value as its default's type; text (from the environment) is converted, a wrong TOML type is refused."""
    kind: type = str if default is None else type(default)
    if kind is bool and isinstance(value, str):
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in ("0", "false", "no", "off", ""):
            return False
        raise UsageError(f"{where}: {value!r} is neither true nor false", _SETTINGS_HINT)
    if isinstance(value, str) or (kind is float and isinstance(value, int) and not isinstance(value, bool)):
        try:
            return kind(value)
        except ValueError as error:
            raise UsageError(f"{where}: {value!r} is no {_KINDS[kind]}", _SETTINGS_HINT) from error
    if type(value) is not kind:
        raise UsageError(f"{where} must be a {_KINDS[kind]}, not {value!r}", _SETTINGS_HINT)
    return value
