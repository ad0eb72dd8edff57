"""The data types of curation: statements drawn from a conversation, proposals, decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import shortened
from tars_memory.vault import inbox
from tars_memory.vault.change import OPS, Change
from tars_memory.vault.markdown import entries as grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.vault.markdown.facts import Claim, Fact
    from tars_memory.vault.model import Entry


KINDS = (*(op for op in OPS if op != "mark"), "choose")
"""The ops of a proposal: those of a change, or ``choose``, the question which of some lines holds."""


class Refer(NamedTuple):
    """What some words of a quote refer to.

    Attributes:
        span: words of the quote ("there").
        to: the person's words for it ("Deltacore").
        turn: the number of the turn in which the person said them; 0 if it isn't known.
    """

    span: str
    to: str
    turn: int = 0


RULE = "rule"
"""The kind of sentence, in a second look, that belongs with the rules."""

SHOWN = 120
"""Maximum number of characters of another line that a sentence repeats."""

NEW = "New: your notes say nothing about it"
"""The ``why`` of a proposal without any other reason."""

BESIDE = "Your notes have related lines: accepting adds, and replaces only what you choose"
"""The ``why`` of a proposal without any other reason that is shown with related lines."""


class DrawnFact(NamedTuple):
    """A statement drawn from a conversation, with its quote.

    Attributes:
        text: the words of its quote, with absolute dates and, in brackets, what they refer to.
        quote: verbatim from the turn.
        turn: number of the turn it was said in.
        kind: ``fact``, ``preference``, ``decision`` or ``correction``.
        claim: the fact that it states; None if it states none, or that was not determined.
        refers: what its words refer to according to a model; not trusted.
        said: the quote with what it refers to in brackets, as a model is shown it; empty to show the quote.
        asked: whether the person asked for it to be remembered.
        seen: kind of sentence that the second look found; empty without a second look.
        warnings: short sentences for the person who decides.
    """

    text: str
    quote: str
    turn: int
    kind: str = "fact"
    claim: Claim | None = None
    refers: tuple[Refer, ...] = ()
    said: str = ""
    asked: bool = False
    seen: str = ""
    warnings: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """The result of a second look at a quote.

    Attributes:
        kind: of sentence.
        alone: whether it can be understood by itself.
        fact: whether it states the fact that was read from it.
    """

    kind: str
    alone: bool
    fact: bool


class Drawn(NamedTuple):
    """The result of drawing statements from a conversation.

    Attributes:
        facts: the statements, grounded: the quote of each was found in its turn.
        topics, decisions: short lines.
        dropped: number of facts that were dropped, by reason.
        until: number of the last turn that was read; 0 if all were.
        turns: for the rules: how many turns of the person were read.
        unread: numbers of those that are in no language that the rules know.
        left_out: statements that are not worth a person's decision: by the second look, or fiction by the rules.
    """

    facts: tuple[DrawnFact, ...]
    dropped: dict[str, int]
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    until: int = 0
    turns: int = 0
    unread: tuple[int, ...] = ()
    left_out: tuple[DrawnFact, ...] = ()


class Mark(NamedTuple):
    """A reference to a candidate's line, to set its state.

    Attributes:
        path: of its note.
        raw: the line as it was (:attr:`Entry.raw`).
        block_id: without the caret; empty for none.
    """

    path: str
    raw: str
    block_id: str = ""

    def change(self, state: str, children: tuple[str, ...] = (), *, named: bool = True) -> Change:
        """Return the change that gives the line another state.

        Args:
            state: see :data:`tars_memory.vault.markdown.entries.STATES`.
            children: words of bullets to nest under it.
            named: whether to write the block id into a line without one.
        """
        name = self.block_id if named else ""
        return Change("mark", replaces=self.raw, target=self.path, state=state, block_id=name, children=children)


class EndedFact(NamedTuple):
    """A fact that a new one would end.

    Attributes:
        ref: REF of its entry.
        text: its present words.
        since: its first day, ``YYYY-MM-DD``; None if it isn't known.
        until: the first day on which it would no longer hold.
        becomes: its words after the change.
        path, line: where it is.
        raw: its own lines as they are now (:attr:`Entry.raw`).
    """

    ref: str
    text: str
    since: str | None
    until: str | None
    becomes: str
    path: str
    line: int
    raw: str


class PlainLine(NamedTuple):
    """The plain line that a proposed fact may become instead: its note, heading and words."""

    target: str
    section: str
    text: str


class ProposedFact(NamedTuple):
    """The fact that a proposal would add.

    Attributes:
        subject, predicate, object: as they would be written.
        since, until: ``YYYY-MM-DD``, or None.
        ends: the facts that it would end.
        instead: the plain line that it may become instead.
    """

    subject: str
    predicate: str
    object: str
    since: str | None
    until: str | None
    ends: tuple[EndedFact, ...]
    instead: PlainLine

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        ends = [{name: value for name, value in end._asdict().items() if name != "raw"} for end in self.ends]
        return {**self._asdict(), "ends": ends}


class Related(NamedTuple):
    """A related line, shown beside a proposal; it stays unless the person chooses it to be replaced.

    Attributes:
        path, line: where it is.
        ref: REF of its entry; empty for a line that is not an entry.
        text: its words; for a fact without its dates.
        date: its day, ``YYYY-MM-DD``; empty if that is not known.
        raw: its own lines as they are now (:attr:`Entry.raw`); empty for a line that can't be replaced, like a
            paragraph.
        occurrence: which of several entries with exactly these lines, from 0; None if it is the only one.
        waits: whether it is an undecided candidate.
        linked: whether it has to do only with another of the related lines, and not with the proposal itself.
    """

    path: str
    line: int
    ref: str
    text: str
    date: str = ""
    raw: str = ""
    occurrence: int | None = None
    waits: bool = False
    linked: bool = False

    @classmethod
    def of(cls, entry: Entry, day: str = "") -> Related:
        """Return an entry as a line to be shown, but not replaced: that takes its ``raw``, too."""
        return cls(entry.path, entry.line, entry.ref, entry.text, day)

    @classmethod
    def stating(cls, fact: Fact) -> Related:
        """Return a fact as a line to be shown, but not replaced."""
        day = fact.since.isoformat() if fact.since else ""
        return cls(fact.path, fact.line, fact.ref, f"{fact.predicate} {fact.object}", day)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {name: getattr(self, name) for name in ("path", "line", "ref", "text", "date")}

    def origin(self, target: str) -> str:
        """Return its day, its note if that is not ``target``, and whether it is only linked to a line, for brackets."""
        place = "waits too" if self.waits else self.path if self.path != target else ""
        linked = "only linked to a line above" if self.linked else ""
        return ", ".join(filter(None, (self.date or "undated", place, linked)))

    def __str__(self) -> str:
        """Its words with its day."""
        return self.text + (f" ({self.date})" if self.date else "")


def day_of(entry: Entry, dated: Callable[[Entry], str]) -> str:
    """Return the day of an entry, ``YYYY-MM-DD``: that of its link, else what ``dated`` returns; empty for none."""
    if entry.provenance:
        for name in (entry.provenance.partition("#")[0].rpartition("/")[2], grammar.label_of(entry)):
            if len(name) == len("2026-11-21") and name[:4].isdigit():
                return name
    return dated(entry)


def question(lines: Sequence[Related]) -> str:
    """Return the words of a question which of some lines holds."""
    return "Which of these holds: " + " or ".join(f"“{shortened(line.text, SHOWN)}”" for line in lines) + "?"


class Proposal(NamedTuple):
    """A change that waits for a decision, bound to the text that it was made from.

    The fields up to ``conflicts`` are the documented ones, in the documented order.

    Attributes:
        id: 8 characters, made of the change itself: the same proposal has the same id on every machine.
        op: one of :data:`KINDS`, or ``together``.
        target: path of the note, relative to the vault.
        section: heading that the change belongs under.
        text: the new words; empty for a removal.
        quote: what was said, verbatim; for a change without a conversation the entry that it changes.
        source: where it comes from: ``2026-11-21#^d-abc``, or who proposes it.
        date: its day, ``YYYY-MM-DD``.
        why: one sentence for the person who decides.
        conflicts: related lines, the best first; each stays unless the person chooses it. For ``choose`` the lines to
            choose from.
        replaces: for ``replace`` and ``remove``, the entry's own lines as they were; empty otherwise.
        marks: the candidates that the proposal decides.
        kept: whether it is a file of the inbox, which a decision removes; else it is gathered again each time.
        occurrence: which of several entries with the lines ``replaces``, from 0; None: there must be only one.
        fact: for ``fact``, what it would add and end; else None.
        kind: kind of sentence that a second look found (``stated``, ``planned``, ``rule``, …); empty for none.
        warnings: short sentences about the quote.
        asked_before: text that the person refused once and this seems to repeat; empty for none.
        talk: path of the session note of the conversation; empty for none.
        speaker: whose words the quote is, if not the person's: a name, or where an imported line comes from.
        parts: for ``together``, the proposals of one conversation that one answer decides, each with an id of its own.
    """

    id: str
    op: str
    target: str
    section: str
    text: str
    quote: str
    source: str
    date: str
    why: str
    conflicts: tuple[Related, ...] = ()
    replaces: str = ""
    marks: tuple[Mark, ...] = ()
    kept: bool = False
    occurrence: int | None = None
    fact: ProposedFact | None = None
    kind: str = ""
    warnings: tuple[str, ...] = ()
    asked_before: str = ""
    talk: str = ""
    parts: tuple[Proposal, ...] = ()
    speaker: str = ""

    @property
    def leaves(self) -> tuple[Proposal, ...]:
        """The proposals to decide: its parts, or itself."""
        return self.parts or (self,)

    @property
    def takes_words(self) -> bool:
        """Whether the person's words can take the place of its own: it writes some."""
        return self.op in ("append", "replace", "fact", "create") or (
            self.op == "add_section" and bool(self.text.strip())
        )

    @property
    def line_text(self) -> str:
        """Its words as a plain line; for a fact, those that it was said in."""
        return self.fact.instead.text if self.fact else self.text

    @property
    def checked(self) -> bool:
        """Whether the quote had a second look."""
        return bool(self.kind)

    @property
    def quoted(self) -> str:
        """The quote in quotation marks, with its speaker; empty if there is none, or if it is the line to replace."""
        by = f" ({self.speaker})" if self.speaker else ""
        return f"“{self.quote}”{by}" if self.quote and self.quote != self.replaces else ""

    @property
    def remarks(self) -> str:
        """Kind of sentence and warnings, in one line; empty if there are none."""
        kind = "" if self.kind in ("", "stated", RULE) else self.kind  # a rule's target shows that it is one
        return "; ".join(filter(None, (kind, *self.warnings)))

    @property
    def adds(self) -> bool:
        """Whether the person may choose lines for it to replace: it names none itself."""
        return self.op in ("append", "fact", "choose") or (self.op == "add_section" and bool(self.text.strip()))

    @property
    def choices(self) -> tuple[Related, ...]:
        """The related lines that the person may choose to be replaced, in the order of their numbers."""
        return tuple(line for line in self.conflicts if line.raw) if self.adds else ()

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts", "replaces")
        members = {name: getattr(self, name) for name in (*names, "fact", "kind", "checked", "warnings")}
        members |= {"asked_before": self.asked_before, "speaker": self.speaker}
        return members | ({"parts": self.parts} if self.parts else {})

    def stored(self) -> dict[str, Any]:
        """The JSON object that the inbox stores."""
        members = {name: getattr(self, name) for name in (*inbox.FIELDS, *inbox.BOUND)}
        return {**members, "conflicts": [line.as_dict() for line in self.conflicts]}


TIDY = "tidy"
"""The source of proposals that tidying makes."""


def change_of_line(op: str, entry: Entry, text: str, day: str, why: str) -> Proposal:
    """Return tidying's proposal to remove an entry or to reword it.

    Args:
        op: ``remove`` or ``replace``.
        entry: as it is now.
        text: its new words; empty for a removal.
        day: date of the proposal, ``YYYY-MM-DD``.
        why: one sentence for the person.
    """
    name = inbox.proposal_id(op, entry.path, entry.section, text, entry.raw)
    return Proposal(name, op, entry.path, entry.section, text, entry.raw, TIDY, day, why, replaces=entry.raw)


def question_about(
    path: str, section: str, asked: tuple[Related, ...], day: str, why: str, words: str = ""
) -> Proposal:
    """Return the question which of some lines holds.

    Args:
        path: note of the last line.
        section: heading above that line.
        asked: the lines.
        day: on which the line that holds takes the others' place.
        why: reason for the question.
        words: of the question, in place of the usual ones.
    """
    words = words or question(asked)
    name = inbox.proposal_id("choose", path, section, words)
    return Proposal(name, "choose", path, section, words, "", "merge", day, why, asked)


class Decision(NamedTuple):
    """A person's decision about a proposal.

    Attributes:
        proposal: as it was shown.
        accept: whether it is accepted; else it is rejected.
        text: the person's words to write instead of the proposal's; None for its own.
        replaces: the lines that the person chose to be replaced: the new words take the place of the first one in the
            note that they go to, the others are removed, and a fact in ``Facts.md`` ends.
        instead: waiting proposals that this one takes the place of, and which are dropped.
    """

    proposal: Proposal
    accept: bool
    text: str | None = None
    replaces: tuple[Related, ...] = ()
    instead: tuple[Proposal, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The candidates that the decision decides."""
        return tuple(mark for proposal in (self.proposal, *self.instead) for mark in proposal.marks)
