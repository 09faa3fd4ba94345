"""Confirmed peers: who answered a cookie, and how one of them is chosen (text, "Confirmed peers", "Choosing …")."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.labels import Label, label_of_address, position
from tinyssb_node.islands.locator.packets import RoutingHint
from tinyssb_node.islands.locator.randomness import LocatorRandomSource, flip_coin, pick, pick_weighed
from tinyssb_node.islands.locator.values import NodeParameters


@dataclass(frozen=True, slots=True)
class ConfirmedPeer:
    """A peer that answered."""

    place: ContactAddress
    peer: Peer
    """Where it takes messages: part of *place*."""
    label: Label
    rtt_us: int
    parameters: NodeParameters
    added_us: int


class ConfirmedPeers:
    """A set of peers for each bit position of our label."""

    def __init__(self, mine: Label, limit: int, chance: LocatorRandomSource) -> None:
        self._mine = mine
        self._limit = limit
        self._chance = chance
        self._sets: dict[int, dict[bytes, ConfirmedPeer]] = {}
        """By position, then by node address. No set is empty."""
        self._positions: dict[bytes, int] = {}
        """By node address, where it is."""

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, peer: Peer) -> bool:
        return self.get(peer) is not None

    def peers(self, at: int | None) -> list[ConfirmedPeer]:
        """The set of one position; none for None."""
        return [] if at is None else list(self._sets.get(at, {}).values())

    def all(self) -> list[ConfirmedPeer]:
        """Of all sets, from the top."""
        return [one for at in sorted(self._sets) for one in self._sets[at].values()]

    def add(self, place: ContactAddress, rtt_us: int, parameters: NodeParameters, now_us: int) -> None:
        """Put it into its set, its age 0; if that is full, any member goes."""
        label = label_of_address(place.node)
        at = position(self._mine, label)
        if at is None:
            return
        peers = self._sets.setdefault(at, {})
        peers[place.node] = ConfirmedPeer(place, place.peer, label, rtt_us, parameters, now_us)
        self._positions[place.node] = at
        while len(peers) > self._limit:
            self._remove(at, pick(self._chance, list(peers)))

    def get(self, peer: Peer) -> ConfirmedPeer | None:
        """It, if it is here with just these addresses."""
        at = self._positions.get(peer.node)
        one = None if at is None else self._sets[at][peer.node]
        return one if one is not None and one.peer == peer else None

    def remove(self, peer: Peer) -> None:
        """It did not answer."""
        if peer in self:
            self._remove(self._positions[peer.node], peer.node)

    def expire(self, before_us: int) -> None:
        """Remove all that were added before."""
        for at, peers in [*self._sets.items()]:
            for node in [one.place.node for one in peers.values() if one.added_us < before_us]:
                self._remove(at, node)

    def _remove(self, at: int, node: bytes) -> None:
        del self._sets[at][node], self._positions[node]
        if not self._sets[at]:
            del self._sets[at]

    # --- choosing

    def choose_set(self, start: int = 0) -> int | None:
        """Down from *start*, a set for each head; then up, and at last down, to one that is not empty."""
        if not self._sets:
            return None
        at = start
        while at < limits.LABEL_BITS - 1 and flip_coin(self._chance):
            at += 1
        above = [one for one in self._sets if one <= at]
        return max(above) if above else min(self._sets)

    def choose(self, start: int = 0) -> ConfirmedPeer | None:
        """Any peer of a set chosen so; None if there are none."""
        at = self.choose_set(start)
        return None if at is None else pick(self._chance, self.peers(at))

    def choose_near(self, label: Label) -> ConfirmedPeer | None:
        """Any peer for a pong to the node *label*: from its set, up a set for each head, then as always."""
        at = position(self._mine, label) or 0
        while at > 0 and flip_coin(self._chance):
            at -= 1
        return self.choose(at)

    def choose_relay(self, hint: RoutingHint) -> ConfirmedPeer | None:
        """Any peer, sooner a near one, to pass on what *hint* brought; the best one of all if it asks for that."""
        if hint is RoutingHint.BEST:
            return weighed(self._chance, self.all(), None, hint)
        return weighed(self._chance, self.peers(self.choose_set()), None, hint)


def weighed(
    chance: LocatorRandomSource, peers: Sequence[ConfirmedPeer], towards: Label | None, hint: RoutingHint
) -> ConfirmedPeer | None:
    """One of *peers* by the distribution that *hint* invites, for the way to the label *towards*."""
    if not peers:
        return None
    if hint is RoutingHint.UNIFORM:
        return pick(chance, peers)
    alike = [1 if towards is None else _common(one.label, towards) for one in peers]
    ours = 0 if towards is None else min(alike) - 1
    weights = [_weight(one, common - ours, hint) for one, common in zip(peers, alike, strict=True)]
    if hint is RoutingHint.BEST:
        return peers[weights.index(max(weights))]
    return pick_weighed(chance, peers, weights)


def _weight(one: ConfirmedPeer, more: int, hint: RoutingHint) -> float:
    """How good a choice it is, with *more* bits in common with the label sought than we have."""
    if hint is RoutingHint.HOPS:
        return float(more * more)
    return more * more / (one.rtt_us + limits.RTT_FLOOR_US)


def _common(label: Label, other: Label) -> int:
    at = position(label, other)
    return limits.LABEL_BITS if at is None else at
