"""``tidy --curate``: a model goes over what the memory holds, by what was noted in the last days.

It answers with numbers of the lines, notes and facts that it was shown, and with whole sentences of the notes; each op
becomes a proposal of the inbox. A note that changed while the model was asked ends it all: what it said was about
another text.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.models import dialogues
from tars_memory.curation.tidying.contradictions import LINES, proposed, related
from tars_memory.curation.tidying.tidy import quiet_ids
from tars_memory.errors import ConflictError, NotFoundError, UsageError, counted
from tars_memory.language import statements
from tars_memory.language.sentences import sentences
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown import facts
from tars_memory.vault.note import Note
from tars_memory.vault.secrets import find, mask
from tars_memory.vault.writing.history import written_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.models.dialogues import Dialogue, ModelOp, Ops
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry

DAYS, WITHIN = 3, 7
"""So many daily notes are shown, the newest of so many days."""
CHARACTERS = 8_000
"""Of what was noted in them, the newest first."""
FACTS = 200

DONE = {"add": "+{} added", "replace": "{} replaced", "remove": "-{} removed", "end": "{} ended"}
"""How the proposals of each kind are told."""


class CurationMaterial(NamedTuple):
    """What a model is asked about.

    Attributes:
        notes: what was noted in the last days and waits for nothing else, with the day.
        lines: top-level entries of Memory.md.
        facts: those that are true today, with their entries.
        sections: headings of Memory.md.
        read: the notes that this was read from, as they were; None for one that was not there.
        dialogue: that shows it, numbered.
        code: of all that is shown: the same again gives the same.
    """

    notes: list[tuple[date, Entry]]
    lines: list[Entry]
    facts: list[tuple[Entry, Fact]]
    sections: list[str]
    read: dict[str, bytes | None]
    dialogue: Dialogue[Ops]
    code: str


class Curated(NamedTuple):
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
        """One line: ``+2 added, -1 removed proposed``; empty for nothing."""
        told = [words.format(self.counts[kind]) for kind, words in DONE.items() if self.counts.get(kind)]
        return f"{', '.join(told)} proposed" if told else ""


def material(ctx: Caller) -> CurationMaterial:
    """What there is to ask about; nothing is asked yet."""
    layout, today = ctx.layout, ctx.now.date()
    read: dict[str, bytes | None] = {}

    def note(path: str) -> Note:
        try:
            found = Note.of(layout, path, ctx.vault.read(path))
        except NotFoundError:
            read[path] = None
            return Note.of(layout, path, None)
        read[path] = found.data
        return found

    memory = note(layout.memory)
    lines = [entry for entry in memory.entries if not entry.depth][:LINES]
    sections = list(dict.fromkeys(section.title for section in memory.document.sections if section.level > 1))
    current = [(entry, fact) for entry, fact in note(layout.facts).facts if fact.holds(today) and not fact.until]
    days = [today - timedelta(days=number) for number in range(WITHIN)]
    daily = [(day, found) for day in days if (found := note(ctx.vault.daily_path(day))).data][:DAYS]
    for path in [path for path, data in read.items() if data is None and path != ctx.vault.daily_path(today)]:
        del read[path]
    noted = _noted(ctx, daily)
    shown = (
        [f"{day} {entry.text}{' (waits for the person)' * (entry.state == OPEN)}" for day, entry in noted],
        [f"{entry.section}: {entry.text}" for entry in lines],
        [_stated(fact) for _, fact in current[:FACTS]],
        sections,
    )
    return CurationMaterial(
        noted, lines, current[:FACTS], sections, read, dialogues.curate(*shown, day=today), dialogues.code(*shown)
    )


OPEN = "extracted"
"""The state of a candidate: it is offered for review anyway, and may show that something else is over."""


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


def curate(ctx: Caller, asked: CurationMaterial, model: LanguageModel) -> Curated:
    """Ask, and keep what the answer comes to in the inbox.

    Raises:
        ModelUnavailableError: the model does not answer, or unusably; nothing was written.
        ConflictError: a note changed while it was asked; nothing was written.
        UnwritableError: the vault can't be written.
    """
    answer = asked.dialogue.ask(model)
    notices = [f"left out of the answer: {reason}" for reason in answer.rejected]
    quiet = quiet_ids(ctx)
    kept: list[str] = []
    counts: Counter[str] = Counter()
    with ctx.writing("tidy", None) as session:
        for path, data in asked.read.items():
            if session.read(path) != data:
                raise ConflictError(f"{path} changed while {model.name} was asked", "nothing was proposed; ask again")
        used: set[tuple[str, int]] = set()
        for op in answer.ops:
            about = {("line", number) for number in op.lines} | {("fact", number) for number in op.facts}
            about |= {("note", number) for number in op.candidates if op.kind == "add"}
            if used & about:
                notices.append(f"left out of the answer: {op.kind}: a line in two ops")
                continue
            try:
                made = _made(ctx, asked, op, model.name)
            except UsageError as error:
                notices.append(f"left out of the answer: {op.kind}: {error.message}")
                continue
            used |= about
            if made["id"] not in quiet:
                kept.append(inbox.keep(session, made))
                counts[op.kind] += 1
    return Curated(kept, notices, dict(counts))


def _made(ctx: Caller, asked: CurationMaterial, op: ModelOp, name: str) -> dict[str, Any]:
    """The proposal that an op comes to.

    Raises:
        UsageError: it can't be one; the message says why.
    """
    said = f"{grammar.neutralise(mask(op.why))}; " if op.why.strip() else ""
    day, words, quote, source = ctx.now.date(), "", "", SOURCE
    if op.candidates:
        day, words, entry = _quoted([asked.notes[number - 1] for number in op.candidates], op.text)
        quote, source = mask(entry.text), entry.path
        if entry.block_id:
            source = f"{entry.path.removesuffix('.md')}#^{entry.block_id}"
        if op.kind in ("add", "replace") and entry.state == OPEN:
            raise UsageError("the note waits for review already", "")
    stands = {"quote": quote, "source": source, "date": day.isoformat()}
    if op.kind == "remove":
        line = asked.lines[op.lines[0] - 1]
        made = proposed(ctx, "remove", line, f"{said}{name} thinks it is over")
        return {**made, **stands, "quote": quote or line.raw}
    if op.kind == "end":
        line, fact = asked.facts[op.facts[0] - 1]
        if fact.since and fact.since >= day:
            raise UsageError(f"the fact begins on {fact.since}, not before the note", "")
        text = facts.words(fact.predicate, fact.object, fact.since, day)
        return {**proposed(ctx, "replace", line, f"{said}{name} thinks it is over", text=text), **stands}
    return _line(ctx, asked, op, words, f"{said}{name} would keep it", stands)


def _line(
    ctx: Caller, asked: CurationMaterial, op: ModelOp, words: str, why: str, stands: dict[str, str]
) -> dict[str, Any]:
    """A new line; one that it seems to replace is shown beside it, and the person chooses.

    Raises:
        UsageError: it stands there already, or holds a credential.
    """
    layout = ctx.layout
    if find(words):
        raise UsageError("the note holds a credential", "")
    text, said = grammar.neutralise(words), statements.read(words)
    if any((held.words, held.tags) == (said.words, said.tags) for held in map(_read, asked.lines)):
        raise UsageError("a line says exactly this already", "")
    beside = [asked.lines[number - 1] for number in op.lines]
    section = asked.sections[op.section - 1] if op.section else layout.notes_section
    section = beside[0].section if beside else section
    return {
        "id": inbox.proposal_id("append", layout.memory, section, text),
        "op": "append",
        "target": layout.memory,
        "section": section,
        "text": text,
        "why": why,
        "conflicts": [related(ctx, line).as_dict() for line in beside],
        "replaces": "",
        "occurrence": None,
        **stands,
    }


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
    cut = [" ".join(one.text.split()) for one in sentences(text)]
    cut = cut if " ".join(cut) == " ".join(text.split()) else [" ".join(text.split())]
    for first in range(len(cut)):
        for last in range(first + 1, len(cut) + 1):
            yield " ".join(cut[first:last])


SOURCE = "curation"
"""What a proposal comes from that names no note."""


def _read(line: Entry) -> statements.Statement:
    return statements.read(line.text)


def _stated(fact: Fact) -> str:
    since = f", since {fact.since}" if fact.since else ""
    return f"{fact.subject}: {fact.predicate} {fact.object}{since}"


def left_out(asked: CurationMaterial) -> str:
    """Why there is nothing to ask; empty if there is."""
    return "" if asked.notes else f"nothing was noted in the last {counted(WITHIN, 'day')}"
