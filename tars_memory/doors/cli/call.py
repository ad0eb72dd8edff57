"""One call of the program: parse its command line and shared options, find out who calls, open the vault, ask the
person.

typer makes each command from its function. This module adds three things, once, for all commands: the options that
every command takes (and those that every writer takes), that these options may come before or after the command's name,
and that the words of commands that take TEXT may begin with a dash. It also decides who answers a prompt: a model,
another program (``--print-prompt``, then ``--reply``), or nobody (``--dry-run``).
"""

from __future__ import annotations

import locale
import os
import re
import select
import shlex
import signal
import sys
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import cached_property, partial, wraps
from inspect import Parameter, Signature, signature  # typer has imported it
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import normalize

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

import tars_memory
from tars_memory import curation, disk, language, settings, vault
from tars_memory.doors.cli import output
from tars_memory.errors import TarsError, TransientNotice, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tars_memory.curation.models.llm import LanguageModel, Prompt
    from tars_memory.memory import Memory
    from tars_memory.vault.model import Actor
    from tars_memory.workspace import Opening, Workspace


PATIENCE = 3.0
"""Seconds that a search waits for the first reading of a vault; then it answers from what has been read."""

ACTORS: tuple[Actor, ...] = ("agent", "script", "cron", "person")
"""Values that ``TARS_MEMORY_ACTOR`` may have. ``person`` only counts where a person could be: at a terminal."""

STDIN_PART = 65_536
"""Maximum number of bytes that one read of stdin takes."""

LINE_NUMBER = r"(?s):[0-9]+(?::.*)?$"
"""The line number behind a path, and the text that may follow it, as a hit is printed."""


class Terminated(BaseException):
    """A signal asked the process to end while it has text that is not written yet."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


class Typed:
    """The input of a writing command, from when it is read until it is written or refused.

    Attributes:
        command, arguments: how the spool runs the command again; ``arguments`` has ``text`` once the text was read.
        item: the name of the input in the spool; the written entry has it, so that nothing is written twice.
        source: where the text came from if the shell's history can't bring it back: ``on stdin``, ``from the editor``;
            else empty.
        cut: what had come on stdin when a signal or an error cut it short. It is no text to write, but a file keeps it.
    """

    __slots__ = ("arguments", "command", "cut", "item", "source")

    def __init__(self, command: str, arguments: dict[str, Any]) -> None:
        self.command = command
        self.arguments = arguments
        self.item = vault.writing.store.new_item()
        self.source = self.cut = ""


class Call:
    """One run of a command: the values of the shared options, the caller, the output and the opened vault.

    Attributes:
        vault: ``--vault``, or None.
        project: ``--project``, or None.
        no_pager: never start a pager.
        json, quiet: as in :class:`Output`.
        dry_run: plan and show, write nothing.
        now: the instant fixed by ``--now`` or ``TARS_NOW``, with a time zone; None means the clock.
        opened: the vault's memory, if it was opened.
        typed: the input to write, until :meth:`settle`; if the command ends before that, the spool keeps it.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.env = os.environ if env is None else env
        self.out = output.Output(self.env)
        self.vault: str | None = None
        self.project: str | None = None
        self.now: datetime | None = None
        self.dry_run = False
        self.no_pager = False
        self.typed: Typed | None = None
        self.called = "remember"
        """Name of the command."""
        self.example = "tars-memory --help"
        """A call of the command that shows its use."""
        self._now_text: str | None = None
        self._declined = False
        """Whether the person said no to the vault that is here; a command may try to open it more than once."""
        self.opened: Memory | None = None
        self._previous_handlers: dict[int, Any] = {}

    def take(self, name: str, value: Any) -> None:
        """Store the value of a shared option; of one given before and after the command, the later one counts."""
        setattr(self.out if name in ("json", "quiet") else self, "_now_text" if name == "now" else name, value)

    def begin(self) -> None:
        """Check the values of the shared options and their variables, before any work.

        Raises:
            UsageError: the instant can't be parsed, the actor is unknown, or ``TZ`` is a day or more off.
        """
        try:
            datetime.now().astimezone()
        except ValueError:
            hint = "set one such as Europe/Berlin, or unset TZ to use the machine's"
            raise UsageError(f"TZ={self.env.get('TZ')!r} is not a time zone", hint) from None
        if self._now_text is not None:
            self.now = instant(self._now_text, "--now")
        elif text := self.env.get("TARS_NOW"):
            self.now = instant(text, "TARS_NOW")
        named = self.env.get("TARS_MEMORY_ACTOR")
        one_of(ACTORS, named or None, "TARS_MEMORY_ACTOR=")

    @cached_property
    def interactive(self) -> bool:
        """Whether a person is at the terminal: stdin and an output stream are terminals, and no agent's mark is set."""
        return self.actor == "person"

    @cached_property
    def actor(self) -> Actor:
        """The caller. The environment may take rights away; it can't turn a caller without a terminal into a person."""
        at_terminal = _is_terminal(sys.stdin) and (_is_terminal(sys.stderr) or _is_terminal(sys.stdout))
        if settings.agent_mark(self.env):
            return "agent"
        named = self.env.get("TARS_MEMORY_ACTOR")
        for actor in ACTORS:
            if actor == named and actor != "person":
                return actor
        return "person" if at_terminal else "script"

    def memory(self) -> Memory:
        """Return the vault's memory; open it on first use.

        Raises:
            VaultError: there is no vault.
        """
        if self.opened is None:
            self.opened = self.fresh_memory()
            workspace = self.opened.workspace
            workspace.notices += workspace.settings.unknown_variables
            if self.interactive:  # keys in files would fill the mail of each cron job
                workspace.notices += workspace.settings.unknown_keys()
        if self.typed is not None:
            self.opened.workspace.item = self.typed.item
        return self.opened

    def fresh_memory(self) -> Memory:
        """Open the vault's memory again, with the settings as they are now. The caller closes it.

        Raises:
            VaultError: there is no vault, or only one that was never used here and that the person did not confirm.
        """
        try:
            return self._open(self.vault)
        except settings.StrangeVaultError as error:
            if not self.interactive or self._declined:
                raise
            if not self.confirmed(f"{error.message}. Is it yours, and do you want to use it?"):
                self._declined = True
                raise
            memory = self._open(error.root)
            if not self.dry_run:
                memory.workspace.ensure_state(used=True)
            return memory

    @property
    def workspace(self) -> Workspace:
        """The workspace of the :meth:`memory`."""
        return self.memory().workspace

    def memory_at(self, vault: str | Path | None, project: str | None = None) -> Memory:
        """Open the memory of another vault or project for the same caller, who closes it."""
        opening: Opening = {"interactive": self.interactive, "actor": self.actor, "now": self.now}
        opening |= {"dry_run": self.dry_run, "env": self.env, "project": project}
        return tars_memory.Memory(vault, **opening)

    def _open(self, vault: str | Path | None) -> Memory:
        progress = self.out.progress() or self.out.announce
        memory = self.memory_at(vault, self.project)
        self.out.root = str(memory.workspace.root)
        self.out.notes = memory.workspace.whole
        memory.workspace.patience, memory.workspace.may_finish_in_background = PATIENCE, True
        memory.workspace.progress = progress
        return memory

    def note(self, text: str, *, folders: bool = False) -> str:
        """Return the vault path of a note given by a path relative to the current folder; any other text unchanged.

        The path may be absolute, begin with ``./`` or ``../``, or lead from the current folder to a note; a line number
        after it (``path:line``, as it is printed) is dropped. With ``folders`` it may also lead to a folder.
        """
        root = str(self.workspace.root)
        exists = os.path.exists if folders else os.path.isfile
        place = re.search(LINE_NUMBER, text)
        if place and not os.path.lexists(text):
            note = text[: place.start()]
            for folder in (output.here(), root):
                if os.path.isfile(os.path.join(folder, note)):
                    return _inside(root, os.path.join(folder, note)) or text
        explicit = os.path.isabs(text) or text.startswith(("./", "../")) or text in (".", "..")
        if not text or not (explicit or exists(text)):
            return text
        path = os.path.normpath(os.path.join(output.here(), text))
        found = _inside(root, path)
        return text if found is None else found + "/" * (bool(found) and os.path.isdir(path))

    def target(self, text: str, *, hits: bool = True) -> str:
        """Return what names an entry (a REF, words, or ``path:line``), the path of a place relative to the vault.

        With ``hits`` a number is a hit of the last search. The path may be as it was printed, or
        relative to the current folder. Relative to the vault it is valid from any folder, and so in the spool.

        Raises:
            ConflictError: the line of the hit has changed since.
            NotFoundError, UsageError: there is no such hit.
        """
        place = re.search(LINE_NUMBER, text)
        note = self.note(text) if place else text
        target = f"{note}{place[0]}" if place and note != text else text
        if hits and output.may_be_hit(text):
            terminal = self.out.stdout.isatty()
            path, number, _ = output.hit_of(self.workspace, int(text), terminal=terminal, unchanged=True)
            target = f"{path}:{number}"
        if self.typed is not None:
            self.typed.arguments["target"] = target
        return target

    def hold(self, command: str, **arguments: Any) -> None:
        """Send the input to the spool if the command ends before :meth:`settle`, from now on.

        Args:
            command: its name as :func:`tars_memory.capture.remember.place_spool` knows it.
            arguments: those of its use case, JSON values; :meth:`words` adds the text.
        """
        self.typed = Typed(command, arguments)
        self.listen()

    def listen(self, act: Any = None) -> None:
        """Until :meth:`close`, raise :class:`Terminated` on a signal to end.

        A signal that was ignored when the program started (``nohup``) stays ignored.

        Args:
            act: handles such a signal and Ctrl-C instead; ``signal.SIG_IGN`` ignores them.
        """
        names = ("SIGTERM", "SIGHUP") if act is None else ("SIGTERM", "SIGHUP", "SIGINT")
        for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
            before = signal.getsignal(number)
            if before in (signal.SIG_IGN, None):
                continue
            try:
                signal.signal(number, act or _end)
            except ValueError:  # not in the main thread
                return
            self._previous_handlers.setdefault(number, before)

    def settle(self) -> None:
        """Stop holding the input: it is written, or it was refused and the person knows."""
        self.typed = None

    def close(self) -> None:
        """Restore the signal handlers, and close the vault if it was opened."""
        for number, before in self._previous_handlers.items():
            signal.signal(number, before)
        if self.opened is not None:
            self.opened.workspace.close()
        self.out.close()

    def notices(self, *more: Iterable[str]) -> list[str]:
        """Print the notices of the vault and ``more`` on stderr, each once, and return them for JSON.

        A person at a terminal sees a :class:`~tars_memory.errors.TransientNotice` once a day.
        """
        workspace = self.opened.workspace if self.opened is not None else None
        found = [*dict.fromkeys(chain(workspace.notices if workspace is not None else (), *more))]
        daily = workspace if self.interactive and not self.out.json else None
        for notice in found:
            passing = daily if isinstance(notice, TransientNotice) else None
            if passing is None or not output.shown_today(passing.state, notice, self.today()):
                self.out.say(notice)
        return found

    def answered(self, answer: Any, *more: Iterable[str], lines: bool = False) -> bool:
        """Print the :meth:`notices`, and with ``--json`` the answer with them.

        Args:
            answer: a value that :func:`members` can turn into an object.
            more: notices beside those of the vault.
            lines: as :meth:`Output.record` takes it.

        Returns:
            True with ``--json``: nothing is left to print.
        """
        notices = self.notices(*more)
        if self.out.json:
            self.out.record({**(output.members(answer) or {}), "notices": notices}, lines=lines)
        return self.out.json

    def dry_run_notice(self, *, writes: bool = True) -> list[str]:
        """Return the notice of a dry run; nothing without ``--dry-run``, or where nothing would be written anyway."""
        return ["dry run: nothing was written"] if self.dry_run and writes else []

    def words(self, words: list[str] | None, metavar: str, *, stdin: bool | None = None) -> str:
        """Return the remaining words as one text, or with ``stdin`` the text of stdin.

        Args:
            words: as the shell gave them.
            metavar: the argument's name in messages.
            stdin: ``--stdin`` was given; None: the command has no such option.

        Raises:
            UsageError: there are both words and ``--stdin``, or no text, or ``-`` for one, or text in a pipe alone.
        """
        if stdin:
            one_only({metavar: words, "--stdin": stdin})
            came: list[bytes] = []
            try:
                text = read_stdin(came)
            except BaseException:
                if self.typed is not None:
                    self.typed.cut = as_text(came)
                raise
            if not text.strip():
                raise UsageError("nothing came on stdin", f"pipe the text in: … | tars-memory {self.called} --stdin")
            if self.typed is not None:
                self.typed.arguments["text"], self.typed.source = text, "on stdin"
            return text
        text = " ".join(words or ())
        if metavar == "TEXT" and text.strip() == "-":  # as a file's name it means stdin, whose text would be lost
            raise UsageError(
                "- is not text, and doesn't mean stdin here", f"tars-memory {self.called} --help shows how"
            )
        if not text.strip():
            if metavar == "TEXT" and holds_text_on_stdin():
                if stdin is None:
                    raise UsageError(f"text came on stdin, which {self.called} doesn't read", 'give it as "$(cat)"')
                how = f"write it with: … | tars-memory {self.called} --stdin"
                raise UsageError("text came on stdin without --stdin", how)
            hint = "tars-memory list shows them" if metavar == "REF" else f"for example: {self.example}"
            raise UsageError(f"{metavar} is missing", hint)
        if self.typed is not None:
            self.typed.arguments["text"] = text
        return text

    # --- how every writer asks and answers: it asks for a confirmation and about credentials at a terminal, then prints
    # ``path:line`` on stdout and notices on stderr

    def confirmed(self, question: str, *, enter: bool = False) -> bool:
        """Ask the person at the terminal; ``y`` or ``yes`` is a yes, Ctrl-C a no, Enter and Ctrl-D are ``enter``.

        A word of the language that the terminal's locale names is an answer, too.
        """
        answers = {word: word in YES for word in (*YES, *NO)} | {"": enter}
        asked = f"{question} [{'Y/n' if enter else 'y/N'}]"
        return self._answer(asked, lambda typed: answers.get(typed, _in_locale(typed)), "y for yes, or n for no")

    def chosen(self, question: str, count: int) -> list[int]:
        """Ask the person at the terminal to choose from a numbered list: by numbers, or ``a`` for all.

        Returns:
            The chosen places, from 0; nothing for Enter, ``n`` or the end of the input.
        """

        def places(typed: str) -> list[int] | None:
            if typed in ("a", "all"):
                return [*range(count)]
            words = [] if typed in NO else typed.replace(",", " ").split()
            known = {str(number + 1): number for number in range(count)}
            return sorted({known[word] for word in words}) if known.keys() >= {*words} else None

        return self._answer(f"{question} [1-{count}, a: all, Enter: none]", places, "numbers of the list, a, or Enter")

    def _answer(self, question: str, meaning: Callable[[str], Answer | None], known: str) -> Answer:
        """Ask, and ask again until what is typed after the question is an answer; after :data:`MOST_ASKED` times it
        is ``n``, so that a program, or a person who answers in another language, is not asked for ever.

        Args:
            question: what is asked, with the answers.
            meaning: returns what a text, NFKC-normalized and lower-case, means as an answer; None if it is not an
                answer. It knows the empty text, for Enter and the end of the input, and ``n``, for Ctrl-C and no answer
                at all.
            known: names the answers to a person who typed another.
        """
        for _ in range(MOST_ASKED):
            self.out.say_always(question, end=" ")
            try:
                typed = self.read_answer()
            except KeyboardInterrupt:
                typed = STOP[0]
            if typed is None:  # the cursor is still after the question
                self.out.say_always("\nno answer came: that counts as Enter")
            found = meaning(normalize("NFKC", typed or "").lower())
            if found is not None:
                return found
            self.out.say_always(f"that is not an answer: type {known}")
        self.out.say_always(f"no answer after {MOST_ASKED} questions: that counts as n")
        found = meaning(STOP[0])
        assert found is not None
        return found

    def read_answer(self) -> str | None:
        """Read the line that the person types behind a question; None if there will be no more."""
        try:
            typed = sys.stdin.buffer.readline()
        except KeyboardInterrupt:
            self.out.say_always("")  # the cursor is still after the question
            raise
        except (OSError, ValueError):
            return None  # the terminal is gone
        return typed.decode("utf-8", "replace").strip() if typed else None

    def unsearched_projects(self) -> str:
        """Return what to append to "nothing found": how many projects were not searched. Their names stay private."""
        workspace, layout = self.workspace, self.workspace.whole.layout
        facts = {name: layout.within(name, layout.facts) for name in workspace.project_names()}
        hidden = [name for name, path in facts.items() if not workspace.may_show(path)]
        return f"; {counted(len(hidden), 'project')} not searched: --project NAME" if hidden else ""

    def ask_about_secrets(self, text: str, before: str = "", after: str = "") -> str:
        """Return the text as the person wants it written: unchanged, or with its credentials masked.

        Args:
            text: the text.
            before: what will come before it: a label there may say that it is a credential.
            after: what will come after it, such as tags.

        Only a person at a terminal is asked; anybody else's text is masked where it is written. Enter masks, and so
        does the end of the input: no text is lost. If the terminal is closed at the question, the spool keeps a masked
        text, for nobody chose otherwise, and masks what was to be asked about next.

        Raises:
            typer.Exit: the person wants nothing written; the text is shown once more.
        """
        if not self.interactive or self.dry_run or not vault.suspicion.suspicious(before + text + after):
            return text
        masked, found = vault.secrets.masked_among(text, before, after)
        if not found:
            return text
        wanted, held = vault.secrets.mask(masked), self.typed.arguments if self.typed is not None else {}
        typed = dict(held)
        for name, value in typed.items():
            held[name] = output.each_text(value, lambda one: wanted if one == text else vault.secrets.mask(one))
        answer = self._answer(
            f"this looks like a credential: {vault.secrets.kinds(found)}. Notes are plain text, and often synced.\n"
            "  [m] mask it (Enter)   [y] keep it as it is   [n] stop",
            lambda typed: typed if typed in (*MASK, *KEEP, *STOP) else None,
            "m, y or n",
        )
        if answer in STOP:
            self.settle()
            self.out.say_always(f"stopped: nothing was written. You typed: {text}")
            raise typer.Exit(STOPPED)
        wanted = text if answer in KEEP else wanted
        for name, value in typed.items():
            held[name] = output.each_text(value, lambda one: wanted if one == text else one)
        return wanted

    def report(self, receipt: Any, *, repeated: str = "it already exists; nothing was written") -> int:
        """Print a receipt.

        Args:
            receipt: what the writer returned.
            repeated: the notice if nothing was written and no notice says why.

        Returns:
            The exit code, 0: a text that went to the spool is reported by an error.
        """
        self.settle()
        own = [*receipt.notices]
        if self.dry_run:
            own += self.dry_run_notice()
        elif not receipt.written and not str(receipt.path or ".tars").startswith(".tars"):
            own.append(repeated)  # below .tars/ it is a proposal, and a notice says so
        places = ((name, getattr(receipt, name, ())) for name in ("touched", "withheld", "staying"))
        more = {name: [output.fields(place, "path line") for place in found] for name, found in places if found}
        if not self.answered({**output.fields(receipt, RECEIPT), **more}, own):
            if receipt.path:
                self.out.data(self.out.place(receipt.path, receipt.line), of_notes=False)
            if self.dry_run and receipt.text:
                self.out.data(f"  {output.line(receipt.text)}")
        return 0

    def say_change(self, path: str, number: int | None, before: bytes, after: bytes, text: bytes | None = None) -> None:
        """Print on stderr which lines were removed from a note and which were restored, each with its place.

        Args:
            path: of the note.
            number: of the first changed line.
            before: the changed lines as they were.
            after: the changed lines as they are.
            text: the whole note as it is, if known; it gives the places of lines that are not side by side.
        """
        was, now = ([row for row in vault.vault.note_lines(side) if row.strip()] for side in (before, after))
        would = "would be " if self.dry_run else ""
        removed, added = _without(was, now), _without(now, was)
        if len(removed) == len(added) == 1:
            old, new = output.line(removed[0].strip()), output.line(added[0].strip())
            self.out.say(f"{would}changed back: {self.out.place(path, number)}: ", f"{old} → {new}")
            return
        if text is not None and not text.strip() and len(removed) > MOST_REMOVED:
            self.say_note("removed", path, before)
            return
        rows = vault.vault.note_lines(text or b"")
        changes = [("removed", row, number if at == 0 else None) for at, row in enumerate(removed)]
        at = (number or 1) - 1
        for row in added:
            at = rows.index(row, at) if row in rows[at:] else at
            changes.append(("restored", row, at + 1 if number else None))
            at += 1
        for change, row, place in changes[:MOST_LINES]:
            self.out.say(f"{would}{change}: {self.out.place(path, place)}: ", output.line(row.strip()))
        if len(changes) > MOST_LINES:
            self.out.say(f"and {counted(len(changes) - MOST_LINES, 'more line')} of {self.out.path(path)}")

    def say_note(self, change: str, path: str, text: bytes) -> None:
        """Print on stderr that a whole note was removed or restored.

        Args:
            change: what was done.
            path: of the note.
            text: the note.
        """
        lines = sum(1 for row in vault.vault.note_lines(text) if row.strip())
        would = "would be " if self.dry_run else ""
        self.out.say(f"{would}{change}: {self.out.path(path)}, all of its {counted(lines, 'line')}")

    def editor(self) -> list[str]:
        """Return the words of the command that the person set as editor; none if it is not set, or not a command."""
        try:
            words = shlex.split(self.env.get("VISUAL") or self.env.get("EDITOR") or "", posix=os.name != "nt")
        except ValueError:
            return []
        return words

    def validity(self, as_of: str | None, *, ended: bool) -> dict[str, Any]:
        """Return ``--as-of`` or ``--ended``, if given, as keyword arguments of a use case.

        Raises:
            UsageError: both are given, or the text is not a day.
        """
        one_only({"--as-of": as_of is not None, "--ended": ended})
        if ended:
            return {"expired": True}
        return {} if as_of is None else {"as_of": self.day(as_of, "--as-of", last=True)}

    def today(self) -> date:
        """Return the current day in the user's time zone."""
        return (self.now or datetime.now().astimezone()).date()

    def day(self, text: str | None, option: str, *, last: bool = False, coming: bool = False) -> date | None:
        """Parse a day as search does; of a month or year return the first day, or with ``last`` the last. A text that
        is the name of a daily note here is its day.

        Args:
            text: the day, or None: there is none.
            option: its option, for the message.
            last: return the last day of a span.
            coming: a day without a year, or a day of the week, is the next one of its name, not the last one.

        Raises:
            UsageError: the text is not a day.
        """
        if text is None:
            return None
        try:
            named = self.workspace.whole.layout.day_of_name(text)
        except TarsError:  # without a vault there is no such name; what writes meets the error when its text is held
            named = None
        if named:
            return named
        dates = language.dates
        span = dates.parse_day(text, self.today())
        if span is None:
            raise UsageError(f"{option}: {text!r} {dates.refusal(text)}", f"it takes {dates.ACCEPTED}")
        if coming and span.start < self.today():
            steps = range(365, 3000, 365) if span.yearless else range(1, 8)  # 29 February is not in the next year
            spans = ((day, dates.parse_day(text, day)) for day in (self.today() + timedelta(step) for step in steps))
            later = ((day, found) for day, found in spans if found and found.start > span.start)
            # only a day of the week is called by its bare name on itself: yesterday and last Monday never are
            span = next((found for day, found in later if span.yearless or found.start == found.end == day), span)
        if span.yearless and span.start.year != self.today().year and self.opened:
            self.workspace.notices.append(f"{text!r} is taken as {span.start}: write the year if you mean another one")
        return span.end if last else span.start

    def answering(self, prompt: Prompt, job: str, model: str, reply: str | None) -> LanguageModel | None:
        """Return the model that answers a prompt: the file of ``--reply``, else the language model of the job.

        In a dry run without ``--reply``, print the prompt with its tokens and price, and return None.

        Args:
            prompt: what is asked.
            job: the job whose model the settings name: ``extract``, ``review`` or ``tidy``.
            model: the name of another model; empty for the one in the settings.
            reply: the file that holds the answer.

        Raises:
            ModelUnavailableError: no model is set, or litellm is not installed.
            UsageError: the file can't be read.
        """
        if reply is not None:
            return curation.models.llm.Reply([answer_in(reply)])
        llm = curation.models.llm.required(self.workspace.settings, job, model)
        if not self.dry_run:
            return llm
        tokens, cost = curation.models.llm.estimate(prompt, llm)
        price = f"at most {cost:.4f} US dollars" if cost is not None else "of unknown price"
        self.out.data(output.clean(str(prompt)))
        address = llm.endpoint or "the provider's own address"
        self.out.say(
            f"dry run: this would be sent to {llm.name} at {address}: about {counted(tokens, 'token')}, {price}"
        )
        return None


def _inside(root: str, path: str) -> str | None:
    """Return a path relative to the vault, with ``/``; links are followed if needed. None if it is outside."""
    path = os.path.normpath(path)
    found = output.within(root, path)
    found = output.within(root, os.path.realpath(path)) if found is None else found
    return None if found is None else found.replace(os.sep, "/")


YEARS = range(1970, 3000)
"""Years that can be pretended: a transaction's id has room for the milliseconds from 1970 to 3084."""


def instant(text: str, origin: str) -> datetime:
    """Parse an instant in ISO form, or a day in words and a time, either of which may be missing: then it is today, or
    midnight. Without a zone it is local time.

    Args:
        text: the instant.
        origin: the option or variable that holds it, for the message.

    Raises:
        UsageError: the text is not a date or time, or its year is not one of :data:`YEARS`.
    """
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        clock = re.search(r"(?<!\S)(?:[01]?\d|2[0-3]):[0-5]\d$", text.strip())
        day = text.strip()[: clock.start()] or "today" if clock else text
        span = language.dates.parse_day(day, datetime.now().astimezone().date())
        if span is not None and span.start == span.end:
            at = time.fromisoformat(f"{clock[0]:0>5}") if clock else time()
            return datetime.combine(span.start, at).astimezone()
        hint = "write it like 2026-11-21T14:30, 2026-11-21, 14:30, yesterday or 'yesterday 14:30'"
        raise UsageError(f"{origin}: {text!r} is not a date or time", hint) from None
    if when.year not in YEARS:
        raise UsageError(f"{origin}: the year {when.year} is out of range", f"give one from {YEARS[0]} to {YEARS[-1]}")
    return when.astimezone()


def read_stdin(came: list[bytes] | None = None) -> str:
    """Read all of stdin as text; ``came`` holds what was read, also if a signal cuts it short."""
    came = [] if came is None else came
    stdin: Any = sys.stdin.buffer
    # In one call, so that no signal comes between reading a part and keeping it.
    came.extend(iter(partial(stdin.read1, STDIN_PART), b""))
    return as_text(came)


def holds_text_on_stdin() -> bool:
    """Whether text that nobody types at a terminal waits on stdin; it stays there."""
    stdin: Any = sys.stdin
    with suppress(OSError, ValueError, AttributeError):  # it is closed; Windows can't tell
        return not _is_terminal(stdin) and bool(select.select([stdin], [], [], 0)[0] and stdin.buffer.peek(1))
    return False


def as_text(came: Iterable[bytes]) -> str:
    """Return bytes that came on stdin as text; those that are not UTF-8 become lone surrogates."""
    return b"".join(came).decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def _end(number: int, _frame: object) -> None:
    raise Terminated(number)


def _in_locale(typed: str) -> bool | None:
    """Return what one word means as an answer in the person's locale (POSIX ``YESEXPR``); None if nothing."""
    try:
        before = locale.setlocale(locale.LC_MESSAGES)
        locale.setlocale(locale.LC_MESSAGES, "")
        yes, no = locale.nl_langinfo(locale.YESEXPR), locale.nl_langinfo(locale.NOEXPR)
        locale.setlocale(locale.LC_MESSAGES, before)  # else errors of the system would be in that language
        means = [bool(re.match(expression, typed)) for expression in (yes, no)]
    except (AttributeError, ValueError, locale.Error, re.error):  # Windows has none, and a locale may be missing
        return None
    return means[0] if any(means) and not all(means) and typed[:1].isalpha() and len(typed.split()) == 1 else None


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False


YES, NO = ("y", "yes"), ("", "n", "no")
MASK, KEEP, STOP = ("", "m", "mask"), ("y", "yes", "k", "keep"), ("n", "no", "s", "stop", "q", "quit")
MOST_ASKED = 3
"""How often a question is repeated until there is an answer."""
Answer = TypeVar("Answer")
STOPPED = 1

RECEIPT = "txn path line ref text written spooled"
"""Attributes of a receipt that JSON shows."""
MOST_LINES, MOST_REMOVED = 20, 5
"""Maximum number of changed lines to show; and of lines of a removed note; further lines are only counted."""


def _without(rows: list[str], others: list[str]) -> list[str]:
    """Return the rows that are not among the others (multiset difference), in order."""
    unmatched = list(others)
    missing = []
    for row in rows:
        if row in unmatched:
            unmatched.remove(row)
        else:
            missing.append(row)
    return missing


# --- how a command line is read


def option(
    name: str, takes: str, text: str, *, default: Any = None, least: float | None = None, most: float | None = None
) -> Any:
    """Return an option that takes a value, as the default of a command's parameter.

    Args:
        name: of the option, with its dashes.
        takes: the metavar of its value.
        text: the help.
        default: its value if it is not given.
        least: the smallest number.
        most: the largest number.
    """
    return typer.Option(default, name, metavar=takes, help=text, min=least, max=most, parser=_reader(takes))


def flag(name: str, text: str, *others: str) -> Any:
    """Return an option without a value; help shows its name, not its old ones."""
    return typer.Option(False, name, *others, help=text)


def word(takes: str, text: str, *, default: Any = None) -> Any:
    """Return a positional argument; all as in :func:`option`. It must be given if its default is ``...``."""
    return typer.Argument(default, metavar=takes, help=text, parser=_reader(takes))


def _reader(takes: str) -> Callable[[str], str] | None:
    """Return the parser of a value that is one of ours, in any case; None for other values."""
    named = ["MODE", "TIER", "FORMAT", "AGENT", "[AGENT…]", "KIND", "PERIOD", "PLACE", "WHAT"]
    return str.lower if takes in named or ("|" in takes and takes.islower()) else None


ABOUT = option("--about", "NAME", "Only lines about NAME; repeatable.")
TOPIC = option("--topic", "TAG", "Only lines with this tag or topic; repeatable.")
ENDED = flag("--ended", "Include what has ended or expired.", "--expired")
AS_OF = option("--as-of", "DATE", "What held on this day.")
"""Filters that several commands take."""

REF = word("REF", "Its REF, a hit's number in the last search, or words that only it contains.")

HELP = ("--help", "-h")
SHARED = ("vault", "project", "json", "quiet", "no_pager", "now", "dry_run", "help")
"""Names of the parameters that :func:`shared` and :func:`help_option` make; help lists them below a command's own."""


def _take(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    """Pass the value of a shared option, if it was given, to the call."""
    if value is not None and value is not False and isinstance(ctx.obj, Call) and param.name is not None:
        ctx.obj.take(param.name, value)


def _shared(name: str, help_text: str, metavar: str | None = None) -> TyperOption:
    return TyperOption(
        param_decls=[name, "--" + name.replace("_", "-")],
        help=help_text,
        metavar=metavar,
        is_flag=metavar is None,
        expose_value=False,
        callback=_take,
    )


def shared(*, writes: bool) -> list[TyperOption]:
    """Return the options of every command, and with ``writes`` those of a writer."""
    options = [
        _shared("vault", "The vault's folder (or TARS_MEMORY_DIR).", "DIR"),
        _shared("project", "A project of the vault (or TARS_PROJECT, .tars-project).", "NAME"),
        _shared("json", "Print one JSON object."),
        _shared("quiet", "Print nothing but errors."),
        _shared("no_pager", "Use no pager."),
        _shared("now", "Pretend the time is TIME (or TARS_NOW).", "TIME"),
    ]
    if writes:
        options.append(_shared("dry_run", "Show what would be written; write nothing."))
    return options


def help_option() -> TyperOption:
    """Return the option ``--help``."""
    text = "Show this message and exit."
    return TyperOption(
        param_decls=["help", *HELP], is_flag=True, is_eager=True, expose_value=False, callback=print_help, help=text
    )


def print_help(ctx: Any, _param: Any = None, value: bool = True) -> None:
    """Print the help of a command like any answer, and exit; if it can't be written, say so."""
    if value and not ctx.resilient_parsing:
        out = call_of(ctx).out
        ctx.terminal_width = min(out.columns, 80) - 2  # Click's own is never below 50
        out.write(ctx.get_help() + "\n")
        raise typer.Exit


class Command(TyperCommand):
    """One command.

    Attributes:
        words: it takes all remaining words as text: a word that begins with one dash is text, not an option.
        pages: on a terminal, output that is longer than the screen goes through a pager.
        examples: calls that show its use, each with a comment; its help and its reference begin with them.
        exits: its own exit codes beside those of every command; docs/commands.md lists them.
        answers: the members of its JSON object, for docs/commands.md: lines ``names: meaning``, where
            ``hits[].path line`` names two members of each of ``hits``; ``as NAME`` stands for the object of another
            command; ``[OPTION]`` heads the object that an option asks for. ``notices``, which all have, is left out.
    """

    words = False
    pages = False
    examples = ""
    exits = ""
    answers = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Separate text from options, then parse as usual."""
        if self.words and not ctx.resilient_parsing:
            options = [param for param in self.get_params(ctx) if isinstance(param, TyperOption)]
            flags, valued = ({name for o in options if o.is_flag is kind for name in o.opts} for kind in (True, False))
            args = [HELP[0]] if args == ["-h"] else separate(args, flags, valued)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # typer's own; if an option lacks its value, the error doesn't name the command
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Check the shared options, then run."""
        if isinstance(ctx.obj, Call):
            ctx.obj.called = self.name or ""
            first = self.examples.strip().split("\n")[0].partition("  #")[0]
            ctx.obj.example = re.sub("^tm ", "tars-memory ", first.strip())
            if ctx.obj.dry_run and all(param.name != "dry_run" for param in self.params):
                raise UsageError(
                    f"{self.name} has no --dry-run: it writes nothing into the vault",
                    f"{ctx.command_path} --help shows how",
                )
            ctx.obj.begin()
            out = ctx.obj.out
            if self.pages and out.screen and ctx.obj.interactive and not (ctx.obj.no_pager or out.quiet):
                from tars_memory.doors.cli.screen import paged

                with paged(out):
                    return super().invoke(ctx)
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the usage as ``[OPTIONS] TEXT…``, each argument by its metavar."""
        return ["[OPTIONS]", *(param.metavar or "" for param in self.params if isinstance(param, TyperArgument))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List examples, arguments, the command's own options, then the shared ones."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {example}\n" for example in self.examples.strip().split("\n")))
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Options of every command": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                if param.opts[-1] != "-h" and len(param.opts) > 1:
                    record = (param.opts[0], record[1])  # its old names still work, hidden
                title = "Options of every command" if param.name in SHARED else "Options"
                groups["Arguments" if isinstance(param, TyperArgument) else title].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def separate(args: Sequence[str], flags: set[str], valued: set[str]) -> list[str]:
    """Return the options, then ``--``, then all other words in their order.

    Words with two dashes are options (an unknown one is an error, with a suggestion); a word with a single dash
    (``-milk``, ``-5``, ``-``) is text; after ``--`` everything is text.

    Args:
        args: as the shell gave them.
        flags: options without a value.
        valued: options that take the next word, unless it is joined by ``=``.
    """
    options: list[str] = []
    words: list[str] = []
    rest = iter(args)
    for word in rest:
        if word == "--":
            words.extend(rest)
        elif not word.startswith("--"):
            words.append(word)
        else:
            options.append(word)
            if word in valued:
                value = next(rest, None)
                if value is None:
                    return options  # the parser reports the missing value
                options.append(value)
            elif word.split("=", 1)[0] not in flags | valued:
                return options  # the parser reports the unknown option
    return [*options, "--", *words]


def call_of(ctx: typer.Context) -> Call:
    """Return the call that a command's context belongs to."""
    assert isinstance(ctx.obj, Call)
    return ctx.obj


def one_only(given: Mapping[str, Any], hint: str = "give only one of them") -> None:
    """Refuse two arguments that exclude each other.

    Args:
        given: whether each was given, by its name.
        hint: what to do instead.

    Raises:
        UsageError: more than one was given.
    """
    if sum(map(bool, given.values())) > 1:
        *names, last = given
        raise UsageError(f"{'more than one of' if names[1:] else 'both'} {', '.join(names)} and {last}", hint)


def one_of(values: Iterable[str], value: str | None, before: str) -> None:
    """Refuse a value that is not one of the allowed ones; None is accepted.

    Args:
        values: the allowed ones.
        value: the one that was given.
        before: what precedes it in the message, with a blank.

    Raises:
        UsageError: the value is unknown.
    """
    if value is not None and value not in values:
        raise UsageError(f"{before}{value!r} is unknown", f"it is one of {', '.join(values)}")


Run = TypeVar("Run", bound="Callable[..., int | None]")
MAKERS: dict[str, Callable[[], Command]] = {}
"""Factories of the commands whose module is imported, by name."""


def command(
    *,
    writes: bool = False,
    words: bool = False,
    pages: bool = False,
    kind: type[Command] = Command,
    examples: str = "",
    exits: str = "",
    answers: str = "",
) -> Callable[[Run], Run]:
    """Make a command of the function below, under its name: its docstring is the help, its value the exit code.

    Its first parameter is the :class:`Call`, or the :class:`typer.Context` where the function needs that.

    Args:
        writes: it may change the vault: ``--dry-run`` is added.
        words: it takes all remaining words as text.
        pages: it may print more than a screen holds.
        kind: the class of the command, for one that handles its end in its own way.
        examples: as in :class:`Command`.
        exits: as in :class:`Command`.
        answers: as in :class:`Command`.
    """

    def make(name: str, run: Run) -> Command:
        first, *rest = signature(run).parameters.values()

        @wraps(run)
        def started(ctx: typer.Context, **options: Any) -> int | None:
            return run(call_of(ctx) if first.annotation is Call else ctx, **options)

        context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        started.__signature__ = Signature([context, *rest])  # type: ignore[attr-defined]  # what typer reads
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(name, cls=kind, add_help_option=False)(started)
        made = typer.main.get_command(app)
        assert isinstance(made, Command)
        made.words, made.pages = words, pages
        made.examples, made.exits, made.answers = examples, exits, answers
        made.params.extend((*shared(writes=writes), help_option()))
        return made

    def known(run: Run) -> Run:
        name = run.__name__.strip("_")
        MAKERS[name] = partial(make, name, run)
        return run

    return known


PRINT_PROMPT = flag("--print-prompt", "Print the model's prompt, for another program.")
REPLY_FILE = option("--reply", "FILE", "Take a model's answer from FILE, or - for stdin.")


def text_in(source: str, hint: str) -> str:
    """Return the text of a file, or of stdin for ``-``.

    Raises:
        UsageError: the file can't be read; the hint says what to name.
    """
    if source == "-":
        return read_stdin()
    try:
        return disk.read_named(source).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{source} can't be read: {error.strerror}", hint) from error


def answer_in(source: str) -> str:
    """Return the answer in a file, or on stdin for ``-``.

    Raises:
        UsageError: the file can't be read, or is not text.
    """
    text = text_in(source, "name the file with the answer")
    vault.suspicion.check_text(text, "the answer")
    return text
