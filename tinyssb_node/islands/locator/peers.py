"""Peers of a locator: historic, unconfirmed and confirmed ones, and how one of them is chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.packets import RoutingHint
from tinyssb_node.islands.locator.values import Label, NodeParameters, label_of_address, position

T = TypeVar("T")


class LocatorRandomSource(Protocol):
    """Source of randomness; ``random.Random`` is one."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


def flip_coin(chance: LocatorRandomSource) -> bool:
    """Flip a coin."""
    return chance.random() < 0.5


def pick(chance: LocatorRandomSource, things: Sequence[T]) -> T:
    """Pick an item, each equally likely."""
    return things[int(chance.random() * len(things))]


def pick_weighed(chance: LocatorRandomSource, things: Sequence[T], weights: Sequence[float]) -> T:
    """Pick an item with a probability proportional to its weight."""
    left = chance.random() * sum(weights)
    for thing, weight in zip(things, weights, strict=True):
        left -= weight
        if left < 0:
            return thing
    return things[-1]


def quasi_period_us(chance: LocatorRandomSource, period_us: float) -> int:
    """Return the time to the next quasi-periodic occurrence: T/2 to 3T/2 (text, "Quasi-periodicity")."""
    return int(period_us * (0.5 + chance.random()))


class HistoricPeers:
    """List of peers with ages of all magnitudes; it grows with the logarithm of additions (text, "Historic peers")."""

    def __init__(
        self, peers: Iterable[Peer], *, probability: float, threshold: int, chance: LocatorRandomSource
    ) -> None:
        self._peers = list(dict.fromkeys(peers))[: limits.HISTORIC_MAX]
        self._probability = probability
        self._threshold = threshold
        self._chance = chance

    @property
    def peers(self) -> tuple[Peer, ...]:
        """All peers, the newest first."""
        return tuple(self._peers)

    def __len__(self) -> int:
        return len(self._peers)

    def add(self, peer: Peer) -> None:
        """Add *peer*, and perhaps evict another. A known node address keeps its position, and so its age."""
        for index, known in enumerate(self._peers):
            if known.node == peer.node:
                self._peers[index] = peer
                return
        self._peers.insert(0, peer)
        if len(self._peers) > self._threshold:
            for index in range(len(self._peers)):
                if self._chance.random() < self._probability:
                    del self._peers[index]
                    break
        del self._peers[limits.HISTORIC_MAX :]

    def pick(self) -> Peer | None:
        """Pick a peer at random; None if there are none."""
        return pick(self._chance, self._peers) if self._peers else None


class UnconfirmedPeers:
    """Peers that we only heard of, in a set for each bit position of our label (text, "Unconfirmed peers")."""

    def __init__(self, mine: Label, limit: int, chance: LocatorRandomSource) -> None:
        self._mine = mine
        self._limit = limit
        self._chance = chance
        self._sets: dict[int, dict[bytes, Peer]] = {}
        """By position, then by node address. No set is empty."""

    def __len__(self) -> int:
        return sum(len(peers) for peers in self._sets.values())

    def peers(self, at: int) -> tuple[Peer, ...]:
        """Return the set of one position."""
        return tuple(self._sets.get(at, {}).values())

    def add(self, peer: Peer) -> None:
        """Add a peer with a valid address to its set; if that is full, a random member is evicted."""
        at = position(self._mine, label_of_address(peer.node))
        if at is None:
            return
        peers = self._sets.setdefault(at, {})
        peers[peer.node] = peer
        while len(peers) > self._limit:
            del peers[pick(self._chance, list(peers))]

    def depth(self) -> int:
        """Return the number of sets above the uppermost empty one; periods of the text depend on it."""
        at = 0
        while at in self._sets:
            at += 1
        return at

    def levels(self) -> int:
        """Return n of "Peer discovery": nonempty sets, those beyond the first empty one joined to the one before."""
        return self.depth() or min(len(self._sets), 1)

    def wants_historic(self) -> bool:
        """Return True with probability 2**-n, and always if there are no peers."""
        return all(flip_coin(self._chance) for _ in range(self.levels()))

    def take(self) -> Peer | None:
        """Remove and return a random peer of a random set; None if there are no peers."""
        levels = self.levels()
        if levels == 0:
            return None
        chosen = int(self._chance.random() * levels)
        beyond = [at for at in self._sets if at >= levels] if chosen == levels - 1 else []
        candidates = [(at, node) for at in (chosen, *beyond) for node in self._sets.get(at, {})]
        at, node = pick(self._chance, candidates)
        peer = self._sets[at].pop(node)
        if not self._sets[at]:
            del self._sets[at]
        return peer


@dataclass(frozen=True, slots=True)
class ConfirmedPeer:
    """A peer that answered our cookie."""

    place: ContactAddress
    peer: Peer
    """Its message address: part of *place*."""
    label: Label
    rtt_us: int
    parameters: NodeParameters
    added_us: int


class ConfirmedPeers:
    """Peers that answered a cookie, in a set for each bit position of our label (text, "Confirmed peers")."""

    def __init__(self, mine: Label, limit: int, chance: LocatorRandomSource) -> None:
        self._mine = mine
        self._limit = limit
        self._chance = chance
        self._sets: dict[int, dict[bytes, ConfirmedPeer]] = {}
        """By position, then by node address. No set is empty."""
        self._positions: dict[bytes, int] = {}
        """Position by node address."""

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, peer: Peer) -> bool:
        return self.get(peer) is not None

    def peers(self, at: int | None) -> list[ConfirmedPeer]:
        """Return the set of one position; empty for None."""
        return [] if at is None else list(self._sets.get(at, {}).values())

    def all(self) -> list[ConfirmedPeer]:
        """Return the peers of all sets, from the top."""
        return [one for at in sorted(self._sets) for one in self._sets[at].values()]

    def add(self, place: ContactAddress, rtt_us: int, parameters: NodeParameters, now_us: int) -> None:
        """Add a peer to its set, with age 0; if that is full, a random member is evicted."""
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
        """Return the confirmed peer with exactly these addresses, if there is one."""
        at = self._positions.get(peer.node)
        one = None if at is None else self._sets[at][peer.node]
        return one if one is not None and one.peer == peer else None

    def remove(self, peer: Peer) -> None:
        """Remove a peer that did not answer."""
        if peer in self:
            self._remove(self._positions[peer.node], peer.node)

    def expire(self, before_us: int) -> None:
        """Remove all peers that were added before that time."""
        for at, peers in [*self._sets.items()]:
            for node in [one.place.node for one in peers.values() if one.added_us < before_us]:
                self._remove(at, node)

    def _remove(self, at: int, node: bytes) -> None:
        del self._sets[at][node], self._positions[node]
        if not self._sets[at]:
            del self._sets[at]

    # --- choosing

    def choose_set(self, start: int = 0) -> int | None:
        """Choose a nonempty set: go down from *start* one set for each head, then up, and at last down."""
        if not self._sets:
            return None
        at = start
        while at < limits.LABEL_BITS - 1 and flip_coin(self._chance):
            at += 1
        above = [one for one in self._sets if one <= at]
        return max(above) if above else min(self._sets)

    def choose(self, start: int = 0) -> ConfirmedPeer | None:
        """Choose a random peer of a set chosen so; None if there are none."""
        at = self.choose_set(start)
        return None if at is None else pick(self._chance, self.peers(at))

    def choose_near(self, label: Label) -> ConfirmedPeer | None:
        """Choose a peer for a pong to the node *label*: from its set, up one set for each head, then as ``choose``."""
        at = position(self._mine, label) or 0
        while at > 0 and flip_coin(self._chance):
            at -= 1
        return self.choose(at)

    def choose_relay(self, hint: RoutingHint) -> ConfirmedPeer | None:
        """Choose a peer, preferably a near one, to forward by *hint*; for BEST the best of all."""
        if hint is RoutingHint.BEST:
            return weighed(self._chance, self.all(), None, hint)
        return weighed(self._chance, self.peers(self.choose_set()), None, hint)


def weighed(
    chance: LocatorRandomSource, peers: Sequence[ConfirmedPeer], towards: Label | None, hint: RoutingHint
) -> ConfirmedPeer | None:
    """Choose one of *peers*, by the distribution of *hint*, as the next hop to the label *towards*."""
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
    """Return the weight of a peer that has *more* bits in common with the label sought than we have."""
    if hint is RoutingHint.HOPS:
        return float(more * more)
    return more * more / (one.rtt_us + limits.RTT_FLOOR_US)


def _common(label: Label, other: Label) -> int:
    at = position(label, other)
    return limits.LABEL_BITS if at is None else at
