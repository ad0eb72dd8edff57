"""Which of these holds? Lines of which, by their structure, perhaps not all do. They are asked about, never acted on.

Facts of one subject and one predicate of which only one value is true at a time, also where ``Memory.md`` states one;
lines with the same words but another date, time or number; lines that share their words but for a negation.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tars_memory.curation import similarity
from tars_memory.curation.model import Related, question
from tars_memory.curation.tidying.findings.model import Finding
from tars_memory.curation.tidying.findings.repeats import COMMON, LONG, pairs
from tars_memory.language import statements
from tars_memory.vault.markdown import facts as truth
from tars_memory.vault.markdown.facts import heading_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.curation.tidying.findings.model import TidyNote, World
    from tars_memory.vault.model import Entry

MOST = 3
"""Lines with the same words and other numbers; more of them are a list of records."""

OPPOSED = 0.8
"""How much of their content two lines share that deny each other. Lines that only speak of one thing oppose each other
by chance: among 26,000 lines of talk and prose any overlap finds 8,100 such pairs, this finds 36."""

Asked = list[tuple["Entry", Related]]


def opposites(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
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
        yield (
            Finding(
                "",
                "contradiction",
                note.path,
                entry.line,
                entry.text,
                f"which of these? {told}",
                entry=entry,
                op="choose",
                words=words,
                conflicts=tuple(lines),
            ),
            words,
        )


def _values(note: TidyNote, world: World) -> Iterator[Asked]:
    """Values of one subject and one single-valued predicate that are all said to hold today."""
    predicates, me = truth.Predicates.of(world.facts), truth.names(world.facts.me)
    path = world.layout.facts
    known: dict[tuple[str, str], Asked] = defaultdict(list)
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    headings: list[str] = []
    for entry, fact in truth.read(path, world.read(path) or b""):
        headings.append(fact.subject)
        if predicates.replaces(fact.predicate) and fact.holds(world.today):
            key = truth.folded(fact.subject), truth.folded(fact.predicate)
            since = fact.since.isoformat() if fact.since else ""
            known[key].append((entry, Related(path, fact.line, fact.ref, f"{fact.predicate} {fact.object}", since)))
            values[key].add(truth.object_key(fact.object))
    if note.role == "memory":
        from tars_memory.curation.extraction.rules import stated

        for entry in _short(note):
            claim = stated(entry.text, world.today)
            if claim and predicates.replaces(claim.predicate):
                heading = heading_for(claim.subject, headings, me)
                key = truth.folded(heading), truth.folded(claim.predicate)
                known[key].append((entry, world.related(entry)))
                values[key].add(truth.object_key(claim.object))
    for key, group in known.items():
        here = any(line.path == note.path for _, line in group)
        if len(values[key]) > 1 and here and (note.role == "memory" or {line.path for _, line in group} == {path}):
            yield group


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
    for one, two in pairs([each.content for each in told], COMMON):
        said, says = told[one], told[two]
        if said.denied % 2 != says.denied % 2 and similarity.overlap(said, says) >= OPPOSED:
            yield [(entry, world.related(entry)) for entry in (entries[one], entries[two])]


def _short(note: TidyNote) -> Sequence[Entry]:
    """The lines that may be statements."""
    if note.role not in ("memory", "rules"):
        return ()
    return [entry for entry in note.entries if not entry.depth and len(entry.text) <= LONG]
