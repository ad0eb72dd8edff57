"""From scored lines to passages: the few whole lines around the line that answers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.recall.model import Hit
from tars_memory.recall.once import statement_of
from tars_memory.recall.ranking.scores import PARTS
from tars_memory.recall.ranking.standing import REFUSED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tars_memory.index.reader import ChunkRow
    from tars_memory.recall.ranking.candidates import Line

DATED = frozenset({"daily", "episodic", "talk"})
"""The tiers whose lines tell what was so on a day."""
ENOUGH = 180
"""Characters of a passage worth reading: the anchor line is widened towards its better neighbour until it has as many.

A lone "Yes, I did!" gets the question that it answers; 100 to 300 differ by less than a point of coverage.
"""


def passages(lines: Sequence[Line]) -> Iterator[Hit]:
    """Disjoint passages, the one with the best anchor first; made only as far as they are asked for."""
    taken: set[tuple[int, int]] = set()
    for anchor in sorted(lines, key=lambda line: -line.score):
        row = anchor.chunk.row
        if (row.note_id, anchor.number) in taken:
            continue
        first, last = _widened(anchor, taken)
        taken.update((row.note_id, row.start_line + i) for i in range(first.index, last.index + 1))
        texts = anchor.chunk.texts[first.index : last.index + 1]
        hit = _hit(row, first.number, last.number, "\n".join(texts))
        hit.best = anchor.index - first.index
        hit.score = anchor.score
        hit.day = told_day(row, anchor.index)
        hit.statement = statement_of(row, anchor.index)
        hit.explain = dict(zip(PARTS, anchor.parts, strict=True))
        yield hit


def _widened(anchor: Line, taken: set[tuple[int, int]]) -> tuple[Line, Line]:
    """The first and the last line of the passage around a line."""
    lines, texts, note = anchor.chunk.lines, anchor.chunk.texts, anchor.chunk.row.note_id
    first = last = lines.index(anchor)
    size = anchor.length

    def free(inner: int, outer: int) -> bool:
        """Whether the passage may go on over this neighbour: not shown yet, not rejected, nothing left out between."""
        if not 0 <= outer < len(lines) or (note, lines[outer].number) in taken:
            return False
        if lines[outer].validity <= REFUSED < anchor.validity:
            return False
        between = sorted((lines[inner].index, lines[outer].index))
        return not any(text.strip() for text in texts[between[0] + 1 : between[1]])

    while size < ENOUGH:
        around = [at for inner, at in ((first, first - 1), (last, last + 1)) if free(inner, at)]
        if not around:
            break
        wider = max(around, key=lambda at: lines[at].score)
        size += lines[wider].length + 1
        first, last = min(first, wider), max(last, wider)
    return lines[first], lines[last]


def whole(row: ChunkRow, left_out: Collection[int]) -> Iterator[Hit]:
    """A chunk as it is; in parts where lines of it, by their index, are left out."""
    if not left_out:
        yield _hit(row, row.start_line, row.end_line, row.text)
        return
    texts = row.text.split("\n")
    kept = [index for index in range(len(texts)) if index not in left_out and texts[index].strip()]
    starts = [index for index in kept if index - 1 not in kept]
    for start in starts:
        end = next(index for index in range(start, len(texts)) if index + 1 not in kept)
        yield _hit(row, row.start_line + start, row.start_line + end, "\n".join(texts[start : end + 1]))


def told_day(row: ChunkRow, index: int) -> str:
    """The ISO day on which a line of a chunk was said or began to hold, as far as it or its note tells; else ''."""
    day = row.lines[index].day
    return day or (row.date or "" if row.tier in DATED and not row.date_is_weak else "")


def _hit(row: ChunkRow, start_line: int, end_line: int, text: str) -> Hit:
    return Hit(
        path=row.path,
        start_line=start_line,
        end_line=end_line,
        text=text,
        tier=row.tier,
        date=row.date,
        title=row.title,
        headings=row.headings,
        block_id=_block_id(row, start_line, end_line),
        partial=row.partial,
    )


def _block_id(row: ChunkRow, start_line: int, end_line: int) -> str | None:
    """The id that Obsidian can jump to: of a line of the passage, else of the whole chunk."""
    ids = row.block_ids
    return next((ids[number] for number in range(start_line, end_line + 1) if number in ids), row.block_id)
