"""What the journal tells, newest first: history, who typed a line, lines of ours that are lost, what undoes a write."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from functools import cache
from typing import TYPE_CHECKING

from tars_memory.errors import ConflictError, NotFoundError, UnwritableError, counted
from tars_memory.vault.folder import FOLDER_HANDLES, Folder, digest, read_note, steps
from tars_memory.vault.layout import DECIDED, MADE, OURS, Layout
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import BOM, Document, apply
from tars_memory.vault.vault import wide_encoding
from tars_memory.vault.writing.journal import Journal, Record, base_of, parse, result_of, text_of, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tars_memory.vault.markdown.edits import Span
    from tars_memory.vault.model import Entry, Splice


_TARGET = re.compile(r'"target": "([^"\n]+)')
"""The note that a proposal is for, as its file says it."""
_PROJECT = re.compile(r'^\{[^\n]*"date": "[^"\n]*", "project": "([^"\n]+)"', re.MULTILINE)
"""The project of a decision, as the line about it says; without one it was made outside projects."""


class JournalEntry:
    """One write of one note, as history shows it.

    Attributes:
        txn: the transaction it belongs to.
        time: ISO 8601, as the clock said.
        command: what was called.
        actor: who wrote.
        file: the note, relative to the vault.
        op: ``append``, ``edit``, ``create`` or ``remove``.
        before: the changed lines as they were (``remove``: the whole note).
        after: the changed lines as they were written (``create``: the whole note).
        line: of the first changed line, when it was written.
        undone: whether it has been taken back and not redone since.
        undoes: the transaction that it took back, or None.
        purged: whether its text was forgotten for good; it can't be undone any more.
        record: the journal's own record.
    """

    def __init__(self, record: Record, line: int, undone: bool) -> None:
        self.txn: str = record["txn"]
        self.time: str = record["time"]
        self.command: str = record["command"]
        self.actor: str = record["actor"]
        self.file: str = record["file"]
        self.op: str = record["op"]
        self.line = line
        self.undone = undone
        self.undoes: str | None = record.get("undoes")
        self.purged = bool(record.get("purged"))
        self.record = record
        spans = unpack(record)
        self.before = text_of(b"".join(span.before for span in spans))
        self.after = text_of(b"".join(span.after for span in spans))
        if self.op == "remove":
            self.before = text_of(base_of(record))
        elif self.op == "create":
            self.after = text_of(result_of(record))

    def back(self, data: bytes | None) -> Sequence[Splice]:
        """What takes the write back in its note as that is now; nothing for a note that stands as it did before.

        Raises:
            ConflictError: the note has moved on too far.
        """
        if self.op == "remove":
            if data is not None and data != base_of(self.record):
                raise ConflictError(
                    f"{self.file} was made again since {self.txn} removed it", "move it away, then undo again"
                )
            return ()
        spans = unpack(self.record)
        if data is None:
            if self.op == "create":
                return ()
            raise ConflictError(
                f"{self.file} is gone, so {self.txn} can't be taken back\n{_difference(self.file, spans)}",
                "bring the note back first",
            )
        found = digest(data)
        if found == self.record["new"]:
            return edits.reversed_exactly(spans)
        if found == self.record["old"]:
            return ()
        _refuse_twins(data, self, spans)
        try:
            return _in_front(data, self.record, spans) or edits.reversed_by_text(data, spans)
        except ConflictError as error:
            raise ConflictError(
                f"{self.file} has moved on since {self.txn}: {error.message}\n{_difference(self.file, spans)}",
                "make the change by hand; the difference shows it",
            ) from error


def entries(journal: Journal, limit: int | None = None, path: str | None = None) -> Iterator[JournalEntry]:
    """The writes that were made, newest first, read from the tail as far as they are asked for.

    Args:
        journal: of the vault.
        limit: so many at most.
        path: only those of one note.
    """
    undone: set[str] = set()
    ended: dict[tuple[str, int], Record] = {}
    count = 0
    for record in journal.records():
        kind, txn = record["t"], str(record["txn"])
        if kind == "end":
            ended[txn, record["n"]] = record
            continue
        end = ended.pop((txn, record.get("n", -1)), None)
        if kind == "begin" and (end is None or not end["ok"]):
            continue
        if "undoes" in record and txn not in undone:
            undone.add(str(record["undoes"]))
        if kind == "begin" and path in (None, record["file"]):
            assert end is not None
            yield JournalEntry(record, end["line"], txn in undone)
            count += 1
            if limit is not None and count >= limit:
                return


def of_scope(found: Iterator[JournalEntry], layout: Layout) -> Iterator[JournalEntry]:
    """Those of the writes that are about our notes; what stands in our own folder is about the notes that it names."""
    for entry in found:
        if not entry.file.startswith(OURS):
            if layout.is_ours(entry.file):
                yield entry
        elif entry.file == DECIDED:
            if set(_PROJECT.findall(f"{entry.before}\n{entry.after}")) == ({layout.scope} if layout.scope else set()):
                yield entry
        elif all(layout.is_ours(name) for name in _TARGET.findall(f"{entry.before}\n{entry.after}")):
            yield entry


def transactions(journal: Journal) -> Iterator[tuple[str, list[JournalEntry]]]:
    """The entries by transaction, newest transaction first, the entries of each in the order of writing."""
    group: list[JournalEntry] = []
    for entry in entries(journal):
        if group and group[0].txn != entry.txn:
            yield group[0].txn, group[::-1]
            group = []
        group.append(entry)
    if group:
        yield group[0].txn, group[::-1]


def find_transactions(
    journal: Journal, named: str | Sequence[str] | None, last: int
) -> list[tuple[str, list[JournalEntry]]]:
    """What ``undo`` is to take back: the named transactions, or the last ones in force that are not undos themselves.

    Raises:
        NotFoundError: there is no such transaction, it is taken back already, or there are too few.
    """
    wanted = [named] if isinstance(named, str) else list(named or ())
    found: list[tuple[str, list[JournalEntry]]] = []
    for name, group in transactions(journal):
        if wanted and name < min(wanted):
            break
        if wanted and name in wanted and group[0].undone:
            raise NotFoundError(f"{name} is undone already", "tars-memory history shows what is in force")
        if name in wanted if wanted else not group[0].undone and group[0].undoes is None:
            found.append((name, group))
            if len(found) == (len(wanted) or last):
                return found
    if wanted:
        missing = next(name for name in wanted if name not in dict(found))
        raise NotFoundError(f"no write is called {missing}", "tars-memory history lists them")
    lost = "; ".join(journal.gaps())
    if not found:
        raise NotFoundError("nothing to undo", lost or "tars-memory history shows what was written")
    raise NotFoundError(f"only {counted(len(found), 'write')} can be undone", lost or "tars-memory history lists them")


def placed_items(journal: Journal, wanted: Collection[str]) -> set[str]:
    """Which of these spool items were written; one that is still in the spool then was left by a process that ended."""
    marks = {f'"settles":"{item}"'.encode(): item for item in wanted}
    items: set[str] = set()
    end = b""
    for line in journal.backwards():
        if line.startswith(b'{"t":"end"'):
            end = line  # its beginning comes next
            continue
        for mark, item in marks.items():
            if mark in line:
                began, ended = parse(line), parse(end)
                same = began and ended and (began["txn"], began.get("n")) == (ended["txn"], ended.get("n"))
                if same and ended and ended["ok"]:
                    items.add(item)
    return items


RESTORE = "restore"
"""The command that writes lost lines again."""


def written_lines(journal: Journal) -> dict[str, dict[bytes, list[Record]]]:
    """By note, the lines that we wrote and did not take back since, with the records that wrote them (newest last).

    Of months whose other records are gone nothing is told: a line of then may have been changed since.
    """
    records = [(entry.record, entry.op) for entry in entries(journal) if "kept" not in entry.record]
    notes: dict[str, dict[bytes, list[Record]]] = {}
    for record, op in reversed(records):
        lines = notes.setdefault(record["file"], {})
        if op == "remove":
            lines.clear()
            continue
        for span in unpack(record):
            removed, added, _, _ = edits.changed(span)
            for line in map(edits.bare, removed):
                if line in lines:
                    lines[line].pop(_of_place(lines[line], line, _place(line, removed, span), -1))
                    if not lines[line]:
                        del lines[line]
            for line in map(edits.bare, added):
                if line.strip():
                    held = lines.setdefault(line, [])
                    if held and record["command"] == RESTORE:  # it stands for the one that was lost
                        held.pop(_of_place(held, line, _place(line, added, span), 0))
                    held.append(record)
    return notes


def written_days(journal: Journal) -> Callable[[Entry], str]:
    """From an entry to the day (``YYYY-MM-DD``) on which we wrote its line; empty if the journal does not know.

    The journal is read when the first day is asked for.
    """
    known = cache(lambda: written_lines(journal))

    def day(entry: Entry) -> str:
        records = known().get(entry.path, {}).get(entry.raw.split("\n")[0].encode("utf-8", "surrogateescape"))
        return str(records[-1]["time"])[:10] if records else ""

    return day


def _place(line: bytes, lines: Sequence[bytes], span: Span) -> bytes | None:
    """Below what a line stands, of those that a span holds: its heading, else what came before."""
    plain = list(map(edits.bare, lines))
    before = plain[: plain.index(line)]
    above = span.previous and edits.bare(span.previous)
    return next((each for each in reversed(before) if each.startswith(b"#")), above)


def _of_place(records: Sequence[Record], line: bytes, place: bytes | None, otherwise: int) -> int:
    """Which of the records of a line wrote it at a place; several names may have the same words below them."""
    if len(records) == 1 or place is None:
        return otherwise
    for number, record in enumerate(records):
        for span in unpack(record):
            added = edits.changed(span)[1]
            if line in map(edits.bare, added) and _place(line, added, span) == place:
                return number
    return otherwise


# -- which lines of a note a person put there: the journal's word for a rule that may be trusted


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
                for line in map(edits.bare, edits.lines_of(span.after)):
                    held.setdefault(line, []).append(True)
                continue
            removed, added, _, _ = edits.changed(span)
            for line in map(edits.bare, removed):
                if held.get(line):
                    held[line].pop()
            for line in map(edits.bare, added):
                held.setdefault(line, []).append(entry.actor == "person")
    return frozenset(line for line, by in held.items() if any(by) and line.strip())


def stands_approved(journal: Journal, path: str, data: bytes) -> bool:
    """Whether a person typed or approved all of a note, its properties aside: these lines in this order, none less.

    What persons changed since it was made or approved is taken back in thought; then it must say what it said then. So
    a step that another program took out, or put elsewhere, is noticed as well as one that it added.

    Args:
        journal: of the vault.
        path: of the note.
        data: what it holds now.

    Raises:
        UnwritableError: the journal can't be read.
    """
    for entry in entries(journal, path=path):
        if entry.undone or entry.undoes:
            continue
        if entry.actor != "person" or entry.op == "remove" or entry.purged:
            return False
        spans = unpack(entry.record)
        if entry.op == "create":
            return _body(result_of(entry.record)) == _body(data)
        if all(span.before == span.after for span in spans):
            return _worded(b"".join(span.after for span in spans)) == _body(data)
        try:
            data = apply(data, edits.reversed_by_text(data, spans))
        except ConflictError:
            if entry.command != PROPERTIES:
                return False
    return False


PROPERTIES = "playbooks"
"""The command that changes nothing but properties of a note."""


def _worded(data: bytes) -> list[bytes]:
    """The lines that are not blank, without their endings."""
    return [edits.bare(line) for line in edits.lines_of(data.removeprefix(BOM)) if line.strip()]


def _body(data: bytes) -> list[bytes]:
    """Those of a note below its properties."""
    document = Document(data)
    return _worded(b"".join(data[line.start : line.next] for line in document.lines[document.body_line - 1 :]))


# -- the loss check: lines that we wrote, did not take back, and that something else overwrote or removed


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
            try:
                data = _peek(vault, path)
            except OSError:
                continue  # what can't be read has lost nothing that anybody knows of
            if wide_encoding(data or b""):
                continue  # the same in another encoding, perhaps
            if data is None and lines:
                moved = _by_name(root) if moved is None else moved
                copies = []
                for other in moved.get(path.rpartition("/")[2], []):
                    with contextlib.suppress(OSError):
                        copies.append(_peek(vault, other) or b"")
                standing = b"\n".join(copies)
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
    for line in map(edits.bare, edits.lines_of(text)):
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
            written = [edits.bare(each) for each in edits.lines_of(span.after)]
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
    """A note as it stands; None if it is gone.

    Raises:
        OSError: it can't be read.
    """
    *parents, name = steps(path)
    folder, opened = vault, []
    try:
        for parent in parents:
            folder = folder.child(parent)
            opened.append(folder)
        note = read_note(folder, name, keep=False)
    except (FileNotFoundError, NotADirectoryError, UnwritableError):
        return None
    finally:
        for each in opened:
            each.close()
    return None if note is None else note.data


# -- what takes a write back


def _in_front(data: bytes, record: Record, spans: Sequence[Span]) -> list[Splice]:
    """The exact splices if the note was only added to, at its end, since it was written; else none."""
    size = record["size"][1]
    if size >= len(data) or digest(data[:size]) != record["new"] or data[size - 1 : size + 1] == b"\r\n":
        return []
    splices = edits.reversed_exactly(spans)
    before = apply(data[:size], splices)
    whole = all(not text or text.endswith((b"\n", b"\r")) for text in (data[:size], before))
    return splices if whole else []  # else what was added would continue our line


def _refuse_twins(data: bytes, entry: JournalEntry, spans: Sequence[Span]) -> None:
    """Put no line back that somebody has written again since: whether he wants two of it, nobody knows."""
    for span, then, now in zip(spans, entry.record.get("twins", ()), edits.still_there(data, spans), strict=False):
        if now > then >= 0:
            line = next(text_of(line).strip() for line in edits.changed(span)[0] if line.strip())
            raise ConflictError(
                f"{line!r} was removed from {entry.file} by {entry.txn}, and was written again since",
                "if it is needed once, there is nothing to do; else put it back by hand",
            )


def _difference(path: str, spans: Sequence[Span]) -> str:
    """What undo would change, as a unified diff."""
    lines: list[str] = []
    for span in spans:
        after = [text_of(line).rstrip("\r\n") for line in edits.lines_of(span.after)]
        before = [text_of(line).rstrip("\r\n") for line in edits.lines_of(span.before)]
        lines += difflib.unified_diff(after, before, f"{path} (written)", f"{path} (before)", lineterm="", n=1)
    return "\n".join(lines)
