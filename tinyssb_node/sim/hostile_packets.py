"""Packets of a hostile station: every kind that nodes or deployed peers understand, with each field true or a lie.

What is true is read from a node in reach at the moment of sending: a station that knows more than a real one could.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec import packets
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, chnk_dmx, coded_chunk_tag, coded_tag, dmx_of, entry_name, want_dmx
from tinyssb_node.content.acks import Ack, serialize_acks
from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.author import compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId, MessageId, PacketKind
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.coded_entries import generation_of
from tinyssb_node.replication.frontiers import SaltedFrontiers
from tinyssb_node.replication.goset import xor_of
from tinyssb_node.replication.salted import SaltedSet, short_id
from tinyssb_node.store.port import FeedRecord

SEQS: Final = ("true", "first", "behind", "ahead", "far", "none", "any")
"""Sequence numbers: the node's next one, 1, up to 8 below or above, 2^31, 0, any."""
WHOSE: Final = ("all", "one", "own", "made-up")
"""Feeds: all of the set, one of it, the station's own, ids that nobody has the key of."""
NAMES: Final = ("none", "fixed", "fresh", "heard")
"""Names of sender and addressee: left out, always the same, new each time, one that was heard."""
TRUTHS: Final = ("true", "lie")
"""Sums, counts, bodies."""
MANGLES: Final = ("whole", "whole", "whole", "flipped", "cut")
"""Sent as it is, with a bit flipped, or with its end cut off."""
_FAR: Final = 2**31
_OWN_ENTRIES: Final = 24
_ACK_TYPE: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """A packet that a station sends again and again: its kind, and how each field is chosen."""

    kind: str
    """A key of ``MAKERS``."""
    seq: str = "true"
    whose: str = "all"
    speaker: str = "none"
    asks: str = "none"
    salt: str = "fresh"
    truth: str = "true"
    mangle: str = "whole"

    def __str__(self) -> str:
        fields = (f"{key}={getattr(self, key)}" for key in FIELDS[self.kind])
        return " ".join([self.kind, *fields, *([] if self.mangle == "whole" else [self.mangle])])


CHOICES: Final = {
    "seq": SEQS,
    "whose": WHOSE,
    "speaker": NAMES,
    "asks": NAMES,
    "salt": NAMES[1:],
    "truth": TRUTHS,
}
"""The values of each field."""


@dataclass(slots=True)
class View:
    """Knowledge of a station when it sends: a node in reach, and what it heard."""

    network: Network
    chance: random.Random
    keys: Sequence[SigningKey]
    records: Sequence[FeedRecord] = ()
    """The feeds of the node's set, in order."""
    heard: deque[bytes] = field(default_factory=lambda: deque(maxlen=64))
    names: deque[bytes] = field(default_factory=lambda: deque(maxlen=16))
    salts: deque[bytes] = field(default_factory=lambda: deque(maxlen=16))
    own: Sequence[bytes] = ()
    """Entries and chunks of its own feeds, in order."""
    sent: int = 0
    """Of them, how many were sent; then it begins anew."""

    def look(self, records: Sequence[FeedRecord]) -> None:
        """Read the set of a node in reach."""
        self.records = records

    def hear(self, packet: bytes) -> None:
        """Remember a packet, and the names and salt in it."""
        self.heard.append(packet)
        if packet[: limits.DMX_SIZE] == self.network.goset_dmx:
            begin = limits.DMX_SIZE + 1
            if packets.set_kind(packet) not in {PacketKind.CLAIM, PacketKind.NOVELTY, PacketKind.FEEDS}:
                self.salts.append(packet[begin : begin + limits.SALT_SIZE])
            return
        try:
            want = packets.parse_want(packet)
        except PeerError:
            return
        if want.speaker:
            self.names.append(want.speaker)

    def feeds(self, whose: str, most: int) -> list[FeedId]:
        """Return up to *most* feeds."""
        if whose == "own":
            return [key.feed_id for key in self.keys][:most]
        if whose == "made-up" or not self.records:
            return [FeedId(self.chance.randbytes(limits.FEED_ID_SIZE)) for _ in range(min(most, 3))]
        here = [record.feed for record in self.records]
        return self.chance.sample(here, min(len(here), 1 if whose == "one" else most))

    def next_seq(self, feed: FeedId) -> int:
        """Return the number that the node wants next of *feed*."""
        return next((record.seq + 1 for record in self.records if record.feed == feed), 1)

    def number(self, how: str, true: int) -> int:
        """Return a sequence number, where *true* is the right one."""
        step = 1 + self.chance.randrange(8)
        values = {
            "true": true,
            "first": 1,
            "behind": max(1, true - step),
            "ahead": true + step,
            "far": _FAR,
            "none": 0,
        }
        return values.get(how, self.chance.randrange(2**32))

    def name(self, how: str) -> bytes:
        """Return a name, or nothing."""
        if how == "heard" and self.names:
            return self.chance.choice(self.names)
        return self._bytes(how, limits.SPEAKER_SIZE)

    def salt(self, how: str) -> bytes:
        """Return a salt."""
        if how == "heard" and self.salts:
            return self.chance.choice(self.salts)
        return self._bytes(how, limits.SALT_SIZE)

    def _bytes(self, how: str, size: int) -> bytes:
        if how == "none":
            return b""
        return (
            b"\x77" * size if how == "fixed" else bytes(1 + self.chance.randrange(255) for _ in range(size))
        )

    @property
    def state(self) -> bytes:
        """The XOR of the node's set."""
        return xor_of(record.feed for record in self.records)


def own_packets(network: Network, keys: Sequence[SigningKey]) -> list[bytes]:
    """Return entries and chunks of the station's feeds: short ones, some with long side chains, and acknowledgements of
    entries that do not exist."""
    made: list[bytes] = []
    lies, _ = serialize_acks([Ack(_FAR, b"\x07" * 4)] * 3)
    for key in keys:
        tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
        for number in range(_OWN_ENTRIES):
            if number % 4 == 3:
                entry = compose_fixed(network, key, tip, lies, type_=_ACK_TYPE)
            else:
                size = 40 if number % 4 else 1_000
                entry = compose(network, key, tip, bytes([number]) * size)
            tip = entry.extended.tip
            made += [entry.packet, *entry.chunks]
    return made


def make_packet(view: View, lie: Lie) -> tuple[bytes, PacketKind] | None:
    """Return the packet; None if it cannot be made now, as nothing was heard yet, or an honest set is empty."""
    if not view.records:
        return None
    kind, make = MAKERS[lie.kind]
    packet = make(view, lie)
    if not packet:
        return None
    if lie.mangle == "flipped":
        bit = view.chance.randrange(8 * len(packet))
        packet = packet[: bit // 8] + bytes([packet[bit // 8] ^ 1 << bit % 8]) + packet[bit // 8 + 1 :]
    elif lie.mangle == "cut":
        packet = packet[: 1 + view.chance.randrange(len(packet))]
    return packet[: limits.PACKET_SIZE], kind


def _fitting(items: list[tuple[int, ...]], make: Callable[[Sequence[tuple[int, ...]]], bytes]) -> bytes:
    """Return the packet with as many of *items* as fit."""
    while items:
        try:
            return make(items)
        except ValueError:
            items = items[:-1]
    return b""


def _want(view: View, lie: Lie) -> bytes:
    here = [record.feed for record in view.records]
    offset = view.chance.randrange(len(here))
    most = 1 if lie.whose == "one" else len(here)
    items = [
        (view.number(lie.seq, view.next_seq(here[(offset + number) % len(here)])),)
        for number in range(min(most, limits.WANT_VECTOR_SIZE))
    ]
    lacking = (15,) * len(items) if lie.truth == "lie" else None
    speaker = view.name(lie.speaker)
    asks = view.name(lie.asks) if speaker else b""

    def make(fitting: Sequence[tuple[int, ...]]) -> bytes:
        want = packets.Want(
            offset, tuple(number for (number,) in fitting), speaker, asks, lacking if speaker else None
        )
        return packets.serialize_want(want_dmx(view.network, view.state), want)

    return _fitting(list(items), make)


def _named_want(view: View, lie: Lie) -> bytes:
    salt, speaker = view.salt(lie.salt), view.name(lie.speaker)
    asks = view.name(lie.asks) if speaker else b""
    items = [
        (short_id(salt, feed), view.number(lie.seq, view.next_seq(feed)))
        for feed in view.feeds(lie.whose, 20)
    ]
    return _fitting(
        list(items),
        lambda fitting: packets.serialize_named_want(
            view.network.goset_dmx,
            packets.NamedWant(salt, tuple((short, seq) for short, seq in fitting), speaker, asks),
        ),
    )


def _chains(view: View, lie: Lie) -> list[tuple[FeedId, int, int]]:
    """Return side chains to request: of any entry up to the node's next one."""
    return [
        (feed, view.number(lie.seq, max(1, view.next_seq(feed) - 1)), view.chance.randrange(3))
        for feed in view.feeds(lie.whose, 12)
    ]


def _chnk(view: View, lie: Lie) -> bytes:
    places = {record.feed: number for number, record in enumerate(view.records)}
    items = [(places.get(feed, 0), seq, chunk) for feed, seq, chunk in _chains(view, lie)]
    lacking = (15,) * len(items) if lie.truth == "lie" else None
    dmx = chnk_dmx(view.network, view.state)
    return _fitting(
        list(items),
        lambda fitting: packets.serialize_chnk(
            dmx, packets.Chnk(tuple((place, seq, chunk) for place, seq, chunk in fitting), lacking)
        ),
    )


def _named_chnk(view: View, lie: Lie) -> bytes:
    salt = view.salt(lie.salt)
    items = [(short_id(salt, feed), seq, chunk) for feed, seq, chunk in _chains(view, lie)]
    return _fitting(
        list(items),
        lambda fitting: packets.serialize_named_chnk(
            view.network.goset_dmx,
            packets.NamedChnk(salt, tuple((short, seq, chunk) for short, seq, chunk in fitting)),
        ),
    )


def _newest(view: View, lie: Lie) -> bytes:
    salt = view.salt(lie.salt)
    items = [
        (short_id(salt, feed), view.number(lie.seq, view.next_seq(feed)), 1 + view.chance.randrange(200))
        for feed in view.feeds(lie.whose, 12)
    ]
    return _fitting(
        list(items),
        lambda fitting: packets.serialize_newest(
            view.network.goset_dmx,
            packets.Newest(salt, tuple((short, seq, count) for short, seq, count in fitting)),
        ),
    )


def _anchor(view: View, lie: Lie) -> bytes:
    salt, feed = view.salt(lie.salt), view.feeds(lie.whose, 1)[0]
    seq = max(2, view.number(lie.seq, view.next_seq(feed)))
    prev = MessageId(view.chance.randbytes(limits.MESSAGE_ID_SIZE))
    return packets.serialize_anchor(
        view.network.goset_dmx, packets.Anchor(salt, short_id(salt, feed), seq, prev)
    )


def _claim(view: View, lie: Lie) -> bytes:
    if lie.whose in {"own", "made-up"}:
        claim = claim_of(sorted(view.feeds(lie.whose, 3)))
    else:
        here = [record.feed for record in view.records]
        first, last = (
            (0, len(here)) if lie.whose == "all" else sorted(view.chance.choices(range(len(here)), k=2))
        )
        claim = claim_of(here[first : max(last, first + 1)])
    if lie.truth == "lie":
        xor = view.chance.randbytes(limits.FEED_ID_SIZE)
        claim = packets.Claim(claim.low, claim.high, xor, 1 + view.chance.randrange(255))
    return packets.serialize_claim(view.network.goset_dmx, claim)


def _novelty(view: View, lie: Lie) -> bytes:
    novelty = packets.Novelty(view.feeds(lie.whose, 1)[0])
    return packets.serialize_novelty(view.network.goset_dmx, novelty)


def _feeds(view: View, lie: Lie) -> bytes:
    feeds = packets.Feeds(tuple(view.feeds(lie.whose, limits.FEEDS_MAX)), more=lie.kind == "more")
    return packets.serialize_feeds(view.network.goset_dmx, feeds)


def _sketch(view: View, lie: Lie) -> bytes:
    here = [record.feed for record in view.records]
    others = view.feeds(lie.whose, 12)
    # A set that lacks some of these, or has some more.
    feeds = [feed for feed in here if feed not in others] or here
    if lie.whose in {"own", "made-up"}:
        feeds = [*here, *(feed for feed in others if feed not in here)]
    sketch = SaltedSet(view.salt(lie.salt), feeds).sketch(limits.SKETCH_CAPACITY)
    if lie.truth == "lie":
        count, sums = view.chance.randrange(256), view.chance.randbytes(len(sketch.sums))
        sketch = packets.Sketch(sketch.salt, count, sums, sketch.checksum)
    return packets.serialize_sketch(view.network.goset_dmx, sketch)


def _ask(view: View, lie: Lie) -> bytes:
    salt = view.salt(lie.salt)
    shorts = tuple(short_id(salt, feed) for feed in view.feeds(lie.whose, limits.ASK_MAX))
    return packets.serialize_ask(view.network.goset_dmx, packets.Ask(salt, shorts))


def _diff(view: View, lie: Lie) -> bytes:
    numbers = {record.feed: record.seq for record in view.records}
    for feed in view.feeds(lie.whose, 20):
        numbers[feed] = view.number(lie.seq, view.next_seq(feed)) - 1
    held = [(feed, max(0, seq)) for feed, seq in numbers.items()]
    tips = {record.feed: bytes(record.tip or b"") for record in view.records}
    diff = SaltedFrontiers(view.salt(lie.salt), held, tips).diff(0, 0)
    if lie.truth == "lie":
        sums = view.chance.randbytes(len(diff.sums))
        diff = packets.Diff(diff.salt, 0, 0, view.chance.randrange(256), sums)
    return packets.serialize_diff(view.network.goset_dmx, diff)


def _entry(view: View, lie: Lie) -> bytes:
    """An entry or chunk of its own, or one in an honest feed's next place that nobody signed."""
    if lie.whose in {"own", "made-up"}:
        view.sent += 1
        return view.own[(view.sent - 1) % len(view.own)]
    record = view.chance.choice(view.records)
    prev = record.tip or MessageId(bytes(limits.MESSAGE_ID_SIZE))
    dmx = dmx_of(entry_name(view.network, record.feed, record.seq + 1, prev))
    return dmx + view.chance.randbytes(limits.PACKET_SIZE - limits.DMX_SIZE)


def _coded(view: View, lie: Lie) -> bytes:
    feed = view.feeds(lie.whose, 1)[0]
    generation = generation_of(max(1, view.number(lie.seq, view.next_seq(feed)) % 2**24))
    tag, length = coded_tag(view.network, feed), 1 + view.chance.randrange(packets.GENERATION_SIZE)
    row = view.chance.randrange(packets.GENERATION_SIZE, 256)
    body = view.chance.randbytes(113)
    return packets.serialize_coded(packets.Coded(tag, generation % packets.GENERATIONS, length, row, body))


def _coded_chunk(view: View, lie: Lie) -> bytes:
    feed = view.feeds(lie.whose, 1)[0]
    generation = generation_of(max(1, view.number(lie.seq, view.next_seq(feed)) % 2**24))
    tag, length = coded_chunk_tag(view.network, feed), 1 + view.chance.randrange(16)
    row, body = view.chance.randrange(16, 256), view.chance.randbytes(100)
    return packets.serialize_coded_chunk(packets.CodedChunk(tag, generation % 2**16, 0, length, row, body))


def _ping(view: View, lie: Lie) -> bytes:
    del lie
    return packets.serialize_ping(packets.Ping("abcd", (("t", str(view.chance.randrange(10**6))),)))


def _pong(view: View, lie: Lie) -> bytes:
    del lie
    return packets.serialize_pong(packets.Pong("abcd", (("rssi", "-90dBm"),), f"Q {view.chance.random()}"))


def _zap(view: View, lie: Lie) -> bytes:
    del lie
    return packets.serialize_zap(view.network.goset_dmx, packets.Zap(view.chance.randbytes(32)))


def _junk(view: View, lie: Lie) -> bytes:
    return view.chance.randbytes(limits.PACKET_SIZE if lie.whose == "all" else 1 + view.chance.randrange(119))


def _replay(view: View, lie: Lie) -> bytes:
    """Return the packet heard last, or an earlier one."""
    if not view.heard:
        return b""
    return view.heard[-1] if lie.whose == "one" else view.chance.choice(view.heard)


MAKERS: Final[dict[str, tuple[PacketKind, Callable[[View, Lie], bytes]]]] = {
    "want": (PacketKind.WANT, _want),
    "named-want": (PacketKind.NAMED_WANT, _named_want),
    "chnk": (PacketKind.CHNK, _chnk),
    "named-chnk": (PacketKind.NAMED_CHNK, _named_chnk),
    "newest": (PacketKind.NEWEST, _newest),
    "anchor": (PacketKind.ANCHOR, _anchor),
    "claim": (PacketKind.CLAIM, _claim),
    "novelty": (PacketKind.NOVELTY, _novelty),
    "feeds": (PacketKind.FEEDS, _feeds),
    "more": (PacketKind.MORE, _feeds),
    "sketch": (PacketKind.SKETCH, _sketch),
    "ask": (PacketKind.ASK, _ask),
    "diff": (PacketKind.DIFF, _diff),
    "entry": (PacketKind.ENTRY, _entry),
    "coded": (PacketKind.CODED, _coded),
    "coded-chunk": (PacketKind.CODED_CHUNK, _coded_chunk),
    "ping": (PacketKind.PING, _ping),
    "pong": (PacketKind.PONG, _pong),
    "zap": (PacketKind.ZAP, _zap),
    "junk": (PacketKind.UNKNOWN, _junk),
    "replay": (PacketKind.UNKNOWN, _replay),
}
"""Kind in the counts of a simulation, and maker of its packets."""

FIELDS: Final = {
    "want": ("seq", "whose", "speaker", "asks", "truth"),
    "named-want": ("seq", "whose", "speaker", "asks", "salt"),
    "chnk": ("seq", "whose", "truth"),
    "named-chnk": ("seq", "whose", "salt"),
    "newest": ("seq", "whose", "salt"),
    "anchor": ("seq", "whose", "salt"),
    "claim": ("whose", "truth"),
    "novelty": ("whose",),
    "feeds": ("whose",),
    "more": ("whose",),
    "sketch": ("whose", "salt", "truth"),
    "ask": ("whose", "salt"),
    "diff": ("seq", "whose", "salt", "truth"),
    "entry": ("whose",),
    "coded": ("seq", "whose"),
    "coded-chunk": ("seq", "whose"),
    "ping": (),
    "pong": (),
    "zap": (),
    "junk": ("whose",),
    "replay": ("whose",),
}
"""The fields that packets of each kind have."""
