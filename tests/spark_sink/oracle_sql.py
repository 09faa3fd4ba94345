"""Figures of a mesh counted by DuckDB on the raw logs, by the true time of each record."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from spark_sink.derive.facts import HOUR_US

Rows = list[tuple[Any, ...]]
_FIELDS = {
    "node": "VARCHAR", "boot": "BIGINT", "offset": "BIGINT", "t_us": "BIGINT", "mono_us": "BIGINT", "kind": "VARCHAR",
    "face": "VARCHAR", "packet": "VARCHAR", "verdict": "VARCHAR", "length": "BIGINT", "airtime_us": "BIGINT",
    "hash": "VARCHAR", "feed": "VARCHAR", "seq": "BIGINT", "origin": "VARCHAR",
}  # fmt: skip
EDGE_US = 5_000_000
"""More than the mesh's time may be off the true one."""


class RawLogs:
    """Logs as a table of DuckDB."""

    def __init__(self, folder: Path, true_us: Mapping[tuple[str, int, int], int]) -> None:
        """*folder* has a folder for each node; *true_us* is the time of each record by node, boot and offset."""
        self._db = duckdb.connect()
        columns = ", ".join(f"\"{name}\": '{kind}'" for name, kind in _FIELDS.items())
        truth = folder / "truth.json"
        truth.write_text(
            "".join(
                json.dumps({"node": node, "boot": boot, "offset": offset, "true_us": t_us}) + "\n"
                for (node, boot, offset), t_us in true_us.items()
            )
        )
        self._db.execute(
            f"CREATE TABLE r AS SELECT l.*, t.true_us FROM read_json('{folder}/logs/*/*.jsonl', "
            f"format = 'newline_delimited', columns = {{{columns}}}) l JOIN read_json('{truth}', "
            "format = 'newline_delimited', columns = {node: 'VARCHAR', boot: 'BIGINT', \"offset\": 'BIGINT', "
            "true_us: 'BIGINT'}) t USING (node, boot, \"offset\")"
        )

    def rows(self, sql: str) -> Rows:
        return self._db.execute(sql).fetchall()

    def records(self) -> int:
        return int(self.rows("SELECT count(*) FROM r")[0][0])

    def traffic(self) -> Rows:
        """(node, own hour, direction, packet, verdict, packets, bytes, airtime)."""
        return self.rows(
            f"SELECT node, t_us // {HOUR_US} * {HOUR_US}, kind, packet, coalesce(verdict, 'sent'), count(*), "
            "CAST(sum(length) AS BIGINT), CAST(sum(coalesce(airtime_us, 0)) AS BIGINT) FROM r "
            "WHERE kind IN ('rx', 'tx') GROUP BY ALL ORDER BY ALL"
        )

    def frontiers(self) -> Rows:
        """(node, feed, highest entry)."""
        return self.rows("SELECT node, feed, max(seq) FROM r WHERE kind = 'entry' GROUP BY ALL ORDER BY ALL")

    def heard(self) -> Rows:
        """(sender, receiver, transmissions heard): each reception is of the nearest sending of its packet."""
        return self.rows("""
            WITH pairs AS (
                SELECT h.node AS receiver, h.boot, h."offset", arg_min(
                    {'node': s.node, 'boot': s.boot, 'offset': s."offset"},
                    (abs(h.true_us - s.true_us), s.true_us)
                ) AS sending
                FROM r h JOIN r s ON s.kind = 'tx' AND s.hash = h.hash AND s.node <> h.node
                AND abs(h.true_us - s.true_us) <= 2000000
                WHERE h.kind = 'rx' GROUP BY ALL
            )
            SELECT sending.node, receiver, count(DISTINCT sending) FROM pairs GROUP BY ALL ORDER BY ALL
        """)

    def airtime(self) -> Rows:
        """(node, true hour, airtime that is surely in it, airtime that may be in it)."""
        return self.rows(f"""
            WITH sent AS (
                SELECT node, airtime_us,
                    (true_us - {EDGE_US}) // {HOUR_US} AS low, (true_us + {EDGE_US}) // {HOUR_US} AS high
                FROM r WHERE kind = 'tx' AND airtime_us > 0
            ), hours AS (SELECT node, low AS hour FROM sent UNION SELECT node, high FROM sent)
            SELECT node, hour * {HOUR_US}, CAST(sum(CASE WHEN low = high THEN airtime_us ELSE 0 END) AS BIGINT),
                CAST(sum(airtime_us) AS BIGINT)
            FROM hours JOIN sent USING (node) WHERE hour IN (low, high) GROUP BY ALL ORDER BY ALL
        """)

    def delays(self) -> Rows:
        """(node, delay of a copy), for every copy at another node than the publisher."""
        return self.rows("""
            SELECT c.node, first(c.true_us ORDER BY c.boot, c."offset") - any_value(p.true_us) AS delay
            FROM r c JOIN r p ON p.kind = 'entry' AND p.origin = 'own' AND p.feed = c.feed AND p.seq = c.seq
            WHERE c.kind = 'entry' AND c.origin <> 'own' GROUP BY c.node, c.feed, c.seq ORDER BY ALL
        """)
