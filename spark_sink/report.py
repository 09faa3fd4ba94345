"""The serving database as tables in a terminal, or as one JSON object."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """Its rows by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Query:
    name: str
    title: str
    columns: tuple[str, ...]
    sql: str


_QUERIES: Final = (
    _Query(
        "nodes",
        "Nodes",
        ("node", "name", "boot", "running", "last_t_us", "events"),
        """
        SELECT n.node, coalesce(n.name, ''), n.boot, n.running, n.last_t_us,
               (SELECT sum(c.n) FROM events_count c WHERE c.node = n.node)
        FROM nodes n ORDER BY n.name, n.node
        """,
    ),
    _Query(
        "behind",
        "Entries behind (0: holds all that anyone holds)",
        ("node", "feed", "held", "newest", "behind"),
        "SELECT node, feed, seq, newest, behind FROM behind ORDER BY feed, node",
    ),
    _Query(
        "delays",
        "Replication delay, by the nodes' clocks",
        ("node", "copies", "median_us", "p95_us"),
        """
        WITH ranked AS (
            SELECT node, delay_us, row_number() OVER (PARTITION BY node ORDER BY delay_us) AS place,
                   count(*) OVER (PARTITION BY node) AS copies
            FROM delays
        )
        SELECT node, copies, max(iif(place = (copies + 1) / 2, delay_us, NULL)),
               max(iif(place = (copies * 95 + 99) / 100, delay_us, NULL))
        FROM ranked GROUP BY node, copies ORDER BY node
        """,
    ),
    _Query(
        "packets",
        "Packets by kind and verdict",
        ("direction", "packet", "verdict", "packets", "bytes"),
        """
        SELECT direction, packet, verdict, sum(packets), sum(bytes) FROM traffic
        GROUP BY direction, packet, verdict ORDER BY direction DESC, sum(packets) DESC
        """,
    ),
    _Query(
        "airtime",
        "Airtime sent",
        ("node", "face", "packets", "airtime_us"),
        """
        SELECT node, face, sum(packets), sum(airtime_us) FROM traffic WHERE direction = 'tx'
        GROUP BY node, face ORDER BY node, face
        """,
    ),
    _Query(
        "links",
        "Who hears whom",
        ("sender", "receiver", "packets", "rssi_dbm", "snr_db"),
        """
        SELECT sender, receiver, packets, round(1.0 * rssi_sum / rssi_n, 1), round(snr_sum / snr_n, 1)
        FROM links ORDER BY sender, receiver
        """,
    ),
    _Query(
        "forks",
        "Forks (two signed entries for one place)",
        ("node", "feed", "seq", "held", "other"),
        "SELECT node, feed, seq, held, other FROM forks ORDER BY feed, seq, node",
    ),
    _Query(
        "bad_lines",
        "Lines that are no records",
        ("path", "byte", "reason"),
        "SELECT path, byte, reason FROM bad_lines ORDER BY path, byte LIMIT 100",
    ),
)


def make(connection: sqlite3.Connection) -> dict[str, Table]:
    """All tables of the report, as they were at one moment."""
    connection.execute("BEGIN")
    try:
        return {
            query.name: Table(query.title, query.columns, connection.execute(query.sql).fetchall())
            for query in _QUERIES
        }
    finally:
        connection.execute("COMMIT")


def render(report: Mapping[str, Table]) -> str:
    """The report for people: names for nodes and feeds where they are known, seconds for microseconds."""
    names = {row["node"]: row["name"] or row["node"] for row in report["nodes"].records()}
    parts = [_matrix(report["behind"], names)]
    parts += [
        _table(table, names)
        for name, table in report.items()
        if name != "behind" and (table.rows or name == "nodes")
    ]
    return "\n\n".join(part for part in [parts[1], parts[0], *parts[2:]] if part)


def _matrix(table: Table, names: Mapping[str, str]) -> str:
    """Entries behind: a line for each feed, a column for each node."""
    records = table.records()
    if not records:
        return ""
    nodes = sorted({record["node"] for record in records}, key=lambda node: names.get(node, node))
    cells = {(record["feed"], record["node"]): record["behind"] for record in records}
    newest = {record["feed"]: record["newest"] for record in records}
    rows = [
        (_feed(feed, names), newest[feed], *(cells[feed, node] for node in nodes)) for feed in sorted(newest)
    ]
    return f"{table.title}\n" + _columns(("feed", "newest", *(names.get(node, node) for node in nodes)), rows)


def _table(table: Table, names: Mapping[str, str]) -> str:
    headings = tuple(column.replace("_us", " s").replace("_", " ") for column in table.columns)
    rows = [
        tuple(_cell(column, value, names) for column, value in zip(table.columns, row, strict=True))
        for row in table.rows
    ]
    return f"{table.title}\n" + _columns(headings, rows)


def _cell(column: str, value: object, names: Mapping[str, str]) -> object:
    if value is None:
        return "-"
    if column in {"sender", "receiver"} or (column == "node" and "node" in names):
        return names.get(str(value), value)
    if column == "feed":
        return _feed(str(value), names)
    if column.endswith("_us") and isinstance(value, int):
        return f"{value / 1_000_000:.3f}"
    return value


def _feed(feed: str, names: Mapping[str, str]) -> str:
    """A feed by the name of the node whose it is, else by its first digits: a node is named by its own feed's."""
    return names.get(feed[:16], feed[:16])


def _columns(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    texts = [list(headings)] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[index]) for line in texts) for index in range(len(headings))]
    numeric = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(headings))]
    return "\n".join(
        "  "
        + "  ".join(
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in texts
    )
