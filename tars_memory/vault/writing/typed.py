"""Which lines of a note a person put there: the journal's word for a rule that may be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.vault.markdown.spans import bare, changed, lines_of
from tars_memory.vault.writing.history import entries
from tars_memory.vault.writing.journal import unpack

if TYPE_CHECKING:
    from tars_memory.vault.writing.journal import Journal


def typed_lines(journal: Journal, path: str) -> frozenset[bytes]:
    """The lines of a note, without their endings, that a person typed or approved and that were not taken back since.

    A line that someone else wrote, by this program or past it, is none of them, whatever it says; nor is one that a
    person once typed, if it was removed through this program and put back by somebody else.

    Args:
        journal: of the vault.
        path: of the note.

    Raises:
        UnwritableError: the journal can't be read.
    """
    held: dict[bytes, list[bool]] = {}
    for entry in reversed(list(entries(journal, path=path))):
        if entry.op == "remove":
            held.clear()
            continue
        for span in unpack(entry.record):
            if span.before == span.after and entry.actor == "person" and not entry.undone:
                for line in map(bare, lines_of(span.after)):
                    held.setdefault(line, []).append(True)
                continue
            removed, added, _, _ = changed(span)
            for line in map(bare, removed):
                if held.get(line):
                    held[line].pop()
            for line in map(bare, added):
                held.setdefault(line, []).append(entry.actor == "person")
    return frozenset(line for line, by in held.items() if any(by) and line.strip())
