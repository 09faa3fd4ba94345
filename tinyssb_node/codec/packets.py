"""Every packet but for its framing: bytes to values and back (spec 3.2 to 4.3; drawn in ``docs/formats/packets.md``).

Parsers check the shape alone. Expected DMX values and signatures are checked elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.errors import (
    NobodyError,
    PacketKindError,
    PacketSizeError,
    PaddingError,
    PingTextError,
    RegionError,
    VectorNumberError,
    VectorShapeError,
)
from tinyssb_node.ids import Dmx, FeedId, MessageId, PacketKind

CLAIM_KIND: Final = b"c"
"""Byte behind the DMX of a CLAIM."""
NOVELTY_KIND: Final = b"n"
"""Byte behind the DMX of a NOVELTY."""
ZAP_KIND: Final = b"z"
"""Byte behind the DMX of a ZAP."""
SKETCH_KIND: Final = b"s"
"""Byte behind the DMX of a SKETCH."""
ASK_KIND: Final = b"a"
"""Byte behind the DMX of an ASK."""
FEEDS_KIND: Final = b"f"
"""Byte behind the DMX of a FEEDS packet."""
MORE_KIND: Final = b"g"
"""Byte behind the DMX of a MORE packet."""
DIFF_KIND: Final = b"d"
"""Byte behind the DMX of a DIFF."""
NAMED_WANT_KIND: Final = b"w"
"""Byte behind the DMX of a named WANT."""
NAMED_CHNK_KIND: Final = b"k"
"""Byte behind the DMX of a named CHNK."""
NEWEST_KIND: Final = b"l"
"""Byte behind the DMX of a NEWEST."""
ANCHOR_KIND: Final = b"h"
"""Byte behind the DMX of an ANCHOR."""
_SET_KINDS: Final = {
    CLAIM_KIND: PacketKind.CLAIM,
    NOVELTY_KIND: PacketKind.NOVELTY,
    SKETCH_KIND: PacketKind.SKETCH,
    ASK_KIND: PacketKind.ASK,
    FEEDS_KIND: PacketKind.FEEDS,
    ZAP_KIND: PacketKind.ZAP,
    MORE_KIND: PacketKind.MORE,
    DIFF_KIND: PacketKind.DIFF,
    NAMED_WANT_KIND: PacketKind.NAMED_WANT,
    NAMED_CHNK_KIND: PacketKind.NAMED_CHNK,
    NEWEST_KIND: PacketKind.NEWEST,
    ANCHOR_KIND: PacketKind.ANCHOR,
}
"""The byte behind the GOSET DMX."""

GENERATIONS: Final = 4_096
"""Numbers that a coded entry can give its generation; then they begin anew."""
GENERATION_SIZE: Final = 16
"""Entries that are coded together: more would gain 5 % at a fifth of loss, and take several times the work."""

_READS_CODED: Final = b"\x01"
"""The byte behind the list of a CHNK whose sender reads coded chunks."""

_TYPE_AT: Final = limits.DMX_SIZE
_CONTENT_AT: Final = _TYPE_AT + limits.TYPE_SIZE
_SIGNATURE_AT: Final = _CONTENT_AT + limits.CONTENT_SIZE


@dataclass(frozen=True, slots=True)
class Entry:
    """A packet of the main chain, 120 bytes (spec 4.3.1)."""

    dmx: Dmx
    """Ties it to its position in its feed."""
    type: int
    """Says how to read the content, 0 to 255 (spec 4.3.3)."""
    content: bytes
    """48 bytes, read by ``feeds.layout``."""
    signature: bytes
    """64 bytes (spec 4.3.2)."""


def set_kind(packet: bytes) -> PacketKind:
    """Return the kind of a packet under the GOSET DMX; UNKNOWN if no node sends such packets."""
    return _SET_KINDS.get(packet[_TYPE_AT:_CONTENT_AT], PacketKind.UNKNOWN)


def parse_entry(packet: bytes) -> Entry:
    """Take an entry apart. Raises PacketSizeError."""
    _check_size("entry", packet, limits.PACKET_SIZE)
    return Entry(
        dmx=Dmx(packet[:_TYPE_AT]),
        type=packet[_TYPE_AT],
        content=packet[_CONTENT_AT:_SIGNATURE_AT],
        signature=packet[_SIGNATURE_AT:],
    )


def serialize_entry(entry: Entry) -> bytes:
    """Put an entry together: 120 bytes."""
    return entry.dmx + bytes((entry.type,)) + entry.content + entry.signature


@dataclass(frozen=True, slots=True)
class Coded:
    """A row of the erasure code over a generation of entries, 120 bytes."""

    tag: bytes
    """4 bytes that name the feed."""
    generation: int
    """Low 12 bits of the generation's number: generation g holds the entries 16 g + 1 to 16 g + 16."""
    length: int
    """How many entries of the generation the row is made of, 1 to 16."""
    row: int
    """0 to 15 for that entry of the generation alone, 16 to 255 for a sum of all (``replication.erasure``)."""
    body: bytes
    """113 bytes: what follows the DMX of an entry, or the sum of that of several."""


def parse_coded(packet: bytes) -> Coded | None:
    """Take a coded entry apart; None if it can be none."""
    if len(packet) != limits.PACKET_SIZE:
        return None
    tag, number = packet[: limits.CODED_TAG_SIZE], packet[limits.CODED_TAG_SIZE : limits.DMX_SIZE - 1]
    generation, last = divmod(int.from_bytes(number), GENERATION_SIZE)
    row = packet[limits.DMX_SIZE - 1]
    if last < row < GENERATION_SIZE:
        return None
    return Coded(tag, generation, last + 1, row, packet[limits.DMX_SIZE :])


def serialize_coded(coded: Coded) -> bytes:
    """Put a coded entry together: 120 bytes."""
    number = coded.generation * GENERATION_SIZE + coded.length - 1
    return coded.tag + number.to_bytes(2) + bytes((coded.row,)) + coded.body


@dataclass(frozen=True, slots=True)
class CodedChunk:
    """A row of the erasure code over the chunks of several side chains, 108 bytes."""

    tag: bytes
    """4 bytes that name the feed."""
    generation: int
    """Low 16 bits of the number of the generation that the side chains hang on."""
    part: int
    """Which chunk block of that generation it is, 0 to 15."""
    length: int
    """How many chunks of the chunk block the row is made of, 1 to 16."""
    row: int
    """As of a coded entry."""
    body: bytes
    """100 bytes: the content of a chunk, without its pointer, or the sum of that of several."""


def parse_coded_chunk(packet: bytes) -> CodedChunk | None:
    """Take a coded chunk apart; None if it can be none."""
    if len(packet) != limits.CODED_CHUNK_SIZE:
        return None
    generation, (parted, row) = int.from_bytes(packet[4:6]), packet[6:8]
    part, length = parted >> 4, (parted & 15) + 1
    if length <= row < GENERATION_SIZE:
        return None
    return CodedChunk(packet[: limits.CODED_TAG_SIZE], generation, part, length, row, packet[8:])


def serialize_coded_chunk(coded: CodedChunk) -> bytes:
    """Put a coded chunk together: 108 bytes."""
    parted = coded.part << 4 | coded.length - 1
    return coded.tag + coded.generation.to_bytes(2) + bytes((parted, coded.row)) + coded.body


@dataclass(frozen=True, slots=True)
class Claim:
    """A summary of a region of the sender's sorted set of feed ids (spec 3.2.3)."""

    low: FeedId
    """Lowest feed id of the region."""
    high: FeedId
    """Highest feed id of the region."""
    xor: bytes
    """XOR of the region's feed ids, 32 bytes."""
    count: int
    """Feed ids in the region, 1 to 255."""


def parse_claim(packet: bytes) -> Claim:
    """Read a CLAIM, 105 bytes. Raises PacketSizeError, PacketKindError, RegionError, NobodyError."""
    _check_size("claim", packet, limits.CLAIM_SIZE)
    _check_kind("claim", packet, CLAIM_KIND)
    ids = packet[limits.DMX_SIZE + 1 :]
    size = limits.FEED_ID_SIZE
    low, high, count = FeedId(ids[:size]), FeedId(ids[size : 2 * size]), ids[-1]
    if low > high or count == 0:
        raise RegionError(low, high, count)
    _check_somebody("claim", low)
    return Claim(low=low, high=high, xor=ids[2 * size : 3 * size], count=count)


def serialize_claim(dmx: Dmx, claim: Claim) -> bytes:
    """Write a CLAIM, 105 bytes, for the network with the GOSET DMX *dmx*."""
    return dmx + CLAIM_KIND + claim.low + claim.high + claim.xor + bytes((claim.count,))


@dataclass(frozen=True, slots=True)
class Novelty:
    """One feed id of the sender's set: its only one, or one that is new in it."""

    feed: FeedId
    """The feed id."""


def parse_novelty(packet: bytes) -> Novelty:
    """Read a NOVELTY, 40 bytes. Raises PacketSizeError, PacketKindError, NobodyError."""
    _check_size("novelty", packet, limits.NOVELTY_SIZE)
    _check_kind("novelty", packet, NOVELTY_KIND)
    feed = FeedId(packet[limits.DMX_SIZE + 1 :])
    _check_somebody("novelty", feed)
    return Novelty(feed)


def serialize_novelty(dmx: Dmx, novelty: Novelty) -> bytes:
    """Write a NOVELTY, 40 bytes, for the network with the GOSET DMX *dmx*."""
    return dmx + NOVELTY_KIND + novelty.feed


@dataclass(frozen=True, slots=True)
class Zap:
    """A remote "wipe yourself": parsed to be counted, never obeyed."""

    payload: bytes
    """32 bytes."""


def parse_zap(packet: bytes) -> Zap:
    """Read a ZAP, 40 bytes. Raises PacketSizeError, PacketKindError."""
    _check_size("zap", packet, limits.NOVELTY_SIZE)
    _check_kind("zap", packet, ZAP_KIND)
    return Zap(packet[limits.DMX_SIZE + 1 :])


def serialize_zap(dmx: Dmx, zap: Zap) -> bytes:
    """Write a ZAP, 40 bytes. Nodes never send one; tests do."""
    return dmx + ZAP_KIND + zap.payload


@dataclass(frozen=True, slots=True)
class Sketch:
    """A summary of the sender's whole set, from which a receiver computes in which ids its own differs (decision
    0009)."""

    salt: bytes
    """4 bytes that go into every short id."""
    count: int
    """Feed ids in the set, 0 to 255."""
    sums: bytes
    """The sketch of its short ids (``replication.sketch``): 4 bytes for each difference that can be computed, 26 at
    most."""
    checksum: bytes
    """First 3 bytes of the SHA-256 over the salt and the short ids in order."""


def parse_sketch(packet: bytes) -> Sketch:
    """Read a SKETCH, 16 to 120 bytes in steps of 4. Raises PacketSizeError, PacketKindError."""
    salt, rest = _salted("sketch", packet, SKETCH_KIND, limits.SKETCH_MIN_SIZE)
    end = len(rest) - limits.SET_CHECKSUM_SIZE
    return Sketch(salt=salt, count=rest[0], sums=rest[1:end], checksum=rest[end:])


def serialize_sketch(dmx: Dmx, sketch: Sketch) -> bytes:
    """Write a SKETCH for the network with the GOSET DMX *dmx*."""
    return dmx + SKETCH_KIND + sketch.salt + bytes((sketch.count,)) + sketch.sums + sketch.checksum


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for feed ids of which a SKETCH gave only the short ids."""

    salt: bytes
    """The salt of that SKETCH."""
    shorts: tuple[int, ...]
    """Short ids, 1 to 27."""


def parse_ask(packet: bytes) -> Ask:
    """Read an ASK, 16 to 120 bytes in steps of 4. Raises PacketSizeError, PacketKindError."""
    size = limits.SHORT_ID_SIZE
    salt, rest = _salted("ask", packet, ASK_KIND, limits.ASK_MIN_SIZE)
    return Ask(salt, tuple(int.from_bytes(rest[at : at + size]) for at in range(0, len(rest), size)))


def serialize_ask(dmx: Dmx, ask: Ask) -> bytes:
    """Write an ASK for the network with the GOSET DMX *dmx*."""
    shorts = b"".join(short.to_bytes(limits.SHORT_ID_SIZE) for short in ask.shorts)
    return dmx + ASK_KIND + ask.salt + shorts


@dataclass(frozen=True, slots=True)
class Feeds:
    """Feed ids for nodes that lack them: FEEDS, or MORE."""

    feeds: tuple[FeedId, ...]
    """1 to 3 feed ids."""
    more: bool = False
    """True for MORE: feeds that are not in the sender's set, which has at most 255."""


def parse_feeds(packet: bytes) -> Feeds:
    """Read a FEEDS or MORE packet, 40, 72 or 104 bytes. Raises PacketSizeError, PacketKindError, NobodyError."""
    size = limits.FEED_ID_SIZE
    ids = packet[limits.DMX_SIZE + 1 :]
    if len(ids) not in range(size, limits.FEEDS_MAX * size + 1, size):
        raise PacketSizeError("feeds", len(packet), "40, 72 or 104")
    more = packet[limits.DMX_SIZE : limits.DMX_SIZE + 1] == MORE_KIND
    if not more:
        _check_kind("feeds", packet, FEEDS_KIND)
    feeds = tuple(FeedId(ids[at : at + size]) for at in range(0, len(ids), size))
    for feed in feeds:
        _check_somebody("feeds", feed)
    return Feeds(feeds, more)


def serialize_feeds(dmx: Dmx, feeds: Feeds) -> bytes:
    """Write a FEEDS or MORE packet for the network with the GOSET DMX *dmx*."""
    return dmx + (MORE_KIND if feeds.more else FEEDS_KIND) + b"".join(feeds.feeds)


@dataclass(frozen=True, slots=True)
class Diff:
    """A summary of a range of the sender's feeds and of how much it holds of each, from which a receiver computes in
    which feeds the two differ."""

    salt: bytes
    """4 bytes that go into every short id and every mark."""
    depth: int
    """Bits of the prefix, 0 to 16; 0: the range is all feeds."""
    prefix: int
    """The first bits of the short ids of the feeds in the range."""
    count: int
    """Feeds in the range, up to 2^24 - 1."""
    sums: bytes
    """The sketch of the marks of these feeds (``replication.frontiers``), 4 bytes a sum, 1 to 25 sums."""


def parse_diff(packet: bytes) -> Diff:
    """Read a DIFF, 22 to 118 bytes in steps of 4. Raises PacketSizeError, PacketKindError, VectorShapeError."""
    smallest = limits.DIFF_HEAD_SIZE + limits.SHORT_ID_SIZE
    salt, rest = _salted("diff", packet, DIFF_KIND, smallest)
    depth, prefix = rest[0], int.from_bytes(rest[1:3])
    if depth > 16 or prefix >> depth:
        raise VectorShapeError("diff", "a prefix of at most 16 bits, as many as the depth says")
    return Diff(salt, depth, prefix, int.from_bytes(rest[3:6]), rest[6:])


def serialize_diff(dmx: Dmx, diff: Diff) -> bytes:
    """Write a DIFF for the network with the GOSET DMX *dmx*."""
    place = bytes((diff.depth,)) + diff.prefix.to_bytes(2) + diff.count.to_bytes(3)
    return dmx + DIFF_KIND + diff.salt + place + diff.sums


@dataclass(frozen=True, slots=True)
class NamedWant:
    """The entries that the sender lacks of feeds that it names one by one: understood by nodes with another set."""

    salt: bytes
    """4 bytes that go into every short id."""
    wanted: tuple[tuple[int, int], ...]
    """(short id, next wanted sequence number, 0 for "not this one") of each feed, 1 to 20 of them."""
    speaker: bytes = b""
    """As in a WANT."""
    asks: bytes = b""
    """As in a WANT."""


def parse_named_want(packet: bytes) -> NamedWant:
    """Read a named WANT. Raises PacketSizeError, PacketKindError, VectorShapeError, PaddingError."""
    salt, items, rest = _named("named want", packet, NAMED_WANT_KIND, 1)
    speaker, asks = _names("named want", rest, len(packet))
    return NamedWant(salt, tuple((short, seq) for short, seq in items), speaker, asks)


def serialize_named_want(dmx: Dmx, want: NamedWant) -> bytes:
    """Write a named WANT. Raises ValueError if it takes more than 120 bytes."""
    return _named_packet(dmx, NAMED_WANT_KIND, want.salt, want.wanted, want.speaker + want.asks)


@dataclass(frozen=True, slots=True)
class NamedChnk:
    """The chunks that the sender lacks of feeds that it names one by one."""

    salt: bytes
    """4 bytes that go into every short id."""
    wanted: tuple[tuple[int, int, int], ...]
    """(short id, sequence number, chunk number from 0) each, 1 to 17 of them."""


def parse_named_chnk(packet: bytes) -> NamedChnk:
    """Read a named CHNK. Raises PacketSizeError, PacketKindError, VectorShapeError, PaddingError."""
    salt, items, rest = _named("named chnk", packet, NAMED_CHNK_KIND, 2)
    _check_padding("named chnk", rest, len(packet))
    return NamedChnk(salt, tuple((short, seq, chunk) for short, seq, chunk in items))


def serialize_named_chnk(dmx: Dmx, chnk: NamedChnk) -> bytes:
    """Write a named CHNK. Raises ValueError if it takes more than 120 bytes."""
    return _named_packet(dmx, NAMED_CHNK_KIND, chnk.salt, chnk.wanted)


@dataclass(frozen=True, slots=True)
class Newest:
    """A request for the last entries of feeds, before their history."""

    salt: bytes
    """4 bytes that go into every short id."""
    wanted: tuple[tuple[int, int, int], ...]
    """(short id, next sequence number, how many of the last entries) each, 1 to 17 of them. The sender may lack entries
    before the next one."""


def parse_newest(packet: bytes) -> Newest:
    """Read a NEWEST. Raises PacketSizeError, PacketKindError, VectorShapeError, PaddingError."""
    salt, items, rest = _named("newest", packet, NEWEST_KIND, 2)
    _check_padding("newest", rest, len(packet))
    return Newest(salt, tuple((short, seq, count) for short, seq, count in items))


def serialize_newest(dmx: Dmx, newest: Newest) -> bytes:
    """Write a NEWEST. Raises ValueError if it takes more than 120 bytes."""
    return _named_packet(dmx, NEWEST_KIND, newest.salt, newest.wanted)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A statement about what an entry follows. Only the entry's signature proves it."""

    salt: bytes
    """The salt of the NEWEST that it answers."""
    short: int
    """Short id of the feed."""
    seq: int
    """Sequence number of the entry, at least 2."""
    prev: MessageId
    """Message id of the entry before."""


def parse_anchor(packet: bytes) -> Anchor:
    """Read an ANCHOR, 40 bytes. Raises PacketSizeError, PacketKindError, VectorNumberError."""
    _check_size("anchor", packet, limits.ANCHOR_SIZE)
    _check_kind("anchor", packet, ANCHOR_KIND)
    at = limits.DMX_SIZE + 1
    salt, short, seq = packet[at : at + 4], int.from_bytes(packet[at + 4 : at + 8]), packet[at + 8 : at + 12]
    if int.from_bytes(seq) < 2:
        raise VectorNumberError("anchor", int.from_bytes(seq))
    return Anchor(salt, short, int.from_bytes(seq), MessageId(packet[at + 12 :]))


def serialize_anchor(dmx: Dmx, anchor: Anchor) -> bytes:
    """Write an ANCHOR, 40 bytes."""
    place = anchor.short.to_bytes(limits.SHORT_ID_SIZE) + anchor.seq.to_bytes(limits.SEQ_SIZE)
    return dmx + ANCHOR_KIND + anchor.salt + place + anchor.prev


def named_item_size(*numbers: int) -> int:
    """Return the bytes that a feed with these numbers takes in a named WANT or CHNK."""
    return limits.SHORT_ID_SIZE + sum(len(encode_varint(number)) for number in numbers)


@dataclass(frozen=True, slots=True)
class Want:
    """The entries that the sender lacks (spec 3.4.4)."""

    offset: int
    """Index in the sorted set of the feed that the first number is about."""
    seqs: tuple[int, ...]
    """Next wanted sequence number of each feed from there on, 0 for "not this one"."""
    speaker: bytes = b""
    """2 bytes by which the speaker may be asked, as long as it is switched on; empty if it has no name."""
    asks: bytes = b""
    """2 bytes: the name of the addressed node, which should reply; empty for all nodes."""
    lacking: tuple[int, ...] | None = None
    """For each of the first numbers, how many rows of its generation are missing, 0 to 15, as far as is known; the rest
    is 0. None: the sender reads no coded entries."""


@lru_cache(maxsize=256)  # a second's WANTs in a dense mesh
def parse_want(packet: bytes) -> Want:
    """Parse a WANT. Raises PacketSizeError, BipfError, PaddingError, VectorShapeError, VectorNumberError.

    Zeros, or one or two names, or both and what is lacking, follow the list. The same bytes may come on several faces,
    and in a simulation come to every neighbour: they are parsed once.
    """
    vector, rest = _vector("want", packet)
    lacking = None
    names = 2 * limits.SPEAKER_SIZE
    if names < len(rest) <= names + len(vector) // 2 and any(rest[: limits.SPEAKER_SIZE]):
        lacking = _of_halves(rest[names:])
        rest = rest[: names if any(rest[limits.SPEAKER_SIZE : names]) else limits.SPEAKER_SIZE]
    speaker, asks = _names("want", rest, len(packet))
    if not vector:
        raise VectorShapeError("want", "a list that begins with an offset")
    offset, *seqs = (_number("want", item) for item in vector)
    return Want(offset=offset, seqs=tuple(seqs), speaker=speaker, asks=asks, lacking=lacking)


def serialize_want(dmx: Dmx, want: Want) -> bytes:
    """Write a WANT. Raises ValueError if it takes more than 120 bytes."""
    behind = want.speaker + want.asks
    if want.lacking is not None:
        behind = want.speaker + (want.asks or bytes(limits.SPEAKER_SIZE)) + _halves(want.lacking)
    return _vector_packet(dmx, [want.offset, *want.seqs], behind)


@dataclass(frozen=True, slots=True)
class Chnk:
    """The chunks that the sender lacks."""

    wanted: tuple[tuple[int, int, int], ...]
    """(index of the feed in the sorted set, sequence number, chunk number from 0) each."""
    lacking: tuple[int, ...] | None = None
    """For each of the first items, how many rows of the side chain's chunk block are missing, 1 to 15; 0, like for the
    rest: as many as it has. None: the sender reads no coded chunks."""


def parse_chnk(packet: bytes) -> Chnk:
    """Read a CHNK. Raises PacketSizeError, BipfError, PaddingError, VectorShapeError, VectorNumberError.

    Zeros, or what is lacking, follow the list.
    """
    vector, rest = _vector("chnk", packet)
    lacking = None
    if rest[:1] == _READS_CODED:
        behind = 1 + (len(vector) + 1) // 2
        lacking = _of_halves(rest[1:behind])
        rest = rest[behind:]
    _check_padding("chnk", rest, len(packet))
    return Chnk(tuple(_triple(item) for item in vector), lacking)


def serialize_chnk(dmx: Dmx, chnk: Chnk) -> bytes:
    """Write a CHNK. Raises ValueError if it takes more than 120 bytes."""
    behind = b""
    if chnk.lacking is not None:
        behind = _READS_CODED + (_halves(chnk.lacking) if any(chnk.lacking) else b"")
    return _vector_packet(dmx, [list(triple) for triple in chnk.wanted], behind)


@dataclass(frozen=True, slots=True)
class Ping:
    """A board's call to the nodes in reach."""

    mac: str
    """Its name, four hexadecimal digits on the boards we know."""
    fields: tuple[tuple[str, str], ...]
    """Properties of the board: ``("t", …)`` a counter, ``("gps", "LAT,LNG,ALT")``."""


@dataclass(frozen=True, slots=True)
class Pong:
    """A board's reply to a ping, with the signal at which it received it."""

    mac: str
    """Its name."""
    fields: tuple[tuple[str, str], ...]
    """As in a ping, and how it heard it: ``("rssi", "-90dBm")``, ``("snr", "7.5")``."""
    request: str
    """The text of the ping it answers, its end cut off if it did not fit; empty if it is not there."""


def parse_ping(packet: bytes) -> Ping:
    """Read a ping. Raises PacketSizeError, PacketKindError, PingTextError."""
    mac, fields = _words(_text("ping", packet, b"Q "))
    return Ping(mac, fields)


def serialize_ping(ping: Ping) -> bytes:
    """Write a ping, cut at 120 bytes. Raises ValueError for text that is not ASCII."""
    return _text_packet(PING_DMX, " ".join(("Q", ping.mac, *map("=".join, ping.fields))))


def parse_pong(packet: bytes) -> Pong:
    """Read a pong. Raises PacketSizeError, PacketKindError, PingTextError."""
    own, _, request = _text("pong", packet, b"R ").partition("[")
    mac, fields = _words(own)
    return Pong(mac, fields, request.removesuffix("]"))


def serialize_pong(pong: Pong) -> bytes:
    """Write a pong, cut at 120 bytes. Raises ValueError for text that is not ASCII."""
    words = ("R", pong.mac, *map("=".join, pong.fields), *((f"[{pong.request}]",) if pong.request else ()))
    return _text_packet(PONG_DMX, " ".join(words))


def _check_size(kind: str, packet: bytes, size: int) -> None:
    if len(packet) != size:
        raise PacketSizeError(kind, len(packet), str(size))


def _check_kind(kind: str, packet: bytes, expected: bytes) -> None:
    found = packet[limits.DMX_SIZE : limits.DMX_SIZE + 1]
    if found != expected:
        raise PacketKindError(kind, found)


def _check_somebody(kind: str, feed: FeedId) -> None:
    # No deployed set takes it either: in ours it would come first, and shift the index of every other feed.
    if not any(feed):
        raise NobodyError(kind)


def _salted(kind: str, packet: bytes, letter: bytes, smallest: int) -> tuple[bytes, bytes]:
    """Return the salt of a packet that grows in steps of a short id, and the bytes behind it."""
    if len(packet) not in range(smallest, limits.PACKET_SIZE + 1, limits.SHORT_ID_SIZE):
        raise PacketSizeError(
            kind, len(packet), f"{smallest}, {smallest + limits.SHORT_ID_SIZE}, … {limits.PACKET_SIZE}"
        )
    _check_kind(kind, packet, letter)
    begin = limits.DMX_SIZE + 1
    return packet[begin : begin + limits.SALT_SIZE], packet[begin + limits.SALT_SIZE :]


def _named(
    kind: str, packet: bytes, letter: bytes, numbers: int
) -> tuple[bytes, list[tuple[int, ...]], bytes]:
    """Return the salt of a packet that names feeds, its items of a short id and so many *numbers*, and the bytes
    behind."""
    if not limits.NAMED_HEAD_SIZE + limits.SHORT_ID_SIZE + numbers <= len(packet) <= limits.PACKET_SIZE:
        raise PacketSizeError(kind, len(packet), f"at most {limits.PACKET_SIZE}")
    _check_kind(kind, packet, letter)
    at = limits.NAMED_HEAD_SIZE
    count, items = packet[at - 1], []
    for _ in range(count):
        item = [int.from_bytes(packet[at : at + limits.SHORT_ID_SIZE])]
        at += limits.SHORT_ID_SIZE
        for _ in range(numbers):
            read = read_varint(packet, at, len(packet), 5)
            if read is None or read[0] > limits.SEQ_MAX:
                raise VectorShapeError(kind, f"{count} short ids, each with {numbers} numbers up to 2^32 - 1")
            item.append(read[0])
            at = read[1]
        items.append(tuple(item))
    if not items:
        raise VectorShapeError(kind, "not empty")
    return packet[limits.DMX_SIZE + 1 : limits.NAMED_HEAD_SIZE - 1], items, packet[at:]


def _named_packet(
    dmx: Dmx, letter: bytes, salt: bytes, items: Sequence[tuple[int, ...]], names: bytes = b""
) -> bytes:
    packet = dmx + letter + salt + bytes((len(items),))
    for short, *numbers in items:
        packet += short.to_bytes(limits.SHORT_ID_SIZE) + b"".join(map(encode_varint, numbers))
    if len(packet + names) > limits.PACKET_SIZE:
        raise ValueError(f"a packet has at most {limits.PACKET_SIZE} bytes, this one {len(packet + names)}")
    return packet + names


def _vector(kind: str, packet: bytes) -> tuple[list[bipf.Value], bytes]:
    """Return the list behind the DMX, and the bytes that follow. Integers are unsigned: boards write 128 to 255 in one
    byte."""
    if not limits.PACKET_MIN_SIZE <= len(packet) <= limits.PACKET_SIZE:
        raise PacketSizeError(kind, len(packet), f"{limits.PACKET_MIN_SIZE} to {limits.PACKET_SIZE}")
    body = packet[limits.DMX_SIZE :]
    vector, end = bipf.decode_prefix(body, unsigned=True)
    if not isinstance(vector, list):
        raise VectorShapeError(kind, "a list")
    return vector, body[end:]


def _check_padding(kind: str, rest: bytes, size: int) -> None:
    if rest.count(0) != len(rest):
        raise PaddingError(kind, size - len(rest))


def _names(kind: str, rest: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the names of sender and addressee behind the list of a packet of *size* bytes. No name is zero, as padding
    is."""
    names = rest[: limits.SPEAKER_SIZE], rest[limits.SPEAKER_SIZE :]
    if len(rest) in {limits.SPEAKER_SIZE, 2 * limits.SPEAKER_SIZE} and all(
        any(name) for name in names if name
    ):
        return names
    _check_padding(kind, rest, size)
    return b"", b""


def _of_halves(written: bytes) -> tuple[int, ...]:
    """Read what ``_halves`` wrote; there may be a zero more."""
    return tuple(half for byte in written for half in (byte >> 4, byte & 15))


def _halves(lacking: Sequence[int]) -> bytes:
    """Write numbers below 16 in half a byte each, without the zeros at the end, but at least one byte."""
    last = max((at for at, rows in enumerate(lacking) if rows), default=0)
    padded = (*lacking[: last + 1], 0, 0)
    return bytes(padded[at] << 4 | padded[at + 1] for at in range(0, last + 1, 2))


def _number(kind: str, item: bipf.Value) -> int:
    if not isinstance(item, int) or isinstance(item, bool):
        raise VectorShapeError(kind, "of numbers only")
    if item > limits.SEQ_MAX:
        raise VectorNumberError(kind, item)
    return item


def _triple(item: bipf.Value) -> tuple[int, int, int]:
    if not isinstance(item, list) or len(item) != 3:
        raise VectorShapeError("chnk", "a list of lists of three numbers")
    index, seq, chunk = (_number("chnk", number) for number in item)
    return index, seq, chunk


def _vector_packet(dmx: Dmx, vector: list[bipf.Value], names: bytes = b"") -> bytes:
    packet = dmx + bipf.encode(vector) + names
    if len(packet) > limits.PACKET_SIZE:
        raise ValueError(f"a packet has at most {limits.PACKET_SIZE} bytes, this vector makes {len(packet)}")
    return packet


def _text(kind: str, packet: bytes, begin: bytes) -> str:
    """Return the text that follows *begin* behind the DMX; boards write it as a C string, so zeros may follow."""
    if not limits.PACKET_MIN_SIZE <= len(packet) <= limits.PING_MAX_SIZE:
        raise PacketSizeError(kind, len(packet), f"{limits.PACKET_MIN_SIZE} to {limits.PING_MAX_SIZE}")
    body = packet[limits.DMX_SIZE :]
    if not body.startswith(begin):
        raise PacketKindError(kind, body[: len(begin)])
    try:
        return body[len(begin) :].rstrip(b"\x00").decode("ascii")
    except UnicodeDecodeError as error:
        raise PingTextError(f"byte {error.start} is not ASCII") from error


def _words(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the name and the fields of a ping or pong; other words are ignored."""
    mac, *words = text.split() or ("",)
    if not mac or "=" in mac:
        raise PingTextError("it does not say whose it is")
    pairs = (word.partition("=") for word in words)
    return mac, tuple((name, value) for name, equals, value in pairs if equals)


def _text_packet(dmx: Dmx, text: str) -> bytes:
    return (dmx + text.encode("ascii"))[: limits.PING_MAX_SIZE]
