"""What all foreign logs come to: turns, conversations, and the fields that show them."""

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
    r"""What one side said at once.

    Attributes:
        number: its place among all turns of the conversation, from 1.
        role: see :data:`Role`.
        speaker: the name in the transcript; the role if it names nobody.
        text: as said, line breaks as ``\n``; never empty.
        time: aware, or None if the transcript does not say.
        tools: names of the tools called in this turn.
    """

    number: int
    role: Role
    speaker: str
    text: str
    time: datetime | None = None
    tools: tuple[str, ...] = ()


class Transcript(NamedTuple):
    """One conversation of a foreign log.

    Attributes:
        source: the file's name as given, ``-`` for stdin.
        format: the name of the shape it was read as (``claude-code``).
        id: the log's own name of the conversation; empty if it has none.
        title: the log's own title; empty if it has none.
        start: when it began, aware; None if the log does not say.
        turns: in order.
        damaged: places of the log that couldn't be read and were passed over.
        folder: where the agent worked, as the log says it; empty if it does not.
        doubt: why it isn't sure who said what, one sentence without a full stop; empty if it is.
        automated: whether its log says that a program asked and nobody typed: a job, a script.
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
        """Whether it is a program's question that nobody answered: there is nothing to learn from it."""
        return self.automated and not any(turn.role == "assistant" for turn in self.turns)

    @property
    def user_turns(self) -> int:
        """How many turns are the person's."""
        return sum(turn.role == "user" for turn in self.turns)

    def digests(self) -> list[str]:
        """For each turn, a SHA-256 of all turns up to it: who spoke and what, without times.

        A grown conversation begins with the digests it had before, whatever its file is called.
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
    """What is not a conversation, or could not be read.

    Attributes:
        name: of the file (in an archive ``archive.zip/member``).
        why: one sentence without a full stop.
    """

    name: str
    why: str


MAX_TOOLS = 1_000
"""Names of tools kept of one conversation; a log with more of them is a broken one."""


class Draft:
    """Collects the turns of one conversation in the order in which they are said.

    What was added is never changed by what comes later, but for the names of tools: a conversation that goes on keeps
    the digests of its turns.

    Attributes:
        turns: so far.
        id, title, start: as of :class:`Transcript`.
        damaged: places of the log that couldn't be read.
        folder: where the agent worked, the first that is named.
        calls: name of each tool call by its id, to name the speaker of the tool's output.
        automated: whether a program asked all that was asked so far; None if nothing shows it.
    """

    def __init__(self, name: str = "", title: str = "", start: datetime | None = None) -> None:
        self.turns: list[Turn] = []
        self.id = name
        self.title = title
        self.start = start
        self.damaged = 0
        self.folder = ""
        self.calls: dict[str, str] = {}
        self.automated: bool | None = None
        self._waiting: list[str] = []
        self._answers = -1

    def say(self, role: Role, text: str | Sequence[str], *, speaker: str = "", time: datetime | None = None) -> None:
        """Add a turn; a text without words adds none.

        Args:
            role: of the person only :func:`own_words` are added.
            text: all of it, or its parts as the log has them: a program puts its own into parts of their own.
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
        self.turns.append(Turn(len(self.turns) + 1, role, speaker or role, text, time))
        if role == "assistant":
            self._answers = len(self.turns) - 1
            waiting, self._waiting = self._waiting, []
            for tool in waiting:
                self.call(tool)
        elif role == "user":
            self._answers = -1

    def asked_by(self, program: bool) -> None:
        """Take in who asked: a conversation in which somebody typed once is not a program's."""
        self.automated = program and self.automated is not False

    def call(self, tool: object, call: object = None) -> None:
        """A tool was called: by the last answer since the person spoke, else by the next one."""
        called = name(tool)
        if not called or len(self.calls) > MAX_TOOLS:
            return
        if isinstance(call, str):
            self.calls[call] = called
        if self._answers < 0:
            self._waiting.append(called)
            return
        turn = self.turns[self._answers]
        if called not in turn.tools:
            self.turns[self._answers] = turn._replace(tools=(*turn.tools, called))

    def called(self, call: object) -> str:
        """The name of the tool that was called under this id; empty if it isn't known."""
        return self.calls.get(call, "") if isinstance(call, str) else ""

    def done(self, source: str, shape: str) -> Transcript | None:
        """The conversation; None if neither the person nor the model says anything in it."""
        if not any(turn.role in ("user", "assistant") for turn in self.turns):
            return None
        if self._waiting:
            last = self.turns[-1]
            self.turns[-1] = last._replace(tools=tuple(dict.fromkeys((*last.tools, *self._waiting))))
        start = self.start or next((turn.time for turn in self.turns if turn.time), None)
        found = Transcript(source, shape, self.id, self.title, start, tuple(self.turns), self.damaged)
        return found._replace(folder=clean(self.folder), automated=bool(self.automated))


MAX_NAME = 80
"""Characters of a speaker's, a tool's or a conversation's name."""

TOOL_CHARACTERS = 2_000
"""So much of a tool's output is kept: nothing is ever learned from it, and logs are mostly made of it."""

YEARS = range(1990, 2200)
"""An instant outside is a broken clock or another kind of number."""

IDS = (
    "conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "chat_id", "uuid", "id",
)  # fmt: skip
"""Where an object names its conversation, the surest first."""
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
"""Elements that programs, not the person, put into a message. Any other one with ``-`` or ``_`` in its name counts
likewise where it is closed; one of these counts also if it never is."""

_OWN = frozenset({"command-args", "user-memory-input"})
"""Elements in which a program puts what the person typed."""

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
"""ChatGPT's marks of citations, in characters that no font shows."""


class DamagedError(Exception):
    """A log ends early, or can't be read further; the message says why."""


def clean(text: str) -> str:
    r"""What was said: line breaks as ``\n``, without control characters, halves of characters and blank ends."""
    text = re.sub(r"\r\n|\r", "\n", text)
    if not text.isprintable():
        text = _MARKUP.sub("", _DROPPED.sub("", text))
        text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text.strip(" \t\n")


def own_words(text: str) -> str:
    """A message of the person without what a program put into it: reminders, output of commands, what an editor shows.

    Whoever writes what is in such an element (a tool, a web page) may write its closing tag and go on, so only what
    no such text can reach counts: what comes before the first element, and, if each one is closed, after the last. What
    is between two is nobody's: it may be the person's as well as the end of a forged element.
    """
    tags = [(match, *_tag_of(match)) for match in _TAG.finditer(text)]
    closed = {name for _, closes, name in tags if closes and ("-" in name or "_" in name)}
    tags = [each for each in tags if each[2] in (_INSERTED | closed) - _OWN]
    if tags:
        first, closes, _ = tags[0]
        kept = "" if closes else text[: first.start()]
        kept += text[tags[-1][0].end() :] if _are_balanced([each[1:] for each in tags]) else ""
        text = re.sub(r"\n{3,}", "\n\n", clean(kept))
    return _INTERRUPTED.sub("", _OWN_TAG.sub("", text))


def _tag_of(match: re.Match[str]) -> tuple[bool, str]:
    """Whether a tag closes, and its name as it looks."""
    return bool(match[1]), re.sub(f"[{_UNSEEN}]", "", match[2]).lower()


def _are_balanced(tags: Iterable[tuple[bool, str]]) -> bool:
    """Whether each opening tag has its closing one, within or beside the others."""
    still_open: list[str] = []
    for closes, name in tags:
        if not closes:
            still_open.append(name)
        elif not still_open or still_open.pop() != name:
            return False
    return not still_open


def name(value: object) -> str:
    """A name as one short line; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return " ".join(clean(value[: 4 * MAX_NAME]).split())[:MAX_NAME].rstrip()


def first(values: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of these that is there and says something."""
    return next((values[key] for key in keys if values.get(key) not in (None, "")), None)


def ident(values: Mapping[str, Any], keys: tuple[str, ...] = IDS) -> str:
    """The log's own name of a conversation; empty if it has none."""
    value = first(values, keys)
    return name(str(value) if isinstance(value, int) else value)


def time_of(values: Mapping[str, Any]) -> datetime | None:
    """When it was, by any of :data:`TIMES`."""
    return next((found for key in TIMES if (found := instant(values.get(key)))), None)


def instant(value: object) -> datetime | None:
    """An aware instant in the local zone, or None.

    Args:
        value: ISO 8601 or RFC 2822 text (without a zone: local time), or seconds, milli-, micro- or nanoseconds since
            1970.
    """
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, (int, float, Decimal)):
            return _since_1970(float(value))
        if not isinstance(value, str) or not 8 <= len(value) <= 64:
            return None
        text = value.strip()
        if re.fullmatch(r"\d{9,19}(?:\.\d{1,9})?", text):
            return _since_1970(float(text))
        found = _written(text)
        return found.astimezone() if found and found.year in YEARS else None
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        return None


def _written(text: str) -> datetime | None:
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


def _since_1970(number: float) -> datetime | None:
    for digits in (9, 6, 3):
        if abs(number) >= 10 ** (digits + 8.5):
            number /= 10**digits
    found = datetime.fromtimestamp(number, UTC)
    return found.astimezone() if found.year in YEARS else None
