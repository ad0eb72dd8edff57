"""The same conversation in the shape of each log that can be read."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

START = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


class Said(NamedTuple):
    """One message: ``role`` is user, assistant, system or tool; ``tools`` are called after the words."""

    role: str
    text: str
    time: datetime | None = None
    tools: tuple[str, ...] = ()


def talk(count: int, *, start: datetime | None = START, topic: str = "turn") -> list[Said]:
    """So many messages, the person's and the model's in turn, a minute apart, each with words of its own."""
    return [
        Said(
            "user" if number % 2 else "assistant",
            f"{topic} {number} says something about matter {number * 7919 % 1000}.",
            start + timedelta(minutes=number) if start else None,
        )
        for number in range(1, count + 1)
    ]


def _iso(time: datetime | None) -> str | None:
    return time.isoformat().replace("+00:00", "Z") if time else None


def _id(*parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


def dumps(value: object, **more: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **more).encode("utf-8", "surrogatepass")


def message(said: Said, number: int = 0) -> dict[str, Any]:
    """One message in OpenAI's shape."""
    made: dict[str, Any] = {"role": said.role, "content": said.text}
    if said.time:
        made["timestamp"] = _iso(said.time)
    if said.tools:
        made["tool_calls"] = [
            {"id": _id(number, name), "type": "function", "function": {"name": name, "arguments": "{}"}}
            for name in said.tools
        ]
    if said.role == "tool":
        made["tool_call_id"] = "call"
    return made


def chat_jsonl(said: Sequence[Said], **_: Any) -> bytes:
    """One message a line."""
    return b"".join(dumps(message(one, number)) + b"\n" for number, one in enumerate(said))


def chat_parts(said: Sequence[Said], **_: Any) -> bytes:
    """One message a line, its content in parts, with a picture."""
    lines = []
    for number, one in enumerate(said):
        made = message(one, number)
        made["content"] = [
            {"type": "text", "text": one.text},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]
        lines.append(dumps(made) + b"\n")
    return b"".join(lines)


def chat_list(said: Sequence[Said], **_: Any) -> bytes:
    """A JSON list of messages, for people to read."""
    return dumps([message(one, number) for number, one in enumerate(said)], indent=2)


def chat_object(said: Sequence[Said], **_: Any) -> bytes:
    """An object with a list of messages."""
    return dumps({"id": "chat-1", "messages": [message(one, number) for number, one in enumerate(said)]}, indent=1)


def response_dump(said: Sequence[Said], **_: Any) -> bytes:
    """What was sent and what came back, as a proxy logs it: the last message is the answer."""
    *sent, last = said
    return dumps(
        {
            "request": {"model": "m", "messages": [message(one, number) for number, one in enumerate(sent)]},
            "response": {
                "id": "chatcmpl-1",
                "created": int(last.time.timestamp()) if last.time else 0,
                "choices": [{"index": 0, "message": {"role": last.role, "content": last.text}}],
            },
        }
    )


def claude_code(said: Sequence[Said], session: str = "84a7e050-4ff6-4264-865b-baf9d561bba3", **_: Any) -> bytes:
    """A session file of Claude Code, with records of other kinds between."""
    lines: list[dict[str, Any]] = [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
        {"type": "summary", "summary": "A session of somebody else", "leafUuid": _id("other")},
    ]
    parent = None
    for number, one in enumerate(said):
        base = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/anna/code",
            "sessionId": session,
            "version": "2.1.12",
            "uuid": _id(session, number),
            "timestamp": _iso(one.time),
        }
        parent = base["uuid"]
        if one.role == "user":
            lines.append({**base, "type": "user", "message": {"role": "user", "content": one.text}})
        elif one.role == "tool":
            part = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": one.text}]}
            lines.append({**base, "type": "user", "message": {"role": "user", "content": [part]}})
        elif one.role == "system":
            lines.append({**base, "type": "user", "isMeta": True, "message": {"role": "user", "content": one.text}})
        else:
            lines += _answer(base, one, session, number)
    return b"".join(dumps(line) + b"\n" for line in lines)


def _answer(base: dict[str, Any], one: Said, session: str, number: int) -> list[dict[str, Any]]:
    """Claude Code writes each part of an answer as a record of its own."""
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hidden thoughts", "signature": "x"},
        {"type": "text", "text": one.text},
        *({"type": "tool_use", "id": f"toolu_{index + 1}", "name": name, "input": {}}
          for index, name in enumerate(one.tools)),
    ]  # fmt: skip
    made = []
    for index, block in enumerate(blocks):
        own = base["uuid"] if index == len(blocks) - 1 else _id(session, number, index)
        inner = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude", "content": [block]}
        made.append({**base, "uuid": own, "type": "assistant", "message": inner, "requestId": "r"})
    return made


def codex(said: Sequence[Said], **_: Any) -> bytes:
    """A session file of Codex."""
    lines: list[dict[str, Any]] = [
        {"timestamp": _iso(START), "type": "session_meta", "payload": {"id": "codex-1", "timestamp": _iso(START)}}
    ]
    for number, one in enumerate(said):
        kind = "output_text" if one.role == "assistant" else "input_text"
        payload: dict[str, Any] = {
            "type": "message",
            "role": one.role,
            "content": [{"type": kind, "text": one.text}],
        }
        if one.role == "tool":
            payload = {"type": "function_call_output", "call_id": "c", "output": one.text}
        lines.append({"timestamp": _iso(one.time), "type": "response_item", "payload": payload})
        lines.append({"timestamp": _iso(one.time), "type": "event_msg", "payload": {"type": "token_count"}})
        for name in one.tools:
            call = {"type": "function_call", "name": name, "call_id": f"c{number}", "arguments": "{}"}
            lines.append({"timestamp": _iso(one.time), "type": "response_item", "payload": call})
    return b"".join(dumps(line) + b"\n" for line in lines)


def chatgpt_conversation(said: Sequence[Said], name: str = "chatgpt-1", title: str = "A talk") -> dict[str, Any]:
    """One conversation of ChatGPT's export; every message of the person has a branch that was edited away."""
    mapping: dict[str, Any] = {f"{name}-root": {"id": f"{name}-root", "message": None, "parent": None, "children": []}}
    parent = f"{name}-root"
    for number, one in enumerate(said):
        node = f"{name}-{number}"
        if one.role == "user":
            mapping[f"{node}-away"] = _node(f"{node}-away", parent, one._replace(text=f"edited away {number}"))
            mapping[parent]["children"].append(f"{node}-away")
        mapping[node] = _node(node, parent, one)
        mapping[parent]["children"].append(node)
        parent = node
        for tool in one.tools:
            call = _node(f"{node}-{tool}", parent, one._replace(text='{"query": "x"}'))
            call["message"]["recipient"] = tool
            call["message"]["content"] = {"content_type": "code", "text": '{"query": "x"}'}
            mapping[f"{node}-{tool}"] = call
            mapping[parent]["children"].append(f"{node}-{tool}")
            parent = f"{node}-{tool}"
    start = next((one.time for one in said if one.time), None)
    return {
        "title": title,
        "create_time": start.timestamp() if start else None,
        "update_time": None,
        "mapping": mapping,
        "current_node": parent,
        "conversation_id": name,
        "id": name,
    }


def _node(node: str, parent: str, one: Said) -> dict[str, Any]:
    made = {
        "id": node,
        "author": {"role": one.role, "name": None, "metadata": {}},
        "create_time": one.time.timestamp() if one.time else None,
        "content": {"content_type": "text", "parts": [one.text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }
    return {"id": node, "message": made, "parent": parent, "children": []}


def chatgpt(said: Sequence[Said], **_: Any) -> bytes:
    """ChatGPT's ``conversations.json`` with one conversation."""
    return dumps([chatgpt_conversation(said)])


def claude_conversation(said: Sequence[Said], name: str = "claude-1", title: str = "A talk") -> dict[str, Any]:
    """One conversation of Claude's export."""
    messages = []
    for number, one in enumerate(said):
        content: list[dict[str, Any]] = [{"type": "text", "text": one.text}]
        content += [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": {}} for tool in one.tools]
        messages.append(
            {
                "uuid": _id(name, number),
                "text": one.text,
                "content": content,
                "sender": "human" if one.role == "user" else one.role,
                "created_at": _iso(one.time),
                "attachments": [],
                "files": [],
            }
        )
    start = next((one.time for one in said if one.time), None)
    return {"uuid": name, "name": title, "created_at": _iso(start), "account": {"uuid": "a"}, "chat_messages": messages}


def claude(said: Sequence[Said], **_: Any) -> bytes:
    """Claude's ``conversations.json`` with one conversation."""
    return dumps([claude_conversation(said)])


def bold(said: Sequence[Said], **_: Any) -> bytes:
    """Markdown with names in bold."""
    names = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
    return "\n\n".join(f"**{names[one.role]}:** {one.text}" for one in said).encode() + b"\n"


def plain(said: Sequence[Said], **_: Any) -> bytes:
    """Text with names."""
    return "\n".join(f"{one.role.capitalize()}: {one.text}" for one in said).encode() + b"\n"


def stamped(said: Sequence[Said], **_: Any) -> bytes:
    """Text with day, time and name."""
    zone = [one.time.astimezone() if one.time else None for one in said]
    return "".join(
        f"[{time:%Y-%m-%d %H:%M}] {one.role.capitalize()}: {one.text}\n" if time else f"{one.role.capitalize()}: x\n"
        for time, one in zip(zone, said, strict=True)
    ).encode()


def headings(said: Sequence[Said], **_: Any) -> bytes:
    """Markdown with a heading for each turn."""
    return "\n\n".join(f"## {one.role.capitalize()}\n\n{one.text}" for one in said).encode() + b"\n"


def quotes(said: Sequence[Said], **_: Any) -> bytes:
    """Markdown with each turn in a quote."""
    return "\n\n".join(
        "\n".join(f"> {line}" for line in f"**{one.role.capitalize()}:** {one.text}".split("\n")) for one in said
    ).encode()


Builder = Callable[..., bytes]

FORMATS: dict[str, tuple[str, Builder]] = {
    "chat-jsonl": ("chat", chat_jsonl),
    "chat-parts": ("chat", chat_parts),
    "chat-list": ("chat", chat_list),
    "chat-object": ("chat", chat_object),
    "response-dump": ("chat", response_dump),
    "claude-code": ("claude-code", claude_code),
    "codex": ("codex", codex),
    "chatgpt": ("chatgpt", chatgpt),
    "claude": ("claude", claude),
    "bold": ("text", bold),
    "plain": ("text", plain),
    "stamped": ("text", stamped),
    "headings": ("text", headings),
    "quotes": ("text", quotes),
}
"""What each builder makes is read as the format named beside it."""


def zipped(files: dict[str, bytes]) -> bytes:
    """An archive of files, as an export comes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            # A fixed time: the clock of a test run must not show in names of tests.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return held.getvalue()
