"""Candidates that state a fact over time, as proposals for ``Facts.md``: the line, and what it would end.

What a candidate states stands in its session's note, under the quote (``fact::``). One candidate is one proposal: the
fact, with the line of ``Memory.md`` as what it may become instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation.model import Ends, Instead, Proposal, Stated
from tars_memory.curation.reviewing import candidates
from tars_memory.errors import TarsError, counted
from tars_memory.vault import inbox
from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.markdown.facts import ME, WE, Claim, Predicates, claim_in, folded, heading_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from tars_memory.curation.reviewing.candidates import Candidate
    from tars_memory.settings import FactsOptions
    from tars_memory.vault.markdown.facts import Fact, Plan
    from tars_memory.vault.model import Entry
    from tars_memory.vault.vault import Vault

OP = "fact"
"""The op of these proposals."""


def with_claims(vault: Vault, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each with what its session's note says of it: what was said, what it states over time.

    The same words state the same, whichever session they are from. A line that was reworded since, or that does not
    hold the value at all, is read anew.
    """
    told = candidates.said(vault, {each.mark.block_id for each in found if each.kind == "fact"})
    by_words: dict[str, Claim] = {}
    claimed: list[Candidate] = []
    for each in found:
        talk, fact = told.get(each.mark.block_id, ("", each.said))
        text, claim = fact.text, claim_in(fact.claim)
        if claim is not None and (_folded(text) != _folded(each.text) or _folded(claim.object) not in _folded(text)):
            claim = _anew(each, claim.subject)
        if claim is not None and claim.until is None:
            by_words.setdefault(folded(each.text), claim._replace(since=None))
        claimed.append(each._replace(claim=claim, said=fact, talk=talk))
    return [
        each if each.claim or each.kind != "fact" else each._replace(claim=by_words.get(folded(each.text)))
        for each in claimed
    ]


class Facts:
    """``Facts.md`` as it stands, to hold claims against.

    Args:
        path: of the note.
        data: the note; empty if there is none.
        options: how predicates stand in time, and who the person is.
    """

    def __init__(self, path: str, data: bytes, options: FactsOptions) -> None:
        self._path = path
        self._read = facts.read(path, data)
        self._facts = self.all = [fact for _, fact in self._read]
        self._entries = {fact.ref: entry for entry, fact in self._read}
        self._predicates = Predicates.of(options)
        self._me = facts.names(options.me)
        self._open: dict[tuple[str, str], list[tuple[date, str]]] = {}
        self._titles: dict[str, str] = {}
        self._known: dict[tuple[str, str], list[Fact]] = {}

    def grouped(self, found: Sequence[Candidate]) -> list[list[Candidate]]:
        """Candidates with the same claim together, oldest first; what was said or so otherwise in between parts them.

        Args:
            found: all with a claim, oldest first.
        """
        groups: list[list[Candidate]] = []
        last: dict[tuple[str, str], list[Candidate]] = {}
        for each in found:
            if each.claim is None:
                continue
            about, value = each.claim.key[:2], each.claim.key[2]
            group = last.get(about)
            if group is None or not self._goes_on(group, each.claim, each.day):
                group = []
                groups.append(group)
                last[about] = group
            group.append(each)
            if each.state == "extracted" and each.claim.until is None:
                self._open.setdefault(about, []).append((each.day, value))
        return groups

    def _goes_on(self, group: Sequence[Candidate], claim: Claim, day: date) -> bool:
        """Whether the last that was said is this very claim, and no other value began since."""
        before = group[-1]
        if before.claim is None or (before.claim.key, before.claim.until) != (claim.key, claim.until):
            return False
        others = (fact for fact in self._about(claim) if folded(fact.object) != claim.key[2])
        return not any(fact.since and before.day < fact.since <= day for fact in others)

    def waits(self, group: Sequence[Candidate]) -> bool:
        """Whether a claim is no news now, but would be if what was said otherwise before it were accepted."""
        first, claim = group[0], self._claim(group)
        same = self._plan(claim, first.day).same if claim else None
        if claim is None or same is None or claim.until or not self._predicates.replaces(claim.predicate):
            return False
        began = same.since or first.day.min
        said = self._open.get(claim.key[:2], ())
        return any(value != claim.key[2] and began <= day <= first.day for day, value in said)

    def proposal(self, group: Sequence[Candidate], line: Proposal) -> Proposal | None:
        """What a claim comes to; None if ``Facts.md`` says so already.

        Args:
            group: candidates of the same claim, oldest first.
            line: what they would come to without it.
        """
        claim = self._claim(group)
        if claim is None:
            return line
        if claim.until is not None:
            return self._ending(claim, line)
        title, plan = self._title(claim), self._plan(claim, group[0].day)
        if plan.same is not None:
            return None
        words = facts.words(claim.predicate, claim.object, plan.since, plan.until)
        ends = tuple(_ends(self._entries[ending.fact.ref], ending.fact, plan) for ending in plan.endings)
        raw = "\n".join(end.raw for end in ends)
        return line._replace(
            id=inbox.proposal_id(OP, self._path, title, words, raw),
            op=OP,
            target=self._path,
            section=title,
            text=words,
            why=self._why(claim, plan, group),
            fact=Stated(
                title,
                claim.predicate,
                claim.object,
                _iso(plan.since),
                _iso(plan.until),
                ends,
                Instead(line.target, line.section, line.text),
            ),
        )

    def _ending(self, claim: Claim, line: Proposal) -> Proposal | None:
        """The end of a fact that is said to be over; None if it does not hold any more."""
        value = claim.key[2]
        over = next((f for f in self._about(claim) if f.until is None and facts.object_key(f.object) == value), None)
        if over is None:
            return None
        raw = self._entries[over.ref].raw
        words = facts.words(over.predicate, over.object, over.since, claim.until)
        return line._replace(
            id=inbox.proposal_id("replace", self._path, over.subject, words, raw),
            op="replace",
            target=self._path,
            section=over.subject,
            text=words,
            why=f"Ends {_named(over)} on {claim.until}",
            conflicts=(),
            replaces=raw,
        )

    def _claim(self, group: Sequence[Candidate]) -> Claim | None:
        """What a group states: with its first day, if one of them names it. None if no heading takes its subject."""
        claim = next((each.claim for each in group if each.claim and each.claim.since), group[0].claim)
        try:
            return claim if claim and self._title(claim) else None
        except TarsError:
            return None

    def _title(self, claim: Claim) -> str:
        if claim.subject not in self._titles:
            headings = (fact.subject for fact in self._facts)
            self._titles[claim.subject] = heading(heading_for(claim.subject, headings, self._me))
        return self._titles[claim.subject]

    def same(self, stated: Stated) -> list[Fact]:
        """The facts with the subject and predicate of a stated one."""
        return self._about(Claim(stated.subject, stated.predicate, ""))

    def _about(self, claim: Claim) -> list[Fact]:
        """The facts with its subject and predicate."""
        about = (self._title(claim), claim.predicate)
        if about not in self._known:
            title, predicate = map(folded, about)
            self._known[about] = [
                fact for fact in self._facts if folded(fact.predicate) == predicate and folded(fact.subject) == title
            ]
        return self._known[about]

    def _plan(self, claim: Claim, day: date) -> Plan:
        new = claim._replace(subject=self._title(claim), until=None)
        return facts.plan(self._about(claim), new, today=day, predicates=self._predicates)

    def _why(self, claim: Claim, plan: Plan, group: Sequence[Candidate]) -> str:
        parts = [f"ends {_named(ending.fact)} on {ending.on}" for ending in plan.endings]
        if plan.until is not None and self._predicates.replaces(claim.predicate):
            parts.append(f"back-dated: it ends on {plan.until}, when the next one begins")
        if len(group) > 1:
            days = dict.fromkeys(each.day.isoformat() for each in group)
            parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
        text = "; ".join(parts)
        return text[:1].upper() + text[1:]


def _ends(entry: Entry, fact: Fact, plan: Plan) -> Ends:
    becomes = facts.words(fact.predicate, fact.object, fact.since, plan.since)
    return Ends(fact.ref, entry.text, _iso(fact.since), _iso(plan.since), becomes, fact.path, fact.line, entry.raw)


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _named(fact: Fact) -> str:
    since = f"since {fact.since}" if fact.since else "without a date"
    return f"“{fact.predicate}:: {fact.object}” ({since}{f' until {fact.until}' if fact.until else ''})"


def _folded(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _anew(candidate: Candidate, subject: str) -> Claim | None:
    """What a line states as it stands now; whoever said "I" before says so still."""
    from tars_memory.curation.extraction.rules import stated

    claim = stated(candidate.text, candidate.day)
    return claim._replace(subject=subject) if claim and claim.subject == ME != subject != WE else claim
