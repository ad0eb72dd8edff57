"""The vault: a folder of notes. Opening and reading it; writing is the store's."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from tars_memory.disk import ID_FILE, VAULT_FOLDER, read_id
from tars_memory.errors import NotFoundError, PartialError, UnwritableError, VaultError
from tars_memory.settings import LayoutOptions, LimitsOptions
from tars_memory.vault import folder as beneath
from tars_memory.vault.sweep import TEMPORARY, sweep

if TYPE_CHECKING:
    from tars_memory.errors import TarsError
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.sweep import FolderSweep

READ_TRIES = 5
"""How often a note that changes under the reading is read again before its last bytes are taken."""


class Vault:
    """A folder of notes.

    Attributes:
        root: its real path.
        scope: the project that it is opened for; empty for what is outside projects.
        id: from ``.tars/vault-id``; None before the first write.
        skipped: what the last sweep passed over: reason to count.
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
        self.id = read_id(root)
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

    def ensure_id(self, lost: str | None = None) -> str | None:
        """The vault's id, made by the first writer. Of several at once one wins, and all return its id.

        Args:
            lost: the id that it had, if that is known; it gets it back.

        Returns:
            None if the vault can't be written: the write that follows will say so, and keep what was typed.
        """
        if self.id is None:
            try:
                self.id = _make_id(self.root, lost)
            except (OSError, UnwritableError):
                self.id = read_id(self.root)
        return self.id

    def is_one(self) -> bool:
        """Whether the folder holds what makes it a vault: ``.tars``, ``.obsidian`` or a note; True if none can tell."""
        try:
            with os.scandir(self.root) as found:
                names = [each.name for each in found]
        except OSError:
            return True
        return any(name in (VAULT_FOLDER, ".obsidian") or name[-3:].lower() == ".md" for name in names)

    def sweep(self) -> list[FolderSweep]:
        """The notes with what tells whether they changed; what is passed over is counted in :attr:`skipped`.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        found, self.skipped = sweep(self.root)
        return found

    def paths(self) -> list[str]:
        """All notes, relative to the vault with ``/``, in no order; see :meth:`sweep`.

        Raises:
            VaultError: the vault itself can't be listed.
        """
        return [folder.prefix + name for folder in self.sweep() for name in folder.names]

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


def _unreadable(message: str, hint: str = "look at it with ls -l") -> PartialError:
    return PartialError(message, hint)


def _make_id(root: Path, lost: str | None) -> str | None:
    """Write an id, new or the lost one, unless another process does so first; returns the one that is there then."""
    made = os.urandom(16).hex()
    temporary = f".{ID_FILE}.{made}{TEMPORARY}"  # of this call alone: threads share a process
    made = lost or "-".join((made[:8], made[8:12], made[12:16], made[16:20], made[20:]))
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
    return read_id(root)
