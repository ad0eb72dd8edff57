"""A note as a value: its path, its bytes, and what the layout says of the path; for everybody who asks what it says.

Pure. A note never changes: another text is another note. What it says is parsed once, when it is asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import Document

if TYPE_CHECKING:
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry


class Note:
    """One note.

    Args:
        path: relative to the vault, with ``/``.
        data: its bytes; empty for a note that isn't there.
        timed: whether its entries begin with a time (:meth:`tars_memory.vault.layout.Layout.timed`).
    """

    def __init__(self, path: str, data: bytes, *, timed: bool = False) -> None:
        self.path = path
        self.data = data
        self.timed = timed

    @classmethod
    def of(cls, layout: Layout, path: str, data: bytes | None) -> Note:
        """A note of a vault; None for bytes is a note that isn't there."""
        return cls(path, data or b"", timed=layout.timed(path))

    def saying(self, data: bytes) -> Note:
        """The same note with another text."""
        return self if data == self.data else Note(self.path, data, timed=self.timed)

    @cached_property
    def document(self) -> Document:
        """Its structure."""
        return Document(self.data)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Its bullets with words, nested ones too, in order of their lines."""
        return tuple(entries.read(self.path, self.document, timed=self.timed))

    @cached_property
    def facts(self) -> tuple[tuple[Entry, Fact], ...]:
        """The facts over time in it, each with its entry; see :func:`tars_memory.vault.markdown.facts.read`."""
        return tuple(facts.read(self.path, self.data))

    @property
    def properties(self) -> dict[str, Any]:
        """What its front matter says, scalars as text; empty if there is none or it can't be read."""
        return self.document.front_matter
