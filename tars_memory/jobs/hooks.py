"""What coding agents say to their hooks, and what is begun, kept and counted because of it.

An agent waits for its hook, so nothing of the other rooms is imported here: what takes time is begun as a process of
its own (:mod:`tars_memory.doors.cli.background`), which shares nothing with the agent, not even a pipe or a terminal.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tars_memory import disk
from tars_memory.disk import sha256
from tars_memory.errors import SettingsError, UsageError

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
"""Events by name, without case, ``-`` and ``_``: those of all :data:`AGENTS`, and a plain word for each. All others are
ignored.
"""

LINES = {"tools": TOOL, "corrections": CORRECTION, "compaction": COMPACT}
"""What ``[hook] lines`` takes: of which events today's note gets a line."""

LINE = 80
"""Characters of such a line that say what happened."""

TAIL = 64_000
"""Bytes at the end of a log in which the sign is looked for that the person stopped the agent."""

STOPPED = ("[Request interrupted by user", "<turn_aborted")
"""How Claude Code and Codex write down, in a message of its own, that the person stopped them."""

AGENTS = ("claude", "codex", "gemini", "cursor", "copilot")
"""The agents whose way of being answered is known, as ``--agent`` takes them."""

UNREAD = ("gemini", "cursor", "copilot")
"""Those of them whose logs can't be read: there is nothing to examine."""

CLEANUP_DAYS = 30
"""Days after which Claude Code deletes conversations, unless ``cleanupPeriodDays`` says otherwise."""

EXAMPLE = 'it looks like {"hook_event_name": "SessionStart"}'

LONGEST_EVENT = 32_000_000
"""Characters of an event; a prompt with a whole file in it is far below."""

LONGEST_PROMPT = 1_000
"""Characters of a prompt that is searched as one question. In a longer one the person pasted something, and asks before
or after it; a single pasted line is enough for a search to find nothing.
"""

LONGEST_LOG = 200_000
"""Bytes of the log before it becomes the old one, of which there is one."""

LONGEST_LINE = 1_000
"""Characters of one line of the log."""

LONGEST_COPY = 64_000_000
"""Bytes of a transcript that is copied while the agent waits (about 30 ms); a bigger one is linked."""

FORGOTTEN = 14 * 86_400
"""Seconds after which counts, and copies and marks of what nobody could examine, are removed."""

RETRIES = 3
"""Conversations left behind that are examined when a session starts, the latest first."""


class Event(NamedTuple):
    """What an agent told.

    Attributes:
        name: as it was written.
        kind: ``start``, ``prompt``, ``compact``, ``end``; empty for one that is ignored.
        transcript: the conversation's log, with its whole path; empty if there is none, or no regular file is there.
        folder: where the agent works; empty if it wasn't said, or isn't there.
        prompt: what the person typed.
        cursor: Cursor told it: each of its events names its version.
        what: that a daily line tells: what a tool was given, how a compaction came about.
        tool: its name.
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
    """The event that these bytes hold.

    Raises:
        UsageError: it is not a JSON object with the event's name.
    """
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event is not JSON: {error}", EXAMPLE) from None
    if not isinstance(said, dict) or not isinstance(said.get("hook_event_name"), str):
        raise UsageError("the event has no hook_event_name", EXAMPLE)
    name = said["hook_event_name"]
    kind = KINDS.get(name.lower().replace("-", "").replace("_", ""), "")
    roots = said.get("workspace_roots")  # of Cursor, which knows several
    folder = _text(said, "cwd") or (_text({"": roots[0]}, "") if isinstance(roots, list) and roots else "")
    folder = folder if os.path.isabs(folder) and os.path.isdir(folder) else ""
    transcript = os.path.expanduser(_text(said, "transcript_path"))
    if transcript:
        transcript = os.path.realpath(os.path.join(folder, transcript))
    transcript = transcript if _is_file(transcript) else ""
    what = _given(said.get("tool_input")) if kind == TOOL else ""
    if kind == COMPACT:
        what = ": ".join(filter(None, (_text(said, "trigger"), _text(said, "custom_instructions"))))
    cursor = "cursor_version" in said
    return Event(name, kind, transcript, folder, _text(said, "prompt"), cursor, what, _text(said, "tool_name"))


def lines_of(said: str) -> dict[str, str]:
    """The kinds of events of which today's note gets a line, by their names in ``[hook] lines``.

    Raises:
        SettingsError: it names another one.
    """
    names = [] if said.strip().lower() == "off" else [name for name in map(str.strip, said.split(",")) if name]
    for name in names:
        if name not in LINES:
            raise SettingsError(f"hook.lines: {name!r} is unknown", f"it is off, or some of {', '.join(LINES)}")
    return {name: LINES[name] for name in names}


def daily_line(agent: str, event: Event, wanted: Collection[str], mask: Callable[[str], str]) -> str:
    """The line that an event gets in today's note, as tars writes it; empty for none.

    Args:
        agent: who told it.
        event: that it told.
        wanted: the kinds of events that get one.
        mask: hides credentials; asked before a text is cut, for half of one is not known again.
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
        said = cut(mask(event.prompt), LINE)
        return f"correction: {said}" if said else ""
    return ""


def was_stopped(transcript: str, prompt: str) -> bool:
    """Whether the last that the person did in a conversation was to stop the agent: what he types now corrects it.

    Args:
        transcript: the log.
        prompt: what he types now; passed over if it is in the log already.
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
        for said in reversed(_said(record)):
            if said.lstrip().startswith(STOPPED):
                return True
            if said.strip() != prompt.strip():
                return False
    return False


def _said(record: object) -> list[str]:
    """The texts of a message in a log of Claude Code or Codex; of the model's the word that it said something."""
    if not isinstance(record, dict):
        return []
    message = record.get("message") or record.get("payload")
    if record.get("type") not in ("user", "assistant", "response_item") or not isinstance(message, dict):
        return []
    if message.get("role") == "assistant":
        return ["…"]
    held = message.get("content")
    parts = held if isinstance(held, list) else [{"text": held}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)] if message.get("role") == "user" else []


def cut(text: str, most: int) -> str:
    """A text as one line of at most ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _given(value: object) -> str:
    """What a tool was given: its first words, with their label, which tells a credential; else all of it as JSON."""
    if isinstance(value, dict):
        for name in value:
            if words := _text(value, name).strip():
                return f"{name}: {words}"
    return f": {value}" if isinstance(value, str) else f": {json.dumps(value, ensure_ascii=False)}" if value else ""


def questions(prompt: str) -> list[str]:
    """What is searched until something is found: all of a prompt; of a long one its first line, then its last."""
    if len(prompt) <= LONGEST_PROMPT:
        return [prompt]
    lines = [line for line in prompt.split("\n") if line.strip()]
    return [cut for cut in (lines[0][:LONGEST_PROMPT], lines[-1][-LONGEST_PROMPT:]) if cut.strip()] if lines else []


def answer(agent: str, event: Event, text: str) -> dict[str, Any] | None:
    """What an agent reads as context, in its own form; None if it can't be told anything at this event.

    Args:
        agent: one of :data:`AGENTS`; empty for Claude Code's form, which most of them took over.
        event: that it told.
        text: the context.
    """
    if agent == "cursor" or (event.cursor and not agent):
        return {"additional_context": text} if event.kind == START else None
    if agent == "copilot":
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str) or "\0" in value:
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")  # halves of characters name no file


def _is_file(path: str) -> bool:
    try:
        return bool(path) and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


class Desk:
    """What hooks write down, in one folder: the log, counts of messages, copies of conversations, locks.

    Args:
        folder: made when something is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    def log(self, text: str) -> None:
        """Add one line, with the time; nothing that goes wrong here matters to anybody who waits."""
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {' | '.join(text.split(chr(10)))[:LONGEST_LINE]}\n"
        path = os.path.join(self.folder, "hook.log")
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            descriptor = disk.append_to(path)
            try:
                os.write(descriptor, line.encode("utf-8", "backslashreplace"))
                full = os.fstat(descriptor).st_size > LONGEST_LOG
            finally:
                os.close(descriptor)
            if full:
                os.replace(path, f"{path}.1")
        except OSError:
            return

    def count(self, transcript: str) -> int:
        """Which message of the person this is in that conversation; the first is 1.

        The count is the length of a file: it can't be half written, and two messages at once are two.

        Raises:
            OSError: it can't be written.
        """
        folder = os.path.join(self.folder, "counts")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = disk.append_to(os.path.join(folder, key(transcript)))
        try:
            os.write(descriptor, b".")
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)

    def watch(self, transcript: str) -> None:
        """Note that a conversation has words that nobody examined yet."""
        path = Path(self.folder, "kept", key(transcript), "transcript")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk.replace(path, os.fsencode(transcript))

    def keep(self, transcript: str) -> None:
        """Keep a conversation as it is now, until it has been examined.

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
            except OSError as error:  # no room: a link takes none
                self.log(f"{transcript} could not be copied ({error.strerror}), it is linked")
            else:
                return
        os.link(transcript, path)

    def kept(self, transcript: str) -> list[str]:
        """The copies of a conversation, oldest first."""
        home = Path(self.folder, "kept", key(transcript))
        return [str(path) for path in sorted(home.glob("*/*")) if not path.name.endswith(".part")]

    def left(self, most: int | None = RETRIES, *, but: str = "") -> list[str]:
        """Conversations with words that wait to be examined, the latest first: of sessions that were killed or closed
        without a word, that go on elsewhere, or whose examination failed.

        Args:
            most: how many of them; None for all.
            but: one that is left out.
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
        """A conversation was examined: remove copies that are no longer needed, and the mark that it waits.

        Args:
            transcript: its log.
            copies: to remove.
            before: seconds since 1970 when the examination began; what was said since waits for the next one.
        """
        for copy in copies:
            _remove(copy)
            _remove(os.path.dirname(copy))
        home = os.path.join(self.folder, "kept", key(transcript))
        mark = Path(home, "transcript")
        if not self.kept(transcript) and _older(mark, before):
            _remove(str(mark))
            _remove(home)

    def prune(self) -> None:
        """Remove what is old: counts of conversations that ended long ago, copies that nobody could examine."""
        before = time.time() - FORGOTTEN
        for path in (*Path(self.folder, "counts").glob("*"), *Path(self.folder).glob("*.lock")):
            if _older(path, before):
                _remove(str(path))
        for path in Path(self.folder, "kept").glob("*/*/*"):
            if _older(path.parent, before):
                _remove(str(path))
                _remove(str(path.parent))
        for mark in Path(self.folder, "kept").glob("*/transcript"):
            if _older(mark, before) and not [*mark.parent.glob("*/*")]:
                _remove(str(mark))
                _remove(str(mark.parent))

    def lock(self, transcript: str, name: str) -> Path:
        """A lock file of one conversation."""
        return Path(self.folder, f"{key(transcript)}.{name}.lock")


def key(transcript: str) -> str:
    """The name under which a conversation's things are kept."""
    return sha256(os.fsencode(transcript)).hexdigest()[:16]


def holds(transcript: str, copy: str) -> bool:
    """Whether a conversation still begins with all of its copy."""
    try:
        with open(transcript, "rb") as whole, open(copy, "rb") as part:
            while portion := part.read(1 << 20):
                if whole.read(len(portion)) != portion:
                    return False
    except OSError:
        return False
    return True


def begin(desk: Desk, vault: Path, transcript: str, env: Mapping[str, str]) -> None:
    """Examine a conversation in a process of its own, which lives on when the agent ends.

    Raises:
        OSError: it can't be started.
    """
    os.makedirs(desk.folder, mode=0o700, exist_ok=True)
    # -P: the folder that the agent works in must not lend us its modules
    argv = [sys.executable, "-P", "-m", "tars_memory.doors.cli.background", desk.folder, str(vault), transcript]
    env = {**env, "TARS_MEMORY_ACTOR": "agent"}
    disk.spawn(argv, env, os.path.join(desk.folder, "background.out"))


def _copy(source: str, target: str) -> None:
    """Copy bytes; the target has its name when it is whole."""
    part = f"{target}.part"
    try:
        with open(source, "rb") as read, open(part, "xb") as written:
            while portion := read.read(1 << 20):
                written.write(portion)
        os.replace(part, target)
    except OSError:
        _remove(part)
        raise


def _older(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except OSError:
        return False


def _remove(path: str) -> None:
    try:
        os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
    except OSError:
        return
