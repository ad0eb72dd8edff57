"""Facts over time: the grammar of ``Facts.md``, and which facts are true on which day. Pure functions.

Every subject has a ``## Subject`` section with one bullet per fact, in Obsidian's inline-field convention, so that
Dataview can read it: ``- lives in:: Cork [since:: 2026-11-14] [until:: 2027-05-01] ([[2026-11-14#^d-…|2026-11-14]])``.
A bullet without ``::`` is not a fact. Dates are optional. Ending a fact adds its ``until``; nothing moves.

A claim is a fact that somebody stated and nobody has decided about yet. It is a line below the quoted sentence:
``me › lives in:: Cork [since:: 2026-11-14]``, the subject, followed by the words of the bullet for ``Facts.md``.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import entries, lines
from tars_memory.vault.markdown.document import Document, caseless, plain_heading, wiki_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.settings import FactsOptions
    from tars_memory.vault.model import Entry


DATE_HINT = (
    'name a real day once, as "Cork [since:: 2026-11-14] [until:: 2027-05-01]"; TARS_AUTHOR says whose words they are'
)
"""Hint for a :func:`stray_field` field."""

EVENT_DAYS = 90
"""Number of days that an event without an end counts."""

_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|\[\[[^\[\]]*\]\]")


PARTS = " › "
"""Separator between the subject of a claim and the rest."""

ME, WE = "me", "we"
"""The subjects for the person, and for the person with the people around them."""

MAX_PART_LENGTH = 200
"""Maximum length of a subject or an object in characters; anything longer is a story, not a value."""

_AMBIGUOUS = re.compile(r"::|[\[\]():|›^]|\[\[")
"""Characters that a predicate or a subject can't have, because they have another meaning there."""


class Fact(NamedTuple):
    """One fact.

    Attributes:
        ref: ref of the fact, see :func:`ref_of`.
        subject: the heading that the fact is under, as written.
        predicate: as written.
        object: as written, without the dates.
        since: the first day on which the fact holds; None if not given.
        until: the first day on which it no longer holds; None if not given.
        source: the target of the provenance link; empty for none.
        path, line: note and line of the fact.
        vault: the name of the shared vault that has the fact; empty for the person's own.
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
        """Subject and predicate in a form for comparison, as :attr:`Claim.about`."""
        return folded(self.subject), predicate_key(self.predicate)

    def holds(self, day: date) -> bool:
        """Whether the fact is true on a day: since ≤ day < until."""
        return (self.since is None or self.since <= day) and (self.until is None or day < self.until)

    def ever_holds(self) -> bool:
        """Whether the fact is true on any day, that is, ends after it begins."""
        return self.since is None or self.until is None or self.since < self.until

    def as_dict(self, day: date) -> dict[str, Any]:
        """Return the documented JSON object."""
        triple = {name: getattr(self, name) for name in ("ref", "subject", "predicate", "object")}
        days = {"since": self.since and str(self.since), "until": self.until and str(self.until)}
        place = {"source": self.source, "path": self.path, "line": self.line}
        return {**triple, **days, "current": self.holds(day), **place, **({"vault": self.vault} if self.vault else {})}


class Said(NamedTuple):
    """The fact in the words of a bullet."""

    predicate: str
    object: str
    since: date | None
    until: date | None


def parse(text: str) -> Said | None:
    """Parse the fact in an entry's words; return None if there is none.

    The first ``::`` separates predicate and object; if it is within brackets, there is no fact. An impossible date is
    part of the object, and of several dates of one kind so are all but the last.
    """
    head, separator, rest = text.partition("::")
    predicate = head.strip()
    if not separator or not predicate or re.search(r"[\[\]()]", _BRACKETED.sub("", predicate)) or entries.task(head):
        return None
    days: dict[str, date] = {}
    for field in reversed([*lines.DATED_FIELD.finditer(rest)]):
        name, day = field[1].lower(), lines.calendar_day(field[2])
        if day is None or name in days:
            continue
        days[name] = day
        rest = rest[: field.start()].rstrip(" \t") + rest[field.end() :]
    rest = rest.strip()
    return Said(predicate, rest, days.get("since"), days.get("until")) if rest else None


def stray_field(text: str) -> str:
    """Return the first of our fields (``[until:: soon]``) left in a part of a fact, which must have none; else ''."""
    found = lines.OWN_FIELD.search(text)
    return found[0] if found else ""


def words(predicate: str, object_: str, since: date | None = None, until: date | None = None) -> str:
    """Return the words of a fact's bullet; predicate and object must be neutralised."""
    parts = [f"{predicate}:: {object_}"]
    parts += [f"[since:: {since.isoformat()}]"] if since else []
    parts += [f"[until:: {until.isoformat()}]"] if until else []
    return " ".join(parts)


def fact_of(entry: Entry, number: int = 0) -> Fact | None:
    """Return the fact that an entry of ``Facts.md`` states; None if it states none.

    Args:
        entry: from the note.
        number: number of the fact among those with the same words and subject, from 0.
    """
    found = parse(entry.text)
    if found is None or not entry.section or entry.depth:
        return None
    ref = ref_of(entry.path, entry.section, entry.text, number)
    place = (entry.provenance or "", entry.path, entry.line)
    return Fact(ref, entry.section, found.predicate, found.object, found.since, found.until, *place)


def ref_of(path: str, subject: str, text: str, number: int = 0) -> str:
    """Return the ref of a fact: that of an entry, but depending on the subject too.

    Two people can like tea: if their sections are swapped or one line is removed, the ref of one fact must not pass to
    the other.
    """
    return entries.ref(path, f"{folded(subject)}\0{text}", number)


def read(path: str, document: Document) -> list[tuple[Entry, Fact]]:
    """Return the facts of a note with their entries, in order of their lines; bullets under the title are not facts."""
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
    """Fold a subject or predicate for comparison: no case, links as their words, no emphasis, spaces collapsed."""
    return caseless(plain_heading(text))


def predicate_key(text: str) -> str:
    """Fold a predicate for comparison: as :func:`folded`; ``works_at``, the form of other programs, is ``works at``.

    ``has_role`` is ``role``.
    """
    words = folded(re.sub(r"(?<=[^\W_])_+(?=[^\W_])", " ", text))
    return words.removeprefix("has ") or words


def same_object(one: str, other: str) -> bool:
    """Whether two objects mean the same: case, spaces, links and escapes make no difference; punctuation does."""
    return object_key(one) == object_key(other)


def object_key(text: str) -> str:
    """Fold an object for comparison: objects that are :func:`same_object` have the same key."""
    return caseless(" ".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", wiki_words(text)).split()))


class Claim(NamedTuple):
    """A fact as somebody states it, before it is in ``Facts.md``.

    Attributes:
        subject: the person or thing that the claim is about; ``me`` is the person, ``we`` includes the people around.
        predicate: a few words (``lives in``).
        object: the value.
        since: the first day on which the claim holds, if stated.
        until: for a claim that is over, the first day on which it no longer holds.
    """

    subject: str
    predicate: str
    object: str
    since: date | None = None
    until: date | None = None

    @property
    def about(self) -> tuple[str, str]:
        """Subject and predicate in a form for comparison."""
        return folded(self.subject), predicate_key(self.predicate)

    @property
    def key(self) -> tuple[str, str, str]:
        """Subject, predicate and object in a form for comparison; dates don't count."""
        return *self.about, object_key(self.object)


class Predicates:
    """How predicates behave over time; names are compared folded.

    Args:
        single: predicates with one value at a time: a new value ends the old one.
        temporary: predicates whose facts never end another fact.
        events: predicates of things that happen once; without an end they count for :data:`EVENT_DAYS` days.
        getting, giving: a fact with a predicate of ``giving`` ends facts of ``getting`` with the same object.
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
        """Return the predicates of the settings."""
        lists = (options.single, options.temporary, options.events, options.getting, options.giving)
        return cls(*lists)

    def replaces(self, predicate: str) -> bool:
        """Whether a new value of a predicate ends the old one."""
        return predicate_key(predicate) in self.single - self.temporary - self.events

    def ended_by(self, predicate: str) -> tuple[str, ...]:
        """Return the predicates whose facts a fact with this predicate ends if they have the same object, sorted."""
        return tuple(sorted(self._getting)) if predicate_key(predicate) in self._giving else ()

    def timed(self, predicate: str) -> bool:
        """Whether the behaviour of a predicate over time is known; any other may have several true values."""
        return predicate_key(predicate) in self.single | self.temporary | self.events

    def is_event(self, predicate: str) -> bool:
        """Whether a predicate is of something that happens once."""
        return predicate_key(predicate) in self.events


def rivals(facts: Iterable[Fact], predicates: Predicates, day: date) -> list[list[Fact]]:
    """Group the facts that contradict each other on a day: same subject and single-valued predicate, other objects."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        if predicates.replaces(fact.predicate) and fact.holds(day):
            groups.setdefault(fact.about, []).append(fact)
    return [group for group in groups.values() if len({object_key(fact.object) for fact in group}) > 1]


class Ending(NamedTuple):
    """A fact that a new one ends, and the day on which it no longer holds."""

    fact: Fact
    on: date


class Plan(NamedTuple):
    """The effect of adding a fact.

    Attributes:
        same: the present fact that states the same; then there is nothing to do.
        since, until: dates of the new fact.
        endings: facts to end; none begins later than the new one.
    """

    same: Fact | None
    since: date | None
    until: date | None
    endings: tuple[Ending, ...]


def plan(facts: Iterable[Fact], new: Claim, *, today: date, predicates: Predicates) -> Plan:
    """Plan how to add a fact to others.

    Giving something away ends the facts that say the subject got it.

    A new value of a single-valued predicate ends the fact that holds on its first day, on that day. A back-dated fact
    ends when the next later one begins, and ends none that begins later. A fact that is already over ends none, and a
    fact that never holds is ignored.

    Args:
        facts: the present facts.
        new: the claim to add.
        today: the day on which the claim was stated.
        predicates: how predicates behave over time.
    """
    since, until = new.since, new.until
    about, facts = new.about, [*facts]
    known = [fact for fact in facts if fact.about == about and fact.ever_holds()]
    replaces = predicates.replaces(new.predicate)
    over = until is not None and until <= today
    if since is None and not over and (replaces or predicates.is_event(new.predicate)):
        since = today
    same = _same_fact(known, new.object, since, until, today)
    if same is not None:
        return Plan(same, same.since, same.until, ())
    if predicates.is_event(new.predicate) and until is None and since is not None:
        until = since + timedelta(days=EVENT_DAYS)
    ended = {(about[0], predicate) for predicate in predicates.ended_by(new.predicate)}
    if ended and since is not None and new.until is None:
        owned_before = (fact for fact in facts if fact.about in ended and same_object(fact.object, new.object))
        return Plan(None, since, until, tuple(Ending(fact, since) for fact in owned_before if fact.holds(since)))
    if not replaces or since is None or over:
        return Plan(None, since, until, ())
    later = [fact.since for fact in known if fact.since is not None and fact.since > since]
    if later and (until is None or until > min(later)):
        until = min(later)
    return Plan(None, since, until, tuple(Ending(fact, since) for fact in known if fact.holds(since)))


def _same_fact(known: list[Fact], object_: str, since: date | None, until: date | None, today: date) -> Fact | None:
    """Return the fact that holds on the first day of the new one and has the same object; None if there is none."""
    start = since or (min(today, until - timedelta(days=1)) if until else today)
    for fact in known:
        if same_object(fact.object, object_) and fact.holds(start) and (until is None or fact.until == until):
            return fact
    return None


def heading_for(subject: str, headings: Iterable[str], me: Sequence[str]) -> str:
    """Return the heading of ``Facts.md`` for a claim: one that means the same subject, else a new one.

    Args:
        subject: subject of the claim.
        headings: present headings.
        me: the subjects that mean the person; the first becomes the heading if none of them is one.
    """
    mine = [folded(name) for name in me if folded(name) != WE] or [ME]
    same = mine if folded(subject) in (ME, *mine) else [folded(subject)]
    present = next((title for title in headings if folded(title) in same), None)
    if present is not None:
        return present
    return next((name for name in me if folded(name) != WE), ME) if subject == ME else subject


def spoken_by(claim: Claim, author: str) -> Claim | None:
    """Replace the subject ``me`` of a claim by its named author; return None if the name can't be a subject."""
    return claim_of(author, *claim[1:]) if author and claim.subject == ME else claim


def claim_of(
    subject: str, predicate: str, object_: str, since: date | None = None, until: date | None = None
) -> Claim | None:
    """Make a claim of outside words, neutralised; return None if one of them is not valid in its place."""
    try:
        parts = [entries.neutralise(part).strip() for part in (subject, predicate, object_)]
    except UsageError:
        return None
    valid = not any(map(_AMBIGUOUS.search, parts[:2])) and max(map(len, parts)) <= MAX_PART_LENGTH
    claim = Claim(parts[0], parts[1], parts[2], since, until)
    return claim if valid and len(claim.predicate) <= 80 and claim_in(claim_line(claim)) == claim else None


def claim_line(claim: Claim) -> str:
    """Return a claim as one line."""
    return f"{claim.subject}{PARTS}{words(claim.predicate, claim.object, claim.since, claim.until)}"


def claim_in(line: str) -> Claim | None:
    """Parse the claim in a line; return None if there is none."""
    subject, separator, rest = line.strip(" \t").partition(PARTS)
    found = parse(rest.strip(" \t")) if separator else None
    if found is None or stray_field(found.object) or not subject.strip(" \t") or _AMBIGUOUS.search(subject):
        return None
    return Claim(subject.strip(" \t"), found.predicate, found.object, found.since, found.until)
