"""``doctor --restore``: lines of ours that something else overwrote are written again, each once, where they stood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.errors import NotFoundError
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tars_memory.memory import Memory
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.markdown.document import Document
    from tars_memory.vault.writing.history import LostLine
    from tars_memory.vault.writing.store import Written

ALL = "all"
"""Instead of the name of a transaction: whatever is lost."""

_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(rb"#{2,6}[ \t]+(.*)")


def restore(memory: Memory, txn: str) -> list[Written]:
    """Write the lines of a transaction anew that something else overwrote, each under the heading that it stood under.

    Whether a line is missing is asked once more of the note as it is at that moment: another device may have brought
    it back. A note of ours that is gone is made again as it was made.

    Args:
        memory: of the vault.
        txn: of the write whose lines to have back, or :data:`ALL`.

    Returns:
        A receipt for each bullet that was written.

    Raises:
        NotFoundError: nothing of it is lost.
        UnwritableError: a note can't be written.
    """
    found = memory.store(writes=False).lost_lines()
    lost = [line for line in found if txn in (line.txn, ALL)]
    if not lost:
        said = "no line is lost" if txn == ALL else f"no line of {txn} is lost"
        raise NotFoundError(said, "tars-memory doctor lists those that are")
    from tars_memory.vault.writing.history import RESTORE

    context = memory.capture()
    with context.writing(RESTORE, None) as transaction:
        for lines in _bullets(lost):
            if lines[0].created is not None:
                transaction.write(lines[0].file, lambda data, line=lines[0]: _made(data, line))  # type: ignore[misc]
            transaction.write(
                lines[0].file,
                lambda data, lines=lines: _placed(data or b"", lines, context.layout),  # type: ignore[misc]
            )
        return list(transaction.written)


def _bullets(lost: Iterable[LostLine]) -> Iterator[list[LostLine]]:
    """Each lost bullet with those of its children that were lost right below it."""
    lines: list[LostLine] = []
    for line in lost:
        last = lines[-1] if lines else None
        below = last is not None and line.text[:1] in (" ", "\t") and (line.txn, line.file) == (last.txn, last.file)
        if last is not None and below and line.above[:1] == (_bytes(last.text),):
            lines.append(line)
            continue
        if lines:
            yield lines
        lines = [line]
    if lines:
        yield lines


def _made(data: bytes | None, line: LostLine) -> Sequence[Splice]:
    return [Splice(0, 0, _bytes(line.created or ""))] if not data else []


def _placed(data: bytes, lines: Sequence[LostLine], layout: Layout) -> Sequence[Splice]:
    """One bullet under its heading, unless it stands there by now."""
    from tars_memory.capture.placing import insert
    from tars_memory.vault.markdown.document import Document
    from tars_memory.vault.markdown.spans import bare, lines_of

    first = lines[0]
    if [bare(each) for each in lines_of(data)].count(_bytes(first.text)) >= first.wanted:
        return []
    words = first.text.strip()
    bullet = "\n".join([words if _BULLET.match(words) else f"- {words}", *(line.text for line in lines[1:])])
    return insert(data, bullet, _section(Document(data), first) or _usual(layout, first.file))


def _section(document: Document, line: LostLine) -> str:
    """The heading that the line stood under: of the nearest line above it that is still there, or itself a heading."""
    for mark in line.above:
        heading = _HEADING.match(mark)
        if heading:
            return heading[1].decode("utf-8", "surrogateescape").strip()
        if not mark.strip():
            continue
        numbers = [n for n, (start, end, _) in enumerate(document.lines, 1) if document.data[start:end] == mark]
        titles = {document.section_at(number).title for number in numbers}
        if len(titles) == 1 and "" not in titles:
            return titles.pop()
    return ""


def _usual(layout: Layout, path: str) -> str:
    """Where a new line of such a note goes."""
    from tars_memory.capture.feedback import SECTION

    if layout.day_of(path) is not None:
        return layout.log_heading
    return SECTION if layout.timed(path) else layout.notes_section


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
