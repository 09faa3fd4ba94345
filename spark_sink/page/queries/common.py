"""Figures that several views compute in the same way."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from spark_sink.derive.alert_rules import RULES
from spark_sink.derive.buckets import NEGATIVE, bucket_low_us, percentiles_us
from spark_sink.page import limits
from spark_sink.page.clocks import clock_of_boot
from spark_sink.page.scope import Answer, Rows, Scope, fetch, select
from spark_sink.page.time_span import time_span
from spark_sink.serving.database import marks, pieces
from spark_sink.serving.day_sums import DAY_US, unpack_buckets

Pair: TypeAlias = tuple[int, int]
OwnRanges: TypeAlias = dict[tuple[int, int], list[int]]
"""Nodes by a range of time by their own clocks."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Entries that nodes have and lack, by their frontiers."""

    newest: dict[int, int]
    """The highest entry of each feed that any node holds."""
    lacked: dict[int, int]
    """Entries of each feed that are lacked, all nodes together."""
    behind: dict[int, int]
    """Entries that each node lacks, all feeds together."""


def load_holdings(scope: Scope) -> Holdings:
    """Load how far each node and feed is, from the sums that the merge keeps. Raises DatabaseFailedError.

    Entries that a node lacks are the sum over all feeds minus what it holds.
    """
    feeds = fetch(scope.db, "SELECT feed_no, newest, held FROM feed_totals")
    held: dict[int, int] = dict(fetch(scope.db, "SELECT node_no, held FROM node_totals"))
    newest = {feed_no: seq for feed_no, seq, _total in feeds}
    known = sum(newest.values())
    return Holdings(
        newest=newest,
        lacked={feed_no: seq * len(scope.nodes) - total for feed_no, seq, total in feeds},
        behind={number: known - held.get(number, 0) for number in scope.nodes},
    )


def shown_nodes(scope: Scope, behind: dict[int, int]) -> list[int]:
    """Return the nodes that were asked for by label; where there are too many, those farthest behind."""
    worst = sorted(scope.found_nodes(), key=lambda number: (-behind.get(number, 0), scope.nodes[number].node))
    shown = worst[: limits.NODES_SHOWN_MAX]
    return sorted(shown, key=lambda number: (scope.nodes[number].label.casefold(), scope.nodes[number].node))


def shown_feeds(scope: Scope, behind: dict[int, int]) -> list[int]:
    """Return the feeds that were asked for and that any node holds: those of known nodes by label, then others; if too
    many, those most lacked."""
    known = found_feeds(scope, behind)
    worst = sorted(known, key=lambda number: (-behind[number], scope.feeds[number].feed))
    feeds = [scope.feeds[number] for number in worst[: limits.FEEDS_SHOWN_MAX]]
    feeds.sort(key=lambda feed: (feed.owner is None, feed.label.casefold(), feed.feed))
    return [feed.number for feed in feeds]


def found_feeds(scope: Scope, known: Iterable[int]) -> list[int]:
    """Return those of some feeds that were asked for."""
    feeds = [scope.feeds[number] for number in known if number in scope.feeds]
    return [feed.number for feed in feeds if scope.finds(feed.label, feed.feed)]


def feed_row(scope: Scope, number: int, newest: int) -> Answer:
    """Return a feed as lists have it."""
    feed = scope.feeds[number]
    return {**feed.named(), "owner": feed.owner, "newest": newest}


def spread(counts: Iterable[tuple[int, int]]) -> Answer:
    """Return median, 95th percentile and number of delays from (bucket, count) pairs; both null where there are
    none."""
    pairs = list(counts)
    found = percentiles_us([bucket for bucket, _n in pairs], [n for _bucket, n in pairs], (0.5, 0.95))
    median_us, p95_us = (round(value) for value in found) if found else (None, None)
    return {"n": sum(n for _bucket, n in pairs), "median_us": median_us, "p95_us": p95_us}


def bucket_rows(counts: dict[int, int]) -> list[tuple[int, int, int]]:
    """Return buckets as [from, to, n], microseconds; delays below 0, of clocks that are not quite right, count as 0."""
    if not counts:
        return []
    buckets = sorted(counts)
    numbers = np.asarray(buckets, np.int64)
    lows = bucket_low_us(numbers).tolist()
    highs = np.where(numbers == NEGATIVE, 0, bucket_low_us(numbers + 1)).tolist()
    return [(low, high, counts[bucket]) for low, high, bucket in zip(lows, highs, buckets, strict=True)]


def delays_by(scope: Scope, kind: str, some: Sequence[Pair]) -> dict[Pair, dict[int, int]]:
    """Return counts by bucket of these (a, b) of a scope of the table ``delays``, in the range."""
    packed: dict[Pair, list[bytes]] = defaultdict(list)
    counts: dict[Pair, list[tuple[int, int]]] = defaultdict(list)
    span = time_span(scope, *scope.hours())
    for pairs in pieces(some, limits.NODES_PER_QUERY) if span.days else ():
        values = ", ".join(["(?, ?)"] * len(pairs))
        numbers = [number for pair in pairs for number in pair]
        for days in pieces(span.days):
            rows = fetch(
                scope.db,
                f"WITH w (a, b) AS (VALUES {values}) SELECT t.a, t.b, t.buckets FROM w CROSS JOIN delay_days t"
                f" WHERE t.day_us IN ({marks(len(days))}) AND t.scope = ? AND t.a = w.a AND t.b = w.b",
                (*numbers, *days, kind),
            )
            for a, b, buckets in rows:
                packed[a, b].append(buckets)
    wanted, numbers = set(some), sorted({a for a, _b in some})
    for from_us, to_us in span.rest if some else ():
        rows = fetch(
            scope.db,
            "SELECT a, b, bucket, sum(n) FROM delays WHERE hour_us >= ? AND hour_us < ? AND scope = ?"
            f" AND a IN ({marks(len(numbers))}) GROUP BY a, b, bucket",
            (from_us, to_us, kind, *numbers),
        )
        for a, b, bucket, n in rows:
            if (a, b) in wanted:
                counts[a, b].append((bucket, int(n)))
    known = [pair for pair in some if pair in packed or pair in counts]
    return {pair: unpack_buckets(packed[pair], counts[pair]) for pair in known}


def airtime_sums(scope: Scope, from_us: int, to_us: int) -> dict[int, int]:
    """Return airtime that nodes spent in slots beginning in a range."""
    if from_us >= to_us:
        return {}
    # All nodes, named one by one, are found by the key; PostgreSQL would join a subquery in a bad order.
    numbers = ", ".join(map(str, scope.nodes))
    rows, asked = time_span(scope, from_us, to_us).rows(
        "transmitted", "node_no, airtime_us", "true", (), by_key=f"node_no IN ({numbers})"
    )
    sql = f"SELECT node_no, sum(airtime_us) FROM {rows} GROUP BY node_no"
    return {number: int(total) for number, total in fetch(scope.db, sql, asked) if number in scope.nodes}


def transmitted(scope: Scope, nodes: Sequence[int], from_us: int, to_us: int) -> Rows:
    """Return (node_no, face, slot_us, airtime_us, packets) of nodes, and of slots beginning in a range; in order."""
    found: Rows = []
    for some in pieces(nodes, limits.NODES_PER_QUERY):
        sql = (
            f"SELECT node_no, face, slot_us, airtime_us, packets FROM transmitted WHERE node_no IN ({marks(len(some))})"
            " AND slot_us >= ? AND slot_us < ? ORDER BY node_no, face, slot_us"
        )
        found += fetch(scope.db, sql, (*some, from_us, to_us))
    return found


def own_rows(scope: Scope, sql: str, column: str, nodes: Sequence[int], from_us: int, to_us: int) -> Rows:
    """Return rows of nodes in a range of mesh time, where ``column`` has the nodes' own times.

    ``{own}`` in the statement stands for the condition. The statement runs for some nodes at a time. Facts that are
    kept by hours of a wrong clock count as those of the nearest ones of mesh time.
    """
    found: Rows = []
    for some in pieces(nodes, limits.NODES_PER_QUERY):
        found += rows_in(scope, sql, column, own_bounds(scope, column, some, from_us, to_us))
    return found


def own_bounds(scope: Scope, column: str, nodes: Sequence[int], from_us: int, to_us: int) -> OwnRanges:
    """Return a range of mesh time by the clocks of nodes, for times as a column has them; and the nodes of each."""
    found: OwnRanges = defaultdict(list)
    unit_us = (
        limits.HOUR_US if column == "hour_us" else 1
    )  # where facts are kept by hours, an error counts in hours
    for number in nodes:
        begin_us, end_us = from_us, to_us
        if scope.is_off(number):
            own_us = scope.own_range(number, from_us, to_us)
            begin_us += round((own_us[0] - from_us) / unit_us) * unit_us
            end_us += round((own_us[1] - to_us) / unit_us) * unit_us
        found[begin_us, end_us].append(number)
    return found


def rows_in(scope: Scope, sql: str, column: str, ranges: OwnRanges) -> Rows:
    """Return rows of nodes in a range of time for each; ``{own}`` in the statement stands for the condition."""
    found: Rows = []
    each = [
        (bounds, some) for bounds, nodes in ranges.items() for some in pieces(nodes, limits.NODES_PER_QUERY)
    ]
    for parts in pieces(each, limits.NODES_PER_QUERY):
        terms = [f"(node_no IN ({marks(len(some))}) AND {column} >= ? AND {column} < ?)" for _, some in parts]
        asked = [number for bounds, some in parts for number in (*some, *bounds)]
        found += fetch(scope.db, sql.format(own=f"({' OR '.join(terms)})"), asked)
    return found


def counts_by(scope: Scope, nodes: Sequence[int], kinds: Sequence[str]) -> Rows:
    """Return (node_no, kind, detail, records, total) of the table ``counts`` in the range: days, and hours around."""
    days: OwnRanges = defaultdict(list)
    hours: OwnRanges = defaultdict(list)
    for (begin_us, end_us), some in own_bounds(scope, "hour_us", nodes, *scope.hours()).items():
        first_us, last_us = -(-begin_us // DAY_US) * DAY_US, end_us // DAY_US * DAY_US
        if first_us < last_us:
            days[first_us, last_us] += some
        else:
            first_us = last_us = end_us
        for low_us, high_us in ((begin_us, first_us), (last_us, end_us)):
            if low_us < high_us:
                hours[low_us, high_us] += some
    which = ", ".join(f"'{kind}'" for kind in kinds)
    sql = (
        "SELECT node_no, kind, detail, sum(records), sum(total) FROM {table} WHERE {{own}}"
        f" AND kind IN ({which}) GROUP BY node_no, kind, detail"
    )
    return [
        *rows_in(scope, sql.format(table="count_days"), "day_us", days),
        *rows_in(scope, sql.format(table="counts"), "hour_us", hours),
    ]


def laws(scope: Scope) -> dict[int, list[Answer]]:
    """Return the faces of each node that a law limits."""
    rows = select(
        scope.db,
        "node_no, face, region, sub_band, limit_ppm, window_us",
        "FROM faces WHERE limit_ppm IS NOT NULL AND window_us > 0 ORDER BY node_no, limit_ppm, face",
    )
    found: dict[int, list[Answer]] = defaultdict(list)
    for row in rows:
        found[row.pop("node_no")].append(row)
    return found


def places(scope: Scope) -> dict[int, tuple[float, float]]:
    """Return latitude and longitude of nodes that report a position, in degrees, as of the newest boot."""
    rows = fetch(
        scope.db,
        "SELECT node_no, latitude, longitude FROM boots"
        " WHERE latitude IS NOT NULL AND longitude IS NOT NULL ORDER BY node_no, boot",
    )
    return {number: (latitude, longitude) for number, latitude, longitude in rows}


def isolated(scope: Scope) -> dict[int, int]:
    """Return the nodes that are isolated now, and since when, without nodes that are no longer up."""
    rows = fetch(
        scope.db, "SELECT subject, since_us FROM alerts WHERE rule = 'isolated' AND until_us IS NULL"
    )
    return {int(subject.removeprefix("node ")): since_us for subject, since_us in rows}


def clock_fields(scope: Scope, number: int) -> Answer:
    """Return the error of a node's newest clock now; null if unknown."""
    clock = scope.clock(number)
    if clock is None or clock.matches == 0:
        return {"clock_offset_us": None, "clock_error_us": None, "clock_drift_ppm": None}
    own_us = clock.own_us(scope.as_of_us)
    return {
        "clock_offset_us": own_us - scope.as_of_us,
        "clock_error_us": round(clock.error_us(own_us)),
        "clock_drift_ppm": round(clock.drift_ppm, 3),
    }


def node_rows(scope: Scope, numbers: Sequence[int], behind: dict[int, int]) -> list[Answer]:
    """Return nodes as the overview lists them."""
    delays: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (a, _b), counts in delays_by(scope, "node", [(number, 0) for number in numbers]).items():
        delays[a] += counts.items()
    end_us = -(-(scope.as_of_us + 1) // limits.SLOT_US) * limits.SLOT_US
    airtime_us = airtime_sums(scope, end_us - limits.HOUR_US, end_us)
    rules, where, alone = laws(scope), places(scope), isolated(scope)
    rows = []
    for number in numbers:
        node = scope.nodes[number]
        delay = spread(delays[number])
        law = rules.get(number, [{}])[0]
        latitude, longitude = where.get(number, (None, None))
        clock = clock_of_boot(scope.clocks.get(number, ()), node.boot)
        rows.append(
            {
                **node.named(),
                "feed": node.feed,
                "running": node.running,
                "boot": node.boot,
                "last_us": clock.mesh_us(node.last_us) if clock else node.last_us,
                "behind": behind[number],
                "delay_median_us": delay["median_us"],
                "delay_p95_us": delay["p95_us"],
                "delay_count": delay["n"],
                "airtime_us": airtime_us.get(number, 0),
                **{key: law.get(key) for key in ("limit_ppm", "window_us", "region", "sub_band")},
                **clock_fields(scope, number),
                "isolated_since_us": alone.get(number),
                "latitude": latitude,
                "longitude": longitude,
                "version": node.version,
            }
        )
    return rows


def alert_rows(scope: Scope, *, most: int) -> list[Answer]:
    """Return alerts: open ones, then those that closed within the range, newest first."""
    rows = fetch(
        scope.db,
        "SELECT rule, subject, since_us, until_us, level, value, peak FROM alerts"
        " WHERE until_us IS NULL OR (until_us >= ? AND since_us < ?)"
        " ORDER BY CASE WHEN until_us IS NULL THEN 0 ELSE 1 END, since_us DESC, rule, subject LIMIT ?",
        (scope.from_us, scope.to_us, limits.ALERTS_SEARCHED_MAX if scope.asked.find else most),
    )
    found: list[Answer] = []
    for rule, subject, since_us, until_us, level, value, peak in rows:
        about = scope.subject(subject)
        if len(found) == most or not scope.finds(about["label"], about["node"], about["feed"]):
            continue
        found.append(
            {
                "rule": rule,
                **about,
                "since_us": since_us,
                "until_us": until_us,
                "level": level,
                "value": value,
                "peak": peak,
                "text": sentence(rule, about["label"], value, over=until_us is not None),
            }
        )
    return found


def sentence(rule: str, who: str, value: float, *, over: bool = False) -> str:
    """Return an alert in words; one that is *over* in the past tense, where it says how long something lasted."""
    known = RULES.get(rule)
    if known is None:  # of a newer program
        return f"{who}: {rule} {value:g}"
    unit = known.unit.replace("/h", " an hour")
    if unit == "min" and value < 2:  # whose parts matter
        unit, value = "s", round(60 * value)
    amount = f"{round(value):,}" if value >= 10 or value == round(value) else f"{value:.1f}"
    words = known.sentence.format(who=who, value=f"{amount} {unit}")
    if over:
        words = words.replace(" has been ", " was ", 1)
    return words.replace("the mesh", "The mesh", 1) if words.startswith("the mesh") else words


def link_rows(scope: Scope, where: str, parameters: Sequence[int]) -> list[Answer]:
    """Return links in the range, *where* a condition holds, most packets first; ratio, RSSI and SNR are null if
    unknown."""
    columns = "sender, receiver, heard, sent, rssi_sum, rssi_n, snr_sum, snr_n, first_us, last_us"
    links, asked = time_span(scope, *scope.hours()).rows("links", columns, where, parameters)
    rows = fetch(
        scope.db,
        "SELECT sender, receiver, sum(heard) AS all_heard, sum(sent), sum(rssi_sum), sum(rssi_n), sum(snr_sum),"
        f" sum(snr_n), min(first_us), max(last_us) FROM {links} GROUP BY sender, receiver"
        " ORDER BY all_heard DESC, sender, receiver LIMIT ?",
        (*asked, limits.LINKS_SHOWN_MAX),
    )
    return [
        {
            "sender": scope.node_id(sender),
            "receiver": scope.node_id(receiver),
            "heard": heard,
            "sent": sent,
            "ratio": round(heard / sent, 4) if sent else None,
            "rssi_dbm": round(rssi_sum / rssi_n, 1) if rssi_n else None,
            "snr_db": round(snr_sum / snr_n, 1) if snr_n else None,
            "first_us": first_us,
            "last_us": last_us,
        }
        for sender, receiver, heard, sent, rssi_sum, rssi_n, snr_sum, snr_n, first_us, last_us in rows
    ]


def copies_of(scope: Scope, feed_no: int, seqs: Sequence[int]) -> Rows:
    """Return (seq, node_no, mesh time, origin, face) of all copies of some entries of a feed, in order of time."""
    found: Rows = []
    for some in pieces(seqs):
        rows = fetch(
            scope.db,
            "SELECT seq, node_no, boot, mono_us, t_us, origin, face FROM copies"
            f" WHERE feed_no = ? AND seq IN ({marks(len(some))})",
            (feed_no, *some),
        )
        found += [
            (seq, number, scope.mesh_us(number, boot, mono_us, t_us), origin, face)
            for seq, number, boot, mono_us, t_us, origin, face in rows
        ]
    return sorted(found, key=lambda row: (row[2], row[1], row[0]))
