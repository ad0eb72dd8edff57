"""``doctor --adopt``: a vault that was moved takes over what is kept for the path that it was moved from."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import ConflictError, NotFoundError, UsageError
from tars_memory.settings import read_id
from tars_memory.vault.writing.journal import Journal
from tars_memory.vault.writing.lock import VaultLock
from tars_memory.vault.writing.spool import Spool
from tars_memory.vault.writing.store import Store
from tars_memory.vault.writing.transaction import writing

if TYPE_CHECKING:
    from tars_memory.memory import Memory

_OWN = ("vault.json", "lock")
"""Names in a state folder that are of the folder itself."""


class Adoption(NamedTuple):
    """State of another path that this vault may take over.

    Attributes:
        folder: where it is.
        path: of the vault that it is kept for.
        writes: how many are in its journal.
        waiting: how many texts wait in its spool.
        stands: whether something is at that path, though no vault of this id.
    """

    folder: Path
    path: str
    writes: int
    waiting: int
    stands: bool


def adoptable(memory: Memory, path: str | None) -> Adoption:
    """The state that this vault may take over.

    Args:
        memory: of the vault.
        path: that the vault was moved from; None if there is but one.

    Raises:
        UsageError: an agent asks; or a vault of this id is at that path now, so this one is a copy.
        NotFoundError: none is kept for a vault of this id that was at that path; or none at all, or several.
    """
    if memory.actor in ("agent", "model"):
        raise UsageError("only a person takes over another path's state", "run it yourself, at a terminal")
    found = memory.settings.places.absent(memory.root, memory.vault.id)
    if path is not None:
        old = Path(os.path.expanduser(path))
        names = {os.path.abspath(old), os.path.realpath(old)}
        if memory.vault.id is not None and read_id(old) == memory.vault.id and str(memory.root) not in names:
            raise UsageError(
                f"{path} is there and is a vault of the same id: {memory.root} is a copy of it",
                "each of the two keeps its own history; nothing was done",
            )
        found = [each for each in found if each[1] in names]
    if not found:
        of = f" {path}" if path is not None else ""
        raise NotFoundError(
            f"no history is kept for a vault{of} of this id that is gone from its place",
            "tars-memory doctor names the paths for which there is",
        )
    if len(found) > 1:
        paths = ", ".join(shlex.quote(each) for _, each in found)
        raise NotFoundError(f"history is kept for several paths: {paths}", "name one: tars-memory doctor --adopt PATH")
    folder, old_path = found[0]
    writes = sum(1 for _ in Journal(folder / "journal").records(lambda line: b'"t":"begin"' in line))
    return Adoption(folder, old_path, writes, len(Spool(folder / "spool").pending()), os.path.lexists(old_path))


def adopt(memory: Memory, adoption: Adoption) -> None:
    """Take over history, undo, approvals and what waits; what was written here since follows it.

    A kill on the way loses nothing: done again, it is completed.

    Raises:
        ConflictError: writes there and here took turns: these are two vaults.
        BusyError: another process writes for one of the two.
        UnwritableError: the state folder can't be written.
    """
    if memory.dry_run:
        return
    here = memory.made_state(used=True)
    memory.close()
    timeout = memory.store(writes=False).lock_timeout
    _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
    for folder in (adoption.folder, here):  # what a killed process left there is settled on the notes as they are here
        Store(memory.root, folder, now=memory.now, actor=memory.actor, lock_timeout=timeout).recover()
    locks = [VaultLock(folder / "lock", timeout=timeout, command="doctor") for folder in (adoption.folder, here)]
    with locks[0].held(), locks[1].held(), writing(os.fspath(here)):
        _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _append(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _gather(here, adoption.folder)
        aside = here.with_name(f".{here.name}.{os.getpid()}")
        here.rename(aside)
        adoption.folder.rename(here)
        memory.made_state(used=True)
        shutil.rmtree(aside, ignore_errors=True)


def _check_order(old: Journal, new: Journal) -> None:
    """Whether all that was written here was written after what was written there."""
    last = next(old.records(), None)
    first = None
    for record in new.records():
        first = record
    if last is not None and first is not None and str(first["txn"]) <= str(last["txn"]):
        raise ConflictError(
            "both were written to in turn: what is kept for the other path is newer than the first write here",
            "these are two vaults with histories of their own; nothing was done",
        )


def _append(old: Journal, new: Journal) -> None:
    """Put the files of one journal behind those of the other."""
    for path in new.files():
        old.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = old.files()[-1].name[:4] if old.files() else ""
        number = int(last) + 1 if last.isdigit() else 1
        path.rename(old.folder / f"{number:04}-{path.stem[-7:]}.jsonl")


def _gather(source: Path, target: Path) -> None:
    """Move what a state folder holds into another, unless that has it; an index is made anew, locks stay."""
    for folder, _, names in os.walk(source):
        inside = target / os.path.relpath(folder, source)
        for name in names:
            path = Path(folder, name)
            derived = folder == os.fspath(source) and (name in _OWN or name.startswith(("index", ".")))
            if derived or not path.is_file() or path.is_symlink() or os.path.lexists(inside / name):
                continue
            inside.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(inside / name)
