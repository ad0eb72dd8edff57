"""Events that coding agents send to their hooks, and the files that hooks write.

An agent waits for its hook, so this module imports nothing from the other rooms: work that takes time runs in a
process of its own (:mod:`tars_memory.doors.cli.background`), which shares nothing with the agent, not even a pipe or a
terminal.
"""

import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import SettingsError, UsageError, shortened

START, PROMPT, COMPACT, END = "start", "prompt", "compact", "end"
TOOL, CORRECTION = "tool", "correction"

KINDS = {
    "sessionstart": START,
    "start": START,
    "userpromptsubmit": PROMPT,
    "beforeagent": PROMPT,
    "prompt": PROMPT,
    "precompact": COMPACT,
    "precompress": COMPACT,
    "compact": COMPACT,
    "sessionend": END,
    "end": END,
    "posttooluse": TOOL,
    "aftertool": TOOL,
    "tool": TOOL,
    "correction": CORRECTION,
}
"""Kinds of events by name, in lower case without ``-`` and ``_``: the names of all :data:`AGENTS`, and a plain word for
each. Other events are ignored.
"""

LINES = {"tools": TOOL, "corrections": CORRECTION, "compaction": COMPACT}
"""The kinds of events that can get a line in today's note, by their names in ``[hook] lines``."""

LINE = 80
"""Maximum number of characters in such a line that describe the event."""

TAIL = 64_000
"""Number of bytes at the end of a log in which to look for a sign that the person stopped the agent."""

STOPPED = ("[Request interrupted by user", "<turn_aborted")
"""The beginnings of the messages by which Claude Code and Codex record that the person stopped them."""

AGENTS = ("claude", "codex", "gemini", "cursor", "copilot")
"""The agents that we know how to answer, as ``--agent`` takes them."""

UNREAD = ("gemini", "cursor", "copilot")
"""The agents whose logs can't be read, so that there is nothing to examine."""

CLEANUP_DAYS = 30
"""Days after which Claude Code deletes conversations, unless ``cleanupPeriodDays`` says otherwise."""

EXAMPLE = 'it looks like {"hook_event_name": "SessionStart"}'
"""A hint for input that is not an event."""

LONGEST_EVENT = 32_000_000
"""Maximum number of characters in an event; a prompt with a whole file in it is far below."""

LONGEST_PROMPT = 1_000
"""Maximum number of characters in a prompt that is searched as one question. In a longer prompt the person pasted
something, and asks before or after it; a single pasted line is enough for a search to find nothing.
"""

LONGEST_LOG = 200_000
"""Size in bytes at which the log is rotated; one old log is kept."""

LONGEST_LINE = 1_000
"""Maximum number of characters in a line of the log."""

LONGEST_COPY = 64_000_000
"""Maximum size in bytes of a transcript that is copied while the agent waits (about 30 ms); a larger one is linked."""

FORGOTTEN = 14 * 86_400
"""Seconds after which counts are removed, and copies and marks of conversations that could not be examined in all that
time. A computer may have been off, so the age of a copy alone says nothing.
"""

RETRIES = 3
"""Maximum number of unexamined conversations that are examined when a session starts, the latest first."""


class Event(NamedTuple):
    """An event that an agent sent.

    Attributes:
        name: as it was written.
        kind: ``start``, ``prompt``, ``compact``, ``end``, ``tool``, ``correction``; empty for one that is ignored.
        transcript: the absolute path of the conversation's log; empty if none is given, or if it is not a regular file.
        folder: where the agent works; empty if none is given, or if it doesn't exist.
        prompt: what the person typed.
        cursor: whether it comes from Cursor, which names its version in each event.
        what: details for the daily line: a tool's input, or how a compaction came about.
        tool: the tool's name.
    """

    name: str
    kind: str
    transcript: str
    folder: str
    prompt: str
    cursor: bool = False
    what: str = ""
    tool: str = ""


def event_of(data: bytes) -> Event:
    """Parse an event.

    Raises:
        UsageError: the data is not a JSON object with the event's name.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event is not JSON: {error}", EXAMPLE) from None
    if not isinstance(values, dict) or not isinstance(values.get("hook_event_name"), str):
        raise UsageError("the event has no hook_event_name", EXAMPLE)
    name = values["hook_event_name"]
    kind = KINDS.get(name.lower().replace("-", "").replace("_", ""), "")
    roots = values.get("workspace_roots")  # from Cursor, which can have several folders open
    folder = _text(values, "cwd") or (_text({"": roots[0]}, "") if isinstance(roots, list) and roots else "")
    folder = folder if os.path.isabs(folder) and os.path.isdir(folder) else ""
    transcript = os.path.expanduser(_text(values, "transcript_path"))
    if transcript:
        transcript = os.path.realpath(os.path.join(folder, transcript))
    transcript = transcript if _is_file(transcript) else ""
    details = _tool_input(values.get("tool_input")) if kind == TOOL else ""
    if kind == COMPACT:
        details = ": ".join(filter(None, (_text(values, "trigger"), _text(values, "custom_instructions"))))
    cursor = "cursor_version" in values
    return Event(name, kind, transcript, folder, _text(values, "prompt"), cursor, details, _text(values, "tool_name"))


def lines_of(names: Sequence[str]) -> dict[str, str]:
    """Return the kinds of events that get a line in today's note, by their names in ``[hook] lines``.

    Raises:
        SettingsError: the setting names an unknown one.
    """
    for name in names:
        if name not in LINES:
            raise SettingsError(f"hook.lines: {name!r} is unknown", f"it is off, or some of {', '.join(LINES)}")
    return {name: LINES[name] for name in names}


def daily_line(agent: str, event: Event, wanted: Collection[str], mask: Callable[[str], str]) -> str:
    """Return the line for an event in today's note, in the form that tars uses; empty for none.

    Args:
        agent: who sent the event.
        event: that it sent.
        wanted: the kinds of events that get a line.
        mask: hides credentials; called before a text is cut, for half a credential would not be recognised.
    """
    if event.kind == TOOL in wanted:
        name = cut(mask(event.tool), LINE) or "?"
        label, _, given = mask(event.what).partition(": ")
        return f"tool:{name} — {cut(given or label, LINE)}" if event.what else f"tool:{name}"
    if event.kind == COMPACT in wanted:
        how = cut(mask(event.what), LINE)
        return f"[{agent or 'agent'}] session compacted" + (f" — {how}" if how else "")
    stopped = event.kind == PROMPT and CORRECTION in wanted and was_stopped(event.transcript, event.prompt)
    if stopped or event.kind == CORRECTION in wanted:
        prompt = cut(mask(event.prompt), LINE)
        return f"correction: {prompt}" if prompt else ""
    return ""


def was_stopped(transcript: str, prompt: str) -> bool:
    """Whether the person's last act in a conversation was to stop the agent, so that this prompt corrects it.

    Args:
        transcript: the log.
        prompt: what the person types now; skipped if it is in the log already.
    """
    try:
        with open(transcript, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - TAIL))
            rows = log.read().split(b"\n")
    except OSError:
        return False
    for row in reversed(rows):
        try:
            record = json.loads(row)
        except (ValueError, RecursionError):
            continue
        for text in reversed(_message_texts(record)):
            if text.lstrip().startswith(STOPPED):
                return True
            if text.strip() != prompt.strip():
                return False
    return False


def _message_texts(record: object) -> list[str]:
    """Return the texts of a message in a log of Claude Code or Codex; of a message of the model only ``…``."""
    if not isinstance(record, dict):
        return []
    message = record.get("message") or record.get("payload")
    if record.get("type") not in ("user", "assistant", "response_item") or not isinstance(message, dict):
        return []
    if message.get("role") == "assistant":
        return ["…"]
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)] if message.get("role") == "user" else []


def cut(text: str, most: int) -> str:
    """Return a text as one line of at most ``most`` characters."""
    return shortened(" ".join(text.split()), most)


def _tool_input(value: object) -> str:
    """Return the first text in a tool's input, with its label, by which a credential is recognised; else it as JSON."""
    if isinstance(value, dict):
        for name in value:
            if words := _text(value, name).strip():
                return f"{name}: {words}"
    return f": {value}" if isinstance(value, str) else f": {json.dumps(value, ensure_ascii=False)}" if value else ""


def questions(prompt: str) -> list[str]:
    """Return the queries to try in turn until one finds something: the prompt, or a long one's first and last line."""
    if len(prompt) <= LONGEST_PROMPT:
        return [prompt]
    lines = [line for line in prompt.split("\n") if line.strip()]
    ends = (lines[0][:LONGEST_PROMPT], lines[-1][-LONGEST_PROMPT:]) if lines else ()
    return [end for end in ends if end.strip()]


def context_reply(agent: str, event: Event, text: str) -> dict[str, Any] | None:
    """Return the context in the form that an agent reads; None if the agent reads none after this event.

    Args:
        agent: one of :data:`AGENTS`; empty for Claude Code's form, which most of them took over.
        event: that it sent.
        text: the context.
    """
    if agent == "cursor" or (event.cursor and not agent):
        return {"additional_context": text} if event.kind == START else None
    if agent == "copilot":
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def _text(values: dict[str, Any], name: str) -> str:
    """Return a text of a JSON object; empty if there is none, or if it has a NUL character."""
    value = values.get(name)
    if not isinstance(value, str) or "\0" in value:
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")  # lone surrogates can't be in a file name


def _is_file(path: str) -> bool:
    try:
        return bool(path) and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


class HookFolder:
    """The folder in which hooks keep their files: the log, counts of messages, copies of conversations, locks.

    Args:
        folder: created when something is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    def log(self, text: str) -> None:
        """Append one line with the time to the log; errors are ignored, since no caller depends on it."""
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {' | '.join(text.split(chr(10)))[:LONGEST_LINE]}\n"
        path = os.path.join(self.folder, "hook.log")
        with suppress(OSError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with open(disk.append_to(path), "ab", buffering=0) as file:
                file.write(line.encode("utf-8", "backslashreplace"))
                full = os.fstat(file.fileno()).st_size > LONGEST_LOG
            if full:
                os.replace(path, f"{path}.1")

    def count(self, transcript: str) -> int:
        """Count one more message of the person in a conversation, and return its number; the first is 1.

        The count is the length of a file: it can't be half written, and two messages at once count as two.

        Raises:
            OSError: it can't be written.
        """
        folder = os.path.join(self.folder, "counts")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(disk.append_to(os.path.join(folder, key(transcript))), "ab", buffering=0) as file:
            file.write(b".")
            return file.tell()

    def watch(self, transcript: str) -> None:
        """Mark a conversation as not yet examined."""
        path = Path(self.folder, "kept", key(transcript), "transcript")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk.replace(path, os.fsencode(transcript))

    def keep(self, transcript: str) -> None:
        """Copy a conversation as it is now; the copy is kept until it has been examined.

        Raises:
            OSError: it can be neither copied nor linked.
        """
        home = os.path.join(self.folder, "kept", key(transcript))
        folder = os.path.join(home, f"{time.time_ns():x}")
        os.makedirs(folder, mode=0o700)
        self.watch(transcript)
        path = os.path.join(folder, os.path.basename(transcript))
        if os.path.getsize(transcript) <= LONGEST_COPY:
            try:
                _copy(transcript, path)
            except OSError as error:  # the disk may be full: a link needs no room
                self.log(f"{transcript} could not be copied ({error.strerror}), it is linked")
            else:
                return
        os.link(transcript, path)

    def kept(self, transcript: str) -> list[str]:
        """Return the copies of a conversation, oldest first."""
        home = Path(self.folder, "kept", key(transcript))
        return [str(path) for path in sorted(home.glob("*/*")) if not path.name.endswith(".part")]

    def sources(self, transcript: str) -> list[str]:
        """Return the files that contain a conversation: its copies, except those that its log still begins with, and
        the log, if it exists.
        """
        log = [transcript] if os.path.isfile(transcript) else []
        return [*(copy for copy in self.kept(transcript) if not log or not holds(transcript, copy)), *log]

    def begin(self, transcript: str) -> None:
        """Record when it was first tried to examine a conversation; :meth:`prune` spares what was never tried."""
        path = Path(self.folder, "kept", key(transcript), "begun")
        if path.parent.is_dir() and not path.exists():
            disk.replace(path, b"")

    def left(self, most: int | None = RETRIES, *, but: str = "") -> list[str]:
        """Return the conversations marked as not yet examined, the latest first.

        Their sessions were killed or closed without an event, go on elsewhere, or could not be examined.

        Args:
            most: maximum number to return; None for all.
            but: a conversation to leave out.
        """
        found: list[tuple[float, str]] = []
        for mark in Path(self.folder, "kept").glob("*/transcript"):
            try:
                path = os.fsdecode(disk.read(mark) or b"")
                if path and "\0" not in path and path != but:
                    found.append((mark.stat().st_mtime, path))
            except (OSError, SettingsError):
                continue
        return [path for _, path in sorted(found, reverse=True)][:most]

    def drop(self, transcript: str, copies: list[str], before: float) -> None:
        """Remove copies of a conversation that was examined, and its mark.

        The mark stays if there are other copies, or if it was set after the examination began.

        Args:
            transcript: the conversation's log.
            copies: to remove.
            before: when the examination began, in seconds since the epoch.
        """
        for copy in map(Path, copies):
            _remove(copy, copy.parent)
        mark = Path(self.folder, "kept", key(transcript), "transcript")
        if not self.kept(transcript):
            _remove(
                mark.with_name("begun"),
                mark.with_name("examined"),
                *([mark] if _older(mark, before) else []),
                mark.parent,
            )

    def set_aside(self, transcript: str, before: float) -> None:
        """Count a conversation as examined, by a night that may be undone: keep its copies, and its mark for
        :meth:`bring_back`. The mark stays as it is if it was set after the examination began, at ``before``.

        Raises:
            OSError: it can't be written.
        """
        mark = Path(self.folder, "kept", key(transcript), "transcript")
        if _older(mark, before):
            disk.replace(mark.with_name("examined"), os.fsencode(transcript))
            _remove(mark)

    def bring_back(self) -> None:
        """Mark the conversations again that nights have :meth:`set_aside`."""
        for mark in Path(self.folder, "kept").glob("*/examined"):
            with suppress(OSError):
                mark.replace(mark.with_name("transcript"))

    def prune(self) -> None:
        """Remove old files: counts and locks of ended conversations, and copies and marks of conversations that could
        not be examined, or that a night examined.
        """
        before = time.time() - FORGOTTEN
        for path in (*Path(self.folder, "counts").glob("*"), *Path(self.folder).glob("*.lock")):
            if _older(path, before):
                _remove(path)
        for tried in (*Path(self.folder, "kept").glob("*/begun"), *Path(self.folder, "kept").glob("*/examined")):
            if not _older(tried, before):
                continue
            for copy in tried.parent.glob("*/*"):
                if _older(copy.parent, before):
                    _remove(copy, copy.parent)
            mark = tried.with_name("transcript")
            if not (mark.exists() and not _older(mark, before)) and not [*tried.parent.glob("*/*")]:
                _remove(mark, tried, tried.parent)

    def lock(self, transcript: str, name: str) -> Path:
        """Return the path of a lock file of one conversation."""
        return Path(self.folder, f"{key(transcript)}.{name}.lock")


def key(transcript: str) -> str:
    """Return the name under which a conversation's files are kept."""
    return disk.sha256(os.fsencode(transcript)).hexdigest()[:16]


def holds(transcript: str, copy: str) -> bool:
    """Whether a conversation's log still begins with the whole copy."""
    try:
        with open(transcript, "rb") as whole, open(copy, "rb") as part:
            while portion := part.read(1 << 20):
                if whole.read(len(portion)) != portion:
                    return False
    except OSError:
        return False
    return True


def start_background(
    desk: HookFolder, vault: Path, transcript: str, env: Mapping[str, str], *, goes_on: bool = False
) -> None:
    """Start a process that examines a conversation and outlives the agent.

    Args:
        desk: of the vault.
        vault: its real path.
        transcript: the conversation's log.
        env: for the process.
        goes_on: the person has just typed something that may not be in the log yet, so the mark stays.

    Raises:
        OSError: it can't be started.
    """
    os.makedirs(desk.folder, mode=0o700, exist_ok=True)
    # -P: don't import modules from the folder that the agent works in
    argv = [sys.executable, "-P", "-m", "tars_memory.doors.cli.background", desk.folder, str(vault), transcript]
    argv += ["goes-on"] if goes_on else []
    env = {**env, "TARS_MEMORY_ACTOR": "agent"}
    disk.spawn(argv, env, os.path.join(desk.folder, "background.out"))


def _copy(source: str, target: str) -> None:
    """Copy a file; the target gets its name only when it is complete."""
    part = f"{target}.part"
    try:
        with open(source, "rb") as reader, open(part, "xb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
        os.replace(part, target)
    except OSError:
        _remove(Path(part))
        raise


def _older(path: Path, before: float) -> bool:
    """Whether a file was last changed before a time in seconds since the epoch; False if there is no such file."""
    try:
        return path.stat().st_mtime < before
    except OSError:
        return False


def _remove(*paths: Path) -> None:
    """Remove files, and folders if they are empty, as far as that is possible."""
    for path in paths:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
