"""Nearest neighbours: ``vec0`` as a rebuildable index over the cached vectors, or the same answer without it.

The truth of a vector is its row in the embedding cache. ``chunk_vectors`` repeats the float vectors for the KNN; the
bits of the words are read from the cache for the few candidates that want them. Where sqlite-vec does not load, the
cache is compared row by row: exactly the same neighbours, by numpy if it is installed and in plain Python otherwise.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

from tars_memory.index import database, schema

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

MMAP_BYTES = 64 << 20
"""Reading vectors through a mapping takes a fifth off a KNN, but every mapped page counts as memory of the process:
the vectors of 40,000 chunks are worth it, those of 150,000 (230 MB) are not. Nothing else is read so: a mapped page is
not kept, and checked anew each time that a row is read from it, which made searches by words twice as slow."""
MAX_K = 4096
"""sqlite-vec's own limit of neighbours."""
TIES = 8
"""Neighbours asked for beyond k: two that are equally near must come out the same whoever computed them."""
DIGITS = 6
"""Decimals of a cosine; float32 sums in another order differ in the seventh."""
BLOCK = 1024
"""Vectors that sqlite-vec keeps in one block; the space of a deleted one is never used again."""
BLOAT = 1.5
"""Blocks held against blocks needed above which the KNN index is made anew."""

NEWEST_FIRST = "day DESC, id DESC"


def pending(connection: sqlite3.Connection, newest: int | None = None) -> int:
    """How many chunks, of so many of the newest if that is said, have no vector yet that this driver can compare."""
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {lacking(newest)}").fetchone()[0])


def lacking(newest: int | None = None) -> str:
    """The chunks without a vector; where sqlite-vec is at hand, one in the cache alone is still to be filled in."""
    without = "embedded = 0" if database.driver().vec is None else "embedded <> 1 AND embedded <> 3"
    return without if newest is None else f"{without} AND {among(newest)}"


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
    connection.execute(schema.VECTORS.format(dimension=dimension))
    connection.execute("DELETE FROM vector_garbage")
    connection.execute("UPDATE chunks SET embedded = 0 WHERE embedded <> 0")


def fill(connection: sqlite3.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Put (chunk, vector) rows into the KNN index; chunks that are gone meanwhile are passed over.

    Belongs inside a transaction.
    """
    for chunk, vector in rows:
        place = connection.execute("SELECT tier, day, scope, embedded FROM chunks WHERE id = ?", (chunk,)).fetchone()
        if place is None:
            continue
        tier, day, scope, embedded = place
        if embedded == 1:
            connection.execute("DELETE FROM chunk_vectors WHERE chunk = ?", (chunk,))
        connection.execute(
            "INSERT INTO chunk_vectors (chunk, vector, tier, day, scope) VALUES (?, ?, ?, ?, ?)",
            (chunk, vector, tier, day, scope),
        )
        connection.execute("UPDATE chunks SET embedded = 1 WHERE id = ?", (chunk,))


def clear_garbage(connection: sqlite3.Connection) -> None:
    """Take the vectors of chunks that are gone out of the KNN index. Belongs inside a transaction."""
    rows = connection.execute("SELECT chunk FROM vector_garbage").fetchall()
    connection.executemany("DELETE FROM chunk_vectors WHERE chunk = ?", rows)
    connection.execute("DELETE FROM vector_garbage")


def is_bloated(connection: sqlite3.Connection) -> bool:
    """Whether deletes left so much unused space that the KNN index should be made anew."""
    blocks = int(connection.execute("SELECT count(*) FROM chunk_vectors_chunks").fetchone()[0])
    rows = int(connection.execute("SELECT count(*) FROM chunk_vectors_rowids").fetchone()[0])
    return blocks > BLOAT * (rows // BLOCK + 1) + 1


def knn(
    connection: sqlite3.Connection, vector: bytes, conditions: Sequence[str], values: Sequence[Any], k: int
) -> list[tuple[int, float]]:
    """The nearest chunks by sqlite-vec as (chunk, cosine), in no order; a few more than k.

    ``conditions`` are SQL on the metadata columns and ``chunk``, applied inside the KNN; ``values`` are what their
    question marks stand for.
    """
    where = "".join(f" AND {condition}" for condition in conditions)
    connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES}")
    rows = connection.execute(
        f"SELECT chunk, distance FROM chunk_vectors WHERE vector MATCH ? AND k = ?{where}",
        (vector, min(k + TIES, MAX_K), *values),
    ).fetchall()
    connection.execute("PRAGMA mmap_size = 0")
    return [(int(chunk), 1.0 - float(distance)) for chunk, distance in rows]


def nearest(found: Iterable[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """The k best of (chunk, cosine) pairs, best first; equally near ones in order of their numbers."""
    return sorted(found, key=lambda pair: (-round(pair[1], DIGITS), pair[0]))[:k]


def compare(vector: bytes, rows: Iterable[tuple[int, bytes]], k: int) -> list[tuple[int, float]]:
    """The k nearest of (chunk, vector) rows, exactly, without sqlite-vec."""
    import heapq

    scored = (pair for block in _blocks(rows) for pair in zip(block[0], _cosines(vector, block[1]), strict=True))
    return nearest(heapq.nlargest(k + TIES, scored, key=lambda pair: (pair[1], -pair[0])), k)


def _blocks(rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[list[int], list[bytes]]]:
    chunks: list[int] = []
    vectors: list[bytes] = []
    for chunk, vector in rows:
        chunks.append(chunk)
        vectors.append(vector)
        if len(chunks) == BLOCK:
            yield chunks, vectors
            chunks, vectors = [], []
    if chunks:
        yield chunks, vectors


def _cosines(vector: bytes, others: list[bytes]) -> list[float]:
    """Cosine of one float32 vector to others."""
    try:
        import numpy
    except ImportError:
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
