"""What a refresh may cost, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

READER_NOTES = 200
"""Changed notes that a reader takes in by itself; more are left to ``reindex`` or the watcher."""
READER_WAIT = 0.1
"""Seconds a reader waits for another process to finish with the index."""
FIRST_WAIT = 1.5
"""The same while the index is made for the first time: some batches of notes."""
WRITER_WAIT = 30.0


class RefreshBudget:
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

    __slots__ = ("notes", "override", "patience", "strict", "wait", "wanted")

    def __init__(
        self,
        notes: int | None = READER_NOTES,
        wait: float = READER_WAIT,
        *,
        strict: bool = False,
        override: bool = False,
        patience: float | None = None,
        wanted: str | None = None,
    ) -> None:
        self.notes = notes
        self.wait = wait
        self.strict = strict
        self.override = override
        self.patience = patience
        self.wanted = wanted


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
        took: seconds.
    """

    __slots__ = ("_pending", "changed", "notices", "reading", "removed", "skipped", "stale", "took", "unmounted")

    def __init__(self, pending: Callable[[], int] | None = None) -> None:
        self._pending = pending
        self.changed = 0
        self.removed = 0
        self.stale = 0
        self.reading = 0
        self.unmounted = False
        self.skipped: dict[str, int] = {}
        self.notices: list[str] = []
        self.took = 0.0

    @property
    def pending_vectors(self) -> int:
        """Chunks that have no vector yet."""
        return self._pending() if self._pending is not None else 0

    @pending_vectors.setter
    def pending_vectors(self, count: int) -> None:
        self._pending = lambda: count
