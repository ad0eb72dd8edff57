"""The index: SQLite, FTS5 and vectors, derived from the vault; it can be deleted at any time."""

from lazy_loader import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.index import (
        chunking,
        database,
        detached,
        indexer,
        intake,
        models,
        passages,
        postgres,
        prepare,
        tables,
        vectors,
        watcher,
    )

__all__ = [
    "chunking",
    "database",
    "detached",
    "indexer",
    "intake",
    "models",
    "passages",
    "postgres",
    "prepare",
    "tables",
    "vectors",
    "watcher",
]
__getattr__, *_ = attach(__name__, __all__)
