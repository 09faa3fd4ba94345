"""Spec strings of UDP multicast groups."""

import ipaddress
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.faces.spec_reader import SpecReader, read_interface
from tinyssb_node.ids import FaceName


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpSpec:
    """A UDP multicast group."""

    group: str = limits.UDP_GROUP
    """IPv4 multicast address."""
    port: int = limits.UDP_PORT
    """1 to 65535."""
    interface: str | None = None
    """Name or IPv4 address of the network interface; None: the one the system picks."""
    ttl: int = limits.UDP_TTL_DEFAULT
    """Hops a datagram may take, 0 (this host only) to 255."""
    copies: bool = True
    """True if peers heard lately also get a unicast copy: phones often sleep through multicast."""
    name: str | None = None
    """The face's name; None: made from the rest."""

    @property
    def face_name(self) -> FaceName:
        """``udp``, or ``udp:INTERFACE``."""
        return FaceName(self.name or ("udp" if self.interface is None else f"udp:{self.interface}"))


def parse_udp(reader: SpecReader) -> UdpSpec | None:
    """Parse a spec string of a UDP group; None if it is for another kind of face."""
    if not reader.skip("udp:"):
        return None
    group, port = reader.place(port_min=1)
    if not _is_multicast(group):
        reader.fail(
            f"'{group}' is no multicast group", f"224.0.0.0 to 239.255.255.255, usually {limits.UDP_GROUP}"
        )
    spec = UdpSpec(
        group=group,
        port=port,
        interface=reader.option(
            "interface", None, read_interface, "the name or IPv4 address of an interface"
        ),
        ttl=reader.number("ttl", limits.UDP_TTL_DEFAULT, 0, 255),
        copies=reader.switch("copies", default=True),
        name=reader.name(),
    )
    reader.end("interface, ttl, copies, name")
    return spec


def _is_multicast(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_multicast
    except ValueError:
        return False
