"""What a model is asked about the memory, and the proposals of the inbox that its answers become.

``review --model`` lets it sort and word what waits, ``tidy --model`` say which lines contradict each other or are over,
``tidy --curate`` go over what the memory holds by what was noted in the last days. It answers with numbers of what it
was shown, and nothing else comes of it: no note changes before a person accepts.
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
from tars_memory.vault import change, inbox, secrets
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.note import Note
from tars_memory.vault.writing.history import written_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.review import Review
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry


LINES = 400
"""So many lines of the memory are shown; an answer's few ops fit into the tokens that it may have."""

DONE = {"add": "+{} added", "replace": "{} replaced", "remove": "-{} removed", "end": "{} ended"}
"""How a notice counts the proposals of each kind."""


class Material(NamedTuple):
    """What a model is asked about.

    Attributes:
        dialogue: that shows it, numbered.
        lines: top-level entries of Memory.md, and but for ``tidy --curate`` of Procedural.md.
        candidates: proposals of the plain rules.
        notes: what was noted in the last days and waits for nothing else, with the day.
        facts: those that are true today, with their entries.
        sections: headings of Memory.md.
        read: the notes that must not change meanwhile, as they were; None for one that was not there.
        left_out: how many more lines there are.
    """

    dialogue: dialogues.Dialogue[dialogues.Ops]
    lines: Sequence[Entry]
    candidates: Sequence[Proposal] = ()
    notes: Sequence[tuple[date, Entry]] = ()
    facts: Sequence[tuple[Entry, Fact]] = ()
    sections: Sequence[str] = ()
    read: Mapping[str, bytes | None] = {}  # never changed
    left_out: int = 0


class Offered(NamedTuple):
    """What came of a model's answer.

    Attributes:
        kept: ids of the proposals that it became.
        notices: what was left out, and why.
        counts: proposals by the kind of op.
    """

    kept: list[str]
    notices: list[str]
    counts: dict[str, int]

    @property
    def told(self) -> str:
        """What ``tidy --curate`` proposes, in one line: ``+2 added, -1 removed proposed``; empty for nothing."""
        told = [words.format(self.counts[kind]) for kind, words in DONE.items() if self.counts.get(kind)]
        return f"{', '.join(told)} proposed" if told else ""


def _kept(
    ctx: Caller,
    command: str,
    asked: Material,
    model: LanguageModel,
    about: Callable[[dialogues.ModelOp], Collection[object]],
    make: Callable[[dialogues.ModelOp], Proposal],
    quiet: Collection[str] = (),
) -> Offered:
    """Ask, and keep what the answer comes to in the inbox.

    Args:
        ctx: the command's view of the vault.
        command: as history shows it.
        asked: what is shown.
        model: whom to ask.
        about: what an op is about, which no later one may be about, too; empty for one that changes nothing.
        make: what an op comes to; raises :class:`UsageError` for one that comes to nothing.
        quiet: ids of proposals that are not to be made.

    Raises:
        ModelUnavailableError: the model does not answer, or unusably; nothing was written.
        ConflictError: a note changed while it was asked; nothing was written.
        UnwritableError: the vault can't be written.
    """
    answer = asked.dialogue.ask(model)
    notices = [f"left out of the answer: {reason}" for reason in answer.rejected]
    ops = [op for op in answer.ops if about(op)]
    if not ops and not asked.read:
        return Offered([], notices, {})
    kept: list[str] = []
    counts: Counter[str] = Counter()
    used: set[object] = set()
    with ctx.writing(command, None) as session:
        for path, data in asked.read.items():
            if session.read(path) != data:
                raise ConflictError(f"{path} changed while {model.name} was asked", "nothing was proposed; ask again")
        for op in ops:
            if used & set(about(op)):
                notices.append(f"left out of the answer: {op.kind}: another op is about the same")
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
    return Offered(kept, notices, dict(counts))


def _loaded(ctx: Caller) -> list[Note]:
    """Memory.md and Procedural.md, as far as they are there."""
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
    """A blank and the day that a line is from; empty if it names none."""
    day = line.provenance.partition("#")[0] if line.provenance else ""
    return f" {day}" if day else ""


def _why(op: dialogues.ModelOp, otherwise: str) -> str:
    """What a model says of an op, as a person may see it, and what we say of that."""
    return f"{grammar.neutralise(secrets.mask(op.why))}; {otherwise}" if op.why.strip() else otherwise


# --- ``review --model``: what the model skips, or takes for known, is offered by the plain rules as before

CANDIDATES = 40
"""So many at a time: an answer of some forty ops fits into the tokens that it may have."""


def to_sort(review: Review, *, expired: bool = False) -> Material:
    """What there is to ask about; ``candidates`` is empty if nothing waits."""
    found = review.waiting(limit=0, expired=expired)
    every = [one for each in found.proposals for one in each.each]
    waiting = [
        proposal
        for proposal in every
        if not (proposal.kept or proposal.fact or proposal.op == "create") and proposal.marks
    ]
    waiting = waiting[:CANDIDATES]
    notes = _loaded(review.ctx)
    lines = [line for note in notes for line in _lines(note)]
    sections = [title for note in notes if note.path == review.ctx.layout.memory for title in _sections(note)]
    about = {(line.path, line.line) for proposal in waiting for line in proposal.conflicts}
    lines.sort(key=lambda entry: (entry.path, entry.line) not in about)
    lines = lines[:LINES]
    shown = {
        "candidates": [_with_kind(proposal) for proposal in waiting],
        "lines": [f"{line.path}{_day(line)}: {line.text}" for line in lines],
        "sections": sections,
    }
    dialogue = dialogues.over("review", shown, day=review.ctx.now.date())
    return Material(dialogue, lines, waiting, sections=sections)


def suggest(review: Review, asked: Material, model: LanguageModel) -> Offered:
    """Ask, and keep what the answer comes to, as :func:`_kept`."""
    return _kept(
        review.ctx,
        "review",
        asked,
        model,
        lambda op: op.candidates if op.kind not in ("same", "skip") else (),
        lambda op: _sorted(review, asked, op, model.name),
    )


def _sorted(review: Review, asked: Material, op: dialogues.ModelOp, name: str) -> Proposal:
    """What one op comes to.

    Raises:
        UsageError: it has no words.
    """
    layout = review.ctx.layout
    chosen = [asked.candidates[number - 1] for number in op.candidates]
    first = chosen[0]
    text = grammar.neutralise(secrets.mask(op.text)) if op.text.strip() else first.text
    target, section = layout.memory, first.section
    beside: list[Related] = []
    if op.kind == "rule":
        target, section = layout.procedural, layout.notes_section
    elif op.kind == "replace":
        line = asked.lines[op.lines[0] - 1]
        target, section = line.path, line.section
        beside = [Related.of(line)]  # the person chooses, not the model
    elif op.section:
        section = asked.sections[op.section - 1]
    elif first.target != layout.memory:
        section = layout.notes_section
    quote = "; ".join(dict.fromkeys(each.quote for each in chosen if each.quote))
    return first._replace(
        id=inbox.proposal_id("append", target, section, text),
        op="append",
        target=target,
        section=section,
        text=text,
        quote=quote or first.text,
        why=_why(op, f"worded by {name}"),
        conflicts=tuple(beside),
        marks=tuple(dict.fromkeys(mark for each in chosen for mark in each.marks)),
        occurrence=None,
    )


def _with_kind(proposal: Proposal) -> str:
    """The words of a candidate as the prompt shows them: with day and kind."""
    kind = {"corrections": "correction", "rewards": "reward"}.get(proposal.source.partition("#")[0], "said")
    words = proposal.quote if kind != "said" and proposal.quote else proposal.text
    return f"{proposal.date} {kind}: {words}"


# --- ``tidy --model``


def to_compare(ctx: Caller) -> Material:
    """What there is to ask about; nothing is asked yet."""
    lines = [line for note in _loaded(ctx) for line in _lines(note)]
    shown = lines[:LINES]
    told = [f"{line.path} › {line.section}{_day(line)}: {line.text}" for line in shown]
    dialogue = dialogues.over("tidy", {"lines": told}, day=ctx.now.date())
    return Material(dialogue, shown, left_out=len(lines) - len(shown))


def compare(ctx: Caller, asked: Material, model: LanguageModel) -> Offered:
    """Ask, and keep what the answer comes to, as :func:`_kept`."""

    def made(op: dialogues.ModelOp) -> Proposal:
        """A line to remove, or the question which of some lines is to stay."""
        lines = [asked.lines[number - 1] for number in op.lines]
        first = lines[0]
        if op.kind == "stale":
            return proposed(ctx, "remove", first, _why(op, f"{model.name} thinks it is over"))
        why = "sees a contradiction" if op.kind == "conflict" else "takes them to say the same"
        told, today = tuple(related(ctx, line) for line in lines), ctx.now.date().isoformat()
        question = question_about(first.path, first.section, told, today, _why(op, f"{model.name} {why}"))
        return question._replace(source=TIDY)

    done = _kept(ctx, "tidy", asked, model, lambda op: op.lines, made, quiet_ids(ctx))
    if asked.left_out:
        done.notices.append(f"not compared, as a model is shown so many at once: {counted(asked.left_out, 'line')}")
    return done


def proposed(ctx: Caller, op: str, line: Entry, why: str, text: str = "") -> Proposal:
    """A change of one line as it is now.

    Args:
        ctx: the command's view of the vault.
        op: ``remove`` or ``replace``.
        line: that changes.
        why: one sentence for the person.
        text: its new words.
    """
    _, occurrence = change.named(ctx.vault.note(line.path), line)
    made = change_of_line(op, line, text, ctx.now.date().isoformat(), why)
    return made._replace(occurrence=occurrence)


def related(ctx: Caller, line: Entry) -> Related:
    """A line as it is shown beside a proposal, with its day."""
    return Related.of(line, day_of(line, ctx.dated))


# --- ``tidy --curate``: a note that changed while the model was asked ends it all: what it said was about another text

DAYS, WITHIN = 3, 7
"""So many daily notes are shown, the newest of so many days."""
CHARACTERS = 8_000
"""Of what was noted in them, the newest first."""
FACTS = 200

OPEN = "extracted"
"""The state of a candidate: it is offered for review anyway, and may show that something else is over."""

NAMELESS = "curation"
"""What a proposal comes from that names no note."""


def to_curate(ctx: Caller) -> Material:
    """What there is to ask about; nothing is asked yet."""
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
        "lines": [f"{entry.section}: {entry.text}" for entry in lines],
        "facts": [_stated(fact) for _, fact in current],
        "sections": sections,
    }
    dialogue = dialogues.over("curate", shown, day=today)
    return Material(dialogue, lines, notes=noted, facts=current, sections=sections, read=read)


def _noted(ctx: Caller, daily: list[tuple[date, Note]]) -> list[tuple[date, Entry]]:
    """The person's own lines of some days, as many as there is room for, the oldest first."""
    written = written_lines(ctx.store.journal)
    found: list[tuple[date, Entry]] = []
    room = CHARACTERS
    for day, note in daily:
        by_whom = written.get(note.path, {})
        for entry in reversed(note.entries):
            records = by_whom.get(entry.raw.split("\n")[0].encode("utf-8", "surrogateescape"))
            agents = entry.state is None and records and records[-1].get("actor") == "agent"
            if entry.depth or entry.state not in (None, OPEN) or agents:
                continue
            room -= len(entry.text)
            if room < 0:
                return found[::-1]
            found.append((day, entry))
    return found[::-1]


def curate(ctx: Caller, asked: Material, model: LanguageModel) -> Offered:
    """Ask, and keep what the answer comes to, as :func:`_kept`."""

    def about(op: dialogues.ModelOp) -> set[tuple[str, int]]:
        numbers = {"line": op.lines, "fact": op.facts, "note": op.candidates if op.kind == "add" else ()}
        return {(name, number) for name, those in numbers.items() for number in those}

    return _kept(ctx, "tidy", asked, model, about, lambda op: _curated(ctx, asked, op, model.name), quiet_ids(ctx))


def _curated(ctx: Caller, asked: Material, op: dialogues.ModelOp, name: str) -> Proposal:
    """The proposal that an op comes to.

    Raises:
        UsageError: it can't be one; the message says why.
    """
    day, words, quote, source = ctx.now.date(), "", "", NAMELESS
    if op.candidates:
        day, words, entry = _quoted([asked.notes[number - 1] for number in op.candidates], op.text)
        quote, source = secrets.mask(entry.text), entry.path
        if entry.block_id:
            source = f"{entry.path.removesuffix('.md')}#^{entry.block_id}"
        if op.kind in ("add", "replace") and entry.state == OPEN:
            raise UsageError("the note waits for review already", "")
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
        made = _line(ctx, asked, op, words, _why(op, f"{name} would keep it"))
    return made._replace(quote=quote, source=source, date=day.isoformat())


def _line(ctx: Caller, asked: Material, op: dialogues.ModelOp, words: str, why: str) -> Proposal:
    """A new line; one that it seems to replace is shown beside it, and the person chooses.

    Raises:
        UsageError: it is there already, or holds a credential.
    """
    layout = ctx.layout
    if secrets.find(words):
        raise UsageError("the note holds a credential", "")
    if any(statements.relation(line.text, words) == "same" for line in asked.lines):
        raise UsageError("a line says exactly this already", "")
    text, beside = grammar.neutralise(words), [asked.lines[number - 1] for number in op.lines]
    section = asked.sections[op.section - 1] if op.section else layout.notes_section
    section = beside[0].section if beside else section
    name = inbox.proposal_id("append", layout.memory, section, text)
    told = tuple(related(ctx, line) for line in beside)
    return Proposal(name, "append", layout.memory, section, text, "", "", "", why, told)


def _quoted(notes: list[tuple[date, Entry]], text: str) -> tuple[date, str, Entry]:
    """The note that words were copied from, with its day, and the words: whole sentences of it, or all of the first.

    Raises:
        UsageError: no note says them, or only in the middle of a sentence, which may say the opposite.
    """
    if not text:
        day, entry = notes[0]
        return day, entry.text, entry
    for day, entry in notes:
        if text in _runs(entry.text):
            return day, text, entry
    raise UsageError("words that are not whole sentences of the note", "")


def _runs(text: str) -> Iterator[str]:
    """All runs of whole sentences of a note."""
    cut = [" ".join(one.text.split()) for one in statements.sentences(text)]
    cut = cut if " ".join(cut) == " ".join(text.split()) else [" ".join(text.split())]
    for first in range(len(cut)):
        for last in range(first + 1, len(cut) + 1):
            yield " ".join(cut[first:last])


def _stated(fact: Fact) -> str:
    since = f", since {fact.since}" if fact.since else ""
    return f"{fact.subject}: {fact.predicate} {fact.object}{since}"


def nothing_noted(asked: Material) -> str:
    """Why there is nothing to ask; empty if there is."""
    return "" if asked.notes else f"nothing was noted in the last {counted(WITHIN, 'day')}"
