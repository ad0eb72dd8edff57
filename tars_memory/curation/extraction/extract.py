"""``extract``: turns conversations into candidates in the daily notes, and a session note for each conversation.

It writes only ``[extracted]`` lines of daily notes, and session notes, in one transaction per conversation. A
conversation is recognised by what was said, not by a file's name. So a second run adds nothing, and if a conversation
has grown, only its new turns are examined.

``import`` does the same with the memories of other programs: each statement waits for ``review`` as an ``[extracted]``
line in the note of its day, and a session note for each source has its exact words and its place there. All sources of
a command are one transaction: one ``undo`` takes them back.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tars_memory import capture
from tars_memory.capture.transcripts import read
from tars_memory.capture.turns import Transcript, Unknown
from tars_memory.curation import models
from tars_memory.curation.extraction import drawing, rules
from tars_memory.curation.extraction.drawing import MOST_FACTS, Known, Moments
from tars_memory.curation.extraction.keeping import KeptFact, Task, keep, keep_turns, words_of
from tars_memory.curation.proposals import RULE, Drawn, DrawnFact
from tars_memory.errors import ModelUnavailableError, TarsError, UsageError, counted
from tars_memory.language.words import LANGUAGES
from tars_memory.settings import AUTO, KEEPS, Settings, allows, chosen_project, may_be_folder
from tars_memory.vault import sessions, suspicion
from tars_memory.vault.markdown.facts import spoken_by
from tars_memory.vault.markdown.lines import calendar_day
from tars_memory.vault.model import Tier
from tars_memory.vault.secrets import mask
from tars_memory.vault.writing.withheld import Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tars_memory.capture.memories import Collection, Imported
    from tars_memory.capture.remember import Caller
    from tars_memory.curation.models.llm import LanguageModel, Prompt

    Within = Callable[[str], Callable[..., Caller]]


BY_RULES = "no language model is set: the built-in rules find plain statements"
"""Notice if a model was neither named nor set."""


def conversations(sources: Iterable[str | os.PathLike[str] | BinaryIO]) -> Iterator[Transcript | Unknown]:
    """Yield the conversations of files, folders and streams; a single path counts as a list of one."""
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        yield from read(source)


def from_sources(
    capture: Callable[..., Caller],
    sources: Iterable[str | os.PathLike[str] | BinaryIO],
    model: LanguageModel | str | None,
    *,
    keep: str | None,
    force: bool,
    auto: bool,
    progress: Callable[[str], None] | None,
    within: Within | None = None,
) -> Extracted:
    """Open the model that is named or set, and extract; see :meth:`tars_memory.memory.Memory.extract`."""
    if keep is not None and keep not in KEEPS:
        raise UsageError(f"{keep!r} is not something that can be kept", f"it is one of {', '.join(KEEPS)}")
    ctx = capture(writes=False)
    env = ctx.settings.env
    if auto and not allows(env, AUTO):
        return Extracted([], [], RULES, [f"{AUTO} is set to {env[AUTO]}: nothing was extracted"])
    opened_model = open_model(ctx.settings, model)
    run = Examiner(ctx, opened_model, keep, force=force, writer=capture, within=within)
    run.again = force
    done = run.over(conversations(sources), progress)
    for other in run.others.values():
        ctx.notices += (notice for notice in other.ctx.notices if notice not in ctx.notices)
    explains = done.sessions or not all(each.failed for each in done.skipped)
    if model is None and opened_model is None and explains and not run.read_nothing:
        done.notices.append(BY_RULES)  # of files that can't be read it explains nothing
    return done


def prompts_for(
    ctx: Caller,
    sources: Iterable[str | os.PathLike[str] | BinaryIO],
    model: LanguageModel | str | None,
    *,
    force: bool,
    within: Within | None = None,
) -> Prompts:
    """Return the prompts that extraction would send; see :meth:`tars_memory.memory.Memory.extract_prompts`."""
    opened_model = open_model(ctx.settings, model)
    every = Examiner(ctx, None, "facts", force=force, within=within)
    every.by_rules, every.again = False, force
    found: list[PricedPrompt] = []
    for transcript in conversations(sources):
        run = every.of(transcript)
        task = run.task(transcript)
        if task is None:
            continue
        if isinstance(opened_model, models.llm.Reply):
            found += run.second_looks(task, opened_model)
            continue
        for dialogue, window in models.grounding.prompts_of(task.shown, task.new, task.when, run.known.shown()):
            prompt = dialogue.prompt
            if opened_model is None:
                tokens, cost = models.llm.tokens(prompt.system + prompt.user), None
            else:
                tokens, cost = models.llm.estimate(prompt, opened_model)
            found.append(PricedPrompt(task.transcript.source, prompt, window.examined, tokens, cost))
    endpoint = str(getattr(opened_model, "endpoint", ""))
    return Prompts(found, every.skipped, "" if opened_model is None else opened_model.name, endpoint, ctx.notices)


def open_model(settings: Settings, model: LanguageModel | str | None) -> LanguageModel | None:
    """Return the model that is given, named or set; None for ``none``, or if none is set."""
    if model is not None and not isinstance(model, str):
        return model
    name = settings.llm.named("extract", model or "")
    return models.llm.open_llm(settings, "extract", model=name) if name else None


class Examiner:
    """Examines conversations and writes what they give; knows the statements of the vault, and those it has written.

    Attributes:
        command: name of its writes in the history.
        looks: whether the model is asked for a second look.
        by_rules: whether the rules examine; else a model, here or elsewhere, which examines what they can't read, too.
        again: whether turns that were examined before are examined again.
        read_nothing: whether all turns were in languages that the rules don't know.
        others: by project, the examiners of conversations that were held in its folder.

    Args:
        ctx: the command's view of the vault.
        model: to ask; None uses the rules. One that has failed its check is not asked for a second look.
        keeps: what a session note keeps of the turns; None for the setting.
        force: examine short conversations too.
        writer: returns the view of the vault to write with; None if nothing will be written.
        within: returns the ``writer`` of a project; None: whatever the folder of a conversation, it is ours.
    """

    command = "extract"

    def __init__(
        self,
        ctx: Caller,
        model: LanguageModel | None,
        keeps: str | None = None,
        *,
        force: bool = False,
        writer: Callable[..., Caller] | None = None,
        within: Within | None = None,
    ) -> None:
        self.ctx = ctx
        self.others: dict[str, Examiner] = {}
        self._within = within
        self.skipped: list[Skipped] = []
        self._turns = self._unread = 0
        self._told = ""
        self._min_turns = 0 if force else ctx.settings.extract.min_user_turns
        self._model = model
        self.by_rules = model is None
        self.again = self.read_nothing = False
        checked = models.grounding.checked_before(ctx.settings, model) if model is not None else None
        self.looks = checked is None or checked.passed
        if checked is not None and not self.looks:
            ctx.notices.append(
                f"{checked.model} judged {checked.right} of {counted(checked.of, 'test sentence')} correctly: it isn't "
                "asked for a second look, so candidates are unchecked"
            )
        self._keeps = keeps or ctx.settings.extract.keep
        self._read_at: str | None = None
        """The last transaction when the vault was read."""
        self._withheld = Withheld(ctx.store.state)
        self._writer = writer
        if writer is not None and not ctx.store.dry_run and self._cut_off():
            writer().store.recover()  # the half-done writes of a killed run must not count as known
        self._read_vault()

    def of(self, transcript: Transcript | Unknown) -> Examiner:
        """Return the examiner of the project in whose folder a conversation was held; this one if it was held in none.
        A file there that names an impossible project is reported and ignored, so that it doesn't stop other
        conversations.
        """
        folder = getattr(transcript, "folder", "")
        is_path = self._within is not None and may_be_folder(folder)
        notices: list[str] = []
        project = chosen_project(None, {}, Path(folder), notices=notices) if is_path else ""
        self.ctx.notices += (notice for notice in notices if notice not in self.ctx.notices)
        if self._within is None or project in ("", self.ctx.vault.scope):
            return self
        if project not in self.others:
            within = self._within(project)
            writer = within if self._writer is not None else None
            other = self.others[project] = Examiner(within(writes=False), self._model, self._keeps, writer=writer)
            other._min_turns, other.by_rules, other.again = self._min_turns, self.by_rules, self.again
        self.others[project].skipped = self.skipped
        return self.others[project]

    def _read_vault(self) -> None:
        """Read the statements that the vault has, and which conversations were examined."""
        self._read_at = self._latest()
        self.known = Known(self.ctx.vault, self.ctx.notices, self.ctx.settings.facts)
        self.catalogue = sessions.catalogue(self.ctx.vault)

    def _cut_off(self) -> bool:
        """Whether the last writer was killed before its transaction was complete."""
        journal = self.ctx.store.journal
        interrupted = journal.interrupted_transaction(next(journal.records(), None))
        return bool(self.ctx.store.pending()) or interrupted is not None

    def _latest(self) -> str:
        """Return the last transaction of the journal; if it changes, another process has written."""
        return next((str(record["txn"]) for record in self.ctx.store.journal.records()), "")

    def over(self, transcripts: Iterable[Transcript | Unknown], progress: Callable[[str], None] | None) -> Extracted:
        """Examine conversations and write what they give; if the model fails, the rest is not examined.

        Args:
            transcripts: conversations, and sources that are not conversations.
            progress: called with the source of each conversation.

        Raises:
            ModelUnavailableError: the model failed at the first conversation; nothing was written.
            UnwritableError: the vault can't be written; earlier conversations were written.
        """
        self.skipped = []
        done: list[ExtractedSession] = []
        failure: ModelUnavailableError | None = None
        for transcript in transcripts:
            run = self.of(transcript)
            task = run.task(transcript)
            if task is None:
                continue
            if progress is not None:
                progress(task.transcript.source)
            try:
                drawn = run._drawn(task)
            except ModelUnavailableError as error:
                if not done:
                    raise
                failure = error
                self.skipped.append(Skipped(task.transcript.source, error.message, failed=True))
                break
            self._turns, self._unread = self._turns + drawn.turns, self._unread + len(drawn.unread)
            if drawn.until:
                task = run._cut(task, drawn.until)
            session = run._kept(task, drawn)
            if session is not None:
                done.append(session)
        if self._unread:  # said once of all calls: a night makes one for each conversation
            known = f"in a language that the rules know ({', '.join(LANGUAGES)})"
            share = f"{self._turns - self._unread:,} of {counted(self._turns, 'turn is', 'turns are')} {known}"
            self.read_nothing = self._unread == self._turns
            others = ("it" if self._turns == 1 else "them") if self.read_nothing else "the rest"
            before, self._told = self._told, f"{share}; a model can read {others}: tars-memory extract --model NAME"
            self.ctx.notices[:] = [*(notice for notice in self.ctx.notices if notice != before), self._told]
        name = RULES if self._model is None else self._model.name
        return Extracted(done, self.skipped, name, self.ctx.notices, failure)

    def _drawn(self, task: Task) -> Drawn:
        """Return the statements of a conversation."""
        note = self._session(task.place.path) if self.again and task.place.path else None
        noted = {(fact.text, fact.turn) for fact in note.facts} if note else set()
        of_task = task.shown, task.new, task.when
        drawn = drawing.draw(*of_task, self._model, self.known, looks=self.looks, noted=len(noted))
        return drawn._replace(facts=tuple(fact for fact in drawn.facts if (words_of(fact), fact.turn) not in noted))

    def _cut(self, task: Task, until: int) -> Task:
        """Return the task for the conversation up to a turn; to the next run it has grown since."""
        turns = task.transcript.turns
        self.ctx.notices.append(
            f"{task.transcript.source}: {drawing.MOST_FACTS:,} candidates are enough for one run; turns {until + 1:,} "
            f"to {len(turns):,} are for the next extract"
        )
        shown = task.shown._replace(turns=tuple(turn for turn in task.shown.turns if turn.number <= until))
        return task._replace(transcript=task.transcript._replace(turns=turns[:until]), shown=shown)

    def task(self, transcript: Transcript | Unknown) -> Task | None:
        """Return the task to examine a conversation; None if there is nothing to do: :attr:`skipped` says why."""
        if isinstance(transcript, Unknown):
            self.skipped.append(Skipped(transcript.name, transcript.why, failed=True))
            return None
        if self._ours(transcript.source):
            self.skipped.append(Skipped(transcript.source, "it is a note of this memory, not a log"))
            return None
        if transcript.is_silent:
            self.skipped.append(Skipped(transcript.source, "a program asked, and no model answered"))
            return None
        turns = transcript.user_turns
        if not turns or turns < self._min_turns:
            few = counted(turns, "turn")
            why = f"you say something in only {few} (at least {self._min_turns}; --force takes all)"
            self.skipped.append(Skipped(transcript.source, why if turns else "no person says anything in it"))
            return None
        place = self._place(transcript)
        if place.path and not self.ctx.layout.is_ours(place.path):
            self.skipped.append(Skipped(transcript.source, "it was examined already, for another project or for none"))
            return None
        shown = self._shown(transcript)
        new = self._new(shown, place)
        if not any(turn.role == "user" and turn.number in new for turn in shown.turns):
            hint = " (--force examines it again)" if self.command == Examiner.command else ""
            self.skipped.append(Skipped(transcript.source, f"nothing new since {place.path}{hint}"))
            return None
        if transcript.damaged:
            self.ctx.notices.append(f"{transcript.source}: damaged places that were skipped: {transcript.damaged}")
        if transcript.doubt:
            self.ctx.notices.append(f"{transcript.source}: {transcript.doubt}")
        if transcript.start is None and not any(turn.time for turn in transcript.turns):
            self.ctx.notices.append(f"{transcript.source} has no dates: it counts as said today")
        return Task(transcript, place, self._when(transcript, place), shown, new)

    def _when(self, transcript: Transcript, place: sessions.KnownSession) -> Moments:
        """Return the times of the turns; of a log without any, turns that are examined again keep their day."""
        when = drawing.moments(transcript, self.ctx.now)
        dated = transcript.start or any(turn.time for turn in transcript.turns)
        note = self._session(place.path) if self.again and place.path and not dated else None
        day = calendar_day(note.date) if note else None
        known = {number: datetime.combine(day, time.timetz()) for number, time in when.items()} if day else {}
        return when | {number: time for number, time in known.items() if number <= place.turns}

    def _new(self, shown: Transcript, place: sessions.KnownSession) -> frozenset[int]:
        """Return the numbers of the turns to examine: those after the last one, or all if they are examined again, and
        for a model those before that the rules could not read, with the answers around them.
        """
        new = {turn.number for turn in shown.turns if self.again or turn.number > place.turns}
        if place.unread and not self.by_rules:
            unread = rules.unread(shown.turns)
            later = (turn for turn in shown.turns if turn.number >= place.unread)
            new |= {turn.number for turn in later if turn.role != "user" or turn.number in unread}
        return frozenset(new)

    def _shown(self, transcript: Transcript) -> Transcript:
        """Return the conversation without the turns, or the title, that contain what was forgotten later."""
        last, turns = transcript.start, []
        for turn in transcript.turns:
            last = turn.time or last
            if not self._withheld.holds(turn.text, last, transcript.source, transcript.id):
                turns.append(turn)
        hidden = self._withheld.holds(transcript.title, last, transcript.source, transcript.id)
        return transcript._replace(turns=tuple(turns), title="" if hidden else transcript.title)

    def second_looks(self, task: Task, reply: models.llm.Reply) -> list[PricedPrompt]:
        """Return the prompts for a second look at the facts of a reply.

        Raises:
            ModelUnavailableError: the reply has no answer for the conversation, or no usable one.
        """
        before = len(reply.open)
        drawn = drawing.draw(task.shown, task.new, task.when, reply, self.known)
        self._chosen(drawn, task.when, self.ctx.author)
        return [
            PricedPrompt(task.transcript.source, prompt, (), models.llm.tokens(prompt.system + prompt.user), None)
            for prompt in reply.open[before:]
        ]

    def keep_turns(self, transcript: Transcript, withheld: Callable[..., bool]) -> int:
        """Keep the person's turns of a conversation in its session note, which is created if there is none.

        Args:
            transcript: the conversation.
            withheld: :meth:`tars_memory.workspace.Workspace.withheld`.

        Returns:
            The number of turns that were added.
        """
        assert self._writer is not None
        place = self._place(transcript)
        if not place.path or self._session(place.path) is None:
            made = self.over([transcript], None).sessions
            place = sessions.KnownSession(made[-1].path if made else "")
        if not place.path or not self.ctx.layout.is_ours(place.path):
            return 0
        when = drawing.moments(transcript, self.ctx.now)
        return keep_turns(self._writer(), transcript, when, place.path, withheld)

    def _ours(self, source: str) -> bool:
        """Whether a source is a note of a tier: its lines were drawn from something already."""
        vault = self.ctx.vault
        path = os.path.relpath(os.path.realpath(source), vault.root).replace(os.sep, "/")
        return not path.startswith("../") and vault.layout.tier_of(path) is not Tier.NOTE

    def _place(self, transcript: Transcript) -> sessions.KnownSession:
        """Return the session note of a conversation, with the first of its turns that waits for a model."""
        found = self._found(transcript)
        try:
            return found._replace(
                unread=sessions.number_in(self.ctx.vault.read(found.path) if found.path else b"", "unread")
            )
        except TarsError:
            return found

    def _found(self, transcript: Transcript) -> sessions.KnownSession:
        """Return the session note of a conversation, found by its turns, else by the log's own id of it.

        If a note has the same id but other turns (a turn was edited, or was not complete yet), all of the conversation
        is examined again; known statements add nothing.
        """
        digests = transcript.digests()
        named = self.catalogue.get(sessions.session_key(transcript.format, mask(transcript.id)), "")
        found = sessions.find_examined(self.ctx.vault, digests, self.catalogue)
        if found is None:
            return sessions.KnownSession(named)
        if found.path == named or not (day := self._other_day(transcript, found.path)):
            return found
        for near in (day, day - timedelta(days=1), day + timedelta(days=1)):
            if path := self.catalogue.get(sessions.day_key(digests[found.turns - 1], near.isoformat())):
                return sessions.KnownSession(path, found.turns)
        return sessions.KnownSession(named)

    def _other_day(self, transcript: Transcript, path: str) -> date | None:
        """Return the day of a conversation if the note with its words is about another one; else None.

        It is if both have ids of their own and are of different days. (Agents copy a conversation under another id to
        continue it, but on the same day.)
        """
        note = self._session(path)
        name, time = mask(transcript.id), transcript.start or next((t.time for t in transcript.turns if t.time), None)
        if note is None or not name or note.format != transcript.format or note.session in ("", name) or time is None:
            return None
        day = drawing.local(time, self.ctx.now).date()
        try:
            apart = day - date.fromisoformat(note.date)
        except ValueError:
            return None
        return day if abs(apart.days) > 1 else None  # zones differ by a day at most

    def _session(self, path: str) -> sessions.SessionNote | None:
        """Return a session note; None if it can't be read."""
        try:
            return sessions.read(path, self.ctx.vault.read(path))
        except TarsError:
            return None

    def _kept(self, task: Task, drawn: Drawn) -> ExtractedSession | None:
        """Write one conversation; None if it was skipped."""
        written = self._write([(task, drawn)])
        unseen = sum(not fact.sentence for fact in written[0].facts) if written else 0
        if unseen and self._model is not None and self.looks:
            self.ctx.notices.append(f"{task.transcript.source}: {counted(unseen, 'candidate')} without a second look")
        if written and (played := written[0].left_out.get(rules.FICTION)) and self._model is None:
            why = "; ".join(dict.fromkeys(note for fact in drawn.left_out for note in fact.warnings))
            count = counted(played, "statement is", "statements are")
            self.ctx.notices.append(
                f"{task.transcript.source}: {why}: {count} left out (tars-memory review --left-out)"
            )
        return written[0] if written else None

    def _write(self, done: Sequence[tuple[Task, Drawn]]) -> list[ExtractedSession]:
        """Write conversations, all or none; skip those with nothing new, or just examined by another process."""
        assert self._writer is not None
        ctx = self._writer()
        read_at, self._read_at = self._read_at, None  # if this fails, the vault is read again
        written = []
        with ctx.writing(self.command, None, atomic=True) as session:
            if changed := self._latest() != read_at:
                self._read_vault()
            for task, drawn in done:
                transcript = task.transcript
                if changed and self._place(transcript) != task.place:
                    self.skipped.append(Skipped(transcript.source, "another process examined it in the meantime"))
                    continue
                chosen, dropped = self._chosen(drawn, task.when, ctx.author)
                if not self._is_news(task, chosen):
                    self.skipped.append(Skipped(transcript.source, "nothing new in it"))
                    continue
                path, kept = keep(ctx, session, task, chosen, self._keeps)
                self._remember(task, path, kept)
                extracted = ExtractedSession(
                    source=transcript.source,
                    path=path,
                    date=task.start.date().isoformat(),
                    turns=len(transcript.turns),
                    examined=sum(
                        turn.role in ("user", "assistant") for turn in transcript.turns if turn.number in task.new
                    ),
                    facts=tuple(kept),
                    dropped=dropped,
                    left_out=dict(Counter(fact.seen for fact in chosen.left_out)),
                    txn=None,
                )
                written.append(extracted)
        self._read_at = self._latest()
        return [extracted._replace(txn=session.txn) for extracted in written]

    def _is_news(self, task: Task, chosen: Drawn) -> bool:  # noqa: ARG002
        """Whether a conversation is worth a note, after known statements were left out."""
        return True

    def _chosen(self, drawn: Drawn, when: Moments, author: str) -> tuple[Drawn, dict[str, int]]:
        """Return the facts that are new, with their words as written; and how many others there are, by reason."""
        secret = drawn.dropped.pop("secret", 0)
        dropped = {"ungrounded": sum(drawn.dropped.values()), "known": 0, "rejected": 0, "secret": secret}
        chosen = []
        for fact in drawn.facts:
            words = words_of(fact)
            if fact.claim:
                fact = fact._replace(claim=spoken_by(fact.claim, author))
            if fact.asked and self.known.why(words, fact.claim, when[fact.turn].date()):
                fact = fact._replace(claim=None)  # the fact read from it must not make it known
            why = self.known.why(words, fact.claim, when[fact.turn].date()) if words else "secret"
            if why:
                dropped[why] += 1
                continue
            self.known.add(words, fact.claim, when[fact.turn].date())
            chosen.append(fact._replace(text=words))
        if dropped["secret"]:
            self.ctx.notices.append("statements with a credential were not noted")
        left_out = tuple(fact for fact in drawn.left_out if not self.known.why(words_of(fact) or fact.text))
        return drawn._replace(facts=tuple(chosen), left_out=left_out), dropped

    def _remember(self, task: Task, path: str, kept: list[KeptFact]) -> None:
        """Take a conversation that was just written for known."""
        for fact in kept:
            self.known.add(fact.text)
        digest, day = task.transcript.digests()[-1], task.start.date()
        self.catalogue[digest] = self.catalogue[sessions.day_key(digest, day.isoformat())] = path
        if key := sessions.session_key(task.transcript.format, mask(task.transcript.id)):
            self.catalogue[key] = path


RULES = "rules"
""":attr:`Extracted.model` if no model was asked."""


class ExtractedSession(NamedTuple):
    """The result of one conversation.

    Attributes:
        source: as it was named.
        path: of its session note, relative to the vault.
        date: ``YYYY-MM-DD`` of its beginning.
        turns: number of turns of the whole conversation.
        examined: number of turns that were examined now.
        facts: that were written.
        dropped: number of facts that were not, by reason: ``ungrounded``, ``known``, ``rejected``, ``secret``.
        left_out: number of statements that only the session note keeps, by kind of sentence.
        txn: the transaction, for ``undo``; None in a dry run.
    """

    source: str
    path: str
    date: str
    turns: int
    examined: int
    facts: tuple[KeptFact, ...]
    dropped: dict[str, int]
    left_out: dict[str, int]
    txn: str | None


class Skipped(NamedTuple):
    """A source, or a conversation in it, that was not examined.

    Attributes:
        source: as it was named.
        why: one sentence without a full stop.
        failed: whether it could not be read; else it did not have to be.
    """

    source: str
    why: str
    failed: bool = False


class Extracted(NamedTuple):
    """The result of ``extract``.

    Attributes:
        sessions: conversations that were examined.
        skipped: those that were not, and sources that are not conversations.
        model: that was asked; ``rules`` for none.
        notices: sentences for the person.
        failure: why the model could not be used any more; None if it could. The ``sessions`` were written.
    """

    sessions: list[ExtractedSession]
    skipped: list[Skipped]
    model: str
    notices: list[str]
    failure: ModelUnavailableError | None = None


class PricedPrompt(NamedTuple):
    """A prompt that would be sent, and what it would cost.

    Attributes:
        source: of the conversation.
        prompt: to send.
        examined: numbers of the turns that facts may come from.
        tokens: number of tokens of the prompt.
        cost: US dollars, with an answer of maximum length; None if it is unknown.
    """

    source: str
    prompt: Prompt
    examined: tuple[int, ...]
    tokens: int
    cost: float | None

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        texts = {"source": self.source, "system": self.prompt.system, "user": self.prompt.user}
        return {**texts, "examined": self.examined, "tokens": self.tokens, "cost": self.cost}


class Prompts(NamedTuple):
    """The prompts that ``extract`` would send.

    Attributes:
        prompts: in order.
        skipped: conversations without a prompt, and sources that are not conversations.
        model: that would be asked; empty for none.
        endpoint: its address; empty for the provider's own.
        notices: sentences for the person.
    """

    prompts: list[PricedPrompt]
    skipped: list[Skipped]
    model: str
    endpoint: str
    notices: list[str]


# -- ``import``: the memories of other programs


LONGEST = 600
"""Maximum number of characters of a statement to propose; a longer one is kept in the session note."""

TOO_LONG = "too long"
"""The kind of statements that only the session note keeps because of their length."""
UNSEEN = "It contained invisible characters"
"""Warning about a statement."""


def import_memories(
    write: Callable[..., Caller], sources: Iterable[str | os.PathLike[str] | BinaryIO], form: str | None
) -> Extracted:
    """Import the memories of other programs; see :meth:`tars_memory.memory.Memory.import_memories`."""
    if form is not None and form not in capture.memories.FORMATS:
        raise UsageError(f"unknown format: {form!r}", f"it is one of {', '.join(capture.memories.FORMATS)}")
    run = Importer(write)
    several = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    return run.over(run.read(several, form or ""))


class Importer(Examiner):
    """Examines the memories of other programs, and writes all of them in one transaction."""

    command = "import"

    def __init__(self, capture: Callable[..., Caller]) -> None:
        super().__init__(capture(writes=False), None, "facts", force=True, writer=capture)
        self._collections: dict[str, Collection] = {}
        self._waiting: list[tuple[Task, Drawn]] = []

    def read(self, sources: Iterable[str | os.PathLike[str] | BinaryIO], form: str) -> Iterator[Transcript | Unknown]:
        """Yield the statements of all sources as conversations; a source without any is skipped."""
        for source in sources:
            for found in capture.memories.read(source, self.ctx.now, form, self._ours):
                if not isinstance(found, capture.memories.Collection):
                    yield found
                    continue
                name = found.transcript.source
                if found.skipped:
                    blocks = counted(
                        found.skipped, "code block, table or quotation", "code blocks, tables and quotations"
                    )
                    self.ctx.notices.append(f"{name}: {blocks} left out: only sentences and list items are read")
                if not found.statements:
                    self.skipped.append(Skipped(name, "there is no statement in it"))
                    continue
                self._collections[name] = found
                yield found.transcript

    def _shown(self, transcript: Transcript) -> Transcript:
        """Return the statements without what was forgotten; only a statement's own date, not the file's, shows that it
        was said later.
        """
        found = self._collections[transcript.source].statements
        log = transcript.source, transcript.id
        dated = ((turn, turn.time if found[turn.number - 1].dated else None) for turn in transcript.turns)
        kept = tuple(turn for turn, time in dated if not self._withheld.holds(turn.text, time, *log))
        return transcript._replace(turns=kept)

    def _drawn(self, task: Task) -> Drawn:
        """Return each statement as it is; a long one is left out, for the session note only."""
        found = self._collections[task.transcript.source]
        masked = mask("\n".join(statement.quote for statement in found.statements)).split("\n")
        plain = {quote for quote in masked if quote}  # masked together: one line of a list of codes is not recognised
        facts: list[DrawnFact] = []
        long: list[DrawnFact] = []
        secret = new = until = 0
        for turn in task.shown.turns:
            if turn.number not in task.new:
                continue
            statement = found.statements[turn.number - 1]
            if statement.quote not in plain:
                secret += 1
                continue
            fact = _fact(statement, turn.number)
            if len(statement.text) > LONGEST:
                long.append(fact._replace(seen=TOO_LONG))
                continue
            facts.append(fact)
            new += not self.known.why(words_of(fact), fact.claim, task.when[turn.number].date())
            if new == MOST_FACTS:
                until = turn.number
                break
        dropped = {"secret": secret} if secret else {}
        return Drawn(tuple(facts), dropped, until=until, left_out=tuple(long))

    def _kept(self, task: Task, drawn: Drawn) -> None:
        """Collect what :meth:`over` writes at the end."""
        self._waiting.append((task, drawn))

    def over(
        self, transcripts: Iterable[Transcript | Unknown], progress: Callable[[str], None] | None = None
    ) -> Extracted:
        """Examine all sources, then write them together."""
        done = super().over(transcripts, progress)
        return done._replace(sessions=self._write(self._waiting) if self._waiting else [])

    def _is_news(self, task: Task, chosen: Drawn) -> bool:
        """Whether a source has a new statement, or is new and has statements that are too long."""
        return bool(chosen.facts or (chosen.left_out and not task.place.path))


def _fact(statement: Imported, turn: int) -> DrawnFact:
    """Return an imported statement as a fact with its quote."""
    warnings = (UNSEEN,) if suspicion.count_invisible(statement.quote) else ()
    seen = RULE if statement.rule else ""
    return DrawnFact(statement.text, statement.quote, turn, claim=statement.claim, seen=seen, warnings=warnings)
