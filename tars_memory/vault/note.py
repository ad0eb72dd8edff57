"""A note as a value: its path, its bytes, and what the layout says about the path. All readers of a note use it.

Pure. A note is immutable: a different text is a different note. It is parsed once, when its content is first needed.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from tars_memory.vault import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.model import Entry, Tier


_BLOCK_ID = re.compile(rb"(?<=[ \t])\^([A-Za-z0-9-]+)(?=[ \t]*(?:[\r\n]|\Z))")


class Note:
    """One note.

    Args:
        path: relative to the vault, with ``/``.
        data: its bytes; empty for a missing note.
        timed: whether its entries begin with a time; not used if there is a layout.
        layout: the vault's layout, if there is one.
    """

    def __init__(self, path: str, data: bytes, *, timed: bool = False, layout: Layout | None = None) -> None:
        self.path = path
        self.data = data
        self._timed = timed
        self._layout = layout

    @classmethod
    def of(cls, layout: Layout, path: str, data: bytes | None) -> Note:
        """Return a note of a vault; ``data`` is None for a missing note."""
        return cls(path, data or b"", layout=layout)

    def with_data(self, data: bytes) -> Note:
        """Return the note with other bytes; itself if they are the same."""
        return self if data == self.data else Note(self.path, data, timed=self._timed, layout=self._layout)

    @cached_property
    def timed(self) -> bool:
        """Whether its entries begin with a time (:meth:`tars_memory.vault.layout.Layout.timed`)."""
        return self._layout.timed(self.path) if self._layout else self._timed

    @property
    def numbered(self) -> bool:
        """Whether its numbered items are entries too, as the steps of a playbook."""
        return self._layout is not None and self._layout.is_playbook(self.path)

    @cached_property
    def tier(self) -> Tier | None:
        """Its tier; None if there is no layout."""
        return self._layout.tier_of(self.path) if self._layout else None

    @cached_property
    def document(self) -> markdown.document.Document:
        """Its parsed markdown structure."""
        return markdown.document.Document(self.data)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Its bullets with words, including nested ones, in line order; in a playbook its steps, too."""
        read = _long_note if len(self.data) > markdown.document.MAX_CACHED_BYTES else markdown.entries.read
        return tuple(read(self.path, self.document, timed=self.timed, numbered=self.numbered))

    @cached_property
    def facts(self) -> tuple[tuple[Entry, markdown.facts.Fact], ...]:
        """Its facts over time, each with its entry; see :func:`tars_memory.vault.markdown.facts.read`."""
        return tuple(markdown.facts.read(self.path, self.document))

    @cached_property
    def entries_by_raw(self) -> dict[str, list[Entry]]:
        """Its entries by their own lines."""
        return _grouped((entry.raw, entry) for entry in self.entries)

    @cached_property
    def entries_by_text(self) -> dict[str, list[Entry]]:
        """Its entries by their words."""
        return _grouped((entry.text, entry) for entry in self.entries)

    def as_written(self, words: str) -> str:
        """Return the words of an entry that differs only in the case of its first letter or in a final full stop, so
        that the given words are a repeat; else the given words.
        """

        def alike(text: str) -> str:
            return text[:1].casefold() + text[1:].rstrip(" .。")

        wanted = alike(words)
        if wanted[1:].encode("utf-8", "surrogateescape") not in self.data:
            return words  # parsing a long note is slow
        same = [entry.text for entry in self.entries if alike(entry.text) == wanted]
        return same[0] if same and words not in same else words

    @cached_property
    def entries_by_source(self) -> dict[str, list[Entry]]:
        """Its entries that came from another line, by their provenance (``2026-11-21#^d-abc``)."""
        return _grouped((entry.provenance, entry) for entry in self.entries if entry.provenance)

    @cached_property
    def bullets(self) -> dict[int, markdown.document.Bullet]:
        """Its bullets, and other lines that are entries, by line number."""
        found = markdown.entries.listed(self.document, timed=self.timed, numbered=self.numbered)
        return {bullet.line: bullet for bullet in found}

    @cached_property
    def block_ids(self) -> frozenset[str]:
        """Its block ids, without the caret; found without parsing the note."""
        return frozenset(found[1].decode("ascii") for found in _BLOCK_ID.finditer(self.data))

    @property
    def properties(self) -> dict[str, Any]:
        """Its front matter, with scalars as text; empty if there is none or it can't be read."""
        return self.document.front_matter


_long_note = lru_cache(maxsize=1)(markdown.entries.read)
"""The entries of the last long note: a command reads each state of it several times, in several packages."""


def _grouped(pairs: Iterable[tuple[str, Entry]]) -> dict[str, list[Entry]]:
    """Return the entries of each key."""
    groups: dict[str, list[Entry]] = {}
    for key, entry in pairs:
        groups.setdefault(key, []).append(entry)
    return groups
