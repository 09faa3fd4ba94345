"""The journey of one message: when it reached whom."""

from typing import Any

from spark_sink.derive.journeys import Hop
from spark_sink.page import limits
from spark_sink.page.journeys import journey_of
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, NotKnownError, Scope, fetch


def message(scope: Scope) -> Answer:
    """The answer of ``/api/message/{feed}/{seq}``. Raises NotKnownError, DatabaseFailedError."""
    feed = scope.feed()
    seq = scope.asked.seq
    rows = fetch(
        scope.db,
        "SELECT id, type, size, chunks, publisher, boot, mono_us, t_us FROM entries WHERE feed_no = ? AND seq = ?",
        (feed.number, seq),
    )
    if not rows:
        raise NotKnownError(f"No log tells of an entry {seq} of the feed {feed.label}.")
    copies = common.copies_of(scope, feed.number, [seq])
    identity, kind, size, chunks, publisher, boot, mono_us, own_us = rows[0]
    published_us = None
    if publisher is not None and own_us is not None:
        published_us = scope.mesh_us(publisher, boot or 0, mono_us or 0, own_us)
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
    clock = scope.clock(number)
    return {
        "node": scope.node_id(number),
        "label": scope.label(number),
        "t_us": t_us,
        "delay_us": t_us - published_us if published_us is not None else None,
        "from": scope.node_id(hop.sender) if hop else None,
        "from_label": scope.label(hop.sender) if hop else None,
        "hop_us": hop.hop_us if hop else None,
        "face": face,
        "origin": origin,
        "whole_us": clock.mesh_us(complete_us) if clock and complete_us is not None else complete_us,
    }


def missing(scope: Scope, feed_no: int, seq: int) -> list[Answer]:
    """The nodes that lack the entry, and how far behind they are in its feed."""
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
