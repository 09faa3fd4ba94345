"""Relays of a simulated network: the gateways' ``RelayService``, over connections that fail only when an end dies."""

import random
from collections.abc import Callable
from typing import Final

from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, host_of, split_relayed
from tinyssb_node.islands.relay import limits
from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayRegister,
    RelayRegistered,
    RelayReply,
    parse_relay_reply,
    serialize_relay,
)
from tinyssb_node.islands.relay.service import RelayEffect, RelayService, SendRelayed

_QUOTA: Final = 2**24


class SimulatedRelays:
    """The relays of all nodes that can be reached."""

    def __init__(self, group: bytes, chance: random.Random, is_relay: Callable[[Peer], bool]) -> None:
        """*is_relay*: a relay lives at that address."""
        self._group = group
        self._chance = chance
        self._is_relay = is_relay
        self._services: dict[Peer, RelayService] = {}
        self._connections = 0
        self._who: dict[int, Peer] = {}
        """Registered nodes, by their connection."""

    def register(
        self, relay: ContactAddress, who: Peer, secret: bytes, now_us: int
    ) -> tuple[bytes, int] | None:
        """Register *who* at *relay*. Return the handle and the connection; None: it is refused."""
        if not self._is_relay(relay.peer):
            return None
        service = self._services.get(relay.peer)
        if service is None:
            service = RelayService([self._group], self._chance.randbytes, _QUOTA, now_us)
            self._services[relay.peer] = service
        connection = self._open(service, who, now_us)
        effects = service.receive(connection, serialize_relay(RelayRegister(self._group, secret)), now_us)
        for _, reply in _replies(effects):
            if isinstance(reply, RelayRegistered):
                self._who[connection] = who
                return reply.handle, connection
        service.closed(connection)
        return None

    def keeps(self, relay: ContactAddress) -> bool:
        """Return True if a connection to *relay* is still up."""
        return self._is_relay(relay.peer)

    def gone(self, relay: Peer, connection: int) -> None:
        """Note that a registered node has died."""
        self._who.pop(connection, None)
        if relay in self._services:
            self._services[relay].closed(connection)

    def call(self, place: ContactAddress, by: Peer, now_us: int) -> Peer | None:
        """Call a node by its relay, and hang up. Return who accepted; None: nobody."""
        node, handle = split_relayed(place.node)
        relay = Peer(node, place.message)
        service = self._services.get(relay)
        if service is None or not self._is_relay(relay):
            return None
        caller = self._open(service, by, now_us)
        effects = service.receive(caller, serialize_relay(RelayCall(self._group, handle)), now_us)
        answered: Peer | None = None
        for to, reply in _replies(effects):
            if isinstance(reply, RelayCalled) and to in self._who:
                accepting = self._open(service, self._who[to], now_us)
                joined = service.receive(accepting, serialize_relay(RelayAccept(reply.ticket)), now_us)
                if {to for to, _ in _replies(joined)} == {caller, accepting}:
                    answered = self._who[to]
                service.closed(accepting)
        service.closed(caller)
        return answered

    def most(self) -> int:
        """Return the most nodes registered at one relay."""
        return max((service.registered for service in self._services.values()), default=0)

    def _open(self, service: RelayService, who: Peer, now_us: int) -> int:
        self._connections += 1
        service.opened(self._connections, host_of(who.node), now_us)
        return self._connections


def _replies(effects: list[RelayEffect]) -> list[tuple[int, RelayReply]]:
    return [(one.to, parse_relay_reply(one.data)) for one in effects if isinstance(one, SendRelayed)]


assert _QUOTA // limits.SHARE > 0
