"""What there is to review: candidates of all days, feedback and the inbox, as proposals. Reads, writes nothing.

Candidates that say the same are one proposal with several marks. What stands in the tier notes word for word already
needs no line. Lines about the same are shown beside a proposal, the best first; accepting it adds, and replaces only
what the person chooses. What one conversation gave and what needs no word of its own is one decision. What was refused
in other words comes last, and only if it is asked for.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture.learn import place
from tars_memory.capture.transcripts.turns import role
from tars_memory.curation.model import BESIDE, NEW, RULE, SHOWN, Mark, Proposal, Related, day_of, question_about
from tars_memory.curation.reviewing import candidates, placing
from tars_memory.curation.reviewing.placing import Sections
from tars_memory.errors import NotFoundError, TarsError, UsageError, counted
from tars_memory.language import statements
from tars_memory.language.statements import SimilarTexts
from tars_memory.settings import FactsOptions
from tars_memory.vault import inbox, playbooks
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.lines import steps_in
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.reviewing.candidates import WaitingLine
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.markdown.lines import Steps
    from tars_memory.vault.model import Entry
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
    vault: Vault,
    today: date,
    *,
    window_days: int,
    expired: bool = False,
    dated: Callable[[Entry], str] | None = None,
    told: int | None = None,
    arrived: Callable[[], Collection[str]] = tuple,
    facts: FactsOptions | None = None,
) -> Gathered:
    """What there is to review.

    Args:
        vault: to read.
        today: from which the window is counted back.
        window_days: how long a candidate is offered.
        expired: offer those that are older, too.
        dated: the day (``YYYY-MM-DD``) of a line of a tier note that bears none; empty if it is not known.
        told: for so many of the proposals, the first ones, the lines about the same are looked for; None for all.
        arrived: the block ids of the candidates that were extracted within the window, whenever they were said: they
            do not age yet. Asked at most once, and only if something has aged.
        facts: how predicates of facts stand in time, and who the person is.
    """
    arrived = cache(arrived)
    waiting = candidates.read(vault, expired=expired)
    standing = _Standing(vault, dated, waiting.notices, facts or FactsOptions())
    kept = candidates.kept(vault, standing.promoted, standing.lines, waiting.notices)
    questions = standing.questions(vault, today, waiting.notices)
    taken = {(mark.path, mark.block_id) for proposal in kept for mark in proposal.marks}
    proposals: list[Proposal] = []
    aged: list[Mark] = []
    settled: list[Mark] = []
    every = candidates.with_claims(vault, waiting.candidates)
    open_ = [each for each in every if (each.mark.path, each.mark.block_id) not in taken]
    told_of = {each.mark.block_id: each.said for each in every}
    shown: list[WaitingLine] = []
    for kind in ("fact", "correction", "reward"):
        groups = _grouped([each for each in open_ if each.kind == kind and not each.claim])
        groups += standing.facts.grouped([each for each in open_ if each.kind == kind and each.claim])
        for group in groups:
            past = _aged(group, today, window_days) and not _new(group, arrived)
            if past:
                aged += [each.mark for each in group if each.state == OPEN]
            if (past and not expired) or (group[0].claim and standing.facts.waits(group)):
                continue
            made = standing.proposal(group)
            if made is None:
                settled += [each.mark for each in group]
            else:
                proposals.append(made)
                shown.append(group[0])
    repeated = standing.repeated(candidates.procedures(vault, waiting.notices), inbox.refused(vault))
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
    refused = SimilarTexts(waiting.refused)
    ordered = [each._replace(asked_before=_refused(each, refused, waiting.refused)) for each in ordered]
    asked = [each for each in ordered if each.asked_before]
    ordered = [each for each in ordered if not each.asked_before]
    refs = {each.mark: each.ref for each in every}
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


def offered(ctx: Caller, window_days: int) -> frozenset[tuple[str, str]]:
    """Note and block id, in lower case, of every candidate that is offered now: by itself, with a like one that was
    said later, as extracted only lately, or by a proposal in the inbox. Such lines keep their notes where they are.

    Args:
        ctx: the command's view of the vault.
        window_days: how long a candidate is offered.
    """
    today = ctx.now.date()
    since = candidates.earliest(today, window_days)
    found = gather(
        ctx.vault,
        today,
        window_days=window_days,
        told=0,
        arrived=lambda: candidates.arrived(ctx.vault, since),
        facts=ctx.facts_options,
    )
    return frozenset((mark.path, mark.block_id.lower()) for each in found.offered.values() for mark in each.marks)


class _Standing:
    """The tier notes as they stand, to hold candidates against."""

    def __init__(
        self, vault: Vault, dated: Callable[[Entry], str] | None, notices: list[str], options: FactsOptions
    ) -> None:
        layout = vault.layout
        self.memory, self.procedural = layout.memory, layout.procedural
        self._dated = dated
        self._sections: dict[str, Sections] = {}
        self.entries: list[Entry] = []
        self.promoted: set[str] = set()
        for path in (layout.memory, layout.procedural, layout.facts):
            tier = Note.of(layout, path, None)
            try:
                tier = vault.note(path) if vault.look(path) is not None else tier
            except NotFoundError:
                pass
            except TarsError as error:
                notices.append(error.message)
            entries = [*tier.entries, *grammar.unlisted(path, tier.document)]
            self.entries += entries
            self.promoted |= {entry.provenance.casefold() for entry in entries if entry.provenance}
            titles = [section.title for section in tier.document.sections if section.level > 1]
            self._sections[path] = Sections(entries, titles, layout.notes_section)
        self._said = {_words(entry.text) for entry in self.entries}
        self.facts = candidates.StatedFacts(tier, options)
        self._about: dict[int, Fact] = {fact.line: fact for fact in self.facts.all}
        self._facts_note = layout.facts
        self._vault = vault
        copies = Counter((entry.path, entry.raw) for entry in self.entries)
        seen: Counter[tuple[str, str]] = Counter()
        self.lines: dict[str, Related] = {}
        self._related: list[Related] = []
        for entry in self.entries:
            key = entry.path, entry.raw
            line = self._line(entry, seen[key] if copies[key] > 1 else None)
            seen[key] += 1
            self._related.append(line)
            if line.raw:
                self.lines[line.ref] = line
        self._siblings: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            if note := _note(entry):
                self._siblings.setdefault(note, []).append(number)

    def questions(self, vault: Vault, today: date, notices: list[str]) -> list[Proposal]:
        """Which of some lines holds: what merges have left, and facts of which only one value can be true."""
        found = candidates.disputes(vault, today, self.lines, notices)  # as long as they stand in a note
        by_line = {(line.path, line.line): line for line in self.lines.values()}
        decided = cache(lambda: inbox.decided(vault))
        for group, day in self.facts.rivals(today):
            asked = tuple(by_line[entry.path, entry.line] for entry in group if (entry.path, entry.line) in by_line)
            rivals = question_about(group[-1], asked, day.isoformat(), RIVALS)
            found += [rivals] if rivals.id not in decided() else []
        self.lines.update({line.ref: line for each in found for line in each.conflicts})
        return found

    def _line(self, entry: Entry, occurrence: int | None) -> Related:
        """An entry as it is shown beside a proposal."""
        fact = self._about.get(entry.line) if entry.path == self._facts_note else None
        ref = fact.ref if fact else entry.ref
        raw = "" if entry.depth else entry.raw
        text = f"{fact.predicate} {fact.object}" if fact else entry.text
        return Related(entry.path, entry.line, ref, text, "", raw, occurrence)

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
        index = SimilarTexts([line.text for line in self._related])
        others = SimilarTexts([each.text for each in waiting])

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
            same = {fact.line for fact in self.facts.same(proposal.fact)} if proposal.fact else set()
            ends = {(each.path, each.line) for each in proposal.fact.ends} if proposal.fact else set()
            numbers = [n for n, entry in enumerate(self.entries) if self._is_fact(entry) and entry.line in same]
            found = list(proposal.conflicts)
            direct = [n for n in dict.fromkeys((*numbers, *index.about(said))) if self._stands(n, ends)]
            found += (self._dated_line(number, proposal.section) for number in direct)
            own = set(proposal.marks)
            claim = next((each.claim for each in waiting if each.claim and each.mark in own), None)
            rivals = [n for n, c in enumerate(waiting) if claim and c.claim and c.claim.key[:2] == claim.key[:2]]
            rest = [waiting[n] for n in dict.fromkeys((*rivals, *others.about(said))) if waiting[n].mark not in own]
            found += [
                Related(c.mark.path, c.line, c.ref, c.text, c.day.isoformat(), c.mark.raw, waits=True) for c in rest
            ]
            if len(found) < CONFLICTS:
                further = (n for n in self._further(direct, index) if self._stands(n, ends))
                found += (self._dated_line(number, proposal.section) for number in islice(further, CONFLICTS))
            once = {(line.path, line.line): line for line in reversed(found)}
            proposal = proposal._replace(conflicts=tuple(reversed(once.values()))[:CONFLICTS])
        elif proposal.op == "choose":
            by_ref = {line.ref: self._day(entry, None) for entry, line in zip(self.entries, self._related, strict=True)}
            dated = (each._replace(date=each.date or by_ref.get(each.ref, "")) for each in proposal.conflicts)
            proposal = proposal._replace(conflicts=tuple(dated))
        return proposal._replace(why=why or (BESIDE if proposal.conflicts else NEW))

    def _further(self, found: Sequence[int], index: SimilarTexts) -> Iterator[int]:
        """Lines that hang on those found: what changes one of them may change these, though they share no word with it.

        Of the best line first: those about the same as it, then those of the same day's note. Each once, none of those
        found.
        """
        seen = set(found)
        for number in found:
            about = index.about(self._related[number].text)
            for other in (*about, *self._siblings.get(_note(self.entries[number]), ())):
                if other not in seen:
                    seen.add(other)
                    yield other

    def _stands(self, number: int, ends: Collection[tuple[str, int]]) -> bool:
        """Whether a line may be shown: no fact that is over, and none that the proposal ends by itself."""
        entry = self.entries[number]
        fact = self._about.get(entry.line) if self._is_fact(entry) else None
        return (entry.path, entry.line) not in ends and not (fact and fact.until)

    def _dated_line(self, number: int, section: str) -> Related:
        """An entry with its day; a fact says whom it is about, unless that is the person or the proposal's heading."""
        entry = self.entries[number]
        fact = self._about.get(entry.line) if self._is_fact(entry) else None
        told = self._related[number]
        if fact and not self.facts.is_of(fact, section):
            told = told._replace(text=f"{fact.subject} {told.text}")
        return told._replace(date=self._day(entry, fact))

    def _is_fact(self, entry: Entry) -> bool:
        return entry.path == self._facts_note and entry.line in self._about

    def proposal(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """What to do about some candidates that say the same; None if that stands there already."""
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
        for path in playbooks.paths(self._vault, [self._vault.layout.scope]):
            with contextlib.suppress(TarsError):
                steps = steps_in(self._vault.read(path).decode("utf-8", "replace"))
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
        layout = self._vault.layout
        try:
            title = grammar.heading(_cut(steps.lead))
            target = place(layout, title)
        except UsageError:
            return None
        if self._vault.look(target) is not None:
            return None
        text = playbooks.composed(title, "", "\n".join(f"{n}. {each}" for n, each in enumerate(steps.steps, 1)))
        name = inbox.proposal_id("create", target, "", text)
        return Proposal(name, "create", target, "", text, "", "conversations", "", "")

    def _as_line(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """The line that they come to, or the playbook; None if their words stand there already."""
        first = group[0]
        steps = next((each.steps for each in group if each.steps), None)
        if steps and (made := self._procedure(steps)):
            said = placing.evidence(first.text, first.question, first.answer)
            day, marks = first.day.isoformat(), tuple(each.mark for each in group)
            return made._replace(quote=said, source=first.source, date=day, why=_why(group), marks=marks)
        if any(each.mark.block_id and each.source.casefold() in self.promoted for each in group):
            return None
        rule = (
            placing.fact(first.text) if first.kind == "fact" else placing.rule(first.text, good=first.kind == "reward")
        )
        if first.said.kind:
            rule = rule._replace(factual=first.said.kind != RULE)
        text = grammar.neutralise(rule.text)
        if _words(text) in self._said:
            return None
        target = self.memory if rule.factual else self.procedural
        section = self._sections[target].best(text, grammar.tags_of(text)) or self._sections[target].notes
        return Proposal(
            id=inbox.proposal_id("append", target, "", text),
            op="append",
            target=target,
            section=section,
            text=text,
            quote=first.said.quote
            if first.kind == "fact"
            else placing.evidence(first.text, first.question, first.answer),
            source=first.source,
            date=first.day.isoformat(),
            why=_why(group),
            marks=tuple(each.mark for each in group),
            kind=first.said.kind,
            warnings=first.said.warnings,
            talk=first.talk,
            speaker="" if role(first.said.speaker) == "user" else first.said.speaker,
        )

    def _day(self, entry: Entry, fact: Fact | None) -> str:
        if fact and fact.since:
            return fact.since.isoformat()
        return day_of(entry, self._dated)


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
    others = list(dict.fromkeys(each.text for each in group if each.text != first.text))
    if others:
        parts.append("also as " + ", ".join(f"“{_cut(text)}”" for text in others[:3]))
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _note(entry: Entry) -> str:
    """The note that an entry came from; empty for none."""
    return (entry.provenance or "").partition("#")[0]


def _words(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """By which two lines are the same: their words and tags, whatever their case, spacing and punctuation."""
    said = statements.read(text)
    return said.words, said.tags


def _aged(group: Sequence[WaitingLine], today: date, window_days: int) -> bool:
    """Whether it is offered no more: the last time it was said is too long ago. Feedback does not age."""
    return group[-1].kind == "fact" and candidates.is_old(group[-1].day, today, window_days)


def _new(group: Sequence[WaitingLine], arrived: Callable[[], Collection[str]]) -> bool:
    """Whether one of them was extracted only now."""
    names = arrived()
    return any(each.mark.block_id in names for each in group)


def _grouped(found: Sequence[WaitingLine]) -> list[list[WaitingLine]]:
    """Candidates that say the same, together; oldest first in each.

    Statements that are the same or near hold the same content, so only such are compared.
    """
    alike: dict[tuple[str, ...], list[list[WaitingLine]]] = {}
    groups: list[list[WaitingLine]] = []
    for candidate in found:
        new = statements.read(candidate.text)
        near = alike.setdefault(tuple(sorted(new.content)) or new.words, [])
        for group in near:
            if statements.compare(statements.read(group[0].text), new) in ("same", "near"):
                group.append(candidate)
                break
        else:
            near.append([candidate])
            groups.append(near[-1])
    return groups


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1].rstrip() + "…"
