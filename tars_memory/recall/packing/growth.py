"""How big the notes are that every prompt begins with, how fast they grow, and what of them finds no room any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import TarsError
from tars_memory.recall.packing.context import BEYOND_CAP
from tars_memory.recall.packing.packing import NO_ROOM, Context, tokens
from tars_memory.vault.markdown.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tars_memory.vault.vault import Vault

DAYS = 30
"""Growth is told for so many days; the journal keeps 90."""

LARGE = 1_500
"""From so many tokens on a note leaves little of ``context``'s 2,000 for anything else."""

LARGEST = 5
"""So many sections of a note are named."""


class LoadedNote(NamedTuple):
    """One note that every prompt begins with.

    Attributes:
        path: of the note.
        tokens: of its text.
        grown: tokens that this program added to it, less those it took out, in :data:`DAYS` days.
        left_out: lines that ``context`` has no room for.
        sections: tokens of its largest sections by their headings, largest first; of a note of our scope.
    """

    path: str
    tokens: int
    grown: int
    left_out: int
    sections: dict[str, int]

    @property
    def heavy(self) -> bool:
        """Whether it leaves little room in a prompt, or finds none for some of its lines."""
        return self.tokens > LARGE or self.left_out > 0


class Growth(NamedTuple):
    """What is always loaded.

    Attributes:
        notes: those that there are, in the order of a prompt.
        budget: tokens that ``context`` packs by default.
    """

    notes: list[LoadedNote]
    budget: int

    @property
    def tokens(self) -> int:
        """Of all notes."""
        return sum(note.tokens for note in self.notes)

    @property
    def grown(self) -> int:
        """Of all notes."""
        return sum(note.grown for note in self.notes)

    @property
    def left_out(self) -> int:
        """Of all notes."""
        return sum(note.left_out for note in self.notes)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        notes = {note.path: {name: getattr(note, name) for name in note._fields[1:]} for note in self.notes}
        totals = {"tokens": self.tokens, "grown": self.grown, "left_out": self.left_out}
        return {**totals, "budget": self.budget, "days": DAYS, "notes": notes}


def growth(vault: Vault, packed: Context, written: Callable[[str], int]) -> Growth:
    """Measure the notes that are always loaded in our scope; one that can't be read is left out.

    Args:
        vault: to read.
        packed: what ``context`` packs without a question.
        written: by a note's path how many characters this program added to it, less those it took out.
    """
    found: list[LoadedNote] = []
    for path in _paths(vault):
        try:
            data = vault.read(path)
        except TarsError:
            continue
        text = data.decode("utf-8", "replace")
        gone = sum(
            drop.end_line - drop.start_line + 1
            for drop in packed.dropped
            if drop.path == path and drop.why in (NO_ROOM, BEYOND_CAP)
        )
        characters = written(path)
        grown = tokens(characters) if characters > 0 else -tokens(-characters)
        sections = _sections(data) if vault.layout.is_ours(path) else {}
        found.append(LoadedNote(path, tokens(len(text)), grown, gone, sections))
    return Growth(found, packed.budget)


def _paths(vault: Vault) -> Iterator[str]:
    layout = vault.layout
    for scope in [layout.scope, ""] if layout.scope else [""]:
        yield layout.memory_of(scope)
        yield layout.procedural_of(scope)
    yield from layout.loaded


def _sections(data: bytes) -> dict[str, int]:
    """Tokens by heading, what stands before the first one left out; sections of one name count together."""
    document = Document(data)
    sizes: dict[str, int] = {}
    for section in document.sections:
        if section.level:
            size = len(document.text(section.start_line, section.end_line))
            sizes[section.title] = sizes.get(section.title, 0) + size
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:LARGEST]
    return {title: tokens(size) for title, size in largest}
