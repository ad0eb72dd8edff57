"""Files beside the notes: the program's own folders, and files that others wrote or a crash damaged.

Files that come with a vault (``.tars/*``, ``.obsidian/*``, ``.tars-project``) and those of our own state are read here,
within bounds, so that none of them can end or block a command: only regular files, no links, no blocking reads, no more
bytes and no deeper nesting than any honest file has. The caller decides what damage means; it is always one error, with
the file's name.

``hashlib`` takes SHA-256 from OpenSSL, whose library costs each start 2 ms and 4 MB; for short texts Python's own is as
fast, and BLAKE2b is Python's own in any case. So both come from here, as the standard library's ``random`` imports its
SHA-512. :func:`spawn` is here, too, so that a hook that only starts a process imports no other module for it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tars_memory.errors import SettingsError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        try:
            from _sha2 import sha256
        except ImportError:  # Python 3.11
            from _sha256 import sha256
    except ImportError:  # an interpreter that was built without them
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]

APP = "tars-memory"
VAULT_FOLDER = ".tars"
OBSIDIAN_FOLDER = ".obsidian"
"""Folder that Obsidian's vaults have, and ours before the first write."""
ID_FILE = "vault-id"
STATE_FILE = "vault.json"
"""File in a state folder that tells which vault it is of."""
_LONGEST_ID = 64

LARGEST = 1_000_000
"""Maximum size of a file of settings in bytes; Obsidian's own and a person's have a hundredth of it."""

LARGEST_OWN = 1 << 28
"""Maximum size of a file of our own state in bytes."""

LARGEST_NAMED = 100_000_000
"""Maximum size in bytes of a file that the person names, which is read whole."""

DEEPEST = 32
"""Maximum number of nested levels; Obsidian's deepest settings have six."""

_PLAIN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_PLAIN |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _PLAIN
_HANDLES = os.open in os.supports_dir_fd


def read(path: Path, within: Path | None = None, *, most: int = LARGEST, links: bool = False) -> bytes | None:
    """Return the bytes of a file; None if there is none.

    Args:
        path: the file.
        within: a folder above it, below which no step of the path may be a link either.
        most: maximum size in bytes; a larger file counts as damaged.
        links: follow links: for the person's own file, which may be kept with other dotfiles.

    Raises:
        SettingsError: the file is a link, not a regular file, too large, or can't be read.
    """
    try:
        fd = _open(path, within, links=links)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if within is None and getattr(error, "errno", 0) == errno.ENOTDIR:
            return None
        raise _unread(path, error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _refused(path, "is not a regular file")
        data = bytearray()
        while max(status.st_size, len(data)) <= most and (part := os.read(fd, min(most + 1 - len(data), 1 << 20))):
            data += part
    except OSError as error:
        raise _unread(path, error) from error
    finally:
        os.close(fd)
    if max(status.st_size, len(data)) > most:
        raise _refused(path, f"has more than {most:,} bytes")
    return bytes(data)


def read_named(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that the person names. It may be a pipe, as the shell makes for ``<(…)``.

    Raises:
        OSError: it can't be read, is a device (which may never end), or has more than :data:`LARGEST_NAMED` bytes.
    """
    with open(path, "rb") as stream:
        if is_device(stream):
            raise OSError(errno.EINVAL, "it is not a regular file")
        data = stream.read(LARGEST_NAMED + 1)
    if len(data) > LARGEST_NAMED:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST_NAMED // 1_000_000} MB")
    return data


def files_below(folder: str | os.PathLike[str], failed: Callable[[OSError], object] | None = None) -> Iterator[str]:
    """Yield the paths of the files below a folder, sorted, without hidden files and folders; links to folders are not
    followed.

    Args:
        folder: the folder.
        failed: called with the error of each folder that can't be read.
    """
    for at, folders, names in os.walk(folder, onerror=failed):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield from (os.path.join(at, name) for name in sorted(names) if name[0] != ".")


def is_device(stream: BinaryIO) -> bool:
    """Whether an open stream is of a device other than a terminal."""
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not stream.isatty())


def append_to(path: str | os.PathLike[str]) -> int:
    """Open a file of our own to append to, and return the descriptor, which the caller closes. A missing file is made.

    Raises:
        OSError: the file can't be opened, or is not a regular file; opening never waits for a pipe.
    """
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _PLAIN | _NO_LINK, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return fd


def json_of(data: bytes, path: object, *, text: bool = True) -> Any:
    """Parse the bytes of a JSON file.

    Args:
        data: the bytes.
        path: the file, for the message.
        text: refuse lone surrogates in strings, which stand for bytes that are not text.

    Raises:
        SettingsError: the bytes are not JSON, or not such as an honest program writes: too deep, huge numbers, lone
            surrogates.
    """
    try:
        return _sound(json.loads(data, parse_constant=_no_number), text=text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SettingsError(f"{path} is not valid JSON: {_parse_error(error)}", "fix it or move it away") from error


def json_object(path: Path, within: Path | None = None) -> dict[str, Any]:
    """Return the object in a JSON file; empty if there is no file, or it holds another value.

    Raises:
        SettingsError: see :func:`read` and :func:`json_of`.
    """
    data = read(path, within)
    value = None if data is None else json_of(data, path)
    return value if isinstance(value, dict) else {}


def json_objects(root: Path, paths: Iterable[str]) -> dict[str, dict[str, Any] | SettingsError]:
    """Return the objects in JSON files below a folder, by path; for a file that can't be read the error."""
    found: dict[str, dict[str, Any] | SettingsError] = {}
    for path in paths:
        try:
            found[path] = json_object(root / path, root)
        except SettingsError as error:
            found[path] = error
    return found


def state_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of our own; empty if the file is missing or damaged."""
    try:
        data = read(path, most=LARGEST_OWN, links=True)
        value = None if data is None else json_of(data, path, text=False)
    except SettingsError:
        return {}
    return value if isinstance(value, dict) else {}


def toml_table(path: Path, within: Path | None = None) -> dict[str, Any]:
    """Return the table in a TOML file; empty if there is no file.

    Without ``within`` the file is the person's own, and may be a link.

    Raises:
        SettingsError: see :func:`read`; or the file is not valid TOML, is nested too deep, or has huge numbers.
    """
    data = read(path, within, links=within is None)
    if data is None:
        return {}
    import tomllib  # only a configuration file needs the parser

    try:
        text = data.decode("utf-8-sig")
        # the parser's time grows with the square of a dotted key's length
        if re.search(_LONG_KEY, text):
            raise ValueError(_TOO_DEEP)  # noqa: TRY301
        table: dict[str, Any] = _sound(tomllib.loads(text))
    except Exception as error:
        raise SettingsError(f"{path} is not valid TOML: {_parse_error(error)}", "fix it or move it away") from error
    return table


_TOO_DEEP = "it is nested too deeply"
_LONG_KEY = rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""


def _open(path: Path, within: Path | None, *, links: bool) -> int:
    """Open a file to read, without following links below ``within``; return the descriptor.

    Raises:
        OSError: the file can't be opened, or is a link.
        ValueError: no file can have that name.
    """
    flags = os.O_RDONLY | _PLAIN | (0 if links else _NO_LINK)
    steps = () if within is None else path.relative_to(within).parts
    if not _HANDLES or len(steps) < 2:
        if not _NO_LINK and not links:
            base = path if within is None else within
            for step_path in (path, *(base.joinpath(*steps[:count]) for count in range(1, len(steps)))):
                if os.path.islink(step_path):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return os.open(path, flags)
    assert within is not None
    folder = os.open(within, _FOLDER)
    try:
        for step in steps[:-1]:
            inner = os.open(step, _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(steps[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _refused(path: Path, why: str, hint: str = "put the file itself there, or move it away") -> SettingsError:
    return SettingsError(f"{path} {why}", hint)


def _unread(path: Path, error: Exception) -> SettingsError:
    if getattr(error, "errno", 0) in (errno.EACCES, errno.EPERM):
        return _refused(path, _reason(error), "check the owner and the permissions of that file and its folder")
    return _refused(path, _reason(error))


def _reason(error: Exception) -> str:
    """Return why a file can't be read, as the end of a sentence that begins with its path."""
    number = getattr(error, "errno", 0)
    if number in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
        return "is a link, or below one, and links are not followed"
    return f"can't be read: {getattr(error, 'strerror', None) or error}"


def _parse_error(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return _TOO_DEEP
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)[:200]


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _sound(value: Any, *, text: bool = True) -> Any:
    """Return a parsed value after checking it, without recursion, for what no honest file has.

    Raises:
        ValueError: it is nested too deep, or has a huge or non-finite number, or with ``text`` a lone surrogate.
    """
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise ValueError(_TOO_DEEP)
        next_level: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                next_level += item
                next_level += item.values()
            elif isinstance(item, list):
                next_level += item
            elif isinstance(item, str) and text:
                item.encode("utf-8")  # a lone surrogate is a ValueError
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError(f"{item} is not a number of a setting")
            elif isinstance(item, int) and abs(item) >= 1 << 64:  # inodes have 64 bits
                raise ValueError("a number is too large")
        level, depth = next_level, depth + 1
    return value


def replace(path: Path, data: bytes, mode: int = 0o600, rights: int | None = None) -> None:
    """Write a file by way of a temporary file, so that nobody reads half of it and a failure leaves nothing behind.

    A power cut may lose the new content; data that must survive one belongs in the journal.

    Args:
        path: the file.
        data: its bytes.
        mode: its mode before the umask.
        rights: the mode of the replaced file, if it is to stay.

    Raises:
        OSError: the file can't be written, and is as it was; the error names this file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with replacing(path, temporary):
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
        if rights is not None:
            temporary.chmod(rights)
        temporary.replace(path)


@contextlib.contextmanager
def replacing(path: Path, temporary: Path) -> Iterator[None]:
    """Remove the temporary file if the block fails, and let the error name the file that it was to replace.

    Raises:
        OSError: the block failed.
    """
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):  # a full disk took the name, but not the text
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


# --- our own folders


class Places:
    """The folders outside the vault: ``state`` (journal, index, spool), ``cache`` (models, vectors), ``config``."""

    def __init__(self, state: Path, cache: Path, config: Path) -> None:
        self.state = state
        self.cache = cache
        self.config = config

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Places:
        """Return the platform's folders for this program, by platformdirs (XDG variables are honoured).

        ``TARS_MEMORY_HOME`` puts all three below one folder.

        Raises:
            StateError: nothing names a home folder, as in a container whose user has no account.
        """
        home = env.get("TARS_MEMORY_HOME")
        if home:
            base = Path(os.path.expanduser(home))  # a host's settings and systemd leave "~" as it is
            return cls(base / "state", base / "cache", base / "config")
        from platformdirs import PlatformDirs

        dirs = PlatformDirs(APP, appauthor=False)
        with contextlib.suppress(RuntimeError):  # older versions return "~/.local/state" instead
            found = cls(Path(dirs.user_state_dir), Path(dirs.user_cache_dir), Path(dirs.user_config_dir))
            if not str(found.state).startswith("~"):
                return found
        raise StateError(
            "there is no folder for history and index: HOME is not set, and the user has no account here",
            "set HOME, or set TARS_MEMORY_HOME to a writable folder",
        )

    def vault_state(self, root: Path, vault_id: str | None, *, create: bool, used: bool = False) -> Path:
        """Return the state folder of the vault at this path. State belongs to a path: it doesn't follow a moved vault.

        A copy (same id, another path) has a state of its own, and so has another vault at the path of an earlier one.
        A vault with another id in the same folder is still the same vault: two devices wrote to it before they were
        first synced, and one id won. Only ``doctor --adopt`` takes over the state that a moved vault left at its old
        path: an unmounted disk looks just like a moved vault.

        Args:
            root: the vault's real path.
            vault_id: from ``.tars/vault-id``; None before the first write.
            create: make the folder (mode 0700) and its ``vault.json`` if missing; else only return the path.
            used: the person uses this vault at this path, see :meth:`has_used`; recorded with ``create``.
        """
        folder, held, same = self._held(root, vault_id)
        known = {**held, "used": held.get("used", bool(held))}
        if known.get("id") and not same and not vault_id:
            return folder  # the vault is missing, as when its disk is: its record must not become this folder's
        used = used or (same and known["used"])
        record = {"id": vault_id or known.get("id"), "path": str(root), "place": _place(root), "used": used}
        if create and held != record:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace(folder / STATE_FILE, json.dumps(record).encode())
        return folder

    def _held(self, root: Path, vault_id: str | None) -> tuple[Path, dict[str, Any], bool]:
        """Return the state folder for a vault, its ``vault.json``, and whether that record is about this vault."""
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
        """Return whether the person has used this vault at this path: by ``init``, by a write, or by confirming it."""
        _, held, same = self._held(root, read_id(root))
        return same and bool(held.get("used", True))

    def had_vault(self, root: Path) -> bool:
        """Return whether the folder is empty but held a vault that we wrote to, as when a disk is not mounted."""
        with contextlib.suppress(OSError), os.scandir(root) as entries:
            if next(entries, None) is None:
                return self._held(root, None)[1].get("id") is not None
        return False

    def lost_id(self, root: Path) -> str | None:
        """Return the id that the state folder records for the vault in this very folder, if the vault lost its own."""
        _, held, same = self._held(root, None)
        return held.get("id") if same else None

    def absent(self, root: Path, vault_id: str | None) -> list[tuple[Path, str]]:
        """Return state folders and former paths of vaults with the same id that are no longer at their path."""
        found = []
        base = self.state / "vaults"
        for folder in sorted(base.iterdir()) if vault_id and base.is_dir() else ():
            held = vault_json(folder)
            path = str(held.get("path"))
            away = held.get("id") == vault_id and path != str(root) and read_id(Path(path)) != vault_id
            if away and ((folder / "journal").is_dir() or (folder / "spool").is_dir()):
                found.append((folder, path))
        return found


def read_id(root: Path) -> str | None:
    """Return the id of the vault in a folder; None if it has none or a damaged one.

    Where git joined vaults that two machines had made, there is a line for each: the least is the id on every machine.
    """
    try:
        data = read(root / VAULT_FOLDER / ID_FILE, root, most=8 * _LONGEST_ID) or b""
        ids = [checked_id(line.strip()) for line in data.decode("ascii").strip().split("\n")]
        return min(map(str, ids)) if all(ids) else None
    except (SettingsError, ValueError):
        return None


def checked_id(name: object) -> str | None:
    """Return a vault's id if it has the right form, so that it can be part of a folder's name; else None."""
    has_length = isinstance(name, str) and 8 <= len(name) <= _LONGEST_ID and name.isascii()
    return str(name) if has_length and str(name)[0] != "-" and str(name).replace("-", "").isalnum() else None


def _place(root: Path) -> list[int] | None:
    """Return device and inode of a vault's folder, and the inode of its ``.tars``.

    A new folder may get the inode of a removed one, but hardly both. None for a mount point, where another disk may
    have the same numbers.
    """
    try:
        status = os.stat(root)
        if os.path.ismount(root):
            return None
        with contextlib.suppress(OSError):
            return [status.st_dev, status.st_ino, os.stat(root / VAULT_FOLDER).st_ino]
    except OSError:
        return None
    return [status.st_dev, status.st_ino]


def _same_place(held: list[int] | None, place: list[int] | None) -> bool:
    """Return whether two results of :func:`_place` are of the same folder, as far as both have numbers."""
    return bool(held and place) and all(ours == theirs for ours, theirs in zip(held or (), place or (), strict=False))


def vault_json(folder: Path) -> dict[str, Any]:
    """Return the record of a vault in a state folder, empty if it is missing or damaged.

    Its members are ``id``, ``path``, ``place`` and ``used``.
    """
    record = state_object(folder / STATE_FILE)
    if not isinstance(record.get("path"), str):
        return {}
    place = record.get("place")
    has_numbers = isinstance(place, list) and len(place) in (2, 3) and all(isinstance(number, int) for number in place)
    has_valid_id = record.get("id") is None or checked_id(record["id"]) is not None
    return record if has_valid_id and (has_numbers or place is None) else {}


def spawn(argv: list[str], env: Mapping[str, str], last_words: str) -> None:
    """Start a process that shares nothing with ours, not even a terminal; its output goes into the file ``last_words``.

    Raises:
        OSError: the process can't be started.
    """
    if not hasattr(os, "posix_spawn"):  # Windows
        flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        with open(last_words, "wb") as output:
            subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, creationflags=flags)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)  # a pipe there is not waited for
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, last_words, flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        os.posix_spawn(argv[0], argv, env, file_actions=streams, setsid=True)
    except NotImplementedError:  # an older system: the process leaves the terminal by itself
        os.posix_spawn(argv[0], argv, env, file_actions=streams)
