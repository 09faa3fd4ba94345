"""Locators on a network that carries datagrams in virtual time: some are dead, behind a NAT, or lose packets."""

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass

from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, port_of
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import LocatorPing, LocatorPong, Message, parse, serialize
from tinyssb_node.islands.locator.values import (
    Effect,
    Label,
    Location,
    LocatorSettings,
    NodeParameters,
    ResourceParameters,
    SendDatagram,
)

GROUP = b"village!"
PORT = port_of(4242)
TCP = port_of(8008)
SETTINGS = LocatorSettings(group=GROUP)


def address(number: int) -> bytes:
    """A public IPv4 address for each number."""
    return (0x14000000 + 7919 * number).to_bytes(4, "big")


def place(number: int) -> ContactAddress:
    return ContactAddress(address(number), PORT, TCP)


def peer(number: int) -> Peer:
    return place(number).peer


@dataclass
class Village:
    """So many nodes, each of which knows the first as a historic peer."""

    count: int
    seed: int = 1
    loss: float = 0.0
    hidden: frozenset[int] = frozenset()
    """Nodes behind a NAT: only whom they sent to in the last half minute reaches them."""
    settings: LocatorSettings = SETTINGS
    now_us: int = 0
    bytes_sent: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.nodes: dict[Peer, Locator] = {}
        self.alive: set[Peer] = set()
        self.heard: dict[int, list[Effect]] = defaultdict(list)
        self.opened: dict[tuple[Peer, Peer], int] = {}
        self.air: list[tuple[int, int, Peer, Peer, bytes]] = []
        self.sent = 0
        self.largest = 0
        for number in range(self.count):
            me = ContactAddress(b"" if number in self.hidden else address(number), PORT, TCP)
            begun_us = 50_000 * number
            locator = Locator(
                self.settings, me, random.Random(self.seed + number), bytes([number % 256]) * 32, begun_us,
                historic=[peer(0)] if number else [],
            )  # fmt: skip
            self.nodes[peer(number)] = locator
            self.alive.add(peer(number))
        self.numbers = {one: number for number, one in enumerate(self.nodes)}

    def node(self, number: int) -> Locator:
        return self.nodes[peer(number)]

    def do(self, number: int, effects: list[Effect]) -> None:
        source = peer(number)
        for effect in effects:
            if not isinstance(effect, SendDatagram):
                self.heard[number].append(effect)
                continue
            self.bytes_sent += len(effect.datagram)
            self.largest = max(self.largest, len(effect.datagram))
            self.opened[effect.to, source] = self.now_us
            if self.chance.random() >= self.loss:
                self.sent += 1
                due_us = self.now_us + 10_000 + int(90_000 * self.chance.random())
                heapq.heappush(self.air, (due_us, self.sent, source, effect.to, effect.datagram))

    def run(self, for_us: int) -> None:
        end_us = self.now_us + for_us
        wakes = [(node.next_wake_us(), number) for number, node in enumerate(self.nodes.values())]
        heapq.heapify(wakes)
        while True:
            next_wake = wakes[0][0] if wakes else end_us
            next_air = self.air[0][0] if self.air else end_us
            if min(next_wake, next_air) >= end_us:
                break
            if next_air <= next_wake:
                self.now_us, _, source, to, datagram = heapq.heappop(self.air)
                number = self.carry(source, to, datagram)
            else:
                due_us, number = heapq.heappop(wakes)
                node = self.node(number)
                if peer(number) not in self.alive or node.next_wake_us() > due_us:
                    continue
                self.now_us = max(self.now_us, due_us)
                self.do(number, node.wake(self.now_us))
            if number is not None:
                heapq.heappush(wakes, (self.node(number).next_wake_us(), number))
        self.now_us = end_us

    def carry(self, source: Peer, to: Peer, datagram: bytes) -> int | None:
        if to not in self.alive:
            return None
        number = self.numbers[to]
        if number in self.hidden and self.now_us - self.opened.get((source, to), -(10**12)) > 30_000_000:
            return None
        self.do(number, self.nodes[to].receive(datagram, source, self.now_us))
        return number

    def found(self, number: int, label: Label) -> list[Effect]:
        return [one for one in self.heard[number] if getattr(one, "label", None) == label]


# --- one node, by hand


def alone(settings: LocatorSettings = SETTINGS, me: ContactAddress | None = None, seed: int = 1) -> Locator:
    """A node that knows nobody."""
    return Locator(settings, place(0) if me is None else me, random.Random(seed), bytes(32), 0)


def said(effects: list[Effect]) -> list[tuple[Peer, Message]]:
    """Return the messages that are sent, each with its receiver."""
    return [(one.to, parse(one.datagram, GROUP)) for one in effects if isinstance(one, SendDatagram)]


def tell(locator: Locator, message: Message, source: Peer, now_us: int = 0) -> list[Effect]:
    """Let a message come in."""
    return locator.receive(serialize(message, GROUP), source, now_us)


def befriend(locator: Locator, *numbers: int, now_us: int = 0) -> None:
    """Let these nodes ping it, and answer its cookie: they are confirmed."""
    for number in numbers:
        answered = said(tell(locator, LocatorPing(peer(number), b"hello"), peer(number), now_us))
        ((_, pong),) = answered
        assert isinstance(pong, LocatorPong)
        assert pong.fresh is not None
        assert (
            tell(
                locator,
                LocatorPong(None, pong.fresh, place(number), (), NodeParameters()),
                peer(number),
                now_us,
            )
            == []
        )


def located(number: int, timestamp: int, completeness: int = 255, *, old: bool = False) -> Location:
    """That node has so much."""
    return Location(place(number), ResourceParameters(timestamp, completeness, old))
