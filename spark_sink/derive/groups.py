"""Contacts between nodes in slots of ten minutes, and the groups into which they divide the mesh."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints, components, count_up, run_starts
from spark_sink.derive.facts import HOUR_US, RX, Facts
from spark_sink.derive.transmissions import transmissions

# Preamble and header of a LoRa frame, as the airtime of so many bytes: 14 at SF7, 24 at SF12.
_HEAD_SIZE: Final = 20
_HEARD: Final = (0, 1)
"""Verdicts, new and duplicate, that show a contact even if no log has the sending."""


@dataclass(frozen=True, slots=True)
class _Contacts:
    """Packets that were heard; nodes are places in a sorted list of those that are known."""

    sender: Ints
    """−1: a sender without a log."""
    receiver: Ints
    slot: Ints
    t_us: Ints
    life: Ints
    """Number of slots after its own in which a contact counts."""


def groups(facts: Facts) -> pa.Table:
    """Make the rows of the table `groups`: one for each node and slot in which it was up, even for a moment.

    Two nodes are in contact in the slot in which one heard the other, and in the `limits.LEAST_SLOTS` to
    `limits.MOST_SLOTS` that follow, depending on how slow the radio is. Groups are the connected components of these
    contacts among nodes that are up. `last_us` is the last time at which a node heard, or was heard by, any other; it
    is null when that no longer counts.
    """
    nodes = np.union1d(facts.uptimes.node_no, facts.sights.node_no)
    slots = (facts.until_us - facts.since_us) // limits.SLOT_US
    up = _up(facts, nodes, slots)
    contacts = _contacts(facts, nodes)
    left, right = _edges(contacts, up, len(nodes), slots)
    label = components(len(up), left, right)
    last, last_us = _last(contacts, len(nodes), slots)
    known = np.isin(last, up, assume_unique=True)
    place = np.searchsorted(up, last[known])
    shown_us = np.zeros(len(up), np.int64)
    shown_us[place] = last_us[known]
    silent = np.ones(len(up), np.bool_)
    silent[place] = False
    slot_us = facts.since_us + up // max(len(nodes), 1) * limits.SLOT_US
    node_no = nodes[up % max(len(nodes), 1)]
    return pa.table(
        {
            "slot_us": slot_us,
            "node_no": node_no,
            "hour_us": slot_us // HOUR_US * HOUR_US,
            "group_no": node_no[label],
            "contacts": np.bincount(np.concatenate([left, right]), minlength=len(up)),
            "last_us": pa.array(shown_us, mask=silent),
        }
    )


def _up(facts: Facts, nodes: Ints, slots: int) -> Ints:
    """Return the keys, slot times number of nodes plus node, of slots in which nodes were up; in order."""
    uptimes = facts.uptimes
    begin = np.clip((uptimes.since_us - facts.since_us) // limits.SLOT_US, 0, slots)
    end = np.clip((uptimes.until_us - facts.since_us) // limits.SLOT_US + 1, 0, slots)
    node, slot = _spread(np.searchsorted(nodes, uptimes.node_no), begin, end)
    return np.unique(slot * len(nodes) + node)


def _spread(value: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Repeat each value for every slot from *begin* on and before *end*; return values and slots."""
    count = np.maximum(end - begin, 0)
    return np.repeat(value, count), count_up(count) + np.repeat(begin, count)


def _contacts(facts: Facts, nodes: Ints) -> _Contacts:
    sights = facts.sights
    rx = np.flatnonzero(sights.kind == RX)
    sender = transmissions(sights).sender[rx]
    known = sender >= 0
    counted = known | np.isin(sights.verdict[rx], _HEARD)
    rx, sender, known = rx[counted], sender[counted], known[counted]
    t_us = sights.mesh_us[rx]
    full_us = sights.airtime_us[rx] * (120 + _HEAD_SIZE)  # 120: bytes of a full packet
    full_us //= sights.length[rx] + _HEAD_SIZE
    # An idle node adverts at least every 256 full packets' time (`advert_max_us` of the node). A contact counts for 24
    # such intervals: in the simulator's `idle`, neighbours who have eight others to leave the talking to are silent to
    # each other for 33 minutes, 38 intervals, once a day; they are still connected through those others.
    life = full_us * 256 * 24 // limits.SLOT_US
    return _Contacts(
        sender=np.where(known, np.searchsorted(nodes, sender), -1),
        receiver=np.searchsorted(nodes, sights.node_no[rx]),
        slot=(t_us - facts.since_us) // limits.SLOT_US,
        t_us=t_us,
        life=np.clip(life, limits.LEAST_SLOTS, limits.MOST_SLOTS),
    )


def _edges(contacts: _Contacts, up: Ints, nodes: int, slots: int) -> tuple[Ints, Ints]:
    """Return indexes in *up* of any two nodes in contact, each pair once a slot."""
    known = contacts.sender >= 0
    low = np.minimum(contacts.sender, contacts.receiver)[known]
    high = np.maximum(contacts.sender, contacts.receiver)[known]
    pair, slot = _lasting(low * nodes + high, contacts.slot[known], contacts.life[known], slots)
    key = np.unique(slot * nodes * nodes + pair)
    slot, pair = np.divmod(key, max(nodes * nodes, 1))
    left, right = slot * nodes + pair // max(nodes, 1), slot * nodes + pair % max(nodes, 1)
    both = np.isin(left, up) & np.isin(right, up)
    return np.searchsorted(up, left[both]), np.searchsorted(up, right[both])


def _lasting(what: Ints, slot: Ints, life: Ints, slots: int) -> tuple[Ints, Ints]:
    """Return the slots in which a value counts that belongs to *slot*; each may come several times."""
    what, slot, life = _told_apart(np.unique(_key(what, slot, life, slots)), slots)
    return _spread(what, np.clip(slot, 0, slots), np.clip(slot + life + 1, 0, slots))


_LIVES: Final = limits.MOST_SLOTS + 1


def _key(what: Ints, slot: Ints, life: Ints, slots: int) -> Ints:
    """Return one number for a value, a slot, and how long it counts; slots too early to matter are one."""
    width = slots + _LIVES + 1
    return (what * width + np.clip(slot + _LIVES, 0, width - 1)) * _LIVES + life


def _told_apart(key: Ints, slots: int) -> tuple[Ints, Ints, Ints]:
    place, life = np.divmod(key, _LIVES)
    what, slot = np.divmod(place, slots + _LIVES + 1)
    return what, slot - _LIVES, life


def _last(contacts: _Contacts, nodes: int, slots: int) -> tuple[Ints, Ints]:
    """Return for each key (slot times number of nodes plus node) the time of the last contact that counts."""
    known = contacts.sender >= 0
    node = np.concatenate([contacts.receiver, contacts.sender[known]])
    slot = np.concatenate([contacts.slot, contacts.slot[known]])
    life = np.concatenate([contacts.life, contacts.life[known]])
    t_us = np.concatenate([contacts.t_us, contacts.t_us[known]])
    key, t_us = _newest(_key(node, slot, life, slots), t_us)
    node, slot, life = _told_apart(key, slots)
    place, slot = _spread(np.arange(len(node)), np.clip(slot, 0, slots), np.clip(slot + life + 1, 0, slots))
    return _newest(slot * nodes + node[place], t_us[place])


def _newest(key: Ints, t_us: Ints) -> tuple[Ints, Ints]:
    """Return each key once, in order, with its latest time."""
    order = np.argsort(key, kind="stable")
    key = key[order]
    begins = np.flatnonzero(run_starts(key))
    latest = np.maximum.reduceat(t_us[order], begins) if len(begins) else t_us
    return key[begins], latest
