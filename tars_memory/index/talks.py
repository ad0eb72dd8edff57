"""The index of conversations: a file of its own beside the vault's, with the same tables.

A conversation is a note of tier ``talk``. Its lines are what the person said, numbered through; ``lines.number`` says
where each stands in its log. Only these words are indexed. What was answered stands beside them, for showing alone.

Their vectors are kept beside it in a cache of its own: they go with what they were made of.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory.errors import UnwritableError
from tars_memory.index import database, files, vectors
from tars_memory.index.database import AUTOMATED, CACHE_FILE, TIERS, Progress, is_folder, log_of
from tars_memory.index.reader import IndexReader
from tars_memory.index.vectors import VectorCache

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import ModuleType

    from tars_memory.index.fulltext import Filter
    from tars_memory.index.passages import Embedder


Answer = TypeVar("Answer")

LOCK_WAIT = 30.0

_NEXT = f"""(SELECT id FROM notes WHERE tier = {TIERS.index("talk")} AND (links, scope) > ({{}})
 ORDER BY links, scope LIMIT 1)"""
_FOLDERS = f"""WITH RECURSIVE found (id, links, scope) AS (
 SELECT id, links, scope FROM notes WHERE id = {_NEXT.format("'', 9e99")}
 UNION ALL SELECT n.id, n.links, n.scope FROM found f JOIN notes n ON n.id = {_NEXT.format("f.links, f.scope")}
) SELECT f.links, s.name FROM found f JOIN scopes s ON s.id = f.scope"""
"""Each folder and scope of conversations once, from one to the next: as DISTINCT all notes would be read."""


class Log(NamedTuple):
    """A file of conversations as it was read.

    Attributes:
        path: absolute.
        stamp: what changes when the file does.
        offset: bytes that were read.
        before: hash of what lies before; empty where the file has to be read whole each time.
    """

    path: str
    stamp: bytes
    offset: int
    before: bytes


class OwnTurn(NamedTuple):
    """One turn of the person.

    Attributes:
        line: of the log, 1-based.
        day: ISO, or ''.
        speaker: as the log names them.
        texts: the lines of what was said.
        answer: how the answer begins, or ''.
        identity: the same for the same turn in another copy of the log.
    """

    line: int
    day: str
    speaker: str
    texts: tuple[str, ...]
    answer: str
    identity: bytes


class Talk(NamedTuple):
    """One conversation.

    Attributes:
        path: of the log, with :data:`PART` and an id where it holds several.
        scope: the project of its folder, else the folder itself; '' if it has none.
        folder: where it was held, or ''.
        title: as the log calls it.
        day: ISO, of its beginning, or ''.
        said: by the person, in order.
        automated: whether a program asked, and nobody typed.
    """

    path: str
    scope: str
    folder: str
    title: str
    day: str
    said: tuple[OwnTurn, ...]
    automated: bool = False


class Shown(NamedTuple):
    """A line that was said, for showing: where it stands in the log, when, who, and how the answer begins."""

    line: int
    day: str
    speaker: str
    answer: str


class TalkReader(IndexReader):
    """Reads the index of conversations.

    Attributes:
        most: passages up to which those nearest to a query are looked for; with more, meaning only orders what words
            name. None: however many there are.
    """

    most: int | None = None
    among_newest = True

    def outside(self, project: str) -> tuple[str, ...]:
        """The scopes that are seen from a project; from outside projects: all that belong to none."""
        return (project,) if project else tuple(name for name in self._scopes if not name or is_folder(name))

    def knows_all_scopes(self) -> bool:
        """Whether no scope was added since it was opened: of one that it doesn't know it could tell a word."""
        return int(self._connection.execute("SELECT count(*) FROM scopes").fetchone()[0]) == len(self._scopes)

    def nearest(self, vector: bytes, within: Filter, k: int) -> list[tuple[int, float]]:
        """As of any index; what has moved to another scope since its vector was placed is left out."""
        if self.most is not None and self.chunk_count() > self.most:
            return []
        found = super().nearest(vector, within, k)
        ids = json.dumps([chunk for chunk, _ in found])
        conditions, values = self._conditions(within._replace(chunks=None))
        sql = "SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value"
        rows = self._connection.execute(f"{sql} WHERE {' AND '.join(conditions or ['1'])}", (ids, *values))
        kept = {int(chunk) for (chunk,) in rows}
        return [pair for pair in found if pair[0] in kept]

    def shown(self, path: str, first: int, last: int) -> list[Shown]:
        """Each of these lines of a conversation."""
        rows = self._connection.execute(
            "SELECT l.number, l.since, l.speaker, coalesce(a.text, '') FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN lines l ON l.chunk = c.id LEFT JOIN answers a ON a.chunk = c.id AND a.place = l.place"
            " WHERE n.path = ? AND c.start_line + l.place BETWEEN ? AND ? ORDER BY c.position, l.place",
            (path, first, last),
        )
        return [Shown(*row) for row in rows]

    def text(self, path: str) -> list[str]:
        """All lines of a conversation."""
        rows = self._connection.execute(
            "SELECT t.text FROM notes n JOIN chunks c ON c.note = n.id JOIN chunk_texts t ON t.id = c.id"
            " WHERE n.path = ? ORDER BY c.position",
            (path,),
        )
        return "\n".join(text for (text,) in rows).split("\n")

    def place(self, path: str) -> tuple[str, str]:
        """The folder in which a conversation was held, and its scope; '' for none."""
        row = self._connection.execute("SELECT links, scope FROM notes WHERE path = ?", (path,)).fetchone()
        return (str(row[0]), self._scope_names[int(row[1])]) if row else ("", "")

    def knows_jobs(self) -> bool:
        """Whether there are conversations in which a program asked, and nobody typed."""
        return self._connection.execute("SELECT 1 FROM chunk_tags WHERE tag = ?", (AUTOMATED,)).fetchone() is not None

    def of_log(self, log: str) -> tuple[str, ...]:
        """The conversations of a log, by whatever way a source leads to it."""
        name, real = os.path.basename(log), os.path.realpath(log)
        rows = self._connection.execute("SELECT path FROM notes WHERE instr(path, ?)", (name,))
        return tuple(path for (path,) in rows if os.path.realpath(log_of(path)) == real)


class TalkIndex:
    """The index of conversations of one vault's owner.

    Args:
        folder: its place; made when something is written.
        most: passages that get a vector, the newest ones.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.files = files.IndexFiles(folder)
        self.most = most
        self.cache = folder
        self._open = files.OpenIndex(self.files)

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    @property
    def exists(self) -> bool:
        """Whether there is a file of this version."""
        return self.files.current() is not None

    def read(self, question: Callable[[TalkReader], Answer]) -> Answer:
        """Ask it. One that turns out to be damaged is begun again, empty; the next look at the logs fills it.

        Raises:
            UnwritableError: there is none and none can be made.
        """

        def asked() -> Answer:
            with self._open.held():
                while True:
                    reader = self._reader()
                    answer = question(reader)
                    if reader.knows_all_scopes():
                        return answer

        return self.mended(asked)

    def mended(self, act: Callable[[], Answer]) -> Answer:
        """Do what needs the file; once more, with an empty one, if it turns out to be damaged.

        Raises:
            UnwritableError: it can't be read, or none can be made.
        """
        with files.explained("the index of conversations can't be read"):
            try:
                return act()
            except Exception as error:
                if not database.damaged(error):
                    raise
            self.start_over(self._open.path)
            return act()

    def start_over(self, damaged: Path | None = None) -> None:
        """Put an empty file in the place of the one that answers: all that it held is in the logs.

        Args:
            damaged: only if this one still answers.

        Raises:
            UnwritableError: it is busy in another process, or none can be made.
        """
        self.close()
        with files.explained("the index of conversations can't be rebuilt"), self.files.lock(LOCK_WAIT) as held:
            if not held:
                raise UnwritableError("the index of conversations is busy in another process", "try again later")
            if damaged is None or self.files.current() in (None, damaged):
                path = self.files.building()
                files.create(path).close()
                self.files.install(path)

    def clear(self) -> None:
        """Remove all that it holds, vectors included.

        Raises:
            UnwritableError: it can't be removed.
        """
        if self.exists:
            self.start_over()
        if (self.cache / CACHE_FILE).exists():
            with files.explained("the vectors of conversations can't be dropped"):
                store = VectorCache(self.cache)
                store.start_over()
                store.close()

    def logs(self) -> dict[str, Log]:
        """What is known of each log, by its path."""
        rows = self._open.connection().execute("SELECT path, stamp, bytes, before FROM logs")
        return {row[0]: Log(*row) for row in rows}

    def folders(self) -> dict[str, str]:
        """The folders in which conversations were held, with their scopes as they are stored."""
        rows = self._open.connection().execute(_FOLDERS)
        return {str(folder): str(scope) for folder, scope in rows}

    def counts(self) -> dict[str, int]:
        """Logs, conversations, passages and lines."""
        names = {"logs": "logs", "conversations": "notes", "passages": "chunks", "lines": "lines"}

        def counted() -> dict[str, int]:
            one = self._open.connection().execute
            return {name: int(one(f"SELECT count(*) FROM {table}").fetchone()[0]) for name, table in names.items()}

        return self.mended(counted)

    # --- vectors

    def model(self) -> tuple[str, int] | None:
        """Fingerprint and dimension of the model whose vectors it holds."""
        return self._open.model()

    def pending(self) -> int:
        """How many of the passages that are to have a vector have none yet."""
        return self.mended(lambda: vectors.pending(self._open.connection(), self.most)) if self.exists else 0

    def embed_pending(self, open_embedder: Callable[[], Embedder], progress: Progress | None = None) -> int:
        """Give vectors to the newest passages that have none, and take those of older ones away. Resumable.

        Returns:
            How many are still pending.

        Raises:
            ModelUnavailableError: texts are to be embedded and the model can't be used.
            UnwritableError: the vectors can't be kept.
        """

        def embed() -> int:
            self.prune()
            if self.most and self._open.connection().execute("SELECT 1 FROM chunks LIMIT 1").fetchone():
                vectors.embed(self._open.connection(), self.files, self.cache, open_embedder, None, progress, self.most)
            return vectors.pending(self._open.connection(), self.most)

        return self.mended(embed) if self.exists else 0

    def restore(self, model: tuple[str, int] | None) -> None:
        """Bring the vectors of a model back after all rows were made again, as far as their texts are still there.

        Raises:
            UnwritableError: they can't be kept.
        """
        self.prune()
        if model is not None and self.most and (self.cache / CACHE_FILE).exists():
            with files.explained("the vectors of conversations can't be kept"), self.files.lock(LOCK_WAIT) as held:
                if held:
                    vectors.restore(self._open.connection(), self.cache, *model, self.most)

    def prune(self) -> None:
        """Drop the vectors of what is not there any more, or is older than the newest passages that may have one.

        Raises:
            UnwritableError: they can't be dropped.
        """
        newest = vectors.among(self.most)
        connection = self._open.connection()
        with files.explained("the vectors of conversations can't be dropped"):
            with self.files.lock(LOCK_WAIT) as held:
                if not held:
                    raise UnwritableError("the index of conversations is busy in another process", "try again later")
                with database.transaction(connection):
                    older = f"FROM chunks WHERE embedded = 1 AND NOT {newest}"
                    connection.execute(f"INSERT OR IGNORE INTO vector_garbage SELECT id {older}")
                    connection.execute(f"UPDATE chunks SET embedded = 0 WHERE embedded <> 0 AND NOT {newest}")
                    far = f"embedded = 1 AND NOT {vectors.among(vectors.NEIGHBOURS)}"
                    connection.execute(f"INSERT OR IGNORE INTO vector_garbage SELECT id FROM chunks WHERE {far}")
                    connection.execute(f"UPDATE chunks SET embedded = 2 WHERE {far}")
                    if vectors.load(connection) and vectors.has_table(connection):
                        vectors.clear_garbage(connection)
            if not (self.cache / CACHE_FILE).exists():
                return
            kept = {bytes(digest) for (digest,) in connection.execute(f"SELECT hash FROM chunks WHERE {newest}")}
            store = VectorCache(self.cache)
            try:
                gone = store.hashes() - kept
                if gone:
                    store.drop(gone)
            finally:
                store.close()

    # --- what is written

    def move(self, scopes: dict[str, str], wait: float) -> bool:
        """Give the conversations of some folders another scope; False if the index is busy."""
        with self.files.lock(wait) as held:
            if held:
                with database.transaction(self._open.connection()) as _:
                    moving = _writer().Writer(self._open.connection())
                    for folder, scope in scopes.items():
                        moving.move(folder, scope)
            return held

    def seen(self) -> str:
        """The state of all logs at the last look that left nothing to read; '' for none."""
        row = self._open.connection().execute("SELECT value FROM meta WHERE key = 'sweep'").fetchone()
        return str(row[0]) if row else ""

    def write(
        self, read: Sequence[tuple[Log, list[Talk], Log | None]], gone: Sequence[str], wait: float, seen: str = ""
    ) -> bool:
        """Take in logs that were read, whole or only what came after what is known of them, and drop others.

        Args:
            read: the logs with their conversations.
            gone: logs to drop.
            wait: seconds, for the index.
            seen: the state of all logs if nothing is left to read after this.

        Returns:
            False if the index is busy in another process: nothing is written then.
        """
        with files.explained("the index of conversations can't be written"), self.files.lock(wait) as held:
            if not held:
                return False
            connection, writer = self._open.connection(), _writer()
            with database.transaction(connection):
                for path in gone:
                    writer.drop(connection, path)
                for log, talks, grown in read:
                    if grown is None:
                        writer.drop(connection, log.path, {talk.path for talk in talks})
                    elif not _is_known(connection, grown):
                        seen = ""  # another process has read on meanwhile
                        continue
                    for talk in talks:
                        writer.take(connection, talk, grown=grown is not None)
                    connection.execute("INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)", log)
                unsettled = connection.execute("SELECT 1 FROM logs WHERE stamp = x'' LIMIT 1").fetchone()
                state = "" if unsettled else seen
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('sweep', ?)", (state,))
            stale = connection.execute("SELECT 1 FROM vector_garbage LIMIT 1").fetchone()
        if gone or stale:
            self.prune()
        return True

    def _reader(self) -> TalkReader:
        return TalkReader(self._open.connection(), self.cache / CACHE_FILE)


def _writer() -> ModuleType:
    """What takes conversations in. A search that finds nothing new does without it and the grammar of notes."""
    from tars_memory.index import writer

    return writer


def _is_known(connection: sqlite3.Connection, log: Log) -> bool:
    """Whether so much of a log was read, and no more."""
    row = connection.execute("SELECT bytes, before FROM logs WHERE path = ?", (log.path,)).fetchone()
    return row is not None and (int(row[0]), bytes(row[1])) == (log.offset, log.before)
