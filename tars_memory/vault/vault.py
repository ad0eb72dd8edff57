"""The vault: a folder of notes. Opening, walking and reading it; writing is the store's."""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import NotFoundError, PartialError, UnwritableError, VaultError
from tars_memory.options import LayoutOptions, LimitsOptions
from tars_memory.settings import VAULT_FOLDER
from tars_memory.vault import folder as beneath
from tars_memory.vault.conflicts import is_conflict_copy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.errors import TarsError
    from tars_memory.vault.layout import Layout

ID_FILE = "vault-id"
TEMPORARY = ".tars-tmp"
"""End of the names of the store's temporary files."""

REGULAR = 0o10
"""The type bits of a regular file's mode."""

READ_TRIES = 5
"""How often a note that changes under the reading is read again before its last bytes are taken."""

_BY_DESCRIPTOR = os.scandir in os.supports_fd


class FolderSweep(NamedTuple):
    """The notes of one folder: ``prefix + name`` is a path, every name has four numbers.

    ``numbers`` holds size, time of modification, time of change (both in ns) and inode of each name in turn.
    """

    prefix: str
    names: list[str]
    numbers: list[int]


class Vault:
    """A folder of notes.

    Attributes:
        root: its real path.
        scope: the project that it is opened for; empty for what is outside projects.
        id: from ``.tars/vault-id``; None before the first write.
        skipped: what the last walk passed over: reason to count.
        limits: what is too big to read.
        problem: why the layout is not known although the notes are; becomes :attr:`Layout.problem`.
    """

    problem: TarsError | None = None

    def __init__(
        self,
        root: Path,
        layout: LayoutOptions | None = None,
        limits: LimitsOptions | None = None,
        *,
        scope: str = "",
    ) -> None:
        self.root = root
        self.scope = scope
        self.id = _read_id(root)
        self.skipped: dict[str, int] = {}
        self.limits = limits or LimitsOptions()
        self._options = layout
        self._layout: Layout | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        layout: LayoutOptions | None = None,
        limits: LimitsOptions | None = None,
        *,
        scope: str = "",
    ) -> Vault:
        """Open any folder as a vault, or one project of it; nothing in it is touched.

        Raises:
            VaultError: there is no such folder.
        """
        try:
            root = Path(path).resolve(strict=True)
            if root.is_dir():
                return cls(root, layout, limits, scope=scope)
        except (OSError, RuntimeError, ValueError) as error:
            raise VaultError(f"no vault at {os.fspath(path)!r}: {error}", "is it mounted?") from error
        raise VaultError(f"{os.fspath(path)!r} is no folder", "name the vault's folder with --vault")

    @property
    def layout(self) -> Layout:
        """Where the tiers live; read once."""
        if self._layout is None:
            from tars_memory.vault.layout import Layout

            self._layout = Layout.of(self.root, self._options, scope=self.scope)
            self._layout.problem = self._layout.problem or self.problem
        return self._layout

    def scoped(self, scope: str) -> Vault:
        """The same vault, opened for another project, or for none."""
        if scope == self.scope:
            return self
        other = Vault(self.root, self._options, self.limits, scope=scope)
        other.id, other.problem = self.id, self.problem
        return other

    def ensure_id(self) -> str | None:
        """The vault's id, made by the first writer. Of several at once one wins, and all return its id.

        Returns:
            None if the vault can't be written: the write that follows will say so, and keep what was typed.
        """
        if self.id is None:
            try:
                self.id = _make_id(self.root)
            except (OSError, UnwritableError):
                self.id = _read_id(self.root)
        return self.id

    def walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """All notes: path relative to the vault with ``/``, and what ``lstat`` says of it, in no order.

        A note is a regular ``*.md`` file whose name does not begin with a dot. Links are never followed, hidden
        folders never entered; what is passed over is counted in :attr:`skipped`.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        self.skipped = {}
        pending = [""]
        while pending:
            prefix = pending.pop()
            listing = self._list(prefix)
            if listing is None:
                continue
            with listing:
                for entry in listing:  # the inner loop of every refresh: one name test and one lstat for a note
                    name = entry.name
                    try:
                        if name[-3:] == ".md" and name[0] != "." and "onflict" not in name:
                            found = entry.stat(follow_symlinks=False)
                            note = stat.S_IFMT(found.st_mode) == stat.S_IFREG
                        else:
                            note = False
                        if not note:
                            maybe = self._other(entry, prefix, pending)
                            if maybe is None:
                                continue
                            found = maybe
                    except FileNotFoundError:
                        continue  # gone since it was listed
                    except OSError:
                        self._skip("unreadable file")
                        continue
                    yield prefix + name, found

    def sweep(self) -> list[FolderSweep]:
        """The same notes as :meth:`walk`, folder by folder and as bare numbers: what every refresh compares first.

        The rules are those of :meth:`walk`, written out a second time: without a generator and a stat object for each
        note a sweep of 5,000 costs 1.3 times a bare scandir and stat, with them 1.6 times.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        self.skipped = {}
        found: list[FolderSweep] = []
        pending = [""]
        while pending:
            prefix = pending.pop()
            names: list[str] = []
            numbers: list[int] = []
            with self._listed(prefix) as listing:
                for entry in listing:
                    name = entry.name
                    try:
                        if name[-3:] == ".md" and name[0] != "." and "onflict" not in name:
                            state = entry.stat(follow_symlinks=False)
                            if state.st_mode >> 12 != REGULAR:
                                self._other(entry, prefix, pending)
                                continue
                        else:
                            maybe = self._other(entry, prefix, pending)
                            if maybe is None:
                                continue
                            state = maybe
                    except FileNotFoundError:
                        continue  # gone since it was listed
                    except OSError:
                        self._skip("unreadable file")
                        continue
                    names.append(name)
                    numbers += (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
            if names:
                found.append(FolderSweep(prefix, names, numbers))
        return found

    @contextmanager
    def _listed(self, prefix: str) -> Iterator[Iterable[os.DirEntry[str]]]:
        """The entries of a folder, empty as for :meth:`_list`; by its descriptor if possible.

        The kernel then needn't follow the whole path again for each entry, which is a tenth of a sweep.
        """
        if not _BY_DESCRIPTOR:
            listing = self._list(prefix)
            with listing if listing is not None else nullcontext(()) as entries:
                yield entries
            return
        try:
            folder = os.open(f"{self.root}/{prefix}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._unlisted(prefix, error)
            yield ()
            return
        try:
            with os.scandir(folder) as entries:
                yield entries
        finally:
            os.close(folder)

    def _list(self, prefix: str) -> Any:
        """The open listing of a folder; None, and counted, if it can't be listed.

        Raises:
            VaultError: it is the vault itself.
        """
        try:
            return os.scandir(os.path.join(self.root, prefix) if prefix else self.root)
        except OSError as error:
            self._unlisted(prefix, error)
            return None

    def _unlisted(self, prefix: str, error: OSError) -> None:
        """Count a folder that can't be listed.

        Raises:
            VaultError: it is the vault itself.
        """
        if not prefix:
            raise VaultError(f"{self.root} can't be listed: {error.strerror}", "is it mounted?") from error
        if not isinstance(error, FileNotFoundError):
            self._skip("unreadable folder")

    def look(self, path: str) -> os.stat_result | None:
        """What ``lstat`` says of a note; None if it is gone: no such path, or no regular file there any more.

        Raises:
            OSError: it can't be told.
        """
        try:
            found = os.lstat(os.path.join(self.root, path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found if stat.S_ISREG(found.st_mode) else None

    def read(self, path: str) -> bytes:
        """The bytes of a note, all of one moment if the note holds still for long enough.

        No step of the path may be a link, and only a regular file is read; opening never waits for a pipe.

        Raises:
            NotFoundError: there is no such note.
            PartialError: it is no regular file, may not be read, or is larger than the limit.
            UnwritableError: a step of the path is a link.
        """
        steps = beneath.steps(path)
        try:
            folder = beneath.Folder.open(self.root)
        except OSError as error:
            raise VaultError(f"{self.root} can't be opened: {error.strerror}", "is it mounted?") from error
        try:
            for step in steps[:-1]:
                parent = folder
                folder = parent.child(step)
                parent.close()
            return self._read(folder, steps[-1], path)
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no note {path}", "tars-memory search finds notes by their words") from error
        except OSError as error:
            raise _unreadable(f"{path} can't be read: {error.strerror}") from error
        finally:
            folder.close()

    def _read(self, folder: beneath.Folder, name: str, path: str) -> bytes:
        data = b""
        for _ in range(READ_TRIES):
            fd = folder.file(name, os.O_RDONLY)
            try:
                first = os.fstat(fd)
                if not stat.S_ISREG(first.st_mode):
                    raise _unreadable(f"{path} is no regular file")
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
        return data

    def _other(self, entry: os.DirEntry[str], prefix: str, pending: list[str]) -> os.stat_result | None:
        """What is no plain note: a folder to enter later, a note with an unusual name, or something to skip."""
        name = entry.name
        is_note = name[-3:].lower() == ".md"
        if name[0] == ".":
            self._skip_hidden(entry)
        elif is_note and entry.is_file(follow_symlinks=False):
            if not is_conflict_copy(name):
                return entry.stat(follow_symlinks=False)
            self._skip("conflict copy")
        elif entry.is_dir(follow_symlinks=False):
            if getattr(entry, "is_junction", bool)():
                self._skip("link")
            else:
                pending.append(f"{prefix}{name}/")
        elif entry.is_symlink():
            self._skip_link(prefix + name, is_note)
        elif not entry.is_file(follow_symlinks=False):
            self._skip("not a regular file")
        return None

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _skip_hidden(self, entry: os.DirEntry[str]) -> None:
        name = entry.name
        if name.endswith(TEMPORARY):
            self._skip("temporary file")
        elif name.endswith(".icloud"):
            self._skip("not downloaded (iCloud)")
        elif entry.is_dir(follow_symlinks=False):
            self._skip("hidden folder")
        elif name[-3:].lower() == ".md":
            self._skip("hidden file")

    def _skip_link(self, path: str, is_note: bool) -> None:
        try:
            target = os.path.realpath(os.path.join(self.root, path), strict=True)
        except (OSError, ValueError):
            self._skip("dangling link")
            return
        if is_note or os.path.isdir(target):
            inside = os.path.commonpath((self.root, target)) == os.fspath(self.root)
            self._skip("link within the vault" if inside else "link out of the vault")


def _unreadable(message: str, hint: str = "look at it with ls -l") -> PartialError:
    return PartialError(message, hint)


def _read_id(root: Path) -> str | None:
    try:
        with open(root / VAULT_FOLDER / ID_FILE, "rb") as file:
            name = file.read(200).strip().decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return name if re.fullmatch(r"[0-9A-Za-z-]{8,64}", name) else None


def _make_id(root: Path) -> str | None:
    """Write a new id unless another process does so first; returns the one that stands there then."""
    made = os.urandom(16).hex()
    made = "-".join((made[:8], made[8:12], made[12:16], made[16:20], made[20:]))
    temporary = f".{ID_FILE}.{made}{TEMPORARY}"  # of this call alone: threads share a process
    folder = beneath.Folder.open(root)
    try:
        folder.make(VAULT_FOLDER)
        inner = folder.child(VAULT_FOLDER)
        try:
            fd = inner.file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                beneath.write_all(fd, f"{made}\n".encode("ascii"))
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
                    beneath.write_all(fd, f"{made}\n".encode("ascii"))
                finally:
                    os.close(fd)
            inner.sync()
        finally:
            inner.remove(temporary)
            inner.close()
    finally:
        folder.close()
    return _read_id(root)
