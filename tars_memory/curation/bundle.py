"""Many ops on one note from one parse of it, byte for byte as one after the other would leave it. Pure.

An op joins a bundle if what it does can be told from the note as it was before the bundle: it names a line that no
other one of the bundle touches, or adds a line behind one that was placed already. All splices are then made at once,
and the whole is parsed once more: exactly the entries that should have come, gone and changed have, each in its place,
else the bundle is halved. What can't join (a line that is found by its words only, an op that will be rejected) is done
alone, by :func:`tars_memory.curation.patch.patch`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.model import Outcome
from tars_memory.errors import TarsError
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import apply, plain_heading
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.curation.model import Op
    from tars_memory.vault.markdown.document import Bullet, Document, Section
    from tars_memory.vault.model import Entry
    from tars_memory.vault.note import Note

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
        once: see :func:`tars_memory.curation.patch.patch`.
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
