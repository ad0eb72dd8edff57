"""Search: a query and the index in, passages out. Reads nothing but the index and, to verify, the notes of its hits.

Whether any of the candidates is an answer at all is decided here, too: by an absolute floor, so that nonsense finds
nothing, not neighbours.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from copy import copy
from itertools import islice
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory.errors import TarsError
from tars_memory.index.fulltext import Filter
from tars_memory.index.naming import name_parts, names_of
from tars_memory.language.words import fold, grammar_words, is_inflected, stem, unspaced_runs
from tars_memory.recall import scores
from tars_memory.recall.candidates import CHUNKS_READ, Candidate, CandidateLine, Pool, decided, gather, silent, unasked
from tars_memory.recall.query import Hit, Query, SearchRequest, SearchResult, obsidian_url, verified
from tars_memory.recall.scores import once, passages, told_day, whole
from tars_memory.recall.weights import DEFAULT, LINE_NAMED, STRANGE, UNTOLD, Terms, idf, mean
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.index.models import QueryVector
    from tars_memory.index.reader import IndexReader


BREADTH = 5
"""One hit in so many is kept for the best passage of a further note: a long note does not crowd out the others."""
SPARE = 10
"""Chunks looked at for each hit where a name or a topic is asked for: of some no line is left."""
LIMIT = 10
NAMED = LINE_NAMED / 2
"""What no hit reaches whose note the query doesn't name."""
WORDS_MISSPELT = 6
"""A query of more words is a question, and no misspelt name."""


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
    limit, scope = request.limit or LIMIT, request.project or ""
    mode = "lexical" if vector is None else request.mode or "hybrid"
    _take_for_whole(query, reader)
    result = SearchResult(query, mode, notices=[*query.notices])
    narrowed = narrowed or narrowed_by(query, scope)
    if not query.searches:
        found = _newest(reader, query, narrowed, limit) if query.filters else iter(())
    else:
        lines, blank = scored(reader, query, narrowed, vector, mode, limit)
        found = _with(_blank(blank, read), passages(once(reader, lines), query))
    if request.per_note:
        hits, result.more = _few_a_note(found, read, limit, request.per_note, own=own)
    else:
        hits = _shown(found, read, limit, own=own)
    result.show(hits)
    for hit in hits:
        hit.obsidian_url = obsidian_url(vault_name, hit.path, headings=hit.headings, block_id=hit.block_id)
        if not request.explain:
            hit.explain = {}
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
    if len(words) > WORDS_MISSPELT:
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


# --- whether the candidates hold an answer
#
# Measured with questions and claims of one set put to the notes of another, and 100 everyday questions put to all.


COMMON, COMMON_SHARE, COMMON_COSINE = 20, 0.60, 0.30
"""Where the best chunk is not clearly near, others have to come near too: it and the COMMON-th best, this one weighing
COMMON_SHARE, have to reach a floor of their own together with COMMON_COSINE of the best cosine. What a vault is about
it holds more than once; a lone chance neighbour has no company. The floors are each model's own:
:class:`tars_memory.recall.weights.Scale`.

On three sets, each asked its own questions, those of the two others and 150 everyday ones: at 0.1 to 0.7 % of the
answerable lost it abstains on 90 % of the others on average; the best chunk alone, at 0.66, on 85 %."""
COMMON_CHUNKS = 0.02
"""In a small vault company is scarcer: the chunk looked at is at most this share of all chunks down the list, and the
best alone below 50 chunks."""
NOISE, NOISE_GROWTH = 0.25, 0.062
"""How near the nearest of n unrelated chunks is, as NOISE + NOISE_GROWTH * ln(n): the best of many draws grows with
their logarithm. Measured as the 95th percentile over 100 everyday questions and random choices of 1 to 700 chunks of
locomo-dev (0.24 for one, 0.39 for 10, 0.53 for 100). In a small vault less is noise, so less is enough: below what
it comes to at 700 chunks, :data:`FULL_NOISE`, the floors of an answer shrink in proportion."""
FULL_NOISE = 0.66
SCRIPT_OF = 10
"""Of so many of the best chunks it is asked what they are written in."""
FLOOR_WITHOUT_WORDS = 0.50
HELD_WORTH = 0.50
"""With a model that gives no word vectors: cosine plus this much of the share of the query's idf that a chunk holds."""
FLOOR_OF_WORDS = 0.27
"""Without a model: BM25 of a chunk over the sum of the query's idf, as FTS5 has it: nothing for a word in half of all
chunks, which is most words of a vault of a few notes. 98 to 100 % of the answerable questions reach it,
and 40 to 70 of 100 everyday ones: words alone know less of what was meant. Company (see above) doesn't help here."""
FLOOR_OF_SIGNS = 0.20
"""The same for a question in a script without blanks, where many pairs of signs are not words. All of 48 descriptions
of Chinese pages reach it (.21 and more), and one of 60 strings of common signs and of 16 everyday questions each."""
FULL_VAULT = 700
"""Chunks from which on these two floors count whole. In fewer a word that is held says less against one that isn't
(of 12 chunks 2.2 against 3.3, of 700 6.2 against 7.2), and chance holds fewer: they shrink as what the latter says."""
CONTENT_SHARE = 0.50
"""In Japanese: so much of what is not written in hiragana, by idf, is enough. Of 27 questions about other things none
comes above .14, of 28 that a vault of 12 notes answers none is below .40."""
RARE = 0.005
FEW = 2
"""A word is rare that no more than this share of all chunks, or this many, hold."""
RARE_SHARE = 0.6
"""A rare word that says this much of the query (by idf) always passes; typed by itself, any word does."""
SIGNS_OF_A_WORD = 4
"""In scripts without blanks; a longer query is several words, and two signs of it stand side by side by chance."""
WORDS_OF_A_NAME = 3
"""Fewer words than a sentence has: the name of something, in whatever language."""
NAME_ASKED = 0.15
"""How much of the query a note's name within it has to be."""
DAY_MET = 0.9
"""How well a day has to fit a named date for the words of that date to count as held."""
DAY_SHARE = 0.4
"""A note of the day that is named answers if it holds this much of the query by idf, the words of the date included:
"what happened yesterday" has hardly another word."""


def answers(query: Query, pool: Pool, mode: str) -> bool:
    """Whether the pool holds anything near enough in meaning, or enough of what was asked."""
    if _is_named(pool):
        return True
    if mode == "semantic":
        named = any(chunk.date >= DAY_MET for chunk in pool.chunks)
        return named or _comes_near(query, pool, pool.known, {})
    total = sum(pool.idfs.values())
    if not total:
        return False
    date_stems = {stem(word) for word in query.date_words}
    held = {id(chunk): _held(chunk, pool.idfs, date_stems) for chunk in pool.chunks}
    some = set().union(*held.values())
    if _holds_rare(query, pool, some, total):
        return True
    most = sum(log(max(exp(value) - 1, 1.0)) for value in pool.idfs.values())
    scale = pool.scale
    floor = most * (scale.floor_of_rare_signs if unspaced_runs(query.meaning) else scale.floor_of_rare)
    if not query.is_sentence and any(map(_is_rare(pool), some)) and any(chunk.words >= floor for chunk in pool.chunks):
        return True
    shares = {chunk: sum(pool.idfs[term] for term in terms) / total for chunk, terms in held.items()}
    whole = any(len(terms) == len(pool.idfs) for terms in held.values())  # shares are sums, rounded by their order
    if whole and (query.dates or not query.is_sentence):
        return True
    if any(chunk.date >= DAY_MET and shares[id(chunk)] >= DAY_SHARE for chunk in pool.chunks):
        return True
    if mode == "hybrid" and _comes_near(query, pool, any(shares.values()), shares):
        return True
    if mode == "hybrid" and all(chunk.meaning is not None for chunk in pool.chunks if chunk.words):
        return False
    if all(map(says_nothing, some)):
        return False
    if not most:
        return max(shares.values(), default=0.0) == 1.0
    floor = FLOOR_OF_SIGNS if _is_run_on(query) else FLOOR_OF_WORDS
    floor *= min(1.0, idf(max(pool.rows, 1), 0) / idf(FULL_VAULT, 0))
    return _holds_content(pool, held.values()) or any(chunk.words >= floor * most for chunk in pool.chunks)


def _holds_content(pool: Pool, held: Iterable[set[str]]) -> bool:
    """Whether a chunk holds enough of what a Japanese query asks about: of its terms without hiragana."""
    content = {term: value for term, value in pool.idfs.items() if not is_inflected(term)}
    if not content or len(content) == len(pool.idfs):
        return False
    enough = CONTENT_SHARE * sum(content.values())
    return any(sum(content[term] for term in terms & content.keys()) >= enough for terms in held)


def _by_language(query: Query, pool: Pool, best: Sequence[Candidate]) -> float:
    """How much more is asked for because the query is in the language of the ``best`` chunks, and that isn't English:
    of English ones no function words are looked for.
    """
    if query.is_sentence or len(pool.idfs) <= WORDS_OF_A_NAME or unspaced_runs(query.meaning) or _unspaced(best):
        return 0.0
    unheld = idf(max(pool.rows, 1), 0)
    held = sum(value < unheld for value in pool.idfs.values())
    return pool.scale.own_language if 2 * held >= len(pool.idfs) else 0.0


def _stranger(pool: Pool) -> float:
    """What is added to a floor because the query is stranger than a language is."""
    return pool.scale.strangeness * max(0.0, (pool.strange or UNTOLD) - STRANGE)


def _by_script(query: Query, pool: Pool, best: Sequence[Candidate]) -> float:
    """How much more is asked for because of what the query and the ``best`` chunks are written in: texts in scripts
    without blanks share their particles, texts in different scripts nothing.
    """
    scale = pool.scale
    if not scale.same_unspaced and not scale.other_script:
        return 0.0
    mine = bool(unspaced_runs(query.meaning))
    if mine != _unspaced(best):
        return scale.other_script
    return scale.same_unspaced if mine else 0.0


def _unspaced(best: Sequence[Candidate]) -> bool:
    """Whether half of the chunks are in a script without blanks, or more."""
    return 2 * sum(bool(unspaced_runs(chunk.row.text)) for chunk in best) >= len(best)


def _comes_near(query: Query, pool: Pool, known: bool, shares: Mapping[int, float]) -> bool:
    """Whether one chunk is clearly near in meaning, or one is near and further ones are too.

    ``known`` says that some note holds a word of the query.
    """
    if not pool.chunks:
        return False
    near = {id(chunk): nearness(chunk, shares.get(id(chunk), 0.0)) for chunk in pool.chunks}
    chunks = sorted(pool.chunks, key=lambda chunk: -near[id(chunk)])
    found = [near[id(chunk)] for chunk in chunks]
    scale, best = pool.scale, chunks[:SCRIPT_OF]
    more = _by_script(query, pool, best) + _by_language(query, pool, best)
    floor = scale.floor + more
    if not known:
        floor = scale.floor_unknown + more + _stranger(pool)
    rows = pool.read if pool.read < CHUNKS_READ else pool.rows  # fewer read than can be: there are no more
    small = min(1.0, noise(rows) / FULL_NOISE)
    if found[0] < floor * small:
        return False
    share = max(shares.values(), default=0.0)
    lone = len(pool.idfs) == 1 and not share  # a name in another language: one word is near to this or that
    if shares and not lone and found[0] - pool.usual(chunks[0].row.id) + share < scale.above_usual:
        return False
    common = found[min(COMMON, int(rows * COMMON_CHUNKS), len(found) - 1)]
    company = found[0] + COMMON_SHARE * (common - found[0]) + COMMON_COSINE * pool.nearest
    return found[0] >= (scale.clear + more) * small or company >= (scale.floor_common + more) * small


def noise(chunks: int) -> float:
    """How near an unrelated chunk may be, in an index of so many chunks."""
    return NOISE + NOISE_GROWTH * log(max(1, chunks))


def nearness(chunk: Candidate, share: float = 0.0) -> float:
    """How near a chunk is in meaning: cosine, and how near its words are; 0 without a vector.

    ``share`` of the query's idf that the chunk holds counts where the model gives no word vectors.
    """
    if chunk.meaning is None:
        return 0.0
    best: list[float] = []
    for line in chunk.lines:
        best = list(map(max, best, line.nearest)) if best and line.nearest else best or line.nearest
    if best:
        return chunk.meaning + mean(best)
    return (max(chunk.meaning, 0.0) + HELD_WORTH * share) * DEFAULT.floor / FLOOR_WITHOUT_WORDS


def _is_asked(chunk: Candidate) -> bool:
    """Whether the query asks about the note, or the subject of facts, by its name: then it answers, however far a model
    finds it.
    """
    return chunk.is_called and chunk.asked >= NAME_ASKED and not all(map(says_nothing, chunk.counts))


def shows(chunk: Candidate, pool: Pool) -> bool:
    """Whether lines of the chunk may be hits: named, holding a word of the query, of the day named, or near enough."""
    if chunk.is_named:
        return True
    floor = min(pool.scale.floor_of_hit, noise(pool.rows))
    named = chunk.name_meaning >= _floor_of_name(pool)
    return bool(chunk.counts) or chunk.date >= DAY_MET or named or nearness(chunk) >= floor


def _is_named(pool: Pool) -> bool:
    """Whether the query is as near to a note's name as one in another language that asks for it: nearer by as much as
    all of the vault is.
    """
    named = max(pool.chunks, key=lambda chunk: chunk.name_meaning, default=None)
    if named is None or named.name_meaning < _floor_of_name(pool):
        return False
    return named.name_meaning >= _floor_of_name(pool) + max(0.0, pool.usual(named.row.id))


def _floor_of_name(pool: Pool) -> float:
    """How near a query has to be to a note's name to ask for it, in whatever language."""
    return pool.scale.floor_of_name + _stranger(pool)


def _held(chunk: Candidate, idfs: dict[str, float], date_stems: set[str]) -> set[str]:
    """The terms that a chunk holds; on a day that was named also the words of that date."""
    held = {term for term in chunk.counts if term in idfs}
    if chunk.date >= DAY_MET:
        held |= date_stems & idfs.keys()
    return held


def _holds_rare(query: Query, pool: Pool, held: set[str], total: float) -> bool:
    """Whether one of the held terms is rare and says much of the query."""
    is_rare = _is_rare(pool)
    is_sentence = query.is_sentence or len(pool.idfs) > pool.scale.few_words or _is_run_on(query)
    return any(
        is_rare(term) and (not is_sentence or pool.idfs[term] >= RARE_SHARE * total or is_code(term)) for term in held
    )


def _is_run_on(query: Query) -> bool:
    """Whether it asks in several words that are written without blanks."""
    return sum(map(len, unspaced_runs(query.meaning))) > SIGNS_OF_A_WORD


def _is_rare(pool: Pool) -> Callable[[str], bool]:
    """Tells whether a term of the query is held by few chunks, and not by chance."""
    rare = idf(pool.rows, max(FEW, int(pool.rows * RARE)))
    return lambda term: pool.idfs[term] >= rare and not says_nothing(term)


def says_nothing(term: str) -> bool:
    """Whether a term beside others is held by chance: a number of two digits, a few dots or dashes."""
    return (len(term) <= 2 and term.isdigit()) or all(unicodedata.category(sign)[0] == "P" for sign in term)


def is_code(term: str) -> bool:
    """Whether the term is a name that nobody types by chance: letters with digits, such as ``x200`` or ``b12f``."""
    return len(term) > 3 and any(map(str.isdigit, term)) and any(map(str.isalpha, term))


# --- the lines that answer, best first: what packing takes, where search makes passages of them


POOL = 50
"""Hits that the candidates are gathered for: on locomo-dev the lines of 75 chunks hold 97 % of the gold ones."""


NEAR_BEST = 0.5
"""Of the score of the best note, the least of another one that is named beside it. Of twelve procedures and twelve
questions that one of them answers, those that share a stray word with the question had up to 0.2 of it."""


class Answer(NamedTuple):
    """One line of the index that answers.

    Attributes:
        path: of its note.
        number: 1-based.
        text: verbatim; of an oversized line a piece.
        partial: it is a piece.
        day: the ISO day on which it was said or began to hold, as far as that is told; else ''.
    """

    path: str
    number: int
    text: str
    partial: bool = False
    day: str = ""


def scored(
    reader: IndexReader, query: Query, narrowed: Filter, vector: QueryVector | None, mode: str, limit: int
) -> tuple[list[CandidateLine], Sequence[str]]:
    """The lines that may be shown, with their scores, in the order of the vault, and notes to show though blank; none
    for a query that only filters.

    If nothing is relevant the best line of each note whose name the query is.

    Args:
        reader: the index.
        query: parsed.
        narrowed: where to look.
        vector: of the query; None to go by words alone.
        mode: ``hybrid`` or ``semantic``; without a vector both are ``lexical``.
        limit: hits that are wanted.
    """
    if not query.searches:
        return [], ()
    mode = "lexical" if vector is None else mode
    query = _without_grammar(query, reader)
    terms = Terms(query)
    pool = gather(reader, query, terms, narrowed, vector, by_words=mode != "semantic", limit=limit)
    mode = mode if pool.coverage else "lexical"
    relevant = answers(query, pool, mode)
    named = any(chunk.is_named for chunk in pool.chunks)
    called = [] if relevant or named else [chunk for chunk in pool.chunks if _is_asked(chunk)]
    if not relevant and not named and not called:
        return [], pool.blank
    scores.rank(pool, query)
    if not relevant:
        return [line for chunk in called for line in chunk.lines] or scores.first_lines(pool), pool.blank
    if query.exact and mode != "semantic":
        return _quoting(pool, terms), pool.blank
    return [line for chunk in pool.chunks if shows(chunk, pool) for line in chunk.lines], pool.blank


def _without_grammar(query: Query, reader: IndexReader) -> Query:
    """The query without the words that only carry its grammar, where a vault is too small to tell them by their idf."""
    if reader.chunk_count() >= FULL_VAULT:
        return query
    grammar = grammar_words(query.meaning)
    words = tuple(word for word in query.words if word not in grammar)
    if not words or len(words) == len(query.words):
        return query
    query = copy(query)
    query.words = words
    return query


def _quoting(pool: Pool, terms: Terms) -> list[CandidateLine]:
    """The lines that hold a phrase of the query, or all lines of a chunk where it runs on over a line's end."""
    keys = terms.phrase_keys
    lines: list[CandidateLine] = []
    for chunk in pool.chunks:
        if any(key in chunk.counts for key in keys):
            holding = [line for line in chunk.lines if any(key in line.counts for key in keys)]
            lines += holding or chunk.lines
    return lines


def narrowed_by(
    query: Query, scope: str, scopes: tuple[str, ...] | None = None, not_notes: tuple[str, ...] = ()
) -> Filter:
    """The query's filters as the index takes them."""
    return Filter(
        tiers=query.tiers,
        tags=query.tags,
        paths=query.paths,
        not_tiers=query.not_tiers,
        not_tags=query.not_tags,
        not_paths=query.not_paths,
        since=query.since.isoformat() if query.since else None,
        until=query.until.isoformat() if query.until else None,
        scope=scope,
        notes=query.notes,
        chunks=None if query.selection is None else query.selection.chunks,
        on=query.on.isoformat() if query.on else None,
        scopes=scopes,
        not_notes=not_notes,
    )


def ranked(reader: IndexReader, query: Query, narrowed: Filter, vector: QueryVector | None, mode: str) -> list[Answer]:
    """The lines that answer a query, best first; none if nothing is relevant. Parameters as for :func:`scored`."""
    lines, _ = scored(reader, query, narrowed, vector, mode, POOL)
    found: list[Answer] = []
    for line in sorted(lines, key=lambda line: -line.score):
        row = line.chunk.row
        if line.known.kind != "repeated":  # a prompt is told what was said
            found.append(Answer(row.path, line.number, line.text, row.partial, told_day(row, line.index)))
    return found


def best_notes(reader: IndexReader, query: Query, narrowed: Filter, vector: QueryVector | None, mode: str) -> list[str]:
    """The paths of the notes that answer a query about as well as the best one does, best first; as :func:`ranked`."""
    lines, _ = scored(reader, query, narrowed, vector, mode, POOL)
    best: dict[str, float] = {}
    for line in sorted(lines, key=lambda line: -line.score):
        best.setdefault(line.chunk.row.path, line.score)
    least = NEAR_BEST * max(best.values(), default=0.0)
    return [path for path, score in best.items() if score >= least]


# --- hits of the vault and of conversations in one order
#
# Where a passage of the vault covers the same words of the question it comes first: somebody kept it. Of two things
# that were said in conversations and cover the same, the newer one comes first.


One = TypeVar("One")

ALIKE = 0.1
"""Two passages whose shares of the question's words differ by less cover the same."""


class Shares:
    """How much of a question's words a text covers, weighed by how rare they are."""

    def __init__(self, query: Query, readers: Iterable[IndexReader]) -> None:
        self._terms = Terms(query)
        rows, held = 0, dict.fromkeys(self._terms.stems, 0)
        for reader in readers:
            rows += reader.chunk_count()
            for term, count in reader.frequencies(held).items():
                held[term] += count
        self._idfs = {term: idf(max(rows, 1), min(count, rows)) for term, count in held.items()}
        self._total = sum(self._idfs.values())
        self._known: dict[str, dict[str, int]] = {}

    def read(self, texts: Iterable[str]) -> None:
        """Count the question's words in many texts that will be asked about: together in half of the time."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._terms.count_lines(new), strict=True))

    def _count(self, text: str) -> dict[str, int]:
        self.read((text,))
        return self._known[text]

    def of(self, text: str) -> float:
        """The share, 0 to 1; 0 where the question has no words to count."""
        if not self._total:
            return 0.0
        return sum(self._idfs.get(term, 0.0) for term in self._count(text)) / self._total

    def words(self, text: str) -> frozenset[str]:
        """The question's words that a text holds."""
        return frozenset(self._count(text))

    def told(self, one: Hit | Answer) -> Told:
        """What the order of a passage or a line depends on."""
        return Told(self.of(one.text), one.day)


class Told(NamedTuple):
    """What the order of a hit depends on.

    Attributes:
        share: of the question's words that it covers.
        day: the ISO day on which it was said or began to hold, or '' if nothing tells.
    """

    share: float
    day: str


def merged(ours: Sequence[One], said: Sequence[One], told: Callable[[One], Told]) -> list[One]:
    """What the vault holds and what was said in conversations, in one order.

    Of what tells its day (a day's lines, session notes, lines that came from one, facts) the newer comes first, as of
    conversations; on the same day what stands in the vault.

    Args:
        ours: of the vault, best first.
        said: in conversations, likewise.
        told: what the order of one depends on.
    """
    known = {id(one): told(one) for one in (*ours, *said)}
    dated = [one for one in ours if known[id(one)].day]
    kept = [one for one in ours if not known[id(one)].day]

    def share(one: One) -> float:
        return known[id(one)].share

    return _zipped(kept, _newer_first(_zipped(dated, said, share), known), share)


def _newer_first(found: Sequence[One], known: Mapping[int, Told]) -> list[One]:
    """Of what covers the same words, the newer before the older; the order is kept otherwise.

    What covers none was found by its meaning: that it is newer says nothing.
    """
    left = [(*known[id(one)], one) for one in found]
    ordered: list[One] = []
    while left:
        best, at = left[0][0], 0
        if best >= ALIKE:
            alike = (n for n, (share, _, _) in enumerate(left) if abs(share - best) < ALIKE)
            at = max(alike, key=lambda n: left[n][1])
        ordered.append(left.pop(at)[2])
    return ordered


def _zipped(first: Sequence[One], second: Sequence[One], share: Callable[[One], float]) -> list[One]:
    """Both, each in its own order; the first goes before where it covers as much."""
    ours, theirs = deque(first), deque(second)
    found: list[One] = []
    while ours or theirs:
        mine = ours and (not theirs or share(ours[0]) >= share(theirs[0]))
        found.append((ours if mine else theirs).popleft())
    return found
