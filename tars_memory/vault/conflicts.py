"""What syncs and merges leave behind: copies of a note that another device saved, and notes with unresolved markers."""

from __future__ import annotations

import re

_COPY = (
    r"(?i)[ ._-]*(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"|\([^()]*conflicted copy[^()]*\)"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\([^()]*\bconflict\b[^()]*\)"  # Google Drive, Box, Resilio
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
    r")"
)
"""Compiled when a name asks for it: most vaults have none, and every start would pay."""


def is_conflict_copy(name: str) -> bool:
    """Whether a file's name is that of a conflict copy, which no walk shows."""
    return re.search(_COPY, name) is not None


def original_of(path: str) -> str:
    """The path of the note that a conflict copy is one of."""
    folder, slash, name = path.rpartition("/")
    return folder + slash + re.sub(_COPY, "", name)


def has_markers(data: bytes) -> bool:
    """Whether a merge left a note with all three of its markers, each at the start of a line."""
    return b"<<<<<<< " in data and re.search(rb"(?ms)^<{7} .*^={7}[\r\n].*^>{7} ", data) is not None


def lacks(original: bytes, copy: bytes) -> list[bytes]:
    """The lines of a copy that its original does not hold anywhere, blank ones left out."""
    held = {line.strip() for line in re.split(rb"\r\n|\r|\n", original)}
    found = (line.strip() for line in re.split(rb"\r\n|\r|\n", copy))
    return [line for line in dict.fromkeys(found) if line and line not in held]
