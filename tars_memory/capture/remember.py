"""``remember``, ``log`` and ``feedback`` add a bullet to a note of ours; ``today`` reads today's note.

Also defines what all use cases of capture share: the :class:`Caller` that they get, the :class:`Receipt` that they
return, and the spool for words that can't be written now.
"""

from __future__ import annotations

import contextlib
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import vault
from tars_memory.errors import NotFoundError, TarsError, UnwritableError, UsageError, counted
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import document, entries
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.suspicion import MARK, check_text, count_invisible, suspicious

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tars_memory.settings import Settings
    from tars_memory.vault.note import Note
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import Landed, SpooledItem, Store, WriteSession, Written


SECTION = "Feedback"
"""The heading of rewards.md and corrections.md."""


def around(section: str | None, tags: Sequence[str]) -> tuple[str, str]:
    """Return what will stand before and behind words under a heading with tags."""
    return f"## {section}\n\n- " if section else "", "".join(f" #{tag.lstrip('#')}" for tag in tags)


def remember(
    ctx: Caller, text: str, *, tier: str = Tier.SEMANTIC, section: str | None = None, tags: Sequence[str] = ()
) -> Receipt:
    """Add a bullet to Memory.md or Procedural.md, unless the note has one with these words
    (:meth:`tars_memory.vault.note.Note.as_written`).

    A decision (under ``## Decisions``) has a date and time: those at the beginning of its words, else the current ones.

    Args:
        ctx: the command's view of the vault.
        text: the words; several lines become one.
        tier: ``semantic`` or ``procedural``. Unless a person at a terminal gives it, a rule becomes a proposal.
        section: the heading to put it under, which is added if missing; None means the configured one.
        tags: appended to the words as ``#tag``, unless the words have them already.

    Raises:
        UsageError: no text, or an invalid tag, heading or tier.
        UnwritableError: the vault can't be written; the text is in the spool.
    """
    if tier not in (Tier.SEMANTIC, Tier.PROCEDURAL):
        raise UsageError(f"remember doesn't write to the tier {tier!r}", "use --tier semantic or --tier procedural")
    section, tags = section and ctx.masked(section), ctx.masked_tags(tags)
    text = ctx.masked(entries.bounded(text), *around(section, tags))
    words = entries.with_tags(vault.markdown.lines.typed_words(text), map(entries.tag, tags))
    path = ctx.layout.procedural if tier == Tier.PROCEDURAL else ctx.layout.memory
    usual = ctx.layout.notes_section
    title = entries.heading(usual if section is None else section) if usual or section is not None else ""
    is_decision = entries.is_decision(path, title)
    moment = entries.instant(words) if is_decision else ""
    ctx.notices += end_notices(words, ctx.now.date())
    if is_decision:
        words = words[len(moment) :].strip(" \t") or words
        moment = moment or f"{ctx.now:%Y-%m-%d %H:%M}"
    change = Change("append", title, words, time=moment, author=ctx.author, target=path, typed=True)
    arguments = {"text": text, "tier": str(tier), "section": section, "tags": list(tags)}
    with ctx.writing("remember", arguments) as session:
        words = session.note(path).as_written(words)
        change = change._replace(text=words)
        if tier == Tier.PROCEDURAL and not ctx.may_write_rules:
            existing = session.note(path).entries_by_text.get(words)
            if existing:
                return ctx.receipt(path, existing[0].line, existing[0].ref, words)
            return ctx.proposed(session, change, "gave this rule")
        (landed,) = session.change([change])
        if landed.outcome.reason and tier == Tier.PROCEDURAL and ctx.attended:
            _approve_rule(ctx, session, session.note(path).entries_by_text[words][0])
    return ctx.landed(landed, words)


def _approve_rule(ctx: Caller, session: WriteSession, entry: Entry) -> None:
    """Approve an existing rule that nobody approved here, because a person has typed it again."""
    lines = {line.encode("utf-8", "surrogateescape") for line in entry.raw.split("\n")}
    if not lines <= vault.writing.history.typed_lines(ctx.store.journal, entry.path):
        session.vouch(entry.path, lines)
        ctx.notices.append(f"{entry.path}:{entry.line} already existed but was not approved here; now it is")


def end_notices(words: str, day: date) -> list[str]:
    """Return a notice about an end in an entry that is not a date, is past, or is not after the beginning, if any."""
    if "::" not in words:
        return []
    lines = vault.markdown.lines
    end, begun, typed = lines.end_in(words), lines.start_in(words), lines.typed_end(words)
    if end is not None and begun is not None and end <= begun:
        return [f"it ends on {end}, before it begins on {begun}: it never holds"]
    if end is not None and end <= day:
        return [f"it has ended already, on {end}: search and context leave it out without --ended"]
    if end is None and typed:
        return [f"{typed} is not a date, so the line has no end: write it like [until:: 2026-12-31]"]
    return []


def log(ctx: Caller, text: str) -> Receipt:
    """Add ``- HH:MM text`` under the log heading of today's note; note and time come from the same instant.

    A missing note is created from the vault's own daily template.

    Raises:
        UsageError: no text.
        UnwritableError: the vault can't be written; the text is in the spool, with its instant.
    """
    text = ctx.masked(entries.bounded(text))
    words = vault.markdown.lines.typed_words(text)
    ctx.notices += end_notices(words, ctx.now.date())
    title = ctx.layout.log_heading and entries.heading(ctx.layout.log_heading)
    with ctx.writing("log", {"text": text}) as session:
        if ctx.layout.problem:  # with Obsidian's setting; the words wait in the spool until it is fixed
            raise UnwritableError(ctx.layout.problem.message, ctx.layout.problem.hint)
        path = ctx.vault.daily_path(ctx.now.date())
        change = Change("append", title, words, time=f"{ctx.now:%H:%M}", author=ctx.author, target=path)
        create = ctx.new_day(path, ctx.now)
        (landed,) = session.change([change._replace(again=True, typed=True)], create=create)
    return ctx.landed(landed, words)


def feedback(ctx: Caller, good: bool, note: str, question: str | None = None, answer: str | None = None) -> Receipt:
    """Add ``- YYYY-MM-DD HH:MM note`` to rewards.md or corrections.md, with question and answer nested under it.

    Raises:
        UsageError: no note.
        UnwritableError: the vault can't be written; the text is in the spool.
    """
    note, question, answer = ctx.masked(note), question and ctx.masked(question), answer and ctx.masked(answer)
    words = vault.markdown.lines.typed_words(note)
    path = ctx.layout.rewards if good else ctx.layout.corrections
    change = Change("append", SECTION, words, time=f"{ctx.now:%Y-%m-%d %H:%M}", author=ctx.author, target=path)
    children = [entries.QUESTION + entries.neutralise(question)] if question and question.strip() else []
    children += [entries.ANSWER + entries.neutralise(answer)] if answer and answer.strip() else []
    change = change._replace(children=tuple(children), again=True, typed=True)
    arguments = {"text": note, "good": good, "question": question, "answer": answer}
    with ctx.writing("feedback", arguments) as session:
        (landed,) = session.change([change])
    return ctx.landed(landed, words)


class Today(NamedTuple):
    """The daily note of a day.

    Attributes:
        path: relative to the vault, whether or not it exists yet.
        date: the day.
        exists: whether the note exists.
        text: the whole note; empty if it does not exist.
        entries: its bullets that have words.
    """

    path: str
    date: date
    exists: bool
    text: str
    entries: list[Entry]


def today(ctx: Caller) -> Today:
    """Return the daily note of the day on which the command runs.

    Raises:
        UsageError: the vault's daily note format can't be used.
    """
    day = ctx.now.date()
    path = ctx.vault.daily_path(day)
    try:
        data = ctx.vault.read(path)
    except NotFoundError:
        return Today(path, day, False, "", [])
    bullets = entries.read(path, document.Document(data), timed=True)
    return Today(path, day, True, data.decode("utf-8", "replace"), bullets)


# -- arguments and results that all use cases of capture share


class Receipt:
    """The result of a command that writes an entry.

    Attributes:
        txn: the transaction, for ``undo``; None if nothing was written.
        path: of the note, relative to the vault.
        line: 1-based line of the entry (after a removal: where it was).
        ref: the entry's REF.
        text: its words as they are in the note.
        written: whether the note changed.
        notices: what the person should know.
    """

    spooled = False
    """Whether the text is in the spool; always False, since an error takes the receipt's place then."""

    def __init__(
        self,
        path: str,
        line: int,
        ref: str,
        text: str,
        *,
        txn: str | None = None,
        written: bool = False,
        notices: list[str] | None = None,
    ) -> None:
        self.txn = txn
        self.path = path
        self.line = line
        self.ref = ref
        self.text = text
        self.written = written
        self.notices = notices or []

    def as_dict(self) -> dict[str, object]:
        """Return the documented JSON object."""
        names = ("txn", "path", "line", "ref", "text", "written", "spooled", "notices")
        return {name: getattr(self, name) for name in names}


class Caller:
    """One command's view of the vault.

    Attributes:
        vault: to read from.
        layout: the paths of the tiers in it.
        store: to write through.
        spool: for what can't be written now.
        now: the instant of the command, aware, in the local zone.
        actor: who writes.
        interactive: whether there is a person at a terminal.
        settings: the person's, and the vault's.
        allowed: what the person's own configuration permits others.
        author: the author named in written entries; empty for none.
        notices: what the person should know, without repetition.
        settles: the id of the spool item that is being placed, or None.
        item: the id that this command gets in the spool if its words can't be written, or None. The write records it as
            well, so that a caller that also keeps the words never has them written twice.
        kept: the folder for words that can't be placed; None keeps them nowhere.
        run_command: calls a command by its name with the arguments from the spool; None leaves the items there.
    """

    def __init__(
        self,
        vault: Vault,
        store: Store,
        settings: Settings,
        *,
        now: datetime,
        interactive: bool = False,
        author: str = "",
    ) -> None:
        self.vault = vault
        self.store = store
        self.spool = store.spool
        self.layout = vault.layout
        self.now = now
        self.actor = store.actor
        self.interactive = interactive
        self.settings = settings
        self.allowed = settings.permissions
        self.author = author
        self.notices: list[str] = []
        self.settles: str | None = None
        self.item: str | None = None
        self.kept: Path | None = None
        self.run_command: Callable[[Caller, str, dict[str, Any]], Receipt] | None = None

    @cached_property
    def dated(self) -> Callable[[Entry], str]:
        """A function that returns the day (``YYYY-MM-DD``) on which a line was written; empty if no journal says so."""
        return vault.writing.history.written_days(self.store.journal)

    @property
    def may_write_rules(self) -> bool:
        """Whether a rule may be written directly, instead of as a proposal."""
        return self.allowed.unattended_rules or self.attended

    def must_propose(self, path: str) -> bool:
        """Whether a change of this note must become a proposal: it has rules, and no person at a terminal gives it."""
        return (path == self.layout.procedural or self.layout.is_playbook(path)) and not self.may_write_rules

    @property
    def may_accept(self) -> bool:
        """Whether a proposal may be accepted: by a person at a terminal, or because the configuration permits it."""
        return self.allowed.unattended_review or self.attended

    @property
    def may_tick(self) -> bool:
        """Whether ticks that this process finds count as the person's; an agent may have set them itself."""
        return self.actor not in ("agent", "model")

    @property
    def attended(self) -> bool:
        """Whether a person at a terminal runs the command."""
        return self.interactive and self.actor == "person"

    def notes(self, paths: Iterable[str]) -> Iterator[Note]:
        """Yield the notes that exist; a notice says, once, why a note can't be read."""
        for path in paths:
            try:
                yield self.vault.note(path)
            except NotFoundError:
                continue
            except TarsError as error:
                self.notices += [] if error.message in self.notices else [error.message]

    def masked(self, text: str, before: str = "", after: str = "") -> str:
        """Return a text with credentials masked, as notes, spool and journal may have it.

        Args:
            text: the text.
            before: what will come before it in its note: a label there may say that it is a credential.
            after: what will come after it.

        A person at a terminal decides about credentials (the command line asks), so the text is unchanged then. In any
        other case a notice says what was masked. A notice also counts invisible characters, which are left out when the
        text is written.

        Raises:
            UsageError: it is not text, see :func:`tars_memory.vault.suspicion.check_text`.
        """
        attended = self.attended
        check_text(text)
        if unseen := count_invisible(text):
            self.notices.append(f"left out {unseen} invisible character{'s' * (unseen > 1)}")
        if attended or not suspicious(before + text + after):
            return text
        return self.without_credentials(text, before, after)

    def without_credentials(self, text: str, before: str = "", after: str = "") -> str:
        """Return a text with credentials masked, as :meth:`masked`, but also where nobody at a terminal was asked."""
        if not suspicious(before + text + after):
            return text
        text, found = vault.secrets.masked_among(text, before, after)
        if found:
            self.notices.append(f"masked before it was written: {vault.secrets.kinds(found)}")
        return text

    def masked_tags(self, tags: Sequence[str]) -> list[str]:
        """Return the tags that hold no credential, masked or not: what masks one is not a tag. A notice counts them."""
        found = [tag for tag in map(self.masked, tags) if MARK not in tag]
        if left := len(tags) - len(found):
            self.notices.append(f"left out {counted(left, 'tag')} with a credential")
        return found

    def new_day(self, path: str, when: datetime) -> bytes:
        """Return the first content of a daily note, from the vault's own template; empty if the note exists."""
        if self.vault.look(path) is not None:
            return b""
        return vault.template.daily_note(self.vault, path, when, self.notices)

    def landed(self, landed: Landed, text: str) -> Receipt:
        """Return the receipt of a change that wrote this text."""
        written = landed.written
        return self.receipt(written.path, landed.line or written.line, landed.ref, text, written)

    def receipt(self, path: str, line: int, ref: str, text: str, written: Written | None = None) -> Receipt:
        """Return the receipt of a command; without ``written``, of one that had nothing to write."""
        txn, done = (written.txn or None, written.changed and not self.store.dry_run) if written else (None, False)
        return Receipt(path, line, ref, text, txn=txn, written=done, notices=self.notices)

    def proposed(self, session: WriteSession, change: Change, why: str) -> Receipt:
        """Keep a change of a rule as a proposal for a person to decide; the receipt names the proposal.

        Args:
            session: to write it in.
            change: of one entry.
            why: what the actor did, as a verb phrase for the person who decides.
        """
        proposal = {
            **{name: getattr(change, name) for name in ("op", "target", "section", "text")},
            "quote": change.replaces,
            "source": str(self.actor),
            "date": self.now.date().isoformat(),
            "why": f"{self.actor} {why} without a person at a terminal",
            "conflicts": [],
        }
        proposal["id"] = vault.inbox.keep(session, proposal)
        what = "playbook" if change.op == "create" else "rule"
        self.notices.append(f"a {what} needs a person: proposal {proposal['id']} waits: tars-memory review")
        return self.receipt(f"{vault.inbox.INBOX}/{proposal['id']}.json", 1, proposal["id"], change.text)

    @contextlib.contextmanager
    def writing(
        self, command: str, arguments: dict[str, Any] | None, *, atomic: bool = False
    ) -> Iterator[WriteSession]:
        """Run a transaction; if the vault can't be written, the command and its arguments go to the spool.

        Earlier items of the spool are placed first.

        Args:
            command: its name, as history shows it; :func:`place_spool` calls it again.
            arguments: of the use case, JSON values; None if the command can't be run later.
            atomic: make all writes or none, see :meth:`tars_memory.vault.writing.store.Store.transaction`.

        Raises:
            UnwritableError: with ``spooled`` set to the spool item, unless this is a dry run.
        """
        try:
            if self.settles is None and not self.store.dry_run:
                place_spool(self)
            with self.store.session(command, self.vault, settles=self.settles or self.item, atomic=atomic) as session:
                yield session
        except UnwritableError as error:
            if arguments is not None and self.settles is None and not self.store.dry_run and error.spooled is None:
                kept = {**arguments, "now": self.now.isoformat(), "actor": self.actor}
                kept |= {"project": self.vault.scope} if self.vault.scope else {}
                kept |= {"author": self.author} if self.author else {}
                error.spooled = self.spool.put(command, {**kept, "interactive": self.interactive}, self.item)
            raise


def place_spool(ctx: Caller) -> int:
    """Run the commands in the spool again, each with the instant and the actor of its first call.

    So a log line that was typed yesterday goes into yesterday's note, and one of a project into that project's note.

    Returns:
        The number of items that were placed; notices report the others, see
        :meth:`tars_memory.vault.writing.store.Spool.place`.
    """
    run = ctx.run_command
    if run is None:
        return 0

    def place(item: SpooledItem) -> list[str]:
        arguments = item.arguments
        ctx.store.actor = arguments["actor"]
        caller = Caller(
            ctx.vault.scoped(str(arguments.get("project", ""))),
            ctx.store,
            ctx.settings,
            now=datetime.fromisoformat(arguments["now"]),
            interactive=bool(arguments["interactive"]),
            author=str(arguments.get("author", "")),
        )
        caller.settles, caller.run_command = item.id, run
        receipt = run(caller, item.command, arguments)
        return [f"placed from the spool: {receipt.path}:{receipt.line}", *caller.notices]

    return ctx.spool.place(ctx.store, ctx.vault.scope, place, ctx.notices, ctx.kept)
