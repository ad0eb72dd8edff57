"""A note and ops give a note and what became of each op. Pure: nothing is read, nothing is written, nothing raises.

Each op is looked at alone, on what the ops before it left: it is applied, or there was nothing to do, or it is rejected
with the reason, and then holds up no other one. Every change is made by :mod:`tars_memory.vault.markdown.edits`, which
touches the lines that it names and no other byte, and is looked at once more before it counts.

Many ops cost few parses: one joins a bundle if what it does can be told from the note as it was before the bundle, for
it names a line that no other one of it touches, or adds a line behind one that was placed already. All splices are then
made at once, and the whole is parsed once more: exactly the entries that should have come, gone and changed have, each
in its place, else the bundle is halved. What can't join (a new heading, a line that is found by its words only, an op
that will be rejected) is done alone. The note is the same, byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.model import Op, Outcome
from tars_memory.errors import TarsError, counted
from tars_memory.vault.markdown import edits, facts
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document, apply, plain_heading
from tars_memory.vault.markdown.edits import add_fact
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.markdown.facts import Claim, Predicates
from tars_memory.vault.markdown.spans import lines_of
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tars_memory.curation.model import Op
    from tars_memory.vault.markdown.document import Bullet, Document, Section
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


LEAST = 2
"""Ops that are worth a bundle: one alone costs less without."""


class Bundled(NamedTuple):
    """A note after the first of some ops, and what became of each of them."""

    data: bytes
    outcomes: tuple[Outcome, ...]


class Wanted(NamedTuple):
    """What an op comes to in words that can be written.

    Attributes:
        provenance: target and label of the link; empty ones for none.
        section: the heading, neutralised; empty for a line that has its place.
    """

    provenance: tuple[str, str]
    section: str


def words_of(op: Op, entry: Entry | None = None) -> str:
    """The words of an op; a task that they replace keeps its box, unless they bring one.

    Raises:
        UsageError: there are none.
    """
    box = grammar.task(entry.text) if entry is not None else ""
    given = grammar.task(op.text.lstrip()) if box else ""
    return (given or box) + grammar.neutralise(op.text.lstrip()[len(given) :] if entry is not None else op.text)


def bundle(note: Note, ops: Sequence[Op], wanted: Sequence[Wanted | None], *, once: bool) -> Bundled | None:
    """As many of the first ops as go together; None if that is hardly one.

    Args:
        note: as it is.
        ops: in order.
        wanted: of each what it comes to; None for one that must be done alone.
        once: :func:`patch`.
    """
    sheet = Sheet(note)
    most = len(ops)
    while most >= LEAST:
        plan = _Plan(sheet, once=once)
        count = plan.take(ops[:most], wanted)
        if count < LEAST:
            return None
        after = plan.after()
        if after is not None:
            return Bundled(after, tuple(plan.outcomes))
        most = count // 2
    return None


class Sheet:
    """A note, its entries found by what they say.

    Attributes:
        note: of which it is.
        document: its structure.
        entries: in order.
        raws, texts, sources: entries by their own lines, words, provenance.
        bullets: by line.
    """

    def __init__(self, note: Note) -> None:
        self.note = note
        self.path = note.path
        self.data = note.data
        self.document = note.document
        self.entries = note.entries
        self.raws = _by((entry.raw, entry) for entry in self.entries)
        self.texts = _by((entry.text, entry) for entry in self.entries)
        self.sources = _by((entry.provenance, entry) for entry in self.entries if entry.provenance)
        self.bullets: dict[int, Bullet] = {bullet.line: bullet for bullet in self.document.bullets}

    def named(self, target: str, occurrence: int | None) -> Entry | None:
        """The one entry with exactly these lines; None if it takes a closer look to tell."""
        same = self.raws.get(re.sub(r"\r\n|\r", "\n", target), [])
        if occurrence is not None:
            same = same[occurrence : occurrence + 1]
        return same[0] if len(same) == 1 else None


class _Chain:
    """New bullets at the end of a section, one behind the other; ``words`` are what they say."""

    def __init__(self, title: str, splice: Splice, line: bytes) -> None:
        self.title = title
        self.at = splice.start
        self.head, _, self.tail = splice.data.partition(line)
        self.ending = re.match(rb"\r\n|\r|\n", self.tail)[0]  # type: ignore[index]  # looked at by the caller
        self.tail = self.tail[len(self.ending) :]
        self.lines: list[bytes] = []
        self.words: list[str] = []

    def splice(self) -> Splice:
        """All of them at once."""
        body = b"".join(line + self.ending for line in self.lines)
        return Splice(self.at, self.at, self.head + body + self.tail)


class _Plan:
    """What a bundle would do to a note."""

    def __init__(self, sheet: Sheet, *, once: bool) -> None:
        self.sheet = sheet
        self.once = once
        self.outcomes: list[Outcome] = []
        self._chains: dict[int, _Chain] = {}
        """By the line of their heading."""
        self._fresh: dict[str, _Chain] = {}
        """Of new sections, by their plain title: they come at the end of the note, in this order."""
        self._splices: list[Splice] = []
        self._now: dict[int, str | None] = {}
        """By the line of an entry its new words; None if it goes."""
        self._touched: set[int] = set()
        self._gone: set[int] = set()
        """Lines that something was done to."""
        self._changed: set[str] = set()
        """Words, lines and sources that came or went: an op that asks for one of them has to wait."""

    def take(self, ops: Sequence[Op], wanted: Sequence[Wanted | None]) -> int:
        """Plan the first ops; how many of them were."""
        for op, said in zip(ops, wanted, strict=False):
            if said is None or not self._take(op, said):
                break
        return len(self.outcomes)

    def after(self) -> bytes | None:
        """The note with all of it done; None if that changes anything else."""
        splices = self._planned()
        if any(a.end > b.start or a == b for a, b in pairwise(splices)):
            return None
        new = apply(self.sheet.data, splices)
        if new == self.sheet.data:
            return new
        after = self.sheet.note.saying(new)
        told = [(entry.text, entry.depth, entry.section) for entry in after.entries]
        return new if told == self._expected() and self._headings_stand(after.document) else None

    def _planned(self) -> list[Splice]:
        """All splices in order; what comes at the end of the note is one."""
        end = len(self.sheet.data)
        chains = [chain.splice() for chain in (*self._chains.values(), *self._fresh.values())]
        last = b"".join(splice.data for splice in chains if splice.start == end)
        within = sorted([*self._splices, *(splice for splice in chains if splice.start < end)])
        return [*within, Splice(end, end, last)] if last else within

    def _expected(self) -> list[tuple[str, int, str]]:
        """The entries as they should be then: words, depth, heading."""
        sheet = self.sheet
        lines = sheet.document.lines
        come = [
            (chain.at, (words, 0, chain.title))
            for chain in (*self._chains.values(), *self._fresh.values())
            for words in chain.words
        ]
        stay = [
            (lines[entry.line - 1].start, (words, entry.depth, entry.section))
            for entry in sheet.entries
            if (words := self._now.get(entry.line, entry.text)) is not None
        ]
        # What is added at the offset of a line comes before it: a stable sort keeps the new ones first.
        return [what for _, what in sorted([*come, *stay], key=lambda each: each[0])]

    def _headings_stand(self, after: Document) -> bool:
        had, has = self.sheet.document, after
        kinds = [[block.kind for block in each.blocks if block.kind != "item"] for each in (had, has)]
        stay = sum(block.kind == "item" and block.start_line not in self._gone for block in had.blocks)
        come = sum(len(chain.lines) for chain in (*self._chains.values(), *self._fresh.values()))
        above = next((each.path[-1:] for each in reversed(had.sections) if each.level == 1), ())
        titles = [*((each.path, each.level) for each in had.sections), *(((*above, name), 2) for name in self._fresh)]
        return (
            titles == [(each.path, each.level) for each in has.sections]
            and [*kinds[0], *("heading" for _ in self._fresh)] == kinds[1]
            and sum(block.kind == "item" for block in has.blocks) == stay + come  # numbered ones are no entries
        )

    def _take(self, op: Op, said: Wanted) -> bool:
        if self.once and op.provenance:
            if op.provenance in self._changed:
                return False
            stands = [entry for entry in self.sheet.sources.get(op.provenance, ()) if entry.raw != op.target]
            if stands:
                return self._nothing(op, f"{self.sheet.path} line {self._line(stands[0])} came from the same line")
        return self._append(op, said) if op.kind == "append" else self._change(op, said)

    def _append(self, op: Op, said: Wanted) -> bool:
        sheet = self.sheet
        try:
            words = words_of(op)
        except TarsError:
            return False
        if words in self._changed:
            return False
        if words in sheet.texts:
            return self._nothing(op, f"{sheet.path} line {self._line(sheet.texts[words][0])} says exactly this")
        link, label = said.provenance
        rendered = grammar.render(
            grammar.Parts(words, provenance=link or None, label=label or None, author=op.author or None)
        )
        line = rendered.encode("utf-8", "surrogateescape")
        section = sheet.document.find_section(said.section)
        if section is None:
            title = plain_heading(said.section)
            chain = self._fresh.get(title) or self._founded(title, said.section, rendered, line)
        else:
            chain = self._chains.get(section.start_line) or self._begun(section, said.section, rendered, line)
        if chain is None:
            return False
        chain.lines.append(line)
        chain.words.append(words)
        self._changed |= {words, rendered, link}
        self.outcomes.append(Outcome(op, "applied"))
        return True

    def _founded(self, title: str, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """The first bullet of a new section at the end of the note; None where something else is done there."""
        document = self.sheet.document
        end = len(self.sheet.data)
        alike = any(name.casefold() == title.casefold() for name in self._fresh)
        if alike or document.open_line is not None or any(splice.end == end for splice in self._splices):
            return None
        splice = edits.best_place(document, rendered, heading)
        head, found, tail = splice.data.partition(line)
        if not found or tail not in (b"\r\n", b"\r", b"\n"):
            return None
        if self._fresh or any(chain.at == end for chain in self._chains.values()):
            splice = Splice(end, end, tail + head.lstrip(b"\r\n") + line + tail)  # what comes before ends its line
        self._fresh[title] = chain = _Chain(title, splice, line)
        return chain

    def _begun(self, section: Section, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """The first new bullet of a section; None where the next one would not come right behind it."""
        document = self.sheet.document
        if self._fresh and section is document.sections[-1] and not self._ends_in_bullet():
            return None  # it is the last one no more, and gets the bullet behind its last one
        splice = edits.best_place(document, rendered, heading)
        head, found, tail = splice.data.partition(line)
        if not found or head.strip(b"\r\n") or tail.strip(b"\r\n") or not tail:
            return None
        at = splice.start
        if at == len(self.sheet.data) and tail not in (b"\r\n", b"\r", b"\n"):
            return None
        within = range(section.body_line, section.end_line + 1)
        later = [
            bullet.line
            for bullet in document.bullets
            if not bullet.depth and bullet.line in within and document.lines[bullet.line - 1].start >= at
        ]
        taken = {chain.at for chain in self._chains.values()}
        if later or at in taken or self._meets(at, at, self._chains.values()):
            return None
        self._chains[section.start_line] = chain = _Chain(section.title, splice, line)
        return chain

    def _change(self, op: Op, said: Wanted) -> bool:
        """Replace or remove a line."""
        sheet = self.sheet
        target = re.sub(r"\r\n|\r", "\n", op.target)
        entry = None if target in self._changed else sheet.named(op.target, op.occurrence)
        if entry is None or self._touched & set(range(entry.line, entry.end_line + 1)):
            return False
        if op.kind == "remove":
            return self._remove(op, entry)
        try:
            words = words_of(op, entry)
        except TarsError:
            return False
        link = said.provenance[0]
        if words == entry.text and link in ("", entry.provenance):
            return self._nothing(op, f"{sheet.path} line {self._line(entry)} says exactly this")
        bullet = sheet.bullets[entry.line]
        source, author = (said.provenance, op.author) if link else (None, None)
        splices = edits.reworded(sheet.note, bullet, words, provenance=source, author=author)
        self._splices += splices
        self._now[entry.line] = words
        self._changed |= {entry.text, entry.raw, entry.provenance or "", words, link}
        self._changed.update(f"{_head(sheet, bullet)}{_text(splice)}" for splice in splices)
        self._touched.add(entry.line)
        self.outcomes.append(Outcome(op, "applied"))
        return True

    def _remove(self, op: Op, entry: Entry) -> bool:
        sheet = self.sheet
        lines = sheet.document.lines
        first, last = lines[entry.line - 1], lines[entry.end_line - 1]
        every = (*self._chains.values(), *self._fresh.values())
        joins = sheet.data[first.start - 1 : first.start] == b"\r" and sheet.data[last.next : last.next + 1] == b"\n"
        if last.next == last.end or (entry.line > 1 and joins) or self._meets(first.start, last.next, every):
            return False
        self._splices.append(Splice(first.start, last.next, b""))
        for each in sheet.entries:
            if entry.line <= each.line <= entry.end_line:
                self._now[each.line] = None
                self._changed |= {each.text, each.raw, each.provenance or ""}
        self._touched |= set(range(entry.line, entry.end_line + 1))
        self._gone |= set(range(entry.line, entry.end_line + 1))
        self.outcomes.append(Outcome(op, "applied"))
        return True

    def _ends_in_bullet(self) -> bool:
        """Whether the note ends with a whole line that is of a bullet which is nested in none."""
        document = self.sheet.document
        last = next((bullet for bullet in reversed(document.bullets) if not bullet.depth), None)
        whole = document.lines[-1].start == document.lines[-1].end
        return whole and last is not None and last.end_line == document.last_line

    def _meets(self, start: int, end: int, chains: Iterable[_Chain]) -> bool:
        """Whether a change meets one that is planned: which of the two comes first would matter."""
        if any(start <= chain.at <= end for chain in chains):
            return True
        return any(splice.start < end and start < splice.end for splice in self._splices) or (
            start == end and any(splice.start <= start <= splice.end for splice in self._splices)
        )

    def _nothing(self, op: Op, why: str) -> bool:
        self.outcomes.append(Outcome(op, "no-op", why))
        return True

    def _line(self, entry: Entry) -> int:
        """Where an entry stands once all that is planned is done."""
        start = self.sheet.document.lines[entry.line - 1].start
        return entry.line + sum(
            _breaks(splice.data) - _breaks(self.sheet.data[splice.start : splice.end])
            for splice in self._planned()
            if splice.start <= start and splice.end <= start
        )


def _by(pairs: Iterable[tuple[str, Entry]]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for name, entry in pairs:
        found.setdefault(name, []).append(entry)
    return found


def _breaks(data: bytes) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data))


def _head(sheet: Sheet, bullet: Bullet) -> str:
    """What stands before the words of a bullet."""
    start = sheet.document.lines[bullet.line - 1].start
    return sheet.data[start : bullet.start].decode("utf-8", "surrogateescape")


def _text(splice: Splice) -> str:
    return splice.data.decode("utf-8", "surrogateescape")
