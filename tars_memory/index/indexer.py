"""Keeping the index in step with the vault: sweep, compare, read what changed, write it in short transactions."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, TypeVar

from tars_memory.errors import UnwritableError, VaultError, counted
from tars_memory.index import database, intake
from tars_memory.index.files import WRITER_WAIT, IndexFiles, OpenIndex, create, spoken
from tars_memory.index.intake import FIRST_WAIT, READING, RefreshBudget, RefreshReport
from tars_memory.index.reader import IndexReader
from tars_memory.settings import CUT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.settings import Cut, LimitsOptions
    from tars_memory.vault.vault import Vault

    Progress = Callable[[str, int, int], None]
    """Called with a phase (:data:`READING`, "vectors"), how many are done, and how many there are."""

Answer = TypeVar("Answer")

YIELD = 0.01
"""Seconds between two batches, in which another process gets the lock: it looks for it every 5 ms."""

__all__ = ["Index", "RefreshBudget", "RefreshReport"]


class Index:
    """The index of one vault.

    Args:
        vault: the notes.
        state: the vault's state folder; made when something is written.
        cache: the program's cache folder.
        limits: what is too big to read.
        embedder: makes the model; may raise ModelUnavailableError. None: no vectors are made.
        cut: into passages of which size notes are cut.

    Attributes:
        progress: is told how far each work is that is not told to somebody else.
    """

    def __init__(
        self,
        vault: Vault,
        state: Path,
        cache: Path,
        limits: LimitsOptions,
        embedder: Callable[[], Embedder] | None = None,
        cut: Cut = CUT,
    ) -> None:
        self.vault = vault
        self.cut = cut
        self.files = IndexFiles(state)
        self.cache = cache
        self.limits = limits
        self.embedder = embedder
        self.progress: Progress | None = None
        self._open = OpenIndex(self.files)

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def connection(self) -> sqlite3.Connection:
        """The open index, the newest file; made empty if there is none."""
        return self._open.connection()

    def read(self, question: Callable[[IndexReader], Answer]) -> Answer:
        """Ask the index; if it turns out to be damaged, it is rebuilt and asked again.

        Raises:
            UnwritableError: there is none and none can be made, or it is damaged and can't be rebuilt.
        """
        with spoken("the index can't be read"):
            try:
                with self._open.held():
                    return question(self.reader())
            except Exception as error:
                if not _is_damage(error):
                    raise
            self.rebuild(embed=False, override=False)
            return question(self.reader())

    def published_from(self) -> Path:
        """The file whose rows a team's index is given."""
        self.connection()
        assert self._open.path is not None
        return self._open.path

    def reader(self) -> IndexReader:
        """What recall asks, on the file that answers now; never refreshed by itself."""
        return IndexReader(self.connection(), self.cache / database.CACHE_FILE)

    # --- refresh

    def refresh(self, budget: RefreshBudget | None = None, progress: Progress | None = None) -> RefreshReport:
        """Bring the rows in step with the vault; vectors are left to :meth:`embed_pending`.

        An index that can't be written stays as it is, and the report says how far it is behind.

        Raises:
            VaultError: (strict) the vault looks unmounted or emptied.
            UnwritableError: there is no index and none can be made; (strict) it is busy or can't be written.
        """
        begun = time.monotonic()
        progress = progress or self.progress
        budget = budget or RefreshBudget()
        try:
            with spoken("the index can't be read"):
                report = self._refresh(budget, progress)
        except Exception as error:
            if not _is_damage(error):
                raise
            report = self.rebuild(embed=False, progress=progress, override=budget.override)
        report.took = time.monotonic() - begun
        return report

    def _refresh(self, budget: RefreshBudget, progress: Progress | None) -> RefreshReport:
        report = RefreshReport(self.pending)
        look = self._look()
        meta = database.meta(self.connection())
        if meta.get("sweep") != look.sweep.digest or meta.get("recipe") != look.recipe:
            self._settle(look, meta, budget, report, progress)
        self._count_skipped(report)
        return report

    def _settle(
        self,
        look: intake.Look,
        meta: dict[str, Any],
        budget: RefreshBudget,
        report: RefreshReport,
        progress: Progress | None,
    ) -> None:
        """Something differs from the last sweep: find out what, and take it in if it may be."""
        stored = intake.stored(self.connection(), meta.get("recipe") == look.recipe)
        difference = intake.diff(stored, look.found)
        if difference.missing:  # a note is dropped only when two looks agree that it is gone
            look.again(intake.Sweep(self.vault.sweep()))
            difference = intake.diff(stored, look.found)
        complete = meta.get("complete") == 1
        if self._brakes(budget, meta, stored, look.found, difference, report):
            return
        if complete and budget.notes is not None and len(difference) > budget.notes:
            report.stale = len(difference)
            report.notices.append(f"{counted(report.stale, 'note')} changed since the last reindex, not searched yet")
            return
        wait = budget.wait if difference or difference.unsure else 0.0
        if not complete:
            wait = WRITER_WAIT if budget.patience is None else FIRST_WAIT
        reason = "the index is busy in another process"
        left: int | None = None
        try:
            with spoken("the index can't be written"):
                left = self._take_in(look, wait, budget, report, progress, first=not complete)
        except UnwritableError as error:
            if budget.strict:
                raise
            reason = error.message
        else:
            report.reading = len(look.found) if left != 0 and not complete and budget.patience is not None else 0
            if left is None and difference and budget.strict:
                raise UnwritableError(reason, "try again when it is done")
        if difference and left != 0:
            report.stale = len(difference) - report.changed - report.removed if left is None else left
            if not report.reading:
                report.notices.append(f"{reason}; {counted(report.stale, 'changed note')} not searched")

    def _take_in(
        self,
        look: intake.Look,
        wait: float,
        budget: RefreshBudget,
        report: RefreshReport,
        progress: Progress | None,
        *,
        first: bool,
    ) -> int | None:
        """Write what differs, batch by batch; between two of them others may have the lock.

        Returns how many notes are left when the patience of an answer that waits is at its end; None if the lock could
        not be had in time.
        """
        ends = None if budget.patience is None or not first else time.monotonic() + budget.patience
        plan: intake.Batches | None = None
        left: int | None = None
        while True:
            with self.files.lock(wait) as held:
                if not held:
                    return None if plan is None else plan.behind
                connection = self.connection()
                if plan is None:
                    plan = intake.Batches(connection, self.vault, self.limits, look, budget.wanted if first else None)
                    if progress and plan.total > plan.batch:
                        progress(READING, 0, plan.total)
                left = plan.step(connection, report)
                if not left:
                    intake.finish(connection, self.vault, look)
            if progress and plan.total > plan.batch:
                progress(READING, plan.done, plan.total)
            if not left:
                return 0
            if ends is not None and (time.monotonic() >= ends or plan.is_heavy):
                return plan.behind
            wait = WRITER_WAIT
            time.sleep(YIELD)

    def _brakes(
        self,
        budget: RefreshBudget,
        meta: dict[str, Any],
        stored: dict[str, bytes],
        found: dict[str, bytes],
        difference: intake.Diff,
        report: RefreshReport,
    ) -> bool:
        other = meta.get("device") not in (None, str(os.stat(self.vault.root).st_dev))
        reason = intake.brake(len(stored), len(found), difference, other_device=other)
        if reason is None or budget.override:
            return False
        if budget.strict:
            raise VaultError(f"the vault {reason}", "if that is right, run reindex --full")
        report.stale = len(difference)
        report.unmounted = True
        report.notices.append(f"the vault {reason}; this answer is from the index as it was (reindex --full overrides)")
        return True

    # --- reindex

    def reindex(self, *, full: bool = False, embed: bool = True, progress: Progress | None = None) -> RefreshReport:
        """Take in every change and make the vectors that are missing; ``full``: all rows anew, whatever is stored.

        Raises:
            VaultError: the vault looks unmounted or emptied (not with ``full``).
            UnwritableError: the index is busy or can't be written.
        """
        if full:
            return self.rebuild(embed=embed, progress=progress)
        report = self.refresh(RefreshBudget(None, WRITER_WAIT, strict=True), progress)
        if embed and self.embedder is not None:
            self.embed_pending(None, progress)
        return report

    def rebuild(self, *, embed: bool = True, progress: Progress | None = None, override: bool = True) -> RefreshReport:
        """Make the index anew in a file of its own, the old one answering meanwhile, and swap it in.

        Vectors come back from the cache without a model.
        """
        begun = time.monotonic()
        progress = progress or self.progress
        report = RefreshReport(self.pending)
        before = self._open.path
        with spoken("the index can't be rebuilt"), self.files.lock(WRITER_WAIT) as held:
            if not held:
                raise UnwritableError("the index is busy in another process", "try again when it is done")
            self.close()
            if override or before is None or self.files.current() == before:
                self._build(report, progress)
        if embed and self.embedder is not None:
            self.embed_pending(None, progress)
        report.took = time.monotonic() - begun
        return report

    def forget(self, tells: Callable[[str], bool]) -> None:
        """Take the vectors of texts out of the caches, and make the index anew.

        Args:
            tells: whether a text is one of those that are to be forgotten.

        Raises:
            UnwritableError: the index or a cache can't be written.
        """
        from tars_memory.index.embedding import queryvector
        from tars_memory.index.vectors import VectorCache

        with spoken("the caches can't be written"):
            texts = "SELECT c.hash, t.head || char(10) || t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id"
            hashes = {bytes(digest) for digest, text in self.connection().execute(texts) if tells(text)}
            if hashes and (self.cache / database.CACHE_FILE).exists():
                cache = VectorCache(self.cache)
                try:
                    cache.drop(hashes)
                finally:
                    cache.close()
            queryvector.forget(self.cache)
        self.rebuild(embed=False)

    def _build(self, report: RefreshReport, progress: Progress | None) -> None:
        from tars_memory.index import vectors

        model = self._open.model()
        path = self.files.building()
        try:
            connection = create(path)
            try:
                connection.execute("PRAGMA journal_mode = OFF")
                intake.take_in(connection, self.vault, self.limits, self._look(), report, progress)
                if model:
                    vectors.restore(connection, self.cache, *model)
                connection.execute("PRAGMA journal_mode = DELETE")
                database.set_journal_mode(connection, path)
            finally:
                connection.close()
        except BaseException:
            self.files.remove(path)  # on a full disk it would stand in the way of everything else
            raise
        self.files.install(path)

    def embed_pending(
        self, limit: int | None = None, progress: Progress | None = None, wait: float = WRITER_WAIT
    ) -> int:
        """Give vectors to chunks that have none: from the cache, else from the model, ``limit`` texts at most; ``wait``
        seconds at most for another process that writes to the index.

        Resumable: what was embedded before an interruption is kept. Returns how many chunks are still pending, of the
        model that is to take the place of another one if there is one.

        Raises:
            ModelUnavailableError: texts are to be embedded and the model can't be used.
            UnwritableError: the vectors can't be kept; with a ``limit`` they just stay pending.
        """
        from tars_memory.index import vectors

        ahead = 0
        try:
            with spoken("the vectors can't be kept"):
                if self.embedder is not None:
                    progress = progress or (self.progress if limit is None else None)
                    ahead = vectors.embed(
                        self.connection(), self.files, self.cache, self.embedder, limit, progress, wait=wait
                    )
        except UnwritableError:
            if limit is None:
                raise
        return ahead or self.pending()

    def pending(self) -> int:
        """How many chunks have no vector yet."""
        from tars_memory.index import vectors

        return vectors.pending(self.connection())

    def is_behind(self, few: int) -> bool:
        """Whether more than a few chunks have no vector yet; costs no import."""
        some = f"SELECT 1 FROM chunks WHERE embedded <> 1 AND embedded = 0 LIMIT {few + 1}"  # both: their index serves
        return self.read(lambda _: len(self.connection().execute(some).fetchall()) > few)

    # --- upkeep

    def status(self) -> dict[str, Any]:
        """What the index is and how it stands; see :func:`tars_memory.index.upkeep.status`."""
        from tars_memory.index import upkeep

        try:
            return self.read(lambda _: upkeep.status(self))
        except UnwritableError:
            return upkeep.status_of_none(self)

    def verify(self) -> list[str]:
        """The differences between this index and one made anew, one sentence each; none: it is right.

        Vectors that are pending are no difference.

        Raises:
            UnwritableError: the other one can't be made beside it.
        """
        from tars_memory.index import upkeep

        with spoken("a second index to compare with can't be made"):
            return upkeep.verify(self)

    def optimise(self) -> None:
        """Merge the full-text tables, gather statistics, give free space back."""
        from tars_memory.index import upkeep

        with spoken("the index can't be written"):
            upkeep.optimise(self)

    # --- inside

    def made_beside(self, path: Path) -> sqlite3.Connection:
        """A new index of the vault as it is now, in a file of its own that nobody else reads; vectors left out."""
        connection = create(path)
        try:
            intake.take_in(connection, self.vault, self.limits, self._look(), RefreshReport(), self.progress)
        except BaseException:
            connection.close()
            raise
        return connection

    def _look(self) -> intake.Look:
        """One look at every note.

        Raises:
            VaultError: the root is missing.
        """
        started = time.time_ns()
        return intake.Look(intake.Sweep(self.vault.sweep()), started, self._recipe(), self.cut)

    def _recipe(self) -> str:
        """Everything but the notes that decides what the rows look like."""
        layout = sorted((key, str(value)) for key, value in vars(self.vault.layout).items() if not key.startswith("_"))
        bounds = f"{self.limits.max_note_bytes} {self.cut.size} {self.cut.overlap}"
        return f"{database.VERSION} {database.CHUNKER} {bounds} {layout}"

    def _count_skipped(self, report: RefreshReport) -> None:
        report.skipped = dict(self.vault.skipped)
        sql = "SELECT hash, count(*) FROM files WHERE note IS NULL GROUP BY hash"
        for reason, count in self.connection().execute(sql):
            name = bytes(reason).decode("ascii", "replace")
            report.skipped[name] = report.skipped.get(name, 0) + count


def _is_damage(error: Exception) -> bool:
    """Whether the rows are not what we wrote: SQLite says so, or one of them can't be taken apart in this room."""
    if database.damaged(error):
        return True
    if not isinstance(error, ValueError | TypeError | LookupError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == os.path.dirname(__file__)
