"""A model behind litellm, asked in a process of its own, with the limits of one command.

litellm runs in :mod:`tars_memory.curation.models.provider`, which is ended when the time is over: so the limit by the
wall clock holds whatever a server does, and this process can always exit.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from tars_memory.curation.models import provider
from tars_memory.curation.models.llm import INSTALL, Completion, Prompt, Spent, tokens
from tars_memory.errors import ModelUnavailableError, counted
from tars_memory.recall.packing.fence import visible
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    from tars_memory.settings import LlmOptions

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
        self._check_calls()
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

    def _check_calls(self) -> None:
        if self.spent.calls >= self._options.max_calls:
            raise _capped(f"{self.spent.calls} calls", "llm.max_calls")

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
            return ModelUnavailableError(f"litellm can't be used: {answer['message']}", INSTALL)
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
