"""One refresh of the index: its budget, the comparison with the last sweep, and writing what changed.

The comparison of two sweeps and the test for an implausible one are pure functions. Notes are read and cut outside a
transaction, and each batch is written in one short transaction.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cached_property
from struct import error, pack
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk, errors
from tars_memory.index import database
from tars_memory.language.words import WORD, fold

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tars_memory.settings import Cut, LimitsOptions
    from tars_memory.vault.vault import Vault


READER_NOTES = 200
"""Maximum number of changed notes that a reader indexes itself; more are left to ``reindex`` or the watcher."""
READER_WAIT = 0.1
"""Seconds that a reader waits for another process to finish with the index."""
FIRST_WAIT = 1.5
"""Seconds that a reader waits while the index is built for the first time: some batches of notes."""
SEARCH_EMBEDS = 6
"""Maximum number of changed chunks that a search embeds if its query opens the model anyway: 0.15 s of the embedded
model (40 in a second, measured). More are left to the background process, the watcher or ``reindex``."""


class RefreshBudget(NamedTuple):
    """What a refresh may cost.

    Attributes:
        notes: maximum number of changed notes, above which nothing is written; None: any number.
        wait: seconds to wait for the lock.
        strict: raise, instead of report, an implausible sweep, a busy lock or a full disk.
        override: accept the sweep even if it is implausible.
        patience: seconds after which an index that is built for the first time answers with what is read so far; None:
            only when all of it is.
        wanted: query that decides the order in which an index is built for the first time: the notes that it may name,
            then those of every prompt, then the newest; None: in the order of their paths.
    """

    notes: int | None = READER_NOTES
    wait: float = READER_WAIT
    strict: bool = False
    override: bool = False
    patience: float | None = None
    wanted: str | None = None


class RefreshReport:
    """The result of a refresh.

    Attributes:
        changed: notes that were written.
        removed: notes that were dropped.
        stale: changed notes that the index lacks; 0 if it is in step with the vault.
        reading: notes in the vault, while the index is built for the first time and not all of them are read; else 0.
        unmounted: the vault looks unmounted or emptied, and the rows were left as they were.
        skipped: reason → number of files that are not indexed.
        notices: sentences for the person.
        vectors: passages that a model embedded.
        published: a sentence about what was published to a team's index; empty if there is none.
        took: seconds.
    """

    changed = removed = stale = reading = vectors = 0
    unmounted = False
    published = ""
    took = 0.0

    def __init__(self, pending: Callable[[], int] | None = None) -> None:
        self._pending = pending
        self.skipped: dict[str, int] = {}
        self.notices: list[str] = []

    @cached_property
    def pending_vectors(self) -> int:
        """Number of chunks without a vector, counted on first access."""
        return self._pending() if self._pending is not None else 0


LOOK_AGAIN = b""
"""Stamp of a note that must be read again whatever its stat is."""
UNSURE = b"?"
"""Suffix of a stamp that can't be trusted: it was too young when it was taken, or the note could not be read."""

RACY_NS = 50_000_000
"""Nanoseconds within which two changes may share a time stamp: file systems keep time in steps of up to 10 ms."""
COARSE_RACY_NS = 2_100_000_000
"""The same for file systems that keep time in whole seconds or, like FAT, in steps of two."""

BRAKE_SHARE = 0.30
BRAKE_COUNT = 20
"""If more than this share and more than this number of notes are gone and none is new, the vault is probably an
unmounted share and not tidied up (design 4)."""


class Diff:
    """The difference between two sweeps.

    Attributes:
        added: paths that are new.
        changed: paths whose stamp differs; only reading tells whether the bytes differ.
        missing: paths that are gone.
        unsure: paths whose stamp is the same but can't be trusted.
    """

    def __init__(self, added: list[str], changed: list[str], missing: list[str], unsure: list[str]) -> None:
        self.added = added
        self.changed = changed
        self.missing = missing
        self.unsure = unsure

    def __len__(self) -> int:
        """Return the number of notes that certainly differ."""
        return len(self.added) + len(self.changed) + len(self.missing)


class Sweep:
    """The paths and stamps that one walk through the vault saw.

    Args:
        folders: (prefix, names, four numbers for each name) of every folder, as :meth:`Vault.sweep` yields them.
        skipped: reason → number of files that the walk skipped.

    Attributes:
        digest: of all paths and stamps in the order of the walk, which file systems keep as long as a folder does not
            change: two sweeps of an unchanged vault have the same digest.
    """

    def __init__(self, folders: Iterable[tuple[str, list[str], list[int]]], skipped: dict[str, int]) -> None:
        self.skipped = skipped
        digest = disk.blake2b(digest_size=20)
        self._packed: list[tuple[str, list[str], bytes]] = []
        for prefix, names, numbers in folders:
            packed = _packed(numbers)
            digest.update("\0".join((prefix, *names, "")).encode())
            digest.update(packed)
            self._packed.append((prefix, names, packed))
        self.digest = digest.digest()

    def stamps(self) -> dict[str, bytes]:
        """Return path → stamp."""
        size = database.STAMP.size
        return {
            prefix + name: packed[at * size : (at + 1) * size]
            for prefix, names, packed in self._packed
            for at, name in enumerate(names)
        }


def _packed(numbers: list[int]) -> bytes:
    """Return the stamps of a folder, one after the other; an inode of more than 63 bits is cut."""
    try:
        return pack(f"<{len(numbers)}q", *numbers)  # 2.5 times as fast as an array
    except error:
        return pack(f"<{len(numbers)}q", *(number & 0x7FFF_FFFF_FFFF_FFFF for number in numbers))


def is_racy(stamp: bytes, now_ns: int) -> bool:
    """Whether a file changed so shortly before the sweep that a later change could have the same stamp.

    This is git's racy rule. The time compared is that of the last change of any kind (ctime), which no program can set;
    on Windows, where ctime is the time of creation, that of the last write.
    """
    _, mtime, ctime, _ = database.STAMP.unpack(stamp)
    changed = mtime if sys.platform == "win32" else ctime
    window = RACY_NS if changed % 1_000_000_000 else COARSE_RACY_NS
    return bool(changed + window >= now_ns)


def diff(stored: Mapping[str, bytes], found: Mapping[str, bytes]) -> Diff:
    """Compare the stamps of the last sweep with those of this one; each list of the result is sorted by path."""
    added = sorted(found.keys() - stored.keys())
    missing = sorted(stored.keys() - found.keys())
    changed: list[str] = []
    unsure: list[str] = []
    for path, new in found.items():
        old = stored.get(path, new)
        if old != new:
            (unsure if old == new + UNSURE else changed).append(path)
    return Diff(added, sorted(changed), missing, sorted(unsure))


def brake(stored: int, found: int, difference: Diff, *, other_device: bool = False) -> str | None:
    """Return why this sweep is implausible, as the end of a sentence that starts with "the vault"; None if it is not.

    Args:
        stored: number of notes known before.
        found: number of notes seen now.
        difference: between the two sweeps.
        other_device: the root is on another device than at the last sweep.
    """
    missing = len(difference.missing)
    if not stored or not missing:
        return None
    if not found:
        return f"looks empty: all of it is gone ({errors.counted(stored, 'note')})"
    share = missing / stored
    if other_device and share > BRAKE_SHARE:
        return f"is on another device than before, and {missing} of {errors.counted(stored, 'note')} are gone"
    if share > BRAKE_SHARE and missing > BRAKE_COUNT and not difference.added:
        return f"looks unmounted or emptied: {missing} of {errors.counted(stored, 'note')} gone, and none is new"
    return None


BATCH = 200
"""Maximum number of notes in one transaction: about a quarter of a second to read, some ten milliseconds to write."""
BATCH_BYTES = 2_000_000
"""Maximum size of one transaction's notes, if they are more than one: about a second of reading."""
FIRST_BATCH = 50
"""Maximum number of notes in one transaction while somebody may wait for an answer from an index that is built for the
first time."""

READING = "reading notes"
"""Name of this phase for progress reports."""


class Look:
    """One look at the vault: the sweep, when it started (ns), the recipe for the rows, and the cut of the chunks."""

    def __init__(self, sweep: Sweep, started: int, recipe: str, cut: Cut) -> None:
        self.cut = cut
        self.sweep = sweep
        self.started = started
        self.recipe = recipe

    @cached_property
    def found(self) -> dict[str, bytes]:
        """Path → stamp."""
        return self.sweep.stamps()

    def again(self, sweep: Sweep) -> None:
        """Add a second sweep: the notes that either sweep saw, with the stamps of the second one."""
        self.found = {**self.found, **sweep.stamps()}
        self.sweep = sweep


class Batches:
    """Writes the difference between a look and the stored rows, batch by batch.

    Between two batches another process may write; notes that it indexed meanwhile are not read again.

    Args:
        connection: of the index; the caller holds the lock.
        vault: the notes.
        limits: sizes above which a note is not read.
        look: the vault as it is.
        wanted: a query: while an index is built for the first time, the notes that it may name are read first, then
            those that every prompt begins with, then the newest.
    """

    def __init__(
        self, connection: sqlite3.Connection, vault: Vault, limits: LimitsOptions, look: Look, wanted: str | None = None
    ) -> None:
        if not stored(connection):  # so that an interrupted first build continues
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('recipe', ?)", (look.recipe,))
        self._same = database.meta(connection).get("recipe") == look.recipe
        difference = diff(stored(connection, self._same), look.found)
        self._vault, self._look, self._limits = vault, look, limits
        self._paths = sorted((*difference.added, *difference.changed))
        self._gone = difference.missing
        self._sure = len(self._paths)
        self.batch = BATCH if wanted is None else FIRST_BATCH
        if wanted is not None:
            self._paths.sort(key=self._urgency(wanted))
        self._paths += difference.unsure
        self.done, self.total = 0, len(self._paths)

    def _urgency(self, wanted: str) -> Callable[[str], tuple[float | bool, ...]]:
        """Return the sort key of the reading order: notes the query names, those of every prompt, the newest."""
        query = fold(wanted).strip()
        query_words = set(WORD.findall(query))

        def key(path: str) -> tuple[float | bool, ...]:
            name = fold(path.rpartition("/")[2].removesuffix(".md"))
            named = query and (name in query or query in name)  # at any position: not every script has blanks
            overlap = min(len(name), len(query)) / max(len(name), len(query)) if named else 0.0
            words = WORD.findall(name)
            shared = sum(word in query_words for word in words) / len(words) if words else 0.0
            modified = database.STAMP.unpack(self._look.found[path])[1]
            return (
                -overlap,
                self._bytes(path) > BATCH_BYTES,
                self._vault.layout.tier_of(path) not in database.ALWAYS_LOADED,
                -shared,
                -modified,
            )

        return key

    def step(self, connection: sqlite3.Connection, report: RefreshReport) -> int:
        """Write one batch, and after the last one that the look is complete; return how many notes are left.

        The caller holds the lock.
        """
        if self._paths[self.done :] or self._gone:
            batch = self._next()
            unread, hashes = self._to_read(connection, batch)
            report.changed += self._write(connection, unread, hashes)
            report.removed += len(self._gone)
            self._gone = []
            self.done += len(batch)
        if self.done == self.total:
            self._finish(connection)
        return self.total - self.done

    def _write(self, connection: sqlite3.Connection, batch: Sequence[str], hashes: dict[str, bytes]) -> int:
        """Read the notes, then write them in one transaction; return how many got new rows."""
        from tars_memory.index import writer

        look, max_bytes = self._look, self._limits.max_note_bytes
        notes: list[writer.ReadNote] = []
        touched: list[tuple[str, bytes]] = []
        skipped: list[tuple[str, bytes, bytes]] = []
        for path in batch:
            stamp = look.found[path]
            kept = stamp + UNSURE if is_racy(stamp, look.started) else stamp
            note = writer.read(self._vault, path, stamp, kept, hashes.get(path), max_bytes, look.cut)
            if note is None:
                continue  # deleted meanwhile: the next sweep notices
            if isinstance(note, bytes):
                # What could not be read may be readable next time without a change: the stamp is never trusted.
                skipped.append((path, stamp + UNSURE if note == writer.UNREADABLE else kept, note))
            elif isinstance(note, str):
                touched.append((path, kept))
            else:
                notes.append(note)
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
        """Store in ``meta`` that the index is complete up to this look."""
        look = self._look
        sweep = look.sweep.digest if stored(connection) == look.sweep.stamps() else b""
        device, seconds = str(os.stat(self._vault.root).st_dev), look.started // 1_000_000_000
        values = {"recipe": look.recipe, "complete": 1, "device": device, "indexed": seconds, "sweep": sweep}
        with database.transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    @property
    def behind(self) -> int:
        """Number of notes that certainly differ and are not written yet."""
        return max(0, self._sure - self.done)

    @property
    def is_heavy(self) -> bool:
        """Whether the next note alone takes longer than somebody waits."""
        return any(self._bytes(path) > BATCH_BYTES for path in self._paths[self.done : self.done + 1])

    def _bytes(self, path: str) -> int:
        """Return how many bytes of a note are read: none if it is too big."""
        size: int = database.STAMP.unpack(self._look.found[path])[0]
        return size if size <= self._limits.max_note_bytes else 0

    def _next(self) -> list[str]:
        """Return the notes of the next batch: at most ``batch`` notes and, beyond the first, ``BATCH_BYTES`` bytes."""
        paths: list[str] = []
        size = 0
        for path in self._paths[self.done : self.done + self.batch]:
            size += self._bytes(path)
            if paths and size > BATCH_BYTES:
                break
            paths.append(path)
        return paths

    def _to_read(self, connection: sqlite3.Connection, batch: list[str]) -> tuple[list[str], dict[str, bytes]]:
        """Return the notes of a batch that no other process indexed since we started, and path → indexed hash."""
        if not self._same:
            return batch, {}
        sql = "SELECT f.path, f.stamp, f.hash FROM json_each(?) j JOIN files f ON f.path = j.value"
        rows = connection.execute(sql, (json.dumps(batch),)).fetchall()
        done = {path for path, stamp, _ in rows if stamp == self._look.found[path]}
        return [path for path in batch if path not in done], {path: digest for path, _, digest in rows}


def take_in(
    connection: sqlite3.Connection,
    vault: Vault,
    limits: LimitsOptions,
    look: Look,
    report: RefreshReport,
    progress: database.Progress | None,
) -> None:
    """Write the whole difference between a look and the stored rows. The caller holds the lock."""
    plan = Batches(connection, vault, limits, look)
    left = plan.total + 1
    while left:
        left = plan.step(connection, report)
        if progress:
            progress(READING, plan.done, plan.total)


def stored(connection: sqlite3.Connection, same_recipe: bool = True) -> dict[str, bytes]:
    """Return path → stored stamp; unless the recipe is the same, :data:`LOOK_AGAIN` for every note."""
    found: dict[str, bytes] = dict(connection.execute("SELECT path, stamp FROM files").fetchall())
    return found if same_recipe else dict.fromkeys(found, LOOK_AGAIN)
