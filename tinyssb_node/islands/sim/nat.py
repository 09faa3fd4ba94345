"""A modelled network address translator (NAT) of one of the four kinds of RFC 3489, without hairpinning."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tinyssb_node.islands.locator.addresses import Peer, port_of

_FIRST_PORT: Final = 20_000
MAPPING_US: Final = 30_000_000
"""Time after the last outgoing datagram at which a mapping ends: the shortest met in practice (RFC 4787 wants two
minutes)."""


class NatKind(Enum):
    """Which datagrams pass inwards through the mapping of an address inside."""

    FULL_CONE = "full cone"
    """All."""
    ADDRESS_RESTRICTED = "address-restricted"
    """Those from hosts that the inside sent to."""
    PORT_RESTRICTED = "port-restricted"
    """Those from hosts and ports that the inside sent to."""
    SYMMETRIC = "symmetric"
    """The same, and there is another mapping for each host and port."""


@dataclass(slots=True)
class _Mapping:
    """A public port."""

    inside: Hashable
    port: bytes
    used_us: int = 0
    sent_us: dict[Peer, int] = field(default_factory=dict)
    """When the inside last sent where."""


class Nat:
    """One router with a public address, and any number of nodes behind it."""

    def __init__(self, kind: NatKind, node: bytes) -> None:
        """*node* is its public address."""
        self.kind: Final = kind
        self.node: Final = node
        self._mappings: dict[Hashable, _Mapping] = {}
        self._by_port: dict[bytes, _Mapping] = {}
        self._next = _FIRST_PORT

    def outwards(self, inside: Hashable, to: Peer, now_us: int) -> Peer | None:
        """Send a datagram from *inside*. Return the source that the other side sees; None: it is dropped."""
        if to.node == self.node:
            return None  # no hairpinning
        key = (inside, to) if self.kind is NatKind.SYMMETRIC else inside
        mapping = self._mappings.get(key)
        if mapping is None or now_us - mapping.used_us > MAPPING_US:
            if mapping is not None:
                del self._by_port[mapping.port]
            mapping = _Mapping(inside, port_of(_FIRST_PORT + self._next % 40_000))
            self._next += 1
            self._mappings[key] = self._by_port[mapping.port] = mapping
        mapping.used_us = mapping.sent_us[to] = now_us
        return Peer(self.node, mapping.port)

    def inwards(self, source: Peer, port: bytes, now_us: int) -> Hashable | None:
        """Return where a datagram from *source* to our public *port* goes; None: it is dropped."""
        mapping = self._by_port.get(port)
        if mapping is None or now_us - mapping.used_us > MAPPING_US:
            return None
        match self.kind:
            case NatKind.FULL_CONE:
                passes = True
            case NatKind.ADDRESS_RESTRICTED:
                passes = any(
                    to.node == source.node and now_us - sent_us <= MAPPING_US
                    for to, sent_us in mapping.sent_us.items()
                )
            case NatKind.PORT_RESTRICTED | NatKind.SYMMETRIC:
                passes = now_us - mapping.sent_us.get(source, -MAPPING_US - 1) <= MAPPING_US
        return mapping.inside if passes else None
