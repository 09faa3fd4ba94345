"""Stations with several networks each, and the channel or cable between them, in virtual time."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tests.nodes import key_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Event, Send
from tinyssb_node.ids import DEFAULT_NETWORK, FaceName, FeedId, NetworkName
from tinyssb_node.node.networks import Networks, Owned
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.budget import UNKNOWN_BOOT, AirBudgets
from tinyssb_node.scheduling.link import WIRED, LinkProfile
from tinyssb_node.store.memory import MemoryStore

LINK = FaceName("link")
OPEN = DEFAULT_NETWORK
VILLAGE = NetworkName("village")
KEYS = {OPEN: Network(), VILLAGE: Network(b"only us")}

E = TypeVar("E", bound=Event)


class Station:
    """A program with a node for each network, as a shell would hold it."""

    def __init__(self, name: str, keys: Mapping[NetworkName, Network] = KEYS, seed: int = 1) -> None:
        self.name = name
        self.key = key_of(name)
        self.stores = {network: MemoryStore() for network in keys}
        budgets = AirBudgets(next(iter(self.stores.values())), UNKNOWN_BOOT)
        entropy = random.Random(f"{name} {seed}")
        self.networks = Networks(
            {
                network: Node(
                    store=self.stores[network],
                    network=key,
                    entropy=entropy,
                    key=self.key,
                    budgets=budgets,
                )
                for network, key in keys.items()
            },
            board_name=self.key.feed_id.hex()[: limits.BOARD_NAME_DIGITS],
        )
        self.outgoing: list[tuple[NetworkName, Send]] = []
        self.events: list[tuple[NetworkName, Event]] = []

    def perform(self, owned: Iterable[Owned], now_us: int) -> None:
        """Commit and keep what is to be done."""
        for store in self.stores.values():
            store.commit(now_us)
        for network, effects in owned:
            for effect in effects:
                if isinstance(effect, Send):
                    self.outgoing.append((network, effect))
                else:
                    self.events.append((network, effect))

    def up(self, profile: LinkProfile, face: FaceName = LINK) -> None:
        self.perform(self.networks.face_up(face, profile, "test", 0), 0)

    def hear(self, packet: bytes, now_us: int = 0) -> list[Owned]:
        owned = self.networks.receive(packet, LINK, WIRED, now_us)
        self.perform(owned, now_us)
        return owned

    def publish(self, network: NetworkName, content: bytes, now_us: int = 0) -> None:
        _, effects = self.networks.node(network).publish(content, now_us)
        self.perform([self.networks.own(network, effects)], now_us)

    def follow(self, network: NetworkName, feeds: Iterable[FeedId], now_us: int = 0) -> None:
        node = self.networks.node(network)
        effects = [effect for feed in feeds for effect in node.follow(feed, now_us)]
        self.perform([self.networks.own(network, effects)], now_us)

    def take(self) -> list[tuple[NetworkName, Send]]:
        """Return the packets to be sent since the last call."""
        taken, self.outgoing = self.outgoing, []
        return taken

    def seen(self, network: NetworkName, kind: type[E]) -> list[E]:
        return [event for owner, event in self.events if owner == network and isinstance(event, kind)]

    def frontier(self, network: NetworkName) -> dict[FeedId, int]:
        """Return the last entry of each feed."""
        return {record.feed: record.seq for record in self.networks.node(network).feeds()}


class Channel:
    """One radio channel on which everybody hears everybody. Whoever finds it busy keeps its packet; two that begin in
    the same microsecond go one after the other."""

    def __init__(self, stations: Sequence[Station], profile: LinkProfile) -> None:
        self.stations = stations
        self._profile = profile
        self._sending: tuple[int, Station, NetworkName, bytes] | None = None
        self.now_us = 0
        self.sent: list[tuple[Station, NetworkName, int, int]] = []
        """Transmissions: the sender, the network, begin and end."""
        for station in stations:
            station.up(profile)

    def run_for(self, span_us: int) -> None:
        end_us = self.now_us + span_us
        self._collect()
        while (due_us := self._due_us()) <= end_us:
            self.now_us = max(self.now_us, due_us)
            if self._sending is not None and self._sending[0] <= self.now_us:
                self._arrive()
            for station in self.stations:
                wake_us = station.networks.next_wake_us()
                if wake_us is not None and wake_us <= self.now_us:
                    station.perform(station.networks.wake(self.now_us), self.now_us)
                    self._collect()
        self.now_us = end_us

    def _due_us(self) -> int:
        due = [us for station in self.stations if (us := station.networks.next_wake_us()) is not None]
        return min([*due, *([] if self._sending is None else [self._sending[0]])])

    def _collect(self) -> None:
        for station in self.stations:
            for network, send in station.take():
                if self._sending is not None:
                    station.perform(station.networks.busy(LINK, self.now_us), self.now_us)
                    continue
                end_us = self.now_us + self._profile.airtime_us[len(send.packet)]
                self._sending = (end_us, station, network, send.packet)
                self.sent.append((station, network, self.now_us, end_us))

    def _arrive(self) -> None:
        assert self._sending is not None
        _, sender, _, packet = self._sending
        self._sending = None
        sender.perform(sender.networks.sent(LINK, 1, self.now_us), self.now_us)
        for station in self.stations:
            if station is not sender:
                station.hear(packet, self.now_us)
        self._collect()

    def airtime_us(self, station: Station, network: NetworkName, since_us: int = 0) -> int:
        """Return the airtime that one network of a station has used."""
        return sum(
            end_us - begin_us
            for sender, owner, begin_us, end_us in self.sent
            if sender is station and owner == network and begin_us >= since_us
        )


def talk(stations: tuple[Station, Station], span_us: int, step_us: int = 20_000) -> None:
    """A cable between two stations on which a packet takes no time."""
    left, right = stations
    for now_us in range(0, span_us, step_us):
        for station in stations:
            wake_us = station.networks.next_wake_us()
            if wake_us is not None and wake_us <= now_us:
                station.perform(station.networks.wake(now_us), now_us)
        while left.outgoing or right.outgoing:
            for sender, receiver in ((left, right), (right, left)):
                packets = [send.packet for _, send in sender.take()]
                if packets:
                    sender.perform(sender.networks.sent(LINK, len(packets), now_us), now_us)
                for packet in packets:
                    receiver.hear(packet, now_us)
