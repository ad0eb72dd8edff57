"""Vectors: given to chunks that have none, from the cache where their text was embedded before, else from the model;
a query's vector, and its nearest neighbours.

Texts are embedded outside any lock; only the rows of a page are written under it. One process embeds at a time.

Where another model is set, its vectors are made into the cache first, those of the old one answer until none is
missing; then the index is filled with the new ones at once.

The cache keeps (model, hash of the text) → vector and words' bits in a file that survives every rebuild. It holds no
text. A damaged one is put aside by making a new one; what is lost is embedded again.

The truth of a vector is its row in the cache. ``chunk_vectors``, a rebuildable index by ``vec0``, has a byte for each
of its numbers, a quarter of the space: enough to name the neighbours, whose cosines are then computed from the cache.
The bits of the words are read from the cache, too, for the few candidates that want them. Where sqlite-vec does not
load, the cache is compared row by row: the same neighbours, by numpy if it is installed and in plain Python otherwise.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import sys
from array import array
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from tars_memory.disk import read, replace, sha256
from tars_memory.errors import SettingsError
from tars_memory.index import database, models
from tars_memory.index.database import ALWAYS_LOADED, TIERS, Progress

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tars_memory.index.files import IndexFiles
    from tars_memory.index.passages import Embedder


Filled = TypeVar("Filled")

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
    progress: Progress | None,
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
        return _with_cache(cache, lambda store: work.fill(store, limit))


class _Work(NamedTuple):
    """Gives vectors to the chunks of one index; see :func:`embed`."""

    connection: sqlite3.Connection
    files: IndexFiles
    embedder: Embedder
    progress: Progress | None
    newest: int | None
    wait: float

    def fill(self, store: VectorCache, limit: int | None) -> int:
        """From a cache, else from the model; returns what :func:`embed` does."""
        connection, embedder, newest = self.connection, self.embedder, self.newest
        model = store.model(embedder.fingerprint, embedder.dimension)
        if _answered_by_another(connection, embedder.fingerprint):
            known = "latin" if embedder.scripts == models.LATIN else "1"
            every = _chunks(connection, known if newest is None else f"{known} AND {among(newest)}", newest)
            missing = {digest: every[digest] for digest in store.missing(model, every)}
            self._embed(store, model, missing, limit, placed=False)
            if limit is not None and limit < len(missing):
                return len(missing) - limit
        with self.files.lock(self.wait) as mine:
            if not mine:
                return 0
            with database.transaction(connection):
                prepare(connection, embedder.fingerprint, embedder.dimension, store.identity)
                if embedder.scripts == models.LATIN:
                    leave_out(connection)
            _fill(connection, store, model, newest)
        self._embed(store, model, _chunks(connection, lacking(newest), newest), limit, placed=True)
        return 0

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
                if is_usable(embedded.vector, self.embedder.dimension):
                    words = len(embedded.counts).to_bytes(2, "little") + embedded.counts + embedded.bits
                    page.append((digest, embedded.vector, words))
            if not page and done == before:
                return
            before = done
            if placed and not _answers(self.connection, self.files):
                return  # rebuilt meanwhile: what it held may be forgotten
            store.put(model, page)
            if not placed:
                continue
            with self.files.lock(self.wait) as mine:
                if mine:
                    rows = [(chunk, vector) for digest, vector, _ in page for chunk in wanted[digest]]
                    with database.transaction(self.connection):
                        place(self.connection, rows, self.newest)


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


def _with_cache(cache: Path, fill: Callable[[VectorCache], Filled]) -> Filled:
    """Fill in from the cache; once more from a new one if it turns out to be damaged."""
    store = VectorCache(cache)
    try:
        try:
            return fill(store)
        except database.driver().module.DatabaseError as error:
            if not database.damaged(error) or store.is_whole():
                raise
            store.start_over()
            return fill(store)
    finally:
        store.close()


def prepare(connection: sqlite3.Connection, fingerprint: str, dimension: int, cache: str) -> None:
    """Make the index ready for vectors of a model: begun again for another model or cache, or when bloated.

    Belongs inside a transaction.
    """
    meta = dict(
        connection.execute("SELECT key, value FROM meta WHERE key IN ('model', 'dimension', 'cache', 'knn')").fetchall()
    )
    same = meta.get("model") == fingerprint and meta.get("dimension") == dimension and meta.get("cache") == cache
    if not same:
        values = [("model", fingerprint), ("dimension", dimension), ("cache", cache)]
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
    if not load(connection):
        if not same:  # the KNN index can't be emptied from here: whoever can is told to
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('knn', 'other model')")
            connection.execute("UPDATE chunks SET embedded = 0 WHERE embedded <> 0")
        return
    if not same or "knn" in meta or not has_table(connection):
        start(connection, dimension)
        connection.execute("DELETE FROM meta WHERE key = 'knn'")
        return
    clear_garbage(connection)
    if is_bloated(connection):
        start(connection, dimension)


def leave_out(connection: sqlite3.Connection) -> None:
    """Mark the chunks in other scripts than Latin as such that the model can't read. Belongs inside a transaction."""
    other = "latin = 0 AND embedded <> 3"
    held = connection.execute(f"SELECT id FROM chunks WHERE {other} AND embedded = 1").fetchall()
    if held and load(connection):
        take_out(connection, held)
    elif held:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('knn', 'other scripts')")
    connection.execute(f"UPDATE chunks SET embedded = 3 WHERE {other}")


def _fill(connection: sqlite3.Connection, store: VectorCache, model: int, newest: int | None = None) -> None:
    """Take over what the cache holds; we hold the lock."""
    last = 0
    while True:
        rows: list[tuple[int, bytes]] = connection.execute(
            f"SELECT id, hash FROM chunks WHERE {lacking(newest)} AND id > ? ORDER BY id LIMIT ?",
            (last, FILL_PAGE),
        ).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        known = store.get(model, [digest for _, digest in rows])
        if known:
            with database.transaction(connection):
                found = [(chunk, known[digest][0]) for chunk, digest in rows if digest in known]
                place(connection, found, newest)


def _answers(connection: sqlite3.Connection, files: IndexFiles) -> bool:
    """Whether the file of a connection is still the one that answers."""
    row = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
    current = files.current()
    return current is not None and row is not None and os.path.realpath(row[0]) == os.path.realpath(current)


def _chunks(connection: sqlite3.Connection, which: str = "1", newest: int | None = None) -> dict[bytes, list[int]]:
    """Hash of every text → the chunks that have it, what is needed first before all others, or the newest first."""
    chunks: dict[bytes, list[int]] = {}
    order = FIRST if newest is None else NEWEST_FIRST
    for chunk, digest in connection.execute(f"SELECT id, hash FROM chunks WHERE {which} ORDER BY {order}"):
        chunks.setdefault(digest, []).append(chunk)
    return chunks


def _passages(
    connection: sqlite3.Connection, wanted: dict[bytes, list[int]], digests: Sequence[bytes]
) -> tuple[Iterator[str], deque[bytes]]:
    """The texts, read as the model asks for them, and the hashes of those handed out."""
    from tars_memory.index.chunking import embedded_text

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
        rows = self._held("hash, vector, words, crc", model, hashes)
        return {digest: (vector, words) for digest, vector, words, crc in rows if crc32(words, crc32(vector)) == crc}

    def missing(self, model: int, hashes: Iterable[bytes]) -> list[bytes]:
        """Those hashes, each once and in order, that have no vector yet."""
        wanted = list(dict.fromkeys(hashes))
        known = {digest for (digest,) in self._held("hash", model, wanted)}
        return [digest for digest in wanted if digest not in known]

    def _held(self, columns: str, model: int, hashes: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows that there are of these texts."""
        for start in range(0, len(hashes), _PAGE):
            some = hashes[start : start + _PAGE]
            marks = ",".join("?" * len(some))
            sql = f"SELECT {columns} FROM vectors WHERE model = ? AND hash IN ({marks})"
            yield from self._connection.execute(sql, (model, *some))

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


# -- nearest neighbours

MMAP_BYTES = 64 << 20
"""Reading vectors through a mapping takes a fifth off a KNN, but every mapped page counts as memory of the process:
the vectors of 40,000 chunks are worth it, those of 150,000 (230 MB) are not. Nothing else is read so: a mapped page is
not kept, and checked each time that a row is read from it, which made searches by words twice as slow."""
MAX_K = 4096
"""sqlite-vec's own limit of neighbours."""
TIES = 8
"""Neighbours compared beyond k: two that are equally near must come out the same whoever computed them."""
DIGITS = 6
"""Decimals of a cosine; float32 sums in another order differ in the seventh."""
ROUGH, ROUGH_SHARE = 16, 8
"""Neighbours asked for beyond k: so many, or one for so many that are wanted. Bytes tell only nearly which are nearest:
of 100 neighbours among 4,000 passages they miss up to two (MiniLM, e5), with 16 more at most four in 10,000."""
PEAK = 4.9
"""The largest number that a byte stands for, in standard deviations of the numbers of a vector of length 1; of those
of MiniLM and e5 three in a million are larger."""
PYTHON = 64
"""Vectors made small in plain Python before numpy is worth importing for it."""
MANY = 100_000
"""Passages from which on neighbours are looked for by the signs of their numbers first: so many cost 16 ms of a
processor instead of 46, and a ninth of what is read."""
SHORTLIST = 1_000
"""The nearest by signs whose cosines are computed then: of the ten nearest of 100,000 they lack 2 in 1,000."""
READ = 1024
"""Vectors of the cache that are compared at once."""
BLOAT = 1.5
"""Blocks held against blocks needed above which the KNN index is rebuilt."""

NEWEST_FIRST = "day DESC, id DESC"
NEIGHBOURS = 10_000
"""Of conversations so many of the newest passages stand in the KNN index: 5 ms of a processor. The vectors of older
ones stay in the cache alone; what words name of them is ordered by meaning as well."""


def pending(connection: sqlite3.Connection, newest: int | None = None) -> int:
    """How many chunks, of so many of the newest if that is said, have no vector yet that this driver can compare."""
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {lacking(newest)}").fetchone()[0])


def lacking(newest: int | None = None) -> str:
    """The chunks without a vector; where sqlite-vec is at hand, one in the cache alone is still to be filled in."""
    without = "embedded = 0" if database.driver().vec is None else "embedded <> 1 AND embedded <> 3"
    if newest is None:
        return without
    if newest > NEIGHBOURS:
        without = f"{without} AND (embedded = 0 OR {among(NEIGHBOURS)})"
    return f"{without} AND {among(newest)}"


def among(newest: int) -> str:
    """The condition that a chunk is one of so many of the newest."""
    return f"id IN (SELECT id FROM chunks ORDER BY {NEWEST_FIRST} LIMIT {newest})"


def floats(vector: bytes) -> array[float]:
    """A stored float32 vector as numbers."""
    numbers = array("f")
    numbers.frombytes(vector)
    return numbers


def is_usable(vector: bytes, dimension: int) -> bool:
    """Whether a vector has the right length and a direction: no NaN, no infinity, not zero."""
    if len(vector) != 4 * dimension:
        return False
    square = math.fsum(number * number for number in floats(vector))
    return math.isfinite(square) and square > 1e-12


def small(vectors: Sequence[bytes]) -> list[bytes]:
    """Float32 vectors of one dimension with a byte (int8) for each number."""
    if not vectors:
        return []
    factor = _factor(len(vectors[0]) // 4)
    if ("numpy" in sys.modules or len(vectors) > PYTHON) and (numpy := _numpy()) is not None:
        matrix = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1).astype("f8")
        return [row.tobytes() for row in numpy.rint(matrix * factor).clip(-127, 127).astype("i1")]
    return [
        array("b", [max(-127, min(127, round(number * factor))) for number in floats(vector)]).tobytes()
        for vector in vectors
    ]


def _factor(dimension: int) -> float:
    """What a number of a vector of length 1 is multiplied by, to be a byte."""
    return max(1.0, math.sqrt(dimension) / PEAK) * 127


def load(connection: sqlite3.Connection) -> bool:
    """Make sqlite-vec's functions known to a connection, once; False where this driver has none."""
    library = database.driver().vec
    if library is None:
        return False
    try:
        connection.execute("SELECT vec_version()")
    except database.driver().module.OperationalError:
        database.load_vec(connection, library)
    return True


def has_table(connection: sqlite3.Connection) -> bool:
    """Whether the KNN index exists in the file."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunk_vectors'").fetchone() is not None


def start(connection: sqlite3.Connection, dimension: int) -> None:
    """Make the KNN index empty; every chunk is then to be filled in. Belongs inside a transaction."""
    connection.execute("DROP TABLE IF EXISTS chunk_vectors")
    connection.execute(database.VECTORS.format(dimension=dimension, block=database.BLOCK))
    connection.execute("DELETE FROM chunk_bits")
    connection.execute("DELETE FROM vector_garbage")
    connection.execute("UPDATE chunks SET embedded = 0 WHERE embedded <> 0")


def place(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]], newest: int | None = None) -> None:
    """Mark chunks as having their vector, and put it into the KNN index if there is one and it is to hold them.

    Belongs inside a transaction.

    Args:
        connection: of the index.
        rows: (chunk, vector).
        newest: how many of the newest chunks get a vector, where not all do.
    """
    apart: set[int] = set()
    if not load(connection):
        apart = {chunk for chunk, _ in rows}
    elif newest is not None and newest > NEIGHBOURS:
        old = (
            f"SELECT j.value FROM json_each(?) j WHERE j.value NOT IN (SELECT id FROM chunks WHERE {among(NEIGHBOURS)})"
        )
        apart = {int(chunk) for (chunk,) in connection.execute(old, (json.dumps([chunk for chunk, _ in rows]),))}
    sql = "UPDATE chunks SET embedded = 2 WHERE id = ? AND embedded = 0"
    connection.executemany(sql, [(chunk,) for chunk in apart])
    fill(connection, [row for row in rows if row[0] not in apart])


def fill(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Put (chunk, vector) rows into the KNN index; chunks that are gone meanwhile are passed over.

    Belongs inside a transaction.
    """
    for (chunk, _), vector in zip(rows, small([vector for _, vector in rows]), strict=True):
        place = connection.execute("SELECT tier, day, scope, embedded FROM chunks WHERE id = ?", (chunk,)).fetchone()
        if place is None:
            continue
        tier, day, scope, embedded = place
        if embedded == 1:
            take_out(connection, [(chunk,)])
        connection.execute(
            "INSERT INTO chunk_vectors (chunk, vector, tier, day, scope) VALUES (?, vec_int8(?), ?, ?, ?)",
            (chunk, vector, tier, day, scope),
        )
        connection.execute(
            "INSERT INTO chunk_bits VALUES (?, ?, ?, ?, vec_quantize_binary(vec_int8(?)))",
            (chunk, tier, day, scope, vector),
        )
        connection.execute("UPDATE chunks SET embedded = 1 WHERE id = ?", (chunk,))


def take_out(connection: sqlite3.Connection, chunks: Sequence[tuple[int]]) -> None:
    """Take chunks out of the KNN index. Belongs inside a transaction."""
    for table in ("chunk_vectors", "chunk_bits"):
        connection.executemany(f"DELETE FROM {table} WHERE chunk = ?", chunks)


def clear_garbage(connection: sqlite3.Connection) -> None:
    """Take the vectors of chunks that are gone out of the KNN index. Belongs inside a transaction."""
    take_out(connection, connection.execute("SELECT chunk FROM vector_garbage").fetchall())
    connection.execute("DELETE FROM vector_garbage")


def is_bloated(connection: sqlite3.Connection) -> bool:
    """Whether deletes left so much unused space that the KNN index should be rebuilt."""
    blocks = int(connection.execute("SELECT count(*) FROM chunk_vectors_chunks").fetchone()[0])
    rows = int(connection.execute("SELECT count(*) FROM chunk_vectors_rowids").fetchone()[0])
    return blocks > BLOAT * (rows // database.BLOCK + 1) + 1


def knn(
    connection: sqlite3.Connection, vector: bytes, conditions: Sequence[str], values: Sequence[Any], k: int
) -> list[tuple[int, float]]:
    """The nearest chunks by sqlite-vec as (chunk, cosine, nearly), in no order; some more than k.

    ``conditions`` are SQL on the metadata columns and ``chunk``, applied inside the KNN; ``values`` are what their
    question marks stand for.
    """
    where = "".join(f" AND {condition}" for condition in conditions)
    connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
    rows = connection.execute(
        f"SELECT chunk, distance FROM chunk_vectors WHERE vector MATCH vec_int8(?) AND k = ?{where}",
        (*small([vector]), min(k + max(ROUGH, k // ROUGH_SHARE), MAX_K), *values),
    ).fetchall()
    connection.execute("PRAGMA mmap_size = 0")
    twice = 2 * _factor(len(vector) // 4) ** 2
    return [(int(chunk), 1.0 - float(distance) ** 2 / twice) for chunk, distance in rows]


def knn_of_many(
    connection: sqlite3.Connection, vector: bytes, conditions: Sequence[str], values: Sequence[Any], k: int
) -> list[tuple[int, float]]:
    """As :func:`knn`, by the signs of the numbers alone: :data:`SHORTLIST` chunks at least, among them the nearest.

    A table of its own is read, not vec0's: that looks through a block again for each neighbour that is wanted.
    """
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        "SELECT chunk, vec_distance_hamming(vec_bit(bits), vec_quantize_binary(vec_int8(?))) far FROM chunk_bits"
        f"{where} ORDER BY far LIMIT ?",
        (*small([vector]), *values, max(k, SHORTLIST)),
    )
    angle = math.pi / (len(vector) // 4)
    return [(int(chunk), math.cos(angle * far)) for chunk, far in rows]


def nearest(found: Iterable[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """The k best of (chunk, cosine) pairs, best first; equally near ones in order of their numbers."""
    return sorted(found, key=lambda pair: (-round(pair[1], DIGITS), pair[0]))[:k]


def compare(vector: bytes, rows: Iterable[tuple[int, bytes]], k: int) -> list[tuple[int, float]]:
    """The k nearest of (chunk, vector) rows, exactly, without sqlite-vec."""
    scored = (pair for block in _blocks(rows) for pair in zip(block[0], _cosines(vector, block[1]), strict=True))
    return nearest(heapq.nlargest(k + TIES, scored, key=lambda pair: (pair[1], -pair[0])), k)


def _blocks(rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[list[int], list[bytes]]]:
    chunks: list[int] = []
    vectors: list[bytes] = []
    for chunk, vector in rows:
        chunks.append(chunk)
        vectors.append(vector)
        if len(chunks) == READ:
            yield chunks, vectors
            chunks, vectors = [], []
    if chunks:
        yield chunks, vectors


def _numpy() -> Any:
    """None where it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _cosines(vector: bytes, others: list[bytes]) -> list[float]:
    """Cosine of one float32 vector to others."""
    numpy = _numpy()
    if numpy is None:
        query = floats(vector)
        length = math.sqrt(math.fsum(number * number for number in query)) or 1.0
        found = []
        for other in map(floats, others):
            dot = math.fsum(map(float.__mul__, query, other))
            found.append(dot / (length * (math.sqrt(math.fsum(map(float.__mul__, other, other))) or 1.0)))
        return found
    matrix = numpy.frombuffer(b"".join(others), dtype="<f4").reshape(len(others), -1)
    asked = numpy.frombuffer(vector, dtype="<f4")
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", matrix, matrix)) * (float(numpy.linalg.norm(asked)) or 1.0)
    cosines: list[float] = (matrix @ asked / numpy.where(lengths == 0, 1, lengths)).astype(float).tolist()
    return cosines


# --- the vector of a query, by the cheapest way that gives it: remembered, of a process that holds the model, the model
#
# A remembered vector costs one small file read and imports nothing heavy. The memory is best effort: what can't be
# read or was damaged is made again, what can't be written is not written. A file a query needs no lock, no driver, and
# can't damage its neighbours.


FOLDER = "queries"
KEPT = 2_000
"""Query vectors kept; 3 MB of content. The oldest go first."""


class QueryVectors:
    """Query vectors of one model.

    The model is opened by a query that isn't remembered. The first time it is closed again, so that a process which
    asks once doesn't hold 46 MB of weights while it searches; from the second on it stays open.
    """

    def __init__(self, model: str, cache: Path, warm: Path | None = None) -> None:
        """For the named model.

        Args:
            model: as the settings name it.
            cache: the program's cache folder.
            warm: where a watcher's socket would be, to be asked before the model is opened.

        Raises:
            ModelUnavailableError: a model that pip doesn't install is set and was never fetched.
        """
        self.model = model
        self.embed: Callable[[str], models.QueryVector] | None = None
        """Of the model, where it is open."""
        self._cache = cache
        self._warm = warm
        self._asked = False
        manifest = models.manifest_of(model, cache)
        self.identity = manifest.identity
        self.dimension = manifest.dimension

    def query(self, text: str) -> models.QueryVector:
        """The query's vectors.

        Raises:
            ModelUnavailableError: they aren't remembered and the model can't be used; never waits for a network.
        """
        return self._query(text)._replace(model=self.model)

    def _query(self, text: str) -> models.QueryVector:
        path = self._path(text)
        known = _read(path, self.dimension)
        if known is not None:
            return known
        if self._warm is not None and self.embed is None:
            answered = models.ask(self._warm, self.identity, self.dimension, text)
            if answered is not None:
                _write(path, answered)
                return answered
        embed = self.embed or self._open()
        made = embed(text)
        if self._asked:
            self.embed = embed
        self._asked = True
        _write(path, made)
        return made

    def remembered(self, text: str) -> bool:
        """Whether the vectors are at hand without the model."""
        return _read(self._path(text), self.dimension) is not None

    def _open(self) -> Callable[[str], models.QueryVector]:
        from tars_memory.index.passages import open_runner

        return open_runner(self.model, self._cache).query

    def _path(self, text: str) -> Path:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._cache / FOLDER / self.identity / digest[:32]


def forget_queries(cache: Path) -> None:
    """Forget every query: which of them said a thing can't be told from their names.

    Raises:
        OSError: one can't be removed.
    """
    for path in (cache / FOLDER).glob("*/*"):
        path.unlink(missing_ok=True)


def _read(path: Path, dimension: int) -> models.QueryVector | None:
    """What is remembered, if it is whole."""
    try:
        return models.unpack(read(path) or b"", dimension)
    except SettingsError:
        return None


def _write(path: Path, made: models.QueryVector) -> None:
    """Remember, where that can be."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, models.pack(made))
        if made.vector[0] < 8:  # one time in 32, for a listing costs as much as a search
            _prune(path.parent)


def _prune(folder: Path) -> None:
    entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder))
    for _, path in entries[: max(0, len(entries) - KEPT)]:
        os.unlink(path)


# --- the socket of whatever holds the model open
