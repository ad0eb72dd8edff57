"""What ``extract`` answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tars_memory.curation.extraction.keeping import Kept
    from tars_memory.curation.models.llm import Prompt
    from tars_memory.errors import ModelUnavailableError

RULES = "rules"
"""What :attr:`Extracted.model` says where no model was asked."""


class Session(NamedTuple):
    """What became of one conversation.

    Attributes:
        source: as it was named.
        path: of its note, relative to the vault.
        date: ``YYYY-MM-DD`` of its beginning.
        turns: of the whole conversation.
        examined: turns that were looked at now.
        facts: that were written.
        dropped: why others were not, counted: ``ungrounded``, ``known``, ``rejected``, ``secret``.
        left_out: what the session note keeps and nobody is asked about, counted by kind of sentence.
        txn: the transaction that ``undo`` takes; None in a dry run.
    """

    source: str
    path: str
    date: str
    turns: int
    examined: int
    facts: tuple[Kept, ...]
    dropped: dict[str, int]
    left_out: dict[str, int]
    txn: str | None

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {**self._asdict(), "facts": [fact._asdict() for fact in self.facts]}


class Skipped(NamedTuple):
    """A source, or a conversation in it, that gave nothing.

    Attributes:
        source: as it was named.
        why: one sentence without a full stop.
        failed: whether it could not be read, rather than need not.
    """

    source: str
    why: str
    failed: bool = False


class Extracted(NamedTuple):
    """What ``extract`` did.

    Attributes:
        sessions: conversations that were examined.
        skipped: those that were not, and what is no conversation.
        model: that was asked; ``rules`` for none.
        notices: what the person should know.
        failure: why the model could not be used any more; None if it could. What stands in ``sessions`` was written.
    """

    sessions: list[Session]
    skipped: list[Skipped]
    model: str
    notices: list[str]
    failure: ModelUnavailableError | None = None


class Priced(NamedTuple):
    """A prompt that would be sent, with its source, the turns that facts may come from, and what it would cost.

    ``tokens`` counts what is sent; ``cost`` is in US dollars with the longest answer, None if nobody knows.
    """

    source: str
    prompt: Prompt
    examined: tuple[int, ...]
    tokens: int
    cost: float | None


class Prompts(NamedTuple):
    """What a model would be asked.

    Attributes:
        prompts: in order.
        skipped: what nothing would be asked about.
        model: that would be asked; empty for none.
        endpoint: where it is; empty for the provider's own address.
        notices: what the person should know.
    """

    prompts: list[Priced]
    skipped: list[Skipped]
    model: str
    endpoint: str
    notices: list[str]
