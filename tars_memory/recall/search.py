"""Search: turn a query into passages. Reads only the index and, to verify hits, their notes.

Also decides whether any of the candidates is an answer at all, by absolute floors, so that nonsense finds nothing
rather than its nearest neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from copy import copy
from heapq import merge
from itertools import chain, groupby, islice
from math import exp, fsum, log
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory import errors, vault
from tars_memory.index import fulltext, naming
from tars_memory.index.reader import NAMESAKES, IndexReader
from tars_memory.language.words import apart, fold, is_inflected, stems, tokens, unspaced_runs
from tars_memory.recall import candidates, scores, weights
from tars_memory.recall.query import (
    Hit,
    Query,
    SearchRequest,
    SearchResult,
    Tag,
    obsidian_url,
    says_something,
    verified,
)
from tars_memory.recall.weights import RELATIVES, Terms, worded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

    from tars_memory.index.fulltext import Filter
    from tars_memory.index.models import QueryVector
    from tars_memory.recall.candidates import Candidate, CandidateLine, Pool


BREADTH = 5
"""One hit in this many is reserved for the best passage of another note: a long note must not crowd out the others."""
PAIRS = 64
"""Maximum number of pairs of words that are looked for with a hyphen between them; a sentence has few."""
SPARE = 10
"""Number of chunks read for each hit of a query without words: some are left without a line."""
LIMIT = 10
"""Default number of hits."""
LEAST_NAMED = weights.LINE_NAMED / 2
"""A score that only hits reach whose note the query names."""
WORDS_MISSPELT = 6
"""Maximum number of words of a query that may be a misspelt name; a longer one is a question."""
_TIME = re.compile(r"^\W*\d\d?[:.]\d\d\s+")


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
        request: with mode, project and limit resolved.
        vector: embedding of ``query.meaning``; without it the search is by words, and ``mode`` of the result says so.
        narrowed: where to look; None to derive it from query and request.
        read: returns the bytes of a note by its path, to verify hits; raises OSError or TarsError if it can't be read.
        own: whether to show lines with a credential as the note has them, not masked as they are indexed.
        vault_name: for the Obsidian links.
    """
    limit, scope = request.limit or LIMIT, request.project or ""
    mode = "lexical" if vector is None else request.mode or "hybrid"
    narrowed = narrowed or query.narrowed(scope)
    _complete_last_word(query, reader, narrowed)
    result = SearchResult(query, mode, notices=[*query.notices])
    if not query.searches:
        found = _newest_chunks(reader, query, narrowed, limit) if query.filters else iter(())
    else:
        lines, blank = scored(reader, query, narrowed, vector, mode, limit)
        # Blank notes that the query names come after other notes of that name, before all other hits.
        others = scores.passages(scores.without_repeats(reader, lines), query)
        found = merge(others, _blank_note_hits(blank, read), key=lambda hit: hit.score < LEAST_NAMED)
    if request.per_note:
        hits, result.more = _hits_per_note(found, read, limit, request.per_note, own=own)
    else:
        hits = _verified_hits(found, read, limit, own=own)
    result.show(hits)
    for hit in hits:
        hit.obsidian_url = obsidian_url(vault_name, hit.path, headings=hit.headings, block_id=hit.block_id)
        if not request.explain:
            hit.explain = {}
    if query.meaning and (not result.hits or _may_be_misspelt(reader, query, narrowed, result.hits)):
        shown = {name for hit in result.hits for name in naming.names_of(hit.path, hit.title, ())}
        near = reader.names(scope).suggestions(query.meaning, parts=not result.hits)
        result.did_you_mean = [name for name in near if name not in shown]
    if not result.hits and query.on is not None and reader.has_ended(query.on.isoformat(), scope):
        timeless = copy(query)
        timeless.on = None
        if search(
            reader, timeless, request, vector=vector, narrowed=narrowed._replace(on=None), read=read, own=own
        ).hits:
            result.notices.append(f"what has ended by {query.on} was not searched: --ended does")
    return result


def _complete_last_word(query: Query, reader: IndexReader, narrowed: Filter) -> None:
    """Treat a last word that is still being typed as complete, if a note contains it, to find its other forms.

    If there are other words, it is no longer a prefix then: counted as both it outweighed them (96 of 100 first hits
    became 92).
    """
    if query.last_word and any(reader.held({query.stems[query.last_word]: query.last_word}, narrowed).values()):
        if query.words:
            query.prefixes = tuple(prefix for prefix in query.prefixes if prefix != query.last_word)
        query.words, query.last_word = (*query.words, query.last_word), ""


def _may_be_misspelt(reader: IndexReader, query: Query, narrowed: Filter, hits: Iterable[Hit]) -> bool:
    """Whether a query may be a misspelt name though it has hits: it is short, and no note contains one of its words."""
    held = fold(" ".join(f"{hit.path} {hit.title} {' '.join(hit.headings)} {hit.text}" for hit in hits))
    words = naming.name_parts(query.meaning)
    known = {*query.compounds.values(), *(part for parts in query.compounds for part in parts)}
    missing = [word for word in words if word not in held and word not in known]
    if not missing or len(words) > WORDS_MISSPELT:
        return False
    return not all(reader.held({root: word for word, root in stems(missing).items()}, narrowed).values())


def _verified_hits(found: Iterator[Hit], read: Callable[[str], bytes], limit: int, *, own: bool) -> list[Hit]:
    """Return the first hits that their notes still contain; the last ones are replaced by hits of further notes if only
    few notes have hits.
    """
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


def _blank_note_hits(paths: Iterable[str], read: Callable[[str], bytes]) -> Iterator[Hit]:
    """Yield the first line below the front matter of notes that hold nothing else, and which the query names."""
    for path in paths:
        try:
            data = read(path)
        except (OSError, errors.TarsError):
            continue
        texts, body = vault.vault.note_lines(data), vault.markdown.document.Document(data).body_line
        number = next((number for number, text in enumerate(texts, 1) if number >= body and text.strip()), 1)
        if number >= body:
            hit = Hit(path, number, number, texts[number - 1], title=path.rpartition("/")[2].removesuffix(".md"))
            hit.score = weights.LINE_NAMED
            yield hit


def _hits_per_note(
    found: Iterator[Hit], read: Callable[[str], bytes], limit: int, most: int, *, own: bool
) -> tuple[list[Hit], int]:
    """Return the first hits that their notes still contain, at most ``most`` of each, and how many more hits a larger
    limit would show. If only one note answers, all of its hits are returned.

    Of those that say the same on several days all but ``most`` only take places that are left. What isn't returned is
    counted on the last hit of its note, and of those that say the same.
    """
    hits: list[Hit] = []
    seen: list[Hit] = []
    repeated: list[Hit] = []
    of_note, of_text, fitting = Counter[str](), Counter[str](), 0

    def fits(hit: Hit) -> bool:
        of_note[hit.path] += 1
        of_text[_said(hit)] += of_note[hit.path] <= most
        return of_note[hit.path] <= most

    for hit in verified(found, read, own=own):
        seen.append(hit)
        if not fits(hit):
            continue
        fitting += 1
        if of_text[_said(hit)] > most:
            repeated.append(hit)
        elif hit.holds or len(hits) + len(repeated) < limit:  # no neighbour takes the place of an equal text
            hits.append(hit)
        if len(hits) == limit:
            break
    if len(of_note) == 1 and len(hits) < limit:  # else other notes may answer beyond the limit
        return seen[:limit], len(seen[limit:])
    hits = sorted([*hits, *repeated][:limit], key=seen.index)
    more = fitting - len(hits) + sum(map(fits, found))  # not verified: nobody sees them
    for hit in {hit.path: hit for hit in hits}.values():
        hit.more = max(0, of_note[hit.path] - most)
    for said, hit in {_said(hit): hit for hit in hits}.items():
        hit.alike = of_text[said] - sum(_said(other) == said for other in hits) if of_text[said] > most else 0
    return hits, more


def _said(hit: Hit) -> str:
    """Return what a hit says, without the time in front of it; with its path if not only the day tells its note from
    others, since ``- works at Acme`` says something else in each.
    """
    said = _TIME.sub("", fold(hit.text))
    return said if hit.tier in scores.DATED else f"{hit.path}\n{said}"


def _newest_chunks(reader: IndexReader, query: Query, narrowed: Filter, limit: int) -> Iterator[Hit]:
    """Yield the hits of a query that has filters but no words to find: whole chunks, newest first, without the lines
    that may not answer; none of marks alone, as the empty bullets of a template are, and no properties of a note that
    has text.
    """
    excluded = weights.Exclusion(query.negations)
    tags = [Tag(tag.lstrip("#")) for tag in narrowed.tags]
    ids = reader.newest(narrowed, limit * SPARE)
    rows = reader.chunks(ids)
    states, _ = candidates.candidate_states(reader, rows.values())
    for row in (rows[i] for i in ids if i in rows and not (rows[i].front and rows[i].position)):
        for hit in scores.chunk_hits(row, candidates.unanswering(reader, query, row, states.get(row.id, {}), excluded)):
            lines, known = hit.text.split("\n"), row.lines[hit.start_line - row.start_line :]
            told = [i for i, text in enumerate(lines) if known[i].kind != "machinery"]
            worded = [i for i in told if any(map(str.isalnum, lines[i]))]  # no mark alone: "%%", "---"
            hit.best = next(
                (i for i in worded if any(tag.found_in(lines[i]) for tag in tags)), worded[0] if worded else 0
            )
            if worded or not hit.text.isascii():
                yield hit


# --- whether the candidates contain an answer
#
# Measured with questions and claims of one set put to the notes of another, and 100 everyday questions put to all.


COMMON, COMMON_SHARE, COMMON_COSINE = 20, 0.60, 0.30
"""If the best chunk is not clearly near, others have to be near too: its nearness and that of the COMMON-th best, with
weight COMMON_SHARE, have to reach a floor of their own together with COMMON_COSINE of the best cosine. A vault says
more than once what it is about; a neighbour by chance is alone. Each model has its own floors:
:class:`tars_memory.recall.weights.Scale`.

On three sets, each asked its own questions, those of the two others and 150 everyday ones: at 0.1 to 0.7 % of the
answerable lost it abstains on 90 % of the others on average; the best chunk alone, at 0.66, on 85 %."""
COMMON_CHUNKS = 0.02
"""Maximum rank, as a share of all chunks, of the chunk that counts as the COMMON-th best: in a small vault fewer
chunks are near, and below 50 chunks the best one itself counts."""
FAR_ABOVE_USUAL = 1.2
"""Distance from what is usual in the vault (:attr:`tars_memory.recall.weights.Scale.above_usual`) from which on a chunk
is an answer though it is not near: a short question asks for one line of a long chunk. Of 1,300 questions about other
things none that is otherwise refused reaches it."""
HIT_ABOVE_USUAL = 0.10
"""Distance from what is usual in a small vault from which on a chunk without a word of the query is a hit."""
KEYWORD_ABOVE_USUAL = 0.30
"""The same beside a chunk that holds all keywords, on the scale of a large vault: of 371 chance neighbours of words in
six languages that the model doesn't know 32 have more, of 26 English answers in other words all."""
UNKNOWN_USUAL = 0.60
"""What is usual in a vault for a question of which the model knows neither language, on the scale of a large vault: of
English questions to English notes 1 % have more, of others in vaults of 60 to 140 notes nine in ten."""
HIT_OF_BEST = 0.20
"""Least share of the query that a chunk of a small vault has to contain for its lines to be hits by their words,
relative to the chunk that contains most: behind a right hit stood all that contain a word such as ``with``."""
TELLING_VAULT = 50
"""Number of chunks from which on hits are compared with the best one: half of a smaller vault may be what is asked for.
"""
NOISE, NOISE_GROWTH = 0.25, 0.062
"""Nearness of the nearest of n unrelated chunks, as NOISE + NOISE_GROWTH * ln(n): the best of many draws grows with
their logarithm. Measured as the 95th percentile over 100 everyday questions and random choices of 1 to 700 chunks of
locomo-dev (0.24 for one, 0.39 for 10, 0.53 for 100). A small vault has less noise, so less nearness is enough: where
the noise is below that of 700 chunks, :data:`FULL_NOISE`, the floors of an answer shrink in proportion."""
FULL_NOISE = 0.66
NOISE_OF_A_WORD = 0.11
"""Added to the noise of a query of one word: a mean of several words is less often near by chance. The 95th percentile
of 40 words and one text is 0.36."""
SCRIPT_OF = 10
"""Number of the best chunks by which the script of the answers is judged."""
FLOOR_WITHOUT_WORDS = 0.50
UNHELD = 0.50
"""How much a term of the query counts that no note contains: it may be what is asked for, or a word that only asks
(``waar gingen we``), which notes seldom contain either."""
HELD_WORTH = 0.50
"""For a model that gives no word vectors: the floor of the cosine plus HELD_WORTH times the share of the query's idf
that the chunk contains."""
FLOOR_OF_WORDS = 0.27
"""Without a model: floor of the BM25 of a chunk, divided by the sum of the query's idf as FTS5 has it: 0 for a word in
half of all chunks, which most words of a vault of a few notes are. 98 to 100 % of the answerable questions reach it,
and 40 to 70 of 100 everyday ones: words alone say less about what is meant. Further chunks (see above) don't help here.
"""
FLOOR_OF_SIGNS = 0.20
"""The same for a question in a script without blanks, where many pairs of signs are not words. All of 48 descriptions
of Chinese pages reach it (.21 and more), and one of 60 strings of common signs and of 16 everyday questions each."""
FULL_VAULT = 700
"""Number of chunks from which on these two floors count in full. In a smaller vault the idf of a word that a chunk
contains is less compared to that of a word that none contains (with 12 chunks 2.2 against 3.3, with 700 6.2 against
7.2), and fewer words are found by chance: the floors shrink with the latter idf."""
CONTENT_SHARE = 0.50
"""For Japanese: share, by idf, of the terms without hiragana that is enough for an answer. Of 27 questions about other
things none comes above .14, of 28 that a vault of 12 notes answers none is below .40."""
RARE = 0.005
FEW = 2
"""A word is rare if at most this share of all chunks, or this many, contain it."""
RARE_SHARE = 0.6
"""Share of the query's idf from which on a rare word is an answer by itself; in a short query that is
not a sentence any rare word is."""
SIGNS_OF_A_WORD = 4
"""Maximum number of signs of a word in scripts without blanks; a longer query is several words, and two of its signs
may be next to each other by chance."""
WORDS_OF_A_NAME = 3
"""Maximum number of words that are taken for a name, in whatever language; a sentence has more."""
LEAST_SHARE = 0.40
"""Least share of the query that a chunk has to contain if no chunk contains a rare word of it; flat from .33 to .45
(docs/development/ranking.md)."""
NAME_ASKED = 0.15
"""Least share of the query that the name of a note in it has to make up."""
DAY_SHARE = 0.4
"""Share of the query's idf, the words of the date included, that a note of the named day has to contain to be an
answer: "what happened yesterday" has hardly another word."""


def has_answer(query: Query, pool: Pool, mode: str) -> bool:
    """Whether the pool contains anything that is near enough in meaning or contains enough words of the query."""
    if _is_near_name(pool):
        return True
    if mode == "semantic":
        named = any(chunk.date >= scores.DAY_MET for chunk in pool.chunks)
        return named or _comes_near(query, pool, {}, known=pool.known)
    total = sum(pool.idfs.values())
    if not total:
        return False
    date_terms = _date_terms(query)
    held = {id(chunk): _held(chunk, pool.idfs, date_terms) for chunk in pool.chunks}
    held_anywhere = set().union(*held.values())
    if _holds_rare(query, pool, held_anywhere, total):
        return True
    fts5_total = sum(log(max(exp(value) - 1, 1.0)) for value in pool.idfs.values())
    scale = pool.scale
    floor = fts5_total * (scale.floor_of_rare_signs if query.runs else scale.floor_of_rare)
    holds_rare = not query.is_sentence and any(map(_is_rare(pool), held_anywhere))
    if holds_rare and any(chunk.words >= floor for chunk in pool.chunks):
        return True
    shares = _telling_shares(query, held, pool)
    holds_all = any(len(terms) == len(pool.idfs) for terms in held.values())  # shares may be rounded to less than 1
    if holds_all and (query.dates or not query.is_sentence):
        return True
    if _holds_day(query, pool, held, date_terms):
        return True
    above, known = _above_usual(pool, shares) if mode == "hybrid" else 0.0, any(shares.values())
    if mode == "hybrid" and above >= scale.above_usual and _comes_near(query, pool, shares, known=known):
        return True
    if all(map(is_insignificant, held_anywhere)):
        return False
    if mode == "hybrid" and all(chunk.meaning is not None for chunk in pool.chunks if chunk.words):
        return above >= FAR_ABOVE_USUAL
    if not fts5_total:
        return holds_all
    floor = FLOOR_OF_SIGNS if _is_run_on(query) else FLOOR_OF_WORDS
    floor *= min(1.0, weights.idf(max(pool.rows, 1), 0) / weights.idf(FULL_VAULT, 0))
    return _holds_content(pool, held.values()) or any(chunk.words >= floor * fts5_total for chunk in pool.chunks)


def _date_terms(query: Query) -> set[str]:
    """Return the terms of the words that name the query's dates."""
    numbers = filter(query.date_words.issuperset, query.phrases)  # 15.11.2025
    return {*(query.stems[word] for word in query.date_words), *map(query.phrase_key, numbers)}


def _shares(held: Mapping[int, set[str]], pool: Pool) -> dict[int, float]:
    """Return by chunk the share of the query that it contains.

    The rarest terms decide: each counts by a power of its idf, the square in a large vault; the smaller a vault is, the
    less it says which words are common. A term that no note contains counts as :data:`UNHELD`. What a text contains by
    chance doesn't count, nor does a doubtful form of a word alone (``chain`` for ``chainsaw``).
    """
    unheld, power = weights.idf(max(pool.rows, 1), 0), 2 * _smallness(pool)
    worth = {term: value**power * (UNHELD if value >= unheld else 1.0) for term, value in pool.idfs.items()}
    total = fsum(worth.values())
    found: dict[int, float] = {}
    for chunk, terms in held.items():
        kept = terms if len(terms) > 1 else terms.difference(pool.doubtful)
        found[chunk] = fsum(worth[term] for term in kept if not is_insignificant(term)) / total
    return found


def _telling_shares(query: Query, held: Mapping[int, set[str]], pool: Pool) -> dict[int, float]:
    """Return by chunk the share of the query that it contains; nothing if all contain little of it, and common words
    alone: to a model that doesn't know the language, one of many notes is always near enough for a little to decide.
    """
    shares, rare = _shares(held, pool), _idf_of_rare(pool)
    tells = query.runs or not TELLING_VAULT <= pool.rows < FULL_VAULT or max(shares.values(), default=0) >= LEAST_SHARE
    tells = tells or any(pool.idfs[term] >= rare for terms in held.values() for term in terms)
    return shares if tells else dict.fromkeys(shares, 0.0)


def _holds_day(query: Query, pool: Pool, held: Mapping[int, set[str]], date_terms: set[str]) -> bool:
    """Whether a note of the named day contains enough of the query's words, other than function words; in a language of
    which these are not known (``co robiłam wczoraj``), of those words that some note contains.
    """
    small = {query.stems[word] for word in query.words if word in query.small_words}
    small |= {query.phrase_key(phrase) for phrase in query.phrases if query.small_words.issuperset(phrase)}
    if not (query.is_sentence or query.small_words):
        unheld = weights.idf(max(pool.rows, 1), 0)
        small = {term for term, value in pool.idfs.items() if value >= unheld} - date_terms
    asked = pool.idfs.keys() - small
    least = DAY_SHARE * fsum(pool.idfs[term] for term in asked)
    return any(
        chunk.date >= scores.DAY_MET and fsum(pool.idfs[term] for term in held[id(chunk)] & asked) >= least
        for chunk in pool.chunks
    )


def _holds_content(pool: Pool, held: Iterable[set[str]]) -> bool:
    """Whether a chunk contains enough of the content words of a Japanese query, its terms without hiragana."""
    content = {term: value for term, value in pool.idfs.items() if not is_inflected(term)}
    if not content or len(content) == len(pool.idfs):
        return False
    enough = CONTENT_SHARE * sum(content.values())
    return any(fsum(content[term] for term in terms & content.keys()) >= enough for terms in held)


def _language_margin(query: Query, pool: Pool, best: Sequence[Candidate]) -> float:
    """Return what is added to the floors because the query is in the language of the ``best`` chunks, and not English:
    function words of English queries are not searched for.
    """
    if query.is_sentence or len(pool.idfs) <= WORDS_OF_A_NAME or query.runs or _mostly_unspaced(best):
        return 0.0
    unheld = weights.idf(max(pool.rows, 1), 0)
    held = sum(value < unheld for value in pool.idfs.values())
    return pool.scale.own_language if 2 * held >= len(pool.idfs) else 0.0


def _strangeness_margin(pool: Pool) -> float:
    """Return what is added to a floor because the query has more unknown word pieces than a text of any language."""
    return pool.scale.strangeness * max(0.0, (pool.strange or weights.UNMEASURED) - weights.STRANGE)


def _script_margin(query: Query, pool: Pool, best: Sequence[Candidate]) -> float:
    """Return what is added to the floors because of the scripts of the query and the ``best`` chunks: texts in scripts
    without blanks share their particles, texts in different scripts share nothing.
    """
    scale = pool.scale
    if not scale.same_unspaced and not scale.other_script:
        return 0.0
    is_unspaced = bool(query.runs)
    if is_unspaced != _mostly_unspaced(best):
        return scale.other_script
    return scale.same_unspaced if is_unspaced else 0.0


def _mostly_unspaced(best: Sequence[Candidate]) -> bool:
    """Whether at least half of the chunks are in a script without blanks."""
    return 2 * sum(bool(unspaced_runs(chunk.row.text)) for chunk in best) >= len(best)


def _above_usual(pool: Pool, shares: Mapping[int, float]) -> float:
    """Return by how much a chunk is nearer than is usual in the vault, with its share of the query's idf added, on the
    scale of a large vault.
    """
    near = {chunk: nearness(chunk, shares[id(chunk)]) for chunk in pool.chunks}
    best = max(near, key=near.__getitem__, default=None)
    if best is None:
        return 0.0
    return (max(near[chunk] + shares[id(chunk)] for chunk in near) - pool.usual(best.row.id)) / _smallness(pool)


def _comes_near(query: Query, pool: Pool, shares: Mapping[int, float], *, known: bool) -> bool:
    """Whether one chunk is clearly near in meaning, or one is near and further ones are too.

    Args:
        query: parsed.
        pool: of its candidates.
        shares: by ``id`` of a chunk the share of the query's idf that it contains; empty if words don't count.
        known: whether some note contains a word of the query.
    """
    if not pool.chunks:
        return False
    near = {id(chunk): nearness(chunk, shares.get(id(chunk), 0.0)) for chunk in pool.chunks}
    chunks = sorted(pool.chunks, key=lambda chunk: -near[id(chunk)])
    found = [near[id(chunk)] for chunk in chunks]
    scale, best, small = pool.scale, chunks[:SCRIPT_OF], _smallness(pool)
    margin = _script_margin(query, pool, best) + _language_margin(query, pool, best)
    if found[0] < (scale.floor + margin + (0.0 if known else _strangeness_margin(pool))) * small:
        return False
    common = found[min(COMMON, int(_rows(pool) * COMMON_CHUNKS), len(found) - 1)]
    company = found[0] + COMMON_SHARE * (common - found[0]) + COMMON_COSINE * pool.nearest
    return found[0] >= (scale.clear + margin) * small or company >= (scale.floor_common + margin) * small


def _rows(pool: Pool) -> int:
    """Return the number of chunks that may answer: if fewer are read than may be, there are no more."""
    return pool.read if pool.read < candidates.CHUNKS_READ else pool.rows


def _smallness(pool: Pool) -> float:
    """Return the factor, at most 1, by which floors shrink in a small vault: it has less noise."""
    of_word = NOISE_OF_A_WORD if len(pool.idfs) == 1 else 0.0
    return min(1.0, (noise(_rows(pool)) + of_word) / FULL_NOISE)


def noise(chunks: int) -> float:
    """Return how near an unrelated chunk may be in an index of ``chunks`` chunks."""
    return NOISE + NOISE_GROWTH * log(max(1, chunks))


def nearness(chunk: Candidate, share: float = 0.0) -> float:
    """Return how near a chunk is in meaning: its cosine plus the nearness of its words; 0 without a vector.

    Args:
        chunk: to compare with the query.
        share: of the query's idf that the chunk contains; counts if the model gives no word vectors.
    """
    if chunk.meaning is None:
        return 0.0
    if chunk.nearest:
        return chunk.meaning + weights.mean(chunk.nearest)
    return (max(chunk.meaning, 0.0) + HELD_WORTH * share) * weights.DEFAULT.floor / FLOOR_WITHOUT_WORDS


def _names_note(chunk: Candidate) -> bool:
    """Whether the query asks for the note, or the subject of its facts, by name: then the chunk is an answer, however
    far it is in meaning.
    """
    return chunk.name_in_query and chunk.query_share >= NAME_ASKED and not all(map(is_insignificant, chunk.counts))


def _named_in_part(query: Query, pool: Pool) -> list[Candidate]:
    """Return the chunks of notes with the name of a person, or the like, of which the query contains a part.

    Such a name is two or three words with a capital, and the query has one of them with a capital, behind another word;
    in a query without any capital, a rare word. A part that more than :data:`NAMESAKES` notes share names none of them,
    nor does one that is less than :data:`NAME_ASKED` of the query.
    """
    behind = re.findall(r"(?<=\w )[^\W\d_]\w+", query.text)
    is_lower = query.text.islower()
    behind = [fold(word) for word in behind if is_lower or word[0].isupper()]
    asked = {query.stems[word] for word in behind if word in query.stems and word not in query.date_words}
    least = NAME_ASKED * fsum(pool.idfs.values())
    asked = {part for part in asked if part in pool.idfs and pool.idfs[part] >= least}
    if is_lower:
        asked = set(filter(_is_rare(pool), asked))
    called: dict[str, list[Candidate]] = {}
    for chunk in pool.chunks:
        names = (name for name in chunk.row.names if _is_of_person(name))
        for part in asked.intersection(chain.from_iterable(map(candidates.stems_of, names))):
            called.setdefault(part, []).append(chunk)
    few = (chunks for chunks in called.values() if len({chunk.row.note_id for chunk in chunks}) <= NAMESAKES)
    return list(dict.fromkeys(chain.from_iterable(few)))


def _is_of_person(name: str) -> bool:
    """Whether a name looks like that of a person: two or three words, each with a capital."""
    parts = name.split()
    return 1 < len(parts) <= WORDS_OF_A_NAME and all(part[0].isupper() for part in parts)


def least_nearness(query: Query, pool: Pool, holds: Collection[int]) -> float:
    """Return how near a chunk has to be for its lines to be hits, unless it is among those that hold words of the
    query.

    In a small vault that is what noise reaches, which is also measured there if one chunk stands out: to a model that
    doesn't know the language of the notes all of them are near. If it doesn't know that of the question either, and
    words answer, a chunk without any has to be near enough to be an answer by itself. For keywords, beside a chunk that
    holds all of them, it has to stand out more: a single word has neighbours by chance everywhere.
    """
    floor = min(pool.scale.floor_of_hit, noise(pool.rows))
    others = (chunk for chunk in pool.chunks if chunk.row.id not in holds)
    if pool.rows >= FULL_VAULT or not any(nearness(chunk) >= floor for chunk in others):
        return floor
    best = max(pool.chunks, key=nearness)
    usual, small = pool.usual(best.row.id), _smallness(pool)
    if holds and pool.scale is weights.DEFAULT:  # another model knows the languages, and what is near to a word in them
        if query.language or usual >= UNKNOWN_USUAL * small:
            return max(floor, usual + pool.scale.above_usual * small)
        asked = pool.idfs.keys()
        if asked and not query.is_sentence and any(asked <= chunk.counts.keys() for chunk in pool.chunks):
            floor = max(floor, usual + KEYWORD_ABOVE_USUAL * small)
    above_usual = usual + HIT_ABOVE_USUAL
    return max(floor, above_usual) if nearness(best) >= above_usual else floor


def holding(pool: Pool) -> Collection[int]:
    """Return the ids of the chunks whose lines may be hits for the words of the query that they contain: in a small
    vault not those that contain little of it, compared to the best, if there are enough chunks to tell.
    """
    held = {chunk.row.id: chunk.counts.keys() & pool.idfs for chunk in pool.chunks if chunk.counts}
    if not TELLING_VAULT <= pool.rows < FULL_VAULT or not pool.idfs:
        return held
    shares = _shares(held, pool)
    least = HIT_OF_BEST * max(shares.values(), default=0.0)
    return {chunk for chunk, share in shares.items() if share >= least}


def shows(chunk: Candidate, pool: Pool, holds: Container[int], least: float) -> bool:
    """Whether lines of a chunk may be hits: it is named, is among those that hold words of the query
    (:func:`holding`), is of a named day or is near enough (:func:`least_nearness`).

    Properties beside text are not what a name asks for.
    """
    beside = chunk.row.front and chunk.row.position > 0
    if chunk.name_is_query and not beside:
        return True
    named = not beside and chunk.name_meaning >= _floor_of_name(pool)
    return chunk.row.id in holds or chunk.date >= scores.DAY_MET or named or nearness(chunk) >= least


def _is_near_name(pool: Pool) -> bool:
    """Whether the query is near enough to the name of a note to be that name in another language.

    The floor rises with how near the names of the vault usually are.
    """
    named = max(pool.chunks, key=lambda chunk: chunk.name_meaning, default=None)
    if named is None or named.name_meaning < _floor_of_name(pool):
        return False
    return named.name_meaning >= _floor_of_name(pool) + max(0.0, pool.usual(named.row.id))


def _floor_of_name(pool: Pool) -> float:
    """Return how near a query has to be to the name of a note to be that name in another language."""
    return pool.scale.floor_of_name + _strangeness_margin(pool)


def _held(chunk: Candidate, idfs: dict[str, float], date_terms: set[str]) -> set[str]:
    """Return the terms that a chunk contains; with those of a named date if the chunk is of that date."""
    held = {term for term in chunk.counts if term in idfs}
    if chunk.date >= scores.DAY_MET:
        held |= date_terms & idfs.keys()
    return held


def _holds_rare(query: Query, pool: Pool, held: set[str], total: float) -> bool:
    """Whether one of the held terms is rare and makes up much of the query."""
    is_rare = _is_rare(pool)
    is_sentence = query.is_sentence or len(pool.idfs) > pool.scale.few_words or _is_run_on(query)
    return any(
        is_rare(term) and (not is_sentence or pool.idfs[term] >= RARE_SHARE * total or is_code(term)) for term in held
    )


def _is_run_on(query: Query) -> bool:
    """Whether a query contains several words written without blanks."""
    return sum(map(len, query.runs)) > SIGNS_OF_A_WORD


def _is_rare(pool: Pool) -> Callable[[str], bool]:
    """Return a function that tells whether a term of the query is in few chunks, and not by chance."""
    rare = _idf_of_rare(pool)
    return lambda term: pool.idfs[term] >= rare and term not in pool.related and not is_insignificant(term)


def _idf_of_rare(pool: Pool) -> float:
    """Return the idf from which on a term is rare."""
    return weights.idf(pool.rows, max(FEW, int(pool.rows * RARE)))


def is_insignificant(term: str) -> bool:
    """Whether a text may contain a term by chance: a number of at most two digits, or only punctuation."""
    return (len(term) <= 2 and term.isdigit()) or all(unicodedata.category(sign)[0] == "P" for sign in term)


def is_code(term: str) -> bool:
    """Whether a term is a name that nobody types by chance: letters with digits, such as ``x200`` or ``b12f``."""
    return len(term) > 3 and any(map(str.isdigit, term)) and any(map(str.isalpha, term))


# --- the lines that answer, best first: packing takes them one by one, search makes passages of them


POOL = 50
"""Number of hits for which candidates are gathered: on locomo-dev the lines of 75 chunks contain 97 % of the gold ones.
"""

NEAR_BEST = 0.5
"""Least share of the best score for another line of a prompt, or another playbook, to be returned with it. Of twelve
procedures and twelve questions that one of them answers, those that share a stray word with the question had up to 0.2
of it; lines with less fill a prompt and answer nothing."""
ABOVE_CHANCE = 0.10
"""How much nearer than words by chance a bullet without a word of the query has to be to answer it. Conversations lose
nothing by it; in German notes, which the model can't read, such bullets are up to .05 above chance."""


class Answer(NamedTuple):
    """One line of the index that answers.

    Attributes:
        path: of its note.
        number: 1-based.
        text: verbatim; a piece of the line if it is oversized.
        partial: whether ``text`` is a piece.
        day: the ISO day on which it was said or began to hold; '' if it is unknown.
    """

    path: str
    number: int
    text: str
    partial: bool = False
    day: str = ""


def scored(
    reader: IndexReader, query: Query, narrowed: Filter, vector: QueryVector | None, mode: str, limit: int
) -> tuple[list[CandidateLine], Sequence[str]]:
    """Return the lines that may be shown, with their scores, in the order of the vault.

    If nothing is relevant, these are the lines of notes that the query names, if it does; for a query of filters only
    there are none.

    Args:
        reader: the index.
        query: parsed.
        narrowed: where to look.
        vector: of the query; None to search by words only.
        mode: ``hybrid`` or ``semantic``; without a vector both are ``lexical``.
        limit: number of hits that are wanted.

    Returns:
        The lines, and the paths of empty notes to show because the query names them.
    """
    if not query.searches:
        return [], ()
    mode = "lexical" if vector is None else mode
    asked, query = query, copy(_without_grammar(query, reader))
    query.relatives, query.compounds = {}, {}
    if mode == "semantic":
        held = reader.held(query.by_stem, narrowed)
    else:
        held = _held_with_compounds(query, reader, narrowed)
        _add_relatives(query, reader, narrowed, held)
    for _ in range(2):
        terms = Terms(query)
        pool = candidates.gather(reader, query, terms, narrowed, vector, held, by_words=mode != "semantic", limit=limit)
        mode = mode if pool.coverage else "lexical"
        relevant = has_answer(query, pool, mode)
        if relevant or mode != "hybrid" or not _add_form_nearby(query, reader, pool, held):
            break
    asked.compounds |= query.compounds
    for root, others in query.relatives.items():  # of several indexes, for highlights
        asked.relatives[root] = tuple(dict.fromkeys((*asked.relatives.get(root, ()), *others)))
    is_name = any(chunk.name_is_query for chunk in pool.chunks)
    named: list[Candidate] = []
    if not relevant and not is_name:
        named = [chunk for chunk in pool.chunks if _names_note(chunk)] or _named_in_part(query, pool)
    if not relevant and not is_name and not named:
        return [], pool.blank
    scores.rank(pool, query)
    if not relevant:
        return [line for chunk in named for line in chunk.lines] or scores.best_lines_of_named_notes(pool), pool.blank
    if query.exact and mode != "semantic":
        return _lines_with_phrases(pool, (*terms.phrase_keys, *map(fulltext.fold_signs, asked.written))), pool.blank
    holds = holding(pool)
    least = least_nearness(query, pool, holds)
    shown = (chunk for chunk in pool.chunks if shows(chunk, pool, holds, least))
    lines = (line for chunk in shown for line in _telling_lines(chunk))
    keywords = not (query.is_sentence or query.small_words)
    return [*_without_neighbours(lines, pool.scale.lines_above + ABOVE_CHANCE, keywords=keywords)], pool.blank


def _telling_lines(chunk: Candidate) -> list[CandidateLine]:
    """Return the lines of a chunk, but those of marks alone, as the end of a fence, unless it has no others; of
    properties, those with a word of the query and what is nested below them, if any: the others have nothing to do with
    each other.
    """
    if not (chunk.row.front and chunk.counts):
        return [line for line in chunk.lines if line.counts or says_something(line.text)] or chunk.lines
    found: list[CandidateLine] = []
    for line in chunk.lines:
        nested = line.known.indent or line.text[:1] == "-"
        if line.counts or (nested and found and found[-1].index == line.index - 1):
            found.append(line)
    return found


def _held_with_compounds(query: Query, reader: IndexReader, narrowed: Filter) -> dict[str, int]:
    """Return stem → number of chunks that contain it, as :meth:`IndexReader.held`, for the words of a query, also where
    notes write a word as two with a hyphen ("Wi-Fi").

    Sets the compounds of the query. Of one that notes write as one word, the parts that no note contains are left out.
    """
    excluded = weights.Exclusion(query.negations).stems if query.negations else frozenset()
    by_stem, stems = query.by_stem, query.stems
    held = reader.held(by_stem, narrowed)
    rare = {
        by_stem[root] for root, count in held.items() if count < candidates.CHUNKS_BY_WORDS and root not in excluded
    }
    pairs = {pair: word for pair, word in query.halves.items() if word in rare}
    known = reader.frequencies({stems[word] for word in (*chain.from_iterable(pairs), *query.joined.values())})
    both = ((pair, word) for pair, word in pairs.items() if all(known[stems[part]] for part in pair))
    for pair, word in islice(both, PAIRS):
        if count := reader.hyphenated(pair, narrowed):
            query.compounds[pair] = word
            held[stems[word]] += count
    joined = {stems[word]: word for word in query.joined.values() if known[stems[word]]}
    visible = reader.visible(joined, narrowed) if joined else set()
    for parts, word in query.joined.items():
        if stems[word] in visible:
            query.compounds[parts] = word
            unheld = {part for part in parts if not held.get(stems[part])}
            query.words = tuple(word for word in query.words if word not in unheld)
    return held


def _add_relatives(query: Query, reader: IndexReader, narrowed: Filter, held: dict[str, int]) -> None:
    """Find other forms of the words of a query that no note contains, in a small vault also compounds with them, and
    count them in ``held``.

    Like a word, a form only counts if a note in the searched scopes contains it. An excluded word has no other forms,
    and isn't one.
    """
    excluded = weights.Exclusion(query.negations).stems if query.negations else frozenset()
    everything: dict[str, int] = {}
    for root, count in held.items():
        if count or root in excluded or len(root) < weights.LETTERS_SHARED or not root.isalpha():
            continue
        vocabulary = reader.words_with(weights.beginning_of_relatives(root))
        others = weights.relatives_of(root, vocabulary.keys() - excluded)
        word = query.by_stem.get(root, root)
        if len(word) >= weights.LETTERS_OF_A_PART and reader.chunk_count() < FULL_VAULT:
            vocabulary = everything = everything or reader.words_with("")
            compounds = weights.compounds_of(word, vocabulary.keys() - excluded)
            others = tuple(dict.fromkeys((*others, *compounds)))
        found, left = list[str](), iter(others)
        while len(found) < RELATIVES and (some := {other: worded(other) for other in islice(left, RELATIVES)}):
            visible = reader.visible(some, narrowed)
            found += (other for other in some if other in visible)
        if found := found[:RELATIVES]:
            query.relatives[root] = tuple(found)
            held[root] = sum(vocabulary[other] for other in found)


def _add_form_nearby(query: Query, reader: IndexReader, pool: Pool, held: dict[str, int]) -> bool:
    """Find other forms of a lone word that no note contains in the passage that is nearest to it in meaning, and count
    them in ``held``; return whether there are any.

    Neither is an answer by itself: some passage is always nearest, and words of another meaning begin alike.
    """
    if len(held) != 1 or len(query.content) != 1 or any(held.values()) or not pool.chunks:
        return False
    (root,), row = held, max(pool.chunks, key=nearness).row
    if any(map(str.isdigit, root)):  # another number
        return False
    words = stems(tokens(apart("\n".join((*row.names, *row.headings, row.text))))).values()
    if forms := {word for word in words if weights.may_be_form(root, word)}:
        query.relatives[root] = tuple(sorted(forms))
        held[root] = sum(reader.frequencies(forms).values())
    return bool(forms)


def _without_grammar(query: Query, reader: IndexReader) -> Query:
    """Return the query without its function words if the vault is too small for them to have a low idf."""
    words = tuple(word for word in query.words if word not in query.grammar)
    if not words or len(words) == len(query.words) or reader.chunk_count() >= FULL_VAULT:
        return query
    query = copy(query)
    query.words = words
    return query


def _lines_with_phrases(pool: Pool, keys: Sequence[str]) -> list[CandidateLine]:
    """Return the lines that contain a phrase of the query, given by the keys of their terms, or all lines of a chunk if
    a phrase continues on the next line.
    """
    lines: list[CandidateLine] = []
    for chunk in pool.chunks:
        if any(key in chunk.counts for key in keys):
            holding = [line for line in chunk.lines if any(key in line.counts for key in keys)]
            lines += holding or chunk.lines
    return lines


def ranked(reader: IndexReader, query: Query, narrowed: Filter, vector: QueryVector | None, mode: str) -> list[Answer]:
    """Return the lines that answer a query about as well as the best one, best first; none if nothing is relevant.

    Parameters as for :func:`scored`.
    """
    lines, _ = scored(reader, query, narrowed, vector, mode, POOL)
    worth = {line: line.score - (weights.LINE_NAMED if line.score > LEAST_NAMED else 0.0) for line in lines}
    best = max(worth.values(), default=0.0)
    found: list[Answer] = []
    for line in sorted(lines, key=lambda line: -line.score):
        row = line.chunk.row
        if line.known.kind == "repeated" or worth[line] < min(best, NEAR_BEST * best):
            continue  # a prompt shows the line that it repeats
        found.append(Answer(row.path, line.number, line.text, row.partial, scores.day_of(row, line.index)))
    return found


def _without_neighbours(
    lines: Iterable[CandidateLine], least: float, *, keywords: bool = False
) -> Iterator[CandidateLine]:
    """Yield the lines but the bullets that merely stand in a chunk with a line that answers: neither they nor what is
    nested below them holds a word of the query, or is as near to one as ``least``. For ``keywords`` neither other
    lines: what stands beside the answer to a question may belong to it.
    """
    left_out = (scores.ITEM, "text") if keywords else (scores.ITEM,)
    for chunk, of_chunk in groupby(lines, key=lambda line: line.chunk):
        items: list[list[CandidateLine]] = []
        for line in of_chunk:
            items += [] if items and line.known.indent else [[]]
            items[-1].append(line)
        tell = [any(line.counts or weights.mean(line.nearest) >= least for line in item) for item in items]
        above = chunk.headed or chunk.date >= scores.DAY_MET or not any(tell)  # a heading, the day, all alike
        for item, tells in zip(items, tell, strict=True):
            yield from item if above or tells or item[0].known.kind not in left_out else ()


# --- hits of the vault and of conversations in one order
#
# Of passages that cover the same words of the question, those of the vault come first: somebody kept them. Of two
# passages of conversations that cover the same words, the newer one comes first.


Item = TypeVar("Item")

ALIKE = 0.1
"""Two passages cover the same words if their shares of the question's words differ by less than this."""


class Shares:
    """Shares of a question's words that texts cover, weighted by idf, without the function words of its language.

    What is of a day that the question names covers the words for it; a passage of a note covers what its title and its
    headings say.
    """

    def __init__(self, query: Query, readers: Iterable[IndexReader]) -> None:
        self._query, self._terms = query, Terms(query)
        rows, held = 0, dict.fromkeys(self._terms.stems, 0)
        for reader in readers:
            rows += reader.chunk_count()
            for term, count in reader.frequencies(held).items():
                held[term] += count
        small = {query.stems[word] for word in query.words if word in query.small_words | query.grammar}
        counted = {term: count for term, count in held.items() if term not in small}
        self._idfs = {term: weights.idf(max(rows, 1), min(count, rows)) for term, count in counted.items()}
        self._total = sum(self._idfs.values())
        self._date_terms = _date_terms(query)
        self._known: dict[str, dict[str, int]] = {}

    def read(self, texts: Iterable[str]) -> None:
        """Count the question's words in many texts at once: it takes half of the time."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._terms.count_lines(new), strict=True))

    def _count(self, text: str) -> dict[str, int]:
        self.read((text,))
        return self._known[text]

    def words(self, text: str) -> frozenset[str]:
        """Return the question's words that a text contains."""
        return frozenset(self._count(text))

    def sort_key(self, item: Hit | Answer) -> SortKey:
        """Return the key by which passages and lines are sorted; no share if the question has no words to count."""
        above = () if isinstance(item, Answer) or item.tier == "talk" else (item.title, *item.headings)
        counts = self._count("\n".join((*above, item.text)))
        met = candidates.day_fit(self._query, item.day) >= scores.DAY_MET
        terms = self._date_terms.union(counts) if met else counts
        return SortKey(sum(self._idfs.get(term, 0.0) for term in terms) / (self._total or 1.0), item.day)


class SortKey(NamedTuple):
    """The key by which passages and lines are sorted.

    Attributes:
        share: of the question's words that it covers.
        day: the ISO day on which it was said or began to hold; '' if it is unknown.
    """

    share: float
    day: str


def merged(ours: Sequence[Item], said: Sequence[Item], sort_key: Callable[[Item], SortKey]) -> list[Item]:
    """Merge passages or lines of the vault and of conversations into one order.

    Those of the vault that have a day (daily lines, session notes, lines that came from one, facts) are ordered with
    those of conversations, the newer first; on the same day those of the vault come first. Without conversations the
    order of the vault stays.

    Args:
        ours: of the vault, best first.
        said: of conversations, best first.
        sort_key: returns what the place of an item depends on.
    """
    if not said:
        return [*ours]
    keys = {id(item): sort_key(item) for item in (*ours, *said)}
    dated = [item for item in ours if keys[id(item)].day]
    undated = [item for item in ours if not keys[id(item)].day]

    def order(item: Item) -> float:
        return -keys[id(item)].share

    found = _newer_first(merge(dated, said, key=order), keys)
    return [*merge(undated, found, key=order)]  # of items with equal shares those of the first list come first


def _newer_first(found: Iterable[Item], keys: Mapping[int, SortKey]) -> list[Item]:
    """Move, of the items that cover the same words, the newer before the older; keep the order otherwise.

    Items that cover no word were found by their meaning; they are not moved.
    """
    left = [(*keys[id(item)], item) for item in found]
    ordered: list[Item] = []
    while left:
        best, at = left[0][0], 0
        if best >= ALIKE:
            alike = (n for n, (share, _, _) in enumerate(left) if abs(share - best) < ALIKE)
            at = max(alike, key=lambda n: left[n][1])
        ordered.append(left.pop(at)[2])
    return ordered
