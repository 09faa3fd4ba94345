"""The journey of one message: when it reached which node, and in which packets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spark_sink.derive.facts import Facts, Sights, Uptimes
from spark_sink.derive.journeys import Hop, Journey, journey
from spark_sink.derive.mesh_time import Corrections, corrections
from spark_sink.derive.sights import ENTRY_PACKETS
from spark_sink.errors import NotKnownError
from spark_sink.facts_loader import in_order, read_copies, read_sights
from spark_sink.limits import LOOK_BACK_US
from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Feed, Scope, fetch
from spark_sink.serving.facts import whole


def journey_of(scope: Scope, feed: Feed, seq: int) -> Journey:
    """Return the journey of an entry, as far as logs show it. Raises DatabaseFailedError, DamagedDataError."""
    put_right = corrections(whole(scope.db, "clocks"))
    copies = read_copies(scope.db, put_right, [(feed.number, seq)])
    sights = _sights(scope, sorted(copies.mesh_us.tolist()), put_right, feed, seq)
    nothing = np.zeros(0, np.int64)
    facts = Facts(0, 0, sights, copies, Uptimes(nothing, nothing, nothing, nothing))
    return journey(facts, feed.number, seq)


def _sights(scope: Scope, times_us: Sequence[int], put_right: Corrections, feed: Feed, seq: int) -> Sights:
    """Return all rows about the entry's packet, from hours in which a copy arrived, and a while before."""
    columns, faces = read_sights(scope.db, _hours(scope, times_us))
    digits = np.array([int(feed.feed[:16], 16)], np.uint64).view(np.int64)[0]
    named = (columns["feed"] == digits) & (columns["seq"] == seq)
    # The record of a sending does not name the entry; it has the same hash as the records of its receivers.
    packets = np.unique(
        columns["hash"][named & np.isin(columns["packet"], ENTRY_PACKETS) & (columns["hash"] != 0)]
    )
    kept = np.flatnonzero(named | np.isin(columns["hash"], packets))
    columns = {name: column[kept] for name, column in columns.items()}
    times = (columns[name] for name in ("node_no", "boot", "t_us", "mono_us"))
    columns["mesh_us"], columns["mesh"] = put_right.mesh_us(*times)
    columns = in_order(columns)
    about = (columns.pop("feed") == digits) & (columns["seq"] == seq)
    return Sights(**columns, feed_no=np.where(about, feed.number, -1), faces=faces)


def _hours(scope: Scope, times_us: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (node_no, boot, hour by its clock) of all logs around some mesh times; the earliest 400, if more.

    Each takes 2 ms, so that is a second at most, or a mesh of 200 nodes.
    """
    found: dict[tuple[int, int, int], None] = {}
    boots = fetch(scope.db, "SELECT node_no, boot, first_us, last_us FROM boots ORDER BY node_no, boot")
    last_us = -1
    for t_us in times_us:
        if t_us // limits.HOUR_US == last_us // limits.HOUR_US and t_us - last_us < limits.MINUTE_US:
            continue
        last_us = t_us
        for number, boot, first_us, end_us in boots:
            clocks = [clock for clock in scope.clocks.get(number, ()) if clock.boot == boot]
            around = t_us - LOOK_BACK_US, t_us + limits.MINUTE_US
            own = [(clock.own_us(around[0]), clock.own_us(around[1])) for clock in clocks]
            for since_us, until_us in own or [around]:
                low_us, high_us = max(since_us, first_us), min(until_us, end_us)
                first_hour_us = low_us - low_us % limits.HOUR_US
                for hour_us in range(first_hour_us, high_us + 1, limits.HOUR_US):
                    found[number, boot, hour_us] = None
        if len(found) > 400:
            break
    return list(found)[:400]


def message(scope: Scope) -> Answer:
    """Return the answer of ``/api/message/{feed}/{seq}``. Raises NotKnownError, DatabaseFailedError."""
    feed = scope.feed()
    seq = scope.asked.seq
    rows = fetch(
        scope.db,
        "SELECT id, type, size, chunks, publisher, boot, mono_us, t_us FROM entries WHERE feed_no = ? AND seq = ?",
        (feed.number, seq),
    )
    if not rows:
        raise NotKnownError(f"No log mentions entry {seq} of the feed {feed.label}.")
    copies = common.copies_of(scope, feed.number, [seq])
    identity, kind, size, chunks, publisher, boot, mono_us, own_us = rows[0]
    published_us = scope.published_us(publisher, boot, mono_us, own_us)
    whole: dict[int, int | None] = dict(
        fetch(
            scope.db,
            "SELECT node_no, complete_us FROM side_chains WHERE feed_no = ? AND seq = ?",
            (feed.number, seq),
        )
    )
    way = journey_of(scope, feed, seq)
    hops = {hop.node_no: hop for hop in way.hops}
    return {
        "entry": {
            **feed.named(),
            "seq": seq,
            "id": identity,
            "type": kind,
            "size": size,
            "chunks": chunks,
            "publisher": scope.node_id(publisher),
            "t_us": published_us,
        },
        "arrivals": [_arrival(scope, copy, published_us, whole, hops.get(copy[1])) for copy in copies],
        "transmissions": [
            {
                "t_us": sending.t_us,
                "node": scope.node_id(sending.node_no),
                "face": sending.face,
                "heard_by": [scope.node_id(number) for number in sending.heard_by],
                "new_at": [scope.node_id(number) for number in sending.new_at],
            }
            for sending in way.sendings[: limits.ROWS_MAX]
        ],
        "missing": missing(scope, feed.number, seq),
    }


def _arrival(
    scope: Scope,
    copy: tuple[Any, ...],
    published_us: int | None,
    whole: dict[int, int | None],
    hop: Hop | None,
) -> Answer:
    _seq, number, t_us, origin, face = copy
    complete_us = whole.get(number)
    return {
        **scope.who(number),
        "t_us": t_us,
        "delay_us": t_us - published_us if published_us is not None else None,
        "from": scope.node_id(hop.sender) if hop else None,
        "from_label": scope.label(hop.sender) if hop else None,
        "hop_us": hop.hop_us if hop else None,
        "face": face,
        "origin": origin,
        "whole_us": scope.newest_mesh_us(number, complete_us) if complete_us is not None else None,
    }


def missing(scope: Scope, feed_no: int, seq: int) -> list[Answer]:
    """Return the nodes that lack the entry, and how far behind they are in its feed."""
    rows = fetch(
        scope.db,
        "SELECT node_no, seq, newest FROM behind WHERE feed_no = ? AND seq < ? ORDER BY node_no",
        (feed_no, seq),
    )
    return [
        {**scope.nodes[number].named(), "behind": newest - held}
        for number, held, newest in rows
        if number in scope.nodes
    ]
