"""Forget a statement: remove all its copies from the notes and, for good, from everything else that we store.

Copies are found by their words or by a link: an approved line and a fact of a session link to the candidate's block id.
A line that a person wrote and that merely contains the words is not a copy: it is listed, never changed.
Text that is not an entry can be forgotten by its words as well: a whole playbook by its title, a paragraph of a
playbook, a pending proposal, or one that was decided; and what was only said in a conversation, which is withheld.
Outside the notes, the words are in the journal, the spool, the index, caches and the files that hooks keep:
:func:`forget_everywhere` removes them there, and checks that they are gone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable
from datetime import date, timedelta
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.capture.amend import ASKED, CANDIDATES, ambiguous, comparable, matching_entries
from tars_memory.capture.remember import Caller, Receipt
from tars_memory.errors import (
    AmbiguousError,
    ConflictError,
    NotFoundError,
    PartialError,
    SettingsError,
    TarsError,
    UnwritableError,
    UsageError,
    counted,
)
from tars_memory.index.database import log_of
from tars_memory.language import statements
from tars_memory.language.words import STOP_WORDS, fold, stem
from tars_memory.recall.searcher import Searcher
from tars_memory.vault import inbox, playbooks, secrets, sessions
from tars_memory.vault.change import Change, locate
from tars_memory.vault.folder import digest
from tars_memory.vault.layout import OURS, Layout
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import Changes, remove_bullets, set_property
from tars_memory.vault.markdown.lines import ALSO_CHANGED, ALSO_REMOVED, QUOTE, quote_in
from tars_memory.vault.model import Entry, Splice, role
from tars_memory.vault.note import Note
from tars_memory.vault.vault import CONFLICT_COPY, key_of, note_lines
from tars_memory.vault.writing.history import JournalEntry, of_scope
from tars_memory.vault.writing.journal import OPPOSITE, replace_file
from tars_memory.vault.writing.store import LOOK_AGAIN, WriteSession
from tars_memory.vault.writing.withheld import Withheld, folded, is_short, item_says, mentions, units, wordings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tars_memory.index.talks import TalkReader
    from tars_memory.vault.writing.transaction import Written
    from tars_memory.workspace import Workspace


OUT_OF_REACH = "old versions that your sync or Obsidian keeps are out of reach"

COPIES = ["copies remain in journal and index: forget --everywhere purges them", OUT_OF_REACH]
"""Notices of ``forget`` about the copies that it leaves."""

TALK_COPIES = ["copies may remain in index and caches: forget --everywhere purges them"]
"""The same, of what is in no note."""

SAME = "they say the same: give the REF of one, all its words, or --yes to remove all of them"
"""The hint to whoever named a statement of several entries by a part of it."""

LARGEST_COPY = 1 << 31
"""Maximum size, in bytes, of a file of ours that can be searched for forgotten words."""

MOST_NEAR = 8
"""Maximum number of lines of conversations about the same thing that are offered."""

REPEATS = 10
"""Maximum number of entries with the same words in one note; the REF of each is compared with the target."""

MOST_RELATED = 5
"""Maximum number of other lines with the same or similar words that are listed."""

LONG = 4
"""Minimum length of a word that counts when lines are compared for similar words."""

NAMING = "Topics"
"""The section of a session note that lists the topics of the conversation."""

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d{4}) (.+)\.md")
_SIGNS = re.compile(r"(?<=\w)[+#]+|(?<![^\s\\])[-+](?=\s?\d)")
"""Signs that are not words, but change the meaning: ``C++`` and ``C#``, ``-5`` and ``+5``."""
_DATES = re.compile(r"[\[(](?:since|until|by)::[^\[\]()]*[\])]")


class TalkLine(NamedTuple):
    """A line of a conversation: the log, the line number in it, the ISO day (or ''), the words, and all of its turn."""

    log: str
    line: int
    day: str
    text: str
    turn: str


TalkLines = Callable[[Callable[[str, str], bool]], list[TalkLine]]
"""Finds the lines of conversations whose log and text fit."""


class Copy(NamedTuple):
    """A copy of a statement: the note, the first line (0 if it is in the note's name), and the text there."""

    path: str
    line: int
    text: str


class Copies:
    """The copies of a statement.

    Args:
        ctx: the command's view of the vault.
        entry: one of the copies.
        kind: :data:`BOOK`, :data:`PROSE`, :data:`WAITING` or :data:`TALK` if it is no entry of a note; else empty.
        said: the lines of conversations that say it, if it was found there.

    Attributes:
        first: the given entry.
        kind: the given kind.
        texts: the wordings of the statement in the notes.
        quotes: verbatim quotes of conversations that the statement rests on.
        logs: names of those conversations: both the file name and the conversation's own name.
        sources: the first name that each session note gives for its conversation: the file name if there is one.
        entries: the entries that state it, in all notes except proposals.
    """

    def __init__(self, ctx: Caller, entry: Entry, kind: str = "", said: Sequence[TalkLine] = ()) -> None:
        self._ctx = ctx
        self.kind = kind
        self.said = said
        self._facts = ctx.layout.facts
        self.texts = [_statement(entry, self._facts)]
        self.quotes: list[str] = []
        self.logs = list(dict.fromkeys(line.log for line in said))
        self.sources = list(self.logs)
        self.entries: list[Entry] = []
        self._ids = set(_linked_ids(entry))
        self.first = entry
        read = ctx.vault.readable(_note_paths(ctx))
        self._notes = {path: Note.of(ctx.layout, path, data) for path, data in read}
        self._plans: dict[str, tuple[bytes, _Plan]] = {}
        while kind != BOOK and self._grow():
            pass

    def sentences(self, more: Sequence[str] = ()) -> list[list[str]]:
        """Return all wordings, and ``more``, split into units as :func:`~tars_memory.vault.writing.withheld.units`."""
        worded = wordings if self.kind != TALK else lambda text: [units(text)]  # spoken words have none of our asides
        found = [words for text in (*self.texts, *self.quotes, *more) for words in worded(text)]
        return [words for at, words in enumerate(found) if words not in found[:at]]

    def written_apart(self) -> list[Entry]:
        """Return the entries that merely say the same as the first: none that has its block id, or a link to it."""
        linked, place = set(_linked_ids(self.first)), (self.first.path, self.first.line)
        others = [entry for entry in self.entries if (entry.path, entry.line) != place]
        return [entry for entry in others if linked.isdisjoint(_linked_ids(entry))]

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is one of the copies."""
        return any((entry.path, entry.line) == (known.path, known.line) for known in self.entries)

    def places(self) -> dict[str, list[Copy]]:
        """Return the copies to remove by note, in the order of removal.

        If the name of a note gives the statement away, there is a copy with line 0.
        """
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
            copies = [Copy(path, line, text) for line, text in self._plan(path, self._notes[path].data).removed]
            if self.renamed(path):
                copies.append(Copy(path, 0, path))
            if copies:
                found[path] = copies
        for copy in self.staying:
            found.pop(copy.path, None)
        return found

    @cached_property
    def staying(self) -> list[Copy]:
        """The copies that stay, as their notes aren't changed: the person's own notes, and rules without a person."""
        layout, rules = self._ctx.layout, self._ctx.layout.procedural
        found: list[Copy] = []
        if rules in self._notes and rules != self.first.path and not self._ctx.may_write_rules:
            found += [Copy(rules, line, text) for line, text in self._plan(rules, self._notes[rules].data).removed]
        others = [path for path in sorted(self._ctx.vault.paths()) if layout.is_ours(path) and path not in self._notes]
        sentences = self.sentences()
        for path, data in self._ctx.vault.readable(others):
            if self._may_hold(data):
                rows = enumerate(note_lines(data), 1)
                found += [Copy(path, number, row) for number, row in rows if mentions(row, sentences)]
        return found

    def kept(self) -> list[str]:
        """Return notices about what stays: copies, other lines with similar words, and the conversations' logs."""
        notices = []
        if self.staying:
            listed = ", ".join(f"{copy.path}:{copy.line}" for copy in self.staying[:MOST_RELATED])
            more = len(self.staying) - MOST_RELATED
            listed += f" and {counted(more, 'more line')}" if more > 0 else ""
            notices.append(f"the same words stay in {listed}: open one and remove it, if you want")
        for entry, holds in self.related():
            what = "the same words are in" if holds else "words of it are in"
            notices.append(f"{what} {entry.path}:{entry.line}, which stays: forget {entry.ref} removes it, too")
        return notices[:MOST_RELATED] + [
            f"said in {log}: your log is not touched; what it says about this is withheld" for log in self.sources
        ]

    def related(self) -> list[tuple[Entry, bool]]:
        """Return other entries that contain the statement (True) or two long words of it in a row (False).

        Entries that contain the whole statement come first. Accents and umlauts don't matter, as in a search; fields
        and tags, which many lines share, are not words of a statement.
        """
        sentences = [[*map(fold, words)] for words in self.sentences()]
        said = [_said(text) for text in self.texts]
        pairs = [pair for words in said for pair in pairwise(words) if min(map(len, pair)) >= LONG]
        found: list[tuple[Entry, bool]] = []
        for path, note in self._notes.items():
            text = fold(folded(note.data.decode("utf-8", "replace")))
            if self._ctx.layout.is_review(path) or not any(
                all(word in text for word in words) for words in (*sentences, *pairs)
            ):
                continue
            session = self._ctx.layout.is_session(path)
            for entry in note.entries:
                if entry.depth or self.holds(entry):
                    continue
                if mentions(fold(entry.text), sentences):
                    found += [] if session else [(entry, True)]
                elif any(pair in pairs for pair in pairwise(_said(entry.text))):
                    found.append((entry, False))
        return sorted(found, key=lambda related: not related[1])

    def without(self, path: str, data: bytes) -> list[Splice]:
        """Return the splices that remove the copies from a note."""
        return self._plan(path, data).splices

    def _plan(self, path: str, data: bytes) -> _Plan:
        """Return the removal from a note; it is made once for the same bytes."""
        if path not in self._plans or self._plans[path][0] != data:
            self._plans[path] = data, _Plan(self, path, data)
        return self._plans[path][1]

    def renamed(self, path: str) -> str:
        """Return a new path for a session note whose name gives the statement away; empty if it doesn't."""
        if not self._ctx.layout.is_session(path):
            return ""
        folder, _, name = path.rpartition("/")
        found = _STAMP.fullmatch(name)
        if found is None or not self.is_given_away_by(found[2], path):
            return ""
        number, to = 1, f"{folder}/{found[1]} conversation.md"
        while self._ctx.vault.look(to) is not None:
            number += 1
            to = f"{folder}/{found[1]} conversation {number}.md"
        return to

    def is_given_away_by(self, title: str, path: str) -> bool:
        """Whether a title or a topic gives the statement away.

        It does if it contains the statement. In a session note with a copy, it also does if it is a part of the
        statement, of two or more words; the last of them may be cut off.
        """
        sentences, words = self.sentences(), units(title)
        if mentions(title, sentences) or len(words) < 2 or path not in {entry.path for entry in self.entries}:
            return mentions(title, sentences)
        within = f" {' '.join(words)}"
        return any(within in f" {' '.join(sentence)}" for sentence in sentences)

    def is_copy(self, entry: Entry) -> bool:
        """Whether an entry is a copy: it has the same words and signs, or it shares a block id or a link to one."""
        if not self._ids.isdisjoint(_linked_ids(entry)):
            return True
        if entry.path == self._facts:
            return entry.path == self.first.path and _statement(entry, self._facts) in self.texts
        known = [words for text in self.texts for words in _wordings(text)]
        text = folded(entry.text)
        if not any(all(unit in text for unit in words) for words in known):
            return False
        found, signs = wordings(entry.text), _SIGNS.findall(entry.text)
        return any(words in found for words in known) and any(signs == _SIGNS.findall(each) for each in self.texts)

    def _grow(self) -> bool:
        """Search the notes once more with the ids and wordings known by now; return whether that found new ones."""
        before = (len(self._ids), len(self.texts), len(self.quotes))
        self.entries = []
        for path, note in self._notes.items():
            if self._ctx.layout.is_review(path) or not self._may_hold(note.data):
                continue
            for at, entry in enumerate(note.entries):
                if not self.is_copy(entry):
                    continue
                self.entries.append(entry)
                self._ids.update(_linked_ids(entry))
                if path != self._facts and entry.text not in self.texts:
                    self.texts.append(entry.text)
                if self._ctx.layout.is_session(path):
                    self._add_sources(note, [child for child in note.entries[at + 1 :] if child.line <= entry.end_line])
        return before != (len(self._ids), len(self.texts), len(self.quotes))

    def _add_sources(self, note: Note, children: Sequence[Entry]) -> None:
        """Add the sources of a session's fact: the names of the conversation, and the quotes among its children."""
        values = (note.properties.get(key) for key in ("source", "session"))
        names = [value for value in values if isinstance(value, str) and value]
        self.logs += [name for name in names if name not in self.logs]
        self.sources += [name for name in names[:1] if name not in self.sources]
        for child in children:
            if child.text.startswith(QUOTE) and (quote := quote_in(child.text)) not in self.quotes:
                self.quotes.append(quote)

    def _may_hold(self, data: bytes) -> bool:
        """Whether a note contains one of the block ids, or all words of one of the wordings (a cheap first check)."""
        if any(block_id.encode("ascii", "replace") in data for block_id in self._ids):
            return True
        text = folded(data.decode("utf-8", "replace"))
        return any(all(unit in text for unit in sentence) for sentence in self.sentences())


class _Plan:
    """The removal of a statement from one note.

    Attributes:
        removed: line and text of each copy, as they were before the removal.
        splices: the edits that remove them.
    """

    def __init__(self, copies: Copies, path: str, data: bytes) -> None:
        self.removed: list[tuple[int, str]] = []
        self._copies = copies
        self._path, self._starts = path, [line.start for line in Document(data).lines]
        self._layout = copies._ctx.layout
        self._sentences = copies.sentences()
        self._is_session = self._layout.is_session(path)
        changes = Changes(data)
        if self._is_session:
            self._remove_title(changes)
        if self._layout.is_playbook(path):
            self._remove_prose(changes)
        while entries := self._entries(note := Note.of(self._layout, path, changes.data)):
            while not (made := remove_bullets(note, entries)):
                entries = entries[: len(entries) // 2]
            for entry in entries:
                self._list(changes, note.document.lines[entry.line - 1].start, entry.text)
            changes.make(made)
        if self._is_session:
            self._remove_blocks(changes)
        self.splices = changes.splices()

    def _entries(self, note: Note) -> list[Entry]:
        """Return the entries to remove; not those below one of them, which go with it."""
        found: list[Entry] = []
        for entry in note.entries:
            if not (found and entry.line <= found[-1].end_line) and self._is_removed(entry):
                found.append(entry)
        return found

    def _is_removed(self, entry: Entry) -> bool:
        """Whether an entry is removed: it is a copy, or a line of ours that mentions the statement."""
        if self._layout.is_review(self._path):
            return mentions(grammar.plain(entry.text), self._sentences)
        if self._copies.is_copy(entry):
            return True
        if self._is_session and entry.section == NAMING and self._copies.is_given_away_by(entry.text, self._path):
            return True
        is_ours = self._is_session or entry.text.startswith((grammar.REPLACED, QUOTE, ALSO_CHANGED, ALSO_REMOVED))
        return is_ours and mentions(entry.text, self._sentences)

    def _remove_title(self, changes: Changes) -> None:
        """Empty the ``title`` property if it gives the statement away."""
        title = Document(changes.data).front_matter.get("title")
        if isinstance(title, str) and self._copies.is_given_away_by(title, self._path):
            self.removed.append((1, f"title: {title}"))
            changes.make(set_property(changes.data, "title", '""'))

    def _remove_prose(self, changes: Changes) -> None:
        """Remove paragraphs and headings of a playbook that consist of the statement alone; the title stays."""
        document = Document(changes.data)
        for line, end_line, text in reversed([*_prose_of(document)]):  # what is above keeps its place
            if any(words in self._sentences for words in wordings(text)):
                self.removed.insert(0, (line, text))
                changes.make([Splice(document.lines[line - 1].start, document.lines[end_line - 1].next, b"")])

    def _remove_blocks(self, changes: Changes) -> None:
        """Remove paragraphs of the summary and kept turns that mention the statement; of the model's answers to such
        turns those that have a word of it.
        """
        document = Document(changes.data)
        telling = set().union(*map(_telling, self._sentences))
        found: list[tuple[int, int, str]] = []
        answers = False
        for block in document.blocks:
            text = document.text(block.start_line, block.end_line)
            is_told = block.kind in ("paragraph", "quote") and mentions(text, self._sentences)
            answers = block.kind == "quote" and (is_told or (answers and sessions.is_answer(text)))
            if is_told or (answers and not telling.isdisjoint(_telling(units(text)))):
                found.append((block.start_line, block.end_line, text))
        for line, end_line, text in reversed(found):  # what is above keeps its place
            start, end = document.lines[line - 1].start, document.lines[end_line - 1].next
            self._list(changes, start, " ".join(text.split()))
            changes.make([Splice(start, end, b"")])

    def _list(self, changes: Changes, start: int, text: str) -> None:
        """Add a copy that starts at an offset to the list, with the line where it was before all removals."""
        self.removed.append((bisect_right(self._starts, changes.origin(start)), text))


def _telling(found: Sequence[str]) -> set[str]:
    """Return the stems of units that tell something: no function words; in scripts without blanks, pairs of units."""
    pairs = {one + other for one, other in pairwise(found) if len(one) == len(other) == 1}
    return pairs | {stem(unit) for unit in found if unit not in STOP_WORDS and (len(unit) > 1 or unit.isascii())}


_wordings = lru_cache(maxsize=64)(wordings)
"""The wordings of a copy, with which each entry is compared."""


def _said(text: str) -> list[str]:
    """Return the words of an entry without its fields, tags, accents and umlauts."""
    return [fold(word) for words in wordings(text)[-1:] for word in words]


def _linked_ids(entry: Entry) -> Iterator[str]:
    """Yield an entry's own block id, and that of the candidate it links to as its source."""
    if entry.block_id:
        yield entry.block_id
    if entry.provenance:
        yield entry.provenance.rpartition("^")[2]


def _statement(entry: Entry, facts: str) -> str:
    """Return the words of an entry; if it is in the note ``facts``, with its subject and without its dates."""
    if entry.path != facts:
        return entry.text
    return f"{entry.section} {_DATES.sub('', entry.text).replace(':: ', ' ')}"


def _note_paths(ctx: Caller) -> Iterator[str]:
    """Yield the paths of our notes that may hold a copy."""
    layout = ctx.layout
    for path in sorted(ctx.vault.paths()):
        if layout.is_ours(path) and (layout.is_kept(path) or layout.is_playbook(path)) and not layout.is_template(path):
            yield path


class Forgotten(Receipt):
    """The receipt of a forgotten statement.

    Attributes:
        gone: the removed lines of the first note, with nested ones, as they were.
        touched: the copies in other places.
        staying: the copies that stay.
        withheld: the turns of conversations that are withheld, if it is a sentence of one.
        copies: all copies; None if the statement was forgotten before, or if its removal awaits approval.
    """

    def __init__(
        self, receipt: Receipt, gone: bytes = b"", touched: Sequence[Copy] = (), copies: Copies | None = None
    ) -> None:
        vars(self).update(vars(receipt))
        self.removed = gone
        self.touched = touched
        self.staying = copies.staying if copies is not None else []
        self.withheld = [Copy(line.log, line.line, line.text) for line in copies.said] if copies is not None else []
        self.copies = copies


BOOK, PROSE, WAITING, TALK = "book", "prose", "waiting", "talk"
"""What else can be forgotten besides entries: a whole playbook; a paragraph or a heading of one; a proposal that is
pending or was decided; a sentence of a conversation."""


def _prose_of(document: Document) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, words) of the paragraphs and headings of a playbook, except its title."""
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
    """Return an Entry for text that is not an entry of a note."""
    return Entry(path, line, line, text, raw=text, section="", ref=grammar.ref(path, text))


def _find_playbook(ctx: Caller, target: str) -> Entry | None:
    """Return a stand-in for the only playbook with this path, title or (else) file name, or None."""
    books = playbooks.read_all(ctx.vault, {}, [ctx.layout.scope])
    wanted = key_of(target.strip())
    named = [book for book in books if wanted in map(key_of, (book.path, book.path[:-3], book.title))]
    named = named or [book for book in books if wanted == key_of(book.path.rpartition("/")[2][:-3])]
    return _stand_in(named[0].path, 1, named[0].title) if len(named) == 1 else None


def _find_other_texts(ctx: Caller, target: str) -> list[tuple[Entry, str]]:
    """Return (stand-in, kind) of playbook paragraphs and proposals with exactly these words, else of those that contain
    them.
    """
    wanted = comparable(target)
    known: list[tuple[Entry, str, str]] = []
    for note in ctx.notes(playbooks.paths(ctx.vault, [ctx.layout.scope])):
        known += [(_stand_in(note.path, line, text), PROSE, text) for line, _, text in _prose_of(note.document)]
    for path, name, words in inbox.recorded_words(ctx.vault):
        entry = _stand_in(path, 1, playbooks.title_of(words) or words)
        known += [(entry, WAITING, text) for text in (name, words, *words.split("\n"))]
    equal = [(entry, kind) for entry, kind, text in known if wanted == comparable(text)]
    return equal or [(entry, kind) for entry, kind, text in known if wanted in comparable(text)]


def _is_typed(target: str, copies: Copies) -> bool:
    """Whether a target is the statement, word by word, with or without its signs and credentials."""
    return units(secrets.mask(target)) in copies.sentences()


def _is_part(target: str, text: str) -> bool:
    """Whether a target is a part of a text, but not all of it."""
    wanted, whole = comparable(target), comparable(text)
    return wanted in whole and wanted != whole


def talk_lines(workspace: Workspace, fits: Callable[[str, str], bool]) -> list[TalkLine]:
    """Return the lines of conversations that a search in our scope can find, newest conversation first.

    Args:
        workspace: of the vault.
        fits: whether lines with this log and this text are wanted; also called with the text of a whole passage.
    """
    talks = workspace.talks()
    if talks is None:
        return []
    try:
        report = talks.refresh()
        workspace.notices += (talks.refresh(None) if report.stale else report).notices
    except UnwritableError as error:
        workspace.notices.append(f"what is new in conversations is not known: {error.message}")
        if not talks.index.exists:
            return []

    def lines(reader: TalkReader) -> Iterator[TalkLine]:
        for path, first, passage in reader.passages(workspace.project):
            log, texts = log_of(path), passage.split("\n")
            if not fits(log, passage) or talks.has_moved(*reader.place(path)) or talks.is_gone(log):
                continue
            shown = reader.shown(path, first, first + len(texts) - 1)
            for number, (text, line) in enumerate(zip(texts, shown, strict=False), first):
                turn = reader.turn(path, number)
                if fits(log, text) and not talks.withheld(turn, line.day, log):
                    yield TalkLine(log, line.line, line.day, text.strip(), turn)

    return talks.index.read(lambda reader: list(lines(reader)))


def read_again(workspace: Workspace, receipt: Forgotten) -> None:
    """Let the turns that were just withheld leave the index, where they hide the turns beside them, too."""
    if receipt.written and receipt.withheld and (talks := workspace.talks()) is not None:
        with contextlib.suppress(UnwritableError):  # it hides them all the same
            talks.read_again({turn.path for turn in receipt.withheld})


def _said_in_talks(ctx: Caller, target: str, talk_lines: TalkLines) -> Copies | None:
    """Return the copies of the only sentence of conversations with these words, or of the turn at this place of a log;
    None if there is none. Turns that a session note keeps count as well, for their log may be gone.

    Raises:
        AmbiguousError: several sentences fit; the error lists them.
    """
    named: dict[tuple[str, ...], tuple[TalkLine, str]] = {}

    def all_lines(fits: Callable[[str, str], bool]) -> list[TalkLine]:
        return [*talk_lines(fits), *_kept_lines(ctx, fits)]

    for line in (place := _at_place(target, all_lines)) or _with_words(target, all_lines):
        text = line.turn if place else line.text
        if words := tuple(units(text)):
            named.setdefault(words, (line, text))
    if len(named) > 1:
        raise _ambiguous_lines(target, [line for line, _ in named.values()], "name one by all its words")
    for words, (line, text) in named.items():
        lines = [one for one in talk_lines(partial(_may_say, words)) if mentions(one.turn, [words])]
        more = {True: text, False: f"{text} (with the rest of its turn)"}
        said = {(one.log, one.line): one._replace(text=more[tuple(units(one.turn)) == words]) for one in lines}
        entry = _stand_in(line.log, line.line, text)._replace(ref="")
        return Copies(ctx, entry, TALK if said else PROSE, [*said.values()])
    return None


def _kept_lines(ctx: Caller, fits: Callable[[str, str], bool]) -> Iterator[TalkLine]:
    """Yield the lines of the person's turns that session notes keep, if their path and text fit."""
    for note in ctx.notes(path for path in _note_paths(ctx) if ctx.layout.is_session(path)):
        text = note.data.decode("utf-8", "replace")
        for first, turn in sessions.turns_in(note.document) if fits(note.path, text) else ():
            if role(turn.speaker) in (None, "user"):
                rows = enumerate(turn.text.split("\n"), first)
                yield from (TalkLine(note.path, at, "", row, turn.text) for at, row in rows if fits(note.path, row))


def _may_say(words: Sequence[str], _log: str, text: str) -> bool:
    """Whether a text may be a part of a turn with these words: it has the first of them."""
    return words[0] in folded(text)


def _at_place(target: str, talk_lines: TalkLines) -> list[TalkLine]:
    """Return the lines at ``path:line`` of a log; if the text of one follows, as in listings, that line alone."""
    found = re.fullmatch(r"(?s)(.+?):([0-9]{1,9})(?::(.*))?", target.strip())
    if found is None:
        return []
    paths = (found[1], os.path.abspath(found[1]))
    lines = [line for line in talk_lines(lambda log, _: log in paths) if line.line == int(found[2])]
    if not found[3]:
        return lines
    return [line._replace(turn=line.text) for line in lines if comparable(line.text) == comparable(found[3])]


def _with_words(target: str, talk_lines: TalkLines) -> list[TalkLine]:
    """Return the lines with these words, each cut to the sentence; if some sentences are these words, only those."""
    forms = {comparable(target), comparable(secrets.mask(target))}  # as typed, and as the index has credentials
    wanted = units(secrets.mask(target))
    found: list[TalkLine] = []
    for line in talk_lines(lambda _, text: any(form in comparable(text) for form in forms)):
        sentences = [sentence.text for sentence in statements.sentences(line.text)]
        within = [text for text in sentences if any(form in comparable(text) for form in forms)]
        within = [text for text in within if units(text) == wanted or not is_short(units(text))]
        found += [line._replace(text=text) for text in within or [line.text]]
    return [line for line in found if units(line.text) == wanted] or found


def _ambiguous_lines(target: str, lines: Sequence[TalkLine], hint: str) -> AmbiguousError:
    """Return the error that lists the lines of conversations that fit a target."""
    listed = [f"{line.log}:{line.line}  {line.text}" for line in lines[:CANDIDATES]]
    return AmbiguousError(f"{counted(len(lines), 'sentence fits', 'sentences fit')} {target.strip()!r}", listed, hint)


def copies_of(ctx: Caller, target: str, talk_lines: TalkLines | None = None) -> Copies:
    """Return the copies of the only statement with this REF or these words.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one statement only.
        talk_lines: finds lines of conversations, which are looked through if no note fits; None: they are not.

    Raises:
        NotFoundError: there is no such entry, and nothing else with these words.
        AmbiguousError: several statements fit; the error lists them.
    """
    book = _find_playbook(ctx, target)
    try:
        found = matching_entries(ctx, target)
    except NotFoundError:
        if book is not None:
            return Copies(ctx, book, BOOK)
        others = {entry.text: (entry, kind) for entry, kind in reversed(_find_other_texts(ctx, target))}
        if not others:
            if talk_lines is not None and (copies := _said_in_talks(ctx, target, talk_lines)) is not None:
                return copies
            raise
        if len(others) > 1:
            raise ambiguous(ctx, target, [entry for entry, _ in others.values()]) from None
        return Copies(ctx, *others.popitem()[1])
    if book is not None and not any(key_of(entry.text) == key_of(target.strip()) for entry in found):
        return Copies(ctx, book, BOOK)
    copies = Copies(ctx, found[0])
    if not all(map(copies.holds, found)):
        raise ambiguous(ctx, target, found)
    return copies


def forget(
    ctx: Caller,
    target: str,
    *,
    later: bool = True,
    also: Sequence[TalkLine] = (),
    parts: bool = True,
    talk_lines: TalkLines | None = None,
) -> Forgotten:
    """Remove a statement from the notes: the entry, all its copies, and the bullets nested under them.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one statement only; several copies of it count as one.
        later: if the vault can't be written now, put the removal into the spool for the next command that writes.
        also: lines of conversations to withhold as well.
        parts: words that are only a part of the statement are enough, though it was written down more than once.
        talk_lines: as for :func:`copies_of`.

    Returns:
        A receipt with the entry's words and the line where it was, and the other places that were changed.

    Raises:
        NotFoundError: there is no such entry.
        AmbiguousError: several entries fit, or without ``parts`` state the same; the error lists them.
        ConflictError: the entry changed in the meantime.
        UnwritableError: the vault can't be written; if ``later``, the removal is in the spool.
        SettingsError: the record of forgotten sentences can't be read; nothing was written.
    """
    copies = copies_of(ctx, target, talk_lines)
    if not parts and copies.written_apart() and _is_part(target, copies.first.text):
        raise ambiguous(ctx, target, copies.entries, SAME)
    if not parts and len(copies.said) > 1 and is_short(units(copies.first.text)):  # an "ok" begins hundreds of turns
        raise _ambiguous_lines(target, copies.said, "so short a sentence is in many turns: --yes withholds all of them")
    if not parts and len(copies.said) > 1 and _is_part(target, copies.first.text) and not _is_typed(target, copies):
        raise _ambiguous_lines(target, copies.said, "they say the same: all its words or --yes withholds all of them")
    entry, places, kind = copies.first, copies.places(), copies.kind
    arguments = {"target": entry.ref, "text": secrets.mask(entry.text)} if later and not kind else None
    if kind and ctx.must_propose(entry.path):
        raise UsageError(
            f"{entry.path} is a playbook: only a person at a terminal may remove anything but a step",
            "run tars-memory forget there",
        )
    for path in places:
        ctx.vault.hide(path, "")  # so that the report of the removal is masked as the note was
    with (
        _withholding(ctx, copies, also) as withhold,
        ctx.writing("forget", arguments, atomic=len(places) > 1 or bool(kind)) as session,
    ):
        if ctx.must_propose(entry.path):
            change = Change("remove", entry.section, replaces=entry.raw, target=entry.path)
            kept = ctx.proposed(session, change, ASKED)
            kept.text = ctx.vault.hide(entry.path, entry.text)
            return Forgotten(kept)

        for line in copies.said:
            session.record("withhold", line.log, line.line, project=ctx.layout.scope)
        withhold(session.id)
        written, purged = _remove(ctx, session, copies, places)
    if purged:
        ctx.notices.append(f"purged from proposals and decisions about them: {purged}")
    ctx.notices += copies.kept()
    touched = [copy for path in places for copy in places[path] if (copy.path, copy.line) != (entry.path, entry.line)]
    receipt = ctx.receipt(entry.path, entry.line, entry.ref, entry.text, written)
    lines = {WAITING: entry.text.encode("utf-8", "replace"), TALK: b""}.get(kind, written.before)
    return Forgotten(receipt, gone=lines, touched=touched, copies=copies)


@contextlib.contextmanager
def _withholding(ctx: Caller, copies: Copies, also: Sequence[TalkLine]) -> Iterator[Callable[[str], None]]:
    """Yield a function that withholds a statement from conversations before the transaction of that name removes it: a
    kill in between must not leave what an old conversation brings back. If the removal fails, it counts no longer.

    Args:
        ctx: the command's view of the vault.
        copies: of the statement.
        also: lines of conversations to withhold as well.

    Raises:
        SettingsError: the record of forgotten sentences can't be read.
    """
    withheld, txns = Withheld(ctx.store.state), set[str]()

    def withhold(txn: str) -> None:
        if ctx.store.dry_run:
            return
        sentences = copies.sentences([turn.text for turn in also])
        days = [day for day in map(ctx.layout.day_of, copies.places()) if day]
        days += [date.fromisoformat(turn.day) for turn in (*copies.said, *also) if turn.day]
        ahead = max([ctx.now.date(), *days]) - ctx.now.date()  # where our clock is behind that of a log
        now = ctx.now + (ahead + timedelta(1) if ahead else ahead)
        try:
            withheld.remember(sentences, now, txn=txn, logs=[*copies.logs, *(turn.log for turn in also)])
            txns.add(txn)
        except (OSError, TarsError) as error:
            if copies.kind == TALK:  # then nothing at all was forgotten
                raise
            ctx.notices.append(f"an old conversation may bring it back: {ctx.store.state} can't be written: {error}")

    try:
        yield withhold
    except Exception:
        with contextlib.suppress(OSError, TarsError):
            withheld.drop(txns)
        raise


def _remove(
    ctx: Caller, session: WriteSession, copies: Copies, places: Mapping[str, Sequence[Copy]]
) -> tuple[Written, int]:
    """Remove all copies from the notes, and purge proposals and decisions of the words.

    Returns:
        The outcome for the note of the first copy, and the number of purged proposals and decisions.

    Raises:
        ConflictError: the first copy changed in the meantime.
    """
    entry, kind, written = copies.first, copies.kind, None

    def first(data: bytes | None) -> Sequence[Splice]:
        found = "" if kind else locate(session.note(entry.path, data or b""), entry.raw, occurrence=0)
        if found and isinstance(found, str):
            raise ConflictError(found, LOOK_AGAIN)
        return copies.without(entry.path, data or b"")

    if kind == BOOK:
        data = session.read(entry.path)
        written = session.remove(entry.path, digest(data or b""))
    elif kind == TALK:
        written = session.written[0]
    elif kind != WAITING:
        written = session.write(entry.path, first)
    for path in places:
        if path != entry.path:
            session.write(path, lambda data, path=path: copies.without(path, data or b""))  # type: ignore[misc]
        if to := copies.renamed(path):
            session.move(path, to)
    purged = sum(inbox.forget_words(session, ctx.vault, text) for text in (*copies.texts, *copies.quotes))
    if kind == WAITING:
        written = next((outcome for outcome in session.written if outcome.path == entry.path), None)
    if written is None:
        raise ConflictError(f"{entry.path} changed meanwhile: nothing was forgotten", LOOK_AGAIN)
    return written, purged


def similar_talk_lines(workspace: Workspace, target: str) -> list[TalkLine]:
    """Return lines of conversations about the same thing in other words, best first: forgetting leaves them.

    Args:
        workspace: of the vault.
        target: the statement to forget: a REF, or words that fit it alone.
    """
    if workspace.talks() is None:
        return []
    try:
        copies = copies_of(workspace.capture(writes=False), target, partial(talk_lines, workspace))
    except NotFoundError:
        return []  # it may have been forgotten before
    known = {(line.log, line.line) for line in copies.said}
    words = [word.lstrip("-") for word in copies.texts[0].replace('"', " ").replace(":", " ").split()]
    if not any(words):
        return []
    sentences = copies.sentences()
    found: dict[TalkLine, None] = {}
    query = " ".join(filter(None, words))
    for hit in Searcher(workspace).search(query, tiers=("talk",), limit=MOST_NEAR, expired=True).hits:
        for text, line in zip(hit.text.split("\n"), hit.places, strict=True):
            if not mentions(text, sentences) and (hit.path, line) not in known:
                found[TalkLine(hit.path, line, hit.day, text.strip(), text)] = None
    return list(found)[:MOST_NEAR]


def forget_everywhere(
    workspace: Workspace, target: str, also: Sequence[TalkLine] = (), *, parts: bool = True
) -> Forgotten:
    """Forget a statement and purge its words; a statement that was forgotten before is purged as well.

    Args:
        workspace: of the vault.
        target: as for :func:`similar_talk_lines`.
        also: lines of conversations to purge with it.
        parts: as for :func:`forget`.

    Raises:
        NotFoundError: there is no such entry, and none was forgotten.
        AmbiguousError: as for :func:`forget`.
        UnwritableError: the entry can't be removed now; nothing is spooled, for then it could not be purged.
        PartialError: the entry is removed, but not purged everywhere; the same call again purges the rest.
    """
    layout = workspace.vault.layout
    history = list(of_scope(workspace.store(writes=False).history(None), layout))
    try:
        lines = partial(talk_lines, workspace)
        receipt = forget(workspace.capture(), target, later=False, also=also, parts=parts, talk_lines=lines)
    except NotFoundError:
        forgotten = _find_forgotten(history, target, layout) or _find_said(workspace, history, target)
        if forgotten is None:
            raise
        path, line, text, txn = forgotten
        ref = grammar.ref(path, text)
        receipt = Forgotten(Receipt(path, line, ref, text, notices=workspace.notices))
        if not workspace.dry_run:
            texts = [*worded_before(history, path, text, layout), *_removed_quotes(history, txn, layout)]
            receipt.notices += ["it was forgotten before", *purge(workspace, texts)]
        return receipt
    if receipt.written and receipt.copies is not None:
        before = worded_before(history, receipt.path, receipt.text, layout)
        named = [receipt.path] if receipt.copies.kind == BOOK else []
        texts = [*before, *receipt.copies.texts, *receipt.copies.quotes, *named, *(turn.text for turn in also)]
        logs = [*receipt.copies.logs, *(turn.log for turn in also)]
        receipt.notices += purge(workspace, list(dict.fromkeys(texts)), logs, [copy.path for copy in receipt.staying])
    return receipt


def _find_said(workspace: Workspace, history: list[JournalEntry], target: str) -> tuple[str, int, str, str] | None:
    """Return what :func:`_find_forgotten` does, of the turn with this sentence that was withheld last: the journal
    has no words of it.
    """
    txns = Withheld(workspace.state).txns_of([units(target), units(secrets.mask(target))])
    in_force = (entry for entry in history if entry.op in OPPOSITE and not (entry.undone or entry.purged))
    return next(((entry.file, entry.line, target, "") for entry in in_force if entry.txn in txns), None)


def stop_withholding_undone(workspace: Workspace) -> None:
    """Stop withholding sentences that were forgotten by writes that are now undone, and go on if that was undone."""
    try:
        withheld = Withheld(workspace.state)
    except SettingsError as error:
        workspace.notices.append(f"{error.message}; {error.hint}")
        return
    if wanted := withheld.txns:
        found = [entry for entry in workspace.store(writes=False).history(None) if entry.txn in wanted]
        undone = {entry.txn: entry.undone for entry in found}
        changed = withheld.settled(undone)
        if changed and (talks := workspace.talks()) is not None:
            workspace.forget_withheld(withheld)
            logs = {entry.file for entry in found if entry.op in OPPOSITE and entry.txn in changed}
            with contextlib.suppress(UnwritableError):  # it shows nothing that is withheld all the same
                if not talks.read_again(logs, min(changed.values())):
                    workspace.notices.append("the index is busy: tars-memory reindex --full shows what was undone")
        if changed:  # last: after a kill the next undo, or doctor, must read those logs
            try:
                withheld.settle(undone)
            except (OSError, TarsError) as error:
                workspace.notices.append(f"{workspace.state} can't be written: tars-memory doctor repeats it: {error}")


def worded_before(history: list[JournalEntry], path: str, text: str, layout: Layout) -> list[str]:
    """Return the words of an entry and, as far as the journal knows, the words that it had before it was edited.

    Args:
        history: newest first.
        path: of the entry's note.
        text: the entry's words now, or when it was forgotten.
        layout: says where entries begin with a time.
    """
    found = [text]
    for entry in history:
        same = entry.file == path or path == layout.archived(entry.file) or entry.file == layout.archived(path)
        if same and entry.op == "edit" and entry.before and entry.after:
            before, after = _entry_texts(path, entry.before, layout), _entry_texts(path, entry.after, layout)
            if len(before) == len(after) == 1 and after[0] in found and before[0] not in found:
                found += before
    return found


def purge(workspace: Workspace, texts: list[str], logs: Sequence[str] = (), staying: Collection[str] = ()) -> list[str]:
    """Purge forgotten words from journal, spool, index and caches, check that they are gone, and list what remains.

    Turns that contain the words and were said before now are withheld, whatever is undone. The journal comes last:
    while it still records the removal, the same target finds what is left to purge.

    Args:
        workspace: of the vault.
        texts: the forgotten words.
        logs: names of the conversations that they were said in.
        staying: notes with the words that the person was told of already.

    Returns:
        Notices for the person.

    Raises:
        PartialError: a copy could not be purged; the message says where the words remain.
    """
    store = workspace.store()
    sentences = [words for text in texts for words in wordings(text)]
    failed: list[str] = []
    purged: dict[str, Any] = {}

    def purge_proposals() -> int:
        with store.session("forget", workspace.vault) as session:
            return sum(inbox.forget_words(session, workspace.vault, text) for text in texts)

    steps: dict[str, Callable[[], object]] = {
        "withheld": lambda: Withheld(store.state).remember(sentences, workspace.now(), logs=logs),
        "proposals": purge_proposals,
        "spool": lambda: sum(store.spool.purge(partial(item_says, words=text)) for text in texts),
        "files": lambda: sum(_drop_lines(path, sentences) for path in _other_files(workspace, store.state)),
        "index": lambda: workspace.index().forget(lambda text: mentions(text, sentences)),
        "team": workspace.publish,
        "talks": lambda: talks.rebuild() if (talks := workspace.talks()) is not None else None,
        "journal": lambda: store.purge(texts, Withheld(store.state).txns_of(sentences)),
    }
    for name, step in steps.items():
        if failed and name == "journal":
            break  # else the same call again would find nothing that was forgotten
        try:
            purged[name] = step()
        except (TarsError, OSError) as error:
            failed.append(error.message if isinstance(error, TarsError) else str(error))
    workspace.close()
    notes = [path for path in workspace.vault.paths() if _holds(workspace.root / path, texts)]
    told = {path for path in notes if path in staying or not workspace.vault.layout.is_ours(path)}
    trash = [path.relative_to(workspace.root).as_posix() for path in (workspace.root / ".trash").rglob("*.md")]
    copies = [*workspace.vault.skipped_paths.get(CONFLICT_COPY, ()), *trash]
    copies = [path for path in copies if workspace.vault.layout.is_ours(path.removeprefix(".trash/"))]
    holding = {*notes} - told | {path for path in copies if _holds(workspace.root / path, texts)}
    remaining = [f"the same words are in {path}" for path in sorted(holding)]
    ours = [path for path in sorted(store.state.rglob("*")) if not (notes and path.name.startswith("index"))]
    home = workspace.settings.places.state
    ours += [path for name in ("crash-*", "kept/*", "spool/*") for path in sorted(home.glob(name))]
    ours += sorted((workspace.root / inbox.INBOX).glob("*"))
    remaining += [f"a copy remains in {path}" for path in ours if path.is_file() and _holds(path, texts)]
    if failed:
        why = "; ".join(dict.fromkeys(failed))
        message = f"the entry is gone from its note, but its words are not purged everywhere: {why}"
        raise PartialError(
            "\n  ".join((message, *remaining)),
            "fix that, then run the same forget --everywhere again: it purges the rest",
        )
    records, proposals = purged["spool"] + purged["files"] + purged["journal"], purged["proposals"]
    done = [f"purged from {counted(records, 'record')} of journal and spool, index and caches; it can't be undone"]
    done += [f"purged from proposals and decisions about them: {proposals}"] if proposals else []
    return [*done, *filter(None, [purged["team"]]), *remaining, OUT_OF_REACH]


def _other_files(workspace: Workspace, state: Path) -> list[Path]:
    """Return our files besides journal, spool and index that may hold forgotten words.

    They are copies of logs that hooks keep, the hooks' own log, the places of the last search, discarded texts, the
    uses of playbooks and crash reports.
    """
    home = workspace.settings.places.state
    names = ("hooks/kept/*/*/*", "hooks/kept/*/*", "hooks/hook.log", "last-search*", playbooks.USES)
    found = [path for name in names for path in state.glob(name)]
    found += [path for name in ("hook.log", "kept/*", "crash-*") for path in home.glob(name)]
    return sorted(path for path in found if path.is_file())


def _drop_lines(path: Path, sentences: list[list[str]]) -> int:
    """Remove the lines of a file that contain one of the sentences; an empty file is deleted. Return their number."""
    data = disk.read(path, most=LARGEST_COPY) or b""
    kept, count = [], 0
    for line in io.BytesIO(data):
        if mentions(line.decode("utf-8", "replace"), sentences) or _escaped(line, sentences):
            count += 1
        else:
            kept.append(line)
    if count and kept:
        replace_file(path, b"".join(kept))
    elif count:
        path.unlink()
    return count


def _escaped(line: bytes, sentences: list[list[str]]) -> bool:
    """Whether a line is a JSON value that contains one of the sentences once its escapes are decoded."""
    try:
        return b"\\" in line and mentions(json.dumps(json.loads(line), ensure_ascii=False), sentences)
    except (ValueError, RecursionError):
        return False


def _find_forgotten(history: list[JournalEntry], target: str, layout: Layout) -> tuple[str, int, str, str] | None:
    """Return note, line, words and transaction of the entry with this REF or these words that was forgotten last, else
    of the only forgotten statement that contains them.
    """
    wanted = comparable(target)
    containing: dict[str, tuple[str, int, str, str]] = {}
    for entry in history:
        if entry.command == "forget" and not entry.undone and not entry.purged:
            for text in _removed_texts(entry, layout):
                refs = {grammar.ref(entry.file, text, number) for number in range(REPEATS)}
                if wanted in refs or wanted == comparable(text):
                    return entry.file, entry.line, text, entry.txn
                if _is_part(target, text):
                    containing.setdefault(comparable(text), (entry.file, entry.line, text, entry.txn))
    return next(iter(containing.values())) if len(containing) == 1 else None


def _removed_texts(entry: JournalEntry, layout: Layout) -> list[str]:
    """Return the texts by which a removal can be named: the first entry that it removed.

    For a file of the inbox they are the words and titles of its proposals or decisions; for a playbook, title and path;
    for a paragraph of one, its words.
    """
    if entry.file.startswith(OURS):
        found = [words for part in (entry.before, *entry.before.split("\n")) for words in inbox.words_of(part)]
        return [text for words in found for text in (playbooks.title_of(words), words) if text]
    if entry.op == "remove" and layout.is_playbook(entry.file):
        return [playbooks.title_of(entry.before[Document(entry.before.encode()).body_line :]), entry.file]
    if layout.is_playbook(entry.file) and not _entry_texts(entry.file, entry.before, layout):
        return [" ".join(entry.before.split()).removeprefix(playbooks.WHEN).lstrip("# ")]
    return _entry_texts(entry.file, entry.before, layout)[:1]


def _removed_quotes(history: list[JournalEntry], txn: str, layout: Layout) -> list[str]:
    """Return the verbatim quotes that a transaction removed from session notes."""
    removed = (text for entry in history if entry.txn == txn for text in _entry_texts(entry.file, entry.before, layout))
    return [quote_in(text) for text in removed if text.startswith(QUOTE)]


def _entry_texts(path: str, lines: str, layout: Layout) -> list[str]:
    """Return the words of the entries in some lines of a note."""
    document = Document(lines.encode("utf-8", "surrogateescape"))
    return [entry.text for entry in grammar.read(path, document, timed=layout.timed(path))]


def _holds(path: Path, texts: list[str]) -> bool:
    """Whether a file contains one of the texts, as it is or as a JSON string; False if it is too large to search."""
    try:
        data = disk.read(path, most=LARGEST_COPY) or b""
    except SettingsError:
        return False
    shapes = [text.encode("utf-8", "surrogateescape") for text in texts]
    shapes += [json.dumps(text)[1:-1].encode("ascii") for text in texts]
    shapes += [json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape") for text in texts]
    return any(shape in data for shape in shapes)
