"""How big the notes are that every prompt begins with, how fast they grow, and what of them finds no room any more."""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import TarsError
from tars_memory.recall.packing.context import BEYOND_CAP
from tars_memory.recall.packing.packing import NO_ROOM, tokens
from tars_memory.recall.searcher import Searcher
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.writing.history import entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.vault.vault import Vault
    from tars_memory.workspace import Workspace


DAYS = 30
"""Growth is told for so many days; the journal keeps 90."""

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
        characters: of its text.
        limit: characters from which on it counts as large; 0 for none.
    """

    path: str
    tokens: int
    grown: int
    left_out: int
    sections: dict[str, int]
    characters: int
    limit: int

    @property
    def large(self) -> bool:
        """Whether it leaves little room in a prompt."""
        return 0 < self.limit < self.characters

    @property
    def heavy(self) -> bool:
        """Whether it is large, or finds no room for some of its lines."""
        return self.large or self.left_out > 0


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


def loaded(workspace: Workspace) -> Growth:
    """Measure the notes that are always loaded in our scope; one that can't be read is left out."""
    vault, packed, journal = workspace.vault, Searcher(workspace).context(), workspace.store(writes=False).journal
    since = (workspace.now() - timedelta(days=DAYS)).isoformat()[:10]
    found: list[LoadedNote] = []
    options, others = workspace.settings.context, vault.layout.loaded
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
        lately = takewhile(lambda entry: entry.time[:10] >= since, entries(journal, path=path))
        characters = sum(len(entry.after) - len(entry.before) for entry in lately)  # an undo counts, too
        grown = tokens(characters) if characters > 0 else -tokens(-characters)
        sections = _sections(data) if vault.layout.is_ours(path) else {}
        limit = options.user_chars if path in others else options.memory_chars
        found.append(LoadedNote(path, tokens(len(text)), grown, gone, sections, len(text), limit))
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
