"""The model run directly by onnxruntime: for one query, or a few passages, without the weight of fastembed.

Same file, same word pieces, same pooling as fastembed, hence the same vectors: of passages to the bit, so that an index
doesn't depend on how many texts came at once; of queries to 1e-5. A test holds both.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models, runtime
from tars_memory.index.vectors import LINE_SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAX_CHARACTERS = 20_000
"""Longer texts are cut before they are split into word pieces: no model here sees more than a tenth of it."""


class Embedded(NamedTuple):
    """The vectors of one text, from one pass through the model."""

    vector: bytes
    """Of the whole: float32 little-endian, L2-normalised."""
    lines: bytes
    """Of each line after the first (which says where the text stands), as seen in the whole: L2-normalised, then one
    signed byte a dimension, ``clip(round(x * 508), -127, 127)``; one row a line, in order. A line without words or past
    what the model sees has the row of the whole."""


class Session:
    """One model, open, for this process. Its methods may be called from several threads at once."""

    def __init__(self, manifest: models.Manifest, folder: Path, *, repack: bool = False) -> None:
        """Open the prepared folder of a model whose runner is onnxruntime.

        Args:
            manifest: of the model.
            folder: its prepared folder.
            repack: let onnxruntime copy the weights into the layout its kernels like best. For one query that costs
                more than it gives; passages need it to come out as fastembed's do, to the bit.

        Raises:
            ModelUnavailableError: onnxruntime or tokenizers is missing or can't read the model.
        """
        self.manifest = manifest
        self.dimension = manifest.dimension
        try:
            self._numpy = runtime.load_numpy()
            onnxruntime = runtime.load_onnxruntime()
            import tokenizers
        except ImportError as error:
            raise ModelUnavailableError(
                f"the embedding model can't be run here: {error}", models.INSTALL_HINT
            ) from error
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(manifest.max_tokens)
            self._model = onnxruntime.InferenceSession(
                str(models.graph_of(folder, manifest, onnxruntime.__version__)),
                _options(onnxruntime, repack),
                providers=["CPUExecutionProvider"],
            )
        except ModelUnavailableError:
            raise
        except Exception as error:  # neither library's exceptions share a base class
            raise ModelUnavailableError(
                f"the embedding model in {folder} can't be opened: {error}",
                "remove that folder; it is made anew by the next search or reindex",
            ) from error
        self._inputs = {node.name for node in self._model.get_inputs()}

    def query(self, text: str) -> bytes:
        """The vector of a query: float32 little-endian, L2-normalised."""
        hidden, _ = self._run(self.manifest.query_prefix + text)
        data: bytes = unit(self._numpy, whole(self._numpy, hidden, self.manifest.pooling)).tobytes()
        return data

    def passage(self, text: str) -> Embedded:
        """The vectors of a passage, and of each of its lines after the first."""
        hidden, offsets = self._run(self.manifest.passage_prefix + text)
        return pool(self._numpy, hidden, offsets, self.manifest, text)

    def _run(self, text: str) -> tuple[Any, list[tuple[int, int]]]:
        """The model's output for one text, and the character span of each of its tokens."""
        np = self._numpy
        encoded = self._tokenizer.encode(clean(text))
        ids = np.array([encoded.ids], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = self._model.run(None, {name: value for name, value in given.items() if name in self._inputs})[0]
        return hidden, encoded.offsets


def pool(np: Any, hidden: Any, offsets: Sequence[tuple[int, int]], manifest: models.Manifest, text: str) -> Embedded:
    """Vectors from the model's output for one passage, by the manifest's recipe.

    Args:
        np: numpy.
        hidden: (1, tokens, dimension), or (1, dimension) of a model that pools by itself.
        offsets: character span of each token in prefix + text; empty for those that the tokenizer added.
        manifest: names the pooling of the whole, and the prefix; a line is always the mean of its tokens.
        text: the passage, without the prefix.
    """
    vector = unit(np, whole(np, hidden, manifest.pooling))
    small = quantised(np, vector)
    if hidden.ndim == 2:
        return Embedded(vector.tobytes(), small * text.count("\n"))
    rows = []
    for first, last in token_ranges(offsets, line_spans(text, len(manifest.passage_prefix))):
        if first < last:
            rows.append(quantised(np, unit(np, hidden[0, first:last].mean(axis=0, dtype=np.float64))))
        else:
            rows.append(small)
    return Embedded(vector.tobytes(), b"".join(rows))


def whole(np: Any, hidden: Any, pooling: str) -> Any:
    """The model's output for one text as one vector, not yet of length 1."""
    if hidden.ndim == 2:
        return hidden[0]
    return hidden[0, 0] if pooling == "cls" else hidden[0].sum(axis=0, dtype=np.float64) / hidden.shape[1]


def line_spans(text: str, shift: int = 0) -> list[tuple[int, int]]:
    """The character spans [start, end) of the lines of a text after its first, moved by so many characters."""
    spans = []
    start = shift
    for line in text.split("\n"):
        spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans[1:]


def token_ranges(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """For each character span the range [first, last) of tokens that overlap it; empty if there are none."""
    inner = [index for index, (start, end) in enumerate(offsets) if end > start]
    starts = [offsets[index][0] for index in inner]
    ends = [offsets[index][1] for index in inner]
    for start, end in spans:
        first = bisect_left(ends, start + 1)
        last = bisect_left(starts, end)
        found = start < end and first < last
        yield (inner[first], inner[last - 1] + 1) if found else (0, 0)


def quantised(np: Any, vector: Any) -> bytes:
    """The unit vector as one signed byte a dimension; equal to :func:`tars_memory.index.vectors.quantised`."""
    data: bytes = np.clip(np.rint(vector.astype(np.float64) * LINE_SCALE), -127, 127).astype(np.int8).tobytes()
    return data


def unit(np: Any, vector: Any) -> Any:
    """The vector at length 1, as an array of float32 little-endian.

    Raises:
        ModelUnavailableError: it has no direction (zeros, infinities, NaN): the model is damaged.
    """
    length = float(np.sqrt((vector * vector).sum(dtype=np.float64)))
    if not 0.0 < length < float("inf"):
        raise ModelUnavailableError(
            "the embedding model gives vectors without direction",
            "remove its folder in the cache; it is made anew by the next search or reindex",
        )
    return (vector / length).astype("<f4")


def clean(text: str) -> str:
    """The text as tokenizers takes it: no lone surrogates, not endless."""
    text = text[:MAX_CHARACTERS]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _options(onnxruntime: Any, repack: bool) -> Any:
    """How the model is opened: measured, for a process that embeds a few texts and ends.

    No optimisation (the copy is optimised), no arena (one text needs few buffers), one thread that doesn't spin.
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
