"""How far each node's copy of each feed had come by the end of the hours in which it grew."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.facts import ENTRY, HOUR_US, Facts

MARGIN_US: Final = 0
"""What was held before is told by `Facts.frontiers`."""


def steps(facts: Facts) -> pa.Table:
    """Rows of the table `steps`. Entries are committed in order, so the highest one of an hour is its frontier.

    An hour counts only if its highest entry is above all that was held before: what is recorded again, after a store
    was put back from an older copy, is no growth.
    """
    sights = facts.sights
    chosen = (sights.kind == ENTRY) & (sights.feed_no >= 0)
    chosen &= (sights.mesh_us >= facts.since_us) & (sights.mesh_us < facts.until_us)
    node_no, feed_no, seq = sights.node_no[chosen], sights.feed_no[chosen], sights.seq[chosen]
    hour_us = sights.mesh_us[chosen] // HOUR_US * HOUR_US
    order = np.lexsort((-seq, hour_us, feed_no, node_no))
    node_no, feed_no, hour_us, seq = node_no[order], feed_no[order], hour_us[order], seq[order]
    new_pair = np.ones(len(seq), np.bool_)
    new_pair[1:] = (node_no[1:] != node_no[:-1]) | (feed_no[1:] != feed_no[:-1])
    highest = new_pair.copy()
    highest[1:] |= hour_us[1:] != hour_us[:-1]
    node_no, feed_no, hour_us, seq = node_no[highest], feed_no[highest], hour_us[highest], seq[highest]
    pair = np.cumsum(new_pair[highest]) - 1
    begins = np.flatnonzero(new_pair[highest])
    pairs = zip(node_no[begins].tolist(), feed_no[begins].tolist(), strict=True)
    held = np.array([facts.frontiers.get(place, 0) for place in pairs], np.int64)
    span = int(seq.max(initial=0) + held.max(initial=0)) + 1
    before = np.empty(len(seq), np.int64)
    before[1:] = np.maximum.accumulate(seq + pair * span)[:-1] - pair[1:] * span
    before[begins] = 0
    grew = seq > np.maximum(before, held[pair] if len(pair) else 0)
    return pa.table(
        {"node_no": node_no[grew], "feed_no": feed_no[grew], "hour_us": hour_us[grew], "seq": seq[grew]}
    )
