"""Keep the index in step with the vault: sweep, compare, read the changed notes, write them in short transactions."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from tars_memory import index, vault
from tars_memory.errors import UnwritableError, VaultError, behind, counted, shortened
from tars_memory.index import database, intake
from tars_memory.index.database import WRITER_WAIT, IndexFiles, OpenIndex, create_index
from tars_memory.index.intake import FIRST_WAIT, READING, RefreshBudget, RefreshReport
from tars_memory.index.reader import IndexReader
from tars_memory.settings import CUT, Cut, LimitsOptions

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tars_memory.index.database import Progress
    from tars_memory.index.passages import Embedder
    from tars_memory.vault.vault import Vault

Answer = TypeVar("Answer")

YIELD = 0.01
"""Seconds between two batches, so that another process can take the lock, which it tries every 5 ms."""

__all__ = ["Index", "RefreshBudget", "RefreshReport"]


class Index:
    """The index of one vault.

    Args:
        vault: the notes.
        state: the vault's state folder; created with the first write.
        cache: the program's cache folder.
        limits: sizes above which a note is not read.
        embedder: opens the model; may raise ModelUnavailableError. None: nothing is embedded.
        cut: size and overlap of the chunks.

    Attributes:
        progress: receives the progress of all work that is not given a ``progress`` of its own.
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
        """Return a connection to the current index file; an empty one is created if there is none."""
        return self._open.connection()

    def read(self, question: Callable[[IndexReader], Answer]) -> Answer:
        """Call ``question`` with a reader; if the index turns out to be damaged, rebuild it and call once more.

        Raises:
            UnwritableError: there is no index and none can be created, or it is damaged and can't be rebuilt.
        """
        with self.files.explained("the index can't be read"):
            try:
                with self._open.held():
                    return question(self.reader())
            except Exception as error:
                if not _is_damage(error):
                    raise
            self.rebuild(embed=False, override=False)
            return question(self.reader())

    def published_from(self) -> Path:
        """Return the index file whose rows are published to a team's index."""
        self.connection()
        assert self._open.path is not None
        return self._open.path

    def reader(self) -> IndexReader:
        """Return a reader of the current index file, without refreshing the index."""
        return IndexReader(self.connection(), self.cache / database.CACHE_FILE)

    # --- refresh

    def refresh(self, budget: RefreshBudget | None = None, progress: Progress | None = None) -> RefreshReport:
        """Bring the rows in step with the vault; vectors are left to :meth:`embed_pending`.

        An index that can't be written stays as it is, and the report says how far it is behind.

        Raises:
            VaultError: (strict) the vault looks unmounted or emptied.
            UnwritableError: there is no index and none can be created; (strict) it is busy or can't be written.
        """
        started = time.monotonic()
        progress = progress or self.progress
        budget = budget or RefreshBudget()
        try:
            with self.files.explained("the index can't be read"):
                report = _Refresh(self, budget, progress).run()
        except Exception as error:
            if not _is_damage(error):
                raise
            report = self.rebuild(embed=False, progress=progress, override=budget.override)
        report.took = time.monotonic() - started
        return report

    # --- reindex

    def reindex(self, *, full: bool = False, embed: bool = True, progress: Progress | None = None) -> RefreshReport:
        """Index every change and embed what has no vector yet; with ``full``, rebuild all rows.

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
        """Rebuild the index in a new file and swap it in; the old one answers meanwhile.

        Vectors come from the cache, without a model, and with ``embed`` from the model.

        Raises:
            UnwritableError: the index is busy or can't be written.
        """
        started = time.monotonic()
        progress = progress or self.progress
        report = RefreshReport(self.pending)
        before = self._open.path
        with self.files.explained("the index can't be rebuilt"), self.files.lock(WRITER_WAIT) as held:
            if not held:
                raise UnwritableError("the index is busy in another process", "try again when it has finished")
            self.close()
            if override or before is None or self.files.current() == before:
                self._build(report, progress)
        if embed and self.embedder is not None:
            self.embed_pending(None, progress)
        report.took = time.monotonic() - started
        return report

    def forget(self, tells: Callable[[str], bool]) -> None:
        """Delete the vectors of texts from the caches, and rebuild the index.

        The index knows which vectors are those of the texts. If it is damaged, all vectors are deleted.

        Args:
            tells: whether a text must be forgotten.

        Raises:
            UnwritableError: the index or a cache can't be written.
        """
        with self.files.explained("the caches can't be written"):
            texts = "SELECT c.hash, t.head || char(10) || t.text FROM chunks c JOIN chunk_texts t ON t.id = c.id"
            try:
                hashes = {bytes(digest) for digest, text in self.connection().execute(texts) if tells(text)}
                if hashes and (self.cache / database.CACHE_FILE).exists():
                    with closing(index.vectors.VectorCache(self.cache)) as cache:
                        cache.drop(hashes)
            except Exception as error:
                if not _is_damage(error):
                    raise
                with closing(index.vectors.VectorCache(self.cache)) as cache:
                    cache.start_over()
            index.vectors.forget_queries(self.cache)
        self.rebuild(embed=False)

    def _build(self, report: RefreshReport, progress: Progress | None) -> None:
        model = self._open.model()
        path = self.files.building()
        try:
            with closing(create_index(path)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                intake.take_in(connection, self.vault, self.limits, self.look(), report, progress)
                if model:
                    index.vectors.restore(connection, self.cache, *model)
                connection.execute("PRAGMA journal_mode = DELETE")
                database.set_journal_mode(connection, path)
        except BaseException:
            self.files.remove(path)  # on a full disk it would block everything else
            raise
        self.files.install(path)

    def embed_pending(
        self,
        limit: int | None = None,
        progress: Progress | None = None,
        wait: float = WRITER_WAIT,
        opened: Embedder | None = None,
    ) -> int:
        """Give chunks without a vector one, from the cache or else from the model.

        The work can be interrupted: vectors that were stored before are kept.

        Args:
            limit: maximum number of texts to embed with the model; None: no limit.
            progress: told how many texts are done.
            wait: seconds to wait for another process that writes to the index.
            opened: the model, if it is open already.

        Returns:
            The number of pending chunks; after a change of the model, the number of texts still to be embedded before
            its vectors replace the old ones.

        Raises:
            ModelUnavailableError: texts must be embedded and the model can't be used.
            UnwritableError: the vectors can't be stored; with a ``limit`` they just stay pending.
        """
        embedder = self.embedder if opened is None else lambda: opened
        progress = progress or (self.progress if limit is None else None)

        def embed(_: IndexReader) -> int:
            if embedder is None:
                return 0
            with self.files.explained("the vectors can't be kept"):
                return index.vectors.embed(
                    self.connection(), self.files, self.cache, embedder, limit, progress, wait=wait
                )

        remaining = 0
        try:
            remaining = self.read(embed)
        except UnwritableError:
            if limit is None:
                raise
        return remaining or self.pending()

    def pending(self) -> int:
        """Return the number of chunks without a vector."""
        return self.read(lambda _: index.vectors.pending(self.connection()))

    def is_behind(self, few: int) -> bool:
        """Whether more than ``few`` chunks have no vector yet; imports nothing."""
        sql = f"SELECT 1 FROM chunks WHERE embedded = 0 LIMIT {few + 1}"
        return self.read(lambda _: len(self.connection().execute(sql).fetchall()) > few)

    # --- upkeep, which may be slow

    def status(self) -> dict[str, Any]:
        """Return counts, sizes, the driver, the model, and how many vectors are pending."""
        try:
            return self.read(lambda _: _status(self))
        except UnwritableError:
            return _status_without_index(self)

    def left_out(self) -> dict[str, list[str]]:
        """Return reason → paths of the notes that the sweep saw and that aren't indexed."""
        found: dict[str, list[str]] = {}
        for reason, path in self.connection().execute("SELECT hash, path FROM files WHERE note IS NULL ORDER BY path"):
            found.setdefault(bytes(reason).decode("ascii", "replace"), []).append(path)
        return found

    def verify(self) -> list[str]:
        """Compare this index with a rebuilt one, and its vectors with the cache; return one sentence per difference.

        Pending vectors don't count as differences.

        Raises:
            UnwritableError: the second index can't be created, or another process verifies this index.
        """
        if self.progress is not None:
            self.progress("checking the index", 0, 0)
        connection, path = self.connection(), self.files.folder / "verify.db"
        with self.files.explained("can't make a second index to compare with"):
            problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)") if row[0] != "ok"]
            if problems:
                return [f"the file is damaged: {problem}" for problem in problems]
            with self.files.lock(30.0, "verify.lock") as held:
                if not held:
                    raise UnwritableError("another process verifies this index", "try again when it has finished")
                self.files.remove(path)
                try:
                    with closing(create_index(path)) as fresh:
                        intake.take_in(fresh, self.vault, self.limits, self.look(), RefreshReport(), self.progress)
                        if self.progress is not None:
                            self.progress("comparing the index with the notes", 0, 0)
                        found = _differences(connection, fresh)
                finally:
                    self.files.remove(path)
            return (found + _wrong_vectors(connection, self.cache))[:MAX_DIFFERENCES]

    # --- inside

    def look(self) -> intake.Look:
        """Sweep the vault once.

        Raises:
            VaultError: the root is missing.
        """
        started = time.time_ns()
        # All but the notes that decides what the rows look like.
        layout = sorted((key, str(value)) for key, value in vars(self.vault.layout).items() if not key.startswith("_"))
        bounds = f"{self.limits.max_note_bytes} {self.cut.size} {self.cut.overlap}"
        recipe = f"{database.VERSION} {database.CHUNKER} {bounds} {layout}"
        return intake.Look(intake.Sweep(self.vault.sweep(), self.vault.skipped), started, recipe, self.cut)


class _Refresh:
    """One refresh: a sweep of the vault, the index's metadata before it, and the report."""

    def __init__(self, index: Index, budget: RefreshBudget, progress: Progress | None) -> None:
        self._index, self._budget, self._progress = index, budget, progress
        self._report = RefreshReport(index.pending)
        self._look = index.look()
        self._meta = database.meta(index.connection())

    def run(self) -> RefreshReport:
        """Index what differs from the last sweep, if the budget allows it."""
        report, connection = self._report, self._index.connection()
        if self._meta.get("sweep") != self._look.sweep.digest or self._meta.get("recipe") != self._look.recipe:
            self._update(intake.stored(connection, self._meta.get("recipe") == self._look.recipe))
        report.skipped = self._look.sweep.skipped
        for reason, paths in self._index.left_out().items():
            report.skipped[reason] = report.skipped.get(reason, 0) + len(paths)
        return report

    def _update(self, stored: dict[str, bytes]) -> None:
        """Find out what differs from the last sweep, and index it if the budget allows it."""
        look, budget, report = self._look, self._budget, self._report
        difference = intake.diff(stored, look.found)
        if difference.missing:  # a note is dropped only when two looks agree that it is gone
            notes = self._index.vault
            look.again(intake.Sweep(notes.sweep(), notes.skipped))
            difference = intake.diff(stored, look.found)
        if self._is_implausible(stored, difference):
            return
        first = self._meta.get("complete") != 1
        if not first and budget.notes is not None and len(difference) > budget.notes:
            report.stale = len(difference)
            report.notices.append(behind(report.stale))
            return
        wait = budget.wait if difference or difference.unsure else 0.0
        if first:
            wait = WRITER_WAIT if budget.patience is None else FIRST_WAIT
        reason = "the index is busy in another process"
        left: int | None = None
        try:
            with self._index.files.explained("the index can't be written"):
                left = self._take_in(wait, first=first)
        except UnwritableError as error:
            if budget.strict:
                raise
            reason = error.message
        else:
            report.reading = len(look.found) if left != 0 and first and budget.patience is not None else 0
            if left is None and difference and budget.strict:
                raise UnwritableError(reason, "try again when it has finished")
        if difference and left != 0:
            report.stale = len(difference) - report.changed - report.removed if left is None else left
            if not report.reading:
                report.notices.append(f"{reason}; {counted(report.stale, 'changed note')} not searched")

    def _take_in(self, wait: float, *, first: bool) -> int | None:
        """Write what differs, batch by batch; another process can take the lock between two batches.

        Returns:
            How many notes are left when the patience of a waiting answer ends; None if the lock could not be taken in
            time.
        """
        owner, budget, progress = self._index, self._budget, self._progress
        deadline = None if budget.patience is None or not first else time.monotonic() + budget.patience
        wanted = budget.wanted if first else None
        plan: intake.Batches | None = None
        while True:
            with owner.files.lock(wait) as held:
                if not held:
                    return None if plan is None else plan.behind
                connection = owner.connection()
                if plan is None:
                    plan = intake.Batches(connection, owner.vault, owner.limits, self._look, wanted)
                    if progress and plan.total > plan.batch:
                        progress(READING, 0, plan.total)
                left = plan.step(connection, self._report)
            if progress and plan.total > plan.batch:
                progress(READING, plan.done, plan.total)
            if not left:
                return 0
            if deadline is not None and (time.monotonic() >= deadline or plan.is_heavy):
                return plan.behind
            wait = WRITER_WAIT
            time.sleep(YIELD)

    def _is_implausible(self, stored: dict[str, bytes], difference: intake.Diff) -> bool:
        """Whether the sweep looks like an unmounted or emptied vault; adds a notice to the report if so.

        Notes that we removed ourselves, as ``undo`` of many writes does, are missing only for that reason, unless they
        were created again since.

        Raises:
            VaultError: (strict) it does.
        """
        report = self._report
        other_device = self._meta.get("device") not in (None, str(os.stat(self._index.vault.root).st_dev))

        def reason_without(ours: set[str]) -> str | None:
            missing = [path for path in difference.missing if path not in ours]
            others = intake.Diff(difference.added, difference.changed, missing, difference.unsure)
            return intake.brake(len(stored) - len(ours), len(self._look.found), others, other_device=other_device)

        reason = None if self._budget.override else reason_without(set())
        if reason is not None:
            with suppress(UnwritableError):  # without a journal nothing is known to be ours
                journal = vault.writing.journal.Journal(self._index.files.folder / "journal")
                removed = vault.writing.history.removed_notes(journal, frozenset(difference.missing))
                known = intake.stored(self._index.connection())  # another process may have dropped some since the sweep
                sizes = {path: database.STAMP.pack(size, 0, 0, 0)[:8] for path, size in removed.items()}
                reason = reason_without({path for path, size in sizes.items() if known.get(path, b"").startswith(size)})
        if reason is None:
            return False
        if self._budget.strict:
            raise VaultError(f"the vault {reason}", "if that is right, run reindex --full")
        report.stale = len(difference)
        report.unmounted = True
        stays = "missing notes aren't found, but the index keeps them (tars-memory reindex --full drops them)"
        report.notices.append(f"the vault {reason}; {stays}")
        return True


def _is_damage(error: Exception) -> bool:
    """Whether an error means damaged rows: SQLite reports it, or code of this folder failed to decode a row."""
    if database.damaged(error):
        return True
    if not isinstance(error, ValueError | TypeError | LookupError):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == os.path.dirname(__file__)


# --- upkeep: status and verification


MAX_DIFFERENCES = 100
"""Maximum number of differences reported; enough to see what is wrong, since the remedy is the same."""

ROWS = {
    "notes": (
        "SELECT n.path, n.tier, s.name, n.day, n.day_source, n.title, n.about, n.aliases, n.tags, n.links, n.lines,"
        " n.until, f.hash FROM notes n JOIN scopes s ON s.id = n.scope"
        " JOIN files f ON f.note = n.id AND f.path = n.path ORDER BY n.path"
    ),
    "chunks": (
        "SELECT n.path, c.position, c.tier, s.name, c.day, c.start_line, c.end_line, c.partial, c.hash, c.until,"
        " c.front, t.head, t.text, t.headings, t.block_id,"
        " (SELECT group_concat(tag) FROM (SELECT tag FROM chunk_tags g WHERE g.chunk = c.id ORDER BY tag))"
        " FROM chunks c JOIN notes n ON n.id = c.note JOIN scopes s ON s.id = c.scope"
        " JOIN chunk_texts t ON t.id = c.id ORDER BY n.path, c.position"
    ),
    "lines": (
        "SELECT n.path, c.position, l.place, l.number, l.indent, l.kind, l.state, l.block_id, l.speaker, l.source,"
        " l.since, l.until FROM lines l JOIN chunks c ON c.id = l.chunk JOIN notes n ON n.id = c.note"
        " ORDER BY n.path, c.position, l.place"
    ),
    "properties": (
        "SELECT n.path, p.key, p.value FROM properties p JOIN notes n ON n.id = p.note ORDER BY n.path, p.key, p.value"
    ),
    "facts": (
        "SELECT n.path, f.line, f.ref, f.subject, f.predicate, f.object, f.since, f.until, f.source"
        " FROM facts f JOIN notes n ON n.id = f.note ORDER BY n.path, f.line"
    ),
    "not indexed": "SELECT path, hash FROM files WHERE note IS NULL ORDER BY path",
    "counts": (
        "SELECT (SELECT count(*) FROM files WHERE note IS NOT NULL), (SELECT count(*) FROM notes),"
        " (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunk_texts), (SELECT count(*) FROM chunk_tags)"
    ),
    "words of chunks": "SELECT term, doc, cnt FROM temp.words_of_chunks ORDER BY term",
    "words of notes": (
        "SELECT v.term, CAST(n.path AS TEXT), v.col, v.offset FROM temp.words_of_notes v"
        " CROSS JOIN notes n ON n.id = v.doc ORDER BY v.term"
    ),
    "signs": (
        "SELECT v.term, CAST(n.path AS TEXT), CAST(c.position AS INTEGER), v.offset FROM temp.words_of_signs v"
        " CROSS JOIN chunks c ON c.id = v.doc CROSS JOIN notes n ON n.id = c.note ORDER BY v.term"
    ),
}
"""Name of a part → SQL of its rows; two indexes of the same vault must have equal rows. By path and position, never by
id."""

VOCABULARIES = {
    "words_of_chunks": "chunk_words, 'row'",
    "words_of_notes": "note_words, 'instance'",
    "words_of_signs": "chunk_signs, 'instance'",
}
"""Name of a temporary table of words → full-text table, and what a row stands for."""


def _status(owner: Index) -> dict[str, Any]:
    """Return the status of an index; never changes a row."""
    connection = owner.connection()
    path = owner.files.current()

    def number(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0])

    meta = database.meta(connection)
    chunks = number("SELECT count(*) FROM chunks")
    pending = index.vectors.pending(connection)
    tiers = {
        database.TIERS[tier]: count
        for tier, count in connection.execute("SELECT tier, count(*) FROM notes GROUP BY tier ORDER BY tier").fetchall()
    }
    return {
        **_status_without_index(owner),
        "path": str(path),
        "bytes": _size(path) if path else 0,
        "journal": str(connection.execute("PRAGMA journal_mode").fetchone()[0]),
        "notes": number("SELECT count(*) FROM notes"),
        "tiers": tiers,
        "scopes": number("SELECT count(*) FROM scopes") - 1,
        "without_own_date": number("SELECT count(*) FROM notes WHERE day_source = 'mtime'"),
        "chunks": chunks,
        "vectors": chunks - pending,
        "pending_vectors": pending,
        "model": meta.get("model"),
        "complete": meta.get("complete") == 1,
        "indexed": meta.get("indexed"),
    }


def _status_without_index(owner: Index) -> dict[str, Any]:
    """Return the status if there is no index and none can be created: what only an index knows is None."""
    cache = owner.cache / database.CACHE_FILE
    unknown = ("path", "bytes", "journal", "notes", "scopes", "without_own_date", "chunks", "vectors")
    return {
        **dict.fromkeys((*unknown, "pending_vectors", "model", "indexed")),
        "tiers": {},
        "version": database.VERSION,
        "complete": False,
        "cache_path": str(cache),
        "cache_bytes": _size(cache),
        **database.capabilities(),
    }


def _differences(connection: sqlite3.Connection, fresh: sqlite3.Connection) -> list[str]:
    """Return the first difference in each part of two indexes, as a sentence."""
    found: list[str] = []
    for (name, stored), (_, rebuilt) in zip(rows(connection), rows(fresh), strict=True):
        for old, new in zip_longest(stored, rebuilt):
            if old != new:
                found.append(f"{name}: {_short(old)} is stored, {_short(new)} would be")
                break  # the rows that follow usually differ for the same reason
    return found


def rows(connection: sqlite3.Connection) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    """Yield (part, rows in a fixed order) of an index, for :data:`ROWS`; equal for equal vaults."""
    for name, source in VOCABULARIES.items():
        connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        connection.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab (main, {source})")
    for name, sql in ROWS.items():
        cursor = connection.execute(sql)
        # The full text has its terms in order. SQLite would sort their places all at once, in memory: 700 MB for 60 MB
        # of notes. The places of one frequent term alone would take a hundred.
        by_term = ((term, *_summed(places)) for term, places in groupby(cursor, key=itemgetter(0)))
        yield name, by_term if sql.endswith(" ORDER BY v.term") else cursor
        cursor.close()  # a cursor that was not read to the end would keep its tables locked
    for name in VOCABULARIES:
        connection.execute(f"DROP TABLE IF EXISTS temp.{name}")


def _summed(places: Iterable[tuple[Any, ...]]) -> tuple[int, int]:
    """Return the number of places, and a sum of them that doesn't depend on their order (but on the process)."""
    hashes = [*map(hash, places)]
    return len(hashes), sum(hashes)


def _wrong_vectors(connection: sqlite3.Connection, cache: Path) -> list[str]:
    """Return a sentence each about vectors in the index that differ from the cache or are missing."""
    model = database.meta(connection).get("model")
    if model is None or not (cache / database.CACHE_FILE).exists():
        return []
    with closing(index.vectors.VectorCache(cache)) as store:
        number = store.known_model(str(model))
        if number is None:
            return []
        wrong = lost = last = 0
        while page := connection.execute(
            "SELECT c.id, c.hash, v.vector, b.bits FROM chunks c LEFT JOIN chunk_vectors v ON v.chunk = c.id"
            " LEFT JOIN chunk_bits b ON b.chunk = c.id WHERE c.embedded = 1 AND c.id > ? ORDER BY c.id LIMIT 1000",
            (last,),
        ).fetchall():
            last = page[-1][0]
            known = store.get(number, [digest for _, digest, *_ in page])
            small = index.vectors.quantized([vector for vector, _ in known.values()])
            expected = {digest: (one, index.vectors.signs(one)) for digest, one in zip(known, small, strict=True)}
            held = [(digest, (vector, bits)) for _, digest, vector, bits in page if vector is not None]
            wrong += sum(pair != expected.get(digest, pair) for digest, pair in held)
            lost += len(page) - len(held)
    found = [f"vectors: {wrong} differ from those in the cache"] if wrong else []
    return [*found, f"vectors: {lost} are missing in the index of neighbours"] if lost else found


def _size(path: Path) -> int:
    """Return the size of a database with its write-ahead log, in bytes."""
    total = 0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            total += path.with_name(path.name + suffix).stat().st_size
    return total


def _short(row: object) -> str:
    """Return a row as text of at most about 200 characters."""
    return shortened("nothing" if row is None else repr(row), 200)
