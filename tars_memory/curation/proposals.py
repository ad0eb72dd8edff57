"""The nouns of curation: what was drawn from a conversation, a proposal, a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import cut
from tars_memory.vault import inbox
from tars_memory.vault.change import OPS, Change
from tars_memory.vault.markdown import entries as grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.vault.markdown.facts import Claim, Fact
    from tars_memory.vault.model import Entry


KINDS = (*(op for op in OPS if op != "mark"), "choose")
"""What a proposal may be: an op of a change, or the question which of some lines holds."""


class Refer(NamedTuple):
    """What some words of a quote refer to.

    Attributes:
        span: words of the quote ("there").
        to: the person's words for it ("Deltacore").
        turn: the number of the turn in which he said them; 0 if nobody knows.
    """

    span: str
    to: str
    turn: int = 0


RULE = "rule"
"""The kind of sentence that belongs to the rules, as a second look names it."""

SHOWN = 120
"""Characters of another line that a sentence repeats."""

NEW = "New: your notes say nothing about it"
"""Why a proposal is made that needs no further word."""

BESIDE = "Your notes have related lines: accepting adds, and replaces only what you choose"
"""The same, where there are some."""


class DrawnFact(NamedTuple):
    """A statement drawn from a conversation, with the words that it rests on.

    Attributes:
        text: the words of its quote, dates absolute, with what they refer to in brackets.
        quote: verbatim from the turn.
        turn: the number of the turn it was said in.
        kind: ``fact``, ``preference``, ``decision`` or ``correction``.
        claim: what it states over time; None if it states nothing of the kind, or nobody has looked.
        refers: what a model says that its words refer to; nothing is believed of it.
        said: the quote with what it refers to in brackets, as a model is shown it; empty for the quote.
        asked: the person asked for it to be remembered.
        seen: what kind of sentence the second look found it to be; empty if nobody has looked.
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
    """What a second look says of a quote.

    Attributes:
        kind: of sentence.
        alone: whether it can be understood by itself.
        fact: whether it says the fact that was read into it.
    """

    kind: str
    alone: bool
    fact: bool


class Extraction(NamedTuple):
    """What one window of a conversation gave.

    Attributes:
        facts: to be grounded yet.
        topics, decisions: short lines.
    """

    facts: tuple[DrawnFact, ...] = ()
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()


class Drawn(NamedTuple):
    """What a conversation gave.

    Attributes:
        extraction: its facts have quotes that were said.
        dropped: why facts were not kept, counted.
        until: number of the last turn that was looked at; 0 if all were.
        turns, readable: of the rules: the person's turns that were looked at, and those in a language that they know.
        left_out: what a second look found not to be worth a person's decision.
    """

    extraction: Extraction
    dropped: dict[str, int]
    until: int = 0
    turns: int = 0
    readable: int = 0
    left_out: tuple[DrawnFact, ...] = ()


class Mark(NamedTuple):
    """A candidate's line, whose state tag says what became of it.

    Attributes:
        path: of its note.
        raw: the line as it was (:attr:`Entry.raw`).
        block_id: without the caret; empty for none.
    """

    path: str
    raw: str
    block_id: str = ""

    def change(self, state: str, children: tuple[str, ...] = (), *, named: bool = True) -> Change:
        """What gives the line another state.

        Args:
            state: see :data:`tars_memory.vault.markdown.entries.STATES`.
            children: words of bullets to nest under it.
            named: whether a line without a block id gets its own.
        """
        name = self.block_id if named else ""
        return Change("mark", replaces=self.raw, target=self.path, state=state, block_id=name, children=children)


class Ends(NamedTuple):
    """A fact that a new one would end.

    Attributes:
        ref: the name of its entry.
        text: its words as they stand.
        since: its first day, ``YYYY-MM-DD``; None if not said.
        until: the first day that it would no longer hold.
        becomes: its words then.
        path, line: where it stands.
        raw: its own lines as they stand (:attr:`Entry.raw`).
    """

    ref: str
    text: str
    since: str | None
    until: str | None
    becomes: str
    path: str
    line: int
    raw: str


class Instead(NamedTuple):
    """The line that a fact may become instead: its note, its heading, its words."""

    target: str
    section: str
    text: str


class Stated(NamedTuple):
    """The fact that a proposal would add.

    Attributes:
        subject, predicate, object: as they would stand.
        since, until: ``YYYY-MM-DD``, or None.
        ends: the facts that it would end.
        instead: what it may become instead.
    """

    subject: str
    predicate: str
    object: str
    since: str | None
    until: str | None
    ends: tuple[Ends, ...]
    instead: Instead

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        ends = [{name: value for name, value in each._asdict().items() if name != "raw"} for each in self.ends]
        return {**self._asdict(), "ends": ends}


class Related(NamedTuple):
    """A line about the same as a proposal, to be shown beside it; it stays unless the person chooses it.

    Attributes:
        path, line: where it stands.
        ref: the name of its entry; empty for a line that is not an entry.
        text: its words; of a fact without its dates.
        date: the day that it is of, ``YYYY-MM-DD``; empty if that is not known.
        raw: its own lines as they stand (:attr:`Entry.raw`); empty for one that can't be replaced: a paragraph.
        occurrence: which of several entries with these very lines, from 0; None if it is the only one.
        waits: whether it is a candidate that nobody has decided about.
    """

    path: str
    line: int
    ref: str
    text: str
    date: str = ""
    raw: str = ""
    occurrence: int | None = None
    waits: bool = False

    @classmethod
    def of(cls, entry: Entry, day: str = "") -> Related:
        """An entry, to be shown alone: whoever offers to replace it adds its ``raw``."""
        return cls(entry.path, entry.line, entry.ref, entry.text, day)

    @classmethod
    def stating(cls, fact: Fact) -> Related:
        """A fact over time, likewise."""
        day = fact.since.isoformat() if fact.since else ""
        return cls(fact.path, fact.line, fact.ref, f"{fact.predicate} {fact.object}", day)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {name: getattr(self, name) for name in ("path", "line", "ref", "text", "date")}

    def __str__(self) -> str:
        """Its words with its day."""
        return self.text + (f" ({self.date})" if self.date else "")


def day_of(entry: Entry, dated: Callable[[Entry], str]) -> str:
    """The day that an entry is of, ``YYYY-MM-DD``: that of its link, else as ``dated`` knows; empty for none."""
    if entry.provenance:
        for name in (entry.provenance.partition("#")[0].rpartition("/")[2], grammar.label_of(entry)):
            if len(name) == len("2026-11-21") and name[:4].isdigit():
                return name
    return dated(entry)


def question(lines: Sequence[Related]) -> str:
    """The words of a proposal that asks which of some lines holds."""
    return "Which of these holds: " + " or ".join(f"“{cut(each.text, SHOWN)}”" for each in lines) + "?"


class Proposal(NamedTuple):
    """A change that waits for the person, bound to the text that it was made from.

    The fields up to ``conflicts`` are the documented ones, in the documented order.

    Attributes:
        id: 8 characters, made of the change itself: the same proposal has the same id on every machine.
        op: see :data:`KINDS`.
        target: path of the note, relative to the vault.
        section: heading under which it belongs.
        text: the new words; empty for a removal.
        quote: what was said, verbatim; for a rule without a conversation the entry it is to change.
        source: where it comes from: ``2026-11-21#^d-abc``, or who proposes it.
        date: of the day it is of, ``YYYY-MM-DD``.
        why: one sentence for the person who decides.
        conflicts: lines about the same, the best first; none of them is touched unless the person chooses it. Of
            ``choose`` the lines of which perhaps not all hold.
        replaces: the entry's own lines as they stood, for ``replace`` and ``remove``; empty otherwise.
        marks: the candidates that this decides.
        kept: whether it is a file of the inbox (then a decision removes it), or is found again each time.
        occurrence: which of several entries with the lines ``replaces``, from 0; None: there must be one only.
        fact: for ``fact``, what it would add and end; else None.
        kind: of sentence, as a second look found it (``stated``, ``planned``, ``rule``, …); empty if it found nothing.
        warnings: short sentences about the quote.
        asked_before: what the person refused once and this seems to say again; empty for nothing.
        talk: path of the session note that tells where it was said; empty for none.
        speaker: whose words the quote is, if not the person's: a name, or the place where an imported line stands.
        parts: for ``together``, the proposals of one conversation that one answer decides; each has an id of its own.
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
    fact: Stated | None = None
    kind: str = ""
    warnings: tuple[str, ...] = ()
    asked_before: str = ""
    talk: str = ""
    parts: tuple[Proposal, ...] = ()
    speaker: str = ""

    @property
    def each(self) -> tuple[Proposal, ...]:
        """What is decided by it: its parts, or itself."""
        return self.parts or (self,)

    @property
    def said(self) -> str:
        """Its words as a line: those of a fact as it was said."""
        return self.fact.instead.text if self.fact else self.text

    @property
    def checked(self) -> bool:
        """Whether a second look was had at the quote."""
        return bool(self.kind)

    @property
    def quoted(self) -> str:
        """The quote in its marks, with its speaker; empty if there is none, or the line itself is it."""
        by = f" ({self.speaker})" if self.speaker else ""
        return f"“{self.quote}”{by}" if self.quote and self.quote != self.replaces else ""

    @property
    def remarks(self) -> str:
        """What the second look found and what to beware of, in one line; empty if there is nothing to say."""
        kind = "" if self.kind in ("", "stated", RULE) else self.kind  # where a rule goes to says it
        return "; ".join(filter(None, (kind, *self.warnings)))

    @property
    def adds(self) -> bool:
        """Whether lines may be chosen that it replaces: it names none by itself."""
        return self.op in ("append", "fact", "choose") or (self.op == "add_section" and bool(self.text.strip()))

    @property
    def choices(self) -> tuple[Related, ...]:
        """The lines shown beside it that the person may choose to be replaced, in the order of their numbers."""
        return tuple(each for each in self.conflicts if each.raw) if self.adds else ()

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts", "replaces")
        told = {name: getattr(self, name) for name in names}
        looked = {"kind": self.kind, "checked": self.checked, "warnings": self.warnings}
        more = {"asked_before": self.asked_before, "speaker": self.speaker}
        return {**told, "fact": self.fact, **looked, **more, **({"parts": self.parts} if self.parts else {})}

    def stored(self) -> dict[str, Any]:
        """As the inbox keeps it."""
        told = {name: getattr(self, name) for name in (*inbox.FIELDS, *inbox.BOUND)}
        return {**told, "conflicts": [each.as_dict() for each in self.conflicts]}


TIDY = "tidy"
"""Who proposes what tidying comes to."""


def change_of_line(op: str, entry: Entry, text: str, day: str, why: str) -> Proposal:
    """What tidying proposes: to remove an entry, or to give it other words.

    Args:
        op: ``remove`` or ``replace``.
        entry: as it is now.
        text: its new words; empty for a removal.
        day: it is made, ``YYYY-MM-DD``.
        why: one sentence for the person.
    """
    name = inbox.proposal_id(op, entry.path, entry.section, text, entry.raw)
    return Proposal(name, op, entry.path, entry.section, text, entry.raw, TIDY, day, why, replaces=entry.raw)


def question_about(
    path: str, section: str, asked: tuple[Related, ...], day: str, why: str, words: str = ""
) -> Proposal:
    """The question which of some lines holds, or in other words.

    Args:
        path: of the note of the last of them.
        section: heading above it.
        asked: all of them.
        day: on which one of them takes the others' place.
        why: it is asked.
        words: the question, if it is another one.
    """
    words = words or question(asked)
    name = inbox.proposal_id("choose", path, section, words)
    return Proposal(name, "choose", path, section, words, "", "merge", day, why, asked)


class Decision(NamedTuple):
    """What the person said to a proposal.

    Attributes:
        proposal: as it was shown.
        accept: else it is rejected.
        text: the words to write instead of the proposal's, edited by the person; None for its own.
        replaces: the lines that the person chose to be replaced: the new words take the place of the first one in the
            note that they go to, the others are removed, and a fact in ``Facts.md`` ends.
        instead: proposals that still wait and that it takes the place of: they come to nothing.
    """

    proposal: Proposal
    accept: bool
    text: str | None = None
    replaces: tuple[Related, ...] = ()
    instead: tuple[Proposal, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The candidates that it decides."""
        return tuple(mark for each in (self.proposal, *self.instead) for mark in each.marks)
