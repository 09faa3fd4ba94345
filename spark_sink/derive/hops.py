"""How long entries stayed at each node before the next one had them (docs/reference/analytics.md, "Delays per hop")."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.derive.arrivals import Arrivals, arrivals
from spark_sink.derive.buckets import bucket_of
from spark_sink.derive.facts import HOUR_US, Facts, Ints
from spark_sink.derive.keys import grouped, keys, last_before
from spark_sink.derive.mesh_time import comparable
from spark_sink.derive.transmissions import Transmissions, transmissions

MARGIN_US: Final = limits.LOOK_BACK_US + limits.LINK_WINDOW_US
"""How far before `Facts.since_us` sights must reach."""
_EVER_US: Final = 2**62


def hops(facts: Facts, heard: Transmissions | None = None) -> pa.Table:
    """Rows of the table `delays` with the scope `hop`: of copies that came in the hours asked for.

    *heard* are the transmissions of the sights, if they are known already.
    """
    sights = facts.sights
    found = arrivals(facts, heard or transmissions(sights))
    came_us = sights.mesh_us[found.commit]
    within = np.flatnonzero((came_us >= facts.since_us) & (came_us < facts.until_us))
    found, delay_us = hop_delays(facts, found.take(within))
    commit = found.commit
    hour = (sights.mesh_us[commit] - facts.since_us) // HOUR_US
    rows, place = grouped(hour, sights.node_no[found.tx], sights.node_no[commit], bucket_of(delay_us))
    return pa.table(
        {
            "hour_us": facts.since_us + rows[0] * HOUR_US,
            "scope": pa.array(["hop"] * len(rows[0]), pa.string()),
            "a": rows[1],
            "b": rows[2],
            "bucket": rows[3],
            "n": np.bincount(place, minlength=len(rows[0])),
        }
    )


def hop_delays(facts: Facts, found: Arrivals) -> tuple[Arrivals, Ints]:
    """Arrivals of which it is known when the sender had the entry itself, and how long before that was."""
    sights, copies = facts.sights, facts.copies
    sender = sights.node_no[found.tx]
    commit = found.commit
    columns = (
        (sender, copies.node_no),
        (sights.feed_no[commit], copies.feed_no),
        (sights.seq[commit], copies.seq),
    )
    key = keys(*(np.concatenate(both) for both in columns))
    size = len(commit)
    theirs = last_before(key[:size], np.full(size, _EVER_US), key[size:], copies.mesh_us)
    known = np.flatnonzero(theirs >= 0)
    theirs, commit = theirs[known], commit[known]
    alike = comparable(sights.node_no[commit], sights.mesh[commit], sender[known], copies.mesh[theirs])
    delay_us = sights.mesh_us[commit[alike]] - copies.mesh_us[theirs[alike]]
    return found.take(known[alike]), delay_us
