"""Undo: take a transaction's writes back, all of its files, by the same safe door that they were made through."""

from __future__ import annotations

import difflib
import errno
from typing import TYPE_CHECKING

from tars_memory.errors import ConflictError, TarsError, UnwritableError
from tars_memory.vault.folder import digest
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.spans import changed, lines_of, reversed_by_text, reversed_exactly, still_there
from tars_memory.vault.writing.history import find_transactions, transactions
from tars_memory.vault.writing.journal import base_of, text_of, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.markdown.spans import Span
    from tars_memory.vault.model import Splice
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.journal import Journal, Record
    from tars_memory.vault.writing.store import Plan, Store, Transaction, Written


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""What the system says of a whole disk, not of one note: it passes, and half a transaction must not stay."""


def undo(store: Store, txn: str | None, last: int) -> list[Written]:
    """See :meth:`tars_memory.vault.writing.store.Store.undo`."""
    with store.transaction("undo") as transaction:
        chosen = find_transactions(store.journal, txn, last)
        if sum(len(group) for _, group in chosen) > 1:
            transaction.stand_whole()
        for name, _ in chosen:
            store.journal.check_whole(name)
        for name, group in chosen:
            before = len(transaction.written)
            for entry in reversed(group):
                _take_back(transaction, entry)
            if len(transaction.written) == before:
                transaction.mark(name)
        return list(transaction.written)


def take_back(transaction: Transaction, journal: Journal, name: str) -> list[str]:
    """Take back a transaction that was to stand whole; doing it again after a kill changes nothing more.

    Args:
        transaction: in which to do it.
        journal: of the vault.
        name: of the transaction to take back; may be this one.

    Returns:
        a sentence for each note that has moved on too far, and so keeps what was written.

    Raises:
        UnwritableError: there is no room for it now; it is to be done again when there is. Or this very transaction is
            taken back, and a note of it can't be written now (somebody holds it): the next writer tries once more.
    """
    found, group = next(((txn, entries) for txn, entries in transactions(journal) if txn <= name), ("", []))
    kept: list[str] = []
    for entry in reversed([entry for entry in group if found == name and entry.undoes != name]):
        try:
            _take_back(transaction, entry, undoes=name)
        except (TarsError, OSError) as error:
            is_held = isinstance(error, UnwritableError) and name == transaction.id
            if is_held or getattr(error.__cause__, "errno", None) in NO_ROOM:
                raise
            kept.append(f"{entry.file} keeps what {name} wrote, which could not be taken back: {error}")
    return kept


def _take_back(transaction: Transaction, entry: JournalEntry, undoes: str | None = None) -> None:
    record, undoes = entry.record, undoes or entry.txn
    if entry.purged:
        raise ConflictError(f"the text of {entry.txn} was forgotten for good", "it can't be undone")
    if entry.op == "remove":
        base = base_of(record)
        dress = (int(record["dress"][0]), int(record["dress"][1])) if "dress" in record else None
        transaction.write(entry.file, _restore(entry, base), create=base, undoes=undoes, restore=True, dress=dress)
        return
    if entry.op == "create" and transaction.remove(entry.file, record["new"], undoes=undoes):
        return
    transaction.write(entry.file, _reverse(entry), undoes=undoes)


def _restore(entry: JournalEntry, base: bytes) -> Plan:
    def plan(data: bytes | None) -> Sequence[Splice]:
        if data is not None and data != base:
            raise ConflictError(
                f"{entry.file} was made anew since {entry.txn} removed it", "move it away, then undo again"
            )
        return ()

    return plan


def _reverse(entry: JournalEntry) -> Plan:
    record = entry.record
    spans = unpack(record)

    def plan(data: bytes | None) -> Sequence[Splice]:
        if data is None:
            if entry.op == "create":
                return ()
            raise ConflictError(
                f"{entry.file} is gone, so {entry.txn} can't be taken back\n{_difference(entry.file, spans)}",
                "bring the note back first",
            )
        found = digest(data)
        if found == record["new"]:
            return reversed_exactly(spans)
        if found == record["old"]:
            return ()
        _refuse_twins(data, entry, spans)
        try:
            return _in_front(data, record, spans) or reversed_by_text(data, spans)
        except ConflictError as error:
            raise ConflictError(
                f"{entry.file} has moved on since {entry.txn}: {error.message}\n{_difference(entry.file, spans)}",
                "make the change by hand; the difference shows it",
            ) from error

    return plan


def _in_front(data: bytes, record: Record, spans: Sequence[Span]) -> list[Splice]:
    """The exact splices if the note was only added to, at its end, since it was written; else none."""
    size = record["size"][1]
    if size >= len(data) or digest(data[:size]) != record["new"] or data[size - 1 : size + 1] == b"\r\n":
        return []
    splices = reversed_exactly(spans)
    before = apply(data[:size], splices)
    whole = all(not text or text.endswith((b"\n", b"\r")) for text in (data[:size], before))
    return splices if whole else []  # else what was added would continue our line


def _refuse_twins(data: bytes, entry: JournalEntry, spans: Sequence[Span]) -> None:
    """Put no line back that somebody has written again since: whether he wants two of it, nobody knows."""
    for span, then, now in zip(spans, entry.record.get("twins", ()), still_there(data, spans), strict=False):
        if now > then >= 0:
            line = next(text_of(line).strip() for line in changed(span)[0] if line.strip())
            raise ConflictError(
                f"{line!r} was removed from {entry.file} by {entry.txn}, and was written again since",
                "if it is needed once, there is nothing to do; else put it back by hand",
            )


def _difference(path: str, spans: Sequence[Span]) -> str:
    """What undo would change, as a unified diff."""
    lines: list[str] = []
    for span in spans:
        after = [text_of(line).rstrip("\r\n") for line in lines_of(span.after)]
        before = [text_of(line).rstrip("\r\n") for line in lines_of(span.before)]
        lines += difflib.unified_diff(after, before, f"{path} (written)", f"{path} (before)", lineterm="", n=1)
    return "\n".join(lines)
