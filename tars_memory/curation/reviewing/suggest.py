"""A model sorts and words what waits: it answers with ops over numbers, and they become proposals of the inbox.

Nothing else comes of it. A candidate that the model skips, or takes for known, is offered by the plain rules as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.model import Proposal, Related
from tars_memory.curation.models import dialogues
from tars_memory.curation.models.dialogues import Dialogue, ModelOp, Offered, Ops
from tars_memory.errors import NotFoundError, UsageError
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.note import Note
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.reviewing.review import Review
    from tars_memory.vault.model import Entry

CANDIDATES = 40
"""So many at a time: an answer of some forty ops fits into the tokens that it may have."""

LINES = 400
"""Lines of the memory that are shown; those that share words with a candidate come first."""


class ReviewMaterial(NamedTuple):
    """What a model is asked about.

    Attributes:
        candidates: proposals of the plain rules.
        lines: entries of Memory.md and Procedural.md.
        sections: headings of Memory.md.
        dialogue: that shows them, numbered.
    """

    candidates: list[Proposal]
    lines: list[Entry]
    sections: list[str]
    dialogue: Dialogue[Ops]


def material(review: Review, *, expired: bool = False) -> ReviewMaterial:
    """What there is to ask about; ``candidates`` is empty if nothing waits."""
    found = review.waiting(limit=0, expired=expired)
    every = [one for each in found.proposals for one in each.each]
    waiting = [
        proposal
        for proposal in every
        if not (proposal.kept or proposal.fact or proposal.op == "create") and proposal.marks
    ]
    waiting = waiting[:CANDIDATES]
    lines: list[Entry] = []
    sections: list[str] = []
    layout = review.ctx.layout
    for path in (layout.memory, layout.procedural):
        try:
            note = Note.of(layout, path, review.ctx.vault.read(path))
        except NotFoundError:
            continue
        lines += [entry for entry in note.entries if not entry.depth]
        if path == layout.memory:
            sections = list(dict.fromkeys(section.title for section in note.document.sections if section.level > 1))
    about = {(line.path, line.line) for proposal in waiting for line in proposal.conflicts}
    lines.sort(key=lambda entry: (entry.path, entry.line) not in about)
    lines = lines[:LINES]
    dialogue = dialogues.review(*_shown(waiting, lines), sections, day=review.ctx.now.date())
    return ReviewMaterial(waiting, lines, sections, dialogue)


def suggest(review: Review, asked: ReviewMaterial, model: LanguageModel) -> Offered:
    """Ask, and keep what the answer comes to in the inbox.

    Raises:
        ModelUnavailableError: the model does not answer, or unusably; nothing was written.
        UnwritableError: the vault can't be written.
    """
    answer = asked.dialogue.ask(model)
    notices = [f"left out of the answer: {reason}" for reason in answer.rejected]
    made: list[Proposal] = []
    used: set[int] = set()
    for op in answer.ops:
        if op.kind in ("same", "skip"):
            continue
        if used & set(op.candidates):
            notices.append("left out of the answer: a candidate in two ops")
            continue
        try:
            made.append(_proposal(review, asked, op, model.name))
        except UsageError as error:
            notices.append(f"left out of the answer: {error.message}")
            continue
        used |= set(op.candidates)
    if not made:
        return Offered([], notices)
    kept: list[str] = []
    with review.ctx.writing("review", None) as session:
        for proposal in made:
            marks = [list(mark) for mark in proposal.marks]
            kept.append(inbox.keep(session, {**proposal.as_dict(), "marks": marks, "occurrence": None}))
    return Offered(kept, notices)


def _proposal(review: Review, asked: ReviewMaterial, op: ModelOp, name: str) -> Proposal:
    """What one op comes to.

    Raises:
        UsageError: it has no words.
    """
    layout = review.ctx.layout
    chosen = [asked.candidates[number - 1] for number in op.candidates]
    first = chosen[0]
    text = grammar.neutralise(mask(op.text)) if op.text.strip() else first.text
    target, section = layout.memory, first.section
    beside: list[Related] = []
    if op.kind == "rule":
        target, section = layout.procedural, layout.notes_section
    elif op.kind == "replace":
        line = asked.lines[op.lines[0] - 1]
        target, section = line.path, line.section
        beside = [Related(line.path, line.line, line.ref, line.text)]  # the person chooses, not the model
    elif op.section:
        section = asked.sections[op.section - 1]
    elif first.target != layout.memory:
        section = layout.notes_section
    quote = "; ".join(dict.fromkeys(each.quote for each in chosen if each.quote))
    said = grammar.neutralise(mask(op.why)) if op.why.strip() else ""
    return first._replace(
        id=inbox.proposal_id("append", target, section, text),
        op="append",
        target=target,
        section=section,
        text=text,
        quote=quote or first.text,
        why=f"{said + '; ' if said else ''}worded by {name}",
        conflicts=tuple(beside),
        marks=tuple(dict.fromkeys(mark for each in chosen for mark in each.marks)),
        kept=True,
    )


def _shown(candidates: Sequence[Proposal], lines: Sequence[Entry]) -> tuple[list[str], list[str]]:
    """The words of candidates and lines as the prompt numbers them: with day and kind."""
    told = []
    for proposal in candidates:
        kind = {"corrections": "correction", "rewards": "reward"}.get(proposal.source.partition("#")[0], "said")
        words = proposal.quote if kind != "said" and proposal.quote else proposal.text
        told.append(f"{proposal.date} {kind}: {words}")
    held = []
    for entry in lines:
        day = entry.provenance.partition("#")[0] if entry.provenance else ""
        held.append(f"{entry.path}{' ' + day if day else ''}: {entry.text}")
    return told, held
