"""One refresh of the index: what it may cost, what has changed since the last sweep, and its taking in.

The comparison of two looks is pure, as is the brake. Notes are read and cut outside a transaction, and written in one
short transaction a batch.
"""

from __future__ import annotations

import json
import os
import sys
from struct import error, pack
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.disk import blake2b
from tars_memory.errors import counted
from tars_memory.index import database
from tars_memory.index.database import ALWAYS_LOADED, STAMP, Progress, meta
from tars_memory.language.words import WORD, fold

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tars_memory.settings import Cut, LimitsOptions
    from tars_memory.vault.vault import Vault


READER_NOTES = 200
"""Changed notes that a reader takes in by itself; more are left to ``reindex`` or the watcher."""
READER_WAIT = 0.1
"""Seconds a reader waits for another process to finish with the index."""
FIRST_WAIT = 1.5
"""The same while the index is made for the first time: some batches of notes."""
SEARCH_EMBEDS = 6
"""Changed chunks that a search gives vectors to, where its query opens the model anyway: 0.15 s of the embedded one (40
in a second, measured). More are left to the process in the background, the watcher or ``reindex``."""


class RefreshBudget(NamedTuple):
    """What a refresh may cost.

    Attributes:
        notes: changed notes at most, else nothing is written; None for any number.
        wait: seconds to wait for the lock.
        strict: a brake, a busy lock or a full disk is raised instead of reported.
        override: believe the sweep even where the brake would trip.
        patience: seconds after which an index that is made for the first time answers with what is read so far; None
            for when all of it is.
        wanted: the order in which an index is made for the first time: the notes that this query may name first, then
            those of every prompt, then the newest; None for the order of their paths.
    """

    notes: int | None = READER_NOTES
    wait: float = READER_WAIT
    strict: bool = False
    override: bool = False
    patience: float | None = None
    wanted: str | None = None


class RefreshReport:
    """What a refresh did.

    Attributes:
        changed: notes that were written.
        removed: notes that were dropped.
        stale: notes that the index is behind the vault; 0 if it matches.
        reading: notes that are there, while the index is made for the first time and not all of them are read; else 0.
        unmounted: the vault looks unmounted or emptied, and the rows are as they were.
        pending_vectors: chunks that have no vector yet, counted when asked for.
        skipped: reason → files that are not indexed.
        notices: sentences for the person.
        published: a sentence on what a team's index was given; empty if there is none.
        took: seconds.
    """

    def __init__(self, pending: Callable[[], int] | None = None) -> None:
        self._pending = pending
        self.changed = 0
        self.removed = 0
        self.stale = 0
        self.reading = 0
        self.unmounted = False
        self.skipped: dict[str, int] = {}
        self.notices: list[str] = []
        self.published = ""
        self.took = 0.0

    @property
    def pending_vectors(self) -> int:
        """Chunks that have no vector yet."""
        return self._pending() if self._pending is not None else 0

    @pending_vectors.setter
    def pending_vectors(self, count: int) -> None:
        self._pending = lambda: count


LOOK_AGAIN = b""
"""The stamp of a note that must be read again whatever its stat says."""
UNSURE = b"?"
"""Stands behind a stamp too young to be believed."""

RACY_NS = 50_000_000
"""A change this young may share its time stamp with the next one: file systems keep time in steps of up to 10 ms."""
COARSE_RACY_NS = 2_100_000_000
"""The same where times come in whole seconds or, on FAT, in steps of two."""

BRAKE_SHARE = 0.30
BRAKE_COUNT = 20
"""More than both vanished and nothing new: rather a share that isn't mounted than a person tidying up (design 4)."""


class Diff:
    """The difference between two looks.

    Attributes:
        added: paths that were not there before.
        changed: paths whose stamp differs; whether the bytes differ only reading tells.
        missing: paths that were there before.
        unsure: paths whose stamp is the same but was too young to be believed when it was taken.
    """

    def __init__(self, added: list[str], changed: list[str], missing: list[str], unsure: list[str]) -> None:
        self.added = added
        self.changed = changed
        self.missing = missing
        self.unsure = unsure

    def __len__(self) -> int:
        """How many notes differ for certain."""
        return len(self.added) + len(self.changed) + len(self.missing)


class Sweep:
    """What one walk saw.

    Args:
        folders: (prefix, names, four numbers for each name) of every folder, as :meth:`Vault.sweep` gives them.

    Attributes:
        digest: of all paths and stamps in the order of the walk: equal for two sweeps that saw the same in the same
            order, which file systems keep as long as a folder does not change.
    """

    def __init__(self, folders: Iterable[tuple[str, list[str], list[int]]]) -> None:
        digest = blake2b(digest_size=20)
        self._packed: list[tuple[str, list[str], bytes]] = []
        for prefix, names, numbers in folders:
            packed = _packed(numbers)
            digest.update("\0".join((prefix, *names, "")).encode())
            digest.update(packed)
            self._packed.append((prefix, names, packed))
        self.digest = digest.digest()

    def stamps(self) -> dict[str, bytes]:
        """Path → stamp."""
        size = STAMP.size
        return {
            prefix + name: packed[at * size : (at + 1) * size]
            for prefix, names, packed in self._packed
            for at, name in enumerate(names)
        }


def _packed(numbers: list[int]) -> bytes:
    """The stamps of a folder, one after the other; an inode of more than 63 bits is cut."""
    try:
        return pack(f"<{len(numbers)}q", *numbers)  # 2.5 times as fast as an array
    except error:
        return pack(f"<{len(numbers)}q", *(number & 0x7FFF_FFFF_FFFF_FFFF for number in numbers))


def is_racy(stamp: bytes, now_ns: int) -> bool:
    """Git's racy rule: whether the file changed so shortly before we looked that a later change could look the same.

    The time compared is that of the last change of any kind (ctime), which no program can set; where that is the time
    of creation (Windows), the one of the last write.
    """
    _, mtime, ctime, _ = STAMP.unpack(stamp)
    changed = mtime if sys.platform == "win32" else ctime
    window = RACY_NS if changed % 1_000_000_000 else COARSE_RACY_NS
    return bool(changed + window >= now_ns)


def diff(stored: Mapping[str, bytes], found: Mapping[str, bytes]) -> Diff:
    """Compare the stamps of the last sweep with those of this one; each list sorted by path."""
    if stored == found:
        return Diff([], [], [], [])
    added = sorted(found.keys() - stored.keys())
    missing = sorted(stored.keys() - found.keys())
    changed: list[str] = []
    unsure: list[str] = []
    for path, now in found.items():
        was = stored.get(path, now)
        if was != now:
            (unsure if was == now + UNSURE else changed).append(path)
    return Diff(added, sorted(changed), missing, sorted(unsure))


def brake(stored: int, found: int, difference: Diff, *, other_device: bool = False) -> str | None:
    """Why this sweep should not be believed, or None.

    Args:
        stored: notes known before.
        found: notes seen now.
        difference: between the two looks.
        other_device: the root lies on another device than at the last sweep.

    Returns:
        A sentence's end, "the vault …".
    """
    missing = len(difference.missing)
    if not stored or not missing:
        return None
    if not found:
        return f"looks empty: all of it is gone ({counted(stored, 'note')})"
    share = missing / stored
    if other_device and share > BRAKE_SHARE:
        return f"is on another device than before and {missing} of {counted(stored, 'note')} gone"
    if share > BRAKE_SHARE and missing > BRAKE_COUNT and not difference.added:
        return f"looks unmounted or emptied: {missing} of {counted(stored, 'note')} gone, and none is new"
    return None


BATCH = 200
"""Notes of one transaction: about a quarter of a second of reading, some ten milliseconds of writing."""
BATCH_BYTES = 2_000_000
"""Bytes of one transaction's notes, if they are more than one: about a second of reading."""
FIRST_BATCH = 50
"""The same while somebody may wait for an answer from an index that is made for the first time."""


READING = "reading notes"
"""What is under way, as progress is told."""


class Look:
    """One look at the vault: the sweep, when it began (ns), the recipe by which rows are to be made, and the cut."""

    def __init__(self, sweep: Sweep, started: int, recipe: str, cut: Cut) -> None:
        self.cut = cut
        self.sweep = sweep
        self.started = started
        self.recipe = recipe
        self._found: dict[str, bytes] | None = None

    @property
    def found(self) -> dict[str, bytes]:
        """Path → stamp."""
        if self._found is None:
            self._found = self.sweep.stamps()
        return self._found

    def again(self, sweep: Sweep) -> None:
        """A second look: what either one saw is there, as the second one saw it."""
        first = self.found
        self.sweep, self._found = sweep, None
        self._found = {**first, **self.found}


class Batches:
    """The difference between a look and what is stored, to be written batch by batch.

    Between two batches another process may write; what it took in meanwhile is not read again.

    Args:
        connection: of the index; the caller holds the lock.
        vault: the notes.
        limits: what is too big to read.
        look: what is there.
        wanted: a query: while an index is made for the first time, the notes that it may name are read first, then
            those that every prompt begins with, then the newest.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        vault: Vault,
        limits: LimitsOptions,
        look: Look,
        wanted: str | None = None,
    ) -> None:
        rows = connection.execute("SELECT path, stamp FROM files").fetchall()
        if not rows:  # so that a first build that is cut off goes on where it was
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('recipe', ?)", (look.recipe,))
        self._same = meta(connection).get("recipe") == look.recipe
        known = {path: (stamp if self._same else LOOK_AGAIN) for path, stamp in rows}
        difference = diff(known, look.found)
        self._vault, self._look, self._limits = vault, look, limits
        self._paths = sorted((*difference.added, *difference.changed))
        self._gone = difference.missing
        self._sure = len(self._paths)
        self.batch = BATCH if wanted is None else FIRST_BATCH
        if wanted is not None:
            self._paths.sort(key=self._urgency(wanted))
        self._paths += difference.unsure
        self._begun = False
        self.done, self.total = 0, len(self._paths)

    def _urgency(self, wanted: str) -> Callable[[str], tuple[float | bool, ...]]:
        """Which note to read before which: what the query names, what every prompt begins with, the newest."""
        asked = fold(wanted).strip()
        words = set(WORD.findall(asked))

        def key(path: str) -> tuple[float | bool, ...]:
            name = fold(path.rpartition("/")[2].removesuffix(".md"))
            named = asked and (name in asked or asked in name)  # at any place: not every script has blanks
            whole = min(len(name), len(asked)) / max(len(name), len(asked)) if named else 0.0
            own = WORD.findall(name)
            part = sum(word in words for word in own) / len(own) if own else 0.0
            modified = STAMP.unpack(self._look.found[path])[1]
            return (
                -whole,
                self._bytes(path) > BATCH_BYTES,
                self._vault.layout.tier_of(path) not in ALWAYS_LOADED,
                -part,
                -modified,
            )

        return key

    def step(self, connection: sqlite3.Connection, report: RefreshReport) -> int:
        """Write one batch, with the last one that all of the look is in; returns how many notes are left.

        The caller holds the lock.
        """
        if self._paths[self.done :] or self._gone:
            taken = self._next()
            batch, hashes = self._to_read(connection, taken)
            report.changed += self._write(connection, batch, hashes)
            report.removed += len(self._gone)
            self._gone, self._begun = [], True
            self.done += len(taken)
        if self.done == self.total:
            self._finish(connection)
        return self.total - self.done

    def _write(self, connection: sqlite3.Connection, batch: Sequence[str], hashes: dict[str, bytes]) -> int:
        """Read, then write in one transaction; returns how many notes got other rows."""
        from tars_memory.index import writer

        look, most = self._look, self._limits.max_note_bytes
        notes: list[writer.ReadNote] = []
        touched: list[tuple[str, bytes]] = []
        skipped: list[tuple[str, bytes, bytes]] = []
        for path in batch:
            stamp = look.found[path]
            kept = stamp + UNSURE if is_racy(stamp, look.started) else stamp
            row = writer.read(self._vault, path, stamp, kept, hashes.get(path), most, look.cut)
            if row is None:
                continue  # it went away meanwhile: the next sweep settles it
            if isinstance(row, bytes):
                skipped.append((path, kept, row))
            elif isinstance(row, str):
                touched.append((path, kept))
            else:
                notes.append(row)
        with database.transaction(connection):
            connection.execute("DELETE FROM meta WHERE key = 'sweep'")  # until all of it is written
            rows = writer.Writer(connection)
            for path in self._gone:
                rows.drop(path)
            for path, stamp, reason in skipped:
                rows.skip(path, stamp, reason)
            rows.touch(touched)
            rows.write(notes)
        return len(notes)

    def _finish(self, connection: sqlite3.Connection) -> None:
        """Write down that all of the look is in the index."""
        look = self._look
        sweep = look.sweep.digest if stored(connection) == look.sweep.stamps() else b""
        device, seconds = str(os.stat(self._vault.root).st_dev), look.started // 1_000_000_000
        values = {"recipe": look.recipe, "complete": 1, "device": device, "indexed": seconds, "sweep": sweep}
        with database.transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    @property
    def behind(self) -> int:
        """How many notes differ for certain and are not written yet."""
        return max(0, self._sure - self.done)

    @property
    def is_heavy(self) -> bool:
        """Whether what comes next is a note that alone takes longer than somebody waits."""
        return any(self._bytes(path) > BATCH_BYTES for path in self._paths[self.done : self.done + 1])

    def _bytes(self, path: str) -> int:
        """How much of a note is read: nothing of one that is too big."""
        size: int = STAMP.unpack(self._look.found[path])[0]
        return size if size <= self._limits.max_note_bytes else 0

    def _next(self) -> list[str]:
        """The notes of the next batch: so many, and no more bytes than one of usual notes has."""
        taken: list[str] = []
        size = 0
        for path in self._paths[self.done : self.done + self.batch]:
            size += self._bytes(path)
            if taken and size > BATCH_BYTES:
                break
            taken.append(path)
        return taken

    def _to_read(self, connection: sqlite3.Connection, batch: list[str]) -> tuple[list[str], dict[str, bytes]]:
        """Those of a batch that no other process took in since we began, and the hashes of what is indexed of them."""
        if not self._same:
            return batch, {}
        sql = "SELECT f.path, f.stamp, f.hash FROM json_each(?) j JOIN files f ON f.path = j.value"
        rows = connection.execute(sql, (json.dumps(batch),)).fetchall()
        done = {path for path, stamp, _ in rows if self._begun and stamp == self._look.found[path]}
        return [path for path in batch if path not in done], {path: digest for path, _, digest in rows}


def take_in(
    connection: sqlite3.Connection,
    vault: Vault,
    limits: LimitsOptions,
    look: Look,
    report: RefreshReport,
    progress: Progress | None,
) -> None:
    """Write the difference between a look and what is stored now. The caller holds the lock."""
    plan = Batches(connection, vault, limits, look)
    left = plan.total + 1
    while left:
        left = plan.step(connection, report)
        if progress:
            progress(READING, plan.done, plan.total)


def stored(connection: sqlite3.Connection, same_recipe: bool = True) -> dict[str, bytes]:
    """Path → stamp as they were written; by another recipe every note is to be looked at again."""
    found: dict[str, bytes] = dict(connection.execute("SELECT path, stamp FROM files").fetchall())
    return found if same_recipe else dict.fromkeys(found, LOOK_AGAIN)
