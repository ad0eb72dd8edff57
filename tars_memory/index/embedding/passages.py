"""Embedding of passages, and taking in other models.

One text at a time, one thread a text: a batch pads every text to its longest and needs a memory to match (a batch of
256 gives 18 texts per CPU second in 3.7 GB where one at a time gives 44 in 0.3). Two texts are under way at once where
there are two processors.

Another model of fastembed's is taken in when told to: the only place from which a model hub is ever asked. fastembed
runs those alone that onnxruntime by itself would not run alike.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from tars_memory import disk
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.index.embedding import models, prepare
from tars_memory.index.embedding.models import QueryVector
from tars_memory.index.embedding.prepare import load_fastembed, load_numpy
from tars_memory.index.embedding.session import Embedded, Session, clean, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.settings import EmbeddingOptions

T = TypeVar("T")
R = TypeVar("R")
WORKERS = 2
"""Texts under way at once on one session, at most; more share the same memory bandwidth."""


class Embedder(Protocol):
    """What makes vectors: float32 little-endian, L2-normalised, ``4 * dimension`` bytes each."""

    @property
    def fingerprint(self) -> str:
        """Model and version of the chunker; vectors of different fingerprints are never compared."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def scripts(self) -> str:
        """The script that it reads alone (:class:`tars_memory.index.embedding.models.Manifest`); empty: any."""

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """The vectors of each text and of the words of its lines after the first; in order, lazily."""

    def embed_query(self, text: str) -> QueryVector:
        """The vectors of a query and of its words."""


class Runner(Protocol):
    """What runs a model on one text; safe to call from several threads."""

    def query(self, text: str) -> QueryVector:
        """The vectors of a query and of its words."""

    def passage(self, text: str) -> Embedded:
        """The vectors of a passage and of its words."""


class ModelEmbedder:
    """The :class:`Embedder` of a prepared model. Nothing is opened before the first text."""

    def __init__(self, manifest: models.Manifest, folder: Path, chunker: str = "") -> None:
        self.manifest = manifest
        self.folder = folder
        self.dimension = manifest.dimension
        self.scripts = manifest.scripts
        self.fingerprint = manifest.fingerprint(chunker)
        self._opened: Runner | None = None

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """The vectors of each text and of the words of its lines after the first, from one pass each; in order, lazily.

        Raises:
            ModelUnavailableError: the model can't be opened or gives no vectors.
        """
        return in_order(self._runner().passage, texts)

    def embed_query(self, text: str) -> QueryVector:
        """The vectors of a query, without the memory of earlier queries that ``queryvector`` has."""
        return self._runner().query(text)._replace(model=self.manifest.name)

    def _runner(self) -> Runner:
        if self._opened is None:
            self._opened = _open(self.manifest, self.folder, repack=True)
        return self._opened


class FastEmbed:
    """A prepared model in fastembed."""

    def __init__(self, manifest: models.Manifest, model: Any, numpy: Any) -> None:
        self.manifest = manifest
        self._model = model
        self._numpy = numpy

    def query(self, text: str) -> QueryVector:
        """The vector of a query, as fastembed makes it for this model; it gives none of words."""
        prefixed = clean(self.manifest.query_prefix + text)
        return QueryVector(unit(self._numpy, next(iter(self._model.query_embed(prefixed)))), ())

    def passage(self, text: str) -> Embedded:
        """The vector of a passage; fastembed gives none of words."""
        prefixed = clean(self.manifest.passage_prefix + text)
        vector = unit(self._numpy, next(iter(self._model.passage_embed([prefixed], batch_size=1))))
        return Embedded(vector, bytes(text.count("\n")), b"")


def open_embedder(options: EmbeddingOptions, cache: Path, *, chunker: str = "") -> ModelEmbedder:
    """The embedder of the model that is set.

    One that pip installed is prepared in the cache folder the first time (about a second); nothing is fetched.

    Args:
        options: names the model.
        cache: the program's cache folder.
        chunker: version of the chunker, which is part of the fingerprint.

    Raises:
        ModelUnavailableError: missing or damaged; at once, with what to do.
    """
    manifest, folder = prepare.ready(options.model, cache)
    return ModelEmbedder(manifest, folder, chunker)


def open_runner(model: str, cache: Path) -> Runner:
    """The named model, open for a query or a few passages; fastembed is loaded only for one that needs it.

    Raises:
        ModelUnavailableError: missing or damaged; at once, with what to do.
    """
    return _open(*prepare.ready(model, cache))


def _open(manifest: models.Manifest, folder: Path, *, repack: bool = False) -> Runner:
    return Session(manifest, folder, repack=repack) if manifest.is_direct else open_fastembed(manifest, folder)


def open_fastembed(manifest: models.Manifest, folder: Path) -> FastEmbed:
    """Open a prepared folder with fastembed; never reaches for a network.

    Raises:
        ModelUnavailableError: fastembed is missing or can't read the model.
    """
    try:
        model = load_fastembed().TextEmbedding(
            manifest.name,
            cache_dir=str(folder.parent),
            threads=1,
            providers=["CPUExecutionProvider"],
            local_files_only=True,
            specific_model_path=str(folder),
        )
    except ModelUnavailableError:
        raise
    except Exception as error:  # fastembed, onnxruntime and tokenizers each raise what they like
        raise ModelUnavailableError(
            f"fastembed can't open the model {manifest.name}: {error}", models.install_hint()
        ) from error
    return FastEmbed(manifest, model, load_numpy())


def in_order(function: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """Map over the items in a few threads, results in order, never far ahead of the one who asks."""
    workers = min(workers, os.cpu_count() or 1)
    if workers == 1:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as threads:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(threads.submit(function, item))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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
        return prepare.ready(name, cache)[0]
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
