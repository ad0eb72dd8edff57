"""``tidy --model``: a model says which lines contradict each other, say one thing, or are over.

It answers with numbers of the lines that it was shown, never with words of its own, and each op becomes a proposal of
the inbox. Nothing else comes of it: no note changes before a person accepts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.model import Related, day_of, question
from tars_memory.curation.models import dialogues
from tars_memory.curation.models.dialogues import Dialogue, ModelOp, Offered, Ops
from tars_memory.curation.tidying.tidy import quiet_ids
from tars_memory.errors import NotFoundError, counted
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.note import Note
from tars_memory.vault.secrets import mask
from tars_memory.vault.writing.history import written_days

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.vault.model import Entry

LINES = 400
"""So many lines are shown; an answer's few ops fit into the tokens that it may have."""


class TidyMaterial(NamedTuple):
    """What a model is asked about.

    Attributes:
        lines: top-level entries of Memory.md and Procedural.md, outside projects.
        dialogue: that shows them, numbered.
        left_out: how many more there are.
    """

    lines: list[Entry]
    dialogue: Dialogue[Ops]
    left_out: int = 0


def material(ctx: Caller) -> TidyMaterial:
    """What there is to ask about; nothing is asked yet."""
    lines: list[Entry] = []
    for path in (ctx.layout.memory, ctx.layout.procedural):
        try:
            found = Note.of(ctx.layout, path, ctx.vault.read(path)).entries
        except NotFoundError:
            continue
        lines += [entry for entry in found if not entry.depth]
    shown = lines[:LINES]
    return TidyMaterial(shown, dialogues.tidy(_shown(shown), day=ctx.now.date()), len(lines) - len(shown))


def compare(ctx: Caller, asked: TidyMaterial, model: LanguageModel) -> Offered:
    """Ask, and keep what the answer comes to in the inbox.

    Raises:
        ModelUnavailableError: the model does not answer, or unusably; nothing was written.
        UnwritableError: the vault can't be written.
    """
    answer = asked.dialogue.ask(model)
    notices = [f"left out of the answer: {reason}" for reason in answer.rejected]
    if asked.left_out:
        notices.append(f"not compared, as a model is shown so many at once: {counted(asked.left_out, 'line')}")
    quiet = quiet_ids(ctx)
    made: list[dict[str, Any]] = []
    used: set[int] = set()
    for op in answer.ops:
        if used & set(op.lines):
            notices.append("left out of the answer: a line in two ops")
            continue
        used |= set(op.lines)
        made.append(_made(ctx, [asked.lines[number - 1] for number in op.lines], op, model.name))
    made = [each for each in made if each["id"] not in quiet]
    if not made:
        return Offered([], notices)
    with ctx.writing("tidy", None) as session:
        return Offered([inbox.keep(session, proposal) for proposal in made], notices)


def _made(ctx: Caller, lines: list[Entry], op: ModelOp, name: str) -> dict[str, Any]:
    """The proposal that an op comes to: a line to remove, or the question which of some lines is to stay."""
    said = f"{grammar.neutralise(mask(op.why))}; " if op.why.strip() else ""
    if op.kind == "stale":
        return proposed(ctx, "remove", lines[0], f"{said}{name} thinks it is over")
    text = question([related(ctx, line) for line in lines])
    why = "sees a contradiction" if op.kind == "conflict" else "takes them to say the same"
    made = proposed(ctx, "choose", lines[0], f"{said}{name} {why}", text=text, others=lines)
    id_ = inbox.proposal_id("choose", lines[0].path, lines[0].section, text)
    return {**made, "id": id_, "quote": "", "replaces": ""}


def proposed(
    ctx: Caller, op: str, line: Entry, why: str, *, text: str = "", others: Sequence[Entry] = ()
) -> dict[str, Any]:
    """A change of one line as the inbox keeps it.

    Args:
        ctx: the command's view of the vault.
        op: ``remove``, ``replace`` or ``choose``.
        line: as it stands now.
        why: one sentence for the person.
        text: its new words, or the question.
        others: lines to show beside it.
    """
    note = Note.of(ctx.layout, line.path, ctx.vault.read(line.path))
    same = [entry.line for entry in note.entries if entry.raw == line.raw]
    return {
        "id": inbox.proposal_id(op, line.path, line.section, text, line.raw),
        "op": op,
        "target": line.path,
        "section": line.section,
        "text": text,
        "quote": line.raw,
        "source": "tidy",
        "date": ctx.now.date().isoformat(),
        "why": why,
        "conflicts": [related(ctx, other).as_dict() for other in others],
        "replaces": line.raw,
        "occurrence": same.index(line.line) if len(same) > 1 and line.line in same else None,
    }


def related(ctx: Caller, line: Entry) -> Related:
    """A line as it is shown beside a proposal, with its day."""
    return Related(line.path, line.line, line.ref, line.text, day_of(line, written_days(ctx.store.journal)))


def _shown(lines: Sequence[Entry]) -> list[str]:
    """The lines as the prompt numbers them: with note, heading and day."""
    told = []
    for entry in lines:
        day = entry.provenance.partition("#")[0] if entry.provenance else ""
        told.append(f"{entry.path} › {entry.section}{' ' + day if day else ''}: {entry.text}")
    return told
