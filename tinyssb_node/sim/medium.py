"""The modelled LoRa channel: who hears what when several send. Pure: time is an argument, chance is injected.

Transmissions are events on an axis of integer microseconds: ``begin_send`` says when one ends; ``end_send``, called
then or later, says who got it. The same calls in the same order with the same entropy give the same results.

The model, and where it stops:

- Power falls with the logarithm of distance, or is given per link; a link that is cut carries nothing.
- A receiver locks on to the first preamble it can demodulate. A later one takes it over only during that preamble,
  and only by being stronger by the capture margin; otherwise it is interference.
- What it locked on to arrives if it is stronger, by that margin, than the sum of what overlapped it, each weighted by
  how long it did.
- Who sends is deaf, and for a moment afterwards; who begins to send drops what it was receiving.
- Carrier sense does not see what began a moment ago: two who listen at the same time may still collide.
- Everybody uses the same settings; other spreading factors and other users of the band are not modelled.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from firmware_bridge import lora
from firmware_bridge.lora import LoraSettings
from tinyssb_node import limits


class Entropy(Protocol):
    """Where chance comes from; ``random.Random`` is one."""

    def random(self) -> float:
        """Uniform from 0 up to 1."""
        ...

    def gauss(self, mu: float, sigma: float) -> float:
        """Normally distributed."""
        ...


class Miss(StrEnum):
    """Why somebody in reach did not get a packet."""

    DEAF = "deaf"
    """It was sending, or had just been, when the packet began; or it began to send."""
    COLLISION = "collision"
    """Something else was on the air at the same time."""
    WEAK = "weak"
    """Below what can be demodulated."""
    LOSS = "loss"
    """By the link's probability of loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediumOptions:
    """How the channel is."""

    lora: LoraSettings = field(default_factory=LoraSettings)
    """Everybody's modem settings."""
    power_dbm: float = 14.0
    """What everybody sends with, antennas included: the limit of 868.0 to 868.6 MHz."""
    default_rssi_dbm: float | None = -80.0
    """How two nodes without positions and without a link of their own hear each other; None: not at all."""
    default_loss: float = 0.0
    """Probability of loss on links without one of their own."""
    shadowing_db: float = 0.0
    """Standard deviation of what hills and walls add, drawn once per pair of positions."""
    capture_db: float = 6.0
    """By how much a packet must be stronger than what disturbs it."""
    turnaround_us: int = 1_000
    """How long a modem is deaf after sending."""
    sense_symbols: int = 2
    """What began more recently than this is not yet seen by carrier sense."""
    sense_margin_db: float = 3.0
    """By how much carrier sense sees deeper than reception."""


@dataclass(frozen=True, slots=True)
class Link:
    """How two nodes hear each other."""

    rssi_dbm: float
    """Received power."""
    loss: float
    """Probability that a packet is lost, over and above collisions."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Somebody got a packet."""

    receiver: str
    """Who."""
    rssi_dbm: int
    """How strong."""
    snr_db: float
    """Above the noise by how much, to a quarter of a decibel as the chips say it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a transmission. Nodes stand in the order they came."""

    deliveries: tuple[Delivery, ...]
    """Who got it."""
    misses: tuple[tuple[str, Miss], ...]
    """Who was in reach and did not, and why."""


@dataclass(slots=True, eq=False)
class _Transmission:
    """Something on the air."""

    sender: str
    begin_us: int
    end_us: int
    links: dict[str, Link]
    """Everybody it reaches at any power, as things were when it began."""
    listeners: set[str]
    """Who is locked on to it."""
    deaf: set[str]
    """Who could not listen when it began, or stopped listening."""
    others: list["_Transmission"]
    """What overlapped it."""

    def overlap(self, other: "_Transmission") -> float:
        """Which part of this one the other one covers, 0 to 1."""
        both_us = min(self.end_us, other.end_us) - max(self.begin_us, other.begin_us)
        return max(both_us, 0) / (self.end_us - self.begin_us)


class Medium:
    """One channel and the nodes on it."""

    def __init__(self, options: MediumOptions, entropy: Entropy) -> None:
        self.options = options
        self.default_loss = options.default_loss
        """Probability of loss on links without one of their own; may be changed at any time."""
        self._entropy = entropy
        self._noise_dbm = lora.noise_floor_dbm(options.lora)
        self._sensitivity_dbm = lora.sensitivity_dbm(options.lora)
        self._preamble_us = lora.preamble_us(options.lora)
        self._sense_us = lora.symbols_us(options.lora, 4 * options.sense_symbols)
        self._positions: dict[str, tuple[float, float] | None] = {}
        self._links: dict[frozenset[str], Link] = {}
        self._shadows_db: dict[frozenset[str], float] = {}
        self._cuts: list[tuple[frozenset[str], frozenset[str]]] = []
        self._on_air: dict[str, _Transmission] = {}
        self._locked: dict[str, _Transmission] = {}
        self._deaf_until_us: dict[str, int] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, in the order they came."""
        return tuple(self._positions)

    @property
    def cuts(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """Cuts in force, oldest first."""
        return tuple(self._cuts)

    def add_node(self, name: str, position_m: tuple[float, float] | None = None) -> None:
        """A node comes, or moves. Raises ValueError beyond ETHER_NODES_MAX."""
        if name not in self._positions and len(self._positions) >= limits.ETHER_NODES_MAX:
            raise ValueError(f"there is room for {limits.ETHER_NODES_MAX} nodes")
        self._positions[name] = position_m

    def remove_node(self, name: str) -> None:
        """A node goes. What it is sending breaks off: nobody gets it, and ``end_send`` is not called for it."""
        self._positions.pop(name, None)
        self._deaf_until_us.pop(name, None)
        self._locked.pop(name, None)
        self._shadows_db = {pair: db for pair, db in self._shadows_db.items() if name not in pair}
        self._on_air.pop(name, None)

    def set_link(self, left: str, right: str, link: Link) -> None:
        """Say how two nodes hear each other, whatever their positions.

        Raises ValueError if they are the same, and beyond ETHER_LINKS_MAX.
        """
        if left == right:
            raise ValueError(f"a link has two ends, not {left} twice")
        pair = frozenset((left, right))
        if pair not in self._links and len(self._links) >= limits.ETHER_LINKS_MAX:
            raise ValueError(f"there is room for {limits.ETHER_LINKS_MAX} links")
        self._links[pair] = link

    def cut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Nobody of *left* and nobody of *right* hear each other, from the next transmission on.

        Raises ValueError if a node is on both sides, and beyond ETHER_CUTS_MAX.
        """
        sides = frozenset(left), frozenset(right)
        both = sorted(sides[0] & sides[1])
        if both:
            raise ValueError(f"{', '.join(both)} cannot be on both sides of a cut")
        if sides in self._cuts:
            return
        if len(self._cuts) >= limits.ETHER_CUTS_MAX:
            raise ValueError(f"there is room for {limits.ETHER_CUTS_MAX} cuts")
        self._cuts.append(sides)

    def uncut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Undo the cut of these sides, if it is in force."""
        sides = frozenset(left), frozenset(right)
        self._cuts = [cut for cut in self._cuts if cut != sides]

    def heal(self) -> None:
        """Undo all cuts."""
        self._cuts.clear()

    def link(self, left: str, right: str) -> Link | None:
        """How two nodes hear each other now, None for not at all."""
        if left == right or self._is_cut(left, right):
            return None
        pair = frozenset((left, right))
        if pair in self._links:
            return self._links[pair]
        rssi_dbm = self._rssi_dbm(left, right)
        return None if rssi_dbm is None else Link(rssi_dbm, self.default_loss)

    def reaches(self, left: str, right: str) -> bool:
        """Whether each of two nodes hears the other when nothing disturbs, more often than not."""
        links = self.link(left, right), self.link(right, left)
        return all(link is not None and link.rssi_dbm >= self._sensitivity_dbm for link in links)

    def airtime_us(self, length: int) -> int:
        """Microseconds a frame of *length* bytes is on the air, all framing included."""
        return lora.airtime_us(self.options.lora, length)

    def is_busy(self, node: str, now_us: int) -> bool:
        """Whether carrier sense at *node* says that somebody else is sending now."""
        weakest_dbm = self._sensitivity_dbm - self.options.sense_margin_db
        return any(
            other.begin_us + self._sense_us <= now_us < other.end_us
            and node in other.links
            and other.links[node].rssi_dbm >= weakest_dbm
            for other in self._on_air.values()
        )

    def begin_send(self, node: str, length: int, now_us: int) -> int:
        """*node* begins to send a frame of *length* bytes. Returns when it ends, in microseconds.

        Whoever sends calls ``end_send`` at that time or later, and before it sends again (AssertionError).
        """
        assert node not in self._on_air, f"{node} is sending already"
        links = {name: link for name in self._positions if (link := self.link(node, name)) is not None}
        new = _Transmission(
            sender=node,
            begin_us=now_us,
            end_us=now_us + self.airtime_us(length),
            links=links,
            listeners=set(),
            deaf=set(),
            others=[],
        )
        self._go_deaf(new)
        for name in links:
            self._begin_reception(name, new)
        for other in self._on_air.values():
            if other.end_us > now_us:
                other.others.append(new)
                new.others.append(other)
        self._on_air[node] = new
        return new.end_us

    def end_send(self, node: str) -> Outcome:
        """What *node* was sending is over: who got it and who did not."""
        ended = self._on_air.pop(node)
        deliveries = []
        misses = []
        for name, link in ended.links.items():
            if name not in self._positions:
                continue
            miss = self._why_missed(ended, name, link)
            if miss is not None:
                misses.append((name, miss))
            else:
                snr_db = round(4 * (link.rssi_dbm - self._noise_dbm)) / 4
                deliveries.append(Delivery(name, round(link.rssi_dbm), snr_db))
        ended.others.clear()  # or on a busy channel each would keep the one before it in memory, without end
        return Outcome(tuple(deliveries), tuple(misses))

    def _go_deaf(self, new: _Transmission) -> None:
        """Who begins to send drops what it was receiving, and hears nothing until a moment after it ends."""
        dropped = self._locked.pop(new.sender, None)
        if dropped is not None and dropped.end_us > new.begin_us:
            dropped.listeners.discard(new.sender)
            dropped.deaf.add(new.sender)
        self._deaf_until_us[new.sender] = new.end_us + self.options.turnaround_us

    def _begin_reception(self, name: str, new: _Transmission) -> None:
        """The beginning of *new* reaches *name*: does its modem lock on to it?"""
        if new.begin_us < self._deaf_until_us.get(name, new.begin_us):
            new.deaf.add(name)
            return
        rssi_dbm = new.links[name].rssi_dbm
        if rssi_dbm < self._sensitivity_dbm:
            return
        held = self._locked.get(name)
        if held is not None and held.end_us > new.begin_us:
            in_preamble = new.begin_us < held.begin_us + self._preamble_us
            if not in_preamble or rssi_dbm < held.links[name].rssi_dbm + self.options.capture_db:
                return
            held.listeners.discard(name)
        self._locked[name] = new
        new.listeners.add(name)

    def _why_missed(self, ended: _Transmission, name: str, link: Link) -> Miss | None:
        if name in ended.deaf:
            return Miss.DEAF
        if link.rssi_dbm < self._sensitivity_dbm:
            return Miss.WEAK
        if name not in ended.listeners:
            return Miss.COLLISION
        disturbance_mw = sum(
            10 ** (other.links[name].rssi_dbm / 10) * ended.overlap(other)
            for other in ended.others
            if name in other.links
        )
        if disturbance_mw and link.rssi_dbm < 10 * math.log10(disturbance_mw) + self.options.capture_db:
            return Miss.COLLISION
        return Miss.LOSS if self._entropy.random() < link.loss else None

    def _is_cut(self, left: str, right: str) -> bool:
        return any(
            (left in one and right in other) or (left in other and right in one) for one, other in self._cuts
        )

    def _rssi_dbm(self, left: str, right: str) -> float | None:
        """Received power by distance (log-distance path loss), or the default where a position is missing."""
        here, there = self._positions.get(left), self._positions.get(right)
        if here is None or there is None:
            return self.options.default_rssi_dbm
        distance_m = max(math.dist(here, there), 1.0)
        decades = math.log10(distance_m / limits.PATH_LOSS_REFERENCE_M)
        loss_db = limits.PATH_LOSS_REFERENCE_DB + 10 * limits.PATH_LOSS_EXPONENT * decades
        return self.options.power_dbm - loss_db - self._shadow_db(left, right)

    def _shadow_db(self, left: str, right: str) -> float:
        if not self.options.shadowing_db:
            return 0.0
        pair = frozenset((left, right))
        if pair not in self._shadows_db:
            self._shadows_db[pair] = self._entropy.gauss(0.0, self.options.shadowing_db)
        return self._shadows_db[pair]
