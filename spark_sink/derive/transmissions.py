"""Transmissions: the sending that each heard packet belongs to (docs/reference/analytics.md, "Transmissions")."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, run_starts
from spark_sink.derive.facts import RX, TX, Sights

_MESH_FACTOR: Final = np.int64(-7_046_029_254_386_353_131)
_RADIO_FACTOR: Final = np.int64(-4_417_276_706_812_531_889)
"""Odd numbers with well-spread bits (2⁶⁴ divided by the golden ratio; a prime of xxHash), to separate equal hashes."""


@dataclass(frozen=True, slots=True)
class Transmissions:
    """For each row of some sights: the place of what it heard being sent, and who sent it."""

    tx: Ints
    """−1 if the row is not a heard packet, or no log has its sending."""
    sender: Ints
    """Node number, likewise."""


def transmissions(sights: Sights) -> Transmissions:
    """Match each heard packet with a sending of another node; the order of equal times does not matter.

    With related clocks it is the nearest in time, at most `limits.HEARD_WITHIN_US` away. With two clocks that are
    related to no other it is the last one before, at most `limits.LINK_WINDOW_US`, or else the first one after, at most
    `limits.HEARD_WITHIN_US`. A radio does not hear a cable.
    """
    tx: Ints = np.full(len(sights), -1)
    packets = np.flatnonzero(sights.kind <= TX)
    alone = sights.mesh[packets] == sights.node_no[packets]
    _match(sights, packets[~alone], limits.HEARD_WITHIN_US, tx)
    _match(sights, packets[alone], limits.LINK_WINDOW_US, tx)
    heard = tx >= 0
    sender = tx.copy()
    sender[heard] = sights.node_no[tx[heard]]
    return Transmissions(tx, sender)


def _match(sights: Sights, rows: Ints, before_us: int, tx: Ints) -> None:
    """Fill in *tx* for *rows*, all of one kind of clocks."""
    alone = before_us == limits.LINK_WINDOW_US
    key = sights.hash[rows] + (sights.airtime_us[rows] > 0) * _RADIO_FACTOR
    if not alone:
        key += sights.mesh[rows] * _MESH_FACTOR
    order = np.argsort(key, kind="stable")
    rows, key = rows[order], key[order]
    _settle_ties(sights, rows, key)
    time_us, node = sights.mesh_us[rows], sights.node_no[rows]
    sent = sights.kind[rows] == TX
    heard = np.flatnonzero(sights.kind[rows] == RX)
    before = _others(heard, sent, node, key, -1)
    after = _others(heard, sent, node, key, 1)
    away_before = np.where(before >= 0, time_us[heard] - time_us[before], before_us + 1)
    away_after = np.where(after >= 0, time_us[after] - time_us[heard], limits.HEARD_WITHIN_US + 1)
    good_before, good_after = away_before <= before_us, away_after <= limits.HEARD_WITHIN_US
    earlier = good_before & (~good_after | (away_before <= away_after) | alone)
    found = np.where(earlier, before, np.where(good_after, after, -1))
    known = found >= 0
    tx[rows[heard[known]]] = rows[found[known]]


def _settle_ties(sights: Sights, rows: Ints, key: Ints) -> None:
    """Put rows with the same key and time in order of who wrote them; there are few."""
    same = (key[1:] == key[:-1]) & (sights.mesh_us[rows[1:]] == sights.mesh_us[rows[:-1]])
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    some = rows[tied]
    order = np.lexsort(
        (sights.offset[some], sights.boot[some], sights.node_no[some], sights.mesh_us[some], key[tied])
    )
    rows[tied] = some[order]


def _others(heard: Ints, sent: Bools, node: Ints, key: Ints, step: int) -> Ints:
    """Return for each row in *heard*, the next row in one direction in which another node sent the same packet, else
    −1."""
    tx = np.flatnonzero(sent)
    if not len(tx):
        return np.full(len(heard), -1)
    changed = run_starts(node[tx], key[tx])
    begin = np.append(np.flatnonzero(changed), len(tx))
    run = np.cumsum(changed) - 1
    near = np.searchsorted(tx, heard) - (step < 0)
    own = (near >= 0) & (near < len(tx))
    own[own] = node[tx[near[own]]] == node[heard[own]]
    near[own] = begin[run[near[own]]] - 1 if step < 0 else begin[run[near[own]] + 1]
    inside = (near >= 0) & (near < len(tx))
    found = np.where(inside, tx[np.clip(near, 0, len(tx) - 1)], -1)
    found[key[found] != key[heard]] = -1
    return found
