"""Contents of a serving database, with nodes and feeds by name: numbers depend on the order of reading."""

import sqlite3
from pathlib import Path
from typing import Any

from spark_sink.partials.combine import KEYS, SCHEMAS
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Reader
from tests.spark_sink.partials import oracle

NAMED = {
    "node": "(SELECT node FROM nodes WHERE nodes.node_no = t.node_no)",
    "feed": "(SELECT feed FROM feeds WHERE feeds.feed_no = t.feed_no)",
    "publisher": "(SELECT node FROM nodes WHERE nodes.node_no = t.publisher)",
}
NODE, FEED = "(SELECT node FROM nodes WHERE node_no = {})", "(SELECT feed FROM feeds WHERE feed_no = {})"
DERIVED = {
    "clocks": f"{NODE.format('t.node_no')}, boot, era, from_mono_us, base_us, at_us, offset_us, matches",
    "links": f"hour_us, {NODE.format('sender')}, {NODE.format('receiver')}, heard, sent, rssi_sum, rssi_n, "
    "round(1000 * snr_sum), snr_n, first_us, last_us",
    "transmitted": f"{NODE.format('t.node_no')}, slot_us, face, packets, airtime_us",
    "uses": f"hour_us, {NODE.format('t.node_no')}, face, packet, use, packets, airtime_us",
    "delays": f"hour_us, scope, CASE scope WHEN 'feed' THEN {FEED.format('a')} ELSE {NODE.format('a')} END, "
    f"CASE scope WHEN 'hop' THEN {NODE.format('b')} ELSE '' END, bucket, n",
    "delay_hours": "hour_us, scope, bucket, n",
    "days": "day_us, summed",
    "link_days": f"day_us, {NODE.format('sender')}, {NODE.format('receiver')}, heard, sent, rssi_sum, rssi_n, "
    "round(1000 * snr_sum), snr_n, first_us, last_us",
    "use_days": f"day_us, {NODE.format('t.node_no')}, face, packet, use, packets, airtime_us",
    "air_days": f"day_us, {NODE.format('t.node_no')}, face, packets, airtime_us, slots",
    "delay_days": f"day_us, scope, CASE scope WHEN 'feed' THEN {FEED.format('a')} ELSE {NODE.format('a')} END, "
    f"CASE scope WHEN 'hop' THEN {NODE.format('b')} ELSE '' END, n, buckets",
    "count_days": f"{NODE.format('t.node_no')}, day_us, kind, detail, records, total",
    "steps": f"{NODE.format('t.node_no')}, {FEED.format('t.feed_no')}, hour_us, seq",
    "feed_steps": f"{FEED.format('t.feed_no')}, hour_us, seq",
    "progress": "minute_us, hour_us, published, copied",
    "groups": f"slot_us, {NODE.format('t.node_no')}, hour_us, contacts, last_us",
}
"""By derived table, what of it does not depend on numbers."""


def facts(reader: Reader) -> dict[str, oracle.Facts]:
    """All facts that have rows, as the oracle has them."""
    found = {name: _table(reader, name) for name in oracle.TABLES}
    return {name: table for name, table in found.items() if table}


def _table(reader: Reader, name: str) -> oracle.Facts:
    columns = SCHEMAS[name].names
    terms = ", ".join(NAMED.get(column, f't."{column}"') for column in columns)
    rows = (dict(zip(columns, row, strict=True)) for row in reader.rows(f"SELECT {terms} FROM {name} t"))
    return {tuple(row.pop(key) for key in KEYS[name]): row for row in rows}


def derived(reader: Reader) -> dict[str, list[tuple[Any, ...]]]:
    """All derived rows, in order."""
    return {
        name: sorted(reader.rows(f"SELECT {terms} FROM {name} t"), key=repr)
        for name, terms in DERIVED.items()
    }


def told(reader: Reader) -> dict[str, list[tuple[Any, ...]]]:
    """Changes of the mesh and alerts, in order, with names in the place of numbers."""
    names = {
        ("node", str(number)): str(node) for number, node in reader.rows("SELECT node_no, node FROM nodes")
    }
    names |= {
        ("feed", str(number)): str(feed) for number, feed in reader.rows("SELECT feed_no, feed FROM feeds")
    }

    def named(subject: str) -> tuple[str, ...]:
        kind, *numbers = subject.split()
        kinds = {"boot": ["node", ""], "face": ["node", ""], "link": ["node", "node"]}.get(kind, [kind])
        return (kind, *(names.get(key, key[1]) for key in zip(kinds, numbers, strict=False)))

    alerts = reader.rows("SELECT subject, rule, since_us, until_us, level FROM alerts")
    changes = reader.rows("SELECT subject, kind, t_us FROM changes WHERE kind NOT IN ('split', 'join')")
    groups = reader.rows("SELECT 'mesh', kind, t_us FROM changes WHERE kind IN ('split', 'join')")
    return {
        name: sorted(((named(str(row[0])), *row[1:]) for row in rows), key=repr)
        for name, rows in (("alerts", alerts), ("changes", changes), ("groups", groups))
    }


def read(database: Path | str) -> tuple[dict[str, oracle.Facts], dict[str, list[tuple[Any, ...]]]]:
    """Facts and derived rows of a database."""
    reader = open_for_reading(str(database))
    try:
        return facts(reader), derived(reader)
    finally:
        reader.close()


def rows(database: Path | str, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows that a query finds in an SQLite file."""
    connection = sqlite3.connect(database)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
