"""Messages between a relay and the nodes it joins (docs/formats/relay.md)."""

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Final, TypeAlias

from tinyssb_node.errors import PeerError
from tinyssb_node.islands.relay import limits


class RelayMessageError(PeerError):
    """Bytes that are no message of a relay."""


class RelayEnd(IntEnum):
    """Why a relay ends a connection: codes of WebSocket (RFC 6455 7.4.2, private use)."""

    MALFORMED = 4_000
    """It sent no message that is allowed there."""
    UNKNOWN = 4_004
    """Nobody has registered by that handle or ticket."""
    TIMEOUT = 4_008
    """The called node did not accept."""
    REPLACED = 4_009
    """The same node has registered over another connection, or the pair gave way to another one."""
    FULL = 4_013
    """The relay has no place for it."""
    QUOTA = 4_029
    """The bytes of this hour are used up."""
    GONE = 4_010
    """The other side has ended."""

    @property
    def words(self) -> str:
        """Return what the relay did, for people; the subject is the relay."""
        return _WORDS[self]


_WORDS: Final = {
    RelayEnd.MALFORMED: "does not understand this gateway",
    RelayEnd.UNKNOWN: "does not serve this network, or the called node is not there any more",
    RelayEnd.TIMEOUT: "waited in vain for the other side",
    RelayEnd.REPLACED: "ended this connection for a newer one",
    RelayEnd.FULL: "has no place left",
    RelayEnd.QUOTA: "has used up its bytes of this hour",
    RelayEnd.GONE: "lost the other side",
}


@dataclass(frozen=True, slots=True)
class RelayRegister:
    """A node wants to be called."""

    group: bytes
    """Group identifier of its network."""
    secret: bytes
    """The secret of its handle."""


@dataclass(frozen=True, slots=True)
class RelayCall:
    """A node wants to be joined with another one."""

    group: bytes
    handle: bytes
    """The node that is called."""


@dataclass(frozen=True, slots=True)
class RelayAccept:
    """The called node is ready, over another connection."""

    ticket: bytes


@dataclass(frozen=True, slots=True)
class RelayRegistered:
    """The node can be called now."""

    handle: bytes


@dataclass(frozen=True, slots=True)
class RelayCalled:
    """Somebody calls: accept by another connection."""

    ticket: bytes


@dataclass(frozen=True, slots=True)
class RelayJoined:
    """All messages from now on come from the other side, and go there."""


RelayRequest: TypeAlias = RelayRegister | RelayCall | RelayAccept
RelayReply: TypeAlias = RelayRegistered | RelayCalled | RelayJoined


class _Kind:
    """First bytes of messages."""

    REGISTER: Final = b"\x01"
    CALL: Final = b"\x02"
    ACCEPT: Final = b"\x03"
    REGISTERED: Final = b"\x11"
    CALLED: Final = b"\x12"
    JOINED: Final = b"\x13"


def handle_of(secret: bytes) -> bytes:
    """Return the handle of the node that has *secret*."""
    return blake2b(secret, digest_size=limits.HANDLE_SIZE, person=b"tinyssb relay").digest()


def serialize_relay(message: RelayRequest | RelayReply) -> bytes:
    """Serialize a message."""
    match message:
        case RelayRegister(group, secret):
            return _Kind.REGISTER + group + secret
        case RelayCall(group, handle):
            return _Kind.CALL + group + handle
        case RelayAccept(ticket):
            return _Kind.ACCEPT + ticket
        case RelayRegistered(handle):
            return _Kind.REGISTERED + handle
        case RelayCalled(ticket):
            return _Kind.CALLED + ticket
        case RelayJoined():
            return _Kind.JOINED


def parse_relay_request(data: bytes) -> RelayRequest:
    """Parse a message to a relay. Bytes after its end are ignored. Raises RelayMessageError."""
    group, rest = data[1 : 1 + limits.GROUP_SIZE], data[1 + limits.GROUP_SIZE :]
    match data[:1]:
        case _Kind.REGISTER if len(rest) >= limits.SECRET_SIZE:
            return RelayRegister(group, rest[: limits.SECRET_SIZE])
        case _Kind.CALL if len(rest) >= limits.HANDLE_SIZE:
            return RelayCall(group, rest[: limits.HANDLE_SIZE])
        case _Kind.ACCEPT if len(data) > limits.TICKET_SIZE:
            return RelayAccept(data[1 : 1 + limits.TICKET_SIZE])
    raise RelayMessageError(
        f"a relay gets no message that begins with {data[:1].hex()!r} and has {len(data)} bytes"
    )


def parse_relay_reply(data: bytes) -> RelayReply:
    """Parse a message of a relay. Bytes after its end are ignored. Raises RelayMessageError."""
    match data[:1]:
        case _Kind.REGISTERED if len(data) > limits.HANDLE_SIZE:
            return RelayRegistered(data[1 : 1 + limits.HANDLE_SIZE])
        case _Kind.CALLED if len(data) > limits.TICKET_SIZE:
            return RelayCalled(data[1 : 1 + limits.TICKET_SIZE])
        case _Kind.JOINED:
            return RelayJoined()
    raise RelayMessageError(
        f"a relay sends no message that begins with {data[:1].hex()!r} and has {len(data)} bytes"
    )
