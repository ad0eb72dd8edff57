"""Claude's data export: ``conversations.json`` with the ``chat_messages`` of each conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import messages
from tars_memory.capture.transcripts.draft import Draft
from tars_memory.capture.transcripts.fields import ident, name, role, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT = "claude"


def draft(value: Mapping[str, Any]) -> Draft:
    """The current branch of a conversation."""
    found = Draft(ident(value, ("uuid", "id")), name(value.get("name") or value.get("title")), time_of(value))
    said = [message for message in value["chat_messages"] if isinstance(message, dict)]
    for message in _branch(said, value.get("current_leaf_message_uuid")):
        speaks = role(message.get("sender") or message.get("role"))
        if speaks is None:
            continue
        held = messages.content(message.get("content"))
        when = time_of(message)
        for text, call in held.results:
            found.say("tool", text, speaker=found.called(call), time=when)
        written = message.get("text")
        found.say(speaks, held.said if held.text else written if isinstance(written, str) else "", time=when)
        for tool, call in held.called:
            found.call(tool, call)
    return found


def _branch(said: Sequence[Mapping[str, Any]], leaf: object) -> Sequence[Mapping[str, Any]]:
    """The messages that lead to the leaf (the last one if none is named); all of them if nothing branches."""
    by_id = {message["uuid"]: message for message in said if isinstance(message.get("uuid"), str)}
    parents = [message.get("parent_message_uuid") for message in said]
    known = [parent for parent in parents if isinstance(parent, str)]
    if len(set(known)) == len(parents) or len(known) < len(parents) or len(by_id) < len(said):
        return said
    current = leaf if isinstance(leaf, str) and leaf in by_id else said[-1]["uuid"]
    path: list[Mapping[str, Any]] = []
    while isinstance(current, str) and current in by_id:
        message = by_id.pop(current)
        path.append(message)
        current = message.get("parent_message_uuid")
    return path[::-1]
