"""What there is to review: candidates of all days, feedback and the inbox, as proposals, each under its heading. Reads,
writes nothing.

Candidates that say the same are one proposal with several marks. What stands in the tier notes word for word already
needs no line. Lines about the same are shown beside a proposal, the best first; accepting it adds, and replaces only
what the person chooses. What one conversation gave and what needs no word of its own is one decision. What was refused
in other words comes last, and only if it is asked for.

The heading: a tag that one section is named for or holds alone; the one section whose lines begin with the same name;
the section of the lines that share its rarest words; a heading that is named for its kind (decisions, health,
preferences, people, about me, work); in a note without headings of its own such a heading is made, unless the layout
has none for notes either; else the section for notes. From feedback comes a rule in the person's own words, in the form
of something to do.
"""

from __future__ import annotations

import contextlib
import math
import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture.notes import playbook_place
from tars_memory.curation import candidates
from tars_memory.curation.proposals import BESIDE, NEW, RULE, SHOWN, Mark, Proposal, Related, day_of, question_about
from tars_memory.errors import TarsError, UsageError, counted, cut
from tars_memory.language import statements
from tars_memory.language.statements import SimilarTexts
from tars_memory.language.words import STOP_WORDS, every, every_word, stem, tokens
from tars_memory.vault import inbox, playbooks
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.lines import Steps, steps_in
from tars_memory.vault.model import Entry, role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.candidates import WaitingLine
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.note import Note
    from tars_memory.vault.vault import Vault


CONFLICTS = 5
"""Lines that are shown beside a proposal; more could not be read at a glance."""

TOGETHER = 5
"""Lines of one conversation that one answer decides: as many as are read at a glance."""

RIVALS = "Only one of them can be true at a time, and all count as true today"
"""Why facts are asked about."""

OPEN = "extracted"
"""The state of a candidate that may yet age."""


class Gathered(NamedTuple):
    """What waits, and what needs no word of the person.

    Attributes:
        proposals: all of them, those that were said most often first, then the oldest.
        aged: candidates that nobody decided within the window; to become ``[expired]``.
        settled: candidates whose words stand in a tier note already; to become ``[promoted]``.
        notices: what could not be read.
        asked: what seems to say again, in other words, what the person refused; each names it.
        lines: the entries of the tier notes by their names: what may be chosen to be replaced.
        waiting: by the name of each candidate's line, its proposal: what may be chosen to come to nothing instead.
    """

    proposals: list[Proposal]
    aged: list[Mark]
    settled: list[Mark]
    notices: list[str]
    asked: list[Proposal]
    lines: Mapping[str, Related]
    waiting: Mapping[str, Proposal]

    @property
    def offered(self) -> dict[str, Proposal]:
        """All proposals by their ids, also each of those that are decided together."""
        return {one.id: one for proposal in (*self.proposals, *self.asked) for one in (proposal, *proposal.parts)}


def gather(
    ctx: Caller,
    *,
    expired: bool = False,
    told: int | None = None,
) -> Gathered:
    """What there is to review.

    Args:
        ctx: the command's view of the vault.
        expired: offer those that are older, too.
        told: for so many of the proposals, the first ones, the lines about the same are looked for; None for all.
    """
    vault, today = ctx.vault, ctx.now.date()
    earliest = candidates.earliest(today, ctx.settings.review.window_days)
    arrived = cache(lambda: candidates.arrived(vault, earliest))
    refused = inbox.refused(vault)
    waiting = candidates.read(vault, refused, expired=expired)
    standing = _Standing(ctx, waiting.notices)
    kept = candidates.kept(vault, standing.promoted, standing.lines, waiting.notices)
    questions = standing.questions(vault, today, waiting.notices)
    taken = {(mark.path, mark.block_id) for proposal in kept for mark in proposal.marks}
    proposals: list[Proposal] = []
    aged: list[Mark] = []
    settled: list[Mark] = []
    open_ = [each for each in waiting.candidates if (each.entry.path, each.entry.block_id) not in taken]
    told_of = {each.entry.block_id: each.said for each in waiting.candidates}
    shown: list[WaitingLine] = []
    for kind in ("fact", "correction", "reward"):
        groups = _grouped([each for each in open_ if each.kind == kind and not each.claim])
        groups += standing.facts.grouped([each for each in open_ if each.kind == kind and each.claim])
        for group in groups:
            past = kind == "fact" and group[-1].day < earliest and not _new(group, arrived)  # feedback does not age
            if past:
                aged += [each.mark for each in group if each.entry.state == OPEN]
            if (past and not expired) or (group[0].claim and standing.facts.waits(group)):
                continue
            made = standing.proposal(group)
            if made is None:
                settled += [each.mark for each in group]
            else:
                proposals.append(made)
                shown.append(group[0])
    repeated = standing.repeated(candidates.procedures(vault, waiting.notices), refused)
    once: dict[str, Proposal] = {}
    for proposal in (*proposals, *kept, *questions, *repeated):
        same = once.get(proposal.id)
        said = told_of.get(proposal.marks[0].block_id) if proposal.kept and proposal.marks else None
        if said:
            proposal = proposal._replace(quote=proposal.quote or said.quote, kind=said.kind, warnings=said.warnings)
        once[proposal.id] = same._replace(marks=(*same.marks, *proposal.marks)) if same else proposal
    # The oldest first, those of one day as they were said: what changed its mind comes after what it changes.
    ordered = sorted(once.values(), key=lambda each: each.date)
    ordered.sort(key=lambda each: len(each.marks), reverse=True)
    alike = SimilarTexts(waiting.refused)
    ordered = [each._replace(asked_before=_refused(each, alike, waiting.refused)) for each in ordered]
    asked = [each for each in ordered if each.asked_before]
    ordered = [each for each in ordered if not each.asked_before]
    refs = {each.mark: each.entry.ref for each in waiting.candidates}
    named = {refs[mark]: each for each in (*ordered, *asked) for mark in each.marks if mark in refs}
    ordered = _together(ordered, vault.layout.procedural)
    ordered[:told] = standing.beside(ordered[:told], shown)
    asked[:told] = standing.beside(asked[:told], shown)
    return Gathered(ordered, aged, settled, waiting.notices, asked, standing.lines, named)


def _together(proposals: Sequence[Proposal], rules: str) -> list[Proposal]:
    """The proposals, those of one conversation as one if each only adds a line and nothing speaks against it.

    What was said more than once, ends a fact or is a rule is a decision of its own; so is what a second look has
    judged, with its verdict beside it.

    Args:
        proposals: in order; several take the place of the first of them.
        rules: path of the note of rules.
    """
    by_talk: dict[str, list[Proposal]] = {}
    order: list[list[Proposal]] = []
    for each in proposals:
        plain = each.op in ("append", "fact") and each.target != rules and not (each.fact and each.fact.ends)
        alone = not (plain and each.talk) or each.kept or len(each.marks) > 1 or bool(each.kind or each.warnings)
        group = None if alone else by_talk.get(each.talk)
        if group is None or len(group) == TOGETHER:
            group = []
            order.append(group)
            if not alone:
                by_talk[each.talk] = group
        group.append(each)
    return [_one_of(group) if len(group) > 1 else group[0] for group in order]


def _one_of(group: Sequence[Proposal]) -> Proposal:
    """Several proposals as one decision; its name is made of theirs, so that it holds for what was shown alone."""
    first = group[0]
    return Proposal(
        id=inbox.proposal_id("together", first.talk, "", "\n".join(each.id for each in group)),
        op="together",
        target=first.target,
        section="",
        text="; ".join(each.text for each in group),
        quote=" … ".join(dict.fromkeys(each.quote for each in group if each.quote)),
        source=first.talk,
        date=first.date,
        why=f"{counted(len(group), 'line')} of one conversation; one answer decides them all",
        talk=first.talk,
        parts=tuple(group),
    )


def _refused(proposal: Proposal, refused: SimilarTexts, texts: Sequence[str]) -> str:
    """What the person refused once and a proposal seems to say again; empty for nothing."""
    if proposal.op not in ("append", "fact"):
        return ""
    said = proposal.said
    return next((texts[n] for n in refused.about(said) if statements.restates(texts[n], said)), "")


def offered(ctx: Caller) -> frozenset[tuple[str, str]]:
    """Note and block id, in lower case, of every candidate that is offered now: by itself, with a like one that was
    said later, as extracted only lately, or by a proposal in the inbox. Such lines keep their notes where they are.
    """
    found = gather(ctx, told=0)
    return frozenset((mark.path, mark.block_id.lower()) for each in found.offered.values() for mark in each.marks)


class _TierLine(NamedTuple):
    """A line of the tier notes.

    Attributes:
        entry: as it stands.
        fact: that it states over time; None for none.
        shown: as it is shown beside a proposal, but for its day: the journal is asked for that of few.
    """

    entry: Entry
    fact: Fact | None
    shown: Related

    @property
    def note(self) -> str:
        """The note that it came from; empty for none."""
        return (self.entry.provenance or "").partition("#")[0]


def _tier_lines(note: Note, *, states: bool) -> Iterator[_TierLine]:
    """The lines of a note; ``states``: those with a fact state it."""
    facts = {fact.line: fact for _, fact in note.facts} if states else {}
    copies = {entry.line: n for same in note.raws.values() if len(same) > 1 for n, entry in enumerate(same)}
    for entry in (*note.entries, *grammar.unlisted(note.path, note.document)):
        fact = facts.get(entry.line)
        shown = Related.stating(fact)._replace(date="") if fact else Related.of(entry)
        raw = "" if entry.depth else entry.raw
        yield _TierLine(entry, fact, shown._replace(raw=raw, occurrence=copies.get(entry.line)))


class _Standing:
    """The tier notes as they are, to compare candidates with."""

    def __init__(self, ctx: Caller, notices: list[str]) -> None:
        layout = ctx.layout
        self.memory, self.procedural = layout.memory, layout.procedural
        self._ctx = ctx
        self._sections: dict[str, Sections] = {}
        self._kept: list[_TierLine] = []
        for path in (layout.memory, layout.procedural, layout.facts):
            tier = candidates.read_note(ctx.vault, path, notices)
            titles = [section.title for section in tier.document.sections if section.level > 1]
            lines = [*_tier_lines(tier, states=path == layout.facts)]
            self._sections[path] = Sections([line.entry for line in lines], titles, layout.notes_section)
            self._kept += lines
        self.facts = candidates.StatedFacts(tier, ctx.settings.facts)
        self.promoted = {line.entry.provenance.casefold() for line in self._kept if line.entry.provenance}
        self.lines = {line.shown.ref: line.shown for line in self._kept if line.shown.raw}
        self._said = {_words(line.entry.text) for line in self._kept}
        self._siblings: dict[str, list[int]] = {}
        for number, line in enumerate(self._kept):
            if line.note:
                self._siblings.setdefault(line.note, []).append(number)

    def questions(self, vault: Vault, today: date, notices: list[str]) -> list[Proposal]:
        """Which of some lines holds: what merges have left, and facts of which only one value can be true."""
        found = candidates.disputes(vault, today, self.lines, notices)  # as long as they stand in a note
        decided = cache(lambda: inbox.decided(vault))
        for group in self.facts.rivals(today):
            day = max((fact.since for fact in group if fact.since), default=today)
            asked = tuple(self.lines[fact.ref] for fact in group if fact.ref in self.lines)
            rivals = question_about(group[-1].path, group[-1].subject, asked, day.isoformat(), RIVALS)
            found += [rivals] if rivals.id not in decided() else []
        self.lines.update({line.ref: line for each in found for line in each.conflicts})
        return found

    def beside(self, proposals: Sequence[Proposal], waiting: Sequence[WaitingLine]) -> list[Proposal]:
        """The proposals, each with the lines about the same: of its very subject and predicate first, then the best.

        Lines that stand come before candidates that wait; what hangs on them comes last. A fact that is over is none of
        them.

        Args:
            proposals: to show.
            waiting: the first candidate of each proposal.
        """
        if not proposals:
            return []
        index = SimilarTexts([line.shown.text for line in self._kept])
        others = SimilarTexts([each.entry.text for each in waiting])

        def told(each: Proposal) -> Proposal:
            if each.parts:
                return each._replace(parts=tuple(map(told, each.parts)))
            return self._beside(each, index, others, waiting)

        return [told(each) for each in proposals]

    def _beside(
        self, proposal: Proposal, index: SimilarTexts, others: SimilarTexts, waiting: Sequence[WaitingLine]
    ) -> Proposal:
        why = proposal.why
        if proposal.op in ("append", "fact"):
            said = proposal.said
            same = set(self.facts.same(proposal.fact)) if proposal.fact else set()
            ends = {(each.path, each.line) for each in proposal.fact.ends} if proposal.fact else set()
            numbers = [n for n, line in enumerate(self._kept) if line.fact in same]
            found = list(proposal.conflicts)
            direct = [n for n in dict.fromkeys((*numbers, *index.about(said))) if self._stands(n, ends)]
            found += (self._dated_line(number, proposal.section) for number in direct)
            own = set(proposal.marks)
            claim = next((each.claim for each in waiting if each.claim and each.mark in own), None)
            rivals = [n for n, c in enumerate(waiting) if claim and c.claim and c.claim.about == claim.about]
            rest = [waiting[n] for n in dict.fromkeys((*rivals, *others.about(said))) if waiting[n].mark not in own]
            found += [
                Related.of(each.entry, each.day.isoformat())._replace(raw=each.entry.raw, waits=True) for each in rest
            ]
            if len(found) < CONFLICTS:
                further = (n for n in self._further(direct, index) if self._stands(n, ends))
                found += (self._dated_line(number, proposal.section) for number in islice(further, CONFLICTS))
            once = {(line.path, line.line): line for line in reversed(found)}
            proposal = proposal._replace(conflicts=tuple(reversed(once.values()))[:CONFLICTS])
        elif proposal.op == "choose":
            undated = {each.ref for each in proposal.conflicts if not each.date}
            days = {line.shown.ref: self._day(line) for line in self._kept if line.shown.ref in undated}
            dated = (each._replace(date=each.date or days.get(each.ref, "")) for each in proposal.conflicts)
            proposal = proposal._replace(conflicts=tuple(dated))
        return proposal._replace(why=why or (BESIDE if proposal.conflicts else NEW))

    def _further(self, found: Sequence[int], index: SimilarTexts) -> Iterator[int]:
        """Lines that hang on those found: what changes one of them may change these, though they share no word with it.

        Of the best line first: those about the same as it, then those of the same day's note. Each once, none of those
        found.
        """
        seen = set(found)
        for number in found:
            about = index.about(self._kept[number].shown.text)
            for other in (*about, *self._siblings.get(self._kept[number].note, ())):
                if other not in seen:
                    seen.add(other)
                    yield other

    def _stands(self, number: int, ends: Collection[tuple[str, int]]) -> bool:
        """Whether a line may be shown: no fact that is over, and none that the proposal ends by itself."""
        entry, fact, _ = self._kept[number]
        return (entry.path, entry.line) not in ends and not (fact and fact.until)

    def _dated_line(self, number: int, section: str) -> Related:
        """An entry with its day; a fact says whom it is about, unless that is the person or the proposal's heading."""
        _, fact, told = line = self._kept[number]
        if fact and not self.facts.is_of(fact, section):
            told = told._replace(text=f"{fact.subject} {told.text}")
        return told._replace(date=self._day(line))

    def proposal(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """What to do about some candidates that say the same; None if that is there already."""
        line = self._as_line(group)
        if line is None or not group[0].claim or line.target != self.memory:
            return line
        return self.facts.proposal(group, line)

    def repeated(self, found: Iterable[tuple[str, str, Steps]], refused: Sequence[str]) -> list[Proposal]:
        """Playbooks of the procedures that the person gave in several conversations, in the words of the last.

        Args:
            found: of each its session note, its day and its steps, the newest first.
            refused: the words of what was rejected; a procedure among them is not offered again.
        """
        known = [steps for words in refused if (steps := steps_in(words))]
        for path in playbooks.paths(self._ctx.vault, [self._ctx.vault.layout.scope]):
            with contextlib.suppress(TarsError):
                steps = steps_in(self._ctx.vault.read(path).decode("utf-8", "replace"))
                known += [steps] if steps else []
        groups: list[list[tuple[str, str, Steps]]] = []
        for one in found:
            same = next((group for group in groups if _alike(group[0][2], one[2])), None)
            if same is not None:
                same.append(one)
            elif not any(_alike(each, one[2]) for each in known):
                groups.append([one])
        made = []
        for group in groups:
            talks = {path: day for path, day, _ in reversed(group)}
            why = f"You gave these steps in {counted(len(talks), 'conversation')}: {', '.join(talks.values())}"
            proposal = self._procedure(group[0][2]) if len(talks) > 1 else None
            if proposal is not None:
                made.append(proposal._replace(date=group[0][1], talk=group[0][0], why=why))
        return made

    def _procedure(self, steps: Steps) -> Proposal | None:
        """The playbook that some steps come to; None if they have no title, or a playbook has that name."""
        layout = self._ctx.vault.layout
        try:
            title = grammar.heading(cut(steps.lead, SHOWN))
            target = playbook_place(layout, title)
        except UsageError:
            return None
        if self._ctx.vault.look(target) is not None:
            return None
        text = playbooks.composed(title, "", "\n".join(f"{n}. {each}" for n, each in enumerate(steps.steps, 1)))
        name = inbox.proposal_id("create", target, "", text)
        return Proposal(name, "create", target, "", text, "", "conversations", "", "")

    def _as_line(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """The line that they come to, or the playbook; None if their words stand there already."""
        first = group[0]
        steps = next((each.steps for each in group if each.steps), None)
        if steps and (made := self._procedure(steps)):
            day, marks = first.day.isoformat(), tuple(each.mark for each in group)
            return made._replace(quote=_evidence(first), source=first.source, date=day, why=_why(group), marks=marks)
        if any(each.entry.block_id and each.source.casefold() in self.promoted for each in group):
            return None
        placed = fact(first.entry.text) if first.kind == "fact" else rule(first.entry.text, good=first.kind == "reward")
        if first.said.kind:
            placed = placed._replace(factual=first.said.kind != RULE)
        text = grammar.neutralise(placed.text)
        if _words(text) in self._said:
            return None
        target = self.memory if placed.factual else self.procedural
        section = self._sections[target].best(text, grammar.tags_of(text)) or self._sections[target].notes
        return Proposal(
            id=inbox.proposal_id("append", target, "", text),
            op="append",
            target=target,
            section=section,
            text=text,
            quote=first.said.quote if first.kind == "fact" else _evidence(first),
            source=first.source,
            date=first.day.isoformat(),
            why=_why(group),
            marks=tuple(each.mark for each in group),
            kind=first.said.kind,
            warnings=first.said.warnings,
            talk=first.talk,
            speaker="" if role(first.said.speaker) == "user" else first.said.speaker,
        )

    def _day(self, line: _TierLine) -> str:
        since = line.fact and line.fact.since
        return since.isoformat() if since else day_of(line.entry, self._ctx.dated)


def _alike(one: Steps, other: Steps) -> bool:
    """Whether two procedures are one in other words: two thirds of the shorter one's steps and half of the longer one's
    are the same or near.
    """
    theirs = [statements.read(step) for step in other.steps]
    mine = map(statements.read, one.steps)
    shared = sum(any(statements.compare(step, each) != "different" for each in theirs) for step in mine)
    few, many = sorted((len(one.steps), len(other.steps)))
    return 3 * shared >= 2 * few and 2 * shared >= many


def _why(group: Sequence[WaitingLine]) -> str:
    """What there is to know of candidates that say the same; empty for nothing."""
    first = group[0]
    parts = []
    if first.kind != "fact":
        parts.append("a correction of yours" if first.kind == "correction" else "praise of yours")
    if len(group) > 1:
        days = list(dict.fromkeys(each.day.isoformat() for each in group))
        parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
    others = list(dict.fromkeys(each.entry.text for each in group if each.entry.text != first.entry.text))
    if others:
        parts.append("also as " + ", ".join(f"“{cut(text, SHOWN)}”" for text in others[:3]))
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _words(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """By which two lines are the same: their words and tags, whatever their case, spacing and punctuation."""
    said = statements.read(text)
    return said.words, said.tags


def _new(group: Sequence[WaitingLine], arrived: Callable[[], Collection[str]]) -> bool:
    """Whether one of them was extracted only now."""
    names = arrived()
    return any(each.entry.block_id in names for each in group)


def _grouped(found: Sequence[WaitingLine]) -> list[list[WaitingLine]]:
    """Candidates that say the same, together; oldest first in each.

    Statements that are the same or near hold the same content, so only such are compared.
    """
    alike: dict[tuple[str, ...], list[list[WaitingLine]]] = {}
    groups: list[list[WaitingLine]] = []
    for candidate in found:
        new = statements.read(candidate.entry.text)
        near = alike.setdefault(tuple(sorted(new.content)) or new.words, [])
        for group in near:
            if statements.compare(statements.read(group[0].entry.text), new) in ("same", "near"):
                group.append(candidate)
                break
        else:
            near.append([candidate])
            groups.append(near[-1])
    return groups


# -- under which heading of a tier note a new line belongs, and what line comes of feedback

ENOUGH = 0.3
"""Share of a line's rare words that the lines of a section must hold for it to go there: about one of three."""

NEAREST = 3
"""Lines of a section that count: the best few, or a long section would win by its length."""

_KINDS = {
    "Decisions": "decided",
    "Health": "health",
    "Preferences": "preferred",
    "People": "people",
    "About me": "me",
    "Work": "work",
}
"""Headings to make, each with the name that the tables of the languages have for what belongs there."""


@cache
def _kinds() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Heading to make, how lines of that kind speak, and how such headings are called."""
    found = []
    for title, name in _KINDS.items():
        speaks = every("kinds", name)
        if name == "people":
            speaks = f"(?:{every('kinds', 'mine')}) (?:{speaks})|{every('kinds', 'birthday')}"
        heading = every("kinds", f"{name}_heading")
        found.append((title, re.compile(rf"\b(?:{speaks})\b"), re.compile(rf"\b(?:{heading})")))
    return found


class Sections:
    """The sections of a note by what they hold.

    Args:
        entries: of the note, in order.
        titles: of its sections of level 2 and deeper, empty ones too.
        notes: the section for whatever has no other place.
    """

    def __init__(self, entries: Sequence[Entry], titles: Sequence[str], notes: str) -> None:
        self.notes = next((title for title in titles if title.casefold() == notes.casefold()), notes)
        self.titles = list(dict.fromkeys(title for title in titles if title))
        self._lines = [
            (entry.section, frozenset(_stems(entry.text)), _name(entry.text)) for entry in entries if entry.section
        ]
        self._tags: dict[str, set[str]] = {}
        for entry in entries:
            for tag in entry.tags:
                self._tags.setdefault(tag.casefold(), set()).add(entry.section)
        counts: dict[str, int] = {}
        for _, stems, _ in self._lines:
            for each in stems:
                counts[each] = counts.get(each, 0) + 1
        self._counts = counts

    def best(self, text: str, tags: Sequence[str] = ()) -> str:
        """The heading that a line of these words belongs under; it may not exist yet."""
        return self._tagged(tags) or self._about(text) or self._like(text) or self._of_kind(text) or self.notes

    def _tagged(self, tags: Sequence[str]) -> str:
        for tag in tags:
            name = tag.rpartition("/")[2].casefold()
            for title in self.titles:
                if title.casefold() in (tag.casefold(), name):
                    return title
            held = self._tags.get(tag.casefold(), set())
            if len(held) == 1:
                return next(iter(held))
        return ""

    def _about(self, text: str) -> str:
        """The only section with lines that begin with the same name (``Anna's birthday``, ``Anna moves``), if any."""
        name = _name(text)
        held = {section for section, _, named in self._lines if named == name and section != self.notes}
        return next(iter(held)) if name and len(held) == 1 else ""

    def _like(self, text: str) -> str:
        """The section whose lines share the most of its words, rare ones counting more; empty if none shares enough."""
        stems = set(_stems(text))
        weights = {each: self._weight(each) for each in stems}
        whole = sum(weights.values())
        if not whole:
            return ""
        shared: dict[str, list[float]] = {}
        for section, line, _ in self._lines:
            if section != self.notes:
                shared.setdefault(section, []).append(sum(weights[each] for each in stems & line) / whole)
        for title in self.titles:
            if title != self.notes:
                named = sum(weights[each] for each in stems & set(_stems(title))) / whole
                shared.setdefault(title, []).append(named)
        best, score = "", 0.0
        for section, values in shared.items():
            top = sorted(values, reverse=True)[:NEAREST]
            value = top[0] + 0.25 * sum(top[1:])
            if value > score:
                best, score = section, value
        return best if score >= ENOUGH else ""

    def _weight(self, word: str) -> float:
        """Rare words count most; one that the note does not know says nothing of where it belongs, so half of that."""
        count = self._counts.get(word, 0)
        rarity = math.log(1 + (len(self._lines) + 1) / (count + 1))
        return rarity if count else rarity / 2

    def _of_kind(self, text: str) -> str:
        said = text.casefold()
        own = [title for title in self.titles if title != self.notes and title not in _KINDS]
        for title, speaks, called in _kinds():
            if not speaks.search(said):
                continue
            there = next((each for each in self.titles if called.search(each.casefold())), "")
            if there or (self.notes and not own):
                return there or title
        return ""


def _name(text: str) -> str:
    """The word with a capital that a text begins with, as a stem; empty if there is none, or it says nothing."""
    first = re.match(r"[^\W\d_]+", text)
    if not first or not first[0][0].isupper() or first[0].casefold() in STOP_WORDS:
        return ""
    return stem(first[0].casefold())


def _stems(text: str) -> list[str]:
    return [stem(word) for word in tokens(text) if word not in STOP_WORDS]


@cache
def _said(name: str, form: str = "{}") -> re.Pattern[str]:
    """An expression with what the languages say for it in the place of the braces."""
    return re.compile(form.replace("{}", f"(?:{every('feedback', name)})"), re.IGNORECASE)


@cache
def _listed(name: str) -> frozenset[str]:
    """Words that the languages list: how orders begin, or small words that a sentence begins with."""
    return every_word("feedback", name)


_POLITE = "polite", r"^(?:{}[,:]?\s+)+"
_FACTUAL = "denies", r"^{}[,:;.!]+\s+(?:(?:actually|it's actually),?\s+)?"
_LEADING, _TRAILING = ("leading_asides", r"^{},?\s+(?=\w)"), ("trailing_asides", r",?\s+{}(?=[.!]?$)")
_NOT = re.compile(r"^(?:you )?(?:shouldn't|should not|mustn't|must not)\s+", re.IGNORECASE)
_KEPT = re.compile(r"^(?:i (?:really )?(?:liked?|loved?) (?:that|how|it when) |good:|great:|nice:)\s*", re.IGNORECASE)
_LET_US = re.compile(
    r"^let['’]?s (?=(?:go|use|take|keep|stick|do|move|start|call|make|stay|try|meet|have)\b)", re.IGNORECASE
)


class FeedbackRule(NamedTuple):
    """What a piece of feedback asks for.

    Attributes:
        text: the line to keep.
        factual: it says how something is rather than what to do; then it belongs with the facts.
    """

    text: str
    factual: bool = False


def fact(said: str) -> FeedbackRule:
    """A statement as a line of its own: a capital where a sentence begins so, no asides, no full stop at its end.

    Words that may be names of things (``npm``, ``prefers`` in a list of such) keep their small letter. What tells how
    to answer, or what is always or never to be done, is a rule.
    """
    words = _trimmed(_said(*_TRAILING).sub("", _said(*_LEADING).sub("", said)))
    words = _LET_US.sub("We ", words)
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0] in _listed("starters"):
        words = _begun(words)
    plain = _said(*_POLITE).sub("", words)
    told = _said("always", r"{}\s+").match(plain)
    asks = told is not None and _imperative(plain[told.end() :])
    return FeedbackRule(_begun(words) if asks else words, factual=not (asks or _said("answers", r"{}\s").match(plain)))


def rule(said: str, *, good: bool) -> FeedbackRule:
    """The rule that a correction or a praise comes to.

    Words that say what to do are kept as they were said; before others comes what they are:
    ``Correction: the distance was in miles``, ``Keep doing this: short answers``.

    Args:
        said: what the person wrote.
        good: it is praise.
    """
    words = _trimmed(said)
    plain = _said(*_POLITE).sub("", words) or words
    forbids = _NOT.match(plain)
    if forbids:
        return FeedbackRule(_begun("Do not " + plain[forbids.end() :]))
    told = _said(*_FACTUAL).sub("", plain)
    if told != plain and not good and not _imperative(told):
        return FeedbackRule(_begun(told), factual=True)
    plain = told
    if _imperative(plain) or (not good and _said("ought", r"\b{}\b").search(plain)):
        return FeedbackRule(_begun(plain))
    if re.match(r"(?:much |far |way )?too\s", plain, re.IGNORECASE) and not good:
        return FeedbackRule("Not " + plain[:1].lower() + plain[1:])
    if good:
        return FeedbackRule(f"Keep doing this: {_KEPT.sub('', plain) or plain}")
    return FeedbackRule(f"Correction: {plain}")  # in a language without a list nobody knows whether it forbids


def _evidence(feedback: WaitingLine) -> str:
    """What a rule rests on, for the person who decides: the feedback and what it was about."""
    about = [f"asked: {feedback.question}"] if feedback.question else []
    about += [f"answered: {feedback.answer}"] if feedback.answer else []
    return feedback.entry.text + (f" ({'; '.join(about)})" if about else "")


def _imperative(words: str) -> bool:
    first = re.match(r"[^\W\d_]+(?:['’][^\W\d_]+)?", words)
    if not first or "?" in words:
        return False
    return first[0].casefold().replace("’", "'") in _listed("orders")


def _begun(words: str) -> str:
    """With a capital where the first word is all small, and without a lone full stop at the end."""
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0].islower():
        words = words[:1].upper() + words[1:]
    return words


def _trimmed(said: str) -> str:
    words = " ".join(said.split())
    if re.search(r"[^.!?…][.!]$", words) and not re.search(r"[.!?]\s", words):
        words = words[:-1]  # one sentence needs no full stop as a bullet
    return words
