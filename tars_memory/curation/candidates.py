"""Reads what waits for review: candidates in the daily notes, feedback, and the files of the inbox. Writes nothing.

A candidate may state a fact, which its session note has under the quote (``fact::``). The fact and the candidate are
one proposal, with the facts that it would end and the line of ``Memory.md`` that it may become instead. A proposal of
the inbox says whether it can be accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import partial
from itertools import takewhile
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import vault
from tars_memory.curation import extraction
from tars_memory.curation.commit import refused
from tars_memory.curation.proposals import EndedFact, Mark, PlainLine, Proposal, ProposedFact, Related, question_about
from tars_memory.errors import NotFoundError, TarsError, counted
from tars_memory.vault import change, inbox, markdown, sessions
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tars_memory.settings import FactsOptions
    from tars_memory.vault.vault import Vault


NOTE, INPUT, GOT = "note:", "input:", "got:"
"""Prefixes of the bullets of feedback in notes of tars."""

_BLOCK_LINK = re.compile(rb"#\^([A-Za-z0-9-]+)")


_DISPUTED = [f"- {prefix}".encode() for prefix in (markdown.lines.ALSO_CHANGED, markdown.lines.ALSO_REMOVED)]


class WaitingLine(NamedTuple):
    """A candidate that waits for a decision.

    Attributes:
        entry: with its block id, or the one that it will get; feedback of tars without its ``note:``.
        day: of its note, or of the feedback.
        kind: ``fact``, ``correction`` or ``reward``.
        question, answer: that the feedback is about; empty for none.
        steps: the procedure that feedback gives, in its words or in a list below it; None for none.
        session_fact: its fact in the newest session note that links to it; empty for none.
        talk: path of that note; empty for none.
        claim: the fact that it states; None for none.
    """

    entry: Entry
    day: date
    kind: str = "fact"
    question: str = ""
    answer: str = ""
    steps: markdown.lines.Steps | None = None
    session_fact: sessions.SessionFact = sessions.SessionFact("")
    talk: str = ""
    claim: facts.Claim | None = None

    @property
    def mark(self) -> Mark:
        """The line as a proposal names it, to set its state."""
        return Mark(self.entry.path, self.entry.raw, self.entry.block_id or "")

    @property
    def source(self) -> str:
        """The line as the target of a link: ``2026-11-21#^d-abc``.

        It includes the note's folders where other notes may share the name: in a project, or if days are called
        ``2026/11/21``.
        """
        whole = self.entry.path[:-3]
        name = whole.rpartition("/")[2]
        is_alone = not vault.layout.is_in_project(whole) and (self.kind != "fact" or name == self.day.isoformat())
        return f"{name if is_alone else whole}#^{self.entry.block_id}"


class Waiting(NamedTuple):
    """The undecided candidates of a scope.

    Attributes:
        candidates: oldest first; those of one day in the order of their lines.
        notices: errors of notes that can't be read.
        refused: texts that were rejected, each once.
    """

    candidates: list[WaitingLine]
    notices: list[str]
    refused: list[str]


def read(vault: Vault, rejected: Iterable[str], *, expired: bool = False) -> Waiting:
    """Return the undecided candidates of all daily notes, including archived ones, and of the feedback.

    Args:
        vault: to read; only notes of our scope count, because each project has a memory of its own.
        rejected: texts of rejected proposals (:func:`tars_memory.vault.inbox.refused`).
        expired: also return candidates that are marked ``[expired]``.
    """
    layout = vault.layout
    states = ("extracted", "expired") if expired else ("extracted",)
    notices: list[str] = []
    found: list[WaitingLine] = []
    refused = dict.fromkeys(words for words in rejected if markdown.lines.unbulleted(words) == words)  # no removals
    for path in vault.tier_paths(Tier.DAILY):
        note, day = read_note(vault, path, notices), layout.day_of(path)
        if day and any(f"[{state}]".encode() in note.data for state in (*states, "rejected")):
            entries = note.entries
            ids = _BlockIds(entries)
            # what is kept leaves its neighbours, which alone show that it is a code of a list: such a line stays there
            codes = _lines_of_codes(note.data)
            waiting = (entry for entry in entries if entry.state in states and entry.line not in codes)
            found += (WaitingLine(ids.identified(entry), day) for entry in waiting)
            refused |= dict.fromkeys(entry.text for entry in entries if entry.state == "rejected")
    for path, kind in ((layout.corrections, "correction"), (layout.rewards, "reward")):
        if (note := read_note(vault, path, notices)).data:
            found += _feedback(note, kind)
    found.sort(key=lambda candidate: candidate.day)  # stable: lines of one note keep their order
    return Waiting(_with_claims(vault, found), notices, list(refused))


def _lines_of_codes(data: bytes) -> set[int]:
    """Return the numbers of the lines of a note that hold a credential which a line alone doesn't show to be one."""
    shown = vault.secrets.veiled(data)
    lines = zip(vault.vault.note_lines(data), vault.vault.note_lines(shown), strict=True) if shown is not data else ()
    return {number for number, (was, now) in enumerate(lines, 1) if was != now and vault.secrets.mask(was) == was}


def earliest(today: date, window_days: int) -> date:
    """Return the first day of the window."""
    return date.fromordinal(max(1, today.toordinal() - window_days))


def arrived(vault: Vault, since: date) -> frozenset[str]:
    """Return the block ids of the candidates of our scope that were extracted on a day or later, on any machine.

    The session notes say when. If a session note has grown since that day, all of its candidates count.
    """
    found: set[str] = set()
    for note in map(partial(read_note, vault, notices=[]), vault.tier_paths(Tier.EPISODIC)):
        if sessions.extracted_on(note.data) >= since.isoformat():
            found |= sessions.facts_by_block(note.data).keys()
    return frozenset(found)


def _session_facts(vault: Vault, lines: Iterable[Entry]) -> dict[str, tuple[str, sessions.SessionFact]]:
    """Return, by block id of a daily line, the path of the newest session note that links to it, and its fact there."""
    wanted = {line.block_id for line in lines if line.block_id}
    found: dict[str, tuple[str, sessions.SessionFact]] = {}
    paths = vault.tier_paths(Tier.EPISODIC) if wanted else []
    for path in sorted(paths, key=lambda path: (not vault.layout.is_archived(path), path), reverse=True):
        data = read_note(vault, path, []).data
        if linked := wanted & {name.decode("ascii") for name in _BLOCK_LINK.findall(data)}:
            found |= {name: (path, fact) for name, fact in sessions.facts_by_block(data).items() if name in linked}
            wanted -= linked
        if not wanted:
            break
    return found


def _feedback(note: Note, kind: str) -> Iterator[WaitingLine]:
    """Yield the undecided feedback of a note.

    It is bullets that begin with a time; or, in notes of tars, sections whose heading is a time and whose bullets begin
    with ``input:``, ``got:`` and ``note:``.
    """
    entries = note.entries
    ids = _BlockIds(entries, "f")
    for number, entry in enumerate(entries):
        if entry.depth or entry.state:
            continue
        if entry.time:
            details = [*takewhile(lambda below: below.depth, entries[number + 1 :])]
            words, keys, time = entry.text, (grammar.QUESTION, grammar.ANSWER), entry.time
        elif entry.text.startswith(NOTE):
            details = [other for other in entries if other.section == entry.section and not other.depth]
            words, keys, time = entry.text.removeprefix(NOTE), (INPUT, GOT), entry.section
        else:
            continue
        date_of = re.match(r"\d{4}-\d\d-\d\d(?=[T ])", time)
        day = markdown.lines.calendar_day(date_of[0]) if date_of else None
        if day is not None and words.strip():
            question, answer = (
                next((detail.text.removeprefix(key).strip() for detail in details if detail.text.startswith(key)), "")
                for key in keys
            )
            identified = ids.identified(entry)._replace(text=words.strip())
            yield WaitingLine(identified, day, kind, question, answer, _steps(note, identified))


def _steps(note: Note, entry: Entry) -> markdown.lines.Steps | None:
    """Return the procedure in a feedback's words, or in a numbered list below them; None if there is none."""
    words = entry.text
    below = "\n".join(note.document.text(line) for line in range(entry.line + 1, entry.end_line + 1))
    title = words.rstrip(" :：")
    if found := markdown.lines.steps_in(words):
        return found._replace(lead=found.lead or title)
    found = markdown.lines.steps_in(dedent(below)) if below.strip() else None
    return found and found._replace(lead=title)


class _BlockIds:
    """Gives block ids, each unique in the note, to candidates that have none, so that they can be linked to."""

    def __init__(self, entries: Sequence[Entry], prefix: str = "d") -> None:
        self._prefix = prefix
        self._taken = {entry.block_id.lower() for entry in entries if entry.block_id}
        self._repeats: Counter[str] = Counter()

    def identified(self, entry: Entry) -> Entry:
        """Return the next candidate of the note with its block id, its own or a new one."""
        name = entry.block_id
        while name is None:
            new = grammar.block_id(entry.path, entry.text, self._prefix, self._repeats[entry.text])
            self._repeats[entry.text] += 1
            name = None if new in self._taken else new
        return entry._replace(block_id=name)


def read_note(vault: Vault, path: str, notices: list[str]) -> Note:
    """Return a note; an empty one if it does not exist or, with a notice, if it can't be read."""
    try:
        if vault.look(path) is not None:
            return vault.note(path)
    except NotFoundError:
        pass
    except TarsError as error:
        notices.append(error.message)
    return Note.of(vault.layout, path, None)


OP = "fact"
"""The op of proposals that add a fact."""


def _with_claims(vault: Vault, found: Sequence[WaitingLine]) -> list[WaitingLine]:
    """Return the candidates with what their session notes know: quote, kind, warnings, and the fact that they state.

    The same words state the same fact, whichever session they are from. If a candidate was reworded since, or does not
    contain the fact's object, the fact is read from its words again.
    """
    known = _session_facts(vault, [line.entry for line in found if line.kind == "fact"])
    by_words: dict[str, facts.Claim] = {}
    claimed: list[WaitingLine] = []
    for line in found:
        talk, fact = known.get(line.entry.block_id or "", ("", line.session_fact))
        claim = facts.claim_in(fact.claim)
        said = _folded(fact.text)
        if claim is not None and not (said == _folded(line.entry.text) and _folded(claim.object) in said):
            claim = _reread(line, claim.subject)
        if claim is not None and claim.until is None:
            by_words.setdefault(facts.folded(line.entry.text), claim._replace(since=None))
        claimed.append(line._replace(claim=claim, session_fact=fact, talk=talk))
    return [
        line if line.claim or line.kind != "fact" else line._replace(claim=by_words.get(facts.folded(line.entry.text)))
        for line in claimed
    ]


class StatedFacts:
    """The facts of ``Facts.md``, to compare claims with.

    Args:
        note: ``Facts.md``; an empty note if there is none.
        options: which predicates change over time, and who the person is.
    """

    def __init__(self, note: Note, options: FactsOptions) -> None:
        self._path = note.path
        self._facts = [fact for _, fact in note.facts]
        self._entries = {fact.ref: entry for entry, fact in note.facts}
        self._predicates = facts.Predicates.of(options)
        self._me = options.me
        self._open: dict[tuple[str, str], list[tuple[date, str]]] = {}
        self._titles: dict[str, str] = {}
        self._known: dict[tuple[str, str], list[facts.Fact]] = {}
        for fact in self._facts:
            self._known.setdefault(fact.about, []).append(fact)

    def is_of(self, fact: facts.Fact, subject: str) -> bool:
        """Whether a fact is about the person, or about the subject."""
        return facts.folded(fact.subject) in {facts.folded(name) for name in (*self._me, subject)}

    def grouped(self, found: Sequence[WaitingLine]) -> list[list[WaitingLine]]:
        """Group candidates with the same claim; a different claim, or a fact that began in between, separates them.

        Args:
            found: candidates, those with a claim oldest first; those without one are left out.
        """
        groups: list[list[WaitingLine]] = []
        last: dict[tuple[str, str], list[WaitingLine]] = {}
        for line in found:
            if line.claim is None:
                continue
            about, value = line.claim.about, line.claim.key[2]
            group = last.get(about)
            if group is None or not self._continues(group, line.claim, line.day):
                group = []
                groups.append(group)
                last[about] = group
            group.append(line)
            if line.entry.state == "extracted" and line.claim.until is None:
                self._open.setdefault(about, []).append((line.day, value))
        return groups

    def _continues(self, group: Sequence[WaitingLine], claim: facts.Claim, day: date) -> bool:
        """Whether the group's last candidate makes the same claim, and no fact with another object began since."""
        last = group[-1]
        if last.claim is None or (last.claim.key, last.claim.until) != (claim.key, claim.until):
            return False
        others = (fact for fact in self._about(claim) if facts.folded(fact.object) != claim.key[2])
        return not any(fact.since and last.day < fact.since <= day for fact in others)

    def rivals(self, today: date) -> list[list[facts.Fact]]:
        """Return the groups of facts of which only one can hold today."""
        return facts.rivals(self._facts, self._predicates, today)

    def waits(self, group: Sequence[WaitingLine]) -> bool:
        """Whether a claim adds nothing now, but will once an earlier candidate with another object is accepted."""
        first, claim = group[0], self._claim(group)
        same = self._plan(claim, first.day).same if claim else None
        if claim is None or same is None or claim.until or not self._predicates.replaces(claim.predicate):
            return False
        began = same.since or first.day.min
        open_values = self._open.get(claim.about, ())
        return any(value != claim.key[2] and began <= day <= first.day for day, value in open_values)

    def proposal(self, group: Sequence[WaitingLine], line: Proposal) -> Proposal | None:
        """Return the proposal that a claim becomes; None if ``Facts.md`` has the fact already.

        Args:
            group: candidates with the same claim, oldest first.
            line: the proposal that they would become without the claim.
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
        subject = facts.heading_for(claim.subject, (), self._me)  # whichever heading Facts.md has for it by now
        return line._replace(
            id=inbox.proposal_id(OP, self._path, subject, words, raw),
            op=OP,
            target=self._path,
            section=title,
            text=words,
            why=self._why(claim, plan, group),
            fact=ProposedFact(
                title,
                claim.predicate,
                claim.object,
                _iso(plan.since),
                _iso(plan.until),
                ends,
                PlainLine(line.target, line.section, line.text),
            ),
        )

    def _ending(self, claim: facts.Claim, line: Proposal) -> Proposal | None:
        """Return the proposal to end a fact; None if no such fact is open."""
        value = claim.key[2]
        ended = next((f for f in self._about(claim) if f.until is None and facts.object_key(f.object) == value), None)
        if ended is None:
            return None
        raw = self._entries[ended.ref].raw
        words = facts.words(ended.predicate, ended.object, ended.since, claim.until)
        return line._replace(
            id=inbox.proposal_id("replace", self._path, ended.subject, words, raw),
            op="replace",
            target=self._path,
            section=ended.subject,
            text=words,
            why=f"Ends {_shown(ended)} on {claim.until}",
            conflicts=(),
            replaces=raw,
        )

    def _claim(self, group: Sequence[WaitingLine]) -> facts.Claim | None:
        """Return the claim of a group, with its first day if one of them names it; None for a subject that can't be a
        heading.
        """
        claim = next((line.claim for line in group if line.claim and line.claim.since), group[0].claim)
        try:
            return claim if claim and self._title(claim) else None
        except TarsError:
            return None

    def _title(self, claim: facts.Claim) -> str:
        """Return the heading of ``Facts.md`` for the claim's subject."""
        if claim.subject not in self._titles:
            headings = (fact.subject for fact in self._facts)
            self._titles[claim.subject] = grammar.heading(facts.heading_for(claim.subject, headings, self._me))
        return self._titles[claim.subject]

    def same(self, fact: ProposedFact) -> list[facts.Fact]:
        """Return the facts with the subject and predicate of a proposed one."""
        return self._about(facts.Claim(fact.subject, fact.predicate, ""))

    def _about(self, claim: facts.Claim) -> list[facts.Fact]:
        """Return the facts with the subject and predicate of a claim."""
        return self._known.get(claim._replace(subject=self._title(claim)).about, [])

    def _plan(self, claim: facts.Claim, day: date) -> facts.Plan:
        """Plan adding a claim on a day: what it ends, and from when to when it holds."""
        new = claim._replace(subject=self._title(claim), until=None)
        given_up = self._predicates.ended_by(claim.predicate)
        known = [*self._about(claim)]
        known += (fact for predicate in given_up for fact in self._about(claim._replace(predicate=predicate)))
        return facts.plan(known, new, today=day, predicates=self._predicates)

    def _why(self, claim: facts.Claim, plan: facts.Plan, group: Sequence[WaitingLine]) -> str:
        """Return the ``why`` of a proposed fact: what it ends, if it is back-dated, how often it was said."""
        parts = [f"ends {_shown(ending.fact)} on {ending.on}" for ending in plan.endings]
        if plan.until is not None and self._predicates.replaces(claim.predicate):
            parts.append(f"back-dated: it ends on {plan.until}, when the next one begins")
        if len(group) > 1:
            days = dict.fromkeys(line.day.isoformat() for line in group)
            parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
        text = "; ".join(parts)
        return text[:1].upper() + text[1:]


def _ends(entry: Entry, fact: facts.Fact, plan: facts.Plan) -> EndedFact:
    becomes = facts.words(fact.predicate, fact.object, fact.since, plan.since)
    return EndedFact(fact.ref, entry.text, _iso(fact.since), _iso(plan.since), becomes, fact.path, fact.line, entry.raw)


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _shown(fact: facts.Fact) -> str:
    """Return a fact with its dates, to be named in a sentence."""
    since = f"since {fact.since}" if fact.since else "without a date"
    return f"“{fact.predicate}:: {fact.object}” ({since}{f' until {fact.until}' if fact.until else ''})"


def _folded(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _reread(candidate: WaitingLine, subject: str) -> facts.Claim | None:
    """Return the claim in a line's present words; a claim about the person keeps the subject that it had."""
    claim = extraction.rules.stated(candidate.entry.text, candidate.day)
    return claim._replace(subject=subject) if claim and claim.subject == facts.ME != subject != facts.WE else claim


def kept(vault: Vault, sources: Collection[str], lines: Mapping[str, Related], notices: list[str]) -> list[Proposal]:
    """Return the proposals of the inbox that were not rejected on another machine.

    Args:
        vault: to read.
        sources: the case-folded provenances of the lines of the tier notes.
        lines: the entries of the tier notes by REF.
        notices: receives a sentence for each file that is not a proposal.
    """
    decided = inbox.decided(vault)
    found = []
    for stored in inbox.pending(vault, notices):
        if decided.get(stored["id"]) in ("rejected", "ignored"):
            continue
        marks = tuple(Mark(*mark) for mark in stored["marks"] if len(mark) >= 2)
        names = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "replaces", "occurrence")
        related = tuple(_current(Related(**line), lines) for line in stored["conflicts"])
        proposal = Proposal(**{name: stored[name] for name in names}, conflicts=related, marks=marks, kept=True)
        refusal = refused(vault.layout, proposal) or _why_not_found(vault, proposal)
        never = f"it can only be rejected: {refusal}" if refusal else ""
        why = (stored["why"], never, _why_needless(proposal, sources))
        found.append(proposal._replace(why="; ".join(part for part in why if part)))
    return found


def disputes(vault: Vault, today: date, lines: Mapping[str, Related], notices: list[str]) -> list[Proposal]:
    """Return the questions that merges left in the notes: about lines that two machines changed differently.

    Args:
        vault: to read; only notes of our scope count.
        today: the date of the questions.
        lines: the entries of the tier notes by REF.
        notices: receives a sentence for each note that can't be read.
    """
    layout = vault.layout
    by_place = {(line.path, line.line): line for line in lines.values()}
    found = []
    for path in vault.paths():
        is_merged = layout.tier_of(path) is not Tier.NOTE or layout.timed(path) or layout.agent_of(path)
        if not layout.is_ours(path) or not is_merged:
            continue
        note = read_note(vault, path, notices)
        if not any(mark in note.data for mark in _DISPUTED):
            continue
        for dispute in markdown.merging.disputed(note.entries):
            asked = tuple(by_place.get((path, entry.line)) or _asked(vault, note, entry) for entry in dispute.lines)
            if len({line.text for line in asked}) < len(asked):  # the sides disagree about a state, a time, an author
                asked = tuple(line._replace(text=markdown.lines.unbulleted(line.raw)) for line in asked)
            how = "One machine removed “{}”, another one changed it" if dispute.removed else "Two machines changed “{}”"
            why = how.format(dispute.was)
            words = f"Does this still hold: “{asked[0].text}”?" if dispute.removed else ""
            found.append(question_about(path, dispute.lines[-1].section, asked, today.isoformat(), why, words))
    return found


def _asked(vault: Vault, note: Note, entry: Entry) -> Related:
    """Return a line that a question is about, so that it can be chosen."""
    raw, number = change.reference_to(note, entry)
    day = vault.layout.day_of(note.path)
    return Related.of(entry, _iso(day) or "")._replace(raw=raw, occurrence=number)


def _current(line: Related, lines: Mapping[str, Related]) -> Related:
    """Return a line as it is in its note now; one that is gone is returned as it was, and can't be chosen."""
    found = lines.get(line.ref)
    return found._replace(date=line.date) if found and found.path == line.path else line


def _why_not_found(vault: Vault, proposal: Proposal) -> str:
    """Return why the line that a proposal changes can't be found; empty if it can, or the proposal changes none."""
    if not proposal.replaces or proposal.op not in ("replace", "remove"):
        return ""
    path = proposal.target
    try:
        note = Note.of(vault.layout, path, vault.read(path))
        found: Any = change.locate(note, proposal.replaces, occurrence=proposal.occurrence)
    except TarsError as error:
        found = error.message
    return found if isinstance(found, str) else ""


def _why_needless(proposal: Proposal, sources: Collection[str]) -> str:
    """Return a sentence if accepting a proposal would change nothing: a line of the notes has its source already."""
    if proposal.op != "append" or proposal.source.casefold() not in sources:
        return ""
    return "a line of your notes comes from the same source: accepting it adds nothing"
