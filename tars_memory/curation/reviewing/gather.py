"""What there is to review: candidates of all days, feedback and the inbox, as proposals. Reads, writes nothing.

Candidates that say the same are one proposal with several marks. Each is held against what stands in the tier notes:
what is there already needs no line, what says something else about the same is shown with both dates and offered as a
replacement, and nothing is dropped because it merely looks alike.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation import similarity
from tars_memory.curation.alike import BESIDE, Index
from tars_memory.curation.extraction import statements
from tars_memory.curation.extraction.second_look import RULE
from tars_memory.curation.model import Mark, Proposal
from tars_memory.curation.reviewing import arrivals, candidates, distil, inboxed, stated
from tars_memory.curation.reviewing.placing import Sections
from tars_memory.errors import NotFoundError, TarsError, counted
from tars_memory.options import FactsOptions
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import date

    from tars_memory.capture.context import Context
    from tars_memory.curation.reviewing.candidates import Candidate
    from tars_memory.vault.model import Entry
    from tars_memory.vault.vault import Vault

CONFLICTS = 5
"""Lines that a proposal names as saying something else; more could not be read at a glance."""

SHOWN = 120
"""Characters of another line that a reason repeats."""

OPEN = "extracted"
"""The state of a candidate that may yet age."""

NEW = "New: nothing about it stands in your notes"
"""Why a proposal is made that needs no further word."""

_SAYS = {
    "conflict": "contradicts",
    "update": "changes",
    "near": "says much the same as",
    BESIDE: "new, beside",
}


class Gathered(NamedTuple):
    """What waits, and what needs no word of the person.

    Attributes:
        proposals: all of them, those that were said most often first, then the oldest.
        aged: candidates that nobody decided within the window; to become ``[expired]``.
        settled: candidates whose words stand in a tier note already; to become ``[promoted]``.
        notices: what could not be read.
    """

    proposals: list[Proposal]
    aged: list[Mark]
    settled: list[Mark]
    notices: list[str]


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
        told: for so many of the proposals, the first ones, other candidates that say something else about the same
            are named too; None for all.
        arrived: the block ids of the candidates that were extracted within the window, whenever they were said: they
            do not age yet. Asked at most once, and only if something has aged.
        facts: how predicates of facts stand in time, and who the person is.
    """
    arrived = cache(arrived)
    waiting = candidates.read(vault, expired=expired)
    standing = _Standing(vault, dated, waiting.notices, facts or FactsOptions())
    kept = inboxed.kept(vault, standing.promoted, waiting.notices)
    taken = {(mark.path, mark.block_id) for proposal in kept for mark in proposal.marks}
    proposals: list[Proposal] = []
    aged: list[Mark] = []
    settled: list[Mark] = []
    beside: dict[str, _Others] = {}
    open_ = [each for each in waiting.candidates if (each.mark.path, each.mark.block_id) not in taken]
    open_ = stated.with_claims(vault, open_)
    for kind in ("fact", "correction", "reward"):
        groups = _grouped([each for each in open_ if each.kind == kind and not each.claim])
        groups += standing.facts.grouped([each for each in open_ if each.kind == kind and each.claim])
        old = [_aged(group, today, window_days) and not _new(group, arrived) for group in groups]
        aged += [
            each.mark for group, past in zip(groups, old, strict=True) if past for each in group if each.state == OPEN
        ]
        fresh = [group for group, past in zip(groups, old, strict=True) if expired or not past]
        others = _Others(fresh)
        for group in fresh:
            if group[0].claim and standing.facts.waits(group):
                continue
            made = standing.proposal(group)
            if made is None:
                settled += [each.mark for each in group]
            else:
                proposals.append(made)
                beside[made.id] = others
    once: dict[str, Proposal] = {}
    for proposal in (*proposals, *kept):
        same = once.get(proposal.id)
        once[proposal.id] = same._replace(marks=(*same.marks, *proposal.marks)) if same else proposal
    # The oldest first, those of one day as they were said: what changed its mind comes after what it changes.
    ordered = sorted(once.values(), key=lambda each: each.date)
    ordered.sort(key=lambda each: len(each.marks), reverse=True)
    rivals = stated.Rivals(ordered)
    for number, proposal in enumerate(ordered[:told]):
        if proposal.id in beside and len(proposal.conflicts) < CONFLICTS:
            found = dict.fromkeys((*rivals.of(proposal), *beside[proposal.id].about(proposal)))
            more = list(found)[: CONFLICTS - len(proposal.conflicts)]
            ordered[number] = proposal._replace(conflicts=(*proposal.conflicts, *more))
    return Gathered(ordered, aged, settled, waiting.notices)


def offered(ctx: Context, window_days: int) -> frozenset[tuple[str, str]]:
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
        arrived=lambda: arrivals.arrived(ctx.store.journal, since),
        facts=ctx.facts_options,
    )
    return frozenset((mark.path, mark.block_id.lower()) for each in found.proposals for mark in each.marks)


def quoted(vault: Vault, proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals with what was said, and what a second look found, as the session notes have it."""
    found = candidates.quotes(vault, [mark.block_id for each in proposals for mark in each.marks[:1]])

    def told(proposal: Proposal) -> Proposal:
        said = found.get(proposal.marks[0].block_id) if proposal.marks else None
        if said is None:
            return proposal
        return proposal._replace(quote=proposal.quote or said.quote, kind=said.kind, warnings=said.warnings)

    return [told(each) for each in proposals]


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
        data = b""
        for path in (layout.memory, layout.procedural, layout.facts):
            try:
                data = vault.read(path) if vault.look(path) is not None else b""
            except NotFoundError:
                data = b""
            except TarsError as error:
                notices.append(error.message)
                data = b""
            document = Document(data)
            entries = [*grammar.read(path, document), *grammar.unlisted(path, document)]
            self.entries += entries
            self.promoted |= {entry.provenance.casefold() for entry in entries if entry.provenance}
            titles = [section.title for section in document.sections if section.level > 1]
            self._sections[path] = Sections(entries, titles, layout.notes_section)
        self._index = Index([entry.text for entry in self.entries])
        self.facts = stated.Facts(layout.facts, data, options)

    def proposal(self, group: Sequence[Candidate]) -> Proposal | None:
        """What to do about some candidates that say the same; None if that stands there already."""
        line = self._line(group)
        if line is None or not group[0].claim or line.target != self.memory:
            return line
        return self.facts.proposal(group, line)

    def _line(self, group: Sequence[Candidate]) -> Proposal | None:
        """The line that they come to; None if their words stand there already."""
        first = group[0]
        if any(each.mark.block_id and each.source.casefold() in self.promoted for each in group):
            return None
        rule = distil.fact(first.text) if first.kind == "fact" else distil.rule(first.text, good=first.kind == "reward")
        if first.seen:
            rule = rule._replace(factual=first.seen != RULE)
        text = grammar.neutralise(rule.text)
        target = self.memory if rule.factual else self.procedural
        found = [(self.entries[number], kind) for number, kind in self._index.about(text)]
        if any(kind == "same" for _, kind in found):
            return None
        old = next((each for each in found if each[1] != BESIDE and each[0].path == target and not each[0].depth), None)
        if old:  # the person's own tags outlive the wording
            text = grammar.tagged(text, old[0].tags)
        found.sort(key=lambda each: each is not old)
        conflicts = [self._told(entry) for entry, _ in found][:CONFLICTS]
        section = old[0].section if old else self._sections[target].best(text, grammar.tags_of(text))
        op, replaces = ("replace", old[0].raw) if old else ("append", "")
        quote = "" if first.kind == "fact" else distil.evidence(first.text, first.question, first.answer)
        return Proposal(
            id=inbox.proposal_id(op, target, "", text, replaces),
            op=op,
            target=target,
            section=section or self._sections[target].notes,
            text=text,
            quote=quote,
            source=first.source,
            date=first.day.isoformat(),
            why=self._why(group, old or next(iter(found), None)),
            conflicts=tuple(conflicts),
            replaces=replaces,
            marks=tuple(each.mark for each in group),
        )

    def _why(self, group: Sequence[Candidate], about: tuple[Entry, str] | None) -> str:
        first = group[0]
        parts = []
        if about:
            entry, kind = about
            day = self._day(entry)
            newer = ", which is newer" if day > group[-1].day.isoformat() else ""
            parts.append(f"{_SAYS[kind]} “{_cut(entry.text)}” ({day or 'its day is not known'}{newer})")
        if first.kind != "fact":
            parts.append("a correction of yours" if first.kind == "correction" else "praise of yours")
        if len(group) > 1:
            days = list(dict.fromkeys(each.day.isoformat() for each in group))
            parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
        others = list(dict.fromkeys(each.text for each in group if each.text != first.text))
        if others:
            parts.append("also as " + ", ".join(f"“{_cut(text)}”" for text in others[:3]))
        text = "; ".join(parts)
        return text[:1].upper() + text[1:] if text else NEW

    def _told(self, entry: Entry) -> str:
        day = self._day(entry)
        return f"{entry.path}: {entry.text}" + (f" ({day})" if day else "")

    def _day(self, entry: Entry) -> str:
        if entry.provenance:
            name = entry.provenance.partition("#")[0].rpartition("/")[2]
            if len(name) == len("2026-11-21") and name[:4].isdigit():
                return name
        return self._dated(entry) if self._dated else ""


def _aged(group: Sequence[Candidate], today: date, window_days: int) -> bool:
    """Whether it is offered no more: the last time it was said is too long ago. Feedback does not age."""
    return group[-1].kind == "fact" and candidates.is_old(group[-1].day, today, window_days)


def _new(group: Sequence[Candidate], arrived: Callable[[], Collection[str]]) -> bool:
    """Whether one of them was extracted only now."""
    names = arrived()
    return any(each.mark.block_id in names for each in group)


def _grouped(found: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates that say the same, together; oldest first in each.

    Statements that are the same or near hold the same content, so only such are compared.
    """
    alike: dict[tuple[str, ...], list[list[Candidate]]] = {}
    groups: list[list[Candidate]] = []
    for candidate in found:
        new = statements.read(candidate.text)
        near = alike.setdefault(tuple(sorted(new.content)) or new.words, [])
        for group in near:
            if similarity.compare(statements.read(group[0].text), new) in ("same", "near"):
                group.append(candidate)
                break
        else:
            near.append([candidate])
            groups.append(near[-1])
    return groups


class _Others:
    """What other candidates say about the same.

    Args:
        groups: each of candidates that say the same.
    """

    def __init__(self, groups: Sequence[Sequence[Candidate]]) -> None:
        self._groups = groups
        self._index: Index | None = None

    def about(self, proposal: Proposal) -> list[str]:
        """Those that contradict a proposal of these candidates, or say another value; each with its day."""
        if self._index is None:
            self._index = Index(group[0].text for group in self._groups)
        own = set(proposal.marks)
        text = next((group[0].text for group in self._groups if group[0].mark in own), "")
        found = [self._groups[number] for number, kind in self._index.about(text) if kind not in ("same", "near")]
        return [f"{group[-1].day}: {group[0].text}" for group in found if group[0].mark not in own]


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1].rstrip() + "…"
