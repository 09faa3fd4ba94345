"""Feeds and nodes against each other: how many entries each node lacks of each feed, now or at an earlier time."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from itertools import accumulate

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.serving.database import marks, pieces

Cells = dict[tuple[int, int], int]


def heatmap(scope: Scope) -> Answer:
    """Return the answer of ``/api/heatmap``. Which nodes and feeds are shown does not depend on ``at``, so that a
    slider moves nothing but the figures. Raises DatabaseFailedError."""
    standing = common.load_holdings(scope)
    nodes, feeds = common.shown_nodes(scope, standing.behind), common.shown_feeds(scope, standing.lacked)
    if not (nodes and feeds) and (nodes or feeds):  # the words name one side only
        whole = replace(scope, asked=replace(scope.asked, find=""))
        nodes = nodes or common.shown_nodes(whole, standing.behind)
        feeds = feeds or common.shown_feeds(whole, standing.lacked)
    at_us = scope.asked.at_us
    chunks = None
    if at_us is None:
        newest = standing.newest
        held = frontiers(scope, feeds, nodes)
        chunks = chunks_missing(scope, held, feeds, nodes)
    else:
        at_us -= at_us % limits.HOUR_US
        held = frontiers(scope, feeds, nodes, at_us)
        newest = newest_at(scope, feeds, at_us)
    ((first_us,),) = fetch(scope.db, f"SELECT min(hour_us) + {limits.HOUR_US} FROM steps")
    ((last_us,),) = fetch(scope.db, f"SELECT max(hour_us) + {limits.HOUR_US} FROM steps")
    return {
        "at_us": at_us,
        "first_us": first_us,
        "last_us": last_us,
        "nodes": [scope.nodes[number].named() for number in nodes],
        "feeds": [common.feed_row(scope, number, newest[number]) for number in feeds],
        "behind": [
            [newest[feed_no] - held.get((number, feed_no), 0) for number in nodes] for feed_no in feeds
        ],
        "chunks_missing": chunks,
        "hidden": _hidden(scope, standing.lacked, nodes, feeds),
    }


def _hidden(scope: Scope, lacked: dict[int, int], nodes: list[int], feeds: list[int]) -> dict[str, int]:
    """Return how many nodes and feeds there was no room for; none if the words name nothing."""
    if not (nodes or feeds):
        return {"nodes": 0, "feeds": 0}
    return {
        "nodes": (len(scope.found_nodes()) or len(scope.nodes)) - len(nodes),
        "feeds": (len(common.found_feeds(scope, lacked)) or len(lacked)) - len(feeds),
    }


def frontiers(scope: Scope, feeds: list[int], nodes: list[int], at_us: int | None = None) -> Cells:
    """Return the frontier of each node, by (node_no, feed_no): now, or at the end of the hour before a full hour."""
    seq = "f.seq"
    if at_us is not None:
        seq = (
            "(SELECT s.seq FROM steps s WHERE s.node_no = f.node_no AND s.feed_no = f.feed_no AND s.hour_us < ?"
            " ORDER BY s.hour_us DESC LIMIT 1)"
        )
    held: Cells = {}
    for some in pieces(nodes) if feeds else ():
        sql = (
            f"SELECT f.node_no, f.feed_no, {seq} FROM frontiers f"
            f" WHERE f.node_no IN ({marks(len(some))}) AND f.feed_no IN ({marks(len(feeds))})"
        )
        rows = fetch(scope.db, sql, (*(() if at_us is None else (at_us,)), *some, *feeds))
        held.update(((number, feed_no), seq) for number, feed_no, seq in rows if seq is not None)
    return held


def newest_at(scope: Scope, feeds: list[int], at_us: int) -> dict[int, int]:
    """Return the highest entry of each feed that any node had at the end of the hour before a full hour."""
    found = dict.fromkeys(feeds, 0)
    for some in pieces(feeds):
        sql = (
            f"SELECT feed_no, max(seq) FROM feed_steps WHERE feed_no IN ({marks(len(some))}) AND hour_us < ?"
            " GROUP BY feed_no"
        )
        found.update(dict(fetch(scope.db, sql, (*some, at_us))))
    return found


def chunks_missing(scope: Scope, held: Cells, feeds: list[int], nodes: list[int]) -> list[list[int]]:
    """Return packets of side chains that each node lacks of the entries it has, a row a feed and a column a node."""
    seqs: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, list[int]] = defaultdict(list)
    here: dict[tuple[int, int], int] = {}
    for some in pieces(feeds):
        which = f"feed_no IN ({marks(len(some))})"
        for feed_no, seq, chunks in fetch(
            scope.db,
            f"SELECT feed_no, seq, chunks FROM entries WHERE {which} AND chunks > 0 ORDER BY feed_no, seq",
            some,
        ):
            seqs[feed_no].append(seq)
            sizes[feed_no].append(chunks)
        for others in pieces(nodes):
            rows = fetch(
                scope.db,
                f"SELECT node_no, feed_no, held FROM chunk_totals WHERE {which} AND node_no IN ({marks(len(others))})",
                (*some, *others),
            )
            here.update(((number, feed_no), held) for number, feed_no, held in rows)
    table = []
    for feed_no in feeds:
        totals = [0, *accumulate(sizes[feed_no])]
        row = []
        for number in nodes:
            due = totals[bisect_right(seqs[feed_no], held.get((number, feed_no), 0))]
            row.append(max(0, due - here.get((number, feed_no), 0)))
        table.append(row)
    return table
