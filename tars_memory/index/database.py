"""The index as a database: drivers, connections and files, the only place that knows which SQLite is at work; and the
schema, one script that runs on SQLite 3.40, readable from top to bottom.

Three rungs, the first that works is taken; ``TARS_MEMORY_SQLITE`` forces one (for support and for tests):

``pysqlite3``
    A current SQLite from PyPI that loads extensions.
``sqlite3``
    The standard library, where it was built with extension loading.
``sqlite3-noext``
    The standard library without extensions: the same neighbours, computed exactly over the cached vectors.

sqlite-vec's library is found without importing its package, which would import numpy.

Derived data has no migrations: another version is rebuilt into a new file (:mod:`tars_memory.index.files`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from struct import Struct
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UsageError
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    import sqlite3
    from datetime import date
    from pathlib import Path


Progress = Callable[[str, int, int], None]
"""Called with a phase ("reading notes", "vectors"), how many are done, and how many there are."""

RUNGS = ("pysqlite3", "sqlite3", "sqlite3-noext")
VARIABLE = "TARS_MEMORY_SQLITE"

FIXED_WAL = (3, 51, 3)
"""First SQLite whose WAL can't be reset under a running checkpoint (sqlite.org/wal.html#walresetbug)."""
FIXED_WAL_BRANCHES = ((3, 50, 7), (3, 44, 6))
"""The branches that the fix was taken back to: each from its own patch release on."""
NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "vboxsf"}
    | {"virtiofs", "prl_fs", "drvfs", "hgfs"}
)
"""Where shared memory or file locks can't be relied on: no WAL there. Anything through FUSE counts as well."""
BUSY_SECONDS = 5.0
"""How long a statement waits for another process's transaction; ours last milliseconds."""


class IndexDamagedError(Exception):
    """The index file can't be read as what it should be; it is rebuilt by itself."""


class Driver:
    """One rung of the ladder.

    Attributes:
        name: of the rung.
        module: the DB-API module.
        vec: path of sqlite-vec's library without its suffix, None where vectors are compared by us.
        reason: why this rung; one sentence for ``status``.
    """

    def __init__(self, name: str, module: Any, vec: str | None, reason: str) -> None:
        self.name = name
        self.module = module
        self.vec = vec
        self.reason = reason

    @property
    def version(self) -> tuple[int, ...]:
        """SQLite's version, as numbers."""
        return tuple(int(part) for part in self.module.sqlite_version.split("."))


_drivers: dict[str, Driver] = {}


def driver() -> Driver:
    """The rung that this process stands on; chosen once for each value of the variable.

    Raises:
        UsageError: the variable names no rung, or one that does not work here.
    """
    forced = os.environ.get(VARIABLE, "")
    found = _drivers.get(forced)
    if found is None:
        found = _drivers[forced] = _choose(forced)
    return found


def capabilities() -> dict[str, object]:
    """What the driver can do here, for ``status``, tried on a database in memory rather than assumed."""
    rung = driver()
    connection = rung.module.connect(":memory:")
    try:
        fts5 = bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())
    finally:
        connection.close()
    return {
        "driver": rung.name,
        "sqlite": rung.module.sqlite_version,
        "fts5": fts5,
        "vec": rung.vec is not None,
        "reason": rung.reason,
    }


def _choose(forced: str) -> Driver:
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
            said = "; ".join(reasons) or "as asked"
            return Driver(name, module, None, f"{said}: vectors are compared without sqlite-vec, exactly")
        problem = _cannot_load(module, vec)
        if not problem:
            return Driver(name, module, vec, "loads sqlite-vec")
        reasons.append(f"{name} {problem}")
    raise UsageError(f"{VARIABLE}={forced}: {'; '.join(reasons)}", "unset the variable")


def _cannot_load(module: Any, vec: str | None) -> str:
    """Why the module can't load sqlite-vec; empty if it can."""
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
    """The path of the ``vec0`` library inside the sqlite_vec package, without its suffix."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.origin:
        return None
    folder = os.path.dirname(spec.origin)
    names = ("vec0.so", "vec0.dylib", "vec0.dll")
    return os.path.join(folder, "vec0") if any(os.path.exists(os.path.join(folder, name)) for name in names) else None


def load_vec(connection: Any, library: str) -> None:
    """Load sqlite-vec into a connection; loading is switched off again at once."""
    connection.enable_load_extension(True)
    try:
        connection.load_extension(library)
    finally:
        connection.enable_load_extension(False)


def connect(path: Path, way: str = "mode=rw", *, alone: bool = False) -> sqlite3.Connection:
    """Open an existing database file; it is never made by opening.

    The connection is in autocommit mode: transactions are begun and ended by name.

    Args:
        path: of the file.
        way: parameters of SQLite's file URI (sqlite.org/uri.html).
        alone: keep every other process out for as long as it is open; a write-ahead log then needs no shared memory.

    Raises:
        FileNotFoundError: there is no such file.
        IndexDamagedError: it is not a database.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # SQLite would wait for a pipe
        raise IndexDamagedError(f"{path} is not a regular file")
    module = driver().module
    uri = f"{path.absolute().as_uri()}?{way}"
    try:
        connection: sqlite3.Connection = module.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except module.OperationalError as error:
        if not path.exists():
            raise FileNotFoundError(str(path)) from error
        error.args = (f"{path}: {error}",)  # SQLite doesn't say which file it can't open
        raise
    try:
        if alone:
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
    """Make an empty file that only its owner can read, in a folder that only its owner can enter."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))


def set_journal_mode(connection: sqlite3.Connection, path: Path) -> str:
    """WAL where it is safe, else TRUNCATE; returns what the file has now.

    A file in WAL mode that this SQLite can't be trusted with is taken back, unless another process holds it open.
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
    return version >= FIXED_WAL or any(version[:2] == at[:2] and version >= at for at in FIXED_WAL_BRANCHES)


def is_local(path: Path) -> bool:
    """Whether the file system is of this machine, as far as the platform says; unknown counts as remote."""
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
    """The type of the file system that holds an absolute path, by the text of ``/proc/self/mountinfo``."""
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


DAMAGE_CODES = frozenset({11, 26})
"""SQLITE_CORRUPT and SQLITE_NOTADB."""
DAMAGE_WORDS = (
    "malformed",
    "not a database",
    "corrupt",
    "no such table",
    "no such column",
    "no such module: fts5",
    "vtable constructor failed",
    "could not decode to utf-8",
    "unsupported file format",
    "has no column",
    "vectors blob",
    "vector blob",
    "validity blob",
    "rowids blob",
    "internal sqlite-vec error",
    "could not fetch vector data",
    "could not find a row with rowid",
    "could not filter metadata",
    "could not extract metadata",
    "constructor error",
    "dimension mismatch",
    "is expected to be of type",
    "parse error in",
    "unrecognized option",
    "unrecognized column option",
    "no such tokenizer",
    "error in tokenizer",
    "directives",
    "unterminated string",
    "contentless table",
    "queries are not supported",
)
"""What SQLite, FTS5 and sqlite-vec say where a bit of the file or of its schema is not what we wrote: what we ask is
always well-formed."""


def damaged(error: BaseException) -> bool:
    """Whether an error says that the file is damaged (and not busy, full or forbidden)."""
    if isinstance(error, IndexDamagedError | UnicodeDecodeError):
        return True
    if not isinstance(error, driver().module.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF in DAMAGE_CODES:
        return True
    said = str(error).lower()
    return any(words in said for words in DAMAGE_WORDS)


REFUSAL_CODES = frozenset({3, 8, 10, 13, 14})
"""SQLITE_PERM, READONLY, IOERR, FULL and CANTOPEN."""


def refused(error: BaseException) -> bool:
    """Whether an error says that the disk or its permissions won't have it (and not: busy, or damaged)."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in REFUSAL_CODES and not damaged(error)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One ``BEGIN IMMEDIATE`` … ``COMMIT``; rolled back if anything is raised inside."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# -- the schema

CHUNKER = 3
"""Raise it with every change that makes other chunks or other embedded text of the same bytes."""
VERSION = 22
"""Goes into the file's name and ``user_version``; raise it with every change below or in how rows are made."""

TIERS = ("note", "semantic", "procedural", "daily", "episodic", "talk")
"""The codes of the tier columns are positions in here."""

AUTOMATED = "automated"
"""The tag of a conversation in which a program asked, and nobody typed."""

ALWAYS = 99_999_999
"""Stands for a missing last day, so that a comparison needs no case for it."""

BETWEEN = "\x1f"
"""Parts the items of a list in one column (the ASCII unit separator; in no name)."""

WORDS = "porter unicode61 remove_diacritics 2"
"""The tokenizer of words."""
SIGNS = "unicode61 remove_diacritics 2 categories 'L* N* Co M* S* Po'"
"""The tokenizer of signs (:mod:`tars_memory.index.fulltext`): whatever stands between two blanks is one token."""

SCRIPT = f"""
CREATE TABLE meta (                 -- recipe, root, device, model, counters
  key   TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;

CREATE TABLE files (                -- what the last sweep saw
  path  TEXT PRIMARY KEY,
  stamp BLOB NOT NULL,              -- size, mtime_ns, ctime_ns, inode; a '?' behind: too young (git's racy rule)
  hash  BLOB NOT NULL,              -- of the bytes, and the file's day if it has no other; or why it isn't indexed
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
  aliases    TEXT NOT NULL,         -- parted by BETWEEN
  tags       TEXT NOT NULL,         -- of the front matter, likewise
  links      TEXT NOT NULL,         -- targets of links to notes and files, likewise
  lines      INTEGER NOT NULL,
  until      INTEGER NOT NULL       -- yyyymmdd, the first day that it no longer counts; 99999999: not said
);
CREATE INDEX notes_of_folder ON notes (links, scope) WHERE tier = {TIERS.index("talk")};  -- where each talk was held

CREATE TABLE chunks (               -- narrow: what filters and ranking read for many rows
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
  embedded   INTEGER NOT NULL,      -- 0: no vector yet, 1: in chunk_vectors, 2: in the cache alone (no sqlite-vec),
                                    -- 3: the model can't read its script
  until      INTEGER NOT NULL,      -- as of notes; of its lines where these end earlier
  latin      INTEGER NOT NULL       -- 0: it is in another script
);
CREATE INDEX chunks_of_note ON chunks (note, position);
CREATE INDEX chunks_pending ON chunks (embedded) WHERE embedded <> 1;
CREATE INDEX chunks_in_other_scripts ON chunks (embedded) WHERE latin = 0;
CREATE INDEX chunks_ending ON chunks (until) WHERE until < {ALWAYS};

CREATE TABLE chunk_texts (
  id       INTEGER PRIMARY KEY,     -- chunks.id
  head     TEXT NOT NULL,           -- title › headings › date
  text     TEXT NOT NULL,           -- verbatim lines, parted by one newline
  headings TEXT NOT NULL,           -- parted by BETWEEN
  block_id TEXT                     -- if the chunk is one block that has an id
);

CREATE TABLE lines (                -- what each line of a chunk is, so that recall need not parse it
  chunk    INTEGER NOT NULL,
  place    INTEGER NOT NULL,        -- 0-based in the chunk's text
  number   INTEGER NOT NULL,        -- in a note counted from chunks.start_line; of a conversation the line of its log
  indent   INTEGER NOT NULL,
  kind     TEXT NOT NULL,           -- item, heading, text, machinery, replaced
  state    TEXT NOT NULL,           -- of a candidate: extracted, promoted, rejected, expired; else ''
  block_id TEXT NOT NULL,           -- as this and the next ones: '' for none
  speaker  TEXT NOT NULL,
  source   TEXT NOT NULL,           -- where it came from, as in the link to it
  since    TEXT NOT NULL,           -- ISO day
  until    TEXT NOT NULL,           -- the first ISO day on which it no longer holds
  PRIMARY KEY (chunk, place)
) WITHOUT ROWID;
CREATE INDEX lines_with_id ON lines (block_id) WHERE block_id <> '';
CREATE INDEX lines_rejected ON lines (chunk) WHERE state = 'rejected';
CREATE INDEX lines_replaced ON lines (source) WHERE kind = 'replaced';

CREATE VIRTUAL TABLE chunk_words USING fts5 (  -- kept by the writer: a trigger costs seven times as much
  head, text, content = 'chunk_texts', content_rowid = 'id', tokenize = "{WORDS}"
);
CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab ('chunk_words', 'row');
CREATE VIRTUAL TABLE chunk_signs USING fts5 (  -- fulltext.signs of head, text, and the first chunk's note.about
  signs, content = '', tokenize = "{SIGNS}"
);

CREATE VIRTUAL TABLE note_words USING fts5 (   -- whole notes; the text stands in chunk_texts, so none is kept here
  head, about, body, content = '', tokenize = "{WORDS}"
);

CREATE TABLE chunk_tags (           -- a note's own tags on each of its chunks, inline and heading tags where they stand
  tag   TEXT NOT NULL,              -- lower case, without #
  chunk INTEGER NOT NULL,
  PRIMARY KEY (tag, chunk)
) WITHOUT ROWID;
CREATE INDEX tags_of_chunk ON chunk_tags (chunk);

CREATE TABLE names (                -- what notes are called: file name, title, aliases; no bare dates
  name    TEXT NOT NULL,            -- naming.key of it
  note    INTEGER NOT NULL,
  written TEXT NOT NULL,            -- as it stands
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
  since     INTEGER NOT NULL,       -- yyyymmdd; 0: not said
  until     INTEGER NOT NULL,       -- yyyymmdd, the first day that it no longer holds; 99999999: not said
  source    TEXT NOT NULL,
  PRIMARY KEY (note, line)
) WITHOUT ROWID;

CREATE TABLE logs (                 -- of conversations, in an index of their own (index/talks.py)
  path   TEXT PRIMARY KEY,
  stamp  BLOB NOT NULL,             -- as of files
  bytes  INTEGER NOT NULL,          -- that were read
  before BLOB NOT NULL              -- hash of what lies before; empty: to be read whole
) WITHOUT ROWID;

CREATE TABLE said (                 -- turns, so that a copied conversation counts once
  identity TEXT NOT NULL,
  note     INTEGER NOT NULL,
  PRIMARY KEY (identity, note)
) WITHOUT ROWID;
CREATE INDEX said_in ON said (note);

CREATE TABLE answers (              -- how what was said was answered: shown beside it, never searched
  chunk INTEGER NOT NULL,
  place INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (chunk, place)
) WITHOUT ROWID;

CREATE TABLE chunk_bits (           -- of each vector in chunk_vectors the signs: what many are looked through by
  chunk INTEGER PRIMARY KEY,
  tier  INTEGER NOT NULL,
  day   INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  bits  BLOB NOT NULL
);

CREATE TABLE vector_garbage (       -- rows of these two whose chunk went while sqlite-vec was not at hand
  chunk INTEGER PRIMARY KEY
);

PRAGMA user_version = {VERSION};
"""

VECTORS = """
CREATE VIRTUAL TABLE chunk_vectors USING vec0 (
  chunk  INTEGER PRIMARY KEY,
  vector INT8[{dimension}] distance_metric = L2,
  tier   INTEGER,
  day    INTEGER,
  scope  INTEGER,
  chunk_size = {block}
)
"""
"""The KNN index over the cached vectors; made by the first process that has sqlite-vec and a vector.

Among vectors of length 1 the distance (L2) gives the order of the cosines, and of bytes sqlite-vec computes it faster.
"""
BLOCK = 512
"""Vectors that sqlite-vec keeps in one block, which takes its space while it is empty and never gives that of a deleted
one back. Half its own measure is as fast; with 256 a KNN over 12,000 vectors costs a tenth more."""

CACHE_VERSION = 1
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
  words  BLOB NOT NULL,             -- lines (2 bytes), words of each (a byte), then a bit a dimension of each word
  crc    INTEGER NOT NULL           -- of both
);
CREATE UNIQUE INDEX vectors_by_hash ON vectors (model, hash);
CREATE TABLE identity (name TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(16))));
PRAGMA user_version = {CACHE_VERSION};
"""
"""The embedding cache: a file of its own that survives every rebuild of the index."""


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of the index in an empty database, all or none."""
    connection.executescript("BEGIN;" + SCRIPT + "COMMIT;")


STAMP = Struct("<qqqq")
"""size, mtime_ns, ctime_ns, inode."""


def day_number(day: date | None, missing: int = ALWAYS) -> int:
    """A day as it is stored, yyyymmdd; ``missing`` for none."""
    return missing if day is None else day.year * 10_000 + day.month * 100 + day.day


def iso(day: int) -> str:
    """A stored day as an ISO date; empty for none."""
    return f"{day // 10_000:04d}-{day // 100 % 100:02d}-{day % 100:02d}" if day else ""


ALWAYS_LOADED = (Tier.SEMANTIC, Tier.PROCEDURAL)
"""The tiers that every prompt begins with: read before all others, and given vectors before them."""


def meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the index says of itself."""
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())


PART = "#"
"""Parts the path of a log from the id of one of its conversations, where it holds several."""


def is_folder(scope: str) -> bool:
    """Whether a scope is a folder, not a project: no name of a project holds a slash."""
    return "/" in scope or "\\" in scope


def log_of(path: str) -> str:
    """The log of a conversation, by its path here."""
    head, part, rest = path.rpartition(PART)
    return head if part and "/" not in rest and "\\" not in rest and "." not in rest else path
