"""What became of many candidates of one note, from few parses of it, byte for byte as one after the other. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.bundle import Sheet
from tars_memory.curation.patch import locate
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.edits import keeps_the_rest, mark_bullet, nested, stated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.curation.model import Mark
    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.note import Note

LEAST = 2
"""Marks that are worth a parse together."""


class Marked(NamedTuple):
    """What a candidate becomes.

    Attributes:
        mark: its line.
        state: its new state.
        children: words of bullets to nest under it.
        named: whether it gets its block id.
    """

    mark: Mark
    state: str
    children: tuple[str, ...] = ()
    named: bool = True


def marked(note: Note, wanted: Sequence[Marked], chosen: Callable[[Entry | str, Marked], bool]) -> tuple[bytes, int]:
    """A note with other states for some of its lines, and how many of them were marked.

    Of lines that are alike in every byte the first one is taken: it says something else from then on, and a second mark
    finds the next one.

    Args:
        note: as it is.
        wanted: in order.
        chosen: whether the entry that was found (or else why it can't be told) is to be marked; what it raises is
            raised. It may be asked twice.
    """
    at, most, done = 0, len(wanted), 0
    while at < len(wanted):
        bundle = _Bundle(Sheet(note)) if most >= LEAST else None
        count = bundle.take(wanted[at : at + most], chosen) if bundle else 0
        after = bundle.after() if bundle and count >= LEAST else None
        if bundle is not None and after is not None:
            note, at, most, done = note.saying(after), at + count, len(wanted), done + bundle.count
        elif count >= LEAST:
            most = count // 2
        else:
            one = wanted[at]
            entry = locate(note, one.mark.raw, occurrence=0)
            if chosen(entry, one) and not isinstance(entry, str):
                name = one.mark.block_id if one.named else ""
                splices = mark_bullet(note, entry, one.state, block_id=name, children=one.children)
                note, done = note.saying(apply(note.data, splices)), done + 1
            at, most = at + 1, len(wanted)
    return note.data, done


class _Bundle:
    """Marks on lines that have nothing to do with each other; ``count`` of them are planned."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._splices: list[Splice] = []
        self._children: list[Splice] = []
        self._come: list[tuple[int, int]] = []
        """Of each nested bullet, behind which line it comes, how deep."""
        self.count = 0
        self._touched: set[int] = set()
        self._changed: set[str] = set()

    def take(self, wanted: Sequence[Marked], chosen: Callable[[Entry | str, Marked], bool]) -> int:
        """Plan the first marks; how many of them were."""
        for count, one in enumerate(wanted):
            raw = re.sub(r"\r\n|\r", "\n", one.mark.raw)
            entry = None if raw in self._changed else self.sheet.named(raw, 0)
            if entry is None or entry.line in self._touched or not self._free(entry, one):
                return count
            if chosen(entry, one):
                self._mark(entry, one)
                self.count += 1
        return len(wanted)

    def after(self) -> bytes | None:
        """The note with all of it done; None if a nested line would change what stands around it."""
        data = self.sheet.data
        bare = apply(data, sorted(self._splices, key=_place))
        if not self._children:
            return bare
        whole = apply(data, sorted([*self._splices, *self._children], key=_place))
        come = {line + number: depth for number, (line, depth) in enumerate(sorted(self._come), 1)}
        return whole if keeps_the_rest(bare, whole, come) else None

    def _free(self, entry: Entry, one: Marked) -> bool:
        """Whether nothing else is nested where its own line would be."""
        return not one.children or all(line != entry.end_line for line, _ in self._come)

    def _mark(self, entry: Entry, one: Marked) -> None:
        sheet = self.sheet
        bullet = sheet.bullets[entry.line]
        name = one.mark.block_id if one.named else ""
        splices = stated(sheet.note, bullet, entry, one.state, block_id=name)
        self._splices += splices
        if one.children:
            self._children.append(nested(sheet.document, bullet, one.children))
            self._come += [(bullet.end_line, bullet.depth + 1)] * len(one.children)
        first, last = sheet.document.lines[bullet.line - 1], sheet.document.lines[bullet.own_end_line - 1]
        own = [splice._replace(start=splice.start - first.start, end=splice.end - first.start) for splice in splices]
        new = apply(sheet.data[first.start : last.end], own).decode("utf-8", "surrogateescape")
        self._changed |= {entry.raw, re.sub(r"\r\n|\r", "\n", new)}
        self._touched.add(entry.line)


def _place(splice: Splice) -> tuple[int, int]:
    return splice.start, splice.end
