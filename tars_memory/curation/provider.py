"""The process that speaks to a language model's provider, through litellm; started by :mod:`tars_memory.curation.llm`.

A process of its own, because only a process can be ended at a moment's notice, whatever its sockets, threads and
libraries are doing; and because litellm takes seconds to import and prints, logs and caches as it likes. It is run as a
script and imports nothing of this package: one JSON object a line on stdin and stdout, the first one says which model.
When stdin ends, so does it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BODY = 8_000_000
"""Bytes of one HTTP answer that are read; an answer of 8,000 tokens has about 40,000."""
MAX_PACKED = 200_000
"""The same for an answer that came compressed although none was asked for: a thousandfold is the most deflate packs."""
MAX_TEXT = 1_000_000
"""Characters of the model's words that are handed on."""
RETRIES = 3
"""Further attempts after too many requests, a server's error or a lost connection, within the time limit."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the first further attempt, doubled each time unless the server names a time; and at most."""
PASSING = frozenset(
    ("RateLimitError", "InternalServerError", "ServiceUnavailableError", "BadGatewayError", "APIConnectionError")
)
"""litellm's errors that may be gone at the next attempt."""
REFUSING = frozenset(
    ("BadRequestError", "UnprocessableEntityError", "UnsupportedParamsError", "JSONSchemaValidationError")
)
"""litellm's errors of a provider that does not know one of the options; the next rung of the ladder leaves it out."""
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "CRITICAL",
    "LITELLM_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""Without these litellm fetches a price list and reads the ``.env`` of the current folder."""


class RefusedError(Exception):
    """An answer that is not taken, whatever the library would make of it."""


class Guard:
    """What every HTTP exchange of this process passes: no redirects, no endless bodies."""

    def __init__(self) -> None:
        self.refused = ""

    def install(self) -> None:
        """Stand before the transport that every client of httpx uses."""
        import httpx

        guard, send = self, httpx.HTTPTransport.handle_request

        class Counted(httpx.SyncByteStream):
            """A body that ends at the limit."""

            def __init__(self, stream: Any, limit: int) -> None:
                self.stream, self.left = stream, limit

            def __iter__(self) -> Iterator[bytes]:
                for piece in self.stream:
                    self.left -= len(piece)
                    if self.left < 0:
                        raise guard.refuse("its answer is far too long")
                    yield piece

            def close(self) -> None:
                self.stream.close()

        def handle_request(transport: Any, request: Any) -> Any:
            request.headers["accept-encoding"] = "identity"
            response = send(transport, request)
            if 300 <= response.status_code < 400:
                place = response.headers.get("location", "")
                response.close()
                raise guard.refuse(f"{request.url} redirects to {place}, and nothing is sent on to there")
            packed = response.headers.get("content-encoding", "identity") != "identity"
            response.stream = Counted(response.stream, MAX_PACKED if packed else MAX_BODY)
            return response

        httpx.HTTPTransport.handle_request = handle_request  # type: ignore[method-assign,assignment]

    def refuse(self, why: str) -> RefusedError:
        """Remember why: the libraries wrap whatever is raised beneath them."""
        self.refused = why
        return RefusedError(why)


class Provider:
    """One model at one provider.

    Args:
        setup: ``model``, ``endpoint``, ``key``; the latter two may be empty.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        import litellm

        self.litellm = litellm
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        litellm.drop_params = True  # of what litellm itself knows that a model can't take, as a temperature
        litellm.telemetry = False
        self.guard = Guard()
        self.guard.install()
        self.rung = 0
        self.options: dict[str, Any] = {"model": setup["model"]}
        if setup["endpoint"]:
            self.options["api_base"] = setup["endpoint"]
        provider = self._provider()
        if setup["key"]:
            self.options["api_key"] = setup["key"]
        elif setup["endpoint"] and provider in ("openai", "custom_openai", "openai_like"):
            # The key of the environment belongs to OpenAI; another endpoint must not be handed it.
            self.options["api_key"] = "none"
        self.prices = self._prices(provider)

    def _provider(self) -> str:
        """The provider's name; a model that litellm does not know stands at an endpoint that speaks as OpenAI's."""
        try:
            return str(self.litellm.get_llm_provider(**{**self.options, "api_base": None})[1])
        except Exception:
            if "api_base" not in self.options:
                raise
            self.options["custom_llm_provider"] = "openai"
            return "openai"

    def _prices(self, provider: str) -> list[float] | None:
        """US dollars for a token in and a token out; None if nobody knows."""
        try:
            known = self.litellm.get_model_info(self.options["model"], custom_llm_provider=provider)
            return [float(known["input_cost_per_token"] or 0.0), float(known["output_cost_per_token"] or 0.0)]
        except Exception:
            return None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The model's words, or why there are none.

        Args:
            request: ``system``, ``user``, ``schema``, ``job``, ``max_tokens``, ``timeout`` (seconds).
        """
        end = time.monotonic() + request["timeout"]
        pause, left = FIRST_PAUSE, RETRIES
        while True:
            self.guard.refused = ""
            try:
                return self._read(self._ask(request, end - time.monotonic()))
            except Exception as error:
                if self.guard.refused:
                    return {"error": "Refused", "message": self.guard.refused}
                kind = type(error).__name__
                if kind in REFUSING and self.rung < 3:
                    self.rung += 1
                    continue
                wait = _named_pause(error, pause)
                if kind not in PASSING or not left or time.monotonic() + wait >= end:
                    return {"error": kind, "message": str(error)[:2000], "status": getattr(error, "status_code", None)}
                time.sleep(wait)
                pause, left = pause * 2, left - 1

    def _ask(self, request: dict[str, Any], timeout: float) -> Any:
        """One HTTP exchange, on the rung of the ladder that the provider was last seen to stand."""
        options = dict(self.options)
        if self.rung == 0:
            schema = {"name": request["job"], "schema": request["schema"], "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.rung == 1:
            options["response_format"] = {"type": "json_object"}
        if self.rung < 3:
            options["temperature"] = 0
        return self.litellm.completion(
            messages=[{"role": "system", "content": request["system"]}, {"role": "user", "content": request["user"]}],
            max_tokens=request["max_tokens"],
            timeout=max(timeout, 0.1),
            max_retries=0,
            stream=False,
            **options,
        )

    def _read(self, response: Any) -> dict[str, Any]:
        """What of a response is handed on."""
        choice = response.choices[0]
        text = choice.message.content
        usage = getattr(response, "usage", None)
        return {
            "text": text[:MAX_TEXT] if isinstance(text, str) else "",
            "model": str(getattr(response, "model", None) or self.options["model"])[:200],
            "prompt_tokens": _number(getattr(usage, "prompt_tokens", 0)),
            "completion_tokens": _number(getattr(usage, "completion_tokens", 0)),
            "cut": choice.finish_reason == "length" or (isinstance(text, str) and len(text) > MAX_TEXT),
        }


def _number(value: object) -> int:
    return min(max(value, 0), 1_000_000_000) if isinstance(value, int) else 0


def _named_pause(error: Exception, pause: float) -> float:
    """Seconds to wait: as the server said, else as given."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return min(max(float(headers.get("retry-after", "")), 0.0), LONGEST_PAUSE)
    except ValueError:
        return min(pause, LONGEST_PAUSE)


def serve(lines: Iterator[str], out: IO[str]) -> None:
    """Answer each line of input by a line of output."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in lines:
            waiting.put(line)
        os._exit(0)  # whoever asked is gone, also in the middle of an answer

    def say(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    threading.Thread(target=listen, daemon=True).start()
    try:
        provider = Provider(json.loads(waiting.get()))
    except Exception as error:
        say({"error": type(error).__name__, "message": str(error)[:2000]})
        return
    say({"ready": True, "prices": provider.prices})
    while True:
        say(provider.answer(json.loads(waiting.get())))


def main() -> None:
    """Keep stdout for the answers: whatever libraries print goes nowhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends this process
    os.environ.update(ENVIRONMENT)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(iter(sys.stdin), out)
    os._exit(0)


if __name__ == "__main__":
    main()
