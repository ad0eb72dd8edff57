"""What the journal tells: entries newest first, which transactions are taken back, which lines are ours."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tars_memory.errors import NotFoundError, counted
from tars_memory.vault.inbox import DECIDED, OURS
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.spans import bare, changed
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.journal import base_of, parse, text_of, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.markdown.spans import Span
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.journal import Journal, Record

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
            self.after = text_of(_created(record))


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


def find_transactions(journal: Journal, txn: str | None, last: int) -> list[tuple[str, list[JournalEntry]]]:
    """What ``undo`` is to take back: the named transaction, or the last ones in force that are no undos themselves.

    Raises:
        NotFoundError: there is no such transaction, it is taken back already, or there are too few.
    """
    found: list[tuple[str, list[JournalEntry]]] = []
    for name, group in transactions(journal):
        if txn is not None:
            if name == txn:
                if group[0].undone:
                    raise NotFoundError(f"{txn} is undone already", "tars-memory history shows what stands")
                return [(name, group)]
            if name < txn:
                break
        elif not group[0].undone and group[0].undoes is None:
            found.append((name, group))
            if len(found) == last:
                return found
    if txn is not None:
        raise NotFoundError(f"no write is called {txn}", "tars-memory history lists them")
    if not found:
        raise NotFoundError("nothing to undo", "tars-memory history shows what was written")
    raise NotFoundError(f"only {counted(len(found), 'write')} can be undone", "tars-memory history lists them")


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
            removed, added, _, _ = changed(span)
            for line in map(bare, removed):
                if line in lines:
                    lines[line].pop(_of_place(lines[line], line, _place(line, removed, span), -1))
                    if not lines[line]:
                        del lines[line]
            for line in map(bare, added):
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
    plain = list(map(bare, lines))
    before = plain[: plain.index(line)]
    return next((each for each in reversed(before) if each.startswith(b"#")), span.previous and bare(span.previous))


def _of_place(records: Sequence[Record], line: bytes, place: bytes | None, otherwise: int) -> int:
    """Which of the records of a line wrote it at a place; several names may have the same words below them."""
    if len(records) == 1 or place is None:
        return otherwise
    for number, record in enumerate(records):
        for span in unpack(record):
            added = changed(span)[1]
            if line in map(bare, added) and _place(line, added, span) == place:
                return number
    return otherwise


def _created(record: Record) -> bytes:
    spans = unpack(record)
    return apply(base_of(record), [Splice(s.start, s.start + len(s.before), s.after) for s in spans])
