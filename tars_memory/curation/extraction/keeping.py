"""Writes the statements drawn from a conversation: lines of the daily notes, then the session note; all or nothing.

Also keeps a record, in the state folder, of which files of the sources (files and folders of chat logs) were examined,
so that a nightly run examines only those that are new or have changed.
"""

from __future__ import annotations

import json
import os
import posixpath
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import ConflictError, UsageError
from tars_memory.language.statements import sentences
from tars_memory.vault import change, sessions, suspicion
from tars_memory.vault.links import links_of
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.lines import BY_RULES, steps_in
from tars_memory.vault.model import Splice, role
from tars_memory.vault.secrets import find, mask, values
from tars_memory.vault.sessions import KnownSession, SessionFact, SessionNote, SessionTurn
from tars_memory.vault.writing import journal, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from tars_memory.capture.remember import Caller
    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.curation.extraction.drawing import Moments
    from tars_memory.curation.proposals import Drawn, DrawnFact
    from tars_memory.vault.writing.store import Landed, WriteSession


MOST_OF_TURN = 2_000
"""Maximum number of characters of a turn that an exchange keeps: a longer one is mostly pasted, or pages of answer."""

NAMING = 3
"""Maximum number of topics in the name of a conversation that has no title."""


class KeptFact(NamedTuple):
    """A fact that was written into a daily note.

    Attributes:
        ref: REF of its line.
        text: its words as they are in the note.
        quote: verbatim from the transcript.
        speaker: who said it.
        turn: number of the turn.
        path, line: where it is.
        kind: ``fact``, ``preference``, ``decision`` or ``correction``.
        claim: the fact that it states (``me › lives in:: Cork [since:: 2026-11-14]``); empty for none.
        sentence: kind of sentence that a second look found; empty without a second look.
        warnings: short sentences for the person who decides.
    """

    ref: str
    text: str
    quote: str
    speaker: str
    turn: int
    path: str
    line: int
    kind: str
    claim: str = ""
    sentence: str = ""
    warnings: tuple[str, ...] = ()


class Task(NamedTuple):
    """A conversation to examine.

    Attributes:
        transcript: the conversation.
        place: its session note, and how many turns were examined before.
        when: by number, the time of each turn.
        shown: the conversation without what is withheld; nothing else of it is read, shown or kept.
        new: numbers of the turns to examine.
    """

    transcript: Transcript
    place: KnownSession
    when: Moments
    shown: Transcript
    new: frozenset[int]

    @property
    def start(self) -> datetime:
        """The time of its first turn."""
        return self.when[self.transcript.turns[0].number]


def words_of(fact: DrawnFact) -> str:
    """Return a fact's words as they are written into a note; empty if nothing is left, or they have a credential."""
    if find(fact.text):
        return ""
    try:
        return entries.neutralise(fact.text)
    except UsageError:
        return ""


def keep(ctx: Caller, session: WriteSession, task: Task, drawn: Drawn, keeps: str) -> tuple[str, list[KeptFact]]:
    """Write the facts under the log headings of their days, then the session note, in this order.

    Args:
        ctx: the command's view of the vault.
        session: an atomic transaction.
        task: the conversation.
        drawn: its statements, with neutralised words.
        keeps: one of :data:`tars_memory.settings.KEEPS`.

    Returns:
        The session note's path, and the facts with their lines.
    """
    speakers = {turn.number: turn.speaker for turn in task.transcript.turns}
    said = [(fact, task.when[fact.turn], speakers.get(fact.turn, "")) for fact in drawn.facts]
    written = write_candidates(ctx, session, said)
    kept = [fact for fact, _ in written]
    note = _note(task, drawn, keeps, [shown for _, shown in written])
    # The times in transaction ids only go forward, so that candidates don't expire if the clock is wrong for a night.
    days = [ctx.now.date(), *([journal.time_of(session.txn).date()] if session.txn else [])]
    note = note._replace(extracted=max(days).isoformat() if kept else "")
    return _write_session(ctx, session, note, task), kept


def keep_turns(ctx: Caller, transcript: Transcript, when: Moments, path: str, withheld: Callable[..., bool]) -> int:
    """Add the person's turns of a conversation to its session note, before its log is deleted.

    Args:
        ctx: the command's view of the vault.
        transcript: the conversation.
        when: by number, the time of each turn.
        path: of its session note.
        withheld: :meth:`tars_memory.workspace.Workspace.withheld`.

    Returns:
        The number of turns that were added; those that the note has already are not added again.
    """
    note = sessions.read(path, ctx.vault.read(path))
    if note is None:
        return 0
    present = {turn.number for turn in note.kept}
    own = [turn for turn in transcript.turns if turn.role == "user" and turn.number not in present]
    own = [turn for turn in own if not withheld(turn.text, when[turn.number].isoformat(), transcript.source)]
    turns = tuple(_turns(own, when, "full", set(), when[transcript.turns[0].number]))
    if turns:
        new = note._replace(kept=turns, facts=(), summary="")
        with ctx.writing("sleep", None, atomic=True) as session:
            session.write(path, lambda data: sessions.grow(data or b"", new))
    return len(turns)


def write_candidates(
    ctx: Caller, session: WriteSession, said: Sequence[tuple[DrawnFact, datetime, str]]
) -> list[tuple[KeptFact, SessionFact]]:
    """Write the facts of one conversation under the log headings of their days; the same words make one line of a day.

    A line whose block id is in its note already is not written again.

    Args:
        ctx: the command's view of the vault.
        session: an atomic transaction.
        said: each fact with its time and its speaker.

    Returns:
        Each fact with its line and REF, and as the session note shows it, with a link to its line.
    """
    if not said:
        return []
    title = ctx.layout.log_heading and entries.heading(ctx.layout.log_heading)
    paths = {day: ctx.vault.daily_path(day) for day in dict.fromkeys(time.date() for _, time, _ in said)}
    lines: dict[str, dict[str, change.Change]] = {}  # by note and block id
    first: dict[str, datetime] = {}
    for fact, time, _ in said:
        path = paths[time.date()]
        name = entries.block_id(path, fact.text)
        line = change.Change("append", title, fact.text, time=f"{time:%H:%M}", author=ctx.author, target=path)
        line = line._replace(state="extracted", block_id=name, typed=True)
        lines.setdefault(path, {}).setdefault(name, line)
        first.setdefault(path, time)
    landed: dict[tuple[str, str], Landed] = {}
    for path, planned in lines.items():
        changed = session.change([*planned.values()], create=ctx.new_day(path, first[path]))
        landed |= {(path, name): line for name, line in zip(planned, changed, strict=True)}
    links = links_of(ctx.vault)
    written = []
    for fact, time, speaker in said:
        path = paths[time.date()]
        name = entries.block_id(path, fact.text)
        link = f"{links.name_of(path)}#^{name}", time.date().isoformat()
        written.append(_written(fact, speaker, link, path, landed[path, name]))
    return written


def _written(
    fact: DrawnFact, speaker: str, link: tuple[str, str], path: str, landed: Landed
) -> tuple[KeptFact, SessionFact]:
    """Return a fact as it was written into a daily note, and as the session note shows it, with a link to its line."""
    ref = landed.ref if landed.line else entries.ref(path, fact.text)
    claim, quote = mask(facts.claim_line(fact.claim)) if fact.claim else "", mask(fact.quote)
    kept = KeptFact(ref, fact.text, quote, speaker, fact.turn, path, landed.line, fact.kind, claim)
    shown = SessionFact(fact.text, *link, quote, mask(speaker), fact.turn, claim, fact.seen, fact.warnings)
    return kept._replace(sentence=fact.seen, warnings=fact.warnings), shown


def _write_session(ctx: Caller, session: WriteSession, note: SessionNote, task: Task) -> str:
    """Write the session note, new or grown, and return its path.

    It is written last, because it says which turns were examined. If the properties of a note can't be read any more,
    the conversation goes on in a new one.
    """
    place = task.place
    if place.path and sessions.read(place.path, ctx.vault.read(place.path)) is not None:

        def grown(data: bytes | None) -> Sequence[Splice]:
            old = sessions.read(place.path, data or b"")
            turns = max(note.turns, old.turns) if old and not place.turns else note.turns
            return sessions.grow(data or b"", note._replace(turns=turns))

        session.write(place.path, grown)
        return place.path
    archived = ctx.layout.archived

    def taken(path: str) -> bool:
        return any(ctx.vault.look(place) is not None for place in (path, archived(path)))

    path = sessions.path_for(ctx.layout.sessions, task.start, note.title, taken)
    rendered = sessions.render(note)

    def plan(data: bytes | None) -> Sequence[Splice]:
        if data:
            raise ConflictError(f"{path} appeared in the meantime", "try again")
        return [Splice(0, 0, rendered)]

    session.write(path, plan)
    return path


def _note(task: Task, drawn: Drawn, keeps: str, facts: list[SessionFact]) -> SessionNote:
    """Return the session note of a conversation, with the turns that were examined now."""
    transcript, shown = task.transcript, task.shown
    new = [turn for turn in shown.turns if turn.number in task.new]
    speakers = {turn.number: turn.speaker for turn in new}
    return SessionNote(
        date=task.start.date().isoformat(),
        source=mask(posixpath.basename(transcript.source.replace("\\", "/")) or transcript.source),
        source_hash=transcript.digests()[-1],
        turns=len(transcript.turns),
        session=mask(transcript.id),
        format=transcript.format,
        unread=_first_unread(task, drawn),
        # Never a sentence: if the person rejects it later, it would be in the file's name forever.
        title=mask(shown.title or ", ".join(drawn.topics[:NAMING])),
        summary="" if keeps == "facts" else _summary(shown.turns, task.new),
        topics=tuple(map(mask, drawn.topics)),
        decisions=tuple(map(mask, drawn.decisions)),
        tools=tuple(dict.fromkeys(mask(tool) for turn in new for tool in turn.tools)),
        facts=tuple(facts),
        left_out=tuple(_left_out(fact, speakers.get(fact.turn, "")) for fact in drawn.left_out if words_of(fact)),
        kept=tuple(_turns(new, task.when, keeps, {fact.turn for fact in facts}, task.start, drawn.unread)),
    )


def _first_unread(task: Task, drawn: Drawn) -> int:
    """Return the number of the first turn that the rules could not read and no model was shown; 0 for none."""
    by_rules = drawn.turns > 0  # a model was shown the turns that waited for it
    waits = task.place.unread if task.place.unread not in task.new else 0  # else it was read again
    return min(filter(None, (waits, *drawn.unread)), default=0) if by_rules else 0


MOST_ASKED = 5
"""Maximum number of questions in a summary; more would repeat the conversation."""

LONGEST_QUOTE = 200
"""Maximum number of characters of a quote in a summary."""


def _summary(turns: Sequence[Turn], new: Container[int]) -> str:
    """Return what the new turns of a conversation were about; each paragraph is a quote with its turn's number.

    The quotes are: the opening; and requests, which are the person's questions and what made the model call tools,
    those that caused most work. They are found by the structure of the conversation alone, in any language. Empty for
    a text that nobody answers.

    Args:
        turns: in order, without what is withheld.
        new: numbers of the turns to summarise.
    """
    spoken = [turn._replace(text=mask(turn.text)) for turn in turns if turn.role in ("user", "assistant")]
    if not any(turn.role == "assistant" for turn in spoken):
        return ""
    quotes: list[tuple[int, str]] = []
    requests: list[tuple[int, int, str]] = []
    opening = next((turn.number for turn in spoken if turn.role == "user"), 0)
    for at, turn in enumerate(spoken):
        if turn.role != "user" or turn.number not in new or not (said := sentences(turn.text)):
            continue
        first = _quote([sentence.text for sentence in said])
        questions = [sentence.text for sentence in said if sentence.asks]
        if turn.number == opening:
            quotes.append((turn.number, f"Opening: {_speaker(turn)}{first} [{turn.number}]"))
        elif questions or _tools(spoken, at):
            words = _quote(questions[-1:]) if questions else first
            requests.append((_work(spoken, at), turn.number, f"Asked: {_speaker(turn)}{words} [{turn.number}]"))
    quotes += [(number, words) for _, number, words in sorted(requests, reverse=True)[:MOST_ASKED]]
    kept = [words for _, words in sorted(quotes) if suspicion.MARK not in words]
    return "\n\n".join([BY_RULES, *dict.fromkeys(kept)]) if kept else ""


def _speaker(turn: Turn) -> str:
    """Return the name of a turn's speaker with a colon; empty if the log names none."""
    return "" if role(turn.speaker) == turn.role else f"{mask(turn.speaker)}: "


def _quote(said: Sequence[str]) -> str:
    """Return the first sentences as a quote, as many as fit; of a long first one the beginning."""
    words = " ".join(said[0].split())
    for sentence in said[1:]:
        if len(words) + len(sentence) >= LONGEST_QUOTE:
            break
        words += " " + " ".join(sentence.split())
    if len(words) > LONGEST_QUOTE:
        words = words[:LONGEST_QUOTE].rpartition(" ")[0] or words[:LONGEST_QUOTE]
        words += " …"
    return f"“{words}”"


def _answers(spoken: Sequence[Turn], at: int) -> Sequence[Turn]:
    """Return the model's turns between a turn of the person and the person's next one."""
    rest = spoken[at + 1 :]
    end = next((number for number, turn in enumerate(rest) if turn.role == "user"), len(rest))
    return rest[:end]


def _tools(spoken: Sequence[Turn], at: int) -> int:
    """Return the number of tools that the model called after a turn of the person."""
    return sum(len(turn.tools) for turn in _answers(spoken, at))


def _work(spoken: Sequence[Turn], at: int) -> int:
    """Return how much work a turn of the person caused: characters of answers, :data:`MOST_OF_TURN` for a tool call."""
    return sum(len(turn.text) for turn in _answers(spoken, at)) + MOST_OF_TURN * _tools(spoken, at)


def _left_out(fact: DrawnFact, speaker: str) -> SessionFact:
    """Return a left-out statement as the session note shows it."""
    claim = mask(facts.claim_line(fact.claim)) if fact.claim else ""
    said = (mask(fact.quote), mask(speaker), fact.turn, claim)
    return SessionFact(words_of(fact), "", "", *said, fact.seen, fact.warnings)


def _turns(
    turns: Sequence[Turn], when: Moments, keeps: str, quoted: set[int], start: datetime, unread: Collection[int] = ()
) -> list[SessionTurn]:
    """Return the turns to keep: of the person or the model, never of tools and programs.

    Args:
        turns: new ones of the conversation.
        when: by number, the time of each turn.
        keeps: one of :data:`tars_memory.settings.KEEPS`.
        quoted: numbers of the turns that facts quote.
        start: time of the first turn; turns of another day are stored with their date.
        unread: numbers of the person's turns that nobody could read yet, which exchanges keep as well.
    """
    if keeps == "facts":
        return []
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
    wanted = {turn.number for turn in spoken if keeps == "full" or turn.number in quoted}
    if keeps == "exchanges":
        wanted |= {turn.number for turn in spoken if turn.role == "user" and steps_in(turn.text)}  # a procedure
        wanted |= set(unread)
        for before, turn, after in zip([None, *spoken], spoken, [*spoken[1:], None], strict=False):
            near = (other for other in (before, after) if other is not None and other.role != turn.role)
            wanted |= {other.number for other in near} if turn.number in quoted else set()
    kept, told = [], values("\n".join(turn.text for turn in spoken))
    for turn in spoken:
        if turn.number in wanted:
            time = when[turn.number]
            clock = f"{time:%H:%M}" if time.date() == start.date() else f"{time:%Y-%m-%d %H:%M}"
            text = mask(told.hide(turn.text))
            if keeps == "exchanges" and len(text) > MOST_OF_TURN:
                text = text[:MOST_OF_TURN].rstrip() + " …"
            kept.append(SessionTurn(turn.number, mask(turn.speaker), text, clock if turn.time is not None else ""))
    return kept


class Record:
    """The record of examined files, stored in the state folder.

    If it can't be read it is empty: then everything is examined again, which adds nothing twice.

    Attributes:
        sources: by path, size, time and inode of each examined file, taken before it was read.
        kept: by path, size, time and inode of each file whose turns were kept before its deletion.
        failed: by path, the number of nights in a row in which a file could not be examined.
        curated: by project, the code of the lists that a model was last asked to curate.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        stored = disk.state_object(path)
        self.sources: dict[str, Any] = _table(stored.get("sources"))
        self.kept: dict[str, Any] = _table(stored.get("kept"))
        self.curated: dict[str, Any] = _table(stored.get("curated"))
        self.failed = {name: count for name, count in _table(stored.get("failed")).items() if isinstance(count, int)}

    def new_files(self, sources: Iterable[str], counts: dict[str, int], errors: list[str]) -> dict[str, list[int]]:
        """Return the files of sources that are new or changed, with their stamps; those that failed before come last.

        Args:
            sources: files and folders.
            counts: ``unchanged`` is increased by the number of the other files.
            errors: receives a sentence for each file or folder that does not exist or can't be read.
        """
        found = dict(_stamps(files(sources, errors), errors))
        new = {path: stamp for path, stamp in found.items() if self.sources.get(path) != stamp}
        counts["unchanged"] += len(found) - len(new)
        return dict(sorted(new.items(), key=lambda pair: self.failed.get(pair[0], 0)))

    def mark_examined(self, path: str, stamp: list[int]) -> None:
        """Record durably that a file need not be examined until it changes."""
        self.sources[path] = stamp
        self.failed.pop(path, None)
        self.save()

    def unkept_files(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """Return the files that will be deleted and whose turns were not kept yet, with their stamps."""
        return {path: stamp for path, stamp in _stamps(paths, []) if self.kept.get(path) != stamp}

    def forget(self) -> None:
        """Empty the record, so that everything is examined again."""
        self.sources, self.failed, self.kept, self.curated = {}, {}, {}, {}
        self.save()

    def save(self) -> None:
        """Write the record durably.

        Raises:
            UnwritableError: the record can't be written.
        """
        with transaction.writing(os.fspath(self.path)):
            record = {"sources": self.sources, "failed": self.failed, "kept": self.kept, "curated": self.curated}
            journal.replace_file(self.path, json.dumps(record, indent=1).encode("ascii"))


def files(sources: Iterable[str], errors: list[str]) -> Iterator[str]:
    """Yield the absolute paths of the files of all sources, without hidden files and folders inside a folder.

    Args:
        sources: files and folders.
        errors: receives a sentence for each one that does not exist or can't be read.
    """

    def unreadable(error: OSError) -> None:
        errors.append(f"{error.filename} can't be read: {error.strerror}")

    for source in sources:
        path = os.path.realpath(source)
        if os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            yield from disk.files_below(path, unreadable)
        else:
            errors.append(f"{source} does not exist")


def _stamps(paths: Iterable[str], errors: list[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield each regular file that is there with its size, time and inode, which change when it does: a pipe, of which
    reading might never end, is left out.

    Call it before the files are read, so that anything added in the meantime counts as new.

    Args:
        paths: of files.
        errors: receives a sentence for each file that can't be read now.
    """
    for path in paths:
        try:
            found = os.stat(path)
            if stat.S_ISREG(found.st_mode):
                os.close(os.open(path, os.O_RDONLY))
                yield path, [found.st_size, found.st_mtime_ns, found.st_ino]
        except FileNotFoundError:
            continue
        except OSError as error:
            errors.append(f"{path} can't be read: {error.strerror}")


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
