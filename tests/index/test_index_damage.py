"""An index that is damaged, cut off or of another time is made anew by itself; what is searched is never wrong."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from tars_memory.index import database
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import Index
from tars_memory.index.reader import Filter, IndexReader
from tars_memory.testing import hashed

NOTES = {
    f"{n}.md": f"# Note {n}\n\nThe tea number {n} is green and 東京.\n\n## Part\n\n- item one #tag\n" for n in range(40)
}


def search(index: Index) -> list[str]:
    """As a command does: refresh, then ask with repair."""
    index.refresh()

    def ask(reader: IndexReader) -> list[str]:
        ids = [chunk for chunk, _ in reader.match_chunks(expression(["tea"]), Filter(), 100)]
        ids += [chunk for chunk, _ in reader.match_text(["東京"], Filter(), 100)]
        reader.match_notes(expression(["tea"]), Filter(), 100)
        return sorted({row.path for row in reader.chunks(ids).values()})

    return index.read(ask)


def close_clean(index: Index) -> bytes:
    index.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = index.files.current()
    index.close()
    assert path is not None
    return path.read_bytes()


def overwrite(index: Index, data: bytes) -> None:
    path = index.files.current()
    assert path is not None
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 5000, 0.3, 0.9])
def test_truncated(make_index, keep: float) -> None:
    index = make_index(NOTES)
    index.reindex()
    data = close_clean(index)
    overwrite(index, data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    assert search(make_index()) == sorted(NOTES)
    assert make_index().verify() == []


def test_not_a_database(make_index) -> None:
    index = make_index(NOTES)
    index.reindex()
    close_clean(index)
    overwrite(index, b"something else entirely " * 1000)
    assert search(make_index()) == sorted(NOTES)


@pytest.mark.parametrize("version", [database.VERSION + 1, 0])
def test_another_version_under_our_name(make_index, version: int) -> None:
    index = make_index(NOTES)
    index.refresh()
    index.connection().execute(f"PRAGMA user_version = {version}")
    index.close()
    assert search(make_index()) == sorted(NOTES)


@pytest.mark.parametrize(
    "table", ["chunk_texts", "notes", "files", "chunk_words_data", "meta", "chunk_words", "scopes"]
)
def test_a_table_that_is_gone(make_index, table: str) -> None:
    index = make_index(NOTES)
    index.refresh()
    try:
        index.connection().execute(f"DROP TABLE {table}")
    except database.driver().module.OperationalError:
        index.connection().execute("PRAGMA writable_schema = ON")
        index.connection().execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
    index.close()
    assert search(make_index()) == sorted(NOTES)
    assert make_index().verify() == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chunk_texts SET text = CAST(text AS BLOB) WHERE id = 2",
        "UPDATE chunk_texts SET head = CAST(head AS BLOB) WHERE id = 2",
        "UPDATE chunks SET position = CAST('1' AS BLOB) WHERE id = 2",
        "UPDATE notes SET title = CAST(title AS BLOB) WHERE id = 2",
    ],
)
def test_a_value_of_another_type_is_damage_and_mended(make_index, change: str) -> None:
    index = make_index(NOTES)
    index.refresh()
    index.connection().execute(change)
    index.close()
    index = make_index()

    def rows(reader):
        chunks = reader.chunks(range(1, 100))
        return reader.notes({chunk.note_id for chunk in chunks.values()}), chunks

    notes, chunks = index.read(rows)
    assert {note.path for note in notes.values()} == set(NOTES)
    assert all(isinstance(chunk.text, str) and isinstance(chunk.position, int) for chunk in chunks.values())
    assert index.verify() == []


def test_flipped_bytes_never_raise_and_a_rebuild_mends_them(make_index) -> None:
    index = make_index(NOTES)
    index.reindex()
    data = close_clean(index)
    chance = random.Random(7)
    for _ in range(25):
        flipped = bytearray(data)
        for _ in range(chance.choice((1, 20, 400))):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        overwrite(index, bytes(flipped))
        index = make_index()
        search(index)  # a flipped bit of a path is another path: SQLite has no checksums
        index.rebuild(embed=False)
        assert search(index) == sorted(NOTES)
        assert index.verify() == []
        data = close_clean(index)


def test_a_damaged_cache_is_begun_anew(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    index.reindex()
    close_clean(index)
    cache = tmp_path / "cache" / database.CACHE_FILE
    for data in (b"", b"no database" * 500, cache.read_bytes()[:5000]):
        cache.write_bytes(data)
        index = make_index()
        index.reindex()
        assert index.pending() == 0
        assert index.verify() == []
        found = index.reader().nearest(hashed("tea number green"), Filter(), 5)
        assert len(found) == 5
        index.close()


def test_a_pipe_in_the_place_of_a_database_is_not_waited_for(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    index.reindex()
    close_clean(index)
    for path in (tmp_path / "cache" / database.CACHE_FILE, next(tmp_path.rglob("index-*.db"))):
        path.unlink()
        os.mkfifo(path)
    index = make_index()
    index.reindex()
    assert index.pending() == 0 and index.verify() == []
    index.close()


def test_a_flipped_bit_in_a_cached_vector_is_embedded_again(make_index) -> None:
    from tars_memory.index.vectors import VectorCache

    index = make_index(NOTES)
    index.reindex()
    store = VectorCache(index.cache)
    store._connection.execute("UPDATE vectors SET vector = zeroblob(1536) WHERE id = 3")
    digests = [digest for (digest,) in store._connection.execute("SELECT hash FROM vectors")]
    assert len(store.get(1, digests)) == len(digests) - 1
    store.close()
    index.rebuild()
    assert index.pending() == 0
    assert index.verify() == []


def test_leftovers_of_a_killed_rebuild_are_swept_away(make_index) -> None:
    index = make_index(NOTES)
    index.refresh()
    folder = index.files.folder
    (folder / f"index-{database.VERSION}.0002.db.new").write_bytes(b"half")
    (folder / "index-0.0009.db").write_bytes(b"of another version")
    index.rebuild(embed=False)
    assert [
        path.name for path in folder.glob("index-*.db*") if "-wal" not in path.name and "-shm" not in path.name
    ] == [f"index-{database.VERSION}.0002.db"]
    assert search(index) == sorted(NOTES)


def test_a_cache_that_turns_out_damaged_when_it_is_read_is_begun_anew(make_index, tmp_path) -> None:
    index = make_index(NOTES)
    index.reindex()
    data = close_clean(index)
    cache = tmp_path / "cache" / database.CACHE_FILE
    good = cache.read_bytes()
    for page in range(1, len(good) // 4096, 7):  # its head is whole, so it opens
        cache.write_bytes(good[: page * 4096] + bytes(4096) + good[(page + 1) * 4096 :])
        overwrite(index, data)
        index = make_index()
        index.rebuild()
        assert index.pending() == 0
        assert len(index.reader().nearest(hashed("tea number green"), Filter(), 5)) == 5
        index.close()


@pytest.mark.parametrize("damaged", ["zeroblob(7)", "x''", "'text'"])
def test_a_vector_table_that_lost_its_blobs_is_made_anew(make_index, damaged: str) -> None:
    index = make_index(NOTES)
    index.reindex()
    index.connection().execute(f"UPDATE chunk_vectors SET vector = {damaged}")
    index.close()
    index = make_index()
    index.refresh()
    found = index.read(lambda reader: reader.nearest(hashed("tea number green"), Filter(), 5))
    assert len(found) == 5
    assert index.verify() == []


def test_rows_that_turn_out_damaged_when_vectors_are_made_are_made_anew(make_index) -> None:
    index = make_index(NOTES)
    index.refresh()
    (root,) = index.connection().execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunk_texts'").fetchone()
    (size,) = index.connection().execute("PRAGMA page_size").fetchone()
    data = close_clean(index)
    overwrite(index, data[: (root - 1) * size] + b"\xff" * size + data[root * size :])
    index = make_index()
    index.reindex()
    assert index.pending() == 0
    assert index.verify() == []


def test_a_damaged_schema_is_damage_whatever_its_comments_say(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    module = database.driver().module
    with closing(module.connect(path)) as connection:
        connection.execute("CREATE TABLE files_2 (path, stamp /* too young */)")
        connection.commit()
    path.write_bytes(path.read_bytes().replace(b"files_2 (path,", b"files_2 (path`"))
    with closing(module.connect(path)) as connection, pytest.raises(module.Error) as raised:
        connection.execute("SELECT * FROM files_2")
    assert " too " in str(raised.value) and database.damaged(raised.value)
