"""Forgetting: a statement with all that says it, first in the notes, then, if it is for good, beyond them.

What says it belongs together by its words or by a link: an approved line and a fact of a session link to the
candidate's block id. A line of the person's own that merely holds the words is not a copy: it is listed, never touched.
What is not an entry can be forgotten by its words as well: a playbook by its title, as a whole, or a paragraph of it; a
proposal that waits, or one that was refused.
Beyond the notes the words are in journal, spool, index, caches and what hooks keep: :func:`forget_everywhere` takes
them out there, and looks whether they are gone.
"""

from __future__ import annotations

import io
import json
import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk
from tars_memory.capture.amend import ASKED, ambiguous, fitting
from tars_memory.capture.remember import Caller, Receipt
from tars_memory.errors import ConflictError, NotFoundError, PartialError, SettingsError, TarsError, UsageError, counted
from tars_memory.recall.searcher import Searcher
from tars_memory.vault import inbox, playbooks, sessions
from tars_memory.vault.change import Change, locate
from tars_memory.vault.folder import digest
from tars_memory.vault.layout import OURS, Layout
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import Changes, remove_bullet
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED, QUOTE, quote_in
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.secrets import mask
from tars_memory.vault.vault import key_of, note_lines
from tars_memory.vault.writing.history import JournalEntry, of_scope
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.store import LOOK_AGAIN, Spool, WriteSession
from tars_memory.vault.writing.withheld import Withheld, folded, item_says, mentions, units, wordings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tars_memory.vault.writing.transaction import Written
    from tars_memory.workspace import Workspace


OUT_OF_REACH = "what your sync or Obsidian keeps of old versions is out of reach"

COPIES = [
    "copies remain in journal and index: forget --everywhere purges them",
    OUT_OF_REACH,
]
"""What ``forget`` says of copies that it leaves."""

LARGEST_COPY = 1 << 31
"""Bytes of a file of ours that is searched for forgotten words."""

MOST_NEAR = 8
"""Lines of conversations about the same thing that are shown."""

REPEATS = 10
"""Entries with the same words in one note that a REF is tried for."""

MOST_RELATED = 5
"""Other lines that hold the words, or come near, that are listed."""
LONG = 4
"""Letters of a word that makes another line come near."""

NAMING = "Topics"
"""The section of a session note that tells in a few words what was talked about."""

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d{4}) (.+)\.md")
_OF_FACTS = re.compile(r"[\[(](?:since|until|by)::[^\[\]()]*[\])]")


class TalkLine(NamedTuple):
    """A line that was said in a conversation: its log, the line of that, the ISO day or '', and the words."""

    log: str
    line: int
    day: str
    text: str


class Copy(NamedTuple):
    """A place that holds it: a note, its first line (0 for its name), and the text there."""

    path: str
    line: int
    text: str


class Copies:
    """The copies of a statement.

    Args:
        ctx: the command's view of the vault.
        entry: one of them.
        kind: what it is, if it is not an entry: :data:`BOOK`, :data:`PROSE` or :data:`WAITING`.

    Attributes:
        first: that entry.
        kind: as given.
        texts: its wordings in the notes.
        quotes: what was said, verbatim.
        logs: names of the conversations that it was said in: of their files, and their own.
        sources: the first of them that each note tells: the file's where it has one.
        entries: the entries that say it, of all notes but proposals.
    """

    def __init__(self, ctx: Caller, entry: Entry, kind: str = "") -> None:
        self._ctx = ctx
        self.kind = kind
        self._facts = ctx.layout.facts
        self.texts = [_said(entry, self._facts)]
        self.quotes: list[str] = []
        self.logs: list[str] = []
        self.sources: list[str] = []
        self.entries: list[Entry] = []
        self._ids = set(_ids(entry))
        self.first = entry
        read = ctx.vault.readable(_paths(ctx))
        self._notes = {path: Note.of(ctx.layout, path, data) for path, data in read}
        while kind != BOOK and self._grow():
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
        if self.kind == WAITING:
            found[self.first.path] = [Copy(self.first.path, self.first.line, self.first.text)]
        for path in order:
            if self.kind == BOOK and path == self.first.path:
                rows = enumerate(note_lines(self._notes[path].data), 1)
                found[path] = [Copy(path, number, row) for number, row in rows if row.strip()]
                continue
            if not self._may_hold(self._notes[path].data) and not self.renamed(path):
                continue
            copies = [Copy(path, line, text) for line, text in _Plan(self, path, self._notes[path].data).gone]
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
            what = "the same words are in" if holds else "words of it are in"
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
        for path, note in self._notes.items():
            text = folded(note.data.decode("utf-8", "replace"))
            near = any(one in text and other in text for one, other in pairs)
            if self._ctx.layout.is_review(path) or not (near or self._may_hold(note.data)):
                continue
            session = self._ctx.layout.is_session(path)
            for entry in note.entries:
                if entry.depth or self.holds(entry):
                    continue
                if mentions(entry.text, told):
                    found += [] if session else [(entry, True)]
                elif any(pair in pairs for pair in pairwise(units(entry.text))):
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

    def _grow(self) -> bool:
        """Look once more, with all that is known by now; whether that found anything new."""
        before = (len(self._ids), len(self.texts), len(self.quotes))
        self.entries = []
        for path, note in self._notes.items():
            if self._ctx.layout.is_review(path) or not self._may_hold(note.data):
                continue
            for at, entry in enumerate(note.entries):
                if not self.is_one(entry):
                    continue
                self.entries.append(entry)
                self._ids.update(_ids(entry))
                if path != self._facts and entry.text not in self.texts:
                    self.texts.append(entry.text)
                if self._ctx.layout.is_session(path):
                    self._learn(note, [each for each in note.entries[at + 1 :] if each.line <= entry.end_line])
        return before != (len(self._ids), len(self.texts), len(self.quotes))

    def _learn(self, note: Note, children: Sequence[Entry]) -> None:
        """What a fact of a session rests on."""
        said = note.properties
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
        if self._layout.is_playbook(path):
            self._prose(changes)
        while (entry := next(self._doomed(path, changes.data, session=session), None)) is not None:
            taken = data.count(b"\n") - changes.data.count(b"\n")  # so that lines are listed as they were
            self.gone.append((entry.line + taken, entry.text))
            made = remove_bullet(Note.of(self._layout, path, changes.data), entry)
            if not made:
                raise ConflictError(f"{path}: a line can't be taken out", "take it out by hand")
            changes.make(made)
        if session:
            self._blocks(changes)
        self.splices = changes.splices()

    def _doomed(self, path: str, data: bytes, *, session: bool) -> Iterator[Entry]:
        entries = Note.of(self._layout, path, data).entries
        for entry in entries:
            machine = session or entry.text.startswith((grammar.REPLACED, QUOTE, ALSO_CHANGED, ALSO_REMOVED))
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

    def _prose(self, changes: Changes) -> None:
        """What a playbook says beside its steps, if it is just this; the title stays."""
        for line, end_line, text in reversed([*_prose_of(Document(changes.data))]):
            if any(words in self._told for words in wordings(text)):
                self.gone.insert(0, (line, text))
                document = Document(changes.data)
                first, last = document.lines[line - 1], document.lines[end_line - 1]
                changes.make([Splice(first.start, last.next, b"")])

    def _blocks(self, changes: Changes) -> None:
        """Paragraphs of the summary and turns that are kept."""
        document = Document(changes.data)
        for block in reversed(document.blocks):
            text = document.text(block.start_line, block.end_line)
            if block.kind in ("paragraph", "quote") and mentions(text, self._told):
                self.gone.append((block.start_line, " ".join(text.split())))
                first, last = document.lines[block.start_line - 1], document.lines[block.end_line - 1]
                changes.make([Splice(first.start, last.next, b"")])


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


def _paths(ctx: Caller) -> Iterator[str]:
    """The notes of ours that may tell it."""
    layout = ctx.layout
    for path in sorted(ctx.vault.paths()):
        ours = layout.is_ours(path) and (
            layout.tier_of(path) is not Tier.NOTE
            or path in (layout.facts, layout.corrections, layout.rewards)
            or layout.is_review(path)
            or bool(layout.agent_of(path))
            or layout.is_playbook(path)
        )
        if ours and not layout.is_template(path):
            yield path


class Forgotten(Receipt):
    """What became of a statement that was to be forgotten.

    Attributes:
        gone: the lines that were taken out of the note, nested ones too, as they were.
        touched: the other places that told it.
        copies: what is known of them; None if it was forgotten before, or waits for a person.
    """

    def __init__(
        self, receipt: Receipt, gone: bytes = b"", touched: Sequence[Copy] = (), copies: Copies | None = None
    ) -> None:
        vars(self).update(vars(receipt))
        self.gone = gone
        self.touched = touched
        self.copies = copies


BOOK, PROSE, WAITING = "book", "prose", "waiting"
"""What can be forgotten beside entries: a playbook as a whole; a paragraph or a heading of one; a proposal that waits,
or was decided."""


def _prose_of(document: Document) -> Iterator[tuple[int, int, str]]:
    """First and last line and words of the paragraphs and headings of a playbook, without its title."""
    titled = False
    for block in document.blocks:
        text = " ".join(document.text(block.start_line, block.end_line).split())
        if block.kind == "paragraph":
            yield block.start_line, block.end_line, text.removeprefix(playbooks.WHEN)
        elif block.kind == "heading":
            if titled:
                yield block.start_line, block.end_line, text.lstrip("# ")
            titled = True


def _stand_in(path: str, line: int, text: str) -> Entry:
    """Words that are not an entry, in an entry's shape."""
    return Entry(path, line, line, text, raw=text, section="", ref=grammar.ref(path, text))


def _book(ctx: Caller, target: str) -> Entry | None:
    """The playbook with this path, name or title."""
    books = playbooks.shelf(ctx.vault, {}, [ctx.layout.scope])
    wanted = key_of(target.strip())
    named = [book for book in books if wanted in map(key_of, (book.path, book.path[:-3], book.title))]
    named = named or [book for book in books if wanted == key_of(book.path.rpartition("/")[2][:-3])]
    return _stand_in(named[0].path, 1, named[0].title) if len(named) == 1 else None


def _beside_entries(ctx: Caller, target: str) -> list[tuple[Entry, str]]:
    """What has these words, or else holds them, without being an entry; each with its kind."""
    said = " ".join(target.split()).casefold()
    known: list[tuple[Entry, str, str]] = []
    for note in ctx.notes(playbooks.paths(ctx.vault, [ctx.layout.scope])):
        known += [(_stand_in(note.path, line, text), PROSE, text) for line, _, text in _prose_of(note.document)]
    for path, name, words in inbox.told(ctx.vault):
        entry = _stand_in(path, 1, playbooks.title_of(words) or words)
        known += [(entry, WAITING, each) for each in (name, words, *words.split("\n"))]
    equal = [(entry, kind) for entry, kind, words in known if said == " ".join(words.split()).casefold()]
    return equal or [(entry, kind) for entry, kind, words in known if said in " ".join(words.split()).casefold()]


def copies_of(ctx: Caller, target: str) -> Copies:
    """The copies of the only statement that a REF names or that these words fit.

    Raises:
        NotFoundError: no such entry, and nothing else of these words.
        AmbiguousError: several; they are listed.
    """
    book = _book(ctx, target)
    try:
        found = fitting(ctx, target)
    except NotFoundError:
        if book is not None:
            return Copies(ctx, book, BOOK)
        others = {entry.text: (entry, kind) for entry, kind in reversed(_beside_entries(ctx, target))}
        if not others:
            raise
        if len(others) > 1:
            raise ambiguous(target, [entry for entry, _ in others.values()]) from None
        return Copies(ctx, *others.popitem()[1])
    if book is not None and not any(key_of(entry.text) == key_of(target.strip()) for entry in found):
        return Copies(ctx, book, BOOK)
    copies = Copies(ctx, found[0])
    if not all(map(copies.holds, found)):
        raise ambiguous(target, found)
    return copies


def forget(ctx: Caller, target: str, *, later: bool = True, also: Sequence[TalkLine] = ()) -> Forgotten:
    """Take a statement out of the notes, with the bullets nested under it: the entry and all its copies.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one statement only; several copies of it count as one.
        later: if it can't be done now, the next command that writes does it.
        also: what was said in conversations, to be withheld with it.

    Returns:
        A receipt with the entry's words and the line where it was, and the other places that said the same.

    Raises:
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
        ConflictError: the entry changed in the meantime.
        UnwritableError: the removal is in the spool, if ``later``.
        SettingsError: what was forgotten before can't be read; nothing was written.
    """
    copies, withheld = copies_of(ctx, target), Withheld(ctx.store.state)
    entry, places, kind = copies.first, copies.places(), copies.kind
    arguments = {"target": entry.ref, "text": mask(entry.text)} if later and not kind else None
    if kind and ctx.must_propose(entry.path):
        raise UsageError(
            f"{entry.path} is a playbook: to take out what is no step takes a person at a terminal",
            "run tars-memory forget there",
        )
    with ctx.writing("forget", arguments, atomic=len(places) > 1 or bool(kind)) as session:
        if ctx.must_propose(entry.path):
            change = Change("remove", entry.section, replaces=entry.raw, target=entry.path)
            kept = ctx.proposed(session, change, ASKED)
            kept.text = entry.text
            return Forgotten(kept)

        written, waiting = _taken_out(ctx, session, copies, places)
    if waiting:
        ctx.notices.append(f"purged from proposals and decisions about them: {waiting}")
    ctx.notices += copies.kept()
    done = written.changed and not ctx.store.dry_run
    if done:
        try:
            said, logs = copies.sentences([turn.text for turn in also]), [*copies.logs, *(turn.log for turn in also)]
            withheld.remember(said, ctx.now, txn=written.txn, logs=logs)
        except OSError as error:
            ctx.notices.append(f"an old conversation may bring it back: {ctx.store.state} can't be written: {error}")
    touched = [each for path in places for each in places[path] if (each.path, each.line) != (entry.path, entry.line)]
    receipt = ctx.receipt(entry.path, entry.line, entry.ref, entry.text, written)
    gone = entry.text.encode("utf-8", "replace") if kind == WAITING else written.before
    return Forgotten(receipt, gone=gone, touched=touched, copies=copies)


def _taken_out(
    ctx: Caller, session: WriteSession, copies: Copies, places: Mapping[str, Sequence[Copy]]
) -> tuple[Written, int]:
    """What became of the first place, once all are written; and how many proposals and decisions held the words.

    Raises:
        ConflictError: the first one changed meanwhile.
    """
    entry, kind, written = copies.first, copies.kind, None

    def first(data: bytes | None) -> Sequence[Splice]:
        gone = "" if kind else locate(session.note(entry.path, data or b""), entry.raw, occurrence=0)
        if gone and isinstance(gone, str):
            raise ConflictError(gone, LOOK_AGAIN)
        return copies.without(entry.path, data or b"")

    if kind == BOOK:
        data = session.read(entry.path)
        written = session.remove(entry.path, digest(data or b""))
    elif kind != WAITING:
        written = session.write(entry.path, first)
    for path in places:
        if path != entry.path:
            session.write(path, lambda data, path=path: copies.without(path, data or b""))  # type: ignore[misc]
        if to := copies.renamed(path):
            session.move(path, to)
    waiting = sum(inbox.purge(session, ctx.vault, text) for text in (*copies.texts, *copies.quotes))
    if kind == WAITING:
        written = next((each for each in session.written if each.path == entry.path), None)
    if written is None:
        raise ConflictError(f"{entry.path} changed meanwhile: nothing was forgotten", LOOK_AGAIN)
    return written, waiting


def near(workspace: Workspace, target: str) -> list[TalkLine]:
    """What was said in conversations of the same thing in other words, best first: forgetting leaves it.

    Args:
        workspace: of the vault.
        target: what to forget: a REF, or words that fit it alone.
    """
    if workspace.talks() is None:
        return []
    try:
        copies = copies_of(workspace.capture(writes=False), target)
    except NotFoundError:
        return []  # it may have been forgotten before
    words = [word.lstrip("-") for word in copies.texts[0].replace('"', " ").replace(":", " ").split()]
    if not any(words):
        return []
    said = copies.sentences()
    found: dict[TalkLine, None] = {}
    asked = " ".join(filter(None, words))
    for hit in Searcher(workspace).search(asked, tiers=("talk",), limit=MOST_NEAR, expired=True).hits:
        for text, line in zip(hit.text.split("\n"), hit.places, strict=True):
            if not mentions(text, said):
                found[TalkLine(hit.path, line, hit.day, text.strip())] = None
    return list(found)[:MOST_NEAR]


def forget_everywhere(workspace: Workspace, target: str, also: Sequence[TalkLine] = ()) -> Forgotten:
    """Remove an entry and purge it; one that was forgotten before is purged all the same.

    Args:
        workspace: of the vault.
        target: as for :func:`near`.
        also: what was said in conversations, to be purged with it.

    Raises:
        NotFoundError: there is no such entry, and none was forgotten.
        UnwritableError: it can't be removed now; nothing is kept for later, for then it could not be purged.
        PartialError: it is removed, but not purged everywhere; the same call again purges the rest.
    """
    layout = workspace.vault.layout
    history = list(of_scope(workspace.store(writes=False).history(None), layout))
    try:
        receipt = forget(workspace.capture(), target, later=False, also=also)
    except NotFoundError:
        gone = _forgotten(history, target, layout)
        if gone is None:
            raise
        path, line, text, txn = gone
        ref = grammar.ref(path, text)
        receipt = Forgotten(Receipt(path, line, ref, text, notices=workspace.notices))
        if not workspace.dry_run:
            receipt.notices += [
                "it was forgotten before",
                *purge(workspace, [*worded_before(history, path, text, layout), *_quotes(history, txn, layout)]),
            ]
        return receipt
    if receipt.written and receipt.copies is not None:
        before = worded_before(history, receipt.path, receipt.text, layout)
        named = [receipt.path] if receipt.copies.kind == BOOK else []
        told = (*before, *receipt.copies.texts, *receipt.copies.quotes, *named, *(turn.text for turn in also))
        logs = [*receipt.copies.logs, *(turn.log for turn in also)]
        receipt.notices += purge(workspace, list(dict.fromkeys(told)), logs)
    return receipt


def restore(workspace: Workspace) -> None:
    """What was forgotten by writes that are undone by now is withheld no longer."""
    try:
        withheld = Withheld(workspace.state)
    except SettingsError as error:
        workspace.notices.append(f"{error.message}; {error.hint}")
        return
    if wanted := withheld.txns:
        undone = {
            entry.txn for entry in workspace.store(writes=False).history(None) if entry.txn in wanted and entry.undone
        }
        withheld.drop(undone)


def worded_before(history: list[JournalEntry], path: str, text: str, layout: Layout) -> list[str]:
    """The words of an entry, and those it had before it was edited, as far as the journal knows.

    Args:
        history: newest first.
        path: of its note.
        text: its words now, or when it was forgotten.
        layout: says where entries begin with a time.
    """
    found = [text]
    for entry in history:
        same = entry.file == path or path == layout.archived(entry.file) or entry.file == layout.archived(path)
        if same and entry.op == "edit" and entry.before and entry.after:
            before, after = _texts(path, entry.before, layout), _texts(path, entry.after, layout)
            if len(before) == len(after) == 1 and after[0] in found and before[0] not in found:
                found += before
    return found


def purge(workspace: Workspace, texts: list[str], logs: Sequence[str] = ()) -> list[str]:
    """Take forgotten words out of journal, spool and index, look whether they are gone, and say what we can't reach.

    What was said before now and holds them is withheld, whatever is undone. The journal comes last: while it still
    tells of the removal, the same words name what is left to purge.

    Returns:
        sentences for the person.

    Raises:
        PartialError: a copy could not be purged; the message says where the words remain.
    """
    store = workspace.store()
    counts = {"held": 0, "waiting": 0}

    def proposals() -> None:
        with store.session("forget", workspace.vault) as session:
            counts["waiting"] = sum(inbox.purge(session, workspace.vault, text) for text in texts)

    def spooled() -> None:
        spool = Spool(store.state / "spool")
        counts["held"] += sum(spool.purge(partial(item_says, words=text)) for text in texts)

    def journal() -> None:
        counts["held"] += store.purge(texts)

    told = [words for text in texts for words in wordings(text)]

    def left() -> None:
        counts["held"] += sum(_left_out(path, told) for path in _ours_left(workspace, store.state))

    failed: list[str] = []
    published: list[str] = []

    def said() -> None:
        if (talks := workspace.talks()) is not None:
            talks.rebuild()

    steps: tuple[Callable[[], object], ...] = (
        lambda: Withheld(store.state).remember(told, workspace.now(), logs=logs),
        proposals,
        spooled,
        left,
        lambda: workspace.index().forget(lambda text: mentions(text, told)),
        lambda: published.append(workspace.publish()),
        said,
        journal,
    )
    for step in steps:
        if failed and step is journal:
            break  # else the same call again would find nothing that was forgotten
        try:
            step()
        except (TarsError, OSError) as error:
            failed.append(error.message if isinstance(error, TarsError) else str(error))
    workspace.close()
    standing = [path for path in workspace.vault.paths() if _holds(workspace.root / path, texts)]
    also = [f"the same words are in {path}" for path in sorted(standing) if workspace.vault.layout.is_ours(path)]
    ours = [path for path in sorted(store.state.rglob("*")) if not (standing and path.name.startswith("index"))]
    elsewhere = workspace.settings.places.state
    ours += [path for name in ("crash-*", "kept/*", "spool/*") for path in sorted(elsewhere.glob(name))]
    ours += [*sorted((workspace.root / inbox.INBOX).glob("*"))]
    also += [f"a copy remains in {path}" for path in ours if path.is_file() and _holds(path, texts)]
    if failed:
        why = "; ".join(dict.fromkeys(failed))
        raise PartialError(
            "\n  ".join((f"the entry is gone from its note, but its words are not purged everywhere: {why}", *also)),
            "make room or mend that, then give the same forget --everywhere again: it purges what is left",
        )
    held = counted(counts["held"], "record")
    done = [f"purged from {held} of journal and spool, index and caches; it can't be undone"]
    done += [f"purged from proposals and decisions about them: {counts['waiting']}"] if counts["waiting"] else []
    return [*done, *filter(None, published), *also, OUT_OF_REACH]


def _ours_left(workspace: Workspace, state: Path) -> list[Path]:
    """Files of ours beside journal, spool and index that may hold words: copies of logs that hooks keep, their own log,
    the places of the last search, texts that were given up, traces of crashes, a model's answers kept by old versions.
    """
    home = workspace.settings.places.state
    names = ("hooks/kept/*/*/*", "hooks/kept/*/*", "hooks/hook.log", "last-search*", "compress/*", playbooks.USES)
    found = [path for name in names for path in state.glob(name)]
    found += [path for name in ("hook.log", "kept/*", "crash-*") for path in home.glob(name)]
    return sorted(path for path in found if path.is_file())


def _left_out(path: Path, told: list[list[str]]) -> int:
    """Take the lines that hold a sentence out of a file; how many they were. An empty file goes."""
    data = disk.read(path, most=LARGEST_COPY) or b""
    kept, gone = [], 0
    for line in io.BytesIO(data):
        if mentions(line.decode("utf-8", "replace"), told) or _spelled(line, told):
            gone += 1
        else:
            kept.append(line)
    if gone and kept:
        replace_file(path, b"".join(kept))
    elif gone:
        path.unlink()
    return gone


def _spelled(line: bytes, told: list[list[str]]) -> bool:
    """Whether a line is a JSON value with a text that holds a sentence (its characters may be spelled there)."""
    try:
        return b"\\" in line and mentions(json.dumps(json.loads(line), ensure_ascii=False), told)
    except (ValueError, RecursionError):
        return False


def _forgotten(history: list[JournalEntry], target: str, layout: Layout) -> tuple[str, int, str, str] | None:
    """Note, line, words and transaction of the entry that was forgotten last and is named by its REF or its words."""
    said = " ".join(target.split()).casefold()
    for entry in history:
        if entry.command == "forget" and not entry.undone and not entry.purged:
            for text in _told_by(entry, layout):
                refs = {grammar.ref(entry.file, text, number) for number in range(REPEATS)}
                if said in refs or said == " ".join(text.split()).casefold():
                    return entry.file, entry.line, text, entry.txn
    return None


def _told_by(entry: JournalEntry, layout: Layout) -> list[str]:
    """What a removal may have been about: the first entry that it took out, or what is none."""
    if entry.file.startswith(OURS):
        said = [words for part in (entry.before, *entry.before.split("\n")) for words in inbox.words_of(part)]
        return [each for words in said for each in (playbooks.title_of(words), words) if each]
    if entry.op == "remove" and layout.is_playbook(entry.file):
        return [playbooks.title_of(entry.before[Document(entry.before.encode()).body_line :]), entry.file]
    if layout.is_playbook(entry.file) and not _texts(entry.file, entry.before, layout):
        return [" ".join(entry.before.split()).removeprefix(playbooks.WHEN).lstrip("# ")]
    return _texts(entry.file, entry.before, layout)[:1]


def _quotes(history: list[JournalEntry], txn: str, layout: Layout) -> list[str]:
    """What was said, verbatim, as far as a removal took it out of session notes."""
    gone = (text for entry in history if entry.txn == txn for text in _texts(entry.file, entry.before, layout))
    return [quote_in(text) for text in gone if text.startswith(QUOTE)]


def _texts(path: str, lines: str, layout: Layout) -> list[str]:
    """The words of the entries in some lines of a note."""
    document = Document(lines.encode("utf-8", "surrogateescape"))
    return [entry.text for entry in grammar.read(path, document, timed=layout.timed(path))]


def _holds(path: Path, texts: list[str]) -> bool:
    try:
        data = disk.read(path, most=LARGEST_COPY) or b""
    except SettingsError:
        return False
    shapes = [text.encode("utf-8", "surrogateescape") for text in texts]
    shapes += [json.dumps(text)[1:-1].encode("ascii") for text in texts]
    shapes += [json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape") for text in texts]
    return any(shape in data for shape in shapes)
