"""The index: SQLite, FTS5 and vectors, derived from the vault; delete it any time."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.index import (
        database,
        detached,
        embedding,
        files,
        indexer,
        intake,
        postgres,
        tables,
        vectors,
        watcher,
    )

__all__ = [
    "database",
    "detached",
    "embedding",
    "files",
    "indexer",
    "intake",
    "postgres",
    "tables",
    "vectors",
    "watcher",
]
__getattr__ = opener(__name__, __all__)
