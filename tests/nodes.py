"""A node on a bench: one hand gives it packets and time, the other collects what it does."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.codec.events import Effect, Event, PacketReceived, Send
from tinyssb_node.feeds.author import ComposedEntry, compose, sign_entry
from tinyssb_node.feeds.chain import Tip, expectations
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.gossip.certainty import TipCertainty
from tinyssb_node.ids import Dialect, FaceName, FeedId, PacketKind
from tinyssb_node.node.further_identities import FurtherIdentity
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, LinkProfile, air_profile, stream_profile
from tinyssb_node.store.memory import MemoryStore

FACE = FaceName("ws#1")
OTHER = FaceName("ws#2")
AIR_PACKET_US = 200_000
"""Airtime of every packet on the bench's radio."""
SPINS_MAX = 10_000
"""Wake-ups in a row at one moment: a few are usual, when several things are due."""

E = TypeVar("E", bound=Event)


def key_of(name: str) -> SigningKey:
    """The same key for the same name."""
    return SigningKey(name.encode().ljust(32, b"."))


def feed_of(number: int) -> FeedId:
    """A feed id that nobody has the key of."""
    return FeedId(random.Random(f"feed {number}").randbytes(32))


def radio_profile() -> LinkProfile:
    """A radio on which every packet takes AIR_PACKET_US."""
    return air_profile([AIR_PACKET_US] * 121)


def written(
    key: SigningKey, contents: Sequence[bytes], dialect: Dialect = Dialect.SPEC
) -> tuple[ComposedEntry, ...]:
    """A feed with these contents, as its author would publish it."""
    tip = Tip(key.feed_id, dialect, 0, None)
    feed: list[ComposedEntry] = []
    for content in contents:
        feed.append(compose(Network(), key, tip, content))
        tip = feed[-1].extended.tip
    return tuple(feed)


def packets_of(feed: Sequence[ComposedEntry]) -> list[bytes]:
    """Every packet of a feed, in order: each entry, then its chunks."""
    return [packet for entry in feed for packet in (entry.packet, *entry.chunks)]


def pointing_to(key: SigningKey, packet: bytes) -> bytes:
    """A first entry of *key*'s that names any bytes at all as its only chunk."""
    place = expectations(Network(), Tip(key.feed_id, Dialect.SPEC, 0, None))[0]
    head = bytes((100,)).ljust(limits.HEAD_SIZE, b"q")
    return sign_entry(key, place, VARIABLE_TYPE, head + chunk_hash(packet), ()).packet


class Bench:
    """A node, its store, its clock, and all it did. Faces report what they are handed as sent at once."""

    def __init__(
        self,
        *,
        key: SigningKey | None = None,
        dialect: Dialect = Dialect.SPEC,
        store: MemoryStore | None = None,
        read_only: bool = False,
        profile: LinkProfile | None = None,
        seed: int = 1,
        acknowledge_permille: int = 0,
        certainty: TipCertainty | None = None,
        authors: Sequence[FurtherIdentity] = (),
        places: int = limits.SET_MAX,
        admission: Admission | None = None,
    ) -> None:
        self.now_us = 0
        self.store = store or MemoryStore()
        self.node = Node(
            store=self.store,
            network=Network(),
            entropy=random.Random(seed),
            key=key,
            dialect=dialect,
            read_only=read_only,
            acknowledge_permille=acknowledge_permille,
            certainty=certainty,
            places=places,
            admission=admission,
        )
        for author in authors:
            self.node.adopt(author)
        self.store.commit(0)
        self.events: list[Event] = []
        self.outgoing: list[Send] = []
        self.reports_sent = True
        self.up(FACE, profile or stream_profile())

    def up(self, face: FaceName, profile: LinkProfile) -> None:
        """Bring a face up."""
        self.perform(self.node.face_up(face, profile, f"bench:{face}", self.now_us))

    def perform(self, effects: Sequence[Effect]) -> list[Effect]:
        """Do what a shell does with effects."""
        self.store.commit(self.now_us)
        for effect in effects:
            if isinstance(effect, Send):
                self.outgoing.append(effect)
                if self.reports_sent:
                    self.perform(self.node.sent(effect.face, 1, self.now_us))
            else:
                self.events.append(effect)
        return list(effects)

    def hear(self, packet: bytes, face: FaceName = FACE) -> list[Effect]:
        """A packet comes in."""
        return self.perform(self.node.receive(packet, face, WIRED, self.now_us))

    def verdict_of(self, packet: bytes, face: FaceName = FACE) -> PacketReceived:
        """Let a packet come in and return the record of it."""
        received = self.node.receive(packet, face, WIRED, self.now_us)
        self.perform(received)
        first = received[0]
        assert isinstance(first, PacketReceived)
        return first

    def publish(self, content: bytes) -> None:
        """Our user writes."""
        self.perform(self.node.publish(content, self.now_us)[1])

    def follow(self, *feeds: FeedId) -> None:
        """Our user follows."""
        for feed in feeds:
            self.perform(self.node.follow(feed, self.now_us))

    def pass_time(self, span_us: int, heard_meanwhile: Callable[[], object] | None = None) -> None:
        """Wake the node whenever it wants to be woken for *span_us*. A node that spins fails the test."""
        end_us = self.now_us + span_us
        at_once = 0
        while (due_us := self.node.next_wake_us()) is not None and due_us <= end_us:
            at_once = at_once + 1 if due_us <= self.now_us else 0
            assert at_once < SPINS_MAX, "it wants to be woken again and again, at once"
            self.now_us = max(self.now_us, due_us)
            self.perform(self.node.wake(self.now_us))
            if heard_meanwhile is not None:
                heard_meanwhile()
        self.now_us = end_us

    def take(self, kind: PacketKind | None = None, face: FaceName | None = None) -> list[bytes]:
        """Return the packets sent since the last call, of one kind or on one face if so asked; the rest is
        forgotten."""
        taken = [
            send.packet
            for send in self.outgoing
            if (kind is None or send.kind is kind) and (face is None or send.face == face)
        ]
        self.outgoing.clear()
        return taken

    def seen(self, kind: type[E]) -> list[E]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def seq_of(self, feed: FeedId) -> int:
        """How far a feed is held."""
        return next(record.seq for record in self.node.feeds() if record.feed == feed)
