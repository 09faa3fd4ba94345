"""Messages of the locator as bytes: ping, pong, report, post, query; group and type stand at their end.

``message = body options type group_identifier``. Options are between body and type. Numbers of node parameters are
unsigned short floats (text, "Message formats"): two bytes, nine bits of precision.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from tinyssb_node.errors import PeerError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.values import Advert, Label, Location, NodeParameters, ResourceParameters


class LocatorPacketError(PeerError):
    """A datagram that is not a message of our group."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """The broken rule, as drops are counted by."""


def parse_usf(data: bytes) -> int:
    """Parse an unsigned short float."""
    shift, low = data
    return (256 + low) << (shift - 1) if shift else low


def serialize_usf(number: int) -> bytes:
    """Serialize the largest unsigned short float up to *number*. Raises ValueError if *number* is negative."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    number = min(number, limits.USF_MAX)
    if number < 256:
        return bytes((0, number))
    shift = number.bit_length() - 9
    return bytes((shift + 1, (number >> shift) - 256))


_EXACT: Final = 0x80
_HINT_SHIFT: Final = 6
_OLD: Final = 1 << 39


class MessageType(IntEnum):
    """Type of a message: the byte in front of the group identifier."""

    PING = 1
    PONG_ONE = 2
    PONG_TWO = 3
    REPORT = 4
    REPORT_COOKIE = 5
    POST = 6
    QUERY = 7


class RoutingHint(IntEnum):
    """How a node that forwards a query is asked to choose the next hop (text, "Message options")."""

    TIME = 0
    """At random, so that the total time is short."""
    HOPS = 1
    """At random, so that there are few hops."""
    UNIFORM = 2
    BEST = 3
    """Not at random: the one that seems quickest."""


@dataclass(frozen=True, slots=True)
class LocatorPing:
    """A question whether a node is there."""

    sender: Peer
    cookie: bytes


@dataclass(frozen=True, slots=True)
class LocatorPong:
    """The answer to a ping, with other peers to try."""

    fresh: bytes | None
    """A cookie to be copied into another pong; None in the answer to a pong."""
    copied: bytes
    """The cookie of the ping, or the fresh one of a pong."""
    sender: ContactAddress
    others: tuple[Peer, ...]
    parameters: NodeParameters


@dataclass(frozen=True, slots=True)
class LocatorReport:
    """Locations at which a resource can be found."""

    destination: Peer | None
    """A node that it was to be forwarded to by the text; nobody does that any more. None: it has arrived."""
    cookie: bytes | None
    """The cookie of the query; None: it was not requested."""
    label: Label
    locations: tuple[Location, ...]
    """Empty: not found."""
    exact: bool = False
    """True if *label* is the label of the reporting node."""


@dataclass(frozen=True, slots=True)
class LocatorPost:
    """Locations that are to be stored."""

    adverts: tuple[Advert, ...]


@dataclass(frozen=True, slots=True)
class LocatorQuery:
    """A question where a resource is."""

    requestor: Peer
    """Its node address is empty: reports go to where the query came from (docs/formats/locator.md)."""
    label: Label
    cookie: bytes
    hint: RoutingHint = RoutingHint.TIME


Message: TypeAlias = LocatorPing | LocatorPong | LocatorReport | LocatorPost | LocatorQuery


def type_of(message: Message) -> MessageType:
    """Return the type that a message is sent as."""
    match message:
        case LocatorPing():
            return MessageType.PING
        case LocatorPong(fresh=fresh):
            return MessageType.PONG_ONE if fresh is None else MessageType.PONG_TWO
        case LocatorReport(cookie=cookie):
            return MessageType.REPORT if cookie is None else MessageType.REPORT_COOKIE
        case LocatorPost():
            return MessageType.POST
        case LocatorQuery():
            return MessageType.QUERY


# --- writing


def serialize(message: Message, group: bytes) -> bytes:
    """Serialize a message. Raises ValueError for values that its format cannot hold."""
    match message:
        case LocatorPing(sender, cookie):
            body = _peer(sender) + _short(cookie)
        case LocatorPong(fresh, copied, sender, others, parameters):
            body = b"" if fresh is None else _short(fresh)
            body += _short(copied) + _place(sender) + _counted([_peer(peer) for peer in others])
            body += serialize_usf(parameters.uptime_s) + serialize_usf(parameters.bandwidth_bps)
            body += serialize_usf(parameters.free_bytes)
        case LocatorReport(destination, cookie, label, locations, exact):
            body = b"\0" if destination is None else b"\1" + _peer(destination) + b"\0"
            body += b"" if cookie is None else _short(cookie)
            body += label + _counted([serialize_location(location) for location in locations])
            body += bytes((_EXACT,)) if exact else b""
        case LocatorPost(adverts):
            body = _counted([advert.label + serialize_location(advert.location) for advert in adverts])
        case LocatorQuery(requestor, label, cookie, hint):
            body = _peer(requestor) + label + _short(cookie) + bytes((hint << _HINT_SHIFT,))
            body = body.ljust(limits.QUERY_SIZE - 2 - len(group), b"\0")
    return body + bytes((type_of(message),)) + group + bytes((len(group),))


def serialize_location(location: Location) -> bytes:
    """Serialize a location within a message."""
    parameters = location.parameters
    timestamp = parameters.timestamp | (_OLD if parameters.old else 0)
    return (
        _place(location.place)
        + timestamp.to_bytes(limits.TIMESTAMP_SIZE, "big")
        + bytes((parameters.completeness,))
    )


def size_of(location: Location) -> int:
    """Return the size of a serialized location."""
    place = location.place
    # The lengths of three addresses, the timestamp and completeness.
    return 3 + limits.TIMESTAMP_SIZE + 1 + len(place.node) + len(place.message) + len(place.connection)


def _short(data: bytes) -> bytes:
    return bytes((len(data),)) + data


def _peer(peer: Peer) -> bytes:
    return _short(peer.node) + _short(peer.message)


def _place(place: ContactAddress) -> bytes:
    return _short(place.node) + _short(place.message) + _short(place.connection)


def _counted(items: Sequence[bytes]) -> bytes:
    return bytes((len(items),)) + b"".join(items)


# --- reading


def parse(datagram: bytes, group: bytes) -> Message:
    """Parse a datagram. Raises LocatorPacketError."""
    if len(datagram) > limits.DATAGRAM_MAX:
        raise LocatorPacketError(
            "DatagramSize",
            f"a locator's message has at most {limits.DATAGRAM_MAX} bytes, not {len(datagram)}",
        )
    type_, end = _envelope(datagram, group)
    read = _READERS.get(type_)
    if read is None:
        raise LocatorPacketError("MessageType", f"a locator's message has a type from 1 to 7, not {type_}")
    return read(_Body(datagram, end))


def _truncated(what: str) -> LocatorPacketError:
    return LocatorPacketError("Truncated", f"a locator's message ends within {what}")


def _envelope(datagram: bytes, group: bytes) -> tuple[int, int]:
    """Return the type of a datagram, and its position."""
    if not datagram:
        raise _truncated("its group identifier")
    at = len(datagram) - 2 - datagram[-1]
    if at < -1:
        raise _truncated("its group identifier")
    if datagram[at + 1 : -1] != group:
        raise LocatorPacketError(
            "ForeignGroup", f"a locator's message of the foreign group {datagram[at + 1 : -1].hex()}"
        )
    if at < 0:
        raise _truncated("its type")
    return datagram[at], at


class _Body:
    """Reader of the fields in front of the type."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, end: int) -> None:
        self._data = data
        self._at = 0
        self._end = end

    def take(self, size: int, what: str) -> bytes:
        at = self._at
        self._at = at + size
        if self._at > self._end:
            raise _truncated(what)
        return self._data[at : self._at]

    def byte(self, what: str) -> int:
        at = self._at
        if at >= self._end:
            raise _truncated(what)
        self._at = at + 1
        return self._data[at]

    def short(self, what: str) -> bytes:
        return self.take(self.byte(what), what)

    def option(self) -> int:
        """Return the first byte after the body; 0 if there is none. Further ones are ignored (text)."""
        return self._data[self._at] if self._at < self._end else 0

    def peer(self) -> Peer:
        return Peer(self.short("a node address"), self.short("a message address"))

    def place(self) -> ContactAddress:
        return ContactAddress(
            self.short("a node address"),
            self.short("a message address"),
            self.short("a connection address"),
        )

    def label(self) -> Label:
        return Label(self.take(limits.LABEL_SIZE, "a label"))

    def cookie(self) -> bytes:
        return self.short("a cookie")

    def usf(self) -> int:
        return parse_usf(self.take(limits.USF_SIZE, "node parameters"))

    def location(self) -> Location:
        place = self.place()
        flagged = int.from_bytes(self.take(limits.TIMESTAMP_SIZE, "a timestamp"), "big")
        parameters = ResourceParameters(
            flagged & limits.TIMESTAMP_MAX, self.byte("a completeness"), flagged >= _OLD
        )
        return Location(place, parameters)

    def many(self) -> range:
        return range(self.byte("the length of a list"))


def _read_ping(body: _Body) -> LocatorPing:
    return LocatorPing(body.peer(), body.cookie())


def _read_pong_one(body: _Body) -> LocatorPong:
    return _read_pong(None, body)


def _read_pong_two(body: _Body) -> LocatorPong:
    return _read_pong(body.cookie(), body)


def _read_pong(fresh: bytes | None, body: _Body) -> LocatorPong:
    copied = body.cookie()
    sender = body.place()
    others = tuple(body.peer() for _ in body.many())
    return LocatorPong(fresh, copied, sender, others, NodeParameters(body.usf(), body.usf(), body.usf()))


def _read_report(body: _Body) -> LocatorReport:
    return _report(body, cookied=False)


def _read_report_cookie(body: _Body) -> LocatorReport:
    return _report(body, cookied=True)


def _report(body: _Body, *, cookied: bool) -> LocatorReport:
    destination = None
    mark = body.byte("a destination")
    if mark == 1:
        destination = body.peer()
        mark = body.byte("a destination")
    if mark != 0:
        raise LocatorPacketError("Destination", f"a report's destination cannot be marked {mark}")
    cookie = body.cookie() if cookied else None
    label = body.label()
    locations = tuple(body.location() for _ in body.many())
    return LocatorReport(destination, cookie, label, locations, bool(body.option() & _EXACT))


def _read_post(body: _Body) -> LocatorPost:
    return LocatorPost(tuple(Advert(body.label(), body.location()) for _ in body.many()))


def _read_query(body: _Body) -> LocatorQuery:
    requestor, label, cookie = body.peer(), body.label(), body.cookie()
    return LocatorQuery(requestor, label, cookie, RoutingHint(body.option() >> _HINT_SHIFT))


_READERS: Final[Mapping[int, Callable[[_Body], Message]]] = {
    MessageType.PING: _read_ping,
    MessageType.PONG_ONE: _read_pong_one,
    MessageType.PONG_TWO: _read_pong_two,
    MessageType.REPORT: _read_report,
    MessageType.REPORT_COOKIE: _read_report_cookie,
    MessageType.POST: _read_post,
    MessageType.QUERY: _read_query,
}
