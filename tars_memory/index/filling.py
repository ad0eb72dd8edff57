"""Vectors for chunks that have none: from the cache where their text was embedded before, else from the model.

Texts are embedded outside any lock; only the rows of a page are written under it. One process embeds at a time.

Where another model is set, its vectors are made into the cache first, those of the old one answer until none is
missing; then the index is filled with the new ones at once.

The cache keeps (model, hash of the text) → vector and words' bits in a file that survives every rebuild. It holds no
text. A damaged one is put aside by making a new one; what is lost is embedded again.
"""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tars_memory.index import database, vectors
from tars_memory.index.chunking import embedded_text
from tars_memory.index.database import ALWAYS_LOADED, TIERS
from tars_memory.index.embedding.models import LATIN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.index.files import IndexFiles


PAGE = 256
"""Vectors that are kept in one transaction: some seconds of work that a kill can lose."""
STEP = 16
"""Vectors after which progress is told: half a second of work, so that the time left is not a guess after a moment."""
FILL_PAGE = 2_000
"""The same where they come from the cache."""
LOCK_WAIT = 30.0
FIRST = f"tier NOT IN ({', '.join(str(TIERS.index(tier)) for tier in ALWAYS_LOADED)}), position > 0, day DESC, id"
"""The order in which a vault's chunks are given vectors: the notes that every prompt begins with, the first passage of
each other note, which says what it is about, then the newest."""


def embed(
    connection: sqlite3.Connection,
    files: IndexFiles,
    cache: Path,
    open_embedder: Callable[[], Embedder],
    limit: int | None,
    progress: Callable[[str, int, int], None] | None,
    newest: int | None = None,
    wait: float = LOCK_WAIT,
) -> int:
    """Fill in what is pending; ``limit`` texts at most go through the model.

    With ``newest`` so many of the newest chunks get a vector, the newest first; else all do. Where another process
    writes to the index for longer than ``wait`` seconds they stay pending.

    Returns how many texts are still to be embedded before the vectors of another model make way; 0 at once if another
    process is at it.

    Raises:
        ModelUnavailableError: the model can't be used.
    """
    with files.lock(0.0, "embed.lock") as held:
        if not held:
            return 0
        work = _Work(connection, files, open_embedder(), progress, newest, wait)
        _with_cache(cache, lambda store: work.fill(store, limit))
        return work.ahead


class _Work:
    """Gives vectors to the chunks of one index.

    Attributes:
        ahead: texts still to be embedded before the vectors of another model make way.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        files: IndexFiles,
        embedder: Embedder,
        progress: Callable[[str, int, int], None] | None,
        newest: int | None,
        wait: float,
    ) -> None:
        self.connection = connection
        self.files = files
        self.embedder = embedder
        self.progress = progress
        self.newest = newest
        self.wait = wait
        self.ahead = 0

    def fill(self, store: VectorCache, limit: int | None) -> None:
        """From a cache, else from the model."""
        connection, embedder, newest = self.connection, self.embedder, self.newest
        model = store.model(embedder.fingerprint, embedder.dimension)
        if _answered_by_another(connection, embedder.fingerprint):
            known = "latin" if embedder.scripts == LATIN else "1"
            every = _chunks(connection, known if newest is None else f"{known} AND {vectors.among(newest)}", newest)
            lacking = {digest: every[digest] for digest in store.missing(model, every)}
            self._embed(store, model, lacking, limit, placed=False)
            self.ahead = max(0, len(lacking) - (len(lacking) if limit is None else limit))
            if self.ahead:
                return
        with self.files.lock(self.wait) as mine:
            if not mine:
                return
            with database.transaction(connection):
                prepare(connection, embedder.fingerprint, embedder.dimension, store.identity)
                if embedder.scripts == LATIN:
                    leave_out(connection)
            _fill(connection, store, model, newest)
        lacking = _chunks(connection, vectors.lacking(newest), newest)
        self._embed(store, model, lacking, limit, placed=True)

    def _embed(
        self, store: VectorCache, model: int, wanted: dict[bytes, list[int]], limit: int | None, *, placed: bool
    ) -> None:
        """Embed the texts of these hashes into the cache and, if they are to be ``placed``, into the index."""
        digests = list(wanted)[:limit]
        done, before = 0, 0
        source, order = _passages(self.connection, wanted, digests)
        made = iter(self.embedder.embed_passages(source))
        if self.progress and digests:
            self.progress("vectors", 0, len(digests))
        while True:
            page: list[tuple[bytes, bytes, bytes]] = []
            for embedded in islice(made, PAGE):
                digest = order.popleft()
                done += 1
                if self.progress and (done % STEP == 0 or done == len(digests)):
                    self.progress("vectors", done, len(digests))
                if vectors.is_usable(embedded.vector, self.embedder.dimension):
                    words = len(embedded.counts).to_bytes(2, "little") + embedded.counts + embedded.bits
                    page.append((digest, embedded.vector, words))
            if not page and done == before:
                return
            before = done
            if placed and not _answers(self.connection, self.files):
                return  # made anew meanwhile: what it held may be forgotten
            store.put(model, page)
            if not placed:
                continue
            with self.files.lock(self.wait) as mine:
                if mine:
                    rows = [(chunk, vector) for digest, vector, _ in page for chunk in wanted[digest]]
                    with database.transaction(self.connection):
                        vectors.place(self.connection, rows, self.newest)


def _answered_by_another(connection: sqlite3.Connection, fingerprint: str) -> bool:
    """Whether the index holds vectors of another model."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
    some = "SELECT 1 FROM chunks WHERE embedded IN (1, 2) LIMIT 1"
    return row is not None and row[0] != fingerprint and connection.execute(some).fetchone() is not None


def restore(
    connection: sqlite3.Connection, cache: Path, fingerprint: str, dimension: int, newest: int | None = None
) -> None:
    """Fill a new index file from the cache, without a model; nobody else writes it meanwhile."""

    def fill(store: VectorCache) -> None:
        with database.transaction(connection):
            prepare(connection, fingerprint, dimension, store.identity)
        _fill(connection, store, store.model(fingerprint, dimension), newest)

    _with_cache(cache, fill)


def _with_cache(cache: Path, fill: Callable[[VectorCache], None]) -> None:
    """Fill in from the cache; once more from a new one if it turns out to be damaged."""
    store = VectorCache(cache)
    try:
        try:
            fill(store)
        except database.driver().module.DatabaseError as error:
            if not database.damaged(error) or store.is_whole():
                raise
            store.start_over()
            fill(store)
    finally:
        store.close()


def prepare(connection: sqlite3.Connection, fingerprint: str, dimension: int, cache: str) -> None:
    """Make the index ready for vectors of a model: begun anew for another model or cache, or when bloated.

    Belongs inside a transaction.
    """
    meta = dict(
        connection.execute("SELECT key, value FROM meta WHERE key IN ('model', 'dimension', 'cache', 'knn')").fetchall()
    )
    same = meta.get("model") == fingerprint and meta.get("dimension") == dimension and meta.get("cache") == cache
    if not same:
        values = [("model", fingerprint), ("dimension", dimension), ("cache", cache)]
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
    if not vectors.load(connection):
        if not same:  # the KNN index can't be emptied from here: whoever can is told to
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('knn', 'other model')")
            connection.execute("UPDATE chunks SET embedded = 0 WHERE embedded <> 0")
        return
    if not same or "knn" in meta or not vectors.has_table(connection):
        vectors.start(connection, dimension)
        connection.execute("DELETE FROM meta WHERE key = 'knn'")
        return
    vectors.clear_garbage(connection)
    if vectors.is_bloated(connection):
        vectors.start(connection, dimension)


def leave_out(connection: sqlite3.Connection) -> None:
    """Mark the chunks in other scripts than Latin as such that the model can't read. Belongs inside a transaction."""
    other = "latin = 0 AND embedded <> 3"
    held = connection.execute(f"SELECT id FROM chunks WHERE {other} AND embedded = 1").fetchall()
    if held and vectors.load(connection):
        vectors.take_out(connection, held)
    elif held:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('knn', 'other scripts')")
    connection.execute(f"UPDATE chunks SET embedded = 3 WHERE {other}")


def _fill(connection: sqlite3.Connection, store: VectorCache, model: int, newest: int | None = None) -> None:
    """Take over what the cache holds; we hold the lock."""
    last = 0
    while True:
        rows: list[tuple[int, bytes]] = connection.execute(
            f"SELECT id, hash FROM chunks WHERE {vectors.lacking(newest)} AND id > ? ORDER BY id LIMIT ?",
            (last, FILL_PAGE),
        ).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        known = store.get(model, [digest for _, digest in rows])
        if known:
            with database.transaction(connection):
                found = [(chunk, known[digest][0]) for chunk, digest in rows if digest in known]
                vectors.place(connection, found, newest)


def _answers(connection: sqlite3.Connection, files: IndexFiles) -> bool:
    """Whether the file of a connection is still the one that answers."""
    row = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
    current = files.current()
    return current is not None and row is not None and os.path.realpath(row[0]) == os.path.realpath(current)


def _chunks(connection: sqlite3.Connection, which: str = "1", newest: int | None = None) -> dict[bytes, list[int]]:
    """Hash of every text → the chunks that have it, what is needed first before all others, or the newest first."""
    chunks: dict[bytes, list[int]] = {}
    order = FIRST if newest is None else vectors.NEWEST_FIRST
    for chunk, digest in connection.execute(f"SELECT id, hash FROM chunks WHERE {which} ORDER BY {order}"):
        chunks.setdefault(digest, []).append(chunk)
    return chunks


def _passages(
    connection: sqlite3.Connection, wanted: dict[bytes, list[int]], digests: Sequence[bytes]
) -> tuple[Iterator[str], deque[bytes]]:
    """The texts, read as the model asks for them, and the hashes of those handed out."""
    order: deque[bytes] = deque()

    def texts() -> Iterator[str]:
        for digest in digests:
            row = connection.execute("SELECT head, text FROM chunk_texts WHERE id = ?", (wanted[digest][0],)).fetchone()
            if row is None:
                continue  # the note changed in the meantime
            order.append(digest)
            yield embedded_text(*row)

    return texts(), order


_PAGE = 500
"""Hashes asked for in one statement."""


class VectorCache:
    """The open cache.

    Args:
        folder: the program's cache folder; made if missing.

    Attributes:
        identity: a random name that the file got when it was made: another name, another cache.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / database.CACHE_FILE
        try:
            self._open()
        except (database.IndexDamagedError, database.driver().module.DatabaseError) as error:
            if not database.damaged(error):
                raise
            self.start_over()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def model(self, fingerprint: str, dimension: int) -> int:
        """The number under which a model's vectors are kept."""
        self._connection.execute(
            "INSERT INTO models (fingerprint, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING", (fingerprint, dimension)
        )
        row = self._connection.execute("SELECT id FROM models WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return int(row[0])

    def known_model(self, fingerprint: str) -> int | None:
        """The number of a model, None if nothing was ever embedded with it."""
        row = self._connection.execute("SELECT id FROM models WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return int(row[0]) if row else None

    def get(self, model: int, hashes: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """The vectors that are there, with their words; a row with a flipped bit counts as not there."""
        found: dict[bytes, tuple[bytes, bytes]] = {}
        for start in range(0, len(hashes), _PAGE):
            some = hashes[start : start + _PAGE]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT hash, vector, words, crc FROM vectors WHERE model = ? AND hash IN ({marks})", (model, *some)
            )
            for digest, vector, words, crc in rows:
                if crc32(words, crc32(vector)) == crc:
                    found[digest] = (vector, words)
        return found

    def missing(self, model: int, hashes: Iterable[bytes]) -> list[bytes]:
        """Those hashes, each once and in order, that have no vector yet."""
        wanted = list(dict.fromkeys(hashes))
        known: set[bytes] = set()
        for start in range(0, len(wanted), _PAGE):
            some = wanted[start : start + _PAGE]
            marks = ",".join("?" * len(some))
            sql = f"SELECT hash FROM vectors WHERE model = ? AND hash IN ({marks})"
            known.update(digest for (digest,) in self._connection.execute(sql, (model, *some)))
        return [digest for digest in wanted if digest not in known]

    def put(self, model: int, rows: Sequence[tuple[bytes, bytes, bytes]]) -> None:
        """Keep (hash, vector, words) rows, in one transaction."""
        values = [(model, digest, vector, words, crc32(words, crc32(vector))) for digest, vector, words in rows]
        with database.transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM vectors WHERE model = ? AND hash = ?", [row[:2] for row in values]
            )
            self._connection.executemany(
                "INSERT INTO vectors (model, hash, vector, words, crc) VALUES (?, ?, ?, ?, ?)", values
            )

    def drop(self, hashes: Iterable[bytes]) -> None:
        """Take the vectors of these texts out, of every model; their bytes are written over."""
        self._connection.execute("PRAGMA secure_delete = ON")
        with database.transaction(self._connection):
            self._connection.executemany("DELETE FROM vectors WHERE hash = ?", [(digest,) for digest in hashes])

    def hashes(self) -> set[bytes]:
        """The hashes of all texts whose vectors it holds, of any model."""
        return {bytes(digest) for (digest,) in self._connection.execute("SELECT DISTINCT hash FROM vectors")}

    def count(self) -> int:
        """How many vectors it holds, of all models."""
        return int(self._connection.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def is_whole(self) -> bool:
        """Whether SQLite finds no damage in the file; it reads all of it."""
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        except database.driver().module.DatabaseError as error:
            if not database.damaged(error):
                raise
            return False
        return found is not None and found[0] == "ok"

    def start_over(self) -> None:
        """Put a new file in the place of a damaged one. It never had a write-ahead log: its name can be used again."""
        connection: Any = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        self.path.unlink(missing_ok=True)
        self.path.with_name(self.path.name + "-journal").unlink(missing_ok=True)
        self._open()

    def _open(self) -> None:
        if not self.path.exists():
            self._create()
        self._connection: sqlite3.Connection = database.connect(self.path)
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version != database.CACHE_VERSION:
            raise database.IndexDamagedError(f"{self.path.name} is of version {version}")
        self.identity = str(self._connection.execute("SELECT name FROM identity").fetchone()[0])
        self._connection.execute("SELECT id, fingerprint, dimension FROM models LIMIT 1").fetchone()

    def _create(self) -> None:
        """Make the file under a name of our own and link it into place: two processes may do so at once."""
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        database.create(temporary)
        connection = database.connect(temporary)
        try:
            connection.executescript("BEGIN;" + database.CACHE + "COMMIT;")
        finally:
            connection.close()
        if self.path.exists():
            temporary.unlink()
        else:
            temporary.replace(self.path)
