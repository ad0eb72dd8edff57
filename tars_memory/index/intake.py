"""Take what changed in the vault into the rows: read and cut outside, write in one short transaction a batch."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tars_memory.index import changes, database
from tars_memory.index.words import WORD, fold
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from tars_memory.index.report import RefreshReport
    from tars_memory.settings import LimitsOptions
    from tars_memory.vault.vault import Vault

BATCH = 200
"""Notes of one transaction: about a quarter of a second of reading, some ten milliseconds of writing."""
BATCH_BYTES = 2_000_000
"""Bytes of one transaction's notes, if they are more than one: about a second of reading."""
FIRST_BATCH = 50
"""The same while somebody may wait for an answer from an index that is made for the first time."""


READING = "reading notes"
"""What is under way, as progress is told."""
ALWAYS_LOADED = (Tier.SEMANTIC, Tier.PROCEDURAL)
"""The tiers that every prompt begins with: read before all others, and given vectors before them."""


class Look:
    """One look at the vault: the sweep, when it began (ns), and the recipe by which rows are to be made."""

    __slots__ = ("_found", "recipe", "started", "sweep")

    def __init__(self, sweep: changes.Sweep, started: int, recipe: str) -> None:
        self.sweep = sweep
        self.started = started
        self.recipe = recipe
        self._found: dict[str, bytes] | None = None

    @property
    def found(self) -> dict[str, bytes]:
        """Path → stamp, without names in another encoding than UTF-8: nothing could name them."""
        if self._found is None:
            self._found = {path: stamp for path, stamp in self.sweep.stamps().items() if _is_text(path)}
        return self._found

    def again(self, sweep: changes.Sweep) -> None:
        """A second look: what either one saw is there, as the second one saw it."""
        first = self.found
        self.sweep, self._found = sweep, None
        self._found = {**first, **self.found}


class Plan:
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

    __slots__ = ("_begun", "_gone", "_limits", "_look", "_paths", "_same", "_sure", "_vault", "batch", "done", "total")

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
        known = {path: (stamp if self._same else changes.LOOK_AGAIN) for path, stamp in rows}
        difference = changes.diff(known, look.found)
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
            modified = changes.STAMP.unpack(self._look.found[path])[1]
            return (
                -whole,
                self._bytes(path) > BATCH_BYTES,
                self._vault.layout.tier_of(path) not in ALWAYS_LOADED,
                -part,
                -modified,
            )

        return key

    def step(self, connection: sqlite3.Connection, report: RefreshReport) -> int:
        """Write one batch; returns how many notes are left. The caller holds the lock."""
        if self._paths[self.done :] or self._gone:
            taken = self._next()
            batch, hashes = self._to_read(connection, taken)
            report.changed += _write_batch(connection, self._vault, self._limits, self._look, batch, hashes, self._gone)
            report.removed += len(self._gone)
            self._gone, self._begun = [], True
            self.done += len(taken)
        return self.total - self.done

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
        size: int = changes.STAMP.unpack(self._look.found[path])[0]
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
    progress: Callable[[str, int, int], None] | None,
) -> None:
    """Write the difference between a look and what is stored now. The caller holds the lock."""
    plan = Plan(connection, vault, limits, look)
    left = plan.total + 1
    while left:
        left = plan.step(connection, report)
        if progress:
            progress(READING, plan.done, plan.total)
    finish(connection, vault, look)


def finish(connection: sqlite3.Connection, vault: Vault, look: Look) -> None:
    """Write down that all of a look is in the index. The caller holds the lock."""
    settled = stored(connection) == look.sweep.stamps()
    device = str(os.stat(vault.root).st_dev)
    values = [("recipe", look.recipe), ("complete", 1), ("device", device), ("indexed", look.started // 1_000_000_000)]
    with database.transaction(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [*values, ("sweep", look.sweep.digest if settled else b"")]
        )


def _write_batch(
    connection: sqlite3.Connection,
    vault: Vault,
    limits: LimitsOptions,
    look: Look,
    batch: Sequence[str],
    hashes: dict[str, bytes],
    gone: Sequence[str],
) -> int:
    """Read, then write in one transaction; returns how many notes got other rows."""
    from tars_memory.index import reading, writer

    notes: list[writer.NoteRow] = []
    touched: list[tuple[str, bytes]] = []
    skipped: list[tuple[str, bytes, bytes]] = []
    for path in batch:
        stamp = look.found[path]
        kept = stamp + changes.UNSURE if changes.is_racy(stamp, look.started) else stamp
        row = reading.read(vault, path, stamp, kept, hashes.get(path), limits.max_note_bytes)
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
        for path in gone:
            rows.drop(path)
        for path, stamp, reason in skipped:
            rows.skip(path, stamp, reason)
        rows.touch(touched)
        rows.write(notes)
    return len(notes)


def stored(connection: sqlite3.Connection, same_recipe: bool = True) -> dict[str, bytes]:
    """Path → stamp as they were written; by another recipe every note is to be looked at again."""
    found: dict[str, bytes] = dict(connection.execute("SELECT path, stamp FROM files").fetchall())
    return found if same_recipe else dict.fromkeys(found, changes.LOOK_AGAIN)


def meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the index says of itself."""
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
