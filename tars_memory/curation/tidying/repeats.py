"""Finds problems between lines: the same words twice, the same in other words, and lines that contradict each other.

Contradictions are: facts of one subject and predicate that has only one value at a time (``Memory.md`` may state one of
them), lines with the same words but another date, time or number, and lines that differ by a negation. They become
questions; nothing is changed.
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
"""Minimum number of words of a line that means the same under another heading. A shorter one, like ``likes tea``, may
be about somebody else, unless one of the headings is the one for everything."""

COMMON = 40
"""Maximum number of lines with a word for it to pair them; lines that say the same share rarer words."""

LONG = 1_000
"""Maximum number of characters of a line to compare: a longer one is a text, not a statement."""

TELLING = 2
"""Minimum number of content words of a statement; fewer are an exclamation."""

LISTS = frozenset({"topics", "decisions", "open ends", "tools", "facts"})
"""Headings of a session note under which each line is written once."""

SESSION_HEADINGS = frozenset({"summary", "topics", "decisions", "open ends", "tools", "facts", "turns"})
"""Headings that a session note has once; any other heading may be a speaker's name."""


def duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets with exactly the same words and time in the same place."""
    groups: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
    for entry in note.entries:
        if note.role == "daily" and entry.time is None:
            continue  # a tally or a habit may be meant twice
        if note.role == "session" and (entry.depth or entry.section.casefold() not in LISTS):
            continue  # it may have been said twice
        groups[*note.place(entry.line), entry.time, entry.state, entry.text].append(entry)
    for group in groups.values():
        if len(group) > 1:
            stays = min(group, key=lambda entry: _rank(entry, world))
            for entry in group:
                if entry is not stays:
                    yield _duplicate(note, entry, stays, world)


def near_duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets that say the same: in other words or in another order, or exactly under another heading."""
    entries = _short(note)
    parsed = [statements.read(entry.text) for entry in entries]
    gone: set[Entry] = set()
    general = {"", world.layout.notes_section.casefold()}
    for first, second in _pairs([statement.content for statement in parsed]):
        old, new = entries[first], entries[second]
        equal, together = old.text == new.text, note.place(old.line) == note.place(new.line)
        if (equal and together) or old in gone or new in gone:
            continue
        apart = not together and not (equal and {old.section.casefold(), new.section.casefold()} & general)
        if apart and min(len(old.text.split()), len(new.text.split())) < STANDING:
            continue
        if not equal and len(set(parsed[first].content)) < TELLING:
            continue
        if statements.compare(parsed[first], parsed[second]) in ("same", "near"):
            worse, better = sorted((old, new), key=lambda entry: _rank(entry, world), reverse=True)
            gone.add(worse)
            how = "" if equal else " in other words"
            sentence = f"line {better.line} says the same{how}: keep one"
            op = "" if _why_kept(worse, world) else "remove"
            key, conflicts = f"{worse.raw.strip()}\0{better.text}", (world.related(better),)
            yield note.about(
                "duplicate" if equal else "near-duplicate", worse, sentence, key, op=op, conflicts=conflicts
            )


def repeated_headings(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find headings that occur twice below the same headings: new lines go only to the first."""
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
    """Find block ids that two different bullets have: a link leads only to the first."""
    first: dict[str, Entry] = {}
    for entry in note.entries:
        if entry.block_id:
            other = first.setdefault(entry.block_id.casefold(), entry)
            if other is not entry and (other.text, other.time) != (entry.text, entry.time):
                sentence = f"^{entry.block_id} is the id of line {other.line} too: give this line another one"
                yield note.about("repeated-id", entry, sentence, entry.raw.strip())


def _duplicate(note: TidyNote, entry: Entry, stays: Entry, world: World) -> Finding:
    """Return the finding that an entry repeats the one that stays."""
    reason = _why_kept(entry, world)
    sentence = f"line {stays.line} says the same: remove this one"
    if reason:
        sentence = f"line {stays.line} says the same, but {reason}: keep one by hand"
    conflicts = (world.related(stays),)
    return note.about("duplicate", entry, sentence, entry.raw.strip(), fixable=not reason, conflicts=conflicts)


def _rank(entry: Entry, world: World) -> tuple[object, ...]:
    """Return the rank of a line among duplicates; the lowest stays.

    First comes a line that is linked to, then one with lines below it, one with a block id, one with a provenance.
    """
    return (
        not _linked(entry, world),
        entry.end_line == _own_end(entry),
        entry.block_id is None,
        entry.provenance is None,
        entry.line,
    )


def _why_kept(entry: Entry, world: World) -> str:
    """Return why a line can't be removed without loss; empty if it can."""
    if _linked(entry, world):
        return "this one is linked to as well"
    return "this one has lines under it" if entry.end_line > _own_end(entry) else ""


def _linked(entry: Entry, world: World) -> bool:
    """Whether a note links to a line."""
    return entry.block_id is not None and entry.block_id.casefold() in world.linked


def _own_end(entry: Entry) -> int:
    """Return the last line of a bullet, without the bullets nested in it."""
    return entry.line + entry.raw.count("\n")


def _pairs(contents: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the pairs of lines to compare, by number: those that share half of the shorter one's words.

    Only words that at most :data:`COMMON` lines have count as shared.
    """
    lines_with: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(contents):
        for word in set(words):
            lines_with[word].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in lines_with.values():
        if len(numbers) <= COMMON:
            shared.update(combinations(numbers, 2))
    return sorted(
        pair for pair, count in shared.items() if 2 * count >= min(len(set(contents[number])) for number in pair)
    )


MOST = 3
"""Maximum number of lines with the same words and other numbers; more of them are a list of records."""

OPPOSED = 0.8
"""Two lines, one with a negation, contradict each other if they share this much of their content. Lines about the same
thing often differ by a negation: among 26,000 lines of talk and prose any overlap finds 8,100 such pairs, this finds
36."""

Group = list[tuple["Entry", Related]]
"""Entries of which perhaps only one is true, each with the line that is shown for it."""


def opposites(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find groups of lines that contradict each other, each group once."""
    seen: set[frozenset[tuple[str, int]]] = set()
    for group in (*_rival_values(note, world), *_other_numbers(note, world), *_negations(note, world)):
        places = frozenset((line.path, line.line) for _, line in group)
        if places in seen or len({line.text for _, line in group}) < 2:
            continue
        seen.add(places)
        lines = sorted((line for _, line in group), key=lambda line: (line.path != note.path, line.line))
        entry = next(entry for entry, line in reversed(group) if line.path == note.path)
        choices = " or ".join(f"“{line.text}” ({line.date or 'undated'}, {line.path}:{line.line})" for line in lines)
        words = question(lines)
        asked = f"which of these? {choices}"
        yield note.about("contradiction", entry, asked, words, op="choose", words=words, conflicts=tuple(lines))


def _rival_values(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield facts with the same subject and predicate, which has only one value at a time, that all hold today."""
    path = world.layout.facts
    if note.role != "memory" and note.path != path:
        return
    entries = {fact: entry for entry, fact in world.stated}
    headings = [fact.subject for fact in entries]
    for entry in _short(note) if note.role == "memory" else ():
        if claim := stated(entry.text, world.today):
            subject = truth.heading_for(claim.subject, headings, world.facts.me)
            parts = (subject, claim.predicate, claim.object, None, None)
            entries[truth.Fact(entry.ref, *parts, "", entry.path, entry.line)] = entry
    for group in truth.rivals(entries, world.predicates, world.today):
        if note.path in {fact.path for fact in group}:
            yield [
                (entries[fact], Related.stating(fact) if fact.path == path else world.related(entries[fact]))
                for fact in group
            ]


def _other_numbers(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield lines with the same words but another date, time or number, at most :data:`MOST`; more are a list."""
    same: dict[tuple[tuple[str, ...], int, object], list[Entry]] = defaultdict(list)
    for entry in _short(note):
        statement = statements.read(entry.text)
        words = tuple(word for word in statement.content if word not in statement.numbers)
        if words and statement.numbers:
            same[words, statement.denied % 2, note.place(entry.line)].append(entry)
    for (words, *_), group in same.items():
        dated = not all(number.isdigit() for entry in group for number in statements.read(entry.text).numbers)
        # "item 1" and "item 2" are names; "dentist at 9:30" and "dentist at 8:15" are not.
        if 1 < len(group) <= (MOST if dated else 2) and (dated or len(words) > 1):
            yield [(entry, world.related(entry)) for entry in group]


def _negations(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield pairs of lines that share their words, one of them with a negation."""
    entries = _short(note)
    parsed = [statements.read(entry.text) for entry in entries]
    for first, second in _pairs([statement.content for statement in parsed]):
        old, new = parsed[first], parsed[second]
        if old.denied % 2 != new.denied % 2 and statements.overlap(old, new) >= OPPOSED:
            yield [(entry, world.related(entry)) for entry in (entries[first], entries[second])]


def _short(note: TidyNote) -> Sequence[Entry]:
    """Return the top-level entries of a note of the memory or of rules that are short enough to be one statement."""
    if note.role not in ("memory", "rules"):
        return ()
    return [entry for entry in note.entries if not entry.depth and len(entry.text) <= LONG]
