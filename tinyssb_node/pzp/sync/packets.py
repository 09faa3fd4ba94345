"""Packets of an exchange: BIPF lists that begin with a number for the kind (docs/formats/pzp-sync.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.errors import PeerError
from tinyssb_node.pzp.messages import base58
from tinyssb_node.pzp.messages.goals import Goal, GoalKind
from tinyssb_node.pzp.messages.limits import ID_SIZES
from tinyssb_node.pzp.sync import limits


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths from *low* to *high*, both included."""

    low: int
    high: int

    def __bool__(self) -> bool:
        """False for a range without any depth."""
        return self.low <= self.high

    def __contains__(self, depth: int) -> bool:
        return self.low <= depth <= self.high

    def cut(self, other: "DepthRange") -> "DepthRange":
        """The depths that are in both."""
        return DepthRange(max(self.low, other.low), min(self.high, other.high)) or EMPTY


EMPTY: Final = DepthRange(1, 0)
"""No depth."""


def wanted(goal: Goal, have: DepthRange, theirs: DepthRange) -> DepthRange:
    """Of which depths one who has the range *have* and *goal* wants messages from one who has *theirs*.

    What lies in it and is held already is told by filters. The newest are those of both together: so many depths, which
    in a feed that forked are more messages. Of a set or dictionary all are looked at, as any may count still.
    """
    if goal.keep is GoalKind.NONE or not theirs:
        return EMPTY
    if goal.keep is not GoalKind.NEWEST:
        return theirs
    top = max(have.high, theirs.high) if have else theirs.high
    return theirs.cut(DepthRange(top - goal.count + 1, top))


class SyncPacketError(PeerError):
    """Bytes that are no packet of an exchange."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no packet of PZP's sync: {what}")


@dataclass(frozen=True, slots=True)
class ExchangeId:
    """Which exchange a packet is of."""

    root: str
    """The tangle, by the id of its root."""
    nonce: bytes
    """A value that differs for each exchange of that tangle; made by the side that began it."""


@dataclass(frozen=True, slots=True)
class PzpDigest:
    """Digest of the messages held of some depths, in few bytes."""

    high: int
    """The deepest of them; they begin behind those of the digest before."""
    value: bytes
    """Equal where the same is held."""


@dataclass(frozen=True, slots=True)
class PzpHave:
    """Begins an exchange."""

    of: ExchangeId
    start: int
    """Depth from which on messages are compared."""
    have: DepthRange
    """Depths of what is held and not erased."""
    digests: list[PzpDigest]
    """Of what is held from *start* on; the last one of all that is deeper, too."""


@dataclass(frozen=True, slots=True)
class PzpWant:
    """Answers Have: there is a difference."""

    of: ExchangeId
    start: int
    """Depth from which on there is."""
    have: DepthRange
    want: DepthRange


@dataclass(frozen=True, slots=True)
class PzpAsk:
    """Begins a round: what the side that began wants, and holds."""

    of: ExchangeId
    round: int
    want: DepthRange
    window: DepthRange
    """The depths that the round is about, and the filter covers."""
    filter: bytes


@dataclass(frozen=True, slots=True)
class PzpAnswer:
    """Answers Ask, with a filter over what the other side holds."""

    of: ExchangeId
    round: int
    high: int
    """The deepest of the window that the round is about: less than was asked if there are too many messages."""
    filter: bytes


@dataclass(frozen=True, slots=True)
class PzpGive:
    """Some of the messages that one side gives the other in a round."""

    of: ExchangeId
    round: int
    number: int
    """Of such packets in this direction and round, from 0: whoever misses one does not go on."""
    last: bool
    """True: nothing more follows in this round."""
    messages: list[bytes]
    """As JSON, in an order in which they can be checked."""


class EndReason(IntEnum):
    """Why an exchange ends."""

    DONE = 0
    """All was given; or, in answer to Have, both hold the same."""
    BUSY = 1
    """There are too many at a time."""


@dataclass(frozen=True, slots=True)
class PzpEnd:
    """Ends an exchange, by either side and at any time."""

    of: ExchangeId
    why: EndReason


Packet: TypeAlias = PzpHave | PzpWant | PzpAsk | PzpAnswer | PzpGive | PzpEnd

_KINDS: Final[Mapping[type[Packet], int]] = {
    PzpHave: 1,
    PzpWant: 2,
    PzpAsk: 3,
    PzpAnswer: 4,
    PzpGive: 5,
    PzpEnd: 6,
}


def serialize_packet(packet: Packet) -> bytes:
    """The bytes of *packet*."""
    items: list[Value] = [_KINDS[type(packet)], base58.decode(packet.of.root), packet.of.nonce]
    match packet:
        case PzpHave(_, start, have, digests):
            listed: list[Value] = []
            for digest in digests:
                listed += [digest.high, digest.value]
            items += [start, *_two(have), listed]
        case PzpWant(_, start, have, want):
            items += [start, *_two(have), *_two(want)]
        case PzpAsk(_, round_, want, window, bits):
            items += [round_, *_two(want), *_two(window), bits]
        case PzpAnswer(_, round_, high, bits):
            items += [round_, high, bits]
        case PzpGive(_, round_, number, last, messages):
            items += [round_, number, last, [*messages]]
        case PzpEnd(_, why):
            items.append(int(why))
    return bipf.encode(items)


def parse_packet(data: bytes) -> Packet:
    """The packet that *data* is. Raises SyncPacketError."""
    if len(data) > limits.PACKET_SIZE_MAX:
        raise SyncPacketError(f"{len(data)} bytes, and at most {limits.PACKET_SIZE_MAX} are read")
    try:
        value = bipf.decode(data)
    except bipf.BipfError as error:
        raise SyncPacketError(str(error)) from None
    if not isinstance(value, list):
        raise SyncPacketError("no list")
    items = _Items(value)
    read = _READERS.get(items.number(max(_READERS)))
    if read is None:
        raise SyncPacketError("of no known kind")
    of = ExchangeId(items.id(), items.data(limits.NONCE_SIZE, limits.NONCE_SIZE))
    packet = read(of, items)
    items.end()
    return packet


def _two(range_: DepthRange) -> list[Value]:
    return [range_.low, range_.high]


class _Items:
    """Takes the items of a list one after the other, each as what it has to be."""

    def __init__(self, items: list[Value]) -> None:
        self._items = iter(items)

    def _next(self) -> Value:
        try:
            return next(self._items)
        except StopIteration:
            raise SyncPacketError("it ends early") from None

    def end(self) -> None:
        for _ in self._items:
            raise SyncPacketError("it has too many items")

    def number(self, most: int) -> int:
        found = self._next()
        if type(found) is not int or not 0 <= found <= most:
            raise SyncPacketError(f"{found!a:.80} where a number up to {most} has to be")
        return found

    def range(self) -> DepthRange:
        return DepthRange(self.number(limits.DEPTH_MAX), self.number(limits.DEPTH_MAX)) or EMPTY

    def data(self, least: int, most: int) -> bytes:
        found = self._next()
        if not isinstance(found, bytes) or not least <= len(found) <= most:
            raise SyncPacketError(f"{found!a:.80} where {least} to {most} bytes have to be")
        return found

    def id(self) -> str:
        found = self.data(min(ID_SIZES), max(ID_SIZES))
        if len(found) not in ID_SIZES:
            raise SyncPacketError(f"an id of {len(found)} bytes")
        return base58.encode(found)

    def bool(self) -> bool:
        found = self._next()
        if not isinstance(found, bool):
            raise SyncPacketError(f"{found!a:.80} where true or false has to be")
        return found

    def digests(self, start: int) -> list[PzpDigest]:
        found = self._next()
        if not isinstance(found, list) or not 0 < len(found) <= 2 * limits.WINDOWS_MAX or len(found) % 2:
            raise SyncPacketError("no list of digests")
        items = _Items(found)
        digests: list[PzpDigest] = []
        for _ in range(len(found) // 2):
            digests.append(
                PzpDigest(items.number(limits.DEPTH_MAX), items.data(limits.DIGEST_SIZE, limits.DIGEST_SIZE))
            )
            if digests[-1].high < start:
                raise SyncPacketError("digests of depths that do not go up")
            start = digests[-1].high + 1
        return digests

    def messages(self) -> list[bytes]:
        found = self._next()
        if not isinstance(found, list) or len(found) > limits.GIVEN_MAX:
            raise SyncPacketError("no list of messages")
        messages = [one for one in found if isinstance(one, bytes)]
        if len(messages) != len(found):
            raise SyncPacketError("messages that are no bytes")
        return messages

    def filter(self) -> bytes:
        return self.data(0, limits.FILTER_SIZE_MAX)

    def round(self) -> int:
        return self.number(limits.ROUNDS_MAX - 1)


def _read_have(of: ExchangeId, items: _Items) -> PzpHave:
    start = items.number(limits.DEPTH_MAX)
    return PzpHave(of, start, items.range(), items.digests(start))


_READERS: Final[Mapping[int, Callable[[ExchangeId, _Items], Packet]]] = {
    1: _read_have,
    2: lambda of, items: PzpWant(of, items.number(limits.DEPTH_MAX), items.range(), items.range()),
    3: lambda of, items: PzpAsk(of, items.round(), items.range(), items.range(), items.filter()),
    4: lambda of, items: PzpAnswer(of, items.round(), items.number(limits.DEPTH_MAX), items.filter()),
    5: lambda of, items: PzpGive(
        of, items.round(), items.number(limits.GIVEN_MAX), items.bool(), items.messages()
    ),
    6: lambda of, items: PzpEnd(of, EndReason(items.number(max(EndReason)))),
}
