"""The database's file: schema, opening, who uses it. Format: ``docs/formats/pzp-store.md``."""

import fcntl
import os
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tinyssb_node.errors import StoreDamagedError, StoreFailedError, StoreTooNewError
from tinyssb_node.pzp.database import limits
from tinyssb_node.store.durable import sync_folder, write_anew
from tinyssb_node.store.sqlite_file import inspect_schema, store_faults

PZP_FILE: Final = "pzp.sqlite"
"""Its name in the home folder."""
PZP_VERSION: Final = 1
"""The schema written, and the newest read (``PRAGMA user_version``)."""
APPLICATION_ID: Final = int.from_bytes(b"tSSz", "big")
"""Tells it from other databases (``PRAGMA application_id``)."""

_TABLES: Final = """
CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    owner TEXT,
    kind TEXT,
    said INTEGER NOT NULL,
    strict INTEGER NOT NULL,
    alone INTEGER NOT NULL,
    added_us INTEGER NOT NULL,
    text BLOB NOT NULL
);
CREATE INDEX messages_owner ON messages (owner, number);
CREATE INDEX messages_kind ON messages (kind, number);
CREATE INDEX messages_alone ON messages (id, number) WHERE alone = 1;
CREATE INDEX messages_bare ON messages (id, said) WHERE said <> 1;
CREATE TABLE places (
    root TEXT NOT NULL,
    depth INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    prev TEXT NOT NULL,
    adds TEXT,
    taken INTEGER NOT NULL,
    PRIMARY KEY (root, depth, id)
) WITHOUT ROWID;
CREATE TABLE goals (
    root TEXT PRIMARY KEY,
    goal TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE ghosts (
    root TEXT NOT NULL,
    id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    PRIMARY KEY (root, id)
) WITHOUT ROWID;
CREATE TABLE totals (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
INSERT INTO totals VALUES (1, 0, 0);
"""


def open_for_writing(path: Path) -> tuple[sqlite3.Connection, int]:
    """Open the file at *path*, made if there is none, beside others who may have it open too.

    Returns with it a file descriptor that holds our part of its lock; closing it lets go. Raises StoreTooNewError,
    StoreDamagedError (nothing is overwritten), StoreFullError, StoreFailedError.
    """
    with store_faults(path, "opening the PZP database"), ExitStack() as undo:
        lock = _settle(path)
        undo.callback(os.close, lock)
        connection = _connect(path, "rwc")
        undo.callback(connection.close)
        # Asked before anything that writes, so that a file of somebody else's stays as it is.
        if not _is_known(connection, path):
            _create(connection, path)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise StoreFailedError(
                f"{path}: the file system cannot have a write-ahead log, or a program reads it."
            )
        connection.execute("PRAGMA synchronous = FULL")
        fcntl.flock(lock, fcntl.LOCK_SH)
        # What is erased or deleted is overwritten with zeros.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {limits.CHECKPOINT_PAGES}")
        _sync_names(path)
        undo.pop_all()
        return connection, lock


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file at *path* for reading, whoever writes it.

    Raises StoreTooNewError, StoreDamagedError, StoreFailedError (also if there is no such file).
    """
    with store_faults(path, "opening the PZP database for reading"), ExitStack() as undo:
        connection = _connect(path, "ro")
        undo.callback(connection.close)
        if not _is_known(connection, path):
            raise StoreDamagedError(path, "it is empty")
        undo.pop_all()
        return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=limits.BUSY_S)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA cache_size = -{limits.CACHE_KIB}")
    return connection


def _settle(path: Path) -> int:
    """Take our part of the lock. Who is the first puts on the disk what a process left that did not end in order.

    New commits go behind it in the write-ahead log, and would be lost with it. The first one has all of the lock, until
    the file is made: two that make it at once get into each other's way. Raises StoreFailedError.
    """
    log = path.with_name(path.name + "-wal")
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreFailedError(f"{path}: its lock cannot be opened: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)  # others have it open: one of them has done it, or does
        else:
            write_anew(log)
            if path.exists() and path.stat().st_size <= limits.NEW_FILE_MAX:
                write_anew(path)  # it may have been made, and not have got to the disk
    except OSError as error:
        os.close(lock)
        raise StoreFailedError(f"{log}: the disk or file system refused it: {error.strerror}") from error
    return lock


def _sync_names(path: Path) -> None:
    """See that file and write-ahead log have their names on the disk: SQLite asks for it, deaf to the answer."""
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise StoreFailedError(
            f"{path.parent}: the disk or file system refused it: {error.strerror}"
        ) from error


def _is_known(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our schema; False if it has nothing at all."""
    tables, application, version = inspect_schema(connection)
    if not tables and not application and not version:
        return False
    if application != APPLICATION_ID:
        raise StoreDamagedError(path, "another program's database")
    if version > PZP_VERSION:
        raise StoreTooNewError(path, version, PZP_VERSION)
    return True


def _create(connection: sqlite3.Connection, path: Path) -> None:
    """Write the schema, all of it or nothing, unless another process did so just now."""
    # Before there is anything in the file, or it would not hold.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_known(connection, path):
            for statement in _TABLES.split(";")[:-1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {PZP_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
