"""One call of the program: the options that every command takes, who is calling, and the vault it is about."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tars_memory.cli.output import Output
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from tars_memory.memory import Memory
    from tars_memory.vault.model import Actor

ACTORS: tuple[Actor, ...] = ("agent", "script", "cron", "person")
"""What ``TARS_MEMORY_ACTOR`` may say. ``person`` holds only where a person could be: at a terminal."""

AGENT_MARKS = ("CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE")
"""Variables that coding agents set for the commands they run, some of them on a terminal of their own making."""


class Call:
    """What the shared options said, and what a command needs to answer.

    Attributes:
        vault: ``--vault``, or None.
        project: ``--project``, or None.
        json, quiet: as in :class:`Output`.
        dry_run: plan and show, write nothing.
        now: the instant fixed by ``--now`` or ``TARS_NOW``, with a time zone; None means the clock.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.env = os.environ if env is None else env
        self.out = Output(self.env)
        self.vault: str | None = None
        self.project: str | None = None
        self.now: datetime | None = None
        self.dry_run = False
        self._now_text: str | None = None
        self._memory: Memory | None = None

    def take(self, name: str, value: Any) -> None:
        """Take in one shared option; given before and after the command's name, the later one holds."""
        if name == "now":
            self._now_text = value
        elif name in ("json", "quiet"):
            setattr(self.out, name, value)
        else:
            setattr(self, name, value)

    def begin(self) -> None:
        """Check what the shared options and their variables say, before any work.

        Raises:
            UsageError: the instant or the actor can't be understood.
        """
        where, text = "--now", self._now_text
        if text is None:
            where, text = "TARS_NOW", self.env.get("TARS_NOW") or None
        if text is not None:
            self.now = instant(text, where)
        named = self.env.get("TARS_MEMORY_ACTOR")
        if named and named not in ACTORS:
            raise UsageError(f"TARS_MEMORY_ACTOR={named!r} is unknown", f"it is one of {', '.join(ACTORS)}")

    @property
    def interactive(self) -> bool:
        """Whether a person sits here: both ends of the conversation are a terminal, and no agent says it is one."""
        return self.actor == "person"

    @property
    def actor(self) -> Actor:
        """Who calls. The environment may make less of a caller, never a person of one without a terminal."""
        named = self.env.get("TARS_MEMORY_ACTOR")
        for actor in ACTORS:
            if actor == named and actor != "person":
                return actor
        if any(self.env.get(mark) for mark in AGENT_MARKS):
            return "agent"
        if _is_terminal(sys.stdin) and (_is_terminal(sys.stderr) or _is_terminal(sys.stdout)):
            return "person"
        return "script" if self.env.get("TERM") else "cron"

    def memory(self) -> Memory:
        """The vault's memory, opened on first use.

        Raises:
            VaultError: there is no vault.
        """
        if self._memory is None:
            self._memory = self.fresh_memory()
        return self._memory

    def fresh_memory(self) -> Memory:
        """The vault's memory, opened anew: with the settings as they are now. The caller closes it.

        Raises:
            VaultError: there is no vault.
        """
        from tars_memory.memory import Memory

        return Memory(
            self.vault,
            actor=self.actor,
            interactive=self.interactive,
            now=self.now,
            dry_run=self.dry_run,
            env=self.env,
            project=self.project,
        )

    def close(self) -> None:
        """Let go of the vault, if it was opened."""
        if self._memory is not None:
            self._memory.close()

    def notices(self, *more: Iterable[str]) -> list[str]:
        """What the person should know beside the answer: said on stderr, returned for JSON; each once."""
        found: list[str] = []
        for group in ((self._memory.notices if self._memory is not None else ()), *more):
            found.extend(notice for notice in group if notice not in found)
        for notice in found:
            self.out.say(notice)
        return found

    def words(self, words: list[str] | None, what: str, *, stdin: bool = False) -> str:
        """The remaining words as one text, or what stdin holds.

        Args:
            words: as the shell gave them.
            what: the metavar, for the message.
            stdin: ``--stdin`` was given.

        Raises:
            UsageError: both, or nothing.
        """
        if stdin:
            if words:
                raise UsageError(f"both {what} and --stdin", "give one of them")
            text = read_stdin()
            if not text.strip():
                raise UsageError("nothing came on stdin", "pipe the text in: … | tars-memory remember --stdin")
            return text
        text = " ".join(words or ())
        if not text.strip():
            raise UsageError(f"{what} is missing", "write it behind the command; tars-memory --help lists them")
        return text


def instant(text: str, where: str) -> datetime:
    """An instant in ISO form; without a zone it is local time.

    Raises:
        UsageError: it is none.
    """
    from datetime import datetime

    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{where}: {text!r} is no date or time ({error})", "write it like 2026-11-21T14:30 or 2026-11-21"
        ) from None


def read_stdin() -> str:
    """All of stdin as text; bytes that are no UTF-8 are kept as lone surrogates."""
    if sys.stdin is None:
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False
