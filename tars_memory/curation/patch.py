"""A note and ops give a note and what became of each op. Pure: nothing is read, nothing is written, nothing raises.

Each op is looked at alone, on what the ops before it left: it is applied, or there was nothing to do, or it is rejected
with the reason, and then holds up no other one. Every change is made by :mod:`tars_memory.vault.markdown.edits`, which
touches the lines that it names and no other byte, and is looked at once more before it counts.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.bundle import Wanted, bundle, words_of
from tars_memory.curation.model import Op, Outcome
from tars_memory.errors import TarsError, counted
from tars_memory.vault.markdown import edits, facts
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document, apply, plain_heading
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.markdown.facts import Claim, Predicates, add_fact
from tars_memory.vault.markdown.spans import lines_of
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.vault.markdown.document import Section
    from tars_memory.vault.model import Entry
    from tars_memory.vault.note import Note

DIFFED = 4000
"""Lines that are compared one by one; a greater difference is one splice."""

Found = tuple[bytes, str]
"""The note after an op, and why nothing was done; empty if something was."""


class Patched(NamedTuple):
    """A note with ops applied to it.

    Attributes:
        data: the note; the very bytes that were given if nothing was applied.
        outcomes: one for each op, in their order.
    """

    data: bytes
    outcomes: tuple[Outcome, ...]

    @property
    def applied(self) -> int:
        """How many ops changed the note."""
        return sum(outcome.status == "applied" for outcome in self.outcomes)


class _RejectedError(Exception):
    """Why an op can't be applied."""


def patch(note: Note, ops: Sequence[Op], *, once: bool = False) -> Patched:
    """Apply ops to a note, each as if those before it had been applied alone; many of them cost few parses.

    Args:
        note: without a text if there is none.
        ops: in order; an entry is named by its own lines, and must be found exactly once.
        once: nothing is done for an op whose line has come to the note already: another entry links to its provenance.
    """
    outcomes: list[Outcome] = []
    wanted = [_wanted(op) for op in ops]
    while len(outcomes) < len(ops):
        at = len(outcomes)
        together = bundle(note, ops[at:], wanted[at:], once=once) if at + 1 < len(ops) else None
        if together is not None:
            data = together.data
            outcomes += together.outcomes
        else:
            data, outcome = _alone(note, ops[at], once=once)
            outcomes.append(outcome)
        note = note.saying(data)
    return Patched(note.data, tuple(outcomes))


def _alone(note: Note, op: Op, *, once: bool = False) -> tuple[bytes, Outcome]:
    """A note after one op, and what became of it."""
    if once and op.provenance:
        for entry in note.entries:
            if entry.provenance == op.provenance and entry.raw != op.target:
                return note.data, Outcome(op, "no-op", f"{note.path} line {entry.line} came from the same line")
    try:
        new, nothing = _OPS.get(op.kind, _unknown)(note, op)
    except (_RejectedError, TarsError, UnicodeError) as error:
        return note.data, Outcome(op, "rejected", str(error))
    return new, Outcome(op, "no-op" if nothing else "applied", nothing)


def _wanted(op: Op) -> Wanted | None:
    """What an op comes to, if it may go together with others."""
    if op.kind not in ("append", "replace", "remove"):
        return None
    try:
        link = ("", "") if op.kind == "remove" else _provenance(op)
        return Wanted(link, heading(op.section) if op.kind == "append" else "")
    except (_RejectedError, TarsError, UnicodeError):
        return None


def splices_between(before: bytes, after: bytes) -> list[Splice]:
    """What to splice into a note so that it becomes the other one: whole lines, and as few as there are different."""
    old, new = lines_of(before), lines_of(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle, made = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if not middle and not made:
        return []
    if len(middle) + len(made) > DIFFED:
        return [Splice(start, start + sum(map(len, middle)), b"".join(made))]
    offsets = [start]
    for line in middle:
        offsets.append(offsets[-1] + len(line))
    return [
        Splice(offsets[first], offsets[last], b"".join(made[low:high]))
        for tag, first, last, low, high in SequenceMatcher(None, middle, made, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def locate(note: Note, target: str, *, occurrence: int | None = None) -> Entry | str:
    """The entry that a target names, or in a sentence why it can't be told.

    Args:
        note: to look into.
        target: the entry's own lines as they stood (:attr:`Entry.raw`).
        occurrence: which of several with these very lines, from 0; None: there must be one only.

    Returns:
        The entry with exactly these lines; else the one with its block id or its words, if it still says the same.
    """
    now, path = note.entries, note.path
    target = re.sub(r"\r\n|\r", "\n", target)
    same = [entry for entry in now if entry.raw == target]
    if occurrence is not None:
        same = same[occurrence : occurrence + 1]
    if len(same) == 1:
        return same[0]
    said = " ".join(target.split())[:200]
    if same:
        return f"{path} holds {said!r} {counted(len(same), 'time')}"
    was = next(iter(note.saying(_encoded(target.lstrip(" \t"))).entries), None)
    if was is None:
        return f"{said!r} is no entry"
    same = [entry for entry in now if was.block_id and entry.block_id == was.block_id]
    same = same or [entry for entry in now if entry.text == was.text]
    same = same or [entry for entry in now if was.provenance and entry.provenance == was.provenance]
    if len(same) == 1 and same[0].text == was.text:
        return same[0]
    there = f"; it now says {same[0].text[:200]!r}" if len(same) == 1 else ""
    return f"{path} does not hold {said!r} any more{there}"


def _append(note: Note, op: Op) -> Found:
    words = words_of(op)
    title = heading(op.section)
    there = [entry for entry in note.entries if entry.text == words]
    if there:
        return note.data, f"{note.path} line {there[0].line} says exactly this"
    target, label = _provenance(op)
    parts = grammar.Parts(words, provenance=target or None, label=label or None, author=op.author or None)
    line = grammar.render(parts)
    new = apply(note.data, edits.insert_bullet(note.data, line, section=title))
    return _checked(note, new, gone=(), come=(words,)), ""


def _replace(note: Note, op: Op) -> Found:
    entry = _target(note, op)
    words = words_of(op, entry)
    target, label = _provenance(op)
    if words == entry.text and target in ("", entry.provenance):
        return note.data, f"{note.path} line {entry.line} says exactly this"
    provenance, author = ((target, label), op.author) if target else (None, None)
    new = apply(note.data, edits.replace_bullet(note, entry, words, provenance=provenance, author=author))
    return _checked(note, new, gone=(entry.text,), come=(words,)), ""


def _remove(note: Note, op: Op) -> Found:
    entry = _target(note, op)
    lines = range(entry.line, entry.end_line + 1)
    gone = [other.text for other in note.entries if other.line in lines]
    new = apply(note.data, edits.remove_bullet(note, entry))
    return _checked(note, new, gone=gone, come=()), ""


def _add_section(note: Note, op: Op) -> Found:
    if op.text:  # a bullet makes its heading, and is there as well if the heading is
        return _append(note, op)
    title = heading(op.section)
    if note.document.find_section(title):
        return note.data, f"{note.path} has the heading {title!r}"
    new = apply(note.data, edits.insert_heading(note.data, title))
    return _checked(note, new, gone=(), come=()), ""


def _remove_section(note: Note, op: Op) -> Found:
    document, data = note.document, note.data
    wanted = plain_heading(op.section)
    lines = re.sub(r"\r\n|\r", "\n", op.target).strip("\n")
    named = [section for section in document.sections if section.level and section.title == wanted]
    same = [section for section in named if _section_text(document, section) == lines]
    if len(same) != 1:
        many = (
            f"stands there {counted(len(same), 'time')}"
            if same
            else "does not say that any more"
            if named
            else "is gone"
        )
        raise _RejectedError(f"{note.path}: the section {wanted!r} {many}")
    start = document.lines[same[0].start_line - 1].start
    end = document.lines[same[0].end_line - 1].next
    within = range(same[0].start_line, same[0].end_line + 1)
    gone = [entry.text for entry in note.entries if entry.line in within]
    return _checked(note, data[:start] + data[end:], gone=gone, come=(), less=wanted), ""


def _fact(note: Note, op: Op) -> Found:
    said = facts.said(op.text)
    if said is None:
        raise _RejectedError(f"{op.text[:200]!r} is no fact")
    link = _provenance(op)
    made = add_fact(
        note,
        Claim(heading(op.section), *said),
        today=_said_on(op, said),
        predicates=Predicates([said.predicate] if op.single else [], [], []),
        link=link if link[0] else None,
        author=op.author,
    )
    if made.plan.same is not None:
        return note.data, f"{note.path} line {made.plan.same.line} says so already"
    new = apply(note.data, made.splices)
    gone = [entry.text for entry, _ in made.ended]
    return _checked(note, new, gone=gone, come=(made.words, *(words for _, words in made.ended))), ""


def _said_on(op: Op, said: facts.Said) -> date:
    return date.fromisoformat(op.label) if op.label else said.since or date.min


def ended(note: Note, op: Op) -> tuple[str, ...]:
    """The own lines of the facts that an op of kind ``fact`` would end in a note, as they stand there."""
    said = facts.said(op.text)
    if said is None or not op.single:
        return ()
    found = note.facts
    known = {fact.ref: entry.raw for entry, fact in found}
    plan = facts.plan(
        (fact for _, fact in found),
        Claim(heading(op.section), *said),
        today=_said_on(op, said),
        predicates=Predicates([said.predicate], [], []),
    )
    return tuple(known[ending.fact.ref] for ending in plan.endings)


def _unknown(note: Note, op: Op) -> Found:  # noqa: ARG001 - as all of them
    raise _RejectedError(f"there is no op {str(op.kind)[:40]!r}")


_OPS: dict[str, Callable[[Note, Op], Found]] = {
    "append": _append,
    "replace": _replace,
    "remove": _remove,
    "add_section": _add_section,
    "remove_section": _remove_section,
    "fact": _fact,
}


def _target(note: Note, op: Op) -> Entry:
    found = locate(note, op.target, occurrence=op.occurrence)
    if isinstance(found, str):
        raise _RejectedError(found)
    return found


def _provenance(op: Op) -> tuple[str, str]:
    """Target and label of the link to where the words come from; both empty if none is given."""
    if not op.provenance:
        return "", ""
    label = op.label or op.provenance.partition("#")[0].rpartition("/")[2]
    read = grammar.parse(grammar.render(grammar.Parts("x", provenance=op.provenance, label=label)).removeprefix("- "))
    if (read.provenance, read.label) != (op.provenance, label):
        raise _RejectedError(f"{op.provenance[:200]!r} can't be linked to")
    return op.provenance, label


def _section_text(document: Document, section: Section) -> str:
    return re.sub(r"\r\n|\r", "\n", document.text(section.start_line, section.end_line)).strip("\n")


def _checked(note: Note, after: bytes, *, gone: Sequence[str], come: Sequence[str], less: str = "") -> bytes:
    """The note after an op, if no other entry and no other heading came, went or changed by it."""
    new = note.saying(after)
    had, has = (Counter(entry.text for entry in each.entries) for each in (note, new))
    titles, now = ([section.title for section in each.document.sections if section.level] for each in (note, new))
    if less:
        titles.remove(less)
    if has != had - Counter(gone) + Counter(come) or not _within(titles, now):
        raise _RejectedError(f"{note.path}: it would change what stands around it")
    return after


def _within(titles: list[str], now: list[str]) -> bool:
    """Whether the headings are those that were there, perhaps with a new one."""
    return len(now) - len(titles) in (0, 1) and not Counter(titles) - Counter(now)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
