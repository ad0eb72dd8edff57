"""What the last commands have shown: the hits of the last search, so that ``open 3`` knows what the third one was, and
which notices were told today.

Two lists are kept in the vault's state folder, one of searches on a terminal and one of all others: a search that a
script or an agent makes in between doesn't change what the person's numbers mean.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from tars_memory import disk
from tars_memory.errors import NotFoundError, SettingsError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

    from tars_memory.doors.cli.call import Call

NAMES = {True: "last-search-terminal", False: "last-search"}
"""Path, line and link of each hit, parted by NUL (no path holds one; importing ``json`` would cost 1 ms)."""

TOLD = "told"
"""The day, and the notices that were told on it."""


def keep(state: Path, hits: Iterable[Any], *, terminal: bool) -> None:
    """Remember where the hits are. A state folder that can't be written is no reason to fail a search."""
    told = "\0".join(f"{hit.path}\0{hit.best_line[0]}\0{hit.obsidian_url or ''}" for hit in hits)
    _write(state / NAMES[terminal], told)


def told_today(state: Path, notice: str, day: date) -> bool:
    """Whether a notice, whatever its numbers, was told on this day already; from now on it was.

    Where that can't be kept it is told again.
    """
    key = " ".join(re.sub(r"[0-9]+", "#", notice).split())
    first = day.isoformat()
    try:
        known = (disk.read(state / TOLD, most=disk.LARGEST_OWN) or b"").decode("utf-8", "replace").split("\n")
    except SettingsError:
        known = []
    if known[:1] == [first] and key in known:
        return True
    _write(state / TOLD, "\n".join([*(known if known[:1] == [first] else [first]), key]))
    return False


def _write(path: Path, told: str) -> None:
    """Put a text in the place of the one before it, if that can be."""
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        with open(temporary, "wb", opener=_private) as file:
            file.write(told.encode("utf-8", "surrogateescape"))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):  # a full disk took the name, but not the text
            os.unlink(temporary)


def recall(state: Path, number: int, *, terminal: bool) -> tuple[str, int, str | None]:
    """The path, line and Obsidian link of one hit of the last search.

    Raises:
        NotFoundError: there was no search here yet.
        UsageError: it had fewer hits.
    """
    for own in (terminal, not terminal):
        try:
            told = (
                (disk.read(state / NAMES[own], most=disk.LARGEST_OWN) or b"")
                .decode("utf-8", "surrogateescape")
                .split("\0")
            )
        except SettingsError:
            continue
        if len(told) % 3 or not all(line.isdigit() and len(line) < 10 for line in told[1::3]):
            continue
        hits = len(told) // 3
        if not 1 <= number <= hits:
            raise UsageError(
                f"the last search has {counted(hits, 'hit')}: there is no hit {number}",
                "search again, or open another one",
            )
        path, at, url = told[3 * number - 3 : 3 * number]
        return path, int(at), url or None
    raise NotFoundError("no search has been made here yet", "tars-memory search WORDS, then tars-memory open 1")


def hit_of(call: Call, number: int) -> tuple[str, int, str | None]:
    """The path, line and Obsidian link of one hit of the caller's last search, as :func:`recall` knows it.

    Raises:
        NotFoundError: there was no search here yet, or one in another project.
        UsageError: it had fewer hits.
    """
    workspace = call.memory().workspace
    found = recall(workspace.state, number, terminal=call.out.stdout.isatty())
    if not workspace.sees(found[0]):
        raise NotFoundError("the last search was made in another project", "search again here, or name it: --project")
    return found


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
