"""What recall asks of a team's index in PostgreSQL: the same questions as of a file, the same SQL where both speak it.

What FTS5 and sqlite-vec do by themselves is asked of tables here. A text is taken apart by FTS5's own tokenizers, in
memory, so that both engines know the same words. Of each word, PostgreSQL has where it stands and how often, in blocks
of neighbouring rows, each occurrence one number (:data:`PACKED`); BM25 is computed in SQL by the formula and the
constants of FTS5, for PostgreSQL's own ``ts_rank`` doesn't know how rare a word is.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.index import database, fulltext, vectors
from tars_memory.index.reader import IndexReader

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    import psycopg

    from tars_memory.index.fulltext import Filter

K1, B = 1.2, 0.75
"""The constants of FTS5's bm25()."""
LEAST_IDF = 1e-6
"""FTS5's weight of a word that stands in more than half of all rows."""
EXACT = 1e12
"""Scores are added up as whole numbers of so many to one: in any order, the sum is the same."""
BLOCK = 4096
"""Rows whose occurrences of one word stand in one block."""
PACKED = (32, 24, 16, 0)
"""By how many bits the parts of an occurrence are moved: number of the row, then how often in each of three columns."""
MOST = (255, 255, 65_535)
"""What is counted of a word at most in each of them."""


POSTINGS = 100_000
"""Occurrences from which on a question's rarest words alone name rows, and the others only count for these, if no row
without them can be among the best. Measured in docs/development/ranking.md."""
COMPLETED = 10
"""For each row that is wanted so many are named by the rarest words before the others are counted."""
TUPLES = 20_000
"""Neighbours that the graph is asked for one after the other until enough pass the filter; pgvector's own measure."""
GRAPH = "graph"
"""What :attr:`PostgresReader.meta` holds where a graph of neighbours (HNSW) was made."""


_Hits = tuple[str, list[Any]]
"""SQL for rows, and the values of its question marks."""


class Table(NamedTuple):
    """A full-text table.

    Attributes:
        rows: the table of what is found.
        length: the column of ``rows`` with the number of words.
        columns: with the tokens, each by its place among the three of an occurrence.
        tokenizer: that FTS5 is given.
    """

    rows: str
    length: str
    columns: dict[str, int]
    tokenizer: str


TABLES = {
    "chunk_words": Table("chunks", "words", {"head": 0, "text": 2}, database.WORDS),
    "note_words": Table("notes", "words", {"head": 0, "about": 1, "body": 2}, database.WORDS),
    "chunk_signs": Table("chunks", "signs", {"signs": 2}, database.SIGNS),
}


def tokens(texts: Sequence[str], tokenizer: str) -> list[list[str]]:
    """What FTS5 makes of texts, in order."""
    connection = database.driver().module.connect(":memory:")
    try:
        connection.executescript(
            f'CREATE VIRTUAL TABLE t USING fts5 (x, content = "", tokenize = "{tokenizer}");'
            "CREATE VIRTUAL TABLE v USING fts5vocab (t, instance);"
        )
        connection.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
        found: list[list[str]] = [[] for _ in texts]
        for row, term in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            found[row].append(term)
    finally:
        connection.close()
    return found


def spelled(words: Sequence[str]) -> str:
    """Tokens as one text in which a phrase is found: each with a blank on either side."""
    return "".join(f" {word} " for word in words)


# --- expressions


class TokenPhrase(NamedTuple):
    """Tokens in a row; ``prefix`` says that the last one is only the beginning of a word."""

    tokens: tuple[str, ...]
    prefix: bool
    column: str


class JoinedPhrases(NamedTuple):
    """Expressions joined by OR or AND."""

    sign: str
    parts: tuple[JoinedPhrases | TokenPhrase, ...]


_PART = re.compile(r'"(?P<said>(?:[^"]|"")*)"(?P<prefix> \*)?|(?P<column>\w+) : |(?P<sign>OR|AND|[()])|\s+')
_SIGNS = ("OR", "AND")
"""From the one that binds least, as in FTS5."""


@lru_cache(maxsize=256)
def parsed(expression: str, tokenizer: str) -> JoinedPhrases | TokenPhrase:
    """An expression as :mod:`fulltext` writes it, taken apart.

    Raises:
        ValueError: it is none.
    """
    found = list(_PART.finditer(expression))
    if sum(len(each[0]) for each in found) != len(expression):
        raise ValueError(f"not an expression: {expression[:80]!r}")
    words = iter(tokens([each["said"].replace('""', '"') for each in found if each["said"] is not None], tokenizer))
    parts: list[str | TokenPhrase] = []
    column = ""
    for each in found:
        if each["said"] is not None:
            parts.append(TokenPhrase(tuple(next(words)), each["prefix"] is not None, column))
        elif each["sign"]:
            parts.append(each["sign"])
        column = each["column"] or ""
    parts.reverse()
    whole = _joined(parts, 0)
    if parts:
        raise ValueError(f"not an expression: {expression[:80]!r}")
    return whole


def _joined(parts: list[str | TokenPhrase], depth: int) -> JoinedPhrases | TokenPhrase:
    """Take what one sign, or one that binds more, joins from the end of the parts."""
    if depth == len(_SIGNS):
        one = parts.pop() if parts else ""
        if one == "(":
            inside = _joined(parts, 0)
            one = inside if parts and parts.pop() == ")" else ""  # type: ignore[assignment]
        if isinstance(one, str):
            raise ValueError("not an expression")
        return one
    found = [_joined(parts, depth + 1)]
    while parts and parts[-1] == _SIGNS[depth]:
        parts.pop()
        found.append(_joined(parts, depth + 1))
    return found[0] if len(found) == 1 else JoinedPhrases(_SIGNS[depth], tuple(found))


_SETS = {"OR": " UNION ", "AND": " INTERSECT "}


def _phrases(node: JoinedPhrases | TokenPhrase) -> Iterator[TokenPhrase]:
    """The phrases that an expression is made of."""
    if isinstance(node, TokenPhrase):
        if node.tokens:
            yield node
        return
    for part in node.parts:
        yield from _phrases(part)


def _is_plain(node: JoinedPhrases | TokenPhrase) -> bool:
    """Whether whatever holds any of the phrases is found."""
    return isinstance(node, TokenPhrase) or (node.sign == "OR" and all(map(_is_plain, node.parts)))


def rows_of(table: str, node: JoinedPhrases | TokenPhrase) -> tuple[str, list[Any]]:
    """SQL for the numbers of the rows that an expression finds, and the values of its question marks."""
    if isinstance(node, TokenPhrase):
        if not node.tokens:
            return "SELECT 0 AS rowid WHERE false", []
        if len(node.tokens) == 1:
            where, values = _word(node.tokens[0], prefix=node.prefix)
            inside = ""
            if node.column:
                shift = PACKED[1 + TABLES[table].columns[node.column]]
                inside = f" WHERE x >> {shift} & {MOST[TABLES[table].columns[node.column]]} > 0"
            occurrences = f"SELECT unnest(p.packed) x FROM {table}_at p WHERE {where}"
            return f"SELECT (x >> {PACKED[0]})::int AS rowid FROM ({occurrences}) o{inside}", values
        counted, values = phrase_rows(table, node)
        return f"SELECT rowid FROM ({counted}) f", values
    parts = [rows_of(table, part) for part in node.parts]
    sql = _SETS[node.sign].join(f"(SELECT rowid FROM ({part}) s)" for part, _ in parts)
    return f"SELECT rowid FROM ({sql}) u", [value for _, values in parts for value in values]


def _word(token: str, *, prefix: bool) -> tuple[str, list[Any]]:
    """The condition that a row of occurrences is of a word, or of one that begins so."""
    return ("p.term >= ? AND p.term < ?", [token, f"{token}\U0010ffff"]) if prefix else ("p.term = ?", [token])


def phrase_rows(table: str, phrase: TokenPhrase) -> tuple[str, list[Any]]:
    """SQL for the rows that hold a phrase of several tokens: rowid, and how often in each of three columns."""
    sets: list[str] = []
    values: list[Any] = []
    for at, token in enumerate(phrase.tokens):
        prefix = phrase.prefix and at == len(phrase.tokens) - 1
        where, given = _word(token, prefix=prefix)
        sets.append(f"SELECT (unnest(p.packed) >> {PACKED[0]})::int FROM {table}_at p WHERE {where}")
        values += given
    text = spelled(phrase.tokens).removesuffix(" " if phrase.prefix else "")
    counts = ["0", "0", "0"]
    asked: list[Any] = []
    for column, place in sorted(TABLES[table].columns.items(), key=lambda pair: pair[1]):
        if phrase.column not in ("", column):
            continue
        if _overlaps(phrase.tokens):
            counts[place] = f"regexp_count(w.{column}, ?)"
            asked.append(f"(?={re.escape(text)})")
        else:
            counts[place] = f"(length(w.{column}) - length(replace(w.{column}, ?, ''))) / ?"
            asked += [text, len(text)]
    inside = " INTERSECT ".join(f"({one})" for one in sets)
    sql = (
        f"SELECT * FROM (SELECT w.id AS rowid, {counts[0]} AS a, {counts[1]} AS b, {counts[2]} AS c"
        f" FROM {table} w WHERE w.id IN ({inside})) counted WHERE a + b + c > 0"
    )
    return sql, [*asked, *values]


def _overlaps(words: tuple[str, ...]) -> bool:
    """Whether a phrase may begin again before it ends."""
    return any(words[:size] == words[-size:] for size in range(1, len(words)))


# --- the connection, for what speaks both dialects

_MARKS = re.compile(
    r"(SELECT value FROM )?json_each\(\?\)( j\b)?|GLOB \?|\?|%"
    r"| INDEXED BY \w+|\binstr\(|\bchar\(|CROSS JOIN (\w+ \w+ ON)"
)
_NUMBERS = re.compile(r"(?:\b(?:id|note|chunk)\b =|>=) j\.value")


class _Spoken(NamedTuple):
    """SQL as PostgreSQL takes it, and what becomes of each value."""

    sql: str
    kinds: tuple[str, ...]


@lru_cache(maxsize=512)
def spoken(sql: str) -> _Spoken:
    """SQL of the shared questions, which SQLite speaks, as PostgreSQL does.

    Translated is what they need and no more: question marks, lists that are given as JSON, patterns of paths, and four
    words of SQLite's own.
    """
    numbers = "= j.value" not in sql or _NUMBERS.search(sql) is not None
    kinds: list[str] = []

    def said(found: re.Match[str]) -> str:
        text = found[0]
        if "json_each" in text:
            # A list inside IN is always one of numbers, whatever the rest of the question is about.
            inner = found[1] is not None
            kinds.append("numbers" if inner or numbers else "texts")
            begin = "SELECT j.value FROM " if inner else ""
            return f"{begin}unnest(%s::{'bigint' if inner or numbers else 'text'}[]) AS j(value)"
        if text == "?" or text == "GLOB ?":
            kinds.append("pattern" if text != "?" else "")
            return "%s" if text == "?" else "~ %s"
        if found[3]:
            return f"JOIN {found[3]}"
        return {"%": "%%", "instr(": "strpos(", "char(": "chr("}.get(text, "")

    return _Spoken(_MARKS.sub(said, sql), tuple(kinds))


def pattern(glob: str) -> str:
    """A pattern of SQLite's GLOB as a regular expression of the whole text."""
    out, at = [], 0
    while at < len(glob):
        sign, end = glob[at], -1
        if sign == "[":
            end = glob.find("]", at + 2)
        if end > 0:
            inside = glob[at + 1 : end]
            negated = "^" if inside.startswith("^") else ""
            out.append("[" + negated + re.sub(r"([\\\[\]^])", r"\\\1", inside[len(negated) :]) + "]")
            at = end
        else:
            out.append({"*": ".*", "?": "."}.get(sign) or re.escape(sign))
        at += 1
    return f"^(?:{''.join(out)})$"


class Connection:
    """Stands where the shared questions expect a connection to SQLite."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.postgres = connection

    def execute(self, sql: str, values: Iterable[Any] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Ask a question that SQLite would understand."""
        said = spoken(sql)
        given = [_given(value, kind) for value, kind in zip(values, said.kinds, strict=True)]
        return self.postgres.execute(said.sql, given)


def _given(value: Any, kind: str) -> Any:
    if kind in ("numbers", "texts"):
        return [_given(one, "") for one in json.loads(value)]
    if isinstance(value, str):
        value = fulltext.clean(value)
    return pattern(value) if kind == "pattern" else value


def vector_text(vector: bytes) -> str:
    """A float32 vector as pgvector reads it, to the last bit."""
    return f"[{','.join(map(repr, vectors.floats(vector)))}]"


class PostgresReader(IndexReader):
    """Reads a team's index within one transaction, which sees it as it was when it began.

    Args:
        connection: inside a transaction, with the schema of the index in its search path.
    """

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._team = Connection(connection)
        self._connection: sqlite3.Connection = self._team  # type: ignore[assignment]
        self._ended_on = (None, frozenset())
        rows = self._team.execute("SELECT id, name, '' FROM scopes UNION ALL SELECT NULL, key, value FROM meta")
        self.meta: dict[str, str] = {}
        self._scopes = {}
        for key, name, value in rows.fetchall():
            if key is None:
                self.meta[name] = value
            else:
                self._scopes[name] = key
        self._scope_names = {key: name for name, key in self._scopes.items()}
        self.fingerprint = self.meta.get("model")
        self.dimension = int(self.meta.get("dimension", 0))

    @property
    def backend(self) -> int:
        """The number of the server's process that answers."""
        return self._team.postgres.info.backend_pid

    def weight(self) -> int:
        """What the index takes in the database."""
        sql = (
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
            " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
        )
        return int(self._team.execute(sql).fetchall()[0][0])

    def counted(self, table: str) -> int:
        """How many rows a table has."""
        return int(self._team.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    # --- words

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """In how many chunks each stem occurs; a stem is what the tokenizer makes of a word."""
        found = dict.fromkeys(stems, 0)
        found.update(self._held_by("chunk_words", list(found)))
        return found

    def _held_by(self, table: str, terms: list[str]) -> dict[str, int]:
        """In how many rows each word stands."""
        sql = (
            f"SELECT p.term, sum(p.held)::int FROM json_each(?) j JOIN {table}_at p ON p.term = j.value GROUP BY p.term"
        )
        return dict(self._team.execute(sql, (json.dumps(list(dict.fromkeys(terms))),)).fetchall())

    def chunk_count(self) -> int:
        """How many chunks there are, in all scopes."""
        return self._total("chunk_words")[0]

    def _total(self, table: str) -> tuple[int, int]:
        """Rows and words of a full-text table."""
        row = self._team.execute("SELECT held, length FROM totals WHERE name = ?", (table,)).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def _matching(self, table: str, expression: str) -> tuple[str, list[Any]]:
        return rows_of(table, parsed(expression, TABLES[table].tokenizer))

    def _ranked(self, table: str, expression: str, within: Filter, k: int) -> list[tuple[int, float]]:
        """The k best rows; of many occurrences those of the rarest words name the rows, the others count for these.

        As many words name rows as it takes that what only the others hold can't be among the k best: no row has more of
        a word than its idf, K1 + 1 times.
        """
        of = TABLES[table]
        node = parsed(expression, of.tokenizer)
        rows, length = self._total(table)
        phrases = list(_phrases(node))
        terms = [phrase.tokens[0] for phrase in phrases if _is_word(phrase)]
        held = self._held_by(table, terms) if terms else {}
        terms = [term for term in terms if term in held]
        conditions, values = self._conditions(within, notes=of.rows == "notes")
        if not _is_plain(node):
            inside, given = rows_of(table, node)
            conditions, values = [f"c.id IN ({inside})", *conditions], [*given, *values]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        part = f"h.idf * h.f * {K1 + 1} / (h.f + {K1} * ({1 - B} + {B} * c.{of.length} / ?::float8))"

        def best(hits: list[_Hits], most: int) -> dict[int, int]:
            if not hits or not rows:
                return {}
            found = self._team.execute(
                f"SELECT h.id, sum(({part} * {EXACT})::bigint)::bigint score"
                f" FROM ({' UNION ALL '.join(sql for sql, _ in hits)}) h(id, idf, f)"
                f" JOIN {of.rows} c ON c.id = h.id{where} GROUP BY h.id ORDER BY score DESC, h.id LIMIT ?",
                (length / rows, *(value for _, some in hits for value in some), *values, most),
            )
            return {int(row): int(score) for row, score in found}

        def words(terms: list[str], among: list[int] | None = None) -> list[_Hits]:
            return [_hits(table, terms, [_idf(rows, held[term]) for term in terms], among)] if terms else []

        others = [_phrase_hits(table, phrase, rows) for phrase in phrases if not _is_word(phrase)]
        terms.sort(key=lambda term: (held[term], term))

        def named_by(rare: int) -> dict[int, int]:
            """The rows that so many of the rarest words name, with what the others are worth in them."""
            hits = [*words(terms[:rare]), *others]
            if rare == len(terms):
                return best(hits, k)
            found = best(hits, COMPLETED * k)
            for row, score in best(words(terms[rare:], list(found)), len(found)).items():
                found[row] += score
            return found

        rare = _rarest([held[term] for term in terms], k)
        found = named_by(rare)
        needed = len(terms)  # within the filter the rarest words may be too few
        if len(found) >= k:
            least = sorted(found.values())[-k]
            most = [EXACT * (K1 + 1) * _idf(rows, held[term]) for term in terms]
            needed = next(count for count in range(len(terms) + 1) if sum(most[count:]) <= least)
        if needed > rare:
            found = named_by(needed)
        first = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        return [(row, score / EXACT) for row, score in first]

    # --- vectors

    def nearest(self, vector: bytes, within: Filter, k: int) -> list[tuple[int, float]]:
        """The k chunks nearest to a query vector (float32, little-endian) as (chunk, cosine), best first.

        Compared one by one; of many, those that a graph of the signs of their numbers names as the nearest.
        """
        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return []
        conditions, values = self._conditions(within)
        narrowed = f" JOIN chunks c ON c.id = v.chunk WHERE {' AND '.join(conditions)}" if conditions else ""
        asked = vector_text(vector)
        rows = f"SELECT v.chunk, v.vector FROM vectors v{narrowed}"
        found: list[tuple[int, float]] = []
        if GRAPH in self.meta and self._are_many(conditions, values):
            bits = f"bit({self.dimension})"
            near = f"{rows} ORDER BY binary_quantize(v.vector)::{bits} <~> binary_quantize(?::vector)::{bits} LIMIT ?"
            first = max(k + vectors.TIES, vectors.SHORTLIST)
            self._follow_graph()
            found = self._compared(near, asked, [*values, asked, first], k)
        if len(found) < k + vectors.TIES:  # of so many as were looked at too few passed
            found = self._compared(rows, asked, values, k)
        length = math.sqrt(math.fsum(number * number for number in vectors.floats(vector)))
        return vectors.nearest(((chunk, product / length) for chunk, product in found), k)

    def _follow_graph(self) -> None:
        """How far the graph is followed in this transaction: until enough of what it names passes the filter."""
        self._team.execute(
            "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', ?, true),"
            " set_config('hnsw.max_scan_tuples', ?, true)",
            (str(vectors.SHORTLIST), str(TUPLES)),
        )

    def _are_many(self, conditions: list[str], values: list[Any]) -> bool:
        """Whether so many chunks pass that comparing them one by one is the longer way."""
        if not conditions:
            return self.chunk_count() >= vectors.MANY
        some = f"SELECT 1 FROM chunks c WHERE {' AND '.join(conditions)} LIMIT ?"
        row = self._team.execute(f"SELECT count(*) FROM ({some}) s", (*values, vectors.MANY)).fetchone()
        return row is not None and int(row[0]) >= vectors.MANY

    def _compared(self, rows: str, vector: str, values: list[Any], k: int) -> list[tuple[int, float]]:
        """Of (chunk, vector) rows the k nearest, and some more that may be as near, as (chunk, inner product)."""
        sql = f"SELECT v.chunk, v.vector <#> ?::vector FROM ({rows}) v ORDER BY 2, 1 LIMIT ?"
        found = self._team.execute(sql, (vector, *values, k + vectors.TIES)).fetchall()
        return [(int(chunk), -float(product)) for chunk, product in found]

    def cosines(self, vector: bytes, chunks: Iterable[int]) -> dict[int, float]:
        """Cosine of a query vector to each of these chunks; chunks without a vector are left out."""
        if not self.dimension or not vectors.is_usable(vector, self.dimension):
            return {}
        sql = "SELECT v.chunk, 1 - (v.vector <=> ?::vector) FROM json_each(?) j JOIN vectors v ON v.chunk = j.value"
        rows = self._team.execute(sql, (vector_text(vector), json.dumps(list(chunks))))
        return {int(chunk): float(cosine) for chunk, cosine in rows}

    def _attach(self) -> bool:
        return bool(self.dimension)

    def _cached(self, column: str, ids: Iterable[int]) -> list[tuple[int, bytes]]:
        sql = f"SELECT v.chunk, {column} FROM json_each(?) j JOIN vectors v ON v.chunk = j.value"
        return self._team.execute(sql, (json.dumps(list(ids)),)).fetchall()


def _is_word(phrase: TokenPhrase) -> bool:
    """Whether it is one whole word, in any column."""
    return len(phrase.tokens) == 1 and not phrase.prefix and not phrase.column


def _rarest(held: Sequence[int], k: int) -> int:
    """How many words name rows, of these many occurrences, the rarest first: up to :data:`POSTINGS` of them, and until
    they may name k rows.
    """
    occurrences = 0
    for count, some in enumerate(held):
        if occurrences >= k and occurrences + some > POSTINGS:
            return count
        occurrences += some
    return len(held)


def _hits(table: str, terms: list[str], idfs: list[float], among: list[int] | None) -> _Hits:
    """SQL for (id, idf, f) of every row, or of every one of some, that holds one of the words, a row for each word."""
    often = " + ".join(f"(x >> {shift} & {most})" for shift, most in zip(PACKED[1:], MOST, strict=True))
    blocks = sorted({row // BLOCK for row in among or ()})
    within = "" if among is None else " AND p.block = ANY(?::int[])"
    # Joined, not compared with a list: once a statement is prepared, each would be compared with all of the list.
    these = "" if among is None else f" JOIN unnest(?::int[]) m(id) ON m.id = (x >> {PACKED[0]})::int"
    sql = (
        f"SELECT (x >> {PACKED[0]})::int AS id, idf, {often} AS f FROM"
        " (SELECT q.idf, unnest(p.packed) x FROM (SELECT unnest(?::text[]) term, unnest(?::float8[]) idf) q"
        f" JOIN {table}_at p ON p.term = q.term{within}) o{these}"
    )
    return sql, [terms, idfs, *([] if among is None else [blocks, among])]


def _phrase_hits(table: str, phrase: TokenPhrase, rows: int) -> _Hits:
    """SQL for (id, idf, f) of every row that holds a phrase, or a word that begins so or stands in one column.

    All stays with the server, which counts them first: the beginning of a word may stand in every row.
    """
    if len(phrase.tokens) > 1:
        counted, values = phrase_rows(table, phrase)
    else:
        where, values = _word(phrase.tokens[0], prefix=phrase.prefix)
        a, b, c = (f"sum(x >> {shift} & {most})::int" for shift, most in zip(PACKED[1:], MOST, strict=True))
        counted = (
            f"SELECT (x >> {PACKED[0]})::int AS rowid, {a} AS a, {b} AS b, {c} AS c"
            f" FROM (SELECT unnest(p.packed) x FROM {table}_at p WHERE {where}) o GROUP BY 1"
        )
        if phrase.column:
            counted = f"SELECT * FROM ({counted}) o WHERE {'abc'[TABLES[table].columns[phrase.column]]} > 0"
    sql = (
        f"SELECT rowid, greatest(ln((?::float8 - n + 0.5) / (n + 0.5)), {LEAST_IDF}), a + b + c"
        f" FROM (SELECT f.*, count(*) OVER () n FROM ({counted}) f) g"
    )
    return sql, [rows, *values]


def _idf(rows: int, held: int) -> float:
    """FTS5's weight of a word that stands in so many of all rows."""
    return max(math.log((rows - held + 0.5) / (held + 0.5)), LEAST_IDF)
