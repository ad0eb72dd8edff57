"""The hits of the last search, so that ``open 3`` knows what the third one was.

Two lists are kept in the vault's state folder, one of searches on a terminal and one of all others: a search that a
script or an agent makes in between doesn't change what the person's numbers mean.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tars_memory.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAMES = {True: "last-search-terminal.json", False: "last-search.json"}


def keep(state: Path, hits: Iterable[Any], *, terminal: bool) -> None:
    """Remember where the hits are. A state folder that can't be written is no reason to fail a search."""
    told = [[hit.path, hit.start_line, hit.obsidian_url] for hit in hits]
    path = str(state / NAMES[terminal])
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8", opener=_private) as file:
            json.dump(told, file)
        os.replace(temporary, path)
    except OSError:
        pass


def recall(state: Path, number: int, *, terminal: bool) -> tuple[str, int, str | None]:
    """The path, line and Obsidian link of one hit of the last search.

    Raises:
        NotFoundError: there was no search here yet.
        UsageError: it had fewer hits.
    """
    for own in (terminal, not terminal):
        try:
            told = json.loads((state / NAMES[own]).read_bytes())
        except (OSError, ValueError):
            continue
        if not 1 <= number <= len(told):
            raise UsageError(f"the last search has {len(told)} hits, not {number}", "search again, or open another one")
        path, line, url = told[number - 1]
        return path, line, url
    raise NotFoundError("no search has been made here yet", "tars-memory search WORDS, then tars-memory open 1")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
