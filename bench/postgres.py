"""PostgreSQL beside the file: whether both name the same first ten, and what each takes to be made and asked."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.growth import QUERIES, _questions, p95
from bench.measure import table
from bench.place import Place, RandomEmbedder
from tars_memory.index.embedding import prepare
from tars_memory.index.postgres import TeamIndex
from tars_memory.memory import Memory
from tars_memory.recall import query as queries
from tars_memory.recall import search as searching
from tars_memory.recall.request import SearchRequest
from tars_memory.testing import HashEmbedder

if TYPE_CHECKING:
    from tars_memory.index.embedding.models import QueryVector
    from tars_memory.index.embedding.session import Embedded
    from tars_memory.index.postgres_reader import PostgresReader
    from tars_memory.index.reader import IndexReader

_TODAY = date(2026, 11, 21)
MODES = ("lexical", "hybrid")
HITS = 10
TIE = 1e-4
"""Scores that differ by less are equal: PostgreSQL adds the products of two vectors up in another order."""


def compared(labelled: Path, database: str, folder: Path) -> str:
    """Ask both engines each query of a set and tell how often their first ten are the same.

    Args:
        labelled: a folder with ``vault`` and ``queries.jsonl``; a ``home`` in it, with models and vectors, is copied,
            without one vectors are made of the hashes of words.
        database: its address.
        folder: to work in.
    """
    root, home = folder / "vault", folder / "home"
    shutil.copytree(labelled / "vault", root)
    if (labelled / "home").exists():
        shutil.copytree(labelled / "home", home)
    asked = [json.loads(line)["query"] for line in (labelled / "queries.jsonl").read_text("utf-8").split("\n") if line]
    env = {"TARS_MEMORY_HOME": str(home), "TARS_MEMORY_BACKGROUND": "0", "HOME": str(home)}
    with Memory(root, env=env) as memory:
        memory.workspace.vault.ensure_id()
    rows = []
    with Memory(root, env=env) as ours, Memory(root, env={**env, "TARS_MEMORY_INDEX_DATABASE": database}) as team:
        if not (labelled / "home").exists():
            ours.workspace.embedder = team.workspace.embedder = _Turned("hashes, turned")
        team.reindex(full=True)
        for mode in MODES:
            same = ties = 0
            for text in asked:
                here, there = (_hits(memory, text, mode) for memory in (ours, team))
                equal = [place for _, place in here] == [place for _, place in there]
                same += equal
                ties += not equal and _is_tied(here, there)
            others = len(asked) - same - ties
            rows.append((labelled.name, mode, f"{len(asked)}", f"{same}", f"{ties}", f"{others}"))
    heads = ("set", "mode", "queries", "same ten", "but for ties", "others")
    return table("PostgreSQL beside the file: the first ten", heads, rows)


class _Turned(HashEmbedder):
    """Hashes of words, turned: no number of a vector stands out, as of a model's; the file has a byte for each."""

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """As of the hashes."""
        for each in super().embed_passages(texts):
            yield each._replace(vector=self._turned(each.vector))

    def embed_query(self, text: str) -> QueryVector:
        """As of the hashes."""
        each = super().embed_query(text)
        return each._replace(vector=self._turned(each.vector))

    def _turned(self, vector: bytes) -> bytes:
        np = prepare.load_numpy()
        if self._turn is None:
            self._turn, _ = np.linalg.qr(np.random.default_rng(7).standard_normal((self.dimension, self.dimension)))
        turned = np.frombuffer(vector, dtype="<f4") @ self._turn
        data: bytes = (turned / np.linalg.norm(turned)).astype("<f4").tobytes()
        return data

    _turn: Any = None


def _hits(memory: Memory, text: str, mode: str) -> list[tuple[float, tuple[str, int]]]:
    result = memory.search(text, mode=mode, limit=HITS)
    return [(hit.score, (hit.path, hit.start_line)) for hit in result.hits]


def _is_tied(one: list[tuple[float, tuple[str, int]]], other: list[tuple[float, tuple[str, int]]]) -> bool:
    """Whether two lists differ only in the order of what has the same score, or in which of them stand last."""
    if len(one) != len(other) or any(abs(a - b) > TIE for (a, _), (b, _) in zip(one, other, strict=True)):
        return False
    last = one[-1][0] + TIE
    return {place for score, place in one if score > last} == {place for score, place in other if score > last}


def report(sizes: list[int], database: str, folder: Path) -> str:
    """Measure made-up vaults of so many notes and tell."""
    rows = [row for size in sizes for row in _sized(size, database, folder / str(size))]
    heads = ("passages", "engine", "made in s", "MB", "words p50", "words p95", "both p50", "both p95", "CPU p50")
    return table(f"PostgreSQL beside the file: {QUERIES} queries in one process, ms by the clock", heads, rows)


def _sized(size: int, database: str, folder: Path) -> list[tuple[str, ...]]:
    place = Place(folder)
    began = time.monotonic()
    place.build(size)
    made = time.monotonic() - began
    index, name = place.index(), f"bench{size}notes"
    texts, embedder = _questions(), RandomEmbedder(place.fingerprint)
    vectors = [embedder.embed_query(text) for text in texts]
    team = TeamIndex(database, name)
    began = time.monotonic()
    team.publish(index.published_from(), index.cache, None, takes_over=True, wait=60.0)
    published = time.monotonic() - began
    passages = index.reader().chunk_count()
    files = [index.files.current(), *place.places.cache.glob("vectors-*.db")]
    weight = sum(file.stat().st_size for file in files if file) / 1e6

    def there(reader: PostgresReader) -> tuple[str, ...]:
        backend = Path(f"/proc/{reader.backend}/schedstat")  # of a server on this machine

        def cpu() -> float:
            return time.process_time() + (int(backend.read_text().split()[0]) / 1e9 if backend.exists() else 0.0)

        return _asked(reader, index.vault.read, texts, vectors, cpu)

    larger = (team.told()["bytes"] or 0) / 1e6
    rows = [_asked(index.reader(), index.vault.read, texts, vectors, time.process_time), team.read(there)]
    team.close()
    index.close()
    shutil.rmtree(folder)
    return [
        (f"{passages:,}", name, f"{seconds:.0f}", f"{megabytes:.0f}", *row)
        for name, seconds, megabytes, row in (
            ("file", made, weight, rows[0]),
            ("PostgreSQL, beside", published, larger, rows[1]),
        )
    ]


def _asked(
    reader: IndexReader, read: Callable[[str], bytes], texts: list[str], vectors: list, cpu: Callable[[], float]
) -> tuple[str, ...]:
    """The middle and the 95th of a hundred, by words and by both, and the middle of the processors' time of both."""
    times: dict[str, list[float]] = {"lexical": [], "hybrid": [], "cpu": []}
    for warm in (True, False):
        for text, vector in zip(texts[:5] if warm else texts, vectors, strict=False):
            for mode in MODES:
                began, spent = time.perf_counter(), cpu()
                asked, given = queries.parse(text, _TODAY), vector if mode == "hybrid" else None
                searching.search(reader, asked, SearchRequest(text, mode), vector=given, read=read)
                if not warm:
                    times[mode].append(time.perf_counter() - began)
                    if mode == "hybrid":
                        times["cpu"].append(cpu() - spent)
    figures = [each for mode in MODES for each in (statistics.median(times[mode]), p95(times[mode]))]
    return tuple(f"{figure * 1000:.0f}" for figure in (*figures, statistics.median(times["cpu"])))
