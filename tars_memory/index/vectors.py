"""Embed chunks, embed queries, and find the nearest neighbours of a query's vector.

A chunk without a vector gets it from the cache if its text was embedded before, else from the model. Texts are embedded
outside any lock; only the rows of a page are written under it. One process embeds at a time.

After a change of the model, the new vectors go into the cache first, and the old ones answer until none is missing;
then the index is filled with the new ones at once.

The cache maps (model, hash of the text) to a vector and the bits of its words, in a file that survives every rebuild.
It holds no text. A damaged cache is replaced by a new one, and what was lost is embedded again.

The cache is the source of truth for vectors. The table ``chunk_vectors`` holds one byte for each of a vector's numbers,
a quarter of the space: enough to find the neighbours by sqlite-vec's functions; their cosines are then computed from
the cache. The bits of the words are read from the cache, too, for the few candidates that need them. Where sqlite-vec
does not load, numpy compares the query with all vectors of the cache: the same neighbours.
"""

from __future__ import annotations

import heapq
import math
import os
import sys
from array import array
from contextlib import closing, suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from tars_memory import errors, vault
from tars_memory.disk import read, replace, sha256
from tars_memory.index import database, models
from tars_memory.index.database import ALWAYS_LOADED, TIERS, WRITER_WAIT, IndexFiles, Progress

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tars_memory.index.passages import Embedder


Filled = TypeVar("Filled")

PAGE = 256
"""Number of embedded vectors stored in one transaction: some seconds of work that a kill can lose."""
STEP = 16
"""Number of vectors between two progress reports: half a second of work, so that the remaining time can soon be
estimated."""
FILL_PAGE = 2_000
"""Number of vectors taken over from the cache in one transaction."""
EMBEDDING_ORDER = (
    f"tier NOT IN ({', '.join(str(TIERS.index(tier)) for tier in ALWAYS_LOADED)}), position > 0, day DESC, id"
)
"""SQL order in which a vault's chunks are embedded: the notes that every prompt begins with, the first passage of each
other note, which says what the note is about, then the newest."""


def embed(
    connection: sqlite3.Connection,
    files: IndexFiles,
    cache: Path,
    open_embedder: Callable[[], Embedder],
    limit: int | None,
    progress: Progress | None,
    newest: int | None = None,
    wait: float = WRITER_WAIT,
) -> int:
    """Give pending chunks their vectors, from the cache or else from the model.

    Args:
        connection: of the index.
        files: of the index.
        cache: the program's cache folder.
        open_embedder: opens the model.
        limit: maximum number of texts to embed with the model; None: no limit.
        progress: told how many texts are done.
        newest: embed only this many of the newest chunks, the newest first; None: all chunks.
        wait: seconds to wait while another process writes to the index; after that, the chunks stay pending.

    Returns:
        The number of texts still to be embedded before the vectors of another model can be replaced; 0 at once if
        another process is embedding.

    Raises:
        ModelUnavailableError: the model can't be used.
    """
    with files.lock(0.0, "embed.lock") as held:
        if not held:
            return 0
        work = _Work(connection, files, open_embedder(), progress, newest, wait)
        return _with_cache(cache, lambda store: work.fill(store, limit))


class _Work(NamedTuple):
    """One run of :func:`embed`."""

    connection: sqlite3.Connection
    files: IndexFiles
    embedder: Embedder
    progress: Progress | None
    newest: int | None
    wait: float

    def fill(self, store: VectorCache, limit: int | None) -> int:
        """Fill the index from the cache, then with the model; return what :func:`embed` does."""
        connection, embedder, newest = self.connection, self.embedder, self.newest
        model = store.model(embedder.fingerprint, embedder.dimension)
        if _holds_other_model(connection, embedder.fingerprint):
            readable = "latin" if embedder.scripts == models.LATIN else "1"
            chunks = _chunks_by_hash(
                connection, readable if newest is None else f"{readable} AND {among(newest)}", newest
            )
            missing = {digest: chunks[digest] for digest in store.missing(model, chunks)}
            self._embed(store, model, missing, limit, placed=False)
            if limit is not None and limit < len(missing):
                return len(missing) - limit
        with self.files.lock(self.wait) as held:
            if not held:
                return 0
            with database.transaction(connection):
                prepare(connection, embedder.fingerprint, embedder.dimension, store.identity)
                if embedder.scripts == models.LATIN:
                    mark_unreadable(connection)
            _fill_from_cache(connection, store, model, newest)
        self._embed(store, model, _chunks_by_hash(connection, lacking(newest), newest), limit, placed=True)
        return 0

    def _embed(
        self, store: VectorCache, model: int, wanted: dict[bytes, list[int]], limit: int | None, *, placed: bool
    ) -> None:
        """Embed the texts with the given hashes into the cache and, if ``placed``, into the index.

        Args:
            store: the cache.
            model: its number in the cache.
            wanted: hash of a text → the chunks that have it.
            limit: maximum number of texts.
            placed: store the vectors in the index, too.
        """
        digests = list(wanted)[:limit]
        total = len(digests)
        if self.progress and total:
            self.progress("vectors", 0, total)
        for start in range(0, total, PAGE):
            page = list(self._embedded(wanted, digests[start : start + PAGE], start, total))
            if placed and not _is_current(self.connection, self.files):
                return  # the index was rebuilt meanwhile: these texts may have been forgotten
            store.put(model, page)
            if not placed:
                continue
            with self.files.lock(self.wait) as held:
                if held:
                    rows = [(chunk, vector) for digest, vector, _ in page for chunk in wanted[digest]]
                    with database.transaction(self.connection):
                        place(self.connection, rows, self.newest)

    def _embedded(
        self, wanted: dict[bytes, list[int]], digests: Sequence[bytes], done: int, total: int
    ) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Embed the texts with these hashes; yield (hash, vector, words) and report how many of all are done."""
        from tars_memory.index.chunking import embedded_text

        sql = "SELECT head, text FROM chunk_texts WHERE id = ?"
        found = ((digest, self.connection.execute(sql, (wanted[digest][0],)).fetchone()) for digest in digests)
        rows = {digest: row for digest, row in found if row}  # a note may have changed meanwhile
        plain = [vault.markdown.lines.plain(text) for _, text in rows.values()]
        texts = {digest: embedded_text(rows[digest][0], text) for digest, text in zip(rows, plain, strict=True)}
        results = self.embedder.embed_passages(texts.values())
        for number, (digest, one) in enumerate(zip(texts, results, strict=True), done + 1):
            if self.progress and (number % STEP == 0 or number == total):
                self.progress("vectors", number, total)
            if is_usable(one.vector, self.embedder.dimension):
                yield digest, one.vector, len(one.counts).to_bytes(2, "little") + one.counts + one.bits


def _holds_other_model(connection: sqlite3.Connection, fingerprint: str) -> bool:
    """Whether the index holds vectors of another model."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
    any_vector = "SELECT 1 FROM chunks WHERE embedded IN (1, 2) LIMIT 1"
    return row is not None and row[0] != fingerprint and connection.execute(any_vector).fetchone() is not None


def restore(
    connection: sqlite3.Connection, cache: Path, fingerprint: str, dimension: int, newest: int | None = None
) -> None:
    """Fill a new index file from the cache, without a model. No other process may write to the file meanwhile."""

    def fill(store: VectorCache) -> None:
        with database.transaction(connection):
            prepare(connection, fingerprint, dimension, store.identity)
        _fill_from_cache(connection, store, store.model(fingerprint, dimension), newest)

    _with_cache(cache, fill)


def _with_cache(cache: Path, fill: Callable[[VectorCache], Filled]) -> Filled:
    """Call ``fill`` with the open cache; if the cache turns out to be damaged, once more with a new one."""
    with closing(VectorCache(cache)) as store:
        try:
            return fill(store)
        except database.driver().module.DatabaseError as error:
            if not database.damaged(error) or store.is_whole():
                raise
            store.start_over()
            return fill(store)


def prepare(connection: sqlite3.Connection, fingerprint: str, dimension: int, cache: str) -> None:
    """Make the index ready for vectors of a model: drop those of another one, or of a cache that was replaced.

    Call it inside a transaction.
    """
    wanted = {"model": fingerprint, "dimension": dimension, "cache": cache}
    if not wanted.items() <= database.meta(connection).items():
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", wanted.items())
        connection.execute("UPDATE chunks SET embedded = 0 WHERE embedded <> 0")
        take_out(connection)


def mark_unreadable(connection: sqlite3.Connection) -> None:
    """Mark the chunks in other scripts than Latin as unreadable to the model. Call it inside a transaction."""
    if connection.execute("UPDATE chunks SET embedded = 3 WHERE latin = 0 AND embedded <> 3").rowcount:
        take_out(connection)


def _fill_from_cache(connection: sqlite3.Connection, store: VectorCache, model: int, newest: int | None = None) -> None:
    """Give chunks the vectors that the cache holds. The caller holds the lock."""
    last = 0
    while True:
        rows: list[tuple[int, bytes]] = connection.execute(
            f"SELECT id, hash FROM chunks WHERE {lacking(newest)} AND id > ? ORDER BY id LIMIT ?", (last, FILL_PAGE)
        ).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        known = store.get(model, [digest for _, digest in rows])
        if known:
            with database.transaction(connection):
                found = [(chunk, known[digest][0]) for chunk, digest in rows if digest in known]
                place(connection, found, newest)


def _is_current(connection: sqlite3.Connection, files: IndexFiles) -> bool:
    """Whether the connection's file is still the current index file."""
    row = connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
    current = files.current()
    return current is not None and row is not None and os.path.realpath(row[0]) == os.path.realpath(current)


def _chunks_by_hash(connection: sqlite3.Connection, condition: str, newest: int | None) -> dict[bytes, list[int]]:
    """Return hash of a text → chunks that have it, in the order of embedding.

    That is :data:`EMBEDDING_ORDER`; with ``newest``, the newest first.
    """
    chunks: dict[bytes, list[int]] = {}
    order = EMBEDDING_ORDER if newest is None else NEWEST_FIRST
    for chunk, digest in connection.execute(f"SELECT id, hash FROM chunks WHERE {condition} ORDER BY {order}"):
        chunks.setdefault(digest, []).append(chunk)
    return chunks


_PAGE = 500
"""Maximum number of hashes in one SQL statement."""


class VectorCache:
    """The open vector cache.

    Args:
        folder: the program's cache folder; created if missing.

    Attributes:
        identity: a random name that the file gets when it is created; a new cache has another one.
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
        """Return the number under which a model's vectors are stored; a new model gets one."""
        self._connection.execute(
            "INSERT INTO models (fingerprint, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING", (fingerprint, dimension)
        )
        number = self.known_model(fingerprint)
        assert number is not None
        return number

    def known_model(self, fingerprint: str) -> int | None:
        """Return the number of a model, None if nothing was ever embedded with it."""
        row = self._connection.execute("SELECT id FROM models WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return int(row[0]) if row else None

    def get(self, model: int, hashes: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """Return hash → (vector, words) of the texts in the cache. A row with a wrong checksum counts as missing."""
        rows = self._rows("hash, vector, words, crc", model, hashes)
        return {digest: (vector, words) for digest, vector, words, crc in rows if crc32(words, crc32(vector)) == crc}

    def missing(self, model: int, hashes: Iterable[bytes]) -> list[bytes]:
        """Return the hashes that have no vector yet, each once, in the given order."""
        wanted = list(dict.fromkeys(hashes))
        known = {digest for (digest,) in self._rows("hash", model, wanted)}
        return [digest for digest in wanted if digest not in known]

    def _rows(self, columns: str, model: int, hashes: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of the rows with one of these hashes."""
        for start in range(0, len(hashes), _PAGE):
            page = hashes[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            sql = f"SELECT {columns} FROM vectors WHERE model = ? AND hash IN ({marks})"
            yield from self._connection.execute(sql, (model, *page))

    def put(self, model: int, rows: Sequence[tuple[bytes, bytes, bytes]]) -> None:
        """Store (hash, vector, words) rows, in one transaction; they replace older ones."""
        values = [(model, digest, vector, words, crc32(words, crc32(vector))) for digest, vector, words in rows]
        with database.transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM vectors WHERE model = ? AND hash = ?", [row[:2] for row in values]
            )
            self._connection.executemany(
                "INSERT INTO vectors (model, hash, vector, words, crc) VALUES (?, ?, ?, ?, ?)", values
            )

    def drop(self, hashes: Iterable[bytes]) -> None:
        """Delete the vectors of these texts, of every model, and overwrite their bytes."""
        self._connection.execute("PRAGMA secure_delete = ON")
        with database.transaction(self._connection):
            self._connection.executemany("DELETE FROM vectors WHERE hash = ?", [(digest,) for digest in hashes])

    def hashes(self) -> set[bytes]:
        """Return the hashes of all texts that have a vector, of any model."""
        return {bytes(digest) for (digest,) in self._connection.execute("SELECT DISTINCT hash FROM vectors")}

    def is_whole(self) -> bool:
        """Whether SQLite finds no damage in the file. Reads the whole file."""
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        except database.driver().module.DatabaseError as error:
            if not database.damaged(error):
                raise
            return False
        return found is not None and found[0] == "ok"

    def start_over(self) -> None:
        """Replace a damaged file by a new one. It never had a write-ahead log, so its name can be used again."""
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
        """Create the file under a name of our own and move it into place: two processes may do so at once."""
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        database.create(temporary)
        with closing(database.connect(temporary)) as connection:
            connection.executescript("BEGIN;" + database.CACHE + "COMMIT;")
        if self.path.exists():
            temporary.unlink()
        else:
            temporary.replace(self.path)


# -- nearest neighbours

TIES = 8
"""Number of neighbours compared beyond k, so that equally near ones come out the same whoever computed them."""
DIGITS = 6
"""Decimals to which cosines are compared; float32 sums in another order differ in the seventh."""
EXTRA, EXTRA_SHARE = 16, 8
"""Neighbours to ask for beyond k: 16, or an eighth of k if that is more. Bytes tell only roughly which are nearest: of
100 neighbours among 4,000 passages they miss up to two (MiniLM, e5), with 16 more at most four in 10,000."""
PEAK = 4.9
"""Largest number that a byte can represent, in standard deviations of the numbers of a vector of length 1; of those of
MiniLM and e5, three in a million are larger."""
_SIGNS = b"0" + b"1" * 127 + b"0" * 128
"""For each byte of an int8 vector, whether it is positive, as a digit."""
NUMPY_FROM = 64
"""Number of vectors above which it is worth importing numpy to turn them into bytes."""
MANY = 100_000
"""Number of passages from which a search compares the signs of the vectors' numbers first: at this number it costs
16 ms of a processor instead of 46, and reads a ninth."""
SHORTLIST = 1_000
"""Number of the nearest by signs whose cosines are computed; of the ten nearest of 100,000, they lack 2 in 1,000."""
COMPARED_AT_ONCE = 1024
"""Number of vectors of the cache that are compared at once."""

NEWEST_FIRST = "day DESC, id DESC"
"""SQL order of chunks from the newest to the oldest."""
NEIGHBOURS = 10_000
"""Maximum number of passages of conversations whose neighbours are searched, the newest: 5 ms of a processor. The
vectors of older ones are in the cache alone; those that a search finds by words are ranked by meaning as well."""


def pending(connection: sqlite3.Connection, newest: int | None = None) -> int:
    """Return how many chunks have no vector yet; with ``newest``, of that many newest."""
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {lacking(newest)}").fetchone()[0])


def lacking(newest: int | None = None) -> str:
    """Return the SQL condition for chunks without a vector.

    With ``newest``, the condition holds for that many of the newest chunks at most, and also for those that have become
    some of the newest :data:`NEIGHBOURS`, so that their vector must no longer be in the cache alone.
    """
    if newest is None:
        return "embedded = 0"
    return f"(embedded = 0 OR embedded = 2 AND {among(min(newest, NEIGHBOURS))}) AND {among(newest)}"


def among(newest: int) -> str:
    """Return the SQL condition for the given number of newest chunks."""
    return f"id IN (SELECT id FROM chunks ORDER BY {NEWEST_FIRST} LIMIT {newest})"


def floats(vector: bytes) -> array[float]:
    """Return the numbers of a stored float32 vector."""
    numbers = array("f")
    numbers.frombytes(vector)
    return numbers


def is_usable(vector: bytes, dimension: int) -> bool:
    """Whether a vector has the right length and a direction: no NaN, no infinity, not zero."""
    if len(vector) != 4 * dimension:
        return False
    square = math.fsum(number * number for number in floats(vector))
    return math.isfinite(square) and square > 1e-12


def quantized(vectors: Sequence[bytes]) -> list[bytes]:
    """Quantize float32 vectors of one dimension to one byte (int8) for each number."""
    if not vectors:
        return []
    factor = _int8_factor(len(vectors[0]) // 4)
    if "numpy" in sys.modules or len(vectors) > NUMPY_FROM:
        import numpy

        matrix = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1).astype("f8")
        return [row.tobytes() for row in numpy.rint(matrix * factor).clip(-127, 127).astype("i1")]
    return [
        array("b", [max(-127, min(127, round(number * factor))) for number in floats(vector)]).tobytes()
        for vector in vectors
    ]


def signs(vector: bytes) -> bytes:
    """Return the signs of the numbers of an int8 vector, a bit each, as in sqlite-vec: the first one lowest."""
    return int(vector.translate(_SIGNS)[::-1], 2).to_bytes(len(vector) // 8, "little")


def _int8_factor(dimension: int) -> float:
    """Return the factor that turns a number of a vector of length 1 into an int8."""
    return max(1.0, math.sqrt(dimension) / PEAK) * 127


def load(connection: sqlite3.Connection) -> bool:
    """Load sqlite-vec into the connection unless it is loaded; return False if this driver can't load it."""
    library = database.driver().vec
    if library is None:
        return False
    try:
        connection.execute("SELECT vec_version()")
    except database.driver().module.OperationalError:
        database.load_vec(connection, library)
    return True


def place(connection: sqlite3.Connection, rows: Sequence[tuple[int, bytes]], newest: int | None = None) -> None:
    """Mark chunks as embedded and store their vectors for the search of neighbours, unless they are gone meanwhile.

    The vectors of conversations that are too old for it stay in the cache alone. Call it inside a transaction.

    Args:
        connection: of the index.
        rows: (chunk, vector).
        newest: how many of the newest chunks get a vector; None: all.
    """
    execute = connection.executemany
    if newest is not None and newest > NEIGHBOURS:
        recent = {chunk for (chunk,) in connection.execute(f"SELECT id FROM chunks WHERE {among(NEIGHBOURS)}")}
        old = [(chunk,) for chunk, _ in rows if chunk not in recent]
        execute("UPDATE chunks SET embedded = 2 WHERE id = ? AND embedded = 0", old)
        rows = [row for row in rows if row[0] in recent]
    small = [(vector, chunk) for (chunk, _), vector in zip(rows, quantized([row[1] for row in rows]), strict=True)]
    execute("INSERT OR REPLACE INTO chunk_vectors SELECT id, ? FROM chunks WHERE id = ?", small)
    bits = [(signs(vector), chunk) for vector, chunk in small]
    execute("INSERT OR REPLACE INTO chunk_bits SELECT id, ? FROM chunks WHERE id = ?", bits)
    execute("UPDATE chunks SET embedded = 1 WHERE id = ?", [(chunk,) for chunk, _ in rows])


def take_out(connection: sqlite3.Connection) -> None:
    """Delete the stored vectors of chunks that are not marked as embedded. Call it inside a transaction."""
    for table in ("chunk_vectors", "chunk_bits"):
        connection.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT id FROM chunks WHERE embedded = 1)")


def neighbours(
    connection: sqlite3.Connection,
    vector: bytes,
    conditions: Sequence[str],
    values: Sequence[Any],
    k: int,
    *,
    many: bool,
) -> list[tuple[int, float]]:
    """Find the nearest chunks with sqlite-vec, which :func:`load` has loaded.

    Args:
        connection: of the index.
        vector: of the query, float32.
        conditions: SQL on ``chunks c``.
        values: for the question marks of the conditions.
        k: how many neighbours are wanted.
        many: compare the signs of the numbers alone, and return at least :data:`SHORTLIST` chunks.

    Returns:
        (chunk, approximate cosine) pairs, in no order; some more than k.
    """
    (query,) = quantized([vector])
    if many:
        source, distance = "chunk_bits v", "vec_distance_hamming(vec_bit(v.bits), vec_bit(?))"
        query, wanted, angle = signs(query), max(k, SHORTLIST), math.pi / len(query)
    else:
        source, distance = "chunk_vectors v", "vec_distance_l2(vec_int8(v.vector), vec_int8(?))"
        wanted, divisor = k + max(EXTRA, k // EXTRA_SHARE), 2 * _int8_factor(len(query)) ** 2
    where = f" JOIN chunks c ON c.id = v.chunk WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        f"SELECT v.chunk, {distance} far FROM {source}{where} ORDER BY far LIMIT ?", (query, *values, wanted)
    )
    if many:
        return [(int(chunk), math.cos(angle * far)) for chunk, far in rows]
    return [(int(chunk), 1 - far**2 / divisor) for chunk, far in rows]  # of length 1: distance² = 2 - 2 × cosine


def nearest(found: Iterable[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """Return the k best of (chunk, cosine) pairs, best first; equally near ones in the order of their ids."""
    return sorted(found, key=lambda pair: (-round(pair[1], DIGITS), pair[0]))[:k]


def compare(vector: bytes, rows: Iterable[tuple[int, bytes]], k: int) -> list[tuple[int, float]]:
    """Return the k nearest of (chunk, vector) rows as (chunk, exact cosine) pairs, without sqlite-vec."""
    remaining = iter(rows)
    best: list[tuple[int, float]] = []
    while block := list(islice(remaining, COMPARED_AT_ONCE)):
        scored = zip((chunk for chunk, _ in block), _cosines(vector, [other for _, other in block]), strict=True)
        best = heapq.nlargest(k + TIES, [*best, *scored], key=lambda pair: (pair[1], -pair[0]))
    return nearest(best, k)


def _cosines(vector: bytes, others: list[bytes]) -> list[float]:
    """Return the cosine of a float32 vector with each of the others."""
    import numpy

    matrix = numpy.frombuffer(b"".join(others), dtype="<f4").reshape(len(others), -1)
    query = numpy.frombuffer(vector, dtype="<f4")
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", matrix, matrix)) * (float(numpy.linalg.norm(query)) or 1.0)
    cosines: list[float] = (matrix @ query / numpy.where(lengths == 0, 1, lengths)).astype(float).tolist()
    return cosines


# --- the vector of a query, from the cheapest source: a stored file, a process that holds the model open, the model
#
# A stored vector costs one small file read and imports nothing heavy. The store is best effort: a vector that can't be
# read or is damaged is computed again, one that can't be written is not stored. With one file per query, no lock and no
# driver is needed, and damage stays in one file.


FOLDER = "queries"
KEPT = 2_000
"""Maximum number of stored query vectors; 3 MB of content. The oldest go first."""


class QueryVectors:
    """The query vectors of one model.

    A query without a stored vector opens the model. The first time, the model is closed again, so that a process which
    asks once doesn't hold 46 MB of weights while it searches; from the second time on it stays open.
    """

    def __init__(self, model: str, cache: Path, warm: Path | None = None) -> None:
        """Look nothing up yet.

        Args:
            model: as the settings name it.
            cache: the program's cache folder.
            warm: path of a watcher's socket, which is asked before the model is opened.
        """
        self.model = model
        self.embed: Callable[[str], models.QueryVector] | None = None
        """Embeds a query with the open model; None while the model is closed."""
        self._cache = cache
        self._socket = warm
        self._used = False
        self._sought: tuple[str, str, Path, models.QueryVector | None] | None = None
        """A query, as it may be stored, the path of its file, and what it holds; until :meth:`query` uses it."""

    @cached_property
    def manifest(self) -> models.Manifest:
        """The manifest of the model.

        Raises:
            ModelUnavailableError: a model that pip doesn't install is set and was never fetched.
        """
        return models.manifest_of(self.model, self._cache)

    @cached_property
    def identity(self) -> str:
        """The identity of the model."""
        return self.manifest.identity

    def query(self, text: str) -> models.QueryVector:
        """Return the query's vectors. Never waits for a network.

        Raises:
            ModelUnavailableError: they aren't stored and the model can't be used.
        """
        sought, self._sought = self._sought, None
        _, text, path, found = sought if sought is not None and sought[0] == text else self._seek(text)
        if found is None:
            if self._socket is not None and self.embed is None:
                found = models.ask(self._socket, self.identity, self.manifest.dimension, text)
            if found is None:
                from tars_memory.index.passages import open_runner

                embed = self.embed or open_runner(self.model, self._cache).query
                found = embed(text)
                if self._used:
                    self.embed = embed
                self._used = True
            _write(path, found)
        return found._replace(model=self.model)

    def are_at_hand(self, text: str) -> bool:
        """Whether the query's vectors are stored, or a watcher may answer: then the model need not be opened here."""
        self._sought = self._seek(text)
        return self._sought[-1] is not None or (self._socket is not None and models.is_ours(self._socket))

    def _seek(self, text: str) -> tuple[str, str, Path, models.QueryVector | None]:
        """Return a query, the same without credentials, its file, and the vectors in it; None if there are none or they
        are damaged.
        """
        folder, shown = self._cache / FOLDER / self.identity, without_credentials(text)
        path = folder / sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        try:
            return text, shown, path, models.unpack(read(path) or b"", self.manifest.dimension)
        except errors.SettingsError:
            return text, shown, path, None


def without_credentials(text: str) -> str:
    """Return a query without credentials: queries are stored, and notes are indexed without credentials too."""
    return vault.secrets.mask(text) if vault.suspicion.suspicious(text) else text


def forget_queries(cache: Path) -> None:
    """Delete the vectors of all queries: the file names don't tell which of them mentioned the forgotten text.

    Raises:
        OSError: a file can't be deleted.
    """
    for path in (cache / FOLDER).glob("*/*"):
        path.unlink(missing_ok=True)


def _write(path: Path, vector: models.QueryVector) -> None:
    """Store a query's vectors, unless the file can't be written."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, models.pack(vector))
        if vector.vector[0] < 8:  # one time in 32, for a listing costs as much as a search
            _prune(path.parent)


def _prune(folder: Path) -> None:
    """Delete the oldest files beyond :data:`KEPT`."""
    entries = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder))
    for _, path in entries[: max(0, len(entries) - KEPT)]:
        os.unlink(path)
