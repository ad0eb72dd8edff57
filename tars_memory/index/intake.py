"""Take what changed in the vault into the rows: read and cut outside, write in one short transaction a batch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tars_memory.index import changes, database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from tars_memory.index.report import RefreshReport
    from tars_memory.options import LimitsOptions
    from tars_memory.vault.vault import Vault

BATCH = 200
"""Notes of one transaction: about a quarter of a second of reading, some ten milliseconds of writing."""


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


def take_in(
    connection: sqlite3.Connection,
    vault: Vault,
    limits: LimitsOptions,
    look: Look,
    report: RefreshReport,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    """Write the difference between a look and what is stored now. The caller holds the lock."""
    rows = connection.execute("SELECT path, stamp, hash FROM files").fetchall()
    if not rows:  # so that a first build that is cut off goes on where it was
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('recipe', ?)", (look.recipe,))
    same = meta(connection).get("recipe") == look.recipe
    known = {path: (stamp if same else changes.LOOK_AGAIN, digest) for path, stamp, digest in rows}
    difference = changes.diff({path: stamp for path, (stamp, _) in known.items()}, look.found)
    paths = sorted((*difference.added, *difference.changed, *difference.unsure))
    gone = difference.missing
    for start in range(0, max(len(paths), bool(gone)), BATCH):
        batch = paths[start : start + BATCH]
        hashes = {path: known[path][1] for path in batch if path in known and same}
        report.changed += _write_batch(connection, vault, limits, look, batch, hashes, gone)
        report.removed, gone = report.removed + len(gone), []
        if progress:
            progress("notes", min(start + BATCH, len(paths)), len(paths))
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
