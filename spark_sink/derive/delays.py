"""How long entries took from their publishers to others, end to end."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.buckets import bucket_of
from spark_sink.derive.facts import HOUR_US, Copies, Facts, Ints
from spark_sink.derive.mesh_time import comparable

MARGIN_US: Final = 0
"""Copies are all known, whenever they were made."""
NODE: Final = "node"
FEED: Final = "feed"
"""Scopes of the table `delays`: by who got the copy, and by whose entry it is."""


def delays(facts: Facts) -> pa.Table:
    """Rows of the table `delays` of the scopes `node` and `feed`: copies that came in each hour, by how long they took.

    A copy counts if its publisher's is known and their times can be compared: their clocks are related, or neither is
    related to any.
    """
    copies = facts.copies
    since, to = _publishers(copies)
    came_us = copies.mesh_us[to]
    node_no, mesh = copies.node_no, copies.mesh
    counted = comparable(node_no[to], mesh[to], node_no[since], mesh[since])
    counted &= (came_us >= facts.since_us) & (came_us < facts.until_us)
    since, to, came_us = since[counted], to[counted], came_us[counted]
    hour_us = came_us // HOUR_US * HOUR_US
    bucket = bucket_of(came_us - copies.mesh_us[since])
    by_feed = _count(FEED, hour_us, copies.feed_no[to], bucket)
    return pa.concat_tables([by_feed, _count(NODE, hour_us, copies.node_no[to], bucket)])


def _publishers(copies: Copies) -> tuple[Ints, Ints]:
    """Places of the publisher's copy and of the other one, for each copy that is not a publisher's.

    Of several that say an entry is theirs, the one with the smallest number is believed.
    """
    order = np.lexsort((copies.node_no, 1 - copies.own, copies.seq, copies.feed_no))
    feed_no, seq = copies.feed_no[order], copies.seq[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (feed_no[1:] != feed_no[:-1]) | (seq[1:] != seq[:-1])
    publisher = order[np.flatnonzero(first)][np.cumsum(first) - 1]
    other = (copies.own[order] == 0) & (copies.own[publisher] == 1)
    return publisher[other], order[other]


def _count(scope: str, hour_us: Ints, who: Ints, bucket: Ints) -> pa.Table:
    order = np.lexsort((bucket, who, hour_us))
    columns = hour_us[order], who[order], bucket[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    begins = np.flatnonzero(first)
    hour_us, who, bucket = (column[begins] for column in columns)
    return pa.table(
        {
            "hour_us": hour_us,
            "scope": pa.array([scope] * len(begins), pa.string()),
            "a": who,
            "b": np.zeros(len(begins), np.int64),
            "bucket": bucket,
            "n": np.diff(begins, append=len(order)),
        }
    )
