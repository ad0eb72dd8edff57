"""JSON formats of conversations. To add a format, write a reader here, and enter it in one of two tables.

:data:`EXPORTS` lists the formats in which one object holds a conversation, :data:`RECORDS` those in which one object is
a record or a message. Other objects are searched for messages with a role and a content, which the APIs of OpenAI,
Anthropic and Google have in common.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from tars_memory.capture import turns
from tars_memory.capture.turns import Draft, Transcript, name
from tars_memory.vault.model import role

CHAT = "chat"
"""Name of the generic format: messages with a role and a content."""

MAX_DEPTH = 6
"""Maximum depth of content within content; real logs have a tool's result within a part of a message, which is two."""

CONTENTS = ("content", "parts", "text", "value")
"""Keys of a message's content."""
ROLE_KEYS = ("role", "from", "sender", "author", "type")
"""Keys of a message's role; Gemini's command line and LangChain have it as the type."""

_TEXT = frozenset({"text", "input_text", "output_text", "markdown", "audio_transcription"})
"""Types of content parts with text."""
_CALL = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "tool-call", "tool_call", "toolCall"}
)
"""Types of content parts with a tool call."""
_RESULT = frozenset(
    {"tool_result", "tool-result", "function_call_output", "function_response", "web_search_tool_result",
     "mcp_tool_result"}
)  # fmt: skip
"""Types of content parts with a tool's result."""


class Content(NamedTuple):
    """The content of a message.

    Attributes:
        texts: its parts of text.
        calls: tool calls (name, id).
        results: results of tools (text, id of the call).
    """

    texts: list[str]
    calls: list[tuple[object, object]]
    results: list[tuple[str, object]]

    @property
    def text(self) -> str:
        """All parts of text, separated by blank lines."""
        return "\n\n".join(part for part in self.texts if part.strip())


def is_message(value: object) -> bool:
    """Whether an object is one message: a text or a tool call with a role, or a tool's call or result by itself."""
    if not isinstance(value, dict):
        return False
    if value.get("type") in ("function_call", "function_call_output"):
        return True
    return role_name(value) is not None and any(key in value for key in (*CONTENTS, "tool_calls", "function_call"))


def role_name(message: Mapping[str, Any]) -> str | None:
    """Return the role as the message names it; None if it names no known role."""
    for key in ROLE_KEYS:
        named = message.get(key)
        if isinstance(named, dict):
            named = named.get("role")
        if role(named):
            return str(named)
    return None


def add(draft: Draft, message: Mapping[str, Any], *, time: datetime | None = None) -> None:
    """Add the turns of one message: first the results of tools, then the text.

    Args:
        draft: the conversation.
        message: to add.
        time: when it was sent, if the message has no time of its own.
    """
    when = turns.time_of(message) or time
    if message.get("type") == "function_call":
        draft.add_call(message.get("name"), message.get("call_id"))
        return
    if message.get("type") == "function_call_output":
        text = content(message.get("output")).text
        draft.add_turn("tool", text, speaker=draft.tool_name(message.get("call_id")), time=when)
        return
    speaker_role = role(role_name(message))
    if speaker_role is None:
        return
    found = content(turns.first(message, CONTENTS))
    _add_results(draft, found, when)
    speaker = name(message.get("name"))
    if speaker_role == "tool":
        speaker = speaker or draft.tool_name(message.get("tool_call_id") or message.get("toolCallId"))
    draft.add_turn(speaker_role, found.texts, speaker=speaker, time=when)
    for tool, call in (*found.calls, *_calls(message)):
        draft.add_call(tool, call)


def _add_results(draft: Draft, found: Content, time: datetime | None) -> None:
    """Add the results of tools as turns of these tools."""
    for text, call in found.results:
        draft.add_turn("tool", text, speaker=draft.tool_name(call), time=time)


def _calls(message: Mapping[str, Any]) -> list[tuple[object, object]]:
    """Return the tool calls (name, id) that a message has outside its content."""
    calls = message.get("tool_calls")
    found: list[tuple[object, object]] = [
        ((_table(call.get("function")) or call).get("name"), call.get("id"))
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
    if function := _table(message.get("function_call")):
        found.append((function.get("name"), None))
    return found


def content(value: object) -> Content:
    """Parse a message's content in any known form; thoughts and media are left out."""
    found = Content([], [], [])
    _collect(value, found, 0)
    return found


def _collect(value: object, found: Content, depth: int) -> None:
    """Add a text, a list of parts or a part to the content found so far."""
    if isinstance(value, str):
        found.texts.append(value)
    elif depth < MAX_DEPTH and isinstance(value, list):
        for part in value:
            _collect(part, found, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, dict):
        _collect_part(value, found, depth)


def _collect_part(part: Mapping[str, Any], found: Content, depth: int) -> None:
    """Add a text, a tool call or a tool's result to the content found so far."""
    kind = part.get("type") or part.get("content_type")
    kind = kind if isinstance(kind, str) else None
    call = part.get("functionCall") or part.get("toolInvocation")
    response = part.get("functionResponse")
    if kind in _CALL:
        found.calls.append((part.get("name") or part.get("toolName"), part.get("id") or part.get("toolCallId")))
    elif isinstance(call, dict):
        found.calls.append((call.get("name") or call.get("toolName"), call.get("toolCallId")))
    elif kind in _RESULT or isinstance(response, dict):
        inner = Content([], [], [])
        _collect(turns.first(part, ("content", "output", "result")), inner, depth + 1)
        found.results.append((inner.text, part.get("tool_use_id") or part.get("toolCallId") or part.get("call_id")))
    elif kind == "refusal":
        _collect(part.get("refusal"), found, depth + 1)
    elif kind in _TEXT or kind is None or kind == "multimodal_text":
        _collect(turns.first(part, CONTENTS), found, depth + 1)


HOLDERS = ("messages", "conversation", "conversations", "turns", "history", "chat", "dialog", "dialogue", "items")
"""Keys under which an object has the messages of its conversation."""
WRAPPERS = ("request", "body", "kwargs", "data", "conversation", "chat", "response", "result")
"""Keys under which a log of API calls has the request and the response."""
LISTS = ("conversations", "chats", "sessions", "threads", "data", "items", "results")
"""Keys under which an export has several conversations."""


def is_exchange(value: object) -> bool:
    """Whether an object is a prompt with its response, as ``llm logs --json`` writes it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("prompt"), str)
        and isinstance(value.get("response", value.get("completion")), str)
    )


def add_exchange(draft: Draft, value: Mapping[str, Any]) -> None:
    """Add both sides of an exchange, as :func:`is_exchange` recognises it."""
    when = turns.time_of(value)
    system = value.get("system")
    if isinstance(system, str) and turns.clean(system) not in {turn.text for turn in draft.turns}:
        draft.add_turn("system", system, time=when)
    draft.add_turn("user", value["prompt"], time=when)
    draft.add_turn("assistant", value.get("response") or value.get("completion") or "", time=when)


def is_export(value: Mapping[str, Any]) -> bool:
    """Whether an object is a conversation of one of :data:`EXPORTS`."""
    return any(export.fits(value) for export in EXPORTS)


def transcript(value: object, source: str) -> Transcript | None:
    """Return the conversation in an object or a list of messages; None if there is none."""
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        return None
    for export in EXPORTS:
        if export.fits(value):
            return export.draft(value).transcript(source, export.format)
    found = Draft(turns.conversation_id(value), name(turns.first(value, turns.TITLES)), turns.time_of(value))
    _messages(found, value, 0)
    return found.transcript(source, CHAT)


def conversations_in(value: object) -> list[Any]:
    """Return the conversations of an object that has a list of them, or of such a list; else the value alone."""
    if isinstance(value, dict):
        for key in LISTS:
            inner = value.get(key)
            if isinstance(inner, list) and any(_is_conversation(item) for item in inner[:20]):
                return inner
    if isinstance(value, list) and any(_is_conversation(item) for item in value[:20]):
        return value
    return [value]


def _is_conversation(value: object) -> bool:
    """Whether a value is an object with messages in it, or a list of messages."""
    if not isinstance(value, dict) or is_message(value):
        return isinstance(value, list) and any(is_message(item) for item in value[:20])
    return is_export(value) or any(isinstance(value.get(key), list) for key in HOLDERS)


def _messages(draft: Draft, value: Mapping[str, Any], depth: int) -> None:
    """Add the messages of an object: the request, then the response."""
    system = value.get("system")
    if isinstance(system, (str, list)) and "messages" in value:
        draft.add_turn("system", content(system).text)
    if "output" in value and isinstance(value.get("input"), str):
        draft.add_turn("user", value["input"], time=turns.time_of(value))
    for key in ("input", *HOLDERS, "contents"):
        messages = value.get(key)
        if isinstance(messages, list):
            _add_list(draft, messages)
    if is_exchange(value):
        add_exchange(draft, value)
    if depth < 2:
        for key in WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, dict):
                _messages(draft, inner, depth + 1)
    _add_response(draft, value)


def _add_list(draft: Draft, messages: list[Any]) -> None:
    """Add messages, messages within an object, and exchanges."""
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("message"), dict) and role_name(message) is None:
            add(draft, message["message"], time=turns.time_of(message))
        elif is_message(message):
            add(draft, message)
        elif is_exchange(message):
            add_exchange(draft, message)


def _add_response(draft: Draft, value: Mapping[str, Any]) -> None:
    """Add the answer of a response of an API: the first choice, the message, or the output items."""
    when = turns.time_of(value)
    for key, inner, default in (("choices", "message", "assistant"), ("candidates", "content", "model")):
        answers = value.get(key)
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):
            message = answers[0].get(inner)
            if isinstance(message, dict):
                add(draft, {"role": default, **message}, time=when)
            elif isinstance(answers[0].get("text"), str):
                draft.add_turn("assistant", answers[0]["text"], time=when)
    output = value.get("output")
    if isinstance(output, list):
        _add_list(draft, output)
    single = value.get("message")
    if isinstance(single, dict) and is_message(single):
        add(draft, single, time=when)
    elif value.get("type") == "message" and is_message(value):
        add(draft, value, time=when)


_TOOL_OUTPUT = frozenset({"execution_output", "tether_quote", "tether_browsing_display"})
"""Content types that are never the person's words, whatever the author's role."""
_SHOWN = _TOOL_OUTPUT | {"text", "multimodal_text"}
"""Content types that become turns."""
_INSTRUCTIONS = frozenset({"user_editable_context", "model_editable_context"})
"""Content types of custom instructions and memories."""


def _chatgpt(value: Mapping[str, Any]) -> Draft:
    """Return the current branch of a conversation of ChatGPT, without edited and regenerated messages."""
    draft = Draft(turns.conversation_id(value), name(value.get("title")), turns.instant(value.get("create_time")))
    mapping, current = value["mapping"], value.get("current_node")
    known = isinstance(current, str) and isinstance(mapping.get(current), dict)
    for node in _branch(mapping, current if known else _newest(mapping), "parent"):
        if isinstance(node.get("message"), dict):
            _add_chatgpt(draft, node["message"])
    return draft


def _table(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _branch(nodes: Mapping[str, Any], leaf: object, parent: str) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to a leaf; ``parent`` is the key under which a node names its parent."""
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(leaf, str) and leaf not in path and isinstance(nodes.get(leaf), dict):
        path[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return [*path.values()][::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """Return the id of the newest leaf, for an export that does not name the current node."""
    newest, latest = None, float("-inf")
    for key, node in mapping.items():
        if not isinstance(node, dict) or node.get("children"):
            continue
        created = _table(node.get("message")).get("create_time")
        when = float(created) if isinstance(created, (int, float)) and not isinstance(created, bool) else 0.0
        if when >= latest:
            newest, latest = key, when
    return newest


def _add_chatgpt(draft: Draft, message: Mapping[str, Any]) -> None:
    """Add a message of ChatGPT."""
    author, body, metadata = (_table(message.get(key)) for key in ("author", "content", "metadata"))
    speaker, kind = role(author.get("role")), body.get("content_type")
    kind = kind if isinstance(kind, str) else None
    if speaker is None or (message.get("weight") == 0 and speaker != "system"):
        return
    when = turns.instant(message.get("create_time"))
    recipient = message.get("recipient")
    if speaker == "assistant" and isinstance(recipient, str) and recipient not in ("", "all"):
        draft.add_call(recipient)
    elif kind in _INSTRUCTIONS:
        instructions = (body.get(key) for key in ("user_profile", "user_instructions", "model_set_context"))
        draft.add_turn("system", "\n\n".join(text for text in instructions if isinstance(text, str)), time=when)
    elif kind in _SHOWN or kind is None:
        if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
            speaker = "system"
        elif speaker == "user" and kind in _TOOL_OUTPUT:
            speaker = "tool"
        texts = content(body.get("parts") or body.get("text") or body.get("result")).texts
        draft.add_turn(speaker, texts, speaker=name(author.get("name")), time=when)


def _claude(value: Mapping[str, Any]) -> Draft:
    """Return the current branch of a conversation of Claude."""
    draft = Draft(
        turns.conversation_id(value, ("uuid", "id")),
        name(value.get("name") or value.get("title")),
        turns.time_of(value),
    )
    messages = [message for message in value["chat_messages"] if isinstance(message, dict)]
    for message in _claude_branch(messages, value.get("current_leaf_message_uuid")):
        said = message.get("content")
        add(draft, {**message, "content": said if content(said).text else [said, message.get("text")]})
    return draft


def _claude_branch(messages: Sequence[Mapping[str, Any]], leaf: object) -> Sequence[Mapping[str, Any]]:
    """Return the messages from the root to the leaf (by default the last message); all if there are no branches."""
    by_id = {message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)}
    parents = [message.get("parent_message_uuid") for message in messages]
    known = [parent for parent in parents if isinstance(parent, str)]
    if len(set(known)) == len(parents) or len(known) < len(parents) or len(by_id) < len(messages):
        return messages
    end = leaf if isinstance(leaf, str) and leaf in by_id else messages[-1]["uuid"]
    return _branch(by_id, end, "parent_message_uuid")


class Chat:
    """A conversation of which each object is a message, or a prompt with its response.

    Attributes:
        format: name of the format.
        draft: the conversation so far.
    """

    format: ClassVar[str] = CHAT

    def __init__(self, key: str) -> None:
        self.draft = Draft(key)

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """Return the name of an object's conversation, empty if it has none; None if it is not in this format."""
        inner = value.get("message")
        if is_message(value) or is_exchange(value):
            alone = not any(isinstance(value.get(key), list) for key in ("messages", "choices"))
            fits = alone and not is_export(value)
        else:
            fits = isinstance(inner, dict) and is_message(inner) and "choices" not in value
        return turns.conversation_id(value, turns.IDS[:-2]) if fits else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one object for which :meth:`of` is not None."""
        if not self.draft.title:
            self.draft.title = name(record.get("conversation_name") or record.get("conversation_title"))
        inner = record.get("message")
        if is_message(record):
            add(self.draft, record)
        elif isinstance(inner, dict):
            add(self.draft, inner, time=turns.time_of(record))
        else:
            add_exchange(self.draft, record)

    def transcript(self, source: str) -> Transcript | None:
        """Return the conversation; None if neither the person nor the model says anything in it."""
        return self.draft.transcript(source, self.format)


_WRITTEN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Flags of ``user`` records that the program wrote, not the person."""

_TOOLS = ("toolUseResult", "sourceToolUseID", "sourceToolAssistantUUID")
"""Keys of ``user`` records that have the result of a tool."""

_MARKS = ("sessionId", "parentUuid", "leafUuid", "isSidechain", "isSnapshotUpdate")
"""Keys by which a record of Claude Code is recognised."""

_BY_PROGRAM = "sdk-"
"""Prefix of a record's ``entrypoint`` if a program asked: ``claude -p``, the SDKs (``sdk-cli``, ``sdk-ts``,
``sdk-py``). That of an editor or the desktop app begins otherwise, for there a person types.
"""

_BEGINNINGS = (
    "Caveat: The messages below were generated by the user while running local commands.",
    "This session is being continued from a previous conversation",
)
"""Beginnings of messages that the program writes in the person's name."""


class ClaudeCode(Chat):
    """A session file of Claude Code: a conversation among many records of other kinds.

    Left out: side conversations (a subagent's prompts and answers), thoughts, progress, snapshots, failed calls.
    What the program puts into the person's messages (reminders, what the editor shows, summaries of compacted
    conversations, output of commands) doesn't count as the person's words: it is cut out, or becomes a turn of
    ``system`` or ``tool``.
    """

    format = "claude-code"

    def __init__(self, key: str) -> None:
        super().__init__(name(key))
        self._seen: set[str] = set()
        self._titles: dict[str, str] = {}
        self._own_title = ""

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """Return the id of a record's session, empty if it has none; None if this is not a record of Claude Code."""
        fits = isinstance(value.get("type"), str) and any(mark in value for mark in _MARKS)
        return str(value.get("sessionId") or "") if fits else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record. A record that a resumed session repeats counts once."""
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                return
            self._seen.add(uuid)
        kind = record["type"]
        if not self.draft.id:
            self.draft.id = name(record.get("sessionId"))
        if not self.draft.folder and isinstance(record.get("cwd"), str):
            self.draft.folder = record["cwd"]
        if kind == "summary" and isinstance(record.get("leafUuid"), str):
            self._titles[record["leafUuid"]] = name(record.get("summary"))
        elif kind in ("custom-title", "ai-title"):
            title = name(record.get("customTitle") or record.get("aiTitle") or record.get("title"))
            self._own_title = title if kind == "custom-title" or not self._own_title else self._own_title
        elif record.get("isSidechain") is True:
            return
        elif kind == "user":
            self._add_user(record)
        elif kind == "assistant":
            self._add_assistant(record)
        elif kind == "attachment":
            self._add_queued(record)

    def transcript(self, source: str) -> Transcript | None:
        """Return the conversation; None if neither the person nor the model says anything in it."""
        # A file has titles of other sessions, too: its own title names a message of this file.
        titles = [title for leaf, title in self._titles.items() if leaf in self._seen and title]
        self.draft.title = self._own_title or (titles[-1] if titles else "")
        return super().transcript(source)

    def _add_user(self, record: Mapping[str, Any]) -> None:
        """Add a ``user`` record: the person's words, a tool's result, or what the program wrote."""
        message = record.get("message")
        found = content(message.get("content") if isinstance(message, dict) else message)
        when = turns.instant(record.get("timestamp"))
        _add_results(self.draft, found, when)
        if any(record.get(flag) is True for flag in _WRITTEN) or found.text.startswith(_BEGINNINGS):
            self.draft.add_turn("system", found.text, time=when)
        elif found.results or any(record.get(key) for key in _TOOLS) or not _is_typed(record):
            self.draft.add_turn("tool", [turns.own_words(part) for part in found.texts], time=when)
        else:
            self.draft.asked_by(str(record.get("entrypoint")).startswith(_BY_PROGRAM))
            self.draft.add_turn("user", _cleaned(found), time=when)

    def _add_assistant(self, record: Mapping[str, Any]) -> None:
        """Add an ``assistant`` record, unless it reports an error of the API."""
        message = record.get("message")
        if not isinstance(message, dict) or record.get("isApiErrorMessage") is True:
            return
        if message.get("model") == "<synthetic>":
            return
        found = content(message.get("content"))
        self.draft.add_turn("assistant", found.text, time=turns.instant(record.get("timestamp")))
        for tool, call in found.calls:
            self.draft.add_call(tool, call)

    def _add_queued(self, record: Mapping[str, Any]) -> None:
        """Add a prompt that the person typed while the model was working."""
        attachment = _table(record.get("attachment"))
        if attachment.get("type") != "queued_command":
            return
        if attachment.get("commandMode") in (None, "prompt") and _is_typed(attachment):
            prompt = content(attachment.get("prompt"))
            self.draft.add_turn("user", _cleaned(prompt), time=turns.instant(record.get("timestamp")))


def _is_typed(record: Mapping[str, Any]) -> bool:
    """Whether nothing in a record shows that somebody other than the person sent it."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return kind in (None, "", "human") and record.get("promptSource") != "system"


def _cleaned(message: Content) -> list[str]:
    """Return the texts of a message, cleaned, and with at most one blank line in a row."""
    return [re.sub(r"\n{3,}", "\n\n", turns.clean(part)) for part in message.texts]


_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_INSERTED = (
    "<environment_context", "<user_instructions", "<instructions", "# agents.md instructions", "<turn_aborted",
    "<user_shell_command", "<subagent_notification", "<skill>", "<heartbeat", "<hook_prompt", "<codex_internal_context",
    "<context_update", "<recommended_plugins", "<user_action",
)  # fmt: skip
"""Beginnings, in lower case, of message parts that the program sends in the person's name."""

_EXEC = ("exec", "codex_exec")
"""Values of a session's ``source``, or else ``originator``, if a program asked: ``codex exec``, the SDK."""

_EDITOR = ("# context from my ide", "# files mentioned by the user")
"""Beginnings, in lower case, of message parts with the context of an editor."""
_REQUEST = re.compile(r"(?m)^## My request for Codex:")
"""The heading above what the person typed; before it, there is what the editor shows, including whole files, so that
only the last such heading counts."""


class Codex(Chat):
    """A session file of Codex (``rollout-….jsonl``): records that wrap the items of a response.

    Prompts for a subagent are not the person's words.
    """

    format = "codex"
    _subagent = False

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """Return '' for a record of Codex, since a file is one session; None for any other object."""
        kind = value.get("type")
        return "" if isinstance(kind, str) and kind in _KINDS and isinstance(value.get("payload"), dict) else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record; events only repeat the items, and are left out."""
        payload = record["payload"]
        when = turns.instant(record.get("timestamp"))
        if record["type"] == "session_meta":
            self.draft.id = self.draft.id or name(payload.get("id"))
            self.draft.start = self.draft.start or turns.instant(payload.get("timestamp"))
            if not self.draft.folder and isinstance(payload.get("cwd"), str):
                self.draft.folder = payload["cwd"]
            source = payload.get("source")
            self._subagent = self._subagent or "subagent" in _table(source)
            if self.draft.automated is None:
                self.draft.asked_by((source or payload.get("originator")) in _EXEC)
        elif record["type"] == "response_item":
            if payload.get("role") == "user" and self._subagent:
                self.draft.add_turn("system", content(payload.get("content")).texts, time=when)
            elif payload.get("role") == "user":
                parts = content(payload.get("content")).texts
                typed = [_typed(part) for part in parts if not _is_inserted(part)]
                self.draft.add_turn("system", [part for part in parts if _is_inserted(part)], time=when)
                self.draft.add_turn("user", typed, time=when)
            else:
                add(self.draft, payload, time=when)


def _is_inserted(part: str) -> bool:
    """Whether the program put a part of a message into the person's message."""
    return turns.clean(part).lower().startswith(_INSERTED)


def _typed(part: str) -> str:
    """Return what the person typed, without an editor's context; a part without such context is unchanged."""
    if not turns.clean(part).lower().startswith(_EDITOR):
        return part
    *_, typed = [part[match.end() :] for match in _REQUEST.finditer(part)] or [""]
    return typed


class Export(NamedTuple):
    """A format in which one object holds a whole conversation.

    Attributes:
        format: its name.
        field: a key that only its conversations have.
        kind: the type of that key's value.
        draft: reads a conversation.
    """

    format: str
    field: str
    kind: type
    draft: Callable[[Mapping[str, Any]], Draft]

    def fits(self, value: Mapping[str, Any]) -> bool:
        """Whether an object is a conversation in this format."""
        return isinstance(value.get(self.field), self.kind)


EXPORTS = (Export("chatgpt", "mapping", dict, _chatgpt), Export("claude", "chat_messages", list, _claude))
"""Formats in which one object is a whole conversation; they are asked after :data:`RECORDS`."""
RECORDS = (ClaudeCode, Codex, Chat)
"""Formats in which one object is a record or a message; the first one that recognises an object reads it."""

CONVERSATION_KEYS = frozenset(
    (*ROLE_KEYS, *(export.field for export in EXPORTS), "type", "message", "prompt", "choices", "output", "input",
     "contents", "candidates", *HOLDERS, *WRAPPERS, *LISTS)
)  # fmt: skip
"""An object that no format of :data:`RECORDS` takes is a part of a conversation only if it has one of these keys;
checking that first saves most of the time."""
