"""``context``: collect what a model should know before it answers, and pack it for a prompt under a token budget.

The budget is filled in this order, so that the last items are the first to be left out when room runs out: approved
rules; the playbook that fits the question, up to half of the room that is left, and the names of other playbooks; lines
that the question finds, up to half of the room that is left; Memory.md of the project; User.md and the other notes that
say who somebody is, up to half of the room that is left; Memory.md of the vault (if it does not fit, its lines that
answer first), other rules, the rest of User.md, daily notes, facts, the other lines that the question finds, and last,
as data, Memory.md and Procedural.md of shared vaults.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import index
from tars_memory.errors import TarsError, UsageError, counted, shortened
from tars_memory.recall import loaded, names, packing, query
from tars_memory.recall.loaded import Loaded, Reading
from tars_memory.recall.packing import NO_ROOM, Context, Packing, Portion, PromptBlock, tokens
from tars_memory.settings import ContextOptions, Cut, FactsOptions
from tars_memory.vault.layout import Layout
from tars_memory.vault.markdown import entries, facts, lines as grammar
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded, predicate_key
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.secrets import veiled
from tars_memory.vault.vault import Vault, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from tars_memory.recall.search import Answer
    from tars_memory.vault.playbooks import Playbook


__all__ = ["Context", "PromptBlock", "context"]

BUDGET = 2000
"""Default number of tokens: 8,000 characters; Claude Code takes 10,000 from a hook."""
MOST_DAYS = 366
"""Maximum number of daily notes."""

AUTOMATED_SHARE = 0.2
"""Share of the room for conversations that is for those in which nobody typed, as in istota; others may use the rest.
"""

BEYOND_CAP = "beyond the file cap"
FADED = "a playbook that has not been used for long"
MOST_PLAYBOOKS = 5
"""Maximum number of playbooks in a prompt: as many as can be read at a glance."""
LONG_UNIT = 1_000
"""Characters above which the beginning of a paragraph or a bullet is shown if there is no room for all of it. A shorter
one is shown whole or not at all, because half a sentence is a different sentence."""
SHORTEST_BEGINNING = 80
"""Number of characters below which the beginning of a long unit is not worth showing: about a sentence."""
LABEL_CHARACTERS = 120
"""Estimate of the characters of tags and places around the lines of a note."""


class Playbooks(NamedTuple):
    """The playbooks that a prompt may show.

    Attributes:
        shelf: all playbooks.
        days: number of days without use after which a playbook is no longer shown; 0 for never.
        fitting: returns the paths of those that answer a query, best first; called at most once, after ``answers``.
        is_approved: tells whether a person approved one with the bytes that it has now.
    """

    shelf: Sequence[Playbook] = ()
    days: int = 0
    fitting: Callable[[query.Query], list[str]] = lambda _: []
    is_approved: loaded.ApprovalCheck = lambda _path, _data: False


class ContextRequest(NamedTuple):
    """The options of a context.

    Attributes:
        question: in plain words: the operators of search are text here; '' recalls nothing.
        budget: maximum number of tokens.
        days: number of daily notes: 1 for today's; if more, the last that exist.
        file_cap: maximum number of characters of one always-loaded note.
        most_facts: maximum number of facts, unless there are more about the user.
        project: whose notes may be used too; those of other projects never are.
        loaded: False for what the question finds only.
        expired: whether to include lines that have ended and facts that do not hold.
        recall: tokens of the budget that are reserved for facts and recalled lines; only rules and memory of the
            project, which go first, may use them too. None: facts and recalled lines get what is left over.
        as_of: the day on which facts and lines have to hold; None: today.
        facts: how predicates behave over time, and who the user is.
        agent: whose own notes may be shown, as data; those of other agents never are.
        playbooks: those that may be shown.
        shared: the shared vaults.
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
    playbooks: Playbooks = Playbooks()
    shared: Sequence[loaded.SharedSource] = ()

    def held_on(self, now: datetime) -> date | None:
        """Return the day on which the lines of the prompt must hold; None to include lines that have ended."""
        return None if self.expired else self.as_of or now.date()


def context(
    vault: Vault,
    request: ContextRequest,
    *,
    now: datetime,
    typed: Callable[[str], frozenset[bytes]],
    answers: Callable[[query.Query], list[Answer]],
    decided: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {},
    selection: names.Selection | None = None,
    conversations: loaded.Conversations | None = None,
) -> Context:
    """Pack what a model should know.

    Args:
        vault: to read from; nothing is written.
        request: what is asked.
        now: the day whose note is loaded, and on which lines have to hold unless the request names another.
        typed: returns the lines of a note that a person typed, by its path
            (:func:`tars_memory.vault.writing.history.typed_lines`).
        answers: returns the lines that answer a query, best first; called at most once.
        decided: returns, by block id, the states of those daily lines that must not be shown any more
            (:func:`tars_memory.recall.decided.outdated`): session notes repeat their text.
        selection: what facts and recalled lines are taken from; None: all.
        conversations: the lines of conversations; filled by ``answers``.

    Raises:
        UsageError: a number is below zero, there are too many days, or the name of the project is not valid.
    """
    _check(request, vault.layout.projects)
    filling = _Filling(vault, request, decided, request.held_on(now), selection)
    if conversations is not None:
        filling.conversations = conversations
    if request.loaded:
        filling.load(typed, now, request.days)
        filling.load_shared(request.shared)
    today = request.as_of or now.date()
    plain = query.SearchRequest(_without_operators(request.question), expired=request.expired, as_of=request.as_of)
    asked = query.parse(plain, now.date())
    asked.selection, filling.facts_on = selection, asked.facts_on
    filling.load_facts(request.question, today, request.facts or FactsOptions(), request.most_facts)
    filling.load_shared_facts(request, today)
    if asked.searches:
        filling.notices += asked.notices
        agents = ("", key_of(request.agent))
        found = [answer for answer in answers(asked) if key_of(vault.layout.agent_of(answer.path)) in agents]
        playbooks, today = request.playbooks, now.date()
        shown = {book.path: book for book in playbooks.shelf if request.expired or book.is_shown(today, playbooks.days)}
        faded = {book.path for book in playbooks.shelf} - shown.keys()
        filling.leave_out_playbooks(answer for answer in found if answer.path in faded)
        filling.rank([answer for answer in found if answer.path not in faded])
        if found and shown:
            fitting = [shown[path] for path in playbooks.fitting(asked) if path in shown]
            filling.load_playbooks(fitting, {answer.path for answer in found}, playbooks.is_approved)
    filling.fill()
    return filling.result()


class _Part:
    """The units of one note that one block may show.

    Attributes:
        kind: of the block.
        note: with the units.
        units: in the order in which they are added.
        whole: whether these are all units of the note; else they were picked from it.
    """

    def __init__(self, kind: str, note: Loaded, units: Iterable[Portion], *, whole: bool = True) -> None:
        self.kind = kind
        self.note = note
        self.units = list(units)
        self.whole = whole


class _Filling(Reading):
    """A prompt that is being filled: first everything is read, then the budget is spent on it."""

    def __init__(
        self,
        vault: Vault,
        request: ContextRequest,
        decided: Callable[[Sequence[str]], Mapping[str, str]],
        on: date | None,
        selection: names.Selection | None,
    ) -> None:
        super().__init__(vault, request.project or "", decided, on)
        self.budget = request.budget
        self.file_cap = request.file_cap
        self.loads = request.loaded
        self.selection = selection
        self.packing = Packing(request.budget, self.notes)
        self.packing.precedence = bool(request.project)
        self.packing.shared = bool(request.shared)
        self.recall_share = None if request.recall is None else packing.characters(request.recall)
        """Characters that are reserved for recalled lines; None if nothing is reserved."""
        self.parts: list[_Part] = []
        self.touched_facts: list[_Part] = []
        """The facts that the question touches."""
        self.loaded: dict[tuple[str, int], tuple[str, Portion]] = {}
        """By place the block and the unit, of a note that was read, that contains the line."""
        self.by_wording: dict[str, tuple[str, Portion]] = {}
        """By normalized text, and by block ids of the candidates it came from (``^id``), the block and the unit of an
        always-loaded note: the unit is shown in place of lines elsewhere that repeat it."""
        self.conflict_sentences: dict[tuple[str, int], Portion] = {}
        """By place of a fact the sentence about its conflict with another one: it must be added before the fact."""
        self.order: list[tuple[str, int]] = []
        """Places that the question finds and, in long notes, those around them, best first."""
        self.found: set[tuple[str, int]] = set()
        """Those of :attr:`order` that the question finds."""
        self.playbooks: list[tuple[Playbook, Portion | None, str]] = []
        """The playbooks that fit, best first: with all lines, if they may be shown, and the block."""
        self.shown_playbooks: list[packing.NamedPlaybook] = []
        """Those that were added."""
        self.conversation_characters = self.automated_characters = 0
        """Characters that lines of conversations have taken, and those of them that are from automated ones."""
        self.conversation_room = self.automated_room = 0
        """Characters that lines of conversations may still take, and those of them that are for automated ones."""

    # --- reading

    def load(self, typed: Callable[[str], frozenset[bytes]], now: datetime, days: int) -> None:
        """Read rules, memory, the notes about the user, and the last daily notes with their newest lines first."""
        layout = self.vault.layout
        others: list[_Part] = []
        for scope in self.scopes():
            for note in self.read([layout.procedural_of(scope)], whole_items=True):
                approved, rest = loaded.by_approval(note, self.typed_in(typed, note.path))
                self._load("procedural", note, approved)
                others.append(_Part("unapproved", note, rest))
            for note in self.read([layout.memory_of(scope)]):
                self.packing.precedence |= has_decisions_of_several_days(note)
                self._load("memory", note, newest_decision_first(note))
        for part in others:
            self._load(part.kind, part.note, part.units)
            if rest := part.units:
                shown = "is shown" if len(rest) == 1 else "are shown"
                notice = f"{counted(len(rest), 'rule')}, not approved here, {shown} with the data"
                self.notices.append(f"{part.note.path}: {notice}")
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
        """Read the facts that the question touches and, beside the notes that are always loaded, those about the user;
        leave out those that have ended.

        Args:
            question: of the request.
            today: the day on which facts have to hold.
            options: how predicates behave over time, and who the user is.
            most: maximum number of facts, unless there are more about the user.
        """
        if self.selection is not None:
            question = " ".join((question, *self.selection.names))  # the names asked about are part of the question
        me, predicates = options.me, facts.Predicates.of(options)
        conflicts = FactConflicts(predicates, me)
        pick = partial(names.relevant, today=today, predicates=predicates, me=me, expired=self.on is None)
        for note in self.read([self.vault.layout.within(scope, Layout.facts) for scope in self.scopes()]):
            known = facts.read(note.path, note.document)
            picked = pick([fact for entry, fact in known if self._selects(note, entry)], question, most=most)
            most -= len(picked)
            picked, sentences = conflicts.add([fact for _, fact in known if fact.holds(today)], picked)
            self.conflict_sentences |= sentences
            units = {unit.start_line: unit for unit in note.units}
            self._leave_out_coming((fact for _, fact in known), units, today)
            for first_line, last_line, why in note.omitted:
                if why == loaded.ENDED:
                    self.leave_out(note.path, first_line, last_line, why)
            shown = [fact for fact in picked if fact.line in units]
            touched_lines = {fact.line for fact in names.touched(shown, question, me)}
            touched = [units[fact.line] for fact in shown if fact.line in touched_lines]
            others = [units[fact.line] for fact in shown if fact.line not in touched_lines]
            self.touched_facts.append(_Part("facts", note, touched, whole=False))
            self.parts.append(_Part("facts", note, others if self.loads else (), whole=False))
            self._register("recalled", note.units)

    def load_shared(self, others: Sequence[loaded.SharedSource]) -> None:
        """Read the memory and the rules of shared vaults: data, whatever they say."""
        for other in others:
            layout = other.vault.layout
            for scope in self.scopes():
                for path in (layout.memory_of(scope), layout.procedural_of(scope)):
                    note = self.read_shared(other, path, whole_items=layout.tier_of(path) is Tier.PROCEDURAL)
                    if note is not None:
                        self._load(packing.SHARED, note, newest_decision_first(note))

    def load_shared_facts(self, request: ContextRequest, today: date) -> None:
        """Read the facts of shared vaults that the question touches: there, no subject is known to be the user."""
        predicates = facts.Predicates.of(request.facts or FactsOptions())
        pick = partial(names.relevant, today=today, predicates=predicates, me=(), expired=self.on is None)
        for other in request.shared:
            for scope in self.scopes():
                note = self.read_shared(other, other.vault.layout.within(scope, Layout.facts))
                if note is None:
                    continue
                units = {unit.start_line: unit for unit in note.units}
                known = [fact for _, fact in facts.read(note.path, note.document) if fact.line in units]
                picked = pick(known, request.question, most=request.most_facts)
                self._leave_out_coming(known, units, today)
                for first, last, why in note.omitted:
                    self.leave_out(note.path, first, last, why)
                chosen = [units[fact.line] for fact in picked] if self.selection is None else []
                self.parts.append(_Part(packing.SHARED, note, chosen, whole=False))
                self._register(packing.SHARED, note.units)

    def _leave_out_coming(self, known: Iterable[Fact], units: Mapping[int, Portion], today: date) -> None:
        """Leave out the facts that do not hold yet, unless the request includes them; ``units`` are those of their note
        that have not ended.
        """
        for fact in known:
            if self.on is not None and fact.line in units and fact.since is not None and fact.since > today:
                self.leave_out(fact.path, fact.line, units[fact.line].end_line, loaded.ENDED)

    def _selects(self, note: Loaded, entry: Entry) -> bool:
        """Whether a fact is about the names and topics of the selection."""
        if self.selection is None:
            return True
        document = note.document
        text = document.text(entry.line, entry.end_line)
        return self.selection.keeps(note.path, document.section_at(entry.line).path, text)

    def rank(self, found: list[Answer]) -> None:
        """Read the notes of the lines that answer, and sort the lines in the order in which they are packed."""
        if not found:
            self.notices.append(packing.NOTHING)
            return
        for path in dict.fromkeys(answer.path for answer in found):
            if path not in self.notes:
                self.read_for_recall(path)
        places = loaded.relocate(found, self.notes)
        self.found = set(places)
        apart = {part.note.path for part in self.parts}
        apart |= {path for path in self.notes if self.vault.layout.tier_of(path) in (Tier.SEMANTIC, Tier.PROCEDURAL)}
        for place in packing.by_worth(places, self.notes, apart):
            if place in self.found or (self.selection is None and not self._is_aside(*place)):
                self.order.append(place)

    def _is_aside(self, path: str, number: int) -> bool:
        """Whether a line adds nothing: it names the speaker of the line above, or repeats a turn."""
        session = self.vault.layout.tier_of(path) is Tier.EPISODIC
        kind = grammar.read([self.notes[path][number - 1]], session=session)[0].kind
        return kind in (grammar.MACHINERY, grammar.REPEATED)

    def leave_out_playbooks(self, found: Iterable[Answer]) -> None:
        """Leave out lines of playbooks that were not used for long."""
        for answer in found:
            if answer.path not in self.notes:
                self.read_for_recall(answer.path)
            if 0 < answer.number <= len(self.notes.get(answer.path, ())):
                self.leave_out(answer.path, answer.number, answer.number, FADED)

    def load_playbooks(self, books: Sequence[Playbook], best: Collection[str], check: loaded.ApprovalCheck) -> None:
        """Read the playbooks that fit the question: the first one to be shown whole, the others to be named.

        Args:
            books: best first.
            best: paths of the notes with lines that answer; only a playbook among them is shown whole.
            check: whether a playbook was approved.
        """
        for book in books[:MOST_PLAYBOOKS]:
            for note in self.read([book.path]):
                approved = self._is_approved(note, check)
                whole = _whole(note) if not self.playbooks and book.path in best else None
                kind = "procedural" if approved else "playbooks"
                self.playbooks.append((book._replace(approved=approved), whole, kind))

    def _is_approved(self, note: Loaded, check: loaded.ApprovalCheck) -> bool:
        """Whether a person approved a playbook that has not changed since it was read here."""
        try:
            data = self.vault.read(note.path)
            return veiled(data) == note.document.data and check(note.path, data)
        except TarsError as error:
            self.notices.append(error.message)
            return False

    def _load(self, kind: str, note: Loaded, units: Iterable[Portion]) -> None:
        """Add an always-loaded note to the parts, and record the lines of it that are in no unit."""
        part = _Part(kind, note, units)
        self.parts.append(part)
        self._register(kind, part.units)
        for first, last, why in note.omitted:
            self.leave_out(note.path, first, last, why)
        note.omitted = []

    def _register(self, kind: str, units: Iterable[Portion]) -> None:
        """Record by place and wording which units may be shown for lines that the question finds."""
        kind = (
            kind if self.recall_share is None else "recalled"
        )  # else the recalled lines' share would pay for the block
        for unit in units:
            self.loaded |= dict.fromkeys(_places(unit), (kind, unit))
            if kind != "recalled":
                first = self.notes[unit.path][unit.start_line - 1]
                wordings = {*unit.wordings, *map("^{}".format, grammar.candidates_of(first))}
                self.by_wording |= {words: (kind, unit) for words in wordings if words not in self.by_wording}

    # --- spending the budget

    def fill(self) -> None:
        """Add everything that there is room for, in the order that the module describes."""
        ranks, scope_of = {place: rank for rank, place in enumerate(self.order)}, self.vault.layout.scope_of
        found_first = bool(self.order or any(part.units for part in self.touched_facts)) and self.recall_share is None
        scoped = [part for part in self.parts if part.kind in ("procedural", "memory")]
        scoped.sort(key=lambda part: found_first and part.kind != "procedural")  # else the project before the vault
        facts_parts = [part for part in self.parts if part.kind == "facts"]
        rest = [part for part in self.parts if part.kind not in ("procedural", "memory", "facts", packing.SHARED)]
        shared = [part for part in self.parts if part.kind == packing.SHARED and part.whole]
        shared_facts = [part for part in self.parts if part.kind == packing.SHARED and not part.whole]
        user_parts = [part for part in rest if part.kind == "user"]
        for at, part in enumerate(scoped):
            if found_first and part.kind != "procedural":
                found_first = False
                self._add_playbooks()
                self._fill_found([*scoped[at:], *rest, *facts_parts])
            scope = scope_of(part.note.path)
            self._reserve_recall(scope)
            if part.kind == "memory" and (not scope or any(scope_of(part.note.path) for part in user_parts)):
                # In half of the room; if the project is a person and has such a note, even before the project's memory.
                room, need = self.packing.room, sum(map(_size, (*scoped[at:], *rest)))
                self._fill_shares(user_parts, ranks, room // 2, retried=True, beginnings=need > room)
                user_parts = []
            self._fill_part(part, ranks, beginnings=part.kind == "memory")
            after = scoped[at + 1] if at + 1 < len(scoped) else None
            done = after is None or scope_of(after.note.path) != scope
            if scope and done and any(why == NO_ROOM for *_, why in self.left_out):
                self.packing.close()  # lines that are worth less must not get the room that the project lacks
        if found_first:
            self._add_playbooks()
            self._fill_found([*rest, *facts_parts])
        for part in rest:
            self._reserve_recall(scope_of(part.note.path) if part.kind == "unapproved" else "")
            self._fill_part(part, ranks, beginnings=part.kind != "unapproved")
        if self.recall_share is not None:
            self._reserve_recall("")
            self._fill_shares(shared, ranks)
            self.packing.limit(self.recall_share)  # the loaded notes are in; what they left of their share stays free
            self._add_playbooks()
        for part in (*self.touched_facts, *facts_parts, *shared_facts):
            self._fill_part(part, {})
        self.left_out += [(path, number, number, why) for (path, number), why in self._recall().items()]
        if self.recall_share is None:
            self._fill_shares(shared, ranks)
        headings = (heading for part in self.parts if part.whole for heading in part.note.headings)
        for heading in headings:  # headings that were not added with a line below them
            if not self.packing.holds(heading.path, heading.start_line):
                self.leave_out(heading.path, heading.start_line, heading.end_line, loaded.ALONE)

    def _fill_shares(
        self,
        parts: Sequence[_Part],
        ranks: Mapping[tuple[str, int], int],
        kept: int = 0,
        *,
        retried: bool = False,
        beginnings: bool = True,
    ) -> None:
        """Add notes; each gets its share of the room, so that a long one can't push another out.

        Args:
            parts: of the notes.
            ranks: of the lines that answer.
            kept: characters of the room that stay free.
            retried: see :meth:`_fill_part`.
            beginnings: likewise; of notes of rules no beginnings are added.
        """
        reserved = self.packing.reserved
        for at, part in enumerate(parts):
            left = self.packing.room - kept
            self.packing.reserved = reserved + kept + left - left // (len(parts) - at)
            self._fill_part(part, ranks, retried=retried, beginnings=beginnings and not part.note.whole_items)
            self.packing.reserved = reserved

    def _add_playbooks(self) -> None:
        """Add the best playbook whole, if it needs at most half of the room, and name the others."""
        for book, whole, kind in self.playbooks:
            is_whole = whole is not None and not self.packing.add(kind, whole, self.packing.room // 2)
            if not is_whole:
                title = next((at for at, row in enumerate(self.notes[book.path], 1) if row.startswith("# ")), 1)
                text = packing.shown(f"- {veiled(book.named.encode('utf-8', 'replace')).decode('utf-8', 'replace')}")
                if self.packing.add("playbooks", Portion(book.path, title, [text])):
                    continue
            elif not book.approved:
                self.notices.append(f"{book.path}: a playbook, not approved here, is shown with the data")
            self.shown_playbooks.append(packing.NamedPlaybook(book.path, book.title, is_whole, book.approved))

    def _fill_found(self, later: Sequence[_Part]) -> None:
        """Add what the question finds, in half of the room, or more if the later parts need less than the other half.

        The best line is added first if it fits into the room at all.
        """
        need = sum(_size(part) for part in later)
        if best := next((place for place in self.order if place in self.found and place not in self.withheld), None):
            self.conversation_room = self.packing.room
            self.automated_room = self.conversation_room if best[0] in self.conversations.automated else 0
            self._recall_line(*best)
        self.packing.reserved = min(self.packing.room // 2, need)
        for part in self.touched_facts:
            self._fill_part(part, {}, retried=True)
        self._recall()
        self.packing.reserved = 0

    def _reserve_recall(self, scope: str) -> None:
        """Reserve the recalled lines' share of the budget, unless notes of a project, the scope, are added."""
        self.packing.reserved = 0 if scope or self.recall_share is None else self.recall_share

    def _fill_part(
        self, part: _Part, ranks: Mapping[tuple[str, int], int], *, retried: bool = False, beginnings: bool = False
    ) -> None:
        """Add units of a note, those that answer first, as far as file cap and budget allow.

        Args:
            part: of the note.
            ranks: of the lines that answer.
            retried: whether units for which there is no room are tried again later.
            beginnings: whether to add the beginnings of long units for which there is no room.
        """
        uncapped = self.recall_share is not None and self.vault.layout.scope_of(part.note.path)
        left = packing.characters(self.budget) if uncapped else self.file_cap
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
            if beginnings and why in (NO_ROOM, BEYOND_CAP) and size > LONG_UNIT and unit.wordings:
                left -= self._add_beginning(part.kind, unit, min(left, self.packing.room), last=unit is ordered[-1])
            if why == BEYOND_CAP:
                self.left_out.append((unit.path, unit.start_line, unit.end_line, BEYOND_CAP))
            elif not retried and why != packing.LOADED:
                self.leave_out(unit.path, unit.start_line, unit.end_line, why)

    def _add_beginning(self, kind: str, unit: Portion, room: int, *, last: bool) -> int:
        """Add the beginning of a long unit: whole lines, and whole sentences of the first line that does not fit.

        Args:
            kind: of the block.
            unit: that is too long.
            room: maximum number of characters; half of them stay free unless the unit is the last one.
            last: whether the unit is the last one of its note.

        Returns:
            The number of characters that were added.
        """
        headings = sum(len(text) + 1 for heading in unit.headings for text in heading.texts)
        left = (room if last else room // 2) - LABEL_CHARACTERS - headings
        texts: list[str] = []
        for text in unit.texts:
            if len(text) + 1 > left:
                _, stop = next(index.chunking.pieces(text, Cut(max(left - 3, 1), 0)))
                texts.append(f"{text[:stop].rstrip()} …")
                break
            texts.append(text)
            left -= len(text) + 1
        size = sum(len(text) + 1 for text in texts)
        beginning = Portion(unit.path, unit.start_line, texts, (), unit.headings)
        return size if size > SHORTEST_BEGINNING and not self._add(kind, beginning) else 0

    def _add(self, kind: str, unit: Portion) -> str:
        """Add a unit after the sentence about its conflict, if there is one; return why it could not be added."""
        sentence = self.conflict_sentences.get((unit.path, unit.start_line))
        why = self.packing.add(packing.CONFLICTS, sentence) if sentence is not None else ""
        return why or self.packing.add(kind, unit)

    def _recall(self) -> dict[tuple[str, int], str]:
        """Add the lines that answer and, in long notes, those around them.

        Returns:
            By place the reasons why lines that answer were not added.
        """
        refused: dict[tuple[str, int], str] = {}
        self.conversation_room = self.packing.room // 2
        spent_or_free = self.conversation_characters + self.conversation_room
        share = int(spent_or_free * AUTOMATED_SHARE) - self.automated_characters
        automated = self.conversations.automated
        waiting = [place for place in self.order if place[0] in automated and not self.packing.holds(*place)]
        need = sum(len(self.notes[path][number - 1]) + 1 for path, number in waiting)
        self.automated_room = max(0, min(share, need))
        for path, number in self.order:
            if (path, number) in self.withheld or self.packing.holds(path, number):
                continue
            why = self._recall_line(path, number)
            if why and (path, number) in self.found:
                refused[path, number] = why
        for place in self.order:
            # A heading whose lines had no room.
            if place in self.found and place not in refused and place not in self.withheld:
                path, number = place
                if self.notes[path][number - 1].strip() and not self.packing.holds(path, number):
                    refused[place] = loaded.ALONE
        return refused

    def _recall_said(self, path: str, number: int) -> str:
        """Add a line of a conversation, after the newest line that contains its words; return why it is not added.

        All such lines get at most half of the room.
        """
        newer = self.conversations.newer.get((path, number))
        known = newer is None or newer[0] not in self.notes or self.packing.holds(*newer)
        if newer is not None and not known and (newer in self.withheld or self._recall_line(*newer)):
            return "a newer line says the same, and doesn't fit"
        text = packing.shown(self.notes[path][number - 1])
        automated = path in self.conversations.automated
        if len(text) > (self.automated_room if automated else self.conversation_room - self.automated_room):
            return NO_ROOM
        wordings = {loaded.normalized(text), loaded.normalized(self.conversations.words.get((path, number), ""))}
        why = self._add_loaded(sorted(wordings))
        if why:
            return why
        why = self.packing.add("recalled", Portion(path, number, [text], wordings))
        if not why:
            size = len(text) + 1
            self.conversation_room -= size
            self.conversation_characters += size
            self.automated_room -= size if automated else 0
            self.automated_characters += size if automated else 0
        return why

    def _recall_line(self, path: str, number: int) -> str:
        """Add a line that the question finds, or the unit that it is in or repeats; return why it is not added."""
        if path in self.conversations.shared and (path, number) in self.loaded:
            kind, unit = self.loaded[path, number]
            repeated = (self.by_wording[words] for words in sorted(unit.wordings) if words in self.by_wording)
            return self._add(*next(repeated, (kind, unit)))
        if path in self.conversations:
            return self._recall_said(path, number) if self.notes[path][number - 1] else ""
        raw = self.notes[path][number - 1]
        if len(raw) >= self.packing.room:
            return NO_ROOM  # before any work is done: most lines end here
        if (path, number) in self.loaded:
            return self._add(*self.loaded[path, number])
        if any(part.whole and part.note.path == path for part in self.parts):
            return ""  # a heading: it is added with the lines below it
        why = loaded.dismissed(raw)
        if why and (why != loaded.EXPIRED or self.on is not None):
            return why
        text = packing.shown(raw)
        if not text.strip():
            return loaded.COMMENT
        wordings = {loaded.normalized(raw), loaded.normalized(text), loaded.normalized(grammar.said_in(raw))}
        known = (
            *sorted(wordings),
            *sorted(map("^{}".format, grammar.candidates_of(raw))),
        )  # the same words before the same id
        why = self._add_loaded(known)
        if why:
            return why
        if wordings & self.replaced:
            return loaded.REPLACED
        return self.packing.add("recalled", Portion(path, number, [text], wordings))

    def _add_loaded(self, wordings: Iterable[str]) -> str:
        """Add, instead of a line, the loaded unit that has the first known of its wordings; return why the line is not
        added then, '' if there is none.
        """
        for kind, unit in (self.by_wording[words] for words in wordings if words in self.by_wording):
            why = self._add(kind, unit)
            return why if why not in ("", packing.LOADED) else f"says the same as {unit.path}:{unit.start_line}"
        return ""

    # --- the result

    def result(self) -> Context:
        """Return the prompt, with a mark that occurs in none of its texts, and what its parts cost."""
        self.left_out += ((path, number, number, packing.HALF_FENCE) for path, number in self.packing.settle_fences())
        runs = self.packing.runs()
        drawn = packing.mark(text for run in runs for text in (run.path, *run.texts))
        shared = self.conversations.shared
        shown_names = {**self.names, **{path: f"{name}: {inside}" for path, (name, inside) in shared.items()}}
        any_shared = any(run.path in shared for run in runs)
        text, sizes = packing.render(runs, drawn, shown_names, precedence=self.packing.precedence, shared=any_shared)
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
        return Context(self.budget, used, text, blocks, dropped, self.shown_playbooks, self.notices)

    def _list_dropped(self) -> None:
        """List every line that was left out once, with the first reason, unless it was added after all."""
        whys: dict[tuple[str, int], str] = {}
        for path, first, last, why in self.left_out:
            for number in range(first, last + 1):
                if self.notes[path][number - 1].strip() and not self.packing.holds(path, number):
                    whys.setdefault((path, number), why)
        order = {path: index for index, path in enumerate(self.notes)}
        for path, number in sorted(whys, key=lambda place: (order[place[0]], place[1])):
            self.packing.drop(path, number, number, whys[path, number])


def _whole(note: Loaded) -> Portion | None:
    """Return all units and headings of a note as one portion; None if there are none."""
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
    """Return the path and number of every line of a unit."""
    return ((unit.path, number) for number in range(unit.start_line, unit.end_line + 1))


def _size(part: _Part) -> int:
    """Return about how many characters a part takes at most."""
    units = {portion.start_line: portion for unit in part.units for portion in (*unit.headings, unit)}
    return LABEL_CHARACTERS * bool(units) + sum(len(text) + 1 for unit in units.values() for text in unit.texts)


def _without_operators(question: str) -> str:
    """Return the question without what search would read as operators: a prompt is not a query."""
    text = re.sub(rf"\b({'|'.join(query.FIELDS)}):", r"\1 ", question)
    return re.sub(r"(?<!\S)-+(?=\S)", " ", text.replace('"', " "))


def _check(request: ContextRequest, projects: str) -> None:
    """Raise a UsageError for bad numbers or a bad name of a project; ``projects`` is the folder of projects."""
    days, project = request.days, request.project
    for name, value in (("budget", request.budget), ("days", days), ("file cap", request.file_cap)):
        if value < 0:
            raise UsageError(f"the {name} is {value}", "give a number that is not negative")
    if days > MOST_DAYS:
        raise UsageError(f"{counted(days, 'day')} of daily notes: too many", f"at most {MOST_DAYS}")
    if project and (project in (".", "..") or "/" in project or "\\" in project or "\0" in project):
        raise UsageError(f"{project!r} is not a project", f"name the folder below {projects}/")


# --- lines that, by their structure, can't both hold: facts of one subject and single-valued predicate, and dated
# decisions of one note
#
# Nothing is concluded from the words of two lines, and nothing is left out: both facts are shown, with a sentence that
# says which one holds; one fixed sentence (`packing.preface`) says how to read all other disagreement.


QUOTED = 160
"""Maximum number of characters of a fact that a sentence repeats; the prompt shows the fact itself too."""

_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


def newest_decision_first(note: Loaded) -> list[Portion]:
    """Return the units of a note in the order in which they are added: its order, but decisions newest first."""
    days = {at: _decision_day(note, unit) for at, unit in enumerate(note.units) if _is_decision(unit)}
    found = [*note.units]
    for at, newest in zip(days, sorted(days, key=lambda at: days[at], reverse=True), strict=True):
        found[at] = note.units[newest]
    return found


def has_decisions_of_several_days(note: Loaded) -> bool:
    """Whether a note holds decisions of different days, so that the newest takes precedence."""
    days = (_decision_day(note, unit) for unit in note.units if _is_decision(unit))
    return len({day for day in days if day}) > 1


class FactConflicts:
    """Facts that can't both hold: same subject, same single-valued predicate, another object.

    Args:
        predicates: says which of them are single-valued.
        me: the subjects that mean the user.
    """

    def __init__(self, predicates: Predicates, me: Iterable[str]) -> None:
        self._predicates = predicates
        self._me = {folded(name) for name in me}
        self._project_facts: dict[tuple[str, str], Fact] = {}
        self._picked: set[tuple[str, str]] = set()

    def add(self, holding: Sequence[Fact], picked: list[Fact]) -> tuple[list[Fact], dict[tuple[str, int], Portion]]:
        """Find the conflicts of the facts of one note with each other and with those of earlier notes.

        Args:
            holding: facts of the note that hold; the project's note comes first.
            picked: facts of the note that were picked for the prompt.

        Returns:
            The facts to show: those picked, and those that conflict with a picked one; and, by the place of each fact
            that gives way, a sentence that says so.
        """
        sentences: dict[tuple[str, int], Portion] = {}
        newest: dict[tuple[str, str], Fact] = {}
        single = [fact for fact in holding if self._predicates.replaces(fact.predicate)]
        for fact in sorted(single, key=lambda fact: (str(fact.since or ""), fact.line), reverse=True):
            key = self._key(fact)
            of_project = self._project_facts.get(key)
            other = of_project or newest.setdefault(key, fact)
            if folded(other.object) == folded(fact.object):
                continue
            if of_project is not None:
                text = (
                    f"The project says {_quoted(of_project)}, outside projects {_quoted(fact)}:"
                    " the project's holds here."
                )
            else:
                holds = "the newer one holds" if other.since != fact.since else "no date says which one holds"
                text = f"Of {_quoted(other)} and {_quoted(fact)} only one can hold: {holds}."
            sentences[fact.path, fact.line] = Portion(fact.path, fact.line, [f"- {text}"])
        self._picked |= {self._key(fact) for fact in picked}
        known = {fact.line for fact in picked}
        more = [fact for fact in single if (fact.path, fact.line) in sentences and fact.line not in known]
        more = [fact for fact in more if self._key(fact) in self._picked]
        self._project_facts |= newest
        return [*picked, *more], sentences

    def _key(self, fact: Fact) -> tuple[str, str]:
        """Return subject and predicate for comparison; the subject is '' for the user."""
        subject = folded(fact.subject)
        return "" if subject in self._me else subject, predicate_key(fact.predicate)


def _is_decision(unit: Portion) -> bool:
    """Whether a unit is in the section of decisions."""
    heading = unit.headings[-1].texts if unit.headings else []
    wanted = entries.DECISIONS.casefold()
    if not heading or wanted not in heading[0].casefold():
        return False  # most headings need not be parsed
    return plain_heading(heading[0].lstrip("# ")).casefold() == wanted


def _decision_day(note: Loaded, unit: Portion) -> str:
    """Return when a decision was made: its time, the day it begins with, or that of the line it came from; or ''."""
    text = " ".join(line.strip() for line in note.lines[unit.start_line - 1 : unit.end_line])
    parts = entries.parse(grammar.unmarked(text), timed=True)
    day = _DAY.match(parts.text) or _DAY.search(f"{parts.label or ''} {parts.provenance or ''}")
    return entries.instant(parts.time or "") or (day[0] if day else "")


def _quoted(fact: Fact) -> str:
    """Return a fact, cut to :data:`QUOTED` characters, in quotation marks."""
    text = packing.shown(f"{fact.subject} {fact.predicate}: {fact.object}").strip().lstrip("\\")
    return f"“{shortened(text, QUOTED)}”{f' (since {fact.since})' if fact.since else ''}"
