"""Sums over other tables, made from these where an older program made none.

Those over frontiers, by node and by feed, are kept by the merge: how much is held and lacked is then looked up, not
counted each time.
"""

from collections.abc import Iterator
from typing import Final

_BY: Final = {
    "node_totals": ("node_no", ("held",)),
    "feed_totals": ("feed_no", ("newest", "held")),
}
"""By table: the column that it is by, and its sums."""
_SUMS: Final = {"newest": "max(n.seq)", "held": "CAST(sum(n.seq - {before}) AS bigint)"}


SOURCES: Final = {"node_totals": "frontiers", "feed_totals": "frontiers", "feed_steps": "steps"}
"""Tables that are sums, and the ones that they are over."""


def fill(table: str) -> str:
    """Return the statement that makes the rows of a table of `SOURCES`, which has to be empty."""
    if table == "feed_steps":
        return (
            "INSERT INTO feed_steps (feed_no, hour_us, seq) "
            "SELECT feed_no, hour_us, max(seq) FROM steps GROUP BY feed_no, hour_us"
        )
    return _insert(table, "frontiers n", "0")


def add() -> Iterator[str]:
    """Yield the statements that add what ``new_frontiers`` brings, before it is merged."""
    for table, (by, sums) in _BY.items():
        rows = (
            "new_frontiers n LEFT JOIN frontiers f ON f.node_no = n.node_no AND f.feed_no = n.feed_no "
            "WHERE f.seq IS NULL OR n.seq > f.seq"
        )
        changes = {
            "held": f"{table}.held + excluded.held",
            "newest": f"CASE WHEN excluded.newest > {table}.newest THEN excluded.newest ELSE {table}.newest END",
        }
        told = ", ".join(f"{name} = {changes[name]}" for name in sums)
        yield f"{_insert(table, rows, 'coalesce(f.seq, 0)')} ON CONFLICT ({by}) DO UPDATE SET {told}"


def _insert(table: str, rows: str, before: str) -> str:
    by, sums = _BY[table]
    terms = ", ".join(_SUMS[name].format(before=before) for name in sums)
    return f"INSERT INTO {table} ({by}, {', '.join(sums)}) SELECT n.{by}, {terms} FROM {rows} GROUP BY n.{by}"  # noqa: S608 - names of ours
