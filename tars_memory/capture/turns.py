"""Conversations and their turns, which the readers of all log formats return, and parsers for fields of logs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tars_memory.vault.model import Role


class Turn(NamedTuple):
    r"""One speaker's turn in a conversation.

    Attributes:
        number: its position in the conversation, from 1.
        role: see :data:`Role`.
        speaker: the name in the log; the role if it names nobody.
        text: the words, with ``\n`` as line breaks; never empty.
        time: aware, or None if the log has none.
        tools: names of the tools called in this turn.
        line: of the log, from 1; 0 if the log has no lines.
    """

    number: int
    role: Role
    speaker: str
    text: str
    time: datetime | None = None
    tools: tuple[str, ...] = ()
    line: int = 0


class Transcript(NamedTuple):
    """A conversation of a foreign log.

    Attributes:
        source: the file's name as given, ``-`` for stdin.
        format: the name of the log's format (``claude-code``).
        id: the log's own name of the conversation; empty if it has none.
        title: the log's own title; empty if it has none.
        start: when it began, aware; None if the log has no time.
        turns: in order.
        damaged: number of places in the log that couldn't be read and were skipped.
        folder: where the agent worked, according to the log; empty if unknown.
        doubt: why it isn't certain who said what, one sentence without a full stop; empty if it is.
        automated: whether, according to the log, a program asked and nobody typed: a job, a script.
    """

    source: str
    format: str
    id: str
    title: str
    start: datetime | None
    turns: tuple[Turn, ...]
    damaged: int = 0
    folder: str = ""
    doubt: str = ""
    automated: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether it is a program's question that no model answered: there is nothing to learn from it."""
        return self.automated and not any(turn.role == "assistant" for turn in self.turns)

    @property
    def user_turns(self) -> int:
        """The number of the person's turns."""
        return sum(turn.role == "user" for turn in self.turns)

    def digests(self) -> list[str]:
        """Return for each turn a SHA-256 of all turns up to it (roles, speakers and texts, but not times).

        When a conversation grows, its digests begin with those it had before, whatever the name of its file.
        """
        running = sha256()
        found = []
        for turn in self.turns:
            for part in (turn.role, turn.speaker, turn.text):
                data = part.encode("utf-8", "replace")
                running.update(b"%d:" % len(data) + data)
            found.append(running.hexdigest())
        return found


class Unknown(NamedTuple):
    """A source that is not a conversation, or could not be read.

    Attributes:
        name: of the file (in an archive ``archive.zip/member``).
        why: one sentence without a full stop.
    """

    name: str
    why: str


MAX_TOOLS = 1_000
"""Maximum number of tool calls whose names are kept for one conversation; a log with more of them is broken."""


class Draft:
    """Collects the turns of one conversation in their order.

    Later records never change earlier turns, except for their names of tools: so the turns of a conversation that goes
    on keep their digests.

    Attributes:
        turns: the turns so far.
        line: the line of the log from which turns are added; 0 if it has no lines.
        id, title, start: as in :class:`Transcript`.
        folder: the first folder that the log names as the agent's.
        calls: the tool's name by the id of the call, to name the speaker of the tool's output.
        automated: whether a program asked everything so far; None if the log doesn't show it.
    """

    def __init__(self, name: str = "", title: str = "", start: datetime | None = None) -> None:
        self.turns: list[Turn] = []
        self.line = 0
        self.id = name
        self.title = title
        self.start = start
        self.folder = ""
        self.calls: dict[str, str] = {}
        self.automated: bool | None = None
        self._waiting: list[str] = []
        self._answer = -1

    def add_turn(
        self, role: Role, text: str | Sequence[str], *, speaker: str = "", time: datetime | None = None
    ) -> None:
        """Add a turn, unless its text is empty.

        Args:
            role: for the person, only :func:`own_words` of the text are added.
            text: the text, or the parts that it has in the log: what a program adds is in separate parts.
            speaker: by default the role.
            time: aware, or None.
        """
        parts = [text] if isinstance(text, str) else text
        if role == "user":
            parts = [own_words(part) for part in parts]
        text = "\n\n".join(part for part in parts if part.strip())
        cut = role == "tool" and len(text) > TOOL_CHARACTERS
        text = clean(text[:TOOL_CHARACTERS]) + " …" if cut else clean(text)
        if not text:
            return
        self.turns.append(Turn(len(self.turns) + 1, role, speaker or role, text, time, line=self.line))
        if role == "assistant":
            self._answer = len(self.turns) - 1
            waiting, self._waiting = self._waiting, []
            for tool in waiting:
                self.add_call(tool)
        elif role == "user":
            self._answer = -1

    def asked_by(self, program: bool) -> None:
        """Record whether a program asked; a conversation in which a person typed once is not automated."""
        self.automated = program and self.automated is not False

    def add_call(self, tool: object, call: object = None) -> None:
        """Record a tool call for the last answer since the person's turn, or for the next one if there is none.

        Args:
            tool: the tool's name; anything but text is ignored.
            call: the id of the call.
        """
        tool_name = name(tool)
        if not tool_name or len(self.calls) > MAX_TOOLS:
            return
        if isinstance(call, str):
            self.calls[call] = tool_name
        if self._answer < 0:
            self._waiting.append(tool_name)
            return
        turn = self.turns[self._answer]
        if tool_name not in turn.tools:
            self.turns[self._answer] = turn._replace(tools=(*turn.tools, tool_name))

    def tool_name(self, call: object) -> str:
        """Return the name of the tool of a call; empty if it isn't known."""
        return self.calls.get(call, "") if isinstance(call, str) else ""

    def transcript(self, source: str, form: str) -> Transcript | None:
        """Return the conversation; None if neither the person nor the model says anything in it."""
        if not any(turn.role in ("user", "assistant") for turn in self.turns):
            return None
        if self._waiting:
            last = self.turns[-1]
            self.turns[-1] = last._replace(tools=tuple(dict.fromkeys((*last.tools, *self._waiting))))
        start = self.start or next((turn.time for turn in self.turns if turn.time), None)
        found = Transcript(source, form, self.id, self.title, start, tuple(self.turns))
        return found._replace(folder=clean(self.folder), automated=bool(self.automated))


MAX_NAME = 80
"""Maximum number of characters in the name of a speaker, a tool or a conversation."""

TOOL_CHARACTERS = 2_000
"""Number of characters of a tool's output that are kept: nothing is learned from it, and logs consist mostly of it."""

YEARS = range(1990, 2200)
"""Valid years; an instant in another year is a clock error, or a number that is not a time."""

IDS = (
    "conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "chat_id", "uuid", "id",
)  # fmt: skip
"""Keys of an object for the id of its conversation, the most reliable first."""
TIMES = (
    "timestamp", "created_at", "createdAt", "create_time", "created", "datetime_utc", "time", "ts", "date", "sent_at",
    "start_time", "startTime",
)  # fmt: skip
TITLES = ("title", "conversation_name", "name", "summary", "subject")

_INSERTED = frozenset({
    "system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics",
    "user-prompt-submit-hook", "session-start-hook", "post-tool-use-hook", "task-notification", "command-name",
    "command-message", "local-command-caveat", "local-command-stdout", "local-command-stderr", "bash-stdout",
    "bash-stderr", "bash-input", "environment_context", "user_instructions", "turn_aborted", "user_shell_command",
    "subagent_notification",
})  # fmt: skip
"""Elements that programs, not the person, put into a message. Other elements with ``-`` or ``_`` in their names count
as well if they are closed; these count even if they aren't."""

_OWN = frozenset({"command-args", "user-memory-input"})
"""Elements into which a program puts what the person typed."""

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff"
)
_TAG = re.compile(
    rf"<[\s{_UNSEEN}]{{0,8}}(/?)[\s{_UNSEEN}]{{0,8}}([A-Za-z][\w{_UNSEEN}-]{{0,200}})(?=[\s/>]|\Z)(?:[^<>]{{0,200}}>)?"
)
_OWN_TAG = re.compile(rf"(?i)</?(?:{'|'.join(sorted(_OWN))})>")
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]{0,40}\]")

_DROPPED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]+")
_MARKUP = re.compile("\ue200[^\ue200\ue201]{0,4000}\ue201|[\ue200-\ue206]")
"""ChatGPT's citation marks, in private-use characters."""


class DamagedError(Exception):
    """A log ends early, or can't be read further; the message says why."""


def clean(text: str) -> str:
    r"""Return a text with ``\n`` as line breaks, and without control characters, lone surrogates and outer blanks."""
    text = re.sub(r"\r\n|\r", "\n", text)
    if not text.isprintable():
        text = _MARKUP.sub("", _DROPPED.sub("", text))
        text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text.strip(" \t\n")


def own_words(text: str) -> str:
    """Return a message of the person without what programs put into it: reminders, command output, editor contents.

    The content of such an element (from a tool, a web page) may itself contain the closing tag and more text. So only
    text that such content can't forge is kept: that before the first element and, if all elements are closed, after
    the last one. Text between two elements is dropped, for it may be the person's or the end of a forged element.
    """
    tags = [(match, *_tag_of(match)) for match in _TAG.finditer(text)]
    closed = {name for _, closes, name in tags if closes and ("-" in name or "_" in name)}
    tags = [(match, closes, name) for match, closes, name in tags if name in (_INSERTED | closed) - _OWN]
    if tags:
        first, closes, _ = tags[0]
        kept = "" if closes else text[: first.start()]
        kept += text[tags[-1][0].end() :] if _are_balanced((closes, name) for _, closes, name in tags) else ""
        text = re.sub(r"\n{3,}", "\n\n", clean(kept))
    return _INTERRUPTED.sub("", _OWN_TAG.sub("", text))


def _tag_of(match: re.Match[str]) -> tuple[bool, str]:
    """Return whether a tag is a closing one, and its name in lower case without invisible characters."""
    return bool(match[1]), re.sub(f"[{_UNSEEN}]", "", match[2]).lower()


def _are_balanced(tags: Iterable[tuple[bool, str]]) -> bool:
    """Whether all tags are closed and properly nested.

    Args:
        tags: for each, whether it is a closing one, and its name.
    """
    still_open: list[str] = []
    for closes, name in tags:
        if not closes:
            still_open.append(name)
        elif not still_open or still_open.pop() != name:
            return False
    return not still_open


def name(value: object) -> str:
    """Return a name as one line of at most :data:`MAX_NAME` characters; empty if the value is not text."""
    if not isinstance(value, str):
        return ""
    return " ".join(clean(value[: 4 * MAX_NAME]).split())[:MAX_NAME].rstrip()


def first(values: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the first value under these keys that is neither missing, None nor empty; else None."""
    return next((values[key] for key in keys if values.get(key) not in (None, "")), None)


def conversation_id(values: Mapping[str, Any], keys: tuple[str, ...] = IDS) -> str:
    """Return the log's own name of a conversation; empty if it has none."""
    value = first(values, keys)
    return name(str(value) if isinstance(value, int) else value)


def time_of(values: Mapping[str, Any]) -> datetime | None:
    """Return the time of an object by the first valid one of :data:`TIMES`; None if there is none."""
    return next((found for key in TIMES if (found := instant(values.get(key)))), None)


def instant(value: object) -> datetime | None:
    """Parse an instant; return it aware, in the local zone, or None if it is not valid.

    Args:
        value: ISO 8601 or RFC 2822 text (local time if it has no zone), or seconds, milliseconds, microseconds or
            nanoseconds since the epoch.
    """
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, (int, float, Decimal)):
            return _since_epoch(float(value))
        if not isinstance(value, str) or not 8 <= len(value) <= 64:
            return None
        text = value.strip()
        if re.fullmatch(r"\d{9,19}(?:\.\d{1,9})?", text):
            return _since_epoch(float(text))
        found = _from_text(text)
        return found.astimezone() if found and found.year in YEARS else None
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        return None


def _from_text(text: str) -> datetime | None:
    """Parse a time in ISO 8601 or a similar form, or in RFC 2822; None for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    if match := re.match(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d+)? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?$", text):
        zone = match[3] or ""
        return datetime.fromisoformat(match[1] + ("+00:00" if zone in ("Z", "UTC", "GMT") else zone))
    if re.match(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d", text):
        from email.utils import parsedate_to_datetime

        return parsedate_to_datetime(text)
    return None


def _since_epoch(number: float) -> datetime | None:
    """Return an instant from a time since the epoch, whose size tells seconds from smaller units."""
    for digits in (9, 6, 3):
        if abs(number) >= 10 ** (digits + 8.5):
            number /= 10**digits
    found = datetime.fromtimestamp(number, UTC)
    return found.astimezone() if found.year in YEARS else None
