"""One node: its boots, clocks, faces, links, missing entries and incidents."""

from typing import Any

from spark_sink.page import limits
from spark_sink.page.queries import common, faults, gossip
from spark_sink.page.scope import Answer, Scope, fetch, select


def node(scope: Scope) -> Answer:
    """Return the answer of ``/api/node/{node}``. Raises NotKnownError, DatabaseFailedError."""
    number = scope.node().number
    (row,) = common.node_rows(scope, [number], common.load_holdings(scope).behind)
    return {
        **row,
        "boots": boots(scope, number),
        "clocks": clocks(scope, number),
        "faces": faces(scope, number),
        "hears": _named(scope, common.link_rows(scope, "receiver = ?", (number,)), "sender"),
        "heard_by": _named(scope, common.link_rows(scope, "sender = ?", (number,)), "receiver"),
        "feeds_behind": feeds_behind(scope, number),
        "incidents": faults.incidents(scope, number),
        "traffic": traffic(scope, number),
        "gossip": gossip.of_nodes(scope, [number])[number],
    }


def _named(scope: Scope, links: list[Answer], end: str) -> list[Answer]:
    """Return links with the label of the node at one end."""
    labels = {node.node: node.label for node in scope.nodes.values()}
    return [{**link, "label": labels.get(link[end])} for link in links]


def boots(scope: Scope, number: int) -> list[Answer]:
    """List its boots, newest first."""
    rows = select(
        scope.db,
        "boot, first_us AS since_us, last_us AS until_us, clean, stop_reason, version, records, stopped_us",
        "FROM boots WHERE node_no = ? ORDER BY boot DESC LIMIT ?",
        (number, limits.ROWS_MAX),
    )
    after_clean: Any = None
    for row in rows:
        stopped, clean = row.pop("stopped_us") is not None, row["clean"]
        row["clean"] = None if row is rows[0] and not stopped else stopped and after_clean != 0
        after_clean = clean
    return rows


def clocks(scope: Scope, number: int) -> list[Answer]:
    """List its clocks, newest first."""
    names = ("at_us", "offset_us", "offset_error_us", "drift_ppm", "drift_error_ppm", "matches", "mesh")
    return [
        {
            "boot": clock.boot,
            "era": clock.era,
            "since_us": clock.base_us + clock.from_mono_us,
            **{name: getattr(clock, name) for name in names},
        }
        for clock in reversed(scope.clocks.get(number, ()))
    ][: limits.ROWS_MAX]


def faces(scope: Scope, number: int) -> list[Answer]:
    """List its faces by name, and the law each is under."""
    rows = select(
        scope.db,
        "face, up, spec, t_us, region, sub_band, limit_ppm, window_us",
        "FROM faces WHERE node_no = ? ORDER BY up DESC, t_us DESC, face LIMIT ?",
        (number, limits.ROWS_MAX),
    )
    return [{**row, "up": bool(row["up"])} for row in rows]


def feeds_behind(scope: Scope, number: int) -> list[Answer]:
    """Return the feeds of which it lacks anything, most lacked first."""
    rows = fetch(
        scope.db,
        "SELECT m.feed_no, coalesce(f.seq, 0), m.newest FROM"
        " feed_totals m"
        " LEFT JOIN frontiers f ON f.node_no = ? AND f.feed_no = m.feed_no"
        " WHERE m.newest > coalesce(f.seq, 0) ORDER BY m.newest - coalesce(f.seq, 0) DESC, m.feed_no",
        (number,),
    )
    found = {*common.found_feeds(scope, [row[0] for row in rows])}
    return [
        {**scope.feeds[feed_no].named(), "seq": seq, "newest": newest, "behind": newest - seq}
        for feed_no, seq, newest in rows
        if feed_no in found
    ][: limits.FEEDS_SHOWN_MAX]


def traffic(scope: Scope, number: int) -> list[Answer]:
    """Count packets in the range by kind, direction and verdict; its hours are by its own clock."""
    sql = (
        "SELECT packet, direction, verdict, sum(packets), sum(bytes), sum(airtime_us) FROM traffic"
        " WHERE {own} GROUP BY packet, direction, verdict ORDER BY packet, direction, verdict"
    )
    rows = common.own_rows(scope, sql, "hour_us", [number], *scope.hours())
    names = ("packet", "direction", "verdict", "packets", "bytes", "airtime_us")
    return [dict(zip(names, (*row[:3], *map(int, row[3:])), strict=True)) for row in rows]
