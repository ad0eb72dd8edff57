"""Other models: only on command, checked against fastembed, then as local as the embedded one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from prepared import CONFIG

from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.index import models, passages, passages as embedding, prepare
from tars_memory.index.vectors import QueryVectors

pytestmark = pytest.mark.usefixtures("really_prepared")

MEAN = "sentence-transformers/all-MiniLM-L6-v2"
FIRST_TOKEN = "snowflake/snowflake-arctic-embed-xs"


def downloaded(folder: Path, model_file: str = "model.onnx") -> Path:
    """A folder as fastembed would download it: the embedded model's files under the other's names."""
    sources = prepare.packaged_sources(models.EMBEDDED_MANIFEST)
    (folder / model_file).parent.mkdir(parents=True)
    shutil.copyfile(sources["model.onnx"], folder / model_file)
    shutil.copyfile(sources["tokenizer.json"], folder / "tokenizer.json")
    for name, values in CONFIG.items():
        (folder / name).write_text(json.dumps(values))
    return folder


def test_a_model_from_a_folder_is_then_ready_without_it(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    manifest = passages.use_model(MEAN.upper(), cache, downloaded(tmp_path / "files"))
    shutil.rmtree(tmp_path / "files")
    assert (manifest.name, manifest.runner, manifest.pooling, manifest.max_tokens) == (MEAN, "onnxruntime", "mean", 256)
    vector = QueryVectors(MEAN, cache).query("tea").vector
    assert passages.distance(vector, QueryVectors("embedded", cache).query("tea").vector) <= 1e-5
    embedder = embedding.open_embedder(MEAN, cache)
    many = list(embedder.embed_passages(["tea"] * 3))
    assert passages.distance(many[0].vector, vector) <= 1e-5
    assert embedder.fingerprint != models.manifest_of("embedded", cache).fingerprint
    assert [known.name for known in models.installed(cache)] == ["embedded", MEAN]


def test_prefixes_and_pooling_are_the_models_own(tmp_path: Path) -> None:
    manifest = passages.use_model(FIRST_TOKEN, tmp_path, downloaded(tmp_path / "files", "onnx/model.onnx"))
    assert (manifest.pooling, manifest.runner) == ("cls", "onnxruntime")
    assert manifest.query_prefix.startswith("Represent this sentence")
    embedder = embedding.open_embedder(FIRST_TOKEN, tmp_path)
    assert next(embedder.embed_passages(["tea"])).vector != embedder.embed_query("tea").vector


def test_a_model_that_we_would_run_otherwise_goes_through_fastembed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(passages.POOLING, "PooledNormalizedEmbedding", "cls")  # wrong, and found out
    manifest = passages.use_model(MEAN, tmp_path, downloaded(tmp_path / "files"))
    assert manifest.runner == "fastembed"
    embedder = embedding.open_embedder(MEAN, tmp_path)
    (tea,) = embedder.embed_passages(["tea"])
    assert passages.distance(tea.vector, QueryVectors(MEAN, tmp_path).query("tea").vector) <= 1e-5
    (lines,) = embedder.embed_passages(["tea\nand\nmilk"])
    assert (lines.counts, lines.bits) == (b"\0\0", b"")
    assert QueryVectors(MEAN, tmp_path).query("tea").words == ()
    assert len(models.installed(tmp_path)) == 1


def test_a_newer_version_of_a_model_replaces_the_older(tmp_path: Path) -> None:
    older = passages.use_model(MEAN, tmp_path, downloaded(tmp_path / "files"))
    (tmp_path / "files" / "tokenizer_config.json").write_text('{"model_max_length": 128, "pad_token": "[PAD]"}')
    newer = passages.use_model(MEAN, tmp_path, tmp_path / "files")
    assert newer.identity != older.identity
    assert models.manifest_of(MEAN, tmp_path).identity == newer.identity
    assert [known.max_tokens for known in models.installed(tmp_path)] == [128]


def test_a_model_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="doesn't know the model") as told:
        passages.use_model("nobody/nothing", tmp_path)
    assert "models --all" in told.value.hint, "models list shows only those that fit"


@pytest.mark.parametrize(
    ("name", "meant"), [("multilingual-e5-small", "multilingual"), ("all-MiniLM-L6-v2", "all-MiniLM")]
)
def test_a_model_under_another_name_is_hinted_at(tmp_path: Path, name: str, meant: str) -> None:
    with pytest.raises(UsageError) as told:
        passages.use_model(name, tmp_path)
    assert f"tars-memory models use {meant}" in told.value.hint or f"/{meant}" in told.value.hint


def test_a_folder_that_lacks_a_file(tmp_path: Path) -> None:
    folder = downloaded(tmp_path / "files")
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelUnavailableError, match=r"lacks model\.onnx"):
        passages.use_model(MEAN, tmp_path, folder)


def test_a_fetch_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastembed.text.pooled_normalized_embedding import PooledNormalizedEmbedding

    def refuse(*arguments: object, **options: object) -> Path:
        raise ValueError("no route to host")

    monkeypatch.setattr(PooledNormalizedEmbedding, "download_model", refuse)
    with pytest.raises(ModelUnavailableError, match="can't be fetched: no route to host"):
        passages.use_model(MEAN, tmp_path)


def test_the_embedded_model_can_be_named_too(tmp_path: Path) -> None:
    assert passages.use_model("embedded", tmp_path) is models.EMBEDDED_MANIFEST
    assert [known.name for known in models.installed(tmp_path)] == ["embedded"]


def test_fastembeds_models_are_listed() -> None:
    known = passages.known_models()
    assert ("BAAI/bge-small-en-v1.5", 384, 0.067, "English") in known
    languages = {name: spoken for name, _, _, spoken in known}
    assert "many" in languages.values()
    assert languages["nomic-ai/nomic-embed-text-v1.5"] == "English"  # of "Multimodal (text, image), English, …"
    assert languages["jinaai/jina-embeddings-v3"] == "many"  # of "multi-lingual (~100), 8192 input tokens …"
