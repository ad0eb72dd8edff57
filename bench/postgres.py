"""PostgreSQL beside the file: whether both name the same first ten, and what each takes to be made and asked."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import vault
from bench.clusters import ClusteredEmbedder
from bench.growth import QUERIES, _questions, p95
from bench.measure import run, table
from bench.place import PYTHON, Place
from tars_memory.index import models, postgres_reader, prepare, vectors
from tars_memory.index.postgres import TeamIndex
from tars_memory.index.reader import Filter
from tars_memory.memory import Memory
from tars_memory.recall import query as queries, search as searching
from tars_memory.recall.candidates import CHUNKS_BY_MEANING
from tars_memory.recall.query import SearchRequest
from tars_memory.testing import HashEmbedder

if TYPE_CHECKING:
    from tars_memory.index.models import QueryVector
    from tars_memory.index.passages import Embedded
    from tars_memory.index.postgres_reader import PostgresReader
    from tars_memory.index.reader import IndexReader

_TODAY = date(2026, 11, 21)
MODES = ("lexical", "hybrid")
HITS = 10
TIE = 1e-4
"""Scores that differ by less are equal: PostgreSQL adds the products of two vectors up in another order."""


def compared(labelled: Path, database: str, folder: Path, count: int, *, lowered: bool) -> str:
    """Ask both engines each query of a set and tell how often their first ten are the same, and what each finds.

    Args:
        labelled: a folder with ``vault`` and ``queries.jsonl``; a ``home`` in it, with models and vectors, is copied,
            without one vectors are made of the hashes of words.
        database: its address.
        folder: to work in.
        count: queries that are asked, spread over the set.
        lowered: PostgreSQL's limits stand to the set as they do to a million passages: the graph names twice as many
            neighbours as are wanted, the rarest words name rows up to an occurrence for ten passages.
    """
    root, home = folder / "vault", folder / "home"
    shutil.copytree(labelled / "vault", root)
    if (labelled / "home").exists():
        shutil.copytree(labelled / "home", home)
    lines = [json.loads(line) for line in (labelled / "queries.jsonl").read_text("utf-8").split("\n") if line]
    asked = lines[:: max(1, len(lines) // count)]
    env = {"TARS_MEMORY_HOME": str(home), "TARS_MEMORY_BACKGROUND": "0", "HOME": str(home)}
    with Memory(root, env=env) as memory:
        memory.workspace.vault.ensure_id()
    rows = []
    with Memory(root, env=env) as ours, Memory(root, env={**env, "TARS_MEMORY_INDEX_DATABASE": database}) as team:
        if not (labelled / "home").exists():
            ours.workspace.embedder = team.workspace.embedder = _Turned("hashes, turned")
        ours.reindex()
        passages = ours.workspace.index().reader().chunk_count()
        with limits(MILLION, passages) if lowered else nullcontext():
            team.reindex(full=True)
        for mode in MODES:
            same = ties = shared = listed = 0
            right = {"here": 0.0, "there": 0.0}
            for each in asked:
                here = _hits(ours, each["query"], mode)
                with limits(MILLION, passages) if lowered else nullcontext():
                    there = _hits(team, each["query"], mode)
                equal = [place for _, place in here] == [place for _, place in there]
                same += equal
                ties += not equal and _is_tied(here, there)
                shared += len({place for _, place in here} & {place for _, place in there})
                listed += len(here)
                gold = {mark["path"] for mark in each["gold"]}
                for name, hits in (("here", here), ("there", there)):
                    notes = list(dict.fromkeys(path for _, (path, _) in hits))[:5]
                    right[name] += len(gold & set(notes)) / len(gold)
            others = len(asked) - same - ties
            found = (f"{100 * each / len(asked):.1f}" for each in right.values())
            overlap = f"{100 * shared / listed:.1f}"
            rows.append(
                (
                    labelled.name,
                    mode,
                    f"{passages}",
                    f"{len(asked)}",
                    f"{same}",
                    f"{ties}",
                    f"{others}",
                    overlap,
                    *found,
                )
            )
    heads = ("set", "mode", "passages", "queries", "same ten", "but for ties", "others", "shared %", "R@5 file", "R@5")
    return table("PostgreSQL beside the file: the first ten", heads, rows)


MILLION = 1_000_000


@contextmanager
def limits(passages: int, of: int) -> Iterator[None]:
    """The limits that hold among so many passages, in the same proportion among fewer of them."""
    kept = vectors.MANY, vectors.SHORTLIST, postgres_reader.POSTINGS
    vectors.MANY, vectors.SHORTLIST = 0, 2 * CHUNKS_BY_MEANING
    postgres_reader.POSTINGS = postgres_reader.POSTINGS * of // passages
    try:
        yield
    finally:
        vectors.MANY, vectors.SHORTLIST, postgres_reader.POSTINGS = kept


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


CHUNKS_A_NOTE = 4.88
"""A little less than there are, so that the limits of so many passages act."""
STAGES = ("make", "publish", "file", "team")
"""Each a process of its own, so that its memory is its own."""
FEW_WORDS = 6
"""For which a line has bits where there are more passages than :data:`FULL`, so that a million take 10 GB."""
FULL = 300_000


def report(sizes: list[int], database: str, folder: Path) -> str:
    """Measure made-up vaults of so many passages and tell.

    What was measured is kept in the folder beside what it was measured on: who is stopped goes on from there.
    """
    made, asked = [], []
    for size in sizes:
        told = _sized(size, database, folder / f"{size}")
        passages, engines = f"{told['make']['passages']:,}", ("SQLite", "PostgreSQL")
        for engine, stage in zip(engines, ("make", "publish"), strict=True):
            figures = (f"{told[stage][key]:.0f}" for key in ("clock", "cpu", "megabytes", "memory"))
            made.append((engine, passages, *figures))
        for engine, stage in zip(engines, ("file", "team"), strict=True):
            figures = [f"{told[stage][mode][at] * 1000:.0f}" for mode in MODES for at in (0, 1)]
            shares = (f"{told[stage]['neighbours']:.1%}", f"{told[stage]['memory']:.0f}")
            asked.append((engine, passages, *figures, *shares))
    return table(
        "A team's index is made from the file's: what is made, PostgreSQL's processes included",
        ("engine", "passages", "s by the clock", "CPU s", "MB on disk", "peak MB"),
        made,
    ) + table(
        f"{QUERIES} queries in one process, CPU ms, PostgreSQL's process included",
        ("engine", "passages", "words p50", "p95", "hybrid p50", "p95", "first ten neighbours", "peak MB"),
        asked,
    )


def _sized(size: int, database: str, folder: Path) -> dict[str, Any]:
    kept = folder / "measured.json"
    folder.mkdir(parents=True, exist_ok=True)
    told = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    env = {**Place(folder).env, "OPENBLAS_NUM_THREADS": "1"}
    for stage in STAGES:
        if stage not in told:
            before, began = _served(database), time.monotonic()
            out = folder / "stage.json"
            cost = run([PYTHON, "-m", "bench.postgres", stage, str(size), str(folder), database, str(out)], env)
            if cost.exit_code:
                raise RuntimeError(f"{stage} of {size}: exit code {cost.exit_code}")
            clock, served = time.monotonic() - began, _served(database) - before
            told[stage] = {"clock": clock, "cpu": cost.cpu + served, "memory": cost.memory}
            told[stage] |= json.loads(out.read_text("utf-8"))
            kept.write_text(json.dumps(told), "utf-8")
    return told


def _served(database: str) -> float:
    """Seconds of CPU of the server's processes that have ended; 0 where it is on another machine."""
    import psycopg

    with psycopg.connect(database) as connection:
        stat = Path(f"/proc/{connection.info.backend_pid}/stat")
        if not stat.exists():
            return 0.0
        parent = stat.read_text().rpartition(")")[2].split()[1]
    time.sleep(1)  # until it has reaped those that ended
    ended = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[13:15]
    return sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")


def _stage(stage: str, size: int, folder: Path, database: str) -> dict[str, Any]:
    """One of :data:`STAGES`, in this process; what it tells."""
    place = Place(folder)
    if stage == "make" and not place.root.exists():
        vault.make(place.root, round(size / CHUNKS_A_NOTE))
        prepare.ready(models.EMBEDDED, place.places.cache)
    few = {} if size <= FULL else {"words": FEW_WORDS}
    index = place.index(lambda fingerprint: ClusteredEmbedder(fingerprint, **few))
    team = TeamIndex(database, f"bench{size}")
    try:
        if stage == "make":
            began, spent = time.monotonic(), time.process_time()
            index.reindex()
            took = {
                "clock": time.monotonic() - began,
                "cpu": time.process_time() - spent,
            }  # without the making of notes
            index.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            files = [index.files.current(), *place.places.cache.glob("vectors-*.db")]
            weight = sum(file.stat().st_size for file in files if file)
            return {**took, "megabytes": weight / 1e6, "passages": index.reader().chunk_count()}
        if stage == "publish":
            team.publish(index.published_from(), index.cache, None, takes_over=True, wait=60.0)
            return {"megabytes": team.told()["bytes"] / 1e6}
        texts, embedder = _questions(), ClusteredEmbedder(place.fingerprint)
        reader = index.reader()
        answers = reader.vectors(reader.sample(QUERIES))
        asked = [embedder.question(text, answer) for text, answer in zip(texts, answers.values(), strict=True)]
        if stage == "file":
            return _asked(reader, index.vault.read, texts, asked, time.process_time)

        def there(reader: PostgresReader) -> dict[str, Any]:
            backend = Path(f"/proc/{reader.backend}/schedstat")  # of a server on this machine

            def cpu() -> float:
                return time.process_time() + (int(backend.read_text().split()[0]) / 1e9 if backend.exists() else 0.0)

            return _asked(reader, index.vault.read, texts, asked, cpu)

        return team.read(there)
    finally:
        team.close()
        index.close()


def _asked(
    reader: IndexReader,
    read: Callable[[str], bytes],
    texts: list[str],
    asked: list[QueryVector],
    cpu: Callable[[], float],
) -> dict[str, Any]:
    """The middle and the 95th of a hundred by words and by both, and how many of the first ten neighbours are right."""
    times: dict[str, list[float]] = {mode: [] for mode in MODES}
    for warm in (True, False):
        for text, vector in zip(texts[:5] if warm else texts, asked, strict=False):
            for mode in MODES:
                spent = cpu()
                given = vector if mode == "hybrid" else None
                searching.search(
                    reader, queries.parse(text, _TODAY), SearchRequest(text, mode), vector=given, read=read
                )
                if not warm:
                    times[mode].append(cpu() - spent)
    held = 0
    for vector in asked:
        found = {chunk for chunk, _ in reader.nearest(vector.vector, Filter(), CHUNKS_BY_MEANING)[:HITS]}
        with one_by_one():
            exact = {chunk for chunk, _ in reader.nearest(vector.vector, Filter(), HITS)}
        held += len(found & exact)
    told: dict[str, Any] = {mode: (statistics.median(each), p95(each)) for mode, each in times.items()}
    return {**told, "neighbours": held / len(asked) / HITS}


@contextmanager
def one_by_one() -> Iterator[None]:
    """Neighbours are compared one by one, however many there are."""
    kept = vectors.MANY
    vectors.MANY = sys.maxsize
    try:
        yield
    finally:
        vectors.MANY = kept


if __name__ == "__main__":
    stage, size, folder, database, out = sys.argv[1:]
    Path(out).write_text(json.dumps(_stage(stage, int(size), Path(folder), database)), "utf-8")
