"""Reachability: our address for others, the addresses of the first peers, and whether there is a route to them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final

from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import GatewayConfig
from tinyssb_node.islands.gateway.datagrams import address_towards, resolve
from tinyssb_node.islands.locator import limits as locator_limits
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    Peer,
    Scope,
    peer_of,
    port_of,
    scope_of,
)

NOWHERE: Final = ContactAddress(b"", port_of(0), port_of(0))
"""The address of a node that cannot be reached from outside."""
BOTH_FAMILIES: Final = frozenset({locator_limits.IPV4_SIZE, locator_limits.IPV6_SIZE})
"""Sizes of node addresses of IPv4 and IPv6."""
_EXAMPLES: Final = (peer_of("2001:db8::1", 9), peer_of("192.0.2.1", 9))
"""Addresses reserved for examples (RFC 3849, 5737): used to ask for a route of each family. Nothing is sent there."""
_ANY: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, not listened on


class Reachability:
    """Our address and those of the first peers, checked once a second, as networks and names change."""

    def __init__(
        self,
        settings: GatewayConfig,
        port: int,
        *,
        ipv6: bool,
        listed: Sequence[tuple[str, int]] = (),
        towards: Callable[[Peer | None], bytes | None] = address_towards,
        resolve: Callable[[str, int], Awaitable[Sequence[Peer]]] = resolve,
    ) -> None:
        """*port* is listened on; *ipv6*: it reaches such addresses. *listed* are first peers beside those of the
        settings. *towards* and *resolve* ask the system."""
        host = settings.listen[0]
        self._stated = settings.public or (None if host in _ANY else (host, port))
        self._peers = tuple(dict.fromkeys((*settings.peers, *listed)))
        self._port = port_of(port)
        self._ipv6 = ipv6
        self._towards = towards
        self._resolve = resolve
        self._names = {*self._peers, *((self._stated,) if self._stated else ())}
        self._found: dict[tuple[str, int], Peer] = {}
        """Addresses of them."""
        for name in self._names:
            with suppress(ValueError):
                self._found[name] = peer_of(*name)
        self._literal = frozenset(self._found)
        """Those that are addresses, and need no resolving."""
        self._due_us: dict[tuple[str, int], int] = {}
        """When a name is to be resolved again."""
        self._asking: asyncio.Task[None] | None = None
        self._changed = False
        """Addresses were found since the last ``look``."""
        self.me: ContactAddress | None = None
        """Our address for others; None: not known yet."""
        self.also: ContactAddress | None = None
        """Our address of the other family, if we listen on all addresses and have a global one."""
        self.families: Collection[int] = BOTH_FAMILIES
        """Sizes of node addresses to which there is a route."""
        self.away = False
        """True while there is no route to others."""

    @property
    def first(self) -> Sequence[Peer]:
        """The first peers whose addresses are known and can be sent to; those of IPv6 first, which has no NAT."""
        found = [self._found[peer] for peer in self._peers if peer in self._found]
        return sorted((peer for peer in found if self._can_send(peer)), key=_is_ipv4)

    @property
    def passed_over(self) -> Mapping[str, str]:
        """Peers of the settings that are not contacted, as written there, with the reason."""
        return {
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}": why
            for host, port in self._peers
            if (why := self._why_not((host, port)))
        }

    def _why_not(self, name: tuple[str, int]) -> str | None:
        found = self._found.get(name)
        if found is None:
            return "its name cannot be resolved" if name in self._due_us else None
        if scope_of(found.node) is Scope.NOWHERE:
            return "its address is link-local, multicast, or of another kind that no other network reaches"
        if not self._can_send(found):
            return "its address is IPv6, but `gateway.listen` is IPv4"
        if any(one is not None and one.node == found.node for one in (self.me, self.also)):
            return "it has our own address: the locator identifies nodes by their address, not by their port"
        return None

    def _can_send(self, peer: Peer) -> bool:
        return (self._ipv6 or len(peer.node) == locator_limits.IPV4_SIZE) and scope_of(
            peer.node
        ) is not Scope.NOWHERE

    def look(self, now_us: int) -> bool:
        """Check. Return True if the locator must be started or restarted: our address or those of the first peers have
        changed, or there is a route again."""
        self._look_up(now_us)
        first = self.first
        try:
            ours, routes = self._ours(first), self._routes()
        except OSError:
            # The system has no socket for us: nothing changes until it has.
            return False
        was_away, self.away = self.away, ours is None and bool(first or not self._stated)
        if self.away:
            return False
        if was_away:
            # Names may mean other addresses where we are now.
            self._due_us.clear()
        before = self.me, self.also, self.families
        self.me = self._place(ours, first)
        self._take_families(ours, routes)
        changed, self._changed = self._changed, False
        return was_away or changed or before != (self.me, self.also, self.families)

    async def close(self) -> None:
        """Stop resolving names."""
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def _routed(self, peer: Peer) -> bool:
        try:
            return self._towards(peer) is not None
        except OSError:
            return False

    def _ours(self, first: Sequence[Peer]) -> bytes | None:
        """Return our address towards the first of them that has a route."""
        found = (self._towards(peer) for peer in first or (None,))
        return next((address for address in found if address is not None), None)

    def _place(self, ours: bytes | None, first: Sequence[Peer]) -> ContactAddress:
        if self._stated is not None:
            stated = self._found.get(self._stated)
            return NOWHERE if stated is None else ContactAddress(stated.node, stated.message, stated.message)
        assert ours is not None, "else we are away"
        others = max((scope_of(peer.node) for peer in first), default=Scope.NOWHERE)
        if scope_of(ours) < Scope.GLOBAL <= others:
            return NOWHERE  # behind a router
        return ContactAddress(ours, self._port, self._port)

    def _routes(self) -> list[bytes]:
        """Return our address of each family that we have a route of. Raises OSError."""
        found = (self._towards(peer) for peer in _EXAMPLES if self._can_send(peer))
        return [address for address in found if address is not None]

    def _take_families(self, ours: bytes | None, routes: Sequence[bytes]) -> None:
        """Note our addresses of both families. With a stated address there is no other one; nor in a private network,
        where strangers who name private addresses must not find us."""
        self.families = frozenset(len(one) for one in (ours, *routes) if one is not None) or BOTH_FAMILIES
        self.also = None
        if self._stated is not None or self.me is None:
            return
        if self.me.node and scope_of(self.me.node) is not Scope.GLOBAL:
            return
        others = (one for one in routes if ours is None or len(one) != len(ours))
        found = next((one for one in others if scope_of(one) is Scope.GLOBAL), None)
        if found is not None:
            also = ContactAddress(found, self._port, self._port)
            if self.me.node:
                self.also = also
            else:
                self.me = also

    def _look_up(self, now_us: int) -> None:
        """Resolve names that are due: soon if one was not found, else now and then, since addresses of homes change."""
        due = [name for name in self._names - self._literal if self._due_us.get(name, now_us) <= now_us]
        if due and self._asking is None:
            self._asking = asyncio.create_task(self._ask(due, now_us))

    async def _ask(self, names: Sequence[tuple[str, int]], now_us: int) -> None:
        try:
            for name in names:
                found = await self._resolve(*name)
                found = [peer for peer in found if self._can_send(peer)] or found
                # IPv6 first, if there is a route: it has no NAT.
                routed = [peer for peer in found if not _is_ipv4(peer) and self._routed(peer)]
                found = routed or [peer for peer in found if _is_ipv4(peer)] or found
                # A name with several addresses returns them in another order each time.
                if found and self._found.get(name) not in found:
                    self._found[name] = found[0]
                    self._changed = True
                again_us = limits.RESOLVE_AGAIN_US if name in self._found else limits.RESOLVE_US
                self._due_us[name] = now_us + again_us
        finally:
            self._asking = None


def _is_ipv4(peer: Peer) -> bool:
    return len(peer.node) == locator_limits.IPV4_SIZE
