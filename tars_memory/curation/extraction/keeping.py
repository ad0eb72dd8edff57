"""Writing what was drawn from a conversation: lines in the daily notes, then the session note; all or nothing.

Also which conversations a night looks at: the sources are files and folders of chat logs, and what is new in them is
remembered in the state folder.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.errors import ConflictError, UsageError
from tars_memory.language.statements import sentences
from tars_memory.language.words import common_words
from tars_memory.vault import sessions, suspicion
from tars_memory.vault.change import Change
from tars_memory.vault.links import links_of
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.lines import BY_RULES, steps_in
from tars_memory.vault.model import Splice, role
from tars_memory.vault.secrets import find, mask
from tars_memory.vault.sessions import KnownSession, SessionFact, SessionNote, SessionTurn
from tars_memory.vault.writing import journal, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from tars_memory.capture.remember import Caller
    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.curation.extraction.drawing import Moments
    from tars_memory.curation.proposals import Drawn, DrawnFact
    from tars_memory.vault.writing.store import Landed, WriteSession


KEEPS = ("exchanges", "facts", "quotes", "full")
"""What a session note holds of the turns: those that a fact quotes with what was said right before and after, none,
those that a fact quotes, all that was said."""

MOST_OF_TURN = 2_000
"""Characters of a turn that an exchange keeps: what is longer is mostly pasted, or an answer of pages."""

NAMING = 3
"""Topics that name a conversation which has no title of its own."""


class KeptFact(NamedTuple):
    """A fact that was written.

    Attributes:
        ref: the name of its line.
        text: its words as they are in the note.
        quote: verbatim from the transcript.
        speaker: who said it.
        turn: number of the turn.
        path, line: where it is.
        kind: ``fact``, ``preference``, ``decision`` or ``correction``.
        claim: what it states over time (``me › lives in:: Cork [since:: 2026-11-14]``); empty for nothing.
        sentence: what kind of sentence a second look found it to be; empty if nobody has looked.
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
    """A conversation that is to be looked at.

    Attributes:
        transcript: the conversation.
        place: of its note.
        when: each turn was said.
        shown: it without what is withheld: all that is read, shown or kept of it.
    """

    transcript: Transcript
    place: KnownSession
    when: Moments
    shown: Transcript

    @property
    def start(self) -> datetime:
        """When its first turn was said."""
        return self.when[self.transcript.turns[0].number]


def words_of(fact: DrawnFact) -> str:
    """A fact's words as they would be written into a note; empty if nothing is left, or they hold a credential."""
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
        session: a transaction that is done as a whole or not at all.
        task: the conversation.
        drawn: what it gave; the words of its facts are neutralised.
        keeps: one of :data:`KEEPS`.

    Returns:
        the session note's path, and the facts with their lines.
    """
    daily = Dailies(ctx, session)
    speakers = {turn.number: turn.speaker for turn in task.transcript.turns}
    kept = [daily.add(fact, task.when[fact.turn], speakers.get(fact.turn, "")) for fact in drawn.extraction.facts]
    kept = daily.write(kept)
    note = _note(task, drawn, keeps, [daily.linked(one) for one in kept])
    # Names of transactions only go forward: a clock that is wrong for a night lets nothing expire.
    days = [ctx.now.date(), *([journal.time_of(session.txn).date()] if session.txn else [])]
    note = note._replace(extracted=max(days).isoformat() if kept else "")
    return _write_session(ctx, session, note, task), kept


def keep_said(ctx: Caller, transcript: Transcript, when: Moments, path: str, withheld: Callable[..., bool]) -> int:
    """Keep what the person said in a conversation as turns of its note, before its log is deleted.

    Args:
        ctx: the command's view of the vault.
        transcript: the conversation.
        when: when each turn was said.
        path: of its note.
        withheld: :meth:`tars_memory.workspace.Rooms.withheld`.

    Returns:
        how many turns were added; those that the note holds are not added again.
    """
    note = sessions.read(path, ctx.vault.read(path))
    if note is None:
        return 0
    held = {turn.number for turn in note.kept}
    own = [turn for turn in transcript.turns if turn.role == "user" and turn.number not in held]
    own = [turn for turn in own if not withheld(turn.text, when[turn.number].isoformat(), transcript.source)]
    turns = tuple(_turns(own, when, "full", set(), when[transcript.turns[0].number]))
    if turns:
        new = note._replace(kept=turns, facts=(), summary="")
        with ctx.writing("sleep", None, atomic=True) as session:
            session.write(path, lambda data: sessions.grow(data or b"", new))
    return len(turns)


class Dailies:
    """The lines of one conversation, day by day."""

    def __init__(self, ctx: Caller, session: WriteSession) -> None:
        self._ctx = ctx
        self._session = session
        self._title = ctx.layout.log_heading and entries.heading(ctx.layout.log_heading)
        self._lines: dict[str, dict[str, Change]] = {}
        """By note and block id: the same words are one line."""
        self._first: dict[str, datetime] = {}
        self._days: dict[str, str] = {}
        self._paths: dict[date, str] = {}
        self._names: dict[str, str] = {}

    def add(self, fact: DrawnFact, moment: datetime, speaker: str) -> KeptFact:
        """Plan a fact's line in the note of its day."""
        day = moment.date()
        if day not in self._paths:
            self._paths[day] = self._ctx.vault.daily_path(day)
        path = self._paths[day]
        name = entries.block_id(path, fact.text)
        line = Change("append", self._title, fact.text, time=f"{moment:%H:%M}", author=self._ctx.author, target=path)
        line = line._replace(state="extracted", block_id=name, typed=True)
        self._lines.setdefault(path, {}).setdefault(name, line)
        self._first.setdefault(path, moment)
        self._days[path] = day.isoformat()
        quote = mask(fact.quote)
        claim = mask(facts.claim_line(fact.claim)) if fact.claim else ""
        stands = (entries.ref(path, fact.text), fact.text, quote, speaker, fact.turn, path, 0)
        return KeptFact(*stands, fact.kind, claim, fact.seen, fact.warnings)

    def write(self, kept: list[KeptFact]) -> list[KeptFact]:
        """Write the lines; one whose block id its note holds already is not written again."""
        landed: dict[tuple[str, str], Landed] = {}
        for path, lines in self._lines.items():
            told = self._session.change([*lines.values()], create=self._ctx.new_day(path, self._first[path]))
            landed |= {(path, name): each for name, each in zip(lines, told, strict=True)}
        if landed:
            links = links_of(self._ctx.vault)
            self._names = {path: links.name_of(path) for path, _ in landed}
        stand = [landed[one.path, entries.block_id(one.path, one.text)] for one in kept]
        return [
            one._replace(line=each.line, ref=each.ref) if each.line else one
            for one, each in zip(kept, stand, strict=True)
        ]

    def linked(self, one: KeptFact) -> SessionFact:
        """The fact as the session note shows it."""
        source = f"{self._names[one.path]}#^{entries.block_id(one.path, one.text)}"
        said = (one.quote, mask(one.speaker), one.turn, one.claim)
        return SessionFact(one.text, source, self._days[one.path], *said, one.sentence, one.warnings)


def _write_session(ctx: Caller, session: WriteSession, note: SessionNote, task: Task) -> str:
    """The session note, new or grown; it is written last, for it says which turns were examined."""
    place = task.place
    if place.path:

        def grown(data: bytes | None) -> Sequence[Splice]:
            held = sessions.read(place.path, data or b"")
            turns = max(note.turns, held.turns) if held and not place.turns else note.turns
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
    transcript, shown, after = task.transcript, task.shown, task.place.turns
    found = drawn.extraction
    new = [turn for turn in shown.turns if turn.number > after]
    speakers = {turn.number: turn.speaker for turn in new}
    return SessionNote(
        date=task.start.date().isoformat(),
        source=mask(posixpath.basename(transcript.source.replace("\\", "/")) or transcript.source),
        source_hash=transcript.digests()[-1],
        turns=len(transcript.turns),
        session=mask(transcript.id),
        format=transcript.format,
        # Never a sentence: what the person rejects later would stand in the file's name for ever.
        title=mask(shown.title or ", ".join(found.topics[:NAMING])),
        summary="" if keeps == "facts" else _summary(shown.turns, after, found.decisions),
        topics=tuple(map(mask, found.topics)),
        decisions=tuple(map(mask, found.decisions)),
        tools=tuple(dict.fromkeys(mask(tool) for turn in new for tool in turn.tools)),
        facts=tuple(facts),
        left_out=tuple(_left_out(fact, speakers.get(fact.turn, "")) for fact in drawn.left_out if words_of(fact)),
        kept=tuple(_turns(new, task.when, keeps, {fact.turn for fact in facts}, task.start)),
    )


MOST_ASKED, MOST_DECIDED = 5, 3
"""Quotes of a kind in a summary; more is the conversation over again."""

LONGEST_QUOTE = 200
"""Characters of a quote in it."""


def _summary(turns: Sequence[Turn], after: int, decisions: Collection[str]) -> str:
    """What the new turns of a conversation were about, by its structure alone, each paragraph a quote with its turn.

    The opening; what was asked for: the person's questions, and what made the model call tools, of these what made for
    most work; and what was decided: an answer that names something which the model's question had named. Whatever the
    language, no words are looked for. Empty for a text that nobody answers.

    Args:
        turns: in order, without what is withheld.
        after: the number of turns that were summed up before.
        decisions: those under a heading of their own.
    """
    spoken = [turn._replace(text=mask(turn.text)) for turn in turns if turn.role in ("user", "assistant")]
    if not any(turn.role == "assistant" for turn in spoken):
        return ""
    told: list[tuple[int, str]] = []
    asked: list[tuple[int, int, str]] = []
    decided: list[tuple[int, str]] = []
    opening = next((turn.number for turn in spoken if turn.role == "user"), 0)
    for at, turn in enumerate(spoken):
        if turn.role != "user" or turn.number <= after or not (said := sentences(turn.text)):
            continue
        question = _last_question(spoken[at - 1]) if at else ""
        first = _quote([one.text for one in said])
        asks = [one.text for one in said if one.asks]
        if turn.number == opening:
            told.append((turn.number, f"Opening: {_by(turn)}{first} [{turn.number}]"))
        elif question and not asks and len(turn.text) <= LONGEST_QUOTE and _names_one_of(turn.text, question):
            if not any(one.text in decisions for one in said):
                number = spoken[at - 1].number
                decided.append(
                    (turn.number, f"Decided: {_by(turn)}{first} [{turn.number}], asked {_quote([question])} [{number}]")
                )
        elif asks or _tools(spoken, at):
            words = _quote(asks[-1:]) if asks else first
            asked.append((_work(spoken, at), turn.number, f"Asked: {_by(turn)}{words} [{turn.number}]"))
    told += [(number, words) for _, number, words in sorted(asked, reverse=True)[:MOST_ASKED]]
    told += decided[:MOST_DECIDED]
    kept = [words for _, words in sorted(told) if suspicion.MARK not in words]
    return "\n\n".join([BY_RULES, *dict.fromkeys(kept)]) if kept else ""


def _by(turn: Turn) -> str:
    """Who says it, where the log names him."""
    return "" if role(turn.speaker) == turn.role else f"{mask(turn.speaker)}: "


def _quote(said: Sequence[str]) -> str:
    """As many of some sentences as make a quote, at least the beginning of the first one."""
    words = " ".join(said[0].split())
    for one in said[1:]:
        if len(words) + len(one) >= LONGEST_QUOTE:
            break
        words += " " + " ".join(one.split())
    if len(words) > LONGEST_QUOTE:
        words = words[:LONGEST_QUOTE].rpartition(" ")[0] or words[:LONGEST_QUOTE]
        words += " …"
    return f"“{words}”"


def _last_question(turn: Turn) -> str:
    """What the model's turn ends by asking; empty for nothing."""
    said = sentences(turn.text) if turn.role == "assistant" else []
    return said[-1].text if said and said[-1].asks else ""


def _names_one_of(answer: str, question: str) -> bool:
    """Whether an answer holds a word of the question, or two letters in a row where words aren't parted."""
    return bool(_named(answer) & _named(question))


def _named(text: str) -> set[str]:
    """The words of four letters or more, those with a figure or a capital, and pairs of signs of other scripts; not
    those that are in every text.
    """
    found: set[str] = set()
    for word in re.findall(r"[^\W_]+", text):
        if _UNPARTED.search(word):
            found |= {word[at : at + 2] for at in range(len(word) - 1)}
        elif len(word) > 3 or not word.islower():
            found.add(word.casefold())
    return found - common_words()


_UNPARTED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Signs of scripts that part no words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


def _answers(spoken: Sequence[Turn], at: int) -> Sequence[Turn]:
    """The model's turns between one of the person and the next."""
    rest = spoken[at + 1 :]
    end = next((number for number, turn in enumerate(rest) if turn.role == "user"), len(rest))
    return rest[:end]


def _tools(spoken: Sequence[Turn], at: int) -> int:
    return sum(len(turn.tools) for turn in _answers(spoken, at))


def _work(spoken: Sequence[Turn], at: int) -> int:
    """How much a turn of the person made the model do: characters of answers, a tool for a page of them."""
    return sum(len(turn.text) for turn in _answers(spoken, at)) + MOST_OF_TURN * _tools(spoken, at)


def _left_out(fact: DrawnFact, speaker: str) -> SessionFact:
    claim = mask(facts.claim_line(fact.claim)) if fact.claim else ""
    said = (mask(fact.quote), mask(speaker), fact.turn, claim)
    return SessionFact(words_of(fact), "", "", *said, fact.seen, fact.warnings)


def _turns(turns: Sequence[Turn], when: Moments, keeps: str, quoted: set[int], start: datetime) -> list[SessionTurn]:
    """The turns that are stored: said by a person or the model, never what tools and programs put in."""
    if keeps == "facts":
        return []
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
    wanted = {turn.number for turn in spoken if keeps == "full" or turn.number in quoted}
    if keeps == "exchanges":
        wanted |= {turn.number for turn in spoken if turn.role == "user" and steps_in(turn.text)}  # a procedure
        for before, turn, after in zip([None, *spoken], spoken, [*spoken[1:], None], strict=False):
            near = (one for one in (before, after) if one is not None and one.role != turn.role)
            wanted |= {one.number for one in near} if turn.number in quoted else set()
    kept = []
    for turn in spoken:
        if turn.number in wanted:
            moment = when[turn.number]
            clock = f"{moment:%H:%M}" if moment.date() == start.date() else f"{moment:%Y-%m-%d %H:%M}"
            text = mask(turn.text)
            if keeps == "exchanges" and len(text) > MOST_OF_TURN:
                text = text[:MOST_OF_TURN].rstrip() + " …"
            kept.append(SessionTurn(turn.number, mask(turn.speaker), text, clock if turn.time is not None else ""))
    return kept


class Record:
    """What is known of sources, in the state folder.

    A file that can't be read counts as nothing known: then everything is looked at again, and added once all the same.

    Attributes:
        sources: size, time and inode of each file, taken before all of it was examined.
        kept: size, time and inode of each file whose turns were kept before it goes.
        failed: nights in a row in which a file could not be examined.
        curated: by project, the code of what a model was last asked to curate.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        said = disk.own_object(path)
        self.sources: dict[str, Any] = _table(said.get("sources"))
        self.kept: dict[str, Any] = _table(said.get("kept"))
        self.curated: dict[str, Any] = _table(said.get("curated"))
        self.failed = {name: count for name, count in _table(said.get("failed")).items() if isinstance(count, int)}

    def new(self, sources: Iterable[str], counts: dict[str, int], errors: list[str]) -> dict[str, list[int]]:
        """The files of sources that are new or changed, with their stamps; what failed before comes last.

        Args:
            sources: files and folders.
            counts: ``unchanged`` is raised by those that need no look.
            errors: takes a sentence for what is not there or can't be read.
        """
        found: dict[str, list[int]] = {}
        for path in files(sources, errors):
            try:
                stamp = _stamp(path)
            except OSError as error:
                errors.append(f"{path} can't be read: {error.strerror}")
                continue
            if stamp is not None and self.sources.get(path) != stamp:
                found[path] = stamp
            elif stamp is not None:
                counts["unchanged"] += 1
        return dict(sorted(found.items(), key=lambda each: self.failed.get(each[0], 0)))

    def seen(self, path: str, stamp: list[int]) -> None:
        """Note durably that a file needs no look until it changes."""
        self.sources[path] = stamp
        self.failed.pop(path, None)
        self.save()

    def going(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """Those of some files whose turns were not kept yet, with their stamps."""
        found: dict[str, list[int]] = {}
        for path in paths:
            try:
                stamp = _stamp(path)
            except OSError:
                continue
            if stamp is not None and self.kept.get(path) != stamp:
                found[path] = stamp
        return found

    def forget(self) -> None:
        """Look at everything again next time."""
        self.sources, self.failed, self.kept, self.curated = {}, {}, {}, {}
        self.save()

    def save(self) -> None:
        """Write it durably.

        Raises:
            UnwritableError: it can't be written.
        """
        with transaction.writing(os.fspath(self.path)):
            said = {"sources": self.sources, "failed": self.failed, "kept": self.kept, "curated": self.curated}
            journal.replace_file(self.path, json.dumps(said, indent=1).encode("ascii"))


def files(sources: Iterable[str], errors: list[str]) -> Iterator[str]:
    """The files of all sources, each with its whole path; hidden ones inside a folder are left out."""

    def unreadable(error: OSError) -> None:
        errors.append(f"{error.filename} can't be read: {error.strerror}")

    for source in sources:
        path = os.path.realpath(source)
        if os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=unreadable):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))
        else:
            errors.append(f"{source} is not there")


def _stamp(path: str) -> list[int] | None:
    """What changes when a file does; taken before it is read, so that what is added meanwhile counts as new.

    None for what is gone by now, or no regular file: a pipe would keep us waiting for ever.

    Raises:
        OSError: it can't be read now.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return None
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _table(said: object) -> dict[str, Any]:
    return said if isinstance(said, dict) else {}
