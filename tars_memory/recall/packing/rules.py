"""Which rules may be trusted: those that a person typed or approved here, line for line, as the journal knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import TarsError
from tars_memory.recall.packing.loaded import Loaded
from tars_memory.recall.packing.packing import Unit
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Callable

    from tars_memory.vault.vault import Vault


def by_approval(note: Loaded, known: frozenset[bytes]) -> tuple[list[Unit], list[Unit]]:
    """The rules that a person typed or approved, line for line, under such headings; and the others."""
    approved: list[Unit] = []
    others: list[Unit] = []
    for unit in note.units:
        raw = note.rules.get(unit.start_line)
        if raw and known.issuperset(raw):
            headings = [above for above in unit.headings if known.issuperset(note.raw(above))]
            approved.append(Unit(unit.path, unit.start_line, unit.texts, unit.says, headings))
        else:
            others.append(unit)
    return approved, others


def unapproved(vault: Vault, typed: Callable[[str], frozenset[bytes]]) -> dict[str, list[int]]:
    """The rules of the vault and its projects that nobody typed or approved here: by note, their lines.

    Args:
        vault: to read from; a note that can't be read has none.
        typed: by a note's path the lines that a person typed (:func:`tars_memory.vault.writing.history.typed_lines`).
    """
    found: dict[str, list[int]] = {}
    for path in sorted(path for path in vault.paths() if vault.layout.tier_of(path) is Tier.PROCEDURAL):
        try:
            note = Loaded(path, vault.read(path), whole_items=True)
            lines = [unit.start_line for unit in by_approval(note, typed(path))[1]]
        except TarsError:
            continue
        if lines:
            found[path] = lines
    return found
