"""Codex' session files (``rollout-….jsonl``): records that wrap the items of a response."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import messages
from tars_memory.capture.transcripts.draft import Draft
from tars_memory.capture.transcripts.fields import clean, instant, name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.capture.turns import Transcript

FORMAT = "codex"

_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_INSERTED = (
    "<environment_context", "<user_instructions", "<instructions", "# agents.md instructions", "<turn_aborted",
    "<user_shell_command", "<subagent_notification", "<skill>", "<heartbeat", "<hook_prompt", "<codex_internal_context",
    "<context_update", "<recommended_plugins", "<user_action",
)  # fmt: skip
"""How parts of a message begin that the program sends in the person's name, in small letters."""

_EDITOR = ("# context from my ide", "# files mentioned by the user")
_REQUEST = re.compile(r"(?m)^## My request for Codex:")
"""Behind the last such heading stands what the person typed; before it what the editor shows, files as they are."""


def is_line(value: Mapping[str, Any]) -> bool:
    """Whether an object is a record of such a file."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in _KINDS and isinstance(value.get("payload"), dict)


class Session:
    """One session while its records are read."""

    def __init__(self) -> None:
        self.draft = Draft()

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one record; events repeat what the items say, and are left out."""
        payload = record["payload"]
        when = instant(record.get("timestamp"))
        if record["type"] == "session_meta":
            self.draft.id = self.draft.id or name(payload.get("id"))
            self.draft.start = self.draft.start or instant(payload.get("timestamp"))
            if not self.draft.folder and isinstance(payload.get("cwd"), str):
                self.draft.folder = payload["cwd"]
        elif record["type"] == "response_item":
            if payload.get("role") == "user":
                said = messages.content(payload.get("content")).said
                own = [_request(part) for part in said if not _is_inserted(part)]
                self.draft.say("system", [part for part in said if _is_inserted(part)], time=when)
                self.draft.say("user", own, time=when)
            else:
                messages.add(self.draft, payload, time=when)

    def done(self, source: str) -> Transcript | None:
        """The conversation; None if nothing was said in it."""
        return self.draft.done(source, FORMAT)


def _is_inserted(part: str) -> bool:
    return clean(part).lower().startswith(_INSERTED)


def _request(part: str) -> str:
    """What the person typed into an editor's window, without what it shows beside; any other part as it is."""
    if not clean(part).lower().startswith(_EDITOR):
        return part
    *_, typed = [part[match.end() :] for match in _REQUEST.finditer(part)] or [""]
    return typed
