"""One object that holds a whole conversation: chat messages, a response dump, ChatGPT's and Claude's exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import chatgpt, claude, messages
from tars_memory.capture.transcripts.draft import Draft
from tars_memory.capture.transcripts.fields import IDS, TITLES, clean, first, ident, name, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.capture.turns import Transcript

CHAT = "chat"
"""Name of the shape: messages with a role and a content."""

HOLDERS = ("messages", "conversation", "conversations", "turns", "history", "chat", "dialog", "dialogue", "items")
"""Where an object keeps the messages of its conversation."""
WRAPPERS = ("request", "body", "kwargs", "data", "conversation", "chat", "response", "result")
"""Where a log of calls keeps what was sent and what came back."""
LISTS = ("conversations", "chats", "sessions", "threads", "data", "items", "results")
"""Where an export keeps several conversations."""


def is_exchange(value: object) -> bool:
    """Whether an object is one question with its answer, as ``llm logs --json`` writes it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("prompt"), str)
        and isinstance(value.get("response", value.get("completion")), str)
    )


def add_exchange(draft: Draft, value: Mapping[str, Any]) -> None:
    """Add both sides of :func:`is_exchange`."""
    when = time_of(value)
    for speaks, key in (("system", "system"), ("user", "prompt")):
        said = value.get(key)
        if isinstance(said, str) and not (speaks == "system" and any(turn.text == clean(said) for turn in draft.turns)):
            draft.say("system" if speaks == "system" else "user", said, time=when)
    draft.say("assistant", value.get("response") or value.get("completion") or "", time=when)


def key_of(value: Mapping[str, Any]) -> str:
    """The conversation that a single message says it is of; empty if it says nothing."""
    return ident(value, IDS[:-2])


def transcript(value: object, source: str) -> Transcript | None:
    """The conversation that an object or a list of messages is; None if it is none."""
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("mapping"), dict):
        return chatgpt.draft(value).done(source, chatgpt.FORMAT)
    if isinstance(value.get("chat_messages"), list):
        return claude.draft(value).done(source, claude.FORMAT)
    found = Draft(ident(value), name(first(value, TITLES)), time_of(value))
    _messages(found, value, 0)
    return found.done(source, CHAT)


def several(value: object) -> list[Any]:
    """The conversations of an object that holds a list of them; else the object alone."""
    if isinstance(value, dict):
        for key in LISTS:
            inner = value.get(key)
            if isinstance(inner, list) and any(_is_conversation(item) for item in inner[:20]):
                return inner
    if isinstance(value, list) and any(_is_conversation(item) for item in value[:20]):
        return value
    return [value]


def _is_conversation(value: object) -> bool:
    """Whether an object holds messages itself."""
    if not isinstance(value, dict) or messages.is_message(value):
        return isinstance(value, list) and any(messages.is_message(item) for item in value[:20])
    return any(isinstance(value.get(key), list) for key in ("chat_messages", *HOLDERS)) or isinstance(
        value.get("mapping"), dict
    )


def _messages(draft: Draft, value: Mapping[str, Any], depth: int) -> None:
    """Add what an object holds: what was sent, then what came back."""
    system = value.get("system")
    if isinstance(system, (str, list)) and "messages" in value:
        draft.say("system", messages.content(system).text)
    if "output" in value and isinstance(value.get("input"), str):
        draft.say("user", value["input"], time=time_of(value))
    for key in ("input", *HOLDERS, "contents"):
        held = value.get(key)
        if isinstance(held, list):
            _list(draft, held)
    if is_exchange(value):
        add_exchange(draft, value)
    if depth < 2:
        for key in WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, dict):
                _messages(draft, inner, depth + 1)
    _came_back(draft, value)


def _list(draft: Draft, held: list[Any]) -> None:
    for message in held:
        if isinstance(message, dict) and isinstance(message.get("message"), dict) and messages.who(message) is None:
            messages.add(draft, message["message"], time=time_of(message))
        elif messages.is_message(message):
            messages.add(draft, message)
        elif is_exchange(message):
            add_exchange(draft, message)


def _came_back(draft: Draft, value: Mapping[str, Any]) -> None:
    """Add the answer of a response dump: the first choice, the message, or the output items."""
    when = time_of(value)
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        held = choices[0].get("message")
        if isinstance(held, dict):
            messages.add(draft, {"role": "assistant", **held}, time=when)
        elif isinstance(choices[0].get("text"), str):
            draft.say("assistant", choices[0]["text"], time=when)
    output = value.get("output")
    if isinstance(output, list):
        _list(draft, output)
    candidates = value.get("candidates")
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
        held = candidates[0].get("content")
        if isinstance(held, dict):
            messages.add(draft, {"role": "model", **held}, time=when)
    single = value.get("message")
    if isinstance(single, dict) and messages.is_message(single):
        messages.add(draft, single, time=when)
    elif value.get("type") == "message" and messages.is_message(value):
        messages.add(draft, value, time=when)
