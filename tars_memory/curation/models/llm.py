"""Asks a language model. Only here does text leave the machine for a model, within the limits of one command.

The model's answer is text: :mod:`tars_memory.curation.models.dialogues` reads it, and only an approved proposal ever
changes a note. litellm runs in a process of its own, :mod:`tars_memory.curation.models.provider`, which is killed when
the time is over. So the time limit holds whatever a server does, and this process can always exit.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import weakref
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from tars_memory.curation.models import provider
from tars_memory.errors import ModelUnavailableError, UsageError, counted, installing, shortened
from tars_memory.recall.packing import visible
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tars_memory.settings import LlmOptions, Settings


LOOK = "look"
"""The job of a prompt that asks the model of ``extract`` for a second look."""


class ReplyError(ValueError):
    """An unusable answer. The message is one clause, which goes to the model when it is asked again."""


class Prompt(NamedTuple):
    """A prompt for a model.

    Attributes:
        job: ``extract``, ``review``, ``tidy`` or ``curate``, or :data:`LOOK`.
        system: the rules.
        user: the material, fenced.
        schema: JSON schema of the answer, for providers that enforce one.
        max_tokens: maximum number of tokens of the answer.
    """

    job: str
    system: str
    user: str
    schema: dict[str, Any]
    max_tokens: int

    def __str__(self) -> str:
        """The whole prompt as one text, for a program that takes only one."""
        return f"{self.system.rstrip()}\n\n{self.user.rstrip()}\n"


class Completion(NamedTuple):
    """A model's answer.

    Attributes:
        text: the model's words, not parsed yet; may be empty.
        model: as the provider calls it.
        prompt_tokens, completion_tokens: as the provider counts, but at least half of our own estimate.
        cost: US dollars; None if the model's prices are unknown.
        cut: whether the answer was cut off at ``max_tokens``.
    """

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cut: bool = False


class Spent(NamedTuple):
    """What a command has used so far: calls, tokens in and out, and US dollars (of calls with a known price)."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, completion: Completion) -> Spent:
        """Return the sum with one more answer."""
        tokens = completion.prompt_tokens + completion.completion_tokens
        return Spent(self.calls + 1, self.tokens + tokens, self.cost + (completion.cost or 0.0))


class LanguageModel(Protocol):
    """Anything that answers prompts: a provider's model, a scripted one, or answers from a file.

    Attributes:
        name: to show to the person.
        spent: what it has used so far.
    """

    name: str
    spent: Spent

    def complete(self, prompt: Prompt) -> Completion:
        """Return the answer to a prompt.

        Raises:
            ModelUnavailableError: there is no answer, or a limit is reached.
        """
        ...


class Reply:
    """A model whose answers another program has obtained: ``--reply FILE``.

    Args:
        texts: one answer for each prompt, in order; those to second looks may be anywhere among them.

    Attributes:
        open: the prompts of second looks that no text answers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.name = "--reply"
        self.spent = Spent()
        self.open: list[Prompt] = []
        self._looks = [text for text in texts if _VERDICTS.search(text)]
        self._texts = [text for text in texts if not _VERDICTS.search(text)]
        self._count = len(texts)

    def complete(self, prompt: Prompt) -> Completion:
        """Return the next text.

        Raises:
            ModelUnavailableError: there is none left.
        """
        texts = self._looks if prompt.job == LOOK else self._texts
        if not texts:
            self.open += [prompt] if prompt.job == LOOK else []
            raise ModelUnavailableError(
                f"{self.name} has {self._count} answer(s), and there is one more prompt",
                "--print-prompt prints the prompts to answer, for the lines as they are now",
            )
        text = texts.pop(0)
        ended = text.rstrip(" \t\r\n`~").endswith(("}", "]"))
        found = Completion(text, self.name, 0, 0, None, cut=text.count("{") > text.count("}") and not ended)
        self.spent = self.spent.plus(found)
        return found


_VERDICTS = re.compile(r"[{\s](?P<mark>[\"']?)verdicts(?P=mark)\s*:")
"""A key that every answer to a second look has; no quote can contain it, because quotation marks are escaped there."""


def unusable(name: str, error: ReplyError) -> ModelUnavailableError:
    """Return the error for an unusable answer."""
    hint = "print the prompt again (--print-prompt) and answer that" if name == "--reply" else "try another model"
    return ModelUnavailableError(f"{name} gave no usable answer: {error}; nothing was written", hint)


def required(settings: Settings, job: str, name: str = "", *, naming: str = "with --model NAME") -> ProviderModel:
    """Return the model with a name, or else the one that is set for a job.

    Args:
        settings: of the command.
        job: ``extract``, ``review`` or ``tidy``.
        name: of the model; empty for the one that is set.
        naming: how the command is given a name, for the message.

    Raises:
        ModelUnavailableError: none is set, or litellm is not installed.
        UsageError: the settings can't be understood.
    """
    model = open_llm(settings, job, model=name)
    if model is None:
        raise ModelUnavailableError("no model is set", f"name one {naming}, or set [llm] {job}_model")
    return model


def open_llm(settings: Settings, job: str, *, model: str = "") -> ProviderModel | None:
    """Return the model that is set for a job; None if none is.

    Args:
        settings: their environment, with the provider's key, is passed on to the provider process.
        job: ``extract``, ``review`` or ``tidy``.
        model: name of a model to use instead of the one that is set; ``default`` means the one that is set.

    Raises:
        ModelUnavailableError: litellm is not installed.
        UsageError: the settings can't be understood.
    """
    options = settings.llm
    if not (name := options.named(job, model)):
        return None
    if options.endpoint and not options.endpoint.lower().startswith(("http://", "https://")):
        raise UsageError(
            f"llm.endpoint {options.endpoint!r} is not an address", "it must begin with http:// or https://"
        )
    if find_spec("litellm") is None:
        raise ModelUnavailableError(f"asking {name} needs litellm, which is not installed", installing("llm"))

    return ProviderModel(name, options, settings.env)


def estimate(prompt: Prompt, model: LanguageModel) -> tuple[int, float | None]:
    """Estimate what a prompt costs: its tokens, and US dollars with an answer of maximum length (None: unknown).

    The prices come with litellm; nothing is sent.
    """
    count = tokens(prompt.system + prompt.user)
    get_prices = getattr(model, "prices", None)
    prices = get_prices() if get_prices else None
    return count, None if prices is None else count * prices[0] + prompt.max_tokens * prices[1]


def tokens(text: str) -> int:
    """Estimate the number of tokens of a text: one for four ASCII characters, and one for each other character."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count


# --- a model behind litellm


STARTUP = 120.0
"""Seconds that the import of litellm may take, in addition to the first answer's time limit; 4-7 are usual."""
GRACE = 0.5
"""Seconds that the provider process has, after the time limit, to report it; then it need not be killed."""
NAMES = "litellm's names have the form provider/model, as openai/gpt-4o-mini or ollama/llama3"
"""The hint to whoever may have given a wrong name."""

HINTS: dict[object, str] = {
    401: "is the key right? set llm.key or the provider's own variable",
    403: "is the key right, and allowed to use this model?",
    404: "are the model's name and llm.endpoint right?",
    429: "wait, or use another model",
    "AuthenticationError": "set llm.key or the provider's own variable",
    "BadRequestError": NAMES,
    "ContextWindowExceededError": "use a model with a larger context window",
    "Lost": "is llm.endpoint right, and the server running?",
    "Malformed": "is llm.endpoint right? OpenAI-compatible servers have theirs at …/v1",
    "Refused": "is llm.endpoint right?",
}
"""Hints what to do next, by HTTP status or kind of failure."""


class ProviderModel:
    """A model behind litellm, asked in a process that lives as long as this object.

    Args:
        name: as litellm knows it.
        options: endpoint, key, and the limits, which hold for this object's life: one command.
        env: environment of the provider process.

    Attributes:
        endpoint: where prompts are sent; empty for the provider's own address.
    """

    def __init__(self, name: str, options: LlmOptions, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.endpoint = options.endpoint
        self.spent = Spent()
        self._options = options
        self._env = dict(os.environ if env is None else env)
        self._process: _Process | None = None
        self._prices: tuple[float, float] | None = None
        self._missing: list[str] = []

    def prices(self) -> tuple[float, float] | None:
        """Return US dollars per token in and per token out; None if the prices are unknown.

        Raises:
            ModelUnavailableError: the model's name is unknown, or litellm can't be used.
        """
        self._started()
        return self._prices

    def complete(self, prompt: Prompt) -> Completion:
        """Return the model's answer; whatever looks like a credential is masked before the prompt is sent.

        Raises:
            ModelUnavailableError: no key is set for the model, there was no answer in time, or none at all, or a limit
                is reached. Failures are retried at most :data:`~tars_memory.curation.models.provider.RETRIES` times.
        """
        if self.spent.calls >= self._options.max_calls:
            raise _over_limit(f"{self.spent.calls} calls", "llm.max_calls")
        process = self._started()
        if self._missing:  # some libraries would send the conversation, and only then be refused
            names = " or ".join(sorted(self._missing))
            raise ModelUnavailableError(
                f"{self.name} needs a key, and {names} is not set; nothing was sent",
                f"set {names} in the environment, or [llm] key in your own configuration",
            )
        system, user = mask(prompt.system), mask(prompt.user)
        prompt_tokens = tokens(system + user)
        self._check_limits(prompt_tokens, prompt.max_tokens)
        request = {**prompt._asdict(), "system": system, "user": user, "timeout": self._options.timeout}
        try:
            answer = process.ask(request, self._options.timeout + GRACE)
        except TimeoutError:
            self.close()
            answer = {"error": "Timeout"}
        if "error" in answer:
            self.spent = self.spent.plus(Completion("", self.name, prompt_tokens, 0, None))
            raise self._failure(answer)
        completion = self._completion(answer, prompt_tokens)
        self.spent = self.spent.plus(completion)
        return completion

    def close(self) -> None:
        """End the provider process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _started(self) -> _Process:
        """Return the provider process, started if it is not running.

        Raises:
            ModelUnavailableError: the model's name is unknown, or litellm can't be used.
        """
        if self._process is not None and self._process.is_running():
            return self._process
        self._process = _Process(self._env)
        setup = {"model": self.name, "endpoint": self.endpoint, "key": self._options.key}
        try:
            ready = self._process.ask(setup, STARTUP)
        except TimeoutError:
            self.close()
            raise ModelUnavailableError(f"litellm did not start within {STARTUP:g} s", "try again") from None
        if "error" in ready:
            self.close()
            if ready["error"] == "BadRequestError":  # nothing was sent: litellm knows no provider for the name
                raise ModelUnavailableError(f"litellm doesn't know the model {self.name!r}", NAMES)
            raise self._failure(ready)
        self._prices = tuple(ready["prices"]) if ready["prices"] else None
        self._missing = list(ready["missing"])
        return self._process

    def _completion(self, answer: dict[str, Any], prompt_tokens: int) -> Completion:
        """Return an answer with its tokens and cost; a server that counts too few tokens does not extend the limits."""
        tokens_in = max(answer["prompt_tokens"], prompt_tokens // 2)
        tokens_out = max(answer["completion_tokens"], tokens(answer["text"]) // 2)
        cost = None if self._prices is None else tokens_in * self._prices[0] + tokens_out * self._prices[1]
        return Completion(answer["text"], answer["model"], tokens_in, tokens_out, cost, answer["cut"])

    def _check_limits(self, prompt_tokens: int, max_tokens: int) -> None:
        """Check that a call stays within the limits, even with an answer of maximum length.

        Raises:
            ModelUnavailableError: it may not.
        """
        if self.spent.tokens + prompt_tokens + max_tokens > self._options.max_tokens:
            raise _over_limit(
                f"{counted(self.spent.tokens, 'token')}, and the next call may take {prompt_tokens + max_tokens:,}",
                "llm.max_tokens",
            )
        cost = 0.0 if self._prices is None else prompt_tokens * self._prices[0] + max_tokens * self._prices[1]
        if self.spent.cost + cost > self._options.max_cost:
            raise _over_limit(f"${self.spent.cost:.4f}, and the next call may cost ${cost:.4f}", "llm.max_cost")

    def _failure(self, answer: dict[str, Any]) -> ModelUnavailableError:
        """Return the error for a failure that the provider process reports."""
        kind = str(answer.get("error"))
        status = f" (HTTP {answer['status']})" if isinstance(answer.get("status"), int) else ""
        if kind == "Timeout":
            return ModelUnavailableError(
                f"{self.name} did not answer within {self._options.timeout:g} s", "try again, or raise llm.timeout"
            )
        if kind == "ModuleNotFoundError":
            return ModelUnavailableError(f"litellm can't be used: {answer['message']}", installing("llm"))
        message = self._clean(str(answer.get("message", ""))) or kind
        hint = HINTS.get(answer.get("status"), HINTS.get(kind, "try again, or use another model"))
        return ModelUnavailableError(f"{self.name} can't be asked{status}: {message}", hint)

    def _clean(self, message: str) -> str:
        """Return a server's message as one short line, without credentials and control characters."""
        keys = [self._options.key, *(value for name, value in self._env.items() if name.endswith(("_KEY", "_TOKEN")))]
        for key in keys:
            if len(key) >= 8:
                message = message.replace(key, "[masked]")
        return shortened(" ".join(visible(mask(message)).split()), 300)


def _over_limit(spent: str, setting: str) -> ModelUnavailableError:
    """Return the error for a limit that is reached."""
    return ModelUnavailableError(
        f"this command has used {spent}: more than {setting} allows", f"raise {setting}, or do less at once"
    )


class _Process:
    """The provider process, and the lines to and from it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Start the process."""
        self._child = subprocess.Popen(
            [sys.executable, "-P", provider.__file__],  # -P: the current folder is not a place to import from
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            encoding="utf-8",
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert self._child.stdout is not None
        threading.Thread(target=_listen, args=(self._child.stdout, self._lines), daemon=True).start()
        self.end = weakref.finalize(self, _end, self._child)

    def is_running(self) -> bool:
        """Whether the process is running, and can be asked."""
        return self._child.poll() is None

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            TimeoutError: no answer came within so many seconds.
        """
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        except OSError:
            line = ""
        if not line:
            return {"error": "Ended", "message": f"the asking process ended (exit code {self._child.wait(5)})"}
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer


def _listen(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Put each line of a stream into a queue; an empty one at its end."""
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put("")


def _end(child: subprocess.Popen[str]) -> None:
    """Kill a process and close its pipes."""
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
