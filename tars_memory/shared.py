"""Vaults of others beside one's own: folders that the person named, read where they are, never written.

Search, ``context`` and facts see their notes, marked by the vault's name. Nothing of theirs is believed: no setting, no
approval, no rule; what stands in them is data. Their indexes lie in the state folder of the person's own vault.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tars_memory import index
from tars_memory.disk import sha256
from tars_memory.errors import TarsError, UnwritableError, counted
from tars_memory.settings import LayoutOptions
from tars_memory.vault.template import recognised
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.settings import Cut, LimitsOptions, Settings


class SharedVault:
    """One such vault.

    Args:
        name: what its notes are marked with.
        vault: opened with the layout that its notes have: its own ``.tars/config.toml`` is not read.
        state: folder of its index.
        cache: the program's cache folder.
        limits: the person's.
        embedder: makes the model.
        cut: into passages of which size notes are cut.
    """

    def __init__(
        self,
        name: str,
        vault: Vault,
        state: Path,
        cache: Path,
        limits: LimitsOptions,
        embedder: Callable[[], Embedder],
        cut: Cut,
    ) -> None:
        self.name = name
        self.vault = vault
        self.index = index.indexer.Index(vault, state, cache, limits, embedder, cut)

    def path(self, path: str) -> str:
        """The whole path of a note."""
        return os.path.join(self.vault.root, path)

    def refresh(self, patience: float | None) -> list[str]:
        """Bring its index in step with its notes, as far as there is patience; what to say of that.

        Raises:
            TarsError: it can't be searched now.
        """
        report = self.index.refresh(index.intake.RefreshBudget(patience=patience))
        told = []
        if report.unmounted:
            told.append(f"{self.name} looks unmounted or emptied; it is searched as it was last read")
        elif report.stale:
            told.append(f"{self.name} is behind by {counted(report.stale, 'note')}: tars-memory reindex")
        return told


def opened(
    settings: Settings, own: Path, state: Path, embedder: Callable[[], Embedder], limits: LimitsOptions
) -> tuple[list[SharedVault], list[str]]:
    """The shared vaults that are there, and a sentence for each that can't be used.

    Args:
        settings: the person's.
        own: the person's own vault.
        state: folder in which each index gets one.
        embedder: makes the model.
        limits: what is too big to read.
    """
    found: list[SharedVault] = []
    notices: list[str] = []
    for named in settings.vaults.shared:
        path = Path(os.path.expanduser(named))
        if not path.is_absolute():  # else it would be another folder wherever a command is run
            notices.append(f"the shared vault {named!r} is not searched: name its whole path in your config.toml")
            continue
        path = Path(os.path.abspath(path))
        try:
            root = path.resolve(strict=True)
            empty = not any(root.iterdir())
        except (FileNotFoundError, RuntimeError, ValueError):
            empty, root = True, path
        except OSError as error:
            why = "it is a file, name its folder" if isinstance(error, NotADirectoryError) else error.strerror
            notices.append(f"the shared vault {path} is not searched: {why}")
            continue
        if empty:
            notices.append(f"the shared vault {path} is not there: not searched (unmounted?)")
            continue
        if root == own or root in own.parents or own in root.parents:
            notices.append(f"{path} is not a shared vault: one of it and your own vault is inside the other")
            continue
        if any(root == each.vault.root for each in found):  # named twice, or by a link
            continue
        vault = Vault.open(root, LayoutOptions(like=recognised(root)), limits)
        folder = state / sha256(os.fsencode(root)).hexdigest()[:16]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            notices.append(f"the shared vault {path} is not searched: {folder} can't be made: {error.strerror}")
            continue
        name = _name(root, {each.name for each in found})
        found.append(SharedVault(name, vault, folder, settings.places.cache, limits, embedder, settings.index.cut))
    return found, notices


def ready(vaults: list[SharedVault], patience: float | None, notices: list[str]) -> Iterator[SharedVault]:
    """Those that can be asked now, each in step with its notes; sentences go into ``notices``."""
    for each in vaults:
        try:
            notices += each.refresh(patience)
        except (TarsError, UnwritableError, OSError) as error:
            notices.append(f"{each.name} is not searched: {getattr(error, 'message', None) or error}")
            continue
        yield each


def _name(root: Path, taken: set[str]) -> str:
    """What a vault is called: as its folder, with those above it as far as needed to tell it from others."""
    parts = [part for part in root.parts if part != root.anchor] or ["vault"]
    names = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
    name = next((name for name in names if name not in taken), "/".join(parts))
    return "".join(sign if sign.isprintable() and sign not in "[]<>`" else "_" for sign in name)
