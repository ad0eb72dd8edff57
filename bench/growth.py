"""Growth: a search in process, and the bare KNN + MATCH that it stands on, over ever more chunks; an index's weight."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from bench.measure import table, verdict
from bench.place import Place, RandomEmbedder
from bench.vault import vocabulary
from tars_memory.index.reader import Filter, IndexReader
from tars_memory.index.vectors import quantized
from tars_memory.recall import candidates, query as queries, scores, search as searching
from tars_memory.recall.query import SearchRequest

LIMIT = 1.8
"""p95 of a hybrid search as a multiple of the bare KNN + MATCH."""
WEIGHT_LIMIT = 4.0
"""Bytes of the index, vectors included, for a byte of Chinese notes."""
WEIGHED = 3_000
"""Notes of either."""
HEAVIEST = 6
CHUNKS_A_NOTE = 5
QUERIES = 40
_TODAY = date(2026, 11, 21)


def p95(times: list[float]) -> float:
    """The 95th of a hundred."""
    return statistics.quantiles(times, n=20)[-1]


def timed(work: Callable[[int], object], count: int) -> list[float]:
    """Seconds of CPU of each call."""
    times = []
    for number in range(count):
        begun = time.process_time()
        work(number)
        times.append(time.process_time() - begun)
    return times


def report(sizes: list[int], folder: Path) -> str:
    """Measure and tell."""
    rows = [_grown(size, folder) for size in sizes]
    return (
        table(
            f"Growth: {QUERIES} queries in one process, CPU ms",
            (
                "chunks",
                "made in s",
                "file MB",
                "bare median",
                "bare p95",
                "search median",
                "search p95",
                "x bare",
                "limit",
            ),
            [row for row, _ in rows],
        )
        + table(
            "What of a search takes the time: CPU ms of the median, the query's vector at hand",
            ("chunks", "by words", "hybrid", *PARTS),
            [parts for _, parts in rows],
        )
        + table(
            f"What the index of {WEIGHED:,} notes weighs, vectors included, as a multiple of their text",
            ("notes", "text MB", "passages", "index", "limit", "the heaviest tables"),
            [_weighed(folder, chinese=chinese) for chinese in (False, True)],
        )
    )


def _weighed(folder: Path, *, chinese: bool) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory(dir=folder) as home:
        place = Place(Path(home))
        place.build(WEIGHED, chinese=chinese)
        text = sum(note.stat().st_size for note in place.root.rglob("*.md"))
        index = place.index()
        index.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        chunks = index.reader().chunk_count()
        file = index.files.current()
        index.close()
        if file is None:
            raise RuntimeError("there is no index")
        ratio = file.stat().st_size / text
        heaviest = ", ".join(f"{name} {size / text:.2f}" for name, size in _tables(file)[:HEAVIEST])
    limit = f"{WEIGHT_LIMIT} {verdict(ratio, WEIGHT_LIMIT)}"
    return "Chinese" if chinese else "English", f"{text / 1e6:.1f}", str(chunks), f"{ratio:.2f}", limit, heaviest


def _tables(file: Path) -> list[tuple[str, int]]:
    """The tables and indexes of a database by their bytes, the heaviest first; none if this SQLite can't tell."""
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    try:
        sql = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY sum(pgsize) DESC"
        return [(str(name), int(size)) for name, size in connection.execute(sql)]
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


PARTS = {
    "keywords": ((IndexReader, "match_chunks"), (IndexReader, "match_notes")),
    "neighbours": ((IndexReader, "nearest"), (IndexReader, "cosines")),
    "rows": ((IndexReader, "chunks"), (IndexReader, "word_bits"), (IndexReader, "places")),
    "names": ((IndexReader, "named_in"), (candidates, "name_shares")),
    "lines": ((candidates, "_add_lines"), (candidates, "_count")),
    "nearest words": ((candidates, "_compare_words"),),
    "scores": ((scores, "rank"),),
    "hits": ((searching, "_verified_hits"),),
}
"""What a search consists of, by the functions that do it."""


@contextmanager
def _clocked(spent: dict[str, list[float]]) -> Iterator[None]:
    """Every part takes its time: a number for each call is added to the last search's sum."""

    def clocked(work: Callable[..., object], name: str) -> Callable[..., object]:
        def run(*given: object, **named: object) -> object:
            begun = time.process_time()
            try:
                return work(*given, **named)
            finally:
                spent[name][-1] += time.process_time() - begun

        return run

    kept = [(owner, name, getattr(owner, name)) for functions in PARTS.values() for owner, name in functions]
    for part, functions in PARTS.items():
        for owner, name in functions:
            setattr(owner, name, clocked(getattr(owner, name), part))
    try:
        yield
    finally:
        for owner, name, work in kept:
            setattr(owner, name, work)


def _grown(size: int, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    with tempfile.TemporaryDirectory(dir=folder) as home:
        place = Place(Path(home))
        begun = time.process_time()
        place.build(size // CHUNKS_A_NOTE)
        made = time.process_time() - begun
        index = place.index()
        reader = index.reader()
        embedder = RandomEmbedder(place.fingerprint)
        texts = _questions()
        vectors = [embedder.embed_query(text) for text in texts]
        connection = index.connection()
        read = index.vault.read

        def bare(number: int) -> None:
            text = " OR ".join(f'"{word}"' for word in texts[number].split())
            matched = "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? ORDER BY rank LIMIT 100"
            connection.execute(matched, (text,)).fetchall()
            nearest = (
                "SELECT chunk, vec_distance_l2(vec_int8(vector), vec_int8(?)) FROM chunk_vectors ORDER BY 2 LIMIT 100"
            )
            connection.execute(nearest, quantized([vectors[number].vector])).fetchall()

        def search(number: int) -> None:
            asked = queries.parse(texts[number], _TODAY)
            searching.search(
                reader, asked, SearchRequest(texts[number]), vector=vectors[number], read=read, vault_name="bench",
            )  # fmt: skip

        reader.nearest(vectors[0].vector, Filter(), 10)  # loads sqlite-vec
        timed(bare, 5)
        timed(search, 5)

        def by_words(number: int) -> None:
            asked = queries.parse(texts[number], _TODAY)
            searching.search(reader, asked, SearchRequest(texts[number], "lexical"), read=read, vault_name="bench")

        floor, ours, plain = timed(bare, QUERIES), timed(search, QUERIES), timed(by_words, QUERIES)
        spent: dict[str, list[float]] = {part: [] for part in PARTS}

        def apart(number: int) -> None:
            for each in spent.values():
                each.append(0.0)
            search(number)

        with _clocked(spent):
            timed(apart, QUERIES)
        chunks = reader.chunk_count()
        file = index.files.current()
        megabytes = file.stat().st_size / 1e6 if file else 0.0
        index.close()
    ratio = p95(ours) / p95(floor)
    figures = (statistics.median(floor), p95(floor), statistics.median(ours), p95(ours))
    medians = map(statistics.median, (plain, ours, *spent.values()))
    return (
        (
            str(chunks),
            f"{made:.1f}",
            f"{megabytes:.0f}",
            *(f"{figure * 1000:.1f}" for figure in figures),
            f"{ratio:.2f}",
            f"{LIMIT} {verdict(ratio, LIMIT)}" if chunks >= 100_000 else "",
        ),
        (str(chunks), *(f"{figure * 1000:.1f}" for figure in medians)),
    )


def _questions() -> list[str]:
    """Three words each: one frequent, one less so, one rare."""
    words, _ = vocabulary(7)
    return [f"{words[30 + number]} {words[300 + number]} {words[3000 + number]}" for number in range(QUERIES)]
