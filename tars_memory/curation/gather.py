"""Gathers what waits for review as proposals: candidates of all days, feedback, and the inbox. Writes nothing.

Candidates that say the same become one proposal with several marks. A candidate whose words are already in the tier
notes needs no line. Each proposal comes with related lines, the best first; accepting it adds a line, and replaces only
those that the person chooses. Proposals of one conversation that need no separate decision are combined into one.
Proposals that repeat, in other words, what the person refused come last, and only if asked for.

The heading for a new line is the first of these: a section that is named for one of the line's tags, or that alone has
the tag; the section whose lines share its rarest words; a heading that is named for the line's kind (decisions, health,
preferences, people, about me, work), which is created in a note without headings of its own, unless the layout has no
section for notes either; else the section for notes.
Feedback becomes a rule in the person's own words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache, cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import capture
from tars_memory.curation import candidates
from tars_memory.curation.proposals import BESIDE, NEW, RULE, SHOWN, Mark, Proposal, Related, day_of, question_about
from tars_memory.errors import UsageError, counted, shortened
from tars_memory.language import statements
from tars_memory.language.statements import SimilarTexts, key_of
from tars_memory.language.words import (
    STOP_WORDS,
    alternatives_of_all,
    feedback_words,
    language,
    language_of,
    phrase_pattern,
    stem,
    tokens,
)
from tars_memory.vault import inbox, playbooks
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.model import Entry, role

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.curation.candidates import WaitingLine
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.markdown.lines import Steps
    from tars_memory.vault.note import Note
    from tars_memory.vault.vault import Vault


CONFLICTS = 5
"""Maximum number of related lines shown beside a proposal: more can't be read at a glance."""

TOGETHER = 5
"""Maximum number of proposals of one conversation that one answer decides: as many as can be read at a glance."""

RIVALS = "Only one of them can be true at a time, and all count as true today"
"""The ``why`` of a question about facts that contradict each other."""

OPEN = "extracted"
"""The state of a candidate that has not aged yet."""


class Gathered(NamedTuple):
    """The proposals that wait, and the candidates that need no decision.

    Attributes:
        proposals: all of them, those that were said most often first, then the oldest.
        aged: candidates that nobody decided within the window; to become ``[expired]``.
        settled: candidates whose words are already in a tier note; to become ``[promoted]``.
        notices: which notes or proposals could not be read.
        refused_before: proposals that seem to repeat, in other words, what the person refused; each names it.
        lines: by REF, the entries of the tier notes that a proposal may replace.
        waiting: by REF of a candidate's line, its proposal, which another proposal may take the place of.
    """

    proposals: list[Proposal]
    aged: list[Mark]
    settled: list[Mark]
    notices: list[str]
    refused_before: list[Proposal]
    lines: Mapping[str, Related]
    waiting: Mapping[str, Proposal]

    @property
    def offered(self) -> dict[str, Proposal]:
        """All proposals by their ids, including the parts of those that are decided together."""
        every = (*self.proposals, *self.refused_before)
        return {one.id: one for proposal in every for one in (proposal, *proposal.parts)}


def gather(ctx: capture.remember.Caller, *, expired: bool = False, related_for: int | None = None) -> Gathered:
    """Return everything that waits for review.

    Args:
        ctx: the command's view of the vault.
        expired: also offer candidates that are older than the window.
        related_for: number of proposals, from the first, to find related lines for; None for all.
    """
    vault, today = ctx.vault, ctx.now.date()
    waiting = candidates.read(vault, inbox.refused(vault), expired=expired)
    tier_notes = _TierNotes(ctx, waiting.notices)
    from_inbox = _from_inbox(vault, waiting, tier_notes)
    in_inbox = {(mark.path, mark.block_id) for proposal in from_inbox for mark in proposal.marks}
    questions = tier_notes.questions(vault, today, waiting.notices)
    open_lines = [line for line in waiting.candidates if (line.entry.path, line.entry.block_id) not in in_inbox]
    earliest = candidates.earliest(today, ctx.settings.review.window_days)
    new = _from_candidates(vault, open_lines, tier_notes, earliest, expired=expired)
    by_id: dict[str, Proposal] = {}
    for proposal in (*new.proposals, *from_inbox, *questions):
        same = by_id.get(proposal.id)
        by_id[proposal.id] = same._replace(marks=(*same.marks, *proposal.marks)) if same else proposal
    # Oldest first, in the order in which they were said: people change their minds after what they said first.
    ordered = sorted(by_id.values(), key=lambda proposal: proposal.date)
    ordered.sort(key=lambda proposal: len(proposal.marks), reverse=True)
    alike = SimilarTexts(waiting.refused)
    ordered = [
        proposal._replace(asked_before=_refused_before(proposal, alike, waiting.refused)) for proposal in ordered
    ]
    refused_before = [proposal for proposal in ordered if proposal.asked_before]
    ordered = [proposal for proposal in ordered if not proposal.asked_before]
    refs = {line.mark: line.entry.ref for line in waiting.candidates}
    by_ref = {
        refs[mark]: proposal for proposal in (*ordered, *refused_before) for mark in proposal.marks if mark in refs
    }
    ordered = _combined(ordered, vault.layout.procedural)
    ordered[:related_for] = tier_notes.with_related(ordered[:related_for], new.first_lines)
    refused_before[:related_for] = tier_notes.with_related(refused_before[:related_for], new.first_lines)
    return Gathered(ordered, new.aged, new.settled, waiting.notices, refused_before, tier_notes.lines, by_ref)


class _FromCandidates(NamedTuple):
    """The proposals that candidates become, and the candidates that need no decision.

    Attributes:
        proposals: one for each group of candidates that say the same.
        first_lines: the first candidate of each proposal.
        aged, settled: as in :class:`Gathered`.
    """

    proposals: list[Proposal]
    first_lines: list[WaitingLine]
    aged: list[Mark]
    settled: list[Mark]


def _from_candidates(
    vault: Vault, lines: Sequence[WaitingLine], tier_notes: _TierNotes, earliest: date, *, expired: bool
) -> _FromCandidates:
    """Return the proposals that candidates become.

    Args:
        vault: where to look up which candidates were extracted lately.
        lines: the candidates.
        tier_notes: to compare them with.
        earliest: first day of the window.
        expired: also propose candidates that are older.
    """
    arrived = cache(lambda: candidates.arrived(vault, earliest))
    found = _FromCandidates([], [], [], [])
    for kind in ("fact", "correction", "reward"):
        groups = _grouped([line for line in lines if line.kind == kind and not line.claim])
        groups += tier_notes.facts.grouped([line for line in lines if line.kind == kind and line.claim])
        for group in groups:
            # feedback does not age
            past = kind == "fact" and group[-1].day < earliest
            past = past and not any(line.entry.block_id in arrived() for line in group)  # extracted only lately
            if past:
                found.aged.extend(line.mark for line in group if line.entry.state == OPEN)
            if (past and not expired) or (group[0].claim and tier_notes.facts.waits(group)):
                continue
            proposal = tier_notes.proposal(group)
            if proposal is None:
                found.settled.extend(line.mark for line in group)
            else:
                found.proposals.append(proposal)
                found.first_lines.append(group[0])
    return found


def _from_inbox(vault: Vault, waiting: candidates.Waiting, tier_notes: _TierNotes) -> list[Proposal]:
    """Return the proposals of the inbox; those about a candidate get what its session note says about it."""
    session_facts = {line.entry.block_id: line.session_fact for line in waiting.candidates}
    found = []
    for proposal in candidates.kept(vault, tier_notes.promoted, tier_notes.lines, waiting.notices):
        if proposal.marks and (fact := session_facts.get(proposal.marks[0].block_id)):
            proposal = proposal._replace(quote=proposal.quote or fact.quote, kind=fact.kind, warnings=fact.warnings)
        found.append(proposal)
    return found


def _combined(proposals: Sequence[Proposal], rules: str) -> list[Proposal]:
    """Combine the proposals of one conversation that each only add a line, and that need no separate decision.

    A proposal is decided separately if it was said more than once, ends a fact, is a rule, or was judged by a second
    look, whose verdict is shown with it.

    Args:
        proposals: in order; a combined one takes the place of its first part.
        rules: path of the note of rules.
    """
    by_talk: dict[str, list[Proposal]] = {}
    order: list[list[Proposal]] = []
    for proposal in proposals:
        ends_fact = proposal.fact is not None and bool(proposal.fact.ends)
        only_adds = proposal.op in ("append", "fact") and proposal.target != rules and not ends_fact
        judged = bool(proposal.kind or proposal.warnings)
        alone = not (only_adds and proposal.talk) or proposal.kept or len(proposal.marks) > 1 or judged
        group = None if alone else by_talk.get(proposal.talk)
        if group is None or len(group) == TOGETHER:
            group = []
            order.append(group)
            if not alone:
                by_talk[proposal.talk] = group
        group.append(proposal)
    return [_one_decision(group) if len(group) > 1 else group[0] for group in order]


def _one_decision(group: Sequence[Proposal]) -> Proposal:
    """Return several proposals as one; its id is made of theirs, so that it stands only for those that were shown."""
    first = group[0]
    return Proposal(
        id=inbox.proposal_id("together", first.talk, "", "\n".join(part.id for part in group)),
        op="together",
        target=first.target,
        section="",
        text="; ".join(part.text for part in group),
        quote=" … ".join(dict.fromkeys(part.quote for part in group if part.quote)),
        source=first.talk,
        date=first.date,
        why=f"{counted(len(group), 'line')} of one conversation; one answer decides them all",
        talk=first.talk,
        parts=tuple(group),
    )


def _refused_before(proposal: Proposal, refused: SimilarTexts, texts: Sequence[str]) -> str:
    """Return the refused text that a proposal seems to repeat; empty if there is none.

    Args:
        proposal: to compare.
        refused: index of ``texts``.
        texts: what the person refused.
    """
    if proposal.op not in ("append", "fact"):
        return ""
    text = proposal.line_text
    return next((texts[n] for n in refused.about(text) if statements.restates(texts[n], text)), "")


def offered(ctx: capture.remember.Caller) -> frozenset[tuple[str, str]]:
    """Return path and lower-case block id of every candidate that is offered now. Their notes are not archived.

    A candidate may be offered by itself, because a similar one was said later, because it was extracted only lately,
    or by a proposal in the inbox.
    """
    found = gather(ctx, related_for=0)
    return frozenset(
        (mark.path, mark.block_id.lower()) for proposal in found.offered.values() for mark in proposal.marks
    )


class _TierLine(NamedTuple):
    """A line of the tier notes.

    Attributes:
        entry: as it is in the note.
        fact: that the line states; None for none.
        shown: as it is shown beside a proposal, without its day: that is looked up in the journal, for a few lines.
    """

    entry: Entry
    fact: Fact | None
    shown: Related

    @property
    def note(self) -> str:
        """Name of the note that the line came from; empty for none."""
        return (self.entry.provenance or "").partition("#")[0]


def _tier_lines(note: Note, *, with_facts: bool) -> Iterator[_TierLine]:
    """Yield the entries and paragraphs of a note; ``with_facts``: read the facts that they state."""
    facts = {fact.line: fact for _, fact in note.facts} if with_facts else {}
    copies = {entry.line: n for same in note.entries_by_raw.values() if len(same) > 1 for n, entry in enumerate(same)}
    for entry in (*note.entries, *grammar.read_paragraphs(note.path, note.document)):
        fact = facts.get(entry.line)
        shown = Related.stating(fact)._replace(date="") if fact else Related.of(entry)
        raw = "" if entry.depth else entry.raw
        yield _TierLine(entry, fact, shown._replace(raw=raw, occurrence=copies.get(entry.line)))


class _TierNotes:
    """The lines of the tier notes, to compare candidates with."""

    def __init__(self, ctx: capture.remember.Caller, notices: list[str]) -> None:
        layout = ctx.layout
        self.memory, self.procedural = layout.memory, layout.procedural
        self._ctx = ctx
        self._sections: dict[str, Sections] = {}
        self._lines: list[_TierLine] = []
        for path in (layout.memory, layout.procedural, layout.facts):
            tier = candidates.read_note(ctx.vault, path, notices)
            titles = [section.title for section in tier.document.sections if section.level > 1]
            lines = [*_tier_lines(tier, with_facts=path == layout.facts)]
            self._sections[path] = Sections([line.entry for line in lines], titles, layout.notes_section)
            self._lines += lines
        self.facts = candidates.StatedFacts(tier, ctx.settings.facts)
        self.promoted = {line.entry.provenance.casefold() for line in self._lines if line.entry.provenance}
        self.lines = {line.shown.ref: line.shown for line in self._lines if line.shown.raw}
        self._siblings: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            if line.note:
                self._siblings.setdefault(line.note, []).append(number)

    @cached_property
    def _known_words(self) -> set[statements.Key]:
        """The words of the lines, as they are compared; of a long note they take seconds, and often nothing waits."""
        return {key_of(line.entry.text) for line in self._lines}

    def questions(self, vault: Vault, today: date, notices: list[str]) -> list[Proposal]:
        """Return the questions which of some lines holds: left by merges, or about facts that contradict each other."""
        found = candidates.disputes(vault, today, self.lines, notices)  # asked as long as they are in a note
        decided = cache(lambda: inbox.decided(vault))
        for group in self.facts.rivals(today):
            day = max((fact.since for fact in group if fact.since), default=today)
            asked = tuple(self.lines[fact.ref] for fact in group if fact.ref in self.lines)
            rivals = question_about(group[-1].path, group[-1].subject, asked, day.isoformat(), RIVALS)
            found += [rivals] if rivals.id not in decided() else []
        self.lines.update({line.ref: line for proposal in found for line in proposal.conflicts})
        return found

    def with_related(self, proposals: Sequence[Proposal], waiting: Sequence[WaitingLine]) -> list[Proposal]:
        """Return the proposals with their related lines: facts with the same subject and predicate, then similar lines.

        Lines of the notes come before candidates; lines that are related only to those found come last. A fact that has
        ended is left out.

        Args:
            proposals: to show.
            waiting: the first candidate of each proposal.
        """
        if not proposals:
            return []
        similar_lines = SimilarTexts([line.shown.text for line in self._lines])
        similar_candidates = SimilarTexts([candidate.entry.text for candidate in waiting])

        def with_lines(proposal: Proposal) -> Proposal:
            if proposal.parts:
                return proposal._replace(parts=tuple(map(with_lines, proposal.parts)))
            lines = proposal.conflicts
            if proposal.op in ("append", "fact"):
                lines = self._related(proposal, similar_lines, similar_candidates, waiting)
            elif proposal.op == "choose":
                lines = self._dated(lines)
            return proposal._replace(conflicts=lines, why=proposal.why or (BESIDE if lines else NEW))

        return [with_lines(proposal) for proposal in proposals]

    def _related(
        self,
        proposal: Proposal,
        similar_lines: SimilarTexts,
        similar_candidates: SimilarTexts,
        waiting: Sequence[WaitingLine],
    ) -> tuple[Related, ...]:
        """Return the related lines of a proposal; see :meth:`with_related`.

        Args:
            proposal: to add a line or a fact.
            similar_lines: index of our lines.
            similar_candidates: index of ``waiting``.
            waiting: the first candidate of each proposal.
        """
        text = proposal.line_text
        same = set(self.facts.same(proposal.fact)) if proposal.fact else set()
        ends = {(end.path, end.line) for end in proposal.fact.ends} if proposal.fact else set()
        numbers = [n for n, line in enumerate(self._lines) if line.fact in same]
        found = list(proposal.conflicts)
        direct = [n for n in dict.fromkeys((*numbers, *similar_lines.about(text))) if self._may_show(n, ends)]
        found += (self._dated_line(number, proposal.section) for number in direct)
        own = set(proposal.marks)
        claim = next((line.claim for line in waiting if line.claim and line.mark in own), None)
        rivals = [n for n, line in enumerate(waiting) if claim and line.claim and line.claim.about == claim.about]
        similar = dict.fromkeys((*rivals, *similar_candidates.about(text)))
        found += [
            Related.of(line.entry, line.day.isoformat())._replace(raw=line.entry.raw, waits=True)
            for line in (waiting[n] for n in similar)
            if line.mark not in own
        ]
        if len(found) < CONFLICTS:
            further = (n for n in self._further(direct, similar_lines) if self._may_show(n, ends))
            lines = (self._dated_line(number, proposal.section) for number in islice(further, CONFLICTS))
            found += (line._replace(linked=True) for line in lines)
        once = {(line.path, line.line): line for line in reversed(found)}
        shown = [*reversed(once.values())][:CONFLICTS]
        # alone, a code of a list doesn't show what it is
        return tuple(line._replace(text=self._ctx.vault.hide(line.path, line.text)) for line in shown)

    def _dated(self, lines: Sequence[Related]) -> tuple[Related, ...]:
        """Return lines with their days, as far as these are known."""
        undated = {line.ref for line in lines if not line.date}
        days = {line.shown.ref: self._day(line) for line in self._lines if line.shown.ref in undated}
        return tuple(line._replace(date=line.date or days.get(line.ref, "")) for line in lines)

    def _further(self, found: Sequence[int], similar_lines: SimilarTexts) -> Iterator[int]:
        """Yield lines related to those found, which changing one of them may affect, even if they share no word with
        the proposal.

        For each line found, the best one first: the lines similar to it, then those that came from the same note. No
        line is yielded twice, and none that was found before.
        """
        seen = set(found)
        for number in found:
            similar = similar_lines.about(self._lines[number].shown.text)
            for other in (*similar, *self._siblings.get(self._lines[number].note, ())):
                if other not in seen:
                    seen.add(other)
                    yield other

    def _may_show(self, number: int, ends: Collection[tuple[str, int]]) -> bool:
        """Whether a line may be shown: not if it is a fact that has ended, or one that the proposal itself ends."""
        entry, fact, _ = self._lines[number]
        return (entry.path, entry.line) not in ends and not (fact and fact.until)

    def _dated_line(self, number: int, section: str) -> Related:
        """Return a line with its day; a fact gets its subject, unless that is the person or the proposal's heading."""
        _, fact, shown = line = self._lines[number]
        if fact and not self.facts.is_of(fact, section):
            shown = shown._replace(text=f"{fact.subject} {shown.text}")
        return shown._replace(date=self._day(line))

    def proposal(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """Return the proposal for candidates that say the same; None if the notes say it already."""
        line = self._as_line(group)
        if line is None or not group[0].claim or line.target != self.memory:
            return line
        return self.facts.proposal(group, line)

    def _playbook(self, steps: Steps) -> Proposal | None:
        """Propose a playbook with these steps; None if they have no title, or a playbook with that name exists."""
        layout = self._ctx.vault.layout
        try:
            title = grammar.heading(shortened(steps.lead, SHOWN))
            target = capture.notes.playbook_path(layout, title)
        except UsageError:
            return None
        if self._ctx.vault.look(target) is not None:
            return None
        text = playbooks.compose(title, "", "\n".join(f"{n}. {step}" for n, step in enumerate(steps.steps, 1)))
        name = inbox.proposal_id("create", target, "", text)
        return Proposal(name, "create", target, "", text, "", "conversations", "", "")

    def _as_line(self, group: Sequence[WaitingLine]) -> Proposal | None:
        """Propose the line, or the playbook, that a group becomes; None if the notes have its words already."""
        first = group[0]
        steps = next((line.steps for line in group if line.steps), None)
        if steps and (made := self._playbook(steps)):
            day, marks = first.day.isoformat(), tuple(line.mark for line in group)
            return made._replace(quote=_evidence(first), source=first.source, date=day, why=_why(group), marks=marks)
        if any(line.entry.block_id and line.source.casefold() in self.promoted for line in group):
            return None
        is_fact, is_praise = first.kind == "fact", first.kind == "reward"
        new = line_of_fact(first.entry.text) if is_fact else line_of_feedback(first.entry.text, praise=is_praise)
        if first.session_fact.kind:
            new = new._replace(factual=first.session_fact.kind != RULE)
        text = grammar.neutralise(new.text)
        if key_of(text) in self._known_words:
            return None
        target = self.memory if new.factual else self.procedural
        section = self._sections[target].best(text, grammar.tags_of(text)) or self._sections[target].notes
        return Proposal(
            id=inbox.proposal_id("append", target, "", text),
            op="append",
            target=target,
            section=section,
            text=text,
            quote=first.session_fact.quote if is_fact else _evidence(first),
            source=first.source,
            date=first.day.isoformat(),
            why=_why(group),
            marks=tuple(line.mark for line in group),
            kind=first.session_fact.kind,
            warnings=first.session_fact.warnings,
            talk=first.talk,
            speaker="" if role(first.session_fact.speaker) == "user" else first.session_fact.speaker,
        )

    def _day(self, line: _TierLine) -> str:
        """Return the day of a line, ``YYYY-MM-DD``: the first day of a fact, else as its link or the journal says."""
        since = line.fact and line.fact.since
        return since.isoformat() if since else day_of(line.entry, self._ctx.dated)


def _why(group: Sequence[WaitingLine]) -> str:
    """Return a sentence about candidates that say the same: feedback, how often, other words; empty for nothing."""
    first = group[0]
    parts = []
    if first.kind != "fact":
        parts.append("a correction of yours" if first.kind == "correction" else "praise of yours")
    if len(group) > 1:
        days = dict.fromkeys(line.day.isoformat() for line in group)
        parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
    others = list(dict.fromkeys(line.entry.text for line in group if line.entry.text != first.entry.text))
    if others:
        parts.append("also as " + ", ".join(f"“{shortened(text, SHOWN)}”" for text in others[:3]))
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _grouped(found: Sequence[WaitingLine]) -> list[list[WaitingLine]]:
    """Group candidates that say the same, in their order.

    Statements that are the same or near have the same content words, so only those are compared.
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


# -- the heading of a tier note that a new line belongs under, and the line that feedback becomes

ENOUGH = 0.3
"""Minimum share of a line's words, by weight, that a section must share to get the line: about one of three."""

NEAREST = 3
"""Number of a section's lines that count, the best ones; otherwise a long section would win by its length."""

_KINDS = {
    "Decisions": "decided",
    "Health": "health",
    "Preferences": "preferred",
    "People": "people",
    "About me": "me",
    "Work": "work",
}
"""Headings to create, each with the name that the language tables have for what belongs there."""


@cache
def _kinds() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return, for each kind, the heading to create, a pattern of its lines, and a pattern of its existing headings."""
    found = []
    for title, name in _KINDS.items():
        words = alternatives_of_all("kinds", name)
        if name == "people":
            words = f"(?:{alternatives_of_all('kinds', 'mine')}) (?:{words})|{alternatives_of_all('kinds', 'birthday')}"
        heading = alternatives_of_all("kinds", f"{name}_heading")
        found.append((title, re.compile(rf"\b(?:{words})\b"), re.compile(rf"\b(?:{heading})")))
    return found


class Sections:
    """The sections of a note, to find the one that a new line belongs in.

    Args:
        entries: of the note, in order.
        titles: of its sections of level 2 and deeper, including empty ones.
        notes: the section for lines that belong nowhere else.
    """

    def __init__(self, entries: Sequence[Entry], titles: Sequence[str], notes: str) -> None:
        self.notes = next((title for title in titles if title.casefold() == notes.casefold()), notes)
        self.titles = list(dict.fromkeys(title for title in titles if title))
        self._entries = entries
        self._tags: dict[str, set[str]] = {}
        for entry in entries:
            for tag in entry.tags:
                self._tags.setdefault(tag.casefold(), set()).add(entry.section)

    @cached_property
    def _lines(self) -> list[tuple[str, frozenset[str]]]:
        """Section and stems of each entry that has a section."""
        return [(entry.section, frozenset(_stems(entry.text))) for entry in self._entries if entry.section]

    @cached_property
    def _counts(self) -> Counter[str]:
        """Stem → number of those entries with it."""
        return Counter(stem for _, stems in self._lines for stem in stems)

    def best(self, text: str, tags: Sequence[str] = ()) -> str:
        """Return the heading that a line with these words belongs under; it may not exist yet."""
        return self._by_tag(tags) or self._by_words(text) or self._by_kind(text) or self.notes

    def _by_tag(self, tags: Sequence[str]) -> str:
        """Return the section that is named for one of the tags, or is the only one with it; empty if there is none."""
        for tag in tags:
            name = tag.rpartition("/")[2].casefold()
            for title in self.titles:
                if title.casefold() in (tag.casefold(), name):
                    return title
            sections = self._tags.get(tag.casefold(), set())
            if len(sections) == 1:
                return next(iter(sections))
        return ""

    def _by_words(self, text: str) -> str:
        """Return the section that shares most of the line's words, weighted by rarity; empty if none shares enough."""
        stems = set(_stems(text))
        weights = {stem: self._weight(stem) for stem in stems}
        total = sum(weights.values())
        if not total:
            return ""
        shares: dict[str, list[float]] = {}
        for section, line in self._lines:
            if section != self.notes:
                shares.setdefault(section, []).append(sum(weights[stem] for stem in stems & line) / total)
        for title in self.titles:
            if title != self.notes:
                share = sum(weights[stem] for stem in stems & set(_stems(title))) / total
                shares.setdefault(title, []).append(share)
        best, best_score = "", 0.0
        for section, values in shares.items():
            top = sorted(values, reverse=True)[:NEAREST]
            score = top[0] + 0.25 * sum(top[1:])
            if score > best_score:
                best, best_score = section, score
        return best if best_score >= ENOUGH else ""

    def _weight(self, word: str) -> float:
        """Return the weight of a word: the rarer, the higher; half of that for a word that the note does not have."""
        count = self._counts[word]
        rarity = math.log(1 + (len(self._lines) + 1) / (count + 1))
        return rarity if count else rarity / 2  # an unknown word says nothing about where the line belongs

    def _by_kind(self, text: str) -> str:
        """Return the heading for the line's kind.

        One that does not exist is returned only for a note without headings of its own. Empty if there is none.
        """
        folded = text.casefold()
        own = [title for title in self.titles if title != self.notes and title not in _KINDS]
        for title, of_kind, heading in _kinds():
            if not of_kind.search(folded):
                continue
            existing = next((name for name in self.titles if heading.search(name.casefold())), "")
            if existing or (self.notes and not own):
                return existing or title
        return ""


def _stems(text: str) -> list[str]:
    common = _common(text)
    return [stem(word) for word in tokens(text) if word not in common]


def _common(text: str) -> frozenset[str]:
    """Return the function words of the text's language, and those of English."""
    code = language_of(text)
    return STOP_WORDS | language(code).words("words") | language(code).words("me") if code else STOP_WORDS


_pattern = partial(phrase_pattern, "feedback")


_POLITE = "polite", r"^(?:{}[,:]?\s+)+"
_FACTUAL = "denies", r"^{}[,:;.!]+\s+(?:(?:actually|it's actually),?\s+)?"
_LEADING, _TRAILING = ("leading_asides", r"^{},?\s+(?=\w)"), ("trailing_asides", r",?\s+{}(?=[.!]?$)")


class NewLine(NamedTuple):
    """The line that a statement or a piece of feedback becomes.

    Attributes:
        text: of the line.
        factual: it says how something is rather than what to do, so it belongs with the facts.
    """

    text: str
    factual: bool = False


def line_of_fact(said: str) -> NewLine:
    """Return a statement as a line: without asides or a final full stop, capitalised if it begins with a small word.

    Words that may be names of things (``npm``) stay in lower case. A statement about how to answer, or about what
    always or never to do, is a rule.
    """
    words = _trimmed(_pattern(*_TRAILING).sub("", _pattern(*_LEADING).sub("", said)))
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0] in feedback_words("starters"):
        words = _capitalised(words)
    plain = _pattern(*_POLITE).sub("", words)
    always = _pattern("always", r"{}\s+").match(plain)
    orders = always is not None and _imperative(plain[always.end() :])
    is_rule = orders or _pattern("answers", r"{}\s").match(plain)
    return NewLine(_capitalised(words) if orders else words, factual=not is_rule)


def line_of_feedback(said: str, *, praise: bool) -> NewLine:
    """Return the rule, or the fact, that a correction or praise becomes.

    Words that say what to do stay as they were said; others get a prefix: ``Correction: the distance was in miles``,
    ``Keep doing this: short answers``.

    Args:
        said: what the person wrote.
        praise: it is praise, not a correction.
    """
    words = _trimmed(said)
    plain = _pattern(*_POLITE).sub("", words) or words
    corrected = _pattern(*_FACTUAL).sub("", plain)
    if corrected != plain and not praise and not _imperative(corrected):
        return NewLine(_capitalised(corrected), factual=True)
    plain = corrected
    if _imperative(plain) or (not praise and _pattern("ought", r"\b{}\b").search(plain)):
        return NewLine(_capitalised(plain))
    return NewLine(f"{'Keep doing this' if praise else 'Correction'}: {plain}")


def _evidence(feedback: WaitingLine) -> str:
    """Return what a rule is based on, for the person who decides: the feedback, and what it was about."""
    about = [f"asked: {feedback.question}"] if feedback.question else []
    about += [f"answered: {feedback.answer}"] if feedback.answer else []
    return feedback.entry.text + (f" ({'; '.join(about)})" if about else "")


def _imperative(words: str) -> bool:
    """Whether the words begin with a verb that gives an order, and ask nothing."""
    first = re.match(r"[^\W\d_]+(?:['’][^\W\d_]+)?", words)
    if not first or "?" in words:
        return False
    return first[0].casefold().replace("’", "'") in feedback_words("orders")


def _capitalised(words: str) -> str:
    """Return the words with a capital at their beginning if the first one is all in lower case."""
    first = re.match(r"[^\W\d_]+", words)
    if first and first[0].islower():
        words = words[:1].upper() + words[1:]
    return words


def _trimmed(said: str) -> str:
    """Return the words with single spaces, and without the full stop of a lone sentence: a bullet needs none."""
    words = " ".join(said.split())
    if re.search(r"[^.!?…][.!]$", words) and not re.search(r"[.!?]\s", words):
        words = words[:-1]
    return words
