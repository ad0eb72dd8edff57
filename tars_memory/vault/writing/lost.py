"""The loss check: lines that we wrote, did not take back, and that something else overwrote or removed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tars_memory.errors import UnwritableError
from tars_memory.vault.deciding import MADE
from tars_memory.vault.folder import FOLDER_HANDLES, Folder, read_note, steps
from tars_memory.vault.inbox import OURS
from tars_memory.vault.markdown.spans import bare, lines_of
from tars_memory.vault.writing.history import JournalEntry, written_lines
from tars_memory.vault.writing.journal import text_of, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tars_memory.vault.writing.journal import Journal, Record

_BULLET = re.compile(rb"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(rb"#{1,6}[ \t]")
_BLOCK_ID = re.compile(rb"[ \t]\^([A-Za-z0-9-]+)[ \t]*\Z")

LANDMARKS = 40
"""So many lines above a lost one are kept, to find the heading that it stood under."""


class LostLine:
    """A line that we wrote, did not take back, and that is no longer there.

    Deleted or reworded by hand looks the same as overwritten by a program that saved an older text.

    Attributes:
        txn: of the write.
        time: of the write, ISO 8601.
        file: the note, relative to the vault.
        text: the line, without its ending.
        wanted: how often it stands there if nothing of ours is lost.
        above: the lines that stood above it when it was written, nearest first.
        created: the whole note as that write made it, if it made it and it is gone; else None.
    """

    __slots__ = ("above", "created", "file", "text", "time", "txn", "wanted")

    def __init__(
        self, record: Record, text: bytes, wanted: int, above: tuple[bytes, ...], created: str | None = None
    ) -> None:
        self.txn: str = record["txn"]
        self.time: str = record["time"]
        self.file: str = record["file"]
        self.text = text_of(text)
        self.wanted = wanted
        self.above = above
        self.created = created


def lost_lines(journal: Journal, root: Path) -> list[LostLine]:
    """Lines we wrote, and did not take back, that something else overwrote; in the order of writing.

    A line with a block id that stands elsewhere in its note was reworded, on another device for instance. A note that
    is gone may have been moved: what stands in one of the same name is there. While a note is there, only its bullets
    count: headings and front matter come with it.
    """
    lost: list[LostLine] = []
    moved: dict[str, list[str]] | None = None
    vault = Folder.open(root, handles=FOLDER_HANDLES)
    try:
        for path, lines in written_lines(journal).items():
            if path.startswith(OURS) or all(line.encode("ascii") in lines for line in MADE):
                continue  # proposals and decisions: whoever dealt with them may have taken them out
            data = _peek(vault, path)
            if data is None and lines:
                moved = _by_name(root) if moved is None else moved
                copies = [_peek(vault, other) for other in moved.get(path.rpartition("/")[2], [])]
                standing = b"\n".join(copy for copy in copies if copy is not None)
            else:
                standing = data or b""
            lost += _missing(lines, standing, gone=data is None)
    finally:
        vault.close()
    return sorted(lost, key=lambda line: line.txn)


def _missing(lines: Mapping[bytes, list[Record]], standing: bytes, *, gone: bool) -> Iterator[LostLine]:
    """The lines of one note that do not stand where they should."""
    there = _headings(standing)
    ids = {found[1] for found in map(_BLOCK_ID.search, there) if found}
    for line, records in lines.items():
        missing = _not_under(records, there.get(line, []), line, lines)
        named = _BLOCK_ID.search(line)
        if not missing or (named and named[1] in ids) or not (gone or _BULLET.match(line)):
            continue
        for record in missing:
            created = JournalEntry(record, 0, undone=False).after if gone and record["op"] == "create" else None
            yield LostLine(record, line, len(records), _above(record, line, lines), created)


def _headings(text: bytes) -> dict[bytes, list[bytes]]:
    """The lines of a note, and under which heading each stands, as often as it does."""
    found: dict[bytes, list[bytes]] = {}
    heading = b""
    for line in map(bare, lines_of(text)):
        found.setdefault(line, []).append(heading)
        heading = line if _HEADING.match(line) else heading
    return found


def _not_under(
    records: Sequence[Record], headings: Sequence[bytes], line: bytes, lines: Mapping[bytes, list[Record]]
) -> list[Record]:
    """The records of a line beyond those that stand: what is true of one name may be true of another, word for word."""
    missing = list(records)
    if not headings or len(headings) >= len(records):
        return missing[len(headings) :]
    elsewhere = 0
    for heading in headings:
        for record in missing:
            if heading == next(filter(_HEADING.match, _above(record, line, lines)), b""):
                missing.remove(record)
                break
        else:
            elsewhere += 1
    return missing[elsewhere:]


def _above(record: Record, line: bytes, lines: Mapping[bytes, list[Record]]) -> tuple[bytes, ...]:
    """What stood above a line when it was written, as far as the journal tells: line after line of ours."""
    found: list[bytes] = []
    while len(found) < LANDMARKS:
        for span in unpack(record):
            written = [bare(each) for each in lines_of(span.after)]
            if line in written:
                found += reversed(written[: written.index(line)])
                if span.previous is None:
                    return tuple(found)
                line = span.previous
                break
        else:
            return tuple(found)
        if line in found:
            return tuple(found)
        found.append(line)
        earlier = [each for each in lines.get(line, ()) if each["txn"] < record["txn"]]
        if not earlier:
            return tuple(found)
        record = earlier[-1]
    return tuple(found)


def _by_name(root: Path) -> dict[str, list[str]]:
    """Where in the vault there are notes of each name."""
    found: dict[str, list[str]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        for name in names:
            if name.endswith(".md"):
                found.setdefault(name, []).append(name if inside == "." else f"{inside}/{name}")
    return found


def _peek(vault: Folder, path: str) -> bytes | None:
    *parents, name = steps(path)
    folder, opened = vault, []
    try:
        for parent in parents:
            folder = folder.child(parent)
            opened.append(folder)
        note = read_note(folder, name, keep=False)
    except (OSError, UnwritableError):
        return None
    finally:
        for each in opened:
            each.close()
    return None if note is None else note.data
