"""The file behind the SQLite store: schema, opening, and errors. Format: ``docs/formats/store.md``."""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.errors import (
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
    StoreTooNewError,
)
from tinyssb_node.store import limits as store_limits
from tinyssb_node.store.durable import can_write, lacks_room

STORE_VERSION: Final = 6
"""The schema written, and the newest read (``PRAGMA user_version``)."""
APPLICATION_ID: Final = int.from_bytes(b"tSSn", "big")
"""Distinguishes a node's store from other databases, the analytics' own among them (``PRAGMA application_id``)."""
META_ARRIVALS: Final = "arrivals"
"""Name in the store of the last arrival number that was given when something was cut."""
LAST_ARRIVAL: Final = (
    "max((SELECT coalesce(max(arrival), 0) FROM entries), (SELECT coalesce(max(arrival), 0) FROM chunks))"
)
"""Expression for the highest arrival number that something has, 0 for none."""
_NOTED_ARRIVAL: Final = f"SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{META_ARRIVALS}'"  # noqa: S608 - our name
GIVEN_ARRIVAL: Final = f"max({LAST_ARRIVAL}, coalesce(({_NOTED_ARRIVAL}), 0))"
"""Expression for the highest arrival number that was ever given, also to what is deleted; 0 for none."""

_SCHEMA: Final = """
CREATE TABLE feeds (
    number INTEGER PRIMARY KEY,
    feed BLOB NOT NULL UNIQUE,
    dialect TEXT,
    seq INTEGER NOT NULL,
    tip BLOB,
    own INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    forked_at INTEGER
);
CREATE TABLE entries (
    arrival INTEGER PRIMARY KEY,
    feed INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    dmx INTEGER NOT NULL,
    packet BLOB NOT NULL,
    id BLOB NOT NULL,
    origin TEXT NOT NULL,
    face TEXT
);
CREATE UNIQUE INDEX entries_place ON entries (feed, seq);
CREATE INDEX entries_dmx ON entries (dmx);
CREATE TABLE chunks (
    arrival INTEGER PRIMARY KEY,
    feed INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    packet BLOB NOT NULL,
    origin TEXT NOT NULL,
    face TEXT
);
CREATE UNIQUE INDEX chunks_place ON chunks (feed, seq, chunk);
CREATE INDEX chunks_hash ON chunks (hash);
CREATE TABLE commits (
    arrival INTEGER PRIMARY KEY,
    committed_us INTEGER NOT NULL
);
-- A commit has no row in the appends it covers: the first commit at or after an append is its own.
CREATE VIEW dated_entries AS SELECT *, coalesce(
    (SELECT committed_us FROM commits WHERE commits.arrival >= entries.arrival ORDER BY commits.arrival LIMIT 1), 0
) AS committed_us FROM entries;
CREATE VIEW dated_chunks AS SELECT *, coalesce(
    (SELECT committed_us FROM commits WHERE commits.arrival >= chunks.arrival ORDER BY commits.arrival LIMIT 1), 0
) AS committed_us FROM chunks;
CREATE TABLE side_chains (
    feed INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    held INTEGER NOT NULL,
    next_hash BLOB NOT NULL,
    content_size INTEGER NOT NULL,
    PRIMARY KEY (feed, seq)
) WITHOUT ROWID;
CREATE TABLE forks (
    feed BLOB NOT NULL,
    seq INTEGER NOT NULL,
    proof BLOB NOT NULL,
    PRIMARY KEY (feed, seq)
) WITHOUT ROWID;
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
"""
_CHARGES: Final = """TABLE charges (
    band TEXT NOT NULL,
    number INTEGER NOT NULL,
    advert INTEGER NOT NULL,
    airtime_us INTEGER NOT NULL,
    ended_us INTEGER,
    PRIMARY KEY (band, number)
) WITHOUT ROWID;
"""
_RECEIPTS: Final = """TABLE receipts (
    number INTEGER PRIMARY KEY,
    feed INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    holder INTEGER,
    face TEXT,
    speaker BLOB NOT NULL,
    known_us INTEGER NOT NULL
);
"""
_FEEDS: Final = """
ALTER TABLE feeds ADD COLUMN child INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN retired INTEGER NOT NULL DEFAULT 0;
"""
_BEYOND: Final = """
ALTER TABLE feeds ADD COLUMN beyond INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN followed INTEGER NOT NULL DEFAULT 1;
"""
_NEWEST: Final = """TABLE newest_entries (
    feed INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    id BLOB NOT NULL,
    packet BLOB NOT NULL,
    chunks BLOB NOT NULL,
    known_us INTEGER NOT NULL,
    PRIMARY KEY (feed, seq)
);
"""
_NEWEST_FIRST: Final = f"""
ALTER TABLE feeds ADD COLUMN newest INTEGER NOT NULL DEFAULT 0;
CREATE {_NEWEST}
"""
_ADDED: Final = {
    2: f"CREATE {_CHARGES}",
    3: f"CREATE {_RECEIPTS}",
    4: _FEEDS,
    5: _BEYOND,
    6: _NEWEST_FIRST,
}
"""Statements that each version added to the one before."""
_FEEDS_LENT: Final = "CREATE TEMPORARY VIEW IF NOT EXISTS feeds AS SELECT *"
_LENT: Final = (
    (2, f"CREATE TEMPORARY {_CHARGES}"),
    (3, f"CREATE TEMPORARY {_RECEIPTS}"),
    (4, f"{_FEEDS_LENT}, 0 AS child, 0 AS retired, 0 AS beyond, 1 AS followed, 0 AS newest FROM main.feeds"),
    (5, f"{_FEEDS_LENT}, 0 AS beyond, 1 AS followed, 0 AS newest FROM main.feeds"),
    (6, f"{_FEEDS_LENT}, 0 AS newest FROM main.feeds"),
    (6, f"CREATE TEMPORARY {_NEWEST}"),
)
"""The same for a reader, which may not change the file: tables that it lacks exist for one connection, empty."""

_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
"""No room for the store, or for the index of its write-ahead log. A quota that is used up is SQLITE_IOERR_WRITE, as is
any other fault of a disk."""
_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_INDEX: Final = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""SQLite's message when it cannot make the index that readers share (https://sqlite.org/wal.html#readonly)."""
_SHARED: Final = "mode=ro"
_STILL: Final = "mode=ro&immutable=1"
"""Opening without index, log and locks: right only while no process writes
(https://sqlite.org/uri.html#uriimmutable)."""


@contextmanager
def store_faults(path: Path, doing: str) -> Iterator[None]:
    """Raise our own errors for SQLite's. Raises StoreFullError, StoreDamagedError, StoreFailedError."""
    try:
        yield
    except sqlite3.Error as error:
        # Errors of the sqlite3 module itself have no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code in _FULL or (code == sqlite3.SQLITE_IOERR_WRITE and lacks_room(path.parent)):
            raise StoreFullError(
                f"No room on the disk for {path}. What is stored was kept and can be read; nothing new is taken "
                "until there is room. Free some space."
            ) from error
        if code & 0xFF in _DAMAGED:
            raise StoreDamagedError(path, str(error)) from error
        raise StoreFailedError(f"{path}: the disk or file system refused {doing}: {error}") from error


def open_for_writing(path: Path, *, alone: bool = False) -> sqlite3.Connection:
    """Open the file at *path*, made if there is none.

    With *alone* no room is needed for the index that concurrent readers share, which a full disk has not. No other
    process can read the file then, until ``end_exclusive_mode``.

    Raises StoreTooNewError, StoreDamagedError (nothing is overwritten), StoreFullError, StoreFailedError.
    """
    with store_faults(path, "opening the store"), ExitStack() as undo:
        connection = sqlite3.connect(path, isolation_level=None, timeout=limits.STORE_BUSY_S)
        undo.callback(connection.close)
        if alone:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # Read before anything that writes, so that a file of another application stays as it is.
        version = known_schema(connection, path)
        if version is None:
            _create(connection)
        elif version < STORE_VERSION:
            _migrate(connection, version)
        if not alone:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # 512 KiB: the system caches the file too, and a flood from strangers must not fill more.
        connection.execute("PRAGMA cache_size = -512")
        pages = _log_pages(path)
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        # Without it the file keeps the size that it had while a reader kept it from being written back.
        connection.execute(f"PRAGMA journal_size_limit = {4_096 * pages}")
        undo.pop_all()
        return connection


def _log_pages(path: Path) -> int:
    """Return how many pages the write-ahead log may have: on a small disk few. Raises OSError."""
    pages = shutil.disk_usage(path.parent).total // 4_096 // store_limits.LOG_DISK_PART
    return min(store_limits.LOG_PAGES_MAX, max(store_limits.LOG_PAGES_MIN, pages))


def end_exclusive_mode(path: Path, connection: sqlite3.Connection) -> None:
    """End being alone; no transaction is open. Raises StoreFullError if there is no room for it: call it again later.

    The index is a matter of the journal's mode, which has to be left and entered again. A crash in between leaves a
    file that is as durable, and is put right the next time.
    """
    with store_faults(path, "letting others read the store"):
        for pragma in ("journal_mode = DELETE", "locking_mode = NORMAL", "journal_mode = WAL"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file at *path* for reading, while others may write: all reads see it as it is now.

    Where nothing can be written, as on a card that went read-only, the file alone is read, if it was closed in order.

    Raises StoreTooNewError, StoreDamagedError, StoreFailedError (also if there is no such file).
    """
    return _open_for_reading(path)[0]


def _open_for_reading(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open it in the same way, and return also whether no process can write the file while it is open."""
    with store_faults(path, "opening the store for reading"):
        try:
            return _connect_reading(path, _SHARED), False
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in _NO_INDEX or can_write(path.parent):
                raise
            # Readers share an index beside the file, which cannot be made there. Without it the log cannot be read, and
            # its content would be ignored; every writer writes there first.
            if _log_size(path):
                raise StoreFailedError(
                    f"{path} was not closed in order: what was written last may be in {_log_of(path).name}, "
                    "which cannot be read in a place where nothing can be written. Nothing was changed. Copy the "
                    "whole home to where you can write (cp -r, then chmod -R u+w), and name the copy with --home. "
                    "Run a node on one of the two only: from two its feed would fork."
                ) from error
        return _connect_reading(path, _STILL), True


def _log_of(path: Path) -> Path:
    """Return the path of the write-ahead log of *path*: the last process to close the file deletes it."""
    return path.with_name(path.name + "-wal")


def _log_size(path: Path) -> int:
    """Return its size in bytes, 0 if there is none."""
    try:
        return _log_of(path).stat().st_size
    except FileNotFoundError:
        return 0


def _connect_reading(path: Path, options: str) -> sqlite3.Connection:
    """Raises sqlite3.Error, StoreTooNewError, StoreDamagedError."""
    with ExitStack() as undo:
        uri = f"{path.absolute().as_uri()}?{options}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=limits.STORE_BUSY_S)
        undo.callback(connection.close)
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN")
        version = known_schema(connection, path)
        if version is None:
            raise StoreDamagedError(path, "it is empty")
        if version < STORE_VERSION:
            for statement in _since(_LENT, version):
                connection.execute(statement)
        undo.pop_all()
        return connection


class StoreFile:
    """A store's file for a reader that queries repeatedly: each query sees the file as it is then, while others write,
    and blocks no writer."""

    def __init__(self, path: Path) -> None:
        """Raises StoreTooNewError, StoreDamagedError, StoreFailedError."""
        self._path = path
        self._open()

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        """The connection to query. A file that no process could write is opened again once one has. Raises as opening
        it does."""
        changed = self._still is not None and self._still != _state_of(self._path)
        if changed and not self._opened.in_transaction:
            outdated = self._opened
            self._open()
            outdated.close()
        return self._opened

    def _open(self) -> None:
        before = _state_of(self._path)
        self._opened, still = _open_for_reading(self._path)
        self._opened.execute("ROLLBACK")
        self._still = before if still else None
        """The state of the file when no process could write it; None: one may, and SQLite handles that."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all queries within as of one moment. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")


def _state_of(path: Path) -> tuple[int, int, int, int] | None:
    """Return a value that differs whenever the file at *path*, or its log, was written; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, _log_size(path)


def known_schema(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the version of the file's schema; None if it is empty."""
    tables, application, version = inspect_schema(connection)
    if not tables and not application and not version:
        return None
    if application != APPLICATION_ID:
        raise StoreDamagedError(path, "another program's database")
    if version > STORE_VERSION:
        raise StoreTooNewError(path, version, STORE_VERSION)
    return version


def inspect_schema(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the size of the schema, the application of the file, and its version: all 0 if it is empty.

    One query, as another process may be making the file meanwhile. Raises sqlite3.Error.
    """
    (found,) = connection.execute(
        "SELECT (SELECT count(*) FROM sqlite_schema), application_id, user_version "
        "FROM pragma_application_id, pragma_user_version"
    )
    tables, application, version = found
    return tables, application, version


def _create(connection: sqlite3.Connection) -> None:
    """Write the schema, all of it or nothing."""
    added = " ".join(_ADDED.values())
    connection.executescript(
        f"BEGIN IMMEDIATE; {_SCHEMA} {added} PRAGMA application_id = {APPLICATION_ID}; "
        f"PRAGMA user_version = {STORE_VERSION}; COMMIT;"
    )


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate an older *version* to this one, all of it or nothing: tables and columns are added, no row is touched."""
    added = " ".join(_since(_ADDED.items(), version))
    connection.executescript(f"BEGIN IMMEDIATE; {added} PRAGMA user_version = {STORE_VERSION}; COMMIT;")


def _since(statements: Iterable[tuple[int, str]], version: int) -> list[str]:
    """Return those of *statements*, each with the version that it makes, that add what a file of *version* lacks."""
    return [statement for number, statement in statements if number > version]
