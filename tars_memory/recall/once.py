"""One statement once: what a person approved stands for all that it came from.

An approved line links to the day's line that it was a candidate on, and so does the fact of its session note; the
fact's quote is nested below it, and the turn holds the quote. So links say which lines are one statement, never their
words: of two lines that merely read alike both are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory import vault
from tars_memory.recall.ranking.fusion import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tars_memory.index.reader import ChunkRow, IndexReader
    from tars_memory.recall.ranking.candidates import CandidateLine
    from tars_memory.recall.results import Hit

ITEM, MACHINERY = "item", "machinery"
"""Kinds of lines of the index; their grammar, which costs a start its regexes, is only read where a session answers."""
APPROVED, CANDIDATE, FACT, QUOTE = range(4)
"""What a line is of its statement. One of a kind stands for those behind it, never for another of its own kind."""

APPROVED_IN = frozenset({"semantic", "procedural"})
TOLD_AGAIN = 0.5
"""The share of a turn's letters in quotes; with less of them a turn that shares no word with the question says more."""


class Part:
    """Which statement a line belongs to, and as what.

    Attributes:
        statement: the block id of the day's line that was the candidate.
        kind: what the line is of it.
    """

    __slots__ = ("kind", "statement")

    def __init__(self, statement: str, kind: int) -> None:
        self.statement = statement
        self.kind = kind


def once(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[CandidateLine]:
    """The lines without those for which a better one of the same statement is among them.

    That one takes over the best score of those that it stands for. Those are taken out of their chunks as well, so that
    no passage shows them beside another line. What is left of such a chunk answers for itself: a line that holds no
    word of the question and is no nearer to it than the line that went ("Ok.") is no hit.
    """
    parts = {id(line): part for chunk in _by_chunk(lines) for line, part in _parts(reader, chunk)}
    if not parts:
        return [*lines]
    best: dict[str, list[CandidateLine]] = {}
    for line in lines:
        if part := parts.get(id(line)):
            standing = best.setdefault(part.statement, [line])
            kind = parts[id(standing[0])].kind
            if part.kind < kind:
                best[part.statement] = [line]
            elif part.kind == kind and standing[0] is not line:
                standing.append(line)
    gone: set[int] = set()
    for line in lines:
        part = parts.get(id(line))
        if part and part.kind > parts[id(best[part.statement][0])].kind:
            _stands_for(best[part.statement], line)
            gone.add(id(line))
    _drop_turns(reader, lines, parts, best, gone)
    left: set[int] = set()
    for chunk in {id(line.chunk): line.chunk for line in lines if id(line) in gone}.values():
        near = max((mean(line.nearest) for line in chunk.lines if id(line) in gone), default=0.0)
        chunk.lines = [line for line in chunk.lines if id(line) not in gone]
        left |= {id(line) for line in chunk.lines if not line.counts and mean(line.nearest) <= near}
    return [line for line in lines if id(line) not in gone and id(line) not in left]


def statement_of(row: ChunkRow, index: int) -> str:
    """The block id of the candidate that a line of a chunk is, was, or was drawn from; '' if none is named."""
    line = row.lines[index]
    if row.tier == "daily":
        return line.block_id if line.state else ""
    return line.source.partition("#^")[2] if line.kind == ITEM else ""


def quotes(texts: Iterable[str]) -> dict[str, str]:
    """By statement the quote that stands below it, in lines of session notes."""
    found: dict[str, str] = {}
    for text in texts:
        statement = ""
        for item in vault.markdown.lines.items(text.split("\n")):
            if not item.indent:
                statement = item.source
            elif statement and (words := item.words).startswith(vault.markdown.lines.QUOTE):
                found.setdefault(statement, vault.markdown.lines.quote_in(words))
    return {statement: quote for statement, quote in found.items() if quote}


def told_again(text: str, words: Collection[str], said: Mapping[str, Collection[str]]) -> bool:
    """Whether a text, one that was said, says nothing that was asked for beyond these quotes.

    Args:
        text: of a turn.
        words: the question's words that it holds.
        said: the quotes of statements that are found already, each with the question's words that quote and line hold.
    """
    inside = [quote for quote in said if quote in text]
    if not inside:
        return False
    if words:
        return set(words) <= {word for quote in inside for word in said[quote]}
    return sum(map(len, inside)) >= TOLD_AGAIN * len(text.strip())


def untold(
    reader: IndexReader, ours: Sequence[Hit], said: Sequence[Hit], words: Callable[[str], Collection[str]]
) -> list[Hit]:
    """What was said in conversations and no hit of the vault stands for, be it a line drawn from it or the kept turn.

    Args:
        reader: the vault's.
        ours: hits of the vault.
        said: hits of conversations.
        words: the question's words that a text holds.
    """
    if not said:
        return []
    held: dict[str, set[str]] = {}
    for hit in ours:
        if hit.statement:
            held.setdefault(hit.statement, set()).update(words(hit.text))
    known = quotes(reader.texts_from(held)) if held else {}
    told = {quote: held[name] for name, quote in known.items() if name in held}
    kept = [(hit.day, hit.text) for hit in ours if hit.tier == "episodic"]
    return [
        hit
        for hit in said
        if not told_again(hit.best_line[1], words(hit.text), told)
        and not any(day == hit.day and hit.best_line[1] in text for day, text in kept)
    ]


def _by_chunk(lines: Sequence[CandidateLine]) -> list[list[CandidateLine]]:
    """The lines of each chunk that may belong to a statement."""
    found: dict[int, list[CandidateLine]] = {}
    for line in lines:
        if line.chunk.row.tier in APPROVED_IN or line.chunk.row.tier in ("daily", "episodic"):
            found.setdefault(line.chunk.row.id, []).append(line)
    return [*found.values()]


def _parts(reader: IndexReader, lines: Sequence[CandidateLine]) -> list[tuple[CandidateLine, Part]]:
    """What the lines of one chunk are, as far as they belong to a statement."""
    row = lines[0].chunk.row
    if row.tier != "episodic":
        kind = CANDIDATE if row.tier == "daily" else APPROVED
        named = ((line, statement_of(row, line.index)) for line in lines)
        return [(line, Part(statement, kind)) for line, statement in named if statement]
    above = ""
    begun = not any(line.indent for line in row.lines[:1])
    owners = []
    for line in row.lines:
        if line.kind not in (ITEM, MACHINERY):
            above = "" if not line.indent else above
        elif not line.indent:
            above, begun = line.source.partition("#^")[2], True
        elif not begun:
            above, begun = reader.source_above(row.note_id, row.position), True
        owners.append(above)
    return [
        (line, Part(owners[line.index], QUOTE if row.lines[line.index].indent else FACT))
        for line in lines
        if owners[line.index]
    ]


def _stands_for(standing: Sequence[CandidateLine], line: CandidateLine) -> None:
    for better in standing:
        better.score = max(better.score, line.score)


def _drop_turns(
    reader: IndexReader,
    lines: Sequence[CandidateLine],
    parts: Mapping[int, Part],
    best: Mapping[str, Sequence[CandidateLine]],
    gone: set[int],
) -> None:
    """Add the turns to what is gone that say nothing beyond the quotes of statements found."""
    turns = [line for line in lines if line.chunk.row.tier == "episodic" and id(line) not in parts]
    turns = [
        line for line in turns if line.chunk.row.headings[-1:] and line.chunk.row.headings[-1].casefold() == "turns"
    ]
    if not turns or not best:
        return
    texts = reader.linking_texts({line.chunk.row.note_id for line in turns})
    known = quotes(text for each in texts.values() for text in each)
    held: dict[str, set[str]] = {}
    for line in lines:
        if part := parts.get(id(line)):
            held.setdefault(part.statement, set()).update(
                line.counts
            )  # its quote, if that shares a word, is a line too
    said = {quote: held[name] for name, quote in known.items() if name in held}
    owner = {quote: name for name, quote in known.items()}
    for line in turns:
        text = line.chunk.texts[line.index]
        if told_again(text, line.counts, said):
            gone.add(id(line))
            for quote in said:
                if quote in text:
                    _stands_for(best[owner[quote]], line)
