"""Nearest neighbours: ``vec0`` as a rebuildable index over the cached vectors, or the same answer without it.

The truth of a vector is its row in the embedding cache. ``chunk_vectors`` has a byte for each of its numbers, a
quarter of the space: enough to name the neighbours, whose cosines are then computed from the cache. The bits of the
words are read from the cache, too, for the few candidates that want them. Where sqlite-vec does not load, the cache is
compared row by row: the same neighbours, by numpy if it is installed and in plain Python otherwise.
"""

from __future__ import annotations

import heapq
import json
import math
import sys
from array import array
from typing import TYPE_CHECKING, Any

from tars_memory.index import database

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
FIRST = 1_000
"""The nearest by signs whose cosines are computed then: of the ten nearest of 100,000 they lack 2 in 1,000."""
READ = 1024
"""Vectors of the cache that are compared at once."""
BLOAT = 1.5
"""Blocks held against blocks needed above which the KNN index is made anew."""

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
    """Whether deletes left so much unused space that the KNN index should be made anew."""
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
    """As :func:`knn`, by the signs of the numbers alone: :data:`FIRST` chunks at least, among them the nearest.

    A table of its own is read, not vec0's: that looks through a block anew for each neighbour that is wanted.
    """
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        "SELECT chunk, vec_distance_hamming(vec_bit(bits), vec_quantize_binary(vec_int8(?))) far FROM chunk_bits"
        f"{where} ORDER BY far LIMIT ?",
        (*small([vector]), *values, max(k, FIRST)),
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
