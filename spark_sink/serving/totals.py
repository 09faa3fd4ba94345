"""Sums over other tables, made from these where an older program made none.

Those over frontiers and side chains are kept by the merge: how much is held and lacked is then looked up, not counted
each time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spark_sink.derive.facts import HOUR_US
from spark_sink.limits import SUM_MAX
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


_HOUR_MAX: Final = SUM_MAX // 32
"""More than this counts as this: only hostile records have such numbers, and a day's sum must not overflow."""
_DAY: Final = f"hour_us - hour_us % {24 * HOUR_US}"
_COUNT_DAYS: Final = (
    "INSERT INTO count_days (node_no, day_us, kind, detail, records, total) "  # noqa: S608 - numbers of ours
    f"SELECT node_no, {_DAY}, kind, detail, "
    f"sum(CASE WHEN records > {_HOUR_MAX} THEN {_HOUR_MAX} ELSE records END), "
    f"sum(CASE WHEN total > {_HOUR_MAX} THEN {_HOUR_MAX} ELSE total END) FROM {{source}} "
    f"WHERE true GROUP BY node_no, {_DAY}, kind, detail"
)
_FEED_STEPS: Final = (
    "INSERT INTO feed_steps (feed_no, hour_us, seq) "
    "SELECT feed_no, hour_us, max(seq) FROM steps GROUP BY feed_no, hour_us"
)
_DELAY_HOURS: Final = (
    "INSERT INTO delay_hours (hour_us, scope, bucket, n) "
    "SELECT hour_us, scope, bucket, sum(n) FROM delays GROUP BY hour_us, scope, bucket"
)
_DAYS: Final = (
    f"INSERT INTO days (day_us, summed) SELECT DISTINCT {_DAY}, 0 FROM (SELECT hour_us FROM "  # noqa: S608 - as above
    "links UNION SELECT hour_us FROM transmitted UNION SELECT hour_us FROM uses UNION SELECT hour_us FROM delays) AS h"
)
_TOTALS: Final = {
    "node_totals": _Total("frontiers", "seq", "node_no"),
    "feed_totals": _Total("frontiers", "seq", "feed_no", newest=True),
    "chunk_totals": _Total("side_chains", "held", "node_no, feed_no"),
}
_FILLED: Final = {
    "feed_steps": ("steps", _FEED_STEPS),
    "delay_hours": ("delays", _DELAY_HOURS),
    "count_days": ("counts", _COUNT_DAYS.format(source="counts")),
    "days": ("links", _DAYS),
}
"""By other table what it is made from, and the statement that does it; of ``days``, all are to be summed up."""
SOURCES: Final = {
    **{name: total.source for name, total in _TOTALS.items()},
    **{name: source for name, (source, _) in _FILLED.items()},
}
"""Tables that are sums, and the ones that they are over."""


def fill(table: str) -> str:
    """Return the statement that makes the rows of a table of `SOURCES`, which has to be empty."""
    if table in _FILLED:
        return _FILLED[table][1]
    return _insert(table, f"{_TOTALS[table].source} n", "0")


def add(source: str) -> Iterator[str]:
    """Yield the statements that add what ``new_<source>`` brings, before it is merged."""
    if source == "counts":
        sums = ", ".join(
            f"{name} = CASE WHEN count_days.{name} > {SUM_MAX} - excluded.{name} THEN {SUM_MAX} "
            f"ELSE count_days.{name} + excluded.{name} END"
            for name in ("records", "total")
        )
        rows = _COUNT_DAYS.format(source="new_counts")
        yield f"{rows} ON CONFLICT (node_no, day_us, kind, detail) DO UPDATE SET {sums}"
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
