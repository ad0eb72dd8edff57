"""Query vectors: remembered, checked, and made again when the memory fails."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models, passages
from tars_memory.index.models import QueryVector
from tars_memory.index.vectors import QueryVectors
from tars_memory.testing import HashEmbedder

MODEL = "embedded"


def query_vector(text: str, model: str, cache: Path) -> QueryVector:
    return QueryVectors(model, cache).query(text)


def expected(text: str) -> QueryVector:
    return HashEmbedder().embed_query(text)._replace(model="embedded")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model is asked; it is played by a hash."""
    questions: list[str] = []

    def embed(text: str) -> QueryVector:
        questions.append(text)
        return expected(text)

    monkeypatch.setattr(passages, "open_runner", lambda *_: SimpleNamespace(query=embed))
    return questions


def remembered(cache: Path) -> list[Path]:
    return [path for path in (cache / "queries").rglob("*") if path.is_file()]


def test_a_query_is_embedded_once(tmp_path: Path, asked: list[str]) -> None:
    first = query_vector("tea", MODEL, tmp_path)
    assert query_vector("tea", MODEL, tmp_path) == first == expected("tea")
    assert query_vector("Tea", MODEL, tmp_path) == first
    assert asked == ["tea", "Tea"]


@pytest.mark.parametrize(
    "damage", [b"", b"short", b"\0" * 1536, b"\xff" * 1536, Random(1).randbytes(1536), b"x" * 4000, b"x" * 1588]
)
def test_a_damaged_memory_is_made_again(damage: bytes, tmp_path: Path, asked: list[str]) -> None:
    query_vector("tea", MODEL, tmp_path)
    (path,) = remembered(tmp_path)
    path.write_bytes(damage)
    assert query_vector("tea", MODEL, tmp_path) == expected("tea")
    assert QueryVectors(MODEL, tmp_path).are_at_hand("tea")
    assert asked == ["tea", "tea"]


def test_a_pipe_in_the_place_of_a_memory_is_not_waited_for(tmp_path: Path, asked: list[str]) -> None:
    query_vector("tea", MODEL, tmp_path)
    (path,) = remembered(tmp_path)
    path.unlink()
    os.mkfifo(path)
    assert query_vector("tea", MODEL, tmp_path) == expected("tea")
    assert asked == ["tea", "tea"] and path.is_file()


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path, asked: list[str]) -> None:
    (tmp_path / "queries").write_text("a file where the folder should be")
    assert query_vector("tea", MODEL, tmp_path) == expected("tea")
    assert query_vector("tea", MODEL, tmp_path) == expected("tea")
    assert asked == ["tea", "tea"]


def test_the_oldest_are_forgotten(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.index.vectors.KEPT", 10)
    vectors = QueryVectors(MODEL, tmp_path)
    for number in range(400):
        vectors.query(f"question {number}")
        (newest,) = [path for path in remembered(tmp_path) if path.stat().st_mtime > 1_000_000]
        os.utime(newest, (number, number))
    assert 10 <= len(remembered(tmp_path)) < 250
    assert vectors.are_at_hand("question 399")
    assert not vectors.are_at_hand("question 0")


def test_the_model_is_closed_after_one_question_and_stays_open_after_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[weakref.ref[object]] = []

    class Model:
        def query(self, text: str) -> QueryVector:
            return expected(text)

    def open_model(*_: object) -> object:
        fresh = Model()
        opened.append(weakref.ref(fresh))
        return fresh

    monkeypatch.setattr(passages, "open_runner", open_model)
    vectors = QueryVectors(MODEL, tmp_path)
    alive = []
    for number in range(4):
        vectors.query(str(number))
        alive.append([model() is not None for model in opened])
    assert alive == [[False], [False, True], [False, True], [False, True]]


def test_models_never_share_a_memory(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    query_vector("tea", MODEL, tmp_path)
    other = models.Manifest(name="embedded", files={"model.onnx": "0"}, model_file="m", dimension=384, max_tokens=9)
    monkeypatch.setattr(models, "EMBEDDED_MANIFEST", other)
    query_vector("tea", MODEL, tmp_path)
    assert asked == ["tea", "tea"]


def test_queries_are_not_readable_in_the_cache(tmp_path: Path, asked: list[str]) -> None:
    query_vector("my secret", MODEL, tmp_path)
    (path,) = remembered(tmp_path)
    assert "secret" not in str(path)
    if os.name == "posix":
        assert path.parent.stat().st_mode & 0o077 == 0


def test_any_text_is_a_query(tmp_path: Path, asked: list[str]) -> None:
    for text in ("", "\0", "\ud800", "🎉", "x" * 100_000, "../../escape"):
        assert query_vector(text, MODEL, tmp_path) == query_vector(text, MODEL, tmp_path) == expected(text)
    assert len(remembered(tmp_path)) == 6


def test_a_model_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="not on this machine"):
        query_vector("tea", "BAAI/bge-small-en-v1.5", tmp_path)


def test_a_remembered_query_imports_nothing_heavy_and_needs_no_model(tmp_path: Path, asked: list[str]) -> None:
    query_vector("tea", MODEL, tmp_path)
    code = (
        "import sys; from pathlib import Path\n"
        "from tars_memory.index.vectors import QueryVectors\n"
        "print([*map(len, QueryVectors('embedded', Path(sys.argv[1])).query('tea')[:2])])\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'fastembed', 'sqlite3', 'importlib.metadata', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert result.stdout.splitlines() == ["[1536, 1]", "[]"], result.stderr


def test_the_real_model_answers_and_is_quiet(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from tars_memory.index.vectors import QueryVectors\n"
        "print([*map(len, QueryVectors('embedded', Path(sys.argv[1])).query('tea')[:2])])\n"
        "print('fastembed' in sys.modules, 'OPENBLAS_NUM_THREADS' in os.environ)"
    )
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120, env=env
    )
    assert (result.stdout, result.stderr) == ("[1536, 1]\nFalse False\n", "")
