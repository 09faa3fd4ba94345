"""Several nodes in one virtual time: cables between pairs of them, or one radio channel on which all hear all."""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.nodes import key_of, radio_profile
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Effect, Event, PacketSent, Send, SetChanged
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile
from tinyssb_node.store.memory import MemoryStore

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
CABLE_US = 1_000
"""How long a packet is on a cable."""


class Member:
    """A node, and what became of it."""

    def __init__(
        self,
        name: str,
        key: SigningKey | None,
        store: MemoryStore | None = None,
        admission: Admission | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.store = store or MemoryStore()
        self.node = Node(
            store=self.store, network=Network(), entropy=random.Random(name), key=key, admission=admission
        )
        self.store.commit(0)
        self.events: list[Event] = []
        self.largest = len(self.set)

    @property
    def set(self) -> frozenset[FeedId]:
        """The feeds of its set."""
        return frozenset(record.feed for record in self.node.feeds() if record.in_set)

    def held(self) -> dict[FeedId, int]:
        """Return the last entry of each feed."""
        return {record.feed: record.seq for record in self.node.feeds()}

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


class Mesh:
    """Members, and what is between them."""

    def __init__(self, names: Iterable[str] = (), loss: float = 0.0) -> None:
        """*loss* is the share of packets that do not arrive."""
        self.now_us = 0
        self._loss = loss
        self._chance = random.Random(1)
        self.members: dict[str, Member] = {}
        self._ends: dict[tuple[str, FaceName], tuple[tuple[str, FaceName], ...]] = {}
        self._under_way: deque[tuple[int, tuple[str, FaceName], bytes]] = deque()
        """Arrivals, in order of time: all packets take the same."""
        self.sent = 0
        for name in names:
            self.join(name)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def join(self, name: str, store: MemoryStore | None = None, admission: Admission | None = None) -> Member:
        """Somebody is switched on, connected to nobody."""
        self.members[name] = Member(name, key_of(name), store, admission)
        return self.members[name]

    def wire(self, *pairs: tuple[str, str], profile: LinkProfile | None = None) -> None:
        """Lay cables, of a *profile*, None: streams."""
        for one, other in pairs:
            ends = (one, FaceName(f"to {other}")), (other, FaceName(f"to {one}"))
            self._ends[ends[0]], self._ends[ends[1]] = (ends[1],), (ends[0],)
            for name, face in ends:
                profile = profile or stream_profile()
                self.do(name, self[name].node.face_up(face, profile, "cable", self.now_us))

    def wire_all(self) -> None:
        self.wire(*combinations(self.members, 2))

    def cut(self, one: str, other: str) -> None:
        """Cut a cable."""
        for name, face in ((one, FaceName(f"to {other}")), (other, FaceName(f"to {one}"))):
            del self._ends[name, face]
            self.do(name, self[name].node.face_down(face, "cut", self.now_us))

    def radio(self, reach: int | None = None, members: Iterable[str] = ()) -> None:
        """Give *members*, by default everybody, a radio that reaches the next *reach* on either side; None: all.

        Nobody's packets collide: who sends is a matter of other tests.
        """
        face = FaceName("radio")
        names = list(members or self.members)
        for at, name in enumerate(names):
            near = names if reach is None else names[max(0, at - reach) : at + reach + 1]
            self._ends[name, face] = tuple((other, face) for other in near if other != name)
            self.do(name, self[name].node.face_up(face, radio_profile(), "radio", self.now_us))

    def do(self, name: str, effects: Sequence[Effect]) -> None:
        """Carry out what a node wants."""
        member = self[name]
        member.store.commit(self.now_us)
        for effect in effects:
            if isinstance(effect, Send):
                self.sent += 1
                for end in self._ends.get((name, effect.face), ()):
                    if not self._loss or self._chance.random() >= self._loss:
                        self._under_way.append((self.now_us + CABLE_US, end, effect.packet))
                self.do(name, member.node.sent(effect.face, 1, self.now_us))
            else:
                if isinstance(effect, SetChanged):
                    member.largest = max(member.largest, effect.count)
                if not isinstance(effect, PacketSent):
                    member.events.append(effect)

    def write(self, name: str, key: SigningKey, content: bytes | None) -> None:
        """*name* writes to a child feed; None: its END."""
        node = self[name].node
        if content is None:
            content, type_ = serialize_continued(END), EntryType.CONTINUED
            _, effects = node.append_to_feed(key, content, self.now_us, type_)
        else:
            _, effects = node.append_to_feed(key, content, self.now_us)
        self.do(name, effects)

    def follow(self, name: str, feed: FeedId) -> None:
        self.do(name, self[name].node.follow(feed, self.now_us))

    def pass_time(self, span_us: int) -> None:
        """Let everybody live for *span_us*."""
        end_us = self.now_us + span_us
        while True:
            due = {name: member.node.next_wake_us() for name, member in self.members.items()}
            wake_us = min((at_us for at_us in due.values() if at_us is not None), default=end_us + 1)
            arrival_us = self._under_way[0][0] if self._under_way else end_us + 1
            if min(wake_us, arrival_us) > end_us:
                break
            self.now_us = max(self.now_us, min(wake_us, arrival_us))
            if arrival_us <= self.now_us:
                _, (name, face), packet = self._under_way.popleft()
                self.do(name, self[name].node.receive(packet, face, WIRED, self.now_us))
                continue
            for name, at_us in due.items():
                if at_us is not None and at_us <= self.now_us:
                    self.do(name, self[name].node.wake(self.now_us))
        self.now_us = end_us

    def sets(self) -> set[frozenset[FeedId]]:
        """The different sets there are; one if all agree."""
        return {member.set for member in self.members.values()}
