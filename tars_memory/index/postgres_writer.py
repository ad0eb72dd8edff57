"""Publishing: the rows of the index beside the vault, copied into PostgreSQL for a team to read.

The rows are those of the file that this machine searches by itself, number by number, so that both answer alike. Only
the notes that changed since are written again, in one transaction; another version of the rows, another file or another
model is written whole, into a schema of its own that takes the place of the old one when it is complete. Whoever dies
meanwhile leaves what was published before: a transaction that doesn't end has never been.

One process publishes at a time (an advisory lock, which the server frees when its holder is gone).
"""

from __future__ import annotations

import platform
import sys
import time
from array import array
from contextlib import contextmanager
from datetime import UTC, datetime
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import TeamIndexError
from tars_memory.index import database, fulltext, reader, vectors
from tars_memory.index.postgres import FORMAT, REGISTRY, Address, connect, enter, explained, published
from tars_memory.index.postgres_reader import BLOCK, GRAPH, MOST, PACKED, TABLES, spelled, tokens
from tars_memory.index.writer import note_head

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import psycopg

    from tars_memory.index.database import Progress

    Row = tuple[Any, ...]

PUBLISHING = "publishing"
"""What progress is told that this is."""
GRAPH_FROM = [0, 8]
"""The version of pgvector that follows a graph until enough passes a filter (``hnsw.iterative_scan``)."""
GRAPH_BYTES = 600
"""What a passage takes in the graph while it is made, in memory; beyond that it is made on the disk, slowly."""
GRAPH_MOST = 2 << 30
"""What is asked of the server's memory at most: enough for 3,500,000 passages."""
NOTES = 200
"""Notes that are copied at once."""
WAITING = 400_000
"""Occurrences of words that are kept until they are written: 30 MB."""
VECTORS = 5_000
"""Vectors that are copied at once."""
LOCK = 0x7461_7273
"""The space of our advisory locks: ``tars``."""
POLL = 0.1
"""Seconds between two tries to get it."""
DROP_TRIES = 20
"""How often it is tried to drop what was replaced: somebody may still read it."""
HALF = 2
"""Where more than one note in so many changed, all are written again."""

_BY_NOTE = {"notes": "id", "chunks": "note", "names": "note", "properties": "note", "facts": "note"}
_BY_CHUNK = {"chunk_texts": "id", "lines": "chunk", "chunk_tags": "chunk"}
"""By which number the rows of a note, or of a chunk, are found."""

_TYPES = {"INTEGER": "int", "TEXT": 'text COLLATE "C"', "BLOB": "bytea"}
"""Of SQLite, and what stands for them here."""
_LEFT = frozenset({"hash"})
"""Columns that are not copied: here vectors stand by their chunks."""
_MORE = {"notes": {"hash": "BLOB", "words": "INTEGER"}, "chunks": {"words": "INTEGER", "signs": "INTEGER"}}
"""Columns that only these tables have: how many words and signs there are, and of a note its digest."""
_TEXT = f"{_TYPES['TEXT']} NOT NULL"
_FULLTEXT = "".join(
    f"""
CREATE TABLE {name} (id int PRIMARY KEY, {", ".join(f"{column} {_TEXT}" for column in table.columns)});
CREATE TABLE {name}_at (term {_TEXT}, block int NOT NULL, held int NOT NULL, packed bigint[] NOT NULL,
  PRIMARY KEY (term, block));
"""
    for name, table in TABLES.items()
)
SCRIPT = f"""
CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE scopes (id int PRIMARY KEY, name {_TEXT});
CREATE TABLE totals (name text PRIMARY KEY, held bigint NOT NULL, length bigint NOT NULL);
CREATE TABLE vectors (chunk int PRIMARY KEY, vector vector NOT NULL, words bytea NOT NULL);
ALTER TABLE vectors ALTER vector SET STORAGE PLAIN, ALTER words SET STORAGE EXTERNAL;
{_FULLTEXT}"""
"""What has no like in the file; the other tables are made as the file has them (:class:`_Copied`)."""
INDEXES = f"""
CREATE UNIQUE INDEX ON notes (path);
CREATE INDEX ON chunks (note, position);
CREATE INDEX ON chunks (id) WHERE embedded = 0;
CREATE INDEX ON chunks (until) WHERE until < {database.ALWAYS};
CREATE INDEX ON lines (block_id) WHERE block_id <> '';
CREATE INDEX ON lines (chunk) WHERE state = 'rejected';
CREATE INDEX ON lines (source) WHERE kind = 'replaced';
CREATE INDEX ON chunk_tags (chunk);
CREATE INDEX ON names (note);
CREATE INDEX ON properties (note);
"""


EMBEDDED = "SELECT count(*) FROM chunks WHERE embedded = 1"
"""How many have a vector: to count the vectors themselves would read all of them."""


class Published(NamedTuple):
    """What was published.

    Attributes:
        whole: everything was written again.
        changed: notes that were written.
        removed: notes that are gone.
        vectors: passages that got their vector.
    """

    whole: bool
    changed: int
    removed: int
    vectors: int


def publish(
    where: Address,
    vault: str,
    source: Path,
    cache: Path,
    progress: Progress | None = None,
    *,
    takes_over: bool = False,
    wait: float = 0.0,
) -> Published | None:
    """Bring a team's index in step with the file that this machine searches.

    Args:
        where: the team's index.
        vault: the vault's id.
        source: the file.
        cache: the file of the vectors.
        progress: is told how many notes and vectors are copied.
        takes_over: although another machine published it.
        wait: seconds for another process that publishes.

    Returns:
        What was written; None if the role may only read.

    Raises:
        TeamIndexError: it can't be reached or written, or is busy.
    """
    with explained(where):
        connection = connect(where)
        try:
            if not _may_write(connection, where):
                return None
            _alone(connection, where, vault, wait)
            with _local(source, cache) as local, connection.transaction():
                writer = _Publisher(connection, local, vault, source, progress)
                machine = writer.other_machine()
                if machine and not takes_over:
                    raise TeamIndexError(
                        f"the index in {where.shown} is published by {machine}",
                        "one machine publishes; tars-memory reindex --full here takes it over",
                    )
                if writer.is_newer() and not takes_over:
                    raise TeamIndexError(
                        f"the index in {where.shown} was published by a newer version of tars-memory",
                        "update this one; tars-memory reindex --full puts an older index in its place",
                    )
                done = writer.publish()
            writer.drop_old()
        finally:
            connection.close()
    return done


def _may_write(connection: psycopg.Connection[Row], where: Address) -> bool:
    """Whether our role may publish; False where it may only read.

    Raises:
        TeamIndexError: nothing is published there, and it may not begin.
    """
    row = connection.execute(
        "SELECT has_table_privilege(c.oid, 'INSERT') AND current_setting('transaction_read_only') = 'off'"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = 'indexes'",
        (REGISTRY,),
    ).fetchone()
    if row is None:
        row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
        if row is None or not row[0]:
            raise TeamIndexError(
                f"the role {connection.info.user} may not create anything in {where.shown}",
                "docs/team-index.md shows what each role is granted",
            )
    return bool(row[0])


def _alone(connection: psycopg.Connection[Row], where: Address, vault: str, wait: float) -> None:
    """Hold the lock of the one who publishes, until the connection ends.

    Raises:
        TeamIndexError: another process has it for longer.
    """
    ends = time.monotonic() + wait
    sql = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
    while not connection.execute(sql, (LOCK, vault)).fetchone()[0]:  # type: ignore[index]
        if time.monotonic() >= ends:
            holder = connection.execute(
                "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
                " WHERE l.locktype = 'advisory' AND l.granted AND l.classid::bigint = %s"
                " AND l.objid::bigint = hashtext(%s)::bigint & 4294967295",
                (LOCK, vault),
            ).fetchone()
            who = f" ({holder[0]})" if holder and holder[0] else ""
            raise TeamIndexError(f"another process{who} is publishing to {where.shown}", "try again when it is done")
        time.sleep(POLL)


@contextmanager
def _local(source: Path, cache: Path) -> Iterator[sqlite3.Connection]:
    """The file and its vectors, as they are now and will be seen until the end."""
    connection = database.connect(source)
    try:
        if cache.exists():
            connection.execute("ATTACH ? AS cache", (f"{cache.absolute().as_uri()}?mode=ro",))
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


class _Copied(NamedTuple):
    """A table that is copied as it stands in the file.

    Attributes:
        columns: that are copied, parted by commas.
        script: makes it here.
    """

    columns: str
    script: str

    @classmethod
    def of(cls, local: sqlite3.Connection, name: str) -> _Copied:
        """What the file says of a table."""
        sql = 'SELECT name, type, "notnull" OR pk, pk FROM pragma_table_info(?)'
        rows = [row for row in local.execute(sql, (name,)) if row[0] not in _LEFT]
        more = ((column, kind, 1, 0) for column, kind in _MORE.get(name, {}).items())
        made = [f"{column} {_TYPES[kind]}{' NOT NULL' if needed else ''}" for column, kind, needed, _ in (*rows, *more)]
        keys = ", ".join(column for column, _, _, key in sorted(rows, key=lambda row: row[3]) if key)
        columns = ", ".join(column for column, *_ in rows)
        return cls(columns, f"CREATE TABLE {name} ({', '.join(made)}, PRIMARY KEY ({keys}));")


class _Publisher:
    """One publishing, inside a transaction."""

    def __init__(
        self,
        connection: psycopg.Connection[Row],
        local: sqlite3.Connection,
        vault: str,
        source: Path,
        progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._local = local
        self._copied = {name: _Copied.of(local, name) for name in (*_BY_NOTE, *_BY_CHUNK)}
        self._vault = vault
        self._meta = database.meta(local)
        model = self._local.execute("SELECT 1 FROM pragma_database_list WHERE name = 'cache'").fetchone()
        self._model = str(self._meta["model"]) if model and "model" in self._meta else ""
        self._machine = f"{platform.node()}:{source.parent}"
        self._source = f"{self._meta.get('recipe')} {self._model}"
        self._progress = progress
        self._prefix = f"tars_{''.join(sign for sign in vault.lower() if sign.isalnum())[:24]}_"
        self._place = ""
        self._known: dict[int, bytes] = {}
        self._waiting: dict[str, dict[tuple[str, int], list[int]]] = {}

    def other_machine(self) -> str:
        """The machine that published what is there, if it is not this one."""
        there = published(self._connection, self._vault)
        if there is None:
            return ""
        sql = f"SELECT value FROM \"{there[0]}\".meta WHERE key = 'machine'"  # whatever the version of the other tables
        row = self._connection.execute(sql).fetchone()
        return str(row[0]).partition(":")[0] if row and row[0] != self._machine else ""

    def is_newer(self) -> bool:
        """Whether what is there was published by a newer version of this program."""
        there = published(self._connection, self._vault)
        return there is not None and _numbers(there[1]) > _numbers(FORMAT)

    def publish(self) -> Published:
        """Write what differs, or everything."""
        there = published(self._connection, self._vault)
        if there is not None:
            self._place = there[0]
            if there[1] == FORMAT:
                enter(self._connection, self._place)
                done = self._step()
                if done is not None:
                    return done
        return self._whole()

    def _step(self) -> Published | None:
        """Write the notes that changed; None if everything has to be written."""
        said: dict[str, str] = dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        if (said.get("source"), said.get("machine")) != (self._source, self._machine):
            return None
        ours = self._digests()
        theirs = {int(key): bytes(digest) for key, digest in self._connection.execute("SELECT id, hash FROM notes")}
        changed = [note for note, digest in ours.items() if theirs.get(note) != digest]
        if len(changed) * HALF > len(ours) > NOTES:
            return None
        gone = [note for note in theirs if note not in ours]
        if GRAPH in said and self._model:
            (held,) = self._local.execute(f"SELECT count(*) FROM chunks c WHERE {reader.HAS_VECTOR}").fetchone()
            (given,) = self._connection.execute(EMBEDDED).fetchone() or (0,)
            if (held - given) * HALF > held:  # one by one they would take longer to find their place in the graph
                return None
        self._scopes()
        self._remove([*gone, *(note for note in changed if note in theirs)])
        self._add(changed)
        return self._finish(Published(False, len(changed), len(gone), 0))

    def _whole(self) -> Published:
        """Write everything, into a schema of its own, and let that answer."""
        execute = self._connection.execute
        execute(f"CREATE SCHEMA IF NOT EXISTS {REGISTRY}")
        execute(
            f"CREATE TABLE IF NOT EXISTS {REGISTRY}.indexes"
            " (vault text PRIMARY KEY, place text NOT NULL, version text NOT NULL)"
        )
        number = int(self._place.rpartition("_")[2]) if self._place.startswith(self._prefix) else 0
        self._place = f"{self._prefix}{number + 1}"
        execute(f'DROP SCHEMA IF EXISTS "{self._place}" CASCADE')
        execute(f'CREATE SCHEMA "{self._place}"')
        enter(self._connection, self._place)
        execute("".join(table.script for table in self._copied.values()) + SCRIPT)
        self._scopes()
        notes = sorted(self._digests())
        self._add(notes)
        execute(INDEXES)
        done = self._finish(Published(True, len(notes), 0, 0))
        execute("ANALYZE " + ", ".join((*self._copied, "vectors", *TABLES, *(f"{name}_at" for name in TABLES))))
        execute(
            f"INSERT INTO {REGISTRY}.indexes VALUES (%s, %s, %s)"
            " ON CONFLICT (vault) DO UPDATE SET place = excluded.place, version = excluded.version",
            (self._vault, self._place, FORMAT),
        )
        return done

    def _finish(self, done: Published) -> Published:
        """What is counted, and what the index says of itself."""
        given = self._vectors()
        execute = self._connection.execute
        graph = self._graph()
        execute("DELETE FROM totals")
        for name, table in TABLES.items():
            counted = f"SELECT %s, count(*), coalesce(sum({table.length}), 0) FROM {table.rows}"
            every = "" if name == "chunk_words" else f" WHERE {table.length} > 0"
            execute(f"INSERT INTO totals {counted}{every}", (name,))
        said = {
            "source": self._source,
            "machine": self._machine,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        if self._model:
            said |= {"model": self._model, "dimension": str(self._meta["dimension"])}
        if graph:
            said[GRAPH] = "hnsw"
        execute("DELETE FROM meta")
        self._copy("meta", "key, value", said.items())
        return done._replace(vectors=given)

    def _graph(self) -> bool:
        """Whether there is a graph of neighbours; it is made once there are many vectors, and then kept by the server.

        It is one of the signs of their numbers, a bit each: a third of what half precision takes, as quickly made.
        Processes of the server that help are not asked for: they want the memory shared, which containers rarely have.
        """
        execute = self._connection.execute
        sql = "SELECT to_regclass(quote_ident(current_schema()) || '.' || %s) IS NOT NULL"
        if execute(sql, (GRAPH,)).fetchone() == (True,):
            return True
        sql = f"SELECT ({EMBEDDED}), extversion FROM pg_extension WHERE extname = 'vector'"
        count, version = execute(sql).fetchone() or (0, "0")
        if count < vectors.MANY or _numbers(version) < GRAPH_FROM:
            return False
        if self._progress is not None:
            self._progress(f"{PUBLISHING} neighbours", 0, 1)
        memory = min(max(count * GRAPH_BYTES, 64 << 20), GRAPH_MOST) >> 10
        execute(
            "SELECT set_config('maintenance_work_mem', %s, true),"
            " set_config('max_parallel_maintenance_workers', '0', true)",
            (f"{memory}kB",),
        )
        bits = f"bit({self._meta['dimension']})"
        execute(f"CREATE INDEX {GRAPH} ON vectors USING hnsw ((binary_quantize(vector)::{bits}) bit_hamming_ops)")
        return True

    def drop_old(self) -> None:
        """Drop what was replaced; what is read all the time is left to the next publishing.

        All tables are locked at once or not at all: who waits for one and holds another could make a reader fail.
        """
        from psycopg import errors

        execute = self._connection.execute
        sql = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) AND nspname <> %s"
        for (name,) in execute(sql, (self._prefix, self._place)).fetchall():
            rows = execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
            tables = ", ".join(f'"{name}"."{table}"' for (table,) in rows)
            for _ in range(DROP_TRIES):
                try:
                    with self._connection.transaction():
                        if tables:
                            execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT")
                        execute(f'DROP SCHEMA "{name}" CASCADE')
                    break
                except errors.LockNotAvailable:
                    time.sleep(POLL)
                except errors.InsufficientPrivilege:  # another role's, who published before
                    break

    # --- notes

    def _scopes(self) -> None:
        self._connection.execute("DELETE FROM scopes")
        self._copy("scopes", "id, name", self._local.execute("SELECT id, name FROM scopes"))

    def _remove(self, notes: list[int]) -> None:
        """Take notes and all that is theirs out."""
        if not notes:
            return
        execute = self._connection.execute
        rows = execute("SELECT id FROM chunks WHERE note = ANY(%s)", (notes,)).fetchall()
        chunks = [chunk for (chunk,) in rows]
        for name, table in TABLES.items():
            self._unpost(name, notes if table.rows == "notes" else chunks)
        for name, key in (*_BY_CHUNK.items(), ("vectors", "chunk")):
            execute(f"DELETE FROM {name} WHERE {key} = ANY(%s)", (chunks,))
        for name, key in _BY_NOTE.items():
            execute(f"DELETE FROM {name} WHERE {key} = ANY(%s)", (notes,))

    def _unpost(self, name: str, ids: list[int]) -> None:
        """Take rows out of a full-text table."""
        columns = " || ' ' || ".join(TABLES[name].columns)
        held = (
            f"SELECT DISTINCT t.term, w.id / {BLOCK} block FROM {name} w,"
            f" regexp_split_to_table({columns}, ' +') t(term) WHERE w.id = ANY(%(ids)s)"
        )
        kept = f"ARRAY(SELECT x FROM unnest(p.packed) x WHERE (x >> {PACKED[0]})::int <> ALL(%(ids)s))"
        execute, given = self._connection.execute, {"ids": ids}
        execute(
            f"UPDATE {name}_at p SET packed = k.packed, held = cardinality(k.packed) FROM"
            f" (SELECT p.term, p.block, {kept} packed FROM ({held}) h"
            f" JOIN {name}_at p ON p.term = h.term AND p.block = h.block) k"
            " WHERE k.term = p.term AND k.block = p.block",
            given,
        )
        execute(
            f"DELETE FROM {name}_at p USING ({held}) h WHERE p.term = h.term AND p.block = h.block AND p.held = 0",
            given,
        )
        execute(f"DELETE FROM {name} WHERE id = ANY(%(ids)s)", given)

    def _digests(self) -> dict[int, bytes]:
        """Of each note what changes whenever its rows do: its bytes, and the numbers of its chunks."""
        rows = self._local.execute(
            "SELECT f.note, f.hash, f.path, min(c.id), max(c.id), count(c.id) FROM files f"
            " LEFT JOIN chunks c ON c.note = f.note WHERE f.note IS NOT NULL GROUP BY f.note"
        )
        self._known = {
            int(note): bytes(digest) + f" {first} {last} {count} {path}".encode("utf-8", "replace")
            for note, digest, path, first, last, count in rows
        }
        return self._known

    def _add(self, notes: list[int]) -> None:
        """Copy notes and all that is theirs."""
        for at in range(0, len(notes), NOTES):
            if self._progress is not None and len(notes) > NOTES:
                self._progress(PUBLISHING, at, len(notes))
            self._add_some(notes[at : at + NOTES])
        for name in TABLES:
            self._flush(name)

    def _add_some(self, notes: list[int]) -> None:
        marks = ",".join("?" * len(notes))
        every = f"SELECT id FROM chunks WHERE note IN ({marks})"
        ask, copied = self._local.execute, self._copied
        rows = {
            name: ask(f"SELECT {copied[name].columns} FROM {name} WHERE {key} IN ({marks})", notes).fetchall()
            for name, key in _BY_NOTE.items()
        } | {
            name: ask(f"SELECT {copied[name].columns} FROM {name} WHERE {key} IN ({every})", notes).fetchall()
            for name, key in _BY_CHUNK.items()
        }
        texts = {chunk: (head, text) for chunk, head, text, *_ in rows["chunk_texts"]}
        about = {note: said for note, _, _, _, _, _, _, said, *_ in rows["notes"]}
        of_note: dict[int, list[int]] = {}
        for chunk, note, *_ in sorted(rows["chunks"], key=lambda row: (row[1], row[2])):
            of_note.setdefault(note, []).append(chunk)
        first = {chunks[0]: note for note, chunks in of_note.items()}
        marked = {
            chunk: fulltext.signs(f"{head}\n{text}\n{about[first[chunk]] if chunk in first else ''}")
            for chunk, (head, text) in texts.items()
        }
        keys = list(texts)
        said = tokens([fulltext.worded(part) for key in keys for part in texts[key]], TABLES["chunk_words"].tokenizer)
        words = {key: (said[2 * at], said[2 * at + 1]) for at, key in enumerate(keys)}
        with_signs = [key for key in keys if marked[key]]
        held = dict(
            zip(with_signs, tokens([marked[key] for key in with_signs], TABLES["chunk_signs"].tokenizer), strict=True)
        )
        heads = [fulltext.worded(part) for row in rows["notes"] for part in (note_head(row[6], row[4], row[5]), row[7])]
        front = tokens(heads, TABLES["note_words"].tokenizer)
        whole: dict[int, tuple[list[str], list[str], list[str]]] = {}
        for at, row in enumerate(rows["notes"]):
            if row[0] in of_note:  # a blank note is found by its name
                body = [word for chunk in of_note[row[0]] for word in words[chunk][1]]
                whole[row[0]] = (front[2 * at], front[2 * at + 1], body)
        self._copy(
            "notes",
            f"{copied['notes'].columns}, hash, words",
            ((*_without_nul(row), self._known[row[0]], sum(map(len, whole.get(row[0], ())))) for row in rows["notes"]),
        )
        placed = ((*row[:9], 3 if row[9] == 3 else 0, *row[10:]) for row in rows["chunks"])
        self._copy(
            "chunks",
            f"{copied['chunks'].columns}, words, signs",
            ((*row, sum(map(len, words[row[0]])), len(held.get(row[0], ()))) for row in placed),
        )
        for name in ("chunk_texts", "lines", "chunk_tags", "names", "properties", "facts"):
            self._copy(name, copied[name].columns, map(_without_nul, rows[name]))
        self._post("chunk_words", words.items())
        self._post("chunk_signs", ((key, (found,)) for key, found in held.items()))
        self._post("note_words", whole.items())

    def _post(self, name: str, rows: Iterable[tuple[int, tuple[list[str], ...]]]) -> None:
        """Put rows into a full-text table: their tokens, and where each word stands."""
        table = TABLES[name]
        kept: list[Row] = []
        at = self._waiting.setdefault(name, {})
        for key, columns in rows:
            kept.append((key, *map(spelled, columns)))
            counts: dict[str, int] = {}
            for place, said in zip(table.columns.values(), columns, strict=True):
                one, most = 1 << PACKED[1 + place], MOST[place]
                for word in said:
                    held = counts.get(word, key << PACKED[0])
                    if held >> PACKED[1 + place] & most < most:
                        held += one
                    counts[word] = held
            for word, packed in counts.items():
                at.setdefault((word, key // BLOCK), []).append(packed)
        self._copy(name, f"id, {', '.join(table.columns)}", kept)
        if sum(map(len, at.values())) > WAITING:
            self._flush(name)

    def _flush(self, name: str) -> None:
        """Write where words stand; waiting for many rows, few blocks are written twice."""
        at = self._waiting.pop(name, {})
        self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS fresh (term text, block int, packed bigint[])")
        self._copy("fresh", "term, block, packed", ((word, block, packed) for (word, block), packed in at.items()))
        self._connection.execute(
            f"INSERT INTO {name}_at AS p (term, block, held, packed) SELECT term, block, cardinality(packed), packed"
            " FROM fresh ON CONFLICT (term, block) DO UPDATE"
            " SET packed = p.packed || excluded.packed, held = p.held + excluded.held"
        )
        self._connection.execute("TRUNCATE fresh")

    # --- vectors

    def _vectors(self) -> int:
        """Copy the vectors that are there by now of passages that had none; returns how many."""
        if not self._model:
            return 0
        missing = [chunk for (chunk,) in self._connection.execute("SELECT id FROM chunks WHERE embedded = 0")]
        given = 0
        for at in range(0, len(missing), VECTORS):
            some = missing[at : at + VECTORS]
            if self._progress is not None and len(missing) > VECTORS:
                self._progress(f"{PUBLISHING} vectors", at, len(missing))
            rows = self._local.execute(
                "SELECT c.id, v.vector, v.words FROM json_each(?) j"
                f" JOIN chunks c ON c.id = j.value AND {reader.HAS_VECTOR}"
                " JOIN cache.models m ON m.fingerprint = ? JOIN cache.vectors v ON v.hash = c.hash AND v.model = m.id",
                (f"[{','.join(map(str, some))}]", self._model),
            ).fetchall()
            with self._connection.cursor().copy("COPY vectors FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(_HEADER)
                for chunk, vector, words in rows:
                    copy.write(_binary(chunk, vector, words))
                copy.write(_END)
            self._connection.execute(
                "UPDATE chunks SET embedded = 1 WHERE id = ANY(%s)", ([chunk for chunk, *_ in rows],)
            )
            given += len(rows)
        return given

    def _copy(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        with self._connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def _numbers(version: str) -> list[int]:
    """A version so that the newer one is greater."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def _without_nul(row: Row) -> Row:
    """A row that PostgreSQL can hold; names alone may have such a sign, which their keys leave out."""
    return tuple(value.replace("\0", " ") if isinstance(value, str) and "\0" in value else value for value in row)


_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_ROW = Struct(">hiii")
_VECTOR = Struct(">hh")
_SIZE = Struct(">i")


def _binary(chunk: int, vector: bytes, words: bytes) -> bytes:
    """A row of vectors as PostgreSQL's binary COPY has it; pgvector sends (dimension, 0, float4 …), all big-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "little":
        numbers.byteswap()
    size = _VECTOR.size + len(vector)
    head = _ROW.pack(3, 4, chunk, size) + _VECTOR.pack(len(numbers), 0)
    return head + numbers.tobytes() + _SIZE.pack(len(words)) + words
