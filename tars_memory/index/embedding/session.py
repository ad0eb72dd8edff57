"""The model run directly by onnxruntime, without the weight of fastembed: 0.4 CPU seconds and 60 MB.

Same file, same word pieces, same pooling as fastembed, hence the same vectors: of passages to the bit; of queries to
1e-5. A test holds both.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tars_memory.errors import ModelUnavailableError
from tars_memory.index.chunking import SEPARATOR
from tars_memory.index.embedding import e5, models, prepare
from tars_memory.index.embedding.models import QueryVector
from tars_memory.index.embedding.prepare import load_numpy, load_onnxruntime
from tars_memory.language.words import content_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


MAX_CHARACTERS = 20_000
"""Longer texts are cut before they are split into word pieces: no model here sees more than a tenth of it."""


_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff]")
"""Characters of scripts written without blanks: a run of them is not a word."""
_NONSENSE = 0.45
"""Word pieces a character of nonsense (letters or syllables at random), which has .36 to .75; English has .17 to .30,
other languages written in its letters .30 to .50."""
MOST_WORDS = 255
"""Words of one line that are given a vector: what one byte can count."""


class Embedded(NamedTuple):
    """The vectors of one passage, from one pass through the model.

    A passage's first line says where the rest stands; only the rest has words. A word of it that is not a stop word and
    lies within what the model sees has a vector of its own, the mean of its pieces', of which the signs are kept: one
    bit a dimension.
    """

    vector: bytes
    """Of the whole: float32 little-endian, L2-normalised."""
    counts: bytes
    """One byte for each line after the first: how many of its words have a vector, at most 255. From a model that
    reads names one byte more, 8: the vector of the note's name takes the room of so many words."""
    bits: bytes
    """The words' vectors in order, ``dimension / 8`` bytes each; the name's last, a signed byte a dimension."""


class Session:
    """One model, open, for this process. Its methods may be called from several threads at once."""

    def __init__(self, manifest: models.Manifest, folder: Path, *, repack: bool = False) -> None:
        """Open the prepared folder of a model whose runner is onnxruntime.

        Args:
            manifest: of the model.
            folder: its prepared folder.
            repack: let onnxruntime copy the weights into the layout its kernels like best. For one query that costs
                more than it gives. Weights in four bits
                are always copied: 12 ms, and a fifth of the time for a query.

        Raises:
            ModelUnavailableError: onnxruntime or tokenizers is missing or can't read the model.
        """
        self.manifest = manifest
        self.dimension = manifest.dimension
        try:
            self._numpy = load_numpy()
            onnxruntime = load_onnxruntime()
            self._read = _reader(self._numpy, manifest, folder)
        except ImportError as error:
            hint = models.install_hint(manifest.name if models.packaged(manifest.name) else models.EMBEDDED)
            raise ModelUnavailableError(f"the embedding model can't be run here: {error}", hint) from error
        except ModelUnavailableError:
            raise
        except Exception as error:  # tokenizers' exceptions share no base class
            raise _damaged(folder, error) from error
        try:
            self._model = onnxruntime.InferenceSession(
                str(prepare.graph_of(folder, manifest, onnxruntime.__version__)),
                _options(onnxruntime, repack or manifest.runner == models.E5),
                providers=["CPUExecutionProvider"],
            )
        except ModelUnavailableError:
            raise
        except Exception as error:  # nor do onnxruntime's
            raise _damaged(folder, error) from error
        self._inputs = {node.name for node in self._model.get_inputs()}
        self._named = ("", b"")

    def query(self, text: str) -> QueryVector:
        """The vectors of a query, and of its words."""
        np, prefix = self._numpy, self.manifest.query_prefix
        hidden, offsets = self._run(prefix + text)
        vector = unit(np, whole(np, hidden, self.manifest.pooling))
        spans = list(_words(prefix + text, len(prefix), len(prefix + text), offsets, self._read.centre))
        bits, _ = word_bits(np, hidden, offsets, spans, self._read.centre)
        size = self.dimension // 8
        words = tuple(bits[start : start + size] for start in range(0, len(bits), size))
        return QueryVector(vector, words, self._read.strange(clean(text)))

    def passage(self, text: str) -> Embedded:
        """The vectors of a passage, and of the words of its lines after the first."""
        np, prefix, centre = self._numpy, self.manifest.passage_prefix, self._read.centre
        hidden, offsets = self._run(prefix + text)
        spans: list[tuple[int, int]] = []
        lines: list[int] = []
        start = len(prefix)
        for number, line in enumerate(text.split("\n")):
            if number:
                words = list(islice(_words(prefix + text, start, start + len(line), offsets, centre), MOST_WORDS))
                spans += words
                lines += [number - 1] * len(words)
            start += len(line) + 1
        bits, found = word_bits(np, hidden, offsets, spans, centre)
        counts = bytearray(text.count("\n"))
        for index in found:
            counts[lines[index]] += 1
        if centre is not None and (name := self._name(text)):
            counts, bits = counts + b"\x08", bits + name
        return Embedded(unit(np, whole(np, hidden, self.manifest.pooling)), bytes(counts), bits)

    def _name(self, text: str) -> bytes:
        """The vector of the name that a passage's first line begins with, by itself; nothing without one.

        Eight bits a number are enough: a cosine differs by .001. The passages of a note follow each other, so that its
        name is embedded about once.
        """
        name = text.split("\n", 1)[0].split(SEPARATOR, 1)[0]
        if not name.strip():
            return b""
        known = self._named
        if known[0] != name:
            np = self._numpy
            vector = whole(np, self._run(self.manifest.passage_prefix + name)[0], self.manifest.pooling)
            known = self._named = name, np.rint(vector * (127 / abs(vector).max())).astype(np.int8).tobytes()
        return known[1]

    def _run(self, text: str) -> tuple[Any, list[tuple[int, int]]]:
        """The model's output for one text, and the character span of each of its tokens."""
        given, offsets = self._read(clean(text))
        hidden = self._model.run(None, {name: value for name, value in given.items() if name in self._inputs})[0]
        return hidden, offsets


class _Reader(Protocol):
    """From a text to what a model is fed."""

    centre: Any
    """What is taken from each token's vector before its signs count; None: nothing."""

    def __call__(self, text: str) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """What the model is fed for a text, and the character span of each token; empty for the first and last."""

    def strange(self, text: str) -> float:
        """How unlike any language a text is: 1 and more is not words at all; 0 where the pieces don't tell."""


class _Tokenizer:
    """The :class:`_Reader` of a model with a tokenizer.json."""

    centre = None

    def __init__(self, np: Any, file: Path, most: int) -> None:
        """Open the file; a text is cut at ``most`` tokens, those that open and end it included."""
        import tokenizers

        self._np = np
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(most)
        self._unknown = {self._tokenizer.token_to_id(name) for name in ("[UNK]", "<unk>")}

    def __call__(self, text: str) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """As said there."""
        np = self._np
        encoded = self._tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return given, encoded.offsets

    def strange(self, text: str) -> float:
        """As said there, by how short the pieces are, for these have no scores; 0 of scripts without blanks."""
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        sizes = [end - start for start, end in encoded.offsets]
        if not sum(sizes) or _UNSPACED.search(text):
            return 0.0
        pieces = sum(size if piece in self._unknown else 1 for piece, size in zip(encoded.ids, sizes, strict=True))
        return pieces / sum(sizes) / _NONSENSE


def _reader(np: Any, manifest: models.Manifest, folder: Path) -> _Reader:
    """What splits texts for that model."""
    if manifest.runner == models.E5:
        return e5.Reader(folder, np, manifest.max_tokens)
    return _Tokenizer(np, folder / "tokenizer.json", manifest.max_tokens)


def _damaged(folder: Path, error: Exception) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"the embedding model in {folder} can't be opened: {error}",
        "remove that folder; the next search or reindex rebuilds it",
    )


def _words(
    text: str, start: int, end: int, offsets: Sequence[tuple[int, int]], centre: Any
) -> Iterator[tuple[int, int]]:
    """The content words of a part of a text; where a model knows scripts without blanks, the pieces of their runs."""
    spans = content_spans(text, start, end)
    if centre is None or text.isascii():
        yield from spans
        return
    for span, (first, last) in zip(spans, token_ranges(offsets, spans), strict=True):
        if _UNSPACED.search(text, *span):
            yield from (offsets[index] for index in range(first, last))
        else:
            yield span


def word_bits(
    np: Any,
    hidden: Any,
    offsets: Sequence[tuple[int, int]],
    spans: Sequence[tuple[int, int]],
    centre: Any = None,
) -> tuple[bytes, list[int]]:
    """The signs of the words' vectors, and which of the spans have one: those that any token lies in.

    ``centre`` is taken from every token's vector first.
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


def whole(np: Any, hidden: Any, pooling: str) -> Any:
    """The model's output for one text as one vector, not yet of length 1."""
    if hidden.ndim == 2:
        return hidden[0]
    return hidden[0, 0] if pooling == "cls" else hidden[0].sum(axis=0, dtype=np.float64) / hidden.shape[1]


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


def unit(np: Any, vector: Any) -> bytes:
    """The vector at length 1: float32 little-endian.

    Raises:
        ModelUnavailableError: it has no direction (zeros, infinities, NaN): the model is damaged.
    """
    length = float(np.sqrt((vector * vector).sum(dtype=np.float64)))
    if not 0.0 < length < float("inf"):
        raise ModelUnavailableError(
            "the embedding model gives vectors without direction",
            "remove its folder in the cache; the next search or reindex rebuilds it",
        )
    data: bytes = (vector / length).astype("<f4").tobytes()
    return data


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
