"""The tools over the Model Context Protocol, on stdin and stdout. Only this module imports the official SDK.

The SDK serves clients of both kinds: those that begin with ``initialize`` (2024-11-05 to 2025-11-25), and those of
2026-07-28, whose every request holds its version. The frames are read here: the SDK's own reader skips a line that is
not a message, so that its sender would wait for an answer forever, and it reads lines of any length.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import sys
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import mcp_types as types
import pydantic_core
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc
from mcp_types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from tars_memory import __version__, errors
from tars_memory.doors.cli.output import PROGRAM
from tars_memory.doors.tools import BY_NAME, INSTRUCTIONS, TOOLS, Tools, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp.server.context import ServerRequestContext

    from tars_memory.memory import Memory

LONGEST_MESSAGE = 1_000_000
"""Maximum size of a message in bytes; the longest text that a tool takes is a hundredth of it."""

LAST_ANSWERS = 60.0
"""Seconds to wait for the answers of open requests once the client has closed its end."""

GARBAGE = (700, 10, 10)
"""Thresholds of the garbage collector, Python's defaults: a command turns it off, but a server runs for days."""


def serve(open_memory: Callable[[Mapping[str, str]], Memory], failed: Callable[[Exception], None]) -> None:
    """Answer requests until the client closes its end.

    Args:
        open_memory: as in :class:`Tools`.
        failed: receives an unexpected exception of a tool; the client gets one sentence.
    """
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    with _wire() as (source, sink):
        asyncio.run(_serve(server(Tools(open_memory), failed), source, sink))


def server(tools: Tools, failed: Callable[[Exception], None]) -> Server[Any]:
    """Return the SDK's server of these tools."""

    async def list_tools(_ctx: ServerRequestContext[Any], _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed())

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in BY_NAME:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:80]!r}; the tools are {', '.join(BY_NAME)}")
        client = ctx.session.client_params
        try:
            answer = tools.call(params.name, params.arguments or {}, client.client_info.name if client else "")
        except errors.TarsError as error:
            return _result(explained(error), is_error=True)
        except Exception as error:
            failed(error)
            return _result(f"{params.name} failed: {type(error).__name__}; what failed is on stderr", is_error=True)
        return _result(json.dumps(answer, ensure_ascii=False), answer)

    return Server(
        PROGRAM, version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def listed() -> list[types.Tool]:
    """Return the tools as the protocol lists them."""
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=not tool.writes,
                destructive_hint=False,
                idempotent_hint=not tool.writes,
                open_world_hint=False,
            ),
        )
        for tool in TOOLS
    ]


def _result(text: str, structured: Any = None, *, is_error: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=is_error)


# --- the wire


@contextlib.contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the streams from and to the client; anything else that is printed meanwhile goes to stderr."""
    sys.stdout.flush()
    sink, saved = sys.stdout.buffer, -1
    try:
        if sys.stdout.fileno() == 1:
            saved = os.dup(1)
            sink = os.fdopen(os.dup(1), "wb")
            os.dup2(2, 1)
    except (OSError, ValueError):
        pass  # stdout is not a file, as in a test
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        yield sys.stdin.buffer, sink
    finally:
        sys.stdout = stdout
        if saved >= 0:
            os.dup2(saved, 1)
            os.close(saved)
            with contextlib.suppress(OSError):
                sink.close()


def _lines(source: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines that are not blank; None for one that is too long, which is skipped."""
    while part := source.readline(LONGEST_MESSAGE + 1):
        if len(part) > LONGEST_MESSAGE and not part.endswith(b"\n"):
            while part and not part.endswith(b"\n"):
                part = source.readline(LONGEST_MESSAGE)
            yield None
        elif part.strip():
            yield part


def _message(line: bytes | None) -> jsonrpc.JSONRPCMessage | None:
    """Parse a line; return an error to send back if it is not a message, and None for an error of the client's."""
    if line is None:
        return _error(INVALID_REQUEST, f"the message is longer than {LONGEST_MESSAGE:,} bytes: send a shorter one")
    try:
        message = _parsed(line)
    except ValueError as error:
        return _error(PARSE_ERROR, f"this line is not JSON ({str(error)[:80]}): send one message per line, in UTF-8")
    if not isinstance(message, dict):
        return _error(INVALID_REQUEST, "the message is not an object: send each message on its own line")
    has_valid_id = type(message.get("id")) in (int, str)
    if "id" in message and not has_valid_id and "method" in message:
        return _error(INVALID_REQUEST, "the request's id is neither a string nor an integer")
    try:
        found = jsonrpc.jsonrpc_message_adapter.validate_python(message, by_name=False)
        return None if isinstance(found, jsonrpc.JSONRPCError) else found  # it answers a request, and we send none
    except ValidationError:
        return _error(
            INVALID_REQUEST,
            'the message is not JSON-RPC 2.0: it takes "jsonrpc", "id", "method", "params"',
            message["id"] if has_valid_id else None,
        )


def _parsed(line: bytes) -> Any:
    """Parse a line of JSON that may hold lone surrogates, since some clients cut a character in two at a text's end.

    A search accepts such a text; a write refuses it with a message.

    Raises:
        ValueError: the line is not JSON, or its request could not be answered by its id.
    """
    try:
        return pydantic_core.from_json(line)
    except ValueError as error:
        try:
            message = json.loads(line.decode())
            json.dumps({**message, "params": None}, ensure_ascii=False).encode()  # an answer must be able to repeat it
        except (ValueError, TypeError, RecursionError):
            raise error from None
        return message


def _error(code: int, message: str, request_id: int | str | None = None) -> jsonrpc.JSONRPCError:
    return jsonrpc.JSONRPCError(jsonrpc="2.0", id=request_id, error=jsonrpc.ErrorData(code=code, message=message))


class _OpenRequests:
    """The requests that are not answered yet. Once the client has closed its end, they are still answered."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()

    def received(self, message: jsonrpc.JSONRPCMessage) -> None:
        """Note a request from the client, or drop one that it cancels."""
        if isinstance(message, jsonrpc.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, jsonrpc.JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")  # of any kind: the SDK has not checked it yet
            self._ids = {each for each in self._ids if each != cancelled}

    def sent(self, message: jsonrpc.JSONRPCMessage) -> None:
        """Drop the request that a message to the client answers."""
        if isinstance(message, jsonrpc.JSONRPCResponse | jsonrpc.JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)

    async def answered(self) -> None:
        """Wait until all are answered, for :data:`LAST_ANSWERS` at most."""
        with anyio.move_on_after(LAST_ANSWERS):
            while self._ids:
                await anyio.sleep(0.005)


async def _serve(serving: Server[Any], source: BinaryIO, sink: BinaryIO) -> None:
    """Pass messages to the server and its answers to the client."""
    loop = asyncio.get_running_loop()
    open_requests = _OpenRequests()
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](0)
    refused = outgoing.clone()

    async def hand_over(line: bytes | None) -> None:
        message = _message(line)
        if isinstance(message, jsonrpc.JSONRPCError):
            await refused.send(SessionMessage(message))
        elif message is not None:
            open_requests.received(message)
            await into.send(SessionMessage(message))

    async def close() -> None:
        await open_requests.answered()
        await into.aclose()
        await refused.aclose()

    def read() -> None:
        """Read the client's lines, in a thread that must not keep the process alive: reading can't be interrupted."""
        with contextlib.suppress(*GONE):
            for line in _lines(source):
                asyncio.run_coroutine_threadsafe(hand_over(line), loop).result()
            asyncio.run_coroutine_threadsafe(close(), loop).result()

    async def write() -> None:
        async with answers:
            async for answer in answers:
                try:
                    sink.write(answer.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    sink.flush()
                except OSError:  # nobody listens any more
                    group.cancel_scope.cancel()
                    return
                open_requests.sent(answer.message)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await serving.run(incoming, outgoing, serving.create_initialization_options())
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the SDK was passing on a message when it was ended
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError  # Ctrl-C


GONE = (CancelledError, RuntimeError, OSError, ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""Exceptions in the reading thread if the server has ended meanwhile."""
