"""The driver ladder, connections and files of the index: the only place that knows which SQLite is at work.

Three rungs, the first that works is taken; ``TARS_MEMORY_SQLITE`` forces one (for support and for tests):

``pysqlite3``
    A current SQLite from PyPI that loads extensions.
``sqlite3``
    The standard library, where it was built with extension loading.
``sqlite3-noext``
    The standard library without extensions: the same neighbours, computed exactly over the cached vectors.

sqlite-vec's library is found without importing its package, which would import numpy.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tars_memory.errors import UsageError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

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

    __slots__ = ("module", "name", "reason", "vec")

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
    module = driver().module
    uri = f"{path.absolute().as_uri()}?{way}"
    try:
        connection: sqlite3.Connection = module.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except module.OperationalError as error:
        if not path.exists():
            raise FileNotFoundError(str(path)) from error
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
