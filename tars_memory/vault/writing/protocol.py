"""One write of one note: what the protocols (append, edit, create, remove) share.

Every protocol reads the note, makes its intent durable in the journal, does the work beside the note, and looks once
more before and after the one call that changes the vault. Where that look finds that somebody else was faster, what
he wrote is put back or left in place, and the caller plans again on the newer text.

A protocol answers True (done) or False (the note changed meanwhile, nothing of ours is in it). An ``OSError`` leaves
nothing of ours in the note, or an unfinished journal record that the next writer settles.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UnwritableError
from tars_memory.vault.folder import digest, same_file
from tars_memory.vault.markdown.spans import still_there
from tars_memory.vault.writing.journal import pack
from tars_memory.vault.writing.putting_back import ASIDE_SUFFIX, TEMP_SUFFIX, aside_of, put_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.folder import Folder
    from tars_memory.vault.markdown.spans import Span
    from tars_memory.vault.writing.exchange import Exchange
    from tars_memory.vault.writing.journal import Journal, Record

LIMBO = (".tars", "limbo")
"""Where files go that we can neither place nor destroy."""

NAME_BYTES = 200
"""A temporary name repeats at most so much of the note's name: file systems allow 255 bytes in all."""


class Job:
    """One write of one note, and how it is told to the journal.

    Args:
        root: the vault, open.
        folder: the note's folder, open.
        name: the note's name in it.
        exchange: what the system offers.
        journal: open for writing.
        record: the fields of the ``begin`` record that do not depend on the protocol.
        notices: takes what a person must be told.

    ``temp`` is the name of our file beside the note, once begun; ``made`` says that it exists.
    """

    __slots__ = ("exchange", "folder", "journal", "made", "name", "notices", "record", "root", "temp")

    def __init__(
        self,
        root: Folder,
        folder: Folder,
        name: str,
        exchange: Exchange,
        journal: Journal,
        record: Record,
        notices: list[str],
    ) -> None:
        self.root = root
        self.folder = folder
        self.name = name
        self.exchange = exchange
        self.journal = journal
        self.record = record
        self.notices = notices
        self.temp = ""
        self.made = False

    def begin(self, op: str, spans: Sequence[Span], old: bytes | None, new: bytes | None, **more: Any) -> None:
        """Make the intent durable, before anything in the vault is touched."""
        if op != "append":
            more["temp"] = self.temp = self._free_name()
        if op == "edit" and new is not None:
            more["twins"] = still_there(new, spans)
        record = self.record | {
            "t": "begin",
            "op": op,
            "spans": pack(spans),
            "old": None if old is None else digest(old),
            "new": None if new is None else digest(new),
            "size": [len(old or b""), len(new or b"")],
            **more,
        }
        self.journal.append([record], durable=True)
        self.journal.left = record

    def end(self, ok: bool, line: int = 1) -> bool:
        """Say how it ended, and answer just that; if it can't be said, the next writer finds out by itself."""
        with contextlib.suppress(OSError):
            self.journal.append([ending(self.record, ok, line)], durable=False)
            self.journal.left = None
        return ok

    def _free_name(self) -> str:
        """A name beside the note for our file. Another machine's left-over, synced here, may bear the same number."""
        txn = str(self.record["txn"])
        for number in range(1, 1000):
            name = temp_name(self.name, txn)
            if self.folder.look(name) is None and self.folder.look(aside_of(name)) is None:
                break
            txn = f"{self.record['txn']}-{number}"
        return name

    def discard(self, own: os.stat_result | None) -> bool:
        """Remove our file beside the note, if it is ours; the record ends only if that worked. Always False."""
        with contextlib.suppress(OSError):
            if self.made:
                found = self.folder.look(self.temp)
                if found is not None and own is not None and not same_file(found, own):
                    return False  # an exchange that failed, and yet was made: for recovery to settle
                if found is not None:
                    self.folder.remove(self.temp)
            self.end(False)
        return False

    def put_back(self, displaced: str, own: os.stat_result) -> None:
        """Undo an exchange: what was displaced stands under the note's name again, and ours goes."""
        ours = self.journal.left["new"] if self.journal.left else None
        kept = put_back(self.folder, self.name, displaced, self.temp, own, self.exchange, ours)
        if kept is not None:
            self.keep(kept)

    def keep(self, name: str) -> None:
        """Keep somebody's file that can't be placed, and say so."""
        where = keep_in_limbo(self.root, self.folder, name)
        self.notices.append(
            f"{self.record['file']}: a save of another program is kept as {where}: compare and remove it"
        )


def ending(record: Record, ok: bool, line: int = 1) -> Record:
    """The ``end`` record that belongs to a ``begin`` record."""
    whole = {"whole": record["whole"]} if "whole" in record else {}
    return {"t": "end", "txn": record["txn"], "n": record["n"], "ok": ok, "line": line, **whole}


def temp_name(name: str, txn: str) -> str:
    """The name of our file beside a note: hidden, and known to nobody else."""
    short = os.fsencode(name)[:NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.{txn}{TEMP_SUFFIX}"


def keep_in_limbo(root: Folder, folder: Folder, name: str) -> str:
    """Move a file that we must not destroy and can't place to ``.tars/limbo/``, where it is found and reported.

    Returns:
        its new path relative to the vault, or where it stays if it can't be moved.
    """
    new = name.lstrip(".").removesuffix(TEMP_SUFFIX).removesuffix(ASIDE_SUFFIX)
    target = root
    opened = []
    try:
        for step in LIMBO:
            target.make(step)
            target = target.child(step)
            opened.append(target)
        folder.move(name, target, new)
    except (OSError, UnwritableError):
        return folder.at(name)
    finally:
        for each in opened:
            each.close()
    return "/".join((*LIMBO, new))
