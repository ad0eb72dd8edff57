"""Apply what the user decided about a candidate to the lines of session notes that repeat it.

The state of a candidate is in one place: on its line of the daily note. The fact of the session note links to that
line, and the state is looked up there, by the block id, at every search: so a decision that is taken back, edited by
hand or synced from elsewhere counts at once, in old vaults as in new ones, and no second copy of it can be wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.index.naming import names_of
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
"""State of a line whose fact does not hold any more."""

TIER = "episodic"
"""Tier of the notes that repeat lines of daily notes."""
LEFT_OUT = "Left out"
"""Heading in a session note above statements that were not offered for review."""
REPEATING = "Decisions"
"""Heading in a session note above lines that repeat facts in the same words."""
TURNS, SUMMARY = "Turns", "Summary"
"""Headings in a session note above the turns that are kept, from which facts were extracted, and what quotes them."""

CHUNKS_BEFORE = 8
"""Maximum number of earlier chunks that are read to find the first line of an item: a fact and its quote are three."""

LEAST_WORDS = 3
"""Minimum number of words (of letters, in scripts without blanks) of a statement that a longer name may contain; a
shorter statement has to be the whole name."""
LEAST_CUT = 30
"""Minimum number of characters of a name that may be the beginning of a longer statement."""

_WORDS = re.compile(r"[^\W_]+")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?: \d{4})? ")
_TOPIC = re.compile(r"(?:.*/)?\d{4}-\d\d-\d\d \d{4} (.{1,300})")


def linked_ids(lines: Iterable[str]) -> list[str]:
    """Return the block ids that the facts among lines of a session note link to, in order, without repeats."""
    found: dict[str, None] = {}
    for item in items(lines):
        if item.source:
            found.setdefault(item.source)
    return list(found)


def line_states(
    lines: Sequence[str], decided: Mapping[str, str], words: Mapping[str, str] | None = None
) -> dict[int, str]:
    """Return the states of the lines of a session note that were decided about, by index.

    These are facts that link to a line with a state, with everything nested under them (the quotes), and lines that
    repeat such a fact in the same words, as those under "Decisions" do.

    Args:
        lines: of the note, or a part of it.
        decided: the states of the daily lines, by block id.
        words: :func:`wording_states` of the items of the rest of the note.
    """
    if not decided and not words:
        return {}
    all_items = list(items(lines))
    found: dict[int, str] = {}
    by_wording = {**(words or {}), **wording_states(all_items, decided)}
    above: tuple[int, str] | None = None
    for item in all_items:
        if above is not None and item.indent <= above[0]:
            above = None
        if above is None:
            state = decided.get(item.source, "") or by_wording.get(_wording(item), "")
            above = (item.indent, state) if state else None
        if above is not None:
            found.update(dict.fromkeys(item.numbers, above[1]))
    return found


def wording_states(found: Iterable[Item], decided: Mapping[str, str]) -> dict[str, str]:
    """Return the states of the facts among items of a session note, by their wording."""
    states = {_wording(item): state for item in found if (state := decided.get(item.source, ""))}
    states.pop("", None)
    return states


def replaced_states(reader: IndexReader, names: Iterable[str]) -> dict[str, str]:
    """Return the states of the daily lines with these block ids whose approved lines were replaced later."""
    wanted = reader.replaced().intersection(names)
    return {name: state for name, state in outdated(reader, wanted, None).items() if state == REPLACED}


def outdated(reader: IndexReader, names: Iterable[str], on: date | None) -> dict[str, str]:
    """Return the states of the daily lines with these block ids that are outdated: rejected, expired, or their approved
    lines were replaced, or their facts have ended.

    The former text of a replaced line links to its day where it is kept (``replaced:: words ([[…#^id|day]])``), and so
    does a fact that has ended. A daily line to which a line links that still holds is not outdated.

    Args:
        reader: the index.
        names: the block ids.
        on: the day on which facts have to hold; None: no fact has ended.
    """
    wanted = set(names)
    if not wanted:
        return {}
    found = reader.states_of(wanted)
    counts: set[str] = set()
    for kind, source, until in reader.sourced_lines():
        name = source.partition("#^")[2]
        if kind == REPLACED:
            found[name] = REPLACED
        elif on is None or not until or until > on.isoformat():
            counts.add(name)
        else:
            found.setdefault(name, ENDED)
    return {name: state for name, state in found.items() if name in wanted and name not in counts}


def states_in_chunks(reader: IndexReader, rows: Iterable[ChunkRow]) -> dict[int, dict[int, str]]:
    """Return :func:`line_states` of chunks of session notes, by chunk; chunks without such lines are left out."""
    sessions = [row for row in rows if row.tier == TIER]
    unoffered = {
        row.id: dict.fromkeys(range(row.text.count("\n") + 1), REJECTED) for row in sessions if _is_under(row, LEFT_OUT)
    }
    about = [row for row in sessions if "#^" in row.text or _is_under(row, REPEATING) or _begins_inside(row)]
    about = [row for row in about if row.id not in unoffered]
    turns = [row for row in sessions if _is_under(row, TURNS) or _is_under(row, SUMMARY)]
    turns = turns if turns and reader.replaced() else []
    if not about and not turns:
        return unoffered
    repeating = [row for row in about if _is_under(row, REPEATING)]
    others = _linking_lines(reader, {row.note_id for row in (*repeating, *turns)})
    read = {row.id: _with_item_start(reader, row) for row in about}
    all_lines = [*(lines for lines, _ in read.values()), *others.values()]
    names = dict.fromkeys(name for lines in all_lines for name in linked_ids(lines))
    decided = {**replaced_states(reader, names), **reader.states_of(names)}
    found = {}
    for row in about if decided else ():
        lines, first = read[row.id]
        states = line_states(lines, decided, wording_states(items(others.get(row.note_id, ())), decided))
        if own := {index - first: state for index, state in states.items() if index >= first}:
            found[row.id] = own
    for row in turns if decided else ():
        quotes = _replaced_quotes(others.get(row.note_id, ()), decided)
        lines = row.text.split("\n")
        if own := {i: REPLACED for i, line in enumerate(lines) if any(quote in line for quote in quotes)}:
            found[row.id] = {**own, **found.get(row.id, {})}
    return {**found, **unoffered}


def remove_rejected_names(reader: IndexReader, rows: Iterable[ChunkRow]) -> tuple[set[int], dict[int, set[int]]]:
    """Remove names that repeat rejected candidates from the title, aliases and headings of rows of session notes.

    Only the rows are changed: a file must not be renamed without the user's knowledge, and the title may be the user's.

    Returns:
        The ids of notes with such a name, and by chunk the indexes of lines with one: headings, links to such a note,
        and decisions.
    """
    sessions = [row for row in rows if row.tier == TIER]
    if not sessions or not reader.has_rejected():
        return set(), {}
    linking = _linking_lines(reader, {row.note_id for row in sessions})
    decided = reader.states_of(dict.fromkeys(name for lines in linking.values() for name in linked_ids(lines)))
    note_names = {row.note_id: _names_of(row) for row in sessions}
    line_names = {row.id: list(_possible_repeats(row)) for row in sessions}
    names = {name for of_note in note_names.values() for name in of_note}
    names |= {name for of_chunk in line_names.values() for _, name in of_chunk}
    phrases = {name for name in names if " " in name or not name.isascii()}
    rejected_anywhere = {
        words
        for text in (reader.rejected_texts(phrases) if phrases else ())
        for line in text.split("\n")
        if (words := _bare_words(rejected_words(line)))
    }
    rejected_in = {
        note: rejected_anywhere
        | {_bare_words(text) for text, state in wording_states(items(texts), decided).items() if state == REJECTED}
        for note, texts in linking.items()
    }
    notes = {note for note, names in note_names.items() if any(_repeats(name, rejected_in[note]) for name in names)}
    lines: dict[int, set[int]] = {}
    for row in sessions:
        rejected = rejected_in[row.note_id]
        if row.note_id in notes:
            stamp = _STAMP.match(row.path.rpartition("/")[2])
            row.title = stamp[0].strip() if stamp else row.date or ""
            row.aliases = tuple(alias for alias in row.aliases if not _repeats(_bare_words(alias), rejected))
            row.names = names_of(row.path, row.title, row.aliases)
        row.headings = tuple(heading for heading in row.headings if not _repeats(_bare_words(heading), rejected))
        lines[row.id] = {index for index, name in line_names[row.id] if _repeats(name, rejected)}
    return notes, lines


def shown_path(path: str, lines: Sequence[str], decided: Mapping[str, str]) -> str:
    """Return the path of a session note for a prompt, with ``…`` in place of a topic that repeats a rejected candidate.

    Args:
        path: of the note.
        lines: of the whole note.
        decided: the states of the daily lines, by block id.
    """
    folder, slash, name = path.rpartition("/")
    stamp = _STAMP.match(name)
    words = {_bare_words(text) for text, state in wording_states(items(lines), decided).items() if state == REJECTED}
    if stamp is None or not _repeats(_bare_words(name[stamp.end() : -3]), words):
        return path
    return f"{folder}{slash}{stamp[0]}….md"


def _names_of(row: ChunkRow) -> list[str]:
    """Return the names of a note as words: title, aliases, and file name without the day."""
    stem = row.path.rpartition("/")[2].removesuffix(".md")
    return [_bare_words(name) for name in (row.title, *row.aliases, _STAMP.sub("", stem))]


def _possible_repeats(row: ChunkRow) -> Iterator[tuple[int, str]]:
    """Yield the index and the words of texts that may repeat a statement: headings, topics in links, and decisions."""
    lines = row.text.split("\n")
    for index, line in enumerate(lines):
        heading = heading_of(line)
        for name in (
            *(topic[1] for target in targets_in(line) if (topic := _TOPIC.fullmatch(target))),
            *([heading] if heading else ()),
        ):
            yield index, _bare_words(name)
    for item in items(lines) if _is_under(row, REPEATING) else ():
        if not item.indent and not item.source:
            yield item.numbers[0], _bare_words(item.words)


def _bare_words(text: str) -> str:
    """Return the words of a text only, folded and separated by blanks."""
    return " ".join(_WORDS.findall(unlinked(text).casefold()))


def _repeats(name: str, rejected: Collection[str]) -> bool:
    """Whether a name is a rejected statement, contains one, or is the beginning of one, cut for a file name."""
    if not name or name in rejected:
        return bool(name)
    for statement in rejected:
        if statement in name:
            has_blanks = statement.isascii()
            length = statement.count(" ") + 1 if has_blanks else len(statement)
            if length >= LEAST_WORDS and (not has_blanks or f" {statement} " in f" {name} "):
                return True
        elif len(name) >= LEAST_CUT and statement.startswith(name):
            return True
    return False


def _wording(item: Item) -> str:
    """Return the text of an item for comparison: without mark and link, folded, with single blanks."""
    return " ".join(item.words.casefold().split())


def _is_under(row: ChunkRow, title: str) -> bool:
    """Whether a title is the innermost heading of a chunk."""
    return bool(row.headings) and row.headings[-1].casefold() == title.casefold()


def _replaced_quotes(lines: Sequence[str], decided: Mapping[str, str]) -> set[str]:
    """Return the quotes under those facts among these lines whose approved lines were replaced."""
    states = line_states(lines, {name: state for name, state in decided.items() if state == REPLACED})
    below = (lines[i].strip(BLANKS)[1:].strip(BLANKS) for i in states)
    return {quote_in(text) for text in below if text.startswith(QUOTE)} - {""}


def _linking_lines(reader: IndexReader, notes: Collection[int]) -> dict[int, list[str]]:
    """Return, for each of these session notes, the lines of its chunks in which facts link to daily lines."""
    texts = reader.linking_texts(notes)
    return {note: [line for text in texts.get(note, ()) for line in text.split("\n")] for note in notes}


def _begins_inside(row: ChunkRow) -> bool:
    """Whether a chunk begins inside a list item, or inside a line, of the chunk before it."""
    return row.partial or row.text[:1] in (" ", "\t")


def _with_item_start(reader: IndexReader, row: ChunkRow) -> tuple[list[str], int]:
    """Return the lines of a chunk, after those of earlier chunks if it begins inside an item, and the index of its
    first line among them.
    """
    own = row.text.split("\n")
    if not _begins_inside(row):
        return own, 0
    lines: dict[int, str] = {}
    for start, text in reader.texts_before(row.note_id, row.position, CHUNKS_BEFORE):
        for number, line in enumerate(text.split("\n"), start):
            lines.setdefault(number, line)  # of a line in pieces the first piece
    for number, line in enumerate(own, row.start_line):
        lines.setdefault(number, line)
    numbers = sorted(lines)
    return [lines[number] for number in numbers], numbers.index(row.start_line)
