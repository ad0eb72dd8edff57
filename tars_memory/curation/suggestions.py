"""Asks a model about the memory, and keeps its answers as proposals in the inbox.

``review --model`` has it sort and word the candidates that wait, ``tidy --model`` find lines that contradict each other
or are out of date, ``tidy --curate`` update the memory from what was noted in the last days. The model answers with the
numbers of lines that it was shown. Its answers become proposals and nothing else: no note changes before a person
accepts.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.models import dialogues
from tars_memory.curation.proposals import TIDY, Proposal, Related, change_of_line, day_of, question_about
from tars_memory.curation.tidying.tidy import quiet_ids
from tars_memory.errors import ConflictError, NotFoundError, UsageError, counted
from tars_memory.language import statements
from tars_memory.vault import change, inbox, secrets, suspicion
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.note import Note
from tars_memory.vault.writing.history import written_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.review import Review
    from tars_memory.vault.model import Entry


LINES = 400
"""Maximum number of memory lines shown to the model; the few ops of an answer fit into its tokens."""

DONE = {"add": "+{} added", "replace": "{} replaced", "remove": "-{} removed", "end": "{} ended"}
"""How a notice counts the proposals of each kind."""


class Material(NamedTuple):
    """What a model is shown, and the dialogue that asks about it.

    Attributes:
        dialogue: shows the rest, numbered.
        lines: top-level entries of Memory.md and, except for ``tidy --curate``, of Procedural.md.
        candidates: proposals made without a model.
        notes: entries of the daily notes of the last days, with their day.
        facts: that are true today, with their entries.
        sections: headings of Memory.md.
        read: bytes of the notes that must not change until the answer is there; None for a note that did not exist.
        left_out: number of lines that are not shown because of the limit.
    """

    dialogue: dialogues.Dialogue[dialogues.Ops]
    lines: Sequence[Entry]
    candidates: Sequence[Proposal] = ()
    notes: Sequence[tuple[date, Entry]] = ()
    facts: Sequence[tuple[Entry, facts.Fact]] = ()
    sections: Sequence[str] = ()
    read: Mapping[str, bytes | None] = {}  # never changed
    left_out: int = 0


class Suggested(NamedTuple):
    """The proposals that a model's answer became.

    Attributes:
        kept: their ids.
        notices: which ops were left out, and why.
        counts: number of proposals by the kind of op.
    """

    kept: list[str]
    notices: list[str]
    counts: dict[str, int]

    @property
    def told(self) -> str:
        """The proposals of ``tidy --curate`` in one line: ``+2 added, -1 removed proposed``; empty if it made none."""
        parts = [words.format(self.counts[kind]) for kind, words in DONE.items() if self.counts.get(kind)]
        return f"{', '.join(parts)} proposed" if parts else ""


def _ask(
    ctx: Caller,
    command: str,
    asked: Material,
    model: LanguageModel,
    about: Callable[[dialogues.ModelOp], Collection[object]],
    make: Callable[[dialogues.ModelOp], Proposal],
    quiet: Collection[str] = (),
) -> Suggested:
    """Ask the model, and keep the proposals that its answer becomes in the inbox.

    Args:
        ctx: the command's view of the vault.
        command: name of the write in the history.
        asked: what to show.
        model: to ask.
        about: returns the things that an op is about, which no later op may be about; empty for one to ignore.
        make: returns the proposal that an op becomes; raises :class:`UsageError` if it can't become one.
        quiet: ids of proposals not to make.

    Raises:
        ModelUnavailableError: the model gives no answer, or no usable one; nothing was written.
        ConflictError: a note changed while the model was asked; nothing was written.
        UnwritableError: the vault can't be written.
    """
    answer = asked.dialogue.ask(model)
    notices = [f"left out of the answer: {reason}" for reason in answer.rejected]
    ops = [op for op in answer.ops if about(op)]
    if not ops and not asked.read:
        return Suggested([], notices, {})
    kept: list[str] = []
    counts: Counter[str] = Counter()
    used: set[object] = set()
    with ctx.writing(command, None) as session:
        for path, data in asked.read.items():
            if session.read(path) != data:
                raise ConflictError(f"{path} changed while {model.name} was asked", "nothing was proposed; ask again")
        for op in ops:
            if used & set(about(op)):
                notices.append(f"left out of the answer: {op.kind}: another op changes the same line")
                continue
            try:
                made = make(op)
            except UsageError as error:
                notices.append(f"left out of the answer: {op.kind}: {error.message}")
                continue
            used |= set(about(op))
            if made.id not in quiet:
                kept.append(inbox.keep(session, made.stored()))
                counts[op.kind] += 1
    return Suggested(kept, notices, dict(counts))


def _tier_notes(ctx: Caller) -> list[Note]:
    """Return Memory.md and Procedural.md, as far as they exist."""
    found = []
    for path in (ctx.layout.memory, ctx.layout.procedural):
        with suppress(NotFoundError):
            found.append(ctx.vault.note(path))
    return found


def _lines(note: Note) -> list[Entry]:
    return [entry for entry in note.entries if not entry.depth]


def _sections(note: Note) -> list[str]:
    return list(dict.fromkeys(section.title for section in note.document.sections if section.level > 1))


def _day(line: Entry) -> str:
    """Return a blank and the day that a line is from; empty if the line names none."""
    day = line.provenance.partition("#")[0] if line.provenance else ""
    return f" {day}" if day else ""


def _why(op: dialogues.ModelOp, otherwise: str) -> str:
    """Return the model's reason for an op, harmless to show and with secrets masked, followed by ours."""
    return f"{grammar.neutralise(secrets.mask(op.why))}; {otherwise}" if op.why.strip() else otherwise


# --- ``review --model``: candidates that the model skips, or calls known, are offered as they were before

CANDIDATES = 40
"""Maximum number of candidates shown at a time: an answer of some forty ops fits into its tokens."""


def candidates_to_sort(review: Review, *, expired: bool = False) -> Material:
    """Return the candidates to ask about; ``candidates`` is empty if none waits."""
    found = review.waiting(limit=0, expired=expired)
    waiting = [
        part
        for proposal in found.proposals
        for part in proposal.leaves
        if not (part.kept or part.fact or part.op == "create") and part.marks
    ]
    waiting = waiting[:CANDIDATES]
    notes = _tier_notes(review.ctx)
    lines = [line for note in notes for line in _lines(note)]
    sections = [title for note in notes if note.path == review.ctx.layout.memory for title in _sections(note)]
    about = {(line.path, line.line) for proposal in waiting for line in proposal.conflicts}
    lines.sort(key=lambda entry: (entry.path, entry.line) not in about)
    lines = lines[:LINES]
    shown = {
        "candidates": [_with_kind(proposal) for proposal in waiting],
        "lines": [f"{line.path}{_day(line)}: {review.ctx.vault.hide(line.path, line.text)}" for line in lines],
        "sections": sections,
    }
    dialogue = dialogues.ops_question("review", shown, day=review.ctx.now.date())
    return Material(dialogue, lines, waiting, sections=sections)


def suggest(review: Review, asked: Material, model: LanguageModel) -> Suggested:
    """Ask the model to sort and word the candidates, and keep its proposals; see :func:`_ask`."""
    return _ask(
        review.ctx,
        "review",
        asked,
        model,
        lambda op: op.candidates if op.kind not in ("same", "skip") else (),
        lambda op: _sorted(review, asked, op, model.name),
    )


def _sorted(review: Review, asked: Material, op: dialogues.ModelOp, name: str) -> Proposal:
    """Return the proposal that an op of the model becomes, in place of those for its candidates.

    Raises:
        UsageError: nothing is left of its words.
    """
    layout = review.ctx.layout
    chosen = [asked.candidates[number - 1] for number in op.candidates]
    first = chosen[0]
    text = grammar.neutralise(secrets.mask(op.text)) if op.text.strip() else first.text
    target, section = layout.memory, first.section
    replaced: tuple[Related, ...] = ()
    if op.kind == "rule":
        target, section = layout.procedural, layout.notes_section
    elif op.kind == "replace":
        line = asked.lines[op.lines[0] - 1]
        target, section = line.path, line.section
        replaced = (Related.of(line),)  # only shown: the person chooses, not the model
    elif op.section:
        section = asked.sections[op.section - 1]
    elif first.target != layout.memory:
        section = layout.notes_section
    quote = "; ".join(dict.fromkeys(proposal.quote for proposal in chosen if proposal.quote))
    return first._replace(
        id=inbox.proposal_id("append", target, section, text),
        op="append",
        target=target,
        section=section,
        text=text,
        quote=quote or first.text,
        why=_why(op, f"worded by {name}"),
        conflicts=replaced,
        marks=tuple(dict.fromkeys(mark for proposal in chosen for mark in proposal.marks)),
        occurrence=None,
    )


def _with_kind(proposal: Proposal) -> str:
    """Return a candidate as the prompt shows it: day, kind and words."""
    kind = {"corrections": "correction", "rewards": "reward"}.get(proposal.source.partition("#")[0], "said")
    words = proposal.quote if kind != "said" and proposal.quote else proposal.text
    return f"{proposal.date} {kind}: {words}"


# --- ``tidy --model``


def lines_to_compare(ctx: Caller) -> Material:
    """Return the lines to compare with each other; nothing is asked yet."""
    lines = [line for note in _tier_notes(ctx) for line in _lines(note)]
    shown = lines[:LINES]
    texts = [f"{line.path} › {line.section}{_day(line)}: {ctx.vault.hide(line.path, line.text)}" for line in shown]
    dialogue = dialogues.ops_question("tidy", {"lines": texts}, day=ctx.now.date())
    return Material(dialogue, shown, left_out=len(lines) - len(shown))


def compare(ctx: Caller, asked: Material, model: LanguageModel) -> Suggested:
    """Ask which lines contradict or repeat each other, or are out of date, and keep the proposals; see :func:`_ask`."""

    def made(op: dialogues.ModelOp) -> Proposal:
        """Propose to remove a line, or ask which of some lines is to stay."""
        lines = [asked.lines[number - 1] for number in op.lines]
        first = lines[0]
        if op.kind == "stale":
            return proposed(ctx, "remove", first, _why(op, f"{model.name} thinks it is over"))
        why = "sees a contradiction" if op.kind == "conflict" else "thinks they say the same"
        choices, today = tuple(related(ctx, line) for line in lines), ctx.now.date().isoformat()
        question = question_about(first.path, first.section, choices, today, _why(op, f"{model.name} {why}"))
        return question._replace(source=TIDY)

    done = _ask(ctx, "tidy", asked, model, lambda op: op.lines, made, quiet_ids(ctx))
    if asked.left_out:
        done.notices.append(
            f"not compared, since a model is shown only so many at once: {counted(asked.left_out, 'line')}"
        )
    return done


def proposed(ctx: Caller, op: str, line: Entry, why: str, text: str = "") -> Proposal:
    """Return a proposal to change one line as it is now.

    Args:
        ctx: the command's view of the vault.
        op: ``remove`` or ``replace``.
        line: to change.
        why: one sentence for the person.
        text: its new words.
    """
    _, occurrence = change.reference_to(ctx.vault.note(line.path), line)
    made = change_of_line(op, line, text, ctx.now.date().isoformat(), why)
    return made._replace(occurrence=occurrence)


def related(ctx: Caller, line: Entry) -> Related:
    """Return a line as it is shown beside a proposal, with its day."""
    return Related.of(line, day_of(line, ctx.dated))


# --- ``tidy --curate``: if a note changes while the model is asked, its answer is about another text, and is dropped

DAYS, WITHIN = 3, 7
"""Maximum number of daily notes shown, and the number of days, up to today, that they are taken from."""
CHARACTERS = 8_000
"""Maximum number of characters shown of these notes, the newest first."""
FACTS = 200
"""Maximum number of facts shown."""

OPEN = "extracted"
"""The state of a candidate. It is offered for review anyway, but may show that something else is out of date."""

NAMELESS = "curation"
"""The source of a proposal that names no note."""


def notes_to_curate(ctx: Caller) -> Material:
    """Return the notes of the last days, and the memory to compare them with; nothing is asked yet."""
    layout, today = ctx.layout, ctx.now.date()
    read: dict[str, bytes | None] = {}

    def note(path: str) -> Note:
        try:
            found = ctx.vault.note(path)
        except NotFoundError:
            read[path] = None
            return Note.of(layout, path, None)
        read[path] = found.data
        return found

    memory = note(layout.memory)
    lines, sections = _lines(memory)[:LINES], _sections(memory)
    current = [(entry, fact) for entry, fact in note(layout.facts).facts if fact.holds(today) and not fact.until]
    current = current[:FACTS]
    days = [today - timedelta(days=number) for number in range(WITHIN)]
    daily = [(day, found) for day in days if (found := note(ctx.vault.daily_path(day))).data][:DAYS]
    for path in [path for path, data in read.items() if data is None and path != ctx.vault.daily_path(today)]:
        del read[path]
    noted = _noted(ctx, daily)
    shown = {
        "notes": [f"{day} {entry.text}{' (waits for the person)' * (entry.state == OPEN)}" for day, entry in noted],
        "lines": [f"{entry.section}: {ctx.vault.hide(entry.path, entry.text)}" for entry in lines],
        "facts": [_shown(fact) for _, fact in current],
        "sections": sections,
    }
    dialogue = dialogues.ops_question("curate", shown, day=today)
    return Material(dialogue, lines, notes=noted, facts=current, sections=sections, read=read)


def _noted(ctx: Caller, daily: list[tuple[date, Note]]) -> list[tuple[date, Entry]]:
    """Return the person's own entries in some daily notes, as many as :data:`CHARACTERS` allows, oldest first.

    Args:
        ctx: the command's view of the vault.
        daily: day and note, newest first.
    """
    written = written_lines(ctx.store.journal)
    found: list[tuple[date, Entry]] = []
    room = CHARACTERS
    for day, note in daily:
        records_of = written.get(note.path, {})
        for entry in reversed(note.entries):
            records = records_of.get(entry.raw.split("\n")[0].encode("utf-8", "surrogateescape"))
            by_agent = entry.state is None and records and records[-1].get("actor") == "agent"
            if entry.depth or entry.state not in (None, OPEN) or by_agent:
                continue
            room -= len(entry.text)
            if room < 0:
                return found[::-1]
            found.append((day, entry._replace(text=ctx.vault.hide(note.path, entry.text))))
    return found[::-1]


def curate(ctx: Caller, asked: Material, model: LanguageModel) -> Suggested:
    """Ask what the last days' notes change in the memory, and keep the proposals; see :func:`_ask`."""

    def about(op: dialogues.ModelOp) -> set[tuple[str, int]]:
        by_kind = {"line": op.lines, "fact": op.facts, "note": op.candidates if op.kind == "add" else ()}
        return {(kind, number) for kind, numbers in by_kind.items() for number in numbers}

    return _ask(ctx, "tidy", asked, model, about, lambda op: _curated(ctx, asked, op, model.name), quiet_ids(ctx))


def _curated(ctx: Caller, asked: Material, op: dialogues.ModelOp, name: str) -> Proposal:
    """Return the proposal that an op becomes.

    Raises:
        UsageError: it can't become one; the message says why.
    """
    day, words, quote, source = ctx.now.date(), "", "", NAMELESS
    if op.candidates:
        day, words, entry = _quoted([asked.notes[number - 1] for number in op.candidates], op.text)
        quote, source = secrets.mask(entry.text), entry.path
        if entry.block_id:
            source = f"{entry.path.removesuffix('.md')}#^{entry.block_id}"
        if op.kind in ("add", "replace") and entry.state == OPEN:
            raise UsageError("the note is already waiting for review", "")
    over = _why(op, f"{name} thinks it is over")
    if op.kind == "remove":
        made = proposed(ctx, "remove", asked.lines[op.lines[0] - 1], over)
        quote = quote or made.replaces
    elif op.kind == "end":
        line, fact = asked.facts[op.facts[0] - 1]
        if fact.since and fact.since >= day:
            raise UsageError(f"the fact begins on {fact.since}, not before the note", "")
        made = proposed(ctx, "replace", line, over, facts.words(fact.predicate, fact.object, fact.since, day))
    else:
        made = _new_line(ctx, asked, op, words, _why(op, f"{name} would keep it"))
    return made._replace(quote=quote, source=source, date=day.isoformat())


def _new_line(ctx: Caller, asked: Material, op: dialogues.ModelOp, words: str, why: str) -> Proposal:
    """Propose a new line; the lines that it seems to replace are shown beside it, and the person chooses.

    Raises:
        UsageError: the line exists already, or contains a credential.
    """
    layout = ctx.layout
    if suspicion.MARK in words or secrets.find(words):
        raise UsageError("the note contains a credential", "")
    if any(statements.relation(line.text, words) == "same" for line in asked.lines):
        raise UsageError("a line already says exactly this", "")
    text, replaced = grammar.neutralise(words), [asked.lines[number - 1] for number in op.lines]
    section = asked.sections[op.section - 1] if op.section else layout.notes_section
    section = replaced[0].section if replaced else section
    name = inbox.proposal_id("append", layout.memory, section, text)
    choices = tuple(related(ctx, line) for line in replaced)
    return Proposal(name, "append", layout.memory, section, text, "", "", "", why, choices)


def _quoted(notes: list[tuple[date, Entry]], text: str) -> tuple[date, str, Entry]:
    """Return day, words and entry of the noted line that the model copied words from.

    Args:
        notes: the entries that the model named, with their days.
        text: the words; empty for all words of the first entry.

    Raises:
        UsageError: the words are not whole sentences of any entry. Part of a sentence may say the opposite.
    """
    if not text:
        day, entry = notes[0]
        return day, entry.text, entry
    for day, entry in notes:
        if text in _sentence_runs(entry.text):
            return day, text, entry
    raise UsageError("words that are not whole sentences of the note", "")


def _sentence_runs(text: str) -> Iterator[str]:
    """Yield every run of consecutive whole sentences of a text, with single spaces."""
    sentences = [" ".join(sentence.text.split()) for sentence in statements.sentences(text)]
    if " ".join(sentences) != (whole := " ".join(text.split())):
        sentences = [whole]
    for first in range(len(sentences)):
        for last in range(first + 1, len(sentences) + 1):
            yield " ".join(sentences[first:last])


def _shown(fact: facts.Fact) -> str:
    """Return a fact as the prompt shows it."""
    since = f", since {fact.since}" if fact.since else ""
    return f"{fact.subject}: {fact.predicate} {fact.object}{since}"


def nothing_noted(asked: Material) -> str:
    """Return why there is nothing to ask; empty if there is something."""
    return "" if asked.notes else f"nothing was noted in the last {counted(WITHIN, 'day')}"
