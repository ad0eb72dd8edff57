"""Questions that the journal answers: which writes there were, who typed a line, which lines are lost, how to undo."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk
from tars_memory.errors import ConflictError, NotFoundError, UnwritableError, counted
from tars_memory.vault import markdown, suspicion
from tars_memory.vault.folder import FOLDER_HANDLES, Folder, digest, read_note, steps
from tars_memory.vault.layout import DECIDED, MADE, OURS, Layout
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import BOM, Document, apply
from tars_memory.vault.writing.journal import OPPOSITE, Journal, Record, base_of, result_of, text_of, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.vault import Vault


_TARGET = re.compile(r'"target": "([^"\n]+)')
"""The target note in the file of a proposal."""
_PROJECT = re.compile(r'^\{[^\n]*"date": "[^"\n]*", "project": "([^"\n]+)"', re.MULTILINE)
"""The project in the line of a decision; a decision without one was made outside projects."""


class JournalEntry:
    """One write of one note, as history shows it.

    Attributes:
        txn: name of the transaction that the write belongs to.
        time: ISO 8601, by the clock at the write.
        command: the command that was called.
        actor: who wrote.
        file: path of the note relative to the vault.
        op: ``append``, ``edit``, ``create`` or ``remove``; or one of :data:`~.journal.OPPOSITE`, which changes no note.
        before: the changed lines before the write (``remove``: the whole note).
        after: the changed lines after it (``create``: the whole note).
        line: number of the first changed line, when it was written.
        undone: whether the write was undone and not redone since.
        undoes: name of the transaction that the write undid, or None.
        purged: whether its text was forgotten for good; such a write can't be undone.
        record: the ``begin`` record.
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

    def undo_splices(self, data: bytes | None) -> Sequence[Splice]:
        """Return the splices that undo the write in the note's present text; none if it is as it was before the write.

        Args:
            data: the note; None if it is gone.

        Raises:
            ConflictError: the note has changed too much since.
        """
        if self.op == "remove":
            if data is not None and data != base_of(self.record):
                raise ConflictError(
                    f"{self.file} was created again after {self.txn} removed it", "move it away, then undo again"
                )
            return ()
        spans = unpack(self.record)
        if data is None:
            if self.op == "create":
                return ()
            raise ConflictError(
                f"{self.file} is gone, so {self.txn} can't be undone\n{_undo_diff(self.file, spans)}",
                "bring the note back first",
            )
        current = digest(data)
        if current == self.record["new"]:
            return edits.reversed_exactly(spans)
        if current == self.record["old"]:
            return ()
        _refuse_rewritten(data, self, spans)
        if self.op == "create" and not spans:
            raise self._refusal(data, spans, "it was changed")
        try:
            return _splices_before_additions(data, self.record, spans) or edits.reversed_by_text(data, spans)
        except ConflictError as error:
            raise self._refusal(data, spans, error.message) from error

    def _refusal(self, data: bytes, spans: Sequence[edits.Span], why: str) -> ConflictError:
        """Return the error for a note that has changed too much, with the lines in question and what to do."""
        time = self.time[:16].replace("T", " ")
        said = f"{self.file} has changed since {self.txn} ({self.command} by {self.actor}, {time})"
        others = "tars-memory history lists other writes, and tars-memory undo TXN undoes one"
        if self.op != "create":
            hint = f"make the change by hand; the difference shows it; {others}"
            return ConflictError(f"{said}: {why}\n{_undo_diff(self.file, spans)}", hint)
        then, now = result_of(self.record), data
        return ConflictError(
            f"{said} created it; undo would remove later changes:\n{_diff(self.file, ('made', then), ('now', now), 0)}",
            f"if you don't need the note, remove it by hand; {others}",
        )


def entries(journal: Journal, limit: int | None = None, path: str | None = None) -> Iterator[JournalEntry]:
    """Yield the writes that succeeded, newest first, read lazily from the journal's end.

    Args:
        journal: of the vault.
        limit: maximum number of writes; None for all.
        path: only writes of this note; None for all notes.
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
        if "op" in record and path in (None, record["file"]):
            yield JournalEntry(record, (end or record)["line"], txn in undone)
            count += 1
            if limit is not None and count >= limit:
                return


def of_scope(found: Iterator[JournalEntry], layout: Layout) -> Iterator[JournalEntry]:
    """Yield the writes that are about notes of the layout's scope; a write in our own folder counts for its targets."""
    for entry in found:
        if entry.op in OPPOSITE:
            if entry.record.get("project", "") == layout.scope:
                yield entry
        elif not entry.file.startswith(OURS):
            if layout.is_ours(entry.file):
                yield entry
        elif entry.file == DECIDED:
            if set(_PROJECT.findall(f"{entry.before}\n{entry.after}")) == ({layout.scope} if layout.scope else set()):
                yield entry
        elif all(layout.is_ours(name) for name in _TARGET.findall(f"{entry.before}\n{entry.after}")):
            yield entry


def hide_former(found: Sequence[JournalEntry], vault: Vault) -> None:
    """Mask in writes, newest first, what was a credential among the lines of a note before or after one of them.

    The notes as they were are made of what they are now, by taking back one write after the other. Proposals and
    decisions are masked as lines of the notes that they are for.
    """
    texts: dict[str, bytes] = {}
    now: dict[str, bytes] = {}
    targets: dict[str, set[str]] = {}
    for entry in found:
        if entry.file.startswith(OURS):
            targets.setdefault(entry.txn, set()).update(_TARGET.findall(f"{entry.before}\n{entry.after}"))
            continue
        if entry.purged or entry.op in OPPOSITE:
            continue
        if entry.file not in texts:
            texts[entry.file] = next((data for _, data in vault.readable([entry.file])), b"")
            now[entry.file] = texts[entry.file]
        sides, texts[entry.file] = _sides(entry, texts[entry.file])
        for side in sides:
            if side not in now[entry.file]:  # lines that still stand so are masked with the rest of the note
                vault.hide_former(entry.file, text_of(side))
    for entry in found:
        for note in sorted(targets[entry.txn]) if entry.file.startswith(OURS) else (entry.file,):
            entry.before, entry.after = vault.hide(note, entry.before), vault.hide(note, entry.after)


def _sides(entry: JournalEntry, data: bytes) -> tuple[list[bytes], bytes]:
    """Return the parts of the note around the lines of a write, after it and before, and all of the note before it.

    If the note has changed too much since, the lines of the write are taken as if they were where they were then.

    Args:
        entry: the write.
        data: the note after it, as far as that is known.
    """
    if entry.op in ("create", "remove"):
        whole = result_of(entry.record) if entry.op == "create" else base_of(entry.record)
        return [whole], b"" if entry.op == "create" else whole
    try:
        splices = sorted(entry.undo_splices(data))
    except ConflictError:
        parts = [(span.start, lines) for span in unpack(entry.record) for lines in span[1:3]]
        starts = [data.rfind(b"\n", 0, start) + 1 for start, _ in parts]
        return [
            _around(data[:start] + lines + data[start:], start, start + len(lines))
            for start, (_, lines) in zip(starts, parts, strict=True)
        ], data
    if not splices:
        return [], data
    before = apply(data, splices)
    first, last = splices[0].start, splices[-1].end
    sides = []
    if any(splice.start < splice.end for splice in splices):
        sides.append(_around(data, first, last))
    if any(splice.data for splice in splices):
        sides.append(_around(before, first, last + len(before) - len(data)))
    return sides, before


_NEAR = 4_000
"""Number of bytes before and after a write that are searched for what makes its lines a credential."""


def _around(data: bytes, first: int, last: int) -> bytes:
    """Return the lines of a note between two offsets, and those near them."""
    end = data.find(b"\n", last + _NEAR)
    return data[data.rfind(b"\n", 0, max(0, first - _NEAR)) + 1 : end if end >= 0 else None]


def transactions(journal: Journal) -> Iterator[tuple[str, list[JournalEntry]]]:
    """Yield each transaction with its entries: newest transaction first, its entries in the order of writing."""
    group: list[JournalEntry] = []
    for entry in entries(journal):
        if group and group[0].txn != entry.txn:
            yield group[0].txn, group[::-1]
            group = []
        group.append(entry)
    if group:
        yield group[0].txn, group[::-1]


def find_transactions(
    journal: Journal, named: str | Sequence[str] | None, last: int, layout: Layout | None = None
) -> list[tuple[str, list[JournalEntry]]]:
    """Return the transactions that ``undo`` is to take back, newest first, each with its entries.

    Args:
        journal: of the vault.
        named: their names; empty or None for the last ones in force that are not undos themselves.
        last: number of transactions, if none is named.
        layout: if none is named, those that wrote nothing in its scope don't count.

    Raises:
        NotFoundError: there is no such transaction, it is undone already, or there are too few.
    """
    wanted = [named] if isinstance(named, str) else list(named or ())
    found: list[tuple[str, list[JournalEntry]]] = []
    for name, group in transactions(journal):
        if wanted and name < min(wanted):
            break
        if wanted and name in wanted and group[0].undone:
            raise NotFoundError(f"{name} is already undone", "tars-memory history lists all writes")
        ours = layout is None or bool([*of_scope(iter(group), layout)])
        if name in wanted if wanted else ours and not group[0].undone and group[0].undoes is None:
            found.append((name, group))
            if len(found) == (len(wanted) or last):
                return found
    if wanted:
        missing = next(name for name in wanted if name not in dict(found))
        raise NotFoundError(f"there is no write {missing}", "tars-memory history lists them")
    gaps = "; ".join(journal.gaps())
    if not found:
        raise NotFoundError("nothing to undo", gaps or "tars-memory history shows what was written")
    raise NotFoundError(f"only {counted(len(found), 'write')} can be undone", gaps or "tars-memory history lists them")


MOST_NAMED = 5
"""Maximum number of other writes that a refused undo names."""


def none_undone(error: ConflictError, name: str, others: Sequence[str]) -> ConflictError:
    """Return the error of an undo that takes nothing back because of one write, with how to take back the others."""
    if not others:
        return error
    calls = [f"tars-memory undo {other}" for other in others[:MOST_NAMED]] + ["…"] * (len(others) > MOST_NAMED)
    count = counted(len(others) + 1, "write")
    message = f"none of {count} was undone: {name} prevents it\n{error.message}"
    return ConflictError(message, f"undo the others one by one: {'; '.join(calls)}")


def placed_items(journal: Journal, wanted: Collection[str]) -> set[str]:
    """Return those of the spool items that the journal says were written.

    If such an item is still in the spool, a killed process wrote it and could not remove it any more.
    """
    items: set[str] = set()
    succeeded: dict[tuple[str, int], bool] = {}
    for record in journal.records(lambda line: line.startswith(b'{"t":"end"') or b'"settles":"' in line):
        name = record["txn"], record.get("n", -1)
        if record["t"] == "end":
            succeeded[name] = record["ok"]
        elif record.get("settles") in wanted and succeeded.get(name):
            items.add(record["settles"])
    return items


def removed_notes(journal: Journal, paths: Collection[str]) -> dict[str, int]:
    """Return those of the paths whose note was removed by the last of our writes of it, by ``undo`` for example, each
    with the number of bytes that it had: another program may have made it again since.
    """
    last: dict[str, JournalEntry] = {}
    for entry in entries(journal):
        if entry.file in paths:
            last.setdefault(entry.file, entry)
            if len(last) == len(paths):
                break
    return {path: entry.record["size"][0] for path, entry in last.items() if entry.op == "remove" and not entry.purged}


RESTORE = "restore"
"""Name of the command that writes lost lines again."""


def written_lines(journal: Journal) -> dict[str, dict[bytes, list[Record]]]:
    """Return, by note, the lines that we wrote and did not remove since, with the records that wrote them, newest last.

    Records that outlast their month (``kept``) are left out: a line of that time may have been changed since.
    """
    found = (entry for entry in entries(journal) if "kept" not in entry.record and entry.op not in OPPOSITE)
    records = [(entry.record, entry.op) for entry in found]
    notes: dict[str, dict[bytes, list[Record]]] = {}
    for record, op in reversed(records):
        lines = notes.setdefault(record["file"], {})
        if op == "remove":
            lines.clear()
            continue
        for span in unpack(record):
            removed, added = edits.changed_texts(span)
            for line in filter(lines.__contains__, removed):
                above = _heading_or_line_above(line, removed, span)
                lines[line].pop(_index_of_writer(lines[line], line, above, -1))
                if not lines[line]:
                    del lines[line]
            for line in added:
                if line.strip():
                    writers = lines.setdefault(line, [])
                    if writers and record["command"] == RESTORE:  # it takes the place of the lost one
                        writers.pop(_index_of_writer(writers, line, _heading_or_line_above(line, added, span), 0))
                    writers.append(record)
    return notes


def written_days(journal: Journal) -> Callable[[Entry], str]:
    """Return a function from an entry to the day (``YYYY-MM-DD``) on which we wrote its line; '' if that isn't known.

    It reads the journal when it is first called.
    """
    lines_by_note = cache(lambda: written_lines(journal))

    def day(entry: Entry) -> str:
        records = lines_by_note().get(entry.path, {}).get(entry.raw.split("\n")[0].encode("utf-8", "surrogateescape"))
        return str(records[-1]["time"])[:10] if records else ""

    return day


def _heading_or_line_above(line: bytes, lines: Sequence[bytes], span: edits.Span) -> bytes | None:
    """Return the nearest heading above a line within a span, or the line before the span if there is none.

    Args:
        line: without its ending.
        lines: the removed or the added lines of the span, without their endings; ``line`` is one of them.
        span: the span.
    """
    before = lines[: lines.index(line)]
    previous = span.previous and edits.without_ending(span.previous)
    return next((above for above in reversed(before) if above.startswith(b"#")), previous)


def _index_of_writer(records: Sequence[Record], line: bytes, above: bytes | None, otherwise: int) -> int:
    """Return the index of the record that wrote a line below ``above``: several headings may have the same line.

    Args:
        records: those that wrote the line.
        line: without its ending.
        above: the heading or line above it, as :func:`_heading_or_line_above` returns it.
        otherwise: the result if no record, or only one, comes into question.
    """
    if len(records) == 1 or above is None:
        return otherwise
    for number, record in enumerate(records):
        for span in unpack(record):
            _, added = edits.changed_texts(span)
            if line in added and _heading_or_line_above(line, added, span) == above:
                return number
    return otherwise


# -- which lines of a note a person wrote or approved: only these rules are trusted


def typed_lines(journal: Journal, path: str) -> frozenset[bytes]:
    """Return the lines of a note, without their endings, that a person typed or approved and that are still in force.

    A line that someone else wrote, through this program or past it, does not count, whatever it says; nor does a line
    that a person once typed, if it was removed through this program and put back by somebody else.

    Args:
        journal: of the vault.
        path: the note, relative to the vault.

    Raises:
        UnwritableError: the journal can't be read.
    """
    by_person: dict[bytes, list[bool]] = {}  # for each copy of a line, whether a person wrote or approved it
    for entry in reversed(list(entries(journal, path=path))):
        if entry.op == "remove":
            by_person.clear()
            continue
        for span in unpack(entry.record):
            if span.before == span.after and entry.actor == "person" and not entry.undone:
                for line in edits.texts_of(span.after):
                    by_person.setdefault(line, []).append(True)
                continue
            removed, added = edits.changed_texts(span)
            for line in removed:
                if by_person.get(line):
                    by_person[line].pop()
            for line in added:
                by_person.setdefault(line, []).append(entry.actor == "person")
    return frozenset(line for line, copies in by_person.items() if any(copies) and line.strip())


def stands_approved(journal: Journal, path: str, data: bytes) -> bool:
    """Whether a person typed or approved all of a note but its properties: exactly these lines in this order.

    The changes that persons made since the note was created or approved are reversed in memory; the result must equal
    the text of that time. So a step that another program removed or moved is noticed as well as one that it added.

    Args:
        journal: of the vault.
        path: the note, relative to the vault.
        data: its present bytes.

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
            return _body_lines(result_of(entry.record)) == _body_lines(data)
        if all(span.before == span.after for span in spans):
            return _nonblank_lines(b"".join(span.after for span in spans)) == _body_lines(data)
        try:
            data = apply(data, edits.reversed_by_text(data, spans))
        except ConflictError:
            if entry.command != PROPERTIES_COMMAND:
                return False
    return False


PROPERTIES_COMMAND = "playbooks"
"""Name of the command that changes nothing but properties of a note."""


def _nonblank_lines(data: bytes) -> list[bytes]:
    """Return the lines that are not blank, without their endings."""
    return [*filter(bytes.strip, edits.texts_of(data.removeprefix(BOM)))]


def _body_lines(data: bytes) -> list[bytes]:
    """Return the nonblank lines of a note below its properties."""
    document = Document(data)
    return _nonblank_lines(b"".join(data[line.start : line.next] for line in document.lines[document.body_line - 1 :]))


# -- the loss check: lines that we wrote, did not remove, and that something else overwrote or removed


_BULLET = re.compile(rb"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(rb"#{1,6}[ \t]")
_BLOCK_ID = re.compile(rb"[ \t]\^([A-Za-z0-9-]+)[ \t]*\Z")

LANDMARKS = 40
"""Maximum number of lines above a lost line that are returned, to find the heading that it was under."""


class LostLine(NamedTuple):
    """A line that we wrote, did not remove, and that is no longer in its note.

    A line deleted or reworded by hand looks the same as one overwritten by a program that saved an older text.

    Attributes:
        txn: transaction of the write.
        time: time of the write, ISO 8601.
        file: path of the note relative to the vault.
        text: the line, without its ending.
        wanted: number of copies of the line in the note if nothing of ours is lost.
        above: the lines above it when it was written, nearest first.
        created: the text of a note that is gone, if that write created it; else None.
    """

    txn: str
    time: str
    file: str
    text: str
    wanted: int
    above: tuple[bytes, ...]
    created: str | None


def lost_lines(journal: Journal, root: Path) -> list[LostLine]:
    """Return the lines that we wrote, did not remove, and that something else overwrote; in the order of writing.

    A line whose block id is still in its note was reworded, on another device for instance. A note that is gone may
    have been moved: the lines of any note with the same file name count as present. In a note that still exists only
    bullets count as lost, not headings and front matter.
    """
    lost: list[LostLine] = []
    moved: dict[str, list[str]] | None = None
    vault = Folder.open(root, handles=FOLDER_HANDLES)
    try:
        for path, lines in written_lines(journal).items():
            if path.startswith(OURS) or all(line.encode("ascii") in lines for line in MADE):
                continue  # proposals and decisions: dealing with them removes them
            try:
                data = _read_in_vault(vault, path)
            except OSError:
                continue  # nobody knows whether a note that can't be read has lost lines
            if suspicion.wide_encoding(data or b""):
                continue  # perhaps it holds the same lines in another encoding
            if data is None and lines:
                moved = _paths_by_name(root) if moved is None else moved
                copies = []
                for other in moved.get(path.rpartition("/")[2], []):
                    with contextlib.suppress(OSError):
                        copies.append(_read_in_vault(vault, other) or b"")
                present = b"\n".join(copies)
            else:
                present = data or b""
            lost += _missing_lines(lines, present, gone=data is None)
    finally:
        vault.close()
    return sorted(lost, key=lambda line: line.txn)


def _missing_lines(lines: Mapping[bytes, list[Record]], present: bytes, *, gone: bool) -> Iterator[LostLine]:
    """Yield the lines of one note that are not where they should be.

    Args:
        lines: what we wrote into it, as :func:`written_lines` returns it.
        present: the note's bytes; for a note that is gone, those of the notes of the same name.
        gone: whether the note is gone.
    """
    headings = _headings_of_lines(present)
    ids = {found[1] for found in map(_BLOCK_ID.search, headings) if found}
    for line, records in lines.items():
        missing = _missing_records(records, headings.get(line, []), line, lines)
        block_id = _BLOCK_ID.search(line)
        if not missing or (block_id and block_id[1] in ids) or not (gone or _BULLET.match(line)):
            continue
        for record in missing:
            created = JournalEntry(record, 0, undone=False).after if gone and record["op"] == "create" else None
            above = _lines_above(record, line, lines)
            yield LostLine(record["txn"], record["time"], record["file"], text_of(line), len(records), above, created)


def _headings_of_lines(text: bytes) -> dict[bytes, list[bytes]]:
    """Return the lines of a text, each with the headings that its copies are under, in order."""
    headings: dict[bytes, list[bytes]] = {}
    heading = b""
    for line in edits.texts_of(text):
        headings.setdefault(line, []).append(heading)
        heading = line if _HEADING.match(line) else heading
    return headings


def _missing_records(
    records: Sequence[Record], headings: Sequence[bytes], line: bytes, lines: Mapping[bytes, list[Record]]
) -> list[Record]:
    """Return the records of a line whose copy is missing: the same line may be under several headings.

    Args:
        records: those that wrote the line.
        headings: the headings that the present copies of the line are under.
        line: without its ending.
        lines: all that we wrote into the note, as :func:`written_lines` returns it.
    """
    missing = list(records)
    if not headings or len(headings) >= len(records):
        return missing[len(headings) :]
    elsewhere = 0
    for heading in headings:
        for record in missing:
            if heading == next(filter(_HEADING.match, _lines_above(record, line, lines)), b""):
                missing.remove(record)
                break
        else:
            elsewhere += 1
    return missing[elsewhere:]


def _lines_above(record: Record, line: bytes, lines: Mapping[bytes, list[Record]]) -> tuple[bytes, ...]:
    """Return the lines above a line when it was written, nearest first, as far as the journal knows them."""
    above: list[bytes] = []
    while len(above) < LANDMARKS:
        for span in unpack(record):
            written = edits.texts_of(span.after)
            if line in written:
                above += reversed(written[: written.index(line)])
                if span.previous is None:
                    return tuple(above)
                line = span.previous
                break
        else:
            return tuple(above)
        if line in above:
            return tuple(above)
        above.append(line)
        earlier = [older for older in lines.get(line, ()) if older["txn"] < record["txn"]]
        if not earlier:
            return tuple(above)
        record = earlier[-1]
    return tuple(above)


def _paths_by_name(root: Path) -> dict[str, list[str]]:
    """Return the paths of the vault's notes by file name."""
    paths: dict[str, list[str]] = {}
    for path in disk.files_below(root):
        if path.endswith(".md"):
            inside = os.path.relpath(path, root).replace(os.sep, "/")
            paths.setdefault(os.path.basename(path), []).append(inside)
    return paths


def _read_in_vault(vault: Folder, path: str) -> bytes | None:
    """Return a note's bytes; None if it is gone.

    Raises:
        OSError: it can't be read.
    """
    *parents, name = steps(path)
    try:
        with vault.below(parents) as folder:
            note = read_note(folder, name, keep=False)
    except (FileNotFoundError, NotADirectoryError, UnwritableError):
        return None
    return None if note is None else note.data


# -- undoing a write


def _splices_before_additions(data: bytes, record: Record, spans: Sequence[edits.Span]) -> list[Splice]:
    """Return the exact splices that undo a write if the note only grew at its end since; else an empty list."""
    size = record["size"][1]
    if size >= len(data) or digest(data[:size]) != record["new"] or data[size - 1 : size + 1] == b"\r\n":
        return []
    splices = edits.reversed_exactly(spans)
    before = apply(data[:size], splices)
    whole_lines = all(not text or text.endswith((b"\n", b"\r")) for text in (data[:size], before))
    return splices if whole_lines else []  # otherwise the addition would continue our line


def _refuse_rewritten(data: bytes, entry: JournalEntry, spans: Sequence[edits.Span]) -> None:
    """Refuse to restore a line that somebody has written again since: nobody knows whether they want it twice.

    Raises:
        ConflictError: there is such a line.
    """
    for span, then, now in zip(spans, entry.record.get("twins", ()), edits.count_removed(data, spans), strict=False):
        if now > then >= 0:
            line = next(text_of(line).strip() for line in edits.changed_lines(span)[0] if line.strip())
            raise ConflictError(
                f"{line!r} was removed from {entry.file} by {entry.txn}, and has been written again since",
                "if one copy is enough, there is nothing to do; if not, put it back by hand",
            )


def refuse_ambiguous(journal: Journal, entry: JournalEntry, data: bytes | None, undone: Collection[str]) -> None:
    """Refuse to take out a line of which a later write took out another copy: the one left may be the person's own.

    A new note that a later write took away is refused likewise: it may be in the archive.

    Args:
        journal: of the vault.
        entry: the write to undo.
        data: the note; None if it is gone.
        undone: transactions that are undone together with it.

    Raises:
        ConflictError: there is such a later write in force.
    """
    added = {line for span in unpack(entry.record) for line in edits.changed_texts(span)[1] if line.strip()}
    present = added.intersection(edits.texts_of(data or b""))
    missing: Counter[tuple[str | None, str | None, str]] = Counter()  # taken out since and not written again
    for later in entries(journal, path=entry.file) if present or (data is None and entry.op == "create") else ():
        if later.txn <= entry.txn:
            return
        if later.undone or (later.undoes and not entry.undoes) or later.txn in undone:
            continue
        hint = f"tars-memory undo {later.txn} puts it back, and then {entry.txn} can be undone"
        if data is None and later.op == "remove":
            raise ConflictError(f"{entry.file} was removed by {later.txn} ({later.command})", hint)
        for removed, written in map(edits.changed_texts, unpack(later.record)):
            missing.update(map(_said, removed))
            missing.subtract(map(_said, written))
        if line := next((line for line in present if missing[_said(line)] > 0), b""):
            raise ConflictError(
                f"{text_of(line).strip()!r} is in {entry.file}, but {later.txn} ({later.command}) removed such a line",
                hint,
            )


def _said(line: bytes) -> tuple[str | None, str | None, str]:
    """Return what tells a bullet from its repeats: time, state and words, whatever its mark, block id and source."""
    parts = markdown.entries.parse(markdown.lines.unmarked(text_of(line)), timed=True)
    return parts.time, parts.state, parts.text


SHOWN_LINES = 20
"""Maximum number of lines of a difference in a message."""


def _undo_diff(path: str, spans: Sequence[edits.Span]) -> str:
    """Return a short unified diff of what an undo would change."""
    after, before = b"".join(span.after for span in spans), b"".join(span.before for span in spans)
    return _diff(path, ("written", after), ("before", before), 1)


def _diff(path: str, old: tuple[str, bytes], new: tuple[str, bytes], around: int) -> str:
    """Return a unified diff of two texts, cut to a readable length.

    Args:
        path: of the note.
        old: what the first text is, and the text.
        new: what the second text is, and the text.
        around: number of unchanged lines to show beside a change.
    """
    then, now = ([text_of(line).rstrip("\r\n") for line in edits.lines_of(text)] for _, text in (old, new))
    lines = [*difflib.unified_diff(then, now, f"{path} ({old[0]})", f"{path} ({new[0]})", lineterm="", n=around)]
    more = [f"and {counted(len(lines) - SHOWN_LINES, 'more line')}"] if len(lines) > SHOWN_LINES else []
    return "\n".join([*lines[:SHOWN_LINES], *more])
