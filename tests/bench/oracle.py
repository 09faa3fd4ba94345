"""A schedule made by an oracle, on the same ground and channel and for the same traffic: how near a mesh can come to
the bound.

The oracle knows what each node holds. So it needs no advert and no request. It keeps to the rest: the channel model
with its collisions, losses and deaf senders, the airtime of a packet, the law, and the code over entries (decision
0059). Time is divided into slots of one packet, and which packets will be lost is unknown. There are two ways to choose
the senders of a slot:

- *scheduled*: senders are added one by one, each time the one that adds most to the receptions to be expected that
  are of use, less those that its interference prevents; those far from the author count a little more. The schedule
  is greedy, so another one may be better.
- *by carrier sense*: each node that has something of use sends with a given probability, unless it hears a node
  that does. So nodes do not know what a third node hears (hidden terminals), like those of any mesh without a schedule.

Decision 0066 says what follows.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE
from tinyssb_node.sim.bound import sends_at_least, sends_by_relays, sends_in_busiest_reach
from tinyssb_node.sim.ground import place_nodes
from tinyssb_node.sim.medium import SimulatedMedium
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.traffic import BacklogTraffic
from tinyssb_node.sim.world import stream

INLINE_MAX: Final = 47
"""Bytes of content that fit into an entry: chunks are not modelled."""
_EDGE_DB: Final = 6.0  # as in sim.medium, like the next two
_IGNORED_DB: Final = 20.0
_SENSED_DB: Final = 3.0
_FARTHER: Final = 0.1  # for each hop from its author: so entries flow instead of gathering at it
_LEAST_GAIN: Final = 1e-6  # of rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleReport:
    """Outcome of a schedule."""

    agreed: bool
    """True if all nodes have everything."""
    time_us: int
    """Until then."""
    packets: int
    """Packets sent."""
    airtime_us: int
    """Their airtime."""
    bound_us: int
    """The lower bound on it (``sim.bound``)."""
    relayed_us: int
    """The relays' yardstick."""
    busiest_us: int
    """The least airtime of the busiest neighbourhood."""

    @property
    def ratio(self) -> float:
        """Airtime as a multiple of the bound."""
        return self.airtime_us / self.bound_us

    @property
    def relayed_ratio(self) -> float:
        """Airtime as a multiple of the relays' yardstick."""
        return self.airtime_us / self.relayed_us

    @property
    def haste(self) -> float:
        """Time as a multiple of the least airtime of the busiest neighbourhood."""
        return self.time_us / self.busiest_us


class Block:
    """The holdings of a node in a generation of *size* entries: rows of the code, each over the first entries of it."""

    __slots__ = ("_rows", "frontier", "size")

    def __init__(self, size: int, *, complete: bool = False) -> None:
        self.size = size
        self._rows = [int(complete)] * (size + 1)
        """Rows by the number of entries that they are over."""
        self.frontier = size if complete else 0
        """Entries that it can solve, from the first on."""

    def gains(self, length: int) -> bool:
        """Return True if a row over the first *length* entries is of use; rows are independent if they can be."""
        return length > self.frontier and self._rank(length) > self._rank(0)

    def add(self, length: int) -> None:
        """Add a row over the first *length* entries."""
        self._rows[length] += 1
        rank = 0
        for first in range(1, self.size + 1):
            rank = min(first, rank + self._rows[first])
            if rank == first:
                self.frontier = first

    def _rank(self, added: int) -> int:
        """Return the number of independent rows with one more over *added* entries; 0: none more."""
        rank = 0
        for length in range(1, self.size + 1):
            rank = min(length, rank + self._rows[length] + (length == added))
        return rank


def schedule(options: SimulationOptions, *, access: float | None = None) -> OracleReport:
    """Play *options* by an oracle; by carrier sense, if *access* gives the probability to send in a slot.

    Raises ValueError for traffic that is not a backlog of entries without chunks.
    """
    return Oracle(options, access=access).run()


class Oracle:
    """One mesh and its schedule."""

    def __init__(self, options: SimulationOptions, *, access: float | None = None) -> None:
        """Raises ValueError."""
        ground = place_nodes(options)
        self._options = options
        self._access = access
        self._chance = stream(options.seed, "oracle")
        self._medium = ground.medium
        self._names = options.names
        self._neighbours = ground.neighbours
        self._packet_us = ground.medium.airtime_us(limits.PACKET_SIZE + limits.CRC_SIZE)
        self._slot_us = self._packet_us + options.radio.turnaround_us
        self._hear, self._power_mw = _links(ground.medium, self._names)
        sensitivity_dbm = ground.medium.modem(self._names[0]).sensitivity_dbm
        self._sensed_mw = 10 ** ((sensitivity_dbm - _SENSED_DB) / 10)
        self._margin = 10 ** (ground.medium.options.capture_db / 10)
        authors = _generations(options)
        self._entries = sum(size for _, size in authors)
        self._held = [
            [Block(size, complete=author == name) for author, size in authors] for name in self._names
        ]
        nodes = len(self._names)
        hops = _hops(self._neighbours)
        self._weight = 1 + _FARTHER * np.array([hops[self._names.index(author)] for author, _ in authors])
        self._frontier = np.array([[block.frontier for block in blocks] for blocks in self._held])
        self._useful = np.zeros((nodes, len(authors), nodes))
        for node in range(nodes):
            for place in range(len(authors)):
                self._update(node, place)
        self._sent_us: list[deque[int]] = [deque() for _ in self._names]
        self._packets = 0

    def run(self) -> OracleReport:
        """Let it happen, up to the end that the options set."""
        now_us, ended_us = 0, 0
        while not self._agreed() and now_us < self._options.limit_us:
            free = [node for node in range(len(self._names)) if self._may_send(node, now_us)]
            senders = self._choose(free) if self._access is None else self._draw(free, self._access)
            if senders:
                ended_us = now_us + self._packet_us
                self._send(senders, now_us)
            now_us += self._slot_us
        loss = self._options.channel.loss
        each_us = self._entries * self._packet_us
        return OracleReport(
            agreed=self._agreed(),
            time_us=ended_us,
            packets=self._packets,
            airtime_us=self._packets * self._packet_us,
            bound_us=round(each_us * sends_at_least(self._neighbours, loss)),
            relayed_us=round(each_us * sends_by_relays(self._neighbours, loss)),
            busiest_us=round(each_us * sends_in_busiest_reach(self._neighbours, loss)),
        )

    def _agreed(self) -> bool:
        return all(block.frontier == block.size for blocks in self._held for block in blocks)

    def _update(self, node: int, place: int) -> None:
        """Note what *node* has of a generation, for what is of use to it and what it can give."""
        block = self._held[node][place]
        self._frontier[node, place] = block.frontier
        gains = np.array([block.gains(length) for length in range(block.size + 1)], dtype=float)
        self._useful[:, place, node] = gains[self._frontier[:, place]] * self._weight[place, node]
        for other, blocks in enumerate(self._held):
            gained = other != node and blocks[place].gains(block.frontier)
            self._useful[node, place, other] = gained * self._weight[place, other]

    # --- choosing

    def _choose(self, free: list[int]) -> list[tuple[int, int]]:
        """Return which of the *free* nodes send in this slot, each with what it sends rows of."""
        chosen: list[tuple[int, int]] = []
        reached = 0.0
        while free:
            totals, places = self._with_each(chosen, free)
            best = int(np.argmax(totals))
            if totals[best] - reached <= _LEAST_GAIN:
                break
            reached = float(totals[best])
            chosen.append((free.pop(best), int(places[best])))
        return chosen

    def _with_each(
        self, chosen: Sequence[tuple[int, int]], free: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return for each *free* node the useful receptions to be expected if it sends besides those *chosen*, and what
        it would send."""
        sending = [node for node, _ in chosen]
        noise_mw = self._power_mw[sending].sum(axis=0)
        deaf = np.zeros(len(self._names))
        deaf[sending] = 1
        candidates = np.array(free)
        own_mw = self._power_mw[candidates]
        hears = self._hear[candidates] * (own_mw >= self._margin * noise_mw) * (1 - deaf)
        values = np.einsum("sr,sbr->sb", hears, self._useful[candidates])
        places = values.argmax(axis=1)
        totals: NDArray[np.float64] = values.max(axis=1)
        for node, place in chosen:
            others_mw = noise_mw - self._power_mw[node] + own_mw
            kept = (self._power_mw[node] >= self._margin * others_mw) * (1 - deaf)
            kept[np.arange(len(free)), candidates] = 0
            totals = totals + kept @ (self._hear[node] * self._useful[node, place])
        return totals, places

    def _draw(self, free: Sequence[int], access: float) -> list[tuple[int, int]]:
        """Return the same by carrier sense: a node sends if chance has it and no other node that sends is heard."""
        values = np.einsum("sr,sbr->sb", self._hear, self._useful)
        best, places = values.max(axis=1), values.argmax(axis=1)
        ready = [node for node in free if best[node] > _LEAST_GAIN and self._chance.random() < access]
        # The node that serves most waits least.
        ready.sort(key=lambda node: -best[node] * self._chance.random())
        chosen: list[tuple[int, int]] = []
        for node in ready:
            if all(self._power_mw[other, node] < self._sensed_mw for other, _ in chosen):
                chosen.append((node, int(places[node])))
        return chosen

    def _may_send(self, node: int, now_us: int) -> bool:
        """Return True if the law allows one more packet."""
        allowance = self._options.radio.allowance
        if allowance is None:
            return True
        sent_us = self._sent_us[node]
        while sent_us and sent_us[0] <= now_us - allowance.window_us:
            sent_us.popleft()
        return (len(sent_us) + 1) * self._packet_us <= allowance.limit_us

    # --- sending

    def _send(self, senders: Sequence[tuple[int, int]], now_us: int) -> None:
        for node, _ in senders:
            self._medium.begin_send(self._names[node], limits.PACKET_SIZE + limits.CRC_SIZE, now_us)
            self._sent_us[node].append(now_us)
        self._packets += len(senders)
        numbers = {name: number for number, name in enumerate(self._names)}
        lengths = {node: self._length(node, place) for node, place in senders}
        for node, place in senders:
            length = lengths[node]
            for delivery in self._medium.end_send(self._names[node]).deliveries:
                receiver = numbers[delivery.receiver]
                if self._held[receiver][place].gains(length):
                    self._held[receiver][place].add(length)
                    self._update(receiver, place)

    def _length(self, node: int, place: int) -> int:
        """Return over how many entries *node* makes a row: the fewest that are of use to as many, as these are
        solved soonest."""
        served = np.flatnonzero(self._hear[node] * self._useful[node, place])
        blocks = [self._held[receiver][place] for receiver in served]
        longest = int(self._frontier[node, place])
        lengths = (length for length in range(1, longest) if all(block.gains(length) for block in blocks))
        return next(lengths, longest)


def _hops(neighbours: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return the hops between any two nodes, 0 where no way leads."""
    reach = np.eye(len(neighbours))
    for node, others in enumerate(neighbours):
        reach[node, list(others)] = 1
    known, hops = np.eye(len(neighbours)) > 0, np.zeros((len(neighbours), len(neighbours)))
    for away in range(1, len(neighbours)):
        farther = (known @ reach > 0) & ~known
        hops[farther] = away
        known |= farther
    return hops


def _links(medium: SimulatedMedium, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return with what probability each node hears each other one without interference, and at what power."""
    hear, power_mw = np.zeros((2, len(names), len(names)))
    for here, sender in enumerate(names):
        for there, receiver in enumerate(names):
            link = medium.link(sender, receiver)
            if link is None:
                continue
            above_db = link.rssi_dbm - medium.modem(receiver).sensitivity_dbm
            if above_db > -_IGNORED_DB:
                power_mw[here, there] = 10 ** (link.rssi_dbm / 10)
            if abs(above_db) < _EDGE_DB and medium.options.soft_edge:
                hear[here, there] = (1 - link.loss) / (1 + np.exp(-2.0 * above_db))
            elif above_db >= 0:
                hear[here, there] = 1 - link.loss
    return hear, power_mw


def _generations(options: SimulationOptions) -> list[tuple[str, int]]:
    """Return the author and the number of entries of each generation."""
    found: list[tuple[str, int]] = []
    for traffic in options.traffic:
        if not isinstance(traffic, BacklogTraffic) or traffic.size > INLINE_MAX:
            raise ValueError(f"{traffic} is no backlog of entries without chunks")
        firsts = range(0, traffic.entries, GENERATION_SIZE)
        sizes = [min(GENERATION_SIZE, traffic.entries - first) for first in firsts]
        found += [(name, size) for name in traffic.named() for size in sizes]
    return found
