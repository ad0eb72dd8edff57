"""Aging: a candidate that nobody decided within the window is marked ``[expired]``; it stays in its note and is found.

Beside it, candidates whose words stand in a tier note already are marked ``[promoted]``: there is nothing to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation import marking
from tars_memory.curation.marking import Marked
from tars_memory.curation.patch import splices_between

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.model import Mark
    from tars_memory.curation.reviewing.gather import Gathered
    from tars_memory.vault.model import Entry, Splice

COMMAND = "expire"
"""As history shows it."""


def settle(ctx: Caller, again: Callable[[], Gathered], found: Gathered, *, but: Collection[Mark] = ()) -> int:
    """Mark what has aged and what is settled, in one transaction; nothing is written if there is neither.

    Args:
        ctx: the command's view of the vault.
        again: gathers anew, under the lock: what stood in a tier note a moment ago may be half of a commit that was
            cut off, and is taken back by now.
        found: what was gathered.
        but: lines that are being decided.

    Returns:
        How many lines were marked. One that changed meanwhile is passed over: the next look finds it.

    Raises:
        UnwritableError: the vault can't be written.
    """
    if not _by_note(found, but):
        return 0
    count = 0
    with ctx.writing(COMMAND, None) as transaction:
        by_note = _by_note(again() if found.settled else found, but)
        for path, marked in by_note.items():
            timed = ctx.layout.timed(path)
            counts: list[int] = []

            def plan(
                data: bytes | None,
                path: str = path,
                marked: Sequence[tuple[Mark, str]] = marked,
                timed: bool = timed,
                counts: list[int] = counts,
            ) -> Sequence[Splice]:
                new, done = restated(data or b"", path, marked, timed=timed)
                counts[:] = [done]
                return splices_between(data or b"", new)

            if transaction.write(path, plan).changed:
                count += counts[0]
    return count


def _by_note(found: Gathered, but: Collection[Mark]) -> dict[str, list[tuple[Mark, str]]]:
    by_note: dict[str, list[tuple[Mark, str]]] = {}
    for marks, state in ((found.aged, "expired"), (found.settled, "promoted")):
        for mark in (each for each in marks if each not in but):
            by_note.setdefault(mark.path, []).append((mark, state))
    return by_note


def restated(data: bytes, path: str, marked: Sequence[tuple[Mark, str]], *, timed: bool) -> tuple[bytes, int]:
    """A note with other states for some of its candidates, and how many of them were found. Pure."""

    def chosen(entry: Entry | str, one: Marked) -> bool:
        return not isinstance(entry, str) and entry.state != one.state

    wanted = [Marked(mark, state, named=False) for mark, state in marked]
    return marking.marked(data, wanted, chosen, path=path, timed=timed)
