"""What to splice into a note to say what became of a candidate: its state tag, a block id, a bullet nested under it.

Pure, as :mod:`tars_memory.vault.markdown.edits`; the functions for notes that are parsed already let many marks be
planned from one parse.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import find
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tars_memory.vault.markdown.document import Bullet
    from tars_memory.vault.model import Entry


def mark_bullet(
    data: bytes, entry: Entry, state: str, *, block_id: str = "", children: Sequence[str] = (), timed: bool = False
) -> list[Splice]:
    """Say of a candidate what became of it: its state tag, in place; every other byte of the line stays.

    Args:
        data: the note, which may have changed since the entry was read from it.
        entry: the candidate.
        state: one of :data:`entries.STATES`.
        block_id: given to a line that has none, so that a link leads to it; without the caret, empty for none.
        children: words of bullets to nest under it; left out where they would change what stands around it.
        timed: see :func:`entries.parse`.

    Raises:
        ConflictError: the entry is not in the note any more.
    """
    document = Document(data)
    found = find(document, entry, timed=timed)
    bullet = next(bullet for bullet in document.bullets if bullet.line == found.line)
    splices = stated(document, bullet, found, state, block_id=block_id, timed=timed)
    if children:
        under = nested(document, bullet, children)
        come = {bullet.end_line + number: bullet.depth + 1 for number in range(1, len(children) + 1)}
        if keeps_the_rest(apply(data, splices), apply(data, [*splices, under]), come):
            splices.append(under)
    return splices


def stated(
    document: Document, bullet: Bullet, entry: Entry, state: str, *, block_id: str = "", timed: bool = False
) -> list[Splice]:
    """The state tag, and the block id of a line that has none, for a bullet of a note that is parsed already."""
    splices = [*_state(document, bullet, entry, state, timed=timed)]
    if block_id and not entry.block_id:
        splices.append(Splice(bullet.end, bullet.end, f" ^{block_id}".encode("ascii")))
    return splices


def keeps_the_rest(before: bytes, after: bytes, come: Mapping[int, int]) -> bool:
    """Whether a note has become another one by new bullets alone.

    Args:
        before: the note.
        after: with the new bullets, one line each.
        come: by their lines how deep they should stand.
    """
    found = [(bullet.line, bullet.depth) for bullet in Document(after).bullets]
    had = [(bullet.line, bullet.depth) for bullet in Document(before).bullets]
    wanted = sorted(come)
    moved = [(line + bisect_right(_earlier(wanted), line), depth) for line, depth in had]
    return found == sorted([*moved, *come.items()])


def nested(document: Document, bullet: Bullet, children: Sequence[str]) -> Splice:
    """Bullets as the last children of another one, of a note that is parsed already."""
    first = document.lines[bullet.line - 1]
    head = document.data[first.start : bullet.start]
    indent = re.sub(rb"[^\t]", b" ", head)
    child = next((b for b in document.bullets if b.depth == bullet.depth + 1 and bullet.line < b.line), None)
    if child and child.line <= bullet.end_line:
        start = document.lines[child.line - 1].start
        indent = re.match(rb"[ \t]*", document.data[start : child.start])[0]  # type: ignore[index]
    end = document.lines[bullet.end_line - 1]
    nl = document.ending(bullet.end_line)
    lines = nl.join(indent + b"- " + words.encode("utf-8", "surrogateescape") for words in children)
    return Splice(end.next, end.next, lines + nl if end.next > end.end else nl + lines)


def _earlier(come: Sequence[int]) -> list[int]:
    """The lines before which new ones were put, as they were counted before."""
    return [line - number for number, line in enumerate(come)]


def _state(document: Document, bullet: Bullet, entry: Entry, state: str, *, timed: bool) -> Iterator[Splice]:
    """The tag before the words, after the time: another one, or a new one."""
    if entry.state == state:
        return
    words = document.data[bullet.start : bullet.end]
    at = len(entry.time) if timed and entry.time else 0
    at += len(words[at:]) - len(words[at:].lstrip(b" \t"))
    if entry.state:
        yield Splice(bullet.start + at + 1, bullet.start + at + 1 + len(entry.state), state.encode("ascii"))
    else:
        yield Splice(bullet.start + at, bullet.start + at, f"[{state}] ".encode("ascii"))
