"""The index's database: the driver, connections and files, and the schema, one script that runs on SQLite 3.40.

No other module knows which SQLite driver is used. Of these three, the first that works is chosen;
``TARS_MEMORY_SQLITE`` forces one (for support and for tests):

``pysqlite3``
    A current SQLite from PyPI that loads extensions.
``sqlite3``
    The standard library, if it was built with extension loading.
``sqlite3-noext``
    The standard library without extensions: the same neighbours, computed exactly over the cached vectors.

sqlite-vec's library is found without importing its package, which would import numpy.

Derived data has no migrations: another version is rebuilt into a new file (:class:`IndexFiles`).
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import UnwritableError, UsageError
from tars_memory.index.fulltext import SIGNS, TIERS as TIERS, WORDS
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    import sqlite3
    from datetime import date


Progress = Callable[[str, int, int], None]
"""Called with a phase ("reading notes", "vectors"), the number of items done, and their total number."""

RUNGS = ("pysqlite3", "sqlite3", "sqlite3-noext")
"""Names of the drivers, in the order in which they are tried."""
VARIABLE = "TARS_MEMORY_SQLITE"
"""Environment variable that forces a driver."""

FIXED_WAL = (3, 51, 3)
"""First SQLite whose WAL can't be reset under a running checkpoint (sqlite.org/wal.html#walresetbug)."""
FIXED_WAL_BRANCHES = ((3, 50, 7), (3, 44, 6))
"""Patch releases of older branches that first contain the fix."""
NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "vboxsf"}
    | {"virtiofs", "prl_fs", "drvfs", "hgfs"}
)
"""File systems without reliable shared memory or file locks: no WAL there. Anything through FUSE counts as well."""
BUSY_SECONDS = 5.0
"""Seconds that a statement waits for another process's transaction; ours last milliseconds."""


class IndexDamagedError(Exception):
    """The index file is damaged or is not an index; it is rebuilt automatically."""


class Driver(NamedTuple):
    """A SQLite driver.

    Attributes:
        name: one of :data:`RUNGS`.
        module: the DB-API module.
        vec: path of sqlite-vec's library without its suffix; None: vectors are compared without it.
        reason: why this driver was chosen; one sentence for ``status``.
    """

    name: str
    module: Any
    vec: str | None
    reason: str

    @property
    def version(self) -> tuple[int, ...]:
        """SQLite's version as numbers."""
        return tuple(int(part) for part in self.module.sqlite_version.split("."))


def driver() -> Driver:
    """Return the driver that this process uses; chosen once for each value of the variable.

    Raises:
        UsageError: the variable names no driver, or one that does not work here.
    """
    return _choose(os.environ.get(VARIABLE, ""))


def capabilities() -> dict[str, object]:
    """Return what the driver can do here, for ``status``, by trying it on a database in memory."""
    chosen = driver()
    with closing(chosen.module.connect(":memory:")) as connection:
        fts5 = bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())
    return {
        "driver": chosen.name,
        "sqlite": chosen.module.sqlite_version,
        "fts5": fts5,
        "vec": chosen.vec is not None,
        "reason": chosen.reason,
    }


@cache
def _choose(forced: str) -> Driver:
    """Return the forced driver, or the first that works if ``forced`` is empty."""
    if forced and forced not in RUNGS:
        raise UsageError(f"{VARIABLE}={forced!r} is unknown", "it is one of " + ", ".join(RUNGS))
    vec = _vec_library()
    reasons = []
    for name in (forced,) if forced else RUNGS:
        try:
            module: Any = import_module("pysqlite3" if name == "pysqlite3" else "sqlite3")
        except ImportError:
            reasons.append(f"{name} is not installed")
            continue
        if name == "sqlite3-noext":
            reason = "; ".join(reasons) or "as asked"
            return Driver(name, module, None, f"{reason}: vectors are compared without sqlite-vec, exactly")
        problem = _cannot_load(module, vec)
        if not problem:
            return Driver(name, module, vec, "loads sqlite-vec")
        reasons.append(f"{name} {problem}")
    raise UsageError(f"{VARIABLE}={forced}: {'; '.join(reasons)}", "unset the variable")


def _cannot_load(module: Any, vec: str | None) -> str:
    """Return why the module can't load sqlite-vec; empty if it can."""
    if vec is None:
        return "finds no sqlite-vec library"
    if not hasattr(module.Connection, "enable_load_extension"):
        return "was built without extension loading"
    connection = module.connect(":memory:")
    try:
        load_vec(connection, vec)
    except (module.Error, AttributeError) as error:
        return f"does not load sqlite-vec: {error}"
    finally:
        connection.close()
    return ""


def _vec_library() -> str | None:
    """Return the path of the ``vec0`` library inside the sqlite_vec package, without its suffix."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.origin:
        return None
    folder = os.path.dirname(spec.origin)
    names = ("vec0.so", "vec0.dylib", "vec0.dll")
    return os.path.join(folder, "vec0") if any(os.path.exists(os.path.join(folder, name)) for name in names) else None


def load_vec(connection: Any, library: str) -> None:
    """Load sqlite-vec into a connection, then switch extension loading off again."""
    connection.enable_load_extension(True)
    try:
        connection.load_extension(library)
    finally:
        connection.enable_load_extension(False)


def connect(path: Path, parameters: str = "mode=rw", *, exclusive: bool = False) -> sqlite3.Connection:
    """Open an existing database file; never creates one.

    The connection is in autocommit mode: transactions begin and end with explicit statements.

    Args:
        path: of the file.
        parameters: of SQLite's file URI (sqlite.org/uri.html).
        exclusive: keep every other process out while the file is open; a write-ahead log then needs no shared memory.

    Raises:
        FileNotFoundError: there is no such file.
        IndexDamagedError: the file is not a database.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # SQLite would wait for a pipe
        raise IndexDamagedError(f"{path} is not a regular file")
    module = driver().module
    uri = f"{path.absolute().as_uri()}?{parameters}"
    try:
        connection: sqlite3.Connection = module.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except module.OperationalError as error:
        if not path.exists():
            raise FileNotFoundError(str(path)) from error
        error.args = (f"{path}: {error}",)  # SQLite doesn't say which file it can't open
        raise
    try:
        if exclusive:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
    except (module.DatabaseError, UnicodeDecodeError) as error:
        connection.close()
        if damaged(error):
            raise IndexDamagedError(str(error)) from error
        raise
    return connection


def create(path: Path) -> None:
    """Create an empty file that only its owner can read, in a folder that only its owner can enter."""
    for folder in (path.parent.parent, path.parent):  # of conversations: in the state folder, which may be missing, too
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))


def set_journal_mode(connection: sqlite3.Connection, path: Path) -> str:
    """Set WAL mode where it is safe, else TRUNCATE; return the mode that the file has now.

    A file whose WAL mode is unsafe with this SQLite is switched back, unless another process holds it open.
    """
    wanted = "wal" if wal_is_safe(driver().version, path) else "truncate"
    now = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    if now == wanted or (now != "wal" and wanted == "truncate"):
        return now
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        return str(connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0])
    except driver().module.OperationalError:
        return now
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def wal_is_safe(version: tuple[int, ...], path: Path) -> bool:
    """Whether this SQLite's WAL is free of the reset bug and the file lies on a local disk."""
    return wal_is_fixed(version) and is_local(path)


def wal_is_fixed(version: tuple[int, ...]) -> bool:
    """Whether this SQLite's WAL is free of the reset bug."""
    return version >= FIXED_WAL or any(version[:2] == fix[:2] and version >= fix for fix in FIXED_WAL_BRANCHES)


def is_local(path: Path) -> bool:
    """Whether the file is on a local file system, as far as the platform tells; unknown counts as remote."""
    if sys.platform == "win32":
        return not str(path.absolute()).startswith("\\\\")
    if sys.platform == "darwin":
        return not str(path.absolute()).startswith(("/Volumes/", "/Network/"))
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = file_system_of(os.path.realpath(path), file.read())
    except OSError:
        return False
    return kind is not None and kind not in NETWORK_FILE_SYSTEMS and not kind.startswith("fuse")


def file_system_of(path: str, mountinfo: str) -> str | None:
    """Return the type of the file system that holds an absolute path, from the text of ``/proc/self/mountinfo``."""
    best, kind = -1, None
    for line in mountinfo.split("\n"):
        left, separator, right = line.partition(" - ")
        fields = left.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = point == "/" or path == point or path.startswith(point + "/")
        if inside and len(point) >= best:
            best, kind = len(point), right.split(" ", 1)[0]
    return kind


DAMAGE_CODES = frozenset({1, 11, 26})
"""SQLITE_ERROR, SQLITE_CORRUPT and SQLITE_NOTADB. Our own statements are well-formed, so the first one means that a
table, a column or a value is not as we made it, unless a question is too long."""


def damaged(error: BaseException) -> bool:
    """Whether an error means that the file is damaged (and not busy, full or forbidden)."""
    if isinstance(error, IndexDamagedError | UnicodeDecodeError):
        return True
    message = str(error)
    if not isinstance(error, driver().module.Error):
        return False
    code = getattr(error, "sqlite_errorcode", 0)
    if "decode to UTF-8" in message or message.startswith("malformed"):  # what follows is a part of the file
        return True
    return isinstance(code, int) and code & 0xFF in DAMAGE_CODES and " too " not in message


REFUSAL_CODES = frozenset({3, 8, 10, 13, 14})
"""SQLITE_PERM, READONLY, IOERR, FULL and CANTOPEN."""


def refused(error: BaseException) -> bool:
    """Whether an error means that the disk or its permissions refused access (and not: busy, or damaged)."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in REFUSAL_CODES and not damaged(error)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block between ``BEGIN IMMEDIATE`` and ``COMMIT``; roll back if it raises anything."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# -- the schema

CHUNKER = 4
"""Version of the chunker; raise it with every change that produces other chunks or other embedded text."""
VERSION = 39
"""Version of the index, in the file's name and ``user_version``; raise it with every change to the schema below or to
the content of rows."""

AUTOMATED = "automated"
"""Tag of a conversation in which a program asked and nobody typed."""

ALWAYS = 99_999_999
"""Value for a missing last day, so that a comparison needs no special case."""

BETWEEN = "\x1f"
"""Separates the items of a list in one column (the ASCII unit separator; no name contains it)."""

SCRIPT = f"""
CREATE TABLE meta (                 -- recipe, root, device, model, counters
  key   TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;

CREATE TABLE files (                -- files as the last sweep saw them
  path  TEXT PRIMARY KEY,
  stamp BLOB NOT NULL,              -- size, mtime_ns, ctime_ns, inode; '?' at the end: too young (git's racy rule)
  hash  BLOB NOT NULL,              -- of the bytes, and of the file's day if it has no other; or why it isn't indexed
  note  INTEGER                     -- notes.id; null: not indexed
) WITHOUT ROWID;
CREATE INDEX files_not_indexed ON files (hash) WHERE note IS NULL;

CREATE TABLE scopes (               -- '' is the vault outside projects
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE
);
INSERT INTO scopes VALUES (0, '');

CREATE TABLE notes (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL UNIQUE,
  tier       INTEGER NOT NULL,      -- position in TIERS
  scope      INTEGER NOT NULL,      -- scopes.id
  day        INTEGER NOT NULL,      -- yyyymmdd, 0: none
  day_source TEXT NOT NULL,         -- name, property, mtime (weak), '' (none)
  title      TEXT NOT NULL,
  about      TEXT NOT NULL,         -- aliases, tags, other properties, file name: searched at note level
  aliases    TEXT NOT NULL,         -- separated by BETWEEN
  tags       TEXT NOT NULL,         -- of the front matter, separated by BETWEEN
  links      TEXT NOT NULL,         -- targets of links to notes and files, separated by BETWEEN
  lines      INTEGER NOT NULL,
  until      INTEGER NOT NULL       -- yyyymmdd, the first day on which it no longer counts; 99999999: none
);
CREATE INDEX notes_of_folder ON notes (links, scope) WHERE tier = {TIERS.index("talk")};  -- links: a talk's folder

CREATE TABLE chunks (               -- narrow: filters and ranking read it for many rows
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  note       INTEGER NOT NULL,
  position   INTEGER NOT NULL,      -- 0-based order in the note
  tier       INTEGER NOT NULL,
  scope      INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  start_line INTEGER NOT NULL,      -- 1-based, inclusive
  end_line   INTEGER NOT NULL,
  partial    INTEGER NOT NULL,      -- 1: a piece of one oversized line
  hash       BLOB NOT NULL,         -- of the text that is embedded
  embedded   INTEGER NOT NULL,      -- 0: no vector yet, 1: in chunk_vectors, 2: in the cache alone (an old
                                    -- conversation), 3: the model can't read its script
  until      INTEGER NOT NULL,      -- that of the note, or of the chunk's lines if they end earlier
  front      INTEGER NOT NULL,      -- 1: properties of the front matter
  latin      INTEGER NOT NULL       -- 0: in another script
);
CREATE INDEX chunks_of_note ON chunks (note, position);
CREATE INDEX chunks_pending ON chunks (embedded) WHERE embedded = 0;
CREATE INDEX chunks_in_other_scripts ON chunks (embedded) WHERE latin = 0;
CREATE INDEX chunks_ending ON chunks (until) WHERE until < {ALWAYS};

CREATE TABLE chunk_texts (
  id       INTEGER PRIMARY KEY,     -- chunks.id
  head     TEXT NOT NULL,           -- title › headings › date
  text     TEXT NOT NULL,           -- verbatim lines, separated by one newline
  headings TEXT NOT NULL,           -- separated by BETWEEN
  block_id TEXT                     -- if the chunk is one block that has an id
);

CREATE TABLE lines (                -- the parsed lines of a chunk, so that recall need not parse them
  chunk    INTEGER NOT NULL,
  place    INTEGER NOT NULL,        -- 0-based in the chunk's text
  number   INTEGER NOT NULL,        -- in a note, counted from chunks.start_line; in a conversation, the line of its log
  indent   INTEGER NOT NULL,
  kind     TEXT NOT NULL,           -- item, empty, heading, text, property, machinery, replaced
  state    TEXT NOT NULL,           -- of a candidate: extracted, promoted, rejected, expired; else ''
  block_id TEXT NOT NULL,           -- '' for none, as in the next columns
  speaker  TEXT NOT NULL,
  source   TEXT NOT NULL,           -- where the line came from, as in the link to it
  since    TEXT NOT NULL,           -- ISO day
  until    TEXT NOT NULL,           -- the first ISO day on which it no longer holds
  PRIMARY KEY (chunk, place)
) WITHOUT ROWID;
CREATE INDEX lines_with_id ON lines (block_id) WHERE block_id <> '';
CREATE INDEX lines_rejected ON lines (chunk) WHERE state = 'rejected';
CREATE INDEX lines_replaced ON lines (source) WHERE kind = 'replaced';

CREATE VIRTUAL TABLE chunk_words USING fts5 (  -- updated by the writer: a trigger costs seven times as much
  head, text, content = 'chunk_texts', content_rowid = 'id', tokenize = "{WORDS}"
);
CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab ('chunk_words', 'row');
CREATE VIRTUAL TABLE chunk_signs USING fts5 (  -- fulltext.signs of head, text, and the first chunk's note.about
  signs, content = '', tokenize = "{SIGNS}"
);

CREATE VIRTUAL TABLE note_words USING fts5 (   -- whole notes; their text is in chunk_texts, so none is stored here
  head, about, body, content = '', tokenize = "{WORDS}"
);

CREATE TABLE chunk_tags (           -- a note's tags for each of its chunks; tags in lines and headings for their chunk
  tag   TEXT NOT NULL,              -- lower case, without #
  chunk INTEGER NOT NULL,
  PRIMARY KEY (tag, chunk)
) WITHOUT ROWID;
CREATE INDEX tags_of_chunk ON chunk_tags (chunk);

CREATE TABLE names (                -- names of notes: file name, title, aliases; no bare dates
  name    TEXT NOT NULL,            -- naming.key of the name
  note    INTEGER NOT NULL,
  written TEXT NOT NULL,            -- the name as written
  PRIMARY KEY (name, note)
) WITHOUT ROWID;
CREATE INDEX names_of_note ON names (note);

CREATE TABLE properties (           -- front matter and inline fields, folded
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  note  INTEGER NOT NULL,
  PRIMARY KEY (key, value, note)
) WITHOUT ROWID;
CREATE INDEX properties_of_note ON properties (note);

CREATE TABLE facts (                -- of the notes that hold facts over time
  note      INTEGER NOT NULL,
  line      INTEGER NOT NULL,
  ref       TEXT NOT NULL,
  subject   TEXT NOT NULL,
  predicate TEXT NOT NULL,
  object    TEXT NOT NULL,
  since     INTEGER NOT NULL,       -- yyyymmdd; 0: none
  until     INTEGER NOT NULL,       -- yyyymmdd, the first day on which it no longer holds; 99999999: none
  source    TEXT NOT NULL,
  PRIMARY KEY (note, line)
) WITHOUT ROWID;

CREATE TABLE logs (                 -- logs of conversations, in an index of their own (index/talks.py)
  path   TEXT PRIMARY KEY,
  stamp  BLOB NOT NULL,             -- as in files
  bytes  INTEGER NOT NULL,          -- number of bytes that were read
  before BLOB NOT NULL              -- hash of these bytes; empty: read the whole log again
) WITHOUT ROWID;

CREATE TABLE said (                 -- turns, so that a copied conversation counts once
  identity TEXT NOT NULL,
  note     INTEGER NOT NULL,
  PRIMARY KEY (identity, note)
) WITHOUT ROWID;
CREATE INDEX said_in ON said (note);

CREATE TABLE answers (              -- answers to lines of a conversation: shown with them, never searched
  chunk INTEGER NOT NULL,
  place INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (chunk, place)
) WITHOUT ROWID;

CREATE TABLE chunk_vectors (        -- the cached vectors, a byte for each number: enough to find the neighbours
  chunk  INTEGER PRIMARY KEY,
  vector BLOB NOT NULL              -- int8
);

CREATE TABLE chunk_bits (           -- the signs of each of these vectors, compared first if there are many
  chunk INTEGER PRIMARY KEY,
  bits  BLOB NOT NULL
);

PRAGMA user_version = {VERSION};
"""

CACHE_VERSION = 1
"""Version of the cache's schema."""
CACHE_FILE = f"vectors-{CACHE_VERSION}.db"

CACHE = f"""
CREATE TABLE models (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  dimension   INTEGER NOT NULL
);
CREATE TABLE vectors (
  id     INTEGER PRIMARY KEY,
  model  INTEGER NOT NULL,
  hash   BLOB NOT NULL,             -- of the embedded text
  vector BLOB NOT NULL,             -- float32, little-endian, length 1
  words  BLOB NOT NULL,             -- number of lines (2 bytes), words of each (a byte), bits of each word
  crc    INTEGER NOT NULL           -- of both
);
CREATE UNIQUE INDEX vectors_by_hash ON vectors (model, hash);
CREATE TABLE identity (name TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(16))));
PRAGMA user_version = {CACHE_VERSION};
"""
"""Schema of the embedding cache, a file of its own that survives every rebuild of the index."""


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of the index in an empty database, in one transaction."""
    connection.executescript("BEGIN;" + SCRIPT + "COMMIT;")


STAMP = Struct("<qqqq")
"""Layout of ``files.stamp``: size, mtime_ns, ctime_ns, inode."""


def day_number(day: date | None, missing: int = ALWAYS) -> int:
    """Return a day as it is stored, yyyymmdd; ``missing`` for None."""
    return missing if day is None else day.year * 10_000 + day.month * 100 + day.day


def iso(day: int) -> str:
    """Return a stored day as an ISO date; empty for 0."""
    return f"{day // 10_000:04d}-{day // 100 % 100:02d}-{day % 100:02d}" if day else ""


ALWAYS_LOADED = (Tier.SEMANTIC, Tier.PROCEDURAL)
"""The tiers that every prompt begins with: read and embedded before all others."""


def meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the table ``meta`` as a dictionary."""
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())


PART = "#"
"""Separates the path of a log from the id of one of its conversations, if it holds several."""


def is_folder(scope: str) -> bool:
    """Whether a scope is a folder, not a project: the name of a project never contains a slash."""
    return "/" in scope or "\\" in scope


def log_of(path: str) -> str:
    """Return the path of the log that holds a conversation, given the conversation's path in the index."""
    head, part, rest = path.rpartition(PART)
    return head if part and "/" not in rest and "\\" not in rest and "." not in rest else path


# --- The index's files in a vault's state folder: their names, the swap of a rebuilt one, and the lock of the writers
#
# A file is named ``index-VERSION.NUMBER.db``; the one with the highest number is current. A rebuild is written under a
# name that nobody reads and then renamed to the next number: a name is never used twice, so the journal of an old file
# can't be taken for that of a new one, and a reader of the old file keeps it until it looks again.
#
# :class:`OpenIndex` is the connection to the current file, which it creates if there is none, and opens again when
# another process has swapped it. A file that can't be written is opened for reading; :meth:`IndexFiles.explained` turns
# all other errors of the disk into messages.


_NAME = re.compile(rf"index-{VERSION}\.(\d+)\.db")
_OURS = re.compile(r"index-(\d+)\.(\d+)\.db(\.new)?(-journal|-wal|-shm)?")
POLL_SECONDS = 0.005
"""Seconds between two attempts to take a lock."""
BACKGROUND = "background.lock"
"""Lock that the background process, which finishes the index, holds for as long as it lives."""


ROOM = 1 << 20
"""Number of bytes that a write of the index may need at once: a disk with less is full."""


class IndexFiles:
    """The files of one vault's index.

    Args:
        folder: the vault's state folder; created with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> Path | None:
        """Return the current file, None if there is none of this version."""
        for _, name in self._numbered():
            path = self.folder / name
            if path.is_file():  # not a pipe or a folder; opening a pipe would block
                return path
        return None

    def _numbered(self) -> list[tuple[int, str]]:
        """Return (number, name) of everything that is named like a file of this version, the highest number first."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name))), reverse=True)

    @contextmanager
    def explained(self, problem: str, hint: str = "") -> Iterator[None]:
        """Turn errors of the disk and of SQLite into a message for the person, except those that mean damage.

        Args:
            problem: what can't be done.
            hint: what to do about it; by default about what the folder's disk lacks.

        Raises:
            UnwritableError: ``problem``, and the reason.
        """
        try:
            yield
        except Exception as error:
            if damaged(error) or not isinstance(error, OSError | driver().module.Error):
                raise
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise UnwritableError(f"{problem}: {reason}", hint or self._remedy()) from error

    def _remedy(self) -> str:
        """Return what to do where the folder can't be written, by what its disk says: SQLite calls a disk without room
        for another file a read-only database.
        """
        with suppress(OSError, AttributeError):  # Windows has no statvfs
            disk = os.statvfs(self.folder)
            lacks = "can't take another file: remove some" if disk.f_files and not disk.f_favail else ""
            lacks = "is full: make room" if disk.f_bavail * disk.f_frsize < ROOM else lacks
            if lacks:
                return f"the disk of {self.folder} {lacks} there, or set TARS_MEMORY_HOME to a folder of another one"
        return f"is its disk read-only, or {self.folder} not yours?"

    def building(self) -> Path:
        """Return the path for a rebuild, and remove the leftovers of a killed one. The caller holds the lock."""
        number = next((number for number, _ in self._numbered()), 0)
        path = self.folder / f"index-{VERSION}.{number + 1:04d}.db.new"
        self.remove(path)
        return path

    def install(self, built: Path) -> Path:
        """Make a finished, closed file the current one and remove the older ones. The caller holds the lock."""
        with open(built, "rb") as file:
            os.fsync(file.fileno())
        path = built.with_suffix("")
        built.rename(path)
        for name in os.listdir(self.folder):
            if _OURS.fullmatch(name) and not name.startswith(path.name):
                with suppress(OSError):  # on Windows, open in another process; the next rebuild removes it
                    os.unlink(self.folder / name)
        return path

    @staticmethod
    def remove(path: Path) -> None:
        """Remove a database file and its journals, if they exist."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")

    def is_held(self, name: str) -> bool:
        """Whether a process holds one of the index's locks; never creates the lock's file."""
        if not (self.folder / name).exists():
            return False
        try:
            with self.lock(0.0, name) as free:
                return not free
        except OSError:
            return False

    @contextmanager
    def lock(self, wait: float, name: str = "index.lock") -> Iterator[bool]:
        """Hold one of the index's locks; yield whether it could be taken within ``wait`` seconds.

        The kernel frees the lock when its holder dies.
        """
        path = self.folder / name
        create(path)
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        deadline = time.monotonic() + wait
        try:
            while not (held := _try_lock(handle)) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            yield held
        finally:
            os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class OpenIndex:
    """The connection of one process to the index of one vault.

    Args:
        files: the index's files.

    Attributes:
        path: the file that is open, or that could not be opened; None before the first attempt.
    """

    def __init__(self, files: IndexFiles) -> None:
        self.files = files
        self.path: Path | None = None
        self._connection: sqlite3.Connection | None = None
        self._held = 0

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection, which inside the block stays the same even if a newer file is installed."""
        connection = self.connection()
        self._held += 1
        try:
            yield connection
        finally:
            self._held -= 1

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the current file, which can be read and possibly be written.

        Raises:
            IndexDamagedError: the file is not an index of this version.
            UnwritableError: there is no index and none can be created, or it can't even be read.
        """
        with self.files.explained(f"the index in {self.files.folder} can't be opened"):
            if self._connection is not None and (self._held or self.path == self.files.current()):
                return self._connection
            self.close()
            for _ in range(3):
                self.path = self.files.current() or self._make()
                try:
                    self._connection = _opened(self.path)
                except FileNotFoundError:
                    continue  # replaced before it was opened
                return self._connection
        raise UnwritableError(f"the index in {self.files.folder} can't be opened", "try again")

    def model(self) -> tuple[str, int] | None:
        """Return fingerprint and dimension of the model in the current file; None if there is none or it is damaged."""
        path = self.files.current()
        if path is None:
            return None
        try:
            with closing(_opened(path)) as connection:
                known = meta(connection)
            return str(known["model"]), int(known["dimension"])
        except Exception as error:
            if not isinstance(error, LookupError | ValueError | TypeError | OSError) and not damaged(error):
                raise
            return None

    def _make(self) -> Path:
        """Install an empty index, which is then filled batch by batch and answers from the first one on."""
        hint = "make it writable, with free space, or set TARS_MEMORY_HOME to such a folder"
        problem = f"the index can't be made in {self.files.folder}"
        with self.files.explained(problem, hint), self.files.lock(WRITER_WAIT) as held:
            current = self.files.current()
            if current is not None:
                return current
            if not held:
                raise UnwritableError("the index is busy in another process", "try again when it has finished")
            path = self.files.building()
            create_index(path).close()
            return self.files.install(path)


def create_index(path: Path) -> sqlite3.Connection:
    """Create an empty index and return a connection to it.

    It is written without waiting for the disk, because nobody reads it before it is installed.
    """
    create(path)
    connection = connect(path)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        make_tables(connection)
        set_journal_mode(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    """Open a file for reading and writing if possible, else for reading in the first way that works.

    A write-ahead log needs a file of shared memory next to the database even for reading. On a full disk, where it
    can't be created, an exclusive connection does without it. If nothing may be written, the database is opened as
    immutable, unless it has a log with newer content: then both are copied, and the copy is read.
    """
    try:
        return _checked(connect(path), path)
    except driver().module.OperationalError as error:
        if not refused(error):
            raise
        refusal = error
    for open_readable in (_open_exclusive, _open_immutable, _open_copy):
        try:
            return open_readable(path)
        except (OSError, driver().module.OperationalError) as error:
            if damaged(error):
                raise
    raise refusal


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return the connection if its file is an index of this version, else close it.

    Raises:
        IndexDamagedError: the file is of another version.
    """
    try:
        if not wal_is_fixed(driver().version):
            set_journal_mode(connection, path)  # another Python may have created it in WAL mode
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except BaseException:
        connection.close()
        raise
    if version != VERSION:
        connection.close()
        raise IndexDamagedError(f"{path.name} is of version {version}")
    return connection


def _open_exclusive(path: Path) -> sqlite3.Connection:
    return _checked(connect(path, exclusive=True), path)


def _open_immutable(path: Path) -> sqlite3.Connection:
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise OSError(f"{log.name} has what {path.name} lacks")
    return _checked(connect(path, "mode=ro&immutable=1"), path)


def _open_copy(path: Path) -> sqlite3.Connection:
    """Open a temporary copy, whose files can be deleted as soon as they are open."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="tars-memory-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        for suffix in ("", "-wal"):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _checked(connect(copy), copy)  # has read from both files by now


WRITER_WAIT = 30.0
"""Seconds that a writer waits for another process to finish with the index."""
