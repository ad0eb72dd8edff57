"""ChatGPT's data export: ``conversations.json``, a tree of messages for each conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import messages
from tars_memory.capture.transcripts.draft import Draft
from tars_memory.capture.transcripts.fields import ident, instant, name, role

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "chatgpt"

_GIVEN_BACK = frozenset({"execution_output", "tether_quote", "tether_browsing_display"})
"""What is no word of the person's, whoever is named as its author."""
_SHOWN = _GIVEN_BACK | {"text", "multimodal_text"}
_INSTRUCTIONS = frozenset({"user_editable_context", "model_editable_context"})


def draft(value: Mapping[str, Any]) -> Draft:
    """The current branch of a conversation: what was edited away or regenerated is left out."""
    found = Draft(ident(value), name(value.get("title")), instant(value.get("create_time")))
    mapping = value["mapping"]
    for node in _branch(mapping, value.get("current_node")):
        message = mapping[node].get("message")
        if isinstance(message, dict):
            _add(found, message)
    return found


def _branch(mapping: Mapping[str, Any], current: object) -> list[str]:
    """The nodes from the root to the current one."""
    if not isinstance(current, str) or not isinstance(mapping.get(current), dict):
        current = _newest(mapping)
    path: list[str] = []
    seen: set[str] = set()
    while isinstance(current, str) and current not in seen and isinstance(mapping.get(current), dict):
        seen.add(current)
        path.append(current)
        current = mapping[current].get("parent")
    return path[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """The newest leaf, for an export that does not say which node is the current one."""
    best, latest = None, float("-inf")
    for node, held in mapping.items():
        if not isinstance(held, dict) or held.get("children"):
            continue
        message = held.get("message")
        made = message.get("create_time") if isinstance(message, dict) else None
        when = float(made) if isinstance(made, (int, float)) and not isinstance(made, bool) else 0.0
        if when >= latest:
            best, latest = node, when
    return best


def _add(found: Draft, message: Mapping[str, Any]) -> None:
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    speaks = role(author.get("role"))
    held = message.get("content")
    held = held if isinstance(held, dict) else {}
    kind = held.get("content_type")
    kind = kind if isinstance(kind, str) else None
    notes = message.get("metadata")
    notes = notes if isinstance(notes, dict) else {}
    if speaks is None or (message.get("weight") == 0 and speaks != "system"):
        return
    when = instant(message.get("create_time"))
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
        shown = messages.content(held.get("parts") or held.get("text") or held.get("result")).said
        found.say(speaks, shown, speaker=name(author.get("name")), time=when)
