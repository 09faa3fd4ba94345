"""The catalog's file: schema, opening, errors, rebuilding. Format: ``docs/formats/catalog.md``."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

from tinyssb_node.catalog.errors import (
    CatalogBusyError,
    CatalogDamagedError,
    CatalogFailedError,
    CatalogFullError,
    CatalogReadOnlyError,
)
from tinyssb_node.errors import phrase
from tinyssb_node.store.sqlite_file import inspect_schema

CATALOG_VERSION: Final = 8
"""The schema written, and the only one read: another one is rebuilt."""
APPLICATION_ID: Final = int.from_bytes(b"tSSc", "big")
"""Tells a catalog from other databases (``PRAGMA application_id``)."""
CATALOG_FILE: Final = "content.sqlite"
"""Its name, beside the store."""

TABLES: Final = (
    """CREATE TABLE state (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        reader BLOB NOT NULL,
        arrival INTEGER NOT NULL,
        packet BLOB NOT NULL,
        placed INTEGER NOT NULL,
        kept_arrival INTEGER NOT NULL,
        kept_packet BLOB NOT NULL
    )""",
    """CREATE TABLE people (
        number INTEGER PRIMARY KEY,
        feed BLOB NOT NULL UNIQUE,
        own INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        last_us INTEGER NOT NULL,
        said TEXT,
        said_seq INTEGER NOT NULL
    )""",
    """CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        id BLOB NOT NULL,
        feed INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        committed_us INTEGER NOT NULL,
        said_us INTEGER,
        low_minutes INTEGER,
        origin TEXT NOT NULL,
        kind TEXT NOT NULL,
        space TEXT,
        root BLOB,
        previous BLOB NOT NULL,
        lacking INTEGER NOT NULL,
        placed INTEGER,
        order_us INTEGER,
        followed INTEGER NOT NULL,
        text TEXT NOT NULL,
        cut INTEGER NOT NULL,
        voice_size INTEGER NOT NULL,
        size INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        held INTEGER NOT NULL,
        private INTEGER NOT NULL,
        content BLOB
    )""",
    "CREATE UNIQUE INDEX messages_id ON messages (id)",
    "CREATE UNIQUE INDEX messages_entry ON messages (feed, seq)",
    "CREATE INDEX messages_placed ON messages (root, placed) WHERE placed IS NOT NULL",
    "CREATE INDEX messages_order ON messages (root, order_us, id) WHERE placed IS NOT NULL",
    "CREATE INDEX messages_author ON messages (root, feed, seq) WHERE placed IS NOT NULL",
    "CREATE INDEX messages_waiting ON messages (root, number) WHERE placed IS NULL AND space IS NOT NULL",
    "CREATE INDEX messages_tips ON messages (root, placed) WHERE followed = 0 AND placed IS NOT NULL",
    "CREATE INDEX messages_boards ON messages (number) WHERE content IS NOT NULL AND root = id",
    "CREATE INDEX messages_arriving ON messages (number) WHERE held < chunks",
    "CREATE INDEX messages_data ON messages (number) WHERE kind = 'data'",
    "CREATE INDEX messages_blocks ON messages (feed, seq) WHERE kind = 'BLK'",
    "CREATE INDEX messages_positions ON messages (feed, seq) WHERE kind = 'POS'",
    "CREATE INDEX messages_sensors ON messages (feed, seq) WHERE kind = 'TLM'",
    """CREATE TABLE further_ties (
        number INTEGER PRIMARY KEY,
        message INTEGER NOT NULL,
        id BLOB NOT NULL,
        feed INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        said_us INTEGER,
        space TEXT NOT NULL,
        root BLOB,
        previous BLOB NOT NULL,
        lacking INTEGER NOT NULL,
        placed INTEGER,
        order_us INTEGER,
        followed INTEGER NOT NULL
    )""",
    "CREATE INDEX further_ties_id ON further_ties (id)",
    "CREATE INDEX further_ties_author ON further_ties (root, feed, seq) WHERE placed IS NOT NULL",
    "CREATE INDEX further_ties_entry ON further_ties (feed, seq)",
    "CREATE TABLE waits (previous BLOB, number INTEGER, PRIMARY KEY (previous, number)) WITHOUT ROWID",
    "CREATE TABLE brief_ties (tie BLOB, number INTEGER, id BLOB NOT NULL, PRIMARY KEY (tie, number)) WITHOUT ROWID",
    """CREATE TABLE orders (
        space TEXT,
        root BLOB,
        unsettled INTEGER NOT NULL,
        contradicted INTEGER NOT NULL,
        PRIMARY KEY (space, root)
    ) WITHOUT ROWID""",
    """CREATE TABLE circles (
        root BLOB PRIMARY KEY,
        name TEXT NOT NULL,
        members BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE speakers (
        root BLOB,
        feed INTEGER,
        messages INTEGER NOT NULL,
        placed INTEGER NOT NULL,
        PRIMARY KEY (root, feed)
    ) WITHOUT ROWID""",
    """CREATE VIRTUAL TABLE words USING fts5(
        text, content='messages', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
    )""",
    "INSERT INTO state VALUES (1, x'', 0, x'', 0, 0, x'')",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {CATALOG_VERSION}",
)
_NAMES: Final = (
    "words",
    "state",
    "people",
    "messages",
    "further_ties",
    "waits",
    "brief_ties",
    "orders",
    "circles",
    "speakers",
)

_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""A statement of ours that SQLite rejects shows that the tables are not ours."""
_REFUSED: Final = {
    sqlite3.SQLITE_FULL: (CatalogFullError, phrase("there is no room on the disk")),
    sqlite3.SQLITE_READONLY: (CatalogReadOnlyError, phrase("it may not be written")),
    sqlite3.SQLITE_CANTOPEN: (CatalogReadOnlyError, phrase("it may not be written there")),
    sqlite3.SQLITE_PERM: (CatalogReadOnlyError, phrase("it may not be written")),
    sqlite3.SQLITE_BUSY: (CatalogBusyError, phrase("another process is writing it")),
    sqlite3.SQLITE_LOCKED: (CatalogBusyError, phrase("another process is writing it")),
}


class CatalogFileState(StrEnum):
    """The state of the catalog's file."""

    CURRENT = "current"
    EMPTY = "empty"
    """Nothing yet."""
    OTHER = "other"
    """A catalog of another version."""
    FOREIGN = "foreign"
    """A database of something else."""


@contextmanager
def catalog_faults(path: Path) -> Iterator[None]:
    """Translate errors of SQLite. Raises CatalogFailedError, or a subclass of it."""
    try:
        yield
    except sqlite3.Error as error:
        # Errors of the sqlite3 module itself have no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
        if code in _DAMAGED:
            raise CatalogDamagedError(path, str(error)) from error
        kind, reason = _REFUSED.get(code, (CatalogFailedError, str(error)))
        raise kind(path, reason) from error


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open the file at *path*; create it if it is missing and may be written. Its content is not checked.

    Raises CatalogFailedError.
    """
    with catalog_faults(path), ExitStack() as undo:
        try:
            if not readonly and not path.exists():
                # Created here, since SQLite would let others read content that was sealed for this node.
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise CatalogReadOnlyError(path, error.strerror or str(error)) from error
        uri = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rw'}"
        # Waits 5 s at most for another process that writes the catalog: many of its transactions.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0)
        undo.callback(connection.close)
        _tune(connection)
        undo.pop_all()
        return connection


def connect_memory() -> sqlite3.Connection:
    """Open a catalog in the memory of this process."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _tune(connection)
    return connection


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = NORMAL")
    # 16 MiB: what a transaction changes stays in memory, so that others can read meanwhile.
    connection.execute("PRAGMA cache_size = -16384")


def inspect_catalog(connection: sqlite3.Connection) -> CatalogFileState:
    """Return the state of the file. Raises sqlite3.Error."""
    tables, application, version = inspect_schema(connection)
    if application != APPLICATION_ID:
        return CatalogFileState.FOREIGN if tables or application or version else CatalogFileState.EMPTY
    return CatalogFileState.CURRENT if version == CATALOG_VERSION else CatalogFileState.OTHER


@contextmanager
def writing(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run one transaction with an exclusive lock; all of it is kept, or none. Raises CatalogFailedError."""
    with catalog_faults(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run queries on one state. Raises CatalogFailedError."""
    with catalog_faults(path):
        connection.execute("BEGIN")
        try:
            yield
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables again, within a transaction of the caller's. Raises sqlite3.Error."""
    kept = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for name in _NAMES:
        if name in kept:
            connection.execute(f"DROP TABLE {name}")
    for statement in TABLES:
        connection.execute(statement)


def remove_damaged(path: Path) -> None:
    """Remove an unusable file, unless another process has replaced it by a usable one meanwhile.

    Raises CatalogReadOnlyError.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if not _usable(path):
                path.unlink(missing_ok=True)
                path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
        finally:
            os.close(folder)
    except OSError as error:
        raise CatalogReadOnlyError(path, error.strerror or str(error)) from error


def _usable(path: Path) -> bool:
    try:
        connection = connect(path, readonly=True)
    except CatalogFailedError:
        return False
    try:
        with catalog_faults(path):
            return inspect_catalog(connection) is not CatalogFileState.FOREIGN and connection.execute(
                "PRAGMA quick_check(1)"
            ).fetchone() == ("ok",)
    except CatalogFailedError:
        return False
    finally:
        connection.close()
