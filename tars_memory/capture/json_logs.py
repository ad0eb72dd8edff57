"""The shapes that conversations have in logs. A new one is a reader here and its place in one of two tables.

:data:`EXPORTS` names the shapes of which one object holds a conversation, :data:`RECORDS` those of which one object is
a record or a message. What is in neither is looked through for messages with a role and a content, as the interfaces
of OpenAI, Anthropic and Google share them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tars_memory.capture import turns
from tars_memory.capture.turns import Draft, Transcript, name
from tars_memory.vault.model import role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime


CHAT = "chat"
"""Name of the shape: messages with a role and a content."""

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
    when = turns.time_of(message) or time
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
    held = content(turns.first(message, CONTENTS))
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
        _collect(turns.first(part, ("content", "output", "result")), inner, depth + 1)
        held.results.append((inner.text, part.get("tool_use_id") or part.get("toolCallId") or part.get("call_id")))
    elif kind == "refusal":
        _collect(part.get("refusal"), held, depth + 1)
    elif kind in _SAID or kind is None or kind == "multimodal_text":
        _collect(turns.first(part, CONTENTS), held, depth + 1)


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
    when = turns.time_of(value)
    system = value.get("system")
    if isinstance(system, str) and turns.clean(system) not in {turn.text for turn in draft.turns}:
        draft.say("system", system, time=when)
    draft.say("user", value["prompt"], time=when)
    draft.say("assistant", value.get("response") or value.get("completion") or "", time=when)


def is_export(value: Mapping[str, Any]) -> bool:
    """Whether an object is a conversation of one of :data:`EXPORTS`."""
    return any(export.fits(value) for export in EXPORTS)


def transcript(value: object, source: str) -> Transcript | None:
    """The conversation that an object or a list of messages holds; None if it holds none."""
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        return None
    for export in EXPORTS:
        if export.fits(value):
            return export.draft(value).done(source, export.format)
    found = Draft(turns.ident(value), name(turns.first(value, turns.TITLES)), turns.time_of(value))
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
    if not isinstance(value, dict) or is_message(value):
        return isinstance(value, list) and any(is_message(item) for item in value[:20])
    return is_export(value) or any(isinstance(value.get(key), list) for key in HOLDERS)


def _messages(draft: Draft, value: Mapping[str, Any], depth: int) -> None:
    """Add what an object holds: what was sent, then what came back."""
    system = value.get("system")
    if isinstance(system, (str, list)) and "messages" in value:
        draft.say("system", content(system).text)
    if "output" in value and isinstance(value.get("input"), str):
        draft.say("user", value["input"], time=turns.time_of(value))
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
        if isinstance(message, dict) and isinstance(message.get("message"), dict) and who(message) is None:
            add(draft, message["message"], time=turns.time_of(message))
        elif is_message(message):
            add(draft, message)
        elif is_exchange(message):
            add_exchange(draft, message)


def _came_back(draft: Draft, value: Mapping[str, Any]) -> None:
    """Add the answer of a response dump: the first choice, the message, or the output items."""
    when = turns.time_of(value)
    for key, inner, speaks in (("choices", "message", "assistant"), ("candidates", "content", "model")):
        answers = value.get(key)
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):
            held = answers[0].get(inner)
            if isinstance(held, dict):
                add(draft, {"role": speaks, **held}, time=when)
            elif isinstance(answers[0].get("text"), str):
                draft.say("assistant", answers[0]["text"], time=when)
    output = value.get("output")
    if isinstance(output, list):
        _list(draft, output)
    single = value.get("message")
    if isinstance(single, dict) and is_message(single):
        add(draft, single, time=when)
    elif value.get("type") == "message" and is_message(value):
        add(draft, value, time=when)


_GIVEN_BACK = frozenset({"execution_output", "tether_quote", "tether_browsing_display"})
"""What is not a word of the person's, whoever is named as its author."""
_SHOWN = _GIVEN_BACK | {"text", "multimodal_text"}
_INSTRUCTIONS = frozenset({"user_editable_context", "model_editable_context"})


def _chatgpt(value: Mapping[str, Any]) -> Draft:
    """The current branch of a conversation: what was edited away or regenerated is left out."""
    found = Draft(turns.ident(value), name(value.get("title")), turns.instant(value.get("create_time")))
    mapping, current = value["mapping"], value.get("current_node")
    known = isinstance(current, str) and isinstance(mapping.get(current), dict)
    for node in _branch(mapping, current if known else _newest(mapping), "parent"):
        if isinstance(node.get("message"), dict):
            _spoken(found, node["message"])
    return found


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _branch(nodes: Mapping[str, Any], leaf: object, parent: str) -> list[Mapping[str, Any]]:
    """The nodes that lead from the root to a leaf; ``parent`` is where each names the one before it."""
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(leaf, str) and leaf not in path and isinstance(nodes.get(leaf), dict):
        path[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return [*path.values()][::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """The newest leaf, for an export that does not say which node is the current one."""
    best, latest = None, float("-inf")
    for node, held in mapping.items():
        if not isinstance(held, dict) or held.get("children"):
            continue
        made = _table(held.get("message")).get("create_time")
        when = float(made) if isinstance(made, (int, float)) and not isinstance(made, bool) else 0.0
        if when >= latest:
            best, latest = node, when
    return best


def _spoken(found: Draft, message: Mapping[str, Any]) -> None:
    author, held, notes = (_table(message.get(name)) for name in ("author", "content", "metadata"))
    speaks, kind = role(author.get("role")), held.get("content_type")
    kind = kind if isinstance(kind, str) else None
    if speaks is None or (message.get("weight") == 0 and speaks != "system"):
        return
    when = turns.instant(message.get("create_time"))
    recipient = message.get("recipient")
    if speaks == "assistant" and isinstance(recipient, str) and recipient not in ("", "all"):
        found.call(recipient)
    elif kind in _INSTRUCTIONS:
        said = [held.get(key) for key in ("user_profile", "user_instructions", "model_set_context")]
        found.say("system", "\n\n".join(text for text in said if isinstance(text, str)), time=when)
    elif kind in _SHOWN or kind is None:
        if notes.get("is_visually_hidden_from_conversation") or notes.get("is_user_system_message"):
            speaks = "system"
        elif speaks == "user" and kind in _GIVEN_BACK:
            speaks = "tool"
        shown = content(held.get("parts") or held.get("text") or held.get("result")).said
        found.say(speaks, shown, speaker=name(author.get("name")), time=when)


def _claude(value: Mapping[str, Any]) -> Draft:
    """The current branch of a conversation."""
    found = Draft(
        turns.ident(value, ("uuid", "id")), name(value.get("name") or value.get("title")), turns.time_of(value)
    )
    said = [message for message in value["chat_messages"] if isinstance(message, dict)]
    for message in _leading(said, value.get("current_leaf_message_uuid")):
        speaks = role(message.get("sender") or message.get("role"))
        if speaks is None:
            continue
        held = content(message.get("content"))
        when = turns.time_of(message)
        for text, call in held.results:
            found.say("tool", text, speaker=found.called(call), time=when)
        written = message.get("text")
        found.say(speaks, held.said if held.text else written if isinstance(written, str) else "", time=when)
        for tool, call in held.called:
            found.call(tool, call)
    return found


def _leading(said: Sequence[Mapping[str, Any]], leaf: object) -> Sequence[Mapping[str, Any]]:
    """The messages that lead to the leaf (the last one if none is named); all of them if nothing branches."""
    by_id = {message["uuid"]: message for message in said if isinstance(message.get("uuid"), str)}
    parents = [message.get("parent_message_uuid") for message in said]
    known = [parent for parent in parents if isinstance(parent, str)]
    if len(set(known)) == len(parents) or len(known) < len(parents) or len(by_id) < len(said):
        return said
    return _branch(by_id, leaf if isinstance(leaf, str) and leaf in by_id else said[-1]["uuid"], "parent_message_uuid")


class Chat:
    """A conversation whose messages come one by one: a message an object, or a question with its answer.

    Attributes:
        format: name of the shape.
        draft: what was said so far.
    """

    format: ClassVar[str] = CHAT

    def __init__(self, key: str) -> None:
        self.draft = Draft(key)

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """The conversation that an object says it is of, empty if it says nothing; None if it is not part of any."""
        inner = value.get("message")
        if is_message(value) or is_exchange(value):
            alone = not any(isinstance(value.get(key), list) for key in ("messages", "choices"))
            fits = alone and not is_export(value)
        else:
            fits = isinstance(inner, dict) and is_message(inner) and "choices" not in value
        return turns.ident(value, turns.IDS[:-2]) if fits else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one object that :meth:`of` knows."""
        if not self.draft.title:
            self.draft.title = name(record.get("conversation_name") or record.get("conversation_title"))
        inner = record.get("message")
        if is_message(record):
            add(self.draft, record)
        elif isinstance(inner, dict):
            add(self.draft, inner, time=turns.time_of(record))
        else:
            add_exchange(self.draft, record)

    def done(self, source: str) -> Transcript | None:
        """The conversation; None if nothing was said in it."""
        return self.draft.done(source, self.format)


_WRITTEN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Set where the program, not the person, wrote a record of the person's."""

_TOOLS = ("toolUseResult", "sourceToolUseID", "sourceToolAssistantUUID")
"""There where a tool gave back what a record of the person's holds."""

_MARKS = ("sessionId", "parentUuid", "leafUuid", "isSidechain", "isSnapshotUpdate")

_BY_PROGRAM = "sdk-"
"""How the ``entrypoint`` of a record begins where a program asked: ``claude -p``, the SDKs (``sdk-cli``, ``sdk-ts``,
``sdk-py``). An editor's or the desktop's begins otherwise, for there a person types.
"""

_BEGINNINGS = (
    "Caveat: The messages below were generated by the user while running local commands.",
    "This session is being continued from a previous conversation",
)
"""How messages begin that the program writes in the person's name."""


class ClaudeCode(Chat):
    """A session file of Claude Code: the conversation among many records of other kinds.

    Left out: side conversations (what a subagent is told and answers), thoughts, progress, snapshots, failed calls.
    What the program puts into the person's messages (reminders, what the editor shows, summaries of what was compacted,
    output of commands) is not a word of the person: it is cut out, or comes as ``system`` or ``tool``.
    """

    format = "claude-code"

    def __init__(self, key: str) -> None:
        super().__init__(name(key))
        self._seen: set[str] = set()
        self._titles: dict[str, str] = {}
        self._own_title = ""

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """The session that a record is of, empty if it says nothing; None for what is not a record of such a file."""
        fits = isinstance(value.get("type"), str) and any(mark in value for mark in _MARKS)
        return str(value.get("sessionId") or "") if fits else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one record. One that was there before, as a resumed session repeats it, counts once."""
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
            self._person(record)
        elif kind == "assistant":
            self._model(record)
        elif kind == "attachment":
            self._queued(record)

    def done(self, source: str) -> Transcript | None:
        """The conversation; None if nothing was said in it."""
        # Titles of other sessions end up in a file too: only one that names a message of this file is its own.
        titles = [title for leaf, title in self._titles.items() if leaf in self._seen and title]
        self.draft.title = self._own_title or (titles[-1] if titles else "")
        return super().done(source)

    def _person(self, record: Mapping[str, Any]) -> None:
        message = record.get("message")
        held = content(message.get("content") if isinstance(message, dict) else message)
        when = turns.instant(record.get("timestamp"))
        for text, call in held.results:
            self.draft.say("tool", text, speaker=self.draft.called(call), time=when)
        if any(record.get(mark) is True for mark in _WRITTEN) or held.text.startswith(_BEGINNINGS):
            self.draft.say("system", held.text, time=when)
        elif held.results or any(record.get(mark) for mark in _TOOLS) or not _is_typed(record):
            self.draft.say("tool", [turns.own_words(part) for part in held.said], time=when)
        else:
            self.draft.asked_by(str(record.get("entrypoint")).startswith(_BY_PROGRAM))
            self.draft.say("user", _parts(held), time=when)

    def _model(self, record: Mapping[str, Any]) -> None:
        message = record.get("message")
        if not isinstance(message, dict) or record.get("isApiErrorMessage") is True:
            return
        if message.get("model") == "<synthetic>":
            return
        held = content(message.get("content"))
        self.draft.say("assistant", held.text, time=turns.instant(record.get("timestamp")))
        for tool, call in held.called:
            self.draft.call(tool, call)

    def _queued(self, record: Mapping[str, Any]) -> None:
        """What the person typed while the model was at work."""
        attachment = _table(record.get("attachment"))
        if attachment.get("type") != "queued_command":
            return
        if attachment.get("commandMode") in (None, "prompt") and _is_typed(attachment):
            said = content(attachment.get("prompt"))
            self.draft.say("user", _parts(said), time=turns.instant(record.get("timestamp")))


def _is_typed(record: Mapping[str, Any]) -> bool:
    """Whether nothing in a record says that somebody else than the person sent it."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return kind in (None, "", "human") and record.get("promptSource") != "system"


def _parts(held: Content) -> list[str]:
    return [re.sub(r"\n{3,}", "\n\n", turns.clean(part)) for part in held.said]


_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_INSERTED = (
    "<environment_context", "<user_instructions", "<instructions", "# agents.md instructions", "<turn_aborted",
    "<user_shell_command", "<subagent_notification", "<skill>", "<heartbeat", "<hook_prompt", "<codex_internal_context",
    "<context_update", "<recommended_plugins", "<user_action",
)  # fmt: skip
"""How parts of a message begin that the program sends in the person's name, in small letters."""

_EXEC = ("exec", "codex_exec")
"""What ``source``, else ``originator`` of a session says where a program asked: ``codex exec``, the SDK."""

_EDITOR = ("# context from my ide", "# files mentioned by the user")
_REQUEST = re.compile(r"(?m)^## My request for Codex:")
"""After the last such heading comes what the person typed, before it what the editor shows, files as they are."""


class Codex(Chat):
    """A session file of Codex (``rollout-….jsonl``): records that wrap the items of a response.

    What a subagent was told is not a word of the person.
    """

    format = "codex"
    _subagent = False

    @staticmethod
    def of(value: Mapping[str, Any]) -> str | None:
        """Empty, for a file is one session; None for what is not a record of such a file."""
        kind = value.get("type")
        return "" if isinstance(kind, str) and kind in _KINDS and isinstance(value.get("payload"), dict) else None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one record; events repeat what the items say, and are left out."""
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
                self.draft.say("system", content(payload.get("content")).said, time=when)
            elif payload.get("role") == "user":
                said = content(payload.get("content")).said
                own = [_request(part) for part in said if not _is_inserted(part)]
                self.draft.say("system", [part for part in said if _is_inserted(part)], time=when)
                self.draft.say("user", own, time=when)
            else:
                add(self.draft, payload, time=when)


def _is_inserted(part: str) -> bool:
    return turns.clean(part).lower().startswith(_INSERTED)


def _request(part: str) -> str:
    """What the person typed into an editor's window, without what it shows beside; any other part as it is."""
    if not turns.clean(part).lower().startswith(_EDITOR):
        return part
    *_, typed = [part[match.end() :] for match in _REQUEST.finditer(part)] or [""]
    return typed


class Export(NamedTuple):
    """A shape of which one object holds a whole conversation.

    Attributes:
        format: its name.
        field: what only its conversations have.
        kind: the type of that.
        draft: reads one.
    """

    format: str
    field: str
    kind: type
    draft: Callable[[Mapping[str, Any]], Draft]

    def fits(self, value: Mapping[str, Any]) -> bool:
        """Whether an object is one."""
        return isinstance(value.get(self.field), self.kind)


EXPORTS = (Export("chatgpt", "mapping", dict, _chatgpt), Export("claude", "chat_messages", list, _claude))
RECORDS = (ClaudeCode, Codex, Chat)
"""Asked in this order."""

TELLING = frozenset(
    (*ROLE_KEYS, *(export.field for export in EXPORTS), "type", "message", "prompt", "choices", "output", "input",
     "contents", "candidates", *HOLDERS, *WRAPPERS, *LISTS)
)  # fmt: skip
"""An object without any of these is not part of a conversation; to see that at once spares most of the time."""
