"""What syncs and merges leave behind: copies of a note that another device saved, and notes with unresolved markers."""

from __future__ import annotations

import re

_COPY = (
    r"(?i)[ ._-]*(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"  # Syncthing
    r"|\([^()]*conflicted copy[^()]*\)"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\([^()]*\bconflict\b[^()]*\)"  # Google Drive, Box, Resilio
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
    r"|\((?=[^()]*(?:konflikt|confli[ct]|конфликт|競合|冲突|衝突|충돌))"  # Dropbox in other languages: both words
    r"(?=[^()]*(?:kop|c[oó]pi|коп|コピー|副本|複本|사본))[^()]*\)(?=\.md$)"
    r")"
)
"""Compiled when a name asks for it: most vaults have none, and every start would pay."""
_HINTS = ("conflict", "konflikt", "conflit", "конфликт", "競合", "冲突", "衝突", "충돌")
_NUMBERED = r" [2-9](?=\.md$)"


def is_conflict_copy(name: str) -> bool:
    """Whether a file's name is that of a conflict copy, which no walk shows."""
    low = name.lower()
    return any(hint in low for hint in _HINTS) and re.search(_COPY, name) is not None


def numbered(path: str) -> str | None:
    """The path that a copy with a number may be one of (``Tea 2.md``: iCloud, Finder), None if it bears no number.

    The name alone says little: people number notes, too.
    """
    original = re.sub(_NUMBERED, "", path)
    return original if original != path else None


def original_of(path: str) -> str:
    """The path of the note that a conflict copy is one of."""
    folder, slash, name = path.rpartition("/")
    return folder + slash + re.sub(_COPY, "", name)


def has_markers(data: bytes) -> bool:
    """Whether a merge left a note with all three of its markers, each at the start of a line."""
    at = 0
    for mark in (rb"(?m)^<{7} ", rb"(?m)^={7}[\r\n]", rb"(?m)^>{7} ") if b"<<<<<<< " in data else ():
        found = re.compile(mark).search(data, at)  # one after the other: a pattern of all three would try them all
        if found is None:
            return False
        at = found.end()
    return at > 0


def lacks(original: bytes, copy: bytes) -> list[bytes]:
    """The lines of a copy that its original does not hold anywhere, blank ones left out."""
    held = {line.strip() for line in re.split(rb"\r\n|\r|\n", original)}
    found = (line.strip() for line in re.split(rb"\r\n|\r|\n", copy))
    return [line for line in dict.fromkeys(found) if line and line not in held]
