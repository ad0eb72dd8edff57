"""What recall asks of the vectors: neighbours, cosines, the words of a chunk as the model saw them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tars_memory.index import database
from tars_memory.index.filters import Filter, conditions_of, ended, vector_conditions

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

HELD = "c.embedded IN (1, 2)"
"""The chunks that have a vector (``chunks.embedded``)."""
SPARE = 200
"""Chunks that have ended: so many more neighbours are asked for; of more, the KNN is given those that count still."""


class VectorReader:
    """Reads one index file.

    Args:
        connection: of the index.
        cache: path of the embedding cache.

    Attributes:
        fingerprint: of the model whose vectors the index holds, None if it holds none. Vectors of another model must
            not be asked for.
        dimension: of these vectors, 0 if there are none.
        among_newest: neighbours are looked for among the newest chunks alone (:data:`vectors.NEIGHBOURS`).
    """

    among_newest = False

    def __init__(self, connection: sqlite3.Connection, cache: Path) -> None:
        self._connection = connection
        self._cache = cache
        self._attached = False
        self._over: tuple[str | None, frozenset[int]] = (None, frozenset())
        self._scopes = {str(name): int(key) for key, name in connection.execute("SELECT id, name FROM scopes")}
        self._scope_names = {key: name for name, key in self._scopes.items()}
        meta = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('model', 'dimension')").fetchall())
        self.fingerprint: str | None = meta.get("model")
        self.dimension = int(meta.get("dimension", 0))

    def nearest(self, vector: bytes, within: Filter, k: int) -> list[tuple[int, float]]:
        """The k chunks nearest to a query vector (float32, little-endian) as (chunk, cosine), best first."""
        from tars_memory.index import vectors

        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return []
        if vectors.load(self._connection):
            if not vectors.has_table(self._connection):
                return []
            over = self._ended(within.on)
            many = len(over) > SPARE
            conditions, values = vector_conditions(within, self._scopes, ending=many)
            spare = int(self._connection.execute("SELECT count(*) FROM vector_garbage").fetchone()[0])
            found = vectors.knn(self._connection, vector, conditions, values, k + spare + (0 if many else len(over)))
            if spare:
                alive = self._alive([chunk for chunk, _ in found])
                found = [pair for pair in found if pair[0] in alive]
            if over:
                found = [pair for pair in found if pair[0] not in over]
            exact = self.cosines(vector, [chunk for chunk, _ in found])
            return vectors.nearest(((chunk, exact.get(chunk, near)) for chunk, near in found), k)
        if not self._attach():
            return []
        conditions, values = self._conditions(within)
        if self.among_newest:
            conditions.append(f"c.{vectors.among(vectors.NEIGHBOURS)}")
        where = "".join(f" AND {condition}" for condition in conditions)
        rows = self._connection.execute(
            f"SELECT c.id, v.vector FROM chunks c JOIN cache.vectors v ON {HELD} AND v.hash = c.hash AND v.model = ?"
            f" WHERE length(v.vector) = ?{where}",
            (self._model, 4 * self.dimension, *values),
        )
        return vectors.compare(vector, rows, k)

    def embedded(self, chunks: Iterable[int]) -> set[int]:
        """Those of the chunks that have a vector."""
        sql = f"SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value AND {HELD}"
        return {int(chunk) for (chunk,) in self._connection.execute(sql, (json.dumps(list(chunks)),))}

    def cosines(self, vector: bytes, chunks: Iterable[int]) -> dict[int, float]:
        """Cosine of a query vector to each of these chunks; chunks without a vector are left out."""
        from tars_memory.index import vectors

        if not self.dimension or not vectors.is_usable(vector, self.dimension) or not self._attach():
            return {}
        if not vectors.load(self._connection):
            held = self._cached("v.vector", chunks)
            return dict(vectors.compare(vector, held, len(held)))
        rows = self._connection.execute(
            "SELECT c.id, 1.0 - vec_distance_cosine(v.vector, ?) FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            f" AND {HELD} JOIN cache.vectors v ON v.hash = c.hash AND v.model = ? AND length(v.vector) = ?",
            (vector, json.dumps(list(chunks)), self._model, len(vector)),
        )
        return {int(chunk): float(cosine) for chunk, cosine in rows}

    def word_bits(self, chunks: Iterable[int]) -> dict[int, tuple[bytes, bytes]]:
        """The words of these chunks as the model saw them: (how many in each line, one byte a line; the words' bits).

        ``dimension / 8`` bytes a word, in order of the words. No entry for a chunk without a vector.
        """
        if not self.dimension or not self._attach():
            return {}
        found = {}
        for chunk, words in self._cached("v.words", chunks):
            body = 2 + int.from_bytes(words[:2], "little")
            found[chunk] = (words[2:body], words[body:])
        return found

    def _conditions(self, within: Filter, *, notes: bool = False) -> tuple[list[str], list[Any]]:
        return conditions_of(within, self._scopes, "c", notes=notes, ending=bool(self._ended(within.on)))

    def _ended(self, on: str | None) -> frozenset[int]:
        """The chunks that no longer count on a day; asked once."""
        if self._over[0] != on:
            self._over = on, ended(self._connection, on)
        return self._over[1]

    def _alive(self, ids: list[int]) -> set[int]:
        sql = "SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value"
        return {int(chunk) for (chunk,) in self._connection.execute(sql, (json.dumps(ids),))}

    def _cached(self, column: str, ids: Iterable[int]) -> list[tuple[int, bytes]]:
        """One column of the cached vectors of these chunks."""
        sql = (
            f"SELECT c.id, {column} FROM json_each(?) j JOIN chunks c ON c.id = j.value AND {HELD}"
            " JOIN cache.vectors v ON v.hash = c.hash AND v.model = ?"
        )
        return self._connection.execute(sql, (json.dumps(list(ids)), self._model)).fetchall()

    def _attach(self) -> bool:
        """Bring the embedding cache in reach; False if there is none, or none that can be read and knows the model."""
        if not self._attached:
            if not self._cache.exists():
                return False
            try:
                self._connection.execute("ATTACH ? AS cache", (f"{self._cache.absolute().as_uri()}?mode=ro",))
            except database.driver().module.OperationalError as error:
                if database.refused(error):
                    return False
                if "already in use" not in str(error):
                    raise
            self._attached = True
        row = self._connection.execute(
            "SELECT id FROM cache.models WHERE fingerprint = ?", (self.fingerprint,)
        ).fetchone()
        self._model = int(row[0]) if row else 0
        return row is not None
