"""``context``: what a model should know before it answers, packed for a prompt under a token budget.

Filled in this order, so that what stands last here is given up first when room is short: approved rules, Memory.md
(a project's before the vault's), other rules, User.md, daily notes, facts that the question touches, recalled lines.
"""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError, counted
from tars_memory.options import FactsOptions
from tars_memory.recall import facts as about
from tars_memory.recall import query
from tars_memory.recall.packing import fence
from tars_memory.recall.packing.budget import characters, tokens
from tars_memory.recall.packing.conflicts import Conflicts
from tars_memory.recall.packing.loaded import COMMENT, ENDED, FRONT_MATTER, Loaded, dismissed, key
from tars_memory.recall.packing.packing import LOADED, NO_ROOM, Packing, Unit, by_worth
from tars_memory.recall.packing.prompt import Block, Context
from tars_memory.recall.packing.reading import Reading, within
from tars_memory.recall.packing.rules import by_approval
from tars_memory.recall.ranking.ranked import settled
from tars_memory.settings import PROJECTS
from tars_memory.vault.dailies import daily_of
from tars_memory.vault.markdown import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.ranked import Answer
    from tars_memory.recall.selecting import Selection
    from tars_memory.vault.model import Entry
    from tars_memory.vault.vault import Vault

    AtOdds = Callable[[Sequence[str], Sequence[str]], list[tuple[int, int]]]

__all__ = ["Block", "Context", "context"]

BUDGET = 2000
"""Tokens, if not said: 8,000 characters; Claude Code takes 10,000 from a hook."""
DAYS = 1
FILE_CAP = 20_000
"""Characters of one always-loaded note."""
USER = "User.md"
MOST_DAYS = 366

BEYOND_CAP = "beyond the file cap"


def context(
    vault: Vault,
    question: str = "",
    *,
    now: datetime,
    typed: Callable[[str], frozenset[bytes]],
    answers: Callable[[Query], list[Answer]],
    budget: int = BUDGET,
    days: int = DAYS,
    file_cap: int = FILE_CAP,
    project: str | None = None,
    loaded: bool = True,
    facts_options: FactsOptions | None = None,
    expired: bool = False,
    recall: int | None = None,
    decided: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {},
    as_of: date | None = None,
    selection: Selection | None = None,
    at_odds: AtOdds = lambda *_: [],
    said: Mapping[str, list[str]] = MappingProxyType({}),
) -> Context:
    """Pack what a model should know.

    Args:
        vault: to read from; nothing is written.
        question: in plain words: the operators of search are text here; '' recalls nothing.
        now: whose day's note is loaded.
        typed: by a note's path the lines that a person put there (:func:`tars_memory.vault.writing.typed.typed_lines`).
        answers: the lines that answer a query, best first.
        budget: most tokens.
        days: daily notes, today's included.
        file_cap: most characters of one always-loaded note.
        project: whose notes may be used too; none of another one ever are.
        loaded: False for facts and recalled lines alone.
        facts_options: how predicates stand in time, and who the user is.
        expired: also what has ended, and facts that do not hold.
        recall: tokens of the budget that are for facts and recalled lines, and for nothing else but rules and memory
            of the project, which go before all; None: whatever is left over.
        decided: by block ids of daily lines the state of those that were rejected or have expired
            (:func:`tars_memory.recall.decided.looked_up`): session notes say their words again.
        as_of: the day on which facts and lines have to hold; None: that of ``now``.
        selection: what facts and recalled lines are taken from; None: all.
        said: by name the lines of conversations; filled by ``answers``.
        at_odds: how statements stand to each other (:class:`tars_memory.recall.packing.conflicts.Conflicts`).

    Raises:
        UsageError: a number below zero, or a project that can't be one.
    """
    _check(budget, days, file_cap, project)
    day = as_of or now.date()
    filling = _Filling(vault, budget, file_cap, project or "", recall, decided, None if expired else day, selection)
    filling.said = said
    filling.conflicts = Conflicts(at_odds, project or "")
    if project and not (vault.root / PROJECTS / project).is_dir():
        filling.notices.append(f"there is no project {project!r}: {PROJECTS}/{project} is no folder")
    if loaded:
        filling.always(typed)
        filling.daily(now, days)
    filling.turn_to_recall()
    filling.facts(question, day, facts_options or FactsOptions())
    asked = query.parse(_plain(question), now.date())
    asked.on, asked.held, asked.selection = filling.on, None if expired else as_of, selection
    if asked.searches:
        filling.notices += asked.notices
        filling.recalled(answers(asked))
    return filling.done()


class _Filling(Reading):
    """A prompt on its way."""

    def __init__(
        self,
        vault: Vault,
        budget: int,
        file_cap: int,
        scope: str,
        recall: int | None,
        decided: Callable[[Sequence[str]], Mapping[str, str]],
        on: date | None,
        selection: Selection | None,
    ) -> None:
        super().__init__(vault, scope, decided, on)
        self.budget = budget
        self.file_cap = file_cap
        self.selection = selection
        self.packing = Packing(budget, self.notes)
        self.kept = None if recall is None else characters(recall)
        """Characters of what is recalled, if it has a share of its own."""
        self.conflicts = Conflicts(lambda *_: [], scope)

    # --- always loaded

    def always(self, typed: Callable[[str], frozenset[bytes]]) -> None:
        """Rules, memory, rules that nobody approved, and what the user says of himself."""
        layout = self.vault.layout
        others: list[tuple[Loaded, list[Unit]]] = []
        for scope in self.scopes():
            self._hold(scope)
            for note in self.read([within(scope, layout.procedural)], whole_items=True):
                approved, rest = by_approval(note, self.typed_in(typed, note.path))
                others.append((note, rest))
                told = self.conflicts.otherwise("procedural", note, approved, ours=bool(scope))
                self._fill("procedural", note, approved, told=told)
            for note in self.read([within(scope, layout.memory)]):
                told = self.conflicts.otherwise("memory", note, note.units, ours=bool(scope))
                self._fill("memory", note, self.conflicts.ordered(note, note.units), told=told)
                for sentence in self.conflicts.follows(note, note.units):
                    if sentence.start_line not in told:
                        self.packing.add(fence.CONFLICTS, sentence)
            if scope and any(why == NO_ROOM for *_, why in self.gone):
                self.packing.close()  # what is worth less must not have the room that the project lacks
        for note, rest in others:
            self._hold(layout.scope_of(note.path))
            if rest:
                self._fill("unapproved", note, rest)
                stand = "stands" if len(rest) == 1 else "stand"
                said = f"{counted(len(rest), 'rule')}, not typed or approved here, {stand} with the data"
                self.notices.append(f"{note.path}: {said}")
            self._unused_headings(note)
        self._hold("")
        for note in self.read([USER]):
            self._fill("user", note, note.units)

    def _hold(self, scope: str) -> None:
        """Leave what is recalled its share, unless it is the project's turn."""
        self.packing.held = 0 if scope or self.kept is None else self.kept

    def turn_to_recall(self) -> None:
        """What is loaded is in; what it left of its share stays free."""
        if self.kept is not None:
            self.packing.leave(self.kept)

    def daily(self, now: datetime, days: int) -> None:
        """The last days' notes; the newest lines first to come in, last to go."""
        layout = self.vault.layout
        self._hold("")
        if days and layout.problem:
            self.notices.append(layout.problem.message)
            return
        for back in range(days):
            day = now.date() - timedelta(days=back)
            paths = [daily_of(self.vault, day, scope=scope) for scope in self.scopes()]
            for note in self.read(paths):
                self._fill("daily", note, note.units[::-1])

    def facts(self, question: str, today: date, options: FactsOptions) -> None:
        """The facts about the user, and those that the question touches; what has ended is left out on purpose."""
        if self.selection is not None:
            question = " ".join((question, *self.selection.names))  # who is asked about is part of the question
        most = about.MOST
        for note in self.read([within(scope, self.vault.layout.facts) for scope in self.scopes()]):
            known = facts.read(note.path, note.document.data)
            picked = about.relevant(
                [fact for entry, fact in known if self._selects(note, entry)],
                question,
                today=today,
                predicates=facts.Predicates.of(options),
                me=facts.names(options.me),
                expired=self.on is None,
            )[:most]
            most -= len(picked)
            holding = [fact for _, fact in known if fact.holds(today)]
            ours = bool(self.vault.layout.scope_of(note.path))
            picked, told = self.conflicts.facts(holding, picked, facts.Predicates.of(options), ours=ours)
            units = {unit.start_line: unit for unit in note.units}
            if self.on is not None:
                for _, fact in known:
                    if fact.line in units and not fact.holds(today):
                        self.leave_out(note.path, fact.line, units[fact.line].end_line, ENDED)
            for first, last, why in note.omitted:
                if why == ENDED:
                    self.leave_out(note.path, first, last, why)
            self._fill("facts", note, [units[fact.line] for fact in picked if fact.line in units], some=True, told=told)

    def _selects(self, note: Loaded, entry: Entry) -> bool:
        """Whether a fact is among what was asked for by name or topic."""
        if self.selection is None:
            return True
        document = note.document
        text = document.text(entry.line, entry.end_line)
        return self.selection.keeps(note.path, document.section_at(entry.line).path, text)

    # --- recalled

    def recalled(self, found: list[Answer]) -> None:
        """The lines that answer, and in long notes those around them."""
        if not found:
            self.notices.append("nothing recalled: no note says anything near the question")
            return
        bodies: dict[str, int] = {}
        for path in dict.fromkeys(answer.path for answer in found):
            if path not in self.notes:
                self.read_for_recall(path)
            if path in self.notes:
                bodies[path] = _body(self.notes[path])
        places = settled(found, self.notes)
        ranked = set(places)
        refused: list[tuple[str, int, int, str]] = []
        for path, number in by_worth(places, self.notes):
            if (path, number) in self.settled or self.packing.holds(path, number):
                continue
            if self.selection is not None and (path, number) not in ranked:
                continue
            why = self._recall(path, number, bodies[path])
            if why and (path, number) in ranked:
                refused.append((path, number, number, why))
        self.gone += refused

    def _recall(self, path: str, number: int, body: int) -> str:
        raw = self.notes[path][number - 1]
        if len(raw) >= self.packing.room:
            return NO_ROOM  # before anything is made of it: most lines end here
        if number < body:
            return FRONT_MATTER
        why = dismissed(raw)
        if why:
            return why
        text = fence.shown(raw)
        if not text.strip():
            return COMMENT
        return self.packing.add("recalled", Unit(path, number, [text], {key(raw), key(text)}))

    # --- the result

    def done(self) -> Context:
        """The prompt: a mark is drawn that no text holds, and everything is counted."""
        runs = self.packing.runs()
        drawn = fence.mark(text for run in runs for text in (run.path, *run.texts))
        text, sizes = fence.render(runs, drawn, self.called)
        blocks: list[Block] = []
        at = len(text) - sum(sizes)
        for run, size in zip(runs, sizes, strict=True):
            blocks.append(Block(run, tokens(at + size) - tokens(at)))  # rounded so that the blocks add up
            at += size
        self._list_dropped()
        return Context(self.budget, text, blocks, self.packing.dropped, self.notices)

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

    # --- inside

    def _fill(
        self,
        kind: str,
        note: Loaded,
        units: Iterable[Unit],
        *,
        some: bool = False,
        told: Mapping[int, Unit] | None = None,
    ) -> None:
        """Take in units of a note in this order, as far as cap and budget go.

        Args:
            kind: of the block.
            note: that they are from.
            units: best first.
            some: they were picked from the note; the rest of it may be recalled.
            told: by first line sentences without which a unit is not taken in.
        """
        whole = self.kept is not None and self.vault.layout.scope_of(note.path)
        left = characters(self.budget) if whole else self.file_cap
        for unit in units:
            size = sum(len(text) + 1 for text in unit.texts)
            if size > left:
                self.gone.append((unit.path, unit.start_line, unit.end_line, BEYOND_CAP))
                continue
            sentence = told.get(unit.start_line) if told else None
            why = self.packing.add(fence.CONFLICTS, sentence) if sentence is not None else ""
            why = why or self.packing.add(kind, unit)
            if not why:
                left -= size
            elif why != LOADED:
                self.leave_out(unit.path, unit.start_line, unit.end_line, why)
        if not some:
            for first, last, why in note.omitted:
                self.leave_out(note.path, first, last, why)
            note.omitted = []
            if kind not in ("procedural", "unapproved"):
                self._unused_headings(note)

    def _unused_headings(self, note: Loaded) -> None:
        """Headings that no line of theirs brought along."""
        for heading in note.headings:
            if not self.packing.holds(heading.path, heading.start_line):
                self.leave_out(heading.path, heading.start_line, heading.end_line, "nothing under it is shown")


def _body(lines: list[str]) -> int:
    """The first line after the front matter."""
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], 2):
            if line.rstrip() == "---":
                return number + 1
    return 1


def _plain(question: str) -> str:
    """The question without what search takes for operators: a prompt is no query."""
    import re

    text = re.sub(rf"\b({'|'.join(query.FIELDS)}):", r"\1 ", question)
    return re.sub(r"(?<!\S)-+(?=\S)", " ", text.replace('"', " "))


def _check(budget: int, days: int, file_cap: int, project: str | None) -> None:
    for name, value in (("budget", budget), ("days", days), ("file cap", file_cap)):
        if value < 0:
            raise UsageError(f"the {name} is {value}", "give a number that is not below zero")
    if days > MOST_DAYS:
        raise UsageError(f"{counted(days, 'day')} of daily notes: too many", f"at most {MOST_DAYS}")
    if project and (project in (".", "..") or "/" in project or "\\" in project or "\0" in project):
        raise UsageError(f"{project!r} is no project", f"name the folder below {PROJECTS}/")
