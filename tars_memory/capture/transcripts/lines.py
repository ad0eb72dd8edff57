"""JSON lines: a conversation as one message a line, as one conversation a line, or as a session file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tars_memory.capture.transcripts import claude_code, codex, conversations, fields, messages
from tars_memory.capture.transcripts.draft import Draft
from tars_memory.capture.transcripts.fields import DamagedError, time_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from tars_memory.capture.turns import Transcript

MAX_LINE = 64_000_000
"""Bytes of one line; a longer one is passed over and counted as damaged."""

MAX_PASSED = 2 * MAX_LINE
"""Bytes of a longer line that are passed over; one that still goes on then ends the file."""

HELD_TURNS = 200_000
"""So many turns of unfinished conversations are held at once; then the one that is silent longest is given out. Only a
log in which conversations take turns comes near to it."""


GIVE_UP = 100_000
"""After so many values without a conversation a log is none."""

_DECODER = json.JSONDecoder(strict=False)
_TELLING = frozenset(
    (*messages.ROLE_KEYS, "type", "message", "mapping", "chat_messages", "prompt", "choices", "output", "input",
     "contents", "candidates", *conversations.HOLDERS, *conversations.WRAPPERS, *conversations.LISTS)
)  # fmt: skip
"""An object without any of these is no part of a conversation; to see that at once spares most of the time."""


class Chat:
    """A conversation whose messages come one by one."""

    def __init__(self, name: str) -> None:
        self.draft = Draft(name)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one message, or one question with its answer."""
        if not self.draft.title:
            self.draft.title = fields.name(record.get("conversation_name") or record.get("conversation_title"))
        inner = record.get("message")
        if messages.is_message(record):
            messages.add(self.draft, record)
        elif isinstance(inner, dict):
            messages.add(self.draft, inner, time=time_of(record))
        else:
            conversations.add_exchange(self.draft, record)

    def done(self, source: str) -> Transcript | None:
        """The conversation; None if nothing was said in it."""
        return self.draft.done(source, conversations.CHAT)


Session = Chat | claude_code.Session | codex.Session


class Reader:
    """Sorts the values of a log into conversations.

    Attributes:
        damaged: what couldn't be read, of no conversation yet.
        strange: values that are of no known shape; ``keys`` names those of the first one.
        found: conversations so far.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.damaged = 0
        self.strange = 0
        self.keys: tuple[str, ...] = ()
        self.found = 0
        self._open: dict[tuple[str, str], Session] = {}

    def take(self, value: object) -> Iterator[Transcript]:
        """Take in one value; a conversation that it completes is given out."""
        if isinstance(value, dict):
            if claude_code.is_line(value):
                self._session(claude_code.Session, "claude-code", str(value.get("sessionId") or "")).add(value)
                yield from self._full()
                return
            if codex.is_line(value):
                self._session(codex.Session, "codex", "").add(value)
                return
            if self._is_message(value):
                key = conversations.key_of(value)
                self._session(lambda: Chat(key), "chat", key).add(value)
                yield from self._full()
                return
            if _TELLING.isdisjoint(value):
                self._stranger(value)
                return
        known = False
        for one in conversations.several(value):
            transcript = conversations.transcript(one, self.source)
            if transcript is not None:
                known = True
                self.found += 1
                yield transcript
        if not known:
            self._stranger(value)

    def _stranger(self, value: object) -> None:
        self.strange += 1
        if isinstance(value, dict) and not self.keys:
            self.keys = tuple(fields.name(key) for key in list(value)[:6])

    def finish(self) -> Iterator[Transcript]:
        """Give out what is left, in the order in which it began."""
        sessions = list(self._open.values())
        self._open = {}
        for session in sessions:
            transcript = session.done(self.source)
            if transcript is not None:
                self.found += 1
                damaged, self.damaged = self.damaged, 0
                yield transcript._replace(damaged=transcript.damaged + damaged)

    @property
    def is_hopeless(self) -> bool:
        """Whether so much was read without a sign of a conversation that the rest is not worth it."""
        return self.strange + self.damaged > GIVE_UP and not self.found and not self._open

    def _is_message(self, value: Mapping[str, Any]) -> bool:
        inner = value.get("message")
        if messages.is_message(value) or conversations.is_exchange(value):
            return not any(isinstance(value.get(key), list) for key in ("messages", "choices", "chat_messages"))
        return isinstance(inner, dict) and messages.is_message(inner) and "choices" not in value

    def _session(self, make: Any, kind: str, key: str) -> Any:
        """The conversation that a record belongs to; one without a name goes on with the last one of its kind."""
        if not key:
            key = next((known for of, known in reversed(self._open) if of == kind), "")
        elif (kind, "") in self._open and (kind, key) not in self._open:
            self._open[kind, key] = self._open.pop((kind, ""))  # records before the first one that has a name
        session = self._open.pop((kind, key), None) or make()
        self._open[kind, key] = session  # the last one is the one that spoke last
        return session

    def _full(self) -> Iterator[Transcript]:
        if len(self._open) > 1 and sum(len(session.draft.turns) for session in self._open.values()) > HELD_TURNS:
            session = self._open.pop(next(iter(self._open)))
            transcript = session.done(self.source)
            if transcript is not None:
                self.found += 1
                yield transcript


def read(stream: BinaryIO, reader: Reader) -> Iterator[Transcript]:
    """The conversations of a file of JSON lines. A line that can't be read is counted; the rest is read all the same.

    A last line without its line ending that can't be read is half a line of a session that goes on: no damage.

    Raises:
        DamagedError: a line has no end. What came before waits in :meth:`Reader.finish`, as for a stream that breaks.
    """
    while line := stream.readline(MAX_LINE):
        whole = line.endswith(b"\n")
        if not whole and len(line) >= MAX_LINE:
            passed = len(line)
            while (rest := stream.readline(MAX_LINE // 64)) and not rest.endswith(b"\n"):
                passed += len(rest)
                if passed > MAX_PASSED:
                    raise DamagedError(f"a line is longer than {MAX_PASSED // 1_000_000} MB")
            reader.damaged += 1
            continue
        for value in values(line):
            if value is None:
                reader.damaged += whole
            else:
                yield from reader.take(value)
        if reader.is_hopeless:
            break


def values(line: bytes) -> Iterator[Any]:
    """The JSON values of one line, usually one; None for what is none. A blank line has none."""
    text = line.decode("utf-8", "replace").strip(" \t\r\n\0\ufeff\x1e")
    if not text:
        return
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield value if value is not None else {}
        while at < len(text) and text[at] in " \t\r,\0\x1e":
            at += 1
