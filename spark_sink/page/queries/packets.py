"""The latest single packets, for looking at."""

from spark_sink.errors import BadQuestionError
from spark_sink.page import limits
from spark_sink.page.scope import Answer, Scope, select


def packets(scope: Scope) -> Answer:
    """Return the answer of ``/api/packets``: newest first; after a place those read since. Raises BadQuestionError,
    DatabaseFailedError."""
    limit = scope.asked.limit if scope.asked.limit is not None else 200
    if not 1 <= limit <= limits.PACKETS_MAX:
        raise BadQuestionError(f"`limit` is from 1 to {limits.PACKETS_MAX}.")
    rows = select(
        scope.db,
        "place, t_us, node_no, direction, face, packet, verdict, reason, length, rssi_dbm, snr_db, airtime_us, feed_no,"
        " seq, chunk",
        "FROM packets WHERE place > ? ORDER BY place DESC LIMIT ?",
        (scope.asked.after if scope.asked.after is not None else -1, limit),
    )
    return {"rows": [_named(scope, row) for row in rows]}


def _named(scope: Scope, row: Answer) -> Answer:
    """Return a packet with mesh time, and with ids and labels for the numbers of its node and feed."""
    place, t_us, number, feed_no, seq, chunk = (
        row.pop(name) for name in ("place", "t_us", "node_no", "feed_no", "seq", "chunk")
    )
    return {
        "place": place,
        "t_us": scope.newest_mesh_us(number, t_us),
        **scope.who(number),
        **row,
        **scope.feed_fields(feed_no),
        "seq": seq,
        "chunk": chunk,
    }
