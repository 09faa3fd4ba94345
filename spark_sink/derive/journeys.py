"""The journey of one message: when it reached each node, from which sender, and how often it was sent."""

from dataclasses import dataclass

import numpy as np

from spark_sink.arrays import Ints, take
from spark_sink.derive.delays import arrivals, hop_delays
from spark_sink.derive.facts import RX, TX, Facts
from spark_sink.derive.sights import ENTRY_PACKETS
from spark_sink.derive.transmissions import transmissions

_NEW = 0


@dataclass(frozen=True, slots=True)
class Hop:
    """Arrival of a copy at a node."""

    node_no: int
    t_us: int
    """Time when it was committed."""
    sender: int
    """The node that sent the packet that brought it."""
    sent_us: int
    hop_us: int | None
    """Time since the sender had it itself; None if unknown."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A packet with the message, on one face."""

    node_no: int
    t_us: int
    face: str
    heard_by: tuple[int, ...]
    new_at: tuple[int, ...]
    """Those of `heard_by` that did not have it."""


@dataclass(frozen=True, slots=True)
class Journey:
    """All that is known of one message's way, in order of time."""

    hops: tuple[Hop, ...]
    """Copies whose sender is known: neither the publisher's, nor what came from who writes no log."""
    sendings: tuple[Sending, ...]


def journey(facts: Facts, feed_no: int, seq: int) -> Journey:
    """Return the journey of an entry's own packet, not of its side chain, by the sights in *facts*, whatever their
    hours."""
    sights = facts.sights
    heard = transmissions(sights)
    found = arrivals(facts, heard)
    ours = (sights.feed_no[found.commit] == feed_no) & (sights.seq[found.commit] == seq)
    found = take(found, ours)
    timed, delay_us = hop_delays(facts, found)
    delays = dict(zip(timed.commit.tolist(), delay_us.tolist(), strict=True))
    hops = [
        Hop(
            int(sights.node_no[commit]),
            int(sights.mesh_us[commit]),
            int(sights.node_no[tx]),
            int(sights.mesh_us[tx]),
            delays.get(commit),
        )
        for commit, tx in zip(found.commit.tolist(), found.tx.tolist(), strict=True)
    ]
    carries = (
        (sights.kind == RX)
        & np.isin(sights.packet, ENTRY_PACKETS)
        & (sights.feed_no == feed_no)
        & (sights.seq == seq)
    )
    carriers = np.flatnonzero(np.isin(sights.hash, np.unique(sights.hash[carries])))
    sent, rx = carriers[sights.kind[carriers] == TX], carriers[sights.kind[carriers] == RX]
    sendings = [_sending(facts, place, rx[heard.tx[rx] == place]) for place in sent.tolist()]
    return Journey(
        tuple(sorted(hops, key=lambda hop: (hop.t_us, hop.node_no))),
        tuple(sorted(sendings, key=lambda sending: (sending.t_us, sending.node_no, sending.face))),
    )


def _sending(facts: Facts, place: int, rx: Ints) -> Sending:
    sights = facts.sights
    face = int(sights.face[place])
    return Sending(
        int(sights.node_no[place]),
        int(sights.mesh_us[place]),
        sights.faces[face] if face >= 0 else "",
        tuple(np.unique(sights.node_no[rx]).tolist()),
        tuple(np.unique(sights.node_no[rx[sights.verdict[rx] == _NEW]]).tolist()),
    )
