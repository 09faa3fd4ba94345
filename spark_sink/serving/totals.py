"""Sums over other tables, made from these where an older program made none.

Those over frontiers and side chains are kept by the merge: how much is held and lacked is then looked up, not counted
each time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spark_sink.serving.tables import TABLES


@dataclass(frozen=True, slots=True)
class _Total:
    """A table of sums."""

    source: str
    """Table that they are over; its rows only grow."""
    value: str
    """Column that is summed up, as ``held``."""
    by: str
    newest: bool = False
    """The highest value is in it, too."""


_TOTALS: Final = {
    "node_totals": _Total("frontiers", "seq", "node_no"),
    "feed_totals": _Total("frontiers", "seq", "feed_no", newest=True),
    "chunk_totals": _Total("side_chains", "held", "node_no, feed_no"),
}
SOURCES: Final = {**{name: total.source for name, total in _TOTALS.items()}, "feed_steps": "steps"}
"""Tables that are sums, and the ones that they are over."""


def fill(table: str) -> str:
    """Return the statement that makes the rows of a table of `SOURCES`, which has to be empty."""
    if table == "feed_steps":
        return (
            "INSERT INTO feed_steps (feed_no, hour_us, seq) "
            "SELECT feed_no, hour_us, max(seq) FROM steps GROUP BY feed_no, hour_us"
        )
    return _insert(table, f"{_TOTALS[table].source} n", "0")


def add(source: str) -> Iterator[str]:
    """Yield the statements that add what ``new_<source>`` brings, before it is merged."""
    for table, total in _TOTALS.items():
        if total.source != source:
            continue
        key = " AND ".join(f"f.{column} = n.{column}" for column in TABLES[source].key)
        before = f"f.{total.value}"
        rows = f"new_{source} n LEFT JOIN {source} f ON {key} WHERE {before} IS NULL OR n.{total.value} > {before}"
        told = [f"held = {table}.held + excluded.held"]
        if total.newest:
            highest = (
                f"CASE WHEN excluded.newest > {table}.newest THEN excluded.newest ELSE {table}.newest END"
            )
            told.append(f"newest = {highest}")
        insert = _insert(table, rows, f"coalesce({before}, 0)")
        yield f"{insert} ON CONFLICT ({total.by}) DO UPDATE SET {', '.join(told)}"


def _insert(table: str, rows: str, before: str) -> str:
    total = _TOTALS[table]
    by = ", ".join(f"n.{column}" for column in total.by.split(", "))
    newest = (", newest", f", max(n.{total.value})") if total.newest else ("", "")
    return (
        f"INSERT INTO {table} ({total.by}, held{newest[0]}) SELECT {by}, "  # noqa: S608 - names of ours
        f"CAST(sum(n.{total.value} - {before}) AS bigint){newest[1]} FROM {rows} GROUP BY {by}"
    )
