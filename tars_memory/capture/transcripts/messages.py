"""One message of the shape that OpenAI's, Anthropic's and Google's interfaces share, as turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.capture.transcripts.fields import first, name, role, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tars_memory.capture.transcripts.draft import Draft

MAX_DEPTH = 6
"""Content within content; real logs have a tool's result within a message's part, which is two."""

CONTENTS = ("content", "parts", "text", "value")
ROLE_KEYS = ("role", "from", "sender", "author")

_SAID = frozenset({"text", "input_text", "output_text", "markdown", "audio_transcription"})
_CALLED = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "tool-call", "tool_call", "toolCall"}
)
_RESULT = frozenset(
    {"tool_result", "tool-result", "function_call_output", "function_response", "web_search_tool_result",
     "mcp_tool_result"}
)  # fmt: skip


class Content(NamedTuple):
    """What a message holds: what is said, the tools called (name, id) and what tools gave back (text, id)."""

    said: list[str]
    called: list[tuple[object, object]]
    results: list[tuple[str, object]]

    @property
    def text(self) -> str:
        """All that is said, part by part."""
        return "\n\n".join(part for part in self.said if part.strip())


def is_message(value: object) -> bool:
    """Whether an object is one message: somebody says or calls something."""
    if not isinstance(value, dict):
        return False
    if value.get("type") in ("function_call", "function_call_output"):
        return True
    return who(value) is not None and any(key in value for key in (*CONTENTS, "tool_calls", "function_call"))


def who(message: Mapping[str, Any]) -> str | None:
    """The message's own word for who speaks, if it is a role."""
    for key in ROLE_KEYS:
        said = message.get(key)
        if isinstance(said, dict):
            said = said.get("role")
        if role(said):
            return str(said)
    return None


def add(draft: Draft, message: Mapping[str, Any], *, time: datetime | None = None) -> None:
    """Add the turns of one message: what tools gave back first, then what is said."""
    when = time_of(message) or time
    if message.get("type") == "function_call":
        draft.call(message.get("name"), message.get("call_id"))
        return
    if message.get("type") == "function_call_output":
        text = content(message.get("output")).text
        draft.say("tool", text, speaker=draft.called(message.get("call_id")), time=when)
        return
    speaks = role(who(message))
    if speaks is None:
        return
    held = content(first(message, CONTENTS))
    for text, call in held.results:
        draft.say("tool", text, speaker=draft.called(call), time=when)
    speaker = name(message.get("name"))
    if speaks == "tool":
        speaker = speaker or draft.called(message.get("tool_call_id") or message.get("toolCallId"))
    draft.say(speaks, held.said, speaker=speaker, time=when)
    for tool, call in (*held.called, *_calls(message)):
        draft.call(tool, call)


def _calls(message: Mapping[str, Any]) -> list[tuple[object, object]]:
    """The calls beside a message's content."""
    found: list[tuple[object, object]] = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            function = call.get("function")
            found.append(((function if isinstance(function, dict) else call).get("name"), call.get("id")))
    function = message.get("function_call")
    if isinstance(function, dict):
        found.append((function.get("name"), None))
    return found


def content(value: object) -> Content:
    """What a message's content holds, whatever its shape; thoughts and media are left out."""
    held = Content([], [], [])
    _collect(value, held, 0)
    return held


def _collect(value: object, held: Content, depth: int) -> None:
    if isinstance(value, str):
        held.said.append(value)
    elif depth < MAX_DEPTH and isinstance(value, list):
        for part in value:
            _collect(part, held, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, dict):
        _part(value, held, depth)


def _part(part: Mapping[str, Any], held: Content, depth: int) -> None:
    kind = part.get("type") or part.get("content_type")
    kind = kind if isinstance(kind, str) else None
    call = part.get("functionCall") or part.get("toolInvocation")
    response = part.get("functionResponse")
    if kind in _CALLED:
        held.called.append((part.get("name") or part.get("toolName"), part.get("id") or part.get("toolCallId")))
    elif isinstance(call, dict):
        held.called.append((call.get("name") or call.get("toolName"), call.get("toolCallId")))
    elif kind in _RESULT or isinstance(response, dict):
        inner = Content([], [], [])
        _collect(first(part, ("content", "output", "result")), inner, depth + 1)
        held.results.append((inner.text, part.get("tool_use_id") or part.get("toolCallId") or part.get("call_id")))
    elif kind == "refusal":
        _collect(part.get("refusal"), held, depth + 1)
    elif kind in _SAID or kind is None or kind == "multimodal_text":
        _collect(first(part, CONTENTS), held, depth + 1)
