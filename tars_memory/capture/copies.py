"""All that tells one statement in the notes of a scope: the line, its candidate, what sessions say of it, its proposal.

They belong together by what they say or by a link: an approved line and a fact of a session link to the candidate's
block id. A line of the person's own that merely holds the words is no copy: it is told, never touched.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import ConflictError, TarsError
from tars_memory.vault import sessions
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import remove_bullet
from tars_memory.vault.markdown.lines import QUOTE, quote_in
from tars_memory.vault.markdown.spans import Changes
from tars_memory.vault.model import Splice, Tier
from tars_memory.vault.writing.withheld import folded, mentions, units, wordings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.context import Context
    from tars_memory.vault.model import Entry

MOST_RELATED = 5
"""So many other lines that hold the words, or come near, are told."""
LONG = 4
"""Letters of a word that makes another line come near."""

NAMING = "Topics"
"""The section of a session note that tells in a few words what was talked about."""

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d{4}) (.+)\.md")
_OF_FACTS = re.compile(r"[\[(](?:since|until|by)::[^\[\]()]*[\])]")


class Copy(NamedTuple):
    """A place that tells it: a note, its first line (0 for its name), and what stands there."""

    path: str
    line: int
    text: str


class Copies:
    """The copies of a statement.

    Args:
        ctx: the command's view of the vault.
        entry: one of them.

    Attributes:
        first: that entry.
        texts: its wordings in the notes.
        quotes: what was said, verbatim.
        logs: names of the conversations that it was said in: of their files, and their own.
        sources: the first of them that each note tells: the file's where it has one.
        entries: the entries that say it, of all notes but proposals.
    """

    def __init__(self, ctx: Context, entry: Entry) -> None:
        self._ctx = ctx
        self._facts = ctx.layout.facts
        self.texts = [_said(entry, self._facts)]
        self.quotes: list[str] = []
        self.logs: list[str] = []
        self.sources: list[str] = []
        self.entries: list[Entry] = []
        self._ids = set(_ids(entry))
        self.first = entry
        self._notes = dict(_notes(ctx))
        while self._grow():
            pass

    def sentences(self, more: Sequence[str] = ()) -> list[list[str]]:
        """What is said, in these and ``more`` wordings, as :mod:`tars_memory.vault.writing.withheld` compares it."""
        found = [words for text in (*self.texts, *self.quotes, *more) for words in wordings(text)]
        return [each for at, each in enumerate(found) if each not in found[:at]]

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is one of them."""
        return any((entry.path, entry.line) == (each.path, each.line) for each in self.entries)

    def places(self) -> dict[str, list[Copy]]:
        """By note what would go, in the order in which it is to go; a note whose name tells it comes with line 0."""
        found: dict[str, list[Copy]] = {}
        order = sorted(self._notes, key=lambda path: (path != self.first.path, self._ctx.layout.is_session(path), path))
        for path in order:
            if not self._may_hold(self._notes[path]) and not self.renamed(path):
                continue
            copies = [Copy(path, line, text) for line, text in _Plan(self, path, self._notes[path]).gone]
            if self.renamed(path):
                copies.append(Copy(path, 0, path))
            if copies:
                found[path] = copies
        if not self._ctx.may_write_rules and self.first.path != self._ctx.layout.procedural:
            found.pop(self._ctx.layout.procedural, None)
        return found

    def kept(self) -> list[str]:
        """Sentences on what stays: other lines that hold the words or come near, and the logs it was said in."""
        told = []
        for entry, holds in self.related():
            what = "the same words stand in" if holds else "words of it stand in"
            told.append(f"{what} {entry.path}:{entry.line}, which stays: forget {entry.ref} takes it out, too")
        return told[:MOST_RELATED] + [
            f"said in {log}: your log is not touched; what it says of this is withheld" for log in self.sources
        ]

    def related(self) -> list[tuple[Entry, bool]]:
        """Other entries that hold all of it, or two longer words of it in a row; those that hold all first."""
        told = self.sentences()
        texts = [words for text in self.texts for words in wordings(text)]
        pairs = [pair for said in texts for pair in pairwise(said) if min(map(len, pair)) >= LONG]
        found: list[tuple[Entry, bool]] = []
        for path, data in self._notes.items():
            text = folded(data.decode("utf-8", "replace"))
            near = any(one in text and other in text for one, other in pairs)
            if self._ctx.layout.is_review(path) or not (near or self._may_hold(data)):
                continue
            session = self._ctx.layout.is_session(path)
            for entry in self._read(path, data):
                if entry.depth or self.holds(entry):
                    continue
                if mentions(entry.text, told):
                    found += [] if session else [(entry, True)]
                elif _in_a_row(units(entry.text), pairs):
                    found.append((entry, False))
        return sorted(found, key=lambda one: not one[1])

    def without(self, path: str, data: bytes) -> list[Splice]:
        """What takes them out of a note."""
        return _Plan(self, path, data).splices

    def renamed(self, path: str) -> str:
        """Another name for a session whose own one tells it; empty if it doesn't."""
        if not self._ctx.layout.is_session(path):
            return ""
        folder, _, name = path.rpartition("/")
        found = _STAMP.fullmatch(name)
        if found is None or not self.names(found[2], path):
            return ""
        number, to = 1, f"{folder}/{found[1]} conversation.md"
        while self._ctx.vault.look(to) is not None:
            number += 1
            to = f"{folder}/{found[1]} conversation {number}.md"
        return to

    def names(self, title: str, path: str) -> bool:
        """Whether a title or a topic tells it: all of it, or, of a session that says it, two words or more of it in a
        row; the last may be cut.
        """
        told, said = self.sentences(), units(title)
        if mentions(title, told) or len(said) < 2 or path not in {entry.path for entry in self.entries}:
            return mentions(title, told)
        within = f" {' '.join(said)}"
        return any(within in f" {' '.join(each)}" for each in told)

    def is_one(self, entry: Entry) -> bool:
        """Whether an entry says it, or links to where it was said."""
        if not self._ids.isdisjoint(_ids(entry)):
            return True
        if entry.path == self._facts:
            return entry.path == self.first.path and _said(entry, self._facts) in self.texts
        words = wordings(entry.text)
        return any(each in words for text in self.texts for each in wordings(text))

    def _read(self, path: str, data: bytes) -> list[Entry]:
        return grammar.read(path, Document(data), timed=self._ctx.layout.timed(path))

    def _grow(self) -> bool:
        """Look once more, with all that is known by now; whether that told anything new."""
        before = (len(self._ids), len(self.texts), len(self.quotes))
        self.entries = []
        for path, data in self._notes.items():
            if self._ctx.layout.is_review(path) or not self._may_hold(data):
                continue
            session = self._ctx.layout.is_session(path)
            read = self._read(path, data)
            for at, entry in enumerate(read):
                if not self.is_one(entry):
                    continue
                self.entries.append(entry)
                self._ids.update(_ids(entry))
                if path != self._facts and entry.text not in self.texts:
                    self.texts.append(entry.text)
                if session:
                    self._learn(data, [each for each in read[at + 1 :] if each.line <= entry.end_line])
        return before != (len(self._ids), len(self.texts), len(self.quotes))

    def _learn(self, data: bytes, children: Sequence[Entry]) -> None:
        """What a fact of a session stands on."""
        said = Document(data).front_matter
        names = [name for name in (said.get("source"), said.get("session")) if isinstance(name, str) and name]
        self.logs += [name for name in names if name not in self.logs]
        self.sources += [name for name in names[:1] if name not in self.sources]
        for child in children:
            if child.text.startswith(QUOTE) and (quote := quote_in(child.text)) not in self.quotes:
                self.quotes.append(quote)

    def _may_hold(self, data: bytes) -> bool:
        """At a glance: one of the block ids, or all words of one of the wordings."""
        if any(name.encode("ascii", "replace") in data for name in self._ids):
            return True
        text = folded(data.decode("utf-8", "replace"))
        return any(all(unit in text for unit in said) for said in self.sentences())


class _Plan:
    """What goes of one note: (line, text) of each, and the splices."""

    def __init__(self, copies: Copies, path: str, data: bytes) -> None:
        self.gone: list[tuple[int, str]] = []
        self._copies = copies
        self._path = path
        self._layout = copies._ctx.layout
        self._told = copies.sentences()
        changes = Changes(data)
        session = self._layout.is_session(path)
        if session:
            self._title(changes)
        while (entry := next(self._doomed(path, changes.data, session=session), None)) is not None:
            self.gone.append((entry.line + len(self._taken(data, changes.data)), entry.text))
            made = remove_bullet(changes.data, entry, timed=self._layout.timed(path))
            if not made:
                raise ConflictError(f"{path}: a line can't be taken out", "take it out by hand")
            changes.make(made)
        if session:
            self._blocks(changes)
        self.splices = changes.splices()

    @staticmethod
    def _taken(before: bytes, now: bytes) -> list[int]:
        """A place for each line that is gone already, so that lines are told as they were."""
        return [0] * (before.count(b"\n") - now.count(b"\n"))

    def _doomed(self, path: str, data: bytes, *, session: bool) -> Iterator[Entry]:
        entries = grammar.read(path, Document(data), timed=self._layout.timed(path))
        for entry in entries:
            machine = session or entry.text.startswith((grammar.REPLACED, QUOTE))
            if self._layout.is_review(path):
                if mentions(grammar.plain(entry.text), self._told):
                    yield entry
            elif (
                self._copies.is_one(entry)
                or (machine and mentions(entry.text, self._told))
                or (session and entry.section == NAMING and self._copies.names(entry.text, path))
            ):
                yield entry

    def _title(self, changes: Changes) -> None:
        title = Document(changes.data).front_matter.get("title")
        if isinstance(title, str) and self._copies.names(title, self._path):
            self.gone.append((1, f"title: {title}"))
            changes.make(sessions.renewed(changes.data, "title", '""'))

    def _blocks(self, changes: Changes) -> None:
        """Paragraphs of the summary and turns that are kept."""
        document = Document(changes.data)
        for block in reversed(document.blocks):
            text = document.text(block.start_line, block.end_line)
            if block.kind in ("paragraph", "quote") and mentions(text, self._told):
                self.gone.append((block.start_line, " ".join(text.split())))
                first, last = document.lines[block.start_line - 1], document.lines[block.end_line - 1]
                changes.make([Splice(first.start, last.next, b"")])


def _in_a_row(said: Sequence[str], pairs: Sequence[tuple[str, str]]) -> bool:
    return any(pair in pairs for pair in pairwise(said))


def _ids(entry: Entry) -> Iterator[str]:
    """The block ids of the candidate that an entry is, or came from."""
    if entry.block_id:
        yield entry.block_id
    if entry.provenance:
        yield entry.provenance.rpartition("^")[2]


def _said(entry: Entry, facts: str) -> str:
    """The words of an entry; of a fact with its subject, without its dates."""
    if entry.path != facts:
        return entry.text
    return f"{entry.section} {_OF_FACTS.sub('', entry.text).replace(':: ', ' ')}"


def _notes(ctx: Context) -> Iterator[tuple[str, bytes]]:
    """The notes of ours that may tell it."""
    layout = ctx.layout
    for path in sorted(ctx.vault.paths()):
        ours = layout.is_ours(path) and (
            layout.tier_of(path) is not Tier.NOTE
            or path in (layout.facts, layout.corrections, layout.rewards)
            or layout.is_review(path)
        )
        if ours and not layout.is_template(path):
            try:
                yield path, ctx.vault.read(path)
            except TarsError:
                continue
