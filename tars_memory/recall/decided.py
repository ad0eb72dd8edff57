"""What the person decided about a candidate holds for what its session note says of it, too.

The state of a candidate stands in one place: on its line of the daily note. The session note's fact links to that line,
so it is looked up there, by the block id, each time it is asked for: a decision taken back, edited by hand or synced
from elsewhere counts at once, in old vaults as in new ones, and no second copy of it can be wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.vault.links import targets_in
from tars_memory.vault.markdown.lines import (
    BLANKS,
    QUOTE,
    REJECTED,
    REPLACED,
    Item,
    heading_of,
    items,
    quote_in,
    rejected_words,
    unlinked,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.index.reader import ChunkRow, IndexReader

ENDED = "ended"
"""What became of a line whose fact does not hold any more."""

TIER = "episodic"
"""Of the notes that say a second time what a daily note says."""
LEFT_OUT = "Left out"
"""The heading under which a session note keeps what nobody was asked about."""
REPEATING = "Decisions"
"""The heading under which a session note says in the same words again what is a fact as well."""
TURNS = "Turns"
"""The heading of the turns that are kept: they say what was drawn from them again."""

BACK = 8
"""Chunks before one that begins within an item, to find the item's first line: a fact and its quote are three."""

LEAST = 3
"""Words (letters, in scripts that part none) of a statement that a longer name can say; shorter ones must be all of it.
"""
CUT = 30
"""Characters of a name that may be the beginning of a longer statement."""

_WORDS = re.compile(r"[^\W_]+")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?: \d{4})? ")
_TOPIC = re.compile(r"(?:.*/)?\d{4}-\d\d-\d\d \d{4} (.{1,300})")


def ids(lines: Iterable[str]) -> list[str]:
    """The block ids that the facts among these lines of a session note link to, in order, each once."""
    found: dict[str, None] = {}
    for item in items(lines):
        if item.source:
            found.setdefault(item.source)
    return list(found)


def standing(
    lines: Sequence[str], decided: Mapping[str, str], words: Mapping[str, str] | None = None
) -> dict[int, str]:
    """The lines of a session note that say what was rejected or has expired, by their index, with the state.

    That is a fact whose own line bears the state, with all that is nested under it (its quote), and whatever stands in
    the note again in the same words, as its decisions do.

    Args:
        lines: of the note, or a part of it.
        decided: the states of the lines that it links to.
        words: :func:`refused` of the rest of the note.
    """
    if not decided and not words:
        return {}
    all_items = list(items(lines))
    found: dict[int, str] = {}
    said = {**(words or {}), **_refused(all_items, decided)}
    above: tuple[int, str] | None = None
    for item in all_items:
        if above is not None and item.indent <= above[0]:
            above = None
        if above is None:
            state = decided.get(item.source, "") or said.get(_words(item), "")
            above = (item.indent, state) if state else None
        if above is not None:
            found.update(dict.fromkeys(item.numbers, above[1]))
    return found


def refused(lines: Iterable[str], decided: Mapping[str, str]) -> dict[str, str]:
    """The words of the facts among these lines that were decided about, with the state."""
    return _refused(items(lines), decided)


def looked_up(reader: IndexReader, names: Iterable[str]) -> dict[str, str]:
    """The state of the daily lines with these block ids, of those that were rejected or have expired."""
    wanted = list(names)
    return reader.states_of(wanted) if wanted else {}


def gave_way(reader: IndexReader, names: Iterable[str]) -> dict[str, str]:
    """The state of the daily lines with these block ids, of those whose approved line another one replaced since."""
    wanted = reader.replaced().intersection(names)
    return {name: state for name, state in outdated(reader, wanted, None).items() if state == REPLACED}


def outdated(reader: IndexReader, names: Iterable[str], on: date | None) -> dict[str, str]:
    """The state of the daily lines with these block ids, also of those whose approved line or fact gave way since.

    A line that another one replaced links to its day where it is kept (``replaced:: words ([[…#^id|day]])``), a fact
    that has ended where it stands; what a line that still counts links to is not outdated.

    Args:
        reader: the index.
        names: the block ids.
        on: the day on which facts have to hold; None: none has ended.
    """
    wanted = set(names)
    if not wanted:
        return {}
    found = reader.states_of(wanted)
    counts: set[str] = set()
    for kind, source, until in reader.drawn_on():
        name = source.partition("#^")[2]
        if kind == REPLACED:
            found[name] = REPLACED
        elif on is None or not until or until > on.isoformat():
            counts.add(name)
        else:
            found.setdefault(name, ENDED)
    return {name: state for name, state in found.items() if name in wanted and name not in counts}


def in_chunks(reader: IndexReader, rows: Iterable[ChunkRow]) -> dict[int, dict[int, str]]:
    """By chunk, :func:`standing` of its lines; chunks that say nothing decided are left out."""
    sessions = [row for row in rows if row.tier == TIER]
    unoffered = {
        row.id: dict.fromkeys(range(row.text.count("\n") + 1), REJECTED) for row in sessions if _is_under(row, LEFT_OUT)
    }
    about = [row for row in sessions if "#^" in row.text or _is_under(row, REPEATING) or _goes_on(row)]
    about = [row for row in about if row.id not in unoffered]
    turns = [row for row in sessions if _is_under(row, TURNS)]
    turns = turns if turns and reader.replaced() else []
    if not about and not turns:
        return unoffered
    repeating = [row for row in about if _is_under(row, REPEATING)]
    elsewhere = reader.linking_texts({row.note_id for row in (*repeating, *turns)})
    read = {row.id: _from_its_item(reader, row) for row in about}
    others = {note: [line for text in texts for line in text.split("\n")] for note, texts in elsewhere.items()}
    told = [*(lines for lines, _ in read.values()), *others.values()]
    names = dict.fromkeys(name for lines in told for name in ids(lines))
    decided = {**gave_way(reader, names), **looked_up(reader, names)}
    found = {}
    for row in about if decided else ():
        lines, first = read[row.id]
        states = standing(lines, decided, refused(others.get(row.note_id, ()), decided))
        if held := {index - first: state for index, state in states.items() if index >= first}:
            found[row.id] = held
    for row in turns if decided else ():
        quotes = _quotes_replaced(others.get(row.note_id, ()), decided)
        if held := {i: REPLACED for i, line in enumerate(row.text.split("\n")) if any(said in line for said in quotes)}:
            found[row.id] = {**held, **found.get(row.id, {})}
    return {**found, **unoffered}


def unnamed(reader: IndexReader, rows: Iterable[ChunkRow]) -> tuple[set[int], dict[int, set[int]]]:
    """Take what was rejected out of what session notes are called: out of title, aliases and headings of these rows.

    A file's name can't be changed without a word, and a title may be a person's own; so both stay in the vault.

    Returns:
        The notes whose names say it, and by chunk the lines that do so: headings, links to such a note, and decisions.
    """
    sessions = [row for row in rows if row.tier == TIER]
    if not sessions or not reader.rejects():
        return set(), {}
    said: dict[int, list[str]] = {row.note_id: [] for row in sessions}
    for note, texts in reader.linking_texts(said).items():
        said[note] = [line for text in texts for line in text.split("\n")]
    own = looked_up(reader, dict.fromkeys(name for lines in said.values() for name in ids(lines)))
    own_names = {row.note_id: _names_of(row) for row in sessions}
    naming = {row.id: list(_naming(row)) for row in sessions}
    names = {*(name for each in own_names.values() for name in each), *(n for each in naming.values() for _, n in each)}
    phrases = {name for name in names if " " in name or not name.isascii()}
    refused_words = {
        words
        for text in (reader.rejected_texts(phrases) if phrases else ())
        for line in text.split("\n")
        if (words := _spread(rejected_words(line)))
    }
    known_in = {
        note: refused_words
        | {_spread(text) for text, state in _refused(items(texts), own).items() if state == REJECTED}
        for note, texts in said.items()
    }
    notes = {note for note, called in own_names.items() if any(_tells(name, known_in[note]) for name in called)}
    lines: dict[int, set[int]] = {}
    for row in sessions:
        known = known_in[row.note_id]
        if row.note_id in notes:
            stamp = _STAMP.match(row.path.rpartition("/")[2])
            row.title = stamp[0].strip() if stamp else row.date or ""
            row.aliases = tuple(alias for alias in row.aliases if not _tells(_spread(alias), known))
        row.headings = tuple(heading for heading in row.headings if not _tells(_spread(heading), known))
        lines[row.id] = {index for index, name in naming[row.id] if _tells(name, known)}
    return notes, lines


def called(path: str, lines: Sequence[str], decided: Mapping[str, str]) -> str:
    """The path of a session note as a prompt may show it: without a topic that says what was rejected.

    Args:
        path: of the note.
        lines: all of it.
        decided: the states of the lines that it links to.
    """
    folder, slash, name = path.rpartition("/")
    stamp = _STAMP.match(name)
    words = {_spread(text) for text, state in refused(lines, decided).items() if state == REJECTED}
    if stamp is None or not _tells(_spread(name[stamp.end() : -3]), words):
        return path
    return f"{folder}{slash}{stamp[0]}….md"


def _names_of(row: ChunkRow) -> list[str]:
    """What a note is called, as words: title, aliases, and its file's name without the day."""
    stem = row.path.rpartition("/")[2].removesuffix(".md")
    return [_spread(name) for name in (row.title, *row.aliases, _STAMP.sub("", stem))]


def _naming(row: ChunkRow) -> Iterator[tuple[int, str]]:
    """The lines that may say a statement a second time, by their index, with the words: headings, links, decisions."""
    lines = row.text.split("\n")
    for index, line in enumerate(lines):
        heading = heading_of(line)
        for name in (
            *(topic[1] for target in targets_in(line) if (topic := _TOPIC.fullmatch(target))),
            *([heading] if heading else ()),
        ):
            yield index, _spread(name)
    for item in items(lines) if _is_under(row, REPEATING) else ():
        if not item.indent and not item.source:
            yield item.numbers[0], _spread(item.words)


def _spread(text: str) -> str:
    """The words of a text and nothing else, parted by blanks; no case."""
    return " ".join(_WORDS.findall(unlinked(text).casefold()))


def _tells(name: str, refused: Collection[str]) -> bool:
    """Whether a name says a rejected statement: just this, more than it, or its beginning, cut for a file's name."""
    if not name or name in refused:
        return bool(name)
    for said in refused:
        if said in name:
            words = said.isascii()
            if (said.count(" ") + 1 if words else len(said)) >= LEAST and (not words or f" {said} " in f" {name} "):
                return True
        elif len(name) >= CUT and said.startswith(name):
            return True
    return False


def _refused(found: Iterable[Item], decided: Mapping[str, str]) -> dict[str, str]:
    told = {_words(item): state for item in found if (state := decided.get(item.source, ""))}
    told.pop("", None)
    return told


def _words(item: Item) -> str:
    """What an item says, without its mark and link, case and spacing aside."""
    return " ".join(item.words.casefold().split())


def _is_under(row: ChunkRow, title: str) -> bool:
    """Whether a chunk stands right under a heading."""
    return bool(row.headings) and row.headings[-1].casefold() == title.casefold()


def _quotes_replaced(lines: Sequence[str], decided: Mapping[str, str]) -> set[str]:
    """The quotes under the facts among these lines whose approved line another one replaced."""
    states = standing(lines, {name: state for name, state in decided.items() if state == REPLACED})
    below = (lines[i].strip(BLANKS)[1:].strip(BLANKS) for i in states)
    return {quote_in(text) for text in below if text.startswith(QUOTE)} - {""}


def _goes_on(row: ChunkRow) -> bool:
    """Whether it begins within a list item, or within a line, that the chunk before it began."""
    return row.partial or row.text[:1] in (" ", "\t")


def _from_its_item(reader: IndexReader, row: ChunkRow) -> tuple[list[str], int]:
    """The lines of a chunk, those above it as far as it goes on with an item of theirs, and which one is its first."""
    own = row.text.split("\n")
    if not _goes_on(row):
        return own, 0
    lines: dict[int, str] = {}
    for start, text in reader.texts_before(row.note_id, row.position, BACK):
        for number, line in enumerate(text.split("\n"), start):
            lines.setdefault(number, line)  # of a line in pieces the first one
    for number, line in enumerate(own, row.start_line):
        lines.setdefault(number, line)
    numbers = sorted(lines)
    return [lines[number] for number in numbers], numbers.index(row.start_line)
