"""The index of conversations: a file of its own next to the vault's index, with the same tables.

A conversation is a note of tier ``talk``. Its lines are what the person said, numbered consecutively; ``lines.number``
is the line of its log. Only these words are indexed. The answers are stored only to be shown with them.

The vectors of conversations are stored in a cache of their own, so that they are deleted with their texts.
"""

from __future__ import annotations

import os
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tars_memory.errors import UnwritableError
from tars_memory.index import database, vectors
from tars_memory.index.database import AUTOMATED, CACHE_FILE, TIERS, Progress, is_folder, log_of
from tars_memory.index.reader import IndexReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from tars_memory.index import fulltext, passages


Answer = TypeVar("Answer")


class Log(NamedTuple):
    """How far a file of conversations was read.

    Attributes:
        path: absolute.
        stamp: changes whenever the file does.
        offset: number of bytes that were read.
        before: hash of the bytes before the offset; empty if the file must be read whole each time.
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
        speaker: as named in the log.
        texts: the lines of the turn.
        answer: the beginning of the answer, or ''.
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
        path: of the log, with :data:`~tars_memory.index.database.PART` and an id if it holds several conversations.
        scope: the project of its folder, else the folder itself; '' without a folder.
        folder: in which it was held, or ''.
        title: from the log.
        day: on which it began, ISO, or ''.
        said: the person's turns, in order.
        automated: whether a program asked and nobody typed.
    """

    path: str
    scope: str
    folder: str
    title: str
    day: str
    said: tuple[OwnTurn, ...]
    automated: bool = False


class Shown(NamedTuple):
    """What is shown with a line of a conversation: its line in the log, day, speaker, and the start of the answer."""

    line: int
    day: str
    speaker: str
    answer: str


class TalkReader(IndexReader):
    """Reads the index of conversations.

    Attributes:
        most: number of passages above which neighbours of a query aren't searched, and vectors only rank what words
            find; None: no limit.
    """

    most: int | None = None

    @cached_property
    def _turns(self) -> dict[str, tuple[list[str], list[int]]]:
        """The conversation that :meth:`turn` read last: its lines, and their lines in the log."""
        return {}

    def visible_scopes(self, project: str) -> tuple[str, ...]:
        """Return the scopes that are visible from a project; from outside projects, all that belong to no project."""
        return (project,) if project else tuple(name for name in self._scopes if not name or is_folder(name))

    def knows_all_scopes(self) -> bool:
        """Whether no scope was added since the reader was opened: it could not filter by a scope it doesn't know."""
        return int(self.connection.execute("SELECT count(*) FROM scopes").fetchone()[0]) == len(self._scopes)

    def nearest(self, vector: bytes, within: fulltext.Filter, k: int) -> list[tuple[int, float]]:
        """See :meth:`IndexReader.nearest`; none if there are more than :attr:`most` passages."""
        return [] if self.most is not None and self.chunk_count() > self.most else super().nearest(vector, within, k)

    def shown(self, path: str, first: int, last: int) -> list[Shown]:
        """Return what is shown with each of the lines ``first`` to ``last`` of a conversation."""
        rows = self.connection.execute(
            "SELECT l.number, l.since, l.speaker, coalesce(a.text, '') FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN lines l ON l.chunk = c.id LEFT JOIN answers a ON a.chunk = c.id AND a.place = l.place"
            " WHERE n.path = ? AND c.start_line + l.place BETWEEN ? AND ? ORDER BY c.position, l.place",
            (path, first, last),
        )
        return [Shown(*row) for row in rows]

    def text(self, path: str) -> list[str]:
        """Return all lines of a conversation."""
        return self.text_of(path).decode().split("\n")

    def turn(self, path: str, number: int) -> str:
        """Return the turn that a line of a conversation is in; in a log without line numbers only that line."""
        if path not in self._turns:
            lines = self.text(path)
            self._turns = {path: (lines, [shown.line for shown in self.shown(path, 1, len(lines))])}
        lines, places = self._turns[path]
        if len(places) != len(lines) or len(set(places)) == 1:
            return lines[number - 1]
        return "\n".join(text for text, place in zip(lines, places, strict=True) if place == places[number - 1])

    def passages(self, project: str) -> Iterator[tuple[str, int, str]]:
        """Yield conversation, first line and text of each passage that is visible from a project, newest first."""
        rows = self.connection.execute(
            "SELECT n.path, c.start_line, t.text, n.scope FROM notes n JOIN chunks c ON c.note = n.id"
            " JOIN chunk_texts t ON t.id = c.id ORDER BY n.day DESC, n.id, c.position"
        )
        visible = {self._scopes[name] for name in self.visible_scopes(project) if name in self._scopes}
        return ((path, first, text) for path, first, text, scope in rows if scope in visible)

    def place(self, path: str) -> tuple[str, str]:
        """Return the folder in which a conversation was held, and its scope; '' for none."""
        row = self.connection.execute("SELECT links, scope FROM notes WHERE path = ?", (path,)).fetchone()
        return (str(row[0]), self._scope_names[int(row[1])]) if row else ("", "")

    def knows_jobs(self) -> bool:
        """Whether there are conversations in which a program asked and nobody typed."""
        return self.connection.execute("SELECT 1 FROM chunk_tags WHERE tag = ?", (AUTOMATED,)).fetchone() is not None

    def talks_of_log(self, log: str) -> tuple[str, ...]:
        """Return the paths of a log's conversations; ``log`` may be any path to it, such as a symbolic link."""
        name, real = os.path.basename(log), os.path.realpath(log)
        rows = self.connection.execute("SELECT path FROM notes WHERE instr(path, ?)", (name,))
        return tuple(path for (path,) in rows if os.path.realpath(log_of(path)) == real)


class TalkIndex:
    """The index of conversations of one vault's owner.

    Args:
        folder: of the index; created with the first write.
        most: maximum number of passages that get a vector, the newest ones.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.files = database.IndexFiles(folder)
        self.most = most
        self.cache = folder
        self._open = database.OpenIndex(self.files)

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    @property
    def exists(self) -> bool:
        """Whether there is an index file of this version."""
        return self.files.current() is not None

    def read(self, question: Callable[[TalkReader], Answer]) -> Answer:
        """Call ``question`` with a reader. A damaged index is replaced by an empty one; the next refresh fills it.

        Raises:
            UnwritableError: there is no index and none can be created.
        """

        def ask() -> Answer:
            with self._open.held():
                while True:
                    reader = TalkReader(self._open.connection(), self.cache / CACHE_FILE)
                    answer = question(reader)
                    if reader.knows_all_scopes():
                        return answer

        return self.with_repair(ask)

    def with_repair(self, act: Callable[[], Answer]) -> Answer:
        """Call ``act``, which uses the index file; if the file is damaged, call it once more with an empty one.

        Raises:
            UnwritableError: the index can't be read, or none can be created.
        """
        with self.files.explained("the index of conversations can't be read"):
            try:
                return act()
            except Exception as error:
                if not database.damaged(error):
                    raise
            self.start_over(self._open.path)
            return act()

    def start_over(self, damaged: Path | None = None) -> None:
        """Replace the index file by an empty one; all its content can be read again from the logs.

        Args:
            damaged: replace the file only if it is still this one.

        Raises:
            UnwritableError: the index is busy in another process, or none can be created.
        """
        self.close()
        with (
            self.files.explained("the index of conversations can't be rebuilt"),
            self.files.lock(database.WRITER_WAIT) as held,
        ):
            if not held:
                raise UnwritableError("the index of conversations is busy in another process", "try again later")
            if damaged is None or self.files.current() in (None, damaged):
                path = self.files.building()
                database.create_index(path).close()
                self.files.install(path)

    def clear(self) -> None:
        """Delete the content of the index and all its vectors.

        Raises:
            UnwritableError: a file can't be replaced.
        """
        if self.exists:
            self.start_over()
        if (self.cache / CACHE_FILE).exists():
            with self.files.explained("the vectors of conversations can't be dropped"):
                store = vectors.VectorCache(self.cache)
                store.start_over()
                store.close()

    def logs(self) -> dict[str, Log]:
        """Return path → how far the log was read."""
        rows = self._open.connection().execute("SELECT path, stamp, bytes, before FROM logs")
        return {row[0]: Log(*row) for row in rows}

    def folders(self) -> dict[str, str]:
        """Return folder → stored scope, for the folders in which conversations were held."""
        found = f"SELECT DISTINCT links, scope FROM notes WHERE tier = {TIERS.index('talk')} AND links > ''"
        sql = f"SELECT f.links, s.name FROM ({found}) f JOIN scopes s ON s.id = f.scope ORDER BY f.links, f.scope"
        return {str(folder): str(scope) for folder, scope in self._open.connection().execute(sql)}

    def counts(self) -> dict[str, int]:
        """Return the numbers of logs, conversations, passages and lines."""
        tables = {"logs": "logs", "conversations": "notes", "passages": "chunks", "lines": "lines"}

        def count() -> dict[str, int]:
            execute = self._open.connection().execute
            return {name: int(execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for name, table in tables.items()}

        return self.with_repair(count)

    # --- vectors

    def model(self) -> tuple[str, int] | None:
        """Return fingerprint and dimension of the model whose vectors the index holds, if any."""
        return self._open.model()

    def pending(self) -> int:
        """Return how many of the newest passages have no vector yet."""
        return self.with_repair(lambda: vectors.pending(self._open.connection(), self.most)) if self.exists else 0

    def embed_pending(self, open_embedder: Callable[[], passages.Embedder], progress: Progress | None = None) -> int:
        """Embed the newest passages that have no vector, and delete the vectors of older ones. Can be interrupted.

        Returns:
            How many passages are still pending.

        Raises:
            ModelUnavailableError: texts must be embedded and the model can't be used.
            UnwritableError: the vectors can't be stored.
        """

        def embed() -> int:
            self.prune()
            if self.most and self._open.connection().execute("SELECT 1 FROM chunks LIMIT 1").fetchone():
                vectors.embed(self._open.connection(), self.files, self.cache, open_embedder, None, progress, self.most)
            return vectors.pending(self._open.connection(), self.most)

        return self.with_repair(embed) if self.exists else 0

    def restore(self, model: tuple[str, int] | None) -> None:
        """Restore a model's vectors from the cache after a rebuild, for the texts that still exist.

        Raises:
            UnwritableError: the vectors can't be stored.
        """
        self.prune()
        if model is not None and self.most and (self.cache / CACHE_FILE).exists():
            with (
                self.files.explained("the vectors of conversations can't be kept"),
                self.files.lock(database.WRITER_WAIT) as held,
            ):
                if held:
                    vectors.restore(self._open.connection(), self.cache, *model, self.most)

    def prune(self) -> None:
        """Delete the vectors of passages that are gone or no longer among the newest ``most``.

        Raises:
            UnwritableError: they can't be deleted.
        """
        newest = vectors.among(self.most)
        connection = self._open.connection()
        with self.files.explained("the vectors of conversations can't be dropped"):
            with self.files.lock(database.WRITER_WAIT) as held:
                if not held:
                    raise UnwritableError("the index of conversations is busy in another process", "try again later")
                with database.transaction(connection):
                    connection.execute(f"UPDATE chunks SET embedded = 0 WHERE embedded <> 0 AND NOT {newest}")
                    old = f"NOT {vectors.among(vectors.NEIGHBOURS)}"
                    connection.execute(f"UPDATE chunks SET embedded = 2 WHERE embedded = 1 AND {old}")
                    vectors.take_out(connection)
            if not (self.cache / CACHE_FILE).exists():
                return
            kept = {bytes(digest) for (digest,) in connection.execute(f"SELECT hash FROM chunks WHERE {newest}")}
            with closing(vectors.VectorCache(self.cache)) as store:
                gone = store.hashes() - kept
                if gone:
                    store.drop(gone)

    # --- writing

    def move(self, scopes: dict[str, str], wait: float) -> bool:
        """Move conversations to other scopes, given as folder → scope; return False if the index is busy."""
        with self.files.lock(wait) as held:
            if held:
                with database.transaction(self._open.connection()):
                    writer = _writer().Writer(self._open.connection())
                    for folder, scope in scopes.items():
                        writer.move(folder, scope)
            return held

    def seen(self) -> str:
        """Return the state of all logs at the last refresh that left nothing to read; '' for none."""
        row = self._open.connection().execute("SELECT value FROM meta WHERE key = 'sweep'").fetchone()
        return str(row[0]) if row else ""

    def write(
        self, read: Sequence[tuple[Log, list[Talk], Log | None]], gone: Sequence[str], wait: float, seen: str = ""
    ) -> bool:
        """Write the conversations of logs that were read, and delete those of logs that are gone.

        Args:
            read: (log, conversations, None) of a log that was read whole; (log, new turns, how far it was read before)
                of a log of which only the end was read.
            gone: paths of logs to delete.
            wait: seconds to wait for the index.
            seen: the state of all logs, if nothing is left to read after this.

        Returns:
            False if the index is busy in another process: nothing is written then.
        """
        with self.files.explained("the index of conversations can't be written"), self.files.lock(wait) as held:
            if not held:
                return False
            connection, writer = self._open.connection(), _writer()
            read_so_far = "SELECT bytes, before FROM logs WHERE path = ?"
            vectors_held = "SELECT count(*) FROM chunk_bits"
            before = connection.execute(vectors_held).fetchone()
            with database.transaction(connection):
                for path in gone:
                    writer.drop_log(connection, path)
                for log, talks, previous in read:
                    if previous is None:
                        writer.drop_log(connection, log.path, {talk.path for talk in talks})
                    elif connection.execute(read_so_far, (log.path,)).fetchone() != (previous.offset, previous.before):
                        seen = ""  # another process has read further meanwhile
                        continue
                    for talk in talks:
                        writer.write_talk(connection, talk, grown=previous is not None)
                    connection.execute("INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)", log)
                unread = connection.execute("SELECT 1 FROM logs WHERE stamp = x'' LIMIT 1").fetchone()
                state = "" if unread else seen
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('sweep', ?)", (state,))
            lost = connection.execute(vectors_held).fetchone() != before
        if gone or lost:
            self.prune()
        return True


def _writer() -> ModuleType:
    """Import :mod:`tars_memory.index.writer` only now: a search without new conversations needs neither it nor the
    grammar of notes.
    """
    from tars_memory.index import writer

    return writer
