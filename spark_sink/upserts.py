"""What a micro-batch brought, added to the serving database in one transaction, once.

Rows come as the transforms of the same names select them. Every statement gives the same tables whatever order the
nodes' logs are read in.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spark_sink import limits
from spark_sink.errors import BatchGapError

Rows = Sequence[tuple[object, ...]]

_SIMPLE: Final = {
    "nodes": """
        INSERT INTO nodes VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, 1))
        ON CONFLICT DO UPDATE SET
            name = coalesce(?2, name), feed = coalesce(?3, feed), boot = max(boot, ?4),
            last_t_us = max(last_t_us, ?5), running = coalesce(?6, running)
    """,
    "frontier": """
        INSERT INTO frontier VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET seq = excluded.seq, t_us = excluded.t_us WHERE excluded.seq > seq
    """,
    "traffic": """
        INSERT INTO traffic VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET
            packets = packets + excluded.packets, bytes = bytes + excluded.bytes,
            airtime_us = airtime_us + excluded.airtime_us
    """,
    "events_count": "INSERT INTO events_count VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "sets": """
        INSERT INTO sets VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET feeds = excluded.feeds, state = excluded.state, t_us = excluded.t_us
    """,
    "forks": "INSERT OR IGNORE INTO forks VALUES (?, ?, ?, ?, ?, ?)",
    "bad_lines": "INSERT OR IGNORE INTO bad_lines VALUES (?, ?, ?, ?)",
}

_COPIES: Final = (
    "DELETE FROM new_copies WHERE (node, feed, seq) IN (SELECT node, feed, seq FROM copies)",
    """
    INSERT INTO new_firsts
    SELECT n.feed, n.seq, min(n.t_us), e.first_us FROM new_copies n LEFT JOIN entries e USING (feed, seq)
    GROUP BY n.feed, n.seq HAVING e.first_us IS NULL OR min(n.t_us) < e.first_us
    """,
    """
    INSERT INTO progress
    SELECT t_us - t_us % 1000000, sum(published), sum(copied) FROM (
        SELECT first_us AS t_us, 1 AS published, 0 AS copied FROM new_firsts
        UNION ALL SELECT known_us, -1, 0 FROM new_firsts WHERE known_us IS NOT NULL
        UNION ALL SELECT t_us, 0, 1 FROM new_copies
    ) WHERE true GROUP BY 1
    ON CONFLICT DO UPDATE SET published = published + excluded.published, copied = copied + excluded.copied
    """,
    """
    INSERT INTO entries
    SELECT feed, seq, id, size, chunks, iif(origin = 'own', node, NULL), iif(origin = 'own', t_us, NULL), t_us
    FROM new_copies WHERE true
    ON CONFLICT DO UPDATE SET
        id = iif(excluded.publisher IS NULL, id, excluded.id), publisher = coalesce(publisher, excluded.publisher),
        published_us = coalesce(published_us, excluded.published_us), first_us = min(first_us, excluded.first_us)
    """,
    "INSERT INTO copies SELECT node, feed, seq, t_us, origin, face FROM new_copies",
    "DELETE FROM new_firsts",
    "DELETE FROM new_copies",
)

_STAGE_COPY: Final = """
    INSERT INTO new_copies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET t_us = excluded.t_us, origin = excluded.origin, face = excluded.face
    WHERE excluded.t_us < t_us
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch, and which stream it belongs to."""

    query: str
    """Spark's id of the query, kept in its checkpoint."""
    batch_id: int
    """Counts the query's batches from 0."""
    tables: Mapping[str, Rows]
    """By transform, its rows; what brought nothing may be missing."""
    now_us: int
    """When it is added, by this machine's clock."""


def last_batch(connection: sqlite3.Connection, query: str) -> int | None:
    """Number of the last batch of *query* that was added, None before the first."""
    row = connection.execute("SELECT batch_id FROM batches WHERE query = ?", (query,)).fetchone()
    return None if row is None else int(row[0])


def add(connection: sqlite3.Connection, batch: Batch) -> bool:
    """Add *batch* unless it was added before, which is what is returned. Durable when this returns.

    Raises BatchGapError if a batch before it is missing; sqlite3.OperationalError if the disk refuses. Then nothing
    was added.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        added = _add(connection, batch)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return added


def _add(connection: sqlite3.Connection, batch: Batch) -> bool:
    last = last_batch(connection, batch.query)
    expected = 0 if last is None else last + 1
    if batch.batch_id < expected:
        return False
    if batch.batch_id > expected:
        raise BatchGapError(expected, batch.batch_id)
    for table, statement in _SIMPLE.items():
        connection.executemany(statement, batch.tables.get(table, ()))
    _add_copies(connection, batch.tables.get("appended", ()))
    _add_sightings(connection, batch.tables.get("sightings", ()))
    rows = sum(row[2] for row in batch.tables.get("events_count", ()) if isinstance(row[2], int))
    newest = max((row[4] for row in batch.tables.get("nodes", ()) if isinstance(row[4], int)), default=None)
    connection.execute(
        """
        INSERT INTO batches VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET
            batch_id = excluded.batch_id, rows = rows + excluded.rows, committed_us = excluded.committed_us,
            newest_t_us = excluded.newest_t_us
        """,
        (batch.query, batch.batch_id, rows, batch.now_us, newest),
    )
    return True


def _add_copies(connection: sqlite3.Connection, rows: Rows) -> None:
    connection.executemany(_STAGE_COPY, rows)
    for statement in _COPIES:
        connection.execute(statement)


_STAGE_TOUCHED: Final = """
    INSERT INTO touched SELECT hash, min(t_us) - :window, max(t_us) + :window FROM sightings
    WHERE rowid > :before GROUP BY hash
"""

_COUNT_LINKS: Final = """
    INSERT INTO link_sums
    SELECT s.sender, s.node, :sign * count(*), :sign * coalesce(sum(s.rssi_dbm), 0), :sign * count(s.rssi_dbm),
           :sign * total(s.snr_db), :sign * count(s.snr_db), NULL
    FROM touched CROSS JOIN sightings s
    WHERE s.hash = touched.hash AND s.direction = 'rx' AND s.t_us BETWEEN touched.low_us AND touched.high_us
        AND s.sender IS NOT NULL
    GROUP BY s.sender, s.node
    ON CONFLICT DO UPDATE SET
        packets = packets + excluded.packets, rssi_sum = rssi_sum + excluded.rssi_sum,
        rssi_n = rssi_n + excluded.rssi_n, snr_sum = snr_sum + excluded.snr_sum, snr_n = snr_n + excluded.snr_n
"""

_FIND_SENDERS: Final = """
    UPDATE sightings AS heard SET sender = coalesce((
        SELECT sent.node FROM sightings sent
        WHERE sent.hash = heard.hash AND sent.direction = 'tx' AND sent.node <> heard.node
            AND sent.t_us BETWEEN heard.t_us - :window AND heard.t_us
        ORDER BY sent.t_us DESC, sent.node LIMIT 1
    ), (
        SELECT sent.node FROM sightings sent
        WHERE sent.hash = heard.hash AND sent.direction = 'tx' AND sent.node <> heard.node
            AND sent.t_us BETWEEN heard.t_us AND heard.t_us + :window
        ORDER BY sent.t_us, sent.node LIMIT 1
    )    ) WHERE rowid IN (
        SELECT s.rowid FROM touched CROSS JOIN sightings s
        WHERE s.hash = touched.hash AND s.direction = 'rx' AND s.t_us BETWEEN touched.low_us AND touched.high_us
    )
"""

_FORGET: Final = (
    """
    INSERT INTO link_sums
    SELECT sender, node, 0, 0, 0, 0.0, 0, max(t_us) FROM sightings
    WHERE rowid <= :newest AND sender IS NOT NULL GROUP BY sender, node
    ON CONFLICT DO UPDATE SET forgotten_us = max(coalesce(forgotten_us, 0), excluded.forgotten_us)
    """,
    "DELETE FROM sightings WHERE rowid <= :newest",
)


def _add_sightings(connection: sqlite3.Connection, rows: Rows) -> None:
    """Add single packets, and put every packet they may shed light on down to its likeliest sender (again)."""
    before = _newest_sighting(connection)
    connection.executemany("INSERT INTO sightings VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", rows)
    window = {"window": limits.LINK_WINDOW_US}
    connection.execute(_STAGE_TOUCHED, {**window, "before": before})
    connection.execute(_COUNT_LINKS, {"sign": -1})
    connection.execute(_FIND_SENDERS, window)
    connection.execute(_COUNT_LINKS, {"sign": 1})
    connection.execute("DELETE FROM touched")
    forgotten = {"newest": _newest_sighting(connection) - limits.SIGHTINGS_MAX}
    for statement in _FORGET:
        connection.execute(statement, forgotten)


def _newest_sighting(connection: sqlite3.Connection) -> int:
    (newest,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM sightings").fetchone()
    return int(newest)
