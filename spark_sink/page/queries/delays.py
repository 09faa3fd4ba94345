"""Distributions of delays: by node, by feed, by hop."""

from collections import Counter
from typing import Final

import numpy as np

from spark_sink.derive.buckets import NEGATIVE, PER_DOUBLING, bucket_low_us
from spark_sink.errors import BadQuestionError
from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch

SCOPES: Final = ("node", "feed", "hop")


def delays(scope: Scope) -> Answer:
    """Return the answer of ``/api/delays``. Raises BadQuestionError, DatabaseFailedError."""
    kind = scope.asked.scope or "node"
    if kind not in SCOPES:
        raise BadQuestionError(f"`scope` is one of {', '.join(SCOPES)}.")
    found = common.delays_by(scope, kind)
    together: Counter[int] = Counter()
    for counts in found.values():
        together.update(counts)
    named = [(_named(scope, kind, a, b), counts) for (a, b), counts in found.items()]
    named.sort(key=lambda one: (-sum(one[1].values()), one[0]["label"]))
    step_us, spread = over_time(scope, kind)
    return {
        "scope": kind,
        "rows": [
            {**name, **common.spread(counts.items()), "buckets": common.bucket_rows(counts)}
            for name, counts in named[: limits.ROWS_MAX]
        ],
        "all": {**common.spread(together.items()), "buckets": common.bucket_rows(together)},
        "step_us": step_us,
        "over_time": spread,
        "hidden": {"rows": max(0, len(named) - limits.ROWS_MAX)},
    }


def over_time(scope: Scope, kind: str) -> tuple[int, list[tuple[int, int, int, int]]]:
    """Count copies by arrival time and delay. Returns the length of a period, and [from_us, low_us, high_us, n] with
    delays in halves of doublings. Raises DatabaseFailedError.
    """
    rows = fetch(
        scope.db,
        "SELECT hour_us, bucket, sum(n) FROM delays WHERE hour_us >= ? AND hour_us < ? AND scope = ?"
        " GROUP BY hour_us, bucket ORDER BY hour_us, bucket",
        (*scope.hours(), kind),
    )
    if not rows:
        return limits.HOUR_US, []
    first_us = rows[0][0]
    hours = (rows[-1][0] - first_us) // limits.HOUR_US + 1
    step_us = -(-hours // limits.STRETCHES_MAX) * limits.HOUR_US
    counts: Counter[tuple[int, int]] = Counter()
    for hour_us, bucket, n in rows:
        band = bucket - bucket % _BAND if bucket != NEGATIVE else NEGATIVE
        counts[hour_us - (hour_us - first_us) % step_us, band] += int(n)
    places = sorted(counts)
    bands = np.asarray([band for _begin_us, band in places], np.int64)
    lows = bucket_low_us(bands).tolist()
    highs = np.where(bands == NEGATIVE, 0, bucket_low_us(bands + _BAND)).tolist()
    return step_us, [
        (place[0], low_us, high_us, counts[place])
        for place, low_us, high_us in zip(places, lows, highs, strict=True)
    ]


_BAND: Final = PER_DOUBLING // 2
"""Buckets that a picture shows as one."""


def _named(scope: Scope, kind: str, a: int, b: int) -> Answer:
    if kind == "feed":
        feed = scope.feeds.get(a)
        return {"a": feed.feed if feed else None, "b": None, "label": feed.label if feed else f"feed {a}"}
    if kind == "hop":
        label = f"{scope.label(a)} → {scope.label(b)}"
        return {"a": scope.node_id(a), "b": scope.node_id(b), "label": label}
    return {"a": scope.node_id(a), "b": None, "label": scope.label(a)}
