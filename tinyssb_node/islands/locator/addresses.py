"""Addresses of nodes as bytes (IPv4, IPv6, ports), and which of them a datagram may be sent to."""

from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from tinyssb_node.islands.locator import limits

_MAPPED: Final = bytes(10) + b"\xff\xff"
_LOOPBACK6: Final = bytes(15) + b"\x01"


@dataclass(frozen=True, slots=True)
class Peer:
    """The address at which a node receives messages of the locator."""

    node: bytes
    """Its node address: 4 bytes of IPv4 or 16 of IPv6; peers may send other formats. Empty: it cannot be reached."""
    message: bytes
    """Its message address: a UDP port, 2 bytes, big-endian."""

    def __str__(self) -> str:
        return text_of(self.node, self.message)


@dataclass(frozen=True, slots=True)
class ContactAddress:
    """The addresses at which a node receives messages, and connections of the layer above."""

    node: bytes
    message: bytes
    connection: bytes
    """Its connection address: a TCP port, 2 bytes, big-endian."""

    @property
    def peer(self) -> Peer:
        """The address at which it receives messages."""
        return Peer(self.node, self.message)


class Scope(IntEnum):
    """The part of the internet from which an address can be reached."""

    NOWHERE = 0
    """Not the address of one node: multicast, unspecified, or of an unknown format."""
    LOOPBACK = 1
    PRIVATE = 2
    GLOBAL = 3


def scope_of(node: bytes) -> Scope:
    """Return from where a node address can be reached, by its first bytes (RFC 6890)."""
    if len(node) == limits.IPV4_SIZE:
        first, second = node[0], node[1]
        if first == 0 or first >= 224:
            return Scope.NOWHERE
        if first == 127:
            return Scope.LOOPBACK
        private = (
            first == 10
            or (first == 172 and 16 <= second < 32)
            or (first == 192 and second == 168)
            or (first == 169 and second == 254)
            or (first == 100 and 64 <= second < 128)
        )
        return Scope.PRIVATE if private else Scope.GLOBAL
    if len(node) == limits.IPV6_SIZE:
        if node == _LOOPBACK6:
            return Scope.LOOPBACK
        link_local = node[0] == 0xFE and node[1] & 0xC0 == 0x80
        if node[0] == 0xFF or link_local or node.startswith(_MAPPED) or not any(node):
            return Scope.NOWHERE
        return Scope.PRIVATE if node[0] & 0xFE == 0xFC else Scope.GLOBAL
    return Scope.NOWHERE


def reachable(mine: bytes, node: bytes, port: bytes) -> bool:
    """Return True if *node* and *port* are valid and may be sent to from *mine*: no peer makes us send into a LAN."""
    scope = scope_of(node)
    return is_port(port) and scope is not Scope.NOWHERE and scope >= (scope_of(mine) or Scope.PRIVATE)


def is_port(port: bytes) -> bool:
    """Return True if these are the bytes of a port of UDP or TCP."""
    return len(port) == limits.PORT_SIZE and port != b"\0\0"


def node_of(text: str) -> bytes:
    """Parse the node address *text*; IPv4 within IPv6 becomes IPv4. Raises ValueError."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).packed


def port_of(number: int) -> bytes:
    """Return the two bytes of a port."""
    return number.to_bytes(limits.PORT_SIZE, "big")


def peer_of(host: str, port: int) -> Peer:
    """Return the peer at this address, in the form that sockets use. Raises ValueError."""
    return Peer(node_of(host), port_of(port))


def parse_hostport(text: str) -> tuple[str, int]:
    """Split ``192.0.2.1:4242`` or ``[2001:db8::1]:4242`` (or a host's name) into host and port. Raises ValueError."""
    host, colon, digits = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    is_host = host and (":" in host) == bracketed and not set(host) & set("[]")
    if not colon or not is_host or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text!r} is not a host and port: write 192.0.2.1:4242 or [2001:db8::1]:4242")
    port = int(digits)
    if not 0 < port < 65_536:
        raise ValueError(f"{port} is not a port: ports are 1 to 65535")
    return host, port


def host_of(node: bytes) -> str:
    """Format a node address for people; as hexadecimal digits if its format is unknown."""
    if len(node) == limits.IPV4_SIZE:
        return str(IPv4Address(node))
    return str(IPv6Address(node)) if len(node) == limits.IPV6_SIZE else node.hex()


def text_of(node: bytes, port: bytes) -> str:
    """Format host and port for people."""
    host = host_of(node)
    number = int.from_bytes(port, "big") if len(port) == limits.PORT_SIZE else port.hex()
    return f"[{host}]:{number}" if ":" in host else f"{host}:{number}"
