"""Faults: alerts, single incidents, refused packets, logs that could not be read."""

from typing import Final

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch, select


def faults(scope: Scope) -> Answer:
    """Return the answer of ``/api/faults``. Raises DatabaseFailedError."""
    return {
        "alerts": common.alert_rows(scope, most=limits.ROWS_MAX),
        "incidents": incidents(scope),
        **{name: _most(scope, name) for name in _COUNTS},
        "forks": forks(scope),
        "oddities": oddities(scope),
        "gaps": gaps(scope),
        "bad_lines": bad_lines(scope),
    }


def incidents(scope: Scope, node_no: int | None = None) -> list[Answer]:
    """List single records of trouble or change in the range, newest first; of one node or of all."""
    nodes = [node_no] if node_no is not None else scope.found_nodes()
    sql = (
        "SELECT node_no, boot, mono_us, t_us, kind, face, rule, detail, feed_no, seq, n FROM incidents WHERE {own}"
        f" ORDER BY t_us DESC, node_no, boot, mono_us LIMIT {limits.ROWS_MAX}"
    )
    found = []
    for row in common.own_rows(scope, sql, "t_us", nodes, scope.from_us, scope.to_us):
        number, boot, mono_us, t_us, kind, face, rule, detail, feed_no, seq, n = row
        found.append(
            {
                "t_us": scope.mesh_us(number, boot, mono_us, t_us),
                **scope.who(number),
                "kind": kind,
                "face": face,
                "rule": rule,
                "detail": detail,
                **scope.feed_fields(feed_no),
                "seq": seq,
                "n": n,
            }
        )
    found.sort(key=lambda row: (-row["t_us"], row["node"], row["kind"]))
    return found[: limits.ROWS_MAX]


_COUNTS: Final = {
    "invalid": (
        "hour_us", ("face", "reason", "packets"),
        "SELECT node_no, face, reason, sum(packets) FROM traffic WHERE verdict = 'invalid' AND {own} GROUP BY 1, 2, 3",
    ),
    "refused": (
        "hour_us", ("rule", "total"),
        "SELECT node_no, detail, sum(total) FROM counts WHERE kind = 'refused' AND {own} GROUP BY node_no, detail",
    ),
    "flapping": (
        "hour_us", ("face", "downs"),
        "SELECT node_no, detail, sum(records) FROM counts WHERE kind = 'face_down' AND {own} GROUP BY node_no, detail",
    ),
    "restarts": (
        "started_us", ("unclean", "boots"),
        "SELECT node_no, sum(CASE WHEN clean = 0 THEN 1 ELSE 0 END), count(*) FROM boots WHERE {own} GROUP BY node_no",
    ),
}  # fmt: skip
"""Lists of counts: the column of time, names of what comes after the node, and the statement.

Packets that were invalid; what was refused at a limit; faces that went down; and boots that began in the range, with
how many of them found that the one before had not ended in order.
"""


def _most(scope: Scope, name: str) -> list[Answer]:
    """Return a list of counts, with the largest last column first."""
    column, names, sql = _COUNTS[name]
    first_us, end_us = scope.hours() if column == "hour_us" else (scope.from_us, scope.to_us)
    rows = common.own_rows(scope, sql, column, scope.found_nodes(), first_us, end_us)
    rows.sort(key=lambda row: (-row[-1], *row[:-1]))
    return [
        {**scope.who(number), **dict(zip(names, values, strict=True))}
        for number, *values in rows[: limits.ROWS_MAX]
    ]


def forks(scope: Scope, feed_no: int | None = None) -> list[Answer]:
    """Return sequence numbers with two entries, whenever that was found; of one feed or of all, newest first."""
    rows = fetch(
        scope.db,
        "SELECT feed_no, seq, held, other, node_no, boot, mono_us, t_us FROM incidents WHERE kind = 'fork'"
        f" {'' if feed_no is None else 'AND feed_no = ?'} ORDER BY t_us DESC, node_no LIMIT ?",
        (limits.ROWS_MAX,) if feed_no is None else (feed_no, limits.ROWS_MAX),
    )
    return [
        {
            **scope.feeds[number].named(),
            "seq": seq,
            "held": held,
            "other": other,
            "node": scope.node_id(node_no),
            "node_label": scope.label(node_no),
            "t_us": scope.mesh_us(node_no, boot, mono_us, t_us),
        }
        for number, seq, held, other, node_no, boot, mono_us, t_us in rows
        if number in scope.feeds
    ]


def oddities(scope: Scope) -> list[Answer]:
    """List the files that were skipped."""
    labels = {node.node: node.label for node in scope.nodes.values()}
    rows = select(
        scope.db, "node, path, reason", "FROM oddities ORDER BY node, path LIMIT ?", (limits.ROWS_MAX,)
    )
    return [
        {"node": row["node"], "label": labels.get(row["node"], row["node"][: limits.SHORT_ID_LENGTH]), **row}
        for row in rows
    ]


def gaps(scope: Scope) -> list[Answer]:
    """List ranges of records that have not arrived."""
    rows = fetch(
        scope.db,
        "SELECT node_no, boot, first_offset, next_offset FROM gaps ORDER BY node_no, boot, first_offset LIMIT ?",
        (limits.ROWS_MAX,),
    )
    return [
        {**scope.who(number), "boot": boot, "first_offset": first, "next_offset": following}
        for number, boot, first, following in rows
    ]


def bad_lines(scope: Scope) -> list[Answer]:
    """List the lines that are no records."""
    return select(
        scope.db, "path, byte, reason, text", "FROM bad_lines ORDER BY path, byte LIMIT ?", (limits.ROWS_MAX,)
    )
