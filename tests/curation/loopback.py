"""An OpenAI-compatible server on the loopback interface that answers as it is told, over real HTTP.

with Loopback([good('{"facts": []}'), error(500)]) as server:
    settings = server.env()  # TARS_MEMORY_LLM_… that lead there
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Answer = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer. ``body`` is the request's JSON."""

    protocol_version = "HTTP/1.1"
    server: Server
    body: dict[str, Any]

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.body = json.loads(data)
        self.server.requests.append(Request(self.path, dict(self.headers.items()), data, self.body))
        answers = self.server.answers
        answer = answers if callable(answers) else answers[min(len(self.server.requests), len(answers)) - 1]
        try:
            answer(self)
        except OSError:
            self.close_connection = True  # whoever asked has given up

    def do_GET(self) -> None:
        self.server.requests.append(Request(self.path, dict(self.headers.items()), b"", {}))
        self.send(404, b"{}")

    def send(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


class Request:
    """What arrived, and when (seconds, monotonic)."""

    def __init__(self, path: str, headers: dict[str, str], data: bytes, body: dict[str, Any]) -> None:
        self.path, self.headers, self.data, self.body = path, headers, data, body
        self.time = time.monotonic()

    @property
    def user(self) -> str:
        """The material that was sent."""
        return str(self.body["messages"][-1]["content"])


class Server(ThreadingHTTPServer):
    daemon_threads = True
    answers: Sequence[Answer] | Answer
    requests: list[Request]
    over: Event

    def handle_error(self, *about: object) -> None:
        """Whoever asked has hung up; that is no news."""


class Loopback:
    """The server; ``answers`` in order, the last one again and again, or one function of the exchange.

    Attributes:
        requests: all that arrived, in order.
        url: its address, with ``/v1``.
    """

    def __init__(self, answers: Sequence[Answer] | Answer) -> None:
        self._server = Server(("127.0.0.1", 0), Exchange)
        self._server.answers = answers
        self._server.requests = []
        self._server.over = Event()
        self.requests = self._server.requests
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Loopback:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.over.set()
        self._server.shutdown()
        self._server.server_close()

    def says(self, answers: Sequence[Answer] | Answer) -> None:
        """From now on it answers so, and has heard nothing yet."""
        self.requests.clear()
        self._server.answers = answers

    def env(self, **settings: object) -> dict[str, str]:
        """The variables that make a command ask this server; ``timeout=2`` and the like are further settings."""
        values: dict[str, object] = {"model": "openai/scripted", "endpoint": self.url, "timeout": 300, **settings}
        return {f"TARS_MEMORY_LLM_{name.upper()}": str(value) for name, value in values.items()}


def completion(text: object, *, finish: str = "stop", **usage: Any) -> bytes:
    """The body of a chat completion."""
    counted = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **usage}
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "scripted-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": counted,
        }
    ).encode()


def good(text: object, **more: Any) -> Answer:
    """A proper answer with these words."""
    data = completion(text, **more)
    return lambda exchange: exchange.send(200, data)


def made(words: Callable[[dict[str, Any]], str]) -> Answer:
    """A proper answer that a function makes of the request's JSON."""
    return lambda exchange: exchange.send(200, completion(words(exchange.body)))


def error(status: int, message: str = "it is so", **headers: str) -> Answer:
    """An error as OpenAI words it."""
    data = json.dumps({"error": {"message": message, "type": "error", "code": None, "param": None}}).encode()
    return lambda exchange: exchange.send(status, data, **headers)


def refusing(*formats: str, then: str) -> Answer:
    """A provider that refuses these ``response_format`` types with 400, or a ``temperature``."""

    def answer(exchange: Exchange) -> None:
        asked = exchange.body.get("response_format", {}).get("type", "")
        if asked in formats or ("temperature" in formats and "temperature" in exchange.body):
            error(400, f"'response_format' of type '{asked}' is not supported")(exchange)
        else:
            good(then)(exchange)

    return answer


def raw(data: bytes, status: int = 200, kind: str = "text/html", **headers: str) -> Answer:
    """Any bytes at all."""
    return lambda exchange: exchange.send(status, data, kind, **headers)


def hang(exchange: Exchange) -> None:
    """Nothing, until the test is over."""
    exchange.server.over.wait(600)


def drip(exchange: Exchange) -> None:
    """A proper beginning, then a blank ten times a second, until the test is over."""
    exchange.send_response(200)
    exchange.send_header("content-type", "application/json")
    exchange.send_header("transfer-encoding", "chunked")
    exchange.end_headers()
    while not exchange.server.over.is_set():
        exchange.wfile.write(b"1\r\n \r\n")
        exchange.wfile.flush()
        time.sleep(0.1)


def flood(exchange: Exchange) -> None:
    """Blanks as fast as they are taken, without end."""
    exchange.send_response(200)
    exchange.send_header("content-type", "application/json")
    exchange.send_header("transfer-encoding", "chunked")
    exchange.end_headers()
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not exchange.server.over.is_set():
        exchange.wfile.write(piece)


def cut(exchange: Exchange) -> None:
    """Half an answer, then the connection is gone."""
    data = completion('{"facts": []}')
    exchange.send_response(200)
    exchange.send_header("content-type", "application/json")
    exchange.send_header("content-length", str(len(data)))
    exchange.end_headers()
    exchange.wfile.write(data[: len(data) // 2])
    exchange.close_connection = True


def slam(exchange: Exchange) -> None:
    """The connection is gone at once."""
    exchange.close_connection = True
    exchange.connection.close()


def redirect(to: str, status: int = 307) -> Answer:
    """The answer is elsewhere, it says."""
    return lambda exchange: exchange.send(status, b"", location=to)


def packed(blanks: int) -> Answer:
    """So many of them, compressed, though nobody asked for it."""
    return lambda exchange: exchange.send(200, gzip.compress(b" " * blanks, 1), content_encoding="gzip")


def lengthy(words: int) -> Answer:
    """A proper answer of so many of them."""
    return lambda exchange: exchange.send(200, completion("I prefer tea. " * words))
