"""Notes by their names, links and tags: where links lead and from where, which notes bear a tag, which are near one."""

from __future__ import annotations

import os
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted, did_you_mean
from tars_memory.index.fulltext import Filter
from tars_memory.index.naming import key
from tars_memory.recall.facts import Tag, bare
from tars_memory.vault.links import block_ids
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from tars_memory.index.chunking import LinkTable
    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.vault import Vault


SHOWN, CANDIDATES = 5, 20
"""Paths that are named at most where several notes have a name, and headings that are listed."""


class NoteLinks(NamedTuple):
    """The links of one note.

    Attributes:
        path: of the note.
        out: its targets as written, in order, each with the path of the file it leads to, or None for none.
        back: the notes that link to it.
    """

    path: str
    out: list[tuple[str, str | None]]
    back: list[str]


def links(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NoteLinks:
    """The links of the note of that name.

    Raises:
        NotFoundError: there is none.
    """
    attachments = tuple(path for path in _attachments(vault) if vault.layout.scope_of(path) in ("", scope))
    table = reader.links(scope, attachments)
    path = _found(table, name)
    return NoteLinks(path, table.out(path), table.back(path))


class NamedPlace(NamedTuple):
    """What a name leads to.

    Attributes:
        path: of the note.
        line: 1-based.
        headings: the one that is meant, if one is.
        block_id: likewise, without its caret.
    """

    path: str
    line: int = 1
    headings: tuple[str, ...] = ()
    block_id: str | None = None


def place(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NamedPlace:
    """The note of that name; else the part of one that ``Note#Heading`` or ``Note#^id`` names; else the only heading.

    Raises:
        NotFoundError: there is none, as for :func:`called`.
        AmbiguousError: several headings are called so; they are listed.
        UsageError: several notes are.
    """
    note, parted, part = name.partition("#")
    if parted and note.strip() and part.strip() and not reader.called([key(name)], Filter(scope=scope)):
        return _part(vault, called(reader, note.strip(), scope=scope), part.strip())
    try:
        return NamedPlace(called(reader, name, scope=scope))
    except NotFoundError as error:
        found = [
            NamedPlace(path, section.start_line, (section.title,))
            for path in reader.names(scope).headed(name)
            for section in vault.note(path).document.sections
            if section.level and key(section.title) == key(name)
        ]
        if len(found) > 1:
            listed = [f"{each.path}:{each.line}  {each.headings[0]}" for each in found[:CANDIDATES]]
            more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
            hint = "name one as in a link: Note#Heading"
            raise AmbiguousError(f"{counted(len(found), 'heading')} are called {name!r}{more}", listed, hint) from None
        if not found:
            raise error from None
        return found[0]


def _part(vault: Vault, path: str, part: str) -> NamedPlace:
    """The heading, or with a caret the block, that a link names behind ``#``; of nested headings the last one."""
    document = vault.note(path).document
    if part.startswith("^"):
        line = block_ids(document).get(part[1:].casefold())
        found = None if line is None else NamedPlace(path, line, block_id=part[1:])
    else:
        section = document.find_section(part.rpartition("#")[2])
        found = None if section is None else NamedPlace(path, section.start_line, (section.title,))
    if found is None:
        raise NotFoundError(f"{path} has no heading or block {part!r}", f"tars-memory open {path} opens the note")
    return found


def called(reader: IndexReader, name: str, *, scope: str) -> str:
    """The path of the note of that name, or at that path.

    Raises:
        NotFoundError: there is none; names that are spelt alike are told, else those that begin so.
        UsageError: several have the name.
    """
    notes = reader.called([key(name)], Filter(scope=scope)).get(key(name), [])
    if len(notes) == 1:
        return notes[0][1]
    path = reader.links(scope).find(name) if not notes or "/" in name else None
    if path is not None:
        return path
    if notes:
        paths = [path for _, path, _ in notes]
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        raise UsageError(
            f"{counted(len(paths), 'note')} are called {name!r}: {', '.join(paths[:SHOWN])}{more}",
            "name one by its path",
        )
    names = reader.names(scope)
    near = names.near(name) or names.beginning(name)
    raise NotFoundError(
        f"no note is called {name!r}", did_you_mean(near) if near else f"tars-memory search {name} looks inside notes"
    )


def selected(
    reader: IndexReader,
    where: Sequence[str],
    linked_to: Sequence[str],
    links_to: Sequence[str],
    *,
    scope: str,
) -> tuple[int, ...]:
    """The notes that fulfil everything: numbers of rows.

    Args:
        reader: of the index.
        where: conditions on properties.
        linked_to: notes that must link to them.
        links_to: notes that they must link to.
        scope: a project whose notes count too.

    Raises:
        UsageError: a condition that is none.
        NotFoundError: a named note that is not there.
    """
    sets: list[set[int]] = [reader.notes_where(where)] if where else []
    if linked_to or links_to:
        table = reader.links(scope)
        for name in linked_to:
            targets = (path for _, path in table.out(_found(table, name)))
            sets.append({table.ids[path] for path in targets if path in table.ids})
        for name in links_to:
            back = table.back(_found(table, name))
            sets.append({table.ids[path] for path in back})
    return tuple(sorted(set.intersection(*sets)))


def _found(table: LinkTable, name: str) -> str:
    path = table.find(name)
    if path is None:
        raise NotFoundError(f"there is no note {name!r}", "name it as in a link: its name, or its path in the vault")
    return path


def _attachments(vault: Vault) -> Iterator[str]:
    """Files that are not notes, as links name them; hidden ones are left out."""
    for folder, folders, names in os.walk(vault.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = os.path.relpath(folder, vault.root).replace(os.sep, "/")
        for name in names:
            if not name.startswith(".") and not name.lower().endswith(".md"):
                yield name if inside == "." else f"{inside}/{name}"


# --- tags, and what is near


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
