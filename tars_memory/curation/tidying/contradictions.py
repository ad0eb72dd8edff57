"""``tidy --model``: a model says which lines contradict each other, say one thing, or are over.

It answers with numbers of the lines that it was shown, and each op becomes a proposal of the inbox. Nothing else comes
of it: no note changes before a person accepts.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.model import Related, day_of, question
from tars_memory.curation.models import dialogues
from tars_memory.curation.models.dialogues import Dialogue, ModelOp, Offered, Ops
from tars_memory.curation.tidying.tidy import quiet_ids
from tars_memory.errors import NotFoundError, UsageError, counted
from tars_memory.language import statements
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.note import Note
from tars_memory.vault.secrets import mask
from tars_memory.vault.writing.history import written_days

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.caller import Caller
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
        try:
            proposals = list(_proposals(ctx, [asked.lines[number - 1] for number in op.lines], op, model.name))
        except UsageError as error:
            notices.append(f"left out of the answer: {error.message}")
            continue
        used |= set(op.lines)
        made += [each for each in proposals if each["id"] not in quiet]
    if not made:
        return Offered([], notices)
    with ctx.writing("tidy", None) as session:
        return Offered([inbox.keep(session, proposal) for proposal in made], notices)


def _proposals(ctx: Caller, lines: list[Entry], op: ModelOp, name: str) -> Iterator[dict[str, Any]]:
    """What one op comes to.

    Raises:
        UsageError: its words are none, or say something that the lines don't.
    """
    said = f"{grammar.neutralise(mask(op.why))}; " if op.why.strip() else ""
    if op.kind == "stale":
        yield _proposal(ctx, "remove", lines[0], f"{said}{name} takes it to be over")
    elif op.kind == "conflict":
        asked = [_related(ctx, line) for line in lines]
        text, first = question(asked), lines[0]
        made = _proposal(ctx, "choose", first, f"{said}{name} sees a contradiction", text=text, others=lines)
        yield {**made, "id": inbox.proposal_id("choose", first.path, first.section, text), "quote": "", "replaces": ""}
    elif op.kind == "merge":
        if len({line.path for line in lines}) > 1:
            raise UsageError("a merge of lines of two notes")
        text = _merged(lines, op.text)
        yield _proposal(ctx, "replace", lines[0], f"{said}merged by {name}", text=text, others=lines[1:])
        for line in lines[1:]:
            why = f"its words go into “{text}”; accept it with that one only"
            yield _proposal(ctx, "remove", line, why, others=lines[:1])


def _merged(lines: Sequence[Entry], said: str) -> str:
    """The words of a merge.

    Raises:
        UsageError: there are none, or a number or a "not" came or went.
    """
    text = grammar.neutralise(mask(said))
    new = statements.read(text)
    old = [statements.read(line.text) for line in lines]
    if set(_numbers(text)) != {number for line in lines for number in _numbers(line.text)}:
        raise UsageError("a merge in which a number came or went")
    if bool(new.denied) != any(each.denied for each in old):
        raise UsageError("a merge in which a “not” came or went")
    words = Counter(word for each in old for word in each.content)
    strange = [word for word in new.content if word not in words]
    if len(strange) > len(new.content) // 4:
        raise UsageError("a merge in other words than those of the lines")
    return text


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,:/-]\d+)*", text)


def _proposal(
    ctx: Caller, op: str, line: Entry, why: str, *, text: str = "", others: Sequence[Entry] = ()
) -> dict[str, Any]:
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
        "conflicts": [_related(ctx, other).as_dict() for other in others],
        "replaces": line.raw,
        "occurrence": same.index(line.line) if len(same) > 1 and line.line in same else None,
    }


def _related(ctx: Caller, line: Entry) -> Related:
    return Related(line.path, line.line, line.ref, line.text, day_of(line, written_days(ctx.store.journal)))


def _shown(lines: Sequence[Entry]) -> list[str]:
    """The lines as the prompt numbers them: with note, heading and day."""
    told = []
    for entry in lines:
        day = entry.provenance.partition("#")[0] if entry.provenance else ""
        told.append(f"{entry.path} › {entry.section}{' ' + day if day else ''}: {entry.text}")
    return told
