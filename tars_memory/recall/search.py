"""Search: a query and the index in, passages out. Reads nothing but the index and, to verify, the notes of its hits."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tars_memory.errors import TarsError
from tars_memory.index.naming import name_parts, names_of
from tars_memory.language.words import fold, stem
from tars_memory.recall.ranking.candidates import decided, silent, unasked
from tars_memory.recall.ranking.fusion import LINE_NAMED
from tars_memory.recall.ranking.relevance import narrowed_by, scored
from tars_memory.recall.ranking.scores import once, passages, whole
from tars_memory.recall.results import Hit, SearchResult, obsidian_url, verified
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.index.embedding.models import QueryVector
    from tars_memory.index.fulltext import Filter
    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.query import Query, SearchRequest

BREADTH = 5
"""One hit in so many is kept for the best passage of a further note: a long note does not crowd out the others."""
SPARE = 10
"""Chunks looked at for each hit where a name or a topic is asked for: of some no line is left."""
LIMIT = 10
NAMED = LINE_NAMED / 2
"""What no hit reaches whose note the query doesn't name."""
WORDS_OF_A_NAME = 6
"""A query of more words is a question, and no misspelt name."""
MODES = ("hybrid", "lexical", "semantic")


def search(
    reader: IndexReader,
    query: Query,
    request: SearchRequest,
    *,
    vector: QueryVector | None = None,
    narrowed: Filter | None = None,
    read: Callable[[str], bytes],
    own: bool = False,
    vault_name: str = "",
) -> SearchResult:
    """Answer a query.

    Args:
        reader: the index.
        query: parsed from the request (:func:`tars_memory.recall.query.parse`).
        request: with mode, project and limit as they count.
        vector: embedding of ``query.meaning``; without it the answer is by keywords, and says so in ``mode``.
        narrowed: where to look, if not where query and request say.
        read: bytes of a note by its path, to verify hits; raises OSError or TarsError when the note can't be read.
        own: show lines that hold a credential as they stand in the note, not masked as they are indexed.
        vault_name: for the Obsidian links.
    """
    mode, limit, scope = request.mode or "hybrid", request.limit or LIMIT, request.project or ""
    if mode == "lexical" or vector is None:
        vector, mode = None, "lexical"
    _take_for_whole(query, reader)
    result = SearchResult(query, mode, notices=[*query.notices])
    narrowed = narrowed or narrowed_by(query, scope)
    if not query.searches:
        found = _newest(reader, query, narrowed, limit) if query.filters else iter(())
    else:
        lines, blank = scored(reader, query, narrowed, vector, mode, limit)
        found = _with(_blank(blank, read), passages(once(reader, lines), query))
    if request.per_note:
        result.hits, result.more = _few_a_note(found, read, limit, request.per_note, own=own)
    else:
        result.hits = _shown(found, read, limit, own=own)
    for rank, hit in enumerate(result.hits, start=1):
        hit.rank = rank
        hit.obsidian_url = obsidian_url(vault_name, hit.path, headings=hit.headings, block_id=hit.block_id)
        if not request.explain:
            hit.explain = {}
    result.abstained = not result.hits
    if query.meaning and (not result.hits or _holds_unknown(reader, query.meaning, result.hits)):
        shown = {name for hit in result.hits for name in names_of(hit.path, hit.title, ())}
        near = reader.names(scope).near(query.meaning, parts=not result.hits)
        result.did_you_mean = [name for name in near if name not in shown]
    if not result.hits and query.on is not None and reader.hides(query.on.isoformat(), scope):
        result.notices.append(f"what has ended by {query.on} was not searched: --expired does")
    return result


def _take_for_whole(query: Query, reader: IndexReader) -> None:
    """Look for a last word that is still typed as a whole one too, if the vault has it: in its other forms.

    Beside other words for that alone: counted as both it outweighed them (96 of 100 first hits became 92).
    """
    if query.begun and any(reader.frequencies({stem(query.begun)}).values()):
        if query.words:
            query.prefixes = tuple(prefix for prefix in query.prefixes if prefix != query.begun)
        query.words, query.begun = (*query.words, query.begun), ""


def _holds_unknown(reader: IndexReader, text: str, hits: Iterable[Hit]) -> bool:
    """Whether a text may be a misspelt name though something was found: a few words, one of which no note holds."""
    words = name_parts(text)
    if len(words) > WORDS_OF_A_NAME:
        return False
    held = fold(" ".join(f"{hit.path} {hit.title} {' '.join(hit.headings)} {hit.text}" for hit in hits))
    missing = {stem(word) for word in words if word not in held}
    return bool(missing) and not all(reader.frequencies(missing).values())


def _shown(found: Iterator[Hit], read: Callable[[str], bytes], limit: int, *, own: bool) -> list[Hit]:
    """The first hits that their notes still hold; the last ones make room for the best notes that have none yet."""
    hits = list(islice(verified(found, read, own=own), limit))
    firsts = {hit.path: hit for hit in reversed(hits)}
    wanted = limit // BREADTH - len(firsts)
    if len(hits) < limit or wanted <= 0:
        return hits
    others: list[Hit] = []
    for hit in found:
        if hit.path not in firsts and next(verified([hit], read, own=own), None):
            firsts[hit.path] = hit
            others.append(hit)
            if len(others) == wanted:
                break
    further = [hit for hit in hits if firsts[hit.path] is not hit]
    left_out = set(map(id, further[limit - len(firsts) :]))
    return [*(hit for hit in hits if id(hit) not in left_out), *others]


def _with(blank: Iterator[Hit], found: Iterator[Hit]) -> Iterator[Hit]:
    """The blank notes that were asked for by name behind their namesakes, before everything else."""
    for hit in found:
        if hit.score < NAMED:
            yield from blank
        yield hit
    yield from blank


def _blank(paths: Iterable[str], read: Callable[[str], bytes]) -> Iterator[Hit]:
    """The first line of notes in which nothing stands but what they are called: they were asked for by name."""
    for path in paths:
        try:
            first = note_lines(read(path))[0]
        except (OSError, TarsError):
            continue
        title = path.rpartition("/")[2].removesuffix(".md")
        hit = Hit(path, 1, 1, first, title=title)
        hit.score = LINE_NAMED
        yield hit


def _few_a_note(
    found: Iterator[Hit], read: Callable[[str], bytes], limit: int, most: int, *, own: bool
) -> tuple[list[Hit], int]:
    """The first hits that their notes still hold, so many of each, and how many more a larger limit would show.

    The others of a note are counted on its first hit. Where one note alone answers, all of its hits are wanted.
    """
    hits: list[Hit] = []
    over: list[Hit] = []
    held: dict[str, int] = {}
    for hit in verified(found, read, own=own):
        held[hit.path] = held.get(hit.path, 0) + 1
        (hits if held[hit.path] <= most else over).append(hit)
        if len(hits) == limit:
            break
    if len(held) == 1:
        hits = [*hits, *over]
        return hits[:limit], len(hits[limit:])
    shown = dict(held)
    for hit in found:  # not held against their notes: nobody sees them
        held[hit.path] = held.get(hit.path, 0) + 1
    for path, hit in {hit.path: hit for hit in reversed(hits)}.items():
        hit.more = max(0, held[path] - most)
    return hits, sum(max(0, min(count, most) - shown.get(path, 0)) for path, count in held.items())


def _newest(reader: IndexReader, query: Query, narrowed: Filter, limit: int) -> Iterator[Hit]:
    """For a query of nothing but filters: what they leave, newest first, whole chunks but for what was rejected."""
    ids = reader.newest(narrowed, limit if query.selection is None else limit * SPARE)
    rows = reader.chunks(ids)
    told, _ = decided(reader, rows.values())
    for row in (rows[i] for i in ids if i in rows):
        refused = {index for index, state in told.get(row.id, {}).items() if state == "rejected"}
        texts = row.text.split("\n")
        yield from whole(row, refused | silent(row, texts) | unasked(reader, query, row, texts))
