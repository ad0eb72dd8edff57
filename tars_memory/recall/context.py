"""``context``: what a model should know before it answers, packed for a prompt under a token budget.

Filled in this order, so that what stands last here is given up first when room is short: approved rules; the playbook
that fits the question, up to half of the room that they leave, and the names of others; what the question finds, up to
half of the room that is left then; Memory.md of the project; User.md and the other notes that say who somebody is, up
to half of what is left; Memory.md of the vault (where it does not fit, the lines that answer first), other rules, the
rest of User.md, daily notes, facts, what else the question finds, and at last, as data, Memory.md and Procedural.md of
shared vaults.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import index
from tars_memory.errors import TarsError, UsageError, counted
from tars_memory.recall import loaded, names, packing, query
from tars_memory.recall.loaded import Beside, Loaded, Reading, Stands, by_approval, dismissed, key, settled
from tars_memory.recall.packing import NO_ROOM, Context, Packing, Portion, PromptBlock, tokens
from tars_memory.settings import ContextOptions, Cut, FactsOptions
from tars_memory.vault.layout import Layout
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded, predicate_key
from tars_memory.vault.markdown.lines import candidates_of, unmarked
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.secrets import veiled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from tars_memory.recall.loaded import Conversations
    from tars_memory.recall.names import Selection
    from tars_memory.recall.query import Query
    from tars_memory.recall.search import Answer
    from tars_memory.vault.playbooks import Playbook
    from tars_memory.vault.vault import Vault


__all__ = ["Context", "PromptBlock", "context"]

BUDGET = 2000
"""Tokens, if not said: 8,000 characters; Claude Code takes 10,000 from a hook."""
MOST_DAYS = 366

AUTOMATED_SHARE = 0.2
"""Of the room for conversations that is for those in which nobody typed, as in istota; what they don't need is free."""

BEYOND_CAP = "beyond the file cap"
FADED = "a playbook that was not used for long"
MOST_PLAYBOOKS = 5
"""So many are named: as many as are read at a glance."""
LONG = 1_000
"""Characters of a paragraph or a bullet from which on its beginning is told if there is no room for all of it: a short
one is told whole or not at all, for half a sentence is another sentence."""
BEGUN = 80
"""Fewer characters of it tell nothing: about a sentence."""
LABELS = 120
"""Characters of tags and places around what is loaded of a note, about."""


class Books(NamedTuple):
    """The playbooks that may be told.

    Attributes:
        shelf: all that there are.
        days: without a use, after which one is told no more; 0 for never.
        fitting: the paths of those that answer a question, best first; asked once at most, after the lines that do.
        stands: which of them a person approved, as they are.
    """

    shelf: Sequence[Playbook] = ()
    days: int = 0
    fitting: Callable[[Query], list[str]] = lambda _: []
    stands: Stands = lambda _path, _data: False


class ContextRequest(NamedTuple):
    """All that a context may be asked.

    Attributes:
        question: in plain words: the operators of search are text here; '' recalls nothing.
        budget: most tokens.
        days: daily notes: 1 for today's, of several the last that there are.
        file_cap: most characters of one always-loaded note.
        most_facts: facts, if there are not more about the user.
        project: whose notes may be used too; none of another one ever are.
        loaded: False for facts and recalled lines alone.
        expired: also what has ended, and facts that do not hold.
        recall: tokens of the budget that are for facts and recalled lines, and for nothing else but rules and memory
            of the project, which go before all; None: whatever is left over.
        as_of: the day on which facts and lines have to hold; None: today.
        facts: how predicates stand in time, and who the user is.
        agent: whose own notes may be told, as data; those of other agents never are.
        books: the playbooks that there are.
        beside: the shared vaults.
    """

    question: str = ""
    budget: int = BUDGET
    days: int = ContextOptions.days
    file_cap: int = ContextOptions.file_cap
    most_facts: int = ContextOptions.facts
    project: str | None = None
    loaded: bool = True
    expired: bool = False
    recall: int | None = None
    as_of: date | None = None
    facts: FactsOptions | None = None
    agent: str = ""
    books: Books = Books()
    beside: Sequence[Beside] = ()

    def held_on(self, now: datetime) -> date | None:
        """The day on which what is told has to count still; None: what has ended is told too."""
        return None if self.expired else self.as_of or now.date()


def context(
    vault: Vault,
    request: ContextRequest,
    *,
    now: datetime,
    typed: Callable[[str], frozenset[bytes]],
    answers: Callable[[Query], list[Answer]],
    decided: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {},
    selection: Selection | None = None,
    said: Conversations | None = None,
) -> Context:
    """Pack what a model should know.

    Args:
        vault: to read from; nothing is written.
        request: what is asked.
        now: whose day's note is loaded.
        typed: by a note's path the lines that a person typed (:func:`tars_memory.vault.writing.history.typed_lines`).
        answers: the lines that answer a query, best first; asked at most once.
        decided: by block ids of daily lines what became of those that are no longer to be told
            (:func:`tars_memory.recall.decided.outdated`): session notes say their words again.
        selection: what facts and recalled lines are taken from; None: all.
        said: the lines of conversations; filled by ``answers``.

    Raises:
        UsageError: a number below zero, or a project that can't be one.
    """
    _check(request, vault.layout.projects)
    filling = _Filling(vault, request, decided, request.held_on(now), selection)
    if said is not None:
        filling.said = said
    if request.project and not (vault.root / (folder := vault.layout.within(request.project, ""))).is_dir():
        filling.notices.append(f"there is no project {request.project!r}: {folder[:-1]} is not a folder")
    if request.loaded:
        filling.load(typed, now, request.days)
        filling.load_beside(request.beside)
    today = request.as_of or now.date()
    filling.load_facts(request.question, today, request.facts or FactsOptions(), request.most_facts)
    filling.load_facts_beside(request, today)
    plain = query.SearchRequest(_plain(request.question), expired=request.expired, as_of=request.as_of)
    asked = query.parse(plain, now.date())
    asked.selection = selection
    if asked.searches:
        filling.notices += asked.notices
        told = ("", request.agent)
        found = [answer for answer in answers(asked) if vault.layout.agent_of(answer.path) in told]
        books, today = request.books, now.date()
        shown = {book.path: book for book in books.shelf if request.expired or book.is_shown(today, books.days)}
        faded = {book.path for book in books.shelf} - shown.keys()
        filling.fade(answer for answer in found if answer.path in faded)
        filling.rank([answer for answer in found if answer.path not in faded])
        if found and shown:
            fitting = [shown[path] for path in books.fitting(asked) if path in shown]
            filling.load_playbooks(fitting, {answer.path for answer in found}, books.stands)
    filling.fill()
    return filling.done()


class _Part:
    """What is loaded of one note for one block.

    Attributes:
        kind: of the block.
        note: that it is from.
        units: in the order in which room is given to them.
        whole: whether all of the note is loaded; else units were picked from it.
    """

    def __init__(self, kind: str, note: Loaded, units: Iterable[Portion], *, whole: bool = True) -> None:
        self.kind = kind
        self.note = note
        self.units = list(units)
        self.whole = whole


class _Filling(Reading):
    """A prompt on its way: everything is read, then room is given to it."""

    def __init__(
        self,
        vault: Vault,
        request: ContextRequest,
        decided: Callable[[Sequence[str]], Mapping[str, str]],
        on: date | None,
        selection: Selection | None,
    ) -> None:
        super().__init__(vault, request.project or "", decided, on)
        self.budget = request.budget
        self.file_cap = request.file_cap
        self.selection = selection
        self.packing = Packing(request.budget, self.notes)
        self.packing.precedence = bool(request.project)
        self.packing.shared = bool(request.beside)
        self.kept = None if request.recall is None else packing.characters(request.recall)
        """Characters of what is recalled, if it has a share of its own."""
        self.parts: list[_Part] = []
        self.touched: list[_Part] = []
        self.loaded: dict[tuple[str, int], tuple[str, Portion]] = {}
        """By place the unit of a loaded note that it is in, and its block."""
        self.says: dict[str, tuple[str, Portion]] = {}
        """By what it says, and by the candidate it came from, each unit of a note that is loaded whole: it is told for
        whatever repeats it elsewhere."""
        self.told: dict[tuple[str, int], Portion] = {}
        """By its first line the sentence without which a unit is not taken in."""
        self.order: list[tuple[str, int]] = []
        """Places that the question finds, and in long notes those around them, best first."""
        self.bodies: dict[str, int] = {}
        """By path the first line after the front matter."""
        self.books: list[tuple[Playbook, Portion | None, str]] = []
        """The playbooks that fit, best first, each with all of it if it may be given whole, and its block."""
        self.named: list[packing.NamedPlaybook] = []
        """Those that are in."""
        self.said_so_far = self.automated_so_far = 0
        """Characters that such lines have taken."""
        self.talk_left = self.automated_left = 0
        """Characters that lines of conversations may take still; of these what is for those in which nobody typed."""
        self.found: set[tuple[str, int]] = set()
        """Those that it finds themselves."""

    # --- reading

    def load(self, typed: Callable[[str], frozenset[bytes]], now: datetime, days: int) -> None:
        """Read rules, memory, what the user says of himself, and the last days' notes, their newest lines first."""
        layout = self.vault.layout
        others: list[_Part] = []
        for scope in self.scopes():
            for note in self.read([layout.procedural_of(scope)], whole_items=True):
                approved, rest = by_approval(note, self.typed_in(typed, note.path))
                self._load("procedural", note, approved)
                others.append(_Part("unapproved", note, rest))
            for note in self.read([layout.memory_of(scope)]):
                self.packing.precedence |= weighs(note)
                self._load("memory", note, newest_first(note))
        for part in others:
            self._load(part.kind, part.note, part.units)
            if rest := part.units:
                shown = "is shown" if len(rest) == 1 else "are shown"
                said = f"{counted(len(rest), 'rule')}, not approved here, {shown} with the data"
                self.notices.append(f"{part.note.path}: {said}")
        for note in self.read(layout.loaded_of(self.scope)):
            self._load("user", note, note.units)
        if days and layout.problem:
            self.notices.append(layout.problem.message)
            return
        last = [now.date()][:days] if days < 2 else self.vault.last_days(now.date(), days, self.scopes())
        for day in last:
            for note in self.read([self.vault.daily_path(day, scope=scope) for scope in self.scopes()]):
                self._load("daily", note, note.units[::-1])

    def load_facts(self, question: str, today: date, options: FactsOptions, most: int) -> None:
        """Read the facts about the user, and those that the question touches, which come first; not what has ended."""
        if self.selection is not None:
            question = " ".join((question, *self.selection.names))  # who is asked about is part of the question
        me, predicates = facts.names(options.me), facts.Predicates.of(options)
        against = Facts(predicates, me)
        for note in self.read([self.vault.layout.within(scope, Layout.facts) for scope in self.scopes()]):
            known = facts.read(note.path, note.document)
            picked = names.relevant(
                [fact for entry, fact in known if self._selects(note, entry)],
                question,
                today=today,
                predicates=predicates,
                me=me,
                most=most,
                expired=self.on is None,
            )
            most -= len(picked)
            picked, told = against.told([fact for _, fact in known if fact.holds(today)], picked)
            self.told |= told
            units = {unit.start_line: unit for unit in note.units}
            if self.on is not None:
                for _, fact in known:
                    if fact.line in units and not fact.holds(today):
                        self.leave_out(note.path, fact.line, units[fact.line].end_line, loaded.ENDED)
            for first_line, last_line, why in note.omitted:
                if why == loaded.ENDED:
                    self.leave_out(note.path, first_line, last_line, why)
            touched = set(map(id, names.touched(picked, question, me)))
            for first in (True, False):
                chosen = [units[f.line] for f in picked if f.line in units and (id(f) in touched) is first]
                (self.touched if first else self.parts).append(_Part("facts", note, chosen, whole=False))
            self._place("recalled", note.units)

    def load_beside(self, others: Sequence[Beside]) -> None:
        """Read the memory and the rules of shared vaults: data, whatever stands in them."""
        for other in others:
            layout = other.vault.layout
            for scope in self.scopes():
                for path in (layout.memory_of(scope), layout.procedural_of(scope)):
                    note = self.read_beside(other, path, whole_items=layout.tier_of(path) is Tier.PROCEDURAL)
                    if note is not None:
                        self._load(packing.SHARED, note, newest_first(note))

    def load_facts_beside(self, request: ContextRequest, today: date) -> None:
        """Read the facts of shared vaults; those that the question touches are told. Who "me" is there nobody knows."""
        for other in request.beside:
            for scope in self.scopes():
                note = self.read_beside(other, other.vault.layout.within(scope, Layout.facts))
                if note is None:
                    continue
                units = {unit.start_line: unit for unit in note.units}
                known = [fact for _, fact in facts.read(note.path, note.document) if fact.line in units]
                picked = names.relevant(
                    known,
                    request.question,
                    today=today,
                    predicates=facts.Predicates.of(request.facts or FactsOptions()),
                    me=(),
                    most=request.most_facts,
                    expired=self.on is None,
                )
                for fact in known:
                    if self.on is not None and not fact.holds(today):
                        self.leave_out(note.path, fact.line, units[fact.line].end_line, loaded.ENDED)
                for first, last, why in note.omitted:
                    self.leave_out(note.path, first, last, why)
                chosen = [units[fact.line] for fact in picked] if self.selection is None else []
                self.parts.append(_Part(packing.SHARED, note, chosen, whole=False))
                self._place(packing.SHARED, note.units)

    def _selects(self, note: Loaded, entry: Entry) -> bool:
        """Whether a fact is among what was asked for by name or topic."""
        if self.selection is None:
            return True
        document = note.document
        text = document.text(entry.line, entry.end_line)
        return self.selection.keeps(note.path, document.section_at(entry.line).path, text)

    def rank(self, found: list[Answer]) -> None:
        """Read the notes of the lines that answer, and put the lines in the order in which they are packed."""
        if not found:
            self.notices.append(packing.NOTHING)
            return
        for path in dict.fromkeys(answer.path for answer in found):
            if path not in self.notes:
                self.read_for_recall(path)
        places = settled(found, self.notes)
        self.found = set(places)
        ordered = packing.by_worth(places, self.notes, {part.note.path for part in (*self.parts, *self.touched)})
        self.order = [place for place in ordered if self.selection is None or place in self.found]

    def fade(self, found: Iterable[Answer]) -> None:
        """Leave out the lines of playbooks that nobody used for long."""
        for answer in found:
            if answer.path not in self.notes:
                self.read_for_recall(answer.path)
            if 0 < answer.number <= len(self.notes.get(answer.path, ())):
                self.leave_out(answer.path, answer.number, answer.number, FADED)

    def load_playbooks(self, books: Sequence[Playbook], best: Collection[str], stands: Stands) -> None:
        """Read the playbooks that fit the question: the first one to be given whole, the others by name.

        Args:
            books: best first.
            best: paths of the notes that answer best of all; only a playbook among them is given whole.
            stands: as in :class:`Books`.
        """
        for book in books[:MOST_PLAYBOOKS]:
            for note in self.read([book.path]):
                kind = "playbooks"
                if self._stands(note, stands):
                    kind = "procedural"
                whole = _whole(note) if not self.books and book.path in best else None
                self.books.append((book._replace(approved=kind == "procedural"), whole, kind))

    def _stands(self, note: Loaded, stands: Stands) -> bool:
        """Whether a person approved a playbook, which is as it was when it was read here."""
        try:
            data = self.vault.read(note.path)
            return veiled(data) == note.document.data and stands(note.path, data)
        except TarsError as error:
            self.notices.append(error.message)
            return False

    def _load(self, kind: str, note: Loaded, units: Iterable[Portion]) -> None:
        part = _Part(kind, note, units)
        self.parts.append(part)
        self._place(kind, part.units)
        for first, last, why in note.omitted:
            self.leave_out(note.path, first, last, why)
        note.omitted = []

    def _place(self, kind: str, units: Iterable[Portion]) -> None:
        kind = kind if self.kept is None else "recalled"  # else its share would pay for what is recalled
        for unit in units:
            self.loaded |= dict.fromkeys(_places(unit), (kind, unit))
            if kind != "recalled":
                first = self.notes[unit.path][unit.start_line - 1]
                said = {*unit.says, *map("^{}".format, candidates_of(first))}
                self.says |= {words: (kind, unit) for words in said if words not in self.says}

    # --- giving room

    def fill(self) -> None:
        """Take in all that finds room, what is worth most first."""
        ranks = {place: rank for rank, place in enumerate(self.order)}
        first = bool(self.order or any(part.units for part in self.touched)) and self.kept is None
        scoped, facts_parts = self._scoped(rules_first=first), [part for part in self.parts if part.kind == "facts"]
        rest = [part for part in self.parts if part.kind not in ("procedural", "memory", "facts", packing.SHARED)]
        beside = [part for part in self.parts if part.kind == packing.SHARED]
        beside_touched, beside = [part for part in beside if not part.whole], [part for part in beside if part.whole]
        who = [part for part in rest if part.kind == "user"]
        for at, part in enumerate(scoped):
            if first and part.kind != "procedural":
                first = False
                self._give_playbooks()
                self._found_first([*scoped[at:], *rest, *facts_parts])
            scope = self.vault.layout.scope_of(part.note.path)
            self._hold(scope)
            if part.kind == "memory" and (not scope or any(map(self._in_project, who))):
                self._who_first(who, ranks, sum(map(_size, (*scoped[at:], *rest))))
                who = []
            self._fill(part, ranks, begin=part.kind == "memory")
            after = scoped[at + 1] if at + 1 < len(scoped) else None
            done = after is None or self.vault.layout.scope_of(after.note.path) != scope
            if scope and done and any(why == NO_ROOM for *_, why in self.gone):
                self.packing.close()  # what is worth less must not have the room that the project lacks
        if first:
            self._give_playbooks()
            self._found_first([*rest, *facts_parts])
        for part in rest:
            self._hold(self.vault.layout.scope_of(part.note.path) if part.kind == "unapproved" else "")
            self._fill(part, ranks, begin=part.kind != "unapproved")
        if self.kept is not None:
            self._hold("")
            self._fill_beside(beside, ranks)
            self.packing.limit(self.kept)  # what is loaded is in; what it left of its share stays free
            self._give_playbooks()
        for part in (*self.touched, *facts_parts, *beside_touched):
            self._fill(part, {})
        self.gone += [(path, number, number, why) for (path, number), why in self._recall().items()]
        if self.kept is None:
            self._fill_beside(beside, ranks)
        for part in self.parts:
            if part.whole:
                self._unused_headings(part.note)

    def _fill_beside(self, parts: Sequence[_Part], ranks: Mapping[tuple[str, int], int]) -> None:
        """What shared vaults load always: each note its share of the room, no long one pushes another out."""
        held = self.packing.reserved
        for at, part in enumerate(parts):
            room = self.packing.room
            self.packing.reserved = held + room - room // (len(parts) - at)
            self._fill(part, ranks, begin=not part.note.whole_items)
            self.packing.reserved = held

    def _give_playbooks(self) -> None:
        """Take in the best playbook whole, if it needs no more than half of the room, and name the others."""
        for book, whole, kind in self.books:
            if whole is not None and not self.packing.add(kind, whole, self.packing.room // 2):
                self.named.append(packing.NamedPlaybook(book.path, book.title, whole=True, approved=book.approved))
                if not book.approved:
                    self.notices.append(f"{book.path}: a playbook, not approved here, is shown with the data")
                continue
            title = next((at for at, row in enumerate(self.notes[book.path], 1) if row.startswith("# ")), 1)
            text = packing.shown(f"- {veiled(book.named.encode('utf-8', 'replace')).decode('utf-8', 'replace')}")
            if not self.packing.add("playbooks", Portion(book.path, title, [text])):
                self.named.append(packing.NamedPlaybook(book.path, book.title, whole=False, approved=book.approved))

    def _scoped(self, *, rules_first: bool) -> list[_Part]:
        """Approved rules and memory: the project's before the vault's; or all rules before all memory."""
        found = [part for part in self.parts if part.kind in ("procedural", "memory")]
        return sorted(found, key=lambda part: part.kind != "procedural") if rules_first else found

    def _found_first(self, to_come: Sequence[_Part]) -> None:
        """What the question finds, up to half of the room, and to more if what is to come needs less than the rest.

        What answers best goes in before all, as long as there is room for it at all.
        """
        need = sum(_size(part) for part in to_come)
        if best := next((place for place in self.order if place in self.found and place not in self.settled), None):
            self.talk_left = self.packing.room
            self.automated_left = self.talk_left if best[0] in self.said.automated else 0
            self._recall_line(*best)
        self.packing.reserved = min(self.packing.room // 2, need)
        for part in self.touched:
            self._fill(part, {}, again=True)
        self._recall()
        self.packing.reserved = 0

    def _who_first(self, parts: Sequence[_Part], ranks: Mapping[tuple[str, int], int], need: int) -> None:
        """What the notes say of who somebody is, each its share of half of the room: no long note pushes another out.

        Where the project is a person, and has such a note, it goes before the project's memory, too.

        Args:
            parts: of those notes.
            ranks: of the lines that answer.
            need: characters of all that is to come; if there is room for them, nothing long needs to be cut.
        """
        held, room = self.packing.reserved, self.packing.room
        begin = need > room
        for at, part in enumerate(parts):
            left = self.packing.room - room // 2
            self.packing.reserved = held + room // 2 + left - left // (len(parts) - at)
            self._fill(part, ranks, again=True, begin=begin)
            self.packing.reserved = held

    def _in_project(self, part: _Part) -> bool:
        return bool(self.vault.layout.scope_of(part.note.path))

    def _hold(self, scope: str) -> None:
        """Leave what is recalled its share, unless it is the project's turn."""
        self.packing.reserved = 0 if scope or self.kept is None else self.kept

    def _fill(
        self, part: _Part, ranks: Mapping[tuple[str, int], int], *, again: bool = False, begin: bool = False
    ) -> None:
        """Take in units of a note, those that answer first, as far as cap and budget go.

        Args:
            part: of the note.
            ranks: of the lines that answer.
            again: what finds no room now is tried again later.
            begin: of what finds no room the beginning is taken in all the same, if it is long.
        """
        whole = self.kept is not None and self.vault.layout.scope_of(part.note.path)
        left = packing.characters(self.budget) if whole else self.file_cap
        most = len(ranks)
        ordered = part.units
        if ranks:
            ordered = sorted(part.units, key=lambda unit: min(ranks.get(place, most) for place in _places(unit)))
        for unit in ordered:
            size = sum(len(text) + 1 for text in unit.texts)
            if self.packing.holds(unit.path, unit.start_line):
                left -= size
                continue
            why = BEYOND_CAP if size > left else self._add(part.kind, unit)
            if not why:
                left -= size
                continue
            if begin and why in (NO_ROOM, BEYOND_CAP) and size > LONG and unit.says:
                left -= self._begin(part.kind, unit, min(left, self.packing.room), last=unit is ordered[-1])
            if why == BEYOND_CAP:
                self.gone.append((unit.path, unit.start_line, unit.end_line, BEYOND_CAP))
            elif not again and why != packing.LOADED:
                self.leave_out(unit.path, unit.start_line, unit.end_line, why)

    def _begin(self, kind: str, unit: Portion, room: int, *, last: bool) -> int:
        """Take in the beginning of a long unit: whole lines, and of the next one whole sentences; how much it is.

        What still follows in its note keeps half of the room.
        """
        left = (
            (room if last else room // 2) - LABELS - sum(len(text) + 1 for each in unit.headings for text in each.texts)
        )
        texts: list[str] = []
        for text in unit.texts:
            if len(text) + 1 > left:
                _, stop = next(index.chunking.pieces(text, Cut(max(left - 3, 1), 0)))
                texts.append(f"{text[:stop].rstrip()} …")
                break
            texts.append(text)
            left -= len(text) + 1
        size = sum(len(text) + 1 for text in texts)
        told = size > BEGUN and not self._add(kind, Portion(unit.path, unit.start_line, texts, (), unit.headings))
        return size if told else 0

    def _add(self, kind: str, unit: Portion) -> str:
        """Take a unit in, after the sentence that has to stand beside it; returns why it is not in."""
        sentence = self.told.get((unit.path, unit.start_line))
        why = self.packing.add(packing.CONFLICTS, sentence) if sentence is not None else ""
        return why or self.packing.add(kind, unit)

    def _recall(self) -> dict[tuple[str, int], str]:
        """Take in the lines that answer, and in long notes those around them.

        Returns:
            By place why one that answers is not in.
        """
        refused: dict[tuple[str, int], str] = {}
        self.talk_left = self.packing.room // 2
        share = int((self.said_so_far + self.talk_left) * AUTOMATED_SHARE) - self.automated_so_far
        waiting = [place for place in self.order if place[0] in self.said.automated and not self.packing.holds(*place)]
        need = sum(len(self.notes[path][number - 1]) + 1 for path, number in waiting)
        self.automated_left = max(0, min(share, need))
        for path, number in self.order:
            if (path, number) in self.settled or self.packing.holds(path, number):
                continue
            why = self._recall_line(path, number)
            if why and (path, number) in self.found:
                refused[path, number] = why
        for place in self.order:
            # A heading whose lines had no room.
            if place in self.found and place not in refused and place not in self.settled:
                path, number = place
                if self.notes[path][number - 1].strip() and not self.packing.holds(path, number):
                    refused[place] = loaded.ALONE
        return refused

    def _recall_said(self, path: str, number: int) -> str:
        """Take in a line of a conversation, after the newest that covers the same; all get half of the room at most."""
        newer = self.said.newer.get((path, number))
        known = newer is None or newer[0] not in self.notes or self.packing.holds(*newer)
        if newer is not None and not known and (newer in self.settled or self._recall_line(*newer)):
            return "a newer line covers the same, and has no room"
        text = packing.shown(self.notes[path][number - 1])
        automated = path in self.said.automated
        if len(text) > (self.automated_left if automated else self.talk_left - self.automated_left):
            return NO_ROOM
        why = self.packing.add("recalled", Portion(path, number, [text], {key(text)}))
        if not why:
            self.talk_left -= len(text) + 1
            self.said_so_far += len(text) + 1
            self.automated_left -= len(text) + 1 if automated else 0
            self.automated_so_far += len(text) + 1 if automated else 0
        return why

    def _recall_line(self, path: str, number: int) -> str:
        if path in self.said.shared and (path, number) in self.loaded:
            kind, unit = self.loaded[path, number]
            return self._add(*next((self.says[words] for words in unit.says if words in self.says), (kind, unit)))
        if path in self.said:
            return self._recall_said(path, number) if self.notes[path][number - 1] else ""
        if path not in self.bodies:
            self.bodies[path] = _body(self.notes[path])
        body = self.bodies[path]
        raw = self.notes[path][number - 1]
        if len(raw) >= self.packing.room:
            return NO_ROOM  # before anything is made of it: most lines end here
        if (path, number) in self.loaded:
            return self._add(*self.loaded[path, number])
        if any(part.whole and part.note.path == path for part in self.parts):
            return ""  # a heading: lines of its bring it along
        if number < body:
            return loaded.FRONT_MATTER
        why = dismissed(raw)
        if why and (why != loaded.EXPIRED or self.on is not None):
            return why
        text = packing.shown(raw)
        if not text.strip():
            return loaded.COMMENT
        says = {key(raw), key(text)}
        known = {*says, *map("^{}".format, candidates_of(raw))}
        for kind, unit in (self.says[words] for words in known if words in self.says):
            why = self._add(kind, unit)
            return why if why not in ("", packing.LOADED) else f"says the same as {unit.path}:{unit.start_line}"
        if says & self.was:
            return loaded.REPLACED
        return self.packing.add("recalled", Portion(path, number, [text], says))

    # --- the result

    def done(self) -> Context:
        """The prompt: a mark is drawn that no text holds, and everything is counted."""
        runs = self.packing.runs()
        drawn = packing.mark(text for run in runs for text in (run.path, *run.texts))
        shared = self.said.shared
        called = {**self.called, **{path: f"{name}: {inside}" for path, (name, inside) in shared.items()}}
        beside = any(run.path in shared for run in runs)
        text, sizes = packing.render(runs, drawn, called, precedence=self.packing.precedence, shared=beside)
        blocks: list[PromptBlock] = []
        at = len(text) - sum(sizes)
        for run, size in zip(runs, sizes, strict=True):
            cost = tokens(at + size) - tokens(at)  # rounded so that the blocks add up
            vault = shared[run.path][0] if run.path in shared else ""
            lines = "\n".join(run.texts)
            blocks.append(PromptBlock(run.kind, run.path, run.start_line, run.end_line, lines, cost, vault))
            at += size
        self._list_dropped()
        used, dropped = tokens(len(text)), self.packing.dropped
        return Context(self.budget, used, text, blocks, dropped, self.named, self.notices)

    def _list_dropped(self) -> None:
        """Each line that was left out once, with the first reason; what came in after all is not listed."""
        whys: dict[tuple[str, int], str] = {}
        for path, first, last, why in self.gone:
            for number in range(first, last + 1):
                if self.notes[path][number - 1].strip() and not self.packing.holds(path, number):
                    whys.setdefault((path, number), why)
        order = {path: index for index, path in enumerate(self.notes)}
        for path, number in sorted(whys, key=lambda place: (order[place[0]], place[1])):
            self.packing.drop(path, number, number, whys[path, number])

    def _unused_headings(self, note: Loaded) -> None:
        """Headings that no line of theirs brought along."""
        for heading in note.headings:
            if not self.packing.holds(heading.path, heading.start_line):
                self.leave_out(heading.path, heading.start_line, heading.end_line, loaded.ALONE)


def _whole(note: Loaded) -> Portion | None:
    """All that a note says, its headings too, as one portion; None if it says nothing."""
    lines = {
        number: text
        for unit in (*note.headings, *note.units)
        for number, text in enumerate(unit.texts, unit.start_line)
    }
    if not lines:
        return None
    first, last = min(lines), max(lines)
    return Portion(note.path, first, [lines.get(number, "") for number in range(first, last + 1)])


def _places(unit: Portion) -> Iterable[tuple[str, int]]:
    return ((unit.path, number) for number in range(unit.start_line, unit.end_line + 1))


def _size(part: _Part) -> int:
    """Characters that a part takes at most, about."""
    units = {unit.start_line: unit for each in part.units for unit in (*each.headings, each)}
    return LABELS * bool(units) + sum(len(text) + 1 for unit in units.values() for text in unit.texts)


def _body(lines: list[str]) -> int:
    """The first line after the front matter."""
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], 2):
            if line.rstrip() == "---":
                return number + 1
    return 1


def _plain(question: str) -> str:
    """The question without what search takes for operators: a prompt is not a query."""
    text = re.sub(rf"\b({'|'.join(query.FIELDS)}):", r"\1 ", question)
    return re.sub(r"(?<!\S)-+(?=\S)", " ", text.replace('"', " "))


def _check(request: ContextRequest, projects: str) -> None:
    days, project = request.days, request.project
    for name, value in (("budget", request.budget), ("days", days), ("file cap", request.file_cap)):
        if value < 0:
            raise UsageError(f"the {name} is {value}", "give a number that is not below zero")
    if days > MOST_DAYS:
        raise UsageError(f"{counted(days, 'day')} of daily notes: too many", f"at most {MOST_DAYS}")
    if project and (project in (".", "..") or "/" in project or "\\" in project or "\0" in project):
        raise UsageError(f"{project!r} is not a project", f"name the folder below {projects}/")


# --- what structure alone says of lines that can't both hold: facts of one subject and single-valued predicate, and
# dated decisions of one note
#
# Nothing is concluded from the words of two lines, and nothing is left out: of facts both are told, and beside them a
# sentence that says which one holds; how to read all other disagreement one fixed sentence says: `fence.preface`.


QUOTED = 160
"""Characters of a fact that a sentence repeats; the fact itself stands in the prompt."""

_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


def newest_first(note: Loaded) -> list[Portion]:
    """The units of a note in the order in which room is given to them: of its decisions the newest first."""
    days = {at: _decided(note, unit) for at, unit in enumerate(note.units) if _under_decisions(unit)}
    found = [*note.units]
    for at, newest in zip(days, sorted(days, key=lambda at: days[at], reverse=True), strict=True):
        found[at] = note.units[newest]
    return found


def weighs(note: Loaded) -> bool:
    """Whether the note holds decisions of several days, of which the newest holds."""
    days = (_decided(note, unit) for unit in note.units if _under_decisions(unit))
    return len({day for day in days if day}) > 1


class Facts:
    """The facts of the notes so far, of which one value holds at a time, and how the next note's stand to them.

    Args:
        predicates: a subject has one value of some at a time; only these can stand against each other.
        me: the subjects that mean the user.
    """

    def __init__(self, predicates: Predicates, me: Iterable[str]) -> None:
        self._predicates = predicates
        self._me = {folded(name) for name in me}
        self._held: dict[tuple[str, str], Fact] = {}
        self._picked: set[tuple[str, str]] = set()

    def told(self, holding: Sequence[Fact], picked: list[Fact]) -> tuple[list[Fact], dict[tuple[str, int], Portion]]:
        """The facts of one note to be told, and by its place each that gives way, with the sentence that says so.

        Args:
            holding: those of the note that hold, of the project's note first.
            picked: those of the note that belong into the prompt.
        """
        sentences: dict[tuple[str, int], Portion] = {}
        newest: dict[tuple[str, str], Fact] = {}
        single = [fact for fact in holding if self._predicates.replaces(fact.predicate)]
        for fact in sorted(single, key=lambda fact: (str(fact.since or ""), fact.line), reverse=True):
            about = self._about(fact)
            mine = self._held.get(about)
            other = mine or newest.setdefault(about, fact)
            if folded(other.object) == folded(fact.object):
                continue
            if mine is not None:
                text = f"The project says {_said(mine)}, outside projects {_said(fact)}: the project's holds here."
            else:
                holds = "the newer one does" if other.since != fact.since else "no date says which one does"
                text = f"Of {_said(other)} and {_said(fact)} only one can hold: {holds}."
            sentences[fact.path, fact.line] = Portion(fact.path, fact.line, [f"- {text}"])
        told = {self._about(fact) for fact in picked} | self._picked
        known = {fact.line for fact in picked}
        more = [fact for fact in single if (fact.path, fact.line) in sentences and fact.line not in known]
        more = [fact for fact in more if self._about(fact) in told]
        self._held |= newest
        self._picked = told
        return [*picked, *more], sentences

    def _about(self, fact: Fact) -> tuple[str, str]:
        subject = folded(fact.subject)
        return "" if subject in self._me else subject, predicate_key(fact.predicate)


def _under_decisions(unit: Portion) -> bool:
    heading = unit.headings[-1].texts if unit.headings else []
    wanted = entries.DECISIONS.casefold()
    if not heading or wanted not in heading[0].casefold():
        return False  # spares the reading of most headings
    return plain_heading(heading[0].lstrip("# ")).casefold() == wanted


def _decided(note: Loaded, unit: Portion) -> str:
    """When a decision was made: its instant, the day that it begins with, or that of the line it came from."""
    text = " ".join(each.strip() for each in note.lines[unit.start_line - 1 : unit.end_line])
    parts = entries.parse(unmarked(text), timed=True)
    day = _DAY.match(parts.text) or _DAY.search(f"{parts.label or ''} {parts.provenance or ''}")
    return entries.instant(parts.time or "") or (day[0] if day else "")


def _said(fact: Fact) -> str:
    text = packing.shown(f"{fact.subject} {fact.predicate}: {fact.object}").strip().lstrip("\\")
    text = text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"
    return f"“{text}”{f' (since {fact.since})' if fact.since else ''}"
