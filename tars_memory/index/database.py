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

Derived data has no migrations: another version is rebuilt into a new file (:mod:`tars_memory.index.files`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import UsageError
from tars_memory.index.fulltext import SIGNS, TIERS as TIERS, WORDS
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    import sqlite3
    from datetime import date
    from pathlib import Path


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
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
VERSION = 37
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
  about     TEXT NOT NULL,          -- the subject, folded
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
