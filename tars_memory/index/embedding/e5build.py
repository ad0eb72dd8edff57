"""What is made once of multilingual-e5-small's data file: a graph for onnxruntime, and the word pieces as a trie.

The graph is written as ONNX by hand: protocol buffers of a dozen kinds of field, which is less than a library for it.
"""

from __future__ import annotations

from array import array
from struct import pack
from typing import TYPE_CHECKING, Any

from tars_memory.errors import ModelUnavailableError
from tars_memory.index.embedding import models, runtime
from tars_memory.index.embedding.e5 import BLOCK, GRAPH, PIECES, TRIE, WEIGHTS, Weights, halves

if TYPE_CHECKING:
    from pathlib import Path

_SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
"""Pieces that no text can name: ``<s>`` in a note is three characters, and opens nothing."""
_FLOAT, _UINT8 = 1, 2
"""Types of a tensor (``TensorProto.DataType``)."""
_OPSET, _IR = 17, 8
"""Versions of ONNX's operators and of its file."""
_MICROSOFT = "com.microsoft"
"""Operators that onnxruntime adds to ONNX's own: the four-bit product, attention, this Gelu."""


def build(folder: Path) -> tuple[str, ...]:
    """Make the graph and the word pieces beside the weight file in a folder; the names of the files made.

    Raises:
        ModelUnavailableError: the weight file has another layout, or a library is missing.
        OSError: the folder can't be written.
    """
    weights = Weights(folder / WEIGHTS)
    try:
        import marisa_trie

        np = runtime.load_numpy()
    except ImportError as error:
        raise ModelUnavailableError(
            f"the multilingual model can't be prepared here: {error}", models.install_hint(models.MULTILINGUAL)
        ) from error
    (folder / GRAPH).write_bytes(_Graph(np, weights).model())
    pieces = [(name, score, number) for number, (name, score) in enumerate(weights.pieces()) if name not in _SPECIAL]
    trie = marisa_trie.Trie([name for name, _, _ in pieces])
    scores, numbers = array("d", bytes(8 * len(trie))), array("i", bytes(4 * len(trie)))
    for name, score, number in pieces:
        key = trie[name]
        scores[key], numbers[key] = score, number
    trie.save(str(folder / TRIE))
    extremes = array("d", (min(scores), max(len(name) for name, _, _ in pieces)))
    (folder / PIECES).write_bytes(extremes.tobytes() + scores.tobytes() + numbers.tobytes())
    return GRAPH, TRIE, PIECES


class _Graph:
    """The transformer as ONNX: from rows of the word table to a vector for each token (BERT, post-normalised)."""

    def __init__(self, np: Any, weights: Weights) -> None:
        self._np = np
        self._weights = weights
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def model(self) -> bytes:
        """The file."""
        weights = self._weights
        hidden, inner = weights.hidden, weights.inner
        last = self._normalised("embeddings", "emb.ln", "start")
        for number in range(weights.layers):
            at = f"l{number}."
            parts = [self._linear(last, at + part, hidden, hidden) for part in "qkv"]
            seen = self._add("MultiHeadAttention", parts, at + "seen", domain=_MICROSOFT, num_heads=weights.heads)
            total = self._add("Add", [last, self._linear(seen, at + "ao", hidden, hidden)], at + "sum")
            middle = self._normalised(total, at + "aln", at + "middle")
            wide = self._linear(middle, at + "fi", inner, hidden)
            active = self._add("Gelu", [wide], at + "active", domain=_MICROSOFT)
            total = self._add("Add", [middle, self._linear(active, at + "fo", hidden, inner)], at + "end")
            last = self._normalised(total, at + "oln", "hidden" if number == weights.layers - 1 else at + "out")
        graph = b"".join(
            (
                *(_field(1, node) for node in self._nodes),
                _field(2, "multilingual-e5-small"),
                *(_field(5, tensor) for tensor in self._tensors),
                _field(11, _named("embeddings", hidden)),
                _field(12, _named("hidden", hidden)),
            )
        )
        versions = (_field(1, "") + _field(2, _OPSET), _field(1, _MICROSOFT) + _field(2, 1))
        return _field(1, _IR) + _field(7, graph) + b"".join(_field(8, version) for version in versions)

    def _add(self, kind: str, inputs: list[str], output: str, *, domain: str = "", **said: int | float) -> str:
        """A node; answers with the name of its output, which is its own."""
        node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(3, output) + _field(4, kind)
        for name, value in said.items():
            number, type_ = (2, 1) if isinstance(value, float) else (3, 2)
            node += _field(5, _field(1, name) + _field(number, value) + _field(20, type_))
        self._nodes.append(node + _field(7, domain))
        return output

    def _tensor(self, name: str, values: Any, type_: int) -> str:
        dimensions = b"".join(_field(1, size) for size in values.shape)
        self._tensors.append(dimensions + _field(2, type_) + _field(8, name) + _field(9, values.tobytes()))
        return name

    def _floats(self, name: str) -> str:
        return self._tensor(name, self._weights.floats(self._np, name), _FLOAT)

    def _linear(self, given: str, name: str, rows: int, columns: int) -> str:
        """A product with a quantised matrix, and its bias: two weights a byte, neighbours together."""
        blocks = self._weights.blocks(self._np, f"{name}.w", rows)
        nibbles = halves(self._np, blocks["nibbles"])
        packed = self._tensor(f"{name}.q", nibbles[..., 0::2] | (nibbles[..., 1::2] << 4), _UINT8)
        scales = self._tensor(f"{name}.s", blocks["scale"].astype(self._np.float32).reshape(-1), _FLOAT)
        shape = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK}
        product = self._add("MatMulNBits", [given, packed, scales], f"{name}.product", domain=_MICROSOFT, **shape)
        return self._add("Add", [product, self._floats(f"{name}.b")], f"{name}.out")

    def _normalised(self, given: str, name: str, output: str) -> str:
        inputs = [given, self._floats(f"{name}.w"), self._floats(f"{name}.b")]
        return self._add("LayerNormalization", inputs, output, axis=-1, epsilon=self._weights.epsilon)


def _named(name: str, hidden: int) -> bytes:
    """What a graph takes or gives: one text's tokens, a vector each."""
    sizes = (_field(1, 1), _field(2, "tokens"), _field(1, hidden))
    shape = b"".join(_field(1, size) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, _FLOAT) + _field(2, shape)))


def _field(number: int, value: bytes | str | int | float) -> bytes:
    """One field of a protocol buffer."""
    if isinstance(value, float):
        return _varint(number << 3 | 5) + pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)
