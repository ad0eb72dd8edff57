"""The schema of the index: one script that runs on SQLite 3.40, readable from top to bottom.

Derived data has no migrations: another version is rebuilt into a new file (:mod:`tars_memory.index.files`).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from tars_memory.index.fulltext import SIGNS, WORDS
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    import sqlite3

CHUNKER = 3
"""Raise it with every change that makes other chunks or other embedded text of the same bytes."""
VERSION = 21
"""Goes into the file's name and ``user_version``; raise it with every change below or in how rows are made."""

TIERS = ("note", "semantic", "procedural", "daily", "episodic", "talk")
"""The codes of the tier columns are positions in here."""

AUTOMATED = "automated"
"""The tag of a conversation in which a program asked, and nobody typed."""

ALWAYS = 99_999_999
"""Stands for a missing last day, so that a comparison needs no case for it."""

BETWEEN = "\x1f"
"""Parts the items of a list in one column (the ASCII unit separator; in no name)."""

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
  tier       INTEGER NOT NULL,      -- position in schema.TIERS
  scope      INTEGER NOT NULL,      -- scopes.id
  day        INTEGER NOT NULL,      -- yyyymmdd, 0: none
  day_source TEXT NOT NULL,         -- name, property, mtime (weak), '' (none)
  title      TEXT NOT NULL,
  about      TEXT NOT NULL,         -- aliases, tags, other properties, file name: searched at note level
  aliases    TEXT NOT NULL,         -- parted by schema.BETWEEN
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
  headings TEXT NOT NULL,           -- parted by schema.BETWEEN
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


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of the index in an empty database, all or none."""
    connection.executescript("BEGIN;" + SCRIPT + "COMMIT;")


STAMP = Struct("<qqqq")
"""size, mtime_ns, ctime_ns, inode."""


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
