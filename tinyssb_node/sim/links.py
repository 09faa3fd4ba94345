"""Links on the modelled channel: signal strengths by positions, explicit links, terrain and cuts. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from tinyssb_node import limits
from tinyssb_node.sim import limits as sim_limits

Position = tuple[float, float]
"""Metres east and north."""


class ChannelRandomSource(Protocol):
    """A source of chance; ``random.Random`` is one."""

    def random(self) -> float:
        """Uniform from 0 up to 1."""
        ...

    def gauss(self, mu: float, sigma: float) -> float:
        """Normally distributed."""
        ...


class PathLoss(StrEnum):
    """The place where path loss was measured."""

    SUBURBAN = "suburban"
    """Bor et al. 2016, among houses: 127.41 dB at 40 m, exponent 2.08, shadowing 3.57 dB."""
    OULU = "oulu"
    """Petäjäjärvi et al. 2015, cars around Oulu: 128.95 dB at 1 km, exponent 2.32, shadowing 7.8 dB."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A line through measurements: decibels over the logarithm of distance."""

    reference_m: float
    reference_db: float
    exponent: float
    shadowing_db: float


_FITS: Final[Mapping[PathLoss, _Fit]] = {
    PathLoss.SUBURBAN: _Fit(
        limits.PATH_LOSS_REFERENCE_M,
        limits.PATH_LOSS_REFERENCE_DB,
        limits.PATH_LOSS_EXPONENT,
        sim_limits.SUBURBAN_SHADOWING_DB,
    ),
    PathLoss.OULU: _Fit(
        sim_limits.OULU_REFERENCE_M,
        sim_limits.OULU_REFERENCE_DB,
        sim_limits.OULU_EXPONENT,
        sim_limits.OULU_SHADOWING_DB,
    ),
}


def path_loss_db(model: PathLoss, distance_m: float) -> float:
    """Return the path loss over a distance, without shadowing."""
    fit = _FITS[model]
    return fit.reference_db + 10 * fit.exponent * math.log10(max(distance_m, 1.0) / fit.reference_m)


def shadowing_db(model: PathLoss) -> float:
    """Return the standard deviation of the loss by hills and walls where *model* was measured."""
    return _FITS[model].shadowing_db


@dataclass(frozen=True, slots=True)
class LinkQuality:
    """The quality of a link between two nodes."""

    rssi_dbm: float
    """Received power."""
    loss: float
    """Probability that a packet is lost, over and above collisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """The channel's settings that concern links."""

    power_dbm: float
    """Transmit power of all nodes, antennas included."""
    default_rssi_dbm: float | None
    """Signal between two nodes without positions and without a link of their own; None: not connected."""
    path_loss: PathLoss
    """The model by which power falls with distance."""
    shadowing_db: float
    """Standard deviation of the loss by hills and walls, drawn once per pair of positions."""
    asymmetry_db: float
    """Most by which one direction of a pair is better or worse than the pair, drawn once per direction."""


class LinkModel:
    """Positions, explicit links, and cuts; gives the nodes in reach of a sender."""

    def __init__(self, options: LinkOptions, loss: float, entropy: ChannelRandomSource) -> None:
        self._options = options
        self._loss = loss
        self._entropy = entropy
        self._positions: dict[str, Position | None] = {}
        self._off: set[str] = set()
        self._links: dict[frozenset[str], LinkQuality] = {}
        self._shadows_db: dict[frozenset[str], float] = {}
        self._tilts_db: dict[tuple[str, str], float] = {}
        self._cuts: list[tuple[frozenset[str], frozenset[str]]] = []
        self._around: dict[str, dict[str, LinkQuality]] = {}
        """Cached results since the last change; callers hold them, so they are replaced and never altered."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, in the order they came."""
        return tuple(self._positions)

    @property
    def cuts(self) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
        """Cuts in force, oldest first."""
        return tuple(self._cuts)

    @property
    def loss(self) -> float:
        """Probability of loss on links without one of their own."""
        return self._loss

    @loss.setter
    def loss(self, loss: float) -> None:
        self._loss = loss
        self._around = {}

    def place(self, name: str, position_m: Position | None) -> None:
        """Add, move or switch on a node again. Raises ValueError beyond ETHER_NODES_MAX."""
        if name not in self._positions and len(self._positions) >= limits.ETHER_NODES_MAX:
            raise ValueError(f"there is room for {limits.ETHER_NODES_MAX} nodes")
        self._positions[name] = position_m
        self._off.discard(name)
        self._around = {}

    def remove(self, name: str) -> None:
        """Remove a node, and what lay between it and others."""
        self._positions.pop(name, None)
        self._off.discard(name)
        self._shadows_db = {pair: db for pair, db in self._shadows_db.items() if name not in pair}
        self._tilts_db = {pair: db for pair, db in self._tilts_db.items() if name not in pair}
        self._around = {}

    def switch_off(self, name: str) -> None:
        """Let a node hear nothing until it is placed again; the hills around it stay."""
        self._off.add(name)
        self._around = {}

    def forget(self) -> None:
        """Drop cached results."""
        self._around = {}

    def is_here(self, name: str) -> bool:
        """Return True if a node was placed, and was not switched off."""
        return name in self._positions and name not in self._off

    def set_link(self, left: str, right: str, link: LinkQuality) -> None:
        """Set how two nodes hear each other, whatever their positions.

        Raises ValueError if they are the same, and beyond ETHER_LINKS_MAX.
        """
        if left == right:
            raise ValueError(f"a link has two ends, not {left} twice")
        pair = frozenset((left, right))
        if pair not in self._links and len(self._links) >= limits.ETHER_LINKS_MAX:
            raise ValueError(f"there is room for {limits.ETHER_LINKS_MAX} links")
        self._links[pair] = link
        self._around = {}

    def cut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Cut all links between *left* and *right*.

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
        self._around = {}

    def uncut(self, left: Iterable[str], right: Iterable[str]) -> None:
        """Undo the cut of these sides, if it is in force."""
        sides = frozenset(left), frozenset(right)
        self._cuts = [cut for cut in self._cuts if cut != sides]
        self._around = {}

    def heal(self) -> None:
        """Undo all cuts."""
        self._cuts.clear()
        self._around = {}

    def link(self, sender: str, receiver: str) -> LinkQuality | None:
        """Return how *receiver* hears *sender* now, None for not at all."""
        if sender == receiver or self._is_cut(sender, receiver):
            return None
        pair = frozenset((sender, receiver))
        if pair in self._links:
            return self._links[pair]
        rssi_dbm = self._rssi_dbm(sender, receiver, pair)
        return None if rssi_dbm is None else LinkQuality(rssi_dbm, self._loss)

    def around(self, sender: str, weakest_dbm: float) -> Mapping[str, LinkQuality]:
        """Return the nodes that hear *sender* now at *weakest_dbm* or more, in the order they came."""
        found = self._around.get(sender)
        if found is None:
            everybody = ((name, self.link(sender, name)) for name in self._positions if name not in self._off)
            found = {
                name: link for name, link in everybody if link is not None and link.rssi_dbm >= weakest_dbm
            }
            self._around[sender] = found
        return found

    def _is_cut(self, left: str, right: str) -> bool:
        return any(
            (left in one and right in other) or (left in other and right in one) for one, other in self._cuts
        )

    def _rssi_dbm(self, sender: str, receiver: str, pair: frozenset[str]) -> float | None:
        """Received power by distance, or the default where a place is missing."""
        here, there = self._positions.get(sender), self._positions.get(receiver)
        options = self._options
        if here is None or there is None:
            return options.default_rssi_dbm
        rssi_dbm = options.power_dbm - path_loss_db(options.path_loss, math.dist(here, there))
        if options.shadowing_db:
            if pair not in self._shadows_db:
                self._shadows_db[pair] = self._entropy.gauss(0.0, options.shadowing_db)
            rssi_dbm -= self._shadows_db[pair]
        if options.asymmetry_db:
            if (sender, receiver) not in self._tilts_db:
                self._tilts_db[sender, receiver] = options.asymmetry_db * (2 * self._entropy.random() - 1)
            rssi_dbm += self._tilts_db[sender, receiver]
        return rssi_dbm
