"""Delays of entries: from the publisher to each copy, and from each node to the next (docs/reference/analytics.md)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints, run_starts, take
from spark_sink.derive.buckets import bucket_of
from spark_sink.derive.facts import ENTRY, HOUR_US, RX, Copies, Facts
from spark_sink.derive.mesh_time import comparable
from spark_sink.derive.row_keys import grouped, keys, last_before
from spark_sink.derive.sights import ENTRY_PACKETS
from spark_sink.derive.transmissions import Transmissions

_NEW: Final = 0
_PEER: Final = 6
_EVER_US: Final = 2**62


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Entries that came from a node whose log has the sending, as places in the sights, a value for each."""

    commit: Ints
    """Index of the record that commits it."""
    rx: Ints
    """of the packet that brought it,"""
    tx: Ints
    """and of its sending."""


def arrivals(facts: Facts, heard: Transmissions) -> Arrivals:
    """Find the packet that brought each entry. An entry committed again, after a store was lost, arrives only once.

    The packet is the last one not after the commit, and up to `limits.LOOK_BACK_US` before, that brought something new
    and was this entry.
    """
    sights = facts.sights
    commit = _first_commits(facts)
    entry = (sights.kind == RX) & (sights.verdict == _NEW) & np.isin(sights.packet, ENTRY_PACKETS)
    rx = np.flatnonzero(entry & (sights.feed_no >= 0))
    rx = rx[np.lexsort((sights.offset[rx], sights.boot[rx]))]
    both = np.concatenate([commit, rx])
    key = keys(sights.node_no[both], sights.feed_no[both], sights.seq[both])
    size = len(commit)
    found = last_before(key[:size], sights.mesh_us[commit], key[size:], sights.mesh_us[rx])
    known = np.flatnonzero(found >= 0)
    commit, rx = commit[known], rx[found[known]]
    near = (sights.mesh_us[commit] - sights.mesh_us[rx] <= limits.LOOK_BACK_US) & (heard.tx[rx] >= 0)
    return Arrivals(commit[near], rx[near], heard.tx[rx[near]])


def _first_commits(facts: Facts) -> Ints:
    """Return places of records of entries that came from peers, the first of each node."""
    sights, copies = facts.sights, facts.copies
    commit = np.flatnonzero((sights.kind == ENTRY) & (sights.verdict == _PEER) & (sights.feed_no >= 0))
    commit = commit[np.lexsort((sights.offset[commit], sights.boot[commit]))]
    copy, key = _copies_of(facts, sights.node_no[commit], commit)
    known = copy >= 0
    known[known] = copies.mesh_us[copy[known]] == sights.mesh_us[commit[known]]
    commit, key = commit[known], key[known]
    return commit[np.sort(np.unique(key, return_index=True)[1])]


def _copies_of(facts: Facts, node_no: Ints, commit: Ints) -> tuple[Ints, Ints]:
    """Return the index of each node's copy of the entry of a record, −1 without one; and a key for node and entry."""
    sights, copies = facts.sights, facts.copies
    columns = (
        (node_no, copies.node_no),
        (sights.feed_no[commit], copies.feed_no),
        (sights.seq[commit], copies.seq),
    )
    key = keys(*(np.concatenate(both) for both in columns))
    size = len(commit)
    return last_before(key[:size], np.full(size, _EVER_US), key[size:], copies.mesh_us), key[:size]


def delays(facts: Facts) -> pa.Table:
    """Make the rows of the table `delays` of two scopes: copies that arrived in each hour, by delay.

    The scope `node` is by the node that got the copy, `feed` by whose entry it is.

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
    none = np.zeros(len(to), np.int64)
    by_feed = _count("feed", hour_us, copies.feed_no[to], none, bucket)
    return pa.concat_tables([by_feed, _count("node", hour_us, copies.node_no[to], none, bucket)])


def by_hour(rows: pa.Table) -> pa.Table:
    """Make the rows of the table `delay_hours`: those of `delays`, whoever they are of."""
    found = rows.group_by(["hour_us", "scope", "bucket"], use_threads=False).aggregate([("n", "sum")])
    return found.rename_columns(["hour_us", "scope", "bucket", "n"])


def _publishers(copies: Copies) -> tuple[Ints, Ints]:
    """Return the index of the publisher's copy and of the other one, for each copy that is not a publisher's.

    If several nodes claim to have published an entry, the one with the smallest number counts.
    """
    order = np.lexsort((copies.node_no, 1 - copies.own, copies.seq, copies.feed_no))
    feed_no, seq = copies.feed_no[order], copies.seq[order]
    first = run_starts(feed_no, seq)
    publisher = order[np.flatnonzero(first)][np.cumsum(first) - 1]
    other = (copies.own[order] == 0) & (copies.own[publisher] == 1)
    return publisher[other], order[other]


def _count(scope: str, hour_us: Ints, a: Ints, b: Ints, bucket: Ints) -> pa.Table:
    rows, place = grouped(hour_us, a, b, bucket)
    return pa.table(
        {
            "hour_us": rows[0],
            "scope": pa.array([scope] * len(rows[0]), pa.string()),
            "a": rows[1],
            "b": rows[2],
            "bucket": rows[3],
            "n": np.bincount(place, minlength=len(rows[0])),
        }
    )


def hops(facts: Facts, heard: Transmissions) -> pa.Table:
    """Make the rows of the table `delays` with the scope `hop`: of copies that came in the hours asked for."""
    sights = facts.sights
    found = arrivals(facts, heard)
    came_us = sights.mesh_us[found.commit]
    within = np.flatnonzero((came_us >= facts.since_us) & (came_us < facts.until_us))
    found, delay_us = hop_delays(facts, take(found, within))
    commit = found.commit
    hour_us = sights.mesh_us[commit] // HOUR_US * HOUR_US
    sender, receiver = sights.node_no[found.tx], sights.node_no[commit]
    return _count("hop", hour_us, sender, receiver, bucket_of(delay_us))


def hop_delays(facts: Facts, found: Arrivals) -> tuple[Arrivals, Ints]:
    """Return arrivals whose sender is known to have had the entry, and how long before that was."""
    sights, copies = facts.sights, facts.copies
    sender = sights.node_no[found.tx]
    commit = found.commit
    theirs, _ = _copies_of(facts, sender, commit)
    known = np.flatnonzero(theirs >= 0)
    theirs, commit = theirs[known], commit[known]
    alike = comparable(sights.node_no[commit], sights.mesh[commit], sender[known], copies.mesh[theirs])
    delay_us = sights.mesh_us[commit[alike]] - copies.mesh_us[theirs[alike]]
    return take(found, known[alike]), delay_us
