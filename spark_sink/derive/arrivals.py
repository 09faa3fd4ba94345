"""Which packet brought an entry, and who sent it."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.derive.facts import ENTRY, RX, Facts, Ints
from spark_sink.derive.keys import keys, last_before
from spark_sink.derive.transmissions import Transmissions

_NEW: Final = 0
_PEER: Final = 6
_ENTRY_PACKET: Final = 0
_EVER_US: Final = 2**62


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Entries that came from a node whose log has the sending, as places in the sights, a value for each."""

    commit: Ints
    """Of the record that it was committed,"""
    rx: Ints
    """of the packet that brought it,"""
    tx: Ints
    """and of its sending."""

    def take(self, rows: Ints) -> "Arrivals":
        """Some of them."""
        return Arrivals(self.commit[rows], self.rx[rows], self.tx[rows])


def arrivals(facts: Facts, heard: Transmissions) -> Arrivals:
    """All of which it is known. An entry that a node commits again, after its store was lost, arrives only once.

    The packet that brought it is the last one not after it, and up to `limits.LOOK_BACK_US` before, that brought
    something new and was this entry.
    """
    sights = facts.sights
    commit = _first_commits(facts)
    entry = (sights.kind == RX) & (sights.verdict == _NEW) & (sights.packet == _ENTRY_PACKET)
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
    """Places of records of entries that came from peers, the first of each node."""
    sights, copies = facts.sights, facts.copies
    commit = np.flatnonzero((sights.kind == ENTRY) & (sights.verdict == _PEER) & (sights.feed_no >= 0))
    commit = commit[np.lexsort((sights.offset[commit], sights.boot[commit]))]
    columns = (
        (sights.node_no[commit], copies.node_no),
        (sights.feed_no[commit], copies.feed_no),
        (sights.seq[commit], copies.seq),
    )
    key = keys(*(np.concatenate(both) for both in columns))
    size = len(commit)
    copy = last_before(key[:size], np.full(size, _EVER_US), key[size:], copies.mesh_us)
    known = copy >= 0
    known[known] = copies.mesh_us[copy[known]] == sights.mesh_us[commit[known]]
    commit, key = commit[known], key[:size][known]
    return commit[np.sort(np.unique(key, return_index=True)[1])]
