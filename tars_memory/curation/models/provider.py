"""The process that talks to a model's provider through litellm; :mod:`tars_memory.curation.models.llm` starts it.

It is a process of its own because only a process can be ended at once, whatever its sockets, threads and libraries are
doing; and because litellm takes seconds to import, and prints, logs and caches as it likes. It runs as a script and
imports nothing of this package. It reads and writes one JSON object per line on stdin and stdout; the first one names
the model. It ends when stdin ends.
"""

import contextlib
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, Any
from urllib.parse import urlsplit

MAX_BODY = 8_000_000
"""Maximum number of bytes read of an HTTP response; an answer of 8,000 tokens has about 40,000."""
MAX_PACKED = 200_000
"""The same for a response that is compressed though we asked for none: deflate packs up to a thousandfold."""
MAX_TEXT = 1_000_000
"""Maximum number of characters of the model's words that are passed on."""
MAX_SAID = 2_000
"""Maximum number of bytes of a body, and of characters of an error, that are kept to say what went wrong."""
RETRIES = 3
"""Maximum number of retries after a temporary status or a lost connection, within the time limit."""
FIRST_PAUSE = 0.5
"""Seconds before the first retry; doubled each time unless the server names a time."""
PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
"""HTTP statuses that may be temporary."""
REFUSING = frozenset((400, 422))
"""HTTP statuses of a provider that does not know one of the options; the next rung leaves one out."""
RUNGS = 4
"""Number of rungs: ask with a JSON schema; for any JSON; without a format; and without a temperature either."""
FINAL = frozenset(("ContextWindowExceededError", "ContentPolicyViolationError"))
"""litellm's names for refusals that fewer options would not change."""
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
"""Environment without which litellm fetches a price list and reads the ``.env`` of the current folder."""

OPENAIS_OWN = ("OPENAI_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
"""Variables with a person's identity at OpenAI; no other endpoint may learn it."""


ENOUGH_OF_A_NAME = 5
"""Number of first letters by which variables belong to one provider: ``TOGETHERAI_API_KEY``, ``TOGETHER_API_KEY``."""


class RefusedError(Exception):
    """A request or response that the guard refuses."""


class Guard:
    """Guards every HTTP exchange of this process: only with the endpoint, no redirects, limited bodies.

    Args:
        endpoint: the only server to talk to; empty for the provider's own.

    Attributes:
        refused: why an exchange was refused; empty if it was not.
        status: of the last response; None if there was none.
        kind: its content type.
        head: the beginning of its body.
        lost: error of the network, instead of a response or of its rest; empty for none.
        pause: seconds that the server asks to wait; None if it does not.
    """

    def __init__(self, endpoint: str) -> None:
        self.origin = _origin(endpoint) if endpoint else None
        self.forget()

    def forget(self) -> None:
        """Reset for a new exchange."""
        self.refused = self.lost = self.kind = ""
        self.head = b""
        self.status: int | None = None
        self.pause: float | None = None

    def install(self) -> None:
        """Wrap the transport that every client of httpx uses."""
        import httpx

        guard, send = self, httpx.HTTPTransport.handle_request

        class LimitedBody(httpx.SyncByteStream):
            """A response body that is refused beyond a number of bytes."""

            def __init__(self, stream: Any, limit: int) -> None:
                self.stream, self.left = stream, limit

            def __iter__(self) -> Iterator[bytes]:
                try:
                    for piece in self.stream:
                        self.left -= len(piece)
                        if self.left < 0:
                            raise guard.refuse("its answer is far too long")
                        if len(guard.head) < MAX_SAID:
                            guard.head += piece[:MAX_SAID]
                        yield piece
                except httpx.TransportError as error:
                    guard.lost = str(error) or type(error).__name__
                    raise

            def close(self) -> None:
                self.stream.close()

        def handle_request(transport: Any, request: Any) -> Any:
            guard.forget()
            if guard.origin not in (None, _origin(str(request.url))):
                raise guard.refuse(f"{request.url} is not at llm.endpoint, and nothing is sent there")
            request.headers["accept-encoding"] = "identity"
            try:
                response = send(transport, request)
            except httpx.TransportError as error:
                guard.lost = str(error) or type(error).__name__
                raise
            guard.note(response.status_code, response.headers)
            if 300 <= response.status_code < 400:
                target = response.headers.get("location", "nowhere")
                response.close()
                raise guard.refuse(f"{request.url} redirects to {target}, and nothing is sent on to there")
            packed = response.headers.get("content-encoding", "identity") != "identity"
            response.stream = LimitedBody(response.stream, MAX_PACKED if packed else MAX_BODY)
            return response

        httpx.HTTPTransport.handle_request = handle_request  # type: ignore[method-assign,assignment]

    def note(self, status: int, headers: Any) -> None:
        """Note status and headers of a response."""
        self.status, self.kind = status, headers.get("content-type", "")
        with contextlib.suppress(ValueError):
            self.pause = max(float(headers.get("retry-after", "")), 0.0)

    def message(self) -> str:
        """Return the server's own words: the message of its error, or the beginning of its body."""
        text = self.head.decode("utf-8", "replace")
        try:
            found = json.loads(text)
            found = found.get("error", found)
            return str(found["message"] if isinstance(found, dict) else found)
        except (ValueError, LookupError, AttributeError, RecursionError):
            return text[:200]

    def refuse(self, why: str) -> RefusedError:
        """Return the error to raise, and note the reason: libraries wrap errors that are raised below them."""
        self.refused = why
        return RefusedError(why)


def _origin(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


class Provider:
    """One model at one provider.

    Args:
        setup: ``model``, ``endpoint``, ``key``; the latter two may be empty.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        if setup["endpoint"]:
            for name in OPENAIS_OWN:
                os.environ.pop(name, None)
            os.environ["OLLAMA_API_BASE"] = setup["endpoint"]  # where litellm asks what the model can do
        for name in [name for name, value in os.environ.items() if name.endswith("_API_KEY") and not value.strip()]:
            del os.environ[name]  # an empty variable, as in a service's template, counts as not set
        import litellm

        self.litellm = litellm
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        litellm.drop_params = True  # options of which litellm itself knows that the model does not take them
        litellm.telemetry = False
        self.guard = Guard(setup["endpoint"])
        self.guard.install()
        self.rung = 0
        self.options: dict[str, Any] = {"model": setup["model"]}
        if setup["endpoint"]:
            self.options["api_base"] = setup["endpoint"]
        provider = self._provider()
        if setup["key"]:
            self.options["api_key"] = setup["key"]
        elif setup["endpoint"] and provider in ("openai", "custom_openai", "openai_like"):
            self.options["api_key"] = "none"  # the library insists on a key; a local server does not
        self.prices = self._prices(provider)
        self.missing = [] if setup["key"] or setup["endpoint"] else self._missing()

    def _provider(self) -> str:
        """Return the provider's name; with an endpoint, an unknown model is taken to be OpenAI-compatible."""
        try:
            return str(self.litellm.get_llm_provider(**{**self.options, "api_base": None})[1])
        except Exception:
            if "api_base" not in self.options:
                raise
            self.options["custom_llm_provider"] = "openai"
            return "openai"

    def _missing(self) -> list[str]:
        """Return the variables for the provider's key if none is set; empty if it needs none, or one may be set."""
        try:
            names = [str(name) for name in self.litellm.validate_environment(self.options["model"])["missing_keys"]]
        except Exception:
            return []
        if not all(name.endswith("_API_KEY") for name in names):
            return []  # it needs more than a key, or offers other ways to sign in
        stems = tuple(name[:ENOUGH_OF_A_NAME] for name in names)
        others = (name for name in os.environ if name.startswith(stems) and re.search("KEY|TOKEN", name))
        return [] if any(others) else names

    def _prices(self, provider: str) -> list[float] | None:
        """Return US dollars per token in and per token out; None if they are unknown. Nothing is sent."""
        if provider.startswith("ollama"):
            return [0.0, 0.0]  # runs locally; litellm would ask it what the model can do
        try:
            known = self.litellm.get_model_info(self.options["model"], custom_llm_provider=provider)
            return [float(known["input_cost_per_token"] or 0.0), float(known["output_cost_per_token"] or 0.0)]
        except Exception:
            return None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the model's answer, or the failure.

        Args:
            request: ``system``, ``user``, ``schema``, ``job``, ``max_tokens``, ``timeout`` (seconds).
        """
        end = time.monotonic() + request["timeout"]
        pause, retries, rung = FIRST_PAUSE, RETRIES, self.rung
        while True:
            self.guard.forget()
            try:
                return self._read(self._ask(request, rung, end - time.monotonic()), rung)
            except Exception as error:
                failure = self._failure(error)
            status = self.guard.status
            if status in REFUSING and failure["error"] not in FINAL and rung + 1 < RUNGS:
                rung += 1
                continue
            wait = pause if self.guard.pause is None else self.guard.pause
            temporary = failure["error"] == "Lost" or status in PASSING
            if not temporary or not retries or time.monotonic() + wait >= end:
                return failure
            time.sleep(wait)
            pause, retries = pause * 2, retries - 1

    def _failure(self, error: Exception) -> dict[str, Any]:
        """Return what went wrong, by what the guard saw: litellm's messages and classes differ by provider."""
        guard, name = self.guard, type(error).__name__
        if guard.refused:
            return {"error": "Refused", "message": guard.refused}
        if name == "Timeout" or "timed out" in guard.lost:
            return {"error": "Timeout", "message": guard.lost}
        if guard.lost:
            return {"error": "Lost", "message": guard.lost}
        if guard.status is None:
            return {"error": name, "message": _BEFORE.sub("", str(error)[:MAX_SAID])}
        if guard.status < 300:
            message = f"it answers, but not as a language model does ({guard.kind}): {guard.message()!r}"
            return {"error": "Malformed", "message": message}
        return {"error": name if guard.status == 400 else "HTTP", "message": guard.message(), "status": guard.status}

    def _ask(self, request: dict[str, Any], rung: int, timeout: float) -> Any:
        """Make one HTTP exchange, with the options of a rung (:data:`RUNGS`)."""
        options = dict(self.options)
        if rung == 0:
            schema = {"name": request["job"], "schema": request["schema"], "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif rung == 1:
            options["response_format"] = {"type": "json_object"}
        if rung < 3:
            options["temperature"] = 0
        return self.litellm.completion(
            messages=[{"role": "system", "content": request["system"]}, {"role": "user", "content": request["user"]}],
            max_tokens=request["max_tokens"],
            timeout=max(timeout, 0.1),
            max_retries=0,
            stream=False,
            **options,
        )

    def _read(self, response: Any, rung: int) -> dict[str, Any]:
        """Return the parts of a response to pass on; the next request begins on the rung that worked."""
        choice = response.choices[0]
        text = choice.message.content
        usage = getattr(response, "usage", None)
        self.rung = rung
        return {
            "text": text[:MAX_TEXT] if isinstance(text, str) else "",
            "model": str(getattr(response, "model", None) or self.options["model"])[:200],
            "prompt_tokens": _number(getattr(usage, "prompt_tokens", 0)),
            "completion_tokens": _number(getattr(usage, "completion_tokens", 0)),
            "cut": choice.finish_reason == "length" or (isinstance(text, str) and len(text) > MAX_TEXT),
        }


def _number(value: object) -> int:
    return min(max(value, 0), 1_000_000_000) if isinstance(value, int) else 0


_BEFORE = re.compile(r"(?:\s*(?:litellm\.)?\w*(?:Error|Exception)\s*[:-]\s*(?:error - )?)+")
"""The names of errors that litellm puts before a server's message."""


def serve(lines: Iterator[str], out: IO[str]) -> None:
    """Answer each line of input with a line of output."""
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in lines:
            requests.put(line)
        os._exit(0)  # the parent is gone, perhaps in the middle of an answer

    def reply(value: dict[str, Any]) -> None:
        out.write(json.dumps(value) + "\n")
        out.flush()

    threading.Thread(target=listen, daemon=True).start()
    try:
        provider = Provider(json.loads(requests.get()))
    except Exception as error:
        reply({"error": type(error).__name__, "message": str(error)[:2000]})
        return
    reply({"ready": True, "prices": provider.prices, "missing": provider.missing})
    while True:
        reply(provider.answer(json.loads(requests.get())))


def main() -> None:
    """Serve on stdin and stdout, and discard whatever libraries print."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    os.environ.update(ENVIRONMENT)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    serve(iter(sys.stdin), out)
    os._exit(0)


if __name__ == "__main__":
    main()
