"""Faults: alerts, single incidents, refused packets, logs that could not be read."""

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch, select


def faults(scope: Scope) -> Answer:
    """Return the answer of ``/api/faults``. Raises DatabaseFailedError."""
    return {
        "alerts": common.alert_rows(scope, most=limits.ROWS_MAX),
        "incidents": incidents(scope),
        "invalid": invalid(scope),
        "refused": refused(scope),
        "flapping": flapping(scope),
        "restarts": restarts(scope),
        "forks": forks(scope),
        "oddities": oddities(scope),
        "gaps": gaps(scope),
        "bad_lines": bad_lines(scope),
    }


def incidents(scope: Scope, node_no: int | None = None) -> list[Answer]:
    """List single records of trouble or change in the range, newest first; of one node or of all."""
    nodes = [node_no] if node_no is not None else list(scope.nodes)
    sql = (
        "SELECT node_no, boot, mono_us, t_us, kind, face, rule, detail, feed_no, seq, n FROM incidents WHERE {own}"
        f" ORDER BY t_us DESC, node_no, boot, mono_us LIMIT {limits.ROWS_MAX}"
    )
    found = []
    for row in common.own_rows(scope, sql, "t_us", nodes, scope.from_us, scope.to_us):
        number, boot, mono_us, t_us, kind, face, rule, detail, feed_no, seq, n = row
        feed = scope.feeds.get(feed_no)
        found.append(
            {
                "t_us": scope.mesh_us(number, boot, mono_us, t_us),
                **_who(scope, number),
                "kind": kind,
                "face": face,
                "rule": rule,
                "detail": detail,
                "feed": feed.feed if feed else None,
                "feed_label": feed.label if feed else None,
                "seq": seq,
                "n": n,
            }
        )
    found.sort(key=lambda row: (-row["t_us"], row["node"], row["kind"]))
    return found[: limits.ROWS_MAX]


def _most(scope: Scope, sql: str, column: str, names: tuple[str, ...]) -> list[Answer]:
    """Return rows of a node, texts and counts, with the largest last column first; names are of what comes after the
    node."""
    if column == "hour_us":
        first_us, end_us = scope.hours()
    else:
        first_us, end_us = scope.from_us, scope.to_us
    rows = common.own_rows(scope, sql, column, list(scope.nodes), first_us, end_us)
    rows.sort(key=lambda row: (-int(row[-1]), *row[:-1]))
    return [
        {**_who(scope, number), **{name: _plain(value) for name, value in zip(names, values, strict=True)}}
        for number, *values in rows[: limits.ROWS_MAX]
    ]


def _plain(value: object) -> object:
    """Return sums as whole numbers: PostgreSQL makes decimals of them."""
    return value if isinstance(value, str) or value is None else int(str(value))


def invalid(scope: Scope) -> list[Answer]:
    """Return invalid packets, by node, face and reason, most first."""
    sql = (
        "SELECT node_no, face, reason, sum(packets) FROM traffic WHERE verdict = 'invalid' AND {own}"
        " GROUP BY node_no, face, reason"
    )
    return _most(scope, sql, "hour_us", ("face", "reason", "packets"))


def refused(scope: Scope) -> list[Answer]:
    """List what was refused at a limit, by node and rule, most first."""
    sql = "SELECT node_no, detail, sum(total) FROM counts WHERE kind = 'refused' AND {own} GROUP BY node_no, detail"
    return _most(scope, sql, "hour_us", ("rule", "total"))


def flapping(scope: Scope) -> list[Answer]:
    """Return faces that went down, most often first."""
    sql = "SELECT node_no, detail, sum(records) FROM counts WHERE kind = 'face_down' AND {own} GROUP BY node_no, detail"
    return _most(scope, sql, "hour_us", ("face", "downs"))


def restarts(scope: Scope) -> list[Answer]:
    """Return boots that began in the range, and how many of them found that the one before had not ended in order."""
    sql = "SELECT node_no, sum(CASE WHEN clean = 0 THEN 1 ELSE 0 END), count(*) FROM boots WHERE {own} GROUP BY node_no"
    return _most(scope, sql, "started_us", ("unclean", "boots"))


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
        {**_who(scope, number), "boot": boot, "first_offset": first, "next_offset": following}
        for number, boot, first, following in rows
    ]


def bad_lines(scope: Scope) -> list[Answer]:
    """List the lines that are no records."""
    return select(
        scope.db, "path, byte, reason, text", "FROM bad_lines ORDER BY path, byte LIMIT ?", (limits.ROWS_MAX,)
    )


def _who(scope: Scope, number: int) -> Answer:
    return {"node": scope.node_id(number), "label": scope.label(number)}
