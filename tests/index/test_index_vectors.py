"""Neighbours: the same ones on every rung, within every filter, never of another model."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from array import array
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tars_memory.errors import UsageError
from tars_memory.index import database, vectors
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import ROWS, Index, rows
from tars_memory.index.reader import Filter
from tars_memory.settings import Cut
from tars_memory.testing import HashEmbedder, hashed

WORDS = ["tea", "copper", "river", "museum", "garden", "train", "letter", "winter", "bridge", "forest", "music"]


def available() -> list[str]:
    """The rungs that this Python has; each is forced in turn."""
    found = []
    for rung in database.RUNGS:
        try:
            database._choose(rung)
        except UsageError:
            continue
        found.append(rung)
    return found


RUNGS = available()


def notes() -> dict[str, str]:
    made = {}
    for number in range(60):
        words = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 2, 3, 5)]
        folder = ("", "sessions/", "projects/p/", "x/")[number % 4]
        day = f"2026-{number % 12 + 1:02d}-10 " if number % 3 else ""
        tag = " #work/a" if number % 5 == 0 else ""
        made[f"{folder}{day}n{number}.md"] = (
            f"# {words[0]}\n\n{' '.join(words)}{tag}\n\n## {words[1]}\n\nmore {words[2]}\n"
        )
    return made


FILTERS = [
    Filter(),
    Filter(scope="p"),
    Filter(tiers=["episodic"]),
    Filter(tiers=["episodic", "note"], since="2026-03-01", until="2026-08-31"),
    Filter(not_tiers=["episodic"]),
    Filter(tags=["work"]),
    Filter(not_tags=["#work/a"], scope="p"),
    Filter(paths=["x/"]),
    Filter(paths=["*n1*"], not_paths=["SESSIONS/"]),
    Filter(since="2026-05-01"),
    Filter(tags=["nowhere"]),
]


def brute(index: Index, query: bytes, within: Filter) -> dict[int, float]:
    """Cosines by hand of all chunks that the filter allows, by the rows as recall sees them."""
    reader = index.reader()
    found = {}
    for chunk, row in reader.chunks(range(1, 1000)).items():
        tags = {tag for (tag,) in index.connection().execute("SELECT tag FROM chunk_tags WHERE chunk = ?", (chunk,))}
        day, path = row.date or "", row.path.lower()
        allowed = (
            row.scope in ("", within.scope)
            and (not within.tiers or row.tier in within.tiers)
            and row.tier not in within.not_tiers
            and (not within.since or day >= within.since)
            and (not within.until or day <= within.until)
            and all(any(tag == t or tag.startswith(t + "/") for tag in tags) for t in within.tags)
            and not any(tag == t.lstrip("#") for t in within.not_tags for tag in tags)
            and (not within.paths or any(fnmatchcase(path, p if "*" in p else p + "*") for p in within.paths))
            and not any(path.startswith(p.lower()) for p in within.not_paths)
        )
        if allowed:
            text = f"{row.head}\n{row.text}"
            found[chunk] = math.fsum(a * b for a, b in zip(array("f", hashed(text)), array("f", query), strict=True))
    return found


@pytest.mark.parametrize(("rung", "many"), [*((rung, vectors.MANY) for rung in RUNGS), (RUNGS[0], 0)])
def test_neighbours_are_exact_within_every_filter(make_index, monkeypatch, rung: str, many: int) -> None:
    monkeypatch.setenv(database.VARIABLE, rung)
    monkeypatch.setattr(vectors, "MANY", many)
    index = make_index(notes())
    index.reindex()
    assert index.pending() == 0
    reader = index.reader()
    for words in ("tea river", "museum", "price of winter bridge"):
        query = hashed(words)
        for within in FILTERS:
            expected = brute(index, query, within)
            found = reader.nearest(query, within, 15)
            assert len(found) == min(15, len(expected))
            assert [round(score, 6) for _, score in found] == sorted((round(s, 6) for _, s in found), reverse=True)
            for (chunk, score), best in zip(found, sorted(expected.values(), reverse=True), strict=False):
                assert abs(score - expected[chunk]) < 1e-6
                assert abs(score - best) < 1e-6
            exact = reader.cosines(query, [chunk for chunk, _ in found])
            assert all(abs(exact[chunk] - score) < 1e-6 for chunk, score in found)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_gives_the_same_answers(make_index, monkeypatch, rung: str) -> None:
    """One index, made on the first rung, read and kept up on another."""
    monkeypatch.setenv(database.VARIABLE, RUNGS[0])
    index = make_index(notes())
    index.reindex()

    def answers(which: Index) -> list[object]:
        reader = which.reader()
        query = hashed("tea river")
        near = reader.nearest(query, Filter(scope="p"), 20)
        words = reader.match_chunks(expression(["tea", "river"]), Filter(), 20)
        return [
            [chunk for chunk, _ in near],
            {f"near {chunk}": score for chunk, score in near} | {f"words {chunk}": score for chunk, score in words},
            reader.word_bits([chunk for chunk, _ in near]),
        ]

    before = answers(index)
    index.close()
    monkeypatch.setenv(database.VARIABLE, rung)
    other = make_index()
    now = answers(other)
    assert now.pop(1) == pytest.approx(before.pop(1), abs=1e-6)
    assert now == before
    (other.vault.root / "new.md").write_text("a river of tea\n")
    (other.vault.root / next(iter(notes()))).unlink()
    other.reindex()
    assert other.pending() == 0
    assert other.verify() == []
    there = answers(other)
    other.close()
    monkeypatch.setenv(database.VARIABLE, RUNGS[0])
    back = make_index()
    back.reindex()
    assert back.pending() == 0
    now = answers(back)
    assert now.pop(1) == pytest.approx(there.pop(1), abs=1e-6)
    assert now == there
    assert back.verify() == []


def test_words_bits_stand_line_by_line(make_index) -> None:
    index = make_index({"a.md": "tea river\n\nmuseum\n"})
    index.reindex()
    reader = index.reader()
    assert {chunk: (counts, len(bits)) for chunk, (counts, bits) in reader.word_bits([1, 99]).items()} == {
        1: (bytes((2, 0, 1)), 3 * 48)
    }


def test_text_is_embedded_once(make_index) -> None:
    embedder = HashEmbedder()
    index = make_index({"a.md": "tea\n", "x/a.md": "tea\n", "b.md": "milk\n"})
    index.embedder = lambda: embedder
    index.reindex()
    assert len(embedder.texts) == 2
    index.rebuild()
    (index.vault.root / "b.md").rename(index.vault.root / "c.md")
    (index.vault.root / "c.md").rename(index.vault.root / "b.md")
    (index.vault.root / "b.md").write_text("# \n\nmilk\n")
    index.reindex()
    assert len(embedder.texts) == 2
    assert index.pending() == 0


def test_notes_are_cut_anew_by_another_size_and_what_reads_the_same_keeps_its_vector(make_index) -> None:
    embedder = HashEmbedder()
    long = "\n".join(f"- line {number} about the boats and the tide of that morning" for number in range(12))
    index = make_index({"short.md": "tea\n", "long.md": f"{long}\n\n{'A word. ' * 60}\n"})
    index.embedder = lambda: embedder
    index.reindex()
    before, made = index.read(lambda reader: reader.chunk_count()), len(embedder.texts)
    smaller = Index(index.vault, index.files.folder, index.cache, index.limits, lambda: embedder, Cut(300, 40))
    smaller.reindex()
    assert smaller.read(lambda reader: reader.chunk_count()) > before
    assert all(len(row.text) <= 300 for row in smaller.read(lambda reader: reader.chunks(range(100))).values())
    assert smaller.verify() == []
    assert smaller.pending() == 0
    again = len(embedder.texts)
    assert not any("tea" in text for text in embedder.texts[made:])
    index.reindex()
    assert (index.read(lambda reader: reader.chunk_count()), len(embedder.texts)) == (before, again)
    assert index.verify() == []
    smaller.close()


def test_a_limit_is_kept_and_what_is_pending_is_found_by_words(make_index) -> None:
    index = make_index({f"{n}.md": f"tea {n}\n" for n in range(30)})
    index.refresh()
    assert index.embed_pending(10) == 20
    assert len(index.reader().match_chunks(expression(["tea"]), Filter(), 99)) == 30
    assert len(index.reader().nearest(hashed("tea"), Filter(), 99)) == 10
    assert index.verify() == []
    assert index.embed_pending() == 0


def test_what_was_embedded_before_an_interruption_is_kept(make_index, monkeypatch) -> None:
    from tars_memory.index import vectors

    monkeypatch.setattr(vectors, "PAGE", 10)
    index = make_index({f"{n}.md": f"tea {n}\n" for n in range(30)})

    def stop(phase: str, done: int, total: int) -> None:
        if phase == "vectors" and done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.reindex(progress=stop)
    assert index.pending() == 10
    embedder = HashEmbedder()
    index.embedder = lambda: embedder
    index.reindex()
    assert len(embedder.texts) == 10


def test_progress_is_told_from_the_beginning_and_to_the_end(make_index) -> None:
    index = make_index({f"{n}.md": f"tea {n}\n" for n in range(50)})
    told: list[tuple[str, int, int]] = []
    index.reindex(progress=lambda *step: told.append(step))
    assert [done for phase, done, total in told if phase == "vectors" and total == 50] == [0, 16, 32, 48, 50]
    told.clear()
    index.reindex(progress=lambda *step: told.append(step))
    assert "vectors" not in {phase for phase, _, _ in told}


@pytest.mark.parametrize("rung", RUNGS)
def test_another_model_takes_over_whole(make_index, monkeypatch, rung: str) -> None:
    monkeypatch.setenv(database.VARIABLE, rung)
    index = make_index(notes())
    index.reindex()
    assert index.reader().fingerprint == "hash-embedder"
    every = len(index.reader().nearest(hashed("tea"), Filter(), 200))
    another = HashEmbedder("another")
    index.embedder = lambda: another
    left = index.embed_pending(5)
    assert left > 0
    assert index.reader().fingerprint == "hash-embedder"  # the old vectors answer meanwhile, all of them
    assert len(index.reader().nearest(hashed("tea"), Filter(), 200)) == every
    (index.vault.root / "later.md").write_text("a note of later\n")
    index.refresh()
    assert index.embed_pending(5) == left - 4  # one text more, five less
    assert index.embed_pending() == 0
    assert index.reader().fingerprint == "another"
    assert len(index.reader().nearest(hashed("tea"), Filter(), 200)) == every + 1
    assert len(another.texts) == len(set(another.texts)) == left + 6  # what was made before was kept
    assert index.verify() == []


@pytest.mark.parametrize("bad", [b"", b"\0" * 1536, array("f", [float("nan")] * 384).tobytes(), b"\0" * 100])
def test_vectors_without_a_direction_are_refused(make_index, bad: bytes) -> None:
    index = make_index({"a.md": "tea\n", "b.md": "milk\n"})

    class Bad(HashEmbedder):
        def embed_passages(self, texts):
            for made in super().embed_passages(texts):
                yield made._replace(vector=bad) if "milk" in self.texts[-1] else made

    index.embedder = Bad
    index.reindex()
    assert index.pending() == 1
    reader = index.reader()
    assert reader.nearest(bad, Filter(), 5) == []
    assert reader.cosines(bad, [1]) == {}
    assert len(reader.nearest(hashed("tea"), Filter(), 5)) == 1


def test_deleted_chunks_never_come_back(make_index) -> None:
    index = make_index({"keep.md": "river\n", **{f"{n}.md": f"tea {n}\n" for n in range(40)}})
    index.reindex()
    for number in range(30):
        (index.vault.root / f"{number}.md").unlink()
        index.refresh()
    assert len(index.reader().nearest(hashed("tea"), Filter(), 40)) == 11
    for table in ("chunk_vectors", "chunk_bits"):
        assert index.connection().execute(f"SELECT count(*) FROM {table}").fetchone() == (11,)
    assert index.pending() == 0
    assert index.verify() == []


def test_a_cache_that_was_deleted_is_made_again(make_index, tmp_path) -> None:
    index = make_index(notes())
    index.reindex()
    index.close()
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    index = make_index()
    assert len(index.reader().nearest(hashed("tea"), Filter(), 5)) in (0, 5)
    index.reindex()
    assert index.pending() == 0
    assert len(index.reader().word_bits(range(1, 200))) == index.reader().chunk_count()


def test_verify_sorts_no_places_of_words_all_at_once(make_index) -> None:
    index = make_index({"a.md": "tea and cake\n"})
    index.refresh()
    connection = index.connection()
    plans = {}
    for name, _ in rows(connection):
        plans[name] = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {ROWS[name]}")]
    assert all("TEMP B-TREE" not in step for part in ("words of notes", "signs") for step in plans[part])


def test_verify_sees_a_wrong_row_and_a_wrong_vector(make_index) -> None:
    index = make_index({"a.md": "tea\n\n# B\n\nmilk\n", "b.md": "river\n"})
    index.reindex()
    assert index.verify() == []
    index.connection().execute("UPDATE chunks SET start_line = 9 WHERE id = 1")
    assert any(problem.startswith("chunks:") for problem in index.verify())
    index.connection().execute("UPDATE chunks SET start_line = 1 WHERE id = 1")
    index.connection().execute("INSERT INTO note_words (rowid, head) VALUES (1, 'ghost')")
    assert any(problem.startswith("words of notes:") for problem in index.verify())
    index.rebuild()
    index.connection().execute("DELETE FROM notes WHERE path = 'b.md'")
    assert index.verify()
    index.rebuild()
    vectors.place(index.connection(), [(1, hashed("other"))])
    assert index.verify() == ["vectors: 1 differ from those in the cache"]
    index.rebuild()
    index.reindex()
    index.connection().execute("UPDATE chunk_bits SET bits = zeroblob(8) WHERE chunk = 1")
    assert index.verify() == ["vectors: 1 differ from those in the cache"]


def test_a_forced_rung_that_does_not_exist(monkeypatch) -> None:
    monkeypatch.setenv(database.VARIABLE, "mysql")
    with pytest.raises(UsageError):
        database.driver()


def test_searching_by_words_imports_nothing_heavy(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    for _ in range(2):
        time.sleep(0.1)  # until the note's time stamp is old enough to be believed
        index.refresh()
    code = (
        "import sys; from pathlib import Path\n"
        "from tars_memory.index.indexer import Index\nfrom tars_memory.settings import LimitsOptions\n"
        "from tars_memory.index.reader import Filter\nfrom tars_memory.index.fulltext import expression\n"
        "from tars_memory.vault.vault import Vault\n"
        "root, state, cache = map(Path, sys.argv[1:])\n"
        "index = Index(Vault.open(root), state, cache, LimitsOptions())\n"
        "index.refresh()\n"
        "print(len(index.read(lambda r: r.chunks([c for c, _ in r.match_chunks(expression(['tea']), Filter(), 9)]))))\n"
        "heavy = 'numpy fastembed onnxruntime tokenizers sqlite_utils sqlite_vec markdown_it yaml pydantic rich'\n"
        "print([name for name in heavy.split() if name in sys.modules])\n"
        "print([name for name in sys.modules if name in ('tars_memory.index.chunking', 'tars_memory.index.vectors')])"
    )
    argv = [sys.executable, "-c", code, str(index.vault.root), str(index.files.folder), str(index.cache)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[2]), *filter(None, sys.path)))}
    said = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120, check=True)
    assert said.stdout == "1\n[]\n[]\n"
