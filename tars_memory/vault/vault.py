"""The vault, a folder of notes: opening, sweeping and reading it. The store writes it.

A note is a regular ``*.md`` file whose name does not begin with a dot. The sweep lists the notes with the file times
and sizes that show whether they changed, which every refresh compares first. Links are never followed, hidden folders
never entered; copies of a note that a sync or a merge left behind do not count as notes.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.disk import ID_FILE, VAULT_FOLDER, read_id
from tars_memory.errors import NotFoundError, PartialError, TarsError, UnwritableError, VaultError
from tars_memory.settings import LayoutOptions, LimitsOptions
from tars_memory.vault import folder as beneath, suspicion
from tars_memory.vault.layout import Files, Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.vault.model import Tier
    from tars_memory.vault.note import Note
    from tars_memory.vault.secrets import Taken


_NEAR_DAYS = 14
"""Number of days that are looked up one by one for the last daily notes, at 5 µs each; most vaults need no more."""

_READ_TRIES = 5
"""Maximum number of times that a note is read if it changes meanwhile; then the last bytes are taken."""

MISNAMED = "not named in UTF-8"
UNREADABLE_FILE, UNREADABLE_FOLDER = "unreadable file", "unreadable folder"
CONFLICT_COPY, AWAY = "conflict copy", "not downloaded (iCloud)"
"""Reasons why a sweep skips what may be meant to be a note."""

_REGULAR = 0o10
"""The type bits of a regular file's mode."""

_BY_DESCRIPTOR = os.scandir in os.supports_fd


class Vault:
    """A folder of notes.

    Attributes:
        root: its real path.
        scope: the project that it is opened for; empty for the notes outside projects.
        id: from ``.tars/vault-id``; None before the first write.
        passed_over: paths that the last sweep skipped, by reason.
        limits: the ``[limits]`` settings.
        problem: error because of which the layout is not known, though the notes are; becomes :attr:`Layout.problem`.
    """

    problem: TarsError | None = None

    def __init__(
        self,
        root: Path,
        layout: LayoutOptions | None = None,
        limits: LimitsOptions | None = None,
        vault_id: str | None = "",
        obsidian: Files | None = None,
        *,
        scope: str = "",
    ) -> None:
        self.root = root
        self.scope = scope
        self.id = read_id(root) if vault_id == "" else vault_id
        self.skipped_paths: dict[str, list[str]] = {}
        self.limits = limits or LimitsOptions()
        self._options = layout
        self._obsidian = obsidian
        self._notes_read: dict[str, tuple[tuple[int, ...], Note]] | None = None
        self._taken: dict[str, tuple[tuple[int, ...], Taken | None]] = {}

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        layout: LayoutOptions | None = None,
        limits: LimitsOptions | None = None,
        vault_id: str | None = "",
        obsidian: Files | None = None,
    ) -> Vault:
        """Open any folder as a vault without changing anything in it; its id and Obsidian's settings are read unless
        they are given.

        Raises:
            VaultError: there is no such folder.
        """
        try:
            root = Path(path).resolve(strict=True)
            if root.is_dir():
                return cls(root, layout, limits, vault_id, obsidian)
        except (OSError, RuntimeError, ValueError) as error:
            raise VaultError(f"no vault at {os.fspath(path)!r}: {error}", "is it mounted?") from error
        raise VaultError(f"{os.fspath(path)!r} is not a folder", "name the vault's folder with --vault")

    @property
    def skipped(self) -> dict[str, int]:
        """Number of files that the last sweep skipped, by reason."""
        return {reason: len(paths) for reason, paths in self.skipped_paths.items()}

    @cached_property
    def layout(self) -> Layout:
        """Where the tiers live; read once."""
        layout = Layout.of(self.root, self._options, self._obsidian, scope=self.scope)
        layout.problem = layout.problem or self.problem
        return layout

    def with_layout(self, **values: str) -> Vault:
        """Return the same vault with other settings of ``[layout]``."""
        options = LayoutOptions(**{**vars(self._options or LayoutOptions()), **values})
        other = Vault(self.root, options, self.limits, self.id, self._obsidian, scope=self.scope)
        other.problem = self.problem
        return other

    def scoped(self, scope: str) -> Vault:
        """Return the vault opened for another project; for none if ``scope`` is empty."""
        if scope == self.scope:
            return self
        other = Vault(self.root, self._options, self.limits, self.id, self._obsidian, scope=scope)
        other.problem, other._taken = self.problem, self._taken
        return other

    def agent_folders(self) -> list[str]:
        """Return the names of the folders in which agents keep notes in this scope, sorted; none if there are none."""
        try:
            return sorted(os.listdir(self.root / self.layout.agents))
        except OSError:
            return []

    def agent_named(self, name: str) -> str:
        """Return an agent's name as its folder has it. Names that differ in case are one agent, for their folders are
        one on a disk without case; if there are several, the one that is spelled so is meant, or else the first.
        """
        same = [folder for folder in self.agent_folders() if key_of(folder) == key_of(name)]
        return name if name in same or not same else same[0]

    def ensure_id(self, lost: str | None = None) -> str | None:
        """Return the vault's id; the first writer creates it. If several do at once, one wins and all return its id.

        Args:
            lost: the id that the vault had before it was lost, to be used again; None if that isn't known.

        Returns:
            The id; None if the vault can't be written: the write that follows reports that and keeps what was typed.
        """
        if self.id is None:
            try:
                self.id = _make_id(self.root, lost)
            except (OSError, UnwritableError):
                self.id = read_id(self.root)
        return self.id

    def looks_like_vault(self) -> bool:
        """Whether the folder holds ``.tars``, ``.obsidian`` or a note; True if it can't be listed."""
        try:
            names = os.listdir(self.root)
        except OSError:
            return True
        return any(name in (VAULT_FOLDER, ".obsidian") or name[-3:].lower() == ".md" for name in names)

    def sweep(self) -> list[FolderSweep]:
        """Return the notes with the numbers that show whether they changed; sets :attr:`passed_over`.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        sweep = _Sweep(self.root)
        found, self.skipped_paths = sweep.notes(), sweep.passed_over
        return found

    def paths(self) -> list[str]:
        """Return the paths of all notes, relative to the vault with ``/``, in no order; see :meth:`sweep`.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        return [folder.prefix + name for folder in self.sweep() for name in folder.names]

    def tier_paths(self, tier: Tier) -> list[str]:
        """Return the paths of the notes of a tier in our scope, archived ones too, in no order."""
        return [path for path in self.paths() if self.layout.is_ours(path) and self.layout.tier_of(path) is tier]

    def readable(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of each note that can be read; the others are left out."""
        for path in paths:
            try:
                data = self.read(path)
            except (OSError, TarsError):
                continue
            yield path, data

    def daily_path(self, day: date, *, scope: str | None = None) -> str:
        """Return the path of a day's note: the one in its place, else the archived one, else the one to be made.

        A day has one note: a line for an archived day is written into the archived note, so that a link to the day
        leads to all of it.

        Args:
            day: in the local zone.
            scope: the project; empty for none, None for the one that the vault is opened for.

        Returns:
            The path; the one in its place if there is no note, or if neither can be looked up: reading or writing it
            then reports the error.

        Raises:
            UsageError: the vault's daily note format can't be used.
        """
        path = self.layout.daily_path(day, scope=scope)
        archived = self.layout.archived(path)
        try:
            is_archived = self.look(path) is None and self.layout.day_of(archived) == day
            return archived if is_archived and self.look(archived) is not None else path
        except OSError:
            return path

    def last_days(self, today: date, count: int, scopes: Sequence[str]) -> list[date]:
        """Return the last days up to today that have a daily note, newest first.

        The days just past are looked up one by one, but not in the archive. Only if that finds too few days, the vault
        is swept, archive included.

        Args:
            today: in the local zone.
            count: maximum number of days.
            scopes: projects, of which one must have a note of the day; empty for outside projects.
        """
        layout = self.layout
        near = [date.fromordinal(max(1, today.toordinal() - back)) for back in range(_NEAR_DAYS)]
        found = {day for day in near for scope in scopes if self.look(layout.daily_path(day, scope=scope)) is not None}
        if len(found) < count:
            for path in self.paths():
                day = None if layout.project_of(path) not in scopes else layout.day_of(path)
                if day is not None and day <= today:
                    found.add(day)
        return sorted(found, reverse=True)[:count]

    def look(self, path: str) -> os.stat_result | None:
        """Return the ``lstat`` of a note; None if there is no regular file at its path.

        Raises:
            OSError: the path can't be looked up.
        """
        try:
            status = os.lstat(os.path.join(self.root, path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def read(self, path: str) -> bytes:
        """Return the bytes of a note, all of the same moment unless the note keeps changing.

        No step of the path may be a link, and only a regular file is read; opening never waits for a pipe.

        Raises:
            NotFoundError: there is no such note.
            PartialError: it is not a regular file, may not be read, is larger than the limit, is not on this device, or
                (:class:`WrongEncodingError`) is UTF-16 or UTF-32.
            UnwritableError: a step of the path is a link.
        """
        *parents, name = beneath.steps(path)
        try:
            root = beneath.Folder.open(self.root)
        except OSError as error:
            raise VaultError(f"{self.root} can't be opened: {error.strerror}", "is it mounted?") from error
        try:
            with root.below(parents) as folder:
                try:
                    return self._read(folder, name, path)
                except FileNotFoundError:
                    if folder.lacks_download(name):
                        raise _unreadable(NOT_DOWNLOADED.format(path), DOWNLOAD) from None
                    raise
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no note {path}", "tars-memory search finds notes by their words") from error
        except OSError as error:
            raise _unreadable(f"{path} can't be read: {error.strerror}") from error
        finally:
            root.close()

    @contextmanager
    def read_once(self) -> Iterator[None]:
        """Cache the notes that :meth:`note` returns for a ``with`` block: an unchanged note is read and parsed once."""
        self._notes_read = {}
        try:
            yield
        finally:
            self._notes_read = None

    def note(self, path: str) -> Note:
        """Return a note as a value; raises the errors of :meth:`read`."""
        from tars_memory.vault.note import Note  # a search reads rows, and must not pay for the parser

        if self._notes_read is None:
            return Note.of(self.layout, path, self.read(path))
        state = self._state(path)  # before it is read: if it changes meanwhile, the next call reads it again
        cached = self._notes_read.get(path)
        if cached is None or cached[0] != state:
            cached = state, Note.of(self.layout, path, self.read(path))
            self._notes_read[path] = cached
        return cached[1]

    def _state(self, path: str) -> tuple[int, ...]:
        """Return numbers that change with a note; none if there is no such note."""
        found = self.look(path)
        return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino) if found else ()

    def hide(self, path: str, text: str) -> str:
        """Mask in a text of a note what is a credential among the note's other lines; that of no note stays as it is.

        A line of a list of recovery codes, of a seed phrase or of a private key doesn't show alone what it is.
        """
        try:
            state = self._state(path)
            if path not in self._taken or self._taken[path][0] != state:
                note = self.read(path).decode("utf-8", "surrogateescape") if state else ""
                self._take(path, state, note)
        except (OSError, ValueError, TarsError):
            return text
        words = self._taken[path][1]
        return words.hide(text) if words else text

    def hide_former(self, path: str, text: str) -> None:
        """Let :meth:`hide` mask also what was a credential in a text that the note had before."""
        self.hide(path, "")
        if path in self._taken:
            self._take(path, self._taken[path][0], text)

    def _take(self, path: str, state: tuple[int, ...], text: str) -> None:
        """Add what is a credential in a text of a note to the words that are masked in it; ``state`` is its own."""
        _, words = self._taken.get(path, (state, None))
        if suspicion.suspicious(text):
            from tars_memory.vault import secrets  # a search reads rows of the index, and must not pay for this

            words = (words or secrets.Taken()).add(secrets.taken(text))
        self._taken[path] = state, words

    def _read(self, folder: beneath.Folder, name: str, path: str) -> bytes:
        data = b""
        for _ in range(_READ_TRIES):
            fd = folder.file(name, os.O_RDONLY)
            try:
                first = os.fstat(fd)
                if not stat.S_ISREG(first.st_mode):
                    raise _unreadable(f"{path} is not a regular file")
                if first.st_size > self.limits.max_note_bytes:
                    raise _unreadable(
                        f"{path} has {first.st_size:,} bytes; more than {self.limits.max_note_bytes:,} are not read",
                        "raise [limits] max_note_bytes, or split the note",
                    )
                data = beneath.read_all(fd, first.st_size)
                if beneath.same_state(first, os.fstat(fd)) and len(data) == first.st_size:
                    break
            finally:
                os.close(fd)
        if wide := suspicion.wide_encoding(data):
            raise WrongEncodingError(path, wide, suspicion.wide_name(data))
        return data


NOT_DOWNLOADED, DOWNLOAD = "{} is not on this device", "open it in Finder or Files"

WRONG_ENCODING = "{} is {}, not UTF-8: it is neither read nor written"
CONVERTED = "save it as UTF-8 in your editor, or convert it with iconv"


class WrongEncodingError(PartialError):
    """A note is in UTF-16 or UTF-32, which are neither read nor written here."""

    def __init__(self, path: str, encoding: str, iconv_name: str) -> None:
        super().__init__(WRONG_ENCODING.format(path, encoding), CONVERTED)
        self.iconv_name = iconv_name


def _unreadable(message: str, hint: str = "look at it with ls -l") -> PartialError:
    return PartialError(message, hint)


def _make_id(root: Path, lost: str | None) -> str | None:
    """Write an id, new or the lost one, unless another process does so first; returns the id that the file has then."""
    digits = os.urandom(16).hex()
    temporary = f".{ID_FILE}.{digits}{beneath.TEMP_SUFFIX}"  # unique to this call, as threads share a process
    vault_id = lost or "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    folder = beneath.Folder.open(root)
    try:
        folder.make(VAULT_FOLDER)
        inner = folder.child(VAULT_FOLDER)
        try:
            fd = inner.file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                beneath.write_all(fd, f"{vault_id}\n".encode("ascii"))
                beneath.sync(fd)
            finally:
                os.close(fd)
            try:
                inner.link(temporary, ID_FILE)
            except FileExistsError:
                pass
            except OSError:  # a file system without links: the name is taken first, then filled
                fd = inner.file(ID_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                try:
                    beneath.write_all(fd, f"{vault_id}\n".encode("ascii"))
                finally:
                    os.close(fd)
            inner.sync()
        finally:
            inner.remove(temporary)
            inner.close()
    finally:
        folder.close()
    return read_id(root)


# -- the sweep


class FolderSweep(NamedTuple):
    """The notes of one folder.

    Attributes:
        prefix: the folder's path with a slash at its end; empty for the vault's root.
        names: file names; ``prefix + name`` is a note's path.
        numbers: four for each name in turn: size, time of modification, time of change (both in ns) and inode.
    """

    prefix: str
    names: list[str]
    numbers: list[int]


class _Sweep:
    """One sweep of a vault.

    Attributes:
        passed_over: paths that were skipped, by reason.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.passed_over: dict[str, list[str]] = {}

    def notes(self) -> list[FolderSweep]:
        """Return the notes, folder by folder, with bare numbers.

        A sweep of 5,000 costs 1.3 times a bare scandir and stat; with a generator and a stat object for each, 1.6.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        found: list[FolderSweep] = []
        pending = [""]
        while pending:
            prefix = pending.pop()
            names: list[str] = []
            numbers: list[int] = []
            with self._scan(prefix) as listing:
                for entry in listing:
                    name = entry.name
                    try:
                        if name[-3:] == ".md" and name[0] != "." and "onflict" not in name and name[-4:] != ").md":
                            state = entry.stat(follow_symlinks=False)
                            if state.st_mode >> 12 != _REGULAR:
                                self._look_at_other(entry, prefix, pending)
                                continue
                        else:
                            maybe = self._look_at_other(entry, prefix, pending)
                            if maybe is None:
                                continue
                            state = maybe
                    except FileNotFoundError:
                        continue  # gone since it was listed
                    except OSError:
                        self._skip(UNREADABLE_FILE, prefix + name)
                        continue
                    names.append(name)
                    numbers += (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
            if names:
                found.append(self._without_misnamed(FolderSweep(prefix, names, numbers)))
        return found

    def _without_misnamed(self, folder: FolderSweep) -> FolderSweep:
        """Return the folder without names that are not UTF-8, and skip those: no link, row or JSON could hold them."""
        if _is_utf8("".join(folder.names)):
            return folder
        kept = FolderSweep(folder.prefix, [], [])
        for at, name in enumerate(folder.names):
            if _is_utf8(name):
                kept.names.append(name)
                kept.numbers.extend(folder.numbers[4 * at : 4 * at + 4])
            else:
                self._skip(MISNAMED, folder.prefix + name)
        return kept

    @contextmanager
    def _scan(self, prefix: str) -> Iterator[Iterable[os.DirEntry[str]]]:
        """List a folder, by its descriptor if possible; a folder that can't be listed to its end is skipped.

        With a descriptor the kernel needn't resolve the whole path for each entry, which is a tenth of a sweep.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        folder = None
        path = f"{self.root}/{prefix}"
        try:
            if _BY_DESCRIPTOR:
                folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if not prefix and not os.access(path, os.X_OK):  # the names could be read, but no note
                raise PermissionError(errno.EACCES, "it may not be entered")
            listing = os.scandir(path if folder is None else folder)
        except OSError as error:
            if folder is not None:
                os.close(folder)
            self._skip_unreadable(prefix, error)
            yield ()
            return
        try:
            with listing:
                yield listing
        except OSError as error:  # the rest of it can't be listed: a disk fails, a network folder is gone
            self._skip_unreadable(prefix, error)
        finally:
            if folder is not None:
                os.close(folder)

    def _skip_unreadable(self, prefix: str, error: OSError) -> None:
        """Skip a folder that can't be listed.

        Raises:
            VaultError: it is the vault itself.
        """
        if not prefix:
            hint = "check its owner and permissions" if error.errno in (errno.EACCES, errno.EPERM) else "is it mounted?"
            raise VaultError(f"{self.root} can't be listed: {error.strerror}", hint) from error
        if not isinstance(error, FileNotFoundError):
            self._skip(UNREADABLE_FOLDER, prefix)

    def _look_at_other(self, entry: os.DirEntry[str], prefix: str, pending: list[str]) -> os.stat_result | None:
        """Handle an entry that is not a plain note.

        Args:
            entry: of the folder.
            prefix: the folder's path with a slash at its end.
            pending: folders to enter later; a folder is added to it.

        Returns:
            The ``stat`` of a note with an unusual name; None for a folder and for what is skipped.
        """
        name = entry.name
        is_note = name[-3:].lower() == ".md"
        if name[0] == ".":
            self._skip_hidden(entry, prefix + name)
        elif is_note and entry.is_file(follow_symlinks=False):
            if not is_conflict_copy(name) or not (is_stamped_copy(name) or self._has_original(prefix + name)):
                return entry.stat(follow_symlinks=False)
            self._skip(CONFLICT_COPY, prefix + name)
        elif entry.is_dir(follow_symlinks=False):
            if getattr(entry, "is_junction", bool)():
                self._skip("link", prefix + name)
            elif not _is_utf8(name):
                self._skip(MISNAMED, f"{prefix}{name}/")
            else:
                pending.append(f"{prefix}{name}/")
        elif entry.is_symlink():
            self._skip_link(prefix + name, is_note)
        elif not entry.is_file(follow_symlinks=False):
            self._skip("not a regular file", prefix + name)
        return None

    def _has_original(self, path: str) -> bool:
        """Whether the note that a name makes this note a copy of is there."""
        return os.path.lexists(f"{self.root}/{original_of(path)}")

    def _skip(self, reason: str, path: str) -> None:
        self.passed_over.setdefault(reason, []).append(path)

    def _skip_hidden(self, entry: os.DirEntry[str], path: str) -> None:
        """Count a temporary file, an iCloud placeholder, a hidden folder or note; ignore other hidden files."""
        if path.endswith(beneath.TEMP_SUFFIX):
            self._skip("temporary file", path)
        elif path.endswith(beneath.PLACEHOLDER_SUFFIX):
            self._skip(AWAY, path)
        elif entry.is_dir(follow_symlinks=False):
            self._skip("hidden folder", path)
        elif path[-3:].lower() == ".md":
            self._skip("hidden file", path)

    def _skip_link(self, path: str, is_note: bool) -> None:
        """Count a link that dangles, leads to a folder or has the name of a note; ignore other links."""
        try:
            target = os.path.realpath(os.path.join(self.root, path), strict=True)
        except (OSError, ValueError):
            self._skip("dangling link", path)
            return
        if is_note or os.path.isdir(target):
            inside = os.path.commonpath((self.root, target)) == os.fspath(self.root)
            self._skip("link within the vault" if inside else "link out of the vault", path)


def _is_utf8(name: str) -> bool:
    """Whether a name is UTF-8: Python decodes other bytes as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- left by syncs and merges: copies of a note that another device saved, notes with unresolved markers


_COPY = (
    r"(?i)[ ._-]*(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"|\([^()]*conflicted copy[^()]*\)"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\([^()]*conflict\b[^()]*\)"  # Google Drive, Box; Seafile: SFConflict
    r"|(?-i:\.Conflict\d*)(?=\.md$)"  # Resilio
    r"|_[^_]+_[a-z]{3}-\d\d-\d{4,6}-\d{4}_[a-z]*conflict(?:_\d+)?(?=\.md$)"  # Synology
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
    r"|\((?=[^()]*(?:konflikt|confli[ct]|конфликт|競合|冲突|衝突|충돌))"  # Dropbox in other languages: both words
    r"(?=[^()]*(?:kop|c[oó]pi|коп|コピー|副本|複本|사본))[^()]*\)(?=\.md$)"
    r")"
)
"""Pattern of conflict copies' names. It is compiled when first needed: most vaults have none, but all would pay."""
_HINTS = ("conflict", "konflikt", "conflit", "конфликт", "競合", "冲突", "衝突", "충돌")
_NUMBERED = r"(?: [2-9]| ?\([1-9]\)|-(?:DESKTOP|LAPTOP)-[A-Z0-9]{7,8})(?=\.md$)"
"""Pattern of what iCloud, Google Drive and OneDrive put behind the name of a copy."""

MAX_NAME_BYTES = 200
"""Maximum bytes of a name: with ``.md`` and a number that a sync program adds, it must fit into a file system's 255."""

_UNNAMEABLE = r'[\\:*?"<>|#^\[\]]+'
"""Characters that Obsidian forbids in names on some system, or in links."""


def note_lines(data: bytes) -> list[str]:
    """Return a note's lines as editors count them: split at CRLF, CR and LF only."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def is_conflict_copy(name: str) -> bool:
    """Whether a file's name is that of a conflict copy, which the sweep skips."""
    low = name.lower()
    return any(hint in low for hint in _HINTS) and re.search(_COPY, name) is not None


def is_stamped_copy(name: str) -> bool:
    """Whether a sync program put a day or its own words into a conflict copy's name: nobody names a note so."""
    mark = re.search(_COPY, name)
    return mark is not None and (sum(map(str.isdigit, mark[0])) >= len("261121") or "conflicted copy" in mark[0])


def original_of_numbered(path: str) -> str | None:
    """Return the path of the original of a copy with such an end (``Tea 2.md``: iCloud, Finder); None if it has none.

    The name proves little: people number notes, too.
    """
    original = re.sub(_NUMBERED, "", path)
    return original if original != path else None


def original_of(path: str) -> str:
    """Return the path of the note that a conflict copy is a copy of."""
    folder, slash, name = path.rpartition("/")
    return folder + slash + re.sub(_COPY, "", name)


def is_other_encoding(data: bytes) -> bool:
    """Whether a note is in another encoding than UTF-8, such as Latin-1 or Shift JIS: of what is not ASCII, more is
    broken as UTF-8 than whole. In most encodings some bytes are UTF-8 by accident; in UTF-8, few are broken.
    """
    if data.isascii():
        return False
    text = data.decode("utf-8", "surrogateescape")
    return 2 * len(re.findall("[\udc80-\udcff]", text)) > len(re.findall("[^\0-\x7f]", text))


def has_markers(data: bytes) -> bool:
    """Whether a merge left its three conflict markers in a note, in order and each at the start of a line."""
    at = 0
    for mark in (rb"(?m)^<{7} ", rb"(?m)^={7}[\r\n]", rb"(?m)^>{7} ") if b"<<<<<<< " in data else ():
        found = re.compile(mark).search(data, at)  # one by one: a pattern of all three would try all combinations
        if found is None:
            return False
        at = found.end()
    return at > 0


def lines_only_in_copy(original: bytes, copy: bytes) -> list[bytes]:
    """Return the lines of a copy that are nowhere in its original, without blank ones."""
    present = {line.strip() for line in re.split(rb"\r\n|\r|\n", original)}
    found = (line.strip() for line in re.split(rb"\r\n|\r|\n", copy))
    return [line for line in dict.fromkeys(found) if line and line not in present]


def key_of(path: str) -> str:
    """Return a path in the form that links are compared in: lower case and NFC, for a Mac may decompose letters."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).lower()


def file_name(text: str) -> str:
    """Return a title, or a part of one, as a valid file name without ``.md``; empty if nothing is left."""
    name = " ".join(re.sub(_UNNAMEABLE, " ", suspicion.visible(text)).split())
    name = "".join(character for character in name if character.isprintable())
    while len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        name = name[:-1]
    return name.strip(" .")
