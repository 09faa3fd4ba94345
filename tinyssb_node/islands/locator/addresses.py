"""Addresses of nodes as bytes (IPv4, IPv6, ports), and which of them a datagram may be sent to."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address
from typing import Final

from tinyssb_node.islands.locator import limits

_LINK_LOCAL4: Final = bytes((169, 254))
_PRIVATE4: Final = tuple(
    (int(network.network_address), int(network.netmask))
    for network in map(
        IPv4Network,
        ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15"),
    )
)
"""Networks inside a home, company or provider: number and mask."""
_LOOPBACK6: Final = bytes(15) + b"\x01"
_NAT64: Final = IPv6Address("64:ff9b::").packed[:12]
_6TO4: Final = IPv6Address("2002::").packed[:2]
_TEREDO: Final = IPv6Address("2001::").packed[:4]


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


def relayed(relay: ContactAddress, handle: bytes) -> ContactAddress:
    """Return the location of the node that *relay* knows by *handle* (docs/formats/relay.md)."""
    return ContactAddress(relay.node + handle, relay.message, relay.connection)


def split_relayed(node: bytes) -> tuple[bytes, bytes]:
    """Split a node address into that of the machine to connect to, and the handle of the node behind it; the handle is
    empty if the machine is the node itself."""
    size = len(node) - limits.RELAY_HANDLE_SIZE
    if size in (limits.IPV4_SIZE, limits.IPV6_SIZE):
        return node[:size], node[size:]
    return node, b""


class Scope(IntEnum):
    """The part of the internet from which an address can be reached."""

    NOWHERE = 0
    """Not the address of one node on the internet or in a private network: multicast, unspecified, link-local, of an
    unknown format, or a form of IPv4 within IPv6 that leads to such an address or a private one."""
    LOOPBACK = 1
    PRIVATE = 2
    GLOBAL = 3


def scope_of(node: bytes) -> Scope:
    """Return from where a node address can be reached, by its first bytes (IANA special-purpose registries, RFC 6890).

    Link-local addresses name a machine on one cable only; other machines of a cloud read passwords at 169.254.169.254.
    """
    if len(node) == limits.IPV4_SIZE:
        if node[0] == 0 or node[0] >= 224 or node.startswith(_LINK_LOCAL4):
            return Scope.NOWHERE
        if node[0] == 127:
            return Scope.LOOPBACK
        address = int.from_bytes(node, "big")
        return (
            Scope.PRIVATE if any(address & mask == network for network, mask in _PRIVATE4) else Scope.GLOBAL
        )
    if len(node) != limits.IPV6_SIZE:
        return Scope.NOWHERE
    if node == _LOOPBACK6:
        return Scope.LOOPBACK
    if node[0] & 0xFE == 0xFC:
        return Scope.PRIVATE
    within = _ipv4_within(node)
    if within is not None:
        return Scope.GLOBAL if all(scope_of(one) is Scope.GLOBAL for one in within) else Scope.NOWHERE
    # Global unicast (RFC 4291 2.4); the rest is multicast, link-local, another form of IPv4, or not assigned.
    return Scope.GLOBAL if node[0] & 0xE0 == 0x20 else Scope.NOWHERE


def _ipv4_within(node: bytes) -> Sequence[bytes] | None:
    """Return the addresses of IPv4 to which a translator or tunnel sends what is for this address of IPv6; None if it
    has no such form: NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380: a server's, and a client's inverted)."""
    if node.startswith(_NAT64):
        return (node[12:],)
    if node.startswith(_6TO4):
        return (node[2:6],)
    if node.startswith(_TEREDO):
        return (node[4:8], bytes(byte ^ 0xFF for byte in node[12:]))
    return None


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
    """Format host and port for people; of a node behind a relay, those of the relay and the node's handle."""
    machine, handle = split_relayed(node)
    host = host_of(machine)
    number = int.from_bytes(port, "big") if len(port) == limits.PORT_SIZE else port.hex()
    behind = f"/{handle.hex()}" if handle else ""
    return f"[{host}]:{number}{behind}" if ":" in host else f"{host}:{number}{behind}"
