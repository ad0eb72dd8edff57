r"""Fakes for tests of programs that use this one: no model, no network, no waiting, the same answer every time.

memory = Memory(make_vault(tmp_path, {"Tea.md": "# Tea\n\n- likes oolong\n"}), embedder=HashEmbedder())
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import sqrt
from pathlib import Path
from struct import pack

from tars_memory.curation.models.llm import Completion, Prompt, Spent, tokens as tokens_of
from tars_memory.index import models, passages
from tars_memory.language.words import STOP_WORDS, WORD, fold, tokens


class HashEmbedder:
    """An embedder without a model: texts that share words are near each other, others nearly orthogonal.

    Deterministic across processes and machines; vectors are float32 little-endian, L2-normalised, 384 numbers.
    ``texts`` lists every passage that was embedded, so that a test can check what was embedded and what wasn't.
    """

    dimension = 384
    scripts = ""

    def __init__(self, fingerprint: str = "hash-embedder") -> None:
        self.fingerprint = fingerprint
        self.texts: list[str] = []

    def embed_passages(self, texts: Iterable[str]) -> Iterator[passages.Embedded]:
        """Yield the vectors of each text and of the words of its lines after the first, in order."""
        for text in texts:
            self.texts.append(text)
            lines = [hashed_words(line)[:255] for line in text.split("\n")[1:]]
            bits = b"".join(word for line in lines for word in line)
            yield passages.Embedded(hashed(text), bytes(map(len, lines)), bits)

    def embed_query(self, text: str) -> models.QueryVector:
        """Return the vectors of a query: those of a passage of the same words."""
        return models.QueryVector(hashed(text), tuple(hashed_words(text)))


def hashed_words(text: str) -> list[bytes]:
    """Return bits for each word that is not a stop word; between two different words about half the bits differ."""
    words = (fold(word) for word in WORD.findall(text))
    return [
        hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=HashEmbedder.dimension // 8).digest()
        for word in words
        if word not in STOP_WORDS
    ]


def hashed(text: str) -> bytes:
    """Return a vector made of the words of a text, whatever their order and case."""
    values = [0.0] * HashEmbedder.dimension
    for word in tokens(text):
        for index, sign in _places(word):
            values[index] += sign
    length = sqrt(sum(value * value for value in values))
    if not length:
        values[0] = length = 1.0
    return pack(f"<{HashEmbedder.dimension}f", *(value / length for value in values))


@lru_cache(maxsize=10_000)
def _places(word: str) -> tuple[tuple[int, float], ...]:
    """Return eight dimensions for a word, each with a sign."""
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=24).digest()
    pieces = (digest[start : start + 3] for start in range(0, 24, 3))
    size = HashEmbedder.dimension
    return tuple((int.from_bytes(piece[:2], "little") % size, 1.0 if piece[2] & 1 else -1.0) for piece in pieces)


class FrozenClock:
    """A clock that stands still until :meth:`advance`: pass it as ``now``."""

    def __init__(self, now: str | datetime = "2026-11-21T10:15:00+00:00") -> None:
        """Start at an ISO date and time; UTC if it has no zone."""
        start = datetime.fromisoformat(now) if isinstance(now, str) else now
        self.now = start if start.tzinfo else start.replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def advance(self, **amount: float) -> datetime:
        """Advance by the arguments of ``timedelta``, as ``advance(days=1, minutes=5)``; return the new time."""
        self.now += timedelta(**amount)
        return self.now


def make_vault(root: Path, notes: Mapping[str, str | bytes] | None = None, *, vault_id: str | None = "") -> Path:
    """Make a vault of these notes (relative path -> text or exact bytes); return its folder.

    Args:
        root: made if it is missing; its existing files stay.
        notes: written as they are; text in UTF-8, its line endings unchanged.
        vault_id: empty for an id made from the path; None leaves the vault without ``.tars/``, as Obsidian makes it.
    """
    root.mkdir(parents=True, exist_ok=True)
    if vault_id == "":
        vault_id = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    if vault_id is not None:
        (root / ".tars").mkdir(exist_ok=True)
        (root / ".tars" / "vault-id").write_text(f"{vault_id}\n", "ascii")
    for path, content in (notes or {}).items():
        note = root / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return root


class ScriptedLLM:
    """A language model that gives scripted answers, or those that a function makes of the prompt; no network, no cost.

    Args:
        answers: texts in order, the last one repeated (an exception among them is raised); or a function of the prompt.

    Attributes:
        prompts: all prompts, in order.
    """

    name = "scripted"

    def __init__(self, answers: Callable[[Prompt], str] | Sequence[str | Exception] = ("",)) -> None:
        self.answers = answers
        self.prompts: list[Prompt] = []
        self.spent = Spent()

    def complete(self, prompt: Prompt) -> Completion:
        """Return the next answer, or raise it if it is an exception."""
        self.prompts.append(prompt)
        if callable(self.answers):
            answer: str | Exception = self.answers(prompt)
        else:
            answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        completion = Completion(answer, self.name, tokens_of(prompt.system + prompt.user), tokens_of(answer), 0.0)
        self.spent = self.spent.plus(completion)
        return completion
