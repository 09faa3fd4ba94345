"""Packets of the feed sync between gateways: values to bytes and back (docs/formats/feed-sync.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tinyssb_node import limits as field_limits
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.errors import PeerError
from tinyssb_node.islands.feedsync import limits

_ENTRY: Final = field_limits.PACKET_SIZE
_VARINT_SIZE_MAX: Final = 5
"""Bytes of a number: sequence numbers have 32 bits."""


class FeedSyncPacketError(PeerError):
    """An invalid packet of the feed sync: *rule* says what is wrong."""

    def __init__(self, rule: str) -> None:
        super().__init__(f"invalid packet of feed sync: {rule}")


@dataclass(frozen=True, slots=True)
class FeedSyncHello:
    """The first packet of each side."""

    version: int
    nonce: bytes
    """16 random bytes."""


@dataclass(frozen=True, slots=True)
class FeedSyncProof:
    """The second packet: the proof that the sender knows the network's key."""

    proof: bytes
    """16 bytes."""


@dataclass(frozen=True, slots=True)
class WantedRange:
    """The part of a feed that is missing."""

    seq: int
    """The entry wanted next, from 1; 0: nothing more is wanted."""
    check: bytes = b""
    """The first bytes of the id of the entry before it; empty if there is none."""
    chains: tuple[tuple[int, int], ...] = ()
    """Side chains that lack packets: the entries they hang on, each with the number of the packet wanted next, from 0;
    sorted."""


@dataclass(frozen=True, slots=True)
class WantedFeed:
    """A feed that is wanted."""

    short: bytes
    """6 bytes."""
    lacking: WantedRange


@dataclass(frozen=True, slots=True)
class FeedSyncWant:
    """Feeds that are wanted; from now on they go by number, counted from 0 over all such packets of a side."""

    names: tuple[WantedFeed, ...]


@dataclass(frozen=True, slots=True)
class FeedSyncMore:
    """Update of a named feed: something came from elsewhere, or it is not wanted any more."""

    number: int
    lacking: WantedRange


@dataclass(frozen=True, slots=True)
class PacketRun:
    """Entries, or chunks of one side chain, in a row."""

    seq: int
    """The first entry, or the entry of the side chain."""
    chunk: int | None
    """The first chunk, from 0; None: these are entries."""
    packets: tuple[bytes, ...]
    """120 bytes each."""


@dataclass(frozen=True, slots=True)
class FeedSyncGive:
    """Some of the wanted packets, in order."""

    number: int
    runs: tuple[PacketRun, ...]


@dataclass(frozen=True, slots=True)
class FeedSyncDiffers:
    """Notice that the entry before the wanted one differs here."""

    number: int


@dataclass(frozen=True, slots=True)
class FeedSyncShow:
    """Request for one entry of a named feed, to find where two branches of a fork part."""

    number: int
    seq: int


@dataclass(frozen=True, slots=True)
class FeedSyncShown:
    """Reply to ``FeedSyncShow`` with one entry, or none if there is none; two prove a fork, sent unrequested."""

    number: int
    seq: int
    packets: tuple[bytes, ...]


Packet: TypeAlias = (
    FeedSyncHello
    | FeedSyncProof
    | FeedSyncWant
    | FeedSyncMore
    | FeedSyncGive
    | FeedSyncDiffers
    | FeedSyncShow
    | FeedSyncShown
)


class _Reader:
    """Reader of numbers and bytes of a packet. Raises FeedSyncPacketError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def more(self) -> bool:
        return self._at < len(self._data)

    def octets(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise FeedSyncPacketError("it is cut off")
        self._at += size
        return taken

    def number(self, most: int, least: int = 0) -> int:
        read = read_varint(self._data, self._at, len(self._data), _VARINT_SIZE_MAX)
        if read is None:
            raise FeedSyncPacketError("a number without end")
        number, end = read
        if not least <= number <= most or len(encode_varint(number)) != end - self._at:
            raise FeedSyncPacketError(f"the number {number}, or more bytes for it than it takes")
        self._at = end
        return number

    def seq(self) -> int:
        return self.number(field_limits.SEQ_MAX, 1)

    def feed(self) -> int:
        return self.number(limits.FEEDS_MAX - 1)

    def packets(self, count: int) -> tuple[bytes, ...]:
        return tuple(self.octets(_ENTRY) for _ in range(count))

    def lacking(self) -> WantedRange:
        seq = self.number(field_limits.SEQ_MAX + 1)
        if seq == 0:
            return WantedRange(0)
        check = self.octets(limits.CHECK_SIZE) if seq > 1 else b""
        chains: list[tuple[int, int]] = []
        for _ in range(self.number(limits.CHAINS_MAX)):
            place = self.seq()
            if place >= seq or (chains and place <= chains[-1][0]):
                raise FeedSyncPacketError("side chains out of order")
            chains.append((place, self.number(limits.CHAIN_CHUNK_MAX)))
        return WantedRange(seq, check, tuple(chains))


def _read_hello(reader: _Reader) -> FeedSyncHello:
    version = reader.number(0x7F)
    nonce = reader.octets(limits.NONCE_SIZE)
    while version != limits.VERSION and reader.more:
        reader.octets(1)  # fields of a later version
    return FeedSyncHello(version, nonce)


def _read_want(reader: _Reader) -> FeedSyncWant:
    names: list[WantedFeed] = []
    while reader.more:
        if len(names) == limits.NAMES_MAX:
            raise FeedSyncPacketError("too many names")
        names.append(WantedFeed(reader.octets(limits.SHORT_SIZE), reader.lacking()))
    return FeedSyncWant(tuple(names))


def _read_give(reader: _Reader) -> FeedSyncGive:
    number, runs, total = reader.feed(), list[PacketRun](), 0
    while reader.more:
        head = reader.number(2 * limits.GIVE_PACKETS_MAX + 1, 2)
        seq = reader.seq()
        chunk = reader.number(limits.CHAIN_CHUNK_MAX) if head & 1 else None
        total += head >> 1
        if total > limits.GIVE_PACKETS_MAX:
            raise FeedSyncPacketError("too much at a time")
        runs.append(PacketRun(seq, chunk, reader.packets(head >> 1)))
    if not runs:
        raise FeedSyncPacketError("nothing is given")
    return FeedSyncGive(number, tuple(runs))


_READERS: Final[Sequence[Callable[[_Reader], Packet]]] = (
    _read_hello,
    lambda reader: FeedSyncProof(reader.octets(limits.PROOF_SIZE)),
    _read_want,
    lambda reader: FeedSyncMore(reader.feed(), reader.lacking()),
    _read_give,
    lambda reader: FeedSyncDiffers(reader.feed()),
    lambda reader: FeedSyncShow(reader.feed(), reader.seq()),
    lambda reader: FeedSyncShown(reader.feed(), reader.seq(), reader.packets(reader.number(2))),
)
"""By kind, from 1."""


def parse_packet(data: bytes) -> Packet:
    """Read a packet. Raises FeedSyncPacketError."""
    if len(data) > limits.PACKET_SIZE_MAX:
        raise FeedSyncPacketError(f"{len(data)} bytes")
    reader = _Reader(data)
    kind = reader.octets(1)[0]
    if not 1 <= kind <= len(_READERS):
        raise FeedSyncPacketError(f"kind {kind}")
    packet = _READERS[kind - 1](reader)
    if reader.more:
        raise FeedSyncPacketError("more bytes than it has")
    return packet


def serialize_packet(packet: Packet) -> bytes:
    """Write a packet."""
    match packet:
        case FeedSyncHello():
            return bytes((1, packet.version)) + packet.nonce
        case FeedSyncProof():
            return b"\x02" + packet.proof
        case FeedSyncWant():
            return b"\x03" + b"".join(name.short + _from(name.lacking) for name in packet.names)
        case FeedSyncMore():
            return b"\x04" + encode_varint(packet.number) + _from(packet.lacking)
        case FeedSyncGive():
            return b"\x05" + encode_varint(packet.number) + b"".join(map(_run, packet.runs))
        case FeedSyncDiffers():
            return b"\x06" + encode_varint(packet.number)
        case FeedSyncShow():
            return b"\x07" + _numbers(packet.number, packet.seq)
        case FeedSyncShown():
            return (
                b"\x08" + _numbers(packet.number, packet.seq, len(packet.packets)) + b"".join(packet.packets)
            )


def _numbers(*numbers: int) -> bytes:
    return b"".join(map(encode_varint, numbers))


def _from(lacking: WantedRange) -> bytes:
    if lacking.seq == 0:
        return b"\x00"
    chains = b"".join(_numbers(*chain) for chain in lacking.chains)
    return _numbers(lacking.seq) + lacking.check + _numbers(len(lacking.chains)) + chains


def _run(run: PacketRun) -> bytes:
    if run.chunk is None:
        return _numbers(2 * len(run.packets), run.seq) + b"".join(run.packets)
    return _numbers(2 * len(run.packets) + 1, run.seq, run.chunk) + b"".join(run.packets)
