"""Facts over time: the grammar of ``Facts.md``, and what is true when. Pure.

A ``## Subject`` section each, one bullet a fact, in Obsidian's inline-field convention, so that Dataview reads it too:
``- lives in:: Cork [since:: 2026-11-14] [until:: 2027-05-01] ([[2026-11-14#^d-…|2026-11-14]])``. A bullet without
``::`` is not a fact. A fact without dates is a fact without dates. Ending a fact adds its ``until``; nothing moves.

What somebody stated and nobody has decided about yet is a claim, one line below what was said:
``me › lives in:: Cork [since:: 2026-11-14]``, the subject, and then what the bullet in ``Facts.md`` would say.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document, plain_heading, wiki_words
from tars_memory.vault.markdown.lines import calendar_day

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.settings import FactsOptions
    from tars_memory.vault.model import Entry


HOW = 'name a real day once, as "Cork [since:: 2026-11-14] [until:: 2027-05-01]"; TARS_AUTHOR says whose words they are'
"""What to do about a :func:`stray` field."""

EVENT_DAYS = 90
"""An event without an end counts so long."""

_DATE = r"(?:\[\[)?(\d{4}-\d\d-\d\d)(?:T[^\[\]()\s]*|[ \t]+\d\d:\d\d[^\[\]()\s]*|(?:\|[^\[\]]*)?\]\])?"
_WHEN = rf"[ \t]*(since|until)[ \t]*::[ \t]*{_DATE}[ \t]*"
_FIELD = re.compile(rf"\[{_WHEN}\]|\({_WHEN}\)", re.IGNORECASE)
"""A date, wherever it stands in the line, as Dataview reads it; of a date with a time the day counts."""

_TYPED = re.compile(
    r"(?<!\\)([\[(])[ \t]*(?:since|until|by)[ \t]*::(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]", re.IGNORECASE
)
"""A field of ours as somebody types it, whatever it holds."""

_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|\[\[[^\[\]]*\]\]")


PARTS = " › "
"""What parts the subject from the rest."""

ME, WE = "me", "we"
"""The subjects that stand for the person, and for the person with those around."""

LONGEST_PART = 200
"""Characters of a subject, and of an object: what is longer is a story and no value."""

_UNFIT = re.compile(r"::|[\[\]():|›^]|\[\[")
"""What a predicate or a subject can't hold without being read as something else."""


class Fact(NamedTuple):
    """One fact.

    Attributes:
        ref: its name, see :func:`ref_of`.
        subject: the heading that it stands under, as written.
        predicate: as written.
        object: as written, without its dates.
        since: the first day that it holds; None if not said.
        until: the first day that it no longer holds; None if not said.
        source: the target of its provenance link; empty for none.
        path, line: where it stands.
        vault: the name of the shared vault that it stands in; empty for the person's own.
    """

    ref: str
    subject: str
    predicate: str
    object: str
    since: date | None
    until: date | None
    source: str
    path: str
    line: int
    vault: str = ""

    @property
    def about(self) -> tuple[str, str]:
        """Its subject and predicate for comparing, as :attr:`Claim.about`."""
        return folded(self.subject), predicate_key(self.predicate)

    def holds(self, day: date) -> bool:
        """Whether it is true on a day: since ≤ day < until."""
        return (self.since is None or self.since <= day) and (self.until is None or day < self.until)

    def ever_holds(self) -> bool:
        """Whether there is a day on which it is true: it does not end before it begins."""
        return self.since is None or self.until is None or self.since < self.until

    def as_dict(self, day: date) -> dict[str, Any]:
        """The documented JSON object."""
        told = {name: getattr(self, name) for name in ("ref", "subject", "predicate", "object")}
        days = {"since": self.since and str(self.since), "until": self.until and str(self.until)}
        stands = {"source": self.source, "path": self.path, "line": self.line}
        return {**told, **days, "current": self.holds(day), **stands, **({"vault": self.vault} if self.vault else {})}


class Said(NamedTuple):
    """What the words of a bullet say."""

    predicate: str
    object: str
    since: date | None
    until: date | None


def said(text: str) -> Said | None:
    """The fact in an entry's words; None if they are none.

    The first ``::`` parts predicate and object; within brackets it parts none. A date that no calendar holds is part of
    the object; so is one that comes before another of its kind.
    """
    head, parted, rest = text.partition("::")
    predicate = head.strip()
    if not parted or not predicate or re.search(r"[\[\]()]", _BRACKETED.sub("", predicate)) or entries.task(head):
        return None
    days: dict[str, date] = {}
    for field in reversed([*_FIELD.finditer(rest)]):
        name, written = (part for part in field.groups() if part)
        day = calendar_day(written)
        if day is None or name.lower() in days:
            continue
        days[name.lower()] = day
        rest = rest[: field.start()].rstrip(" \t") + rest[field.end() :]
    rest = rest.strip()
    return Said(predicate, rest, days.get("since"), days.get("until")) if rest else None


def stray(text: str) -> str:
    """The first field of ours (``[until:: soon]``) in a part of a fact, where none should be left; empty for none."""
    found = _TYPED.search(text)
    return found[0] if found else ""


def words(predicate: str, object_: str, since: date | None = None, until: date | None = None) -> str:
    """The words of a fact's bullet; predicate and object must be neutralised."""
    parts = [f"{predicate}:: {object_}"]
    parts += [f"[since:: {since.isoformat()}]"] if since else []
    parts += [f"[until:: {until.isoformat()}]"] if until else []
    return " ".join(parts)


def fact_of(entry: Entry, number: int = 0) -> Fact | None:
    """The fact that an entry of ``Facts.md`` states; None if it states none.

    Args:
        entry: from the note.
        number: which of several with the same words about the same subject, from 0.
    """
    found = said(entry.text)
    if found is None or not entry.section or entry.depth:
        return None
    ref = ref_of(entry.path, entry.section, entry.text, number)
    stands = (entry.provenance or "", entry.path, entry.line)
    return Fact(ref, entry.section, found.predicate, found.object, found.since, found.until, *stands)


def ref_of(path: str, subject: str, text: str, number: int = 0) -> str:
    """The name of a fact: as an entry's, but of its subject as well.

    Two people can like tea: when their sections change places, or one of the lines goes, a name must not pass from the
    one to the other.
    """
    return entries.ref(path, f"{folded(subject)}\0{text}", number)


def read(path: str, document: Document) -> list[tuple[Entry, Fact]]:
    """The facts of a note with their entries, in order of their lines. What stands under its title is about nobody."""
    found: list[tuple[Entry, Fact]] = []
    seen: dict[tuple[str, str], int] = {}
    for entry in entries.read(path, document):
        key = folded(entry.section), entry.text
        fact = fact_of(entry, seen.get(key, 0))
        if fact is None or is_title(path, fact.subject, document.section_at(entry.line).level):
            continue
        seen[key] = seen.get(key, 0) + 1
        found.append((entry, fact))
    return found


def is_title(path: str, heading: str, level: int) -> bool:
    """Whether a heading is the note's own name (``# Facts``) rather than a subject."""
    return level == 1 and folded(heading) == path.rpartition("/")[2].removesuffix(".md").casefold()


def folded(text: str) -> str:
    """A subject or predicate for comparing: no case, links as their words, no emphasis, spaces collapsed."""
    return plain_heading(text).casefold()


def predicate_key(text: str) -> str:
    """A predicate for comparing: as :func:`folded`; ``works_at``, as other programs write it, is ``works at``, and
    ``has_role`` is ``role``.
    """
    words = folded(re.sub(r"(?<=[^\W_])_+(?=[^\W_])", " ", text))
    return words.removeprefix("has ") or words


def alike(one: str, other: str) -> bool:
    """Whether two objects say the same: case, spaces, links and escapes don't count as a difference; signs do."""
    return object_key(one) == object_key(other)


def object_key(text: str) -> str:
    """What two objects that are :func:`alike` have in common."""
    return " ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", wiki_words(text)).split()).casefold()


class Claim(NamedTuple):
    """A fact as somebody states it, before it stands anywhere.

    Attributes:
        subject: of whom or what; ``me`` and ``we`` are the person and those around.
        predicate: in a few words (``lives in``).
        object: the value.
        since: its first day, if it was said.
        until: for what is said to be over, the first day that it no longer holds.
    """

    subject: str
    predicate: str
    object: str
    since: date | None = None
    until: date | None = None

    @property
    def about(self) -> tuple[str, str]:
        """Of what two claims are: their subject and predicate for comparing."""
        return folded(self.subject), predicate_key(self.predicate)

    @property
    def key(self) -> tuple[str, str, str]:
        """By which two claims are the same, whenever they were made."""
        return *self.about, object_key(self.object)


class Predicates:
    """Which predicates say what about time; names are compared folded.

    Args:
        single: of a subject only one is true at a time: a new value ends the old one.
        temporary: never end another one.
        events: happen once; without an end they count for :data:`EVENT_DAYS` days.
        getting, giving: one of the latter ends those of the former with the same object.
    """

    def __init__(
        self,
        single: Iterable[str],
        temporary: Iterable[str],
        events: Iterable[str],
        getting: Iterable[str] = (),
        giving: Iterable[str] = (),
    ) -> None:
        self._getting = frozenset(map(predicate_key, getting))
        self._giving = frozenset(map(predicate_key, giving))
        self.single = frozenset(map(predicate_key, single))
        self.temporary = frozenset(map(predicate_key, temporary))
        self.events = frozenset(map(predicate_key, events))

    @classmethod
    def of(cls, options: FactsOptions) -> Predicates:
        """As the settings say."""
        said = (options.single, options.temporary, options.events, options.getting, options.giving)
        return cls(*map(names, said))

    def replaces(self, predicate: str) -> bool:
        """Whether a new value of it ends the old one."""
        return predicate_key(predicate) in self.single - self.temporary - self.events

    def given_up(self, predicate: str) -> tuple[str, ...]:
        """The predicates of which it ends those with its object, in order."""
        return tuple(sorted(self._getting)) if predicate_key(predicate) in self._giving else ()

    def timed(self, predicate: str) -> bool:
        """Whether anything is known about how it holds in time; of others several values may be true."""
        return predicate_key(predicate) in self.single | self.temporary | self.events

    def is_event(self, predicate: str) -> bool:
        """Whether it happens once."""
        return predicate_key(predicate) in self.events


def rivals(facts: Iterable[Fact], predicates: Predicates, day: date) -> list[list[Fact]]:
    """The facts of one subject and one single-valued predicate that hold on a day with different values."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        if predicates.replaces(fact.predicate) and fact.holds(day):
            groups.setdefault(fact.about, []).append(fact)
    return [group for group in groups.values() if len({object_key(fact.object) for fact in group}) > 1]


class Ending(NamedTuple):
    """A fact that a new one ends, and when."""

    fact: Fact
    on: date


class Plan(NamedTuple):
    """What adding a fact does.

    Attributes:
        same: the fact that says it already; then nothing is to be done.
        since, until: of the new one.
        endings: facts to end, none of which begins later than the new one.
    """

    same: Fact | None
    since: date | None
    until: date | None
    endings: tuple[Ending, ...]


def plan(facts: Iterable[Fact], new: Claim, *, today: date, predicates: Predicates) -> Plan:
    """What adding a fact to others does.

    What is given away is no longer had: it ends what says of the same object that one got it.

    A new value of a single-valued predicate ends the one that holds at its start, on that day; a back-dated one is
    itself ended by the next later one, and ends none that begins later. One that is over already ends none; one that
    never held counts for nothing.
    """
    since, until = new.since, new.until
    about, facts = new.about, [*facts]
    known = [fact for fact in facts if fact.about == about and fact.ever_holds()]
    replaces = predicates.replaces(new.predicate)
    over = until is not None and until <= today
    if since is None and not over and (replaces or predicates.is_event(new.predicate)):
        since = today
    same = _same(known, new.object, since, until, today)
    if same is not None:
        return Plan(same, same.since, same.until, ())
    if predicates.is_event(new.predicate) and until is None and since is not None:
        until = since + timedelta(days=EVENT_DAYS)
    gone = {(about[0], each) for each in predicates.given_up(new.predicate)}
    if gone and since is not None and new.until is None:
        had = [f for f in facts if f.about in gone and alike(f.object, new.object)]
        had = [f for f in had if f.since is None or f.since <= since]
        return Plan(None, since, until, tuple(Ending(f, since) for f in had if f.until is None or f.until > since))
    if not replaces or since is None or over:
        return Plan(None, since, until, ())
    later = [fact.since for fact in known if fact.since is not None and fact.since > since]
    if later and (until is None or until > min(later)):
        until = min(later)
    endings = [
        Ending(fact, since)
        for fact in known
        if (fact.since is None or fact.since <= since) and (fact.until is None or fact.until > since)
    ]
    return Plan(None, since, until, tuple(endings))


def _same(known: list[Fact], object_: str, since: date | None, until: date | None, today: date) -> Fact | None:
    """The fact that holds at the new one's start and says the same."""
    start = since or (min(today, until - timedelta(days=1)) if until else today)
    for fact in known:
        if alike(fact.object, object_) and fact.holds(start) and (until is None or fact.until == until):
            return fact
    return None


def names(setting: str) -> list[str]:
    """The names in a setting, which commas part."""
    return [name.strip() for name in setting.split(",") if name.strip()]


def heading_for(subject: str, headings: Iterable[str], me: Sequence[str]) -> str:
    """Under which heading of ``Facts.md`` a claim belongs: the one that means the same, else a new one.

    Args:
        subject: of the claim.
        headings: that there are.
        me: the subjects that mean the person; the first one becomes the heading if there is none of them.
    """
    mine = [folded(name) for name in me if folded(name) != WE] or [ME]
    same = mine if folded(subject) in (ME, *mine) else [folded(subject)]
    there = next((title for title in headings if folded(title) in same), None)
    if there is not None:
        return there
    return next((name for name in me if folded(name) != WE), ME) if subject == ME else subject


def owned(claim: Claim, author: str) -> Claim | None:
    """The claim, said by somebody who is named: what he says of himself is about him. None if his name can't be it."""
    return claim_of(author, *claim[1:]) if author and claim.subject == ME else claim


def claim_of(
    subject: str, predicate: str, object_: str, since: date | None = None, until: date | None = None
) -> Claim | None:
    """A claim of words from outside, each part harmless; None if one of them can't stand where it must."""
    try:
        parts = [entries.neutralise(part).strip() for part in (subject, predicate, object_)]
    except UsageError:
        return None
    fit = not any(map(_UNFIT.search, parts[:2])) and max(map(len, parts)) <= LONGEST_PART and len(parts[1]) <= 80
    claim = Claim(parts[0], parts[1], parts[2], since, until)
    return claim if fit and claim_in(claim_line(claim)) == claim else None


def claim_line(claim: Claim) -> str:
    """The claim as one line."""
    return f"{claim.subject}{PARTS}{words(claim.predicate, claim.object, claim.since, claim.until)}"


def claim_in(line: str) -> Claim | None:
    """The claim in a line; None if there is none."""
    subject, parted, rest = line.strip(" \t").partition(PARTS)
    found = said(rest.strip(" \t")) if parted else None
    if found is None or stray(found.object) or not subject.strip(" \t") or _UNFIT.search(subject):
        return None
    return Claim(subject.strip(" \t"), found.predicate, found.object, found.since, found.until)
