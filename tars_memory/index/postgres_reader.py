"""Read access to a team's index in PostgreSQL: the same queries as for a file, where possible in the same SQL.

Tables take the place of FTS5 and sqlite-vec here. Texts are tokenized by FTS5's own tokenizers, in memory, so that both
engines know the same words. For each word, PostgreSQL stores in which rows it occurs and how often, in blocks of
neighbouring rows, each occurrence as one number (:data:`PACKED`). BM25 is computed in SQL with the formula and the
constants of FTS5, for PostgreSQL's own ``ts_rank`` doesn't know how rare a word is.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.index import database, fulltext, reader, vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import psycopg


K1, B = 1.2, 0.75
"""Constants of FTS5's bm25()."""
MIN_IDF = 1e-6
"""FTS5's weight of a word that occurs in more than half of all rows."""
EXACT = 1e12
"""Factor with which scores are converted to whole numbers before they are added, so that their order doesn't matter."""
BLOCK = 4096
"""Number of rows whose occurrences of one word are stored in one block."""
PACKED = (32, 24, 16, 0)
"""Bit shifts of the parts of an occurrence: id of the row, then the word's count in each of three columns."""
MAX_COUNTS = (255, 255, 65_535)
"""Largest count that can be stored for each of the three columns."""


POSTINGS = 100_000
"""Number of occurrences above which only a query's rarest words select rows, and the other words only add to their
scores, provided that no row without the rarest words can be among the best. Measured in docs/development/ranking.md."""
COMPLETED = 10
"""Number of rows that the rarest words select per row wanted, before the other words are added to their scores."""
TUPLES = 20_000
"""Maximum number of neighbours that the graph visits until enough pass the filter; pgvector's default."""
GRAPH = "graph"
"""Key in :attr:`PostgresReader.meta` if a graph of neighbours (HNSW) exists."""


_Hits = tuple[str, list[Any]]
"""SQL that selects rows, and the values of its question marks."""


def tokens(texts: Sequence[str], tokenizer: str) -> list[list[str]]:
    """Tokenize texts with FTS5; return the tokens of each text, in order."""
    with closing(database.driver().module.connect(":memory:")) as connection:
        connection.executescript(
            f'CREATE VIRTUAL TABLE t USING fts5 (x, content = "", tokenize = "{tokenizer}");'
            "CREATE VIRTUAL TABLE v USING fts5vocab (t, instance);"
        )
        connection.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
        found: list[list[str]] = [[] for _ in texts]
        for row, term in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            found[row].append(term)
    return found


def spelled(words: Sequence[str]) -> str:
    """Join tokens to a text in which a phrase can be searched, each with a blank on either side."""
    return "".join(f" {word} " for word in words)


# --- expressions


class TokenPhrase(NamedTuple):
    """Consecutive tokens; with ``prefix``, the last one is only the beginning of a word."""

    tokens: tuple[str, ...]
    prefix: bool
    column: str


_PART = re.compile(r'"(?P<phrase>(?:[^"]|"")*)"(?P<prefix> \*)?|(?P<column>\w+) : |\)? (?P<sign>OR|AND) \(?|^\(|\)$')


@lru_cache(maxsize=256)
def parsed(expression: str, tokenizer: str) -> tuple[tuple[TokenPhrase, ...], ...]:
    """Take apart an expression as :mod:`fulltext` writes it: any of these groups, of which all phrases are needed.

    Raises:
        ValueError: it is not such an expression.
    """
    matches = list(_PART.finditer(expression))
    if sum(len(match[0]) for match in matches) != len(expression):
        raise ValueError(f"not an expression: {expression[:80]!r}")
    words = iter(tokens([match["phrase"].replace('""', '"') for match in matches if match["phrase"]], tokenizer))
    groups: list[list[TokenPhrase]] = [[]]
    column = ""
    for match in matches:
        if match["sign"] == "OR":
            groups.append([])
        elif match["phrase"] is not None:
            found = tuple(next(words)) if match["phrase"] else ()
            groups[-1].append(TokenPhrase(found, match["prefix"] is not None, column))
        column = match["column"] or ""
    return tuple(map(tuple, groups))


def rows_of(table: str, expression: str) -> tuple[str, list[Any]]:
    """Return SQL for the ids of the rows that match an expression, and the values of its question marks."""
    groups: list[str] = []
    values: list[Any] = []
    for group in parsed(expression, fulltext.TABLES[table].tokenizer):
        rows = [phrase_rows(table, phrase) for phrase in group]
        groups.append(f"({' INTERSECT '.join(f'(SELECT rowid FROM ({sql}) f)' for sql, _ in rows)})")
        values += [value for _, phrase_values in rows for value in phrase_values]
    return f"SELECT rowid FROM ({' UNION '.join(groups)}) u", values


def _word(token: str, *, prefix: bool) -> tuple[str, list[Any]]:
    """Return the SQL condition for the occurrences of a word, or of words with that prefix, and its values."""
    return ("p.term >= ? AND p.term < ?", [token, f"{token}\U0010ffff"]) if prefix else ("p.term = ?", [token])


def phrase_rows(table: str, phrase: TokenPhrase) -> tuple[str, list[Any]]:
    """Return SQL for the rows that contain a phrase: rowid, and how often in each of three columns; and its values."""
    if not phrase.tokens:
        return "SELECT 0 AS rowid, 0 AS a, 0 AS b, 0 AS c WHERE false", []
    if len(phrase.tokens) > 1:
        return _adjacent(table, phrase)
    where, values = _word(phrase.tokens[0], prefix=phrase.prefix)
    a, b, c = (f"sum(x >> {shift} & {limit})::int" for shift, limit in zip(PACKED[1:], MAX_COUNTS, strict=True))
    sql = (
        f"SELECT (x >> {PACKED[0]})::int AS rowid, {a} AS a, {b} AS b, {c} AS c"
        f" FROM (SELECT unnest(p.packed) x FROM {table}_at p WHERE {where}) o GROUP BY 1"
    )
    if phrase.column:
        sql = f"SELECT * FROM ({sql}) o WHERE {'abc'[fulltext.TABLES[table].columns[phrase.column]]} > 0"
    return sql, values


def _adjacent(table: str, phrase: TokenPhrase) -> tuple[str, list[Any]]:
    """Return what :func:`phrase_rows` does, for a phrase of several tokens, which is looked up in the tokens' text."""
    sets: list[str] = []
    values: list[Any] = []
    for position, token in enumerate(phrase.tokens):
        where, word_values = _word(token, prefix=phrase.prefix and position == len(phrase.tokens) - 1)
        sets.append(f"(SELECT (unnest(p.packed) >> {PACKED[0]})::int FROM {table}_at p WHERE {where})")
        values += word_values
    text = spelled(phrase.tokens).removesuffix(" " if phrase.prefix else "")
    counts = ["0", "0", "0"]
    count_values: list[Any] = []
    for column, place in fulltext.TABLES[table].columns.items():
        if phrase.column not in ("", column):
            continue
        if any(phrase.tokens[:size] == phrase.tokens[-size:] for size in range(1, len(phrase.tokens))):  # may overlap
            counts[place] = f"regexp_count(w.{column}, ?)"
            count_values.append(f"(?={re.escape(text)})")
        else:
            counts[place] = f"(length(w.{column}) - length(replace(w.{column}, ?, ''))) / ?"
            count_values += [text, len(text)]
    sql = (
        f"SELECT * FROM (SELECT w.id AS rowid, {counts[0]} AS a, {counts[1]} AS b, {counts[2]} AS c"
        f" FROM {table} w WHERE w.id IN ({' INTERSECT '.join(sets)})) counted WHERE a + b + c > 0"
    )
    return sql, [*count_values, *values]


# --- the connection, which takes SQL in SQLite's dialect

_MARKS = re.compile(
    r"(SELECT value FROM )?json_each\(\?\)( j\b)?|GLOB \?|\?|%"
    r"| INDEXED BY \w+|\binstr\(|\bchar\(|CROSS JOIN (\w+ \w+ ON)"
)
_NUMBERS = re.compile(r"(?:\b(?:id|note|chunk)\b =|>=) j\.value")


@lru_cache(maxsize=512)
def translated(sql: str) -> tuple[str, tuple[str, ...]]:
    """Translate the SQL of shared queries from SQLite's dialect to PostgreSQL's.

    Only what they use is translated: question marks, lists given as JSON, patterns of paths, and four words of
    SQLite's own.

    Returns:
        The SQL, and the kind of each of its values: numbers, texts, pattern, or '' for others.
    """
    numbers = "= j.value" not in sql or _NUMBERS.search(sql) is not None
    kinds: list[str] = []

    def replace(match: re.Match[str]) -> str:
        text = match[0]
        if "json_each" in text:
            # A list inside IN always contains numbers, whatever the rest of the query is about.
            inner = match[1] is not None
            kinds.append("numbers" if inner or numbers else "texts")
            select = "SELECT j.value FROM " if inner else ""
            return f"{select}unnest(%s::{'bigint' if inner or numbers else 'text'}[]) AS j(value)"
        if text == "?" or text == "GLOB ?":
            kinds.append("pattern" if text != "?" else "")
            return "%s" if text == "?" else "~ %s"
        if match[3]:
            return f"JOIN {match[3]}"
        return {"%": "%%", "instr(": "strpos(", "char(": "chr("}.get(text, "")

    return _MARKS.sub(replace, sql), tuple(kinds)


def pattern(glob: str) -> str:
    """Return a regular expression for the whole text that is equivalent to a pattern of SQLite's GLOB."""
    out, at = [], 0
    while at < len(glob):
        character, end = glob[at], -1
        if character == "[":
            end = glob.find("]", at + 2)
        if end > 0:
            inside = glob[at + 1 : end]
            negated = "^" if inside.startswith("^") else ""
            out.append("[" + negated + re.sub(r"([\\\[\]^])", r"\\\1", inside[len(negated) :]) + "]")
            at = end
        else:
            out.append({"*": ".*", "?": "."}.get(character) or re.escape(character))
        at += 1
    return f"^(?:{''.join(out)})$"


class Connection:
    """A connection to PostgreSQL for shared queries, which expect one to SQLite."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.postgres = connection

    def execute(self, sql: str, values: Iterable[Any] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run SQL in SQLite's dialect."""
        translation, kinds = translated(sql)
        converted = [_converted(value, kind) for value, kind in zip(values, kinds, strict=True)]
        return self.postgres.execute(translation, converted)


def _converted(value: Any, kind: str) -> Any:
    """Convert a value for PostgreSQL; ``kind`` as :func:`translated` gives it."""
    if kind in ("numbers", "texts"):
        return [_converted(item, "") for item in json.loads(value)]
    if isinstance(value, str):
        value = fulltext.clean(value)
    return pattern(value) if kind == "pattern" else value


def vector_text(vector: bytes) -> str:
    """Return a float32 vector in pgvector's text format, exact to the last bit."""
    return f"[{','.join(map(repr, vectors.floats(vector)))}]"


class PostgresReader(reader.IndexReader):
    """Reads a team's index within one transaction, which sees the index as it was at the start.

    Args:
        connection: inside a transaction, with the schema of the index in its search path.
    """

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._team = Connection(connection)
        super().__init__(self._team, Path())  # type: ignore[arg-type]

    @property
    def backend(self) -> int:
        """Process id of the server process that answers."""
        return self._team.postgres.info.backend_pid

    def size(self) -> int:
        """Return the size of the index in the database, in bytes."""
        sql = (
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
            " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
        )
        return int(self._team.execute(sql).fetchall()[0][0])

    def count(self, table: str) -> int:
        """Return the number of rows of a table; a WHERE clause may follow its name."""
        return int(self._team.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    # --- words

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """Return stem → number of chunks that contain it; a stem is a word as the tokenizer stores it."""
        found = dict.fromkeys(stems, 0)
        found.update(self._row_counts("chunk_words", list(found)))
        return found

    def words_with(self, beginning: str) -> dict[str, int]:
        """Return the stems with a beginning, each with the number of chunks, in all scopes, that contain it."""
        sql = "SELECT p.term, sum(p.held)::int FROM chunk_words_at p WHERE p.term >= ? AND p.term < ? GROUP BY p.term"
        return dict(self._team.execute(sql, (beginning, f"{beginning}\U0010ffff")).fetchall())

    def _row_counts(self, table: str, terms: list[str]) -> dict[str, int]:
        """Return word → number of rows that contain it, for the words that occur."""
        sql = (
            f"SELECT p.term, sum(p.held)::int FROM json_each(?) j JOIN {table}_at p ON p.term = j.value GROUP BY p.term"
        )
        return dict(self.listed(sql, dict.fromkeys(terms)))

    def _held_where(self, condition: str, words: Mapping[str, str]) -> set[str]:
        sql = (
            "SELECT j.value FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM chunk_words_at p, unnest(p.packed) x"
            f" JOIN chunks c ON c.id = (x >> {PACKED[0]})::int WHERE p.term = j.value AND {condition})"
        )
        return {root for (root,) in self.listed(sql, words)}

    def chunk_count(self) -> int:
        """Return the number of chunks, in all scopes."""
        return self._total("chunk_words")[0]

    def _total(self, table: str) -> tuple[int, int]:
        """Return the numbers of rows and words of a full-text table."""
        row = self._team.execute("SELECT held, length FROM totals WHERE name = ?", (table,)).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    matching = staticmethod(rows_of)

    def _ranked(self, table: str, expression: str, within: fulltext.Filter, k: int) -> list[tuple[int, float]]:
        """Return the k best rows as (row, BM25).

        If there are many occurrences, only the rarest words select rows, and the other words only add to their scores.
        Enough words select rows that a row with only the others can't be among the k best: a word adds at most its idf
        times K1 + 1 to a score.
        """
        full_text = fulltext.TABLES[table]
        groups = parsed(expression, full_text.tokenizer)
        rows, length = self._total(table)
        phrases = [phrase for group in groups for phrase in group if phrase.tokens]
        terms = [phrase.tokens[0] for phrase in phrases if _is_word(phrase)]
        row_counts = self._row_counts(table, terms) if terms else {}
        terms = [term for term in terms if term in row_counts]
        conditions, values = self._conditions(within, notes=full_text.rows == "notes")
        if any(len(group) > 1 for group in groups):
            inside, inside_values = rows_of(table, expression)
            conditions, values = [f"c.id IN ({inside})", *conditions], [*inside_values, *values]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        part = f"h.idf * h.f * {K1 + 1} / (h.f + {K1} * ({1 - B} + {B} * c.{full_text.length} / ?::float8))"

        def best(hits: list[_Hits], limit: int) -> dict[int, int]:
            """Return row → score of the best rows among the hits."""
            if not hits or not rows:
                return {}
            found = self._team.execute(
                f"SELECT h.id, sum(({part} * {EXACT})::bigint)::bigint score"
                f" FROM ({' UNION ALL '.join(sql for sql, _ in hits)}) h(id, idf, f)"
                f" JOIN {full_text.rows} c ON c.id = h.id{where} GROUP BY h.id ORDER BY score DESC, h.id LIMIT ?",
                (length / rows, *(value for _, hit_values in hits for value in hit_values), *values, limit),
            )
            return {int(row): int(score) for row, score in found}

        def words(terms: list[str], among: list[int] | None = None) -> list[_Hits]:
            return [_hits(table, terms, [_idf(rows, row_counts[term]) for term in terms], among)] if terms else []

        others = [_phrase_hits(table, phrase, rows) for phrase in phrases if not _is_word(phrase)]
        terms.sort(key=lambda term: (row_counts[term], term))

        def selected_by(rare: int) -> dict[int, int]:
            """Return row → score of the rows that the ``rare`` rarest words select, scored by all words."""
            hits = [*words(terms[:rare]), *others]
            if rare == len(terms):
                return best(hits, k)
            found = best(hits, COMPLETED * k)
            for row, score in best(words(terms[rare:], list(found)), len(found)).items():
                found[row] += score
            return found

        rare = _rarest([row_counts[term] for term in terms], k)
        found = selected_by(rare)
        needed = len(terms)  # the rarest words may select too few rows that pass the filter
        if len(found) >= k:
            kth_best = sorted(found.values())[-k]
            bounds = [EXACT * (K1 + 1) * _idf(rows, row_counts[term]) for term in terms]
            needed = next(count for count in range(len(terms) + 1) if sum(bounds[count:]) <= kth_best)
        if needed > rare:
            found = selected_by(needed)
        first = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        return [(row, score / EXACT) for row, score in first]

    # --- vectors

    def nearest(self, vector: bytes, within: fulltext.Filter, k: int) -> list[tuple[int, float]]:
        """Return the k chunks nearest to a query vector (float32, little-endian) as (chunk, cosine), best first.

        All chunks are compared one by one; if there are many, only those that a graph of the signs of the vectors'
        numbers finds to be the nearest.
        """
        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return []
        conditions, values = self._conditions(within)
        narrowed = f" JOIN chunks c ON c.id = v.chunk WHERE {' AND '.join(conditions)}" if conditions else ""
        query = vector_text(vector)
        rows = f"SELECT v.chunk, v.vector FROM vectors v{narrowed}"
        found: list[tuple[int, float]] = []
        if GRAPH in self.meta and self._are_many(conditions, values):
            bits = f"bit({self.dimension})"
            near = f"{rows} ORDER BY binary_quantize(v.vector)::{bits} <~> binary_quantize(?::vector)::{bits} LIMIT ?"
            first = max(k + vectors.TIES, vectors.SHORTLIST)
            self._team.execute(  # in this transaction, it is followed until enough neighbours pass the filter
                "SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
                " set_config('hnsw.ef_search', ?, true), set_config('hnsw.max_scan_tuples', ?, true)",
                (str(vectors.SHORTLIST), str(TUPLES)),
            )
            found = self._compared(near, query, [*values, query, first], k)
        if len(found) < k + vectors.TIES:  # too few of those that the graph visited pass the filter
            found = self._compared(rows, query, values, k)
        length = math.sqrt(math.fsum(number * number for number in vectors.floats(vector)))
        return vectors.nearest(((chunk, product / length) for chunk, product in found), k)

    def _are_many(self, conditions: list[str], values: list[Any]) -> bool:
        """Whether so many chunks pass the filter that comparing them one by one is slower."""
        if not conditions:
            return self.chunk_count() >= vectors.MANY
        passing = f"SELECT 1 FROM chunks c WHERE {' AND '.join(conditions)} LIMIT ?"
        row = self._team.execute(f"SELECT count(*) FROM ({passing}) s", (*values, vectors.MANY)).fetchone()
        return row is not None and int(row[0]) >= vectors.MANY

    def _compared(self, rows: str, vector: str, values: list[Any], k: int) -> list[tuple[int, float]]:
        """Return the k nearest of (chunk, vector) rows, and some more in case of ties, as (chunk, inner product)."""
        sql = f"SELECT v.chunk, v.vector <#> ?::vector FROM ({rows}) v ORDER BY 2, 1 LIMIT ?"
        found = self._team.execute(sql, (vector, *values, k + vectors.TIES)).fetchall()
        return [(int(chunk), -float(product)) for chunk, product in found]

    def cosines(self, vector: bytes, chunks: Iterable[int]) -> dict[int, float]:
        """Return chunk → cosine with a query vector, for those of the chunks that have a vector."""
        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return {}
        sql = "SELECT v.chunk, 1 - (v.vector <=> ?::vector) FROM json_each(?) j JOIN vectors v ON v.chunk = j.value"
        rows = self._team.execute(sql, (vector_text(vector), json.dumps(list(chunks))))
        return {int(chunk): float(cosine) for chunk, cosine in rows}

    def _attach(self) -> bool:
        return bool(self.dimension)

    def _cached(self, column: str, ids: Iterable[int]) -> list[tuple[int, bytes]]:
        sql = f"SELECT v.chunk, {column} FROM json_each(?) j JOIN vectors v ON v.chunk = j.value"
        return self.listed(sql, ids)


def _is_word(phrase: TokenPhrase) -> bool:
    """Whether a phrase is one whole word, in any column."""
    return len(phrase.tokens) == 1 and not phrase.prefix and not phrase.column


def _rarest(row_counts: Sequence[int], k: int) -> int:
    """Return how many words, the rarest first, select rows.

    As many as have up to :data:`POSTINGS` occurrences together, and enough to select k rows.

    Args:
        row_counts: the number of rows that contain each word, in ascending order.
        k: number of rows wanted.
    """
    occurrences = 0
    for words, row_count in enumerate(row_counts):
        if occurrences >= k and occurrences + row_count > POSTINGS:
            return words
        occurrences += row_count
    return len(row_counts)


def _hits(table: str, terms: list[str], idfs: list[float], among: list[int] | None) -> _Hits:
    """Return SQL for (id, idf, f) of each row, or of each row in ``among``, and each of the words that it contains."""
    frequency = " + ".join(f"(x >> {shift} & {limit})" for shift, limit in zip(PACKED[1:], MAX_COUNTS, strict=True))
    blocks = sorted({row // BLOCK for row in among or ()})
    in_blocks = "" if among is None else " AND p.block = ANY(?::int[])"
    # A join, not a comparison with a list: a prepared statement would compare each row with the whole list.
    in_rows = "" if among is None else f" JOIN unnest(?::int[]) m(id) ON m.id = (x >> {PACKED[0]})::int"
    sql = (
        f"SELECT (x >> {PACKED[0]})::int AS id, idf, {frequency} AS f FROM"
        " (SELECT q.idf, unnest(p.packed) x FROM (SELECT unnest(?::text[]) term, unnest(?::float8[]) idf) q"
        f" JOIN {table}_at p ON p.term = q.term{in_blocks}) o{in_rows}"
    )
    return sql, [terms, idfs, *([] if among is None else [blocks, among])]


def _phrase_hits(table: str, phrase: TokenPhrase, rows: int) -> _Hits:
    """Return SQL for (id, idf, f) of each row with a phrase, with a word with a prefix, or with a word in one column.

    The server counts the rows, which gives the idf, without sending them: a prefix may match every row.
    """
    counted, values = phrase_rows(table, phrase)
    sql = (
        f"SELECT rowid, greatest(ln((?::float8 - n + 0.5) / (n + 0.5)), {MIN_IDF}), a + b + c"
        f" FROM (SELECT f.*, count(*) OVER () n FROM ({counted}) f) g"
    )
    return sql, [rows, *values]


def _idf(rows: int, row_count: int) -> float:
    """Return FTS5's weight of a word that ``row_count`` of all rows contain."""
    return max(math.log((rows - row_count + 0.5) / (row_count + 0.5)), MIN_IDF)
