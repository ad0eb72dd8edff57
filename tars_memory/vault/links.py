"""Where a wikilink leads, as Obsidian finds it: by path, else by name anywhere in the vault, the archive included."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

from tars_memory.settings import PROJECTS
from tars_memory.vault.markdown import entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.vault.markdown.document import Document
    from tars_memory.vault.vault import Vault

_BLOCK = r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$"
_NO_BLOCK = ("fence", "code", "html", "comment", "math")
"""Blocks in which a caret at the end of a line is text."""


class Links:
    """The files of a vault by their names; made once for many links.

    Args:
        paths: of all files, relative to the vault, with ``/``; attachments too.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths):
            name = key_of(path.rpartition("/")[2])
            self._by_name.setdefault(name, []).append(path)

    def resolve(self, target: str, source: str = "") -> str | None:
        """The path of the file that a link leads to, or None.

        A path from the vault's root wins; else the files whose path ends in the target are looked at, those in the
        folder of ``source`` before others, then the one nearest to the root.

        Args:
            target: as it stands between ``[[`` and ``]]``; what follows ``#`` or ``|`` is left out.
            source: path of the note that the link stands in.
        """
        wanted = named_in(target)
        folder = source.rpartition("/")[0]
        if not wanted:
            return source or None
        if wanted.startswith(("./", "../")):
            wanted = os.path.normpath(f"{folder or '.'}/{wanted}").replace(os.sep, "/")
            if wanted.startswith("../"):
                return None
        absolute = wanted.startswith("/")
        wanted = wanted.strip("/")
        for path in (f"{wanted}.md", wanted):
            found = self._nearest(path, folder, absolute=absolute)
            if found:
                return found
        return None

    def name_of(self, path: str) -> str:
        """The shortest target that leads to a note from anywhere: its bare name if that is enough, else its path.

        A project's note is named by its path: one of the same day may come to stand elsewhere.
        """
        whole = path[:-3] if path[-3:].lower() == ".md" else path
        name = whole.rpartition("/")[2]
        alone = len(self._by_name.get(key_of(f"{name}.md"), ())) <= 1
        alone = alone and not path.startswith(f"{PROJECTS}/")
        return name if alone and self.resolve(name) in (path, None) else whole

    def _nearest(self, wanted: str, folder: str, *, absolute: bool) -> str | None:
        low = key_of(wanted)
        named = self._by_name.get(low.rpartition("/")[2], [])
        exact = [path for path in named if path == wanted] or [path for path in named if key_of(path) == low]
        if exact or absolute:
            return exact[0] if exact else None
        fits = [path for path in named if key_of(path).endswith("/" + low)]
        beside = [path for path in fits if path.rpartition("/")[0] == folder]
        return min(beside or fits, key=lambda path: (path.count("/"), len(path), path), default=None)


def links_of(vault: Vault) -> Links:
    """The links of a vault as its files are now; hidden folders and files are left out, as Obsidian does."""
    found: list[str] = []
    for folder, folders, names in os.walk(vault.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        prefix = os.path.relpath(folder, vault.root).replace(os.sep, "/") + "/"
        prefix = "" if prefix == "./" else prefix
        found += (prefix + name for name in names if not name.startswith("."))
    return Links(found)


def resolve(vault: Vault, target: str) -> str | None:
    """The path of the note that a wikilink's target leads to; see :meth:`Links.resolve`. Looks at the vault anew.

    A note named by its path, or one in the vault's root, is found without a walk.
    """
    wanted = named_in(target).strip("/")
    try:
        if wanted and not wanted.startswith(".") and vault.look(f"{wanted}.md") is not None:
            return f"{wanted}.md"
    except (OSError, ValueError):
        return None
    return links_of(vault).resolve(target)


def block_ids(document: Document) -> dict[str, int]:
    """The block ids of a note, without case and caret, each with the 1-based line that bears it at its end."""
    found: dict[str, int] = {}
    for entry in entries.read("", document):
        if entry.block_id:
            found.setdefault(entry.block_id.casefold(), entry.line)
    for block in document.blocks:
        if block.kind in _NO_BLOCK:
            continue
        for number in range(block.start_line, block.end_line + 1):
            match = re.search(_BLOCK, document.text(number))
            if match:
                found.setdefault(match[1].casefold(), number)
    return found


def key_of(path: str) -> str:
    """A path as links compare it: no case, and each letter in one piece, which a Mac may have taken apart."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).lower()


def named_in(target: str) -> str:
    """The part of a link's target that names a file."""
    return target.partition("|")[0].partition("#")[0].strip().replace("\\", "/")
