"""Taking in another model of fastembed's, when told to: the only place from which a model hub is ever asked."""

from __future__ import annotations

import shutil
from pathlib import Path
from struct import unpack
from typing import Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.index.embedding import models, prepare, runtime

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
        files={file: prepare.sha256(found.folder / file) for file in found.files},
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
    prepared = prepare.prepare(direct, sources, {}, cache)
    if direct.is_direct and not agrees(direct, prepared):
        shutil.rmtree(prepared, ignore_errors=True)
        values = direct.as_dict() | {"runner": "fastembed", "pooling": "own"}
        direct = models.Manifest(**values)
        prepare.prepare(direct, sources, {}, cache)
    shutil.rmtree(downloads, ignore_errors=True)
    models.forget_others(direct, cache)
    return direct


def known_models() -> list[tuple[str, int, float, str]]:
    """Name, dimension, size in GB and languages (where its card says so) of each model that fastembed can fetch."""
    listed = runtime.load_fastembed().TextEmbedding.list_supported_models()
    return sorted((one["model"], one["dim"], one["size_in_GB"], _languages(one["description"])) for one in listed)


def _languages(description: str) -> str:
    """``English`` of "Text embeddings, Unimodal (text), English, 512 input tokens truncation, …"."""
    parts = description.split(", ")
    found = parts[2] if len(parts) > 3 and "input tokens" not in parts[2] else ""
    return "many" if found.lower().startswith("multilingual") else found


def prefixes(name: str) -> tuple[str, str]:
    """What goes before a query and before a passage for the model of that name."""
    for start, query, passage in PREFIXES:
        if name.lower().startswith(start):
            return query, passage
    return "", ""


def agrees(manifest: models.Manifest, folder: Path) -> bool:
    """Whether the model, run directly, gives what fastembed gives."""
    from tars_memory.index.embedding.passages import open_fastembed
    from tars_memory.index.embedding.session import Session

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
        fastembed = runtime.load_fastembed()
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
