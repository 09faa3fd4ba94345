"""What the page asks the serving database (docs/formats/serving.md): functions of a connection, nothing else.

No query reads a clock: "now" is the newest record, so an unchanged database gives an unchanged snapshot. Every query is
bounded by a count or by a window of time, however long the database has been filled.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from spark_sink.dashboard import limits
from spark_sink.dashboard.snapshot import (
    FeedRow,
    Hidden,
    Link,
    Missing,
    NodeRow,
    PacketCount,
    RecentEntry,
    Snapshot,
    Totals,
    Traffic,
)

_SECOND_US: Final = 1_000_000
_MINUTE_US: Final = 60_000_000

EMPTY_MESSAGE: Final = "The database is ready, but no log has been read into it yet."


def snapshot(db: sqlite3.Connection) -> Snapshot:
    """Everything the page shows, from one consistent state of the database.

    Raises sqlite3.Error if the database cannot be read or lacks a table.
    """
    db.execute("BEGIN")
    try:
        return _snapshot(db)
    finally:
        db.execute("ROLLBACK")


def _snapshot(db: sqlite3.Connection) -> Snapshot:
    committed_us = committed(db)
    as_of_us = newest_record(db, committed_us)
    if as_of_us is None:
        return Snapshot(state="empty", message=EMPTY_MESSAGE, committed_us=committed_us)
    totals = headline(db)
    nodes = shown_nodes(db)
    feeds = shown_feeds(db, {node.node: node.label for node in nodes})
    names = [node.node for node in nodes]
    air = traffic(db, as_of_us)
    latest = latest_entries(db)
    return Snapshot(
        state="ready",
        as_of_us=as_of_us,
        committed_us=committed_us,
        totals=totals,
        nodes=with_figures(nodes, delays(db, latest), air.airtime_us),
        feeds=feeds,
        behind=behind(db, [feed.feed for feed in feeds], names),
        hidden=Hidden(nodes=totals.nodes - len(nodes), feeds=totals.feeds - len(feeds)),
        convergence=convergence(db, as_of_us, totals),
        traffic=air.traffic,
        links=links(db),
        recent=recent(db, latest, names),
    )


# --- When, and how much ----------------------------------------------------------------------------------------------


def committed(db: sqlite3.Connection) -> int | None:
    """When the job last wrote, by the clock of its machine; None if it never did."""
    (committed_us,) = db.execute("SELECT max(committed_us) FROM batches").fetchone()
    return _int_or_none(committed_us)


def newest_record(db: sqlite3.Connection, committed_us: int | None) -> int | None:
    """Time of the newest record, the "now" of all figures; None if there is none.

    The job's clock is the judge: a node whose clock is ahead of it does not count, unless all are.
    """
    newest = "SELECT max(last_t_us) FROM nodes"
    if committed_us is not None:
        latest_us = committed_us + limits.CLOCK_AHEAD_MAX_US
        (as_of_us,) = db.execute(f"{newest} WHERE last_t_us <= ?", (latest_us,)).fetchone()
        if as_of_us is not None:
            return int(as_of_us)
    (as_of_us,) = db.execute(newest).fetchone()
    return _int_or_none(as_of_us)


def headline(db: sqlite3.Connection) -> Totals:
    """The counts of the headline."""
    nodes, running = db.execute("SELECT count(*), coalesce(sum(running), 0) FROM nodes").fetchone()
    feeds, entries = db.execute(
        "SELECT count(*), coalesce(sum(newest), 0) FROM (SELECT max(seq) AS newest FROM frontier GROUP BY feed)"
    ).fetchone()
    behind_nodes, missing = db.execute(
        "SELECT count(*), coalesce(sum(missing), 0)"
        " FROM (SELECT sum(behind) AS missing FROM behind GROUP BY node) WHERE missing > 0"
    ).fetchone()
    (forks,) = db.execute("SELECT count(DISTINCT feed) FROM forks").fetchone()
    (bad_lines,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM bad_lines LIMIT ?)", (limits.BAD_LINES_COUNTED_MAX,)
    ).fetchone()
    return Totals(
        nodes=nodes,
        running=running,
        feeds=feeds,
        entries=entries,
        behind=missing,
        behind_nodes=behind_nodes,
        forks=forks,
        bad_lines=bad_lines,
    )


# --- Nodes and feeds -------------------------------------------------------------------------------------------------


def shown_nodes(db: sqlite3.Connection) -> tuple[NodeRow, ...]:
    """The nodes, by label; where there are too many, those farthest behind. Their figures are filled in later."""
    rows = db.execute(
        "SELECT n.node, n.name, n.feed, n.running, n.boot, n.last_t_us, coalesce(b.missing, 0) AS missing"
        " FROM nodes n LEFT JOIN (SELECT node, sum(behind) AS missing FROM behind GROUP BY node) b USING (node)"
        " ORDER BY missing DESC, n.node LIMIT ?",
        (limits.NODES_SHOWN_MAX,),
    ).fetchall()
    namesakes = Counter(name for _node, name, *_rest in rows)
    nodes = (
        NodeRow(
            node=node,
            label=_label(node, name, shared=namesakes[name] > 1),
            feed=feed,
            running=bool(running),
            boot=boot,
            last_us=last_us,
            behind=missing,
            delay_median_us=None,
            delay_p95_us=None,
            delay_count=0,
            airtime_us=0,
        )
        for node, name, feed, running, boot, last_us, missing in rows
    )
    return tuple(sorted(nodes, key=lambda node: (node.label.casefold(), node.node)))


def _label(node: str, name: str | None, *, shared: bool) -> str:
    if not name:
        return node[: limits.SHORT_ID_LENGTH]
    return f"{name} {node[:4]}" if shared else name


def shown_feeds(db: sqlite3.Connection, labels: Mapping[str, str]) -> tuple[FeedRow, ...]:
    """The feeds: those of known nodes by the node's label, then the others; where too many, those most lacked."""
    rows = db.execute(
        "SELECT b.feed, b.newest, o.node, o.name"
        " FROM (SELECT feed, max(newest) AS newest, sum(behind) AS missing FROM behind GROUP BY feed) b"
        " LEFT JOIN nodes o ON o.feed = b.feed"
        " ORDER BY b.missing DESC, b.feed LIMIT ?",
        (limits.FEEDS_SHOWN_MAX,),
    )
    feeds = (
        FeedRow(
            feed=feed,
            label=labels.get(owner) or name or feed[: limits.SHORT_ID_LENGTH],
            owner=owner,
            newest=newest,
        )
        for feed, newest, owner, name in rows
    )
    return tuple(sorted(feeds, key=lambda feed: (feed.owner is None, feed.label.casefold(), feed.feed)))


def behind(db: sqlite3.Connection, feeds: Sequence[str], nodes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Entries behind, a row per feed and a column per node, in the orders given."""
    cells: dict[tuple[str, str], int] = {
        (feed, node): missing
        for feed, node, missing in db.execute(
            "SELECT feed, node, behind FROM behind WHERE feed IN (SELECT value FROM json_each(?))"
            " AND node IN (SELECT value FROM json_each(?))",
            (json.dumps(feeds), json.dumps(nodes)),
        )
    }
    return tuple(tuple(cells[feed, node] for node in nodes) for feed in feeds)


def with_figures(
    nodes: Iterable[NodeRow], delays_us: Mapping[str, Sequence[int]], airtime_us: Mapping[str, int]
) -> tuple[NodeRow, ...]:
    """The nodes with their replication delays and their airtime."""
    return tuple(
        replace(
            node,
            delay_median_us=round(median(delays_us[node.node])) if node.node in delays_us else None,
            delay_p95_us=percentile_95(delays_us[node.node]) if node.node in delays_us else None,
            delay_count=len(delays_us.get(node.node, ())),
            airtime_us=airtime_us.get(node.node, 0),
        )
        for node in nodes
    )


def percentile_95(values: Sequence[int]) -> int:
    """The 95th percentile by nearest rank: the smallest value that 95 of 100 do not exceed."""
    return sorted(values)[-(-95 * len(values) // 100) - 1]


# --- Over time -------------------------------------------------------------------------------------------------------


def convergence(db: sqlite3.Connection, as_of_us: int, totals: Totals) -> tuple[Missing, ...]:
    """Copies missing in the mesh, over the window before ``as_of_us``; the last step is now.

    Counted backwards from what is missing now, which needs no clock: so the line ends where the headline says, even
    if the logs of the mesh's first days are gone.
    """
    window_us = as_of_us - limits.CONVERGENCE_WINDOW_US
    (first_us,) = db.execute(
        "SELECT min(second_us) FROM progress WHERE second_us > ?", (window_us,)
    ).fetchone()
    if first_us is None:
        return ()
    step_s = max(1, -(-(as_of_us - first_us) // (_SECOND_US * limits.CONVERGENCE_POINTS_MAX)))
    changes = db.execute(
        "SELECT min(second_us - second_us % ?1, ?2) AS t_us, sum(published), sum(copied) FROM progress"
        " WHERE second_us > ?3 GROUP BY t_us ORDER BY t_us DESC",
        (step_s * _SECOND_US, as_of_us, window_us),
    )
    missing = totals.behind
    steps = [Missing(t_us=as_of_us, missing=missing)]
    t_us = as_of_us
    for t_us, published, copied in changes:
        steps.append(Missing(t_us=t_us, missing=missing))
        missing -= published * totals.nodes - copied
    steps.append(Missing(t_us=t_us - step_s * _SECOND_US, missing=missing))
    return tuple(reversed(steps))


@dataclass(frozen=True, slots=True)
class Air:
    """What the traffic window holds: packets of the mesh, airtime of each node."""

    traffic: Traffic
    airtime_us: Mapping[str, int]


def traffic(db: sqlite3.Connection, as_of_us: int) -> Air:
    """Packets by kind and verdict and airtime by node, over the last minutes before ``as_of_us``.

    The window begins with a full minute, and not before the first packet: shares of a short run are of its own time.
    """
    since_us = as_of_us - as_of_us % _MINUTE_US + _MINUTE_US - limits.TRAFFIC_WINDOW_US
    counts = db.execute(
        "SELECT t.packet, t.verdict, sum(t.packets), sum(t.bytes)"
        " FROM nodes n CROSS JOIN traffic t ON t.node = n.node AND t.minute_us >= ?"
        " GROUP BY t.packet, t.verdict ORDER BY t.packet, t.verdict",
        (since_us,),
    )
    packets = tuple(PacketCount(*row) for row in counts)
    # Apart from the counts: in the order of the key no sorting is needed, which is ten times as fast.
    sums = db.execute(
        "SELECT n.node, min(t.minute_us), coalesce(sum(t.airtime_us) FILTER (WHERE t.direction = 'tx'), 0)"
        " FROM nodes n CROSS JOIN traffic t ON t.node = n.node AND t.minute_us >= ? GROUP BY n.node",
        (since_us,),
    ).fetchall()
    began_us = min((first_us for _node, first_us, _airtime_us in sums), default=as_of_us)
    airtime_us = {node: sent_us for node, _first_us, sent_us in sums}
    window = Traffic(since_us=min(began_us, as_of_us), until_us=as_of_us, packets=packets)
    return Air(traffic=window, airtime_us=airtime_us)


# --- Links -----------------------------------------------------------------------------------------------------------


def links(db: sqlite3.Connection) -> tuple[Link, ...]:
    """Who hears whom, most packets first."""
    rows = db.execute(
        "SELECT sender, receiver, packets, rssi_sum, rssi_n, snr_sum, snr_n, last_us FROM links"
        " ORDER BY packets DESC, sender, receiver LIMIT ?",
        (limits.LINKS_SHOWN_MAX,),
    )
    return tuple(
        Link(
            sender=sender,
            receiver=receiver,
            packets=packets,
            rssi_dbm=round(rssi_sum / rssi_n, 1) if rssi_n else None,
            snr_db=round(snr_sum / snr_n, 1) if snr_n else None,
            last_us=last_us,
        )
        for sender, receiver, packets, rssi_sum, rssi_n, snr_sum, snr_n, last_us in rows
    )


# --- Entries ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One of the latest entries; ``t_us``: when it was published, or first seen if ``publisher`` is not known."""

    feed: str
    seq: int
    id: str
    size: int
    chunks: int
    publisher: str | None
    t_us: int


def latest_entries(db: sqlite3.Connection) -> tuple[Entry, ...]:
    """The latest entries of all feeds, newest first: as many as the delays are taken over."""
    rows = db.execute(
        "SELECT e.feed, e.seq, e.id, e.size, e.chunks, e.publisher, coalesce(e.published_us, e.first_us) AS t_us"
        " FROM (SELECT feed, max(seq) AS newest FROM frontier GROUP BY feed) f"
        " CROSS JOIN entries e ON e.feed = f.feed AND e.seq > f.newest - ?"
        " ORDER BY t_us DESC, e.feed, e.seq DESC LIMIT ?",
        (limits.RECENT_PER_FEED_MAX, limits.DELAY_ENTRIES_MAX),
    )
    return tuple(Entry(*row) for row in rows)


def delays(db: sqlite3.Connection, latest: Iterable[Entry]) -> dict[str, list[int]]:
    """Replication delays by node: arrival minus publication, of the copies it got of the latest entries."""
    published = [[entry.feed, entry.seq, entry.t_us] for entry in latest if entry.publisher is not None]
    delays_us: dict[str, list[int]] = defaultdict(list)
    rows = db.execute(
        "WITH k AS MATERIALIZED ("
        " SELECT value ->> 0 AS feed, value ->> 1 AS seq, value ->> 2 AS published_us FROM json_each(?))"
        " SELECT c.node, c.t_us - k.published_us FROM k CROSS JOIN nodes n"
        " CROSS JOIN copies c ON c.node = n.node AND c.feed = k.feed AND c.seq = k.seq WHERE c.origin <> 'own'",
        (json.dumps(published),),
    )
    for node, delay_us in rows:
        delays_us[node].append(delay_us)
    return delays_us


def recent(db: sqlite3.Connection, latest: Sequence[Entry], nodes: Sequence[str]) -> tuple[RecentEntry, ...]:
    """The list of latest entries: how far each came among ``nodes``.

    Who holds an entry is read off the frontiers, as the heat map is; the copies only tell when.
    """
    shown = latest[: limits.RECENT_SHOWN_MAX]
    holders: dict[int, set[str]] = defaultdict(set)
    reached_us: dict[int, int] = {}
    rows = db.execute(
        "WITH k AS MATERIALIZED (SELECT key AS place, value ->> 0 AS feed, value ->> 1 AS seq FROM json_each(?))"
        " SELECT k.place, f.node, c.t_us FROM k CROSS JOIN json_each(?) n"
        " CROSS JOIN frontier f ON f.node = n.value AND f.feed = k.feed AND f.seq >= k.seq"
        " LEFT JOIN copies c ON c.node = f.node AND c.feed = f.feed AND c.seq = k.seq",
        (_keys(shown), json.dumps(nodes)),
    )
    for place, node, t_us in rows:
        holders[place].add(node)
        if t_us is not None:
            reached_us[place] = max(t_us, reached_us.get(place, t_us))
    return tuple(
        RecentEntry(
            feed=entry.feed,
            seq=entry.seq,
            id=entry.id,
            size=entry.size,
            chunks=entry.chunks,
            publisher=entry.publisher,
            t_us=entry.t_us,
            held_by=tuple(node for node in nodes if node in holders[place]),
            reached_us=reached_us.get(place),
        )
        for place, entry in enumerate(shown)
    )


def _keys(entries: Iterable[Entry]) -> str:
    """Entries as the JSON that json_each takes: it stands for a temporary table without being one."""
    return json.dumps([[entry.feed, entry.seq] for entry in entries])


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None
