"""Distributions of delays: by node, by feed, by hop."""

from itertools import takewhile
from typing import Final

import numpy as np

from spark_sink.derive.buckets import NEGATIVE, PER_DOUBLING, bucket_low_us
from spark_sink.derive.row_keys import grouped
from spark_sink.errors import BadQuestionError
from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.page.time_span import time_span

SCOPES: Final = ("node", "feed", "hop")


def delays(scope: Scope) -> Answer:
    """Return the answer of ``/api/delays``. Raises BadQuestionError, DatabaseFailedError."""
    kind = scope.asked.scope or "node"
    if kind not in SCOPES:
        raise BadQuestionError(f"`scope` is one of {', '.join(SCOPES)}.")
    counted, asked = time_span(scope, *scope.hours()).rows("delays", "a, b, n", "scope = ?", (kind,))
    totals = fetch(scope.db, f"SELECT a, b, sum(n) FROM {counted} GROUP BY a, b", asked)
    if scope.asked.find:
        totals = [row for row in totals if scope.finds(*_named(scope, kind, *row[:2]).values())]
    totals.sort(key=lambda row: -row[2])
    least = totals[: limits.ROWS_MAX][-1][2] if totals else 0
    named = [
        (_named(scope, kind, a, b), (a, b), n) for a, b, n in takewhile(lambda row: row[2] >= least, totals)
    ]
    named.sort(key=lambda one: (-one[2], one[0]["label"]))
    shown = named[: limits.ROWS_MAX]
    found = common.delays_by(scope, kind, [pair for _name, pair, _n in shown])
    together, step_us, spread = over_time(scope, kind)
    return {
        "scope": kind,
        "rows": [
            {**name, **common.spread(found[pair].items()), "buckets": common.bucket_rows(found[pair])}
            for name, pair, _n in shown
        ],
        "all": {**common.spread(together.items()), "buckets": common.bucket_rows(together)},
        "step_us": step_us,
        "over_time": spread,
        "hidden": {"rows": len(totals) - len(shown)},
    }


def over_time(scope: Scope, kind: str) -> tuple[dict[int, int], int, list[tuple[int, int, int, int]]]:
    """Count copies by delay, and by arrival time and delay. Returns the counts by bucket, the length of a period, and
    [from_us, low_us, high_us, n] with delays in halves of doublings. Raises DatabaseFailedError.
    """
    within = "FROM delay_hours WHERE hour_us >= ? AND hour_us < ? AND scope = ?"
    asked = (*scope.hours(), kind)
    ends = [
        fetch(scope.db, f"SELECT hour_us {within} ORDER BY hour_us {order} LIMIT 1", asked)
        for order in ("ASC", "DESC")
    ]
    if not ends[0]:
        return {}, limits.HOUR_US, []
    first_us, last_us = (rows[0][0] for rows in ends)
    step_us = -(-((last_us - first_us) // limits.HOUR_US + 1) // limits.STRETCHES_MAX) * limits.HOUR_US
    period = f"(hour_us - {first_us}) / {step_us}"
    rows = fetch(scope.db, f"SELECT {period}, bucket, sum(n) {within} GROUP BY {period}, bucket", asked)
    step, bucket, n = np.array(rows, np.int64).T
    together = np.bincount(bucket - NEGATIVE, n).astype(np.int64).tolist()
    places, index = grouped(step, np.where(bucket == NEGATIVE, NEGATIVE, bucket - bucket % _BAND))
    begins_us, bands = first_us + places[0] * step_us, places[1]
    highs_us = np.where(bands == NEGATIVE, 0, bucket_low_us(bands + _BAND))
    columns = begins_us, bucket_low_us(bands), highs_us, np.bincount(index, n).astype(np.int64)
    over = list(zip(*(column.tolist() for column in columns), strict=True))
    return {place + NEGATIVE: count for place, count in enumerate(together) if count}, step_us, over


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
