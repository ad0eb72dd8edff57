"""Embed passages, run the model directly, and prepare other models.

Texts are embedded one at a time, each in one thread: a batch pads every text to its longest and needs the memory for it
(a batch of 256 gives 18 texts per CPU second in 3.7 GB, one at a time gives 44 in 0.3 GB). With two processors, two
texts are embedded at once.

The model is run by onnxruntime, without the cost of fastembed: 0.4 CPU seconds and 60 MB. File, word pieces and pooling
are those of fastembed, so the vectors are the same: of passages to the bit; of queries to 1e-5. A test checks both.

Another model of fastembed's is prepared on request; this is the only place that contacts a model hub. fastembed runs
only those models that onnxruntime alone would run differently.
"""

from __future__ import annotations

import os
import re
import shutil
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from tars_memory import disk
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.index import chunking, models, prepare, vectors
from tars_memory.language.words import content_spans

T = TypeVar("T")
R = TypeVar("R")
WORKERS = 2
"""Maximum number of texts that one session embeds at once; more would share the same memory bandwidth."""


class Embedder(Protocol):
    """Embeds texts as vectors: float32 little-endian, L2-normalised, ``4 * dimension`` bytes each."""

    @property
    def fingerprint(self) -> str:
        """Model and version of the chunker; vectors of different fingerprints are never compared."""

    @property
    def dimension(self) -> int:
        """Number of dimensions of a vector."""

    @property
    def scripts(self) -> str:
        """The only script that the model reads (:class:`tars_memory.index.models.Manifest`); empty: any."""

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text and of the words of its lines after the first, in order, lazily."""

    def embed_query(self, text: str) -> models.QueryVector:
        """Return the vectors of a query and of its words."""


class ModelEmbedder:
    """The :class:`Embedder` of a prepared model. Nothing is opened before the first text."""

    def __init__(self, manifest: models.Manifest, folder: Path) -> None:
        self.manifest = manifest
        self.folder = folder
        self.dimension = manifest.dimension
        self.scripts = manifest.scripts
        self.fingerprint = manifest.fingerprint
        self._opened: Session | FastEmbed | None = None

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text and of the words of its lines after the first, in order, lazily.

        Each text takes one pass through the model.

        Raises:
            ModelUnavailableError: the model can't be opened or gives no vectors.
        """
        return in_order(self._runner().passage, texts)

    def embed_query(self, text: str) -> models.QueryVector:
        """Embed a query, without the stored vectors of :class:`tars_memory.index.vectors.QueryVectors`."""
        return self._runner().query(text)._replace(model=self.manifest.name)

    def _runner(self) -> Session | FastEmbed:
        if self._opened is None:
            self._opened = _open(self.manifest, self.folder, repack=True)
        return self._opened


class FastEmbed:
    """A prepared model in fastembed."""

    def __init__(self, manifest: models.Manifest, model: Any, numpy: Any) -> None:
        self.manifest = manifest
        self._model = model
        self._numpy = numpy

    def query(self, text: str) -> models.QueryVector:
        """Return the vector of a query; fastembed gives none of its words."""
        prefixed = clean(self.manifest.query_prefix + text)
        return models.QueryVector(unit(self._numpy, next(iter(self._model.query_embed(prefixed)))), ())

    def passage(self, text: str) -> Embedded:
        """Return the vector of a passage; fastembed gives none of its words."""
        prefixed = clean(self.manifest.passage_prefix + text)
        vector = unit(self._numpy, next(iter(self._model.passage_embed([prefixed], batch_size=1))))
        return Embedded(vector, bytes(text.count("\n")), b"")


def open_embedder(model: str, cache: Path, preparing: Callable[[], None] | None = None) -> ModelEmbedder:
    """Return the embedder of the named model.

    A model that pip installed is prepared in the cache folder the first time (about a second), and ``preparing`` is
    called before; nothing is fetched.

    Raises:
        ModelUnavailableError: the model is missing or damaged; raised at once, with what to do.
    """
    return ModelEmbedder(*prepare.ready(model, cache, preparing))


def open_runner(model: str, cache: Path) -> Session | FastEmbed:
    """Open the named model for a query or a few passages; fastembed is loaded only for a model that needs it.

    Raises:
        ModelUnavailableError: the model is missing or damaged; raised at once, with what to do.
    """
    return _open(*prepare.ready(model, cache))


def _open(manifest: models.Manifest, folder: Path, *, repack: bool = False) -> Session | FastEmbed:
    return Session(manifest, folder, repack=repack) if manifest.is_direct else open_fastembed(manifest, folder)


def open_fastembed(manifest: models.Manifest, folder: Path) -> FastEmbed:
    """Open a prepared folder with fastembed, without network access.

    Raises:
        ModelUnavailableError: fastembed is missing or can't read the model.
    """
    try:
        model = prepare.load_fastembed().TextEmbedding(
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
    return FastEmbed(manifest, model, prepare.load_numpy())


def in_order(function: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """Map over the items in a few threads; yield the results in order, at most a few items ahead of the consumer."""
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
"""fastembed's class of a model → its pooling. Models of any other class are run by fastembed alone."""

_RETRIEVE = "Represent this sentence for searching relevant passages: "

PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("baai/bge-small-zh", "为这个句子生成表示以用于检索相关文章:", ""),
    ("baai/bge-", _RETRIEVE, ""),
    ("mixedbread-ai/mxbai-embed-", _RETRIEVE, ""),
    ("snowflake/snowflake-arctic-embed-", _RETRIEVE, ""),
    ("intfloat/multilingual-e5-", "query: ", "passage: "),
    ("nomic-ai/nomic-embed-text-", "search_query: ", "search_document: "),
)
"""(start of a model's name in lower case, prefix of a query, prefix of a passage), from the model cards."""

CONFIG_FILES = ("tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json")

TOLERANCE = 1e-5
"""Largest difference in any dimension between fastembed's vector and ours for the model to be run without fastembed."""

PROBES = ("one", "where did Anna move last spring?", "Zürich, 東京: " + "a longer passage about nothing much. " * 20)
"""Texts whose vectors are compared with fastembed's."""


def use_model(name: str, cache: Path, folder: Path | None = None) -> models.Manifest:
    """Prepare a model so that it can be used without a network from then on; fetches it if no folder is given.

    Args:
        name: ``embedded``, ``multilingual``, or a model that fastembed knows, for example ``BAAI/bge-small-en-v1.5``.
        cache: the program's cache folder.
        folder: where the model's files already are, for a machine without a network.

    Raises:
        UsageError: fastembed knows no such model.
        ModelUnavailableError: the model can't be fetched, a file is missing, or it can't be run.
    """
    if models.packaged(name) is not None:
        return prepare.ready(name, cache)[0]
    downloads = cache / "models" / ".downloads"
    kind, description = _find(name)
    folder = folder or _downloaded(kind, description, downloads)
    needed = (description.model_file, *description.additional_files)
    files = [file for file in dict.fromkeys((*needed, *CONFIG_FILES)) if (folder / file).is_file()]
    if missing := {*needed, "tokenizer.json"} - set(files):
        raise ModelUnavailableError(f"{folder} lacks {', '.join(sorted(missing))} of {description.model}")
    query_prefix, passage_prefix = prefixes(description.model)
    manifest = models.Manifest(
        name=description.model,
        files={file: prepare.sha256(folder / file) for file in files},
        model_file=description.model_file,
        dimension=description.dim,
        max_tokens=_max_tokens(folder),
        pooling=POOLING.get(kind.__name__, "own"),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        runner="onnxruntime" if kind.__name__ in POOLING else "fastembed",
        scripts=models.LATIN if models.is_english(description.model) else "",
    )
    sources = {file: folder / file for file in files}
    prepared = prepare.prepare(manifest, sources, cache)
    if manifest.is_direct and not agrees(manifest, prepared):
        shutil.rmtree(prepared, ignore_errors=True)
        manifest = manifest._replace(runner="fastembed", pooling="own")
        prepare.prepare(manifest, sources, cache)
    shutil.rmtree(downloads, ignore_errors=True)
    models.forget_others(manifest, cache)
    return manifest


def known_models() -> list[tuple[str, int, float, str]]:
    """Return (name, dimension, size in GB, languages if its card names them) of each model that fastembed can fetch."""
    listed = prepare.load_fastembed().TextEmbedding.list_supported_models()
    return sorted(
        (model["model"], model["dim"], model["size_in_GB"], _languages(model["description"])) for model in listed
    )


def _languages(description: str) -> str:
    """Return ``English`` for "Text embeddings, Unimodal (text), English, 512 input tokens truncation, …"."""
    parts = re.split(r", (?![^()]*\))", description)
    end = next((number for number, part in enumerate(parts) if "input tokens" in part), 3)
    found = parts[end - 1] if 0 < end < len(parts) else ""
    return "many" if re.match("(?i)multi-?lingual", found) else found


def prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes of a query and of a passage for the named model."""
    known = ((query, passage) for start, query, passage in PREFIXES if name.lower().startswith(start))
    return next(known, ("", ""))


def agrees(manifest: models.Manifest, folder: Path) -> bool:
    """Whether the model, run directly, gives the same vectors as fastembed."""
    reference = open_fastembed(manifest, folder)
    try:
        session = Session(manifest, folder)
        pairs = [(session.query(text).vector, reference.query(text).vector) for text in PROBES]
    except ModelUnavailableError:
        return False
    return all(distance(ours, theirs) <= TOLERANCE for ours, theirs in pairs)


def distance(ours: bytes, theirs: bytes) -> float:
    """Return the largest difference in any dimension; infinity for vectors of different length."""
    if len(ours) != len(theirs):
        return float("inf")
    return max(abs(a - b) for a, b in zip(vectors.floats(ours), vectors.floats(theirs), strict=True))


def _find(name: str) -> tuple[Any, Any]:
    """Look a model up in fastembed's list; return the class that runs it, and its description."""
    try:
        fastembed = prepare.load_fastembed()
    except ImportError as error:
        raise ModelUnavailableError(f"fastembed can't be imported: {error}", models.install_hint()) from error
    for kind in fastembed.TextEmbedding.EMBEDDINGS_REGISTRY:
        for description in kind._list_supported_models():  # the public list doesn't say which class
            if description.model.lower() == name.lower():
                return kind, description
    known = (models.EMBEDDED, models.MULTILINGUAL, *(model[0] for model in known_models()))
    similar = [other for other in known if other.lower() in name.lower() or name.lower() in other.lower()][:3]
    hint = (
        f"tars-memory models use {' or '.join(similar)}"
        if similar
        else "tars-memory models --all lists the ones it knows"
    )
    raise UsageError(f"fastembed doesn't know the model {name!r}", hint)


def _downloaded(kind: Any, description: Any, folder: Path) -> Path:
    """Download a model's files into a folder; return the one that holds them."""
    try:
        return Path(kind.download_model(description, str(folder), retries=1, local_files_only=False))
    except Exception as error:  # hub, sockets, disk: each library raises its own
        raise ModelUnavailableError(
            f"{description.model} can't be fetched: {error}",
            "is there a network? without one, give the folder with the model's files",
        ) from error


def _max_tokens(folder: Path) -> int:
    """Return the limit that fastembed uses: the stricter of two keys; 512 without a usable one."""
    config = disk.state_object(folder / "tokenizer_config.json")
    values = (config.get("model_max_length"), config.get("max_length"))
    # Transformers writes 1e30 for "unknown".
    limits = [value for value in values if isinstance(value, int) and 0 < value < 1_000_000]
    return min(limits, default=512)


# -- the model run directly by onnxruntime

MAX_CHARACTERS = 20_000
"""Number of characters after which a text is cut before it is split into word pieces; no model here sees more than a
tenth of it."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff]")
"""Characters of scripts written without blanks: a run of them is not a word."""
_NONSENSE = 0.45
"""Word pieces per character from which a text counts as nonsense. Letters or syllables at random have .36 to .75;
English has .17 to .30, other languages written in its letters .30 to .50."""
MOST_WORDS = 255
"""Maximum number of words of one line that get a vector: what one byte can count."""


class Embedded(NamedTuple):
    """The vectors of one passage, from one pass through the model.

    A passage's first line is its head (title, headings, date); only the lines after it have words. Each of their words
    that is not a stop word and lies within what the model sees has a vector of its own, the mean of its pieces'. Only
    its signs are stored: one bit per dimension.
    """

    vector: bytes
    """Of the whole passage: float32 little-endian, L2-normalised."""
    counts: bytes
    """One byte for each line after the first: how many of its words have a vector, at most 255. A model that reads
    names adds a byte, 8: the vector of the note's name takes the space of eight words."""
    bits: bytes
    """The words' vectors in order, ``dimension / 8`` bytes each; the name's last, a signed byte per dimension."""


class Session:
    """One model, open in this process. Its methods may be called from several threads at once."""

    def __init__(self, manifest: models.Manifest, folder: Path, *, repack: bool = False) -> None:
        """Open the prepared folder of a model whose runner is onnxruntime.

        Args:
            manifest: of the model.
            folder: its prepared folder.
            repack: let onnxruntime copy the weights into the layout that its kernels prefer. For one query that costs
                more than it saves. Weights in four bits are always copied: 12 ms, and a fifth of the time for a query.

        Raises:
            ModelUnavailableError: onnxruntime or tokenizers is missing or can't read the model.
        """
        self.manifest = manifest
        self.dimension = manifest.dimension
        self._folder = folder
        try:
            self._numpy = prepare.load_numpy()
            onnxruntime = prepare.load_onnxruntime()
            self._read: prepare.Reader | _Tokenizer = (
                prepare.Reader(folder, self._numpy, manifest.max_tokens)
                if manifest.runner == models.E5
                else _Tokenizer(self._numpy, folder / "tokenizer.json", manifest.max_tokens)
            )
            self._model = onnxruntime.InferenceSession(
                str(prepare.graph_of(folder, manifest)),
                _options(onnxruntime, repack or manifest.runner == models.E5),
                providers=["CPUExecutionProvider"],
            )
        except ImportError as error:
            raise prepare.not_run(manifest, error) from error
        except ModelUnavailableError:
            raise
        except Exception as error:  # the exceptions of onnxruntime and of tokenizers have no common base class
            raise ModelUnavailableError(
                f"the embedding model in {folder} can't be opened: {error}",
                "remove that folder; the next search or reindex rebuilds it",
            ) from error
        self._inputs = {node.name for node in self._model.get_inputs()}
        self._last_name = ("", b"")

    def query(self, text: str) -> models.QueryVector:
        """Return the vectors of a query and of its words."""
        np, prefix = self._numpy, self.manifest.query_prefix
        hidden, offsets = self._run(prefix + text)
        vector = unit(np, pooled(np, hidden, self.manifest.pooling), self._folder)
        spans = list(_words(prefix + text, content_spans(prefix + text, len(prefix)), offsets, self._read.centre))
        bits, _ = word_bits(np, hidden, offsets, spans, self._read.centre)
        size = self.dimension // 8
        words = tuple(bits[start : start + size] for start in range(0, len(bits), size))
        return models.QueryVector(vector, words, self._read.strange(clean(text)))

    def passage(self, text: str) -> Embedded:
        """Return the vectors of a passage and of the words of its lines after the first."""
        np, prefix, centre = self._numpy, self.manifest.passage_prefix, self._read.centre
        hidden, offsets = self._run(prefix + text)
        spans: list[tuple[int, int]] = []
        lines: list[int] = []
        head, *others = text.split("\n")
        at, end = 0, len(prefix) + len(head)
        content = content_spans(prefix + text, end)
        for number, line in enumerate(others):
            end += 1 + len(line)
            first, at = at, bisect_right(content, end, at, key=itemgetter(1))
            words = list(islice(_words(prefix + text, content[first:at], offsets, centre), MOST_WORDS))
            spans += words
            lines += [number] * len(words)
        bits, found = word_bits(np, hidden, offsets, spans, centre)
        counts = bytearray(text.count("\n"))
        for index in found:
            counts[lines[index]] += 1
        if centre is not None and (name := self._name(text)):
            counts, bits = counts + b"\x08", bits + name
        return Embedded(unit(np, pooled(np, hidden, self.manifest.pooling), self._folder), bytes(counts), bits)

    def _name(self, text: str) -> bytes:
        """Return the vector of the name at the start of a passage's first line, embedded alone; empty without a name.

        Eight bits per number are enough: a cosine differs by .001. The passages of a note follow each other, so its
        name is embedded about once.
        """
        name = text.split("\n", 1)[0].split(chunking.SEPARATOR, 1)[0]
        if not name.strip():
            return b""
        last = self._last_name
        if last[0] != name:
            np = self._numpy
            vector = pooled(np, self._run(self.manifest.passage_prefix + name)[0], self.manifest.pooling)
            last = self._last_name = name, np.rint(vector * (127 / abs(vector).max())).astype(np.int8).tobytes()
        return last[1]

    def _run(self, text: str) -> tuple[Any, list[tuple[int, int]]]:
        """Return the model's output for one text and the character span of each of its tokens."""
        inputs, offsets = self._read(clean(text))
        hidden = self._model.run(None, {name: value for name, value in inputs.items() if name in self._inputs})[0]
        return hidden, offsets


class _Tokenizer:
    """Turns a text into the inputs of a model with a tokenizer.json, as :class:`prepare.Reader` does for e5."""

    centre = None
    """No vector is subtracted from those of the tokens."""

    def __init__(self, np: Any, file: Path, max_tokens: int) -> None:
        """Open the file; a text is cut at ``max_tokens`` tokens, including those that open and end it."""
        import tokenizers

        self._np = np
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._unknown = {self._tokenizer.token_to_id(name) for name in ("[UNK]", "<unk>")}

    def __call__(self, text: str) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return the model's inputs and the character span of each token; empty for the first and the last token."""
        np = self._np
        encoded = self._tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return inputs, encoded.offsets

    def strange(self, text: str) -> float:
        """Return how unlike any language a text is by how short the pieces are: from 1 on it is not words at all.

        0 for scripts without blanks, where the pieces don't tell.
        """
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        sizes = [end - start for start, end in encoded.offsets]
        if not sum(sizes) or _UNSPACED.search(text):
            return 0.0
        pieces = sum(size if piece in self._unknown else 1 for piece, size in zip(encoded.ids, sizes, strict=True))
        return pieces / sum(sizes) / _NONSENSE


def _words(
    text: str, spans: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]], centre: Any
) -> Iterator[tuple[int, int]]:
    """Yield the character spans of some words of a text; for a model that knows scripts without blanks, the pieces of
    their runs instead.
    """
    if centre is None or text.isascii():
        yield from spans
        return
    for span, (first, last) in zip(spans, token_ranges(offsets, spans), strict=True):
        if _UNSPACED.search(text, *span):
            yield from (offsets[index] for index in range(first, last))
        else:
            yield span


def word_bits(
    np: Any, hidden: Any, offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]], centre: Any = None
) -> tuple[bytes, list[int]]:
    """Return the signs of the words' vectors and the indexes of the spans that have one: those that contain a token.

    ``centre`` is subtracted from every token's vector first.
    """
    if hidden.ndim == 2:
        return b"", []
    found: list[int] = []
    edges: list[int] = []
    for index, (first, last) in enumerate(token_ranges(offsets, spans)):
        if first < last:
            found.append(index)
            edges += (first, last)
    if not found:
        return b"", []
    if edges[-1] == hidden.shape[1]:
        edges.pop()  # reduceat sums to the end by itself
    sums = np.add.reduceat(hidden[0] if centre is None else hidden[0] - centre, edges, axis=0)[::2]
    data: bytes = np.packbits(sums > 0, axis=1).tobytes()
    return data, found


def pooled(np: Any, hidden: Any, pooling: str) -> Any:
    """Pool the model's output for one text into one vector, not yet of length 1."""
    if hidden.ndim == 2:
        return hidden[0]
    return hidden[0, 0] if pooling == "cls" else hidden[0].sum(axis=0, dtype=np.float64) / hidden.shape[1]


def token_ranges(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield for each character span the range [first, last) of tokens that overlap it; empty if there are none."""
    inner = [index for index, (start, end) in enumerate(offsets) if end > start]
    starts = [offsets[index][0] for index in inner]
    ends = [offsets[index][1] for index in inner]
    for start, end in spans:
        first = bisect_left(ends, start + 1)
        last = bisect_left(starts, end)
        overlaps = start < end and first < last
        yield (inner[first], inner[last - 1] + 1) if overlaps else (0, 0)


def unit(np: Any, vector: Any, folder: Path | None = None) -> bytes:
    """Return the vector at length 1 as float32 little-endian; ``folder`` holds the model that made it.

    Raises:
        ModelUnavailableError: the vector has no direction (zeros, infinities, NaN): the model is damaged.
    """
    length = float(np.sqrt((vector * vector).sum(dtype=np.float64)))
    if not 0.0 < length < float("inf"):
        raise ModelUnavailableError(
            f"the embedding model{f' in {folder}' if folder else ''} gives a vector of length zero",
            f"remove {'that folder' if folder else 'its folder in the cache'}; the next search or reindex rebuilds it",
        )
    data: bytes = (vector / length).astype("<f4").tobytes()
    return data


def clean(text: str) -> str:
    """Return the text without lone surrogates and at most :data:`MAX_CHARACTERS` long, as tokenizers needs it."""
    text = text[:MAX_CHARACTERS]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _options(onnxruntime: Any, repack: bool) -> Any:
    """Return session options that were measured to be best for a process that embeds a few texts and ends.

    No optimisation (the prepared copy is optimised), no arena (one text needs few buffers), one thread that doesn't
    spin.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.disable_prepacking", "0" if repack else "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options
