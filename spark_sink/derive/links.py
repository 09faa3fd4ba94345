"""Links: which node heard which, how often and how well (docs/reference/analytics.md, "Links")."""

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Bools, Floats, Ints, count_up, run_starts
from spark_sink.derive.facts import HOUR_US, TX, Facts, Uptimes
from spark_sink.derive.row_keys import grouped, keys
from spark_sink.derive.sights import NO_RSSI
from spark_sink.derive.transmissions import Transmissions


def links(facts: Facts, heard: Transmissions) -> pa.Table:
    """Make the rows of the table `links`: for every hour, any two nodes of which one heard the other."""
    sights = facts.sights
    rx, tx = receptions(facts, heard)
    hour = (sights.mesh_us[tx] - facts.since_us) // HOUR_US
    pairs, place = grouped(hour, sights.node_no[tx], sights.node_no[rx])
    size = len(pairs[0])
    rssi, snr = sights.rssi_dbm[rx], sights.snr_db[rx]
    has_rssi, has_snr = rssi != NO_RSSI, ~np.isnan(snr)
    first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(first, place, sights.mesh_us[tx])
    np.maximum.at(last, place, sights.mesh_us[tx])
    times = np.bincount(place, minlength=size)
    return pa.table(
        {
            "hour_us": facts.since_us + pairs[0] * HOUR_US,
            "sender": pairs[1],
            "receiver": pairs[2],
            "heard": times,
            "sent": np.maximum(times, _sent(facts, pairs, place, tx)),
            "rssi_sum": _sums(place[has_rssi], rssi[has_rssi], size).astype(np.int64),
            "rssi_n": np.bincount(place[has_rssi], minlength=size),
            "snr_sum": _sums(place[has_snr], snr[has_snr], size),
            "snr_n": np.bincount(place[has_snr], minlength=size),
            "first_us": first,
            "last_us": last,
        }
    )


def receptions(facts: Facts, heard: Transmissions) -> tuple[Ints, Ints]:
    """Return indexes of packets heard that were sent in the hours, one for each receiver, and of their sendings."""
    sights = facts.sights
    rx = np.flatnonzero(heard.tx >= 0)
    tx = heard.tx[rx]
    within = (sights.mesh_us[tx] >= facts.since_us) & (sights.mesh_us[tx] < facts.until_us)
    rx, tx = rx[within], tx[within]
    order = np.lexsort((sights.offset[rx], sights.boot[rx], keys(tx, sights.node_no[rx])))
    rx, tx = rx[order], tx[order]
    once = run_starts(tx, sights.node_no[rx])
    return rx[once], tx[once]


def _sums(place: Ints, values: Ints | Floats, size: int) -> Floats:
    """Sum up values in a fixed order, the smallest first, since floating-point sums depend on the order."""
    order = np.argsort(values, kind="stable")
    return np.bincount(place[order], values[order], size).astype(np.float64)


def _sent(facts: Facts, pairs: list[Ints], place: Ints, tx: Ints) -> Ints:
    """Count the packets that a pair's sender sent in the hour while the receiver was up, on the faces that it heard."""
    sights = facts.sights
    sending = sights.mesh_us >= facts.since_us
    sending &= (sights.mesh_us < facts.until_us) & (sights.kind == TX)
    sent = np.flatnonzero(sending)
    (pair, face), _ = grouped(place, sights.face[tx])
    hour = (sights.mesh_us[sent] - facts.since_us) // HOUR_US
    columns = (pairs[0][pair], hour), (pairs[1][pair], sights.node_no[sent]), (face, sights.face[sent])
    _, number = grouped(*(np.concatenate(both) for both in columns))
    wanted, given = number[: len(pair)], number[len(pair) :]
    order = np.argsort(given, kind="stable")
    begin = np.searchsorted(given[order], wanted)
    count = np.searchsorted(given[order], wanted, "right") - begin
    pair = np.repeat(pair, count)
    t_us = sights.mesh_us[sent[order[np.repeat(begin, count) + count_up(count)]]]
    up = up_at(facts, facts.uptimes, pairs[2][pair], t_us)
    return np.bincount(pair[up], minlength=len(pairs[0]))


def up_at(facts: Facts, uptimes: Uptimes, node_no: Ints, t_us: Ints) -> Bools:
    """Return whether nodes were up at times within the requested hours."""
    span = facts.until_us - facts.since_us + 2

    def places(node: Ints, time_us: Ints) -> Ints:
        return node * span + np.clip(time_us - facts.since_us + 1, 0, span - 1)

    begun = np.sort(places(uptimes.node_no, uptimes.since_us))
    ended = np.sort(places(uptimes.node_no, uptimes.until_us))
    asked, earliest = places(node_no, t_us), node_no * span
    begins = np.searchsorted(begun, asked, "right") - np.searchsorted(begun, earliest)
    ends = np.searchsorted(ended, asked) - np.searchsorted(ended, earliest)
    return np.asarray(begins > ends)
