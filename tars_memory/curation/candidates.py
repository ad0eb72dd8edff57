"""What waits for the person's word: lines of the daily notes and the feedback, and the files of the inbox. Reads only.

A candidate may state a fact over time; it stands in its session's note, under the quote (``fact::``). It is one
proposal then: the fact with what it would end, and with the line of ``Memory.md`` that it may become instead. With a
proposal of the inbox comes what there is to know before a person decides: whether it can be accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import partial
from itertools import takewhile
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation import extraction
from tars_memory.curation.commit import refused
from tars_memory.curation.proposals import Ends, Instead, Mark, Proposal, Related, Stated, question_about
from tars_memory.errors import NotFoundError, TarsError, counted
from tars_memory.vault import change, inbox, markdown, sessions
from tars_memory.vault.layout import is_in_project
from tars_memory.vault.markdown import entries as grammar, facts
from tars_memory.vault.model import Entry, Tier, role
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tars_memory.settings import FactsOptions
    from tars_memory.vault.vault import Vault


NOTE, INPUT, GOT = "note:", "input:", "got:"
"""How the bullets of feedback begin in notes of tars."""

_NAMED = re.compile(rb"#\^([A-Za-z0-9-]+)")


_DISPUTED = [f"- {said}".encode() for said in (markdown.lines.ALSO_CHANGED, markdown.lines.ALSO_REMOVED)]


class WaitingLine(NamedTuple):
    """A line that waits.

    Attributes:
        entry: with the block id that it has or is to get; feedback of tars without its ``note:``.
        day: of its note, or of the feedback.
        kind: ``fact``, ``correction`` or ``reward``.
        question, answer: that the feedback is about; empty for none.
        steps: the procedure that feedback gives, in its words or in a list below it; None for none.
        said: what the newest session note that links to it says of it.
        talk: path of that note; empty for none.
        claim: what it states over time; None for nothing.
    """

    entry: Entry
    day: date
    kind: str = "fact"
    question: str = ""
    answer: str = ""
    steps: markdown.lines.Steps | None = None
    said: sessions.SessionFact = sessions.SessionFact("")
    talk: str = ""
    claim: facts.Claim | None = None

    @property
    def mark(self) -> Mark:
        """The line itself."""
        return Mark(self.entry.path, self.entry.raw, self.entry.block_id or "")

    @property
    def source(self) -> str:
        """``2026-11-21#^d-abc``, as a link's target; with its folders where other notes may share its name: that of a
        project, and a day that is called ``2026/11/21``.
        """
        whole = self.entry.path[:-3]
        name = whole.rpartition("/")[2]
        is_alone = not is_in_project(whole) and (self.kind != "fact" or name == self.day.isoformat())
        return f"{name if is_alone else whole}#^{self.entry.block_id}"


class Waiting(NamedTuple):
    """What was found.

    Attributes:
        candidates: oldest first; of the same day in the order of their lines.
        notices: notes that can't be read.
        refused: the words of what was rejected, each once.
    """

    candidates: list[WaitingLine]
    notices: list[str]
    refused: list[str]


def read(vault: Vault, rejected: Iterable[str], *, expired: bool = False) -> Waiting:
    """The undecided candidates of all daily notes, archived ones too, and of the feedback.

    Args:
        vault: to read, as far as it is of our scope: each project has a memory of its own.
        rejected: the words of proposals that were (:func:`tars_memory.vault.inbox.refused`).
        expired: those that aged, too.
    """
    layout = vault.layout
    states = ("extracted", "expired") if expired else ("extracted",)
    notices: list[str] = []
    found: list[WaitingLine] = []
    refused = dict.fromkeys(words for words in rejected if markdown.lines.unbulleted(words) == words)  # no removals
    for path in vault.ours(Tier.DAILY):
        note, day = read_note(vault, path, notices), layout.day_of(path)
        if day and any(f"[{state}]".encode() in note.data for state in (*states, "rejected")):
            entries = note.entries
            ids = _BlockIds(entries)
            found += (WaitingLine(ids.given(entry), day) for entry in entries if entry.state in states)
            refused |= dict.fromkeys(entry.text for entry in entries if entry.state == "rejected")
    for path, kind in ((layout.corrections, "correction"), (layout.rewards, "reward")):
        if (note := read_note(vault, path, notices)).data:
            found += _feedback(note, kind)
    found.sort(key=lambda candidate: candidate.day)  # stable: lines of one note keep their order
    return Waiting(_with_claims(vault, found), notices, list(refused))


def earliest(today: date, window_days: int) -> date:
    """The first day of the window."""
    return date.fromordinal(max(1, today.toordinal() - window_days))


def arrived(vault: Vault, since: date) -> frozenset[str]:
    """The block ids of the candidates of our scope that were extracted on that day or later, on whatever machine.

    The session notes say when; of one that has grown, all of its candidates count.
    """
    found: set[str] = set()
    for note in map(partial(read_note, vault, notices=[]), vault.ours(Tier.EPISODIC)):
        if sessions.extracted_on(note.data) >= since.isoformat():
            found |= sessions.linked(note.data).keys()
    return frozenset(found)


def said(vault: Vault, lines: Iterable[Entry]) -> dict[str, tuple[str, sessions.SessionFact]]:
    """By block id of a daily line, the path of the newest session note that links to it, and what that says of it."""
    wanted = {line.block_id for line in lines if line.block_id}
    found: dict[str, tuple[str, sessions.SessionFact]] = {}
    paths = vault.ours(Tier.EPISODIC) if wanted else []
    for path in sorted(paths, key=lambda path: (not vault.layout.is_archived(path), path), reverse=True):
        data = read_note(vault, path, []).data
        if here := wanted & {name.decode("ascii") for name in _NAMED.findall(data)}:
            found |= {name: (path, fact) for name, fact in sessions.linked(data).items() if name in here}
            wanted -= here
        if not wanted:
            break
    return found


def _feedback(note: Note, kind: str) -> Iterator[WaitingLine]:
    """The undecided feedback of a note: bullets that begin with their instant; and, as tars has it, a section for each,
    whose heading is the instant and whose bullets begin with ``input:``, ``got:`` and ``note:``.
    """
    entries = note.entries
    ids = _BlockIds(entries, "f")
    for number, entry in enumerate(entries):
        if entry.depth or entry.state:
            continue
        if entry.time:
            beside = [*takewhile(lambda below: below.depth, entries[number + 1 :])]
            words, keys, said_on = entry.text, (grammar.QUESTION, grammar.ANSWER), entry.time
        elif entry.text.startswith(NOTE):
            beside = [each for each in entries if each.section == entry.section and not each.depth]
            words, keys, said_on = entry.text.removeprefix(NOTE), (INPUT, GOT), entry.section
        else:
            continue
        day = re.match(r"\d{4}-\d\d-\d\d(?=[T ])", said_on)
        when = markdown.lines.calendar_day(day[0]) if day else None
        if when is not None and words.strip():
            question, answer = (
                next((each.text.removeprefix(key).strip() for each in beside if each.text.startswith(key)), "")
                for key in keys
            )
            given = ids.given(entry)._replace(text=words.strip())
            yield WaitingLine(given, when, kind, question, answer, _steps(note, given))


def _steps(note: Note, entry: Entry) -> markdown.lines.Steps | None:
    """The procedure that feedback gives: in its words, or in a numbered list below them."""
    words = entry.text
    below = "\n".join(note.document.text(line) for line in range(entry.line + 1, entry.end_line + 1))
    title = words.rstrip(" :：")
    if found := markdown.lines.steps_in(words):
        return found._replace(lead=found.lead or title)
    found = markdown.lines.steps_in(dedent(below)) if below.strip() else None
    return found and found._replace(lead=title)


def procedures(vault: Vault, notices: list[str]) -> Iterator[tuple[str, str, markdown.lines.Steps]]:
    """What the person gave as numbered steps in the newest conversations: path of the session note, its day, the steps.

    The turns that session notes keep are read; each conversation is one, however often it says the same.
    """
    paths = sorted(vault.ours(Tier.EPISODIC), key=lambda path: path.rpartition("/")[2], reverse=True)
    for path in paths[:MOST_SESSIONS]:
        note = read_note(vault, path, notices)
        turns = note.data.partition(b"## Turns")[2]
        if not turns or not markdown.lines.may_give_steps(turns.decode("utf-8", "replace")):
            continue
        said = sessions.read(path, note.data)
        for turn in said.kept if said else ():
            if role(turn.speaker) == "user" and (steps := markdown.lines.steps_in(turn.text)):
                yield path, said.date if said else "", steps


MOST_SESSIONS = 200
"""Session notes, the newest, in which procedures are looked for: a review lists what waits at once."""


class _BlockIds:
    """The block ids of the candidates of a note, also of those that have none yet: a link leads to one line alone."""

    def __init__(self, entries: Sequence[Entry], prefix: str = "d") -> None:
        self._prefix = prefix
        self._taken = {entry.block_id.lower() for entry in entries if entry.block_id}
        self._repeats: Counter[str] = Counter()

    def given(self, entry: Entry) -> Entry:
        """The next candidate with its block id."""
        name = entry.block_id
        while name is None:
            free = grammar.block_id(entry.path, entry.text, self._prefix, self._repeats[entry.text])
            self._repeats[entry.text] += 1
            name = None if free in self._taken else free
        return entry._replace(block_id=name)


def read_note(vault: Vault, path: str, notices: list[str]) -> Note:
    """The note; one that is not there, or can't be read, is empty."""
    try:
        if vault.look(path) is not None:
            return vault.note(path)
    except NotFoundError:
        pass
    except TarsError as error:
        notices.append(error.message)
    return Note.of(vault.layout, path, None)


OP = "fact"
"""The op of these proposals."""


def _with_claims(vault: Vault, found: Sequence[WaitingLine]) -> list[WaitingLine]:
    """The candidates, each with what its session's note says of it: what was said, what it states over time.

    The same words state the same, whichever session they are from. A line that was reworded since, or that does not
    hold the value at all, is read again.
    """
    told = said(vault, [each.entry for each in found if each.kind == "fact"])
    by_words: dict[str, facts.Claim] = {}
    claimed: list[WaitingLine] = []
    for each in found:
        talk, fact = told.get(each.entry.block_id or "", ("", each.said))
        claim = facts.claim_in(fact.claim)
        if claim is not None and not _says(fact, claim, each.entry):
            claim = _anew(each, claim.subject)
        if claim is not None and claim.until is None:
            by_words.setdefault(facts.folded(each.entry.text), claim._replace(since=None))
        claimed.append(each._replace(claim=claim, said=fact, talk=talk))
    return [
        each if each.claim or each.kind != "fact" else each._replace(claim=by_words.get(facts.folded(each.entry.text)))
        for each in claimed
    ]


class StatedFacts:
    """``Facts.md`` as it is, to compare claims with.

    Args:
        note: empty if there is none.
        options: which predicates change over time, and who the person is.
    """

    def __init__(self, note: Note, options: FactsOptions) -> None:
        self._path = note.path
        self._facts = [fact for _, fact in note.facts]
        self._entries = {fact.ref: entry for entry, fact in note.facts}
        self._predicates = facts.Predicates.of(options)
        self._me = facts.names(options.me)
        self._open: dict[tuple[str, str], list[tuple[date, str]]] = {}
        self._titles: dict[str, str] = {}
        self._known: dict[tuple[str, str], list[facts.Fact]] = {}
        for fact in self._facts:
            self._known.setdefault(fact.about, []).append(fact)

    def is_of(self, fact: facts.Fact, subject: str) -> bool:
        """Whether a fact is about the person, or about the subject."""
        return facts.folded(fact.subject) in {facts.folded(each) for each in (*self._me, subject)}

    def grouped(self, found: Sequence[WaitingLine]) -> list[list[WaitingLine]]:
        """Candidates with the same claim together, oldest first; what was said or so otherwise in between parts them.

        Args:
            found: all with a claim, oldest first.
        """
        groups: list[list[WaitingLine]] = []
        last: dict[tuple[str, str], list[WaitingLine]] = {}
        for each in found:
            if each.claim is None:
                continue
            about, value = each.claim.about, each.claim.key[2]
            group = last.get(about)
            if group is None or not self._goes_on(group, each.claim, each.day):
                group = []
                groups.append(group)
                last[about] = group
            group.append(each)
            if each.entry.state == "extracted" and each.claim.until is None:
                self._open.setdefault(about, []).append((each.day, value))
        return groups

    def _goes_on(self, group: Sequence[WaitingLine], claim: facts.Claim, day: date) -> bool:
        """Whether the last that was said is this very claim, and no other value began since."""
        before = group[-1]
        if before.claim is None or (before.claim.key, before.claim.until) != (claim.key, claim.until):
            return False
        others = (fact for fact in self._about(claim) if facts.folded(fact.object) != claim.key[2])
        return not any(fact.since and before.day < fact.since <= day for fact in others)

    def rivals(self, today: date) -> list[list[facts.Fact]]:
        """The facts of which only one can hold today."""
        return facts.rivals(self._facts, self._predicates, today)

    def waits(self, group: Sequence[WaitingLine]) -> bool:
        """Whether a claim says nothing new now, but would if what was said otherwise before it were accepted."""
        first, claim = group[0], self._claim(group)
        same = self._plan(claim, first.day).same if claim else None
        if claim is None or same is None or claim.until or not self._predicates.replaces(claim.predicate):
            return False
        began = same.since or first.day.min
        said = self._open.get(claim.about, ())
        return any(value != claim.key[2] and began <= day <= first.day for day, value in said)

    def proposal(self, group: Sequence[WaitingLine], line: Proposal) -> Proposal | None:
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

    def _ending(self, claim: facts.Claim, line: Proposal) -> Proposal | None:
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

    def _claim(self, group: Sequence[WaitingLine]) -> facts.Claim | None:
        """What a group states: with its first day, if one of them names it. None if no heading takes its subject."""
        claim = next((each.claim for each in group if each.claim and each.claim.since), group[0].claim)
        try:
            return claim if claim and self._title(claim) else None
        except TarsError:
            return None

    def _title(self, claim: facts.Claim) -> str:
        if claim.subject not in self._titles:
            headings = (fact.subject for fact in self._facts)
            self._titles[claim.subject] = grammar.heading(facts.heading_for(claim.subject, headings, self._me))
        return self._titles[claim.subject]

    def same(self, stated: Stated) -> list[facts.Fact]:
        """The facts with the subject and predicate of a stated one."""
        return self._about(facts.Claim(stated.subject, stated.predicate, ""))

    def _about(self, claim: facts.Claim) -> list[facts.Fact]:
        """The facts with its subject and predicate."""
        return self._known.get(claim._replace(subject=self._title(claim)).about, [])

    def _plan(self, claim: facts.Claim, day: date) -> facts.Plan:
        new = claim._replace(subject=self._title(claim), until=None)
        gone = self._predicates.given_up(claim.predicate)
        known = [*self._about(claim), *(fact for each in gone for fact in self._about(claim._replace(predicate=each)))]
        return facts.plan(known, new, today=day, predicates=self._predicates)

    def _why(self, claim: facts.Claim, plan: facts.Plan, group: Sequence[WaitingLine]) -> str:
        parts = [f"ends {_named(ending.fact)} on {ending.on}" for ending in plan.endings]
        if plan.until is not None and self._predicates.replaces(claim.predicate):
            parts.append(f"back-dated: it ends on {plan.until}, when the next one begins")
        if len(group) > 1:
            days = dict.fromkeys(each.day.isoformat() for each in group)
            parts.append(f"said {counted(len(group), 'time')}: {', '.join(days)}")
        text = "; ".join(parts)
        return text[:1].upper() + text[1:]


def _ends(entry: Entry, fact: facts.Fact, plan: facts.Plan) -> Ends:
    becomes = facts.words(fact.predicate, fact.object, fact.since, plan.since)
    return Ends(fact.ref, entry.text, _iso(fact.since), _iso(plan.since), becomes, fact.path, fact.line, entry.raw)


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _named(fact: facts.Fact) -> str:
    since = f"since {fact.since}" if fact.since else "without a date"
    return f"“{fact.predicate}:: {fact.object}” ({since}{f' until {fact.until}' if fact.until else ''})"


def _folded(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _says(fact: sessions.SessionFact, claim: facts.Claim, line: Entry) -> bool:
    """Whether a line still says what its session's note has of it, and that holds the value."""
    words = _folded(fact.text)
    return words == _folded(line.text) and _folded(claim.object) in words


def _anew(candidate: WaitingLine, subject: str) -> facts.Claim | None:
    """What a line states as it is now; whoever said "I" before says so still."""
    claim = extraction.rules.stated(candidate.entry.text, candidate.day)
    return claim._replace(subject=subject) if claim and claim.subject == facts.ME != subject != facts.WE else claim


def kept(vault: Vault, sources: Collection[str], lines: Mapping[str, Related], notices: list[str]) -> list[Proposal]:
    """The proposals of the inbox that were not rejected elsewhere.

    Args:
        vault: to read.
        sources: the provenances, folded, that lines of the tier notes have.
        lines: the entries of the tier notes by their names.
        notices: takes a sentence for each file that is not a proposal.
    """
    decided = inbox.decided(vault)
    found = []
    for said in inbox.pending(vault, notices):
        if decided.get(said["id"]) in ("rejected", "ignored"):
            continue
        marks = tuple(Mark(*mark) for mark in said["marks"] if len(mark) >= 2)
        names = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "replaces", "occurrence")
        beside = tuple(_now(Related(**each), lines) for each in said["conflicts"])
        proposal = Proposal(**{name: said[name] for name in names}, conflicts=beside, marks=marks, kept=True)
        told = (said["why"], _hindered(vault, proposal), _standing(proposal, sources))
        found.append(proposal._replace(why="; ".join(part for part in told if part)))
    return found


def disputes(vault: Vault, today: date, lines: Mapping[str, Related], notices: list[str]) -> list[Proposal]:
    """The questions that merges have left in the notes: lines that two machines changed, each in its own way.

    Args:
        vault: to read, as far as it is of our scope.
        today: the day of the questions.
        lines: the entries of the tier notes by their names.
        notices: takes a sentence for each note that can't be read.
    """
    layout = vault.layout
    there = {(line.path, line.line): line for line in lines.values()}
    found = []
    for path in vault.paths():
        if not layout.is_ours(path) or (layout.tier_of(path) is Tier.NOTE and not layout.timed(path)):
            continue
        note = read_note(vault, path, notices)
        if not any(mark in note.data for mark in _DISPUTED):
            continue
        for dispute in markdown.merging.disputed(note.entries):
            asked = tuple(there.get((path, entry.line)) or _asked(vault, note, entry) for entry in dispute.lines)
            if len({line.text for line in asked}) < len(asked):  # the sides disagree about a state, a time, an author
                asked = tuple(line._replace(text=markdown.lines.unbulleted(line.raw)) for line in asked)
            how = "One machine removed “{}”, another one changed it" if dispute.removed else "Two machines changed “{}”"
            why = how.format(dispute.was)
            words = f"Does this still hold: “{asked[0].text}”?" if dispute.removed else ""
            found.append(question_about(path, dispute.lines[-1].section, asked, today.isoformat(), why, words))
    return found


def _asked(vault: Vault, note: Note, entry: Entry) -> Related:
    """A line that a question is about, as it can be chosen."""
    raw, number = change.named(note, entry)
    day = vault.layout.day_of(note.path)
    return Related.of(entry, _iso(day) or "")._replace(raw=raw, occurrence=number)


def _now(line: Related, lines: Mapping[str, Related]) -> Related:
    """A line as it is now; one that is gone can't be chosen."""
    found = lines.get(line.ref)
    return found._replace(date=line.date) if found and found.path == line.path else line


def _hindered(vault: Vault, proposal: Proposal) -> str:
    """Why a proposal can't be accepted; empty if it can."""
    why = refused(vault.layout, proposal) or _gone(vault, proposal)
    return f"it can only be rejected: {why}" if why else ""


def _gone(vault: Vault, proposal: Proposal) -> str:
    """Why its line can't be found any more; empty if it can, or it names none."""
    if not proposal.replaces or proposal.op not in ("replace", "remove"):
        return ""
    path = proposal.target
    try:
        note = Note.of(vault.layout, path, vault.read(path))
        found: Any = change.locate(note, proposal.replaces, occurrence=proposal.occurrence)
    except TarsError as error:
        found = error.message
    return found if isinstance(found, str) else ""


def _standing(proposal: Proposal, sources: Collection[str]) -> str:
    """That accepting it would change nothing: what it comes from has come to the notes already."""
    if proposal.op != "append" or proposal.source.casefold() not in sources:
        return ""
    return "a line of your notes comes from the same source: accepting it adds nothing"
