"""One feed: how much of it each node has, its latest entries, and their delays."""

from collections import defaultdict
from statistics import median

from spark_sink.page import limits
from spark_sink.page.queries import common, faults
from spark_sink.page.queries.heatmap import chunks_missing, frontiers
from spark_sink.page.scope import Answer, Scope, fetch


def feed(scope: Scope) -> Answer:
    """Return the answer of ``/api/feed/{feed}``. Raises NotKnownError, DatabaseFailedError."""
    found = scope.feed()
    held = frontiers(scope, [found.number], list(scope.nodes))
    newest = max(held.values(), default=0)
    numbers = sorted(scope.found_nodes(), key=lambda number: (scope.nodes[number].label.casefold(), number))
    numbers.sort(key=lambda number: held.get((number, found.number), 0))
    shown = numbers[: limits.ROWS_MAX]
    (chunks,) = chunks_missing(scope, held, [found.number], shown)
    counts = common.delays_by(scope, "feed", [(found.number, 0)]).get((found.number, 0), {})
    return {
        **common.feed_row(scope, found.number, newest),
        "nodes": [
            {
                **scope.nodes[number].named(),
                "seq": held.get((number, found.number), 0),
                "behind": newest - held.get((number, found.number), 0),
                "chunks_missing": lacked,
            }
            for number, lacked in zip(shown, chunks, strict=True)
        ],
        "entries": entries(scope, found.number),
        "delays": {**common.spread(counts.items()), "buckets": common.bucket_rows(counts)},
        "forks": faults.forks(scope, found.number),
        "hidden": {"nodes": len(numbers) - len(shown)},
    }


def entries(scope: Scope, feed_no: int) -> list[Answer]:
    """List its latest entries, newest first: copies at other nodes, the last arrival, and the median delay."""
    rows = fetch(
        scope.db,
        "SELECT seq, id, size, chunks, publisher, boot, mono_us, t_us FROM entries WHERE feed_no = ?"
        " ORDER BY seq DESC LIMIT ?",
        (feed_no, limits.ROWS_MAX),
    )
    arrivals: dict[int, list[int]] = defaultdict(list)
    holders: dict[int, int] = defaultdict(int)
    firsts: dict[int, int] = {}
    for seq, _number, t_us, origin, _face in common.copies_of(scope, feed_no, [row[0] for row in rows]):
        holders[seq] += 1
        firsts.setdefault(seq, t_us)
        if origin != "own":
            arrivals[seq].append(t_us)
    found = []
    for seq, identity, size, chunks, publisher, boot, mono_us, own_us in rows:
        published_us = scope.published_us(publisher, boot, mono_us, own_us)
        t_us = firsts.get(seq) if published_us is None else published_us
        came = arrivals[seq]
        found.append(
            {
                "seq": seq,
                "id": identity,
                "size": size,
                "chunks": chunks,
                "t_us": t_us,
                "copies": holders[seq],
                "reached_us": max(came, default=None),
                "median_us": round(median(came)) - published_us
                if came and published_us is not None
                else None,
            }
        )
    return found
