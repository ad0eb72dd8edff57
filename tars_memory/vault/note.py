"""A note as a value: its path, its bytes, and what the layout says of the path; for everybody who asks what it says.

Pure. A note never changes: another text is another note. What it says is parsed once, when it is asked for.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tars_memory.vault import markdown
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Bullet, Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry, Tier


BLOCK_ID = re.compile(rb"(?<=[ \t])\^([A-Za-z0-9-]+)(?=[ \t]*(?:[\r\n]|\Z))")


class Note:
    """One note.

    Args:
        path: relative to the vault, with ``/``.
        data: its bytes; empty for a note that isn't there.
        timed: whether its entries begin with a time, if no layout says so.
        layout: of its vault.
    """

    def __init__(self, path: str, data: bytes, *, timed: bool = False, layout: Layout | None = None) -> None:
        self.path = path
        self.data = data
        self._timed = timed
        self._layout = layout

    @classmethod
    def of(cls, layout: Layout, path: str, data: bytes | None) -> Note:
        """A note of a vault; None for bytes is a note that isn't there."""
        return cls(path, data or b"", layout=layout)

    def saying(self, data: bytes) -> Note:
        """The same note with another text."""
        return self if data == self.data else Note(self.path, data, timed=self._timed, layout=self._layout)

    @cached_property
    def timed(self) -> bool:
        """Whether its entries begin with a time (:meth:`tars_memory.vault.layout.Layout.timed`)."""
        return self._layout.timed(self.path) if self._layout else self._timed

    @property
    def numbered(self) -> bool:
        """Whether its numbered items are entries, too: a playbook's steps."""
        return self._layout is not None and self._layout.is_playbook(self.path)

    @cached_property
    def tier(self) -> Tier | None:
        """The tier that it belongs to; None if there is no layout to ask."""
        return self._layout.tier_of(self.path) if self._layout else None

    @cached_property
    def document(self) -> Document:
        """Its structure."""
        return Document(self.data)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Its bullets with words, nested ones too, in order of their lines; of a playbook its steps as well."""
        return tuple(entries.read(self.path, self.document, timed=self.timed, numbered=self.numbered))

    @cached_property
    def facts(self) -> tuple[tuple[Entry, Fact], ...]:
        """The facts over time in it, each with its entry; see :func:`tars_memory.vault.markdown.facts.read`."""
        return tuple(markdown.facts.read(self.path, self.document))

    @cached_property
    def raws(self) -> dict[str, list[Entry]]:
        """Its entries by their own lines."""
        return _by((entry.raw, entry) for entry in self.entries)

    @cached_property
    def texts(self) -> dict[str, list[Entry]]:
        """Its entries by their words."""
        return _by((entry.text, entry) for entry in self.entries)

    @cached_property
    def sources(self) -> dict[str, list[Entry]]:
        """Its entries that came from another line, by that (``2026-11-21#^d-abc``)."""
        return _by((entry.provenance, entry) for entry in self.entries if entry.provenance)

    @cached_property
    def bullets(self) -> dict[int, Bullet]:
        """Its bullets by their lines, and the lines that are entries without being bullets."""
        found = entries.listed(self.document, timed=self.timed, numbered=self.numbered)
        return {bullet.line: bullet for bullet in found}

    @cached_property
    def block_ids(self) -> frozenset[str]:
        """The block ids that stand in it, without the caret; it needs no parse."""
        return frozenset(found[1].decode("ascii") for found in BLOCK_ID.finditer(self.data))

    @property
    def properties(self) -> dict[str, Any]:
        """What its front matter says, scalars as text; empty if there is none or it can't be read."""
        return self.document.front_matter


def _by(pairs: Iterable[tuple[str, Entry]]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for name, entry in pairs:
        found.setdefault(name, []).append(entry)
    return found
