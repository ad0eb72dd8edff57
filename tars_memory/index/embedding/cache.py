"""The embedding cache: (model, hash of the text) → vector and words' bits, in a file that survives every rebuild.

It holds no text. A damaged file is put aside by making a new one; what is lost is embedded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from tars_memory.index import database, schema

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

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
        self.path = folder / schema.CACHE_FILE
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
        if version != schema.CACHE_VERSION:
            raise database.IndexDamagedError(f"{self.path.name} is of version {version}")
        self.identity = str(self._connection.execute("SELECT name FROM identity").fetchone()[0])
        self._connection.execute("SELECT id, fingerprint, dimension FROM models LIMIT 1").fetchone()

    def _create(self) -> None:
        """Make the file under a name of our own and link it into place: two processes may do so at once."""
        import os

        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        database.create(temporary)
        connection = database.connect(temporary)
        try:
            connection.executescript("BEGIN;" + schema.CACHE + "COMMIT;")
        finally:
            connection.close()
        if self.path.exists():
            temporary.unlink()
        else:
            temporary.replace(self.path)
