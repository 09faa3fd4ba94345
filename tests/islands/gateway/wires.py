"""Islands on a wire without loss or delay, in a time of its own."""

import random
from collections import deque
from collections.abc import Sequence

from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.islands.gateway.config import FeedSelection, GatewayConfig
from tinyssb_node.islands.gateway.holdings import FeedHolding
from tinyssb_node.islands.gateway.network import GatewayNetwork
from tinyssb_node.islands.gateway.peersfile import KnownPeers
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of, port_of

PORT = port_of(8_789)
S = 1_000_000


def settings(**changes: object) -> GatewayConfig:
    plain: dict[str, object] = {
        "enabled": True,
        "listen": ("0.0.0.0", 8_789),
        "public": None,
        "peers": (),
        "networks": (DEFAULT_NETWORK,),
        "offer": FeedSelection.SET,
        "seek": FeedSelection.SET,
        "carry": frozenset(),
        "cert_file": None,
        "key_file": None,
        "ca_file": None,
    }
    return GatewayConfig(**(plain | changes))  # type: ignore[arg-type]  # a test makes it of parts


def place(number: int) -> ContactAddress:
    return ContactAddress(node_of(f"192.0.2.{number}"), PORT, PORT)


def holding(feed: FeedId, seq: int, **changes: object) -> FeedHolding:
    plain = {"whole": 255, "ours": False, "wanted": True, "in_set": True, "forked": False}
    return FeedHolding(feed, seq, **(plain | changes))  # type: ignore[arg-type]  # a test makes it of parts


class Shelf:
    """The feeds of an island."""

    def __init__(self) -> None:
        self.feeds: Sequence[FeedHolding] = []
        self._told: Sequence[FeedHolding] = []

    def look(self) -> bool:
        changed, self._told = self.feeds != self._told, list(self.feeds)
        return changed


class Wires:
    """Gateways at 192.0.2.1, .2, …, each with one network."""

    def __init__(self) -> None:
        self.now_us = 0
        self.islands: dict[Peer, GatewayNetwork] = {}
        self.shelves: dict[int, Shelf] = {}
        self.linked: dict[int, set[ContactAddress]] = {}
        self.cut: set[Peer] = set()
        """Those whose lines are down, which they are not told of."""
        self._under_way: deque[tuple[Peer, Peer, bytes]] = deque()

    def add(self, number: int, *first: int, key: bytes = b"", **changes: object) -> GatewayNetwork:
        """A gateway that asks the others with the numbers *first*."""
        me = place(number)

        def send(to: Peer, datagram: bytes) -> None:
            self._under_way.append((me.peer, to, datagram))

        self.shelves[number] = Shelf()
        self.linked[number] = set()
        island = GatewayNetwork(
            NetworkName("default"),
            Network(key),
            settings(**changes),
            self.shelves[number],
            send,
            chance=random.Random(number),
            free_bytes=lambda: number << 30,
        )
        self.islands[me.peer] = island
        peers = tuple(place(one).peer for one in first)
        island.begin(me, KnownPeers(peers, peers), self.now_us)
        return island

    def go_on(self, seconds: int) -> None:
        """Let time pass."""
        end_us = self.now_us + seconds * S
        look_us = self.now_us
        while True:
            self._deliver()
            due = [wake_us for one in self.islands.values() if (wake_us := one.next_wake_us()) is not None]
            self.now_us = max(self.now_us, min([*due, look_us]))
            if self.now_us > end_us:
                self.now_us = end_us
                return
            if self.now_us >= look_us:
                look_us += S
                for number, island in zip(self.shelves, self.islands.values(), strict=True):
                    island.look(self.linked[number], self.now_us)
            for island in self.islands.values():
                island.wake(self.now_us)

    def _deliver(self) -> None:
        while self._under_way:
            source, to, datagram = self._under_way.popleft()
            if to in self.islands and self.cut.isdisjoint((source, to)):
                self.islands[to].receive(datagram, source, self.now_us)
