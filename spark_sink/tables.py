"""The serving database: its tables and views, and how it is opened (docs/formats/serving.md)."""

import sqlite3
from pathlib import Path
from typing import Final

from spark_sink import errors, limits

TABLES: Final = """
CREATE TABLE nodes (
    node TEXT NOT NULL PRIMARY KEY, name TEXT, feed TEXT, boot INTEGER NOT NULL, last_t_us INTEGER NOT NULL,
    running INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE frontier (
    node TEXT NOT NULL, feed TEXT NOT NULL, seq INTEGER NOT NULL, t_us INTEGER NOT NULL,
    PRIMARY KEY (node, feed)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    feed TEXT NOT NULL, seq INTEGER NOT NULL,
    id TEXT NOT NULL, size INTEGER NOT NULL, chunks INTEGER NOT NULL,
    publisher TEXT, published_us INTEGER, first_us INTEGER NOT NULL,
    PRIMARY KEY (feed, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE copies (
    node TEXT NOT NULL, feed TEXT NOT NULL, seq INTEGER NOT NULL, t_us INTEGER NOT NULL, origin TEXT NOT NULL,
    face TEXT,
    PRIMARY KEY (node, feed, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE progress (
    second_us INTEGER NOT NULL PRIMARY KEY, published INTEGER NOT NULL, copied INTEGER NOT NULL
) STRICT;
CREATE TABLE traffic (
    node TEXT NOT NULL, minute_us INTEGER NOT NULL, direction TEXT NOT NULL, face TEXT NOT NULL,
    packet TEXT NOT NULL, verdict TEXT NOT NULL,
    packets INTEGER NOT NULL, bytes INTEGER NOT NULL, airtime_us INTEGER NOT NULL,
    PRIMARY KEY (node, minute_us, direction, face, packet, verdict)
) STRICT, WITHOUT ROWID;
CREATE TABLE link_sums (
    sender TEXT NOT NULL, receiver TEXT NOT NULL, packets INTEGER NOT NULL,
    rssi_sum INTEGER NOT NULL, rssi_n INTEGER NOT NULL, snr_sum REAL NOT NULL, snr_n INTEGER NOT NULL,
    forgotten_us INTEGER,
    PRIMARY KEY (sender, receiver)
) STRICT, WITHOUT ROWID;
CREATE TABLE sightings (
    hash TEXT NOT NULL, node TEXT NOT NULL, direction TEXT NOT NULL, face TEXT NOT NULL,
    t_us INTEGER NOT NULL, rssi_dbm INTEGER, snr_db REAL, sender TEXT
) STRICT;
CREATE INDEX sightings_by_hash ON sightings (hash, direction, t_us);
CREATE INDEX sightings_by_link ON sightings (sender, node, t_us) WHERE sender IS NOT NULL;
CREATE TABLE events_count (
    kind TEXT NOT NULL, node TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE sets (
    node TEXT NOT NULL PRIMARY KEY, feeds INTEGER NOT NULL, state TEXT NOT NULL, t_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE forks (
    node TEXT NOT NULL, feed TEXT NOT NULL, seq INTEGER NOT NULL, held TEXT NOT NULL, other TEXT NOT NULL,
    t_us INTEGER NOT NULL,
    PRIMARY KEY (node, feed, seq, other)
) STRICT, WITHOUT ROWID;
CREATE TABLE bad_lines (
    path TEXT NOT NULL, byte INTEGER NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (path, byte)
) STRICT, WITHOUT ROWID;
CREATE TABLE batches (
    query TEXT NOT NULL PRIMARY KEY, batch_id INTEGER NOT NULL, rows INTEGER NOT NULL,
    committed_us INTEGER NOT NULL, newest_t_us INTEGER
) STRICT, WITHOUT ROWID;
"""

STAGING: Final = """
CREATE TEMP TABLE new_copies (
    node TEXT, feed TEXT, seq INTEGER, id TEXT, size INTEGER, chunks INTEGER, t_us INTEGER, origin TEXT, face TEXT,
    PRIMARY KEY (node, feed, seq)
) WITHOUT ROWID;
CREATE TEMP TABLE new_firsts (
    feed TEXT, seq INTEGER, first_us INTEGER, known_us INTEGER, PRIMARY KEY (feed, seq)
) WITHOUT ROWID;
CREATE TEMP TABLE touched (hash TEXT PRIMARY KEY, low_us INTEGER, high_us INTEGER) WITHOUT ROWID;
"""
"""Where a batch's rows are put side by side with what is there, in the writer's connection only."""

VIEWS: Final = """
CREATE VIEW behind AS
    SELECT n.node, m.feed, coalesce(f.seq, 0) AS seq, m.newest, m.newest - coalesce(f.seq, 0) AS behind
    FROM nodes n
    CROSS JOIN (SELECT feed, max(seq) AS newest FROM frontier GROUP BY feed) m
    LEFT JOIN frontier f ON f.node = n.node AND f.feed = m.feed;
CREATE VIEW delays AS
    SELECT c.node, c.feed, c.seq, c.origin, c.face, c.t_us, c.t_us - e.published_us AS delay_us
    FROM copies c JOIN entries e USING (feed, seq)
    WHERE c.origin <> 'own' AND e.published_us IS NOT NULL;
CREATE VIEW convergence AS
    SELECT second_us AS t_us, sum(published) OVER sofar AS published, sum(copied) OVER sofar AS copied,
           sum(published) OVER sofar * (SELECT count(*) FROM nodes) - sum(copied) OVER sofar AS missing
    FROM progress
    WINDOW sofar AS (ORDER BY second_us);
CREATE VIEW links AS
    SELECT sender, receiver, packets, rssi_sum, rssi_n, snr_sum, snr_n,
           max(coalesce(forgotten_us, -1), coalesce(
               (SELECT max(s.t_us) FROM sightings s WHERE s.sender = l.sender AND s.node = l.receiver), -1
           )) AS last_us
    FROM link_sums l
    WHERE packets > 0;
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the serving database, make it if there is none. The caller manages transactions (autocommit).

    Any thread may use the connection, one at a time: Spark calls back in threads of its own.

    Raises NotServingDatabaseError, NewerDatabaseError; sqlite3.OperationalError if the disk refuses.
    """
    connection = sqlite3.connect(
        path, timeout=limits.BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        if _is_new(connection):
            _create(connection)
        _check(connection, path)
        connection.execute("PRAGMA synchronous = FULL")  # Spark's checkpoint must not be ahead of us
        connection.executescript(STAGING)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the serving database read-only, beside a job that may be writing it.

    Raises NoDatabaseError, NotServingDatabaseError, NewerDatabaseError.
    """
    if not path.exists():
        raise errors.NoDatabaseError(path)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=limits.BUSY_TIMEOUT_S, isolation_level=None)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_new(connection: sqlite3.Connection) -> bool:
    try:
        (count,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError:
        return False  # not a database at all: _check says so
    return bool(count == 0)


def _create(connection: sqlite3.Connection) -> None:
    """Make tables and views in one transaction, so that a crash leaves either all of it or an empty file."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        f"BEGIN IMMEDIATE; {TABLES} {VIEWS} PRAGMA application_id = {limits.APPLICATION_ID}; "
        f"PRAGMA user_version = {limits.SERVING_VERSION}; COMMIT;"
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise errors.NotServingDatabaseError(path) from error
    if application_id != limits.APPLICATION_ID:
        raise errors.NotServingDatabaseError(path)
    if version > limits.SERVING_VERSION:
        raise errors.NewerDatabaseError(path, version)
