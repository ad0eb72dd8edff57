"""Made-up vectors that lie as a model's do: topics, in them notes, in them passages, most of it in few directions.

Not out of a hat: among random vectors all are equally far, a graph of neighbours (HNSW) finds its way no better than by
chance, and what it finds says nothing about real notes. Embedding a million passages would take a model days; so a
passage's vector is drawn from its text, with its title as the seed of its note and the note's topic, and goes the usual
way through the embedding cache. Words and meaning agree in the notes alone: a bench of costs and of neighbours, not of
what is found.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tars_memory.index import prepare

if TYPE_CHECKING:
    from tars_memory.index.models import QueryVector
    from tars_memory.index.passages import Embedded

TOPICS, PARTS = 60, 12
"""Topics, and parts of each."""
SHARES = (0.05, 0.35, 0.15, 0.22, 0.23)
"""Of what all have in common, of the topic, of its part, of the note and of the passage itself, in a passage's vector.

9,000 of them lie as 9,000 of MiniLM's of prose in English and German do: two of them at a cosine of .04 +- .13 (MiniLM:
.06 +- .12), the nearest at .80 (.80), the tenth at .56 (.57), the hundredth at .38 (.42)."""
QUERY = 0.5
"""The share of a query's vector that it has from the passage which it asks for."""
SLOPE = 3.0
"""The n-th direction holds 1 / (n + this) of the variance: ten have 33 %, a hundred 81 (MiniLM 30, 74)."""
BATCH = 2048
"""Texts that are taken at once."""
MOST_WORDS = 255
"""Of a line that are counted; the number is a byte."""


class ClusteredEmbedder:
    """Vectors by topic and note.

    Args:
        fingerprint: of the model that they are taken for.
        words: for which a line has bits at most; a real passage has some 65 (3 kB), a million of them 3 GB, twice.
    """

    dimension = 384
    scripts = ""

    def __init__(self, fingerprint: str, words: int = MOST_WORDS) -> None:
        self.fingerprint = fingerprint
        self._most = words
        self._np = np = prepare.load_numpy()
        dice = np.random.default_rng(7)
        self._scale = (1 / (np.arange(self.dimension) + SLOPE)) ** 0.5
        self._scale /= (self._scale**2).sum() ** 0.5
        # Turned, so that no number of a vector stands out.
        self._turn, _ = np.linalg.qr(dice.standard_normal((self.dimension, self.dimension)))
        self._common = self._drawn(0)
        self._bits = dice.bytes(MOST_WORDS * 64 * self.dimension // 8)

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """One vector a text, of its first line (title and headings) and of itself."""
        batch: list[str] = []
        for text in texts:
            batch.append(text)
            if len(batch) == BATCH:
                yield from self._embedded(batch)
                batch = []
        yield from self._embedded(batch)

    def embed_query(self, text: str) -> QueryVector:
        """As of a passage with these words for its title: near to one topic, and to no note."""
        (vector,) = self._turned([self._of(text)])
        return self._asked(vector, text)

    def question(self, text: str, passage: bytes) -> QueryVector:
        """A question that one passage answers, by the passage's vector."""
        own = self._np.frombuffer(passage, dtype="<f4")
        asked = QUERY**0.5 * own + (1 - QUERY) ** 0.5 * (self._drawn(zlib.crc32(text.encode())) @ self._turn)
        vector: bytes = (asked / self._np.linalg.norm(asked)).astype("<f4").tobytes()
        return self._asked(vector, text)

    def _asked(self, vector: bytes, text: str) -> QueryVector:
        from tars_memory.index.models import QueryVector

        size = self.dimension // 8
        return QueryVector(vector, tuple(self._bits[n * size : (n + 1) * size] for n in range(len(text.split()))))

    def _embedded(self, texts: list[str]) -> Iterator[Embedded]:
        from tars_memory.index.passages import Embedded

        for text, vector in zip(texts, self._turned([self._of(text) for text in texts]), strict=True):
            lines = [min(self._most, MOST_WORDS, len(line.split())) for line in text.split("\n")[1:]]
            begin = zlib.crc32(text.encode()) % 999
            yield Embedded(vector, bytes(lines), self._bits[begin : begin + sum(lines) * self.dimension // 8])

    def _of(self, text: str) -> Any:
        title = text.partition("\n")[0].partition(" › ")[0]
        note = zlib.crc32(title.encode())
        topic = note % TOPICS
        part = TOPICS + note % (TOPICS * PARTS)
        seeds = (topic + 1, part + 1, note ^ 0x5A5A5A, zlib.crc32(text.encode(), 1))
        parts = (self._common, *map(self._kept, seeds[:3]), self._drawn(seeds[3]))
        return sum(share**0.5 * part for share, part in zip(SHARES, parts, strict=True))

    def _turned(self, vectors: list[Any]) -> list[bytes]:
        if not vectors:
            return []
        turned = self._np.vstack(vectors) @ self._turn
        turned /= self._np.linalg.norm(turned, axis=1, keepdims=True)
        return [row.tobytes() for row in turned.astype("<f4")]

    def _drawn(self, seed: int) -> Any:
        return self._np.random.default_rng(seed).standard_normal(self.dimension) * self._scale

    @lru_cache(maxsize=1024)  # noqa: B019 - one embedder a process
    def _kept(self, seed: int) -> Any:
        return self._drawn(seed)
