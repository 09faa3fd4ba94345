"""How many entries were published, and how many copies came in, minute by minute."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.facts import HOUR_US, Copies, Facts, Ints

MINUTE_US: Final = 60_000_000
MARGIN_US: Final = 0
"""Only what came in within the hours counts."""


def progress(facts: Facts) -> pa.Table:
    """Rows of the table `progress`: an entry is published when its publisher says so, else when its first copy came.

    The publisher's copy counts among the copies, so that both sums are the same as long as nobody else has anything.
    """
    copies = facts.copies
    published = _counts(_published_us(copies), facts)
    copied = _counts(copies.mesh_us, facts)
    minutes = np.unique(np.concatenate([published[0], copied[0]]))
    return pa.table(
        {
            "minute_us": minutes,
            "hour_us": minutes // HOUR_US * HOUR_US,
            "published": _at(minutes, *published),
            "copied": _at(minutes, *copied),
        }
    )


def _published_us(copies: Copies) -> Ints:
    """When each entry was published, in any order."""
    order = np.lexsort((copies.mesh_us, 1 - copies.own, copies.seq, copies.feed_no))
    feed_no, seq = copies.feed_no[order], copies.seq[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (feed_no[1:] != feed_no[:-1]) | (seq[1:] != seq[:-1])
    return np.asarray(copies.mesh_us[order][first])


def _counts(t_us: Ints, facts: Facts) -> tuple[Ints, Ints]:
    """Minutes in which anything of the hours asked for happened, and how often."""
    inside = t_us[(t_us >= facts.since_us) & (t_us < facts.until_us)]
    minutes, counts = np.unique(inside // MINUTE_US * MINUTE_US, return_counts=True)
    return minutes, counts.astype(np.int64)


def _at(minutes: Ints, some: Ints, counts: Ints) -> Ints:
    """The counts of *some* of the minutes, put in their places among all."""
    found = np.zeros(len(minutes), np.int64)
    found[np.searchsorted(minutes, some)] = counts
    return found
