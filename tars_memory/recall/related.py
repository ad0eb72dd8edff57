"""``tags`` and ``related``: which tags there are and where, and which notes are near a note, each with its reasons."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import NotFoundError
from tars_memory.index.filters import Filter
from tars_memory.recall.links import called
from tars_memory.recall.results import note_lines
from tars_memory.recall.selecting import Tag, bare

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.vault import Vault


class TagCount(NamedTuple):
    """A tag, and how many notes bear it or one nested below it.

    Attributes:
        tag: lower case, without ``#``.
        notes: how many.
    """

    tag: str
    notes: int


class Tagged(NamedTuple):
    """A note that bears a tag.

    Attributes:
        path: of the note.
        title: of it.
        whole: its properties name the tag.
        lines: number and text of those that do.
    """

    path: str
    title: str
    whole: bool
    lines: list[tuple[int, str]]


def tags(reader: IndexReader, *, scope: str) -> list[TagCount]:
    """All tags, and those above nested ones, in the order of their names."""
    notes: dict[str, set[str]] = {}
    for path, tag in reader.names(scope).tagged_notes():
        parts = tag.split("/")
        for depth in range(1, len(parts) + 1):
            notes.setdefault("/".join(parts[:depth]), set()).add(path)
    return [TagCount(tag, len(notes[tag])) for tag in sorted(notes, key=lambda tag: tag.split("/"))]


def tagged(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> list[Tagged]:
    """The notes with a tag, or with one nested below it, in the order of their paths.

    Args:
        reader: of the index, up to date.
        vault: the whole one.
        name: of the tag, with or without ``#``, in any case.
        scope: a project whose notes count beside those outside projects.

    Raises:
        NotFoundError: no note bears it.
        UsageError: the name is blank.
    """
    tag = Tag(bare(name, "--topic").strip("/ "))
    table = reader.names(scope)
    paths = dict.fromkeys(path for path, each in table.tagged_notes() if tag.covers(each))
    if not paths:
        near = [each.tag for each in tags(reader, scope=scope) if tag.name in each.tag]
        hint = f"there is {', '.join(near[:NEAR])}" if near else "tars-memory tags lists them"
        raise NotFoundError(f"no note has the tag #{tag.name}", hint)
    found = []
    for path, title, properties, chunks in table.bearing(paths, tag.covers):
        held: dict[int, str] = {}
        for start, text in chunks:
            held |= {start + at: line for at, line in enumerate(text.split("\n")) if tag.held_in(line)}
        lines = sorted(held.items())
        whole = any(map(tag.covers, properties))
        if not lines and not whole:  # a heading bears it
            document = vault.note(path).document
            heads = [section.start_line for section in document.sections if tag.held_in(f" {section.title}")]
            rows = note_lines(vault.read(path))
            lines = [(number, rows[number - 1]) for number in heads if number <= len(rows)]
        found.append(Tagged(path, title, whole, lines))
    return found


NEAR = 5
"""Tags that are named at most instead of one that is not there."""


class Reason(NamedTuple):
    """Why a note is near another one.

    Attributes:
        kind: ``links_to`` (that note links here), ``linked_from`` (this one links there), ``target`` (both link to the
            same), ``tag`` (both bear one that few do), ``meaning`` (a passage is nearer than is usual in the vault).
        what: the target or the tag; of ``meaning`` the line of that passage.
        weight: what it adds to the note's score, from 0 to 1.
    """

    kind: str
    what: str
    weight: float


class NearNote(NamedTuple):
    """A note near another one.

    Attributes:
        path: of it.
        title: of it.
        score: the sum of its reasons' weights.
        reasons: the weightiest first.
    """

    path: str
    title: str
    score: float
    reasons: tuple[Reason, ...]


OWN_CHUNKS = 12
"""Passages of a note that stand for it: the first ones, where it says what it is about."""
NEIGHBOURS = 60
"""Passages near each of them that are looked at."""
SAMPLE = 200
"""Passages of the vault by which it is told how near is usual there."""
CLEAR = 0.25
"""Standard deviations above chance that a neighbour needs. Of eight notes about other things among 174 German pages one
came .05 above it to a page, three in four of the pages .69 and more to another."""
BELOW = 0.16
"""So many of them lie further than one standard deviation below the middle, if they are spread as chance does."""


def related(reader: IndexReader, name: str, *, scope: str, limit: int) -> tuple[str, list[NearNote]]:
    """The notes that are near a note, and why; none rather than the least far.

    A link of a note with many says less. A tag or target counts that at most the square root of all notes have. A
    passage counts that is further above what is usual for this note than the nearest of so many by chance is.

    Args:
        reader: of the index, up to date.
        name: of the note, or its path.
        scope: a project whose notes count beside those outside projects.
        limit: most notes.

    Returns:
        The note's path, and the notes near it, best first.

    Raises:
        NotFoundError: there is no such note.
        UsageError: several have the name.
    """
    path = called(reader, name, scope=scope)
    table = reader.links(scope)
    few = max(2.0, sqrt(len(table.ids)))
    reasons: dict[str, list[Reason]] = {}

    out = list(dict.fromkeys(to for _, to in table.out(path) if to in table.ids and to != path))
    for other in out:
        assert other is not None
        reasons.setdefault(other, []).append(Reason("linked_from", "", _share(table.degree(path))))
    for other in table.back(path):
        reasons.setdefault(other, []).append(Reason("links_to", "", _share(table.degree(other))))
    for target, others in table.sharing(path).items():
        if len(others) + 1 <= few:
            for other in others:
                reasons.setdefault(other, []).append(Reason("target", target, _rarity(len(others) + 1, table.ids)))

    bearing: dict[str, set[str]] = {}
    for other, tag in reader.names(scope).tagged_notes():
        bearing.setdefault(tag, set()).add(other)
    for tag, held in bearing.items():
        if path in held and len(held) <= few:
            for other in held - {path}:
                reasons.setdefault(other, []).append(Reason("tag", tag, _rarity(len(held), table.ids)))

    for other, reason in _near(reader, table.ids[path], scope).items():
        reasons.setdefault(other, []).append(reason)
    found = []
    for row in reader.notes(table.ids[each] for each in reasons if each != path).values():
        why = sorted(reasons[row.path], key=lambda each: -each.weight)
        found.append(NearNote(row.path, row.title, round(sum(each.weight for each in why), 3), tuple(why)))
    return path, sorted(found, key=lambda each: (-each.score, each.path))[:limit]


def _share(links: int) -> float:
    """What one of a note's links says."""
    return round(1 / (1 + log(max(1, links))), 3)


def _rarity(bearers: int, notes: Mapping[str, int]) -> float:
    """What it says that a note is one of so few: 1 for two of very many, 0 for all."""
    return round(log(len(notes) / bearers) / log(max(2, len(notes))), 3)


def _near(reader: IndexReader, note: int, scope: str) -> dict[str, Reason]:
    """The notes with a passage that is clearly nearer to one of this note's than is usual for either of the two, with
    the line of the nearest one.
    """
    within = Filter(scope=scope)
    own = reader.note_chunks([note], within).get(note, [])[:OWN_CHUNKS]
    sample = reader.spread(SAMPLE)
    near: dict[int, float] = {}
    for vector in reader.vectors(own).values():
        usual = _usual(reader, vector, sample, own)
        for chunk, cosine in reader.nearest(vector, within, NEIGHBOURS):
            near[chunk] = max(near.get(chunk, 0.0), usual(cosine))
    rows = {chunk: row for chunk, row in reader.chunks(near).items() if row.note_id != note and near[chunk] > 0}
    best = sorted(rows, key=lambda chunk: -near[chunk])[:NEIGHBOURS]
    found: dict[str, tuple[float, int]] = {}
    for chunk, vector in reader.vectors(best).items():
        usual = _usual(reader, vector, sample, [chunk])
        above = min(near[chunk], usual(max(reader.cosines(vector, own).values())))
        if above > 0:
            found[rows[chunk].path] = max(found.get(rows[chunk].path, (0.0, 0)), (above, -rows[chunk].start_line))
    return {path: Reason("meaning", str(-line), round(above / (1 + above), 3)) for path, (above, line) in found.items()}


def _usual(reader: IndexReader, vector: bytes, sample: Sequence[int], but: Collection[int]) -> Callable[[float], float]:
    """Tells of a cosine how far it lies above the nearest of all passages by chance, in standard deviations."""
    usual = sorted(cosine for chunk, cosine in reader.cosines(vector, sample).items() if chunk not in but)
    if len(usual) < 2:
        return lambda _: 0.0
    middle = usual[len(usual) // 2]
    spread = max(middle - usual[int(len(usual) * BELOW)], 1e-6)  # of the lower half: no neighbour is in it
    floor = sqrt(2 * log(max(2, reader.chunk_count()))) + CLEAR
    return lambda cosine: (cosine - middle) / spread - floor
