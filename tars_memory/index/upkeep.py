"""Upkeep of the index, which may take its time: status, verify, optimise. sqlite-utils does the work on the tables."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UnwritableError
from tars_memory.index import database, vectors
from tars_memory.index.vectors import VectorCache

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from tars_memory.index.indexer import Index

MAX_DIFFERENCES = 100
"""Enough to see what is wrong; the remedy is the same."""

ROWS = {
    "notes": (
        "SELECT n.path, n.tier, s.name, n.day, n.day_source, n.title, n.about, n.aliases, n.tags, n.links, n.lines,"
        " n.until, f.hash FROM notes n JOIN scopes s ON s.id = n.scope"
        " JOIN files f ON f.note = n.id AND f.path = n.path ORDER BY n.path"
    ),
    "chunks": (
        "SELECT n.path, c.position, c.tier, s.name, c.day, c.start_line, c.end_line, c.partial, c.hash, c.until,"
        " t.head, t.text, t.headings, t.block_id,"
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
        "SELECT n.path, f.line, f.ref, f.subject, f.about, f.predicate, f.object, f.since, f.until, f.source"
        " FROM facts f JOIN notes n ON n.id = f.note ORDER BY n.path, f.line"
    ),
    "not indexed": "SELECT path, hash FROM files WHERE note IS NULL ORDER BY path",
    "counts": (
        "SELECT (SELECT count(*) FROM files WHERE note IS NOT NULL), (SELECT count(*) FROM notes),"
        " (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunk_texts), (SELECT count(*) FROM chunk_tags)"
    ),
    "words of chunks": "SELECT term, doc, cnt FROM temp.words_of_chunks ORDER BY term",
    "words of notes": (
        "SELECT v.term, n.path, v.col, v.offset FROM temp.words_of_notes v JOIN notes n ON n.id = v.doc"
        " ORDER BY v.term, n.path, v.col, v.offset"
    ),
    "signs": (
        "SELECT v.term, n.path, c.position, v.offset FROM temp.words_of_signs v JOIN chunks c ON c.id = v.doc"
        " JOIN notes n ON n.id = c.note ORDER BY v.term, n.path, c.position, v.offset"
    ),
}
"""Everything that two indexes of the same vault must agree in: rows by path and position, never by number."""

VOCABULARIES = (
    "CREATE VIRTUAL TABLE temp.words_of_chunks USING fts5vocab (main, chunk_words, 'row')",
    "CREATE VIRTUAL TABLE temp.words_of_notes USING fts5vocab (main, note_words, 'instance')",
    "CREATE VIRTUAL TABLE temp.words_of_signs USING fts5vocab (main, chunk_signs, 'instance')",
)


def status(index: Index) -> dict[str, Any]:
    """Counts, sizes, the driver, the model; what is pending; never changes a row."""
    connection = index.connection()
    path = index.files.current()
    one = connection.execute
    meta = dict(one("SELECT key, value FROM meta").fetchall())
    chunks = int(one("SELECT count(*) FROM chunks").fetchone()[0])
    pending = vectors.pending(connection)
    tiers = {
        database.TIERS[tier]: count
        for tier, count in one("SELECT tier, count(*) FROM notes GROUP BY tier ORDER BY tier").fetchall()
    }
    return {
        **status_of_none(index),
        "path": str(path),
        "bytes": _size(path) if path else 0,
        "journal": str(one("PRAGMA journal_mode").fetchone()[0]),
        "notes": int(one("SELECT count(*) FROM notes").fetchone()[0]),
        "tiers": tiers,
        "scopes": int(one("SELECT count(*) FROM scopes").fetchone()[0]) - 1,
        "without_own_date": int(one("SELECT count(*) FROM notes WHERE day_source = 'mtime'").fetchone()[0]),
        "chunks": chunks,
        "vectors": chunks - pending,
        "pending_vectors": pending,
        "model": meta.get("model"),
        "complete": meta.get("complete") == 1,
        "indexed": meta.get("indexed"),
    }


def status_of_none(index: Index) -> dict[str, Any]:
    """The same where there is no index and none can be made: what only an index knows is None."""
    cache = index.cache / database.CACHE_FILE
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


def verify(index: Index) -> list[str]:
    """The differences between the index and one made anew beside it, and between its vectors and the cache.

    Raises:
        UnwritableError: another process keeps the index busy.
    """
    if index.progress is not None:
        index.progress("checking the index", 0, 0)
    connection = index.connection()
    problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)") if row[0] != "ok"]
    if problems:
        return [f"the file is damaged: {problem}" for problem in problems]
    with index.files.lock(30.0, "verify.lock") as held:
        if not held:
            raise UnwritableError("another process verifies this index", "try again when it is done")
        path = index.files.folder / "verify.db"
        index.files.remove(path)
        try:
            fresh = index.made_beside(path)
            try:
                if index.progress is not None:
                    index.progress("comparing the index with the notes", 0, 0)
                found = _differences(connection, fresh)
            finally:
                fresh.close()
        finally:
            index.files.remove(path)
    return (found + _wrong_vectors(connection, index.cache))[:MAX_DIFFERENCES]


def _differences(connection: sqlite3.Connection, fresh: sqlite3.Connection) -> list[str]:
    found: list[str] = []
    for part in zip(rows(connection), rows(fresh), strict=True):
        (name, ours), (_, theirs) = part
        for mine, other in zip_longest(ours, theirs):
            if mine != other:
                found.append(f"{name}: {_short(mine)} is stored, {_short(other)} would be")
                break  # what follows in the same order differs as a rule for the same reason
    return found


def rows(connection: sqlite3.Connection) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    """All that counts of an index, as (part, rows in a fixed order): equal for equal vaults."""
    for statement in VOCABULARIES:
        name = statement.split()[3]
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(statement)
    for name, sql in ROWS.items():
        cursor = connection.execute(sql)
        yield name, cursor
        cursor.close()  # it may have been left in the middle, and would keep its tables locked
    for statement in VOCABULARIES:
        connection.execute(f"DROP TABLE IF EXISTS {statement.split()[3]}")


def _wrong_vectors(connection: sqlite3.Connection, cache: Path) -> list[str]:
    """Vectors in the KNN index that are not those of the cache."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
    if (
        row is None
        or not (cache / database.CACHE_FILE).exists()
        or not vectors.load(connection)
        or not vectors.has_table(connection)
    ):
        return []
    store = VectorCache(cache)
    try:
        model = store.known_model(str(row[0]))
        if model is None:
            return []
        wrong = lost = last = 0
        while page := connection.execute(
            "SELECT c.id, c.hash, v.vector FROM chunks c LEFT JOIN chunk_vectors v ON v.chunk = c.id"
            " WHERE c.embedded = 1 AND c.id > ? ORDER BY c.id LIMIT 1000",
            (last,),
        ).fetchall():
            last = page[-1][0]
            known = store.get(model, [digest for _, digest, _ in page])
            held = [(vector, known[digest][0]) for _, digest, vector in page if digest in known and vector is not None]
            wanted = vectors.small([vector for _, vector in held])
            wrong += sum(stored != made for (stored, _), made in zip(held, wanted, strict=True))
            lost += sum(1 for _, _, vector in page if vector is None)
        signs = "b.bits IS NOT vec_quantize_binary(vec_int8(v.vector))"
        sql = f"SELECT count(*) FROM chunk_vectors v LEFT JOIN chunk_bits b ON b.chunk = v.chunk WHERE {signs}"
        wrong += int(connection.execute(sql).fetchone()[0])
    finally:
        store.close()
    found = [f"vectors: {wrong} are not those of the cache"] if wrong else []
    return [*found, f"vectors: {lost} are missing though they are said to be there"] if lost else found


def optimise(index: Index) -> None:
    """Merge the full-text tables, gather statistics for the planner, give free space back to the disk.

    Raises:
        UnwritableError: another process keeps the index busy.
    """
    from sqlite_utils import Database

    with index.files.lock(30.0) as held:
        if not held:
            raise UnwritableError("the index is busy in another process", "try again when it is done")
        tables = Database(index.connection())
        for name in ("chunk_words", "chunk_signs", "note_words"):
            tables.table(name).optimize()
        tables.analyze()
        tables.vacuum()


def _size(path: Path) -> int:
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += path.with_name(path.name + suffix).stat().st_size
        except OSError:
            continue
    return total


def _short(row: object) -> str:
    text = "nothing" if row is None else repr(row)
    return text if len(text) <= 200 else text[:200] + "…"
