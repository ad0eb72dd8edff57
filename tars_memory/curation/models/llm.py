"""Asking a language model: one place where text leaves, with the limits of one command.

The model's words come back as text and stay text: :mod:`tars_memory.curation.models.dialogues` reads them, and only an
approved proposal ever changes a note. litellm runs in :mod:`tars_memory.curation.models.provider`, a process of its own
that is ended when the time is over: so the limit by the wall clock holds whatever a server does, and this process can
always exit.
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
from tars_memory.errors import ModelUnavailableError, UsageError, counted, installing
from tars_memory.recall.packing import visible
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tars_memory.settings import LlmOptions, Settings


LOOK = "look"
"""The job of a prompt that asks the model of ``extract`` for a second look."""


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


def share_of(spent: Spent, options: LlmOptions) -> float:
    """What was spent of the limits, 0 to 1 and beyond: of the limit that is nearest."""
    limits = ((spent.calls, options.max_calls), (spent.tokens, options.max_tokens), (spent.cost, options.max_cost))
    return max(used / most if most else float(used > 0) for used, most in limits)


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
                "--print-prompt prints what is to be answered; it was written for the lines as they were then",
            )
        text = texts.pop(0)
        ended = text.rstrip(" \t\r\n`~").endswith(("}", "]"))
        found = Completion(text, self.name, 0, 0, None, cut=text.count("{") > text.count("}") and not ended)
        self.spent = self.spent.plus(found)
        return found


_VERDICTS = re.compile(r"[{\s](?P<mark>[\"']?)verdicts(?P=mark)\s*:")
"""What an answer to a second look has, and no quote can hold: there its quotation marks are escaped."""


def unusable(name: str, error: ReplyError) -> ModelUnavailableError:
    """The failure that names an answer from which nothing can be read."""
    again = "print the prompt anew (--print-prompt) and answer that" if name == "--reply" else "try another model"
    return ModelUnavailableError(f"{name} gave no usable answer: {error}; nothing was written", again)


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
        model: instead of the one that is set, which ``default`` names, too.

    Raises:
        ModelUnavailableError: litellm is not installed.
        UsageError: the settings can't be understood.
    """
    options = settings.llm
    if not (name := options.named(job, model)):
        return None
    if options.endpoint and not options.endpoint.lower().startswith(("http://", "https://")):
        raise UsageError(f"llm.endpoint {options.endpoint!r} is not an address", "it begins with http:// or https://")
    if find_spec("litellm") is None:
        raise ModelUnavailableError(f"asking {name} needs litellm, which is not installed", installing("llm"))

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


# --- a model behind litellm


STARTUP = 120.0
"""Seconds that litellm's import may take, on top of the time limit of the first answer; 4-7 are usual."""
GRACE = 0.5
"""Seconds that the asking process has to say itself that the time is over, which spares ending it."""
HINTS: dict[object, str] = {
    401: "is the key right? set llm.key or the provider's own variable",
    403: "is the key right, and allowed to use this model?",
    404: "are the model's name and llm.endpoint right?",
    429: "wait, or use another model",
    "AuthenticationError": "set llm.key or the provider's own variable",
    "BadRequestError": "is the model's name right? litellm's has the form provider/model",
    "ContextWindowExceededError": "use a model with a larger context window",
    "Lost": "is llm.endpoint right, and the server running?",
    "Malformed": "is llm.endpoint right? OpenAI-compatible servers have theirs at …/v1",
    "Refused": "is llm.endpoint right?",
}
"""What to do next, by HTTP status or kind of failure."""


class ProviderModel:
    """A model behind litellm, asked in a process that lives as long as this object.

    Args:
        name: as litellm knows it.
        options: endpoint, key, and the caps, which hold for this object's life: one command.
        env: environment of the asking process.

    Attributes:
        endpoint: where prompts go; empty for the provider's own address.
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
        """US dollars for a token in and a token out; None if nobody knows.

        Raises:
            ModelUnavailableError: the model's name is unknown, or litellm can't be used.
        """
        self._started()
        return self._prices

    def complete(self, prompt: Prompt) -> Completion:
        """The model's answer; what looks like a credential is masked before it leaves.

        Raises:
            ModelUnavailableError: no key is set for it, it does not answer in time, or not at all, or a cap is reached;
                nothing is retried beyond :data:`provider.RETRIES`.
        """
        if self.spent.calls >= self._options.max_calls:
            raise _capped(f"{self.spent.calls} calls", "llm.max_calls")
        process = self._started()
        if self._missing:  # some libraries would send the conversation first, and only then be refused
            names = " or ".join(sorted(self._missing))
            raise ModelUnavailableError(
                f"{self.name} needs a key, and {names} is not set; nothing was sent",
                f"set {names} in the environment, or [llm] key in your own configuration",
            )
        system, user = mask(prompt.system), mask(prompt.user)
        asked = tokens(system + user)
        self._check_caps(asked, prompt.max_tokens)
        request = {**prompt._asdict(), "system": system, "user": user, "timeout": self._options.timeout}
        try:
            answer = process.ask(request, self._options.timeout + GRACE)
        except TimeoutError:
            self.close()
            answer = {"error": "Timeout"}
        if "error" in answer:
            self.spent = self.spent.plus(Completion("", self.name, asked, 0, None))
            raise self._failure(answer)
        found = self._completion(answer, asked)
        self.spent = self.spent.plus(found)
        return found

    def close(self) -> None:
        """End the asking process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _started(self) -> _Process:
        if self._process is not None and self._process.lives():
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
            raise self._failure(ready)
        self._prices = tuple(ready["prices"]) if ready["prices"] else None
        self._missing = list(ready["missing"])
        return self._process

    def _completion(self, answer: dict[str, Any], asked: int) -> Completion:
        """The answer; a server that counts too little does not widen the caps."""
        said = max(answer["completion_tokens"], tokens(answer["text"]) // 2)
        read = max(answer["prompt_tokens"], asked // 2)
        cost = None if self._prices is None else read * self._prices[0] + said * self._prices[1]
        return Completion(answer["text"], answer["model"], read, said, cost, answer["cut"])

    def _check_caps(self, asked: int, answered: int) -> None:
        if self.spent.tokens + asked + answered > self._options.max_tokens:
            raise _capped(
                f"{counted(self.spent.tokens, 'token')}, and the next call may take {asked + answered:,}",
                "llm.max_tokens",
            )
        cost = 0.0 if self._prices is None else asked * self._prices[0] + answered * self._prices[1]
        if self.spent.cost + cost > self._options.max_cost:
            raise _capped(f"${self.spent.cost:.4f}, and the next call may cost ${cost:.4f}", "llm.max_cost")

    def _failure(self, answer: dict[str, Any]) -> ModelUnavailableError:
        kind = str(answer.get("error"))
        status = f" (HTTP {answer['status']})" if isinstance(answer.get("status"), int) else ""
        if kind == "Timeout":
            return ModelUnavailableError(
                f"{self.name} did not answer within {self._options.timeout:g} s",
                "try again, or set llm.timeout higher",
            )
        if kind == "ModuleNotFoundError":
            return ModelUnavailableError(f"litellm can't be used: {answer['message']}", installing("llm"))
        said = self._clean(str(answer.get("message", ""))) or kind
        hint = HINTS.get(answer.get("status"), HINTS.get(kind, "see docs/models.md"))
        return ModelUnavailableError(f"{self.name} can't be asked{status}: {said}", hint)

    def _clean(self, said: str) -> str:
        """A server's words as part of one line: no credentials, no control characters, not long."""
        keys = [self._options.key, *(value for name, value in self._env.items() if name.endswith(("_KEY", "_TOKEN")))]
        for key in keys:
            if len(key) >= 8:
                said = said.replace(key, "[masked]")
        said = " ".join(visible(mask(said)).split())
        return said if len(said) <= 300 else f"{said[:299]}…"


def _capped(spent: str, setting: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"this command has used {spent}: more than {setting} allows", f"set {setting} higher, or do less at once"
    )


class _Process:
    """The asking process, and the lines to and from it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Start it: ``-P`` keeps the current folder out of its imports."""
        self._child = subprocess.Popen(
            [sys.executable, "-P", provider.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            encoding="utf-8",
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert self._child.stdout is not None
        threading.Thread(target=_listen, args=(self._child.stdout, self._lines), daemon=True).start()
        self._end = weakref.finalize(self, _end, self._child)

    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._child.poll() is None

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Its answer to one request.

        Raises:
            TimeoutError: none came within so many seconds.
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

    def end(self) -> None:
        """End it now."""
        self._end()


def _listen(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put("")


def _end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
