"""Growth of the mesh's copies: frontiers hour by hour, publications and copies minute by minute."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Ints, run_starts
from spark_sink.derive.facts import ENTRY, HOUR_US, Copies, Facts


def steps(facts: Facts) -> pa.Table:
    """Make rows of the table `steps`. Entries are committed in order, so the highest one of an hour is its frontier.

    An hour counts only if its highest entry is above those of the hours before it: what is recorded again, after a
    store was put back from an older copy, is no growth. What was held before all of these hours is compared where the
    rows are stored (serving/derived.py), so that hours can be derived side by side.
    """
    sights = facts.sights
    chosen = (sights.kind == ENTRY) & (sights.feed_no >= 0)
    chosen &= (sights.mesh_us >= facts.since_us) & (sights.mesh_us < facts.until_us)
    node_no, feed_no, seq = sights.node_no[chosen], sights.feed_no[chosen], sights.seq[chosen]
    hour_us = sights.mesh_us[chosen] // HOUR_US * HOUR_US
    order = np.lexsort((-seq, hour_us, feed_no, node_no))
    node_no, feed_no, hour_us, seq = node_no[order], feed_no[order], hour_us[order], seq[order]
    new_pair = run_starts(node_no, feed_no)
    highest = new_pair | run_starts(hour_us)
    node_no, feed_no, hour_us, seq = node_no[highest], feed_no[highest], hour_us[highest], seq[highest]
    pair = np.cumsum(new_pair[highest]) - 1
    span = int(seq.max(initial=0)) + 1
    before = np.zeros(len(seq), np.int64)
    before[1:] = np.maximum.accumulate(seq + pair * span)[:-1] - pair[1:] * span
    before[new_pair[highest]] = 0
    grew = seq > before
    return pa.table(
        {"node_no": node_no[grew], "feed_no": feed_no[grew], "hour_us": hour_us[grew], "seq": seq[grew]}
    )


MINUTE_US: Final = 60_000_000


def progress(facts: Facts) -> pa.Table:
    """Make the rows of the table `progress`: entries count as published by their publisher's record, or their first
    copy.

    The publisher's copy counts among the copies, so both sums are equal as long as no other node has any entry.
    """
    copies = facts.copies
    published = _minutes(_published_us(copies), facts)
    minutes, place = np.unique(
        np.concatenate([published, _minutes(copies.mesh_us, facts)]), return_inverse=True
    )
    size = len(published)
    return pa.table(
        {
            "minute_us": minutes,
            "hour_us": minutes // HOUR_US * HOUR_US,
            "published": np.bincount(place[:size], minlength=len(minutes)),
            "copied": np.bincount(place[size:], minlength=len(minutes)),
        }
    )


def _published_us(copies: Copies) -> Ints:
    """Return when each entry was published, in any order."""
    order = np.lexsort((copies.mesh_us, 1 - copies.own, copies.seq, copies.feed_no))
    feed_no, seq = copies.feed_no[order], copies.seq[order]
    return np.asarray(copies.mesh_us[order][run_starts(feed_no, seq)])


def _minutes(t_us: Ints, facts: Facts) -> Ints:
    """Return the minutes of those times that are within the hours."""
    return t_us[(t_us >= facts.since_us) & (t_us < facts.until_us)] // MINUTE_US * MINUTE_US
