"""The overview: the mesh in one sentence, what is missing over time, nodes, feeds, latest entries."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any, Final

from spark_sink.bad_lines import lines_of
from spark_sink.derive.health import Figures, Health, health
from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.serving.database import pieces

_RECENT_MAX: Final = 12  # one screen
_SECONDS_US: Final = 4 * limits.HOUR_US  # up to this the line is by seconds, not by minutes
_COPIES_MAX: Final = 20_000  # if there are no more copies than this: 30 ms of work
_COUNTED_MAX: Final = 1_000  # bad lines, gaps and oddities: more is no more informative


def overview(scope: Scope) -> Answer:
    """Return the answer of ``/api/overview``. Raises DatabaseFailedError."""
    standing = common.load_holdings(scope)
    totals = headline(scope, standing)
    nodes, feeds = common.shown_nodes(scope, standing.behind), common.shown_feeds(scope, standing.lacked)
    how = condition(scope, standing)
    return {
        "sentence": how.sentence,
        "level": how.level,
        "totals": totals,
        "convergence": convergence(scope, standing),
        "alerts": common.alert_rows(scope, most=100),
        "nodes": common.node_rows(scope, nodes, standing.behind),
        "feeds": [
            {**common.feed_row(scope, number, standing.newest[number]), "behind": standing.lacked[number]}
            for number in feeds
        ],
        "recent": recent(scope, standing.newest),
        "hidden": {
            "nodes": len(scope.found_nodes()) - len(nodes),
            "feeds": len(common.found_feeds(scope, standing.newest)) - len(feeds),
        },
    }


def summary(scope: Scope) -> Answer:
    """Summarise a change for every open page: totals, sentence, level. Raises DatabaseFailedError."""
    standing = common.load_holdings(scope)
    how = condition(scope, standing)
    return {"totals": headline(scope, standing), "sentence": how.sentence, "level": how.level}


def headline(scope: Scope, standing: common.Holdings) -> Answer:
    """Return the counts of the headline."""
    ((forks,),) = fetch(scope.db, "SELECT count(DISTINCT feed_no) FROM incidents WHERE kind = 'fork'")
    sides = {}
    for table in ("gaps", "oddities"):
        sql = f"SELECT count(*) FROM (SELECT 1 AS one FROM {table} LIMIT ?) AS listed"
        ((sides[table],),) = fetch(scope.db, sql, (_COUNTED_MAX,))
    listed = fetch(scope.db, "SELECT reason FROM bad_lines LIMIT ?", (_COUNTED_MAX,))
    return {
        "nodes": len(scope.nodes),
        "running": sum(node.running for node in scope.nodes.values()),
        "feeds": len(standing.newest),
        "entries": sum(standing.newest.values()),
        "behind": sum(standing.behind.values()),
        "behind_nodes": sum(missing > 0 for missing in standing.behind.values()),
        "forks": forks,
        "bad_lines": min(sum(lines_of(reason) for (reason,) in listed), _COUNTED_MAX),
        **sides,
    }


def condition(scope: Scope, standing: common.Holdings) -> Health:
    """Return the health of the mesh in one sentence, from missing entries and open alerts."""
    rows = fetch(
        scope.db,
        "SELECT rule, subject, since_us, level FROM alerts WHERE until_us IS NULL ORDER BY since_us, rule, subject"
        " LIMIT ?",
        (_COUNTED_MAX,),
    )
    names = {rule: [scope.subject(row[1])["label"] for row in rows if row[0] == rule] for rule in _TOLD}
    return health(
        Figures(
            nodes=len(scope.nodes),
            entries=sum(standing.newest.values()),
            behind=[(scope.label(number), lacks) for number, lacks in standing.behind.items() if lacks > 0],
            isolated=names["isolated"],
            silent=names["silent"],
            split_since_us=next((row[2] for row in rows if row[0] == "split"), None),
            alarms=sum(row[3] == "alarm" for row in rows),
            warnings=sum(row[3] != "alarm" and row[0] not in _TOLD for row in rows),
        ),
        _clock,
    )


_TOLD: Final = ("isolated", "silent", "split")
"""Alerts that the sentence has words of their own for."""


def _clock(t_us: int) -> str:
    """Format a time for the sentence, in UTC: the time zone of its reader is not known here."""
    return datetime.fromtimestamp(t_us / limits.SECOND_US, UTC).strftime("%-d %b %H:%M UTC")


def convergence(scope: Scope, standing: common.Holdings) -> list[tuple[int, int]]:
    """Count copies missing in the mesh at points of the range, [t_us, missing].

    Counted backwards from the copies missing now: a published entry is missing wherever it is not, and each copy takes
    one away. So the line ends at the figure of the headline, even if the logs of the first days are gone.
    """
    span_us = min(scope.to_us, scope.as_of_us + 1) - scope.from_us
    young = span_us <= _SECONDS_US and sum(standing.newest.values()) * len(scope.nodes) <= _COPIES_MAX
    unit_us = limits.SECOND_US if young else limits.MINUTE_US
    first_us = scope.from_us - scope.from_us % unit_us
    span_us = min(scope.to_us, scope.as_of_us + 1) - first_us
    if span_us <= 0:
        return []
    step_us = max(1, -(-span_us // (unit_us * limits.POINTS_MAX))) * unit_us
    grown, later = (_by_copies if young else _by_minutes)(scope, first_us, step_us)
    missing = sum(standing.behind.values()) - later
    points = []
    last = (span_us - 1) // step_us
    missing -= sum(change for place, change in grown.items() if place > last)
    for place in range(last, -1, -1):
        points.append((min(first_us + (place + 1) * step_us, first_us + span_us - 1), missing))
        missing -= grown.get(place, 0)
    points.append((first_us, missing))
    return points[::-1]


def _by_minutes(scope: Scope, first_us: int, step_us: int) -> tuple[dict[int, int], int]:
    """Return by how many copies more were missing after each step of the range, and after the range."""
    others = len(scope.nodes)
    ((published, copied),) = fetch(
        scope.db,
        "SELECT coalesce(sum(published), 0), coalesce(sum(copied), 0) FROM progress WHERE minute_us >= ?",
        (scope.to_us,),
    )
    step = f"(minute_us - {first_us}) / {step_us}"
    rows = fetch(
        scope.db,
        f"SELECT {step}, sum(published), sum(copied) FROM progress"
        f" WHERE hour_us >= ? AND minute_us >= ? AND minute_us < ? GROUP BY {step}",
        (first_us - first_us % limits.HOUR_US, first_us, scope.to_us),
    )
    grown = {int(place): int(published) * others - int(copied) for place, published, copied in rows}
    return grown, int(published) * others - int(copied)


def _by_copies(scope: Scope, first_us: int, step_us: int) -> tuple[dict[int, int], int]:
    """Return the same from every single copy, which is exact to the second."""
    rows = fetch(scope.db, "SELECT feed_no, seq, node_no, boot, mono_us, t_us, origin FROM copies")
    published_us: dict[tuple[int, int], tuple[bool, int]] = {}
    changes: list[tuple[int, int]] = []
    for feed_no, seq, number, boot, mono_us, own_us, origin in rows:
        t_us = scope.mesh_us(number, boot, mono_us, own_us)
        changes.append((t_us, -1))
        here = (origin != "own", t_us)
        published_us[feed_no, seq] = min(here, published_us.get((feed_no, seq), here))
    changes += [(t_us, len(scope.nodes)) for _, t_us in published_us.values()]
    grown: dict[int, int] = defaultdict(int)
    for t_us, change in changes:
        if first_us <= t_us < scope.to_us:
            grown[(t_us - first_us) // step_us] += change
    return grown, sum(change for t_us, change in changes if t_us >= scope.to_us)


def recent(scope: Scope, newest: dict[int, int]) -> list[Answer]:
    """Return the latest entries and how far each came; the newest first."""
    entries = latest_entries(scope, newest)
    holders: dict[tuple[int, int], list[int]] = defaultdict(list)
    arrived: dict[tuple[int, int], int] = {}
    for feed_no in {entry[0] for entry in entries}:
        seqs = [entry[1] for entry in entries if entry[0] == feed_no]
        rows = fetch(
            scope.db,
            "SELECT node_no, seq FROM frontiers WHERE feed_no = ? AND seq >= ? ORDER BY node_no",
            (feed_no, min(seqs)),
        )
        for number, held in rows:
            for seq in seqs:
                if held >= seq:
                    holders[feed_no, seq].append(number)
        for seq, _number, t_us, _origin, _face in common.copies_of(scope, feed_no, seqs):
            arrived[feed_no, seq] = max(t_us, arrived.get((feed_no, seq), t_us))
    return [
        {
            **scope.feeds[feed_no].named(),
            "seq": seq,
            "id": identity,
            "size": size,
            "chunks": chunks,
            "publisher": scope.node_id(publisher),
            "t_us": t_us,
            "held_by": [scope.node_id(number) for number in holders[feed_no, seq] if number in scope.nodes],
            "reached_us": arrived.get((feed_no, seq)),
        }
        for feed_no, seq, identity, size, chunks, publisher, t_us in entries
    ]


def latest_entries(scope: Scope, newest: dict[int, int]) -> list[tuple[Any, ...]]:
    """Return (feed_no, seq, id, size, chunks, publisher, mesh time) of the latest entries of all feeds.

    Entries without a publisher's record count from their first known copy. The entries are searched in the feeds with
    the latest newest entries, since later entries of a feed have later times.
    """
    known = [number for number in newest if number in scope.feeds]
    tips = _latest(scope, [(number, newest[number], 1) for number in known])
    feeds = [tip[0] for tip in tips[:_RECENT_MAX]]
    return _latest(scope, [(number, newest[number], _RECENT_MAX) for number in feeds])[:_RECENT_MAX]


def _latest(scope: Scope, wanted: list[tuple[int, int, int]]) -> list[tuple[Any, ...]]:
    """Return the last entries of feeds, each given by its number, its newest entry and a count; the latest first."""
    found: list[tuple[Any, ...]] = []
    for some in pieces(wanted, limits.NODES_PER_QUERY):
        where = " OR ".join(["(feed_no = ? AND seq > ?)"] * len(some))
        rows = fetch(
            scope.db,
            "SELECT feed_no, seq, id, size, chunks, publisher, boot, mono_us, t_us FROM entries"
            f" WHERE {where}",
            [value for number, seq, count in some for value in (number, seq - count)],
        )
        times_us = {row[:2]: scope.published_us(*row[5:]) for row in rows}
        first_us = _first_copies(scope, [entry for entry, t_us in times_us.items() if t_us is None])
        for row in rows:
            t_us = times_us[row[:2]]
            found.append((*row[:6], first_us.get(row[:2], 0) if t_us is None else t_us))
    return sorted(found, key=lambda entry: (-entry[-1], entry[0], -entry[1]))


def _first_copies(scope: Scope, entries: list[tuple[Any, ...]]) -> dict[tuple[int, int], int]:
    """Return when the first copy of each entry arrived, by feed and number; clocks are corrected before comparing."""
    found: dict[tuple[int, int], int] = {}
    for some in pieces(entries, limits.NODES_PER_QUERY):
        where = " OR ".join(["(feed_no = ? AND seq = ?)"] * len(some))
        rows = fetch(
            scope.db,
            f"SELECT feed_no, seq, node_no, boot, mono_us, t_us FROM copies WHERE {where}",
            [value for entry in some for value in entry],
        )
        for feed_no, seq, *moment in rows:
            t_us = scope.mesh_us(*moment)
            found[feed_no, seq] = min(t_us, found.get((feed_no, seq), t_us))
    return found
