"""Airtime: how much each node used in ten minutes, and whether it brought news, repaired a loss, or was redundant
(docs/reference/analytics.md)."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Bools, Ints
from spark_sink.derive.delays import arrivals, hop_delays
from spark_sink.derive.facts import HOUR_US, TX, Facts
from spark_sink.derive.row_keys import grouped, keys
from spark_sink.derive.sights import PACKETS
from spark_sink.derive.transmissions import Transmissions

KINDS: Final = (*PACKETS, "unknown")
"""Kinds of packets by their codes in packed rows; the last one is for all others."""
USES: Final = ("news", "repair", "redundant", "unheard", "overhead")
NEWS, REPAIR, REDUNDANT, UNHEARD, OVERHEAD = range(len(USES))
_NEW: Final = 0
_CONTENT: Final = tuple(PACKETS.index(kind) for kind in ("entry", "chunk", "coded", "coded_chunk"))
"""Codes of packets that carry content."""


def uses(facts: Facts, heard: Transmissions) -> pa.Table:
    """Make the rows of the table `uses`: all packets sent in the hours asked for."""
    sights, sent = facts.sights, _sent(facts)
    use = _use(facts, heard, sent)
    packet = np.minimum(sights.packet[sent], len(KINDS) - 1)
    hour = (sights.mesh_us[sent] - facts.since_us) // HOUR_US
    rows, place = grouped(hour, sights.node_no[sent], sights.face[sent], packet, use)
    return pa.table(
        {
            "hour_us": facts.since_us + rows[0] * HOUR_US,
            "node_no": rows[1],
            "face": _faces(facts, rows[2]),
            "packet": pa.array(np.array(KINDS, object)[rows[3]], pa.string()),
            "use": pa.array(np.array(USES, object)[rows[4]], pa.string()),
            **_sums(facts, sent, place, len(rows[0])),
        }
    )


def transmitted(facts: Facts) -> pa.Table:
    """Make the rows of the table `transmitted`: airtime by slots of ten minutes, where air costs something."""
    sights, sent = facts.sights, _sent(facts)
    sent = sent[sights.airtime_us[sent] > 0]
    slot = (sights.mesh_us[sent] - facts.since_us) // limits.SLOT_US
    rows, place = grouped(sights.node_no[sent], slot, sights.face[sent])
    slot_us = facts.since_us + rows[1] * limits.SLOT_US
    return pa.table(
        {
            "node_no": rows[0],
            "slot_us": slot_us,
            "face": _faces(facts, rows[2]),
            "hour_us": slot_us - slot_us % HOUR_US,
            **_sums(facts, sent, place, len(rows[0])),
        }
    )


def _sent(facts: Facts) -> Ints:
    """Return the rows of all packets sent in the hours asked for."""
    sights = facts.sights
    sent = np.flatnonzero(sights.kind == TX)
    return sent[(sights.mesh_us[sent] >= facts.since_us) & (sights.mesh_us[sent] < facts.until_us)]


def _faces(facts: Facts, face: Ints) -> pa.Array:
    """Return the names of faces by their codes."""
    return pa.array(np.array([*facts.sights.faces, ""], object)[face], pa.string())


def _sums(facts: Facts, sent: Ints, place: Ints, count: int) -> dict[str, Ints]:
    """Return how many packets *sent*, and how much airtime, each of *count* groups has; *place* is the packets'."""
    airtime_us = np.zeros(count, np.int64)
    np.add.at(airtime_us, place, facts.sights.airtime_us[sent])
    return {"packets": np.bincount(place, minlength=count), "airtime_us": airtime_us}


def _use(facts: Facts, heard: Transmissions, sent: Ints) -> Ints:
    """Classify each packet *sent*, as an index into `USES`."""
    sights = facts.sights
    rx = np.flatnonzero(heard.tx >= 0)
    was_heard, was_new = np.zeros(len(sights), bool), np.zeros(len(sights), bool)
    was_heard[heard.tx[rx]] = True
    was_new[heard.tx[rx[sights.verdict[rx] == _NEW]]] = True
    before = _sent_before(facts, sent) | _old(facts, heard, sent)
    use = np.where(was_heard[sent], REDUNDANT, UNHEARD)
    use = np.where(was_new[sent], np.where(before, REPAIR, NEWS), use)
    return np.where(np.isin(sights.packet[sent], _CONTENT), use, OVERHEAD)


def _sent_before(facts: Facts, sent: Ints) -> Bools:
    """Return whether the same node had sent the same packet on the same face shortly before."""
    sights = facts.sights
    rows = np.flatnonzero((sights.kind == TX) & np.isin(sights.packet, _CONTENT))
    key = keys(sights.node_no[rows], sights.face[rows], sights.hash[rows])
    order = np.lexsort((sights.offset[rows], sights.boot[rows], sights.mesh_us[rows], key))
    rows, key = rows[order], key[order]
    again = np.zeros(len(sights), bool)
    gone_us = np.diff(sights.mesh_us[rows])
    again[rows[1:]] = (key[1:] == key[:-1]) & (gone_us <= limits.LOOK_BACK_US)
    return np.asarray(again[sent])


def _old(facts: Facts, heard: Transmissions, sent: Ints) -> Bools:
    """Return whether it brought an entry, at once, to a node, and the sender had had the entry for long."""
    sights = facts.sights
    found, delay_us = hop_delays(facts, arrivals(facts, heard))
    waited_us = sights.mesh_us[found.commit] - sights.mesh_us[found.tx]
    old = np.zeros(len(sights), bool)
    old[found.tx[(delay_us - waited_us > limits.LOOK_BACK_US) & (waited_us <= limits.LINK_WINDOW_US)]] = True
    return np.asarray(old[sent])
