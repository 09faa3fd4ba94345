"""The modelled LoRa channel: which nodes receive a packet when several send. Pure: time is an argument, chance is
injected.

Transmissions are events on an axis of integer microseconds: ``begin_send`` returns when one ends; ``end_send``, called
then or later, returns the nodes that got it. The same calls in the same order with the same entropy give the same
results.

The model and its limits:

- Power falls with the logarithm of distance, or is given per link, both in ``sim.links``; a link that is cut carries
  nothing. From packet to packet it may fade.
- A weak packet is received by chance, ever less likely over some decibels; with ``soft_edge`` off, by a threshold.
- A receiver locks on to the first preamble it can demodulate. A later one captures it only during that preamble, and
  only by being stronger by the capture margin; otherwise it is interference.
- The packet it locked on to arrives if it is stronger, by that margin, than the sum of what overlapped it, each
  weighted by how long it did.
- A sending node is deaf, and for a moment afterwards; a node that begins to send drops what it was receiving.
- Carrier sense does not detect what began a moment ago: two nodes that listen at the same time may still collide. Now
  and then it has a false alarm.
- Other users of the band come in bursts that drown what a receiver hears; they are drawn for each receiver and each
  packet.
- Modems may have different settings: ``sim.modems`` defines which of them understand each other, and how much others
  interfere.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from firmware_bridge.lora import LoraSettings
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.links import (
    ChannelRandomSource,
    LinkModel,
    LinkOptions,
    LinkQuality,
    PathLoss,
    Position,
)
from tinyssb_node.sim.modems import Modem, ModemOptions, can_demodulate, spoils

_EDGE_DB: Final = 6.0  # farther from the threshold chance would decide otherwise once in 160,000 packets
# Below the weakest signal received: a hundred such signals are as strong as the weakest packet.
_IGNORED_DB: Final = 20.0


class LossReason(StrEnum):
    """The reason why a node in reach did not get a packet."""

    DEAF = "deaf"
    """It was sending, or had just been, when the packet began; or it began to send."""
    COLLISION = "collision"
    """Something else was on the air at the same time."""
    WEAK = "weak"
    """The signal was too weak to be demodulated."""
    LOSS = "loss"
    """By the link's probability of loss."""
    BURST = "burst"
    """Others in the band were louder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediumOptions:
    """The channel's settings."""

    lora: LoraSettings = field(default_factory=LoraSettings)
    """Modem settings of all nodes without settings of their own."""
    power_dbm: float = 14.0
    """Their transmit power, antennas included: the limit of 868.0 to 868.6 MHz."""
    default_rssi_dbm: float | None = -80.0
    """Signal between two nodes without positions and without a link of their own; None: not connected."""
    default_loss: float = 0.0
    """Probability of loss on links without one of their own."""
    path_loss: PathLoss = PathLoss.SUBURBAN
    """The model by which power falls with distance."""
    shadowing_db: float = 0.0
    """Standard deviation of the loss by hills and walls, drawn once per pair of positions."""
    asymmetry_db: float = 0.0
    """Most by which one direction of a pair of positions is better or worse than the pair."""
    fading_db: float = 0.0
    """Standard deviation of one packet's signal at one receiver, around the link's."""
    soft_edge: bool = False
    """True if weak packets arrive by chance, with 1 / (1 + exp(k (threshold - SNR))), k = 2 per dB."""
    bursts: float = 0.0
    """Share of time that others in the band are on the air."""
    burst_us: int = 100_000
    """Duration of a burst."""
    capture_db: float = sim_limits.CAPTURE_DB
    """Margin by which a packet must be stronger than its interference."""
    turnaround_us: int = 1_000
    """Time for which a modem is deaf after sending."""
    false_alarm: float = 0.0
    """Probability of a false alarm of carrier sense."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A packet that arrived at a node."""

    receiver: str
    """The node."""
    rssi_dbm: int
    """Its signal strength."""
    snr_db: float
    """Signal above noise, to a quarter of a decibel as the chips report it."""


@dataclass(frozen=True, slots=True)
class TransmissionOutcome:
    """The result of a transmission. Nodes are in the order they came."""

    deliveries: tuple[Delivery, ...]
    """The nodes that got it."""
    misses: tuple[tuple[str, LossReason], ...]
    """The nodes in reach that did not, each with the reason."""


@dataclass(frozen=True, slots=True)
class _Ear:
    """A node whose modem may demodulate a sender's packets."""

    name: str
    power_dbm: float
    """The sender's signal there."""
    above_db: float
    """How far it is above the weakest that can be demodulated there."""
    loss: float
    """Probability of loss on this link."""


@dataclass(frozen=True, slots=True)
class _Reach:
    """The nodes in reach of a sender, at present."""

    links: Mapping[str, LinkQuality]
    """The links from which it was computed."""
    powers_dbm: Mapping[str, float]
    """All nodes that it reaches at a power that matters."""
    ears: tuple[_Ear, ...]
    """Those of them that may receive it, in the order they came."""


@dataclass(slots=True, eq=False)
class _Transmission:
    """A packet on the air."""

    sender: str
    modem: Modem
    begin_us: int
    end_us: int
    reach: _Reach
    """The nodes in reach when it began."""
    weak: set[str]
    """The nodes where, by chance, it is too weak to be demodulated."""
    listeners: dict[str, float]
    """The nodes locked on to it, and its signal there."""
    deaf: set[str]
    """The nodes that could not listen when it began, or stopped listening."""
    others: list["_Transmission"]
    """The transmissions that overlapped it."""

    def overlap(self, other: "_Transmission") -> float:
        """Return the share of this one that the other one covers, 0 to 1."""
        both_us = min(self.end_us, other.end_us) - max(self.begin_us, other.begin_us)
        return max(both_us, 0) / (self.end_us - self.begin_us)


class SimulatedMedium:
    """One channel and the nodes on it."""

    def __init__(
        self, options: MediumOptions, entropy: ChannelRandomSource, terrain: ChannelRandomSource | None = None
    ) -> None:
        """*terrain* is the source of chance for hills, *entropy* unless there is one of its own."""
        self.options = options
        link_options = LinkOptions(
            power_dbm=options.power_dbm,
            default_rssi_dbm=options.default_rssi_dbm,
            path_loss=options.path_loss,
            shadowing_db=options.shadowing_db,
            asymmetry_db=options.asymmetry_db,
        )
        self._links = LinkModel(link_options, options.default_loss, entropy if terrain is None else terrain)
        self._entropy = entropy
        self._usual = Modem(
            ModemOptions(lora=options.lora, power_dbm=options.power_dbm, turnaround_us=options.turnaround_us)
        )
        self._modems: dict[str, Modem] = {}
        """Those that are set otherwise."""
        self._weakest_dbm = self._usual.sensitivity_dbm - _IGNORED_DB
        self._spoils: dict[tuple[LoraSettings, LoraSettings], float] = {}
        self._reaches: dict[str, _Reach] = {}
        """Cached results; valid for as long as the links from which they were computed."""
        self._on_air: dict[str, _Transmission] = {}
        self._locked: dict[str, _Transmission] = {}
        self._deaf_until_us: dict[str, int] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, in the order they came."""
        return self._links.nodes

    @property
    def cuts(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """Cuts in force, oldest first."""
        return self._links.cuts

    @property
    def default_loss(self) -> float:
        """Probability of loss on links without one of their own."""
        return self._links.loss

    def set_default_loss(self, loss: float) -> None:
        """Change the probability of loss on links without one of their own."""
        self._links.loss = loss

    def add_node(self, name: str, position_m: Position | None = None) -> None:
        """Add, move or switch on a node again. Raises ValueError beyond ETHER_NODES_MAX."""
        self._links.place(name, position_m)

    def remove_node(self, name: str) -> None:
        """Remove a node. Its transmission breaks off: no node gets it, and ``end_send`` is not called for it."""
        self._links.remove(name)
        self._modems.pop(name, None)
        self._reaches.pop(name, None)
        self._silence(name)

    def switch_off(self, name: str) -> None:
        """Do the same for a node that will be back at the same position."""
        self._links.switch_off(name)
        self._silence(name)

    def _silence(self, name: str) -> None:
        self._deaf_until_us.pop(name, None)
        self._locked.pop(name, None)
        self._on_air.pop(name, None)

    def set_modem(self, name: str, modem: ModemOptions) -> None:
        """Set the modem of *name*, which is not on the air."""
        self._modems[name] = Modem(modem)
        self._weakest_dbm = min(self._weakest_dbm, self._modems[name].sensitivity_dbm - _IGNORED_DB)
        self._links.forget()

    def modem(self, name: str) -> Modem:
        """Return the modem of a node."""
        return self._modems.get(name, self._usual)

    def set_link(self, left: str, right: str, link: LinkQuality) -> None:
        """Set how two nodes hear each other, whatever their positions.

        Raises ValueError if they are the same, and beyond ETHER_LINKS_MAX.
        """
        self._links.set_link(left, right, link)

    def cut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Cut all links between *left* and *right*, from the next transmission on.

        Raises ValueError if a node is on both sides, and beyond ETHER_CUTS_MAX.
        """
        self._links.cut(left, right)

    def uncut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Undo the cut of these sides, if it is in force."""
        self._links.uncut(left, right)

    def heal(self) -> None:
        """Undo all cuts."""
        self._links.heal()

    def link(self, sender: str, receiver: str) -> LinkQuality | None:
        """Return how *receiver* hears *sender* now, None for not at all."""
        return self._links.link(sender, receiver)

    def reaches(self, left: str, right: str) -> bool:
        """Return True if two nodes hear each other, without interference, more often than not."""
        both_here = self._links.is_here(left) and self._links.is_here(right)
        return both_here and self._hears(left, right) and self._hears(right, left)

    def _hears(self, receiver: str, sender: str) -> bool:
        ear, voice, link = self.modem(receiver), self.modem(sender), self.link(sender, receiver)
        return (
            link is not None
            and can_demodulate(ear.options.lora, voice.options.lora)
            and link.rssi_dbm + self._extra_db(voice) >= ear.sensitivity_dbm
        )

    def _extra_db(self, voice: Modem) -> float:
        """Return by how much a modem's power exceeds the usual one."""
        return voice.options.power_dbm - self.options.power_dbm

    def airtime_us(self, length: int) -> int:
        """Microseconds a frame of *length* bytes, all framing included, is on the air from those of usual settings."""
        return self._usual.airtime_us(length)

    def is_busy(self, node: str, now_us: int) -> bool:
        """Return True if carrier sense at *node* detects another sender now. It detects none with other settings."""
        modem = self.modem(node)
        # Deeper than reception: a symbol is detected sooner than a whole packet is understood.
        weakest_dbm = modem.sensitivity_dbm - 3.0
        for other in self._on_air.values():
            if (
                other.begin_us + modem.sense_us <= now_us < other.end_us
                and other.reach.powers_dbm.get(node, -math.inf) >= weakest_dbm
                and (other.modem is modem or can_demodulate(modem.options.lora, other.modem.options.lora))
            ):
                return True
        mistaken = self.options.false_alarm + self.options.bursts
        return mistaken > 0 and self._entropy.random() < mistaken

    def begin_send(self, node: str, length: int, now_us: int) -> int:
        """Begin to send a frame of *length* bytes from *node*. Returns when it ends, in microseconds.

        The caller calls ``end_send`` at that time or later, and before the node sends again (AssertionError).
        """
        assert node not in self._on_air, f"{node} is sending already"
        modem = self.modem(node)
        new = _Transmission(
            sender=node,
            modem=modem,
            begin_us=now_us,
            end_us=now_us + modem.airtime_us(length),
            reach=self._reach(node, modem),
            weak=set(),
            listeners={},
            deaf=set(),
            others=[],
        )
        self._go_deaf(new)
        for ear in new.reach.ears:
            self._begin_reception(ear, new)
        for other in self._on_air.values():
            if other.end_us > now_us:
                other.others.append(new)
                new.others.append(other)
        self._on_air[node] = new
        return new.end_us

    def sending_until_us(self, node: str) -> int | None:
        """Return when the transmission of *node* ends; None if there is none."""
        sending = self._on_air.get(node)
        return None if sending is None else sending.end_us

    def end_send(self, node: str) -> TransmissionOutcome:
        """End the transmission of *node*; return the nodes that got it and those that did not."""
        ended = self._on_air.pop(node)
        deliveries = []
        misses = []
        for ear in ended.reach.ears:
            if not self._links.is_here(ear.name):
                continue
            miss = self._why_missed(ended, ear)
            if miss is not None:
                misses.append((ear.name, miss))
            else:
                snr_db = round(4 * (ear.power_dbm - self.modem(ear.name).noise_dbm)) / 4
                deliveries.append(Delivery(ear.name, round(ear.power_dbm), snr_db))
        ended.others.clear()  # or on a busy channel each would keep the one before it in memory, without end
        return TransmissionOutcome(tuple(deliveries), tuple(misses))

    def _reach(self, node: str, modem: Modem) -> _Reach:
        """Return the nodes in reach of *node* now; with fading, other ones for each packet."""
        links = self._links.around(node, self._weakest_dbm - self._extra_db(modem))
        known = self._reaches.get(node)
        if known is None or known.links is not links:
            powers_dbm = {name: link.rssi_dbm + self._extra_db(modem) for name, link in links.items()}
            known = self._reaches[node] = self._make_reach(modem, links, powers_dbm)
        fading_db = self.options.fading_db
        if not fading_db:
            return known
        faded_dbm = {
            name: power_dbm + self._entropy.gauss(0.0, fading_db)
            for name, power_dbm in known.powers_dbm.items()
        }
        return self._make_reach(modem, links, faded_dbm)

    def _make_reach(
        self, voice: Modem, links: Mapping[str, LinkQuality], powers_dbm: Mapping[str, float]
    ) -> _Reach:
        ears = []
        for name, power_dbm in powers_dbm.items():
            modem = self.modem(name)
            above_db = power_dbm - modem.sensitivity_dbm
            if above_db > -_EDGE_DB and (
                modem is voice or can_demodulate(modem.options.lora, voice.options.lora)
            ):
                ears.append(_Ear(name, power_dbm, above_db, links[name].loss))
        return _Reach(links, powers_dbm, tuple(ears))

    def _is_weak(self, above_db: float) -> bool:
        """Return True if a packet is too weak: below the threshold, or by chance near it."""
        if not self.options.soft_edge or abs(above_db) >= _EDGE_DB:
            return above_db < 0
        # Steepness around the threshold: one decibel above it 88 % arrive, one below 12 %.
        return self._entropy.random() * (1 + math.exp(-2.0 * above_db)) >= 1

    def _go_deaf(self, new: _Transmission) -> None:
        """Drop what a node was receiving when it begins to send; it hears nothing until a moment after the end."""
        dropped = self._locked.pop(new.sender, None)
        if dropped is not None and dropped.end_us > new.begin_us:
            dropped.listeners.pop(new.sender, None)
            dropped.deaf.add(new.sender)
        self._deaf_until_us[new.sender] = new.end_us + new.modem.turnaround_us

    def _begin_reception(self, ear: _Ear, new: _Transmission) -> None:
        """Let the modem of *ear* lock on to the beginning of *new*, if it can."""
        name = ear.name
        weak = self._is_weak(ear.above_db)
        if weak:
            new.weak.add(name)
        if new.begin_us < self._deaf_until_us.get(name, new.begin_us):
            new.deaf.add(name)
            return
        if weak:
            return
        held = self._locked.get(name)
        if held is not None and held.end_us > new.begin_us:
            in_preamble = new.begin_us < held.begin_us + held.modem.preamble_us
            if not in_preamble or ear.power_dbm < held.listeners[name] + self.options.capture_db:
                return
            del held.listeners[name]
        self._locked[name] = new
        new.listeners[name] = ear.power_dbm

    def _why_missed(self, ended: _Transmission, ear: _Ear) -> LossReason | None:
        name = ear.name
        if name in ended.deaf:
            return LossReason.DEAF
        if name in ended.weak:
            return LossReason.WEAK
        if name not in ended.listeners:
            return LossReason.COLLISION
        if ended.others and ear.power_dbm < self._needed_dbm(ended, name):
            return LossReason.COLLISION
        if self.options.bursts and self._entropy.random() < self._burst_probability(ended):
            return LossReason.BURST
        return LossReason.LOSS if ear.loss and self._entropy.random() < ear.loss else None

    def _needed_dbm(self, ended: _Transmission, name: str) -> float:
        """Return the strength that a packet needs to arrive at *name* in spite of what overlapped it."""
        disturbance_mw = sum(
            10 ** (other.reach.powers_dbm[name] / 10) * ended.overlap(other) * self._weight(name, other)
            for other in ended.others
            if name in other.reach.powers_dbm
        )
        if not disturbance_mw:
            return -math.inf
        # Rounded, so that a packet exactly at the margin arrives with any machine's logarithms.
        return round(10 * math.log10(disturbance_mw) + self.options.capture_db, 9)

    def _weight(self, name: str, other: _Transmission) -> float:
        """Return how much *other* disturbs a reception at *name*, compared with one of the same settings."""
        modem = self.modem(name)
        if modem is other.modem:
            return 1.0
        pair = modem.options.lora, other.modem.options.lora
        if pair not in self._spoils:
            self._spoils[pair] = spoils(*pair)
        return self._spoils[pair]

    def _burst_probability(self, ended: _Transmission) -> float:
        """Return the probability that a burst overlaps a packet: they begin as a Poisson process, from one length
        before it on."""
        exposed = (ended.end_us - ended.begin_us) / self.options.burst_us + 1
        return 1 - math.exp(-self.options.bursts * exposed)
