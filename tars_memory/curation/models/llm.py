"""Asking a language model: one place where text leaves, with its limits.

The model's words come back as text and stay text: :mod:`tars_memory.curation.models.dialogues` reads them, and only an
approved proposal ever changes a note. What is sent goes through :mod:`tars_memory.curation.models.remote`.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.settings import LlmOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.curation.models.remote import ProviderModel
    from tars_memory.settings import Settings

LOOK = "look"
"""The job of a prompt that asks the model of ``extract`` for a second look."""
DEFAULT = "default"
"""The name of the model that is set in the configuration, where a name must be given."""

INSTALL = "pip install 'tars-memory[llm]'"


class ReplyError(ValueError):
    """An answer that nothing can be read from; its words are for the model's second try, one clause."""


class Prompt(NamedTuple):
    """What a model is asked.

    Attributes:
        job: ``extract``, ``review`` or ``tidy``, or :data:`LOOK`.
        system: the rules.
        user: the material, fenced.
        schema: JSON schema of the answer, for providers that hold a model to it.
        max_tokens: of the answer.
    """

    job: str
    system: str
    user: str
    schema: dict[str, Any]
    max_tokens: int

    def __str__(self) -> str:
        """As one text, for a program that takes only one."""
        return f"{self.system.rstrip()}\n\n{self.user.rstrip()}\n"


class Completion(NamedTuple):
    """What came back.

    Attributes:
        text: the model's words, not read yet; empty if it said none.
        model: as the provider calls it.
        prompt_tokens, completion_tokens: as the provider counts; at least our own estimate.
        cost: US dollars; None if the model's prices are unknown.
        cut: whether the answer ended for want of room.
    """

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cut: bool = False


class Spent(NamedTuple):
    """What a command has asked for so far: calls, tokens both ways, US dollars (of the calls whose price is known)."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, completion: Completion) -> Spent:
        """With one more answer."""
        tokens = completion.prompt_tokens + completion.completion_tokens
        return Spent(self.calls + 1, self.tokens + tokens, self.cost + (completion.cost or 0.0))


class LanguageModel(Protocol):
    """Whatever answers prompts: a provider's model, a scripted one, a reply out of a file.

    Attributes:
        name: for the person.
        spent: so far.
    """

    name: str
    spent: Spent

    def complete(self, prompt: Prompt) -> Completion:
        """The answer.

        Raises:
            ModelUnavailableError: there is none, or a cap is reached.
        """
        ...


class Reply:
    """A model whose answers were got by another program: ``--reply FILE``.

    Args:
        texts: one for each prompt, in order; those of a second look may stand anywhere among them.
        name: where they come from.

    Attributes:
        open: the prompts of a second look that no text answers.
    """

    def __init__(self, texts: Sequence[str], name: str = "--reply") -> None:
        self.name = name
        self.spent = Spent()
        self.open: list[Prompt] = []
        self._looks = [text for text in texts if _VERDICTS.search(text)]
        self._texts = [text for text in texts if not _VERDICTS.search(text)]
        self._count = len(texts)

    def complete(self, prompt: Prompt) -> Completion:
        """The next of the texts.

        Raises:
            ModelUnavailableError: there is none left.
        """
        texts = self._looks if prompt.job == LOOK else self._texts
        if not texts:
            self.open += [prompt] if prompt.job == LOOK else []
            raise ModelUnavailableError(
                f"{self.name} holds {self._count} answer(s), and another prompt needs one",
                "--print-prompt prints what is to be answered; it was written for what stood there then",
            )
        text = texts.pop(0)
        ended = text.rstrip(" \t\r\n`~").endswith(("}", "]"))
        found = Completion(text, self.name, 0, 0, None, cut=text.count("{") > text.count("}") and not ended)
        self.spent = self.spent.plus(found)
        return found


_VERDICTS = re.compile(r"[{\s](?P<mark>[\"']?)verdicts(?P=mark)\s*:")
"""What an answer to a second look has, and no quote can hold: there its quotation marks are escaped."""


def unusable(name: str, error: ReplyError) -> ModelUnavailableError:
    """What the person is told of an answer that nothing can be read from."""
    return ModelUnavailableError(f"{name} gave no usable answer: {error}; nothing was written", "try another model")


def required(settings: Settings, job: str, name: str = "") -> ProviderModel:
    """The model of that name, or the one that is set for a job.

    Raises:
        ModelUnavailableError: none is set, or litellm is not installed.
        UsageError: the settings can't be understood.
    """
    model = open_llm(settings, job, model=name)
    if model is None:
        raise ModelUnavailableError("no model is set", f"name one with --model NAME, or set [llm] {job}_model")
    return model


def open_llm(settings: Settings, job: str, *, model: str = "") -> ProviderModel | None:
    """The model that is set for a job; None if none is.

    Args:
        settings: the environment in them (with the provider's key) is the asking process's own.
        job: ``extract``, ``review`` or ``tidy``.
        model: instead of the one that is set, which :data:`DEFAULT` names, too.

    Raises:
        ModelUnavailableError: litellm is not installed.
        UsageError: the settings can't be understood.
    """
    options = settings.options("llm", LlmOptions)
    name = ("" if model == DEFAULT else model) or getattr(options, f"{job}_model") or options.model
    if not name:
        return None
    if options.endpoint and not options.endpoint.lower().startswith(("http://", "https://")):
        raise UsageError(f"llm.endpoint {options.endpoint!r} is no address", "it begins with http:// or https://")
    if find_spec("litellm") is None:
        raise ModelUnavailableError(f"asking {name} needs litellm, which is not installed", INSTALL)
    from tars_memory.curation.models.remote import ProviderModel

    return ProviderModel(name, options, settings.env)


def estimate(prompt: Prompt, model: LanguageModel) -> tuple[int, float | None]:
    """What a prompt would cost, before it is sent: tokens in, and US dollars with the longest answer (None: unknown).

    Only a provider's own prices are asked for, and those come with litellm: nothing is sent.
    """
    asked = tokens(prompt.system + prompt.user)
    known = getattr(model, "prices", None)
    prices = known() if known else None
    return asked, None if prices is None else asked * prices[0] + prompt.max_tokens * prices[1]


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its ASCII characters, and each other one for itself."""
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain
