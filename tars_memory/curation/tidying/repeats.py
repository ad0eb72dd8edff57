"""What tidy finds in two lines: the same words twice, the same in other words, and those of which perhaps one holds.

Facts of one subject and one predicate of which only one value is true at a time (also where ``Memory.md`` states one),
lines with the same words but another date, time or number, and lines that share their words but for a negation are
asked about, never acted on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from tars_memory.curation.extraction.rules import stated
from tars_memory.curation.proposals import Related, question
from tars_memory.language import statements
from tars_memory.vault.markdown import facts as truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.curation.tidying.findings import Finding, TidyNote, World
    from tars_memory.vault.model import Entry


STANDING = 4
"""From so many words on, a line means the same under another heading; ``likes tea`` may be about somebody else, unless
one of the headings is the one for everything."""

COMMON = 40
"""A word that more lines have than this pairs nothing; lines that say the same share rarer ones."""

LONG = 1_000
"""Characters of the longest line that is compared: more is a text, not a statement."""

TELLING = 2
"""Fewer words of content than this are an exclamation."""

LISTS = frozenset({"topics", "decisions", "open ends", "tools", "facts"})
"""The headings of a session note under which a line is written once."""

SESSION_HEADINGS = frozenset({"summary", "topics", "decisions", "open ends", "tools", "facts", "turns"})
"""The headings that a session note has once; any other one may be a speaker's name."""


def duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Bullets with exactly the same words in the same place; with a time only those of the same time."""
    groups: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
    for entry in note.entries:
        if note.role == "daily" and entry.time is None:
            continue  # a tally, a habit: twice may be meant
        if note.role == "session" and (entry.depth or entry.section.casefold() not in LISTS):
            continue  # what was said twice, was said twice
        groups[*note.place(entry.line), entry.time, entry.state, entry.text].append(entry)
    for group in groups.values():
        if len(group) > 1:
            stays = min(group, key=lambda entry: _worth(entry, world))
            for entry in group:
                if entry is not stays:
                    yield _duplicate(note, entry, stays, world)


def duplicates_elsewhere(note: TidyNote, world: World) -> Iterator[Finding]:
    """Bullets with the same words under another heading of the note; for a person to decide."""
    if note.role not in ("memory", "rules"):
        return
    first: dict[str, Entry] = {}
    general = {"", world.layout.notes_section.casefold()}
    for entry in note.entries:
        if entry.depth:
            continue
        other = first.setdefault(entry.text, entry)
        if note.place(other.line) == note.place(entry.line):
            continue
        titles = {other.section.casefold(), entry.section.casefold()}
        if len(entry.text.split()) < STANDING and not titles & general:
            continue
        gone, stays = sorted((other, entry), key=lambda each: _worth(each, world), reverse=True)
        where = f"line {stays.line}, under {stays.section!r}," if stays.section else f"line {stays.line}"
        op = "remove" if not _tied(gone, world) else ""
        sentence, key = f"{where} says the same: keep one", f"elsewhere\0{gone.raw.strip()}"
        yield note.about("duplicate", gone, sentence, key, op=op, conflicts=(world.related(stays),))


def near_duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Bullets that say the same in other words or another order."""
    if note.role not in ("memory", "rules"):
        return
    short = [entry for entry in note.entries if not entry.depth and len(entry.text) <= LONG]
    told = [(entry, statements.read(entry.text)) for entry in short]
    taken: set[int] = set()
    for one, two in _pairs([statement.content for _, statement in told]):
        (old, said), (new, says) = told[one], told[two]
        if old.text == new.text or one in taken or two in taken:
            continue
        together = note.place(old.line) == note.place(new.line)
        if not together and min(len(old.text.split()), len(new.text.split())) < STANDING:
            continue
        if len(set(said.content)) < TELLING:
            continue
        if statements.compare(said, says) in ("same", "near"):
            gone, stays = sorted((old, new), key=lambda each: _worth(each, world), reverse=True)
            taken.add(two if gone is new else one)
            sentence = f"line {stays.line} says the same in other words: keep the better one"
            op = "" if _tied(gone, world) else "remove"
            key, conflicts = f"{gone.raw.strip()}\0{stays.text}", (world.related(stays),)
            yield note.about("near-duplicate", gone, sentence, key, op=op, conflicts=conflicts)


def repeated_headings(note: TidyNote, world: World) -> Iterator[Finding]:
    """Headings that are there twice under the same headings: what is added goes to the first one only."""
    first: dict[tuple[object, ...], int] = {}
    for section in note.document.sections:
        title = section.title.casefold()
        if not section.level or not title:
            continue
        if note.role == "daily" and title != world.layout.log_heading.casefold():
            continue
        if note.role == "session" and title not in SESSION_HEADINGS:
            continue
        key = (section.level, *(name.casefold() for name in section.path))
        line = first.setdefault(key, section.start_line)
        if line != section.start_line:
            sentence = f"the heading is in line {line} already: move its lines there and remove this one"
            yield note.at("repeated-heading", section.start_line, section.title, sentence, " › ".join(section.path))


def repeated_ids(note: TidyNote, _world: World) -> Iterator[Finding]:
    """Block ids that two bullets with different words bear: a link to them leads to the first only."""
    first: dict[str, Entry] = {}
    for entry in note.entries:
        if entry.block_id:
            other = first.setdefault(entry.block_id.casefold(), entry)
            if other is not entry and (other.text, other.time) != (entry.text, entry.time):
                sentence = f"^{entry.block_id} is the id of line {other.line} too: give this line another one"
                yield note.about("repeated-id", entry, sentence, entry.raw.strip())


def _duplicate(note: TidyNote, entry: Entry, stays: Entry, world: World) -> Finding:
    tied = _tied(entry, world)
    sentence = f"line {stays.line} says the same: remove this one"
    if tied:
        sentence = f"line {stays.line} says the same, but {tied}: keep one by hand"
    conflicts = (world.related(stays),)
    return note.about("duplicate", entry, sentence, entry.raw.strip(), fixable=not tied, conflicts=conflicts)


def _worth(entry: Entry, world: World) -> tuple[object, ...]:
    """Which of two lines stays: one that is linked to, one with lines under it, one that says where it is from."""
    return (
        not _linked(entry, world),
        entry.end_line == _own_end(entry),
        entry.block_id is None,
        entry.provenance is None,
        entry.line,
    )


def _tied(entry: Entry, world: World) -> str:
    """Why a line can't simply go; empty if it can."""
    if _linked(entry, world):
        return "this one is linked to as well"
    return "this one has lines under it" if entry.end_line > _own_end(entry) else ""


def _linked(entry: Entry, world: World) -> bool:
    return entry.block_id is not None and entry.block_id.casefold() in world.linked


def _own_end(entry: Entry) -> int:
    return entry.line + entry.raw.count("\n")


def _pairs(contents: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Which lines are worth comparing: those that share a word that no more than :data:`COMMON` of them have."""
    holders: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(contents):
        for word in set(words):
            holders[word].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        if len(numbers) <= COMMON:
            shared.update(combinations(numbers, 2))
    return sorted(
        pair for pair, count in shared.items() if 2 * count >= min(len(set(contents[number])) for number in pair)
    )


MOST = 3
"""Lines with the same words and other numbers; more of them are a list of records."""

OPPOSED = 0.8
"""How much of their content two lines share that deny each other. Lines that only speak of one thing oppose each other
by chance: among 26,000 lines of talk and prose any overlap finds 8,100 such pairs, this finds 36."""

Asked = list[tuple["Entry", Related]]


def opposites(note: TidyNote, world: World) -> Iterator[Finding]:
    """Lines of a note of which perhaps not all hold, each group once."""
    once: set[frozenset[tuple[str, int]]] = set()
    for group in (*_values(note, world), *_moved(note, world), *_denied(note, world)):
        places = frozenset((line.path, line.line) for _, line in group)
        if places in once or len({line.text for _, line in group}) < 2:
            continue
        once.add(places)
        lines = sorted((line for _, line in group), key=lambda line: (line.path != note.path, line.line))
        entry = next(entry for entry, line in reversed(group) if line.path == note.path)
        told = " or ".join(f"“{line.text}” ({line.date or 'undated'}, {line.path}:{line.line})" for line in lines)
        words = question(lines)
        asked = f"which of these? {told}"
        yield note.about("contradiction", entry, asked, words, op="choose", words=words, conflicts=tuple(lines))


def _values(note: TidyNote, world: World) -> Iterator[Asked]:
    """Values of one subject and one single-valued predicate that are all said to hold today."""
    path = world.layout.facts
    if note.role != "memory" and note.path != path:
        return
    entries = {fact: entry for entry, fact in world.stated}
    headings = [fact.subject for fact in entries]
    for entry in _short(note) if note.role == "memory" else ():
        if claim := stated(entry.text, world.today):
            subject = truth.heading_for(claim.subject, headings, truth.names(world.facts.me))
            said = (subject, claim.predicate, claim.object, None, None)
            entries[truth.Fact(entry.ref, *said, "", entry.path, entry.line)] = entry
    for group in truth.rivals(entries, world.predicates, world.today):
        if note.path in {fact.path for fact in group}:
            yield [
                (entries[fact], Related.stating(fact) if fact.path == path else world.related(entries[fact]))
                for fact in group
            ]


def _moved(note: TidyNote, world: World) -> Iterator[Asked]:
    """Lines with the same words but another date, time or number: a few; many are a list."""
    same: dict[tuple[tuple[str, ...], int, object], list[Entry]] = defaultdict(list)
    for entry in _short(note):
        said = statements.read(entry.text)
        words = tuple(word for word in said.content if word not in said.numbers)
        if words and said.numbers:
            same[words, said.denied % 2, note.place(entry.line)].append(entry)
    for (words, *_), group in same.items():
        dated = not all(number.isdigit() for entry in group for number in statements.read(entry.text).numbers)
        # "item 1" and "item 2" are names, "dentist at 9:30" and "dentist at 8:15" are not.
        if 1 < len(group) <= (MOST if dated else 2) and (dated or len(words) > 1):
            yield [(entry, world.related(entry)) for entry in group]


def _denied(note: TidyNote, world: World) -> Iterator[Asked]:
    """Lines that share their words, the one with a negation."""
    entries = _short(note)
    told = [statements.read(entry.text) for entry in entries]
    for one, two in _pairs([each.content for each in told]):
        said, says = told[one], told[two]
        if said.denied % 2 != says.denied % 2 and statements.overlap(said, says) >= OPPOSED:
            yield [(entry, world.related(entry)) for entry in (entries[one], entries[two])]


def _short(note: TidyNote) -> Sequence[Entry]:
    """The lines that may be statements."""
    if note.role not in ("memory", "rules"):
        return ()
    return [entry for entry in note.entries if not entry.depth and len(entry.text) <= LONG]
