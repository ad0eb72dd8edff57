"""Notes that are always loaded, as units: bullets, paragraphs, tables, each under its headings; what is left out of
them is said. Pure but for the parser.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from tars_memory.recall.packing import fence
from tars_memory.recall.packing.packing import Unit
from tars_memory.recall.verify import note_lines
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.entries import REPLACED as WAS
from tars_memory.vault.markdown.entries import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tars_memory.vault.markdown.document import Block

_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+|[ \t]+")
_DISMISSED = re.compile(
    r"[ \t]*[-*+][ \t]+(?:(?:(?:\d{4}-\d\d-\d\d )?\d{1,2}:\d\d[ \t]+)?\[(rejected|expired)\](?!\S)|" + WAS + ")"
)

COMMENT = "a comment"
ENDED = "no longer true, or not yet"
FRONT_MATTER = "front matter"
ALONE = "nothing under it is shown"
REJECTED = "rejected in review"
EXPIRED = "expired in review"
REPLACED = "replaced in review"


class Loaded:
    """One note as units.

    Args:
        path: relative to the vault.
        data: its bytes.
        whole_items: a list item is one unit with all that is nested in it: half a rule is another rule.
        over: what no longer counts, as (first line, last line).
        expired: candidates that expired are told as well.

    Attributes:
        lines: its text, as editors count it.
        units: in order, headings not among them (they hang on the units below them).
        headings: all of them.
        rules: raw lines of the units that are whole top-level bullets, by their first line.
        omitted: (first line, last line, why) of what is no content.
    """

    def __init__(
        self,
        path: str,
        data: bytes,
        *,
        whole_items: bool = False,
        over: Callable[[Document], Sequence[tuple[int, int]]] = lambda _: (),
        expired: bool = False,
    ) -> None:
        self.path = path
        self.whole_items = whole_items
        self.lines = note_lines(data)
        self.document = Document(data)
        self._expired = expired
        self._over = _joined(over(self.document))
        self.units: list[Unit] = []
        self.rules: dict[int, list[bytes]] = {}
        self.omitted: list[tuple[int, int, str]] = []
        self.headings: list[Unit] = []
        self._above: list[tuple[int, Unit]] = []
        self._bullets = [bullet.line for bullet in self.document.bullets]
        self._read()

    def _read(self) -> None:
        if self.document.front_matter_lines:
            self.omitted.append((*self.document.front_matter_lines, FRONT_MATTER))
        levels = {section.start_line: section.level for section in self.document.sections if section.level}
        for block in self.document.blocks:
            if block.kind == "heading":
                self._head(block, levels.get(block.start_line, 6))
            elif block.kind == "comment" or (block.kind == "html" and self._is_comment(block)):
                self.omitted.append((block.start_line, block.end_line, COMMENT))
            elif block.kind == "rule":
                self.omitted.append((block.start_line, block.end_line, "a rule between sections"))
            else:
                for first, last in self._parts(block):
                    self._take(first, last, whole=block.kind in ("fence", "code", "html", "table", "math"))
        inside = {n for b in self.document.blocks for n in range(b.start_line, b.end_line + 1)}
        for number in range(self.document.body_line, len(self.lines) + 1):
            if number not in inside and self.lines[number - 1].strip():
                self.omitted.append((number, number, "a definition that is not shown"))

    def raw(self, unit: Unit) -> list[bytes]:
        """The lines of a unit as they are, without blank ones."""
        data = self.document.data
        found = [data[line.start : line.end] for line in self.document.lines[unit.start_line - 1 : unit.end_line]]
        return [line for line in found if line.strip()]

    def _head(self, block: Block, level: int) -> None:
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        unit = Unit(self.path, block.start_line, self._shown(block.start_line, block.end_line))
        self._above.append((level, unit))
        self.headings.append(unit)

    def _take(self, first: int, last: int, *, whole: bool) -> None:
        texts = self._shown(first, last)
        if not any(texts):
            self.omitted.append((first, last, COMMENT))
            return
        why = "" if whole else dismissed(self.lines[first - 1])
        why = "" if why == EXPIRED and self._expired else why
        at = bisect_right(self._over, first, key=lambda lines: lines[0]) - 1
        if at >= 0 and last <= self._over[at][1]:
            why = ENDED
        if why:
            self.omitted.append((first, last, why))
            return
        raw = self.lines[first - 1 : last]
        says = () if whole else {key("\n".join(lines)) for lines in ([raw] if raw == texts else [raw, texts])}
        self.units.append(Unit(self.path, first, texts, says, tuple(unit for _, unit in self._above)))

    def _parts(self, block: Block) -> Iterator[tuple[int, int]]:
        """First and last line of what stands or falls together; of a list the bullets, with what follows each."""
        if block.kind != "item":
            yield block.start_line, block.end_line
            return
        within = bisect_left(self._bullets, block.start_line), bisect_right(self._bullets, block.end_line)
        bullets = self.document.bullets[slice(*within)]
        if self.whole_items:
            if bullets and bullets[0].depth == 0 and bullets[0].line == block.start_line:
                self.rules[block.start_line] = self.raw(Unit(self.path, block.start_line, [""] * _count(block)))
            yield block.start_line, block.end_line
            return
        starts = sorted({block.start_line, *(bullet.line for bullet in bullets)})
        for first, after in zip(starts, [*starts[1:], block.end_line + 1], strict=True):
            last = after - 1
            while last > first and not self.lines[last - 1].strip():
                last -= 1
            yield first, last

    def _shown(self, first: int, last: int) -> list[str]:
        return [fence.shown(line) for line in self.lines[first - 1 : last]]

    def _is_comment(self, block: Block) -> bool:
        text = "\n".join(self.lines[block.start_line - 1 : block.end_line]).strip()
        return text.startswith("<!--") and text.find("-->") in (-1, len(text) - 3)


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those spans of lines that no other one holds, in order."""
    found: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda lines: (lines[0], -lines[1])):
        if not found or span[1] > found[-1][1]:
            found.append(span)
    return found


def _count(block: Block) -> int:
    return block.end_line - block.start_line + 1


def key(text: str) -> str:
    """What a line says, without list mark, time, machinery, case, spacing and a full stop; '' if it is nothing but
    punctuation.
    """
    mark = _MARK.match(text)
    words = parse(text[mark.end() :] if mark else text, timed=True).text
    return (
        " ".join(words.casefold().split()).rstrip(" .!。")
        if any(sign.isalnum() or not sign.isascii() for sign in words)
        else ""
    )


def dismissed(line: str) -> str:
    """Why a line is no longer to be told: the person rejected it, let it expire, or put other words in its place; else
    empty.
    """
    found = _DISMISSED.match(line)
    return "" if found is None else {"rejected": REJECTED, "expired": EXPIRED}.get(found[1], REPLACED)
